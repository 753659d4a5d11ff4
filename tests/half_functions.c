/* The measured functions of 16-bit numbers: every operand next to the exact value, the machine's results for all of
 * them, hostile files. */
#include "../ref/half_functions.h"
#include "../ref/half.h"
#include "machine_run.h"
#include "measured.h"
#include <math.h>
#include <unistd.h>

static void load(void) {
    struct error e;
    cr_assert(half_functions_load(HALF_FUNCTIONS, &e) && half_functions_measured(), "%s", e.text);
}

static double value(uint16_t h, bool brain) {
    return bits_float(brain ? (uint32_t)h << 16 : half_to_float_bits(h));
}

/* Relative error at most 2^-p (p: PTX ISA 9.7.4.9, 9.7.4.10; bf16 as it was measured), or within the least step. */
Test(half_functions, next_to_the_exact_values) {
    static const struct {
        enum half_function function;
        bool brain, tanh;
        double relative, least;
    } rows[] = {{HALF_EX2_F16, false, false, 0x1p-9, 0x1p-24},
                {HALF_TANH_F16, false, true, 0x1p-9, 0x1p-24},
                {HALF_EX2_BF16, true, false, 0x1p-7, 0x1p-126},
                {HALF_TANH_BF16, true, true, 0x1p-7, 0x1p-133}};
    load();
    for (size_t k = 0; k < 4; ++k)
        for (uint32_t h = 0; h < 0x10000; ++h) {
            const double x = value((uint16_t)h, rows[k].brain), want = rows[k].tanh ? tanh(x) : exp2(x);
            const uint16_t bits = half_function(rows[k].function, (uint16_t)h);
            const double got = value(bits, rows[k].brain), most = rows[k].brain ? 0x1.FEp127 : 65504;
            if (isnan(x))
                cr_assert(bits == 0x7fff, "function %zu of 0x%04x: a NaN is 0x%04x", k, h, bits);
            else if (want > most)
                cr_assert(got >= most, "function %zu of 0x%04x: %g, and %g is right", k, h, got, want);
            else
                cr_assert(fabs(got - want) <= rows[k].relative * fabs(want) + rows[k].least,
                          "function %zu of 0x%04x: %g, and %g is right", k, h, got, want);
        }
}

Test(half_functions, the_machine_gives_them_all) {
    static const char *const instructions[] = {"ex2.approx.f16x2", "tanh.approx.f16x2", "ex2.approx.ftz.bf16x2",
                                               "tanh.approx.bf16x2"};
    enum { PAIRS = 1 << 15 };
    static uint32_t out[PAIRS];
    load();
    for (size_t k = 0; k < 4; ++k) {
        char body[600];
        snprintf(body, sizeof body,
                 "ld.param.u64 %%rd1, [p0];\nmov.u32 %%r1, %%ctaid.x;\nmov.u32 %%r2, %%tid.x;\n"
                 "mad.lo.s32 %%r3, %%r1, 256, %%r2;\nmul.wide.u32 %%rd2, %%r3, 4;\nadd.s64 %%rd1, %%rd1, %%rd2;\n"
                 "mul.lo.u32 %%r4, %%r3, 0x20002;\nadd.u32 %%r4, %%r4, 0x10000;\n%s %%r5, %%r4;\n"
                 "st.global.u32 [%%rd1], %%r5;\nret;\n",
                 instructions[k]);
        struct launch_buffer buffer = {
            .name = "out", .role = BUFFER_OUT, .bytes = sizeof out, .cell_bytes = 4, .data = (void *)out};
        const struct machine_test test = {
            .body = body, .buffers = &buffer, .buffer_count = 1, .grid = {PAIRS / 256}, .block = {256}};
        struct trace t;
        struct ptx_module *m = machine_must(&test, &t);
        cr_assert(t.event_count == 0, "%s: an event", instructions[k]);
        for (uint32_t i = 0; i < PAIRS; ++i) {
            const uint32_t want = half_function((enum half_function)k, (uint16_t)(2 * i)) |
                                  (uint32_t)half_function((enum half_function)k, (uint16_t)(2 * i + 1)) << 16;
            cr_assert(out[i] == want, "%s of 0x%04x and the next: 0x%08x, want 0x%08x", instructions[k], 2 * i, out[i],
                      want);
        }
        trace_free(&t);
        ptx_free(m);
    }
}

Test(half_functions, other_files_are_refused) {
    struct error e = {""};
    cr_assert(!half_functions_load("fixtures", &e) && strstr(e.text, "directory"), "a folder: \"%s\"", e.text);
    cr_assert(!half_functions_load("Makefile", &e) && strstr(e.text, "not a zlib stream of 524288 bytes"),
              "text: \"%s\"", e.text);
    cr_assert(!half_functions_load(RCP_TABLE, &e), "another table is taken");
    uint8_t *bytes = calloc(1, 1 << 19), packed[1 << 12];
    uLongf count = sizeof packed;
    char path[] = "/tmp/warpproof-half-XXXXXX";
    const int fd = mkstemp(path);
    cr_assert(bytes && fd >= 0 && compress2(packed, &count, bytes, 1 << 19, 9) == Z_OK, "compress");
    cr_assert(write(fd, packed, count) == (ssize_t)count && close(fd) == 0, "%s: cannot be written", path);
    cr_assert(!half_functions_load(path, &e) && strstr(e.text, "SHA-256 differs"), "other bytes: \"%s\"", e.text);
    cr_assert(!half_functions_measured(), "refused, and still used");
    unlink(path);
    free(bytes);
}
