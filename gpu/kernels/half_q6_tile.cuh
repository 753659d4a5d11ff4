// A tile of 64 tokens x 128 rows, q6_K weights as centred bytes, activations of pad40_t: the arena, what a warp does
// with a stage of it, and the two ways to take turns. 256 threads = 8 warps; a warp owns 16 rows x 64 tokens = 4 token
// groups x 2 row groups. A stage is KD chunks. Planes of the dynamic arena, in order and without gaps, STAGES buffers
// of each:
//
//   qa8     [KD][64 tokens][32 B]   int8 activations, laid out by XorRows (stage_pad40.cuh)
//   sda_q   [KD][64] words          (f16 d | int16 sum) of a token, at QMajorWords
//   qb_exp  [KD][128 rows][32 B]    codes -32 .. 31, laid out by XorRows
//   sds     [KD][128 rows] float2   (d * sc) of both halves of a chunk
//
// Numeric contract: ref/q6_k_pad40_t_two_halves.c.
#pragma once
#include "fragment.cuh"
#include "pad40_t.cuh"
#include "stage_pad40.cuh"
#include "two_halves.cuh"

constexpr int TOKENS = 64, ROWS = 128, THREADS = 256;
constexpr int GROUPS = TOKENS / 16;

template <int KD, int STAGES> struct Arena {
    static constexpr int qa8_stage = KD * PAD40_T_QUANTS; // bytes of a buffer
    static constexpr int sda_stage = KD * PAD40_T_WORDS;
    static constexpr int qb_stage = KD * ROWS * 32;
    static constexpr int sds_stage = KD * ROWS * 8;
    static constexpr int qa8 = 0;
    static constexpr int sda_q = qa8 + STAGES * qa8_stage + CANARY;
    static constexpr int qb_exp = sda_q + STAGES * sda_stage + CANARY;
    static constexpr int sds = qb_exp + STAGES * qb_stage + CANARY;
    static constexpr int bytes = sds + STAGES * sds_stage - 3 * CANARY;
};
static_assert(Arena<4, 1>::bytes == 29696 && Arena<8, 1>::bytes == 59392 && Arena<2, 2>::bytes == 29696,
              "published arena sizes");

// What a block works on.
struct Operands {
    const uint8_t *w;   // (od, id / 256) q6_K blocks
    const uint8_t *exp; // (od, id) their codes, and
    const uint8_t *dsc; // [id / 32][od] float2, their scales: of kernels that copy them
    const uint8_t *x;   // (nt, id) pad40_t
    int nt, od, id;
    __device__ __forceinline__ int chunks() const { return id / 32; }
    __device__ __forceinline__ int row0() const { return blockIdx.y * ROWS; }
};

// sum += the stage in a buffer, halves of chunks ascending. A 16-byte read of scale words serves two token groups.
template <int KD, int STAGES>
__device__ __forceinline__ void half_q6_stage(float (&sum)[GROUPS][2][4], const uint8_t *arena, int buffer) {
    using A = Arena<KD, STAGES>;
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const int row = warp * 16 + (lane & 7) + (lane >> 4) * 8; // whose address the lane gives to ldmatrix
    const uint32_t a_plane = shared_address(arena) + A::qa8 + buffer * A::qa8_stage;
    const uint32_t b_lane =
        shared_address(arena) + A::qb_exp + buffer * A::qb_stage + XorRows::at(row, lane >> 3 & 1);
    const uint8_t *sda_lane = arena + A::sda_q + buffer * A::sda_stage + c_token(lane, 0) * 16;
    const uint8_t *sds_lane = arena + A::sds + buffer * A::sds_stage + (warp * 16 + c_row(lane, 0)) * 8;
#pragma unroll 1
    for (int kd = 0; kd < KD; ++kd) {
        uint32_t b[4]; // (rows 0-7 | 8-15) x halves, halves fastest
        ldmatrix_x4(b, b_lane + kd * ROWS * 32);
        float4 scale[2]; // of rows 2t and 2t+1
        scale[0] = *(const float4 *)(sds_lane + kd * ROWS * 8);
        scale[1] = *(const float4 *)(sds_lane + kd * ROWS * 8 + 64);
#pragma unroll
        for (int g = 0; g < GROUPS; g += 2) {
            const uint4 words = *(const uint4 *)(sda_lane + kd * PAD40_T_WORDS + g / 2 * 128);
            const float da[2][2] = {{half_value(words.x & 0xffff), half_value(words.y & 0xffff)},
                                    {half_value(words.z & 0xffff), half_value(words.w & 0xffff)}};
#pragma unroll
            for (int h = 0; h < 2; ++h) {
                uint32_t a[4]; // (tokens 0-7 | 8-15) x halves, tokens fastest
                ldmatrix_x4(a, a_plane + kd * PAD40_T_QUANTS + a_fragment_xor(lane, g + h));
#pragma unroll
                for (int n = 0; n < 2; ++n) {
                    int32_t dot0[4], dot1[4];
                    mma_m16n8k16_s8(dot0, a[0], a[1], b[2 * n]);
                    mma_m16n8k16_s8(dot1, a[2], a[3], b[2 * n + 1]);
                    fold_two_halves(sum[g + h][n], dot0, dot1, da[h], scale[n]);
                }
            }
        }
    }
}

// The two ways to take turns. A kernel says how a stage comes into the arena by a class Stage with KD, STAGES and
//   begin(arena, buffer, o, chunk0)    loads it into registers, or begins to copy it into the buffer
//   finish(arena, buffer, o, chunk0)   has the thread's part of it in the buffer
// (stage_q6_k.cuh).

__device__ __forceinline__ void store_half_q6(const float (&sum)[GROUPS][2][4], float *y, const Operands &o) {
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    store_tile(y, sum, blockIdx.x * TOKENS, o.row0() + warp * 16, o.nt, o.od, lane);
}

// One buffer: begin loads alone, ahead of the barrier.
template <class Stage> __device__ __forceinline__ void half_q6_one_buffer(float *y, const Operands &o) {
    SHARED_ARENA(arena);
    float sum[GROUPS][2][4];
    clear_tile(sum);
    for (int chunk0 = 0; chunk0 < o.chunks(); chunk0 += Stage::KD) {
        Stage stage;
        stage.begin(arena, 0, o, chunk0);
        __syncthreads(); // the stage before has been read
        stage.finish(arena, 0, o, chunk0);
        __syncthreads();
        half_q6_stage<Stage::KD, 1>(sum, arena, 0);
    }
    store_half_q6(sum, y, o);
}

// Two buffers: the next stage is on its way while this one is multiplied. The other buffer has been read since the last
// barrier.
template <class Stage> __device__ __forceinline__ void half_q6_two_buffers(float *y, const Operands &o) {
    SHARED_ARENA(arena);
    float sum[GROUPS][2][4];
    clear_tile(sum);
    Stage stage;
    stage.begin(arena, 0, o, 0);
    stage.finish(arena, 0, o, 0);
    __syncthreads();
    for (int chunk0 = 0;; chunk0 += Stage::KD) {
        const int buffer = chunk0 / Stage::KD % 2, next = chunk0 + Stage::KD;
        if (next < o.chunks()) {
            stage.begin(arena, 1 - buffer, o, next);
        }
        half_q6_stage<Stage::KD, 2>(sum, arena, buffer);
        if (next >= o.chunks()) {
            break;
        }
        stage.finish(arena, 1 - buffer, o, next);
        __syncthreads(); // the next stage is full, and this one has been read
    }
    store_half_q6(sum, y, o);
}
