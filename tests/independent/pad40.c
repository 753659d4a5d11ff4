/* The quantiser on exact integers: every quotient by long division with its remainder, every product whole. */
#include "independent.h"
#include <string.h>

void independent_pad40_quantize(const uint32_t x[32], uint8_t block[40]) {
    const uint32_t one = 0x3f800000, most = 0x42fe0000; /* 127 */
    uint32_t d = independent_divide(independent_largest(x, 32), most, false);
    uint32_t inverse = d ? independent_divide(one, d, false) : 0;
    uint16_t stored = independent_half_of(d);
    memset(block, 0, 40);
    block[0] = (uint8_t)(stored % 256);
    block[1] = (uint8_t)(stored / 256);
    int sum = 0;
    for (int k = 0; k < 32; k++) {
        int q = independent_nearest(independent_multiply(x[k], inverse, false), true);
        q = q < -128 ? -128 : q > 127 ? 127 : q;
        block[4 + k] = (uint8_t)(q & 255);
        sum += q;
    }
    for (int i = 0; i < 4; i++)
        block[36 + i] = (uint8_t)((unsigned)sum >> (8 * i) & 255);
}
