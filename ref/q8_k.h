/* q8_K: activations of ggml's CPU kernels, 256 values in 292 bytes; see q8_k.c. */
#ifndef REF_Q8_K_H
#define REF_Q8_K_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

enum { Q8_K_VALUES = 256, Q8_K_SUM_VALUES = 16, Q8_K_SUMS = Q8_K_VALUES / Q8_K_SUM_VALUES, Q8_K_BYTES = 292 };

struct block_q8_k { /* value k stands for d * q[k] */
    float d;
    int8_t q[Q8_K_VALUES];
    int16_t sums[Q8_K_SUMS]; /* sums[i] = q[16 i] + .. + q[16 i + 15] */
};
static_assert(sizeof(struct block_q8_k) == Q8_K_BYTES, "q8_K block is 292 bytes");
static_assert(offsetof(struct block_q8_k, q) == 4 && offsetof(struct block_q8_k, sums) == 260, "q8_K quants, sums");
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "block formats are little-endian, and so must the machine be");

#endif
