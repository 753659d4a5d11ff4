/* Class exact: every product and every partial sum of a matrix product is an integer number of units below 2^24, so
 * f32 holds it exactly whatever the order, and a contract equals its float64 truth to the bit.
 *
 *   q4_K   d, dmin in {2^-5, 2^-4}; sc, m 0 .. 63, every value drawn; sc * n <= 63.    Unit 2^-5:
 *          |d sc n| <= 2 * 63 and |dmin m| <= 2 * 63, together 252 for each k.
 *   pad40  d in {2^-3, 2^-2}; q -2 .. 2.                                               Unit 2^-3: |d q| <= 4.
 *   f32    (input of a quantiser) a block of 32 is integers -127 .. 127 times 2^e, e -8 .. 8, with one of them +-127 at
 *          least: max / 127, its inverse and every quotient are exact, nothing is ever rounded. */
#include "../ref/pad40.h"
#include "../ref/q4_k.h"
#include "data.h"
#include "data_f16.h"

/* binary16 of 2^e, -14 <= e <= 15. */
static uint16_t half_power(int e) {
    return (uint16_t)((15 + e) << 10);
}

static void fill_q4_k(struct random_stream *s, size_t rows, size_t depth, void *bytes) {
    struct block_q4_k *b = bytes;
    for (size_t i = 0; i < rows * (depth / Q4_K_VALUES); i++, b++) {
        uint8_t sc[Q4_K_SUB_BLOCKS], m[Q4_K_SUB_BLOCKS], n[Q4_K_SUB_VALUES];
        b->d = half_power(-5 + (int)random_below(s, 2));
        b->dmin = half_power(-5 + (int)random_below(s, 2));
        for (unsigned sub = 0; sub < Q4_K_SUB_BLOCKS; sub++) {
            /* Half of the sub-blocks have a scale so small that all 16 nibble values fit under sc * n <= 63. */
            sc[sub] = (uint8_t)(random_below(s, 2) ? 1 + random_below(s, 4) : random_below(s, 64));
            m[sub] = (uint8_t)random_below(s, 64);
            unsigned most = sc[sub] <= 4 ? 15 : 63u / sc[sub];
            for (int k = 0; k < Q4_K_SUB_VALUES; k++)
                n[k] = (uint8_t)random_below(s, most + 1);
            q4_k_set_nibbles(b, sub, n);
        }
        q4_k_pack_scales(sc, m, b->scales);
    }
}

static void fill_pad40(struct random_stream *s, size_t rows, size_t depth, void *bytes) {
    struct block_pad40 *b = bytes;
    for (size_t i = 0; i < rows * (depth / PAD40_VALUES); i++, b++) {
        *b = (struct block_pad40){.d = half_power(-3 + (int)random_below(s, 2))};
        for (int k = 0; k < PAD40_VALUES; k++) {
            b->q[k] = (int8_t)((int)random_below(s, 5) - 2);
            b->sum += b->q[k];
        }
    }
}

static void fill_f32(struct random_stream *s, size_t rows, size_t depth, void *bytes) {
    float *x = bytes;
    for (size_t row = 0; row < rows; row++)
        for (size_t first = 0; first < depth; first += 32) {
            size_t values = depth - first < 32 ? depth - first : 32, peak = random_below(s, (uint32_t)values);
            int power = (int)random_below(s, 17) - 8;
            float unit = power < 0 ? 1.0f / (float)(1 << -power) : (float)(1 << power);
            for (size_t k = 0; k < values; k++) {
                int q = (int)random_below(s, 255) - 127;
                if (k == peak)
                    q = q < 0 ? -127 : 127;
                *x++ = (float)q * unit;
            }
        }
}

const struct data_filler data_exact[] = {
    {"q4_K", fill_q4_k}, {"pad40", fill_pad40}, {"f32", fill_f32}, {"f16", data_f16_exact}, {0}};
