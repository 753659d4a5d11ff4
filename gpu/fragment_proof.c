#include "fragment_proof.h"
#include "../ref/checked.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 64 };

static void name_cell(const struct fragment *f, struct fragment_cell c, char out[WORDS]) {
    snprintf(out, WORDS, "%s %u %s %u", f->row_name, c.row, f->column_name, c.column);
}

void prove_bijection(const struct fragment *f, struct statement *s) {
    const unsigned elements = fragment_elements(f), per_lane = f->registers * elements;
    const size_t cells = (size_t)f->rows * f->columns;
    uint32_t *holder = must_calloc(cells, sizeof *holder); /* 1 + (lane * registers + r) * elements + i */
    char name[WORDS];
    for (unsigned n = 0; n < f->lanes * per_lane && s->proved; ++n) {
        const unsigned lane = n / per_lane, r = n / elements % f->registers, i = n % elements;
        const struct fragment_cell c = f->at(f, lane, r, i);
        name_cell(f, c, name);
        ++s->domain;
        if (c.row >= f->rows || c.column >= f->columns) {
            statement_refute(s, "%s, register %u, element %u holds %s: outside the tile of %u x %u",
                             fragment_lane_name(f, lane).text, r, i, name, f->rows, f->columns);
            break;
        }
        uint32_t *h = &holder[(size_t)c.row * f->columns + c.column];
        if (*h != 0)
            statement_refute(s, "%s, register %u, element %u and %s, register %u, element %u both hold %s",
                             fragment_lane_name(f, (*h - 1) / per_lane).text, (*h - 1) / elements % f->registers,
                             (*h - 1) % elements, fragment_lane_name(f, lane).text, r, i, name);
        *h = n + 1;
    }
    for (size_t k = 0; k < cells && s->proved; ++k)
        if (holder[k] == 0) {
            name_cell(f, (struct fragment_cell){(unsigned)(k / f->columns), (unsigned)(k % f->columns)}, name);
            statement_refute(s, "no register holds %s", name);
        }
    free(holder);
}

void prove_shifted(const struct fragment *f, const struct fragment *g, struct fragment_shift shift,
                   struct statement *s) {
    char want[WORDS], got[WORDS];
    for (unsigned lane = 0; lane < f->lanes; ++lane)
        for (unsigned r = 0; r < f->registers; ++r)
            for (unsigned i = 0; i < fragment_elements(f); ++i) {
                struct fragment_cell a = f->at(f, lane, r, i), b = g->at(g, lane + shift.lanes, r + shift.registers, i);
                a.row += shift.rows;
                a.column += shift.columns;
                ++s->domain;
                if (a.row == b.row && a.column == b.column)
                    continue;
                name_cell(f, a, want);
                name_cell(g, b, got);
                statement_refute(s, "%s, register %u, element %u of %s holds %s; %s, shifted, has %s there",
                                 fragment_lane_name(g, lane + shift.lanes).text, r + shift.registers, i, g->name, got,
                                 f->name, want);
                return;
            }
}

void prove_round_trip(const struct fragment *store, const struct fragment *load, bool transposed, struct statement *s) {
    const unsigned count = 64 * store->registers;
    int memory[32][8], back[256];
    memset(memory, 0xff, sizeof memory);
    for (unsigned n = 0; n < count; ++n) {
        const struct fragment_cell c = store->at(store, n / 2 / store->registers, n / 2 % store->registers, n % 2);
        if (c.row < 8 * store->registers && c.column < 8)
            memory[c.row][c.column] = (int)n;
    }
    for (unsigned n = 0; n < count; ++n) {
        const struct fragment_cell c = load->at(load, n / 2 / load->registers, n / 2 % load->registers, n % 2);
        back[n] = c.row < 32 && c.column < 8 ? memory[c.row][c.column] : -1;
    }
    for (unsigned n = 0; n < count; ++n) {
        const unsigned lane = n / 2 / store->registers, r = n / 2 % store->registers, i = n % 2;
        /* of a matrix with rows over lanes and columns over lanes and halves: (g, 2t + i) becomes (2t + i, g) */
        const unsigned g = lane / 4, column = 2 * (lane % 4) + i, other_lane = 4 * column + g / 2;
        const unsigned want = transposed ? (other_lane * store->registers + r) * 2 + g % 2 : n;
        ++s->domain;
        if (back[n] == (int)want)
            continue;
        if (back[n] < 0)
            statement_refute(s, "lane %u, register %u, half %u comes back from a place where nothing was stored", lane,
                             r, i);
        else
            statement_refute(s, "lane %u, register %u, half %u comes back as that of lane %u, register %u, half %u",
                             lane, r, i, (unsigned)back[n] / 2 / store->registers,
                             (unsigned)back[n] / 2 % store->registers, (unsigned)back[n] % 2);
        return;
    }
}

struct movmatrix_source movmatrix_source(unsigned lane, unsigned i) {
    return (struct movmatrix_source){8 * (lane % 4) + 4 * i + lane / 8, lane / 4 % 2};
}

void prove_transposition(movmatrix_map *map, struct statement *s) {
    const struct fragment m = fragment_ldmatrix(1, false);
    for (unsigned n = 0; n < 64; ++n) {
        const struct movmatrix_source from = map(n / 2, n % 2);
        const struct fragment_cell to = m.at(&m, n / 2, 0, n % 2), c = m.at(&m, from.lane, 0, from.half);
        ++s->domain;
        if (c.row != to.column || c.column != to.row) {
            statement_refute(
                s, "lane %u, half %u holds row %u col %u of the source; its transpose has row %u col %u there", n / 2,
                n % 2, c.row, c.column, to.column, to.row);
            return;
        }
    }
}

