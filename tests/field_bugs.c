/* Faults that quantized kernels and formats have had in the field, each with its own small input: the right value, and
 * that of the fault where it costs a line. Only the public tables of formats and activations are used, the measured
 * reciprocal, and second implementations for faults that need one.
 *
 * A test is named after its row of the log: B70 to B91 decode, B92 to B99 overflow, B100 to B102 round. Source: the
 * public reports that the comment of a test names (llama = ggml-org/llama.cpp, ik = ikawrakow/ik_llama.cpp).
 *
 * Rows of these kinds without a test here, for they concern what ref/ does not have:
 *   B77   ik#1005, q6_0: not a format of ggml
 *   B82   vllm#26092, zero points of AWQ and GPTQ: no format of ggml has a zero point in the file
 *   B87   whisper.cpp#3964, q8_0 rewritten in place to a split layout: weights have one layout here
 *   B89   llama#19575, repacked weights: the same
 *   B27   llama#15928, the searching quantisers of iq formats: those formats are only dequantised here
 * Rows about whole products are in field_bugs_products.c. */
#include "../ref/activation.h"
#include "../ref/format.h"
#include "../ref/half.h"
#include "../ref/rcp_approx.h"
#include "independent/independent.h"
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { F16_ONE = 0x3c00, F16_INFINITY = 0x7c00, MOST_BYTES = 320 };

static const struct block_format *format(const char *name) {
    const struct block_format *f = format_named(name);
    cr_assert(f, "no format %s", name);
    return f;
}

static const struct activation_format *activation(const char *name) {
    const struct activation_format *f = activation_named(name);
    cr_assert(f, "no activation format %s", name);
    return f;
}

/* The quantisers of the GPU need the measured reciprocal. */
static void load_reciprocal(void) {
    struct error e;
    cr_assert(rcp_approx_load("fixtures/golden/rcp_approx_sm90.bin.zz", &e), "%s", e.text);
}

static void put16(uint8_t *block, size_t at, unsigned bits) {
    block[at] = (uint8_t)bits;
    block[at + 1] = (uint8_t)(bits >> 8);
}

static unsigned get16(const uint8_t *block, size_t at) {
    return block[at] | (unsigned)block[at + 1] << 8;
}

/* Bit for bit, but zeros of either sign are one. */
static bool same(float got, float want) {
    return float_bits(got) == float_bits(want) || (float_bits(got) << 1 == 0 && float_bits(want) << 1 == 0);
}

static void value_is(const char *what, size_t at, float got, float want) {
    cr_assert(same(got, want), "%s, value %zu: %.9g, want %.9g", what, at, (double)got, (double)want);
}

static void sum_is(const char *what, double got, double want) {
    cr_assert(!memcmp(&got, &want, sizeof got), "%s: %.17g, want %.17g", what, got, want);
}

/* The dot product with activations that are all 1; exact for the small numbers of these tests. */
static double sum(const struct block_format *f, const uint8_t *block) {
    float out[FORMAT_MOST_VALUES];
    double s = 0;
    f->dequantize(block, out);
    for (size_t k = 0; k < f->block_values; k++)
        s += (double)out[k];
    return s;
}

/* ---- I: decoding ---- */

