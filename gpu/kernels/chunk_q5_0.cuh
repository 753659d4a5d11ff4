// q5_0: 22 B for 32 values = f16 d @0, 4 bytes of fifth bits @2 (bit k of value k), 16 nibble bytes @6; x = d (n - 16).
#pragma once
#include "chunk.cuh"

struct Q5_0 {
    static constexpr int BYTES = 22, CHUNKS = 1;
    using Chunk = OffsetChunk<16>;
    static __device__ __forceinline__ void load(Chunk &c, const uint8_t *block, int) {
        c.d = load_half(block);
        const uint32_t high = load_u16x2(block + 2); // every other block begins between two words
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            split_nibbles(c.n, i, load_u16x2(block + 6 + 4 * i));
            c.n[i] |= fifth_bits(high >> 4 * i);
            c.n[i + 4] |= fifth_bits(high >> (16 + 4 * i));
        }
    }
};
