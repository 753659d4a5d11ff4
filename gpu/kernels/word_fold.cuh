// How the word-stage kernels scale a chunk, by what the format gives (chunk.cuh): which scales are staged, which a lane
// loads, and mma with the additions that follow. Every rounding is stated; one accumulator's cells are l / 2 of the
// lane's two tokens, l % 2 of its two rows.
#pragma once
#include "chunk.cuh"
#include "rescale.cuh"
#include "two_halves.cuh"

// The planes of scales of one stage, at one chunk: byte offsets from there to the same place of the others.
struct ScalePlanes {
    int sds1, sdm; // from sds
};

template <class Chunk> struct WordFold;

// s = fma(rn(da * d), dot, s), codes signed.
template <int OFFSET> struct WordFold<OffsetChunk<OFFSET>> {
    static constexpr bool SUMS = false; // of the activations: not needed
    using Rows = float2;                // d of two rows
    static __device__ __forceinline__ void centre(OffsetChunk<OFFSET> &c) {
        if (OFFSET > 0) { // of codes below 2 * OFFSET, so that no carry leaves a byte
#pragma unroll
            for (int i = 0; i < 8; ++i) {
                c.n[i] = (c.n[i] + (0x80 - OFFSET) * 0x01010101u) ^ 0x80808080;
            }
        }
    }
    static __device__ __forceinline__ void store(uint8_t *sds, const OffsetChunk<OFFSET> &c, ScalePlanes) {
        *(float *)sds = c.d;
    }
    static __device__ __forceinline__ Rows rows(const uint8_t *sds, ScalePlanes) { return *(const float2 *)sds; }
    static __device__ __forceinline__ void fold(float (&sum)[4], const uint32_t (&a)[4], const uint32_t (&b)[2],
                                                const TokenPair &t, const Rows &d) {
        int32_t dot[4];
        mma_m16n8k32_s8(dot, a, b[0], b[1]);
#pragma unroll
        for (int l = 0; l < 4; ++l) {
            sum[l] = __fmaf_rn(__fmul_rn(t.da[l / 2], l % 2 ? d.y : d.x), __int2float_rn(dot[l]), sum[l]);
        }
    }
};

// s = fma(rn(da * ds), dot, s) ; s = fma(rn(da * dm), sum, s), codes unsigned.
template <> struct WordFold<AffineChunk> {
    static constexpr bool SUMS = true;
    using Rows = float4; // (ds, dm) of two rows
    static __device__ __forceinline__ void centre(AffineChunk &) {}
    static __device__ __forceinline__ void store(uint8_t *sds, const AffineChunk &c, ScalePlanes to) {
        *(float *)sds = c.ds;
        *(float *)(sds + to.sdm) = c.dm;
    }
    static __device__ __forceinline__ Rows rows(const uint8_t *sds, ScalePlanes to) {
        const float2 ds = *(const float2 *)sds, dm = *(const float2 *)(sds + to.sdm);
        return make_float4(ds.x, dm.x, ds.y, dm.y);
    }
    static __device__ __forceinline__ void fold(float (&sum)[4], const uint32_t (&a)[4], const uint32_t (&b)[2],
                                                const TokenPair &t, const Rows &scale) {
        int32_t dot[4];
        mma_m16n8k32_s8(dot, a, b[0], b[1]);
        fold_two_term(sum, dot, t, scale);
    }
};

// s = fma(rn(da * ds_0), dot_0, s) ; s = fma(rn(da * ds_1), dot_1, s): halves of 16 values, each with its mma.
template <> struct WordFold<HalvesChunk> {
    static constexpr bool SUMS = false;
    using Rows = float4; // (ds_0, ds_1) of two rows
    static __device__ __forceinline__ void centre(HalvesChunk &) {} // signed already
    static __device__ __forceinline__ void store(uint8_t *sds, const HalvesChunk &c, ScalePlanes to) {
        *(float *)sds = c.ds[0];
        *(float *)(sds + to.sds1) = c.ds[1];
    }
    static __device__ __forceinline__ Rows rows(const uint8_t *sds, ScalePlanes to) {
        const float2 first = *(const float2 *)sds, second = *(const float2 *)(sds + to.sds1);
        return make_float4(first.x, second.x, first.y, second.y);
    }
    static __device__ __forceinline__ void fold(float (&sum)[4], const uint32_t (&a)[4], const uint32_t (&b)[2],
                                                const TokenPair &t, const Rows &ds) {
        int32_t first[4], second[4];
        mma_m16n8k16_s8(first, a[0], a[1], b[0]);
        mma_m16n8k16_s8(second, a[2], a[3], b[1]);
        fold_two_halves(sum, first, second, t.da, ds);
    }
};
