/* Contract q5_0_pad40_matvec: result (nt, od) = activation (nt, id) pad40 times weight (od, id) q5_0, transposed.
 *
 *  Order:      lane c % 32 takes chunk c of 32 values, ascending; then the 32 lanes by a tree, xor 16, 8, 4, 2, 1
 *              (pad40_matvec.h); all sums start at +0
 *  Products:   s = fma(rn(da * d), (float)(dot - 16 * sum), s); rn(da * d) is exact (11 + 11 bits)
 *  Rounding:   nearest even, f32 throughout     Denormals: kept (none arise from finite operands)
 *  NaN, Inf:   IEEE 754; every NaN result is 0x7fffffff     Split: none
 *  Matches:    gpu/kernels/matvec.cu, for any number of tokens
 *  Bound:      |result - truth| <= gamma(id/1024 rounded up, + 6) * sum|terms|; derived in pad40_matvec.c
 *
 * dot = sum over the chunk of n * q with n = 0 .. 31, the code as it is stored; the difference is an int32 and, where
 * sum is that of the quants, the exact dot of n - 16. sum: as stored in the activation block, -4096 .. 4064; da and d
 * widened from binary16. */
#include "contract.h"
#include "pad40_matvec.h"

PAD40_MATVEC(format_q5_0, matvec_offset, 16, 1, 1)

const struct contract contract_q5_0_pad40_matvec = {
    .name = "q5_0_pad40_matvec",
    .weight = "q5_0",
    .activation = "pad40",
    .result = "f32",
    .depth_multiple = 32,
    .evaluate = evaluate,
    .truth = truth,
    .decode = gemm_decode,
    .cells = gemm_cells,
    .result_bytes = gemm_result_bytes,
};
