/* Which registers are the same in several lanes of a warp. For each one the masks m, a bit each, with r(lane) =
 * r(lane xor m) in every lane: they are closed under xor. What is computed of like things is like; a value and what
 * shfl.bfly brings of it, put together by an operation that commutes, is the same under the mask of the shuffle as
 * well: after the masks 16, 8, 4, 2, 1 it is the same everywhere. */
#include "../ref/checked.h"
#include "mutant_flow_parts.h"
#include <stdlib.h>
#include <string.h>

#define EVERYWHERE UINT32_MAX
#define NOT_AT_ALL UINT32_C(1) /* under the mask 0 alone */

struct mutant_lanes {
    uint32_t *same;  /* (registers) */
    bool *apart;     /* (blocks) some lanes of a warp may come to it and others not */
    size_t *after;   /* (blocks) where all paths from it come together, NOWHERE: at the end */
    bool full_warps; /* lane = low five bits of %tid.x, and no warp has fewer than 32 lanes */
};

static bool is(const struct ptx_instruction *in, const char *opcode) {
    return strcmp(in->opcode, opcode) == 0;
}

static bool has_part(const struct ptx_instruction *in, const char *part) {
    for (size_t i = 0; i < in->part_count; ++i) {
        if (strcmp(in->parts[i], part) == 0) {
            return true;
        }
    }
    return false;
}

/* All sums of masks of the set and m. */
static uint32_t span(uint32_t set, uint32_t m) {
    for (uint32_t k = 0; k < 32; ++k) {
        set |= (set >> k & 1) << (k ^ m);
    }
    return set;
}

/* ---- where paths come together ---- */

static size_t common(const size_t *after, const size_t *number, size_t a, size_t b) {
    while (a != b) {
        if (a == NOWHERE || b == NOWHERE) {
            return NOWHERE;
        }
        if (number[a] < number[b]) {
            b = after[b];
        } else {
            a = after[a];
        }
    }
    return a;
}

/* Post-dominators: as the dominators of the graph turned round, whose first block is the end. number: less is nearer
 * to the end. */
static void find_after(const struct mutant_flow *f, struct mutant_lanes *l) {
    const size_t n = f->block_count;
    size_t *number = must_calloc(n + 1, sizeof *number), *order = must_calloc(n + 1, sizeof *order), count = 0;
    bool *known = must_calloc(n + 1, 1);
    for (bool changed = true; changed;) { /* breadth first from the end; what never ends is not numbered */
        changed = false;
        for (size_t b = n; b-- > 0;) {
            const size_t *to = f->blocks[b].next;
            const bool leads = (to[0] != NOWHERE && known[to[0]]) || (to[1] != NOWHERE && known[to[1]]);
            if (!known[b] && (f->blocks[b].leaves || leads)) {
                known[b] = changed = true;
                number[b] = count;
                order[count++] = b;
            }
        }
    }
    bool *set = must_calloc(n + 1, 1);
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < count; ++i) {
            const size_t b = order[i], *to = f->blocks[b].next;
            const bool leaves = f->blocks[b].leaves;
            size_t at = NOWHERE;
            bool first = true;
            for (int s = 0; s < 2 && !leaves; ++s) {
                if (to[s] != NOWHERE && set[to[s]]) {
                    at = first ? to[s] : common(l->after, number, at, to[s]);
                    first = false;
                }
            }
            if (first && !leaves) {
                continue;
            }
            changed |= !set[b] || l->after[b] != at;
            set[b] = true;
            l->after[b] = at;
        }
    }
    free(number), free(order), free(known), free(set);
}

/* Blocks between a branch that lanes take differently and where its paths come together. */
static bool part(const struct mutant_flow *f, struct mutant_lanes *l, size_t branch) {
    size_t *stack = must_calloc(2 * f->block_count + 2, sizeof *stack), depth = 0;
    bool *seen = must_calloc(f->block_count + 1, 1), changed = false;
    for (int s = 0; s < 2; ++s) {
        if (f->blocks[branch].next[s] != NOWHERE) {
            stack[depth++] = f->blocks[branch].next[s];
        }
    }
    while (depth > 0) {
        const size_t b = stack[--depth];
        if (b == l->after[branch] || seen[b]) {
            continue;
        }
        seen[b] = true;
        changed |= !l->apart[b];
        l->apart[b] = true;
        for (int s = 0; s < 2; ++s) {
            if (f->blocks[b].next[s] != NOWHERE && !seen[f->blocks[b].next[s]]) {
                stack[depth++] = f->blocks[b].next[s];
            }
        }
        if (depth > f->block_count) {
            break;
        }
    }
    if (depth > 0) { /* more than it has room for: everything */
        for (size_t b = 0; b < f->block_count; ++b) {
            changed |= !l->apart[b];
            l->apart[b] = true;
        }
    }
    free(stack), free(seen);
    return changed;
}

