/* Contracts over pad40 on products whose right value is a small integer that anybody can count: depths with a tail,
 * rows that are no multiple of a tile, sums beyond 16 bits. Each repeats a bug that was met in the field:
 *   llama.cpp #8549, #8556   depth an odd number of blocks: the last one dropped
 *   ik_llama.cpp #213, #951  depth one block past a group of four: dropped, or its sum read as another type
 *   ROCm/aiter #4176         depth no multiple of 256: tail dropped
 *   llama.cpp #10561, ik_llama.cpp #911   rows that are no multiple of what a thread or a tile takes
 *   BitNet #629              sums of products held in 16 bits */
#include "../ref/activation.h"
#include "../ref/contract.h"
#include "../ref/format.h"
#include "../ref/half.h"
#include <criterion/criterion.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* What stands where: with these, weight (j, k) is (j + 1) * code from depth `from` on and 0 before, or, with min, that
 * much below; activation is q everywhere. All scales are 1. */
struct filling {
    int code, q;
    size_t from;
    bool min;
};

struct product {
    const struct contract *contract;
    const struct block_format *weight;
    const struct activation_format *activation;
    uint8_t *weight_bytes, *activation_bytes;
    struct contract_operands op;
};

static void *room(size_t bytes) {
    void *p = calloc(bytes, 1);
    cr_assert(p, "out of memory");
    return p;
}

static void fill_weight(struct product *p, size_t j, size_t block, const struct filling *f) {
    struct block_integers b = {.d = (float)(j + 1), .dmin = f->min ? (float)(j + 1) : 0};
    const size_t values = p->weight->block_values;
    for (size_t s = 0; s < values / p->weight->sub_values; s++) {
        b.scale[s] = 1;
        b.min[s] = p->weight->min_most == 1 || (f->min && block * values + s * p->weight->sub_values >= f->from);
    }
    if (p->weight->min_most == 1 && block * values < f->from)
        b.dmin = 0;
    for (size_t k = 0; k < values; k++)
        b.code[k] = (int8_t)(block * values + k >= f->from ? f->code : 0);
    p->weight->pack(&b, p->weight_bytes + (j * (p->op.id / values) + block) * p->weight->block_bytes);
}

static struct product make(const struct contract *c, size_t nt, size_t od, size_t id, const struct filling *f) {
    struct product p = {
        .contract = c, .weight = format_named(c->weight), .activation = activation_named(c->activation)};
    size_t bytes = 0;
    cr_assert(p.weight && p.activation && activation_bytes(p.activation, nt, id, &bytes), "%s: formats", c->name);
    const size_t blocks = id / p.weight->block_values;
    p.activation_bytes = room(bytes);
    p.weight_bytes = room(od * blocks * p.weight->block_bytes);
    p.op = (struct contract_operands){
        .weight = p.weight_bytes, .activation = p.activation_bytes, .nt = nt, .od = od, .id = id};
    for (size_t j = 0; j < od; j++)
        for (size_t b = 0; b < blocks; b++)
            fill_weight(&p, j, b, f);
    int8_t q[ACTIVATION_MOST_VALUES];
    float d[ACTIVATION_MOST_VALUES / 32];
    uint8_t block[ACTIVATION_MOST_BYTES];
    for (size_t k = 0; k < p.activation->block_values; k++) {
        q[k] = (int8_t)f->q;
        d[k / 32] = 1;
    }
    p.activation->pack(q, d, block);
    for (size_t t = 0; t < nt; t++)
        for (size_t b = 0; b < id / p.activation->block_values; b++)
            activation_put(p.activation, p.activation_bytes, nt, id, t, b, block);
    return p;
}

static void release(struct product *p) {
    free(p->weight_bytes);
    free(p->activation_bytes);
}

/* Cells that are not (j + 1) times `want`. */
static size_t wrong_cells(const struct product *p, double want) {
    float *result = room(p->contract->result_bytes(&p->op));
    p->contract->evaluate(&p->op, result);
    size_t wrong = 0;
    for (size_t c = 0; c < p->op.nt * p->op.od; c++)
        wrong += float_bits(result[c]) != float_bits((float)(want * (double)(c % p->op.od + 1)));
    free(result);
    return wrong;
}

static size_t wrong_of(const struct contract *c, size_t nt, size_t od, size_t id, struct filling f, double want) {
    struct product p = make(c, nt, od, id, &f);
    size_t wrong = wrong_cells(&p, want);
    release(&p);
    return wrong;
}

/* Contracts of the table over pad40 and pad40_t, from *c on; NULL at the end. */
static const struct contract *next(const struct contract *const **c) {
    while (**c && !((**c)->weight && !strncmp((**c)->activation, "pad40", 5)))
        ++*c;
    return **c ? *(*c)++ : NULL;
}

