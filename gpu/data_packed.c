/* exact   weights: d, dmin are one or two units of 2^-5, |scale * code| <= 63 and min <= 63 (without minima 126), so
 *         |term| <= 252 units; activations: d 2^-3 or 2^-2, q -2 .. 2, |d q| <= 4 units. See DATA_EXACT_DEPTH.
 * coded   as data_coded.c has it for q4_K and pad40: d and dmin tell the row and the block, scales and minima differ
 *         between sub-blocks and rows, codes between neighbours in k, row, sub-block and block.
 * adv     as data_adv.c: a row keeps to one group of scales; sub-block scales and minima run through all their values;
 *         codes are runs of the least and the largest, alternating, in halves, or random. d stays
 *         where sums in binary16 do not overflow.
 * rand    all integers random, d and dmin (0.25 + u) * 2^-8; activations: normal deviates through the quantiser.
 *
 * A format whose d is a bare power of two takes the power at or below the one above; in class adv 2^-26 .. 2^11, all of
 * them in 38 blocks, of which the largest products still fit binary16. */
#include "data_packed.h"
#include "../ref/half.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int code_at(const struct block_format *f, size_t index) {
    return f->code_list ? f->code_list[index] : f->code_least + (int)index;
}

static size_t scale_count(const struct block_format *f) {
    return (size_t)(f->scale_most - f->scale_least) + 1;
}

/* Fits d into the format's field; only a power of two needs that. */
static float fit_d(const struct block_format *f, float d) {
    if (f->d.bytes != 1)
        return d;
    int exponent;
    frexpf(d == 0 ? 0x1p-24f : fabsf(d), &exponent);
    return ldexpf(1, exponent - 1);
}

/* Minima that differ between sub-blocks; one that is fixed at 1 has its whole size in dmin. */
static bool has_minima(const struct block_format *f) {
    return f->min_most > 1;
}

/* ---- exact ---- */

static void exact_block(const struct block_format *f, struct random_stream *s, struct block_integers *b) {
    const int most = f->min_most ? 63 : 126;
    b->d = fit_d(f, (float)(1 + random_below(s, 2)) * 0x1p-5f);
    b->dmin = has_minima(f) ? (float)(1 + random_below(s, 2)) * 0x1p-5f
              : f->min_most ? (float)((int)random_below(s, 253) - 126) * 0x1p-5f
                            : 0;
    for (size_t sub = 0; sub < f->block_values / f->sub_values; sub++) {
        /* Half of the sub-blocks have a scale so small that (nearly) all codes fit. */
        int scale = f->scale_least + (int)random_below(s, (uint32_t)scale_count(f));
        if (scale_count(f) > 1 && random_below(s, 2))
            scale = 1 + (int)random_below(s, 4);
        b->scale[sub] = (int16_t)scale;
        b->min[sub] = (int16_t)(has_minima(f) ? random_below(s, (uint32_t)(f->min_most < 63 ? f->min_most : 63) + 1)
                                              : (uint32_t)f->min_most);
        for (size_t k = 0; k < f->sub_values; k++) {
            int code = code_at(f, random_below(s, (uint32_t)f->code_count));
            while (abs(scale * code) > most) /* ends: every format has a code of magnitude 0 or 1 */
                code = f->code_list ? code_at(f, random_below(s, (uint32_t)f->code_count)) : code / 2;
            b->code[sub * f->sub_values + k] = (int8_t)code;
        }
    }
}

/* ---- coded ---- */

static float half_of(size_t mantissa, size_t exponent) {
    return half_to_float((uint16_t)(exponent << 10 | mantissa));
}

