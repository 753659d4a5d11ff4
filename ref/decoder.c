#include "decoder.h"
#include "checked.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct decoder {
    const struct decoder_model *m;
    size_t positions, filled, step;
    float *keys;   /* (layers, positions, key_heads, key_size), turned */
    float *values; /* (layers, positions, key_heads, value_size) */
};

/* What one call works in; nt tokens. */
struct work {
    size_t nt;
    float *x, *h, *o; /* (nt, width) */
    float *q;         /* (nt, heads, key_size) */
    float *a;         /* (nt, heads, value_size) */
    float *g, *u;     /* (nt, hidden) */
    float *scores;    /* (nt * heads, positions) */
    float *c, *s;     /* (nt, key_size) */
};

static float *floats(size_t a, size_t b, size_t c, bool *good) {
    size_t n = 0;
    float *p = *good && size_mul(a, b, &n) && size_mul(n, c, &n) && size_add(n, 1, &n) ? calloc(n, sizeof *p) : NULL;
    *good = *good && p;
    return p;
}

struct decoder *decoder_open(const struct decoder_model *m, size_t positions, struct error *e) {
    if (positions > m->context) {
        fail(e, "%zu positions are more than the context of the model, %zu", positions, m->context);
        return NULL;
    }
    struct decoder *d = must_calloc(1, sizeof *d);
    bool good = true;
    d->m = m;
    d->positions = positions;
    size_t rows = 0;
    good = size_mul(m->layers, positions, &rows);
    d->keys = floats(rows, m->key_heads, m->key_size, &good);
    d->values = floats(rows, m->key_heads, m->value_size, &good);
    if (good)
        return d;
    fail(e, "no memory for the keys and values of %zu positions", positions);
    decoder_close(d);
    return NULL;
}

void decoder_close(struct decoder *d) {
    if (!d)
        return;
    free(d->keys);
    free(d->values);
    free(d);
}

