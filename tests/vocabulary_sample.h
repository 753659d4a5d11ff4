/* Small vocabularies, written as GGUF files in memory. */
#ifndef TESTS_VOCABULARY_SAMPLE_H
#define TESTS_VOCABULARY_SAMPLE_H

#include "gguf_sample.h"
#include "independent/independent.h"

enum { MOST_SAMPLE_TOKENS = 4096, MOST_SAMPLE_MERGES = 4096, KEY_ABSENT = -1 };

struct vocabulary {
    const char *model, *pre;                            /* NULL: no key */
    struct independent_token token[MOST_SAMPLE_TOKENS]; /* (size) texts owned */
    size_t size;
    char *merge[MOST_SAMPLE_MERGES]; /* (merge_count) owned */
    size_t merge_count;
    bool no_merges, no_scores, no_types;           /* without the key */
    size_t drop_scores, drop_types;                /* so many elements fewer */
    uint32_t score_type, type_type;                /* 0: float32, int32 */
    long bos, eos, add_bos, space_prefix, squeeze; /* KEY_ABSENT: no key */
};

struct vocabulary *vocabulary_new(const char *model, const char *pre);
void vocabulary_free(struct vocabulary *v);
uint32_t add_token(struct vocabulary *v, const void *text, size_t length, int type, float score); /* its id */
uint32_t add_text(struct vocabulary *v, const char *text, int type, float score);
void add_byte_tokens(struct vocabulary *v);     /* <0x00> .. <0xFF> */
void add_byte_characters(struct vocabulary *v); /* the 256 characters of byte-level vocabularies, byte by byte */
void add_merge(struct vocabulary *v, const char *text);

struct bytes vocabulary_file(const struct vocabulary *v); /* the caller frees p */

/* 259 tokens: every byte (one is a character of its own), a normal token (256), a control token (257: <s>, which
 * begins) and a user-defined one (258: [x]); byte-level: of qwen2, with a merge. */
struct vocabulary *small_vocabulary(bool byte_level);

#endif
