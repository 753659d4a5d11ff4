// q5_K: 176 B a super-block of 256 values = f16 d @0, f16 dmin @2, 12 scale bytes @4 as in q4_K, 32 bytes of fifth bits
// @16, 128 nibble bytes @48 as in q4_K. Bit s of byte l of the fifth bits is of value l of sub-block s: all sub-blocks
// share these bytes. x = ds * n + dm with ds = d * sc, dm = -(dmin * m), both exact.
#pragma once
#include "chunk.cuh"
#include "q4_k.cuh"

struct Q5_K {
    static constexpr int BYTES = 176, CHUNKS = 8;
    using Chunk = AffineChunk;
    static __device__ __forceinline__ void load(Chunk &c, const uint8_t *block, int s) {
        const float2 pair = q4_k_scale_pair(block, s); // its first 16 bytes are those of q4_K
        c.ds = pair.x;
        c.dm = pair.y;
        const uint4 *high = (const uint4 *)(block + 16), *low = (const uint4 *)(block + 48 + s / 2 * 32);
        const uint4 h0 = high[0], h1 = high[1], l0 = low[0], l1 = low[1]; // 176 is a multiple of 16
        const uint32_t h[8] = {h0.x, h0.y, h0.z, h0.w, h1.x, h1.y, h1.z, h1.w};
        const uint32_t l[8] = {l0.x, l0.y, l0.z, l0.w, l1.x, l1.y, l1.z, l1.w};
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            c.n[i] = (l[i] >> 4 * (s & 1) & 0x0f0f0f0f) | (h[i] >> s & 0x01010101) << 4;
        }
    }

    // Chunks 2p and 2p + 1, which are the low and the high halves of the same bytes.
    static __device__ __forceinline__ void load_pair(Chunk (&c)[2], const uint8_t *block, int p) {
        const uint4 *high = (const uint4 *)(block + 16), *low = (const uint4 *)(block + 48 + 32 * p);
        const uint4 h0 = high[0], h1 = high[1], l0 = low[0], l1 = low[1];
        const uint32_t h[8] = {h0.x, h0.y, h0.z, h0.w, h1.x, h1.y, h1.z, h1.w};
        const uint32_t l[8] = {l0.x, l0.y, l0.z, l0.w, l1.x, l1.y, l1.z, l1.w};
#pragma unroll
        for (int j = 0; j < 2; ++j) {
            const float2 pair = q4_k_scale_pair(block, 2 * p + j);
            c[j].ds = pair.x;
            c[j].dm = pair.y;
#pragma unroll
            for (int i = 0; i < 8; ++i) {
                c[j].n[i] = (l[i] >> 4 * j & 0x0f0f0f0f) | (h[i] >> (2 * p + j) & 0x01010101) << 4;
            }
        }
    }
};
