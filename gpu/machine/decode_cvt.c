/* Conversions. Source: PTX ISA 9.0, 9.7.9.21; facts/ptx.md F-8 to F-14. cvt.pack is in decode_integer.c. */
#include "decode.h"
#include "float.h"
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

struct conversion {
    enum ptx_type to, from;
    unsigned to_register, from_register; /* bits of the registers, which may be wider than the types */
    bool rounded, sat, ftz, relu, satfinite;
    enum rounding rounding;
    int whole; /* .rni .rzi .rmi .rpi as 0 .. 3, or -1 */
    uint32_t dst, a;
};

static bool is_half(enum ptx_type t) {
    return t == PTX_F16 || t == PTX_BF16;
}

/* op_narrow of what is in register a. */
static void emit_narrow(struct decoder *d, const struct conversion *v, enum narrow_format to, enum narrow_source from,
                        enum narrow_rounding how, uint32_t dst, uint32_t a) {
    int64_t imm = to | from << 8 | (int64_t)how << 16;
    imm |= v->ftz && to != NARROW_F16 ? NARROW_FTZ : 0; /* measured: on the way to f16 .ftz does nothing */
    imm |= v->sat ? NARROW_SAT : 0;
    imm |= v->relu ? NARROW_RELU : 0;
    imm |= v->satfinite ? NARROW_SATFINITE : 0;
    emit(d, op_narrow, BLEND_32, dst, a, 0, 0, imm);
}

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
    if (v->rounded || v->whole >= 0 || v->ftz || v->relu || v->satfinite)
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

static const enum lane_op whole32[] = {OP_rni_f32, OP_rzi_f32, OP_rmi_f32, OP_rpi_f32};
static const enum lane_op whole64[] = {OP_rni_f64, OP_rzi_f64, OP_rmi_f64, OP_rpi_f64};

/* Saturates always; a NaN of f64 gives the top bit of the type alone (facts/ptx.md F-9; measured for 8 and 16 bits). */
static bool convert_to_integer(struct decoder *d, const struct conversion *v) {
    const bool twice = v->from == PTX_F64, is_signed = type_signed(v->to), to64 = type_bits(v->to) == 64;
    struct chain c = {.count = 0};
    if (v->whole < 0 || v->rounded)
        return refuse(d, "a conversion to an integer needs .rni, .rzi, .rmi or .rpi");
    if (v->relu || v->satfinite || (v->ftz && v->from != PTX_F32) || (v->sat && v->from == PTX_BF16) ||
        (v->from == PTX_BF16 && type_bits(v->to) == 8))
        return refuse(d, NULL);
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
    const uint32_t value = temp(d), clamped = temp(d), top = (uint32_t)type_max(v->to);
    emit_chain(d, &c, value, v->a);
    if (is_signed) {
        const uint32_t half_way = temp(d);
        lane(d, OP_min_s32, half_way, value, constant(d, top, false), 0, 0);
        lane(d, OP_max_s32, clamped, half_way, constant(d, ~top, false), 0, 0);
    } else {
        lane(d, OP_min_u32, clamped, value, constant(d, top, false), 0, 0);
    }
    if (twice && !is_signed) {
        const uint32_t nan = pred_temp(d);
        lane(d, OP_nan_f64, nan, v->a, v->a, 0, 0);
        lane(d, OP_selp_b32, clamped, constant(d, (top + 1) / 2, false), clamped, nan, 0);
    }
    c.count = 0;
    chain_destination(&c, v, false);
    return finish_chain(d, &c, v, clamped);
}

