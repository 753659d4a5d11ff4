#include "bank_layout.h"
#include "../ref/checked.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LANES = 32, BANKS = 32 };

static struct bank_op op_of(const struct layout *l) {
    const bool store = l->access == LAYOUT_STMATRIX || l->access == LAYOUT_ST_SHARED;
    char name[32];
    if (l->matrices > 0)
        snprintf(name, sizeof name, "%smatrix.x%u%s", store ? "st" : "ld", l->matrices, l->trans ? ".trans" : "");
    else
        snprintf(name, sizeof name, "%s%u", store ? "st" : "ld", 8 * l->unit);
    struct bank_op op = {.bytes = l->unit};
    bank_op_named(name, &op);
    return op;
}

struct spot { /* one access */
    int64_t tile_row, tile_byte;
    unsigned warp, index; /* of the accesses by which a lane gets the operands of one tile */
};

/* The names that gpu/layout.h gives an address expression. */
static bool address_of(const struct layout *l, const struct bank_op *op, const struct spot *s, unsigned lane,
                       uint32_t *at, struct error *e) {
    const bool matrix = l->matrices > 0;
    const struct shape_value values[] = {{"lane", lane},
                                         {"g", lane / 4},
                                         {"t", lane % 4},
                                         {"warp", s->warp},
                                         {"tile_row", s->tile_row},
                                         {"tile_byte", s->tile_byte},
                                         {"stride", l->stride},
                                         {"offset", l->plane_offset},
                                         {matrix ? "matrix" : "register", matrix ? lane / 8 : s->index * l->unit / 4},
                                         {matrix ? "row" : "byte", matrix ? lane % 8 : s->index * l->unit % 4},
                                         {"step", s->index}};
    int64_t value;
    if (!expr_eval(l->address, &(struct shape){values, sizeof values / sizeof *values - !matrix}, &value, e) ||
        !layout_in_reach(l->address, value, e))
        return false;
    if (value < 0 || value + op->bytes > l->plane_bytes)
        return expr_fail(l->address, e, "lane %u gets bytes %lld..%lld of a plane of %u bytes: out of the plane", lane,
                         (long long)value, (long long)value + op->bytes - 1, l->plane_bytes);
    value += l->plane_offset;
    if (value % op->bytes != 0)
        return expr_fail(l->address, e, "lane %u gets the shared address %lld: %s wants a multiple of %u", lane,
                         (long long)value, op->name, op->bytes);
    *at = (uint32_t)value;
    return true;
}

static bool count_access(const struct layout *l, const struct spot *s, unsigned *most, struct bank_layout *out,
                         struct error *e) {
    uint32_t at[LANES] = {0};
    const uint32_t lanes = bank_op_lanes(&out->op);
    for (unsigned lane = 0; lane < LANES; ++lane)
        if (lanes >> lane & 1 && !address_of(l, &out->op, s, lane, &at[lane], e))
            return false;
    const struct bank_count c = bank_count(out->op.kind, out->op.bytes, out->op.matrices, at, lanes);
    if (c.wavefronts > *most) {
        *most = c.wavefronts;
        out->worst = out->accesses;
        memcpy(out->at, at, sizeof at);
    }
    ++out->accesses;
    out->count.wavefronts += c.wavefronts;
    out->count.conflicts += c.conflicts;
    return true;
}

/* The rows to which the addresses of the worst access lead. */
static bool find_rows(const struct layout *l, struct bank_layout *out, struct error *e) {
    uint32_t *row_at = must_calloc(l->plane_bytes, sizeof *row_at); /* row + 1 */
    bool good = true;
    int64_t at;
    for (unsigned row = 0; row < l->rows && good; ++row)
        for (unsigned byte = 0; byte < l->row_bytes && (good = layout_place(l, row, byte, &at, e)); ++byte)
            if (at >= 0 && at < l->plane_bytes)
                row_at[at] = row + 1;
    for (unsigned lane = 0; lane < LANES; ++lane)
        out->row[lane] = bank_op_lanes(&out->op) >> lane & 1 ? row_at[out->at[lane] - l->plane_offset] - 1 : UINT32_MAX;
    free(row_at);
    return good;
}

bool bank_layout_count(const struct layout *l, struct bank_layout *out, struct error *e) {
    memset(out, 0, sizeof *out);
    if (!layout_check(l, e))
        return false;
    if (l->access == LAYOUT_WGMMA)
        return expr_fail(l->address, e,
                         "wgmma reads this operand by its descriptor: how many wavefronts that takes is not "
                         "modelled");
    out->op = op_of(l);
    for (; out->start_count < 64 && out->start_count < l->rows; ++out->start_count) {
        int64_t at;
        if (!layout_place(l, out->start_count, 0, &at, e))
            return false;
        out->starts[out->start_count] = (uint32_t)((at + l->plane_offset) >> 2) % BANKS;
    }
    const unsigned along = l->row_bytes * 8 / l->wants.bits, rows = l->mn_major ? along : l->rows,
                   columns = l->mn_major ? l->rows : along, tile_rows = l->wants.rows * l->tiles_rows,
                   tile_columns = l->wants.columns * l->tiles_columns,
                   registers = l->wants.registers * l->tiles_rows * l->tiles_columns,
                   indexes = l->matrices ? registers / l->matrices : 4 * registers / l->unit;
    unsigned most = 0;
    for (unsigned down = 0; down < rows; down += tile_rows)
        for (unsigned across = 0; across < columns; across += tile_columns)
            for (unsigned warp = 0; warp < l->wants.lanes / LANES; ++warp)
                for (unsigned index = 0; index < indexes; ++index) {
                    const struct spot s = {l->mn_major ? across : down,
                                           (int64_t)(l->mn_major ? down : across) * l->wants.bits / 8, warp, index};
                    if (!count_access(l, &s, &most, out, e))
                        return false;
                }
    return find_rows(l, out, e);
}
