/* Contract q6_k_q8_1_mmq_d4: result (nt, od) = activation (nt, id) q8_1_mmq_d4 times weight (od, id) q6_K, transposed.
 *
 *  Order:      groups of 128 values ascending in k, chunks of 32 ascending in each; s starts at +0
 *  Products:   t = +0; for the group's 4 chunks t = fma(da, (float)dot, t);  then s = fma(t, d, s)
 *              with dot = the exact integer sum over the chunk of scale * (n - 32) * q
 *  Rounding:   nearest even, f32 throughout     Denormals: flushed, operands (da) and results (ftz.h)
 *  NaN, Inf:   IEEE 754; every NaN result is 0x7fffffff
 *  Split:      none, depths, stream-k: parts summed apart, then the fixup's order (mmq.h)
 *  Matches:    llama.cpp's mul_mat_q of q6_K, ggml 0.20.0 and 0.25.3 on an H200: fixtures/golden/llama_mmq
 *  Bound:      |result - truth| <= gamma(4 + id/128) * sum|terms| + what is flushed, cut or not; see `truth`
 *
 * da: f32 as stored in the activation; d widened from binary16. */
#include "format.h"
#include "ftz.h"
#include "mmq.h"
#include <math.h>

enum { VALUES = 256, BYTES = 210, SUB_VALUES = 16, CHUNK = 32, GROUP_CHUNKS = 4 };

extern const struct block_format format_q6_k;

/* code = scale * (n - 32), |code| <= 128 * 32: a chunk's dot then is at most 2^24, exact in f32. f[0] = d. */
static void weight(const struct contract_operands *op, size_t row, size_t k, size_t values, struct gemm_part *out) {
    const size_t index = row * (op->id / VALUES) + k / VALUES;
    struct block_integers b;
    format_q6_k.unpack((const uint8_t *)op->weight + index * BYTES, &b);
    for (size_t i = 0; i < values; i++)
        out->code[i] = (int16_t)(b.scale[i / SUB_VALUES] * b.code[i]);
    out->f[0] = b.d;
}

static void fold(float *state, const struct gemm_part *w, const struct gemm_part *a, const int32_t *dot, size_t dots) {
    for (size_t c = 0; c < dots; c += GROUP_CHUNKS) {
        float t = 0;
        for (size_t i = c; i < c + GROUP_CHUNKS; i++)
            t = ftz_fma_of_normal(a->f[i], (float)dot[i], t);
        *state = ftz_fma_of_normal(t, w->f[0], *state);
    }
}

static void terms(double *value, double *size, const struct gemm_part *w, const struct gemm_part *a, const int32_t *dot,
                  size_t dots) {
    for (size_t c = 0; c < dots; c++)
        gemm_add_term(value, size, (double)a->g[c] * dot[c] * w->f[0]);
}

/* What is flushed in a run: da where subnormal, so the whole of its product; each t, less than 2^-126; s the same. */
static void loss(double *loss, const struct gemm_part *w, const struct gemm_part *a, const int32_t *dot, size_t dots) {
    const double d = fabs((double)w->f[0]);
    for (size_t c = 0; c < dots; c += GROUP_CHUNKS) {
        double lost = 0, size = 0;
        for (size_t i = c; i < c + GROUP_CHUNKS; i++) {
            const double product = fabs((double)a->g[i] * dot[i]);
            size += isfinite(product) ? product : 0;
            lost += 0x1p-126 + (isfinite(product) && fpclassify(a->g[i]) == FP_SUBNORMAL ? product : 0);
        }
        *loss += lost * d + 0x1p-126;
        if (!(size < 0x1p126) || !isfinite(d)) /* t may overflow; its sign, or that it is 0, may be lost */
            *loss = INFINITY;
    }
}

static const struct gemm gemm = {.dot_values = CHUNK,
                                 .state = 1,
                                 .weight = weight,
                                 .activation = mmq_activation_d4,
                                 .fold = fold,
                                 .truth = terms,
                                 .loss = loss};

static void evaluate(const struct contract_operands *op, void *result) {
    mmq_evaluate(&gemm, op, VALUES, result);
}

/* value = sum over chunks of da * dot * d, n = id/32 terms of which four make a group.
 *
 * A term is rounded in at most 4 fma of its group and id/128 fma of s. What is flushed in a group enters s times |d|:
 * `loss`. t may overflow where the groups' own size reaches 2^126, s where sum|terms| does: the bound is infinite
 * there. So it is where d is infinite or NaN, since t times d then hangs on the sign of t, which rounding can change.
 * An infinite or NaN da gives the same infinity or both NaN. */
static void truth(const struct contract_operands *op, double *value, double *bound) {
    const size_t n = op->id / CHUNK, groups = n / GROUP_CHUNKS;
    const struct mmq_error error = {.roundings = GROUP_CHUNKS + groups, .terms = n};
    mmq_truth(&gemm, op, error, value, bound);
}

const struct contract contract_q6_k_q8_1_mmq_d4 = {
    .name = "q6_k_q8_1_mmq_d4",
    .weight = "q6_K",
    .activation = "q8_1_mmq_d4",
    .result = "f32",
    .depth_multiple = VALUES,
    .splits = true,
    .evaluate = evaluate,
    .truth = truth,
    .decode = gemm_decode,
    .cells = gemm_cells,
    .result_bytes = gemm_result_bytes,
};
