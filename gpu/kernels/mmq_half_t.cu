// q4_K x pad40_t -> f32, tile 64 tokens x 128 rows: mmq_half_qmajor.cu on activations that quantize_pad40_t.cu has laid
// out ("generation r34").
//
// A tile's chunks lie in memory as they lie in the arena, so that both planes of activations are copied as they are,
// with no address to compute and no token to mask. The tile: half_tile.cuh.
// Numeric contract: ref/q4_k_pad40_t_rank_1.c.
#include "half_tile.cuh"
#include "pad40_t.cuh"

extern "C" __global__ void __launch_bounds__(THREADS, 2)
    mmq_half_t(const uint8_t *__restrict__ w, // (od, id / 256) q4_K blocks
               const uint8_t *__restrict__ x, // (nt, id) pad40_t
               float *__restrict__ y,         // (nt, od)
               int nt, int od, int id) {
    SHARED_ARENA(arena);
    const int t0 = blockIdx.x * TOKENS, j0 = blockIdx.y * ROWS;
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const int chunks = id / 32, supers = id / 256;
    constexpr int COPIES = KD * PAD40_T_QUANTS / 16 / THREADS, WORD_COPIES = KD * PAD40_T_WORDS / 16;
    static_assert(WORD_COPIES <= THREADS, "at most one copy of scale words a thread");

    float sum[GROUPS][2][4];
    clear_tile(sum);
    for (int chunk0 = 0; chunk0 < chunks; chunk0 += KD) {
        const int64_t chunk = (int64_t)blockIdx.x * chunks + chunk0;
        const uint4 *yqs = (const uint4 *)(x + chunk * PAD40_T_QUANTS);
        const uint4 *ysda = (const uint4 *)(x + pad40_t_words_at(nt, chunks) + chunk * PAD40_T_WORDS);
        uint4 quants[COPIES], words = make_uint4(0, 0, 0, 0);
#pragma unroll
        for (int n = 0; n < COPIES; ++n) {
            quants[n] = yqs[threadIdx.x + n * THREADS];
        }
        if (threadIdx.x < WORD_COPIES) {
            words = ysda[threadIdx.x];
        }
        __syncthreads(); // the stage before has been read
#pragma unroll
        for (int n = 0; n < COPIES; ++n) {
            ((uint4 *)(arena + Arena::qa8))[threadIdx.x + n * THREADS] = quants[n];
        }
        if (threadIdx.x < WORD_COPIES) {
            ((uint4 *)(arena + Arena::sda_q))[threadIdx.x] = words;
        }
        stage_nibbles<ROWS, THREADS>(arena + Arena::qb_raw, w, j0, od, chunk0 / 8, supers);
        stage_scale_pairs<KD, ROWS, THREADS>(arena + Arena::sds, w, j0, od, chunk0, supers);
        __syncthreads();
        half_tile_stage(sum, arena, warp, lane);
    }
    store_tile(y, sum, t0, j0 + warp * 16, nt, od, lane);
}
