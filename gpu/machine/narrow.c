/* Conversions to formats of few bits, by integer arithmetic: a number is taken apart into sign, whole number and power
 * of two, and rounded once. So no double rounding can creep in, whatever the source (u64 to f16, f64 to bf16 ...).
 * Source: PTX ISA 9.7.9.21 `cvt`, 5.2.3 (alternate floating-point formats); facts/ptx.md F-8 to F-13. */
#include "../../ref/half.h"
#include "float.h"

struct format {
    int precision, least;                 /* significant bits; the finest step is 2^least */
    uint32_t sign, finite, infinity, nan; /* sign bit; largest finite number; 0 where there is no infinity */
    unsigned shift;                       /* of the whole result */
};
static const struct format formats[] = {
    [NARROW_F16] = {11, -24, 0x8000, 0x7bff, 0x7c00, 0x7fff, 0},
    [NARROW_BF16] = {8, -133, 0x8000, 0x7f7f, 0x7f80, 0x7fff, 0},
    [NARROW_TF32] = {11, -136, 0x40000, 0x3fbff, 0x3fc00, 0x3ffff, 13},
    [NARROW_E4M3] = {4, -9, 0x80, 0x7e, 0, 0x7f, 0},
    [NARROW_E5M2] = {3, -16, 0x80, 0x7b, 0x7c, 0x7f, 0},
};

struct number { /* +-(whole * 2^exponent) */
    bool negative, infinite, nan;
    uint64_t whole; /* of a NaN: its fraction, and the hidden bit */
    int exponent;
};

static struct number of_float(uint64_t bits, unsigned fraction_bits, unsigned exponent_bits) {
    const uint64_t fraction = bits & (((uint64_t)1 << fraction_bits) - 1);
    const int field = (int)(bits >> fraction_bits & ((1u << exponent_bits) - 1));
    const int most = (1 << exponent_bits) - 1, bias = most / 2;
    struct number n = {.negative = bits >> (fraction_bits + exponent_bits) & 1};
    n.infinite = field == most && !fraction;
    n.nan = field == most && fraction;
    n.whole = field ? fraction | (uint64_t)1 << fraction_bits : fraction;
    n.exponent = (field ? field : 1) - bias - (int)fraction_bits;
    return n;
}

static struct number of_integer(int64_t x) {
    return (struct number){.negative = x < 0, .whole = x < 0 ? 0 - (uint64_t)x : (uint64_t)x};
}

/* |n| in steps of the format, rounded; a carry out of the fraction raises the exponent, as it should. */
static uint32_t rounded(const struct format *f, const struct number *n, enum narrow_rounding how) {
    if (!n->whole)
        return 0;
    const int length = 64 - __builtin_clzll(n->whole);
    int last = n->exponent + length - f->precision; /* exponent of the last place */
    last = last < f->least ? f->least : last;
    const int drop = last - n->exponent;
    uint64_t kept = n->whole, rest = 0, half = 1; /* rest and half in one unit; rest == half: a tie */
    if (drop > 64) {
        kept = 0;
        rest = 1; /* below a quarter of a step */
        half = 2;
    } else if (drop == 64) {
        kept = 0;
        rest = n->whole;
        half = (uint64_t)1 << 63;
    } else if (drop > 0) {
        kept = n->whole >> drop;
        rest = n->whole & (((uint64_t)1 << drop) - 1);
        half = (uint64_t)1 << (drop - 1);
    } else {
        kept = n->whole << -drop;
    }
    const bool away = how == NARROW_RP ? !n->negative && rest : how == NARROW_RM ? n->negative && rest : false;
    const bool nearest = rest > half || (rest == half && (how == NARROW_RNA || (kept & 1)));
    if (away || ((how == NARROW_RN || how == NARROW_RNA) && rest && nearest))
        ++kept;
    const uint32_t implicit = 1u << (f->precision - 1);
    const uint64_t steps = (uint64_t)(last - f->least) * implicit + kept; /* kept has its hidden bit, if it is normal */
    return steps > UINT32_MAX / 2 ? UINT32_MAX / 2 : (uint32_t)steps;
}

