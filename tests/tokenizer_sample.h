/* Small vocabularies as GGUF files in memory. */
#ifndef TESTS_TOKENIZER_SAMPLE_H
#define TESTS_TOKENIZER_SAMPLE_H

#include "../ref/tokenizer.h"
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

/* The tokenizer of a vocabulary, or NULL and the error. */
struct opened {
    struct bytes bytes;
    struct gguf_file *file;
    struct tokenizer *tokenizer;
    struct error e;
};
void open_vocabulary(const struct vocabulary *v, struct opened *o);
void close_vocabulary(struct opened *o);

/* The second implementation over the same vocabulary; the caller frees order. */
struct independent_tokenizer independent_of(const struct vocabulary *v);
void show_ids(char *out, size_t room, const uint32_t *ids, size_t count); /* "1 2 3", what fits */

/* Whether both implementations give the same ids of a text, or both none; words (room bytes): how they differ. */
bool tokenizers_agree(const struct tokenizer *t, const struct independent_tokenizer *second, const char *text,
                      size_t length, char *words, size_t room);
char class_letter(uint32_t c); /* 'L', 'N', 'Z', 'P' or '-' */

#endif
