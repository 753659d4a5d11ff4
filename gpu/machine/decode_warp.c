/* Control flow, barriers, and operations of a whole warp. Source: PTX ISA 9.0, 9.7.9.6, 9.7.12, 9.7.13, 9.7.14.5.14. */
#include "undefined.h"
#include <string.h>

static bool decode_bra(struct decoder *d) {
    has(d, "uni");
    if (!all_taken(d) || !operand_total(d, 1, 1))
        return false;
    const struct ptx_operand *o = &d->in->operands[0];
    if (o->kind != PTX_OP_LABEL)
        return refuse_operand(d, "a branch needs a label");
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
    if (has(d, "cluster"))
        return refuse(d, "barriers of a cluster are not run");
    has(d, "cta");
    const bool aligned = has(d, "aligned") || old;
    const bool arrive = has(d, "arrive"), red = !arrive && has(d, "red");
    int kind = 0;
    if (red) {
        static const char *const kinds[] = {"popc", "and", "or"};
        kind = one_of(d, kinds, 3);
        if (kind < 0 || !has(d, kind ? "pred" : "u32"))
            return refuse(d, NULL);
    } else if (!arrive && !has(d, "sync")) {
        return refuse(d, NULL);
    }
    /* .red: result, barrier, {threads,} predicate */
    const size_t at = red, count = d->in->operand_count - 2 * at;
    if (!all_taken(d) || !operand_total(d, (arrive ? 2 : 1) + 2 * at, 2 + 2 * at))
        return false;
    uint32_t id, threads = 0, pred = 0, dst = 0;
    const struct ptx_operand *o = d->in->operands + at;
    if (o[0].kind == PTX_OP_INTEGER && o[0].bits > 15)
        return refuse_operand(d, "barriers are numbered 0 to 15");
    if (count == 2 && o[1].kind == PTX_OP_INTEGER && (o[1].bits % LANES || !o[1].bits || o[1].bits > 1024))
        return refuse_operand(d, "a thread count is a multiple of 32, at most 1024");
    if (!source(d, &o[0], 32, &id) || (count == 2 && !source(d, &o[1], 32, &threads)))
        return false;
    if (red && (!pred_source(d, &o[count], &pred) ||
                !(kind ? pred_destination(d, &d->in->operands[0], &dst) : destination_number(d, 0, 32, &dst))))
        return false;
    struct record *r =
        emit(d, NULL, BLEND_NONE, dst, id, threads, pred,
             (arrive ? BARRIER_ARRIVE : 0) | (aligned ? BARRIER_ALIGNED : 0) | (red ? BARRIER_POPC << kind : 0));
    r->control = CONTROL_BARRIER;
    r->gather = GATHER_LIVE;
    return true;
}

static bool decode_fence(struct decoder *d) {
    bool cta = false;
    for (size_t i = 0; i < d->in->part_count; ++i)
        cta |= !strcmp(d->in->parts[i], "cta") || !strcmp(d->in->parts[i], "cluster");
    if (!take_fence(d))
        return false;
    emit(d, op_fence, BLEND_NONE, 0, 0, 0, 0, cta);
    return true;
}

static const char no_sync[] = "without .sync it ends with sm_60: the machine runs sm_80 and later";

static bool decode_shfl(struct decoder *d) {
    static const char *const modes[] = {"up", "down", "bfly", "idx"};
    const bool sync = has(d, "sync");
    const int mode = one_of(d, modes, 4);
    uint32_t dst, s[4];
    if (!sync)
        return refuse(d, no_sync);
    if (mode < 0 || !has(d, "b32"))
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
    const bool sync = has(d, "sync");
    const int mode = one_of(d, modes, 4);
    uint32_t dst, pred, members;
    if (!sync)
        return refuse(d, no_sync);
    if (mode < 0 || !has(d, mode == 3 ? "b32" : "pred"))
        return refuse(d, NULL);
    if (!all_taken(d) || !operand_total(d, 3, 3) || !pred_source(d, &d->in->operands[1], &pred) ||
        !source_number(d, 2, 32, &members))
        return false;
    if (mode == 3 ? !destination_number(d, 0, 32, &dst) : !pred_destination(d, &d->in->operands[0], &dst))
        return false;
    emit(d, mode == 3 ? op_ballot : op_vote, BLEND_NONE, dst, pred, members, 0, mode)->gather = GATHER_MEMBERS_B;
    return true;
}

/* elect.sync d|p, members: p holds in one lane, whose number is d. */
static bool decode_elect(struct decoder *d) {
    uint32_t dst, members;
    if (!has(d, "sync"))
        return refuse(d, NULL);
    if (!all_taken(d) || !operand_total(d, 2, 2) || !destination_number(d, 0, 32, &dst) ||
        !source_number(d, 1, 32, &members))
        return false;
    const int second = d->in->operands[0].second;
    if (second < 0)
        return refuse_operand(d, "elect.sync has a predicate");
    emit(d, op_elect, BLEND_NONE, dst, 0, members, d->slot[second], 0)->gather = GATHER_MEMBERS_B;
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

const struct opcode opcodes_warp[] = {
    {"bra", decode_bra},
    {"exit", decode_exit},
    {"trap", decode_exit},
    {"bar", decode_barrier},
    {"barrier", decode_barrier},
    {"membar", decode_fence},
    {"fence", decode_fence},
    {"shfl", decode_shfl},
    {"vote", decode_vote},
    {"elect", decode_elect},
    {"activemask", decode_activemask},
    {"match", decode_match},
    {"redux", decode_redux},
    {NULL, NULL},
};
