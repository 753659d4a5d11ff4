/* What PTX leaves open and a schedule decides: which block, warp, group of lanes or lane of a store comes first, and
 * when an asynchronous copy lands. Every choice is a function of (schedule, block, choices made before in that block),
 * so that a run is the same for every number of CPU threads. */
#ifndef GPU_MACHINE_SCHEDULE_H
#define GPU_MACHINE_SCHEDULE_H

#include "machine.h"

static inline enum schedule_order order_of(const struct block *b) {
    return b->machine->launch->options.schedule.order;
}
/* SCHEDULE_RANDOM: the next choice of this block, in 0 .. bound - 1. */
static inline uint32_t draw_below(struct block *b, uint32_t bound) {
    return (uint32_t)((uint64_t)random_u32(&b->draws) * bound >> 32);
}

/* Lanes of one store or atomic one after the other, cyclically from `first`, up or down. Of two lanes that store to one
 * address the later one stays. */
struct lane_order {
    uint8_t first;
    bool down;
};
static inline struct lane_order lane_order(struct block *b) {
    switch (order_of(b)) {
    case SCHEDULE_IN_ORDER:
        return (struct lane_order){0, false};
    case SCHEDULE_REVERSED:
        return (struct lane_order){LANES - 1, true};
    default:
        break;
    }
    const uint32_t bits = random_u32(&b->draws);
    return (struct lane_order){bits & (LANES - 1), bits >> 31};
}
/* Takes the next lane out of *left, which is not 0. */
static inline unsigned next_lane(struct lane_order o, uint32_t *left) {
    unsigned lane;
    if (o.down) { /* bit 31 of the turned mask is lane `first` */
        const unsigned by = LANES - 1 - o.first;
        const uint32_t turned = by ? *left << by | *left >> (LANES - by) : *left;
        lane = (LANES - 1 - (unsigned)__builtin_clz(turned) - by) % LANES;
    } else {
        const uint32_t turned = o.first ? *left >> o.first | *left << (LANES - o.first) : *left;
        lane = ((unsigned)__builtin_ctz(turned) + o.first) % LANES;
    }
    *left &= ~(1u << lane);
    return lane;
}

/* A copy lands when it is issued; else when it is waited for. */
static inline bool lands_early(struct block *b) {
    const struct schedule *s = &b->machine->launch->options.schedule;
    if (s->order == SCHEDULE_RANDOM)
        return draw_below(b, 2);
    return s->async_early || s->order == SCHEDULE_REVERSED;
}

/* schedule.c: the block that comes at a place (0 .. blocks - 1) in the order of blocks: of two blocks that store to one
 * byte the one at the higher place wins, and blocks that read each other's stores run one after the other by place. */
uint64_t block_at(const struct machine *m, uint64_t place);
/* Sets that order; m->blocks is known. */
void order_blocks(struct machine *m);
/* Steps that a warp may take before another's turn comes. */
uint32_t slice_of(struct block *b);

#endif
