#include "bank_advice.h"
#include "../ref/checked.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_MASK = 7, MOST_SHIFT = 13, REPEAT = 128 }; /* 8 chunks of 16 bytes are all banks */
enum { MOST_COUNTED = 1 << 21 };                       /* accesses of all candidates together */

/* Every bit of the mask is set for one row at least. */
static bool uses_all_bits(uint32_t rows, uint32_t mask, uint32_t shift) {
    uint32_t top = 0;
    while (mask >> (top + 1))
        ++top;
    return (rows - 1) >> (shift + top) != 0;
}

static void try_one(const struct bank_tile *t, struct bank_advice_list *l, size_t *room) {
    const struct bank_advice a = {t->stride, t->xor_mask, t->xor_shift, bank_tile_count(t),
                                  (uint64_t)t->rows * t->stride};
    if (l->tried++ == 0 || a.count.wavefronts < l->best.count.wavefronts)
        l->best = a;
    if (a.count.conflicts > 0)
        return;
    if (l->count == *room) {
        *room = *room ? 2 * *room : 64;
        l->items = must_realloc(l->items, *room, sizeof *l->items);
    }
    l->items[l->count++] = a;
}

/* Candidates are visited in the order of the list. counted: their accesses, before any is looked at. */
static bool visit(struct bank_tile t, uint32_t first, uint32_t align, uint32_t last, struct bank_advice_list *l,
                  struct error *e) {
    size_t room = 0, counted = 0;
    const size_t each = bank_tile_accesses(&t);
    for (uint64_t stride = first; stride <= last; stride += align)
        for (uint32_t mask = 0; mask <= MOST_MASK; ++mask)
            for (uint32_t shift = 0; shift <= (mask ? MOST_SHIFT : 0); ++shift) {
                t.stride = (uint32_t)stride;
                t.xor_mask = mask;
                t.xor_shift = shift;
                if (mask && !uses_all_bits(t.rows, mask, shift))
                    continue;
                counted += each + t.rows / 32; /* the check looks at every row */
                if (counted > MOST_COUNTED)
                    return fail(e,
                                "more than %d accesses to count: take fewer --rows or a smaller --max-stride; the "
                                "banks repeat every %d bytes",
                                MOST_COUNTED, REPEAT);
                if (bank_tile_check(&t, NULL))
                    try_one(&t, l, &room);
            }
    return true;
}

bool bank_advise(const struct bank_tile *tile, uint32_t align, uint32_t max_stride, struct bank_advice_list *out,
                 struct error *e) {
    struct bank_tile t = *tile;
    memset(out, 0, sizeof *out);
    if (align % t.op.bytes != 0)
        return fail(e, "--align %u: %s wants multiples of %u bytes", align, t.op.name, t.op.bytes);
    if (t.row_bytes < 1 || t.row_bytes > BANK_TILE_ROW_BYTES)
        return fail(e, "--row-bytes %u: want 1 to %d", t.row_bytes, BANK_TILE_ROW_BYTES);
    const uint64_t first = ((uint64_t)t.row_bytes + align - 1) / align * align;
    uint64_t last = max_stride, repeat = align; /* the least common multiple of both */
    for (unsigned half = REPEAT; half > 1 && repeat % REPEAT != 0; half /= 2)
        repeat *= 2;
    if (max_stride == 0)
        last = first + repeat - align < BANK_TILE_STRIDE ? first + repeat - align : BANK_TILE_STRIDE;
    if (last > BANK_TILE_STRIDE || first > last)
        return fail(e, "--max-stride %llu: want %llu (the first multiple of --align %u that holds a row) to %d",
                    (unsigned long long)last, (unsigned long long)first, align, BANK_TILE_STRIDE);
    t.stride = (uint32_t)last; /* the widest: the others fit when it does */
    t.xor_mask = t.xor_shift = 0;
    if (last % t.op.bytes != 0)
        t.stride -= (uint32_t)(last % t.op.bytes);
    if (!bank_tile_check(&t, e))
        return false;
    if (!visit(t, (uint32_t)first, align, (uint32_t)last, out, e)) {
        bank_advice_free(out);
        return false;
    }
    return true;
}

void bank_advice_free(struct bank_advice_list *l) {
    free(l->items);
    memset(l, 0, sizeof *l);
}
