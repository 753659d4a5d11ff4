/* The walk that matrix contracts share: result (nt, od) = activation (nt, id) times weight (od, id), transposed.
 *
 * Depth is walked in runs of up to 256 values, ascending. In a run every weight row and every token is unpacked once to
 * int16 codes; the walk takes their exact integer dots, sub-block by sub-block, and hands them to the contract's
 * `fold`, which is where every rounding happens. Cells are independent of each other, so neither the tiling nor the
 * number of threads can change a bit. */
#ifndef REF_GEMM_H
#define REF_GEMM_H

#include "contract.h"
#include <math.h>

enum { GEMM_RUN = 256, GEMM_MOST_DOTS = 16, GEMM_MOST_STATE = 32 };

/* One operand's part of a run. Of code, all 256 values are met: what lies past the run's end MUST be 0.
 * f, g, i are the contract's own: scales, minima, sums, one for each dot or for each block, as its fold reads them. */
struct gemm_part {
    int16_t code[GEMM_RUN];
    float f[GEMM_MOST_DOTS], g[GEMM_MOST_DOTS];
    int32_t i[GEMM_MOST_DOTS];
};

struct gemm {
    size_t dot_values; /* values in a dot: 16, 32 or 256; code[d * dot_values ..] is met for dot d */
    size_t state;      /* floats that a cell carries along, 1 .. GEMM_MOST_STATE; they start at +0 */
    /* *out = row (token) at depths k .. k + values - 1 of the operands; *out is zero before. */
    void (*weight)(const struct contract_operands *op, size_t row, size_t k, size_t values, struct gemm_part *out);
    void (*activation)(const struct contract_operands *op, size_t token, size_t k, size_t values,
                       struct gemm_part *out);
    /* Takes one run into the state of a cell; dots: how many of dot[] lie in the run. */
    void (*fold)(float *state, const struct gemm_part *w, const struct gemm_part *a, const int32_t *dot, size_t dots);
    float (*finish)(const float *state); /* the cell's value; NULL: state[0] */
    /* The same run in float64: adds the terms to *value and their magnitudes to *size. */
    void (*truth)(double *value, double *size, const struct gemm_part *w, const struct gemm_part *a, const int32_t *dot,
                  size_t dots);
    /* For gemm_bound: adds what the run can lose below the least normal f32 before relative errors grow it; infinite
     * where nothing is claimed. NULL: nothing is lost. */
    void (*loss)(double *loss, const struct gemm_part *w, const struct gemm_part *a, const int32_t *dot, size_t dots);
};

/* result (nt, od) f32 = the contract's cells over the whole depth. Every NaN is 0x7fffffff, as f32 arithmetic of PTX
 * gives it. */
void gemm_evaluate(const struct gemm *g, const struct contract_operands *op, float *result);

/* out[(t - token) * stride + (j - row)] = the cells (t, j) of tokens token .. token + tokens - 1 and rows row ..
 * row + rows - 1, over depths k .. k_end - 1 alone. Runs start at k; NaN as it comes. Uses one thread. */
struct gemm_region {
    size_t token, tokens, row, rows, k, k_end;
};
void gemm_region(const struct gemm *g, const struct contract_operands *op, const struct gemm_region *r, float *out,
                 size_t stride);

/* value, size (nt, od): the sum of the terms in float64, and the sum of their magnitudes. */
void gemm_truth(const struct gemm *g, const struct contract_operands *op, double *value, double *size);

/* value (nt, od) as gemm_truth gives it, and for every cell
 *     bound = relative * size + (1 + relative) * loss
 * of which truth adds the magnitudes of finite terms alone to size. From size 2^126 on the bound is infinite (f32 may
 * overflow where float64 does not); elsewhere it is 0 where value is not finite. */
void gemm_bound(const struct gemm *g, const struct contract_operands *op, double relative, double *value,
                double *bound);

/* One term of `truth`: into the sum, and its magnitude into the size, where it has one. */
static inline void gemm_add_term(double *value, double *size, double term) {
    *value += term;
    *size += isfinite(term) ? fabs(term) : 0;
}

/* The plain pieces of a contract over f32 results (contract.h). */
size_t gemm_cells(const struct contract_operands *op);        /* nt * od */
size_t gemm_result_bytes(const struct contract_operands *op); /* nt * od * 4 */
void gemm_decode(const struct contract_operands *op, const void *result, double *value);

#endif
