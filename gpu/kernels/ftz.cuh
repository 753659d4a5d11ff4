// f32 arithmetic that flushes subnormal operands and results to zeros of their sign, as llama.cpp's kernels are built
// (-use_fast_math). Rounded to nearest, ties to even; ref/ftz.h says the same in C.
#pragma once
#include "ptx_asm.cuh"

__device__ __forceinline__ float add_ftz(float a, float b) {
    float d;
    asm("add.rn.ftz.f32 %0, %1, %2;" : "=f"(d) : "f"(a), "f"(b));
    return d;
}
__device__ __forceinline__ float mul_ftz(float a, float b) {
    float d;
    asm("mul.rn.ftz.f32 %0, %1, %2;" : "=f"(d) : "f"(a), "f"(b));
    return d;
}
__device__ __forceinline__ float fma_ftz(float a, float b, float c) {
    float d;
    asm("fma.rn.ftz.f32 %0, %1, %2, %3;" : "=f"(d) : "f"(a), "f"(b), "f"(c));
    return d;
}
__device__ __forceinline__ float abs_ftz(float a) {
    float d;
    asm("abs.ftz.f32 %0, %1;" : "=f"(d) : "f"(a));
    return d;
}
// Of a number and a NaN, the number.
__device__ __forceinline__ float max_ftz(float a, float b) {
    float d;
    asm("max.ftz.f32 %0, %1, %2;" : "=f"(d) : "f"(a), "f"(b));
    return d;
}

// The reciprocal unit: 1 / x, and a / x as a times that. Its bits are the chip's (ref/rcp_approx.h).
__device__ __forceinline__ float reciprocal_approx(float x) {
    float d;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(d) : "f"(x));
    return d;
}
__device__ __forceinline__ float divide_approx(float a, float x) {
    float d;
    asm("div.approx.ftz.f32 %0, %1, %2;" : "=f"(d) : "f"(a), "f"(x));
    return d;
}

// To the nearest integer, halves away from zero, held to int32; NaN gives 0.
__device__ __forceinline__ int32_t round_away(float v) {
    const float half = __uint_as_float(0x3f000000 | (__float_as_uint(v) & 0x80000000));
    float moved;
    int32_t whole;
    asm("add.rz.ftz.f32 %0, %1, %2;" : "=f"(moved) : "f"(v), "f"(half));
    asm("cvt.rzi.ftz.s32.f32 %0, %1;" : "=r"(whole) : "f"(moved));
    return whole;
}
