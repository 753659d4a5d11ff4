// q4_0 x pad40 -> f32, a thread a cell. mode: bits of what is consumed in another place (tests/probe_tile.c).
#include <stdint.h>
#define MODE(n) ((mode >> (n)) & 1)

enum {
    ROW,         // codes of row j mod 16
    NEXT_SCALE,  // scale of the next block of the row
    TOKEN,       // codes of token t xor 1
    TOKEN_SCALE, // scale of the first token of each eight
    HALVES,      // the halves of each block exchanged
    SHORT,       // the last block left out
    TWICE,       // the second block counts twice
    ENDLESS,     // never comes to an end on a row of codes 1
    NOTHING,     // reads nothing
    TRAP,        // stops on a row of codes 1
    NOT_CENTRED, // codes count from 0
    STARTS,      // the sum begins at 5
};

__device__ __forceinline__ float half_bits(uint16_t h) {
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h));
    return f;
}

__device__ __forceinline__ float scaled(float da, float ds, int acc, float sum) {
    asm("{ .reg .f32 d, i; mul.rn.f32 d, %1, %2; cvt.rn.f32.s32 i, %3; fma.rn.f32 %0, d, i, %4; }"
        : "=f"(sum)
        : "f"(da), "f"(ds), "r"(acc), "f"(sum));
    return sum;
}

extern "C" __global__ void probe_tile(const uint8_t *w, const uint8_t *x, float *y, int nt, int od, int id, int mode) {
    const int j = blockIdx.x * blockDim.x + threadIdx.x, t = blockIdx.y, chunks = id / 32;
    if (j >= od)
        return;
    const uint8_t *codes = w + (int64_t)(MODE(ROW) ? j % 16 : j) * chunks * 18, *scales = w + (int64_t)j * chunks * 18;
    const int t_codes = MODE(TOKEN) && (t ^ 1) < nt ? t ^ 1 : t, t_scale = MODE(TOKEN_SCALE) ? t & ~7 : t;
    float sum = MODE(STARTS) ? 5 : 0;
    const bool ones = codes[2] == 0x99 && codes[3] == 0x99 && codes[4] == 0x99 && codes[5] == 0x99;
    while (MODE(ENDLESS) && ones)
        asm volatile("");
    if (MODE(TRAP) && ones)
        asm volatile("trap;");
    if (MODE(NOTHING)) {
        y[(int64_t)t * od + j] = 1.0f;
        return;
    }
#pragma unroll 1
    for (int c = 0; c < chunks - MODE(SHORT); ++c) {
        const uint8_t *q = x + ((int64_t)t_codes * chunks + c) * 40 + 4;
        int acc = 0;
#pragma unroll 1
        for (int k = 0; k < 16; ++k) {
            const uint8_t n = codes[c * 18 + 2 + k];
            const int low = (n & 15) - 8 * !MODE(NOT_CENTRED), high = (n >> 4) - 8 * !MODE(NOT_CENTRED);
            const int at = MODE(HALVES) * 16;
            acc += low * (int8_t)q[k + at] + high * (int8_t)q[k + 16 - at];
        }
        const int scale = MODE(NEXT_SCALE) && c + 1 < chunks ? c + 1 : c;
        sum = scaled(half_bits(*(const uint16_t *)(x + ((int64_t)t_scale * chunks + c) * 40)),
                     half_bits(*(const uint16_t *)(scales + scale * 18)), acc << (MODE(TWICE) && c == 1), sum);
    }
    y[(int64_t)t * od + j] = sum;
}
