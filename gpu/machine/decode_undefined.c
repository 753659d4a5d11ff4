/* Which registers may be used before they are written, and the helper records that watch them at run time.
 *
 * flow.c finds the registers that some path reads before it writes them: hardly any in code that nvcc optimised. Of
 * those, and of all that is computed from them, the machine keeps which bits of which lanes are undefined, in a shadow
 * register of the same width. A shadow begins all ones. A record ahead of each instruction that writes a watched
 * register gives its shadow the new value, a record ahead of each use that matters looks at it: addresses, guards and
 * branches, stored values, operands of mma and of what lanes do together. Arithmetic, moves, conversions, comparisons
 * and shuffles hand undefined bits on and are no fault: compilers move them ahead of the branch that decides whether
 * they count, and copy values around loops that no turn has set yet. That is the rule of Valgrind's Memcheck, lane by
 * lane.
 *
 * What a shuffle reads of a lane that does not take part is undefined as well (PTX ISA 9.7.9.6), and so harmless where
 * it is not used. That many kernels have shuffles, and few read absent lanes: a launch is run without following them
 * first, and again with it when one did.
 *
 * Moves, packing, selection, shifts by constants and bitwise logic are exact to the bit; of everything else one
 * undefined bit in a source makes the result undefined. Where nothing is watched there is no record, and no cost. */
#include "../../ref/checked.h"
#include "undefined.h"
#include <stdlib.h>
#include <string.h>

struct undefined {
    bool *watched;         /* (registers) */
    int *shadow;           /* (registers) register number of the shadow in f, of a watched one */
    struct ptx_function f; /* the function with the shadows behind its registers */
};

static bool is(const struct ptx_instruction *in, const char *opcode) {
    return !strcmp(in->opcode, opcode);
}

static bool has_part(const struct ptx_instruction *in, const char *part) {
    for (size_t i = 0; i < in->part_count; ++i)
        if (!strcmp(in->parts[i], part))
            return true;
    return false;
}

/* ---- what an instruction does with its sources ---- */

enum effect {
    EFFECT_ANY,    /* the results depend on all of every source */
    EFFECT_SHADOW, /* the same instruction on the shadows moves the undefined bits; operands of `kept` are as they are
                    */
    EFFECT_LOGIC,  /* bitwise */
    EFFECT_SHUFFLE,
    EFFECT_CHECK, /* sources must be defined */
    EFFECT_FREE,  /* undefined sources do no harm here */
};

static bool is_integer_conversion(const struct ptx_instruction *in) {
    return is(in, "cvt") && in->part_count == 2 && type_integer(ptx_type_named(in->parts[0])) &&
           type_integer(ptx_type_named(in->parts[1]));
}

static bool all_constant(const struct ptx_instruction *in, size_t first) {
    for (size_t i = first; i < in->operand_count; ++i)
        if (in->operands[i].kind != PTX_OP_INTEGER)
            return false;
    return in->operand_count > first;
}

/* *kept: the first source that is a control and no data, for EFFECT_SHADOW. */
static enum effect effect_of(const struct ptx_instruction *in, size_t *kept) {
    static const char *const checked[] = {"st",   "stmatrix", "red",      "atom",     "bar", "barrier",
                                          "mma",  "wmma",     "match",    "redux",    "brx", "cp",
                                          "vote", "elect",    "mbarrier", "movmatrix"};
    static const struct {
        const char *opcode;
        size_t kept;
    } shifts[] = {{"shl", 2}, {"shr", 2}, {"bfe", 2}, {"bfi", 3}, {"prmt", 3}, {"shf", 3}};
    static const char *const logic[] = {"and", "or", "xor", "not", "lop3"};
    *kept = in->operand_count;
    if ((is(in, "st") && (has_part(in, "param") || has_part(in, "param::func"))) || is(in, "call") ||
        is(in, "nanosleep"))
        return EFFECT_FREE; /* whoever reads the parameter has a register of its own */
    for (size_t i = 0; i < sizeof checked / sizeof *checked; ++i)
        if (is(in, checked[i]))
            return EFFECT_CHECK;
    if (is(in, "shfl"))
        return EFFECT_SHUFFLE;
    if (is(in, "mov") || is_integer_conversion(in))
        return EFFECT_SHADOW;
    if (is(in, "selp")) {
        *kept = 3;
        return EFFECT_SHADOW;
    }
    for (size_t i = 0; i < sizeof shifts / sizeof *shifts; ++i)
        if (is(in, shifts[i].opcode)) {
            *kept = shifts[i].kept;
            return all_constant(in, *kept) ? EFFECT_SHADOW : EFFECT_ANY;
        }
    for (size_t i = 0; i < sizeof logic / sizeof *logic; ++i)
        if (is(in, logic[i]))
            return in->operand_count == (i == 4   ? 5u
                                         : i == 3 ? 2u
                                                  : 3u) &&
                           in->operands[0].second < 0
                       ? EFFECT_LOGIC
                       : EFFECT_ANY;
    return EFFECT_ANY;
}

