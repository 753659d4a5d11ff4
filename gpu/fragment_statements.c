/* Which statements there are. */
#include "../ref/checked.h"
#include "fragment_proof.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct prover {
    const char *const *patterns;
    size_t pattern_count;
    bool list_only;
    struct statement_list *out;
};

/* Whether the statement is to be proved now; *s is set then, or it is put into the list. Takes the text. */
static bool begin(const struct prover *p, const char *of, const char *what, char *text, struct statement *s) {
    char *name = must_format("%s/%s", of, what);
    if (!statement_selected(name, p->patterns, p->pattern_count)) {
        free(name);
        free(text);
        return false;
    }
    *s = (struct statement){.name = name, .text = text, .proved = true};
    if (p->list_only)
        statement_add(p->out, *s);
    return !p->list_only;
}

/* ---- operands ---- */

static void bijection(const struct prover *p, const struct fragment *f) {
    struct statement s;
    if (!begin(p, f->name, "bijection",
               must_format("each element of the %u x %u tile (%s x %s) is in exactly one lane, register and element",
                           f->rows, f->columns, f->row_name, f->column_name),
               &s))
        return;
    prove_bijection(f, &s);
    statement_add(p->out, s);
}

static bool is_store(const struct delivery *d) {
    return strncmp(d->access, "st", 2) == 0;
}

static const char *rows_of(const struct fragment *f, const struct delivery *d) {
    const bool input = f->operand == FRAGMENT_A || f->operand == FRAGMENT_B;
    if (!d->mn_major)
        return input ? "rows of k" : "one row a row";
    return f->operand == FRAGMENT_A ? "rows of m, one a k" : input ? "rows of n, one a k" : "one row a column";
}

static void delivery(const struct prover *p, const struct fragment *f, struct delivery d) {
    struct statement s;
    char count[16] = "", what[48], pattern[48] = "";
    d.tiles_rows += !d.tiles_rows;
    d.tiles_columns += !d.tiles_columns;
    if (d.tiles_rows * d.tiles_columns > 1)
        snprintf(count, sizeof count, "%u of ", d.tiles_rows * d.tiles_columns);
    snprintf(what, sizeof what, "%s", d.access);
    if (d.swizzle != SWIZZLE_NONE) {
        snprintf(what, sizeof what, "%s.%s", d.access, swizzle_names[d.swizzle]);
        snprintf(pattern, sizeof pattern, " in the pattern of swizzle %s", swizzle_names[d.swizzle]);
    }
    if (!begin(p, f->name, what,
               must_format("%s at `%s` %s %sit%s, %s%s", d.access, d.address, is_store(&d) ? "puts" : "delivers", count,
                           is_store(&d) ? " down" : "", rows_of(f, &d), pattern),
               &s))
        return;
    prove_delivery(f, &d, &s);
    statement_add(p->out, s);
}

/* MM-6: rows of k. */
static void k_rows_of_a(const struct prover *p, const struct fragment *f) {
    const bool wide = f->registers == 4; /* 32 bytes of k; else 16 */
    if (wide)
        delivery(p, f,
                 (struct delivery){"ldmatrix.x4",
                                   "(tile_row + 16 * warp + lane % 16) * stride + tile_byte + lane / 16 * 16", false, 1,
                                   1, SWIZZLE_NONE});
    else if (f->rows == 16) {
        delivery(
            p, f,
            (struct delivery){"ldmatrix.x2", "(tile_row + lane % 16) * stride + tile_byte", false, 1, 1, SWIZZLE_NONE});
        delivery(p, f,
                 (struct delivery){"ldmatrix.x4", "(tile_row + lane % 16) * stride + tile_byte + lane / 16 * 16", false,
                                   1, 2, SWIZZLE_NONE});
    } else {
        delivery(
            p, f,
            (struct delivery){"ldmatrix.x1", "(tile_row + lane % 8) * stride + tile_byte", false, 1, 1, SWIZZLE_NONE});
        delivery(p, f,
                 (struct delivery){"ldmatrix.x4", "(tile_row + row) * stride + tile_byte + matrix * 16", false, 1, 4,
                                   SWIZZLE_NONE});
    }
    delivery(p, f,
             (struct delivery){
                 "ld.shared.b32",
                 "(tile_row + 16 * warp + g + register % 2 * 8) * stride + tile_byte + register / 2 * 16 + t * 4",
                 false, 1, 1, SWIZZLE_NONE});
}

