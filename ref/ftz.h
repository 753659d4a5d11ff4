/* f32 arithmetic as PTX has it under .ftz: inputs and results that are subnormal become zeros of their sign; nearest
 * even; every NaN result is 0x7fffffff. Source: PTX ISA 9.7.3 `add`, `mul`, `fma`; NaN as measured on sm_90. */
#ifndef REF_FTZ_H
#define REF_FTZ_H

#include "half.h"
#include <math.h>

static inline float ftz(float x) {
    uint32_t bits = float_bits(x), magnitude = bits & 0x7fffffff;
    return magnitude > 0x7f800000 ? bits_float(0x7fffffff) : magnitude < 0x00800000 ? bits_float(bits & 0x80000000) : x;
}
static inline float ftz_add(float a, float b) {
    return ftz(ftz(a) + ftz(b));
}
static inline float ftz_mul(float a, float b) {
    return ftz(ftz(a) * ftz(b));
}
static inline float ftz_fma(float a, float b, float c) {
    return ftz(fmaf(ftz(a), ftz(b), ftz(c)));
}

#endif
