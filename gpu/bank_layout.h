/* Bank conflicts of a user's layout: every access by which it loads or stores the matrix. */
#ifndef GPU_BANK_LAYOUT_H
#define GPU_BANK_LAYOUT_H

#include "banks.h"
#include "layout.h"
#include <stddef.h>

struct bank_layout {
    struct bank_op op;
    size_t accesses;         /* of all warps, over the whole matrix */
    struct bank_count count; /* of all of them */
    size_t worst;            /* the first access with the most wavefronts */
    uint32_t at[32];         /* its shared addresses, plane offset included */
    uint32_t row[32];        /* of the matrix, to which each of them leads; UINT32_MAX: padding */
    uint32_t starts[64];     /* banks in which the first rows of the matrix begin */
    unsigned start_count;    /* rows, at most 64 */
};

/* Fails, with the place of the address expression, for operands that wgmma reads by a descriptor (facts/ptx.md BK-11:
 * not modelled), and where an address has no value, leads out of the plane, or is no multiple of what a lane moves.
 * Whether the accesses bring the right bytes is not asked: layout_prove does. */
bool bank_layout_count(const struct layout *l, struct bank_layout *out, struct error *e);

#endif
