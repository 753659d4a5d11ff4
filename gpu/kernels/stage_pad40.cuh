// Staging of pad40 activations (tokens, id / 32) into shared memory: KD chunks of 32 values of a tile of TOKENS tokens,
// by THREADS threads. Tokens past nt are zero. An element is what one thread moves at a time; elements i, of which a
// thread takes every THREADS-th, have the chunk or the half of it fastest.
#pragma once
#include "pad40.cuh"

// Where half `half` (16 B) of the chunk of token t lies in a plane [TOKENS][32 B].
struct LinearRows {
    static __device__ __forceinline__ int at(int t, int half) { return t * 32 + 16 * half; }
};
// The eight 16-byte granules of four rows exchanged with a pattern that changes every four rows: ldmatrix reads eight
// rows of the plane, one half of each, from eight distinct bank groups.
struct XorRows {
    static __device__ __forceinline__ int at(int t, int half) {
        return (t >> 2) * 128 + 16 * (((t & 3) * 2 + half) ^ (t >> 2 & 7));
    }
};

// plane [KD][TOKENS][32 B] of int8; an element is 16 B.
template <int KD>
__device__ __forceinline__ uint4 load_quants(const uint8_t *x, int t0, int nt, int chunk0, int chunks, unsigned i) {
    const int half = i % 2, kd = i / 2 % KD, t = i / 2 / KD;
    uint4 v = make_uint4(0, 0, 0, 0);
    if (t0 + t < nt) {
        const uint8_t *block = x + ((int64_t)(t0 + t) * chunks + chunk0 + kd) * PAD40_BYTES;
        const uint32_t *q = (const uint32_t *)(block + PAD40_QUANTS + 16 * half); // 4-byte aligned only
        v = make_uint4(q[0], q[1], q[2], q[3]);
    }
    return v;
}
template <int KD, int TOKENS, class Rows>
__device__ __forceinline__ void store_quants(uint8_t *plane, uint4 v, unsigned i) {
    const int half = i % 2, kd = i / 2 % KD, t = i / 2 / KD;
    *(uint4 *)(plane + kd * TOKENS * 32 + Rows::at(t, half)) = v;
}
template <int KD, int TOKENS, int THREADS, class Rows = LinearRows>
__device__ __forceinline__ void stage_quants(uint8_t *plane, const uint8_t *x, int t0, int nt, int chunk0, int chunks) {
    for (unsigned i = threadIdx.x; i < KD * TOKENS * 2; i += THREADS) {
        store_quants<KD, TOKENS, Rows>(plane, load_quants<KD>(x, t0, nt, chunk0, chunks, i), i);
    }
}

// plane [KD][SLOTS groups of 16 tokens][8] uint2: the scale words of tokens (t, t+8) as one pair, the width they are
// read with. SLOTS may be more than there are groups.
template <int KD>
__device__ __forceinline__ uint2 load_word_pair(const uint8_t *x, int t0, int nt, int chunk0, int chunks, unsigned i) {
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
    return v;
}
template <int KD, int SLOTS> __device__ __forceinline__ void store_word_pair(uint8_t *plane, uint2 v, unsigned i) {
    const int kd = i % KD, r = i / KD % 8, group = i / KD / 8;
    *(uint2 *)(plane + ((kd * SLOTS + group) * 8 + r) * 8) = v;
}
template <int KD, int TOKENS, int SLOTS, int THREADS>
__device__ __forceinline__ void stage_word_pairs(uint8_t *plane, const uint8_t *x, int t0, int nt, int chunk0,
                                                 int chunks) {
    for (unsigned i = threadIdx.x; i < KD * TOKENS / 2; i += THREADS) {
        store_word_pair<KD, SLOTS>(plane, load_word_pair<KD>(x, t0, nt, chunk0, chunks, i), i);
    }
}

// Which word of a chunk's plane is the scale word of token t.
struct LinearWords {
    static __device__ __forceinline__ int at(int t) { return t; }
};
// q-major: the words of tokens q, q+8, q+16, q+24 side by side, so that one 16-byte read serves two groups of 16.
struct QMajorWords {
    static __device__ __forceinline__ int at(int t) { return (t >> 5) * 32 + (t & 7) * 4 + (t >> 3 & 3); }
};

// plane [KD][SLOTS] words, of which TOKENS are used; an element is a word.
template <int KD>
__device__ __forceinline__ uint32_t load_word(const uint8_t *x, int t0, int nt, int chunk0, int chunks, unsigned i) {
    const int kd = i % KD, t = i / KD;
    return t0 + t < nt ? pad40_scale_word(x + ((int64_t)(t0 + t) * chunks + chunk0 + kd) * PAD40_BYTES) : 0;
}
template <int KD, int SLOTS, class Words>
__device__ __forceinline__ void store_word(uint8_t *plane, uint32_t v, unsigned i) {
    const int kd = i % KD, t = i / KD;
    *(uint32_t *)(plane + (kd * SLOTS + Words::at(t)) * 4) = v;
}
template <int KD, int TOKENS, int SLOTS, int THREADS, class Words = LinearWords>
__device__ __forceinline__ void stage_words(uint8_t *plane, const uint8_t *x, int t0, int nt, int chunk0, int chunks) {
    for (unsigned i = threadIdx.x; i < KD * TOKENS; i += THREADS) {
        store_word<KD, SLOTS, Words>(plane, load_word<KD>(x, t0, nt, chunk0, chunks, i), i);
    }
}
