/* Merging pairs of symbols with a heap: n log n. A heap entry is stale unless its key is still its symbol's. */
#include "checked.h"
#include "tokenizer_parts.h"
#include <stdlib.h>

#define NO_KEY UINT64_MAX

void push_id(struct id_list *list, uint32_t id) {
    if (list->count == list->room) {
        list->room = list->room ? 2 * list->room : 64;
        list->id = must_realloc(list->id, list->room, sizeof *list->id);
    }
    list->id[list->count++] = id;
}

void heap_push(struct key_heap *h, uint64_t key) {
    if (h->count == h->room) {
        h->room = h->room ? 2 * h->room : 64;
        h->key = must_realloc(h->key, h->room, sizeof *h->key);
    }
    size_t at = h->count++;
    for (; at > 0 && key < h->key[(at - 1) / 2]; at = (at - 1) / 2)
        h->key[at] = h->key[(at - 1) / 2];
    h->key[at] = key;
}

uint64_t heap_pop(struct key_heap *h) {
    const uint64_t least = h->key[0], last = h->key[--h->count];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < h->count; at = child) {
        if (child + 1 < h->count && h->key[child + 1] < h->key[child])
            child++;
        if (last <= h->key[child])
            break;
        h->key[at] = h->key[child];
    }
    h->key[at] = last; /* of an empty heap: a slot nobody reads */
    return least;
}

void merge_add(struct merge_work *w, uint32_t start, uint32_t id) {
    if (w->count == w->room) {
        w->room = w->room ? 2 * w->room : 64;
        w->symbol = must_realloc(w->symbol, w->room, sizeof *w->symbol);
    }
    const uint32_t at = (uint32_t)w->count++;
    w->symbol[at] = (struct merge_symbol){
        .key = NO_KEY, .start = start, .id = id, .previous = at > 0 ? at - 1 : MERGE_END, .next = MERGE_END};
    if (at > 0)
        w->symbol[at - 1].next = at;
}

/* Looks at the pair that begins with symbol `at` anew. An unchanged key is still in the heap. */
static void rank_pair(const struct tokenizer *t, struct merge_work *w, merge_rank *rank, uint32_t at) {
    struct merge_symbol *s = &w->symbol[at];
    uint64_t key = NO_KEY;
    if (s->next != MERGE_END) {
        const uint32_t r = rank(t, w, s, &w->symbol[s->next], &s->product);
        if (r != MERGE_NO_RANK)
            key = (uint64_t)r << 32 | at;
    }
    if (key != NO_KEY && key != s->key)
        heap_push(&w->heap, key);
    s->key = key;
}

void merge_all(const struct tokenizer *t, struct merge_work *w, merge_rank *rank) {
    w->heap.count = 0;
    for (size_t i = 0; i < w->count; i++)
        rank_pair(t, w, rank, (uint32_t)i);
    while (w->heap.count > 0) {
        const uint64_t key = heap_pop(&w->heap);
        const uint32_t at = (uint32_t)key;
        struct merge_symbol *left = &w->symbol[at];
        if (left->key != key)
            continue;
        struct merge_symbol *right = &w->symbol[left->next];
        left->id = left->product;
        left->key = right->key = NO_KEY;
        left->next = right->next;
        if (right->next != MERGE_END)
            w->symbol[right->next].previous = at;
        rank_pair(t, w, rank, at);
        if (left->previous != MERGE_END)
            rank_pair(t, w, rank, left->previous);
    }
}

void merge_free(struct merge_work *w) {
    free(w->symbol);
    free(w->heap.key);
    free(w->ids.id);
    free(w->bytes);
}
