/* fixtures/mutants.yaml: mutants that compute the same, each with a proof in words where the machine has none. */
#ifndef CLI_MUTATE_NAMED_H
#define CLI_MUTATE_NAMED_H

#include "mutate.h"

/* Reads the file, whose proofs are a list of
 *
 *   - proof: why they compute the same, for every operand that the launch file and its formats allow
 *     mutants:
 *       - {mutant: KERNEL/OPERATOR/LINE/K, before: "statement;", after: "statement;"}
 *
 * and gives each of the mutations that it names its proof, to be freed. An entry about one of these kernels must be a
 * mutant of it, of these very statements, unless its operator is not among those asked for (a bit each); of other
 * kernels nothing is known, and nothing is said. Fails with the place of an entry that does not hold, or of bad input.
 */
bool mutate_named(const char *path, const struct mutate_kernel *kernels, size_t kernel_count, uint32_t operators,
                  struct mutation *all, size_t count, struct error *e);

#endif
