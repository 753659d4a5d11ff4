/* The formats of 32 values a scale (q4_0, q4_1, q5_0, q5_1, q8_0, iq4_nl, iq4_xs, mxfp4) and those of one (f32, f16,
 * bf16), against second implementations in exact integers. */
#include "../ref/format.h"
#include "../ref/half.h"
#include "../ref/random.h"
#include "independent/independent.h"
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 136, MOST_VALUES = 256 };

static const char *const packed[] = {"q4_0", "q4_1", "q5_0", "q5_1", "q8_0", "iq4_nl", "iq4_xs", "mxfp4"};
enum { PACKED = sizeof packed / sizeof *packed };

Test(formats32, table) {
    static const struct {
        const char *name;
        uint32_t type;
        size_t values, bytes, codes_at;
    } row[] = {
        {"q4_0", 2, 32, 18, 2},    {"q4_1", 3, 32, 20, 4},      {"q5_0", 6, 32, 22, 2}, {"q5_1", 7, 32, 24, 4},
        {"iq4_nl", 20, 32, 18, 2}, {"iq4_xs", 23, 256, 136, 8}, {"bf16", 30, 1, 2, 0},  {"mxfp4", 39, 32, 17, 1},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const struct block_format *f = format_named(row[i].name);
        cr_assert(f && f == format_of_type(row[i].type), "%s: name and number disagree", row[i].name);
        cr_assert(f->block_values == row[i].values && f->block_bytes == row[i].bytes, "%s: block size", row[i].name);
        cr_assert(f->codes_at == row[i].codes_at, "%s: codes at %zu", row[i].name, f->codes_at);
        cr_assert(!f->sub_values || f->codes_at + f->codes_bytes == f->block_bytes, "%s: codes' end", row[i].name);
        cr_assert(f->quantize && f->dequantize && independent_decoder_of(f->name), "%s: both ways", row[i].name);
    }
}

/* ---- blocks ---- */

/* Turns a binary16 that is not finite into one that is. */
static void make_finite(uint8_t *block, struct block_field field) {
    if (field.bytes == 2 && (block[field.at + 1] & 0x7c) == 0x7c)
        block[field.at + 1] ^= 0x40;
}

/* Block number i of a format: all bytes random, or one of the shapes that find mistakes. Its scales are finite. */
static void make_block(struct random_stream *s, const struct block_format *f, int i, uint8_t *block) {
    for (size_t b = 0; b < f->block_bytes; b++)
        block[b] = random_u32(s) & 255;
    if (i % 16 == 1) /* all codes the same nibble: least, most, and all between */
        memset(block + f->codes_at, 0x11 * (i / 16 % 16), f->block_bytes - f->codes_at);
    if (i % 16 == 2) /* one bit of the block's codes */
        for (size_t b = f->codes_at; b < f->block_bytes; b++)
            block[b] = b - f->codes_at == (size_t)i / 16 / 8 % (f->block_bytes - f->codes_at) ? 1u << i / 16 % 8 : 0;
    if (i % 16 == 3 && f->d.bytes == 2) /* subnormal or zero scale, either sign */
        block[f->d.at + 1] &= 0x83;
    if (i % 32 == 3 && f->d.bytes == 2)
        block[f->d.at] = block[f->d.at + 1] & 3 ? block[f->d.at] : 0;
    if (i % 16 == 4 && f->dmin.bytes) { /* d and m that nearly cancel, or zeros of all signs */
        block[f->dmin.at] = block[f->d.at] ^ (i / 16 & 3);
        block[f->dmin.at + 1] = block[f->d.at + 1] ^ 0x8c;
    }
    if (i % 16 == 5 && f->d.bytes == 2) {
        block[f->d.at] = block[f->dmin.at] = 0;
        block[f->d.at + 1] = i & 16 ? 0x80 : 0;
        block[f->dmin.at + 1] = i & 32 ? 0x80 : 0;
    }
    if (i % 16 == 6 && f->d.bytes == 1)
        block[f->d.at] = (uint8_t)(i / 16);
    make_finite(block, f->d);
    make_finite(block, f->dmin);
}

/* How many values of a block differ from what the second implementation makes of it. */
static int differences(const struct block_format *f, const uint8_t *block, const float *out) {
    uint32_t want[MOST_VALUES];
    int wrong = 0;
    independent_decoder_of(f->name)(block, want);
    for (size_t e = 0; e < f->block_values; e++)
        wrong += float_bits(out[e]) != want[e];
    return wrong;
}

