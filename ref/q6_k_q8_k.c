/* Contract q6_k_q8_k: result (nt, od) = activation (nt, id) q8_K times weight (od, id) q6_K, transposed: ggml's CPU.
 *
 *  Order:      blocks of 256 ascending in k; lanes 0 .. 7 of values k % 8, each its own sum; at the end
 *              +0 + lane 0 + .. + lane 7. All sums start at +0
 *  Products:   lane = rn(lane + rn(rn(d * da) * (float)dot))
 *              with dot = exact sum over the lane's 32 values of scale * (n - 32) * q, at most 2^24
 *  Rounding:   nearest even, f32     Denormals: kept
 *  NaN, Inf:   IEEE 754; every NaN result is 0x7fffffff     Split: none
 *  Matches:    ggml_vec_dot_q6_K_q8_K_generic, and ggml 0.20.2's x86-64 build of it, where gcc contracts nothing here
 *              (a compiler may: lane = fma(scale, dot, lane)). The vector versions add in another order
 *  Bound:      |result - truth| <= gamma(id/256 + 8) * sum|terms| + what f32 loses below 2^-126; see `truth`
 *
 * da: f32 as stored; d widened from binary16. The sums of the activation are not looked at. */
#include "cpu.h"
#include <math.h>

enum { VALUES = 256, BYTES = 210 };

extern const struct block_format format_q6_k;

/* f[0] = d. |scale * (n - 32)| <= 128 * 32. */
static void weight(const struct contract_operands *op, size_t row, size_t k, size_t values, struct gemm_part *out) {
    (void)values;
    struct block_integers b;
    format_q6_k.unpack((const uint8_t *)op->weight + (row * (op->id / VALUES) + k / VALUES) * BYTES, &b);
    cpu_lanes_weight(&format_q6_k, &b, out);
    out->f[0] = b.d;
}

static void fold(float *state, const struct gemm_part *w, const struct gemm_part *a, const int32_t *dot, size_t dots) {
    const float d = w->f[0] * a->f[0];
    for (size_t lane = 0; lane < dots; lane++) {
        const float product = d * (float)dot[lane];
        state[lane] = state[lane] + product;
    }
}

static void terms(double *value, double *size, const struct gemm_part *w, const struct gemm_part *a, const int32_t *dot,
                  size_t dots) {
    for (size_t lane = 0; lane < dots; lane++)
        gemm_add_term(value, size, (double)w->f[0] * a->f[0] * dot[lane]);
}

static void loss(double *loss, const struct gemm_part *w, const struct gemm_part *a, const int32_t *dot, size_t dots) {
    double sum = 0;
    for (size_t lane = 0; lane < dots; lane++)
        sum += fabs((double)dot[lane]);
    cpu_loss(loss, w->f[0], a->f[0], sum);
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

/* value = sum over blocks and lanes of d*da * dot, in float64: 8 terms a block. As q4_k_q8_k without minima: d * da,
 * times dot, at most id/256 - 1 additions in the lane and 7 at the end, where +0 + lane 0 is exact. */
static void truth(const struct contract_operands *op, double *value, double *bound) {
    const size_t blocks = op->id / VALUES;
    cpu_truth(&gemm, op, blocks + 8, 8 * blocks, value, bound);
}

const struct contract contract_q6_k_q8_k = {
    .name = "q6_k_q8_k",
    .weight = "q6_K",
    .activation = "q8_K",
    .result = "f32",
    .depth_multiple = VALUES,
    .evaluate = evaluate,
    .truth = truth,
    .decode = gemm_decode,
    .cells = gemm_cells,
    .result_bytes = gemm_result_bytes,
};
