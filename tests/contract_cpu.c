/* Contracts of ggml's CPU over q8_K: bits against soft arithmetic, truth against exact sums, threads, planted faults.
 */
#include "../ref/half.h"
#include "../ref/q8_k.h"
#include "../ref/truth.h"
#include "contract_data.h"
#include "independent/independent.h"
#include <criterion/criterion.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    enum cpu_kind kind;
} contract_row[] = {{"q4_k_q8_k", CPU_Q4_K}, {"q6_k_q8_k", CPU_Q6_K}};
enum { CONTRACTS = 2 };

static const struct contract *contract(int i) {
    const struct contract *c = contract_named(contract_row[i].name);
    cr_assert(c && !c->splits, "%s is not in the table, or splits", contract_row[i].name);
    return c;
}

static const uint8_t *activation_row(const struct data *d, size_t token) {
    return d->activation + token * (d->op.id / Q8_K_VALUES) * Q8_K_BYTES;
}

static size_t cells_that_differ(const struct data *d, int i, const float *result, bool fused) {
    size_t wrong = 0;
    for (size_t c = 0; c < d->op.nt * d->op.od; c++)
        wrong += float_bits(result[c]) != independent_cpu(contract_row[i].kind, data_weight_row(d, c % d->op.od),
                                                          activation_row(d, c / d->op.od), d->op.id, fused);
    return wrong;
}

static const struct {
    size_t nt, od, id;
} shape[] = {{1, 1, 256}, {3, 5, 512}, {67, 3, 256}, {2, 19, 1024}, {3, 3, 3584}};
enum { SHAPES = sizeof shape / sizeof *shape };

Test(contract_cpu, bits_against_soft_arithmetic, .timeout = 120) {
    for (int i = 0; i < CONTRACTS; i++)
        for (int class = 0; class < DATA_CLASSES; class ++)
            for (int s = 0; s < SHAPES; s++) {
                struct data d = data_make(contract(i), (enum data_class) class, shape[s].nt, shape[s].od, shape[s].id);
                float *result = data_evaluated(&d);
                size_t wrong = cells_that_differ(&d, i, result, false);
                cr_assert(wrong == 0, "%s %s nt%zu.od%zu.id%zu: %zu cells differ", d.contract->name,
                          data_class_name[class], d.op.nt, d.op.od, d.op.id, wrong);
                free(result);
                data_free(&d);
            }
}

Test(contract_cpu, truth, .timeout = 120) {
    for (int i = 0; i < CONTRACTS; i++)
        for (int class = 0; class < DATA_CLASSES; class ++) {
            size_t claimed = 0, all = 0;
            for (int s = 0; s < SHAPES; s++) {
                struct data d = data_make(contract(i), (enum data_class) class, shape[s].nt, shape[s].od, shape[s].id);
                float *result = data_evaluated(&d);
                struct truth_gap gap = truth_compare(d.contract, &d.op, result);
                cr_assert(gap.holds, "%s %s nt%zu.od%zu.id%zu cell %zu: value %a got %a bound %a", d.contract->name,
                          data_class_name[class], d.op.nt, d.op.od, d.op.id, gap.cell, gap.value, gap.got, gap.bound);
                size_t cells = d.op.nt * d.op.od;
                double *value = calloc(2 * cells, sizeof *value), *bound = value + cells;
                cr_assert(value, "out of memory");
                d.contract->truth(&d.op, value, bound);
                for (size_t c = 0; c < cells; c++) {
                    all++;
                    claimed += isfinite(bound[c]) != 0;
                    if (class == DATA_NONFINITE || !isfinite(bound[c]))
                        continue;
                    struct wide sum = {0};
                    independent_cpu_exact(contract_row[i].kind, data_weight_row(&d, c % d.op.od),
                                          activation_row(&d, c / d.op.od), d.op.id, &sum);
                    double want = independent_wide_value(&sum);
                    cr_assert(fabs(value[c] - want) <= 1e-6 * bound[c], "%s %s cell %zu: value %a exact %a bound %a",
                              d.contract->name, data_class_name[class], c, value[c], want, bound[c]);
                }
                free(value);
                free(result);
                data_free(&d);
            }
            size_t least = class == DATA_ORDINARY || class == DATA_TINY ? all : 0;
            cr_assert(claimed >= least, "%s %s: %zu of %zu cells have a bound", contract_row[i].name,
                      data_class_name[class], claimed, all);
        }
}

