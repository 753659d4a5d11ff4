#include "tokenizer.h"
#include "checked.h"
#include "printable.h"
#include "tokenizer_parts.h"
#include "utf8.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool tokenizer_refuse(const struct tokenizer *t, struct error *e, const char *format, ...) {
    char path[256], words[512];
    va_list args;
    va_start(args, format);
    vsnprintf(words, sizeof words, format, args);
    va_end(args);
    return fail(e, "%s: tokenizer: %s", printable(path, sizeof path, t->file->path, strlen(t->file->path)), words);
}

/* ---- keys ---- */

const struct gguf_entry *tokenizer_array(const struct tokenizer *t, const char *key, enum gguf_value_type item,
                                         uint64_t count, struct error *e) {
    const struct gguf_entry *entry = gguf_entry_named(t->file, key);
    if (!entry)
        tokenizer_refuse(t, e, "no key %s", key);
    else if (entry->type != GGUF_ARRAY || entry->item != item)
        tokenizer_refuse(t, e, "%s is no array of %s", key, gguf_value_names[item]);
    else if (count != ANY_COUNT && entry->count != count)
        tokenizer_refuse(t, e, "%s has %llu elements for %llu tokens", key, (unsigned long long)entry->count,
                         (unsigned long long)count);
    else
        return entry;
    return NULL;
}

/* *out = the id under the key, or TOKEN_NONE when it is not there. */
static bool read_id(const struct tokenizer *t, const char *key, uint32_t *out, struct error *e) {
    const struct gguf_entry *entry = gguf_entry_named(t->file, key);
    *out = NO_TOKEN;
    if (!entry)
        return true;
    if (entry->type != GGUF_UINT32 && entry->type != GGUF_INT32)
        return tokenizer_refuse(t, e, "%s is no %s", key, gguf_value_names[GGUF_UINT32]);
    const uint32_t id = (uint32_t)gguf_number(entry->bytes, 4);
    if (id >= t->info.size)
        return tokenizer_refuse(t, e, "%s is %u, of %u tokens", key, id, t->info.size);
    *out = id;
    return true;
}

/* *value: the bool under the key; untouched when it is not there. */
static bool read_bool(const struct tokenizer *t, const char *key, bool *value, struct error *e) {
    const struct gguf_entry *entry = gguf_entry_named(t->file, key);
    if (entry && entry->type != GGUF_BOOL)
        return tokenizer_refuse(t, e, "%s is no %s", key, gguf_value_names[GGUF_BOOL]);
    if (entry)
        *value = entry->bytes[0] != 0;
    return true;
}

static bool is_name(const struct gguf_entry *entry, const char *name) {
    return entry->length == strlen(name) && memcmp(entry->bytes, name, entry->length) == 0;
}

/* The string under the key, NULL when it is not there. */
static bool read_name(const struct tokenizer *t, const char *key, const struct gguf_entry **out, struct error *e) {
    *out = gguf_entry_named(t->file, key);
    if (*out && (*out)->type != GGUF_STRING)
        return tokenizer_refuse(t, e, "%s is no %s", key, gguf_value_names[GGUF_STRING]);
    return true;
}

/* ---- opening ---- */

static bool read_model(struct tokenizer *t, struct error *e) {
    const struct gguf_entry *model, *pre;
    char shown[128];
    if (!read_name(t, "tokenizer.ggml.model", &model, e) || !read_name(t, "tokenizer.ggml.pre", &pre, e))
        return false;
    if (!model)
        return tokenizer_refuse(t, e, "no key tokenizer.ggml.model");
    t->info.pre = "";
    if (is_name(model, "llama")) {
        t->info.model = "llama";
        t->space_prefix = t->info.add_bos = true;
    } else if (is_name(model, "gpt2")) {
        static const char none[] = "default";
        const struct pre_tokenizer *p = pre ? pre_tokenizer_named(pre->bytes, pre->length)
                                            : pre_tokenizer_named((const uint8_t *)none, strlen(none));
        if (!p)
            return tokenizer_refuse(t, e, "the pre-tokeniser \"%s\" is not served; served: %s",
                                    printable(shown, sizeof shown, pre->bytes, pre->length), pre_tokenizer_names());
        t->info.model = "gpt2";
        t->info.pre = p->name;
        t->info.add_bos = p->add_bos;
        t->bpe = true;
        t->piece = p->piece;
        t->whole_words = p->whole_words;
    } else {
        return tokenizer_refuse(t, e, "the model \"%s\" is not served; served: llama, gpt2",
                                printable(shown, sizeof shown, model->bytes, model->length));
    }
    bool squeeze = false;
    if (!read_bool(t, "tokenizer.ggml.remove_extra_whitespaces", &squeeze, e))
        return false;
    return !squeeze || tokenizer_refuse(t, e, "remove_extra_whitespaces is not served");
}

