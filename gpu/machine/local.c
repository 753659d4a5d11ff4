/* Local memory: what each thread has for itself, its stack. Addresses count from 0 in every thread; the variables of a
 * function lie in its frame (call.c), and a frame may grow (alloca).
 *
 * A warp's local memory is one array of words, those of its 32 lanes side by side: word a / 4 of lane l is word
 * a / 4 * 32 + l. Where all lanes use one address, a load of 32 bits copies 128 bytes.
 *
 * Beside each bit is kept whether it is defined: nothing is at first, a store keeps what is so of the value, a load
 * hands it on to the shadows of its registers (undefined.h).
 *
 * Bounds: an access must lie within one frame that is active, its own or a caller's (a pointer may come from there).
 * Between frames are bytes that nobody owns. Source: PTX ISA 9.0, 5.1.4, 9.7.9, 9.7.17 (alloca, stacksave,
 * stackrestore), 9.7.9.19 (isspacep). */
#include "../../ref/checked.h"
#include "machine.h"
#include <stdlib.h>
#include <string.h>

enum { ALLOCA_ALIGNMENT = 8 };

/* Word at / 4 of lane l. */
static size_t word_at(uint64_t at, unsigned lane) {
    return (size_t)(at / 4) * LANES + lane;
}
static size_t byte_at(uint64_t at, unsigned lane) {
    return 4 * word_at(at, lane) + at % 4;
}

bool local_room(struct warp *w, uint32_t bytes) {
    const struct machine *m = w->block->machine;
    const uint32_t limit = local_limit(m->warps);
    if (bytes <= w->local_room)
        return true;
    if (bytes > limit)
        return false;
    uint32_t room = w->local_room ? 2 * w->local_room : 256;
    while (room < bytes)
        room *= 2;
    w->local = must_realloc(w->local, room, LANES);
    if (watches(m, WATCH_UNINIT) || m->program->follows)
        w->local_written = must_realloc(w->local_written, room, LANES);
    w->local_room = room;
    return true;
}

/* What counts as defined before a store. */
static uint8_t at_first(const struct warp *w) {
    return watches(w->block->machine, WATCH_UNINIT) ? 0 : 0xff;
}

void local_clear(struct warp *w, uint32_t mask, const uint32_t from[LANES], const uint32_t to[LANES]) {
    const unsigned first = (unsigned)__builtin_ctz(mask);
    bool same = mask == ALL_LANES;
    for (unsigned i = 0; same && i < LANES; ++i)
        same = from[i] == from[first] && to[i] == to[first] && from[i] % 4 == 0;
    if (same) { /* the last word may reach past `to`: nothing is there yet */
        const size_t start = byte_at(from[first], 0), bytes = ((size_t)to[first] - from[first] + 3) / 4 * 128;
        memset(w->local + start, 0xff, bytes);
        if (w->local_written)
            memset(w->local_written + start, at_first(w), bytes);
        return;
    }
    for (uint32_t left = mask; left; left &= left - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(left);
        for (uint32_t at = from[lane]; at < to[lane]; ++at) {
            w->local[byte_at(at, lane)] = 0xff;
            if (w->local_written)
                w->local_written[byte_at(at, lane)] = at_first(w);
        }
    }
}

/* The frame of the lane that has all of the bytes, or NULL. */
static const struct frame *frame_with(const struct warp *w, unsigned lane, uint64_t at, size_t bytes) {
    for (const struct frame *f = w->frame; f; f = f->caller)
        if (at >= f->base[lane] && at < f->end[lane])
            return f->end[lane] - at >= bytes ? f : NULL;
    return NULL;
}

bool local_read(struct warp *w, const struct record *r, unsigned lane, uint64_t at, uint8_t *out, size_t bytes) {
    if (!frame_with(w, lane, at, bytes))
        return false;
    size_t unset = bytes;
    for (size_t i = bytes; i-- > 0;) {
        out[i] = w->local[byte_at(at + i, lane)];
        if (w->local_written && w->local_written[byte_at(at + i, lane)] != 0xff)
            unset = i;
    }
    if (unset < bytes && watches(w->block->machine, WATCH_UNINIT))
        event_at(w, r, lane,
                 (struct event){.kind = EVENT_UNINITIALISED,
                                .space = SPACE_LOCAL,
                                .buffer = -1,
                                .plane = -1,
                                .other_plane = -1,
                                .offset = (int64_t)(at + unset - w->frame->base[lane]),
                                .bytes = bytes});
    return true;
}

/* The lanes whose access is in bounds and aligned; events for the others. Offsets in events count from the start of the
 * running function's frame. */
