/* Moves of values and addresses. Source: PTX ISA 9.0, 9.7.9.3, .4, .20. Conversions of values are in decode_cvt.c. */
#include "decode.h"
#include <stdio.h>
#include <string.h>

/* A vector on one side of a mov: `{lo, hi}` of half the width, or four quarters. */
static bool move_unpack(struct decoder *d, unsigned bits) {
    const struct ptx_operand *to = &d->in->operands[0];
    const unsigned n = (unsigned)to->element_count, part = n ? bits / n : 0;
    uint32_t from, dst[4];
    if ((n != 2 && n != 4) || part < 8 || (bits == 128 && n == 4))
        return refuse_operand(d, "a vector of this shape");
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
        return refuse_operand(d, "a vector of this shape");
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

const struct opcode opcodes_convert[] = {{"mov", decode_mov}, {"cvta", decode_cvta}, {NULL, NULL}};
