/* Which registers and .param bytes may hold bits that nothing has defined.
 *
 * flow.c finds the registers that some path reads before it writes them, a look at each basic block the bytes of .param
 * variables that are not all stored in the block that reads them. From there it spreads: to what is computed from such
 * registers, through st.param and ld.param, into the functions that are called, and back with their results, until
 * nothing new comes. Which bits of which lanes are undefined in fact is known when the launch runs; this says where
 * that must be kept. Calls through addresses are taken together: what one of them passes may reach every function. */
#include "decode_watched.h"
#include "../../ref/checked.h"
#include <stdlib.h>
#include <string.h>

bool has_opcode(const struct ptx_instruction *in, const char *opcode) {
    return !strcmp(in->opcode, opcode);
}

bool has_part(const struct ptx_instruction *in, const char *part) {
    for (size_t i = 0; i < in->part_count; ++i)
        if (!strcmp(in->parts[i], part))
            return true;
    return false;
}

/* ---- what an instruction does with its sources ---- */

static bool in_param_space(const struct ptx_instruction *in) {
    return (has_opcode(in, "ld") || has_opcode(in, "st")) &&
           (has_part(in, "param") || has_part(in, "param::func") || has_part(in, "param::entry"));
}

static bool is_integer_conversion(const struct ptx_instruction *in) {
    return has_opcode(in, "cvt") && in->part_count == 2 && type_integer(ptx_type_named(in->parts[0])) &&
           type_integer(ptx_type_named(in->parts[1]));
}

static bool all_constant(const struct ptx_instruction *in, size_t first) {
    for (size_t i = first; i < in->operand_count; ++i)
        if (in->operands[i].kind != PTX_OP_INTEGER)
            return false;
    return in->operand_count > first;
}

enum effect effect_of(const struct ptx_instruction *in, size_t *kept) {
    static const char *const checked[] = {"st",   "stmatrix", "red",      "atom",     "bar", "barrier",
                                          "mma",  "wmma",     "match",    "redux",    "brx", "cp",
                                          "vote", "elect",    "mbarrier", "movmatrix"};
    static const struct {
        const char *opcode;
        size_t kept;
    } shifts[] = {{"shl", 2}, {"shr", 2}, {"bfe", 2}, {"bfi", 3}, {"prmt", 3}, {"shf", 3}};
    static const char *const logic[] = {"and", "or", "xor", "not", "lop3"};
    *kept = in->operand_count;
    if (in_param_space(in))
        return EFFECT_PARAM;
    if (has_opcode(in, "call") || has_opcode(in, "nanosleep"))
        return EFFECT_FREE;
    for (size_t i = 0; i < sizeof checked / sizeof *checked; ++i)
        if (has_opcode(in, checked[i]))
            return EFFECT_CHECK;
    if (has_opcode(in, "shfl"))
        return EFFECT_SHUFFLE;
    if (has_opcode(in, "mov") || is_integer_conversion(in))
        return EFFECT_SHADOW;
    if (has_opcode(in, "selp")) {
        *kept = 3;
        return EFFECT_SHADOW;
    }
    for (size_t i = 0; i < sizeof shifts / sizeof *shifts; ++i)
        if (has_opcode(in, shifts[i].opcode)) {
            *kept = shifts[i].kept;
            return all_constant(in, *kept) ? EFFECT_SHADOW : EFFECT_ANY;
        }
    for (size_t i = 0; i < sizeof logic / sizeof *logic; ++i)
        if (has_opcode(in, logic[i]))
            return in->operand_count == (i == 4   ? 5u
                                         : i == 3 ? 2u
                                                  : 3u) &&
                           in->operands[0].second < 0
                       ? EFFECT_LOGIC
                       : EFFECT_ANY;
    return EFFECT_ANY;
}

bool is_generic(const struct ptx_instruction *in) {
    static const char *const spaces[] = {
        "global", "shared", "shared::cta", "shared::cluster", "local", "param", "param::entry", "param::func", "const"};
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; ++i)
        if (has_part(in, spaces[i]))
            return false;
    return has_opcode(in, "ld") || has_opcode(in, "ldu") || has_opcode(in, "st");
}

