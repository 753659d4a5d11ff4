/* d at bit 0, then 32 bytes in two's complement. */
#include "independent.h"

enum { VALUES = 32 };

struct integers independent_read_q8_0(const uint8_t *block, unsigned e) {
    return (struct integers){
        .code = independent_signed_bits(block, 16 + 8 * e, 8), .scale = 1, .d = independent_bits(block, 0, 16)};
}

void independent_q8_0(const uint8_t *block, uint32_t *bits) {
    independent_values(independent_read_q8_0, VALUES, block, bits);
}

void independent_quantize_q8_0(const uint32_t *x, uint8_t *block, enum slip slip) {
    static const uint32_t one = 0x3f800000, most = 0x42fe0000; /* 127 */
    uint32_t d = independent_divide(independent_largest(x, VALUES), most, false);
    uint32_t id = d ? independent_divide(one, d, false) : 0;
    uint16_t stored = independent_half_of(d);
    block[0] = stored % 256;
    block[1] = (uint8_t)(stored / 256);
    for (int k = 0; k < VALUES; k++)
        block[2 + k] =
            (uint8_t)(independent_nearest(independent_multiply(x[k], id, false), slip == HALVES_TO_EVEN) & 255);
}
