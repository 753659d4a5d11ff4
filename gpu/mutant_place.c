/* What registers hold at one instruction: their definitions gone back through, with what the branches say that lead to
 * it.
 */
#include "mutant_flow_parts.h"
#include <string.h>

enum { DEPTH = 7 }; /* definitions that are gone back through */

static bool is(const struct ptx_instruction *in, const char *opcode) {
    return strcmp(in->opcode, opcode) == 0;
}

struct look {
    const struct flow_place *p;
    int depth;
    size_t at; /* the instruction that reads */
};

static struct value_set look_register(const struct flow_place *p, int reg, int depth, size_t at);

static struct value_set look_source(void *context, const struct ptx_operand *o, unsigned bits) {
    const struct look *l = context;
    if (o->kind != PTX_OP_REGISTER || o->minus || o->part != NULL) {
        return flow_constant(l->p->flow, o, bits);
    }
    const struct value_set v = look_register(l->p, o->reg, l->depth, l->at);
    return o->negated && bits == 1 ? flow_negate(v) : flow_read_as(v, bits);
}

/* Other lanes, memory and loops are not where the facts hold. */
static bool is_local(const struct ptx_instruction *in) {
    return !is(in, "shfl") && !is(in, "ld") && !is(in, "mma") && !is(in, "ldmatrix") && !is(in, "vote") &&
           !is(in, "atom") && !is(in, "call") && !is(in, "redux") && !is(in, "match");
}

/* Of a register that is written in several places the last write ahead of `at` in its block; NOWHERE. */
static size_t last_write(const struct mutant_flow *f, int reg, size_t at) {
    const size_t first = f->blocks[f->block_of[at]].first;
    for (size_t i = at; i-- > first;) {
        const struct ptx_instruction *in = &f->f->instructions[i];
        const struct ptx_operand *o = in->operand_count > 0 && !flow_writes_nothing(in) ? &in->operands[0] : NULL;
        if (o == NULL) {
            continue;
        }
        bool other = o->second == reg;
        for (size_t e = 0; e < o->element_count; ++e) {
            other |= o->elements[e].kind == PTX_OP_REGISTER && o->elements[e].reg == reg;
        }
        if (other || (o->kind == PTX_OP_REGISTER && o->reg == reg)) {
            return other || in->guard >= 0 ? NOWHERE : i;
        }
    }
    return NOWHERE;
}

static struct value_set look_register(const struct flow_place *p, int reg, int depth, size_t at) {
    const struct mutant_flow *f = p->flow;
    const struct definition *d = &f->definition[reg];
    struct value_set v = f->values[reg];
    if (p->supposed && p->supposed_reg == reg) {
        return p->supposed_value;
    }
    for (size_t i = 0; i < p->fact_count; ++i) {
        if (p->facts[i].reg == reg) {
            v = value_meet(v, p->facts[i].v);
        }
    }
    const bool single = d->count == 1 && !d->wild;
    const size_t from = single                                  ? d->instruction
                        : depth > 0 && d->count > 1 && !d->wild ? last_write(f, reg, at)
                                                                : NOWHERE;
    if (depth > 0 && from != NOWHERE && is_local(&f->f->instructions[from])) {
        struct look l = {p, depth - 1, from};
        const struct value_sources s = {look_source, &l};
        const struct value_set w =
            flow_gives(f, &f->f->instructions[from], flow_bits(f, reg), single ? d->element : 0, &s);
        v = value_meet(v, w);
    }
    return v;
}

struct value_set flow_register(const struct flow_place *p, int reg) {
    return look_register(p, reg, DEPTH, p->instruction);
}

static struct value_set place_source(void *context, const struct ptx_operand *o, unsigned bits) {
    struct look l = {context, DEPTH, ((const struct flow_place *)context)->instruction};
    return look_source(&l, o, bits);
}

struct value_sources flow_sources(struct flow_place *p) {
    return (struct value_sources){place_source, p};
}

static void add_fact(struct flow_place *p, const struct ptx_operand *o, struct value_set v) {
    if (o->kind == PTX_OP_REGISTER && !o->minus && o->part == NULL && p->fact_count < FLOW_FACTS &&
        p->flow->definition[o->reg].count == 1 && flow_bits(p->flow, o->reg) == v.bits) {
        p->facts[p->fact_count].reg = o->reg;
        p->facts[p->fact_count++].v = v;
    }
}

