/* Operations across the lanes of a warp. Source: PTX ISA 9.0, 9.7.9.6 (shfl.sync), 9.7.13.9 .. 12 (vote, match,
 * activemask, redux). Lanes that have exited count nowhere. */
#include "machine.h"
#include <string.h>

void event_diverged(struct warp *w, const struct record *r, uint32_t lanes) {
    const struct event v = {.kind = EVENT_DIVERGENT_ALIGNED, .buffer = -1, .plane = -1, .other_plane = -1};
    event_at(w, r, (unsigned)__builtin_ctz(lanes), v);
}

void check_convergence(struct warp *w, const struct record *r, uint32_t mask, uint32_t wanted) {
    if (wanted & w->live & ~mask)
        event_diverged(w, r, mask);
}

/* The member mask of a .sync operation, as the first lane gives it: all must give the same. */
static uint32_t members(struct warp *w, const struct record *r, uint32_t mask, uint32_t offset) {
    const uint32_t named = reg32(w, offset)[__builtin_ctz(mask)];
    check_convergence(w, r, mask, named);
    if (mask & ~named) /* a lane that executes must be a member */
        event_diverged(w, r, mask & ~named);
    return named & mask;
}

/* imm = mode (0 up, 1 down, 2 bfly, 3 idx); a value, b lane operand, c clamp and segments; wide = member mask, and the
 * predicate that says whether the source lane was in range (or UINT32_MAX). A lane that is out of range reads itself.
 */
void op_shfl(struct warp *w, const struct record *r, uint32_t mask) {
    const uint32_t *wide = w->wide + r->wide;
    members(w, r, mask, wide[0]);
    uint32_t out[LANES], in_range = 0;
    const uint32_t *a = reg32(w, r->a), *b = reg32(w, r->b), *c = reg32(w, r->c);
    for (int lane = 0; lane < LANES; ++lane) {
        const int by = (int)(b[lane] & 31), clamp = (int)(c[lane] & 31), segment = (int)(c[lane] >> 8 & 31);
        const int highest = (lane & segment) | (clamp & ~segment), lowest = lane & segment;
        int from;
        bool ok;
        switch (r->imm) {
        case 0:
            from = lane - by;
            ok = from >= highest; /* for up the clamp is a lower bound */
            break;
        case 1:
            from = lane + by;
            ok = from <= highest;
            break;
        case 2:
            from = lane ^ by;
            ok = from <= highest;
            break;
        default:
            from = lowest | (by & ~segment);
            ok = from <= highest;
        }
        out[lane] = a[ok ? from : lane];
        in_range |= (uint32_t)ok << lane;
    }
    uint32_t *d = reg32(w, r->dst);
    for (int lane = 0; lane < LANES; ++lane)
        d[lane] = mask >> lane & 1 ? out[lane] : d[lane];
    if (wide[1] != UINT32_MAX)
        set_pred(w, wide[1], in_range, mask);
}

/* imm = 0 all, 1 any, 2 uni; a = predicate (| GUARD_NEGATED); b = member mask; dst = predicate. */
void op_vote(struct warp *w, const struct record *r, uint32_t mask) {
    const uint32_t lanes = members(w, r, mask, r->b);
    const uint32_t held = w->preds[r->a & ~GUARD_NEGATED] ^ (r->a & GUARD_NEGATED ? ALL_LANES : 0);
    const uint32_t yes = held & lanes;
    const bool result = r->imm == 0 ? yes == lanes : r->imm == 1 ? yes != 0 : yes == 0 || yes == lanes;
    set_pred(w, r->dst, result ? ALL_LANES : 0, mask);
}

static void spread(struct warp *w, uint32_t offset, uint32_t value, uint32_t mask) {
    uint32_t *d = reg32(w, offset);
    for (int lane = 0; lane < LANES; ++lane)
        if (mask >> lane & 1)
            d[lane] = value;
}

