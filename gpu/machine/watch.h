/* What a block tells its watchers: its accesses of shared memory, its copies, and what orders accesses. Every access of
 * shared memory that is in its range and aligned calls watch_shared, from the fast paths and from memory.c; anything
 * else has made its event already. Accesses of global memory are noted region by region (hazard_global.c, valid.h). */
#ifndef GPU_MACHINE_WATCH_H
#define GPU_MACHINE_WATCH_H

#include "machine.h"

/* Bits of site_range.watched: set when the site gets its range, and again when a barrier changes what is known. */
enum watched {
    WATCHED_ORDER = 1,  /* accesses go into the log of the barrier interval (hazard.c) */
    WATCHED_VALID = 2,  /* some byte of the range has not been written yet (valid.c) */
    WATCHED_WRITES = 4, /* who stores is noted (probe.c) */
};

/* The life of a block. open: memory for the watchers of a CPU thread's blocks; start: a block begins, nothing is known;
 * barrier: a barrier has opened, all: every warp that has not exited waited for it, and those that have are ordered
 * before it; exit: these lanes are gone; end: the block is over, or stopped. */
bool watch_open(struct block *b, struct error *e);
void watch_close(struct block *b);
void watch_start(struct block *b);
void watch_barrier(struct block *b, bool all);
void watch_exit(struct warp *w, const struct record *r, uint32_t lanes);
void watch_end(struct block *b);
/* enum watched of a site that uses this range. */
uint8_t watch_bits(const struct block *b, const struct range *range);

/* Record r does what access number r->c says, for the lanes of mask, at shared addresses at[lane] (bytes from shared
 * address 0), access.bytes each; ldmatrix: the rows of its lanes. Called before a store is
 * done; of a load before or after. */
void watch_shared(struct warp *w, const struct record *r, uint32_t mask, const uint32_t at[LANES]);

/* What orders memory accesses, or may. sync: bar.warp.sync of these members, named as they are; arrive: bar.arrive;
 * release: a barrier has let this warp go on (before watch_barrier); fence: membar, fence; strong: a strong access of
 * global memory that the launch may write. */
void watch_sync(struct warp *w, uint32_t members);
void watch_arrive(struct warp *w);
void watch_release(struct warp *w);
void watch_fence(struct warp *w, bool cta);
void watch_strong(struct warp *w, const struct record *r);

/* cp.async: copies of these lanes to shared addresses at[lane], `bytes` each, are issued by record r; the wait that
 * covers them is done by record r. Between the two they may land at any time. */
void watch_copies_issued(struct warp *w, const struct record *r, uint32_t mask, const uint32_t at[LANES],
                         uint32_t bytes, const uint8_t *const from[LANES]);
void watch_copies_waited(struct warp *w, const struct record *r, uint32_t mask, const uint32_t at[LANES],
                         uint32_t bytes);

/* The same from a fast path: offsets from the start of the site's range, of 32 or 64 bits. */
static inline void watch_range32(struct warp *w, const struct record *r, uint32_t mask, const uint32_t where[LANES]) {
    const struct site_range *s = &w->block->sites[r->c];
    if (__builtin_expect(!s->watched, 1))
        return;
    const uint32_t start = (uint32_t)(s->host - w->block->shared);
    uint32_t at[LANES];
    for (int i = 0; i < LANES; ++i)
        at[i] = start + where[i];
    watch_shared(w, r, mask, at);
}
static inline void watch_range64(struct warp *w, const struct record *r, uint32_t mask, const uint64_t where[LANES]) {
    const struct site_range *s = &w->block->sites[r->c];
    if (__builtin_expect(!s->watched, 1))
        return;
    const uint32_t start = (uint32_t)(s->host - w->block->shared);
    uint32_t at[LANES];
    for (int i = 0; i < LANES; ++i)
        at[i] = start + (uint32_t)where[i];
    watch_shared(w, r, mask, at);
}

#endif
