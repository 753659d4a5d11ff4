/* The video instructions as functions of one lane's operands: parts of words, added, compared, shifted and so on in
 * full precision, saturated, and joined with a third operand. `how` packs the modifiers (the enum below).
 * Source: PTX ISA 9.0, 9.7.18 (scalar 9.7.18.1 .. .4, SIMD 9.7.18.5 .. .8). */
#ifndef GPU_MACHINE_VIDEO_H
#define GPU_MACHINE_VIDEO_H

#include <stdbool.h>
#include <stdint.h>

enum video_op {
    VIDEO_ADD,
    VIDEO_SUB,
    VIDEO_ABSDIFF,
    VIDEO_MIN,
    VIDEO_MAX,
    VIDEO_AVRG,
    VIDEO_SHL,
    VIDEO_SHR,
    VIDEO_SET,
    VIDEO_MAD,
};
enum video_compare { VIDEO_EQ, VIDEO_NE, VIDEO_LT, VIDEO_LE, VIDEO_GT, VIDEO_GE };
enum video_second { VIDEO_NOTHING, VIDEO_THEN_ADD, VIDEO_THEN_MIN, VIDEO_THEN_MAX }; /* with c */
enum video_part { VIDEO_WORD, VIDEO_B0, VIDEO_B1, VIDEO_B2, VIDEO_B3, VIDEO_H0, VIDEO_H1 };

enum { /* where in `how` */
       VIDEO_OP_AT = 0,
       VIDEO_A_SIGNED_AT = 4,
       VIDEO_B_SIGNED_AT = 5,
       VIDEO_D_SIGNED_AT = 6,
       VIDEO_SAT_AT = 7,
       VIDEO_SECOND_AT = 8,
       VIDEO_COMPARE_AT = 10,
       /* scalar */
       VIDEO_A_PART_AT = 13,
       VIDEO_B_PART_AT = 16,
       VIDEO_D_PART_AT = 19,
       VIDEO_CLAMP_AT = 22,
       VIDEO_MINUS_PRODUCT_AT = 23,
       VIDEO_MINUS_C_AT = 24,
       VIDEO_PLUS_ONE_AT = 25,
       VIDEO_SCALE_AT = 26, /* 0, 7, 15 */
       /* SIMD */
       VIDEO_QUAD_AT = 13, /* four bytes, else two halves */
       VIDEO_MASK_AT = 14, /* elements that are computed */
       VIDEO_A_PICK_AT = 32,
       VIDEO_B_PICK_AT = 48, /* four bits for each element: which of those of a, then b */
};

static inline unsigned video_field(uint64_t how, unsigned at, unsigned bits) {
    return (unsigned)(how >> at) & ((1u << bits) - 1);
}

/* The low `bits` of x, extended. */
static inline int64_t video_extend(uint32_t x, unsigned bits, bool is_signed) {
    const uint64_t kept = bits == 32 ? x : x & ((1u << bits) - 1);
    return is_signed && kept >> (bits - 1) ? (int64_t)kept - ((int64_t)1 << bits) : (int64_t)kept;
}
static inline unsigned video_part_bits(unsigned part) {
    return part == VIDEO_WORD ? 32 : part >= VIDEO_H0 ? 16 : 8;
}
static inline unsigned video_part_at(unsigned part) {
    return part == VIDEO_WORD ? 0 : part >= VIDEO_H0 ? 16 * (part - VIDEO_H0) : 8 * (part - VIDEO_B0);
}
static inline int64_t video_select(uint32_t x, unsigned part, bool is_signed) {
    return video_extend(x >> video_part_at(part), video_part_bits(part), is_signed);
}
static inline int64_t video_clamp(int64_t x, unsigned bits, bool is_signed) {
    const int64_t top = is_signed ? ((int64_t)1 << (bits - 1)) - 1 : ((int64_t)1 << bits) - 1;
    const int64_t bottom = is_signed ? -top - 1 : 0;
    return x > top ? top : x < bottom ? bottom : x;
}

static inline bool video_holds(int64_t a, int64_t b, unsigned compare) {
    switch (compare) {
    case VIDEO_EQ:
        return a == b;
    case VIDEO_NE:
        return a != b;
    case VIDEO_LT:
        return a < b;
    case VIDEO_LE:
        return a <= b;
    case VIDEO_GT:
        return a > b;
    default:
        return a >= b;
    }
}

/* a and b have at most 33 bits, so nothing here overflows. */
static inline int64_t video_primary(int64_t a, int64_t b, uint64_t how) {
    switch (video_field(how, VIDEO_OP_AT, 4)) {
    case VIDEO_ADD:
        return a + b;
    case VIDEO_SUB:
        return a - b;
    case VIDEO_ABSDIFF:
        return a > b ? a - b : b - a;
    case VIDEO_MIN:
        return a < b ? a : b;
    case VIDEO_MAX:
        return a > b ? a : b;
    case VIDEO_AVRG: /* halves are rounded away from zero */
        return (a + b + (a + b >= 0)) >> 1;
    case VIDEO_SET:
        return video_holds(a, b, video_field(how, VIDEO_COMPARE_AT, 3));
    default: { /* shifts by 0 .. 32 */
        const unsigned by =
            video_field(how, VIDEO_CLAMP_AT, 1) ? (b > 32 ? 32 : (unsigned)b) : (unsigned)((uint64_t)b & 31);
        if (video_field(how, VIDEO_OP_AT, 4) == VIDEO_SHR)
            return a >> by;
        return (int64_t)((uint64_t)a << by);
    }
    }
}

