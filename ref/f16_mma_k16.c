/* Contract f16_mma_k16: result (nt, od) = activation (nt, id) binary16 times weight (od, id) binary16, transposed, by
 * mma.m16n8k16 with f32 accumulators on sm_90.
 *
 *  Order:      groups of 16 ascending in k; a group's products and the accumulator are one sum; the first begins at +0
 *  Products:   exact; addends cut toward zero to 25 fraction bits below the largest exponent of the group, see
 * mma_f16.h Rounding:   toward zero to f32, once a group     Denormals: kept NaN, Inf:   IEEE 754; every NaN result is
 * 0x7fffffff; a sum of zero is +0     Split: none Matches:    gpu/kernels/gemm_f16.cu on sm_90; another generation cuts
 * elsewhere and has other bits Bound:      sum over the groups of 17 * 2^(top - 25) + u |s|, top the group's largest
 * exponent, s the sum after it, u = 2^-23; see `truth` */
#include "checked.h"
#include "contract.h"
#include "gemm.h"
#include "half.h"
#include "mma_f16.h"
#include <math.h>
#include <stdlib.h>

enum { GROUP = MMA_F16_DEPTH, TOKENS = 16, ROWS = 8 /* of a tile, split once */ };

static uint32_t cell_of_any(const uint16_t *x, const uint16_t *w, size_t id) {
    uint32_t s = 0;
    for (size_t k = 0; k < id; k += GROUP)
        s = mma_f16_sum_any(x + k, w + k, s);
    return s;
}

/* A tile: tokens token .. + tokens - 1 and rows row .. + rows - 1, split by parts (tokens, groups) and (rows, groups).
 */
struct tile {
    size_t token, tokens, row, rows, groups;
    struct mma_f16 *token_parts, *row_parts;
    bool token_finite[TOKENS], row_finite[ROWS];
};

/* Group by group for all rows: their sums do not wait for each other. */
static void cells_of_token(const struct contract_operands *op, const struct tile *tile, size_t t, uint32_t *out) {
    const uint16_t *weight = op->weight, *x = (const uint16_t *)op->activation + (tile->token + t) * op->id;
    uint32_t s[ROWS] = {0};
    for (size_t g = 0; g < tile->groups; g++)
        for (size_t j = 0; j < tile->rows; j++)
            s[j] = mma_f16_sum(&tile->token_parts[t * tile->groups + g], &tile->row_parts[j * tile->groups + g], s[j]);
    for (size_t j = 0; j < tile->rows; j++) {
        const bool finite = tile->token_finite[t] && tile->row_finite[j];
        out[(tile->token + t) * op->od + tile->row + j] =
            finite ? s[j] : cell_of_any(x, weight + (tile->row + j) * op->id, op->id);
    }
}

static void some_tokens(const struct contract_operands *op, struct tile *tile, uint32_t *out) {
    const uint16_t *weight = op->weight, *activation = op->activation;
    for (size_t t = 0; t < tile->tokens; t++)
        tile->token_finite[t] =
            mma_f16_split(activation + (tile->token + t) * op->id, tile->groups, tile->token_parts + t * tile->groups);
    for (tile->row = 0; tile->row < op->od; tile->row += ROWS) {
        tile->rows = op->od - tile->row < ROWS ? op->od - tile->row : ROWS;
        for (size_t j = 0; j < tile->rows; j++)
            tile->row_finite[j] =
                mma_f16_split(weight + (tile->row + j) * op->id, tile->groups, tile->row_parts + j * tile->groups);
        for (size_t t = 0; t < tile->tokens; t++)
            cells_of_token(op, tile, t, out);
    }
}

static void evaluate(const struct contract_operands *op, void *result) {
#pragma omp parallel for schedule(dynamic)
    for (size_t first = 0; first < op->nt; first += TOKENS) {
        const size_t groups = op->id / GROUP;
        struct mma_f16 *parts = must_calloc((TOKENS + ROWS) * groups, sizeof *parts);
        struct tile tile = {.token = first,
                            .tokens = op->nt - first < TOKENS ? op->nt - first : TOKENS,
                            .groups = groups,
                            .token_parts = parts,
                            .row_parts = parts + TOKENS * groups};
        some_tokens(op, &tile, result);
        free(parts);
    }
}

struct decoded { /* a row */
    struct mma_f16 *parts;
    double *values;
};

static struct decoded *decode_rows(const uint16_t *h, size_t rows, size_t id) {
    struct decoded *out = must_calloc(rows, sizeof *out);
    for (size_t i = 0; i < rows; i++, h += id) {
        out[i].parts = must_calloc(id / GROUP, sizeof *out[i].parts);
        out[i].values = must_calloc(id, sizeof *out[i].values);
        mma_f16_split(h, id / GROUP, out[i].parts);
        for (size_t k = 0; k < id; k++)
            out[i].values[k] = half_to_float(h[k]);
    }
    return out;
}

static void free_rows(struct decoded *rows, size_t count) {
    for (size_t i = 0; i < count; i++) {
        free(rows[i].parts);
        free(rows[i].values);
    }
    free(rows);
}

/* E, what s is off by after a group:
 *     E' = E + 17 * 2^(top - 25) + 2^-23 (|s'| + E') + 2^-149
 * 17 addends, each cut by less than one unit of the last place kept; then the sum is cut to 24 bits, or to a multiple
 * of 2^-149. A product's exponent is that of its operands, an accumulator's that of |s| + E at most. Products are exact
 * in float64, and its sums err by 2^-53 (id + 2) of sum|terms|: far below 2^-26 of 2^(top - 25) for id < 2^20, and the
 * factor 1 + 2^-20 covers it. Sums of binary16 products cannot reach the end of f32. With infinities and NaN both sides
 * come to the same: bound 0. */
static void cell_truth(const struct decoded *x, const struct decoded *w, size_t groups, double *value, double *bound) {
    double s = 0, off = 0;
    for (size_t g = 0; g < groups; g++) {
        int top = ilogb(fmax(isfinite(s) ? fabs(s) + off : 0, 0x1p-133)); /* MMA_F16_FLOOR */
        for (size_t i = 0; i < GROUP; i++) {
            const int e = x->parts[g].exponent[i] + w->parts[g].exponent[i];
            top = e > top ? e : top;
            s += x->values[g * GROUP + i] * w->values[g * GROUP + i];
        }
        off += 17 * ldexp(1, top - MMA_F16_FRACTION);
        off = (off + 0x1p-23 * fabs(s) + 0x1p-149) * (1 + 0x1p-22);
    }
    *value = s;
    *bound = isfinite(s) ? off * (1 + 0x1p-20) : 0;
}

static void truth(const struct contract_operands *op, double *value, double *bound) {
    struct decoded *row = decode_rows(op->weight, op->od, op->id);
    struct decoded *token = decode_rows(op->activation, op->nt, op->id);
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < gemm_cells(op); i++)
        cell_truth(&token[i / op->od], &row[i % op->od], op->id / GROUP, &value[i], &bound[i]);
    free_rows(row, op->od);
    free_rows(token, op->nt);
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
