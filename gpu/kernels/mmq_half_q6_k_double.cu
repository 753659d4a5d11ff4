// q6_K x pad40_t -> f32, tile 64 tokens x 128 rows: mmq_half_q6_k_staged.cu in two buffers of two chunks ("generation
// r39").
//
// Loads of the next stage are on their way while this one is multiplied; the arena is as large as one buffer of four
// chunks. The tile: half_q6_tile.cuh. Numeric contract: ref/q6_k_pad40_t_two_halves.c.
#include "stage_q6_k.cuh"

extern "C" __global__ void __launch_bounds__(THREADS, 2)
    mmq_half_q6_k_double(const uint8_t *__restrict__ w, // (od, id / 256) q6_K blocks
                         const uint8_t *__restrict__ x, // (nt, id) pad40_t
                         float *__restrict__ y,         // (nt, od)
                         int nt, int od, int id) {
    using Stage = StageOf<2, 2, LoadedActivations, WordCodes, LoadedScales>;
    half_q6_two_buffers<Stage>(y, {w, nullptr, nullptr, x, nt, od, id});
}
