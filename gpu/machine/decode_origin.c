/* Records that move the tags of values ahead of each instruction: origin.h. */
#include "decode_watched.h"
#include "origin.h"
#include <stdlib.h>
#include <string.h>

static uint32_t offset_of(const struct decoder *d, const struct ptx_operand *o, int reg) {
    (void)o;
    return reg >= 0 && d->f->registers[reg].type != PTX_PRED ? d->slot[reg] : 0;
}

enum { MOST_REGISTERS = 64 };
struct registers {
    uint32_t at[MOST_REGISTERS];
    uint32_t count;
};

static void add(struct registers *x, uint32_t offset) {
    if (x->count < MOST_REGISTERS)
        x->at[x->count++] = offset;
}

/* All of an operand, predicates and constants left out. */
static void add_all(const struct decoder *d, struct registers *x, const struct ptx_operand *o) {
    size_t next = 0;
    for (int reg; (reg = register_of(o, &next)) >= 0;)
        if (offset_of(d, o, reg))
            add(x, offset_of(d, o, reg));
}

/* One place for each element of memory. */
static void add_elements(const struct decoder *d, struct registers *x, const struct ptx_operand *o) {
    if (o->kind != PTX_OP_VECTOR)
        add(x, o->kind == PTX_OP_REGISTER ? offset_of(d, o, o->reg) : 0);
    for (size_t i = 0; o->kind == PTX_OP_VECTOR && i < o->element_count; ++i)
        add(x, o->elements[i].kind == PTX_OP_REGISTER ? offset_of(d, o, o->elements[i].reg) : 0);
}

static unsigned element_bytes(const struct ptx_instruction *in) {
    unsigned bytes = 4;
    for (size_t i = 0; i < in->part_count; ++i)
        if (ptx_type_bytes(ptx_type_named(in->parts[i])))
            bytes = (unsigned)ptx_type_bytes(ptx_type_named(in->parts[i]));
    return bytes;
}

static void emit_origin(struct decoder *d, enum origin_kind kind, const struct registers *results,
                        const struct registers *sources, int64_t imm) {
    const bool first = d->first;
    d->first = false;
    const uint32_t list = wide(d, results->count + sources->count + 1);
    memcpy(d->p->wide + list, results->at, results->count * sizeof *results->at);
    memcpy(d->p->wide + list + results->count, sources->at, sources->count * sizeof *sources->at);
    emit(d, op_origin, BLEND_NONE, results->count, sources->count, 0, (uint32_t)kind, imm)->wide = list;
    d->first = first;
}

/* The address as a register behind the sources; false: of a space whose values are not followed. */
static bool add_address(struct decoder *d, struct registers *x, const struct ptx_operand *o, int64_t *imm) {
    const struct ptx_instruction *in = d->in;
    const bool shared = has_part(in, "shared") || has_part(in, "shared::cta"), global = has_part(in, "global");
    const int64_t space = shared ? ORIGIN_SHARED : global ? ORIGIN_GLOBAL : ORIGIN_GENERIC;
    int64_t displacement = o->displacement;
    uint64_t variable = 0;
    bool is_wide = true;
    if (!shared && !global &&
        (has_part(in, "local") || has_part(in, "const") || has_part(in, "param") || has_part(in, "param::entry") ||
         has_part(in, "param::func") || has_part(in, "shared::cluster")))
        return false;
    if (o->kind != PTX_OP_ADDRESS)
        return false;
    if (o->reg >= 0) {
        is_wide = type_bits(d->f->registers[o->reg].type) == 64;
        add(x, d->slot[o->reg]);
    } else {
        if (o->variable >= 0) {
            const enum ptx_space s = d->m->variables[o->variable].space;
            if ((s != PTX_SHARED && s != PTX_GLOBAL) || !variable_address(d, o->variable, &variable))
                return false;
        }
        add(x, constant(d, variable, true));
    }
    if (displacement < -(INT64_C(1) << 46) || displacement >= INT64_C(1) << 46)
        return false;
    *imm = displacement * 65536 | (int64_t)element_bytes(in) << 8 | (is_wide ? ORIGIN_WIDE_ADDRESS : 0) |
           (d->f->entry ? 0 : ORIGIN_IN_FUNCTION) | space << ORIGIN_SPACE;
    return true;
}

