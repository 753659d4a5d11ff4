/* The table of block formats, and the formats that are one line of arithmetic. */
#include "../ref/format.h"
#include "../ref/activation.h"
#include "../ref/contract.h"
#include "../ref/half.h"
#include "../ref/random.h"
#include "independent/independent.h"
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

Test(format, table) {
    static const struct {
        const char *name;
        uint32_t type;
        size_t values, bytes;
    } row[] = {{"f32", 0, 1, 4}, {"f16", 1, 1, 2}, {"q8_0", 8, 32, 34}, {"q4_K", 12, 256, 144}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const struct block_format *f = format_named(row[i].name);
        cr_assert(f && f == format_of_type(row[i].type), "%s: name and number disagree", row[i].name);
        cr_assert(f->block_values == row[i].values && f->block_bytes == row[i].bytes, "%s: block size", row[i].name);
        cr_assert(f->quantize && f->dequantize, "%s: both ways", row[i].name);
    }
    cr_assert(!format_named("Q4_K") && !format_named("") && !format_of_type(4), "names are exact, type 4 is no more");
}

/* What contracts name must exist, or a launch file could not be served. */
Test(format, contracts_name_formats_that_exist) {
    size_t count = 0;
    for (const struct contract *const *c = contracts; *c; c++, count++) {
        cr_assert(contract_named((*c)->name) == *c, "%s: not found by its name", (*c)->name);
        cr_assert(!(*c)->weight || format_named((*c)->weight), "%s: weight %s", (*c)->name, (*c)->weight);
        cr_assert(!strcmp((*c)->activation, "f32") || activation_named((*c)->activation), "%s: activation %s",
                  (*c)->name, (*c)->activation);
        cr_assert(!strcmp((*c)->result, "f32") || activation_named((*c)->result), "%s: result %s", (*c)->name,
                  (*c)->result);
    }
    cr_assert(count > 0 && !contract_named("q4_k_pad40") && !activation_named("pad"), "names are exact");
}

Test(format, f32_and_f16) {
    struct random_stream s = random_open(random_key("format/f32_and_f16"), 0);
    for (int i = 0; i < 10000; i++) {
        float x = bits_float(random_u32(&s)), y;
        uint8_t block[5];
        format_named("f32")->quantize(&x, block + 1);
        format_named("f32")->dequantize(block + 1, &y);
        cr_assert(!memcmp(&x, &y, sizeof x), "f32 0x%08x came back changed", float_bits(x));
        format_named("f16")->quantize(&x, block + 1);
        uint16_t h;
        memcpy(&h, block + 1, sizeof h);
        cr_assert(h == independent_half_nearest(x), "f16 of 0x%08x is 0x%04x", float_bits(x), h);
        format_named("f16")->dequantize(block + 1, &y);
        cr_assert(float_bits(y) == half_to_float_bits(h), "value of f16 0x%04x", h);
    }
}

/* q8_0 by exact integers: d and id by division of the f32 significands, x * id whole, ties away from zero. */
static void independent_q8_0(const float x[32], uint8_t block[34], bool ties_to_even) {
    double amax = 0;
    for (int k = 0; k < 32; k++)
        amax = fmax(amax, fabs((double)x[k]));
    struct parts a = independent_parts(&binary32, float_bits((float)amax)), d = {0}, id = {0};
    if (a.mantissa) {
        u128 wide = (u128)a.mantissa << 90;
        d = independent_parts(&binary32, independent_round(&binary32, false, wide / 127, a.exponent - 90, wide % 127));
        wide = (u128)1 << 120;
        id = independent_parts(
            &binary32, independent_round(&binary32, false, wide / d.mantissa, -120 - d.exponent, wide % d.mantissa));
    }
    uint32_t stored = independent_round(&binary16, false, d.mantissa, d.exponent, false);
    block[0] = stored & 255;
    block[1] = (uint8_t)(stored >> 8);
    for (int k = 0; k < 32; k++) {
        struct parts v = independent_parts(&binary32, float_bits(x[k]));
        uint32_t bits =
            independent_round(&binary32, false, (u128)v.mantissa * id.mantissa, v.exponent + id.exponent, false);
        double product = bits_float(bits), whole = floor(product), part = product - whole;
        bool up = part > 0.5 || (part == 0.5 && (!ties_to_even || fmod(whole, 2) == 1));
        int q = (int)whole + up;
        block[2 + k] = (uint8_t)((v.negative ? -q : q) & 255);
    }
}

Test(format, q8_0_against_exact_integers) {
    struct random_stream s = random_open(random_key("format/q8_0"), 0);
    int planted_seen = 0;
    for (int i = 0; i < 5000; i++) {
        float x[32], y[32];
        float size = ldexpf(1, (int)random_below(&s, 40) - 25);
        for (int k = 0; k < 32; k++)
            x[k] = i == 0       ? 0
                   : i % 3 == 0 ? ((float)random_below(&s, 508) - 254) / 2 /* ties: d is 1 */
                                : size * random_normal(&s);
        if (i % 3 == 0 && i)
            x[7] = -127;
        uint8_t got[34], want[34], even[34];
        format_named("q8_0")->quantize(x, got);
        independent_q8_0(x, want, false);
        independent_q8_0(x, even, true);
        cr_assert(!memcmp(got, want, sizeof got), "block %d differs", i);
        planted_seen += memcmp(got, even, sizeof got) != 0;
        format_named("q8_0")->dequantize(got, y);
        double d = independent_half_value((uint16_t)(got[0] + 256 * got[1]));
        for (int k = 0; k < 32; k++)
            cr_assert(float_bits(y[k]) == float_bits((float)(d * (int8_t)got[2 + k])), "block %d value %d", i, k);
    }
    cr_assert(planted_seen > 0, "planted: ties to even went unseen");
}

Test(format, q8_0_corners) {
    static const float row[][2] = {{INFINITY, 1},           {NAN, 1},       {NAN, NAN}, {0x1p-149f, 0},
                                   {0x1p-130f, -0x1p-130f}, {3e38f, -3e38f}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        float x[32];
        uint8_t block[34];
        for (int k = 0; k < 32; k++)
            x[k] = row[i][k % 2];
        format_named("q8_0")->quantize(x, block); /* defined: the sanitizers of the test build watch */
        if (isnan(row[i][0]))
            cr_assert(block[2] == 0, "row %zu: NaN must give 0", i);
    }
}
