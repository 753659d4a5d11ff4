/* Moves the tags of values: origin.h. A tag is 0 (no accumulator), ORIGIN_MIXED, or what the probe gave. */
#include "origin.h"
#include "probe.h"
#include <stdlib.h>
#include <string.h>

bool origin_open(struct block *b, struct origins *o) {
    const struct machine *m = b->machine;
    o->slots = m->program->file_bytes / 128 + 1;
    o->tags = calloc(m->warps * o->slots, LANES * sizeof *o->tags);
    o->written = calloc(m->warps * o->slots, sizeof *o->written);
    o->shared = calloc(m->shared_bytes / 4 + 1, sizeof *o->shared);
    return o->tags && o->written && o->shared;
}

void origin_close(struct origins *o) {
    free(o->tags), free(o->written), free(o->shared);
}

void origin_start(struct block *b, struct origins *o) {
    const struct machine *m = b->machine;
    memset(o->tags, 0, m->warps * o->slots * LANES * sizeof *o->tags);
    memset(o->shared, 0, (m->shared_bytes / 4 + 1) * sizeof *o->shared);
    o->in_matrices = false;
}

static uint32_t joined(uint32_t a, uint32_t b) {
    return a == b || !b ? a : !a ? b : ORIGIN_MIXED;
}

static void flow(struct warp *w, struct origins *o, const struct record *r, uint32_t mask) {
    const uint32_t *list = w->wide + r->wide;
    uint32_t tags[LANES] = {0};
    for (uint32_t s = 0; s < r->a; ++s) {
        const uint32_t *from = origin_tags(o, w->number, list[r->dst + s]);
        for (unsigned i = 0; i < LANES; ++i)
            tags[i] = joined(tags[i], from[i]);
    }
    for (uint32_t k = 0; k < r->dst; ++k) {
        uint32_t *to = origin_tags(o, w->number, list[k]);
        for (unsigned i = 0; i < LANES; ++i)
            to[i] = mask >> i & 1 ? tags[i] : to[i];
    }
}

static void set_all(struct warp *w, struct origins *o, const struct record *r, uint32_t mask, uint32_t tag) {
    for (uint32_t k = 0; k < r->dst; ++k) {
        uint32_t *to = origin_tags(o, w->number, w->wide[r->wide + k]);
        for (unsigned i = 0; i < LANES; ++i)
            to[i] = mask >> i & 1 ? tag : to[i];
    }
}

static bool any_tagged(struct warp *w, const struct origins *o, const struct record *r) {
    uint32_t any = 0;
    for (uint32_t s = 0; s < r->a; ++s)
        for (unsigned i = 0; i < LANES; ++i)
            any |= origin_tags(o, w->number, w->wide[r->wide + r->dst + s])[i];
    return any;
}

/* PTX ISA 9.7.9.6: the lane that each one reads. */
static unsigned shuffled_from(unsigned lane, int64_t mode, uint32_t b, uint32_t c) {
    const unsigned segment = c >> 8 & 31, clamp = c & 31, by = b & 31, low = lane & segment,
                   last = low | (clamp & ~segment);
    const int from = mode == 0   ? (int)lane - (int)by
                     : mode == 1 ? (int)(lane + by)
                     : mode == 2 ? (int)(lane ^ by)
                                 : (int)(low | (by & ~segment));
    return (mode == 0 ? from >= (int)last : from <= (int)last) ? (unsigned)from & 31 : lane;
}

static void shuffle(struct warp *w, struct origins *o, const struct record *r, uint32_t mask) {
    const uint32_t *list = w->wide + r->wide, *b = reg32(w, list[r->dst + 1]), *c = reg32(w, list[r->dst + 2]);
    uint32_t from[LANES];
    memcpy(from, origin_tags(o, w->number, list[r->dst]), sizeof from);
    for (uint32_t k = 0; k < r->dst; ++k)
        for (unsigned i = 0; i < LANES; ++i)
            if (mask >> i & 1)
                origin_tags(o, w->number, list[k])[i] = from[shuffled_from(i, r->imm, b[i], c[i])];
}

/* ---- memory ---- */

struct where {
    enum { NOWHERE, IN_SHARED, IN_BUFFER } what;
    uint64_t at; /* byte of shared memory or of the buffer */
    size_t buffer;
};

static struct where place_of(const struct warp *w, const struct record *r, unsigned lane) {
    const struct machine *m = w->block->machine;
    const enum origin_space space = (enum origin_space)(r->imm >> ORIGIN_SPACE & 3);
    const uint32_t offset = w->wide[r->wide + r->dst + r->a - 1];
    const bool is_wide = r->imm & ORIGIN_WIDE_ADDRESS;
    uint64_t at = (is_wide ? reg64(w, offset)[lane] : reg32(w, offset)[lane]) + (uint64_t)(r->imm >> 16);
    if (space == ORIGIN_SHARED)
        at = is_wide ? at : (uint32_t)at;
    if (space == ORIGIN_GENERIC && at >= SHARED_WINDOW && at < SHARED_WINDOW + WINDOW_BYTES)
        return (struct where){IN_SHARED, at - SHARED_WINDOW, 0};
    if (space == ORIGIN_SHARED)
        return (struct where){IN_SHARED, at, 0};
    const uint64_t buffer = at >> BUFFER_SHIFT;
    return buffer >= 1 && buffer <= m->launch->buffer_count
               ? (struct where){IN_BUFFER, at & ((UINT64_C(1) << BUFFER_SHIFT) - 1), buffer - 1}
               : (struct where){NOWHERE, 0, 0};
}

