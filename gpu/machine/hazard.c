/* Races: accesses of one byte by two threads that nothing orders, at least one of them a store (race.h, order.h).
 *
 * What a clean run proves. Let E be the run in order (each warp up to its next barrier, lanes in ascending order), and
 * let no two accesses of E race, benign ones aside. Then every schedule that PTX allows leaves the same bytes:
 *   Take any other schedule S and go along it; suppose that up to some step every thread has done what it did in E: the
 *   same instructions with the same operands, in its own program order. The next step of S is by a thread whose
 *   registers are those of E, so it does what that thread did in E; only what a load gives must be shown. Every store
 *   to a byte that it loads is, in E, ordered with the load by barriers and program order. These orders are the same in
 *   every schedule, because who comes to which barrier follows from what the threads did so far. Stores ordered before
 *   the load have been done in S too, and in the order of E among each other, or they store the same value side by side
 *   (benign); stores ordered after it cannot have been done. So the load gives what it gave in E, and by induction all
 *   of S is as E. The last store of each byte is the same by the same argument.
 * Addresses and branches need no assumption: they cannot depend on racy data, because there is none. The argument does
 * need that nothing but loads can tell schedules apart, and where that fails trace.order_open says so: strong accesses
 * of what the launch writes (they may race, and the order is open), activemask, a barrier to which a warp may come a
 * turn early, blocks that store different bytes to one cell, and whatever was not watched or was over budget.
 * A run with a race names one pair in every byte's first conflict; what comes after it may depend on it.
 *
 * How. All of shared memory's accesses go into a log (5 to 10 ns each) until a barrier opens that all warps took part
 * in: accesses before it are ordered before all later ones. An interval without a store then drops its log. Otherwise
 * two passes with bitmaps find the bytes that were stored twice, or stored and loaded (hazard_shared.c); where there
 * are none, nothing was stored for anyone else. Only accesses of contested bytes are judged one by one, in the order
 * of execution, with the clocks of that moment, so barriers of some warps and bar.warp.sync count as what they are. A
 * log that gets too long is judged on the way.
 *
 * cp.async: from its issue to its wait a copy is a store in progress that nothing is ordered with, its own thread's
 * accesses included: EVENT_ASYNC_PENDING, with the copy as `other`. At its issue it is a store like any other: a byte
 * that another thread may still be reading is EVENT_RACE, the overwritten stage. From its wait on it is a store of its
 * lane at that place: others need a barrier after the wait. Its source, where the launch may write it, is the same with
 * a load (hazard_global_copy): a store to it between the two is EVENT_ASYNC_PENDING, the thread's own too. So what a
 * copy gives is what is there at its issue, whenever it lands, and two copies that give one byte the same value are
 * benign as two stores of it are: whichever lands last, the byte is the same, and who reads it between the two waits
 * has read it in flight. */
#include "hazard.h"
#include "../../ref/checked.h"
#include <stdlib.h>
#include <string.h>

bool hazard_open(struct block *b, struct error *e) {
    const struct machine *m = b->machine;
    const uint32_t off = m->launch->options.unwatched;
    const bool races = !(off & WATCH_HAZARDS), copies = !(off & WATCH_ASYNC);
    if (!races && !(copies && m->shared_bytes))
        return true;
    struct hazards *h = must_calloc(1, sizeof *h);
    b->hazards = h;
    h->races = races;
    h->copies = copies;
    h->words = m->shared_bytes / 4 + 1;
    h->bit_bytes = m->shared_bytes / 8 + 8;
    h->past = calloc(m->warps, sizeof *h->past);
    h->live = calloc(m->warps, sizeof *h->live);
    h->stored = calloc(h->bit_bytes, 1);
    h->contested = calloc(h->bit_bytes, 1);
    h->heads = calloc(h->words, sizeof *h->heads);
    race_open(&h->exact);
    if (!h->past || !h->live || !h->stored || !h->contested || !h->heads)
        return fail(e, "no memory to watch the %zu bytes of shared memory of a block", m->shared_bytes);
    return true;
}

