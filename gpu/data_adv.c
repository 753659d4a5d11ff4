/* Class adv: the corners of the formats, dense enough that a few rows hold them all, and sorted so that they do not
 * hide each other: f32 swallows a small term beside a huge one, so a row (token) keeps to one group of scales,
 * (row + salt) mod 4, where salt comes from the case:
 *
 *   HUGE   d, dmin up to +-65504          TINY   least, largest subnormal; least normal; negative subnormal
 *   ZERO   d = 0, dmin = 0, both (an all-zero block), -0 beside ordinary ones          PLAIN  ordinary, both signs
 *
 * q4_K   sub-block scales and minima run through all 64 values within any eight neighbouring blocks; nibbles are
 *        runs of 0 and 15, alternating, in halves, or random; one block of PLAIN has products that lie half-way
 *        between two binary16 numbers, less the least minimum
 * pad40  quants are runs of 127, -127 and -128 (which the quantiser never gives, but a dump may hold), alternating,
 *        in halves, 127 but for one (an odd sum), or random; the stored sum is the integer sum, -4096 .. 4064
 * f32    (input of a quantiser) see `f32_pattern`: ties, products rounded to ties, zeros of both signs, subnormals, the
 * ends of the f16 range of the scale, infinities and NaN */
#include "../ref/half.h"
#include "../ref/pad40.h"
#include "../ref/q4_k.h"
#include "data.h"
#include "data_f16.h"
#include <math.h>
#include <string.h>

enum group { HUGE_SCALES, TINY_SCALES, ZERO_SCALES, PLAIN_SCALES, GROUPS };
enum { PAIRS = 5 };

static const struct {
    uint16_t d, dmin;
} pairs[GROUPS][PAIRS] = {
    [HUGE_SCALES] = {{0x7bff, 0x7bff}, {0x7bff, 0x0001}, {0x0001, 0x7bff}, {0xfbff, 0x7bff}, {0x7bff, 0xfbff}},
    [TINY_SCALES] = {{0x0001, 0x0001}, {0x03ff, 0x0400}, {0x0400, 0x03ff}, {0x8001, 0x03ff}, {0x03ff, 0x8400}},
    [ZERO_SCALES] = {{0x0000, 0x2d55}, {0x2caa, 0x0000}, {0x0000, 0x0000}, {0x8000, 0x2c01}, {0x2fff, 0x8000}},
    [PLAIN_SCALES] = {{0x4801, 0x0001}, {0xa8cd, 0x2a66}, {0x2e66, 0xabff}, {0xafff, 0xa955}, {0x2955, 0x2fff}},
};

/* ---- q4_K ---- */

enum { NIBBLE_STYLES = 5 };

static uint8_t nibble_of(struct random_stream *s, size_t style, int k) {
    switch (style) {
    case 0:
        return 0;
    case 1:
        return 15;
    case 2:
        return k % 2 ? 15 : 0;
    case 3:
        return k / 16 ? 15 : 0;
    default:
        return (uint8_t)random_below(s, 16);
    }
}

/* With d = 1025 * 2^-7 and scale * nibble = 3 * 2^j the product is 3075 * 2^(j - 7), half-way between two binary16
 * numbers of which the upper one is even; the least dmin takes so little off it that only a sum that is not rounded to
 * nearest becomes the lower one. 0 where the scale has no such nibble. */
static uint8_t nibble_for_half(unsigned scale, int k) {
    const unsigned odd = scale == 0 ? 0 : scale >> __builtin_ctz(scale);
    return odd == 1 ? (uint8_t)(3u << (k % 3)) : odd == 3 ? (uint8_t)(1u << (k % 4)) : 0;
}

