/* The quantisers of q8_1. All f32, nearest even.
 *
 * q8_1 (ggml's for the CPU, `quantize_row_q8_1_ref` of ggml-quants.c, bit for bit on finite values); subnormals kept:
 *   amax = max |x| ; d = rn(amax / 127) ; id = rn(1 / d), 0 if d = 0
 *   q    = rn(x * id) to the nearest integer, ties away from zero
 *   stored d = f16(d), s = f16(rn(d * sum of q))                          with the d that is not yet rounded to f16
 * Where x * id is not a number q is 0, where it leaves int8 q is the end of int8 (d so small that 1/d is infinite; ggml
 * leaves both undefined).
 *
 * q8_1_cuda (llama.cpp's for the GPU's matrix-vector kernels, `quantize_q8_1` of ggml-cuda/quantize.cu at d99724f2 as
 * nvcc 13.0 compiles it with -use_fast_math); every operation .ftz, one lane a value:
 *   amax = max |x|                                                          abs.ftz, max.ftz
 *   sum  = x added up by butterflies over lanes i xor 16, 8, 4, 2, 1        add.ftz
 *   d    = div.approx(amax, 127)                                            rcp_approx.h
 *   q    = 0 if amax = 0, else div.approx(x, d) to the nearest integer, ties away from zero; low byte of the int32
 *   stored d = f16(d), s = f16(sum)                                         of the values, not of what the quants say
 * Its corners: d < 2^-126 counts as 0, and then q is -1 for x > 0 and 0 otherwise, d 0. amax infinite: every q is 0, d
 * infinite. NaN among numbers: its own q is 0, s is NaN. Nothing but NaN: d and s 0x7fff, q 0. */
#include "q8_1.h"
#include "activation.h"
#include "half.h"
#include "int8.h"
#include "q8_1_gpu.h"
#include "rcp_approx.h"
#include <math.h>
#include <string.h>

void q8_1_quantize(const float in[32], struct block_q8_1 *b) {
    float amax = 0;
    for (int k = 0; k < Q8_1_VALUES; k++)
        amax = fabsf(in[k]) > amax ? fabsf(in[k]) : amax;
    float d = amax / 127.0f, id = d != 0 ? 1.0f / d : 0.0f;
    int sum = 0;
    for (int k = 0; k < Q8_1_VALUES; k++)
        sum += b->q[k] = int8_ties_away(in[k] * id);
    b->d = half_from_float(d);
    b->s = half_from_float((float)sum * d);
}

void q8_1_cuda_quantize(const float in[32], struct block_q8_1 *b) {
    float amax = q8_1_gpu_amax(in, Q8_1_VALUES), d = div_approx_ftz(amax, 127.0f);
    float lane[Q8_1_VALUES];
    memcpy(lane, in, sizeof lane);
    b->d = half_from_float(d);
    b->s = half_from_float(q8_1_gpu_sum(lane, Q8_1_VALUES));
    for (int k = 0; k < Q8_1_VALUES; k++)
        b->q[k] = amax == 0 ? 0 : q8_1_gpu_code(div_approx_ftz(in[k], d));
}

double q8_1_stored_sum(const void *block, size_t i) {
    struct block_q8_1 b;
    (void)i;
    memcpy(&b, block, sizeof b);
    return half_to_float(b.s);
}

void q8_1_dequantize(const struct block_q8_1 *b, float out[32]) {
    float d = half_to_float(b->d);
    for (int k = 0; k < Q8_1_VALUES; k++)
        out[k] = d * b->q[k];
}

static void quantize(const float *in, void *block) {
    struct block_q8_1 b;
    q8_1_quantize(in, &b);
    memcpy(block, &b, sizeof b);
}

static void quantize_cuda(const float *in, void *block) {
    struct block_q8_1 b;
    q8_1_cuda_quantize(in, &b);
    memcpy(block, &b, sizeof b);
}

static void dequantize(const void *block, float *out) {
    struct block_q8_1 b;
    memcpy(&b, block, sizeof b);
    q8_1_dequantize(&b, out);
}

/* d * sum is exact in f32 (11 + 13 bits) before it is rounded to s. */
static void pack(const int8_t *q, const float *d, void *block) {
    struct block_q8_1 b = {.d = half_from_float(*d)};
    int sum = 0;
    for (int k = 0; k < Q8_1_VALUES; k++)
        sum += b.q[k] = q[k];
    b.s = half_from_float(*d * (float)sum);
    memcpy(block, &b, sizeof b);
}

const struct activation_format activation_q8_1 = {
    .name = "q8_1",
    .block_values = Q8_1_VALUES,
    .block_bytes = Q8_1_BYTES,
    .codes_at = offsetof(struct block_q8_1, q),
    .codes_bytes = sizeof((struct block_q8_1 *)0)->q,
    .quantize = quantize,
    .dequantize = dequantize,
    .pack = pack,
};

const struct activation_format activation_q8_1_cuda = {
    .name = "q8_1_cuda",
    .block_values = Q8_1_VALUES,
    .block_bytes = Q8_1_BYTES,
    .codes_at = offsetof(struct block_q8_1, q),
    .codes_bytes = sizeof((struct block_q8_1 *)0)->q,
    .quantize = quantize_cuda,
    .dequantize = dequantize,
    .pack = pack,
    .rcp_table = true,
};
