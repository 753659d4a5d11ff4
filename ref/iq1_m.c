/* iq1_m: 256 values in 56 bytes; x = d * (2 s + 1) * (level +- 1/8), with s of 3 bits for each 16 values, the sign of
 * the 1/8 for each 8, and rows of 8 levels of iq_grid_1_s. The binary16 d lies in the top four bits of the four scale
 * words, lowest first. Exact in f32: 11 + 4 + 4 bits.
 * Source: ggml, `block_iq1_m` of ggml-common.h and `dequantize_row_iq1_m` of ggml-quants.c, bit for bit unless d is
 * NaN. Every byte pattern is a block. */
#include "format.h"
#include "half.h"
#include "iq_grid.h"
#include <assert.h>
#include <string.h>

enum { VALUES = 256, ROWS = 32 };

struct block_iq1_m {
    uint8_t row[ROWS];          /* low 8 bits */
    uint8_t row_high[ROWS / 2]; /* 4 bits a row: the upper 3, then 1: minus 1/8 */
    uint16_t scales[ROWS / 8];  /* four times s of two rows, then 4 bits of d */
};
static_assert(sizeof(struct block_iq1_m) == 56, "iq1_m block is 56 bytes");
static_assert(offsetof(struct block_iq1_m, row_high) == 32, "iq1_m high bits");
static_assert(offsetof(struct block_iq1_m, scales) == 48, "iq1_m scales");

static void dequantize(const void *block, float *out) {
    struct block_iq1_m b;
    memcpy(&b, block, sizeof b);
    unsigned d_bits = 0;
    for (unsigned w = 0; w < ROWS / 8; w++)
        d_bits |= (unsigned)b.scales[w] >> 12 << 4 * w;
    float d = half_to_float((uint16_t)d_bits);
    for (unsigned r = 0; r < ROWS; r++) {
        unsigned high = b.row_high[r / 2] >> 4 * (r % 2) & 15u, s = b.scales[r / 8] >> 3 * (r / 2 % 4) & 7u;
        float step = d * (float)(2 * s + 1);
        iq_grid_shifted(b.row[r] | (high & 7) << 8, high >> 3, step, out + 8 * r);
    }
}

const struct block_format format_iq1_m = {
    .name = "iq1_m",
    .gguf_type = 29,
    .block_values = VALUES,
    .block_bytes = sizeof(struct block_iq1_m),
    .codes_at = offsetof(struct block_iq1_m, row),
    .codes_bytes = offsetof(struct block_iq1_m, scales),
    .dequantize = dequantize, /* no field holds d in one piece */
};
