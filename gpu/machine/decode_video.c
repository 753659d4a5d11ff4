/* The video instructions: one lane operation each, all modifiers packed into its constant (video.h).
 * Source: PTX ISA 9.0, 9.7.18. */
#include "decode.h"
#include "video.h"
#include <string.h>

static const char not_as_defined[] = "sm_90 does not do here what PTX defines: there is no bit-exact model";
static const char *const compares[] = {"eq", "ne", "lt", "le", "gt", "ge"};

/* Takes .u32 or .s32. */
static bool sign(struct decoder *d, uint64_t *how, unsigned at) {
    const enum ptx_type t = next_type(d);
    if (t != PTX_U32 && t != PTX_S32)
        return refuse(d, NULL);
    *how |= (uint64_t)(t == PTX_S32) << at;
    return true;
}

/* A 32-bit register or constant, without its part and sign. */
static bool word(struct decoder *d, size_t operand, uint32_t *offset) {
    struct ptx_operand o = d->in->operands[operand];
    o.part = NULL;
    o.minus = false;
    return operand ? source(d, &o, 32, offset) : destination(d, &o, 32, offset);
}

static bool plain(struct decoder *d, size_t operand) {
    return !d->in->operands[operand].part || refuse_operand(d, "a part of this operand");
}

static bool scalar_part(struct decoder *d, size_t operand, uint64_t *how, unsigned at) {
    static const char *const parts[] = {NULL, "b0", "b1", "b2", "b3", "h0", "h1"};
    const char *part = d->in->operands[operand].part;
    for (unsigned i = 0; part && i < sizeof parts / sizeof *parts; ++i)
        if (i && !strcmp(parts[i], part)) {
            *how |= (uint64_t)i << at;
            return true;
        }
    return !part || refuse_operand(d, "a part of a register is .b0 to .b3, .h0 or .h1");
}

/* What an H200 gives where ptxas puts several instructions in the place of one (it has no scalar video unit) is not
 * what PTX defines in these forms; all others, and those of two and four elements, agree (measured). */
static bool differs_on_hardware(struct decoder *d, enum lane_op op, uint64_t how) {
    const unsigned second = video_field(how, VIDEO_SECOND_AT, 2);
    const bool sat = video_field(how, VIDEO_SAT_AT, 1);
    if (op == OP_video_mad) {
        const bool both = video_field(how, VIDEO_A_SIGNED_AT, 1) && video_field(how, VIDEO_B_SIGNED_AT, 1);
        return !both && (sat || video_field(how, VIDEO_SCALE_AT, 4)) && !refuse(d, not_as_defined);
    }
    const bool half = video_field(how, VIDEO_D_PART_AT, 3) >= VIDEO_H0;
    return (sat || half || second == VIDEO_THEN_MIN || second == VIDEO_THEN_MAX) && !refuse(d, not_as_defined);
}

/* A secondary operation, or a part of the destination, comes with a third operand. */
static bool scalar_operands(struct decoder *d, enum lane_op op, uint64_t how) {
    static const char *const seconds[] = {"add", "min", "max"};
    const int second = op == OP_video_mad ? -1 : one_of(d, seconds, 3);
    const bool third = op == OP_video_mad || second >= 0 || (d->in->operand_count && d->in->operands[0].part);
    uint32_t dst, a, b, c;
    how |= (uint64_t)(second + 1) << VIDEO_SECOND_AT;
    if (!all_taken(d) || !operand_total(d, third ? 4 : 3, third ? 4 : 3) || (third && !plain(d, 3)))
        return false;
    for (size_t i = 0; op != OP_video_mad && i < d->in->operand_count; ++i)
        if (d->in->operands[i].minus)
            return refuse_operand(d, "a negated operand");
    if ((second >= 0 || op == OP_video_mad) && !plain(d, 0))
        return false;
    if (!scalar_part(d, 0, &how, VIDEO_D_PART_AT) || !scalar_part(d, 1, &how, VIDEO_A_PART_AT) ||
        !scalar_part(d, 2, &how, VIDEO_B_PART_AT) || !word(d, 0, &dst) || !word(d, 1, &a) || !word(d, 2, &b))
        return false;
    c = a;
    if ((third && !word(d, 3, &c)) || differs_on_hardware(d, op, how))
        return false;
    lane(d, op, dst, a, b, c, (int64_t)how);
    return true;
}

