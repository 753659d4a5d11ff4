/* q4_K: layout against the bit-by-bit reading, values against exact integers, and the quantiser's error and corners. */
#include "../ref/q4_k.h"
#include "../ref/format.h"
#include "../ref/half.h"
#include "../ref/random.h"
#include "independent/independent.h"
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <string.h>

typedef void scale_min_reader(unsigned s, const uint8_t scales[12], uint8_t *sc, uint8_t *m);

static struct block_q4_k random_q4_k(struct random_stream *s) {
    struct block_q4_k b;
    uint8_t bytes[sizeof b];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)random_u32(s);
    memcpy(&b, bytes, sizeof b);
    if ((b.d & 0x7c00) == 0x7c00)
        b.d ^= 0x4000; /* infinity and NaN become finite */
    if ((b.dmin & 0x7c00) == 0x7c00)
        b.dmin ^= 0x4000;
    return b;
}

static int wrong_scales(scale_min_reader *read, const uint8_t scales[12]) {
    uint8_t block[144] = {0};
    memcpy(block + 4, scales, 12);
    int wrong = 0;
    for (unsigned s = 0; s < 8; s++) {
        uint8_t sc, m;
        struct integers want = independent_read_q4_k(block, 32 * s);
        read(s, scales, &sc, &m);
        wrong += sc != want.scale || m != want.min;
    }
    return wrong;
}

/* Every one of the 96 bits alone, then random ones. */
static int wrong_scale_patterns(scale_min_reader *read) {
    int wrong = 0;
    for (unsigned bit = 0; bit < 96; bit++) {
        uint8_t scales[12] = {0};
        scales[bit / 8] = (uint8_t)(1 << bit % 8);
        wrong += wrong_scales(read, scales);
    }
    struct random_stream s = random_open(random_key("q4_k/scales"), 0);
    for (int i = 0; i < 1000; i++) {
        struct block_q4_k b = random_q4_k(&s);
        wrong += wrong_scales(read, b.scales);
    }
    return wrong;
}

static void top_bits_swapped(unsigned s, const uint8_t scales[12], uint8_t *sc, uint8_t *m) {
    q4_k_scale_min(s, scales, sc, m);
    if (s >= 4) {
        *sc = (uint8_t)((scales[s + 4] & 15) | scales[s] >> 6 << 4);
        *m = (uint8_t)(scales[s + 4] >> 4 | scales[s - 4] >> 6 << 4);
    }
}
static void unmasked(unsigned s, const uint8_t scales[12], uint8_t *sc, uint8_t *m) {
    q4_k_scale_min(s, scales, sc, m);
    if (s < 4)
        *sc = scales[s];
}

Test(q4_k, scales_and_minima_bit_by_bit) {
    int wrong = wrong_scale_patterns(q4_k_scale_min);
    cr_assert(wrong == 0, "%d sub-blocks read wrongly", wrong);
    cr_assert(wrong_scale_patterns(top_bits_swapped) > 0, "planted: top bits of scale and min swapped, unseen");
    cr_assert(wrong_scale_patterns(unmasked) > 0, "planted: top bits left in the scale, unseen");
}

Test(q4_k, packing_is_the_inverse) {
    for (unsigned s = 0; s < 8; s++)
        for (unsigned pair = 0; pair < 64 * 64; pair++) {
            uint8_t sc[8], m[8], scales[12];
            for (unsigned i = 0; i < 8; i++) { /* the others hold the complement, so that a stray bit shows */
                sc[i] = (uint8_t)(63 ^ pair % 64);
                m[i] = (uint8_t)(63 ^ pair / 64);
            }
            sc[s] ^= 63;
            m[s] ^= 63;
            q4_k_pack_scales(sc, m, scales);
            for (unsigned i = 0; i < 8; i++) {
                uint8_t sc_back, m_back;
                q4_k_scale_min(i, scales, &sc_back, &m_back);
                cr_assert(sc_back == sc[i] && m_back == m[i], "sub-block %u of pair %u: %u %u, want %u %u", i, pair,
                          sc_back, m_back, sc[i], m[i]);
            }
        }
}

Test(q4_k, nibbles_and_dot) {
    struct random_stream s = random_open(random_key("q4_k/nibbles"), 0);
    for (int i = 0; i < 500; i++) {
        struct block_q4_k b = random_q4_k(&s), copy;
        memset(&copy, i, sizeof copy);
        for (unsigned sub = 0; sub < 8; sub++) {
            uint8_t n[32];
            int8_t q[32];
            int64_t want = 0;
            q4_k_nibbles(&b, sub, n);
            q4_k_set_nibbles(&copy, sub, n);
            for (unsigned k = 0; k < 32; k++) {
                int nibble = independent_read_q4_k((const uint8_t *)&b, 32 * sub + k).code;
                cr_assert(n[k] == nibble, "block %d nibble (%u, %u): %u, want %d", i, sub, k, n[k], nibble);
                q[k] = i == 0 ? -128 : i == 1 ? 127 : (int8_t)(random_u32(&s) & 255);
                want += nibble * (int64_t)q[k];
            }
            int32_t got = q4_k_dot(&b, sub, q);
            cr_assert(got == want, "block %d sub-block %u: dot %d, want %lld", i, sub, got, (long long)want);
        }
        cr_assert(!memcmp(copy.qs, b.qs, sizeof b.qs), "block %d: nibbles written back differ", i);
    }
}

