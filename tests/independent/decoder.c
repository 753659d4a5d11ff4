#include "decoder.h"
#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static double *array(size_t n) {
    double *p = calloc(n, sizeof *p);
    if (p == NULL)
        abort();
    return p;
}

/* out[r] = sum over c of matrix[r][c] * in[c] (+ bias[r]) */
static void apply(const double *matrix, const double *bias, size_t rows, size_t columns, const double *in,
                  double *out) {
    for (size_t r = 0; r < rows; ++r) {
        double total = bias != NULL ? bias[r] : 0;
        for (size_t c = columns; c > 0; --c)
            total += matrix[r * columns + c - 1] * in[c - 1];
        out[r] = total;
    }
}

static void root_mean_square(double *v, size_t n, const double *weight, double epsilon) {
    double mean = 0;
    for (size_t i = 0; i < n; ++i)
        mean += v[i] * v[i] / (double)n;
    for (size_t i = 0; i < n; ++i)
        v[i] = v[i] / sqrt(mean + epsilon) * weight[i];
}

/* Pair i of a head is a complex number, turned by position * base^(-2 i / size). */
static void turn(double *head, size_t size, size_t position, double base, int neighbours) {
    for (size_t i = 0; i < size / 2; ++i) {
        const size_t a = neighbours ? 2 * i : i, b = neighbours ? 2 * i + 1 : i + size / 2;
        const double complex z = CMPLX(head[a], head[b]);
        const double complex w = z * cexp(CMPLX(0, (double)position * pow(base, -(double)(2 * i) / (double)size)));
        head[a] = creal(w);
        head[b] = cimag(w);
    }
}

static double squash(double x, int tanh_gelu) {
    return tanh_gelu ? x / 2 * (1 + tanh(sqrt(2 / acos(-1)) * (x + 0.044715 * pow(x, 3)))) : x / (1 + exp(-x));
}

/* out (size): the values of a key head, weighted by the softmax of q . k / sqrt(size). */
static void look_back(const struct model_description *m, size_t window, const double *q, const double *keys,
                      const double *values, size_t position, double *out) {
    const size_t row = m->key_heads * m->size;
    double total = 0, best = -HUGE_VAL;
    double *score = array(position + 1);
    memset(out, 0, m->size * sizeof *out);
    for (size_t j = 0; j <= position; ++j) {
        for (size_t i = 0; i < m->size; ++i)
            score[j] += q[i] * keys[j * row + i] / sqrt((double)m->size);
        if (window != 0 && position - j >= window)
            score[j] = -HUGE_VAL;
        best = fmax(best, score[j]);
    }
    for (size_t j = 0; j <= position; ++j)
        total += exp(score[j] - best);
    for (size_t j = 0; j <= position; ++j)
        for (size_t i = 0; i < m->size; ++i)
            out[i] += exp(score[j] - best) / total * values[j * row + i];
    free(score);
}

static void one_layer(const struct model_description *m, const struct model_layer *l, size_t count, double *stream) {
    const size_t q_row = m->heads * m->size, k_row = m->key_heads * m->size, shared = m->heads / m->key_heads;
    double *q = array(count * q_row), *k = array(count * k_row), *v = array(count * k_row), *h = array(m->width);
    double *mixed = array(q_row), *gate = array(m->hidden), *up = array(m->hidden), *delta = array(m->width);
    for (size_t t = 0; t < count; ++t) {
        memcpy(h, stream + t * m->width, m->width * sizeof *h);
        root_mean_square(h, m->width, l->norm, m->epsilon);
        apply(l->q, l->q_bias, q_row, m->width, h, q + t * q_row);
        apply(l->k, l->k_bias, k_row, m->width, h, k + t * k_row);
        apply(l->v, l->v_bias, k_row, m->width, h, v + t * k_row);
        for (size_t i = 0; i < m->heads + m->key_heads; ++i) {
            const int is_key = i >= m->heads;
            double *head = is_key ? k + t * k_row + (i - m->heads) * m->size : q + t * q_row + i * m->size;
            if (l->q_norm != NULL)
                root_mean_square(head, m->size, is_key ? l->k_norm : l->q_norm, m->epsilon);
            turn(head, m->size, t, l->base, m->neighbours);
        }
    }
    for (size_t t = 0; t < count; ++t) {
        double *x = stream + t * m->width;
        for (size_t i = 0; i < m->heads; ++i)
            look_back(m, l->window, q + t * q_row + i * m->size, k + i / shared * m->size, v + i / shared * m->size, t,
                      mixed + i * m->size);
        apply(l->o, NULL, m->width, q_row, mixed, delta);
        if (l->post_norm != NULL)
            root_mean_square(delta, m->width, l->post_norm, m->epsilon);
        for (size_t i = 0; i < m->width; ++i)
            h[i] = x[i] += delta[i];
        root_mean_square(h, m->width, l->ffn_norm, m->epsilon);
        apply(l->gate, NULL, m->hidden, m->width, h, gate);
        apply(l->up, NULL, m->hidden, m->width, h, up);
        for (size_t i = 0; i < m->hidden; ++i)
            up[i] *= squash(gate[i], m->tanh_gelu);
        apply(l->down, NULL, m->width, m->hidden, up, delta);
        if (l->post_ffw_norm != NULL)
            root_mean_square(delta, m->width, l->post_ffw_norm, m->epsilon);
        for (size_t i = 0; i < m->width; ++i)
            x[i] += delta[i];
    }
    double *const all[] = {q, k, v, h, mixed, gate, up, delta};
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
        free(all[i]);
}

void independent_decode(const struct model_description *m, const unsigned *ids, size_t count, double *logits) {
    double *stream = array(count * m->width);
    for (size_t t = 0; t < count; ++t)
        for (size_t i = 0; i < m->width; ++i)
            stream[t * m->width + i] = m->embedding[ids[t] * m->width + i] * m->embedding_scale;
    for (size_t i = 0; i < m->layers; ++i)
        one_layer(m, &m->layer[i], count, stream);
    for (size_t t = 0; t < count; ++t) {
        root_mean_square(stream + t * m->width, m->width, m->norm, m->epsilon);
        apply(m->head, NULL, m->vocabulary, m->width, stream + t * m->width, logits + t * m->vocabulary);
    }
    free(stream);
}
