/* Who is told of what: the watchers of shared and global memory, each in files of its own. */
#include "watch.h"
#include "async.h"
#include "hazard.h"
#include "probe.h"
#include "valid.h"

bool watch_open(struct block *b, struct error *e) {
    return hazard_open(b, e) && valid_open(b, e) && probe_open(b, e);
}

void watch_close(struct block *b) {
    hazard_close(b);
    valid_close(b);
    probe_close(b);
}

void watch_start(struct block *b) {
    if (b->hazards)
        hazard_start(b);
    valid_start(b);
    if (b->probed)
        probe_start(b);
}

void watch_barrier(struct block *b, bool all) {
    if (b->hazards)
        hazard_barrier(b, all);
    valid_barrier(b);
    if (b->probed && all)
        probe_at_barrier(b);
}

void watch_exit(struct warp *w, const struct record *r, uint32_t lanes) {
    async_exit(w, r, lanes);
}

void watch_end(struct block *b) {
    if (b->hazards)
        hazard_end(b);
}

uint8_t watch_bits(const struct block *b, const struct range *range) {
    return (uint8_t)(valid_bits(b, range) | (b->hazards && b->hazards->busy ? WATCHED_ORDER : 0) |
                     (b->probed ? WATCHED_WRITES : 0));
}

void watch_shared(struct warp *w, const struct record *r, uint32_t mask, const uint32_t at[LANES]) {
    const unsigned watched = w->block->sites[r->c].watched;
    if (watched & WATCHED_ORDER)
        hazard_shared(w, r, mask, at);
    if (watched & WATCHED_VALID)
        valid_shared(w, r, mask, at);
    const struct access *x = &w->block->machine->program->accesses[r->c];
    if (watched & WATCHED_WRITES && (x->store || x->atomic))
        probe_stores(w, r, mask, at, x->bytes, false);
}

void watch_sync(struct warp *w, uint32_t members) {
    if (w->block->hazards)
        hazard_sync(w, members);
}

void watch_arrive(struct warp *w) {
    if (w->block->hazards)
        hazard_arrive(w, false);
}

void watch_release(struct warp *w) {
    if (w->block->hazards)
        hazard_arrive(w, true);
}

void watch_fence(struct warp *w, bool cta) {
    if (w->block->hazards)
        hazard_fence(w, cta);
}

void watch_strong(struct warp *w, const struct record *r) {
    if (w->block->hazards)
        hazard_strong(w, r);
}

void watch_copies_issued(struct warp *w, const struct record *r, uint32_t mask, const uint32_t at[LANES],
                         uint32_t bytes, const uint8_t *const from[LANES]) {
    if (w->block->hazards)
        hazard_copies(w, r, mask, at, bytes, from);
    if (w->block->valid)
        valid_copies_issued(w, mask, at, bytes);
    if (w->block->probed)
        probe_stores(w, r, mask, at, bytes, true);
}

void watch_copies_waited(struct warp *w, const struct record *r, uint32_t mask, const uint32_t at[LANES],
                         uint32_t bytes) {
    if (w->block->hazards)
        hazard_copies(w, r, mask, at, bytes, NULL);
    if (w->block->valid)
        valid_copies_waited(w, mask, at, bytes);
    if (w->block->probed)
        probe_landed(w, mask, at, bytes);
}
