// f32 rows -> q8_1_mmq blocks. A warp makes a block of 128 values, a lane four of them; the scale of 32 values is that
// of 8 lanes (d2s6: of 64 values, 16 lanes), by butterflies. q comes from the unrounded inverse of the scale; the
// sums are those of the values before they are quantised.
//
// Numeric contracts: ref/q8_1_mmq_<kind>_quantize.c.
#include "ftz.cuh"
#include "q8_1_mmq.cuh"

enum Kind { DS4, D4, D2S6 };

__device__ __forceinline__ float from_lane_xor(float v, int mask) {
    return __uint_as_float(shuffle_xor(__float_as_uint(v), mask));
}

template <Kind KIND>
__device__ __forceinline__ void quantize(const float *__restrict__ x, // (nt, id)
                                         uint8_t *__restrict__ y,     // (id / 128, nt) blocks
                                         int nt, int id) {
    constexpr int SCALE_LANES = KIND == D2S6 ? 16 : 8, SUM_LANES = KIND == D2S6 ? 4 : 8;
    const int lane = threadIdx.x & 31;
    const int64_t block = (int64_t)blockIdx.x * 8 + (threadIdx.x >> 5);
    if (block >= (int64_t)nt * (id / Q8_1_MMQ_VALUES)) {
        return; // the whole warp
    }
    const int64_t t = block % nt, kb = block / nt;
    const float4 v = *(const float4 *)(x + t * id + kb * Q8_1_MMQ_VALUES + 4 * lane);

    float amax = max_ftz(max_ftz(abs_ftz(v.x), abs_ftz(v.y)), max_ftz(abs_ftz(v.z), abs_ftz(v.w)));
#pragma unroll
    for (int mask = SCALE_LANES / 2; mask > 0; mask /= 2) {
        amax = max_ftz(amax, from_lane_xor(amax, mask));
    }
    const float inverse = divide_approx(127.0f, amax), d = reciprocal_approx(inverse);
    const float values[4] = {v.x, v.y, v.z, v.w};
    uint32_t word = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        word |= (uint32_t)(round_away(mul_ftz(values[i], inverse)) & 255) << 8 * i;
    }
    uint8_t *out = y + block * Q8_1_MMQ_BYTES;
    *(uint32_t *)(out + Q8_1_MMQ_QUANTS + 4 * lane) = word;

    if (KIND == D4) {
        if (lane % 8 == 0) {
            *(float *)(out + lane / 8 * 4) = d;
        }
        return;
    }
    float sum = add_ftz(add_ftz(add_ftz(v.x, v.y), v.z), v.w);
#pragma unroll
    for (int mask = SUM_LANES / 2; mask > 0; mask /= 2) {
        sum = add_ftz(sum, from_lane_xor(sum, mask));
    }
    if (KIND == DS4) {
        if (lane % 8 == 0) {
            *(uint32_t *)(out + lane / 8 * 4) = half_bits_rn(d) | half_bits_rn(sum) << 16;
        }
    } else {
        if (lane % 16 == 0) {
            *(uint16_t *)(out + lane / 16 * 2) = (uint16_t)half_bits_rn(d);
        }
        if (lane % 4 == 0 && lane < 24) { // the first 96 values
            *(uint16_t *)(out + 4 + lane / 4 * 2) = (uint16_t)half_bits_rn(sum);
        }
    }
}

#define QUANTIZE(NAME, KIND)                                                                                           \
    extern "C" __global__ void __launch_bounds__(256)                                                                  \
        quantize_q8_1_mmq_##NAME(const float *__restrict__ x, uint8_t *__restrict__ y, int nt, int id) {               \
        quantize<KIND>(x, y, nt, id);                                                                                  \
    }
QUANTIZE(ds4, DS4)
QUANTIZE(d4, D4)
QUANTIZE(d2s6, D2S6)
