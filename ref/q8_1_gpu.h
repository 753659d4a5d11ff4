/* What llama.cpp's two GPU quantisers of q8_1 blocks share. Their arithmetic is f32 with .ftz (-use_fast_math). */
#ifndef REF_Q8_1_GPU_H
#define REF_Q8_1_GPU_H

#include "amax.h"
#include "ftz.h"
#include <math.h>
#include <stddef.h>
#include <stdint.h>

/* max |x| with subnormals as 0 (abs.ftz, max.ftz). */
static inline float q8_1_gpu_amax(const float *in, size_t count) {
    return ftz(amax_of(in, count));
}

/* The code of a scaled value v: to the nearest integer, halves away from zero (add.rz.ftz(v, copysign(0.5, v)) and
 * cvt.rzi twice), held to int32, and of that the low byte. NaN gives 0. So +infinity is -1 and -infinity 0. */
static inline int8_t q8_1_gpu_code(float v) {
    if (isnan(v))
        return 0;
    double whole = trunc((double)v + copysign(0.5, (double)v)); /* exact up to 2^29; from 2^23 on v is whole itself */
    int32_t held = whole >= 0x1p31 ? INT32_MAX : whole <= -0x1p31 ? INT32_MIN : (int32_t)whole;
    return (int8_t)(held & 0xff);
}

/* Sum of lanes v[0 .. lanes - 1] by butterflies: lane i adds lane i xor lanes/2, then lanes/4, ... 1; lane 0's result.
 * Every lane gets the same bits but for NaN, since addition commutes. v is overwritten. lanes: a power of two. */
static inline float q8_1_gpu_sum(float *v, size_t lanes) {
    for (size_t half = lanes / 2; half > 0; half /= 2)
        for (size_t i = 0; i < half; i++)
            v[i] = ftz_add(v[i], v[i + half]);
    return v[0];
}

#endif