void prove_movmatrix_twice(movmatrix_map *map, struct statement *s) {
    for (unsigned n = 0; n < 64; ++n) {
        const struct movmatrix_source once = map(n / 2, n % 2), twice = map(once.lane, once.half);
        ++s->domain;
        if (twice.lane != n / 2 || twice.half != n % 2) {
            statement_refute(s, "lane %u, half %u comes from lane %u, half %u after two", n / 2, n % 2, twice.lane,
                             twice.half);
            return;
        }
    }
}

void prove_addresses(const struct address_map *x, struct statement *s) {
    const size_t cells = (size_t)x->rows * x->columns;
    uint32_t *owner = must_calloc(cells, sizeof *owner);
    for (unsigned n = 0; n < cells && s->proved; ++n) {
        const unsigned a = n / x->columns, b = n % x->columns, at = x->at(x, a, b);
        ++s->domain;
        if (at % x->unit != 0 || at / x->unit >= cells) {
            statement_refute(s, "%s %u %s %u lies at %u: outside the %zu bytes, or across two elements", x->a, a, x->b,
                             b, at, cells * x->unit);
            break;
        }
        const uint32_t other = owner[at / x->unit];
        if (other != 0)
            statement_refute(s, "%s %u %s %u and %s %u %s %u both lie at %u", x->a, (other - 1) / x->columns, x->b,
                             (other - 1) % x->columns, x->a, a, x->b, b, at);
        owner[at / x->unit] = n + 1;
    }
    free(owner);
}

void prove_start_banks(const struct address_map *x, struct statement *s) {
    const unsigned chunk = 16 / x->unit;
    for (unsigned column = 0; column < x->columns; column += chunk)
        for (unsigned row = 0; row < x->rows; ++row) {
            const unsigned bank = x->at(x, row, column) / 4 % 32;
            ++s->domain;
            for (unsigned other = row / 8 * 8; other < row; ++other)
                if (x->at(x, other, column) / 4 % 32 / 4 == bank / 4) {
                    statement_refute(s, "%s %u and %s %u, %s %u on, both begin in bank %u", x->a, other, x->a, row,
                                     x->b, column, bank);
                    return;
                }
        }
}

void prove_steps(const struct wgmma_descriptor *d, unsigned further, struct statement *s) {
    for (unsigned step = 1; step < swizzle_width(d->mode) / 32; ++step)
        for (unsigned row = 0; row < 256; ++row)
            for (unsigned kb = 0; kb < 32; ++kb) {
                struct wgmma_descriptor next = *d;
                next.start += further * step;
                const unsigned want = wgmma_k_major(d, row, 32 * step + kb), got = wgmma_k_major(&next, row, kb);
                ++s->domain;
                if (got == want)
                    continue;
                statement_refute(s, "row %u k byte %u of step %u lies at %u, and %u is read", row, kb, step, want, got);
                return;
            }
}

/* "ldmatrix.x4.trans" -> the fields of a layout. */
static void set_access(struct layout *l, const char *access) {
    const bool store = strncmp(access, "st", 2) == 0, matrix = strstr(access, "matrix") != NULL;
    snprintf(l->access_name, sizeof l->access_name, "%s", access);
    l->access = matrix ? store ? LAYOUT_STMATRIX : LAYOUT_LDMATRIX : store ? LAYOUT_ST_SHARED : LAYOUT_LD_SHARED;
    l->trans = strstr(access, ".trans") != NULL;
    l->matrices = matrix ? (unsigned)(strstr(access, ".x")[2] - '0') : 0;
    l->unit = matrix || strstr(access, ".v4.") ? 16 : strstr(access, ".v2.") ? 8 : 4;
}

void prove_delivery(const struct fragment *f, const struct delivery *d, struct statement *s) {
    static const unsigned beyond[] = {0, 16, 32, 48, 80, 128}; /* bytes from the end of a row to the next */
    struct error e = {""};
    const unsigned rows = f->rows * d->tiles_rows, bytes = f->columns * d->tiles_columns * f->bits / 8,
                   along = rows * f->bits / 8;
    const unsigned times = (size_t)rows * bytes > LAYOUT_MOST_BYTES / 16 ? 1 : 2;
    struct layout l = {.name = s->name,
                       .rows = times * (d->mn_major ? f->columns * d->tiles_columns : rows),
                       .row_bytes = times * (d->mn_major ? along : bytes),
                       .mn_major = d->mn_major,
                       .wants = *f,
                       .tiles_rows = d->tiles_rows,
                       .tiles_columns = d->tiles_columns,
                       .address = expr_parse(d->address, &e)};
    set_access(&l, d->access);
    const bool swizzled = d->swizzle != SWIZZLE_NONE;
    if (swizzled) { /* WG-13 */
        l.row_bytes = swizzle_width(d->swizzle);
        l.swizzle = LAYOUT_BY_ADDRESS;
        l.swizzle_first = 4;
        l.swizzle_last = 3 + d->swizzle;
        l.swizzle_from = 7;
    }
    bool good = l.address && layout_check(&l, &e);
    for (size_t i = 0; i < (swizzled ? 1 : sizeof beyond / sizeof *beyond) && good && s->proved; ++i) {
        struct statement one;
        l.stride = l.row_bytes + beyond[i];
        l.plane_bytes = l.rows * l.stride;
        good = layout_prove(&l, &one, &e);
        s->domain += one.domain;
        if (!one.proved)
            statement_refute(s, "rows %u bytes apart: %s", l.stride, one.counterexample);
        statement_free(&one);
    }
    if (!good)
        statement_refute(s, "%s", e.text);
    expr_free(l.address);
}
