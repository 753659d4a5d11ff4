/* Of each half of the block 64 bytes of nibbles, values 0 .. 63 in the low halves, 64 .. 127 in the high halves; from
 * bit 1024 the upper two bits, of each half 32 bytes, in every byte one value of four runs of 32, the first run lowest;
 * from byte 192 sixteen signed scales; d at byte 208. A code counts from -32. */
#include "independent.h"

struct integers independent_read_q6_k(const uint8_t *block, unsigned e) {
    unsigned half = e / 128, within = e % 128;
    unsigned low = independent_bits(block, 512 * half + 8 * (within % 64) + (within < 64 ? 0 : 4), 4);
    unsigned high = independent_bits(block, 1024 + 256 * half + 8 * (within % 32) + 2 * (within / 32), 2);
    return (struct integers){
        .scale = independent_signed_bits(block, 8 * (192 + e / 16), 8),
        .code = (int)(low + 16 * high) - 32,
        .d = independent_bits(block, 1664, 16),
    };
}

void independent_q6_k(const uint8_t *block, uint32_t *bits) {
    independent_values(independent_read_q6_k, 256, block, bits);
}
