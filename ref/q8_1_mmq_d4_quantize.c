/* Contract q8_1_mmq_d4_quantize: result the q8_1_mmq_d4 buffer of activation (nt, id) f32.
 *
 *  Order:      none: max is exact, there is no sum
 *  Products:   d_inv = rn(127 * rcp.approx(amax)); q = rn_away(rn(x * d_inv)); stored d = rcp.approx(d_inv), f32
 *  Rounding:   nearest even, f32 throughout; q halves away from zero     Denormals: flushed (.ftz)
 *  NaN, Inf:   as listed in q8_1_mmq.c      Split: none
 *  Matches:    llama.cpp quantize_mmq_q8_1 for D4 (ggml-cuda/quantize.cu at d99724f2),
 *              its arithmetic measured on an H200
 *  Bound:      |d * q - x| <= (1 + 2^-19) * (D/2 + 4u|x|), D = amax/127;
 *              the ends of the range: derived in quantize_contract.c
 */
#include "q8_1_mmq.h"
#include "quantize_contract.h"
#include <string.h>

extern const struct activation_format activation_q8_1_mmq_d4;

static double scale(const void *block, size_t k) {
    struct block_q8_1_mmq b;
    memcpy(&b, block, sizeof b);
    return q8_1_mmq_d4_scale(&b, k);
}

static const struct quantize_rule rule = {
    .format = &activation_q8_1_mmq_d4,
    .scale_values = 32,
    .kind = SCALE_F32_FTZ,
    .roundings = 4,
    .scale = scale,
};

QUANTIZE_CONTRACT_FORWARD(rule)

const struct contract contract_q8_1_mmq_d4_quantize = {
    .name = "q8_1_mmq_d4_quantize",
    .weight = NULL,
    .activation = "f32",
    .result = "q8_1_mmq_d4",
    .depth_multiple = Q8_1_MMQ_VALUES,
    .rcp_table = true,
    .evaluate = evaluate,
    .truth = truth,
    .decode = decode,
    .cells = cells,
    .result_bytes = result_bytes,
};
