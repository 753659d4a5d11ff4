/* Initial values: `= 1`, `= {1, {2, 3}, generic(x) + 4}` -> bytes, and cells that hold addresses. Source: PTX
 * ISA 5.4.4. */
#include "../../ref/checked.h"
#include "internal.h"
#include <string.h>

struct filler {
    struct ptx_variable *v;
    const struct shape *shape;
    size_t cell_bytes, vector;
    struct growing bytes; /* of the array so far, when its size is open, else unused */
    uint8_t *out;         /* (room) */
    size_t room;
    struct growing relocations; /* struct found_address */
};

struct found_address {
    struct ptx_relocation relocation;
    struct symbol *symbol;
    size_t at;
};

static bool is_float_type(enum ptx_type t) {
    return t == PTX_F16 || t == PTX_F16X2 || t == PTX_BF16 || t == PTX_BF16X2 || t == PTX_F32 || t == PTX_F64;
}

static double double_of(uint64_t bits) {
    double d;
    memcpy(&d, &bits, sizeof d);
    return d;
}

static uint64_t float_bits_of(double d) {
    float f = (float)d;
    uint32_t bits;
    memcpy(&bits, &f, sizeof f);
    return bits;
}

/* The cell's bits: integers must fit the width signed or unsigned; reals are rounded once to the cell's type. */
static bool encode(struct parser *p, size_t at, const struct filler *f, const struct constant *c, uint64_t *bits) {
    enum ptx_type type = f->v->type;
    unsigned width = (unsigned)f->cell_bytes * 8;
    bool real = c->kind != CONSTANT_INTEGER;
    if (width > 64)
        return fail_at(p, at, "initial values of 128 bits are not supported");
    if (real && is_float_type(type) && width < 32)
        return fail_at(p, at, "give 16-bit floating-point values as integers of type .b16");
    if (real && !is_float_type(type) && width != (c->kind == CONSTANT_DOUBLE ? 64 : 32))
        return fail_at(p, at, "a floating-point value does not fit this type");
    *bits = c->bits;
    if (real && type == PTX_F32 && c->kind == CONSTANT_DOUBLE) {
        *bits = float_bits_of(double_of(c->bits));
    } else if (real && type == PTX_F64 && c->kind == CONSTANT_SINGLE) {
        uint32_t single = (uint32_t)c->bits;
        float value;
        memcpy(&value, &single, sizeof value);
        double widened = value;
        memcpy(bits, &widened, sizeof widened);
    } else if (!real && (type == PTX_F32 || type == PTX_F64)) {
        double value = c->is_unsigned ? (double)c->bits : (double)(int64_t)c->bits;
        float single = c->is_unsigned ? (float)c->bits : (float)(int64_t)c->bits;
        uint32_t single_bits;
        memcpy(&single_bits, &single, sizeof single);
        if (type == PTX_F32)
            *bits = single_bits;
        else
            memcpy(bits, &value, sizeof value);
    } else if (width < 64) {
        int64_t high = (int64_t)c->bits >> (width - 1);
        if ((c->is_unsigned || high < -1 || high > 0) && c->bits >> width)
            return fail_at(p, at, "%lld does not fit %u bits", (long long)c->bits, width);
    }
    return true;
}

/* Makes cell number `cell` exist. */
static bool reach(struct parser *p, struct filler *f, size_t cell, size_t at) {
    size_t end;
    if (!size_add(cell, 1, &end) || !size_mul(end, f->cell_bytes, &end))
        return fail_at(p, at, "the array does not fit the address space");
    if (!f->shape->open) {
        if (end > f->v->bytes)
            return fail_at(p, at, "more initial values than '%.80s' has elements", f->v->name);
        return true;
    }
    while (f->bytes.count < end) {
        if (!grow(p, &f->bytes, 1))
            return false;
    }
    f->out = f->bytes.items;
    return true;
}

/* NAME, generic(NAME), each with + N or - N. */
static bool fill_address(struct parser *p, struct filler *f, size_t cell) {
    size_t at = p->token.at;
    bool generic = p->token.size == 7 && !memcmp(p->token.text, "generic", 7);
    struct symbol *s = intern(p, p->token.text, p->token.size);
    advance(p);
    generic = generic && accept_mark(p, '(');
    if (generic) {
        if (p->token.kind != TOKEN_WORD)
            return fail_unexpected(p, "the name of a variable or function");
        at = p->token.at;
        s = intern(p, p->token.text, p->token.size);
        advance(p);
        if (!expect_mark(p, ')'))
            return false;
    }
    uint64_t addend = 0;
    if (is_mark(p, '+') || is_mark(p, '-')) {
        if (is_mark(p, '+'))
            advance(p);
        if (!parse_integer_constant(p, &addend))
            return false;
    }
    if (f->cell_bytes != 8 && f->cell_bytes != 4)
        return fail_at(p, at, "an address needs 8 or 4 bytes, a cell of '%.80s' has %zu", f->v->name, f->cell_bytes);
    if (!s || !reach(p, f, cell, at))
        return false;
    struct found_address *found = grow(p, &f->relocations, sizeof *found);
    if (!found)
        return false;
    found->symbol = s;
    found->at = at;
    found->relocation = (struct ptx_relocation){.offset = cell * f->cell_bytes,
                                                .bytes = f->cell_bytes,
                                                .variable = -1,
                                                .function = -1,
                                                .addend = (int64_t)addend,
                                                .generic = generic};
    return true;
}

