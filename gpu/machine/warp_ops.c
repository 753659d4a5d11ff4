/* Operations across the lanes of a warp. Source: PTX ISA 9.0, 9.7.9.6 (shfl.sync), 9.7.13.9 .. 12 (vote, match,
 * activemask, redux). Lanes that have exited count nowhere. */
#include "watch.h"
#include <string.h>

void event_diverged(struct warp *w, const struct record *r, uint32_t lanes) {
    event_of_lanes(w, r, lanes, EVENT_DIVERGENT_ALIGNED);
}

void check_convergence(struct warp *w, const struct record *r, uint32_t mask, uint32_t wanted) {
    if (wanted & w->live & ~mask)
        event_diverged(w, r, mask);
}

/* Lanes may do one .sync operation at several places: each part is a record and its lanes. All parts have the same
 * handler, imm and member mask (execute.c), and each lane uses the operands of its own part. */

static uint32_t all_lanes(const struct part *parts, unsigned count) {
    uint32_t mask = 0;
    for (unsigned i = 0; i < count; ++i)
        mask |= parts[i].mask;
    return mask;
}

/* The executing lanes that the member mask names; events for named lanes that are absent, and for others that are here.
 */
static uint32_t members(struct warp *w, const struct part *parts, unsigned count) {
    const uint32_t mask = all_lanes(parts, count), named = named_members(w, parts[0].r, parts[0].mask);
    check_convergence(w, parts[0].r, mask, named);
    if (mask & ~named) /* a lane that executes must be a member */
        event_diverged(w, parts[0].r, mask & ~named);
    return named & mask;
}

enum operand { OPERAND_A, OPERAND_B, OPERAND_C };

/* out[lane] = the 32-bit operand of each lane's own part; of the first part for lanes that are in none. */
static void gather_words(struct warp *w, const struct part *parts, unsigned count, enum operand o,
                         uint32_t out[LANES]) {
    for (unsigned i = 0; i < count; ++i) {
        const struct record *r = parts[i].r;
        const uint32_t *v = reg32(w, o == OPERAND_A ? r->a : o == OPERAND_B ? r->b : r->c);
        for (int lane = 0; lane < LANES; ++lane)
            if (i == 0 || parts[i].mask >> lane & 1)
                out[lane] = v[lane];
    }
}

/* The lanes for which the predicate operand a of their own part holds. */
static uint32_t gather_preds(const struct warp *w, const struct part *parts, unsigned count) {
    uint32_t held = 0;
    for (unsigned i = 0; i < count; ++i) {
        const uint32_t a = parts[i].r->a;
        held |= (w->preds[a & ~GUARD_NEGATED] ^ (a & GUARD_NEGATED ? ALL_LANES : 0)) & parts[i].mask;
    }
    return held;
}

static void scatter_words(struct warp *w, const struct part *parts, unsigned count, const uint32_t value[LANES]) {
    for (unsigned i = 0; i < count; ++i) {
        uint32_t *d = reg32(w, parts[i].r->dst);
        for (int lane = 0; lane < LANES; ++lane)
            if (parts[i].mask >> lane & 1)
                d[lane] = value[lane];
    }
}

static void scatter_one(struct warp *w, const struct part *parts, unsigned count, uint32_t value) {
    uint32_t all[LANES];
    for (int lane = 0; lane < LANES; ++lane)
        all[lane] = value;
    scatter_words(w, parts, count, all);
}

/* What is undefined of a shuffle's results: the bits that are so in the lanes it reads, and all bits in the lanes that
 * read a lane which is not there: exited, in another branch, past the end of the block, or no member. */
static void shuffle_undefined(struct warp *w, const struct part *parts, unsigned count, const uint8_t source[LANES],
                              uint32_t absent) {
    uint32_t undefined[LANES] = {0}, where[LANES];
    if (absent && !(w->block->machine->program->follows & FOLLOW_SHUFFLES)) {
        if (watches(w->block->machine, WATCH_SYNC))
            must_follow(w->block, FOLLOW_SHUFFLES);
        absent = 0;
    }
    memcpy(where, w->absent, sizeof where);
    for (unsigned i = 0; i < count; ++i)
        for (uint32_t left = w->wide[parts[i].r->wide + 3] ? parts[i].mask : 0; left; left &= left - 1)
            undefined[__builtin_ctz(left)] = reg32(w, w->wide[parts[i].r->wide + 2])[__builtin_ctz(left)];
    for (unsigned i = 0; i < count; ++i)
        for (uint32_t left = w->wide[parts[i].r->wide + 3] ? parts[i].mask : 0; left; left &= left - 1) {
            const int lane = __builtin_ctz(left);
            const bool gone = absent >> lane & 1;
            reg32(w, w->wide[parts[i].r->wide + 3])[lane] = gone ? UINT32_MAX : undefined[source[lane]];
            if (gone)
                w->absent[lane] = parts[i].r->site + 1;
            else if (undefined[source[lane]] && where[source[lane]])
                w->absent[lane] = where[source[lane]];
        }
}

