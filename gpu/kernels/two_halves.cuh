// Chunks of 32 whose halves of 16 have a scale each: an mma a half, and the sums of the two folded apart.
#pragma once
#include "ptx_asm.cuh"

// d = a * b in exact integers: a (16, 16) int8 row-major, b (16, 8) int8 column-major, d (16, 8) int32. Fragments: the
// words of half h of m16n8k32 are a[2h], a[2h + 1] and b[h].
__device__ __forceinline__ void mma_m16n8k16_s8(int32_t (&d)[4], uint32_t a0, uint32_t a1, uint32_t b) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %7, %7, %7};"
                 : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
                 : "r"(a0), "r"(a1), "r"(b), "r"(0));
}

// s = fma(rn(da * dsc_0), dot_0, s) ; s = fma(rn(da * dsc_1), dot_1, s). scale = (dsc_0, dsc_1) of both rows. Element l
// is of token l / 2, row l % 2 of the lane's two.
__device__ __forceinline__ void fold_two_halves(float (&sum)[4], const int32_t (&dot0)[4], const int32_t (&dot1)[4],
                                                const float (&da)[2], float4 scale) {
#pragma unroll
    for (int l = 0; l < 4; ++l) {
        const float dsc0 = l % 2 ? scale.z : scale.x, dsc1 = l % 2 ? scale.w : scale.y;
        float &s = sum[l];
        s = __fmaf_rn(__fmul_rn(da[l / 2], dsc0), __int2float_rn(dot0[l]), s);
        s = __fmaf_rn(__fmul_rn(da[l / 2], dsc1), __int2float_rn(dot1[l]), s);
    }
}
