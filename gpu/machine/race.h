/* The exact judge of accesses of one word: it remembers who came by and says what is not ordered. hazard.c feeds it the
 * contested bytes of shared memory, hazard_global.c those of global memory.
 *
 * Two accesses of one byte by different threads race when one of them is a store, nothing orders them (order.h), and
 * they are not both strong (.volatile, .relaxed, .acquire, .release, atomics: PTX ISA 8.7.1 calls those morally strong
 * and their race defined). Two stores of one value race benignly: the byte is the same either way, and whoever reads it
 * early is named by its own race. A store and a load race also when the store changes nothing: on another day the byte
 * before it may differ. That holds for the store of a copy in flight too: what it gives is known when it is issued, as
 * a store to its source before its wait is named.
 *
 * A strong store that a strong load of the same bytes has seen comes before whatever follows that load (PTX ISA 8.9.5,
 * causality order): the last block that counts itself in may reset the counter with a plain store.
 *
 * A thread's newer access stands for its older one of the same kind: whatever is not ordered after the newer one is not
 * ordered after the older one either, and a store whose older values differed is marked, so that it is benign to none.
 * Nothing else is forgotten. */
#ifndef GPU_MACHINE_RACE_H
#define GPU_MACHINE_RACE_H

#include "order.h"

enum race_flag {
    RACE_STORE = 1,
    RACE_STRONG = 2,
    RACE_PENDING = 4, /* a copy in flight, its store or its load: nothing is ordered with it */
    RACE_MIXED = 8,   /* a store that stands for others of other values */
    RACE_NC = 16,     /* ld.global.nc: the byte must not be stored at all (PTX ISA 9.7.9.9) */
    RACE_VALUED = 32, /* a store whose value is known */
    RACE_READS = 64,  /* a strong access that loads */
    RACE_CTA = 128,   /* a strong access of scope .cta: between blocks it is as a weak one */
};

struct race_node {  /* lanes of one warp that did one thing to one word */
    uint32_t site;  /* instruction */
    uint32_t next;  /* 0: none */
    uint32_t lanes; /* loads, and stores of one value by one instruction: several; else one */
    uint32_t clock, sync;
    uint32_t block; /* linear; 0 in shared memory */
    uint32_t index; /* place in the order of execution */
    uint32_t value;
    uint8_t warp, flags;
    uint8_t bytes; /* of the word, a bit each */
    uint8_t width; /* bytes of a lane's whole access */
};

struct races {
    struct race_node *nodes; /* [0] is not used */
    uint32_t count, room, unused;
    uint64_t steps;           /* nodes looked at in this block */
    bool full;                /* over budget: nothing more is judged until race_reset */
    bool settled;             /* a race was not counted as one: fences and strong accesses may order it */
    uint32_t *block_released; /* (blocks) `released` for other blocks, of the blocks that have ended; NULL: all_released
                                 for each */
    uint32_t all_released;
    /* A fence and then a strong store (or .release), the fence at place `released`; a strong load and then a fence (or
     * .acquire), the load at `acquired`: the latest of this block. 0: none. An access before the one and another one
     * after the other may be ordered by them; then that is not called a race, but the launch is not proved either. */
    struct race_scope {
        uint32_t released, acquired;
        uint32_t fenced[LANES], strongly_read[LANES]; /* places of each warp's last */
    } scopes[2];                                      /* for accesses of one block, and of several */
};
enum { RACE_BLOCK, RACE_GRID };
enum { RACE_NODES = 1 << 20 };         /* at most: 36 MiB */
#define RACE_STEPS ((uint64_t)1 << 28) /* at most, in a block: about a second */

struct race_actor { /* who does it now */
    const struct warp_order *order;
    uint32_t site, block, index;
    uint8_t warp, flags, width;
};

enum race_kind {
    RACE_TRUE,
    RACE_BENIGN,
    RACE_TOUCHED, /* of bytes of a copy in flight */
    RACE_STORES,  /* quiet: two stores of different values, which coverage has counted, and nothing orders them */
    RACE_KINDS
};
struct race_found {
    bool found;
    bool across;  /* of all that were found, some are of another warp or block */
    uint8_t byte; /* of the word */
    uint32_t block, warp, lane, site;
    bool store;
    uint8_t width;
};

/* What a strong access does for others (enum access_order), and a fence (cta: for its block), of a warp at a place. */
void race_strong(struct races *x, unsigned warp, uint32_t index, unsigned flags);
void race_fence(struct races *x, unsigned warp, uint32_t index, bool cta);

void race_open(struct races *x);
void race_close(struct races *x);
/* Forgets all nodes; the heads are the caller's to clear. race_block: a block begins. */
void race_reset(struct races *x);
void race_block(struct races *x);
/* Lane `lane` of `me` touches `bytes` of the word whose nodes *head leads to. found: (RACE_KINDS) filled where they are
 * not found yet. quiet: pairs of stores that are alike in strength are coverage's to name, as RACE_STORES. */
void race_touch(struct races *x, uint32_t *head, const struct race_actor *me, unsigned lane, unsigned bytes,
                uint32_t value, bool quiet, struct race_found found[RACE_KINDS]);
/* A copy in flight that stores `bytes` of the word, or loads them, as me->flags says; and the end of it: from now on it
 * is a store, or a load, of that lane like any other. */
void race_copy(struct races *x, uint32_t *head, const struct race_actor *me, unsigned lane, unsigned bytes,
               uint32_t value);
void race_land(struct races *x, uint32_t *head, const struct race_actor *me, unsigned lane, unsigned bytes);
#endif
