/* Memory accesses lane by lane: exact bounds, alignment, planes, read-only buffers, and who stored what. The fast
 * paths of memory.isa.c end here whenever an address is not plainly right.
 *
 * A bad load gives bytes 0xFF, a bad store is dropped; both make an event and the warp goes on. An access that leaves
 * its site's plane but stays in the arena is done as it would be on hardware. */
#include "async.h"
#include "hazard.h"
#include "schedule.h"
#include "spot.h"
#include "valid.h"
#include <string.h>

static const uint8_t poison_bytes[16] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                         0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

/* First byte of [at, at + bytes) outside [lo, hi); at least one is. */
static int64_t first_outside(int64_t at, int64_t lo, int64_t hi) {
    return at < lo || at >= hi ? at : hi;
}

/* Some byte of [at, at + bytes) is in no range: neither in the static variables nor in the dynamic arena. *bad: the
 * first such. */
static bool is_outside(const struct machine *m, int64_t at, size_t bytes, int64_t *bad) {
    for (size_t i = 0; i < bytes; ++i) { /* at + i does not overflow: the byte before it is in a range */
        *bad = at + (int64_t)i;
        if (!range_at(m, *bad))
            return true;
    }
    return false;
}

/* address: in the shared space, negative when it lies below it. window: what the instruction's addresses add to it. */
static struct spot shared_spot(struct warp *w, const struct record *r, unsigned lane, int64_t address, bool store,
                               size_t bytes, uint64_t window) {
    struct block *b = w->block;
    const struct machine *m = b->machine;
    struct site_range *s = &b->sites[r->c];
    const int64_t origin = m->static_bytes ? 0 : (int64_t)m->dynamic_start; /* of offsets outside the planes */
    int64_t outside;
    struct event v = {
        .space = SPACE_SHARED, .store = store, .buffer = -1, .plane = -1, .other_plane = -1, .bytes = bytes};
    if (is_outside(m, address, bytes, &outside)) {
        v.kind = EVENT_OUT_OF_BOUNDS;
        v.offset = outside - origin;
        event_at(w, r, lane, v);
        return (struct spot){0};
    }
    const struct range *here = range_at(m, address);
    if (address & (int64_t)(bytes - 1)) {
        v.kind = EVENT_MISALIGNED;
        v.plane = here->plane;
        v.offset = address - (here->plane >= 0 ? (int64_t)here->lo : origin);
        event_at(w, r, lane, v);
        return (struct spot){0};
    }
    if (!s->range || !m->planes) /* without planes a site may use both ranges in turn */
        s->range = (int32_t)(here - m->ranges) + 1;
    const struct range *own = &m->ranges[s->range - 1];
    s->lo = own->lo + window;
    s->hi = own->hi + window;
    s->host = b->shared + own->lo;
    s->region = 0;
    s->watched = watch_bits(b, own);
    if (address < (int64_t)own->lo || address + (int64_t)bytes > (int64_t)own->hi) {
        const int64_t bad = first_outside(address, (int64_t)own->lo, (int64_t)own->hi);
        v.kind = EVENT_PLANE;
        v.plane = own->plane;
        v.other_plane = range_at(m, bad)->plane;
        v.offset = bad - (int64_t)own->lo;
        event_at(w, r, lane, v);
    }
    return (struct spot){.host = b->shared + address};
}