static uint32_t narrow(const struct number *n, int64_t imm) {
    const struct format *f = &formats[imm & 255];
    const enum narrow_rounding how = (enum narrow_rounding)(imm >> 16 & 255);
    const uint32_t sign = n->negative ? f->sign : 0;
    if (n->nan && imm & NARROW_SAT)
        return 0;
    if (n->nan && f == &formats[NARROW_TF32] && how == NARROW_RNA) { /* cut, and clamped like an infinity (measured) */
        const uint32_t cut = sign | f->infinity | (uint32_t)(n->whole >> 13 & 0x3ff);
        return cut - !!(imm & NARROW_SATFINITE);
    }
    if (n->nan && (imm >> 8 & 255) == NARROW_OF_F64) { /* made quiet, sign and highest payload bits kept (measured) */
        const uint32_t quiet = 1u << (f->precision - 2);
        return sign | f->infinity | quiet | ((uint32_t)(n->whole >> (53 - f->precision)) & (quiet - 1));
    }
    if (n->nan)
        return f->nan;
    if (n->negative && (imm & (NARROW_SAT | NARROW_RELU)))
        return 0;
    uint32_t magnitude = n->infinite ? UINT32_MAX : rounded(f, n, how);
    if (magnitude > f->finite) {
        const bool stays = how == NARROW_RZ || (how == NARROW_RM && !n->negative) || (how == NARROW_RP && n->negative);
        const bool held = imm & NARROW_SATFINITE || !f->infinity || (stays && !n->infinite);
        magnitude = held ? f->finite : f->infinity;
    }
    if (imm & NARROW_SAT) {
        const struct number unit = {.whole = 1};
        const uint32_t one = rounded(f, &unit, NARROW_RN);
        magnitude = magnitude > one ? one : magnitude;
    }
    return sign | magnitude;
}

void op_narrow(struct warp *w, const struct record *r, uint32_t mask) {
    const enum narrow_source kind = (enum narrow_source)(r->imm >> 8 & 255);
    (void)mask;
    for (int i = 0; i < LANES; ++i) {
        struct number n;
        uint64_t a;
        switch (kind) {
        case NARROW_OF_F32:
            a = reg32(w, r->a)[i];
            if ((r->imm & NARROW_FTZ) && !(a & 0x7f800000u))
                a &= 0x80000000u;
            n = of_float(a, 23, 8);
            break;
        case NARROW_OF_F64:
            n = of_float(reg64(w, r->a)[i], 52, 11);
            break;
        case NARROW_OF_S32:
            n = of_integer((int32_t)reg32(w, r->a)[i]);
            break;
        case NARROW_OF_U32:
            n = of_integer(reg32(w, r->a)[i]);
            break;
        case NARROW_OF_S64:
            n = of_integer((int64_t)reg64(w, r->a)[i]);
            break;
        default:
            n = (struct number){.whole = reg64(w, r->a)[i]};
        }
        reg32(w, r->dst)[i] = narrow(&n, r->imm) << formats[r->imm & 255].shift;
    }
}

/* A half of e4m3 has its three fraction bits on top, and an exponent bias of 7; e5m2 is the upper byte of a half. */
static uint32_t widened(uint32_t byte, bool e5m2) {
    const uint32_t sign = (byte & 0x80) << 8, magnitude = byte & 0x7f;
    if (e5m2)
        return magnitude > 0x7c ? 0x7fff : sign | magnitude << 8;
    if (magnitude == 0x7f)
        return 0x7fff;
    if (magnitude >= 8)
        return sign | ((magnitude << 7) + (8u << 10));
    const float value = (float)magnitude * 0x1p-9f;
    return sign | half_from_float_bits(float_bits(value));
}

void op_widen8(struct warp *w, const struct record *r, uint32_t mask) {
    (void)mask;
    for (int i = 0; i < LANES; ++i)
        reg32(w, r->dst)[i] = widened(reg32(w, r->a)[i] & 255, r->imm);
}
