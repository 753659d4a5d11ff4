/* The pad40_t layout. Its quantiser is that of pad40 (pad40.c), whose sum always fits int16. */
#include "pad40_t.h"
#include "activation.h"
#include "checked.h"
#include "half.h"
#include "pad40.h"
#include <string.h>

static void quantize(const float *in, void *block) {
    struct block_pad40 p;
    pad40_quantize(in, &p);
    struct block_pad40_t b = {.d = p.d, .sum = (int16_t)p.sum};
    memcpy(b.q, p.q, sizeof b.q);
    memcpy(block, &b, sizeof b);
}

/* out[k] = d * q[k], exact in f32 (11 + 8 bits). */
static void dequantize(const void *block, float *out) {
    struct block_pad40_t b;
    memcpy(&b, block, sizeof b);
    float d = half_to_float(b.d);
    for (int k = 0; k < PAD40_T_VALUES; k++)
        out[k] = d * b.q[k];
}

static void pack(const int8_t *q, const float *d, void *block) {
    struct block_pad40_t b = {.d = half_from_float(*d)};
    int sum = 0;
    for (int k = 0; k < PAD40_T_VALUES; k++)
        sum += b.q[k] = q[k];
    b.sum = (int16_t)sum;
    memcpy(block, &b, sizeof b);
}

/* Chunks of all tiles; a size that went through buffer_bytes fits. */
static size_t tile_chunks(size_t nt, size_t id) {
    return (nt / PAD40_T_TOKENS + (nt % PAD40_T_TOKENS != 0)) * (id / PAD40_T_VALUES);
}

static bool buffer_bytes(size_t nt, size_t id, size_t *bytes) {
    size_t tiles = nt / PAD40_T_TOKENS + (nt % PAD40_T_TOKENS != 0), chunks;
    return size_mul(tiles, id / PAD40_T_VALUES, &chunks) &&
           size_mul(chunks, (size_t)PAD40_T_TOKENS * PAD40_T_BYTES, bytes);
}

/* Where block `index` of a token has its word u, and its scale word, in a buffer. */
struct place {
    size_t quants, scale, row;
};
static struct place place_of(size_t nt, size_t id, size_t token, size_t index) {
    size_t chunk = token / PAD40_T_TOKENS * (id / PAD40_T_VALUES) + index, row = token % PAD40_T_TOKENS;
    return (struct place){
        .quants = chunk * PAD40_T_QUANT_BYTES,
        .scale = tile_chunks(nt, id) * PAD40_T_QUANT_BYTES + (chunk * PAD40_T_TOKENS + pad40_t_scale_word(row)) * 4,
        .row = row,
    };
}

static void get(const void *buffer, size_t nt, size_t id, size_t token, size_t index, void *block) {
    const uint8_t *in = buffer;
    uint8_t *b = block;
    struct place p = place_of(nt, id, token, index);
    memcpy(b, in + p.scale, 4);
    for (size_t u = 0; u < 8; u++)
        memcpy(b + 4 + 4 * u, in + p.quants + pad40_t_quant_byte(p.row, u), 4);
}

static void put(void *buffer, size_t nt, size_t id, size_t token, size_t index, const void *block) {
    uint8_t *out = buffer;
    const uint8_t *b = block;
    struct place p = place_of(nt, id, token, index);
    memcpy(out + p.scale, b, 4);
    for (size_t u = 0; u < 8; u++)
        memcpy(out + p.quants + pad40_t_quant_byte(p.row, u), b + 4 + 4 * u, 4);
}

static int32_t stored_sum(const void *block) {
    struct block_pad40_t b;
    memcpy(&b, block, sizeof b);
    return b.sum;
}

const struct activation_format activation_pad40_t = {
    .name = "pad40_t",
    .block_values = PAD40_T_VALUES,
    .block_bytes = PAD40_T_BYTES,
    .codes_at = offsetof(struct block_pad40_t, q),
    .codes_bytes = sizeof((struct block_pad40_t *)0)->q,
    .quantize = quantize,
    .dequantize = dequantize,
    .pack = pack,
    .stored_sum = stored_sum,
    .buffer_bytes = buffer_bytes,
    .get = get,
    .put = put,
};
