/* Races in global memory: between threads of a block that nothing orders, and between blocks, which nothing ever
 * orders.
 *
 * Every word of a region that the launch may write keeps, cheaply, who came by: the lowest and the highest block, the
 * thread if it was only one, loads and stores, weak and strong. Where stores are counted (coverage) and nothing is
 * strong, that of the stores is known already and only loads are noted. That is enough to clear nearly every word: it
 * was only stored, or only loaded, or by one thread alone. A launch that leaves suspect words is run once more, one
 * block after the other, and their accesses go to the exact judge (race.h). The machine is deterministic, so the
 * accesses are the same.
 *
 * Two weak stores of an output are coverage's to name (cell_history), not ours; we only tell it which cells had all
 * their stores ordered by fences and strong accesses, as those of a lock's holders are. Ours are a store and a load,
 * weak and strong accesses mixed, ld.global.nc of bytes that the launch stores, and stores to variables of the module,
 * which have no coverage. */
#include "../../ref/checked.h"
#include "hazard.h"
#include <stdlib.h>
#include <string.h>

enum seen {
    SEEN_LOAD = 1,
    SEEN_STORE = 2,
    SEEN_STRONG_LOAD = 4,
    SEEN_STRONG_STORE = 8,
    SEEN_NC = 16,
    SEEN_CTA = 32,
    SEEN_COPY = 64
};
/* Atomics that only add up, as access.reduced says, are in traffic.reduced instead. */
enum { SEEN_LOADS = SEEN_LOAD | SEEN_NC | SEEN_STRONG_LOAD, SEEN_STORES = SEEN_STORE | SEEN_STRONG_STORE };
#define MANY_THREADS UINT16_MAX
enum { SUSPECT = 1, UNORDERED = 2 }; /* region.suspects; the latter: two accesses that nothing orders were found */

static void note(struct traffic *t, uint32_t block, uint16_t thread, unsigned seen, unsigned reduced) {
    if (!t->low) {
        t->low = t->high = block;
        t->thread = thread;
    } else {
        if (t->thread != thread || t->low != block)
            t->thread = MANY_THREADS;
        t->low = block < t->low ? block : t->low;
        t->high = block > t->high ? block : t->high;
    }
    t->seen |= (uint8_t)seen;
    t->reduced |= (uint16_t)reduced;
}

static unsigned seen_of(const struct access *x, bool store) {
    const unsigned cta = x->strong && x->order & ACCESS_CTA ? SEEN_CTA : 0;
    if (x->reduced)
        return cta;
    if (!x->strong)
        return store ? SEEN_STORE : x->nc ? SEEN_NC : SEEN_LOAD;
    return cta | (x->order & ACCESS_LOAD ? SEEN_STRONG_LOAD : 0) | (x->order & ACCESS_STORE ? SEEN_STRONG_STORE : 0);
}

static void block_place(const struct machine *m, uint64_t block, uint32_t id[3]) {
    const uint32_t *grid = m->launch->grid;
    id[0] = (uint32_t)(block % grid[0]);
    id[1] = (uint32_t)(block / grid[0] % grid[1]);
    id[2] = (uint32_t)(block / grid[0] / grid[1]);
}

