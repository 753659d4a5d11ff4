#include "layout.h"
#include "../ref/checked.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a proof works on. A tile is what one access (or the several of one operand) delivers, by all warps. */
struct proof {
    const struct layout *l;
    struct fragment matrix; /* of ldmatrix and stmatrix */
    int32_t *owner;         /* (plane_bytes) row * row_bytes + byte of the matrix, or -1: padding */
    struct layout_slot *slots;
    size_t slot_count, group; /* slots of a warp and tile */
    unsigned warps, registers;
    unsigned tile_rows, tile_columns, tiles_down, tiles_across; /* elements of a tile; tiles of the matrix */
};

/* Which address a register byte comes from, and which byte after it: LM-2, LM-4, LM-5; ld.shared: its vector, low
 * bytes first. */
static void source_of(const struct proof *p, unsigned lane, unsigned r, unsigned byte, unsigned *index, unsigned *from,
                      unsigned *offset) {
    const struct layout *l = p->l;
    if (l->matrices == 0) {
        *index = (4 * r + byte) / l->unit;
        *from = lane;
        *offset = (4 * r + byte) % l->unit;
        return;
    }
    const struct fragment_cell c = p->matrix.at(&p->matrix, lane, r % l->matrices, byte / 2);
    *index = r;
    *from = c.row % 8; /* the row of matrix r; its lane is 8 * matrix + row */
    *offset = 2 * c.column + byte % 2;
}

static void proof_free(struct proof *p) {
    free(p->owner);
    free(p->slots);
}

static unsigned slots_of_index(const struct layout *l) {
    return l->matrices > 0 ? 8 : 32;
}

static struct layout_slot *slot_at(const struct proof *p, size_t tile, unsigned warp, unsigned index, unsigned from) {
    return &p->slots[(tile * p->warps + warp) * p->group + index * slots_of_index(p->l) + from];
}

/* The byte of the matrix that the operand has in a register byte. */
static void wanted(const struct proof *p, size_t tile, unsigned lane, unsigned r, unsigned byte, int64_t *row,
                   int64_t *at) {
    const struct layout *l = p->l;
    const struct fragment *f = &l->wants;
    const unsigned part = r / f->registers, bits = f->bits;
    const struct fragment_cell c = f->at(f, lane, r % f->registers, 8 * byte / bits);
    const int64_t down = (int64_t)(tile / p->tiles_across) * p->tile_rows + part / l->tiles_columns * f->rows + c.row,
                  across = (int64_t)(tile % p->tiles_across) * p->tile_columns + part % l->tiles_columns * f->columns +
                           c.column;
    const int64_t along = l->mn_major ? down : across;
    *row = l->mn_major ? across : down;
    *at = along * bits / 8 + (bits > 8 ? byte % (bits / 8) : 0);
}

/* ---- 1: the places ---- */

/* ": " and what puts two bytes at one place, where it is one number; else "". */
static void name_overlap(const struct layout *l, unsigned row, unsigned byte, unsigned row2, unsigned byte2,
                         char why[80]) {
    why[0] = 0;
    if (l->place)
        return;
    if (layout_linear(l, l->stride, l->slot_stride, row, byte) !=
        layout_linear(l, l->stride, l->slot_stride, row2, byte2))
        snprintf(why, 80, ": the swizzle brings two places to one");
    else if (l->slot_bytes == 0) /* then only that makes rows overlap */
        snprintf(why, 80, ": the stride of %u bytes is less than a row's %u", l->stride, l->row_bytes);
    else if (l->slot_stride < l->slot_bytes && row == row2)
        snprintf(why, 80, ": the slot stride of %u bytes is less than a slot's %u", l->slot_stride, l->slot_bytes);
}

