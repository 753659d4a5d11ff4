/* Contract q4_0_pad40: result (nt, od) = activation (nt, id) pad40 times weight (od, id) q4_0, transposed.
 *
 *  Order:      chunks of 32 ascending in k; one addition per chunk; s starts at +0
 *  Products:   s = fma(rn(da * d), (float)dot, s); rn(da * d) is exact (11 + 11 bits)
 *  Rounding:   nearest even, f32 throughout     Denormals: kept (none arise from finite operands)
 *  NaN, Inf:   IEEE 754; every NaN result is 0x7fffffff     Split: none
 *  Matches:    gpu/kernels/mmq_word_q4_0.cu, as the word stage of the minfer campaign is described (step document 08)
 *  Bound:      |result - truth| <= (1 + gamma(id/32)) * sum_j u |s_j| over the partial sums s_j, u = 2^-24;
 *              derived in pad40_gemm.c
 *
 * dot = sum over the chunk of code * q with code = -8 .. 7, exact (at most 2^15); da and d widened from binary16. */
#include "contract.h"
#include "pad40_gemm.h"

PAD40_GEMM(format_q4_0, pad40_activation, 1, pad40_one_term, 1)

const struct contract contract_q4_0_pad40 = {
    .name = "q4_0_pad40",
    .weight = "q4_0",
    .activation = "pad40",
    .result = "f32",
    .depth_multiple = 32,
    .evaluate = evaluate,
    .truth = truth,
    .decode = gemm_decode,
    .cells = gemm_cells,
    .result_bytes = gemm_result_bytes,
};