/* copies: the load of a cp.async, which begins. */
static void judge(struct warp *w, const struct record *r, unsigned lane, struct region *g, size_t offset, size_t size,
                  const uint8_t *value, bool copies) {
    static const enum event_kind kinds[] = {EVENT_RACE, EVENT_BENIGN_RACE, EVENT_ASYNC_PENDING};
    struct block *b = w->block;
    struct machine *m = b->machine;
    const struct access *x = &m->program->accesses[r->c];
    struct race_actor me = {.site = r->site,
                            .order = &b->hazards->live[w->number],
                            .block = (uint32_t)b->number,
                            .index = ++m->global_places,
                            .warp = (uint8_t)w->number,
                            .width = (uint8_t)size};
    const bool store = value || (x->strong && x->order & ACCESS_STORE);
    me.flags = (uint8_t)((store ? RACE_STORE : 0) | (value ? RACE_VALUED : 0) | (x->strong ? RACE_STRONG : 0) |
                         (x->nc ? RACE_NC : 0) | (x->strong && x->order & ACCESS_LOAD ? RACE_READS : 0) |
                         (x->strong && x->order & ACCESS_CTA ? RACE_CTA : 0));
    const bool quiet = g->coverage && !(m->launch->options.unwatched & WATCH_STORES);
    struct race_found found[RACE_KINDS] = {{0}};
    size_t where[RACE_KINDS] = {0};
    for (size_t word = offset / 4; word <= (offset + size - 1) / 4; ++word) {
        unsigned bytes = 0;
        uint8_t part[4] = {0};
        struct race_found here[RACE_KINDS] = {{0}};
        if (!g->suspects[word])
            continue;
        for (unsigned i = 0; i < 4; ++i)
            if (4 * word + i >= offset && 4 * word + i < offset + size) {
                bytes |= 1u << i;
                part[i] = value ? value[4 * word + i - offset] : 0;
            }
        uint32_t v;
        memcpy(&v, part, sizeof v);
        race_touch(m->global, &g->heads[word], &me, lane, bytes, v, quiet, here);
        if (copies)
            race_copy(m->global, &g->heads[word], &me, lane, bytes, 0);
        if (here[RACE_TRUE].found || here[RACE_STORES].found)
            g->suspects[word] = UNORDERED;
        for (int k = 0; k < RACE_KINDS; ++k)
            if (here[k].found && !found[k].found) {
                found[k] = here[k];
                where[k] = 4 * word + here[k].byte;
            } else if (here[k].found) {
                found[k].across |= here[k].across;
            }
    }
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; ++k) {
        const struct race_found *f = &found[k];
        if (!f->found)
            continue;
        struct event v = {.kind = kinds[k],
                          .space = SPACE_GLOBAL,
                          .store = store,
                          .buffer = g->buffer,
                          .name = g->name,
                          .plane = -1,
                          .other_plane = -1,
                          .offset = (int64_t)where[k],
                          .bytes = size,
                          .across_warps = f->across,
                          .other = {.present = true,
                                    .store = f->store,
                                    .warp = f->warp,
                                    .lane = f->lane,
                                    .instruction = f->site,
                                    .bytes = f->width}};
        block_place(m, f->block, v.other.block);
        event_at(w, r, lane, v);
    }
}

static void note_access(const struct warp *w, unsigned lane, struct region *g, size_t offset, size_t bytes,
                        unsigned seen, unsigned reduced) {
    const uint32_t block = (uint32_t)w->block->place + 1; /* as in the cells */
    const uint16_t thread = (uint16_t)(w->number * LANES + lane + 1);
    if (!atomic_load_explicit(&g->met, memory_order_relaxed))
        atomic_store_explicit(&g->met, true, memory_order_relaxed);
    for (size_t k = offset / 4; k <= (offset + bytes - 1) / 4; ++k)
        note(&g->traffic[k], block, thread, seen, reduced);
}

void hazard_global(struct warp *w, const struct record *r, unsigned lane, struct region *g, size_t offset, size_t bytes,
                   const uint8_t *value) {
    struct machine *m = w->block->machine;
    const struct access *x = &m->program->accesses[r->c];
    note_access(w, lane, g, offset, bytes, seen_of(x, value), x->reduced);
    if (x->strong)
        leave_open(m, OPEN_STRONG);
    if (!m->exact)
        return;
    if (g->suspects)
        judge(w, r, lane, g, offset, bytes, value, false);
    if (x->strong)
        race_strong(m->global, w->number, ++m->global_places, x->order);
}

void hazard_global_copy(struct warp *w, const struct record *r, unsigned lane, struct region *g, size_t offset,
                        size_t bytes, bool issued) {
    struct machine *m = w->block->machine;
    if (issued) {
        note_access(w, lane, g, offset, bytes, SEEN_LOAD | SEEN_COPY, 0);
        if (m->exact && g->suspects)
            judge(w, r, lane, g, offset, bytes, NULL, true);
        return;
    }
    const struct race_actor me = {.order = &w->block->hazards->live[w->number],
                                  .block = (uint32_t)w->block->number,
                                  .index = ++m->global_places,
                                  .warp = (uint8_t)w->number};
    for (size_t word = offset / 4; word <= (offset + bytes - 1) / 4; ++word) {
        unsigned touched = 0;
        for (unsigned i = 0; i < 4; ++i)
            touched |= (unsigned)(4 * word + i >= offset && 4 * word + i < offset + bytes) << i;
        if (g->suspects[word])
            race_land(m->global, &g->heads[word], &me, lane, touched);
    }
}

/* What the stores of word k add to its traffic where coverage keeps them. */
static struct traffic whole_traffic(const struct region *g, size_t k) {
    struct traffic t = g->traffic[k];
    if (g->notes_stores || !(t.seen || t.reduced))
        return t;
    for (size_t i = 4 * k; i < 4 * k + 4 && i < g->bytes; ++i) {
        const struct cell_history *h = &g->coverage->cells[i / g->cell_bytes];
        if (!(g->coverage->stores[i] & 127))
            continue;
        note(&t, (uint32_t)h->first.block, h->several ? MANY_THREADS : (uint16_t)(h->first.thread + 1), SEEN_STORE, 0);
        note(&t, (uint32_t)h->last.block, h->several ? MANY_THREADS : (uint16_t)(h->last.thread + 1), SEEN_STORE, 0);
    }
    return t;
}