/* even: what the address is a multiple of. */
static struct spot global_spot(struct warp *w, const struct record *r, unsigned lane, uint64_t address, bool store,
                               size_t bytes, size_t even) {
    struct block *b = w->block;
    struct machine *m = b->machine;
    const uint64_t index = (address + BUFFER_HALF) >> BUFFER_SHIFT;
    struct event v = {
        .space = SPACE_GLOBAL, .store = store, .buffer = -1, .plane = -1, .other_plane = -1, .bytes = bytes};
    if (index < 1 || index > m->region_count) {
        v.kind = EVENT_OUT_OF_BOUNDS;
        v.offset = (int64_t)address;
        v.window = address - SHARED_WINDOW < WINDOW_BYTES  ? SPACE_SHARED
                   : address - LOCAL_WINDOW < WINDOW_BYTES ? SPACE_LOCAL
                                                           : SPACE_NONE;
        event_at(w, r, lane, v);
        return (struct spot){0};
    }
    struct region *g = &m->regions[index - 1];
    const int64_t offset = (int64_t)(address - g->base), size = (int64_t)g->bytes;
    v.buffer = g->buffer;
    v.name = g->name;
    v.offset = offset;
    if (offset < 0 || offset > size || size - offset < (int64_t)bytes) {
        v.kind = EVENT_OUT_OF_BOUNDS;
        v.offset = first_outside(offset, 0, size);
    } else if (offset & (int64_t)(even - 1)) {
        v.kind = EVENT_MISALIGNED;
    } else if (store && !g->writable) {
        v.kind = EVENT_READ_ONLY;
    } else {
        if (store || !(g->traffic || g->watched_reads)) { /* loads that must be noted have no fast path */
            struct site_range *s = &b->sites[r->c];
            s->lo = g->base;
            s->hi = g->base + g->bytes;
            s->host = g->data;
            s->region = (int32_t)index;
            s->watched = 0;
        }
        return (struct spot){.host = g->data + offset, .region = g, .offset = (size_t)offset};
    }
    event_at(w, r, lane, v);
    return (struct spot){0};
}

static struct spot find_spot(struct warp *w, const struct record *r, const struct access *x, unsigned lane,
                             uint64_t address) {
    if (x->space == PTX_SHARED) {
        /* A 32-bit address wraps: what lies in the upper half is below the arena, not 2 GiB past it. */
        const int64_t at = x->wide_address ? (int64_t)address : (int32_t)(uint32_t)address;
        return shared_spot(w, r, lane, at, x->store, x->bytes, 0);
    }
    if (x->space == PTX_REG) { /* generic */
        const int64_t at = (int64_t)(address - SHARED_WINDOW);
        if (at >= -((int64_t)1 << 31) && at < (int64_t)1 << 32)
            return shared_spot(w, r, lane, at, x->store, x->bytes, SHARED_WINDOW);
    }
    return global_spot(w, r, lane, address, x->store, x->bytes, x->bytes);
}

/* What one lock covers starts on a multiple of 16 bytes, so no access lies on two, and of the cell size, nor does a
 * cell. */
static atomic_flag *lock_of(struct machine *m, const struct region *g, size_t offset) {
    return &m->locks[(offset / g->lock_bytes + (g->base >> BUFFER_SHIFT) * 131) % STORE_LOCKS];
}

/* A word that is a cell of its own and that nobody has stored yet: what nearly every store of a result is. */
static bool store_first(const struct warp *w, struct region *g, size_t offset, const uint8_t value[4],
                        const struct cell_writer *me) {
    static const uint8_t none[4] = {0}, once[4] = {1, 1, 1, 1};
    if (!g->coverage || g->cell_bytes != 4 || memcmp(g->coverage->stores + offset, none, 4))
        return false;
    memcpy(g->coverage->stores + offset, once, 4);
    g->coverage->cells[offset / 4] =
        (struct cell_history){.first = *me, .last = *me, .arrivals = w->clock[w->number], .syncs = w->syncs};
    memcpy(g->data + offset, value, 4);
    return true;
}

/* Bytes that store_first has stored get their winner when someone needs it. */
static void settle_winner(struct region *g, size_t offset, size_t bytes) {
    for (size_t i = offset; g->coverage && i < offset + bytes; ++i)
        if (!g->winner[i] && g->coverage->stores[i] & 0x7f)
            g->winner[i] = g->coverage->cells[i / g->cell_bytes].last.block;
}

/* Counts and writers of the bytes, and the bytes themselves. Nothing here depends on which of two blocks comes first in
 * time: counts add up, first and last writers are those of the lowest and the highest place in the order of blocks, the
 * highest one's byte stays, and
 * "two stores differed" holds when the values ever stored to a byte are not all the same: as long as they are, the byte
 * that is there is that value. "Raced" looks at one block at a time: its own bytes there, the thread that stored them,
 * and whether a barrier came in between. While the machine runs, cells hold places + 1 for block numbers, 0 for none.
 */
