/* Calls, the .param space of functions, indexed branches, local memory's instructions.
 *
 * A function's .param frame (parameters, results, the variables of its call sequences) is a row of 32-bit registers: an
 * access is known to the byte when it is decoded. Source: PTX ISA 9.0, 5.1.6, 7.1, 9.7.12, 9.7.17, 9.7.9.19. */
#include "../../ref/checked.h"
#include "undefined.h"
#include <stdio.h>
#include <string.h>

enum { MOST_ROWS = 1 << 20 }; /* of the tables of all indexed branches */

/* ---- .param ---- */

static uint32_t word(const struct decoder *d, size_t offset) {
    return d->c->words + 128 * (uint32_t)(offset / 4);
}

bool own_param(const struct decoder *d, const struct ptx_operand *o) {
    return o->variable >= 0 && d->m->variables[o->variable].space == PTX_PARAM &&
           d->m->variables[o->variable].function == d->function;
}

int formal(const struct decoder *d, int variable) {
    for (size_t i = 0; i < d->f->param_count; ++i)
        if (d->f->params[i] == variable)
            return (int)i;
    return -1;
}

/* 1, 2, 4 or 8 bytes at a byte of the row of words, a multiple of their number -> a register of `bits`. */
static void load_bytes(struct decoder *d, uint32_t dst, unsigned bits, uint32_t row, size_t at, unsigned bytes,
                       bool is_signed) {
    const uint32_t low = row + 128 * (uint32_t)(at / 4);
    if (bytes == 8) {
        lane(d, OP_pack32, dst, low, low + 128, 0, 0);
        return;
    }
    uint32_t value = low;
    if (bytes < 4) {
        value = bits == 32 ? dst : temp(d);
        lane(d, is_signed ? OP_bfe_s32 : OP_bfe_u32, value, low, constant(d, 8 * (at % 4), false),
             constant(d, 8 * bytes, false), 0);
        if (bits == 16)
            lane(d, OP_zext16, dst, value, 0, 0, 0);
    } else if (bits == 32) {
        lane(d, OP_mov_b32, dst, value, 0, 0, 0);
    }
    if (bits == 64)
        lane(d, is_signed ? OP_sext32 : OP_zext32, dst, value, 0, 0, 0);
}

static void store_bytes(struct decoder *d, uint32_t src, unsigned bits, uint32_t row, size_t at, unsigned bytes) {
    const uint32_t low = row + 128 * (uint32_t)(at / 4);
    if (bits == 64 && bytes < 8) {
        const uint32_t narrow = temp(d);
        lane(d, OP_low32, narrow, src, 0, 0, 0);
        src = narrow;
    }
    if (bytes == 8) {
        lane(d, OP_low32, low, src, 0, 0, 0);
        lane(d, OP_high32, low + 128, src, 0, 0, 0);
    } else if (bytes == 4) {
        lane(d, OP_mov_b32, low, src, 0, 0, 0);
    } else {
        lane(d, OP_bfi_b32, low, src, low, constant(d, 8 * (at % 4) | (uint64_t)(8 * bytes) << 8, false), 0);
    }
}

bool decode_param(struct decoder *d, const struct ptx_operand *o, const struct access *x, const uint32_t registers[]) {
    if (o->reg >= 0 || !own_param(d, o))
        return refuse_operand(d, "not a parameter of this function");
    const struct ptx_variable *v = &d->m->variables[o->variable];
    if (o->displacement < 0 || (uint64_t)o->displacement > v->bytes || v->bytes - (uint64_t)o->displacement < x->bytes)
        return refuse_operand(d, "past the parameter");
    if (x->store && formal(d, o->variable) >= 0)
        return refuse_operand(d, "a store into a parameter of the function itself");
    const size_t at = (size_t)o->displacement; /* variables of functions begin with a word */
    const uint32_t row = d->shading ? d->p->param_shadows[o->variable] : word(d, v->offset);
    if (at % x->element_bytes)
        return refuse_operand(d, "a misaligned parameter access");
    for (unsigned i = 0; i < x->elements; ++i) {
        if (x->store)
            store_bytes(d, registers[i], x->register_bits, row, at + i * x->element_bytes, x->element_bytes);
        else if (registers[i] != FILE_SCRATCH)
            load_bytes(d, registers[i], x->register_bits, row, at + i * x->element_bytes, x->element_bytes,
                       x->is_signed);
    }
    return true;
}

