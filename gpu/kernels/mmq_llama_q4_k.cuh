// q4_K x ds4 in the tile of mmq_llama_tile.cuh. A row's scales: [8] half2 (d * sc, -dmin * m) of the sub-blocks,
// products rounded to binary16, subnormals kept; 16 B unused. The min term is of rank 1: the token's sum is that of its
// values before they were quantised, so it meets dm and nothing else.
#pragma once
#include "mmq_llama_tile.cuh"
#include "q4_k.cuh"

// Both halves: rn(a * b) in binary16.
__device__ __forceinline__ uint32_t mul_half2(uint32_t a, uint32_t b) {
    uint32_t d;
    asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
    return d;
}

struct LlamaQ4_K {
    static constexpr int BLOCK_VALUES = 256;

    // (d * sc, -dmin * m) of sub-block s; d: the block's word (d | dmin) with the sign of dmin turned.
    static __device__ __forceinline__ uint32_t scale_pair(uint32_t d, const uint4 &head, int s) {
        int scale, min;
        q4_k_scale_min(head.y, head.z, head.w, s, scale, min);
        return mul_half2(d, half_bits_rn(__int2float_rn(scale)) | half_bits_rn(__int2float_rn(min)) << 16);
    }

    // Super-block k / 256 of 128 rows: 16 nibble bytes, which are values of two neighbouring sub-blocks, or four
    // sub-blocks' scales of a row. Eight lanes that store together have rows two apart, or eight rows: no conflicts.
    struct Staged {
        uint4 nibbles[ROWS * 8 / THREADS], head;
        static __device__ __forceinline__ int piece(int i) { return i % 4 + i / 8 % 2 * 4; }
        static __device__ __forceinline__ int row(int i) { return i / 32 * 4 + i / 4 % 2 * 2 + i / 16 % 2; }

        __device__ __forceinline__ void load(const uint8_t *w, int j0, int od, int k, int id) {
            const int64_t pitch = id / 256 * Q4_K_BYTES; // of a row
            const uint8_t *tile = w + j0 * pitch + k / 256 * Q4_K_BYTES;
            const uint8_t *from = tile + row(threadIdx.x) * pitch + Q4_K_NIBBLES + 16 * piece(threadIdx.x);
#pragma unroll
            for (int n = 0; n < ROWS * 8 / THREADS; ++n) {
                const int step = n * (THREADS / 8); // rows
                nibbles[n] = j0 + row(threadIdx.x) + step < od ? *(const uint4 *)(from + step * pitch)
                                                               : make_uint4(0, 0, 0, 0);
            }
            const int j = threadIdx.x % ROWS;
            head = j0 + j < od ? *(const uint4 *)(tile + j * pitch) : make_uint4(0, 0, 0, 0);
        }
        __device__ __forceinline__ void store(uint8_t *xs) const {
#pragma unroll
            for (int n = 0; n < ROWS * 8 / THREADS; ++n) {
                const int i = threadIdx.x + n * THREADS;
                const uint4 v = nibbles[n];
                const uint32_t m = 0x0f0f0f0f;
                uint8_t *out = xs + row(i) * PITCH + piece(i) / 2 * 64 + piece(i) % 2 * 16;
                *(uint4 *)out = make_uint4(v.x & m, v.y & m, v.z & m, v.w & m);
                *(uint4 *)(out + 32) = make_uint4(v.x >> 4 & m, v.y >> 4 & m, v.z >> 4 & m, v.w >> 4 & m);
            }
            const int j = threadIdx.x % ROWS, half = threadIdx.x / ROWS;
            const uint32_t d = head.x ^ 0x80000000;
            *(uint4 *)(xs + j * PITCH + SCALES + 16 * half) =
                make_uint4(scale_pair(d, head, 4 * half), scale_pair(d, head, 4 * half + 1),
                           scale_pair(d, head, 4 * half + 2), scale_pair(d, head, 4 * half + 3));
        }
    };
    static_assert(THREADS == 2 * ROWS, "an element a thread");

    // Scales and mins of four chunks for two rows, or d and sum of four chunks for two tokens: one half2 each.
    template <int STRIDE> struct Pairs {
        float d[2][4], m[2][4];
        __device__ __forceinline__ void load(const uint8_t *from) {
#pragma unroll
            for (int u = 0; u < 2; ++u) {
                const uint4 v = shared_words(from + u * STRIDE);
                const uint32_t pair[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
                for (int c = 0; c < 4; ++c) {
                    d[u][c] = half_value(pair[c] & 0xffff);
                    m[u][c] = half_value(pair[c] >> 16);
                }
            }
        }
    };
    struct Rows : Pairs<8 * PITCH> {
        __device__ __forceinline__ void load(const uint8_t *scales, int h) {
            Pairs<8 * PITCH>::load(scales + 16 * h);
        }
    };
    using Tokens = Pairs<Q8_1_MMQ_BYTES>;

    // s = fma(rn(ds * da), dot, s) ; s = fma(dm, sum, s), all .ftz, chunk by chunk.
    static __device__ __forceinline__ void dot(float (&s)[4], const uint32_t (&a)[4][4], const uint32_t (&b)[4][2],
                                               const Rows &rows, const Tokens &tokens) {
#pragma unroll
        for (int c = 0; c < 4; ++c) {
            int32_t dots[4];
            mma_m16n8k32_s8(dots, a[c], b[c][0], b[c][1]);
#pragma unroll
            for (int l = 0; l < 4; ++l) {
                const float d = mul_ftz(rows.d[l / 2][c], tokens.d[l % 2][c]);
                s[l] = fma_ftz(d, __int2float_rn(dots[l]), s[l]);
                s[l] = fma_ftz(rows.m[l / 2][c], tokens.m[l % 2][c], s[l]);
            }
        }
    }
};
