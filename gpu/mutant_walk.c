/* All threads of a block, one after the other, from the function's beginning on: what each may hold at an instruction,
 * loops taken round by round. What depends on nothing but the thread's number and on constants is known exactly;
 * memory, other lanes and the shape are not known, and a branch on them goes both ways.
 *
 * A state is what the registers hold that branches (and one instruction that is asked for) are computed of. States of a
 * block are kept apart by their keys, the registers that several instructions write; those of one key are joined. */
#include "../ref/checked.h"
#include "mutant_flow_parts.h"
#include <stdlib.h>
#include <string.h>

enum {
    STATES = 48,            /* of a block that are kept apart */
    JOINS = 4,              /* of a state, before its bounds are widened */
    MOST_STEPS = 1 << 20,   /* blocks that all threads are taken through */
    MOST_THREADS = 1 << 10, /* of a block */
};

struct state {
    struct value_set *values; /* (slot_count) */
    struct value_set *other;  /* (slot_count) what the mutant has in its place; none: the very same */
    unsigned joins;
    bool waits; /* in the list of those to be taken further */
};

struct states {
    struct state items[STATES];
    size_t count;
};

struct walk {
    struct mutant_flow flow; /* the given one, %tid that of one thread */
    int *slot;               /* (registers) of a tracked one, else -1 */
    int *reg;                /* (slot_count) */
    bool *key;               /* (slot_count) */
    size_t slot_count;
    struct states *blocks;            /* (block_count) */
    struct value_set *now, *other;    /* (slot_count) */
    const struct flow_change *change; /* NULL: there is no mutant */
    struct value_set extra;           /* in the register that only the mutant has */
    bool changing;            /* what stands in the mutant's place is looked at: its registers are the mutant's */
    bool apart;               /* the mutant may do something else than the program */
    size_t *list, list_count; /* blocks with a state that waits: a stack without doubles */
    bool *listed;
    size_t steps;
};

static bool is(const struct ptx_instruction *in, const char *opcode) {
    return strcmp(in->opcode, opcode) == 0;
}

static bool ends(const struct ptx_instruction *in) {
    return is(in, "ret") || is(in, "exit") || is(in, "trap");
}

/* ---- what is tracked ---- */

static bool track(struct walk *w, const struct ptx_operand *o) {
    bool more = false;
    const int regs[] = {o->kind == PTX_OP_REGISTER || o->kind == PTX_OP_ADDRESS ? o->reg : -1, o->second};
    for (int i = 0; i < 2; ++i) {
        if (regs[i] >= 0 && w->slot[regs[i]] < 0) {
            w->slot[regs[i]] = (int)w->slot_count;
            w->reg[w->slot_count++] = regs[i];
            more = true;
        }
    }
    for (size_t i = 0; i < o->element_count; ++i) {
        more |= track(w, &o->elements[i]);
    }
    return more;
}

/* Of the threads' own: no memory, no other lane. */
static bool own(const struct ptx_instruction *in) {
    return flow_computes(in) && !in->operands[0].minus && in->operands[0].part == NULL;
}

/* Its first operand is a result alone, no address and nothing that is added to. */
static bool gives(const struct ptx_instruction *in) {
    static const char *const opcodes[] = {"ld",  "ldmatrix", "mma",  "shfl", "atom", "dp4a", "cvta", "div", "rem",
                                          "rcp", "sqrt",     "popc", "clz",  "bfe",  "shf",  "lop3", NULL};
    for (size_t i = 0; opcodes[i] != NULL; ++i) {
        if (is(in, opcodes[i])) {
            return in->operand_count > 1 && in->operands[0].kind != PTX_OP_ADDRESS;
        }
    }
    return flow_computes(in);
}