static bool read_tokens(struct tokenizer *t, struct error *e) {
    const struct gguf_entry *texts = tokenizer_array(t, "tokenizer.ggml.tokens", GGUF_STRING, ANY_COUNT, e);
    if (!texts)
        return false;
    if (texts->count == 0 || texts->count > MOST_TOKENS)
        return tokenizer_refuse(t, e, "%llu tokens, 1 .. %d are served", (unsigned long long)texts->count, MOST_TOKENS);
    t->info.size = (uint32_t)texts->count;
    const char *const key = "tokenizer.ggml.token_type";
    const struct gguf_entry *types = NULL;
    if (!t->bpe || gguf_entry_named(t->file, key)) { /* without types, byte-level tokens are all normal */
        types = tokenizer_array(t, key, GGUF_INT32, t->info.size, e);
        if (!types)
            return false;
    }
    t->tokens = calloc(t->info.size, sizeof *t->tokens);
    if (!t->tokens)
        return tokenizer_refuse(t, e, "no memory for %u tokens", t->info.size);
    const uint8_t *p = texts->bytes;
    for (uint32_t id = 0; id < t->info.size; id++) {
        const uint64_t length = gguf_number(p, 8);
        const uint32_t type = types ? (uint32_t)gguf_number(types->bytes + 4 * (size_t)id, 4) : TOKEN_NORMAL;
        if (type < TOKEN_NORMAL || type > TOKEN_BYTE)
            return tokenizer_refuse(t, e, "token %u has the unknown type %d", id, (int32_t)type);
        t->tokens[id] = (struct token){p + 8, length, (enum token_type)type};
        p += 8 + length;
    }
    return true;
}

/* The value of "<0xNN>", -1 when the text is another. */
static int byte_of_text(const struct token *token) {
    char text[7] = "";
    unsigned value;
    int end = 0;
    if (token->length != 6)
        return -1;
    memcpy(text, token->text, 6);
    return sscanf(text, "<0x%2X>%n", &value, &end) == 1 && end == 6 && strspn(text + 3, "0123456789abcdefABCDEF") == 2
               ? (int)value
               : -1;
}

/* Byte tokens of the first kind: all 256, or none. */
static bool read_bytes(struct tokenizer *t, struct error *e) {
    size_t found = 0;
    memset(t->byte_id, 0xff, sizeof t->byte_id);
    for (uint32_t id = 0; id < t->info.size; id++) {
        if (t->tokens[id].type != TOKEN_BYTE)
            continue;
        const int byte = byte_of_text(&t->tokens[id]);
        char shown[64];
        if (byte < 0)
            return tokenizer_refuse(t, e, "byte token %u is \"%s\", not <0xNN>", id,
                                    printable(shown, sizeof shown, t->tokens[id].text, t->tokens[id].length));
        if (t->byte_id[byte] != NO_TOKEN)
            return tokenizer_refuse(t, e, "tokens %u and %u are both byte 0x%02x", t->byte_id[byte], id, byte);
        t->byte_id[byte] = id;
        found++;
    }
    if (found != 0 && found != 256)
        return tokenizer_refuse(t, e, "%zu of 256 byte tokens", found);
    return true;
}

struct tokenizer *tokenizer_open(const struct gguf_file *f, struct error *e) {
    struct tokenizer *t = must_calloc(1, sizeof *t);
    t->file = f;
    if (read_model(t, e) && read_tokens(t, e) && read_bytes(t, e) &&
        read_id(t, "tokenizer.ggml.bos_token_id", &t->info.bos, e) &&
        read_id(t, "tokenizer.ggml.eos_token_id", &t->info.eos, e) &&
        read_id(t, "tokenizer.ggml.unknown_token_id", &t->info.unknown, e) &&
        read_bool(t, "tokenizer.ggml.add_bos_token", &t->info.add_bos, e) &&
        read_bool(t, "tokenizer.ggml.add_space_prefix", &t->space_prefix, e) && lookup_build(t, e) &&
        user_build(t, e) && (t->bpe ? bpe_build(t, e) : spm_build(t, e)))
        return t;
    tokenizer_free(t);
    return NULL;
}

void tokenizer_free(struct tokenizer *t) {
    if (!t)
        return;
    free(t->tokens);
    free(t->slots);
    free(t->rank);
    free(t->merges);
    free(t->user);
    free(t->user_rank);
    free(t->user_of_rank);
    free(t);
}

const struct tokenizer_info *tokenizer_info(const struct tokenizer *t) {
    return &t->info;
}

const uint8_t *tokenizer_text(const struct tokenizer *t, uint32_t id, size_t *length) {
    if (id >= t->info.size)
        return NULL;
    *length = t->tokens[id].length;
    return t->tokens[id].text;
}

/* ---- text -> ids ---- */

/* A run of text between user-defined tokens. */
static bool encode_run(const struct tokenizer *t, struct merge_work *w, const uint8_t *text, size_t length,
                       struct error *e) {
    if (length == 0)
        return true;
    return t->bpe ? bpe_encode(t, w, text, length, e) : spm_encode(t, w, text, length, t->space_prefix, e);
}

