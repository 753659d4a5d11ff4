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

/* What a group of slots is called: of ldmatrix and stmatrix a matrix, where an operand takes one instruction. */
static const char *const *names_of(const struct layout *l, size_t indexes) {
    static const char *const matrices[] = {"matrix", "matrices"}, *const registers[] = {"register", "registers"},
                             *const accesses[] = {"access", "accesses"};
    return l->matrices == 0 ? l->unit == 4 ? registers : accesses : l->matrices == indexes ? matrices : registers;
}

/* "matrix 1 is matrix 0 again, matrices 2 and 3 are matrix 1 again" where all those are right themselves; else, and of
 * stores, "matrices 0, 1 have the places of matrices 1, 2". */
static char *repeated(const struct layout *l, const char *const names[2], const int *from, size_t indexes) {
    const bool store = l->access == LAYOUT_STMATRIX || l->access == LAYOUT_ST_SHARED;
    size_t moved = 0;
    bool kept = !store, first = true;
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    for (size_t i = 0; i < indexes; ++i) {
        kept = kept && from[from[i]] == from[i];
        moved += from[i] != (int)i;
    }
    for (int of = 0; of < (int)indexes && kept; ++of) {
        size_t left = 0, shown = 0;
        for (size_t i = 0; i < indexes; ++i)
            left += from[i] == of && (int)i != of;
        const size_t copies = left;
        for (size_t i = 0; i < indexes; ++i)
            if (from[i] == of && (int)i != of) {
                --left;
                if (shown++ == 0)
                    fprintf(out, "%s%s %zu", first ? "" : ", ", names[copies > 1], i);
                else
                    fprintf(out, "%s %zu", left > 0 ? "," : " and", i);
            }
        if (copies > 0) {
            fprintf(out, " %s %s %d again", copies > 1 ? "are" : "is", names[0], of);
            first = false;
        }
    }
    for (int pass = 0; pass < 2 && !kept; ++pass) {
        size_t shown = 0;
        fprintf(out, "%s%s",
                pass == 0   ? ""
                : moved > 1 ? " have the places of "
                            : " has the place of ",
                names[moved > 1]);
        for (size_t i = 0; i < indexes; ++i)
            if (from[i] != (int)i)
                fprintf(out, "%s %d", shown++ > 0 ? "," : "", pass > 0 ? from[i] : (int)i);
    }
    fclose(out);
    return text;
}

static char *exchanged(const struct layout *l, const struct layout_slot *slots, size_t count, size_t group) {
    const size_t indexes = l->matrices > 0 ? group / 8 : group / 32;
    const char *const *names = names_of(l, indexes);
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
    if (!permutation)
        return repeated(l, names, from, indexes);
    for (size_t i = 0; i < indexes; ++i)
        involution = involution && from[from[i]] == (int)i;
    char text[512] = "";
    size_t n = (size_t)snprintf(text, sizeof text, "%s", names[1]);
    for (size_t i = 0; i < indexes && n < sizeof text; ++i)
        if (!involution)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s %d", i ? "" : " in the order", from[i]);
        else if (from[i] > (int)i)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s %zu and %d", n > strlen(names[1]) ? "," : "", i,
                                  from[i]);
    return moved > 0 ? must_format("%s%s", text, involution ? " exchanged" : "") : NULL;
}

/* One half of the 32 bytes that an operand's rows have, twice. */
static char *wrong_half(const struct layout *l, const struct layout_slot *slots, size_t count) {
    const unsigned width = l->mn_major ? l->wants.rows * l->tiles_rows * l->wants.bits / 8
                                       : l->wants.columns * l->tiles_columns * l->wants.bits / 8;
    int64_t half = -1; /* that is wanted */
    if (l->unit != 16 || width != 32)
        return NULL;
    for (size_t i = 0; i < count; ++i) {
        const struct layout_slot *s = &slots[i];
        const int64_t in = s->byte - s->tile_byte;
        if (!wrong(s))
            continue;
        if (s->got_row != s->row || (in != 0 && in != 16) || (half >= 0 && in != half) ||
            s->got_byte != s->tile_byte + 16 - in)
            return NULL;
        half = in;
    }
    return must_format("wrong half: bytes %d..%d of a %srow for bytes %d..%d", half == 0 ? 16 : 0, half == 0 ? 31 : 15,
                       width < l->row_bytes ? "tile's " : "", half == 0 ? 0 : 16, half == 0 ? 15 : 31);
}

/* ---- a name that the address does not have ---- */

/* Names without which an address may be; each has a value other than 0 somewhere. */
enum { WARP = 1, ACROSS = 2, DOWN = 4, REGISTER = 8, BYTE = 16, SETS = 32 };

