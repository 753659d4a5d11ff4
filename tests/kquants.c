/* q2_K, q3_K, q4_K, q5_K, q6_K: the view as integers against the bit-by-bit reading, values against exact integers, and
 * faults of other programs' decoders, each of which must show. */
#include "../ref/format.h"
#include "../ref/half.h"
#include "../ref/random.h"
#include "independent/independent.h"
#include <criterion/criterion.h>
#include <string.h>

enum { MOST_BYTES = 320, VALUES = 256, RANDOM_BLOCKS = 1500 };

static const struct {
    const char *name;
    uint32_t type;
    size_t bytes, sub_values;
    independent_reader *read;
} formats[] = {
    {"q2_K", 10, 84, 16, independent_read_q2_k},  {"q3_K", 11, 110, 16, independent_read_q3_k},
    {"q4_K", 12, 144, 32, independent_read_q4_k}, {"q5_K", 13, 176, 32, independent_read_q5_k},
    {"q6_K", 14, 210, 16, independent_read_q6_k},
};
enum { FORMATS = sizeof formats / sizeof *formats };

/* ---- blocks ---- */

static const uint16_t corners[] = {0x0000, 0x8000, 0x0001, 0x8001, 0x03ff, 0x0400, 0x3c00, 0xbc00, 0x7bff, 0xfbff};

static void set_half(uint8_t *block, struct block_field field, uint16_t bits) {
    if (field.bytes)
        memcpy(block + field.at, &bits, sizeof bits);
}

/* d and dmin of the block become finite ones. */
static void make_finite(const struct block_format *f, uint8_t *block) {
    const struct block_field fields[2] = {f->d, f->dmin};
    for (int i = 0; i < 2; i++) {
        uint16_t bits;
        memcpy(&bits, block + fields[i].at, sizeof bits);
        if ((bits & 0x7c00) == 0x7c00)
            set_half(block, fields[i], bits ^ 0x4000);
    }
}

/* Number of blocks of a format that `block_number` knows: one for every bit, then random ones. */
static int block_count(const struct block_format *f) {
    return 8 * (int)f->block_bytes + RANDOM_BLOCKS;
}

static void block_number(const struct block_format *f, int number, uint8_t *block) {
    int random = number - 8 * (int)f->block_bytes;
    if (random < 0) { /* one bit differs from all others */
        memset(block, number % 3 ? 0 : 0xff, f->block_bytes);
        block[number / 8] ^= (uint8_t)(1 << number % 8);
        set_half(block, f->d, 0x3c00);
        set_half(block, f->dmin, 0x3800);
        return;
    }
    struct random_stream s = random_open(random_key(f->name), (uint32_t)random);
    for (size_t i = 0; i < f->block_bytes; i++)
        block[i] = (uint8_t)random_u32(&s);
    if (random % 3 == 1) {
        set_half(block, f->d, corners[random_below(&s, sizeof corners / sizeof *corners)]);
        set_half(block, f->dmin, corners[random_below(&s, sizeof corners / sizeof *corners)]);
    } else if (random % 3 == 2 && f->dmin.bytes) { /* near cancellation, the place where roundings show */
        memcpy(block + f->dmin.at, block + f->d.at, 2);
    }
    make_finite(f, block);
}

/* ---- what is compared ---- */

typedef void unpacker(const struct block_format *f, const uint8_t *block, struct block_integers *out);

struct wrong { /* how many sub-blocks and values of all blocks */
    int scales, mins, codes, values;
};

static void compare(int format, const uint8_t *block, const struct block_integers *b, struct wrong *wrong) {
    for (unsigned e = 0; e < VALUES; e++) {
        struct integers want = formats[format].read(block, e);
        unsigned s = e / (unsigned)formats[format].sub_values;
        wrong->scales += b->scale[s] != want.scale;
        wrong->mins += b->min[s] != want.min;
        wrong->codes += b->code[e] != want.code;
    }
}

