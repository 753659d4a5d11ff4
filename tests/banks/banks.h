/* Counts a GPU's wavefronts and bank conflicts, access by access: a list of addresses (patterns.c), one launch of one
 * warp with one shared-memory access for each (kernels.c), and what the profiler counted of each launch, joined to the
 * list (join.c). Never part of the product. */
#ifndef TESTS_BANKS_H
#define TESTS_BANKS_H

#include "../../gpu/bank_table.h"
#include "../../gpu/launch.h"
#include <stdio.h>

/* The address patterns, as a table without counts: every run writes the same bytes. */
void patterns_write(FILE *out);

extern const char *const bank_kernel_ops[]; /* the accesses that are counted, NULL at the end */
/* PTX with one kernel an access, its name that of the access with '_'. Each has three arguments: the (32) byte offsets,
 * negative where the lane is inactive; (32) words, the result; 0. */
char *kernels_text(void);
enum { KERNELS_ARENA = 32768 }; /* bytes of shared memory that offsets may reach */

/* Launches the kernel of a row; census: the machine counts. False with the reason in e. */
bool kernels_launch(const struct ptx_module *m, const struct bank_row *row, const struct runner *runner, bool census,
                    struct bank_count *counted, struct error *e);

/* Writes the table's rows, with what `ncu --csv` says of the launches in that order; where that is not what the model
 * says, a line in notes (NULL: none). */
bool join_counts(const struct bank_table *t, const char *csv, FILE *out, FILE *notes, struct error *e);

#endif
