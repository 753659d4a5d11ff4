/* Operands that wgmma reads from shared memory by a descriptor: is every byte that it reads the one that it must be? */
#include "../ref/checked.h"
#include "layout.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { K_BYTES = 32, MOST_OFFSET = 1 << 17, MOST_SHIFT = 1 << 12 };

struct wgmma_proof {
    const struct layout *l;
    const int32_t *owner; /* of layout_prove */
    unsigned tiles_down, tiles_across;
    unsigned *start; /* (tiles) shared-memory addresses */
    struct wrong {   /* the first wrong byte: of element (mn, k) of a tile */
        unsigned tile, mn, k, b;
    } wrong;
};

static unsigned elements_of(const struct layout *l) {
    return K_BYTES * 8 / l->wants.bits;
}

/* Byte of the plane that d, whose start address is that of the tile and d->start more, reads for element (mn, k) of the
 * operand, byte b of it; relative: the xor takes bits of the distance from the plane's beginning. */
static int64_t read_at(const struct wgmma_proof *p, const struct wgmma_descriptor *d, bool relative, unsigned tile,
                       unsigned mn, unsigned k, unsigned b) {
    const struct layout *l = p->l;
    struct wgmma_descriptor one = *d;
    one.start += p->start[tile] - (relative ? l->plane_offset : 0);
    const unsigned at = l->mn_major ? wgmma_mn_major(&one, mn, k) : wgmma_k_major(&one, mn, k * l->wants.bits / 8);
    return (int64_t)at + b - (relative ? 0 : (int64_t)l->plane_offset);
}

/* row * row_bytes + byte of the matrix that belongs there. */
static int64_t wanted(const struct wgmma_proof *p, unsigned tile, unsigned mn, unsigned k, unsigned b) {
    const struct layout *l = p->l;
    const int64_t down = (int64_t)(tile / p->tiles_across) * l->wants.rows + mn,
                  across = (int64_t)(tile % p->tiles_across) * l->wants.columns + k;
    return (l->mn_major ? across : down) * l->row_bytes + (l->mn_major ? down : across) * l->wants.bits / 8 + b;
}

static bool is_right(const struct wgmma_proof *p, int64_t at, int64_t want) {
    return at >= 0 && at < p->l->plane_bytes && p->owner[at] == want;
}

/* False: all are right. *count: bytes that were looked at. */
static bool first_wrong(const struct wgmma_proof *p, const struct wgmma_descriptor *d, bool relative, struct wrong *w,
                        uint64_t *count) {
    const struct layout *l = p->l;
    const unsigned bytes = l->wants.bits / 8;
    for (w->tile = 0; w->tile < p->tiles_down * p->tiles_across; ++w->tile)
        for (w->mn = 0; w->mn < l->wants.rows; ++w->mn)
            for (w->k = 0; w->k < elements_of(l); ++w->k)
                for (w->b = 0; w->b < bytes; ++w->b) {
                    ++*count;
                    if (!is_right(p, read_at(p, d, relative, w->tile, w->mn, w->k, w->b),
                                  wanted(p, w->tile, w->mn, w->k, w->b)))
                        return true;
                }
    return false;
}

/* All are right with d; one that was wrong goes first, since most fail there. */
static bool fits(const struct wgmma_proof *p, struct wgmma_descriptor d, bool relative) {
    const struct wrong *known = &p->wrong;
    struct wrong w;
    uint64_t count = 0;
    return is_right(p, read_at(p, &d, relative, known->tile, known->mn, known->k, known->b),
                    wanted(p, known->tile, known->mn, known->k, known->b)) &&
           !first_wrong(p, &d, relative, &w, &count);
}

/* ---- the mistake ---- */

static char *other_offset(const struct wgmma_proof *p) {
    const struct wgmma_descriptor d = p->l->descriptor;
    struct wgmma_descriptor x = d;
    x.lbo = d.sbo;
    x.sbo = d.lbo;
    if (fits(p, x, false))
        return must_strdup("leading and stride exchanged");
    for (unsigned to = 16; to <= MOST_OFFSET; to += 16) {
        x = d;
        x.sbo = to;
        if (fits(p, x, false))
            return must_format("wrong stride offset: the descriptor says %u, %u would be right", d.sbo, to);
        x = d;
        x.lbo = to;
        if (fits(p, x, false))
            return must_format("wrong leading offset: the descriptor says %u, %u would be right", d.lbo, to);
    }
    return NULL;
}

