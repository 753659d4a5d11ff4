#include "half.h"

enum {
    F32_INFINITY = 0x7f800000,
    F32_NAN = 0x7fffffff,
    F16_INFINITY = 0x7c00,
    F16_NAN = 0x7fff,
    FRACTION_GAP = 13,  /* fraction bits: 23 of binary32, 10 of binary16 */
    BIAS_GAP = 127 - 15 /* exponent biases of the two */
};

uint32_t half_to_float_bits(uint16_t h) {
    uint32_t sign = (uint32_t)(h & 0x8000) << 16;
    uint32_t exponent = h >> 10 & 31, fraction = h & 0x3ff;
    if (exponent == 31)
        return fraction ? (uint32_t)F32_NAN : sign | (uint32_t)F32_INFINITY;
    if (exponent)
        return sign | (exponent + BIAS_GAP) << 23 | fraction << FRACTION_GAP;
    if (!fraction)
        return sign;
    /* Subnormal, fraction * 2^-24: shift the leading one to bit 10, where the hidden bit of a normal number sits. */
    exponent = 1;
    while (!(fraction & 0x400)) {
        fraction <<= 1;
        exponent--;
    }
    return sign | (exponent + BIAS_GAP) << 23 | (fraction & 0x3ff) << FRACTION_GAP;
}

/* value / 2^shift rounded to nearest, ties to even; 1 <= shift <= 31, value < 2^31. */
static uint32_t shift_right_rne(uint32_t value, unsigned shift) {
    uint32_t below_half = (1u << (shift - 1)) - 1;
    return (value + below_half + (value >> shift & 1)) >> shift;
}

uint16_t half_from_float_bits(uint32_t f) {
    uint32_t sign = f >> 16 & 0x8000, magnitude = f & 0x7fffffff;
    if (magnitude > F32_INFINITY)
        return F16_NAN;
    if (magnitude >= 0x477ff000) /* 65520, half way between 65504 and the 65536 that binary16 has not */
        return (uint16_t)(sign | F16_INFINITY);
    if (magnitude >=
        0x38800000) /* 2^-14, the smallest normal: a carry out of the fraction raises the exponent, rightly */
        return (uint16_t)(sign | (shift_right_rne(magnitude, FRACTION_GAP) - (BIAS_GAP << 10)));
    uint32_t exponent = magnitude >> 23;
    if (exponent < 102) /* below 2^-25, half of the smallest subnormal */
        return (uint16_t)sign;
    /* Subnormal: significand * 2^(exponent - 150) in units of 2^-24; 1024 units are the smallest normal, rightly. */
    uint32_t significand = (magnitude & 0x7fffff) | 0x800000;
    return (uint16_t)(sign | shift_right_rne(significand, 126 - exponent));
}
