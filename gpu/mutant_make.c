/* One function an operator: what mistakes an instruction can have. */
#include "../ref/checked.h"
#include "mutant.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct maker {
    const struct ptx_module *m;
    struct mutant_list *list;
    size_t function, instruction;
    struct mutant_statement s; /* at hand */
    size_t first;              /* mutant of its line */
};

/* ---- text ---- */

static char *text_of(const struct maker *k, struct mutant_span s) {
    return must_format("%.*s", (int)s.bytes, k->m->text + s.at);
}

/* The statement with one part replaced, or two: the second stands behind the first. */
static char *edited(const struct maker *k, struct mutant_span a, const char *a_text, struct mutant_span b,
                    const char *b_text) {
    const char *text = k->m->text;
    const struct mutant_span w = k->s.whole;
    const size_t after_a = a.at + a.bytes, after_b = b.at + b.bytes;
    return must_format("%.*s%s%.*s%s%.*s", (int)(a.at - w.at), text + w.at, a_text, (int)(b.at - after_a),
                       text + after_a, b_text, (int)(w.at + w.bytes - after_b), text + after_b);
}

static char *replaced(const struct maker *k, struct mutant_span a, const char *by) {
    return edited(k, a, by, (struct mutant_span){a.at + a.bytes, 0}, "");
}

static char *swapped(const struct maker *k, struct mutant_span a, struct mutant_span b) {
    char *x = text_of(k, a), *y = text_of(k, b);
    char *after = edited(k, a, y, b, x);
    free(x), free(y);
    return after;
}

/* Takes both texts. */
static void add(struct maker *k, enum mutant_operator by, char *after, char *what) {
    const struct mutant_span w = k->s.whole;
    bool known = strlen(after) == w.bytes && memcmp(after, k->m->text + w.at, w.bytes) == 0;
    unsigned number = 0;
    for (size_t i = k->first; i < k->list->count; ++i) {
        const struct mutant *x = &k->list->items[i];
        known |= x->at == w.at && strcmp(x->after, after) == 0;
        number += x->by == by && x->line == k->s.in->ptx_line;
    }
    if (known) {
        free(after), free(what);
        return;
    }
    k->list->items = must_realloc(k->list->items, k->list->count + 1, sizeof *k->list->items);
    k->list->items[k->list->count++] = (struct mutant){.by = by,
                                                       .line = k->s.in->ptx_line,
                                                       .number = number,
                                                       .function = k->function,
                                                       .instruction = k->instruction,
                                                       .at = w.at,
                                                       .bytes = w.bytes,
                                                       .after = after,
                                                       .what = what};
}

static bool is(const struct maker *k, const char *opcode) {
    return strcmp(k->s.in->opcode, opcode) == 0;
}

static bool is_one_of(const struct maker *k, const char *const *opcodes) {
    for (; *opcodes != NULL; ++opcodes) {
        if (is(k, *opcodes)) {
            return true;
        }
    }
    return false;
}

static bool has_part(const struct maker *k, const char *part) {
    for (size_t i = 0; i < k->s.in->part_count; ++i) {
        if (strcmp(k->s.in->parts[i], part) == 0) {
            return true;
        }
    }
    return false;
}

static enum ptx_type type_of(const struct maker *k) { /* the last one */
    const struct ptx_instruction *in = k->s.in;
    return in->part_count > 0 ? ptx_type_named(in->parts[in->part_count - 1]) : PTX_NO_TYPE;
}

static bool integer(enum ptx_type t) {
    return t >= PTX_B8 && t <= PTX_S64 && t != PTX_B128;
}

/* The place of ".PART" in the opcode, without the dot; empty where it has none. */
static struct mutant_span part_at(const struct maker *k, const char *part) {
    const char *text = k->m->text;
    const size_t n = strlen(part), end = k->s.opcode.at + k->s.opcode.bytes;
    for (size_t i = k->s.opcode.at; i + 1 + n <= end; ++i) {
        if (text[i] == '.' && strncmp(text + i + 1, part, n) == 0 && (i + 1 + n == end || text[i + 1 + n] == '.')) {
            return (struct mutant_span){i + 1, n};
        }
    }
    return (struct mutant_span){end, 0};
}

static const struct ptx_operand *operand(const struct maker *k, size_t i) {
    return i < k->s.in->operand_count ? &k->s.in->operands[i] : NULL;
}

static bool is_register(const struct maker *k, size_t i) {
    const struct ptx_operand *o = operand(k, i);
    return o != NULL && o->kind == PTX_OP_REGISTER && o->part == NULL && !o->minus && !o->negated && o->second < 0;
}

