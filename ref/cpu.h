/* What the contracts of ggml's CPU dot products over q8_K share: eight lanes. Value k of a block belongs to lane k % 8;
 * each lane has its own f32 sum over the blocks, and at the end the lanes are added in order. Source: ggml 0.20.2,
 * `ggml_vec_dot_q4_K_q8_K_generic`, `ggml_vec_dot_q6_K_q8_K_generic` of ggml-cpu/quants.c. */
#ifndef REF_CPU_H
#define REF_CPU_H

#include "format.h"
#include "gemm.h"

enum { CPU_LANES = 8, CPU_LANE_VALUES = 32, CPU_MIN_SUM = CPU_LANES, CPU_STATE = CPU_LANES + 1 };

/* code = the block's scale * code, lane after lane: dot i of a run then is all of lane i in the block, exact. The
 * product MUST fit int16. */
void cpu_lanes_weight(const struct block_format *f, const struct block_integers *b, struct gemm_part *out);

/* `activation` of a struct gemm: code in the same order, f[0] = d, i[c] = the stored sums of chunk c of 32 values. */
void cpu_activation(const struct contract_operands *op, size_t token, size_t k, size_t values, struct gemm_part *out);

/* state[CPU_MIN_SUM] + state[0] + .. + state[7], in this order; every addition rounded. */
float cpu_finish(const float *state);

/* With scale = rn(d * da) for a factor d of the weight: adds what products of scale with integers, whose magnitudes add
 * up to sum, lose where scale is subnormal: scale is off by half of 2^-149 at most. The products are exact there, as
 * multiples of 2^-149. Infinite where scale may overflow. */
void cpu_loss(double *loss, float d, float da, double sum);

/* value, bound: terms pass through at most `roundings`, and gemm's loss; terms is their number in a cell.
 *     |result - exact| <= gamma(roundings) * sum|term| + (1 + gamma(roundings)) * loss      (Higham, Lemma 3.1)
 * float64 adds (terms + 2) * 2^-53 for its sums and one product; the factor 1 + 2^-20 covers the rest. */
void cpu_truth(const struct gemm *g, const struct contract_operands *op, size_t roundings, size_t terms, double *value,
               double *bound);

#endif
