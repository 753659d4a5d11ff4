/* Contract q6_k_expand: result (nt, id) int8 = the codes of activation (nt, id) q6_K blocks, row after row, without
 * scales.
 *
 *  Order:      none: a value stands alone
 *  Products:   none; result = n - 32, -32 .. 31
 *  Rounding:   none     Denormals, NaN, Inf: none     Split: none
 *  Matches:    gpu/kernels/mmq_half_q6_k_exp.cu, expand_q6_k; as described for the plane W_exp of the minfer campaign
 *              (step documents 46, 47 and 56)
 *  Bound:      0
 *
 * What kernels multiply that copy their codes where others unpack blocks. The scales stay in the blocks, so that a
 * plane is no format of a weight, and two launches together are what q6_k_pad40_t_two_halves judges. */
#include "contract.h"
#include "format.h"

extern const struct block_format format_q6_k;

static size_t cells(const struct contract_operands *op) {
    return op->nt * op->id;
}

static void evaluate(const struct contract_operands *op, void *result) {
    const uint8_t *blocks = op->activation;
    int8_t *out = result;
    const size_t values = format_q6_k.block_values, count = cells(op) / values;
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < count; i++) {
        struct block_integers b;
        format_q6_k.unpack(blocks + i * format_q6_k.block_bytes, &b);
        for (size_t k = 0; k < values; k++)
            out[i * values + k] = b.code[k];
    }
}

static void decode(const struct contract_operands *op, const void *result, double *value) {
    const int8_t *in = result;
    for (size_t i = 0; i < cells(op); i++)
        value[i] = in[i];
}

static void truth(const struct contract_operands *op, double *value, double *bound) {
    const uint8_t *blocks = op->activation;
    const size_t values = format_q6_k.block_values;
    for (size_t i = 0; i < cells(op) / values; i++) {
        struct block_integers b;
        format_q6_k.unpack(blocks + i * format_q6_k.block_bytes, &b);
        for (size_t k = 0; k < values; k++) {
            value[i * values + k] = b.code[k];
            bound[i * values + k] = 0;
        }
    }
}

const struct contract contract_q6_k_expand = {
    .name = "q6_k_expand",
    .weight = NULL,
    .activation = "q6_K",
    .result = "i8",
    .depth_multiple = 256,
    .evaluate = evaluate,
    .truth = truth,
    .decode = decode,
    .cells = cells,
    .result_bytes = cells,
};
