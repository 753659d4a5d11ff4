// q4_K x pad40 -> f32, tile 128 tokens x 128 rows, both fragments by ldmatrix ("generation r14").
//
// 256 threads = 8 warps; a warp owns 16 rows x 128 tokens = 8 token groups x 2 row groups = 16 independent chains of
// mma.m16n8k32 per 32-chunk (A = activations, M = tokens; B = weights, N = rows).
// A stage is KD chunks of 32 values. Planes of the dynamic arena, in order and without gaps:
//
//   qa8    [KD][128 tokens][32 B]           int8 activations
//   sda_q  [KD][16 groups][8] uint2         words (f16 d | int16 sum) of tokens (t, t+8); 8 groups used at 128 tokens
//   qb8    [8 sub-blocks][128 rows][48 B]   nibbles widened to bytes, 32 B + 16 B pad: 8 rows start in 8 distinct bank
//                                           groups, so that ldmatrix is free of conflicts
//   sds    [KD][128 rows] float2            (d * sc, -dmin * m)
//
// Numeric contract: ref/q4_k_pad40_two_term.c.
#include "pad40.cuh"
#include "q4_k.cuh"

constexpr int TOKENS = 128, ROWS = 128, THREADS = 256;
constexpr int GROUPS = TOKENS / 16; // token groups of one A fragment
constexpr int SLOT = 48;            // bytes of a row in qb8

template <int KD> struct Arena {
    static constexpr int qa8 = 0;
    static constexpr int sda_q = qa8 + KD * TOKENS * 32;
    static constexpr int qb8 = sda_q + KD * 16 * 8 * 8;
    static constexpr int sds = qb8 + 8 * ROWS * SLOT;
    static constexpr int bytes = sds + KD * ROWS * 8;
};
static_assert(Arena<8>::bytes == 98304 && Arena<4>::bytes == 73728, "published arena sizes");

// qa8: 16 B of one token's chunk a step. Tokens past nt are zero.
template <int KD>
__device__ __forceinline__ void stage_qa8(uint8_t *arena, const uint8_t *x, int t0, int nt, int chunk0, int chunks) {
    for (int i = threadIdx.x; i < KD * TOKENS * 2; i += THREADS) {
        const int half = i % 2, kd = i / 2 % KD, t = i / 2 / KD;
        uint4 v = make_uint4(0, 0, 0, 0);
        if (t0 + t < nt) {
            const uint8_t *block = x + ((int64_t)(t0 + t) * chunks + chunk0 + kd) * PAD40_BYTES;
            const uint32_t *q = (const uint32_t *)(block + PAD40_QUANTS + 16 * half); // 4-byte aligned only
            v = make_uint4(q[0], q[1], q[2], q[3]);
        }
        *(uint4 *)(arena + Arena<KD>::qa8 + (kd * TOKENS + t) * 32 + 16 * half) = v;
    }
}

// sda_q: the scale words of tokens (t, t+8) as one pair, the width they are read with.
template <int KD>
__device__ __forceinline__ void stage_sda_q(uint8_t *arena, const uint8_t *x, int t0, int nt, int chunk0, int chunks) {
    for (int i = threadIdx.x; i < KD * GROUPS * 8; i += THREADS) {
        const int kd = i % KD, r = i / KD % 8, group = i / KD / 8;
        const int t = t0 + group * 16 + r;
        const uint8_t *block = x + ((int64_t)t * chunks + chunk0 + kd) * PAD40_BYTES;
        uint2 v = make_uint2(0, 0);
        if (t < nt) {
            v.x = pad40_scale_word(block);
        }
        if (t + 8 < nt) {
            v.y = pad40_scale_word(block + (int64_t)8 * chunks * PAD40_BYTES);
        }
        *(uint2 *)(arena + Arena<KD>::sda_q + ((kd * 16 + group) * 8 + r) * 8) = v;
    }
}

// qb8: one super-block of every row; 16 nibble bytes give 16 values of two neighbouring sub-blocks.
template <int KD>
__device__ __forceinline__ void stage_qb8(uint8_t *arena, const uint8_t *w, int j0, int od, int super, int supers) {
    for (int i = threadIdx.x; i < ROWS * 8; i += THREADS) {
        const int piece = i % 8, j = i / 8; // piece = 16 bytes: sub-blocks 2*(piece/2), +1, half piece%2
        uint4 v = make_uint4(0, 0, 0, 0);
        if (j0 + j < od) {
            const uint8_t *block = w + ((int64_t)(j0 + j) * supers + super) * Q4_K_BYTES;
            v = *(const uint4 *)(block + Q4_K_NIBBLES + 16 * piece);
        }
        const uint32_t m = 0x0f0f0f0f;
        uint8_t *slot = arena + Arena<KD>::qb8 + (piece / 2 * 2 * ROWS + j) * SLOT + 16 * (piece % 2);
        *(uint4 *)slot = make_uint4(v.x & m, v.y & m, v.z & m, v.w & m);
        *(uint4 *)(slot + ROWS * SLOT) = make_uint4(v.x >> 4 & m, v.y >> 4 & m, v.z >> 4 & m, v.w >> 4 & m);
    }
}

// sds: the scale pairs of two neighbouring rows as one 16-byte store.
template <int KD>
__device__ __forceinline__ void stage_sds(uint8_t *arena, const uint8_t *w, int j0, int od, int chunk0, int supers) {
    for (int i = threadIdx.x; i < KD * ROWS / 2; i += THREADS) {
        const int j = i % (ROWS / 2) * 2, kd = i / (ROWS / 2), chunk = chunk0 + kd;
        float2 lo = make_float2(0.0f, 0.0f), hi = lo;
        const uint8_t *block = w + ((int64_t)(j0 + j) * supers + chunk / 8) * Q4_K_BYTES;
        if (j0 + j < od) {
            lo = q4_k_scale_pair(block, chunk % 8);
        }
        if (j0 + j + 1 < od) {
            hi = q4_k_scale_pair(block + (int64_t)supers * Q4_K_BYTES, chunk % 8);
        }
        *(float4 *)(arena + Arena<KD>::sds + (kd * ROWS + j) * 8) = make_float4(lo.x, lo.y, hi.x, hi.y);
    }
}