/* ---- functions ---- */

/* Of the register of a parameter or result, when it is in one. */
static unsigned bits_of_variable(const struct decoder *d, const struct ptx_variable *v) {
    const unsigned bits = v->reg >= 0 ? type_bits(d->f->registers[v->reg].type) : 0;
    return bits == 8 ? 16 : bits;
}

/* Undefined bits of a register to and from the row of words `shadow`; 0: there is none. */
static void store_shadow(struct decoder *d, int reg, unsigned bits, uint32_t shadow, unsigned bytes) {
    uint32_t from;
    if (!shadow)
        return;
    if (!undefined_place(d, reg, &from))
        from = constant(d, 0, bits == 64);
    store_bytes(d, from, bits, shadow, 0, bytes);
}
static void load_shadow(struct decoder *d, int reg, unsigned bits, uint32_t shadow, unsigned bytes) {
    uint32_t to;
    if (shadow && undefined_place(d, reg, &to))
        load_bytes(d, to, bits, shadow, 0, bytes, false);
}

void decode_prologue(struct decoder *d) {
    for (size_t i = 0; i < d->f->param_count && !d->f->entry; ++i) {
        const struct ptx_variable *v = &d->m->variables[d->f->params[i]];
        const uint32_t shadow = d->p->param_shadows[d->f->params[i]];
        if (v->reg >= 0)
            load_bytes(d, d->slot[v->reg], bits_of_variable(d, v), word(d, v->offset), 0, (unsigned)v->bytes, false);
        uint32_t to;
        if (shadow)
            load_shadow(d, v->reg, bits_of_variable(d, v), shadow, (unsigned)v->bytes);
        else if (undefined_place(d, v->reg, &to)) /* as the function left it when it was called before */
            lane(d, bits_of_variable(d, v) == 64 ? OP_mov_b64 : OP_mov_b32, to,
                 constant(d, 0, bits_of_variable(d, v) == 64), 0, 0, 0);
        if (d->spill[i])
            emit(d, op_local_spill, BLEND_NONE, FILE_SCRATCH, word(d, v->offset), (uint32_t)v->bytes, shadow,
                 (int64_t)d->spill[i] - 1);
    }
}

void decode_return(struct decoder *d) {
    for (size_t i = 0; i < d->f->return_count; ++i) {
        const struct ptx_variable *v = &d->m->variables[d->f->returns[i]];
        if (v->reg < 0)
            continue;
        store_bytes(d, d->slot[v->reg], bits_of_variable(d, v), word(d, v->offset), 0, (unsigned)v->bytes);
        store_shadow(d, v->reg, bits_of_variable(d, v), d->p->param_shadows[d->f->returns[i]], (unsigned)v->bytes);
    }
    emit(d, NULL, BLEND_NONE, 0, 0, 0, 0, 0)->control = CONTROL_RETURN;
}

bool decode_ret(struct decoder *d) {
    has(d, "uni");
    if (!all_taken(d) || !operand_total(d, 0, 0))
        return false;
    if (d->f->entry)
        emit(d, NULL, BLEND_NONE, 0, 0, 0, 0, 0)->control = CONTROL_EXIT;
    else
        decode_return(d);
    return true;
}

/* One argument or result of a call: where its words are, its bytes, where their undefined bits are. A register or
 * constant goes through words of its own behind the frame. formal: what the function wants, NULL when that is not
 * known. */