bool is_result(const struct ptx_instruction *in, size_t operand) {
    return flow_writes(in, operand) && in->operands[operand].kind != PTX_OP_ADDRESS;
}

/* ---- which registers are watched ---- */

int register_of(const struct ptx_operand *o, size_t *next) {
    for (;;) {
        const size_t i = (*next)++;
        if (i < 2) {
            const int reg = i ? o->second : o->reg;
            if (reg >= 0)
                return reg;
            continue;
        }
        if (i - 2 >= o->element_count)
            return -1;
        if (o->elements[i - 2].reg >= 0)
            return o->elements[i - 2].reg;
    }
}

struct uses { /* by register: the instructions that compute something from it, first[reg] .. first[reg + 1] - 1 */
    size_t *first;
    size_t *instruction;
};

bool hands_on(const struct ptx_instruction *in, size_t operand) {
    size_t kept;
    const enum effect effect = effect_of(in, &kept);
    if (effect == EFFECT_CHECK || effect == EFFECT_FREE || effect == EFFECT_PARAM ||
        in->operands[operand].kind == PTX_OP_ADDRESS)
        return false;
    return effect != EFFECT_SHUFFLE || operand == 1;
}

/* Calls note(uses, register, instruction) for each use, in order. */
static void each_use(const struct ptx_function *f, void (*note)(struct uses *u, int reg, size_t instruction),
                     struct uses *u) {
    for (size_t i = 0; i < f->instruction_count; ++i) {
        const struct ptx_instruction *in = &f->instructions[i];
        for (size_t k = 0; k < in->operand_count; ++k) {
            size_t next = 0;
            if (is_result(in, k) || !hands_on(in, k))
                continue;
            for (int reg; (reg = register_of(&in->operands[k], &next)) >= 0;)
                note(u, reg, i);
        }
    }
}
static void count_use(struct uses *u, int reg, size_t instruction) {
    (void)instruction;
    ++u->first[reg];
}
static void put_use(struct uses *u, int reg, size_t instruction) {
    u->instruction[--u->first[reg]] = instruction;
}

static struct uses find_uses(const struct ptx_function *f) {
    struct uses u = {must_calloc(f->register_count + 1, sizeof *u.first), NULL};
    each_use(f, count_use, &u);
    for (size_t i = 0; i < f->register_count; ++i) /* first[i]: where the uses of i end ... */
        u.first[i + 1] += u.first[i];
    u.instruction = must_calloc(u.first[f->register_count] + 1, sizeof *u.instruction);
    each_use(f, put_use, &u); /* ... and now where they start */
    return u;
}

/* All that is computed from the watched registers is watched too. */
static void spread(const struct ptx_function *f, bool *watched) {
    bool any = false;
    for (size_t i = 0; i < f->register_count; ++i)
        any |= watched[i];
    if (!any)
        return;
    struct uses u = find_uses(f);
    int *todo = must_calloc(f->register_count, sizeof *todo);
    size_t count = 0;
    for (size_t i = 0; i < f->register_count; ++i)
        if (watched[i])
            todo[count++] = (int)i;
    while (count) {
        const int reg = todo[--count];
        for (size_t k = u.first[reg]; k < u.first[reg + 1]; ++k) {
            const struct ptx_instruction *in = &f->instructions[u.instruction[k]];
            for (size_t o = 0; o < in->operand_count; ++o) {
                size_t next = 0;
                if (!is_result(in, o))
                    continue;
                for (int to; (to = register_of(&in->operands[o], &next)) >= 0;)
                    if (!watched[to]) {
                        watched[to] = true;
                        todo[count++] = to;
                    }
            }
        }
    }
    free(u.first), free(u.instruction), free(todo);
}

/* ---- .param variables ---- */

