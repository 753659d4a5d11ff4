/* f32 arithmetic on exact numbers of 640 bits, positive and negative terms apart: what a sum is rounded to is seen on
 * its digits. Quotients by long division. */
#include "independent.h"
#include <math.h>
#include <string.h>

/* The mantissa, moved to its place, goes into the words it touches, and the carry as far as it runs. */
void independent_wide_add(struct wide *sum, bool negative, u128 mantissa, int exponent) {
    uint32_t *words = negative ? sum->minus : sum->plus;
    const int place = exponent + WIDE_BELOW_ONE;
    uint64_t carry = 0;
    for (int i = place / 32; i < WIDE_WORDS; i++) {
        const int from = 32 * i - place; /* the bit of the mantissa that comes to bit 0 of word i */
        if (from >= 128 && !carry)
            break;
        uint32_t digits = 0;
        if (from < 0)
            digits = (uint32_t)(mantissa << -from);
        else if (from < 128)
            digits = (uint32_t)(mantissa >> from);
        const uint64_t total = (uint64_t)words[i] + digits + carry;
        words[i] = (uint32_t)total;
        carry = total >> 32;
    }
}

/* words = |plus - minus|; true when minus is the larger. */
static bool difference(const struct wide *sum, uint32_t words[WIDE_WORDS]) {
    int top = WIDE_WORDS - 1;
    while (top > 0 && sum->plus[top] == sum->minus[top])
        top--;
    const bool negative = sum->minus[top] > sum->plus[top];
    const uint32_t *large = negative ? sum->minus : sum->plus, *small = negative ? sum->plus : sum->minus;
    int64_t borrow = 0;
    for (int i = 0; i < WIDE_WORDS; i++) {
        int64_t digit = (int64_t)large[i] - small[i] - borrow;
        borrow = digit < 0;
        words[i] = (uint32_t)(digit + (borrow << 32));
    }
    return negative;
}

/* The highest three words that are not 0 as mantissa and exponent, and whether anything is below. */
static u128 highest(const uint32_t words[WIDE_WORDS], int *exponent, bool *more) {
    int top = WIDE_WORDS - 1;
    while (top > 2 && !words[top])
        top--;
    *exponent = 32 * (top - 2) - WIDE_BELOW_ONE;
    *more = false;
    for (int i = 0; i < top - 2; i++)
        *more = *more || words[i];
    return ((u128)words[top] << 32 | words[top - 1]) << 32 | words[top - 2];
}

double independent_wide_value(const struct wide *sum) {
    uint32_t words[WIDE_WORDS];
    int exponent;
    bool more, negative = difference(sum, words);
    u128 mantissa = highest(words, &exponent, &more);
    double magnitude = ldexp((double)mantissa, exponent);
    return negative ? -magnitude : magnitude;
}

static uint32_t negated_if(bool negative, uint32_t bits) {
    return negative ? bits | 0x80000000 : bits;
}

/* A result that is below 2^-126 when rounded to 24 bits, whatever its exponent, is the one that is flushed. */
uint32_t independent_rounded(bool negative, u128 mantissa, int exponent, bool more, bool flush) {
    static const struct binary low = {.precision = 24, .least = -300, .exponent_bits = 8}; /* infinite from 2^-22 on */
    if (flush && exponent < -126 &&
        independent_round(&low, false, mantissa, exponent, more) < independent_round(&low, false, 1, -126, 0))
        return negated_if(negative, 0);
    return independent_round(&binary32, negative, mantissa, exponent, more);
}

static bool is_zero(struct parts p) {
    return p.kind == FINITE && !p.mantissa;
}

static bool cancels(const struct wide *sum) {
    return !memcmp(sum->plus, sum->minus, sizeof sum->plus);
}

/* An operand; with `flush` 0 where subnormal. */
static struct parts operand(uint32_t bits, bool flush) {
    struct parts p = independent_parts(&binary32, bits);
    if (flush && p.kind == FINITE && p.mantissa < (uint32_t)1 << 23)
        p.mantissa = 0;
    return p;
}

static const uint32_t NOT_A_NUMBER_BITS = 0x7fffffff, INFINITY_BITS = 0x7f800000;

uint32_t independent_fma(uint32_t a, uint32_t b, uint32_t c, bool flush) {
    struct parts x = operand(a, flush), y = operand(b, flush), z = operand(c, flush);
    bool negative = x.negative != y.negative, infinite = x.kind == INFINITE || y.kind == INFINITE;
    if (x.kind == NOT_A_NUMBER || y.kind == NOT_A_NUMBER || z.kind == NOT_A_NUMBER)
        return NOT_A_NUMBER_BITS;
    if (infinite && (is_zero(x) || is_zero(y)))
        return NOT_A_NUMBER_BITS;
    if (infinite && z.kind == INFINITE && z.negative != negative)
        return NOT_A_NUMBER_BITS;
    if (infinite || z.kind == INFINITE)
        return negated_if(infinite ? negative : z.negative, INFINITY_BITS);
    struct wide sum = {0};
    independent_wide_add(&sum, negative, (u128)x.mantissa * y.mantissa, x.exponent + y.exponent);
    independent_wide_add(&sum, z.negative, z.mantissa, z.exponent);
    if (cancels(&sum)) /* zeros of one sign keep it; else, and where numbers cancel, +0 */
        return negated_if(negative && z.negative, 0);
    uint32_t words[WIDE_WORDS];
    int exponent;
    bool more, below = difference(&sum, words);
    u128 mantissa = highest(words, &exponent, &more);
    return independent_rounded(below, mantissa, exponent, more, flush);
}

