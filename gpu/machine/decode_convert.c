/* Moves, conversions, comparisons and selections. Source: PTX ISA 9.0, 9.7.6, 9.7.7, 9.7.9.3, .4, .20, .21. */
#include "decode.h"
#include <stdio.h>
#include <string.h>

/* A chain of one-source operations: each result goes to a temporary, the last one to the destination. */
struct chain {
    enum lane_op op[12];
    unsigned count;
};
static void then(struct chain *c, enum lane_op op) {
    c->op[c->count++] = op;
}
static void emit_chain(struct decoder *d, const struct chain *c, uint32_t dst, uint32_t from) {
    for (unsigned i = 0; i < c->count; ++i) {
        const uint32_t to = i + 1 == c->count ? dst : temp(d);
        lane(d, c->op[i], to, from, 0, 0, 0);
        from = to;
    }
}

static enum lane_op extension(enum ptx_type t) {
    return type_bits(t) == 8 ? (type_signed(t) ? OP_sext8 : OP_zext8) : type_signed(t) ? OP_sext16 : OP_zext16;
}

/* A vector on one side of a mov: `{lo, hi}` of half the width, or four quarters. */
static bool move_unpack(struct decoder *d, unsigned bits) {
    const struct ptx_operand *to = &d->in->operands[0];
    const unsigned n = (unsigned)to->element_count, part = n ? bits / n : 0;
    uint32_t from, dst[4];
    if ((n != 2 && n != 4) || part < 8 || (bits == 128 && n == 4))
        return refuse(d, "a vector of this shape");
    if (!source_number(d, 1, bits, &from))
        return false;
    for (unsigned i = 0; i < n; ++i)
        if (!destination(d, &to->elements[i], part == 8 ? 16 : part, &dst[i]))
            return false;
    if (part == 8) {
        static const enum lane_op bytes[] = {OP_zext8, OP_byte1, OP_byte2, OP_byte3};
        for (unsigned i = 0; i < n; ++i)
            lane(d, bytes[i], dst[i], from, 0, 0, 0);
        return true;
    }
    if (bits == 128) {
        for (uint32_t i = 0; i < 2; ++i)
            lane(d, OP_mov_b64, dst[i], from + 256 * i, 0, 0, 0);
        return true;
    }
    if (bits == 32) {
        lane(d, OP_zext16, dst[0], from, 0, 0, 0);
        lane(d, OP_high16, dst[1], from, 0, 0, 0);
        return true;
    }
    for (unsigned i = 0; i < 2; ++i) {
        const uint32_t word = n == 2 ? dst[i] : temp(d);
        lane(d, i ? OP_high32 : OP_low32, word, from, 0, 0, 0);
        if (n == 4) {
            lane(d, OP_zext16, dst[2 * i], word, 0, 0, 0);
            lane(d, OP_high16, dst[2 * i + 1], word, 0, 0, 0);
        }
    }
    return true;
}

static bool move_pack(struct decoder *d, unsigned bits) {
    const struct ptx_operand *from = &d->in->operands[1];
    const unsigned n = (unsigned)from->element_count, part = n ? bits / n : 0;
    uint32_t dst, s[4];
    if (!(n == 2 || (n == 4 && bits <= 64)) || part < 8)
        return refuse(d, "a vector of this shape");
    if (!destination_number(d, 0, bits, &dst))
        return false;
    for (unsigned i = 0; i < n; ++i)
        if (!source(d, &from->elements[i], part == 8 ? 16 : part, &s[i]))
            return false;
    if (bits == 128) {
        for (uint32_t i = 0; i < 2; ++i)
            lane(d, OP_mov_b64, dst + 256 * i, s[i], 0, 0, 0);
        return true;
    }
    if (n == 4 && bits == 32) {
        const uint32_t low = temp(d), high = temp(d);
        lane(d, OP_pack8, low, s[0], s[1], 0, 0);
        lane(d, OP_pack8, high, s[2], s[3], 0, 0);
        lane(d, OP_pack16, dst, low, high, 0, 0);
        return true;
    }
    if (n == 2) {
        lane(d, bits == 64 ? OP_pack32 : bits == 32 ? OP_pack16 : OP_pack8, dst, s[0], s[1], 0, 0);
        return true;
    }
    const uint32_t low = temp(d), high = temp(d);
    lane(d, OP_pack16, low, s[0], s[1], 0, 0);
    lane(d, OP_pack16, high, s[2], s[3], 0, 0);
    lane(d, OP_pack32, dst, low, high, 0, 0);
    return true;
}