/* The last store of a cell, by another thread of this block, is ordered before what warp w does now: by a barrier that
 * both warps took part in since, directly or through others, or, in one warp, by bar.warp.sync. */
static bool is_ordered(const struct warp *w, const struct cell_history *h) {
    const uint32_t other = h->last.thread / LANES;
    return other == w->number ? w->syncs > h->syncs : w->clock[other] > h->arrivals;
}

static void store_any(const struct warp *w, struct region *g, size_t offset, const uint8_t *value, size_t bytes,
                      const struct cell_writer *me) {
    uint8_t *data = g->data + offset;
    bool differs = false; /* from what this block stored here before */
    settle_winner(g, offset, bytes);
    for (size_t i = 0; i < bytes; ++i)
        differs |= g->winner[offset + i] == me->block && data[i] != value[i];
    if (g->coverage) {
        uint8_t *stores = g->coverage->stores + offset;
        struct cell_history *cells = g->coverage->cells;
        bool atomic = false; /* then the watch of races knows more, and counts and values say nothing */
        for (size_t c = offset / g->cell_bytes; c <= (offset + bytes - 1) / g->cell_bytes; ++c)
            atomic |= cells[c].atomic;
        differs &= !atomic;
        for (size_t i = 0; i < bytes; ++i) {
            if ((stores[i] & 0x7f) && data[i] != value[i] && !atomic) {
                stores[i] |= 0x80;
                atomic_store_explicit(&w->block->machine->differed, true, memory_order_relaxed);
            }
            if ((stores[i] & 0x7f) < 0x7f)
                ++stores[i];
        }
        for (size_t c = offset / g->cell_bytes; c <= (offset + bytes - 1) / g->cell_bytes; ++c) {
            struct cell_history *h = &cells[c];
            h->several |= h->last.block && (h->last.block != me->block || h->last.thread != me->thread);
            h->raced |= differs && h->last.block == me->block && h->last.thread != me->thread && !is_ordered(w, h);
            if (!h->first.block || me->block < h->first.block)
                h->first = *me;
            if (me->block >= h->last.block) {
                h->last = *me;
                h->arrivals = w->clock[w->number];
                h->syncs = w->syncs;
            }
        }
    }
    for (size_t i = 0; i < bytes; ++i)
        if (me->block >= g->winner[offset + i]) {
            g->winner[offset + i] = me->block;
            data[i] = value[i];
        }
}

static void take(atomic_flag *lock) {
    while (atomic_flag_test_and_set_explicit(lock, memory_order_acquire)) {
    }
}

atomic_flag *lock_spot(struct machine *m, const struct spot *spot) {
    atomic_flag *lock = m->parallel && spot->region ? lock_of(m, spot->region, spot->offset) : NULL;
    if (lock)
        take(lock);
    return lock;
}

static inline void store_counted(struct warp *w, const struct record *r, unsigned lane, struct region *g, size_t offset,
                                 const uint8_t *value, size_t bytes) {
    struct machine *m = w->block->machine;
    if (g->direct) {
        memcpy(g->data + offset, value, bytes);
        return;
    }
    const struct cell_writer who = writer(w, r, lane), *me = &who;
    atomic_flag *lock = m->parallel ? lock_of(m, g, offset) : NULL;
    if (lock)
        take(lock);
    if (g->notes_stores || m->exact)
        hazard_global(w, r, lane, g, offset, bytes, value);
    if (bytes != 4 || !store_first(w, g, offset, value, me))
        store_any(w, g, offset, value, bytes, me);
    if (lock)
        atomic_flag_clear_explicit(lock, memory_order_release);
}

struct cell_writer writer(const struct warp *w, const struct record *r, unsigned lane) {
    return (struct cell_writer){
        .block = (uint32_t)w->block->place + 1, .thread = w->number * LANES + lane, .instruction = r->site};
}

