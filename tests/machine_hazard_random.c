/* Random programs of loads, stores and barriers, judged by a brute-force happens-before: every thread's accesses, every
 * pair of them, and which of the two can be reached from the other through program order and barriers. */
#include "machine_run.h"

enum { OPS = 10, WARPS = 3, THREADS = 32 * WARPS, BLOCKS = 2, AREA = 48 };
enum op_kind { OP_LOAD, OP_STORE, OP_BARRIER, OP_WARP_SYNC };

struct op {
    enum op_kind kind;
    unsigned bytes;
    bool strong;
    unsigned id, expected;         /* of a barrier; expected: threads */
    uint32_t members;              /* of bar.warp.sync */
    uint32_t at[BLOCKS * THREADS]; /* UINT32_MAX: this thread does nothing */
    uint32_t value[BLOCKS * THREADS];
    bool arrive[WARPS]; /* barrier: this warp only arrives */
};

struct program_case {
    unsigned warps, blocks, ops;
    bool global, crowded; /* crowded: much else is loaded first, more than the log holds */
    struct op op[OPS];
};

/* first[t][k][u]: the first op of thread u that all of t's op k is ordered before; OPS: none. Same block only. */
static uint8_t first[THREADS][OPS + 1][THREADS];

static unsigned pick(uint64_t *seed, unsigned n) {
    return (unsigned)(next_random(seed) >> 33) % n;
}

static void make_access(struct op *o, const struct program_case *p, uint64_t *seed) {
    static const unsigned widths[] = {1, 2, 4, 4, 8, 16};
    o->kind = pick(seed, 5) < 2 ? OP_STORE : OP_LOAD;
    o->bytes = widths[pick(seed, 6)];
    o->strong = !pick(seed, 8) && o->bytes <= 4;
    /* Mostly apart: each thread its own place; sometimes shifted to a neighbour's; few lanes at one place. */
    const unsigned shape = pick(seed, 4), shift = pick(seed, 3) ? 0 : 1 + pick(seed, 40), few = pick(seed, 3);
    const uint32_t lanes = pick(seed, 2) ? 0xffffffff : (uint32_t)next_random(seed);
    const unsigned warps = 1 + pick(seed, (1u << p->warps) - 1), blocks = 1 + pick(seed, (1u << p->blocks) - 1);
    const uint32_t value = pick(seed, 3);
    for (unsigned t = 0; t < p->blocks * THREADS; ++t) {
        const unsigned in = t % THREADS, lane = in % 32;
        const bool on = in / 32 < p->warps && warps >> in / 32 & 1 && blocks >> t / THREADS & 1 && lanes >> lane & 1 &&
                        (few || lane < 2);
        const unsigned own = p->global ? t : in;
        const unsigned place = shape == 0 ? pick(seed, 6) : shape == 1 ? (own + shift) * 4 : own * 4;
        o->at[t] = on ? place * (shape ? 4 : o->bytes) / o->bytes * o->bytes : UINT32_MAX;
        o->value[t] = shape == 2 ? value : value + pick(seed, 2);
    }
}

static void make_barrier(struct op *o, const struct program_case *p, unsigned id, uint64_t *seed) {
    o->kind = OP_BARRIER;
    o->id = id;
    unsigned in = pick(seed, 2) ? (1u << p->warps) - 1 : 1 + pick(seed, (1u << p->warps) - 1);
    const unsigned waits = (unsigned)__builtin_ctz(in);
    o->expected = 32 * (unsigned)__builtin_popcount(in);
    for (unsigned w = 0; w < p->warps; ++w)
        o->arrive[w] = w != waits && in >> w & 1 && !pick(seed, 4);
    for (unsigned t = 0; t < p->blocks * THREADS; ++t)
        o->at[t] = in >> t % THREADS / 32 & 1 ? 0 : UINT32_MAX;
}

static void make_sync(struct op *o, const struct program_case *p, uint64_t *seed) {
    o->kind = OP_WARP_SYNC;
    o->members = pick(seed, 2) ? 0xffffffff : (uint32_t)next_random(seed) | 1;
    const unsigned warps = 1 + pick(seed, (1u << p->warps) - 1);
    for (unsigned t = 0; t < p->blocks * THREADS; ++t)
        o->at[t] = warps >> t % THREADS / 32 & 1 && o->members >> t % 32 & 1 ? 0 : UINT32_MAX;
}

