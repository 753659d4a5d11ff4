#include "tiny_model.h"
#include "../ref/checked.h"
#include "../ref/gguf.h"
#include "../ref/half.h"
#include "../ref/random.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const tiny_architectures[] = {"llama", "qwen2", "gemma3", NULL};

enum { MOST_TENSORS = 64, TINY_ALIGNMENT = 32 };

struct tiny_tensor {
    char name[64];
    const struct block_format *format;
    unsigned dims;
    uint64_t extent[2];
    size_t bytes;
    enum { MATRIX, NORM, BIAS } kind;
};

struct maker {
    const char *architecture;
    const struct tiny_fault *fault;
    struct bytes keys;
    size_t key_count;
    struct tiny_tensor tensors[MOST_TENSORS];
    size_t count;
};

static bool is(const char *a, const char *b) {
    return a && b && strcmp(a, b) == 0;
}

/* ---- keys ---- */

static bool begin_key(struct maker *m, const char *name, unsigned type) {
    if (is(m->fault->drop, name))
        return false;
    char key[96];
    snprintf(key, sizeof key, "%s%s%s", strchr(name, ':') ? "" : m->architecture, strchr(name, ':') ? "" : ".",
             strchr(name, ':') ? strchr(name, ':') + 1 : name);
    put_string(&m->keys, key);
    put_number(&m->keys, type, 4);
    m->key_count++;
    return true;
}

static void count(struct maker *m, const char *name, uint32_t value) {
    if (begin_key(m, name, GGUF_UINT32))
        put_number(&m->keys, is(m->fault->key, name) ? m->fault->value : value, 4);
}

static void real(struct maker *m, const char *name, float value) {
    if (begin_key(m, name, GGUF_FLOAT32))
        put_number(&m->keys, float_bits(is(m->fault->real, name) ? m->fault->real_value : value), 4);
}

static void make_keys(struct maker *m) {
    const struct tiny_fault *f = m->fault;
    if (begin_key(m, ":general.architecture", GGUF_STRING))
        put_string(&m->keys, m->architecture);
    count(m, "block_count", TINY_LAYERS);
    count(m, "context_length", TINY_CONTEXT);
    count(m, "embedding_length", TINY_WIDTH);
    count(m, "feed_forward_length", TINY_HIDDEN);
    count(m, "attention.head_count", TINY_HEADS);
    count(m, "attention.head_count_kv", TINY_KEY_HEADS);
    real(m, "attention.layer_norm_rms_epsilon", 1e-6f);
    if (is(m->architecture, "gemma3")) {
        count(m, "attention.key_length", TINY_KEY_SIZE);
        count(m, "attention.value_length", TINY_KEY_SIZE);
        count(m, "attention.sliding_window", TINY_WINDOW);
        count(m, "attention.sliding_window_pattern", 2);
    }
    real(m, "rope.freq_base", is(m->architecture, "llama") ? 10000.0f : 1000000.0f);
    /* what the fault brings that is not there anyhow */
    static const char *const usual[] = {"block_count",
                                        "context_length",
                                        "embedding_length",
                                        "feed_forward_length",
                                        "attention.head_count",
                                        "attention.head_count_kv",
                                        "attention.key_length",
                                        "attention.value_length",
                                        "attention.sliding_window",
                                        "attention.sliding_window_pattern"};
    bool known = !f->key;
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        known |= is(f->key, usual[i]) && (i < 6 || is(m->architecture, "gemma3"));
    if (!known)
        count(m, f->key, f->value);
    if (f->real && !is(f->real, "rope.freq_base") && !is(f->real, "attention.layer_norm_rms_epsilon"))
        real(m, f->real, f->real_value);
    if (f->text && begin_key(m, f->text, GGUF_STRING))
        put_string(&m->keys, f->text_value);
    if (f->tokens && begin_key(m, ":tokenizer.ggml.tokens", GGUF_ARRAY)) {
        put_number(&m->keys, GGUF_STRING, 4);
        put_number(&m->keys, f->tokens, 8);
        for (size_t i = 0; i < f->tokens; i++)
            put_string(&m->keys, "t");
    }
}

