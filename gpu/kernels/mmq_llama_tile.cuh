// A tile of J tokens x 128 rows as llama.cpp's matrix kernels lay it out: weights are A of the mma (M = rows), q8_1_mmq
// activations are B (N = tokens). 256 threads = 8 warps; a warp owns 16 rows x J tokens, from J = 48 on 32 rows x J / 2
// tokens. Planes of the dynamic arena, in order and without gaps:
//
//   ids  [J] int32          the row of the result that a token goes to, -1 past the end
//   ys   [J][144 B]         q8_1_mmq blocks of 128 values, as they are; padded to 1024 B
//   xs   [128 rows][304 B]  256 values as bytes, then what the format keeps of scales (mmq_llama_<format>.cuh); 304 B
//                           start in 8 distinct bank groups, so that ldmatrix is free of conflicts
//
// xs is filled every 256 values, ys every 128: a stage is 128 values. A stage is loaded into registers while the one before
// is multiplied, and stored once that has been read.
//
// A format says how it is staged and folded: struct F with Staged, a thread's part of xs, and for the lane's two rows
// (lane / 4 and 8 on) and two tokens (2 * (lane % 4) and the next) Rows and Tokens, and dot() of 128 values of 16 rows x
// 8 tokens.
#pragma once
#include "fragment.cuh"
#include "ftz.cuh"
#include "q8_1_mmq.cuh"

constexpr int ROWS = 128, THREADS = 256, DEPTH = 256; // DEPTH: values of xs
constexpr int PITCH = 304;                            // bytes of a row of xs
constexpr int SCALES = 256;                           // where its scales begin

template <int J> struct Tile {
    static constexpr int N = J >= 48 ? 2 : 1;         // groups of 16 rows of a warp
    static constexpr int ROW_WARPS = ROWS / (16 * N); // the others share the tokens
    static constexpr int TOKENS = J * ROW_WARPS / 8;  // of a warp
    static constexpr int GROUPS = TOKENS / 8;
    static_assert(GROUPS * 8 == TOKENS, "whole groups of 8 tokens");

    static constexpr int ids = 0;
    static constexpr int ys = ids + J * 4 + CANARY;
    static constexpr int xs = ys + (J * Q8_1_MMQ_BYTES + 1023) / 1024 * 1024 + CANARY;
    static constexpr int bytes = xs + ROWS * PITCH - 2 * CANARY;
};
static_assert(Tile<8>::bytes == 40992 && Tile<64>::bytes == 48384 && Tile<128>::bytes == 57856, "published sizes");

// Element l of an accumulator: row `c_m` of 16, token `c_n` of 8.
__device__ __forceinline__ int c_m(int lane, int l) { return (lane >> 2) + 8 * (l / 2); }
__device__ __forceinline__ int c_n(int lane, int l) { return (lane & 3) * 2 + l % 2; }

// 16 bytes of shared memory as one load; the compiler would take some apart.
__device__ __forceinline__ uint4 shared_words(const uint8_t *from) {
    uint4 v;
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "r"(shared_address(from))
                 : "memory");
    return v;
}

// Four floats of each of two rows `stride` bytes apart: scales of chunks 0 .. 3.
__device__ __forceinline__ void load_scales(float (&d)[2][4], const uint8_t *from, int stride) {
#pragma unroll
    for (int u = 0; u < 2; ++u) {
        const uint4 v = shared_words(from + u * stride);
        d[u][0] = __uint_as_float(v.x), d[u][1] = __uint_as_float(v.y);
        d[u][2] = __uint_as_float(v.z), d[u][3] = __uint_as_float(v.w);
    }
}

// d of chunks 0 .. 3 of a block for two tokens.
struct TokensD4 {
    float d[2][4];
    __device__ __forceinline__ void load(const uint8_t *block) { load_scales(d, block, Q8_1_MMQ_BYTES); }
};

template <int J> struct Sums {
    float s[Tile<J>::N][Tile<J>::GROUPS][4];
    __device__ __forceinline__ void clear() {
#pragma unroll
        for (int i = 0; i < Tile<J>::N * Tile<J>::GROUPS * 4; ++i) {
            s[i / 4 / Tile<J>::GROUPS][i / 4 % Tile<J>::GROUPS][i % 4] = 0.0f;
        }
    }
};

template <int J> __device__ __forceinline__ void stage_ids(uint8_t *arena, int t0, int nt) {
    if (threadIdx.x < J) {
        const int t = t0 + threadIdx.x;
        *(int *)(arena + Tile<J>::ids + threadIdx.x * 4) = t < nt ? t : -1;
    }
}

// A thread's part of ys: block kb of the tile's tokens, 16 bytes an element; zeros past nt.
template <int J> struct StagedTokens {
    static constexpr int ELEMENTS = J * Q8_1_MMQ_BYTES / 16, N = (ELEMENTS + THREADS - 1) / THREADS;
    uint4 v[N];

    __device__ __forceinline__ void load(const uint8_t *x, int t0, int nt, int kb) {
        const uint8_t *run = x + ((int64_t)kb * nt + t0) * Q8_1_MMQ_BYTES;
        const int there = min(J, nt - t0) * (Q8_1_MMQ_BYTES / 16);
#pragma unroll
        for (int n = 0; n < N; ++n) {
            const int i = threadIdx.x + n * THREADS;
            v[n] = i < there ? *(const uint4 *)(run + 16 * i) : make_uint4(0, 0, 0, 0);
        }
    }
    __device__ __forceinline__ void store(uint8_t *ys) const {
#pragma unroll
        for (int n = 0; n < N; ++n) {
            const int i = threadIdx.x + n * THREADS;
            if (i < ELEMENTS) {
                *(uint4 *)(ys + 16 * i) = v[n];
            }
        }
    }
};