static bool actual(struct decoder *d, const struct ptx_operand *o, const struct ptx_variable *wanted, bool result,
                   size_t *scratch, uint32_t triple[3]) {
    if (o->kind == PTX_OP_VARIABLE && own_param(d, o) && !o->displacement && formal(d, o->variable) < 0) {
        const struct ptx_variable *v = &d->m->variables[o->variable];
        triple[0] = word(d, v->offset);
        triple[1] = (uint32_t)v->bytes;
        triple[2] = d->p->param_shadows[o->variable];
        if (wanted && wanted->bytes != v->bytes) {
            char why[160];
            snprintf(why, sizeof why, "%.60s has %zu bytes, the function's %.60s has %zu", v->name, v->bytes,
                     wanted->name, wanted->bytes);
            return refuse_operand(d, why);
        }
        return true;
    }
    if (!wanted)
        return refuse_operand(d, "an argument of an indirect call that is no .param variable");
    const unsigned bits = wanted->bytes == 8 ? 64 : wanted->bytes == 4 ? 32 : 16;
    uint32_t reg;
    if (wanted->bytes > 8 || (wanted->bytes & (wanted->bytes - 1)))
        return refuse_operand(d, "a register for a structure");
    if (result ? !destination(d, o, bits, &reg) : !source(d, o, bits, &reg))
        return false;
    uint32_t shadow;
    triple[0] = word(d, *scratch);
    triple[1] = (uint32_t)wanted->bytes;
    triple[2] = 0;
    if (o->kind == PTX_OP_REGISTER && undefined_place(d, o->reg, &shadow))
        triple[2] = (uint32_t)(d->scratch_shadow + 32 * (*scratch - d->scratch));
    if (!result) {
        store_bytes(d, reg, bits, triple[0], 0, (unsigned)wanted->bytes);
        store_shadow(d, o->reg, bits, triple[2], (unsigned)wanted->bytes);
    }
    *scratch += 8;
    return true;
}

static const struct ptx_variable *wanted_by(const struct decoder *d, const struct ptx_function *f, const int *list,
                                            size_t i) {
    return f ? &d->m->variables[list[i]] : NULL;
}

/* Functions without a body that the machine knows: format and arguments of printf; message, file, line, function and
 * character size of a failed assertion. */
static bool decode_external(struct decoder *d, const struct ptx_function *f, const uint32_t *list) {
    static const size_t print[] = {8, 8}, assertion[] = {8, 8, 4, 8, 8};
    const bool prints = !strcmp(f->name, "vprintf"), asserts = !strcmp(f->name, "__assertfail");
    const size_t *sizes = prints ? print : assertion, count = prints ? 2 : 5;
    char why[160];
    if (!strcmp(f->name, "malloc") || !strcmp(f->name, "free") || !strcmp(f->name, "realloc"))
        return refuse(d, "the heap of the device is not modelled");
    if (!prints && !asserts) {
        snprintf(why, sizeof why, "an external function, %.100s", f->name);
        return refuse(d, why);
    }
    bool fits = list[0] == count && list[1] == (prints ? 1 : 0) && (!prints || list[2 + 3 * count + 1] == 4);
    for (size_t i = 0; fits && i < count; ++i)
        fits = list[3 + 3 * i] == sizes[i];
    if (!fits) {
        snprintf(why, sizeof why, "%s with other parameters than it has", f->name);
        return refuse_operand(d, why);
    }
    const uint32_t words = wide(d, count);
    for (size_t i = 0; i < count; ++i)
        d->p->wide[words + i] = list[2 + 3 * i];
    const struct access text = {.space = PTX_REG, .wide_address = true, .element_bytes = 1, .elements = 1, .bytes = 1};
    struct record *r = emit(d, prints ? op_printf : NULL, BLEND_NONE, prints ? list[2 + 3 * count] : FILE_SCRATCH, 0, 0,
                            add_access(d, &text), 0);
    r->wide = words;
    r->control = prints ? CONTROL_NONE : CONTROL_ASSERT;
    if (prints && list[4 + 3 * count])
        lane(d, OP_mov_b32, list[4 + 3 * count], constant(d, 0, false), 0, 0, 0);
    return true;
}

