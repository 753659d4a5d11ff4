/* Counting what is executed: records of weight 0 ahead of an instruction and ahead of its memory access, which are
 * there only when a census is asked for. Wavefronts by the bank model (gpu/banks.h); sectors are the distinct aligned
 * pieces of 32 bytes that the lanes of one instruction touch in global memory. Atomics and cp.async count sectors and
 * requests, but no wavefronts: those have no model. */
#include "../banks.h"
#include "machine.h"

enum { SECTOR = 32 };

void op_count_executed(struct warp *w, const struct record *r, uint32_t mask) {
    (void)mask;
    ++w->block->counts[r->site].executed;
}

static unsigned sectors_of(const uint64_t addr[LANES], uint32_t mask, unsigned bytes) {
    uint64_t seen[2 * LANES];
    unsigned count = 0;
    for (uint32_t left = mask; left; left &= left - 1) {
        const uint64_t at = addr[__builtin_ctz(left)];
        for (uint64_t s = at / SECTOR; s <= (at + bytes - 1) / SECTOR; ++s) {
            unsigned i = 0;
            while (i < count && seen[i] != s)
                ++i;
            if (i == count && count < 2 * LANES)
                seen[count++] = s;
        }
    }
    return count;
}

void census_keep_worst(struct site_access *into, const struct site_access *one) {
    const bool worse = into->lanes == 0                      ? true
                       : one->conflicts != into->conflicts   ? one->conflicts > into->conflicts
                       : one->wavefronts != into->wavefronts ? one->wavefronts > into->wavefronts
                                                             : one->block < into->block;
    if (one->lanes != 0 && worse)
        *into = *one;
}

static void keep(struct warp *w, const struct record *r, const uint32_t at[LANES], uint32_t lanes, unsigned bytes,
                 struct bank_count n) {
    struct site_access *worst = &w->block->worst[r->site];
    if (worst->lanes != 0 && n.conflicts <= worst->conflicts && n.wavefronts <= worst->wavefronts &&
        w->block->number >= worst->block)
        return; /* the usual case, without a copy */
    struct site_access one = {.lanes = lanes,
                              .bytes = bytes,
                              .warp = w->number,
                              .wavefronts = n.wavefronts,
                              .conflicts = n.conflicts,
                              .block = w->block->number};
    for (unsigned lane = 0; lane < LANES; ++lane)
        one.at[lane] = lanes >> lane & 1 ? at[lane] : 0;
    census_keep_worst(worst, &one);
}

void op_count_access(struct warp *w, const struct record *r, uint32_t mask) {
    const struct access *x = &w->block->machine->program->accesses[r->c];
    struct site_count *count = &w->block->counts[r->site];
    uint64_t global[LANES];
    uint32_t shared[LANES] = {0}, in_shared = 0, in_global = 0;
    const unsigned matrices = x->matrices;
    const uint32_t lanes = matrices && matrices < 4 ? mask & ((1u << 8 * matrices) - 1) : mask;
    for (uint32_t left = lanes; left; left &= left - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(left);
        const uint64_t address = x->wide_address ? reg64(w, r->a)[lane] + (uint64_t)r->imm
                                                 : (uint32_t)(reg32(w, r->a)[lane] + (uint32_t)r->imm);
        const uint64_t window = x->space == PTX_REG ? SHARED_WINDOW : 0;
        global[lane] = address;
        if (x->space == PTX_SHARED || (window && address >= window && address - window < (uint64_t)1 << 32)) {
            shared[lane] = (uint32_t)(address - window);
            in_shared |= 1u << lane;
        } else if (x->space != PTX_LOCAL && x->space != PTX_PARAM && (x->space != PTX_REG || address < LOCAL_WINDOW)) {
            in_global |= 1u << lane; /* local memory and parameters are not counted */
        }
    }
    count->requests += lanes != 0;
    if (in_shared && !x->unmodelled) {
        const struct bank_count n = bank_count(matrices   ? BANK_MATRIX
                                               : x->store ? BANK_STORE
                                                          : BANK_LOAD,
                                               x->bytes, matrices, shared, in_shared);
        count->wavefronts += n.wavefronts;
        count->conflicts += n.conflicts;
        keep(w, r, shared, in_shared, x->bytes, n);
    }
    count->sectors += sectors_of(global, in_global, x->bytes);
}
