#include "../ref/checked.h"
#include "mutant_flow_parts.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PATIENT_ROUNDS = 4, /* before ranges are widened */
    ROUNDS = 200,
};

/* What the machine takes: a result of nt * od binary32 numbers, or nt rows of at least 4 bytes, in one buffer of at
 * most 4 GiB (operands.h); a depth that is a multiple of 32, below 2^31; 2^26 blocks in all (gpu/machine/runner.c),
 * where the launch file gives no budget of its own. */
#define MOST_ROWS   (INT64_C(1) << 30)
#define MOST_DEPTH  (INT64_C(0x7fffffff) - 31)
#define MOST_BLOCKS (INT64_C(1) << 26)

const struct spec *mutant_flow_spec(const struct mutant_flow *f) {
    return f->spec;
}

size_t mutant_flow_function(const struct mutant_flow *f) {
    return f->function;
}

unsigned flow_bits(const struct mutant_flow *f, int reg) {
    const enum ptx_type t = f->f->registers[reg].type;
    const unsigned bits = t == PTX_PRED ? 1 : 8 * (unsigned)ptx_type_bytes(t);
    return bits == 1 || (bits >= 16 && bits <= 64) ? bits : 64;
}

/* ---- the launch ---- */

/* Bounds of nt, od and id that the launch file's needs give: "nt <= 8", "id % 256 == 0". */
static struct value_set shape_value(const struct spec *s, const char *name) {
    const bool depth = strcmp(name, "id") == 0;
    int64_t most = depth ? MOST_DEPTH : MOST_ROWS;
    uint64_t zero = 0;
    if (!depth && strcmp(name, "nt") != 0 && strcmp(name, "od") != 0) {
        return value_any(32);
    }
    for (size_t i = 0; i < s->need_count; ++i) {
        char word[16], more;
        long long n, rest;
        const char *text = spec_expr_text(s->needs[i]);
        if (sscanf(text, "%15[a-z] <= %lld%c", word, &n, &more) == 2 && strcmp(word, name) == 0 && n > 0) {
            most = n < most ? n : most;
        }
        if (sscanf(text, "%15[a-z] %% %lld == %lld%c", word, &n, &rest, &more) == 3 && strcmp(word, name) == 0 &&
            rest == 0 && n > 0 && (n & (n - 1)) == 0) {
            zero |= (uint64_t)n - 1;
        }
    }
    struct value_set multiple = value_any(32);
    multiple.zero |= zero;
    return value_meet(value_within(32, zero != 0 ? (int64_t)zero + 1 : 1, most), multiple);
}

/* A dimension: a number, a value of the shape, or ceil(a value, a number); 0 where it is none of those. */
static int64_t most_of_dimension(const struct spec *s, const struct spec_expr *x) {
    char name[16], more;
    long long n;
    if (x == NULL) {
        return 1;
    }
    const char *text = spec_expr_text(x);
    if (sscanf(text, "%lld%c", &n, &more) == 1) {
        return n > 0 ? n : 0;
    }
    if (sscanf(text, "ceil(%15[a-z], %lld%c%c", name, &n, &more, &more) == 3 && more == ')' && n > 0) {
        const struct value_set v = shape_value(s, name);
        return v.high < INT32_MAX ? (v.high + n - 1) / n : 0;
    }
    return 0;
}

/* The same in every launch; a dimension that is not given is 1. */
static bool is_number(const struct spec_expr *x) {
    long long n;
    char more;
    return x == NULL || sscanf(spec_expr_text(x), "%lld%c", &n, &more) == 1;
}

