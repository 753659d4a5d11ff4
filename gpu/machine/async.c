/* Copies in flight. Each lane has groups of its own: a copy belongs to the group that its lane commits next, and a wait
 * ends the lane's groups but for the newest ones (PTX ISA 9.7.9.25.3.2, 9.7.9.25.3.3). Between the two a copy may land
 * at any time; it lands when it is issued or when it is waited for, as the schedule says (schedule.h), and reads its
 * source then. The watchers are told of both ends: nobody may store to its source between them.
 *
 * Copies of one instruction whose lanes have committed equally often are one batch. Batches are in the order of issue.
 * A bad destination drops the copy, a bad source gives bytes 0xFF, each with its event. */
#include "async.h"
#include "../../ref/checked.h"
#include "schedule.h"
#include "watch.h"
#include <stdlib.h>
#include <string.h>

/* Of more batches of one warp the oldest land, as they may at any time, and count as waited for. */
enum { MOST_IN_FLIGHT = 8192 };

struct odd {                     /* of a batch that is not plain: by lane */
    struct region *noted[LANES]; /* memory_copy_source */
    uint8_t size[LANES];         /* bytes read; the rest is zeros */
};

struct batch {
    uint32_t mask;   /* lanes whose copy has not been waited for */
    uint32_t landed; /* lanes whose bytes are there */
    uint32_t group;  /* commits that these lanes had done */
    uint32_t bytes;  /* written by a lane */
    const struct record *r;
    struct odd *odd;    /* owned; NULL: all bytes are read, from memory that nobody writes */
    uint32_t at[LANES]; /* shared addresses */
    const uint8_t *from[LANES];
};

