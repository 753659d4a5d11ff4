// Weights x 1 to 8 tokens of pad40 -> f32, by dp4a: what decoding runs, one weight row a warp.
//
// 128 threads = 4 warps = 4 rows a block. Lane l takes chunks l, l + 32, l + 64 .. of its row, ascending, each chunk
// once for all tokens; then the 32 partial sums of a token are added up by butterflies over lanes xor 16, 8, 4, 2, 1. A
// token's bits do not depend on how many come along. No bound on the depth: a lane walks to the end of the row.
//
// Numeric contracts: ref/<format>_pad40_matvec.c.
#include "chunk_q4_0.cuh"
#include "chunk_q4_1.cuh"
#include "chunk_q4_k.cuh"
#include "chunk_q5_0.cuh"
#include "chunk_q5_1.cuh"
#include "chunk_q5_k.cuh"
#include "chunk_q6_k.cuh"
#include "chunk_q8_0.cuh"
#include "matvec.cuh"

// The offset is taken off the integers: exact until the one multiplication.
template <int OFFSET>
__device__ __forceinline__ float fold(float s, const OffsetChunk<OFFSET> &c, const Activation &a) {
    const int32_t value = dot<0, 8>(c.n, a.q) - OFFSET * a.sum;
    return __fmaf_rn(__fmul_rn(a.d, c.d), __int2float_rn(value), s);
}

__device__ __forceinline__ float fold(float s, const AffineChunk &c, const Activation &a) {
    const float min = __fmul_rn(c.dm, __int2float_rn(a.sum));
    return __fmaf_rn(a.d, __fmaf_rn(c.ds, __int2float_rn(dot<0, 8>(c.n, a.q)), min), s);
}

__device__ __forceinline__ float fold(float s, const HalvesChunk &c, const Activation &a) {
    const float first = __fmul_rn(__fmul_rn(a.d, c.ds[0]), __int2float_rn(dot<0, 4>(c.n, a.q)));
    return __fadd_rn(s, __fmaf_rn(__fmul_rn(a.d, c.ds[1]), __int2float_rn(dot<4, 4>(c.n, a.q)), first));
}

template <class Format>
__device__ __forceinline__ void matvec(const uint8_t *__restrict__ w, // (od, id / 32 / CHUNKS) blocks
                                       const uint8_t *__restrict__ x, // (nt, id / 32) pad40 blocks
                                       float *__restrict__ y,         // (nt, od)
                                       int nt, int od, int id) {
    const int lane = threadIdx.x & 31, row = blockIdx.x * WARPS + (threadIdx.x >> 5);
    if (row >= od) {
        return; // the whole warp
    }
    const int chunks = id / 32;
    const uint8_t *w_row = w + (int64_t)row * (chunks / Format::CHUNKS) * Format::BYTES;
    float sum[MOST_TOKENS];
#pragma unroll
    for (int t = 0; t < MOST_TOKENS; ++t) {
        sum[t] = 0.0f;
    }

    for (int c = lane; c < chunks; c += 32) {
        typename Format::Chunk chunk;
        Format::load(chunk, w_row + (int64_t)(c / Format::CHUNKS) * Format::BYTES, c % Format::CHUNKS);
#pragma unroll
        for (int t = 0; t < MOST_TOKENS; ++t) {
            if (t < nt) {
                const Activation a = load_activation(x + ((int64_t)t * chunks + c) * PAD40_BYTES);
                sum[t] = fold(sum[t], chunk, a);
            }
        }
    }

    store_sums(y, sum, row, lane, nt, od);
}

#define MATVEC(NAME, FORMAT)                                                                                           \
    extern "C" __global__ void __launch_bounds__(WARPS * 32)                                                           \
        matvec_##NAME(const uint8_t *__restrict__ w, const uint8_t *__restrict__ x, float *__restrict__ y, int nt,     \
                      int od, int id) {                                                                                \
        matvec<FORMAT>(w, x, y, nt, od, id);                                                                           \
    }
MATVEC(q4_0, Q4_0)
MATVEC(q4_1, Q4_1)
MATVEC(q5_0, Q5_0)
MATVEC(q5_1, Q5_1)
MATVEC(q8_0, Q8_0)
MATVEC(q4_k, Q4_K)
MATVEC(q5_k, Q5_K)
MATVEC(q6_k, Q6_K)