static bool prove_places(struct proof *p, struct statement *s, struct error *e) {
    const struct layout *l = p->l;
    for (unsigned row = 0; row < l->rows; ++row)
        for (unsigned byte = 0; byte < l->row_bytes; ++byte) {
            int64_t at;
            if (!layout_place(l, row, byte, &at, e))
                return false;
            if (at < 0 || at >= l->plane_bytes) {
                statement_refute(s,
                                 "row %u byte %u of the matrix lies at byte %lld of a plane of %u bytes: out of the "
                                 "plane",
                                 row, byte, (long long)at, l->plane_bytes);
                return true;
            }
            const int32_t other = p->owner[at];
            if (other >= 0) {
                const unsigned first = (unsigned)other / l->row_bytes, its = (unsigned)other % l->row_bytes;
                char why[80];
                name_overlap(l, first, its, row, byte, why);
                statement_refute(s,
                                 "row %u byte %u and row %u byte %u of the matrix both lie at byte %lld of the plane%s",
                                 first, its, row, byte, (long long)at, why);
                return true;
            }
            p->owner[at] = (int32_t)(row * l->row_bytes + byte);
        }
    return true;
}

/* ---- 2: the addresses ---- */

static bool address_of(const struct proof *p, size_t tile, unsigned warp, unsigned index, unsigned from,
                       struct layout_slot *slot, struct error *e) {
    const struct layout *l = p->l;
    const bool matrix = l->matrices > 0;
    const unsigned lane = matrix ? 8 * (index % l->matrices) + from : from;
    const int64_t down = (int64_t)(tile / p->tiles_across) * p->tile_rows,
                  across = (int64_t)(tile % p->tiles_across) * p->tile_columns, tile_row = l->mn_major ? across : down,
                  tile_byte = (l->mn_major ? down : across) * l->wants.bits / 8;
    const struct shape_value values[] = {
        {"lane", lane},
        {"g", lane / 4},
        {"t", lane % 4},
        {"warp", warp},
        {"tile_row", tile_row},
        {"tile_byte", tile_byte},
        {"stride", l->stride},
        {"offset", l->plane_offset},
        {matrix ? "matrix" : "register", matrix ? lane / 8 : index * l->unit / 4},
        {matrix ? "row" : "byte", matrix ? lane % 8 : index * l->unit % 4},
        {"step", matrix ? index / l->matrices : 0},
    };
    const size_t count = sizeof values / sizeof *values - !matrix;
    *slot = (struct layout_slot){
        .warp = warp, .lane = lane, .index = index, .wanted = true, .got_row = -1, .tile_byte = tile_byte};
    if (!expr_eval(l->address, &(struct shape){values, count}, &slot->got, e) ||
        !layout_in_reach(l->address, slot->got, e))
        return false;
    if (slot->got >= 0 && slot->got < l->plane_bytes && p->owner[slot->got] >= 0) {
        slot->got_row = p->owner[slot->got] / (int32_t)l->row_bytes;
        slot->got_byte = p->owner[slot->got] % (int32_t)l->row_bytes;
    }
    return true;
}

static bool fill_slots(struct proof *p, struct error *e) {
    const struct layout *l = p->l;
    const unsigned indexes = (unsigned)(p->group / slots_of_index(l));
    for (size_t tile = 0; tile < (size_t)p->tiles_down * p->tiles_across; ++tile) {
        for (unsigned warp = 0; warp < p->warps; ++warp)
            for (unsigned index = 0; index < indexes; ++index)
                for (unsigned from = 0; from < slots_of_index(l); ++from)
                    if (!address_of(p, tile, warp, index, from, slot_at(p, tile, warp, index, from), e))
                        return false;
        for (int pass = 0; pass < 2; ++pass) /* first bytes give the wanted address, the others must follow it */
            for (unsigned i = 0; i < 128 * p->warps * p->registers; ++i) {
                const unsigned lane = i / 4 / p->registers, r = i / 4 % p->registers;
                unsigned index, from, offset;
                int64_t row, byte, at;
                source_of(p, lane % 32, r, i % 4, &index, &from, &offset);
                if ((pass == 0) != (offset == 0))
                    continue;
                struct layout_slot *slot = slot_at(p, tile, lane / 32, index, from);
                wanted(p, tile, lane, r, i % 4, &row, &byte);
                if (!layout_place(l, row, byte, &at, e))
                    return false;
                if (pass == 0) {
                    slot->want = at;
                    slot->row = row;
                    slot->byte = byte;
                } else if (at != slot->want + offset) {
                    slot->wanted = false;
                }
            }
    }
    return true;
}

