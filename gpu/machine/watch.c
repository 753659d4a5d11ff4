/* Who is told of what: the watchers of shared memory, one a file. */
#include "async.h"
#include "valid.h"

bool watch_open(struct block *b, struct error *e) {
    return valid_open(b, e);
}
void watch_close(struct block *b) {
    valid_close(b);
}
void watch_start(struct block *b) {
    valid_start(b);
}
void watch_barrier(struct block *b, bool all) {
    (void)all;
    valid_barrier(b);
}
void watch_exit(struct warp *w, const struct record *r, uint32_t lanes) {
    async_exit(w, r, lanes);
}
void watch_end(struct block *b) {
    (void)b;
}
uint8_t watch_bits(const struct block *b, const struct range *range) {
    return valid_bits(b, range);
}
void watch_shared(struct warp *w, const struct record *r, uint32_t mask, const uint32_t at[LANES]) {
    valid_shared(w, r, mask, at);
}
void watch_copy_issued(struct warp *w, const struct record *r, unsigned lane, uint32_t at, uint32_t bytes) {
    (void)r, (void)lane;
    valid_copy_issued(w, at, bytes);
}
void watch_copy_waited(struct warp *w, const struct record *r, unsigned lane, uint32_t at, uint32_t bytes) {
    (void)r, (void)lane;
    valid_copy_waited(w, at, bytes);
}
