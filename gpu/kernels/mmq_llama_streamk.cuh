// Stream-k over the tiles of mmq_llama_tile.cuh: all tiles' blocks of weights lie in one row, tile by tile, tokens
// fastest, and are shared out evenly, so that every thread block (worker) has the same work whatever the number of
// tiles. A worker's range is cut at the ends of tiles. It stores the result of a tile whose end is in its range; of the
// tile that goes on after its range it leaves the sums in `parts`, and a second kernel adds them (ref/split.h,
// ref/mmq.h).
#pragma once
#include "mmq_llama_tile.cuh"

// Ranges are in blocks of BLOCK_VALUES weights. They begin at whole iterations of DEPTH values, counted from the row of
// blocks that they are in.
struct Work {
    int row_blocks, iteration_blocks, token_tiles, workers;
    int64_t blocks;
    __device__ __forceinline__ Work(int tokens, int block_values, int nt, int od, int id, int workers_) {
        row_blocks = id / block_values;
        iteration_blocks = DEPTH / block_values;
        token_tiles = (nt + tokens - 1) / tokens;
        workers = workers_;
        blocks = (int64_t)token_tiles * ((od + ROWS - 1) / ROWS) * row_blocks;
    }
    __device__ __forceinline__ int start(int worker) const {
        const int first = (int)(worker * blocks / workers);
        return first - first % row_blocks % iteration_blocks;
    }
};

// parts [workers][J tokens][128 rows]: sums of worker `blockIdx.x`.
template <int J> __device__ __forceinline__ void store_part(float *parts, const Sums<J> &sum) {
    using T = Tile<J>;
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const int row0 = warp % T::ROW_WARPS * 16 * T::N, token0 = warp / T::ROW_WARPS * T::TOKENS;
    float *part = parts + ((int64_t)blockIdx.x * J + token0 + c_n(lane, 0)) * ROWS + row0 + c_m(lane, 0);
#pragma unroll
    for (int g = 0; g < T::GROUPS; ++g) {
#pragma unroll
        for (int l = 0; l < 4 * T::N; ++l) {
            part[(g * 8 + l % 2) * ROWS + l / 4 * 16 + l % 4 / 2 * 8] = sum.s[l / 4][g][l % 4];
        }
    }
}

template <class F, int J>
__device__ __forceinline__ void mmq_llama_streamk(const uint8_t *__restrict__ w, // (od, id / block) blocks
                                                  const uint8_t *__restrict__ x, // (id / 128, nt) q8_1_mmq blocks
                                                  float *__restrict__ y,         // (nt, od)
                                                  float *__restrict__ parts,     // (workers, J, 128)
                                                  int nt, int od, int id) {
    SHARED_ARENA(arena);
    const Work work(J, F::BLOCK_VALUES, nt, od, id, gridDim.x);
    const int end = work.start(blockIdx.x + 1);
#pragma unroll 1
    for (int at = work.start(blockIdx.x); at < end;) {
        const int tile = at / work.row_blocks, tile_start = tile * work.row_blocks;
        const int tile_end = tile_start + work.row_blocks, stop = min(end, tile_end);
        const int t0 = tile % work.token_tiles * J, j0 = tile / work.token_tiles * ROWS;
        Sums<J> sum;
        sum.clear();
        stage_ids<J>(arena, t0, nt);
        dot_tile<F, J>(sum, arena, w, x, t0, j0, (at - tile_start) * F::BLOCK_VALUES,
                       (stop - tile_start) * F::BLOCK_VALUES, nt, od, id);
        if (stop == tile_end) {
            store_sums<J>(y, sum, arena, j0, od);
        } else {
            store_part<J>(parts, sum);
        }
        at = stop;
        __syncthreads(); // ids have been read
    }
}

// Adds what was left in `parts` to tiles that several workers shared: s = +0, s += the part of each worker before the
// one that stored the tile, the nearest first, y += s. A thread block is that of the worker who stored; most have
// nothing to do.
template <int J>
__device__ __forceinline__ void mmq_llama_fixup(float *__restrict__ y,           // (nt, od)
                                                const float *__restrict__ parts, // (workers, J, 128)
                                                int nt, int od, int id, int block_values) {
    constexpr int CELLS = J * ROWS / THREADS; // of a thread: one row, every second token
    const Work work(J, block_values, nt, od, id, gridDim.x);
    const int begin = work.start(blockIdx.x), end = work.start(blockIdx.x + 1);
    const int tile = begin / work.row_blocks, tile_start = tile * work.row_blocks;
    if (begin == end || begin == tile_start || end < tile_start + work.row_blocks) {
        return; // it has nothing, began its first tile itself, or did not come to that tile's end
    }
    const int row = threadIdx.x % ROWS, token = threadIdx.x / ROWS;
    float sum[CELLS];
#pragma unroll
    for (int i = 0; i < CELLS; ++i) {
        sum[i] = 0.0f;
    }
    for (int worker = blockIdx.x, from = begin; from > tile_start;) {
        const int before = work.start(--worker);
        if (before < from) { // it has work, and what it did last is of this tile
            const float *part = parts + ((int64_t)worker * J + token) * ROWS + row;
#pragma unroll
            for (int i = 0; i < CELLS; ++i) {
                sum[i] = add_ftz(sum[i], part[i * 2 * ROWS]);
            }
        }
        from = before;
    }
    const int j = tile / work.token_tiles * ROWS + row;
#pragma unroll
    for (int i = 0; i < CELLS; ++i) {
        const int t = tile % work.token_tiles * J + token + 2 * i;
        if (t < nt && j < od) {
            y[(int64_t)t * od + j] = add_ftz(y[(int64_t)t * od + j], sum[i]);
        }
    }
}

#define MMQ_LLAMA_STREAMK(NAME, FORMAT, J)                                                                             \
    extern "C" __global__ void __launch_bounds__(THREADS, 1)                                                           \
        mmq_llama_##NAME##_j##J##_streamk(const uint8_t *__restrict__ w, const uint8_t *__restrict__ x,                \
                                          float *__restrict__ y, float *__restrict__ parts, int nt, int od, int id) {  \
        mmq_llama_streamk<FORMAT, J>(w, x, y, parts, nt, od, id);                                                      \
    }

#define MMQ_LLAMA_FIXUP(J)                                                                                             \
    extern "C" __global__ void __launch_bounds__(THREADS)                                                              \
        mmq_llama_fixup_j##J(float *__restrict__ y, const float *__restrict__ parts, int nt, int od, int id,           \
                             int block_values) {                                                                       \
        mmq_llama_fixup<J>(y, parts, nt, od, id, block_values);                                                        \
    }
