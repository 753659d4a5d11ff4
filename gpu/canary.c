#include "canary.h"
#include "../ref/checked.h"
#include <stdlib.h>
#include <string.h>

enum { /* words of CANARY_VARIABLE, as canary.cuh has them */
       CHANGED,
       LOOKED,
       GUARDS,
       OFFSETS,
       RECORDS = OFFSETS + CANARY_MOST_GUARDS,
       RECORD_WORDS = 6,
       REPORT_WORDS = RECORDS + CANARY_ROOM * RECORD_WORDS,
       ARENA_ALIGNMENT = 16,
};

uint32_t canary_word(const uint32_t block[3], size_t guard, size_t word) {
    const uint32_t i = (uint32_t)(guard * (CANARY_BYTES / 4) + word);
    uint32_t v = block[0] * 0x9e3779b1u + (block[1] | block[2] << 16) * 0x85ebca6bu + i * 0xc2b2ae35u;
    v = (v ^ v >> 15 ^ 0x27d4eb2fu) * 0x2c1b3c6du;
    return v ^ v >> 13;
}

bool canary_has_planes(const struct spec *s) {
    bool has = s->plane_count > 0;
    for (size_t i = 0; i < s->then_count; ++i)
        has |= s->then[i].plane_count > 0;
    return has;
}

static bool add_guards(const struct spec *s, struct launch *l, struct error *e) {
    const size_t count = l->plane_count;
    if (count > CANARY_MOST_GUARDS)
        return fail(e, "%s: %zu planes, a canary build guards at most %d", s->path, count, CANARY_MOST_GUARDS);
    uint32_t *words = must_calloc(REPORT_WORDS, sizeof *words);
    l->globals = must_calloc(1, sizeof *l->globals);
    l->globals[l->global_count++] = (struct launch_global){CANARY_VARIABLE, REPORT_WORDS * 4, (uint8_t *)words};
    l->cubin = NULL;

    struct launch_plane *planes = must_calloc(2 * count, sizeof *planes);
    size_t end = 0;
    for (size_t i = 0; i < count; ++i) {
        const struct launch_plane *p = &l->planes[i];
        planes[2 * i] = (struct launch_plane){p->name, end, p->bytes};
        if (p->bytes % ARENA_ALIGNMENT) {
            free(planes);
            return fail(e, "%s: plane %.200s has %zu bytes; a guard after it begins at a multiple of %d", s->path,
                        p->name, p->bytes, ARENA_ALIGNMENT);
        }
        planes[2 * i + 1] = (struct launch_plane){"guard", end + p->bytes, CANARY_BYTES};
        words[OFFSETS + i] = (uint32_t)(end + p->bytes); /* a plane has at most INT32_MAX bytes: */
        if (!size_add(end, p->bytes + CANARY_BYTES, &end) || end > INT32_MAX) {
            free(planes);
            return fail(e, "%s: the planes are larger than any shared memory", s->path);
        }
    }
    words[GUARDS] = (uint32_t)count;
    free((void *)l->planes);
    l->planes = planes;
    l->plane_count = 2 * count;
    l->shared_bytes += count * CANARY_BYTES; /* both are below 2^32 */
    return true;
}

bool canary_bind(struct bound *b, struct error *e) {
    for (size_t i = 0; i <= b->then_count; ++i) {
        struct launch *l = bound_launch(b, i);
        if (l->plane_count && !add_guards(bound_spec(b, i), l, e))
            return false;
    }
    return true;
}

static int by_place(const void *a, const void *b) {
    const struct canary_record *x = a, *y = b;
    for (int i = 2; i >= 0; --i)
        if (x->block[i] != y->block[i])
            return x->block[i] < y->block[i] ? -1 : 1;
    if (x->plane != y->plane)
        return x->plane < y->plane ? -1 : 1;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* Nothing in it is trusted: the kernel is the thing under test. */
static bool take_record(const struct launch *l, const uint32_t *w, struct canary_record *r) {
    *r = (struct canary_record){.block = {w[0], w[1] & 0xffff, w[1] >> 16},
                                .plane = w[2],
                                .below = w[3] == 1,
                                .offset = (int32_t)w[4],
                                .word = w[5]};
    const int64_t at = r->below ? r->offset + CANARY_BYTES : r->offset; /* in the guard */
    if (w[3] > 1 || r->plane >= l->plane_count / 2 || r->plane < r->below || at < 0 || at >= CANARY_BYTES || at % 4)
        return false;
    for (int i = 0; i < 3; ++i)
        if (r->block[i] >= l->grid[i])
            return false;
    r->want = canary_word(r->block, r->plane - r->below, (size_t)at / 4);
    return true;
}

bool canary_read(const struct launch *l, struct canary_report *r) {
    const uint32_t *words = NULL;
    for (size_t i = 0; i < l->global_count; ++i)
        if (!strcmp(l->globals[i].name, CANARY_VARIABLE))
            words = (const uint32_t *)l->globals[i].data;
    if (!words)
        return false;
    *r = (struct canary_report){.changed = words[CHANGED], .looked = words[LOOKED] == 1};
    const size_t told = r->changed < CANARY_ROOM ? r->changed : CANARY_ROOM;
    for (size_t i = 0; i < told; ++i)
        r->count += take_record(l, words + RECORDS + i * RECORD_WORDS, &r->records[r->count]);
    qsort(r->records, r->count, sizeof *r->records, by_place);
    return true;
}
