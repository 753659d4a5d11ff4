/* Block formats of weights: how many values share a block of how many bytes, and how to go between the two.
 * One format is one file (q4_k.c, q8_0.c ...) that defines `const struct block_format format_<name>`, and one row of
 * the table in format.c. */
#ifndef REF_FORMAT_H
#define REF_FORMAT_H

#include <stddef.h>
#include <stdint.h>

struct block_format {
    const char *name;             /* as ggml spells it: "q4_K" */
    uint32_t gguf_type;           /* number of the type in a GGUF tensor header */
    size_t block_values;          /* values in a block */
    size_t block_bytes;           /* bytes of a block */
    size_t codes_at, codes_bytes; /* where the elements' own bits lie in a block; the rest of it is scales. 0, 0: all */
    /* out[0 .. block_values-1] = the values of one block, each rounded to f32 once per operation as the format's
     * file states. block needs no alignment. */
    void (*dequantize)(const void *block, float *out);
    /* block = a quantised form of in[0 .. block_values-1]; NULL where the format has no quantiser yet. */
    void (*quantize)(const float *in, void *block);
};

/* NULL when there is none of that name / number. Names are compared exactly. */
const struct block_format *format_named(const char *name);
const struct block_format *format_of_type(uint32_t gguf_type);
/* All formats, ended by NULL. */
extern const struct block_format *const block_formats[];

#endif
