/* binary16 (IEEE 754, sign 1, exponent 5, fraction 10), by integer arithmetic on the bits.
 * Source: IEEE 754-2019 3.4, 4.3.1, 5.4.2; NaN results as PTX ISA 9.7.9.21 `cvt` gives them on sm_90. */
#ifndef REF_HALF_H
#define REF_HALF_H

#include <stdint.h>
#include <string.h>

/* The bits of a float and the float of some bits. */
static inline uint32_t float_bits(float x) {
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}
static inline float bits_float(uint32_t u) {
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

/* binary16 bits -> binary32 bits, exact for every value, subnormals included; every NaN gives 0x7fffffff. */
uint32_t half_to_float_bits(uint16_t h);

/* binary32 bits -> binary16 bits, round to nearest, ties to even; subnormals produced; |x| >= 65520 gives infinity;
 * every NaN gives 0x7fff. */
uint16_t half_from_float_bits(uint32_t f);

static inline float half_to_float(uint16_t h) {
    return bits_float(half_to_float_bits(h));
}
static inline uint16_t half_from_float(float x) {
    return half_from_float_bits(float_bits(x));
}

#endif
