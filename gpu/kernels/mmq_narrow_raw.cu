// q4_K x pad40 -> f32, tile 64 tokens x 64 rows, blocks staged as they are by cp.async ("generation r7").
//
// Two stages, of which one is copied while the other is multiplied; nibbles are taken apart at the mma.
// The tile and its planes: raw_tile.cuh. Numeric contract: ref/q4_k_pad40_two_term.c.
#include "raw_tile.cuh"

static_assert(RawArena<64, 64, 8>::bytes == 67584 && RawArena<64, 64, 4>::bytes == 43008, "published arena sizes");

#define MMQ_NARROW_RAW(KD)                                                                                             \
    extern "C" __global__ void __launch_bounds__(THREADS)                                                              \
        mmq_narrow_raw_kd##KD(const uint8_t *__restrict__ w, const uint8_t *__restrict__ x, float *__restrict__ y,     \
                              int nt, int od, int id) {                                                                \
        mmq_raw<64, 64, 64, KD, TwoTerm>(w, x, y, nt, od, id);                                                         \
    }
MMQ_NARROW_RAW(4)
MMQ_NARROW_RAW(8)
