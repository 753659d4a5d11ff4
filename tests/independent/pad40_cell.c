/* The contracts over pad40 in fixed point. Every finite operand is a whole multiple of 2^-24, so every product and
 * every sum is a whole multiple of 2^-48 and fits 128 bits: roundings are done on integers, and no floating point is
 * used at all. */
#include "independent.h"

struct number {
    enum kind kind;
    s128 units; /* of a finite number; an infinity has its sign here as +1 or -1 */
};

static const struct number NAN_NUMBER = {.kind = NOT_A_NUMBER};

static int sign_of(s128 x) {
    return (x > 0) - (x < 0);
}

static struct number half_of(uint32_t bits) {
    struct parts p = independent_parts(&binary16, bits);
    if (p.kind != FINITE)
        return (struct number){.kind = p.kind, .units = p.negative ? -1 : 1};
    s128 units = (s128)p.mantissa << (p.exponent + 24);
    return (struct number){.units = p.negative ? -units : units};
}

static struct number times(struct number a, struct number b) {
    if (a.kind == NOT_A_NUMBER || b.kind == NOT_A_NUMBER)
        return NAN_NUMBER;
    if (a.kind == FINITE && b.kind == FINITE)
        return (struct number){.units = a.units * b.units};
    int sign = sign_of(a.units) * sign_of(b.units);
    return sign ? (struct number){.kind = INFINITE, .units = sign} : NAN_NUMBER;
}

static struct number plus(struct number a, struct number b) {
    if (a.kind == NOT_A_NUMBER || b.kind == NOT_A_NUMBER)
        return NAN_NUMBER;
    if (a.kind == INFINITE && b.kind == INFINITE)
        return a.units == b.units ? a : NAN_NUMBER;
    if (a.kind == INFINITE || b.kind == INFINITE)
        return a.kind == INFINITE ? a : b;
    return (struct number){.units = a.units + b.units};
}

/* A finite number to 24 significant bits, nearest, ties to even. The range of f32 holds all that can come up here. */
static struct number rounded(struct number x) {
    if (x.kind != FINITE)
        return x;
    u128 magnitude = (u128)(x.units < 0 ? -x.units : x.units);
    int dropped = 0;
    while (magnitude >> dropped >= (u128)1 << 24)
        dropped++;
    u128 step = (u128)1 << dropped, whole = magnitude / step, fallen = magnitude % step;
    if (2 * fallen > step || (2 * fallen == step && whole % 2 == 1))
        whole++;
    s128 units = (s128)(whole * step);
    return (struct number){.units = x.units < 0 ? -units : units};
}

static struct number whole(s128 n) {
    return (struct number){.units = n};
}

static struct number negated(struct number x) {
    x.units = -x.units;
    return x;
}

/* What dot i of a cell is made of; a dot is one sub-block of the weight. */
struct operands {
    struct number da, d, dmin;
    int scale, min, dot, sum;
};

static struct operands operands_of(const struct integer_format *f, const uint8_t *weight_row,
                                   const uint8_t *activation_row, size_t i) {
    struct operands o = {.sum = 0};
    for (size_t k = i * f->sub_values; k < (i + 1) * f->sub_values; k++) {
        struct integers v = f->read(weight_row + k / f->values * f->bytes, (unsigned)(k % f->values));
        const uint8_t *a = activation_row + k / 32 * 40;
        o.da = half_of(independent_bits(a, 0, 16));
        o.d = half_of(v.d);
        o.dmin = half_of(v.dmin);
        o.scale = v.scale;
        o.min = v.min;
        o.dot += v.code * independent_signed_bits(a + 4, 8 * (unsigned)(k % 32), 8);
        o.sum = independent_signed_bits(a, 8 * 36, 32);
    }
    return o;
}

uint32_t independent_pad40_cell(const struct integer_format *f, enum fold fold, const uint8_t *weight_row,
                                const uint8_t *activation_row, size_t id) {
    struct number s = whole(0);
    for (size_t i = 0; i < id / f->sub_values; i++) {
        struct operands o = operands_of(f, weight_row, activation_row, i);
        struct number ds = rounded(times(o.d, whole(o.scale)));
        struct number dm = negated(rounded(times(o.dmin, whole(o.min))));
        s = rounded(plus(times(rounded(times(o.da, ds)), whole(o.dot)), s));
        if (fold == TWO_TERM)
            s = rounded(plus(times(rounded(times(o.da, dm)), whole(o.sum)), s));
        else if (fold == RANK_1)
            s = rounded(plus(times(rounded(times(o.da, whole(o.sum))), dm), s));
    }
    if (s.kind == NOT_A_NUMBER)
        return 0x7fffffff;
    bool negative = s.units < 0; /* a sum that starts at +0 never becomes -0 under rounding to nearest */
    if (s.kind == INFINITE)
        return negative ? 0xff800000 : 0x7f800000;
    return independent_round(&binary32, negative, (u128)(negative ? -s.units : s.units), -48, false);
}

