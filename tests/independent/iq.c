/* iq1_s, iq1_m, iq2_xxs, iq2_xs, iq2_s, iq3_xxs, iq3_s from the texts of the formats: bits are numbered through the
 * block, bit 0 the lowest of byte 0; values are exact integers in units of 2^-27. */
#include "independent.h"
#include <string.h>

enum { D_BITS = 16, VALUES = 256 };

/* What a value is made of, in eighths: d * (2 scale + 1) times eighths * (+-level), or times 8 level + shift. */
struct cell {
    unsigned d, row, column, scale;
    bool minus;
    int shift; /* 0, 1, -1 */
};

/* Element j of eight, whose signs are seven bits from `first` on: the eighth makes the number of minus signs even. */
static bool seven_signs(const uint8_t *block, unsigned first, unsigned j) {
    if (j < 7)
        return independent_bits(block, first + j, 1);
    unsigned minus = 0;
    for (unsigned i = 0; i < 7; i++)
        minus += independent_bits(block, first + i, 1);
    return minus % 2;
}

static struct cell cell_1_s(const uint8_t *block, unsigned e) {
    unsigned word = D_BITS + VALUES + 16 * (e / 32);
    return (struct cell){
        .d = independent_bits(block, 0, 16),
        .row = independent_bits(block, D_BITS + 8 * (e / 8), 8) +
               256 * independent_bits(block, word + 3 * (e % 32 / 8), 3),
        .column = e % 8,
        .scale = independent_bits(block, word + 12, 3),
        .shift = independent_bits(block, word + 15, 1) ? -1 : 1,
    };
}

static struct cell cell_1_m(const uint8_t *block, unsigned e) {
    unsigned high = VALUES + 4 * (e / 8), words = VALUES + 128, d = 0;
    for (unsigned i = 0; i < 4; i++)
        d += independent_bits(block, words + 16 * i + 12, 4) << 4 * i;
    return (struct cell){
        .d = d,
        .row = independent_bits(block, 8 * (e / 8), 8) + 256 * independent_bits(block, high, 3),
        .column = e % 8,
        .scale = independent_bits(block, words + 16 * (e / 64) + 3 * (e % 64 / 16), 3),
        .shift = independent_bits(block, high + 3, 1) ? -1 : 1,
    };
}

static struct cell cell_2_xxs(const uint8_t *block, unsigned e) {
    unsigned group = D_BITS + 64 * (e / 32);
    return (struct cell){
        .d = independent_bits(block, 0, 16),
        .row = independent_bits(block, group + 8 * (e % 32 / 8), 8),
        .column = e % 8,
        .scale = independent_bits(block, group + 60, 4),
        .minus = seven_signs(block, group + 32 + 7 * (e % 32 / 8), e % 8),
    };
}

static struct cell cell_2_xs(const uint8_t *block, unsigned e) {
    unsigned word = D_BITS + 16 * (e / 8);
    return (struct cell){
        .d = independent_bits(block, 0, 16),
        .row = independent_bits(block, word, 9),
        .column = e % 8,
        .scale = independent_bits(block, D_BITS + 512 + 4 * (e / 16), 4),
        .minus = seven_signs(block, word + 9, e % 8),
    };
}

static struct cell cell_2_s(const uint8_t *block, unsigned e) {
    return (struct cell){
        .d = independent_bits(block, 0, 16),
        .row = independent_bits(block, D_BITS + 8 * (e / 8), 8) +
               256 * independent_bits(block, D_BITS + 512 + 2 * (e / 8), 2),
        .column = e % 8,
        .scale = independent_bits(block, D_BITS + 512 + 64 + 4 * (e / 16), 4),
        .minus = independent_bits(block, D_BITS + 256 + e, 1),
    };
}

static struct cell cell_3_xxs(const uint8_t *block, unsigned e) {
    unsigned word = D_BITS + 512 + 32 * (e / 32);
    return (struct cell){
        .d = independent_bits(block, 0, 16),
        .row = independent_bits(block, D_BITS + 8 * (e / 4), 8),
        .column = e % 4,
        .scale = independent_bits(block, word + 28, 4),
        .minus = seven_signs(block, word + 7 * (e % 32 / 8), e % 8),
    };
}

static struct cell cell_3_s(const uint8_t *block, unsigned e) {
    return (struct cell){
        .d = independent_bits(block, 0, 16),
        .row =
            independent_bits(block, D_BITS + 8 * (e / 4), 8) + 256 * independent_bits(block, D_BITS + 512 + e / 4, 1),
        .column = e % 4,
        .scale = independent_bits(block, D_BITS + 512 + 64 + 256 + 4 * (e / 32), 4),
        .minus = independent_bits(block, D_BITS + 512 + 64 + e, 1),
    };
}

static void decode(const char *format, unsigned elements, int eighths,
                   struct cell (*cell)(const uint8_t *block, unsigned e), const uint8_t *block, uint32_t *bits) {
    static char kept[8]; /* whose grid is in levels */
    static int8_t levels[INDEPENDENT_IQ_MOST];
    if (strcmp(kept, format)) {
        independent_iq_grid(format, levels);
        strcpy(kept, format);
    }
    for (unsigned e = 0; e < VALUES; e++) {
        struct cell c = cell(block, e);
        int level = levels[c.row * elements + c.column];
        int factor = c.shift ? 8 * level + c.shift : c.minus ? -eighths * level : eighths * level;
        factor *= (int)(2 * c.scale + 1);
        struct parts d = independent_parts(&binary16, c.d);
        u128 size = ((u128)d.mantissa << (d.exponent + 24)) * (unsigned)(factor < 0 ? -factor : factor);
        bits[e] = independent_round(&binary32, d.negative != (factor < 0), size, -27, false);
    }
}

void independent_iq1_s(const uint8_t *block, uint32_t *bits) {
    decode("iq1_s", 8, 8, cell_1_s, block, bits);
}
void independent_iq1_m(const uint8_t *block, uint32_t *bits) {
    decode("iq1_m", 8, 8, cell_1_m, block, bits);
}
void independent_iq2_xxs(const uint8_t *block, uint32_t *bits) {
    decode("iq2_xxs", 8, 1, cell_2_xxs, block, bits);
}
void independent_iq2_xs(const uint8_t *block, uint32_t *bits) {
    decode("iq2_xs", 8, 1, cell_2_xs, block, bits);
}
void independent_iq2_s(const uint8_t *block, uint32_t *bits) {
    decode("iq2_s", 8, 1, cell_2_s, block, bits);
}
void independent_iq3_xxs(const uint8_t *block, uint32_t *bits) {
    decode("iq3_xxs", 4, 2, cell_3_xxs, block, bits);
}
void independent_iq3_s(const uint8_t *block, uint32_t *bits) {
    decode("iq3_s", 4, 8, cell_3_s, block, bits);
}
