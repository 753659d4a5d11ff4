/* Contract q8_k_quantize: result (nt, id/256) q8_K blocks of activation (nt, id) f32.
 *
 *  Order:      none: max is exact, the sums of q are integers
 *  Products:   inverse = rn(-127 / max), max = x of the largest |x|; q = rn_even(rn(x * inverse)); d = rn(1 / inverse)
 *  Rounding:   nearest even, f32 throughout     Denormals: kept
 *  NaN, Inf:   as listed in q8_k.c      Split: none
 *  Matches:    ggml quantize_row_q8_K_ref (its CPU path), bit for bit wherever no x is NaN
 *  Bound:      |d * q - x| <= (1 + 2^-19) * (D/2 + 2u|x|), D = amax/127;
 *              the ends of the range, and the sums: derived in quantize_contract.c
 */
#include "q8_k.h"
#include "quantize_contract.h"
#include <string.h>

extern const struct activation_format activation_q8_k;

static double sum(const void *block, size_t i) {
    struct block_q8_k b;
    memcpy(&b, block, sizeof b);
    return (double)b.d * b.sums[i];
}

static const struct quantize_rule rule = {
    .format = &activation_q8_k,
    .scale_values = Q8_K_VALUES,
    .kind = SCALE_F32,
    .roundings = 2,
    .scale = quantize_contract_leading_f32,
    .sum_kind = SUM_OF_CODES,
    .sums = Q8_K_SUMS,
    .sum_values = Q8_K_SUM_VALUES,
    .sum = sum,
};

QUANTIZE_CONTRACT_FORWARD(rule)

const struct contract contract_q8_k_quantize = {
    .name = "q8_k_quantize",
    .weight = NULL,
    .activation = "f32",
    .result = "q8_K",
    .depth_multiple = Q8_K_VALUES,
    .evaluate = evaluate,
    .truth = truth,
    .decode = decode,
    .cells = cells,
    .result_bytes = result_bytes,
};
