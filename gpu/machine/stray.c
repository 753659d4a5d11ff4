/* Lanes that go round a barrier or a .sync operation of their warp and leave for good.
 *
 * Lanes that have exited count nowhere, so `if (i >= n) return;` ahead of a barrier is in order. But lanes that branch
 * round the barrier, store what comes behind it and exit then have missed it all the same: PTX ISA 9.7.13.1 wants all
 * threads of the warp at an aligned barrier, 9.7.9.6 all that a member mask names. The two differ in what the lanes
 * do while they are apart: here, that they have an effect at a place which the lanes at the barrier are still to come
 * to. The last such effect of each lane is enough to know: what it did before leads there too, so if an earlier one can
 * be reached from the barrier, the last one can. Which of the groups ran first makes no difference. */
#include "../../ref/checked.h"
#include "watch.h"
#include <stdlib.h>
#include <string.h>

/* One an order of the lanes could show: memory that others see, or that stays. */
static bool has_effect(const struct ptx_instruction *in) {
    static const char *const opcodes[] = {"st", "red", "atom", "cp", "stmatrix", "discard"};
    for (size_t i = 0; i < sizeof opcodes / sizeof *opcodes; ++i)
        if (!strcmp(in->opcode, opcodes[i]))
            return true;
    return false;
}

void stray_mark(struct program *p) {
    p->effect = must_calloc(p->record_count + 1, sizeof *p->effect);
    for (size_t i = 0; i < p->order_count; ++i) {
        const struct callee *c = &p->callees[p->order[i]];
        const size_t end = i + 1 < p->order_count ? p->callees[p->order[i + 1]].first : p->record_count;
        for (size_t k = c->first; k < end; ++k)
            p->effect[k] = p->records[k].weight && p->records[k].site - c->site < c->f->instruction_count &&
                           has_effect(&c->f->instructions[p->records[k].site - c->site]);
    }
}

/* The record of the entry that is being executed, or the call in it. */
static uint32_t place_in_entry(const struct frame *f, uint32_t pc) {
    for (; f->caller; f = f->caller)
        pc = f->back - 1;
    return pc;
}

void stray_note(struct warp *w, uint32_t mask) {
    const uint32_t place = place_in_entry(w->frame, w->pc);
    for (; mask; mask &= mask - 1)
        w->last_effect[__builtin_ctz(mask)] = place + 1;
    w->astray = true;
}

void stray_together(struct warp *w, uint32_t mask) {
    if (!w->astray)
        return;
    for (uint32_t left = mask; left; left &= left - 1)
        w->last_effect[__builtin_ctz(left)] = 0;
    w->astray = mask != w->live;
}

void stray_exit(struct warp *w, uint32_t lanes) {
    for (; w->astray && lanes; lanes &= lanes - 1)
        w->strayed |= w->last_effect[__builtin_ctz(lanes)] ? lanes & -lanes : 0;
}

/* Whether record `to` of the entry may be executed after record `from`. */
static bool is_reached(const struct program *p, uint32_t from, uint32_t to) {
    const uint32_t end = p->order_count > 1 ? p->callees[p->order[1]].first : (uint32_t)p->record_count;
    bool *seen = must_calloc(end, sizeof *seen);
    uint32_t *stack = must_calloc(end, sizeof *stack), depth = 0;
#define GO(x)                                                                                                          \
    do {                                                                                                               \
        if ((x) < end && !seen[x]) {                                                                                   \
            seen[x] = true;                                                                                            \
            stack[depth++] = (x);                                                                                      \
        }                                                                                                              \
    } while (0)
    GO(from + 1);
    while (depth && !seen[to]) {
        const uint32_t at = stack[--depth];
        const struct record *r = &p->records[at];
        const bool leaves = r->control == CONTROL_EXIT || r->control == CONTROL_TRAP || r->control == CONTROL_ASSERT ||
                            r->control == CONTROL_BRANCH || r->control == CONTROL_INDEXED;
        if (!leaves || r->guard)
            GO(at + 1);
        if (r->control == CONTROL_BRANCH)
            GO(r->dst);
        for (uint32_t k = 0; r->control == CONTROL_INDEXED && k < r->b; ++k)
            GO(p->wide[r->wide + k]);
    }
#undef GO
    const bool reached = seen[to];
    free(seen);
    free(stack);
    return reached;
}

static bool is_reached_again(struct block *b, uint32_t from, uint32_t to) {
    struct reach *known = &b->reached[(from + 31 * to) % (sizeof b->reached / sizeof *b->reached)];
    if (known->from != from + 1 || known->to != to + 1)
        *known = (struct reach){from + 1, to + 1, is_reached(b->machine->program, from, to)};
    return known->yes;
}

void stray_check(struct warp *w, const struct record *r, uint32_t mask) {
    const struct program *p = w->block->machine->program;
    const bool barrier = r->control == CONTROL_BARRIER;
    if (barrier && !(r->imm & BARRIER_ALIGNED))
        return;
    uint32_t named = r->gather == GATHER_LIVE ? ALL_LANES : 0, same;
    for (uint32_t left = named ? 0 : mask; left; left &= ~same) {
        same = alike_members(w, r, left);
        named |= named_members(w, r, left);
    }
    const uint32_t from = place_in_entry(w->frame, (uint32_t)(r - p->records));
    for (uint32_t left = w->strayed & named; left; left &= left - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(left);
        const uint32_t to = w->last_effect[lane] - 1;
        if (!is_reached_again(w->block, from, to))
            continue;
        struct event v = {
            .kind = barrier ? EVENT_DIVERGENT_BARRIER : EVENT_DIVERGENT_ALIGNED,
            .count = (uint64_t)__builtin_popcount(mask),
            .buffer = -1,
            .plane = -1,
            .other_plane = -1,
            .other = {
                .present = true, .store = true, .warp = w->number, .lane = lane, .instruction = p->records[to].site}};
        memcpy(v.other.block, w->block->id, sizeof v.other.block);
        event_at(w, r, (unsigned)__builtin_ctz(mask), v);
        w->strayed &= ~named; /* once is enough */
        return;
    }
}
