/* Records behind the instructions that probe.step is told of: which registers they give, or what they store where. */
#include "decode_watched.h"
#include "probe.h"
#include <string.h>

struct list {
    uint32_t words[STEP_MOST + 1][STEP_WORDS];
    uint32_t count;
};

static void add(struct list *x, unsigned bits, uint32_t place, uint32_t name, int64_t displacement) {
    if (x->count == STEP_MOST)
        return;
    uint32_t *to = x->words[x->count++];
    to[STEP_KIND] = bits;
    to[STEP_PLACE] = place;
    to[STEP_NAME] = name;
    to[STEP_LOW] = (uint32_t)displacement;
    to[STEP_HIGH] = (uint32_t)((uint64_t)displacement >> 32);
}

static void add_register(const struct decoder *d, struct list *x, int reg, int64_t displacement) {
    const enum ptx_type t = d->f->registers[reg].type;
    const unsigned bits = type_bits(t);
    add(x, bits == 1 ? 1 : bits >= 64 ? 64 : 32, d->slot[reg], (uint32_t)reg + 1, displacement);
    if (bits == 128) /* two halves */
        add(x, 64, d->slot[reg] + 256, (uint32_t)reg + 1, displacement);
}

static void add_results(const struct decoder *d, struct list *x, const struct ptx_operand *o) {
    size_t next = 0;
    for (int reg; (reg = register_of(o, &next)) >= 0;)
        add_register(d, x, reg, 0);
}

/* False: in a space whose addresses say nothing, or nobody's. */
static bool add_address(struct decoder *d, struct list *x, const struct ptx_operand *o) {
    uint64_t at = 0;
    if (has_part(d->in, "local") || has_part(d->in, "param") || has_part(d->in, "param::func"))
        return false;
    if (o->reg >= 0) {
        add_register(d, x, o->reg, o->displacement);
        return true;
    }
    if (o->variable >= 0) {
        const enum ptx_space s = d->m->variables[o->variable].space;
        if ((s != PTX_SHARED && s != PTX_GLOBAL) || !variable_address(d, o->variable, &at))
            return false;
    }
    add(x, 64, constant(d, at, true), 0, o->displacement);
    return true;
}

static void add_stored(struct decoder *d, struct list *x, const struct ptx_operand *o) {
    if (o->kind == PTX_OP_ADDRESS)
        add_address(d, x, o);
    else if (o->kind == PTX_OP_INTEGER || o->kind == PTX_OP_FLOAT)
        add(x, 64, constant(d, o->bits, true), 0, 0);
    else if (o->kind == PTX_OP_REGISTER)
        add_register(d, x, o->reg, 0);
    for (size_t i = 0; o->kind == PTX_OP_VECTOR && i < o->element_count; ++i)
        add_stored(d, x, &o->elements[i]);
}

static bool stores(const struct ptx_instruction *in) {
    return in->operand_count > 0 && in->operands[0].kind == PTX_OP_ADDRESS &&
           (has_opcode(in, "st") || has_opcode(in, "red") || has_opcode(in, "stmatrix") ||
            (has_opcode(in, "cp") && has_part(in, "async")));
}

bool step_aside(struct decoder *d) {
    const struct ptx_instruction *in = d->in;
    struct list values = {.count = 0}, place = {.count = 0};
    uint32_t flags = 0;
    bool own_guard = false;
    if (!d->l->options.probe || !d->l->options.probe->step)
        return true;
    if (stores(in)) {
        flags = STEP_STORES | (add_address(d, &place, &in->operands[0]) ? STEP_ADDRESS : 0);
        for (size_t k = 1; k < in->operand_count; ++k)
            add_stored(d, &values, &in->operands[k]);
    }
    for (size_t k = 0; !flags && k < in->operand_count; ++k)
        if (is_result(in, k))
            add_results(d, &values, &in->operands[k]);
    if (!flags && !values.count && !has_opcode(in, "bar") && !has_opcode(in, "barrier"))
        return true;
    for (uint32_t k = 0; !flags && k < values.count; ++k)
        own_guard |= in->guard >= 0 && values.words[k][STEP_NAME] == (uint32_t)in->guard + 1;
    const bool first = d->first;
    const uint32_t guard = d->guard;
    d->first = false;
    d->guard = own_guard ? 0 : guard; /* it is another one now: all lanes that are here */
    const uint32_t list = wide(d, (size_t)(values.count + 1) * STEP_WORDS);
    memcpy(d->p->wide + list, values.words, values.count * sizeof *values.words);
    memcpy(d->p->wide + list + values.count * STEP_WORDS, place.words, sizeof *place.words);
    emit(d, op_step, BLEND_NONE, values.count, flags, (uint32_t)d->function, 0, (int64_t)(intptr_t)in)->wide = list;
    d->guard = guard;
    d->first = first;
    return true;
}
