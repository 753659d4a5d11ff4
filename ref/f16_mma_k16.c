/* Contract f16_mma_k16: result (nt, od) = activation (nt, id) binary16 times weight (od, id) binary16, transposed, by
 * mma.m16n8k16 with f32 accumulators on sm_90.
 *
 *  Order:      groups of 16 ascending in k; a group's products and the accumulator are one sum; the first begins at +0
 *  Products:   exact; addends cut toward zero to 25 fraction bits below the largest exponent of the group, see
 * mma_f16.h Rounding:   toward zero to f32, once a group     Denormals: kept NaN, Inf:   IEEE 754; every NaN result is
 * 0x7fffffff; a sum of zero is +0     Split: none Matches:    gpu/kernels/gemm_f16.cu on sm_90; another generation cuts
 * elsewhere and has other bits Bound:      sum over the groups of 17 * 2^(top - 25) + u |s|, top the group's largest
 * exponent, s the sum after it, u = 2^-23; see `truth` */
#include "contract.h"
#include "gemm.h"
#include "half.h"
#include "mma_f16.h"
#include <math.h>
#include <stdlib.h>

enum { GROUP = MMA_F16_DEPTH, TOKENS = 16 /* split at a time, for every row */ };

static uint32_t cell_of_any(const uint16_t *x, const uint16_t *w, size_t id) {
    uint32_t s = 0;
    for (size_t k = 0; k < id; k += GROUP)
        s = mma_f16_sum_any(x + k, w + k, s);
    return s;
}

/* out[t * od + j] for the tokens first .. first + count - 1; parts: room for count + 1 rows of id / 16 groups. */
static void some_tokens(const struct contract_operands *op, size_t first, size_t count, struct mma_f16 *parts,
                        uint32_t *out) {
    const uint16_t *weight = op->weight, *activation = op->activation;
    const size_t groups = op->id / GROUP;
    struct mma_f16 *row = parts + count * groups;
    bool finite[TOKENS];
    for (size_t t = 0; t < count; t++)
        finite[t] = mma_f16_split(activation + (first + t) * op->id, groups, parts + t * groups);
    for (size_t j = 0; j < op->od; j++) {
        const bool row_finite = mma_f16_split(weight + j * op->id, groups, row);
        for (size_t t = 0; t < count; t++) {
            uint32_t s = 0;
            if (row_finite && finite[t])
                for (size_t g = 0; g < groups; g++)
                    s = mma_f16_sum(&parts[t * groups + g], &row[g], s);
            else
                s = cell_of_any(activation + (first + t) * op->id, weight + j * op->id, op->id);
            out[(first + t) * op->od + j] = s;
        }
    }
}

static void evaluate(const struct contract_operands *op, void *result) {
#pragma omp parallel for schedule(dynamic)
    for (size_t first = 0; first < op->nt; first += TOKENS) {
        const size_t count = op->nt - first < TOKENS ? op->nt - first : TOKENS;
        struct mma_f16 *parts = calloc((count + 1) * (op->id / GROUP), sizeof *parts);
        if (!parts)
            abort(); /* a result must not look made */
        some_tokens(op, first, count, parts, result);
        free(parts);
    }
}

/* E, what s is off by after a group:
 *     E' = E + 17 * 2^(top - 25) + 2^-23 (|s'| + E') + 2^-149
 * 17 addends, each cut by less than one unit of the last place kept; then the sum is cut to 24 bits, or to a multiple
 * of 2^-149. A product's exponent is that of its operands, an accumulator's that of |s| + E at most. Products are exact
 * in float64, and its sums err by 2^-53 (id + 2) of sum|terms|: far below 2^-26 of 2^(top - 25) for id < 2^20, and the
 * factor 1 + 2^-20 covers it. Sums of binary16 products cannot reach the end of f32. With infinities and NaN both sides
 * come to the same: bound 0. */
static void cell_truth(const uint16_t *x, const uint16_t *w, size_t id, double *value, double *bound) {
    double s = 0, off = 0;
    for (size_t k = 0; k < id; k += GROUP) {
        struct mma_f16 a, b;
        int top = ilogb(fmax(isfinite(s) ? fabs(s) + off : 0, 0x1p-133)); /* MMA_F16_FLOOR */
        mma_f16_split(x + k, 1, &a);
        mma_f16_split(w + k, 1, &b);
        for (size_t i = 0; i < GROUP; i++) {
            top = a.exponent[i] + b.exponent[i] > top ? a.exponent[i] + b.exponent[i] : top;
            s += (double)half_to_float(x[k + i]) * half_to_float(w[k + i]);
        }
        off += 17 * ldexp(1, top - MMA_F16_FRACTION);
        off = (off + 0x1p-23 * fabs(s) + 0x1p-149) * (1 + 0x1p-22);
    }
    *value = s;
    *bound = isfinite(s) ? off * (1 + 0x1p-20) : 0;
}

static void truth(const struct contract_operands *op, double *value, double *bound) {
    const uint16_t *weight = op->weight, *activation = op->activation;
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < gemm_cells(op); i++)
        cell_truth(activation + i / op->od * op->id, weight + i % op->od * op->id, op->id, &value[i], &bound[i]);
}

const struct contract contract_f16_mma_k16 = {
    .name = "f16_mma_k16",
    .weight = "f16",
    .activation = "f16",
    .result = "f32",
    .depth_multiple = MMA_F16_DEPTH,
    .evaluate = evaluate,
    .truth = truth,
    .decode = gemm_decode,
    .cells = gemm_cells,
    .result_bytes = gemm_result_bytes,
};
