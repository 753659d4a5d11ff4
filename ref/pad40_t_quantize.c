/* Contract pad40_t_quantize: result the pad40_t buffer of activation (nt, id) f32; tokens past nt are zero.
 *
 *  Order:      none: max is exact, the sum of q is an integer
 *  Products:   those of pad40_quantize: d = rn(amax / 127); inv = rn(1 / d), 0 if d = 0; q = rn_even(rn(x * inv))
 *  Rounding:   nearest even, f32 throughout; d to binary16 nearest even     Denormals: kept
 *  NaN, Inf:   as pad40_quantize      Split: none
 *  Matches:    gpu/kernels/quantize_pad40_t.cu
 *  Bound:      |d * q - x| <= (1 + 2^-19) * (D/2 + 2u|x| + (|x|/D + 1/2) * max(2^-11 D, 2^-25)), D = amax/127;
 *              the ends of the range, and the sums: derived in quantize_contract.c
 */
#include "half.h"
#include "pad40_t.h"
#include "quantize_contract.h"
#include <string.h>

extern const struct activation_format activation_pad40_t;

static double sum(const void *block, size_t i) {
    struct block_pad40_t b;
    (void)i;
    memcpy(&b, block, sizeof b);
    return (double)half_to_float(b.d) * b.sum;
}

static const struct quantize_rule rule = {
    .format = &activation_pad40_t,
    .scale_values = 32,
    .kind = SCALE_F16,
    .roundings = 2,
    .scale = quantize_contract_leading_f16,
    .sum_kind = SUM_OF_CODES,
    .sums = 1,
    .sum_values = 32,
    .sum = sum,
};

QUANTIZE_CONTRACT_FORWARD(rule)

const struct contract contract_pad40_t_quantize = {
    .name = "pad40_t_quantize",
    .weight = NULL,
    .activation = "f32",
    .result = "pad40_t",
    .depth_multiple = PAD40_T_VALUES,
    .evaluate = evaluate,
    .truth = truth,
    .decode = decode,
    .cells = cells,
    .result_bytes = result_bytes,
};
