/* Approximate functions: special values as an H200 has them, other values within the bounds that PTX states, an event
 * for each that has no bit-exact model, and none for those that have. */
#include "../ref/half.h"
#include "../ref/half_functions.h"
#include "../ref/rcp_approx.h"
#include "machine_run.h"
#include "measured.h"
#include <math.h>

struct special { /* operand and result; the rest of a row is zeros, which are an operand and its result too, or not */
    uint64_t of, is;
};
/* Measured on an NVIDIA H200, driver 580.159.04, CUDA 13.0, 2026-11-30. */
static const struct {
    const char *opcode;
    char class;
    struct special values[14];
} rows[] = {
    /* clang-format off */
    {"ex2.approx.f32", 'f', {{0x0, 0x3f800000}, {0x80000000, 0x3f800000}, {0x1, 0x3f800000}, {0x80000001, 0x3f800000}, {0x7fffff, 0x3f800000}, {0x807fffff, 0x3f800000}, {0x800000, 0x3f800000}, {0x80800000, 0x3f800000}, {0x7f800000, 0x7f800000}, {0xff800000, 0x0}, {0x7f800001, 0x7fffffff}, {0x7fffffff, 0x7fffffff}, {0x7f7fffff, 0x7f800000}, {0xff7fffff, 0x0}}},
    {"ex2.approx.ftz.f32", 'f', {{0x0, 0x3f800000}, {0x80000000, 0x3f800000}, {0x1, 0x3f800000}, {0x80000001, 0x3f800000}, {0x7fffff, 0x3f800000}, {0x807fffff, 0x3f800000}, {0x800000, 0x3f800000}, {0x80800000, 0x3f800000}, {0x7f800000, 0x7f800000}, {0xff800000, 0x0}, {0x7f800001, 0x7fffffff}, {0x7fffffff, 0x7fffffff}, {0x7f7fffff, 0x7f800000}, {0xff7fffff, 0x0}}},
    {"lg2.approx.f32", 'f', {{0x0, 0xff800000}, {0x80000000, 0xff800000}, {0x1, 0xc3150000}, {0x80000001, 0x7fffffff}, {0x7fffff, 0xc2fc0000}, {0x807fffff, 0x7fffffff}, {0x80800000, 0x7fffffff}, {0x7f800000, 0x7f800000}, {0xff800000, 0x7fffffff}, {0x7f800001, 0x7fffffff}, {0x7fffffff, 0x7fffffff}, {0xff7fffff, 0x7fffffff}}},
    {"lg2.approx.ftz.f32", 'f', {{0x0, 0xff800000}, {0x80000000, 0xff800000}, {0x1, 0xff800000}, {0x80000001, 0xff800000}, {0x7fffff, 0xff800000}, {0x807fffff, 0xff800000}, {0x80800000, 0x7fffffff}, {0x7f800000, 0x7f800000}, {0xff800000, 0x7fffffff}, {0x7f800001, 0x7fffffff}, {0x7fffffff, 0x7fffffff}, {0xff7fffff, 0x7fffffff}}},
    {"sin.approx.f32", 'f', {{0x0, 0x0}, {0x80000000, 0x80000000}, {0x1, 0x0}, {0x80000001, 0x80000000}, {0x7fffff, 0x0}, {0x807fffff, 0x80000000}, {0x800000, 0x0}, {0x80800000, 0x80000000}, {0x7f800000, 0x7fffffff}, {0xff800000, 0x7fffffff}, {0x7f800001, 0x7fffffff}, {0x7fffffff, 0x7fffffff}, {0x7f7fffff, 0x0}, {0xff7fffff, 0x80000000}}},
    {"sin.approx.ftz.f32", 'f', {{0x0, 0x0}, {0x80000000, 0x80000000}, {0x1, 0x0}, {0x80000001, 0x80000000}, {0x7fffff, 0x0}, {0x807fffff, 0x80000000}, {0x800000, 0x0}, {0x80800000, 0x80000000}, {0x7f800000, 0x7fffffff}, {0xff800000, 0x7fffffff}, {0x7f800001, 0x7fffffff}, {0x7fffffff, 0x7fffffff}, {0x7f7fffff, 0x0}, {0xff7fffff, 0x80000000}}},
    {"cos.approx.f32", 'f', {{0x0, 0x3f800000}, {0x80000000, 0x3f800000}, {0x1, 0x3f800000}, {0x80000001, 0x3f800000}, {0x7fffff, 0x3f800000}, {0x807fffff, 0x3f800000}, {0x800000, 0x3f800000}, {0x80800000, 0x3f800000}, {0x7f800000, 0x7fffffff}, {0xff800000, 0x7fffffff}, {0x7f800001, 0x7fffffff}, {0x7fffffff, 0x7fffffff}, {0x7f7fffff, 0x3f800000}, {0xff7fffff, 0x3f800000}}},
    {"cos.approx.ftz.f32", 'f', {{0x0, 0x3f800000}, {0x80000000, 0x3f800000}, {0x1, 0x3f800000}, {0x80000001, 0x3f800000}, {0x7fffff, 0x3f800000}, {0x807fffff, 0x3f800000}, {0x800000, 0x3f800000}, {0x80800000, 0x3f800000}, {0x7f800000, 0x7fffffff}, {0xff800000, 0x7fffffff}, {0x7f800001, 0x7fffffff}, {0x7fffffff, 0x7fffffff}, {0x7f7fffff, 0x3f800000}, {0xff7fffff, 0x3f800000}}},
    {"tanh.approx.f32", 'f', {{0x0, 0x0}, {0x80000000, 0x80000000}, {0x1, 0x1}, {0x80000001, 0x80000001}, {0x7fffff, 0x7fffff}, {0x807fffff, 0x807fffff}, {0x800000, 0x800000}, {0x80800000, 0x80800000}, {0x7f800000, 0x3f800000}, {0xff800000, 0xbf800000}, {0x7f800001, 0x7fffffff}, {0x7fffffff, 0x7fffffff}, {0x7f7fffff, 0x3f800000}, {0xff7fffff, 0xbf800000}}},
    {"sqrt.approx.f32", 'f', {{0x0, 0x0}, {0x80000000, 0x80000000}, {0x1, 0x1a3504f3}, {0x80000001, 0x7fffffff}, {0x7fffff, 0x1fffffff}, {0x807fffff, 0x7fffffff}, {0x800000, 0x20000000}, {0x80800000, 0x7fffffff}, {0x7f800000, 0x7f800000}, {0xff800000, 0x7fffffff}, {0x7f800001, 0x7fffffff}, {0x7fffffff, 0x7fffffff}, {0x7f7fffff, 0x5f7fffff}, {0xff7fffff, 0x7fffffff}}},
    {"sqrt.approx.ftz.f32", 'f', {{0x0, 0x0}, {0x80000000, 0x80000000}, {0x1, 0x0}, {0x80000001, 0x80000000}, {0x7fffff, 0x0}, {0x807fffff, 0x80000000}, {0x800000, 0x20000000}, {0x80800000, 0x7fffffff}, {0x7f800000, 0x7f800000}, {0xff800000, 0x7fffffff}, {0x7f800001, 0x7fffffff}, {0x7fffffff, 0x7fffffff}, {0x7f7fffff, 0x5f7fffff}, {0xff7fffff, 0x7fffffff}}},
    {"rsqrt.approx.f32", 'f', {{0x0, 0x7f800000}, {0x80000000, 0xff800000}, {0x80000001, 0x7fffffff}, {0x807fffff, 0x7fffffff}, {0x800000, 0x5f000000}, {0x80800000, 0x7fffffff}, {0x7f800000, 0x0}, {0xff800000, 0x7fffffff}, {0x7f800001, 0x7fffffff}, {0x7fffffff, 0x7fffffff}, {0x7f7fffff, 0x1f800000}, {0xff7fffff, 0x7fffffff}}},
    {"rsqrt.approx.ftz.f32", 'f', {{0x0, 0x7f800000}, {0x80000000, 0xff800000}, {0x1, 0x7f800000}, {0x80000001, 0xff800000}, {0x7fffff, 0x7f800000}, {0x807fffff, 0xff800000}, {0x800000, 0x5f000000}, {0x80800000, 0x7fffffff}, {0x7f800000, 0x0}, {0xff800000, 0x7fffffff}, {0x7f800001, 0x7fffffff}, {0x7fffffff, 0x7fffffff}, {0x7f7fffff, 0x1f800000}, {0xff7fffff, 0x7fffffff}}},
    {"rcp.approx.ftz.f64", 'd', {{0x0, 0x7ff0000000000000}, {0x8000000000000000, 0xfff0000000000000}, {0x1, 0x7ff0000000000000}, {0xfffffffffffff, 0x7ff0000000000000}, {0x800fffffffffffff, 0xfff0000000000000}, {0x10000000000000, 0x7fd0000000000000}, {0x7ff0000000000000, 0x0}, {0xfff0000000000000, 0x8000000000000000}, {0x7ff0000000000001, 0x0}, {0x7ff8000000000000, 0x7fffffff00000000}}},
    {"rsqrt.approx.f64", 'd', {{0x0, 0x7ff0000000000000}, {0x8000000000000000, 0xfff0000000000000}, {0x1, 0x6180000000000000}, {0xfffffffffffff, 0x5fe0000000000001}, {0x800fffffffffffff, 0xfff8000000000000}, {0x10000000000000, 0x5fe0000000000000}, {0x7ff0000000000000, 0x0}, {0xfff0000000000000, 0xfff8000000000000}, {0x7ff0000000000001, 0x7ff8000000000001}, {0x7ff8000000000000, 0x7ff8000000000000}}},
    {"rsqrt.approx.ftz.f64", 'd', {{0x0, 0x7ff0000000000000}, {0x8000000000000000, 0xfff0000000000000}, {0x1, 0x7ff0000000000000}, {0xfffffffffffff, 0x7ff0000000000000}, {0x800fffffffffffff, 0xfff0000000000000}, {0x10000000000000, 0x5fe0000000000000}, {0x7ff0000000000000, 0x0}, {0xfff0000000000000, 0x7fffffff00000000}, {0x7ff0000000000001, 0x0}, {0x7ff8000000000000, 0x7fffffff00000000}}},
    /* clang-format on */
};

