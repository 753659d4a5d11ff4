/* Which one mistake about the swizzle explains all wrong addresses of a layout. */
#include "../ref/checked.h"
#include "layout.h"
#include <stdio.h>
#include <string.h>

static bool wrong(const struct layout_slot *s) {
    return s->got != s->want;
}

static int64_t linear(const struct layout *l, int64_t row, int64_t byte) {
    return layout_linear(l, l->stride, l->slot_stride, row, byte);
}

static bool fits_addition(const struct layout *l, const struct layout_slot *slots, size_t count, int64_t d) {
    for (size_t i = 0; i < count; ++i) {
        const struct layout_slot *s = &slots[i];
        if (wrong(s) && s->got != layout_swizzled(l, s->row, linear(l, s->row, s->byte) - d, l->plane_offset) + d)
            return false;
    }
    return true;
}

/* swizzle(a) + d where swizzle(a + d) is wanted, d the same for all that are wrong, whole units first; 0: no. */
static int64_t added_after(const struct layout *l, const struct layout_slot *slots, size_t count) {
    for (int64_t step = l->unit; step > 0; step = step > 1 ? 1 : 0)
        for (int64_t d = step; d <= 256; d += step) {
            if (fits_addition(l, slots, count, d))
                return d;
            if (fits_addition(l, slots, count, -d))
                return -d;
        }
    return 0;
}

/* "bits 4..6 by address bits from 7 on" */
static void name_swizzle(const struct layout *l, char out[80]) {
    snprintf(out, 80, "bits %u..%u by %s bits from %u on", l->swizzle_first, l->swizzle_last,
             l->swizzle == LAYOUT_BY_ROW ? "row" : "address", l->swizzle_from);
}

static bool fits_swizzle(const struct layout *l, const struct layout_slot *slots, size_t count) {
    for (size_t i = 0; i < count; ++i)
        if (slots[i].got != layout_swizzled(l, slots[i].row, linear(l, slots[i].row, slots[i].byte), l->plane_offset))
            return false;
    return true;
}

/* The swizzle of other bits that all addresses have. A layout without one: the swizzle that they should not have. */
static char *other_swizzle(const struct layout *l, const struct layout_slot *slots, size_t count) {
    enum { MOST_BIT = 17 };
    struct layout x = *l;
    const struct layout_slot *first = slots; /* one that is wrong: most candidates fail there already */
    while (first < slots + count - 1 && !wrong(first))
        ++first;
    for (x.swizzle_first = 0; x.swizzle_first <= MOST_BIT; ++x.swizzle_first)
        for (x.swizzle_last = x.swizzle_first; x.swizzle_last <= MOST_BIT; ++x.swizzle_last)
            for (x.swizzle_from = 0; x.swizzle_from <= MOST_BIT; ++x.swizzle_from)
                for (int by_row = 0; by_row < 2; ++by_row) {
                    char got[80], want[80];
                    x.swizzle = by_row ? LAYOUT_BY_ROW : LAYOUT_BY_ADDRESS;
                    if (!fits_swizzle(&x, first, 1) || !fits_swizzle(&x, slots, count))
                        continue;
                    name_swizzle(&x, got);
                    if (l->swizzle == LAYOUT_NO_SWIZZLE)
                        return must_format("the address has an xor (%s), the layout has none", got);
                    name_swizzle(l, want);
                    return must_format("wrong xor: that of the addresses has %s, that of the layout %s", got, want);
                }
    return NULL;
}

char *layout_swizzle_mistake(const struct layout *l, const struct layout_slot *slots, size_t count) {
    const bool has_xor = strstr(expr_text(l->address), "xor") != NULL;
    if (l->place)
        return NULL;
    if (l->swizzle == LAYOUT_NO_SWIZZLE)
        return has_xor ? other_swizzle(l, slots, count) : NULL;
    bool none = true, whole = true, tile = true, of_plane = l->swizzle == LAYOUT_BY_ADDRESS && l->plane_offset > 0;
    for (size_t i = 0; i < count; ++i) {
        const struct layout_slot *s = &slots[i];
        const int64_t at = linear(l, s->row, s->byte), start = linear(l, s->row, 0);
        none = none && s->got == at;
        whole = whole && s->got == layout_swizzled(l, s->row, start, l->plane_offset) + at - start;
        tile = tile && s->got == layout_swizzled(l, s->row, at - s->tile_byte, l->plane_offset) + s->tile_byte;
        of_plane = of_plane && s->got == layout_swizzled(l, s->row, at, 0);
    }
    if (none)
        return must_strdup(has_xor ? "the address is the one without a swizzle, the layout has one"
                                   : "the address has no xor, the layout has one");
    if (of_plane)
        return must_format("the xor takes bits of the address in the plane, not in shared memory, where the plane "
                           "begins at %u",
                           l->plane_offset);
    if (tile)
        return must_strdup("xor before the addition: swizzle(a) + tile_byte where swizzle(a + tile_byte) is wanted");
    const int64_t d = added_after(l, slots, count);
    if (d != 0)
        return must_format("xor before the addition: swizzle(a) %c %lld where swizzle(a %c %lld) is wanted",
                           d < 0 ? '-' : '+', (long long)(d < 0 ? -d : d), d < 0 ? '-' : '+',
                           (long long)(d < 0 ? -d : d));
    if (whole)
        return must_strdup(
            "xor before the addition: swizzle(start of the row) + k where swizzle(start of the row + k) is "
            "wanted");
    return has_xor ? other_swizzle(l, slots, count) : NULL;
}
