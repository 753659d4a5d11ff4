/* Contract q8_1_quantize: result (nt, id/32) q8_1 blocks of activation (nt, id) f32.
 *
 *  Order:      none: max is exact, the sum of q is an integer
 *  Products:   d = rn(amax / 127); id = rn(1 / d), 0 if d = 0; q = rn_away(rn(x * id)); stored f16(d), f16(rn(d * sum))
 *  Rounding:   nearest even, f32 throughout; q halves away from zero     Denormals: kept
 *  NaN, Inf:   as listed in q8_1.c      Split: none
 *  Matches:    ggml quantize_row_q8_1_ref (its CPU path), bit for bit on finite values
 *  Bound:      |d * q - x| <= (1 + 2^-19) * (D/2 + 2u|x| + (|x|/D + 1/2) * max(2^-11 D, 2^-25)), D = amax/127;
 *              the ends of the range, and the sums: derived in quantize_contract.c
 */
#include "q8_1.h"
#include "quantize_contract.h"

extern const struct activation_format activation_q8_1;

static const struct quantize_rule rule = {
    .format = &activation_q8_1,
    .scale_values = 32,
    .kind = SCALE_F16,
    .roundings = 2,
    .scale = quantize_contract_leading_f16,
    .sum_kind = SUM_OF_CODES_F16,
    .sums = 1,
    .sum_values = 32,
    .sum = q8_1_stored_sum,
};

QUANTIZE_CONTRACT_FORWARD(rule)

const struct contract contract_q8_1_quantize = {
    .name = "q8_1_quantize",
    .weight = NULL,
    .activation = "f32",
    .result = "q8_1",
    .depth_multiple = Q8_1_VALUES,
    .evaluate = evaluate,
    .truth = truth,
    .decode = decode,
    .cells = cells,
    .result_bytes = result_bytes,
};