/* mov.v4.u32 {..}, %tid: all of a special register's elements, of which .w is zero. */
static bool move_special(struct decoder *d) {
    static const char *const names[] = {"%tid", "%ntid", "%ctaid", "%nctaid"};
    const struct ptx_operand *to = &d->in->operands[0];
    struct ptx_operand from = d->in->operands[1];
    bool known = false;
    for (size_t i = 0; from.kind == PTX_OP_SPECIAL && i < 4; ++i)
        known |= !strcmp(from.name, names[i]);
    if (!known || to->kind != PTX_OP_VECTOR || to->element_count != 4)
        return refuse(d, NULL);
    for (unsigned i = 0; i < 4; ++i) {
        char name[12];
        uint32_t dst, a = 0;
        snprintf(name, sizeof name, "%s.%c", from.name, "xyzw"[i]);
        struct ptx_operand element = from;
        element.name = name;
        if (!destination(d, &to->elements[i], 32, &dst) || (i < 3 && !source(d, &element, 32, &a)))
            return false;
        lane(d, OP_mov_b32, dst, i < 3 ? a : constant(d, 0, false), 0, 0, 0);
    }
    return true;
}

static bool decode_mov(struct decoder *d) {
    const bool four = has(d, "v4");
    const enum ptx_type t = next_type(d);
    const unsigned bits = type_bits(t);
    uint32_t dst, a;
    if (t == PTX_NO_TYPE || bits == 8)
        return refuse(d, NULL);
    if (!all_taken(d) || !operand_total(d, 2, 2))
        return false;
    if (four)
        return t == PTX_U32 ? move_special(d) : refuse(d, NULL);
    if (t == PTX_PRED) {
        if (!pred_destination(d, &d->in->operands[0], &dst) || !pred_source(d, &d->in->operands[1], &a))
            return false;
        pred_logic(d, dst, a, PRED_TRUE, 3);
        return true;
    }
    if (d->in->operands[0].kind == PTX_OP_VECTOR)
        return move_unpack(d, bits);
    if (d->in->operands[1].kind == PTX_OP_VECTOR)
        return move_pack(d, bits);
    if (!destination_number(d, 0, bits, &dst) || !source_number(d, 1, bits, &a))
        return false;
    if (bits == 128) {
        lane(d, OP_mov_b64, dst, a, 0, 0, 0);
        if (dst != FILE_SCRATCH)
            lane(d, OP_mov_b64, dst + 256, a + 256, 0, 0, 0);
        return true;
    }
    lane(d, bits == 64 ? OP_mov_b64 : bits == 32 ? OP_mov_b32 : OP_mov_b16, dst, a, 0, 0, 0);
    return true;
}

/* Address windows: global and constant addresses are generic as they are, the others lie in a window each. */
static bool decode_cvta(struct decoder *d) {
    const bool to = has(d, "to"), shared = has(d, "shared") || has(d, "shared::cta");
    const bool local = !shared && has(d, "local"), plain = !shared && (has(d, "global") || has(d, "const"));
    const bool param = !shared && (has(d, "param") || has(d, "param::entry"));
    const uint64_t window = shared ? SHARED_WINDOW : local ? LOCAL_WINDOW : PARAM_WINDOW;
    uint32_t dst, a;
    if (!shared && !plain && !local && !param)
        return refuse(d, NULL);
    if (!has(d, "u64"))
        return refuse(d, NULL);
    if (!all_taken(d) || !operand_total(d, 2, 2) || !destination_number(d, 0, 64, &dst) || !source_number(d, 1, 64, &a))
        return false;
    if (!plain)
        lane(d, to ? OP_sub_u64 : OP_add_u64, dst, a, constant(d, window, true), 0, 0);
    else
        lane(d, OP_mov_b64, dst, a, 0, 0, 0);
    return true;
}

/* --- cvt ------------------------------------------------------------------------------------------------------- */

struct conversion {
    enum ptx_type to, from;
    unsigned to_register, from_register; /* bits of the registers, which may be wider than the types */
    bool rounded, sat, ftz;
    enum rounding rounding;
    int whole; /* .rni .rzi .rmi .rpi as 0 .. 3, or -1 */
    uint32_t dst, a;
};

