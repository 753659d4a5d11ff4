/* Who is told of what: the watchers of shared memory, one a file. */
#include "watch.h"
#include "async.h"

bool watch_open(struct block *b, struct error *e) {
    (void)b, (void)e;
    return true;
}
void watch_close(struct block *b) {
    (void)b;
}
void watch_start(struct block *b) {
    (void)b;
}
void watch_barrier(struct block *b, bool all) {
    (void)b, (void)all;
}
void watch_exit(struct warp *w, const struct record *r, uint32_t lanes) {
    async_exit(w, r, lanes);
}
void watch_end(struct block *b) {
    (void)b;
}
uint8_t watch_bits(const struct block *b, const struct range *range) {
    (void)b, (void)range;
    return 0;
}
void watch_shared(struct warp *w, const struct record *r, uint32_t mask, const uint32_t at[LANES]) {
    (void)w, (void)r, (void)mask, (void)at;
}
void watch_copy_issued(struct warp *w, const struct record *r, unsigned lane, uint32_t at, uint32_t bytes) {
    (void)w, (void)r, (void)lane, (void)at, (void)bytes;
}
void watch_copy_waited(struct warp *w, const struct record *r, unsigned lane, uint32_t at, uint32_t bytes) {
    (void)w, (void)r, (void)lane, (void)at, (void)bytes;
}
