// q6_K: 210 B a super-block of 256 values = 128 bytes of low nibbles @0, 64 bytes of high bit pairs @128, 16 int8
// scales @192, f16 d @208: sixteen sub-blocks of 16, two in a chunk. x = d sc (n - 32). With h = s / 4, r = s % 4 the
// low bits of chunk s are bytes 64h + 32(r & 1) .., nibble r >> 1, the high ones bytes 32h .., bit pair r.
#pragma once
#include "chunk.cuh"

struct Q6_K {
    static constexpr int BYTES = 210, CHUNKS = 8;
    using Chunk = HalvesChunk;
    static __device__ __forceinline__ void load(Chunk &c, const uint8_t *block, int s) {
        const int h = s / 4, r = s % 4;
        const uint8_t *low = block + 64 * h + 32 * (r & 1), *high = block + 128 + 32 * h;
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            const uint32_t n = (load_u16x2(low + 4 * i) >> 4 * (r >> 1) & 0x0f0f0f0f) |
                               (load_u16x2(high + 4 * i) >> 2 * r & 0x03030303) << 4;
            c.n[i] = (n + 0x60606060) ^ 0x80808080; // n - 32 in every byte: no carry leaves one
        }
        const float d = load_half(block + 208);
        const uint32_t scales = *(const uint16_t *)(block + 192 + 2 * s);
        c.ds[0] = __fmul_rn(d, __int2float_rn((int8_t)scales));
        c.ds[1] = __fmul_rn(d, __int2float_rn((int8_t)(scales >> 8)));
    }
};
