/* Contract q8_0_q8_1_mmq_d4: result (nt, od) = activation (nt, id) q8_1_mmq_d4 times weight (od, id) q8_0, transposed.
 *
 *  Order:      chunks of 32 ascending in k, one addition each; s starts at +0
 *  Products:   s = fma(rn((float)dot * d), da, s)
 *  Rounding:   nearest even, f32 throughout     Denormals: flushed, operands (da) and results (ftz.h)
 *  NaN, Inf:   IEEE 754; every NaN result is 0x7fffffff
 *  Split:      none, depths, stream-k: parts summed apart, then the fixup's order (mmq.h)
 *  Matches:    llama.cpp's mul_mat_q of q8_0, ggml 0.20.0 and 0.25.3 on an H200: fixtures/golden/llama_mmq
 *  Bound:      |result - truth| <= gamma(id/32 + 1) * sum|terms| + what is flushed, cut or not; see `truth`
 *
 * dot = sum over the chunk of the products of quants, exact (at most 2^19); da: f32 as stored in the activation; d
 * widened from binary16. The kernel walks whole iterations of 256 values, and meets what lies past the row's end with
 * zeros of the activation: nothing is added to a finite sum but that -0 becomes +0, which is not modelled; and where an
 * infinite or NaN scale lies there, NaN. */
#include "format.h"
#include "ftz.h"
#include "mmq.h"
#include "q8_1_mmq.h"
#include <math.h>

enum { CHUNK = 32, BYTES = 34 };

extern const struct block_format format_q8_0;

/* f[c] = d of chunk c. */
static void weight(const struct contract_operands *op, size_t row, size_t k, size_t values, struct gemm_part *out) {
    const uint8_t *block = (const uint8_t *)op->weight + (row * op->id + k) / CHUNK * BYTES;
    for (size_t c = 0; c < values / CHUNK; c++, block += BYTES) {
        struct block_integers b;
        format_q8_0.unpack(block, &b);
        out->f[c] = b.d;
        for (size_t i = 0; i < CHUNK; i++)
            out->code[c * CHUNK + i] = b.code[i];
    }
}

/* (float)dot * d is a multiple of 2^-24: never subnormal. */
static void fold(float *state, const struct gemm_part *w, const struct gemm_part *a, const int32_t *dot, size_t dots) {
    float s = *state;
    for (size_t c = 0; c < dots; c++)
        s = ftz_fma_of_normal((float)dot[c] * w->f[c], a->f[c], s);
    *state = s;
}

static void terms(double *value, double *size, const struct gemm_part *w, const struct gemm_part *a, const int32_t *dot,
                  size_t dots) {
    for (size_t c = 0; c < dots; c++)
        gemm_add_term(value, size, (double)dot[c] * w->f[c] * a->g[c]);
}

/* What is flushed: da where subnormal, so its whole term; each s, less than 2^-126. An infinite d times a flushed da is
 * NaN, in float64 infinite: nothing is claimed. */
static void loss(double *loss, const struct gemm_part *w, const struct gemm_part *a, const int32_t *dot, size_t dots) {
    for (size_t c = 0; c < dots; c++) {
        *loss += 0x1p-126;
        if (fpclassify(a->g[c]) == FP_SUBNORMAL)
            *loss += isfinite(w->f[c]) ? fabs((double)dot[c] * w->f[c] * a->g[c]) : INFINITY;
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
    mmq_evaluate(&gemm, op, CHUNK, result);
}

/* value = sum over chunks of dot * d * da, n = id/32 terms: one rounding of dot * d (19 + 11 bits), then at most n fma.
 * Where sum|terms| reaches 2^126 f32 may overflow, and the bound is infinite. An infinite or NaN operand gives the same
 * infinity or both NaN, but for the one case in `loss`. */
static void truth(const struct contract_operands *op, double *value, double *bound) {
    const size_t n = op->id / CHUNK;
    const struct mmq_error error = {.roundings = n + 1, .terms = n};
    mmq_truth(&gemm, op, error, value, bound);
}

const struct contract contract_q8_0_q8_1_mmq_d4 = {
    .name = "q8_0_q8_1_mmq_d4",
    .weight = "q8_0",
    .activation = "q8_1_mmq_d4",
    .result = "f32",
    .depth_multiple = Q8_1_MMQ_VALUES,
    .splits = true,
    .evaluate = evaluate,
    .truth = truth,
    .decode = gemm_decode,
    .cells = gemm_cells,
    .result_bytes = gemm_result_bytes,
};
