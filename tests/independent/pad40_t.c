/* pad40_t by its reader: where the lanes of ldmatrix.x4 look for the rows of an m16n8k32 fragment is where they lie.
 * Tiles, chunks and scale words by counting, in the order in which the buffer has them. */
#include "independent.h"
#include <string.h>

/* Lane l of group g (16 tokens) addresses 16 bytes: token 16 g + l mod 16, values 0 .. 15 (l < 16) or 16 .. 31. */
unsigned independent_pad40_t_reader(unsigned group, unsigned lane) {
    unsigned within = lane % 4 * 2 + lane / 16 % 2, row_phase = lane / 4 % 4, group_phase = group % 2 * 4;
    return group * 512 + lane % 16 / 4 * 4 * 32 + 16 * (within ^ row_phase ^ group_phase);
}

/* Token of scale word number w of a chunk: the words are counted through pairs of groups, then rows of eight, then the
 * two groups, then the two halves of a group. */
unsigned independent_pad40_t_token(unsigned w) {
    unsigned count = 0;
    for (unsigned pair = 0; pair < 2; pair++)
        for (unsigned row = 0; row < 8; row++)
            for (unsigned group = 0; group < 2; group++)
                for (unsigned half = 0; half < 2; half++)
                    if (count++ == w)
                        return (2 * pair + group) * 16 + half * 8 + row;
    return 64;
}

/* One chunk: block[t] for the tokens that are there, zero for the others. */
static void chunk(uint8_t block[64][40], uint8_t quants[2048], uint8_t words[256]) {
    for (unsigned group = 0; group < 4; group++)
        for (unsigned lane = 0; lane < 32; lane++)
            memcpy(quants + independent_pad40_t_reader(group, lane), block[16 * group + lane % 16] + 4 + lane / 16 * 16,
                   16);
    for (unsigned w = 0; w < 64; w++) {
        const uint8_t *b = block[independent_pad40_t_token(w)];
        memcpy(words + 4 * w, b, 2);          /* d */
        memcpy(words + 4 * w + 2, b + 36, 2); /* the low half of the 32-bit sum, little-endian */
    }
}

void independent_pad40_t(const uint32_t *x, size_t nt, size_t id, uint8_t *buffer) {
    uint8_t *quants = buffer, *words = buffer + (nt + 63) / 64 * (id / 32) * 2048;
    for (size_t tile = 0; 64 * tile < nt; tile++)
        for (size_t c = 0; c < id / 32; c++, quants += 2048, words += 256) {
            uint8_t block[64][40] = {{0}};
            for (size_t t = 0; t < 64 && 64 * tile + t < nt; t++)
                independent_pad40_quantize(x + (64 * tile + t) * id + 32 * c, block[t]);
            chunk(block, quants, words);
        }
}
