/* Events, one entry for each (kind, site, buffer or plane): bounded by the program, however often it goes wrong.
 * Which entry describes the first occurrence depends on (block, order in the block) alone, so tables filled by
 * several CPU threads merge into the same one. */
#include "../../ref/checked.h"
#include "machine.h"
#include <stdlib.h>
#include <string.h>

void events_open(struct event_table *t, size_t sites) {
    *t = (struct event_table){.head = must_calloc(sites, sizeof *t->head)};
    for (size_t i = 0; i < sites; ++i)
        t->head[i] = -1;
}

void events_close(struct event_table *t) {
    free(t->entries);
    free(t->head);
    *t = (struct event_table){0};
}

static bool same_kind(const struct event *a, const struct event *b) {
    return a->kind == b->kind && a->space == b->space && a->buffer == b->buffer && a->plane == b->plane &&
           (a->space != SPACE_GLOBAL || a->name == b->name);
}

void events_add(struct event_table *t, const struct event *v, uint64_t block, uint64_t order) {
    for (int32_t i = t->head[v->instruction]; i >= 0; i = t->entries[i].next) {
        struct event_entry *x = &t->entries[i];
        if (!same_kind(&x->event, v))
            continue;
        const uint64_t count = x->event.count + v->count;
        const bool across = x->event.across_warps || v->across_warps;
        if (block < x->block || (block == x->block && order < x->order)) {
            x->event = *v;
            x->block = block;
            x->order = order;
        }
        x->event.count = count;
        x->event.across_warps = across;
        return;
    }
    if (t->count == t->room) {
        t->room = t->room ? 2 * t->room : 16;
        t->entries = must_realloc(t->entries, t->room, sizeof *t->entries);
    }
    t->entries[t->count] =
        (struct event_entry){.event = *v, .block = block, .order = order, .next = t->head[v->instruction]};
    t->head[v->instruction] = (int32_t)t->count++;
}

void events_merge(struct event_table *into, const struct event_table *from) {
    for (size_t i = 0; i < from->count; ++i)
        events_add(into, &from->entries[i].event, from->entries[i].block, from->entries[i].order);
}

static int by_place(const void *a, const void *b) {
    const struct event_entry *x = a, *y = b;
    if (x->block != y->block)
        return x->block < y->block ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

struct event *events_sorted(const struct event_table *t) {
    struct event_entry *sorted = must_calloc(t->count, sizeof *sorted);
    if (t->count)
        memcpy(sorted, t->entries, t->count * sizeof *sorted);
    qsort(sorted, t->count, sizeof *sorted, by_place);
    struct event *events = must_calloc(t->count, sizeof *events);
    for (size_t i = 0; i < t->count; ++i)
        events[i] = sorted[i].event;
    free(sorted);
    return events;
}

/* Which watch an event belongs to; 0: the launch's end, which is always told. */
static const uint32_t watch_of[EVENT_KINDS] = {
    [EVENT_OUT_OF_BOUNDS] = WATCH_BOUNDS,   [EVENT_READ_ONLY] = WATCH_BOUNDS,
    [EVENT_MISALIGNED] = WATCH_ALIGNMENT,   [EVENT_PLANE] = WATCH_PLANES,
    [EVENT_DIVERGENT_BARRIER] = WATCH_SYNC, [EVENT_DIVERGENT_ALIGNED] = WATCH_SYNC,
    [EVENT_BARRIER_OPERAND] = WATCH_SYNC,   [EVENT_ABSENT_LANE] = WATCH_SYNC,
    [EVENT_UNINITIALISED] = WATCH_UNINIT,   [EVENT_RACE] = WATCH_HAZARDS,
    [EVENT_BENIGN_RACE] = WATCH_HAZARDS,    [EVENT_ASYNC_PENDING] = WATCH_ASYNC,
    [EVENT_ASYNC_EXIT] = WATCH_ASYNC,
};

void event_at(struct warp *w, const struct record *r, unsigned lane, struct event v) {
    struct block *b = w->block;
    if (!watches(b->machine, watch_of[v.kind]))
        return;
    memcpy(v.block, b->id, sizeof v.block);
    v.warp = w->number;
    v.lane = lane;
    v.instruction = r->site;
    v.count = v.count ? v.count : 1;
    events_add(&b->events, &v, b->place, b->event_order++);
}

void event_keep_lanes(struct event *v, uint32_t mask, const uint32_t at[LANES]) {
    v->lanes.mask = mask;
    for (uint32_t left = mask; left; left &= left - 1) /* of the others anything may stand there */
        v->lanes.at[__builtin_ctz(left)] = at[__builtin_ctz(left)];
}

void event_of_lanes(struct warp *w, const struct record *r, uint32_t lanes, enum event_kind kind) {
    const struct event v = {
        .kind = kind, .buffer = -1, .plane = -1, .other_plane = -1, .count = (uint64_t)__builtin_popcount(lanes)};
    event_at(w, r, (unsigned)__builtin_ctz(lanes), v);
}
