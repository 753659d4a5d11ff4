/* What runs of 16 codes hold instead of what they must: one rule from places wanted to places held that fits all of
 * them. Codes repeat in an operand, so a rule is tried on all runs rather than each run looked up by itself. */
#ifndef ORACLES_QUAD_RULE_H
#define ORACLES_QUAD_RULE_H

#include "../gpu/elements.h"

enum { QUAD = 16 }; /* elements of one row that lie side by side in four lanes of a fragment's register */

struct quad {
    size_t row, k;     /* wanted, of the first one */
    uint8_t got[QUAD]; /* held */
    unsigned known;    /* bit i: lane i of the four takes part */
    uint64_t block;    /* whose mma it is */
};

/* Words such as "row j mod 16 in place of row j", or "row 3, k 0 .. in place of row 1, k 0 .." of the first run where
 * no rule fits all; NULL: what they hold is not in the operand, or more than can be looked through. line: "row",
 * "token". *suspects: static text for the mistake, left alone where none is known. Free with free(). */
char *quad_rule(const struct element_table *t, const struct quad *quads, size_t count, const char *line,
                const char **suspects);

#endif
