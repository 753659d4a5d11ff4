#include "decoder_product.h"
#include "activation.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The operands as a contract takes them. */
static struct contract_operands operands(const struct decoder_product *p, const void *weight, const void *activation) {
    return (struct contract_operands){
        .weight = weight, .activation = activation, .nt = p->nt, .od = weight ? p->od : 0, .id = p->id};
}

static bool depth_fits(const struct contract *c, const struct decoder_product *p, struct error *e) {
    return (p->id > 0 && p->id % c->depth_multiple == 0) ||
           fail(e, "contract %s needs a depth that is a multiple of %zu, tensor %s has %zu", c->name, c->depth_multiple,
                p->tensor->name, p->id);
}

void *product_quantise(const struct contract *quantise, const struct decoder_product *p, size_t *bytes,
                       struct error *e) {
    if (!depth_fits(quantise, p, e))
        return NULL;
    const struct contract_operands op = operands(p, NULL, p->x);
    *bytes = quantise->result_bytes(&op);
    void *activation = calloc(*bytes + 1, 1);
    if (activation)
        quantise->evaluate(&op, activation);
    else
        fail(e, "no memory for %zu bytes of activations", *bytes);
    return activation;
}

bool product_contract(const struct contract *c, const struct split *split, const struct decoder_product *p,
                      const void *activation, float *y, struct error *e) {
    if (!c->weight || strcmp(c->weight, p->tensor->type_name))
        return fail(e, "contract %s does not multiply %s, the format of tensor %s", c->name, p->tensor->type_name,
                    p->tensor->name);
    if (!depth_fits(c, p, e))
        return false;
    struct contract_operands op = operands(p, p->tensor->data, activation);
    if (split && split->kind != SPLIT_NONE) {
        if (!c->splits)
            return fail(e, "contract %s has no split: its sums go through the whole depth", c->name);
        if (!split_check(split, p->id, c->depth_multiple, e))
            return false;
        op.split = *split;
    }
    c->evaluate(&op, y);
    return true;
}

enum { LANES = 32 };

static float dot_plain(const float *w, const float *x, size_t id) {
    float s[LANES] = {0};
    for (size_t k = 0; k < id; k++)
        s[k % LANES] = fmaf(w[k], x[k], s[k % LANES]);
    for (size_t mask = LANES / 2; mask > 0; mask /= 2) {
        float before[LANES];
        memcpy(before, s, sizeof s);
        for (size_t l = 0; l < LANES; l++)
            s[l] = before[l] + before[l ^ mask];
    }
    return s[0];
}

static float dot_truth(const float *w, const float *x, size_t id) {
    double sum = 0;
    for (size_t k = 0; k < id; k++)
        sum += (double)w[k] * x[k];
    return (float)sum;
}

/* Rows in parallel; each is decoded once for all tokens. */
static bool by_rows(const struct decoder_product *p, float (*dot)(const float *w, const float *x, size_t id), float *y,
                    struct error *e) {
    bool good = true;
#pragma omp parallel reduction(&& : good)
    {
        float *w = calloc(p->id, sizeof *w);
        good = w;
#pragma omp for
        for (size_t j = 0; j < p->od; j++) {
            good = good && gguf_row(p->tensor, j, w, NULL);
            for (size_t t = 0; good && t < p->nt; t++)
                y[t * p->od + j] = dot(w, p->x + t * p->id, p->id);
        }
        free(w);
    }
    return good || fail(e, "no memory for a row of tensor %s", p->tensor->name);
}

bool product_plain(const struct decoder_product *p, float *y, struct error *e) {
    return by_rows(p, dot_plain, y, e);
}

bool product_truth(const struct decoder_product *p, float *y, struct error *e) {
    return by_rows(p, dot_truth, y, e);
}

bool product_plain_arm(void *self, const struct decoder_product *p, float *y, struct error *e) {
    (void)self;
    return product_plain(p, y, e);
}

bool product_truth_arm(void *self, const struct decoder_product *p, float *y, struct error *e) {
    (void)self;
    return product_truth(p, y, e);
}
