// sum + the four products of the signed bytes of a and b, exact.
#pragma once
#include <stdint.h>

__device__ __forceinline__ int32_t dp4a(uint32_t a, uint32_t b, int32_t sum) {
    int32_t d;
    asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(sum));
    return d;
}
