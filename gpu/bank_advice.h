/* Strides and swizzles of a tile whose accesses are free of bank conflicts. */
#ifndef GPU_BANK_ADVICE_H
#define GPU_BANK_ADVICE_H

#include "bank_tile.h"

struct bank_advice {
    uint32_t stride, xor_mask, xor_shift; /* xor_mask 0: no swizzle */
    struct bank_count count;              /* of the whole tile */
    uint64_t bytes;                       /* rows * stride: what the tile costs in the arena */
};

struct bank_advice_list {
    struct bank_advice *items; /* free of conflicts, by (stride, mask, shift) ascending: cheapest first, plain first */
    size_t count;
    size_t tried;
    struct bank_advice
        best; /* fewest wavefronts of all that were tried, cheapest of these; meaningless when none was */
};

/* Tries every stride that is a multiple of `align`, from row_bytes up to max_stride (0: until the
 * banks repeat, every 128 bytes), plain and with every swizzle chunk ^= row >> shift & mask, mask 1 .. 7, that stays in
 * the stride and uses all bits of its mask within t->rows. Each is counted by the model over the whole tile. t's own
 * stride and swizzle do not matter; align MUST be 1 .. BANK_TILE_STRIDE. False, with the flag's name in e, on sizes out
 * of range, no stride to try, or too many accesses to count. The list is for bank_advice_free. */
bool bank_advise(const struct bank_tile *t, uint32_t align, uint32_t max_stride, struct bank_advice_list *out,
                 struct error *e);
void bank_advice_free(struct bank_advice_list *l);

#endif
