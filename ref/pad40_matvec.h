/* What the matrix-vector contracts over pad40 share: 32 partial sums, as the lanes of a warp keep them, and a tree.
 *
 * Chunk c of a row, 32 values under one activation block, belongs to lane c / unit % 32, where a unit of one chunk or
 * two goes to a lane. A lane takes its units ascending and starts at +0. At the end, for mask = 16, 8, 4, 2, 1, s[l] =
 * rn(s[l] + s[l xor mask]) in all lanes at once, and the cell is s[0]. da, ds, dm and sum of a chunk are those of
 * pad40_gemm.h.
 *
 * Source: the folds are those of the minfer campaign's matrix-vector kernels, whose activations are pad40 (step
 * documents 09 and 103): affine is the first version of q4_K, pair the second, halves is q6_K, offset q4_0. Which lane
 * takes which chunk, and the tree, they leave open; here they are as gpu/kernels/matvec.cu has them. */
#ifndef REF_PAD40_MATVEC_H
#define REF_PAD40_MATVEC_H

#include "format.h"
#include "gemm.h"
#include "pad40_gemm.h"

enum { MATVEC_LANES = 32 };

/* gemm.weight: pad40_weight, with the codes raised by `offset`; i[j] = the lane of dot j. Where the offset is not 0
 * the format has no minima, and g[j] = offset. */
void matvec_weight(const struct block_format *f, size_t dots_a_chunk, size_t unit, int offset,
                   const struct contract_operands *op, size_t row, size_t k, size_t values, struct gemm_part *out);

/* gemm.fold: how a chunk goes into its lane; f32, nearest even, one rounding an operation:
 *   offset  s = fma(rn(da * d), (float)(dot - offset * sum), s)      dot of the raised codes; the difference is int32
 *   affine  s = fma(da, fma(ds, (float)dot, rn(dm * (float)sum)), s)
 *   halves  s = rn(s + fma(rn(da * ds_1), (float)dot_1, rn(rn(da * ds_0) * (float)dot_0)))
 *   pair    s = rn(s + fma(da_1, inner_1, rn(da_0 * inner_0))), inner = fma(ds, (float)dot, rn(dm * (float)sum)) */
extern pad40_fold matvec_offset, matvec_affine, matvec_halves, matvec_pair;
/* gemm.truth of each, and gemm.loss: infinite where nothing is claimed. */
extern pad40_terms matvec_offset_truth, matvec_affine_truth, matvec_halves_truth;
#define matvec_pair_truth matvec_affine_truth
void matvec_affine_loss(double *loss, const struct gemm_part *w, const struct gemm_part *a, const int32_t *dot,
                        size_t dots);
#define matvec_offset_loss NULL
#define matvec_halves_loss NULL
#define matvec_pair_loss   matvec_affine_loss
/* Roundings of a term before it is added to its lane. */
enum {
    matvec_offset_roundings = 1,
    matvec_affine_roundings = 3,
    matvec_halves_roundings = 3,
    matvec_pair_roundings = 5
};

/* gemm.finish: the tree. */
float matvec_finish(const float *state);

/* contract.truth of a gemm of these pieces. */
void matvec_truth(const struct gemm *g, size_t roundings, size_t unit, const struct contract_operands *op,
                  double *value, double *bound);

/* Defines evaluate and truth of a contract (contract.h). format_: of the weight; fold_: one of the three above; offset:
 * what is added to the codes; dots_a_chunk: 1, or 2 for weights with sub-blocks of 16; unit: chunks, 2 for pairs. */
#define PAD40_MATVEC(format_, fold_, offset, dots_a_chunk, unit)                                                       \
    extern const struct block_format format_;                                                                          \
    static void weight(const struct contract_operands *op, size_t row, size_t k, size_t values,                        \
                       struct gemm_part *out) {                                                                        \
        matvec_weight(&format_, dots_a_chunk, unit, offset, op, row, k, values, out);                                  \
    }                                                                                                                  \
    static void activation(const struct contract_operands *op, size_t token, size_t k, size_t values,                  \
                           struct gemm_part *out) {                                                                    \
        pad40_activation(dots_a_chunk, op, token, k, values, out);                                                     \
    }                                                                                                                  \
    static const struct gemm gemm = {                                                                                  \
        .dot_values = 32 / (dots_a_chunk),                                                                             \
        .state = MATVEC_LANES,                                                                                         \
        .weight = weight,                                                                                              \
        .activation = activation,                                                                                      \
        .fold = fold_,                                                                                                 \
        .finish = matvec_finish,                                                                                       \
        .truth = fold_##_truth,                                                                                        \
        .loss = fold_##_loss,                                                                                          \
    };                                                                                                                 \
    static void evaluate(const struct contract_operands *op, void *result) {                                           \
        gemm_evaluate(&gemm, op, result);                                                                              \
    }                                                                                                                  \
    static void truth(const struct contract_operands *op, double *value, double *bound) {                              \
        matvec_truth(&gemm, fold_##_roundings, unit, op, value, bound);                                                \
    }

#endif
