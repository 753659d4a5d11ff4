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
 * Local memory keeps undefined bits (local.c), and begins without any that are defined. Loads of it are treated like
 * shuffles: most programs load what they have stored, so what a load gives is followed once one has met undefined bits.
 *
 * Moves, packing, selection, shifts by constants and bitwise logic are exact to the bit; of everything else one
 * undefined bit in a source makes the result undefined. Where nothing is watched there is no record, and no cost. */
#include "../../ref/checked.h"
#include "decode_watched.h"
#include "undefined.h"
#include <stdlib.h>
#include <string.h>

struct undefined {
    bool *watched;         /* (registers) */
    int *shadow;           /* (registers) register number of the shadow in f, of a watched one */
    struct ptx_function f; /* the function with the shadows behind its registers */
};

/* ---- places of shadows ---- */

static unsigned bits_of(const struct decoder *d, int reg) {
    const unsigned bits = type_bits(d->f->registers[reg].type);
    return bits == 8 ? 16 : bits;
}
static enum place kind_of(const struct decoder *d, int reg) {
    const unsigned bits = bits_of(d, reg);
    return bits == 1 ? PLACE_PRED : bits == 128 ? PLACE_128 : bits == 64 ? PLACE_64 : PLACE_32;
}
static bool is_wide(enum place kind) {
    return kind == PLACE_64 || kind == PLACE_128;
}
static int64_t all_bits(const struct decoder *d, int reg) {
    const unsigned bits = bits_of(d, reg);
    return bits >= 64 ? -1 : ((int64_t)1 << bits) - 1;
}
static bool is_watched(const struct decoder *d, int reg) {
    return d->undefined && reg >= 0 && d->undefined->watched[reg];
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

/* The words for the undefined bits of a .param variable that may have such. */
static void shade_variable(struct decoder *d, int variable) {
    uint32_t *place = variable >= 0 ? &d->p->param_shadows[variable] : NULL;
    if (!place || *place || !watched_variable(d->watched, variable))
        return;
    const size_t words = (d->m->variables[variable].bytes + 3) / 4;
    *place = (uint32_t)d->file_end;
    for (size_t i = 0; i < words && d->watched->all && formal(d, variable) < 0; ++i)
        starts_poisoned(d, *place + 128 * (uint32_t)i, false);
    d->file_end += 128 * words;
}

/* Shadows of .param words, behind those of registers. */
static void shade_frame(struct decoder *d) {
    const struct ptx_function *f = d->f;
    size_t scratch = 0;
    for (size_t i = 0; i < f->param_count; ++i)
        shade_variable(d, f->params[i]);
    for (size_t i = 0; i < f->return_count; ++i)
        shade_variable(d, f->returns[i]);
    for (size_t i = 0; i < f->instruction_count; ++i) {
        const struct ptx_instruction *in = &f->instructions[i];
        const size_t bytes = call_scratch(in);
        scratch = bytes > scratch ? bytes : scratch;
        for (size_t k = 0; k < in->operand_count; ++k) {
            const struct ptx_operand *o = &in->operands[k];
            if (o->variable >= 0 && own_param(d, o))
                shade_variable(d, o->variable);
            for (size_t n = 0; o->kind == PTX_OP_LIST && n < o->element_count; ++n)
                if (o->elements[n].variable >= 0 && own_param(d, &o->elements[n]))
                    shade_variable(d, o->elements[n].variable);
        }
    }
    d->scratch_shadow = d->file_end;
    if (d->undefined)
        d->file_end += 32 * scratch;
}

static void shade_registers(struct decoder *d, const bool *watched, const bool *unset) {
    const struct ptx_function *f = d->f;
    size_t count = 0;
    struct undefined *u = d->undefined = must_calloc(1, sizeof *u);
    u->watched = must_calloc(f->register_count, sizeof *u->watched);
    u->shadow = must_calloc(f->register_count, sizeof *u->shadow);
    for (size_t i = 0; i < f->register_count; ++i) {
        u->watched[i] = watched[i];
        u->shadow[i] = u->watched[i] ? (int)(f->register_count + count++) : -1;
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
            if (!u->watched[i] || is_wide(kind) == narrow)
                continue;
            const size_t s = (size_t)u->shadow[i];
            u->f.registers[s] = f->registers[i];
            d->read_across[s] = false;
            if (kind == PLACE_PRED) {
                d->slot[s] = d->pred_end++;
            } else {
                d->slot[s] = (uint32_t)d->file_end;
                d->file_end += kind == PLACE_128 ? 512 : kind == PLACE_64 ? 256 : 128;
            }
        }
        if (!narrow)
            d->c->window_shadow = (uint32_t)d->file_end;
    }
    d->guard = 0;
    for (size_t i = 0; i < f->register_count; ++i)
        if (unset[i])
            helper(d, op_undefined_set, place_of(d, (int)i), kind_of(d, (int)i), 0, 0, all_bits(d, (int)i));
}

