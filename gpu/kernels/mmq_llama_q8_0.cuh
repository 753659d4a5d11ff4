// q8_0 x d4 in the tile of mmq_llama_tile.cuh. A row's scales: [8] f32 d of the blocks of 32 values; 16 B unused.
#pragma once
#include "chunk.cuh"
#include "mmq_llama_tile.cuh"

constexpr int Q8_0_BYTES = 34, Q8_0_VALUES = 32;

struct LlamaQ8_0 {
    static constexpr int BLOCK_VALUES = Q8_0_VALUES;

    // 8 blocks of 128 rows, zeros for those past the row's end; an element is 16 values, or the scales of 4 blocks.
    struct Staged {
        uint4 quants[ROWS * 16 / THREADS];
        float d[4];
        __device__ __forceinline__ void load(const uint8_t *w, int j0, int od, int k, int id) {
            const int blocks = (id - k) / Q8_0_VALUES;           // to the row's end
            const int64_t pitch = id / Q8_0_VALUES * Q8_0_BYTES; // of a row
            const uint8_t *tile = w + j0 * pitch + k / Q8_0_VALUES * Q8_0_BYTES;
            const int b = threadIdx.x / 2 % 8, row = threadIdx.x / 16;
            const uint8_t *from = tile + row * pitch + b * Q8_0_BYTES + 2 + 16 * (threadIdx.x % 2);
#pragma unroll
            for (int n = 0; n < ROWS * 16 / THREADS; ++n) {
                const int step = n * (THREADS / 16); // rows
                quants[n] = make_uint4(0, 0, 0, 0);
                if (j0 + row + step < od && b < blocks) {
                    const uint8_t *q = from + step * pitch;
                    quants[n] = make_uint4(load_u16x2(q), load_u16x2(q + 4), load_u16x2(q + 8), load_u16x2(q + 12));
                }
            }
            const int j = threadIdx.x % ROWS, half = threadIdx.x / ROWS;
            d[0] = d[1] = d[2] = d[3] = 0.0f;
            if (j0 + j < od && 4 * half < blocks) { // blocks come by fours: the depth is a multiple of 128
                const uint8_t *block = tile + j * pitch + 4 * half * Q8_0_BYTES;
#pragma unroll
                for (int c = 0; c < 4; ++c) {
                    d[c] = load_half(block + c * Q8_0_BYTES);
                }
            }
        }
        __device__ __forceinline__ void store(uint8_t *xs) const {
#pragma unroll
            for (int n = 0; n < ROWS * 16 / THREADS; ++n) {
                const int i = threadIdx.x + n * THREADS;
                *(uint4 *)(xs + i / 16 * PITCH + 16 * (i % 16)) = quants[n];
            }
            const int j = threadIdx.x % ROWS, half = threadIdx.x / ROWS; // eight rows start in distinct bank groups
            *(float4 *)(xs + j * PITCH + SCALES + 16 * half) = make_float4(d[0], d[1], d[2], d[3]);
        }
    };
    static_assert(THREADS == 2 * ROWS, "an element a thread");

    struct Rows { // d of four chunks for two rows
        float d[2][4];
        __device__ __forceinline__ void load(const uint8_t *scales, int h) {
            load_scales(d, scales + 16 * h, 8 * PITCH);
        }
    };
    using Tokens = TokensD4;

    // s = fma(rn(dot * d), da, s), all .ftz, chunk by chunk.
    static __device__ __forceinline__ void dot(float (&s)[4], const uint32_t (&a)[4][4], const uint32_t (&b)[4][2],
                                               const Rows &rows, const Tokens &tokens) {
#pragma unroll
        for (int c = 0; c < 4; ++c) {
            int32_t dots[4];
            mma_m16n8k32_s8(dots, a[c], b[c][0], b[c][1]);
#pragma unroll
            for (int l = 0; l < 4; ++l) {
                s[l] = fma_ftz(mul_ftz(__int2float_rn(dots[l]), rows.d[l / 2][c]), tokens.d[l % 2][c], s[l]);
            }
        }
    }
};
