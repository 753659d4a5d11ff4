/* Operand maps against the figures of the PTX ISA, the PTX machine and bytes of a GPU; and what a wrong map does to
 * each statement. */
#include "../gpu/fragment_kernel.h"
#include "../gpu/fragment_proof.h"
#include "../ref/checked.h"
#include "independent/independent.h"
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RECORD "fixtures/golden/fragments/registers_h200.bin.zz"

static struct holder figure_of(const struct fragment *f, unsigned row, unsigned column) {
    if (f->operand == FRAGMENT_A)
        return independent_a(f->rows, f->columns * f->bits / 8, f->bits, row, column);
    if (f->operand == FRAGMENT_B)
        return independent_b(f->bits, row, column);
    if (f->operand == FRAGMENT_MATRICES)
        return independent_matrix(strstr(f->name, ".trans") != NULL, row, column);
    return independent_c(row, column);
}

Test(prove_fragments, maps_are_the_figures) {
    size_t count, cells = 0;
    struct fragment *all = fragment_list(&count);
    cr_assert_eq(count, 12 + 22 * 4 + 6 * 2 + 7 + 82, "%zu operands", count);
    for (size_t k = 0; k < count; ++k) {
        const struct fragment *f = &all[k];
        cr_expect_eq(f->lanes * f->registers * 32, f->rows * f->columns * f->bits, "%s: registers", f->name);
        for (unsigned row = 0; row < f->rows; ++row)
            for (unsigned column = 0; column < f->columns; ++column, ++cells) {
                const struct holder h = figure_of(f, row, column);
                const unsigned e = fragment_elements(f);
                cr_assert(h.thread < f->lanes && h.element / e < f->registers, "%s: %s %u", f->name, f->row_name, row);
                const struct fragment_cell c = f->at(f, h.thread, h.element / e, h.element % e);
                cr_assert(c.row == row && c.column == column,
                          "%s: thread %u element %u: the map says (%u, %u), the figure (%u, %u)", f->name, h.thread,
                          h.element, c.row, c.column, row, column);
            }
    }
    free(all);
    cr_expect_gt(cells, 600000, "%zu cells", cells);
}

Test(prove_fragments, swizzles_are_the_figures) {
    for (enum swizzle_mode mode = SWIZZLE_32B; mode < SWIZZLE_MODES; ++mode)
        for (unsigned row = 0; row < 64; ++row)
            for (unsigned byte = 0; byte < swizzle_width(mode); ++byte) {
                const unsigned width = swizzle_width(mode), at = row * width + byte,
                               want = row * width + 16 * independent_chunk(width, row % 8, byte / 16) + byte % 16;
                cr_assert_eq(swizzle(mode, at), want, "%s: %u goes to %u, the figure says %u", swizzle_names[mode], at,
                             swizzle(mode, at), want);
            }
}

Test(prove_fragments, shared_operands_are_the_figures) {
    for (enum swizzle_mode mode = SWIZZLE_NONE; mode < SWIZZLE_MODES; ++mode) {
        const bool none = mode == SWIZZLE_NONE;
        const unsigned width = swizzle_width(mode);
        const struct wgmma_descriptor along_k = {mode, 128, none ? 256 : 8 * width, 0},
                                      along_mn = {mode, none ? 128 : 16 * width, none ? 256 : 8 * width, 0};
        for (unsigned row = 0; row < 256; ++row) {
            for (unsigned k = 0; k < (none ? 32 : width); ++k)
                cr_assert_eq(wgmma_k_major(&along_k, row, k), independent_k_major(width, row, k),
                             "K-major %s: row %u k %u", swizzle_names[mode], row, k);
            for (unsigned k = 0; k < 16; ++k)
                cr_assert_eq(wgmma_mn_major(&along_mn, row, k), independent_mn_major(width, row, k),
                             "MN-major %s: mn %u k %u", swizzle_names[mode], row, k);
        }
    }
}

/* movmatrix's result is the fragment that the figure of ldmatrix.trans draws of the same matrix. */
Test(prove_fragments, movmatrix_is_the_figures) {
    for (unsigned row = 0; row < 8; ++row)
        for (unsigned column = 0; column < 8; ++column) {
            const struct holder from = independent_matrix(false, row, column),
                                to = independent_matrix(true, row, column);
            const struct movmatrix_source s = movmatrix_source(to.thread, to.element);
            cr_expect(s.lane == from.thread && s.half == from.element, "row %u col %u", row, column);
        }
}

