#include "mutant_proof.h"
#include "../ref/checked.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

char *mutant_probe_text(const struct ptx_module *m, const struct mutant *x, size_t *size) {
    const struct ptx_instruction *in = &m->functions[x->function].instructions[x->instruction];
    const int guard = x->by == MUTANT_PREDICATE ? 0 : (int)(in->ptx_at - x->at);
    char *after = must_format("%.*s trap; %.*s", guard, m->text + x->at, (int)x->bytes, m->text + x->at);
    const struct mutant probe = {.at = x->at, .bytes = x->bytes, .after = after};
    char *text = mutant_text(m, &probe, size);
    free(after);
    return text;
}

struct proof {
    const struct mutant_flow *flow;
    const struct mutant *mutant;
    const struct ptx_instruction *before, *after; /* after: NULL where it was dropped */
    const struct ptx_module *changed;
    const struct ptx_function *old, *new;
    struct flow_place place; /* where the instruction is executed */
    struct value_sources sources;
};

static bool is(const struct ptx_instruction *in, const char *opcode) {
    return strcmp(in->opcode, opcode) == 0;
}

static struct value_set operand(const struct proof *p, const struct ptx_instruction *in, size_t i, unsigned bits) {
    return p->sources.source(p->sources.context, &in->operands[i], bits);
}

static enum ptx_type type_of(const struct ptx_instruction *in) {
    return in->part_count > 0 ? ptx_type_named(in->parts[in->part_count - 1]) : PTX_NO_TYPE;
}

static unsigned width(const struct ptx_instruction *in) {
    return 8 * (unsigned)ptx_type_bytes(type_of(in));
}

/* ---- rules: a reason, or NULL ---- */

static char *never_executed(const struct proof *p) {
    if (!p->place.dead || p->mutant->by == MUTANT_PREDICATE) {
        return NULL;
    }
    return p->place.why == 0 ? must_strdup("it is never executed: no thread of a block comes to it, whatever the shape")
                             : must_format("it is never executed: the guard of line %d never lets it", p->place.why);
}

/* A guard that every thread passes may be dropped, one that none comes to be as it likes. */
static char *guard(const struct proof *p) {
    struct flow_place at;
    flow_at(p->flow, p->mutant->instruction, false, &at);
    if (at.dead) {
        return at.why == 0 ? must_strdup("no thread of a block comes to it, whatever the shape")
                           : must_format("no thread comes to it: the guard of line %d never lets one", at.why);
    }
    uint64_t v;
    const bool dropped = p->after != NULL && p->after->guard < 0;
    if (dropped && value_is_one(flow_register(&at, p->before->guard), &v) && v != p->before->guard_negated) {
        return must_strdup("its guard lets every thread that comes to it");
    }
    return NULL;
}

/* Both give one value, whatever the operands. */
static char *same_value(const struct proof *p) {
    const struct ptx_operand *d = &p->before->operands[0];
    if (p->after == NULL || p->new->instruction_count != p->old->instruction_count || p->before->operand_count < 2 ||
        d->kind != PTX_OP_REGISTER || d->second >= 0 || !is(p->before, p->after->opcode)) {
        return NULL;
    }
    uint64_t a, b;
    const unsigned bits = flow_bits(p->flow, d->reg);
    const struct value_set was = value_of(p->before, bits, 0, &p->sources),
                           now = value_of(p->after, bits, 0, &p->sources);
    if (value_is_one(was, &a) && value_is_one(now, &b) && a == b && was.bits == bits && now.bits == bits) {
        return must_format("it gives %" PRId64 " as before, whatever its operands", was.low);
    }
    return NULL;
}