static bool convert_from_integer(struct decoder *d, const struct conversion *v) {
    const bool is_signed = type_signed(v->from), from64 = type_bits(v->from) == 64;
    struct chain c = {.count = 0};
    if (v->whole >= 0 || (!v->rounded && v->to != PTX_F64))
        return refuse(d, "a conversion from an integer needs .rn, .rz, .rm or .rp");
    if (v->relu || v->satfinite || (v->ftz && v->to != PTX_F32) ||
        (v->to == PTX_BF16 && (v->sat || type_bits(v->from) == 8)))
        return refuse(d, NULL);
    chain_source(&c, v, from64);
    const bool direct = is_half(v->to) || (v->rounding != ROUND_RN && !(v->to == PTX_F64 && !from64));
    if (direct) {
        uint32_t value = v->a;
        if (c.count) {
            value = temp(d);
            emit_chain(d, &c, value, v->a);
        }
        if (is_half(v->to)) {
            const enum narrow_source kind =
                from64 ? (is_signed ? NARROW_OF_S64 : NARROW_OF_U64) : (is_signed ? NARROW_OF_S32 : NARROW_OF_U32);
            emit_narrow(d, v, v->to == PTX_F16 ? NARROW_F16 : NARROW_BF16, kind, (enum narrow_rounding)v->rounding,
                        v->dst, value);
            return true;
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
    emit_chain(d, &c, v->dst, v->a);
    return true;
}

/* From any floating-point type to f16 or bf16. f16 and bf16 go through f32, which holds them exactly. */
static bool convert_to_half(struct decoder *d, const struct conversion *v) {
    const bool from_half = is_half(v->from), brain = v->to == PTX_BF16, same = v->to == v->from;
    if ((same && v->rounded) || (v->whole >= 0 && !same) || (!from_half && !v->rounded) || (v->sat && brain) ||
        (v->ftz && v->from != PTX_F32) || (v->sat && v->from == PTX_BF16))
        return refuse(d, NULL);
    if ((v->relu || v->satfinite) && (v->from != PTX_F32 || v->rounding > ROUND_RZ || v->ftz || v->sat))
        return refuse(d, NULL);
    uint32_t value = v->a;
    struct chain c = {.count = 0};
    if (from_half) {
        value = temp(d);
        chain_float(&c, v);
        if (v->whole >= 0)
            then(&c, whole32[v->whole]);
        emit_chain(d, &c, value, v->a);
    }
    const bool plain = v->rounding == ROUND_RN && v->from != PTX_F64 && !v->sat && !v->ftz && !v->relu && !v->satfinite;
    if (plain)
        lane(d, brain ? OP_f32_bf16 : OP_f32_f16, v->dst, value, 0, 0, 0);
    else
        emit_narrow(d, v, brain ? NARROW_BF16 : NARROW_F16, v->from == PTX_F64 ? NARROW_OF_F64 : NARROW_OF_F32,
                    (enum narrow_rounding)v->rounding, v->dst, value);
    return true;
}

static bool convert_floats(struct decoder *d, const struct conversion *v) {
    struct chain c = {.count = 0};
    const bool same = v->to == v->from, twice = v->to == PTX_F64;
    if (is_half(v->to))
        return convert_to_half(d, v);
    if (v->relu || v->satfinite || (v->whole >= 0 && !same) || (v->ftz && v->to != PTX_F32 && v->from != PTX_F32))
        return refuse(d, NULL);
    if (v->rounded && v->from != PTX_F64 && v->from != PTX_BF16)
        return refuse(d, "a rounding of a conversion that is exact");
    if (v->sat && v->from == PTX_BF16)
        return refuse(d, NULL);
    chain_float(&c, v);
    if (v->whole >= 0) {
        then(&c, twice ? whole64[v->whole] : whole32[v->whole]);
    } else if (same) {
        then(&c, twice ? OP_mov_b64 : OP_mov_b32);
    } else if (twice) {
        if (v->from != PTX_F16)
            then(&c, OP_f32_f64);
    } else if (v->from == PTX_F64) {
        if (!v->rounded)
            return refuse(d, "f64 to f32 needs .rn, .rz, .rm or .rp");
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
    } else if (v->from == PTX_BF16 && v->ftz) {
        then(&c, OP_flush_f32);
    }
    if (v->sat)
        then(&c, twice ? OP_sat_f64 : OP_sat_f32);
    emit_chain(d, &c, v->dst, v->a);
    return true;
}

/* cvt.rn.f16x2.f32 d, a, b: a becomes the high half, of bf16x2, e4m3x2 and e5m2x2 as well (facts/ptx.md F-8). */
static bool convert_pair(struct decoder *d, const struct conversion *v, enum narrow_format to, unsigned bits) {
    const bool plain = v->rounding == ROUND_RN && !v->relu && !v->satfinite;
    uint32_t dst, a, b;
    if (v->from != PTX_F32 || !v->rounded || v->whole >= 0 || v->sat || v->ftz || v->rounding > ROUND_RZ)
        return refuse(d, NULL);
    if (!operand_total(d, 3, 3) || !destination_number(d, 0, bits, &dst) || !source_number(d, 1, 32, &a) ||
        !source_number(d, 2, 32, &b))
        return false;
    const uint32_t part[2] = {temp(d), temp(d)}, from[2] = {b, a};
    for (int i = 0; i < 2; ++i) {
        if (plain && bits == 32)
            lane(d, to == NARROW_BF16 ? OP_f32_bf16 : OP_f32_f16, part[i], from[i], 0, 0, 0);
        else
            emit_narrow(d, v, to, NARROW_OF_F32, (enum narrow_rounding)v->rounding, part[i], from[i]);
    }
    lane(d, bits == 32 ? OP_pack16 : OP_pack8, dst, part[0], part[1], 0, 0);
    return true;
}

/* e4m3x2 and e5m2x2: from two f32, from and to f16x2. */
static bool convert_bytes(struct decoder *d, struct conversion *v, bool to_bytes, bool e5m2) {
    const enum narrow_format format = e5m2 ? NARROW_E5M2 : NARROW_E4M3;
    const uint32_t half[2] = {temp(d), temp(d)}, part[2] = {temp(d), temp(d)};
    uint32_t dst, a;
    if (v->whole >= 0 || v->sat || v->ftz || !v->rounded || v->rounding != ROUND_RN || v->satfinite != to_bytes)
        return refuse(d, to_bytes ? "it needs .rn and .satfinite" : "it needs .rn");
    if (to_bytes && v->from == PTX_F32)
        return convert_pair(d, v, format, 16);
    if ((to_bytes ? v->from : v->to) != PTX_F16X2)
        return refuse(d, NULL);
    if (!operand_total(d, 2, 2) || !destination_number(d, 0, to_bytes ? 16 : 32, &dst) ||
        !source_number(d, 1, to_bytes ? 32 : 16, &a))
        return false;
    for (unsigned i = 0; i < 2; ++i) {
        if (to_bytes) {
            lane(d, i ? OP_high16 : OP_zext16, half[i], a, 0, 0, 0);
            lane(d, OP_f16_f32, half[i], half[i], 0, 0, 0);
            emit_narrow(d, v, format, NARROW_OF_F32, NARROW_RN, part[i], half[i]);
            continue;
        }
        if (i)
            lane(d, OP_shr_u32, half[1], a, constant(d, 8, false), 0, 0);
        emit(d, op_widen8, BLEND_32, part[i], i ? half[1] : a, 0, 0, e5m2);
    }
    if (to_bytes) {
        lane(d, OP_pack8, dst, part[0], part[1], 0, 0);
        return true;
    }
    const uint32_t pair = v->relu ? temp(d) : dst;
    lane(d, OP_pack16, pair, part[0], part[1], 0, 0);
    if (v->relu)
        lane(d, OP_relu_f16x2, dst, pair, 0, 0, 0);
    return true;
}

/* cvt.rna.tf32.f32, and .rn, .rz with .relu. */
static bool convert_tf32(struct decoder *d, struct conversion *v, bool away) {
    uint32_t dst, a;
    if (v->from != PTX_F32 || v->whole >= 0 || v->sat || v->ftz || away == v->rounded || v->rounding > ROUND_RZ ||
        (away && v->relu))
        return refuse(d, NULL);
    if (v->satfinite && !away)
        return refuse(d, "tf32 with .rn.satfinite and .rz.satfinite is of sm_100");
    if (!operand_total(d, 2, 2) || !destination_number(d, 0, 32, &dst) || !source_number(d, 1, 32, &a))
        return false;
    emit_narrow(d, v, NARROW_TF32, NARROW_OF_F32, away ? NARROW_RNA : (enum narrow_rounding)v->rounding, dst, a);
    return true;
}

static bool decode_cvt(struct decoder *d) {
    static const char *const whole[] = {"rni", "rzi", "rmi", "rpi"}, *const bytes[] = {"e4m3x2", "e5m2x2"};
    if (of_later_architecture(d))
        return refuse(d, of_later_architecture(d));
    /* the destination's type comes first */
    const bool to_bytes = d->in->part_count > 1 && !strncmp(d->in->parts[d->in->part_count - 2], "e", 1);
    struct conversion v = {.whole = one_of(d, whole, 4),
                           .ftz = has(d, "ftz"),
                           .sat = has(d, "sat"),
                           .relu = has(d, "relu"),
                           .satfinite = has(d, "satfinite")};
    v.rounding = next_rounding(d, &v.rounded);
    const int byte = one_of(d, bytes, 2);
    const bool tf32 = has(d, "tf32"), away = has(d, "rna");
    v.to = byte < 0 && !tf32 ? next_type(d) : PTX_B32;
    v.from = next_type(d);
    if (byte >= 0 && !to_bytes) {
        v.to = v.from;
        v.from = PTX_B16;
    }
    if (v.from == PTX_NO_TYPE || v.from == PTX_PRED || v.to == PTX_PRED || (away && !tf32))
        return refuse(d, NULL);
    if (!all_taken(d))
        return false;
    if (byte >= 0)
        return convert_bytes(d, &v, to_bytes, byte == 1);
    if (tf32)
        return convert_tf32(d, &v, away);
    if (v.to == PTX_F16X2 || v.to == PTX_BF16X2)
        return convert_pair(d, &v, v.to == PTX_F16X2 ? NARROW_F16 : NARROW_BF16, 32);
    if (v.from == PTX_F16X2 || v.from == PTX_BF16X2)
        return refuse(d, NULL);
    const bool to_integer = type_integer(v.to), from_integer = type_integer(v.from);
    if (!operand_total(d, 2, 2))
        return false;
    v.to_register = register_bits(d, &d->in->operands[0]);
    v.from_register = register_bits(d, &d->in->operands[1]);
    if (!v.from_register) /* a constant */
        v.from_register = type_bits(v.from) < 16 ? 16 : type_bits(v.from);
    if (v.to_register < type_bits(v.to) || v.from_register < type_bits(v.from) ||
        (!to_integer && v.to_register != type_bits(v.to)) || (!from_integer && v.from_register != type_bits(v.from)))
        return refuse_operand(d, "a register of another width than its type");
    if (!destination_number(d, 0, v.to_register, &v.dst) || !source_number(d, 1, v.from_register, &v.a))
        return false;
    if (to_integer)
        return from_integer ? convert_integers(d, &v) : convert_to_integer(d, &v);
    return from_integer ? convert_from_integer(d, &v) : convert_floats(d, &v);
}

const struct opcode opcodes_cvt[] = {{"cvt", decode_cvt}, {NULL, NULL}};
