#include "pad40_gemm.h"
#include "activation.h"
#include "half.h"
#include "pad40.h"
#include "pad40_t.h"
#include "truth.h"
#include <math.h>
#include <string.h>

extern const struct activation_format activation_pad40_t;

/* ---- loaders ---- */

void pad40_weight(const struct block_format *f, const struct contract_operands *op, size_t row, size_t k, size_t values,
                  struct gemm_part *out) {
    const size_t subs = f->block_values / f->sub_values;
    const uint8_t *block = (const uint8_t *)op->weight + (row * op->id + k) / f->block_values * f->block_bytes;
    int16_t *code = out->code;
    for (size_t i = 0; i < values / f->sub_values; block += f->block_bytes) {
        struct block_integers b;
        f->unpack(block, &b);
        for (size_t v = 0; v < f->block_values; v++)
            *code++ = b.code[v];
        for (size_t s = 0; s < subs; s++, i++) {
            out->f[i] = b.d * (float)b.scale[s];
            out->g[i] = -(b.dmin * (float)b.min[s]);
        }
    }
}

/* Activation block c of a run. */
static void put_block(struct gemm_part *out, size_t dots_a_block, size_t c, uint16_t d, int32_t sum, const int8_t *q) {
    for (size_t i = c * dots_a_block; i < (c + 1) * dots_a_block; i++) {
        out->f[i] = half_to_float(d);
        out->i[i] = sum;
    }
    for (size_t v = 0; v < PAD40_VALUES; v++)
        out->code[c * PAD40_VALUES + v] = q[v];
}

void pad40_activation(size_t dots_a_block, const struct contract_operands *op, size_t token, size_t k, size_t values,
                      struct gemm_part *out) {
    const uint8_t *block = (const uint8_t *)op->activation + (token * op->id + k) / PAD40_VALUES * PAD40_BYTES;
    for (size_t c = 0; c < values / PAD40_VALUES; c++, block += PAD40_BYTES) {
        struct block_pad40 b;
        memcpy(&b, block, sizeof b);
        put_block(out, dots_a_block, c, b.d, b.sum, b.q);
    }
}

void pad40_t_activation(size_t dots_a_block, const struct contract_operands *op, size_t token, size_t k, size_t values,
                        struct gemm_part *out) {
    for (size_t c = 0; c < values / PAD40_T_VALUES; c++) {
        struct block_pad40_t b;
        activation_get(&activation_pad40_t, op->activation, op->nt, op->id, token, k / PAD40_T_VALUES + c, &b);
        put_block(out, dots_a_block, c, b.d, b.sum, b.q);
    }
}

/* ---- folds ---- */

void pad40_one_term(float *state, const struct gemm_part *w, const struct gemm_part *a, const int32_t *dot,
                    size_t dots) {
    float s = *state;
    for (size_t i = 0; i < dots; i++)
        s = fmaf(a->f[i] * w->f[i], (float)dot[i], s);
    *state = s;
}

void pad40_two_term(float *state, const struct gemm_part *w, const struct gemm_part *a, const int32_t *dot,
                    size_t dots) {
    float s = *state;
    for (size_t i = 0; i < dots; i++) {
        s = fmaf(a->f[i] * w->f[i], (float)dot[i], s);
        s = fmaf(a->f[i] * w->g[i], (float)a->i[i], s);
    }
    *state = s;
}

void pad40_rank_1(float *state, const struct gemm_part *w, const struct gemm_part *a, const int32_t *dot, size_t dots) {
    float s = *state;
    for (size_t i = 0; i < dots; i++) {
        s = fmaf(a->f[i] * w->f[i], (float)dot[i], s);
        s = fmaf(a->f[i] * (float)a->i[i], w->g[i], s);
    }
    *state = s;
}