static bool fill_cell(struct parser *p, struct filler *f, size_t cell) {
    struct constant c;
    size_t at = p->token.at;
    uint64_t bits;
    if (p->token.kind == TOKEN_WORD && !starts_constant(p))
        return fill_address(p, f, cell);
    if (!parse_constant(p, &c))
        return false;
    if (is_mark(p, '('))
        return fail_at(p, at, "masked addresses such as 0xFF(x) are not supported");
    if (!encode(p, at, f, &c, &bits) || !reach(p, f, cell, at))
        return false;
    for (size_t i = 0; i < f->cell_bytes; i++)
        f->out[cell * f->cell_bytes + i] = (uint8_t)(bits >> 8 * i);
    return true;
}

/* The extents of the array, and of the vectors in it, as one list. */
static size_t extent_at(const struct filler *f, size_t level) {
    return level < f->shape->count ? f->shape->extent[level] : f->vector;
}

static size_t levels(const struct filler *f) {
    return f->shape->count + (f->vector > 1);
}

/* { a, { b, c } }: cells from `first` on. A list further in starts where a row of its level starts. */
static bool fill_list(struct parser *p, struct filler *f, size_t level, size_t first) {
    size_t row = 1, used = 0;
    for (size_t i = level + 1; i < levels(f); i++)
        row *= extent_at(f, i);
    size_t span = level == 0 && f->shape->open ? SIZE_MAX : row * extent_at(f, level);
    if (!expect_mark(p, '{'))
        return false;
    while (!is_mark(p, '}')) {
        if (used && !expect_mark(p, ','))
            return false;
        size_t at = p->token.at;
        if (used >= span)
            return fail_at(p, at, "more initial values than '%.80s' has elements here", f->v->name);
        if (!is_mark(p, '{')) {
            if (!fill_cell(p, f, first + used++))
                return false;
            continue;
        }
        if (level + 1 >= levels(f) || !row)
            return fail_at(p, at, "more braces than '%.80s' has dimensions", f->v->name);
        if (used % row)
            return fail_at(p, at, "a list in braces after an incomplete row");
        if (!fill_list(p, f, level + 1, first + used))
            return false;
        used += row;
    }
    return expect_mark(p, '}');
}

static bool keep_relocations(struct parser *p, struct filler *f) {
    size_t n = f->relocations.count;
    const struct found_address *found = f->relocations.items;
    struct ptx_relocation *kept = n ? take(p, n, sizeof *kept) : NULL;
    if (n && !kept)
        return false;
    for (size_t i = 0; i < n; i++) {
        struct address_cell *cell = grow(p, &p->cells, sizeof *cell);
        if (!cell)
            return false;
        kept[i] = found[i].relocation;
        *cell = (struct address_cell){.relocation = &kept[i], .symbol = found[i].symbol, .at = found[i].at};
    }
    f->v->relocations = kept;
    f->v->relocation_count = n;
    return true;
}

static bool fill(struct parser *p, struct filler *f) {
    if (!f->shape->open && !(f->out = take(p, f->v->bytes, 1)))
        return false;
    size_t at = p->token.at;
    if (f->shape->count || f->vector > 1) {
        if (!fill_list(p, f, 0, 0))
            return false;
    } else if (!fill_cell(p, f, 0)) {
        return false;
    }
    if (f->shape->open) { /* the values say how many rows there are */
        size_t row = f->cell_bytes * f->vector;
        for (size_t i = 1; i < f->shape->count; i++)
            row *= f->shape->extent[i];
        if (!f->bytes.count || !row)
            return fail_at(p, at, "'%.80s' has neither a size nor an initial value", f->v->name);
        size_t rows = (f->bytes.count + row - 1) / row;
        if (!size_mul(rows, row, &f->v->bytes))
            return fail_at(p, at, "the array does not fit the address space");
        uint8_t *kept = take(p, f->v->bytes, 1);
        if (!kept)
            return false;
        memcpy(kept, f->bytes.items, f->bytes.count);
        f->out = kept;
    }
    f->v->initial = f->out;
    return keep_relocations(p, f);
}

bool parse_initial(struct parser *p, struct ptx_variable *v, const struct shape *shape, size_t vector) {
    if (v->space != PTX_GLOBAL && v->space != PTX_CONST)
        return fail_at(p, p->token.at, "only .global and .const variables have initial values");
    if (v->external)
        return fail_at(p, p->token.at, "an .extern variable has no initial value");
    advance(p);
    struct filler f = {.v = v, .shape = shape, .cell_bytes = ptx_type_bytes(v->type), .vector = vector};
    if (!f.cell_bytes)
        return fail_at(p, p->token.at, "a .pred lives in registers only");
    bool ok = fill(p, &f);
    free_growing(&f.bytes);
    free_growing(&f.relocations);
    return ok;
}
