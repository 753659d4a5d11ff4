/* Where the bytes of a layout's matrix lie. */
#include "../ref/checked.h"
#include "layout.h"
#include <stdio.h>
#include <stdlib.h>

int64_t layout_linear(const struct layout *l, int64_t stride, int64_t slot_stride, int64_t row, int64_t byte) {
    if (l->slot_bytes == 0)
        return row * stride + byte;
    return row * stride + byte / l->slot_bytes * slot_stride + byte % l->slot_bytes;
}

int64_t layout_swizzled(const struct layout *l, int64_t row, int64_t linear, int64_t plane_offset) {
    const int64_t mask = ((int64_t)1 << (l->swizzle_last - l->swizzle_first + 1)) - 1;
    const int64_t at = linear + plane_offset;
    if (l->swizzle == LAYOUT_NO_SWIZZLE || at < 0 || row < 0)
        return linear;
    if (l->swizzle == LAYOUT_BY_ROW)
        return linear < 0 ? linear : linear ^ (row >> l->swizzle_from & mask) << l->swizzle_first;
    return (at ^ (at >> l->swizzle_from & mask) << l->swizzle_first) - plane_offset;
}

bool layout_in_reach(const struct spec_expr *x, int64_t at, struct error *e) {
    return (at >= -LAYOUT_REACH && at <= LAYOUT_REACH) ||
           expr_fail(x, e, "the address %lld is far beyond shared memory", (long long)at);
}

bool layout_place(const struct layout *l, int64_t row, int64_t byte, int64_t *at, struct error *e) {
    if (l->place) {
        const struct shape_value values[] = {{"row", row}, {"byte", byte}};
        return expr_eval(l->place, &(struct shape){values, 2}, at, e) && layout_in_reach(l->place, *at, e);
    }
    *at = layout_swizzled(l, row, layout_linear(l, l->stride, l->slot_stride, row, byte), l->plane_offset);
    return true;
}

void layout_name_element(const struct layout *l, int64_t row, int64_t byte, char out[LAYOUT_WORDS]) {
    const struct fragment *f = &l->wants;
    const unsigned bits = f->bits;
    const int64_t along = byte * 8 / bits, down = l->mn_major ? along : row, across = l->mn_major ? row : along;
    size_t n = (size_t)snprintf(out, LAYOUT_WORDS, "%s %lld %s %lld", f->row_name, (long long)down, f->column_name,
                                (long long)across);
    if (bits < 8)
        snprintf(out + n, LAYOUT_WORDS - n, "..%lld", (long long)(across + 8 / bits - 1));
    if (bits > 8)
        snprintf(out + n, LAYOUT_WORDS - n, " byte %lld", (long long)(byte % (bits / 8)));
}

/* Rows and columns of the operand, in elements, that the whole matrix holds. */
static bool operand_extent(const struct layout *l, unsigned *rows, unsigned *columns, struct error *e) {
    const unsigned along = l->row_bytes * 8 / l->wants.bits;
    if (l->row_bytes * 8 % l->wants.bits != 0)
        return fail(e, "a row of %u bytes is no whole number of %u-bit elements", l->row_bytes, l->wants.bits);
    if (l->mn_major && l->wants.bits < 8)
        return fail(e, "major: mn needs elements of whole bytes, and those of %s have %u bits", l->wants.name,
                    l->wants.bits);
    *rows = l->mn_major ? along : l->rows;
    *columns = l->mn_major ? l->rows : along;
    return true;
}

bool layout_check(const struct layout *l, struct error *e) {
    const unsigned registers = l->wants.registers * l->tiles_rows * l->tiles_columns;
    unsigned rows = 0, columns = 0;
    if (!operand_extent(l, &rows, &columns, e))
        return false;
    const unsigned tile_rows = l->wants.rows * l->tiles_rows, tile_columns = l->wants.columns * l->tiles_columns;
    if (rows == 0 || columns == 0 || rows % tile_rows != 0 || columns % tile_columns != 0)
        return fail(
            e,
            "the matrix holds %u %s x %u %s of %s, which takes %u x %u at a time: the one must be a multiple of "
            "the other",
            rows, l->wants.row_name, columns, l->wants.column_name, l->wants.name, tile_rows, tile_columns);
    if (l->access == LAYOUT_WGMMA && l->mn_major && l->wants.bits != 16)
        return fail(e, "major: mn: wgmma takes it of 16-bit types alone, and the elements of %s have %u bits",
                    l->wants.name, l->wants.bits);
    if (l->access == LAYOUT_WGMMA)
        return l->tiles_rows * l->tiles_columns == 1 || fail(e, "wgmma reads one operand: no tiles");
    if (l->matrices > 0 && registers % l->matrices != 0)
        return fail(e, "%s moves %u registers, and %u x %s have %u", l->access_name, l->matrices,
                    l->tiles_rows * l->tiles_columns, l->wants.name, registers);
    if (l->matrices == 0 && 4 * registers % l->unit != 0)
        return fail(e, "%s moves %u bytes at a time, and %u x %s have %u", l->access_name, l->unit,
                    l->tiles_rows * l->tiles_columns, l->wants.name, 4 * registers);
    return true;
}

char *layout_note(const struct layout *l) {
    const unsigned along = l->row_bytes * 8 / l->wants.bits,
                   registers = l->wants.registers * l->tiles_rows * l->tiles_columns,
                   rows = (l->mn_major ? along : l->rows) / (l->wants.rows * l->tiles_rows),
                   columns = (l->mn_major ? l->rows : along) / (l->wants.columns * l->tiles_columns);
    const struct {
        const char *name;
        bool zero;
    } names[] = {{"tile_row", (l->mn_major ? columns : rows) == 1},
                 {"tile_byte", (l->mn_major ? rows : columns) == 1},
                 {"warp", l->wants.lanes == 32},
                 {"step", registers == l->matrices},
                 {"matrix", l->matrices == 1},
                 {"register", registers == 1 || 4 * registers == l->unit},
                 {"byte", l->unit >= 4}};
    char text[120] = "";
    size_t n = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
        if (names[i].zero && expr_uses(l->address, names[i].name))
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", n > 0 ? ", " : "", names[i].name);
    return n > 0 ? must_format("always 0 in this matrix, so what the address does with it is not proved: %s", text)
                 : NULL;
}

void layout_free(struct layout *l) {
    if (!l)
        return;
    free(l->name);
    free(l->about);
    expr_free(l->place);
    expr_free(l->address);
    free(l);
}
