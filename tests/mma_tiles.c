/* Fragments as the element formulas of PTX ISA 9.7.14.5 give them, not the byte rule that the machine works by. */
#include "mma_tiles.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t draw(uint64_t *state) {
    uint64_t x = *state;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    *state = x;
    return (uint32_t)(x >> 16);
}

static bool is_float(const struct mma_case *c) {
    return c->a >= TENSOR_F16;
}

void mma_each_case(void (*visit)(const struct mma_case *c, void *context), void *context) {
    for (const struct tensor_form *f = tensor_forms; f->shape; ++f) {
        if (f->type == TENSOR_F64)
            continue;
        const bool pairs = f->type == TENSOR_S8 || f->type == TENSOR_S4 || f->type == TENSOR_E4M3;
        const bool twice = f->type < TENSOR_TF32 ? f->type != TENSOR_BF16 : f->type == TENSOR_E4M3;
        for (int mix = 0; mix < (pairs ? 4 : 1); ++mix)
            for (int second = 0; second < (twice ? 2 : 1); ++second) {
                struct mma_case c = {.form = f,
                                     .a = (enum tensor_type)(f->type + (mix & 1)),
                                     .b = (enum tensor_type)(f->type + (mix >> 1))};
                c.half = second && f->type >= TENSOR_F16;
                c.both = second && f->type == TENSOR_B1;
                c.clamp = second && f->type < TENSOR_B1;
                visit(&c, context);
            }
    }
}

void mma_case_name(const struct mma_case *c, char name[64]) {
    const char *accumulator = !is_float(c) ? "s32" : c->half ? "f16" : "f32";
    snprintf(name, 64, "%s%s.%s.%s.%s.%s%s", c->form->shape, c->clamp ? ".satfinite" : "", accumulator,
             tensor_type_names[c->a], tensor_type_names[c->b], accumulator,
             c->form->type != TENSOR_B1 ? ""
             : c->both                  ? ".and.popc"
                                        : ".xor.popc");
}

struct search {
    const char *name;
    struct mma_case *found;
    bool any;
};

static void look_at(const struct mma_case *c, void *context) {
    struct search *s = context;
    char name[64];
    mma_case_name(c, name);
    if (strcmp(name, s->name))
        return;
    *s->found = *c;
    s->any = true;
}

bool mma_case_named(const char *name, struct mma_case *c) {
    struct search s = {name, c, false};
    mma_each_case(look_at, &s);
    return s.any;
}

void mma_case_text(const struct mma_case *c, char text[128]) {
    char name[64];
    mma_case_name(c, name);
    const size_t shape = strlen(c->form->shape);
    snprintf(text, 128, "mma.sync.aligned.%s.row.col%s", c->form->shape, name + shape);
}

bool mma_case_runs(const struct mma_case *c, const struct arch *arch) {
    const unsigned first = c->form->type == TENSOR_B1 && c->both ? 80 : c->form->sm;
    return arch->sm >= first && (c->form->type != TENSOR_E4M3 || tensor_unit(arch)->fp8 != FP8_UNKNOWN);
}

/* ---- operands ---- */

static unsigned element_bits(enum tensor_type t) {
    return t == TENSOR_TF32                   ? 32
           : t == TENSOR_S8 || t == TENSOR_U8 ? 8
           : t == TENSOR_B1                   ? 1
           : t == TENSOR_S4 || t == TENSOR_U4 ? 4
                                              : tensor_floats[t].bits;
}

enum kind { ANY_BITS, ANY_FINITE, NEAR, CANCELLING, TINY, FEW, ONE_SPECIAL, KINDS };

struct field { /* of a floating-point code */
    unsigned exponent_bits, fraction_bits, low;
};

static struct field field_of(enum tensor_type t) {
    if (t == TENSOR_F32)
        return (struct field){8, 23, 0};
    return (struct field){tensor_floats[t].exponent_bits, tensor_floats[t].fraction_bits, t == TENSOR_TF32 ? 13 : 0};
}

