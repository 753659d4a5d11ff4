#include "mmq.h"
#include "ftz.h"
#include "half.h"
#include "q8_1_mmq.h"
#include "truth.h"
#include <math.h>
#include <string.h>

enum { CHUNK = 32, BLOCK_CHUNKS = Q8_1_MMQ_VALUES / CHUNK };

/* Block kb = k / 128 of a token; its quants go to `code`. */
static struct block_q8_1_mmq block_at(const struct contract_operands *op, size_t token, size_t k, int16_t *code) {
    struct block_q8_1_mmq b;
    const size_t index = k / Q8_1_MMQ_VALUES * op->nt + token;
    memcpy(&b, (const uint8_t *)op->activation + index * Q8_1_MMQ_BYTES, sizeof b);
    for (int i = 0; i < Q8_1_MMQ_VALUES; i++)
        code[i] = b.q[i];
    return b;
}

void mmq_activation_ds4(const struct contract_operands *op, size_t token, size_t k, size_t values,
                        struct gemm_part *out) {
    for (size_t at = 0; at < values; at += Q8_1_MMQ_VALUES) {
        const struct block_q8_1_mmq b = block_at(op, token, k + at, out->code + at);
        for (size_t c = 0; c < BLOCK_CHUNKS; c++) {
            out->f[at / CHUNK + c] = half_to_float(b.ds4[c].d);
            out->g[at / CHUNK + c] = half_to_float(b.ds4[c].s);
        }
    }
}

void mmq_activation_d4(const struct contract_operands *op, size_t token, size_t k, size_t values,
                       struct gemm_part *out) {
    for (size_t at = 0; at < values; at += Q8_1_MMQ_VALUES) {
        const struct block_q8_1_mmq b = block_at(op, token, k + at, out->code + at);
        for (size_t c = 0; c < BLOCK_CHUNKS; c++) {
            out->f[at / CHUNK + c] = ftz(b.d4[c]);
            out->g[at / CHUNK + c] = b.d4[c];
        }
    }
}

/* ---- parts ---- */

enum { PIECE_ROWS = 16, PIECE_TOKENS = 64, PIECE_CELLS = PIECE_ROWS * PIECE_TOKENS };

/* A piece of a tile: its cells have the same parts. out (tokens, od) from the piece's first cell. */
static void piece(const struct gemm *g, const struct contract_operands *op, const struct split_plan *plan, size_t tile,
                  struct gemm_region r, float *out) {
    float last[PIECE_CELLS], sum[PIECE_CELLS], part[PIECE_CELLS];
    size_t start = split_part_start(plan, tile, r.k_end);
    const bool whole = start == 0;
    r.k = start;
    gemm_region(g, op, &r, last, PIECE_ROWS);
    memset(sum, 0, sizeof sum);
    while (start > 0) {
        r.k_end = start;
        r.k = start = split_part_start(plan, tile, start);
        gemm_region(g, op, &r, part, PIECE_ROWS);
        for (size_t t = 0; t < r.tokens; t++)
            for (size_t j = 0; j < r.rows; j++)
                sum[t * PIECE_ROWS + j] = ftz_add(sum[t * PIECE_ROWS + j], part[t * PIECE_ROWS + j]);
    }
    for (size_t t = 0; t < r.tokens; t++)
        for (size_t j = 0; j < r.rows; j++) {
            const size_t i = t * PIECE_ROWS + j;
            const float cell = whole ? last[i] : ftz_add(last[i], sum[i]);
            out[t * op->od + j] = isnan(cell) ? bits_float(0x7fffffff) : cell;
        }
}

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

void mmq_evaluate(const struct gemm *g, const struct contract_operands *op, size_t block_values, void *result) {
    const struct split_plan plan = split_plan(&op->split, op->nt, op->od, op->id, block_values);
    const size_t rows = (op->od + PIECE_ROWS - 1) / PIECE_ROWS; /* pieces never cross a tile: 16 divides its rows */
#pragma omp parallel for collapse(2) schedule(dynamic)
    for (size_t token_tile = 0; token_tile < plan.token_tiles; token_tile++)
        for (size_t i = 0; i < rows; i++) {
            const size_t row = i * PIECE_ROWS, tile = row / plan.tile_rows * plan.token_tiles + token_tile;
            const size_t end = smaller((token_tile + 1) * plan.tile_tokens, op->nt);
            for (size_t token = token_tile * plan.tile_tokens; token < end; token += PIECE_TOKENS) {
                const struct gemm_region r = {.token = token,
                                              .tokens = smaller(PIECE_TOKENS, end - token),
                                              .row = row,
                                              .rows = smaller(PIECE_ROWS, op->od - row),
                                              .k_end = op->id};
                piece(g, op, &plan, tile, r, (float *)result + token * op->od + row);
            }
        }
}

/* ---- truth ---- */

void mmq_truth(const struct gemm *g, const struct contract_operands *op, struct mmq_error error, double *value,
               double *bound) {
    const double nu = ((double)error.terms + 2) * 0x1p-53;
    const double f32 = (1 + error.operand_error) * (1 + truth_gamma(error.roundings)) - 1;
    gemm_bound(g, op, (f32 + nu / (1 - nu)) * (1 + 0x1p-20), value, bound);
}
