/* Class rand: numbers of the size that a layer has.
 *
 *   q4_K   nibbles, scales and minima: all bits random; d, dmin = rn16((0.25 + u) * 2^-8), u uniform in [0, 1). Never
 *          random bits in d or dmin: they would be NaN and infinite at times, and equal NaNs prove nothing.
 *   pad40  normal deviates through the format's quantiser
 *   f32    normal deviates */
#include "../ref/half.h"
#include "../ref/pad40.h"
#include "../ref/q4_k.h"
#include "data.h"
#include "data_f16.h"
#include <string.h>

static uint16_t sane_scale(struct random_stream *s) {
    return half_from_float((0.25f + random_unit(s)) * 0x1p-8f);
}

static void random_bytes(struct random_stream *s, uint8_t *out, size_t words) {
    for (size_t i = 0; i < words; i++) {
        uint32_t word = random_u32(s);
        memcpy(out + 4 * i, &word, 4);
    }
}

static void fill_q4_k(struct random_stream *s, size_t rows, size_t depth, void *bytes) {
    struct block_q4_k *b = bytes;
    for (size_t i = 0; i < rows * (depth / Q4_K_VALUES); i++, b++) {
        b->d = sane_scale(s);
        b->dmin = sane_scale(s);
        random_bytes(s, b->scales, sizeof b->scales / 4);
        random_bytes(s, b->qs, sizeof b->qs / 4);
    }
}

static void fill_pad40(struct random_stream *s, size_t rows, size_t depth, void *bytes) {
    struct block_pad40 *b = bytes;
    for (size_t i = 0; i < rows * (depth / PAD40_VALUES); i++, b++) {
        float x[PAD40_VALUES];
        for (int k = 0; k < PAD40_VALUES; k++)
            x[k] = random_normal(s);
        pad40_quantize(x, b);
    }
}

static void fill_f32(struct random_stream *s, size_t rows, size_t depth, void *bytes) {
    float *x = bytes;
    for (size_t i = 0; i < rows * depth; i++)
        x[i] = random_normal(s);
}

const struct data_filler data_rand[] = {
    {"q4_K", fill_q4_k}, {"pad40", fill_pad40}, {"f32", fill_f32}, {"f16", data_f16_rand}, {0}};
