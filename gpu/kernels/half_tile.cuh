// A tile of 64 tokens x 128 rows, q4_K weights as raw nibbles, scale words q-major: the arena, and what a warp does
// with a stage of it. 256 threads = 8 warps; a warp owns 16 rows x 64 tokens = 4 token groups x 2 row groups. A stage
// is a super-block (8 chunks). Planes of the dynamic arena, in order and without gaps:
//
//   qa8     [8][64 tokens][32 B]   int8 activations, laid out by XorRows (stage_pad40.cuh)
//   sda_q   [8][64] words          (f16 d | int16 sum) of a token, at QMajorWords
//   qb_raw  [128 rows][128 B]      nibble bytes of a super-block, as they are
//   sds     [8][128 rows] float2   (d * sc, -dmin * m)
#pragma once
#include "fragment.cuh"
#include "rescale.cuh"
#include "stage_q4_k.cuh"

constexpr int TOKENS = 64, ROWS = 128, THREADS = 256, KD = 8;
constexpr int GROUPS = TOKENS / 16;

struct Arena {
    static constexpr int qa8 = 0;
    static constexpr int sda_q = qa8 + KD * TOKENS * 32 + CANARY;
    static constexpr int qb_raw = sda_q + KD * TOKENS * 4 + CANARY;
    static constexpr int sds = qb_raw + ROWS * 128 + CANARY;
    static constexpr int bytes = sds + KD * ROWS * 8 - 3 * CANARY;
};
static_assert(Arena::bytes == 43008, "published arena size");

// sum += the stage, chunks ascending. A word of nibbles serves two chunks, of which the first has the low ones; a
// 16-byte read of scale words serves two token groups.
__device__ __forceinline__ void half_tile_stage(float (&sum)[GROUPS][2][4], const uint8_t *arena, int warp, int lane) {
    const uint32_t a_plane = shared_address(arena) + Arena::qa8;
    const uint8_t *b_lane = arena + Arena::qb_raw + warp * 16 * 128 + b_word(lane, 128);
    const uint8_t *sda_lane = arena + Arena::sda_q + c_token(lane, 0) * 16;
    const uint8_t *sds_lane = arena + Arena::sds + (warp * 16 + c_row(lane, 0)) * 8;
#pragma unroll 1
    for (int pair = 0; pair < KD / 2; ++pair) {
        uint32_t raw[2][2]; // the lane's words of rows 0-7, of rows 8-15
#pragma unroll
        for (int n = 0; n < 2; ++n) {
            raw[n][0] = *(const uint32_t *)(b_lane + n * 8 * 128 + pair * 32);
            raw[n][1] = *(const uint32_t *)(b_lane + n * 8 * 128 + pair * 32 + 16);
        }
#pragma unroll
        for (int s = 0; s < 2; ++s) {
            const int kd = pair * 2 + s;
            float4 scale[2]; // (ds, dm) of rows 2t and 2t+1
            scale[0] = *(const float4 *)(sds_lane + kd * ROWS * 8);
            scale[1] = *(const float4 *)(sds_lane + kd * ROWS * 8 + 64);
#pragma unroll
            for (int g = 0; g < GROUPS; g += 2) {
                const uint4 words = *(const uint4 *)(sda_lane + kd * TOKENS * 4 + g / 2 * 128);
                const TokenPairRank1 tokens[2] = {token_pair_rank_1(words.x, words.y),
                                                  token_pair_rank_1(words.z, words.w)};
#pragma unroll
                for (int h = 0; h < 2; ++h) {
                    uint32_t a[4];
                    ldmatrix_x4(a, a_plane + kd * TOKENS * 32 + a_fragment_xor(lane, g + h));
#pragma unroll
                    for (int n = 0; n < 2; ++n) {
                        int32_t c[4];
                        mma_m16n8k32_s8(c, a, raw[n][0] >> 4 * s & 0x0f0f0f0f, raw[n][1] >> 4 * s & 0x0f0f0f0f);
                        fold_rank_1(sum[g + h][n], c, tokens[h], scale[n]);
                    }
                }
            }
        }
    }
}
