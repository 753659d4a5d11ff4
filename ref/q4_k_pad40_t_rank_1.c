/* Contract q4_k_pad40_t_rank_1: result (nt, od) = activation (nt, id) pad40_t times weight (od, id) q4_K, transposed.
 *
 *  Order:      chunks of 32 ascending in k; two additions per chunk, dot term first; s starts at +0
 *  Products:   dma = rn(da * (float)sum), once a chunk and token;
 *              s = fma(rn(da * ds), (float)dot, s); s = fma(dma, dm, s)
 *              with ds = rn(d * sc), dm = -rn(dmin * m); dma, ds and dm are exact
 *  Rounding:   nearest even, f32 throughout     Denormals: kept (none arise from finite operands)
 *  NaN, Inf:   IEEE 754; every NaN result is 0x7fffffff     Split: none
 *  Matches:    gpu/kernels/mmq_half_t.cu
 *  Bound:      |result - truth| <= (1 + gamma(2 * id/32)) * sum_j (u |s_j| + |e_j y_j|) over the partial sums s_j,
 *              e_j the rounding of da * ds, u = 2^-24; derived in pad40_gemm.c
 *
 * dot = sum over the chunk of nibble * q, exact; sum = the sum stored in the activation block, int16; da, d and dmin
 * widened from binary16. The fold of two terms gives other bits: there da * dm is rounded, here nothing
 * of the min term is. */
#include "contract.h"
#include "pad40_gemm.h"

PAD40_GEMM(format_q4_k, pad40_t_activation, 1, pad40_rank_1, 2)

const struct contract contract_q4_k_pad40_t_rank_1 = {
    .name = "q4_k_pad40_t_rank_1",
    .weight = "q4_K",
    .activation = "pad40_t",
    .result = "f32",
    .depth_multiple = 256,
    .evaluate = evaluate,
    .truth = truth,
    .decode = gemm_decode,
    .cells = gemm_cells,
    .result_bytes = gemm_result_bytes,
};