static bool refute_alignment(const struct proof *p, struct statement *s) {
    const struct layout *l = p->l;
    for (size_t i = 0; i < p->slot_count; ++i) {
        const struct layout_slot *slot = &p->slots[i];
        if ((slot->got + l->plane_offset) % l->unit == 0)
            continue;
        char *why = slot->got % l->unit == 0
                        ? must_format("the plane begins at %u, no multiple of %u", l->plane_offset, l->unit)
                        : layout_mistake(l, p->slots, p->slot_count, p->group);
        if (!why && !l->place && slot->got == slot->want && slot->wanted && l->stride % l->unit != 0)
            why = must_format("the stride of %u bytes is no multiple of %u", l->stride, l->unit);
        if (!why && slot->wanted && (slot->want + l->plane_offset) % l->unit == 0)
            why = must_format("%lld would be right", (long long)slot->want + l->plane_offset);
        statement_refute(s, "%s gives the address %lld, no multiple of %u: misaligned %u-byte %s%s%s",
                         fragment_lane_name(&l->wants, 32 * slot->warp + slot->lane).text,
                         (long long)(slot->got + l->plane_offset), l->unit, l->unit, l->matrices > 0 ? "row" : "access",
                         why ? "; " : "", why ? why : "");
        free(why);
        return true;
    }
    return false;
}

/* ---- 3: the bytes ---- */

/* Why no address can be right: the bytes that the operand wants do not lie together. */
static char *split_rows(const struct proof *p, struct error *e) {
    const struct layout *l = p->l;
    struct layout other = *l;
    struct proof q = *p;
    other.trans = !l->trans;
    q.l = &other;
    q.matrix = fragment_ldmatrix(l->matrices, other.trans);
    q.slots = must_calloc(p->slot_count, sizeof *q.slots);
    bool good = l->matrices > 0 && fill_slots(&q, e);
    for (size_t i = 0; i < p->slot_count; ++i)
        good = good && q.slots[i].wanted;
    free(q.slots);
    if (good)
        return must_strdup(l->trans ? "transposed once too often: the layout needs no .trans"
                                    : "transposed: the layout needs .trans");
    if (l->matrices > 0 && l->mn_major && l->wants.bits != 16)
        return must_format("no address is right: .trans exchanges 16-bit units, and the elements have %u bits",
                           l->wants.bits);
    return must_format("no address is right: the %u bytes that one address stands for do not lie together", l->unit);
}

static struct proof proof_of(const struct layout *l);

/* `tiles` the other way round explains everything. */
static char *tiles_exchanged(const struct proof *p, struct error *e) {
    struct layout other = *p->l;
    struct error none;
    other.tiles_rows = p->l->tiles_columns;
    other.tiles_columns = p->l->tiles_rows;
    if (other.tiles_rows == other.tiles_columns || !layout_check(&other, &none))
        return NULL;
    struct proof q = proof_of(&other);
    memcpy(q.owner, p->owner, p->l->plane_bytes * sizeof *q.owner);
    bool good = fill_slots(&q, e);
    for (size_t i = 0; i < q.slot_count && good; ++i)
        good = q.slots[i].wanted && q.slots[i].got == q.slots[i].want;
    proof_free(&q);
    return good ? must_format("every address is right for tiles: {rows: %u, columns: %u}", other.tiles_rows,
                              other.tiles_columns)
                : NULL;
}

