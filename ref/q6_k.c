/* q6_K: 256 values in 210 bytes, sixteen sub-blocks of 16, each with an 8-bit signed scale; no minima.
 * Value k of sub-block s = k / 16 stands for d * scale[s] * (n - 32), n = 0 .. 63; d is binary16.
 *   ql   the low four bits of n: byte 64 * (k / 128) + k % 64, the low half for even k / 64, else the high half
 *   qh   the top two bits of n (k_two_bits)
 * Dequantised as k_values says. Source: ggml, `block_q6_K` of ggml-common.h, `dequantize_row_q6_K` of ggml-quants.c.
 * The quantiser is our own, see search.h. */
#include "half.h"
#include "k_quants.h"
#include "search.h"
#include <assert.h>
#include <string.h>

enum { SUB_BLOCKS = 16, SUB_VALUES = 16, CODE_OFFSET = 32 };

struct block_q6_k {
    uint8_t ql[128];
    uint8_t qh[64];
    int8_t scales[SUB_BLOCKS];
    uint16_t d;
};
static_assert(sizeof(struct block_q6_k) == 210, "q6_K block is 210 bytes");
static_assert(offsetof(struct block_q6_k, qh) == 128, "q6_K high bits");
static_assert(offsetof(struct block_q6_k, scales) == 192 && offsetof(struct block_q6_k, d) == 208, "q6_K scales, d");

extern const struct block_format format_q6_k;

static void unpack(const void *block, struct block_integers *out) {
    struct block_q6_k b;
    memcpy(&b, block, sizeof b);
    *out = (struct block_integers){.d = half_to_float(b.d)};
    for (int s = 0; s < SUB_BLOCKS; s++)
        out->scale[s] = b.scales[s];
    for (unsigned k = 0; k < K_VALUES; k++) {
        unsigned low = b.ql[64 * (k / 128) + k % 64] >> 4 * (k / 64 % 2) & 15;
        out->code[k] = (int8_t)((int)(low | k_two_bits(b.qh, k) << 4) - CODE_OFFSET);
    }
}

static void pack(const struct block_integers *in, void *block) {
    struct block_q6_k b = {.d = half_from_float(in->d)};
    for (int s = 0; s < SUB_BLOCKS; s++)
        b.scales[s] = (int8_t)in->scale[s];
    for (unsigned k = 0; k < K_VALUES; k++) {
        unsigned n = (unsigned)(in->code[k] + CODE_OFFSET);
        uint8_t *low = b.ql + 64 * (k / 128) + k % 64;
        *low = (uint8_t)(*low | (n & 15) << 4 * (k / 64 % 2));
        k_put_two_bits(b.qh, k, n >> 4);
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
    search_block(&format_q6_k, in, &b);
    pack(&b, block);
}

const struct block_format format_q6_k = {
    .name = "q6_K",
    .gguf_type = 14,
    .block_values = K_VALUES,
    .block_bytes = sizeof(struct block_q6_k),
    .codes_at = offsetof(struct block_q6_k, ql),
    .codes_bytes = offsetof(struct block_q6_k, scales),
    .d = {offsetof(struct block_q6_k, d), 2},
    .dequantize = dequantize,
    .quantize = quantize,
    .searches = true,
    .sub_values = SUB_VALUES,
    .code_least = -CODE_OFFSET,
    .code_count = 64,
    .scale_least = -128,
    .scale_most = 127,
    .unpack = unpack,
    .pack = pack,
};
