/* A warp in execution. While all its live lanes are together, straight runs of records have no check but their guards;
 * between runs the warp looks at branches, barriers, its budget.
 *
 * Divergence: a branch whose lanes disagree makes two groups. Of several groups the one at the lowest place runs, since
 * compilers put the place where paths join behind the paths; groups that meet become one. A record that needs certain
 * lanes (a barrier, ldmatrix, mma, a .sync operation) makes its group wait until they have come or have exited, as
 * hardware does; only when all groups wait and none can go on does the lowest go without the others, and the handler
 * makes an event of it. Lanes in a function are one group with others there only when they came by the same calls
 * (struct frame), and what is called comes before what follows the call. A group that spins gives way at the end of its
 * slice, to other groups and other warps. Other schedules (schedule.h) run the highest group first, or any, and give
 * way anywhere. Legal by PTX ISA 9.7.12: there is no promise of where lanes join, and none is needed. */
#include "schedule.h"
#include "watch.h"
#include <string.h>

void warp_start(struct warp *w, uint32_t lanes) {
    w->existing = w->live = w->mask = lanes;
    w->pc = 0;
    frames_start(w, lanes);
    w->other_count = 0;
    w->pinned = w->forced = false;
    w->syncs = 0;
    memset(w->clock, 0, sizeof w->clock);
    memset(w->absent, 0, sizeof w->absent);
    memset(w->unset_load, 0, sizeof w->unset_load);
    memset(w->last_effect, 0, sizeof w->last_effect);
    w->astray = false;
    w->strayed = 0;
    w->slice = 0;
    w->state = lanes ? WARP_READY : WARP_DONE;
}

static uint32_t guarded(const struct warp *w, const struct record *r) {
    if (!r->guard)
        return w->mask;
    const uint32_t held = w->preds[r->guard & ~GUARD_NEGATED];
    return w->mask & (r->guard & GUARD_NEGATED ? ~held : held);
}

/* The member mask of each lane; NULL for .aligned: the whole warp. */
static const uint32_t *member_masks(const struct warp *w, const struct record *r) {
    switch (r->gather) {
    case GATHER_MEMBERS_A:
        return reg32(w, r->a);
    case GATHER_MEMBERS_B:
        return reg32(w, r->b);
    case GATHER_MEMBERS_WIDE:
        return reg32(w, w->wide[r->wide]);
    default:
        return NULL;
    }
}

uint32_t named_members(const struct warp *w, const struct record *r, uint32_t mask) {
    const uint32_t *named = member_masks(w, r);
    return named ? named[__builtin_ctz(mask)] : ALL_LANES;
}

uint32_t alike_members(const struct warp *w, const struct record *r, uint32_t mask) {
    const uint32_t *named = member_masks(w, r);
    uint32_t other = 0;
    if (!named || !mask)
        return mask;
    const uint32_t first = named[__builtin_ctz(mask)];
    for (unsigned i = 0; i < LANES; ++i)
        other |= (uint32_t)(named[i] != first) << i;
    return mask & ~other;
}

/* Lanes that record r needs and that are neither in the mask nor exited. */
static uint32_t missing(const struct warp *w, const struct record *r, uint32_t mask) {
    uint32_t named = 0, same;
    if (!r->gather)
        return 0;
    for (uint32_t left = mask; left; left &= ~same) {
        same = alike_members(w, r, left);
        named |= named_members(w, r, left);
    }
    return named & w->live & ~mask;
}

/* ---- groups ---- */

/* The lanes at pc join whatever group is there. */
static void add_group(struct warp *w, struct frame *f, uint32_t pc, uint32_t mask, uint32_t missed) {
    for (unsigned i = 0; i < w->other_count; ++i)
        if (w->others[i].pc == pc && w->others[i].frame == f) {
            w->others[i].mask |= mask;
            w->others[i].missed &= ~mask;
            stray_together(w, w->others[i].mask);
            w->others[i].waiting = false; /* perhaps it is complete now */
            return;
        }
    w->others[w->other_count++] = (struct group){
        .pc = pc, .mask = mask, .frame = f, .waiting = missed, .missed = missed, .since = w->block->steps};
}

