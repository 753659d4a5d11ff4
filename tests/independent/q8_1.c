/* The quantisers of q8_1 and q8_1_mmq on exact integers: quotients by long division, products whole, sums on a
 * common exponent, every lane of a warp simulated. Floats are bits throughout. */
#include "independent.h"
#include <string.h>

enum { NAN_BITS = 0x7fffffff };

static struct parts parts_of(uint32_t bits) {
    return independent_parts(&binary32, bits);
}
static bool is_zero(struct parts p) {
    return p.kind == FINITE && !p.mantissa;
}
static uint32_t signed_infinity(bool negative) {
    return negative ? 0xff800000 : 0x7f800000;
}

/* What .ftz does to an operand or a result. */
static uint32_t flush(const struct q8_1_rules *r, uint32_t x) {
    bool subnormal = x / 0x800000 % 256 == 0;
    return subnormal && !r->keeps_subnormals ? x & 0x80000000 : x;
}

/* +-(mantissa * 2^exponent) rounded. With .ftz, what is below 2^-126 once it is rounded to 24 bits, as if exponents had
 * no end, is a zero: looked at 2^100 higher up, where nothing is subnormal. */
static uint32_t rounded(const struct q8_1_rules *r, bool negative, u128 mantissa, int exponent, bool more) {
    bool tiny = exponent < -60 && independent_round(&binary32, false, mantissa, exponent + 100, more) < 0x32800000;
    return tiny && !r->keeps_subnormals ? (uint32_t)negative << 31
                                        : independent_round(&binary32, negative, mantissa, exponent, more);
}

static uint32_t times(const struct q8_1_rules *r, uint32_t x, uint32_t y) {
    struct parts a = parts_of(flush(r, x)), b = parts_of(flush(r, y));
    bool negative = a.negative != b.negative;
    if (a.kind == NOT_A_NUMBER || b.kind == NOT_A_NUMBER || (a.kind == INFINITE && is_zero(b)) ||
        (b.kind == INFINITE && is_zero(a)))
        return NAN_BITS;
    if (a.kind == INFINITE || b.kind == INFINITE)
        return signed_infinity(negative);
    return flush(r,
                 independent_round(&binary32, negative, (u128)a.mantissa * b.mantissa, a.exponent + b.exponent, false));
}

static uint32_t plus(const struct q8_1_rules *r, uint32_t x, uint32_t y) {
    struct parts a = parts_of(flush(r, x)), b = parts_of(flush(r, y));
    if (a.kind == NOT_A_NUMBER || b.kind == NOT_A_NUMBER ||
        (a.kind == INFINITE && b.kind == INFINITE && a.negative != b.negative))
        return NAN_BITS;
    if (a.kind == INFINITE || b.kind == INFINITE)
        return signed_infinity(a.kind == INFINITE ? a.negative : b.negative);
    if (is_zero(a) || (!is_zero(b) && b.exponent > a.exponent)) {
        struct parts swap = a;
        a = b;
        b = swap;
    }
    if (is_zero(a))
        return a.negative && b.negative ? 0x80000000 : 0;
    int apart = is_zero(b) ? 0 : a.exponent - b.exponent;
    bool more = apart > 80; /* then b only tells in which direction to look */
    s128 sum = (s128)a.mantissa << (more ? 80 : apart), small = more ? 1 : (s128)b.mantissa;
    sum = a.negative ? -sum : sum;
    sum += b.negative ? -small : small;
    if (!sum)
        return 0;
    return flush(
        r, independent_round(&binary32, sum < 0, (u128)(sum < 0 ? -sum : sum), a.exponent - (more ? 80 : apart), more));
}

/* Correctly rounded quotient of finite numbers, the divisor not 0. */
static uint32_t divided(struct parts a, struct parts b) {
    u128 wide = (u128)a.mantissa << 90;
    return independent_round(&binary32, a.negative != b.negative, wide / b.mantissa, a.exponent - 90 - b.exponent,
                             wide % b.mantissa != 0);
}