Test(contract_cpu, threads_do_not_change_bits) {
    static const int threads[] = {1, 2, 5};
    for (int i = 0; i < CONTRACTS; i++) {
        struct data d = data_make(contract(i), DATA_ANY_BITS, 70, 35, 512);
        float *first = NULL;
        for (int n = 0; n < 3; n++) {
            omp_set_num_threads(threads[n]);
            float *result = data_evaluated(&d);
            if (first)
                cr_assert(!memcmp(result, first, d.contract->result_bytes(&d.op)), "%s: %d threads give other bits",
                          d.contract->name, threads[n]);
            else
                first = result;
            if (result != first)
                free(result);
        }
        free(first);
        data_free(&d);
    }
}

/* ---- plants ---- */

enum plant { NO_PLANT, LANES_DESCENDING, MINIMA_LAST, ONE_SUM, NEIGHBOUR_LANES, MIN_OF_FIRST_SUM, PLANTS };
static const char *const plant_name[] = {"none",
                                         "lanes added from the last on",
                                         "minima added last",
                                         "one sum for all lanes of a block",
                                         "values by k / 32, not k mod 8",
                                         "minima by every second stored sum"};

/* The block loop again, plainly, with one fault, for q4_K. */
static float planted_cell(const struct data *d, size_t token, size_t row, enum plant plant) {
    float lane[8] = {0}, minima = 0, sum = 0;
    for (size_t i = 0; i < d->op.id / 256; i++) {
        const uint8_t *w = data_weight_row(d, row) + i * 144;
        struct block_q8_k a;
        uint16_t half[2];
        memcpy(&a, activation_row(d, token) + i * Q8_K_BYTES, sizeof a);
        memcpy(half, w, 4);
        int32_t dot[8] = {0}, low = 0;
        for (unsigned e = 0; e < 256; e++) {
            const struct integers c = independent_read_q4_k(w, e);
            dot[plant == ONE_SUM ? 0 : plant == NEIGHBOUR_LANES ? e / 32 : e % 8] += c.scale * c.code * a.q[e];
            if (e % 16 == 0)
                low += c.min * a.sums[plant == MIN_OF_FIRST_SUM ? e / 32 * 2 : e / 16];
        }
        for (int l = 0; l < 8; l++)
            lane[l] += half_to_float(half[0]) * a.d * (float)dot[l];
        minima -= half_to_float(half[1]) * a.d * (float)low;
    }
    sum = plant == MINIMA_LAST ? 0 : minima;
    for (int l = 0; l < 8; l++)
        sum += lane[plant == LANES_DESCENDING ? 7 - l : l];
    return plant == MINIMA_LAST ? sum + minima : sum;
}

Test(contract_cpu, planted_faults_are_seen) {
    struct data d = data_make(contract(0), DATA_ORDINARY, 9, 11, 1024);
    float *result = data_evaluated(&d);
    for (int plant = 0; plant < PLANTS; plant++) {
        for (size_t c = 0; c < 99; c++)
            result[c] = planted_cell(&d, c / 11, c % 11, (enum plant)plant);
        size_t wrong = cells_that_differ(&d, 0, result, false);
        cr_assert(plant == NO_PLANT ? wrong == 0 : wrong > 5, "%s: %zu of 99 cells differ", plant_name[plant], wrong);
        struct truth_gap gap = truth_compare(d.contract, &d.op, result);
        cr_assert(gap.holds == (plant != MIN_OF_FIRST_SUM), "%s: truth %s, worst %g of the bound", plant_name[plant],
                  gap.holds ? "holds" : "broken", gap.worst);
    }
    free(result);
    data_free(&d);
    for (int i = 0; i < CONTRACTS; i++) { /* what a compiler that contracts makes of it: legal, and other bits */
        d = data_make(contract(i), DATA_ORDINARY, 9, 11, 1024);
        result = data_evaluated(&d);
        size_t wrong = cells_that_differ(&d, i, result, true);
        cr_assert(wrong > 5, "%s fused: only %zu of 99 cells differ", d.contract->name, wrong);
        free(result);
        data_free(&d);
    }
}

/* Stored sums beyond those of int8: the sum of minima passes 2^24, and (float)sum rounds. */
Test(contract_cpu, sums_beyond_int8) {
    struct data d = data_make(contract(0), DATA_ORDINARY, 1, 1, 256);
    memset(d.weight + 4, 0xff, 12); /* all scales and minima 63 */
    int16_t sums[Q8_K_SUMS];
    for (int i = 0; i < Q8_K_SUMS; i++)
        sums[i] = i ? INT16_MAX : INT16_MAX - 2;
    memcpy(d.activation + 260, sums, sizeof sums);
    float *result = data_evaluated(&d);
    cr_assert(63 * (16 * INT16_MAX - 2) > 1 << 24, "the sum must be beyond 24 bits");
    cr_assert(cells_that_differ(&d, 0, result, false) == 0, "got %a", (double)*result);
    cr_assert(truth_compare(d.contract, &d.op, result).holds, "truth");
    free(result);
    data_free(&d);
}
