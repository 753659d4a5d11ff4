/* Nibbles as the formats of 32 values in 16 bytes keep them: value k < 16 in the low half of byte k, value k >= 16 in
 * the high half of byte k - 16. Source: ggml, `dequantize_row_q4_0` and its likes in ggml-quants.c. */
#ifndef REF_NIBBLES_H
#define REF_NIBBLES_H

#include <float.h>
#include <math.h>
#include <stdint.h>

enum { NIBBLES_VALUES = 32, NIBBLES_BYTES = 16 };

/* n[0 .. 31] = the nibbles, each 0 .. 15; and back, n MUST be below 16. */
static inline void nibbles_get(const uint8_t bytes[NIBBLES_BYTES], uint8_t n[NIBBLES_VALUES]) {
    for (int k = 0; k < NIBBLES_BYTES; k++) {
        n[k] = bytes[k] & 15;
        n[k + NIBBLES_BYTES] = bytes[k] >> 4;
    }
}
static inline void nibbles_set(const uint8_t n[NIBBLES_VALUES], uint8_t bytes[NIBBLES_BYTES]) {
    for (int k = 0; k < NIBBLES_BYTES; k++)
        bytes[k] = (uint8_t)(n[k] | n[k + NIBBLES_BYTES] << 4);
}

/* The same for codes of 5 bits, the fifth bit of value k being bit k of a 32-bit little-endian word: q5_0 and q5_1. */
static inline void five_bits_get(const uint8_t bytes[NIBBLES_BYTES], uint32_t high, uint8_t n[NIBBLES_VALUES]) {
    nibbles_get(bytes, n);
    for (int k = 0; k < NIBBLES_VALUES; k++)
        n[k] = (uint8_t)(n[k] | (high >> k & 1) << 4);
}
static inline void five_bits_set(const uint8_t n[NIBBLES_VALUES], uint8_t bytes[NIBBLES_BYTES], uint32_t *high) {
    uint8_t low[NIBBLES_VALUES];
    *high = 0;
    for (int k = 0; k < NIBBLES_VALUES; k++) {
        low[k] = n[k] & 15;
        *high |= (uint32_t)(n[k] >> 4) << k;
    }
    nibbles_set(low, bytes);
}

/* x cut towards zero and held to 0 .. most; `nan` where x is not a number. */
static inline uint8_t truncated_code(float x, int most, uint8_t nan) {
    if (isnan(x))
        return nan;
    return x < 0 ? 0 : x > (float)most ? (uint8_t)most : (uint8_t)x;
}

/* The codes of ggml's quantisers of 32 values, f32, nearest even, never fused; *d before it is rounded to binary16.
 *
 * Around zero (q4_0, q5_0): max = the first x of the largest |x| ; d = rn(max / -offset) ; id = rn(1 / d), 0 if d = 0 ;
 * n = rn(rn(x * id) + offset + 0.5), cut to 0 .. 2 * offset - 1; `offset` where that is NaN. */
static inline void codes_around_zero(const float in[NIBBLES_VALUES], int offset, float *d, uint8_t n[NIBBLES_VALUES]) {
    float max = 0;
    for (int k = 0; k < NIBBLES_VALUES; k++)
        max = fabsf(in[k]) > fabsf(max) ? in[k] : max;
    *d = max / -(float)offset;
    float id = *d != 0 ? 1.0f / *d : 0.0f;
    for (int k = 0; k < NIBBLES_VALUES; k++) {
        float scaled = in[k] * id;
        n[k] = truncated_code(scaled + ((float)offset + 0.5f), 2 * offset - 1, (uint8_t)offset);
    }
}

/* Above the least (q4_1, q5_1): min, max = the first of the least and of the largest x, both 0 where all are NaN ;
 * d = rn(rn(max - min) / most) ; id = rn(1 / d), 0 if d = 0 ; n = rn(rn(rn(x - min) * id) + 0.5), cut to 0 .. most; 0
 * where that is NaN. */
static inline void codes_above_min(const float in[NIBBLES_VALUES], int most, float *d, float *min,
                                   uint8_t n[NIBBLES_VALUES]) {
    float least = FLT_MAX, max = -FLT_MAX;
    for (int k = 0; k < NIBBLES_VALUES; k++) {
        least = in[k] < least ? in[k] : least;
        max = in[k] > max ? in[k] : max;
    }
    if (least > max) /* nothing but NaN */
        least = max = 0;
    float range = max - least;
    *d = range / (float)most;
    *min = least;
    float id = *d != 0 ? 1.0f / *d : 0.0f;
    for (int k = 0; k < NIBBLES_VALUES; k++) {
        float above = in[k] - least, scaled = above * id;
        n[k] = truncated_code(scaled + 0.5f, most, 0);
    }
}

#endif
