/* Reads of bytes that nothing has written (WATCH_UNINIT), in shared and in global memory. Registers: undefined.h. */
#ifndef GPU_MACHINE_VALID_H
#define GPU_MACHINE_VALID_H

#include "watch.h"

/* Shared memory, a byte for each byte: what watch.c hands on. valid_open leaves b->valid NULL where nothing is watched;
 * the other functions may be called then. valid_copies_issued: until the wait its bytes belong to those who judge
 * copies in flight, so they count as written here when those do judge. */
bool valid_open(struct block *b, struct error *e);
void valid_close(struct block *b);
void valid_start(struct block *b);
void valid_barrier(struct block *b);
uint8_t valid_bits(const struct block *b, const struct range *range);
void valid_shared(struct warp *w, const struct record *r, uint32_t mask, const uint32_t at[LANES]);
void valid_copies_issued(struct warp *w, uint32_t mask, const uint32_t at[LANES], uint32_t bytes);
void valid_copies_waited(struct warp *w, uint32_t mask, const uint32_t at[LANES], uint32_t bytes);

/* Global memory: a load of bytes of region g, watched_reads; an event where no store of this launch has come to one of
 * them. Called under the lock of those bytes, if any. */
void valid_global(struct warp *w, const struct record *r, unsigned lane, const struct region *g, size_t offset,
                  size_t bytes);

#endif