/* What the integers stand for by format.h, in exact arithmetic and rounded once. */
static void meaning(const struct block_format *f, const struct block_integers *b, uint32_t *bits) {
    struct parts d = independent_parts(&binary32, float_bits(b->d)),
                 dmin = independent_parts(&binary32, float_bits(b->dmin));
    const int unit = -24 - 23; /* the last bit of the finest binary16, 2^-24, written as an f32 */
    for (unsigned e = 0; e < VALUES; e++) {
        unsigned s = e / (unsigned)f->sub_values;
        int scale = b->scale[s], code = b->code[e], min = b->min[s];
        s128 product = d.mantissa ? (s128)d.mantissa << (d.exponent - unit) : 0,
             offset = dmin.mantissa ? (s128)dmin.mantissa << (dmin.exponent - unit) : 0;
        bool minus = d.negative != ((scale < 0) != (code < 0));
        product *= scale * code * (d.negative ? -1 : 1);
        offset *= min * (dmin.negative ? -1 : 1);
        s128 exact = product - offset;
        if (!product && !offset)
            bits[e] = minus && !dmin.negative ? 0x80000000 : 0;
        else
            bits[e] = independent_round(&binary32, exact < 0, (u128)(exact < 0 ? -exact : exact), unit, false);
    }
}

static struct wrong judge(int format, unpacker *unpack) {
    const struct block_format *f = format_named(formats[format].name);
    struct wrong wrong = {0};
    for (int i = 0; i < block_count(f); i++) {
        uint8_t block[MOST_BYTES + 1];
        uint32_t want[VALUES], got[VALUES];
        struct block_integers b;
        block_number(f, i, block + 1); /* blocks need no alignment */
        unpack(f, block + 1, &b);
        compare(format, block + 1, &b, &wrong);
        independent_decoder_of(f->name)(block + 1, want);
        meaning(f, &b, got);
        for (unsigned e = 0; e < VALUES; e++)
            wrong.values += got[e] != want[e];
    }
    return wrong;
}

static void right(const struct block_format *f, const uint8_t *block, struct block_integers *out) {
    f->unpack(block, out);
}

Test(kquants, table) {
    for (int i = 0; i < FORMATS; i++) {
        const struct block_format *f = format_named(formats[i].name);
        cr_assert(f && f == format_of_type(formats[i].type), "%s: name and number disagree", formats[i].name);
        cr_assert(f->block_values == VALUES && f->block_bytes == formats[i].bytes, "%s: block size", f->name);
        cr_assert(f->sub_values == formats[i].sub_values, "%s: %zu values a sub-block", f->name, f->sub_values);
        cr_assert(f->dequantize && f->quantize && f->unpack && f->pack, "%s: a function is missing", f->name);
        cr_assert((f->min_most > 0) == (f->dmin.bytes > 0), "%s: minima and dmin go together", f->name);
    }
}

Test(kquants, integers_and_their_meaning) {
    for (int i = 0; i < FORMATS; i++) {
        struct wrong w = judge(i, right);
        cr_assert(!w.scales && !w.mins && !w.codes && !w.values, "%s: wrong: %d scales, %d minima, %d codes, %d values",
                  formats[i].name, w.scales, w.mins, w.codes, w.values);
    }
}

Test(kquants, integers_are_in_their_ranges) {
    for (int i = 0; i < FORMATS; i++) {
        const struct block_format *f = format_named(formats[i].name);
        bool scale_least = false, scale_most = false, min_most = !f->min_most, code_least = false, code_most = false;
        for (int number = 0; number < block_count(f); number++) {
            uint8_t block[MOST_BYTES];
            struct block_integers b;
            block_number(f, number, block);
            f->unpack(block, &b);
            for (unsigned e = 0; e < VALUES; e++) {
                int scale = b.scale[e / f->sub_values], min = b.min[e / f->sub_values];
                int code = b.code[e] - f->code_least;
                cr_assert(scale >= f->scale_least && scale <= f->scale_most, "%s: scale %d", f->name, scale);
                cr_assert(min >= 0 && min <= f->min_most, "%s: minimum %d", f->name, min);
                cr_assert(code >= 0 && code < f->code_count, "%s: code %d", f->name, b.code[e]);
                scale_least |= scale == f->scale_least;
                scale_most |= scale == f->scale_most;
                min_most |= min == f->min_most;
                code_least |= code == 0;
                code_most |= code == f->code_count - 1;
            }
        }
        cr_assert(scale_least && scale_most && min_most && code_least && code_most, "%s: an end is never reached",
                  f->name);
    }
}