static void fill_q4_k(struct random_stream *s, size_t rows, size_t depth, void *bytes) {
    struct block_q4_k *b = bytes;
    const size_t salt = random_below(s, GROUPS), supers = depth / Q4_K_VALUES;
    for (size_t row = 0; row < rows; row++)
        for (size_t super = 0; super < supers; super++, b++) {
            const size_t group = (row + salt) % GROUPS, pair = (super + row / GROUPS) % PAIRS;
            memset(b, 0, sizeof *b);
            b->d = pairs[group][pair].d;
            b->dmin = pairs[group][pair].dmin;
            if (!b->d && !b->dmin)
                continue; /* all-zero block */
            uint8_t sc[Q4_K_SUB_BLOCKS], m[Q4_K_SUB_BLOCKS], n[Q4_K_SUB_VALUES];
            for (unsigned sub = 0; sub < Q4_K_SUB_BLOCKS; sub++) {
                const size_t i = (row * supers + super) * Q4_K_SUB_BLOCKS + sub;
                sc[sub] = i % 64;
                m[sub] = (37 * i + 63) % 64; /* 37 is odd: all 64 values, in another order */
                for (int k = 0; k < Q4_K_SUB_VALUES; k++) {
                    const uint8_t half = group == PLAIN_SCALES && pair == 0 ? nibble_for_half(sc[sub], k) : 0;
                    n[k] = half != 0 ? half : nibble_of(s, (row + super + sub) % NIBBLE_STYLES, k);
                }
                q4_k_set_nibbles(b, sub, n);
            }
            q4_k_pack_scales(sc, m, b->scales);
        }
}

/* ---- pad40 ---- */

enum { QUANT_STYLES = 7 };

static int8_t quant_of(struct random_stream *s, size_t style, int k) {
    switch (style) {
    case 0:
        return 127;
    case 1:
        return -127;
    case 2:
        return -128;
    case 3:
        return k % 2 ? -128 : 127;
    case 4:
        return k / 16 ? -127 : 127;
    case 5: /* a sum that is odd: binary16 holds no such number past 2048 */
        return k == 31 ? 126 : 127;
    default:
        return (int8_t)((int)random_below(s, 256) - 128);
    }
}

static void fill_pad40(struct random_stream *s, size_t rows, size_t depth, void *bytes) {
    struct block_pad40 *b = bytes;
    const size_t salt = random_below(s, GROUPS);
    for (size_t token = 0; token < rows; token++)
        for (size_t chunk = 0; chunk < depth / PAD40_VALUES; chunk++, b++) {
            const size_t group = (token + salt) % GROUPS, pair = (chunk + token / GROUPS) % PAIRS;
            *b = (struct block_pad40){.d = pairs[group][pair].d};
            if (!pairs[group][pair].d && !pairs[group][pair].dmin)
                continue; /* all-zero block */
            for (int k = 0; k < PAD40_VALUES; k++) {
                b->q[k] = quant_of(s, (token + chunk) % QUANT_STYLES, k);
                b->sum += b->q[k];
            }
        }
}

/* ---- f32 ---- */

enum f32_pattern {
    TIES,           /* largest 127 * 2^e, the others (n + 1/2) * 2^e: every quotient is exactly half-way; in half of the
                     * blocks it is rounded to half-way */
    SIGNED_ZEROS,   /* +0 and -0: the scale is 0 */
    SPIKE,          /* one value, the others far below half a step */
    SUBNORMAL,      /* d is subnormal or 0, 1/d mostly infinite */
    LEAST,          /* 2^-149 and zeros */
    SCALE_OVERFLOW, /* largest / 127 around 65520, where the stored scale becomes infinite */
    SCALE_TINY,     /* largest / 127 around 2^-25 and 2^-24, where the stored scale becomes 0 or subnormal */
    SCALE_TIE,      /* largest / 127 half-way between two binary16 numbers */
    LARGEST,        /* +-FLT_MAX */
    INFINITIES,     /* both, among ordinary values */
    NANS,           /* quiet and signalling, both signs, among ordinary values */
    ALL_NANS,
    F32_PATTERNS,
};

static uint32_t pick(struct random_stream *s, const uint32_t *list, uint32_t count) {
    return list[random_below(s, count)];
}
#define PICK(s, ...) pick(s, (const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}) / 4)

/* A step that is exact, as are 127 and (n + 1/2) of them, while rn(1 / ODD_STEP) is less than 1 / ODD_STEP: the product
 * of n + 1/2 steps with it is a little less than n + 1/2, and rounded to that. For odd n it then goes up to n + 1, and
 * would be n without the first rounding. */
