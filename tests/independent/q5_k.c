/* d, dmin and the scale bytes as in q4_K; from bit 128 the fifth bits: byte by byte one value of each of eight runs of
 * 32, the first run lowest; from bit 384 the nibbles: of each quarter of the block 32 bytes, one run in the low halves,
 * the next in the high halves. */
#include "independent.h"

struct k_cell independent_q5_k_cell(const uint8_t *block, unsigned e) {
    struct q4_k_cell scales = independent_q4_k_cell(block, e); /* its nibble is none of this format */
    unsigned run = e / 32, place = e % 32;
    unsigned code = independent_bits(block, 384 + run / 2 * 256 + 8 * place + run % 2 * 4, 4) +
                    16 * independent_bits(block, 128 + 8 * place + run, 1);
    return (struct k_cell){.scale = (int)scales.scale, .min = (int)scales.min, .code = (int)code};
}

void independent_q5_k(const uint8_t *block, uint32_t *bits) {
    for (unsigned e = 0; e < 256; e++) {
        struct k_cell c = independent_q5_k_cell(block, e);
        bits[e] = independent_difference(block, (unsigned)(c.scale * c.code), block + 2, (unsigned)c.min);
    }
}
