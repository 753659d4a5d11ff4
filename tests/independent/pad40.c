/* The quantiser on exact integers: every quotient by long division with its remainder, every product whole. */
#include "independent.h"
#include <string.h>

static uint32_t divide(uint32_t numerator, int numerator_exponent, uint32_t denominator, int denominator_exponent) {
    u128 shifted = (u128)numerator << 90;
    return independent_round(&binary32, false, shifted / denominator, numerator_exponent - 90 - denominator_exponent,
                             shifted % denominator != 0);
}

/* The integer nearest to a float, ties to even, held to -128 .. 127. */
static int nearest_int8(uint32_t bits) {
    struct parts p = independent_parts(&binary32, bits);
    if (p.kind == NOT_A_NUMBER)
        return 0;
    int magnitude = 1000; /* what is 2^10 or more ends at a bound anyway */
    if (p.kind == FINITE && p.exponent < -13) {
        uint64_t whole = p.exponent < -40 ? 0 : (uint64_t)p.mantissa >> -p.exponent;
        uint64_t fallen = p.exponent < -40 ? p.mantissa != 0 : p.mantissa - (whole << -p.exponent);
        uint64_t half = p.exponent < -40 ? 2 : (uint64_t)1 << (-p.exponent - 1);
        magnitude = (int)(whole + (fallen > half || (fallen == half && whole % 2 == 1)));
    }
    int value = p.negative ? -magnitude : magnitude;
    return value < -128 ? -128 : value > 127 ? 127 : value;
}

static uint32_t multiply(struct parts a, struct parts b) {
    bool negative = a.negative != b.negative;
    bool a_zero = a.kind == FINITE && !a.mantissa, b_zero = b.kind == FINITE && !b.mantissa;
    if (a.kind == NOT_A_NUMBER || b.kind == NOT_A_NUMBER || (a.kind == INFINITE && b_zero) ||
        (b.kind == INFINITE && a_zero))
        return 0x7fffffff;
    if (a.kind == INFINITE || b.kind == INFINITE)
        return negative ? 0xff800000 : 0x7f800000;
    return independent_round(&binary32, negative, (u128)a.mantissa * b.mantissa, a.exponent + b.exponent, false);
}

/* The scale before it is rounded to binary16: rn(max |x| / 127). */
static uint32_t scale_of(const uint32_t x[32]) {
    uint32_t largest = 0;
    bool any = false;
    for (int k = 0; k < 32; k++) {
        if (independent_parts(&binary32, x[k]).kind == NOT_A_NUMBER)
            continue;
        any = true;
        uint32_t magnitude = x[k] % 0x80000000u;
        if (magnitude > largest)
            largest = magnitude;
    }
    struct parts amax = independent_parts(&binary32, largest);
    if (!any)
        return 0x7fffffff;
    return amax.kind == INFINITE ? 0x7f800000 : divide(amax.mantissa, amax.exponent, 127, 0);
}

static uint32_t inverse_of(struct parts d) {
    if (d.kind == NOT_A_NUMBER)
        return 0x7fffffff;
    if (d.kind == INFINITE || !d.mantissa)
        return 0;
    return divide(1, 0, d.mantissa, d.exponent);
}

void independent_pad40_quantize(const uint32_t x[32], uint8_t block[40]) {
    struct parts d = independent_parts(&binary32, scale_of(x));
    struct parts inverse = independent_parts(&binary32, inverse_of(d));
    uint32_t stored = d.kind == NOT_A_NUMBER ? 0x7fff
                      : d.kind == INFINITE   ? 0x7c00
                                             : independent_round(&binary16, false, d.mantissa, d.exponent, false);
    memset(block, 0, 40);
    block[0] = (uint8_t)(stored % 256);
    block[1] = (uint8_t)(stored / 256);
    int sum = 0;
    for (int k = 0; k < 32; k++) {
        int q = nearest_int8(multiply(independent_parts(&binary32, x[k]), inverse));
        block[4 + k] = (uint8_t)(q & 255);
        sum += q;
    }
    for (int i = 0; i < 4; i++)
        block[36 + i] = (uint8_t)((unsigned)sum >> (8 * i) & 255);
}
