/* ref/ftz.h against soft arithmetic, most of all where results come near the least normal number. */
#include "../ref/ftz.h"
#include "../ref/random.h"
#include "independent/independent.h"
#include <criterion/criterion.h>

static uint32_t near_exponent(struct random_stream *s, uint32_t field) {
    static const uint32_t fraction[] = {0, 1, 0x7fffff, 0x7ffffe, 0x400000};
    uint32_t some = random_below(s, 3) ? random_u32(s) & 0x7fffff : fraction[random_below(s, 5)];
    return (random_u32(s) & 0x80000000) | (field + random_below(s, 4)) << 23 | some;
}

Test(ftz, against_soft_arithmetic) {
    struct random_stream s = random_open(random_key("ftz"), 0);
    size_t flushed = 0, edge = 0, missed_edge = 0;
    for (int i = 0; i < 200000; i++) {
        const uint32_t a_field = random_below(&s, 250), b_field = a_field > 124 ? 249 - a_field : 125 - a_field;
        uint32_t a = near_exponent(&s, a_field > 124 ? a_field - 124 : a_field), b = near_exponent(&s, b_field);
        uint32_t c = random_below(&s, 3) ? near_exponent(&s, 0) : 0;
        if (i % 4 == 0) { /* 2^-126 less a little: c is 2^-126, the product small and of the other sign */
            c = 0x00800000 | (c & 0x80000000);
            a = near_exponent(&s, 60), b = near_exponent(&s, 38 + random_below(&s, 8));
            a = (a & 0x7fffffff) | (~(b ^ c) & 0x80000000 ? 0x80000000 : 0);
        }
        const float x = bits_float(a), y = bits_float(b), z = bits_float(c);
        const uint32_t fma = float_bits(ftz_fma(x, y, z)), want = independent_fma(a, b, c, true);
        cr_assert(fma == want, "fma of %08x %08x %08x: %08x, want %08x", a, b, c, fma, want);
        cr_assert(float_bits(ftz_mul(x, y)) == independent_multiply(a, b, true), "mul of %08x %08x", a, b);
        cr_assert(float_bits(ftz_add(x, z)) == independent_add(a, c, true), "add of %08x %08x", a, c);
        const uint32_t kept = independent_fma(a, b, c, false);
        flushed += want != kept;
        edge += (kept & 0x7fffffff) == 0x00800000;
        missed_edge += (kept & 0x7fffffff) == 0x00800000 && !(want & 0x7fffffff); /* a plain flush of IEEE's result */
    }
    cr_assert(flushed > 1000 && edge > 1000 && missed_edge > 100, "too little of: flushed %zu, edge %zu, below it %zu",
              flushed, edge, missed_edge);
}

Test(ftz, zeros_infinities_nan) {
    static const uint32_t bits[] = {0,          0x80000000, 1,          0x80000001, 0x007fffff, 0x00800000, 0x80800000,
                                    0x3f800000, 0xbf800000, 0x7f7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0xff800001};
    enum { N = sizeof bits / sizeof *bits };
    for (int a = 0; a < N; a++)
        for (int b = 0; b < N; b++) {
            const float x = bits_float(bits[a]), y = bits_float(bits[b]);
            cr_assert(float_bits(ftz_mul(x, y)) == independent_multiply(bits[a], bits[b], true), "mul of %08x %08x",
                      bits[a], bits[b]);
            cr_assert(float_bits(ftz_add(x, y)) == independent_add(bits[a], bits[b], true), "add of %08x %08x", bits[a],
                      bits[b]);
            for (int c = 0; c < N; c++)
                cr_assert(float_bits(ftz_fma(x, y, bits_float(bits[c]))) ==
                              independent_fma(bits[a], bits[b], bits[c], true),
                          "fma of %08x %08x %08x", bits[a], bits[b], bits[c]);
        }
}
