#include "contract.h"
#include <string.h>

extern const struct contract contract_q4_k_pad40_two_term;
extern const struct contract contract_pad40_quantize;

const struct contract *const contracts[] = {
    &contract_q4_k_pad40_two_term,
    &contract_pad40_quantize,
    NULL,
};

const struct contract *contract_named(const char *name) {
    for (const struct contract *const *c = contracts; *c; c++)
        if (!strcmp((*c)->name, name))
            return *c;
    return NULL;
}
