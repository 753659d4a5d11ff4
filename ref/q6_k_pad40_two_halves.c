/* Contract q6_k_pad40_two_halves: result (nt, od) = activation (nt, id) pad40 times weight (od, id) q6_K, transposed.
 *
 *  Order:      halves of 16 ascending in k, two a chunk; one addition per half; s starts at +0
 *  Products:   s = fma(rn(da * dsc_0), (float)dot_0, s); s = fma(rn(da * dsc_1), (float)dot_1, s)
 *              with dsc_h = rn(d * sc_h), exact (11 + 7 bits)
 *  Rounding:   nearest even, f32 throughout     Denormals: kept (none arise from finite operands)
 *  NaN, Inf:   IEEE 754; every NaN result is 0x7fffffff     Split: none
 *  Matches:    gpu/kernels/mmq_word_q6_k.cu, as the word stage of the minfer campaign is described (step document 08)
 *  Bound:      |result - truth| <= (1 + gamma(id/16)) * sum_j (u |s_j| + |e_j y_j|) over the partial sums s_j,
 *              e_j the rounding of da * dsc, u = 2^-24; derived in pad40_gemm.c
 *
 * dot_h = sum over half h, 16 values, of code * q with code = -32 .. 31, exact; sc_h int8; da and d widened from
 * binary16. The halves MUST NOT be added before they are scaled: that is another order of roundings. */
#include "contract.h"
#include "pad40_gemm.h"

PAD40_GEMM(format_q6_k, pad40_activation, 2, pad40_one_term, 1)

const struct contract contract_q6_k_pad40_two_halves = {
    .name = "q6_k_pad40_two_halves",
    .weight = "q6_K",
    .activation = "pad40",
    .result = "f32",
    .depth_multiple = 256,
    .evaluate = evaluate,
    .truth = truth,
    .decode = gemm_decode,
    .cells = gemm_cells,
    .result_bytes = gemm_result_bytes,
};
