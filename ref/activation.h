/* Formats of quantised activations. One format is one file (pad40.c ...) and one row of the table in activation.c. */
#ifndef REF_ACTIVATION_H
#define REF_ACTIVATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ACTIVATION_MOST_VALUES = 256, ACTIVATION_MOST_BYTES = 320 };

struct activation_format {
    const char *name;             /* "pad40" */
    size_t block_values;          /* 32 */
    size_t block_bytes;           /* 40 */
    size_t codes_at, codes_bytes; /* where the elements' own bits lie; the rest of the block is scales and sums */
    void (*quantize)(const float *in, void *block);    /* in: (block_values); the format's file states every rounding */
    void (*dequantize)(const void *block, float *out); /* out: (block_values) */
    /* block = quants q (block_values) under the scales d (block_values / 32), one for each 32 values; a scale of more
     * values takes the first of its own. Sums are those of d * q, whichever way the format keeps them. Every d MUST be
     * finite and exact in the format's field. */
    void (*pack)(const int8_t *q, const float *d, void *block);
    /* The one sum of the quants that a block stores and kernels stage in 16 bits; NULL: the format has none such. */
    int32_t (*stored_sum)(const void *block);
    bool rcp_table; /* its quantiser's bits need the measured reciprocal table (rcp_approx.h) */

    /* How the blocks of nt tokens of depth id lie in a buffer. All NULL: (nt, id / block_values) blocks, row-major. */
    bool (*buffer_bytes)(size_t nt, size_t id, size_t *bytes); /* false: more than size_t holds */
    void (*get)(const void *buffer, size_t nt, size_t id, size_t token, size_t index, void *block);
    void (*put)(void *buffer, size_t nt, size_t id, size_t token, size_t index, const void *block);
};

const struct activation_format *activation_named(const char *name); /* NULL when there is none */
extern const struct activation_format *const activation_formats[];  /* ended by NULL */

/* *bytes = size of the buffer of nt tokens of depth id, a multiple of block_values. False when size_t cannot hold it.
 */
bool activation_bytes(const struct activation_format *f, size_t nt, size_t id, size_t *bytes);
/* Block `index` (0 .. id / block_values - 1) of a token, out of a buffer and into it. */
void activation_get(const struct activation_format *f, const void *buffer, size_t nt, size_t id, size_t token,
                    size_t index, void *block);
void activation_put(const struct activation_format *f, void *buffer, size_t nt, size_t id, size_t token, size_t index,
                    const void *block);
/* buffer (activation_bytes) = x (nt, id) quantised; what belongs to no value (padding tokens) is zero. */
void activation_quantize(const struct activation_format *f, const float *x, size_t nt, size_t id, void *buffer);
/* Stored sums of a buffer that are not those of its quants, as a program's own quantiser may have left them. */
struct activation_sums {
    size_t wrong, outside; /* how many are not the sum of their quants; of them, not even a sum of 32 int8 */
    size_t token, index;   /* of the first that is outside, else of the first that is wrong */
    int32_t stored, right;
};
struct activation_sums activation_check_sums(const struct activation_format *f, const void *buffer, size_t nt,
                                             size_t id);
/* x (nt, id) = the values of a buffer. */
void activation_dequantize(const struct activation_format *f, const void *buffer, size_t nt, size_t id, float *x);

#endif
