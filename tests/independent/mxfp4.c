/* From the text of OCP MX 1.0: a byte E8M0, 2^(e - 127), then nibbles (in the order of q4_0) of type E2M1: a sign, two
 * bits of exponent with bias 1, one of fraction, subnormal where the exponent is 0. As ggml has it, e = 255 is no NaN
 * and there is no -0. */
#include "independent.h"
#include <string.h>

enum { VALUES = 32, LOG_BITS = 60 };

/* Twice the magnitude of an E2M1. */
static unsigned twice_e2m1(unsigned nibble) {
    unsigned exponent = nibble / 2 % 4, fraction = nibble % 2;
    return exponent ? (2 + fraction) << (exponent - 1) : fraction;
}

static uint32_t value(unsigned e, unsigned nibble) {
    unsigned twice = twice_e2m1(nibble);
    return independent_round(&binary32, nibble >= 8 && twice, twice, (int)e - 128, false);
}

void independent_mxfp4(const uint8_t *block, uint32_t *bits) {
    for (unsigned e = 0; e < VALUES; e++)
        bits[e] = value(block[0], independent_nibble(block + 1, e));
}

/* The floor of the f32 nearest to log2 of a positive x: binary digits of the logarithm by squaring. */
static int floor_of_log2(uint32_t x) {
    struct parts p = independent_parts(&binary32, x);
    u128 m = p.mantissa; /* in steps of 2^-63, 1 <= m < 2 */
    int exponent = p.exponent + 63;
    for (; m < (u128)1 << 63; exponent--)
        m *= 2;
    s128 log = exponent;
    for (int i = 0; i < LOG_BITS; i++) {
        m = m * m >> 63;
        log *= 2;
        if (m >> 64) {
            m /= 2;
            log++;
        }
    }
    struct parts rounded = independent_parts(
        &binary32, independent_round(&binary32, log < 0, (u128)(log < 0 ? -log : log), -LOG_BITS, false));
    int64_t whole = rounded.mantissa;
    bool fraction = false;
    for (; rounded.exponent < 0; rounded.exponent++) {
        fraction = fraction || whole % 2;
        whole /= 2;
    }
    return rounded.negative ? (int)-whole - fraction : (int)whole;
}

/* The slips: the exponent of the largest value itself; and a tie to the even nibble, as the type's own rounding would.
 */
void independent_quantize_mxfp4(const uint32_t *x, uint8_t *block, enum slip slip) {
    uint32_t largest = independent_largest(x, VALUES);
    int e = largest ? floor_of_log2(largest) - 2 + 127 : 0;
    if (slip == STORED_SCALE)
        e = (int)(largest >> 23) - 2;
    e = e < 0 ? 0 : e;
    memset(block, 0, 17);
    block[0] = (uint8_t)e;
    for (unsigned k = 0; k < VALUES; k++) {
        unsigned best = 0;
        uint32_t least = 0x7f800000;
        for (unsigned n = 0; n < 16; n++) {
            uint32_t gap = independent_add(value((unsigned)e, n), x[k] ^ 0x80000000, false) & 0x7fffffff;
            if (gap < least || (slip == HALVES_TO_EVEN && gap == least && n % 2 == 0 && n != 8)) {
                least = gap;
                best = n;
            }
        }
        independent_set_nibble(block + 1, k, best);
    }
}
