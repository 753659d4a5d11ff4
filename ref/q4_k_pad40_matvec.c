/* Contract q4_k_pad40_matvec: result (nt, od) = activation (nt, id) pad40 times weight (od, id) q4_K, transposed.
 *
 *  Order:      lane c % 32 takes chunk c of 32 values, ascending; then the 32 lanes by a tree, xor 16, 8, 4, 2, 1
 *              (pad40_matvec.h); all sums start at +0
 *  Products:   s = fma(da, fma(ds, (float)dot, rn(dm * (float)sum)), s)
 *              with ds = rn(d * sc), dm = -rn(dmin * m), both exact
 *  Rounding:   nearest even, f32 throughout     Denormals: kept (none arise from finite operands)
 *  NaN, Inf:   IEEE 754; every NaN result is 0x7fffffff     Split: none
 *  Matches:    gpu/kernels/matvec.cu, for any number of tokens
 *  Bound:      |result - truth| <= gamma(id/1024 rounded up, + 8) * sum|terms|; derived in pad40_matvec.c
 *
 * dot = sum over the chunk of n * q, n the code of 4 bits, exact; sum = the sum stored in the activation block, which
 * MUST be in -4096 .. 4064; da, d, dmin widened from binary16. */
#include "contract.h"
#include "pad40_matvec.h"

PAD40_MATVEC(format_q4_k, matvec_affine, 0, 1, 1)

const struct contract contract_q4_k_pad40_matvec = {
    .name = "q4_k_pad40_matvec",
    .weight = "q4_K",
    .activation = "pad40",
    .result = "f32",
    .depth_multiple = 256,
    .evaluate = evaluate,
    .truth = truth,
    .decode = gemm_decode,
    .cells = gemm_cells,
    .result_bytes = gemm_result_bytes,
};
