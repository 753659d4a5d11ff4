#include "vocabulary_sample.h"
#include "../ref/checked.h"
#include "../ref/gguf.h"
#include "../ref/half.h"
#include "../ref/utf8.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct vocabulary *vocabulary_new(const char *model, const char *pre) {
    struct vocabulary *v = must_calloc(1, sizeof *v);
    v->model = model;
    v->pre = pre;
    v->bos = v->eos = v->add_bos = v->space_prefix = v->squeeze = KEY_ABSENT;
    return v;
}

void vocabulary_free(struct vocabulary *v) {
    for (size_t i = 0; i < v->size; i++)
        free((void *)(uintptr_t)v->token[i].text);
    for (size_t i = 0; i < v->merge_count; i++)
        free(v->merge[i]);
    free(v);
}

uint32_t add_token(struct vocabulary *v, const void *text, size_t length, int type, float score) {
    if (v->size == MOST_SAMPLE_TOKENS)
        abort();
    uint8_t *copy = must_calloc(length, 1);
    memcpy(copy, text, length);
    v->token[v->size] = (struct independent_token){copy, length, type, score};
    return (uint32_t)v->size++;
}

uint32_t add_text(struct vocabulary *v, const char *text, int type, float score) {
    return add_token(v, text, strlen(text), type, score);
}

void add_byte_tokens(struct vocabulary *v) {
    for (unsigned byte = 0; byte < 256; byte++) {
        char text[8];
        snprintf(text, sizeof text, "<0x%02X>", byte);
        add_text(v, text, 6, 0);
    }
}

void add_byte_characters(struct vocabulary *v) {
    uint32_t next = 0x100;
    for (uint32_t byte = 0; byte < 256; byte++) {
        const bool seen = (byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte != 0xad);
        uint8_t text[4];
        add_token(v, text, utf8_encode(seen ? byte : next++, text), 1, 0);
    }
}

void add_merge(struct vocabulary *v, const char *text) {
    if (v->merge_count == MOST_SAMPLE_MERGES)
        abort();
    v->merge[v->merge_count++] = must_strdup(text);
}

/* ---- the file ---- */

static void put_key(struct bytes *b, const char *key, uint32_t type, size_t *keys) {
    put_string(b, key);
    put_number(b, type, 4);
    ++*keys;
}

static void put_array(struct bytes *b, const char *key, uint32_t item, size_t count, size_t *keys) {
    put_key(b, key, GGUF_ARRAY, keys);
    put_number(b, item, 4);
    put_number(b, count, 8);
}

static void put_option(struct bytes *b, const char *key, uint32_t type, long value, size_t *keys) {
    if (value == KEY_ABSENT)
        return;
    put_key(b, key, type, keys);
    put_number(b, (uint64_t)value, type == GGUF_BOOL ? 1 : 4);
}

struct bytes vocabulary_file(const struct vocabulary *v) {
    struct bytes b = {0};
    size_t keys = 0;
    put(&b, "GGUF", 4);
    put_number(&b, 3, 4);
    put_number(&b, 0, 8); /* no tensor */
    put_number(&b, 0, 8); /* keys: below */
    if (v->model) {
        put_key(&b, "tokenizer.ggml.model", GGUF_STRING, &keys);
        put_string(&b, v->model);
    }
    if (v->pre) {
        put_key(&b, "tokenizer.ggml.pre", GGUF_STRING, &keys);
        put_string(&b, v->pre);
    }
    put_array(&b, "tokenizer.ggml.tokens", GGUF_STRING, v->size, &keys);
    for (size_t i = 0; i < v->size; i++) {
        put_number(&b, v->token[i].length, 8);
        put(&b, v->token[i].text, v->token[i].length);
    }
    if (!v->no_scores) {
        put_array(&b, "tokenizer.ggml.scores", v->score_type ? v->score_type : GGUF_FLOAT32, v->size - v->drop_scores,
                  &keys);
        for (size_t i = 0; i < v->size - v->drop_scores; i++)
            put_number(&b, float_bits(v->token[i].score), 4);
    }
    if (!v->no_types) {
        put_array(&b, "tokenizer.ggml.token_type", v->type_type ? v->type_type : GGUF_INT32, v->size - v->drop_types,
                  &keys);
        for (size_t i = 0; i < v->size - v->drop_types; i++)
            put_number(&b, (uint64_t)v->token[i].type, 4);
    }
    if (!v->no_merges) {
        put_array(&b, "tokenizer.ggml.merges", GGUF_STRING, v->merge_count, &keys);
        for (size_t i = 0; i < v->merge_count; i++)
            put_string(&b, v->merge[i]);
    }
    put_option(&b, "tokenizer.ggml.bos_token_id", GGUF_UINT32, v->bos, &keys);
    put_option(&b, "tokenizer.ggml.eos_token_id", GGUF_UINT32, v->eos, &keys);
    put_option(&b, "tokenizer.ggml.add_bos_token", GGUF_BOOL, v->add_bos, &keys);
    put_option(&b, "tokenizer.ggml.add_space_prefix", GGUF_BOOL, v->space_prefix, &keys);
    put_option(&b, "tokenizer.ggml.remove_extra_whitespaces", GGUF_BOOL, v->squeeze, &keys);
    patch(&b, KEYS_AT, keys, 8);
    pad(&b, 32);
    return b;
}

struct vocabulary *small_vocabulary(bool byte_level) {
    struct vocabulary *v = vocabulary_new(byte_level ? "gpt2" : "llama", byte_level ? "qwen2" : NULL);
    if (byte_level)
        add_byte_characters(v);
    else
        add_byte_tokens(v);
    add_text(v, byte_level ? "ab" : "a", 1, -1);
    add_text(v, "<s>", 3, -1);
    add_text(v, "[x]", 4, -1);
    if (byte_level)
        add_merge(v, "a b");
    v->bos = 257;
    return v;
}