/* It reads a tracked register, of: one that the mutant has otherwise. */
static bool reads(const struct walk *w, const struct ptx_instruction *in, const struct value_set *of) {
    bool found = false;
    for (size_t o = gives(in) ? 1 : 0; o < in->operand_count; ++o) {
        const struct ptx_operand *x = &in->operands[o];
        const bool reg = (x->kind == PTX_OP_REGISTER || x->kind == PTX_OP_ADDRESS) && x->reg >= 0;
        found |= reg && w->slot[x->reg] >= 0 && (of == NULL || of[w->slot[x->reg]].some);
        for (size_t e = 0; e < x->element_count; ++e) {
            const struct ptx_operand *y = &x->elements[e];
            found |= y->kind == PTX_OP_REGISTER && w->slot[y->reg] >= 0 && (of == NULL || of[w->slot[y->reg]].some);
        }
    }
    return found;
}

/* What is computed of the mutant's result, before anything else is tracked. */
static void find_results(struct walk *w) {
    const struct ptx_function *f = w->flow.f;
    track(w, &f->instructions[w->change->instruction].operands[0]);
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < f->instruction_count; ++i) {
            const struct ptx_instruction *in = &f->instructions[i];
            if (own(in) && reads(w, in, NULL)) {
                more |= track(w, &in->operands[0]);
            }
        }
    }
}

static void find_tracked(struct walk *w, size_t asked) {
    const struct ptx_function *f = w->flow.f;
    if (w->change != NULL && own(&f->instructions[w->change->instruction])) {
        find_results(w);
        asked = w->change->instruction;
    }
    for (size_t i = 0; i < f->instruction_count; ++i) {
        const struct ptx_instruction *in = &f->instructions[i];
        if (in->guard >= 0) {
            track(w, &(struct ptx_operand){.kind = PTX_OP_REGISTER, .reg = in->guard, .second = -1});
        }
        for (size_t o = 0; i == asked && o < in->operand_count; ++o) {
            track(w, &in->operands[o]);
        }
    }
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < f->instruction_count; ++i) {
            const struct ptx_instruction *in = &f->instructions[i];
            if (own(in) && w->slot[in->operands[0].reg] >= 0) {
                for (size_t o = 1; o < in->operand_count; ++o) {
                    more |= track(w, &in->operands[o]);
                }
            }
        }
    }
    for (size_t s = 0; s < w->slot_count; ++s) {
        w->key[s] = w->flow.definition[w->reg[s]].count > 1 && !w->flow.definition[w->reg[s]].wild;
    }
}

/* ---- states ---- */

static struct value_set walk_source(void *context, const struct ptx_operand *o, unsigned bits) {
    const struct walk *w = context;
    if (o->kind != PTX_OP_REGISTER || o->minus || o->part != NULL) {
        return flow_constant(&w->flow, o, bits);
    }
    const int s = w->slot[o->reg];
    const struct value_set v = s >= 0 && w->now[s].some ? w->now[s] : w->flow.values[o->reg];
    return o->negated && bits == 1 ? flow_negate(v) : flow_read_as(v, bits);
}

/* As the mutant has it. */
static struct value_set other_source(void *context, const struct ptx_operand *o, unsigned bits) {
    const struct walk *w = context;
    const bool plain = o->kind == PTX_OP_REGISTER && !o->minus && o->part == NULL;
    if (plain && w->changing && w->change->extra == o->reg) {
        return flow_read_as(w->extra, bits);
    }
    if (!plain || w->slot[o->reg] < 0 || !w->other[w->slot[o->reg]].some) {
        return walk_source(context, o, bits);
    }
    const struct value_set v = w->other[w->slot[o->reg]];
    return o->negated && bits == 1 ? flow_negate(v) : flow_read_as(v, bits);
}

/* 1: the guard lets it, 0: it does not, -1: that depends. */
static int lets(const struct walk *w, const struct ptx_instruction *in) {
    uint64_t v;
    if (in->guard < 0) {
        return 1;
    }
    const struct value_set p = w->now[w->slot[in->guard]];
    return p.some && value_is_one(p, &v) ? v != in->guard_negated : -1;
}