/* The bytes of variable v, or NULL: it is of no function that matters, or a parameter of the entry. */
static uint8_t *bytes_of(const struct watched *x, int v) {
    return v >= 0 && x->first[v] != SIZE_MAX ? x->bytes + x->first[v] : NULL;
}

bool watched_variable(const struct watched *x, int variable) {
    const uint8_t *bytes = bytes_of(x, variable);
    return bytes && memchr(bytes, 1, x->m->variables[variable].bytes);
}

static void taint(struct watched *x, int variable, size_t from, size_t count) {
    uint8_t *bytes = bytes_of(x, variable);
    const size_t size = x->m->variables[variable].bytes;
    for (size_t i = from; bytes && i < size && i - from < count; ++i)
        if (!bytes[i]) {
            bytes[i] = 1;
            x->grew = true;
        }
}

/* What ld.param and st.param of one element touch. False: not a variable of a function's frame. */
static bool param_access(const struct watched *x, const struct ptx_instruction *in, int *variable, size_t *at,
                         size_t *element) {
    const struct ptx_operand *o = in->operand_count >= 2 ? &in->operands[has_opcode(in, "st") ? 0 : 1] : NULL;
    *element = 0;
    for (size_t i = 0; i < in->part_count && !*element; ++i)
        *element = ptx_type_bytes(ptx_type_named(in->parts[i]));
    if (!in_param_space(in) || !o || o->kind != PTX_OP_ADDRESS || o->reg >= 0 || !bytes_of(x, o->variable) ||
        o->displacement < 0 || !*element)
        return false;
    *variable = o->variable;
    *at = (size_t)o->displacement;
    return true;
}

static size_t elements_of(const struct ptx_operand *o) {
    return o->kind == PTX_OP_VECTOR ? o->element_count : 1;
}
static int element_register(const struct ptx_operand *o, size_t k) {
    return o->kind == PTX_OP_VECTOR ? o->elements[k].reg : o->reg;
}

/* Which bytes have been stored in the basic block at hand. */
struct block_stores {
    uint32_t *stamps, now; /* by byte, as watched.bytes */
};

static void note_read(struct watched *x, const struct block_stores *s, int variable, size_t from, size_t count) {
    const size_t size = x->m->variables[variable].bytes;
    for (size_t i = from; bytes_of(x, variable) && i < size && i - from < count; ++i)
        if (s->stamps[x->first[variable] + i] != s->now) {
            taint(x, variable, i, 1);
            x->unset_registers = true;
        }
}
static void note_store(const struct watched *x, const struct block_stores *s, int variable, size_t from, size_t count) {
    const size_t size = x->m->variables[variable].bytes;
    for (size_t i = from; bytes_of(x, variable) && i < size && i - from < count; ++i)
        s->stamps[x->first[variable] + i] = s->now;
}

static bool is_parameter(const struct ptx_function *f, int variable) {
    for (size_t i = 0; i < f->param_count; ++i)
        if (f->params[i] == variable)
            return true;
    return false;
}

/* The lists of a call, and its target. */
struct call {
    const struct ptx_operand *results, *arguments, *to;
};
static struct call call_of(const struct ptx_instruction *in) {
    const struct ptx_operand *o = in->operands;
    const size_t n = in->operand_count, at = n && o[0].kind == PTX_OP_LIST ? 1 : 0;
    return (struct call){at ? &o[0] : NULL, at + 1 < n && o[at + 1].kind == PTX_OP_LIST ? &o[at + 1] : NULL,
                         at < n ? &o[at] : NULL};
}

/* Some path may run past the last instruction, which is a return. */
static bool has_open_end(const struct ptx_function *f) {
    static const char *const ends[] = {"ret", "exit", "trap", "bra", "brx"};
    const struct ptx_instruction *last = f->instruction_count ? &f->instructions[f->instruction_count - 1] : NULL;
    for (size_t i = 0; last && last->guard < 0 && i < sizeof ends / sizeof *ends; ++i)
        if (has_opcode(last, ends[i]))
            return false;
    return true;
}

