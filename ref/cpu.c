#include "cpu.h"
#include "q8_k.h"
#include "truth.h"
#include <math.h>
#include <string.h>

/* Where value k of a block lies when lanes are whole. */
static size_t lane_place(size_t k) {
    return k % CPU_LANES * CPU_LANE_VALUES + k / CPU_LANES;
}

void cpu_lanes_weight(const struct block_format *f, const struct block_integers *b, struct gemm_part *out) {
    for (size_t k = 0; k < Q8_K_VALUES; k++)
        out->code[lane_place(k)] = (int16_t)(b->scale[k / f->sub_values] * b->code[k]);
}

void cpu_activation(const struct contract_operands *op, size_t token, size_t k, size_t values, struct gemm_part *out) {
    (void)values; /* always a whole block */
    struct block_q8_k b;
    memcpy(&b, (const uint8_t *)op->activation + (token * op->id + k) / Q8_K_VALUES * Q8_K_BYTES, sizeof b);
    for (size_t i = 0; i < Q8_K_VALUES; i++)
        out->code[lane_place(i)] = b.q[i];
    for (size_t c = 0; c < Q8_K_SUMS / 2; c++)
        out->i[c] = b.sums[2 * c] + b.sums[2 * c + 1];
    out->f[0] = b.d;
}

float cpu_finish(const float *state) {
    float sum = state[CPU_MIN_SUM];
    for (int lane = 0; lane < CPU_LANES; lane++)
        sum = sum + state[lane];
    return sum;
}

void cpu_loss(double *loss, float d, float da, double sum) {
    const double half_step = 0x1p-150, scale = fabs((double)d * da);
    *loss += half_step * sum;
    if (isfinite(d) && isfinite(da) && scale >= 0x1p126)
        *loss = INFINITY;
}

void cpu_truth(const struct gemm *g, const struct contract_operands *op, size_t roundings, size_t terms, double *value,
               double *bound) {
    const double nu = ((double)terms + 2) * 0x1p-53;
    gemm_bound(g, op, (truth_gamma(roundings) + nu / (1 - nu)) * (1 + 0x1p-20), value, bound);
}