/* and r, x, mask is known: so are x's bits of the mask. */
static void masked_fact(struct flow_place *p, const struct ptx_operand *o, struct value_set v) {
    const struct mutant_flow *f = p->flow;
    if (o->kind != PTX_OP_REGISTER || f->definition[o->reg].count != 1) {
        return;
    }
    const struct ptx_instruction *in = &f->f->instructions[f->definition[o->reg].instruction];
    if (is(in, "and") && in->operand_count == 3 && in->operands[2].kind == PTX_OP_INTEGER && v.bits > 1) {
        struct value_set x = value_any(v.bits);
        const uint64_t mask = in->operands[2].bits;
        x.zero |= v.zero & mask;
        x.one |= v.one & mask & ~value_any(v.bits).zero;
        if (in->guard < 0) {
            add_fact(p, &in->operands[1], value_meet(value_any(v.bits), x));
        }
    }
}

/* a < b, or a <= b where `or_same`, both read as signed. */
static void less(struct flow_place *p, const struct ptx_operand *a, const struct ptx_operand *b, bool or_same,
                 unsigned bits, bool is_signed, size_t at) {
    struct look l = {p, 2, at};
    const struct value_set x = look_source(&l, a, bits), y = look_source(&l, b, bits);
    const int64_t apart = or_same ? 0 : 1;
    if (!is_signed && (y.low < 0 || x.low < 0)) {
        if (y.low >= 0) { /* x is below it, so it has no sign either */
            add_fact(p, a, value_within(bits, 0, y.high));
        }
        return;
    }
    if (y.high > INT64_MIN + 1 && y.high - apart >= x.low) {
        add_fact(p, a, value_within(bits, x.low, y.high - apart < x.high ? y.high - apart : x.high));
    }
    if (x.low < INT64_MAX && x.low + apart <= y.high) {
        add_fact(p, b, value_within(bits, x.low + apart > y.low ? x.low + apart : y.low, y.high));
    }
}

static void compare_fact(struct flow_place *p, const struct ptx_instruction *in, bool holds) {
    const enum ptx_type t = in->part_count == 2 ? ptx_type_named(in->parts[1]) : PTX_NO_TYPE;
    if (in->operand_count != 3 || t < PTX_B16 || t > PTX_S64 || t == PTX_B128 || in->operands[0].second >= 0) {
        return;
    }
    const unsigned bits = 8 * (unsigned)ptx_type_bytes(t);
    const bool is_signed = t == PTX_S16 || t == PTX_S32 || t == PTX_S64;
    const struct ptx_operand *a = &in->operands[1], *b = &in->operands[2];
    const char *c = in->parts[0];
    if (bits < 16) {
        return;
    }
    const size_t at = (size_t)(in - p->flow->f->instructions);
    struct look l = {p, 2, at};
    if ((strcmp(c, "eq") == 0 && holds) || (strcmp(c, "ne") == 0 && !holds)) {
        const struct value_set x = look_source(&l, a, bits), y = look_source(&l, b, bits);
        add_fact(p, a, y);
        add_fact(p, b, x);
        masked_fact(p, a, y);
        masked_fact(p, b, x);
    } else if (strcmp(c, "lt") == 0 || strcmp(c, "lo") == 0) {
        less(p, holds ? a : b, holds ? b : a, !holds, bits, is_signed, at);
    } else if (strcmp(c, "le") == 0 || strcmp(c, "ls") == 0) {
        less(p, holds ? a : b, holds ? b : a, holds, bits, is_signed, at);
    } else if (strcmp(c, "gt") == 0 || strcmp(c, "hi") == 0) {
        less(p, holds ? b : a, holds ? a : b, !holds, bits, is_signed, at);
    } else if (strcmp(c, "ge") == 0 || strcmp(c, "hs") == 0) {
        less(p, holds ? b : a, holds ? a : b, holds, bits, is_signed, at);
    }
}

static void predicate_fact(struct flow_place *p, int reg, bool holds, int depth) {
    const struct mutant_flow *f = p->flow;
    const struct definition *d = &f->definition[reg];
    if (p->fact_count < FLOW_FACTS && d->count == 1) { /* written once: it still holds what the branch saw */
        p->facts[p->fact_count].reg = reg;
        p->facts[p->fact_count++].v = value_one(1, holds);
    }
    if (d->count != 1 || d->wild || depth == 0) {
        return;
    }
    const struct ptx_instruction *in = &f->f->instructions[d->instruction];
    if (in->guard >= 0) {
        return;
    }
    if (is(in, "setp")) {
        compare_fact(p, in, holds);
    } else if ((is(in, "or") && !holds) || (is(in, "and") && holds) || is(in, "not") || is(in, "mov")) {
        for (size_t i = 1; i < in->operand_count; ++i) {
            const struct ptx_operand *o = &in->operands[i];
            if (o->kind == PTX_OP_REGISTER) {
                predicate_fact(p, o->reg, holds ^ o->negated ^ is(in, "not"), depth - 1);
            }
        }
    }
}