static void work_free(struct work *w) {
    float *const all[] = {w->x, w->h, w->o, w->q, w->a, w->g, w->u, w->scores, w->c, w->s};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

static bool work_open(const struct decoder *d, size_t nt, struct work *w, struct error *e) {
    const struct decoder_model *m = d->m;
    bool good = true;
    *w = (struct work){.nt = nt};
    w->x = floats(nt, m->width, 1, &good);
    w->h = floats(nt, m->width, 1, &good);
    w->o = floats(nt, m->width, 1, &good);
    w->q = floats(nt, m->heads, m->key_size, &good);
    w->a = floats(nt, m->heads, m->value_size, &good);
    w->g = floats(nt, m->hidden, 1, &good);
    w->u = floats(nt, m->hidden, 1, &good);
    w->scores = floats(nt, m->heads, d->positions, &good);
    w->c = floats(nt, m->key_size, 1, &good);
    w->s = floats(nt, m->key_size, 1, &good);
    if (good)
        return true;
    work_free(w);
    return fail(e, "no memory for %zu tokens at once", nt);
}

/* ---- the pieces of a layer ---- */

struct feeding {
    struct decoder *d;
    const struct decoder_arm *arm;
    struct work w;
    size_t layer;
    struct error *e;
};

/* y (nt, od) = x (nt, id) through a matrix, and its bias. */
static bool product(const struct feeding *f, const struct decoder_matrix *matrix, const float *x, size_t nt, float *y) {
    const size_t od = matrix->tensor->rows;
    const struct decoder_product p = {.tensor = matrix->tensor,
                                      .x = x,
                                      .nt = nt,
                                      .od = od,
                                      .id = matrix->tensor->extent[0],
                                      .layer = f->layer,
                                      .step = f->d->step,
                                      .position = f->d->filled + f->w.nt - nt};
    if (!f->arm->product(f->arm->self, &p, y, f->e))
        return false;
    for (size_t t = 0; matrix->bias && t < nt; t++)
        for (size_t j = 0; j < od; j++)
            y[t * od + j] += matrix->bias[j];
    return true;
}

static void norm(const struct decoder_model *m, const float *x, const float *w, size_t rows, size_t n, float *y) {
    for (size_t i = 0; i < rows; i++)
        math_rms_norm(x + i * n, w, n, m->epsilon, y + i * n);
}

/* x += y, (nt, width) */
static void add(const struct feeding *f, const float *y) {
    for (size_t i = 0; i < f->w.nt * f->d->m->width; i++)
        f->w.x[i] += y[i];
}

/* The heads of q (nt, heads, key_size), or of keys, normalised and turned. */
static void turn_heads(const struct feeding *f, const float *weight, float *q, size_t heads) {
    const struct decoder_model *m = f->d->m;
    const struct rotary *r = &m->layer[f->layer].rotary;
    if (weight)
        norm(m, q, weight, f->w.nt * heads, m->key_size, q);
    for (size_t t = 0; t < f->w.nt; t++)
        for (size_t h = 0; h < heads; h++)
            math_rotary_turn(r, f->w.c + t * m->key_size, f->w.s + t * m->key_size, q + (t * heads + h) * m->key_size);
}

/* a = attention of every token and head; they do not depend on each other. */
static void attend(const struct feeding *f, const float *keys, const float *values) {
    const struct decoder *d = f->d;
    const struct decoder_model *m = d->m;
    const struct decoder_layer *l = &m->layer[f->layer];
    const double steps = (double)f->w.nt * m->heads * (d->filled + f->w.nt) * m->key_size;
#pragma omp parallel for collapse(2) schedule(dynamic) if (steps > 0x1p18)
    for (size_t t = 0; t < f->w.nt; t++)
        for (size_t h = 0; h < m->heads; h++) {
            const size_t last = d->filled + t, key_head = h / (m->heads / m->key_heads);
            const struct attention a = {.key_size = m->key_size,
                                        .value_size = m->value_size,
                                        .key_stride = m->key_heads * m->key_size,
                                        .value_stride = m->key_heads * m->value_size,
                                        .first = l->window && last + 1 > l->window ? last + 1 - l->window : 0,
                                        .last = last,
                                        .scale = m->attention_scale};
            const size_t head = t * m->heads + h;
            math_attention(&a, f->w.q + head * m->key_size, keys + key_head * m->key_size,
                           values + key_head * m->value_size, f->w.scores + head * d->positions,
                           f->w.a + head * m->value_size);
        }
}

static bool attention(const struct feeding *f) {
    const struct decoder *d = f->d;
    const struct decoder_model *m = d->m;
    const struct decoder_layer *l = &m->layer[f->layer];
    const size_t row = m->key_heads * m->key_size, value_row = m->key_heads * m->value_size;
    float *keys = d->keys + f->layer * d->positions * row, *values = d->values + f->layer * d->positions * value_row;
    float *new_keys = keys + d->filled * row, *new_values = values + d->filled * value_row;

    norm(m, f->w.x, l->attention_norm, f->w.nt, m->width, f->w.h);
    if (!product(f, &l->weight[WEIGHT_Q], f->w.h, f->w.nt, f->w.q) ||
        !product(f, &l->weight[WEIGHT_K], f->w.h, f->w.nt, new_keys) ||
        !product(f, &l->weight[WEIGHT_V], f->w.h, f->w.nt, new_values))
        return false;
    for (size_t t = 0; t < f->w.nt; t++)
        math_rotary_turns(&l->rotary, d->filled + t, f->w.c + t * m->key_size, f->w.s + t * m->key_size);
    turn_heads(f, l->q_norm, f->w.q, m->heads);
    turn_heads(f, l->k_norm, new_keys, m->key_heads);
    attend(f, keys, values);
    if (!product(f, &l->weight[WEIGHT_O], f->w.a, f->w.nt, f->w.o))
        return false;
    if (l->post_attention_norm)
        norm(m, f->w.o, l->post_attention_norm, f->w.nt, m->width, f->w.o);
    add(f, f->w.o);
    return true;
}

static bool feed_forward(const struct feeding *f) {
    const struct decoder_model *m = f->d->m;
    const struct decoder_layer *l = &m->layer[f->layer];
    norm(m, f->w.x, l->ffn_norm, f->w.nt, m->width, f->w.h);
    if (!product(f, &l->weight[WEIGHT_GATE], f->w.h, f->w.nt, f->w.g) ||
        !product(f, &l->weight[WEIGHT_UP], f->w.h, f->w.nt, f->w.u))
        return false;
    for (size_t i = 0; i < f->w.nt * m->hidden; i++) {
        const float gate = m->gelu ? math_gelu(f->w.g[i]) : math_silu(f->w.g[i]);
        f->w.u[i] = gate * f->w.u[i];
    }
    if (!product(f, &l->weight[WEIGHT_DOWN], f->w.u, f->w.nt, f->w.o))
        return false;
    if (l->post_ffw_norm)
        norm(m, f->w.o, l->post_ffw_norm, f->w.nt, m->width, f->w.o);
    add(f, f->w.o);
    return true;
}

/* ---- a call ---- */

static bool embed(const struct feeding *f, const uint32_t *ids) {
    const struct decoder_model *m = f->d->m;
    for (size_t t = 0; t < f->w.nt; t++) {
        if (ids[t] >= m->vocabulary)
            return fail(f->e, "token id %u is not in the vocabulary of %zu", ids[t], m->vocabulary);
        float *x = f->w.x + t * m->width;
        if (!gguf_row(m->embedding, ids[t], x, f->e))
            return false;
        for (size_t i = 0; m->embedding_scale != 1 && i < m->width; i++)
            x[i] *= m->embedding_scale;
    }
    return true;
}

static bool forward(struct feeding *f, const uint32_t *ids, float *logits) {
    const struct decoder_model *m = f->d->m;
    if (!embed(f, ids))
        return false;
    for (f->layer = 0; f->layer < m->layers; f->layer++)
        if (!attention(f) || !feed_forward(f))
            return false;
    f->layer = SIZE_MAX;
    if (!logits)
        return true;
    norm(m, f->w.x + (f->w.nt - 1) * m->width, m->output_norm, 1, m->width, f->w.h);
    return product(f, &m->head, f->w.h, 1, logits);
}

bool decoder_feed(struct decoder *d, const uint32_t *ids, size_t count, const struct decoder_arm *arm, float *logits,
                  struct error *e) {
    if (count == 0 || count > d->positions - d->filled)
        return fail(e, "%zu tokens do not fit a sequence of %zu that holds %zu", count, d->positions, d->filled);
    struct feeding f = {.d = d, .arm = arm, .e = e};
    if (!work_open(d, count, &f.w, e))
        return false;
    const bool good = forward(&f, ids, logits);
    work_free(&f.w);
    if (good) {
        d->filled += count;
        d->step++;
    }
    return good;
}

bool decoder_choose(const float *logits, size_t vocabulary, struct decoder_choice *c, struct error *e) {
    size_t best = 0, other = vocabulary > 1 ? 1 : 0;
    for (size_t i = 0; i < vocabulary; i++) {
        if (isnan(logits[i]))
            return fail(e, "the logit of token id %zu is NaN", i);
        if (i > 0 && logits[i] > logits[best]) {
            other = best;
            best = i;
        } else if (i > 0 && (other == best || i == 1 || logits[i] > logits[other])) {
            other = i;
        }
    }
    *c = (struct decoder_choice){(uint32_t)best, (uint32_t)other, (double)logits[best] - logits[other]};
    return true;
}
