/* Floating-point arithmetic, PTX ISA 9.7.3 to 9.7.5: operands as exact numbers, the exact result, one rounding. NaNs as
 * measured on an H200: one canonical NaN, but binary64 hands an operand's on, made quiet. */
#include "unit.h"
#include <string.h>

static bool is_nan(const struct unit_format *f, uint64_t bits) {
    return unit_decode(f, bits, false).kind == NOT_A_NUMBER;
}

/* The NaN of an operation whose operands count in this order. */
static uint64_t nan_of(const struct unit_format *f, const uint64_t *operands, int count) {
    for (int i = 0; i < count && f == &unit_f64; i++)
        if (is_nan(f, operands[i]))
            return operands[i] | (uint64_t)1 << 51;
    return f->nan;
}

static bool flushes(const struct unit_step *s) {
    return s->ftz;
}

static struct exact operand(const struct unit_step *s, uint64_t bits) {
    return unit_decode(s->type[0].format, bits, flushes(s));
}

/* .sat and .relu of a result */
static uint64_t finish(const struct unit_step *s, uint64_t bits) {
    const struct unit_format *f = s->type[0].format;
    struct exact x = unit_decode(f, bits, false);
    if (s->relu && x.kind != NOT_A_NUMBER && x.negative)
        return unit_zero(f, false);
    if (!s->sat)
        return bits;
    struct exact one = exact_of(false, 1, 0);
    if (x.kind == NOT_A_NUMBER || x.negative || exact_is_zero(&x))
        return unit_zero(f, false);
    return exact_compare(&x, &one) > 0 ? unit_round(f, &one, UNIT_RN, false) : bits;
}

/* Of a sum that is exactly zero, of two that are not both zeros of one sign. */
static void zero_sign(struct exact *x, enum unit_rounding r, bool same_sign) {
    if (exact_is_zero(x) && !same_sign)
        x->negative = r == UNIT_RM;
}

static uint64_t sum(const struct unit_format *f, const struct exact *x, const struct exact *y, enum unit_rounding r,
                    bool flush, uint64_t nan) {
    if (x->kind == NOT_A_NUMBER || y->kind == NOT_A_NUMBER)
        return nan;
    if (x->kind == INFINITE || y->kind == INFINITE) {
        bool clash = x->kind == y->kind && x->negative != y->negative;
        return clash ? nan : unit_infinity(f, x->kind == INFINITE ? x->negative : y->negative);
    }
    struct exact total;
    exact_add(&total, x, y);
    zero_sign(&total, r, x->negative == y->negative);
    return unit_round(f, &total, r, flush);
}

uint64_t unit_add_float(const struct unit_format *f, uint64_t a, uint64_t b, enum unit_rounding r, bool flush) {
    struct exact x = unit_decode(f, a, flush), y = unit_decode(f, b, flush);
    uint64_t order[] = {b, a};
    return sum(f, &x, &y, r, flush, nan_of(f, order, 2));
}

static uint64_t add_one(const struct unit_step *s, const uint64_t *a) {
    return unit_add_float(s->type[0].format, a[0], a[1], s->rounding, flushes(s));
}

static uint64_t sub_one(const struct unit_step *s, const uint64_t *a) {
    struct exact x = operand(s, a[0]), y = operand(s, a[1]);
    uint64_t order[] = {a[1], a[0]};
    y.negative = !y.negative;
    return sum(s->type[0].format, &x, &y, s->rounding, flushes(s), nan_of(s->type[0].format, order, 2));
}

/* False: there is none (0 * infinity, or a NaN). */
static bool product(struct exact *p, const struct exact *x, const struct exact *y) {
    if (x->kind == NOT_A_NUMBER || y->kind == NOT_A_NUMBER)
        return false;
    if (x->kind == INFINITE || y->kind == INFINITE) {
        if (exact_is_zero(x) || exact_is_zero(y))
            return false;
        *p = exact_of(x->negative != y->negative, 1, 0);
        p->kind = INFINITE;
        return true;
    }
    exact_multiply(p, x, y);
    return true;
}

