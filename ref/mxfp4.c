/* mxfp4: 32 values in 17 bytes, a power of two and 32 numbers of the type E2M1 (4 bits).
 * Source: OCP Microscaling Formats (MX) 1.0, sections 5.3.3 and 5.4.1; ggml, `block_mxfp4` and `kvalues_mxfp4` of
 * ggml-common.h, `dequantize_row_mxfp4` and `quantize_row_mxfp4_ref` of ggml-quants.c, `ggml_e8m0_to_fp32_half` of
 * ggml-impl.h, bit for bit.
 *
 * x = 2^(e - 127) * E2M1 = d * code, with the integer code = 2 * E2M1 and d = 2^(e - 128), which is subnormal for
 * e = 0 and 1 (the byte e is the field d of the table). Where ggml leaves the standard, this file goes with ggml:
 *   - e = 255 is NaN in the standard; in ggml d is 2^127 there too;
 *   - nibble 8 is -0 in the standard and the integer 0 in ggml, hence +0.
 * From e = 253 on, d * code may lie beyond f32 and is infinite then.
 *
 * Quantised:  e = floor(log2f(max |x|)) + 125, at least 0 ; 0 for a block of zeros ; nibble = the first of 0 .. 15 with
 *             the least |rn(rn(code * d) - x)|, f32. So ties go to the smaller magnitude, and 8 is never written.
 *             log2f stands for the nearest f32 of the logarithm: just below a power of two it is that power's, and e is
 *             one more than the exponent of max |x|.
 * Outside it: below 2^-125 ggml converts a negative number to uint8 (undefined in C), here e = 0. Infinities count as
 *             the largest f32, NaN as 0. */
#include "format.h"
#include "half.h"
#include "nibbles.h"
#include <assert.h>
#include <float.h>
#include <math.h>
#include <string.h>

enum { VALUES = NIBBLES_VALUES, NIBBLES = 16, CODES = 15, F32_BIAS = 127, F32_FRACTION_BITS = 23 };

struct block_mxfp4 {
    uint8_t e;
    uint8_t qs[NIBBLES_BYTES];
};
static_assert(sizeof(struct block_mxfp4) == 17, "mxfp4 block is 17 bytes");
static_assert(offsetof(struct block_mxfp4, qs) == 1, "mxfp4 nibbles");

static const int8_t code_of_nibble[NIBBLES] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
static const int8_t code_list[CODES] = {-12, -8, -6, -4, -3, -2, -1, 0, 1, 2, 3, 4, 6, 8, 12};

/* 2^(e - 128), exact; the field of a normal binary32 is 127 more than its exponent. */
static float scale_of(uint8_t e) {
    if (e < 2)
        return bits_float(0x200000u << e);
    return bits_float((uint32_t)(e - 1) << F32_FRACTION_BITS);
}

/* out = rn(d * code), exact unless it overflows (2 bits, and never finer than 2^-128). */
static void dequantize(const void *block, float *out) {
    struct block_mxfp4 b;
    memcpy(&b, block, sizeof b);
    uint8_t n[VALUES];
    nibbles_get(b.qs, n);
    float d = scale_of(b.e);
    for (int k = 0; k < VALUES; k++)
        out[k] = d * code_of_nibble[n[k]];
}

/* The floor of the f32 nearest to log2 x, for finite x > 0: the exponent of x, or k = that + 1 where x is so little
 * below 2^k that its logarithm rounds to k. Let x = (1 - j * 2^-24) * 2^k. Then k - log2 x = j * 2^-24 / ln 2 (short of
 * j^2 * 2^-48), which rounds to k where it is at most half a step of f32 below k. The numbers there, from k - 1 to k,
 * have magnitudes of 2^p and more, 2^p <= max(k - 1, -k) < 2^(p + 1), and half a step of 2^(p - 24): so j <= 2^p *
 * ln 2. Below k = 0 and k = 1 every j shows. */
