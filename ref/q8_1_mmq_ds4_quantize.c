/* Contract q8_1_mmq_ds4_quantize: result the q8_1_mmq_ds4 buffer of activation (nt, id) f32.
 *
 *  Order:      sum of 32 x: ((x0 + x1) + x2) + x3 in a lane, then over lanes i xor 4, 2, 1; max is exact
 *  Products:   d_inv = rn(127 * rcp.approx(amax)); q = rn_away(rn(x * d_inv)); d = rcp.approx(d_inv); f16(d), f16(sum)
 *  Rounding:   nearest even, f32 throughout; q halves away from zero     Denormals: flushed (.ftz)
 *  NaN, Inf:   as listed in q8_1_mmq.c      Split: none
 *  Matches:    llama.cpp quantize_mmq_q8_1 for DS4 (ggml-cuda/quantize.cu at d99724f2), measured on an H200
 *  Bound:      |d * q - x| <= (1 + 2^-19) * (D/2 + 4u|x| + (|x|/D + 1/2) * max(2^-11 D, 2^-25)), D = amax/127;
 *              the ends of the range, and the sums: derived in quantize_contract.c
 */
#include "half.h"
#include "q8_1_mmq.h"
#include "quantize_contract.h"
#include <string.h>

extern const struct activation_format activation_q8_1_mmq_ds4;

static double scale(const void *block, size_t k) {
    struct block_q8_1_mmq b;
    memcpy(&b, block, sizeof b);
    return q8_1_mmq_ds4_scale(&b, k);
}

static double sum(const void *block, size_t i) {
    struct block_q8_1_mmq b;
    memcpy(&b, block, sizeof b);
    return half_to_float(b.ds4[i].s);
}

static const struct quantize_rule rule = {
    .format = &activation_q8_1_mmq_ds4,
    .scale_values = 32,
    .kind = SCALE_F16,
    .roundings = 4,
    .scale = scale,
    .sum_kind = SUM_OF_VALUES,
    .sums = 4,
    .sum_values = 32,
    .sum_roundings = 6,
    .sum = sum,
};

QUANTIZE_CONTRACT_FORWARD(rule)

const struct contract contract_q8_1_mmq_ds4_quantize = {
    .name = "q8_1_mmq_ds4_quantize",
    .weight = NULL,
    .activation = "f32",
    .result = "q8_1_mmq_ds4",
    .depth_multiple = Q8_1_MMQ_VALUES,
    .rcp_table = true,
    .evaluate = evaluate,
    .truth = truth,
    .decode = decode,
    .cells = cells,
    .result_bytes = result_bytes,
};