static uint64_t mul_one(const struct unit_step *s, const uint64_t *a) {
    struct exact x = operand(s, a[0]), y = operand(s, a[1]), p;
    uint64_t order[] = {a[1], a[0]};
    if (!product(&p, &x, &y))
        return nan_of(s->type[0].format, order, 2);
    return unit_round(s->type[0].format, &p, s->rounding, flushes(s));
}

static uint64_t fused(const struct unit_format *f, const uint64_t *a, enum unit_rounding r, bool flush) {
    struct exact x = unit_decode(f, a[0], flush), y = unit_decode(f, a[1], flush), z = unit_decode(f, a[2], flush), p;
    uint64_t order[] = {a[1], a[2], a[0]};
    uint64_t nan = nan_of(f, order, 3);
    return product(&p, &x, &y) ? sum(f, &p, &z, r, flush, nan) : nan;
}

uint64_t unit_fma_float(const struct unit_format *f, uint64_t a, uint64_t b, uint64_t c) {
    uint64_t operands[] = {a, b, c};
    return fused(f, operands, UNIT_RN, false);
}

static uint64_t fma_one(const struct unit_step *s, const uint64_t *a) {
    return fused(s->type[0].format, a, s->rounding, flushes(s));
}

/* x / y of two finite numbers, y not zero: enough digits for every format, and whether more follow. */
static struct exact quotient(const struct exact *x, const struct exact *y) {
    u128 n = x->mantissa.count ? x->mantissa.word[0] : 0, m = y->mantissa.word[0];
    int exponent = x->exponent - y->exponent;
    while (n && !(n >> 126)) {
        n <<= 1;
        exponent--;
    }
    struct exact q = exact_of(x->negative != y->negative, n / m, exponent);
    q.more = n % m != 0;
    return q;
}

static uint64_t divide(const struct unit_step *s, const struct exact *x, const struct exact *y, uint64_t nan) {
    const struct unit_format *f = s->type[0].format;
    if (x->kind == NOT_A_NUMBER || y->kind == NOT_A_NUMBER || (x->kind == INFINITE && y->kind == INFINITE) ||
        (exact_is_zero(x) && exact_is_zero(y)))
        return nan;
    bool negative = x->negative != y->negative;
    if (x->kind == INFINITE || exact_is_zero(y))
        return unit_infinity(f, negative);
    if (y->kind == INFINITE || exact_is_zero(x))
        return unit_zero(f, negative);
    struct exact q = quotient(x, y);
    return unit_round(f, &q, s->rounding, flushes(s));
}

static uint64_t div_one(const struct unit_step *s, const uint64_t *a) {
    struct exact x = operand(s, a[0]), y = operand(s, a[1]);
    return divide(s, &x, &y, nan_of(s->type[0].format, a, 2));
}

static uint64_t rcp_one(const struct unit_step *s, const uint64_t *a) {
    struct exact one = exact_of(false, 1, 0), x = operand(s, a[0]);
    return divide(s, &one, &x, nan_of(s->type[0].format, a, 1));
}

static uint64_t sqrt_one(const struct unit_step *s, const uint64_t *a) {
    const struct unit_format *f = s->type[0].format;
    struct exact x = operand(s, a[0]);
    if (x.kind == NOT_A_NUMBER || (x.negative && !exact_is_zero(&x)))
        return nan_of(f, a, 1);
    if (x.kind == INFINITE || exact_is_zero(&x))
        return x.kind == INFINITE ? unit_infinity(f, false) : unit_zero(f, x.negative);
    u128 n = x.mantissa.word[0], root = 0, left;
    int exponent = x.exponent;
    while (!(n >> 124) || exponent % 2) {
        n <<= 1;
        exponent--;
    }
    for (int bit = 63; bit >= 0; bit--) {
        u128 trial = root | (u128)1 << bit;
        if (trial <= n / trial)
            root = trial;
    }
    left = n - root * root;
    struct exact r = exact_of(false, root, exponent / 2);
    r.more = left != 0;
    return unit_round(f, &r, s->rounding, flushes(s));
}

