/* Tables of shared-memory accesses: one access of one warp a line, with the counts that somebody states, or without. */
#ifndef GPU_BANK_TABLE_H
#define GPU_BANK_TABLE_H

#include "../ref/error.h"
#include "banks.h"
#include <stddef.h>

struct bank_row {
    struct bank_op op;
    char *label;             /* owned */
    char written[24];        /* the op as the table has it */
    bool stated;             /* it has counts: they are not '-' */
    struct bank_count count; /* of a stated row */
    uint32_t at[32], active;
    size_t line; /* from 1 */
};

struct bank_table {
    struct bank_row *rows;
    size_t count;
};

enum { BANK_TABLE_BYTES = 1 << 22, BANK_TABLE_OFFSET = 1 << 28 };

/* Reads lines of columns, separated by one tab:
 *     op  label  wavefronts  conflicts  addresses         or         op  label  addresses
 * op: bank_op_named. addresses: byte offsets of lanes 0 .. 31, separated by spaces, multiples of what one lane takes,
 * below BANK_TABLE_OFFSET; -1: the lane is inactive (of matrices only a lane whose address does not count). Both counts
 * may be '-'. Empty lines and lines that begin with '#' are skipped. At most BANK_TABLE_BYTES, regular files only.
 * False with "FILE:LINE:COLUMN: ..." in e; *t is then empty. A table without rows is read and has none. */
bool bank_table_read(const char *path, struct bank_table *t, struct error *e);
void bank_table_free(struct bank_table *t);

/* What the model (banks.h) says of a row. */
struct bank_count bank_row_count(const struct bank_row *r);
/* The row states 0 wavefronts and 0 conflicts of an access that some lane makes, which takes at least 1: the access was
 * not there when it was counted (fixtures/golden/README.md). There is nothing to compare, and whoever reads it is told.
 */
bool bank_row_uncounted(const struct bank_row *r);
/* The row states other counts than the model's, and not those of bank_row_uncounted. */
bool bank_row_differs(const struct bank_row *r);

#endif
