/* iq4_xs: 256 values in 136 bytes, eight sub-blocks of 32, x = d * (l - 32) * code, with d binary16, l = 0 .. 63 a
 * sub-block's scale and code one of the sixteen of iq4.h.
 * Source: ggml, `block_iq4_xs` of ggml-common.h and `dequantize_row_iq4_xs` of ggml-quants.c, bit for bit.
 *
 * The quantiser is a search of its own for the least squared error. Every sub-block has a best scale of either sign
 * (iq4.h). The one that is largest is put at each of the ends -32 .. -24 and 24 .. 31 of the integer
 * scales in turn, which gives a d; every other sub-block then tries the integers around its own two best scales, and
 * the d with the least error in all is kept. (To fit d anew to these integers would gain less than 0.1 %.)
 * NaN counts as 0; infinities and what lies beyond 65504 * 32 * 127 end at the largest value the block can say. */
#include "format.h"
#include "half.h"
#include "iq4.h"
#include "nibbles.h"
#include <assert.h>
#include <math.h>
#include <string.h>

enum { SUB_BLOCKS = 8, SUB_VALUES = IQ4_VALUES, SCALE_LEAST = -32, SCALE_MOST = 31, END_LEAST = 24 };

struct block_iq4_xs {
    uint16_t d;
    uint16_t scales_high;  /* bits 2s and 2s + 1 are bits 4 and 5 of l of sub-block s */
    uint8_t scales_low[4]; /* byte s / 2: bits 0 .. 3 of l, the low half for even s, the high half for odd s */
    uint8_t qs[SUB_BLOCKS][NIBBLES_BYTES];
};
static_assert(sizeof(struct block_iq4_xs) == 136, "iq4_xs block is 136 bytes");
static_assert(offsetof(struct block_iq4_xs, scales_high) == 2, "iq4_xs high scale bits");
static_assert(offsetof(struct block_iq4_xs, scales_low) == 4, "iq4_xs low scale bits");
static_assert(offsetof(struct block_iq4_xs, qs) == 8, "iq4_xs nibbles");

static int scale_of(const struct block_iq4_xs *b, int s) {
    int low = b->scales_low[s / 2] >> 4 * (s % 2) & 15, high = b->scales_high >> 2 * s & 3;
    return (low | high << 4) + SCALE_LEAST;
}

/* The bits of sub-block s MUST be 0 before. */
static void set_scale(struct block_iq4_xs *b, int s, int scale) {
    unsigned l = (unsigned)(scale - SCALE_LEAST);
    b->scales_low[s / 2] = (uint8_t)(b->scales_low[s / 2] | (l & 15) << 4 * (s % 2));
    b->scales_high = (uint16_t)(b->scales_high | l >> 4 << 2 * s);
}

/* out = rn(rn(d * (l - 32)) * code), both exact in f32 (11 + 5 + 7 bits). */
static void dequantize(const void *block, float *out) {
    struct block_iq4_xs b;
    memcpy(&b, block, sizeof b);
    float d = half_to_float(b.d);
    for (int s = 0; s < SUB_BLOCKS; s++) {
        uint8_t n[SUB_VALUES];
        nibbles_get(b.qs[s], n);
        float scale = d * (float)scale_of(&b, s);
        for (int k = 0; k < SUB_VALUES; k++)
            out[SUB_VALUES * s + k] = scale * iq4_codes[n[k]];
    }
}

/* ---- quantiser ---- */

struct source {
    double x[SUB_BLOCKS][SUB_VALUES];
    double best[SUB_BLOCKS][2]; /* the best scale above and below 0 */
};

struct attempt {
    uint16_t d;
    double error;
    int scale[SUB_BLOCKS];
    uint8_t n[SUB_BLOCKS][SUB_VALUES];
};

static int nearest_scale(double x) {
    return x <= SCALE_LEAST ? SCALE_LEAST : x >= SCALE_MOST ? SCALE_MOST : (int)floor(x + 0.5);
}

