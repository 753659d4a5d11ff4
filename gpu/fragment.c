#include "fragment.h"
#include "../ref/checked.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MMA_SOURCE   "PTX ISA 9.7.14.5"
#define WGMMA_SOURCE "PTX ISA 9.7.15.5.1.1"

/* MM-1, MM-5: row g + 8 (r & 1), four bytes from 4t + 16 (r >> 1) along k; WG-4: warp w has rows from 16 w. */
static struct fragment_cell at_a(const struct fragment *f, unsigned lane, unsigned r, unsigned i) {
    const unsigned g = lane % 32 / 4, t = lane % 4, elements = fragment_elements(f);
    return (struct fragment_cell){16 * (lane / 32) + g + 8 * (r & 1), elements * t + i + 4 * elements * (r >> 1)};
}

/* MM-2: column n = g, four bytes from 4t + 16 r along k. */
static struct fragment_cell at_b(const struct fragment *f, unsigned lane, unsigned r, unsigned i) {
    const unsigned g = lane / 4, t = lane % 4, elements = fragment_elements(f);
    return (struct fragment_cell){g, elements * t + i + 4 * elements * r};
}

/* MM-3, MM-5, WG-2: a slab of eight columns is four registers of an m16 tile; m8 has the first two. */
static struct fragment_cell at_d32(const struct fragment *f, unsigned lane, unsigned r, unsigned i) {
    (void)f, (void)i;
    const unsigned g = lane % 32 / 4, t = lane % 4;
    return (struct fragment_cell){16 * (lane / 32) + g + 8 * (r >> 1 & 1), 8 * (r >> 2) + 2 * t + (r & 1)};
}

/* MM-4, WG-3: two columns a register, the lower one in the low half. */
static struct fragment_cell at_d16(const struct fragment *f, unsigned lane, unsigned r, unsigned i) {
    (void)f;
    const unsigned g = lane % 32 / 4, t = lane % 4;
    return (struct fragment_cell){16 * (lane / 32) + g + 8 * (r & 1), 8 * (r >> 1) + 2 * t + i};
}

/* LM-4: register j = matrix j; b16 i of lane (g, t) = row g, column 2t + i. */
static struct fragment_cell at_matrix(const struct fragment *f, unsigned lane, unsigned r, unsigned i) {
    (void)f;
    return (struct fragment_cell){8 * r + lane / 4, 2 * (lane % 4) + i};
}

/* LM-5: row 2t + i, column g. */
static struct fragment_cell at_transposed(const struct fragment *f, unsigned lane, unsigned r, unsigned i) {
    (void)f;
    return (struct fragment_cell){8 * r + 2 * (lane % 4) + i, lane / 4};
}

/* Rows of facts/ptx.md 2.2. */
static const struct mma {
    const char *shape, *types[3];
    unsigned m, k, bits;
    const char *accumulator;
    unsigned halves; /* of `types`, so many from the start also take f16 accumulators */
} mmas[] = {
    {"m16n8k32", {"s8", "u8"}, 16, 32, 8, "s32", 0},     {"m16n8k16", {"s8", "u8"}, 16, 16, 8, "s32", 0},
    {"m8n8k16", {"s8", "u8"}, 8, 16, 8, "s32", 0},       {"m16n8k64", {"s4", "u4"}, 16, 64, 4, "s32", 0},
    {"m16n8k32", {"s4", "u4"}, 16, 32, 4, "s32", 0},     {"m8n8k32", {"s4", "u4"}, 8, 32, 4, "s32", 0},
    {"m16n8k16", {"f16", "bf16"}, 16, 16, 16, "f32", 1}, {"m16n8k8", {"f16", "bf16"}, 16, 8, 16, "f32", 1},
    {"m16n8k8", {"tf32"}, 16, 8, 32, "f32", 0},          {"m16n8k4", {"tf32"}, 16, 4, 32, "f32", 0},
    {"m16n8k32", {"e4m3", "e5m2"}, 16, 32, 8, "f32", 2}, {"m16n8k16", {"e4m3", "e5m2"}, 16, 16, 8, "f32", 2},
};

/* WG-5: A of every type is 32 bytes wide. */
static const struct wgmma_a {
    const char *type;
    unsigned k, bits;
} wgmma_as[] = {{"s8", 32, 8},   {"u8", 32, 8},    {"e4m3", 32, 8}, {"e5m2", 32, 8},
                {"f16", 16, 16}, {"bf16", 16, 16}, {"tf32", 8, 32}};

