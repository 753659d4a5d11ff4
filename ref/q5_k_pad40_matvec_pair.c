/* Contract q5_k_pad40_matvec_pair: result (nt, od) = activation (nt, id) pad40 times weight (od, id) q5_K, transposed.
 *
 *  Order:      lane p % 32 takes pair p of chunks of 32 values, ascending; then the 32 lanes by a tree, xor 16, 8, 4,
 * 2, 1 (pad40_matvec.h); all sums start at +0; the two chunks of a pair are added first Products:   s = rn(s +
 * fma(da_1, inner_1, rn(da_0 * inner_0))), inner = fma(ds, (float)dot, rn(dm * (float)sum)) with ds = rn(d * sc), dm =
 * -rn(dmin * m), both exact Rounding:   nearest even, f32 throughout     Denormals: kept (none arise from finite
 * operands) NaN, Inf:   IEEE 754; every NaN result is 0x7fffffff     Split: none Matches: gpu/kernels/matvec_pair.cu,
 * for any number of tokens Bound:      |result - truth| <= gamma(id/2048 rounded up, + 10) * sum|terms|; derived in
 * pad40_matvec.c
 *
 * dot = sum over the chunk of n * q, n the code of 5 bits, exact; sum = the sum stored in the activation block, which
 * MUST be in -4096 .. 4064; da, d, dmin widened from binary16. */
#include "contract.h"
#include "pad40_matvec.h"

PAD40_MATVEC(format_q5_k, matvec_pair, 0, 1, 2)

const struct contract contract_q5_k_pad40_matvec_pair = {
    .name = "q5_k_pad40_matvec_pair",
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
