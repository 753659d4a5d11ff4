// How a stage of half_q6_tile.cuh comes into the arena: three parts, each with begin and finish as a Stage has them.
// Rows past od have codes and scales of zero.
#pragma once
#include "chunk.cuh"
#include "half_q6_tile.cuh"

constexpr int Q6_K_BYTES = 210; // 2-byte aligned; fields: chunk_q6_k.cuh
constexpr int Q6_K_HIGH = 128, Q6_K_SCALES = 192, Q6_K_D = 208;

// Block of row j of the tile that has the chunk, which must be there.
__device__ __forceinline__ const uint8_t *q6_k_block(const Operands &o, int j, int chunk) {
    return o.w + ((int64_t)(o.row0() + j) * (o.id / 256) + chunk / 8) * Q6_K_BYTES;
}

// d * sc of both halves of chunk s of a block, exact.
__device__ __forceinline__ float2 q6_k_scales(const uint8_t *block, int s) {
    const float d = load_half(block + Q6_K_D);
    const uint32_t pair = *(const uint16_t *)(block + Q6_K_SCALES + 2 * s);
    return make_float2(__fmul_rn(d, __int2float_rn((int8_t)pair)), __fmul_rn(d, __int2float_rn((int8_t)(pair >> 8))));
}

// Activations, copied as pad40_t has them.
template <int KD, int STAGES> struct LoadedActivations {
    static constexpr bool COPIES = false;
    static constexpr int QUANTS = KD * PAD40_T_QUANTS / 16 / THREADS, WORDS = KD * PAD40_T_WORDS / 16; // 16 B each
    static_assert(WORDS <= THREADS, "at most one piece of scale words a thread");
    uint4 quants[QUANTS], words;

    __device__ __forceinline__ void begin(uint8_t *, int, const Operands &o, int chunk0) {
        const int64_t chunk = (int64_t)blockIdx.x * o.chunks() + chunk0;
#pragma unroll
        for (int n = 0; n < QUANTS; ++n) {
            quants[n] = ((const uint4 *)(o.x + chunk * PAD40_T_QUANTS))[threadIdx.x + n * THREADS];
        }
        if (threadIdx.x < WORDS) {
            words = ((const uint4 *)(o.x + pad40_t_words_at(o.nt, o.chunks()) + chunk * PAD40_T_WORDS))[threadIdx.x];
        }
    }
    __device__ __forceinline__ void finish(uint8_t *arena, int buffer, const Operands &, int) {
        using A = Arena<KD, STAGES>;
#pragma unroll
        for (int n = 0; n < QUANTS; ++n) {
            ((uint4 *)(arena + A::qa8 + buffer * A::qa8_stage))[threadIdx.x + n * THREADS] = quants[n];
        }
        if (threadIdx.x < WORDS) {
            ((uint4 *)(arena + A::sda_q + buffer * A::sda_stage))[threadIdx.x] = words;
        }
    }
};

// Four codes of chunk r = 0 .. 3 of half a super-block, centred, from the words that hold them: the low bits of chunks
// r and r ^ 2 in one, in low and high nibbles; the bit pairs of all four in another. Without a block the codes are 32,
// which is 0.
struct CodeWords {
    static constexpr uint32_t NO_LOW = 0, NO_HIGH = 0xaaaaaaaa;
    static __device__ __forceinline__ uint32_t centred(uint32_t low, uint32_t high, int r) {
        const uint32_t n = (low >> 4 * (r >> 1) & 0x0f0f0f0f) | (high >> 2 * r & 0x03030303) << 4;
        return (n + 0x60606060) ^ 0x80808080; // n - 32 in every byte: no carry leaves one
    }
};

