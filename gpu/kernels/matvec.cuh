// What matrix-vector kernels over pad40 share: the activation block of a chunk, its dots, and the tree at the end.
#pragma once
#include "dp4a.cuh"
#include "pad40.cuh"

constexpr int WARPS = 4;       // rows of a block
constexpr int MOST_TOKENS = 8; // every one is an accumulator

struct Activation {
    float d;
    uint32_t q[8];
    int32_t sum;
};

// A pad40 block as five loads of 8 bytes: words d | gap, q 0-3, q 4-7 .. q 28-31, sum.
__device__ __forceinline__ Activation load_activation(const uint8_t *block) {
    uint32_t word[10];
#pragma unroll
    for (int i = 0; i < 5; ++i) {
        const uint2 pair = ((const uint2 *)block)[i];
        word[2 * i] = pair.x;
        word[2 * i + 1] = pair.y;
    }
    Activation a;
    a.d = half_value(word[0] & 0xffff);
    a.sum = (int32_t)word[9];
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        a.q[i] = word[1 + i];
    }
    return a;
}

// Codes first .. first + 15 or, with COUNT 8, all 32.
template <int FIRST, int COUNT>
__device__ __forceinline__ int32_t dot(const uint32_t (&n)[8], const uint32_t (&q)[8]) {
    int32_t sum = 0;
#pragma unroll
    for (int i = FIRST; i < FIRST + COUNT; ++i) {
        sum = dp4a(n[i], q[i], sum);
    }
    return sum;
}

// y (nt, od): the lanes' partial sums of every token, added up by butterflies over lanes xor 16, 8, 4, 2, 1.
__device__ __forceinline__ void store_sums(float *y, const float (&sum)[MOST_TOKENS], int row, int lane, int nt,
                                           int od) {
#pragma unroll
    for (int t = 0; t < MOST_TOKENS; ++t) {
        if (t < nt) {
            float s = sum[t];
            for (int mask = 16; mask > 0; mask >>= 1) {
                s = __fadd_rn(s, __uint_as_float(shuffle_xor(__float_as_uint(s), mask)));
            }
            if (lane == 0) {
                y[(int64_t)t * od + row] = s;
            }
        }
    }
}
