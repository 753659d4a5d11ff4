/* How the machine calls a probe (gpu/probe.h). Nothing here is called when there is none, but probe_open. */
#ifndef GPU_MACHINE_PROBE_H
#define GPU_MACHINE_PROBE_H

#include "../probe.h"
#include "machine.h"
#include "origin.h"

struct probed { /* of a block in execution */
    const struct probe *probe;
    uint64_t barriers;          /* of the whole block, that have opened */
    uint64_t *multiplied;       /* (warps) integer mma so far */
    struct probe_write *writes; /* (shared_bytes + 1) */
    struct origins origins;
    uint64_t *steps; /* (warps) told so far; NULL: the probe has no `step` */
};

bool probe_open(struct block *b, struct error *e);
void probe_close(struct block *b);
void probe_start(struct block *b);
void probe_at_barrier(struct block *b);
struct probe_place probe_place_of(const struct block *b);
void probe_stops(struct block *b); /* when the probe asks for it */
/* Access r->c of these lanes, `bytes` each, stores at shared addresses at[lane]; in_flight: it is a copy that is
 * issued. probe_landed: these copies have been waited for. Of copies of one thread to one place the first wait counts.
 */
void probe_stores(struct warp *w, const struct record *r, uint32_t mask, const uint32_t at[LANES], uint32_t bytes,
                  bool in_flight);
void probe_landed(struct warp *w, uint32_t mask, const uint32_t at[LANES], uint32_t bytes);

/* Records around an mma. wide: d[4] a[4] b[2] c[4] as written, then a[4] b[2] as the mma takes them; imm: index into
 * tensor_forms | the mma's MMA_... flags << 16. */
handler op_probe_operands, op_probe_sums;

/* step.c, behind an instruction that probe.step is told of. dst: values; a: STEP_...; b: function of the module; imm:
 * address of the ptx_instruction, which is the module's. wide: STEP_WORDS of each value, then of the address. */
handler op_step;
enum { STEP_STORES = 1, STEP_ADDRESS = 2 };
enum {
    STEP_KIND /* bits */,
    STEP_PLACE,
    STEP_NAME /* 1 + register of the function, 0: none */,
    STEP_LOW,
    STEP_HIGH,
    STEP_WORDS
};
enum { STEP_MOST = 64 }; /* values */

#endif