static bool is_integer(const struct maker *k, size_t i) {
    const struct ptx_operand *o = operand(k, i);
    return o != NULL && o->kind == PTX_OP_INTEGER;
}

static enum ptx_type register_type(const struct maker *k, size_t i) {
    return k->s.function->registers[k->s.in->operands[i].reg].type;
}

/* The elements of "{a, b}". */
static size_t elements(const struct maker *k, size_t i, struct mutant_span out[STATEMENT_OPERANDS]) {
    const struct mutant_span v = k->s.operands[i];
    const char *text = k->m->text;
    if (operand(k, i)->kind != PTX_OP_VECTOR) {
        return 0;
    }
    size_t n = 0, at = v.at + 1;
    const size_t end = v.at + v.bytes - 1;
    while (at < end && n < STATEMENT_OPERANDS) {
        at += strspn(text + at, " \t\n");
        size_t bytes = strcspn(text + at, ",}");
        const size_t next = at + bytes + 1;
        while (bytes > 0 && strchr(" \t\n", text[at + bytes - 1]) != NULL) {
            --bytes;
        }
        out[n++] = (struct mutant_span){at, bytes};
        at = next;
    }
    return n;
}

/* ---- operators ---- */

/* The least distance, neither 4 nor 16, to another address of the same base; 64 where there is none. */
static int64_t pitch(const struct maker *k, const struct ptx_operand *a) {
    int64_t least = 64;
    const struct ptx_function *f = k->s.function;
    for (size_t i = 0; i < f->instruction_count; ++i) {
        for (size_t o = 0; o < f->instructions[i].operand_count; ++o) {
            const struct ptx_operand *b = &f->instructions[i].operands[o];
            if (b->kind == PTX_OP_ADDRESS && b->reg == a->reg && b->variable == a->variable) {
                const int64_t apart = llabs(b->displacement - a->displacement);
                least = apart > 0 && apart != 4 && apart != 16 && apart < least ? apart : least;
            }
        }
    }
    return least;
}

static void make_address(struct maker *k) {
    for (size_t i = 0; i < k->s.count; ++i) {
        const struct ptx_operand *a = operand(k, i);
        if (a->kind != PTX_OP_ADDRESS || a->element_count > 0 || has_part(k, "param")) {
            continue;
        }
        const char *base = a->reg >= 0        ? k->s.function->registers[a->reg].name
                           : a->variable >= 0 ? k->m->variables[a->variable].name
                                              : NULL;
        const int64_t deltas[] = {4, -4, 16, -16, pitch(k, a), -pitch(k, a)};
        for (size_t d = 0; base != NULL && d < sizeof deltas / sizeof *deltas; ++d) {
            char *address = must_format("[%s+%" PRId64 "]", base, a->displacement + deltas[d]);
            add(k, MUTANT_ADDRESS, replaced(k, k->s.operands[i], address), must_format("address %+" PRId64, deltas[d]));
            free(address);
        }
    }
}

static void swap_elements(struct maker *k, enum mutant_operator by, size_t i, size_t a, size_t b) {
    struct mutant_span e[STATEMENT_OPERANDS];
    if (i < k->s.count && a < b && b < elements(k, i, e)) {
        add(k, by, swapped(k, e[a], e[b]), must_format("registers %zu and %zu of operand %zu swapped", a, b, i));
    }
}

static void make_order(struct maker *k) {
    static const char *const opcodes[] = {"sub", "selp", "slct", "div", "rem", "prmt", "bfi", "shf", "setp", NULL};
    if (is_one_of(k, opcodes) && k->s.count >= 3 && !has_part(k, "eq") && !has_part(k, "ne")) {
        add(k, MUTANT_ORDER, swapped(k, k->s.operands[1], k->s.operands[2]), must_strdup("operands 1 and 2 swapped"));
    }
    if (is(k, "mma") || is(k, "wmma")) {
        swap_elements(k, MUTANT_ORDER, 1, 0, 1);
        swap_elements(k, MUTANT_ORDER, 1, 1, 2);
        swap_elements(k, MUTANT_ORDER, 2, 0, 1);
        swap_elements(k, MUTANT_ORDER, 0, 1, 2);
    }
}

