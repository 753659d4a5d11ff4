/* Calls a probe: at barriers of the whole block, and before and after each mma of 8-bit integers. */
#include "probe.h"
#include "../../ref/checked.h"
#include "isa.h"
#include "tensor_model.h"
#include <stdlib.h>
#include <string.h>

bool probe_open(struct block *b, struct error *e) {
    const struct machine *m = b->machine;
    if (!m->launch->options.probe)
        return true;
    struct probed *p = b->probed = calloc(1, sizeof *p);
    if (p) {
        p->probe = m->launch->options.probe;
        p->multiplied = calloc(m->warps, sizeof *p->multiplied);
        p->writes = calloc(m->shared_bytes + 1, sizeof *p->writes);
        p->steps = p->probe->step ? must_calloc(m->warps, sizeof *p->steps) : NULL;
    }
    return (p && p->multiplied && p->writes && origin_open(b, &p->origins)) ||
           fail(e, "no memory to note the stores to %zu bytes of shared memory", m->shared_bytes);
}

void probe_close(struct block *b) {
    if (b->probed) {
        free(b->probed->multiplied);
        free(b->probed->writes);
        free(b->probed->steps);
        origin_close(&b->probed->origins);
    }
    free(b->probed);
}

void probe_start(struct block *b) {
    struct probed *p = b->probed;
    p->barriers = 0;
    memset(p->multiplied, 0, b->machine->warps * sizeof *p->multiplied);
    if (p->steps)
        memset(p->steps, 0, b->machine->warps * sizeof *p->steps);
    memset(p->writes, 0, (b->machine->shared_bytes + 1) * sizeof *p->writes);
    origin_start(b, &p->origins);
}

struct probe_place probe_place_of(const struct block *b) {
    return (struct probe_place){.block = {b->id[0], b->id[1], b->id[2]}, .block_number = b->number};
}

void probe_stops(struct block *b) {
    const bool *stop = b->probed->probe->stop;
    if (stop && *stop)
        b->stopped = b->ends_grid = true;
}

void probe_at_barrier(struct block *b) {
    const size_t start = b->machine->dynamic_start;
    const struct probe_barrier at = {.place = probe_place_of(b),
                                     .number = b->probed->barriers++,
                                     .arena = b->shared + start,
                                     .bytes = b->machine->shared_bytes - start,
                                     .writes = b->probed->writes + start};
    b->probed->probe->barrier(b->probed->probe->context, &at);
    probe_stops(b);
}

void probe_stores(struct warp *w, const struct record *r, uint32_t mask, const uint32_t at[LANES], uint32_t bytes,
                  bool in_flight) {
    const size_t room = w->block->machine->shared_bytes;
    for (uint32_t left = mask; left; left &= left - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(left);
        for (size_t i = at[lane]; i < (size_t)at[lane] + bytes && i < room; ++i)
            w->block->probed->writes[i] = (struct probe_write){1 + w->number * LANES + lane, r->site, in_flight};
    }
}

void probe_landed(struct warp *w, uint32_t mask, const uint32_t at[LANES], uint32_t bytes) {
    const size_t room = w->block->machine->shared_bytes;
    for (uint32_t left = mask; left; left &= left - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(left);
        for (size_t i = at[lane]; i < (size_t)at[lane] + bytes && i < room; ++i) {
            struct probe_write *x = &w->block->probed->writes[i];
            x->in_flight &= x->thread != 1 + w->number * LANES + lane;
        }
    }
}

static struct probe_mma mma_of(struct warp *w, const struct record *r, uint32_t mask) {
    const struct tensor_form *f = &tensor_forms[r->imm & 0xffff];
    struct probe_mma x = {.place = probe_place_of(w->block),
                          .warp = w->number,
                          .live = mask,
                          .number = w->block->probed->multiplied[w->number],
                          .instruction = r->site,
                          .m = f->m,
                          .n = 8,
                          .k = f->k,
                          .a_unsigned = r->imm & MMA_A_UNSIGNED,
                          .b_unsigned = r->imm & MMA_B_UNSIGNED,
                          .saturates = r->imm & MMA_SATFINITE,
                          .a_count = f->a,
                          .b_count = f->b,
                          .d_count = f->c};
    const uint32_t *at = w->wide + r->wide;
    const struct origins *o = &w->block->probed->origins;
    for (int i = 0; i < 4; ++i) {
        x.d[i] = reg32(w, at[i]);
        x.a[i] = reg32(w, at[14 + i]);
        x.c[i] = reg32(w, at[10 + i]);
        x.origin[i] = origin_tags(o, w->number, at[i]);
        x.a_by[i] = o->written[w->number * o->slots + at[4 + i] / 128];
    }
    for (int i = 0; i < 2; ++i) {
        x.b[i] = reg32(w, at[18 + i]);
        x.b_by[i] = o->written[w->number * o->slots + at[8 + i] / 128];
    }
    return x;
}

void op_probe_operands(struct warp *w, const struct record *r, uint32_t mask) {
    const uint32_t *list = w->wide + r->wide;
    for (int i = 0; i < 6; ++i)
        memcpy(reg32(w, list[14 + i]), reg32(w, list[4 + i]), LANES * sizeof(uint32_t));
    const struct probe_mma at = mma_of(w, r, mask);
    w->block->probed->probe->operands(w->block->probed->probe->context, &at);
}

void op_probe_sums(struct warp *w, const struct record *r, uint32_t mask) {
    const struct probe_mma at = mma_of(w, r, mask);
    w->block->probed->probe->sums(w->block->probed->probe->context, &at);
    ++w->block->probed->multiplied[w->number];
    probe_stops(w->block);
}
