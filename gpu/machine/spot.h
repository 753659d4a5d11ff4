/* Where the lanes of an access go, for the operations that do more than load or store: memory.c finds the places and
 * keeps the books, atomic.c and matrix.c use them. */
#ifndef GPU_MACHINE_SPOT_H
#define GPU_MACHINE_SPOT_H

#include "machine.h"

struct spot {              /* where one lane's access goes */
    uint8_t *host;         /* NULL: nowhere, an event was made */
    struct region *region; /* of a global address */
    size_t offset;         /* in the region */
};

/* Who stores. While the machine runs, block is one too high. */
struct cell_writer writer(const struct warp *w, const struct record *r, unsigned lane);
/* The addresses of the lanes, as the instruction forms them. */
void memory_addresses(const struct warp *w, const struct record *r, uint64_t addr[LANES]);
/* The spots of the lanes of mask; the watchers hear of those in shared memory. */
void find_spots(struct warp *w, const struct record *r, uint32_t mask, const uint64_t addr[LANES],
                struct spot spots[LANES]);
/* The lock of this place when blocks run in parallel, taken; else NULL. Given back by unlock_spot. */
atomic_flag *lock_spot(struct machine *m, const struct spot *spot);
static inline void unlock_spot(atomic_flag *lock) {
    if (lock)
        atomic_flag_clear_explicit(lock, memory_order_release);
}
/* An atomic at a locked spot of global memory, and the cells that it writes. */
void note_atomic(struct warp *w, const struct record *r, unsigned lane, const struct spot *spot, size_t bytes);

#endif