/* Every instruction that reads the result gives one value, the same one for what it was and for what it is. */
static char *same_uses(const struct proof *p) {
    enum { USES = 8 };
    const struct ptx_operand *d = &p->before->operands[0];
    size_t uses[USES];
    if (p->after == NULL || !flow_computes(p->before) || p->before->guard >= 0 || p->after->guard >= 0 ||
        !flow_once(p->flow, d->reg)) {
        return NULL;
    }
    if (flow_unread(p->flow, d->reg, 4)) {
        return must_strdup("nothing that is ever executed reads what it gives");
    }
    if (p->new->instruction_count != p->old->instruction_count || !is(p->before, p->after->opcode)) {
        return NULL;
    }
    const unsigned bits = flow_bits(p->flow, d->reg);
    const struct value_set was = value_of(p->before, bits, 0, &p->sources),
                           now = value_of(p->after, bits, 0, &p->sources);
    const size_t n = flow_uses(p->flow, d->reg, uses, USES);
    if (n > USES || was.bits != bits || now.bits != bits) {
        return NULL;
    }
    int64_t value = 0;
    for (size_t i = 0; i < n; ++i) {
        const struct ptx_instruction *in = &p->old->instructions[uses[i]];
        const struct ptx_operand *o = &in->operands[0];
        uint64_t a, b;
        if (in->guard == d->reg || !flow_computes(in)) {
            return NULL;
        }
        struct flow_place at;
        flow_at(p->flow, uses[i], false, &at);
        flow_suppose(&at, d->reg, was);
        const struct value_set first = flow_result(&at, in, flow_bits(p->flow, o->reg));
        flow_suppose(&at, d->reg, now);
        const struct value_set second = flow_result(&at, in, flow_bits(p->flow, o->reg));
        if (!value_is_one(first, &a) || !value_is_one(second, &b) || a != b) {
            return NULL;
        }
        value = first.low;
    }
    return must_format("what reads it gives %" PRId64 " as before, whatever it is", value);
}

/* A sum with another constant, which only comparisons of order with multiples of 2^n read: it stays within the same
 * multiple. */
static char *same_multiple(const struct proof *p) {
    enum { USES = 8 };
    const struct ptx_instruction *a = p->before, *b = p->after;
    size_t uses[USES];
    if (b == NULL || !is(a, "add") || !is(b, "add") || p->mutant->by != MUTANT_STRIDE || a->operand_count != 3 ||
        a->operands[0].kind != PTX_OP_REGISTER || a->operands[2].kind != PTX_OP_INTEGER || a->guard >= 0 ||
        width(a) != 32 || !flow_once(p->flow, a->operands[0].reg)) {
        return NULL;
    }
    const int reg = a->operands[0].reg;
    const struct value_set was = value_of(a, 32, 0, &p->sources), now = value_of(b, 32, 0, &p->sources);
    const size_t n = flow_uses(p->flow, reg, uses, USES);
    const int64_t more = (int64_t)(b->operands[2].bits - a->operands[2].bits);
    for (size_t i = 0; i < n && n <= USES; ++i) {
        const struct ptx_instruction *in = &p->old->instructions[uses[i]];
        const bool ordered = is(in, "setp") && in->part_count == 2 && in->operand_count == 3 && in->guard < 0 &&
                             in->operands[0].second < 0 && in->operands[1].kind == PTX_OP_REGISTER &&
                             in->operands[1].reg == reg && strcmp(in->parts[1], "s32") == 0 &&
                             (strcmp(in->parts[0], "lt") == 0 || strcmp(in->parts[0], "ge") == 0);
        if (!ordered || (in->operands[2].kind == PTX_OP_REGISTER && in->operands[2].reg == reg)) {
            return NULL;
        }
        struct flow_place at;
        flow_at(p->flow, uses[i], false, &at);
        const struct value_sources s = flow_sources(&at);
        const uint64_t zeros = s.source(s.context, &in->operands[2], 32).zero;
        const uint64_t low = ~zeros == 0 ? 0 : ((~zeros & -~zeros) - 1) & UINT32_MAX; /* bits below its lowest one */
        if ((low & ~(was.zero | was.one)) != 0 || (low & ~(now.zero | now.one)) != 0 ||
            (int64_t)(now.one & low) - (int64_t)(was.one & low) != more) {
            return NULL;
        }
    }
    return n > 0 && n <= USES ? must_strdup("all that reads it compares it with multiples, which it does not come past")
                              : NULL;
}

