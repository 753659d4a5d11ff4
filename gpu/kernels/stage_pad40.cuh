// Staging of pad40 activations (tokens, id / 32) into shared memory: KD chunks of 32 values of a tile of TOKENS tokens,
// by THREADS threads. Tokens past nt are zero.
#pragma once
#include "pad40.cuh"

// Where half `half` (16 B) of the chunk of token t lies in a plane [TOKENS][32 B].
struct LinearRows {
    static __device__ __forceinline__ int at(int t, int half) { return t * 32 + 16 * half; }
};

// plane [KD][TOKENS][32 B] of int8; a step moves 16 B of one token's chunk.
template <int KD, int TOKENS, int THREADS, class Rows = LinearRows>
__device__ __forceinline__ void stage_quants(uint8_t *plane, const uint8_t *x, int t0, int nt, int chunk0, int chunks) {
    for (int i = threadIdx.x; i < KD * TOKENS * 2; i += THREADS) {
        const int half = i % 2, kd = i / 2 % KD, t = i / 2 / KD;
        uint4 v = make_uint4(0, 0, 0, 0);
        if (t0 + t < nt) {
            const uint8_t *block = x + ((int64_t)(t0 + t) * chunks + chunk0 + kd) * PAD40_BYTES;
            const uint32_t *q = (const uint32_t *)(block + PAD40_QUANTS + 16 * half); // 4-byte aligned only
            v = make_uint4(q[0], q[1], q[2], q[3]);
        }
        *(uint4 *)(plane + kd * TOKENS * 32 + Rows::at(t, half)) = v;
    }
}

// plane [KD][SLOTS groups of 16 tokens][8] uint2: the scale words of tokens (t, t+8) as one pair. A group has a slot;
// SLOTS may be more than there are groups.
template <int KD, int TOKENS, int SLOTS, int THREADS>
__device__ __forceinline__ void stage_scale_words(uint8_t *plane, const uint8_t *x, int t0, int nt, int chunk0,
                                                  int chunks) {
    for (int i = threadIdx.x; i < KD * TOKENS / 2; i += THREADS) {
        const int kd = i % KD, r = i / KD % 8, group = i / KD / 8;
        const int t = t0 + group * 16 + r;
        const uint8_t *block = x + ((int64_t)t * chunks + chunk0 + kd) * PAD40_BYTES;
        uint2 v = make_uint2(0, 0);
        if (t < nt) {
            v.x = pad40_scale_word(block);
        }
        if (t + 8 < nt) {
            v.y = pad40_scale_word(block + (int64_t)8 * chunks * PAD40_BYTES);
        }
        *(uint2 *)(plane + ((kd * SLOTS + group) * 8 + r) * 8) = v;
    }
}