/* ---- instructions ---- */

static bool once(const struct mutant_flow *f, int reg) {
    return f->definition[reg].count == 1 && !f->definition[reg].wild;
}

/* The register that this one is a copy of. */
static int original(const struct mutant_flow *f, int reg) {
    for (int i = 0; i < 8 && once(f, reg); ++i) {
        const struct ptx_instruction *in = &f->f->instructions[f->definition[reg].instruction];
        const struct ptx_operand *o = in->operand_count == 2 ? &in->operands[1] : NULL;
        if (!is(in, "mov") || in->guard >= 0 || o->kind != PTX_OP_REGISTER || o->minus || o->negated ||
            o->part != NULL || flow_bits(f, o->reg) != flow_bits(f, reg)) {
            break;
        }
        reg = o->reg;
    }
    return reg;
}

/* Both in one block, and nothing between them writes the register. */
static bool keeps(const struct mutant_flow *f, int reg, size_t from, size_t to) {
    bool same = f->block_of[from] == f->block_of[to];
    for (size_t i = from + 1; same && i < to; ++i) {
        const struct ptx_instruction *in = &f->f->instructions[i];
        const struct ptx_operand *o = in->operand_count > 0 && !flow_writes_nothing(in) ? &in->operands[0] : NULL;
        same = o == NULL || ((o->kind != PTX_OP_REGISTER || o->reg != reg) && o->second != reg);
        for (size_t e = 0; o != NULL && e < o->element_count; ++e) {
            same &= o->elements[e].kind != PTX_OP_REGISTER || o->elements[e].reg != reg;
        }
    }
    return same;
}

/* a = shfl.bfly of b with one mask, by all lanes, both as instruction `at` reads them. */
static bool shuffled(const struct mutant_flow *f, int a, int b, size_t at, uint32_t *mask) {
    a = original(f, a);
    if (!once(f, a)) {
        return false;
    }
    const size_t shuffle = f->definition[a].instruction;
    const struct ptx_instruction *in = &f->f->instructions[shuffle];
    if (!is(in, "shfl") || !has_part(in, "bfly") || in->guard >= 0 || in->operand_count != 5 ||
        in->operands[1].kind != PTX_OP_REGISTER || original(f, in->operands[1].reg) != original(f, b)) {
        return false;
    }
    const int source = in->operands[1].reg, value = original(f, b);
    if (!once(f, value)) { /* read where it is, but for one copy ahead of the shuffle */
        const bool copied = source != value;
        const size_t from = copied ? f->definition[source].instruction : shuffle;
        if (b != value || at <= from || (copied && f->f->instructions[from].operands[1].reg != value) ||
            !keeps(f, value, from, at)) {
            return false;
        }
    }
    uint64_t v[3];
    for (int i = 0; i < 3; ++i) {
        const struct ptx_operand *o = &in->operands[2 + i];
        if (o->kind == PTX_OP_INTEGER) {
            v[i] = o->bits & UINT32_MAX;
        } else if (o->kind != PTX_OP_REGISTER || !value_is_one(f->values[o->reg], &v[i])) {
            return false;
        }
    }
    *mask = (uint32_t)v[0] & 31;
    return v[0] < 32 && v[1] == 31 && v[2] == UINT32_MAX;
}

static bool commutes(const struct ptx_instruction *in) {
    static const char *const opcodes[] = {"add", "max", "min", "and", "or", "xor", "mul", NULL};
    for (size_t i = 0; opcodes[i] != NULL; ++i) {
        if (is(in, opcodes[i])) {
            return in->operand_count == 3;
        }
    }
    return false;
}

