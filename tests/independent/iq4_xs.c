/* d at bit 0. Sub-block s = e / 32: the upper two bits of its scale at bit 16 + 2 s, the lower four at bit 32 + 4 s; 32
 * is 0. Its nibbles are 128 bits from bit 64 + 128 s on, in the order of q4_0; codes are those of iq4_nl. */
#include "independent.h"

static struct integers read(const uint8_t *block, unsigned e) {
    unsigned s = e / 32;
    unsigned scale = independent_bits(block, 32 + 4 * s, 4) + 16 * independent_bits(block, 16 + 2 * s, 2);
    return (struct integers){.code = independent_iq4_codes[independent_nibble(block + 8 + 16 * s, e % 32)],
                             .scale = (int)scale - 32,
                             .d = independent_bits(block, 0, 16)};
}

void independent_iq4_xs(const uint8_t *block, uint32_t *bits) {
    independent_values(read, 256, block, bits);
}
