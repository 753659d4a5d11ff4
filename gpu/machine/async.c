/* Copies in flight. Each lane has groups of its own: a copy belongs to the group that its lane commits next, and a wait
 * ends the lane's groups but for the newest ones (PTX ISA 9.7.9.25.3.2, 9.7.9.25.3.3). Between the two a copy may land
 * at any time; it lands when it is issued or when it is waited for, as the schedule says (schedule.h), and reads its
 * source then: nothing orders the source's bytes before the wait either.
 *
 * Copies of one instruction whose lanes have committed equally often are one batch. Batches are in the order of issue.
 * A bad destination drops the copy, a bad source gives bytes 0xFF, each with its event. */
#include "async.h"
#include "../../ref/checked.h"
#include "schedule.h"
#include "watch.h"
#include <stdlib.h>
#include <string.h>

/* No block has room for more destinations that do not overlap: 227 KiB in pieces of 4 bytes. Of more copies the oldest
 * land, as they may at any time. */
enum { MOST_IN_FLIGHT = 1 << 16 };

struct copy { /* of one lane */
    const uint8_t *from;
    struct region *noted; /* memory_copy_source */
    uint32_t at;          /* shared address */
    uint8_t size, bytes;  /* read, and written: the rest is zeros */
    uint8_t lane;
    bool landed;
};

struct batch {
    uint32_t mask;  /* lanes whose copy has not been waited for */
    uint32_t group; /* commits that these lanes had done */
    size_t first;   /* of its copies */
    uint32_t count;
    const struct record *r;
};

struct copies { /* of one warp */
    struct copy *copies;
    size_t copy_count, copy_room;
    struct batch *batches;
    size_t batch_first, batch_count, batch_room; /* those before batch_first are over */
    uint32_t committed[LANES];
};

struct async {
    struct copies warps[LANES];
};

static struct copies *copies_of(const struct warp *w) {
    if (!w->block->async)
        w->block->async = must_calloc(1, sizeof *w->block->async);
    return &w->block->async->warps[w->number];
}

void async_start(struct block *b) {
    for (uint32_t i = 0; b->async && i < b->machine->warps; ++i) {
        struct copies *c = &b->async->warps[i];
        c->copy_count = c->batch_first = c->batch_count = 0;
        memset(c->committed, 0, sizeof c->committed);
    }
}

void async_close(struct block *b) {
    for (int i = 0; b->async && i < LANES; ++i) {
        free(b->async->warps[i].copies);
        free(b->async->warps[i].batches);
    }
    free(b->async);
    b->async = NULL;
}

/* ---- landing ---- */

static void land_noted(struct warp *w, const struct record *issued, const struct copy *c, uint8_t *to) {
    struct record source = *issued;
    source.c = issued->c + 1;
    memory_read_noted(w, &source, c->lane, c->noted, c->from, to, c->size);
}

/* issued: the record of the copy. */
static inline void land(struct warp *w, const struct record *issued, const struct copy *c) {
    uint8_t *to = w->block->shared + c->at;
    if (__builtin_expect(c->size == 16 && !c->noted, 1)) {
        memcpy(to, c->from, 16);
        return;
    }
    if (c->noted)
        land_noted(w, issued, c, to);
    else if (c->size == 4)
        memcpy(to, c->from, 4);
    else if (c->size == 8)
        memcpy(to, c->from, 8);
    else
        memcpy(to, c->from, c->size);
    if (c->size != c->bytes)
        memset(to + c->size, 0, c->bytes - c->size);
}

/* The copies of these lanes of a batch are waited for by record r. */
static void end_copies(struct warp *w, const struct record *r, struct copies *c, struct batch *b, uint32_t lanes) {
    struct copy *copies = c->copies + b->first;
    for (uint32_t i = 0; i < b->count; ++i) {
        const struct copy *x = &copies[i];
        if (!(lanes >> x->lane & 1))
            continue;
        if (!x->landed)
            land(w, b->r, x);
        watch_copy_waited(w, r, x->lane, x->at, x->bytes);
    }
    b->mask &= ~lanes;
}

/* Batches that are over at the start go; the memory is used again. */
static void drop_ended(struct copies *c) {
    while (c->batch_first < c->batch_count && !c->batches[c->batch_first].mask)
        ++c->batch_first;
    if (c->batch_first == c->batch_count) {
        c->batch_first = c->batch_count = c->copy_count = 0;
        return;
    }
    if (c->batch_first < 64 || c->batch_first < c->batch_count / 2)
        return;
    const size_t gone = c->batches[c->batch_first].first;
    memmove(c->copies, c->copies + gone, (c->copy_count - gone) * sizeof *c->copies);
    memmove(c->batches, c->batches + c->batch_first, (c->batch_count - c->batch_first) * sizeof *c->batches);
    c->copy_count -= gone;
    c->batch_count -= c->batch_first;
    c->batch_first = 0;
    for (size_t i = 0; i < c->batch_count; ++i)
        c->batches[i].first -= gone;
}