static uint32_t sound(struct warp *w, const struct record *r, const struct access *x, uint32_t mask,
                      const uint64_t addr[LANES]) {
    const struct frame *own = w->frame;
    uint32_t good = 0;
    for (uint32_t left = mask; left; left &= left - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(left);
        const uint64_t at = addr[lane];
        const bool inside = (at >= own->base[lane] && at < own->end[lane] && own->end[lane] - at >= x->bytes) ||
                            frame_with(w, lane, at, x->bytes);
        if (inside && !(at & (x->bytes - 1u))) {
            good |= left & -left;
            continue;
        }
        const uint64_t bad = at >= own->base[lane] && at < own->end[lane] && !inside ? own->end[lane] : at;
        event_at(w, r, lane,
                 (struct event){.kind = inside ? EVENT_MISALIGNED : EVENT_OUT_OF_BOUNDS,
                                .space = SPACE_LOCAL,
                                .store = x->store,
                                .buffer = -1,
                                .plane = -1,
                                .other_plane = -1,
                                .offset = (int64_t)(bad - own->base[lane]),
                                .bytes = x->bytes});
    }
    return good;
}

static bool is_uniform(const uint64_t addr[LANES]) {
    uint64_t differs = 0;
    for (int i = 1; i < LANES; ++i)
        differs |= addr[i] ^ addr[0];
    return !differs;
}

static void store_lane(struct warp *w, const struct access *x, const uint32_t *registers, unsigned lane, uint64_t at) {
    for (unsigned e = 0; e < x->elements; ++e, at += x->element_bytes) {
        const uint64_t v = x->wide_registers ? reg64(w, registers[e])[lane] : reg32(w, registers[e])[lane];
        for (unsigned i = 0; i < x->element_bytes; i += 4)
            memcpy(w->local + byte_at(at + i, lane), (const uint8_t *)&v + i,
                   x->element_bytes < 4 ? x->element_bytes : 4);
        for (unsigned i = 0; w->local_written && i < x->element_bytes; ++i)
            w->local_written[byte_at(at + i, lane)] = 0xff;
    }
}

/* at: NULL for a load that gives the poison. */
static void load_lane(struct warp *w, const struct access *x, const uint32_t *registers, unsigned lane,
                      const uint64_t *at) {
    for (unsigned e = 0; e < x->elements; ++e) {
        uint64_t v = at ? 0 : UINT64_MAX;
        for (unsigned i = 0; at && i < x->element_bytes; i += 4)
            memcpy((uint8_t *)&v + i, w->local + byte_at(*at + e * x->element_bytes + i, lane),
                   x->element_bytes < 4 ? x->element_bytes : 4);
        const unsigned unused = 64 - 8 * x->element_bytes;
        v = x->is_signed ? (uint64_t)((int64_t)(v << unused) >> unused) : v << unused >> unused;
        if (x->wide_registers)
            reg64(w, registers[e])[lane] = v;
        else
            reg32(w, registers[e])[lane] = x->register_bits == 16 ? (uint16_t)v : (uint32_t)v;
    }
}

/* The undefined bits of element e of what a lane loads, as load_lane extends it. */
static uint64_t undefined_element(const struct warp *w, const struct access *x, unsigned e, unsigned lane,
                                  uint64_t at) {
    uint64_t v = 0;
    for (unsigned i = 0; i < x->element_bytes; i += 4) {
        uint32_t word = 0;
        memcpy(&word, w->local_written + byte_at(at + e * x->element_bytes + i, lane),
               x->element_bytes < 4 ? x->element_bytes : 4);
        v |= (uint64_t)~word << 8 * i;
    }
    const unsigned unused = 64 - 8 * x->element_bytes;
    v = x->is_signed ? (uint64_t)((int64_t)(v << unused) >> unused) : v << unused >> unused;
    return x->register_bits == 16 ? (uint16_t)v : v;
}

/* Lanes that load bits which nothing has defined. */
static uint32_t undefined_lanes(const struct warp *w, const struct access *x, uint32_t mask,
                                const uint64_t addr[LANES]) {
    uint32_t lanes = 0;
    if (mask == ALL_LANES && x->element_bytes == 4 && is_uniform(addr)) {
        uint32_t all[LANES];
        memset(all, 0xff, sizeof all);
        for (unsigned e = 0; e < x->elements; ++e) {
            const uint32_t *written = (const uint32_t *)(const void *)(w->local_written + byte_at(addr[0] + 4 * e, 0));
            for (int i = 0; i < LANES; ++i)
                all[i] &= written[i];
        }
        for (int i = 0; i < LANES; ++i)
            lanes |= (uint32_t)(all[i] != UINT32_MAX) << i;
        return lanes;
    }
    for (uint32_t left = mask; left; left &= left - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(left);
        uint32_t all = UINT32_MAX;
        if (x->bytes < 4)
            for (unsigned i = 0; i < x->bytes; ++i)
                all &= UINT32_MAX << 8 | w->local_written[byte_at(addr[lane] + i, lane)];
        for (unsigned i = 0; x->bytes >= 4 && i < x->bytes; i += 4)
            all &= *(const uint32_t *)(const void *)(w->local_written + byte_at(addr[lane] + i, lane));
        lanes |= all != UINT32_MAX ? left & -left : 0;
    }
    return lanes;
}

