/* The q8_1_mmq blocks and their quantiser: llama.cpp's `quantize_mmq_q8_1` of ggml-cuda/quantize.cu at d99724f2, as
 * nvcc 13.0 compiles it with -use_fast_math; measured on an H200 for DS4. f32, nearest even, every operation .ftz. One
 * lane has four values x0 .. x3; a scale serves 32 values (8 lanes), of d2s6 64 (16 lanes).
 *
 *   amax  = max |x| of the scale's values                                  abs.ftz, max.ftz
 *   d_inv = div.approx(127, amax) ; d = rcp.approx(d_inv)                  rcp_approx.h: not amax / 127
 *   v     = x * d_inv                                                      mul.ftz
 *   q     = v to the nearest integer, ties away from zero; low byte of the int32
 *   sum   = ((x0 + x1) + x2) + x3, then over lanes i xor 4, 2, 1 (ds4: 32 values) or i xor 2, 1 (d2s6: 16)   add.ftz
 *   stored: d as f32 (d4) or f16(d) ; f16(sum)
 *
 * Corners: amax < 2^-126 counts as 0, and then d_inv is infinite, v NaN, q 0, d 0. d_inv overflows for amax below about
 * 127 * 2^-128: q is -1 for x > 0 and 0 otherwise, d 0. amax > 2^126: d_inv 0, q 0, d infinite. NaN among numbers: its
 * own q is 0, its sum NaN. Nothing but NaN: d is NaN (0x7fffffff, 0x7fff), q 0. */
#include "q8_1_mmq.h"
#include "activation.h"
#include "checked.h"
#include "half.h"
#include "q8_1_gpu.h"
#include "rcp_approx.h"
#include <string.h>

/* q[0 .. count - 1] of the values that share a scale. The result is their d. */
static float quantize_scale(const float *in, size_t count, int8_t *q) {
    float d_inv = div_approx_ftz(127.0f, q8_1_gpu_amax(in, count));
    for (size_t k = 0; k < count; k++)
        q[k] = q8_1_gpu_code(ftz_mul(in[k], d_inv));
    return rcp_approx_ftz(d_inv);
}

/* The sum of `count` values (16 or 32) as lanes of four values take it. */
static float sum_of(const float *in, size_t count) {
    float lane[8];
    for (size_t i = 0; i < count / 4; i++)
        lane[i] = ftz_add(ftz_add(ftz_add(in[4 * i], in[4 * i + 1]), in[4 * i + 2]), in[4 * i + 3]);
    return q8_1_gpu_sum(lane, count / 4);
}

void q8_1_mmq_d4_quantize(const float in[128], struct block_q8_1_mmq *b) {
    for (size_t i = 0; i < 4; i++)
        b->d4[i] = quantize_scale(in + 32 * i, 32, b->q + 32 * i);
}

void q8_1_mmq_ds4_quantize(const float in[128], struct block_q8_1_mmq *b) {
    for (size_t i = 0; i < 4; i++) {
        b->ds4[i].d = half_from_float(quantize_scale(in + 32 * i, 32, b->q + 32 * i));
        b->ds4[i].s = half_from_float(sum_of(in + 32 * i, 32));
    }
}

void q8_1_mmq_d2s6_quantize(const float in[128], struct block_q8_1_mmq *b) {
    for (size_t i = 0; i < 2; i++)
        b->d2s6.d[i] = half_from_float(quantize_scale(in + 64 * i, 64, b->q + 64 * i));
    for (size_t i = 0; i < 6; i++)
        b->d2s6.s[i] = half_from_float(sum_of(in + 16 * i, 16));
}

float q8_1_mmq_d4_scale(const struct block_q8_1_mmq *b, size_t k) {
    return b->d4[k / 32];
}
float q8_1_mmq_ds4_scale(const struct block_q8_1_mmq *b, size_t k) {
    return half_to_float(b->ds4[k / 32].d);
}
float q8_1_mmq_d2s6_scale(const struct block_q8_1_mmq *b, size_t k) {
    return half_to_float(b->d2s6.d[k / 64]);
}

static int sum_of_codes(const int8_t *q, size_t count) {
    int sum = 0;
    for (size_t k = 0; k < count; k++)
        sum += q[k];
    return sum;
}

static void pack_d4(const int8_t *q, const float *d, struct block_q8_1_mmq *b) {
    (void)q;
    memcpy(b->d4, d, sizeof b->d4);
}
/* d * sum is exact in f32 (11 + 13 bits) before it is rounded to s. */
static void pack_ds4(const int8_t *q, const float *d, struct block_q8_1_mmq *b) {
    for (size_t i = 0; i < 4; i++) {
        b->ds4[i].d = half_from_float(d[i]);
        b->ds4[i].s = half_from_float(d[i] * (float)sum_of_codes(q + 32 * i, 32));
    }
}
static void pack_d2s6(const int8_t *q, const float *d, struct block_q8_1_mmq *b) {
    for (size_t i = 0; i < 2; i++)
        b->d2s6.d[i] = half_from_float(d[2 * i]);
    for (size_t i = 0; i < 6; i++)
        b->d2s6.s[i] = half_from_float(d[i / 4 * 2] * (float)sum_of_codes(q + 16 * i, 16));
}