static void learn_launch(struct mutant_flow *f) {
    const struct spec *s = f->spec;
    for (int i = 0; i < 3; ++i) {
        const int64_t block = most_of_dimension(s, s->block[i]), grid = most_of_dimension(s, s->grid[i]);
        const int64_t limit = s->steps == NULL ? MOST_BLOCKS : INT32_MAX;
        const int64_t blocks = grid > 0 && grid < limit ? grid : limit;
        f->thread[i] = value_within(32, 0, block > 0 ? block - 1 : 1023);
        f->size[i] = block > 0 && is_number(s->block[i]) ? value_one(32, (uint64_t)block)
                                                         : value_within(32, 1, block > 0 ? block : 1024);
        f->block[i] = value_within(32, 0, blocks - 1);
        f->grid[i] = value_within(32, 1, blocks);
    }
    f->params = must_calloc(f->f->param_count + 1, sizeof *f->params);
    for (size_t i = 0; i < f->f->param_count && i < s->arg_count; ++i) {
        const struct ptx_variable *v = &f->m->variables[f->f->params[i]];
        const struct spec_arg *a = &s->args[i];
        if (v->bytes == 4 && a->value != NULL) {
            f->params[i] = shape_value(s, spec_expr_text(a->value));
        }
    }
}

/* ---- blocks ---- */

static bool is(const struct ptx_instruction *in, const char *opcode) {
    return strcmp(in->opcode, opcode) == 0;
}

static bool ends(const struct ptx_instruction *in) {
    return is(in, "ret") || is(in, "exit");
}

static void find_blocks(struct mutant_flow *f) {
    const struct ptx_function *g = f->f;
    const size_t n = g->instruction_count;
    bool *leads = must_calloc(n + 2, sizeof *leads);
    f->branches_known = true;
    leads[0] = true;
    for (size_t i = 0; i < n; ++i) {
        const struct ptx_instruction *in = &g->instructions[i];
        f->branches_known &= !is(in, "brx");
        if (is(in, "bra") && in->operand_count == 1 && in->operands[0].kind == PTX_OP_LABEL) {
            leads[in->operands[0].target] = leads[i + 1] = true;
        } else if (ends(in) || is(in, "trap")) {
            leads[i + 1] = true;
        }
    }
    f->blocks = must_calloc(n + 1, sizeof *f->blocks);
    f->block_of = must_calloc(n + 1, sizeof *f->block_of);
    for (size_t i = 0; i < n; ++i) {
        if (leads[i]) {
            f->blocks[f->block_count++].first = i;
        }
        f->block_of[i] = f->block_count - 1;
        f->blocks[f->block_count - 1].last = i;
    }
    for (size_t b = 0; b < f->block_count; ++b) {
        struct block *x = &f->blocks[b];
        const struct ptx_instruction *in = &g->instructions[x->last];
        const size_t on = x->last + 1 < n ? f->block_of[x->last + 1] : NOWHERE;
        x->next[0] = x->next[1] = NOWHERE;
        if (is(in, "bra")) {
            const size_t to = in->operands[0].target;
            x->next[0] = to < n ? f->block_of[to] : NOWHERE;
            x->next[1] = in->guard >= 0 ? on : NOWHERE;
        } else if (!ends(in) || in->guard >= 0) {
            x->next[1] = on;
        }
        x->leaves =
            ends(in) || (is(in, "bra") ? x->next[0] == NOWHERE || (in->guard >= 0 && on == NOWHERE) : on == NOWHERE);
    }
    free(leads);
}

/* Post-order numbers of a walk from block 0: order[k] = the block that was left k-th. */
static size_t walk(struct mutant_flow *f, size_t *order, size_t *number) {
    size_t *stack = must_calloc(f->block_count + 1, sizeof *stack), depth = 0, n = 0;
    unsigned char *side = must_calloc(f->block_count + 1, 1);
    stack[depth++] = 0;
    f->blocks[0].reached = true;
    while (depth > 0) {
        const size_t b = stack[depth - 1];
        if (side[b] == 2) {
            number[b] = n;
            order[n++] = b;
            --depth;
            continue;
        }
        const size_t to = f->blocks[b].next[side[b]++];
        if (to != NOWHERE && !f->blocks[to].reached) {
            f->blocks[to].reached = true;
            stack[depth++] = to;
        }
    }
    free(stack), free(side);
    return n;
}

