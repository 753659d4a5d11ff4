/* The tensor types a GGUF file can name: number, spelling and block size of each, whether ref/ decodes it or not.
 * Source: ggml include/ggml.h (enum ggml_type), src/ggml-common.h (the blocks), src/ggml.c (the spellings). */
#ifndef REF_GGUF_TYPES_H
#define REF_GGUF_TYPES_H

#include <stddef.h>
#include <stdint.h>

struct gguf_type {
    const char *name;    /* as ggml spells it: "q4_K"; NULL for a number that never was a type */
    size_t block_values; /* values in a block; 0 for a type that was withdrawn from the format */
    size_t block_bytes;  /* bytes of a block */
};

#define GGUF_TYPE_COUNT 43u
extern const struct gguf_type gguf_types[GGUF_TYPE_COUNT]; /* by number */

#endif
