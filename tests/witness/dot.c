#include "../../ref/activation.h"
#include "../../ref/contract.h"
#include "../../ref/half.h"
#include "../../ref/random.h"
#include "witness.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the integers of a block ---- */

enum { MOST_QUANT = 7, Q8_BYTES = 320 };

/* A row of 256 quants under d = 1, as ggml's three activation formats keep it. */
static void pack_row(const char *activation, const int8_t *q, size_t values, uint8_t *row) {
    if (!strcmp(activation, "q8_K")) { /* f32 d, 256 quants, 16 sums of 16 */
        float d = 1;
        int16_t sums[16] = {0};
        for (size_t k = 0; k < values; k++)
            sums[k / 16] = (int16_t)(sums[k / 16] + q[k]);
        memcpy(row, &d, 4);
        memcpy(row + 4, q, 256);
        memcpy(row + 260, sums, sizeof sums);
        return;
    }
    bool sums = !strcmp(activation, "q8_1"); /* f16 d, of q8_1 then f16 d * sum, 32 quants */
    for (size_t b = 0; b < values / 32; b++) {
        int sum = 0;
        for (size_t k = 0; k < 32; k++)
            sum += q[32 * b + k];
        uint16_t d = 0x3c00, s = half_from_float((float)sum); /* |sum| <= 224 */
        memcpy(row, &d, 2);
        if (sums)
            memcpy(row + 2, &s, 2);
        row += sums ? 4 : 2;
        memcpy(row, q + 32 * b, 32);
        row += 32;
    }
}

/* Random integers of a format, every one in its range, under d = 1 and dmin = 1. */
static void random_integers(const struct block_format *f, struct random_stream *s, struct block_integers *b) {
    *b = (struct block_integers){.d = 1, .dmin = f->min_most ? 1 : 0};
    for (size_t i = 0; i < f->block_values / f->sub_values; i++) {
        b->scale[i] = (int16_t)(f->scale_least + (int)random_below(s, (uint32_t)(f->scale_most - f->scale_least + 1)));
        b->min[i] = (int16_t)(f->min_most > 1 ? random_below(s, (uint32_t)f->min_most + 1) : (uint32_t)f->min_most);
    }
    for (size_t k = 0; k < f->block_values; k++) {
        int code = (int)random_below(s, (uint32_t)f->code_count);
        b->code[k] = f->code_list ? f->code_list[code] : (int8_t)(f->code_least + code);
    }
}

void compare_integers(const struct block_format *f, size_t blocks) {
    const char *activation;
    ggml_dot *dot = ggml_dot_of(f->name, &activation);
    if (f->block_values == 1)
        return; /* a number has no integers */
    if (!f->unpack || !f->pack || !dot) {
        report(SKIPPED, "ggml", f->name, "integers", "%s",
               dot ? "ref has no integer view of it" : "ggml has no dot product of it, or needs AVX2 here");
        return;
    }
    size_t differing = 0, first = SIZE_MAX;
#pragma omp parallel for schedule(static, 256) reduction(+ : differing) reduction(min : first)
    for (size_t i = 0; i < blocks; i++) {
        struct random_stream s = random_open(random_key(f->name) ^ random_key("integers"), (uint32_t)i);
        struct block_integers in, out;
        uint8_t block[FORMAT_MOST_VALUES * 4], row[Q8_BYTES] = {0};
        int8_t q[256] = {0};
        random_integers(f, &s, &in);
        f->pack(&in, block);
        f->unpack(block, &out);
        double want = 0; /* exact: below 2^24 */
        for (size_t k = 0; k < f->block_values; k++) {
            size_t sub = k / f->sub_values;
            q[k] = (int8_t)((int)random_below(&s, 2 * MOST_QUANT + 1) - MOST_QUANT);
            want += (double)out.d * out.scale[sub] * out.code[k] * q[k] - (double)out.dmin * out.min[sub] * q[k];
        }
        pack_row(activation, q, f->block_values, row);
        float got;
        dot((int)f->block_values, &got, 0, block, 0, row, 0, 1);
        if ((double)got < want || (double)got > want) {
            differing++;
            first = i < first ? i : first;
        }
    }
    if (differing)
        report(FAILED, "ggml", f->name, "integers", "%zu blocks times %s, %zu differ; first: block %zu", blocks,
               activation, differing, first);
    else
        report(PASSED, "ggml", f->name, "integers", "%zu blocks times %s, 0 differ", blocks, activation);
}

/* ---- contracts of ggml's CPU path ---- */

enum { TOKENS = 32, ROWS = 64, DEPTH = 1024, BLOCK = 256, Q8_K_BYTES = 292 };

static float add_product(float sum, float a, float b, bool fuse) {
    float product = a * b;
    return fuse ? fmaf(a, b, sum) : sum + product;
}

/* A cell in the order of the contracts q4_k_q8_k and q6_k_q8_k; fuse: with additions and products in one, as a compiler
 * makes them that may contract. */
static float cell_of(const struct block_format *f, const uint8_t *weight, const uint8_t *activation, size_t id,
                     bool fuse) {
    float lane[8] = {0}, result = 0;
    for (size_t i = 0; i < id / BLOCK; i++) {
        struct block_integers w;
        f->unpack(weight + i * f->block_bytes, &w);
        const uint8_t *a = activation + i * Q8_K_BYTES;
        float da;
        int8_t q[BLOCK];
        int16_t sums[BLOCK / 16];
        memcpy(&da, a, 4);
        memcpy(q, a + 4, sizeof q);
        memcpy(sums, a + 260, sizeof sums);
        int32_t dot[8] = {0}, minima = 0;
        for (size_t k = 0; k < BLOCK; k++)
            dot[k % 8] += w.scale[k / f->sub_values] * w.code[k] * q[k];
        for (size_t s = 0; s < BLOCK / 16; s++)
            minima += w.min[s * 16 / f->sub_values] * sums[s];
        float d = w.d * da, dmin = w.dmin * da;
        for (size_t l = 0; l < 8; l++)
            lane[l] = add_product(lane[l], d, (float)dot[l], fuse);
        if (f->min_most)
            result = add_product(result, -dmin, (float)minima, fuse);
    }
    for (size_t l = 0; l < 8; l++)
        result += lane[l];
    return result;
}

