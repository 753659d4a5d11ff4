/* Races in shared and global memory: what watch.c calls, and what the files of it share. hazard.c has the argument. */
#ifndef GPU_MACHINE_HAZARD_H
#define GPU_MACHINE_HAZARD_H

#include "race.h"
#include "watch.h"

enum entry_kind {
    ENTRY_ACCESS,
    ENTRY_SYNC,
    ENTRY_CLOCK,
    ENTRY_RELEASE,
    ENTRY_FENCE,
    ENTRY_STRONG,
    ENTRY_ISSUE,
    ENTRY_WAIT
};

struct entry { /* of the log of a barrier interval */
    const struct record *r;
    uint32_t mask;      /* lanes; of a sync: its members; of a strong access elsewhere: enum access_order */
    uint32_t values;    /* 1 + where the values of a store or a copy are in hazards.values; 0: not known */
    uint32_t index;     /* place in the order of execution of the block */
    uint8_t kind, warp; /* enum entry_kind */
    uint8_t bytes;      /* of one lane */
    uint8_t flags;      /* enum race_flag */
    uint32_t at[LANES]; /* shared addresses; the warp's clock (CLOCK, RELEASE) */
};

struct copy { /* lanes of one cp.async that are in flight at the start of the log */
    const struct record *r;
    uint32_t mask;
    uint8_t warp, bytes;
    uint32_t at[LANES];
    uint32_t
        *values; /* (4 * LANES) owned by its place in hazards.flying: what it gives, lane after lane; NULL: none yet */
    uint32_t logged; /* 1 + where that is in hazards.values, while the log is there; 0: in `values` */
};

struct hazards {
    bool races, copies; /* watched */
    bool busy;          /* the log is kept: always for races, else once something is copied */
    struct entry *log;
    uint32_t count, room, index;
    uint32_t *values;
    size_t value_count, value_room;
    bool written;   /* something is stored, copied or in flight in this interval */
    bool streaming; /* the log was full: its accesses are in `races` already, and so must all others of the interval be
                     */
    bool dirty;     /* there are nodes */
    struct warp_order *past, *live; /* (warps) as at the start of the log, and now */
    uint8_t *stored, *contested;    /* (shared_bytes) bits */
    size_t bit_bytes;
    uint32_t *heads; /* (words) */
    size_t words;
    struct races exact;
    struct copy *flying; /* (flying_room) */
    size_t flying_count, flying_room;
};

enum { LOG_ENTRIES = 1 << 15 }; /* at most: 4.5 MiB, and values */

/* hazard.c */
bool hazard_open(struct block *b, struct error *e);
void hazard_close(struct block *b);
void hazard_start(struct block *b);
void hazard_barrier(struct block *b, bool all);
void hazard_end(struct block *b);
void hazard_shared(struct warp *w, const struct record *r, uint32_t mask, const uint32_t at[LANES]);
/* from: what the copies that are issued give; NULL: they are waited for. */
void hazard_copies(struct warp *w, const struct record *r, uint32_t mask, const uint32_t at[LANES], uint32_t bytes,
                   const uint8_t *const from[LANES]);
void hazard_sync(struct warp *w, uint32_t members);
void hazard_arrive(struct warp *w, bool waited);
void hazard_fence(struct warp *w, bool cta);
void hazard_strong(struct warp *w, const struct record *r);

/* hazard_shared.c: judges the log. True: some byte is contested, or might be (h->contested). */
bool hazard_contested(struct hazards *h);
/* Replays the log: its contested accesses, or all of them. */
void hazard_replay(struct block *b, bool all);
/* Brings the copies in flight up to the end of the log. */
void hazard_land(struct hazards *h);

/* hazard_global.c: one lane's access of bytes of a writable region, under its lock; value: of a store, else NULL. r is
 * one of the program's records. */
void hazard_global(struct warp *w, const struct record *r, unsigned lane, struct region *g, size_t offset, size_t bytes,
                   const uint8_t *value);
/* The same where a lane's cp.async reads them, at some time between its issue and its wait. */
void hazard_global_copy(struct warp *w, const struct record *r, unsigned lane, struct region *g, size_t offset,
                        size_t bytes, bool issued);
/* A block of the exact pass begins, and ends. */
void hazard_global_start(struct block *b);
void hazard_global_end(struct block *b);
/* Some block read what another wrote: bytes, addresses and branches may depend on which came first. */
bool hazard_blocks_met(const struct machine *m);
/* Marks the words whose accesses must be judged exactly. False: there are none, or (e) no memory for it. */
bool hazard_suspects(struct machine *m, struct error *e);
void hazard_exact_open(struct machine *m);
void hazard_exact_close(struct machine *m);
/* trace.order_open of a launch that has run; the caller frees it. */
char *hazard_order_open(const struct machine *m, const struct trace *t);

#endif
