#include "independent.h"

enum { SIGN = 31, ROOM = 70 }; /* bits that an operand is moved up by, more than a result can have */

unsigned independent_bits(const uint8_t *bytes, unsigned first, unsigned count) {
    unsigned value = 0;
    for (unsigned i = 0; i < count; i++)
        value += (bytes[(first + i) / 8] >> (first + i) % 8 & 1u) << i;
    return value;
}

uint32_t independent_add(uint32_t a, uint32_t b) {
    struct parts p = independent_parts(&binary32, a), q = independent_parts(&binary32, b);
    if (p.kind != FINITE || q.kind != FINITE)
        return p.kind != FINITE ? a : b;
    if (!p.mantissa && !q.mantissa) /* the sum of zeros is -0 only where both are */
        return a & b;
    if (p.exponent < q.exponent || !p.mantissa) {
        struct parts other = p;
        p = q;
        q = other;
    }
    if (!q.mantissa)
        return independent_round(&binary32, p.negative, p.mantissa, p.exponent, false);
    /* p is the one with the coarser step. What q has below the finest step kept is only "something". */
    int up = p.exponent - q.exponent > ROOM ? ROOM : p.exponent - q.exponent;
    s128 large = (s128)p.mantissa << up, small = q.mantissa;
    bool more = false;
    for (int i = p.exponent - up - q.exponent; i > 0; i--) {
        more = more || small % 2;
        small /= 2;
    }
    bool opposite = p.negative != q.negative;
    s128 sum = opposite ? large - small - more : large + small;
    if (!sum)
        return 0;
    return independent_round(&binary32, sum < 0 ? !p.negative : p.negative, (u128)(sum < 0 ? -sum : sum),
                             p.exponent - up, more);
}

uint32_t independent_multiply(uint32_t a, uint32_t b) {
    struct parts p = independent_parts(&binary32, a), q = independent_parts(&binary32, b);
    return independent_round(&binary32, p.negative != q.negative, (u128)p.mantissa * q.mantissa,
                             p.exponent + q.exponent, false);
}

uint32_t independent_divide(uint32_t a, uint32_t b) {
    struct parts p = independent_parts(&binary32, a), q = independent_parts(&binary32, b);
    u128 wide = (u128)p.mantissa << ROOM;
    return independent_round(&binary32, p.negative != q.negative, wide / q.mantissa, p.exponent - ROOM - q.exponent,
                             wide % q.mantissa);
}

int32_t independent_truncate(uint32_t a) {
    struct parts p = independent_parts(&binary32, a);
    int64_t whole = p.mantissa;
    for (; p.exponent > 0 && whole <= INT32_MAX; p.exponent--)
        whole *= 2;
    for (; p.exponent < 0 && whole; p.exponent++)
        whole /= 2;
    whole = whole > INT32_MAX ? INT32_MAX : whole;
    return (int32_t)(p.negative ? -whole : whole);
}

int independent_compare(uint32_t a, uint32_t b) {
    int64_t p = a & 0x7fffffff, q = b & 0x7fffffff; /* magnitudes are in the order of their bits */
    p = a >> SIGN ? -p : p;
    q = b >> SIGN ? -q : q;
    return (p > q) - (p < q);
}

uint16_t independent_half_of(uint32_t a) {
    struct parts p = independent_parts(&binary32, a);
    if (p.kind == INFINITE)
        return p.negative ? 0xfc00 : 0x7c00;
    return (uint16_t)independent_round(&binary16, p.negative, p.mantissa, p.exponent, false);
}

uint32_t independent_scaled(const uint8_t *bytes, bool negative, u128 integer) {
    struct parts d = independent_parts(&binary16, independent_bits(bytes, 0, 16));
    return independent_round(&binary32, d.negative != negative, d.mantissa * integer, d.exponent, false);
}

uint32_t independent_scaled_plus(const uint8_t *d_bytes, unsigned integer, const uint8_t *m_bytes) {
    uint32_t product = independent_scaled(d_bytes, false, integer), m = independent_scaled(m_bytes, false, 1);
    return independent_add(product, m); /* both are exact */
}

/* A finite binary16 in units of 2^-24. */
static s128 half_units(const uint8_t *bytes) {
    struct parts p = independent_parts(&binary16, independent_bits(bytes, 0, 16));
    s128 value = (s128)p.mantissa << (p.exponent + 24);
    return p.negative ? -value : value;
}

uint32_t independent_difference(const uint8_t *d_bytes, unsigned a, const uint8_t *dmin_bytes, unsigned b) {
    s128 product = half_units(d_bytes) * a, offset = half_units(dmin_bytes) * b, exact = product - offset;
    if (!product && !offset) /* signs of zero: -0 - (+0) is -0, every other difference of zeros is +0 */
        return independent_bits(d_bytes, 15, 1) && !independent_bits(dmin_bytes, 15, 1) ? 1u << SIGN : 0;
    return independent_round(&binary32, exact < 0, (u128)(exact < 0 ? -exact : exact), -24, false);
}
