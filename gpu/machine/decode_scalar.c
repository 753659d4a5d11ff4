/* Arithmetic and bit operations. Most are one row of a table: opcode, modifiers, types, lane operation.
 * Source: PTX ISA 9.0, 9.7.1 .. 9.7.5, 9.7.8. */
#include "decode.h"
#include <stdio.h>
#include <string.h>

/* Modifiers of a row, all to be there but those ending in ? (may be there, means nothing):
 *   ROUND   .rn .rz .rm .rp, must be there          ROUND?  may be there; without it .rn
 *   FTZ     subnormal sources and results become zeros, by helper records           (f32; may be there)
 *   SAT     the result is clamped to 0 .. 1, by a helper record                     (may be there) */
struct row {
    const char *opcode, *modifiers;
    uint32_t types;
    enum lane_op op;
    int directed; /* enum directed for .rz .rm .rp, or -1 */
};

#define INTEGER_ROWS(name, modifiers, stem)                                                                            \
    {name, modifiers, T(U16), OP_##stem##_u16, -1}, {name, modifiers, T(S16), OP_##stem##_s16, -1},                    \
        {name, modifiers, T(U32), OP_##stem##_u32, -1}, {name, modifiers, T(S32), OP_##stem##_s32, -1},                \
        {name, modifiers, T(U64), OP_##stem##_u64, -1}, {                                                              \
        name, modifiers, T(S64), OP_##stem##_s64, -1                                                                   \
    }
#define PLAIN_ROWS(name, modifiers, op16, op32, op64)                                                                  \
    {name, modifiers, TYPES_16, op16, -1}, {name, modifiers, TYPES_32, op32, -1}, {                                    \
        name, modifiers, TYPES_64, op64, -1                                                                            \
    }
#define BIT_ROWS(name, stem)                                                                                           \
    {name, "", T(B16), OP_##stem##_b16, -1}, {name, "", T(B32), OP_##stem##_b32, -1}, {                                \
        name, "", T(B64), OP_##stem##_b64, -1                                                                          \
    }
static const struct row rows[] = {
    PLAIN_ROWS("add", "", OP_add_u16, OP_add_u32, OP_add_u64),
    PLAIN_ROWS("sub", "", OP_sub_u16, OP_sub_u32, OP_sub_u64),
    {"add", "sat", T(S32), OP_add_sat_s32, -1},
    {"sub", "sat", T(S32), OP_sub_sat_s32, -1},
    PLAIN_ROWS("mul", "lo", OP_mul_lo_u16, OP_mul_lo_u32, OP_mul_lo_u64),
    INTEGER_ROWS("mul", "hi", mul_hi),
    {"mul", "wide", T(U16), OP_mul_wide_u16, -1},
    {"mul", "wide", T(S16), OP_mul_wide_s16, -1},
    {"mul", "wide", T(U32), OP_mul_wide_u32, -1},
    {"mul", "wide", T(S32), OP_mul_wide_s32, -1},
    PLAIN_ROWS("mad", "lo", OP_mad_lo_u16, OP_mad_lo_u32, OP_mad_lo_u64),
    {"mad", "wide", T(U16), OP_mad_wide_u16, -1},
    {"mad", "wide", T(S16), OP_mad_wide_s16, -1},
    {"mad", "wide", T(U32), OP_mad_wide_u32, -1},
    {"mad", "wide", T(S32), OP_mad_wide_s32, -1},
    {"mul24", "lo", T(U32), OP_mul24_lo_u32, -1},
    {"mul24", "lo", T(S32), OP_mul24_lo_s32, -1},
    {"mul24", "hi", T(U32), OP_mul24_hi_u32, -1},
    {"mul24", "hi", T(S32), OP_mul24_hi_s32, -1},
    INTEGER_ROWS("sad", "", sad),
    INTEGER_ROWS("div", "", div),
    INTEGER_ROWS("rem", "", rem),
    INTEGER_ROWS("min", "", min),
    INTEGER_ROWS("max", "", max),
    {"abs", "", T(S16), OP_abs_s16, -1},
    {"abs", "", T(S32), OP_abs_s32, -1},
    {"abs", "", T(S64), OP_abs_s64, -1},
    {"neg", "", T(S16), OP_neg_s16, -1},
    {"neg", "", T(S32), OP_neg_s32, -1},
    {"neg", "", T(S64), OP_neg_s64, -1},
    BIT_ROWS("and", and),
    BIT_ROWS("or", or),
    BIT_ROWS("xor", xor),
    BIT_ROWS("not", not ),
    BIT_ROWS("cnot", cnot),
    BIT_ROWS("shl", shl),
    {"shr", "", T(B16) | T(U16), OP_shr_u16, -1},
    {"shr", "", T(S16), OP_shr_s16, -1},
    {"shr", "", T(B32) | T(U32), OP_shr_u32, -1},
    {"shr", "", T(S32), OP_shr_s32, -1},
    {"shr", "", T(B64) | T(U64), OP_shr_u64, -1},
    {"shr", "", T(S64), OP_shr_s64, -1},
    {"shf", "l wrap", T(B32), OP_shf_l_wrap, -1},
    {"shf", "l clamp", T(B32), OP_shf_l_clamp, -1},
    {"shf", "r wrap", T(B32), OP_shf_r_wrap, -1},
    {"shf", "r clamp", T(B32), OP_shf_r_clamp, -1},
    {"bfe", "", T(U32), OP_bfe_u32, -1},
    {"bfe", "", T(S32), OP_bfe_s32, -1},
    {"bfe", "", T(U64), OP_bfe_u64, -1},
    {"bfe", "", T(S64), OP_bfe_s64, -1},
    {"popc", "", T(B32), OP_popc_b32, -1},
    {"popc", "", T(B64), OP_popc_b64, -1},
    {"clz", "", T(B32), OP_clz_b32, -1},
    {"clz", "", T(B64), OP_clz_b64, -1},
    {"brev", "", T(B32), OP_brev_b32, -1},
    {"brev", "", T(B64), OP_brev_b64, -1},
    {"bmsk", "clamp", T(B32), OP_bmsk_clamp, -1},
    {"bmsk", "wrap", T(B32), OP_bmsk_wrap, -1},
    {"prmt", "", T(B32), OP_prmt_b32, -1},

    {"add", "rn? ftz SAT", T(F32), OP_add_ftz_f32, -1},
    {"sub", "rn? ftz SAT", T(F32), OP_sub_ftz_f32, -1},
    {"mul", "rn? ftz SAT", T(F32), OP_mul_ftz_f32, -1},
    {"fma", "rn ftz SAT", T(F32), OP_fma_ftz_f32, -1},
    {"mad", "rn ftz SAT", T(F32), OP_fma_ftz_f32, -1},
    {"div", "rn ftz", T(F32), OP_div_ftz_f32, -1},
    {"add", "ROUND? FTZ SAT", T(F32), OP_add_f32, DIRECTED_ADD},
    {"sub", "ROUND? FTZ SAT", T(F32), OP_sub_f32, DIRECTED_SUB},
    {"mul", "ROUND? FTZ SAT", T(F32), OP_mul_f32, DIRECTED_MUL},
    {"fma", "ROUND FTZ SAT", T(F32), OP_fma_f32, DIRECTED_FMA},
    {"mad", "ROUND FTZ SAT", T(F32), OP_fma_f32, DIRECTED_FMA},
    {"div", "ROUND FTZ", T(F32), OP_div_f32, DIRECTED_DIV},
    {"rcp", "ROUND FTZ", T(F32), OP_rcp_f32, DIRECTED_RCP},
    {"sqrt", "ROUND FTZ", T(F32), OP_sqrt_f32, DIRECTED_SQRT},
    {"min", "NaN FTZ", T(F32), OP_min_nan_f32, -1},
    {"max", "NaN FTZ", T(F32), OP_max_nan_f32, -1},
    {"min", "FTZ", T(F32), OP_min_f32, -1},
    {"max", "FTZ", T(F32), OP_max_f32, -1},
    {"abs", "FTZ", T(F32), OP_abs_f32, -1},
    {"neg", "FTZ", T(F32), OP_neg_f32, -1},
    {"copysign", "", T(F32), OP_copysign_f32, -1},
    {"add", "ROUND?", T(F64), OP_add_f64, DIRECTED_ADD},
    {"sub", "ROUND?", T(F64), OP_sub_f64, DIRECTED_SUB},
    {"mul", "ROUND?", T(F64), OP_mul_f64, DIRECTED_MUL},
    {"fma", "ROUND", T(F64), OP_fma_f64, DIRECTED_FMA},
    {"mad", "ROUND", T(F64), OP_fma_f64, DIRECTED_FMA},
    {"div", "ROUND", T(F64), OP_div_f64, DIRECTED_DIV},
    {"rcp", "ROUND", T(F64), OP_rcp_f64, DIRECTED_RCP},
    {"sqrt", "ROUND", T(F64), OP_sqrt_f64, DIRECTED_SQRT},
    {"min", "", T(F64), OP_min_f64, -1},
    {"max", "", T(F64), OP_max_f64, -1},
    {"abs", "", T(F64), OP_abs_f64, -1},
    {"neg", "", T(F64), OP_neg_f64, -1},
    {"copysign", "", T(F64), OP_copysign_f64, -1},
};

struct match { /* what the modifiers of a row took */
    enum rounding rounding;
    bool ftz, sat;
};

static bool take_row(struct decoder *d, const struct row *row, struct match *m) {
    d->taken = 0;
    *m = (struct match){.rounding = ROUND_RN};
    if (row->opcode[0] != d->in->opcode[0] || strcmp(row->opcode, d->in->opcode))
        return false;
    const enum ptx_type t = next_type(d);
    if (t == PTX_NO_TYPE || !(row->types >> t & 1))
        return false;
    for (const char *s = row->modifiers; *s;) {
        const size_t n = strcspn(s, " ");
        char word[16];
        bool given;
        snprintf(word, sizeof word, "%.*s", (int)n, s);
        s += n + (s[n] == ' ');
        if (!strcmp(word, "ROUND") || !strcmp(word, "ROUND?")) {
            m->rounding = next_rounding(d, &given);
            if (!given && !strcmp(word, "ROUND"))
                return false;
        } else if (!strcmp(word, "FTZ")) {
            m->ftz = has(d, "ftz");
        } else if (!strcmp(word, "SAT")) {
            m->sat = has(d, "sat");
        } else if (word[strlen(word) - 1] == '?') {
            word[strlen(word) - 1] = 0;
            has(d, word);
        } else if (!has(d, word)) {
            return false;
        }
    }
    return d->taken == (1u << d->in->part_count) - 1;
}

static bool has_part(const struct decoder *d, const char *part) {
    for (size_t i = 0; i < d->in->part_count; ++i)
        if (!strcmp(d->in->parts[i], part))
            return true;
    return false;
}

enum { LOOK_BACK = 4096 }; /* instructions: what is defined further back counts as first */

/* Where the value of a source is defined, as a number that grows: the last place before this instruction that writes
 * its register; of neg and abs, which become modifiers of the operand, where their own source is. A constant comes
 * last of all. */
static size_t defined_at(const struct decoder *d, size_t operand) {
    const struct ptx_operand *o = &d->in->operands[operand];
    const size_t end = d->index > LOOK_BACK ? d->index - LOOK_BACK : 0;
    for (size_t i = d->index; i-- > end && o->kind == PTX_OP_REGISTER;) {
        const struct ptx_instruction *in = &d->f->instructions[i];
        if (!in->operand_count || !flow_writes(in, 0))
            continue;
        const struct ptx_operand *to = &in->operands[0];
        for (size_t k = 0; to->kind == PTX_OP_VECTOR && k < to->element_count; ++k)
            if (to->elements[k].reg == o->reg)
                return (i + 1) * 16 + k;
        if (to->kind != PTX_OP_REGISTER || to->reg != o->reg)
            continue;
        if (in->operand_count != 2 || (strcmp(in->opcode, "neg") && strcmp(in->opcode, "abs")))
            return (i + 1) * 16;
        o = &in->operands[1];
    }
    return o->kind == PTX_OP_REGISTER ? 0 : SIZE_MAX;
}

/* Of two f64 operands that are NaNs the second comes through (nan.h), and ptxas makes that the one whose value is
 * defined later, whatever the order in PTX (measured; it also moves and merges code, which no one can see here). */
static const struct row *order_operands(struct decoder *d, const struct row *row, uint32_t s[3]) {
    static const struct row sum = {"add", "", T(F64), OP_add_f64, DIRECTED_ADD};
    const bool swaps = row->op == OP_add_f64 || row->op == OP_sub_f64 || row->op == OP_mul_f64 ||
                       row->op == OP_fma_f64 || row->op == OP_min_f64 || row->op == OP_max_f64;
    if (!swaps || defined_at(d, 1) <= defined_at(d, 2))
        return row;
    const uint32_t a = s[0];
    s[0] = s[1];
    s[1] = a;
    if (row->op != OP_sub_f64)
        return row;
    const uint32_t minus_b = temp(d); /* a - b = -b + a */
    lane(d, OP_neg_f64, minus_b, s[0], 0, 0, 0);
    s[0] = minus_b;
    return &sum;
}

static bool decode_row(struct decoder *d, const struct row *row, const struct match *m) {
    const struct lane_shape *shape = &lane_shapes[row->op];
    const unsigned widths[3] = {shape->a, shape->b, shape->c};
    const bool directed = m->rounding != ROUND_RN, flush = m->ftz && !directed; /* op_directed flushes by itself */
    size_t sources = 0;
    while (sources < 3 && widths[sources])
        ++sources;
    uint32_t dst, s[3] = {0};
    if (!operand_total(d, sources + 1, sources + 1) || !destination_number(d, 0, shape->dst, &dst))
        return false;
    for (size_t i = 0; i < sources; ++i) {
        if (!source_number(d, i + 1, widths[i], &s[i]))
            return false;
        if (flush) {
            const uint32_t flushed = temp(d);
            lane(d, OP_flush_f32, flushed, s[i], 0, 0, 0);
            s[i] = flushed;
        }
    }
    row = order_operands(d, row, s);
    const uint32_t result = flush || m->sat ? temp(d) : dst;
    if (directed)
        emit(d, op_directed, shape->dst == 64 ? BLEND_64 : BLEND_32, result, s[0], s[1], s[2],
             row->directed | (int64_t)m->rounding << 8 | (shape->a == 64 ? DIRECTED_WIDE_SOURCE : 0) |
                 (m->ftz ? DIRECTED_FTZ : 0));
    else
        lane(d, row->op, result, s[0], s[1], s[2], 0);
    if (flush)
        lane(d, OP_flush_f32, m->sat ? result : dst, result, 0, 0, 0);
    if (m->sat)
        lane(d, OP_sat_f32, dst, result, 0, 0, 0);
    return true;
}

bool decode_table(struct decoder *d) {
    struct match m;
    if (of_later_architecture(d))
        return refuse(d, of_later_architecture(d));
    if (half_typed(d) && !has_part(d, "approx"))
        return decode_half(d);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        if (take_row(d, &rows[i], &m))
            return decode_row(d, &rows[i], &m);
    }
    if (has_part(d, "approx") || has_part(d, "full"))
        return decode_approximate(d);
    if (has_part(d, "xorsign"))
        return decode_xorsign(d);
    return refuse(d, NULL);
}

/* mad.hi and mad24: a product, then a sum. */
static bool decode_mad(struct decoder *d) {
    d->taken = 0;
    const enum ptx_type t = next_type(d);
    const bool is24 = !strcmp(d->in->opcode, "mad24"), high = has(d, "hi"), sat = high && has(d, "sat");
    if (!type_integer(t) || (!high && !is24))
        return decode_table(d);
    if (!high && !has(d, "lo"))
        return refuse(d, NULL);
    if (!all_taken(d) || !operand_total(d, 4, 4))
        return false;
    static const char *const names[] = {[PTX_U16] = "u16", [PTX_U32] = "u32", [PTX_U64] = "u64",
                                        [PTX_S16] = "s16", [PTX_S32] = "s32", [PTX_S64] = "s64"};
    const bool typed = t >= PTX_U16 && t <= PTX_S64 && names[t];
    const enum lane_op product = typed ? lane_named(!is24  ? "mul_hi"
                                                    : high ? "mul24_hi"
                                                           : "mul24_lo",
                                                    names[t])
                                       : LANE_OPS;
    if (product == LANE_OPS || (sat && t != PTX_S32))
        return refuse(d, NULL);
    const unsigned bits = type_bits(t);
    uint32_t dst, a, b, c;
    if (!destination_number(d, 0, bits, &dst) || !source_number(d, 1, bits, &a) || !source_number(d, 2, bits, &b) ||
        !source_number(d, 3, bits, &c))
        return false;
    const uint32_t x = temp(d);
    lane(d, product, x, a, b, 0, 0);
    lane(d, sat ? OP_add_sat_s32 : bits == 16 ? OP_add_u16 : bits == 32 ? OP_add_u32 : OP_add_u64, dst, x, c, 0, 0);
    return true;
}

static bool decode_lop3(struct decoder *d) {
    static const char *const logic[] = {"and", "or", "xor"};
    const bool typed = has(d, "b32");
    const int what = one_of(d, logic, 3);
    if (!typed || !all_taken(d) || !operand_total(d, what < 0 ? 5 : 6, what < 0 ? 5 : 6))
        return typed ? false : refuse(d, NULL);
    const struct ptx_operand *table = &d->in->operands[4];
    uint32_t dst, s[3];
    if (table->kind != PTX_OP_INTEGER || table->bits > 255)
        return refuse_operand(d, "the table of lop3 is a constant 0 .. 255");
    if (!destination_number(d, 0, 32, &dst))
        return false;
    for (size_t i = 0; i < 3; ++i)
        if (!source_number(d, i + 1, 32, &s[i]))
            return false;
    if (what < 0) {
        lane(d, OP_lop3_b32, dst, s[0], s[1], s[2], (int64_t)table->bits);
        return true;
    }
    /* d|p: p = (d != 0) BoolOp q */
    const int second = d->in->operands[0].second;
    uint32_t q;
    if (second < 0)
        return refuse(d, NULL);
    if (!pred_source(d, &d->in->operands[5], &q))
        return false;
    const uint32_t value = temp(d), nonzero = pred_temp(d);
    lane(d, OP_lop3_b32, value, s[0], s[1], s[2], (int64_t)table->bits);
    lane(d, OP_ne_u32, nonzero, value, constant(d, 0, false), 0, 0);
    lane(d, OP_mov_b32, dst, value, 0, 0, 0);
    pred_logic(d, d->slot[second], nonzero, q, what);
    return true;
}

static bool decode_prmt(struct decoder *d) {
    static const char *const modes[] = {"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"};
    const int mode = one_of(d, modes, 6);
    uint32_t dst, s[3];
    if (!has(d, "b32"))
        return refuse(d, NULL);
    if (!all_taken(d) || !operand_total(d, 4, 4) || !destination_number(d, 0, 32, &dst))
        return false;
    for (size_t i = 0; i < 3; ++i)
        if (!source_number(d, i + 1, 32, &s[i]))
            return false;
    lane(d, mode < 0 ? OP_prmt_b32 : OP_prmt_mode_b32, dst, s[0], s[1], s[2], mode);
    return true;
}

static bool decode_bfi(struct decoder *d) {
    const enum ptx_type t = next_type(d);
    const unsigned bits = type_bits(t);
    uint32_t dst, a, b, pos, len;
    if (t != PTX_B32 && t != PTX_B64)
        return refuse(d, NULL);
    if (!all_taken(d) || !operand_total(d, 5, 5) || !destination_number(d, 0, bits, &dst) ||
        !source_number(d, 1, bits, &a) || !source_number(d, 2, bits, &b) || !source_number(d, 3, 32, &pos) ||
        !source_number(d, 4, 32, &len))
        return false;
    const struct ptx_operand *p = &d->in->operands[3], *n = &d->in->operands[4];
    uint32_t place;
    if (p->kind == PTX_OP_INTEGER && n->kind == PTX_OP_INTEGER) {
        const uint32_t at = (uint32_t)p->bits, count = (uint32_t)n->bits;
        const uint32_t low = bits == 32 ? at & 255 : at > 255 ? 255 : at;
        const uint32_t high = bits == 32 ? count & 255 : count > 255 ? 255 : count;
        place = constant(d, low | high << 8, false);
    } else {
        place = temp(d);
        lane(d, bits == 64 ? OP_field_pair64 : OP_field_pair, place, pos, len, 0, 0);
    }
    lane(d, bits == 64 ? OP_bfi_b64 : OP_bfi_b32, dst, a, b, place, 0);
    return true;
}

/* bfind of a signed value looks for the highest bit that differs from the sign. */
static bool decode_bfind(struct decoder *d) {
    const bool amount = has(d, "shiftamt");
    const enum ptx_type t = next_type(d);
    const unsigned bits = type_bits(t);
    uint32_t dst, a;
    if (!type_integer(t) || bits < 32 || t == PTX_B32 || t == PTX_B64)
        return refuse(d, NULL);
    if (!all_taken(d) || !operand_total(d, 2, 2) || !destination_number(d, 0, 32, &dst) ||
        !source_number(d, 1, bits, &a))
        return false;
    if (type_signed(t)) {
        const uint32_t magnitude = temp(d);
        lane(d, bits == 64 ? OP_magnitude_s64 : OP_magnitude_s32, magnitude, a, 0, 0, 0);
        a = magnitude;
    }
    const uint32_t found = amount ? temp(d) : dst;
    lane(d, bits == 64 ? OP_bfind_u64 : OP_bfind_u32, found, a, 0, 0, 0);
    if (amount)
        lane(d, bits == 64 ? OP_shiftamt_64 : OP_shiftamt_32, dst, found, 0, 0, 0);
    return true;
}

static bool decode_dot(struct decoder *d) {
    const bool four = !strcmp(d->in->opcode, "dp4a"), high = has(d, "hi"), low = has(d, "lo");
    const enum ptx_type x = next_type(d), y = next_type(d);
    uint32_t dst, s[3];
    if ((x != PTX_S32 && x != PTX_U32) || (y != PTX_S32 && y != PTX_U32) || four == (high || low))
        return refuse(d, NULL);
    if (!all_taken(d) || !operand_total(d, 4, 4) || !destination_number(d, 0, 32, &dst))
        return false;
    for (size_t i = 0; i < 3; ++i)
        if (!source_number(d, i + 1, 32, &s[i]))
            return false;
    static const enum lane_op ops[2][2][2] = {{{OP_dp2a_ss, OP_dp2a_su}, {OP_dp2a_us, OP_dp2a_uu}},
                                              {{OP_dp4a_ss, OP_dp4a_su}, {OP_dp4a_us, OP_dp4a_uu}}};
    lane(d, ops[four][x == PTX_U32][y == PTX_U32], dst, s[0], s[1], s[2], high ? 16 : 0);
    emit(d, op_macs, BLEND_NONE, 0, 0, 0, 0, four ? 4 : 2);
    return true;
}

/* and, or, xor, not: of predicates here, of bits by the table. */
static bool decode_logic(struct decoder *d) {
    static const char *const names[] = {"and", "or", "xor", "not"};
    if (!has(d, "pred"))
        return decode_table(d);
    int what = 0;
    while (strcmp(names[what], d->in->opcode))
        ++what;
    const size_t sources = what == 3 ? 1 : 2;
    uint32_t dst, a, b = PRED_TRUE;
    if (!all_taken(d) || !operand_total(d, sources + 1, sources + 1) ||
        !pred_destination(d, &d->in->operands[0], &dst) || !pred_source(d, &d->in->operands[1], &a) ||
        (sources == 2 && !pred_source(d, &d->in->operands[2], &b)))
        return false;
    pred_logic(d, dst, what == 3 ? a ^ GUARD_NEGATED : a, b, what);
    return true;
}

const struct opcode opcodes_scalar[] = {
    {"mad", decode_mad},     {"mad24", decode_mad}, {"lop3", decode_lop3}, {"prmt", decode_prmt}, {"bfi", decode_bfi},
    {"bfind", decode_bfind}, {"dp4a", decode_dot},  {"dp2a", decode_dot},  {"and", decode_logic}, {"or", decode_logic},
    {"xor", decode_logic},   {"not", decode_logic}, {NULL, NULL},
};