static void make(struct program_case *p, uint64_t *seed) {
    memset(p, 0, sizeof *p);
    p->warps = 1 + pick(seed, WARPS);
    p->global = pick(seed, 3) == 0;
    p->blocks = p->global ? 1 + pick(seed, BLOCKS) : 1;
    p->crowded = !p->global && !pick(seed, 40);
    p->ops = 2 + pick(seed, OPS - 1);
    for (unsigned k = 0; k < p->ops; ++k) {
        const unsigned what = pick(seed, 10);
        if (what < 6)
            make_access(&p->op[k], p, seed);
        else if (what < 8)
            make_barrier(&p->op[k], p, k + 1, seed);
        else
            make_sync(&p->op[k], p, seed);
    }
}

/* ---- the oracle ---- */

static bool waits(const struct op *o, unsigned t) {
    return o->at[t] != UINT32_MAX && !(o->kind == OP_BARRIER && o->arrive[t / 32]);
}

/* Thread u goes on from its op k only after t has come to its op k. */
static bool meets(const struct op *o, unsigned t, unsigned u) {
    if (o->kind == OP_BARRIER)
        return o->at[t] != UINT32_MAX && waits(o, u);
    return o->kind == OP_WARP_SYNC && t / 32 == u / 32 && o->at[t] != UINT32_MAX && o->at[u] != UINT32_MAX;
}

static void close_order(const struct program_case *p) {
    const unsigned threads = p->warps * 32;
    memset(first, OPS, sizeof first);
    for (unsigned k = p->ops; k-- > 0;)
        for (unsigned t = 0; t < threads; ++t) {
            uint8_t *f = first[t][k];
            memcpy(f, first[t][k + 1], THREADS);
            f[t] = (uint8_t)(k + 1);
            for (unsigned u = 0; u < threads; ++u) {
                if (!meets(&p->op[k], t, u))
                    continue;
                f[u] = (uint8_t)(k + 1) < f[u] ? (uint8_t)(k + 1) : f[u];
                for (unsigned v = 0; v < threads; ++v)
                    f[v] = first[u][k + 1][v] < f[v] ? first[u][k + 1][v] : f[v];
            }
        }
}

enum pair { PAIR_NONE, PAIR_RACE, PAIR_BENIGN };

/* What accesses (t, k) and (u, j) are to each other at the byte `at`. t and u count over the blocks. */
static enum pair pair_at(const struct program_case *p, unsigned t, unsigned k, unsigned u, unsigned j, uint32_t at) {
    const struct op *a = &p->op[k], *b = &p->op[j];
    if (t == u || a->kind > OP_STORE || b->kind > OP_STORE || (a->kind == OP_LOAD && b->kind == OP_LOAD) ||
        (a->strong && b->strong))
        return PAIR_NONE;
    if (a->at[t] == UINT32_MAX || b->at[u] == UINT32_MAX || at < a->at[t] || at >= a->at[t] + a->bytes ||
        at < b->at[u] || at >= b->at[u] + b->bytes)
        return PAIR_NONE;
    if (p->global && a->kind == OP_STORE && b->kind == OP_STORE && !a->strong && !b->strong)
        return PAIR_NONE; /* coverage's */
    if (t / THREADS == u / THREADS &&
        (first[t % THREADS][k][u % THREADS] <= j || first[u % THREADS][j][t % THREADS] <= k))
        return PAIR_NONE;
    /* every word of a vector holds the value */
    const unsigned x = (at - a->at[t]) % 4, y = (at - b->at[u]) % 4;
    const bool same = (a->value[t] >> 8 * x & 255) == (b->value[u] >> 8 * y & 255);
    return a->kind == OP_STORE && b->kind == OP_STORE && !a->strong && !b->strong && same ? PAIR_BENIGN : PAIR_RACE;
}

