/* The quantisers of the formats of 32 values a scale, and of bf16: those that ggml states bit for bit against a second
 * implementation in exact integers, those that search (iq4_nl, iq4_xs) against the best that there is. */
#include "../ref/format.h"
#include "../ref/half.h"
#include "../ref/random.h"
#include "independent/independent.h"
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { VALUES = 32, CLASSES = 10 };

/* 32 finite values of data class i % CLASSES. With values up to `end` a format's d is 1. */
static void make_values(struct random_stream *s, int i, float end, float x[VALUES]) {
    float size = ldexpf(1, (int)random_below(s, 60) - 30), unit = i & 64 ? size : size * (1 + random_unit(s));
    for (int k = 0; k < VALUES; k++) {
        uint32_t bits = random_u32(s), sign = bits & 0x80000000;
        int whole = (int)random_below(s, 65) - 32;
        switch (i % CLASSES) {
        case 0: /* normal */
            x[k] = size * random_normal(s);
            break;
        case 1: /* few values: ties, everywhere */
            x[k] = (float)whole / 2 * size;
            break;
        case 2: /* any bits */
            x[k] = bits_float((bits & 0x7f800000) == 0x7f800000 ? bits ^ 0x40000000 : bits);
            break;
        case 3: /* f32 subnormals and little more, where 1 / d is about to be infinite */
            x[k] = bits_float(sign | bits % 0x04000000);
            break;
        case 4: /* near the end of f32, and beyond the largest scale of binary16 */
            x[k] = bits_float(sign | (0x7f000000 + bits % 0x7fffff));
            break;
        case 5: /* zeros of both signs, and one value */
            x[k] = random_below(s, 4) ? bits_float(sign) : size;
            break;
        case 6: /* halves between codes, one step more and one less */
            x[k] = floorf((2 * random_unit(s) - 1) * 2 * end) / 2 * unit;
            x[k] = x[k] < 0 || x[k] > 0 ? bits_float(float_bits(x[k]) + random_below(s, 3) - 1) : x[k];
            break;
        case 7: /* all nearly the same */
            x[k] = size * (1 + random_normal(s) * 0x1p-20f);
            break;
        case 8: /* just below powers of two */
            x[k] = bits_float(sign | (((40 + bits % 170) << 23) - random_below(s, 100)));
            break;
        default: /* heavy tails */
            x[k] = size * random_normal(s) * random_normal(s) * random_normal(s);
        }
    }
    if (i % CLASSES == 6) {
        x[i / 16 % 16] = -end * unit;
        x[16 + i / 32 % 16] = end * unit;
    }
    if (i % CLASSES == 8) /* one size a block, since the largest rules */
        for (int k = 0; k < VALUES; k++)
            x[k] = bits_float((float_bits(x[k]) & 0x807fffff) | (float_bits(x[0]) & 0x7f800000));
}

/* Whether ggml's text gives a result for x: scales, their inverses and every step finite, conversions in range. */
static bool defined(const char *format, const float x[VALUES]) {
    float largest = 0, high = -FLT_MAX, low = FLT_MAX;
    for (int k = 0; k < VALUES; k++) {
        largest = fmaxf(largest, fabsf(x[k]));
        high = fmaxf(high, x[k]);
        low = fminf(low, x[k]);
    }
    if (!strcmp(format, "mxfp4"))
        return !(largest > 0) || largest >= 0x1p-125f;
    float d = !strcmp(format, "q4_0")   ? largest / 8
              : !strcmp(format, "q5_0") ? largest / 16
              : !strcmp(format, "q8_0") ? largest / 127
              : !strcmp(format, "q4_1") ? (high - low) / 15
                                        : (high - low) / 31;
    return !(d > 0) || (isfinite(d) && isfinite(1 / d));
}