/* Lanes that an ldmatrix or mma waited for and that exited instead make an event; at a barrier and for a .sync
 * operation that is in order (PTX ISA 9.7.13.1, 9.7.9.6). */
static void run_group(struct warp *w, unsigned i) {
    const struct group g = w->others[i];
    const struct record *r = &w->block->machine->program->records[g.pc];
    w->others[i] = w->others[--w->other_count];
    w->pc = g.pc;
    w->mask = g.mask;
    w->frame = g.frame;
    if (g.missed & ~w->live && r->gather == GATHER_LIVE && r->control != CONTROL_BARRIER)
        event_diverged(w, r, g.mask);
}

static bool is_before(const struct group *a, const struct group *b) {
    return frame_order(a->frame, a->pc, b->frame, b->pc) < 0;
}

static unsigned pick_any(const struct warp *w) {
    unsigned ready = 0;
    for (unsigned i = 0; i < w->other_count; ++i)
        ready += !w->others[i].waiting;
    if (!ready)
        return UINT32_MAX;
    for (unsigned i = 0, left = draw_below(w->block, ready);; ++i)
        if (!w->others[i].waiting && left-- == 0)
            return i;
}

/* Of the groups that do not wait: the lowest (SCHEDULE_REVERSED: the highest, _RANDOM: any), or (oldest) the one that
 * has not run for longest. UINT32_MAX: none. */
static unsigned pick(const struct warp *w, bool oldest) {
    const enum schedule_order order = order_of(w->block);
    const uint32_t turn = order == SCHEDULE_REVERSED ? UINT32_MAX : 0; /* turns the order of places */
    unsigned best = UINT32_MAX;
    if (order == SCHEDULE_RANDOM)
        return pick_any(w);
    for (unsigned i = 0; i < w->other_count; ++i) {
        const struct group *g = &w->others[i];
        if (g->waiting)
            continue;
        if (best == UINT32_MAX ||
            (oldest ? g->since < w->others[best].since : is_before(g, &w->others[best]) != (turn != 0)))
            best = i;
    }
    return best;
}

/* Groups that have come to one place become one. */
static void merge_groups(struct warp *w) {
    for (unsigned i = 0; i < w->other_count; ++i)
        for (unsigned k = i + 1; k < w->other_count;) {
            struct group *a = &w->others[i];
            const struct group *b = &w->others[k];
            if (a->pc != b->pc || a->frame != b->frame) {
                ++k;
                continue;
            }
            a->mask |= b->mask;
            stray_together(w, a->mask);
            a->missed = (a->missed | b->missed) & ~a->mask;
            a->waiting = false; /* perhaps it is complete now */
            w->others[k] = w->others[--w->other_count];
        }
}

/* Groups that wait at several places for one .sync operation (same operation, same member mask) do it there and then,
 * once all members have come or exited: lanes need not be at one instruction (PTX ISA 9.7.9.6, and as an H200 does it).
 * nvcc makes such code where it unrolls a loop with a shuffle in it. */
static void meet(struct warp *w) {
    struct block *b = w->block;
    const struct record *records = b->machine->program->records;
    for (unsigned i = 0; i < w->other_count; ++i) {
        struct group *g = &w->others[i];
        const struct record *r = &records[g->pc];
        if (!g->waiting || r->gather == GATHER_LIVE || alike_members(w, r, g->mask) != g->mask)
            continue;
        struct part parts[LANES];
        struct group *met[LANES];
        unsigned count = 0;
        uint32_t here = 0;
        const uint32_t named = named_members(w, r, g->mask);
        for (unsigned k = 0; k < w->other_count; ++k) {
            struct group *x = &w->others[k];
            const struct record *s = &records[x->pc];
            if (!x->waiting || s->run != r->run || s->imm != r->imm || named_members(w, s, x->mask) != named ||
                alike_members(w, s, x->mask) != x->mask)
                continue;
            parts[count] = (struct part){s, 0};
            met[count++] = x;
            here |= x->mask;
        }
        if (count < 2 || named & w->live & ~here)
            continue;
        for (unsigned k = 0; k < count; ++k) {
            const uint32_t held = parts[k].r->guard ? w->preds[parts[k].r->guard & ~GUARD_NEGATED] : ALL_LANES;
            parts[k].mask = met[k]->mask & (parts[k].r->guard & GUARD_NEGATED ? ~held : held);
            b->steps += parts[k].r->weight;
        }
        run_together(w, parts, count);
        for (unsigned k = 0; k < count; ++k) {
            ++met[k]->pc;
            met[k]->waiting = false;
            met[k]->missed = 0;
        }
    }
    merge_groups(w);
}

