// Staging of q4_K weights (od, id / 256) into shared memory: a tile of ROWS rows, by THREADS threads. Rows past od are
// zero.
#pragma once
#include "q4_k.cuh"

// One super-block of every row, nibbles widened to bytes: the 32 values of sub-block s of row j at plane + s * SUB +
// j * ROW. 16 nibble bytes give 16 values of two neighbouring sub-blocks.
template <int ROWS, int SUB, int ROW, int THREADS>
__device__ __forceinline__ void stage_expanded(uint8_t *plane, const uint8_t *w, int j0, int od, int super,
                                               int supers) {
    for (unsigned i = threadIdx.x; i < ROWS * 8; i += THREADS) {
        const int piece = i % 8, j = i / 8; // piece = 16 bytes: sub-blocks 2*(piece/2), +1, half piece%2
        uint4 v = make_uint4(0, 0, 0, 0);
        if (j0 + j < od) {
            const uint8_t *block = w + ((int64_t)(j0 + j) * supers + super) * Q4_K_BYTES;
            v = *(const uint4 *)(block + Q4_K_NIBBLES + 16 * piece);
        }
        const uint32_t m = 0x0f0f0f0f;
        uint8_t *slot = plane + piece / 2 * 2 * SUB + j * ROW + 16 * (piece % 2);
        *(uint4 *)slot = make_uint4(v.x & m, v.y & m, v.z & m, v.w & m);
        *(uint4 *)(slot + SUB) = make_uint4(v.x >> 4 & m, v.y >> 4 & m, v.z >> 4 & m, v.w >> 4 & m);
    }
}

// The scale pairs (d * sc, -dmin * m) of rows j and j + 1.
__device__ __forceinline__ float4 scale_pairs(const uint8_t *w, int j, int od, int chunk, int supers) {
    float2 lo = make_float2(0.0f, 0.0f), hi = lo;
    const uint8_t *block = w + ((int64_t)j * supers + chunk / 8) * Q4_K_BYTES;
    if (j < od) {
        lo = q4_k_scale_pair(block, chunk % 8);
    }
    if (j + 1 < od) {
        hi = q4_k_scale_pair(block + (int64_t)supers * Q4_K_BYTES, chunk % 8);
    }
    return make_float4(lo.x, lo.y, hi.x, hi.y);
}

// plane [KD][ROWS] float2: the scale pairs of two neighbouring rows as one 16-byte store.
template <int KD, int ROWS, int THREADS>
__device__ __forceinline__ void stage_scale_pairs(uint8_t *plane, const uint8_t *w, int j0, int od, int chunk0,
                                                  int supers) {
    for (unsigned i = threadIdx.x; i < KD * ROWS / 2; i += THREADS) {
        const int j = i % (ROWS / 2) * 2, kd = i / (ROWS / 2);
        *(float4 *)(plane + (kd * ROWS + j) * 8) = scale_pairs(w, j0 + j, od, chunk0 + kd, supers);
    }
}

// planes sds, sdm [KD][PLANE_ROWS] float: the two apart, of two neighbouring rows each as one 8-byte store.
template <int KD, int ROWS, int PLANE_ROWS, int THREADS>
__device__ __forceinline__ void stage_scales_apart(uint8_t *sds, uint8_t *sdm, const uint8_t *w, int j0, int od,
                                                   int chunk0, int supers) {
    for (unsigned i = threadIdx.x; i < KD * ROWS / 2; i += THREADS) {
        const int j = i % (ROWS / 2) * 2, kd = i / (ROWS / 2);
        const float4 v = scale_pairs(w, j0 + j, od, chunk0 + kd, supers);
        *(float2 *)(sds + (kd * PLANE_ROWS + j) * 4) = make_float2(v.x, v.z);
        *(float2 *)(sdm + (kd * PLANE_ROWS + j) * 4) = make_float2(v.y, v.w);
    }
}

// plane [ROWS][128 B]: the nibble bytes of one super-block of every row, as they are.
template <int ROWS, int THREADS>
__device__ __forceinline__ void stage_nibbles(uint8_t *plane, const uint8_t *w, int j0, int od, int super, int supers) {
    for (unsigned i = threadIdx.x; i < ROWS * 8; i += THREADS) {
        const int piece = i % 8, j = i / 8;
        uint4 v = make_uint4(0, 0, 0, 0);
        if (j0 + j < od) {
            v = *(const uint4 *)(w + ((int64_t)(j0 + j) * supers + super) * Q4_K_BYTES + Q4_K_NIBBLES + 16 * piece);
        }
        *(uint4 *)(plane + j * 128 + 16 * piece) = v;
    }
}

// plane [ROWS][144 B]: the blocks of one super-block of every row, as they are.
template <int ROWS, int THREADS>
__device__ __forceinline__ void stage_blocks(uint8_t *plane, const uint8_t *w, int j0, int od, int super, int supers) {
    for (unsigned i = threadIdx.x; i < ROWS * 9; i += THREADS) {
        const int piece = i % 9, j = i / 9;
        uint4 v = make_uint4(0, 0, 0, 0);
        if (j0 + j < od) {
            v = *(const uint4 *)(w + ((int64_t)(j0 + j) * supers + super) * Q4_K_BYTES + 16 * piece);
        }
        *(uint4 *)(plane + j * Q4_K_BYTES + 16 * piece) = v;
    }
}