/* paiml/aprender#2141: packed 6-bit scales taken in order; and the top bits of a minimum from the scale's byte. */
Test(field_bugs, B70_q4_K_packed_scales) {
    static const uint8_t scales[12] = {0xc1, 0xc2, 0xc3, 0xc4, 0x45, 0x86, 0xc7, 0x08, 0x1d, 0x1e, 0x1f, 0x20};
    static const int16_t scale[8] = {1, 2, 3, 4, 61, 62, 63, 48}, min[8] = {5, 6, 7, 8, 17, 33, 49, 2};
    uint8_t block[144] = {0};
    put16(block, 0, F16_ONE);
    put16(block, 2, F16_ONE);
    memcpy(block + 4, scales, sizeof scales);
    memset(block + 16, 0x11, 128); /* every code is 1 */
    float out[256];
    struct block_integers b;
    format("q4_K")->unpack(block, &b);
    format("q4_K")->dequantize(block, out);
    static const int fault[4] = {49, 49, 49, 50}; /* minima 4 .. 7 with the top bits of the scale's byte */
    int in_order = 0, wrong_top = 0;
    for (unsigned s = 0; s < 8; s++) {
        cr_assert(b.scale[s] == scale[s] && b.min[s] == min[s], "sub-block %u: %d %d, want %d %d", s, b.scale[s],
                  b.min[s], scale[s], min[s]);
        for (unsigned k = 32 * s; k < 32 * s + 32; k++)
            value_is("q4_K", k, out[k], (float)(scale[s] - min[s]));
        in_order += (scales[s] & 63) != scale[s];
        if (s < 4)
            continue;
        const int of_fault = scales[s + 4] >> 4 | scales[s - 4] >> 6 << 4;
        cr_assert(of_fault == fault[s - 4], "planted: minimum %u is %d, want %d", s, of_fault, fault[s - 4]);
        wrong_top += of_fault != min[s];
    }
    cr_assert(in_order == 4 && wrong_top == 3, "faults that show in %d and %d sub-blocks", in_order, wrong_top);
    uint8_t same_scales[176] = {0}; /* q5_K has them in the same place */
    memcpy(same_scales + 4, scales, sizeof scales);
    format("q5_K")->unpack(same_scales, &b);
    for (unsigned s = 0; s < 8; s++)
        cr_assert(b.scale[s] == scale[s] && b.min[s] == min[s], "q5_K sub-block %u: %d %d, want %d %d", s, b.scale[s],
                  b.min[s], scale[s], min[s]);
}

/* aprender#2115: 6-bit scales read as 4-bit ones, which tests of zero blocks cannot see. */
Test(field_bugs, B71_q3_K_six_bit_scales) {
    /* scale + 32 = 0, 4 .. 60: low halves two a byte, top bits four a byte */
    static const uint8_t scales[12] = {0x00, 0x44, 0x88, 0xcc, 0x00, 0x44, 0x88, 0xcc, 0xe4, 0xe4, 0xe4, 0xe4};
    int four_bits_wrong = 0;
    for (unsigned e = 0; e < 256;
         e++) { /* one value of code 1, all others 0: their high bit is set, their low two not */
        uint8_t block[110] = {0};
        memset(block, 0xff, 32);
        block[32 + 32 * (e / 128) + e % 32] = (uint8_t)(1 << 2 * (e % 128 / 32));
        memcpy(block + 96, scales, sizeof scales);
        put16(block, 108, F16_ONE);
        float out[256];
        format("q3_K")->dequantize(block, out);
        for (unsigned k = 0; k < 256; k++)
            value_is("q3_K", k, out[k], k == e ? -32 + 4 * (float)(e / 16) : 0);
        four_bits_wrong += (int)(4 * (e / 16) % 16) != (int)(4 * (e / 16));
    }
    cr_assert(four_bits_wrong == 12 * 16, "scales of 4 bits would be wrong in %d values", four_bits_wrong);
}

/* candle#1569: where the high bit is absent, 1 was added. */
Test(field_bugs, B74_q5_K_absent_high_bit) {
    uint8_t block[176] = {[4] = 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1}; /* every scale 1, every minimum 0 */
    float zeros[256];
    put16(block, 0, F16_ONE);
    put16(block, 2, F16_ONE);
    sum_is("q5_K, all codes 0 (the fault gives 256)", sum(format("q5_K"), block), 0);
    format("q5_K")->dequantize(block, zeros);
    for (unsigned k = 0; k < 256; k++)
        cr_assert(float_bits(zeros[k]) == 0, "q5_K, value %u: %g, want +0", k, (double)zeros[k]);
    for (unsigned e = 0; e < 256; e++) {
        float out[256];
        block[16 + e % 32] = (uint8_t)(1 << e / 32);
        format("q5_K")->dequantize(block, out);
        for (unsigned k = 0; k < 256; k++)
            value_is("q5_K, one high bit", k, out[k], k == e ? 16 : 0);
        block[16 + e % 32] = 0;
    }
}

