/* Arithmetic of f16, f16x2, bf16 and bf16x2. Modifiers are records of their own around the operation: .ftz flushes
 * sources and result, .sat and .relu limit the result, .xorsign.abs works on magnitudes.
 * Source: PTX ISA 9.7.4, 9.7.3.11 and .12; facts/ptx.md F-7. */
#include "decode.h"
#include <string.h>

enum { HALF, BRAIN };
struct operation {
    const char *opcode;
    unsigned sources;
    enum lane_op one, pair[2]; /* of a single f16; of pairs (and single bf16) by HALF, BRAIN */
    bool rounds;               /* takes .rn; add, sub and mul also without */
    bool sat, relu, nan;       /* .sat and .relu are of f16 and of either; .NaN and .xorsign.abs */
};
static const struct operation operations[] = {
    {"add", 2, OP_add_f16, {OP_add_f16x2, OP_add_bf16x2}, .rounds = true, .sat = true},
    {"sub", 2, OP_sub_f16, {OP_sub_f16x2, OP_sub_bf16x2}, .rounds = true, .sat = true},
    {"mul", 2, OP_mul_f16, {OP_mul_f16x2, OP_mul_bf16x2}, .rounds = true, .sat = true},
    {"fma", 3, OP_fma_f16, {OP_fma_f16x2, OP_fma_bf16x2}, .rounds = true, .sat = true, .relu = true},
    {"min", 2, OP_min_f16, {OP_min_f16x2, OP_min_bf16x2}, .nan = true},
    {"max", 2, OP_max_f16, {OP_max_f16x2, OP_max_bf16x2}, .nan = true},
    {"abs", 1, OP_abs_f16, {OP_abs_f16x2, OP_abs_bf16x2}, .nan = false},
    {"neg", 1, OP_neg_f16, {OP_neg_f16x2, OP_neg_bf16x2}, .nan = false},
};

bool half_typed(const struct decoder *d) {
    static const char *const types[] = {"f16", "f16x2", "bf16", "bf16x2"};
    for (size_t i = 0; i < d->in->part_count; ++i)
        for (size_t k = 0; k < sizeof types / sizeof *types; ++k)
            if (!strcmp(d->in->parts[i], types[k]))
                return true;
    return false;
}

struct modifiers {
    bool ftz, sat, relu, nan, xorsign;
};

/* The lane operation, with .NaN where it is asked for, and with the rounding of .ftz where that is another. */
static enum lane_op lane_of(const struct operation *o, const struct modifiers *m, int kind, bool pair) {
    static const enum lane_op nan[2][2] = {{OP_min_nan_f16x2, OP_max_nan_f16x2},
                                           {OP_min_nan_bf16x2, OP_max_nan_bf16x2}};
    if (m->nan)
        return nan[kind][o->opcode[1] == 'a'];
    if (m->ftz && o->one == OP_mul_f16)
        return OP_mul_ftz_f16x2;
    if (m->ftz && o->one == OP_fma_f16)
        return OP_fma_ftz_f16x2;
    if (kind == BRAIN && !pair && o->pair[BRAIN] == OP_neg_bf16x2)
        return OP_neg_bf16;
    return kind == BRAIN || pair ? o->pair[kind] : o->one;
}

static bool take_modifiers(struct decoder *d, const struct operation *o, int kind, struct modifiers *m) {
    bool given;
    const enum rounding rounding = next_rounding(d, &given);
    m->ftz = kind == HALF && has(d, "ftz");
    m->sat = o->sat && kind == HALF && has(d, "sat");
    m->relu = o->relu && has(d, "relu");
    m->nan = o->nan && has(d, "NaN");
    m->xorsign = o->nan && has(d, "xorsign") && has(d, "abs");
    if (has(d, "oob"))
        return refuse(d, "fma with .oob is not run");
    if (given && !o->rounds)
        return refuse(d, "a rounding");
    if (!given && o->sources == 3)
        return refuse(d, "fma needs .rn");
    if (rounding != ROUND_RN) /* PTX has no other; ptxas takes some for bf16, and then does not do them */
        return refuse(d, "a rounding other than .rn");
    if (m->sat && m->relu)
        return refuse(d, ".sat and .relu at once");
    return all_taken(d);
}

bool decode_half(struct decoder *d) {
    const struct operation *o = NULL;
    for (size_t i = 0; !o && i < sizeof operations / sizeof *operations; ++i)
        if (!strcmp(operations[i].opcode, d->in->opcode))
            o = &operations[i];
    d->taken = 0;
    const enum ptx_type t = next_type(d);
    const bool pair = t == PTX_F16X2 || t == PTX_BF16X2;
    const int kind = t == PTX_BF16 || t == PTX_BF16X2 ? BRAIN : HALF;
    struct modifiers m = {false};
    if (!o || (kind == HALF && t != PTX_F16 && t != PTX_F16X2))
        return refuse(d, t == PTX_F32 ? "f32 with a half operand is of sm_100" : NULL);
    if (!take_modifiers(d, o, kind, &m))
        return false;
    const unsigned bits = pair ? 32 : 16;
    uint32_t dst, s[3] = {0}, magnitude[3] = {0};
    if (!operand_total(d, o->sources + 1, o->sources + 1) || !destination_number(d, 0, bits, &dst))
        return false;
    for (size_t i = 0; i < o->sources; ++i) {
        if (!source_number(d, i + 1, bits, &s[i]))
            return false;
        if (m.ftz) {
            const uint32_t flushed = temp(d);
            lane(d, OP_flush_f16x2, flushed, s[i], 0, 0, 0);
            s[i] = flushed;
        }
        magnitude[i] = s[i];
        if (m.xorsign) {
            magnitude[i] = temp(d);
            lane(d, kind == HALF ? OP_abs_f16x2 : OP_abs_bf16x2, magnitude[i], s[i], 0, 0, 0);
        }
    }
    const bool more = m.ftz || m.sat || m.relu || m.xorsign;
    uint32_t x = more ? temp(d) : dst;
    lane(d, lane_of(o, &m, kind, pair), x, magnitude[0], magnitude[1], magnitude[2], 0);
    if (m.xorsign)
        lane(d, kind == HALF ? OP_xorsign_f16x2 : OP_xorsign_bf16x2, x, x, s[0], s[1], 0);
    if (m.ftz)
        lane(d, OP_flush_f16x2, x, x, 0, 0, 0);
    if (m.sat)
        lane(d, OP_sat_f16x2, x, x, 0, 0, 0);
    if (m.relu)
        lane(d, kind == HALF ? OP_relu_f16x2 : OP_relu_bf16x2, x, x, 0, 0, 0);
    if (more)
        lane(d, bits == 16 ? OP_zext16 : OP_mov_b32, dst, x, 0, 0, 0);
    return true;
}
