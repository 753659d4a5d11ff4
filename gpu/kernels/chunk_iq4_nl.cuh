// iq4_nl: 18 B for 32 values = f16 d @0, 16 nibble bytes @2; x = d * code.
#pragma once
#include "chunk_iq4.cuh"

struct Iq4_Nl {
    static constexpr int BYTES = 18, CHUNKS = 1;
    using Chunk = OffsetChunk<0>;
    static __device__ __forceinline__ void load(Chunk &c, const uint8_t *block, int) {
        c.d = load_half(block);
        iq4_codes<2>(c.n, block + 2);
    }
};
