/* f32 arithmetic of PTX with .ftz, rounded to nearest: subnormal operands and results are zeros of their sign.
 *
 * Whether a result is subnormal shows when it is rounded to 24 bits with no end to the exponents: what is closer to
 * 2^-126 than to the number before it in 24 bits becomes 2^-126, all below is flushed. (IEEE 754 rounds to the wider
 * steps of the subnormal numbers, so that a little more becomes 2^-126.) Measured on sm_90. */
#ifndef REF_FTZ_H
#define REF_FTZ_H

#include "half.h"
#include <math.h>
#include <stdbool.h>

static inline float ftz(float x) {
    const uint32_t u = float_bits(x);
    return bits_float(u & 0x7f800000u ? u : u & 0x80000000u);
}

/* a * b + c lies below the bound from which on it would round to +-2^-126. The product is exact in float64, and rest is
 * what rounding took from the sum. */
static inline bool ftz_fma_flushes(float a, float b, float c) {
    const double bound = 0x1p-126 - 0x1p-151;
    const double p = (double)a * b, sum = p + c, part = sum - p, rest = (p - (sum - part)) + (c - part);
    const double size = fabs(sum), toward_zero = sum > 0 ? -rest : rest;
    return size < bound || (size <= bound && toward_zero > 0);
}

/* rn(a * b + c); a, b and c MUST NOT be subnormal. One test keeps all but zeros and the smallest results out of the
 * rest. */
static inline float ftz_fma(float a, float b, float c) {
    const float x = fmaf(a, b, c);
    const uint32_t u = float_bits(x), least_normal = 0x00800000u, size = u & 0x7fffffffu;
    if (size > least_normal)
        return x;
    const bool flushes = size < least_normal || ftz_fma_flushes(a, b, c);
    return flushes ? bits_float(u & 0x80000000u) : x;
}

/* rn(a + b): sums of normal numbers are exact where they are small. */
static inline float ftz_add(float a, float b) {
    return ftz(a + b);
}

#endif