/* Decides which group runs next. False: there is none, the warp is done. */
static bool choose(struct warp *w, bool turn) {
    const struct record *records = w->block->machine->program->records;
    const bool stay = w->pinned && w->mask && !turn;
    if (stay) { /* but take along whoever waits here */
        for (unsigned i = 0; i < w->other_count; ++i)
            if (w->others[i].pc == w->pc && w->others[i].frame == w->frame) {
                w->mask |= w->others[i].mask;
                stray_together(w, w->mask);
                w->others[i] = w->others[--w->other_count];
                break;
            }
        return true;
    }
    w->pinned = turn;
    if (w->mask)
        add_group(w, w->frame, w->pc, w->mask, 0);
    w->mask = 0;
    if (!w->other_count) {
        w->state = WARP_DONE;
        return false;
    }
    for (unsigned i = 0; i < w->other_count; ++i) {
        struct group *g = &w->others[i];
        g->waiting = g->waiting && missing(w, &records[g->pc], g->mask);
    }
    meet(w);
    unsigned next = pick(w, turn);
    if (next == UINT32_MAX) { /* all wait for each other */
        w->forced = true;
        next = 0;
        for (unsigned i = 1; i < w->other_count; ++i)
            next = is_before(&w->others[i], &w->others[next]) ? i : next;
    }
    run_group(w, next);
    return true;
}

/* The group that runs must wait before record pc for lanes that are elsewhere. */
static bool must_wait(struct warp *w, const struct record *r) {
    if (!r->gather || !w->other_count || !guarded(w, r))
        return false;
    if (w->forced || !missing(w, r, w->mask)) {
        w->forced = false;
        return false;
    }
    add_group(w, w->frame, w->pc, w->mask, missing(w, r, w->mask));
    w->mask = 0;
    w->pinned = false;
    return true;
}

static bool is_exit(const struct record *r) {
    return r->control == CONTROL_EXIT && !r->guard;
}

static void branch(struct warp *w, const struct record *r) {
    const uint32_t taken = guarded(w, r), rest = w->mask & ~taken;
    const uint32_t next = w->pc + 1;
    const struct record *records = w->block->machine->program->records;
    w->pc = rest ? next : r->dst;
    if (!rest || !taken || r->dst == next)
        return;
    if (is_exit(&records[r->dst])) { /* an early return: those lanes are gone at once, nobody waits for them */
        w->block->steps += records[r->dst].weight;
        watch_exit(w, &records[r->dst], taken);
        stray_exit(w, taken);
        frames_exit(w->frame, taken, w->block);
        w->live &= ~taken;
        w->mask = rest;
    } else if (is_exit(&records[next])) {
        w->block->steps += records[next].weight;
        watch_exit(w, &records[next], rest);
        stray_exit(w, rest);
        frames_exit(w->frame, rest, w->block);
        w->live &= ~rest;
        w->mask = taken;
        w->pc = r->dst;
    } else {
        add_group(w, w->frame, r->dst, taken, 0);
        w->mask = rest;
    }
}

