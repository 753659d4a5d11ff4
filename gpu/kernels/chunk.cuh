// A chunk: 32 neighbouring weights of a row, as the kernels that take one weight row at a time read it. n[i] holds the
// codes of values 4i .. 4i+3, the lowest byte first, whatever order the format keeps them in; scales are widened.
//
// A format is one file (chunk_<format>.cuh) with a struct that says BYTES of a block, CHUNKS in a block, and loads
// chunk s of a block. ref/<format>.c has the same layouts as definitions.
#pragma once
#include "ptx_asm.cuh"

template <int OFFSET_> struct OffsetChunk { // x = d * (n - OFFSET)
    static constexpr int OFFSET = OFFSET_;
    uint32_t n[8];
    float d;
};
struct AffineChunk { // x = ds * n + dm
    uint32_t n[8];
    float ds, dm;
};
struct HalvesChunk { // x = ds[k / 16] * n, n signed
    uint32_t n[8];
    float ds[2];
};

struct HalvesAffineChunk { // x = ds[k / 16] * n + dm[k / 16]
    uint32_t n[8];
    float ds[2], dm[2];
};

// A word at an address that is a multiple of two only: blocks of 18, 22, 34 and 210 bytes begin there.
__device__ __forceinline__ uint32_t load_u16x2(const uint8_t *p) {
    const uint16_t *h = (const uint16_t *)p;
    return h[0] | (uint32_t)h[1] << 16;
}

__device__ __forceinline__ float load_half(const uint8_t *p) { return half_value(*(const uint16_t *)p); }

// Nibbles as the formats of 32 values keep them: value k < 16 in the low half of byte k, the others in the high halves.
__device__ __forceinline__ void split_nibbles(uint32_t (&n)[8], int i, uint32_t word) {
    n[i] = word & 0x0f0f0f0f;
    n[i + 4] = word >> 4 & 0x0f0f0f0f;
}

// Bits 0 .. 3 of h as bit 4 of bytes 0 .. 3: the fifth bit of four codes.
__device__ __forceinline__ uint32_t fifth_bits(uint32_t h) { return ((h & 15) * 0x00204081 & 0x01010101) << 4; }

// Nibbles 0 .. 15 in the bytes of a word as codes of a table: entries 0 .. 7 and 8 .. 15, the first in the low byte.
__device__ __forceinline__ uint32_t table_codes(uint32_t nibbles, uint64_t low, uint64_t high) {
    uint32_t codes = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const uint32_t n = nibbles >> 8 * i & 15;
        codes |= (uint32_t)((n & 8 ? high : low) >> 8 * (n & 7) & 255) << 8 * i;
    }
    return codes;
}
