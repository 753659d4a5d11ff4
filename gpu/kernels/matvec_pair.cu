// Weights x 1 to 8 tokens of pad40 -> f32 by dp4a, two chunks at a time: what is new against matvec.cu.
//
// The two sub-blocks that share nibble bytes go through one lane, so that every byte of the weights is read once; they
// come into the sum in one statement, which is another order of roundings. Lane l takes pairs l, l + 32, l + 64 ..
//
// Numeric contracts: ref/<format>_pad40_matvec_pair.c.
#include "chunk_q4_k.cuh"
#include "chunk_q5_k.cuh"
#include "matvec.cuh"

__device__ __forceinline__ float inner(const AffineChunk &c, const Activation &a) {
    const float min = __fmul_rn(c.dm, __int2float_rn(a.sum));
    return __fmaf_rn(c.ds, __int2float_rn(dot<0, 8>(c.n, a.q)), min);
}

template <class Format>
__device__ __forceinline__ void matvec_pair(const uint8_t *__restrict__ w, // (od, id / 256) blocks
                                            const uint8_t *__restrict__ x, // (nt, id / 32) pad40 blocks
                                            float *__restrict__ y,         // (nt, od)
                                            int nt, int od, int id) {
    const int lane = threadIdx.x & 31, row = blockIdx.x * WARPS + (threadIdx.x >> 5);
    if (row >= od) {
        return; // the whole warp
    }
    const int pairs = id / 64;
    const uint8_t *w_row = w + (int64_t)row * (pairs / 4) * Format::BYTES;
    float sum[MOST_TOKENS];
#pragma unroll
    for (int t = 0; t < MOST_TOKENS; ++t) {
        sum[t] = 0.0f;
    }

    for (int p = lane; p < pairs; p += 32) {
        AffineChunk chunk[2];
        Format::load_pair(chunk, w_row + (int64_t)(p / 4) * Format::BYTES, p % 4);
#pragma unroll
        for (int t = 0; t < MOST_TOKENS; ++t) {
            if (t < nt) {
                const uint8_t *block = x + ((int64_t)t * 2 * pairs + 2 * p) * PAD40_BYTES;
                const Activation a = load_activation(block), b = load_activation(block + PAD40_BYTES);
                const float first = __fmul_rn(a.d, inner(chunk[0], a));
                sum[t] = __fadd_rn(sum[t], __fmaf_rn(b.d, inner(chunk[1], b), first));
            }
        }
    }
    store_sums(y, sum, row, lane, nt, od);
}

#define MATVEC_PAIR(NAME, FORMAT)                                                                                      \
    extern "C" __global__ void __launch_bounds__(WARPS * 32)                                                           \
        matvec_pair_##NAME(const uint8_t *__restrict__ w, const uint8_t *__restrict__ x, float *__restrict__ y,        \
                           int nt, int od, int id) {                                                                   \
        matvec_pair<FORMAT>(w, x, y, nt, od, id);                                                                      \
    }
MATVEC_PAIR(q4_k, Q4_K)
MATVEC_PAIR(q5_k, Q5_K)