static void coded_block(const struct block_format *f, size_t salt, size_t r, size_t block, struct block_integers *b) {
    const size_t count = (size_t)f->code_count, scales = scale_count(f);
    b->d =
        f->d.bytes == 1 ? ldexpf(1, -8 + (int)((r + 3 * block) % 7)) : half_of(r % 1024, 8 + (block + block / 32) % 4);
    b->dmin = f->min_most ? half_of(block % 32 * 32 + r % 32, 8 + r / 1024 % 4) : 0;
    for (size_t sub = 0; sub < f->block_values / f->sub_values; sub++) {
        size_t scale = (5 * sub + 11 * r + 3 * block) % scales;
        if (scales > 1 && f->scale_least + (int)scale == 0)
            scale = scales - 1; /* a scale of 0 would hide its sub-block */
        b->scale[sub] = (int16_t)(f->scale_least + (int)scale);
        b->min[sub] =
            (int16_t)(has_minima(f) ? 1 + (3 * sub + 7 * r + 5 * block) % (size_t)f->min_most : (size_t)f->min_most);
        for (size_t k = 0; k < f->sub_values; k++)
            b->code[sub * f->sub_values + k] =
                (int8_t)code_at(f, (5 * k + 3 * (k / 16) + 3 * r + 5 * (r / 16) + 7 * sub + 9 * block + salt) % count);
    }
}

/* ---- adv ---- */

enum { GROUPS = 4, PAIRS = 5, CODE_STYLES = 5 };

/* d and dmin of weights as binary16: huge, tiny, zero and ordinary ones; activations take d of the same table. */
static const uint16_t pairs[GROUPS][PAIRS][2] = {
    {{0x4bff, 0x4bff}, {0x4bff, 0x0001}, {0x0001, 0x4bff}, {0xcbff, 0x4bff}, {0x4bff, 0xcbff}},
    {{0x0001, 0x0001}, {0x03ff, 0x0400}, {0x0400, 0x03ff}, {0x8001, 0x03ff}, {0x03ff, 0x8400}},
    {{0x0000, 0x2d55}, {0x2caa, 0x0000}, {0x0000, 0x0000}, {0x8000, 0x2c01}, {0x2fff, 0x8000}},
    {{0x2c00, 0x2801}, {0xa8cd, 0x2a66}, {0x2e66, 0xabff}, {0xafff, 0xa955}, {0x2955, 0x2fff}},
};

/* An index of 0 .. count - 1. */
static size_t style_index(struct random_stream *s, size_t style, size_t k, size_t count) {
    switch (style) {
    case 0:
        return 0;
    case 1:
        return count - 1;
    case 2:
        return k % 2 ? count - 1 : 0;
    case 3:
        return k / 16 % 2 ? count - 1 : 0;
    default:
        return random_below(s, (uint32_t)count);
    }
}

static void adv_block(const struct block_format *f, struct random_stream *s, size_t salt, size_t row, size_t block,
                      size_t blocks, struct block_integers *b) {
    const uint16_t *pair = pairs[(row + salt) % GROUPS][(block + row / GROUPS) % PAIRS];
    const size_t subs = f->block_values / f->sub_values;
    b->d = f->d.bytes == 1 ? ldexpf(1, (int)((5 * (row * blocks + block) + salt) % 38) - 26) : half_to_float(pair[0]);
    b->dmin = f->min_most ? half_to_float(pair[1]) : 0;
    for (size_t sub = 0; sub < subs; sub++) {
        const size_t i = (row * blocks + block) * subs + sub;
        b->scale[sub] = (int16_t)(f->scale_least + (int)(i % scale_count(f)));
        b->min[sub] = (int16_t)(has_minima(f) ? (37 * i + 63) % ((size_t)f->min_most + 1) : (size_t)f->min_most);
        for (size_t k = 0; k < f->sub_values; k++)
            b->code[sub * f->sub_values + k] =
                (int8_t)code_at(f, style_index(s, (row + block + sub) % CODE_STYLES, k, (size_t)f->code_count));
    }
}

/* ---- rand ---- */

static float sane_scale(struct random_stream *s) {
    return half_to_float(half_from_float((0.25f + random_unit(s)) * 0x1p-8f));
}

