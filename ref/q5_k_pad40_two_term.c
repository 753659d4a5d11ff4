/* Contract q5_k_pad40_two_term: result (nt, od) = activation (nt, id) pad40 times weight (od, id) q5_K, transposed.
 *
 *  Order:      chunks of 32 ascending in k; two additions per chunk, dot term first; s starts at +0
 *  Products:   s = fma(rn(da * ds), (float)dot, s); s = fma(rn(da * dm), (float)sum, s)
 *              with ds = rn(d * sc), dm = -rn(dmin * m), both exact
 *  Rounding:   nearest even, f32 throughout     Denormals: kept (none arise from finite operands)
 *  NaN, Inf:   IEEE 754; every NaN result is 0x7fffffff     Split: none
 *  Matches:    gpu/kernels/mmq_word_q5_k.cu, as the word stage of the minfer campaign is described (step document 08)
 *  Bound:      |result - truth| <= (1 + gamma(2 * id/32)) * sum_j (u |s_j| + |e_j y_j|) over the partial sums s_j,
 *              e_j the rounding of da * ds (da * dm), u = 2^-24; derived in pad40_gemm.c
 *
 * dot = sum over the chunk of code (0 .. 31) * q, exact; sum = the sum stored in the activation block, which MUST be in
 * -4096 .. 4064 (kernels stage it as int16); da, d, dmin widened from binary16. */
#include "contract.h"
#include "pad40_gemm.h"

PAD40_GEMM(format_q5_k, pad40_activation, 1, pad40_two_term, 2)

const struct contract contract_q5_k_pad40_two_term = {
    .name = "q5_k_pad40_two_term",
    .weight = "q5_K",
    .activation = "pad40",
    .result = "f32",
    .depth_multiple = 256,
    .evaluate = evaluate,
    .truth = truth,
    .decode = gemm_decode,
    .cells = gemm_cells,
    .result_bytes = gemm_result_bytes,
};
