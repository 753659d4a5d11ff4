/* mma.sync: which form it is, whether the architecture has it, and its fragments. Source: PTX ISA 9.0, 9.7.14.5;
 * register counts and first targets as ptxas 13.0 has them (facts/ptx.md 2.2). */
#include "decode.h"
#include "tensor_model.h"
#include <stdio.h>
#include <string.h>

/* Takes the next modifier that names a type of elements. TENSOR_TYPES: there is none. */
static enum tensor_type next_element(struct decoder *d) {
    for (size_t i = 0; i < d->in->part_count; ++i)
        for (int t = 0; t < TENSOR_TYPES; ++t)
            if (!(d->taken >> i & 1) && !strcmp(d->in->parts[i], tensor_type_names[t])) {
                d->taken |= 1u << i;
                return (enum tensor_type)t;
            }
    return TENSOR_TYPES;
}

/* The type that stands for a class in tensor_forms: types of one class may be mixed. */
static enum tensor_type class_of(enum tensor_type t) {
    return t == TENSOR_U8 ? TENSOR_S8 : t == TENSOR_U4 ? TENSOR_S4 : t == TENSOR_E5M2 ? TENSOR_E4M3 : t;
}

/* The form of these types: D, A, B, C. NULL after refuse(). */
static const struct tensor_form *form_of(struct decoder *d, const enum tensor_type t[4]) {
    const enum tensor_type class = class_of(t[1]);
    const bool integer = class <= TENSOR_B1, real = class == TENSOR_F64;
    const bool half = t[0] == TENSOR_F16 && (class == TENSOR_F16 || class == TENSOR_E4M3);
    const enum tensor_type accumulator = integer ? TENSOR_S32 : real ? TENSOR_F64 : half ? TENSOR_F16 : TENSOR_F32;
    for (int i = 0; i < 4; ++i)
        if (t[i] == TENSOR_TYPES) {
            refuse(d, "mma needs four types that the machine knows");
            return NULL;
        }
    if (class > TENSOR_F64 || class_of(t[2]) != class || t[0] != accumulator || t[3] != accumulator) {
        refuse(d, "no mma has these types together");
        return NULL;
    }
    for (const struct tensor_form *f = tensor_forms; f->shape; ++f)
        if (f->type == class && has(d, f->shape))
            return f;
    char why[120];
    snprintf(why, sizeof why, "no mma of %s has this shape", tensor_type_names[t[1]]);
    refuse(d, why);
    return NULL;
}

/* The chip has this form, and there is a model of what it does. */
static bool on_this_chip(struct decoder *d, const struct tensor_form *f, bool and_popc, const struct arch *arch,
                         const struct tensor_unit *unit) {
    const unsigned first = and_popc ? 80 : f->sm; /* m8n8k128 is older than its .and */
    char why[160];
    if (arch->sm < first)
        snprintf(why, sizeof why, "%s of %s needs sm_%u, and the launch is for %s", f->shape,
                 tensor_type_names[f->type], first, arch->name);
    else if (f->type == TENSOR_E4M3 && unit->fp8 == FP8_UNKNOWN)
        snprintf(why, sizeof why, "nobody has published how %s adds fp8 products, and the launch is for it",
                 arch->name);
    else
        return true;
    return refuse(d, why);
}

/* Registers of an operand of mma; those that the shape has fewer of are filled up. Constants may stand in C alone, f16
 * excepted, and f32 registers are no integers (as ptxas has it). */
static bool fragment(struct decoder *d, size_t operand, enum tensor_type t, size_t count, size_t room, uint32_t fill,
                     uint32_t *out) {
    const struct ptx_operand *o = &d->in->operands[operand];
    const unsigned bits = t == TENSOR_F64 ? 64 : 32;
    if (o->kind != PTX_OP_VECTOR)
        return refuse_operand(d, "a fragment stands in braces");
    if (o->element_count != count)
        return refuse_operand(d, "a fragment of another length");
    for (size_t i = 0; i < room; ++i) {
        const struct ptx_operand *one = &o->elements[i < count ? i : 0];
        out[i] = fill;
        if (i >= count)
            continue;
        const enum ptx_operand_kind number = t == TENSOR_S32 ? PTX_OP_INTEGER : PTX_OP_FLOAT;
        if (operand && one->kind != PTX_OP_REGISTER && (operand < 3 || t == TENSOR_F16 || one->kind != number))
            return refuse_operand(d, "A and B are registers, C is registers or constants of its type");
        if (t == TENSOR_S32 && one->kind == PTX_OP_REGISTER && d->f->registers[one->reg].type == PTX_F32)
            return refuse_operand(d, "an accumulator of integers in a register of floats");
        if (!(operand ? source(d, one, bits, &out[i]) : destination(d, one, bits, &out[i])))
            return false;
    }
    if (operand)
        reads_across(d, o);
    return true;
}

/* .row.col, the only layouts. */
static bool takes_layout(struct decoder *d) {
    for (size_t i = 0; i + 1 < d->in->part_count; ++i)
        if (!strcmp(d->in->parts[i], "row") && !strcmp(d->in->parts[i + 1], "col")) {
            d->taken |= 3u << i;
            return true;
        }
    return false;
}