void undefined_open(struct decoder *d) {
    const struct watched *x = d->watched && d->watched->registers[d->function] ? d->watched : NULL;
    bool any = false;
    for (size_t i = 0; x && i < d->f->register_count; ++i)
        any |= x->registers[d->function][i];
    if (any)
        shade_registers(d, x->registers[d->function], x->unset[d->function]);
    if (x)
        shade_frame(d);
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

static struct record *check(struct decoder *d, int reg, uint64_t bits) {
    if (!is_watched(d, reg))
        return NULL;
    const uint32_t at = wide(d, 3);
    d->p->wide[at] = kind_of(d, reg);
    d->p->wide[at + 1] = place_of(d, reg);
    d->p->wide[at + 2] = add_name(d, reg);
    struct record *r = helper(d, op_undefined_check, FILE_SCRATCH, 0, 1, 0, (int64_t)bits);
    r->wide = at;
    return r;
}

static void check_operand(struct decoder *d, const struct ptx_operand *o, uint64_t bits) {
    size_t next = 0;
    for (int reg; (reg = register_of(o, &next)) >= 0;)
        check(d, reg, bits);
}

/* What is stored to a generic address: local memory keeps what is undefined of it. */
static void check_kept(struct decoder *d, uint64_t bits) {
    const struct ptx_operand *to = &d->in->operands[0];
    size_t next = 0;
    for (int reg; (reg = register_of(&d->in->operands[1], &next)) >= 0;) {
        struct record *r = check(d, reg, bits);
        if (r && to->reg >= 0 && bits_of(d, to->reg) == 64) {
            r->a = d->slot[to->reg];
            r->c = 1;
        }
    }
}

/* Bits of a source that an instruction with EFFECT_CHECK looks at: a store those of its element. */
static uint64_t bits_used(const struct ptx_instruction *in, size_t operand) {
    if (!has_opcode(in, "st") || operand == 0)
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
            if (o->kind != PTX_OP_ADDRESS)
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
    if (d->undefined)
        d->f = &d->undefined->f;
    d->first = false;
    d->shading = true;
    const bool ok = decode_one(d);
    for (size_t i = 0; i < copy.operand_count && i < kept; ++i)
        if (copy.operands[i].kind == PTX_OP_VECTOR)
            free(copy.operands[i].elements);
    free(copy.operands);
    d->in = before.in;
    d->f = before.f;
    d->first = before.first;
    d->shading = false;
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
    const size_t sources = has_opcode(d->in, "lop3") ? 3 : d->in->operand_count - 1;
    unsigned table = sources == 3 ? (unsigned)o[4].bits & 255 : 0;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; ++i)
        table = has_opcode(d->in, tables[i].opcode) ? tables[i].table : table;
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

/* ld.param, st.param: moves the undefined bits of a variable that may have such. */
static bool in_frame(struct decoder *d, bool (*decode_one)(struct decoder *d)) {
    const bool store = has_opcode(d->in, "st");
    const struct ptx_operand *o = d->in->operands, *at = &o[store ? 0 : 1], *data = &o[store ? 1 : 0];
    const int n = at->variable >= 0 ? formal(d, at->variable) : -1;
    const uint32_t place = at->variable >= 0 && at->reg < 0 ? d->p->param_shadows[at->variable] : 0;
    if (!place || (n >= 0 && d->spill[n])) {
        if (!store)
            any(d);
        return true;
    }
    if (store && data->kind == PTX_OP_REGISTER && bits_of(d, data->reg) == 128 && !is_watched(d, data->reg)) {
        const bool first = d->first; /* there are no constants of 128 bits */
        d->first = false;
        for (uint32_t i = 0; i < 4; ++i)
            lane(d, OP_mov_b32, place + 128 * ((uint32_t)at->displacement / 4 + i), constant(d, 0, false), 0, 0, 0);
        d->first = first;
        return true;
    }
    size_t next = 0;
    bool needed = store;
    for (int reg; !needed && (reg = register_of(data, &next)) >= 0;)
        needed = is_watched(d, reg);
    return !needed || on_shadows(d, d->in->operand_count, decode_one);
}

bool undefined_before(struct decoder *d, bool (*decode_one)(struct decoder *d)) {
    if (!d->watched)
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
        else if (has_opcode(in, "call") && in->operands[o].kind == PTX_OP_REGISTER) /* its target */
            check_operand(d, &in->operands[o], UINT64_MAX);
        else if (o == 1 && has_opcode(in, "st") && is_generic(in))
            check_kept(d, bits_used(in, o));
        else if (o == 1 && has_opcode(in, "st") && has_part(in, "local"))
            continue;
        else if (!is_result(in, o) && (effect == EFFECT_CHECK || (effect == EFFECT_SHUFFLE && o != 1)))
            check_operand(d, &in->operands[o], bits_used(in, o));
    }
    switch (effect) {
    case EFFECT_SHADOW:
        if (has_watched_source(d)) {
            if (!on_shadows(d, kept, decode_one))
                return false;
            if (has_opcode(in, "selp") && in->operand_count == 4)
                spoil(d, in->operands[0].reg, in->operands[3].reg);
            return true;
        }
        break;
    case EFFECT_LOGIC:
        if (has_watched_source(d))
            return logic(d);
        break;
    case EFFECT_PARAM:
        if (in->operand_count >= 2)
            return in_frame(d, decode_one);
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
    if (has_opcode(in, "call")) /* its results may be its arguments: decode_call sets them behind it */
        return true;
    for (size_t o = 0; o < in->operand_count; ++o)
        if (is_result(in, o))
            define(d, &in->operands[o]);
    return true;
}

bool undefined_place(struct decoder *d, int reg, uint32_t *offset) {
    if (!is_watched(d, reg))
        return false;
    *offset = place_of(d, reg);
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