struct list {
    struct fragment *items;
    size_t count;
};

static void add(struct list *l, struct fragment f) {
    l->items = must_realloc(l->items, l->count + 1, sizeof *l->items);
    l->items[l->count++] = f;
}

static struct fragment accumulator(const char *name, enum fragment_operand operand, unsigned lanes, unsigned m,
                                   unsigned n, bool half, const char *source) {
    struct fragment f = {.operand = operand,
                         .lanes = lanes,
                         .registers = m * n / lanes / (half ? 2 : 1),
                         .bits = half ? 16 : 32,
                         .rows = m,
                         .columns = n,
                         .row_name = "row",
                         .column_name = "col",
                         .source = source,
                         .at = half ? at_d16 : at_d32};
    snprintf(f.name, sizeof f.name, "%s/%c", name, operand == FRAGMENT_C ? 'C' : 'D');
    return f;
}

static void add_accumulators(struct list *l, const char *name, unsigned m, bool half) {
    add(l, accumulator(name, FRAGMENT_C, 32, m, 8, half, MMA_SOURCE));
    add(l, accumulator(name, FRAGMENT_D, 32, m, 8, half, MMA_SOURCE));
}

static void add_mma(struct list *l, const struct mma *x, unsigned which) {
    char name[40];
    snprintf(name, sizeof name, "mma.%s.%s", x->shape, x->types[which]);
    struct fragment a = {.operand = FRAGMENT_A,
                         .lanes = 32,
                         .registers = x->m * x->k * x->bits / 1024,
                         .bits = x->bits,
                         .rows = x->m,
                         .columns = x->k,
                         .row_name = "row",
                         .column_name = "k",
                         .source = MMA_SOURCE,
                         .at = at_a},
                    b = a;
    b.operand = FRAGMENT_B;
    b.rows = 8;
    b.registers = 8 * x->k * x->bits / 1024;
    b.row_name = "n";
    b.at = at_b;
    snprintf(a.name, sizeof a.name, "%s/A", name);
    snprintf(b.name, sizeof b.name, "%s/B", name);
    add(l, a);
    add(l, b);
    add_accumulators(l, name, x->m, false);
    if (which < x->halves) {
        snprintf(name, sizeof name, "mma.%s.f16.%s", x->shape, x->types[which]);
        add_accumulators(l, name, x->m, true);
    }
}

static struct fragment wgmma_a(const struct wgmma_a *x) {
    struct fragment f = {.operand = FRAGMENT_A,
                         .lanes = 128,
                         .registers = 4,
                         .bits = x->bits,
                         .rows = 64,
                         .columns = x->k,
                         .row_name = "row",
                         .column_name = "k",
                         .source = WGMMA_SOURCE,
                         .at = at_a};
    snprintf(f.name, sizeof f.name, "wgmma.m64k%u.%s/A", x->k, x->type);
    return f;
}

struct fragment fragment_wgmma_d(unsigned n, const char *type) {
    char name[40];
    snprintf(name, sizeof name, "wgmma.m64n%u.%s", n, type);
    return accumulator(name, FRAGMENT_D, 128, 64, n, strcmp(type, "f16") == 0, WGMMA_SOURCE);
}

static struct fragment matrices_of(const char *instruction, const char *source, unsigned matrices, bool trans) {
    struct fragment f = {.operand = FRAGMENT_MATRICES,
                         .lanes = 32,
                         .registers = matrices,
                         .bits = 16,
                         .rows = 8 * matrices,
                         .columns = 8,
                         .row_name = "row",
                         .column_name = "col",
                         .source = source,
                         .at = trans ? at_transposed : at_matrix};
    snprintf(f.name, sizeof f.name, "%s.x%u%s", instruction, matrices, trans ? ".trans" : "");
    return f;
}

struct fragment fragment_ldmatrix(unsigned matrices, bool trans) {
    return matrices_of("ldmatrix", "PTX ISA 9.7.14.5.15", matrices, trans);
}

struct fragment fragment_stmatrix(unsigned matrices, bool trans) { /* LM-9 */
    return matrices_of("stmatrix", "PTX ISA 9.7.14.5.16", matrices, trans);
}

