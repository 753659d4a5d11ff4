/* What the K formats share: 256 values a block, whose bits lie in planes that run through the block in steps of 32.
 * Source: ggml, `block_q2_K` .. `block_q6_K` of ggml-common.h and `dequantize_row_q2_K` .. of ggml-quants.c. */
#ifndef REF_K_QUANTS_H
#define REF_K_QUANTS_H

#include "format.h"

enum { K_VALUES = 256 };

/* Bits of value k (0 .. 255) in a plane of one bit a value (32 bytes): bit k / 32 of byte k % 32. */
static inline unsigned k_one_bit(const uint8_t plane[32], unsigned k) {
    return plane[k % 32] >> k / 32 & 1;
}
/* Of two bits a value (64 bytes): byte 32 * (k / 128) + k % 32, bits 2 * (k / 32 % 4) and the next. */
static inline unsigned k_two_bits(const uint8_t plane[64], unsigned k) {
    return plane[32 * (k / 128) + k % 32] >> 2 * (k / 32 % 4) & 3;
}
/* Of four bits a value (128 bytes): byte 32 * (k / 64) + k % 32, the low half for even k / 32, else the high half. */
static inline unsigned k_four_bits(const uint8_t plane[128], unsigned k) {
    return plane[32 * (k / 64) + k % 32] >> 4 * (k / 32 % 2) & 15;
}

/* The inverse, into a plane that is zero where value k lies: bits MUST be in range. */
static inline void k_put_one_bit(uint8_t plane[32], unsigned k, unsigned bits) {
    plane[k % 32] = (uint8_t)(plane[k % 32] | bits << k / 32);
}
static inline void k_put_two_bits(uint8_t plane[64], unsigned k, unsigned bits) {
    uint8_t *byte = plane + 32 * (k / 128) + k % 32;
    *byte = (uint8_t)(*byte | bits << 2 * (k / 32 % 4));
}
static inline void k_put_four_bits(uint8_t plane[128], unsigned k, unsigned bits) {
    uint8_t *byte = plane + 32 * (k / 64) + k % 32;
    *byte = (uint8_t)(*byte | bits << 4 * (k / 32 % 2));
}

/* out[0 .. 255] in f32: y = rn(rn(rn(d * scale) * code) - rn(dmin * min)), nearest even, never contracted. In all K
 * formats the three products are exact (11 bits of d, at most 7 of a scale and 5 of a code), so the subtraction is the
 * only rounding; in those without minima it takes +0 away and changes nothing, not even the sign of a zero. */
void k_values(const struct block_integers *b, size_t sub_values, float *out);

#endif
