/* Block formats of weights: how many values share a block of how many bytes, and how to go between the two.
 * One format is one file (q4_k.c, q8_0.c ...) that defines `const struct block_format format_<name>`, and one row of
 * the table in format.c. */
#ifndef REF_FORMAT_H
#define REF_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FORMAT_MOST_VALUES = 256, FORMAT_MOST_SUB_BLOCKS = 16 };

/* The integers of a block. With s = k / sub_values, value k stands for d * scale[s] * code[k] - dmin * min[s].
 * In a format without sub-block scales scale[] is 1, without minima dmin and min[] are 0; a format whose minimum stands
 * beside d itself (q4_1: d * n + m) has dmin = -m and min[] = 1. d and dmin are exact widenings. */
struct block_integers {
    float d, dmin;
    int16_t scale[FORMAT_MOST_SUB_BLOCKS], min[FORMAT_MOST_SUB_BLOCKS];
    int8_t code[FORMAT_MOST_VALUES];
};

/* A floating-point field of a block: f32 (4 bytes), binary16 (2) or a power of two alone, 2^(byte - 128)
 * (1); 0: no such field. */
struct block_field {
    uint8_t at, bytes;
};

struct block_format {
    const char *name;             /* as ggml spells it: "q4_K" */
    uint32_t gguf_type;           /* number of the type in a GGUF tensor header */
    size_t block_values;          /* values in a block */
    size_t block_bytes;           /* bytes of a block */
    size_t codes_at, codes_bytes; /* where the elements' own bits lie in a block; the rest of it is scales. 0, 0: all */
    struct block_field d, dmin;   /* where these two lie; neither in f32, f16 and bf16 */
    /* out[0 .. block_values-1] = the values of one block, each rounded to f32 once per operation as the format's
     * file states. block needs no alignment. */
    void (*dequantize)(const void *block, float *out);
    /* block = a quantised form of in[0 .. block_values-1]; NULL where the format has no quantiser. */
    void (*quantize)(const float *in, void *block);
    bool searches; /* the quantiser is a search of our own: other bytes than ggml's, no larger error over a tensor */

    /* The view as integers; sub_values is 0 and all of this is absent where a format has none (f32, f16, bf16, and the
     * iq formats that are only dequantised). */
    size_t sub_values;           /* values under one scale and one minimum */
    int code_least, code_count;  /* codes are code_least .. code_least + code_count - 1, or, */
    const int8_t *code_list;     /* where this is not NULL, code_list[0 .. code_count-1], ascending */
    int scale_least, scale_most; /* 1, 1 without sub-block scales */
    int min_most;                /* minima are 0 .. min_most; 0: the format has none; 1: always 1 */
    void (*unpack)(const void *block, struct block_integers *out);
    /* The inverse: every integer MUST be in its range, d and dmin exact in their fields. Writes all bytes. */
    void (*pack)(const struct block_integers *in, void *block);
};

/* NULL when there is none of that name / number. Names are compared exactly. */
const struct block_format *format_named(const char *name);
const struct block_format *format_of_type(uint32_t gguf_type);
/* All formats, ended by NULL. */
extern const struct block_format *const block_formats[];

/* sum of code[k] * q[k] over the values of sub-block s, exact: at most 256 * 128 * 128 = 2^22. */
int32_t format_dot(const struct block_format *f, const struct block_integers *b, size_t s, const int8_t *q);

#endif
