/* The sum that one floating-point mma with binary16 operands makes on sm_90: f32 accumulator, 16 products at once.
 * PTX leaves the order and the roundings of this open (PTX ISA 9.7.14.5); the model is the published one (arXiv
 * 2511.10909, 2512.07004), with the numbers of an H200, which it equals bit for bit.
 *
 * A product is exact and not normalised: significands of 11 bits, the exponents added. The accumulator is one addend
 * more. All addends are shifted to the largest exponent among those that are not zero, at least -133, and cut toward
 * zero to 25 fraction bits; their sum is exact, and is cut toward zero to an f32. A sum of zero is +0. */
#ifndef REF_MMA_F16_H
#define REF_MMA_F16_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MMA_F16_DEPTH = 16, MMA_F16_FRACTION = 25, MMA_F16_FLOOR = -133 };

/* Sixteen binary16 as significand * 2^(exponent - 10); 0 has exponent MMA_F16_NOTHING, so that it is never the largest.
 * A significand is a float that holds an integer: the product of two is exact. */
struct mma_f16 {
    float significand[MMA_F16_DEPTH];
    int16_t exponent[MMA_F16_DEPTH];
};
enum { MMA_F16_NOTHING = -1000 };

/* out (groups) = h (groups * 16) split; false: there is a NaN or an infinity, which has no such parts. */
bool mma_f16_split(const uint16_t *h, size_t groups, struct mma_f16 *out);

/* Bits of f32: c + a[0] * b[0] + .. + a[15] * b[15]. c: of a finite number. */
uint32_t mma_f16_sum(const struct mma_f16 *a, const struct mma_f16 *b, uint32_t c);

/* The same of any operands: NaN, infinity times zero and infinities of both signs give 0x7fffffff, else an infinity
 * stays. */
uint32_t mma_f16_sum_any(const uint16_t a[MMA_F16_DEPTH], const uint16_t b[MMA_F16_DEPTH], uint32_t c);

#endif