static uint32_t element_size(const struct record *r) {
    return (uint32_t)(r->imm >> 8 & 0xff);
}

static uint32_t shared_tag(const struct warp *w, const struct origins *o, uint64_t at, uint32_t bytes) {
    const size_t room = w->block->machine->shared_bytes;
    uint32_t tag = 0;
    for (uint64_t i = at / 4; at + bytes <= room && i <= (at + bytes - 1) / 4; ++i)
        tag = joined(tag, o->shared[i]);
    return tag;
}

/* A part of a word leaves what the rest of it is from. */
static void tag_shared(const struct warp *w, struct origins *o, uint64_t at, uint32_t bytes, uint32_t tag, bool adds) {
    const size_t room = w->block->machine->shared_bytes;
    for (uint64_t i = at / 4; bytes && at + bytes <= room && i <= (at + bytes - 1) / 4; ++i)
        o->shared[i] = adds || bytes < 4 ? joined(o->shared[i], tag) : tag;
}

static void load(struct warp *w, struct origins *o, const struct record *r, uint32_t mask) {
    const struct launch *l = w->block->machine->launch;
    for (uint32_t left = mask; left; left &= left - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(left);
        const struct where at = place_of(w, r, lane);
        for (uint32_t k = 0; k < r->dst; ++k)
            if (w->wide[r->wide + k])
                origin_tags(o, w->number, w->wide[r->wide + k])[lane] =
                    at.what == IN_SHARED ? shared_tag(w, o, at.at + k * element_size(r), element_size(r))
                    : at.what == IN_BUFFER && l->buffers[at.buffer].role == BUFFER_IN ? 0
                                                                                      : ORIGIN_MIXED;
    }
}

static void tell(struct warp *w, const struct record *r, unsigned lane, const struct where *at, uint32_t k,
                 uint32_t tag, bool adds) {
    const struct block *b = w->block;
    const struct probe_store x = {
        .place = {.block = {b->id[0], b->id[1], b->id[2]}, .block_number = b->number},
        .warp = w->number,
        .lane = lane,
        .instruction = r->site,
        .buffer = at->buffer,
        .offset = at->at + (uint64_t)k * element_size(r),
        .bytes = element_size(r),
        .origin = !tag && r->imm & ORIGIN_IN_FUNCTION ? ORIGIN_MIXED : tag,
        .adds = adds,
    };
    if (b->probed->probe->stored)
        b->probed->probe->stored(b->probed->probe->context, &x);
}

/* Sources: the elements, then the address. */
static void store(struct warp *w, struct origins *o, const struct record *r, uint32_t mask, bool adds) {
    const uint32_t *list = w->wide + r->wide + r->dst;
    for (uint32_t left = mask; left; left &= left - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(left);
        const struct where at = place_of(w, r, lane);
        for (uint32_t k = 0; k + 1 < r->a; ++k) {
            const uint32_t tag = list[k] ? origin_tags(o, w->number, list[k])[lane] : 0;
            const uint32_t element = adds ? 0 : k;
            if (at.what == IN_SHARED)
                tag_shared(w, o, at.at + element * element_size(r), element_size(r), tag, adds);
            else if (at.what == IN_BUFFER)
                tell(w, r, lane, &at, element, tag, adds);
        }
    }
    if (adds)
        set_all(w, o, r, mask, ORIGIN_MIXED);
}

static void copy(struct warp *w, struct origins *o, const struct record *r, uint32_t mask) {
    for (uint32_t left = mask; left; left &= left - 1) {
        const struct where at = place_of(w, r, (unsigned)__builtin_ctz(left));
        if (at.what == IN_SHARED)
            tag_shared(w, o, at.at, element_size(r), 0, false);
    }
}

void op_origin(struct warp *w, const struct record *r, uint32_t mask) {
    struct origins *o = &w->block->probed->origins;
    switch ((enum origin_kind)r->c) {
    case ORIGIN_FLOW:
        flow(w, o, r, mask);
        break;
    case ORIGIN_CROSS:
        set_all(w, o, r, mask, any_tagged(w, o, r) ? ORIGIN_MIXED : 0);
        break;
    case ORIGIN_SHUFFLE:
        shuffle(w, o, r, mask);
        break;
    case ORIGIN_NONE:
        set_all(w, o, r, mask, 0);
        break;
    case ORIGIN_UNKNOWN:
        set_all(w, o, r, mask, ORIGIN_MIXED);
        break;
    case ORIGIN_WRITE:
        break;
    case ORIGIN_LOAD:
        load(w, o, r, mask);
        break;
    case ORIGIN_STORE:
    case ORIGIN_ATOMIC:
        store(w, o, r, mask, r->c == ORIGIN_ATOMIC);
        break;
    case ORIGIN_COPY:
        copy(w, o, r, mask);
        break;
    case ORIGIN_MATRICES:
        o->in_matrices |= any_tagged(w, o, r);
        break;
    case ORIGIN_LDMATRIX:
        set_all(w, o, r, mask, o->in_matrices ? ORIGIN_MIXED : 0);
        break;
    }
    for (uint32_t k = 0; k < r->dst; ++k)
        o->written[w->number * o->slots + w->wide[r->wide + k] / 128] = (struct probe_written){r->site, ++o->writes};
}