/* cp.async.wait_group of fewer groups waits for more copies: each of its runs is one of the program's. */
static char *waits_longer(const struct proof *p) {
    return p->mutant->by == MUTANT_WAIT && p->after != NULL && is(p->after, "cp") && p->after->operand_count == 1 &&
                   p->before->operand_count == 1 && p->after->operands[0].bits < p->before->operands[0].bits
               ? must_strdup("it waits for more copies than before, and for all of those")
               : NULL;
}

/* and, or with another constant: the bits that differ are zero, or one, in the other operand. */
static char *other_mask(const struct proof *p) {
    const struct ptx_instruction *a = p->before, *b = p->after;
    if (b == NULL || !is(a, b->opcode) || (!is(a, "and") && !is(a, "or")) || width(a) < 16 || a->operand_count != 3 ||
        a->operands[2].kind != PTX_OP_INTEGER || b->operands[2].kind != PTX_OP_INTEGER) {
        return NULL;
    }
    const struct value_set x = operand(p, a, 1, width(a));
    const uint64_t differ = (a->operands[2].bits ^ b->operands[2].bits) & ~value_any(width(a)).zero;
    const uint64_t known = is(a, "and") ? x.zero : x.one;
    return (differ & ~known) == 0
               ? must_format("the other operand has no bit of 0x%" PRIx64 " %s", differ, is(a, "and") ? "set" : "clear")
               : NULL;
}

/* bfi of another width: the bits that come from the other operand then are zero in both. */
static char *other_field(const struct proof *p) {
    const struct ptx_instruction *a = p->before, *b = p->after;
    if (b == NULL || !is(a, "bfi") || !is(b, "bfi") || p->mutant->by != MUTANT_STRIDE || a->operand_count != 5 ||
        a->operands[3].kind != PTX_OP_INTEGER || a->operands[4].kind != PTX_OP_INTEGER ||
        a->operands[3].bits != b->operands[3].bits) {
        return NULL;
    }
    const unsigned bits = width(a);
    const uint64_t at = a->operands[3].bits, most = at < bits ? bits - at : 0; /* what is past the end is left out */
    const uint64_t was = a->operands[4].bits < most ? a->operands[4].bits : most,
                   now = b->operands[4].bits < most ? b->operands[4].bits : most;
    if (most == 0 || most >= 64 || a->operands[4].bits > 255 || b->operands[4].bits > 255) {
        return NULL;
    }
    const struct value_set x = operand(p, a, 1, bits), y = operand(p, a, 2, bits);
    const uint64_t differ = ((UINT64_C(1) << was) - 1) ^ ((UINT64_C(1) << now) - 1);
    return (differ & ~x.zero) == 0 && (differ << at & ~y.zero) == 0
               ? must_strdup("the bits that it inserts in place of others are zero, as those are")
               : NULL;
}

/* The comparisons a < b and a <= b differ where a = b alone, a < b and a < b + 1 too, a < b and a < b - 1 where
 * a = b - 1; so it is enough that both sides never are equal there. */
