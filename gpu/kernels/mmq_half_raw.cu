// q4_K x pad40 -> f32, tile 64 tokens x 128 rows, weights staged as raw nibbles, two blocks a multiprocessor
// ("generation r28").
//
// 256 threads = 8 warps; a warp owns 16 rows x 64 tokens = 4 token groups x 2 row groups. Half the tokens and packed
// weights make the arena of mmq_wide_xor.cu so small that two blocks share a multiprocessor. A stage is a super-block
// (8 chunks). Planes of the dynamic arena, in order and without gaps:
//
//   qa8     [8][64 tokens][32 B]   int8 activations, laid out by XorRows
//   sda_q   [8][8 groups][8] uint2 words (f16 d | int16 sum) of tokens (t, t+8); 4 groups used
//   qb_raw  [128 rows][128 B]      nibble bytes of a super-block, as they are
//   sds     [8][128 rows] float2   (d * sc, -dmin * m)
//
// A B fragment is two words of a row, of which sub-block s has the low (s even) or the high nibbles.
// Numeric contract: ref/q4_k_pad40_rank_1.c.
#include "fragment.cuh"
#include "rescale.cuh"
#include "stage_pad40.cuh"
#include "stage_q4_k.cuh"

constexpr int TOKENS = 64, ROWS = 128, THREADS = 256, KD = 8;
constexpr int GROUPS = TOKENS / 16;

struct Arena {
    static constexpr int qa8 = 0;
    static constexpr int sda_q = qa8 + KD * TOKENS * 32 + CANARY;
    static constexpr int qb_raw = sda_q + KD * 8 * 8 * 8 + CANARY;
    static constexpr int sds = qb_raw + ROWS * 128 + CANARY;
    static constexpr int bytes = sds + KD * ROWS * 8 - 3 * CANARY;
};
static_assert(Arena::bytes == 45056, "published arena size");

extern "C" __global__ void __launch_bounds__(THREADS, 2)
    mmq_half_raw(const uint8_t *__restrict__ w, // (od, id / 256) q4_K blocks
                 const uint8_t *__restrict__ x, // (nt, id / 32) pad40 blocks
                 float *__restrict__ y,         // (nt, od)
                 int nt, int od, int id) {
    using A = Arena;
    SHARED_ARENA(arena);
    const int t0 = blockIdx.x * TOKENS, j0 = blockIdx.y * ROWS;
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const int chunks = id / 32, supers = id / 256;

    // The lane's places in the planes, at chunk 0.
    const uint32_t a_plane = shared_address(arena) + A::qa8;
    const uint8_t *b_lane = arena + A::qb_raw + warp * 16 * 128 + b_word(lane, 128);
    const uint8_t *sda_lane = arena + A::sda_q + c_token(lane, 0) * 8;
    const uint8_t *sds_lane = arena + A::sds + (warp * 16 + c_row(lane, 0)) * 8;

    float sum[GROUPS][2][4];
    clear_tile(sum);
    for (int chunk0 = 0; chunk0 < chunks; chunk0 += KD) {
        uint4 quants[KD * TOKENS * 2 / THREADS];
        uint2 words[KD * TOKENS / 2 / THREADS];
#pragma unroll
        for (int n = 0; n < KD * TOKENS * 2 / THREADS; ++n) {
            quants[n] = load_quants<KD>(x, t0, nt, chunk0, chunks, threadIdx.x + n * THREADS);
        }
#pragma unroll
        for (int n = 0; n < KD * TOKENS / 2 / THREADS; ++n) {
            words[n] = load_word_pair<KD>(x, t0, nt, chunk0, chunks, threadIdx.x + n * THREADS);
        }
        __syncthreads(); // the stage before has been read
#pragma unroll
        for (int n = 0; n < KD * TOKENS * 2 / THREADS; ++n) {
            store_quants<KD, TOKENS, XorRows>(arena + A::qa8, quants[n], threadIdx.x + n * THREADS);
        }
#pragma unroll
        for (int n = 0; n < KD * TOKENS / 2 / THREADS; ++n) {
            store_word_pair<KD, 8>(arena + A::sda_q, words[n], threadIdx.x + n * THREADS);
        }
        stage_nibbles<ROWS, THREADS>(arena + A::qb_raw, w, j0, od, chunk0 / 8, supers);
        stage_scale_pairs<KD, ROWS, THREADS>(arena + A::sds, w, j0, od, chunk0, supers);
        __syncthreads();

#pragma unroll 1
        for (int kd = 0; kd < KD; ++kd) {
            uint32_t b[2][2]; // {b0, b1} of rows 0-7, of rows 8-15
            float4 scale[2];  // (ds, dm) of rows 2t and 2t+1
#pragma unroll
            for (int n = 0; n < 2; ++n) {
                const uint8_t *word = b_lane + n * 8 * 128 + kd / 2 * 32;
                b[n][0] = *(const uint32_t *)word >> 4 * (kd & 1) & 0x0f0f0f0f;
                b[n][1] = *(const uint32_t *)(word + 16) >> 4 * (kd & 1) & 0x0f0f0f0f;
                scale[n] = *(const float4 *)(sds_lane + (kd * ROWS + n * 8) * 8);
            }
#pragma unroll
            for (int g = 0; g < GROUPS; ++g) {
                uint32_t a[4];
                ldmatrix_x4(a, a_plane + kd * TOKENS * 32 + a_fragment_xor(lane, g));
                const uint2 pair = *(const uint2 *)(sda_lane + (kd * 8 + g) * 64);
                const TokenPairRank1 tokens = token_pair_rank_1(pair.x, pair.y);
#pragma unroll
                for (int n = 0; n < 2; ++n) {
                    int32_t c[4];
                    mma_m16n8k32_s8(c, a, b[n][0], b[n][1]);
                    fold_rank_1(sum[g][n], c, tokens, scale[n]);
                }
            }
        }
    }
    store_tile(y, sum, t0, j0 + warp * 16, nt, od, lane);
}
