/* d at bit 0, then 32 bytes in two's complement. */
#include "independent.h"
#include <stdlib.h>

enum { VALUES = 32 };

void independent_q8_0(const uint8_t *block, uint32_t *bits) {
    for (unsigned e = 0; e < VALUES; e++) {
        int code = block[2 + e] < 128 ? block[2 + e] : block[2 + e] - 256;
        bits[e] = independent_scaled(block, code < 0, (unsigned)abs(code));
    }
}

void independent_quantize_q8_0(const uint32_t *x, uint8_t *block, enum slip slip) {
    static const uint32_t one = 0x3f800000, most = 0x42fe0000; /* 127 */
    uint32_t largest = 0;
    for (int k = 0; k < VALUES; k++)
        if ((x[k] & 0x7fffffff) > largest)
            largest = x[k] & 0x7fffffff;
    uint32_t d = independent_divide(largest, most), id = d ? independent_divide(one, d) : 0;
    uint16_t stored = independent_half_of(d);
    block[0] = stored % 256;
    block[1] = (uint8_t)(stored / 256);
    for (int k = 0; k < VALUES; k++) {
        struct parts p = independent_parts(&binary32, independent_multiply(x[k], id));
        int64_t twice = (int64_t)p.mantissa * 2; /* twice the product, and whether something was cut from it */
        bool more = false;
        for (; p.exponent < 0; p.exponent++) {
            more = more || twice % 2;
            twice /= 2;
        }
        int64_t q = twice / 2 + twice % 2; /* halves away from zero */
        if (slip == HALVES_TO_EVEN && twice % 2 && !more)
            q -= q % 2;
        block[2 + k] = (uint8_t)((p.negative ? -q : q) & 255);
    }
}