/* a / b in f32, subnormals kept. */
static uint32_t quotient(uint32_t x, uint32_t y) {
    struct parts a = parts_of(x), b = parts_of(y);
    bool negative = a.negative != b.negative;
    if (a.kind == NOT_A_NUMBER || b.kind == NOT_A_NUMBER || (a.kind == INFINITE && b.kind == INFINITE) ||
        (is_zero(a) && is_zero(b)))
        return NAN_BITS;
    if (a.kind == INFINITE || is_zero(b))
        return signed_infinity(negative);
    return b.kind == INFINITE ? (uint32_t)negative << 31 : divided(a, b);
}

uint32_t independent_rcp_approx(const uint8_t *table, uint32_t x) {
    const struct q8_1_rules ftz = {0};
    struct parts one = parts_of(0x3f800000), p = parts_of(flush(&ftz, x));
    if (p.kind == NOT_A_NUMBER)
        return NAN_BITS;
    if (p.kind == INFINITE || is_zero(p))
        return (p.kind == INFINITE ? 0 : 0x7f800000) + (uint32_t)p.negative * 0x80000000;
    /* Where the mantissa is looked up the exponent does not matter: divide by 1.m, step, then move by powers of two. */
    unsigned m = p.mantissa - 0x800000;
    uint32_t inverse = divided(one, parts_of(0x3f800000 + m));
    unsigned byte = table ? table[m / 4] : 0x55;
    for (unsigned i = m % 4; i; i--)
        byte /= 4;
    inverse = byte % 4 == 0 ? inverse - 1 : byte % 4 == 2 ? inverse + 1 : inverse;
    struct parts q = parts_of(inverse);
    return rounded(&ftz, p.negative, q.mantissa, q.exponent - (p.exponent + 23), false);
}

/* a / b as div.approx.ftz, or, where the rule says so, as IEEE 754 has it. */
static uint32_t divide(const struct q8_1_rules *r, const uint8_t *table, uint32_t a, uint32_t b) {
    return r->divides_exactly ? flush(r, quotient(flush(r, a), flush(r, b)))
                              : times(r, a, independent_rcp_approx(table, b));
}

/* The integer nearest to v, halves away from zero (or to even), as an int32 that is held to its range. */
static int64_t nearest(uint32_t v, bool to_even) {
    struct parts p = parts_of(v);
    if (p.kind == NOT_A_NUMBER)
        return 0;
    int64_t whole = (int64_t)1 << 40;
    if (p.kind == FINITE && p.exponent < 10) {
        int right = -p.exponent;
        whole = right <= 0 ? (int64_t)p.mantissa << -right : right > 40 ? 0 : (int64_t)p.mantissa >> right;
        int64_t fallen = right <= 0 || right > 40 ? 0 : (int64_t)p.mantissa - (whole << right);
        int64_t half = right <= 0 || right > 40 ? 1 : (int64_t)1 << (right - 1);
        whole += fallen > half || (fallen == half && (!to_even || whole % 2 == 1));
    }
    whole = p.negative ? -whole : whole;
    return whole > INT32_MAX ? INT32_MAX : whole < INT32_MIN ? INT32_MIN : whole;
}

static uint8_t low_byte(const struct q8_1_rules *r, uint32_t v) {
    int64_t whole = nearest(v, r->ties_to_even);
    if (r->holds_codes)
        whole = whole > 127 ? 127 : whole < -128 ? -128 : whole;
    return (uint8_t)((whole + ((int64_t)1 << 32)) % 256);
}

static void store_half(uint8_t *at, uint32_t x) {
    struct parts p = parts_of(x);
    uint32_t h = p.kind == NOT_A_NUMBER ? 0x7fff
                 : p.kind == INFINITE   ? 0x7c00u + p.negative * 0x8000u
                                        : independent_round(&binary16, p.negative, p.mantissa, p.exponent, false);
    at[0] = (uint8_t)(h % 256);
    at[1] = (uint8_t)(h / 256);
}

/* max |x|: NaN among numbers is not seen. */
static uint32_t largest(const uint32_t *x, unsigned count) {
    bool any = false;
    uint32_t most = 0;
    for (unsigned k = 0; k < count; k++) {
        bool nan = parts_of(x[k]).kind == NOT_A_NUMBER;
        any = any || !nan;
        most = !nan && x[k] % 0x80000000 > most ? x[k] % 0x80000000 : most;
    }
    return any ? most : NAN_BITS;
}

