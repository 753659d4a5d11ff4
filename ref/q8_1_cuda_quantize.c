/* Contract q8_1_cuda_quantize: result (nt, id/32) q8_1 blocks of activation (nt, id) f32.
 *
 *  Order:      sum of x by butterflies over lanes i xor 16, 8, 4, 2, 1; max is exact
 *  Products:   d = amax / 127; q = rn_away(x / d), a / b being rn(a * rcp.approx(b)); stored f16(d), f16(sum)
 *  Rounding:   nearest even, f32 throughout; q halves away from zero     Denormals: flushed (.ftz)
 *  NaN, Inf:   as listed in q8_1.c      Split: none
 *  Matches:    llama.cpp quantize_q8_1 (ggml-cuda/quantize.cu at d99724f2),
 *              its arithmetic measured on an H200
 *  Bound:      |d * q - x| <= (1 + 2^-19) * (D/2 + 4u|x| + (|x|/D + 1/2) * max(2^-11 D, 2^-25)), D = amax/127;
 *              the ends of the range, and the sums: derived in quantize_contract.c
 */
#include "q8_1.h"
#include "quantize_contract.h"

extern const struct activation_format activation_q8_1_cuda;

static const struct quantize_rule rule = {
    .format = &activation_q8_1_cuda,
    .scale_values = 32,
    .kind = SCALE_F16,
    .roundings = 4,
    .scale = quantize_contract_leading_f16,
    .sum_kind = SUM_OF_VALUES,
    .sums = 1,
    .sum_values = 32,
    .sum_roundings = 5,
    .sum = q8_1_stored_sum,
};

QUANTIZE_CONTRACT_FORWARD(rule)

const struct contract contract_q8_1_cuda_quantize = {
    .name = "q8_1_cuda_quantize",
    .weight = NULL,
    .activation = "f32",
    .result = "q8_1_cuda",
    .depth_multiple = Q8_1_VALUES,
    .rcp_table = true,
    .evaluate = evaluate,
    .truth = truth,
    .decode = decode,
    .cells = cells,
    .result_bytes = result_bytes,
};