static void make_predicate(struct maker *k) {
    const struct mutant_span g = k->s.guard;
    if (g.bytes == 0) {
        return;
    }
    const char *name = k->m->text + g.at + 1 + k->s.in->guard_negated;
    char *other =
        must_format("@%s%.*s", k->s.in->guard_negated ? "" : "!", (int)(g.bytes - 1 - k->s.in->guard_negated), name);
    add(k, MUTANT_PREDICATE, replaced(k, g, other), must_strdup("predicate negated"));
    add(k, MUTANT_PREDICATE, replaced(k, g, ""), must_strdup("predicate dropped"));
    free(other);
}

static void drop(struct maker *k, enum mutant_operator by, const char *what) {
    add(k, by, must_strdup(""), must_format("%s dropped", what));
}

static void make_barrier(struct maker *k) {
    static const char *const opcodes[] = {"bar", "barrier", "membar", "fence", NULL};
    if (is_one_of(k, opcodes)) {
        drop(k, MUTANT_BARRIER, k->s.in->opcode);
    }
}

static void constant(struct maker *k, enum mutant_operator by, size_t i, int64_t value) {
    if (is_integer(k, i)) {
        char *text = must_format("%" PRId64, value);
        add(k, by, replaced(k, k->s.operands[i], text),
            must_format("%" PRId64 " in place of %" PRId64, value, (int64_t)k->s.in->operands[i].bits));
        free(text);
    }
}

static void one_more_and_less(struct maker *k, enum mutant_operator by, size_t i) {
    if (is_integer(k, i)) {
        constant(k, by, i, (int64_t)k->s.in->operands[i].bits + 1);
        constant(k, by, i, (int64_t)k->s.in->operands[i].bits - 1);
    }
}

static void make_wait(struct maker *k) {
    if (!is(k, "cp") || !has_part(k, "async")) {
        return;
    }
    if (has_part(k, "wait_group") && is_integer(k, 0)) {
        constant(k, MUTANT_WAIT, 0, (int64_t)k->s.in->operands[0].bits + 1);
        if (k->s.in->operands[0].bits > 0) {
            constant(k, MUTANT_WAIT, 0, (int64_t)k->s.in->operands[0].bits - 1);
        }
        drop(k, MUTANT_WAIT, "wait_group");
    }
    if (has_part(k, "wait_all")) {
        drop(k, MUTANT_WAIT, "wait_all");
    }
    if (has_part(k, "commit_group")) {
        drop(k, MUTANT_WAIT, "commit_group");
    }
}

/* { .reg .f32 %mutant; mul %mutant, a, b; add d, %mutant, c; } */
static char *unfused(const struct maker *k) {
    const char *text = k->m->text;
    const struct mutant_span g = k->s.guard, *o = k->s.operands;
    const char *modifiers = text + k->s.opcode.at + strlen("fma");
    const int n = (int)(k->s.opcode.bytes - strlen("fma"));
    return must_format("{ .reg .%s %%mutant; %.*s mul%.*s %%mutant, %.*s, %.*s; %.*s add%.*s %.*s, %%mutant, %.*s; }",
                       k->s.in->parts[k->s.in->part_count - 1], (int)g.bytes, text + g.at, n, modifiers,
                       (int)o[1].bytes, text + o[1].at, (int)o[2].bytes, text + o[2].at, (int)g.bytes, text + g.at, n,
                       modifiers, (int)o[0].bytes, text + o[0].at, (int)o[3].bytes, text + o[3].at);
}

static void make_rounding(struct maker *k) {
    static const char *const opcodes[] = {"add", "sub", "mul", "fma", "div", "rcp", "sqrt", "cvt", NULL};
    const enum ptx_type t = type_of(k);
    if (!is_one_of(k, opcodes) || (!is(k, "cvt") && t != PTX_F32 && t != PTX_F64)) {
        return;
    }
    const struct mutant_span rn = part_at(k, "rn"), rni = part_at(k, "rni");
    if (rn.bytes > 0) {
        add(k, MUTANT_ROUNDING, replaced(k, rn, "rz"), must_strdup(".rz in place of .rn"));
    }
    if (rni.bytes > 0) {
        add(k, MUTANT_ROUNDING, replaced(k, rni, "rzi"), must_strdup(".rzi in place of .rni"));
    }
    if (is(k, "fma") && k->s.count == 4) {
        add(k, MUTANT_ROUNDING, unfused(k), must_strdup("fma as mul and add"));
    }
}