typedef void dequantizer(const struct block_format *f, const uint8_t *block, float *out);

static int wrong_values(int format, dequantizer *dequantize) {
    const struct block_format *f = format_named(formats[format].name);
    int wrong = 0;
    for (int i = 0; i < block_count(f); i++) {
        uint8_t block[MOST_BYTES + 1];
        uint32_t want[VALUES];
        float got[VALUES];
        block_number(f, i, block + 1);
        dequantize(f, block + 1, got);
        independent_decoder_of(f->name)(block + 1, want);
        for (unsigned e = 0; e < VALUES; e++)
            wrong += float_bits(got[e]) != want[e];
    }
    return wrong;
}

static void right_values(const struct block_format *f, const uint8_t *block, float *out) {
    f->dequantize(block, out);
}

/* Planted: minima added. */
static void minima_added(const struct block_format *f, const uint8_t *block, float *out) {
    struct block_integers b;
    f->unpack(block, &b);
    for (unsigned e = 0; e < VALUES; e++) {
        unsigned s = e / (unsigned)f->sub_values;
        float product = b.d * (float)(b.scale[s] * b.code[e]);
        out[e] = product + b.dmin * (float)b.min[s];
    }
}

/* Planted: d * scale rounded to binary16, as half-precision kernels have it. */
static void half_precision(const struct block_format *f, const uint8_t *block, float *out) {
    struct block_integers b;
    f->unpack(block, &b);
    for (unsigned e = 0; e < VALUES; e++) {
        unsigned s = e / (unsigned)f->sub_values;
        float product = half_to_float(half_from_float(b.d * (float)b.scale[s])) * (float)b.code[e];
        out[e] = product - b.dmin * (float)b.min[s];
    }
}

Test(kquants, values_against_exact_integers) {
    for (int i = 0; i < FORMATS; i++) {
        int wrong = wrong_values(i, right_values);
        cr_assert(wrong == 0, "%s: %d values differ", formats[i].name, wrong);
        cr_assert(wrong_values(i, half_precision) > 0, "%s: planted: d * scale in binary16, unseen", formats[i].name);
        if (format_named(formats[i].name)->min_most)
            cr_assert(wrong_values(i, minima_added) > 0, "%s: planted: minima added, unseen", formats[i].name);
    }
}

/* ---- faults of decoders, planted ---- */

