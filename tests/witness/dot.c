#include "../../ref/contract.h"
#include "../../ref/half.h"
#include "../../ref/random.h"
#include "witness.h"
#include <stdio.h>
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
        b->scale[i] =
            (int16_t)(f->scale_least + (int)random_below(s, (uint32_t)(f->scale_most - f->scale_least + 1)));
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
    if (!f->unpack || !f->pack || !dot) {
        report(SKIPPED, "ggml", f->name, "integers", "%s",
               dot ? "ref has no integer view of it" : "ggml has no dot product of it");
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

/* ---- contracts ---- */

void compare_contracts(void) {
}
