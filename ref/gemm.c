#include "gemm.h"
#include "half.h"
#include <math.h>
#include <string.h>

/* A tile of cells: its weight rows stay unpacked while the tokens pass by, and its states fit the cache. */
enum { TILE_ROWS = 16, TILE_TOKENS = 64 };

struct tile {
    struct gemm_part weight[TILE_ROWS], activation;
    float state[TILE_TOKENS][TILE_ROWS][GEMM_MOST_STATE];
};

/* dot[d] = sum of w * a over the values of dot d; inlined with a constant `values`, so that the compiler can turn it
 * into multiply-and-add-pairs. */
static inline void dots_of(const int16_t *restrict w, const int16_t *restrict a, size_t values, int32_t *dot) {
    for (size_t d = 0; d < GEMM_RUN / values; d++) {
        int32_t sum = 0;
        for (size_t k = 0; k < values; k++)
            sum += w[d * values + k] * a[d * values + k];
        dot[d] = sum;
    }
}

/* The same for 16 values. The compiler would unroll so short an inner loop before it looks for the pairs, and not see
 * them: ten times slower. */
static inline void dots_of_16(const int16_t *restrict w, const int16_t *restrict a, int32_t *dot) {
    for (size_t d = 0; d < GEMM_RUN / 16; d++) {
        int32_t sum = 0;
#pragma GCC unroll 1
        for (size_t k = 0; k < 16; k++)
            sum += w[d * 16 + k] * a[d * 16 + k];
        dot[d] = sum;
    }
}

static void dots(const struct gemm *g, const struct gemm_part *w, const struct gemm_part *a, int32_t *dot) {
    switch (g->dot_values) {
    case 16:
        dots_of_16(w->code, a->code, dot);
        break;
    case 32:
        dots_of(w->code, a->code, 32, dot);
        break;
    default:
        dots_of(w->code, a->code, GEMM_RUN, dot);
    }
}

/* Depths k .. k_end - 1 of a tile go into its states. */
static void walk(const struct gemm *g, const struct contract_operands *op, const struct gemm_region *r,
                 struct tile *tile) {
    for (size_t k = r->k; k < r->k_end; k += GEMM_RUN) {
        const size_t values = r->k_end - k < GEMM_RUN ? r->k_end - k : GEMM_RUN;
        const size_t count = (values + g->dot_values - 1) / g->dot_values;
        for (size_t j = 0; j < r->rows; j++) {
            memset(&tile->weight[j], 0, sizeof tile->weight[j]);
            g->weight(op, r->row + j, k, values, &tile->weight[j]);
        }
        for (size_t t = 0; t < r->tokens; t++) {
            memset(&tile->activation, 0, sizeof tile->activation);
            g->activation(op, r->token + t, k, values, &tile->activation);
            for (size_t j = 0; j < r->rows; j++) {
                int32_t dot[GEMM_MOST_DOTS];
                dots(g, &tile->weight[j], &tile->activation, dot);
                g->fold(tile->state[t][j], &tile->weight[j], &tile->activation, dot, count);
            }
        }
    }
}

void gemm_region(const struct gemm *g, const struct contract_operands *op, const struct gemm_region *r, float *out,
                 size_t stride) {
    for (size_t j = 0; j < r->rows; j += TILE_ROWS)
        for (size_t t = 0; t < r->tokens; t += TILE_TOKENS) {
            struct gemm_region part = *r;
            struct tile tile;
            part.row = r->row + j;
            part.rows = r->rows - j < TILE_ROWS ? r->rows - j : TILE_ROWS;
            part.token = r->token + t;
            part.tokens = r->tokens - t < TILE_TOKENS ? r->tokens - t : TILE_TOKENS;
            memset(tile.state, 0, part.tokens * sizeof *tile.state);
            walk(g, op, &part, &tile);
            for (size_t tt = 0; tt < part.tokens; tt++)
                for (size_t jj = 0; jj < part.rows; jj++) {
                    const float *state = tile.state[tt][jj];
                    out[(t + tt) * stride + j + jj] = g->finish ? g->finish(state) : state[0];
                }
        }
}