Test(formats32_quantize, as_ggml_states_it) {
    static const struct {
        const char *format;
        independent_quantizer *quantize;
        float end;
        enum slip slips[3]; /* that must show; fused, see below */
    } row[] = {
        {"q4_0", independent_quantize_q4_0, 8, {STORED_SCALE, FUSED, HALVES_TO_EVEN}},
        {"q4_1", independent_quantize_q4_1, 7.5f, {STORED_SCALE, NO_SLIP, HALVES_TO_EVEN}},
        {"q5_0", independent_quantize_q5_0, 16, {STORED_SCALE, FUSED, HALVES_TO_EVEN}},
        {"q5_1", independent_quantize_q5_1, 15.5f, {STORED_SCALE, NO_SLIP, HALVES_TO_EVEN}},
        {"q8_0", independent_quantize_q8_0, 127, {HALVES_TO_EVEN}},
        {"mxfp4", independent_quantize_mxfp4, 4, {STORED_SCALE, HALVES_TO_EVEN}},
    };
    for (size_t r = 0; r < sizeof row / sizeof *row; r++) {
        const struct block_format *f = format_named(row[r].format);
        struct random_stream s = random_open(random_key("formats32/quantize"), (uint32_t)r);
        int compared = 0, seen[3] = {0};
        for (int i = 0; i < 6000; i++) {
            float x[VALUES];
            uint32_t bits[VALUES];
            uint8_t got[34], want[34];
            make_values(&s, i, row[r].end, x);
            memcpy(bits, x, sizeof bits);
            memset(got, 0xa5, sizeof got);
            f->quantize(x, got);
            if (!defined(f->name, x))
                continue;
            row[r].quantize(bits, want, NO_SLIP);
            cr_assert(!memcmp(got, want, f->block_bytes), "%s block %d differs", f->name, i);
            compared++;
            for (int k = 0; k < 3; k++)
                if (row[r].slips[k]) {
                    row[r].quantize(bits, want, row[r].slips[k]);
                    seen[k] += memcmp(got, want, f->block_bytes) != 0;
                }
        }
        cr_assert(compared > 5000, "%s: only %d blocks compared", f->name, compared);
        for (int k = 0; k < 3; k++)
            cr_assert(!row[r].slips[k] || seen[k] > 0, "planted: %s: slip %d went unseen", f->name, row[r].slips[k]);
    }
}

static void quantized(const char *format, const float x[VALUES], uint8_t block[40]) {
    memset(block, 0xa5, 40);
    format_named(format)->quantize(x, block);
}

/* The code without offset of value k. */
static unsigned stored_code(const char *format, const uint8_t *block, unsigned k) {
    const struct block_format *f = format_named(format);
    unsigned n = independent_nibble(block + f->block_bytes - 16, k);
    return format[1] == '5' ? n + 16 * independent_bits(block + f->codes_at, k, 1) : n;
}

/* x * id a little below 1/2, with a minimum of 0. Of q4_0: field_bugs B100. */
Test(formats32_quantize, where_no_fma_may_be) {
    float x[VALUES];
    uint8_t block[40];
    uint32_t bits[VALUES];
    struct random_stream s = random_open(random_key("formats32/fma"), 0);
    int fused_seen[2] = {0};
    for (int i = 0; i < 1000; i++) {
        const char *name = i % 2 ? "q5_1" : "q4_1";
        float unit = 1 + random_unit(&s);
        uint8_t want[40], fused[40];
        memset(bits, 0, sizeof bits);
        bits[0] = float_bits((i % 2 ? 31 : 15) * unit);
        for (uint32_t k = 1; k < 8; k++)
            bits[k] = float_bits(unit / 2) + k - 6;
        memcpy(x, bits, sizeof x);
        quantized(name, x, block);
        (i % 2 ? independent_quantize_q5_1 : independent_quantize_q4_1)(bits, want, NO_SLIP);
        (i % 2 ? independent_quantize_q5_1 : independent_quantize_q4_1)(bits, fused, FUSED);
        cr_assert(!memcmp(block, want, format_named(name)->block_bytes), "%s: block %d differs", name, i);
        fused_seen[i % 2] += memcmp(want, fused, format_named(name)->block_bytes) != 0;
    }
    cr_assert(fused_seen[0] > 0 && fused_seen[1] > 0, "planted: fused q4_1 seen %d times, q5_1 %d", fused_seen[0],
              fused_seen[1]);
}

