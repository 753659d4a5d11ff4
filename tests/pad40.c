/* The pad40 quantiser: bytes against exact integers, hand-made blocks, and its contract's truth. */
#include "../ref/pad40.h"
#include "../ref/activation.h"
#include "../ref/half.h"
#include "../ref/random.h"
#include "../ref/truth.h"
#include "independent/independent.h"
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <string.h>

typedef void quantizer(const float in[32], struct block_pad40 *b);

enum { KINDS = 9 };

/* Blocks of every kind that has been trouble: number i is a function of i alone. */
static void block_of_kind(unsigned kind, struct random_stream *s, float x[32]) {
    float size = ldexpf(1, (int)random_below(s, 60) - 40);
    for (int k = 0; k < 32; k++) {
        switch (kind) {
        case 0: /* normal data of any size, binary16 subnormal scales included */
            x[k] = size * random_normal(s);
            break;
        case 1: /* ties: amax = 127, so d = inv = 1 and halves are exact */
            x[k] = k ? ((float)random_below(s, 509) - 254) / 2 : 127;
            break;
        case 2: /* near ties under an inverse that is not exact */
            x[k] = k ? (0.5f + (float)random_below(s, 127)) * 0.3f : 127 * 0.3f;
            break;
        case 3: /* any bits at all: infinities, NaN, every exponent */
            x[k] = bits_float(random_u32(s));
            break;
        case 4: /* so small that 1/d may be infinite */
            x[k] = random_below(s, 3) ? bits_float((random_u32(s) & 0x80000000) | random_below(s, 0x08000000)) : 0.0f;
            break;
        case 5: /* so large that binary16 has no such scale */
            x[k] = ldexpf(random_normal(s), 20 + (int)random_below(s, 100));
            break;
        case 6: /* zeros of both signs, and now and then one value */
            x[k] = random_below(s, 40) ? (random_below(s, 2) ? -0.0f : 0.0f) : size;
            break;
        case 7: /* NaN among numbers, or nothing but NaN */
            x[k] = random_below(s, 8) ? bits_float(0x7f800001 + random_below(s, 0x7fffff)) : random_normal(s);
            break;
        default: /* all at the largest value: sums at their ends */
            x[k] = random_below(s, 32) ? size : -size;
            break;
        }
    }
}

static int wrong_blocks(quantizer *quantize) {
    struct random_stream s = random_open(random_key("pad40/blocks"), 0);
    int wrong = 0;
    for (unsigned i = 0; i < 3000 * KINDS; i++) {
        float x[32];
        uint32_t bits[32];
        struct block_pad40 got;
        uint8_t want[40];
        block_of_kind(i % KINDS, &s, x);
        memcpy(bits, x, sizeof bits);
        memset(&got, 0xa5, sizeof got); /* the gap too must be written */
        quantize(x, &got);
        independent_pad40_quantize(bits, want);
        wrong += memcmp(&got, want, sizeof got) != 0;
    }
    return wrong;
}

Test(pad40, bytes_against_exact_integers) {
    int wrong = wrong_blocks(pad40_quantize);
    cr_assert(wrong == 0, "%d blocks differ", wrong);
}

/* ---- plants: the quantiser as it is often written ---- */

struct plant {
    bool inverse_of_stored, divides, ties_away, no_sum, dirty_gap, d_of_127_5;
};

