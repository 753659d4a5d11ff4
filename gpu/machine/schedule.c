/* The order of the blocks, and the warps of a block: each runs until its next barrier or the end of its slice, then the
 * next one, in order. SCHEDULE_REVERSED goes from the last to the first; SCHEDULE_RANDOM takes any block and any warp,
 * for slices of any length. Which warp comes next is decided here alone. */
#include "schedule.h"
#include "watch.h"
#include <string.h>

enum { TURN = 1 << 16, LONGEST_DRAW = 12 };

static uint64_t common_divisor(uint64_t a, uint64_t b) {
    while (b) {
        const uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Places and blocks are one to one: the stride has no divisor in common with the number of blocks. */
uint64_t block_at(const struct machine *m, uint64_t place) {
    if (m->block_stride == 1 && !m->block_shift)
        return place;
    return (m->block_stride * place + m->block_shift) % m->blocks; /* both factors are below 2^32 */
}

void order_blocks(struct machine *m) {
    const struct schedule *s = &m->launch->options.schedule;
    m->block_stride = 1;
    m->block_shift = 0;
    if (s->order == SCHEDULE_REVERSED) { /* -place - 1 */
        m->block_stride = m->block_shift = m->blocks - 1;
    } else if (s->order == SCHEDULE_RANDOM) {
        struct random_stream draws = random_open(s->seed, UINT32_MAX); /* no block has this number */
        m->block_shift = random_below(&draws, (uint32_t)m->blocks);
        do
            m->block_stride = random_u32(&draws) % m->blocks;
        while (common_divisor(m->block_stride, m->blocks) != 1);
    }
}

/* In order and reversed, a turn ends a spin loop and little else. Random slices are of every scale, from one
 * instruction up. */
uint32_t slice_of(struct block *b) {
    if (order_of(b) != SCHEDULE_RANDOM)
        return TURN;
    const uint32_t scale = draw_below(b, LONGEST_DRAW + 1);
    return 1 + draw_below(b, 1u << scale);
}

static bool ready(const struct warp *w) {
    return w->state == WARP_READY;
}

/* The warp to run after `last`, or UINT32_MAX when none can go on. */
static uint32_t next_warp(struct block *b, uint32_t last) {
    const uint32_t count = b->machine->warps;
    const enum schedule_order order = order_of(b);
    if (order == SCHEDULE_RANDOM)
        last = draw_below(b, count);
    for (uint32_t i = 1; i <= count; ++i) {
        const uint32_t w = (order == SCHEDULE_REVERSED ? last + count - i : last + i) % count;
        if (ready(&b->warps[w]))
            return w;
    }
    return UINT32_MAX;
}

static void join_clocks(uint32_t into[LANES], const uint32_t from[LANES]) {
    for (int x = 0; x < LANES; ++x)
        into[x] = from[x] > into[x] ? from[x] : into[x];
}

/* What bar.red gives to each thread that waited: popc, and, or over the predicates of all. */
static void give_result(struct warp *w, const struct barrier *bar) {
    const struct record *r = &w->block->machine->program->records[w->pc - 1];
    if (r->imm & BARRIER_POPC) {
        for (uint32_t left = w->barrier_lanes; left; left &= left - 1)
            reg32(w, r->dst)[__builtin_ctz(left)] = bar->yes;
    } else if (r->imm & BARRIER_RED) {
        const bool holds = r->imm & BARRIER_AND ? bar->yes == bar->votes : bar->yes > 0;
        set_pred(w, r->dst, holds ? ALL_LANES : 0, w->barrier_lanes);
    }
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
        give_result(w, bar);
        watch_release(w);
    }
    watch_barrier(b, waiting == running && (!bar->expected || running == count));
    bar->arrived = bar->expected = bar->votes = bar->yes = 0;
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

/* PTX ISA 9.7.13.1: barriers are numbered 0 to 15, a thread count is a multiple of the warp's size and not 0, and the
 * lanes of a warp name the same ones: for an aligned barrier that is a rule, and others are not run apart here. */
static bool is_operand_right(const struct warp *w, const struct record *r, uint32_t mask, unsigned lane) {
    const uint32_t *id = reg32(w, r->a), *count = r->b ? reg32(w, r->b) : NULL;
    for (uint32_t left = mask; left; left &= left - 1) {
        const int i = __builtin_ctz(left);
        if (id[i] != id[lane] || (count && count[i] != count[lane]))
            return false;
    }
    return id[lane] < 16 && (!count || (count[lane] && count[lane] % LANES == 0 && count[lane] <= 1024));
}

/* A warp counts as a whole, also when only some of its lanes come: for an aligned barrier that is an event.
 * imm: BARRIER_...; bar.arrive does not wait. a = barrier, b = threads or 0; .red: c = predicate (| GUARD_NEGATED), dst
 * = result. */
void barrier_arrive(struct warp *w, const struct record *r, uint32_t mask) {
    const unsigned lane = (unsigned)__builtin_ctz(mask);
    const unsigned id = reg32(w, r->a)[lane] & 15;
    struct barrier *bar = &w->block->barriers[id];
    if (!is_operand_right(w, r, mask, lane))
        event_of_lanes(w, r, mask, EVENT_BARRIER_OPERAND);
    if (mask != w->live && r->imm & BARRIER_ALIGNED)
        event_of_lanes(w, r, mask, EVENT_DIVERGENT_BARRIER);
    if (may_be_early(bar, w))
        leave_open(w->block->machine, OPEN_BARRIER);
    bar->arrived += LANES;
    ++w->clock[w->number];
    join_clocks(bar->clock, w->clock);
    if (r->b)
        bar->expected = reg32(w, r->b)[lane];
    if (r->imm & BARRIER_RED) {
        const uint32_t held = w->preds[r->c & ~GUARD_NEGATED] ^ (r->c & GUARD_NEGATED ? ALL_LANES : 0);
        bar->votes += (uint32_t)__builtin_popcount(mask);
        bar->yes += (uint32_t)__builtin_popcount(held & mask);
    }
    if (r->imm & BARRIER_ARRIVE) {
        watch_arrive(w);
        return;
    }
    w->barrier = id;
    w->barrier_lanes = mask;
    w->state = WARP_WAITING;
}

static void report_deadlock(struct block *b) {
    for (uint32_t i = 0; i < b->machine->warps; ++i) {
        struct warp *w = &b->warps[i];
        if (w->state != WARP_WAITING)
            continue;
        event_of_lanes(w, &b->machine->program->records[w->pc - 1], w->barrier_lanes, EVENT_DEADLOCK);
    }
    b->stopped = true;
}

static void run_warps(struct block *b) {
    uint32_t w = order_of(b) == SCHEDULE_REVERSED ? 0 : b->machine->warps - 1;
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
