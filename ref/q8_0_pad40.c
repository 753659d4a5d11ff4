/* Contract q8_0_pad40: result (nt, od) = activation (nt, id) pad40 times weight (od, id) q8_0, transposed.
 *
 *  Order:      chunks of 32 ascending in k; one addition per chunk; s starts at +0
 *  Products:   s = fma(rn(da * d), (float)dot, s); rn(da * d) is exact (11 + 11 bits)
 *  Rounding:   nearest even, f32 throughout     Denormals: kept (none arise from finite operands)
 *  NaN, Inf:   IEEE 754; every NaN result is 0x7fffffff     Split: none
 *  Matches:    as described for the word-stage kernel of the minfer campaign (step document 08); none here yet
 *  Bound:      |result - truth| <= (1 + gamma(id/32)) * sum_j u |s_j| over the partial sums s_j, u = 2^-24;
 *              derived in pad40_gemm.c
 *
 * dot = sum over the chunk of code * q with code = -128 .. 127, exact (at most 2^19, below 2^24); da and d widened from
 * binary16. */
#include "contract.h"
#include "pad40_gemm.h"

extern const struct block_format format_q8_0;

static void weight(const struct contract_operands *op, size_t row, size_t k, size_t values, struct gemm_part *out) {
    pad40_weight(&format_q8_0, op, row, k, values, out);
}

static void activation(const struct contract_operands *op, size_t token, size_t k, size_t values,
                       struct gemm_part *out) {
    pad40_activation(1, op, token, k, values, out);
}

static const struct gemm gemm = {
    .dot_values = 32,
    .state = 1,
    .weight = weight,
    .activation = activation,
    .fold = pad40_one_term,
    .truth = pad40_one_term_truth,
};

static void evaluate(const struct contract_operands *op, void *result) {
    gemm_evaluate(&gemm, op, result);
}

static void truth(const struct contract_operands *op, double *value, double *bound) {
    pad40_truth(&gemm, 1, op, value, bound);
}

const struct contract contract_q8_0_pad40 = {
    .name = "q8_0_pad40",
    .weight = "q8_0",
    .activation = "pad40",
    .result = "f32",
    .depth_multiple = 32,
    .evaluate = evaluate,
    .truth = truth,
    .decode = gemm_decode,
    .cells = gemm_cells,
    .result_bytes = gemm_result_bytes,
};
