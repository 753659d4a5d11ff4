// pad40_t on the device: activations for 64-token tiles (ref/pad40_t.h), in two planes of one buffer, first
//   yqs   [ceil(nt / 64)][id / 32][64 tokens][32 B]   int8 values, laid out by XorRows (stage_pad40.cuh), then
//   ysda  [ceil(nt / 64)][id / 32][64] words          f16 d | int16 sum, at QMajorWords
// Tokens past nt are zero. So a tile's chunks lie in memory as they lie in shared memory.
#pragma once
#include "pad40.cuh"

constexpr int PAD40_T_TOKENS = 64;
constexpr int PAD40_T_QUANTS = PAD40_T_TOKENS * 32; // bytes of a tile's chunk in yqs
constexpr int PAD40_T_WORDS = PAD40_T_TOKENS * 4;   // in ysda

// Where ysda begins.
__device__ __forceinline__ int64_t pad40_t_words_at(int nt, int chunks) {
    return (int64_t)((nt + PAD40_T_TOKENS - 1) / PAD40_T_TOKENS) * chunks * PAD40_T_QUANTS;
}