static void planted(const struct plant *p, const float in[32], struct block_pad40 *b) {
    pad40_quantize(in, b);
    float amax = 0;
    for (int k = 0; k < 32; k++)
        amax = fabsf(in[k]) > amax ? fabsf(in[k]) : amax; /* not fmaxf: a signalling NaN would win */
    float d = amax / (p->d_of_127_5 ? 127.5f : 127.0f);
    if (!isfinite(d) || d < 0x1p-20f || d > 60000)
        return; /* the corners stay right: the fault must show on ordinary data */
    float used = p->inverse_of_stored ? half_to_float(half_from_float(d)) : d;
    if (p->d_of_127_5)
        b->d = half_from_float(d);
    b->sum = 0;
    for (int k = 0; k < 32; k++) {
        float scaled = p->divides ? in[k] / used : in[k] * (1 / used);
        if (isnan(scaled))
            continue;
        b->q[k] = (int8_t)fminf(fmaxf(p->ties_away ? roundf(scaled) : rintf(scaled), -128), 127);
        b->sum += b->q[k];
    }
    if (p->no_sum)
        b->sum = 0;
    if (p->dirty_gap)
        b->gap = 1;
}
static void inverse_of_stored(const float in[32], struct block_pad40 *b) {
    planted(&(struct plant){.inverse_of_stored = true}, in, b);
}
static void divides(const float in[32], struct block_pad40 *b) {
    planted(&(struct plant){.divides = true}, in, b);
}
static void ties_away(const float in[32], struct block_pad40 *b) {
    planted(&(struct plant){.ties_away = true}, in, b);
}
static void no_sum(const float in[32], struct block_pad40 *b) {
    planted(&(struct plant){.no_sum = true}, in, b);
}
static void dirty_gap(const float in[32], struct block_pad40 *b) {
    planted(&(struct plant){.dirty_gap = true}, in, b);
}
static void d_of_127_5(const float in[32], struct block_pad40 *b) {
    planted(&(struct plant){.d_of_127_5 = true}, in, b);
}
static void no_fault(const float in[32], struct block_pad40 *b) {
    planted(&(struct plant){0}, in, b);
}

Test(pad40, planted_quantisers_are_seen) {
    cr_assert(wrong_blocks(no_fault) == 0, "the plant without a fault must pass, or the others prove nothing");
    cr_assert(wrong_blocks(inverse_of_stored) > 0, "inverse from the rounded d went unseen");
    cr_assert(wrong_blocks(divides) > 0, "x / d in place of x * (1 / d) went unseen");
    cr_assert(wrong_blocks(ties_away) > 0, "ties away from zero went unseen");
    cr_assert(wrong_blocks(no_sum) > 0, "a sum left out went unseen");
    cr_assert(wrong_blocks(dirty_gap) > 0, "a gap that is not zero went unseen");
    cr_assert(wrong_blocks(d_of_127_5) > 0, "amax / 127.5 went unseen");
}

/* ---- by hand ---- */

static struct block_pad40 quantized(float first, float second, float rest) {
    float x[32] = {first, second};
    struct block_pad40 b;
    for (int k = 2; k < 32; k++)
        x[k] = rest;
    activation_named("pad40")->quantize(x, &b);
    return b;
}

Test(pad40, blocks_by_hand) {
    static const struct {
        const char *what;
        float first, second, rest;
        uint16_t d;
        int q_first, q_second, q_rest;
    } row[] = {
        {"zero", 0, 0, 0, 0x0000, 0, 0, 0},
        {"d = 1, ties", 127, 0.5f, 1.5f, 0x3c00, 127, 0, 2},
        {"d = 1, ties below zero", -127, -0.5f, -1.5f, 0x3c00, -127, 0, -2},
        {"d = 2", 254, 3, -5, 0x4000, 127, 2, -2},                    /* 1.5 -> 2, -2.5 -> -2 */
        {"scale not a binary16", 1, 0.5f, -1, 0x2008, 127, 64, -127}, /* 63.5 -> 64; 1/127 = 0x1.020408p-7 */
        {"d = 65520 is no binary16", 127 * 65520.0f, 65520, 0, 0x7c00, 127, 1, 0},
        {"d = 65504 is", 127 * 65504.0f, 65504, 0, 0x7bff, 127, 1, 0},
        {"infinity", INFINITY, 5, -INFINITY, 0x7c00, 0, 0, 0},
        {"NaN among numbers", NAN, 127, 1, 0x3c00, 0, 127, 1},
        {"nothing but NaN", NAN, -NAN, NAN, 0x7fff, 0, 0, 0},
        {"1/d infinite", 0x1p-130f, 0, -0x1p-149f, 0x0000, 127, 0, -128},
        {"d underflows to 0", 0x1p-149f, -0x1p-149f, 0, 0x0000, 0, 0, 0},
        {"largest", FLT_MAX, -FLT_MAX, FLT_MAX, 0x7c00, 127, -127, 127},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct block_pad40 b = quantized(row[i].first, row[i].second, row[i].rest);
        cr_assert(b.d == row[i].d, "%s: d 0x%04x, want 0x%04x", row[i].what, b.d, row[i].d);
        cr_assert(b.q[0] == row[i].q_first && b.q[1] == row[i].q_second && b.q[31] == row[i].q_rest,
                  "%s: q %d %d .. %d, want %d %d .. %d", row[i].what, b.q[0], b.q[1], b.q[31], row[i].q_first,
                  row[i].q_second, row[i].q_rest);
        int sum = row[i].q_first + row[i].q_second + 30 * row[i].q_rest;
        cr_assert(b.sum == sum && b.gap == 0, "%s: sum %d, want %d; gap %u", row[i].what, b.sum, sum, b.gap);
    }
}