void op_ballot(struct warp *w, const struct record *r, uint32_t mask) {
    const uint32_t lanes = members(w, r, mask, r->b);
    const uint32_t held = w->preds[r->a & ~GUARD_NEGATED] ^ (r->a & GUARD_NEGATED ? ALL_LANES : 0);
    spread(w, r->dst, held & lanes, mask);
}

void op_activemask(struct warp *w, const struct record *r, uint32_t mask) {
    spread(w, r->dst, mask, mask);
}

/* imm bit 0: all (else any), bit 1: 64-bit values; c = predicate of .all, or UINT32_MAX. */
void op_match(struct warp *w, const struct record *r, uint32_t mask) {
    const uint32_t lanes = members(w, r, mask, r->b);
    uint64_t value[LANES];
    for (int lane = 0; lane < LANES; ++lane)
        value[lane] = r->imm & 2 ? reg64(w, r->a)[lane] : reg32(w, r->a)[lane];
    bool all = true;
    uint32_t *d = reg32(w, r->dst);
    for (int lane = 0; lane < LANES; ++lane) {
        uint32_t equal = 0;
        if (!(lanes >> lane & 1))
            continue;
        for (int other = 0; other < LANES; ++other)
            if (lanes >> other & 1 && value[other] == value[lane])
                equal |= 1u << other;
        all = all && equal == lanes;
        d[lane] = equal;
    }
    if (r->imm & 1) {
        spread(w, r->dst, all ? lanes : 0, mask);
        if (r->c != UINT32_MAX)
            set_pred(w, r->c, all ? ALL_LANES : 0, mask);
    }
}

/* imm = 0 add, 1 min.u32, 2 max.u32, 3 min.s32, 4 max.s32, 5 and, 6 or, 7 xor; b = member mask. */
void op_redux(struct warp *w, const struct record *r, uint32_t mask) {
    const uint32_t lanes = members(w, r, mask, r->b), *a = reg32(w, r->a);
    if (!lanes)
        return;
    uint32_t sum = a[__builtin_ctz(lanes)];
    for (uint32_t left = lanes & (lanes - 1); left; left &= left - 1) {
        const uint32_t v = a[__builtin_ctz(left)];
        switch (r->imm) {
        case 0:
            sum += v;
            break;
        case 1:
            sum = v < sum ? v : sum;
            break;
        case 2:
            sum = v > sum ? v : sum;
            break;
        case 3:
            sum = (int32_t)v < (int32_t)sum ? v : sum;
            break;
        case 4:
            sum = (int32_t)v > (int32_t)sum ? v : sum;
            break;
        case 5:
            sum &= v;
            break;
        case 6:
            sum |= v;
            break;
        default:
            sum ^= v;
        }
    }
    spread(w, r->dst, sum, mask);
}

/* bar.warp.sync: a = member mask. The members are together when it runs (execute.c). */
void op_warp_sync(struct warp *w, const struct record *r, uint32_t mask) {
    members(w, r, mask, r->a);
}

/* dst = a op b for predicates; imm = 0 and, 1 or, 2 xor, 3 copy of a; a and b may be GUARD_NEGATED. */
void op_pred_logic(struct warp *w, const struct record *r, uint32_t mask) {
    const uint32_t a = w->preds[r->a & ~GUARD_NEGATED] ^ (r->a & GUARD_NEGATED ? ALL_LANES : 0);
    const uint32_t b = w->preds[r->b & ~GUARD_NEGATED] ^ (r->b & GUARD_NEGATED ? ALL_LANES : 0);
    set_pred(w, r->dst, r->imm == 0 ? a & b : r->imm == 1 ? a | b : r->imm == 2 ? a ^ b : a, mask);
}

/* Counts the multiply-adds of a dp4a or dp2a: imm a lane. */
void op_macs(struct warp *w, const struct record *r, uint32_t mask) {
    w->block->macs += (uint64_t)r->imm * (unsigned)__builtin_popcount(mask);
}

/* Fences and prefetches. */
void op_nothing(struct warp *w, const struct record *r, uint32_t mask) {
    (void)w, (void)r, (void)mask;
}