static bool decode_scalar(struct decoder *d) {
    static const char *const names[] = {[VIDEO_ADD] = "vadd", [VIDEO_SUB] = "vsub", [VIDEO_ABSDIFF] = "vabsdiff",
                                        [VIDEO_MIN] = "vmin", [VIDEO_MAX] = "vmax", [VIDEO_AVRG] = "",
                                        [VIDEO_SHL] = "vshl", [VIDEO_SHR] = "vshr", [VIDEO_SET] = "vset"};
    unsigned op = 0;
    while (strcmp(names[op], d->in->opcode))
        ++op;
    const bool shift = op == VIDEO_SHL || op == VIDEO_SHR;
    uint64_t how = (uint64_t)op << VIDEO_OP_AT;
    if (op == VIDEO_SET) {
        const int compare = one_of(d, compares, 6);
        if (compare < 0)
            return refuse(d, NULL);
        how |= (uint64_t)compare << VIDEO_COMPARE_AT;
    } else {
        how |= (uint64_t)has(d, "sat") << VIDEO_SAT_AT;
        if (!sign(d, &how, VIDEO_D_SIGNED_AT))
            return false;
    }
    if (!sign(d, &how, VIDEO_A_SIGNED_AT) || !sign(d, &how, VIDEO_B_SIGNED_AT))
        return false;
    if (shift) {
        const bool clamp = has(d, "clamp");
        if ((!clamp && !has(d, "wrap")) || how >> VIDEO_B_SIGNED_AT & 1)
            return refuse(d, NULL);
        how |= (uint64_t)clamp << VIDEO_CLAMP_AT;
    }
    return scalar_operands(d, OP_video_scalar, how);
}

static bool decode_vmad(struct decoder *d) {
    uint64_t how = VIDEO_MAD;
    const bool plus_one = has(d, "po");
    how |= (uint64_t)has(d, "sat") << VIDEO_SAT_AT | (uint64_t)plus_one << VIDEO_PLUS_ONE_AT;
    how |= (uint64_t)(has(d, "shr7") ? 7 : has(d, "shr15") ? 15 : 0) << VIDEO_SCALE_AT;
    if (!sign(d, &how, VIDEO_D_SIGNED_AT) || !sign(d, &how, VIDEO_A_SIGNED_AT) || !sign(d, &how, VIDEO_B_SIGNED_AT))
        return false;
    if (!operand_total(d, 4, 4))
        return false;
    const struct ptx_operand *o = d->in->operands;
    const bool product = o[1].minus != o[2].minus, c = o[3].minus;
    if ((product && c) || (plus_one && (o[1].minus || o[2].minus || c)))
        return refuse(d, "the product or the third operand can be negated, and neither with .po");
    how |= (uint64_t)product << VIDEO_MINUS_PRODUCT_AT | (uint64_t)c << VIDEO_MINUS_C_AT;
    return scalar_operands(d, OP_video_mad, how);
}

/* .hxy, .bxyzw: the element that each place takes, the highest place first. */
static bool pick(struct decoder *d, size_t operand, bool quad, uint64_t *how, unsigned at) {
    const unsigned count = quad ? 4 : 2;
    const char *part = d->in->operands[operand].part;
    if (part && (part[0] != (quad ? 'b' : 'h') || strlen(part) != count + 1))
        return refuse_operand(d, "elements of a register are .hxy or .bxyzw");
    for (unsigned i = 0; i < count; ++i) {
        const unsigned element = part ? (unsigned)(part[count - i] - '0') : i + (operand == 2 ? count : 0);
        if (element >= 2 * count)
            return refuse_operand(d, "an element of a register that is not there");
        *how |= (uint64_t)element << (at + 4 * i);
    }
    return true;
}