void op_commit(struct warp *w, const struct record *r, uint32_t mask) {
    struct copies *c = copies_of(w);
    (void)r;
    for (int i = 0; i < LANES; ++i)
        c->committed[i] += mask >> i & 1;
}

void op_wait(struct warp *w, const struct record *r, uint32_t mask) {
    if (!w->block->async)
        return;
    struct copies *c = copies_of(w);
    if (r->imm < 0)
        op_commit(w, r, mask); /* wait_all is commit_group and wait_group 0 */
    const uint64_t keep = r->imm < 0 ? 0 : (uint64_t)r->imm;
    for (size_t i = c->batch_first; i < c->batch_count; ++i) {
        struct batch *b = &c->batches[i];
        uint32_t done = 0;
        for (uint32_t left = b->mask & mask; left; left &= left - 1) {
            const unsigned lane = (unsigned)__builtin_ctz(left);
            done |= (uint32_t)(c->committed[lane] - b->group > keep) << lane; /* counts may have wrapped */
        }
        if (done)
            end_copies(w, r, c, b, done);
    }
    drop_ended(c);
}

void async_exit(struct warp *w, const struct record *r, uint32_t lanes) {
    if (!w->block->async)
        return;
    struct block *b = w->block;
    struct copies *c = copies_of(w);
    for (size_t i = c->batch_first; i < c->batch_count; ++i) {
        struct batch *batch = &c->batches[i];
        const uint32_t gone = batch->mask & lanes;
        for (uint32_t k = 0; gone && k < batch->count; ++k) {
            const struct copy *x = &c->copies[batch->first + k];
            if (!(gone >> x->lane & 1) || b->machine->launch->options.unwatched & WATCH_ASYNC)
                continue;
            struct event v = {.kind = EVENT_ASYNC_EXIT,
                              .space = SPACE_SHARED,
                              .store = true,
                              .buffer = -1,
                              .plane = -1,
                              .other_plane = -1,
                              .bytes = x->bytes,
                              .other = {.present = true,
                                        .store = true,
                                        .warp = w->number,
                                        .lane = x->lane,
                                        .instruction = batch->r->site,
                                        .bytes = x->bytes}};
            memcpy(v.other.block, b->id, sizeof v.other.block);
            memory_shared_place(b->machine, x->at, &v);
            event_at(w, r, x->lane, v);
        }
        batch->mask &= ~gone;
    }
    drop_ended(c);
}

/* ---- issue ---- */

/* Room for one more batch of up to 32 copies. */
static void make_room(struct warp *w, const struct record *r, struct copies *c) {
    while (c->copy_count + LANES > MOST_IN_FLIGHT && c->batch_first < c->batch_count) {
        struct batch *oldest = &c->batches[c->batch_first];
        end_copies(w, r, c, oldest, oldest->mask);
        const size_t gone = oldest->first + oldest->count;
        memmove(c->copies, c->copies + gone, (c->copy_count - gone) * sizeof *c->copies);
        c->copy_count -= gone;
        for (size_t i = ++c->batch_first; i < c->batch_count; ++i)
            c->batches[i].first -= gone;
    }
    if (c->copy_count + LANES > c->copy_room) {
        c->copy_room = 2 * c->copy_room + 16 * LANES;
        c->copies = must_realloc(c->copies, c->copy_room, sizeof *c->copies);
    }
    if (c->batch_count == c->batch_room) {
        c->batch_room = 2 * c->batch_room + 16;
        c->batches = must_realloc(c->batches, c->batch_room, sizeof *c->batches);
    }
}

static const uint8_t poison_bytes[16] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                         0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

/* What the instruction says, lane by lane. */
struct request {
    uint64_t to[LANES], from[LANES]; /* addresses as the instruction forms them */
    uint32_t size[LANES];
    bool plain; /* every lane's size is the copy's, and all is in range and aligned */
};

