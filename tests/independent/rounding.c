#include "independent.h"

const struct binary binary16 = {.precision = 11, .least = -24, .exponent_bits = 5};
const struct binary binary32 = {.precision = 24, .least = -149, .exponent_bits = 8};

static int length(u128 x) {
    int bits = 0;
    for (; x; x >>= 1)
        bits++;
    return bits;
}

uint32_t independent_round(const struct binary *f, bool negative, u128 mantissa, int exponent, bool more) {
    uint32_t sign = (uint32_t)negative << (f->precision - 1 + f->exponent_bits);
    uint32_t infinity_field = (1u << f->exponent_bits) - 1;
    if (!mantissa)
        return sign;
    /* The last place of the result: precision bits from the top, but no finer than the finest step. */
    int last = exponent + length(mantissa) - f->precision;
    if (last < f->least)
        last = f->least;
    /* Bit after bit to the right; `half` is the bit that fell last, `rest` whatever fell before it. */
    bool half = false, rest = more;
    for (; exponent < last; exponent++) {
        rest = rest || half;
        half = mantissa & 1;
        mantissa >>= 1;
    }
    for (; exponent > last; exponent--)
        mantissa <<= 1;
    if (half && (rest || (mantissa & 1)))
        mantissa++;
    if (length(mantissa) > f->precision) { /* 11...1 became 100...0 */
        mantissa >>= 1;
        last++;
    }
    uint32_t field = length(mantissa) < f->precision ? 0 : (uint32_t)(last - f->least + 1);
    if (field >= infinity_field)
        return sign | infinity_field << (f->precision - 1);
    uint32_t fraction = (uint32_t)mantissa & ((1u << (f->precision - 1)) - 1);
    return sign | field << (f->precision - 1) | fraction;
}

struct parts independent_parts(const struct binary *f, uint32_t bits) {
    uint32_t fraction = bits & ((1u << (f->precision - 1)) - 1);
    uint32_t field = bits >> (f->precision - 1) & ((1u << f->exponent_bits) - 1);
    struct parts p = {.negative = bits >> (f->precision - 1 + f->exponent_bits) & 1};
    if (field == (1u << f->exponent_bits) - 1)
        p.kind = fraction ? NOT_A_NUMBER : INFINITE;
    p.mantissa = field ? fraction + (1u << (f->precision - 1)) : fraction;
    p.exponent = f->least + (field ? (int)field - 1 : 0);
    return p;
}
