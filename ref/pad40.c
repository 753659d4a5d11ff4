/* The pad40 quantiser. Every operation is f32, nearest even, subnormals kept, as a GPU does it:
 *
 *   amax = max |x|                          exact; a NaN loses against a number, NaN alone gives NaN   max.f32
 *   d    = rn(amax / 127)                                                                              div.rn.f32
 *   inv  = rn(1 / d), 0 if d = 0            from the d that is not yet rounded to f16                   rcp.rn.f32
 *   p    = rn(x * inv)                                                                                 mul.rn.f32
 *   q    = p to the nearest integer, ties to even, held to -128 .. 127; NaN gives 0                    cvt.rni.s32.f32
 *   d16  = d to binary16, ties to even; 65520 and more gives infinity, NaN gives 0x7fff                cvt.rn.f16.f32
 *   sum  = q[0] + ... + q[31]
 *
 * So the block is dequantised with another d (d16) than it was quantised with, and these corners follow:
 *   d <= 2^-128: 1/d is infinite; p is infinite for x != 0 (q = 127 or -128), NaN for x = 0 (q = 0); d16 = 0.
 *   amax = infinity: inv = 0, q = 0 for every x (0 * infinity is NaN), d16 = infinity.
 *   NaN among numbers: its own q is 0. Nothing but NaN: d16 = 0x7fff, all q = 0. */
#include "pad40.h"
#include "activation.h"
#include "amax.h"
#include "half.h"
#include "int8.h"
#include <string.h>

void pad40_quantize(const float in[32], struct block_pad40 *b) {
    float d = amax_of(in, PAD40_VALUES) / 127.0f;
    float inverse = d == 0 ? 0.0f : 1.0f / d;
    *b = (struct block_pad40){.d = half_from_float(d)};
    for (int k = 0; k < PAD40_VALUES; k++) {
        b->q[k] = int8_ties_even(in[k] * inverse);
        b->sum += b->q[k];
    }
}

void pad40_dequantize(const struct block_pad40 *b, float out[32]) {
    float d = half_to_float(b->d);
    for (int k = 0; k < PAD40_VALUES; k++)
        out[k] = d * b->q[k];
}

static void quantize(const float *in, void *block) {
    struct block_pad40 b;
    pad40_quantize(in, &b);
    memcpy(block, &b, sizeof b);
}

static void dequantize(const void *block, float *out) {
    struct block_pad40 b;
    memcpy(&b, block, sizeof b);
    pad40_dequantize(&b, out);
}

static void pack(const int8_t *q, const float *d, void *block) {
    struct block_pad40 b = {.d = half_from_float(*d)};
    for (int k = 0; k < PAD40_VALUES; k++)
        b.sum += b.q[k] = q[k];
    memcpy(block, &b, sizeof b);
}

static int32_t stored_sum(const void *block) {
    struct block_pad40 b;
    memcpy(&b, block, sizeof b);
    return b.sum;
}

const struct activation_format activation_pad40 = {
    .name = "pad40",
    .block_values = PAD40_VALUES,
    .block_bytes = PAD40_BYTES,
    .codes_at = offsetof(struct block_pad40, q),
    .codes_bytes = sizeof((struct block_pad40 *)0)->q,
    .quantize = quantize,
    .dequantize = dequantize,
    .pack = pack,
    .stored_sum = stored_sum,
};