Test(formats32_quantize, outside_the_formats) {
    static const struct {
        const char *format;
        unsigned zero, most; /* the code of 0, or of the minimum; the largest code */
        unsigned d_of_zeros;
    } row[] = {{"q4_0", 8, 15, 0x8000}, {"q5_0", 16, 31, 0x8000}, {"q4_1", 0, 15, 0}, {"q5_1", 0, 31, 0}};
    for (size_t r = 0; r < sizeof row / sizeof *row; r++) {
        const char *name = row[r].format;
        size_t bytes = format_named(name)->block_bytes;
        bool symmetric = name[3] == '0';
        uint8_t block[40], other[40];
        float zeros[VALUES] = {0}, nans[VALUES], x[VALUES] = {-4, 1, NAN, 3, -NAN, 2};
        quantized(name, zeros, block);
        cr_assert(independent_bits(block, 0, 16) == row[r].d_of_zeros, "%s: d of zeros", name);
        for (unsigned k = 0; k < VALUES; k++) {
            nans[k] = k % 2 ? NAN : -NAN;
            cr_assert(stored_code(name, block, k) == row[r].zero, "%s: code %u of zeros", name, k);
        }
        quantized(name, nans, other);
        cr_assert(!memcmp(block, other, bytes), "%s: nothing but NaN must be as zeros", name);

        quantized(name, x, block);
        x[2] = x[4] = symmetric ? 0 : -4;
        quantized(name, x, other);
        cr_assert(!memcmp(block, other, bytes), "%s: NaN must take no part", name);

        /* d below 2^-128: its inverse is infinite */
        float tiny[VALUES] = {-0x1p-130f, 0x1p-130f, 0, 0x1p-149f};
        quantized(name, tiny, block);
        cr_assert(independent_bits(block, 0, 15) == 0 && stored_code(name, block, 0) == 0 &&
                      stored_code(name, block, 1) == row[r].most &&
                      stored_code(name, block, 2) == (symmetric ? row[r].zero : row[r].most),
                  "%s: codes %u %u %u of d = 0", name, stored_code(name, block, 0), stored_code(name, block, 1),
                  stored_code(name, block, 2));

        float infinite[VALUES] = {INFINITY, -1, -INFINITY, 1}, wide[VALUES] = {FLT_MAX, -FLT_MAX};
        quantized(name, infinite, block); /* defined: the sanitizers of the test build watch */
        quantized(name, wide, block);
    }
    float x[VALUES] = {INFINITY, -INFINITY, NAN, 1}, y[VALUES] = {FLT_MAX, -FLT_MAX, 0, 1};
    static const char *const clamping[] = {"mxfp4", "iq4_nl"};
    for (int i = 0; i < 2; i++) {
        uint8_t block[40], other[40];
        quantized(clamping[i], x, block);
        quantized(clamping[i], y, other);
        cr_assert(!memcmp(block, other, format_named(clamping[i])->block_bytes), "%s: infinities and NaN", clamping[i]);
    }
}

Test(formats32_quantize, mxfp4_exponents) {
    /* floor(log2f) + 125: the last row that still rounds to the next power of two, and the first that does not */
    static const struct {
        float largest;
        int e;
    } row[] = {
        {1, 125},
        {0x1.fffffep-1f, 124}, /* near 2^0 every f32 has its own logarithm */
        {0x1.fffffep9f, 135},  /* 2^10 less one step */
        {0x1.fffff6p9f, 135},  /* less five, 2^3 ln 2 = 5.5 */
        {0x1.fffff4p9f, 134},  /* less six */
        {0x1.ffffa8p63f, 188}, /* 2^64 less 44 steps, but the f32 below 64 are closer */
        {0x1.ffffd4p63f, 189}, /* less 22 */
        {0x1.ffffa8p-65f, 61}, /* 2^-64 less 44 */
        {0x1.ffffa6p-65f, 60}, /* less 45 */
        {FLT_MAX, 253},
        {INFINITY, 253},
        {0x1p-125f, 0},
        {0x1p-126f, 0},
        {0x1p-149f, 0},
        {6, 127},
        {7.5f, 127},
        {8, 128},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        float x[VALUES] = {0};
        uint8_t block[40];
        x[31] = -row[i].largest;
        quantized("mxfp4", x, block);
        cr_assert(block[0] == row[i].e, "row %zu (%a): exponent %d, want %d", i, (double)row[i].largest, block[0],
                  row[i].e);
    }
    /* codes of a block whose largest is 4: ties go down, 8 is never written */
    float x[VALUES] = {4, 0.25f, 0.75f, 1.25f, 1.75f, 2.5f, 3.5f, 5, 7, -0.0f, -0.25f, -0.75f, -7, NAN};
    static const unsigned want[] = {6, 0, 1, 2, 3, 4, 5, 6, 7, 0, 0, 9, 15, 0};
    uint8_t block[40];
    quantized("mxfp4", x, block);
    for (unsigned k = 0; k < sizeof want / sizeof *want; k++)
        cr_assert(independent_nibble(block + 1, k) == want[k], "value %u (%g): nibble %u, want %u", k, (double)x[k],
                  independent_nibble(block + 1, k), want[k]);
}

