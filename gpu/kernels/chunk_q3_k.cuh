// q3_K: 110 B a super-block of 256 values = 32 bytes of top bits @0 (bit s of byte l: value l of chunk s), 64 bytes of
// bit pairs @32 as in q2_K, 12 scale bytes @96, f16 d @108. x = d (c - 32) (n - 4). c has 6 bits, of sub-block j: low
// half of byte j (j < 8) or high half of byte j - 8, and bit pair j / 4 of byte 8 + j % 4.
#pragma once
#include "chunk.cuh"

struct Q3_K {
    static constexpr int BYTES = 110, CHUNKS = 8;
    using Chunk = HalvesChunk;
    static __device__ __forceinline__ void load(Chunk &c, const uint8_t *block, int s) {
        const uint8_t *pairs = block + 32 + s / 4 * 32;
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            const uint32_t n = (load_u16x2(pairs + 4 * i) >> 2 * (s % 4) & 0x03030303) |
                               (load_u16x2(block + 4 * i) >> s & 0x01010101) << 2;
            c.n[i] = (n + 0x7c7c7c7c) ^ 0x80808080; // n - 4 in every byte: no carry leaves one
        }
        const float d = load_half(block + 108);
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            const int j = 2 * s + h;
            const int scale = (block[96 + j % 8] >> 4 * (j / 8) & 15) | (block[104 + j % 4] >> 2 * (j / 4) & 3) << 4;
            c.ds[h] = __fmul_rn(d, __int2float_rn(scale - 32));
        }
    }
};
