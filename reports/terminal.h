/* What a person reads: the table of cases, the failure messages, the last line. */
#ifndef REPORTS_TERMINAL_H
#define REPORTS_TERMINAL_H

#include "../oracles/outcome.h"
#include "json.h"
#include <stdio.h>

/* The whole message of one outcome that is not PASS: verdict and id, then its findings, the fate of the sibling cases
 * (same kernel and shape, other data class), the oracles that were clean, and the command that runs it again. */
void terminal_failure(FILE *out, const struct outcome *o, const struct outcome *all, size_t count);

/* The lines of one finding, and its suspects. */
void terminal_finding(FILE *out, const struct finding *f);

/* What printf wrote, its first lines, each with its block, warp and lane. Nothing when it wrote nothing. */
void terminal_prints(FILE *out, const struct outcome *o);
/* What the judges found worth a word and no fault, a line each. */
void terminal_notes(FILE *out, const struct outcome *o);

/* One row a kernel, whose outcomes stand together; one column a data class: passed of run. Skips with their reason
 * below it. */
void terminal_table(FILE *out, const struct outcome *all, size_t count);

/* Red cases that fail alike (kernel, verdict, source line, suspects) are one group: the whole message of its most
 * telling case, for at most `full` groups; then one line for each case of the further groups up to `brief`, then a
 * count. Empty lines stand between the groups, none before the first. */
void terminal_failures(FILE *out, const struct outcome *all, size_t count, size_t full, size_t brief);

void terminal_stats(FILE *out, const struct totals *t);
/* "N passed, N failed, N skipped", the last line of every run. */
void terminal_last_line(FILE *out, const struct totals *t);

#endif
