/* Contract q4_k_pad40_two_term: bits against fixed point, truth against exact sums, threads, and planted folds. */
#include "../ref/contract.h"
#include "../ref/half.h"
#include "../ref/pad40.h"
#include "../ref/q4_k.h"
#include "../ref/random.h"
#include "../ref/truth.h"
#include "independent/independent.h"
#include <criterion/criterion.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* Data of a case; NONFINITE puts infinities and NaN into some scales. */
enum data { ORDINARY, ANY_BITS, CORNERS, CANCELLING, NONFINITE, DATA_CLASSES };
static const char *const data_name[] = {"ordinary", "any bits", "corners", "cancelling", "nonfinite"};

struct operands {
    struct block_q4_k *weight;      /* (od, id / 256) */
    struct block_pad40 *activation; /* (nt, id / 32) */
    struct contract_operands op;
    const char *data;
};

static uint16_t finite_half(struct random_stream *s) {
    uint16_t h = (uint16_t)random_u32(s);
    return (h & 0x7c00) == 0x7c00 ? h ^ 0x4000 : h;
}

static uint16_t scale(enum data data, struct random_stream *s) {
    static const uint16_t corner[] = {0x7bff, 0xfbff, 0x0001, 0x8001, 0x03ff, 0x0400, 0x0000, 0x8000, 0x3c00};
    static const uint16_t wild[] = {0x7c00, 0xfc00, 0x7e00, 0xfe01, 0x0000, 0x7c01};
    switch (data) {
    case ORDINARY:
        return half_from_float(0.001f + 0.02f * random_unit(s));
    case CORNERS:
        return corner[random_below(s, sizeof corner / sizeof *corner)];
    case CANCELLING:
        return 0x3c00;
    case NONFINITE:
        return random_below(s, 8) ? finite_half(s) : wild[random_below(s, sizeof wild / sizeof *wild)];
    default:
        return finite_half(s);
    }
}

static void fill_weight(enum data data, struct random_stream *s, struct block_q4_k *b) {
    *b = (struct block_q4_k){.d = scale(data, s), .dmin = scale(data, s)};
    int extreme = data == CORNERS ? (int)random_below(s, 4) : -1; /* 0: all bits, 1: none */
    for (int i = 0; i < 12; i++)
        b->scales[i] = extreme == 0 ? 255 : extreme == 1 ? 0 : (uint8_t)random_u32(s);
    for (int i = 0; i < 128; i++)
        b->qs[i] = extreme == 0 ? 255 : extreme == 1 ? 0 : (uint8_t)random_u32(s);
}

static void fill_activation(enum data data, struct random_stream *s, struct block_pad40 *b) {
    *b = (struct block_pad40){.d = scale(data, s), .gap = (uint16_t)random_u32(s)};
    int extreme = data == CORNERS ? (int)random_below(s, 4) : -1;
    for (int k = 0; k < 32; k++) {
        b->q[k] = extreme == 0 ? -128 : extreme == 1 ? 127 : (int8_t)(random_u32(s) & 255);
        b->sum += b->q[k];
    }
}