/* A return reads the results. */
static void read_results(struct watched *x, const struct ptx_function *f, const struct block_stores *s) {
    for (size_t k = 0; k < f->return_count && !f->entry; ++k)
        if (x->m->variables[f->returns[k]].reg < 0)
            note_read(x, s, f->returns[k], 0, SIZE_MAX);
}

/* Bytes of .param variables that the function may read before they are stored. */
static void find_unset(struct watched *x, const struct ptx_function *f, struct block_stores *s) {
    bool *leaders = flow_leaders(f);
    for (size_t i = 0; i < f->instruction_count; ++i) {
        const struct ptx_instruction *in = &f->instructions[i];
        int v;
        size_t at, element;
        if (leaders[i])
            ++s->now;
        if (has_opcode(in, "ret"))
            read_results(x, f, s);
        if (param_access(x, in, &v, &at, &element)) {
            const bool store = has_opcode(in, "st");
            const size_t bytes = element * elements_of(&in->operands[store]);
            if (store && in->guard < 0)
                note_store(x, s, v, at, bytes);
            else if (!store && !is_parameter(f, v))
                note_read(x, s, v, at, bytes);
        }
        if (!has_opcode(in, "call"))
            continue;
        const struct call c = call_of(in);
        for (size_t k = 0; c.arguments && k < c.arguments->element_count; ++k)
            if (c.arguments->elements[k].kind == PTX_OP_VARIABLE && !is_parameter(f, c.arguments->elements[k].variable))
                note_read(x, s, c.arguments->elements[k].variable, 0, SIZE_MAX);
        for (size_t k = 0; c.results && in->guard < 0 && k < c.results->element_count; ++k)
            if (c.results->elements[k].kind == PTX_OP_VARIABLE)
                note_store(x, s, c.results->elements[k].variable, 0, SIZE_MAX);
    }
    s->now += leaders[f->instruction_count];
    if (has_open_end(f))
        read_results(x, f, s);
    free(leaders);
}

/* ---- from function to function ---- */

static void watch(struct watched *x, bool *registers, int reg) {
    if (reg >= 0 && !registers[reg])
        registers[reg] = x->grew = true;
}

/* What is undefined in `from` (a variable, or with reg >= 0 a register of `registers`) may be so in variable `to`. */
static void pass(struct watched *x, const struct ptx_operand *from, const bool *registers, int to) {
    const uint8_t *bytes = from->kind == PTX_OP_VARIABLE ? bytes_of(x, from->variable) : NULL;
    if (from->kind == PTX_OP_REGISTER && registers[from->reg])
        taint(x, to, 0, SIZE_MAX);
    for (size_t i = 0; bytes && i < x->m->variables[from->variable].bytes; ++i)
        if (bytes[i])
            taint(x, to, i, 1);
}

static void pass_result(struct watched *x, int from, const struct ptx_operand *to, bool *registers) {
    const uint8_t *bytes = bytes_of(x, from);
    if (to->kind == PTX_OP_REGISTER && watched_variable(x, from))
        watch(x, registers, to->reg);
    for (size_t i = 0; bytes && to->kind == PTX_OP_VARIABLE && i < x->m->variables[from].bytes; ++i)
        if (bytes[i])
            taint(x, to->variable, i, 1);
}

static void pass_call(struct watched *x, const struct ptx_instruction *in, bool *registers) {
    const struct call c = call_of(in);
    const struct ptx_function *f = c.to && c.to->kind == PTX_OP_FUNCTION ? &x->m->functions[c.to->function] : NULL;
    for (size_t k = 0; c.arguments && k < c.arguments->element_count; ++k) {
        const struct ptx_operand *one = &c.arguments->elements[k];
        if (f && k < f->param_count)
            pass(x, one, registers, f->params[k]);
        else if (!f && one->kind == PTX_OP_VARIABLE && watched_variable(x, one->variable) && !x->indirect_arguments)
            x->indirect_arguments = x->grew = true;
    }
    for (size_t k = 0; c.results && k < c.results->element_count; ++k) {
        const struct ptx_operand *one = &c.results->elements[k];
        if (f && k < f->return_count)
            pass_result(x, f->returns[k], one, registers);
        else if (!f && x->indirect_results && one->kind == PTX_OP_VARIABLE)
            taint(x, one->variable, 0, SIZE_MAX);
    }
}

