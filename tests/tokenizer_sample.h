/* Tokenizers of small vocabularies, and how they are compared. */
#ifndef TESTS_TOKENIZER_SAMPLE_H
#define TESTS_TOKENIZER_SAMPLE_H

#include "../ref/tokenizer.h"
#include "vocabulary_sample.h"

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