static char *other_comparison(const struct proof *p) {
    const struct ptx_instruction *a = p->before, *b = p->after;
    const enum ptx_type t = type_of(a);
    const bool is_signed = t == PTX_S16 || t == PTX_S32 || t == PTX_S64;
    if (b == NULL || !is(a, "setp") || a->part_count != 2 || a->operand_count != 3 || t < PTX_B16 || t > PTX_S64 ||
        a->operands[0].second >= 0) {
        return NULL;
    }
    const unsigned bits = width(a);
    struct value_set x = operand(p, a, 1, bits), y = operand(p, a, 2, bits), z = y;
    if (is(b, "add") && p->new->instruction_count == p->old->instruction_count + 1) {
        z = value_of(b, bits, 0, &p->sources); /* the bound +- 1 */
        b = b + 1;
    } else if (p->new->instruction_count == p->old->instruction_count && is(b, "setp")) {
        z = operand(p, b, 2, bits);
    } else {
        return NULL;
    }
    const int was = value_compare(a->parts[0], is_signed, x, y);
    const struct value_set x_now = p->mutant->by == MUTANT_ORDER ? operand(p, b, 1, bits) : x;
    if (was >= 0 && was == value_compare(b->parts[0], is_signed, x_now, z)) {
        return must_format("the comparison %s, as before", was ? "always holds" : "never holds");
    }
    const char *c = a->parts[0];
    const bool ordered = strcmp(c, "eq") != 0 && strcmp(c, "ne") != 0;
    if (p->mutant->by == MUTANT_COMPARISON && ordered && value_disjoint(x, y)) {
        return must_strdup("its two sides are never equal");
    }
    if (p->mutant->by != MUTANT_BOUND) {
        return NULL;
    }
    /* the bound must not wrap */
    const bool wraps = y.high == INT64_MAX || y.low == INT64_MIN || (!is_signed && y.low < 1) ||
                       value_within(bits, y.low - 1, y.high + 1).low != y.low - 1;
    const bool grows = z.low > y.low, strict_low = strcmp(c, "lt") == 0 || strcmp(c, "ge") == 0 ||
                                                   strcmp(c, "lo") == 0 || strcmp(c, "hs") == 0;
    if (wraps) {
        return NULL;
    }
    /* x < y, x < y + 1: at x = y. x < y, x < y - 1: at x = y - 1. x <= y, x <= y + 1: at x = y + 1; y - 1: at x = y */
    const bool at_bound = ordered ? grows == strict_low : false;
    if (ordered && value_disjoint(x, at_bound ? y : z)) {
        return must_strdup("no value lies between the two bounds");
    }
    if (!ordered && value_disjoint(x, y) && value_disjoint(x, z)) {
        return must_strdup("it is never equal to either");
    }
    return NULL;
}

/* The branch that alone depends on the mutant: through what is read once. NOWHERE: none. */
static size_t only_branch(const struct proof *p) {
    size_t i = p->mutant->instruction;
    for (int steps = 0; steps < 4; ++steps) {
        const struct ptx_instruction *in = &p->old->instructions[i];
        if (is(in, "bra")) {
            return i;
        }
        const struct ptx_operand *d = in->operand_count > 1 ? &in->operands[0] : NULL;
        if (d == NULL || d->kind != PTX_OP_REGISTER || d->second >= 0 || in->guard >= 0 ||
            !flow_once(p->flow, d->reg) || is(in, "st") || is(in, "ld") || is(in, "shfl") ||
            flow_uses(p->flow, d->reg, &i, 1) != 1) {
            break;
        }
    }
    return SIZE_MAX;
}

/* A store that one lane of a warp does for all: any other lane, or several, store the same. */
static char *other_lanes(const struct proof *p) {
    const size_t branch = only_branch(p);
    uint32_t before, after;
    if (branch == SIZE_MAX || p->after == NULL || p->new->instruction_count != p->old->instruction_count ||
        !flow_leads_around_same_stores(p->flow, branch) || !flow_guarded_lanes(p->flow, branch, &before)) {
        return NULL;
    }
    struct mutant_flow *changed = mutant_flow_make(p->changed, p->mutant->function, mutant_flow_spec(p->flow));
    const bool known = flow_guarded_lanes(changed, branch, &after);
    mutant_flow_free(changed);
    /* the guard lets lanes branch around */
    return known && before != UINT32_MAX && after != UINT32_MAX
               ? must_format("lanes 0x%08x in place of 0x%08x of each warp store the same bytes to the same places",
                             ~after, ~before)
               : NULL;
}

/* A reduction over a warp with other masks. */
static char *other_masks(const struct proof *p) {
    const struct ptx_operand *d = &p->before->operands[0];
    if (p->after == NULL || !is(p->before, "mov") || !is(p->after, "mov") || p->before->operand_count != 2 ||
        d->kind != PTX_OP_REGISTER || p->before->operands[1].kind != PTX_OP_INTEGER || !flow_once(p->flow, d->reg)) {
        return NULL;
    }
    struct mutant_flow *changed = mutant_flow_make(p->changed, p->mutant->function, mutant_flow_spec(p->flow));
    const bool same = flow_same_reductions(p->flow, changed, d->reg);
    mutant_flow_free(changed);
    return same ? must_strdup("each reduction over lanes still takes every value of its group once") : NULL;
}