/* The best of the integer scales near best[s] / d, for every sub-block s; of equals the nearest. */
static void attempt_with(const struct source *source, uint16_t half, struct attempt *a) {
    static const int steps[] = {0, -1, 1};
    double d = half_to_float(half);
    *a = (struct attempt){.d = half};
    for (int s = 0; s < SUB_BLOCKS; s++) {
        double least = INFINITY;
        for (int sign = 0; sign < 2; sign++) {
            int middle = d < 0 || d > 0 ? nearest_scale(source->best[s][sign] / d) : 0;
            for (int step = 0; step < 3; step++) {
                int scale = middle + steps[step];
                if (scale < SCALE_LEAST || scale > SCALE_MOST)
                    continue;
                uint8_t n[SUB_VALUES];
                double error = iq4_assign(source->x[s], d * scale, n);
                if (error < least) {
                    least = error;
                    a->scale[s] = scale;
                    memcpy(a->n[s], n, sizeof n);
                }
            }
        }
        a->error += least;
    }
}

static void quantize(const float *in, void *block) {
    struct source source = {0};
    double largest = 0;
    for (int s = 0; s < SUB_BLOCKS; s++) {
        double plus_error, minus_error;
        iq4_read(in + SUB_VALUES * s, source.x[s]);
        source.best[s][0] = iq4_best_scale(source.x[s], 1, false, &plus_error);
        source.best[s][1] = -iq4_best_scale(source.x[s], -1, false, &minus_error);
        double best = source.best[s][plus_error <= minus_error ? 0 : 1];
        largest = fabs(best) > fabs(largest) ? best : largest;
    }

    struct attempt best, next;
    attempt_with(&source, 0, &best);
    attempt_with(&source, 1, &next); /* 2^-24, for rows so small that the ends below leave no d */
    best = next.error < best.error ? next : best;
    for (int end = SCALE_LEAST; end <= SCALE_MOST; end++) {
        if (end > -END_LEAST && end < END_LEAST)
            continue;
        attempt_with(&source, iq4_half(largest / end), &next);
        best = next.error < best.error ? next : best;
    }

    struct block_iq4_xs b = {.d = best.d};
    for (int s = 0; s < SUB_BLOCKS; s++) {
        set_scale(&b, s, best.scale[s]);
        nibbles_set(best.n[s], b.qs[s]);
    }
    memcpy(block, &b, sizeof b);
}

/* ---- the table's row ---- */

static void unpack(const void *block, struct block_integers *out) {
    struct block_iq4_xs b;
    memcpy(&b, block, sizeof b);
    *out = (struct block_integers){.d = half_to_float(b.d)};
    for (int s = 0; s < SUB_BLOCKS; s++) {
        uint8_t n[SUB_VALUES];
        nibbles_get(b.qs[s], n);
        out->scale[s] = (int16_t)scale_of(&b, s);
        for (int k = 0; k < SUB_VALUES; k++)
            out->code[SUB_VALUES * s + k] = iq4_codes[n[k]];
    }
}

static void pack(const struct block_integers *in, void *block) {
    struct block_iq4_xs b = {.d = half_from_float(in->d)};
    for (int s = 0; s < SUB_BLOCKS; s++) {
        double x[SUB_VALUES];
        uint8_t n[SUB_VALUES];
        for (int k = 0; k < SUB_VALUES; k++)
            x[k] = in->code[SUB_VALUES * s + k];
        iq4_assign(x, 1, n); /* the nearest to a code is the code */
        set_scale(&b, s, in->scale[s]);
        nibbles_set(n, b.qs[s]);
    }
    memcpy(block, &b, sizeof b);
}

const struct block_format format_iq4_xs = {
    .name = "iq4_xs",
    .gguf_type = 23,
    .block_values = SUB_BLOCKS * SUB_VALUES,
    .block_bytes = sizeof(struct block_iq4_xs),
    .codes_at = offsetof(struct block_iq4_xs, qs),
    .codes_bytes = sizeof((struct block_iq4_xs *)0)->qs,
    .d = {offsetof(struct block_iq4_xs, d), 2},
    .dequantize = dequantize,
    .quantize = quantize,
    .searches = true,
    .sub_values = SUB_VALUES,
    .code_least = -127,
    .code_count = IQ4_CODES,
    .code_list = iq4_codes,
    .scale_least = SCALE_LEAST,
    .scale_most = SCALE_MOST,
    .unpack = unpack,
    .pack = pack,
};