/* Stores of a cell by atomics are no duplicates, however many they are: the byte counts as stored once. Its writers are
 * kept as those of plain stores are. */
void note_atomic(struct warp *w, const struct record *r, unsigned lane, const struct spot *spot, size_t bytes) {
    const struct cell_writer who = writer(w, r, lane), *me = &who;
    struct region *g = spot->region;
    if (g->traffic)
        hazard_global(w, r, lane, g, spot->offset, bytes, NULL);
    settle_winner(g, spot->offset, bytes);
    for (size_t i = spot->offset; i < spot->offset + bytes; ++i)
        if (me->block > g->winner[i])
            g->winner[i] = me->block;
    if (!g->coverage)
        return;
    for (size_t i = spot->offset; i < spot->offset + bytes; ++i)
        if (!(g->coverage->stores[i] & 0x7f))
            g->coverage->stores[i] |= 1;
    struct cell_history *cells = g->coverage->cells;
    for (size_t c = spot->offset / g->cell_bytes; c <= (spot->offset + bytes - 1) / g->cell_bytes; ++c) {
        struct cell_history *h = &cells[c];
        h->atomic = true;
        if (!h->first.block || me->block < h->first.block)
            h->first = *me;
        if (me->block >= h->last.block) {
            h->last = *me;
            h->arrivals = w->clock[w->number];
            h->syncs = w->syncs;
        }
    }
}

void find_spots(struct warp *w, const struct record *r, uint32_t mask, const uint64_t addr[LANES],
                struct spot spots[LANES]) {
    struct block *b = w->block;
    const struct access *x = &b->machine->program->accesses[r->c];
    uint32_t at[LANES] = {0}, shared = 0;
    uint8_t watched = 0; /* lanes may be in several ranges, of which the site knows one */
    for (uint32_t left = mask; left; left &= left - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(left);
        spots[lane] = find_spot(w, r, x, lane, addr[lane]);
        if (spots[lane].host && !spots[lane].region) {
            shared |= 1u << lane;
            watched |= b->sites[r->c].watched;
            at[lane] = (uint32_t)(spots[lane].host - b->shared);
        }
    }
    if (shared && watched) {
        const uint8_t own = b->sites[r->c].watched;
        b->sites[r->c].watched = watched;
        watch_shared(w, r, shared, at);
        b->sites[r->c].watched = own;
    }
    if (x->strong && mask & ~shared)
        watch_strong(w, r);
}

static void store_lane(struct warp *w, const struct record *r, const struct access *x, unsigned lane,
                       const struct spot *spot) {
    const uint32_t *registers = w->wide + r->wide;
    uint8_t value[32];
    for (unsigned e = 0; e < x->elements; ++e) {
        const uint64_t v = x->wide_registers ? reg64(w, registers[e])[lane] : reg32(w, registers[e])[lane];
        memcpy(value + e * x->element_bytes, &v, x->element_bytes);
    }
    if (spot->region)
        store_counted(w, r, lane, spot->region, spot->offset, value, x->bytes);
    else
        memcpy(spot->host, value, x->bytes);
}

static void load_lane(struct warp *w, const struct record *r, const struct access *x, unsigned lane,
                      const struct spot *spot) {
    const uint32_t *registers = w->wide + r->wide;
    const uint8_t *from = spot->host ? spot->host : poison_bytes;
    uint8_t copy[32];
    if (spot->region && spot->region->traffic) { /* other blocks may be writing here */
        atomic_flag *lock = lock_of(w->block->machine, spot->region, spot->offset);
        take(lock);
        hazard_global(w, r, lane, spot->region, spot->offset, x->bytes, NULL);
        if (spot->region->watched_reads)
            valid_global(w, r, lane, spot->region, spot->offset, x->bytes);
        from = memcpy(copy, spot->host, x->bytes);
        atomic_flag_clear_explicit(lock, memory_order_release);
    } else if (spot->region && spot->region->watched_reads) {
        valid_global(w, r, lane, spot->region, spot->offset, x->bytes);
    }
    for (unsigned e = 0; e < x->elements; ++e) {
        uint64_t v = 0;
        memcpy(&v, from + e * x->element_bytes, x->element_bytes);
        const unsigned unused = 64 - 8 * x->element_bytes;
        if (x->is_signed)
            v = (uint64_t)((int64_t)(v << unused) >> unused);
        if (x->wide_registers)
            reg64(w, registers[e])[lane] = v;
        else
            reg32(w, registers[e])[lane] = x->register_bits == 16 ? (uint16_t)v : (uint32_t)v;
    }
}