/* The value of an integer source, extended to 32 or (wide) 64 bits. */
static void chain_source(struct chain *c, const struct conversion *v, bool wide_result) {
    const unsigned bits = type_bits(v->from);
    if (bits == 64)
        return;
    if (v->from_register == 64)
        then(c, OP_low32);
    if (bits < 32)
        then(c, extension(v->from));
    if (wide_result)
        then(c, type_signed(v->from) ? OP_sext32 : OP_zext32);
}

/* From a 32- or 64-bit slot into the destination's register: truncated to its type, extended to its register. */
static void chain_destination(struct chain *c, const struct conversion *v, bool wide_value) {
    const unsigned bits = type_bits(v->to);
    if (bits == 64) {
        if (!wide_value)
            then(c, OP_zext32);
        return;
    }
    if (wide_value)
        then(c, OP_low32);
    if (bits == 16 && v->to_register == 16)
        then(c, OP_zext16);
    else if (bits < 32)
        then(c, extension(v->to));
    if (bits == 8 && v->to_register == 16 && type_signed(v->to))
        then(c, OP_zext16);
    if (v->to_register == 64)
        then(c, type_signed(v->to) ? OP_sext32 : OP_zext32);
}

static bool finish_chain(struct decoder *d, struct chain *c, const struct conversion *v, uint32_t from) {
    if (!c->count)
        then(c, v->to_register == 64 ? OP_mov_b64 : OP_mov_b32);
    emit_chain(d, c, v->dst, from);
    return true;
}

static uint64_t type_max(enum ptx_type t) {
    const unsigned bits = type_bits(t);
    return type_signed(t) ? ((uint64_t)1 << (bits - 1)) - 1 : bits == 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
}

static bool convert_integers(struct decoder *d, const struct conversion *v) {
    struct chain c = {.count = 0};
    if (v->rounded || v->whole >= 0 || v->ftz)
        return refuse(d, "a rounding of an integer conversion");
    if (!v->sat) {
        const bool widens = type_bits(v->to) > type_bits(v->from), wide_value = type_bits(v->from) == 64;
        if (widens) {
            chain_source(&c, v, type_bits(v->to) == 64);
            if (type_bits(v->to) < 64)
                chain_destination(&c, v, false);
        } else {
            if (!wide_value && v->from_register == 64)
                then(&c, OP_low32);
            chain_destination(&c, v, wide_value);
        }
        return finish_chain(d, &c, v, v->a);
    }
    /* .sat: clamped as 64-bit integers. An unsigned source has no lower end to pass. */
    chain_source(&c, v, true);
    uint32_t value = v->a;
    if (c.count) {
        value = temp(d);
        emit_chain(d, &c, value, v->a);
    }
    const uint32_t clamped = temp(d);
    const uint64_t top = type_max(v->to);
    if (!type_signed(v->from)) {
        lane(d, OP_min_u64, clamped, value, constant(d, top, true), 0, 0);
    } else {
        const uint32_t half_way = temp(d);
        const uint64_t bottom = type_signed(v->to) ? ~top : 0;
        lane(d, OP_max_s64, half_way, value, constant(d, bottom, true), 0, 0);
        lane(d, OP_min_s64, clamped, half_way, constant(d, top > INT64_MAX ? INT64_MAX : top, true), 0, 0);
    }
    c.count = 0;
    chain_destination(&c, v, true);
    return finish_chain(d, &c, v, clamped);
}

/* The source as f32, or as f64 where it is one or is to become one from f16. */
static void chain_float(struct chain *c, const struct conversion *v) {
    if (v->from == PTX_F16)
        then(c, v->to == PTX_F64 ? OP_f16_f64 : OP_f16_f32);
    else if (v->from == PTX_BF16)
        then(c, OP_bf16_f32);
    else if (v->from == PTX_F32 && v->ftz)
        then(c, OP_flush_f32);
}