static void make_stride(struct maker *k) {
    static const char *const last[] = {"shl", "shr", "add", "sub", "or", "xor", "min", "max", NULL};
    const enum ptx_type t = type_of(k);
    if (!integer(t)) {
        return;
    }
    if (is_one_of(k, last)) {
        one_more_and_less(k, MUTANT_STRIDE, 2);
    } else if (is(k, "and") && is_integer(k, 2)) {
        const unsigned bits = 8 * (unsigned)ptx_type_bytes(t);
        const uint64_t width = bits < 64 ? (UINT64_C(1) << bits) - 1 : UINT64_MAX;
        const uint64_t mask = k->s.in->operands[2].bits & width;
        constant(k, MUTANT_STRIDE, 2, (int64_t)(mask & (mask - 1)));
        constant(k, MUTANT_STRIDE, 2, (int64_t)(mask << 1 & width));
        constant(k, MUTANT_STRIDE, 2, (int64_t)(mask & mask >> 1));
    } else if (is(k, "mul") || is(k, "mad")) {
        one_more_and_less(k, MUTANT_STRIDE, 1);
        one_more_and_less(k, MUTANT_STRIDE, 2);
        one_more_and_less(k, MUTANT_STRIDE, 3);
    } else if (is(k, "mov")) {
        one_more_and_less(k, MUTANT_STRIDE, 1);
    } else if (is(k, "bfi") || is(k, "bfe") || is(k, "prmt") || is(k, "shf")) {
        one_more_and_less(k, MUTANT_STRIDE, 2);
        one_more_and_less(k, MUTANT_STRIDE, 3);
        one_more_and_less(k, MUTANT_STRIDE, 4);
    }
}

static void make_registers(struct maker *k) {
    static const char *const two[] = {"add", "sub", "mul", "and", "or", "xor", "min", "max", NULL};
    static const char *const three[] = {"mad", "fma", "dp4a", NULL};
    if (is(k, "ld") || is(k, "st") || is(k, "ldmatrix") || is(k, "stmatrix")) {
        for (size_t i = 0; i < k->s.count; ++i) {
            swap_elements(k, MUTANT_REGISTERS, i, 0, 1);
            swap_elements(k, MUTANT_REGISTERS, i, 1, 2);
        }
    } else if (is_one_of(k, three) && is_register(k, 1) && is_register(k, 2) && is_register(k, 3)) {
        if (register_type(k, 1) == register_type(k, 3)) {
            add(k, MUTANT_REGISTERS, swapped(k, k->s.operands[1], k->s.operands[3]),
                must_strdup("operands 1 and 3 swapped"));
            add(k, MUTANT_REGISTERS, swapped(k, k->s.operands[2], k->s.operands[3]),
                must_strdup("operands 2 and 3 swapped"));
        }
    } else if (is_one_of(k, two) && is_register(k, 1) && is_register(k, 2)) {
        char *a = text_of(k, k->s.operands[1]), *b = text_of(k, k->s.operands[2]);
        add(k, MUTANT_REGISTERS, replaced(k, k->s.operands[2], a), must_strdup("operand 1 for operand 2"));
        add(k, MUTANT_REGISTERS, replaced(k, k->s.operands[1], b), must_strdup("operand 2 for operand 1"));
        free(a), free(b);
    }
}

/* { .reg .b32 %mutant; add.s32 %mutant, b, 1; setp ... a, %mutant; } */
static void shifted_bound(struct maker *k, int by) {
    const unsigned bits = 8 * (unsigned)ptx_type_bytes(type_of(k));
    char *b = text_of(k, k->s.operands[2]), *compare = replaced(k, k->s.operands[2], "%mutant");
    add(k, MUTANT_BOUND,
        must_format("{ .reg .b%u %%mutant; add.s%u %%mutant, %s, %d; %s }", bits, bits, b, by, compare),
        must_format("bound %+d", by));
    free(b), free(compare);
}

static void make_bound(struct maker *k) {
    if (!is(k, "setp") || !integer(type_of(k)) || ptx_type_bytes(type_of(k)) < 2) {
        return;
    }
    one_more_and_less(k, MUTANT_BOUND, 2);
    if (is_register(k, 2)) {
        shifted_bound(k, 1);
        shifted_bound(k, -1);
    }
}

static void make_store(struct maker *k) {
    const bool copy = is(k, "cp") && has_part(k, "async") && k->s.count >= 3;
    if (((is(k, "st") || is(k, "red")) && !has_part(k, "param")) || is(k, "stmatrix") || copy) {
        drop(k, MUTANT_STORE, copy ? "copy" : "store");
    }
}