/* The kernel's parameters through an address: addr in the .param space. They are read only. */
static void param_access(struct warp *w, const struct record *r, const struct access *x, uint32_t mask,
                         const uint64_t addr[LANES]) {
    const struct program *p = w->block->machine->program;
    const uint64_t size = p->entry->param_bytes;
    for (uint32_t left = mask; left; left &= left - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(left);
        struct event v = {.space = SPACE_PARAM,
                          .store = x->store,
                          .buffer = -1,
                          .plane = -1,
                          .other_plane = -1,
                          .offset = (int64_t)addr[lane],
                          .bytes = x->bytes};
        struct spot spot = {0};
        if (addr[lane] > size || size - addr[lane] < x->bytes) {
            v.kind = EVENT_OUT_OF_BOUNDS;
            v.offset = first_outside((int64_t)addr[lane], 0, (int64_t)size);
        } else if (addr[lane] & (x->bytes - 1u)) {
            v.kind = EVENT_MISALIGNED;
        } else if (x->store) {
            v.kind = EVENT_READ_ONLY;
        } else {
            spot.host = p->params + addr[lane];
        }
        if (!spot.host)
            event_at(w, r, lane, v);
        if (!x->store)
            load_lane(w, r, x, lane, &spot);
    }
}

/* Lanes whose generic address is in the window; at: addresses within it. */
static uint32_t in_window(uint32_t mask, uint64_t window, const uint64_t addr[LANES], uint64_t at[LANES]) {
    uint32_t inside = 0;
    for (uint32_t left = mask; left; left &= left - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(left);
        at[lane] = addr[lane] - window;
        if (at[lane] < WINDOW_BYTES)
            inside |= left & -left;
    }
    return inside;
}

/* ld.param [register]: a = address, c = access, wide = data registers. */
void op_param(struct warp *w, const struct record *r, uint32_t mask) {
    const struct access *x = &w->block->machine->program->accesses[r->c];
    uint64_t addr[LANES];
    for (int i = 0; i < LANES; ++i)
        addr[i] = reg64(w, r->a)[i] + (uint64_t)r->imm;
    param_access(w, r, x, mask, addr);
}

bool generic_read(struct warp *w, const struct record *r, unsigned lane, uint64_t address, uint8_t *out, size_t bytes) {
    const struct block *b = w->block;
    struct machine *m = b->machine;
    if (address - LOCAL_WINDOW < WINDOW_BYTES)
        return local_read(w, r, lane, address - LOCAL_WINDOW, out, bytes);
    if (address - SHARED_WINDOW < WINDOW_BYTES) {
        const uint64_t at = address - SHARED_WINDOW;
        if (at > m->shared_bytes || m->shared_bytes - at < bytes)
            return false;
        memcpy(out, b->shared + at, bytes);
        return true;
    }
    const uint64_t index = (address + BUFFER_HALF) >> BUFFER_SHIFT;
    if (index < 1 || index > m->region_count)
        return false;
    struct region *g = &m->regions[index - 1];
    const uint64_t at = address - g->base;
    if (at > g->bytes || g->bytes - at < bytes)
        return false;
    for (size_t i = 0; i < bytes; ++i) { /* other blocks may be writing here */
        atomic_flag *lock = g->traffic ? lock_of(m, g, at + i) : NULL;
        if (lock) {
            take(lock);
            hazard_global(w, r, lane, g, at + i, 1, NULL);
        }
        out[i] = g->data[at + i];
        if (lock)
            atomic_flag_clear_explicit(lock, memory_order_release);
    }
    return true;
}

