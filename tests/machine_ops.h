/* One lane operation and what it must give; machine_ops.c runs it on random and edge operands. */
#ifndef TESTS_MACHINE_OPS_H
#define TESTS_MACHINE_OPS_H

#include "machine_run.h"

struct machine_op {
    const char *instruction;                               /* "add.s32" */
    char dst;                                              /* class: h 16 bits, r 32, l 64, f f32, d f64, p predicate */
    const char *sources;                                   /* classes of the sources */
    const char *tail;                                      /* further operands as text: ", 4, 28" */
    uint64_t (*value)(uint64_t a, uint64_t b, uint64_t c); /* of operands as bits; predicates 0 or 1 */
};

/* True when the machine gives op's values everywhere; otherwise why says where it does not. */
bool machine_agrees(const struct machine_op *op, uint64_t seed, char *why, size_t room);
/* Asserts it of all of them. */
void machine_check_ops(const struct machine_op *ops, size_t count);

#endif
