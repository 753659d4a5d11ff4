/* float64 truth: the constants of rounding analysis, and the comparison of a contract's bits with its truth. */
#ifndef REF_TRUTH_H
#define REF_TRUTH_H

#include "contract.h"
#include <stdbool.h>

/* gamma(n) = n u / (1 - n u), u = 2^-24: the relative error of n chained f32 roundings (Higham, Accuracy and
 * Stability of Numerical Algorithms, 2nd ed., Lemma 3.1). */
double truth_gamma(size_t n);

struct truth_gap {
    bool holds;  /* every cell within its bound; a NaN or infinity on one side only does not hold; a cell whose
                  * bound is infinite always does: nothing is claimed about it */
    size_t cell; /* the first cell that is not, when !holds */
    double value, bound, got;
    double worst;  /* max over judged cells of |got - value| / bound, 0 where both are 0 */
    size_t judged; /* cells that are finite on both sides and have a finite bound */
};

/* Holds `result` (bits of the contract) to the truth of the same operands. False in .holds when a cell breaks the
 * bound, when a value is not finite on one side only, or when memory for the truth cannot be had (cell = SIZE_MAX). */
struct truth_gap truth_compare(const struct contract *c, const struct contract_operands *op, const void *result);

#endif
