/* The logical elements of a launch: what lies in its operands by their format's definition, and in its plain buffers.
 * Never read from what a kernel made of them. */
#ifndef GPU_ELEMENTS_H
#define GPU_ELEMENTS_H

#include "../ref/format.h"
#include "launch.h"
#include "operands.h"
#include "spec.h"

struct element_table { /* an operand of the contract, decoded; rows 0: there is none */
    size_t rows, depth;
    size_t sub; /* values under one scale */
    int8_t *q;  /* (rows, depth); NULL, as are the others but blocks: a format without integers */
    float *d;   /* (rows, depth / sub) and so are the others; dmin, scale and min of a weight alone */
    float *dmin;
    int16_t *scale, *min;
    int32_t *sum;    /* of an activation whose blocks store one, else NULL; (rows, depth / block_values) */
    uint8_t *blocks; /* (rows, depth / block_values, block_bytes) */
    size_t block_values, block_bytes;
    const struct block_format *format; /* of a weight, else NULL */
};

struct elements {
    struct element_table weight, activation;
    const struct launch *launch; /* for its plain buffers, copied before it ran */
    uint8_t **plain;             /* (launch->buffer_count) NULL: not an input of its own */
    size_t *plain_bytes;         /* of an element */
};

/* Decodes. operands: of the contract, or NULL; l: bound and not yet run. Free with elements_free, also on failure. */
bool elements_open(const struct spec *spec, const struct operands *operands, const struct launch *l, struct elements *x,
                   struct error *e);
void elements_free(struct elements *x);

/* The bytes (at most 8, low ones first) that the element of v at (row, k), or at `at`, has in memory. at: of a plain
 * buffer, or the first byte in the block. False: there is no such element. */
bool element_bytes(const struct elements *x, const struct spec_value *v, int64_t row, int64_t k, int64_t at,
                   uint8_t out[8]);
/* How many they are. */
size_t element_size(const struct elements *x, const struct spec_value *v);
/* False, with the reason: the format does not have the field. */
bool element_known(const struct elements *x, const struct spec_value *v, struct error *e);
/* The table of weight.q or activation.q, else NULL. */
const struct element_table *element_codes(const struct elements *x, const struct spec_value *v);
/* "activation.q of token 3, k 17"; the caller frees it. */
char *element_text(const struct spec_value *v, int64_t row, int64_t k, int64_t at);

#endif
