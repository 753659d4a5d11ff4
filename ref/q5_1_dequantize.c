/* Contract q5_1_dequantize: result (nt, id) binary16 of activation (nt, id) q5_1 blocks.
 *
 *  Order:      none: a value stands alone
 *  Products:   x = rn(d * n + m), the product exact (11 + 5 bits); result = rn16(x)
 *  Rounding:   nearest even; to f32 where it says so, then to binary16     Denormals: kept, in both
 *  NaN, Inf:   IEEE 754; every NaN result is 0x7fff; from 65520 on a result is infinite     Split: none
 *  Matches:    gpu/kernels/dequantize.cu
 *  Bound:      |result - x| <= u|x| + max(2^-11 (1 + u)|x|, 2^-25), u = 2^-24; derived in dequantize_contract.c */
#include "dequantize_contract.h"

DEQUANTIZE_CONTRACT(format_q5_1)

const struct contract contract_q5_1_dequantize = {
    .name = "q5_1_dequantize",
    .weight = NULL,
    .activation = "q5_1",
    .result = "f16",
    .depth_multiple = 32,
    .evaluate = evaluate,
    .truth = truth,
    .decode = dequantize_decode,
    .cells = dequantize_cells,
    .result_bytes = dequantize_result_bytes,
};
