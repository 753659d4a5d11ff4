// q4_K: chunk s of a super-block is its sub-block s (q4_k.cuh); x = ds * n + dm with ds = d * sc, dm = -(dmin * m),
// both exact.
#pragma once
#include "chunk.cuh"
#include "q4_k.cuh"

struct Q4_K {
    static constexpr int BYTES = Q4_K_BYTES, CHUNKS = 8;
    using Chunk = AffineChunk;
    static __device__ __forceinline__ void load(Chunk &c, const uint8_t *block, int s) {
        const float2 pair = q4_k_scale_pair(block, s);
        c.ds = pair.x;
        c.dm = pair.y;
        const uint4 *words = (const uint4 *)(block + Q4_K_NIBBLES + s / 2 * 32); // 144 is a multiple of 16
        const uint4 lo = words[0], hi = words[1];
        const uint32_t word[8] = {lo.x, lo.y, lo.z, lo.w, hi.x, hi.y, hi.z, hi.w};
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            c.n[i] = word[i] >> 4 * (s & 1) & 0x0f0f0f0f;
        }
    }

    // Chunks 2p and 2p + 1, which are the low and the high halves of the same bytes.
    static __device__ __forceinline__ void load_pair(Chunk (&c)[2], const uint8_t *block, int p) {
        const uint4 *words = (const uint4 *)(block + Q4_K_NIBBLES + 32 * p);
        const uint4 lo = words[0], hi = words[1];
        const uint32_t word[8] = {lo.x, lo.y, lo.z, lo.w, hi.x, hi.y, hi.z, hi.w};
#pragma unroll
        for (int j = 0; j < 2; ++j) {
            const float2 pair = q4_k_scale_pair(block, 2 * p + j);
            c[j].ds = pair.x;
            c[j].dm = pair.y;
#pragma unroll
            for (int i = 0; i < 8; ++i) {
                c[j].n[i] = word[i] >> 4 * j & 0x0f0f0f0f;
            }
        }
    }
};
