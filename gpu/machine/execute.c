/* A warp in execution. Straight runs of records have no check but their guards; between runs the warp looks at joins,
 * branches, barriers, its budget.
 *
 * Divergence: a branch whose lanes disagree leaves a frame for the place where both sides join again (its immediate
 * post-dominator) and one for the other side, and goes on with one side; a side that reaches the join ends, and the
 * frame below takes over. Legal by PTX ISA 9.7.12 and facts/ptx.md K-2. Lanes that exit leave every frame. */
#include "machine.h"
#include <string.h>

void warp_start(struct warp *w, uint32_t lanes) {
    w->live = w->mask = lanes;
    w->pc = 0;
    w->join = NO_RECORD;
    w->depth = 0;
    w->state = lanes ? WARP_READY : WARP_DONE;
}

static void push(struct warp *w, uint32_t pc, uint32_t join, uint32_t mask) {
    w->stack[w->depth++] = (struct frame){.pc = pc, .join = join, .mask = mask};
}

/* Takes up the innermost frame that still has lanes and work; the warp is done when there is none. */
static void pop(struct warp *w) {
    while (w->depth) {
        const struct frame f = w->stack[--w->depth];
        const uint32_t mask = f.mask & w->live;
        if (!mask || f.pc == f.join)
            continue;
        w->pc = f.pc;
        w->join = f.join;
        w->mask = mask;
        return;
    }
    w->mask = 0;
    w->state = WARP_DONE;
}

static uint32_t guarded(const struct warp *w, const struct record *r) {
    if (!r->guard)
        return w->mask;
    const uint32_t held = w->preds[r->guard & ~GUARD_NEGATED];
    return w->mask & (r->guard & GUARD_NEGATED ? ~held : held);
}

static void branch(struct warp *w, const struct record *r) {
    const uint32_t taken = guarded(w, r), rest = w->mask & ~taken;
    const uint32_t next = w->pc + 1;
    if (!rest || !taken) {
        w->pc = rest ? next : r->dst;
        return;
    }
    /* Where no join is known the sides run until the enclosing one. */
    const uint32_t join = r->a == NO_RECORD ? w->join : r->a;
    if (join != w->join)
        push(w, join, w->join, w->mask);
    if (r->dst != join)
        push(w, r->dst, join, taken);
    if (next != join) {
        w->pc = next;
        w->join = join;
        w->mask = rest;
    } else {
        pop(w);
    }
}

static void leave(struct warp *w, uint32_t lanes) {
    w->live &= ~lanes;
    w->mask &= ~lanes;
    if (w->mask)
        ++w->pc;
    else
        pop(w);
}

/* The handler computes all lanes into the scratch register; those of the mask are taken over. */
static void run_partial(struct warp *w, const struct record *r, uint32_t mask) {
    if (r->blend == BLEND_NONE) {
        r->run(w, r, mask);
        return;
    }
    struct record aside = *r;
    aside.dst = FILE_SCRATCH;
    aside.run(w, &aside, mask);
    if (r->blend == BLEND_32) {
        uint32_t *d = reg32(w, r->dst);
        const uint32_t *s = reg32(w, FILE_SCRATCH);
        for (int i = 0; i < LANES; ++i)
            d[i] = mask & (1u << i) ? s[i] : d[i];
    } else {
        uint64_t *d = reg64(w, r->dst);
        const uint64_t *s = reg64(w, FILE_SCRATCH);
        for (int i = 0; i < LANES; ++i)
            d[i] = mask & (1u << i) ? s[i] : d[i];
    }
}

static void run_straight(struct warp *w, const struct record *r, const struct record *end) {
    if (w->mask == ALL_LANES) {
        for (; r < end; ++r) {
            if (r->guard) {
                const uint32_t mask = guarded(w, r);
                if (mask)
                    run_partial(w, r, mask);
            } else {
                r->run(w, r, ALL_LANES);
            }
        }
        return;
    }
    for (; r < end; ++r) {
        const uint32_t mask = guarded(w, r);
        if (mask)
            run_partial(w, r, mask);
    }
}

static void stop(struct warp *w, const struct record *r, enum event_kind kind) {
    const struct event v = {.kind = kind, .buffer = -1, .plane = -1, .other_plane = -1};
    event_at(w, r, (unsigned)__builtin_ctz(w->mask), v);
    w->block->stopped = w->block->ends_grid = true;
}

void warp_run(struct warp *w) {
    struct block *b = w->block;
    const struct machine *m = b->machine;
    const struct program *p = m->program;
    while (w->state == WARP_READY) {
        if (w->pc == w->join) {
            pop(w);
            continue;
        }
        const uint32_t end = p->run_end[w->pc];
        run_straight(w, p->records + w->pc, p->records + end);
        b->steps += p->weight[end] - p->weight[w->pc];
        w->pc = end;
        const struct record *r = &p->records[end];
        if (r->control == CONTROL_NONE || w->pc == w->join)
            continue; /* a leader: a join may be here */
        b->steps += r->weight;
        if (b->steps > m->budget) {
            stop(w, r, EVENT_STEP_BUDGET);
            return;
        }
        switch (r->control) {
        case CONTROL_BRANCH:
            if (atomic_load_explicit(&m->stop_after, memory_order_relaxed) < b->number) {
                b->stopped = true; /* this block's results are not wanted any more */
                return;
            }
            branch(w, r);
            break;
        case CONTROL_EXIT:
            leave(w, guarded(w, r));
            break;
        case CONTROL_TRAP:
            if (guarded(w, r)) {
                stop(w, r, EVENT_TRAP);
                return;
            }
            ++w->pc;
            break;
        default: {
            const uint32_t mask = guarded(w, r);
            ++w->pc;
            if (mask)
                barrier_arrive(w, r, mask);
        }
        }
    }
}