void memory_access(struct warp *w, const struct record *r, uint32_t mask, const uint64_t addr[LANES]) {
    const struct access *x = &w->block->machine->program->accesses[r->c];
    if (x->space == PTX_REG) { /* generic: each lane its own space */
        uint64_t at[LANES] = {0};
        const uint32_t local = in_window(mask, LOCAL_WINDOW, addr, at);
        if (local)
            local_access(w, r, local, at);
        const uint32_t param = in_window(mask & ~local, PARAM_WINDOW, addr, at);
        if (param)
            param_access(w, r, x, param, at);
        mask &= ~(local | param);
        if (!mask)
            return;
    }
    struct spot spots[LANES];
    find_spots(w, r, mask, addr, spots);
    const struct lane_order order = x->store ? lane_order(w->block) : (struct lane_order){0};
    for (uint32_t left = mask; left;) {
        const unsigned lane = next_lane(order, &left);
        if (!x->store)
            load_lane(w, r, x, lane, &spots[lane]);
        else if (spots[lane].host)
            store_lane(w, r, x, lane, &spots[lane]);
    }
}

void memory_addresses(const struct warp *w, const struct record *r, uint64_t addr[LANES]) {
    const struct access *x = &w->block->machine->program->accesses[r->c];
    for (int i = 0; i < LANES; ++i)
        addr[i] =
            x->wide_address ? reg64(w, r->a)[i] + (uint64_t)r->imm : (uint32_t)(reg32(w, r->a)[i] + (uint32_t)r->imm);
}

void memory_general(struct warp *w, const struct record *r, uint32_t mask) {
    uint64_t addr[LANES];
    memory_addresses(w, r, addr);
    memory_access(w, r, mask, addr);
}

/* Words to global memory. The site's range is the buffer it stored to last; any doubt goes to memory_access. */
void memory_store_word(struct warp *w, const struct record *r, uint32_t mask) {
    struct machine *m = w->block->machine;
    const struct site_range *s = &w->block->sites[r->c];
    const uint64_t *a = reg64(w, r->a);
    const uint32_t *value = reg32(w, r->b);
    uint64_t addr[LANES], low = UINT64_MAX, high = 0, any = 0;
    for (int i = 0; i < LANES; ++i)
        addr[i] = a[i] + (uint64_t)r->imm;
    for (uint32_t left = mask; left; left &= left - 1) {
        const uint64_t one = addr[__builtin_ctz(left)];
        low = one < low ? one : low;
        high = one > high ? one : high;
        any |= one;
    }
    if (low < s->lo || s->hi < 4 || high > s->hi - 4 || any & 3) {
        memory_access(w, r, mask, addr);
        return;
    }
    struct region *g = &m->regions[s->region - 1];
    const struct lane_order order = lane_order(w->block);
    if (g->direct && mask == ALL_LANES && !order.down && !order.first) {
        for (int i = 0; i < LANES; ++i)
            memcpy(g->data + (addr[i] - g->base), &value[i], 4);
        return;
    }
    for (uint32_t left = mask; left;) {
        const unsigned lane = next_lane(order, &left);
        store_counted(w, r, lane, g, addr[lane] - g->base, (const uint8_t *)&value[lane], 4);
    }
}

void memory_rows(struct warp *w, const struct record *r, uint32_t rows, const uint64_t addr[LANES],
                 const uint8_t *host[LANES]) {
    const uint8_t *poison = w->block->shared + w->block->poison;
    struct spot spots[LANES];
    find_spots(w, r, rows, addr, spots);
    for (unsigned lane = 0; lane < LANES; ++lane)
        host[lane] = rows >> lane & 1 && spots[lane].host ? spots[lane].host : poison;
}

/* Notes the traffic of bytes that several locks guard: under each lock the words that are its own. Where races are
 * judged one thread runs and no lock is needed; it is one access there, not many. */
