// Weights of any format x pad40 -> f32, tile 64 tokens x 64 rows, both unpacked to bytes at staging ("generation R1").
//
// 256 threads = 8 warps; warp w owns tokens 32 * (w % 2) .. and rows 16 * (w / 2) .. = 2 token groups x 2 row groups. A
// stage is KD chunks; the next one is staged while this one is multiplied. Planes of the dynamic arena, in order and
// without gaps, [2][KD][64] of each:
//
//   qa    9 words   int8 activations of a token, 8 words and a pad
//   qb    9 words   codes of a row, the same
//   ssa   float     sum of a token's activations
//   sda   float     d of a token
//   sds   float     d, or d * sc, of a row; of the first half of a chunk where halves have a scale each
//   sds1  float     of the second half
//   sdm   float     m, or -dmin * m
//
// The arena is the same for every format: what a format has no use for stays as it was. Chunks past the depth are
// neither staged nor multiplied, and need not be zero.
#pragma once
#include "fragment.cuh"
#include "pad40.cuh"
#include "word_fold.cuh"

constexpr int THREADS = 256, TILE = 64; // tokens, and rows
constexpr int PITCH = 9 * 4;            // bytes of a token or row

template <int KD> struct WordArena {
    static constexpr int quants = KD * TILE * PITCH; // bytes of a buffer
    static constexpr int scales = KD * TILE * 4;
    static constexpr int qa = 0;
    static constexpr int qb = qa + 2 * quants + CANARY;
    static constexpr int ssa = qb + 2 * quants + CANARY;
    static constexpr int sda = ssa + 2 * scales + CANARY;
    static constexpr int sds = sda + 2 * scales + CANARY;
    static constexpr int sds1 = sds + 2 * scales + CANARY;
    static constexpr int sdm = sds1 + 2 * scales + CANARY;
    static constexpr int bytes = sdm + 2 * scales - 6 * CANARY;
    static constexpr ScalePlanes planes = {sds1 - sds, sdm - sds};
};
static_assert(WordArena<8>::bytes == 94208 && WordArena<4>::bytes == 47104, "published arena sizes");

// Eight words, to a multiple of four bytes.
__device__ __forceinline__ void store_words(uint8_t *slot, const uint32_t (&n)[8]) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        ((uint32_t *)slot)[i] = n[i];
    }
}

// KD chunks of the tile's tokens into a buffer, a chunk of a token a thread; neighbours in tokens, whose words lie in
// different banks. Tokens past nt are zero.
template <int KD, bool SUMS>
__device__ __forceinline__ void stage_activations(uint8_t *arena, int buffer, const uint8_t *x, int t0, int nt,
                                                  int chunk0, int chunks) {
    using A = WordArena<KD>;
    for (unsigned i = threadIdx.x; i < KD * TILE; i += THREADS) {
        const int t = i % TILE, kd = i / TILE;
        if (chunk0 + kd < chunks) {
            uint32_t word[10] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0}; // d | gap, q 0-3, q 4-7 .. q 28-31, sum
            if (t0 + t < nt) {
                const uint8_t *block = x + ((int64_t)(t0 + t) * chunks + chunk0 + kd) * PAD40_BYTES;
#pragma unroll
                for (int p = 0; p < 5; ++p) { // 40 is a multiple of 8
                    const uint2 pair = ((const uint2 *)block)[p];
                    word[2 * p] = pair.x;
                    word[2 * p + 1] = pair.y;
                }
            }
            const uint32_t q[8] = {word[1], word[2], word[3], word[4], word[5], word[6], word[7], word[8]};
            store_words(arena + A::qa + buffer * A::quants + i * PITCH, q);
            uint8_t *scale = arena + A::sda + buffer * A::scales + i * 4;
            *(float *)scale = half_value(word[0] & 0xffff);
            if (SUMS) {
                *(float *)(scale + A::ssa - A::sda) = __int2float_rn((int32_t)word[9]);
            }
        }
    }
}

