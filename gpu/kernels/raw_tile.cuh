// A tile of TOKENS tokens x ROWS rows, whole blocks of pad40 and q4_K by cp.async into two stages.
//
// 256 threads = 8 warps. A warp has 32 tokens = 2 token groups, so that a lane has four tokens; the warps of one such
// 32 share the rows. Nibbles are taken apart at the mma. A stage is KD chunks. Planes of the dynamic arena, in order
// and without gaps; stages take turns in the two buffers of each, super-blocks in those of qb8:
//
//   qa8   [2][KD][TOKENS][40 B]     pad40 blocks as they are
//   qb8   [2][PLANE_ROWS][144 B]    q4_K blocks as they are; ROWS used
//   sds   [2][KD][PLANE_ROWS] float d * sc
//   sdm   [2][KD][PLANE_ROWS] float -dmin * m
#pragma once
#include "fragment.cuh"
#include "rescale.cuh"
#include "stage_async.cuh"
#include "stage_q4_k.cuh"

constexpr int THREADS = 256;

template <int TOKENS, int PLANE_ROWS, int KD> struct RawArena {
    static constexpr int qa8_stage = KD * TOKENS * PAD40_BYTES; // bytes of a buffer
    static constexpr int qb8_stage = PLANE_ROWS * Q4_K_BYTES;
    static constexpr int sds_stage = KD * PLANE_ROWS * 4;
    static constexpr int qa8 = 0;
    static constexpr int qb8 = qa8 + 2 * qa8_stage + CANARY;
    static constexpr int sds = qb8 + 2 * qb8_stage + CANARY;
    static constexpr int sdm = sds + 2 * sds_stage + CANARY;
    static constexpr int bytes = sdm + 2 * sds_stage - 3 * CANARY;
};

template <int TOKENS, int ROWS, int PLANE_ROWS, int KD, class Fold>
__device__ __forceinline__ void mmq_raw(const uint8_t *__restrict__ w, // (od, id / 256) q4_K blocks
                                        const uint8_t *__restrict__ x, // (nt, id / 32) pad40 blocks
                                        float *__restrict__ y,         // (nt, od)
                                        int nt, int od, int id) {
    using A = RawArena<TOKENS, PLANE_ROWS, KD>;
    constexpr int TOKEN_WARPS = TOKENS / 32, WARP_ROWS = ROWS / (8 / TOKEN_WARPS), N = WARP_ROWS / 8;
    SHARED_ARENA(arena);
    const int t0 = blockIdx.x * TOKENS, j0 = blockIdx.y * ROWS;
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const int chunks = id / 32, supers = id / 256;
    const uint32_t base = shared_address(arena);

    // Begins to fill the buffers of the stage that starts with chunk0.
    const auto fill = [&](int chunk0) {
        const int buffer = chunk0 / KD % 2;
        copy_pad40<KD, TOKENS, THREADS>(base + A::qa8 + buffer * A::qa8_stage, x, t0, nt, chunk0, chunks);
        if (chunk0 % 8 == 0) {
            copy_q4_k<ROWS, THREADS>(base + A::qb8 + chunk0 / 8 % 2 * A::qb8_stage, w, j0, od, chunk0 / 8, supers);
        }
        commit_copies();
        stage_scales_apart<KD, ROWS, PLANE_ROWS, THREADS>(arena + A::sds + buffer * A::sds_stage,
                                              arena + A::sdm + buffer * A::sds_stage, w, j0, od, chunk0, supers);
    };

    // The lane's places in the planes, at chunk 0.
    const int token = warp % TOKEN_WARPS * 32, row = warp / TOKEN_WARPS * WARP_ROWS;
    const uint8_t *block_lane = arena + A::qa8 + (token + c_token(lane, 0)) * PAD40_BYTES;
    const uint8_t *a_lane = arena + A::qa8 + token * PAD40_BYTES + PAD40_QUANTS + a_word(lane, PAD40_BYTES);
    const uint8_t *b_lane = arena + A::qb8 + row * Q4_K_BYTES + Q4_K_NIBBLES + b_word(lane, Q4_K_BYTES);
    const uint8_t *scale_lane = arena + A::sds + (row + c_row(lane, 0)) * 4;

    float sum[2][N][4]; // [token group][row group]
    clear_tile(sum);
    fill(0);
    for (int chunk0 = 0; chunk0 < chunks; chunk0 += KD) {
        if (chunk0 + KD < chunks) {
            fill(chunk0 + KD);
            wait_copies<1>();
        } else {
            wait_copies<0>();
        }
        __syncthreads(); // the stage is full

        const int buffer = chunk0 / KD % 2;
#pragma unroll 1
        for (int kd = 0; kd < KD; ++kd) {
            const int sub = (chunk0 + kd) % 8;
            const uint8_t *b_stage = b_lane + chunk0 / 8 % 2 * A::qb8_stage + sub / 2 * 32;
            const uint8_t *scales = scale_lane + buffer * A::sds_stage + kd * PLANE_ROWS * 4;
            uint32_t b[N][2]; // {b0, b1} of each row group
            float4 scale[N];  // (ds, dm) of its rows 2t and 2t+1
#pragma unroll
            for (int n = 0; n < N; ++n) {
                const uint8_t *word = b_stage + n * 8 * Q4_K_BYTES;
                b[n][0] = *(const uint32_t *)word >> 4 * (sub & 1) & 0x0f0f0f0f;
                b[n][1] = *(const uint32_t *)(word + 16) >> 4 * (sub & 1) & 0x0f0f0f0f;
                const float2 ds = *(const float2 *)(scales + n * 32);
                const float2 dm = *(const float2 *)(scales + n * 32 + A::sdm - A::sds);
                scale[n] = make_float4(ds.x, dm.x, ds.y, dm.y);
            }
#pragma unroll
            for (int g = 0; g < 2; ++g) {
                const int at = buffer * A::qa8_stage + (kd * TOKENS + g * 16) * PAD40_BYTES;
                const uint8_t *words = a_lane + at, *block = block_lane + at, *other = block + 8 * PAD40_BYTES;
                const uint32_t a[4] = {
                    *(const uint32_t *)words, *(const uint32_t *)(words + 8 * PAD40_BYTES),
                    *(const uint32_t *)(words + 16), *(const uint32_t *)(words + 8 * PAD40_BYTES + 16)};
                const float da[2] = {half_value(*(const uint16_t *)block), half_value(*(const uint16_t *)other)};
                const int sum_q[2] = {*(const int *)(block + PAD40_SUM), *(const int *)(other + PAD40_SUM)};
                const typename Fold::Tokens tokens =
                    Fold::tokens({{da[0], da[1]}, {__int2float_rn(sum_q[0]), __int2float_rn(sum_q[1])}});
#pragma unroll
                for (int n = 0; n < N; ++n) {
                    int32_t c[4];
                    mma_m16n8k32_s8(c, a, b[n][0], b[n][1]);
                    Fold::fold(sum[g][n], c, tokens, scale[n]);
                }
            }
        }
        __syncthreads(); // and has been read
    }
    store_tile(y, sum, t0 + token, j0 + row, nt, od, lane);
}
