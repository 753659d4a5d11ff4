#include "race.h"
#include "../../ref/checked.h"
#include <stdlib.h>
#include <string.h>

void race_open(struct races *x) {
    *x = (struct races){.count = 1};
}

void race_close(struct races *x) {
    free(x->nodes);
    free(x->block_released);
    *x = (struct races){0};
}

void race_reset(struct races *x) {
    x->count = 1;
    x->unused = 0;
    x->full = false;
}

void race_block(struct races *x) {
    x->steps = 0;
    memset(x->scopes, 0, sizeof x->scopes);
}

static uint32_t later(uint32_t a, uint32_t b) {
    return a > b ? a : b;
}

void race_strong(struct races *x, unsigned warp, uint32_t index, unsigned flags) {
    for (int k = 0; k < (flags & ACCESS_CTA ? RACE_GRID : 2); ++k) {
        struct race_scope *s = &x->scopes[k];
        if (flags & ACCESS_RELEASE)
            s->fenced[warp] = index;
        if (flags & ACCESS_STORE)
            s->released = later(s->released, s->fenced[warp]);
        if (flags & ACCESS_LOAD) {
            s->strongly_read[warp] = index;
            if (flags & ACCESS_ACQUIRE)
                s->acquired = later(s->acquired, index);
        }
    }
}

void race_fence(struct races *x, unsigned warp, uint32_t index, bool cta) {
    for (int k = 0; k < (cta ? RACE_GRID : 2); ++k) {
        x->scopes[k].fenced[warp] = index;
        x->scopes[k].acquired = later(x->scopes[k].acquired, x->scopes[k].strongly_read[warp]);
    }
}

/* 0: over budget. */
static uint32_t new_node(struct races *x) {
    if (x->unused) {
        const uint32_t i = x->unused;
        x->unused = x->nodes[i].next;
        return i;
    }
    if (x->count >= x->room) {
        if (x->room >= RACE_NODES) {
            x->full = true;
            return 0;
        }
        x->room = x->room ? 2 * x->room : 4096;
        x->nodes = must_realloc(x->nodes, x->room, sizeof *x->nodes);
    }
    return x->count++;
}

static uint32_t value_mask(unsigned bytes) {
    return (bytes & 1 ? 0xffu : 0) | (bytes & 2 ? 0xff00u : 0) | (bytes & 4 ? 0xff0000u : 0) |
           (bytes & 8 ? 0xff000000u : 0);
}

/* Fences and strong accesses may order what n did before what happens now. */
static bool may_be_settled(const struct races *x, const struct race_node *n, const struct race_actor *me) {
    const bool own = n->block == me->block;
    const struct race_scope *s = &x->scopes[own ? RACE_BLOCK : RACE_GRID];
    const uint32_t released = own ? s->released : x->block_released ? x->block_released[n->block] : x->all_released;
    return released > n->index && s->acquired > n->index;
}

/* Lanes of n that nothing orders before what `lane` does now. */
static uint32_t open_lanes(const struct race_node *n, const struct race_actor *me, unsigned lane) {
    if (n->block != me->block)
        return n->lanes;
    if ((n->flags | me->flags) & RACE_NC)
        return n->lanes; /* whoever stores it, and whenever */
    return order_open_lanes(me->order, me->warp, lane, n->warp, n->clock, n->sync, n->lanes);
}

/* n is a strong store, and a strong load of all these bytes came after it and is ordered before what happens now. */
static bool is_seen(struct races *x, uint32_t head, const struct race_node *n, const struct race_actor *me,
                    unsigned lane, unsigned common) {
    const unsigned narrow = n->block != me->block ? RACE_CTA : 0;
    if ((n->flags & (RACE_STORE | RACE_STRONG | narrow)) != (RACE_STORE | RACE_STRONG))
        return false;
    for (uint32_t i = head; i; i = x->nodes[i].next) {
        const struct race_node *k = &x->nodes[i];
        ++x->steps;
        if (k->flags & RACE_READS && !(k->flags & narrow) && k->block == me->block && k->index > n->index &&
            !(common & ~k->bytes) && open_lanes(k, me, lane) != k->lanes)
            return true;
    }
    return false;
}

static void note(struct race_found *f, const struct race_node *n, const struct race_actor *me, uint32_t lanes,
                 unsigned common) {
    f->across = (f->found && f->across) || n->warp != me->warp || n->block != me->block;
    if (f->found && f->byte <= __builtin_ctz(common))
        return;
    *f = (struct race_found){.found = true,
                             .across = f->across,
                             .byte = (uint8_t)__builtin_ctz(common),
                             .block = n->block,
                             .warp = n->warp,
                             .lane = (uint32_t)__builtin_ctz(lanes),
                             .site = n->site,
                             .store = n->flags & RACE_STORE,
                             .width = n->width};
}

static bool same_value(const struct race_node *n, const struct race_actor *me, unsigned common, uint32_t value) {
    const unsigned both = n->flags & me->flags, any = n->flags | me->flags;
    return both & RACE_STORE && both & RACE_VALUED && !(any & RACE_MIXED) && !((n->value ^ value) & value_mask(common));
}

/* n is of a copy in flight. */
static void judge_copy(const struct race_node *n, const struct race_actor *me, unsigned common, uint32_t value,
                       struct race_found found[RACE_KINDS]) {
    const unsigned any = n->flags | me->flags;
    const bool benign = same_value(n, me, common, value) && !(any & RACE_STRONG);
    if (any & RACE_STORE)
        note(&found[benign ? RACE_BENIGN : RACE_TOUCHED], n, me, n->lanes, common);
}

