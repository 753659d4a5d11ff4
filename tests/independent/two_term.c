/* The contract in fixed point. Every finite operand is a whole multiple of 2^-24, so every product and every sum is a
 * whole multiple of 2^-48 and fits 128 bits: roundings are done on integers, and no floating point is used at all. */
#include "independent.h"

struct number {
    enum kind kind;
    s128 units; /* of a finite number; an infinity has its sign here as +1 or -1 */
};

static const struct number NAN_NUMBER = {.kind = NOT_A_NUMBER};

static int sign_of(s128 x) {
    return (x > 0) - (x < 0);
}

static struct number half_at(const uint8_t *bytes) {
    struct parts p = independent_parts(&binary16, (uint32_t)bytes[0] + 256u * bytes[1]);
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
    u128 step = 1;
    while (magnitude / step >= (u128)1 << 24)
        step *= 2;
    u128 whole = magnitude / step, fallen = magnitude % step;
    if (2 * fallen > step || (2 * fallen == step && whole % 2 == 1))
        whole++;
    s128 units = (s128)(whole * step);
    return (struct number){.units = x.units < 0 ? -units : units};
}

static struct number whole(s128 n) {
    return (struct number){.units = n};
}

/* The operands of chunk c of a cell. */
struct chunk {
    struct number da, d, dmin;
    int scale, min, dot, sum;
};

static struct chunk chunk_at(const uint8_t *weight_row, const uint8_t *activation_row, size_t c) {
    const uint8_t *w = weight_row + 144 * (c / 8), *a = activation_row + 40 * c;
    struct chunk chunk = {.da = half_at(a), .d = half_at(w), .dmin = half_at(w + 2)};
    for (unsigned k = 0; k < 32; k++) {
        struct q4_k_cell cell = independent_q4_k_cell(w, (unsigned)(c % 8) * 32 + k);
        int q = a[4 + k] < 128 ? a[4 + k] : a[4 + k] - 256;
        chunk.scale = (int)cell.scale;
        chunk.min = (int)cell.min;
        chunk.dot += (int)cell.nibble * q;
    }
    int64_t sum = 0;
    for (int i = 3; i >= 0; i--)
        sum = sum * 256 + a[36 + i];
    chunk.sum = (int)(sum < ((int64_t)1 << 31) ? sum : sum - ((int64_t)1 << 32));
    return chunk;
}

static struct number negated(struct number x) {
    x.units = -x.units;
    return x;
}

uint32_t independent_two_term(const uint8_t *weight_row, const uint8_t *activation_row, size_t id) {
    struct number s = whole(0);
    for (size_t c = 0; c < id / 32; c++) {
        struct chunk chunk = chunk_at(weight_row, activation_row, c);
        struct number ds = rounded(times(chunk.d, whole(chunk.scale)));
        struct number dm = negated(rounded(times(chunk.dmin, whole(chunk.min))));
        s = rounded(plus(times(rounded(times(chunk.da, ds)), whole(chunk.dot)), s));
        s = rounded(plus(times(rounded(times(chunk.da, dm)), whole(chunk.sum)), s));
    }
    if (s.kind == NOT_A_NUMBER)
        return 0x7fffffff;
    bool negative = s.units < 0; /* a sum that starts at +0 never becomes -0 under rounding to nearest */
    if (s.kind == INFINITE)
        return negative ? 0xff800000 : 0x7f800000;
    return independent_round(&binary32, negative, (u128)(negative ? -s.units : s.units), -48, false);
}

s128 independent_two_term_exact(const uint8_t *weight_row, const uint8_t *activation_row, size_t id) {
    s128 s = 0;
    for (size_t c = 0; c < id / 32; c++) {
        struct chunk chunk = chunk_at(weight_row, activation_row, c);
        s += chunk.da.units * chunk.d.units * chunk.scale * chunk.dot;
        s -= chunk.da.units * chunk.dmin.units * chunk.min * chunk.sum;
    }
    return s;
}
