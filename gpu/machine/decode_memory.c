/* Loads, stores and ldmatrix. Parameters are known when a launch is decoded: reading one is a move of a constant.
 * Source: PTX ISA 9.0, 9.7.9.8 .. 9.7.9.12, 9.7.14.5.15. */
#include "../../ref/checked.h"
#include "undefined.h"
#include <stdio.h>
#include <string.h>

/* Hints on caching and ordering: one interleaving is run, in program order, so they change no value; the watch of races
 * asks what an access orders (PTX ISA 8.4: .volatile is .relaxed.sys). *policy: a cache policy comes as one more
 * operand. */
static void take_hints(struct decoder *d, struct access *x, bool *policy) {
    static const char *const hints[] = {"weak", "gpu", "sys", "ca", "cg", "cs", "lu", "cv", "wb", "wt", "unified"};
    static const char *const strong[] = {"volatile", "relaxed", "mmio", "acquire", "release"};
    for (size_t i = 0; i < sizeof hints / sizeof *hints; ++i)
        has(d, hints[i]);
    const bool cta = has(d, "cta"), cluster = has(d, "cluster");
    const int how = one_of(d, strong, sizeof strong / sizeof *strong);
    x->strong = how >= 0;
    x->order = (x->store ? ACCESS_STORE : ACCESS_LOAD) | (how == 3 ? ACCESS_ACQUIRE : 0) |
               (how == 4 ? ACCESS_RELEASE : 0) | (cta || cluster ? ACCESS_CTA : 0);
    x->nc = has(d, "nc");
    *policy = has(d, "L2::cache_hint") || has(d, "level::cache_hint");
    static const char *const levels[] = {
        "L1::evict_normal", "L1::evict_unchanged", "L1::evict_first", "L1::evict_last", "L1::no_allocate",
        "L2::evict_normal", "L2::evict_first",     "L2::evict_last",  "L2::64B",        "L2::128B",
        "L2::256B"};
    for (size_t i = 0; i < sizeof levels / sizeof *levels; ++i)
        has(d, levels[i]);
}

bool take_space(struct decoder *d, enum ptx_space *space) {
    *space = PTX_REG;
    if (has(d, "global"))
        *space = PTX_GLOBAL;
    else if (has(d, "const"))
        *space = PTX_CONST;
    else if (has(d, "shared") || has(d, "shared::cta") || has(d, "shared::cluster"))
        *space = PTX_SHARED; /* a cluster of one block has no other shared memory */
    else if (has(d, "param") || has(d, "param::entry") || has(d, "param::func"))
        *space = PTX_PARAM;
    else if (has(d, "local"))
        *space = PTX_LOCAL;
    return true;
}

bool address(struct decoder *d, const struct ptx_operand *o, struct access *x, uint32_t *reg, int64_t *shift) {
    if (o->kind != PTX_OP_ADDRESS)
        return refuse_operand(d, "an operand that is no address");
    *shift = o->displacement;
    if (o->reg >= 0) {
        const enum ptx_type t = d->f->registers[o->reg].type;
        x->wide_address = type_bits(t) == 64;
        if (type_bits(t) != 64 && !(type_bits(t) == 32 && (x->space == PTX_SHARED || x->space == PTX_LOCAL)))
            return refuse_operand(d, "an address register of this width");
        *reg = d->slot[o->reg];
        return true;
    }
    uint64_t base = 0;
    if (o->variable >= 0 &&
        (d->m->variables[o->variable].space == PTX_LOCAL || (x->space == PTX_LOCAL && own_param(d, o)))) {
        x->wide_address = true;
        if (x->space != PTX_LOCAL)
            return refuse_operand(d, "a local variable in another state space");
        return frame_address(d, o->variable, 0, reg);
    }
    x->wide_address = x->space != PTX_SHARED;
    if (o->variable >= 0) {
        if (!variable_address(d, o->variable, &base))
            return false;
        if (x->space == PTX_REG && d->m->variables[o->variable].space == PTX_SHARED)
            base += SHARED_WINDOW;
    }
    *reg = constant(d, x->wide_address ? base : (uint32_t)base, x->wide_address);
    return true;
}

uint32_t add_access(struct decoder *d, const struct access *x) {
    struct program *p = d->p;
    if (p->access_count == d->access_room) {
        d->access_room = d->access_room ? 2 * d->access_room : 64;
        p->accesses = must_realloc(p->accesses, d->access_room, sizeof *p->accesses);
    }
    p->accesses[p->access_count] = *x;
    return (uint32_t)p->access_count++;
}

