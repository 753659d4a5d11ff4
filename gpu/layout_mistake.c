/* Which one mistake explains all wrong addresses of a layout. Each is tried on every address; the first that fits is
 * named, from the most particular to the most general. */
#include "../ref/checked.h"
#include "layout.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_INDEXES = 64, MOST_STEP = 1 << 13 };

static bool wrong(const struct layout_slot *s) {
    return s->got != s->want;
}

/* "every address", "the addresses of lanes 16..31", "8 of 32 addresses". */
static void name_wrong(const struct layout_slot *slots, size_t count, char out[64]) {
    size_t of_lane[32] = {0}, wrong_of_lane[32] = {0}, total = 0;
    int first = -1, last = -1;
    for (size_t i = 0; i < count; ++i) {
        of_lane[slots[i].lane]++;
        wrong_of_lane[slots[i].lane] += wrong(&slots[i]);
        total += wrong(&slots[i]);
    }
    bool whole = true;
    for (int lane = 0; lane < 32; ++lane)
        if (wrong_of_lane[lane] > 0) {
            whole = whole && wrong_of_lane[lane] == of_lane[lane] && (last < 0 || last == lane - 1);
            first = first < 0 ? lane : first;
            last = lane;
        }
    if (total == count)
        snprintf(out, 64, "every address is");
    else if (whole && first == last)
        snprintf(out, 64, "the address of lane %d is", first);
    else if (whole)
        snprintf(out, 64, "the addresses of lanes %d..%d are", first, last);
    else
        snprintf(out, 64, "%zu of %zu addresses are", total, count);
}

/* ---- whole matrices (or registers) in the wrong place ---- */

/* Which index's wanted addresses the index has, in every group; -1: none's. */
static int took_place_of(const struct layout_slot *slots, size_t count, size_t group, size_t indexes, size_t index) {
    const size_t each = group / indexes;
    for (size_t other = 0; other < indexes; ++other) {
        bool same = true;
        for (size_t g = 0; g < count && same; g += group)
            for (size_t q = 0; q < each && same; ++q)
                same = slots[g + index * each + q].got == slots[g + other * each + q].want;
        if (same)
            return (int)other;
    }
    return -1;
}

static char *exchanged(const struct layout *l, const struct layout_slot *slots, size_t count, size_t group) {
    const bool registers = l->matrices == 0 && l->unit == 4;
    const char *what = l->matrices > 0 ? "matrices"
                       : registers     ? "registers"
                                       : "accesses",
               *one = l->matrices > 0 ? "matrix"
                      : registers     ? "register"
                                      : "access";
    const size_t indexes = l->matrices > 0 ? group / 8 : group / 32, each = group / indexes;
    int from[MOST_INDEXES], moved = 0, involution = 1;
    bool used[MOST_INDEXES] = {false}, permutation = true;
    if (indexes < 2 || indexes > MOST_INDEXES)
        return NULL;
    for (size_t i = 0; i < indexes; ++i) {
        from[i] = took_place_of(slots, count, group, indexes, i);
        if (from[i] < 0)
            return NULL;
        permutation = permutation && !used[from[i]];
        used[from[i]] = true;
        moved += from[i] != (int)i;
    }
    if (!permutation) {
        size_t i = 0;
        while (from[i] == (int)i)
            ++i;
        const struct layout_slot *s = &slots[i * each], *o = &slots[(size_t)from[i] * each];
        if (s->row == o->row && (s->byte - o->byte == 16 || o->byte - s->byte == 16))
            return must_format("wrong half: bytes %lld..%lld of a row for bytes %lld..%lld", (long long)o->byte,
                               (long long)o->byte + 15, (long long)s->byte, (long long)s->byte + 15);
        return must_format("%s %zu is %s %d again", one, i, one, from[i]);
    }
    for (size_t i = 0; i < indexes; ++i)
        involution = involution && from[from[i]] == (int)i;
    char text[512] = "";
    size_t n = (size_t)snprintf(text, sizeof text, "%s", what);
    for (size_t i = 0; i < indexes && n < sizeof text; ++i)
        if (!involution)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s %d", i ? "" : " in the order", from[i]);
        else if (from[i] > (int)i)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s %zu and %d", n > strlen(what) ? "," : "", i, from[i]);
    return moved > 0 ? must_format("%s%s", text, involution ? " exchanged" : "") : NULL;
}