void hazard_close(struct block *b) {
    struct hazards *h = b->hazards;
    if (!h)
        return;
    for (size_t i = 0; i < h->flying_room; ++i)
        free(h->flying[i].values);
    free(h->log), free(h->values), free(h->past), free(h->live);
    free(h->stored), free(h->contested), free(h->heads), free(h->flying);
    race_close(&h->exact);
    free(h);
    b->hazards = NULL;
}

/* Everything so far is ordered before everything to come. */
static void forget(struct hazards *h, uint32_t warps) {
    h->count = 0;
    h->value_count = 0;
    h->streaming = false;
    h->written = h->flying_count > 0;
    if (h->dirty) {
        memset(h->heads, 0, h->words * sizeof *h->heads);
        race_reset(&h->exact);
        h->dirty = false;
    }
    for (uint32_t i = 0; i < warps; ++i) { /* all warps have waited: the parts of a warp are together */
        memcpy(h->past[i].clock, h->live[i].clock, sizeof h->past[i].clock);
        h->past[i].syncs = h->live[i].syncs;
        h->past[i].whole = h->live[i].whole;
        h->past[i].parts = false;
    }
}

/* Judges the log up to here. */
static void settle(struct block *b) {
    struct hazards *h = b->hazards;
    if (h->written) {
        if (h->streaming || hazard_contested(h))
            hazard_replay(b, h->streaming);
        hazard_land(h);
    }
    if (h->exact.full)
        leave_open(b->machine, OPEN_BUDGET);
    if (h->exact.settled)
        leave_open(b->machine, OPEN_STRONG);
}

void hazard_start(struct block *b) {
    struct hazards *h = b->hazards;
    h->flying_count = 0;
    h->index = 0;
    h->busy = h->races && b->machine->shared_bytes;
    h->exact.settled = false;
    race_block(&h->exact);
    for (uint32_t i = 0; i < b->machine->warps; ++i)
        order_start(&h->live[i]);
    forget(h, b->machine->warps);
    if (b->machine->exact)
        hazard_global_start(b);
}

void hazard_end(struct block *b) {
    settle(b);
    if (b->machine->exact)
        hazard_global_end(b);
}

void hazard_barrier(struct block *b, bool all) {
    if (!all)
        return;
    settle(b);
    forget(b->hazards, b->machine->warps);
}

/* The log is full: what is in it is judged now, and so is all that follows until the next barrier of all warps. */
static void stream(struct block *b) {
    struct hazards *h = b->hazards;
    h->streaming = true;
    hazard_replay(b, true);
    hazard_land(h);
    h->count = 0;
    h->value_count = 0;
}

static struct entry *append(struct warp *w, enum entry_kind kind, const struct record *r, uint32_t mask) {
    struct hazards *h = w->block->hazards;
    if (__builtin_expect(h->count == h->room, 0)) {
        if (h->room >= LOG_ENTRIES) {
            stream(w->block);
        } else {
            h->room = h->room ? 2 * h->room : 1024;
            h->log = must_realloc(h->log, h->room, sizeof *h->log);
        }
    }
    struct entry *x = &h->log[h->count++];
    x->r = r;
    x->mask = mask;
    x->values = 0;
    x->index = ++h->index;
    x->kind = (uint8_t)kind;
    x->warp = (uint8_t)w->number;
    x->bytes = 0;
    x->flags = 0;
    return x;
}

/* The registers that are stored, as they are. */
static uint32_t keep_values(struct warp *w, const struct record *r, const struct access *x) {
    struct hazards *h = w->block->hazards;
    const size_t words = x->wide_registers ? 2 * LANES : LANES;
    if (h->value_room - h->value_count < 16 * 2 * LANES) {
        h->value_room = 2 * h->value_room + 16 * 2 * LANES;
        h->values = must_realloc(h->values, h->value_room, sizeof *h->values);
    }
    const uint32_t at = (uint32_t)h->value_count;
    for (unsigned i = 0; i < x->elements; ++i) {
        memcpy(h->values + h->value_count, w->regs + w->wide[r->wide + i], words * sizeof *h->values);
        h->value_count += words;
    }
    return at + 1;
}

