#include "tokenizer_sample.h"
#include "../ref/checked.h"
#include "../ref/unicode_classes.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void open_vocabulary(const struct vocabulary *v, struct opened *o) {
    *o = (struct opened){.bytes = vocabulary_file(v)};
    o->file = gguf_parse("sample.gguf", o->bytes.p, o->bytes.n, &o->e);
    cr_assert(o->file, "the sample is no GGUF file: %s", o->e.text);
    o->tokenizer = tokenizer_open(o->file, &o->e);
}

void close_vocabulary(struct opened *o) {
    tokenizer_free(o->tokenizer);
    gguf_close(o->file);
    free(o->bytes.p);
}

char class_letter(uint32_t c) {
    return "-LNZP"[unicode_class(c)];
}

struct independent_tokenizer independent_of(const struct vocabulary *v) {
    struct independent_tokenizer t = {.token = v->token,
                                      .size = v->size,
                                      .merge_count = v->merge_count,
                                      .byte_level = strcmp(v->model, "gpt2") == 0,
                                      .space_prefix = v->space_prefix != 0,
                                      .pre = v->pre ? v->pre : "default",
                                      .merges = (const char *const *)v->merge,
                                      .class_of = class_letter};
    independent_sort_tokens(&t);
    return t;
}

void show_ids(char *out, size_t room, const uint32_t *ids, size_t count) {
    size_t at = 0;
    out[0] = '\0';
    for (size_t i = 0; i < count && at + 12 < room; i++)
        at += (size_t)snprintf(out + at, room - at, "%s%u", i ? " " : "", ids[i]);
}

bool tokenizers_agree(const struct tokenizer *t, const struct independent_tokenizer *second, const char *text,
                      size_t length, char *words, size_t room) {
    uint32_t *got, *want = must_calloc(3 * length + 3, sizeof *want);
    size_t count;
    struct error e;
    const size_t wanted = independent_encode(second, (const uint8_t *)text, length, want);
    const bool good = tokenizer_encode(t, text, length, false, &got, &count, &e);
    const bool same = good ? count == wanted && memcmp(got, want, count * sizeof *got) == 0 : wanted == SIZE_MAX;
    if (!same) {
        char a[600], b[600];
        show_ids(a, sizeof a, got, good ? count : 0);
        show_ids(b, sizeof b, want, wanted == SIZE_MAX ? 0 : wanted);
        snprintf(words, room, "\"%.*s\": %.600s, the second implementation says %s", (int)length, text,
                 good ? a : e.text, b);
    }
    free(got);
    free(want);
    return same;
}
