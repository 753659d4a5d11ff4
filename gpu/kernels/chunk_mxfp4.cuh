// mxfp4: 17 B for 32 values = a power of two @0, 2^(e - 128), and 16 nibble bytes @1, at any address; x = d * code with
// twice the numbers of E2M1 as codes. Nibble 8 is 0.
#pragma once
#include "chunk.cuh"

constexpr uint64_t MXFP4_LOW = 0x0c08060403020100, MXFP4_HIGH = 0xf4f8fafcfdfeff00;

struct Mxfp4 {
    static constexpr int BYTES = 17, CHUNKS = 1;
    using Chunk = OffsetChunk<0>;
    static __device__ __forceinline__ void load(Chunk &c, const uint8_t *block, int) {
        const uint32_t e = block[0];
        c.d = __uint_as_float(e < 2 ? 0x00200000u << e : (e - 1) << 23); // the first two are subnormal
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const uint8_t *p = block + 1 + 4 * i;
            split_nibbles(c.n, i, p[0] | p[1] << 8 | p[2] << 16 | (uint32_t)p[3] << 24);
            c.n[i] = table_codes(c.n[i], MXFP4_LOW, MXFP4_HIGH);
            c.n[i + 4] = table_codes(c.n[i + 4], MXFP4_LOW, MXFP4_HIGH);
        }
    }
};