/* kekzl/imp#567: the low nibbles are values 0 .. 15 and the high ones 16 .. 31, not neighbours. */
Test(field_bugs, B76_mxfp4_nibble_order) {
    const uint8_t block[17] = {127, 0x21};
    float out[32];
    format("mxfp4")->dequantize(block, out);
    for (unsigned k = 0; k < 32; k++)
        value_is("mxfp4", k, out[k], k == 0 ? 0.5f : k == 16 ? 1 : 0); /* the fault has 1 at value 1 */
}

/* llama#5834: one of eight indices used twice. Rows of the codebook whose first levels are 1, 3 .. 15. */
Test(field_bugs, B78_iq3_s_eight_indices) {
    static const uint8_t rows[8] = {0, 1, 2, 13, 8, 3, 9, 4};
    uint8_t block[110] = {0};
    put16(block, 0, F16_ONE);
    for (unsigned group = 0; group < 8; group++) {
        float out[256];
        memset(block + 2, 0, 64);
        memcpy(block + 2 + 8 * group, rows, sizeof rows);
        format("iq3_s")->dequantize(block, out);
        for (unsigned r = 0; r < 8; r++) /* activations 1 at the first of four values, else 0 */
            value_is("iq3_s, one-hot", 32 * group + 4 * r, out[32 * group + 4 * r], 1 + 2 * (float)r);
    }
}

typedef void quantizer(const float *in, void *block);

/* Blocks of 32 values that are 1 but for one of 127, in each lane and each place of 32 in the block, that do not come
 * back as they were: d is 1 and every value whole. */
static int wrong_lanes(const struct activation_format *f, quantizer *quantize) {
    int wrong = 0;
    for (size_t lane = 0; lane < f->block_values; lane++) {
        float x[ACTIVATION_MOST_VALUES] = {0}, out[ACTIVATION_MOST_VALUES];
        uint8_t block[ACTIVATION_MOST_BYTES];
        for (size_t k = 0; k < 32; k++)
            x[lane / 32 * 32 + k] = 1;
        x[lane] = 127;
        quantize(x, block);
        f->dequantize(block, out);
        for (size_t k = 0; k < f->block_values; k++)
            if (!same(out[k], x[k])) {
                wrong++;
                break;
            }
    }
    return wrong;
}

static void lane_17_unseen(const float *in, void *block) {
    float x[32];
    memcpy(x, in, sizeof x);
    x[17] = 1;
    activation("q8_1")->quantize(x, block);
}

/* llama#14827: the reduction to the largest |x| missed a lane. */
Test(field_bugs, B80_lane_sweep) {
    load_reciprocal();
    for (const struct activation_format *const *f = activation_formats; *f; f++) {
        int wrong = wrong_lanes(*f, (*f)->quantize);
        cr_assert(wrong == 0, "%s: %d lanes wrong", (*f)->name, wrong);
    }
    cr_assert(wrong_lanes(activation("q8_1"), lane_17_unseen) == 1, "planted: an unseen lane went unseen");
}

/* mlx#3762: the scale byte taken for the scale. */
Test(field_bugs, B83_mxfp4_scale_is_an_exponent) {
    uint8_t block[17] = {127};
    memset(block + 1, 0x22, 16); /* 1.0 everywhere */
    sum_is("mxfp4, 32 ones (the fault gives 127 * 32 = 4064)", sum(format("mxfp4"), block), 32);
}

