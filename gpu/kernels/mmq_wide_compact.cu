// q4_K x pad40 -> f32, tile 128 tokens x 64 rows, two stages without cp.async, of which the activations are staged as
// 32 bytes of quants and a scale word apart ("generation r9", compact).
//
// A pad40 block of 40 bytes in two stages of 8 chunks is what makes mmq_wide_raw_kd8 too large for the GPU of the
// campaign. Taken apart it fits there, with 1 KB to spare, at one block a multiprocessor; quants that begin at a
// multiple of 4 rule out wide copies, so that staging is synchronous. mmq_wide_sync is the next step: one stage, in
// little more than half the room. The campaign gives no sizes for this rung: the planes are ours, those of
// mmq_wide_sync twice, without the room that nothing uses, with which they would not fit.
//
// 256 threads = 8 warps; warp w owns rows 32 * (w / 4) .. and tokens 32 * (w % 4) .. = 2 token groups x 4 row groups. A
// stage is 8 chunks, a super-block; the next one is staged while this one is multiplied. Planes of the dynamic arena,
// in order and without gaps:
//
//   qa8    [2][8][128 tokens][32 B]   int8 activations
//   sda_q  [2][8][128] words          (f16 d | int16 sum) of a token
//   qb8    [2][64 rows][144 B]        q4_K blocks as they are; nibbles are taken apart at the mma
//   sds    [2][8][64 rows] float      d * sc
//   sdm    [2][8][64 rows] float      -dmin * m
//
// Numeric contract: ref/q4_k_pad40_two_term.c.
#include "fragment.cuh"
#include "rescale.cuh"
#include "stage_pad40.cuh"
#include "stage_q4_k.cuh"

constexpr int TOKENS = 128, ROWS = 64, THREADS = 256, KD = 8;

struct Arena {
    static constexpr int qa8_stage = KD * TOKENS * 32; // bytes of a buffer
    static constexpr int sda_q_stage = KD * TOKENS * 4;
    static constexpr int qb8_stage = ROWS * Q4_K_BYTES;
    static constexpr int sds_stage = KD * ROWS * 4;
    static constexpr int qa8 = 0;
    static constexpr int sda_q = qa8 + 2 * qa8_stage + CANARY;
    static constexpr int qb8 = sda_q + 2 * sda_q_stage + CANARY;
    static constexpr int sds = qb8 + 2 * qb8_stage + CANARY;
    static constexpr int sdm = sds + 2 * sds_stage + CANARY;
    static constexpr int bytes = sdm + 2 * sds_stage - 4 * CANARY;
};
static_assert(Arena::bytes == 100352 && Arena::bytes <= 101376, "more than a block may have on sm_121");

extern "C" __global__ void __launch_bounds__(THREADS)
    mmq_wide_compact_kd8(const uint8_t *__restrict__ w, // (od, id / 256) q4_K blocks
                         const uint8_t *__restrict__ x, // (nt, id / 32) pad40 blocks
                         float *__restrict__ y,         // (nt, od)
                         int nt, int od, int id) {
    using A = Arena;
    SHARED_ARENA(arena);
    const int t0 = blockIdx.x * TOKENS, j0 = blockIdx.y * ROWS;
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const int supers = id / 256;

    const auto fill = [&](int super) {
        const int buffer = super % 2, chunk0 = super * KD;
        stage_quants<KD, TOKENS, THREADS>(arena + A::qa8 + buffer * A::qa8_stage, x, t0, nt, chunk0, supers * KD);
        stage_words<KD, TOKENS, TOKENS, THREADS>(arena + A::sda_q + buffer * A::sda_q_stage, x, t0, nt, chunk0,
                                                 supers * KD);
        stage_blocks<ROWS, THREADS>(arena + A::qb8 + buffer * A::qb8_stage, w, j0, od, super, supers);
        stage_scales_apart<KD, ROWS, ROWS, THREADS>(arena + A::sds + buffer * A::sds_stage,
                                                    arena + A::sdm + buffer * A::sds_stage, w, j0, od, chunk0, supers);
    };

    // The lane's places in the planes, at chunk 0.
    const int token = warp % 4 * 32, row = warp / 4 * 32;
    const uint8_t *a_lane = arena + A::qa8 + token * 32 + a_word(lane, 32);
    const uint8_t *b_lane = arena + A::qb8 + row * Q4_K_BYTES + Q4_K_NIBBLES + b_word(lane, Q4_K_BYTES);
    const uint8_t *sda_lane = arena + A::sda_q + (token + c_token(lane, 0)) * 4;
    const uint8_t *sds_lane = arena + A::sds + (row + c_row(lane, 0)) * 4;

    float sum[2][4][4]; // [token group][row group]
    clear_tile(sum);
    fill(0);
    for (int super = 0; super < supers; ++super) {
        __syncthreads(); // this stage is full, and the one before it has been read
        if (super + 1 < supers) {
            fill(super + 1);
        }

        const int buffer = super % 2;
        const uint8_t *a_stage = a_lane + buffer * A::qa8_stage, *b_stage = b_lane + buffer * A::qb8_stage;
        const uint8_t *sda_stage = sda_lane + buffer * A::sda_q_stage, *sds_stage = sds_lane + buffer * A::sds_stage;
#pragma unroll 1
        for (int kd = 0; kd < KD; ++kd) {
            uint32_t b[4][2]; // {b0, b1} of each row group
            float4 scale[4];  // (ds, dm) of its rows 2t and 2t+1
#pragma unroll
            for (int n = 0; n < 4; ++n) {
                const uint8_t *word = b_stage + n * 8 * Q4_K_BYTES + kd / 2 * 32;
                b[n][0] = *(const uint32_t *)word >> 4 * (kd & 1) & 0x0f0f0f0f;
                b[n][1] = *(const uint32_t *)(word + 16) >> 4 * (kd & 1) & 0x0f0f0f0f;
                const uint8_t *scales = sds_stage + (kd * ROWS + n * 8) * 4;
                const float2 ds = *(const float2 *)scales, dm = *(const float2 *)(scales + A::sdm - A::sds);
                scale[n] = make_float4(ds.x, dm.x, ds.y, dm.y);
            }
#pragma unroll
            for (int g = 0; g < 2; ++g) {
                const uint32_t *words = (const uint32_t *)(a_stage + (kd * TOKENS + g * 16) * 32);
                const uint32_t a[4] = {words[0], words[8 * 8], words[4], words[8 * 8 + 4]};
                const uint32_t *factors = (const uint32_t *)(sda_stage + (kd * TOKENS + g * 16) * 4);
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
