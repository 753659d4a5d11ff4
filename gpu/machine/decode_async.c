/* cp.async and its groups. Source: PTX ISA 9.0, 9.7.9.25.3; facts measured with ptxas: a source size of 0 .. cp-size is
 * taken, a larger one is undefined. Bulk copies, and arrivals on an mbarrier, are not run. */
#include "async.h"
#include "decode.h"

/* An address operand in this space; a named variable must be in it. */
static bool copy_address(struct decoder *d, size_t operand, enum ptx_space space, struct access *x, uint32_t *reg,
                         int64_t *shift) {
    const struct ptx_operand *o = &d->in->operands[operand];
    x->space = space;
    if (o->kind == PTX_OP_ADDRESS && o->variable >= 0 && d->m->variables[o->variable].space != space)
        return refuse_operand(d, "an address in another state space");
    return address(d, o, x, reg, shift);
}

/* The operand behind cp-size: bytes of the source that are read, or a predicate that says that none is. */
static bool source_size(struct decoder *d, size_t operand, unsigned bytes, uint32_t *size, uint32_t *ignore) {
    const struct ptx_operand *o = &d->in->operands[operand];
    if (o->kind == PTX_OP_REGISTER && register_bits(d, o) == 1)
        return pred_source(d, o, ignore);
    if (o->kind == PTX_OP_INTEGER && o->bits > bytes)
        return refuse_operand(d, "a source size above the copy's: undefined");
    return source(d, o, 32, size);
}

static bool decode_copy(struct decoder *d) {
    const bool ca = has(d, "ca"), cg = has(d, "cg");
    const bool to = has(d, "shared") || has(d, "shared::cta"), from = has(d, "global");
    const bool policy = has(d, "L2::cache_hint");
    static const char *const prefetch[] = {"L2::64B", "L2::128B", "L2::256B"};
    one_of(d, prefetch, 3);
    if (ca == cg || !to || !from)
        return refuse(d, NULL);
    if (!all_taken(d) || !operand_total(d, policy ? 4 : 3, policy ? 5 : 4))
        return false;
    const struct ptx_operand *n = &d->in->operands[2];
    if (n->kind != PTX_OP_INTEGER || (n->bits != 16 && (cg || (n->bits != 4 && n->bits != 8))))
        return refuse(d, cg ? "a copy of 16 bytes" : "a copy of 4, 8 or 16 bytes");
    const unsigned bytes = (unsigned)n->bits;
    struct access target = {
        .store = true, .unmodelled = true, .elements = 1, .element_bytes = (uint8_t)bytes, .bytes = (uint8_t)bytes};
    struct access origin = {.elements = 1, .element_bytes = (uint8_t)bytes, .bytes = (uint8_t)bytes};
    uint32_t a, b, size = COPY_NONE, ignore = COPY_NONE, hint;
    int64_t shift, source_shift;
    const size_t rest = d->in->operand_count - policy;
    if (!copy_address(d, 0, PTX_SHARED, &target, &a, &shift) ||
        !copy_address(d, 1, PTX_GLOBAL, &origin, &b, &source_shift) ||
        (rest == 4 && !source_size(d, 3, bytes, &size, &ignore)) || (policy && !source_number(d, rest, 64, &hint)))
        return false;
    const uint32_t list = wide(d, COPY_WIDES), number = add_access(d, &target);
    add_access(d, &origin);
    count_access(d, a, number, shift);
    d->p->wide[list + COPY_SIZE] = size;
    d->p->wide[list + COPY_IGNORE] = ignore;
    d->p->wide[list + COPY_SHIFT_LOW] = (uint32_t)source_shift;
    d->p->wide[list + COPY_SHIFT_HIGH] = (uint32_t)((uint64_t)source_shift >> 32);
    emit(d, op_copy, BLEND_NONE, FILE_SCRATCH, a, b, number, shift)->wide = list;
    return true;
}

static bool decode_cp(struct decoder *d) {
    if (!has(d, "async"))
        return refuse(d, NULL);
    const bool all = has(d, "wait_all");
    if (all || has(d, "commit_group")) {
        if (!all_taken(d) || !operand_total(d, 0, 0))
            return false;
        emit(d, all ? op_wait : op_commit, BLEND_NONE, FILE_SCRATCH, 0, 0, 0, -1);
        return true;
    }
    if (has(d, "wait_group")) {
        if (!all_taken(d) || !operand_total(d, 1, 1))
            return false;
        const struct ptx_operand *n = &d->in->operands[0];
        if (n->kind != PTX_OP_INTEGER || n->bits > INT32_MAX)
            return refuse_operand(d, "the number of groups is a constant of at least 0");
        emit(d, op_wait, BLEND_NONE, FILE_SCRATCH, 0, 0, 0, (int64_t)n->bits);
        return true;
    }
    return decode_copy(d);
}

const struct opcode opcodes_async[] = {{"cp", decode_cp}, {NULL, NULL}};
