/* Rare integer forms: sums with a carry, two 16-bit integers in a register, .relu, and operations of their own.
 * Source: PTX ISA 9.0, 9.7.1, 9.7.2, 9.7.3.1 (testp), 9.7.9.22 (cvt.pack). */
#include "decode.h"
#include <string.h>

static bool opcode_is(const struct decoder *d, const char *name) {
    return !strcmp(d->in->opcode, name);
}
static bool has_part(const struct decoder *d, const char *part) {
    for (size_t i = 0; i < d->in->part_count; ++i)
        if (!strcmp(d->in->parts[i], part))
            return true;
    return false;
}

bool is_rare_integer(const struct decoder *d) {
    static const char *const own[] = {"addc", "subc", "madc", "szext", "fns", "testp"};
    for (size_t i = 0; i < sizeof own / sizeof *own; ++i)
        if (opcode_is(d, own[i]))
            return true;
    if (opcode_is(d, "add") || opcode_is(d, "sub") || opcode_is(d, "mad"))
        return has_part(d, "cc") || has_part(d, "u16x2") || has_part(d, "s16x2");
    if (opcode_is(d, "min") || opcode_is(d, "max"))
        return has_part(d, "u16x2") || has_part(d, "s16x2") || (has_part(d, "relu") && has_part(d, "s32"));
    return opcode_is(d, "cvt") && has_part(d, "pack");
}

static bool sources(struct decoder *d, size_t count, unsigned bits, uint32_t *dst, uint32_t s[3]) {
    if (!all_taken(d) || !operand_total(d, count + 1, count + 1) || !destination_number(d, 0, bits, dst))
        return false;
    for (size_t i = 0; i < count; ++i)
        if (!source_number(d, i + 1, bits, &s[i]))
            return false;
    return true;
}

/* {add addc sub subc}{.cc}, {mad madc}.{lo hi}{.cc}: a product first, then the sum. */
static bool decode_carry(struct decoder *d) {
    const bool out = has(d, "cc"), product = d->in->opcode[0] == 'm', subtract = d->in->opcode[0] == 's';
    const bool in = strlen(d->in->opcode) == 4, high = product && has(d, "hi");
    if (product && !high && !has(d, "lo"))
        return refuse(d, NULL);
    const enum ptx_type t = next_type(d);
    if (t != PTX_U32 && t != PTX_S32 && t != PTX_U64 && t != PTX_S64)
        return refuse(d, NULL);
    const bool wide_type = type_bits(t) == 64;
    uint32_t dst, s[3];
    if (!sources(d, product ? 3 : 2, type_bits(t), &dst, s))
        return false;
    if (product) {
        const enum lane_op op = !high            ? wide_type ? OP_mul_lo_u64 : OP_mul_lo_u32
                                : type_signed(t) ? wide_type ? OP_mul_hi_s64 : OP_mul_hi_s32
                                : wide_type      ? OP_mul_hi_u64
                                                 : OP_mul_hi_u32;
        const uint32_t x = temp(d);
        lane(d, op, x, s[0], s[1], 0, 0);
        s[0] = x;
        s[1] = s[2];
    }
    emit(d, op_carry, BLEND_NONE, dst, s[0], s[1], 0,
         (in ? CARRY_IN : 0) | (out ? CARRY_OUT : 0) | (subtract ? CARRY_SUBTRACT : 0) | (wide_type ? CARRY_WIDE : 0));
    return true;
}

/* add.{u16x2 s16x2}, {min max}{.relu}.{u16x2 s16x2}; {min max}.relu.s32 */
static bool decode_packed(struct decoder *d) {
    const bool relu = has(d, "relu"), word = has(d, "s32"), is_signed = !word && has(d, "s16x2");
    const bool is_unsigned = !word && !is_signed && has(d, "u16x2");
    const bool add = opcode_is(d, "add"), min = opcode_is(d, "min"), max = opcode_is(d, "max");
    uint32_t dst, s[3];
    if ((relu && (add || is_unsigned)) || !(add || min || max) || !(word || is_signed || is_unsigned))
        return refuse(d, NULL);
    if (!sources(d, 2, 32, &dst, s))
        return false;
    const enum lane_op op = add         ? OP_add_u16x2
                            : word      ? min ? OP_min_s32 : OP_max_s32
                            : is_signed ? min ? OP_min_s16x2 : OP_max_s16x2
                            : min       ? OP_min_u16x2
                                        : OP_max_u16x2;
    const uint32_t value = relu ? temp(d) : dst;
    lane(d, op, value, s[0], s[1], 0, 0);
    if (relu)
        lane(d, word ? OP_relu_s32 : OP_relu_s16x2, dst, value, 0, 0, 0);
    return true;
}