uint32_t independent_multiply(uint32_t a, uint32_t b, bool flush) {
    return independent_fma(a, b, (a ^ b) & 0x80000000, flush);
}

uint32_t independent_add(uint32_t a, uint32_t b, bool flush) {
    return independent_fma(a, 0x3f800000, b, flush);
}

uint32_t independent_divide(uint32_t a, uint32_t b, bool flush) {
    struct parts x = operand(a, flush), y = operand(b, flush);
    bool negative = x.negative != y.negative;
    if (x.kind == NOT_A_NUMBER || y.kind == NOT_A_NUMBER || (x.kind == INFINITE && y.kind == INFINITE) ||
        (is_zero(x) && is_zero(y)))
        return NOT_A_NUMBER_BITS;
    if (x.kind == INFINITE || is_zero(y))
        return negated_if(negative, INFINITY_BITS);
    if (y.kind == INFINITE)
        return negated_if(negative, 0);
    u128 dividend = (u128)x.mantissa << 90;
    return independent_rounded(negative, dividend / y.mantissa, x.exponent - 90 - y.exponent, dividend % y.mantissa,
                               flush);
}

int32_t independent_truncate(uint32_t a) {
    struct parts p = independent_parts(&binary32, a);
    int64_t whole = p.kind == NOT_A_NUMBER ? 0 : p.mantissa;
    for (; p.exponent > 0 && whole && whole <= INT32_MAX; p.exponent--)
        whole *= 2;
    for (; p.exponent < 0 && whole; p.exponent++)
        whole /= 2;
    whole = p.kind == INFINITE || whole > INT32_MAX ? INT32_MAX : whole;
    return (int32_t)(p.negative ? -whole : whole);
}

int32_t independent_nearest(uint32_t a, bool to_even) {
    struct parts p = independent_parts(&binary32, a);
    if (p.kind == NOT_A_NUMBER)
        return 0;
    int64_t whole = (int64_t)1 << 40;
    if (p.kind == FINITE && p.exponent < 10) {
        int right = p.exponent < -40 ? 40 : -p.exponent; /* what is below 2^-16 is no half in any case */
        whole = right <= 0 ? (int64_t)p.mantissa << -right : (int64_t)p.mantissa >> right;
        int64_t fallen = right <= 0 ? 0 : (int64_t)p.mantissa - (whole << right);
        int64_t half = right <= 0 ? 1 : (int64_t)1 << (right - 1);
        whole += fallen > half || (fallen == half && (!to_even || whole % 2 == 1));
    }
    whole = p.negative ? -whole : whole;
    return (int32_t)(whole > INT32_MAX ? INT32_MAX : whole < INT32_MIN ? INT32_MIN : whole);
}

int independent_compare(uint32_t a, uint32_t b) {
    int64_t p = a & 0x7fffffff, q = b & 0x7fffffff; /* magnitudes are in the order of their bits */
    p = a >> 31 ? -p : p;
    q = b >> 31 ? -q : q;
    return (p > q) - (p < q);
}

uint32_t independent_largest(const uint32_t *x, size_t count) {
    bool any = false;
    uint32_t most = 0;
    for (size_t k = 0; k < count; k++) {
        bool nan = independent_parts(&binary32, x[k]).kind == NOT_A_NUMBER;
        any = any || !nan;
        most = !nan && x[k] % 0x80000000 > most ? x[k] % 0x80000000 : most;
    }
    return any ? most : NOT_A_NUMBER_BITS;
}

uint32_t independent_whole(int64_t n) {
    return independent_round(&binary32, n < 0, (u128)(n < 0 ? -n : n), 0, false);
}

uint32_t independent_widened(uint32_t half) {
    struct parts p = independent_parts(&binary16, half);
    if (p.kind == NOT_A_NUMBER)
        return NOT_A_NUMBER_BITS;
    return p.kind == INFINITE ? negated_if(p.negative, INFINITY_BITS)
                              : independent_round(&binary32, p.negative, p.mantissa, p.exponent, false);
}

uint16_t independent_half_of(uint32_t a) {
    struct parts p = independent_parts(&binary32, a);
    if (p.kind == NOT_A_NUMBER)
        return 0x7fff;
    if (p.kind == INFINITE)
        return p.negative ? 0xfc00 : 0x7c00;
    return (uint16_t)independent_round(&binary16, p.negative, p.mantissa, p.exponent, false);
}

uint32_t independent_half_times(uint32_t half, unsigned n) {
    struct parts p = independent_parts(&binary16, half);
    if (p.kind == NOT_A_NUMBER || (p.kind == INFINITE && !n))
        return 0x7fff;
    return p.kind == INFINITE ? half
                              : independent_round(&binary16, p.negative, (u128)p.mantissa * n, p.exponent, false);
}

void independent_wide_add_product(struct wide *sum, uint32_t a, uint32_t b, int64_t n) {
    struct parts x = operand(a, false), y = operand(b, false);
    u128 mantissa = (u128)x.mantissa * y.mantissa * (u128)(n < 0 ? -n : n);
    independent_wide_add(sum, (x.negative != y.negative) != (n < 0), mantissa, x.exponent + y.exponent);
}