static void form_request(const struct warp *w, const struct record *r, uint32_t mask, struct request *q) {
    const struct access *x = &w->block->machine->program->accesses[r->c];
    const struct site_range *s = &w->block->sites[r->c], *t = s + 1;
    const uint32_t *wide = w->wide + r->wide;
    const uint64_t shift = wide[COPY_SHIFT_LOW] | (uint64_t)wide[COPY_SHIFT_HIGH] << 32, *from = reg64(w, r->b);
    const uint32_t bytes = x->bytes;
    if (x->wide_address) {
        const uint64_t *to = reg64(w, r->a);
        for (int i = 0; i < LANES; ++i)
            q->to[i] = to[i] + (uint64_t)r->imm;
    } else {
        const uint32_t *to = reg32(w, r->a);
        for (int i = 0; i < LANES; ++i)
            q->to[i] = to[i] + (uint32_t)r->imm;
    }
    for (int i = 0; i < LANES; ++i)
        q->from[i] = from[i] + shift;
    q->plain = wide[COPY_SIZE] == COPY_NONE && wide[COPY_IGNORE] == COPY_NONE;
    if (wide[COPY_SIZE] != COPY_NONE) {
        memcpy(q->size, reg32(w, wide[COPY_SIZE]), sizeof q->size);
        uint32_t other = 0;
        for (int i = 0; i < LANES; ++i)
            other |= (q->size[i] ^ bytes) & -(mask >> i & 1);
        q->plain = !other;
    } else {
        const uint32_t p = wide[COPY_IGNORE];
        const uint32_t ignored =
            p == COPY_NONE ? 0 : w->preds[p & ~GUARD_NEGATED] ^ (p & GUARD_NEGATED ? ALL_LANES : 0);
        for (int i = 0; i < LANES; ++i)
            q->size[i] = ignored >> i & 1 ? 0 : bytes;
        q->plain = !(ignored & mask);
    }
    if (!q->plain || s->hi < bytes || t->hi < bytes)
        return (void)(q->plain = false);
    const uint64_t last_to = s->hi - bytes, last_from = t->hi - bytes;
    uint64_t any = 0, outside = 0;
    for (int i = 0; i < LANES; ++i) {
        const uint64_t in = -(uint64_t)(mask >> i & 1);
        any |= (q->to[i] | q->from[i]) & in;
        outside |=
            ((uint64_t)(q->to[i] < s->lo) | (q->to[i] > last_to) | (q->from[i] < t->lo) | (q->from[i] > last_from)) &
            in;
    }
    q->plain = !outside && !(any & (bytes - 1));
}

/* The exact path of one lane. False: there is nothing to copy to. */
static bool find_copy(struct warp *w, const struct record *r, unsigned lane, const struct request *q,
                      struct copy *out) {
    const struct access *x = &w->block->machine->program->accesses[r->c];
    struct record source = *r;
    source.c = r->c + 1;
    uint32_t size = q->size[lane];
    if (size > x->bytes) {
        const struct event v = {.kind = EVENT_ASYNC_SIZE,
                                .space = SPACE_SHARED,
                                .store = true,
                                .buffer = -1,
                                .plane = -1,
                                .other_plane = -1,
                                .offset = size,
                                .bytes = x->bytes};
        event_at(w, r, lane, v);
        size = x->bytes;
    }
    const uint64_t to = x->wide_address ? q->to[lane] : (uint64_t)(int64_t)(int32_t)(uint32_t)q->to[lane];
    const uint8_t *host = memory_copy_target(w, r, lane, to, x->bytes);
    *out = (struct copy){.from = poison_bytes, .size = (uint8_t)size, .bytes = x->bytes, .lane = (uint8_t)lane};
    if (size) { /* else the source is not touched, wherever it may be */
        const uint8_t *from = memory_copy_source(w, &source, lane, q->from[lane], size, x->bytes, &out->noted);
        out->from = from ? from : poison_bytes;
        if (out->noted)
            leave_open(w->block->machine, OPEN_COPY);
    }
    if (host)
        out->at = (uint32_t)(host - w->block->shared);
    return host;
}

/* The lanes of mask have committed equally often. */
static void issue(struct warp *w, const struct record *r, uint32_t mask, const struct request *q, struct copies *c) {
    struct block *b = w->block;
    const struct site_range *s = &b->sites[r->c], *t = s + 1;
    const uint8_t bytes = b->machine->program->accesses[r->c].bytes;
    const struct lane_order order = lane_order(b);
    make_room(w, r, c);
    struct batch *batch = &c->batches[c->batch_count];
    *batch = (struct batch){.group = c->committed[__builtin_ctz(mask)], .first = c->copy_count, .r = r};
    const uint32_t start = (uint32_t)(s->host - b->shared);
    for (uint32_t left = mask; left;) {
        const unsigned lane = next_lane(order, &left);
        struct copy *x = &c->copies[batch->first + batch->count];
        if (q->plain)
            *x = (struct copy){.from = t->host + (q->from[lane] - t->lo),
                               .at = start + (uint32_t)(q->to[lane] - s->lo),
                               .size = bytes,
                               .bytes = bytes,
                               .lane = (uint8_t)lane};
        else if (!find_copy(w, r, lane, q, x))
            continue;
        ++batch->count;
        batch->mask |= 1u << lane;
        watch_copy_issued(w, r, lane, x->at, bytes);
        if (lands_early(b)) {
            land(w, r, x);
            x->landed = true;
        }
    }
    c->copy_count += batch->count;
    c->batch_count += batch->count > 0;
}

void op_copy(struct warp *w, const struct record *r, uint32_t mask) {
    struct copies *c = copies_of(w);
    struct request q;
    form_request(w, r, mask, &q);
    while (mask) {
        const uint32_t group = c->committed[__builtin_ctz(mask)];
        uint32_t equal = 0;
        for (int i = 0; i < LANES; ++i)
            equal |= (uint32_t)(c->committed[i] == group) << i;
        issue(w, r, mask & equal, &q, c);
        mask &= ~equal;
    }
}