/* One value; center: exponent field that values are near to. */
static uint32_t value(enum tensor_type t, enum kind kind, uint32_t center, uint64_t *seed) {
    const struct field f = field_of(t);
    const uint32_t all = (1u << f.exponent_bits) - 1, bits = draw(seed), fractions = (1u << f.fraction_bits) - 1;
    const bool has_infinity = t != TENSOR_E4M3;
    const uint32_t most = has_infinity ? all - 1 : all;
    uint32_t exponent = draw(seed) % (most + 1), fraction = bits & fractions;
    if (kind == ANY_BITS)
        exponent = draw(seed) & all;
    if (kind == NEAR || kind == CANCELLING || kind == FEW) {
        const uint32_t spread = kind == FEW ? 2 : 6, at = center + draw(seed) % spread;
        exponent = at > most ? most : at;
    }
    if (kind == TINY)
        exponent = draw(seed) % 3 ? 0 : draw(seed) % 4;
    if (kind == FEW)
        fraction = draw(seed) % 3 ? fraction & ~(fractions >> 1) : fractions;
    if (draw(seed) % 16 == 0)
        exponent = fraction = 0;
    if (kind != ANY_BITS && !has_infinity && exponent == all && fraction == fractions)
        fraction -= 1; /* that would be e4m3's NaN */
    const uint32_t sign = bits >> 31 << (f.exponent_bits + f.fraction_bits);
    const uint32_t code = sign | exponent << f.fraction_bits | fraction;
    return code << f.low | (f.low ? draw(seed) & ((1u << f.low) - 1) : 0);
}

static uint32_t special(enum tensor_type t, uint64_t *seed) {
    const struct field f = field_of(t);
    const uint32_t all = (1u << f.exponent_bits) - 1, fractions = (1u << f.fraction_bits) - 1;
    const uint32_t fraction = t == TENSOR_E4M3 ? fractions : draw(seed) % 4 ? 0 : draw(seed) & fractions;
    return (draw(seed) & 1) << (f.exponent_bits + f.fraction_bits + f.low) | (all << f.fraction_bits | fraction)
                                                                                 << f.low;
}

static void fill_floats(const struct mma_case *c, struct mma_tile *t, uint64_t *seed) {
    const enum kind kind = (enum kind)(draw(seed) % KINDS);
    const enum tensor_type accumulator = c->half ? TENSOR_F16 : TENSOR_F32;
    const struct field fa = field_of(c->a), fb = field_of(c->b), fc = field_of(accumulator);
    const int k = c->form->k;
    const uint32_t at_a = draw(seed) % (1u << fa.exponent_bits), at_b = draw(seed) % (1u << fb.exponent_bits);
    for (int i = 0; i < 16; ++i)
        for (int j = 0; j < k; ++j)
            t->a[i][j] = value(c->a, kind, at_a, seed);
    for (int j = 0; j < k; ++j)
        for (int i = 0; i < 8; ++i)
            t->b[j][i] = value(c->b, kind, at_b, seed);
    /* C is about as large as a product, larger, or smaller */
    const int bias_a = (1 << (fa.exponent_bits - 1)) - 1, bias_b = (1 << (fb.exponent_bits - 1)) - 1;
    const int bias_c = (1 << (fc.exponent_bits - 1)) - 1, wanted = (int)at_a - bias_a + (int)at_b - bias_b + bias_c;
    const int near = wanted + (int)(draw(seed) % 41) - 20, top = (1 << fc.exponent_bits) - 2;
    const uint32_t at_c = (uint32_t)(near < 0 ? 0 : near > top ? top : near);
    for (int i = 0; i < 16; ++i)
        for (int n = 0; n < 8; ++n)
            t->c[i][n] = value(accumulator, kind, at_c, seed);
    if (kind == CANCELLING) /* pairs of products that cancel, but in a few places */
        for (int j = 0; j + 1 < k; j += 2) {
            for (int i = 0; i < 16; ++i)
                if (draw(seed) % 24)
                    t->a[i][j + 1] = t->a[i][j] ^ 1u << (fa.exponent_bits + fa.fraction_bits + fa.low);
            for (int i = 0; i < 8; ++i)
                if (draw(seed) % 24)
                    t->b[j + 1][i] = t->b[j][i];
        }
    if (kind == ONE_SPECIAL)
        for (uint32_t left = 1 + draw(seed) % 3; left; --left) {
            t->a[draw(seed) % 16][draw(seed) % (unsigned)k] = special(c->a, seed);
            t->b[draw(seed) % (unsigned)k][draw(seed) % 8] = special(c->b, seed);
            t->c[draw(seed) % 16][draw(seed) % 8] = special(accumulator, seed);
        }
}

