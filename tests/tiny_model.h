/* Tiny random models of each architecture, as GGUF files: a function of their description alone. */
#ifndef TESTS_TINY_MODEL_H
#define TESTS_TINY_MODEL_H

#include "../ref/format.h"
#include "gguf_sample.h"
#include <stdbool.h>

/* Sizes are the least that blocks of 256 values allow; a head has 64 values. */
enum {
    TINY_LAYERS = 2,
    TINY_WIDTH = 256,
    TINY_HIDDEN = 256,
    TINY_HEADS = 4,
    TINY_KEY_HEADS = 2,
    TINY_KEY_SIZE = 64,
    TINY_VOCABULARY = 288,
    TINY_CONTEXT = 64,
    TINY_WINDOW = 6, /* gemma3: of layer 0; layer 1 sees all (sliding_window_pattern 2) */
};

/* What a hostile file has in place of the right thing. */
struct tiny_fault {
    const char *drop;   /* a tensor, or a key, that is not there */
    const char *tensor; /* a tensor of another shape: extents, */
    uint64_t extent[2];
    const char *nan;  /* or with a NaN in its last block */
    const char *huge; /* or with values near the largest f32 (a vector) */
    const char *key;  /* a key with another value, of uint32 */
    uint32_t value;
    const char *real; /* a key with another value, of float32 */
    float real_value;
    const char *extra; /* a tensor that has no place */
    size_t tokens;     /* a tokenizer.ggml.tokens of so many; 0: none */
    const char *text;  /* a key of type string, "rope.scaling.type" */
    const char *text_value;
    bool tied;           /* no output.weight, also where the architecture has one */
    uint32_t vocabulary; /* another size than TINY_VOCABULARY; 0: none */
};

/* The file; the caller frees b.p. architecture: "llama", "qwen2", "gemma3"; every matrix is in `format`, but the
 * embedding of an untied model, which is f16. Matrices are normal / sqrt(depth), norms near 1, biases near 0. */
struct bytes tiny_model(const char *architecture, const struct block_format *format, const struct tiny_fault *fault);

extern const char *const tiny_architectures[];

#endif