static struct operands make(enum data data, size_t nt, size_t od, size_t id) {
    struct operands o = {.data = data_name[data]};
    struct random_stream s = random_open(random_key("contract"), (uint32_t)(data + 10 * nt + 1000 * od + 100000 * id));
    o.weight = calloc(od * id / 256, sizeof *o.weight);
    o.activation = calloc(nt * id / 32, sizeof *o.activation);
    cr_assert(o.weight && o.activation, "out of memory");
    for (size_t i = 0; i < od * id / 256; i++)
        fill_weight(data, &s, &o.weight[i]);
    for (size_t i = 0; i < nt * id / 32; i++)
        fill_activation(data, &s, &o.activation[i]);
    o.op = (struct contract_operands){.weight = o.weight, .activation = o.activation, .nt = nt, .od = od, .id = id};
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

static const uint8_t *weight_row(const struct operands *o, size_t j) {
    return (const uint8_t *)(o->weight + j * (o->op.id / 256));
}
static const uint8_t *activation_row(const struct operands *o, size_t t) {
    return (const uint8_t *)(o->activation + t * (o->op.id / 32));
}

static size_t cells_that_differ(const struct operands *o, const float *result) {
    size_t wrong = 0;
    for (size_t t = 0; t < o->op.nt; t++)
        for (size_t j = 0; j < o->op.od; j++)
            wrong += float_bits(result[t * o->op.od + j]) !=
                     independent_two_term(weight_row(o, j), activation_row(o, t), o->op.id);
    return wrong;
}

static const struct {
    size_t nt, od, id;
} shape[] = {{1, 1, 256}, {3, 5, 512}, {33, 7, 256}, {2, 17, 1024}, {5, 3, 3584}};
enum { SHAPES = sizeof shape / sizeof *shape };

Test(contract, bits_against_fixed_point) {
    for (int data = 0; data < DATA_CLASSES; data++)
        for (int i = 0; i < SHAPES; i++) {
            struct operands o = make((enum data)data, shape[i].nt, shape[i].od, shape[i].id);
            float *result = evaluated(&o);
            size_t wrong = cells_that_differ(&o, result);
            cr_assert(wrong == 0, "%s nt%zu.od%zu.id%zu: %zu cells differ", o.data, o.op.nt, o.op.od, o.op.id, wrong);
            free(result);
            release(&o);
        }
}

Test(contract, truth_holds_everywhere) {
    for (int data = 0; data < DATA_CLASSES; data++)
        for (int i = 0; i < SHAPES; i++) {
            struct operands o = make((enum data)data, shape[i].nt, shape[i].od, shape[i].id);
            float *result = evaluated(&o);
            struct truth_gap gap = truth_compare(contract(), &o.op, result);
            cr_assert(gap.holds, "%s nt%zu.od%zu.id%zu cell %zu: value %a got %a bound %a", o.data, o.op.nt, o.op.od,
                      o.op.id, gap.cell, gap.value, gap.got, gap.bound);
            free(result);
            release(&o);
        }
}

/* The truth itself, against sums without any rounding: its float64 error is far inside the bound it gives. */
Test(contract, truth_against_exact_sums) {
    for (int data = 0; data < NONFINITE; data++)
        for (int i = 0; i < SHAPES; i++) {
            struct operands o = make((enum data)data, shape[i].nt, shape[i].od, shape[i].id);
            size_t cells = contract()->cells(&o.op);
            double *value = calloc(2 * cells, sizeof *value), *bound = value + cells;
            cr_assert(value, "out of memory");
            contract()->truth(&o.op, value, bound);
            for (size_t c = 0; c < cells; c++) {
                s128 exact =
                    independent_two_term_exact(weight_row(&o, c % o.op.od), activation_row(&o, c / o.op.od), o.op.id);
                double want = ldexp((double)exact, -48);
                cr_assert(fabs(value[c] - want) <= 1e-6 * bound[c], "%s cell %zu: value %a exact %a bound %a", o.data,
                          c, value[c], want, bound[c]);
            }
            free(value);
            release(&o);
        }
}

Test(contract, nan_and_infinity_bits) {
    struct operands o = make(NONFINITE, 33, 40, 256);
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
    struct operands o = make(ORDINARY, 2, 2, 512);
    for (int i = 0; i < 4; i++)
        o.weight[i].d = o.weight[i].dmin = 0x8000;
    float *result = evaluated(&o);
    for (int c = 0; c < 4; c++)
        cr_assert(float_bits(result[c]) == 0, "cell %d: 0x%08x", c, float_bits(result[c]));
    free(result);
    release(&o);
}

Test(contract, threads_do_not_change_bits) {
    struct operands o = make(ANY_BITS, 19, 23, 512);
    static const int threads[] = {1, 2, 7};
    float *first = NULL;
    for (int i = 0; i < 3; i++) {
        omp_set_num_threads(threads[i]);
        float *result = evaluated(&o);
        if (first)
            cr_assert(!memcmp(result, first, contract()->result_bytes(&o.op)), "%d threads give other bits",
                      threads[i]);
        else
            first = result;
        if (result != first)
            free(result);
    }
    free(first);
    release(&o);
}

/* ---- plants: contracts that go wrong in one place ---- */

enum plant { NO_PLANT, ONE_FOLD, MIN_TERM_GROUPED, NOT_FUSED, DESCENDING, DROPPED_TERM, NEIGHBOUR_SCALE, MIN_ADDED };

/* The chunk loop again, plainly, with one fault. */
static float planted_cell(const struct operands *o, size_t t, size_t j, enum plant plant) {
    size_t chunks = o->op.id / 32;
    float s = 0;
    for (size_t i = 0; i < chunks; i++) {
        size_t c = plant == DESCENDING ? chunks - 1 - i : i;
        const struct block_q4_k *w = &o->weight[j * (chunks / 8) + c / 8], *scales = w;
        const struct block_pad40 *a = &o->activation[t * chunks + c];
        if (plant == NEIGHBOUR_SCALE && c / 8 > 0)
            scales = w - 1;
        uint8_t sc, m;
        q4_k_scale_min((unsigned)(c % 8), w->scales, &sc, &m);
        float da = half_to_float(a->d), ds = half_to_float(scales->d) * sc, dm = -(half_to_float(w->dmin) * m);
        float dot = (float)q4_k_dot(w, (unsigned)(c % 8), a->q), sum = (float)a->sum;
        if (plant == MIN_ADDED)
            dm = -dm;
        if (plant == ONE_FOLD) {
            s = fmaf(da, fmaf(ds, dot, dm * sum), s);
        } else if (plant == NOT_FUSED) {
            float first = da * ds * dot, second = da * dm * sum;
            s = s + first;
            s = s + second;
        } else {
            s = fmaf(da * ds, dot, s);
            if (plant == MIN_TERM_GROUPED)
                s = fmaf(da * sum, dm, s);
            else if (plant != DROPPED_TERM || c != chunks / 2)
                s = fmaf(da * dm, sum, s);
        }
    }
    return s;
}

static void planted(const struct operands *o, float *result, enum plant plant) {
    for (size_t t = 0; t < o->op.nt; t++)
        for (size_t j = 0; j < o->op.od; j++)
            result[t * o->op.od + j] = planted_cell(o, t, j, plant);
}

static const struct {
    const char *what;
    enum plant plant;
    bool breaks_truth; /* a legal but different order of roundings changes bits only: what bits are for */
} plants[] = {
    {"one fold a chunk", ONE_FOLD, false},
    {"min term grouped da * sum first", MIN_TERM_GROUPED, false},
    {"product and sum rounded apart", NOT_FUSED, false},
    {"descending in k", DESCENDING, false},
    {"min term of one chunk dropped", DROPPED_TERM, true},
    {"d of the super-block before", NEIGHBOUR_SCALE, true},
    {"min term added", MIN_ADDED, true},
};

Test(contract, planted_folds_are_seen) {
    struct operands o = make(ORDINARY, 9, 11, 1024);
    float *result = evaluated(&o);
    planted(&o, result, NO_PLANT);
    cr_assert(cells_that_differ(&o, result) == 0, "the plant without a fault must pass, or the others prove nothing");
    for (size_t i = 0; i < sizeof plants / sizeof *plants; i++) {
        planted(&o, result, plants[i].plant);
        size_t wrong = cells_that_differ(&o, result);
        cr_assert(wrong > 5, "%s: only %zu of 99 cells differ", plants[i].what, wrong);
        struct truth_gap gap = truth_compare(contract(), &o.op, result);
        cr_assert(gap.holds == !plants[i].breaks_truth, "%s: truth %s, worst %g of the bound", plants[i].what,
                  gap.holds ? "holds" : "broken", gap.worst);
    }
    free(result);
    release(&o);
}

/* truth_compare at the edge of the bound: inside it holds, outside it names the cell. */
Test(contract, truth_compare_at_the_edge) {
    struct operands o = make(ORDINARY, 2, 3, 256);
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