void mma_tile_fill(const struct mma_case *c, struct mma_tile *t, uint64_t *seed) {
    memset(t, 0, sizeof *t);
    if (is_float(c)) {
        fill_floats(c, t, seed);
        return;
    }
    const unsigned bits = element_bits(c->a), kind = draw(seed) % 4;
    const uint32_t mask = (1u << bits) - 1, half = 1u << (bits - 1);
    for (int j = 0; j < c->form->k; ++j) {
        for (int i = 0; i < 16; ++i) /* any values, or the extremes: all ones, the top bit alone, all but it */
            t->a[i][j] = kind ? kind == 1 ? mask : half : draw(seed) & mask;
        for (int i = 0; i < 8; ++i)
            t->b[j][i] = kind ? kind == 3 ? half - 1 : half : draw(seed) & mask;
    }
    for (int i = 0; i < 16; ++i)
        for (int n = 0; n < 8; ++n) { /* accumulators next to their limits */
            const uint32_t x = draw(seed);
            t->c[i][n] = x % 3 == 0 ? x : x % 3 == 1 ? 0x7fffff00u + (x >> 8 & 0xff) : 0x80000000u + (x >> 8 & 0xfff);
        }
}

/* ---- fragments ---- */

struct place {
    int lane, reg, shift;
};

/* Element (row, k) of A; of B with row = column. */
static struct place place_of(int row, int k, unsigned bits, bool is_b) {
    const int each = (int)(32 / bits), run = 4 * each;
    return (struct place){.lane = 4 * (row % 8) + k % run / each,
                          .reg = is_b ? k / run : row / 8 + 2 * (k / run),
                          .shift = k % each * (int)bits};
}

static struct place place_of_c(const struct mma_case *c, int row, int n) {
    if (c->half)
        return (struct place){4 * (row % 8) + n / 2, row / 8, 16 * (n % 2)};
    return (struct place){4 * (row % 8) + n / 2, 2 * (row / 8) + n % 2, 0};
}

void mma_pack(const struct mma_case *c, const struct mma_tile *t, uint32_t words[32][16]) {
    const struct tensor_form *f = c->form;
    const unsigned bits = element_bits(c->a);
    memset(words, 0, 32 * sizeof *words);
    for (int j = 0; j < f->k; ++j) {
        for (int row = 0; row < f->m; ++row) {
            const struct place p = place_of(row, j, bits, false);
            words[p.lane][p.reg] |= t->a[row][j] << p.shift;
        }
        for (int n = 0; n < 8; ++n) {
            const struct place p = place_of(n, j, bits, true);
            words[p.lane][f->a + p.reg] |= t->b[j][n] << p.shift;
        }
    }
    for (int row = 0; row < f->m; ++row)
        for (int n = 0; n < 8; ++n) {
            const struct place p = place_of_c(c, row, n);
            words[p.lane][f->a + f->b + p.reg] |= t->c[row][n] << p.shift;
        }
}

void mma_unpack(const struct mma_case *c, struct mma_tile *t, const uint32_t words[32][4]) {
    for (int row = 0; row < c->form->m; ++row)
        for (int n = 0; n < 8; ++n) {
            const struct place p = place_of_c(c, row, n);
            t->d[row][n] = c->half ? words[p.lane][p.reg] >> p.shift & 0xffff : words[p.lane][p.reg];
        }
}

/* ---- a launch ---- */

static size_t vector(char *text, size_t room, const char *before, int first, int count) {
    size_t n = (size_t)snprintf(text, room, "%s{", before);
    for (int i = 0; i < count; ++i)
        n += (size_t)snprintf(text + n, room - n, "%s%%r%d", i ? ", " : "", first + i);
    return n + (size_t)snprintf(text + n, room - n, "}");
}