static bool same(float a, float b) {
    return float_bits(a) == float_bits(b) || (isnan(a) && isnan(b));
}

struct operands {
    uint8_t *weight, *activation;
    float *x, *result;
};

/* exact: integers under a scale of 1, whose sums no order and no fusion can round; otherwise the random blocks of the
 * format (the adversarial are mostly zeros) and normal values. */
static void fill_operands(const struct contract *c, const struct block_format *f, bool exact, struct operands *o) {
    struct random_stream s = random_open(random_key(c->name), 0);
    for (size_t i = 0; i < ROWS * DEPTH / BLOCK; i++) {
        struct block_integers b;
        random_integers(f, &s, &b);
        if (exact)
            f->pack(&b, o->weight + i * f->block_bytes);
        else
            block_of(f, block_edges(f) + i, true, o->weight + i * f->block_bytes);
    }
    for (size_t i = 0; i < TOKENS * DEPTH / BLOCK; i++) {
        float *x = o->x + i * BLOCK;
        values_of(c->name, 12 * i, x, BLOCK); /* every twelfth is normal */
        int8_t q[BLOCK];
        for (size_t k = 0; k < BLOCK; k++)
            q[k] = (int8_t)((int)random_below(&s, 2 * MOST_QUANT + 1) - MOST_QUANT);
        if (exact)
            pack_row("q8_K", q, BLOCK, o->activation + i * Q8_K_BYTES);
    }
    if (!exact)
        activation_quantize(activation_named("q8_K"), o->x, TOKENS, DEPTH, o->activation);
}

/* Exact operands must give the contract's bits. Random ones must too, or all of them those of the contract's fused
 * twin; that the twin is one is checked by its unfused form. */
static void compare_cells(const struct contract *c, const struct block_format *f, ggml_dot *dot, bool exact,
                          struct operands *o) {
    size_t cells = TOKENS * ROWS, written = 0, fused = 0, twins = 0, first = cells;
    fill_operands(c, f, exact, o);
    struct contract_operands op = {
        .weight = o->weight, .activation = o->activation, .nt = TOKENS, .od = ROWS, .id = DEPTH};
    c->evaluate(&op, o->result);
    for (size_t i = 0; i < cells; i++) {
        const uint8_t *w = o->weight + i % ROWS * (DEPTH / BLOCK) * f->block_bytes;
        const uint8_t *a = o->activation + i / ROWS * (DEPTH / BLOCK) * Q8_K_BYTES;
        float theirs;
        dot(DEPTH, &theirs, 0, w, 0, a, 0, 1);
        bool as_written = same(theirs, o->result[i]), as_fused = same(theirs, cell_of(f, w, a, DEPTH, true));
        bool twin = same(cell_of(f, w, a, DEPTH, false), o->result[i]);
        written += as_written;
        fused += as_fused;
        twins += twin;
        if (!as_written && (exact || !as_fused || !twin) && first == cells)
            first = i;
    }
    const char *data = exact ? "exact" : "random";
    if (written == cells)
        report(PASSED, "ggml", c->name, "contract", "%s: %zu cells, all as the contract says", data, cells);
    else if (fused == cells && twins == cells && !exact)
        report(PASSED, "ggml", c->name, "contract",
               "%s: %zu cells, all with additions fused as its compiler does; %zu of them also as the contract says",
               data, cells, written);
    else
        report(FAILED, "ggml", c->name, "contract",
               "%s: %zu cells, as the contract says %zu, fused %zu, their unfused twins %zu; first wrong: token %zu, "
               "row %zu",
               data, cells, written, fused, twins, first / ROWS, first % ROWS);
}

static void compare_contract(const struct contract *c, const struct block_format *f, ggml_dot *dot) {
    struct operands o = {
        .weight = malloc(ROWS * DEPTH / BLOCK * f->block_bytes),
        .activation = malloc(TOKENS * DEPTH / BLOCK * Q8_K_BYTES),
        .x = malloc(TOKENS * DEPTH * sizeof *o.x),
        .result = malloc(TOKENS * ROWS * sizeof *o.result),
    };
    if (o.weight && o.activation && o.x && o.result) {
        compare_cells(c, f, dot, true, &o);
        compare_cells(c, f, dot, false, &o);
    } else {
        report(FAILED, "ggml", c->name, "contract", "out of memory");
    }
    free(o.weight);
    free(o.activation);
    free(o.x);
    free(o.result);
}

void compare_contracts(void) {
    for (const struct contract *const *row = contracts; *row; row++) {
        const struct contract *c = *row;
        if (!wanted(c->name) || !c->weight || strcmp(c->activation, "q8_K"))
            continue; /* the others are orders of GPU kernels */
        const char *activation;
        ggml_dot *dot = ggml_dot_of(c->weight, &activation);
        const struct block_format *f = format_named(c->weight);
        if (!dot || !f || !f->unpack || strcmp(activation, c->activation))
            report(SKIPPED, "ggml", c->name, "contract", "ggml has no such dot product, or needs AVX2 here");
        else
            compare_contract(c, f, dot);
    }
}
