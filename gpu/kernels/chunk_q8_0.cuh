// q8_0: 34 B for 32 values = f16 d @0, 32 int8 @2; x = d * n.
#pragma once
#include "chunk.cuh"

struct Q8_0 {
    static constexpr int BYTES = 34, CHUNKS = 1;
    using Chunk = OffsetChunk<0>;
    static __device__ __forceinline__ void load(Chunk &c, const uint8_t *block, int) {
        c.d = load_half(block);
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            c.n[i] = load_u16x2(block + 2 + 4 * i);
        }
    }
};
