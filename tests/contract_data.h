/* Operands for tests of contracts: random blocks of a contract's formats whose scales are of one class. */
#ifndef TESTS_CONTRACT_DATA_H
#define TESTS_CONTRACT_DATA_H

#include "../ref/contract.h"

enum data_class {
    DATA_ORDINARY,
    DATA_ANY_BITS, /* any finite scale */
    DATA_CORNERS,  /* scales and codes at their ends */
    DATA_TINY,     /* f32 scales about the least normal number, small f16 scales */
    DATA_LARGE,    /* f32 scales up to the end, large f16 scales: d * sc beyond binary16 */
    DATA_NONFINITE,
    DATA_CLASSES
};
extern const char *const data_class_name[];

struct data {
    const struct contract *contract;
    struct contract_operands op;
    uint8_t *weight, *activation;
    size_t weight_row_bytes;
};

/* Operands of a contract, keyed by the class and the shape. */
struct data data_make(const struct contract *c, enum data_class class, size_t nt, size_t od, size_t id);
void data_free(struct data *d);

/* The contract's result; to be freed. */
float *data_evaluated(const struct data *d);
const uint8_t *data_weight_row(const struct data *d, size_t row);

#endif