// Codes, a word at a time. A thread takes word i % 8 of row i / 8 of half a super-block, which is in up to four chunks.
template <int KD, int STAGES> struct WordCodes {
    static constexpr bool COPIES = false;
    static constexpr int HALVES = KD == 8 ? 2 : 1, N = ROWS * 8 / THREADS;
    uint32_t low[HALVES][N][2], high[HALVES][N];

    __device__ __forceinline__ void begin(uint8_t *, int, const Operands &o, int chunk0) {
#pragma unroll
        for (int n = 0; n < HALVES * N; ++n) {
            const unsigned i = threadIdx.x + n % N * THREADS;
            const int word = i % 8, j = i / 8, half = chunk0 / 4 % 2 + n / N;
            uint32_t *pair = low[n / N][n % N];
            pair[0] = pair[1] = CodeWords::NO_LOW;
            high[n / N][n % N] = CodeWords::NO_HIGH;
            if (o.row0() + j < o.od) {
                const uint8_t *block = q6_k_block(o, j, chunk0);
                pair[0] = load_u16x2(block + 64 * half + 4 * word);
                pair[1] = load_u16x2(block + 64 * half + 32 + 4 * word);
                high[n / N][n % N] = load_u16x2(block + Q6_K_HIGH + 32 * half + 4 * word);
            }
        }
    }
    __device__ __forceinline__ void finish(uint8_t *arena, int buffer, const Operands &, int chunk0) {
        using A = Arena<KD, STAGES>;
        uint8_t *plane = arena + A::qb_exp + buffer * A::qb_stage;
#pragma unroll
        for (int kd = 0; kd < KD; ++kd) {
#pragma unroll
            for (int n = 0; n < N; ++n) {
                const unsigned i = threadIdx.x + n * THREADS;
                const int word = i % 8, j = i / 8, r = (chunk0 + kd) % 4;
                uint8_t *slot = plane + kd * ROWS * 32 + XorRows::at(j, word / 4) + word % 4 * 4;
                *(uint32_t *)slot = CodeWords::centred(low[kd / 4][n][kd % 2], high[kd / 4][n], r);
            }
        }
    }
};

// Scales, from the blocks.
template <int KD, int STAGES> struct LoadedScales {
    static constexpr bool COPIES = false;
    static constexpr int N = KD * ROWS / THREADS;
    float2 dsc[N];

    __device__ __forceinline__ void begin(uint8_t *, int, const Operands &o, int chunk0) {
#pragma unroll
        for (int n = 0; n < N; ++n) {
            const unsigned i = threadIdx.x + n * THREADS;
            const int j = i % ROWS, kd = i / ROWS;
            dsc[n] = make_float2(0.0f, 0.0f);
            if (o.row0() + j < o.od) {
                dsc[n] = q6_k_scales(q6_k_block(o, j, chunk0 + kd), (chunk0 + kd) % 8);
            }
        }
    }
    __device__ __forceinline__ void finish(uint8_t *arena, int buffer, const Operands &, int) {
        using A = Arena<KD, STAGES>;
#pragma unroll
        for (int n = 0; n < N; ++n) {
            ((float2 *)(arena + A::sds + buffer * A::sds_stage))[threadIdx.x + n * THREADS] = dsc[n];
        }
    }
};

// The three together.
template <int KD_, int STAGES_, template <int, int> class Activations, template <int, int> class Codes,
          template <int, int> class Scales>
struct StageOf {
    static constexpr int KD = KD_, STAGES = STAGES_;
    Activations<KD, STAGES> activations;
    Codes<KD, STAGES> codes;
    Scales<KD, STAGES> scales;
    static constexpr bool COPIES =
        Activations<KD, STAGES>::COPIES || Codes<KD, STAGES>::COPIES || Scales<KD, STAGES>::COPIES;

    __device__ __forceinline__ void begin(uint8_t *arena, int buffer, const Operands &o, int chunk0) {
        activations.begin(arena, buffer, o, chunk0);
        codes.begin(arena, buffer, o, chunk0);
        scales.begin(arena, buffer, o, chunk0);
        if constexpr (COPIES) {
            commit_copies();
        }
    }
    __device__ __forceinline__ void finish(uint8_t *arena, int buffer, const Operands &o, int chunk0) {
        activations.finish(arena, buffer, o, chunk0);
        codes.finish(arena, buffer, o, chunk0);
        scales.finish(arena, buffer, o, chunk0);
        if constexpr (COPIES) {
            wait_copies<0>();
        }
    }
};