bool hazard_blocks_met(const struct machine *m) {
    if (atomic_load(&m->open) & OPEN_DISCARD) /* what it made undone is not in the traffic */
        return true;
    for (size_t i = 0; i < m->region_count; ++i) {
        const struct region *g = &m->regions[i];
        for (size_t k = 0; atomic_load(&g->met) && k <= g->bytes / 4; ++k) {
            const struct traffic t = whole_traffic(g, k);
            const bool mixed = t.reduced && (t.seen || t.reduced & (t.reduced - 1));
            if (t.low != t.high && (mixed || (t.seen & SEEN_LOADS && t.seen & SEEN_STORES)))
                return true;
        }
    }
    return false;
}

/* Coverage would name a cell here, and the launch has what may order its stores. */
static bool may_be_locked(const struct machine *m, const struct region *g, size_t k) {
    bool differ = false;
    for (size_t i = 4 * k; g->coverage && i < 4 * k + 4 && i < g->bytes; ++i)
        differ |= g->coverage->stores[i] >> 7;
    return differ && atomic_load(&m->open) & OPEN_STRONG;
}

static bool is_suspect(const struct machine *m, const struct region *g, size_t k) {
    const struct traffic t = whole_traffic(g, k);
    if (may_be_locked(m, g, k))
        return true;
    if (t.seen & SEEN_NC && (t.seen & SEEN_STORES || t.reduced))
        return true;
    if (t.seen & SEEN_COPY && (t.seen & SEEN_STORES || t.reduced)) /* its own thread's too */
        return true;
    if (t.low == t.high && t.thread != MANY_THREADS)
        return false;
    if (t.low != t.high && t.seen & SEEN_CTA) /* strong only within a block */
        return true;
    return (t.seen & SEEN_LOAD && (t.seen & SEEN_STORES || t.reduced)) ||
           (t.seen & SEEN_STORE && (t.seen & (SEEN_STRONG_LOAD | SEEN_STRONG_STORE) || t.reduced || !g->coverage));
}

bool hazard_suspects(struct machine *m, struct error *e) {
    bool any = false;
    for (size_t i = 0; i < m->region_count; ++i) {
        struct region *g = &m->regions[i];
        for (size_t k = 0; atomic_load(&g->met) && k <= g->bytes / 4; ++k) {
            if (!is_suspect(m, g, k))
                continue;
            any = true;
            if (!g->suspects) {
                g->suspects = calloc(g->bytes / 4 + 1, 1);
                g->heads = calloc(g->bytes / 4 + 1, sizeof *g->heads);
            }
            if (!g->suspects || !g->heads)
                return fail(e, "no memory to watch %zu bytes for races", g->bytes);
            g->suspects[k] = SUSPECT;
        }
    }
    return any;
}

void hazard_exact_open(struct machine *m) {
    m->global = must_calloc(1, sizeof *m->global);
    race_open(m->global);
    m->global_places = 0;
    m->exact = true;
    if (atomic_load(&m->open) & OPEN_STRONG) {
        m->global->block_released = calloc((size_t)m->blocks, sizeof *m->global->block_released);
        m->global->all_released = m->global->block_released ? 0 : UINT32_MAX;
    }
}

/* Cells whose stores differ, and all of whose words were judged and found in order. */
static void settle_cells(struct region *g) {
    for (size_t i = 0; i < g->bytes; i += g->cell_bytes) {
        bool ordered = true, differ = false;
        for (size_t k = i; k < i + g->cell_bytes && k < g->bytes; ++k) {
            ordered &= g->suspects[k / 4] == SUSPECT || !(g->coverage->stores[k] >> 7);
            differ |= g->coverage->stores[k] >> 7;
        }
        g->coverage->cells[i / g->cell_bytes].settled = ordered && differ;
    }
}

void hazard_exact_close(struct machine *m) {
    for (size_t i = 0; i < m->region_count && !m->global->full; ++i)
        if (m->regions[i].suspects && m->regions[i].coverage)
            settle_cells(&m->regions[i]);
    if (m->global->full)
        leave_open(m, OPEN_BUDGET);
    if (m->global->settled)
        leave_open(m, OPEN_STRONG);
    race_close(m->global);
    free(m->global);
    m->global = NULL;
    m->exact = false;
}

void hazard_global_start(struct block *b) {
    race_block(b->machine->global);
}

void hazard_global_end(struct block *b) {
    struct races *x = b->machine->global;
    if (x->block_released)
        x->block_released[b->number] = x->scopes[RACE_GRID].released;
}