/* vadd vsub vabsdiff vmin vmax vshl vshr vset, of which hardware does not saturate or compare with c as PTX defines it
 * (decode_video.c refuses those forms): the result, or its sum with c, or a byte of it in the place of one of c's. */
static inline uint32_t video_scalar(uint32_t a, uint32_t b, uint32_t c, int64_t imm) {
    const uint64_t how = (uint64_t)imm;
    const unsigned part = video_field(how, VIDEO_D_PART_AT, 3);
    const uint32_t t = (uint32_t)video_primary(
        video_select(a, video_field(how, VIDEO_A_PART_AT, 3), video_field(how, VIDEO_A_SIGNED_AT, 1)),
        video_select(b, video_field(how, VIDEO_B_PART_AT, 3), video_field(how, VIDEO_B_SIGNED_AT, 1)), how);
    if (part == VIDEO_WORD)
        return video_field(how, VIDEO_SECOND_AT, 2) == VIDEO_THEN_ADD ? t + c : t;
    const uint32_t byte = 0xffu << video_part_at(part);
    return (c & ~byte) | (t << video_part_at(part) & byte);
}

/* vmad: (a * b) + c, one of the two negated or one added, scaled; the product has up to 66 bits. */
static inline uint32_t video_mad(uint32_t a, uint32_t b, uint32_t c, int64_t imm) {
    __extension__ typedef __int128 wide;
    const uint64_t how = (uint64_t)imm;
    const bool a_signed = video_field(how, VIDEO_A_SIGNED_AT, 1), b_signed = video_field(how, VIDEO_B_SIGNED_AT, 1);
    const bool minus = video_field(how, VIDEO_MINUS_PRODUCT_AT, 1), minus_c = video_field(how, VIDEO_MINUS_C_AT, 1);
    const bool signed_sum = a_signed || b_signed || minus; /* of the product and of c */
    const wide product = (wide)video_select(a, video_field(how, VIDEO_A_PART_AT, 3), a_signed) *
                         video_select(b, video_field(how, VIDEO_B_PART_AT, 3), b_signed);
    const wide third = video_extend(c, 32, signed_sum);
    wide sum = (minus ? -product : product) + (minus_c ? -third : third) + video_field(how, VIDEO_PLUS_ONE_AT, 1);
    sum >>= video_field(how, VIDEO_SCALE_AT, 4);
    if (video_field(how, VIDEO_SAT_AT, 1)) {
        const bool is_signed = signed_sum || minus_c;
        const wide top = is_signed ? INT32_MAX : UINT32_MAX, bottom = is_signed ? INT32_MIN : 0;
        sum = sum > top ? top : sum < bottom ? bottom : sum;
    }
    return (uint32_t)sum;
}

/* vadd2 vsub2 vavrg2 vabsdiff2 vmin2 vmax2 vset2, and those of four bytes. VIDEO_THEN_ADD: the elements of the mask are
 * summed into c; else they replace c's. */
static inline uint32_t video_simd(uint32_t a, uint32_t b, uint32_t c, int64_t imm) {
    const uint64_t how = (uint64_t)imm, both = (uint64_t)b << 32 | a;
    const bool quad = video_field(how, VIDEO_QUAD_AT, 1), is_signed = video_field(how, VIDEO_D_SIGNED_AT, 1);
    const bool sum = video_field(how, VIDEO_SECOND_AT, 2);
    const unsigned bits = quad ? 8 : 16, count = quad ? 4 : 2;
    uint32_t d = c;
    for (unsigned i = 0; i < count; ++i) {
        if (!(how >> (VIDEO_MASK_AT + i) & 1))
            continue;
        const unsigned x = video_field(how, VIDEO_A_PICK_AT + 4 * i, 3),
                       y = video_field(how, VIDEO_B_PICK_AT + 4 * i, 3);
        int64_t t = video_primary(
            video_extend((uint32_t)(both >> (bits * x)), bits, video_field(how, VIDEO_A_SIGNED_AT, 1)),
            video_extend((uint32_t)(both >> (bits * y)), bits, video_field(how, VIDEO_B_SIGNED_AT, 1)), how);
        if (video_field(how, VIDEO_SAT_AT, 1))
            t = video_clamp(t, bits, is_signed);
        const uint32_t field = ((1u << bits) - 1) << (bits * i);
        d = sum ? d + (uint32_t)t : (d & ~field) | ((uint32_t)t << (bits * i) & field);
    }
    return d;
}

#endif