static bool decode_call(struct decoder *d) {
    has(d, "uni");
    if (!all_taken(d))
        return false;
    const struct ptx_operand *o = d->in->operands;
    const size_t n = d->in->operand_count, at = n && o[0].kind == PTX_OP_LIST ? 1 : 0;
    const struct ptx_operand *to = at < n ? &o[at] : NULL;
    const struct ptx_operand *results = at ? &o[0] : NULL;
    const struct ptx_operand *arguments = at + 1 < n && o[at + 1].kind == PTX_OP_LIST ? &o[at + 1] : NULL;
    const size_t last = at + 1 + (arguments != NULL);
    const struct ptx_operand *table = last < n ? &o[last] : NULL; /* prototype, or targets */
    if (!to || (to->kind != PTX_OP_FUNCTION && to->kind != PTX_OP_REGISTER) || n > last + 1)
        return refuse(d, NULL);
    const bool direct = to->kind == PTX_OP_FUNCTION;
    if (!direct && (!table || table->kind != PTX_OP_NAME))
        return refuse(d, "an indirect call needs a prototype or a list of targets");
    if (direct && table)
        return refuse(d, "a prototype on a direct call");
    const struct ptx_function *f = direct ? &d->m->functions[to->function] : NULL;
    uint32_t target = FILE_SCRATCH;
    if (!direct && !source(d, to, 64, &target))
        return false;
    for (size_t i = 0; table && i < table->element_count; ++i)
        if (table->elements[i].kind == PTX_OP_FUNCTION)
            d->address_taken[table->elements[i].function] = true;

    const size_t given = arguments ? arguments->element_count : 0, taken = results ? results->element_count : 0;
    if (f && (given != f->param_count || taken != f->return_count))
        return refuse_operand(d, "the number of arguments or results");
    uint32_t list = wide(d, 2 + 3 * (given + taken)), triple[3];
    d->p->wide[list] = (uint32_t)given;
    d->p->wide[list + 1] = (uint32_t)taken;
    size_t scratch = d->scratch, first = scratch;
    for (size_t i = 0; i < given + taken; ++i) {
        const bool result = i >= given;
        const struct ptx_operand *one = result ? &results->elements[i - given] : &arguments->elements[i];
        if (i == given)
            first = scratch;
        if (!actual(d, one, wanted_by(d, f, f ? (result ? f->returns : f->params) : NULL, result ? i - given : i),
                    result, &scratch, triple))
            return false;
        memcpy(d->p->wide + list + 2 + 3 * i, triple, sizeof triple);
    }
    if (f && f->declared_only) {
        uint32_t kept[2 + 3 * 6] = {0};
        if (given + taken <= 6)
            memcpy(kept, d->p->wide + list, (2 + 3 * (given + taken)) * sizeof *kept);
        if (!decode_external(d, f, kept))
            return false;
    } else {
        if (f)
            reach(d, (size_t)to->function);
        d->indirect |= !f;
        struct record *r = emit(d, NULL, BLEND_NONE, f ? (uint32_t)to->function : UINT32_MAX, target, 0, 0, 0);
        r->wide = list;
        r->control = CONTROL_CALL;
    }
    for (size_t i = 0; f && i < taken; ++i) { /* results that go to registers */
        const struct ptx_operand *one = &results->elements[i];
        const struct ptx_variable *v = &d->m->variables[f->returns[i]];
        uint32_t reg;
        if (one->kind == PTX_OP_VARIABLE)
            continue;
        if (!destination(d, one, v->bytes == 8 ? 64 : v->bytes == 4 ? 32 : 16, &reg))
            return false;
        const unsigned bits = v->bytes == 8 ? 64 : v->bytes == 4 ? 32 : 16;
        load_bytes(d, reg, bits, word(d, first), 0, (unsigned)v->bytes, false);
        load_shadow(d, one->reg, bits, d->p->wide[list + 4 + 3 * (given + i)], (unsigned)v->bytes);
        first += 8;
    }
    return true;
}

size_t call_scratch(const struct ptx_instruction *in) {
    size_t bytes = 0;
    for (size_t i = 0; !strcmp(in->opcode, "call") && i < in->operand_count; ++i)
        for (size_t k = 0; in->operands[i].kind == PTX_OP_LIST && k < in->operands[i].element_count; ++k)
            bytes += in->operands[i].elements[k].kind != PTX_OP_VARIABLE ? 8 : 0;
    return bytes;
}

