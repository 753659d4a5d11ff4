/* Rounding to a format of few bits by search: the two numbers of the format around a value, and the middle between
 * them. */
#include "independent.h"

const struct narrow_format independent_narrow_formats[] = {
    {"f16", 11, -24, 0x7bff, 0x7c00, 0x7fff},
    {"bf16", 8, -133, 0x7f7f, 0x7f80, 0x7fff},
    {"tf32", 11, -136, 0x3fbff, 0x3fc00, 0x3ffff},
    {"e4m3", 4, -9, 0x7e, 0, 0x7f},
    {"e5m2", 3, -16, 0x7b, 0x7c, 0x7f},
};

static int length(u128 x) {
    int bits = 0;
    for (; x; x >>= 1)
        bits++;
    return bits;
}

/* -1, 0, 1: a * 2^p is below, equal to, above b * 2^q. */
static int compare(u128 a, int p, u128 b, int q) {
    if (!a || !b)
        return (a > 0) - (b > 0);
    const int top_a = length(a) + p, top_b = length(b) + q;
    if (top_a != top_b)
        return top_a > top_b ? 1 : -1;
    if (p > q)
        a <<= p - q;
    else
        b <<= q - p;
    return (a > b) - (a < b);
}

/* The number that a pattern without a sign stands for, infinity's as if the exponents went on. */
static void number(const struct narrow_format *f, uint32_t pattern, u128 *mantissa, int *exponent) {
    const uint32_t hidden = 1u << (f->precision - 1), field = pattern / hidden, fraction = pattern % hidden;
    *mantissa = field ? fraction + hidden : fraction;
    *exponent = f->least + (field ? (int)field - 1 : 0);
}

uint32_t independent_narrow(const struct narrow_format *f, char mode, bool negative, u128 mantissa, int exponent,
                            bool satfinite) {
    uint32_t low = 0, high = f->finite + 1; /* low <= value; value < high, or it is past every finite number */
    const uint32_t top = high;
    u128 m;
    int e;
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        number(f, middle, &m, &e);
        if (compare(m, e, mantissa, exponent) <= 0)
            low = middle;
        else
            high = middle;
    }
    number(f, low, &m, &e);
    uint32_t result = low;
    if (compare(m, e, mantissa, exponent) != 0) {
        const int side = compare(mantissa, exponent, 2 * m + 1, e - 1); /* of the middle between low and low + 1 */
        const bool up = mode == 'n'   ? side > 0 || (side == 0 && low % 2)
                        : mode == 'a' ? side >= 0
                        : mode == 'p' ? !negative
                        : mode == 'm' ? negative
                                      : false;
        result += up;
    }
    if (result == top)
        result = satfinite || !f->infinity ? f->finite : f->infinity;
    return result;
}