/* The packed 6-bit scales of q4_K and q5_K read as if laid out in order. */
static void scales_in_order(const struct block_format *f, const uint8_t *block, struct block_integers *out) {
    f->unpack(block, out);
    for (unsigned s = 0; s < 8; s++) {
        out->scale[s] = (int16_t)independent_bits(block + 4, 6 * s, 6);
        out->min[s] = (int16_t)independent_bits(block + 4, 48 + 6 * s, 6);
    }
}
/* The upper bits of their minima taken from where those of the scales are. */
static void min_top_of_scale(const struct block_format *f, const uint8_t *block, struct block_integers *out) {
    f->unpack(block, out);
    for (unsigned s = 4; s < 8; s++)
        out->min[s] = (int16_t)((out->min[s] & 15) | block[4 + s - 4] >> 6 << 4);
}
/* The 6-bit scales of q3_K read as 4-bit ones. */
static void scales_of_four_bits(const struct block_format *f, const uint8_t *block, struct block_integers *out) {
    f->unpack(block, out);
    for (unsigned s = 0; s < 16; s++)
        out->scale[s] = (int16_t)((int)independent_bits(block + 96, 4 * s, 4) - 8);
}
/* Nibbles of scale and minimum of q2_K changed over. */
static void nibbles_swapped(const struct block_format *f, const uint8_t *block, struct block_integers *out) {
    f->unpack(block, out);
    for (unsigned s = 0; s < 16; s++) {
        out->scale[s] = block[s] >> 4;
        out->min[s] = block[s] & 15;
    }
}
/* Scales of q6_K read without their sign. */
static void scales_unsigned(const struct block_format *f, const uint8_t *block, struct block_integers *out) {
    f->unpack(block, out);
    for (unsigned s = 0; s < 16; s++)
        out->scale[s] = block[192 + s];
}
/* The scale of the sub-block before, or one scale for two sub-blocks of 16. */
static void next_scale(const struct block_format *f, const uint8_t *block, struct block_integers *out) {
    struct block_integers b;
    f->unpack(block, &b);
    *out = b;
    for (size_t s = 1; s < VALUES / f->sub_values; s++)
        out->scale[s] = b.scale[s - 1];
}
static void scale_for_two(const struct block_format *f, const uint8_t *block, struct block_integers *out) {
    f->unpack(block, out);
    for (size_t s = 1; s < VALUES / f->sub_values; s += 2)
        out->scale[s] = out->scale[s - 1];
}
/* The third bit of q3_K the wrong way round; of q5_K that of the neighbouring run, and 1 where there is none. */
static void third_bit_inverted(const struct block_format *f, const uint8_t *block, struct block_integers *out) {
    f->unpack(block, out);
    for (unsigned e = 0; e < VALUES; e++)
        out->code[e] = (int8_t)(out->code[e] < 0 ? out->code[e] + 4 : out->code[e] - 4);
}
static void fifth_bit_of_neighbour(const struct block_format *f, const uint8_t *block, struct block_integers *out) {
    f->unpack(block, out);
    for (unsigned e = 0; e < VALUES; e++)
        out->code[e] = (int8_t)((out->code[e] & 15) | (block[16 + e % 32] >> ((e / 32) ^ 1) & 1) << 4);
}
static void absent_bit_adds_one(const struct block_format *f, const uint8_t *block, struct block_integers *out) {
    f->unpack(block, out);
    for (unsigned e = 0; e < VALUES; e++)
        out->code[e] = (int8_t)(out->code[e] < 16 ? out->code[e] + 1 : out->code[e]);
}
/* The upper two bits of q6_K from the run that the nibble's shift gives. */
static void high_bits_by_nibble(const struct block_format *f, const uint8_t *block, struct block_integers *out) {
    f->unpack(block, out);
    for (unsigned e = 0; e < VALUES; e++) {
        unsigned high = block[128 + 32 * (e / 128) + e % 32] >> 4 * (e / 64 % 2) & 3;
        out->code[e] = (int8_t)((int)(((unsigned)(out->code[e] + 32) & 15) | high << 4) - 32);
    }
}
/* Codes of two bits read four to a byte in a row. */
static void codes_in_a_row(const struct block_format *f, const uint8_t *block, struct block_integers *out) {
    f->unpack(block, out);
    for (unsigned e = 0; e < VALUES; e++)
        out->code[e] = (int8_t)independent_bits(block + 16, 2 * e, 2);
}

