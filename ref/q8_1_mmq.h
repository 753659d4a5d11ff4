/* q8_1_mmq: activations of llama.cpp's MMQ kernels, 128 values in 144 bytes, of three kinds with different scales.
 *
 *   q8_1_mmq_d4     f32 d[4]                          one d for each 32 values
 *   q8_1_mmq_ds4    4 x (binary16 d, binary16 s)      s: sum of the 32 values before quantisation
 *   q8_1_mmq_d2s6   binary16 d[2], binary16 s[6]      one d for each 64 values; s: sums of 16 values, of the first 96
 *
 * Block kb of token j lies at (kb * nt + j) * 144: the depth goes slowest, so that a tile's tokens are one run.
 * Source: ggml, `block_q8_1_mmq` of ggml-cuda/mmq.cuh at d99724f2. */
#ifndef REF_Q8_1_MMQ_H
#define REF_Q8_1_MMQ_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

enum { Q8_1_MMQ_VALUES = 128, Q8_1_MMQ_BYTES = 144 };

struct block_q8_1_mmq {
    union {
        float d4[4];
        struct {
            uint16_t d, s;
        } ds4[4];
        struct {
            uint16_t d[2], s[6];
        } d2s6;
    };
    int8_t q[128]; /* value k stands for its d * q[k] */
};
static_assert(sizeof(struct block_q8_1_mmq) == Q8_1_MMQ_BYTES, "q8_1_mmq block is 144 bytes");
static_assert(offsetof(struct block_q8_1_mmq, q) == 16, "q8_1_mmq quants");

/* b = in[0 .. 127] quantised; every rounding is stated in q8_1_mmq.c. Defined for every input. */
void q8_1_mmq_d4_quantize(const float in[128], struct block_q8_1_mmq *b);
void q8_1_mmq_ds4_quantize(const float in[128], struct block_q8_1_mmq *b);
void q8_1_mmq_d2s6_quantize(const float in[128], struct block_q8_1_mmq *b);

/* The d of value k (0 .. 127). */
float q8_1_mmq_d4_scale(const struct block_q8_1_mmq *b, size_t k);
float q8_1_mmq_ds4_scale(const struct block_q8_1_mmq *b, size_t k);
float q8_1_mmq_d2s6_scale(const struct block_q8_1_mmq *b, size_t k);

#endif
