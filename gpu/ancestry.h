/* What an instruction's operands are made of: the instructions that its registers come from, and theirs, backwards
 * through registers. By the text of the program alone: every instruction that writes a register counts, whichever
 * branch it stands in, and memory is not followed. */
#ifndef GPU_ANCESTRY_H
#define GPU_ANCESTRY_H

#include "ptx/ptx.h"

struct ancestry_index { /* of one function: which instructions write which register */
    const struct ptx_function *function;
    uint32_t *start;   /* (register_count + 1) */
    uint32_t *writers; /* of register r: writers[start[r] .. start[r + 1]), ascending */
};

enum ancestry_part {
    ANCESTRY_ADDRESS, /* of the memory it reaches */
    ANCESTRY_VALUE,   /* the other sources, and its guard */
    ANCESTRY_GUARD,   /* its guard */
    ANCESTRY_ALL,
};

/* NULL function: there is nothing. The function is the caller's and outlives the index. */
void ancestry_open(const struct ptx_function *f, struct ancestry_index *x);
void ancestry_close(struct ancestry_index *x);

/* distance (instruction_count): 0 where an instruction has no part in it, else 1 + the least number of registers
 * between the two, so the instruction itself has 1. through_mma: what an mma has multiplied counts as well; if not, the
 * way ends there, and the mma itself is in it. */
void ancestry_of(const struct ancestry_index *x, size_t instruction, enum ancestry_part part, bool through_mma,
                 uint32_t *distance);

#endif