/* ---- indexed branches ---- */

static bool decode_brx(struct decoder *d) {
    const bool indexed = has(d, "idx");
    uint32_t index;
    has(d, "uni");
    if (!indexed)
        return refuse(d, NULL);
    if (!all_taken(d) || !operand_total(d, 2, 2) || !source_number(d, 0, 32, &index))
        return false;
    const struct ptx_operand *table = &d->in->operands[1];
    if (table->kind != PTX_OP_NAME || !table->element_count)
        return refuse_operand(d, "an indexed branch needs a table of .branchtargets");
    if ((d->branch_rows += table->element_count) > MOST_ROWS)
        return refuse(d, "too many targets of indexed branches");
    const uint32_t rows = wide(d, table->element_count);
    for (size_t i = 0; i < table->element_count; ++i) {
        if (table->elements[i].kind != PTX_OP_LABEL)
            return refuse_operand(d, "a target that is no label");
        d->p->wide[rows + i] = (uint32_t)table->elements[i].target; /* an instruction, until the function is linked */
    }
    struct record *r = emit(d, NULL, BLEND_NONE, 0, index, (uint32_t)table->element_count, 0, 0);
    r->wide = rows;
    r->control = CONTROL_INDEXED;
    return true;
}

/* ---- local memory ---- */

static bool decode_alloca(struct decoder *d) {
    uint32_t dst, bytes;
    if (!has(d, "u64"))
        return refuse(d, NULL);
    if (!all_taken(d) || !operand_total(d, 2, 3) || !destination_number(d, 0, 64, &dst) ||
        !source_number(d, 1, 64, &bytes))
        return false;
    const struct ptx_operand *o = d->in->operand_count == 3 ? &d->in->operands[2] : NULL;
    const uint64_t alignment = o ? o->bits : 8;
    if (o && (o->kind != PTX_OP_INTEGER || !alignment || alignment & (alignment - 1) || alignment > 1 << 20))
        return refuse_operand(d, "an alignment is a power of two");
    emit(d, op_alloca, BLEND_NONE, dst, bytes, 0, 0, (int64_t)alignment);
    return true;
}

static bool decode_stack(struct decoder *d) {
    const bool save = !strcmp(d->in->opcode, "stacksave");
    uint32_t reg;
    if (!has(d, "u64"))
        return refuse(d, NULL);
    if (!all_taken(d) || !operand_total(d, 1, 1) ||
        (save ? !destination_number(d, 0, 64, &reg) : !source_number(d, 0, 64, &reg)))
        return false;
    emit(d, save ? op_stacksave : op_stackrestore, BLEND_NONE, save ? reg : FILE_SCRATCH, reg, 0, 0, 0);
    return true;
}

static bool decode_isspacep(struct decoder *d) {
    static const char *const names[] = {"global", "const", "shared", "shared::cta", "local", "param", "param::entry"};
    static const enum ptx_space spaces[] = {PTX_GLOBAL, PTX_CONST, PTX_SHARED, PTX_SHARED,
                                            PTX_LOCAL,  PTX_PARAM, PTX_PARAM};
    const int which = one_of(d, names, 7);
    uint32_t dst, a;
    if (which < 0)
        return refuse(d, NULL);
    if (!all_taken(d) || !operand_total(d, 2, 2) || !pred_destination(d, &d->in->operands[0], &dst) ||
        !source_number(d, 1, 64, &a))
        return false;
    emit(d, op_isspacep, BLEND_NONE, dst, a, 0, 0, (int64_t)spaces[which]);
    return true;
}

const struct opcode opcodes_call[] = {
    {"call", decode_call},         {"ret", decode_ret},
    {"brx", decode_brx},           {"alloca", decode_alloca},
    {"stacksave", decode_stack},   {"stackrestore", decode_stack},
    {"isspacep", decode_isspacep}, {NULL, NULL},
};
