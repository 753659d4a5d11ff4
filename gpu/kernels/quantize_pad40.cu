// f32 rows -> pad40 blocks. A warp makes one block of 32 values, a lane one value.
//
// amax = max |x| ; d = rn(amax / 127) ; inv = rn(1 / d), 0 if d = 0 ; q = rn_even(rn(x * inv)) clamped to -128 .. 127 ;
// stored: f16(d), q, sum q. The inverse comes from the d that is *not* rounded to f16: dequantisation uses another d
// than quantisation did, and a reference must do the same.
#include "pad40.cuh"

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
    const float value = x[block * 32 + lane];

    float amax = fabsf(value);
    for (int mask = 16; mask > 0; mask >>= 1) {
        amax = fmaxf(amax, __uint_as_float(shuffle_xor(__float_as_uint(amax), mask)));
    }
    const float d = __fdiv_rn(amax, 127.0f);
    const float inverse = d == 0.0f ? 0.0f : __frcp_rn(d);
    const int q = max(-128, min(127, __float2int_rn(__fmul_rn(value, inverse))));

    int sum = q;
    for (int mask = 16; mask > 0; mask >>= 1) {
        sum += (int)shuffle_xor((uint32_t)sum, mask);
    }
    uint32_t word = (uint32_t)(q & 255) << (8 * (lane & 3)); // four neighbours make one word
    word |= shuffle_xor(word, 1);
    word |= shuffle_xor(word, 2);

    uint8_t *out = y + block * PAD40_BYTES;
    if ((lane & 3) == 0) {
        *(uint32_t *)(out + PAD40_QUANTS + lane) = word;
    }
    if (lane == 0) {
        *(uint32_t *)out = half_bits_rn(d);
        *(int32_t *)(out + PAD40_SUM) = sum;
    }
}