/* What is computed of its operands alone, the same everywhere for the same operands. */
static bool pure(const struct ptx_instruction *in) {
    static const char *const opcodes[] = {"mov", "add", "sub",  "mul", "mad", "fma",  "shl",  "shr",
                                          "and", "or",  "xor",  "not", "min", "max",  "setp", "selp",
                                          "cvt", "neg", "abs",  "bfe", "bfi", "prmt", "lop3", "dp4a",
                                          "rcp", "div", "cvta", "ld",  "shf", "slct", "sqrt", NULL};
    for (size_t i = 0; opcodes[i] != NULL; ++i) {
        if (is(in, opcodes[i])) {
            return !is(in, "ld") || has_part(in, "param") || has_part(in, "nc");
        }
    }
    return false;
}

static uint32_t operand_same(const struct mutant_flow *f, const uint32_t *same, const struct ptx_operand *o) {
    uint32_t s = EVERYWHERE;
    if ((o->kind == PTX_OP_REGISTER || o->kind == PTX_OP_ADDRESS) && o->reg >= 0) {
        s &= same[o->reg];
    }
    if (o->kind == PTX_OP_SPECIAL) {
        const bool thread = strncmp(o->name, "%tid", 4) == 0, launch = strncmp(o->name, "%ctaid", 6) == 0 ||
                                                                       strncmp(o->name, "%ntid", 5) == 0 ||
                                                                       strncmp(o->name, "%nctaid", 7) == 0;
        s = thread || !launch ? NOT_AT_ALL : s;
    }
    for (size_t i = 0; i < o->element_count; ++i) {
        s &= operand_same(f, same, &o->elements[i]);
    }
    return s;
}

/* The register is %tid.x. */
static bool is_thread(const struct mutant_flow *f, const struct ptx_operand *o) {
    if (o->kind != PTX_OP_REGISTER || !once(f, o->reg)) {
        return false;
    }
    const struct ptx_instruction *in = &f->f->instructions[f->definition[o->reg].instruction];
    return is(in, "mov") && in->guard < 0 && in->operands[1].kind == PTX_OP_SPECIAL &&
           strcmp(in->operands[1].name, "%tid.x") == 0;
}

static uint32_t result_same(const struct mutant_flow *f, bool full_warps, const uint32_t *same,
                            const struct ptx_instruction *in) {
    uint32_t s = EVERYWHERE, mask;
    const size_t at = (size_t)(in - f->f->instructions);
    if (in->guard >= 0) {
        s &= same[in->guard];
    }
    if (is(in, "shfl") && has_part(in, "bfly") && in->operand_count == 5) {
        uint32_t rest = EVERYWHERE;
        for (size_t i = 2; i < 5; ++i) {
            rest &= operand_same(f, same, &in->operands[i]);
        }
        return rest == EVERYWHERE ? s & operand_same(f, same, &in->operands[1]) : NOT_AT_ALL;
    }
    if (!pure(in)) {
        return NOT_AT_ALL;
    }
    if ((is(in, "shr") || is(in, "and")) && full_warps && in->operand_count == 3 && is_thread(f, &in->operands[1]) &&
        in->operands[2].kind == PTX_OP_INTEGER) { /* of the lane's five bits it keeps some */
        const uint64_t c = in->operands[2].bits;
        const uint32_t kept = is(in, "and") ? (uint32_t)c & 31 : c > 4 ? 0 : 31u << c & 31;
        uint32_t of = 0;
        for (uint32_t m = 0; m < 32; ++m) {
            of |= (uint32_t)((m & kept) == 0) << m;
        }
        return s & of;
    }
    for (size_t i = 1; i < in->operand_count; ++i) {
        s &= operand_same(f, same, &in->operands[i]);
    }
    if (commutes(in) && in->guard < 0 && in->operands[1].kind == PTX_OP_REGISTER &&
        in->operands[2].kind == PTX_OP_REGISTER &&
        (shuffled(f, in->operands[1].reg, in->operands[2].reg, at, &mask) ||
         shuffled(f, in->operands[2].reg, in->operands[1].reg, at, &mask))) {
        s = span(s, mask);
    }
    return s;
}

