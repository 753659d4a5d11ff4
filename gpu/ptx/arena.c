/* Memory of the front end: what the module keeps lies in its arena, what only the parser needs in growing arrays. */
#include "../../ref/checked.h"
#include "internal.h"
#include <stdlib.h>

enum { BLOCK_BYTES = 1 << 18, ALIGNMENT = 16 };

struct arena_block {
    struct arena_block *older;
    size_t used, room;
    _Alignas(16) unsigned char bytes[];
};

void *arena_take(struct arena *a, size_t count, size_t bytes) {
    size_t total, rounded;
    if (!size_mul(count, bytes, &total) || !size_add(total, ALIGNMENT - 1, &rounded))
        return NULL;
    rounded = rounded / ALIGNMENT * ALIGNMENT;
    if (!rounded)
        rounded = ALIGNMENT;
    struct arena_block *b = a->blocks;
    if (!b || b->room - b->used < rounded) {
        size_t room = rounded > BLOCK_BYTES ? rounded : BLOCK_BYTES;
        if (room > MAX_ARENA_BYTES - a->taken || !(b = calloc(1, sizeof *b + room)))
            return NULL;
        *b = (struct arena_block){.older = a->blocks, .room = room};
        a->blocks = b;
        a->taken += room;
    }
    void *p = b->bytes + b->used;
    b->used += rounded;
    return p;
}

void arena_free(struct arena *a) {
    for (struct arena_block *b = a->blocks, *older; b; b = older) {
        older = b->older;
        free(b);
    }
    *a = (struct arena){0};
}

void *take(struct parser *p, size_t count, size_t bytes) {
    void *m = p->failed ? NULL : arena_take(p->arena, count, bytes);
    if (!m)
        report_at(p, p->token.at, "the program needs more than %zu MiB of memory", MAX_ARENA_BYTES >> 20);
    return m;
}

void *grow(struct parser *p, struct growing *g, size_t item_bytes) {
    if (g->count == g->room) {
        size_t room = g->room ? 2 * g->room : 16, bytes;
        void *items = size_mul(room, item_bytes, &bytes) && bytes <= MAX_ARENA_BYTES ? realloc(g->items, bytes) : NULL;
        if (!items) {
            report_at(p, p->token.at, "the program needs more than %zu MiB of memory", MAX_ARENA_BYTES >> 20);
            return NULL;
        }
        g->items = items;
        g->room = room;
    }
    unsigned char *item = (unsigned char *)g->items + g->count++ * item_bytes;
    for (size_t i = 0; i < item_bytes; i++)
        item[i] = 0;
    return item;
}

void free_growing(struct growing *g) {
    free(g->items);
    *g = (struct growing){0};
}