// sum += 128 values, half h of xs.
template <class F, int J> __device__ __forceinline__ void dot_half(Sums<J> &sum, const uint8_t *arena, int h) {
    using T = Tile<J>;
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const int row0 = warp % T::ROW_WARPS * 16 * T::N, token0 = warp / T::ROW_WARPS * T::TOKENS;
    const uint32_t a_lane = shared_address(arena) + T::xs + row0 * PITCH + a_fragment(lane, PITCH) + 128 * h;
    const uint8_t *row_lane = arena + T::xs + (row0 + c_m(lane, 0)) * PITCH + SCALES;
    const uint8_t *y_warp = arena + T::ys + token0 * Q8_1_MMQ_BYTES;
    const uint8_t *b_lane = y_warp + Q8_1_MMQ_QUANTS + b_word(lane, Q8_1_MMQ_BYTES);
    const uint8_t *token_lane = y_warp + c_n(lane, 0) * Q8_1_MMQ_BYTES;

    uint32_t a[T::N][4][4]; // of 4 chunks
    typename F::Rows rows[T::N];
#pragma unroll
    for (int n = 0; n < T::N; ++n) {
#pragma unroll
        for (int c = 0; c < 4; ++c) {
            ldmatrix_x4(a[n][c], a_lane + n * 16 * PITCH + c * 32);
        }
        rows[n].load(row_lane + n * 16 * PITCH, h);
    }
#pragma unroll
    for (int g = 0; g < T::GROUPS; ++g) {
        uint32_t b[4][2];
#pragma unroll
        for (int c = 0; c < 4; ++c) {
            b[c][0] = *(const uint32_t *)(b_lane + g * 8 * Q8_1_MMQ_BYTES + c * 32);
            b[c][1] = *(const uint32_t *)(b_lane + g * 8 * Q8_1_MMQ_BYTES + c * 32 + 16);
        }
        typename F::Tokens tokens;
        tokens.load(token_lane + g * 8 * Q8_1_MMQ_BYTES);
#pragma unroll
        for (int n = 0; n < T::N; ++n) {
            F::dot(sum.s[n][g], a[n], b, rows[n], tokens);
        }
    }
}

// sum += values k .. k_end - 1 of the tile at token t0, row j0; k is a multiple of DEPTH, k_end of 128.
template <class F, int J>
__device__ __forceinline__ void dot_tile(Sums<J> &sum, uint8_t *arena, const uint8_t *w, const uint8_t *x, int t0,
                                         int j0, int k, int k_end, int nt, int od, int id) {
    typename F::Staged rows;
    StagedTokens<J> tokens;
    rows.load(w, j0, od, k, id);
    tokens.load(x, t0, nt, k / Q8_1_MMQ_VALUES);
#pragma unroll 1
    while (k < k_end) {
        const int h = k / Q8_1_MMQ_VALUES % 2;
        if (h == 0) {
            rows.store(arena + Tile<J>::xs);
        }
        tokens.store(arena + Tile<J>::ys);
        __syncthreads();
        k += Q8_1_MMQ_VALUES;
        if (k < k_end) {
            if (h == 1) {
                rows.load(w, j0, od, k, id);
            }
            tokens.load(x, t0, nt, k / Q8_1_MMQ_VALUES);
        }
        dot_half<F, J>(sum, arena, h);
        __syncthreads(); // the stage has been read
    }
}

// y (nt, od) = the tile's cells that are not past the end.
template <int J>
__device__ __forceinline__ void store_sums(float *y, const Sums<J> &sum, const uint8_t *arena, int j0, int od) {
    using T = Tile<J>;
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const int row0 = j0 + warp % T::ROW_WARPS * 16 * T::N, token0 = warp / T::ROW_WARPS * T::TOKENS;
#pragma unroll
    for (int g = 0; g < T::GROUPS; ++g) {
        const int2 ids = *(const int2 *)(arena + T::ids + (token0 + g * 8 + c_n(lane, 0)) * 4);
#pragma unroll
        for (int l = 0; l < 4 * T::N; ++l) {
            const int t = l % 2 ? ids.y : ids.x, j = row0 + l / 4 * 16 + c_m(lane, l % 4);
            if (t >= 0 && j < od) {
                y[(int64_t)t * od + j] = sum.s[l / 4][g][l % 4];
            }
        }
    }
}

// The whole depth of tile (blockIdx.x of tokens, blockIdx.y of rows).
template <class F, int J>
__device__ __forceinline__ void mmq_llama(const uint8_t *__restrict__ w, // (od, id / block) blocks
                                          const uint8_t *__restrict__ x, // (id / 128, nt) q8_1_mmq blocks
                                          float *__restrict__ y,         // (nt, od)
                                          int nt, int od, int id) {
    SHARED_ARENA(arena);
    const int t0 = blockIdx.x * J, j0 = blockIdx.y * ROWS;
    Sums<J> sum;
    sum.clear();
    stage_ids<J>(arena, t0, nt);
    dot_tile<F, J>(sum, arena, w, x, t0, j0, 0, id, nt, od, id);
    store_sums<J>(y, sum, arena, j0, od);
}

#define MMQ_LLAMA(NAME, FORMAT, J)                                                                                     \
    extern "C" __global__ void __launch_bounds__(THREADS, 1)                                                           \
        mmq_llama_##NAME##_j##J(const uint8_t *__restrict__ w, const uint8_t *__restrict__ x, float *__restrict__ y,   \
                                int nt, int od, int id) {                                                              \
        mmq_llama<FORMAT, J>(w, x, y, nt, od, id);                                                                     \
    }
