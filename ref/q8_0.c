/* q8_0: 32 values in 34 bytes, x = d * q, with d binary16 and q int8.
 * Source: ggml, `block_q8_0` of ggml-common.h and `quantize_row_q8_0_ref` of ggml-quants.c, bit for bit on finite
 * values:
 *   amax = max |x| ; d = rn(amax / 127) ; id = rn(1 / d), 0 if d = 0 ; q = rn(x * id) to the nearest integer, ties away
 *   from zero ; stored d = f16(d). All f32, nearest even.
 * Where x * id is not a number q is 0, where it leaves int8 q is the end of int8 (d so small that 1/d is infinite; ggml
 * leaves both undefined). */
#include "format.h"
#include "half.h"
#include "int8.h"
#include <assert.h>
#include <math.h>
#include <string.h>

enum { VALUES = 32 };

struct block_q8_0 {
    uint16_t d;
    int8_t q[VALUES];
};
static_assert(sizeof(struct block_q8_0) == 34, "q8_0 block is 34 bytes");
static_assert(offsetof(struct block_q8_0, q) == 2, "q8_0 quants");

static void quantize(const float *in, void *block) {
    float amax = 0;
    for (int k = 0; k < VALUES; k++)
        amax = fabsf(in[k]) > amax ? fabsf(in[k]) : amax;
    float d = amax / 127.0f, id = d != 0 ? 1.0f / d : 0.0f;
    struct block_q8_0 b = {.d = half_from_float(d)};
    for (int k = 0; k < VALUES; k++)
        b.q[k] = int8_ties_away(in[k] * id);
    memcpy(block, &b, sizeof b);
}

/* out = d * q, exact in f32 (11 + 8 bits). */
static void dequantize(const void *block, float *out) {
    struct block_q8_0 b;
    memcpy(&b, block, sizeof b);
    float d = half_to_float(b.d);
    for (int k = 0; k < VALUES; k++)
        out[k] = d * b.q[k];
}

static void unpack(const void *block, struct block_integers *out) {
    struct block_q8_0 b;
    memcpy(&b, block, sizeof b);
    *out = (struct block_integers){.d = half_to_float(b.d), .scale = {1}};
    memcpy(out->code, b.q, sizeof b.q);
}

static void pack(const struct block_integers *in, void *block) {
    struct block_q8_0 b = {.d = half_from_float(in->d)};
    memcpy(b.q, in->code, sizeof b.q);
    memcpy(block, &b, sizeof b);
}

const struct block_format format_q8_0 = {
    .name = "q8_0",
    .gguf_type = 8,
    .block_values = VALUES,
    .block_bytes = sizeof(struct block_q8_0),
    .codes_at = offsetof(struct block_q8_0, q),
    .codes_bytes = sizeof((struct block_q8_0 *)0)->q,
    .d = {offsetof(struct block_q8_0, d), 2},
    .dequantize = dequantize,
    .quantize = quantize,
    .sub_values = VALUES,
    .code_least = -128,
    .code_count = 256,
    .scale_least = 1,
    .scale_most = 1,
    .unpack = unpack,
    .pack = pack,
};