/* ---- a name that the address does not have ---- */

static char *left_out(const struct layout *l, const struct layout_slot *slots, size_t count, size_t group) {
    enum { WARP = 1, ACROSS = 2, DOWN = 4 };
    static const unsigned sets[] = {
        WARP, ACROSS, DOWN, WARP | ACROSS, WARP | DOWN, ACROSS | DOWN, WARP | ACROSS | DOWN};
    const unsigned columns = l->mn_major ? l->rows : l->row_bytes * 8 / l->wants.bits;
    const size_t warps = l->wants.lanes / 32, each = warps * group,
                 across = columns / (l->wants.columns * l->tiles_columns), down = count / each / across;
    const unsigned there = (warps > 1 ? WARP : 0) | (across > 1 ? ACROSS : 0) | (down > 1 ? DOWN : 0);
    for (size_t n = 0; n < sizeof sets / sizeof *sets; ++n) {
        bool same = (sets[n] & ~there) == 0;
        for (size_t i = 0; i < count && same; ++i) {
            const size_t tile = i / each, warp = sets[n] & WARP ? 0 : i / group % warps,
                         x = sets[n] & ACROSS ? 0 : tile % across, y = sets[n] & DOWN ? 0 : tile / across;
            same = slots[i].got == slots[(y * across + x) * each + warp * group + i % group].want;
        }
        if (same)
            return must_format("left out of the address:%s%s%s", sets[n] & WARP ? " warp" : "",
                               sets[n] & (l->mn_major ? ACROSS : DOWN) ? " tile_row" : "",
                               sets[n] & (l->mn_major ? DOWN : ACROSS) ? " tile_byte" : "");
    }
    return NULL;
}

/* ---- the swizzle ---- */

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

/* The swizzle of other bits that all addresses have. */
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
                    name_swizzle(l, want);
                    return must_format("wrong xor: that of the addresses has %s, that of the layout %s", got, want);
                }
    return NULL;
}

static char *swizzle_mistake(const struct layout *l, const struct layout_slot *slots, size_t count) {
    if (l->swizzle == LAYOUT_NO_SWIZZLE)
        return NULL;
    bool none = true, whole = true, of_plane = l->swizzle == LAYOUT_BY_ADDRESS && l->plane_offset > 0;
    for (size_t i = 0; i < count; ++i) {
        const struct layout_slot *s = &slots[i];
        const int64_t at = linear(l, s->row, s->byte), start = linear(l, s->row, 0);
        none = none && s->got == at;
        whole = whole && s->got == layout_swizzled(l, s->row, start, l->plane_offset) + at - start;
        of_plane = of_plane && s->got == layout_swizzled(l, s->row, at, 0);
    }
    if (none)
        return must_strdup("the address has no xor, the layout has one");
    if (of_plane)
        return must_format("the xor takes bits of the address in the plane, not in shared memory, where the plane "
                           "begins at %u",
                           l->plane_offset);
    const int64_t d = added_after(l, slots, count);
    if (d != 0)
        return must_format("xor before the addition: swizzle(a) %c %lld where swizzle(a %c %lld) is wanted",
                           d < 0 ? '-' : '+', (long long)(d < 0 ? -d : d), d < 0 ? '-' : '+',
                           (long long)(d < 0 ? -d : d));
    if (whole)
        return must_strdup(
            "xor before the addition: swizzle(start of the row) + k where swizzle(start of the row + k) is "
            "wanted");
    return other_swizzle(l, slots, count);
}

/* ---- the same distance everywhere ---- */