s128 independent_pad40_exact(const struct integer_format *f, enum fold fold, const uint8_t *weight_row,
                             const uint8_t *activation_row, size_t id) {
    s128 s = 0;
    for (size_t i = 0; i < id / f->sub_values; i++) {
        struct operands o = operands_of(f, weight_row, activation_row, i);
        s += o.da.units * o.d.units * o.scale * o.dot;
        if (fold != ONE_TERM)
            s -= o.da.units * o.dmin.units * o.min * o.sum;
    }
    return s;
}

/* ---- the matrix-vector contracts ---- */

/* d * sc * dot - dmin * m * sum of one chunk, f32 by f32. */
static struct number inner_of(const struct operands *o) {
    struct number ds = rounded(times(o->d, whole(o->scale))), dm = negated(rounded(times(o->dmin, whole(o->min))));
    return rounded(plus(times(ds, whole(o->dot)), rounded(times(dm, rounded(whole(o->sum))))));
}

/* Chunks c and c + 1 in one statement. */
static struct number matvec_pair(const struct integer_format *f, struct number s, const uint8_t *weight_row,
                                 const uint8_t *activation_row, size_t c) {
    struct operands o = operands_of(f, weight_row, activation_row, c);
    struct operands p = operands_of(f, weight_row, activation_row, c + 1);
    struct number first = rounded(times(o.da, inner_of(&o)));
    return rounded(plus(s, rounded(plus(times(p.da, inner_of(&p)), first))));
}

/* What chunk c of 32 values adds to the partial sum s of its lane. */
static struct number matvec_chunk(const struct integer_format *f, const struct matvec_rules *r, struct number s,
                                  const uint8_t *weight_row, const uint8_t *activation_row, size_t c) {
    const size_t dots = 32 / f->sub_values;
    struct operands o = operands_of(f, weight_row, activation_row, c * dots);
    struct number ds = rounded(times(o.d, whole(o.scale)));
    if (dots == 2) {
        struct operands p = operands_of(f, weight_row, activation_row, 2 * c + 1);
        struct number second = rounded(times(p.d, whole(p.scale)));
        struct number first = rounded(times(rounded(times(o.da, ds)), whole(o.dot)));
        struct number both = rounded(plus(times(rounded(times(o.da, second)), whole(p.dot)), first));
        return rounded(plus(s, both));
    }
    if (r->minima)
        return rounded(plus(times(o.da, inner_of(&o)), s));
    int64_t quants = 0;
    for (size_t k = 32 * c; k < 32 * c + 32; k++)
        quants += independent_signed_bits(activation_row + k / 32 * 40 + 4, 8 * (unsigned)(k % 32), 8);
    /* the codes lie `offset` higher in the block than what they stand for */
    struct number dot = whole(o.dot + (s128)r->offset * (quants - o.sum));
    return rounded(plus(times(rounded(times(o.da, ds)), dot), s));
}

uint32_t independent_matvec_cell(const struct integer_format *f, const struct matvec_rules *r,
                                 const uint8_t *weight_row, const uint8_t *activation_row, size_t id) {
    struct number s[32];
    for (size_t lane = 0; lane < 32; lane++)
        s[lane] = whole(0);
    const size_t unit = r->pairs ? 2 : 1, units = id / 32 / unit;
    for (size_t u = 0; u < units; u++) {
        struct number *mine = &s[r->lanes_in_runs ? u / ((units + 31) / 32) : u % 32];
        *mine = r->pairs ? matvec_pair(f, *mine, weight_row, activation_row, 2 * u)
                         : matvec_chunk(f, r, *mine, weight_row, activation_row, u);
    }
    for (unsigned step = 0; step < 5; step++) { /* all lanes at once */
        const unsigned mask = r->tree_upwards ? 1u << step : 16u >> step;
        struct number next[32];
        for (unsigned lane = 0; lane < 32; lane++)
            next[lane] = rounded(plus(s[lane], s[lane ^ mask]));
        for (unsigned lane = 0; lane < 32; lane++)
            s[lane] = next[lane];
    }
    if (s[0].kind == NOT_A_NUMBER)
        return 0x7fffffff;
    bool negative = s[0].units < 0; /* no -0 can arise from sums that start at +0 */
    if (s[0].kind == INFINITE)
        return negative ? 0xff800000 : 0x7f800000;
    return independent_round(&binary32, negative, (u128)(negative ? -s[0].units : s[0].units), -48, false);
}
