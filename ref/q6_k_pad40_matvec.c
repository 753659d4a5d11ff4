/* Contract q6_k_pad40_matvec: result (nt, od) = activation (nt, id) pad40 times weight (od, id) q6_K, transposed.
 *
 *  Order:      lane c % 32 takes chunk c of 32 values, ascending; then the 32 lanes by a tree, xor 16, 8, 4, 2, 1
 *              (pad40_matvec.h); all sums start at +0
 *  Products:   s = rn(s + fma(rn(da * dsc_1), (float)dot_1, rn(rn(da * dsc_0) * (float)dot_0)))
 *              with dsc_h = rn(d * sc_h), exact (11 + 7 bits)
 *  Rounding:   nearest even, f32 throughout     Denormals: kept (none arise from finite operands)
 *  NaN, Inf:   IEEE 754; every NaN result is 0x7fffffff     Split: none
 *  Matches:    gpu/kernels/matvec.cu, for any number of tokens
 *  Bound:      |result - truth| <= gamma(id/1024 rounded up, + 8) * sum|terms|; derived in pad40_matvec.c
 *
 * dot_h = sum over half h of the chunk, 16 values, of code * q with code = -32 .. 31, exact; sc_h int8; da and d
 * widened from binary16. */
#include "contract.h"
#include "pad40_matvec.h"

PAD40_MATVEC(format_q6_k, matvec_halves, 0, 2, 1)

const struct contract contract_q6_k_pad40_matvec = {
    .name = "q6_k_pad40_matvec",
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
