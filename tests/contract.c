/* The comparison of a contract with its truth, on q4_k_pad40_two_term: what it must hold and what it must see. */
#include "../ref/contract.h"
#include "../ref/half.h"
#include "../ref/pad40.h"
#include "../ref/q4_k.h"
#include "../ref/random.h"
#include "../ref/truth.h"
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct operands {
    struct block_q4_k *weight;      /* (od, id / 256) */
    struct block_pad40 *activation; /* (nt, id / 32) */
    struct contract_operands op;
};

/* Ordinary scales; with nonfinite, infinities and NaN in one of eight. */
static uint16_t scale(bool nonfinite, struct random_stream *s) {
    static const uint16_t wild[] = {0x7c00, 0xfc00, 0x7e00, 0xfe01, 0x0000, 0x7c01};
    if (nonfinite && !random_below(s, 8))
        return wild[random_below(s, sizeof wild / sizeof *wild)];
    return half_from_float(0.001f + 0.02f * random_unit(s));
}

static struct operands make(bool nonfinite, size_t nt, size_t od, size_t id) {
    struct operands o = {.op = {.nt = nt, .od = od, .id = id}};
    struct random_stream s = random_open(random_key("contract"), nonfinite);
    o.op.weight = o.weight = calloc(od * id / 256, sizeof *o.weight);
    o.op.activation = o.activation = calloc(nt * id / 32, sizeof *o.activation);
    cr_assert(o.weight && o.activation, "out of memory");
    for (struct block_q4_k *b = o.weight; b < o.weight + od * id / 256; b++) {
        for (size_t i = 0; i < sizeof *b; i++)
            ((uint8_t *)b)[i] = (uint8_t)random_u32(&s);
        b->d = scale(nonfinite, &s);
        b->dmin = scale(nonfinite, &s);
    }
    for (struct block_pad40 *b = o.activation; b < o.activation + nt * id / 32; b++) {
        b->d = scale(nonfinite, &s);
        for (int k = 0; k < 32; k++)
            b->sum += b->q[k] = (int8_t)(random_u32(&s) & 255);
    }
    return o;
}

static void release(struct operands *o) {
    free(o->weight);
    free(o->activation);
}

static const struct contract *contract(void) {
    const struct contract *c = contract_named("q4_k_pad40_two_term");
    cr_assert(c, "the contract is not in the table");
    return c;
}

static float *evaluated(const struct operands *o) {
    float *result = malloc(contract()->result_bytes(&o->op));
    cr_assert(result, "out of memory");
    memset(result, 0xa5, contract()->result_bytes(&o->op));
    contract()->evaluate(&o->op, result);
    return result;
}

Test(contract, nan_and_infinity_bits) {
    struct operands o = make(true, 33, 40, 256);
    float *result = evaluated(&o);
    size_t nan = 0, infinite = 0, finite = 0;
    for (size_t c = 0; c < contract()->cells(&o.op); c++) {
        nan += isnan(result[c]) != 0;
        infinite += isinf(result[c]) != 0;
        finite += isfinite(result[c]) != 0;
        cr_assert(!isnan(result[c]) || float_bits(result[c]) == 0x7fffffff, "cell %zu: NaN 0x%08x", c,
                  float_bits(result[c]));
    }
    cr_assert(nan && infinite && finite, "the data must bring all three: %zu NaN, %zu infinite, %zu finite", nan,
              infinite, finite);
    for (size_t c = 0; c < contract()->cells(&o.op); c++) /* planted: one side only */
        if (isinf(result[c])) {
            result[c] = -result[c];
            struct truth_gap gap = truth_compare(contract(), &o.op, result);
            cr_assert(!gap.holds && gap.cell == c, "planted: the other infinity at %zu went unseen", c);
            result[c] = 1;
            cr_assert(!truth_compare(contract(), &o.op, result).holds, "planted: finite for infinite went unseen");
            break;
        }
    free(result);
    release(&o);
}

Test(contract, zero_operands_give_plus_zero) {
    struct operands o = make(false, 2, 2, 512);
    for (int i = 0; i < 4; i++)
        o.weight[i].d = o.weight[i].dmin = 0x8000;
    float *result = evaluated(&o);
    for (int c = 0; c < 4; c++)
        cr_assert(float_bits(result[c]) == 0, "cell %d: 0x%08x", c, float_bits(result[c]));
    free(result);
    release(&o);
}

/* truth_compare at the edge of the bound: inside it holds, outside it names the cell. */
Test(contract, truth_compare_at_the_edge) {
    struct operands o = make(false, 2, 3, 256);
    float *result = evaluated(&o);
    double value[6], bound[6];
    contract()->truth(&o.op, value, bound);
    result[4] = (float)(value[4] + 0.9 * bound[4]);
    struct truth_gap gap = truth_compare(contract(), &o.op, result);
    cr_assert(gap.holds && gap.worst > 0.8 && gap.worst <= 1, "inside: worst %g", gap.worst);
    result[4] = (float)(value[4] - 1.2 * bound[4]);
    gap = truth_compare(contract(), &o.op, result);
    cr_assert(!gap.holds && gap.cell == 4 && gap.worst > 1, "outside: cell %zu, worst %g", gap.cell, gap.worst);
    contract()->evaluate(&o.op, result);
    result[5] = NAN;
    gap = truth_compare(contract(), &o.op, result);
    cr_assert(!gap.holds && gap.cell == 5 && isnan(gap.got), "planted: NaN for a number went unseen");
    free(result);
    release(&o);
}

Test(contract, gamma) {
    cr_assert(truth_gamma(0) == 0 && truth_gamma(1) > 0x1p-24 && truth_gamma(1) < 0x1.00001p-24, "gamma(0), gamma(1)");
    cr_assert(truth_gamma(1 << 23) == 1 && isinf(truth_gamma(1 << 24)),
              "gamma(2^23) is 1, from 2^24 on it is no bound");
}