/* sglang#25519, TransformerEngine#3262: scale 128 became NaN, 2^-127 zero, and 255 infinite. */
Test(field_bugs, B84_mxfp4_ends_of_the_scale) {
    static const struct {
        uint8_t e;
        uint32_t half, one; /* bits of the values of nibbles 1 (0.5) and 2 (1.0) */
    } row[] = {
        {0, 0x00200000, 0x00400000},   /* 2^-128, 2^-127: subnormal, gone where they are flushed */
        {1, 0x00400000, 0x00800000},   /* 2^-127, 2^-126 */
        {134, 0x42800000, 0x43000000}, /* 64, 128 */
        {254, 0x7e800000, 0x7f000000}, /* 2^126, 2^127 */
        {255, 0x7f000000, 0x7f800000}, /* ggml: 2^127, and 2^128 is beyond f32; OCP MX 1.0 5.4.1: NaN, NaN */
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const uint8_t block[17] = {row[i].e, 0x21};
        float out[32];
        format("mxfp4")->dequantize(block, out);
        value_is("mxfp4 0.5", row[i].e, out[0], bits_float(row[i].half));
        value_is("mxfp4 1.0", row[i].e, out[16], bits_float(row[i].one));
    }
}

/* vllm#43557: which exponent a block of largest value 7 gets. ggml, OCP MX 1.0 6.3: floor(log2(7)) - 2 = 0, and 7 ends
 * at 6; the other rule has scale 2, where 7 / 2 = 3.5 lies between 3 and 4 and the even one gives 8. */
Test(field_bugs, B86_mxfp4_exponent_rule) {
    float x[32], out[32];
    uint8_t block[17];
    for (int k = 0; k < 32; k++)
        x[k] = 1;
    x[5] = 7;
    format("mxfp4")->quantize(x, block);
    format("mxfp4")->dequantize(block, out);
    cr_assert(block[0] == 127, "scale byte %d", block[0]);
    for (unsigned k = 0; k < 32; k++)
        value_is("mxfp4", k, out[k], k == 5 ? 6 : 1);
}

/* llama#6012, ggml#625: shifts of promoted 16-bit values into the sign, and by 32; the sanitisers watch. */
Test(field_bugs, B91_top_bits) {
    static const struct {
        const char *format;
        size_t at; /* of the 16 or 32 bits, of which the top one is set */
        size_t bytes, value;
        float set, clear; /* what the value is with the bit, and what all others are */
    } row[] = {
        {"iq2_s", 34, 2, 15, -1, 1},                             /* signs 0x8000; level 8 / 8 */
        {"iq2_s", 34, 4, 31, -1, 1},                             /* signs 0x80000000 */
        {"iq3_s", 74, 2, 15, -1, 1},                             /* level 1 */
        {"iq3_s", 74, 4, 31, -1, 1}, {"q5_0", 2, 4, 31, 0, -16}, /* fifth bits 0x80000000 */
        {"q5_1", 4, 4, 31, 16, 0},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        uint8_t block[MOST_BYTES] = {0};
        float out[256];
        put16(block, 0, F16_ONE);
        block[row[i].at + row[i].bytes - 1] = 0x80;
        format(row[i].format)->dequantize(block, out);
        for (size_t k = 0; k < format(row[i].format)->block_values; k++)
            value_is(row[i].format, k, out[k], k == row[i].value ? row[i].set : row[i].clear);
    }
    uint8_t block[66] = {0}; /* iq2_xxs: 28 bits of signs and 4 of scale in one word of ones: 31 / 8 * 8, all minus */
    float out[256];
    put16(block, 0, F16_ONE);
    memset(block + 6, 0xff, 4);
    format("iq2_xxs")->dequantize(block, out);
    for (size_t k = 0; k < 256; k++)
        value_is("iq2_xxs", k, out[k], k < 32 ? -31 : 1);
}

/* ---- J: overflow ---- */