/* One block of 32 lanes, `count` of them with values: operand x, result y. */
static void run(const char *instruction, char class, const struct arch *arch, const uint64_t x[32], uint64_t y[32],
                struct trace *t, struct ptx_module **m) {
    char body[1200];
    const char *load = class == 'd'   ? "mov.b64 %d1, %rd30;"
                       : class == 'h' ? "cvt.u16.u64 %h1, %rd30;"
                       : class == 'r' ? "cvt.u32.u64 %r1, %rd30;"
                                      : "cvt.u32.u64 %r50, %rd30;\nmov.b32 %f1, %r50;";
    const char *store = class == 'd'   ? "mov.b64 %rd31, %d0;"
                        : class == 'h' ? "cvt.u64.u16 %rd31, %h0;"
                        : class == 'r' ? "cvt.u64.u32 %rd31, %r0;"
                                       : "mov.b32 %r50, %f0;\ncvt.u64.u32 %rd31, %r50;";
    snprintf(body, sizeof body,
             "ld.param.u64 %%rd20, [p0];\nld.param.u64 %%rd21, [p1];\nmov.u32 %%r61, %%tid.x;\n"
             "mul.wide.u32 %%rd22, %%r61, 8;\nadd.s64 %%rd20, %%rd20, %%rd22;\nadd.s64 %%rd21, %%rd21, %%rd22;\n"
             "mov.f32 %%f0, 0f00000000;\nld.global.b64 %%rd30, [%%rd20];\n%s\nsetp.gt.u32 %%p1, %%r61, 4;\n%s;\n%s\n"
             "st.global.b64 [%%rd21], %%rd31;\nret;\n",
             load, instruction, store);
    uint64_t in[32];
    memcpy(in, x, sizeof in);
    struct launch_buffer buffers[2] = {
        {.name = "in", .role = BUFFER_IN, .bytes = sizeof in, .cell_bytes = 8, .data = (void *)in},
        {.name = "out", .role = BUFFER_OUT, .bytes = sizeof in, .cell_bytes = 8, .data = (void *)y}};
    const struct machine_test test = {.body = body, .buffers = buffers, .buffer_count = 2, .options = {.arch = arch}};
    *m = machine_must(&test, t);
}

