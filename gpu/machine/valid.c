/* Which bytes of memory have been written.
 *
 * Shared memory has a bit for each byte, so that what the loads of a kernel look at stays in the nearest cache. A range
 * (a plane, or the static variables) whose bytes are all written is never looked at again in this block: the cursor
 * `first` of a range only moves up, at barriers, and past the end the sites that use the range stop calling. Bytes
 * never become unwritten.
 *
 * Global memory needs no bits: region.winner knows for each byte whether a block of this launch has stored it, and
 * region.written whether an earlier launch has. Only buffers that are `out` or `scratch` start without contents; `in`
 * and `inout` ones come filled, and a .global variable is zero where the module does not say otherwise (PTX
 * ISA 5.1.4, 5.4.4). */
#include "valid.h"
#include <stdlib.h>
#include <string.h>

struct valid {
    uint8_t *written; /* bit i % 8 of byte i / 8: shared byte i has been written */
    size_t size;      /* bytes of `written` */
    size_t *first;    /* (range_count) no byte of the range before it is unwritten */
    bool open;        /* some range still has unwritten bytes, as far as is known */
};

static bool is_written(const struct valid *v, size_t at) {
    return v->written[at / 8] >> at % 8 & 1;
}

/* The first byte of lo .. hi - 1 that is not written, or hi. */
static size_t first_hole(const struct valid *v, size_t lo, size_t hi) {
    while (lo < hi && is_written(v, lo))
        lo += lo % 8 == 0 && lo + 8 <= hi && v->written[lo / 8] == 0xff ? 8 : 1;
    return lo;
}

bool valid_open(struct block *b, struct error *e) {
    const struct machine *m = b->machine;
    if (!watches(m, WATCH_UNINIT) || !m->shared_bytes)
        return true;
    b->valid = calloc(1, sizeof *b->valid);
    if (b->valid) {
        b->valid->size = m->shared_bytes / 8 + 8;
        b->valid->written = calloc(b->valid->size, 1);
        b->valid->first = calloc(m->range_count, sizeof *b->valid->first);
    }
    return (b->valid && b->valid->written && b->valid->first) ||
           fail(e, "no memory to watch %zu bytes of shared memory", m->shared_bytes);
}

void valid_close(struct block *b) {
    if (!b->valid)
        return;
    free(b->valid->written);
    free(b->valid->first);
    free(b->valid);
}

void valid_start(struct block *b) {
    struct valid *v = b->valid;
    if (!v)
        return;
    memset(v->written, 0, v->size);
    for (size_t i = 0; i < b->machine->range_count; ++i)
        v->first[i] = b->machine->ranges[i].lo;
    v->open = true;
}

uint8_t valid_bits(const struct block *b, const struct range *range) {
    return b->valid && b->valid->first[range - b->machine->ranges] < range->hi ? WATCHED_VALID : 0;
}

void valid_barrier(struct block *b) {
    struct valid *v = b->valid;
    if (!v || !v->open)
        return;
    const struct machine *m = b->machine;
    v->open = false;
    for (size_t i = 0; i < m->range_count; ++i) {
        const size_t hi = m->ranges[i].hi;
        if (v->first[i] == hi)
            continue;
        v->first[i] = first_hole(v, v->first[i], hi);
        v->open |= v->first[i] < hi;
        for (size_t k = 0; v->first[i] == hi && k < m->program->access_count; ++k)
            if (b->sites[k].range == (int32_t)i + 1)
                b->sites[k].watched &= (uint8_t)~WATCHED_VALID;
    }
}

static void report(struct warp *w, const struct record *r, unsigned lane, uint32_t mask, const uint32_t all[LANES],
                   unsigned bytes) {
    const uint32_t at = all[lane];
    const struct machine *m = w->block->machine;
    const size_t hole = first_hole(w->block->valid, at, (size_t)at + bytes);
    const struct range *range = range_at(m, (int64_t)hole);
    const size_t origin = range && range->plane >= 0 ? range->lo : m->static_bytes ? 0 : m->dynamic_start;
    struct event v = {.kind = EVENT_UNINITIALISED,
                      .space = SPACE_SHARED,
                      .buffer = -1,
                      .plane = range ? range->plane : -1,
                      .other_plane = -1,
                      .offset = (int64_t)hole - (int64_t)origin,
                      .bytes = bytes};
    event_keep_lanes(&v, mask, all);
    event_at(w, r, lane, v);
}

