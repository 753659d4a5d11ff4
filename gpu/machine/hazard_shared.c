/* The log of a barrier interval of shared memory: which bytes are contested, and by whom. */
#include "../../ref/checked.h"
#include "hazard.h"
#include <string.h>

/* ---- bitmaps: a bit a byte; an access of up to 16 bytes lies on its own width, so its bits lie in 32 ---- */

static inline uint32_t bits_at(const uint8_t *map, uint32_t at) {
    uint32_t word;
    memcpy(&word, map + (at >> 3), sizeof word);
    return word;
}

static inline void set_bits(uint8_t *map, uint32_t at, uint32_t bits) {
    const uint32_t word = bits_at(map, at) | bits;
    memcpy(map + (at >> 3), &word, sizeof word);
}

static inline uint32_t bits_of(uint32_t at, unsigned bytes) {
    return ((1u << bytes) - 1) << (at & 7);
}

/* All lanes, one after the other in memory from a multiple of 8 bytes on: what most stores and loads of tiles are. */
static bool is_run(const uint32_t at[LANES], uint32_t mask, unsigned bytes) {
    uint32_t off = at[0] & 7;
    for (uint32_t i = 0; i < LANES; ++i)
        off |= at[i] - at[0] - i * bytes;
    return mask == ALL_LANES && !off && bytes >= 2;
}

/* 32 lanes of `bytes` are 4 * bytes bytes of the maps. store: they are set, and what was set before is contested; else
 * what is set is. */
static bool mark_run(struct hazards *h, uint32_t at, unsigned bytes, bool store) {
    uint64_t any = 0, word;
    for (unsigned i = 0; i < 4 * bytes; i += 8) {
        uint8_t *stored = h->stored + at / 8 + i, *contested = h->contested + at / 8 + i;
        memcpy(&word, stored, sizeof word);
        if (word) {
            uint64_t before;
            any |= word;
            memcpy(&before, contested, sizeof before);
            before |= word;
            memcpy(contested, &before, sizeof before);
        }
        if (store)
            memset(stored, 0xff, sizeof word);
    }
    return any;
}

static bool mark(struct hazards *h, const uint32_t at[LANES], uint32_t mask, unsigned bytes, bool store) {
    uint32_t any = 0;
    if (is_run(at, mask, bytes))
        return mark_run(h, at[0], bytes, store);
    for (uint32_t left = mask; left; left &= left - 1) {
        const uint32_t where = at[__builtin_ctz(left)], bits = bits_of(where, bytes);
        const uint32_t before = bits_at(h->stored, where), both = before & bits;
        if (store)
            set_bits(h->stored, where, bits);
        if (both) {
            any |= both;
            set_bits(h->contested, where, both);
        }
    }
    return any;
}

bool hazard_contested(struct hazards *h) {
    bool any = false;
    memset(h->stored, 0, h->bit_bytes);
    memset(h->contested, 0, h->bit_bytes);
    for (size_t i = 0; i < h->flying_count; ++i)
        any |= mark(h, h->flying[i].at, h->flying[i].mask, h->flying[i].bytes, true);
    for (uint32_t i = 0; i < h->count; ++i) {
        const struct entry *e = &h->log[i];
        if (e->kind == ENTRY_ISSUE || (e->kind == ENTRY_ACCESS && e->flags & RACE_STORE))
            any |= mark(h, e->at, e->mask, e->bytes, true);
    }
    for (uint32_t i = 0; i < h->count; ++i) {
        const struct entry *e = &h->log[i];
        if (e->kind == ENTRY_ACCESS && !(e->flags & RACE_STORE))
            any |= mark(h, e->at, e->mask, e->bytes, false);
    }
    return any;
}

/* ---- the exact judgement ---- */

static void report(struct block *b, const struct entry *e, unsigned lane, enum event_kind kind, uint32_t at,
                   const struct race_found *f) {
    const struct machine *m = b->machine;
    const struct range *range = range_at(m, at);
    const int64_t origin = m->static_bytes ? 0 : (int64_t)m->dynamic_start;
    const int plane = range ? range->plane : -1;
    struct event v = {.kind = kind,
                      .space = SPACE_SHARED,
                      .store = e->flags & RACE_STORE,
                      .buffer = -1,
                      .plane = plane,
                      .other_plane = -1,
                      .offset = (int64_t)at - (plane >= 0 ? (int64_t)range->lo : origin),
                      .bytes = e->bytes,
                      .across_warps = f->across,
                      .other = {.present = true,
                                .store = f->store,
                                .block = {b->id[0], b->id[1], b->id[2]},
                                .warp = f->warp,
                                .lane = f->lane,
                                .instruction = f->site,
                                .bytes = f->width}};
    event_keep_lanes(&v, e->mask, e->at);
    event_at(&b->warps[e->warp], e->r, lane, v);
}