Test(prove_fragments, names) {
    struct fragment f;
    cr_expect(fragment_named("mma.m16n8k32.s8 A", &f) && f.registers == 4 && f.columns == 32, "by a blank");
    cr_expect(fragment_named("wgmma.m64n256.f16/D", &f) && f.registers == 64, "by a slash");
    cr_expect(!fragment_named("mma.m16n8k32.s8", &f) && !fragment_named("", &f), "no operand");
    char *longer = must_format("%0200d", 7);
    cr_expect(!fragment_named(longer, &f), "a long name");
    free(longer);
}

Test(prove_fragments, names_of_shared_operands) {
    struct fragment f;
    cr_expect(fragment_wgmma_b("wgmma.n256k16.bf16 B", &f) && f.rows == 256 && f.columns == 16 && f.bits == 16, "f16");
    cr_expect(fragment_wgmma_b("wgmma.n24k32.s8/B", &f) && fragment_wgmma_b("wgmma.n40k32.e4m3 B", &f), "n");
    static const char *const none[] = {"wgmma.n40k32.s8 B",
                                       "wgmma.n264k16.f16 B",
                                       "wgmma.n12k16.f16 B",
                                       "wgmma.n16k32.f16 B",
                                       "wgmma.n16k16.f16",
                                       "wgmma.n16k16.f16 Bx",
                                       ""};
    for (size_t i = 0; i < sizeof none / sizeof *none; ++i)
        cr_expect(!fragment_wgmma_b(none[i], &f), "%s", none[i]);
}

Test(prove_fragments, all_are_proved) {
    struct statement_list l = {NULL, 0}, names = {NULL, 0};
    fragment_prove(NULL, 0, false, &l);
    fragment_prove(NULL, 0, true, &names);
    cr_expect(l.count == names.count && l.count == 746, "%zu statements, %zu names", l.count, names.count);
    for (size_t i = 0; i < l.count; ++i) {
        const struct statement *s = &l.items[i];
        cr_expect(s->proved && s->domain >= 16, "%s: %llu cases, %s", s->name, (unsigned long long)s->domain,
                  s->proved ? "proved" : s->counterexample);
        for (size_t k = 0; k < i; ++k)
            cr_assert(strcmp(l.items[k].name, s->name) != 0, "two are called %s", s->name);
    }
    statement_list_free(&l);
    statement_list_free(&names);
}

