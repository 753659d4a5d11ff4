// q4_K x pad40 -> f32, tile 64 tokens x 64 rows: mmq_narrow_raw.cu with the rank-1 fold ("generation r16").
//
// A lane has four tokens, where one of the wide kernels has two a group: four pairs of factors (da, dma).
// The tile and its planes: raw_tile.cuh. Numeric contract: ref/q4_k_pad40_rank_1.c.
#include "raw_tile.cuh"

#define MMQ_NARROW_RANK1(KD)                                                                                           \
    extern "C" __global__ void __launch_bounds__(THREADS)                                                              \
        mmq_narrow_rank1_kd##KD(const uint8_t *__restrict__ w, const uint8_t *__restrict__ x, float *__restrict__ y,   \
                                int nt, int od, int id) {                                                              \
        mmq_raw<64, 64, 64, KD, Rank1>(w, x, y, nt, od, id);                                                           \
    }
MMQ_NARROW_RANK1(4)
MMQ_NARROW_RANK1(8)