static void discard_noted(struct warp *w, const struct record *r, unsigned lane, struct spot spot, size_t bytes,
                          const uint8_t *gone) {
    struct machine *m = w->block->machine;
    const size_t end = spot.offset + bytes, piece = m->exact ? bytes : spot.region->lock_bytes;
    while (spot.offset < end) {
        const size_t next = m->exact ? end : (spot.offset / piece + 1) * piece,
                     n = (next < end ? next : end) - spot.offset;
        atomic_flag *lock = lock_spot(m, &spot);
        hazard_global(w, r, lane, spot.region, spot.offset, n, gone);
        unlock_spot(lock);
        spot.offset += n;
    }
}

/* Bytes that hold nothing from now on: as if no store had come to them, and with the poison of outputs. */
void memory_discard(struct warp *w, const struct record *r, uint32_t mask) {
    static const uint8_t poison[4] = {0xad, 0xde, 0xa5, 0x7f};
    uint8_t gone[128];
    for (size_t i = 0; i < sizeof gone; ++i)
        gone[i] = poison[i % sizeof poison];
    struct machine *m = w->block->machine;
    const struct access *x = &m->program->accesses[r->c];
    uint64_t addr[LANES];
    struct spot spots[LANES];
    memory_addresses(w, r, addr);
    find_spots(w, r, mask, addr, spots);
    leave_open(m, OPEN_DISCARD);
    for (uint32_t left = mask; left; left &= left - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(left);
        struct spot spot = spots[lane];
        if (spot.region && spot.region->traffic)
            discard_noted(w, r, lane, spot, x->bytes, gone);
        for (unsigned i = 0; spot.host && i < x->bytes; ++i, ++spot.host, ++spot.offset) {
            struct region *g = spot.region;
            atomic_flag *lock = lock_spot(m, &spot);
            *spot.host = poison[i % sizeof poison];
            g->winner[spot.offset] = 0;
            if (g->coverage)
                g->coverage->stores[spot.offset] = 0;
            unlock_spot(lock);
        }
    }
}

/* ---- cp.async ---- */

uint8_t *memory_copy_target(struct warp *w, const struct record *r, unsigned lane, uint64_t address, size_t bytes) {
    return shared_spot(w, r, lane, (int64_t)address, true, bytes, 0).host;
}

const uint8_t *memory_copy_source(struct warp *w, const struct record *r, unsigned lane, uint64_t address, size_t bytes,
                                  size_t alignment, struct region **noted) {
    const struct spot spot = global_spot(w, r, lane, address, false, bytes, alignment);
    *noted = spot.region && (spot.region->traffic || spot.region->watched_reads) ? spot.region : NULL;
    return spot.host;
}

void memory_read_noted(struct warp *w, const struct record *r, unsigned lane, struct region *noted, const uint8_t *from,
                       uint8_t *to, size_t bytes) {
    const struct spot spot = {.region = noted, .offset = (size_t)(from - noted->data)};
    atomic_flag *lock = lock_spot(w->block->machine, &spot);
    if (noted->watched_reads)
        valid_global(w, r, lane, noted, spot.offset, bytes);
    memcpy(to, from, bytes);
    unlock_spot(lock);
}

void memory_copy_noted(struct warp *w, const struct record *r, unsigned lane, struct region *noted, const uint8_t *from,
                       uint8_t *to, size_t bytes) {
    const struct spot spot = {.region = noted, .offset = (size_t)(from - noted->data)};
    atomic_flag *lock = lock_spot(w->block->machine, &spot);
    if (noted->traffic && (to || (w->block->machine->exact && noted->suspects)))
        hazard_global_copy(w, r, lane, noted, spot.offset, bytes, to);
    if (to)
        memcpy(to, from, bytes);
    unlock_spot(lock);
}

void memory_shared_place(const struct machine *m, uint32_t at, struct event *v) {
    const struct range *here = range_at(m, at);
    v->plane = here->plane;
    v->offset = (int64_t)at - (int64_t)(here->plane >= 0 ? here->lo : m->static_bytes ? 0 : m->dynamic_start);
}