/* ---- tensors ---- */

static void add(struct maker *m, const char *name, int kind, const struct block_format *format, uint64_t id,
                uint64_t od) {
    if (is(m->fault->drop, name) || m->count == MOST_TENSORS)
        return;
    struct tiny_tensor *t = &m->tensors[m->count++];
    *t = (struct tiny_tensor){.format = format, .dims = kind == MATRIX ? 2 : 1, .extent = {id, od}};
    t->kind = kind;
    snprintf(t->name, sizeof t->name, "%s", name);
    if (is(m->fault->tensor, name)) {
        t->extent[0] = m->fault->extent[0];
        t->extent[1] = m->fault->extent[1];
    }
    t->bytes = t->extent[0] / format->block_values * format->block_bytes * (t->dims == 2 ? t->extent[1] : 1);
}

static void make_layer(struct maker *m, size_t layer, const struct block_format *format) {
    const struct block_format *f32 = format_named("f32");
    const size_t q = TINY_HEADS * TINY_KEY_SIZE, k = TINY_KEY_HEADS * TINY_KEY_SIZE;
    const bool gemma = is(m->architecture, "gemma3");
    const struct {
        const char *name;
        int kind;
        size_t id, od;
        bool present;
    } all[] = {
        {"attn_norm.weight", NORM, TINY_WIDTH, 1, true},
        {"attn_q.weight", MATRIX, TINY_WIDTH, q, true},
        {"attn_k.weight", MATRIX, TINY_WIDTH, k, true},
        {"attn_v.weight", MATRIX, TINY_WIDTH, k, true},
        {"attn_q.bias", BIAS, q, 1, is(m->architecture, "qwen2")},
        {"attn_k.bias", BIAS, k, 1, is(m->architecture, "qwen2")},
        {"attn_v.bias", BIAS, k, 1, is(m->architecture, "qwen2")},
        {"attn_q_norm.weight", NORM, TINY_KEY_SIZE, 1, gemma},
        {"attn_k_norm.weight", NORM, TINY_KEY_SIZE, 1, gemma},
        {"attn_output.weight", MATRIX, q, TINY_WIDTH, true},
        {"post_attention_norm.weight", NORM, TINY_WIDTH, 1, gemma},
        {"ffn_norm.weight", NORM, TINY_WIDTH, 1, true},
        {"ffn_gate.weight", MATRIX, TINY_WIDTH, TINY_HIDDEN, true},
        {"ffn_up.weight", MATRIX, TINY_WIDTH, TINY_HIDDEN, true},
        {"ffn_down.weight", MATRIX, TINY_HIDDEN, TINY_WIDTH, true},
        {"post_ffw_norm.weight", NORM, TINY_WIDTH, 1, gemma},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char name[64];
        snprintf(name, sizeof name, "blk.%zu.%s", layer, all[i].name);
        if (all[i].present)
            add(m, name, all[i].kind, all[i].kind == MATRIX ? format : f32, all[i].id, all[i].od);
    }
}

static void make_tensors(struct maker *m, const struct block_format *format) {
    const bool tied = m->fault->tied || is(m->architecture, "gemma3");
    const uint64_t vocabulary = m->fault->vocabulary ? m->fault->vocabulary : TINY_VOCABULARY;
    add(m, "token_embd.weight", MATRIX, tied ? format : format_named("f16"), TINY_WIDTH, vocabulary);
    for (size_t i = 0; i < TINY_LAYERS; i++)
        make_layer(m, i, format);
    add(m, "output_norm.weight", NORM, format_named("f32"), TINY_WIDTH, 1);
    if (!tied)
        add(m, "output.weight", MATRIX, format, TINY_WIDTH, vocabulary);
    if (m->fault->extra)
        add(m, m->fault->extra, NORM, format_named("f32"), TINY_WIDTH, 1);
}