static uint64_t as_read(const struct unit_step *s, uint64_t bits) {
    struct exact x = operand(s, bits);
    return exact_is_zero(&x) ? unit_zero(s->type[0].format, x.negative) : bits;
}

static uint64_t without_sign(const struct unit_format *f, uint64_t bits, bool negative) {
    uint64_t sign = unit_zero(f, true);
    return (bits & ~sign) | (negative ? sign : 0);
}

/* The lesser, or greater, of two; -0 below +0. */
static uint64_t chosen(const struct unit_step *s, uint64_t a, uint64_t b, bool greater) {
    const struct unit_format *f = s->type[0].format;
    struct exact x = operand(s, a), y = operand(s, b);
    bool nan_a = x.kind == NOT_A_NUMBER, nan_b = y.kind == NOT_A_NUMBER;
    uint64_t order[] = {b, a};
    if ((nan_a && nan_b) || (s->nan && (nan_a || nan_b)))
        return nan_of(f, order, 2);
    if (nan_a || nan_b)
        return as_read(s, nan_a ? b : a);
    int side = exact_compare(&x, &y);
    if (!side)
        side = x.negative == y.negative ? 0 : x.negative ? -1 : 1;
    return as_read(s, (greater ? side >= 0 : side <= 0) ? a : b);
}

static uint64_t extreme(const struct unit_step *s, const uint64_t *a, bool greater) {
    const struct unit_format *f = s->type[0].format;
    uint64_t x = a[0], y = a[1];
    bool sign = unit_decode(f, x, false).negative != unit_decode(f, y, false).negative;
    if (s->xorsign) {
        x = without_sign(f, x, false);
        y = without_sign(f, y, false);
    }
    uint64_t d = chosen(s, x, y, greater);
    return s->xorsign && !is_nan(f, d) ? without_sign(f, d, sign) : d;
}

static uint64_t min_one(const struct unit_step *s, const uint64_t *a) {
    return extreme(s, a, false);
}
static uint64_t max_one(const struct unit_step *s, const uint64_t *a) {
    return extreme(s, a, true);
}

static uint64_t abs_one(const struct unit_step *s, const uint64_t *a) {
    const struct unit_format *f = s->type[0].format;
    return is_nan(f, a[0]) ? nan_of(f, a, 1) : without_sign(f, as_read(s, a[0]), false);
}

static uint64_t neg_one(const struct unit_step *s, const uint64_t *a) {
    const struct unit_format *f = s->type[0].format;
    return is_nan(f, a[0]) ? nan_of(f, a, 1) : without_sign(f, as_read(s, a[0]), !unit_decode(f, a[0], false).negative);
}

static void per_element(const struct unit_step *s, const uint64_t *a, uint64_t *d,
                        uint64_t (*one)(const struct unit_step *, const uint64_t *)) {
    struct unit_type t = s->type[0];
    for (unsigned i = 0; i < t.packed; i++) {
        uint64_t x[3] = {0};
        for (unsigned k = 0; k < s->sources && k < 3; k++)
            x[k] = unit_low(a[k] >> t.bits * i, t.bits);
        *d |= finish(s, one(s, x)) << t.bits * i;
    }
}

#define RULE(name)                                                                                                     \
    static void name##_rule(const struct unit_step *s, const uint64_t *a, uint64_t *d, struct unit_lane *l) {          \
        (void)l;                                                                                                       \
        per_element(s, a, d, name##_one);                                                                              \
    }
RULE(add)
RULE(sub)
RULE(mul)
RULE(fma)
RULE(min)
RULE(max)
RULE(abs)
RULE(neg)
RULE(sqrt)

/* The reciprocal unit, measured for every mantissa: independent_rcp_approx. */
const uint8_t *unit_rcp_table;

