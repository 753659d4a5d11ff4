// iq4_xs: 136 B a super-block of 256 values = f16 d @0, high bit pairs of the scales @2 (u16, two a chunk), their low
// nibbles @4, 16 nibble bytes a chunk @8; x = d * (l - 32) * code, d * (l - 32) exact.
#pragma once
#include "chunk_iq4.cuh"

struct Iq4_Xs {
    static constexpr int BYTES = 136, CHUNKS = 8;
    using Chunk = OffsetChunk<0>;
    static __device__ __forceinline__ void load(Chunk &c, const uint8_t *block, int s) {
        const uint32_t *words = (const uint32_t *)block; // 136 is a multiple of 4
        const uint32_t l = (words[1] >> 4 * s & 15) | (words[0] >> (16 + 2 * s) & 3) << 4;
        c.d = __fmul_rn(half_value(words[0] & 0xffff), __int2float_rn((int)l - 32));
        iq4_codes<4>(c.n, block + 8 + 16 * s);
    }
};
