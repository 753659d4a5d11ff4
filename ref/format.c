#include "format.h"
#include <string.h>

extern const struct block_format format_f32;
extern const struct block_format format_f16;
extern const struct block_format format_q4_0;
extern const struct block_format format_q4_1;
extern const struct block_format format_q5_0;
extern const struct block_format format_q5_1;
extern const struct block_format format_q8_0;
extern const struct block_format format_q2_k;
extern const struct block_format format_q3_k;
extern const struct block_format format_q4_k;
extern const struct block_format format_q5_k;
extern const struct block_format format_q6_k;
extern const struct block_format format_q8_k;
extern const struct block_format format_iq2_xxs;
extern const struct block_format format_iq2_xs;
extern const struct block_format format_iq3_xxs;
extern const struct block_format format_iq1_s;
extern const struct block_format format_iq4_nl;
extern const struct block_format format_iq3_s;
extern const struct block_format format_iq2_s;
extern const struct block_format format_iq4_xs;
extern const struct block_format format_iq1_m;
extern const struct block_format format_bf16;
extern const struct block_format format_mxfp4;

/* In the order of their GGUF numbers. */
const struct block_format *const block_formats[] = {
    &format_f32,     /* 0 */
    &format_f16,     /* 1 */
    &format_q4_0,    /* 2 */
    &format_q4_1,    /* 3 */
    &format_q5_0,    /* 6 */
    &format_q5_1,    /* 7 */
    &format_q8_0,    /* 8 */
    &format_q2_k,    /* 10 */
    &format_q3_k,    /* 11 */
    &format_q4_k,    /* 12 */
    &format_q5_k,    /* 13 */
    &format_q6_k,    /* 14 */
    &format_q8_k,    /* 15 */
    &format_iq2_xxs, /* 16 */
    &format_iq2_xs,  /* 17 */
    &format_iq3_xxs, /* 18 */
    &format_iq1_s,   /* 19 */
    &format_iq4_nl,  /* 20 */
    &format_iq3_s,   /* 21 */
    &format_iq2_s,   /* 22 */
    &format_iq4_xs,  /* 23 */
    &format_iq1_m,   /* 29 */
    &format_bf16,    /* 30 */
    &format_mxfp4,   /* 39 */
    NULL,
};

const struct block_format *format_named(const char *name) {
    for (const struct block_format *const *f = block_formats; *f; f++)
        if (!strcmp((*f)->name, name))
            return *f;
    return NULL;
}

const struct block_format *format_of_type(uint32_t gguf_type) {
    for (const struct block_format *const *f = block_formats; *f; f++)
        if ((*f)->gguf_type == gguf_type)
            return *f;
    return NULL;
}

int32_t format_dot(const struct block_format *f, const struct block_integers *b, size_t s, const int8_t *q) {
    int32_t dot = 0;
    for (size_t k = 0; k < f->sub_values; k++)
        dot += b->code[s * f->sub_values + k] * q[k];
    return dot;
}
