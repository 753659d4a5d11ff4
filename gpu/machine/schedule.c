/* The warps of a block: each runs until its next barrier, then the next one, in order. Which warp comes next is decided
 * here alone. */
#include "watch.h"
#include <string.h>

static bool ready(const struct warp *w) {
    return w->state == WARP_READY;
}

/* The warp to run after `last` (start: UINT32_MAX), or UINT32_MAX when none can go on. */
static uint32_t next_warp(const struct block *b, uint32_t last) {
    const uint32_t count = b->machine->warps;
    for (uint32_t i = 1; i <= count; ++i) {
        const uint32_t w = (uint32_t)(((uint64_t)last + i) % count);
        if (ready(&b->warps[w]))
            return w;
    }
    return UINT32_MAX;
}

static void join_clocks(uint32_t into[LANES], const uint32_t from[LANES]) {
    for (int x = 0; x < LANES; ++x)
        into[x] = from[x] > into[x] ? from[x] : into[x];
}

/* A barrier opens: its warps go on, and know of everything that those did that came to it. Threads that have exited
 * count as having come to a barrier that waits for the whole block, as it does on hardware. */
static void open_barrier(struct block *b, unsigned id, uint32_t running) {
    struct barrier *bar = &b->barriers[id];
    const uint32_t count = b->machine->warps;
    uint32_t waiting = 0;
    for (uint32_t i = 0; i < count && !bar->expected; ++i)
        if (b->warps[i].state == WARP_DONE)
            join_clocks(bar->clock, b->warps[i].clock);
    for (uint32_t i = 0; i < count; ++i) {
        struct warp *w = &b->warps[i];
        if (w->state != WARP_WAITING || w->barrier != id)
            continue;
        ++waiting;
        w->state = WARP_READY;
        join_clocks(w->clock, bar->clock);
        ++w->syncs;
        watch_release(w);
    }
    watch_barrier(b, waiting == running && (!bar->expected || running == count));
    bar->arrived = bar->expected = 0;
    memcpy(bar->opened, bar->clock, sizeof bar->opened);
    memset(bar->clock, 0, sizeof bar->clock);
}

static void release(struct block *b) {
    uint32_t running = 0;
    for (uint32_t i = 0; i < b->machine->warps; ++i)
        running += b->warps[i].state != WARP_DONE;
    for (unsigned id = 0; id < 16; ++id) {
        const struct barrier *bar = &b->barriers[id];
        if (bar->arrived && bar->arrived >= (bar->expected ? bar->expected : running * LANES))
            open_barrier(b, id, running);
    }
}

/* This warp could have come before the barrier opened the last time: then who met whom is open. */
static bool may_be_early(const struct barrier *bar, const struct warp *w) {
    for (int x = 0; x < LANES; ++x)
        if (bar->opened[x] > w->clock[x])
            return true;
    return false;
}

/* A warp counts as a whole, also when only some of its lanes come: for an aligned barrier that is an event.
 * imm: enum BARRIER_*; bar.arrive does not wait. a = barrier, b = threads or 0. */
void barrier_arrive(struct warp *w, const struct record *r, uint32_t mask) {
    const unsigned lane = (unsigned)__builtin_ctz(mask);
    const unsigned id = reg32(w, r->a)[lane] & 15;
    struct barrier *bar = &w->block->barriers[id];
    if (mask != w->live && r->imm & BARRIER_ALIGNED) {
        const struct event v = {.kind = EVENT_DIVERGENT_BARRIER, .buffer = -1, .plane = -1, .other_plane = -1};
        event_at(w, r, lane, v);
    }
    if (may_be_early(bar, w))
        leave_open(w->block->machine, OPEN_BARRIER);
    bar->arrived += LANES;
    ++w->clock[w->number];
    join_clocks(bar->clock, w->clock);
    if (r->b)
        bar->expected = reg32(w, r->b)[lane];
    if (r->imm & BARRIER_ARRIVE) {
        watch_arrive(w);
        return;
    }
    w->barrier = id;
    w->state = WARP_WAITING;
}

static void report_deadlock(struct block *b) {
    for (uint32_t i = 0; i < b->machine->warps; ++i) {
        struct warp *w = &b->warps[i];
        if (w->state != WARP_WAITING)
            continue;
        const struct event v = {.kind = EVENT_DEADLOCK, .buffer = -1, .plane = -1, .other_plane = -1};
        event_at(w, &b->machine->program->records[w->pc - 1], (unsigned)__builtin_ctz(w->live), v);
    }
    b->stopped = true;
}

static void run_warps(struct block *b) {
    uint32_t w = b->machine->warps - 1;
    while ((w = next_warp(b, w)) != UINT32_MAX) {
        warp_run(&b->warps[w]);
        if (b->stopped)
            return;
        b->warps[w].clock[w] += b->warps[w].state == WARP_DONE; /* as if it came to a barrier */
        release(b);
    }
    for (uint32_t i = 0; i < b->machine->warps; ++i)
        if (b->warps[i].state == WARP_WAITING) {
            report_deadlock(b);
            return;
        }
}

void block_run(struct block *b) {
    watch_start(b);
    run_warps(b);
    watch_end(b);
}