/* Rows as TMA puts them down: the 16-byte chunk of a row is xored with bits of the row's number. */
static void swizzled_rows(const struct prover *p, const struct fragment *f) {
    static const struct {
        const char *a, *b;
    } addresses[SWIZZLE_MODES] = {
        [SWIZZLE_32B] =
            {"(tile_row + 16 * warp + lane % 16) * 32 + xor(tile_byte + lane / 16 * 16, lane % 8 / 4 * 16)",
             "(tile_row + lane % 8 + lane / 16 * 8) * 32 + xor(tile_byte + lane / 8 % 2 * 16, lane % 8 / 4 * "
             "16)"},
        [SWIZZLE_64B] =
            {"(tile_row + 16 * warp + lane % 16) * 64 + xor(tile_byte + lane / 16 * 16, lane % 8 / 2 * 16)",
             "(tile_row + lane % 8 + lane / 16 * 8) * 64 + xor(tile_byte + lane / 8 % 2 * 16, lane % 8 / 2 * "
             "16)"},
        [SWIZZLE_128B] = {"(tile_row + 16 * warp + lane % 16) * 128 + xor(tile_byte + lane / 16 * 16, lane % 8 * 16)",
                          "(tile_row + lane % 8 + lane / 16 * 8) * 128 + xor(tile_byte + lane / 8 % 2 * 16, lane % 8 * "
                          "16)"}};
    for (enum swizzle_mode mode = SWIZZLE_32B; mode < SWIZZLE_MODES; ++mode) {
        const bool b = f->operand == FRAGMENT_B;
        delivery(
            p, f,
            (struct delivery){"ldmatrix.x4", b ? addresses[mode].b : addresses[mode].a, false, b ? 2 : 1, 1, mode});
    }
}

static void k_rows_of_b(const struct prover *p, const struct fragment *f) {
    if (f->registers == 2) {
        delivery(p, f,
                 (struct delivery){"ldmatrix.x2", "(tile_row + lane % 8) * stride + tile_byte + lane / 8 % 2 * 16",
                                   false, 1, 1, SWIZZLE_NONE});
        delivery(p, f,
                 (struct delivery){"ldmatrix.x4",
                                   "(tile_row + lane % 8 + lane / 16 * 8) * stride + tile_byte + lane / 8 % 2 * 16",
                                   false, 2, 1, SWIZZLE_NONE});
    } else {
        delivery(
            p, f,
            (struct delivery){"ldmatrix.x1", "(tile_row + lane % 8) * stride + tile_byte", false, 1, 1, SWIZZLE_NONE});
        delivery(p, f,
                 (struct delivery){"ldmatrix.x4", "(tile_row + lane) * stride + tile_byte", false, 4, 1, SWIZZLE_NONE});
    }
    delivery(p, f,
             (struct delivery){"ld.shared.b32", "(tile_row + g) * stride + tile_byte + register * 16 + t * 4", false, 1,
                               1, SWIZZLE_NONE});
}

/* MM-7: 16-bit elements, a row a k. */
static void mn_rows(const struct prover *p, const struct fragment *f) {
    const bool b = f->operand == FRAGMENT_B, wide = f->columns == 16;
    if (!b && wide)
        delivery(p, f,
                 (struct delivery){"ldmatrix.x4.trans",
                                   "(tile_row + lane % 8 + lane / 16 * 8) * stride + tile_byte + 32 * warp + lane / 8 "
                                   "% 2 * 16",
                                   true, 1, 1, SWIZZLE_NONE});
    else if (!b)
        delivery(p, f,
                 (struct delivery){"ldmatrix.x2.trans",
                                   "(tile_row + lane % 8) * stride + tile_byte + lane / 8 % 2 * 16", true, 1, 1,
                                   SWIZZLE_NONE});
    else if (wide) {
        delivery(p, f,
                 (struct delivery){"ldmatrix.x2.trans", "(tile_row + lane % 16) * stride + tile_byte", true, 1, 1,
                                   SWIZZLE_NONE});
        delivery(p, f,
                 (struct delivery){"ldmatrix.x4.trans", "(tile_row + lane % 16) * stride + tile_byte + lane / 16 * 16",
                                   true, 2, 1, SWIZZLE_NONE});
    } else
        delivery(p, f,
                 (struct delivery){"ldmatrix.x1.trans", "(tile_row + lane % 8) * stride + tile_byte", true, 1, 1,
                                   SWIZZLE_NONE});
}