static bool is_result(const struct ptx_instruction *in, size_t operand) {
    return flow_writes(in, operand) && in->operands[operand].kind != PTX_OP_ADDRESS;
}

/* ---- which registers are watched ---- */

/* The registers of an operand, one after the other: *next counts from 0, -1 at the end. */
static int register_of(const struct ptx_operand *o, size_t *next) {
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

static bool hands_on(const struct ptx_instruction *in, size_t operand) {
    size_t kept;
    const enum effect effect = effect_of(in, &kept);
    if (effect == EFFECT_CHECK || effect == EFFECT_FREE || in->operands[operand].kind == PTX_OP_ADDRESS)
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

/* ---- places of shadows ---- */

static unsigned bits_of(const struct decoder *d, int reg) {
    const unsigned bits = type_bits(d->f->registers[reg].type);
    return bits == 8 ? 16 : bits;
}
static enum place kind_of(const struct decoder *d, int reg) {
    const unsigned bits = bits_of(d, reg);
    return bits == 1 ? PLACE_PRED : bits == 64 ? PLACE_64 : PLACE_32;
}
static int64_t all_bits(const struct decoder *d, int reg) {
    const unsigned bits = bits_of(d, reg);
    return bits == 64 ? -1 : ((int64_t)1 << bits) - 1;
}
static bool is_watched(const struct decoder *d, int reg) {
    return reg >= 0 && d->undefined->watched[reg];
}
static uint32_t place_of(const struct decoder *d, int reg) {
    return d->slot[d->undefined->shadow[reg]];
}

/* A record that counts as no instruction of its own. */
static struct record *helper(struct decoder *d, handler *run, uint32_t dst, uint32_t a, uint32_t b, uint32_t c,
                             int64_t imm) {
    const bool first = d->first;
    d->first = false;
    struct record *r = emit(d, run, BLEND_NONE, dst, a, b, c, imm);
    d->first = first;
    return r;
}

void undefined_open(struct decoder *d) {
    const struct ptx_function *f = d->f;
    const bool all = !(d->l->options.unwatched & WATCH_UNINIT);
    if (!f->register_count || !(all || d->p->follows_shuffles))
        return;
    bool *watched = all ? flow_undefined(f) : must_calloc(f->register_count, sizeof *watched);
    for (size_t i = 0; i < f->param_count; ++i) /* parameters in registers come with a value */
        if (d->m->variables[f->params[i]].reg >= 0)
            watched[d->m->variables[f->params[i]].reg] = false;
    bool *unset = must_calloc(f->register_count, sizeof *unset);
    for (size_t i = 0; i < f->register_count; ++i)
        unset[i] = watched[i] = watched[i] && type_bits(f->registers[i].type) != 128;
    for (size_t i = 0; i < f->instruction_count && d->p->follows_shuffles; ++i)
        if (is(&f->instructions[i], "shfl") && f->instructions[i].operands[0].kind == PTX_OP_REGISTER)
            watched[f->instructions[i].operands[0].reg] = true;
    size_t count = 0;
    for (size_t i = 0; i < f->register_count; ++i)
        count += watched[i];
    if (!count) {
        free(watched), free(unset);
        return;
    }
    spread(f, watched);
    struct undefined *u = d->undefined = must_calloc(1, sizeof *u);
    u->watched = watched;
    u->shadow = must_calloc(f->register_count, sizeof *u->shadow);
    for (size_t i = count = 0; i < f->register_count; ++i) {
        watched[i] = watched[i] && type_bits(f->registers[i].type) != 128;
        u->shadow[i] = watched[i] ? (int)(f->register_count + count++) : -1;
    }
    u->f = *f;
    u->f.register_count = f->register_count + count;
    u->f.registers = must_calloc(u->f.register_count, sizeof *u->f.registers);
    memcpy(u->f.registers, f->registers, f->register_count * sizeof *f->registers);
    d->slot = must_realloc(d->slot, u->f.register_count, sizeof *d->slot);
    d->read_across = must_realloc(d->read_across, u->f.register_count, sizeof *d->read_across);
    for (int narrow = 0; narrow < 2; ++narrow) { /* in the order that struct callee asks for */
        for (size_t i = 0; i < f->register_count; ++i) {
            const enum place kind = kind_of(d, (int)i);
            if (!watched[i] || (kind != PLACE_64) != narrow)
                continue;
            const size_t s = (size_t)u->shadow[i];
            u->f.registers[s] = f->registers[i];
            d->read_across[s] = false;
            if (kind == PLACE_PRED) {
                d->slot[s] = d->pred_end++;
            } else {
                d->slot[s] = (uint32_t)d->file_end;
                d->file_end += kind == PLACE_64 ? 256 : 128;
            }
        }
        if (!narrow)
            d->c->window_shadow = (uint32_t)d->file_end;
    }
    d->guard = 0;
    for (size_t i = 0; i < f->register_count; ++i)
        if (unset[i])
            helper(d, op_undefined_set, place_of(d, (int)i), kind_of(d, (int)i), 0, 0, all_bits(d, (int)i));
    free(unset);
}

void undefined_close(struct decoder *d) {
    if (!d->undefined)
        return;
    free(d->undefined->watched), free(d->undefined->shadow), free(d->undefined->f.registers);
    free(d->undefined);
    d->undefined = NULL;
}

/* ---- records ---- */

static uint32_t add_name(struct decoder *d, int reg) {
    struct program *p = d->p;
    if (!(p->name_count & (p->name_count + 1))) /* room is the next power of two */
        p->names = must_realloc(p->names, 2 * p->name_count + 2, sizeof *p->names);
    p->names[p->name_count] = d->f->registers[reg].name;
    return (uint32_t)p->name_count++;
}

static void check(struct decoder *d, int reg, uint64_t bits) {
    if (!is_watched(d, reg))
        return;
    const uint32_t at = wide(d, 3);
    d->p->wide[at] = kind_of(d, reg);
    d->p->wide[at + 1] = place_of(d, reg);
    d->p->wide[at + 2] = add_name(d, reg);
    helper(d, op_undefined_check, FILE_SCRATCH, 0, 1, 0, (int64_t)bits)->wide = at;
}

static void check_operand(struct decoder *d, const struct ptx_operand *o, uint64_t bits) {
    size_t next = 0;
    for (int reg; (reg = register_of(o, &next)) >= 0;)
        check(d, reg, bits);
}

/* Bits of a source that an instruction with EFFECT_CHECK looks at: a store those of its element. */
static uint64_t bits_used(const struct ptx_instruction *in, size_t operand) {
    if (!is(in, "st") || operand == 0)
        return UINT64_MAX;
    for (size_t i = 0; i < in->part_count; ++i) {
        const size_t bytes = ptx_type_bytes(ptx_type_named(in->parts[i]));
        if (bytes)
            return bytes >= 8 ? UINT64_MAX : ((uint64_t)1 << 8 * bytes) - 1;
    }
    return UINT64_MAX;
}

/* The results of the instruction get bits that are undefined where one of its watched sources is; none of them: they
 * become defined. */
static void any(struct decoder *d) {
    const struct ptx_instruction *in = d->in;
    uint32_t count = 0;
    for (int pass = 0; pass < 2; ++pass) {
        const uint32_t at = pass ? wide(d, 2 * (size_t)count) : 0;
        uint32_t k = 0;
        for (size_t o = 0; o < in->operand_count; ++o) {
            size_t next = 0;
            if (is_result(in, o) || !hands_on(in, o))
                continue;
            for (int reg; (reg = register_of(&in->operands[o], &next)) >= 0;) {
                if (!is_watched(d, reg))
                    continue;
                if (pass) {
                    d->p->wide[at + 2 * k] = kind_of(d, reg);
                    d->p->wide[at + 2 * k + 1] = place_of(d, reg);
                }
                ++k;
            }
        }
        count = k;
        for (size_t o = 0; pass && o < in->operand_count; ++o) {
            size_t next = 0;
            if (!is_result(in, o))
                continue;
            /* A result that is a source as well: its new bits say the same to the results after it. */
            for (int reg; (reg = register_of(&in->operands[o], &next)) >= 0;)
                if (is_watched(d, reg))
                    helper(d, op_undefined_any, place_of(d, reg), kind_of(d, reg), count, 0, all_bits(d, reg))->wide =
                        at;
        }
    }
}

static void define(struct decoder *d, const struct ptx_operand *o) {
    size_t next = 0;
    for (int reg; (reg = register_of(o, &next)) >= 0;)
        if (is_watched(d, reg))
            helper(d, op_undefined_any, place_of(d, reg), kind_of(d, reg), 0, 0, all_bits(d, reg));
}

static bool has_watched_source(const struct decoder *d) {
    for (size_t o = 0; o < d->in->operand_count; ++o) {
        size_t next = 0;
        if (is_result(d->in, o) || !hands_on(d->in, o))
            continue;
        for (int reg; (reg = register_of(&d->in->operands[o], &next)) >= 0;)
            if (is_watched(d, reg))
                return true;
    }
    return false;
}

/* The operand with shadows in place of registers: what is not watched is all defined, zeros; results go nowhere then.
 */
static void shade(const struct decoder *d, struct ptx_operand *o, bool result) {
    o->negated = o->minus = false;
    o->second = -1;
    if (o->kind == PTX_OP_REGISTER && is_watched(d, o->reg)) {
        o->reg = d->undefined->shadow[o->reg];
    } else if (result) {
        *o = (struct ptx_operand){.kind = PTX_OP_SINK, .reg = -1, .second = -1, .variable = -1, .function = -1};
    } else {
        *o = (struct ptx_operand){.kind = PTX_OP_INTEGER, .reg = -1, .second = -1, .variable = -1, .function = -1};
    }
}

/* Decodes the instruction on the shadows. */
static bool on_shadows(struct decoder *d, size_t kept, bool (*decode_one)(struct decoder *d)) {
    const struct decoder before = *d;
    struct ptx_instruction copy = *d->in;
    copy.operands = must_calloc(copy.operand_count, sizeof *copy.operands);
    memcpy(copy.operands, d->in->operands, copy.operand_count * sizeof *copy.operands);
    for (size_t i = 0; i < copy.operand_count && i < kept; ++i) {
        struct ptx_operand *o = &copy.operands[i];
        if (o->kind != PTX_OP_VECTOR) {
            shade(d, o, is_result(d->in, i));
            continue;
        }
        struct ptx_operand *elements = must_calloc(o->element_count, sizeof *elements);
        memcpy(elements, o->elements, o->element_count * sizeof *elements);
        for (size_t k = 0; k < o->element_count; ++k)
            shade(d, &elements[k], is_result(d->in, i));
        o->elements = elements;
    }
    d->in = &copy;
    d->f = &d->undefined->f;
    d->first = false;
    const bool ok = decode_one(d);
    for (size_t i = 0; i < copy.operand_count && i < kept; ++i)
        if (copy.operands[i].kind == PTX_OP_VECTOR)
            free(copy.operands[i].elements);
    free(copy.operands);
    d->in = before.in;
    d->f = before.f;
    d->first = before.first;
    d->taken = d->temps = d->pred_temps = 0;
    return ok;
}

/* selp by a predicate that is undefined itself. */
static void spoil(struct decoder *d, int result, int pred) {
    if (!is_watched(d, pred) || !is_watched(d, result))
        return;
    const uint32_t at = wide(d, 2);
    d->p->wide[at] = PLACE_PRED;
    d->p->wide[at + 1] = place_of(d, pred);
    helper(d, op_undefined_any, place_of(d, result), kind_of(d, result), 1, 1, all_bits(d, result))->wide = at;
}

static bool logic(struct decoder *d) {
    static const struct {
        const char *opcode;
        unsigned table;
    } tables[] = {{"and", 0xc0}, {"or", 0xfc}, {"xor", 0x3c}, {"not", 0x0f}};
    const struct ptx_operand *o = d->in->operands;
    const int to = o[0].reg;
    if (o[0].kind != PTX_OP_REGISTER || !is_watched(d, to))
        return true;
    const size_t sources = is(d->in, "lop3") ? 3 : d->in->operand_count - 1;
    unsigned table = sources == 3 ? (unsigned)o[4].bits & 255 : 0;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; ++i)
        table = is(d->in, tables[i].opcode) ? tables[i].table : table;
    const unsigned bits = bits_of(d, to);
    const uint32_t none = bits == 1 ? PRED_FALSE : constant(d, 0, bits == 64);
    uint32_t from[6];
    for (size_t i = 0; i < 3; ++i) {
        from[i] = from[i + 3] = none;
        if (i >= sources)
            continue;
        if (bits == 1 ? !pred_source(d, &o[i + 1], &from[i]) : !source(d, &o[i + 1], bits, &from[i]))
            return false;
        if (o[i + 1].kind == PTX_OP_REGISTER && is_watched(d, o[i + 1].reg))
            from[i + 3] = place_of(d, o[i + 1].reg);
    }
    const uint32_t at = wide(d, 6);
    memcpy(d->p->wide + at, from, sizeof from);
    helper(d, op_undefined_logic, place_of(d, to), kind_of(d, to), 0, 0, table)->wide = at;
    return true;
}

bool undefined_before(struct decoder *d, bool (*decode_one)(struct decoder *d)) {
    if (!d->undefined)
        return true;
    const struct ptx_instruction *in = d->in;
    size_t kept;
    const enum effect effect = effect_of(in, &kept);
    if (in->guard >= 0) { /* of all lanes that come here */
        const uint32_t guard = d->guard;
        d->guard = 0;
        check(d, in->guard, UINT64_MAX);
        d->guard = guard;
    }
    for (size_t o = 0; o < in->operand_count; ++o) {
        if (in->operands[o].kind == PTX_OP_ADDRESS)
            check_operand(d, &in->operands[o], UINT64_MAX);
        else if (!is_result(in, o) && (effect == EFFECT_CHECK || (effect == EFFECT_SHUFFLE && o != 1)))
            check_operand(d, &in->operands[o], bits_used(in, o));
    }
    switch (effect) {
    case EFFECT_SHADOW:
        if (has_watched_source(d)) {
            if (!on_shadows(d, kept, decode_one))
                return false;
            if (is(in, "selp") && in->operand_count == 4)
                spoil(d, in->operands[0].reg, in->operands[3].reg);
            return true;
        }
        break;
    case EFFECT_LOGIC:
        if (has_watched_source(d))
            return logic(d);
        break;
    case EFFECT_ANY:
        any(d);
        return true;
    case EFFECT_SHUFFLE:
        if (in->operand_count && in->operands[0].second >= 0) {
            const struct ptx_operand second = {.reg = in->operands[0].second, .second = -1};
            define(d, &second);
        }
        return true; /* op_shfl does the rest */
    case EFFECT_CHECK:
    case EFFECT_FREE:
        break;
    }
    for (size_t o = 0; o < in->operand_count; ++o)
        if (is_result(in, o))
            define(d, &in->operands[o]);
    return true;
}

void undefined_shuffle(struct decoder *d, uint32_t *value, uint32_t *result) {
    *value = *result = 0;
    const struct ptx_operand *o = d->in->operands;
    if (!d->undefined || o[0].kind != PTX_OP_REGISTER || !is_watched(d, o[0].reg))
        return;
    *result = place_of(d, o[0].reg);
    *value = o[1].kind == PTX_OP_REGISTER && is_watched(d, o[1].reg) ? place_of(d, o[1].reg) : constant(d, 0, false);
}
