// q4_K x pad40 -> f32, tile 128 tokens x 64 rows: mmq_narrow_raw.cu with twice the tokens ("generation r8").
//
// A warp has 32 tokens x 32 rows. The planes of weights have room for 128 rows, of which 64 are used: with 8 chunks a
// stage the arena is more than a block may have on the GPU it was made for, and the launch must be refused there.
// The tile and its planes: raw_tile.cuh. Numeric contract: ref/q4_k_pad40_two_term.c.
#include "raw_tile.cuh"

static_assert(RawArena<128, 128, 8>::bytes == 135168 && RawArena<128, 128, 4>::bytes == 86016, "published arena sizes");

#define MMQ_WIDE_RAW(KD)                                                                                               \
    extern "C" __global__ void __launch_bounds__(THREADS)                                                              \
        mmq_wide_raw_kd##KD(const uint8_t *__restrict__ w, const uint8_t *__restrict__ x, float *__restrict__ y,       \
                            int nt, int od, int id) {                                                                  \
        mmq_raw<128, 64, 128, KD, TwoTerm>(w, x, y, nt, od, id);                                                       \
    }
MMQ_WIDE_RAW(4)
MMQ_WIDE_RAW(8)