static unsigned names_there(const struct layout *l, size_t warps, size_t across, size_t down, size_t indexes) {
    const size_t one = l->matrices > 0 ? l->matrices : l->unit < 4 ? 4 / l->unit : 1; /* of a register or step */
    return (warps > 1 ? WARP : 0) | (across > 1 ? ACROSS : 0) | (down > 1 ? DOWN : 0) | (indexes > one ? REGISTER : 0) |
           (l->matrices == 0 && l->unit < 4 ? BYTE : 0);
}

/* The index whose address one gives without those names. */
static size_t index_without(const struct layout *l, unsigned set, size_t index) {
    const size_t one = l->matrices > 0 ? l->matrices : l->unit < 4 ? 4 / l->unit : 1;
    index = set & REGISTER ? index % one : index;
    return set & BYTE ? index / one * one : index;
}

static char *name_left_out(const struct layout *l, unsigned set) {
    const char *const names[] = {set & WARP ? "warp" : NULL, set & (l->mn_major ? ACROSS : DOWN) ? "tile_row" : NULL,
                                 set & (l->mn_major ? DOWN : ACROSS) ? "tile_byte" : NULL,
                                 set & REGISTER ? l->matrices > 0 ? "step" : "register" : NULL,
                                 set & BYTE ? "byte" : NULL};
    char text[80] = "";
    bool used = false;
    for (size_t i = 0, n = 0; i < sizeof names / sizeof *names; ++i)
        if (names[i]) {
            used = used || expr_uses(l->address, names[i]);
            n += (size_t)snprintf(text + n, sizeof text - n, " %s", names[i]);
        }
    return must_format("%s the address:%s", used ? "without effect in" : "left out of", text);
}

static char *left_out(const struct layout *l, const struct layout_slot *slots, size_t count, size_t group) {
    const unsigned columns = l->mn_major ? l->rows : l->row_bytes * 8 / l->wants.bits;
    const size_t warps = l->wants.lanes / 32, each = warps * group, of_index = l->matrices > 0 ? 8 : 32,
                 across = columns / (l->wants.columns * l->tiles_columns), down = count / each / across;
    const unsigned there = names_there(l, warps, across, down, group / of_index);
    for (unsigned names = 1; names <= 5; ++names) /* as few as explain it */
        for (unsigned set = 1; set < SETS; ++set) {
            bool same = (set & ~there) == 0 && (unsigned)__builtin_popcount(set) == names;
            for (size_t i = 0; i < count && same; ++i) {
                const size_t tile = i / each, warp = set & WARP ? 0 : i / group % warps,
                             x = set & ACROSS ? 0 : tile % across, y = set & DOWN ? 0 : tile / across,
                             index = index_without(l, set, i % group / of_index);
                same = slots[i].got ==
                       slots[(y * across + x) * each + warp * group + index * of_index + i % of_index].want;
            }
            if (same)
                return name_left_out(l, set);
        }
    return NULL;
}

/* ---- the same distance everywhere ---- */

static char *shifted(const struct layout *l, const struct layout_slot *slots, size_t count) {
    const struct layout_slot *first = NULL, *known = NULL;
    bool same_address = true, same_element = true;
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
    }
    name_wrong(slots, count, who);
    if (same_element && bytes == 0)
        return must_format("row offset: %s %lld row%s too %s", who, (long long)(rows < 0 ? -rows : rows),
                           rows == 1 || rows == -1 ? "" : "s", rows < 0 ? "low" : "high");
    const int64_t d = same_address ? distance : same_element && rows == 0 ? bytes : 0, size = d < 0 ? -d : d;
    const bool along = !same_address && (l->place || l->slot_bytes > 0);
    const char *before = same_address || along ? "" : "before the swizzle ";
    char much[64];
    if (d == 0)
        return NULL;
    if (size % 4 == 0)
        snprintf(much, sizeof much, "%lld word%s (%lld bytes)", (long long)size / 4, size == 4 ? "" : "s",
                 (long long)size);
    else
        snprintf(much, sizeof much, "%lld byte%s", (long long)size, size == 1 ? "" : "s");
    return must_format("%s offset: %s%s %s too %s", size % 4 == 0 ? "word" : "byte", before, who, much,
                       along   ? d < 0 ? "far back in a row" : "far on in a row"
                       : d < 0 ? "low"
                               : "high");
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
    bool any = false;
    for (size_t i = 0; i < count; ++i) {
        if (!slots[i].wanted)
            return NULL;
        any = any || wrong(&slots[i]);
    }
    if (!any)
        return NULL;
    char *why = wrong_half(l, slots, count);
    why = why ? why : left_out(l, slots, count, group);
    why = why ? why : exchanged(l, slots, count, group);
    why = why ? why : layout_swizzle_mistake(l, slots, count);
    why = why ? why : shifted(l, slots, count);
    return why ? why : other_stride(l, slots, count);
}