static bool shuffle(struct decoder *d) {
    static const char *const modes[] = {"up", "down", "bfly", "idx"};
    struct registers results = {.count = 0}, sources = {.count = 0};
    int64_t mode = 0;
    uint32_t b, c;
    if (d->in->operand_count < 4 || !source_number(d, 2, 32, &b) || !source_number(d, 3, 32, &c))
        return d->in->operand_count < 4; /* decode_warp.c says what is wrong */
    while (mode < 3 && !has_part(d->in, modes[mode]))
        ++mode;
    add_elements(d, &results, &d->in->operands[0]);
    add_elements(d, &sources, &d->in->operands[1]);
    add(&sources, b);
    add(&sources, c);
    emit_origin(d, ORIGIN_SHUFFLE, &results, &sources, mode);
    return true;
}

static enum origin_kind memory_kind(const struct ptx_instruction *in) {
    return has_opcode(in, "ld") || has_opcode(in, "ldu")     ? ORIGIN_LOAD
           : has_opcode(in, "st")                            ? ORIGIN_STORE
           : has_opcode(in, "red") || has_opcode(in, "atom") ? ORIGIN_ATOMIC
           : has_opcode(in, "cp") && has_part(in, "async")   ? ORIGIN_COPY
                                                             : ORIGIN_FLOW;
}

/* Of an access in a space that is not followed: the kernel's parameters and constants hold no accumulators. */
static enum origin_kind untracked(const struct decoder *d) {
    return has_part(d->in, "const") || (d->f->entry && formal(d, d->in->operands[1].variable) >= 0) ? ORIGIN_NONE
                                                                                                    : ORIGIN_UNKNOWN;
}

static void memory(struct decoder *d, enum origin_kind kind) {
    const struct ptx_instruction *in = d->in;
    const bool gives = kind == ORIGIN_LOAD || (kind == ORIGIN_ATOMIC && has_opcode(in, "atom"));
    struct registers results = {.count = 0}, sources = {.count = 0};
    int64_t imm = 0;
    const size_t at = gives ? 1 : 0;
    if (in->operand_count < (kind == ORIGIN_COPY ? 3u : 2u))
        return;
    if (gives)
        add_elements(d, &results, &in->operands[0]);
    for (size_t k = at + 1; kind != ORIGIN_COPY && kind != ORIGIN_LOAD && k < in->operand_count; ++k)
        add_elements(d, &sources, &in->operands[k]);
    if (!add_address(d, &sources, &in->operands[at], &imm)) {
        sources.count = 0;
        if (kind == ORIGIN_LOAD)
            emit_origin(d, untracked(d), &results, &sources, 0);
        else if (gives)
            emit_origin(d, ORIGIN_UNKNOWN, &results, &sources, 0);
        return;
    }
    if (kind == ORIGIN_COPY) /* the bytes in the place of the elements' size */
        imm = (imm & ~(int64_t)0xff00) | (int64_t)(in->operands[2].bits & 0xff) << 8;
    emit_origin(d, kind, &results, &sources, imm);
}

static enum origin_kind other_kind(const struct ptx_instruction *in) {
    static const char *const crossing[] = {"mma", "wmma", "redux", "match", "vote", "movmatrix", "wgmma"};
    if (has_opcode(in, "mma") && (has_part(in, "s8") || has_part(in, "u8")))
        return ORIGIN_WRITE;
    if (has_opcode(in, "stmatrix"))
        return ORIGIN_MATRICES;
    if (has_opcode(in, "ldmatrix"))
        return ORIGIN_LDMATRIX;
    if (has_opcode(in, "call"))
        return ORIGIN_UNKNOWN;
    for (size_t i = 0; i < sizeof crossing / sizeof *crossing; ++i)
        if (has_opcode(in, crossing[i]))
            return ORIGIN_CROSS;
    return ORIGIN_FLOW;
}

bool origin_aside(struct decoder *d) {
    const struct ptx_instruction *in = d->in;
    struct registers results = {.count = 0}, sources = {.count = 0};
    if (!d->l->options.probe)
        return true;
    if (has_opcode(in, "shfl"))
        return shuffle(d);
    if (memory_kind(in) != ORIGIN_FLOW) {
        memory(d, memory_kind(in));
        return true;
    }
    for (size_t k = 0; k < in->operand_count; ++k)
        if (is_result(in, k))
            add_all(d, &results, &in->operands[k]);
        else if (in->operands[k].kind != PTX_OP_ADDRESS)
            add_all(d, &sources, &in->operands[k]);
    if (results.count || has_opcode(in, "stmatrix"))
        emit_origin(d, other_kind(in), &results, &sources, 0);
    return true;
}
