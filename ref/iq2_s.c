/* iq2_s: 256 values in 82 bytes; x = d * (2 s + 1) / 8 * (+-) level, with d binary16, s of 4 bits for each 16 values,
 * rows of 8 levels of iq_grid_2_s and a sign bit for every value. Exact in f32: 11 + 5 + 6 bits.
 * Source: ggml, `block_iq2_s` of ggml-common.h and `dequantize_row_iq2_s` of ggml-quants.c, bit for bit unless d is
 * NaN. Every byte pattern is a block. */
#include "format.h"
#include "half.h"
#include "iq_grid.h"
#include <assert.h>
#include <string.h>

enum { VALUES = 256, ROWS = 32 };

struct block_iq2_s {
    uint16_t d;
    uint8_t row[ROWS]; /* low 8 bits */
    uint8_t signs[ROWS];
    uint8_t row_high[ROWS / 4]; /* 2 bits a row */
    uint8_t scales[ROWS / 4];   /* s of two rows, then in the high half of the next two */
};
static_assert(sizeof(struct block_iq2_s) == 82, "iq2_s block is 82 bytes");
static_assert(offsetof(struct block_iq2_s, row) == 2 && offsetof(struct block_iq2_s, signs) == 34, "iq2_s rows, signs");
static_assert(offsetof(struct block_iq2_s, row_high) == 66, "iq2_s high bits");
static_assert(offsetof(struct block_iq2_s, scales) == 74, "iq2_s scales");

static void dequantize(const void *block, float *out) {
    struct block_iq2_s b;
    memcpy(&b, block, sizeof b);
    float d = half_to_float(b.d);
    for (unsigned r = 0; r < ROWS; r++) {
        unsigned row = b.row[r] | (b.row_high[r / 4] >> 2 * (r % 4) & 3u) << 8;
        unsigned s = b.scales[r / 4] >> 4 * (r / 2 % 2) & 15;
        float step = d * (float)(2 * s + 1) * 0.125f;
        iq_grid_signed(&iq_grid_2_s, row, b.signs[r], step, out + 8 * r);
    }
}

const struct block_format format_iq2_s = {
    .name = "iq2_s",
    .gguf_type = 22,
    .block_values = VALUES,
    .block_bytes = sizeof(struct block_iq2_s),
    .codes_at = offsetof(struct block_iq2_s, row),
    .codes_bytes = offsetof(struct block_iq2_s, scales) - offsetof(struct block_iq2_s, row),
    .d = {offsetof(struct block_iq2_s, d), 2},
    .dequantize = dequantize,
};