Test(formats32_quantize, bf16) {
    int cut_seen = 0;
    for (uint64_t bits = 0; bits < (uint64_t)1 << 32;
         bits += bits % 0x10000 == 0x7ffe || bits % 0x10000 == 0x7fff ? 1 : 0x3fff) {
        uint32_t x = (uint32_t)bits;
        uint16_t got;
        uint8_t want[2], cut[2];
        format_named("bf16")->quantize((const float *)(const void *)&x, &got);
        if (independent_parts(&binary32, x).kind == NOT_A_NUMBER) {
            cr_assert(got == (x >> 16 | 0x40), "NaN 0x%08x became 0x%04x", x, got);
            continue;
        }
        if (independent_parts(&binary32, x).kind == INFINITE)
            continue;
        independent_quantize_bf16(&x, want, NO_SLIP);
        independent_quantize_bf16(&x, cut, STORED_SCALE);
        cr_assert(!memcmp(&got, want, 2), "0x%08x became 0x%04x", x, got);
        cut_seen += memcmp(&got, cut, 2) != 0;
    }
    static const uint32_t row[][2] = {
        {0x7f800000, 0x7f80}, {0xff800000, 0xff80}, {0x7f7fffff, 0x7f80}, {0x7f7f7fff, 0x7f7f}, {0x00008000, 0},
        {0x00008001, 1},      {0x80018000, 0x8002}, {0x3f808000, 0x3f80}, {0x7f800001, 0x7fc0},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        uint16_t got;
        format_named("bf16")->quantize((const float *)(const void *)&row[i][0], &got);
        cr_assert(got == row[i][1], "0x%08x became 0x%04x, want 0x%04x", row[i][0], got, row[i][1]);
    }
    cr_assert(cut_seen > 0, "planted: a cut fraction went unseen");
}

/* ---- searches ---- */

/* The sum of squares that the nearest codes leave under scale d. */
static double error_under(const float *x, double d) {
    double sum = 0;
    for (int k = 0; k < VALUES; k++) {
        double least = INFINITY;
        for (int n = 0; n < 16; n++)
            least = fmin(least, fabs(d * independent_iq4_codes[n] - x[k]));
        sum += least * least;
    }
    return sum;
}

static double error_of(const char *format, const float *x, size_t count) {
    const struct block_format *f = format_named(format);
    double sum = 0;
    for (size_t at = 0; at < count; at += f->block_values) {
        uint8_t block[136];
        float y[256];
        memset(block, 0xa5, sizeof block);
        f->quantize(x + at, block);
        f->dequantize(block, y);
        for (size_t k = 0; k < f->block_values; k++)
            sum += ((double)y[k] - x[at + k]) * ((double)y[k] - x[at + k]);
    }
    return sum;
}

static void make_tails(struct random_stream *s, int kind, float *x, size_t count) {
    for (size_t k = 0; k < count; k++) {
        float normal = random_normal(s);
        x[k] = kind == 0   ? normal
               : kind == 1 ? 2 * random_unit(s) - 1
               : kind == 2 ? normal * normal * normal
               : k == 0    ? 20 * normal /* all the same: every code fits, the rounding of d decides */
                           : x[0];
    }
}

/* Every binary16 as a scale: none may leave less than the quantiser does. */
Test(formats32_quantize, iq4_nl_finds_the_best_scale) {
    struct random_stream s = random_open(random_key("formats32/iq4_nl"), 0);
    int planted = 0;
    for (int i = 0; i < 40; i++) {
        float x[VALUES], largest = 0;
        make_tails(&s, i % 4, x, VALUES);
        for (int k = 0; k < VALUES; k++)
            largest = fmaxf(largest, fabsf(x[k]));
        double least = INFINITY;
        for (uint16_t h = 0; h < 0x7c00; h++) {
            double d = independent_half_value(h), ratio = largest / d;
            double ratio_least = i % 4 == 3 ? 0.9 : 50;          /* values all the same may take any code */
            if (i >= 2 && !(ratio > ratio_least && ratio < 400)) /* all scales for two blocks, then what can be best */
                continue;
            least = fmin(least, fmin(error_under(x, d), error_under(x, -d)));
        }
        double got = error_of("iq4_nl", x, VALUES);
        cr_assert(got <= (1 + 1e-9) * least, "block %d: error %g, the best scale leaves %g", i, got, least);
        planted += error_under(x, largest / 127.0) > (1 + 1e-9) * least; /* the largest value at the last code */
    }
    cr_assert(planted > 30, "planted: the scale of the largest value passed for the best one");
}

