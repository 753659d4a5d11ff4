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

static int by_place(const void *a, const void *b) { /* 0: of one word */
    const struct canary_record *x = a, *y = b;
    for (int i = 2; i >= 0; --i)
        if (x->block[i] != y->block[i])
            return x->block[i] < y->block[i] ? -1 : 1;
    if (x->plane != y->plane)
        return x->plane < y->plane ? -1 : 1;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* A record as a kernel makes it, of a word that is changed. */
static bool take_record(const struct launch *l, const uint32_t *w, struct canary_record *r) {
    *r = (struct canary_record){.block = {w[0], w[1] & 0xffff, w[1] >> 16},
                                .plane = w[2],
                                .below = w[3] == 1,
                                .offset = (int32_t)w[4],
                                .word = w[5]};
    const int64_t at = r->below ? r->offset + CANARY_BYTES : r->offset; /* in the guard */
    const size_t guards = l->plane_count / 2;
    if (w[3] > 1 || r->plane >= guards || r->plane < r->below || at < 0 || at >= CANARY_BYTES || at % 4)
        return false;
    const size_t guard = r->plane - r->below;
    if (r->below != (at >= CANARY_BYTES / 2 && guard + 1 < guards)) /* each word is laid to one plane */
        return false;
    for (int i = 0; i < 3; ++i)
        if (r->block[i] >= l->grid[i])
            return false;
    r->want = canary_word(r->block, guard, (size_t)at / 4);
    return r->word != r->want;
}

static bool any(const uint32_t *words, size_t count) {
    uint32_t all = 0;
    for (size_t i = 0; i < count; ++i)
        all |= words[i];
    return all != 0;
}

static const char *altered(const struct launch *l, const uint32_t *words, size_t made) {
    const size_t guards = l->plane_count / 2, used = RECORDS + made * RECORD_WORDS;
    if (words[GUARDS] != guards)
        return "how many guards there are";
    for (size_t i = 0; i < guards; ++i)
        if (words[OFFSETS + i] != l->planes[2 * i + 1].offset)
            return "where the guards begin";
    if (any(words + OFFSETS + guards, CANARY_MOST_GUARDS - guards))
        return "the places of guards that are not there";
    if (words[LOOKED] > 1)
        return "the word that says whether block (0,0,0) has looked";
    return any(words + used, REPORT_WORDS - used) ? "records past those that are counted" : NULL;
}

bool canary_read(const struct launch *l, struct canary_report *r) {
    const uint32_t *words = NULL;
    for (size_t i = 0; i < l->global_count; ++i)
        if (!strcmp(l->globals[i].name, CANARY_VARIABLE))
            words = (const uint32_t *)l->globals[i].data;
    if (!words)
        return false;
    *r = (struct canary_report){.changed = words[CHANGED], .looked = words[LOOKED] == 1};
    r->made = r->changed < CANARY_ROOM ? r->changed : CANARY_ROOM;
    r->altered = altered(l, words, r->made);
    size_t taken = 0;
    for (size_t i = 0; i < r->made; ++i)
        taken += take_record(l, words + RECORDS + i * RECORD_WORDS, &r->records[taken]);
    qsort(r->records, taken, sizeof *r->records, by_place);
    for (size_t i = 0; i < taken; ++i) /* a block looks at a word once */
        if (!r->count || by_place(&r->records[r->count - 1], &r->records[i]))
            r->records[r->count++] = r->records[i];
    return true;
}
