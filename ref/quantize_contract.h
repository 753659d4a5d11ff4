/* What the contracts of the activation quantisers share: the result is a buffer of the format, the truth is the f32
 * values themselves, and one derivation (quantize_contract.c) bounds how far a block's values are from them. */
#ifndef REF_QUANTIZE_CONTRACT_H
#define REF_QUANTIZE_CONTRACT_H

#include "activation.h"
#include "contract.h"

enum scale_kind {
    SCALE_F16,    /* d is stored as a binary16 */
    SCALE_F32,    /* d is stored as it was computed */
    SCALE_F32_FTZ /* so, and f32 operations flush subnormals */
};

struct quantize_rule {
    const struct activation_format *format; /* int8 codes at codes_at */
    size_t scale_values;                    /* that share a d */
    enum scale_kind kind;
    unsigned roundings;                           /* |d * p - x| <= roundings * 2^-24 |x|, p before it becomes q */
    double (*scale)(const void *block, size_t k); /* the d of value k */
};

void quantize_contract_evaluate(const struct quantize_rule *r, const struct contract_operands *op, void *result);
void quantize_contract_truth(const struct quantize_rule *r, const struct contract_operands *op, double *value,
                             double *bound);
void quantize_contract_decode(const struct quantize_rule *r, const struct contract_operands *op, const void *result,
                              double *value);
size_t quantize_contract_result_bytes(const struct quantize_rule *r, const struct contract_operands *op);
size_t quantize_contract_cells(const struct contract_operands *op); /* nt * id */

/* The d of a block that begins with it. */
double quantize_contract_leading_f16(const void *block, size_t k);
double quantize_contract_leading_f32(const void *block, size_t k);

#endif
