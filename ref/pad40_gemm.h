/* What the contracts over pad40 and pad40_t share: loaders, folds, and the truth with its bound.
 *
 * A dot covers one sub-block of the weight, 32 values or 16, all in one activation block of 32. For dot i, ascending in
 * k, there are the exact integers dot (sum of code * q), sum (of the activation block, as stored), scale and min, and
 *     da = d of the activation block ;  ds = rn(d * scale) ;  dm = -rn(dmin * min)
 * of which ds and dm are exact in f32: the 11 bits of a binary16 times at most 8 of an integer. */
#ifndef REF_PAD40_GEMM_H
#define REF_PAD40_GEMM_H

#include "format.h"
#include "gemm.h"

/* gemm.weight for the rows of a format with blocks of 32 or 256 values: f[i] = ds, g[i] = dm of dot i. */
void pad40_weight(const struct block_format *f, const struct contract_operands *op, size_t row, size_t k, size_t values,
                  struct gemm_part *out);

/* gemm.activation: f[i] = da, i[i] = sum of dot i; dots_a_block is 1, or 2 for dots of 16 values. The sum MUST be in
 * -4096 .. 4064, as kernels stage it as int16. */
void pad40_activation(size_t dots_a_block, const struct contract_operands *op, size_t token, size_t k, size_t values,
                      struct gemm_part *out);
void pad40_t_activation(size_t dots_a_block, const struct contract_operands *op, size_t token, size_t k, size_t values,
                        struct gemm_part *out);

/* gemm.fold; f32, nearest even, one rounding an operation, s from +0:
 *   one term   s = fma(rn(da * ds), (float)dot, s)
 *   two terms  s = fma(rn(da * ds), (float)dot, s); s = fma(rn(da * dm), (float)sum, s)
 *   rank 1     s = fma(rn(da * ds), (float)dot, s); s = fma(rn(da * (float)sum), dm, s) */
typedef void pad40_fold(float *s, const struct gemm_part *w, const struct gemm_part *a, const int32_t *dot,
                        size_t dots);
extern pad40_fold pad40_one_term, pad40_two_term, pad40_rank_1;

/* gemm.truth of each: *value += term after term in float64, *size += what pad40_truth makes the bound of. */
typedef void pad40_terms(double *value, double *size, const struct gemm_part *w, const struct gemm_part *a,
                         const int32_t *dot, size_t dots);
extern pad40_terms pad40_one_term_truth, pad40_two_term_truth, pad40_rank_1_truth;

/* contract.truth of a gemm of these pieces; terms_a_dot: 1, or 2 where there are minima. */
void pad40_truth(const struct gemm *g, size_t terms_a_dot, const struct contract_operands *op, double *value,
                 double *bound);

/* Defines evaluate and truth of a contract (contract.h) made of the pieces above, as neither operands nor loaders say
 * whose they are. format_: of the weight; load: pad40_activation or pad40_t_activation; dots_a_block: 1, or 2 for
 * weights with sub-blocks of 16; fold_: pad40_one_term, pad40_two_term or pad40_rank_1; terms_a_dot: 1, or 2 where
 * there are minima. */
#define PAD40_GEMM(format_, load, dots_a_block, fold_, terms_a_dot)                                                    \
    extern const struct block_format format_;                                                                          \
    static void weight(const struct contract_operands *op, size_t row, size_t k, size_t values,                        \
                       struct gemm_part *out) {                                                                        \
        pad40_weight(&format_, op, row, k, values, out);                                                               \
    }                                                                                                                  \
    static void activation(const struct contract_operands *op, size_t token, size_t k, size_t values,                  \
                           struct gemm_part *out) {                                                                    \
        load(dots_a_block, op, token, k, values, out);                                                                 \
    }                                                                                                                  \
    static const struct gemm gemm = {                                                                                  \
        .dot_values = 32 / (dots_a_block),                                                                             \
        .state = 1,                                                                                                    \
        .weight = weight,                                                                                              \
        .activation = activation,                                                                                      \
        .fold = fold_,                                                                                                 \
        .truth = fold_##_truth,                                                                                        \
    };                                                                                                                 \
    static void evaluate(const struct contract_operands *op, void *result) {                                           \
        gemm_evaluate(&gemm, op, result);                                                                              \
    }                                                                                                                  \
    static void truth(const struct contract_operands *op, double *value, double *bound) {                              \
        pad40_truth(&gemm, terms_a_dot, op, value, bound);                                                             \
    }

#endif
