/* What the contracts of the dequantisers share: result (nt, id) binary16 of nt rows of weight blocks. The operand is
 * called activation, as a quantiser's is: there is no other. Cells: the values, row-major. */
#ifndef REF_DEQUANTIZE_CONTRACT_H
#define REF_DEQUANTIZE_CONTRACT_H

#include "contract.h"
#include "format.h"

/* result = the values of the format's dequantize, which says their roundings to f32, each then rounded to binary16. */
void dequantize_evaluate(const struct block_format *f, const struct contract_operands *op, void *result);
/* f MUST have the view as integers (format.h), and f32 and binary16 fields alone. */
void dequantize_truth(const struct block_format *f, const struct contract_operands *op, double *value, double *bound);

void dequantize_decode(const struct contract_operands *op, const void *result, double *value);
size_t dequantize_cells(const struct contract_operands *op);        /* nt * id */
size_t dequantize_result_bytes(const struct contract_operands *op); /* nt * id * 2 */

/* Defines evaluate and truth of a contract (contract.h). */
#define DEQUANTIZE_CONTRACT(format_)                                                                                   \
    extern const struct block_format format_;                                                                          \
    static void evaluate(const struct contract_operands *op, void *result) {                                           \
        dequantize_evaluate(&format_, op, result);                                                                     \
    }                                                                                                                  \
    static void truth(const struct contract_operands *op, double *value, double *bound) {                              \
        dequantize_truth(&format_, op, value, bound);                                                                  \
    }

#endif