static uint64_t scaled(uint64_t bits, int by, bool flush) {
    struct exact x = unit_decode(&unit_f32, bits, flush);
    if (x.kind != FINITE)
        return x.kind == NOT_A_NUMBER ? unit_f32.nan : bits;
    x.exponent += by;
    return unit_round(&unit_f32, &x, UNIT_RN, flush);
}

static uint64_t unit_reciprocal(uint64_t x) {
    return independent_rcp_approx(unit_rcp_table, (uint32_t)x);
}

/* |x| is finite and above 2^126, where the reciprocal is subnormal; a subnormal number. */
static bool is_great(uint64_t x) {
    return (x & 0x7fffffff) > 0x7e800000 && (x & 0x7fffffff) < 0x7f800000;
}
static bool is_small(uint64_t x) {
    return (x & 0x7fffffff) < 0x00800000 && (x & 0x7fffffff);
}

/* Without .ftz operand and result are scaled, so that the unit sees and gives no subnormal number (measured). */
static void rcp_rule(const struct unit_step *s, const uint64_t *a, uint64_t *d, struct unit_lane *l) {
    (void)l;
    int by = s->ftz ? 0 : is_great(a[0]) ? -2 : is_small(a[0]) ? 24 : 0;
    if (s->approx && s->type[0].format == &unit_f32)
        *d = by ? scaled(unit_reciprocal(scaled(a[0], by, false)), by, false) : unit_reciprocal(a[0]);
    else
        per_element(s, a, d, rcp_one);
}

/* .approx: a times the reciprocal of b; .full: both by 4 before that where b is great; without .ftz both times 2^24
 * where b is small (measured). */
static void div_rule(const struct unit_step *s, const uint64_t *a, uint64_t *d, struct unit_lane *l) {
    (void)l;
    bool full = unit_has(s, "full");
    if (!s->approx && !full) {
        per_element(s, a, d, div_one);
        return;
    }
    int by = full && is_great(a[1]) ? -2 : !s->ftz && is_small(a[1]) ? 24 : 0;
    uint64_t factors[2] = {by ? scaled(a[0], by, s->ftz) : a[0], by ? scaled(a[1], by, s->ftz) : a[1]};
    factors[1] = unit_reciprocal(factors[1]);
    *d = finish(s, mul_one(s, factors));
}

static void copysign_rule(const struct unit_step *s, const uint64_t *a, uint64_t *d, struct unit_lane *l) {
    (void)l;
    *d = without_sign(s->type[0].format, a[1], unit_decode(s->type[0].format, a[0], false).negative);
}

static void testp_rule(const struct unit_step *s, const uint64_t *a, uint64_t *d, struct unit_lane *l) {
    (void)l;
    const struct unit_format *f = s->type[0].format;
    struct exact x = unit_decode(f, a[0], false), least = exact_of(false, 1, f->least + f->precision - 1);
    x.negative = false;
    bool small = x.kind == FINITE && !exact_is_zero(&x) && exact_compare(&x, &least) < 0;
    *d = unit_has(s, "finite")       ? x.kind == FINITE
         : unit_has(s, "infinite")   ? x.kind == INFINITE
         : unit_has(s, "number")     ? x.kind != NOT_A_NUMBER
         : unit_has(s, "notanumber") ? x.kind == NOT_A_NUMBER
         : unit_has(s, "subnormal")  ? small
                                     : x.kind == FINITE && !small;
}

const struct unit_rule unit_rules_float[] = {
    {"add", add_rule, NULL},     {"sub", sub_rule, NULL},           {"mul", mul_rule, NULL}, {"fma", fma_rule, NULL},
    {"mad", fma_rule, NULL},     {"min", min_rule, NULL},           {"max", max_rule, NULL}, {"abs", abs_rule, NULL},
    {"neg", neg_rule, NULL},     {"sqrt", sqrt_rule, NULL},         {"rcp", rcp_rule, NULL}, {"div", div_rule, NULL},
    {"testp", testp_rule, NULL}, {"copysign", copysign_rule, NULL}, {NULL, NULL, NULL},
};
