// Folding the exact integer sums of a chunk of 32 into float accumulators, with every rounding stated. Element l of an
// accumulator: token l / 2 of the lane's two, row l % 2 of its two.
#pragma once
#include "ptx_asm.cuh"

// da and sum of two tokens from their scale words (f16 d | int16 sum).
struct TokenPair {
    float da[2], sa[2];
};
__device__ __forceinline__ TokenPair token_pair(uint32_t first, uint32_t second) {
    return {{half_value(first & 0xffff), half_value(second & 0xffff)},
            {__int2float_rn((int)first >> 16), __int2float_rn((int)second >> 16)}};
}

// s = fma(rn(da * ds), dot, s) ; s = fma(rn(da * dm), sum, s). scale = (ds, dm) of both rows.
__device__ __forceinline__ void fold_two_term(float (&sum)[4], const int32_t (&dot)[4], const TokenPair &t,
                                              float4 scale) {
#pragma unroll
    for (int l = 0; l < 4; ++l) {
        const float ds = l % 2 ? scale.z : scale.x, dm = l % 2 ? scale.w : scale.y;
        float &s = sum[l];
        s = __fmaf_rn(__fmul_rn(t.da[l / 2], ds), __int2float_rn(dot[l]), s);
        s = __fmaf_rn(__fmul_rn(t.da[l / 2], dm), t.sa[l / 2], s);
    }
}

// The min term's share of a token, once for all rows: dma = rn(da * (float)sum).
struct TokenPairRank1 {
    float da[2], dma[2];
};
__device__ __forceinline__ TokenPairRank1 rank_1(const TokenPair &t) {
    return {{t.da[0], t.da[1]}, {__fmul_rn(t.da[0], t.sa[0]), __fmul_rn(t.da[1], t.sa[1])}};
}
__device__ __forceinline__ TokenPairRank1 token_pair_rank_1(uint32_t first, uint32_t second) {
    return rank_1(token_pair(first, second));
}

// s = fma(rn(da * ds), dot, s) ; s = fma(dma, dm, s). scale = (ds, dm) of both rows.
__device__ __forceinline__ void fold_rank_1(float (&sum)[4], const int32_t (&dot)[4], const TokenPairRank1 &t,
                                            float4 scale) {
#pragma unroll
    for (int l = 0; l < 4; ++l) {
        const float ds = l % 2 ? scale.z : scale.x, dm = l % 2 ? scale.w : scale.y;
        float &s = sum[l];
        s = __fmaf_rn(__fmul_rn(t.da[l / 2], ds), __int2float_rn(dot[l]), s);
        s = __fmaf_rn(t.dma[l / 2], dm, s);
    }
}

// The two folds, for a tile that takes either.
struct TwoTerm {
    using Tokens = TokenPair;
    static __device__ __forceinline__ Tokens tokens(const TokenPair &t) { return t; }
    static __device__ __forceinline__ void fold(float (&sum)[4], const int32_t (&dot)[4], const Tokens &t,
                                                float4 scale) {
        fold_two_term(sum, dot, t, scale);
    }
};
struct Rank1 {
    using Tokens = TokenPairRank1;
    static __device__ __forceinline__ Tokens tokens(const TokenPair &t) { return rank_1(t); }
    static __device__ __forceinline__ void fold(float (&sum)[4], const int32_t (&dot)[4], const Tokens &t,
                                                float4 scale) {
        fold_rank_1(sum, dot, t, scale);
    }
};