static char *shifted(const struct layout *l, const struct layout_slot *slots, size_t count) {
    const struct layout_slot *first = NULL, *known = NULL;
    bool same_address = true, same_element = true, same_half = true;
    char who[64];
    for (size_t i = 0; i < count; ++i)
        if (wrong(&slots[i])) {
            first = first ? first : &slots[i];
            known = known || slots[i].got_row < 0 ? known : &slots[i];
        }
    if (!first)
        return NULL;
    const int64_t distance = first->got - first->want;
    const bool whole_rows = !known && !l->place && distance % l->stride == 0; /* all of them in no row at all */
    const int64_t rows = known        ? known->got_row - known->row
                         : whole_rows ? distance / l->stride
                                      : 0,
                  bytes = known ? known->got_byte - known->byte : 0;
    for (size_t i = 0; i < count; ++i) {
        const struct layout_slot *s = &slots[i];
        int64_t at;
        if (!wrong(s))
            continue;
        same_address = same_address && s->got - s->want == distance;
        same_element = same_element && (known || whole_rows) &&
                       layout_place(l, s->row + rows, s->byte + bytes, &at, NULL) && at == s->got;
        same_half = same_half && s->byte % 32 == first->byte % 32;
    }
    name_wrong(slots, count, who);
    if (same_element && bytes == 0)
        return must_format("row offset: %s %lld row%s too %s", who, (long long)(rows < 0 ? -rows : rows),
                           rows == 1 || rows == -1 ? "" : "s", rows < 0 ? "low" : "high");
    if (same_element && rows == 0 && same_half && l->unit == 16 &&
        bytes == (first->byte % 32 == 0    ? 16
                  : first->byte % 32 == 16 ? -16
                                           : 0))
        return must_format("wrong half: bytes %d..%d of a row for bytes %d..%d", bytes > 0 ? 16 : 0,
                           bytes > 0 ? 31 : 15, bytes > 0 ? 0 : 16, bytes > 0 ? 15 : 31);
    const int64_t d = same_address ? distance : same_element && rows == 0 ? bytes : 0, size = d < 0 ? -d : d;
    if (d != 0 && size % 4 == 0)
        return must_format("word offset: %s %lld word%s (%lld bytes) too %s", who, (long long)size / 4,
                           size == 4 ? "" : "s", (long long)size, d < 0 ? "low" : "high");
    if (d != 0)
        return must_format("byte offset: %s %lld byte%s too %s", who, (long long)size, size == 1 ? "" : "s",
                           d < 0 ? "low" : "high");
    return NULL;
}

/* ---- another stride ---- */

static bool fits_strides(const struct layout *l, const struct layout_slot *slots, size_t count, int64_t stride,
                         int64_t slot_stride) {
    for (size_t i = 0; i < count; ++i) {
        const struct layout_slot *s = &slots[i];
        const int64_t at = layout_linear(l, stride, slot_stride, s->row, s->byte);
        if (s->got != layout_swizzled(l, s->row, at, l->plane_offset))
            return false;
    }
    return true;
}

static char *other_stride(const struct layout *l, const struct layout_slot *slots, size_t count) {
    size_t w = 0;
    while (w < count && !wrong(&slots[w]))
        ++w;
    if (l->place || w == count)
        return NULL;
    for (unsigned step = 0; step < MOST_STEP; ++step) {
        /* one that is wrong first: most steps fail there already */
        if (step != l->stride && fits_strides(l, &slots[w], 1, step, l->slot_stride) &&
            fits_strides(l, slots, count, step, l->slot_stride))
            return must_format("wrong stride: the addresses step %u bytes a row, the rows lie %u apart", step,
                               l->stride);
        if (l->slot_bytes > 0 && step != l->slot_stride && fits_strides(l, &slots[w], 1, l->stride, step) &&
            fits_strides(l, slots, count, l->stride, step))
            return must_format("wrong slot stride: the addresses step %u bytes a slot, the slots lie %u apart", step,
                               l->slot_stride);
    }
    return NULL;
}

char *layout_mistake(const struct layout *l, const struct layout_slot *slots, size_t count, size_t group) {
    for (size_t i = 0; i < count; ++i)
        if (!slots[i].wanted)
            return NULL;
    char *why = exchanged(l, slots, count, group);
    why = why ? why : left_out(l, slots, count, group);
    why = why ? why : swizzle_mistake(l, slots, count);
    why = why ? why : shifted(l, slots, count);
    return why ? why : other_stride(l, slots, count);
}
