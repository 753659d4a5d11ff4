/* Contract q4_k_pad40_two_term: result (nt, od) = activation (nt, id) pad40 times weight (od, id) q4_K, transposed.
 *
 *  Order:      chunks of 32 ascending in k; two additions per chunk, dot term first; s starts at +0
 *  Products:   s = fma(rn(da * ds), (float)dot, s); s = fma(rn(da * dm), (float)sum, s)
 *              with ds = rn(d * sc), dm = -rn(dmin * m)
 *  Rounding:   nearest even, f32 throughout     Denormals: kept (none arise from finite operands)
 *  NaN, Inf:   IEEE 754; every NaN result is 0x7fffffff     Split: none
 *  Matches:    gpu/kernels/mmq_wide_ldb.cu
 *  Bound:      |result - truth| <= gamma(2 * id/32 + 1) * sum|terms| and the float64 summation; derived at `truth`
 *
 * dot = sum over the chunk of nibble * q, exact; sum = the sum stored in the activation block, which MUST be in
 * -4096 .. 4064 (kernels stage it as int16); da, d, dmin widened from binary16. */
#include "contract.h"
#include "format.h"
#include "gemm.h"
#include "half.h"
#include "pad40.h"
#include "q4_k.h"
#include "truth.h"
#include <math.h>
#include <string.h>

enum { CHUNK = PAD40_VALUES, CHUNKS = Q4_K_SUB_BLOCKS }; /* a chunk is a sub-block of q4_K and a block of pad40 */

extern const struct block_format format_q4_k;

/* f[c] = ds, g[c] = dm of chunk c. */
static void weight(const struct contract_operands *op, size_t row, size_t k, size_t values, struct gemm_part *out) {
    const size_t index = row * (op->id / Q4_K_VALUES) + k / Q4_K_VALUES;
    struct block_integers b;
    format_q4_k.unpack((const uint8_t *)op->weight + index * Q4_K_BYTES, &b);
    for (size_t i = 0; i < values; i++)
        out->code[i] = b.code[i];
    for (int c = 0; c < CHUNKS; c++) {
        out->f[c] = b.d * (float)b.scale[c];
        out->g[c] = -(b.dmin * (float)b.min[c]);
    }
}

/* f[c] = da, i[c] = the stored sum of chunk c. */
static void activation(const struct contract_operands *op, size_t token, size_t k, size_t values,
                       struct gemm_part *out) {
    const uint8_t *block = (const uint8_t *)op->activation + (token * op->id + k) / CHUNK * PAD40_BYTES;
    for (size_t c = 0; c < values / CHUNK; c++, block += PAD40_BYTES) {
        struct block_pad40 b;
        memcpy(&b, block, sizeof b);
        out->f[c] = half_to_float(b.d);
        out->i[c] = b.sum;
        for (size_t i = 0; i < CHUNK; i++)
            out->code[c * CHUNK + i] = b.q[i];
    }
}

static void fold(float *state, const struct gemm_part *w, const struct gemm_part *a, const int32_t *dot, size_t dots) {
    float s = *state;
    for (size_t c = 0; c < dots; c++) {
        s = fmaf(a->f[c] * w->f[c], (float)dot[c], s);
        s = fmaf(a->f[c] * w->g[c], (float)a->i[c], s);
    }
    *state = s;
}

static void terms(double *value, double *size, const struct gemm_part *w, const struct gemm_part *a, const int32_t *dot,
                  size_t dots) {
    for (size_t c = 0; c < dots; c++) {
        double dot_term = (double)a->f[c] * w->f[c] * dot[c], min_term = (double)a->f[c] * w->g[c] * a->i[c];
        *value += dot_term;
        *value += min_term;
        *size += fabs(dot_term) + fabs(min_term);
    }
}

static const struct gemm gemm = {
    .dot_values = CHUNK, .state = 1, .weight = weight, .activation = activation, .fold = fold, .truth = terms};

static void evaluate(const struct contract_operands *op, void *result) {
    gemm_evaluate(&gemm, op, result);
}

/* value = sum over chunks of da*d*sc * dot - da*dmin*m * sum, in float64; bound as follows, n = 2 * id/32 terms.
 *
 * Exact in f32: d*sc and dmin*m (11 + 6 = 17 bits), dot (|dot| <= 32*15*128 < 2^16), sum (|sum| <= 2^12).
 * One rounding: da*ds and da*dm (28 bits). Then one for each of the at most n fma that a term passes through. With
 * (1 + delta) a rounding, |delta| <= 2^-24, the result is the sum of term_i * (at most n + 1 factors 1 + delta), so
 *     |result - exact| <= gamma(n + 1) * sum|term_i|                                      (Higham, Lemma 3.1).
 *
 * No underflow disturbs this: da, d and dmin are multiples of 2^-24, so every product and every sum is a multiple of
 * 2^-48 (rounding to 24 bits keeps it one), hence 0 or far above the least normal, 2^-126.
 * No overflow either: |term| < 2^16 * 2^16 * 2^6 * 2^16 = 2^54, and 2^128 would take 2^74 of them.
 *
 * float64: every term is exact (28 + 16 and 28 + 13 of 53 bits); n additions err by n * 2^-53 / (1 - n * 2^-53).
 * The last factor, 1 + 2^-20, covers the float64 roundings of the bound and of whoever compares with it.
 *
 * Operands that are infinite or NaN: f32 and float64 then give the same infinity or both NaN, since neither overflows
 * from finite numbers, neither underflows, and all else is the same sequence of operations. Bound 0. */
static void truth(const struct contract_operands *op, double *value, double *bound) {
    size_t n = 2 * (op->id / CHUNK);
    double nu = (double)n * 0x1p-53;
    double relative = (truth_gamma(n + 1) + nu / (1 - nu)) * (1 + 0x1p-20);
    gemm_truth(&gemm, op, value, bound);
    for (size_t i = 0; i < gemm_cells(op); i++)
        bound[i] = isfinite(value[i]) ? bound[i] * relative : 0;
}

const struct contract contract_q4_k_pad40_two_term = {
    .name = "q4_k_pad40_two_term",
    .weight = "q4_K",
    .activation = "pad40",
    .result = "f32",
    .depth_multiple = Q4_K_VALUES,
    .evaluate = evaluate,
    .truth = truth,
    .decode = gemm_decode,
    .cells = gemm_cells,
    .result_bytes = gemm_result_bytes,
};
