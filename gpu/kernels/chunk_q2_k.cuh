// q2_K: 84 B a super-block of 256 values = 16 bytes @0 (low half scale, high half minimum of a sub-block of 16), 64
// bytes of bit pairs @16, f16 d @80, f16 dmin @82. With h = s / 4 and r = s % 4 chunk s is bit pair r of bytes 32h ..
#pragma once
#include "chunk.cuh"

struct Q2_K {
    static constexpr int BYTES = 84, CHUNKS = 8;
    using Chunk = HalvesAffineChunk;
    static __device__ __forceinline__ void load(Chunk &c, const uint8_t *block, int s) {
        const uint32_t *codes = (const uint32_t *)(block + 16 + s / 4 * 32); // 84 is a multiple of 4
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            c.n[i] = codes[i] >> 2 * (s % 4) & 0x03030303;
        }
        const uint32_t both = *(const uint32_t *)(block + 80), scales = *(const uint16_t *)(block + 2 * s);
        const float d = half_value(both & 0xffff), dmin = half_value(both >> 16);
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            c.ds[h] = __fmul_rn(d, __int2float_rn(scales >> 8 * h & 15));
            c.dm[h] = -__fmul_rn(dmin, __int2float_rn(scales >> (8 * h + 4) & 15));
        }
    }
};