static void count_pairs(const struct program_case *p, size_t *races, size_t *benign) {
    *races = *benign = 0;
    const unsigned threads = p->blocks * THREADS;
    for (unsigned k = 0; k < p->ops; ++k)
        for (unsigned j = 0; j <= k; ++j)
            for (unsigned t = 0; t < threads; ++t)
                for (unsigned u = 0; u < threads && p->op[k].at[t] != UINT32_MAX; ++u)
                    for (unsigned i = 0; i < p->op[k].bytes && p->op[j].at[u] != UINT32_MAX; ++i) {
                        const enum pair x = pair_at(p, t, k, u, j, p->op[k].at[t] + i);
                        *races += x == PAIR_RACE;
                        *benign += x == PAIR_BENIGN;
                    }
}

/* ---- the program as PTX ---- */

static const char *suffix(unsigned bytes) {
    return bytes == 1 ? "u8" : bytes == 2 ? "u16" : bytes == 4 ? "u32" : bytes == 8 ? "v2.u32" : "v4.u32";
}

static const char *registers(unsigned bytes) {
    return bytes <= 4 ? "%r9" : bytes == 8 ? "{%r9, %r9}" : "{%r9, %r9, %r9, %r9}";
}
static const char *targets(unsigned bytes) {
    return bytes <= 4 ? "%r10" : bytes == 8 ? "{%r10, %r11}" : "{%r10, %r11, %r12, %r13}";
}

/* p0: (ops, threads of all blocks) pairs of address and value. Op k is at line 20 k + 41 + something: see op_of. */
static char *body_of(const struct program_case *p) {
    char *text = malloc(16384);
    size_t n = (size_t)sprintf(text,
                               ".shared .align 16 .b8 area[8192];\nld.param.u64 %%rd1, [p0];\n"
                               "ld.param.u64 %%rd2, [p1];\nmov.u32 %%r1, %%tid.x;\nmov.u32 %%r2, %%ctaid.x;\n"
                               "mad.lo.u32 %%r3, %%r2, %d, %%r1;\nmul.wide.u32 %%rd3, %%r3, 8;\n"
                               "add.u64 %%rd4, %%rd1, %%rd3;\nmov.u32 %%r4, area;\n",
                               THREADS);
    if (p->crowded)
        n += (size_t)sprintf(text + n, "mov.u32 %%r5, 0;\nCROWD:\nld.shared.u32 %%r6, [%%r4+4096];\n"
                                       "add.u32 %%r5, %%r5, 1;\nsetp.lt.u32 %%p1, %%r5, 12000;\n@%%p1 bra CROWD;\n");
    for (unsigned k = 0; k < p->ops; ++k) {
        const struct op *o = &p->op[k];
        n += (size_t)sprintf(text + n, "ld.global.v2.u32 {%%r8, %%r9}, [%%rd4+%u];\nsetp.ne.u32 %%p2, %%r8, -1;\n",
                             k * BLOCKS * THREADS * 8);
        if (o->kind <= OP_STORE) {
            n += (size_t)sprintf(text + n, "add.u32 %%r7, %%r8, %%r4;\ncvt.u64.u32 %%rd5, %%r8;\n"
                                           "add.u64 %%rd5, %%rd5, %%rd2;\n");
            const char *space = p->global ? "global" : "shared", *address = p->global ? "%rd5" : "%r7";
            const char *how = o->strong ? "volatile." : "";
            if (o->kind == OP_LOAD)
                n += (size_t)sprintf(text + n, "@%%p2 ld.%s%s.%s %s, [%s];\n", how, space, suffix(o->bytes),
                                     targets(o->bytes), address);
            else
                n += (size_t)sprintf(text + n, "@%%p2 st.%s%s.%s [%s], %s;\n", how, space, suffix(o->bytes), address,
                                     registers(o->bytes));
        } else if (o->kind == OP_BARRIER) { /* %r9: 1 for a warp that only arrives */
            n += (size_t)sprintf(text + n,
                                 "setp.eq.and.u32 %%p3|%%p4, %%r9, 1, %%p2;\n@%%p3 bar.arrive %u, %u;\n"
                                 "@%%p4 bar.sync %u, %u;\n",
                                 o->id, o->expected, o->id, o->expected);
        } else {
            n += (size_t)sprintf(text + n, "@%%p2 bar.warp.sync %u;\n", o->members);
        }
        n += (size_t)sprintf(text + n, "OP%u:\n", k);
    }
    sprintf(text + n, "ret;\n");
    return text;
}

