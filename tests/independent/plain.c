/* f32, f16 and bf16: one number a block. */
#include "independent.h"

static const struct binary bfloat16 = {.precision = 8, .least = -133, .exponent_bits = 8};

static uint32_t widened(const struct binary *f, unsigned bits) {
    struct parts p = independent_parts(f, bits);
    return independent_round(&binary32, p.negative, p.mantissa, p.exponent, false);
}

void independent_f32(const uint8_t *block, uint32_t *bits) {
    *bits = independent_bits(block, 0, 32);
}

void independent_f16(const uint8_t *block, uint32_t *bits) {
    *bits = widened(&binary16, independent_bits(block, 0, 16));
}

void independent_bf16(const uint8_t *block, uint32_t *bits) {
    *bits = widened(&bfloat16, independent_bits(block, 0, 16));
}

void independent_quantize_bf16(const uint32_t *x, uint8_t *block, enum slip slip) {
    struct parts p = independent_parts(&binary32, *x);
    uint32_t bits = independent_round(&bfloat16, p.negative, p.mantissa, p.exponent, false);
    if (slip == STORED_SCALE) /* cut, not rounded */
        bits = *x / 65536;
    block[0] = bits % 256;
    block[1] = (uint8_t)(bits / 256);
}
