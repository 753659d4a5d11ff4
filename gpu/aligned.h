/* Two programs: which instruction of one is which of the other.
 *
 * Per function of one name, the pairing is monotonic, (i, j), (i', j') with i < i' having j < j'. Anchors are pairs of
 * which both compute the same expression - the same text but for the numbers of registers, of operands of which that is
 * true again - and no other instruction of either does (patience diff). Between two anchors the pairing is the one of
 * most weight, where a pair weighs more the more of it agrees: the expression, the text, the opcode with the shape of
 * its operands; and, in a second round, the registers it reads and gives, as the first round's pairs rename them. A
 * pair whose texts or registers differ stays one only where most of what it reads corresponds, so that two instructions
 * that have no more than an opcode in common are none. */
#ifndef GPU_ALIGNED_H
#define GPU_ALIGNED_H

#include "ptx/ptx.h"

enum aligned_how {
    ALIGNED_ALONE,     /* the other program has no such instruction */
    ALIGNED_SAME,      /* same text but for the numbers of registers, and those that it reads correspond */
    ALIGNED_REGISTERS, /* same text, and it reads a register that nothing gives that corresponds */
    ALIGNED_CHANGED,   /* same opcode; a literal, a modifier, or what kind an operand is, differs */
    ALIGNED_MOVED,     /* no pair, but the other program computes the same expression elsewhere */
    ALIGNED_HOWS,
};

#define ALIGNED_NONE UINT32_MAX

struct aligned_function {
    const struct ptx_function *of[2]; /* of A and B; either may be NULL */
    size_t base[2];                   /* number of its first instruction among all of the module's */
};

/* Sides are 0: A, 1: B. An instruction is numbered through all functions of its module, in their order. */
struct aligned {
    const struct ptx_module *modules[2];
    struct aligned_function *functions;
    size_t function_count;
    size_t count[2];      /* instructions */
    uint32_t *partner[2]; /* (count) number of the other side's, or ALIGNED_NONE */
    uint8_t *how[2];      /* (count) enum aligned_how */
    bool *too_far[2];     /* (count) alone because what stands between two anchors is too much to pair */
    bool renames;         /* of each pair, registers correspond one to one */
};

/* The caller frees it with aligned_free; the modules must outlive it. */
struct aligned *aligned_make(const struct ptx_module *a, const struct ptx_module *b);
void aligned_free(struct aligned *x);

/* The number of an instruction of this side's module; ALIGNED_NONE: it is none of it. */
uint32_t aligned_number(const struct aligned *x, int side, const struct ptx_instruction *in);
const struct ptx_instruction *aligned_instruction(const struct aligned *x, int side, uint32_t number);

/* How many of the entry's and of all functions' that are no entries: alone and pairs, by enum aligned_how; the latter
 * count once. */
struct aligned_counts {
    size_t alone[2], moved, pairs[ALIGNED_HOWS];
};
struct aligned_counts aligned_count(const struct aligned *x, const char *const *entries, size_t entry_count);

/* The number of the last one at or above `number` that is not paired, or paired as changed or by other registers, and
 * gives no register - a store, a copy, a barrier, a wait -, or, where there is none above, the first one below;
 * ALIGNED_NONE: none in the function. moved: so are those that only moved and access memory or synchronise. */
uint32_t aligned_effect(const struct aligned *x, int side, uint32_t number, bool moved);

/* A load, store, copy, atomic, barrier, wait or fence; of parameters none. */
bool aligned_accesses_memory(const struct ptx_instruction *in);

/* What of the texts can make a pair give other values where all pairs before it gave the same: itself where it is not
 * ALIGNED_SAME; what gives a register that it reads and is alone, and so on through those that are alone; and changed
 * ones that do. Numbers of `side`, at most `room`, nearest first; returns how many. moved: as
 * above. */
size_t aligned_causes(const struct aligned *x, int side, uint32_t number, uint32_t *out, size_t room, bool moved);

#endif
