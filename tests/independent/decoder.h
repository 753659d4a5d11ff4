/* A decoder-only transformer a second time: float64, the whole sequence at once, from the models' definitions. Includes
 * nothing of ref/ and shares no line with it. */
#ifndef TESTS_INDEPENDENT_DECODER_H
#define TESTS_INDEPENDENT_DECODER_H

#include <stddef.h>

struct model_layer {
    const double *q, *k, *v, *o, *gate, *up, *down; /* (rows, columns), row-major */
    const double *q_bias, *k_bias, *v_bias;         /* or NULL */
    const double *norm, *ffn_norm;
    const double *q_norm, *k_norm, *post_norm, *post_ffw_norm; /* or NULL */
    double base;
    size_t window; /* 0: all positions */
};

struct model_description {
    size_t layers, width, hidden, heads, key_heads, size, vocabulary;
    double epsilon, embedding_scale;
    int neighbours; /* rotary pairs are (2 i, 2 i + 1); else (i, i + size / 2) */
    int tanh_gelu;  /* else SiLU */
    const struct model_layer *layer;
    const double *embedding, *head, *norm; /* (vocabulary, width) twice, (width) */
};

/* logits (count, vocabulary) of every position. */
void independent_decode(const struct model_description *m, const unsigned *ids, size_t count, double *logits);

#endif
