/* q5_1: 32 values in 24 bytes, x = d * n + m, with d and m binary16 and n = 0 .. 31.
 * Source: ggml, `block_q5_1` of ggml-common.h, `dequantize_row_q5_1` and `quantize_row_q5_1_ref` of ggml-quants.c,
 * bit for bit on finite values.
 *
 * Quantised:  min, max = the first of the least and of the largest x ; d = rn(rn(max - min) / 31) ;
 *             id = rn(1 / d), 0 if d = 0 ; n = rn(rn(rn(x - min) * id) + 0.5) cut to an integer, at most 31 ; stored
 *             f16(d) and f16(min). All f32, nearest even. Never fused: just below
 *             x - min = d / 2 an fma goes to 0 where the two roundings go to 1.
 * Outside it: where ggml converts what is no integer (undefined in C), n is 0 for a NaN and else the end of its range.
 *             That is NaN or infinite input, max - min beyond f32, and max - min below 31 * 2^-128, where 1 / d is
 *             infinite and the stored d is 0. NaN takes no part in min and max; a block of NaN alone is all zeros.
 *             d and |min| >= 65520 are stored as infinity, as in ggml.
 * As integers: dmin = -m, and every minimum is 1. The field dmin of the table is where m lies; its sign is m's. */
#include "format.h"
#include "half.h"
#include "nibbles.h"
#include <assert.h>
#include <string.h>

enum { VALUES = NIBBLES_VALUES, MOST = 31 };

struct block_q5_1 {
    uint16_t d, m;
    uint8_t high[4]; /* the fifth bits */
    uint8_t qs[NIBBLES_BYTES];
};
static_assert(sizeof(struct block_q5_1) == 24, "q5_1 block is 24 bytes");
static_assert(offsetof(struct block_q5_1, m) == 2, "q5_1 minimum");
static_assert(offsetof(struct block_q5_1, high) == 4, "q5_1 fifth bits");
static_assert(offsetof(struct block_q5_1, qs) == 8, "q5_1 nibbles");

static void codes(const struct block_q5_1 *b, uint8_t n[VALUES]) {
    uint32_t high;
    memcpy(&high, b->high, sizeof high);
    five_bits_get(b->qs, high, n);
}

static void set_codes(struct block_q5_1 *b, const uint8_t n[VALUES]) {
    uint32_t high;
    five_bits_set(n, b->qs, &high);
    memcpy(b->high, &high, sizeof high);
}

/* out = rn(d * n + m): the product is exact in f32 (11 + 5 bits), so the sum is the only rounding. */
static void dequantize(const void *block, float *out) {
    struct block_q5_1 b;
    memcpy(&b, block, sizeof b);
    uint8_t n[VALUES];
    codes(&b, n);
    float d = half_to_float(b.d), m = half_to_float(b.m);
    for (int k = 0; k < VALUES; k++) {
        float product = d * (float)n[k];
        out[k] = product + m;
    }
}

static void quantize(const float *in, void *block) {
    float d, min;
    uint8_t n[VALUES];
    codes_above_min(in, MOST, &d, &min, n);
    struct block_q5_1 b = {.d = half_from_float(d), .m = half_from_float(min)};
    set_codes(&b, n);
    memcpy(block, &b, sizeof b);
}

static void unpack(const void *block, struct block_integers *out) {
    struct block_q5_1 b;
    memcpy(&b, block, sizeof b);
    uint8_t n[VALUES];
    codes(&b, n);
    *out = (struct block_integers){.d = half_to_float(b.d), .dmin = -half_to_float(b.m), .scale = {1}, .min = {1}};
    for (int k = 0; k < VALUES; k++)
        out->code[k] = (int8_t)n[k];
}

static void pack(const struct block_integers *in, void *block) {
    struct block_q5_1 b = {.d = half_from_float(in->d), .m = half_from_float(-in->dmin)};
    uint8_t n[VALUES];
    for (int k = 0; k < VALUES; k++)
        n[k] = (uint8_t)in->code[k];
    set_codes(&b, n);
    memcpy(block, &b, sizeof b);
}

const struct block_format format_q5_1 = {
    .name = "q5_1",
    .gguf_type = 7,
    .block_values = VALUES,
    .block_bytes = sizeof(struct block_q5_1),
    .codes_at = offsetof(struct block_q5_1, high),
    .codes_bytes = sizeof((struct block_q5_1 *)0)->high + sizeof((struct block_q5_1 *)0)->qs,
    .d = {offsetof(struct block_q5_1, d), 2},
    .dmin = {offsetof(struct block_q5_1, m), 2},
    .dequantize = dequantize,
    .quantize = quantize,
    .sub_values = VALUES,
    .code_count = MOST + 1,
    .scale_least = 1,
    .scale_most = 1,
    .min_most = 1,
    .unpack = unpack,
    .pack = pack,
};