static bool convert_to_integer(struct decoder *d, const struct conversion *v) {
    static const enum lane_op whole32[] = {OP_rni_f32, OP_rzi_f32, OP_rmi_f32, OP_rpi_f32};
    static const enum lane_op whole64[] = {OP_rni_f64, OP_rzi_f64, OP_rmi_f64, OP_rpi_f64};
    const bool twice = v->from == PTX_F64, is_signed = type_signed(v->to), to64 = type_bits(v->to) == 64;
    struct chain c = {.count = 0};
    if (v->whole < 0 || v->rounded)
        return refuse(d, "a conversion to an integer needs .rni, .rzi, .rmi or .rpi");
    if (twice && type_bits(v->to) < 32)
        return refuse(d, "f64 to a narrow integer");
    chain_float(&c, v);
    then(&c, twice ? whole64[v->whole] : whole32[v->whole]);
    if (to64)
        then(&c, twice ? (is_signed ? OP_f64_s64 : OP_f64_u64) : (is_signed ? OP_f32_s64 : OP_f32_u64));
    else
        then(&c, twice ? (is_signed ? OP_f64_s32 : OP_f64_u32) : (is_signed ? OP_f32_s32 : OP_f32_u32));
    if (type_bits(v->to) >= 32) {
        chain_destination(&c, v, to64);
        return finish_chain(d, &c, v, v->a);
    }
    const uint32_t value = temp(d), clamped = temp(d);
    emit_chain(d, &c, value, v->a);
    const uint32_t top = (uint32_t)type_max(v->to);
    if (is_signed) {
        const uint32_t half_way = temp(d);
        lane(d, OP_min_s32, half_way, value, constant(d, top, false), 0, 0);
        lane(d, OP_max_s32, clamped, half_way, constant(d, ~top, false), 0, 0);
    } else {
        lane(d, OP_min_u32, clamped, value, constant(d, top, false), 0, 0);
    }
    c.count = 0;
    chain_destination(&c, v, false);
    return finish_chain(d, &c, v, clamped);
}

static bool convert_from_integer(struct decoder *d, const struct conversion *v) {
    const bool is_signed = type_signed(v->from), from64 = type_bits(v->from) == 64;
    const bool narrow = v->to == PTX_F16;
    struct chain c = {.count = 0};
    if (v->whole >= 0 || v->ftz || (!v->rounded && v->to != PTX_F64))
        return refuse(d, "a conversion from an integer needs .rn, .rz, .rm or .rp");
    if (v->to == PTX_BF16 || (narrow && (type_bits(v->from) > 16 || v->rounding != ROUND_RN || v->sat)))
        return refuse(d, NULL);
    chain_source(&c, v, from64);
    if (v->rounding != ROUND_RN && !(v->to == PTX_F64 && !from64)) {
        uint32_t value = v->a;
        if (c.count) {
            value = temp(d);
            emit_chain(d, &c, value, v->a);
        }
        const int what = from64 ? (is_signed ? DIRECTED_S64 : DIRECTED_U64) : (is_signed ? DIRECTED_S32 : DIRECTED_U32);
        const uint32_t result = v->sat ? temp(d) : v->dst;
        emit(d, op_directed, v->to == PTX_F64 ? BLEND_64 : BLEND_32, result, value, 0, 0,
             what | (int64_t)v->rounding << 8 | (from64 ? DIRECTED_WIDE_SOURCE : 0));
        if (v->sat)
            lane(d, v->to == PTX_F64 ? OP_sat_f64 : OP_sat_f32, v->dst, result, 0, 0, 0);
        return true;
    }
    if (v->to == PTX_F64)
        then(&c, from64 ? (is_signed ? OP_s64_f64 : OP_u64_f64) : (is_signed ? OP_s32_f64 : OP_u32_f64));
    else
        then(&c, from64 ? (is_signed ? OP_s64_f32 : OP_u64_f32) : (is_signed ? OP_s32_f32 : OP_u32_f32));
    if (v->sat)
        then(&c, v->to == PTX_F64 ? OP_sat_f64 : OP_sat_f32);
    if (narrow)
        then(&c, OP_f32_f16); /* exact in f32 before: one rounding */
    emit_chain(d, &c, v->dst, v->a);
    return true;
}

