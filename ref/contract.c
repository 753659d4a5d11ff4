#include "contract.h"
#include <string.h>

extern const struct contract contract_q4_k_pad40_two_term;
extern const struct contract contract_q4_k_q8_1_mmq_ds4;
extern const struct contract contract_q6_k_q8_1_mmq_d4;
extern const struct contract contract_q8_0_q8_1_mmq_d4;
extern const struct contract contract_q4_k_q8_k;
extern const struct contract contract_q6_k_q8_k;
extern const struct contract contract_pad40_quantize;

const struct contract *const contracts[] = {
    &contract_q4_k_pad40_two_term, &contract_q4_k_q8_1_mmq_ds4, &contract_q6_k_q8_1_mmq_d4, &contract_q8_0_q8_1_mmq_d4,
    &contract_q4_k_q8_k,           &contract_q6_k_q8_k,         &contract_pad40_quantize,   NULL,
};

const struct contract *contract_named(const char *name) {
    for (const struct contract *const *c = contracts; *c; c++)
        if (!strcmp((*c)->name, name))
            return *c;
    return NULL;
}
