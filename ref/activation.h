/* Formats of quantised activations. One format is one file (pad40.c ...) and one row of the table in activation.c. */
#ifndef REF_ACTIVATION_H
#define REF_ACTIVATION_H

#include <stddef.h>

struct activation_format {
    const char *name;             /* "pad40" */
    size_t block_values;          /* 32 */
    size_t block_bytes;           /* 40 */
    size_t codes_at, codes_bytes; /* where the elements' own bits lie; the rest of the block is scales and sums */
    void (*quantize)(const float *in, void *block);    /* in: (block_values); the format's file states every rounding */
    void (*dequantize)(const void *block, float *out); /* out: (block_values) */
};

const struct activation_format *activation_named(const char *name); /* NULL when there is none */
extern const struct activation_format *const activation_formats[];  /* ended by NULL */

#endif
