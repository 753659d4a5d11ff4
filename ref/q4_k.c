/* q4_K: see q4_k.h for the layout.
 *
 * The quantiser fits every sub-block x ~ s * n - m (n = 0 .. 15, s >= 0, m >= 0) by weighted least squares, brings the
 * eight s and m to 6 bits under one f16 each, then looks one step around every rounded pair for the least error that
 * the stored numbers really have. All of it is in float64 with + - * / and sqrt only, so its bytes are the same
 * everywhere.
 *
 * Inputs outside the format: NaN counts as 0; infinities and whatever lies beyond the range of d = 65504 end at the
 * largest value the block can say. d and dmin are never negative, and never 0 where a sub-block needs them. */
#include "q4_k.h"
#include "format.h"
#include "half.h"
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { SUB_BLOCKS = Q4_K_SUB_BLOCKS, SUB_VALUES = Q4_K_SUB_VALUES, NIBBLE_MAX = 15, SCALE_MAX = 63 };

/* ---- layout ---- */

void q4_k_scale_min(unsigned s, const uint8_t scales[12], uint8_t *sc, uint8_t *m) {
    if (s < 4) {
        *sc = scales[s] & 63;
        *m = scales[s + 4] & 63;
    } else {
        *sc = (uint8_t)((scales[s + 4] & 15) | scales[s - 4] >> 6 << 4);
        // cppcheck-suppress arrayIndexOutOfBoundsCond // s is below 8
        *m = (uint8_t)(scales[s + 4] >> 4 | scales[s] >> 6 << 4);
    }
}

void q4_k_pack_scales(const uint8_t sc[8], const uint8_t m[8], uint8_t scales[12]) {
    for (int s = 0; s < 4; s++) {
        scales[s] = (uint8_t)(sc[s] | sc[s + 4] >> 4 << 6);
        scales[s + 4] = (uint8_t)(m[s] | m[s + 4] >> 4 << 6);
        scales[s + 8] = (uint8_t)((sc[s + 4] & 15) | (m[s + 4] & 15) << 4);
    }
}

void q4_k_nibbles(const struct block_q4_k *b, unsigned s, uint8_t n[32]) {
    const uint8_t *bytes = b->qs + SUB_VALUES * (s / 2);
    unsigned shift = 4 * (s & 1);
    for (int k = 0; k < SUB_VALUES; k++)
        n[k] = bytes[k] >> shift & 15;
}

void q4_k_set_nibbles(struct block_q4_k *b, unsigned s, const uint8_t n[32]) {
    uint8_t *bytes = b->qs + SUB_VALUES * (s / 2);
    unsigned shift = 4 * (s & 1), others = 0xf0u >> shift;
    for (int k = 0; k < SUB_VALUES; k++)
        bytes[k] = (uint8_t)((bytes[k] & others) | (unsigned)n[k] << shift);
}

int32_t q4_k_dot(const struct block_q4_k *b, unsigned s, const int8_t q[32]) {
    uint8_t n[SUB_VALUES];
    q4_k_nibbles(b, s, n);
    int32_t dot = 0;
    for (int k = 0; k < SUB_VALUES; k++)
        dot += n[k] * q[k];
    return dot;
}

void q4_k_dequantize(const struct block_q4_k *b, float out[256]) {
    float d = half_to_float(b->d), dmin = half_to_float(b->dmin);
    for (unsigned s = 0; s < SUB_BLOCKS; s++) {
        uint8_t sc, m, n[SUB_VALUES];
        q4_k_scale_min(s, b->scales, &sc, &m);
        q4_k_nibbles(b, s, n);
        float scale = d * (float)sc, min = dmin * (float)m;
        for (int k = 0; k < SUB_VALUES; k++) {
            float product = scale * (float)n[k];
            out[SUB_VALUES * s + k] = product - min;
        }
    }
}

/* ---- quantiser ---- */

struct sub_block {
    double x[SUB_VALUES], weight[SUB_VALUES];
    double scale, min; /* x ~ scale * n - min */
};

static double clamp(double x, double low, double high) {
    return x < low ? low : x > high ? high : x;
}

/* The nearest integer of 0 .. max; x MUST NOT be NaN. */
static uint8_t nearest(double x, int max) {
    return (uint8_t)(clamp(x, 0, max) + 0.5);
}