static void write_text(const struct mma_case *c, const struct arch *arch, const char *prefix, char *text, size_t room) {
    char instruction[128];
    mma_case_text(c, instruction);
    const int accumulators = c->half ? c->form->c / 2 : c->form->c;
    size_t n = (size_t)snprintf(text, room,
                                ".version 9.0\n.target %s\n.address_size 64\n"
                                ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
                                ".reg .pred %%p<4>;\n.reg .b32 %%r<40>;\n.reg .b64 %%rd<8>;\n"
                                "ld.param.u64 %%rd1, [in];\nld.param.u64 %%rd2, [out];\nmov.u32 %%r1, %%tid.x;\n"
                                "mov.u32 %%r2, %%ctaid.x;\nmad.lo.s32 %%r3, %%r2, 32, %%r1;\n"
                                "mad.wide.u32 %%rd3, %%r3, 64, %%rd1;\nmad.wide.u32 %%rd4, %%r3, 16, %%rd2;\n",
                                arch && arch->sm < 90 ? arch->name : "sm_90");
    for (int i = 0; i < 4; ++i)
        n += (size_t)snprintf(text + n, room - n, "ld.global.v4.u32 {%%r%d, %%r%d, %%r%d, %%r%d}, [%%rd3+%d];\n",
                              10 + 4 * i, 11 + 4 * i, 12 + 4 * i, 13 + 4 * i, 16 * i);
    for (int i = 0; i < 4; ++i)
        n += (size_t)snprintf(text + n, room - n, "mov.b32 %%r%d, 0;\n", 30 + i);
    n += (size_t)snprintf(text + n, room - n, "%s\n%s ", prefix, instruction);
    n += vector(text + n, room - n, "", 30, accumulators);
    n += vector(text + n, room - n, ", ", 10, c->form->a);
    n += vector(text + n, room - n, ", ", 10 + c->form->a, c->form->b);
    n += vector(text + n, room - n, ", ", 10 + c->form->a + c->form->b, accumulators);
    snprintf(text + n, room - n, ";\nJOIN:\nst.global.v4.u32 [%%rd4], {%%r30, %%r31, %%r32, %%r33};\nret;\n}\n");
}

bool mma_run(const struct runner *runner, const struct mma_case *c, const struct arch *arch, const char *isa,
             const char *prefix, uint32_t threads, struct mma_tile *tiles, size_t count, struct ptx_module **module,
             struct trace *trace, struct error *e) {
    char text[4096];
    write_text(c, arch, prefix, text, sizeof text);
    *trace = (struct trace){0};
    *module = ptx_parse("mma.ptx", text, strlen(text), e);
    if (!*module)
        return false;
    uint32_t(*in)[32][16] = calloc(count, sizeof *in), (*out)[32][4] = calloc(count, sizeof *out);
    if (!in || !out)
        abort();
    for (size_t i = 0; i < count; ++i)
        mma_pack(c, &tiles[i], in[i]);
    struct launch_buffer buffers[2] = {
        {.name = "in", .role = BUFFER_IN, .bytes = count * sizeof *in, .cell_bytes = 4, .data = (uint8_t *)in},
        {.name = "out", .role = BUFFER_OUT, .bytes = count * sizeof *out, .cell_bytes = 4, .data = (uint8_t *)out}};
    struct launch_arg args[2] = {{.buffer = 0, .bytes = 8}, {.buffer = 1, .bytes = 8}};
    const struct launch l = {.module = *module,
                             .entry = "k",
                             .grid = {(uint32_t)count, 1, 1},
                             .block = {threads, 1, 1},
                             .buffers = buffers,
                             .buffer_count = 2,
                             .args = args,
                             .arg_count = 2,
                             .threads = 1,
                             .options = {.arch = arch}};
    if (isa)
        setenv("WARPPROOF_ISA", isa, 1);
    const bool ok = (runner ? runner : &runner_machine)->run(&l, trace, e);
    for (size_t i = 0; ok && i < count; ++i)
        mma_unpack(c, &tiles[i], (const uint32_t(*)[4])out[i]);
    free(in), free(out);
    return ok;
}
