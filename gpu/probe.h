/* What the PTX machine shows while a launch runs: shared memory at every barrier, and the fragments of every integer
 * mma, and which accumulator a stored value comes from; where it is asked for, what every instruction gives. Off
 * (launch_options.probe is NULL) it costs nothing: no record is made, no byte is noted.
 *
 * A probe may change what it is shown, so that what follows works on right bytes. Blocks run on several CPU threads
 * and, where the watches ask for it, more than once (gpu/machine/runner.c): a probe that keeps anything runs with
 * launch.threads = 1 and without WATCH_HAZARDS and WATCH_SYNC, and is then called once for each barrier and mma, block
 * after block. */
#ifndef GPU_PROBE_H
#define GPU_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct probe_write {      /* who stored a byte of shared memory last */
    uint32_t thread;      /* 1 + the thread's number in the block; 0: nobody */
    uint32_t instruction; /* index into trace.sites */
    bool in_flight;       /* it is a copy that its thread has not waited for */
};

struct probe_place {
    uint32_t block[3];
    uint64_t block_number; /* x fastest */
};

struct probe_barrier { /* every warp that has not exited has come to it, and none has gone on */
    struct probe_place place;
    uint64_t number; /* barriers of the whole block that have opened before */
    uint8_t *arena;  /* (bytes) dynamic shared memory */
    size_t bytes;
    const struct probe_write *writes; /* (bytes) */
};

struct probe_written {    /* the last write of a register */
    uint32_t instruction; /* index into trace.sites */
    uint64_t number;      /* of all writes of the launch; 0: there was none */
};

/* Where a value comes from: 0, no accumulator; what the probe gave the accumulators of an mma; ORIGIN_MIXED: several of
 * them, or nobody knows, as behind local memory, a call, or a buffer that the launch writes. Followed through
 * registers, shuffles and shared memory. Addresses and predicates do not count. */
#define ORIGIN_MIXED UINT32_MAX

struct probe_store { /* one element of a store to a buffer, before it is done */
    struct probe_place place;
    uint32_t warp, lane;
    size_t instruction; /* index into trace.sites */
    size_t buffer;      /* of the launch */
    uint64_t offset;    /* may be past its end */
    uint32_t bytes;
    uint32_t origin;
    bool adds; /* an atomic */
};

struct probe_mma { /* mma.sync with integers of 8 bits, PTX ISA 9.7.14.5 */
    struct probe_place place;
    uint32_t warp, live; /* live: lanes that take part */
    uint64_t number;     /* integer mma of this warp before this one */
    size_t instruction;  /* index into trace.sites */
    unsigned m, n, k;    /* shape */
    bool a_unsigned, b_unsigned;
    bool saturates; /* .satfinite */
    unsigned a_count, b_count, d_count;
    /* (32) the word of each lane. a, b: copies for this mma alone; d: before the mma what it held, after it the result
     */
    uint32_t *a[4], *b[2], *d[4];
    uint32_t *origin[4];                   /* (32) of d: before the mma that of c, to be set after it */
    struct probe_written a_by[4], b_by[2]; /* who wrote the registers that were copied */
    const uint32_t *c[4];                  /* (32) before the mma; the registers may be those of d */
};

struct ptx_instruction; /* ptx/ptx.h */

struct probe_value {        /* of each lane: what a register holds + displacement */
    const char *name;       /* the register, as the PTX calls it; NULL: a literal. Owned by the module */
    unsigned bits;          /* 1: a predicate; 32 (also of narrower ones, zeros above); 64 */
    uint32_t predicate;     /* lanes */
    const uint32_t *narrow; /* (32) */
    const uint64_t *wide;   /* (32) */
    int64_t displacement;   /* of an address */
};

/* An instruction that gives registers, a store (st, red, stmatrix, an asynchronous copy), or a barrier; after it. */
struct probe_step {
    struct probe_place place;
    uint32_t warp, lanes; /* those that executed it; never 0 */
    uint64_t number;    /* steps of this warp before this one. 0 again: the launch was begun anew, forget the others */
    size_t instruction; /* index into trace.sites */
    const struct ptx_instruction *text;
    bool stores;
    const struct probe_value *address; /* of a store to global, shared or generic memory; else NULL */
    const struct probe_value *values; /* (count) its results; of a store what is stored, of a copy its other operands */
    size_t count;
};

static inline uint64_t probe_value_of(const struct probe_value *v, unsigned lane) {
    return v->bits == 1    ? v->predicate >> lane & 1
           : v->bits == 32 ? (uint32_t)(v->narrow[lane] + (uint64_t)v->displacement)
                           : v->wide[lane] + (uint64_t)v->displacement;
}

struct probe {
    void *context;
    void (*barrier)(void *context, const struct probe_barrier *at); /* these three are never NULL */
    void (*operands)(void *context, const struct probe_mma *at);    /* before the multiplication */
    void (*sums)(void *context, const struct probe_mma *at);        /* after it */
    void (*stored)(void *context, const struct probe_store *at);    /* may be NULL */
    const bool *stop;                                               /* once it is true, the launch ends; or NULL */
    void (*step)(void *context, const struct probe_step *at);       /* NULL: no record is made for it */
};

#endif
