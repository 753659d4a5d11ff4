// q4_K on the device: 144 B a super-block of 256 values = f16 d @0, f16 dmin @2, 12 scale bytes @4, 128 nibble bytes
// @16. Sub-block s holds values 32s .. 32s+31 in the low (s even) or high (s odd) nibbles of bytes 32*(s/2) ...
#pragma once
#include "ptx_asm.cuh"

constexpr int Q4_K_BYTES = 144;
constexpr int Q4_K_NIBBLES = 16; // offset of the nibble bytes

// Scale and min of sub-block s from the 12 scale bytes as three little-endian words.
__device__ __forceinline__ void q4_k_scale_min(uint32_t w0, uint32_t w1, uint32_t w2, int s, int &scale, int &min) {
    const int shift = 8 * (s & 3);
    const uint32_t a = w0 >> shift, b = w1 >> shift, c = w2 >> shift;
    scale = s < 4 ? a & 63 : (c & 15) | ((a >> 6 & 3) << 4);
    min = s < 4 ? b & 63 : (c >> 4 & 15) | ((b >> 6 & 3) << 4);
}

// (d * sc, -dmin * m) of sub-block s, each product rounded to nearest.
__device__ __forceinline__ float2 q4_k_scale_pair(const uint8_t *block, int s) {
    const uint32_t *words = (const uint32_t *)block; // 144 is a multiple of 4
    int scale, min;
    q4_k_scale_min(words[1], words[2], words[3], s, scale, min);
    const float d = half_value(words[0] & 0xffff), dmin = half_value(words[0] >> 16);
    return make_float2(__fmul_rn(d, __int2float_rn(scale)), -__fmul_rn(dmin, __int2float_rn(min)));
}
