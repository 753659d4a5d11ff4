/* From bit 0 the third bits: byte by byte one value of each of eight runs of 32, the first run lowest. From bit 256 the
 * lower two bits as in q2_K. From bit 768 the scales: sixteen nibbles, byte by byte, the low halves of eight bytes
 * being scales 0 .. 7 and the high halves 8 .. 15; then their upper two bits, in each of four bytes those of every
 * fourth scale. d at byte 108. A scale counts from -32, a code from -4. */
#include "independent.h"

struct integers independent_read_q3_k(const uint8_t *block, unsigned e) {
    static const unsigned low[16] = {768, 776, 784, 792, 800, 808, 816, 824, 772, 780, 788, 796, 804, 812, 820, 828};
    static const unsigned high[16] = {832, 840, 848, 856, 834, 842, 850, 858, 836, 844, 852, 860, 838, 846, 854, 862};
    unsigned half = e / 128, run = e % 128 / 32, place = e % 32, s = e / 16;
    unsigned scale = independent_bits(block, low[s], 4) + 16 * independent_bits(block, high[s], 2);
    unsigned code = independent_bits(block, 256 + 256 * half + 8 * place + 2 * run, 2) +
                    4 * independent_bits(block, 8 * place + 4 * half + run, 1);
    return (struct integers){.scale = (int)scale - 32, .code = (int)code - 4, .d = independent_bits(block, 864, 16)};
}

void independent_q3_k(const uint8_t *block, uint32_t *bits) {
    independent_values(independent_read_q3_k, 256, block, bits);
}
