/* Control flow, barriers, and operations of a whole warp. Source: PTX ISA 9.0, 9.7.9.6, 9.7.12, 9.7.13, 9.7.14.5.14. */
#include "undefined.h"
#include <string.h>

static bool decode_bra(struct decoder *d) {
    has(d, "uni");
    if (!all_taken(d) || !operand_total(d, 1, 1))
        return false;
    const struct ptx_operand *o = &d->in->operands[0];
    if (o->kind != PTX_OP_LABEL)
        return refuse(d, "a branch needs a label");
    emit(d, NULL, BLEND_NONE, (uint32_t)o->target, 0, 0, 0, 0)->control = CONTROL_BRANCH;
    return true;
}

static bool decode_exit(struct decoder *d) {
    has(d, "uni");
    if (!all_taken(d) || !operand_total(d, 0, 0))
        return false;
    emit(d, NULL, BLEND_NONE, 0, 0, 0, 0, 0)->control = !strcmp(d->in->opcode, "trap") ? CONTROL_TRAP : CONTROL_EXIT;
    return true;
}

static bool decode_barrier(struct decoder *d) {
    const bool old = !strcmp(d->in->opcode, "bar");
    if (old && has(d, "warp")) {
        uint32_t members;
        if (!has(d, "sync"))
            return refuse(d, NULL);
        if (!all_taken(d) || !operand_total(d, 1, 1) || !source_number(d, 0, 32, &members))
            return false;
        emit(d, op_warp_sync, BLEND_NONE, 0, members, 0, 0, 0)->gather = GATHER_MEMBERS_A;
        return true;
    }
    has(d, "cta");
    const bool aligned = old || has(d, "aligned");
    const bool arrive = has(d, "arrive");
    if (!arrive && !has(d, "sync"))
        return refuse(d, NULL);
    if (!all_taken(d) || !operand_total(d, arrive ? 2 : 1, 2))
        return false;
    uint32_t id, threads = 0;
    const struct ptx_operand *o = d->in->operands;
    if (o[0].kind == PTX_OP_INTEGER && o[0].bits > 15)
        return refuse(d, "barriers are numbered 0 to 15");
    if (d->in->operand_count == 2 && o[1].kind == PTX_OP_INTEGER &&
        (o[1].bits % LANES || !o[1].bits || o[1].bits > 1024))
        return refuse(d, "a thread count is a multiple of 32, at most 1024");
    if (!source_number(d, 0, 32, &id) || (d->in->operand_count == 2 && !source_number(d, 1, 32, &threads)))
        return false;
    struct record *r =
        emit(d, NULL, BLEND_NONE, 0, id, threads, 0, (arrive ? BARRIER_ARRIVE : 0) | (aligned ? BARRIER_ALIGNED : 0));
    r->control = CONTROL_BARRIER;
    r->gather = GATHER_LIVE;
    return true;
}

static bool decode_fence(struct decoder *d) {
    emit(d, op_fence, BLEND_NONE, 0, 0, 0, 0, 0);
    return true;
}

/* Prefetches: nothing is to be done. */
static bool decode_nothing(struct decoder *d) {
    emit(d, op_nothing, BLEND_NONE, 0, 0, 0, 0, 0);
    return true;
}

static bool decode_shfl(struct decoder *d) {
    static const char *const modes[] = {"up", "down", "bfly", "idx"};
    const int mode = one_of(d, modes, 4);
    uint32_t dst, s[4];
    if (!has(d, "sync") || mode < 0 || !has(d, "b32"))
        return refuse(d, NULL);
    if (!all_taken(d) || !operand_total(d, 5, 5) || !destination_number(d, 0, 32, &dst))
        return false;
    for (size_t i = 0; i < 4; ++i)
        if (!source_number(d, i + 1, 32, &s[i]))
            return false;
    reads_across(d, &d->in->operands[1]);
    uint32_t value, result;
    undefined_shuffle(d, &value, &result);
    const uint32_t list = wide(d, 4);
    const int second = d->in->operands[0].second;
    d->p->wide[list] = s[3];
    d->p->wide[list + 1] = second >= 0 ? d->slot[second] : UINT32_MAX;
    d->p->wide[list + 2] = value;
    d->p->wide[list + 3] = result;
    struct record *r = emit(d, op_shfl, BLEND_NONE, dst, s[0], s[1], s[2], mode);
    r->wide = list;
    r->gather = GATHER_MEMBERS_WIDE;
    return true;
}

static bool decode_vote(struct decoder *d) {
    static const char *const modes[] = {"all", "any", "uni", "ballot"};
    const int mode = one_of(d, modes, 4);
    uint32_t dst, pred, members;
    if (!has(d, "sync") || mode < 0 || !has(d, mode == 3 ? "b32" : "pred"))
        return refuse(d, NULL);
    if (!all_taken(d) || !operand_total(d, 3, 3) || !pred_source(d, &d->in->operands[1], &pred) ||
        !source_number(d, 2, 32, &members))
        return false;
    if (mode == 3 ? !destination_number(d, 0, 32, &dst) : !pred_destination(d, &d->in->operands[0], &dst))
        return false;
    emit(d, mode == 3 ? op_ballot : op_vote, BLEND_NONE, dst, pred, members, 0, mode)->gather = GATHER_MEMBERS_B;
    return true;
}

static bool decode_activemask(struct decoder *d) {
    uint32_t dst;
    if (!has(d, "b32"))
        return refuse(d, NULL);
    if (!all_taken(d) || !operand_total(d, 1, 1) || !destination_number(d, 0, 32, &dst))
        return false;
    emit(d, op_activemask, BLEND_NONE, dst, 0, 0, 0, 0);
    return true;
}