static bool convert_floats(struct decoder *d, const struct conversion *v) {
    static const enum lane_op whole32[] = {OP_rni_f32, OP_rzi_f32, OP_rmi_f32, OP_rpi_f32};
    static const enum lane_op whole64[] = {OP_rni_f64, OP_rzi_f64, OP_rmi_f64, OP_rpi_f64};
    struct chain c = {.count = 0};
    chain_float(&c, v);
    if (v->to == v->from && v->to != PTX_F32 && v->to != PTX_F64)
        return refuse(d, NULL);
    if (v->whole >= 0) {
        if (v->to != v->from)
            return refuse(d, NULL);
        then(&c, v->to == PTX_F64 ? whole64[v->whole] : whole32[v->whole]);
    } else if (v->to == v->from) {
        then(&c, v->to == PTX_F64 ? OP_mov_b64 : OP_mov_b32);
    } else if (v->to == PTX_F64) {
        if (v->from != PTX_F16)
            then(&c, OP_f32_f64);
    } else if (v->from == PTX_F64) {
        if (v->to != PTX_F32 || !v->rounded)
            return refuse(d, NULL);
        if (v->rounding != ROUND_RN) {
            const uint32_t result = v->sat ? temp(d) : v->dst;
            emit(d, op_directed, BLEND_32, result, v->a, 0, 0,
                 DIRECTED_NARROW | (int64_t)v->rounding << 8 | DIRECTED_WIDE_SOURCE | (v->ftz ? DIRECTED_FTZ : 0));
            if (v->sat)
                lane(d, OP_sat_f32, v->dst, result, 0, 0, 0);
            return true;
        }
        if (v->ftz)
            then(&c, OP_flush_f64);
        then(&c, OP_f64_f32);
    } else if (v->to == PTX_F16 || v->to == PTX_BF16) {
        const bool down = v->rounding == ROUND_RZ && v->to == PTX_F16;
        if (!v->rounded || (v->rounding != ROUND_RN && !down) || v->from != PTX_F32)
            return refuse(d, NULL);
        if (v->sat)
            then(&c, OP_sat_f32);
        then(&c, v->to == PTX_BF16 ? OP_f32_bf16 : down ? OP_f32_f16_rz : OP_f32_f16);
        emit_chain(d, &c, v->dst, v->a);
        return true;
    }
    if (v->sat)
        then(&c, v->to == PTX_F64 ? OP_sat_f64 : OP_sat_f32);
    emit_chain(d, &c, v->dst, v->a);
    return true;
}

/* cvt.rn.f16x2.f32 d, a, b: a becomes the high half (facts/ptx.md F-8). */
static bool convert_pair(struct decoder *d, const struct conversion *v) {
    const bool down = v->rounding == ROUND_RZ;
    uint32_t dst, a, b;
    if (v->from != PTX_F32 || !v->rounded || v->whole >= 0 || v->sat || v->ftz || (down && v->to == PTX_BF16X2) ||
        v->rounding > ROUND_RZ)
        return refuse(d, NULL);
    if (!operand_total(d, 3, 3) || !destination_number(d, 0, 32, &dst) || !source_number(d, 1, 32, &a) ||
        !source_number(d, 2, 32, &b))
        return false;
    const enum lane_op op = v->to == PTX_BF16X2 ? OP_f32_bf16 : down ? OP_f32_f16_rz : OP_f32_f16;
    const uint32_t low = temp(d), high = temp(d);
    lane(d, op, low, b, 0, 0, 0);
    lane(d, op, high, a, 0, 0, 0);
    lane(d, OP_pack16, dst, low, high, 0, 0);
    return true;
}

static bool decode_cvt(struct decoder *d) {
    static const char *const whole[] = {"rni", "rzi", "rmi", "rpi"};
    struct conversion v = {.whole = one_of(d, whole, 4), .ftz = has(d, "ftz"), .sat = has(d, "sat")};
    v.rounding = next_rounding(d, &v.rounded);
    v.to = next_type(d);
    v.from = next_type(d);
    if (v.from == PTX_NO_TYPE || v.from == PTX_PRED || v.to == PTX_PRED)
        return refuse(d, NULL);
    if (!all_taken(d))
        return false;
    if (v.to == PTX_F16X2 || v.to == PTX_BF16X2)
        return convert_pair(d, &v);
    const bool to_integer = type_integer(v.to), from_integer = type_integer(v.from);
    if (!operand_total(d, 2, 2))
        return false;
    v.to_register = register_bits(d, &d->in->operands[0]);
    v.from_register = register_bits(d, &d->in->operands[1]);
    if (!v.from_register) /* a constant */
        v.from_register = type_bits(v.from) < 16 ? 16 : type_bits(v.from);
    if (v.to_register < type_bits(v.to) || v.from_register < type_bits(v.from) ||
        (!to_integer && v.to_register != type_bits(v.to)) || (!from_integer && v.from_register != type_bits(v.from)))
        return refuse(d, "a register of another width than its type");
    if (!destination_number(d, 0, v.to_register, &v.dst) || !source_number(d, 1, v.from_register, &v.a))
        return false;
    if (to_integer)
        return from_integer ? convert_integers(d, &v) : convert_to_integer(d, &v);
    return from_integer ? convert_from_integer(d, &v) : convert_floats(d, &v);
}

/* --- comparisons and selections -------------------------------------------------------------------------------- */

