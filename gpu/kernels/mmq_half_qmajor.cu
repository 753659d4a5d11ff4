// q4_K x pad40 -> f32, tile 64 tokens x 128 rows: mmq_half_raw.cu with q-major scale words ("generation r31", with the
// unrolled pairs of chunks of r29).
//
// One 16-byte read brings the scale words of four tokens where two 8-byte reads did; their plane has no unused half.
// The tile and its planes: half_tile.cuh. Numeric contract: ref/q4_k_pad40_rank_1.c.
#include "half_tile.cuh"
#include "stage_pad40.cuh"

extern "C" __global__ void __launch_bounds__(THREADS, 2)
    mmq_half_qmajor(const uint8_t *__restrict__ w, // (od, id / 256) q4_K blocks
                    const uint8_t *__restrict__ x, // (nt, id / 32) pad40 blocks
                    float *__restrict__ y,         // (nt, od)
                    int nt, int od, int id) {
    SHARED_ARENA(arena);
    const int t0 = blockIdx.x * TOKENS, j0 = blockIdx.y * ROWS;
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const int chunks = id / 32, supers = id / 256;

    float sum[GROUPS][2][4];
    clear_tile(sum);
    for (int chunk0 = 0; chunk0 < chunks; chunk0 += KD) {
        uint4 quants[KD * TOKENS * 2 / THREADS];
        uint32_t words[KD * TOKENS / THREADS];
#pragma unroll
        for (int n = 0; n < KD * TOKENS * 2 / THREADS; ++n) {
            quants[n] = load_quants<KD>(x, t0, nt, chunk0, chunks, threadIdx.x + n * THREADS);
        }
#pragma unroll
        for (int n = 0; n < KD * TOKENS / THREADS; ++n) {
            words[n] = load_word<KD>(x, t0, nt, chunk0, chunks, threadIdx.x + n * THREADS);
        }
        __syncthreads(); // the stage before has been read
#pragma unroll
        for (int n = 0; n < KD * TOKENS * 2 / THREADS; ++n) {
            store_quants<KD, TOKENS, XorRows>(arena + Arena::qa8, quants[n], threadIdx.x + n * THREADS);
        }
#pragma unroll
        for (int n = 0; n < KD * TOKENS / THREADS; ++n) {
            store_word<KD, TOKENS, QMajorWords>(arena + Arena::sda_q, words[n], threadIdx.x + n * THREADS);
        }
        stage_nibbles<ROWS, THREADS>(arena + Arena::qb_raw, w, j0, od, chunk0 / 8, supers);
        stage_scale_pairs<KD, ROWS, THREADS>(arena + Arena::sds, w, j0, od, chunk0, supers);
        __syncthreads();
        half_tile_stage(sum, arena, warp, lane);
    }
    store_tile(y, sum, t0, j0 + warp * 16, nt, od, lane);
}