template <int KD>
__device__ __forceinline__ void mmq_wide_ldb(const uint8_t *__restrict__ w, // (od, id / 256) q4_K blocks
                                             const uint8_t *__restrict__ x, // (nt, id / 32) pad40 blocks
                                             float *__restrict__ y,         // (nt, od)
                                             int nt, int od, int id) {
    extern __shared__ __align__(16) uint8_t arena[];
    const int t0 = blockIdx.x * TOKENS, j0 = blockIdx.y * ROWS;
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const int chunks = id / 32, supers = id / 256;

    // ldmatrix addresses of chunk 0. A: matrices (tokens 0-7 | 8-15) x (k 0-15 | 16-31), rows fastest.
    const uint32_t base = shared_address(arena);
    const uint32_t a_lane = base + Arena<KD>::qa8 + (lane & 15) * 32 + (lane >> 4) * 16;
    // B: matrices 0/1 = rows 0-7, k halves 0/1; 2/3 = rows 8-15, k halves 0/1.
    const int b_row = warp * 16 + (lane & 7) + (lane >> 4) * 8;
    const uint32_t b_lane = base + Arena<KD>::qb8 + b_row * SLOT + (lane >> 3 & 1) * 16;
    // C element l of an m16n8 fragment: token lane/4 + 8*(l/2), row 2*(lane%4) + l%2.
    const uint8_t *sda_lane = arena + Arena<KD>::sda_q + (lane >> 2) * 8;
    const uint8_t *sds_lane = arena + Arena<KD>::sds + (warp * 16 + (lane & 3) * 2) * 8;

    float sum[GROUPS][2][4]; // [token group][row group of 8][C element]
#pragma unroll
    for (int g = 0; g < GROUPS; ++g) {
#pragma unroll
        for (int l = 0; l < 8; ++l) {
            sum[g][l / 4][l % 4] = 0.0f;
        }
    }

    for (int chunk0 = 0; chunk0 < chunks; chunk0 += KD) {
        __syncthreads(); // the stage before has been read
        stage_qa8<KD>(arena, x, t0, nt, chunk0, chunks);
        stage_sda_q<KD>(arena, x, t0, nt, chunk0, chunks);
        if (chunk0 % 8 == 0) {
            stage_qb8<KD>(arena, w, j0, od, chunk0 / 8, supers);
        }
        stage_sds<KD>(arena, w, j0, od, chunk0, supers);
        __syncthreads();

#pragma unroll 1
        for (int kd = 0; kd < KD; ++kd) {
            uint32_t b[4]; // {b0, b1} of rows 0-7, {b0, b1} of rows 8-15
            ldmatrix_x4(b, b_lane + (chunk0 + kd) % 8 * (ROWS * SLOT));
            float4 scale[2]; // (ds, dm) of rows 2t and 2t+1
            scale[0] = *(const float4 *)(sds_lane + kd * ROWS * 8);
            scale[1] = *(const float4 *)(sds_lane + kd * ROWS * 8 + 64);
#pragma unroll
            for (int g = 0; g < GROUPS; ++g) {
                uint32_t a[4];
                ldmatrix_x4(a, a_lane + (kd * TOKENS + g * 16) * 32);
                const uint2 words = *(const uint2 *)(sda_lane + (kd * 16 + g) * 64);
                const float da[2] = {half_value(words.x & 0xffff), half_value(words.y & 0xffff)};
                const float sa[2] = {__int2float_rn((int)words.x >> 16), __int2float_rn((int)words.y >> 16)};
#pragma unroll
                for (int n = 0; n < 2; ++n) {
                    int32_t c[4];
                    mma_m16n8k32_s8(c, a, b[2 * n], b[2 * n + 1]);
#pragma unroll
                    for (int l = 0; l < 4; ++l) {
                        const float ds = l % 2 ? scale[n].z : scale[n].x, dm = l % 2 ? scale[n].w : scale[n].y;
                        float &s = sum[g][n][l];
                        s = __fmaf_rn(__fmul_rn(da[l / 2], ds), __int2float_rn(c[l]), s);
                        s = __fmaf_rn(__fmul_rn(da[l / 2], dm), sa[l / 2], s);
                    }
                }
            }
        }
    }

#pragma unroll
    for (int g = 0; g < GROUPS; ++g) {
#pragma unroll
        for (int l = 0; l < 8; ++l) {
            const int t = t0 + g * 16 + (lane >> 2) + 8 * (l % 4 / 2);
            const int j = j0 + warp * 16 + l / 4 * 8 + (lane & 3) * 2 + l % 2;
            if (t < nt && j < od) {
                y[(int64_t)t * od + j] = sum[g][l / 4][l % 4];
            }
        }
    }
}

#define MMQ_WIDE_LDB(KD)                                                                                               \
    extern "C" __global__ void __launch_bounds__(THREADS)                                                              \
        mmq_wide_ldb_kd##KD(const uint8_t *__restrict__ w, const uint8_t *__restrict__ x, float *__restrict__ y,       \
                            int nt, int od, int id) {                                                                  \
        mmq_wide_ldb<KD>(w, x, y, nt, od, id);                                                                         \
    }
MMQ_WIDE_LDB(4)
MMQ_WIDE_LDB(8)