/* Whether the mutant does what the program does here, but for results of its own. */
static void compare(struct walk *w, const struct ptx_instruction *in, int let) {
    if (w->change == NULL) {
        return;
    }
    const bool mutated = in == &w->flow.f->instructions[w->change->instruction];
    if (mutated && w->change->of_guard) {
        w->apart |= let < 0 || lets(w, w->change->after) != let;
    }
    w->apart |= in->guard >= 0 && w->other[w->slot[in->guard]].some;
    w->apart |= let != 0 && !own(in) && (reads(w, in, w->other) || (mutated && !w->change->of_guard));
}

/* What the mutant's instruction gives; it may take two. */
static struct value_set changed(struct walk *w, unsigned bits) {
    const struct value_sources s = {other_source, w};
    w->changing = true;
    for (size_t i = 0; i + 1 < w->change->after_count; ++i) {
        const struct ptx_instruction *in = &w->change->after[i];
        w->extra = value_of(in, w->change->extra_bits, 0, &s);
    }
    const struct value_set v = value_of(&w->change->after[w->change->after_count - 1], bits, 0, &s);
    w->changing = false;
    return v;
}

/* v: as the program has it; u: as the mutant has it, none where that is the very same. */
static void write(struct walk *w, int reg, struct value_set v, struct value_set u, bool surely) {
    const int s = reg >= 0 ? w->slot[reg] : -1;
    if (s < 0) {
        return;
    }
    const unsigned bits = flow_bits(&w->flow, reg);
    const struct value_set old = w->now[s].some ? w->now[s] : w->flow.values[reg];
    v = v.some && v.bits == bits ? v : value_any(bits);
    u = !u.some || u.bits == bits ? u : value_any(bits);
    if (!surely && (u.some || w->other[s].some)) {
        u = value_join(w->other[s].some ? w->other[s] : old, u.some ? u : v);
    }
    w->other[s] = u;
    w->now[s] = surely ? v : value_join(old, v);
}

static void write_unknown(struct walk *w, const struct ptx_operand *o, bool surely) {
    const struct value_set same = {0};
    if (o->kind == PTX_OP_REGISTER) {
        write(w, o->reg, w->flow.values[o->reg], same, surely);
    }
    if (o->second >= 0) {
        write(w, o->second, w->flow.values[o->second], same, surely);
    }
    for (size_t i = 0; i < o->element_count; ++i) {
        write_unknown(w, &o->elements[i], surely);
    }
}

static void step(struct walk *w, const struct ptx_instruction *in) {
    const int let = lets(w, in);
    compare(w, in, let);
    if (let == 0 || in->operand_count == 0 || flow_writes_nothing(in)) {
        return;
    }
    if (!own(in)) {
        write_unknown(w, &in->operands[0], let == 1);
        return;
    }
    const int reg = in->operands[0].reg;
    if (w->slot[reg] < 0) {
        return;
    }
    const struct value_sources s = {walk_source, w}, t = {other_source, w};
    const unsigned bits = flow_bits(&w->flow, reg);
    const bool mutated =
        w->change != NULL && !w->change->of_guard && in == &w->flow.f->instructions[w->change->instruction];
    struct value_set v = value_meet(flow_gives(&w->flow, in, bits, 0, &s), w->flow.values[reg]), u = {0};
    uint64_t a, b;
    if (mutated || (w->change != NULL && reads(w, in, w->other))) {
        u = mutated ? changed(w, bits) : value_of(in, bits, 0, &t);
        if (u.bits == v.bits && value_is_one(u, &a) && value_is_one(v, &b) && a == b) {
            u = (struct value_set){0};
        }
    }
    write(w, reg, v, u, let == 1);
}

static void enlist(struct walk *w, size_t b) {
    if (!w->listed[b]) {
        w->listed[b] = true;
        w->list[w->list_count++] = b;
    }
}