/* A load of bits that nothing has defined makes them undefined in its registers, which are all defined so far. */
static void hand_undefined(struct warp *w, const struct record *r, const struct access *x, uint32_t mask,
                           const uint64_t addr[LANES]) {
    const uint32_t *shadows = w->wide + r->wide + x->elements;
    uint32_t left = mask ? undefined_lanes(w, x, mask, addr) : 0;
    if (left && !(w->block->machine->program->follows & FOLLOW_LOADS)) {
        must_follow(w->block, FOLLOW_LOADS);
        return;
    }
    for (; left && x->shadowed; left &= left - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(left);
        uint32_t *site = &w->unset_load[lane];
        *site = *site && *site != r->site + 1 ? SEVERAL_LOADS : r->site + 1;
        for (unsigned e = 0; e < x->elements; ++e) {
            const uint64_t v = shadows[e] ? undefined_element(w, x, e, lane, addr[lane]) : 0;
            if (shadows[e] && x->wide_registers)
                reg64(w, shadows[e])[lane] = v;
            else if (shadows[e])
                reg32(w, shadows[e])[lane] = (uint32_t)v;
        }
    }
}

/* Bits that were undefined in the registers are so in memory. */
static void keep_undefined(struct warp *w, const struct access *x, const uint32_t *shadows, uint32_t mask,
                           const uint64_t addr[LANES]) {
    for (uint32_t left = mask; left; left &= left - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(left);
        for (unsigned k = 0; k < x->elements * x->element_bytes; ++k) {
            const uint32_t from = shadows[k / x->element_bytes];
            const uint64_t bits = !from ? 0 : x->wide_registers ? reg64(w, from)[lane] : reg32(w, from)[lane];
            w->local_written[byte_at(addr[lane] + k, lane)] = (uint8_t)(~bits >> 8 * (k % x->element_bytes));
        }
    }
}

void local_access(struct warp *w, const struct record *r, uint32_t mask, const uint64_t addr[LANES]) {
    const struct access *x = &w->block->machine->program->accesses[r->c];
    const uint32_t *registers = w->wide + r->wide;
    const uint32_t good = sound(w, r, x, mask, addr);
    if (!x->store && w->local_written)
        hand_undefined(w, r, x, good, addr);
    if (good == ALL_LANES && x->element_bytes == 4 && !x->wide_registers && is_uniform(addr)) {
        for (unsigned e = 0; e < x->elements; ++e) {
            const size_t at = byte_at(addr[0] + 4 * e, 0);
            uint32_t *v = reg32(w, registers[e]);
            if (x->store)
                memcpy(w->local + at, v, 128);
            else
                memcpy(v, w->local + at, 128);
            if (x->store && w->local_written)
                memset(w->local_written + at, 0xff, 128);
        }
        if (x->store && x->shadowed && w->local_written)
            keep_undefined(w, x, registers + x->elements, good, addr);
        return;
    }
    for (uint32_t left = mask; left; left &= left - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(left);
        if (!x->store)
            load_lane(w, x, registers, lane, good >> lane & 1 ? &addr[lane] : NULL);
        else if (good >> lane & 1)
            store_lane(w, x, registers, lane, addr[lane]);
    }
    if (x->store && x->shadowed && w->local_written)
        keep_undefined(w, x, registers + x->elements, good, addr);
}

/* ---- instructions ---- */

static void form_addresses(const struct warp *w, const struct record *r, uint64_t addr[LANES]) {
    const struct access *x = &w->block->machine->program->accesses[r->c];
    for (int i = 0; i < LANES; ++i)
        addr[i] =
            x->wide_address ? reg64(w, r->a)[i] + (uint64_t)r->imm : (uint32_t)(reg32(w, r->a)[i] + (uint32_t)r->imm);
}

/* ld.local, st.local: a = address, c = access, wide = data registers. */
void op_local(struct warp *w, const struct record *r, uint32_t mask) {
    uint64_t addr[LANES];
    form_addresses(w, r, addr);
    local_access(w, r, mask, addr);
}

/* dst (64 bits) = imm bytes into the frame of the running function. */
void op_local_address(struct warp *w, const struct record *r, uint32_t mask) {
    (void)mask;
    uint64_t *d = reg64(w, r->dst);
    for (int i = 0; i < LANES; ++i)
        d[i] = (uint64_t)w->frame->base[i] + (uint64_t)r->imm;
}

/* A parameter whose address is taken goes from its .param words (a) to the frame, at byte imm; b = bytes, c = words of
 * its undefined bits, or 0.
 * PTX ISA 7.1: such an address is a local one. */