static bool encode(const struct tokenizer *t, struct merge_work *w, const uint8_t *text, size_t length,
                   struct error *e) {
    size_t count, at = 0;
    uint64_t *match = user_matches(t, text, length, &count);
    bool good = true;
    for (size_t i = 0; i < count && good; i++) {
        const size_t start = match[i] >> 32;
        const uint32_t id = (uint32_t)match[i];
        good = encode_run(t, w, text + at, start - at, e);
        push_id(&w->ids, id);
        at = start + t->tokens[id].length;
    }
    free(match);
    return good && encode_run(t, w, text + at, length - at, e);
}

bool tokenizer_encode(const struct tokenizer *t, const char *text, size_t length, bool add_bos, uint32_t **ids,
                      size_t *count, struct error *e) {
    const uint8_t *bytes = (const uint8_t *)text;
    *ids = NULL;
    *count = 0;
    if (length > MOST_TEXT)
        return fail(e, "a text of %zu bytes, at most %d are served", length, MOST_TEXT);
    const size_t fault = utf8_fault(bytes, length);
    if (fault < length)
        return fail(e, "the text is no UTF-8: byte 0x%02x at byte %zu", bytes[fault], fault);
    if (add_bos && t->info.bos == NO_TOKEN)
        return tokenizer_refuse(t, e, "no tokenizer.ggml.bos_token_id to begin with");
    struct merge_work w = {0};
    if (add_bos)
        push_id(&w.ids, t->info.bos);
    const bool good = encode(t, &w, bytes, length, e);
    if (good) {
        *count = w.ids.count;
        *ids = w.ids.id ? w.ids.id : must_calloc(1, sizeof **ids);
        w.ids.id = NULL;
    }
    merge_free(&w);
    return good;
}

/* ---- ids -> text ---- */

struct text {
    uint8_t *p; /* (n) owned */
    size_t n, room;
};

static void append(struct text *out, const void *p, size_t n) {
    if (n > out->room - out->n) {
        out->room = 2 * (out->n + n) + 64;
        out->p = must_realloc(out->p, out->room, 1);
    }
    if (n > 0)
        memcpy(out->p + out->n, p, n);
    out->n += n;
}

/* A normal token of the first kind: U+2581 is a space. */
static void append_spaced(struct text *out, const struct token *token) {
    for (uint64_t i = 0; i < token->length;) {
        const bool is_space = token->length - i >= 3 && memcmp(token->text + i, "\xe2\x96\x81", 3) == 0;
        append(out, is_space ? (const uint8_t *)" " : token->text + i, 1);
        i += is_space ? 3 : 1;
    }
}

/* A normal token of the second kind: the bytes that its characters stand for; its own text where one stands for none.
 */
static void append_byte_level(struct text *out, const struct token *token) {
    const size_t before = out->n;
    for (size_t at = 0, n; at < token->length; at += n) {
        uint32_t c;
        n = utf8_decode(token->text + at, token->length - at, &c);
        const int byte = n > 0 ? bpe_byte(c) : -1;
        if (byte < 0) {
            out->n = before;
            append(out, token->text, token->length);
            return;
        }
        append(out, &(uint8_t){(uint8_t)byte}, 1);
    }
}

static void append_token(const struct tokenizer *t, struct text *out, const struct token *token) {
    switch (token->type) {
    case TOKEN_NORMAL:
        if (t->bpe)
            append_byte_level(out, token);
        else
            append_spaced(out, token);
        break;
    case TOKEN_USER_DEFINED:
        append(out, token->text, token->length);
        break;
    case TOKEN_BYTE: {
        const int byte = byte_of_text(token);
        append(out, &(uint8_t){(uint8_t)byte}, 1);
        break;
    }
    case TOKEN_UNKNOWN:
    case TOKEN_CONTROL:
    case TOKEN_UNUSED:
        break;
    }
}

char *tokenizer_decode_bytes(const struct tokenizer *t, const uint32_t *ids, size_t count, size_t *length) {
    struct text out = {0};
    bool first = true;
    for (size_t i = 0; i < count; i++) {
        if (ids[i] >= t->info.size) {
            free(out.p);
            return NULL;
        }
        const struct token *token = &t->tokens[ids[i]];
        append_token(t, &out, token);
        if (first && out.n > 0) {
            first = false;
            if (!t->bpe && t->space_prefix && token->type == TOKEN_NORMAL && out.p[0] == ' ')
                memmove(out.p, out.p + 1, --out.n);
        }
    }
    if (length)
        *length = out.n;
    append(&out, "", 1);
    return (char *)out.p;
}

char *tokenizer_decode(const struct tokenizer *t, const uint32_t *ids, size_t count) {
    return tokenizer_decode_bytes(t, ids, count, NULL);
}