/* The two touch a byte in common. */
static void judge_pair(struct races *x, uint32_t head, const struct race_node *n, const struct race_actor *me,
                       unsigned lane, unsigned common, uint32_t value, bool quiet,
                       struct race_found found[RACE_KINDS]) {
    const unsigned both = n->flags & me->flags, any = n->flags | me->flags;
    const bool strong = both & RACE_STRONG && !(any & RACE_CTA && n->block != me->block);
    const bool stores = both & RACE_STORE && !((both ^ any) & RACE_STRONG);
    const bool counted = quiet && stores && both & RACE_VALUED;
    if (!(any & RACE_STORE) || (strong && !counted) || (quiet && stores && !counted && !(any & RACE_STRONG)))
        return;
    const uint32_t lanes = open_lanes(n, me, lane);
    if (!lanes)
        return;
    const bool same = same_value(n, me, common, value);
    if (counted) {
        if (!same && may_be_settled(x, n, me))
            x->settled = true;
        else if (!same)
            note(&found[RACE_STORES], n, me, lanes, common);
        return;
    }
    const bool benign = same && !(any & RACE_STRONG);
    if (!benign && !(any & RACE_NC) && (may_be_settled(x, n, me) || is_seen(x, head, n, me, lane, common))) {
        x->settled = true;
        return;
    }
    note(&found[benign ? RACE_BENIGN : RACE_TRUE], n, me, lanes, common);
}

static void add(struct races *x, uint32_t *head, const struct race_actor *me, unsigned lane, unsigned bytes,
                unsigned flags, uint32_t value) {
    const uint32_t i = new_node(x);
    if (!i)
        return;
    x->nodes[i] = (struct race_node){.site = me->site,
                                     .next = *head,
                                     .lanes = 1u << lane,
                                     .clock = me->order->clock[me->warp],
                                     .sync = me->order->syncs,
                                     .block = me->block,
                                     .index = me->index,
                                     .value = value,
                                     .warp = me->warp,
                                     .flags = (uint8_t)flags,
                                     .bytes = (uint8_t)bytes,
                                     .width = me->width};
    *head = i;
}

void race_touch(struct races *x, uint32_t *head, const struct race_actor *me, unsigned lane, unsigned bytes,
                uint32_t value, bool quiet, struct race_found found[RACE_KINDS]) {
    const uint32_t bit = 1u << lane;
    unsigned mixed = 0;
    struct race_found here[RACE_KINDS];
    if (x->full)
        return;
    for (int k = 0; k < RACE_KINDS; ++k)
        here[k].found = false;
    for (uint32_t *link = head; *link;) {
        struct race_node *n = &x->nodes[*link];
        const unsigned common = n->bytes & bytes;
        ++x->steps;
        if (n->flags & RACE_PENDING) {
            if (common)
                judge_copy(n, me, common, value, here);
            link = &n->next;
            continue;
        }
        if (common)
            judge_pair(x, *head, n, me, lane, common, value, quiet, here);
        const bool own = n->block == me->block && n->warp == me->warp && n->lanes & bit;
        if (own && (n->flags & ~RACE_MIXED) == me->flags && !(n->bytes & ~bytes)) {
            if (me->flags & RACE_STORE && (n->flags & RACE_MIXED || (n->value ^ value) & value_mask(n->bytes)))
                mixed = RACE_MIXED;
            n->lanes &= ~bit;
            if (!n->lanes) {
                const uint32_t i = *link;
                *link = n->next;
                n->next = x->unused;
                x->unused = i;
                continue;
            }
        }
        link = &n->next;
    }
    for (int k = 0; k < RACE_KINDS; ++k)
        if (here[k].found && !found[k].found)
            found[k] = here[k];
        else if (here[k].found)
            found[k].across |= here[k].across;
    x->full |= x->steps > RACE_STEPS;
    struct race_node *first = *head ? &x->nodes[*head] : NULL;
    if (first && first->index == me->index && first->site == me->site && first->bytes == bytes &&
        first->flags == (me->flags | mixed) && (!(me->flags & RACE_STORE) || first->value == value))
        first->lanes |= bit; /* another lane of the same instruction */
    else
        add(x, head, me, lane, bytes, me->flags | mixed, value);
}

void race_copy(struct races *x, uint32_t *head, const struct race_actor *me, unsigned lane, unsigned bytes,
               uint32_t value) {
    if (!x->full)
        add(x, head, me, lane, bytes, me->flags | RACE_PENDING, value);
}

void race_land(struct races *x, uint32_t *head, const struct race_actor *me, unsigned lane, unsigned bytes) {
    struct race_node *first = NULL; /* copies to one place land in the order of their issue; new nodes come in front */
    if (x->full)
        return;
    for (uint32_t i = *head; i; i = x->nodes[i].next) {
        struct race_node *n = &x->nodes[i];
        if (n->flags & RACE_PENDING && n->block == me->block && n->warp == me->warp && n->lanes == 1u << lane &&
            n->bytes == bytes)
            first = n;
    }
    if (!first)
        return;
    first->flags &= (uint8_t)~RACE_PENDING;
    first->clock = me->order->clock[me->warp];
    first->sync = me->order->syncs;
    first->index = me->index;
}