/* imm = mode (0 up, 1 down, 2 bfly, 3 idx); a value, b lane operand, c clamp and segments; wide = member mask, the
 * predicate that says whether the source lane was in range (or UINT32_MAX), and what is undefined of the value and of
 * the result (0, 0: not watched). A lane that is out of range reads itself. */
static void shfl(struct warp *w, const struct part *parts, unsigned count) {
    uint32_t a[LANES], b[LANES], c[LANES], out[LANES], in_range = 0, absent = 0;
    uint8_t source[LANES];
    const uint32_t here = all_lanes(parts, count), taking_part = members(w, parts, count);
    gather_words(w, parts, count, OPERAND_A, a);
    gather_words(w, parts, count, OPERAND_B, b);
    gather_words(w, parts, count, OPERAND_C, c);
    for (int lane = 0; lane < LANES; ++lane) {
        const int by = (int)(b[lane] & 31), clamp = (int)(c[lane] & 31), segment = (int)(c[lane] >> 8 & 31);
        const int highest = (lane & segment) | (clamp & ~segment), lowest = lane & segment;
        int from;
        bool ok;
        switch (parts[0].r->imm) {
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
        source[lane] = (uint8_t)(ok ? from : lane);
        in_range |= (uint32_t)ok << lane;
        absent |= (uint32_t)(ok && !(taking_part >> from & 1)) << lane;
    }
    scatter_words(w, parts, count, out);
    shuffle_undefined(w, parts, count, source, absent & here);
    for (unsigned i = 0; i < count; ++i) {
        const uint32_t pred = w->wide[parts[i].r->wide + 1];
        if (pred != UINT32_MAX)
            set_pred(w, pred, in_range, parts[i].mask);
    }
}

/* imm = 0 all, 1 any, 2 uni; a = predicate (| GUARD_NEGATED); b = member mask; dst = predicate. */
static void vote(struct warp *w, const struct part *parts, unsigned count) {
    const uint32_t lanes = members(w, parts, count), yes = gather_preds(w, parts, count) & lanes;
    const int64_t mode = parts[0].r->imm;
    const bool result = mode == 0 ? yes == lanes : mode == 1 ? yes != 0 : yes == 0 || yes == lanes;
    for (unsigned i = 0; i < count; ++i)
        set_pred(w, parts[i].r->dst, result ? ALL_LANES : 0, parts[i].mask);
}

static void ballot(struct warp *w, const struct part *parts, unsigned count) {
    const uint32_t lanes = members(w, parts, count);
    scatter_one(w, parts, count, gather_preds(w, parts, count) & lanes);
}

void op_activemask(struct warp *w, const struct record *r, uint32_t mask) {
    const struct part part = {r, mask};
    leave_open(w->block->machine, OPEN_ACTIVEMASK);
    scatter_one(w, &part, 1, mask);
}

/* imm bit 0: all (else any), bit 1: 64-bit values; c = predicate of .all, or UINT32_MAX. */
static void match(struct warp *w, const struct part *parts, unsigned count) {
    const uint32_t lanes = members(w, parts, count);
    uint64_t value[LANES] = {0};
    uint32_t equal[LANES] = {0};
    for (unsigned i = 0; i < count; ++i)
        for (int lane = 0; lane < LANES; ++lane)
            if (parts[i].mask >> lane & 1)
                value[lane] = parts[i].r->imm & 2 ? reg64(w, parts[i].r->a)[lane] : reg32(w, parts[i].r->a)[lane];
    bool all = true;
    for (int lane = 0; lane < LANES; ++lane) {
        if (!(lanes >> lane & 1))
            continue;
        for (int other = 0; other < LANES; ++other)
            if (lanes >> other & 1 && value[other] == value[lane])
                equal[lane] |= 1u << other;
        all = all && equal[lane] == lanes;
    }
    if (!(parts[0].r->imm & 1)) {
        scatter_words(w, parts, count, equal);
        return;
    }
    scatter_one(w, parts, count, all ? lanes : 0);
    for (unsigned i = 0; i < count; ++i)
        if (parts[i].r->c != UINT32_MAX)
            set_pred(w, parts[i].r->c, all ? ALL_LANES : 0, parts[i].mask);
}

/* imm = 0 add, 1 min.u32, 2 max.u32, 3 min.s32, 4 max.s32, 5 and, 6 or, 7 xor; b = member mask. */
static void redux(struct warp *w, const struct part *parts, unsigned count) {
    const uint32_t lanes = members(w, parts, count);
    uint32_t a[LANES];
    gather_words(w, parts, count, OPERAND_A, a);
    if (!lanes)
        return;
    uint32_t sum = a[__builtin_ctz(lanes)];
    for (uint32_t left = lanes & (lanes - 1); left; left &= left - 1) {
        const uint32_t v = a[__builtin_ctz(left)];
        switch (parts[0].r->imm) {
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
    scatter_one(w, parts, count, sum);
}

/* elect.sync: the lowest member, as an H200 elects; b = member mask, c = predicate. */
static void elect(struct warp *w, const struct part *parts, unsigned count) {
    const uint32_t lanes = members(w, parts, count);
    if (!lanes)
        return;
    const uint32_t leader = (uint32_t)__builtin_ctz(lanes);
    scatter_one(w, parts, count, leader);
    for (unsigned i = 0; i < count; ++i)
        set_pred(w, parts[i].r->c, 1u << leader, parts[i].mask);
}

/* bar.warp.sync: a = member mask. The members are together when it runs (execute.c); it orders their memory accesses.
 */
static void warp_sync(struct warp *w, const struct part *parts, unsigned count) {
    members(w, parts, count);
    ++w->syncs;
    watch_sync(w, named_members(w, parts[0].r, parts[0].mask));
}

void run_together(struct warp *w, const struct part *parts, unsigned count) {
    handler *const run = parts[0].r->run;
    if (run == op_shfl)
        shfl(w, parts, count);
    else if (run == op_vote)
        vote(w, parts, count);
    else if (run == op_ballot)
        ballot(w, parts, count);
    else if (run == op_match)
        match(w, parts, count);
    else if (run == op_redux)
        redux(w, parts, count);
    else if (run == op_elect)
        elect(w, parts, count);
    else
        warp_sync(w, parts, count);
}

/* Lanes of one place may name other members than their neighbours do (the masks of match.any are such): each set that
 * names the same is an operation of its own. */
#define ALONE(name, together)                                                                                          \
    void name(struct warp *w, const struct record *r, uint32_t mask) {                                                 \
        for (uint32_t same; (same = alike_members(w, r, mask)) != mask; mask &= ~same) {                               \
            const struct part part = {r, same};                                                                        \
            together(w, &part, 1);                                                                                     \
        }                                                                                                              \
        const struct part part = {r, mask};                                                                            \
        together(w, &part, 1);                                                                                         \
    }
ALONE(op_shfl, shfl)
ALONE(op_vote, vote)
ALONE(op_ballot, ballot)
ALONE(op_match, match)
ALONE(op_redux, redux)
ALONE(op_elect, elect)
ALONE(op_warp_sync, warp_sync)

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

/* membar and fence: one interleaving is run, but the watch of races asks what they may order. */
/* imm: it is of scope .cta. */
void op_fence(struct warp *w, const struct record *r, uint32_t mask) {
    (void)mask;
    watch_fence(w, r->imm);
}

/* Prefetches. */
void op_nothing(struct warp *w, const struct record *r, uint32_t mask) {
    (void)w, (void)r, (void)mask;
}

/* %clock and the like, which differ from run to run: steps of the block. Records of a straight run are counted at its
 * end, so those since its start are added here. */
void op_clock(struct warp *w, const struct record *r, uint32_t mask) {
    const struct block *b = w->block;
    const struct program *p = b->machine->program;
    const uint64_t steps = b->steps + p->weight[r - p->records] - p->weight[w->pc];
    const uint64_t now = r->imm & CLOCK_FIXED ? (uint64_t)r->imm >> CLOCK_SHIFT : steps;
    leave_open(b->machine, OPEN_CLOCK);
    for (uint32_t left = mask; left; left &= left - 1) {
        const int i = __builtin_ctz(left);
        if (r->imm & CLOCK_WIDE)
            reg64(w, r->dst)[i] = now;
        else
            reg32(w, r->dst)[i] = (uint32_t)(r->imm & CLOCK_HIGH ? now >> 32 : now);
    }
}