#define ODD_STEP 0x1.8cp+0f

/* Bits of value k of a block. power: 2^e of the block, e -6 .. 6. */
static uint32_t f32_value(struct random_stream *s, enum f32_pattern pattern, size_t k, float power) {
    const float ordinary = random_normal(s) * power;
    const uint32_t sign = random_u32(s) & 0x80000000;
    switch (pattern) {
    case TIES: { /* both neighbours of every kind first: halves round to the even one */
        static const float first[] = {127, 0.5f, -0.5f, 1.5f, -1.5f, 126.5f, -126.5f, 2.5f};
        float tie = k < 8 ? first[k] : (float)random_below(s, 253) - 125.5f;
        if (power < 1) { /* near halves, by products that are rounded */
            const int n = (int)fabsf(tie) < 126 ? (int)fabsf(tie) | 1 : 125;
            const float steps = k == 0 ? 127 : (float)n + 0.5f;
            return float_bits(steps * ODD_STEP * power) ^ sign;
        }
        return float_bits(tie * power);
    }
    case SIGNED_ZEROS:
        return sign;
    case SPIKE:
        return k == 5 ? float_bits(127 * power) ^ sign : float_bits(ordinary * 0x1p-10f);
    case SUBNORMAL: /* or, in half of the blocks, just so large that 1/d is finite while d is still subnormal */
        return sign | random_below(s, power < 1 ? 0x00800000 : 0x04000000);
    case LEAST:
        return sign | random_below(s, 2);
    case SCALE_OVERFLOW: /* 127 times 65504, 127 * 65520 (the first to overflow) and its neighbours */
        return k ? float_bits(ordinary) : PICK(s, 0x4afde040, 0x4afdf01f, 0x4afdf020, 0x4afdf021) ^ sign;
    case SCALE_TINY: /* 127 * 2^-25 (tie with 0), its neighbours, 127 * 2^-24, 127 * 1.5 * 2^-24 (tie) */
        return k ? float_bits(ordinary * 0x1p-26f)
                 : PICK(s, 0x367e0000, 0x367dffff, 0x367e0001, 0x36fe0000, 0x373e8000);
    case SCALE_TIE: { /* 1 + odd / 2048 lies between two binary16 numbers, and 127 times it is exact */
        float tie = 1 + (float)(2 * random_below(s, 1024) + 1) * 0x1p-11f;
        return k ? float_bits(ordinary) : float_bits(127 * tie * power) ^ sign;
    }
    case LARGEST:
        return k % 5 ? float_bits(random_normal(s) * 0x1p124f) : 0x7f7fffff ^ sign;
    case INFINITIES:
        return k % 7 == 3 ? 0x7f800000 ^ sign : k % 7 == 5 ? sign : float_bits(ordinary);
    case NANS:
        return k % 9 == 4 ? PICK(s, 0x7fc00000, 0x7f800001, 0x7fffffff) ^ sign : float_bits(ordinary);
    default:
        return PICK(s, 0x7fc00000, 0x7f800001, 0x7fffffff) ^ sign;
    }
}

static void fill_f32(struct random_stream *s, size_t rows, size_t depth, void *bytes) {
    uint32_t *x = bytes; /* by the bits: a float variable may quieten a signalling NaN */
    const size_t salt = random_below(s, F32_PATTERNS), blocks = (depth + 31) / 32;
    for (size_t row = 0; row < rows; row++)
        for (size_t block = 0; block < blocks; block++) {
            const enum f32_pattern pattern = (row * blocks + block + salt) % F32_PATTERNS;
            const float power = bits_float((121 + random_below(s, 13)) << 23);
            for (size_t k = 0; k < 32 && block * 32 + k < depth; k++)
                *x++ = f32_value(s, pattern, k, power);
        }
}

const struct data_filler data_adv[] = {
    {"q4_K", fill_q4_k}, {"pad40", fill_pad40}, {"f32", fill_f32}, {"f16", data_f16_adv}, {0}};
