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
#include "fragment.cuh"
#include "rescale.cuh"
#include "stage_pad40.cuh"
#include "stage_q4_k.cuh"

constexpr int TOKENS = 128, ROWS = 128, THREADS = 256;
constexpr int GROUPS = TOKENS / 16; // token groups of one A fragment
constexpr int SLOT = 48;            // bytes of a row in qb8

template <int KD> struct Arena {
    static constexpr int qa8 = 0;
    static constexpr int sda_q = qa8 + KD * TOKENS * 32 + CANARY;
    static constexpr int qb8 = sda_q + KD * 16 * 8 * 8 + CANARY;
    static constexpr int sds = qb8 + 8 * ROWS * SLOT + CANARY;
    static constexpr int bytes = sds + KD * ROWS * 8 - 3 * CANARY;
};
static_assert(Arena<8>::bytes == 98304 && Arena<4>::bytes == 73728, "published arena sizes");

template <int KD>
__device__ __forceinline__ void mmq_wide_ldb(const uint8_t *__restrict__ w, // (od, id / 256) q4_K blocks
                                             const uint8_t *__restrict__ x, // (nt, id / 32) pad40 blocks
                                             float *__restrict__ y,         // (nt, od)
                                             int nt, int od, int id) {
    using A = Arena<KD>;
    SHARED_ARENA(arena);
    const int t0 = blockIdx.x * TOKENS, j0 = blockIdx.y * ROWS;
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const int chunks = id / 32, supers = id / 256;

    // The lane's places in the planes, at chunk 0.
    const uint32_t base = shared_address(arena);
    const uint32_t a_lane = base + A::qa8 + a_fragment(lane, 32);
    const uint32_t b_lane = base + A::qb8 + warp * 16 * SLOT + b_fragment(lane, SLOT);
    const uint8_t *sda_lane = arena + A::sda_q + c_token(lane, 0) * 8;
    const uint8_t *sds_lane = arena + A::sds + (warp * 16 + c_row(lane, 0)) * 8;

    float sum[GROUPS][2][4];
    clear_tile(sum);
    for (int chunk0 = 0; chunk0 < chunks; chunk0 += KD) {
        __syncthreads(); // the stage before has been read
        stage_quants<KD, TOKENS, THREADS>(arena + A::qa8, x, t0, nt, chunk0, chunks);
        stage_word_pairs<KD, TOKENS, 16, THREADS>(arena + A::sda_q, x, t0, nt, chunk0, chunks);
        if (chunk0 % 8 == 0) {
            stage_expanded<ROWS, ROWS * SLOT, SLOT, THREADS>(arena + A::qb8, w, j0, od, chunk0 / 8, supers);
        }
        stage_scale_pairs<KD, ROWS, THREADS>(arena + A::sds, w, j0, od, chunk0, supers);
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
                const TokenPair tokens = token_pair(words.x, words.y);
#pragma unroll
                for (int n = 0; n < 2; ++n) {
                    int32_t c[4];
                    mma_m16n8k32_s8(c, a, b[2 * n], b[2 * n + 1]);
                    fold_two_term(sum[g][n], c, tokens, scale[n]);
                }
            }
        }
    }
    store_tile(y, sum, t0, j0 + warp * 16, nt, od, lane);
}

#define MMQ_WIDE_LDB(KD)                                                                                               \
    extern "C" __global__ void __launch_bounds__(THREADS)                                                              \
        mmq_wide_ldb_kd##KD(const uint8_t *__restrict__ w, const uint8_t *__restrict__ x, float *__restrict__ y,       \
                            int nt, int od, int id) {                                                                  \
        mmq_wide_ldb<KD>(w, x, y, nt, od, id);                                                                         \
    }
MMQ_WIDE_LDB(4)
MMQ_WIDE_LDB(8)
