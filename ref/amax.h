/* max |x| as max.f32 of PTX takes it: exact; a NaN loses against a number, NaN alone gives 0x7fffffff. */
#ifndef REF_AMAX_H
#define REF_AMAX_H

#include "half.h"
#include <stddef.h>

/* By the bits: magnitudes of floats order as integers, and no library's view of signalling NaNs comes in. */
static inline float amax_of(const float *in, size_t count) {
    const uint32_t infinity = 0x7f800000, nan = 0x7fffffff;
    uint32_t largest = 0;
    size_t numbers = 0;
    for (size_t k = 0; k < count; k++) {
        uint32_t magnitude = float_bits(in[k]) & 0x7fffffff;
        if (magnitude > infinity)
            continue;
        numbers++;
        largest = magnitude > largest ? magnitude : largest;
    }
    return bits_float(numbers ? largest : nan);
}

#endif
