/* Sixteen bytes of a scale (low half) and a minimum (high half) each; from bit 128 on the codes: of each half of the
 * block 32 bytes, in every byte one value of four runs of 32, the first run lowest; d at byte 80, dmin at byte 82. */
#include "independent.h"

struct integers independent_read_q2_k(const uint8_t *block, unsigned e) {
    unsigned half = e / 128, run = e % 128 / 32, place = e % 32;
    return (struct integers){
        .scale = (int)independent_bits(block, e / 16 * 8, 4),
        .min = (int)independent_bits(block, e / 16 * 8 + 4, 4),
        .code = (int)independent_bits(block, 128 + 256 * half + 8 * place + 2 * run, 2),
        .d = independent_bits(block, 640, 16),
        .dmin = independent_bits(block, 656, 16),
    };
}

void independent_q2_k(const uint8_t *block, uint32_t *bits) {
    independent_values(independent_read_q2_k, 256, block, bits);
}