static bool lower(uint32_t *same, const struct ptx_operand *o, uint32_t s) {
    bool changed = false;
    const int regs[] = {o->kind == PTX_OP_REGISTER ? o->reg : -1, o->second};
    for (int i = 0; i < 2; ++i) {
        if (regs[i] >= 0 && (same[regs[i]] & ~s) != 0) {
            same[regs[i]] &= s;
            changed = true;
        }
    }
    for (size_t i = 0; i < o->element_count; ++i) {
        changed |= lower(same, &o->elements[i], s);
    }
    return changed;
}

static bool stores_only(const struct ptx_instruction *in) {
    return is(in, "st") || is(in, "red") || is(in, "bra") || is(in, "ret") || is(in, "exit") || is(in, "bar") ||
           is(in, "cp");
}

struct mutant_lanes *lanes_make(const struct mutant_flow *f) {
    struct mutant_lanes *l = must_calloc(1, sizeof *l);
    const size_t registers = f->f->register_count;
    uint64_t x, y, z;
    l->same = must_calloc(registers + 1, sizeof *l->same);
    l->apart = must_calloc(f->block_count + 1, sizeof *l->apart);
    l->after = must_calloc(f->block_count + 1, sizeof *l->after);
    l->full_warps =
        value_is_one(f->size[0], &x) && value_is_one(f->size[1], &y) && value_is_one(f->size[2], &z) && x % 32 == 0;
    for (size_t i = 0; i < registers; ++i) {
        l->same[i] = f->definition[i].count > 0 && f->branches_known ? EVERYWHERE : NOT_AT_ALL;
    }
    for (size_t b = 0; b < f->block_count; ++b) {
        l->after[b] = NOWHERE;
        l->apart[b] = !f->branches_known || !l->full_warps;
    }
    if (f->block_count == 0) {
        return l;
    }
    find_after(f, l);
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < f->f->instruction_count; ++i) {
            const struct ptx_instruction *in = &f->f->instructions[i];
            if (in->operand_count > 0 && !stores_only(in)) {
                const bool apart = l->apart[f->block_of[i]];
                changed |=
                    lower(l->same, &in->operands[0], apart ? NOT_AT_ALL : result_same(f, l->full_warps, l->same, in));
            }
        }
        for (size_t b = 0; b < f->block_count; ++b) {
            const struct ptx_instruction *in = &f->f->instructions[f->blocks[b].last];
            if (in->guard >= 0 && (is(in, "bra") || is(in, "ret") || is(in, "exit")) &&
                l->same[in->guard] != EVERYWHERE) {
                changed |= part(f, l, b);
            }
        }
    }
    return l;
}

void lanes_free(struct mutant_lanes *l) {
    if (l != NULL) {
        free(l->same);
        free(l->apart);
        free(l->after);
        free(l);
    }
}

/* ---- questions ---- */

bool flow_guarded_lanes(const struct mutant_flow *f, size_t instruction, uint32_t *lanes) {
    const struct ptx_instruction *in = &f->f->instructions[instruction];
    struct ptx_operand thread = {.kind = PTX_OP_REGISTER, .reg = -1, .second = -1, .variable = -1, .function = -1};
    for (size_t i = 0; i < f->f->register_count && thread.reg < 0; ++i) {
        struct ptx_operand o = thread;
        o.reg = (int)i;
        thread.reg = is_thread(f, &o) ? (int)i : -1;
    }
    *lanes = 0;
    if (in->guard < 0 || thread.reg < 0 || !f->lanes->full_warps) {
        return false;
    }
    for (uint32_t lane = 0; lane < 32; ++lane) {
        struct flow_place p;
        uint64_t v;
        flow_at(f, instruction, false, &p);
        struct value_set t = f->thread[0];
        t.zero |= 31 & ~lane;
        t.one |= lane;
        flow_suppose(&p, thread.reg, t);
        if (!value_is_one(flow_register(&p, in->guard), &v)) {
            return false;
        }
        *lanes |= (uint32_t)(v ^ in->guard_negated) << lane;
    }
    return true;
}

