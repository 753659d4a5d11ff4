/* What the contracts of llama.cpp's MMQ kernels share: how they read q8_1_mmq activations, how the parts of a split
 * product come together, and the bound of it all. Source: facts of ggml d99724f2, ggml-cuda/mmq.cuh, built with its own
 * flags (-use_fast_math: all f32 arithmetic is .ftz, ftz.h). */
#ifndef REF_MMQ_H
#define REF_MMQ_H

#include "gemm.h"

/* `activation` of a struct gemm whose dots have 32 values; a run is two blocks.
 * ds4: f[c] = d, g[c] = s of chunk c. d4: f[c] = d with a subnormal d flushed, g[c] = d as it is stored. */
void mmq_activation_ds4(const struct contract_operands *op, size_t token, size_t k, size_t values,
                        struct gemm_part *out);
void mmq_activation_d4(const struct contract_operands *op, size_t token, size_t k, size_t values,
                       struct gemm_part *out);

/* result (nt, od). Without a cut in a tile a cell is its sum over the whole depth. With cuts every part is summed apart
 * from +0, and, as the fixup of stream-k does it,
 *     s = +0;  s = rn(s + part), the last part but one first, the first part last;  cell = rn(last part + s)  (.ftz)
 * block_values: of the weights. Every NaN is 0x7fffffff. */
void mmq_evaluate(const struct gemm *g, const struct contract_operands *op, size_t block_values, void *result);

/* value and bound of a contract (contract.h). In an uncut sum a term passes through at most `roundings` of f32;
 * operand_error bounds the relative error of the terms before; terms is their number in a cell.
 *
 * Uncut, the result is the sum of term_i * (1 + e_i), where 1 + e_i is 1 + operand_error with at most `roundings`
 * factors 1 + delta, |delta| <= u = 2^-24, and of what was flushed (loss). So
 *     |result - exact| <= relative * sum|term_i| + (1 + relative) * loss,
 *     relative = (1 + operand_error) * (1 + gamma(roundings)) - 1                     (Higham, Lemma 3.1, 3.3).
 *
 * P parts need no more. Of the additions to s that `roundings` counts, every part has one or more of its own (it has
 * 128 values or more), so a term misses at least the P - 1 of the other parts; adding the parts brings it at most P - 1
 * (the first, s + part from s = 0, is exact). Of the flushes likewise: such an addition flushes only where s and part
 * are not 0, so fewer times than there are parts that are not 0; and in each of these the last addition flushed
 * nothing, though loss MUST have 2^-126 for every addition to s.
 *
 * float64 adds (terms + 2) * 2^-53 for its sums and one product; the factor 1 + 2^-20 covers the rest. */
struct mmq_error {
    size_t roundings, terms;
    double operand_error;
};
void mmq_truth(const struct gemm *g, const struct contract_operands *op, struct mmq_error error, double *value,
               double *bound);

#endif
