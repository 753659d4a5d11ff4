// Staging of whole blocks into shared memory by cp.async, by THREADS threads; blocks that do not exist become zeros.
// The caller commits.
#pragma once
#include "pad40.cuh"
#include "q4_k.cuh"

// plane [KD][TOKENS][40 B]: pad40 blocks of KD chunks of a tile of tokens.
template <int KD, int TOKENS, int THREADS>
__device__ __forceinline__ void copy_pad40(uint32_t plane, const uint8_t *x, int t0, int nt, int chunk0, int chunks) {
    for (unsigned i = threadIdx.x; i < KD * TOKENS * 5; i += THREADS) {
        const int piece = i % 5, kd = i / 5 % KD, t = i / 5 / KD; // 8 bytes: what 40 B blocks are aligned to
        const bool there = t0 + t < nt;
        const uint8_t *block = x + ((int64_t)(there ? t0 + t : 0) * chunks + chunk0 + kd) * PAD40_BYTES;
        copy_async<8>(plane + (kd * TOKENS + t) * PAD40_BYTES + 8 * piece, block + 8 * piece, there);
    }
}

// plane [ROWS][144 B]: q4_K blocks, one super-block of every row of a tile.
template <int ROWS, int THREADS>
__device__ __forceinline__ void copy_q4_k(uint32_t plane, const uint8_t *w, int j0, int od, int super, int supers) {
    for (unsigned i = threadIdx.x; i < ROWS * 9; i += THREADS) {
        const int piece = i % 9, j = i / 9;
        const bool there = j0 + j < od;
        const uint8_t *block = w + ((int64_t)(there ? j0 + j : 0) * supers + super) * Q4_K_BYTES;
        copy_async<16>(plane + j * Q4_K_BYTES + 16 * piece, block + 16 * piece, there);
    }
}