/* The mma takes copies of A and B, which a probe may put right without touching the registers. The list of probe.h. */
static uint32_t copy_operands(struct decoder *d, uint32_t list) {
    const uint32_t both = wide(d, 20);
    uint32_t *all = d->p->wide + both, *own = d->p->wide + list;
    memcpy(all, own, 14 * sizeof *all);
    for (int i = 0; i < 6; ++i)
        all[14 + i] = own[4 + i] = temp(d);
    return both;
}

static bool decode_mma(struct decoder *d) {
    static const uint8_t room32[4] = {4, 4, 2, 4}, room64[4] = {4, 8, 4, 4};
    if (has(d, "sp") || has(d, "sp::ordered_metadata"))
        return refuse(d, "sparse mma");
    if (!has(d, "sync") || !has(d, "aligned") || !takes_layout(d))
        return refuse(d, "mma is .sync.aligned, A by rows, B by columns");
    enum tensor_type t[4];
    for (int i = 0; i < 4; ++i)
        t[i] = next_element(d);
    const struct tensor_form *f = form_of(d, t);
    const struct arch *arch = d->l->options.arch ? d->l->options.arch : arch_default();
    const struct tensor_unit *unit = tensor_unit(arch);
    if (!f)
        return false;
    int64_t imm = f->m * 8 * f->k;
    if (f->type <= TENSOR_S4 && has(d, "satfinite"))
        imm |= MMA_SATFINITE;
    if (f->type == TENSOR_B1) {
        static const char *const logic[] = {"xor", "and"};
        const int which = one_of(d, logic, 2);
        if (which < 0 || !has(d, "popc"))
            return refuse(d, "mma of bits is .xor.popc or .and.popc");
        imm |= which ? MMA_AND : 0;
    }
    if (f->type == TENSOR_F64)
        has(d, "rn");
    if (!all_taken(d) || !operand_total(d, 4, 4) || !on_this_chip(d, f, imm & MMA_AND, arch, unit))
        return false;

    const bool real = f->type == TENSOR_F64;
    const uint8_t *room = real ? room64 : room32;
    const uint8_t c = t[0] == TENSOR_F16 ? f->c / 2 : f->c, count[4] = {c, f->a, f->b, c};
    const uint32_t zero = constant(d, 0, real);
    uint32_t registers[20], *at = registers;
    for (size_t i = 0; i < 4; ++i) {
        if (!fragment(d, i, t[i], count[i], room[i], i ? zero : FILE_SCRATCH, at))
            return false;
        at += room[i];
    }
    const size_t total = (size_t)(at - registers);
    const uint32_t list = wide(d, total);
    memcpy(d->p->wide + list, registers, total * sizeof *registers);

    imm |= t[1] == TENSOR_U8 || t[1] == TENSOR_U4 ? MMA_A_UNSIGNED : 0;
    imm |= t[2] == TENSOR_U8 || t[2] == TENSOR_U4 ? MMA_B_UNSIGNED : 0;
    imm |= f->a * 8 <= f->m ? MMA_SHORT : 0;
    imm |= t[0] == TENSOR_F16 ? MMA_HALF : 0;
    imm |= (int64_t)t[1] << MMA_TYPE_A | (int64_t)t[2] << MMA_TYPE_B | (int64_t)(unit - tensor_units) << MMA_UNIT;
    const enum tensor_op op = real                   ? TENSOR_OP_F64
                              : f->type == TENSOR_S8 ? TENSOR_OP_INT8
                              : f->type == TENSOR_S4 ? TENSOR_OP_INT4
                              : f->type == TENSOR_B1 ? TENSOR_OP_BITS
                                                     : TENSOR_OP_FLOAT;
    if ((real || op == TENSOR_OP_FLOAT) && !unit->measured)
        tell_literature(d);
    const int64_t probed = (f - tensor_forms) | (imm & (MMA_A_UNSIGNED | MMA_B_UNSIGNED | MMA_SATFINITE));
    const bool seen = op == TENSOR_OP_INT8 && d->l->options.probe;
    const uint32_t both = seen ? copy_operands(d, list) : list;
    if (seen)
        probe_aside(d, false, both, probed);
    struct record *r = emit(d, d->isa->tensor[op], BLEND_NONE, 0, 0, 0, 0, imm);
    r->wide = list;
    r->gather = GATHER_LIVE;
    if (seen)
        probe_aside(d, true, both, probed);
    return true;
}

static bool decode_wmma(struct decoder *d) {
    return refuse(d, "wmma leaves it to the chip which lane holds which element; mma is run");
}

static bool decode_wgmma(struct decoder *d) {
    return refuse(d, "tensor-core instructions of a warpgroup are not run");
}

static bool decode_tcgen05(struct decoder *d) {
    return refuse(d, "tensor memory is not run");
}

const struct opcode opcodes_tensor[] = {
    {"mma", decode_mma}, {"wmma", decode_wmma}, {"wgmma", decode_wgmma}, {"tcgen05", decode_tcgen05}, {NULL, NULL},
};
