/* mma of f64: the chain of fused multiply-adds with k ascending, which is what an H200 gave for 8 million results of
 * all four shapes (near, wide, tiny and any bits), and its NaNs. */
#include "machine_run.h"
#include <math.h>

static double number(uint64_t bits) {
    double x;
    memcpy(&x, &bits, 8);
    return x;
}
static uint64_t bits_of(double x) {
    uint64_t bits;
    memcpy(&bits, &x, 8);
    return bits;
}

struct product {
    double a[16][16], b[16][8], c[16][8];
    uint64_t d[16][8];
};

static const struct form {
    int m, k, a, b, c;
} forms[] = {{8, 4, 1, 1, 2}, {16, 4, 2, 1, 4}, {16, 8, 4, 2, 4}, {16, 16, 8, 4, 4}};

static size_t vector(char *text, size_t room, const char *before, int first, int count) {
    size_t n = (size_t)snprintf(text, room, "%s{", before);
    for (int i = 0; i < count; ++i)
        n += (size_t)snprintf(text + n, room - n, "%s%%d%d", i ? ", " : "", first + i);
    return n + (size_t)snprintf(text + n, room - n, "}");
}

/* Element formulas of PTX ISA 9.7.14.5.10 .. 13. */
static void run(const struct form *f, struct product *p, const char *isa, const char *rounding) {
    static double in[32][16];
    static uint64_t out[32][4];
    for (int lane = 0; lane < 32; ++lane) {
        const int g = lane / 4, t = lane % 4;
        for (int i = 0; i < f->a; ++i)
            in[lane][i] = p->a[g + (i % 2 ? 8 : 0)][t + 4 * (i / 2)];
        for (int i = 0; i < f->b; ++i)
            in[lane][f->a + i] = p->b[t + 4 * i][g];
        for (int i = 0; i < f->c; ++i)
            in[lane][f->a + f->b + i] = p->c[g + 8 * (i / 2)][2 * t + i % 2];
    }
    char body[4096];
    size_t n = (size_t)snprintf(body, sizeof body,
                                "ld.param.u64 %%rd1, [p0];\nld.param.u64 %%rd2, [p1];\nmov.u32 %%r1, %%tid.x;\n"
                                "mad.wide.u32 %%rd3, %%r1, 128, %%rd1;\nmad.wide.u32 %%rd4, %%r1, 32, %%rd2;\n");
    for (int i = 0; i < f->a + f->b + f->c; ++i)
        n += (size_t)snprintf(body + n, sizeof body - n, "ld.global.f64 %%d%d, [%%rd3+%d];\n", i, 8 * i);
    n += (size_t)snprintf(body + n, sizeof body - n, "mma.sync.aligned.m%dn8k%d.row.col%s.f64.f64.f64.f64 ", f->m, f->k,
                          rounding);
    n += vector(body + n, sizeof body - n, "", f->a + f->b, f->c); /* D over C */
    n += vector(body + n, sizeof body - n, ", ", 0, f->a);
    n += vector(body + n, sizeof body - n, ", ", f->a, f->b);
    n += vector(body + n, sizeof body - n, ", ", f->a + f->b, f->c);
    n += (size_t)snprintf(body + n, sizeof body - n, ";\n");
    for (int i = 0; i < f->c; ++i)
        n += (size_t)snprintf(body + n, sizeof body - n, "st.global.f64 [%%rd4+%d], %%d%d;\n", 8 * i, f->a + f->b + i);
    snprintf(body + n, sizeof body - n, "ret;");
    memset(out, 0, sizeof out);
    struct launch_buffer b[2] = {
        {.name = "in", .role = BUFFER_IN, .bytes = sizeof in, .cell_bytes = 8, .data = (void *)in},
        {.name = "out", .role = BUFFER_INOUT, .bytes = sizeof out, .cell_bytes = 8, .data = (void *)out}};
    const struct machine_test test = {.body = body, .buffers = b, .buffer_count = 2, .isa = isa};
    struct trace t;
    struct ptx_module *m = machine_must(&test, &t);
    cr_assert(t.event_count == 0 && t.macs == (uint64_t)(8 * f->m * f->k), "event, or %llu multiply-adds",
              (unsigned long long)t.macs);
    trace_free(&t), ptx_free(m);
    for (int lane = 0; lane < 32; ++lane)
        for (int i = 0; i < f->c; ++i)
            p->d[lane / 4 + 8 * (i / 2)][2 * (lane % 4) + i % 2] = out[lane][i];
}

