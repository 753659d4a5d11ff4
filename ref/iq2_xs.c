/* iq2_xs: 256 values in 74 bytes; x = d * (2 s + 1) / 8 * (+-) level, with d binary16, s of 4 bits for each 16 values
 * and rows of 8 levels of iq_grid_2_xs. Exact in f32: 11 + 5 + 6 bits.
 * Source: ggml, `block_iq2_xs` of ggml-common.h and `dequantize_row_iq2_xs` of ggml-quants.c, bit for bit unless d is
 * NaN. Every byte pattern is a block. */
#include "format.h"
#include "half.h"
#include "iq_grid.h"
#include <assert.h>
#include <string.h>

enum { VALUES = 256, ROWS = 32 };

struct block_iq2_xs {
    uint16_t d;
    uint16_t row_signs[ROWS]; /* 9 bits row, 7 bits for iq_signs */
    uint8_t scales[ROWS / 4]; /* s of two rows, then in the high half of the next two */
};
static_assert(sizeof(struct block_iq2_xs) == 74, "iq2_xs block is 74 bytes");
static_assert(offsetof(struct block_iq2_xs, row_signs) == 2, "iq2_xs rows");
static_assert(offsetof(struct block_iq2_xs, scales) == 66, "iq2_xs scales");

static void dequantize(const void *block, float *out) {
    struct block_iq2_xs b;
    memcpy(&b, block, sizeof b);
    float d = half_to_float(b.d);
    for (unsigned r = 0; r < ROWS; r++) {
        unsigned s = b.scales[r / 4] >> 4 * (r / 2 % 2) & 15;
        float step = d * (float)(2 * s + 1) * 0.125f;
        iq_grid_signed(&iq_grid_2_xs, b.row_signs[r] & 511, iq_signs(b.row_signs[r] >> 9), step, out + 8 * r);
    }
}

const struct block_format format_iq2_xs = {
    .name = "iq2_xs",
    .gguf_type = 17,
    .block_values = VALUES,
    .block_bytes = sizeof(struct block_iq2_xs),
    .codes_at = offsetof(struct block_iq2_xs, row_signs),
    .codes_bytes = sizeof((struct block_iq2_xs *)0)->row_signs,
    .d = {offsetof(struct block_iq2_xs, d), 2},
    .dequantize = dequantize,
};
