/* q4_K: see q4_k.h for the layout. The quantiser is our own, see search.h. */
#include "q4_k.h"
#include "format.h"
#include "half.h"
#include "search.h"
#include <string.h>

enum { SUB_BLOCKS = Q4_K_SUB_BLOCKS, SUB_VALUES = Q4_K_SUB_VALUES, NIBBLE_MAX = 15, SCALE_MAX = 63 };

/* ---- layout ---- */

void q4_k_scale_min(unsigned s, const uint8_t scales[12], uint8_t *sc, uint8_t *m) {
    if (s < 4) {
        *sc = scales[s] & 63;
        *m = scales[s + 4] & 63;
    } else {
        *sc = (uint8_t)((scales[s + 4] & 15) | scales[s - 4] >> 6 << 4);
        // cppcheck-suppress arrayIndexOutOfBoundsCond // s is below 8
        *m = (uint8_t)(scales[s + 4] >> 4 | scales[s] >> 6 << 4);
    }
}

void q4_k_pack_scales(const uint8_t sc[8], const uint8_t m[8], uint8_t scales[12]) {
    for (int s = 0; s < 4; s++) {
        scales[s] = (uint8_t)(sc[s] | sc[s + 4] >> 4 << 6);
        scales[s + 4] = (uint8_t)(m[s] | m[s + 4] >> 4 << 6);
        scales[s + 8] = (uint8_t)((sc[s + 4] & 15) | (m[s + 4] & 15) << 4);
    }
}

void q4_k_nibbles(const struct block_q4_k *b, unsigned s, uint8_t n[32]) {
    const uint8_t *bytes = b->qs + SUB_VALUES * (s / 2);
    unsigned shift = 4 * (s & 1);
    for (int k = 0; k < SUB_VALUES; k++)
        n[k] = bytes[k] >> shift & 15;
}

void q4_k_set_nibbles(struct block_q4_k *b, unsigned s, const uint8_t n[32]) {
    uint8_t *bytes = b->qs + SUB_VALUES * (s / 2);
    unsigned shift = 4 * (s & 1), others = 0xf0u >> shift;
    for (int k = 0; k < SUB_VALUES; k++)
        bytes[k] = (uint8_t)((bytes[k] & others) | (unsigned)n[k] << shift);
}

int32_t q4_k_dot(const struct block_q4_k *b, unsigned s, const int8_t q[32]) {
    uint8_t n[SUB_VALUES];
    q4_k_nibbles(b, s, n);
    int32_t dot = 0;
    for (int k = 0; k < SUB_VALUES; k++)
        dot += n[k] * q[k];
    return dot;
}

void q4_k_dequantize(const struct block_q4_k *b, float out[256]) {
    float d = half_to_float(b->d), dmin = half_to_float(b->dmin);
    for (unsigned s = 0; s < SUB_BLOCKS; s++) {
        uint8_t sc, m, n[SUB_VALUES];
        q4_k_scale_min(s, b->scales, &sc, &m);
        q4_k_nibbles(b, s, n);
        float scale = d * (float)sc, min = dmin * (float)m;
        for (int k = 0; k < SUB_VALUES; k++) {
            float product = scale * (float)n[k];
            out[SUB_VALUES * s + k] = product - min;
        }
    }
}

/* ---- the table's row ---- */

extern const struct block_format format_q4_k;

/* Blocks of the table need no alignment, so they pass through a local one. */
static void dequantize(const void *block, float *out) {
    struct block_q4_k b;
    memcpy(&b, block, sizeof b);
    q4_k_dequantize(&b, out);
}

static void unpack(const void *block, struct block_integers *out) {
    struct block_q4_k b;
    memcpy(&b, block, sizeof b);
    *out = (struct block_integers){.d = half_to_float(b.d), .dmin = half_to_float(b.dmin)};
    for (unsigned s = 0; s < SUB_BLOCKS; s++) {
        uint8_t sc, m, n[SUB_VALUES];
        q4_k_scale_min(s, b.scales, &sc, &m);
        q4_k_nibbles(&b, s, n);
        out->scale[s] = sc;
        out->min[s] = m;
        for (int k = 0; k < SUB_VALUES; k++)
            out->code[SUB_VALUES * s + k] = (int8_t)n[k];
    }
}

static void pack(const struct block_integers *in, void *block) {
    struct block_q4_k b = {.d = half_from_float(in->d), .dmin = half_from_float(in->dmin)};
    uint8_t sc[SUB_BLOCKS], m[SUB_BLOCKS], n[SUB_VALUES];
    for (unsigned s = 0; s < SUB_BLOCKS; s++) {
        sc[s] = (uint8_t)in->scale[s];
        m[s] = (uint8_t)in->min[s];
        for (int k = 0; k < SUB_VALUES; k++)
            n[k] = (uint8_t)in->code[SUB_VALUES * s + k];
        q4_k_set_nibbles(&b, s, n);
    }
    q4_k_pack_scales(sc, m, b.scales);
    memcpy(block, &b, sizeof b);
}

static void quantize(const float *in, void *block) {
    struct block_integers b;
    search_block(&format_q4_k, in, &b);
    pack(&b, block);
}

const struct block_format format_q4_k = {
    .name = "q4_K",
    .gguf_type = 12,
    .block_values = Q4_K_VALUES,
    .block_bytes = Q4_K_BYTES,
    .codes_at = offsetof(struct block_q4_k, qs),
    .codes_bytes = sizeof((struct block_q4_k *)0)->qs,
    .d = {offsetof(struct block_q4_k, d), 2},
    .dmin = {offsetof(struct block_q4_k, dmin), 2},
    .dequantize = dequantize,
    .quantize = quantize,
    .searches = true,
    .sub_values = SUB_VALUES,
    .code_count = NIBBLE_MAX + 1,
    .scale_most = SCALE_MAX,
    .min_most = SCALE_MAX,
    .unpack = unpack,
    .pack = pack,
};