void op_local_spill(struct warp *w, const struct record *r, uint32_t mask) {
    for (uint32_t left = mask; left; left &= left - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(left);
        const uint64_t to = w->frame->base[lane] + (uint64_t)r->imm;
        for (uint32_t k = 0; k < r->b; ++k) {
            const uint32_t word = reg32(w, r->a + 128 * (k / 4))[lane];
            w->local[byte_at(to + k, lane)] = (uint8_t)(word >> 8 * (k % 4));
            if (w->local_written)
                w->local_written[byte_at(to + k, lane)] =
                    r->c ? (uint8_t)(~reg32(w, r->c + 128 * (k / 4))[lane] >> 8 * (k % 4)) : 0xff;
        }
    }
}

/* dst (64 bits) = address of a (64 bits) new bytes; imm = alignment. What there is no room for has an address that is
 * in no frame, after an event. */
void op_alloca(struct warp *w, const struct record *r, uint32_t mask) {
    const uint64_t *bytes = reg64(w, r->a),
                   alignment = (uint64_t)r->imm > ALLOCA_ALIGNMENT ? (uint64_t)r->imm : ALLOCA_ALIGNMENT;
    const uint64_t limit = local_limit(w->block->machine->warps);
    uint64_t *d = reg64(w, r->dst);
    for (uint32_t left = mask; left; left &= left - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(left);
        uint32_t from[LANES], to[LANES];
        const uint64_t at = (w->frame->end[lane] + alignment - 1) / alignment * alignment, n = bytes[lane];
        d[lane] = at;
        if (at > limit || n > limit - at || !local_room(w, (uint32_t)(at + n))) {
            event_at(w, r, lane,
                     (struct event){.kind = EVENT_STACK,
                                    .space = SPACE_LOCAL,
                                    .buffer = -1,
                                    .plane = -1,
                                    .other_plane = -1,
                                    .offset = w->frame->depth,
                                    .bytes = n});
            d[lane] = LOCAL_WINDOW - SHARED_WINDOW; /* far past every frame */
            continue;
        }
        from[lane] = w->frame->end[lane];
        w->frame->end[lane] = to[lane] = (uint32_t)(at + n);
        local_clear(w, left & -left, from, to);
    }
}

void op_stacksave(struct warp *w, const struct record *r, uint32_t mask) {
    uint64_t *d = reg64(w, r->dst);
    for (uint32_t left = mask; left; left &= left - 1)
        d[__builtin_ctz(left)] = w->frame->end[__builtin_ctz(left)];
}

/* Back to what stacksave gave in this activation; anything else is EVENT_OUT_OF_BOUNDS and changes nothing. */
void op_stackrestore(struct warp *w, const struct record *r, uint32_t mask) {
    const struct program *p = w->block->machine->program;
    const struct callee *c = &p->callees[w->frame->function];
    const uint32_t fixed = c->local_start + c->local_bytes;
    const uint64_t *a = reg64(w, r->a);
    for (uint32_t left = mask; left; left &= left - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(left);
        if (a[lane] >= w->frame->base[lane] + fixed && a[lane] <= w->frame->end[lane])
            w->frame->end[lane] = (uint32_t)a[lane];
        else
            event_at(w, r, lane,
                     (struct event){.kind = EVENT_OUT_OF_BOUNDS,
                                    .space = SPACE_LOCAL,
                                    .buffer = -1,
                                    .plane = -1,
                                    .other_plane = -1,
                                    .offset = (int64_t)(a[lane] - w->frame->base[lane])});
    }
}

static bool in_window(uint64_t address, uint64_t window) {
    return address - window < WINDOW_BYTES;
}

/* dst = predicate, a = generic address, imm = enum ptx_space (PTX_REG: none). */
void op_isspacep(struct warp *w, const struct record *r, uint32_t mask) {
    const struct machine *m = w->block->machine;
    uint32_t held = 0;
    for (uint32_t left = mask; left; left &= left - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(left);
        const uint64_t a = reg64(w, r->a)[lane], index = (a + BUFFER_HALF) >> BUFFER_SHIFT;
        enum ptx_space space = PTX_GLOBAL;
        if (in_window(a, SHARED_WINDOW))
            space = PTX_SHARED;
        else if (in_window(a, LOCAL_WINDOW))
            space = PTX_LOCAL;
        else if (in_window(a, PARAM_WINDOW))
            space = PTX_PARAM;
        else if (index >= 1 && index <= m->region_count && m->regions[index - 1].buffer < 0 &&
                 !m->regions[index - 1].writable)
            space = PTX_CONST;
        if (space == (enum ptx_space)r->imm)
            held |= left & -left;
    }
    set_pred(w, r->dst, held, mask);
}