static char *rounds_nothing(const struct proof *p) {
    if (p->mutant->by != MUTANT_ROUNDING || type_of(p->before) == PTX_F64 || p->before->operand_count < 2) {
        return NULL;
    }
    if (is(p->before, "cvt")) {
        const char *to = p->before->part_count >= 2 ? p->before->parts[p->before->part_count - 2] : "";
        const bool to_f32 = strcmp(to, "f32") == 0;
        if (strcmp(to, "f16") == 0 && type_of(p->before) == PTX_F32) {
            const struct value_set x = operand(p, p->before, 1, 32);
            return x.is_number && x.places <= 11 && x.least >= -24 && x.most <= 15
                       ? must_strdup("the number has at most 11 bits: its conversion is exact")
                       : NULL;
        }
        return to_f32 && value_of(p->before, 32, 0, &p->sources).is_number
                   ? must_strdup("the integer has at most 24 bits: its conversion is exact")
                   : NULL;
    }
    if (is(p->before, "fma") && !is(p->after, "fma")) {
        return p->before->operand_count == 4 && value_exact_product(p->before, &p->sources)
                   ? must_strdup("the product is exact: one rounding either way")
                   : NULL;
    }
    const bool sum = is(p->before, "add") || is(p->before, "sub") || is(p->before, "mul") || is(p->before, "fma");
    return sum && value_exact(p->before, &p->sources) ? must_strdup("the result is exact: no rounding") : NULL;
}

/* Thread after thread: nothing but registers that lead nowhere, and a guard that says the same. */
static char *same_threads(const struct proof *p) {
    struct flow_change c = {.instruction = p->mutant->instruction,
                            .of_guard = p->mutant->by == MUTANT_PREDICATE,
                            .after = p->after,
                            .after_count = p->new->instruction_count - p->old->instruction_count + 1,
                            .extra = -1};
    if (p->after == NULL || c.after_count < 1 || c.after_count > 2 || (!c.of_guard && !flow_computes(p->before))) {
        return NULL;
    }
    for (size_t i = 0; i < c.after_count && !c.of_guard; ++i) {
        if (!flow_computes(&p->after[i])) {
            return NULL;
        }
    }
    if (c.after_count == 2) { /* into a register of its own */
        const struct ptx_operand *own = &p->after[0].operands[0];
        c.extra = own->reg;
        c.extra_bits = 8 * (unsigned)ptx_type_bytes(p->new->registers[own->reg].type);
        if (strcmp(p->new->registers[own->reg].name, "%mutant") != 0) {
            return NULL;
        }
    }
    return flow_same_in_every_thread(p->flow, &c)
               ? must_strdup(
                     "each thread takes the same way with the same operands of all that loads, stores or shares")
               : NULL;
}

static struct proof about(const struct mutant_flow *f, const struct ptx_module *m, const struct ptx_module *changed,
                          const struct mutant *x) {
    struct proof p = {.flow = f,
                      .mutant = x,
                      .changed = changed,
                      .old = &m->functions[x->function],
                      .new = &changed->functions[x->function]};
    p.before = &p.old->instructions[x->instruction];
    p.after = x->after[0] != 0 ? &p.new->instructions[x->instruction] : NULL;
    return p;
}

char *mutant_equivalent_by_threads(const struct mutant_flow *f, const struct ptx_module *m,
                                   const struct ptx_module *changed, const struct mutant *x) {
    const struct proof p = about(f, m, changed, x);
    return same_threads(&p);
}

char *mutant_equivalent(const struct mutant_flow *f, const struct ptx_module *m, const struct ptx_module *changed,
                        const struct mutant *x) {
    struct proof p = about(f, m, changed, x);
    flow_at(f, x->instruction, true, &p.place);
    p.sources = flow_sources(&p.place);
    if (x->by == MUTANT_PREDICATE) {
        char *why = guard(&p);
        return why != NULL ? why : other_lanes(&p);
    }
    typedef char *rule(const struct proof *);
    static rule *const rules[] = {never_executed, same_value,  same_uses,   same_multiple,
                                  waits_longer,   other_mask,  other_field, other_comparison,
                                  rounds_nothing, other_lanes, other_masks};
    char *why = NULL;
    for (size_t i = 0; why == NULL && i < sizeof rules / sizeof *rules; ++i) {
        why = rules[i](&p);
    }
    return why;
}