static void load_tables(void) {
    struct error e;
    cr_assert(rcp_approx_load(RCP_TABLE, &e) && half_functions_load(HALF_FUNCTIONS, &e), "%s", e.text);
}

static void instruction_of(const char *opcode, char class, char *text, size_t room) {
    const bool two = !strncmp(opcode, "div", 3);
    snprintf(text, room, "%s %%%c0, %%%c1%s%c%s", opcode, class, class, two ? ", %" : "", two ? class : ' ',
             two ? "1" : "");
}

Test(machine_approximate, special_values_as_measured) {
    for (size_t k = 0; k < sizeof rows / sizeof *rows; ++k) {
        uint64_t x[32] = {0}, y[32];
        for (size_t i = 0; i < 14; ++i)
            x[i] = rows[k].values[i].of;
        char instruction[100];
        instruction_of(rows[k].opcode, rows[k].class, instruction, sizeof instruction);
        struct trace t;
        struct ptx_module *m;
        run(instruction, rows[k].class, NULL, x, y, &t, &m);
        for (size_t i = 0; i < 14; ++i) {
            if (i && !x[i])
                continue;
            cr_assert(y[i] == rows[k].values[i].is, "%s of %llx: an H200 gives %llx, the machine %llx", rows[k].opcode,
                      (unsigned long long)x[i], (unsigned long long)rows[k].values[i].is, (unsigned long long)y[i]);
        }
        trace_free(&t);
        ptx_free(m);
    }
}

