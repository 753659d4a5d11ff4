// f32 rows -> pad40 blocks. A warp makes one block of 32 values, a lane one value. Stored: f16(d), q, sum q.
#include "pad40.cuh"
#include "quantize_warp.cuh"

extern "C" __global__ void __launch_bounds__(256)
    quantize_pad40(const float *__restrict__ x, // (nt, id)
                   uint8_t *__restrict__ y,     // (nt, id / 32) pad40 blocks
                   int nt, int id) {
    const int lane = threadIdx.x & 31;
    const int64_t blocks = (int64_t)nt * (id / 32);
    const int64_t block = (int64_t)blockIdx.x * 8 + (threadIdx.x >> 5);
    if (block >= blocks) {
        return; // the whole warp
    }
    const QuantizedWarp q = quantize_warp(x[block * 32 + lane], lane);

    uint8_t *out = y + block * PAD40_BYTES;
    if ((lane & 3) == 0) {
        *(uint32_t *)(out + PAD40_QUANTS + lane) = q.word;
    }
    if (lane == 0) {
        *(uint32_t *)out = half_bits_rn(q.d);
        *(int32_t *)(out + PAD40_SUM) = q.sum;
    }
}
