// Quantising 32 values to int8 by a warp, a lane one value: the rule of pad40 (ref/pad40.c).
//
// amax = max |x| ; d = rn(amax / 127) ; inv = rn(1 / d), 0 if d = 0 ; q = rn_even(rn(x * inv)) clamped to -128 .. 127.
// The inverse comes from the d that is *not* rounded to f16: dequantisation uses another d than quantisation did, and a
// reference must do the same.
#pragma once
#include "ptx_asm.cuh"

struct QuantizedWarp {
    float d;       // of all 32 values
    int sum;       // of their q
    uint32_t word; // four values; lane 4u and the three after it have values 4u .. 4u + 3
};
__device__ __forceinline__ QuantizedWarp quantize_warp(float value, int lane) {
    float amax = fabsf(value);
    for (int mask = 16; mask > 0; mask >>= 1) {
        amax = fmaxf(amax, __uint_as_float(shuffle_xor(__float_as_uint(amax), mask)));
    }
    const float d = __fdiv_rn(amax, 127.0f);
    const float inverse = d == 0.0f ? 0.0f : __frcp_rn(d);
    const int q = max(-128, min(127, __float2int_rn(__fmul_rn(value, inverse))));

    int sum = q;
    for (int mask = 16; mask > 0; mask >>= 1) {
        sum += (int)shuffle_xor((uint32_t)sum, mask);
    }
    uint32_t word = (uint32_t)(q & 255) << (8 * (lane & 3));
    word |= shuffle_xor(word, 1);
    word |= shuffle_xor(word, 2);
    return {d, sum, word};
}
