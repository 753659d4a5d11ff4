// Where the lanes of a warp find the fragments of mma.m16n8k32 (A = activations, M = tokens; B = weights, N = rows),
// and which cells their accumulators are (PTX ISA 9.7.14.5).
#pragma once
#include "ptx_asm.cuh"

// Offsets for ldmatrix.x4 into rows of `pitch` bytes of which each holds 32 values.
// A of 16 tokens: matrices (tokens 0-7 | 8-15) x (k 0-15 | 16-31), tokens fastest.
__device__ __forceinline__ int a_fragment(int lane, int pitch) { return (lane & 15) * pitch + (lane >> 4) * 16; }
// The same in rows of 32 bytes laid out by XorRows (stage_pad40.cuh), for the g-th 16 tokens of a plane.
__device__ __forceinline__ int a_fragment_xor(int lane, int g) {
    return g * 512 + (lane & 12) * 32 + 16 * (((lane & 3) * 2 + (lane >> 4)) ^ (lane >> 2 & 3) ^ (g & 1) * 4);
}
// B of 16 rows: matrices 0/1 = rows 0-7, k halves 0/1; 2/3 = rows 8-15, k halves 0/1.
__device__ __forceinline__ int b_fragment(int lane, int pitch) {
    const int row = (lane & 7) + (lane >> 4) * 8;
    return row * pitch + (lane >> 3 & 1) * 16;
}
// Where the lane's first word is, if words are read one by one: of B of 8 rows, whose second is 16 bytes on; of A of 16
// tokens, whose second is 8 tokens on, and whose third and fourth are 16 bytes on from those.
__device__ __forceinline__ int b_word(int lane, int pitch) { return (lane >> 2) * pitch + (lane & 3) * 4; }
__device__ __forceinline__ int a_word(int lane, int pitch) { return b_word(lane, pitch); }

// Element l of an accumulator: token `c_token` of 16, row `c_row` of 8.
__device__ __forceinline__ int c_token(int lane, int l) { return (lane >> 2) + 8 * (l / 2); }
__device__ __forceinline__ int c_row(int lane, int l) { return (lane & 3) * 2 + l % 2; }

// Accumulators of a warp: [groups of 16 tokens][groups of 8 rows][element].
template <int GROUPS, int N> __device__ __forceinline__ void clear_tile(float (&sum)[GROUPS][N][4]) {
#pragma unroll
    for (int g = 0; g < GROUPS; ++g) {
#pragma unroll
        for (int l = 0; l < 4 * N; ++l) {
            sum[g][l / 4][l % 4] = 0.0f;
        }
    }
}

// y (nt, od) = the cells of the tile that begins at token t0, row j0, and are not past the end.
template <int GROUPS, int N>
__device__ __forceinline__ void store_tile(float *y, const float (&sum)[GROUPS][N][4], int t0, int j0, int nt, int od,
                                           int lane) {
#pragma unroll
    for (int g = 0; g < GROUPS; ++g) {
#pragma unroll
        for (int l = 0; l < 4 * N; ++l) {
            const int t = t0 + g * 16 + c_token(lane, l % 4);
            const int j = j0 + l / 4 * 8 + c_row(lane, l % 4);
            if (t < nt && j < od) {
                y[(int64_t)t * od + j] = sum[g][l / 4][l % 4];
            }
        }
    }
}