/* A block that no quantiser makes: random bits under a scale of 1 / 1024. */
static void drawn_block(struct random_stream *s, const struct block_format *f, uint8_t *block) {
    for (size_t i = 0; i < f->block_bytes; i++)
        block[i] = (uint8_t)random_u32(s);
    if (f->d.bytes == 2) {
        block[f->d.at] = 0;
        block[f->d.at + 1] = 0x14;
    }
}

/* Scales that do not stand in one place (iq1_m) may be NaN: such a block is drawn again. */
static bool block_finite(const struct block_format *f, const uint8_t *block) {
    float values[FORMAT_MOST_VALUES];
    f->dequantize(block, values);
    for (size_t i = 0; i < f->block_values; i++)
        if (!isfinite(values[i]) || fabsf(values[i]) > 4)
            return false;
    return true;
}

static void make_data(const struct maker *m, const struct tiny_tensor *t, struct bytes *b) {
    char text[160];
    snprintf(text, sizeof text, "tiny/%s/%s", m->architecture, t->name);
    struct random_stream s = random_open(random_key(text), 0);
    const struct block_format *f = t->format;
    const size_t blocks = t->bytes / f->block_bytes;
    const bool gemma = is(m->architecture, "gemma3"), after = strstr(t->name, ".post_") != NULL;
    const float scale =
        t->kind == BIAS || (is(t->name, "token_embd.weight") && !gemma) ? 0.5f : 1 / sqrtf((float)t->extent[0]);
    const float mean = is(m->fault->huge, t->name) ? 1e38f
                       : after                     ? 4
                               : 1; /* what a layer adds outweighs the token's own row, which the head meets again */
    float in[FORMAT_MOST_VALUES];
    uint8_t block[512] = {0};
    for (size_t i = 0; i < blocks; i++) {
        for (size_t k = 0; k < f->block_values; k++)
            in[k] = t->kind == NORM ? mean + 0.25f * random_normal(&s) : scale * random_normal(&s);
        if (f->quantize)
            f->quantize(in, block);
        else
            do
                drawn_block(&s, f, block);
            while (!block_finite(f, block));
        if (is(m->fault->nan, t->name) && i == blocks - 1) {
            if (f->d.bytes)
                memset(block + f->d.at, 0x7f, f->d.bytes);
            else
                memset(block, 0xff, f->block_bytes);
        }
        put(b, block, f->block_bytes);
    }
}

struct bytes tiny_model(const char *architecture, const struct block_format *format, const struct tiny_fault *fault) {
    static const struct tiny_fault none;
    struct maker *m = must_calloc(1, sizeof *m);
    m->architecture = architecture;
    m->fault = fault ? fault : &none;
    make_keys(m);
    make_tensors(m, format);
    struct bytes b = {0};
    put(&b, "GGUF", 4);
    put_number(&b, 3, 4);
    put_number(&b, m->count, 8);
    put_number(&b, m->key_count, 8);
    put(&b, m->keys.p, m->keys.n);
    size_t offset = 0;
    for (size_t i = 0; i < m->count; i++) {
        const struct tiny_tensor *t = &m->tensors[i];
        put_string(&b, t->name);
        put_number(&b, t->dims, 4);
        for (unsigned d = 0; d < t->dims; d++)
            put_number(&b, t->extent[d], 8);
        put_number(&b, t->format->gguf_type, 4);
        put_number(&b, offset, 8);
        offset += (t->bytes + TINY_ALIGNMENT - 1) / TINY_ALIGNMENT * TINY_ALIGNMENT;
    }
    for (size_t i = 0; i < m->count; i++) {
        pad(&b, TINY_ALIGNMENT);
        make_data(m, &m->tensors[i], &b);
    }
    pad(&b, TINY_ALIGNMENT);
    free(m->keys.p);
    free(m);
    return b;
}