/* ---- values ---- */

static void swap_halves(uint8_t *block, float *out) { /* the high half of a byte taken for the first */
    (void)block;
    for (int k = 0; k < 16; k++) {
        float keep = out[k];
        out[k] = out[k + 16];
        out[k + 16] = keep;
    }
}
static void take_neighbours(uint8_t *block, float *out) { /* values 2j and 2j + 1 in byte j */
    float in[32];
    (void)block;
    memcpy(in, out, sizeof in);
    for (int k = 0; k < 32; k++)
        out[k] = in[k / 2 + k % 2 * 16];
}
static void reverse_plane(uint8_t *block, float *out) { /* the fifth bits of q5_0 read as big-endian */
    uint8_t b[24];
    memcpy(b, block, 22);
    for (int i = 0; i < 4; i++)
        b[2 + i] = block[5 - i];
    format_named("q5_0")->dequantize(b, out);
}
static void reverse_plane_1(uint8_t *block, float *out) {
    uint8_t b[24];
    memcpy(b, block, 24);
    for (int i = 0; i < 4; i++)
        b[4 + i] = block[7 - i];
    format_named("q5_1")->dequantize(b, out);
}
static void no_plane(uint8_t *block, float *out) {
    uint8_t b[24];
    memcpy(b, block, 22);
    memset(b + 2, 0, 4);
    format_named("q5_0")->dequantize(b, out);
}
static void offset_by_one(uint8_t *block, float *out) { /* n - 7, n - 15 */
    float d = half_to_float((uint16_t)(block[0] | block[1] << 8));
    for (int k = 0; k < 32; k++)
        out[k] += d;
}
static void subtract_minimum(uint8_t *block, float *out) { /* d * n - m, as the K formats have it */
    float m = half_to_float((uint16_t)(block[2] | block[3] << 8));
    for (int k = 0; k < 32; k++)
        out[k] = out[k] - m - m;
}
static void swap_scales(uint8_t *block, float *out) { /* the scale of odd sub-blocks in the low half */
    uint8_t b[136];
    memcpy(b, block, 136);
    for (int i = 4; i < 8; i++)
        b[i] = (uint8_t)(block[i] >> 4 | block[i] << 4);
    format_named("iq4_xs")->dequantize(b, out);
}
static void swap_high_scales(uint8_t *block, float *out) { /* the 16 bits of upper scale bits read as big-endian */
    uint8_t b[136];
    memcpy(b, block, 136);
    b[2] = block[3];
    b[3] = block[2];
    format_named("iq4_xs")->dequantize(b, out);
}
static void whole_scale(uint8_t *block, float *out) { /* 2^(e - 127) for codes that are doubled already */
    (void)block;
    for (int k = 0; k < 32; k++)
        out[k] *= 2;
}
static void minus_zero(uint8_t *block, float *out) { /* nibble 8 as the standard has it */
    for (int k = 0; k < 16; k++)
        out[k] = (block[1 + k] & 15) == 8 ? -0.0f : out[k];
}
static void flush_scale(uint8_t *block, float *out) {
    for (int k = 0; k < 32; k++)
        out[k] = block[0] < 2 ? 0 : out[k];
}
static void nan_scale(uint8_t *block, float *out) {
    for (int k = 0; k < 32; k++)
        out[k] = block[0] == 255 ? NAN : out[k];
}

