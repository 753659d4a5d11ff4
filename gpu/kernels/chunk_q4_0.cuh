// q4_0: 18 B for 32 values = f16 d @0, 16 nibble bytes @2; x = d * (n - 8).
#pragma once
#include "chunk.cuh"

struct Q4_0 {
    static constexpr int BYTES = 18, CHUNKS = 1;
    using Chunk = OffsetChunk<8>;
    static __device__ __forceinline__ void load(Chunk &c, const uint8_t *block, int) {
        c.d = load_half(block);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            split_nibbles(c.n, i, load_u16x2(block + 2 + 4 * i));
        }
    }
};
