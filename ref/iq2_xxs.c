/* iq2_xxs: 256 values in 66 bytes; x = d * (2 s + 1) / 8 * (+-) level, with d binary16, s of 4 bits for each 32 values
 * and rows of 8 levels of iq_grid_2_xxs. Exact in f32: 11 + 5 + 6 bits.
 * Source: ggml, `block_iq2_xxs` of ggml-common.h and `dequantize_row_iq2_xxs` of ggml-quants.c, bit for bit unless d is
 * NaN. Every byte pattern is a block. */
#include "format.h"
#include "half.h"
#include "iq_grid.h"
#include <assert.h>
#include <string.h>

enum { VALUES = 256, GROUPS = 8 };

struct block_iq2_xxs {
    uint16_t d;
    struct {
        uint8_t row[4];          /* one for each 8 values */
        uint16_t signs_scale[2]; /* 32 bits, low half first: four times 7 bits for iq_signs, then s */
    } group[GROUPS];
};
static_assert(sizeof(struct block_iq2_xxs) == 66, "iq2_xxs block is 66 bytes");
static_assert(offsetof(struct block_iq2_xxs, group) == 2, "iq2_xxs groups");

static void dequantize(const void *block, float *out) {
    struct block_iq2_xxs b;
    memcpy(&b, block, sizeof b);
    float d = half_to_float(b.d);
    for (unsigned i = 0; i < GROUPS; i++) {
        uint32_t word = b.group[i].signs_scale[0] | (uint32_t)b.group[i].signs_scale[1] << 16;
        float step = d * (float)(2 * (word >> 28) + 1) * 0.125f;
        for (unsigned r = 0; r < 4; r++)
            iq_grid_signed(&iq_grid_2_xxs, b.group[i].row[r], iq_signs(word >> 7 * r & 127), step,
                           out + 32 * i + 8 * r);
    }
}

const struct block_format format_iq2_xxs = {
    .name = "iq2_xxs",
    .gguf_type = 16,
    .block_values = VALUES,
    .block_bytes = sizeof(struct block_iq2_xxs),
    .d = {offsetof(struct block_iq2_xxs, d), 2},
    .dequantize = dequantize,
};