/* The word at `word` that a copy to `at` stores: its values are those of lane after lane. */
static uint32_t copied_value(const uint32_t *values, unsigned lane, unsigned bytes, uint32_t at, uint32_t word) {
    return values[lane * (bytes / 4) + (word - at) / 4];
}

/* The bytes of a word that a lane stores, in their place. */
static uint32_t word_value(const struct hazards *h, const struct entry *e, const struct access *x, unsigned lane,
                           uint32_t at, uint32_t word, unsigned bytes) {
    uint8_t part[4] = {0};
    if (!e->values)
        return 0;
    const uint32_t *v = h->values + e->values - 1;
    for (unsigned i = 0; i < 4; ++i) {
        if (!(bytes >> i & 1))
            continue;
        const uint32_t place = word + i - at, element = place / x->element_bytes;
        uint64_t value;
        if (x->wide_registers)
            memcpy(&value, v + (size_t)element * 2 * LANES + 2 * (size_t)lane, sizeof value);
        else
            value = v[(size_t)element * LANES + lane];
        part[i] = (uint8_t)(value >> 8 * (place % x->element_bytes));
    }
    uint32_t value;
    memcpy(&value, part, sizeof value);
    return value;
}

static void judge_lane(struct block *b, const struct entry *e, const struct race_actor *me, unsigned lane) {
    static const enum event_kind kinds[RACE_KINDS] = {EVENT_RACE, EVENT_BENIGN_RACE, EVENT_ASYNC_PENDING};
    struct hazards *h = b->hazards;
    const struct access *x = e->kind == ENTRY_ACCESS ? &b->machine->program->accesses[e->r->c] : NULL;
    const uint32_t at = e->at[lane], end = at + e->bytes;
    struct race_found found[RACE_KINDS];
    uint32_t where[RACE_KINDS] = {0};
    for (int k = 0; k < RACE_KINDS; ++k)
        found[k].found = false;
    for (uint32_t word = at & ~3u; word < end; word += 4) {
        bool before[RACE_KINDS];
        unsigned bytes = 0xf;
        if (word < at)
            bytes &= 0xfu << (at - word);
        if (word + 4 > end)
            bytes &= 0xfu >> (word + 4 - end);
        const uint32_t value = x           ? word_value(h, e, x, lane, at, word, bytes)
                               : e->values ? copied_value(h->values + e->values - 1, lane, e->bytes, at, word)
                                           : 0;
        for (int k = 0; k < RACE_KINDS; ++k)
            before[k] = found[k].found;
        if (e->kind == ENTRY_WAIT)
            race_land(&h->exact, &h->heads[word / 4], me, lane, bytes);
        else
            race_touch(&h->exact, &h->heads[word / 4], me, lane, bytes, value, false, found);
        if (e->kind == ENTRY_ISSUE)
            race_copy(&h->exact, &h->heads[word / 4], me, lane, bytes, value);
        for (int k = 0; k < RACE_KINDS; ++k)
            where[k] = found[k].found && !before[k] ? word + found[k].byte : where[k];
    }
    for (int k = 0; k < RACE_KINDS; ++k)
        if (found[k].found)
            report(b, e, lane, kinds[k], where[k], &found[k]);
}

static void judge_entry(struct block *b, const struct entry *e, bool all) {
    struct hazards *h = b->hazards;
    const struct race_actor me = {.site = e->r->site,
                                  .order = &h->past[e->warp],
                                  .index = e->index,
                                  .warp = e->warp,
                                  .flags = e->flags,
                                  .width = e->bytes};
    for (uint32_t left = e->mask; left; left &= left - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(left);
        const uint32_t at = e->at[lane];
        if (all || bits_at(h->contested, at) & bits_of(at, e->bytes))
            judge_lane(b, e, &me, lane);
    }
}

/* Copies that were in flight when the log began. */
static void replay_flying(struct block *b, bool all) {
    struct hazards *h = b->hazards;
    for (size_t i = 0; i < h->flying_count; ++i) {
        const struct copy *c = &h->flying[i];
        const struct race_actor me = {.site = c->r->site,
                                      .order = &h->past[c->warp],
                                      .warp = c->warp,
                                      .flags = RACE_STORE | RACE_VALUED,
                                      .width = c->bytes};
        for (uint32_t left = c->mask; left; left &= left - 1) {
            const unsigned lane = (unsigned)__builtin_ctz(left);
            const uint32_t at = c->at[lane];
            if (!all && !(bits_at(h->contested, at) & bits_of(at, c->bytes)))
                continue;
            for (uint32_t word = at & ~3u; word < at + c->bytes; word += 4)
                race_copy(&h->exact, &h->heads[word / 4], &me, lane, 0xf,
                          copied_value(c->values, lane, c->bytes, at, word));
        }
    }
}