/* Source: Cooper, Harvey, Kennedy, "A simple, fast dominance algorithm", 2001. */
static void find_dominators(struct mutant_flow *f) {
    for (size_t b = 0; b < f->block_count; ++b) {
        f->blocks[b].before = 0;
        f->blocks[b].reached = false;
        f->blocks[b].dominator = NOWHERE;
    }
    for (size_t b = 0; b < f->block_count; ++b) {
        for (int s = 0; s < 2; ++s) {
            if (f->blocks[b].next[s] != NOWHERE) {
                ++f->blocks[f->blocks[b].next[s]].before;
            }
        }
    }
    size_t *order = must_calloc(f->block_count + 1, sizeof *order),
           *number = must_calloc(f->block_count + 1, sizeof *number);
    const size_t n = walk(f, order, number);
    f->blocks[0].dominator = 0;
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t k = n; k-- > 0;) { /* edges of this block, as it is a predecessor of others: gather by target */
            const size_t b = order[k];
            size_t both = NOWHERE;
            for (size_t p = 0; b != 0 && p < f->block_count; ++p) {
                const struct block *x = &f->blocks[p];
                if ((x->next[0] != b && x->next[1] != b) || x->dominator == NOWHERE) {
                    continue;
                }
                size_t one = p;
                while (both != NOWHERE && one != both) {
                    if (number[one] < number[both]) {
                        one = f->blocks[one].dominator;
                    } else {
                        both = f->blocks[both].dominator;
                    }
                }
                both = one;
            }
            if (b != 0 && both != f->blocks[b].dominator) {
                f->blocks[b].dominator = both;
                changed = true;
            }
        }
    }
    free(order), free(number);
}

/* ---- definitions ---- */

bool flow_writes_nothing(const struct ptx_instruction *in) {
    static const char *const opcodes[] = {"st",  "red",  "bar",  "barrier", "bra",   "brx",      "cp",     "prefetch",
                                          "ret", "exit", "trap", "membar",  "fence", "stmatrix", "pragma", NULL};
    for (size_t i = 0; opcodes[i] != NULL; ++i) {
        if (is(in, opcodes[i])) {
            return true;
        }
    }
    return false;
}

static void define(struct mutant_flow *f, int reg, size_t instruction, size_t element) {
    struct definition *d = &f->definition[reg];
    if (d->count++ == 0) {
        d->instruction = instruction;
        d->element = element;
    }
}

static void define_operand(struct mutant_flow *f, const struct ptx_operand *o, size_t instruction) {
    if (o->kind == PTX_OP_REGISTER) {
        define(f, o->reg, instruction, 0);
    }
    if (o->second >= 0) {
        define(f, o->second, instruction, 0);
        f->definition[o->second].wild = true;
    }
    for (size_t i = 0; i < o->element_count; ++i) {
        if (o->elements[i].kind == PTX_OP_REGISTER) {
            define(f, o->elements[i].reg, instruction, i);
        }
    }
}

/* ---- ranges of the whole function ---- */

static struct value_set special(const struct mutant_flow *f, const char *name, unsigned bits) {
    static const char *const names[] = {"%tid.", "%ctaid.", "%ntid.", "%nctaid."};
    const struct value_set *const of[] = {f->thread, f->block, f->size, f->grid};
    for (size_t i = 0; i < 4; ++i) {
        const size_t n = strlen(names[i]);
        if (bits == 32 && strncmp(name, names[i], n) == 0 && name[n] >= 'x' && name[n] <= 'z' && name[n + 1] == 0) {
            return of[i][name[n] - 'x'];
        }
    }
    return strcmp(name, "%laneid") == 0 && bits == 32 ? value_within(32, 0, 31) : value_any(bits);
}

struct value_set flow_read_as(struct value_set v, unsigned bits) {
    if (!v.some || v.bits == bits) {
        return v;
    }
    if (v.bits < bits || bits == 1) {
        return value_any(bits);
    }
    struct value_set cut = value_any(bits);
    cut.zero |= v.zero;
    cut.one = v.one & ~value_any(bits).zero;
    const struct value_set range = value_within(bits, v.low, v.high);
    return value_meet(cut, range.low == v.low && range.high == v.high ? range : cut);
}