/* Tiles in the order that threads take them: rows of tiles first, so that od = 1 still spreads over the tokens. */
static size_t tiles_along(size_t count, size_t tile) {
    return count / tile + (count % tile != 0);
}

void gemm_evaluate(const struct gemm *g, const struct contract_operands *op, float *result) {
    const size_t along = tiles_along(op->od, TILE_ROWS), tiles = along * tiles_along(op->nt, TILE_TOKENS);
#pragma omp parallel for schedule(dynamic)
    for (size_t i = 0; i < tiles; i++) {
        const size_t row = i % along * TILE_ROWS, token = i / along * TILE_TOKENS;
        const struct gemm_region r = {.token = token,
                                      .tokens = op->nt - token < TILE_TOKENS ? op->nt - token : TILE_TOKENS,
                                      .row = row,
                                      .rows = op->od - row < TILE_ROWS ? op->od - row : TILE_ROWS,
                                      .k_end = op->id};
        float *out = result + token * op->od + row;
        gemm_region(g, op, &r, out, op->od);
        for (size_t t = 0; t < r.tokens; t++)
            for (size_t j = 0; j < r.rows; j++)
                if (isnan(out[t * op->od + j]))
                    out[t * op->od + j] = bits_float(0x7fffffff);
    }
}

/* value, sum (nt, od): the terms, and relative * size + (1 + relative) * loss of every run. */
static void walk_truth(const struct gemm *g, const struct contract_operands *op, double relative, double *value,
                       double *sum) {
#pragma omp parallel for schedule(static)
    for (size_t j = 0; j < op->od; j++) {
        for (size_t t = 0; t < op->nt; t++)
            value[t * op->od + j] = sum[t * op->od + j] = 0;
        for (size_t k = 0; k < op->id; k += GEMM_RUN) {
            const size_t values = op->id - k < GEMM_RUN ? op->id - k : GEMM_RUN;
            const size_t count = (values + g->dot_values - 1) / g->dot_values;
            struct gemm_part w = {0};
            g->weight(op, j, k, values, &w);
            for (size_t t = 0; t < op->nt; t++) {
                struct gemm_part a = {0};
                int32_t dot[GEMM_MOST_DOTS];
                double size = 0, loss = 0;
                g->activation(op, t, k, values, &a);
                dots(g, &w, &a, dot);
                g->truth(&value[t * op->od + j], &size, &w, &a, dot, count);
                if (g->loss)
                    g->loss(&loss, &w, &a, dot, count);
                sum[t * op->od + j] += loss > 0 ? relative * size + (1 + relative) * loss : relative * size;
            }
        }
    }
}

void gemm_truth(const struct gemm *g, const struct contract_operands *op, double *value, double *size) {
    struct gemm without_loss = *g;
    without_loss.loss = NULL;
    walk_truth(&without_loss, op, 1, value, size);
}

void gemm_bound(const struct gemm *g, const struct contract_operands *op, double relative, double *value,
                double *bound) {
    walk_truth(g, op, relative, value, bound);
    for (size_t i = 0; i < gemm_cells(op); i++)
        if (!(bound[i] < relative * 0x1p126)) /* NaN too */
            bound[i] = INFINITY;
        else if (!isfinite(value[i]))
            bound[i] = 0;
}

size_t gemm_cells(const struct contract_operands *op) {
    return op->nt * op->od;
}

size_t gemm_result_bytes(const struct contract_operands *op) {
    return gemm_cells(op) * sizeof(float);
}

void gemm_decode(const struct contract_operands *op, const void *result, double *value) {
    const float *in = result;
    for (size_t i = 0; i < gemm_cells(op); i++)
        value[i] = in[i];
}