static bool decode_match(struct decoder *d) {
    const bool all = has(d, "all"), any = has(d, "any"), sync = has(d, "sync");
    const enum ptx_type t = next_type(d);
    uint32_t dst, a, members;
    if (all == any || !sync || (t != PTX_B32 && t != PTX_B64))
        return refuse(d, NULL);
    if (!all_taken(d) || !operand_total(d, 3, 3) || !destination_number(d, 0, 32, &dst) ||
        !source_number(d, 1, type_bits(t), &a) || !source_number(d, 2, 32, &members))
        return false;
    reads_across(d, &d->in->operands[1]);
    const int second = d->in->operands[0].second;
    emit(d, op_match, BLEND_NONE, dst, a, members, second >= 0 ? d->slot[second] : UINT32_MAX,
         all | (t == PTX_B64) << 1)
        ->gather = GATHER_MEMBERS_B;
    return true;
}

static bool decode_redux(struct decoder *d) {
    static const char *const names[] = {"add", "min", "max", "and", "or", "xor"};
    const bool sync = has(d, "sync");
    const int what = one_of(d, names, 6);
    const enum ptx_type t = next_type(d);
    uint32_t dst, a, members;
    if (!sync || what < 0 || (what < 3 ? t != PTX_U32 && t != PTX_S32 : t != PTX_B32))
        return refuse(d, NULL);
    if (!all_taken(d) || !operand_total(d, 3, 3) || !destination_number(d, 0, 32, &dst) ||
        !source_number(d, 1, 32, &a) || !source_number(d, 2, 32, &members))
        return false;
    reads_across(d, &d->in->operands[1]);
    const int ops[] = {0, t == PTX_S32 ? 3 : 1, t == PTX_S32 ? 4 : 2, 5, 6, 7};
    emit(d, op_redux, BLEND_NONE, dst, a, members, 0, ops[what])->gather = GATHER_MEMBERS_B;
    return true;
}

/* Registers of an operand of mma; those that the shape has fewer of are filled up. */
static bool fragment(struct decoder *d, size_t operand, size_t count, size_t room, uint32_t fill, uint32_t *out) {
    const struct ptx_operand *o = &d->in->operands[operand];
    const bool vector = o->kind == PTX_OP_VECTOR;
    if ((vector ? o->element_count : 1) != count)
        return refuse(d, "a fragment of another length");
    for (size_t i = 0; i < room; ++i) {
        const struct ptx_operand *one = vector && i < count ? &o->elements[i] : o;
        out[i] = fill;
        if (i < count && !(operand ? source(d, one, 32, &out[i]) : destination(d, one, 32, &out[i])))
            return false;
    }
    if (operand)
        reads_across(d, o);
    return true;
}

static bool decode_mma(struct decoder *d) {
    static const char *const shapes[] = {"m16n8k32", "m16n8k16", "m8n8k16"};
    static const struct {
        uint8_t a, b, c;
        uint32_t macs;
    } sizes[] = {{4, 2, 4, 16 * 8 * 32}, {2, 1, 4, 16 * 8 * 16}, {1, 1, 2, 8 * 8 * 16}};
    const bool layout = has(d, "sync") && has(d, "aligned") && has(d, "row") && has(d, "col");
    const int shape = one_of(d, shapes, 3);
    const bool clamp = has(d, "satfinite");
    enum ptx_type t[4];
    for (int i = 0; i < 4; ++i)
        t[i] = next_type(d);
    if (!layout || shape < 0 || t[0] != PTX_S32 || t[3] != PTX_S32 || (t[1] != PTX_S8 && t[1] != PTX_U8) ||
        (t[2] != PTX_S8 && t[2] != PTX_U8))
        return refuse(d, NULL);
    if (!all_taken(d) || !operand_total(d, 4, 4))
        return false;
    uint32_t registers[14];
    const uint32_t zero = constant(d, 0, false);
    if (!fragment(d, 0, sizes[shape].c, 4, FILE_SCRATCH, registers) ||
        !fragment(d, 1, sizes[shape].a, 4, zero, registers + 4) ||
        !fragment(d, 2, sizes[shape].b, 2, zero, registers + 8) ||
        !fragment(d, 3, sizes[shape].c, 4, zero, registers + 10))
        return false;
    const uint32_t list = wide(d, 14);
    memcpy(d->p->wide + list, registers, sizeof registers);
    struct record *r = emit(d, d->isa->mma, BLEND_NONE, 0, 0, 0, 0,
                            sizes[shape].macs | (t[1] == PTX_U8 ? MMA_A_UNSIGNED : 0) |
                                (t[2] == PTX_U8 ? MMA_B_UNSIGNED : 0) | (clamp ? MMA_SATFINITE : 0));
    r->wide = list;
    r->gather = GATHER_LIVE;
    return true;
}

const struct opcode opcodes_warp[] = {
    {"bra", decode_bra},
    {"exit", decode_exit},         {"trap", decode_exit},
    {"bar", decode_barrier},       {"barrier", decode_barrier},
    {"membar", decode_fence},      {"fence", decode_fence},
    {"prefetch", decode_nothing},  {"prefetchu", decode_nothing},
    {"nanosleep", decode_nothing}, {"shfl", decode_shfl},
    {"vote", decode_vote},         {"activemask", decode_activemask},
    {"match", decode_match},       {"redux", decode_redux},
    {"mma", decode_mma},           {NULL, NULL},
};