/* .h10, .b310: places in falling order, each once. */
static bool places(struct decoder *d, bool quad, uint64_t *how) {
    const unsigned count = quad ? 4 : 2;
    const char *part = d->in->operands[0].part;
    if (!part) {
        *how |= (uint64_t)((1u << count) - 1) << VIDEO_MASK_AT;
        return true;
    }
    bool good = part[0] == (quad ? 'b' : 'h');
    unsigned above = count;
    for (const char *s = part + 1; good && *s; ++s) {
        const unsigned place = (unsigned)(*s - '0');
        good = place < above;
        above = place;
        if (good)
            *how |= (uint64_t)1 << (VIDEO_MASK_AT + place);
    }
    return good || refuse_operand(d, "the elements that are written are named from the highest on");
}

static bool decode_simd(struct decoder *d) {
    static const char *const names[] = {[VIDEO_ADD] = "vadd", [VIDEO_SUB] = "vsub", [VIDEO_ABSDIFF] = "vabsdiff",
                                        [VIDEO_MIN] = "vmin", [VIDEO_MAX] = "vmax", [VIDEO_AVRG] = "vavrg",
                                        [VIDEO_SHL] = "",     [VIDEO_SHR] = "",     [VIDEO_SET] = "vset"};
    const size_t stem = strlen(d->in->opcode) - 1;
    const bool quad = d->in->opcode[stem] == '4';
    unsigned op = 0;
    while (strncmp(names[op], d->in->opcode, stem) || names[op][stem])
        ++op;
    uint64_t how = (uint64_t)op << VIDEO_OP_AT | (uint64_t)quad << VIDEO_QUAD_AT;
    bool sat = false;
    if (op == VIDEO_SET) {
        const int compare = one_of(d, compares, 6);
        if (compare < 0)
            return refuse(d, NULL);
        how |= (uint64_t)compare << VIDEO_COMPARE_AT;
    } else {
        sat = has(d, "sat");
        if (!sign(d, &how, VIDEO_D_SIGNED_AT))
            return false;
    }
    const bool sum = has(d, "add");
    if (sum && sat)
        return refuse(d, ".sat and .add together");
    how |= (uint64_t)sat << VIDEO_SAT_AT | (uint64_t)(sum ? VIDEO_THEN_ADD : 0) << VIDEO_SECOND_AT;
    if (!sign(d, &how, VIDEO_A_SIGNED_AT) || !sign(d, &how, VIDEO_B_SIGNED_AT))
        return false;
    if (!all_taken(d) || !operand_total(d, 4, 4) || !plain(d, 3))
        return false;
    for (size_t i = 0; i < 4; ++i)
        if (d->in->operands[i].minus)
            return refuse_operand(d, "a negated operand");
    uint32_t dst, s[3];
    if (!places(d, quad, &how) || !pick(d, 1, quad, &how, VIDEO_A_PICK_AT) ||
        !pick(d, 2, quad, &how, VIDEO_B_PICK_AT) || !word(d, 0, &dst) || !word(d, 1, &s[0]) || !word(d, 2, &s[1]) ||
        !word(d, 3, &s[2]))
        return false;
    lane(d, OP_video_simd, dst, s[0], s[1], s[2], (int64_t)how);
    return true;
}

const struct opcode opcodes_video[] = {
    {"vadd", decode_scalar},    {"vsub", decode_scalar}, {"vabsdiff", decode_scalar}, {"vmin", decode_scalar},
    {"vmax", decode_scalar},    {"vshl", decode_scalar}, {"vshr", decode_scalar},     {"vset", decode_scalar},
    {"vmad", decode_vmad},      {"vadd2", decode_simd},  {"vsub2", decode_simd},      {"vavrg2", decode_simd},
    {"vabsdiff2", decode_simd}, {"vmin2", decode_simd},  {"vmax2", decode_simd},      {"vset2", decode_simd},
    {"vadd4", decode_simd},     {"vsub4", decode_simd},  {"vavrg4", decode_simd},     {"vabsdiff4", decode_simd},
    {"vmin4", decode_simd},     {"vmax4", decode_simd},  {"vset4", decode_simd},      {NULL, NULL},
};
