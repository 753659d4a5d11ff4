/* q8_K: 256 values in 292 bytes, x = d * q, with d f32 and q int8, and the sums of each 16 q. ggml's CPU kernels
 * multiply the K formats with activations of this format; as a block format it is never stored in a file.
 * Source: ggml, `block_q8_K` of ggml-common.h, `quantize_row_q8_K_ref` and `dequantize_row_q8_K` of ggml-quants.c:
 *   max = the first x of the largest |x| ; inverse = rn(-127 / max) ; d = rn(1 / inverse) ;
 *   q = rn(x * inverse) to the nearest integer, ties to even, at most 127 ;
 *   sums[i] = q[16 i] + .. + q[16 i + 15]. All f32, nearest even.
 * So d is negative where max is positive, and -128 is never reached: |x * inverse| <= 127 (1 + 2^-23).
 * Bit for bit ggml's wherever no x is NaN, except that ggml leaves the sums of a zero block as they were. The corners:
 *   all x +-0 or NaN           d = +0 and everything 0
 *   NaN                        counts as 0 (ggml: depends on its payload)
 *   |max| < 127 / FLT_MAX      inverse is infinite: d is a zero of the sign of inverse and every q is 0
 *   max infinite               inverse is a zero: d is an infinity of the sign of inverse and every q is 0 */
#include "q8_k.h"
#include "activation.h"
#include "format.h"
#include "int8.h"
#include <math.h>
#include <string.h>

enum { VALUES = Q8_K_VALUES, SUM_VALUES = Q8_K_SUM_VALUES };

/* block = these quants under d, with their sums. */
static void store(const int8_t q[VALUES], float d, void *block) {
    struct block_q8_k b = {.d = d};
    memcpy(b.q, q, sizeof b.q);
    for (int k = 0; k < VALUES; k++)
        b.sums[k / SUM_VALUES] = (int16_t)(b.sums[k / SUM_VALUES] + q[k]);
    memcpy(block, &b, sizeof b);
}

static void quantize(const float *in, void *block) {
    int8_t q[VALUES] = {0};
    float max = 0;
    for (int k = 0; k < VALUES; k++)
        max = fabsf(in[k]) > fabsf(max) ? in[k] : max;
    float inverse = -127.0f / max, d = 1.0f / inverse;
    if (fabsf(max) > 0) {
        for (int k = 0; k < VALUES; k++) {
            float p = in[k] * inverse;
            q[k] = isfinite(p) ? int8_ties_even(p) : 0; /* inverse may be infinite: the corners above */
        }
    } else {
        d = 0;
    }
    store(q, d, block);
}

/* out = rn(d * q): a product of 24 and 8 bits, one rounding. The sums are not looked at. */
static void dequantize(const void *block, float *out) {
    struct block_q8_k b;
    memcpy(&b, block, sizeof b);
    for (int k = 0; k < VALUES; k++)
        out[k] = b.d * (float)b.q[k];
}

static void unpack(const void *block, struct block_integers *out) {
    struct block_q8_k b;
    memcpy(&b, block, sizeof b);
    *out = (struct block_integers){.d = b.d, .scale = {1}};
    memcpy(out->code, b.q, sizeof b.q);
}

static void pack(const struct block_integers *in, void *block) {
    store(in->code, in->d, block);
}

static void pack_quants(const int8_t *q, const float *d, void *block) {
    store(q, d[0], block);
}

const struct block_format format_q8_k = {
    .name = "q8_K",
    .gguf_type = 15,
    .block_values = VALUES,
    .block_bytes = sizeof(struct block_q8_k),
    .codes_at = offsetof(struct block_q8_k, q),
    .codes_bytes = sizeof((struct block_q8_k *)0)->q,
    .d = {offsetof(struct block_q8_k, d), 4},
    .dequantize = dequantize,
    .quantize = quantize,
    .sub_values = VALUES,
    .code_least = -128,
    .code_count = 256,
    .scale_least = 1,
    .scale_most = 1,
    .unpack = unpack,
    .pack = pack,
};

const struct activation_format activation_q8_k = {
    .name = "q8_K",
    .block_values = VALUES,
    .block_bytes = sizeof(struct block_q8_k),
    .codes_at = offsetof(struct block_q8_k, q),
    .codes_bytes = sizeof((struct block_q8_k *)0)->q,
    .quantize = quantize,
    .dequantize = dequantize,
    .pack = pack_quants,
};