Test(kquants, planted_faults_show_where_they_are) {
    enum { SCALES, MINS, CODES };
    static const struct {
        const char *format, *fault;
        unpacker *unpack;
        int where;
    } row[] = {
        {"q4_K", "scales in order", scales_in_order, SCALES},
        {"q4_K", "scales in order", scales_in_order, MINS},
        {"q5_K", "scales in order", scales_in_order, SCALES},
        {"q5_K", "scales in order", scales_in_order, MINS},
        {"q5_K", "upper bits of the minimum from the scale's byte", min_top_of_scale, MINS},
        {"q3_K", "scales of four bits", scales_of_four_bits, SCALES},
        {"q2_K", "nibbles of scale and minimum swapped", nibbles_swapped, SCALES},
        {"q6_K", "scales without a sign", scales_unsigned, SCALES},
        {"q2_K", "scale of the sub-block before", next_scale, SCALES},
        {"q3_K", "scale of the sub-block before", next_scale, SCALES},
        {"q5_K", "scale of the sub-block before", next_scale, SCALES},
        {"q6_K", "scale of the sub-block before", next_scale, SCALES},
        {"q2_K", "one scale for 32 values", scale_for_two, SCALES},
        {"q3_K", "one scale for 32 values", scale_for_two, SCALES},
        {"q6_K", "one scale for 32 values", scale_for_two, SCALES},
        {"q3_K", "third bit inverted", third_bit_inverted, CODES},
        {"q5_K", "fifth bit of the neighbouring run", fifth_bit_of_neighbour, CODES},
        {"q5_K", "an absent fifth bit adds 1", absent_bit_adds_one, CODES},
        {"q6_K", "upper bits by the nibble's shift", high_bits_by_nibble, CODES},
        {"q2_K", "codes in a row", codes_in_a_row, CODES},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        int format = 0;
        while (strcmp(formats[format].name, row[i].format))
            format++;
        struct wrong w = judge(format, row[i].unpack);
        int seen = row[i].where == SCALES ? w.scales : row[i].where == MINS ? w.mins : w.codes;
        cr_assert(seen > 0, "%s: planted: %s, unseen", row[i].format, row[i].fault);
        cr_assert(w.values > 0, "%s: planted: %s, unseen in the values", row[i].format, row[i].fault);
        cr_assert(row[i].where == CODES || !w.codes, "%s: planted: %s, also seen in codes", row[i].format,
                  row[i].fault);
    }
}

/* ---- packing ---- */

Test(kquants, packing_is_the_inverse) {
    for (int i = 0; i < FORMATS; i++) {
        const struct block_format *f = format_named(formats[i].name);
        int planted_seen = 0;
        for (int number = 0; number < block_count(f); number++) {
            uint8_t block[MOST_BYTES], back[MOST_BYTES];
            struct block_integers b, again;
            block_number(f, number, block);
            f->unpack(block, &b);
            memset(back, 0xa5, sizeof back); /* nothing of the old bytes may shine through */
            f->pack(&b, back);
            cr_assert(!memcmp(back, block, f->block_bytes), "%s: block %d came back changed", f->name, number);
            cr_assert(back[f->block_bytes] == 0xa5, "%s: written past the block", f->name);
            f->unpack(back, &again);
            cr_assert(!memcmp(&again, &b, sizeof b), "%s: integers of block %d came back changed", f->name, number);
            b.code[number % VALUES] ^= 1; /* planted: one code is another */
            f->pack(&b, back);
            planted_seen += memcmp(back, block, f->block_bytes) != 0;
        }
        cr_assert(planted_seen == block_count(f), "%s: planted: a changed code, unseen", f->name);
    }
}

/* Every pattern of bytes decodes; the sanitizers of the test build watch. */
Test(kquants, hostile_scales) {
    static const uint16_t wild[] = {0x7c00, 0xfc00, 0x7e00, 0xffff};
    for (int i = 0; i < FORMATS; i++) {
        const struct block_format *f = format_named(formats[i].name);
        for (int number = 0; number < 200; number++) {
            uint8_t block[MOST_BYTES];
            struct block_integers b;
            float y[VALUES];
            block_number(f, block_count(f) - 1 - number, block);
            set_half(block, f->d, wild[number % 4]);
            set_half(block, f->dmin, wild[number / 4 % 4]);
            f->unpack(block, &b);
            f->dequantize(block, y);
            cr_assert(float_bits(b.d) == half_to_float_bits(wild[number % 4]), "%s: d of block %d", f->name, number);
        }
    }
}
