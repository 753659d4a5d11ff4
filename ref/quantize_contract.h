/* What the contracts of the activation quantisers share: the result is a buffer of the format, the truth is the f32
 * values themselves and their sums, and one derivation (quantize_contract.c) bounds how far a block is from them.
 * Cells: the nt * id values, token-major, then the sums of the blocks, token by token and block by block. */
#ifndef REF_QUANTIZE_CONTRACT_H
#define REF_QUANTIZE_CONTRACT_H

#include "activation.h"
#include "contract.h"

enum scale_kind {
    SCALE_F16,    /* d is stored as a binary16 */
    SCALE_F32,    /* d is stored as it was computed */
    SCALE_F32_FTZ /* so, and f32 operations flush subnormals */
};

enum sum_kind {
    SUM_NONE,
    SUM_OF_CODES,     /* the integer sum of q; it stands for d * sum */
    SUM_OF_CODES_F16, /* f16(rn(d * sum of q)), with the d that is not yet stored */
    SUM_OF_VALUES     /* f16 of the x added up in f32 with .ftz */
};

struct quantize_rule {
    const struct activation_format *format; /* int8 codes at codes_at */
    size_t scale_values;                    /* that share a d */
    enum scale_kind kind;
    unsigned roundings;                           /* |d * p - x| <= roundings * 2^-24 |x|, p before it becomes q */
    double (*scale)(const void *block, size_t k); /* the d of value k */

    enum sum_kind sum_kind;
    size_t sums, sum_values;                    /* of a block; sum i is of values i * sum_values .. */
    unsigned sum_roundings;                     /* SUM_OF_VALUES: additions that a value goes through at most */
    double (*sum)(const void *block, size_t i); /* what sum i says the values add up to */
};

void quantize_contract_evaluate(const struct quantize_rule *r, const struct contract_operands *op, void *result);
void quantize_contract_truth(const struct quantize_rule *r, const struct contract_operands *op, double *value,
                             double *bound);
void quantize_contract_decode(const struct quantize_rule *r, const struct contract_operands *op, const void *result,
                              double *value);
size_t quantize_contract_result_bytes(const struct quantize_rule *r, const struct contract_operands *op);
size_t quantize_contract_cells(const struct quantize_rule *r, const struct contract_operands *op);

/* Defines evaluate, truth, decode, cells and result_bytes of a contract (contract.h): the functions above with this
 * rule. The operands do not say whose they are, so every contract needs its own five. */
#define QUANTIZE_CONTRACT_FORWARD(rule)                                                                                \
    static void evaluate(const struct contract_operands *op, void *result) {                                           \
        quantize_contract_evaluate(&(rule), op, result);                                                               \
    }                                                                                                                  \
    static void truth(const struct contract_operands *op, double *value, double *bound) {                              \
        quantize_contract_truth(&(rule), op, value, bound);                                                            \
    }                                                                                                                  \
    static void decode(const struct contract_operands *op, const void *result, double *value) {                        \
        quantize_contract_decode(&(rule), op, result, value);                                                          \
    }                                                                                                                  \
    static size_t cells(const struct contract_operands *op) {                                                          \
        return quantize_contract_cells(&(rule), op);                                                                   \
    }                                                                                                                  \
    static size_t result_bytes(const struct contract_operands *op) {                                                   \
        return quantize_contract_result_bytes(&(rule), op);                                                            \
    }

/* The d of a block that begins with it. */
double quantize_contract_leading_f16(const void *block, size_t k);
double quantize_contract_leading_f32(const void *block, size_t k);

#endif
