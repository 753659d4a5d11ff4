/* Contract q8_0_pad40_matvec: result (nt, od) = activation (nt, id) pad40 times weight (od, id) q8_0, transposed.
 *
 *  Order:      lane c % 32 takes chunk c of 32 values, ascending; then the 32 lanes by a tree, xor 16, 8, 4, 2, 1
 *              (pad40_matvec.h); all sums start at +0
 *  Products:   s = fma(rn(da * d), (float)dot, s); rn(da * d) is exact (11 + 11 bits)
 *  Rounding:   nearest even, f32 throughout     Denormals: kept (none arise from finite operands)
 *  NaN, Inf:   IEEE 754; every NaN result is 0x7fffffff     Split: none
 *  Matches:    gpu/kernels/matvec.cu, for any number of tokens
 *  Bound:      |result - truth| <= gamma(id/1024 rounded up, + 6) * sum|terms|; derived in pad40_matvec.c
 *
 * dot = sum over the chunk of code * q, exact (at most 2^19).
 * da and d widened from binary16. */
#include "contract.h"
#include "pad40_matvec.h"

PAD40_MATVEC(format_q8_0, matvec_offset, 0, 1, 1)

const struct contract contract_q8_0_pad40_matvec = {
    .name = "q8_0_pad40_matvec",
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
