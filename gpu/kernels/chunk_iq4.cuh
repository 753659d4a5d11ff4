// The sixteen codes that iq4_nl and iq4_xs share, -127 .. 113, as int8 (chunk.cuh, table_codes).
#pragma once
#include "chunk.cuh"

constexpr uint64_t IQ4_LOW = 0xf6eaddcfbfad9881, IQ4_HIGH = 0x7159453526190d01;

// n[0 .. 7] = the codes of 16 nibble bytes that begin at a multiple of ALIGNED bytes.
template <int ALIGNED> __device__ __forceinline__ void iq4_codes(uint32_t (&n)[8], const uint8_t *nibbles) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        split_nibbles(n, i, ALIGNED == 4 ? ((const uint32_t *)nibbles)[i] : load_u16x2(nibbles + 4 * i));
        n[i] = table_codes(n[i], IQ4_LOW, IQ4_HIGH);
        n[i + 4] = table_codes(n[i + 4], IQ4_LOW, IQ4_HIGH);
    }
}