Test(q4_k, values_against_exact_integers) {
    struct random_stream s = random_open(random_key("q4_k/values"), 0);
    int subnormal_scales = 0, fused = 0;
    for (int i = 0; i < 2000; i++) {
        struct block_q4_k b = random_q4_k(&s);
        float out[256];
        uint8_t unaligned[145];
        if (i % 4 == 0) { /* near cancellation, the place where roundings show */
            b.dmin = b.d;
            b.d = (uint16_t)(b.d & 0x83ff);
            subnormal_scales++;
        }
        memcpy(unaligned + 1, &b, 144);
        format_named("q4_K")->dequantize(unaligned + 1, out);
        uint32_t bits[256];
        independent_q4_k((const uint8_t *)&b, bits);
        for (unsigned e = 0; e < 256; e++) {
            uint32_t want = bits[e], got = float_bits(out[e]);
            cr_assert(got == want, "block %d value %u: want 0x%08x got 0x%08x", i, e, want, got);
            struct integers c = independent_read_q4_k((const uint8_t *)&b, e);
            /* planted: d * (sc * n) in binary16, as half-precision kernels have it */
            float planted = half_to_float(half_from_float(half_to_float(b.d) * (float)(c.scale * c.code))) -
                            half_to_float(b.dmin) * (float)c.min;
            fused += float_bits(planted) != want;
        }
    }
    cr_assert(subnormal_scales > 0 && fused > 0, "planted: a product rounded to binary16 went unseen");
}

/* ---- quantiser ---- */

static double rms_error(const float x[256], const struct block_q4_k *b) {
    float y[256];
    double sum = 0;
    q4_k_dequantize(b, y);
    for (int k = 0; k < 256; k++)
        sum += ((double)y[k] - x[k]) * ((double)y[k] - x[k]);
    return sqrt(sum / 256);
}

static struct block_q4_k quantized(const float x[256]) {
    struct block_q4_k b;
    memset(&b, 0xa5, sizeof b); /* nothing of the old block may shine through */
    format_named("q4_K")->quantize(x, &b);
    return b;
}

Test(q4_k, quantiser_error_on_normal_data) {
    struct random_stream s = random_open(random_key("q4_k/quantiser"), 0);
    double sum = 0, worst = 0;
    enum { BLOCKS = 200 };
    for (int i = 0; i < BLOCKS; i++) {
        float x[256];
        for (int k = 0; k < 256; k++)
            x[k] = random_normal(&s);
        struct block_q4_k b = quantized(x);
        double error = rms_error(x, &b);
        sum += error * error;
        worst = fmax(worst, error);
    }
    /* A uniform 16-step grid over the range of 32 normal values (about 4.1 wide) errs by 4.1 / 15 / sqrt(12) = 0.079.
     */
    double rms = sqrt(sum / BLOCKS);
    cr_assert(rms < 0.074, "rms error %g of a unit normal", rms);
    cr_assert(worst < 0.09, "worst block %g", worst);
}

Test(q4_k, quantiser_finds_blocks_that_are_already_q4_k) {
    struct random_stream s = random_open(random_key("q4_k/again"), 0);
    for (int i = 0; i < 100; i++) {
        struct block_q4_k b = random_q4_k(&s);
        b.d = half_from_float(0.01f + random_unit(&s));
        b.dmin = half_from_float(0.01f + random_unit(&s));
        float x[256], largest = 0;
        q4_k_dequantize(&b, x);
        for (int k = 0; k < 256; k++)
            largest = fmaxf(largest, fabsf(x[k]));
        struct block_q4_k again = quantized(x);
        double error = rms_error(x, &again);
        cr_assert(error < 0.01 * largest, "block %d: error %g, largest value %g", i, error, (double)largest);
    }
}

Test(q4_k, quantiser_corners) {
    static const struct {
        const char *what;
        float even, odd; /* values at even and odd places */
        double within;   /* relative to the larger of the two */
    } row[] = {
        {"zero", 0, 0, 0},
        {"minus zero", -0.0f, 0, 0},
        {"constant", 3, 3, 0.001},
        {"constant below zero", -3, -3, 0.001},
        {"two values", -1, 1, 0.02},
        {"far above zero", 100, 101, 0.01},
        {"near the end of binary16", 5e7f, -4e6f, 0.02},
        {"beyond the range, both ways", FLT_MAX, -FLT_MAX, 1},
        {"infinities", INFINITY, -INFINITY, INFINITY},
        {"least step of binary16", 0x1p-24f, -0x1p-24f, 0.001},
        {"subnormal scale", 0x1p-18f, 0, 0.07},
        {"f32 subnormal", 0x1p-140f, -0x1p-149f, 1},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        float x[256], y[256];
        for (int k = 0; k < 256; k++)
            x[k] = k % 2 ? row[i].odd : row[i].even;
        struct block_q4_k b = quantized(x);
        q4_k_dequantize(&b, y);
        double size = fmax(fabs((double)row[i].even), fabs((double)row[i].odd));
        cr_assert((b.d & 0x7fff) < 0x7c00 && (b.dmin & 0x7fff) < 0x7c00, "%s: scales not finite", row[i].what);
        for (int k = 0; k < 256; k++) {
            bool close = fabs((double)y[k] - x[k]) <= row[i].within * size || isinf(row[i].within);
            cr_assert(isfinite(y[k]) && close, "%s: value %d is %g, not %g", row[i].what, k, (double)y[k],
                      (double)x[k]);
        }
    }
    float x[256] = {NAN, 1, -NAN, -1}, without[256] = {0, 1, 0, -1};
    struct block_q4_k with_nan = quantized(x), with_zero = quantized(without);
    cr_assert(!memcmp(&with_nan, &with_zero, sizeof with_nan), "NaN must count as 0");
}
