/* Comparisons and selections. Source: PTX ISA 9.0, 9.7.6, 9.7.7. */
#include "decode.h"
#include <string.h>

static bool is_pair(enum ptx_type t) {
    return t == PTX_F16X2 || t == PTX_BF16X2;
}

/* Emits the comparison of operands at and at + 1 into pred; of two halves (x2) the upper ones into upper. */
static bool compare(struct decoder *d, const char *stem, enum ptx_type t, bool ftz, size_t at, uint32_t pred,
                    uint32_t upper) {
    static const char *const unsigned_names[][2] = {{"lo", "lt"}, {"ls", "le"}, {"hi", "gt"}, {"hs", "ge"}};
    static const char *const names[] = {
        [PTX_B16] = "u16", [PTX_B32] = "u32",   [PTX_B64] = "u64",  [PTX_U16] = "u16",    [PTX_U32] = "u32",
        [PTX_U64] = "u64", [PTX_S16] = "s16",   [PTX_S32] = "s32",  [PTX_S64] = "s64",    [PTX_F16] = "f32",
        [PTX_F32] = "f32", [PTX_F16X2] = "f32", [PTX_BF16] = "f32", [PTX_BF16X2] = "f32", [PTX_F64] = "f64"};
    const char *type = t < sizeof names / sizeof *names ? names[t] : NULL;
    const bool equality = !strcmp(stem, "eq") || !strcmp(stem, "ne");
    const bool half = t == PTX_F16 || t == PTX_F16X2, brain = t == PTX_BF16 || t == PTX_BF16X2;
    if (!type || (ftz && t != PTX_F32 && !half))
        return refuse(d, NULL);
    if (type_integer(t)) {
        const bool bits_only = t == PTX_B16 || t == PTX_B32 || t == PTX_B64;
        for (size_t i = 0; i < 4; ++i)
            if (!strcmp(stem, unsigned_names[i][0])) {
                if (type_signed(t) || bits_only)
                    return refuse(d, NULL);
                stem = unsigned_names[i][1];
            }
        if (equality)
            type = type_bits(t) == 16 ? "u16" : type_bits(t) == 32 ? "u32" : "u64";
        else if (bits_only)
            return refuse(d, NULL);
    }
    const enum lane_op op = lane_named(stem, type);
    uint32_t s[2];
    if (op == LANE_OPS)
        return refuse(d, NULL);
    for (unsigned i = 0; i < 2; ++i)
        if (!source_number(d, at + i, type_bits(t), &s[i]))
            return false;
    if (!half && !brain && !ftz) {
        lane(d, op, pred, s[0], s[1], 0, 0);
        return true;
    }
    for (unsigned i = 0; half && ftz && i < 2; ++i) {
        const uint32_t flushed = temp(d);
        lane(d, OP_flush_f16x2, flushed, s[i], 0, 0, 0);
        s[i] = flushed;
    }
    const enum lane_op widen = half ? OP_f16_f32 : brain ? OP_bf16_f32 : OP_flush_f32;
    const uint32_t x[2] = {temp(d), temp(d)};
    for (unsigned i = 0; i < 2; ++i)
        lane(d, widen, x[i], s[i], 0, 0, 0);
    lane(d, op, pred, x[0], x[1], 0, 0);
    for (unsigned i = 0; is_pair(t) && i < 2; ++i) {
        lane(d, OP_high16, x[i], s[i], 0, 0, 0);
        lane(d, widen, x[i], x[i], 0, 0, 0);
    }
    if (is_pair(t))
        lane(d, op, upper, x[0], x[1], 0, 0);
    return true;
}

static const char *const comparisons[] = {"eq", "ne",  "lt",  "le",  "gt",  "ge",  "lo",  "ls",  "hi",
                                          "hs", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};
static const char *const logic[] = {"and", "or", "xor"};
enum { COMPARISONS = sizeof comparisons / sizeof *comparisons };

/* p = (a op b) BoolOp c; q = !(a op b) BoolOp c. Of two halves: p of the lower ones, q of the upper ones. */
static bool decode_setp(struct decoder *d) {
    const int stem = one_of(d, comparisons, COMPARISONS), join = one_of(d, logic, 3);
    const bool ftz = has(d, "ftz");
    const enum ptx_type t = next_type(d);
    if (stem < 0)
        return refuse(d, NULL);
    if (!all_taken(d) || !operand_total(d, join < 0 ? 3 : 4, join < 0 ? 3 : 4))
        return false;
    uint32_t p, c = PRED_TRUE;
    const int second = d->in->operands[0].second;
    if (!pred_destination(d, &d->in->operands[0], &p) || (join >= 0 && !pred_source(d, &d->in->operands[3], &c)))
        return false;
    if (second < 0 && join < 0 && !is_pair(t))
        return compare(d, comparisons[stem], t, ftz, 1, p, 0);
    const uint32_t holds = pred_temp(d), upper = is_pair(t) ? pred_temp(d) : (holds | GUARD_NEGATED);
    const int what = join < 0 ? 0 : join;
    if (!compare(d, comparisons[stem], t, ftz, 1, holds, upper))
        return false;
    if (second < 0) {
        pred_logic(d, p, holds, c, what);
        return true;
    }
    /* Both destinations from copies, and the one that the guard is or c comes from last. */
    const uint32_t q = d->slot[second], copy = pred_temp(d);
    pred_logic(d, copy, c, PRED_TRUE, 3);
    if ((d->guard & ~GUARD_NEGATED) == p) {
        pred_logic(d, q, upper, copy, what);
        pred_logic(d, p, holds, copy, what);
    } else {
        pred_logic(d, p, holds, copy, what);
        pred_logic(d, q, upper, copy, what);
    }
    return true;
}