/* Bounds of PTX ISA 9.7.3, relative, or absolute where the function has zeros. */
static const struct {
    const char *opcode;
    double (*function)(double x);
    double low, high, relative, absolute;
} bounds[] = {
    {"ex2.approx.ftz.f32", exp2, -100, 100, 0x1p-22, 0}, {"lg2.approx.f32", log2, 2, 1e30, 0x1p-22, 0},
    {"lg2.approx.f32", log2, 0.5, 2, 0, 0x1p-22},        {"sin.approx.f32", sin, -3.1, 3.1, 0, 0x1p-20},
    {"cos.approx.f32", cos, -3.1, 3.1, 0, 0x1p-20},      {"tanh.approx.f32", tanh, -8, 8, 0x1p-11, 0},
    {"sqrt.approx.f32", sqrt, 1e-30, 1e30, 0x1p-23, 0},
};
Test(machine_approximate, values_within_the_stated_bounds) {
    for (size_t k = 0; k < sizeof bounds / sizeof *bounds; ++k) {
        uint64_t x[32], y[32], seed = 3 + k;
        for (int i = 0; i < 32; ++i) {
            const double part = (double)(next_random(&seed) >> 11) * 0x1p-53;
            x[i] = float_bits((float)(bounds[k].low + (bounds[k].high - bounds[k].low) * part * (i % 4 ? part : 1)));
        }
        char instruction[100];
        instruction_of(bounds[k].opcode, 'f', instruction, sizeof instruction);
        struct trace t;
        struct ptx_module *m;
        run(instruction, 'f', NULL, x, y, &t, &m);
        for (int i = 0; i < 32; ++i) {
            const double a = bits_float((uint32_t)x[i]), want = bounds[k].function(a), got = bits_float((uint32_t)y[i]);
            cr_assert(fabs(got - want) <= bounds[k].relative * fabs(want) + bounds[k].absolute,
                      "%s of %.9g: %.9g, and %.9g is right", bounds[k].opcode, a, got, want);
        }
        trace_free(&t);
        ptx_free(m);
    }
}

/* How many events, all EVENT_APPROXIMATE. */
static size_t events_of(const char *opcode, char class, const char *guard, const char *arch, uint32_t *lane) {
    char instruction[100], guarded[120];
    uint64_t x[32] = {0x3f800000}, y[32];
    struct trace t;
    struct ptx_module *m;
    instruction_of(opcode, class, instruction, sizeof instruction);
    snprintf(guarded, sizeof guarded, "%s%s", guard, instruction);
    run(guarded, class, arch ? arch_named(arch) : NULL, x, y, &t, &m);
    const size_t count = t.event_count;
    for (size_t i = 0; i < count; ++i)
        cr_assert(t.events[i].kind == EVENT_APPROXIMATE && strstr(t.sites[t.events[i].instruction].text, opcode),
                  "%s: another event", opcode);
    *lane = count ? t.events[0].lane : 0;
    trace_free(&t);
    ptx_free(m);
    return count;
}

Test(machine_approximate, an_event_where_there_is_no_model) {
    static const struct {
        const char *opcode;
        char class;
    } exact[] = {{"rcp.approx.ftz.f32", 'f'}, {"rcp.approx.f32", 'f'},   {"div.approx.ftz.f32", 'f'},
                 {"div.approx.f32", 'f'},     {"div.full.f32", 'f'},     {"div.full.ftz.f32", 'f'},
                 {"ex2.approx.f16", 'h'},     {"tanh.approx.bf16", 'h'}, {"tanh.approx.f16x2", 'r'}},
      never[] = {{"ex2.approx.ftz.f32", 'f'}, {"lg2.approx.f32", 'f'},    {"rsqrt.approx.f32", 'f'},
                 {"tanh.approx.f32", 'f'},    {"sqrt.approx.f32", 'f'},   {"rcp.approx.ftz.f64", 'd'},
                 {"rsqrt.approx.f64", 'd'},   {"cos.approx.ftz.f32", 'f'}};
    uint32_t lane;
    for (int loaded = 0; loaded < 2; ++loaded) {
        for (size_t i = 0; i < sizeof exact / sizeof *exact; ++i) {
            cr_assert(events_of(exact[i].opcode, exact[i].class, "", NULL, &lane) == !loaded,
                      "%s on sm_90, %s the table", exact[i].opcode, loaded ? "with" : "without");
            cr_assert(events_of(exact[i].opcode, exact[i].class, "", "sm_100", &lane) == 1, "%s on sm_100: no event",
                      exact[i].opcode);
        }
        for (size_t i = 0; i < sizeof never / sizeof *never; ++i)
            cr_assert(events_of(never[i].opcode, never[i].class, "", NULL, &lane) == 1, "%s: no event",
                      never[i].opcode);
        load_tables();
    }
    cr_assert(events_of("ex2.approx.f32", 'f', "@%p1 ", NULL, &lane) == 1 && lane == 5, "lane %u is not the first",
              lane);
}