static const size_t counts[] = {1, 3, 5, 9, 64};
enum { COUNTS = sizeof counts / sizeof *counts };

Test(contract_tails, the_last_block_counts) {
    size_t seen = 0;
    const struct contract *const *at = contracts;
    for (const struct contract *c; (c = next(&at)); seen++)
        for (int i = 0; i < COUNTS; i++) {
            const size_t m = c->depth_multiple, id = counts[i] * m;
            const struct filling last = {.code = 1, .q = 1, .from = id - m}, all = {.code = 1, .q = 1};
            cr_assert(wrong_of(c, 1, 1, id, last, (double)m) == 0, "%s id %zu: the last block", c->name, id);
            cr_assert(wrong_of(c, 1, 1, id, all, (double)id) == 0, "%s id %zu: ones", c->name, id);
            if (counts[i] > 1) { /* planted: a depth that ends one block early finds nothing but zeros */
                struct product p = make(c, 1, 1, id, &last);
                p.op.id = id - m;
                if (!p.activation->get) /* there, depth moves the planes */
                    cr_assert(wrong_cells(&p, (double)m) == 1 && wrong_cells(&p, 0) == 0,
                              "%s id %zu: planted: the tail dropped went unseen", c->name, id);
                release(&p);
            }
        }
    cr_assert(seen >= 11, "only %zu contracts", seen);
}

/* The minimum takes the stored sum, which is q times 32, not a recount and not another type. */
Test(contract_tails, the_last_minimum_counts) {
    size_t seen = 0;
    const struct contract *const *at = contracts;
    for (const struct contract *c; (c = next(&at));) {
        if (!format_named(c->weight)->min_most)
            continue;
        seen++;
        for (int i = 0; i < COUNTS; i++) {
            const size_t m = c->depth_multiple, id = counts[i] * m;
            const struct filling last = {.q = 1, .from = id - m, .min = true}, all = {.q = -128, .min = true};
            cr_assert(wrong_of(c, 1, 1, id, last, -(double)m) == 0, "%s id %zu: the last minimum", c->name, id);
            cr_assert(wrong_of(c, 2, 3, id, all, 128.0 * (double)id) == 0, "%s id %zu: minima", c->name, id);
        }
    }
    cr_assert(seen >= 6, "only %zu contracts with minima", seen);
}

Test(contract_tails, every_row_and_token_counts) {
    static const size_t rows[] = {1, 6, 12, 15, 16, 17, 33}, tokens[] = {1, 7, 63, 64, 65};
    omp_set_num_threads(4);
    const struct contract *const *at = contracts;
    for (const struct contract *c; (c = next(&at));)
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
            for (size_t t = 0; t < sizeof tokens / sizeof *tokens; t++) {
                const size_t id = c->depth_multiple;
                size_t wrong = wrong_of(c, tokens[t], rows[i], id, (struct filling){.code = 1, .q = 1}, (double)id);
                cr_assert(wrong == 0, "%s nt%zu.od%zu: %zu cells", c->name, tokens[t], rows[i], wrong);
            }
    at = contracts; /* planted: the scale of row 4 is gone */
    const struct contract *c = next(&at);
    struct product p = make(c, 7, 6, c->depth_multiple, &(struct filling){.code = 1, .q = 1});
    memset(p.weight_bytes + 4 * (c->depth_multiple / p.weight->block_values) * p.weight->block_bytes, 0, 2);
    cr_assert(wrong_cells(&p, (double)c->depth_multiple) == 7, "planted: a row without a scale went unseen");
    release(&p);
}

/* Codes and quants at their ends, so that 32 products go far beyond 16 bits; every sum stays below 2^24, exact. */
Test(contract_tails, sums_are_not_held_in_16_bits) {
    size_t beyond = 0;
    const struct contract *const *at = contracts;
    for (const struct contract *c; (c = next(&at));) {
        const struct block_format *f = format_named(c->weight);
        const int ends[] = {f->code_least, f->code_least + f->code_count - 1}, quants[] = {-128, 127};
        const size_t id = 3 * c->depth_multiple;
        for (int e = 0; e < 2; e++)
            for (int q = 0; q < 2; q++) {
                const double want = (double)ends[e] * quants[q] * (double)id + 0.0; /* never -0 */
                size_t wrong = wrong_of(c, 2, 1, id, (struct filling){.code = ends[e], .q = quants[q]}, want);
                cr_assert(wrong == 0, "%s code %d q %d", c->name, ends[e], quants[q]);
                beyond += f->sub_values * (size_t)abs(ends[e] * quants[q]) > 32767;
            }
    }
    cr_assert(beyond >= 20, "only %zu dots go beyond 16 bits", beyond);
}