Test(formats32, values_against_exact_integers) {
    static const struct {
        const char *format, *what;
        void (*spoil)(uint8_t *block, float *out);
    } plants[] = {
        {"q4_0", "halves of a byte swapped", swap_halves},
        {"q4_0", "neighbours in a byte", take_neighbours},
        {"q4_0", "offset 7", offset_by_one},
        {"q4_1", "halves of a byte swapped", swap_halves},
        {"q4_1", "minimum subtracted", subtract_minimum},
        {"q5_0", "fifth bits in big-endian order", reverse_plane},
        {"q5_0", "no fifth bits", no_plane},
        {"q5_0", "offset 15", offset_by_one},
        {"q5_0", "neighbours in a byte", take_neighbours},
        {"q5_1", "fifth bits in big-endian order", reverse_plane_1},
        {"q5_1", "halves of a byte swapped", swap_halves},
        {"iq4_nl", "halves of a byte swapped", swap_halves},
        {"iq4_nl", "neighbours in a byte", take_neighbours},
        {"iq4_xs", "scales of a byte swapped", swap_scales},
        {"iq4_xs", "upper scale bits in big-endian order", swap_high_scales},
        {"mxfp4", "scale 2^(e - 127)", whole_scale},
        {"mxfp4", "nibble 8 as -0", minus_zero},
        {"mxfp4", "subnormal scales flushed", flush_scale},
        {"mxfp4", "255 as NaN", nan_scale},
        {"mxfp4", "halves of a byte swapped", swap_halves},
    };
    enum { PLANTS = sizeof plants / sizeof *plants, BLOCKS = 4096 };
    int seen[PLANTS] = {0};
    for (size_t p = 0; p < PACKED; p++) {
        const struct block_format *f = format_named(packed[p]);
        struct random_stream s = random_open(random_key("formats32/values"), (uint32_t)p);
        for (int i = 0; i < BLOCKS; i++) {
            uint8_t block[MOST_BYTES + 1];
            float out[MOST_VALUES];
            make_block(&s, f, i, block + 1); /* at an odd address */
            f->dequantize(block + 1, out);
            int wrong = differences(f, block + 1, out);
            cr_assert(wrong == 0, "%s block %d: %d values differ", f->name, i, wrong);
            for (int k = 0; k < PLANTS; k++)
                if (!strcmp(plants[k].format, f->name)) {
                    float spoilt[MOST_VALUES];
                    memcpy(spoilt, out, sizeof spoilt);
                    plants[k].spoil(block + 1, spoilt);
                    seen[k] += differences(f, block + 1, spoilt);
                }
        }
    }
    for (int k = 0; k < PLANTS; k++)
        cr_assert(seen[k] > 0, "planted: %s: %s went unseen", plants[k].format, plants[k].what);
}

Test(formats32, infinite_and_nan_scales_do_no_harm) {
    struct random_stream s = random_open(random_key("formats32/hostile"), 0);
    for (size_t p = 0; p < PACKED; p++) {
        const struct block_format *f = format_named(packed[p]);
        for (int i = 0; i < 1000; i++) {
            uint8_t block[MOST_BYTES];
            float out[MOST_VALUES];
            struct block_integers u;
            for (size_t b = 0; b < f->block_bytes; b++)
                block[b] = i == 0 ? 0xff : random_u32(&s) & 255;
            if (f->d.bytes == 2)
                block[f->d.at + 1] |= 0x7c;
            f->dequantize(block, out);
            f->unpack(block, &u);
            for (size_t e = 0; e < f->block_values; e++)
                cr_assert(f->d.bytes == 1 || !isfinite(out[e]), "%s: value %zu of an unbounded scale is %g", f->name, e,
                          (double)out[e]);
        }
    }
}

Test(formats32, one_value_a_block) {
    static const char *const names[] = {"f32", "f16", "bf16"};
    static const unsigned step[] = {0x10001, 1, 1};
    for (size_t i = 0; i < 3; i++) {
        const struct block_format *f = format_named(names[i]);
        uint64_t end = (uint64_t)1 << 8 * f->block_bytes;
        for (uint64_t bits = 0; bits < end; bits += step[i]) {
            uint32_t block = (uint32_t)bits, want;
            float out;
            f->dequantize(&block, &out);
            independent_decoder_of(f->name)((const uint8_t *)&block, &want);
            if (isfinite(out))
                cr_assert(float_bits(out) == want, "%s 0x%x: 0x%08x, want 0x%08x", f->name, block, float_bits(out),
                          want);
        }
    }
}

/* ---- the view as integers ---- */

static bool is_code(const struct block_format *f, int code) {
    if (!f->code_list)
        return code >= f->code_least && code < f->code_least + f->code_count;
    for (int i = 0; i < f->code_count; i++)
        if (f->code_list[i] == code)
            return true;
    return false;
}