bool flow_leads_around_same_stores(const struct mutant_flow *f, size_t branch) {
    const struct mutant_lanes *l = f->lanes;
    const struct ptx_instruction *in = &f->f->instructions[branch];
    const size_t b = f->block_of[branch], inside = f->blocks[b].next[1], past = f->blocks[b].next[0];
    if (!is(in, "bra") || in->guard < 0 || l->apart[b] || inside == NOWHERE || past == NOWHERE || inside == past ||
        f->blocks[inside].before != 1) {
        return false;
    }
    const struct block *x = &f->blocks[inside];
    if (!((x->next[0] == past && x->next[1] == NOWHERE) || (x->next[1] == past && x->next[0] == NOWHERE))) {
        return false;
    }
    uint32_t *same = must_calloc(f->f->register_count + 1, sizeof *same);
    memcpy(same, l->same, f->f->register_count * sizeof *same);
    bool good = true;
    for (size_t i = x->first; good && i <= x->last; ++i) {
        const struct ptx_instruction *k = &f->f->instructions[i];
        if (is(k, "bra")) {
            continue;
        }
        good = k->guard < 0 && k->operand_count >= 2;
        if (good && is(k, "st")) {
            good = has_part(k, "global") && operand_same(f, same, &k->operands[0]) == EVERYWHERE &&
                   operand_same(f, same, &k->operands[1]) == EVERYWHERE;
            continue;
        }
        const struct ptx_operand *d = good ? &k->operands[0] : NULL;
        good = good && pure(k) && !is(k, "shfl") && d->kind == PTX_OP_REGISTER && d->second < 0 && once(f, d->reg);
        if (good) { /* nobody reads it elsewhere */
            size_t uses[16];
            const size_t n = flow_uses(f, d->reg, uses, 16);
            good = n <= 16;
            for (size_t u = 0; good && u < n; ++u) {
                good = f->block_of[uses[u]] == inside;
            }
            same[d->reg] = EVERYWHERE;
            same[d->reg] = result_same(f, l->full_warps, same, k);
        }
    }
    free(same);
    return good;
}

/* ---- a reduction by other masks ---- */

enum { STEPS = 8, NEAR = 16 };

/* x = op(v, shfl.bfly(v, mask)), where op may be done in any order. */
static bool is_step(const struct mutant_flow *f, int x, int *v, uint32_t *mask, const struct ptx_instruction **step) {
    x = original(f, x);
    if (!once(f, x)) {
        return false;
    }
    const struct ptx_instruction *in = &f->f->instructions[f->definition[x].instruction];
    const char *last = in->part_count > 0 ? in->parts[in->part_count - 1] : "";
    const enum ptx_type t = ptx_type_named(last);
    const bool any_order = is(in, "max") || is(in, "min") || is(in, "and") || is(in, "or") || is(in, "xor") ||
                           (is(in, "add") && t >= PTX_B16 && t <= PTX_S64);
    if (!any_order || !commutes(in) || in->guard >= 0 || has_part(in, "sat") || has_part(in, "cc") ||
        in->operands[1].kind != PTX_OP_REGISTER || in->operands[2].kind != PTX_OP_REGISTER ||
        f->lanes->apart[f->block_of[f->definition[x].instruction]]) {
        return false;
    }
    for (int side = 0; side < 2; ++side) {
        const int a = in->operands[1 + side].reg, b = in->operands[2 - side].reg;
        if (shuffled(f, a, b, f->definition[x].instruction, mask)) {
            *v = original(f, b);
            *step = in;
            return true;
        }
    }
    return false;
}

/* Nothing reads the register and its copies but this step and its shuffle. *shuffle: how many of the latter. */
static bool read_by_step(const struct mutant_flow *f, int reg, const struct ptx_instruction *step, int depth) {
    size_t uses[NEAR];
    const size_t n = flow_uses(f, reg, uses, NEAR);
    bool good = n <= NEAR && depth > 0;
    for (size_t i = 0; good && i < n; ++i) {
        const struct ptx_instruction *in = &f->f->instructions[uses[i]];
        if (in == step) {
            continue;
        }
        const bool copies = is(in, "mov") && in->guard < 0 && in->operands[0].kind == PTX_OP_REGISTER &&
                            original(f, in->operands[0].reg) == original(f, reg);
        const bool brings = is(in, "shfl") && in->operands[0].kind == PTX_OP_REGISTER;
        good = (copies || brings) && read_by_step(f, in->operands[0].reg, step, depth - 1);
    }
    return good;
}

static bool same_step(const struct ptx_instruction *a, const struct ptx_instruction *b) {
    bool same = is(a, b->opcode) && a->part_count == b->part_count;
    for (size_t i = 0; same && i < a->part_count; ++i) {
        same = strcmp(a->parts[i], b->parts[i]) == 0;
    }
    return same;
}

