// pad40 on the device: 40 B per 32 values = f16 d @0, 2 zero bytes, 32 int8 @4, int32 sum of them @36.
#pragma once
#include "ptx_asm.cuh"

constexpr int PAD40_BYTES = 40;
constexpr int PAD40_QUANTS = 4; // offset of the int8 values
constexpr int PAD40_SUM = 36;   // offset of their sum

// One word = d (low half) | sum as int16 (high half); |sum| <= 32 * 128 fits.
__device__ __forceinline__ uint32_t pad40_scale_word(const uint8_t *block) {
    return *(const uint16_t *)block | *(const uint32_t *)(block + PAD40_SUM) << 16;
}