Test(formats32_quantize, iq4_xs_is_hardly_worse_than_iq4_nl) {
    struct random_stream s = random_open(random_key("formats32/iq4_xs"), 0);
    enum { COUNT = 256 * 24 };
    static float x[COUNT];
    static const double most[] = {0.0745, 0.0365, 0.36}; /* root mean square, of kinds whose sizes are 1, 0.58, 3.8 */
    for (int kind = 0; kind < 3; kind++) {
        make_tails(&s, kind, x, COUNT);
        double nl = sqrt(error_of("iq4_nl", x, COUNT) / COUNT), xs = sqrt(error_of("iq4_xs", x, COUNT) / COUNT);
        cr_assert(xs < 1.02 * nl && xs < most[kind], "kind %d: iq4_xs errs by %g, iq4_nl by %g", kind, xs, nl);
    }
}

Test(formats32_quantize, iq4_finds_blocks_that_are_already_its_own) {
    struct random_stream s = random_open(random_key("formats32/again"), 0);
    static const char *const names[] = {"iq4_nl", "iq4_xs"};
    for (int i = 0; i < 100; i++) {
        const struct block_format *f = format_named(names[i % 2]);
        uint8_t block[136];
        float x[256];
        for (size_t b = 0; b < f->block_bytes; b++)
            block[b] = random_u32(&s) & 255;
        block[1] = (block[1] & 0x83) | (0x04 + 4 * (i % 28)); /* normal, of any size */
        if (i % 2) { /* iq4_xs, sub-block 0: l = 0, the scale at the end of its range, which makes d certain */
            block[2] &= 0xfc;
            block[4] &= 0xf0;
        }
        f->dequantize(block, x);
        double squares = 0, error = error_of(f->name, x, f->block_values);
        for (size_t k = 0; k < f->block_values; k++)
            squares += (double)x[k] * x[k];
        cr_assert(!(error > 0), "%s block %d: error %g of %g", f->name, i, error, squares);
    }
}

Test(formats32_quantize, iq4_corners) {
    static const struct {
        const char *what;
        float even, odd;
        double within; /* of the larger of the two */
    } row[] = {
        {"zeros", 0, 0, 0},
        {"zeros of both signs", 0, -0.0f, 0},
        {"all the same", 3, 3, 0.001},
        {"all the same below zero", -3, -3, 0.001},
        {"both signs", -1, 1, 0.05},
        {"near the end of binary16", 6e6f, -6e6f, 0.15},
        {"beyond the range", FLT_MAX, -FLT_MAX, 1},
        {"infinities", INFINITY, -INFINITY, INFINITY},
        {"the least scale of binary16", 0x1p-24f, 0x1p-24f, 0},
        {"codes of the least scale", 13 * 0x1p-24f, -22 * 0x1p-24f, 0},
        {"below it", 0x1p-26f, 0, 1},
        {"f32 subnormals", 0x1p-140f, -0x1p-149f, 1},
    };
    for (size_t i = 0; i < 2 * sizeof row / sizeof *row; i++) {
        const struct block_format *f = format_named(i % 2 ? "iq4_xs" : "iq4_nl");
        float x[256], y[256];
        uint8_t block[136];
        for (int k = 0; k < 256; k++)
            x[k] = k % 2 ? row[i / 2].odd : row[i / 2].even;
        memset(block, 0xa5, sizeof block);
        f->quantize(x, block);
        f->dequantize(block, y);
        double size = fmax(fabs((double)row[i / 2].even), fabs((double)row[i / 2].odd));
        cr_assert((block[1] & 0x7c) != 0x7c, "%s of %s: d is not finite", f->name, row[i / 2].what);
        for (size_t k = 0; k < f->block_values; k++)
            cr_assert(isfinite(y[k]) && (isinf(size) || fabs((double)y[k] - x[k]) <= row[i / 2].within * size),
                      "%s of %s: value %zu is %g, not %g", f->name, row[i / 2].what, k, (double)y[k], (double)x[k]);
        if (size < 1e-300)
            cr_assert(block[0] == 0 && block[1] == 0 && !signbit(y[0]), "%s of zeros: d 0 and +0", f->name);
    }
    float x[256] = {NAN, 1, -NAN, -1}, without[256] = {0, 1, 0, -1};
    uint8_t block[136], other[136];
    format_named("iq4_xs")->quantize(x, block);
    format_named("iq4_xs")->quantize(without, other);
    cr_assert(!memcmp(block, other, sizeof block), "NaN must count as 0");
}
