/* iq4_nl: 32 values in 18 bytes, x = d * code, with d binary16 and code one of the sixteen of iq4.h.
 * Source: ggml, `block_iq4_nl` of ggml-common.h and `dequantize_row_iq4_nl` of ggml-quants.c, bit for bit.
 *
 * The quantiser is a search of its own: of all binary16 of both signs the d with the least squared error (iq4.h).
 * NaN counts as 0, infinities and what lies beyond 65504 * 127 end at the largest value the block can say. A block of
 * zeros has d = 0 and code 1. */
#include "format.h"
#include "half.h"
#include "iq4.h"
#include "nibbles.h"
#include <assert.h>
#include <string.h>

enum { VALUES = IQ4_VALUES };

struct block_iq4_nl {
    uint16_t d;
    uint8_t qs[NIBBLES_BYTES];
};
static_assert(sizeof(struct block_iq4_nl) == 18, "iq4_nl block is 18 bytes");
static_assert(offsetof(struct block_iq4_nl, qs) == 2, "iq4_nl nibbles");

/* out = d * code, exact in f32 (11 + 7 bits). */
static void dequantize(const void *block, float *out) {
    struct block_iq4_nl b;
    memcpy(&b, block, sizeof b);
    uint8_t n[VALUES];
    nibbles_get(b.qs, n);
    float d = half_to_float(b.d);
    for (int k = 0; k < VALUES; k++)
        out[k] = d * iq4_codes[n[k]];
}

static void quantize(const float *in, void *block) {
    double x[VALUES], plus_error, minus_error;
    iq4_read(in, x);
    double plus = iq4_best_scale(x, 1, true, &plus_error), minus = -iq4_best_scale(x, -1, true, &minus_error);
    double d = plus_error <= minus_error ? plus : minus;

    struct block_iq4_nl b = {.d = d < 0 || d > 0 ? iq4_half(d) : 0};
    uint8_t n[VALUES];
    iq4_assign(x, d, n);
    nibbles_set(n, b.qs);
    memcpy(block, &b, sizeof b);
}

static void unpack(const void *block, struct block_integers *out) {
    struct block_iq4_nl b;
    memcpy(&b, block, sizeof b);
    uint8_t n[VALUES];
    nibbles_get(b.qs, n);
    *out = (struct block_integers){.d = half_to_float(b.d), .scale = {1}};
    for (int k = 0; k < VALUES; k++)
        out->code[k] = iq4_codes[n[k]];
}

static void pack(const struct block_integers *in, void *block) {
    struct block_iq4_nl b = {.d = half_from_float(in->d)};
    double x[VALUES];
    uint8_t n[VALUES];
    for (int k = 0; k < VALUES; k++)
        x[k] = in->code[k];
    iq4_assign(x, 1, n); /* the nearest to a code is the code */
    nibbles_set(n, b.qs);
    memcpy(block, &b, sizeof b);
}

const struct block_format format_iq4_nl = {
    .name = "iq4_nl",
    .gguf_type = 20,
    .block_values = VALUES,
    .block_bytes = sizeof(struct block_iq4_nl),
    .codes_at = offsetof(struct block_iq4_nl, qs),
    .codes_bytes = sizeof((struct block_iq4_nl *)0)->qs,
    .d = {offsetof(struct block_iq4_nl, d), 2},
    .dequantize = dequantize,
    .quantize = quantize,
    .searches = true,
    .sub_values = VALUES,
    .code_least = -127,
    .code_count = IQ4_CODES,
    .code_list = iq4_codes,
    .scale_least = 1,
    .scale_most = 1,
    .unpack = unpack,
    .pack = pack,
};
