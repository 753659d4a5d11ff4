/* Integer arithmetic, PTX ISA 9.7.1 and 9.7.2: exact integers, then what the result type keeps. */
#include "unit.h"
#include <string.h>

static struct unit_type type_like(char kind, unsigned bits) {
    return (struct unit_type){.kind = kind, .bits = bits, .packed = 1};
}

static s128 at(const struct unit_step *s, uint64_t bits) {
    return unit_integer(s->type[0], bits);
}

/* Both halves of a packed type; or the one value. */
static uint64_t each(const struct unit_step *s, const uint64_t *a, s128 (*f)(const struct unit_step *, s128, s128)) {
    struct unit_type t = s->type[0];
    uint64_t d = 0;
    for (unsigned i = 0; i < t.packed; i++)
        d |= unit_integer_bits(t, f(s, unit_integer(t, a[0] >> t.bits * i), unit_integer(t, a[1] >> t.bits * i)))
             << t.bits * i;
    return d;
}

static s128 sum(const struct unit_step *s, s128 a, s128 b) {
    return s->sat ? unit_clamp(s->type[0], a + b) : a + b;
}

static s128 difference(const struct unit_step *s, s128 a, s128 b) {
    return s->sat ? unit_clamp(s->type[0], a - b) : a - b;
}

static s128 lesser(const struct unit_step *s, s128 a, s128 b) {
    s128 x = a < b ? a : b;
    return s->relu && x < 0 ? 0 : x;
}

static s128 greater(const struct unit_step *s, s128 a, s128 b) {
    s128 x = a > b ? a : b;
    return s->relu && x < 0 ? 0 : x;
}

/* x read without a sign, for carries */
static u128 plain(const struct unit_step *s, uint64_t x) {
    return unit_low(x, s->type[0].bits);
}

static void keep(const struct unit_step *s, u128 x, uint64_t *d, struct unit_lane *l) {
    *d = unit_low((uint64_t)x, s->type[0].bits);
    if (s->cc)
        l->carry = x >> s->type[0].bits & 1;
}

static void add(const struct unit_step *s, const uint64_t *a, uint64_t *d, struct unit_lane *l) {
    if (s->cc)
        keep(s, plain(s, a[0]) + plain(s, a[1]), d, l);
    else
        *d = each(s, a, sum);
}

static void addc(const struct unit_step *s, const uint64_t *a, uint64_t *d, struct unit_lane *l) {
    keep(s, plain(s, a[0]) + plain(s, a[1]) + l->carry, d, l);
}

static void sub(const struct unit_step *s, const uint64_t *a, uint64_t *d, struct unit_lane *l) {
    if (s->cc)
        keep(s, plain(s, a[0]) - plain(s, a[1]), d, l);
    else
        *d = each(s, a, difference);
}

static void subc(const struct unit_step *s, const uint64_t *a, uint64_t *d, struct unit_lane *l) {
    keep(s, plain(s, a[0]) - plain(s, a[1]) - l->carry, d, l);
}

/* The part of a product that .lo .hi .wide ask for, read by the type (.hi: without its sign extension lost). */
static s128 product_part(const struct unit_step *s, uint64_t a, uint64_t b) {
    unsigned bits = s->type[0].bits;
    if (s->type[0].kind == 'u' && bits == 64) { /* 128 bits without a sign */
        u128 p = (u128)a * b;
        return s->hi ? (s128)(p >> 64) : (s128)(uint64_t)p;
    }
    s128 p = at(s, a) * at(s, b);
    if (s->wide)
        return p;
    return s->hi ? p >> bits : (s128)unit_low((uint64_t)(u128)p, bits);
}

static struct unit_type result_type(const struct unit_step *s) {
    return s->wide ? type_like(s->type[0].kind, 2 * s->type[0].bits) : s->type[0];
}

static void mul(const struct unit_step *s, const uint64_t *a, uint64_t *d, struct unit_lane *l) {
    (void)l;
    *d = unit_integer_bits(result_type(s), product_part(s, a[0], a[1]));
}

static void mad(const struct unit_step *s, const uint64_t *a, uint64_t *d, struct unit_lane *l) {
    if (s->cc) {
        keep(s, (u128)unit_low((uint64_t)(u128)product_part(s, a[0], a[1]), s->type[0].bits) + plain(s, a[2]), d, l);
        return;
    }
    s128 x = product_part(s, a[0], a[1]) + unit_integer(result_type(s), a[2]);
    *d = unit_integer_bits(result_type(s), s->sat ? unit_clamp(s->type[0], x) : x);
}

