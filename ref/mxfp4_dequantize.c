/* Contract mxfp4_dequantize: result (nt, id) binary16 of activation (nt, id) mxfp4 blocks.
 *
 *  Order:      none: a value stands alone
 *  Products:   x = d * code with d = 2^(e - 128), exact below 2^128; result = rn16(x)
 *  Rounding:   nearest even; to f32 where it says so, then to binary16     Denormals: kept, in both
 *  NaN, Inf:   IEEE 754; every NaN result is 0x7fff; from 65520 on a result is infinite     Split: none
 *  Matches:    gpu/kernels/dequantize.cu
 *  Bound:      |result - x| <= u|x| + max(2^-11 (1 + u)|x|, 2^-25), u = 2^-24; derived in dequantize_contract.c */
#include "dequantize_contract.h"

DEQUANTIZE_CONTRACT(format_mxfp4)

const struct contract contract_mxfp4_dequantize = {
    .name = "mxfp4_dequantize",
    .weight = NULL,
    .activation = "mxfp4",
    .result = "f16",
    .depth_multiple = 32,
    .evaluate = evaluate,
    .truth = truth,
    .decode = dequantize_decode,
    .cells = dequantize_cells,
    .result_bytes = dequantize_result_bytes,
};
