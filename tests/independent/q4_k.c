/* From the text of the format: bits are numbered through the block, bit 0 the lowest of byte 0. */
#include "independent.h"

static unsigned bit(const uint8_t *bytes, unsigned number) {
    return bytes[number / 8] >> (number % 8) & 1;
}

/* Six bits, given by the bit numbers of the lowest four (consecutive) and of the upper two (consecutive). */
static unsigned six_bits(const uint8_t *bytes, unsigned low, unsigned high) {
    unsigned value = 0;
    for (unsigned i = 0; i < 4; i++)
        value += bit(bytes, low + i) << i;
    for (unsigned i = 0; i < 2; i++)
        value += bit(bytes, high + i) << (4 + i);
    return value;
}

/* The scale bytes start at bit 32. Sub-blocks 0..3: scales are bits 0..5 of scale bytes 0..3, minima those of
 * bytes 4..7. Sub-blocks 4..7: low four bits in bytes 8..11 (scale low half, minimum high half), the top two are what
 * is left of bytes 0..3 (scales) and 4..7 (minima). */
struct q4_k_cell independent_q4_k_cell(const uint8_t block[144], unsigned e) {
    static const struct {
        unsigned scale_low, scale_high, min_low, min_high;
    } where[8] = {
        {32, 36, 64, 68},  {40, 44, 72, 76},   {48, 52, 80, 84},   {56, 60, 88, 92},
        {96, 38, 100, 70}, {104, 46, 108, 78}, {112, 54, 116, 86}, {120, 62, 124, 94},
    };
    unsigned s = e / 32;
    unsigned nibble_bit = 8 * 16 + 8 * 32 * (s / 2) + 8 * (e % 32) + 4 * (s % 2), nibble = 0;
    for (unsigned i = 0; i < 4; i++)
        nibble += bit(block, nibble_bit + i) << i;
    return (struct q4_k_cell){
        .scale = six_bits(block, where[s].scale_low, where[s].scale_high),
        .min = six_bits(block, where[s].min_low, where[s].min_high),
        .nibble = nibble,
    };
}

uint32_t independent_q4_k_value(const uint8_t block[144], unsigned e) {
    struct q4_k_cell cell = independent_q4_k_cell(block, e);
    return independent_difference(block, cell.scale * cell.nibble, block + 2, cell.min);
}