/* One round over a function: what its parameters, calls and .param variables add, and what comes of it. */
static void go_through(struct watched *x, size_t function) {
    const struct ptx_function *f = &x->m->functions[function];
    bool *registers = x->registers[function];
    const bool grew = x->grew;
    x->grew = false;
    for (size_t i = 0; i < f->param_count && !f->entry; ++i) {
        if (x->indirect_arguments)
            taint(x, f->params[i], 0, SIZE_MAX);
        if (watched_variable(x, f->params[i]))
            watch(x, registers, x->m->variables[f->params[i]].reg);
    }
    for (size_t i = 0; i < f->instruction_count; ++i) {
        const struct ptx_instruction *in = &f->instructions[i];
        int v;
        size_t at, element;
        if (has_opcode(in, "call"))
            pass_call(x, in, registers);
        if (!param_access(x, in, &v, &at, &element))
            continue;
        const bool store = has_opcode(in, "st");
        const struct ptx_operand *data = &in->operands[store];
        for (size_t k = 0; k < elements_of(data); ++k, at += element) {
            const int reg = element_register(data, k);
            if (store && reg >= 0 && registers[reg])
                taint(x, v, at, element);
            for (size_t b = at; !store && b < at + element && b < x->m->variables[v].bytes; ++b)
                if (bytes_of(x, v)[b])
                    watch(x, registers, reg);
        }
    }
    if (x->grew)
        spread(f, registers);
    for (size_t i = 0; i < f->return_count && !f->entry; ++i) {
        const int reg = x->m->variables[f->returns[i]].reg;
        if (reg >= 0 && registers[reg])
            taint(x, f->returns[i], 0, SIZE_MAX);
        if (watched_variable(x, f->returns[i]) && !x->indirect_results)
            x->indirect_results = x->grew = true;
    }
    x->grew |= grew;
}

/* ---- what may be reached ---- */

static void name_functions(const struct ptx_operand *o, bool *reached, size_t *todo, size_t *count) {
    if (o->function >= 0 && !reached[o->function]) {
        reached[o->function] = true;
        todo[(*count)++] = (size_t)o->function;
    }
    for (size_t i = 0; i < o->element_count; ++i)
        name_functions(&o->elements[i], reached, todo, count);
}

/* Functions that code which may run names, or a variable. */
static bool *reachable(const struct decoder *d) {
    const struct ptx_module *m = d->m;
    bool *reached = must_calloc(m->function_count, sizeof *reached);
    size_t *todo = must_calloc(m->function_count, sizeof *todo), count = 0;
    for (size_t i = 0; i < m->function_count; ++i)
        if (d->address_taken[i] || &m->functions[i] == d->p->entry) {
            reached[i] = true;
            todo[count++] = i;
        }
    while (count) {
        const struct ptx_function *f = &m->functions[todo[--count]];
        for (size_t i = 0; i < f->instruction_count; ++i)
            for (size_t k = 0; k < f->instructions[i].operand_count; ++k)
                name_functions(&f->instructions[i].operands[k], reached, todo, &count);
    }
    free(todo);
    return reached;
}

/* The function takes the address of a parameter, so that loads of it are loads of local memory. */
static bool takes_address(const struct ptx_function *f) {
    for (size_t i = 0; i < f->instruction_count && !f->entry; ++i)
        for (size_t k = 0; k < f->instructions[i].operand_count; ++k)
            if (f->instructions[i].operands[k].kind == PTX_OP_VARIABLE &&
                is_parameter(f, f->instructions[i].operands[k].variable))
                return true;
    return false;
}