struct fragment *fragment_list(size_t *count) {
    struct list l = {NULL, 0};
    for (unsigned matrices = 1; matrices <= 4; matrices *= 2)
        for (int trans = 0; trans < 2; ++trans) {
            add(&l, fragment_ldmatrix(matrices, trans));
            add(&l, fragment_stmatrix(matrices, trans));
        }
    for (size_t i = 0; i < sizeof mmas / sizeof *mmas; ++i)
        for (unsigned k = 0; k < 3 && mmas[i].types[k]; ++k)
            add_mma(&l, &mmas[i], k);
    for (size_t i = 0; i < sizeof wgmma_as / sizeof *wgmma_as; ++i)
        add(&l, wgmma_a(&wgmma_as[i]));
    for (unsigned n = 8; n <= 256; n += 8) { /* WG-7: s32 has 8, 16, 24, 32 and then every sixteenth */
        if (n <= 32 || n % 16 == 0)
            add(&l, fragment_wgmma_d(n, "s32"));
        add(&l, fragment_wgmma_d(n, "f32"));
        add(&l, fragment_wgmma_d(n, "f16"));
    }
    *count = l.count;
    return l.items;
}

bool fragment_named(const char *name, struct fragment *out) {
    char wanted[sizeof out->name];
    size_t count;
    if (strlen(name) >= sizeof wanted)
        return false;
    strcpy(wanted, name);
    for (char *s = wanted; *s; ++s)
        *s = *s == ' ' ? '/' : *s;
    struct fragment *all = fragment_list(&count);
    bool found = false;
    for (size_t i = 0; i < count && !found; ++i)
        if (strcmp(all[i].name, wanted) == 0) {
            *out = all[i];
            found = true;
        }
    free(all);
    return found;
}

struct fragment_lane_name fragment_lane_name(const struct fragment *f, unsigned lane) {
    struct fragment_lane_name name;
    if (f->lanes > 32)
        snprintf(name.text, sizeof name.text, "warp %u lane %u", lane / 32, lane % 32);
    else
        snprintf(name.text, sizeof name.text, "lane %u", lane);
    return name;
}

const char *const swizzle_names[SWIZZLE_MODES] = {"none", "32B", "64B", "128B"};

unsigned swizzle_width(enum swizzle_mode mode) {
    return 16u << mode;
}

unsigned swizzle(enum swizzle_mode mode, unsigned at) {
    static const unsigned masks[SWIZZLE_MODES] = {0, 0x10, 0x30, 0x70};
    return at ^ (at >> 3 & masks[mode]);
}

unsigned wgmma_k_major(const struct wgmma_descriptor *d, unsigned row, unsigned kb) {
    if (d->mode == SWIZZLE_NONE)
        return d->start + row / 8 * d->sbo + row % 8 * 16 + kb / 16 * d->lbo + kb % 16;
    return swizzle(d->mode, d->start + row / 8 * d->sbo + row % 8 * swizzle_width(d->mode) + kb);
}

unsigned wgmma_mn_major(const struct wgmma_descriptor *d, unsigned mn, unsigned k) {
    const unsigned width = swizzle_width(d->mode), elements = width / 2;
    if (d->mode == SWIZZLE_NONE)
        return d->start + mn / 8 * d->sbo + mn % 8 * 2 + k % 8 * 16 + k / 8 * d->lbo;
    return swizzle(d->mode, d->start + mn / elements * d->lbo + mn % elements * 2 + k % 8 * width + k / 8 * d->sbo);
}

bool fragment_wgmma_b(const char *name, struct fragment *out) {
    for (size_t i = 0; i < sizeof wgmma_as / sizeof *wgmma_as; ++i) {
        const struct wgmma_a *x = &wgmma_as[i];
        const bool integer = strcmp(x->type, "s8") == 0 || strcmp(x->type, "u8") == 0;
        for (unsigned n = 8; n <= 256; n += 8) {
            struct fragment f = {.operand = FRAGMENT_B,
                                 .lanes = 128,
                                 .bits = x->bits,
                                 .rows = n,
                                 .columns = x->k,
                                 .row_name = "n",
                                 .column_name = "k",
                                 .source = "PTX ISA 9.7.15.5.1.2"};
            snprintf(f.name, sizeof f.name, "wgmma.n%uk%u.%s/B", n, x->k, x->type);
            const size_t before = strlen(f.name) - 2;
            if ((integer && n > 32 && n % 16 != 0) || strncmp(name, f.name, before) != 0 ||
                (strcmp(name + before, "/B") != 0 && strcmp(name + before, " B") != 0))
                continue;
            *out = f;
            return true;
        }
    }
    return false;
}