/* Emits the comparison of operands at and at + 1 into pred. */
static bool compare(struct decoder *d, const char *stem, enum ptx_type t, bool ftz, size_t at, uint32_t pred) {
    static const char *const unsigned_names[][2] = {{"lo", "lt"}, {"ls", "le"}, {"hi", "gt"}, {"hs", "ge"}};
    static const char *const names[] = {[PTX_B16] = "u16", [PTX_B32] = "u32", [PTX_B64] = "u64", [PTX_U16] = "u16",
                                        [PTX_U32] = "u32", [PTX_U64] = "u64", [PTX_S16] = "s16", [PTX_S32] = "s32",
                                        [PTX_S64] = "s64", [PTX_F16] = "f32", [PTX_F32] = "f32", [PTX_F64] = "f64"};
    const char *type = t < sizeof names / sizeof *names ? names[t] : NULL;
    const bool equality = !strcmp(stem, "eq") || !strcmp(stem, "ne");
    if (!type || (ftz && t != PTX_F32))
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
    uint32_t a, b;
    if (op == LANE_OPS)
        return refuse(d, NULL);
    if (!source_number(d, at, type_bits(t), &a) || !source_number(d, at + 1, type_bits(t), &b))
        return false;
    if (ftz || t == PTX_F16) {
        const enum lane_op first = ftz ? OP_flush_f32 : OP_f16_f32;
        const uint32_t x = temp(d), y = temp(d);
        lane(d, first, x, a, 0, 0, 0);
        lane(d, first, y, b, 0, 0, 0);
        a = x;
        b = y;
    }
    lane(d, op, pred, a, b, 0, 0);
    return true;
}

static const char *const comparisons[] = {"eq", "ne",  "lt",  "le",  "gt",  "ge",  "lo",  "ls",  "hi",
                                          "hs", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};
static const char *const logic[] = {"and", "or", "xor"};
enum { COMPARISONS = sizeof comparisons / sizeof *comparisons };

/* p = (a op b) BoolOp c; q = !(a op b) BoolOp c */
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
    if (second < 0 && join < 0)
        return compare(d, comparisons[stem], t, ftz, 1, p);
    const uint32_t holds = pred_temp(d), what = join < 0 ? 0 : (uint32_t)join;
    if (!compare(d, comparisons[stem], t, ftz, 1, holds))
        return false;
    if (second < 0) {
        pred_logic(d, p, holds, c, (int)what);
        return true;
    }
    /* Both destinations from copies, and the one that the guard is or c comes from last. */
    const uint32_t q = d->slot[second], copy = pred_temp(d);
    pred_logic(d, copy, c, PRED_TRUE, 3);
    if ((d->guard & ~GUARD_NEGATED) == p) {
        pred_logic(d, q, holds | GUARD_NEGATED, copy, (int)what);
        pred_logic(d, p, holds, copy, (int)what);
    } else {
        pred_logic(d, p, holds, copy, (int)what);
        pred_logic(d, q, holds | GUARD_NEGATED, copy, (int)what);
    }
    return true;
}

/* d = the comparison (BoolOp c) as 0xffffffff or 1.0f, else 0. */
static bool decode_set(struct decoder *d) {
    const int stem = one_of(d, comparisons, COMPARISONS), join = one_of(d, logic, 3);
    const bool ftz = has(d, "ftz");
    const enum ptx_type to = next_type(d), t = next_type(d);
    uint32_t dst, c;
    if (stem < 0 || (to != PTX_U32 && to != PTX_S32 && to != PTX_F32))
        return refuse(d, NULL);
    if (!all_taken(d) || !operand_total(d, join < 0 ? 3 : 4, join < 0 ? 3 : 4) || !destination_number(d, 0, 32, &dst))
        return false;
    const uint32_t holds = pred_temp(d);
    if (!compare(d, comparisons[stem], t, ftz, 1, holds))
        return false;
    if (join >= 0) {
        if (!pred_source(d, &d->in->operands[3], &c))
            return false;
        pred_logic(d, holds, holds, c, join);
    }
    lane(d, OP_selp_b32, dst, constant(d, to == PTX_F32 ? 0x3f800000u : UINT32_MAX, false), constant(d, 0, false),
         holds, 0);
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

const struct opcode opcodes_convert[] = {
    {"mov", decode_mov}, {"cvta", decode_cvta}, {"cvt", decode_cvt},   {"setp", decode_setp},
    {"set", decode_set}, {"selp", decode_selp}, {"slct", decode_slct}, {NULL, NULL},
};
