/* q5_K: 256 values in 176 bytes, eight sub-blocks of 32, each with a 6-bit scale and a 6-bit minimum.
 * Value k of sub-block s = k / 32 stands for d * sc[s] * n - dmin * m[s], n = 0 .. 31; d and dmin are binary16.
 *   scales   sc and m packed as in q4_K (q4_k_scale_min)
 *   qh       the top bit of n (k_one_bit)
 *   qs       the low four bits of n (k_four_bits)
 * Dequantised as k_values says. Source: ggml, `block_q5_K` of ggml-common.h, `dequantize_row_q5_K` of ggml-quants.c.
 * The quantiser is our own, see search.h. */
#include "half.h"
#include "k_quants.h"
#include "q4_k.h"
#include "search.h"
#include <assert.h>
#include <string.h>

enum { SUB_BLOCKS = 8, SUB_VALUES = 32 };

struct block_q5_k {
    uint16_t d, dmin;
    uint8_t scales[12];
    uint8_t qh[32];
    uint8_t qs[128];
};
static_assert(sizeof(struct block_q5_k) == 176, "q5_K block is 176 bytes");
static_assert(offsetof(struct block_q5_k, dmin) == 2 && offsetof(struct block_q5_k, scales) == 4, "q5_K dmin, scales");
static_assert(offsetof(struct block_q5_k, qh) == 16 && offsetof(struct block_q5_k, qs) == 48, "q5_K codes");

extern const struct block_format format_q5_k;

static void unpack(const void *block, struct block_integers *out) {
    struct block_q5_k b;
    memcpy(&b, block, sizeof b);
    *out = (struct block_integers){.d = half_to_float(b.d), .dmin = half_to_float(b.dmin)};
    for (unsigned s = 0; s < SUB_BLOCKS; s++) {
        uint8_t sc, m;
        q4_k_scale_min(s, b.scales, &sc, &m);
        out->scale[s] = sc;
        out->min[s] = m;
    }
    for (unsigned k = 0; k < K_VALUES; k++)
        out->code[k] = (int8_t)(k_four_bits(b.qs, k) | k_one_bit(b.qh, k) << 4);
}

static void pack(const struct block_integers *in, void *block) {
    struct block_q5_k b = {.d = half_from_float(in->d), .dmin = half_from_float(in->dmin)};
    uint8_t sc[SUB_BLOCKS], m[SUB_BLOCKS];
    for (int s = 0; s < SUB_BLOCKS; s++) {
        sc[s] = (uint8_t)in->scale[s];
        m[s] = (uint8_t)in->min[s];
    }
    q4_k_pack_scales(sc, m, b.scales);
    for (unsigned k = 0; k < K_VALUES; k++) {
        unsigned n = (unsigned)in->code[k];
        k_put_four_bits(b.qs, k, n & 15);
        k_put_one_bit(b.qh, k, n >> 4);
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
    search_block(&format_q5_k, in, &b);
    pack(&b, block);
}

const struct block_format format_q5_k = {
    .name = "q5_K",
    .gguf_type = 13,
    .block_values = K_VALUES,
    .block_bytes = sizeof(struct block_q5_k),
    .codes_at = offsetof(struct block_q5_k, qh),
    .codes_bytes = sizeof(struct block_q5_k) - offsetof(struct block_q5_k, qh),
    .d = {offsetof(struct block_q5_k, d), 2},
    .dmin = {offsetof(struct block_q5_k, dmin), 2},
    .dequantize = dequantize,
    .quantize = quantize,
    .searches = true,
    .sub_values = SUB_VALUES,
    .code_count = 32,
    .scale_most = 63,
    .min_most = 63,
    .unpack = unpack,
    .pack = pack,
};