/* The data operand's registers, one for each element, all of one class. */
static bool data_registers(struct decoder *d, const struct ptx_operand *o, struct access *x, uint32_t registers[4]) {
    const bool vector = o->kind == PTX_OP_VECTOR;
    if ((vector ? o->element_count : 1) != x->elements)
        return refuse_operand(d, "a vector of another length");
    x->register_bits = 0;
    for (unsigned i = 0; i < x->elements; ++i) {
        const struct ptx_operand *one = vector ? &o->elements[i] : o;
        if (one->kind == PTX_OP_REGISTER) {
            const unsigned bits = register_bits(d, one);
            if (x->register_bits && x->register_bits != bits)
                return refuse_operand(d, "a vector of registers of several widths");
            x->register_bits = (uint8_t)bits;
        }
    }
    if (x->element_bytes == 16) { /* two registers of 64 bits, side by side */
        if (x->register_bits != 128)
            return refuse_operand(d, "data of 128 bits need a register of 128 bits");
        if (!(x->store ? source(d, o, 128, &registers[0]) : destination(d, o, 128, &registers[0])))
            return false;
        registers[1] = registers[0] + 256;
        x->element_bytes = 8;
        x->elements = 2;
        x->register_bits = 64;
        x->wide_registers = true;
        return true;
    }
    if (!x->register_bits)
        x->register_bits = x->element_bytes == 8 ? 64 : x->element_bytes == 4 ? 32 : 16;
    if (8 * x->element_bytes > x->register_bits || x->register_bits < 16)
        return refuse_operand(d, "a register narrower than the data");
    x->wide_registers = x->register_bits == 64;
    for (unsigned i = 0; i < x->elements; ++i) {
        const struct ptx_operand *one = vector ? &o->elements[i] : o;
        if (x->store ? !source(d, one, x->register_bits, &registers[i])
                     : !destination(d, one, x->register_bits, &registers[i]))
            return false;
    }
    return true;
}

static bool load_param(struct decoder *d, const struct ptx_operand *o, const struct access *x,
                       const uint32_t registers[4]) {
    if (o->kind != PTX_OP_ADDRESS)
        return refuse_operand(d, "an operand that is no address");
    if (!d->f->entry || formal(d, o->variable) < 0)
        return decode_param(d, o, x, registers);
    const int64_t at = (int64_t)d->m->variables[o->variable].offset + o->displacement;
    if (at < 0 || (uint64_t)at + x->bytes > d->f->param_bytes) {
        char why[80];
        snprintf(why, sizeof why, "past the parameters, which have %zu bytes", d->f->param_bytes);
        return refuse_operand(d, why);
    }
    for (unsigned i = 0; i < x->elements; ++i) {
        uint64_t v = 0;
        memcpy(&v, d->p->params + at + i * x->element_bytes, x->element_bytes);
        const unsigned unused = 64 - 8 * x->element_bytes;
        if (x->is_signed)
            v = (uint64_t)((int64_t)(v << unused) >> unused);
        if (x->wide_registers)
            lane(d, OP_mov_b64, registers[i], constant(d, v, true), 0, 0, 0);
        else
            lane(d, OP_mov_b32, registers[i], constant(d, x->register_bits == 16 ? (uint16_t)v : (uint32_t)v, false), 0,
                 0, 0);
    }
    return true;
}

