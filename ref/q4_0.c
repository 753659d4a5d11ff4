/* q4_0: 32 values in 18 bytes, x = d * (n - 8), with d binary16 and n = 0 .. 15.
 * Source: ggml, `block_q4_0` of ggml-common.h, `dequantize_row_q4_0` and `quantize_row_q4_0_ref` of ggml-quants.c,
 * bit for bit on finite values.
 *
 * Quantised:  max = the first x of the largest |x|, with its sign ; d = rn(max / -8) ; id = rn(1 / d), 0 if d = 0 ;
 *             n = rn(rn(x * id) + 8.5) cut to an integer, at most 15 ; stored d = f16(d). All f32, nearest even, and
 *             never fused: with an fma the product goes unrounded and n differs by one at near ties.
 *             max always has the code -8, so d has the opposite sign of max; a block of zeros has d = -0.
 * Outside it: where ggml converts what has no int8 (undefined in C), n is 8 for a NaN and else the end of its range.
 *             That is NaN or infinite input, and |max| below 8 * 2^-128, where 1 / d is infinite and the stored d is 0.
 *             |d| >= 65520 is stored as infinity, as in ggml. */
#include "format.h"
#include "half.h"
#include "nibbles.h"
#include <assert.h>
#include <string.h>

enum { VALUES = NIBBLES_VALUES, OFFSET = 8, MOST = 15 };

struct block_q4_0 {
    uint16_t d;
    uint8_t qs[NIBBLES_BYTES];
};
static_assert(sizeof(struct block_q4_0) == 18, "q4_0 block is 18 bytes");
static_assert(offsetof(struct block_q4_0, qs) == 2, "q4_0 nibbles");

static void codes(const struct block_q4_0 *b, uint8_t n[VALUES]) {
    nibbles_get(b->qs, n);
}

static void set_codes(struct block_q4_0 *b, const uint8_t n[VALUES]) {
    nibbles_set(n, b->qs);
}

/* out = d * (n - 8), exact in f32 (11 + 4 bits). */
static void dequantize(const void *block, float *out) {
    struct block_q4_0 b;
    memcpy(&b, block, sizeof b);
    uint8_t n[VALUES];
    codes(&b, n);
    float d = half_to_float(b.d);
    for (int k = 0; k < VALUES; k++)
        out[k] = d * (float)(n[k] - OFFSET);
}

static void quantize(const float *in, void *block) {
    float d;
    uint8_t n[VALUES];
    codes_around_zero(in, OFFSET, &d, n);
    struct block_q4_0 b = {.d = half_from_float(d)};
    set_codes(&b, n);
    memcpy(block, &b, sizeof b);
}

static void unpack(const void *block, struct block_integers *out) {
    struct block_q4_0 b;
    memcpy(&b, block, sizeof b);
    uint8_t n[VALUES];
    codes(&b, n);
    *out = (struct block_integers){.d = half_to_float(b.d), .scale = {1}};
    for (int k = 0; k < VALUES; k++)
        out->code[k] = (int8_t)(n[k] - OFFSET);
}

static void pack(const struct block_integers *in, void *block) {
    struct block_q4_0 b = {.d = half_from_float(in->d)};
    uint8_t n[VALUES];
    for (int k = 0; k < VALUES; k++)
        n[k] = (uint8_t)(in->code[k] + OFFSET);
    set_codes(&b, n);
    memcpy(block, &b, sizeof b);
}

const struct block_format format_q4_0 = {
    .name = "q4_0",
    .gguf_type = 2,
    .block_values = VALUES,
    .block_bytes = sizeof(struct block_q4_0),
    .codes_at = offsetof(struct block_q4_0, qs),
    .codes_bytes = sizeof((struct block_q4_0 *)0)->qs,
    .d = {offsetof(struct block_q4_0, d), 2},
    .dequantize = dequantize,
    .quantize = quantize,
    .sub_values = VALUES,
    .code_least = -OFFSET,
    .code_count = MOST + 1,
    .scale_least = 1,
    .scale_most = 1,
    .unpack = unpack,
    .pack = pack,
};