#define EACH_LANE(work)                                                                                                \
    if (mask == ALL_LANES) {                                                                                           \
        for (int i = 0; i < LANES; ++i)                                                                                \
            work;                                                                                                      \
    } else {                                                                                                           \
        for (uint32_t left = mask; left; left &= left - 1) {                                                           \
            const int i = __builtin_ctz(left);                                                                         \
            work;                                                                                                      \
        }                                                                                                              \
    }

static inline uint16_t half_word(const uint8_t *from) {
    uint16_t v;
    memcpy(&v, from, sizeof v);
    return v;
}

/* Every byte of every lane's access is written; accesses are aligned. False also for sizes that are looked at byte by
 * byte. */
static bool all_written(const uint8_t *written, uint32_t mask, const uint32_t at[LANES], unsigned bytes) {
    uint32_t all = UINT32_MAX;
    switch (bytes) {
    case 1:
    case 2:
    case 4:
        EACH_LANE(all &= (uint32_t)written[at[i] / 8] >> at[i] % 8)
        return !(~all & ((1u << bytes) - 1));
    case 8:
        EACH_LANE(all &= written[at[i] / 8])
        return (all & 0xff) == 0xff;
    case 16:
        EACH_LANE(all &= half_word(written + at[i] / 8))
        return (all & 0xffff) == 0xffff;
    default:
        return false;
    }
}

static void mark_written(uint8_t *written, uint32_t mask, const uint32_t at[LANES], unsigned bytes) {
    switch (bytes) {
    case 1:
    case 2:
    case 4:
        EACH_LANE(written[at[i] / 8] |= (uint8_t)(((1u << bytes) - 1) << at[i] % 8))
        break;
    default: /* a multiple of 8 */
        EACH_LANE(memset(written + at[i] / 8, 0xff, bytes / 8))
    }
}

void valid_shared(struct warp *w, const struct record *r, uint32_t mask, const uint32_t at[LANES]) {
    const struct access *x = &w->block->machine->program->accesses[r->c];
    struct valid *v = w->block->valid;
    if (!v)
        return;
    const bool reads = !x->store || x->atomic;
    const bool good = !reads || all_written(v->written, mask, at, x->bytes);
    for (uint32_t left = good ? 0 : mask; left; left &= left - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(left);
        if (first_hole(v, at[lane], (size_t)at[lane] + x->bytes) < (size_t)at[lane] + x->bytes)
            report(w, r, lane, mask, at, x->bytes);
    }
    if (x->store)
        mark_written(v->written, mask, at, x->bytes);
}

/* Where copies in flight are judged, touching their bytes too early is theirs to tell. */
void valid_copies_issued(struct warp *w, uint32_t mask, const uint32_t at[LANES], uint32_t bytes) {
    const struct machine *m = w->block->machine;
    if (watches(m, WATCH_ASYNC) && watches(m, WATCH_HAZARDS))
        valid_copies_waited(w, mask, at, bytes);
}

void valid_copies_waited(struct warp *w, uint32_t mask, const uint32_t at[LANES], uint32_t bytes) {
    struct valid *v = w->block->valid;
    if (!v->open) /* all is written */
        return;
    mark_written(v->written, mask, at, bytes); /* aligned, as every access */
}

void valid_global(struct warp *w, const struct record *r, unsigned lane, const struct region *g, size_t offset,
                  size_t bytes) {
    for (size_t i = 0; i < bytes; ++i) {
        if (g->winner[offset + i] || (g->coverage && g->coverage->stores[offset + i] & 0x7f) ||
            (g->written && g->written[offset + i]))
            continue;
        const struct event v = {.kind = EVENT_UNINITIALISED,
                                .space = SPACE_GLOBAL,
                                .buffer = g->buffer,
                                .plane = -1,
                                .other_plane = -1,
                                .offset = (int64_t)(offset + i),
                                .bytes = bytes};
        event_at(w, r, lane, v);
        return;
    }
}