static bool decode_szext(struct decoder *d) {
    const bool clamp = has(d, "clamp"), wrap = !clamp && has(d, "wrap");
    const enum ptx_type t = next_type(d);
    uint32_t dst, s[3];
    if ((!clamp && !wrap) || (t != PTX_U32 && t != PTX_S32))
        return refuse(d, NULL);
    if (!sources(d, 2, 32, &dst, s))
        return false;
    lane(d, t == PTX_S32 ? OP_szext_s32 : OP_szext_u32, dst, s[0], s[1], 0, clamp);
    return true;
}

static bool decode_fns(struct decoder *d) {
    uint32_t dst, s[3];
    if (next_type(d) != PTX_B32)
        return refuse(d, NULL);
    if (!sources(d, 3, 32, &dst, s))
        return false;
    lane(d, OP_fns_b32, dst, s[0], s[1], s[2], 0);
    return true;
}

static bool decode_testp(struct decoder *d) {
    static const char *const tests[] = {"finite", "infinite", "number", "notanumber", "normal", "subnormal"};
    /* bits: zero, subnormal, normal, infinite, NaN; zero counts as normal */
    static const uint8_t classes[] = {0x7, 0x8, 0xf, 0x10, 0x5, 0x2};
    const int test = one_of(d, tests, 6);
    const enum ptx_type t = next_type(d);
    uint32_t p, a;
    if (test < 0 || (t != PTX_F32 && t != PTX_F64))
        return refuse(d, NULL);
    if (!all_taken(d) || !operand_total(d, 2, 2) || !pred_destination(d, &d->in->operands[0], &p) ||
        !source_number(d, 1, type_bits(t), &a))
        return false;
    if (d->in->operands[0].second >= 0)
        return refuse_operand(d, "one predicate, not two");
    lane(d, t == PTX_F64 ? OP_class_f64 : OP_class_f32, p, a, a, 0, classes[test]);
    return true;
}

/* cvt.pack.sat.{u16 s16}.s32 d, a, b; .{u8 s8 u4 s4 u2 s2}.s32.b32 d, a, b, c: a above b, c above both. */
static bool decode_pack(struct decoder *d) {
    static const char *const types[] = {"u16", "s16", "u8", "s8", "u4", "s4", "u2", "s2"};
    static const uint8_t widths[] = {16, 16, 8, 8, 4, 4, 2, 2};
    if (!has(d, "pack") || !has(d, "sat"))
        return refuse(d, NULL);
    const int type = one_of(d, types, 8);
    if (type < 0 || !has(d, "s32") || (type >= 2 && !has(d, "b32")))
        return refuse(d, NULL);
    uint32_t dst, s[3];
    if (!sources(d, type < 2 ? 2 : 3, 32, &dst, s))
        return false;
    const int64_t how = widths[type] | (type & 1 ? 0x100 : 0);
    if (type < 2)
        lane(d, OP_pack_clamped, dst, s[0], s[1], 0, how);
    else
        lane(d, OP_pack_onto, dst, s[0], s[1], s[2], how);
    return true;
}

bool decode_rare_integer(struct decoder *d) {
    if (opcode_is(d, "szext"))
        return decode_szext(d);
    if (opcode_is(d, "fns"))
        return decode_fns(d);
    if (opcode_is(d, "testp"))
        return decode_testp(d);
    if (opcode_is(d, "cvt"))
        return decode_pack(d);
    if (has_part(d, "u16x2") || has_part(d, "s16x2") || has_part(d, "relu"))
        return decode_packed(d);
    return decode_carry(d);
}