void hazard_replay(struct block *b, bool all) {
    struct hazards *h = b->hazards;
    if (!h->dirty)
        replay_flying(b, all);
    h->dirty = true;
    for (uint32_t i = 0; i < h->count; ++i) {
        const struct entry *e = &h->log[i];
        struct warp_order *o = &h->past[e->warp];
        switch ((enum entry_kind)e->kind) {
        case ENTRY_SYNC:
            order_sync(o, e->mask, b->warps[e->warp].existing);
            break;
        case ENTRY_RELEASE:
            order_whole(o);
            memcpy(o->clock, e->at, sizeof o->clock);
            break;
        case ENTRY_CLOCK:
            memcpy(o->clock, e->at, sizeof o->clock);
            break;
        case ENTRY_FENCE:
            race_fence(&h->exact, e->warp, e->index, true);
            break;
        case ENTRY_STRONG:
            race_strong(&h->exact, e->warp, e->index, e->mask);
            break;
        case ENTRY_ACCESS:
            judge_entry(b, e, all);
            if (e->flags & RACE_STRONG)
                race_strong(&h->exact, e->warp, e->index, b->machine->program->accesses[e->r->c].order);
            break;
        case ENTRY_ISSUE:
        case ENTRY_WAIT:
            judge_entry(b, e, all);
            break;
        }
    }
}

/* ---- copies in flight ---- */

static void add_flying(struct hazards *h, const struct entry *e) {
    if (h->flying_count == h->flying_room) {
        h->flying_room = h->flying_room ? 2 * h->flying_room : 64;
        h->flying = must_realloc(h->flying, h->flying_room, sizeof *h->flying);
        for (size_t i = h->flying_count; i < h->flying_room; ++i)
            h->flying[i].values = NULL;
    }
    struct copy *c = &h->flying[h->flying_count++];
    c->r = e->r;
    c->mask = e->mask;
    c->warp = e->warp;
    c->bytes = e->bytes;
    c->logged = e->values;
    memcpy(c->at, e->at, sizeof c->at);
}

/* Copies mostly land in the order in which they were issued, so the next one of a warp is looked for from the last one
 * on. */
static void land_lane(struct hazards *h, const struct entry *e, unsigned lane, size_t *from) {
    for (size_t k = 0; k < h->flying_count; ++k) {
        const size_t i = (*from + k) % h->flying_count;
        struct copy *c = &h->flying[i];
        if (c->warp != e->warp || !(c->mask >> lane & 1) || c->at[lane] != e->at[lane] || c->bytes != e->bytes)
            continue;
        c->mask &= ~(1u << lane);
        *from = i;
        return;
    }
}

/* All lanes of a wait at once, where the next copy of its warp is theirs. */
static bool land_all(struct hazards *h, const struct entry *e, size_t *from) {
    for (size_t k = 0; k < h->flying_count; ++k) {
        const size_t i = *from + k < h->flying_count ? *from + k : *from + k - h->flying_count;
        struct copy *c = &h->flying[i];
        if (c->warp != e->warp || !(c->mask & e->mask))
            continue;
        if (e->mask & ~c->mask || c->bytes != e->bytes || memcmp(c->at, e->at, sizeof c->at))
            return false;
        c->mask &= ~e->mask;
        *from = i;
        return true;
    }
    return false;
}

/* The log goes, and copy `from` moves to place `to`. */
static void keep_flying(struct hazards *h, size_t from, size_t to) {
    struct copy *c = &h->flying[to];
    if (from != to) {
        const struct copy before = *c;
        *c = h->flying[from];
        h->flying[from] = before;
    }
    if (!c->logged)
        return;
    if (!c->values)
        c->values = must_calloc(4 * LANES, sizeof *c->values);
    memcpy(c->values, h->values + c->logged - 1, (size_t)LANES * c->bytes);
    c->logged = 0;
}

void hazard_land(struct hazards *h) {
    size_t from[LANES] = {0}; /* by warp */
    for (uint32_t i = 0; i < h->count; ++i) {
        const struct entry *e = &h->log[i];
        if (e->kind == ENTRY_ISSUE)
            add_flying(h, e);
        const bool waits = e->kind == ENTRY_WAIT && !land_all(h, e, &from[e->warp]);
        for (uint32_t left = waits ? e->mask : 0; left; left &= left - 1)
            land_lane(h, e, (unsigned)__builtin_ctz(left), &from[e->warp]);
    }
    size_t kept = 0;
    for (size_t i = 0; i < h->flying_count; ++i)
        if (h->flying[i].mask)
            keep_flying(h, i, kept++);
    h->flying_count = kept;
}