/* llama#21652, ik#1656: the sum of 32 activations leaves binary16 while their scale is fine; then 0 * infinity is NaN
 * in a product with weights whose minimum is 0. */
Test(field_bugs, B92_sum_in_binary16) {
    static const struct {
        float x;
        unsigned d, s; /* binary16 bits */
    } row[] = {
        {2047.4375f, 0x4c08, 0x7bff},    /* 32 x = 65518, to 65504 */
        {2047.5f, 0x4c08, F16_INFINITY}, /* 65520 */
        {2100, 0x4c22, F16_INFINITY},    /* 67200; d = 16.53125 */
        {-2047.4375f, 0x4c08, 0xfbff},   {-2100, 0x4c22, 0xfc00},
    };
    static const char *const name[] = {"q8_1", "q8_1_cuda", "q8_1_mmq_ds4"}; /* d at 0, s at 2; ds4 four times */
    load_reciprocal();
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        float x[128];
        uint8_t block[ACTIVATION_MOST_BYTES];
        for (int k = 0; k < 128; k++)
            x[k] = row[i].x;
        for (size_t f = 0; f < sizeof name / sizeof *name; f++) {
            activation(name[f])->quantize(x, block);
            for (size_t at = 0; at < (f == 2 ? 16 : 4); at += 4)
                cr_assert(get16(block, at) == row[i].d && get16(block, at + 2) == row[i].s,
                          "%s of %g: d 0x%04x s 0x%04x, want 0x%04x 0x%04x", name[f], (double)row[i].x,
                          get16(block, at), get16(block, at + 2), row[i].d, row[i].s);
        }
        activation("q8_1_mmq_d2s6")->quantize(x, block); /* 16 values a sum: half of it, no overflow */
        cr_assert(get16(block, 4) == half_from_float(16 * row[i].x), "q8_1_mmq_d2s6 of %g: s 0x%04x", (double)row[i].x,
                  get16(block, 4));
        const int codes = row[i].x < 0 ? -127 * 32 : 127 * 32;
        activation("pad40_t")->quantize(x, block); /* sums of codes do not overflow at all */
        cr_assert((int16_t)get16(block, 2) == codes, "pad40_t of %g: sum %d", (double)row[i].x,
                  (int16_t)get16(block, 2));
        activation("pad40")->quantize(x, block); /* keeps the sum as an integer */
        int32_t whole;
        memcpy(&whole, block + 36, sizeof whole);
        cr_assert(whole == codes, "pad40 of %g: sum %d", (double)row[i].x, whole);
    }
    /* q4_1 with d = 1, m = 0, every code 1: 67183 from d and quants, 67200 in truth, NaN by m * s */
    double product = 0;
    float x[32], out[32];
    uint8_t block[36], weight[20] = {0};
    for (int k = 0; k < 32; k++)
        x[k] = 2100;
    activation("q8_1")->quantize(x, block);
    activation("q8_1")->dequantize(block, out);
    put16(weight, 0, F16_ONE);
    memset(weight + 4, 0x11, 16);
    sum_is("q4_1 of ones", sum(format("q4_1"), weight), 32);
    for (int k = 0; k < 32; k++)
        product += (double)out[k];
    sum_is("q4_1 of ones times 2100", product, 67183);
    cr_assert(isnan(half_to_float((uint16_t)get16(weight, 2)) * half_to_float((uint16_t)get16(block, 2))),
              "the fault, 0 * s, should be NaN");
}

static int saturated(int x) {
    return x > 32767 ? 32767 : x < -32768 ? -32768 : x;
}