static void stores(const struct prover *p, const struct fragment *f) {
    if (f->bits == 32) {
        delivery(p, f,
                 (struct delivery){"st.shared.v2.b32",
                                   "(tile_row + 16 * warp + g + register / 2 % 2 * 8) * stride + tile_byte + register "
                                   "/ 4 * 32 + t * 8",
                                   false, 1, 1, SWIZZLE_NONE});
        return;
    }
    delivery(p, f,
             (struct delivery){"stmatrix.x2", "(tile_row + 16 * warp + lane % 16) * stride + tile_byte + step * 16",
                               false, 1, 1, SWIZZLE_NONE});
    delivery(p, f,
             (struct delivery){"stmatrix.x2.trans",
                               "(tile_row + lane % 8 + step * 8) * stride + tile_byte + 32 * warp + lane / 8 % 2 * 16",
                               true, 1, 1, SWIZZLE_NONE});
    if (f->lanes == 128 && f->columns % 16 != 0)
        return;
    const unsigned tiles = f->lanes == 32 ? 2 : 1; /* of mma two side by side */
    delivery(p, f,
             (struct delivery){"stmatrix.x4",
                               "(tile_row + 16 * warp + lane % 16) * stride + tile_byte + step * 32 + lane / 16 * 16",
                               false, 1, tiles, SWIZZLE_NONE});
    delivery(p, f,
             (struct delivery){"stmatrix.x4.trans",
                               "(tile_row + lane % 8 + lane / 16 * 8 + step * 16) * stride + tile_byte + 32 * warp + "
                               "lane / 8 % 2 * 16",
                               true, 1, tiles, SWIZZLE_NONE});
}

/* What a chain of products needs (PTX ISA 9.7.14.5.8): no shuffle between them. */
static void next_operand(const struct prover *p, const struct fragment *f) {
    struct fragment a;
    struct statement s;
    if (!begin(p, f->name, "next_A",
               must_strdup("two of it side by side are the A fragment of the next mma.m16n8k16.f16"), &s))
        return;
    if (!fragment_named("mma.m16n8k16.f16/A", &a))
        statement_refute(&s, "there is no such mma");
    for (unsigned side = 0; side < 2 && s.proved; ++side)
        prove_shifted(f, &a, (struct fragment_shift){0, 2 * side, 0, 8 * side}, &s);
    statement_add(p->out, s);
}

/* ---- wgmma's registers are those of mma ---- */

static void like_mma(const struct prover *p, const struct fragment *f) {
    static const char *const names[] = {
        [4] = "mma.m16n8k64.s4/A", [8] = "mma.m16n8k32.s8/A", [16] = "mma.m16n8k16.f16/A", [32] = "mma.m16n8k8.tf32/A"};
    struct statement s;
    struct fragment m;
    const bool a = f->operand == FRAGMENT_A, half = !a && f->bits == 16;
    if (!begin(p, f->name, a ? "warps" : "slabs",
               a ? must_strdup("warp w has the A fragment of an m16 mma, from row 16 w on")
                 : must_format("warp w has N/8 = %u D fragments of m16n8 mma side by side, from row 16 w on",
                               f->columns / 8),
               &s))
        return;
    if (!fragment_named(a ? names[f->bits] : half ? "mma.m16n8k16.f16.f16/D" : "mma.m16n8k32.s8/D", &m))
        statement_refute(&s, "there is no such mma");
    for (unsigned warp = 0; warp < 4 && s.proved; ++warp)
        for (unsigned r = 0; r < f->registers && s.proved; r += m.registers)
            prove_shifted(&m, f, (struct fragment_shift){32 * warp, r, 16 * warp, a ? 0 : 8 * (r / m.registers)}, &s);
    statement_add(p->out, s);
}

/* ---- ldmatrix, stmatrix, movmatrix ---- */

static void matrices(const struct prover *p) {
    struct statement s;
    for (unsigned n = 1; n <= 4; n *= 2)
        for (unsigned k = 0; k < 4; ++k) {
            const struct fragment store = fragment_stmatrix(n, k & 1), load = fragment_ldmatrix(n, k >> 1);
            const char *of = store.name, *what = load.name;
            const bool transposed = (k & 1) != k >> 1;
            if (!begin(p, of, what,
                       must_format("%s, then %s of the same rows: every register %s", of, what,
                                   transposed ? "is the transpose of what it was" : "is what it was"),
                       &s))
                continue;
            prove_round_trip(&store, &load, transposed, &s);
            statement_add(p->out, s);
        }
    if (begin(p, "movmatrix", "transposition",
              must_strdup("movmatrix.trans gives the fragment of the transposed matrix"), &s)) {
        prove_transposition(movmatrix_source, &s);
        statement_add(p->out, s);
    }
    if (begin(p, "movmatrix", "twice", must_strdup("movmatrix.trans twice changes nothing"), &s)) {
        prove_movmatrix_twice(movmatrix_source, &s);
        statement_add(p->out, s);
    }
}

/* ---- operands in shared memory ---- */