static void leave(struct warp *w, const struct record *r, uint32_t lanes) {
    watch_exit(w, r, lanes);
    stray_exit(w, lanes);
    frames_exit(w->frame, lanes, w->block);
    w->live &= ~lanes;
    w->mask &= ~lanes;
    if (w->mask)
        ++w->pc;
    else if (!w->other_count)
        w->state = WARP_DONE;
}

/* ---- records ---- */

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
        if (mask && w->strayed && r->gather)
            stray_check(w, r, mask);
        if (mask)
            run_partial(w, r, mask);
    }
}

/* The same up to `end` while other groups exist: stops before a record that must wait, or where another group is.
 * False: the group waits. */
static bool run_apart(struct warp *w, uint32_t end) {
    struct block *b = w->block;
    const struct program *p = b->machine->program;
    for (unsigned i = 0; i < w->other_count; ++i)
        if (w->others[i].pc > w->pc && w->others[i].pc < end && w->others[i].frame == w->frame)
            end = w->others[i].pc;
    for (; w->pc < end; ++w->pc) {
        const struct record *r = &p->records[w->pc];
        if (must_wait(w, r))
            return false;
        b->steps += r->weight;
        const uint32_t mask = guarded(w, r);
        if (mask && p->effect[w->pc])
            stray_note(w, mask);
        if (mask && w->strayed && r->gather)
            stray_check(w, r, mask);
        if (mask)
            run_partial(w, r, mask);
    }
    return true;
}

void stop_block(struct warp *w, const struct record *r, unsigned lane, struct event v) {
    event_at(w, r, lane, v);
    w->block->stopped = w->block->ends_grid = true;
}

static void stop(struct warp *w, const struct record *r, enum event_kind kind, uint32_t lanes) {
    event_of_lanes(w, r, lanes, kind);
    w->block->stopped = w->block->ends_grid = true;
}

/* brx.idx: each lane goes to the row of the table that its index names. PTX ISA 9.7.12.4 leaves an index past the table
 * open: here it stops the block. */
static void branch_indexed(struct warp *w, const struct record *r) {
    uint32_t left = guarded(w, r);
    const uint32_t rest = w->mask & ~left;
    if (!left) {
        ++w->pc;
        return;
    }
    for (uint32_t lanes = left; lanes; lanes &= lanes - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(lanes);
        if (reg32(w, r->a)[lane] < r->b)
            continue;
        const struct event v = {.kind = EVENT_BAD_TARGET,
                                .buffer = -1,
                                .plane = -1,
                                .other_plane = -1,
                                .offset = reg32(w, r->a)[lane],
                                .bytes = 4};
        stop_block(w, r, lane, v);
        return;
    }
    const uint32_t next = w->pc + 1;
    w->mask = 0;
    if (rest)
        add_group(w, w->frame, next, rest, 0);
    while (left) {
        const uint32_t index = reg32(w, r->a)[__builtin_ctz(left)];
        uint32_t same = 0;
        for (uint32_t lanes = left; lanes; lanes &= lanes - 1)
            if (reg32(w, r->a)[__builtin_ctz(lanes)] == index)
                same |= lanes & -lanes;
        left &= ~same;
        if (!left && !w->other_count) { /* all together */
            w->pc = w->wide[r->wide + index];
            w->mask = same;
        } else {
            add_group(w, w->frame, w->wide[r->wide + index], same, 0);
        }
    }
}

/* A branch: the place where loops are bounded and turns are taken. False: the warp stops here for now. */
static bool take_branch(struct warp *w, const struct record *r) {
    struct block *b = w->block;
    if (atomic_load_explicit(&b->machine->stop_after, memory_order_relaxed) < b->place) {
        b->stopped = true; /* this block's results are not wanted any more */
        return false;
    }
    if (r->control == CONTROL_BRANCH)
        branch(w, r);
    else
        branch_indexed(w, r);
    if (b->stopped)
        return false;
    if (b->steps < w->slice)
        return true;
    w->slice = b->steps + slice_of(b);
    if (w->other_count)
        choose(w, true);
    return false;
}

