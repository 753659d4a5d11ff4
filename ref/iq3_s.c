/* iq3_s: 256 values in 110 bytes; x = d * (2 s + 1) * (+-) level, with d binary16, s of 4 bits for each 32 values, rows
 * of 4 levels of iq_grid_3_s and a sign bit for every value. Exact in f32: 11 + 5 + 4 bits.
 * Source: ggml, `block_iq3_s` of ggml-common.h and `dequantize_row_iq3_s` of ggml-quants.c, bit for bit unless d is
 * NaN. Every byte pattern is a block. */
#include "format.h"
#include "half.h"
#include "iq_grid.h"
#include <assert.h>
#include <string.h>

enum { VALUES = 256, ROWS = 64 };

struct block_iq3_s {
    uint16_t d;
    uint8_t row[ROWS];          /* low 8 bits */
    uint8_t row_high[ROWS / 8]; /* 1 bit a row */
    uint8_t signs[ROWS / 2];    /* 4 bits a row */
    uint8_t scales[ROWS / 16];  /* s of eight rows, then in the high half of the next eight */
};
static_assert(sizeof(struct block_iq3_s) == 110, "iq3_s block is 110 bytes");
static_assert(offsetof(struct block_iq3_s, row) == 2, "iq3_s rows");
static_assert(offsetof(struct block_iq3_s, row_high) == 66, "iq3_s high bits");
static_assert(offsetof(struct block_iq3_s, signs) == 74, "iq3_s signs");
static_assert(offsetof(struct block_iq3_s, scales) == 106, "iq3_s scales");

static void dequantize(const void *block, float *out) {
    struct block_iq3_s b;
    memcpy(&b, block, sizeof b);
    float d = half_to_float(b.d);
    for (unsigned r = 0; r < ROWS; r++) {
        unsigned row = b.row[r] | (b.row_high[r / 8] >> r % 8 & 1u) << 8;
        unsigned s = b.scales[r / 16] >> 4 * (r / 8 % 2) & 15;
        float step = d * (float)(2 * s + 1);
        iq_grid_signed(&iq_grid_3_s, row, b.signs[r / 2] >> 4 * (r % 2), step, out + 4 * r);
    }
}

const struct block_format format_iq3_s = {
    .name = "iq3_s",
    .gguf_type = 21,
    .block_values = VALUES,
    .block_bytes = sizeof(struct block_iq3_s),
    .codes_at = offsetof(struct block_iq3_s, row),
    .codes_bytes = offsetof(struct block_iq3_s, scales) - offsetof(struct block_iq3_s, row),
    .d = {offsetof(struct block_iq3_s, d), 2},
    .dequantize = dequantize,
};
