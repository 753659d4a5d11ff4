/* From the text of the format: bits are numbered through the block, bit 0 the lowest of byte 0. */
#include "independent.h"

/* Six bits, given by the bit numbers of the lowest four (consecutive) and of the upper two (consecutive). */
static int six_bits(const uint8_t *bytes, unsigned low, unsigned high) {
    return (int)(independent_bits(bytes, low, 4) + 16 * independent_bits(bytes, high, 2));
}

/* The scale bytes start at bit 32. Sub-blocks 0..3: scales are bits 0..5 of scale bytes 0..3, minima those of
 * bytes 4..7. Sub-blocks 4..7: low four bits in bytes 8..11 (scale low half, minimum high half), the top two are what
 * is left of bytes 0..3 (scales) and 4..7 (minima). */
struct integers independent_read_q4_k(const uint8_t *block, unsigned e) {
    static const struct {
        unsigned scale_low, scale_high, min_low, min_high;
    } where[8] = {
        {32, 36, 64, 68},  {40, 44, 72, 76},   {48, 52, 80, 84},   {56, 60, 88, 92},
        {96, 38, 100, 70}, {104, 46, 108, 78}, {112, 54, 116, 86}, {120, 62, 124, 94},
    };
    unsigned s = e / 32;
    return (struct integers){
        .code = (int)independent_bits(block, 8 * (16 + 32 * (s / 2) + e % 32) + 4 * (s % 2), 4),
        .scale = six_bits(block, where[s].scale_low, where[s].scale_high),
        .min = six_bits(block, where[s].min_low, where[s].min_high),
        .d = independent_bits(block, 0, 16),
        .dmin = independent_bits(block, 16, 16),
    };
}

void independent_q4_k(const uint8_t *block, uint32_t *bits) {
    independent_values(independent_read_q4_k, 256, block, bits);
}
