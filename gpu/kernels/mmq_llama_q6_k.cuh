// q6_K x d4 in the tile of mmq_llama_tile.cuh: bytes n - 32. A row's scales: [16] int8 of the sub-blocks of 16 values,
// f32 d; 28 B unused, 12 of them zeroed. Two m16n8k16 a chunk; their sums meet in int32 before they are converted.
#pragma once
#include "chunk.cuh"
#include "mmq_llama_tile.cuh"

constexpr int Q6_K_BYTES = 210;

// d (16, 8) int32 = a (16, 16) int8 row-major * b (16, 8) int8 column-major.
__device__ __forceinline__ void mma_m16n8k16_s8(int32_t (&d)[4], uint32_t a0, uint32_t a1, uint32_t b) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %7, %7, %7};"
                 : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
                 : "r"(a0), "r"(a1), "r"(b), "r"(0));
}

struct LlamaQ6_K {
    static constexpr int BLOCK_VALUES = 256;

    // n - 32 in every byte of a word: no carry leaves one.
    static __device__ __forceinline__ uint32_t centred(uint32_t low, uint32_t high) {
        return (((low & 0x0f0f0f0f) | (high & 0x03030303) << 4) + 0x60606060) ^ 0x80808080;
    }

    // Super-block k / 256 of 128 rows: 4 values of each of the 4 chunks of a half, which share their bytes; then a
    // row's scales, or its d. Lanes that store together have rows two apart, or one after the other: no conflicts.
    struct Staged {
        uint32_t first[ROWS * 16 / THREADS], second[ROWS * 16 / THREADS], high[ROWS * 16 / THREADS];
        uint4 scales;
        static __device__ __forceinline__ int word(int i) { return i % 8; }
        static __device__ __forceinline__ int row(int i) { return i / 64 * 8 + i / 8 % 4 * 2 + i / 32 % 2; }

        __device__ __forceinline__ void load(const uint8_t *w, int j0, int od, int k, int id) {
            const int64_t pitch = id / 256 * Q6_K_BYTES; // of a row
            const uint8_t *tile = w + j0 * pitch + k / 256 * Q6_K_BYTES;
            const uint8_t *from = tile + row(threadIdx.x) * pitch + 4 * word(threadIdx.x);
#pragma unroll
            for (int n = 0; n < ROWS * 16 / THREADS; ++n) {
                const int step = n % 4 * (THREADS / 8), h = n / 4; // rows, half
                first[n] = second[n] = 0, high[n] = 0xaaaaaaaa;    // of rows past the end: n = 32
                if (j0 + row(threadIdx.x) + step < od) {
                    const uint8_t *at = from + step * pitch;
                    first[n] = load_u16x2(at + 64 * h);
                    second[n] = load_u16x2(at + 64 * h + 32);
                    high[n] = load_u16x2(at + 32 * h + 128);
                }
            }
            const int j = threadIdx.x % ROWS;
            scales = make_uint4(0, 0, 0, 0);
            if (j0 + j < od) {
                const uint8_t *at = tile + j * pitch + 192;
                if (threadIdx.x / ROWS == 0) {
                    scales = make_uint4(load_u16x2(at), load_u16x2(at + 4), load_u16x2(at + 8), load_u16x2(at + 12));
                } else {
                    scales.x = __float_as_uint(load_half(at + 16));
                }
            }
        }
        __device__ __forceinline__ void store(uint8_t *xs) const {
#pragma unroll
            for (int n = 0; n < ROWS * 16 / THREADS; ++n) {
                const int step = n % 4 * (THREADS / 8), h = n / 4;
                uint8_t *out = xs + (row(threadIdx.x) + step) * PITCH + 128 * h + 4 * word(threadIdx.x);
                *(uint32_t *)out = centred(first[n], high[n]);
                *(uint32_t *)(out + 32) = centred(second[n], high[n] >> 2);
                *(uint32_t *)(out + 64) = centred(first[n] >> 4, high[n] >> 4);
                *(uint32_t *)(out + 96) = centred(second[n] >> 4, high[n] >> 6);
            }
            *(uint4 *)(xs + threadIdx.x % ROWS * PITCH + SCALES + 16 * (threadIdx.x / ROWS)) = scales;
        }
    };
    static_assert(THREADS == 2 * ROWS, "an element a thread");

    // Whole, also where bytes of it are all that is used: the compiler would load those.
    static __device__ __forceinline__ uint2 scale_words(const uint8_t *from) {
        uint2 v;
        asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];"
                     : "=r"(v.x), "=r"(v.y)
                     : "r"(shared_address(from))
                     : "memory");
        return v;
    }

    struct Rows { // of two rows: scales of 8 sub-blocks, d
        uint32_t scale[2][2];
        float d[2];
        __device__ __forceinline__ void load(const uint8_t *scales, int h) {
#pragma unroll
            for (int u = 0; u < 2; ++u) {
                const uint2 v = scale_words(scales + u * 8 * PITCH + 8 * h);
                scale[u][0] = v.x, scale[u][1] = v.y;
                d[u] = *(const float *)(scales + u * 8 * PITCH + 16);
            }
        }
        __device__ __forceinline__ int of(int u, int sub) const { return (int8_t)(scale[u][sub / 4] >> sub % 4 * 8); }
    };
    using Tokens = TokensD4;

    // t = +0; over the chunks t = fma(da, dot, t), dot in integers with the scales; then s = fma(t, d, s); all .ftz.
    static __device__ __forceinline__ void dot(float (&s)[4], const uint32_t (&a)[4][4], const uint32_t (&b)[4][2],
                                               const Rows &rows, const Tokens &tokens) {
        float t[4] = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll
        for (int c = 0; c < 4; ++c) {
            int32_t first[4], second[4];
            mma_m16n8k16_s8(first, a[c][0], a[c][1], b[c][0]);
            mma_m16n8k16_s8(second, a[c][2], a[c][3], b[c][1]);
#pragma unroll
            for (int l = 0; l < 4; ++l) {
                const int32_t dot = first[l] * rows.of(l / 2, 2 * c) + second[l] * rows.of(l / 2, 2 * c + 1);
                t[l] = fma_ftz(tokens.d[l % 2][c], __int2float_rn(dot), t[l]);
            }
        }
#pragma unroll
        for (int l = 0; l < 4; ++l) {
            s[l] = fma_ftz(t[l], rows.d[l / 2], s[l]);
        }
    }
};