/* ik#137: codes shifted to 0 .. 255, and sums of pairs held to int16. */
Test(field_bugs, B95_iq4_nl_pairs_saturate) {
    uint8_t block[18];
    int8_t q[32];
    struct block_integers b;
    put16(block, 0, F16_ONE);
    memset(block + 2, 0xff, 16);
    memset(q, 127, sizeof q);
    format("iq4_nl")->unpack(block, &b);
    int32_t dot = format_dot(format("iq4_nl"), &b, 0, q), fault = 0;
    cr_assert(dot == 113 * 127 * 32, "dot %d, want 459232", dot);
    for (int pair = 0; pair < 16; pair++)
        fault += saturated(2 * (113 + 128) * 127) - 2 * 128 * 127;
    cr_assert(fault == 4080, "the fault gives %d", fault);
}

/* BitNet#629: 128 sums of pairs added up in int16. */
Test(field_bugs, B97_two_bit_dot_in_int16) {
    uint8_t block[84] = {0};
    int8_t q[16];
    struct block_integers b;
    int32_t dot = 0;
    memset(block + 16, 0xaa, 64); /* every code 2 */
    memset(q, 127, sizeof q);
    format("q2_K")->unpack(block, &b);
    for (size_t s = 0; s < 16; s++)
        dot += format_dot(format("q2_K"), &b, s, q);
    cr_assert(dot == 128 * 508 && dot > 32767, "dot %d, want 65024; int16 has -512", dot);
}

/* vllm#30090: binary16 bits read as bfloat16. */
Test(field_bugs, B99_f16_read_as_bf16) {
    uint8_t block[2];
    float one = 1, right, fault;
    format("f16")->quantize(&one, block);
    format("f16")->dequantize(block, &right);
    format("bf16")->dequantize(block, &fault);
    value_is("f16", 0, right, 1);
    value_is("f16 as bf16", 0, fault, 0.0078125f);
}

/* ---- K: rounding ---- */

/* llama#8939: x * id + 8.5 is cut to an integer, and with a fused product it is another one. */
Test(field_bugs, B100_q4_0_fused) {
    float x[32] = {-3, -2.8125f};
    uint8_t block[18];
    format("q4_0")->quantize(x, block);
    cr_assert(get16(block, 0) == 0x3600, "d 0x%04x, want 0.375", get16(block, 0));
    const float id = 1 / 0.375f;
    cr_assert(float_bits(id) == 0x402aaaab, "1 / d is 0x%08x", float_bits(id));
    cr_assert((block[3] & 15) == 1, "code %d, want 1", block[3] & 15);
    cr_assert((int)fmaf(x[1], id, 8.5f) == 0, "fused, the code is 0");
    uint32_t bits[32];
    memcpy(bits, x, sizeof bits);
    independent_quantize_q4_0(bits, block, FUSED);
    cr_assert((block[3] & 15) == 0, "planted: the fused form must give 0");
}

/* aiter#4030, onnxruntime#32452: ties. 127 and 31 times 0.5 under d = 1, summed: 142.5 in truth. */
Test(field_bugs, B101_ties) {
    static const struct {
        const char *name;
        double sum; /* 158 away from zero; 127 to even, or cut off */
    } row[] = {{"pad40", 127},       {"pad40_t", 127},      {"q8_1", 158},          {"q8_1_cuda", 158},
               {"q8_1_mmq_d4", 158}, {"q8_1_mmq_ds4", 158}, {"q8_1_mmq_d2s6", 158}, {"q8_K", 127}};
    float x[ACTIVATION_MOST_VALUES] = {127}, out[ACTIVATION_MOST_VALUES];
    uint8_t block[ACTIVATION_MOST_BYTES];
    for (int k = 1; k < 32; k++)
        x[k] = 0.5f;
    load_reciprocal();
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const struct activation_format *f = activation(row[i].name);
        double got = 0;
        f->quantize(x, block);
        f->dequantize(block, out);
        for (size_t k = 0; k < f->block_values; k++)
            got += (double)out[k];
        sum_is(f->name, got, row[i].sum);
    }
    format("q8_0")->quantize(x, block);
    sum_is("q8_0", sum(format("q8_0"), block), 158);
}