Test(pad40, values) {
    struct random_stream s = random_open(random_key("pad40/values"), 0);
    for (int i = 0; i < 2000; i++) {
        uint8_t block[41];
        float out[32];
        for (size_t k = 0; k < sizeof block; k++)
            block[k] = (uint8_t)random_u32(&s);
        block[2] &= 0xbf; /* d finite */
        activation_named("pad40")->dequantize(block + 1, out);
        double d = independent_half_value((uint16_t)(block[1] + 256 * block[2]));
        for (int k = 0; k < 32; k++) {
            float want = (float)(d * (int8_t)block[5 + k]);
            cr_assert(float_bits(out[k]) == float_bits(want), "block %d value %d: %a, want %a", i, k, out[k], want);
        }
    }
}

/* ---- the contract ---- */

static float operands_of_kind[KINDS][300 * 32];
static struct block_pad40 result[300];

static struct contract_operands operands(unsigned kind) {
    struct random_stream s = random_open(random_key("pad40/contract"), kind);
    for (int i = 0; i < 300; i++)
        block_of_kind(kind, &s, &operands_of_kind[kind][32 * i]);
    return (struct contract_operands){.activation = operands_of_kind[kind], .nt = 3, .id = 3200};
}

Test(pad40, contract_bytes_and_truth) {
    const struct contract *c = contract_named("pad40_quantize");
    for (unsigned kind = 0; kind < KINDS; kind++) {
        struct contract_operands op = operands(kind);
        cr_assert(c->cells(&op) == 9600 + 300 && c->result_bytes(&op) == sizeof result, "kind %u: sizes", kind);
        c->evaluate(&op, result);
        for (int i = 0; i < 300; i++) {
            uint32_t bits[32];
            uint8_t want[40];
            memcpy(bits, &operands_of_kind[kind][32 * i], sizeof bits);
            independent_pad40_quantize(bits, want);
            cr_assert(!memcmp(&result[i], want, 40), "kind %u block %d: bytes", kind, i);
        }
        struct truth_gap gap = truth_compare(c, &op, result);
        cr_assert(gap.holds, "kind %u cell %zu: value %a got %a bound %a", kind, gap.cell, gap.value, gap.got,
                  gap.bound);
    }
}

/* The bound is no wider than it need be: on ordinary data it is nearly reached, and one step more breaks it. */
Test(pad40, contract_truth_turns_red) {
    const struct contract *c = contract_named("pad40_quantize");
    struct contract_operands op = operands(1);
    c->evaluate(&op, result);
    struct truth_gap gap = truth_compare(c, &op, result);
    cr_assert(gap.holds && gap.worst > 0.85, "kind 1: worst %g of the bound", gap.worst);
    result[17].q[5] += result[17].q[5] < 0 ? 2 : -2;
    gap = truth_compare(c, &op, result);
    cr_assert(!gap.holds && gap.cell == 17 * 32 + 5, "planted: q off by two went unseen (cell %zu)", gap.cell);
    c->evaluate(&op, result);
    result[299].d += 0x20;
    gap = truth_compare(c, &op, result);
    cr_assert(!gap.holds && gap.cell / 32 == 299, "planted: scale off by 2^-5 went unseen (cell %zu)", gap.cell);
    c->evaluate(&op, result);
    result[3].d = 0x7e00;
    gap = truth_compare(c, &op, result);
    cr_assert(!gap.holds && gap.cell / 32 == 3, "planted: NaN scale went unseen (cell %zu)", gap.cell);
}
