/* Which accumulator a value comes from (gpu/probe.h): a tag for every register of every lane and every word of shared
 * memory, moved by records ahead of the instructions that move values. Only with a probe. */
#ifndef GPU_MACHINE_ORIGIN_H
#define GPU_MACHINE_ORIGIN_H

#include "machine.h"

struct origins {                   /* of a block in execution */
    uint32_t *tags;                /* (warps, slots, LANES) */
    struct probe_written *written; /* (warps, slots) */
    uint32_t *shared;              /* (shared_bytes / 4 + 1) */
    bool in_matrices;              /* stmatrix has stored tagged values somewhere */
    size_t slots;                  /* registers: one for each 128 bytes of the file */
    uint64_t writes;
};

enum origin_kind {
    ORIGIN_FLOW,    /* each lane's results come from its sources */
    ORIGIN_CROSS,   /* from all lanes' sources: no accumulator, or nobody knows which */
    ORIGIN_SHUFFLE, /* shift, clamp: the last two sources */
    ORIGIN_NONE,    /* from no accumulator */
    ORIGIN_UNKNOWN,
    ORIGIN_WRITE, /* mma of 8-bit integers: the probe says what its results are */
    ORIGIN_LOAD,
    ORIGIN_STORE,
    ORIGIN_ATOMIC,
    ORIGIN_COPY,     /* cp.async to shared memory */
    ORIGIN_MATRICES, /* stmatrix */
    ORIGIN_LDMATRIX,
};
enum origin_space { ORIGIN_SHARED, ORIGIN_GLOBAL, ORIGIN_GENERIC };

/* dst: results; a: sources; registers at wide, results first, offset 0: none. c: kind. Of memory accesses the register
 * of the address follows them; imm: displacement << 16 | bytes of an element << 8 | flags. Of shuffles imm: mode. */
handler op_origin;
enum { ORIGIN_WIDE_ADDRESS = 1, ORIGIN_IN_FUNCTION = 2, ORIGIN_SPACE = 2 /* shift */ };

struct decoder;
bool origin_aside(struct decoder *d); /* ahead of the instruction at hand */

bool origin_open(struct block *b, struct origins *o);
void origin_close(struct origins *o);
void origin_start(struct block *b, struct origins *o);
static inline uint32_t *origin_tags(const struct origins *o, uint32_t warp, uint32_t offset) {
    return o->tags + (warp * o->slots + offset / 128) * LANES;
}

#endif