/* Bits of d * scale * code - dmin * min, all of it exact but the end; d and dmin finite. A zero is +0. */
static uint32_t exact_value(const struct block_integers *u, size_t s, size_t k) {
    struct parts d = independent_parts(&binary32, float_bits(u->d));
    struct parts m = independent_parts(&binary32, float_bits(u->dmin));
    s128 value = (s128)d.mantissa * u->scale[s] * u->code[k], min = (s128)m.mantissa * u->min[s];
    value = d.negative ? -value : value;
    min = m.negative ? -min : min;
    int exponent = d.mantissa ? d.exponent : m.exponent;
    if (min && value) { /* both of a binary16's range, no further apart than 64 */
        exponent = d.exponent < m.exponent ? d.exponent : m.exponent;
        for (int e = d.exponent; e > exponent; e--)
            value *= 2;
        for (int e = m.exponent; e > exponent; e--)
            min *= 2;
    } else if (min) {
        exponent = m.exponent;
    }
    s128 sum = value - min;
    return independent_round(&binary32, sum < 0, (u128)(sum < 0 ? -sum : sum), exponent, false);
}

Test(formats32, integers_and_back) {
    int spoilt_seen = 0;
    for (size_t p = 0; p < PACKED; p++) {
        const struct block_format *f = format_named(packed[p]);
        struct random_stream s = random_open(random_key("formats32/integers"), (uint32_t)p);
        size_t subs = f->block_values / f->sub_values;
        for (int i = 0; i < 3000; i++) {
            uint8_t block[MOST_BYTES], again[MOST_BYTES];
            float out[MOST_VALUES];
            struct block_integers u, v;
            make_block(&s, f, i, block);
            if (!strcmp(f->name, "mxfp4")) /* nibble 8 is a second 0, which has no way back */
                for (int b = 1; b < 17; b++) {
                    block[b] = (block[b] & 15) == 8 ? block[b] & 0xf0 : block[b];
                    block[b] = block[b] >> 4 == 8 ? block[b] & 15 : block[b];
                }
            f->unpack(block, &u);
            memset(again, 0xa5, sizeof again);
            f->pack(&u, again);
            cr_assert(!memcmp(block, again, f->block_bytes), "%s block %d does not come back", f->name, i);
            f->dequantize(block, out);
            for (size_t k = 0; k < f->block_values; k++) {
                size_t sub = k / f->sub_values;
                uint32_t want = exact_value(&u, sub, k), got = float_bits(out[k]);
                got = got << 1 ? got : 0;
                cr_assert(got == want, "%s block %d value %zu: 0x%08x, as integers 0x%08x", f->name, i, k, got, want);
                cr_assert(is_code(f, u.code[k]), "%s: code %d", f->name, u.code[k]);
                cr_assert(u.scale[sub] >= f->scale_least && u.scale[sub] <= f->scale_most, "%s: scale %d", f->name,
                          u.scale[sub]);
                cr_assert(u.min[sub] == f->min_most, "%s: minimum %d", f->name, u.min[sub]);
                u.dmin = -u.dmin; /* planted: the minimum's sign */
                spoilt_seen += exact_value(&u, sub, k) != want;
                u.dmin = -u.dmin;
            }
            /* and from the other side: any integers of the ranges */
            memset(&v, 0, sizeof v);
            v.d = u.d;
            v.dmin = u.dmin;
            for (size_t sub = 0; sub < subs; sub++) {
                v.scale[sub] =
                    (int16_t)(f->scale_least + (int)random_below(&s, (uint32_t)(f->scale_most - f->scale_least + 1)));
                v.min[sub] = (int16_t)f->min_most;
            }
            for (size_t k = 0; k < f->block_values; k++) {
                int pick = (int)random_below(&s, (uint32_t)f->code_count);
                v.code[k] = f->code_list ? f->code_list[pick] : (int8_t)(f->code_least + pick);
            }
            f->pack(&v, again);
            f->unpack(again, &u);
            cr_assert(!memcmp(u.code, v.code, f->block_values) && !memcmp(u.scale, v.scale, sizeof u.scale) &&
                          !memcmp(u.min, v.min, sizeof u.min) && float_bits(u.d) == float_bits(v.d) &&
                          float_bits(u.dmin) == float_bits(v.dmin),
                      "%s block %d: other integers after packing", f->name, i);
        }
        for (int i = 1; f->code_list && i < f->code_count; i++)
            cr_assert(f->code_list[i - 1] < f->code_list[i], "%s: codes must ascend", f->name);
    }
    cr_assert(spoilt_seen > 0, "planted: the minimum with the other sign went unseen");
}
