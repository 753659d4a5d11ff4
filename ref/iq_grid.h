/* What the iq1, iq2 and iq3 formats share: codebooks ("grids") of 8 or 4 small values a row, of which a block names
 * rows, and the table of signs.
 * Source: ggml, `iq1s_grid`, `iq2xxs_grid` ... and `ksigns_iq2xs` of ggml-common.h. */
#ifndef REF_IQ_GRID_H
#define REF_IQ_GRID_H

#include <stdint.h>

enum { IQ_GRID_MOST_ELEMENTS = 8, IQ_GRID_MOST_LEVELS = 8 };

/* Element j of a row is level[n], n the 16 / elements bits of row[] from bit j * 16 / elements. The rows ascend. */
struct iq_grid {
    unsigned rows, elements;           /* elements: 8 of 2 bits, or 4 of 4 bits */
    int8_t level[IQ_GRID_MOST_LEVELS]; /* ascending */
    const uint16_t *row;               /* (rows) */
};

extern const struct iq_grid iq_grid_1_s;   /* 2048 rows of 8 of -1 0 1; iq1_s and iq1_m */
extern const struct iq_grid iq_grid_2_xxs; /* 256 rows of 8 of 8 25 43 */
extern const struct iq_grid iq_grid_2_xs;  /* 512 rows of 8 of 8 25 43 */
extern const struct iq_grid iq_grid_2_s;   /* 1024 rows of 8 of 8 25 43 */
extern const struct iq_grid iq_grid_3_xxs; /* 256 rows of 4 of 4 12 20 28 36 44 52 62 */
extern const struct iq_grid iq_grid_3_s;   /* 512 rows of 4 of 1 3 5 7 9 11 13 15 */

/* level (g->elements) = a row of the grid; row MUST be below g->rows. */
void iq_grid_levels(const struct iq_grid *g, unsigned row, int8_t *level);

/* out (g->elements) = step * level, negated where bit j of signs is set. Exact in f32 for every binary16 step times up
 * to 7 bits, infinities included. */
void iq_grid_signed(const struct iq_grid *g, unsigned row, unsigned signs, float step, float *out);

/* out (8) = step * (level + 1/8), or - 1/8 where `minus`: how the iq1 formats shift their three levels. */
void iq_grid_shifted(unsigned row, unsigned minus, float step, float *out);

/* The eight sign bits that seven stand for: bit 7 makes their number even. */
static inline unsigned iq_signs(unsigned seven) {
    unsigned fold = seven ^ seven >> 4;
    fold ^= fold >> 2;
    fold ^= fold >> 1;
    return (seven & 127) | (fold & 1) << 7;
}

#endif
