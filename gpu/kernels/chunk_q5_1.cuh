// q5_1: 24 B for 32 values = f16 d @0, f16 m @2, 4 bytes of fifth bits @4 (bit k of value k), 16 nibble bytes @8;
// x = d * n + m.
#pragma once
#include "chunk.cuh"

struct Q5_1 {
    static constexpr int BYTES = 24, CHUNKS = 1;
    using Chunk = AffineChunk;
    static __device__ __forceinline__ void load(Chunk &c, const uint8_t *block, int) {
        const uint32_t *words = (const uint32_t *)block; // 24 is a multiple of 4
        c.ds = half_value(words[0] & 0xffff);
        c.dm = half_value(words[0] >> 16);
        const uint32_t high = words[1];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            split_nibbles(c.n, i, words[2 + i]);
            c.n[i] |= fifth_bits(high >> 4 * i);
            c.n[i + 4] |= fifth_bits(high >> (16 + 4 * i));
        }
    }
};
