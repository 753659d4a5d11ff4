/* iq1_s: 256 values in 50 bytes; x = d * (2 s + 1) * (level +- 1/8), with d binary16, s of 3 bits and the sign of the
 * 1/8 for each 32 values, and rows of 8 levels of iq_grid_1_s. Exact in f32: 11 + 4 + 4 bits.
 * Source: ggml, `block_iq1_s` of ggml-common.h and `dequantize_row_iq1_s` of ggml-quants.c, bit for bit unless d is
 * NaN. Every byte pattern is a block. */
#include "format.h"
#include "half.h"
#include "iq_grid.h"
#include <assert.h>
#include <string.h>

enum { VALUES = 256, GROUPS = 8 };

struct block_iq1_s {
    uint16_t d;
    uint8_t row[GROUPS][4]; /* low 8 bits */
    uint16_t group[GROUPS]; /* four times the row's upper 3 bits, then s, then 1: minus 1/8 */
};
static_assert(sizeof(struct block_iq1_s) == 50, "iq1_s block is 50 bytes");
static_assert(offsetof(struct block_iq1_s, row) == 2 && offsetof(struct block_iq1_s, group) == 34,
              "iq1_s rows, groups");

static void dequantize(const void *block, float *out) {
    struct block_iq1_s b;
    memcpy(&b, block, sizeof b);
    float d = half_to_float(b.d);
    for (unsigned i = 0; i < GROUPS; i++) {
        unsigned word = b.group[i];
        float step = d * (float)(2 * (word >> 12 & 7) + 1);
        for (unsigned r = 0; r < 4; r++)
            iq_grid_shifted(b.row[i][r] | (word >> 3 * r & 7) << 8, word >> 15, step, out + 32 * i + 8 * r);
    }
}

const struct block_format format_iq1_s = {
    .name = "iq1_s",
    .gguf_type = 19,
    .block_values = VALUES,
    .block_bytes = sizeof(struct block_iq1_s),
    .d = {offsetof(struct block_iq1_s, d), 2},
    .dequantize = dequantize,
};
