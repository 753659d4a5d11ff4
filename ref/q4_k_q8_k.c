/* Contract q4_k_q8_k: result (nt, od) = activation (nt, id) q8_K times weight (od, id) q4_K, transposed: ggml's CPU.
 *
 *  Order:      blocks of 256 ascending in k; lanes 0 .. 7 of values k % 8, each its own sum, and the sum of minima;
 *              at the end minima + lane 0 + .. + lane 7. All sums start at +0
 *  Products:   lane = rn(lane + rn(rn(d * da) * (float)dot)); minima = rn(minima - rn(rn(dmin * da) * (float)sum))
 *              with dot = exact sum over the lane's 32 values of sc * nibble * q,
 *              sum = exact sum of m times the sums stored in the activation
 *  Rounding:   nearest even, f32; (float)sum too, where the stored sums are beyond those of int8     Denormals: kept
 *  NaN, Inf:   IEEE 754; every NaN result is 0x7fffffff     Split: none
 *  Matches:    ggml_vec_dot_q4_K_q8_K_generic as it is written. In ggml 0.20.2's x86-64 build, which may contract,
 *              gcc made two fma of it: lane = fma(scale, dot, lane) and minima = fma(-scale, sum, minima); d * da,
 *              dmin * da and the final additions are rounded apart. The vector versions (AVX2 ..) add in another
 *              order
 *  Bound:      |result - truth| <= gamma(id/256 + 10) * sum|terms| + what f32 loses below 2^-126; see `truth`
 *
 * da: f32 as stored; d, dmin widened from binary16. */
#include "cpu.h"
#include "q4_k.h"
#include <math.h>

extern const struct block_format format_q4_k;

/* f[0] = d, g[0] = dmin, i[c] = minimum of chunk c. |sc * nibble| <= 63 * 15. */
static void weight(const struct contract_operands *op, size_t row, size_t k, size_t values, struct gemm_part *out) {
    (void)values;
    const size_t index = row * (op->id / Q4_K_VALUES) + k / Q4_K_VALUES;
    struct block_integers b;
    format_q4_k.unpack((const uint8_t *)op->weight + index * Q4_K_BYTES, &b);
    cpu_lanes_weight(&format_q4_k, &b, out);
    out->f[0] = b.d;
    out->g[0] = b.dmin;
    for (int c = 0; c < Q4_K_SUB_BLOCKS; c++)
        out->i[c] = b.min[c];
}

/* |sum| <= 8 * 63 * 2^16: exact in int32. */
static int32_t sum_of_minima(const struct gemm_part *w, const struct gemm_part *a) {
    int32_t sum = 0;
    for (int c = 0; c < Q4_K_SUB_BLOCKS; c++)
        sum += w->i[c] * a->i[c];
    return sum;
}

static void fold(float *state, const struct gemm_part *w, const struct gemm_part *a, const int32_t *dot, size_t dots) {
    const float d = w->f[0] * a->f[0], dmin = w->g[0] * a->f[0], minima = dmin * (float)sum_of_minima(w, a);
    for (size_t lane = 0; lane < dots; lane++) {
        const float product = d * (float)dot[lane];
        state[lane] = state[lane] + product;
    }
    state[CPU_MIN_SUM] = state[CPU_MIN_SUM] - minima;
}

static void terms(double *value, double *size, const struct gemm_part *w, const struct gemm_part *a, const int32_t *dot,
                  size_t dots) {
    const double da = a->f[0];
    for (size_t lane = 0; lane < dots; lane++)
        gemm_add_term(value, size, w->f[0] * da * dot[lane]);
    gemm_add_term(value, size, -(w->g[0] * da * sum_of_minima(w, a)));
}

static void loss(double *loss, const struct gemm_part *w, const struct gemm_part *a, const int32_t *dot, size_t dots) {
    double sum = 0;
    for (size_t lane = 0; lane < dots; lane++)
        sum += fabs((double)dot[lane]);
    cpu_loss(loss, w->f[0], a->f[0], sum);
    cpu_loss(loss, w->g[0], a->f[0], fabs((double)sum_of_minima(w, a)));
}

static const struct gemm gemm = {.dot_values = CPU_LANE_VALUES,
                                 .state = CPU_STATE,
                                 .weight = weight,
                                 .activation = cpu_activation,
                                 .fold = fold,
                                 .finish = cpu_finish,
                                 .truth = terms,
                                 .loss = loss};

static void evaluate(const struct contract_operands *op, void *result) {
    gemm_evaluate(&gemm, op, result);
}

/* value = sum over blocks and lanes of d*da * dot, less dmin*da * sum, in float64: 9 terms a block.
 *
 * Roundings of a term: d * da, times dot (or two, (float)sum and times it), at most id/256 - 1 additions in its lane
 * (the first, from 0, is exact), and 8 at the end: id/256 + 10. A subnormal d * da may be off by 2^-150 more: `loss`.
 * Where d * da or sum|terms| may overflow the bound is infinite. An infinite or NaN operand gives the same infinity or
 * both NaN: every product has the same factors, and none of them becomes 0 that is not (0 times infinity takes d * da,
 * where one factor is infinite, so the other is no product). */
static void truth(const struct contract_operands *op, double *value, double *bound) {
    const size_t blocks = op->id / Q4_K_VALUES;
    cpu_truth(&gemm, op, blocks + 10, 9 * blocks, value, bound);
}

const struct contract contract_q4_k_q8_k = {
    .name = "q4_k_q8_k",
    .weight = "q4_K",
    .activation = "q8_K",
    .result = "f32",
    .depth_multiple = Q4_K_VALUES,
    .evaluate = evaluate,
    .truth = truth,
    .decode = gemm_decode,
    .cells = gemm_cells,
    .result_bytes = gemm_result_bytes,
};
