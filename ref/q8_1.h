/* q8_1: activations, 32 values in 36 bytes. Source: ggml, `block_q8_1` of ggml-common.h.
 * Two quantisers make it, and their blocks are not the same objects: ggml's for the CPU stores the sum of what the
 * quants stand for, llama.cpp's for the GPU's matrix-vector kernels the sum of the values before quantisation. */
#ifndef REF_Q8_1_H
#define REF_Q8_1_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

enum { Q8_1_VALUES = 32, Q8_1_BYTES = 36 };

/* Value k stands for d * q[k]. */
struct block_q8_1 {
    uint16_t d, s; /* binary16 */
    int8_t q[32];
};
static_assert(sizeof(struct block_q8_1) == Q8_1_BYTES, "q8_1 block is 36 bytes");
static_assert(offsetof(struct block_q8_1, s) == 2, "q8_1 sum");
static_assert(offsetof(struct block_q8_1, q) == 4, "q8_1 quants");

/* b = in[0 .. 31] quantised; every rounding is stated in q8_1.c. Defined for every input, NaN and infinity included. */
void q8_1_quantize(const float in[32], struct block_q8_1 *b);
void q8_1_cuda_quantize(const float in[32], struct block_q8_1 *b);

/* out[k] = d * q[k], exact in f32 (11 + 8 bits). */
void q8_1_dequantize(const struct block_q8_1 *b, float out[32]);

/* What a block, at any address, says its values add up to: s. i: the number of the sum, 0. */
double q8_1_stored_sum(const void *block, size_t i);

#endif
