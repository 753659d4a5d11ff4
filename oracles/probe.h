/* What a wrong matrix result really consumed: whole rows or tokens of another place, or only their codes (the elements'
 * own bits) or only their scales. */
#ifndef ORACLES_PROBE_H
#define ORACLES_PROBE_H

#include "oracle.h"

/* Looks for one rule that explains the wrong cells of a matrix result of a contract: for wrong rows j, each as a whole,
 * result[.][j] equals the contract evaluated with the codes (the scales, both) of another row p and the rest of row j;
 * likewise for tokens. wrong: (nt, od). At most PROBE_LINES wrong rows are looked at, and operands of at most
 * PROBE_VALUES values: the same fault shows on a small case. Returns words, such as "result[t][j] consumed the codes of
 * row j mod 16 and the scales of row j", or NULL when no rule explains at least half of them. Free with free(). */
char *probe_matrix(const struct evidence *e, size_t buffer, const uint8_t *wrong);

enum { PROBE_LINES = 32, PROBE_VALUES = 1 << 17 };

#endif
