/* d, dmin and the scale bytes as in q4_K; from bit 128 the fifth bits: byte by byte one value of each of eight runs of
 * 32, the first run lowest; from bit 384 the nibbles: of each quarter of the block 32 bytes, one run in the low halves,
 * the next in the high halves. */
#include "independent.h"

struct integers independent_read_q5_k(const uint8_t *block, unsigned e) {
    struct integers v = independent_read_q4_k(block, e); /* but for its code, which is none of this format */
    unsigned run = e / 32, place = e % 32;
    v.code = (int)(independent_bits(block, 384 + run / 2 * 256 + 8 * place + run % 2 * 4, 4) +
                   16 * independent_bits(block, 128 + 8 * place + run, 1));
    return v;
}

void independent_q5_k(const uint8_t *block, uint32_t *bits) {
    independent_values(independent_read_q5_k, 256, block, bits);
}
