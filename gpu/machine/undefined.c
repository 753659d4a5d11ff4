/* What the helper records of decode_undefined.c do: bits of registers that are undefined, lane by lane. */
#include "undefined.h"
#include <string.h>

/* Lanes with an undefined bit among `bits` of a place. */
static uint32_t undefined_lanes(const struct warp *w, uint32_t kind, uint32_t offset, uint64_t bits) {
    if (kind == PLACE_PRED)
        return w->preds[offset];
    uint32_t lanes = 0;
    for (unsigned i = 0; i < LANES; ++i)
        lanes |= (uint32_t)(((kind == PLACE_32 ? reg32(w, offset)[i] : reg64(w, offset)[i]) & bits) != 0) << i;
    return kind == PLACE_128 ? lanes | undefined_lanes(w, PLACE_64, offset + 256, bits) : lanes;
}

/* The lanes of mask: those of `lanes` get `bits`, the others 0. */
static void put(struct warp *w, uint32_t kind, uint32_t offset, uint32_t lanes, uint64_t bits, uint32_t mask) {
    if (kind == PLACE_PRED) {
        set_pred(w, offset, lanes, mask);
        return;
    }
    if (kind == PLACE_128)
        put(w, PLACE_64, offset + 256, lanes, bits, mask);
    for (uint32_t left = mask; left; left &= left - 1) {
        const int i = __builtin_ctz(left);
        const uint64_t v = lanes >> i & 1 ? bits : 0;
        if (kind == PLACE_32)
            reg32(w, offset)[i] = (uint32_t)v;
        else
            reg64(w, offset)[i] = v;
    }
}

void op_undefined_set(struct warp *w, const struct record *r, uint32_t mask) {
    put(w, r->a, r->dst, ALL_LANES, (uint64_t)r->imm, mask);
}

void op_undefined_any(struct warp *w, const struct record *r, uint32_t mask) {
    const uint32_t *places = w->wide + r->wide;
    uint32_t lanes = 0;
    for (uint32_t i = 0; i < r->b; ++i)
        lanes |= undefined_lanes(w, places[2 * i], places[2 * i + 1], UINT64_MAX);
    put(w, r->a, r->dst, lanes, (uint64_t)r->imm, r->c ? mask & lanes : mask);
}

/* A bit is undefined when some values of the undefined operand bits make it 0 and others 1. */
static uint64_t undefined_bits(unsigned table, const uint64_t value[3], const uint64_t undefined[3]) {
    uint64_t zero = 0, one = 0;
    for (unsigned k = 0; k < 8; ++k) {
        uint64_t possible = UINT64_MAX;
        for (unsigned i = 0; i < 3; ++i)
            possible &= (k >> (2 - i) & 1 ? value[i] : ~value[i]) | undefined[i];
        if (table >> k & 1)
            one |= possible;
        else
            zero |= possible;
    }
    return zero & one;
}

void op_undefined_logic(struct warp *w, const struct record *r, uint32_t mask) {
    const uint32_t *from = w->wide + r->wide;
    const unsigned table = (unsigned)r->imm;
    if (r->a == PLACE_PRED) {
        uint64_t value[3], undefined[3];
        for (int k = 0; k < 3; ++k) {
            value[k] = w->preds[from[k] & ~GUARD_NEGATED] ^ (from[k] & GUARD_NEGATED ? ALL_LANES : 0);
            undefined[k] = w->preds[from[k + 3]];
        }
        set_pred(w, r->dst, (uint32_t)undefined_bits(table, value, undefined), mask);
        return;
    }
    const bool wide = r->a == PLACE_64;
    for (uint32_t left = mask; left; left &= left - 1) {
        const int i = __builtin_ctz(left);
        uint64_t all[6];
        for (int k = 0; k < 6; ++k)
            all[k] = wide ? reg64(w, from[k])[i] : reg32(w, from[k])[i];
        const uint64_t bits = undefined_bits(table, all, all + 3);
        if (wide)
            reg64(w, r->dst)[i] = bits;
        else
            reg32(w, r->dst)[i] = (uint32_t)bits;
    }
}

static uint32_t local_lanes(const struct warp *w, uint32_t address) {
    uint32_t lanes = 0;
    for (unsigned i = 0; i < LANES; ++i)
        lanes |= (uint32_t)(reg64(w, address)[i] - LOCAL_WINDOW < WINDOW_BYTES) << i;
    return lanes;
}

/* Where the lane's value comes from: the one load of local memory that has given it what nothing had written. */
static struct event_access source_of(const struct warp *w, unsigned lane) {
    struct event_access from = {0};
    if (w->unset_load[lane] && w->unset_load[lane] != SEVERAL_LOADS && w->block->machine->program->loads_alone) {
        from = (struct event_access){
            .present = true, .warp = w->number, .lane = lane, .instruction = w->unset_load[lane] - 1};
        memcpy(from.block, w->block->id, sizeof from.block);
    }
    return from;
}

void op_undefined_check(struct warp *w, const struct record *r, uint32_t mask) {
    static const uint8_t sizes[] = {[PLACE_32] = 4, [PLACE_64] = 8, [PLACE_128] = 16, [PLACE_PRED] = 1};
    const uint32_t *triple = w->wide + r->wide;
    for (uint32_t k = 0; k < r->b; ++k, triple += 3) {
        uint32_t lanes = undefined_lanes(w, triple[0], triple[1], (uint64_t)r->imm) & mask;
        if (r->c)
            lanes &= ~local_lanes(w, r->a);
        for (uint32_t left = lanes; left; left &= left - 1) {
            const unsigned lane = (unsigned)__builtin_ctz(left);
            struct record place = *r;
            struct event v = {.kind = EVENT_UNINITIALISED,
                              .space = SPACE_REGISTER,
                              .buffer = -1,
                              .plane = -1,
                              .other_plane = -1,
                              .bytes = sizes[triple[0]],
                              .other = source_of(w, lane),
                              .name = w->block->machine->program->names[triple[2]]};
            if (w->absent[lane]) { /* the shuffle is the fault, this is its use */
                place.site = w->absent[lane] - 1;
                v.kind = EVENT_ABSENT_LANE;
                v.other =
                    (struct event_access){.present = true, .warp = w->number, .lane = lane, .instruction = r->site};
                memcpy(v.other.block, w->block->id, sizeof v.other.block);
            }
            event_at(w, &place, lane, v);
        }
        put(w, triple[0], triple[1], 0, 0, lanes);
    }
}