// The same of the tile's rows. Rows past od are zero.
template <class Format, int KD>
__device__ __forceinline__ void stage_weights(uint8_t *arena, int buffer, const uint8_t *w, int j0, int od, int chunk0,
                                              int chunks) {
    using A = WordArena<KD>;
    using Fold = WordFold<typename Format::Chunk>;
    for (unsigned i = threadIdx.x; i < KD * TILE; i += THREADS) {
        const int j = i % TILE, chunk = chunk0 + i / TILE;
        if (chunk < chunks) {
            typename Format::Chunk c = {};
            if (j0 + j < od) {
                const int64_t block = (int64_t)(j0 + j) * (chunks / Format::CHUNKS) + chunk / Format::CHUNKS;
                Format::load(c, w + block * Format::BYTES, chunk % Format::CHUNKS);
                Fold::centre(c);
            }
            store_words(arena + A::qb + buffer * A::quants + i * PITCH, c.n);
            Fold::store(arena + A::sds + buffer * A::scales + i * 4, c, A::planes);
        }
    }
}

template <class Format, int KD>
__device__ __forceinline__ void mmq_word(const uint8_t *__restrict__ w, // (od, id / 32 / CHUNKS) blocks
                                         const uint8_t *__restrict__ x, // (nt, id / 32) pad40 blocks
                                         float *__restrict__ y,         // (nt, od)
                                         int nt, int od, int id) {
    using A = WordArena<KD>;
    using Fold = WordFold<typename Format::Chunk>;
    SHARED_ARENA(arena);
    const int t0 = blockIdx.x * TILE, j0 = blockIdx.y * TILE;
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const int chunks = id / 32;

    const auto fill = [&](int chunk0) {
        const int buffer = chunk0 / KD % 2;
        stage_activations<KD, Fold::SUMS>(arena, buffer, x, t0, nt, chunk0, chunks);
        stage_weights<Format, KD>(arena, buffer, w, j0, od, chunk0, chunks);
    };

    // The lane's places in the planes, at chunk 0.
    const int token = warp % 2 * 32, row = warp / 2 * 16;
    const uint8_t *a_lane = arena + A::qa + token * PITCH + a_word(lane, PITCH);
    const uint8_t *b_lane = arena + A::qb + row * PITCH + b_word(lane, PITCH);
    const uint8_t *sda_lane = arena + A::sda + (token + c_token(lane, 0)) * 4;
    const uint8_t *sds_lane = arena + A::sds + (row + c_row(lane, 0)) * 4;

    float sum[2][2][4]; // [token group][row group]
    clear_tile(sum);
    fill(0);
    for (int chunk0 = 0; chunk0 < chunks; chunk0 += KD) {
        __syncthreads(); // this stage is full, and the one before it has been read
        if (chunk0 + KD < chunks) {
            fill(chunk0 + KD);
        }

        const int buffer = chunk0 / KD % 2;
#pragma unroll 1
        for (int kd = 0; kd < KD && chunk0 + kd < chunks; ++kd) {
            const int words_at = buffer * A::quants + kd * TILE * PITCH, scales_at = buffer * A::scales + kd * TILE * 4;
            uint32_t b[2][2]; // {b0, b1} of each row group
            typename Fold::Rows rows[2];
#pragma unroll
            for (int n = 0; n < 2; ++n) {
                const uint32_t *word = (const uint32_t *)(b_lane + words_at + n * 8 * PITCH);
                b[n][0] = word[0];
                b[n][1] = word[4];
                rows[n] = Fold::rows(sds_lane + scales_at + n * 8 * 4, A::planes);
            }
#pragma unroll
            for (int g = 0; g < 2; ++g) {
                const uint32_t *word = (const uint32_t *)(a_lane + words_at + g * 16 * PITCH);
                const uint32_t a[4] = {word[0], word[8 * PITCH / 4], word[4], word[8 * PITCH / 4 + 4]};
                const float *d = (const float *)(sda_lane + scales_at + g * 16 * 4);
                TokenPair tokens = {{d[0], d[8]}, {0.0f, 0.0f}};
                if (Fold::SUMS) {
                    const float *s = d + (A::ssa - A::sda) / 4;
                    tokens.sa[0] = s[0];
                    tokens.sa[1] = s[8];
                }
#pragma unroll
                for (int n = 0; n < 2; ++n) {
                    Fold::fold(sum[g][n], a, b[n], tokens, rows[n]);
                }
            }
        }
    }
    store_tile(y, sum, t0 + token, j0 + row, nt, od, lane);
}

#define MMQ_WORD(NAME, FORMAT, KD)                                                                                     \
    extern "C" __global__ void __launch_bounds__(THREADS)                                                              \
        mmq_word_##NAME##_kd##KD(const uint8_t *__restrict__ w, const uint8_t *__restrict__ x, float *__restrict__ y,  \
                                 int nt, int od, int id) {                                                             \
        mmq_word<FORMAT, KD>(w, x, y, nt, od, id);                                                                     \
    }
