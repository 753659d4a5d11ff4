#include "contract.h"
#include <string.h>

extern const struct contract contract_q4_0_pad40;
extern const struct contract contract_q4_1_pad40_two_term;
extern const struct contract contract_q5_0_pad40;
extern const struct contract contract_q5_1_pad40_two_term;
extern const struct contract contract_q8_0_pad40;
extern const struct contract contract_q4_k_pad40_two_term;
extern const struct contract contract_q4_k_pad40_rank_1;
extern const struct contract contract_q4_k_pad40_t_rank_1;
extern const struct contract contract_q5_k_pad40_two_term;
extern const struct contract contract_q6_k_pad40_two_halves;
extern const struct contract contract_q6_k_pad40_t_two_halves;
extern const struct contract contract_q4_0_pad40_matvec;
extern const struct contract contract_q4_1_pad40_matvec;
extern const struct contract contract_q5_0_pad40_matvec;
extern const struct contract contract_q5_1_pad40_matvec;
extern const struct contract contract_q8_0_pad40_matvec;
extern const struct contract contract_q4_k_pad40_matvec;
extern const struct contract contract_q4_k_pad40_matvec_pair;
extern const struct contract contract_q5_k_pad40_matvec;
extern const struct contract contract_q5_k_pad40_matvec_pair;
extern const struct contract contract_q6_k_pad40_matvec;
extern const struct contract contract_q4_k_q8_1_mmq_ds4;
extern const struct contract contract_q6_k_q8_1_mmq_d4;
extern const struct contract contract_q8_0_q8_1_mmq_d4;
extern const struct contract contract_q4_k_q8_k;
extern const struct contract contract_q6_k_q8_k;
extern const struct contract contract_f16_mma_k16;
extern const struct contract contract_pad40_quantize;
extern const struct contract contract_pad40_t_quantize;
extern const struct contract contract_q8_1_quantize;
extern const struct contract contract_q8_1_cuda_quantize;
extern const struct contract contract_q8_1_mmq_d4_quantize;
extern const struct contract contract_q8_1_mmq_ds4_quantize;
extern const struct contract contract_q8_1_mmq_d2s6_quantize;
extern const struct contract contract_q8_k_quantize;
extern const struct contract contract_q4_0_dequantize;
extern const struct contract contract_q4_1_dequantize;
extern const struct contract contract_q5_0_dequantize;
extern const struct contract contract_q5_1_dequantize;
extern const struct contract contract_q8_0_dequantize;
extern const struct contract contract_q2_k_dequantize;
extern const struct contract contract_q3_k_dequantize;
extern const struct contract contract_q4_k_dequantize;
extern const struct contract contract_q5_k_dequantize;
extern const struct contract contract_q6_k_dequantize;
extern const struct contract contract_q6_k_expand;
extern const struct contract contract_iq4_nl_dequantize;
extern const struct contract contract_iq4_xs_dequantize;
extern const struct contract contract_mxfp4_dequantize;

/* clang-format off */
const struct contract *const contracts[] = {
    &contract_q4_0_pad40,
    &contract_q4_1_pad40_two_term,
    &contract_q5_0_pad40,
    &contract_q5_1_pad40_two_term,
    &contract_q8_0_pad40,
    &contract_q4_k_pad40_two_term,
    &contract_q4_k_pad40_rank_1,
    &contract_q4_k_pad40_t_rank_1,
    &contract_q5_k_pad40_two_term,
    &contract_q6_k_pad40_two_halves,
    &contract_q6_k_pad40_t_two_halves,
    &contract_q4_0_pad40_matvec,
    &contract_q4_1_pad40_matvec,
    &contract_q5_0_pad40_matvec,
    &contract_q5_1_pad40_matvec,
    &contract_q8_0_pad40_matvec,
    &contract_q4_k_pad40_matvec,
    &contract_q4_k_pad40_matvec_pair,
    &contract_q5_k_pad40_matvec,
    &contract_q5_k_pad40_matvec_pair,
    &contract_q6_k_pad40_matvec,
    &contract_q4_k_q8_1_mmq_ds4,
    &contract_q6_k_q8_1_mmq_d4,
    &contract_q8_0_q8_1_mmq_d4,
    &contract_q4_k_q8_k,
    &contract_q6_k_q8_k,
    &contract_f16_mma_k16,
    &contract_pad40_quantize,
    &contract_pad40_t_quantize,
    &contract_q8_1_quantize,
    &contract_q8_1_cuda_quantize,
    &contract_q8_1_mmq_d4_quantize,
    &contract_q8_1_mmq_ds4_quantize,
    &contract_q8_1_mmq_d2s6_quantize,
    &contract_q8_k_quantize,
    &contract_q4_0_dequantize,
    &contract_q4_1_dequantize,
    &contract_q5_0_dequantize,
    &contract_q5_1_dequantize,
    &contract_q8_0_dequantize,
    &contract_q2_k_dequantize,
    &contract_q3_k_dequantize,
    &contract_q4_k_dequantize,
    &contract_q5_k_dequantize,
    &contract_q6_k_dequantize,
    &contract_q6_k_expand,
    &contract_iq4_nl_dequantize,
    &contract_iq4_xs_dequantize,
    &contract_mxfp4_dequantize,
    NULL,
};
/* clang-format on */

const struct contract *contract_named(const char *name) {
    for (const struct contract *const *c = contracts; *c; c++)
        if (!strcmp((*c)->name, name))
            return *c;
    return NULL;
}