static bool same_keys(const struct walk *w, const struct state *a) {
    bool same = true;
    for (size_t s = 0; same && s < w->slot_count; ++s) {
        same = !w->key[s] || (value_same(a->values[s], w->now[s]) && value_same(a->other[s], w->other[s]));
    }
    return same;
}

/* The key of most values in a block's states is none from now on. */
static void drop_key(struct walk *w, const struct states *of) {
    size_t most = 0, which = w->slot_count;
    for (size_t s = 0; s < w->slot_count; ++s) {
        size_t n = 0;
        for (size_t a = 0; w->key[s] && a < of->count; ++a) {
            bool is_new = true;
            for (size_t b = 0; is_new && b < a; ++b) {
                is_new = !value_same(of->items[a].values[s], of->items[b].values[s]);
            }
            n += is_new;
        }
        if (n > most) {
            most = n;
            which = s;
        }
    }
    if (which < w->slot_count) {
        w->key[which] = false;
    }
}

/* What is now comes to block b. False: there are too many states. */
static bool arrive(struct walk *w, size_t b) {
    struct states *of = &w->blocks[b];
    struct state *a = NULL;
    for (size_t i = 0; a == NULL && i < of->count; ++i) {
        a = same_keys(w, &of->items[i]) ? &of->items[i] : NULL;
    }
    if (a == NULL) {
        if (of->count == STATES) {
            drop_key(w, of);
            return false;
        }
        a = &of->items[of->count++];
        *a = (struct state){.values = must_calloc(w->slot_count + 1, sizeof *a->values),
                            .other = must_calloc(w->slot_count + 1, sizeof *a->other),
                            .waits = true};
        memcpy(a->values, w->now, w->slot_count * sizeof *a->values);
        memcpy(a->other, w->other, w->slot_count * sizeof *a->other);
        enlist(w, b);
        return true;
    }
    bool changed = false;
    const bool patient = a->joins < JOINS;
    for (size_t s = 0; s < w->slot_count; ++s) {
        struct value_set *old = &a->values[s], *was = &a->other[s];
        const struct value_set all = w->flow.values[w->reg[s]], none = {0};
        if (was->some || w->other[s].some) {
            const struct value_set x = was->some   ? *was
                                       : old->some ? *old
                                                   : all,
                                   y = w->other[s].some ? w->other[s]
                                       : w->now[s].some ? w->now[s]
                                                        : all;
            const struct value_set u = patient ? value_join(x, y) : value_widen(x, value_join(x, y));
            changed |= !value_same(u, *was);
            *was = u;
        }
        if (!old->some) { /* not written on some way: whatever is written anywhere */
            continue;
        }
        struct value_set v = w->now[s].some ? value_join(*old, w->now[s]) : none;
        v = patient || !v.some ? v : value_widen(*old, v);
        changed |= !value_same(v, *old);
        *old = v;
    }
    if (changed) {
        ++a->joins;
        a->waits = true;
        enlist(w, b);
    }
    return true;
}

/* Where a branch that nobody can tell leads back, the registers that it is computed of take any number of values. */
static bool drop_counters(struct walk *w, int reg, int depth) {
    const int s = w->slot[reg];
    bool dropped = s >= 0 && w->key[s];
    if (dropped) {
        w->key[s] = false;
    }
    const struct definition *d = &w->flow.definition[reg];
    const struct ptx_instruction *in = &w->flow.f->instructions[d->instruction];
    for (size_t o = 1; depth > 0 && d->count == 1 && own(in) && o < in->operand_count; ++o) {
        dropped |= in->operands[o].kind == PTX_OP_REGISTER && drop_counters(w, in->operands[o].reg, depth - 1);
    }
    return dropped;
}