/* The handler with a fast path for this shape of access, or the general one. */
static handler *choose(const struct decoder *d, const struct access *x) {
    enum memory_op op;
    if (x->space == PTX_LOCAL)
        return op_local;
    if (x->space == PTX_PARAM)
        return op_param;
    const bool words = x->element_bytes == 4 && x->register_bits == 32;
    if (x->store && x->space == PTX_GLOBAL && words && x->elements == 1)
        return memory_store_word;
    if (x->store && (x->wide_address || x->space != PTX_SHARED))
        return memory_general;
    if (x->elements > 1) {
        if (!words)
            return memory_general;
        op = x->elements == 2 ? MEMORY_LOAD32_V2 : MEMORY_LOAD32_V4;
    } else if (x->element_bytes == 8) {
        op = MEMORY_LOAD32_B64;
    } else if (x->wide_registers) {
        return memory_general;
    } else if (x->element_bytes == 4) {
        op = MEMORY_LOAD32_B32;
    } else if (x->element_bytes == 2) {
        op = x->is_signed ? MEMORY_LOAD32_S16 : MEMORY_LOAD32_U16;
    } else {
        op = x->is_signed ? MEMORY_LOAD32_S8 : MEMORY_LOAD32_U8;
    }
    if (!x->store)
        return d->isa->memory[x->wide_address ? op - MEMORY_LOAD32_U8 + MEMORY_LOAD64_U8 : op];
    static const enum memory_op stores[] = {
        [MEMORY_LOAD32_U8] = MEMORY_STORE32_B8,   [MEMORY_LOAD32_S8] = MEMORY_STORE32_B8,
        [MEMORY_LOAD32_U16] = MEMORY_STORE32_B16, [MEMORY_LOAD32_S16] = MEMORY_STORE32_B16,
        [MEMORY_LOAD32_B32] = MEMORY_STORE32_B32, [MEMORY_LOAD32_B64] = MEMORY_STORE32_B64,
        [MEMORY_LOAD32_V2] = MEMORY_STORE32_V2,   [MEMORY_LOAD32_V4] = MEMORY_STORE32_V4,
    };
    return d->isa->memory[stores[op]];
}

/* Where the undefined bits of the data are kept, element by element. False: of none of them. */
static bool undefined_data(struct decoder *d, const struct ptx_operand *o, uint32_t shadows[4]) {
    const size_t count = o->kind == PTX_OP_VECTOR ? o->element_count : 1;
    bool any = false;
    for (size_t i = 0; i < count && i < 4; ++i) {
        shadows[i] = 0;
        any |= undefined_place(d, o->kind == PTX_OP_VECTOR ? o->elements[i].reg : o->reg, &shadows[i]);
    }
    if (any && o->kind == PTX_OP_REGISTER && type_bits(d->f->registers[o->reg].type) == 128)
        shadows[1] = shadows[0] + 256; /* data_registers takes it as two */
    return any;
}

static bool decode_access(struct decoder *d) {
    const bool store = !strcmp(d->in->opcode, "st");
    struct access x = {.store = store, .valued = store, .elements = 1};
    bool policy;
    if (!take_space(d, &x.space))
        return false;
    take_hints(d, &x, &policy);
    if (has(d, "v2"))
        x.elements = 2;
    else if (has(d, "v4"))
        x.elements = 4;
    else if (has(d, "v8"))
        x.elements = 8;
    const enum ptx_type t = next_type(d);
    x.element_bytes = (uint8_t)ptx_type_bytes(t);
    x.is_signed = !store && type_signed(t);
    if (x.element_bytes * x.elements > 16 && x.element_bytes * x.elements <= 32)
        return refuse(d, "256 bits at once need sm_100, and the machine runs sm_80 to sm_90");
    if (!x.element_bytes || x.element_bytes * x.elements > 16 || x.elements == 8)
        return refuse(d, NULL);
    x.bytes = x.element_bytes * x.elements;
    if (!all_taken(d) || !operand_total(d, policy ? 3 : 2, policy ? 3 : 2))
        return false;
    uint32_t registers[4], shadows[4] = {0}, base;
    int64_t shift;
    const struct ptx_operand *where = &d->in->operands[store ? 0 : 1];
    if (!data_registers(d, &d->in->operands[store ? 1 : 0], &x, registers))
        return false;
    const bool spilled = x.space == PTX_PARAM && !store && !d->f->entry && where->kind == PTX_OP_ADDRESS &&
                         formal(d, where->variable) >= 0 && d->spill[formal(d, where->variable)];
    if (spilled)
        x.space = PTX_LOCAL; /* others may have changed it there */
    else if (x.space == PTX_PARAM && (where->kind != PTX_OP_ADDRESS || where->reg < 0))
        return store ? decode_param(d, where, &x, registers) : load_param(d, where, &x, registers);
    if ((x.space == PTX_PARAM && (store || !d->f->entry)) || (x.space == PTX_CONST && store))
        return refuse(d, NULL);
    if (!address(d, where, &x, &base, &shift))
        return false;
    x.shadowed = (x.space == PTX_LOCAL || x.space == PTX_REG) && (store || d->p->follows & FOLLOW_LOADS) &&
                 undefined_data(d, &d->in->operands[store ? 1 : 0], shadows);
    const uint32_t list = wide(d, (x.shadowed ? 2 : 1) * (size_t)x.elements);
    if (x.shadowed)
        memcpy(d->p->wide + list + x.elements, shadows, x.elements * sizeof *shadows);
    memcpy(d->p->wide + list, registers, x.elements * sizeof *registers);
    /* b: the register to store, or how much of the register a narrow load fills. */
    const uint32_t b = store ? registers[0] : x.register_bits == 16 ? 0xffff : UINT32_MAX;
    const uint32_t access = add_access(d, &x);
    count_access(d, base, access, shift);
    emit(d, choose(d, &x), BLEND_NONE, store ? FILE_SCRATCH : registers[0], base, b, access, shift)->wide = list;
    return true;
}

