/* What is ordered before what, among the threads of one block: program order, barriers, bar.warp.sync, and nothing
 * else. Votes, shuffles, ldmatrix and mma make lanes wait for each other but order no memory (PTX ISA 9.7.9.6,
 * 9.7.13.1); fences and atomics order only what the programmer pairs up, which race.h looks at.
 *
 * Between warps: vector clocks. clock[x] counts the barriers that warp x had come to before something that is ordered
 * before now; a barrier joins the clocks of those that come and hands them to those that wait. What warp x did while
 * its own count was c is ordered before what another warp does now exactly when that one's clock[x] > c.
 * Inside a warp: every bar.warp.sync, and every barrier waited for, has a number. While all lanes take part, one number
 * says all: what was done before sync s is ordered before what any lane does now when whole > s. Otherwise known[j][i]
 * is the last sync of lane i that lane j knows of, directly or through other lanes. */
#ifndef GPU_MACHINE_ORDER_H
#define GPU_MACHINE_ORDER_H

#include "machine.h"

struct warp_order {
    uint32_t clock[LANES];
    uint32_t syncs; /* so far */
    uint32_t whole; /* the last one that all lanes of the warp took part in */
    bool parts;     /* some lanes only took part in one since; else known holds nothing */
    uint32_t known[LANES][LANES];
};

/* Nothing is known. */
void order_start(struct warp_order *o);
/* All lanes know of everything that the warp did: a barrier waited for. */
void order_whole(struct warp_order *o);
/* bar.warp.sync of these members, of a warp that began with `existing` lanes. Members that have exited count: they are
 * named, and the others may rely on what they did. */
void order_sync(struct warp_order *o, uint32_t members, uint32_t existing);
/* Those of `lanes` of warp x whose doings at (clock, sync) of their warp are not ordered before what lane `lane` of
 * warp `me` does now; o: of warp `me`. A thread is always ordered with itself. */
uint32_t order_open_lanes(const struct warp_order *o, uint32_t me, unsigned lane, uint32_t x, uint32_t clock,
                          uint32_t sync, uint32_t lanes);

#endif
