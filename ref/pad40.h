/* pad40: activations, 32 values in 40 bytes. Source: the layout this project's MMQ kernels read
 * (gpu/kernels/pad40.cuh). */
#ifndef REF_PAD40_H
#define REF_PAD40_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

enum { PAD40_VALUES = 32, PAD40_BYTES = 40 };

/* Value k stands for d * q[k]. sum is in -4096 .. 4064, so a kernel may stage it as int16. */
struct block_pad40 {
    uint16_t d;   /* binary16 */
    uint16_t gap; /* nothing is ever read from it; the quantiser writes zero, so that whole buffers compare as bytes */
    int8_t q[32];
    int32_t sum; /* q[0] + ... + q[31] */
};
static_assert(sizeof(struct block_pad40) == PAD40_BYTES, "pad40 block is 40 bytes");
static_assert(offsetof(struct block_pad40, d) == 0, "pad40 d");
static_assert(offsetof(struct block_pad40, q) == 4, "pad40 quants");
static_assert(offsetof(struct block_pad40, sum) == 36, "pad40 sum");
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "block formats are little-endian, and so must the machine be");

/* b = in[0 .. 31] quantised; every rounding is stated in pad40.c. Defined for every input, NaN and infinity included.
 */
void pad40_quantize(const float in[32], struct block_pad40 *b);

/* out[k] = d * q[k], exact in f32 (11 + 8 bits). */
void pad40_dequantize(const struct block_pad40 *b, float out[32]);

#endif
