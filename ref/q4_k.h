/* q4_K: 256 values in 144 bytes, eight sub-blocks of 32, each with a 6-bit scale and a 6-bit minimum.
 * Source: ggml, `block_q4_K` of ggml-common.h and `dequantize_row_q4_K` of ggml-quants.c. */
#ifndef REF_Q4_K_H
#define REF_Q4_K_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

enum { Q4_K_VALUES = 256, Q4_K_SUB_BLOCKS = 8, Q4_K_SUB_VALUES = 32, Q4_K_BYTES = 144 };

/* Value k of sub-block s stands for d * sc[s] * n - dmin * m[s], with n = 0 .. 15 its nibble; d and dmin are binary16.
 * Nibble (s, k): byte 32 * (s / 2) + k of qs, the low half for even s, the high half for odd s. */
struct block_q4_k {
    uint16_t d, dmin;
    uint8_t scales[12]; /* sc[0..7] and m[0..7], 6 bits each; see q4_k_scale_min */
    uint8_t qs[128];
};
static_assert(sizeof(struct block_q4_k) == Q4_K_BYTES, "q4_K block is 144 bytes");
static_assert(offsetof(struct block_q4_k, d) == 0 && offsetof(struct block_q4_k, dmin) == 2, "q4_K d, dmin");
static_assert(offsetof(struct block_q4_k, scales) == 4, "q4_K scales");
static_assert(offsetof(struct block_q4_k, qs) == 16, "q4_K nibbles");
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "block formats are little-endian, and so must the machine be");

/* *sc, *m = the scale and the minimum of sub-block s (0 .. 7), both 0 .. 63. ggml calls it get_scale_min_k4.
 *   s < 4   sc = low 6 bits of byte s;          m = low 6 bits of byte s+4
 *   s >= 4  sc = low half of byte s+4 with the top 2 bits of byte s-4 above it;
 *           m = high half of byte s+4 with the top 2 bits of byte s above it */
void q4_k_scale_min(unsigned s, const uint8_t scales[12], uint8_t *sc, uint8_t *m);

/* The inverse: scales = the packed form of sc[0..7] and m[0..7]; each MUST be 0 .. 63. */
void q4_k_pack_scales(const uint8_t sc[8], const uint8_t m[8], uint8_t scales[12]);

/* n = the 32 nibbles (0 .. 15) of sub-block s, ascending; and back: the other sub-blocks' nibbles are left alone. */
void q4_k_nibbles(const struct block_q4_k *b, unsigned s, uint8_t n[32]);
void q4_k_set_nibbles(struct block_q4_k *b, unsigned s, const uint8_t n[32]);

/* sum over k of nibble(s, k) * q[k], exact: |dot| <= 32 * 15 * 128 = 61,440. */
int32_t q4_k_dot(const struct block_q4_k *b, unsigned s, const int8_t q[32]);

/* out[0 .. 255] in f32: y = rn(rn(rn(d * sc) * n) - rn(dmin * m)), nearest even, never contracted; the first two
 * products are exact (11 + 6 + 4 bits), so the subtraction is the only rounding. */
void q4_k_dequantize(const struct block_q4_k *b, float out[256]);

#endif