static unsigned pattern_at(const struct address_map *x, unsigned row, unsigned byte) {
    return swizzle(x->mode, row * swizzle_width(x->mode) + byte);
}
static unsigned k_major_at(const struct address_map *x, unsigned row, unsigned kb) {
    return wgmma_k_major(&(struct wgmma_descriptor){x->mode, x->lbo, x->sbo, 0}, row, kb);
}
static unsigned mn_major_at(const struct address_map *x, unsigned mn, unsigned k) {
    return wgmma_mn_major(&(struct wgmma_descriptor){x->mode, x->lbo, x->sbo, 0}, mn, k);
}

static void addresses(const struct prover *p, const char *of, const struct address_map *x, char *text) {
    struct statement s;
    if (!begin(p, of, "bijection", text, &s))
        return;
    prove_addresses(x, &s);
    statement_add(p->out, s);
}

static void start_banks(const struct prover *p, const char *of, const struct address_map *x) {
    struct statement s;
    if (!begin(p, of, "banks",
               must_strdup("the eight rows of a core matrix begin in eight different groups of four banks"), &s))
        return;
    prove_start_banks(x, &s);
    statement_add(p->out, s);
}

static void steps(const struct prover *p, const char *of, enum swizzle_mode mode) {
    struct statement s;
    if (swizzle_width(mode) <= 32 ||
        !begin(p, of, "steps", must_strdup("a start address 32 bytes further gives the next 32 bytes of k"), &s))
        return;
    prove_steps(&(struct wgmma_descriptor){mode, 0, 8 * swizzle_width(mode), 0}, 32, &s);
    statement_add(p->out, s);
}

static void shared_operands(const struct prover *p) {
    for (enum swizzle_mode mode = SWIZZLE_NONE; mode < SWIZZLE_MODES; ++mode) {
        const unsigned width = swizzle_width(mode);
        char name[48];
        if (mode != SWIZZLE_NONE) {
            const struct address_map x = {pattern_at, mode, 0, 0, 8, width, 1, "row", "byte"};
            snprintf(name, sizeof name, "swizzle.%s", swizzle_names[mode]);
            addresses(p, name, &x,
                      must_format("the xor maps the %u bytes of its pattern of eight rows onto themselves", 8 * width));
            start_banks(p, name, &x);
        }
        /* unswizzled: the two core matrices of a k step side by side; else as many k steps as a row of the pattern */
        const struct address_map k = {
            k_major_at, mode,  128,     mode == SWIZZLE_NONE ? 256 : 8 * width, 256, mode == SWIZZLE_NONE ? 32 : width,
            1,          "row", "k byte"};
        snprintf(name, sizeof name, "wgmma.shared.k_major.%s", swizzle_names[mode]);
        addresses(p, name, &k,
                  must_format("the %u x %u bytes of a K-major operand fill %u bytes, each once", k.rows, k.columns,
                              k.rows * k.columns));
        start_banks(p, name, &k);
        steps(p, name, mode);
        const struct address_map m = {mn_major_at,
                                      mode,
                                      mode == SWIZZLE_NONE ? 128 : 16 * width,
                                      mode == SWIZZLE_NONE ? 256 : 8 * width,
                                      256,
                                      16,
                                      2,
                                      "mn",
                                      "k"};
        snprintf(name, sizeof name, "wgmma.shared.mn_major.%s", swizzle_names[mode]);
        addresses(p, name, &m,
                  must_format("the %u x %u 16-bit elements of an MN-major operand fill %u bytes, each once", m.rows,
                              m.columns, 2 * m.rows * m.columns));
    }
}

void fragment_prove(const char *const *patterns, size_t pattern_count, bool list_only, struct statement_list *out) {
    const struct prover p = {patterns, pattern_count, list_only, out};
    size_t count;
    struct fragment *all = fragment_list(&count);
    for (size_t i = 0; i < count; ++i) {
        const struct fragment *f = &all[i];
        bijection(&p, f);
        if (f->operand == FRAGMENT_A)
            k_rows_of_a(&p, f);
        if (f->operand == FRAGMENT_B)
            k_rows_of_b(&p, f);
        if ((f->operand == FRAGMENT_A || f->operand == FRAGMENT_B) && f->bits == 16)
            mn_rows(&p, f);
        if (f->operand == FRAGMENT_D)
            stores(&p, f);
        if (f->operand == FRAGMENT_D && f->lanes == 32 && f->bits == 16)
            next_operand(&p, f);
        if ((f->operand == FRAGMENT_A || f->operand == FRAGMENT_B) && f->columns * f->bits == 8 * 32)
            swizzled_rows(&p, f);
        if (f->lanes == 128)
            like_mma(&p, f);
    }
    free(all);
    matrices(&p);
    shared_operands(&p);
}