Test(prove_fragments, patterns) {
    static const struct {
        const char *pattern;
        size_t count;
    } rows[] = {{"movmatrix", 2},  {"mma.m16n8k32.s8/A/*", 6}, {"*/bijection", 201 + 3 + 8},
                {"movmatrix/", 2}, {"movmatrix/tw[a-z]ce", 1}, {"nosuch", 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        struct statement_list l = {NULL, 0};
        fragment_prove(&rows[i].pattern, 1, true, &l);
        cr_expect_eq(l.count, rows[i].count, "%s selects %zu, want %zu", rows[i].pattern, l.count, rows[i].count);
        statement_list_free(&l);
    }
}

/* ---- plants ---- */

static void expect_refuted(struct statement *s, const char *want) {
    cr_expect(!s->proved && s->counterexample && strcmp(s->counterexample, want) == 0, "\"%s\", want \"%s\"",
              s->counterexample ? s->counterexample : "(proved)", want);
    free(s->counterexample);
    *s = (struct statement){.proved = true};
}

static struct fragment operand(const char *name) {
    struct fragment f;
    cr_assert(fragment_named(name, &f), "no %s", name);
    return f;
}

static struct fragment_cell wrong_half(const struct fragment *f, unsigned lane, unsigned r, unsigned i) {
    const struct fragment right = operand(f->name);
    return right.at(f, lane, r & 1, i);
}
static struct fragment_cell swapped_matrices(const struct fragment *f, unsigned lane, unsigned r, unsigned i) {
    const struct fragment right = operand(f->name);
    return right.at(f, lane, r ^ 1, i);
}
static struct fragment_cell exchanged_nibbles(const struct fragment *f, unsigned lane, unsigned r, unsigned i) {
    const struct fragment right = operand(f->name);
    return right.at(f, lane, r, i ^ 1);
}
static struct fragment_cell a_row_on(const struct fragment *f, unsigned lane, unsigned r, unsigned i) {
    const struct fragment right = operand(f->name);
    struct fragment_cell c = right.at(f, lane, r, i);
    ++c.row;
    return c;
}

Test(prove_fragments, planted_maps) {
    struct statement s = {.proved = true};
    struct fragment f = operand("mma.m16n8k32.s8/A");
    f.at = wrong_half;
    prove_bijection(&f, &s);
    expect_refuted(&s, "lane 0, register 0, element 0 and lane 0, register 2, element 0 both hold row 0 k 0");
    f.at = a_row_on;
    prove_bijection(&f, &s);
    expect_refuted(&s, "lane 28, register 1, element 0 holds row 16 k 0: outside the tile of 16 x 32");
    f = operand("mma.m16n8k32.s8/D");
    f.registers = 3;
    prove_bijection(&f, &s);
    expect_refuted(&s, "no register holds row 8 col 1");

    struct fragment d = operand("wgmma.m64n16.f32/D");
    const struct fragment slab = operand("mma.m16n8k32.s8/D");
    d.at = swapped_matrices;
    prove_shifted(&slab, &d, (struct fragment_shift){32, 4, 16, 8}, &s);
    expect_refuted(&s,
                   "warp 1 lane 0, register 4, element 0 of wgmma.m64n16.f32/D holds row 16 col 9; mma.m16n8k32.s8/D, "
                   "shifted, has row 16 col 8 there");

    struct fragment store = operand("ldmatrix.x4");
    const struct fragment load = store, turned = operand("ldmatrix.x4.trans");
    store.at = swapped_matrices;
    prove_round_trip(&store, &load, false, &s);
    expect_refuted(&s, "lane 0, register 0, half 0 comes back as that of lane 0, register 1, half 0");
    prove_round_trip(&turned, &load, false, &s);
    expect_refuted(&s, "lane 0, register 0, half 1 comes back as that of lane 4, register 0, half 0");
    store.at = a_row_on;
    prove_round_trip(&store, &load, false, &s);
    expect_refuted(&s, "lane 0, register 0, half 0 comes back from a place where nothing was stored");
}

static struct movmatrix_source unmoved(unsigned lane, unsigned i) {
    return (struct movmatrix_source){lane, i};
}
static struct movmatrix_source next_lane(unsigned lane, unsigned i) {
    struct movmatrix_source m = movmatrix_source(lane, i);
    m.lane = (m.lane + 1) % 32;
    return m;
}

Test(prove_fragments, planted_movmatrix) {
    struct statement s = {.proved = true};
    prove_transposition(unmoved, &s);
    expect_refuted(&s, "lane 0, half 1 holds row 0 col 1 of the source; its transpose has row 1 col 0 there");
    prove_movmatrix_twice(next_lane, &s);
    expect_refuted(&s, "lane 0, half 0 comes from lane 9, half 0 after two");
}

/* The xor of address bits 6..8 where 7..9 are right. */
static unsigned other_bits(const struct address_map *x, unsigned row, unsigned byte) {
    const unsigned at = row * 128 + byte;
    (void)x;
    return at ^ (at >> 2 & 0x70);
}
static unsigned or_for_xor(const struct address_map *x, unsigned row, unsigned byte) {
    const unsigned at = row * 128 + byte;
    (void)x;
    return at | (at >> 3 & 0x70);
}
static unsigned no_xor(const struct address_map *x, unsigned row, unsigned byte) {
    (void)x;
    return row * 128 + byte;
}
static unsigned one_on(const struct address_map *x, unsigned row, unsigned byte) {
    return no_xor(x, row, byte) + 1;
}

Test(prove_fragments, planted_swizzles) {
    struct statement s = {.proved = true};
    struct address_map x = {or_for_xor, SWIZZLE_128B, 0, 0, 8, 128, 1, "row", "byte"};
    prove_addresses(&x, &s);
    expect_refuted(&s, "row 1 byte 0 and row 1 byte 16 both lie at 144");
    x.at = other_bits;
    prove_start_banks(&x, &s);
    expect_refuted(&s, "row 0 and row 4, byte 0 on, both begin in bank 0");
    x.at = no_xor;
    prove_start_banks(&x, &s);
    expect_refuted(&s, "row 0 and row 1, byte 0 on, both begin in bank 0");
    x.at = one_on;
    prove_addresses(&x, &s);
    expect_refuted(&s, "row 7 byte 127 lies at 1024: outside the 1024 bytes, or across two elements");
}

Test(prove_fragments, planted_steps) {
    struct statement s = {.proved = true};
    prove_steps(&(struct wgmma_descriptor){SWIZZLE_128B, 0, 1024, 0}, 16, &s);
    expect_refuted(&s, "row 0 k byte 0 of step 1 lies at 32, and 16 is read");
    prove_steps(&(struct wgmma_descriptor){SWIZZLE_64B, 0, 512, 16}, 32, &s);
    cr_expect(s.proved && s.domain > 8000, "a start that is no beginning of the pattern");
}

Test(prove_fragments, planted_addresses) {
    struct statement s = {.proved = true, .name = "plant"};
    const struct fragment f = operand("mma.m16n8k32.s8/A");
    prove_delivery(&f,
                   &(struct delivery){"ldmatrix.x4", "(tile_row + lane % 16) * 32 + tile_byte + lane / 16 * 16", false,
                                      1, 1, SWIZZLE_NONE},
                   &s);
    expect_refuted(&s, "rows 64 bytes apart: lane 0, register 1, byte 0 holds row 4 k 0; mma wants row 8 k 0: wrong "
                       "stride: the addresses step 32 bytes a row, the rows lie 64 apart");
    struct fragment nibbles = operand("mma.m16n8k64.s4/A");
    nibbles.at = exchanged_nibbles;
    prove_delivery(&nibbles,
                   &(struct delivery){"ldmatrix.x4", "(tile_row + lane % 16) * stride + tile_byte + lane / 16 * 16",
                                      false, 1, 1, SWIZZLE_NONE},
                   &s);
    expect_refuted(&s, "rows 64 bytes apart: lane 0, register 0, byte 0: its elements are no byte of a row of k");
    prove_delivery(
        &f,
        &(struct delivery){"ldmatrix.x4",
                           "(tile_row + lane % 16) * 128 + xor(tile_byte + lane / 16 * 16, lane % 8 / 2 * 16)", false,
                           1, 1, SWIZZLE_128B},
        &s);
    cr_expect(!s.proved && strstr(s.counterexample,
                                  "lane 4, register 0, byte 0 holds row 1 k 16; mma wants row 1 k 0: wrong xor: "),
              "%s", s.counterexample);
    free(s.counterexample);
    s = (struct statement){.proved = true, .name = s.name};
    const struct fragment d = operand("mma.m16n8k16.f16.f16/D");
    prove_delivery(&d,
                   &(struct delivery){"stmatrix.x4",
                                      "(tile_row + lane % 8 + lane / 16 * 8) * stride + tile_byte + lane / 8 "
                                      "% 2 * 16",
                                      false, 1, 2, SWIZZLE_NONE},
                   &s);
    expect_refuted(
        &s, "rows 64 bytes apart: lane 0, register 1, byte 0 is mma's row 8 col 0 byte 0 and goes to the place of "
            "row 0 col 8 byte 0: matrices 1 and 2 exchanged");
    prove_delivery(&f, &(struct delivery){"ldmatrix.x4", "lane / (tile_row - 16)", false, 1, 1, SWIZZLE_NONE}, &s);
    cr_expect(!s.proved && strstr(s.counterexample, "division by zero"), "%s", s.counterexample);
    free(s.counterexample);
}

/* ---- what runs the instructions ---- */

Test(prove_fragments, the_machine_agrees) {
    size_t executed = 0, all = fragment_kernel_count();
    for (size_t i = 0; i < all; ++i) {
        struct fragment_kernel k;
        struct error e = {""};
        struct statement s = {.proved = true};
        fragment_kernel_make(i, &k);
        if (!k.sm_90a) {
            uint32_t *out = must_calloc(fragment_kernel_words(&k), sizeof *out);
            cr_assert(fragment_kernel_run(&k, &runner_machine, out, &e), "%s", e.text);
            fragment_kernel_judge(&k, "the machine", out, &s);
            cr_expect(s.proved, "%s", s.counterexample);
            out[fragment_kernel_words(&k) / 2] ^= 1; /* a plant: one bit */
            s = (struct statement){.proved = true};
            fragment_kernel_judge(&k, "the machine", out, &s);
            cr_expect(!s.proved && strstr(s.counterexample, "the map says"), "%s: a wrong bit is not seen", k.name);
            free(s.counterexample);
            free(out);
            ++executed;
        }
        fragment_kernel_free(&k);
    }
    cr_expect(executed == 41 && all == 41 + 7 + 82 + 16, "%zu of %zu kernels", executed, all);
}

Test(prove_fragments, a_wrong_operand_is_named) {
    struct fragment_kernel k;
    struct error e = {""};
    struct statement s = {.proved = true};
    fragment_kernel_make(13, &k);
    uint32_t *out = must_calloc(fragment_kernel_words(&k), sizeof *out);
    cr_assert(fragment_kernel_run(&k, &runner_machine, out, &e), "%s", e.text);
    out[(size_t)37 * 128 + 4 * 9 + 1] ^= 1;
    fragment_kernel_judge(&k, "the machine", out, &s);
    expect_refuted(&s, "mma.m16n8k32.s8/executed, block 37, A of lane 2, register 1, element 1, thread 9, word 1: the "
                       "map says 0x00000000, the machine has 0x00000001");
    free(out);
    fragment_kernel_free(&k);
}

/* What a GPU gave for every kernel, wgmma too. */
Test(prove_fragments, an_h200_agrees) {
    struct fragment_record r;
    struct error e = {""};
    cr_assert(fragment_record_read(RECORD, &r, &e), "%s", e.text);
    for (size_t i = 0, n = fragment_kernel_count(); i < n; ++i) {
        struct fragment_kernel k;
        struct statement s = {.proved = true};
        fragment_kernel_make(i, &k);
        const uint8_t *bytes = fragment_record_find(&r, &k);
        cr_expect(bytes, "%s is not in the record", k.name);
        uint32_t *out = must_calloc(fragment_kernel_words(&k), sizeof *out);
        if (bytes)
            memcpy(out, bytes, 4 * fragment_kernel_words(&k));
        fragment_kernel_judge(&k, "the H200", out, &s);
        cr_expect(s.proved, "%s", s.counterexample ? s.counterexample : "");
        free(s.counterexample);
        free(out);
        fragment_kernel_free(&k);
    }
    fragment_record_free(&r);
}

Test(prove_fragments, records) {
    struct fragment_record r = {NULL, 0}, back;
    struct fragment_kernel a, b, c;
    struct error e = {""};
    char path[] = "/tmp/fragments.XXXXXX";
    fragment_kernel_make(0, &a);
    fragment_kernel_make(12, &b);
    fragment_kernel_make(7, &c);
    fragment_record_add(&r, &a, a.want);
    fragment_record_add(&r, &b, b.want);
    size_t size;
    uint8_t *packed = fragment_record_pack(&r, &size);
    const int fd = mkstemp(path);
    cr_assert(packed && fd >= 0 && write(fd, packed, size) == (ssize_t)size, "cannot write %s", path);
    cr_assert(fragment_record_read(path, &back, &e), "%s", e.text);
    cr_expect(back.size == r.size && memcmp(back.bytes, r.bytes, r.size) == 0, "the bytes come back");
    const uint8_t *found = fragment_record_find(&back, &b);
    cr_expect(found && memcmp(found, b.want, 4 * fragment_kernel_words(&b)) == 0, "the second kernel");
    cr_expect(!fragment_record_find(&back, &c), "one that is not there");
    back.size -= 4;
    cr_expect(!fragment_record_find(&back, &b) && fragment_record_find(&back, &a), "cut off");
    fragment_record_free(&back);
    packed[size / 2] ^= 0x40;
    for (size_t cut = 0; cut <= size; cut += size / 3) { /* damaged, then cut off, then empty */
        cr_assert(pwrite(fd, packed, size, 0) == (ssize_t)size && ftruncate(fd, (off_t)(size - cut)) == 0, "write");
        cr_expect(!fragment_record_read(path, &back, &e) && strstr(e.text, "not a record"), "%zu bytes less: %s", cut,
                  e.text);
    }
    cr_expect(!fragment_record_read("/nosuch", &back, &e) && strstr(e.text, "/nosuch"), "%s", e.text);
    close(fd);
    unlink(path);
    free(packed);
    fragment_record_free(&r);
    fragment_kernel_free(&a);
    fragment_kernel_free(&b);
    fragment_kernel_free(&c);
}
