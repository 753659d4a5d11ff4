/* d at byte 0, an f32; from byte 4 on 256 signed codes; from byte 260 on sixteen signed 16-bit sums, each of 16 codes.
 */
#include "independent.h"
#include <string.h>

void independent_q8_k(const uint8_t *block, uint32_t *bits) {
    struct parts d = independent_parts(&binary32, independent_bits(block, 0, 32));
    for (unsigned e = 0; e < 256; e++) {
        unsigned code = block[4 + e], size = code < 128 ? code : 256 - code;
        bits[e] = independent_round(&binary32, d.negative != (code > 127), (u128)d.mantissa * size, d.exponent, false);
    }
}

void independent_quantize_q8_k(const uint32_t x[256], uint8_t block[292], enum q8_k_slip slip) {
    const uint32_t minus_127 = 0xc2fe0000, plus_127 = 0x42fe0000, one = 0x3f800000, magnitude = 0x7fffffff;
    uint32_t max = 0;
    for (int k = 0; k < 256; k++) { /* magnitudes are in the order of their bits */
        uint32_t size = x[k] & magnitude, most = max & magnitude;
        if (size > most || (slip == Q8_K_LAST && size == most))
            max = x[k];
    }
    memset(block, 0, 292);
    if (!(max & magnitude))
        return;
    uint32_t inverse = independent_divide(slip == Q8_K_SIGN ? plus_127 : minus_127, max, false);
    bool infinite = independent_parts(&binary32, inverse).kind == INFINITE;
    uint32_t d = infinite ? inverse & ~magnitude : independent_divide(one, inverse, false);
    for (int i = 0; i < 4; i++)
        block[i] = (uint8_t)(d >> 8 * i & 255);
    for (int k = 0; k < 256 && !infinite; k++) {
        uint32_t quotient =
            slip == Q8_K_STORED_SCALE ? independent_divide(x[k], d, false) : independent_multiply(x[k], inverse, false);
        int q = independent_nearest(quotient, slip != Q8_K_HALVES_AWAY);
        block[4 + k] = (uint8_t)((q > 127 ? 127 : q) & 255);
    }
    for (int s = 0; s < 16; s++) {
        int sum = 0;
        for (int k = 0; k < 16; k++)
            sum += block[4 + 16 * s + k] - (block[4 + 16 * s + k] > 127 ? 256 : 0);
        block[260 + 2 * s] = (uint8_t)(sum & 255);
        block[261 + 2 * s] = (uint8_t)(sum >> 8 & 255);
    }
}