/* From the state in `now`, at the beginning of the block, to those that follow. False: the keys have changed. */
static bool pass(struct walk *w, size_t b) {
    const struct block *x = &w->flow.blocks[b];
    for (size_t i = x->first; i < x->last; ++i) {
        step(w, &w->flow.f->instructions[i]);
    }
    const struct ptx_instruction *last = &w->flow.f->instructions[x->last];
    const int let = lets(w, last);
    compare(w, last, let);
    if (!is(last, "bra") && !ends(last)) {
        step(w, last);
        return x->next[1] == NOWHERE || arrive(w, x->next[1]);
    }
    if (let < 0 && is(last, "bra") && x->next[0] != NOWHERE && w->flow.blocks[x->next[0]].first <= x->first &&
        drop_counters(w, last->guard, 4)) {
        return false;
    }
    const int s = last->guard >= 0 ? w->slot[last->guard] : -1;
    for (int side = 0; side < 2; ++side) {
        if (x->next[side] != NOWHERE && let != side) {
            if (let < 0) {
                w->now[s] = value_one(1, (uint64_t)((side == 0) ^ last->guard_negated));
            }
            if (!arrive(w, x->next[side])) {
                return false;
            }
        }
    }
    return true;
}

/* ---- one thread ---- */

static void forget(struct walk *w) {
    for (size_t b = 0; b < w->flow.block_count; ++b) {
        for (size_t i = 0; i < w->blocks[b].count; ++i) {
            free(w->blocks[b].items[i].values);
            free(w->blocks[b].items[i].other);
        }
        w->blocks[b].count = 0;
        w->listed[b] = false;
    }
    w->list_count = 0;
}

/* 1: all its states are known; 0: with other keys, again; -1: it takes too long. */
static int walk_thread(struct walk *w) {
    forget(w);
    for (size_t s = 0; s < w->slot_count; ++s) {
        w->now[s] = w->other[s] = (struct value_set){0};
    }
    arrive(w, 0);
    while (w->list_count > 0) {
        const size_t b = w->list[--w->list_count];
        w->listed[b] = false;
        for (size_t i = 0; i < w->blocks[b].count; ++i) {
            struct state *a = &w->blocks[b].items[i];
            if (!a->waits) {
                continue;
            }
            a->waits = false;
            memcpy(w->now, a->values, w->slot_count * sizeof *w->now);
            memcpy(w->other, a->other, w->slot_count * sizeof *w->other);
            const bool passed = pass(w, b);
            if (++w->steps > MOST_STEPS || w->apart) {
                return -1;
            }
            if (!passed) {
                return 0;
            }
        }
    }
    return 1;
}

struct question {
    size_t asked; /* NOWHERE: all */
    bool guarded;
    flow_visit *visit;
    void *context;
};

static bool ask(struct walk *w, const struct question *q) {
    const struct value_sources sources = {walk_source, w};
    for (size_t b = 0; b < w->flow.block_count; ++b) {
        const struct block *x = &w->flow.blocks[b];
        if (q->asked != NOWHERE && (q->asked < x->first || q->asked > x->last)) {
            continue;
        }
        for (size_t k = 0; k < w->blocks[b].count; ++k) {
            memcpy(w->now, w->blocks[b].items[k].values, w->slot_count * sizeof *w->now);
            for (size_t i = x->first; i <= x->last; ++i) {
                const struct ptx_instruction *in = &w->flow.f->instructions[i];
                if ((q->asked == NOWHERE || q->asked == i) && (!q->guarded || lets(w, in) != 0) &&
                    !q->visit(q->context, i, &sources)) {
                    return false;
                }
                step(w, in);
            }
        }
    }
    return true;
}