static void rand_block(const struct block_format *f, struct random_stream *s, struct block_integers *b) {
    b->d = fit_d(f, sane_scale(s));
    b->dmin = f->min_most ? sane_scale(s) : 0;
    for (size_t sub = 0; sub < f->block_values / f->sub_values; sub++) {
        b->scale[sub] = (int16_t)(f->scale_least + (int)random_below(s, (uint32_t)scale_count(f)));
        b->min[sub] = (int16_t)(has_minima(f) ? random_below(s, (uint32_t)f->min_most + 1) : (uint32_t)f->min_most);
        for (size_t k = 0; k < f->sub_values; k++)
            b->code[sub * f->sub_values + k] = (int8_t)code_at(f, random_below(s, (uint32_t)f->code_count));
    }
}

/* ---- the whole ---- */

void data_packed_weight(enum data_class c, const struct block_format *f, struct random_stream *s, size_t rows,
                        size_t depth, void *bytes) {
    uint8_t *out = bytes;
    const size_t salt = random_below(s, 16), blocks = depth / f->block_values;
    for (size_t row = 0; row < rows; row++)
        for (size_t block = 0; block < blocks; block++, out += f->block_bytes) {
            struct block_integers b = {0};
            if (c == DATA_EXACT)
                exact_block(f, s, &b);
            else if (c == DATA_CODED)
                coded_block(f, salt, row, block, &b);
            else if (c == DATA_ADV)
                adv_block(f, s, salt, row, block, blocks, &b);
            else
                rand_block(f, s, &b);
            f->pack(&b, out);
        }
}

/* A style more than codes have: 127 but for one, an odd sum, which binary16 does not hold past 2048. */
static int adv_quant(struct random_stream *s, size_t style, size_t k) {
    return style == CODE_STYLES ? (k == 31 ? 126 : 127) : (int)style_index(s, style, k, 256) - 128;
}

/* Quants and scales of one block of an activation; chunk: the first of its groups of 32. */
static void activation_block(enum data_class c, struct random_stream *s, size_t salt, size_t token, size_t chunk,
                             size_t values, int8_t *q, float *d) {
    for (size_t i = 0; i < values / 32; i++, chunk++, q += 32) {
        const uint16_t pair = pairs[(token + salt) % GROUPS][(chunk + token / GROUPS) % PAIRS][0];
        d[i] = c == DATA_EXACT   ? (random_below(s, 2) ? 0x1p-2f : 0x1p-3f)
               : c == DATA_CODED ? half_of(token % 1024, 8 + (chunk + chunk / 224) % 4)
                                 : half_to_float(pair);
        for (size_t k = 0; k < 32; k++)
            q[k] =
                (int8_t)(c == DATA_EXACT   ? (int)random_below(s, 5) - 2
                         : c == DATA_CODED ? 7 * (int)((11 * k + 3 * token + chunk) % 32) + (int)(chunk / 32 % 7) - 111
                                           : adv_quant(s, (token + chunk) % (CODE_STYLES + 1), k));
    }
}

void data_packed_activation(enum data_class c, const struct activation_format *f, struct random_stream *s, size_t nt,
                            size_t depth, void *bytes) {
    size_t size;
    if (activation_bytes(f, nt, depth, &size)) /* it is: the caller made room for it */
        memset(bytes, 0, size);
    const size_t salt = random_below(s, GROUPS);
    for (size_t t = 0; t < nt; t++)
        for (size_t b = 0; b < depth / f->block_values; b++) {
            uint8_t block[ACTIVATION_MOST_BYTES];
            if (c == DATA_RAND) {
                float x[ACTIVATION_MOST_VALUES];
                for (size_t k = 0; k < f->block_values; k++)
                    x[k] = random_normal(s);
                f->quantize(x, block);
            } else {
                int8_t q[ACTIVATION_MOST_VALUES];
                float d[ACTIVATION_MOST_VALUES / 32];
                activation_block(c, s, salt, t, b * (f->block_values / 32), f->block_values, q, d);
                f->pack(q, d, block);
            }
            activation_put(f, bytes, nt, depth, t, b, block);
        }
}
