/* Nibbles as the formats of 32 values in 16 bytes keep them: value k < 16 in the low half of byte k, value k >= 16 in
 * the high half of byte k - 16. Source: ggml, `dequantize_row_q4_0` and its likes in ggml-quants.c. */
#ifndef REF_NIBBLES_H
#define REF_NIBBLES_H

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

#endif