static void assign_nibbles(const struct sub_block *b, double scale, double min, uint8_t n[SUB_VALUES]) {
    for (int k = 0; k < SUB_VALUES; k++)
        n[k] = scale > 0 ? nearest((b->x[k] + min) / scale, NIBBLE_MAX) : 0;
}

static double weighted_error(const struct sub_block *b, double scale, double min, const uint8_t n[SUB_VALUES]) {
    double error = 0;
    for (int k = 0; k < SUB_VALUES; k++) {
        double gap = scale * n[k] - min - b->x[k];
        error += b->weight[k] * gap * gap;
    }
    return error;
}

/* scale, min = the weighted least squares line through (n, x), held to scale >= 0 and min >= 0. */
static void fit_line(const struct sub_block *b, const uint8_t n[SUB_VALUES], double *scale, double *min) {
    double w = 0, wn = 0, wnn = 0, wx = 0, wnx = 0;
    for (int k = 0; k < SUB_VALUES; k++) {
        double weight = b->weight[k];
        w += weight;
        wn += weight * n[k];
        wnn += weight * n[k] * n[k];
        wx += weight * b->x[k];
        wnx += weight * n[k] * b->x[k];
    }
    double determinant = w * wnn - wn * wn; /* 0 when all n are equal */
    *scale = determinant > 0 ? (w * wnx - wn * wx) / determinant : 0;
    *min = determinant > 0 ? (wn * wnx - wnn * wx) / determinant : -wx / w;
    if (*min < 0) { /* the best line that the format has goes through the origin */
        *min = 0;
        *scale = wnn > 0 ? wnx / wnn : 0;
    }
    if (*scale < 0)
        *scale = 0;
}

/* Starts from grids a little wider and narrower than the range of x, and lets nibbles and line improve each other. */
static void fit_sub_block(struct sub_block *b) {
    double low = 0, high = b->x[0], squares = 0; /* low <= 0: the format has no offset above zero */
    for (int k = 0; k < SUB_VALUES; k++) {
        low = b->x[k] < low ? b->x[k] : low;
        high = b->x[k] > high ? b->x[k] : high;
        squares += b->x[k] * b->x[k];
    }
    b->scale = 0;
    b->min = -low;
    if (!(squares > 0))
        return;
    /* Large values carry a dot product, so their errors count more; the mean keeps the small ones from not counting. */
    double mean = sqrt(squares / SUB_VALUES);
    for (int k = 0; k < SUB_VALUES; k++)
        b->weight[k] = mean + fabs(b->x[k]);

    uint8_t n[SUB_VALUES] = {0};
    double best = INFINITY;
    for (int step = -10; step <= 10; step++) {
        double scale = (high - low) / (NIBBLE_MAX + 0.2 * step), min = -low;
        for (int round = 0; round < 3; round++) {
            assign_nibbles(b, scale, min, n);
            fit_line(b, n, &scale, &min);
            double error = weighted_error(b, scale, min, n);
            if (error < best) {
                best = error;
                b->scale = scale;
                b->min = min;
            }
        }
    }
}

/* The binary16 that makes `largest` come out at 63 steps: never 0 for a positive number, never infinite. */
static uint16_t step_of(double largest) {
    if (!(largest > 0))
        return 0;
    return half_from_float((float)clamp(largest / SCALE_MAX, 0x1p-24, 65504));
}

/* 6-bit scale, 6-bit minimum and nibbles of a sub-block with the least error under the stored d and dmin: the rounded
 * pair and its eight neighbours. */
static void settle(const struct sub_block *b, double d, double dmin, uint8_t *sc, uint8_t *m, uint8_t n[SUB_VALUES]) {
    int sc_mid = d > 0 ? nearest(b->scale / d, SCALE_MAX) : 0, m_mid = dmin > 0 ? nearest(b->min / dmin, SCALE_MAX) : 0;
    double best = INFINITY;
    for (int sc_try = sc_mid - 1; sc_try <= sc_mid + 1; sc_try++) {
        for (int m_try = m_mid - 1; m_try <= m_mid + 1; m_try++) {
            if (sc_try < 0 || sc_try > SCALE_MAX || m_try < 0 || m_try > SCALE_MAX)
                continue;
            uint8_t tried[SUB_VALUES];
            assign_nibbles(b, d * sc_try, dmin * m_try, tried);
            double error = weighted_error(b, d * sc_try, dmin * m_try, tried);
            if (error < best) {
                best = error;
                *sc = (uint8_t)sc_try;
                *m = (uint8_t)m_try;
                memcpy(n, tried, SUB_VALUES);
            }
        }
    }
}

