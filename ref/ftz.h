/* f32 arithmetic as PTX has it under .ftz, rounded to nearest, ties to even: operands and results that are subnormal
 * become zeros of their sign. Source: PTX ISA 9.7.3 `add`, `mul`, `fma`; NaN and the edge as measured on sm_90.
 *
 * Whether a result is subnormal shows when it is rounded to 24 bits with no end to the exponents: what is below
 * 2^-126 - 2^-151 is flushed. (IEEE 754 rounds to the wider steps of the subnormal numbers, so that from 2^-126 -
 * 2^-150 on the result is 2^-126.) */
#ifndef REF_FTZ_H
#define REF_FTZ_H

#include "half.h"
#include <math.h>
#include <stdbool.h>

/* x flushed; every NaN gives 0x7fffffff. */
static inline float ftz(float x) {
    uint32_t bits = float_bits(x), magnitude = bits & 0x7fffffff;
    return magnitude > 0x7f800000 ? bits_float(0x7fffffff) : magnitude < 0x00800000 ? bits_float(bits & 0x80000000) : x;
}

/* Sums of normal numbers are exact where they are small. */
static inline float ftz_add(float a, float b) {
    return ftz(ftz(a) + ftz(b));
}

/* a * b + c lies below the edge; operands that are not subnormal. The product is exact in float64, and rest is what
 * rounding took from the sum. */
static inline bool ftz_fma_below(float a, float b, float c) {
    const double edge = 0x1p-126 - 0x1p-151;
    const double p = (double)a * b, sum = p + c, part = sum - p, rest = (p - (sum - part)) + (c - part);
    const double size = fabs(sum), away_from_zero = sum > 0 ? rest : -rest;
    return size < edge || (size <= edge && away_from_zero < 0);
}

/* rn(a * b + c) of operands that are not subnormal, a NaN as it comes: for inner loops. One test keeps all but zeros
 * and the smallest results out of the rest. */
static inline float ftz_fma_of_normal(float a, float b, float c) {
    const float x = fmaf(a, b, c);
    const uint32_t bits = float_bits(x), magnitude = bits & 0x7fffffff;
    if (magnitude > 0x00800000)
        return x;
    return magnitude < 0x00800000 || ftz_fma_below(a, b, c) ? bits_float(bits & 0x80000000) : x;
}
static inline float ftz_fma(float a, float b, float c) {
    return ftz(ftz_fma_of_normal(ftz(a), ftz(b), ftz(c)));
}
static inline float ftz_mul(float a, float b) {
    const float sign_of_product = bits_float((float_bits(a) ^ float_bits(b)) & 0x80000000);
    return ftz_fma(a, b, sign_of_product);
}

#endif