static int floor_log2(float x) {
    /* floor(2^p * ln 2), p = 0 .. 7 */
    static const uint8_t nearest_j[] = {0, 1, 2, 5, 11, 22, 44, 88};
    uint32_t bits = float_bits(x);
    int exponent = (int)(bits >> F32_FRACTION_BITS) - F32_BIAS;
    uint32_t significand = (bits & 0x7fffff) | 0x800000;
    if (exponent == -F32_BIAS) {
        significand = bits;
        for (exponent++; significand < 0x800000; exponent--)
            significand <<= 1;
    }
    int k = exponent + 1, size = k > 0 ? k - 1 : -k, p = -1;
    for (; size > 0; size >>= 1)
        p++;
    if (p >= 0 && 0x1000000 - significand <= nearest_j[p])
        return k;
    return exponent;
}

static uint8_t nearest_nibble(float x, float d) {
    uint8_t nearest = 0;
    float least = INFINITY;
    for (uint8_t n = 0; n < NIBBLES; n++) {
        float value = d * code_of_nibble[n], error = fabsf(value - x);
        if (error < least) {
            least = error;
            nearest = n;
        }
    }
    return nearest;
}

static void quantize(const float *in, void *block) {
    float x[VALUES], largest = 0;
    for (int k = 0; k < VALUES; k++) {
        x[k] = isnan(in[k]) ? 0 : in[k] > FLT_MAX ? FLT_MAX : in[k] < -FLT_MAX ? -FLT_MAX : in[k];
        largest = fabsf(x[k]) > largest ? fabsf(x[k]) : largest;
    }
    int e = largest > 0 ? floor_log2(largest) + F32_BIAS - 2 : 0; /* 4 of E2M1's largest, 6 = 1.5 * 2^2, is the 2 */
    struct block_mxfp4 b = {.e = (uint8_t)(e < 0 ? 0 : e)};
    uint8_t n[VALUES];
    for (int k = 0; k < VALUES; k++)
        n[k] = nearest_nibble(x[k], scale_of(b.e));
    nibbles_set(n, b.qs);
    memcpy(block, &b, sizeof b);
}

static void unpack(const void *block, struct block_integers *out) {
    struct block_mxfp4 b;
    memcpy(&b, block, sizeof b);
    uint8_t n[VALUES];
    nibbles_get(b.qs, n);
    *out = (struct block_integers){.d = scale_of(b.e), .scale = {1}};
    for (int k = 0; k < VALUES; k++)
        out->code[k] = code_of_nibble[n[k]];
}

/* Nibble 8 has no inverse: code 0 is nibble 0. */
static void pack(const struct block_integers *in, void *block) {
    uint32_t bits = float_bits(in->d);
    struct block_mxfp4 b = {.e = (uint8_t)(bits < 0x800000 ? bits >> 22 : (bits >> F32_FRACTION_BITS) + 1)};
    uint8_t n[VALUES] = {0};
    for (int k = 0; k < VALUES; k++)
        for (uint8_t i = 0; i < NIBBLES; i++)
            if (i != 8 && code_of_nibble[i] == in->code[k])
                n[k] = i;
    nibbles_set(n, b.qs);
    memcpy(block, &b, sizeof b);
}

const struct block_format format_mxfp4 = {
    .name = "mxfp4",
    .gguf_type = 39,
    .block_values = VALUES,
    .block_bytes = sizeof(struct block_mxfp4),
    .codes_at = offsetof(struct block_mxfp4, qs),
    .codes_bytes = sizeof((struct block_mxfp4 *)0)->qs,
    .d = {offsetof(struct block_mxfp4, e), 1},
    .dequantize = dequantize,
    .quantize = quantize,
    .sub_values = VALUES,
    .code_least = -12,
    .code_count = CODES,
    .code_list = code_list,
    .scale_least = 1,
    .scale_most = 1,
    .unpack = unpack,
    .pack = pack,
};
