// Weight blocks -> binary16 rows, what an f16 GEMM multiplies: a thread a chunk of 32 values, 64 bytes of output.
//
// A value is rounded to f32 once an operation, in the order of its format's definition, then to binary16:
//   x = rn(d * (n - OFFSET))  |  x = rn(ds * n + dm)  |  x = rn(ds[k / 16] * n)  |  x = rn(ds[k / 16] * n + dm[k / 16])
// of which the products are exact, and y = rn16(x).
//
// Numeric contracts: ref/<format>_dequantize.c.
#include "chunk_iq4_nl.cuh"
#include "chunk_iq4_xs.cuh"
#include "chunk_mxfp4.cuh"
#include "chunk_q2_k.cuh"
#include "chunk_q3_k.cuh"
#include "chunk_q4_0.cuh"
#include "chunk_q4_1.cuh"
#include "chunk_q4_k.cuh"
#include "chunk_q5_0.cuh"
#include "chunk_q5_1.cuh"
#include "chunk_q5_k.cuh"
#include "chunk_q6_k.cuh"
#include "chunk_q8_0.cuh"

constexpr int THREADS = 256;

// Code k of a chunk: signed bytes; codes of 4 and 5 bits are below 128 all the same.
__device__ __forceinline__ int code(const uint32_t (&n)[8], int k) { return (int8_t)(n[k / 4] >> 8 * (k % 4)); }

template <int OFFSET> __device__ __forceinline__ float value(const OffsetChunk<OFFSET> &c, int k) {
    return __fmul_rn(c.d, __int2float_rn(code(c.n, k) - OFFSET));
}
__device__ __forceinline__ float value(const AffineChunk &c, int k) {
    return __fadd_rn(__fmul_rn(c.ds, __int2float_rn(code(c.n, k))), c.dm);
}
__device__ __forceinline__ float value(const HalvesChunk &c, int k) {
    return __fmul_rn(c.ds[k / 16], __int2float_rn(code(c.n, k)));
}
__device__ __forceinline__ float value(const HalvesAffineChunk &c, int k) {
    return __fadd_rn(__fmul_rn(c.ds[k / 16], __int2float_rn(code(c.n, k))), c.dm[k / 16]);
}

template <class Format>
__device__ __forceinline__ void dequantize(const uint8_t *__restrict__ x, // (nt, id / 32 / CHUNKS) blocks
                                           uint16_t *__restrict__ y,      // (nt, id) binary16
                                           int nt, int id) {
    const int64_t chunk = (int64_t)blockIdx.x * THREADS + threadIdx.x; // rows are whole blocks, without gaps
    if (chunk >= (int64_t)nt * (id / 32)) {
        return;
    }
    typename Format::Chunk c;
    Format::load(c, x + chunk / Format::CHUNKS * Format::BYTES, (int)(chunk % Format::CHUNKS));
    uint4 *out = (uint4 *)(y + chunk * 32);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        uint32_t word[4];
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            const int k = 8 * i + 2 * j;
            word[j] = half_bits_rn(value(c, k)) | half_bits_rn(value(c, k + 1)) << 16;
        }
        out[i] = make_uint4(word[0], word[1], word[2], word[3]);
    }
}

#define DEQUANTIZE(NAME, FORMAT)                                                                                       \
    extern "C" __global__ void __launch_bounds__(THREADS)                                                              \
        dequantize_##NAME(const uint8_t *__restrict__ x, uint16_t *__restrict__ y, int nt, int id) {                   \
        dequantize<FORMAT>(x, y, nt, id);                                                                              \
    }
DEQUANTIZE(q4_0, Q4_0)
DEQUANTIZE(q4_1, Q4_1)
DEQUANTIZE(q5_0, Q5_0)
DEQUANTIZE(q5_1, Q5_1)
DEQUANTIZE(q8_0, Q8_0)
DEQUANTIZE(q4_k, Q4_K)
DEQUANTIZE(q5_k, Q5_K)
DEQUANTIZE(q6_k, Q6_K)
DEQUANTIZE(q2_k, Q2_K)
DEQUANTIZE(q3_k, Q3_K)
DEQUANTIZE(iq4_nl, Iq4_Nl)
DEQUANTIZE(iq4_xs, Iq4_Xs)
DEQUANTIZE(mxfp4, Mxfp4)