/* ---- truth ----
 *
 * Every contract of the family adds terms t_j = p_j * y_j one by one: s_j = s_(j-1) + t_j, from s_0 = 0, with
 * p = da*ds, y = dot (dot term); p = da*dm, y = sum (min term, two terms); p = da*sum, y = dm (min term, rank 1).
 * In f32, u = 2^-24, with ^ on what is computed:
 *
 *     p^ = p + e,  e the error of that one product;   s^_j = p^_j y_j + s^_(j-1) + r_j,   |r_j| <= u |s^_j|
 *
 * since y is exact: |dot| <= 32 * 128 * 128 = 2^19, |sum| <= 2^12, dm see pad40_gemm.h. With E_j = s^_j - s_j,
 *
 *     |E_j| <= |E_(j-1)| + |e_j y_j| + u |s_j| + u |E_j|,  hence  |E_n| <= (1 - u)^-n * sum_j (|e_j y_j| + u |s_j|)
 *
 * and (1 - u)^-n <= 1 / (1 - n u) = 1 + gamma(n). That is a running error bound (Higham, Accuracy and Stability of
 * Numerical Algorithms, 2nd ed., 3.3): it looks at the sums that really come up. e is not estimated: in float64 p is
 * exact, 11 + 18 bits, and so is its distance from rn(p). It is 0 in the formats of 32 values (11 + 11 bits, dmin too),
 * and 0 for da * sum (11 + 12 bits, and 4096 is a power of two).
 *
 * No underflow disturbs this: da, d and dmin are multiples of 2^-24, so every product and every sum is a multiple of
 * 2^-48 (rounding to 24 bits keeps it one), hence 0 or far above the least normal, 2^-126.
 * No overflow: |da|, |d|, |dmin| < 2^16, scale * dot <= 2^7 * 2^16 (q6_K) or 2^19 (q8_0) and min * sum < 2^18, so
 * |term| < 2^55; for 2^128 it would take 2^73 of them.
 *
 * float64: terms are exact (at most 11 + 18 + 17 bits, or 11 + 11 + 20). The sum errs by 2^-53 (1 + gamma) sum|s_j|,
 * the sum of |s_j| and |e_j y_j| by a relative 3 n 2^-53 at most; for n < 2^24, beyond which gamma is infinite and
 * nothing is claimed, all of that is below 2^-26 of the bound, and the factor 1 + 2^-20 covers it together with the
 * roundings of the bound itself and of whoever compares with it.
 *
 * Operands that are infinite or NaN: neither precision overflows from finite numbers, neither underflows, so a product
 * of three is NaN, infinite or 0 by its factors alone, in any grouping, and both see the same sequence of additions:
 * the same infinity, or both NaN. Bound 0. */

/* p_j, rn(p_j), y_j. */
static inline void add_term(double *value, double *size, double p, float rounded, double y) {
    *value += p * y;
    *size += fabs(p - (double)rounded) * fabs(y) + 0x1p-24 * fabs(*value);
}

static inline void add_dot_term(double *value, double *size, const struct gemm_part *w, const struct gemm_part *a,
                                const int32_t *dot, size_t i) {
    add_term(value, size, (double)a->f[i] * w->f[i], a->f[i] * w->f[i], dot[i]);
}

void pad40_one_term_truth(double *value, double *size, const struct gemm_part *w, const struct gemm_part *a,
                          const int32_t *dot, size_t dots) {
    for (size_t i = 0; i < dots; i++)
        add_dot_term(value, size, w, a, dot, i);
}

void pad40_two_term_truth(double *value, double *size, const struct gemm_part *w, const struct gemm_part *a,
                          const int32_t *dot, size_t dots) {
    for (size_t i = 0; i < dots; i++) {
        add_dot_term(value, size, w, a, dot, i);
        add_term(value, size, (double)a->f[i] * w->g[i], a->f[i] * w->g[i], a->i[i]);
    }
}

void pad40_rank_1_truth(double *value, double *size, const struct gemm_part *w, const struct gemm_part *a,
                        const int32_t *dot, size_t dots) {
    for (size_t i = 0; i < dots; i++) {
        add_dot_term(value, size, w, a, dot, i);
        add_term(value, size, (double)a->f[i] * a->i[i], a->f[i] * (float)a->i[i], w->g[i]);
    }
}

void pad40_truth(const struct gemm *g, size_t terms_a_dot, const struct contract_operands *op, double *value,
                 double *bound) {
    const double growth = 1 + truth_gamma(op->id / g->dot_values * terms_a_dot);
    gemm_truth(g, op, value, bound);
    for (size_t i = 0; i < gemm_cells(op); i++)
        bound[i] = isfinite(value[i]) ? bound[i] * growth * (1 + 0x1p-20) : 0;
}