void hazard_shared(struct warp *w, const struct record *r, uint32_t mask, const uint32_t at[LANES]) {
    struct hazards *h = w->block->hazards;
    const struct access *x = &w->block->machine->program->accesses[r->c];
    struct entry *e = append(w, ENTRY_ACCESS, r, mask);
    memcpy(e->at, at, sizeof e->at);
    e->bytes = x->bytes;
    if (x->store) {
        h->written = true;
        e->flags = RACE_STORE;
        if (x->valued) {
            e->values = keep_values(w, r, x);
            e->flags |= RACE_VALUED;
        }
    }
    if (x->strong) {
        e->flags |= RACE_STRONG;
        leave_open(w->block->machine, OPEN_STRONG);
        if (w->block->machine->exact)
            race_strong(w->block->machine->global, w->number, ++w->block->machine->global_places, x->order);
    }
}

/* From now on every access of shared memory must be logged. */
static void begin(struct block *b) {
    struct hazards *h = b->hazards;
    const struct machine *m = b->machine;
    h->busy = true;
    memcpy(h->past, h->live, m->warps * sizeof *h->past);
    for (size_t i = 0; i < m->program->access_count; ++i) {
        struct site_range *s = &b->sites[i];
        if (s->range && !s->region)
            s->watched = watch_bits(b, &m->ranges[s->range - 1]);
    }
}

/* What copies give, lane after lane. */
static uint32_t keep_copied(struct hazards *h, const uint8_t *const from[LANES], uint32_t bytes) {
    if (h->value_room - h->value_count < 4 * LANES) {
        h->value_room = 2 * h->value_room + 16 * 2 * LANES;
        h->values = must_realloc(h->values, h->value_room, sizeof *h->values);
    }
    const uint32_t at = (uint32_t)h->value_count;
    uint8_t *to = (uint8_t *)(h->values + at);
    for (size_t i = 0; i < LANES; ++i)
        if (bytes == 16)
            memcpy(to + 16 * i, from[i], 16);
        else
            memcpy(to + bytes * i, from[i], bytes);
    h->value_count += (size_t)LANES * bytes / 4;
    return at + 1;
}

void hazard_copies(struct warp *w, const struct record *r, uint32_t mask, const uint32_t at[LANES], uint32_t bytes,
                   const uint8_t *const from[LANES]) {
    struct hazards *h = w->block->hazards;
    if (!h->busy)
        begin(w->block);
    h->written = true;
    struct entry *e = append(w, from ? ENTRY_ISSUE : ENTRY_WAIT, r, mask);
    e->bytes = (uint8_t)bytes;
    e->flags = RACE_STORE | RACE_VALUED;
    if (from)
        e->values = keep_copied(h, from, bytes);
    memcpy(e->at, at, sizeof e->at);
}

void hazard_sync(struct warp *w, uint32_t members) {
    struct block *b = w->block;
    struct hazards *h = b->hazards;
    struct warp_order *o = &h->live[w->number];
    order_sync(o, members, w->existing);
    if (!h->busy)
        return;
    if (b->machine->warps == 1 && o->whole == o->syncs) { /* the warp is the block */
        settle(b);
        forget(h, 1);
        return;
    }
    append(w, ENTRY_SYNC, NULL, members);
}

void hazard_arrive(struct warp *w, bool waited) {
    struct hazards *h = w->block->hazards;
    struct warp_order *o = &h->live[w->number];
    memcpy(o->clock, w->clock, sizeof o->clock);
    if (waited)
        order_whole(o);
    if (h->busy)
        memcpy(append(w, waited ? ENTRY_RELEASE : ENTRY_CLOCK, NULL, 0)->at, w->clock, sizeof w->clock);
}

void hazard_fence(struct warp *w, bool cta) {
    struct machine *m = w->block->machine;
    if (w->block->hazards->busy)
        append(w, ENTRY_FENCE, NULL, 0);
    if (m->exact)
        race_fence(m->global, w->number, ++m->global_places, cta);
}

void hazard_strong(struct warp *w, const struct record *r) {
    if (w->block->hazards->busy)
        append(w, ENTRY_STRONG, NULL, w->block->machine->program->accesses[r->c].order);
}