/* x * y + z of which a NaN operand is handed on, y's before z's before x's. */
static double step(double x, double y, double z) {
    const double result = fma(x, y, z);
    if (!isnan(result))
        return result;
    const double kept = isnan(y) ? y : isnan(z) ? z : isnan(x) ? x : number(0xfff8000000000000);
    return number(bits_of(kept) | 1ull << 51);
}

static double draw(uint64_t *seed, unsigned kind) {
    const uint64_t x = next_random(seed), sign = x & 1ull << 63, fraction = x & ((1ull << 52) - 1);
    const uint64_t exponent = kind == 0   ? 1015 + (x >> 52 & 15) /* near */
                              : kind == 1 ? 960 + (x >> 52 & 127) /* wide */
                              : kind == 2 ? 490 + (x >> 52 & 63)  /* products among the subnormals */
                                          : x >> 52 & 2047;       /* any */
    return number(sign | exponent << 52 | fraction);
}

Test(machine_tensor_f64, chains) {
    const char *isas[3];
    const size_t isa_count = machine_isas(isas);
    uint64_t seed = 20261130;
    struct product p;
    for (unsigned round = 0; round < 4 * 4 * 6 * isa_count; ++round) {
        const struct form *f = &forms[round % 4];
        const unsigned kind = round / 4 % 4;
        for (int i = 0; i < 16; ++i)
            for (int k = 0; k < 16; ++k)
                p.a[i][k] = draw(&seed, kind);
        for (int k = 0; k < 16; ++k)
            for (int n = 0; n < 8; ++n)
                p.b[k][n] = draw(&seed, kind), p.c[k][n] = draw(&seed, kind == 2 ? 3 : kind);
        run(f, &p, isas[round / 16 % isa_count], round & 1 ? ".rn" : "");
        for (int i = 0; i < f->m; ++i)
            for (int n = 0; n < 8; ++n) {
                double want = p.c[i][n];
                for (int k = 0; k < f->k; ++k)
                    want = step(p.a[i][k], p.b[k][n], want);
                cr_assert(p.d[i][n] == bits_of(want), "m%dn8k%d kind %u row %d column %d: want %016llx got %016llx",
                          f->m, f->k, kind, i, n, (unsigned long long)bits_of(want), (unsigned long long)p.d[i][n]);
            }
    }
}

/* Measured on an H200: m8n8k4, the special operands at k = 0, zero times one at the other k. */
Test(machine_tensor_f64, special_values) {
    static const uint64_t one = 0x3ff0000000000000, inf = 0x7ff0000000000000, x = 0x7ff0000000000111,
                          y = 0xfff8000000000222, z = 0x7ff0000000000333, minus = 1ull << 63;
    const struct {
        uint64_t a, b, c, want;
    } rows[] = {
        {one, one, x, 0x7ff8000000000111},
        {x, one, one, 0x7ff8000000000111},
        {one, y, one, 0xfff8000000000222},
        {x, y, one, 0xfff8000000000222},
        {x, one, z, 0x7ff8000000000333},
        {one, y, z, 0xfff8000000000222},
        {x, y, z, 0xfff8000000000222},
        {inf, 0, one, 0xfff8000000000000},
        {0, inf | minus, one, 0xfff8000000000000},
        {inf, one, inf | minus, 0xfff8000000000000},
        {minus, one, minus, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        struct product p = {0};
        for (int k = 0; k < 4; ++k)
            p.b[k][0] = number(k ? one : rows[i].b);
        p.a[0][0] = number(rows[i].a), p.c[0][0] = number(rows[i].c);
        run(&forms[0], &p, NULL, "");
        cr_assert(p.d[0][0] == rows[i].want, "row %zu: want %016llx got %016llx", i, (unsigned long long)rows[i].want,
                  (unsigned long long)p.d[0][0]);
    }
    /* -0 alone: no k more than the shape has may be added to it */
    struct product p = {0};
    for (int i = 0; i < 16; ++i)
        for (int k = 0; k < 16; ++k)
            p.a[i][k] = -0.0;
    for (int k = 0; k < 16; ++k)
        for (int n = 0; n < 8; ++n)
            p.b[k][n] = 1, p.c[k][n] = -0.0;
    for (int f = 0; f < 4; ++f) {
        run(&forms[f], &p, NULL, "");
        cr_assert(p.d[0][0] == minus, "m%dn8k%d: -0 became %016llx", forms[f].m, forms[f].k,
                  (unsigned long long)p.d[0][0]);
    }
}