/* Every lane adds what lane (itself xor distance) has; what lane 0 holds in the end. */
static uint32_t butterflies(const struct q8_1_rules *r, uint32_t *lane, unsigned lanes) {
    if (r->sums_in_order) {
        for (unsigned i = 1; i < lanes; i++)
            lane[0] = plus(r, lane[0], lane[i]);
        return lane[0];
    }
    for (unsigned distance = lanes / 2; distance; distance /= 2) {
        uint32_t before[32];
        memcpy(before, lane, lanes * sizeof *lane);
        for (unsigned i = 0; i < lanes; i++)
            lane[i] = plus(r, before[i], before[i ^ distance]);
    }
    return lane[0];
}

void independent_q8_1(const struct q8_1_rules *r, const uint32_t x[32], uint8_t block[36]) {
    struct q8_1_rules kept = *r;
    kept.keeps_subnormals = true;
    uint32_t d = quotient(largest(x, 32), 0x42fe0000), id = is_zero(parts_of(d)) ? 0 : quotient(0x3f800000, d);
    int sum = 0;
    for (int k = 0; k < 32; k++) {
        int64_t q = nearest(times(&kept, x[k], id), r->ties_to_even);
        q = q > 127 ? 127 : q < -128 ? -128 : q;
        block[4 + k] = (uint8_t)((q + 256) % 256);
        sum += (int)q;
    }
    uint32_t whole = independent_round(&binary32, sum < 0, (u128)(sum < 0 ? -sum : sum), 0, false);
    store_half(block, d);
    if (r->sum_of_values) {
        uint32_t lane[32];
        memcpy(lane, x, sizeof lane);
        store_half(block + 2, butterflies(&kept, lane, 32));
        return;
    }
    store_half(block + 2, times(&kept, whole, d));
}

void independent_q8_1_cuda(const struct q8_1_rules *r, const uint8_t *table, const uint32_t x[32], uint8_t block[36]) {
    uint32_t amax = flush(r, largest(x, 32)), lane[32];
    uint32_t d = divide(r, table, amax, 0x42fe0000);
    memcpy(lane, x, sizeof lane);
    store_half(block, d);
    store_half(block + 2, butterflies(r, lane, 32));
    for (int k = 0; k < 32; k++)
        block[4 + k] = amax ? low_byte(r, divide(r, table, x[k], d)) : 0;
}

void independent_q8_1_mmq(enum q8_1_mmq_kind kind, const struct q8_1_rules *r, const uint8_t *table,
                          const uint32_t x[128], uint8_t block[144]) {
    const unsigned scale_values = kind == Q8_1_MMQ_D2S6 ? 64 : 32, sum_values = kind == Q8_1_MMQ_D2S6 ? 16 : 32;
    for (unsigned i = 0; i < 128 / scale_values; i++) {
        const uint32_t *in = x + i * scale_values;
        uint32_t amax = flush(r, largest(in, scale_values)), inverse = divide(r, table, 0x42fe0000, amax);
        uint32_t d = r->scale_of_amax ? divide(r, table, amax, 0x42fe0000) : divide(r, table, 0x3f800000, inverse);
        for (unsigned k = 0; k < scale_values; k++)
            block[16 + i * scale_values + k] = low_byte(r, times(r, in[k], inverse));
        if (kind == Q8_1_MMQ_D4)
            for (unsigned b = 0; b < 4; b++)
                block[4 * i + b] = (uint8_t)(d >> 8 * b & 255);
        else
            store_half(block + (kind == Q8_1_MMQ_DS4 ? 4 * i : 2 * i), d);
    }
    for (unsigned i = 0; kind != Q8_1_MMQ_D4 && i < (kind == Q8_1_MMQ_DS4 ? 4 : 6); i++) {
        uint32_t lane[8];
        for (unsigned l = 0; l < sum_values / 4; l++) {
            const uint32_t *v = x + i * sum_values + 4 * l;
            lane[l] = plus(r, plus(r, plus(r, v[0], v[1]), v[2]), v[3]);
        }
        store_half(block + (kind == Q8_1_MMQ_DS4 ? 4 * i + 2 : 4 + 2 * i), butterflies(r, lane, sum_values / 4));
    }
}
