/* The integers of a block, from the texts of the formats: bits are numbered through the block, bit 0 the lowest of
 * byte 0, and a code is put together bit by bit. */
#include "independent.h"
#include <string.h>

static unsigned bits(const uint8_t *block, unsigned first, unsigned count) {
    unsigned value = 0;
    for (unsigned i = 0; i < count; i++)
        value += (unsigned)(block[(first + i) / 8] >> (first + i) % 8 & 1) << i;
    return value;
}

/* Value e of 32 lies in byte e, low half, or, from 16 on, in byte e - 16, high half; the bytes start at bit `at`. */
static int half_byte(const uint8_t *block, unsigned at, unsigned e) {
    return (int)bits(block, at + 8 * (e % 16) + 4 * (e / 16), 4);
}

/* d, 16 bytes of halves; code = n - 8. */
static struct integers q4_0(const uint8_t *block, unsigned e) {
    return (struct integers){.code = half_byte(block, 16, e) - 8, .scale = 1, .d = bits(block, 0, 16)};
}

/* The other sign of a binary16. */
static uint32_t negated(uint32_t half) {
    return half < 32768 ? half + 32768 : half - 32768;
}

/* d, m, 16 bytes of halves. */
static struct integers q4_1(const uint8_t *block, unsigned e) {
    return (struct integers){.code = half_byte(block, 32, e),
                             .scale = 1,
                             .min = 1,
                             .d = bits(block, 0, 16),
                             .dmin = negated(bits(block, 16, 16))};
}

/* d, 32 fifth bits, 16 bytes of halves; code = n - 16. */
static struct integers q5_0(const uint8_t *block, unsigned e) {
    int code = half_byte(block, 48, e) + 16 * (int)bits(block, 16 + e, 1) - 16;
    return (struct integers){.code = code, .scale = 1, .d = bits(block, 0, 16)};
}

/* d, m, 32 fifth bits, 16 bytes of halves. */
static struct integers q5_1(const uint8_t *block, unsigned e) {
    return (struct integers){.code = half_byte(block, 64, e) + 16 * (int)bits(block, 32 + e, 1),
                             .scale = 1,
                             .min = 1,
                             .d = bits(block, 0, 16),
                             .dmin = negated(bits(block, 16, 16))};
}

/* d, 32 bytes in two's complement. */
static struct integers q8_0(const uint8_t *block, unsigned e) {
    int n = (int)bits(block, 16 + 8 * e, 8);
    return (struct integers){.code = n < 128 ? n : n - 256, .scale = 1, .d = bits(block, 0, 16)};
}

static struct integers q4_k(const uint8_t *block, unsigned e) {
    struct q4_k_cell cell = independent_q4_k_cell(block, e);
    return (struct integers){.code = (int)cell.nibble,
                             .scale = (int)cell.scale,
                             .min = (int)cell.min,
                             .d = bits(block, 0, 16),
                             .dmin = bits(block, 16, 16)};
}

/* d, dmin and scales as q4_K has them; 32 bytes of fifth bits from byte 16 (value l of sub-block s: bit s of byte l);
 * halves from byte 48, laid out as those of q4_K. */
static struct integers q5_k(const uint8_t *block, unsigned e) {
    struct integers v = q4_k(block, e);
    unsigned s = e / 32, l = e % 32;
    v.code = (int)(bits(block, 8 * (48 + 32 * (s / 2) + l) + 4 * (s % 2), 4) + 16 * bits(block, 8 * (16 + l) + s, 1));
    return v;
}

/* 128 bytes of low halves, 64 bytes of upper pairs of bits, 16 scales in two's complement, d. Value n of half h (128
 * values): low half or, from n = 64 on, high half of byte 64 h + n % 64; pair n / 32 of byte 128 + 32 h + n % 32. */
static struct integers q6_k(const uint8_t *block, unsigned e) {
    unsigned h = e / 128, n = e % 128;
    unsigned low = bits(block, 8 * (64 * h + n % 64) + 4 * (n / 64), 4);
    unsigned high = bits(block, 8 * (128 + 32 * h + n % 32) + 2 * (n / 32), 2);
    int scale = (int)bits(block, 8 * (192 + e / 16), 8);
    return (struct integers){
        .code = (int)(low + 16 * high) - 32, .scale = scale < 128 ? scale : scale - 256, .d = bits(block, 8 * 208, 16)};
}

static const struct integer_format formats[] = {
    {"q4_0", 32, 18, 32, q4_0},   {"q4_1", 32, 20, 32, q4_1},   {"q5_0", 32, 22, 32, q5_0},
    {"q5_1", 32, 24, 32, q5_1},   {"q8_0", 32, 34, 32, q8_0},   {"q4_K", 256, 144, 32, q4_k},
    {"q5_K", 256, 176, 32, q5_k}, {"q6_K", 256, 210, 16, q6_k},
};

const struct integer_format *independent_integers_of(const char *format) {
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (!strcmp(formats[i].name, format))
            return &formats[i];
    return NULL;
}