/* The step that takes x further. */
static int next_step(const struct mutant_flow *f, int x, const struct ptx_instruction *like) {
    for (size_t i = 0; i < f->f->instruction_count; ++i) {
        const struct ptx_instruction *in = &f->f->instructions[i], *step;
        uint32_t mask;
        int v;
        if (commutes(in) && in->operands[0].kind == PTX_OP_REGISTER && same_step(in, like) &&
            is_step(f, in->operands[0].reg, &v, &mask, &step) && step == in && v == original(f, x)) {
            return in->operands[0].reg;
        }
    }
    return -1;
}

/* The set of all sums of the masks where none is a sum of others, else 0. */
static uint32_t independent(const uint32_t *masks, size_t n) {
    uint32_t set = 1;
    for (size_t i = 0; i < n; ++i) {
        if (masks[i] > 31 || (set >> masks[i] & 1) != 0) {
            return 0;
        }
        set = span(set, masks[i]);
    }
    return set;
}

/* All masks of the reduction that x is a step of, from its first step to its last; 0 where something else reads what
 * lies between. */
static size_t reduction(const struct mutant_flow *f, int x, uint32_t masks[STEPS],
                        const struct ptx_instruction *steps[STEPS]) {
    const struct ptx_instruction *step, *before;
    uint32_t mask;
    int v, earlier;
    if (!is_step(f, x, &v, &mask, &step)) {
        return 0;
    }
    while (is_step(f, v, &earlier, &mask, &before) && same_step(before, step)) {
        x = v;
        v = earlier;
    }
    size_t n = 0;
    while (n < STEPS && is_step(f, x, &v, &masks[n], &steps[n])) {
        ++n;
        const int next = next_step(f, x, step);
        const struct ptx_instruction *after = next >= 0 ? &f->f->instructions[f->definition[next].instruction] : NULL;
        if (after == NULL || !read_by_step(f, original(f, x), after, 6)) {
            break; /* x is what comes out, or is looked at */
        }
        x = next;
    }
    return n;
}

bool flow_same_reductions(const struct mutant_flow *before, const struct mutant_flow *after, int mask) {
    size_t uses[NEAR];
    const size_t n = flow_uses(before, mask, uses, NEAR);
    for (size_t i = 0; i < n && n <= NEAR; ++i) {
        const struct ptx_instruction *in = &before->f->instructions[uses[i]], *steps[2][STEPS], *step = NULL;
        uint32_t masks[2][STEPS];
        int x = -1;
        for (size_t k = 0; is(in, "shfl") && has_part(in, "bfly") && k < before->f->instruction_count; ++k) {
            const struct ptx_instruction *o = &before->f->instructions[k];
            for (size_t side = 1; commutes(o) && side < 3; ++side) {
                const struct ptx_operand *r = &o->operands[side];
                if (r->kind == PTX_OP_REGISTER && once(before, original(before, r->reg)) &&
                    before->definition[original(before, r->reg)].instruction == uses[i] &&
                    o->operands[0].kind == PTX_OP_REGISTER) {
                    x = step == NULL ? o->operands[0].reg : -1;
                    step = o;
                }
            }
        }
        const bool mask_alone = in->operand_count == 5 && in->operands[2].kind == PTX_OP_REGISTER &&
                                in->operands[2].reg == mask &&
                                !(in->operands[1].kind == PTX_OP_REGISTER && in->operands[1].reg == mask);
        const size_t a = x >= 0 && mask_alone ? reduction(before, x, masks[0], steps[0]) : 0,
                     b = a > 0 ? reduction(after, x, masks[1], steps[1]) : 0;
        bool inside = false;
        for (size_t k = 0; k < a; ++k) {
            inside |= steps[0][k] == step;
        }
        size_t shuffle_uses[2];
        const bool alone = inside && in->operands[0].kind == PTX_OP_REGISTER &&
                           read_by_step(before, in->operands[0].reg, step, 4) &&
                           flow_uses(before, in->operands[0].reg, shuffle_uses, 2) == 1;
        if (a == 0 || a != b || !alone || independent(masks[0], a) == 0 ||
            independent(masks[0], a) != independent(masks[1], b)) {
            return false;
        }
    }
    return n > 0 && n <= NEAR;
}