static const char needs_100[] = "8-bit matrices need sm_100, and the machine runs sm_80 to sm_90";

/* ldmatrix {r..}, [a] and its inverse, stmatrix [a], {r..}. */
static bool decode_matrices(struct decoder *d, bool store) {
    static const char *const counts[] = {"x1", "x2", "x4"};
    const int count = one_of(d, counts, 3);
    const bool aligned = has(d, "sync") && has(d, "aligned");
    if (store ? has(d, "m16n8") : has(d, "m16n16") || has(d, "m8n16"))
        return refuse(d, needs_100);
    const bool shape = aligned && has(d, "m8n8") && has(d, "b16"), trans = has(d, "trans");
    struct access x = {.store = store, .elements = 1, .element_bytes = 16, .bytes = 16};
    if (!take_space(d, &x.space))
        return false;
    if (!shape || count < 0 || (x.space != PTX_SHARED && x.space != PTX_REG))
        return refuse(d, NULL);
    const unsigned matrices = 1u << count;
    if (!all_taken(d) || !operand_total(d, 2, 2))
        return false;
    const struct ptx_operand *data = &d->in->operands[store], *at = &d->in->operands[!store];
    const bool vector = data->kind == PTX_OP_VECTOR;
    if ((vector ? data->element_count : 1) != matrices)
        return refuse_operand(d, "a vector of another length");
    uint32_t registers[4], base;
    int64_t shift;
    for (unsigned i = 0; i < matrices; ++i) {
        const struct ptx_operand *one = vector ? &data->elements[i] : data;
        if (!(store ? source(d, one, 32, &registers[i]) : destination(d, one, 32, &registers[i])))
            return false;
    }
    if (!address(d, at, &x, &base, &shift))
        return false;
    reads_across(d, at);
    if (store)
        reads_across(d, data);
    const uint32_t list = wide(d, matrices);
    memcpy(d->p->wide + list, registers, matrices * sizeof *registers);
    const uint32_t b = matrices | (trans ? LDMATRIX_TRANS : 0) | (!store && x.wide_address ? LDMATRIX_WIDE : 0);
    x.matrices = (uint8_t)matrices;
    const uint32_t access = add_access(d, &x);
    count_access(d, base, access, shift);
    handler *const run = store ? op_stmatrix : d->isa->memory[MEMORY_LDMATRIX];
    struct record *r = emit(d, run, BLEND_NONE, store ? FILE_SCRATCH : 0, base, b, access, shift);
    r->wide = list;
    r->gather = GATHER_LIVE;
    return true;
}

static bool decode_ldmatrix(struct decoder *d) {
    return decode_matrices(d, false);
}

static bool decode_stmatrix(struct decoder *d) {
    return decode_matrices(d, true);
}

static bool decode_movmatrix(struct decoder *d) {
    static const char *const parts[] = {"sync", "aligned", "m8n8", "trans", "b16"};
    uint32_t dst, a;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; ++i)
        if (!has(d, parts[i]))
            return refuse(d, NULL);
    if (!all_taken(d) || !operand_total(d, 2, 2) || !destination_number(d, 0, 32, &dst) || !source_number(d, 1, 32, &a))
        return false;
    reads_across(d, &d->in->operands[1]);
    emit(d, op_movmatrix, BLEND_NONE, dst, a, 0, 0, 0)->gather = GATHER_LIVE;
    return true;
}

const struct opcode opcodes_memory[] = {
    {"ld", decode_access},
    {"ldu", decode_access},
    {"st", decode_access},
    {"ldmatrix", decode_ldmatrix},
    {"stmatrix", decode_stmatrix},
    {"movmatrix", decode_movmatrix},
    {NULL, NULL},
};