/* The op that a line of the body belongs to: the next label tells. */
static unsigned op_of(const char *body, int line) {
    const char *s = body;
    for (int i = 1; i < line; ++i)
        s = strchr(s, '\n') + 1;
    const char *label = strstr(s, "OP");
    return label ? (unsigned)atoi(label + 2) : OPS;
}

static void check(const struct program_case *p, unsigned number, const char *isa) {
    static uint32_t table[OPS][BLOCKS * THREADS][2];
    static uint8_t area[8192];
    for (unsigned k = 0; k < p->ops; ++k)
        for (unsigned t = 0; t < BLOCKS * THREADS; ++t) {
            table[k][t][0] = t < p->blocks * THREADS ? p->op[k].at[t] : UINT32_MAX;
            table[k][t][1] = p->op[k].kind == OP_BARRIER ? p->op[k].arrive[t % THREADS / 32] : p->op[k].value[t];
        }
    memset(area, 0, sizeof area);
    char *body = body_of(p);
    struct launch_buffer b[2] = {
        {.name = "in", .role = BUFFER_IN, .bytes = sizeof table, .cell_bytes = 4, .data = (uint8_t *)table},
        {.name = "io", .role = BUFFER_INOUT, .bytes = sizeof area, .cell_bytes = 4, .data = area}};
    const struct machine_test test = {.body = body,
                                      .buffers = b,
                                      .buffer_count = 2,
                                      .grid = {p->blocks},
                                      .block = {p->warps * 32},
                                      .threads = 1 + (int)(number % 2),
                                      .unwatched = WATCH_UNINIT,
                                      .isa = isa};
    struct trace t;

    struct ptx_module *m = machine_must(&test, &t);
    size_t races, benign, found = 0, found_benign = 0;
    close_order(p);
    count_pairs(p, &races, &benign);
    for (size_t i = 0; i < t.event_count; ++i) {
        const struct event *v = &t.events[i];
        cr_assert(v->kind == EVENT_RACE || v->kind == EVENT_BENIGN_RACE, "case %u: event %d at line %d\n%s", number,
                  v->kind, t.sites[v->instruction].line, body);
        const unsigned k = op_of(body, t.sites[v->instruction].line),
                       j = op_of(body, t.sites[v->other.instruction].line);
        const unsigned me = v->block[0] * THREADS + v->warp * 32 + v->lane;
        const unsigned other = v->other.block[0] * THREADS + v->other.warp * 32 + v->other.lane;
        const enum pair x = pair_at(p, me, k, other, j, (uint32_t)v->offset);
        found += v->kind == EVENT_RACE;
        found_benign += v->kind == EVENT_BENIGN_RACE;
        cr_assert(x == (v->kind == EVENT_RACE ? PAIR_RACE : PAIR_BENIGN) ||
                      (v->kind == EVENT_RACE && x == PAIR_BENIGN && races),
                  "case %u: the pair of ops %u and %u, threads %u and %u, byte %lld is no such race (%d)\n%s", number,
                  k, j, me, other, (long long)v->offset, x, body);
    }
    cr_assert((found > 0) == (races > 0), "case %u: %zu races found, there are %zu\n%s", number, found, races, body);
    cr_assert(races || (found_benign > 0) == (benign > 0), "case %u: %zu benign races found, there are %zu\n%s", number,
              found_benign, benign, body);
    trace_free(&t);
    ptx_free(m);
    free(body);
}

Test(machine_hazard_random, as_brute_force_says) {
    enum { CASES = 3000 };
    static struct program_case p;
    uint64_t seed = 20261130;
    const char *isas[3];
    const size_t isa_count = machine_isas(isas);
    for (unsigned i = 0; i < CASES; ++i) {
        make(&p, &seed);
        check(&p, i, isas[i % isa_count]);
    }
}