struct copies { /* of one warp */
    struct batch *batches;
    size_t first, count, room; /* those before `first` are over */
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

/* Forgets the batches before `end`. */
static void forget(struct copies *c, size_t end) {
    for (; c->first < end; ++c->first) {
        free(c->batches[c->first].odd);
        c->batches[c->first].odd = NULL;
    }
}

void async_start(struct block *b) {
    for (uint32_t i = 0; b->async && i < b->machine->warps; ++i) {
        struct copies *c = &b->async->warps[i];
        forget(c, c->count);
        c->first = c->count = 0;
        memset(c->committed, 0, sizeof c->committed);
    }
}

void async_close(struct block *b) {
    for (int i = 0; b->async && i < LANES; ++i) {
        forget(&b->async->warps[i], b->async->warps[i].count);
        free(b->async->warps[i].batches);
    }
    free(b->async);
    b->async = NULL;
}

/* ---- landing ---- */

static void land_odd(struct warp *w, const struct batch *b, unsigned lane, uint8_t *to) {
    const struct odd *o = b->odd;
    const uint8_t size = o->size[lane];
    if (o->noted[lane]) {
        struct record source = *b->r;
        source.c = b->r->c + 1;
        memory_read_noted(w, &source, lane, o->noted[lane], b->from[lane], to, size);
    } else {
        memcpy(to, b->from[lane], size);
    }
    memset(to + size, 0, b->bytes - size);
}

static void land(struct warp *w, struct batch *b, uint32_t lanes) {
    uint8_t *shared = w->block->shared;
    lanes &= ~b->landed;
    b->landed |= lanes;
    if (!b->odd && b->bytes == 16 && lanes == ALL_LANES) {
        for (int i = 0; i < LANES; ++i)
            memcpy(shared + b->at[i], b->from[i], 16);
        return;
    }
    for (uint32_t left = lanes; left; left &= left - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(left);
        if (b->odd)
            land_odd(w, b, lane, shared + b->at[lane]);
        else
            memcpy(shared + b->at[lane], b->from[lane], b->bytes);
    }
}

/* The sources of these lanes of a batch: what they hold as the copies are issued goes to `copied`; NULL: they are over.
 */
static void tell_sources(struct warp *w, const struct batch *b, uint32_t lanes, uint8_t copied[LANES][16]) {
    struct record source = *b->r;
    source.c = b->r->c + 1;
    for (uint32_t left = b->odd ? lanes : 0; left; left &= left - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(left);
        uint8_t *to = copied ? copied[lane] : NULL;
        if (b->odd->noted[lane])
            memory_copy_noted(w, &source, lane, b->odd->noted[lane], b->from[lane], to, b->odd->size[lane]);
        else if (to)
            memcpy(to, b->from[lane], b->odd->size[lane]);
    }
}

/* The copies of these lanes of a batch are waited for by record r. */
static void end_copies(struct warp *w, const struct record *r, struct batch *b, uint32_t lanes) {
    land(w, b, lanes);
    tell_sources(w, b, lanes, NULL);
    watch_copies_waited(w, r, lanes, b->at, b->bytes);
    b->mask &= ~lanes;
}

/* Batches that are over at the start go; the memory is used again. */
static void drop_ended(struct copies *c) {
    size_t end = c->first;
    while (end < c->count && !c->batches[end].mask)
        ++end;
    forget(c, end);
    if (c->first == c->count) {
        c->first = c->count = 0;
    } else if (c->first >= 16 && c->first >= c->count / 2) {
        memmove(c->batches, c->batches + c->first, (c->count - c->first) * sizeof *c->batches);
        c->count -= c->first;
        c->first = 0;
    }
}

void op_commit(struct warp *w, const struct record *r, uint32_t mask) {
    struct copies *c = copies_of(w);
    (void)r;
    for (int i = 0; i < LANES; ++i)
        c->committed[i] += mask >> i & 1;
}

/* Lanes of mask that have committed more than `keep` groups since a batch of this group. Counts may wrap. */
static uint32_t lanes_past(const struct copies *c, uint32_t group, uint64_t keep, uint32_t mask) {
    uint32_t past = 0;
    for (int i = 0; i < LANES; ++i)
        past |= (uint32_t)(c->committed[i] - group > keep) << i;
    return past & mask;
}

void op_wait(struct warp *w, const struct record *r, uint32_t mask) {
    if (!w->block->async)
        return;
    struct copies *c = copies_of(w);
    if (r->imm < 0)
        op_commit(w, r, mask); /* wait_all is commit_group and wait_group 0 */
    const uint64_t keep = r->imm < 0 ? 0 : (uint64_t)r->imm;
    for (size_t i = c->first; i < c->count; ++i) {
        struct batch *b = &c->batches[i];
        const uint32_t done = b->mask & mask ? lanes_past(c, b->group, keep, b->mask & mask) : 0;
        if (done)
            end_copies(w, r, b, done);
    }
    drop_ended(c);
}

static void report_exit(struct warp *w, const struct record *r, const struct batch *batch, unsigned lane) {
    struct block *b = w->block;
    struct event v = {.kind = EVENT_ASYNC_EXIT,
                      .space = SPACE_SHARED,
                      .store = true,
                      .buffer = -1,
                      .plane = -1,
                      .other_plane = -1,
                      .bytes = batch->bytes,
                      .other = {.present = true,
                                .store = true,
                                .warp = w->number,
                                .lane = lane,
                                .instruction = batch->r->site,
                                .bytes = batch->bytes}};
    memcpy(v.other.block, b->id, sizeof v.other.block);
    memory_shared_place(b->machine, batch->at[lane], &v);
    event_at(w, r, lane, v);
}

void async_exit(struct warp *w, const struct record *r, uint32_t lanes) {
    if (!w->block->async)
        return;
    struct copies *c = copies_of(w);
    for (size_t i = c->first; i < c->count; ++i) {
        struct batch *b = &c->batches[i];
        for (uint32_t left = b->mask & lanes; left && watches(w->block->machine, WATCH_ASYNC); left &= left - 1)
            report_exit(w, r, b, (unsigned)__builtin_ctz(left));
        tell_sources(w, b, b->mask & lanes, NULL);
        b->mask &= ~lanes;
    }
    drop_ended(c);
}

/* ---- issue ---- */

/* A new batch, but for `from` and `at`. */
static struct batch *new_batch(struct warp *w, const struct record *r, struct copies *c, uint32_t group) {
    if (c->count - c->first >= MOST_IN_FLIGHT) {
        leave_open(w->block->machine, OPEN_BUDGET);
        end_copies(w, r, &c->batches[c->first], c->batches[c->first].mask);
        drop_ended(c);
    }
    if (c->count == c->room) {
        c->room = 2 * c->room + 16;
        c->batches = must_realloc(c->batches, c->room, sizeof *c->batches);
    }
    struct batch *b = &c->batches[c->count++];
    b->mask = b->landed = 0;
    b->group = group;
    b->bytes = w->block->machine->program->accesses[r->c].bytes;
    b->r = r;
    b->odd = NULL;
    return b;
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
static bool find_copy(struct warp *w, const struct record *r, unsigned lane, const struct request *q, struct batch *b) {
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
    b->from[lane] = poison_bytes;
    b->odd->size[lane] = (uint8_t)size;
    if (size) { /* else the source is not touched, wherever it may be */
        const uint8_t *from = memory_copy_source(w, &source, lane, q->from[lane], size, x->bytes, &b->odd->noted[lane]);
        b->from[lane] = from ? from : poison_bytes;
    }
    if (host)
        b->at[lane] = (uint32_t)(host - w->block->shared);
    return host;
}

/* Copies land when they are issued where the schedule says so, in the order of the lanes of a store. */
static void land_early(struct warp *w, struct batch *b) {
    struct block *block = w->block;
    const struct schedule *s = &block->machine->launch->options.schedule;
    if (s->order == SCHEDULE_IN_ORDER && !s->async_early)
        return;
    const struct lane_order order = lane_order(block);
    for (uint32_t left = b->mask; left;) {
        const unsigned lane = next_lane(order, &left);
        if (lands_early(block))
            land(w, b, 1u << lane);
    }
}

static void tell_issued(struct warp *w, const struct record *r, const struct batch *b) {
    if (!b->odd) {
        watch_copies_issued(w, r, b->mask, b->at, b->bytes, b->from);
        return;
    }
    uint8_t copied[LANES][16] = {{0}};
    const uint8_t *from[LANES];
    tell_sources(w, b, b->mask, copied);
    for (int i = 0; i < LANES; ++i)
        from[i] = copied[i];
    watch_copies_issued(w, r, b->mask, b->at, b->bytes, from);
}

/* The lanes of mask have committed equally often. */
static void issue(struct warp *w, const struct record *r, uint32_t mask, const struct request *q, struct copies *c) {
    struct block *b = w->block;
    const struct site_range *s = &b->sites[r->c], *t = s + 1;
    struct batch *batch = new_batch(w, r, c, c->committed[__builtin_ctz(mask)]);
    if (q->plain) {
        const uint32_t start = (uint32_t)(s->host - b->shared) - (uint32_t)s->lo;
        batch->mask = mask;
        for (int i = 0; i < LANES; ++i)
            batch->at[i] = start + (uint32_t)q->to[i];
        for (int i = 0; i < LANES; ++i) /* other lanes may have any address */
            batch->from[i] = t->host + ((q->from[i] - t->lo) & -(uint64_t)(mask >> i & 1));
    } else {
        batch->odd = must_calloc(1, sizeof *batch->odd);
        memset(batch->at, 0, sizeof batch->at);
        for (uint32_t left = mask; left; left &= left - 1) {
            const unsigned lane = (unsigned)__builtin_ctz(left);
            batch->mask |= (uint32_t)find_copy(w, r, lane, q, batch) << lane;
        }
    }
    if (batch->mask) {
        tell_issued(w, r, batch);
        land_early(w, batch);
    }
    drop_ended(c);
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
