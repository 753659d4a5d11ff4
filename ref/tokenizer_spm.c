/* SentencePiece style: characters merged to the token of the highest score. */
#include "checked.h"
#include "half.h"
#include "printable.h"
#include "tokenizer_parts.h"
#include "utf8.h"
#include <math.h>
#include <string.h>

static const uint8_t space[3] = {0xe2, 0x96, 0x81}; /* U+2581, which stands for a space */

/* An integer that is lower where the score is higher, and equal where it is equal. */
static uint32_t rank_of_score(float score) {
    const uint32_t bits = float_bits(score + 0.0f); /* -0 + 0 = +0 */
    const uint32_t ascending = bits >> 31 ? ~bits : bits | 0x80000000u;
    return ~ascending; /* of finite scores: never MERGE_NO_RANK */
}

static bool is_space(const uint8_t *text, size_t left) {
    return left >= sizeof space && memcmp(text, space, sizeof space) == 0;
}

bool spm_build(struct tokenizer *t, struct error *e) {
    const struct gguf_entry *scores = tokenizer_array(t, "tokenizer.ggml.scores", GGUF_FLOAT32, t->info.size, e);
    if (!scores)
        return false;
    t->rank = must_calloc(t->info.size, sizeof *t->rank);
    for (uint32_t id = 0; id < t->info.size; id++) {
        const float score = bits_float((uint32_t)gguf_number(scores->bytes + 4 * (size_t)id, 4));
        if (!isfinite(score))
            return tokenizer_refuse(t, e, "the score of token %u is not finite", id);
        t->rank[id] = rank_of_score(score);
        const struct token *token = &t->tokens[id];
        for (size_t i = 1; i < token->length && token_is_merged(t, token->type); i++)
            if (is_space(token->text + i, token->length - i))
                t->before_space[token->text[i - 1]] = true;
    }
    return true;
}

static uint32_t rank(const struct tokenizer *t, const struct merge_work *w, const struct merge_symbol *left,
                     const struct merge_symbol *right, uint32_t *product) {
    const uint32_t end = right->next == MERGE_END ? w->end : w->symbol[right->next].start;
    *product = lookup(t, w->text + left->start, end - left->start);
    return *product == NO_TOKEN ? (uint32_t)MERGE_NO_RANK : t->rank[*product];
}

/* Merges the symbols of w and appends them to the ids. */
static bool flush(const struct tokenizer *t, struct merge_work *w, struct error *e) {
    if (w->count == 0)
        return true;
    merge_all(t, w, rank);
    for (uint32_t i = 0; i != MERGE_END; i = w->symbol[i].next) {
        const struct merge_symbol *s = &w->symbol[i];
        if (s->id != NO_TOKEN) {
            push_id(&w->ids, s->id);
            continue;
        }
        const uint32_t end = s->next == MERGE_END ? w->end : w->symbol[s->next].start;
        if (t->byte_id[0] == NO_TOKEN) {
            char shown[32];
            return tokenizer_refuse(t, e, "no token for the character \"%s\", and no byte tokens",
                                    printable(shown, sizeof shown, w->text + s->start, end - s->start));
        }
        for (uint32_t k = s->start; k < end; k++)
            push_id(&w->ids, t->byte_id[w->text[k]]);
    }
    w->count = 0;
    return true;
}

/* out = text with U+2581 for spaces, and one before it; returns the bytes of it. out NULL: counts them. */
static size_t escape(uint8_t *out, const uint8_t *text, size_t length, bool prefix) {
    size_t n = 0;
    for (size_t i = 0; i < length + prefix; i++) {
        const uint8_t c = prefix && i == 0 ? ' ' : text[i - prefix];
        if (out && c == ' ')
            memcpy(out + n, space, sizeof space);
        else if (out)
            out[n] = c;
        n += c == ' ' ? sizeof space : 1;
    }
    return n;
}

bool spm_encode(const struct tokenizer *t, struct merge_work *w, const uint8_t *text, size_t length, bool prefix,
                struct error *e) {
    const size_t n = escape(NULL, text, length, prefix);
    if (n > w->bytes_room) {
        w->bytes = must_realloc(w->bytes, n, 1);
        w->bytes_room = n;
    }
    escape(w->bytes, text, length, prefix);
    w->text = w->bytes;
    w->count = 0;
    uint32_t c;
    for (size_t at = 0, size; at < n; at += size) {
        size = utf8_decode(w->text + at, n - at, &c);
        w->end = (uint32_t)at;
        /* No token goes across this place, so no merge does: what comes before is merged by itself. */
        if (at > 0 && c == 0x2581 && !t->before_space[w->text[at - 1]] && !flush(t, w, e))
            return false;
        merge_add(w, (uint32_t)at, lookup(t, w->text + at, size));
    }
    w->end = (uint32_t)n;
    return flush(t, w, e);
}