static char *other_swizzle(const struct wgmma_proof *p) {
    const struct wgmma_descriptor d = p->l->descriptor;
    if (fits(p, d, true))
        return must_format("the pattern begins where the plane does, at %u, and wgmma takes it from the shared-memory "
                           "address: begin the plane at a multiple of %u",
                           p->l->plane_offset, 8 * swizzle_width(d.mode));
    for (enum swizzle_mode mode = SWIZZLE_NONE; mode < SWIZZLE_MODES; ++mode) {
        struct wgmma_descriptor x = d;
        x.mode = mode;
        if (mode != d.mode && fits(p, x, false))
            return must_format("wrong swizzle: the descriptor says %s, the layout has %s", swizzle_names[d.mode],
                               swizzle_names[mode]);
    }
    return NULL;
}

static char *other_start(const struct wgmma_proof *p) {
    for (unsigned by = 16; by <= MOST_SHIFT; by += 16)
        for (int sign = -1; sign <= 1; sign += 2) {
            struct wgmma_descriptor x = p->l->descriptor;
            x.start = sign < 0 ? 0u - by : by;
            if (fits(p, x, false))
                return must_format("the start address is %u bytes too %s", by, sign < 0 ? "high" : "low");
        }
    return NULL;
}

static void refute(const struct wgmma_proof *p, struct statement *s) {
    const struct layout *l = p->l;
    const struct wrong *w = &p->wrong;
    const int64_t at = read_at(p, &l->descriptor, false, w->tile, w->mn, w->k, w->b),
                  want = wanted(p, w->tile, w->mn, w->k, w->b);
    char got[LAYOUT_WORDS + 40], should[LAYOUT_WORDS];
    layout_name_element(l, want / l->row_bytes, want % l->row_bytes, should);
    const bool outside = at < 0 || at >= l->plane_bytes;
    if (outside)
        snprintf(got, sizeof got, "out of a plane of %u bytes", l->plane_bytes);
    else if (p->owner[at] < 0)
        snprintf(got, sizeof got, "padding");
    else
        layout_name_element(l, p->owner[at] / (int32_t)l->row_bytes, p->owner[at] % (int32_t)l->row_bytes, got);
    char *why = other_offset(p);
    why = why ? why : other_swizzle(p);
    why = why ? why : other_start(p);
    statement_refute(s, "wgmma wants %s and reads byte %lld of the plane: %s%s%s", should, (long long)at, got,
                     why ? ": " : "", why ? why : "");
    free(why);
}

/* The start address of each tile. False: an expression has no value. */
static bool find_starts(struct wgmma_proof *p, struct statement *s, struct error *e) {
    const struct layout *l = p->l;
    for (unsigned tile = 0; tile < p->tiles_down * p->tiles_across; ++tile) {
        const int64_t down = (int64_t)(tile / p->tiles_across) * l->wants.rows,
                      across = (int64_t)(tile % p->tiles_across) * l->wants.columns;
        const struct shape_value values[] = {{"tile_row", l->mn_major ? across : down},
                                             {"tile_byte", (l->mn_major ? down : across) * l->wants.bits / 8},
                                             {"stride", l->stride},
                                             {"offset", l->plane_offset}};
        int64_t at;
        if (!expr_eval(l->address, &(struct shape){values, 4}, &at, e) || !layout_in_reach(l->address, at, e))
            return false;
        at += l->plane_offset;
        p->start[tile] = (unsigned)at;
        if (at < l->plane_offset || at >= (int64_t)l->plane_offset + l->plane_bytes)
            return statement_refute(s,
                                    "the operand at row %lld byte %lld of the matrix starts at byte %lld of a plane of "
                                    "%u bytes: out of the plane",
                                    (long long)values[0].value, (long long)values[1].value,
                                    (long long)(at - l->plane_offset), l->plane_bytes) ||
                   true;
        if (at % 16 != 0)
            return statement_refute(s,
                                    "the operand at row %lld byte %lld of the matrix starts at %lld, no multiple of 16",
                                    (long long)values[0].value, (long long)values[1].value, (long long)at) ||
                   true;
    }
    return true;
}

bool layout_wgmma_prove(const struct layout *l, const int32_t *owner, struct statement *s, struct error *e) {
    const unsigned elements = l->row_bytes * 8 / l->wants.bits;
    struct wgmma_proof p = {.l = l,
                            .owner = owner,
                            .tiles_down = (l->mn_major ? elements : l->rows) / l->wants.rows,
                            .tiles_across = (l->mn_major ? l->rows : elements) / l->wants.columns};
    p.start = must_calloc((size_t)p.tiles_down * p.tiles_across, sizeof *p.start);
    const bool good = find_starts(&p, s, e);
    if (good && s->proved && first_wrong(&p, &l->descriptor, false, &p.wrong, &s->domain))
        refute(&p, s);
    free(p.start);
    return good;
}
