/* Which mutants are the same program: proofs, not tests. */
#ifndef GPU_MUTANT_PROOF_H
#define GPU_MUTANT_PROOF_H

#include "mutant.h"
#include "mutant_flow.h"

/* Why the mutant computes what the program does, for every operand and every launch of the launch file that the machine
 * takes; NULL where that is not proved. changed: the mutant's text, parsed. The caller frees the text. */
char *mutant_equivalent(const struct mutant_flow *f, const struct ptx_module *m, const struct ptx_module *changed,
                        const struct mutant *x);

/* The same of one thread after another, which takes longer: where each takes the same way with the same operands. */
char *mutant_equivalent_by_threads(const struct mutant_flow *f, const struct ptx_module *m,
                                   const struct ptx_module *changed, const struct mutant *x);

/* The whole text with a trap ahead of the mutant's instruction, under its guard (where the mutant is of the guard,
 * without one): a launch in which no lane executes it runs as before. The caller frees it. */
char *mutant_probe_text(const struct ptx_module *m, const struct mutant *x, size_t *size);

#endif