/* In every thread that goes on the guard of instruction i has let it, or has not. */
static void guard_fact(struct flow_place *p, size_t i, bool let) {
    const struct ptx_instruction *in = &p->flow->f->instructions[i];
    if (in->guard < 0) {
        return;
    }
    const bool holds = let ^ in->guard_negated;
    uint64_t v;
    const struct value_set before = look_register(p, in->guard, DEPTH, i);
    if (value_is_one(before, &v) && v != holds && !p->dead) {
        p->dead = true;
        p->why = in->ptx_line;
    }
    predicate_fact(p, in->guard, holds, 4);
}

static bool dominates(const struct mutant_flow *f, size_t a, size_t b) {
    while (b != a && b != 0) {
        b = f->blocks[b].dominator;
    }
    return b == a;
}

size_t flow_uses(const struct mutant_flow *f, int reg, size_t *out, size_t room) {
    size_t n = 0;
    for (size_t i = 0; i < f->f->instruction_count; ++i) {
        const struct ptx_instruction *in = &f->f->instructions[i];
        bool uses = in->guard == reg;
        if (f->comes != NULL && !f->comes[i]) {
            continue;
        }
        for (size_t o = flow_writes_nothing(in) ? 0 : 1; o < in->operand_count; ++o) {
            const struct ptx_operand *x = &in->operands[o];
            uses |= (x->kind == PTX_OP_REGISTER || x->kind == PTX_OP_ADDRESS) && x->reg == reg;
            for (size_t e = 0; e < x->element_count; ++e) {
                uses |= x->elements[e].kind == PTX_OP_REGISTER && x->elements[e].reg == reg;
            }
        }
        if (uses && n < room) {
            out[n] = i;
        }
        n += uses;
    }
    return n;
}

bool flow_once(const struct mutant_flow *f, int reg) {
    return f->definition[reg].count == 1 && !f->definition[reg].wild;
}

struct value_set flow_result(struct flow_place *p, const struct ptx_instruction *in, unsigned bits) {
    const struct value_sources s = flow_sources(p);
    return flow_gives(p->flow, in, bits, 0, &s);
}

void flow_suppose(struct flow_place *p, int reg, struct value_set v) {
    p->supposed = true;
    p->supposed_reg = reg;
    p->supposed_value = v;
}

void flow_at(const struct mutant_flow *f, size_t instruction, bool guarded, struct flow_place *p) {
    *p = (struct flow_place){.flow = f, .instruction = instruction};
    const size_t here = f->block_of[instruction];
    if (f->comes != NULL && !(guarded ? f->executes : f->comes)[instruction]) {
        p->dead = true;
        return;
    }
    if (!f->branches_known || f->blocks[here].dominator == NOWHERE) {
        if (f->branches_known) { /* no branch leads to it */
            p->dead = true;
            p->why = f->f->instructions[instruction].ptx_line;
        }
        return;
    }
    size_t chain[256] = {0}, n = 0;
    for (size_t b = here; b != 0 && n < 256; b = f->blocks[b].dominator) {
        chain[n++] = f->blocks[b].dominator;
    }
    while (n-- > 0) { /* from the function's beginning on */
        const struct block *x = &f->blocks[chain[n]];
        for (int side = 0; side < 2; ++side) {
            const size_t to = x->next[side], other = x->next[!side];
            if (f->f->instructions[x->last].guard >= 0 && to != NOWHERE && to != other && f->blocks[to].before == 1 &&
                dominates(f, to, here)) {
                guard_fact(p, x->last, side == 0);
            }
        }
    }
    if (guarded) {
        guard_fact(p, instruction, true);
    }
}

bool flow_computes(const struct ptx_instruction *in) {
    static const char *const opcodes[] = {"mov", "add", "sub", "mul", "mad",  "fma", "shl",  "shr",
                                          "and", "or",  "xor", "not", "min",  "max", "setp", "selp",
                                          "cvt", "neg", "abs", "bfi", "prmt", NULL};
    for (size_t i = 0; opcodes[i] != NULL; ++i) {
        if (is(in, opcodes[i])) {
            return in->operand_count > 1 && in->operands[0].kind == PTX_OP_REGISTER && in->operands[0].second < 0;
        }
    }
    return false;
}

bool flow_unread(const struct mutant_flow *f, int reg, int depth) {
    enum { USES = 16 };
    size_t uses[USES];
    const size_t n = flow_uses(f, reg, uses, USES);
    bool unread = n <= USES && flow_once(f, reg);
    for (size_t i = 0; unread && i < n; ++i) {
        const struct ptx_instruction *in = &f->f->instructions[uses[i]];
        struct flow_place at;
        flow_at(f, uses[i], false, &at);
        unread = at.dead ||
                 (depth > 0 && flow_computes(in) && in->guard != reg && flow_unread(f, in->operands[0].reg, depth - 1));
    }
    return unread;
}