/* Of a vector operand the first `n` elements: "{a, b}", or "a" where the statement then takes one register. */
static char *first_elements(const struct maker *k, size_t i, size_t n, bool braces) {
    struct mutant_span e[STATEMENT_OPERANDS];
    elements(k, i, e);
    const size_t bytes = e[n - 1].at + e[n - 1].bytes - e[0].at;
    return must_format("%s%.*s%s", braces ? "{" : "", (int)bytes, k->m->text + e[0].at, braces ? "}" : "");
}

static void make_vector(struct maker *k) {
    static const char *const wide[] = {"v4", "v2", "x4", "x2"}, *const narrow[] = {"v2", "", "x2", "x1"};
    if ((is(k, "ld") || is(k, "st") || is(k, "ldmatrix") || is(k, "stmatrix")) && !has_part(k, "param")) {
        for (size_t w = 0; w < 4; ++w) {
            struct mutant_span part = part_at(k, wide[w]);
            for (size_t i = 0; part.bytes > 0 && i < k->s.count; ++i) {
                struct mutant_span e[STATEMENT_OPERANDS];
                const size_t n = elements(k, i, e);
                if (n < 2) {
                    continue;
                }
                if (narrow[w][0] == 0) {
                    --part.at, ++part.bytes; /* its dot */
                }
                char *half = first_elements(k, i, n / 2, narrow[w][0] != 0);
                add(k, MUTANT_VECTOR, edited(k, part, narrow[w], k->s.operands[i], half),
                    must_format("%s in place of %s", narrow[w][0] != 0 ? narrow[w] : "one", wide[w]));
                free(half);
                break;
            }
        }
    }
    const struct mutant_span cg = part_at(k, "cg");
    if (is(k, "cp") && has_part(k, "async") && cg.bytes > 0 && k->s.count == 3 && is_integer(k, 2)) {
        add(k, MUTANT_VECTOR, edited(k, cg, "ca", k->s.operands[2], "8"), must_strdup("copy of 8 bytes"));
    }
}

static void make_comparison(struct maker *k) {
    static const char *const pairs[][2] = {{"lt", "le"}, {"gt", "ge"}, {"eq", "ne"}, {"lo", "ls"}, {"hi", "hs"}};
    for (size_t i = 0; is(k, "setp") && i < sizeof pairs / sizeof *pairs; ++i) {
        for (int side = 0; side < 2; ++side) {
            const struct mutant_span part = part_at(k, pairs[i][side]);
            if (part.bytes > 0) {
                add(k, MUTANT_COMPARISON, replaced(k, part, pairs[i][!side]),
                    must_format("%s in place of %s", pairs[i][!side], pairs[i][side]));
            }
        }
    }
    if (is(k, "min") || is(k, "max")) {
        const struct mutant_span name = {k->s.opcode.at, 3};
        const char *other = is(k, "min") ? "max" : "min";
        add(k, MUTANT_COMPARISON, replaced(k, name, other), must_format("%s in place of %s", other, k->s.in->opcode));
    }
}

/* ---- all ---- */

static void make_all(struct maker *k) {
    make_address(k);
    make_order(k);
    make_predicate(k);
    make_barrier(k);
    make_wait(k);
    make_rounding(k);
    make_stride(k);
    make_registers(k);
    make_bound(k);
    make_store(k);
    make_vector(k);
    make_comparison(k);
}

/* Numbers are given before: a name does not depend on what is asked for. */
static void keep(struct mutant_list *list, uint32_t operators) {
    size_t n = 0;
    for (size_t i = 0; i < list->count; ++i) {
        if (operators >> list->items[i].by & 1) {
            list->items[n++] = list->items[i];
        } else {
            free(list->items[i].after), free(list->items[i].what);
        }
    }
    list->count = n;
}

void mutants_make(const struct ptx_module *m, const char *const *entries, size_t entry_count, uint32_t operators,
                  struct mutant_list *list) {
    struct maker k = {.m = m, .list = list};
    *list = (struct mutant_list){0};
    for (size_t f = 0; f < m->function_count; ++f) {
        bool wanted = false;
        for (size_t i = 0; i < entry_count; ++i) {
            wanted |= strcmp(m->functions[f].name, entries[i]) == 0;
        }
        int line = 0;
        for (size_t i = 0; wanted && i < m->functions[f].instruction_count; ++i) {
            const struct ptx_instruction *in = &m->functions[f].instructions[i];
            if (in->ptx_line != line) { /* several of one line share its numbers */
                k.first = list->count;
            }
            line = in->ptx_line;
            k.function = f;
            k.instruction = i;
            if (mutant_statement(m, &m->functions[f], in, &k.s) && k.s.count == in->operand_count) {
                make_all(&k);
            }
        }
    }
    keep(list, operators);
}