void q4_k_quantize(const float in[256], struct block_q4_k *b) {
    struct sub_block sub[SUB_BLOCKS] = {0};
    double largest_scale = 0, largest_min = 0;
    for (int s = 0; s < SUB_BLOCKS; s++) {
        for (int k = 0; k < SUB_VALUES; k++) {
            float x = in[SUB_VALUES * s + k];
            sub[s].x[k] = isnan(x) ? 0 : clamp(x, -FLT_MAX, FLT_MAX);
        }
        fit_sub_block(&sub[s]);
        largest_scale = fmax(largest_scale, sub[s].scale);
        largest_min = fmax(largest_min, sub[s].min);
    }

    b->d = step_of(largest_scale);
    b->dmin = step_of(largest_min);
    uint8_t sc[SUB_BLOCKS] = {0}, m[SUB_BLOCKS] = {0};
    for (int s = 0; s < SUB_BLOCKS; s++) {
        uint8_t n[SUB_VALUES] = {0};
        settle(&sub[s], half_to_float(b->d), half_to_float(b->dmin), &sc[s], &m[s], n);
        q4_k_set_nibbles(b, (unsigned)s, n);
    }
    q4_k_pack_scales(sc, m, b->scales);
}

/* ---- the table's row ---- */

/* Blocks of the table need no alignment, so they pass through a local one. */
static void dequantize(const void *block, float *out) {
    struct block_q4_k b;
    memcpy(&b, block, sizeof b);
    q4_k_dequantize(&b, out);
}

static void quantize(const float *in, void *block) {
    struct block_q4_k b = {0};
    q4_k_quantize(in, &b);
    memcpy(block, &b, sizeof b);
}

static void unpack(const void *block, struct block_integers *out) {
    struct block_q4_k b;
    memcpy(&b, block, sizeof b);
    *out = (struct block_integers){.d = half_to_float(b.d), .dmin = half_to_float(b.dmin)};
    for (unsigned s = 0; s < SUB_BLOCKS; s++) {
        uint8_t sc, m, n[SUB_VALUES];
        q4_k_scale_min(s, b.scales, &sc, &m);
        q4_k_nibbles(&b, s, n);
        out->scale[s] = sc;
        out->min[s] = m;
        for (int k = 0; k < SUB_VALUES; k++)
            out->code[SUB_VALUES * s + k] = (int8_t)n[k];
    }
}

static void pack(const struct block_integers *in, void *block) {
    struct block_q4_k b = {.d = half_from_float(in->d), .dmin = half_from_float(in->dmin)};
    uint8_t sc[SUB_BLOCKS], m[SUB_BLOCKS], n[SUB_VALUES];
    for (unsigned s = 0; s < SUB_BLOCKS; s++) {
        sc[s] = (uint8_t)in->scale[s];
        m[s] = (uint8_t)in->min[s];
        for (int k = 0; k < SUB_VALUES; k++)
            n[k] = (uint8_t)in->code[SUB_VALUES * s + k];
        q4_k_set_nibbles(&b, s, n);
    }
    q4_k_pack_scales(sc, m, b.scales);
    memcpy(block, &b, sizeof b);
}

const struct block_format format_q4_k = {
    .name = "q4_K",
    .gguf_type = 12,
    .block_values = Q4_K_VALUES,
    .block_bytes = Q4_K_BYTES,
    .codes_at = offsetof(struct block_q4_k, qs),
    .codes_bytes = sizeof((struct block_q4_k *)0)->qs,
    .d = {offsetof(struct block_q4_k, d), 2},
    .dmin = {offsetof(struct block_q4_k, dmin), 2},
    .dequantize = dequantize,
    .quantize = quantize,
    .sub_values = SUB_VALUES,
    .code_count = NIBBLE_MAX + 1,
    .scale_most = SCALE_MAX,
    .min_most = SCALE_MAX,
    .unpack = unpack,
    .pack = pack,
};
