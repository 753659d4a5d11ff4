// q4_1: 20 B for 32 values = f16 d @0, f16 m @2, 16 nibble bytes @4; x = d * n + m.
#pragma once
#include "chunk.cuh"

struct Q4_1 {
    static constexpr int BYTES = 20, CHUNKS = 1;
    using Chunk = AffineChunk;
    static __device__ __forceinline__ void load(Chunk &c, const uint8_t *block, int) {
        const uint32_t *words = (const uint32_t *)block; // 20 is a multiple of 4
        c.ds = half_value(words[0] & 0xffff);
        c.dm = half_value(words[0] >> 16);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            split_nibbles(c.n, i, words[1 + i]);
        }
    }
};
