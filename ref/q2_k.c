/* q2_K: 256 values in 84 bytes, sixteen sub-blocks of 16, each with a 4-bit scale and a 4-bit minimum.
 * Value k of sub-block s = k / 16 stands for d * scale[s] * n - dmin * min[s], n = 0 .. 3; d and dmin are binary16.
 *   byte s of scales   low half scale[s], high half min[s]
 *   qs                 two bits a value (k_two_bits)
 * Dequantised as k_values says. Source: ggml, `block_q2_K` of ggml-common.h, `dequantize_row_q2_K` of ggml-quants.c.
 * The quantiser is our own, see search.h. */
#include "half.h"
#include "k_quants.h"
#include "search.h"
#include <assert.h>
#include <string.h>

enum { SUB_BLOCKS = 16, SUB_VALUES = 16 };

struct block_q2_k {
    uint8_t scales[SUB_BLOCKS];
    uint8_t qs[64];
    uint16_t d, dmin;
};
static_assert(sizeof(struct block_q2_k) == 84, "q2_K block is 84 bytes");
static_assert(offsetof(struct block_q2_k, qs) == 16, "q2_K codes");
static_assert(offsetof(struct block_q2_k, d) == 80 && offsetof(struct block_q2_k, dmin) == 82, "q2_K d, dmin");

extern const struct block_format format_q2_k;

static void unpack(const void *block, struct block_integers *out) {
    struct block_q2_k b;
    memcpy(&b, block, sizeof b);
    *out = (struct block_integers){.d = half_to_float(b.d), .dmin = half_to_float(b.dmin)};
    for (int s = 0; s < SUB_BLOCKS; s++) {
        out->scale[s] = b.scales[s] & 15;
        out->min[s] = b.scales[s] >> 4;
    }
    for (unsigned k = 0; k < K_VALUES; k++)
        out->code[k] = (int8_t)k_two_bits(b.qs, k);
}

static void pack(const struct block_integers *in, void *block) {
    struct block_q2_k b = {.d = half_from_float(in->d), .dmin = half_from_float(in->dmin)};
    for (int s = 0; s < SUB_BLOCKS; s++)
        b.scales[s] = (uint8_t)(in->scale[s] | in->min[s] << 4);
    for (unsigned k = 0; k < K_VALUES; k++)
        k_put_two_bits(b.qs, k, (unsigned)in->code[k]);
    memcpy(block, &b, sizeof b);
}

static void dequantize(const void *block, float *out) {
    struct block_integers b;
    unpack(block, &b);
    k_values(&b, SUB_VALUES, out);
}

static void quantize(const float *in, void *block) {
    struct block_integers b;
    search_block(&format_q2_k, in, &b);
    pack(&b, block);
}

const struct block_format format_q2_k = {
    .name = "q2_K",
    .gguf_type = 10,
    .block_values = K_VALUES,
    .block_bytes = sizeof(struct block_q2_k),
    .codes_at = offsetof(struct block_q2_k, qs),
    .codes_bytes = sizeof((struct block_q2_k *)0)->qs,
    .d = {offsetof(struct block_q2_k, d), 2},
    .dmin = {offsetof(struct block_q2_k, dmin), 2},
    .dequantize = dequantize,
    .quantize = quantize,
    .searches = true,
    .sub_values = SUB_VALUES,
    .code_count = 4,
    .scale_most = 15,
    .min_most = 15,
    .unpack = unpack,
    .pack = pack,
};
