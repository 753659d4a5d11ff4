/* cp.async: copies from global to shared memory that are in flight until they are waited for. Source: PTX ISA 9.0,
 * 9.7.9.25.3 (cp.async, commit_group, wait_group, wait_all). */
#ifndef GPU_MACHINE_ASYNC_H
#define GPU_MACHINE_ASYNC_H

#include "machine.h"

/* cp.async: a destination (shared), b source (global), c access number of the destination, that of the source is the
 * next one; imm displacement of the destination; wide = enum COPY_... */
enum { COPY_SIZE, COPY_IGNORE, COPY_SHIFT_LOW, COPY_SHIFT_HIGH, COPY_WIDES };
#define COPY_NONE UINT32_MAX /* no register of the source's size, no predicate */
handler op_copy;
/* commit_group */
handler op_commit;
/* wait_group: imm = groups that may stay in flight; wait_all: -1 */
handler op_wait;

/* A block begins: nothing is in flight. */
void async_start(struct block *b);
void async_close(struct block *b);
/* These lanes exit: EVENT_ASYNC_EXIT where copies of theirs are in flight. Nobody can wait for those any more: they
 * never land, which is to say that they land once nobody looks. */
void async_exit(struct warp *w, const struct record *r, uint32_t lanes);

/* memory.c: what one lane's copy writes and reads, of `bytes` bytes, with the events of a store to shared memory and of
 * a load from global memory by access number r->c. NULL: an event was made. *noted: the region when its loads must be
 * told to the watchers, else NULL. */
uint8_t *memory_copy_target(struct warp *w, const struct record *r, unsigned lane, uint64_t address, size_t bytes);
const uint8_t *memory_copy_source(struct warp *w, const struct record *r, unsigned lane, uint64_t address, size_t bytes,
                                  size_t alignment, struct region **noted);
/* Fills in plane and offset of an event at a shared address that is in a range. */
void memory_shared_place(const struct machine *m, uint32_t at, struct event *v);
/* A copy of that lane that reads bytes of such a region by access number r->c is issued: to = what is there now; or it
 * is over: to = NULL. */
void memory_copy_noted(struct warp *w, const struct record *r, unsigned lane, struct region *noted, const uint8_t *from,
                       uint8_t *to, size_t bytes);
/* It lands. */
void memory_read_noted(struct warp *w, const struct record *r, unsigned lane, struct region *noted, const uint8_t *from,
                       uint8_t *to, size_t bytes);

#endif