/* ggml-quants.c against ggml-cuda/quantize.cu at d99724f2: three quantisers of "q8_1", three objects. */
Test(field_bugs, B102_three_q8_1) {
    uint8_t cpu[36], vector[36], tile[144];
    const struct activation_format *q8_1 = activation("q8_1"), *q8_1_cuda = activation("q8_1_cuda"),
                                   *d4 = activation("q8_1_mmq_d4");
    load_reciprocal();

    /* s is d * (sum of quants) on the CPU, the sum of the values on the GPU: q4_1 with d = 0, m = 1 gives s. */
    float ties[128] = {127};
    for (int k = 1; k < 32; k++)
        ties[k] = 0.5f;
    q8_1->quantize(ties, cpu);
    q8_1_cuda->quantize(ties, vector);
    cr_assert(get16(cpu, 0) == F16_ONE && get16(vector, 0) == F16_ONE, "d is 1");
    value_is("s of q8_1", 0, half_to_float((uint16_t)get16(cpu, 2)), 158);
    value_is("s of q8_1_cuda", 0, half_to_float((uint16_t)get16(vector, 2)), 142.5f);
    ties[0] = -127;
    q8_1_cuda->quantize(ties, vector);
    cr_assert((int8_t)vector[4] == -127, "code of -127: %d", (int8_t)vector[4]);
    value_is("s of q8_1_cuda below zero", 0, half_to_float((uint16_t)get16(vector, 2)), -111.5f);

    /* d is amax / 127, or 1 / (127 / amax). With amax = 11 they differ in f32, which d4 keeps. */
    const float eleven[128] = {11};
    d4->quantize(eleven, tile);
    uint32_t d_bits;
    memcpy(&d_bits, tile, sizeof d_bits);
    cr_assert(float_bits(11.0f / 127.0f) == 0x3db162c6 && d_bits == 0x3db162c5, "d of amax 11: 0x%08x", d_bits);

    /* Codes are x / (amax / 127), or x * (127 / amax). By IEEE division x = 0x3d112244 under amax = 1 is 4.5 and
     * 4.4999995, codes 5 and 4; but the build has -use_fast_math, and by the GPU's reciprocal both have 4. */
    const float x = bits_float(0x3d112244), one[128] = {1, x}, three[128] = {3, x};
    cr_assert(float_bits(x / (1.0f / 127.0f)) == 0x40900000 && float_bits(x * 127.0f) == 0x408fffff, "IEEE division");
    static const struct q8_1_rules ieee = {.divides_exactly = true};
    uint32_t bits[128] = {float_bits(11)};
    independent_q8_1_mmq(Q8_1_MMQ_D4, &ieee, NULL, bits, tile);
    memcpy(&d_bits, tile, sizeof d_bits);
    cr_assert(d_bits == 0x3db162c5, "IEEE: d of amax 11: 0x%08x", d_bits);
    memcpy(bits, one, sizeof bits);
    independent_q8_1_mmq(Q8_1_MMQ_D4, &ieee, NULL, bits, tile);
    independent_q8_1_cuda(&ieee, NULL, bits, vector);
    cr_assert(vector[5] == 5 && tile[17] == 4, "IEEE: codes %d and %d", vector[5], tile[17]);
    q8_1->quantize(one, cpu);
    q8_1_cuda->quantize(one, vector);
    d4->quantize(one, tile);
    cr_assert(cpu[5] == 4 && vector[5] == 4 && tile[17] == 4, "amax 1: codes %d %d %d, want 4 4 4", cpu[5], vector[5],
              tile[17]);
    /* Under amax = 3 the same x stands for 1.4999999, and there the two do differ. */
    q8_1->quantize(three, cpu);
    q8_1_cuda->quantize(three, vector);
    d4->quantize(three, tile);
    cr_assert(cpu[5] == 1 && vector[5] == 1 && tile[17] == 2, "amax 3: codes %d %d %d, want 1 1 2", cpu[5], vector[5],
              tile[17]);
}

