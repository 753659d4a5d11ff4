/* iq3_xxs: 256 values in 98 bytes; x = d * (2 s + 1) / 4 * (+-) level, with d binary16, s of 4 bits for each 32 values
 * and rows of 4 levels of iq_grid_3_xxs. Exact in f32: 11 + 5 + 6 bits.
 * Source: ggml, `block_iq3_xxs` of ggml-common.h and `dequantize_row_iq3_xxs` of ggml-quants.c, bit for bit unless d is
 * NaN. Every byte pattern is a block. */
#include "format.h"
#include "half.h"
#include "iq_grid.h"
#include <assert.h>
#include <string.h>

enum { VALUES = 256, GROUPS = 8, ROWS = 64 };

struct block_iq3_xxs {
    uint16_t d;
    uint8_t row[ROWS];
    uint16_t signs_scale[GROUPS][2]; /* 32 bits, low half first: four times 7 bits for iq_signs, then s */
};
static_assert(sizeof(struct block_iq3_xxs) == 98, "iq3_xxs block is 98 bytes");
static_assert(offsetof(struct block_iq3_xxs, row) == 2, "iq3_xxs rows");
static_assert(offsetof(struct block_iq3_xxs, signs_scale) == 66, "iq3_xxs signs and scales");

static void dequantize(const void *block, float *out) {
    struct block_iq3_xxs b;
    memcpy(&b, block, sizeof b);
    float d = half_to_float(b.d);
    for (unsigned r = 0; r < ROWS; r++) {
        const uint16_t *halves = b.signs_scale[r / 8];
        uint32_t word = halves[0] | (uint32_t)halves[1] << 16;
        unsigned signs = iq_signs(word >> 7 * (r / 2 % 4) & 127); /* of two rows */
        float step = d * (float)(2 * (word >> 28) + 1) * 0.25f;
        iq_grid_signed(&iq_grid_3_xxs, b.row[r], signs >> 4 * (r % 2), step, out + 4 * r);
    }
}

const struct block_format format_iq3_xxs = {
    .name = "iq3_xxs",
    .gguf_type = 18,
    .block_values = VALUES,
    .block_bytes = sizeof(struct block_iq3_xxs),
    .d = {offsetof(struct block_iq3_xxs, d), 2},
    .dequantize = dequantize,
};