/* Lanes that call go to the first records of their functions; the others go on. False: the block is stopped. */
static bool take_call(struct warp *w, const struct record *r) {
    uint32_t left = guarded(w, r), went = left;
    const uint32_t rest = w->mask & ~left;
    const struct callee *callees = w->block->machine->program->callees;
    if (!left) {
        ++w->pc;
        return true;
    }
    struct frame *caller = w->frame, *f = call_enter(w, r, left, &went);
    if (rest)
        add_group(w, caller, w->pc + 1, rest, 0);
    while (f && went != left) {
        add_group(w, f, callees[f->function].first, went, 0);
        left &= ~went;
        f = call_enter(w, r, left, &went);
    }
    if (!f)
        return false;
    w->frame = f;
    w->pc = callees[f->function].first;
    w->mask = went;
    return true;
}

static void take_return(struct warp *w, const struct record *r) {
    const uint32_t mask = guarded(w, r), rest = w->mask & ~mask;
    if (!mask) {
        ++w->pc;
        return;
    }
    uint32_t back;
    struct frame *f = w->frame, *caller = call_leave(w, mask, &back);
    if (rest)
        add_group(w, f, w->pc + 1, rest, 0);
    w->frame = caller;
    w->pc = back;
    w->mask = mask;
}

/* Where the run that the warp is in ends, or before it the instruction at which its slice is over. */
static uint32_t end_of_slice(const struct warp *w) {
    const struct program *p = w->block->machine->program;
    const uint32_t end = p->run_end[w->pc];
    const uint64_t left = w->slice > w->block->steps ? w->slice - w->block->steps : 1;
    uint32_t at = w->pc;
    while (at < end && (p->weight[at] - p->weight[w->pc] < left || !p->records[at].weight))
        ++at;
    return at;
}

void warp_run(struct warp *w) {
    struct block *b = w->block;
    const struct machine *m = b->machine;
    const struct program *p = m->program;
    const enum schedule_order order = order_of(b);
    w->slice = b->steps + slice_of(b);
    while (w->state == WARP_READY) {
        if ((w->other_count || !w->mask) && !choose(w, false))
            return;
        const uint32_t end = order == SCHEDULE_RANDOM ? end_of_slice(w) : p->run_end[w->pc];
        if (w->other_count) {
            if (!run_apart(w, end) || w->pc < end)
                continue;
        } else {
            stray_together(w, w->mask);
            run_straight(w, p->records + w->pc, p->records + end);
            b->steps += p->weight[end] - p->weight[w->pc];
            w->pc = end;
        }
        const struct record *r = &p->records[end];
        if (r->control == CONTROL_NONE || must_wait(w, r)) { /* a leader, or other lanes must come first */
            if (order == SCHEDULE_RANDOM && b->steps >= w->slice)
                return; /* or another warp's turn has come */
            continue;
        }
        b->steps += r->weight;
        if (b->steps > m->budget) {
            stop(w, r, EVENT_STEP_BUDGET, w->mask);
            return;
        }
        switch (r->control) {
        case CONTROL_BRANCH:
        case CONTROL_INDEXED:
            if (!take_branch(w, r))
                return;
            break;
        case CONTROL_EXIT:
            leave(w, r, guarded(w, r));
            break;
        case CONTROL_TRAP:
        case CONTROL_ASSERT: {
            const uint32_t mask = guarded(w, r);
            if (mask) {
                if (r->control == CONTROL_ASSERT)
                    print_assertion(w, r, (unsigned)__builtin_ctz(mask));
                stop(w, r, r->control == CONTROL_ASSERT ? EVENT_ASSERT : EVENT_TRAP, mask);
                return;
            }
            ++w->pc;
            break;
        }
        case CONTROL_CALL:
            if (!take_call(w, r))
                return;
            break;
        case CONTROL_RETURN:
            take_return(w, r);
            break;
        default: {
            const uint32_t mask = guarded(w, r);
            if (mask && w->strayed)
                stray_check(w, r, mask);
            ++w->pc;
            if (mask)
                barrier_arrive(w, r, mask);
        }
        }
    }
}
