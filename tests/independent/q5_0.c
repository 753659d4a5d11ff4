/* d at bit 0; the fifth bit of value e is bit 16 + e; then the nibbles as q4_0 has them. */
#include "independent.h"
#include <string.h>

enum { VALUES = 32, CODES = 32 };

struct integers independent_read_q5_0(const uint8_t *block, unsigned e) {
    unsigned n = independent_nibble(block + 6, e) + 16 * independent_bits(block, 16 + e, 1);
    return (struct integers){.code = (int)n - 16, .scale = 1, .d = independent_bits(block, 0, 16)};
}

void independent_q5_0(const uint8_t *block, uint32_t *bits) {
    independent_values(independent_read_q5_0, VALUES, block, bits);
}

void independent_quantize_q5_0(const uint32_t *x, uint8_t *block, enum slip slip) {
    uint16_t d;
    uint8_t n[VALUES];
    independent_codes_by_largest(x, CODES, slip, &d, n);
    memset(block, 0, 22);
    block[0] = d % 256;
    block[1] = (uint8_t)(d / 256);
    for (unsigned e = 0; e < VALUES; e++) {
        independent_set_nibble(block + 6, e, n[e] % 16);
        block[2 + e / 8] = (uint8_t)(block[2 + e / 8] + (n[e] / 16 << e % 8));
    }
}
