/* The table text -> id: open addressing, at most half full. */
#include "checked.h"
#include "printable.h"
#include "tokenizer_parts.h"
#include <string.h>

uint64_t token_hash(const uint8_t *text, size_t length) { /* FNV-1a, its high half folded down */
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < length; i++)
        h = (h ^ text[i]) * 0x100000001b3u;
    return h ^ h >> 32;
}

static bool is_text(const struct token *token, const uint8_t *text, size_t length) {
    return token->length == length && memcmp(token->text, text, length) == 0;
}

uint32_t lookup(const struct tokenizer *t, const uint8_t *text, size_t length) {
    if (length > t->longest)
        return NO_TOKEN;
    const uint64_t h = token_hash(text, length);
    for (size_t at = h & t->slot_mask;; at = (at + 1) & t->slot_mask) {
        const struct token_slot *s = &t->slots[at];
        if (s->id == NO_TOKEN || (s->tag == (uint32_t)(h >> 32) && is_text(&t->tokens[s->id], text, length)))
            return s->id;
    }
}

static bool insert(struct tokenizer *t, uint32_t id, struct error *e) {
    const struct token *token = &t->tokens[id];
    const uint64_t h = token_hash(token->text, token->length);
    size_t at = h & t->slot_mask;
    for (size_t probes = 0; t->slots[at].id != NO_TOKEN; probes++, at = (at + 1) & t->slot_mask) {
        char shown[128];
        if (t->slots[at].tag == (uint32_t)(h >> 32) && is_text(&t->tokens[t->slots[at].id], token->text, token->length))
            return tokenizer_refuse(t, e, "tokens %u and %u have the same text, \"%s\"", t->slots[at].id, id,
                                    printable(shown, sizeof shown, token->text, token->length));
        if (probes >= MOST_PROBES)
            return tokenizer_refuse(t, e, "over %d tokens share a hash: made to, and not served", MOST_PROBES);
    }
    t->slots[at] = (struct token_slot){id, (uint32_t)(h >> 32)};
    return true;
}

bool lookup_build(struct tokenizer *t, struct error *e) {
    size_t slots = 16;
    while (slots < 2 * (size_t)t->info.size)
        slots *= 2;
    t->slots = must_calloc(slots, sizeof *t->slots);
    t->slot_mask = slots - 1;
    memset(t->slots, 0xff, slots * sizeof *t->slots);
    for (uint32_t id = 0; id < t->info.size; id++) {
        const struct token *token = &t->tokens[id];
        if (token->type != TOKEN_NORMAL && token->type != TOKEN_USER_DEFINED)
            continue;
        if (token->length == 0)
            return tokenizer_refuse(t, e, "token %u is empty", id);
        if (token->length > MOST_TOKEN_BYTES)
            return tokenizer_refuse(t, e, "token %u has %llu bytes, at most %d are served", id,
                                    (unsigned long long)token->length, MOST_TOKEN_BYTES);
        if (!token_is_merged(t, token->type))
            continue;
        if (!insert(t, id, e))
            return false;
        t->longest = token->length > t->longest ? token->length : t->longest;
    }
    return true;
}
