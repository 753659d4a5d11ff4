/* Of each half of the block 64 bytes of nibbles, values 0 .. 63 in the low halves, 64 .. 127 in the high halves; from
 * bit 1024 the upper two bits, of each half 32 bytes, in every byte one value of four runs of 32, the first run lowest;
 * from byte 192 sixteen signed scales; d at byte 208. A code counts from -32. */
#include "independent.h"

struct k_cell independent_q6_k_cell(const uint8_t *block, unsigned e) {
    unsigned half = e / 128, within = e % 128, scale = block[192 + e / 16];
    unsigned low = independent_bits(block, 512 * half + 8 * (within % 64) + (within < 64 ? 0 : 4), 4);
    unsigned high = independent_bits(block, 1024 + 256 * half + 8 * (within % 32) + 2 * (within / 32), 2);
    return (struct k_cell){
        .scale = scale < 128 ? (int)scale : (int)scale - 256,
        .code = (int)(low + 16 * high) - 32,
    };
}

void independent_q6_k(const uint8_t *block, uint32_t *bits) {
    for (unsigned e = 0; e < 256; e++) {
        struct k_cell c = independent_q6_k_cell(block, e);
        int size = c.scale * c.code;
        bits[e] = independent_scaled(block + 208, (c.scale < 0) != (c.code < 0), (u128)(size < 0 ? -size : size));
    }
}