struct value_set flow_constant(const struct mutant_flow *f, const struct ptx_operand *o, unsigned bits) {
    if (o->minus || o->part != NULL) {
        return value_any(bits);
    }
    switch (o->kind) {
    case PTX_OP_INTEGER:
        return value_one(bits, o->bits);
    case PTX_OP_FLOAT:
        return bits == 32 && !o->double_precision ? value_one(32, o->bits) : value_any(bits);
    case PTX_OP_SPECIAL:
        return special(f, o->name, bits);
    default:
        return value_any(bits);
    }
}

struct value_set flow_negate(struct value_set v) {
    const uint64_t one = v.one & 1;
    v.one = v.zero & 1;
    v.zero = one | ~UINT64_C(1);
    v.low = v.one & 1;
    v.high = (v.zero & 1) == 0;
    return v;
}

struct round {
    const struct mutant_flow *f;
    bool open; /* of some source nothing has been said yet */
};

static struct value_set global_source(void *context, const struct ptx_operand *o, unsigned bits) {
    struct round *r = context;
    if (o->kind != PTX_OP_REGISTER || o->minus || o->part != NULL) {
        return flow_constant(r->f, o, bits);
    }
    const struct value_set v = r->f->values[o->reg];
    r->open |= !v.some;
    if (!v.some) {
        return value_any(bits);
    }
    return o->negated && bits == 1 ? flow_negate(v) : flow_read_as(v, bits);
}

static const struct ptx_instruction *defined_by(const struct mutant_flow *f, const struct ptx_operand *o,
                                                const char *opcode) {
    if (o->kind != PTX_OP_REGISTER || o->minus || o->part != NULL || f->definition[o->reg].count != 1 ||
        f->definition[o->reg].wild) {
        return NULL;
    }
    const struct ptx_instruction *in = &f->f->instructions[f->definition[o->reg].instruction];
    return is(in, opcode) && in->operand_count == 3 && in->guard < 0 ? in : NULL;
}

/* a - (a & mask), or a - ((a + 0) & mask), has no bits of the mask: a % 2^n of a signed a that is not negative. */
static bool remainder_mask(const struct mutant_flow *f, const struct ptx_instruction *in, uint64_t *mask,
                           const struct value_sources *s) {
    const struct ptx_instruction *masked = in->operand_count == 3 ? defined_by(f, &in->operands[2], "and") : NULL;
    const struct ptx_operand *a = &in->operands[1];
    if (masked == NULL || a->kind != PTX_OP_REGISTER || masked->operands[2].kind != PTX_OP_INTEGER ||
        f->definition[a->reg].count != 1) {
        return false;
    }
    const struct ptx_operand *b = &masked->operands[1];
    const struct ptx_instruction *sum = defined_by(f, b, "add");
    uint64_t v;
    if (sum != NULL && sum->operands[1].kind == PTX_OP_REGISTER && sum->operands[1].reg == a->reg &&
        value_is_one(s->source(s->context, &sum->operands[2], flow_bits(f, a->reg)), &v) && v == 0) {
        b = &sum->operands[1];
    }
    *mask = masked->operands[2].bits;
    return b->kind == PTX_OP_REGISTER && b->reg == a->reg;
}

/* What an instruction gives; ld.param has a rule of its own. */
struct value_set flow_gives(const struct mutant_flow *f, const struct ptx_instruction *in, unsigned bits,
                            size_t element, const struct value_sources *s) {
    if (is(in, "ld") && in->part_count > 0 && strcmp(in->parts[0], "param") == 0) {
        const struct ptx_operand *o = &in->operands[1];
        for (size_t i = 0; i < f->f->param_count; ++i) {
            if (o->kind == PTX_OP_ADDRESS && o->reg < 0 && o->variable == f->f->params[i] && o->displacement == 0 &&
                element == 0 && f->params[i].some && f->params[i].bits == bits &&
                in->operands[0].kind == PTX_OP_REGISTER) {
                return f->params[i];
            }
        }
        return value_any(bits);
    }
    if (in->operands[0].kind != PTX_OP_REGISTER && !is(in, "mma") && !is(in, "ld")) {
        return value_any(bits);
    }
    struct value_set v = value_of(in, bits, element, s);
    uint64_t rest;
    if (is(in, "sub") && bits > 1 && remainder_mask(f, in, &rest, s)) {
        struct value_set low = value_any(bits);
        low.zero |= rest;
        v = value_meet(v, value_meet(value_any(bits), low));
    }
    return v;
}

