// q6_K x pad40_t -> f32, tile 64 tokens x 128 rows, codes unpacked to centred bytes at staging ("generation r38").
//
// A q6_K block has sixteen scales of 16 values, so that a chunk is multiplied by two m16n8k16. One buffer; blocks of
// 210 bytes are read two bytes at a time. The tile: half_q6_tile.cuh. Numeric contract: ref/q6_k_pad40_t_two_halves.c.
#include "stage_q6_k.cuh"

#define MMQ_HALF_Q6_K_STAGED(KD)                                                                                       \
    extern "C" __global__ void __launch_bounds__(THREADS, KD == 4 ? 2 : 1)                                             \
        mmq_half_q6_k_staged_kd##KD(const uint8_t *__restrict__ w, const uint8_t *__restrict__ x,                      \
                                    float *__restrict__ y, int nt, int od, int id) {                                   \
        using Stage = StageOf<KD, 1, LoadedActivations, WordCodes, LoadedScales>;                                      \
        half_q6_one_buffer<Stage>(y, {w, nullptr, nullptr, x, nt, od, id});                                            \
    }
MMQ_HALF_Q6_K_STAGED(4)
MMQ_HALF_Q6_K_STAGED(8)