/* The results of loads of memory that may be local. */
static void watch_loads(const struct ptx_function *f, bool *registers) {
    const bool spilled = takes_address(f);
    for (size_t i = 0; i < f->instruction_count; ++i) {
        const struct ptx_instruction *in = &f->instructions[i];
        size_t next = 0;
        if (!in->operand_count || !(is_generic(in) || has_part(in, "local") || (spilled && in_param_space(in))) ||
            !(has_opcode(in, "ld") || has_opcode(in, "ldu")))
            continue;
        for (int reg; (reg = register_of(&in->operands[0], &next)) >= 0;)
            registers[reg] = true;
    }
}

/* Registers that the function may use before it writes them, and what is followed besides. */
static void begin(struct watched *x, size_t function, bool all, unsigned follows) {
    const struct ptx_function *f = &x->m->functions[function];
    bool *registers = all ? flow_undefined(x->m, f) : must_calloc(f->register_count, sizeof *registers);
    bool *unset = x->unset[function] = must_calloc(f->register_count, sizeof *unset);
    for (size_t i = 0; i < f->param_count; ++i) /* parameters in registers come with what the caller gave */
        if (x->m->variables[f->params[i]].reg >= 0)
            registers[x->m->variables[f->params[i]].reg] = false;
    for (size_t i = 0; i < f->register_count; ++i)
        x->unset_registers |= unset[i] = registers[i];
    for (size_t i = 0; i < f->instruction_count && follows & FOLLOW_SHUFFLES; ++i)
        if (has_opcode(&f->instructions[i], "shfl") && f->instructions[i].operands[0].kind == PTX_OP_REGISTER)
            registers[f->instructions[i].operands[0].reg] = true;
    if (follows & FOLLOW_LOADS)
        watch_loads(f, registers);
    x->registers[function] = registers;
    spread(f, registers);
}

/* Bytes of .param variables in all, and rounds: beyond them everything is watched, or (bytes) none of these. */
enum { MOST_PARAM_BYTES = 4 << 20, MOST_ROUNDS = 64 };

struct watched *watched_open(const struct decoder *d, bool all) {
    const unsigned follows = d->p->follows;
    if (!all && !follows)
        return NULL;
    const struct ptx_module *m = d->m;
    struct watched *x = must_calloc(1, sizeof *x);
    x->m = m;
    x->all = all;
    x->registers = must_calloc(m->function_count, sizeof *x->registers);
    x->unset = must_calloc(m->function_count, sizeof *x->unset);
    x->first = must_calloc(m->variable_count + 1, sizeof *x->first);
    bool *reached = reachable(d);
    size_t bytes = 0;
    for (size_t i = 0; i < m->variable_count; ++i) {
        const struct ptx_variable *v = &m->variables[i];
        const bool frame = v->space == PTX_PARAM && v->function >= 0 && reached[v->function];
        x->first[i] = frame && v->bytes <= MOST_PARAM_BYTES - bytes ? bytes : SIZE_MAX;
        bytes += x->first[i] == bytes ? v->bytes : 0;
    }
    for (size_t i = 0; i < d->p->entry->param_count; ++i)
        x->first[d->p->entry->params[i]] = SIZE_MAX;
    x->bytes = must_calloc(bytes + 1, 1);
    struct block_stores s = {must_calloc(bytes + 1, sizeof *s.stamps), 0};
    for (size_t i = 0; i < m->function_count; ++i)
        if (reached[i] && !m->functions[i].declared_only) {
            begin(x, i, all, follows);
            if (all)
                find_unset(x, &m->functions[i], &s);
        }
    free(s.stamps), free(reached);
    x->grew = true;
    for (int round = 0; x->grew; ++round) {
        x->grew = false;
        if (round == MOST_ROUNDS)
            memset(x->bytes, 1, bytes);
        for (size_t i = 0; i < m->function_count; ++i)
            if (x->registers[i])
                go_through(x, i);
    }
    return x;
}

void watched_close(struct watched *x) {
    for (size_t i = 0; x && i < x->m->function_count; ++i)
        free(x->registers[i]), free(x->unset[i]);
    if (x)
        free(x->registers), free(x->unset), free(x->first), free(x->bytes);
    free(x);
}