static bool learn(struct mutant_flow *f, const struct ptx_operand *o, const struct ptx_instruction *in, size_t element,
                  bool patient, bool last) {
    if (o->kind != PTX_OP_REGISTER) {
        return false;
    }
    struct round r = {.f = f};
    const struct value_sources s = {global_source, &r};
    const unsigned bits = flow_bits(f, o->reg);
    const struct value_set now = flow_gives(f, in, bits, element, &s);
    struct value_set *old = &f->values[o->reg];
    if (r.open && !last) {
        return false;
    }
    struct value_set joined = value_join(*old, now.bits == bits ? now : value_any(bits));
    joined = patient ? joined : value_widen(*old, joined);
    const bool changed = !value_same(joined, *old);
    *old = joined;
    return changed;
}

static void find_ranges(struct mutant_flow *f) {
    bool last = false, changed = true;
    for (int round = 0; changed || !last; ++round) {
        last |= !changed; /* then what is never written counts as every value, until nothing changes again */
        if (round == ROUNDS) {
            for (size_t i = 0; i < f->f->register_count; ++i) {
                f->values[i] = value_any(flow_bits(f, (int)i));
            }
            return;
        }
        changed = false;
        for (size_t i = 0; i < f->f->instruction_count; ++i) {
            const struct ptx_instruction *in = &f->f->instructions[i];
            if (flow_writes_nothing(in) || in->operand_count == 0 || flow_never(f, i)) {
                continue;
            }
            const struct ptx_operand *o = &in->operands[0];
            changed |= learn(f, o, in, 0, round < PATIENT_ROUNDS, last);
            for (size_t k = 0; k < o->element_count; ++k) {
                changed |= learn(f, &o->elements[k], in, k, round < PATIENT_ROUNDS, last);
            }
        }
    }
    for (size_t i = 0; i < f->f->register_count; ++i) {
        if (!f->values[i].some || f->definition[i].count == 0) {
            f->values[i] = value_any(flow_bits(f, (int)i));
        }
    }
}

bool flow_never(const struct mutant_flow *f, size_t instruction) {
    return f->executes != NULL && !f->executes[instruction];
}

void flow_learn(struct mutant_flow *f) {
    memset(f->definition, 0, f->f->register_count * sizeof *f->definition);
    memset(f->values, 0, f->f->register_count * sizeof *f->values);
    for (size_t i = 0; i < f->f->instruction_count; ++i) {
        const struct ptx_instruction *in = &f->f->instructions[i];
        if (!flow_writes_nothing(in) && in->operand_count > 0 && !flow_never(f, i)) {
            define_operand(f, &in->operands[0], i);
        }
    }
    for (size_t i = 0; i < f->f->register_count; ++i) {
        if (f->definition[i].wild) {
            f->values[i] = value_any(flow_bits(f, (int)i));
        }
    }
    if (f->block_count > 0) {
        find_dominators(f);
    }
    find_ranges(f);
    lanes_free(f->lanes);
    f->lanes = lanes_make(f);
}

struct mutant_flow *mutant_flow_make(const struct ptx_module *m, size_t function, const struct spec *spec) {
    struct mutant_flow *f = must_calloc(1, sizeof *f);
    f->m = m;
    f->f = &m->functions[function];
    f->function = function;
    f->spec = spec;
    f->values = must_calloc(f->f->register_count + 1, sizeof *f->values);
    f->definition = must_calloc(f->f->register_count + 1, sizeof *f->definition);
    learn_launch(f);
    find_blocks(f);
    flow_learn(f);
    return f;
}

void mutant_flow_free(struct mutant_flow *f) {
    if (f != NULL) {
        free(f->values);
        free(f->definition);
        free(f->params);
        free(f->blocks);
        free(f->block_of);
        free(f->comes);
        free(f->executes);
        lanes_free(f->lanes);
        free(f);
    }
}