static void madc(const struct unit_step *s, const uint64_t *a, uint64_t *d, struct unit_lane *l) {
    keep(s, (u128)unit_low((uint64_t)(u128)product_part(s, a[0], a[1]), s->type[0].bits) + plain(s, a[2]) + l->carry, d,
         l);
}

/* 24-bit factors; .lo bits 0..31, .hi bits 16..47 of the product. */
static s128 product24(const struct unit_step *s, const uint64_t *a) {
    struct unit_type t = type_like(s->type[0].kind, 24);
    s128 p = unit_integer(t, a[0]) * unit_integer(t, a[1]);
    s128 part = s->hi ? p >> 16 : p;
    return unit_integer(s->type[0], (uint64_t)(u128)part);
}

static void mul24(const struct unit_step *s, const uint64_t *a, uint64_t *d, struct unit_lane *l) {
    (void)l;
    *d = unit_integer_bits(s->type[0], product24(s, a));
}

static void mad24(const struct unit_step *s, const uint64_t *a, uint64_t *d, struct unit_lane *l) {
    (void)l;
    s128 x = product24(s, a) + at(s, a[2]);
    *d = unit_integer_bits(s->type[0], s->sat ? unit_clamp(s->type[0], x) : x);
}

static void sad(const struct unit_step *s, const uint64_t *a, uint64_t *d, struct unit_lane *l) {
    (void)l;
    s128 x = at(s, a[0]) - at(s, a[1]);
    *d = unit_integer_bits(s->type[0], at(s, a[2]) + (x < 0 ? -x : x));
}

/* Division by zero as measured: all ones. */
static void divide(const struct unit_step *s, const uint64_t *a, uint64_t *d, struct unit_lane *l) {
    (void)l;
    s128 x = at(s, a[0]), y = at(s, a[1]);
    *d = unit_integer_bits(s->type[0], y ? x / y : -1);
}

static void rem(const struct unit_step *s, const uint64_t *a, uint64_t *d, struct unit_lane *l) {
    (void)l;
    s128 x = at(s, a[0]), y = at(s, a[1]);
    *d = unit_integer_bits(s->type[0], y ? x % y : -1);
}

static void min(const struct unit_step *s, const uint64_t *a, uint64_t *d, struct unit_lane *l) {
    (void)l;
    *d = each(s, a, lesser);
}

static void max(const struct unit_step *s, const uint64_t *a, uint64_t *d, struct unit_lane *l) {
    (void)l;
    *d = each(s, a, greater);
}

static void absolute(const struct unit_step *s, const uint64_t *a, uint64_t *d, struct unit_lane *l) {
    (void)l;
    s128 x = at(s, a[0]);
    *d = unit_integer_bits(s->type[0], x < 0 ? -x : x);
}

static void neg(const struct unit_step *s, const uint64_t *a, uint64_t *d, struct unit_lane *l) {
    (void)l;
    *d = unit_integer_bits(s->type[0], -at(s, a[0]));
}

static s128 element(struct unit_type outer, uint64_t x, unsigned bits, unsigned i) {
    return unit_integer(type_like(outer.kind, bits), x >> bits * i);
}

static void dp4a(const struct unit_step *s, const uint64_t *a, uint64_t *d, struct unit_lane *l) {
    (void)l;
    s128 x = (s128)a[2];
    for (unsigned i = 0; i < 4; i++)
        x += element(s->type[0], a[0], 8, i) * element(s->type[1], a[1], 8, i);
    *d = unit_low((uint64_t)(u128)x, 32);
}

static void dp2a(const struct unit_step *s, const uint64_t *a, uint64_t *d, struct unit_lane *l) {
    (void)l;
    s128 x = (s128)a[2];
    for (unsigned i = 0; i < 2; i++)
        x += element(s->type[0], a[0], 16, i) * element(s->type[1], a[1], 8, i + (s->hi ? 2 : 0));
    *d = unit_low((uint64_t)(u128)x, 32);
}

const struct unit_rule unit_rules_integer[] = {
    {"add", add, NULL},     {"addc", addc, NULL}, {"sub", sub, NULL},      {"subc", subc, NULL},
    {"mul", mul, NULL},     {"mad", mad, NULL},   {"madc", madc, NULL},    {"mul24", mul24, NULL},
    {"mad24", mad24, NULL}, {"sad", sad, NULL},   {"div", divide, NULL},   {"rem", rem, NULL},
    {"min", min, NULL},     {"max", max, NULL},   {"abs", absolute, NULL}, {"neg", neg, NULL},
    {"dp4a", dp4a, NULL},   {"dp2a", dp2a, NULL}, {NULL, NULL, NULL},
};
