/* d at bit 0, then the nibbles as q4_0 has them; a nibble is a place in the list of codes. */
#include "independent.h"

const int independent_iq4_codes[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

static struct integers read(const uint8_t *block, unsigned e) {
    return (struct integers){.code = independent_iq4_codes[independent_nibble(block + 2, e)],
                             .scale = 1,
                             .d = independent_bits(block, 0, 16)};
}

void independent_iq4_nl(const uint8_t *block, uint32_t *bits) {
    independent_values(read, 32, block, bits);
}