/* What a comparison that holds gives: all ones, or 1.0; and whether dtype and stype go together. */
static bool set_value(enum ptx_type to, enum ptx_type t, uint32_t *value) {
    const bool half = t == PTX_F16 || t == PTX_BF16, plain = !half && !is_pair(t);
    switch (to) {
    case PTX_U32:
    case PTX_S32:
        *value = is_pair(t) ? 0xffff : UINT32_MAX;
        return true;
    case PTX_U16:
    case PTX_S16:
        *value = 0xffff;
        return half;
    case PTX_F16:
    case PTX_F16X2:
        *value = 0x3c00;
        return to == PTX_F16 ? plain || t == PTX_F16 : t == PTX_F16X2;
    case PTX_BF16:
    case PTX_BF16X2:
        *value = 0x3f80;
        return to == PTX_BF16 ? plain || half : t == PTX_BF16X2;
    default:
        *value = 0x3f800000;
        return to == PTX_F32 && plain;
    }
}

/* d = the comparison (BoolOp c) as all ones or 1.0, else 0; of two halves in each half (measured, of .u32 as well). */
static bool decode_set(struct decoder *d) {
    const int stem = one_of(d, comparisons, COMPARISONS), join = one_of(d, logic, 3);
    const bool ftz = has(d, "ftz");
    const enum ptx_type to = next_type(d), t = next_type(d);
    uint32_t dst, c, value;
    if (stem < 0 || !set_value(to, t, &value))
        return refuse(d, NULL);
    if (!all_taken(d) || !operand_total(d, join < 0 ? 3 : 4, join < 0 ? 3 : 4) ||
        !destination_number(d, 0, type_bits(to), &dst))
        return false;
    const uint32_t holds = pred_temp(d), upper = is_pair(t) ? pred_temp(d) : 0;
    if (!compare(d, comparisons[stem], t, ftz, 1, holds, upper))
        return false;
    if (join >= 0) {
        if (!pred_source(d, &d->in->operands[3], &c))
            return false;
        pred_logic(d, holds, holds, c, join);
        if (is_pair(t))
            pred_logic(d, upper, upper, c, join);
    }
    const uint32_t yes = constant(d, value, false), no = constant(d, 0, false);
    if (!is_pair(t)) {
        lane(d, type_bits(to) == 16 ? OP_selp_b16 : OP_selp_b32, dst, yes, no, holds, 0);
        return true;
    }
    const uint32_t low = temp(d), high = temp(d);
    lane(d, OP_selp_b32, low, yes, no, holds, 0);
    lane(d, OP_selp_b32, high, yes, no, upper, 0);
    lane(d, OP_pack16, dst, low, high, 0, 0);
    return true;
}

static bool decode_selp(struct decoder *d) {
    const enum ptx_type t = next_type(d);
    const unsigned bits = type_bits(t);
    uint32_t dst, a, b, p;
    if (bits != 16 && bits != 32 && bits != 64)
        return refuse(d, NULL);
    if (!all_taken(d) || !operand_total(d, 4, 4) || !destination_number(d, 0, bits, &dst) ||
        !source_number(d, 1, bits, &a) || !source_number(d, 2, bits, &b) || !pred_source(d, &d->in->operands[3], &p))
        return false;
    const bool swap = p & GUARD_NEGATED;
    lane(d,
         bits == 64   ? OP_selp_b64
         : bits == 32 ? OP_selp_b32
                      : OP_selp_b16,
         dst, swap ? b : a, swap ? a : b, p & ~GUARD_NEGATED, 0);
    return true;
}

static bool decode_slct(struct decoder *d) {
    static const enum lane_op ops[2][3] = {{OP_slct_b16_s32, OP_slct_b32_s32, OP_slct_b64_s32},
                                           {OP_slct_b16_f32, OP_slct_b32_f32, OP_slct_b64_f32}};
    const bool ftz = has(d, "ftz");
    const enum ptx_type t = next_type(d), by = next_type(d);
    const unsigned bits = type_bits(t);
    uint32_t dst, a, b, c;
    if ((bits != 16 && bits != 32 && bits != 64) || t == PTX_F16 || t == PTX_BF16 || (by != PTX_S32 && by != PTX_F32) ||
        (ftz && by != PTX_F32))
        return refuse(d, NULL);
    if (!all_taken(d) || !operand_total(d, 4, 4) || !destination_number(d, 0, bits, &dst) ||
        !source_number(d, 1, bits, &a) || !source_number(d, 2, bits, &b) || !source_number(d, 3, 32, &c))
        return false;
    if (ftz) {
        const uint32_t flushed = temp(d);
        lane(d, OP_flush_f32, flushed, c, 0, 0, 0);
        c = flushed;
    }
    lane(d, ops[by == PTX_F32][bits == 64 ? 2 : bits == 32], dst, a, b, c, 0);
    return true;
}

const struct opcode opcodes_compare[] = {
    {"setp", decode_setp}, {"set", decode_set}, {"selp", decode_selp}, {"slct", decode_slct}, {NULL, NULL},
};