/* All threads, one after the other. */
static bool every_thread(const struct mutant_flow *f, const struct question *q, const struct flow_change *change) {
    uint64_t size[3];
    bool good = f->branches_known && f->block_count > 0;
    for (int i = 0; i < 3; ++i) {
        good &= value_is_one(f->size[i], &size[i]) && size[i] >= 1 && size[i] <= MOST_THREADS;
    }
    if (!good || size[0] * size[1] * size[2] > MOST_THREADS) {
        return false;
    }
    const size_t registers = f->f->register_count;
    struct walk w = {.flow = *f, .change = change};
    w.slot = must_calloc(registers + 1, sizeof *w.slot);
    w.reg = must_calloc(registers + 1, sizeof *w.reg);
    w.key = must_calloc(registers + 1, sizeof *w.key);
    for (size_t i = 0; i < registers; ++i) {
        w.slot[i] = -1;
    }
    find_tracked(&w, q->asked);
    w.blocks = must_calloc(f->block_count + 1, sizeof *w.blocks);
    w.now = must_calloc(w.slot_count + 1, sizeof *w.now);
    w.other = must_calloc(w.slot_count + 1, sizeof *w.other);
    w.list = must_calloc(f->block_count + 1, sizeof *w.list);
    w.listed = must_calloc(f->block_count + 1, sizeof *w.listed);
    for (uint64_t n = 0; good && n < size[0] * size[1] * size[2]; ++n) {
        const uint64_t at[] = {n % size[0], n / size[0] % size[1], n / size[0] / size[1]};
        for (int i = 0; i < 3; ++i) {
            w.flow.thread[i] = value_one(32, at[i]);
        }
        int known = 0;
        while (known == 0) {
            known = walk_thread(&w);
        }
        good = known == 1 && (q->visit == NULL || ask(&w, q));
    }
    forget(&w);
    free(w.slot), free(w.reg), free(w.key), free(w.blocks), free(w.now), free(w.other), free(w.list);
    free(w.listed);
    return good;
}

bool flow_every_state(const struct mutant_flow *f, size_t instruction, bool guarded, flow_visit *visit, void *context) {
    const struct question q = {instruction, guarded, visit, context};
    return every_thread(f, &q, NULL);
}

bool flow_same_in_every_thread(const struct mutant_flow *f, const struct flow_change *change) {
    const struct question q = {.asked = NOWHERE};
    return every_thread(f, &q, change);
}

/* ---- what none comes to ---- */

struct marks {
    struct mutant_flow *flow;
    bool *comes, *executes, *taken[2]; /* (instructions); of a branch: it is taken, it is passed */
};

static bool mark(void *context, size_t instruction, const struct value_sources *s) {
    const struct marks *m = context;
    const struct ptx_instruction *in = &m->flow->f->instructions[instruction];
    uint64_t v;
    m->comes[instruction] = true;
    bool may[2] = {true, in->guard >= 0};
    if (in->guard >= 0) {
        const struct ptx_operand p = {.kind = PTX_OP_REGISTER, .reg = in->guard, .second = -1};
        if (value_is_one(s->source(s->context, &p, 1), &v)) {
            may[0] = v != in->guard_negated;
            may[1] = !may[0];
        }
    }
    m->executes[instruction] |= may[0];
    m->taken[0][instruction] |= may[0];
    m->taken[1][instruction] |= may[1];
    return true;
}

void mutant_flow_walk(struct mutant_flow *f) {
    const size_t n = f->f->instruction_count;
    struct marks m = {.flow = f,
                      .comes = must_calloc(n + 1, 1),
                      .executes = must_calloc(n + 1, 1),
                      .taken = {must_calloc(n + 1, 1), must_calloc(n + 1, 1)}};
    if (f->comes == NULL && flow_every_state(f, NOWHERE, false, mark, &m)) {
        for (size_t b = 0; b < f->block_count; ++b) {
            struct block *x = &f->blocks[b];
            const struct ptx_instruction *last = &f->f->instructions[x->last];
            for (int side = 0; side < 2; ++side) {
                if (!m.comes[x->last] ||
                    (last->guard >= 0 && (is(last, "bra") || ends(last)) && !m.taken[side][x->last])) {
                    x->next[side] = NOWHERE;
                }
            }
        }
        f->comes = m.comes;
        f->executes = m.executes;
        flow_learn(f);
    } else {
        free(m.comes), free(m.executes);
    }
    free(m.taken[0]), free(m.taken[1]);
}
