// f32 rows -> pad40_t: quantised as quantize_pad40.cu does, and laid out for 64-token tiles ("the prepass of r34").
// A warp makes one block of 32 values, a lane one value; a thread block, those of 8 tokens at one depth. Tokens from nt
// to the end of the last tile are zero.
#include "pad40_t.cuh"
#include "quantize_warp.cuh"
#include "stage_pad40.cuh"

extern "C" __global__ void __launch_bounds__(256)
    quantize_pad40_t(const float *__restrict__ x, // (nt, id)
                     uint8_t *__restrict__ y,     // (nt, id) pad40_t
                     int nt, int id) {
    const int lane = threadIdx.x & 31, chunks = id / 32, chunk = blockIdx.x;
    const int t = blockIdx.y * 8 + (threadIdx.x >> 5), r = t % PAD40_T_TOKENS;
    const QuantizedWarp q = quantize_warp(t < nt ? x[(int64_t)t * id + chunk * 32 + lane] : 0.0f, lane);

    const int64_t tile_chunk = (int64_t)(t / PAD40_T_TOKENS) * chunks + chunk;
    if ((lane & 3) == 0) {
        *(uint32_t *)(y + tile_chunk * PAD40_T_QUANTS + XorRows::at(r, lane / 16) + lane % 16) = q.word;
    }
    if (lane == 0) {
        *(uint32_t *)(y + pad40_t_words_at(nt, chunks) + tile_chunk * PAD40_T_WORDS + QMajorWords::at(r) * 4) =
            half_bits_rn(q.d) | (uint32_t)q.sum << 16;
    }
}
