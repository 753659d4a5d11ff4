/* Contract q4_k_q8_1_mmq_ds4: result (nt, od) = activation (nt, id) q8_1_mmq_ds4 times weight (od, id) q4_K, transposed
 *
 *  Order:      chunks of 32 ascending in k; two additions per chunk, dot term first; s starts at +0
 *  Products:   s = fma(rn(ds * da), (float)dot, s); s = fma(dm, sum, s)
 *              with ds = rn16(d * sc), dm = rn16(-dmin * m), rounded to binary16, its subnormals kept
 *  Rounding:   nearest even, f32 but for ds and dm     Denormals: flushed in f32 (none arise from finite operands)
 *  NaN, Inf:   IEEE 754; every NaN result is 0x7fffffff
 *  Split:      none, depths, stream-k: parts summed apart, then the fixup's order (mmq.h)
 *  Matches:    llama.cpp's mul_mat_q of q4_K, ggml d99724f2 on sm_90: fixtures/golden/llama_q4_k, bit for bit
 *  Bound:      |result - truth| <= ((1 + 2^-11) * (1 + gamma(2 * id/32)) - 1) * sum|terms|, cut or not: `truth`
 *
 * dot = sum over the chunk of nibble * q, exact; da and sum are the two halves of the activation's ds pair, sum
 * standing for the sum of the chunk's values before they were quantised; da, sum, d, dmin widened from binary16. */
#include "format.h"
#include "half.h"
#include "mmq.h"
#include "q4_k.h"
#include <math.h>

enum { CHUNK = Q4_K_SUB_VALUES, CHUNKS = Q4_K_SUB_BLOCKS, EXACT = CHUNKS };

extern const struct block_format format_q4_k;

/* f[c] = ds, g[c] = dm of chunk c; f[EXACT + c] = d * sc, g[EXACT + c] = -dmin * m, both exact (11 + 6 bits). */
static void weight(const struct contract_operands *op, size_t row, size_t k, size_t values, struct gemm_part *out) {
    const size_t index = row * (op->id / Q4_K_VALUES) + k / Q4_K_VALUES;
    struct block_integers b;
    format_q4_k.unpack((const uint8_t *)op->weight + index * Q4_K_BYTES, &b);
    for (size_t i = 0; i < values; i++)
        out->code[i] = b.code[i];
    for (int c = 0; c < CHUNKS; c++) {
        out->f[EXACT + c] = b.d * (float)b.scale[c];
        out->g[EXACT + c] = -b.dmin * (float)b.min[c];
        out->f[c] = half_to_float(half_from_float(out->f[EXACT + c]));
        out->g[c] = half_to_float(half_from_float(out->g[EXACT + c]));
    }
}

static void fold(float *state, const struct gemm_part *w, const struct gemm_part *a, const int32_t *dot, size_t dots) {
    float s = *state;
    for (size_t c = 0; c < dots; c++) {
        s = fmaf(w->f[c] * a->f[c], (float)dot[c], s);
        s = fmaf(w->g[c], a->g[c], s);
    }
    *state = s;
}

/* Rounded to infinity, but finite before. */
static bool overflowed(float rounded, float exact) {
    return isinf(rounded) && isfinite(exact);
}

static void terms(double *value, double *size, const struct gemm_part *w, const struct gemm_part *a, const int32_t *dot,
                  size_t dots) {
    for (size_t c = 0; c < dots; c++) {
        const double dot_term = (double)w->f[EXACT + c] * a->f[c] * dot[c];
        const double min_term = (double)w->g[EXACT + c] * a->g[c];
        *value += dot_term;
        *value += min_term;
        *size += isfinite(dot_term) ? fabs(dot_term) : 0;
        *size += isfinite(min_term) ? fabs(min_term) : 0;
        if (overflowed(w->f[c], w->f[EXACT + c]) || overflowed(w->g[c], w->g[EXACT + c]))
            *size = INFINITY;
    }
}

static const struct gemm gemm = {
    .dot_values = CHUNK, .state = 1, .weight = weight, .activation = mmq_activation_ds4, .fold = fold, .truth = terms};

static void evaluate(const struct contract_operands *op, void *result) {
    mmq_evaluate(&gemm, op, Q4_K_VALUES, result);
}

/* value = sum over chunks of d*sc * da * dot - dmin*m * sum: what the operands stand for, with d*sc and dmin*m as they
 * are and not as binary16 has them. n = 2 * id/32 terms.
 *
 * ds and dm: |rn16(x) - x| <= 2^-11 |x|. x is a multiple of 2^-24, as binary16's subnormals are, so nothing is lost
 * below its normal numbers. From 65520 on rn16(x) is infinite: the bound then is, too.
 * ds * da is exact (22 bits), and so are dot and the factors of fma: at most n roundings, of fma.
 *
 * No f32 underflow: all is a multiple of 2^-48, so it is 0 or above 2^-126. No f32 overflow: |term| < 2^54.
 * Operands that are infinite or NaN: f32 and float64 give the same infinity or both NaN, in any order of the parts. */
static void truth(const struct contract_operands *op, double *value, double *bound) {
    const size_t n = 2 * (op->id / CHUNK);
    const struct mmq_error error = {.roundings = n, .terms = n, .operand_error = 0x1p-11};
    mmq_truth(&gemm, op, error, value, bound);
}

const struct contract contract_q4_k_q8_1_mmq_ds4 = {
    .name = "q4_k_q8_1_mmq_ds4",
    .weight = "q4_K",
    .activation = "q8_1_mmq_ds4",
    .result = "f32",
    .depth_multiple = Q4_K_VALUES,
    .splits = true,
    .evaluate = evaluate,
    .truth = truth,
    .decode = gemm_decode,
    .cells = gemm_cells,
    .result_bytes = gemm_result_bytes,
};