static bool buffer_bytes(size_t nt, size_t id, size_t *bytes) {
    size_t blocks;
    return size_mul(nt, id / Q8_1_MMQ_VALUES, &blocks) && size_mul(blocks, Q8_1_MMQ_BYTES, bytes);
}

static void get(const void *buffer, size_t nt, size_t id, size_t token, size_t index, void *block) {
    (void)id;
    memcpy(block, (const uint8_t *)buffer + (index * nt + token) * Q8_1_MMQ_BYTES, Q8_1_MMQ_BYTES);
}

static void put(void *buffer, size_t nt, size_t id, size_t token, size_t index, const void *block) {
    (void)id;
    memcpy((uint8_t *)buffer + (index * nt + token) * Q8_1_MMQ_BYTES, block, Q8_1_MMQ_BYTES);
}

/* ---- the three kinds over bytes ---- */

typedef void quantizer(const float in[128], struct block_q8_1_mmq *b);
typedef float scaler(const struct block_q8_1_mmq *b, size_t k);
typedef void packer(const int8_t *q, const float *d, struct block_q8_1_mmq *b);

static void quantize(quantizer *quantizer, const float *in, void *block) {
    struct block_q8_1_mmq b;
    quantizer(in, &b);
    memcpy(block, &b, sizeof b);
}
/* out[k] = d * q[k], exact in f32 where d is a binary16, rounded once where it is an f32. */
static void dequantize(scaler *scale, const void *block, float *out) {
    struct block_q8_1_mmq b;
    memcpy(&b, block, sizeof b);
    for (size_t k = 0; k < Q8_1_MMQ_VALUES; k++)
        out[k] = scale(&b, k) * b.q[k];
}
static void pack(packer *scales, const int8_t *q, const float *d, void *block) {
    struct block_q8_1_mmq b;
    memcpy(b.q, q, sizeof b.q);
    scales(q, d, &b);
    memcpy(block, &b, sizeof b);
}

static void d4_quantize(const float *in, void *block) {
    quantize(q8_1_mmq_d4_quantize, in, block);
}
static void d4_dequantize(const void *block, float *out) {
    dequantize(q8_1_mmq_d4_scale, block, out);
}
static void d4_pack(const int8_t *q, const float *d, void *block) {
    pack(pack_d4, q, d, block);
}
static void ds4_quantize(const float *in, void *block) {
    quantize(q8_1_mmq_ds4_quantize, in, block);
}
static void ds4_dequantize(const void *block, float *out) {
    dequantize(q8_1_mmq_ds4_scale, block, out);
}
static void ds4_pack(const int8_t *q, const float *d, void *block) {
    pack(pack_ds4, q, d, block);
}
static void d2s6_quantize(const float *in, void *block) {
    quantize(q8_1_mmq_d2s6_quantize, in, block);
}
static void d2s6_dequantize(const void *block, float *out) {
    dequantize(q8_1_mmq_d2s6_scale, block, out);
}
static void d2s6_pack(const int8_t *q, const float *d, void *block) {
    pack(pack_d2s6, q, d, block);
}

const struct activation_format activation_q8_1_mmq_d4 = {
    .name = "q8_1_mmq_d4",
    .block_values = Q8_1_MMQ_VALUES,
    .block_bytes = Q8_1_MMQ_BYTES,
    .codes_at = offsetof(struct block_q8_1_mmq, q),
    .codes_bytes = sizeof((struct block_q8_1_mmq *)0)->q,
    .quantize = d4_quantize,
    .dequantize = d4_dequantize,
    .pack = d4_pack,
    .rcp_table = true,
    .buffer_bytes = buffer_bytes,
    .get = get,
    .put = put,
};

const struct activation_format activation_q8_1_mmq_ds4 = {
    .name = "q8_1_mmq_ds4",
    .block_values = Q8_1_MMQ_VALUES,
    .block_bytes = Q8_1_MMQ_BYTES,
    .codes_at = offsetof(struct block_q8_1_mmq, q),
    .codes_bytes = sizeof((struct block_q8_1_mmq *)0)->q,
    .quantize = ds4_quantize,
    .dequantize = ds4_dequantize,
    .pack = ds4_pack,
    .rcp_table = true,
    .buffer_bytes = buffer_bytes,
    .get = get,
    .put = put,
};

const struct activation_format activation_q8_1_mmq_d2s6 = {
    .name = "q8_1_mmq_d2s6",
    .block_values = Q8_1_MMQ_VALUES,
    .block_bytes = Q8_1_MMQ_BYTES,
    .codes_at = offsetof(struct block_q8_1_mmq, q),
    .codes_bytes = sizeof((struct block_q8_1_mmq *)0)->q,
    .quantize = d2s6_quantize,
    .dequantize = d2s6_dequantize,
    .pack = d2s6_pack,
    .rcp_table = true,
    .buffer_bytes = buffer_bytes,
    .get = get,
    .put = put,
};
