// q4_K x pad40 -> f32, tile 128 tokens x 64 rows, one stage without cp.async ("generation r10").
//
// 256 threads = 8 warps; warp w owns rows 32 * (w / 4) .. and tokens 32 * (w % 4) .. = 2 token groups x 4 row groups.
// Activations are staged without their scales, so that one buffer is small enough for two blocks a multiprocessor.
// A stage is KD chunks. Planes of the dynamic arena, in order and without gaps:
//
//   qa8    [KD][128 tokens][32 B]   int8 activations
//   sda_q  [KD][256] words          (f16 d | int16 sum) of a token; 128 used
//   qb8    [64 rows][144 B]         q4_K blocks as they are; nibbles are taken apart at the mma
//   sds    [KD][64 rows] float      d * sc
//   sdm    [KD][64 rows] float      -dmin * m
//
// Numeric contract: ref/q4_k_pad40_two_term.c.
#include "fragment.cuh"
#include "rescale.cuh"
#include "stage_pad40.cuh"
#include "stage_q4_k.cuh"

constexpr int TOKENS = 128, ROWS = 64, THREADS = 256;

template <int KD> struct Arena {
    static constexpr int qa8 = 0;
    static constexpr int sda_q = qa8 + KD * TOKENS * 32 + CANARY;
    static constexpr int qb8 = sda_q + KD * 256 * 4 + CANARY;
    static constexpr int sds = qb8 + ROWS * Q4_K_BYTES + CANARY;
    static constexpr int sdm = sds + KD * ROWS * 4 + CANARY;
    static constexpr int bytes = sdm + KD * ROWS * 4 - 4 * CANARY;
};
static_assert(Arena<8>::bytes == 54272 && Arena<4>::bytes == 31744, "published arena sizes");

template <int KD>
__device__ __forceinline__ void mmq_wide_sync(const uint8_t *__restrict__ w, // (od, id / 256) q4_K blocks
                                              const uint8_t *__restrict__ x, // (nt, id / 32) pad40 blocks
                                              float *__restrict__ y,         // (nt, od)
                                              int nt, int od, int id) {
    using A = Arena<KD>;
    SHARED_ARENA(arena);
    const int t0 = blockIdx.x * TOKENS, j0 = blockIdx.y * ROWS;
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const int chunks = id / 32, supers = id / 256;

    // The lane's places in the planes, at chunk 0.
    const int token = warp % 4 * 32, row = warp / 4 * 32;
    const uint8_t *a_lane = arena + A::qa8 + token * 32 + a_word(lane, 32);
    const uint8_t *b_lane = arena + A::qb8 + row * Q4_K_BYTES + Q4_K_NIBBLES + b_word(lane, Q4_K_BYTES);
    const uint8_t *sda_lane = arena + A::sda_q + (token + c_token(lane, 0)) * 4;
    const uint8_t *sds_lane = arena + A::sds + (row + c_row(lane, 0)) * 4;

    float sum[2][4][4];
    clear_tile(sum);
    for (int chunk0 = 0; chunk0 < chunks; chunk0 += KD) {
        __syncthreads(); // the stage before has been read
        stage_quants<KD, TOKENS, THREADS>(arena + A::qa8, x, t0, nt, chunk0, chunks);
        stage_words<KD, TOKENS, 256, THREADS>(arena + A::sda_q, x, t0, nt, chunk0, chunks);
        if (chunk0 % 8 == 0) {
            stage_blocks<ROWS, THREADS>(arena + A::qb8, w, j0, od, chunk0 / 8, supers);
        }
        stage_scales_apart<KD, ROWS, ROWS, THREADS>(arena + A::sds, arena + A::sdm, w, j0, od, chunk0, supers);
        __syncthreads();

#pragma unroll 1
        for (int kd = 0; kd < KD; ++kd) {
            const int sub = (chunk0 + kd) % 8;
            uint32_t b[4][2]; // {b0, b1} of each row group
            float4 scale[4];  // (ds, dm) of its rows 2t and 2t+1
#pragma unroll
            for (int n = 0; n < 4; ++n) {
                const uint8_t *word = b_lane + n * 8 * Q4_K_BYTES + sub / 2 * 32;
                b[n][0] = *(const uint32_t *)word >> 4 * (sub & 1) & 0x0f0f0f0f;
                b[n][1] = *(const uint32_t *)(word + 16) >> 4 * (sub & 1) & 0x0f0f0f0f;
                const uint8_t *scales = sds_lane + (kd * ROWS + n * 8) * 4;
                const float2 ds = *(const float2 *)scales, dm = *(const float2 *)(scales + A::sdm - A::sds);
                scale[n] = make_float4(ds.x, dm.x, ds.y, dm.y);
            }
#pragma unroll
            for (int g = 0; g < 2; ++g) {
                const uint32_t *words = (const uint32_t *)(a_lane + (kd * TOKENS + g * 16) * 32);
                const uint32_t a[4] = {words[0], words[8 * 8], words[4], words[8 * 8 + 4]};
                const uint32_t *factors = (const uint32_t *)(sda_lane + (kd * 256 + g * 16) * 4);
                const TokenPair tokens = token_pair(factors[0], factors[8]);
#pragma unroll
                for (int n = 0; n < 4; ++n) {
                    int32_t c[4];
                    mma_m16n8k32_s8(c, a, b[n][0], b[n][1]);
                    fold_two_term(sum[g][n], c, tokens, scale[n]);
                }
            }
        }
    }
    store_tile(y, sum, t0 + token, j0 + row, nt, od, lane);
}

#define MMQ_WIDE_SYNC(KD)                                                                                              \
    extern "C" __global__ void __launch_bounds__(THREADS)                                                              \
        mmq_wide_sync_kd##KD(const uint8_t *__restrict__ w, const uint8_t *__restrict__ x, float *__restrict__ y,      \
                             int nt, int od, int id) {                                                                 \
        mmq_wide_sync<KD>(w, x, y, nt, od, id);                                                                        \
    }
MMQ_WIDE_SYNC(4)
MMQ_WIDE_SYNC(8)