static void refute_byte(const struct proof *p, const struct layout_slot *slot, unsigned lane, unsigned r, unsigned byte,
                        int64_t at, int64_t row, int64_t column, struct statement *s, struct error *e) {
    const struct layout *l = p->l;
    const bool store = l->access == LAYOUT_STMATRIX || l->access == LAYOUT_ST_SHARED;
    char got[LAYOUT_WORDS + 40], want[LAYOUT_WORDS], who[32];
    layout_name_element(l, row, column, want);
    if (at < 0 || at >= l->plane_bytes)
        snprintf(got, sizeof got, "byte %lld of a plane of %u bytes", (long long)at, l->plane_bytes);
    else if (p->owner[at] < 0)
        snprintf(got, sizeof got, "padding, byte %lld of the plane", (long long)at);
    else
        layout_name_element(l, p->owner[at] / (int32_t)l->row_bytes, p->owner[at] % (int32_t)l->row_bytes, got);
    bool split = false;
    for (size_t i = 0; i < p->slot_count; ++i)
        split = split || !p->slots[i].wanted;
    char *why = tiles_exchanged(p, e);
    why = why ? why : split ? split_rows(p, e) : layout_mistake(l, p->slots, p->slot_count, p->group);
    if (!why)
        why = must_format("%s's address is %lld, %lld would be right",
                          fragment_lane_name(&l->wants, 32 * slot->warp + slot->lane).text, (long long)slot->got,
                          (long long)slot->want);
    if (at < 0 || at >= l->plane_bytes) {
        char *longer = must_format("out of the plane; %s", why);
        free(why);
        why = longer;
    }
    snprintf(who, sizeof who, "%.*s", (int)strcspn(l->wants.name, "."), l->wants.name);
    if (store)
        statement_refute(s, "%s, register %u, byte %u is %s's %s and goes to %s%s: %s",
                         fragment_lane_name(&l->wants, lane).text, r, byte, who, want,
                         at >= 0 && at < l->plane_bytes && p->owner[at] >= 0 ? "the place of " : "", got, why);
    else
        statement_refute(s, "%s, register %u, byte %u holds %s; %s wants %s: %s",
                         fragment_lane_name(&l->wants, lane).text, r, byte, got, who, want, why);
    s->wrong = must_calloc(1, sizeof *s->wrong);
    *s->wrong = (struct wrong_byte){lane / 32, lane % 32, r, byte, must_strdup(got), must_strdup(want), why};
}

/* Elements of less than a byte: those of a register byte are neighbours along k, the lower in the low bits, as in
 * memory. */
static bool is_memory_byte(const struct fragment *f, unsigned lane, unsigned r, unsigned byte) {
    const unsigned each = 8 / f->bits, first = each * byte;
    const struct fragment_cell c = f->at(f, lane, r, first);
    bool same = c.column % each == 0;
    for (unsigned i = 1; i < each; ++i) {
        const struct fragment_cell next = f->at(f, lane, r, first + i);
        same = same && next.row == c.row && next.column == c.column + i;
    }
    return same;
}

/* Compares byte by byte, tile by tile, in the order lane, register, byte. */
static bool prove_bytes(const struct proof *p, struct statement *s, struct error *e) {
    const struct layout *l = p->l;
    for (size_t tile = 0; tile < (size_t)p->tiles_down * p->tiles_across; ++tile)
        for (unsigned i = 0; i < 128 * p->warps * p->registers; ++i) {
            const unsigned lane = i / 4 / p->registers, r = i / 4 % p->registers;
            unsigned index, from, offset;
            int64_t row, byte;
            source_of(p, lane % 32, r, i % 4, &index, &from, &offset);
            const struct layout_slot *slot = slot_at(p, tile, lane / 32, index, from);
            const int64_t at = slot->got + offset;
            wanted(p, tile, lane, r, i % 4, &row, &byte);
            ++s->domain;
            if (l->wants.bits < 8 && !is_memory_byte(&l->wants, lane, r % l->wants.registers, i % 4)) {
                statement_refute(s, "%s, register %u, byte %u: its elements are no byte of a row of k",
                                 fragment_lane_name(&l->wants, lane).text, r, i % 4);
                return true;
            }
            if (at < 0 || at >= l->plane_bytes || p->owner[at] != row * l->row_bytes + byte) {
                refute_byte(p, slot, lane, r, i % 4, at, row, byte, s, e);
                return true;
            }
        }
    return true;
}

static char *claim(const struct layout *l) {
    const unsigned parts = l->tiles_rows * l->tiles_columns;
    const bool store = l->access == LAYOUT_STMATRIX || l->access == LAYOUT_ST_SHARED;
    char count[16] = "";
    if (parts > 1)
        snprintf(count, sizeof count, "%u x ", parts);
    if (l->access == LAYOUT_WGMMA)
        return must_format(
            "wgmma reads %s from %u rows of %u bytes by a descriptor of swizzle %s, leading %u, stride %u "
            "at `%s`",
            l->wants.name, l->rows, l->row_bytes, swizzle_names[l->descriptor.mode], l->descriptor.lbo,
            l->descriptor.sbo, expr_text(l->address));
    return must_format("%s at `%s` %s %s%s %s %u rows of %u bytes", l->access_name, expr_text(l->address),
                       store ? "puts down" : "delivers", count, l->wants.name, store ? "as" : "from", l->rows,
                       l->row_bytes);
}

