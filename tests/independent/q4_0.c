/* d at bit 0; then the nibbles of values 0 .. 15 in the low halves of sixteen bytes, of 16 .. 31 in the high ones. */
#include "independent.h"
#include <string.h>

enum { VALUES = 32, CODES = 16 };

unsigned independent_nibble(const uint8_t bytes[16], unsigned e) {
    return independent_bits(bytes, 8 * (e % 16) + 4 * (e / 16), 4);
}

void independent_set_nibble(uint8_t bytes[16], unsigned e, unsigned n) {
    bytes[e % 16] = (uint8_t)(bytes[e % 16] + (e < 16 ? n : 16 * n));
}

struct integers independent_read_q4_0(const uint8_t *block, unsigned e) {
    return (struct integers){
        .code = (int)independent_nibble(block + 2, e) - 8, .scale = 1, .d = independent_bits(block, 0, 16)};
}

void independent_q4_0(const uint8_t *block, uint32_t *bits) {
    independent_values(independent_read_q4_0, VALUES, block, bits);
}

/* An f32 in steps of 2^-60, what is below them cut off; the value MUST be below 2^40. */
static s128 steps_of(struct parts p) {
    s128 steps = p.mantissa;
    for (int e = p.exponent; e > -60; e--)
        steps *= 2;
    for (int e = p.exponent; e < -60; e++)
        steps /= 2;
    return p.negative ? -steps : steps;
}

/* rn(rn(x * id) + half) cut to an integer of 0 .. most, half being a whole number and a half; the slips here are to
 * round once, and to look at the product's own half and go to even. */
static uint8_t code_of(uint32_t x, uint32_t id, uint32_t half, int most, enum slip slip) {
    uint32_t product = independent_multiply(x, id, false);
    int32_t n = independent_truncate(independent_add(product, half, false));
    if (slip == FUSED) {
        /* the exact product is within 2^16, so that its steps of 2^-60 are enough to see what one rounding does */
        struct parts p = independent_parts(&binary32, x), q = independent_parts(&binary32, id);
        s128 exact = (s128)((u128)p.mantissa * q.mantissa);
        int e = p.exponent + q.exponent;
        for (; e > -60; e--)
            exact *= 2;
        for (; e < -60; e++)
            exact /= 2;
        exact = (p.negative != q.negative ? -exact : exact) + steps_of(independent_parts(&binary32, half));
        n = independent_truncate(
            independent_round(&binary32, exact < 0, (u128)(exact < 0 ? -exact : exact), -60, false));
    }
    if (slip == HALVES_TO_EVEN) {
        s128 steps = steps_of(independent_parts(&binary32, independent_add(product, half, false)));
        bool at_a_half = steps >= 0 && steps % ((s128)1 << 60) == 0;
        n -= at_a_half && n % 2;
    }
    return (uint8_t)(n < 0 ? 0 : n > most ? most : n);
}

static const uint32_t one = 0x3f800000, one_half = 0x3f000000;

static uint32_t inverse(uint32_t d, enum slip slip) {
    if (slip == STORED_SCALE)
        d = independent_widened(independent_half_of(d));
    return d << 1 ? independent_divide(one, d, false) : 0;
}

void independent_codes_by_largest(const uint32_t x[32], int codes, enum slip slip, uint16_t *d, uint8_t n[32]) {
    uint32_t largest = 0;
    for (int k = 0; k < VALUES; k++)
        if (independent_compare(x[k] & 0x7fffffff, largest & 0x7fffffff) > 0)
            largest = x[k];
    uint32_t wide = independent_divide(largest, independent_whole(-codes / 2), false), id = inverse(wide, slip);
    uint32_t half = independent_add(independent_whole(codes / 2), one_half, false);
    *d = independent_half_of(wide);
    for (int k = 0; k < VALUES; k++)
        n[k] = code_of(x[k], id, half, codes - 1, slip);
}

void independent_codes_by_range(const uint32_t x[32], int codes, enum slip slip, uint16_t d_m[2], uint8_t n[32]) {
    uint32_t least = x[0], largest = x[0];
    for (int k = 0; k < VALUES; k++) {
        if (independent_compare(x[k], least) < 0)
            least = x[k];
        if (independent_compare(x[k], largest) > 0)
            largest = x[k];
    }
    const uint32_t sign = 0x80000000;
    uint32_t wide =
        independent_divide(independent_add(largest, least ^ sign, false), independent_whole(codes - 1), false);
    uint32_t id = inverse(wide, slip);
    d_m[0] = independent_half_of(wide);
    d_m[1] = independent_half_of(least);
    for (int k = 0; k < VALUES; k++)
        n[k] = code_of(independent_add(x[k], least ^ sign, false), id, one_half, codes - 1, slip);
}

void independent_quantize_q4_0(const uint32_t *x, uint8_t *block, enum slip slip) {
    uint16_t d;
    uint8_t n[VALUES];
    independent_codes_by_largest(x, CODES, slip, &d, n);
    memset(block, 0, 18);
    block[0] = d % 256;
    block[1] = (uint8_t)(d / 256);
    for (unsigned e = 0; e < VALUES; e++)
        independent_set_nibble(block + 2, e, n[e]);
}
