/* q3_K: 256 values in 110 bytes, sixteen sub-blocks of 16, each with a 6-bit scale; no minima.
 * Value k of sub-block s = k / 16 stands for d * (c - 32) * (n - 4) with c = 0 .. 63 and n = 0 .. 7; d is binary16.
 *   hmask    the top bit of n (k_one_bit): where it is 0, 4 is subtracted
 *   qs       the low two bits of n (k_two_bits)
 *   scales   low half of c[s]: byte s % 8, its low half for s < 8, its high half for s >= 8;
 *            top two bits of c[s]: byte 8 + s % 4, bits 2 * (s / 4) and the next
 * Dequantised as k_values says. Source: ggml, `block_q3_K` of ggml-common.h, `dequantize_row_q3_K` of ggml-quants.c.
 * The quantiser is our own, see search.h. */
#include "half.h"
#include "k_quants.h"
#include "search.h"
#include <assert.h>
#include <string.h>

enum { SUB_BLOCKS = 16, SUB_VALUES = 16, SCALE_OFFSET = 32, CODE_OFFSET = 4 };

struct block_q3_k {
    uint8_t hmask[32];
    uint8_t qs[64];
    uint8_t scales[12];
    uint16_t d;
};
static_assert(sizeof(struct block_q3_k) == 110, "q3_K block is 110 bytes");
static_assert(offsetof(struct block_q3_k, qs) == 32, "q3_K codes");
static_assert(offsetof(struct block_q3_k, scales) == 96 && offsetof(struct block_q3_k, d) == 108, "q3_K scales, d");

extern const struct block_format format_q3_k;

static void unpack(const void *block, struct block_integers *out) {
    struct block_q3_k b;
    memcpy(&b, block, sizeof b);
    *out = (struct block_integers){.d = half_to_float(b.d)};
    for (int s = 0; s < SUB_BLOCKS; s++) {
        int low = b.scales[s % 8] >> 4 * (s / 8) & 15, high = b.scales[8 + s % 4] >> 2 * (s / 4) & 3;
        out->scale[s] = (int16_t)((low | high << 4) - SCALE_OFFSET);
    }
    for (unsigned k = 0; k < K_VALUES; k++)
        out->code[k] = (int8_t)((int)(k_two_bits(b.qs, k) | k_one_bit(b.hmask, k) << 2) - CODE_OFFSET);
}

static void pack(const struct block_integers *in, void *block) {
    struct block_q3_k b = {.d = half_from_float(in->d)};
    for (int s = 0; s < SUB_BLOCKS; s++) {
        int c = in->scale[s] + SCALE_OFFSET;
        b.scales[s % 8] = (uint8_t)(b.scales[s % 8] | (c & 15) << 4 * (s / 8));
        b.scales[8 + s % 4] = (uint8_t)(b.scales[8 + s % 4] | c >> 4 << 2 * (s / 4));
    }
    for (unsigned k = 0; k < K_VALUES; k++) {
        unsigned n = (unsigned)(in->code[k] + CODE_OFFSET);
        k_put_two_bits(b.qs, k, n & 3);
        k_put_one_bit(b.hmask, k, n >> 2);
    }
    memcpy(block, &b, sizeof b);
}

static void dequantize(const void *block, float *out) {
    struct block_integers b;
    unpack(block, &b);
    k_values(&b, SUB_VALUES, out);
}

static void quantize(const float *in, void *block) {
    struct block_integers b;
    search_block(&format_q3_k, in, &b);
    pack(&b, block);
}

const struct block_format format_q3_k = {
    .name = "q3_K",
    .gguf_type = 11,
    .block_values = K_VALUES,
    .block_bytes = sizeof(struct block_q3_k),
    .codes_at = offsetof(struct block_q3_k, hmask),
    .codes_bytes = offsetof(struct block_q3_k, scales),
    .d = {offsetof(struct block_q3_k, d), 2},
    .dequantize = dequantize,
    .quantize = quantize,
    .searches = true,
    .sub_values = SUB_VALUES,
    .code_least = -CODE_OFFSET,
    .code_count = 8,
    .scale_least = -SCALE_OFFSET,
    .scale_most = 31,
    .unpack = unpack,
    .pack = pack,
};
