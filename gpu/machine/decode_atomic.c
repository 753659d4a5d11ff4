/* atom and red. Scopes and orders change no value: one interleaving is run.
 * Source: PTX ISA 9.0, 9.7.13.5, 9.7.13.6; facts/ptx.md F-16, W-9. */
#include "decode.h"
#include <string.h>

static const char *const operations[] = {"add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec"};

#define SMALL_FLOATS (T(F16) | T(F16X2) | T(BF16) | T(BF16X2))

/* The types that an operation has; of a vector only floats, and f32 only for sums. */
static uint32_t types_of(unsigned op, bool vector, bool red) {
    const uint32_t bits = T(B32) | T(B64);
    if (vector)
        return op == ATOMIC_ADD ? SMALL_FLOATS | T(F32) : op == ATOMIC_MIN || op == ATOMIC_MAX ? SMALL_FLOATS : 0;
    switch (op) {
    case ATOMIC_ADD:
        return T(U32) | T(S32) | T(U64) | T(F32) | T(F64) | SMALL_FLOATS;
    case ATOMIC_MIN:
    case ATOMIC_MAX:
        return T(U32) | T(S32) | T(U64) | T(S64);
    case ATOMIC_AND:
    case ATOMIC_OR:
    case ATOMIC_XOR:
        return bits;
    case ATOMIC_EXCH:
        return red ? 0 : bits | T(B128);
    case ATOMIC_CAS:
        return red ? 0 : bits | T(B16) | T(B128);
    default:
        return T(U32);
    }
}

/* Registers of an operand, all of one width; no operand (red has no destinations): the sink. */
static bool registers(struct decoder *d, const struct ptx_operand *o, const struct access *x, bool destinations,
                      uint32_t *out) {
    const bool vector = o && o->kind == PTX_OP_VECTOR;
    if (o && o->kind != PTX_OP_SINK && (vector ? o->element_count : 1) != x->elements)
        return refuse_operand(d, "a vector of another length");
    for (unsigned i = 0; i < x->elements; ++i) {
        const struct ptx_operand *one = vector ? &o->elements[i] : o;
        out[i] = FILE_SCRATCH;
        if (one && !(destinations ? destination(d, one, x->register_bits, &out[i])
                                  : source(d, one, x->register_bits, &out[i])))
            return false;
    }
    return true;
}

static bool has_destination(const struct ptx_operand *o) {
    bool any = o->kind != PTX_OP_SINK && o->kind != PTX_OP_VECTOR;
    for (size_t i = 0; i < o->element_count; ++i)
        any |= o->elements[i].kind != PTX_OP_SINK;
    return any;
}

static bool decode_atomic(struct decoder *d) {
    static const char *const orders[] = {"relaxed", "acquire", "release", "acq_rel"};
    static const char *const scopes[] = {"cta", "cluster", "gpu", "sys"};
    static const char *const vectors[] = {"v2", "v4", "v8"};
    const bool red = !strcmp(d->in->opcode, "red");
    struct access x = {.store = true, .strong = true, .atomic = true, .elements = 1};
    const int order = one_of(d, orders, 4);
    const int scope = one_of(d, scopes, 4);
    const bool policy = has(d, "L2::cache_hint") || has(d, "level::cache_hint"), noftz = has(d, "noftz");
    if (!take_space(d, &x.space))
        return false;
    const int op = one_of(d, operations, sizeof operations / sizeof *operations), vector = one_of(d, vectors, 3);
    const enum ptx_type t = next_type(d);
    if (op < 0 || t == PTX_NO_TYPE || !(types_of((unsigned)op, vector >= 0, red) >> t & 1))
        return refuse(d, NULL);
    const bool small = SMALL_FLOATS >> t & 1;
    if (small != noftz)
        return refuse(d, small ? "sums of 16-bit floats need .noftz" : NULL);
    x.element_bytes = (uint8_t)ptx_type_bytes(t);
    x.elements = (uint8_t)(vector < 0 ? 1 : 2 << vector);
    if (x.element_bytes * x.elements > 16 || (vector >= 0 && x.space == PTX_SHARED))
        return refuse(d, NULL);
    if (x.space != PTX_GLOBAL && x.space != PTX_SHARED && x.space != PTX_REG)
        return refuse(d, "an atomic operation in this state space");
    x.bytes = x.element_bytes * x.elements;
    x.register_bits = (uint8_t)(8 * x.element_bytes);
    x.wide_registers = x.register_bits == 64;
    const size_t count = (red ? 2u : 3u) + (op == ATOMIC_CAS) + policy;
    if (!all_taken(d) || !operand_total(d, count, count))
        return false;
    const struct ptx_operand *o = d->in->operands, *to = red ? NULL : o, *where = red ? o : o + 1;
    uint32_t offsets[17], base;
    int64_t shift;
    const unsigned n = x.elements;
    if (!registers(d, where + 1, &x, false, offsets) || !registers(d, to, &x, true, offsets + n) ||
        (op == ATOMIC_CAS && !source(d, where + 2, x.register_bits, &offsets[2 * n])) ||
        !address(d, where, &x, &base, &shift))
        return false;
    const uint32_t list = wide(d, 2 * n + 1);
    memcpy(d->p->wide + list, offsets, (2 * n + (op == ATOMIC_CAS)) * sizeof *offsets);
    d->p->float_atomics |= t >= PTX_F16 && op == ATOMIC_ADD;
    const bool returns = to && has_destination(to);
    x.atomic = returns || op != ATOMIC_EXCH; /* else a store, and nothing is read */
    x.order = ACCESS_STORE | (x.atomic ? ACCESS_LOAD : 0) | (order == 1 || order == 3 ? ACCESS_ACQUIRE : 0) |
              (order >= 2 ? ACCESS_RELEASE : 0) | (scope == 0 || scope == 1 ? ACCESS_CTA : 0);
    x.reduced = returns || t >= PTX_F16 || op > ATOMIC_XOR ? 0 : (uint16_t)(1u << op);
    x.unmodelled = true;
    const uint32_t access = add_access(d, &x);
    count_access(d, base, access, shift);
    emit(d, op_atomic, BLEND_NONE, FILE_SCRATCH, base,
         (uint32_t)op | (uint32_t)t << 8 | (returns ? (uint32_t)ATOMIC_RETURNS : 0), access, shift)
        ->wide = list;
    return true;
}

const struct opcode opcodes_atomic[] = {{"atom", decode_atomic}, {"red", decode_atomic}, {NULL, NULL}};