/* The proof of l before anything is known; plane and slots are the caller's to free. */
static struct proof proof_of(const struct layout *l) {
    struct proof p = {.l = l, .matrix = fragment_ldmatrix(l->matrices, l->trans), .warps = l->wants.lanes / 32};
    p.registers = l->wants.registers * l->tiles_rows * l->tiles_columns;
    p.tile_rows = l->wants.rows * l->tiles_rows;
    p.tile_columns = l->wants.columns * l->tiles_columns;
    const unsigned along = l->row_bytes * 8 / l->wants.bits;
    p.tiles_down = (l->mn_major ? along : l->rows) / p.tile_rows;
    p.tiles_across = (l->mn_major ? l->rows : along) / p.tile_columns;
    p.group = l->access == LAYOUT_WGMMA ? 0 : l->matrices > 0 ? 8 * p.registers : 128 * p.registers / l->unit;
    p.slot_count = (size_t)p.tiles_down * p.tiles_across * p.warps * p.group;
    p.owner = must_calloc(l->plane_bytes + 1, sizeof *p.owner);
    memset(p.owner, 0xff, l->plane_bytes * sizeof *p.owner);
    p.slots = must_calloc(p.slot_count + 1, sizeof *p.slots);
    return p;
}

bool layout_prove(const struct layout *l, struct statement *s, struct error *e) {
    struct proof p = proof_of(l);
    *s = (struct statement){.name = must_format("layout/%s", l->name), .text = claim(l), .proved = true};
    bool good = prove_places(&p, s, e);
    if (l->access == LAYOUT_WGMMA) {
        good = good && (!s->proved || layout_wgmma_prove(l, p.owner, s, e));
        proof_free(&p);
        return good;
    }
    if (good && s->proved)
        good = fill_slots(&p, e);
    if (good && s->proved && !refute_alignment(&p, s))
        good = prove_bytes(&p, s, e);
    proof_free(&p);
    return good;
}

/* Of 16 bytes, each row * row_bytes + byte of the matrix, or -1. */
static void describe(const struct layout *l, const int32_t *owner, struct layout_chunk *c) {
    for (unsigned i = 0; i < 16; ++i) {
        const bool goes_on =
            i > 0 &&
            (owner[i] < 0 ? owner[i - 1] < 0 : owner[i] == owner[i - 1] + 1 && owner[i] % (int32_t)l->row_bytes != 0);
        c->pieces += !goes_on;
        if (owner[i] >= 0 && c->row < 0) {
            c->row = owner[i] / (int32_t)l->row_bytes;
            c->byte = owner[i] % (int32_t)l->row_bytes;
        }
    }
}

bool layout_chunks(const struct layout *l, struct layout_chunk *chunks, size_t count, struct error *e) {
    const int64_t before = l->plane_offset % 128, end = 16 * (int64_t)count;
    struct proof p = proof_of(l);
    int32_t *owner = must_calloc(16 * count + 1, sizeof *owner);
    bool good = true;
    int64_t at;
    memset(owner, 0xff, 16 * count * sizeof *owner);
    for (unsigned row = 0; row < l->rows && good; ++row)
        for (unsigned byte = 0; byte < l->row_bytes && (good = layout_place(l, row, byte, &at, e)); ++byte)
            if (at >= 0 && at < l->plane_bytes && at + before < end && owner[at + before] < 0)
                owner[at + before] = (int32_t)(row * l->row_bytes + byte);
    for (size_t i = 0; i < count; ++i) {
        chunks[i] = (struct layout_chunk){.row = -1};
        describe(l, owner + 16 * i, &chunks[i]);
    }
    for (size_t i = 0; i < p.group && good; ++i) {
        const unsigned each = slots_of_index(l);
        struct layout_slot slot;
        good = address_of(&p, 0, 0, (unsigned)(i / each), (unsigned)(i % each), &slot, e);
        if (good && slot.got >= 0 && slot.got < l->plane_bytes && slot.got + before < end)
            chunks[(slot.got + before) / 16].lanes |= (uint32_t)1 << slot.lane;
    }
    free(owner);
    proof_free(&p);
    return good;
}
