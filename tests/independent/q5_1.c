/* d at bit 0, m at bit 16; the fifth bit of value e is bit 32 + e; then the nibbles as q4_0 has them. */
#include "independent.h"
#include <string.h>

enum { VALUES = 32, CODES = 32 };

struct integers independent_read_q5_1(const uint8_t *block, unsigned e) {
    unsigned n = independent_nibble(block + 8, e) + 16 * independent_bits(block, 32 + e, 1);
    return (struct integers){.code = (int)n,
                             .scale = 1,
                             .min = 1,
                             .d = independent_bits(block, 0, 16),
                             .dmin = independent_bits(block, 16, 16) ^ 0x8000};
}

void independent_q5_1(const uint8_t *block, uint32_t *bits) {
    independent_values(independent_read_q5_1, VALUES, block, bits);
}

void independent_quantize_q5_1(const uint32_t *x, uint8_t *block, enum slip slip) {
    uint16_t d_m[2];
    uint8_t n[VALUES];
    independent_codes_by_range(x, CODES, slip, d_m, n);
    memset(block, 0, 24);
    for (int i = 0; i < 4; i++)
        block[i] = (uint8_t)(i % 2 ? d_m[i / 2] / 256 : d_m[i / 2] % 256);
    for (unsigned e = 0; e < VALUES; e++) {
        independent_set_nibble(block + 8, e, n[e] % 16);
        block[4 + e / 8] = (uint8_t)(block[4 + e / 8] + (n[e] / 16 << e % 8));
    }
}
