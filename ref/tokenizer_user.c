/* User-defined tokens in a text: of all their occurrences the longest token goes first, of equal length the lower id,
 * then from left to right; what overlaps one that went before is left out. Each place offers its longest occurrence to
 * a heap, and a shorter one when that no longer fits. */
#include "checked.h"
#include "tokenizer_parts.h"
#include "utf8.h"
#include <stdlib.h>
#include <string.h>

static int by_text(const void *a, const void *b, void *context) {
    const struct token *tokens = context, *x = &tokens[*(const uint32_t *)a], *y = &tokens[*(const uint32_t *)b];
    const uint64_t n = x->length < y->length ? x->length : y->length;
    const int order = memcmp(x->text, y->text, n);
    return order ? order : (x->length > y->length) - (x->length < y->length);
}

static int ascending(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

bool user_build(struct tokenizer *t, struct error *e) {
    for (uint32_t id = 0; id < t->info.size; id++) {
        const struct token *token = &t->tokens[id];
        if (token->type != TOKEN_USER_DEFINED)
            continue;
        if (utf8_fault(token->text, token->length) < token->length)
            return tokenizer_refuse(t, e, "user-defined token %u is no UTF-8", id);
        t->user_count++;
    }
    t->user = must_calloc(t->user_count, sizeof *t->user);
    t->user_rank = must_calloc(t->user_count, sizeof *t->user_rank);
    t->user_of_rank = must_calloc(t->user_count, sizeof *t->user_of_rank);
    for (uint32_t id = 0, n = 0; id < t->info.size; id++)
        if (t->tokens[id].type == TOKEN_USER_DEFINED)
            t->user[n++] = id;
    qsort_r(t->user, t->user_count, sizeof *t->user, by_text, t->tokens);

    for (size_t i = 1; i < t->user_count; i++)
        if (by_text(&t->user[i - 1], &t->user[i], t->tokens) == 0)
            return tokenizer_refuse(t, e, "user-defined tokens %u and %u have the same text", t->user[i - 1],
                                    t->user[i]);

    uint64_t *order = must_calloc(t->user_count, sizeof *order); /* long first, then the lower id; and which it is */
    for (size_t i = 0; i < t->user_count; i++) {
        const uint32_t id = t->user[i];
        order[i] = (MOST_TOKEN_BYTES - t->tokens[id].length) << 32 | id;
        t->user_first[t->tokens[id].text[0] + 1] = (uint32_t)i + 1;
    }
    for (size_t b = 1; b <= 256; b++)
        if (t->user_first[b] < t->user_first[b - 1])
            t->user_first[b] = t->user_first[b - 1];
    qsort(order, t->user_count, sizeof *order, ascending);
    uint32_t *rank_of_id = must_calloc(t->info.size, sizeof *rank_of_id);
    for (size_t r = 0; r < t->user_count; r++) {
        t->user_of_rank[r] = (uint32_t)order[r];
        rank_of_id[t->user_of_rank[r]] = (uint32_t)r;
    }
    for (size_t i = 0; i < t->user_count; i++)
        t->user_rank[i] = rank_of_id[t->user[i]];
    free(rank_of_id);
    free(order);
    return true;
}

/* The first of user[low .. high-1] whose byte at `depth` is at least c; all are longer than depth. */
static uint32_t bound(const struct tokenizer *t, uint32_t low, uint32_t high, size_t depth, unsigned c) {
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (t->tokens[t->user[middle]].text[depth] < c)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The place in user[] of the longest user-defined token that text (length >= 1 bytes) begins with, or NO_TOKEN. */
static uint32_t longest_at(const struct tokenizer *t, const uint8_t *text, size_t length) {
    uint32_t low = t->user_first[text[0]], high = t->user_first[text[0] + 1], best = NO_TOKEN;
    for (size_t depth = 1; low < high; depth++) { /* user[low .. high-1] share the text's first `depth` bytes */
        if (t->tokens[t->user[low]].length == depth)
            best = low++; /* the shortest of them stands first, and no two are the same */
        if (depth == length)
            break;
        low = bound(t, low, high, depth, text[depth]);
        high = bound(t, low, high, depth, text[depth] + 1u);
    }
    return best;
}

uint64_t *user_matches(const struct tokenizer *t, const uint8_t *text, size_t length, size_t *count) {
    struct key_heap open = {0}, found = {0};
    for (size_t at = 0; at < length && t->user_count > 0; at++) {
        const uint32_t best = longest_at(t, text + at, length - at);
        if (best != NO_TOKEN)
            heap_push(&open, (uint64_t)t->user_rank[best] << 32 | at);
    }
    uint8_t *taken = open.count > 0 ? must_calloc(length, 1) : NULL;
    while (open.count > 0) {
        const uint64_t key = heap_pop(&open);
        const size_t at = (uint32_t)key;
        const uint32_t id = t->user_of_rank[key >> 32];
        const uint64_t n = t->tokens[id].length;
        const uint8_t *cut = memchr(taken + at, 1, n);
        if (!cut) {
            memset(taken + at, 1, n);
            heap_push(&found, (uint64_t)at << 32 | id);
        } else if (cut > taken + at) {
            const uint32_t best = longest_at(t, text + at, (size_t)(cut - taken) - at);
            if (best != NO_TOKEN)
                heap_push(&open, (uint64_t)t->user_rank[best] << 32 | at);
        }
    }
    free(taken);
    free(open.key);
    if (found.count > 0)
        qsort(found.key, found.count, sizeof *found.key, ascending);
    *count = found.count;
    return found.key;
}