/* ---- Rows of other kinds that are about formats ---- */

/* llama#8495: a relative error against a true result of nearly 0 is 1 though the kernel is right. */
Test(field_bugs, B107_result_near_zero) {
    float x[32], w[32];
    uint8_t activations[36], weights[34];
    int8_t q[32];
    struct block_integers b;
    for (int k = 0; k < 32; k++) {
        x[k] = k == 0 ? 1.001f : 1;
        w[k] = k < 16 ? 1 : -1;
    }
    activation("q8_1")->quantize(x, activations);
    format("q8_0")->quantize(w, weights);
    format("q8_0")->unpack(weights, &b);
    memcpy(q, activations + 4, sizeof q);
    for (int k = 0; k < 32; k++)
        cr_assert(q[k] == 127, "quant %d is %d", k, q[k]);
    cr_assert(format_dot(format("q8_0"), &b, 0, q) == 0, "the dot product is 0 exactly, 0.001 in truth");
}

static void swap_field(uint8_t *block, struct block_field field) {
    for (size_t i = 0; i < field.bytes / 2; i++) {
        const uint8_t byte = block[field.at + i];
        block[field.at + i] = block[field.at + field.bytes - 1 - i];
        block[field.at + field.bytes - 1 - i] = byte;
    }
}

/* llama#13943, #11349: which bytes of a block change places in a file of the other byte order. There and back is the
 * same block; there alone is another, and no byte outside the map has moved. */
Test(field_bugs, B121_fields_to_swap) {
    static const struct {
        const char *format;
        struct block_field d, dmin;
    } row[] = {{"q4_0", {0, 2}, {0, 0}}, {"q8_0", {0, 2}, {0, 0}},   {"q4_1", {0, 2}, {2, 2}},
               {"q4_K", {0, 2}, {2, 2}}, {"q6_K", {208, 2}, {0, 0}}, {"mxfp4", {0, 1}, {0, 0}} /* one byte: none */};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const struct block_format *f = format(row[i].format);
        cr_assert(f->d.at == row[i].d.at && f->d.bytes == row[i].d.bytes, "%s: d", f->name);
        cr_assert(f->dmin.at == row[i].dmin.at && f->dmin.bytes == row[i].dmin.bytes, "%s: dmin", f->name);
        uint8_t block[MOST_BYTES], swapped[MOST_BYTES];
        size_t moved = 0, known = 0;
        for (size_t k = 0; k < f->block_bytes; k++)
            block[k] = swapped[k] = (uint8_t)(k + 1); /* neighbours differ */
        swap_field(swapped, f->d);
        swap_field(swapped, f->dmin);
        for (size_t k = 0; k < f->block_bytes; k++) {
            moved += swapped[k] != block[k];
            known += (k - row[i].d.at < 2 && row[i].d.bytes == 2) || (k - row[i].dmin.at < 2 && row[i].dmin.bytes == 2);
        }
        cr_assert(moved == known && (known > 0) == (f->d.bytes == 2), "%s: %zu bytes move, want %zu", f->name, moved,
                  known);
        swap_field(swapped, f->d);
        swap_field(swapped, f->dmin);
        cr_assert(!memcmp(swapped, block, f->block_bytes), "%s: swapped twice is another block", f->name);
    }
}

/* 1bit-MONSTER#153: an index without its group term shows one group everywhere. Codes are the number of their group. */
Test(field_bugs, B140_q4_K_group_term) {
    uint8_t block[144] = {[4] = 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1};
    float out[256];
    put16(block, 0, F16_ONE);
    for (unsigned s = 0; s < 8; s += 2)
        memset(block + 16 + 16 * s, (int)(s | (s + 1) << 4), 32);
    format("q4_K")->dequantize(block, out);
    for (unsigned k = 0; k < 256; k++)
        value_is("q4_K", k, out[k], (float)(k / 32));
}
