/* Contracts of llama.cpp's MMQ over q8_1_mmq: bits against the kernel's own on an H200 and against soft arithmetic,
 * truth against exact sums, splits, threads, and planted faults. */
#include "../ref/format.h"
#include "../ref/half.h"
#include "../ref/truth.h"
#include "contract_data.h"
#include "independent/independent.h"
#include <criterion/criterion.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    enum mmq_kind kind;
    size_t block_values;
} contract_row[] = {{"q4_k_q8_1_mmq_ds4", MMQ_Q4_K_DS4, 256},
                    {"q6_k_q8_1_mmq_d4", MMQ_Q6_K_D4, 256},
                    {"q8_0_q8_1_mmq_d4", MMQ_Q8_0_D4, 32}};
enum { CONTRACTS = sizeof contract_row / sizeof *contract_row };

static const struct contract *contract(int i) {
    const struct contract *c = contract_named(contract_row[i].name);
    cr_assert(c && c->splits, "%s is not in the table, or does not split", contract_row[i].name);
    return c;
}

/* ---- cells a second time ---- */

enum plant { NO_PLANT, FORGOTTEN_PART, PARTS_ASCENDING, LAST_PART_FIRST, NO_FLUSH, F32_PRODUCTS, NO_SPLIT };

/* Cuts of the tile of a cell, ascending, by a walk over the blocks (stream-k) or as they stand in the split. */
static size_t cuts_of(const struct data *d, size_t block_values, size_t token, size_t row, size_t cuts[64]) {
    const struct split *s = &d->op.split;
    if (s->kind != SPLIT_STREAM_K) {
        memcpy(cuts, s->cuts, s->cut_count * sizeof *cuts);
        return s->kind == SPLIT_AT ? s->cut_count : 0;
    }
    size_t j = 8; /* the smallest of these with as few tiles as 128 has */
    static const size_t fallback[] = {8, 16, 32, 64, 128}, whole[] = {8, 16, 24, 32, 40, 48, 64, 80, 96, 112, 128};
    for (int i = 10; i >= 0; i--) {
        size_t candidate = d->op.od % 128 ? (i < 5 ? fallback[i] : 128) : whole[i];
        if ((d->op.nt + candidate - 1) / candidate == (d->op.nt + 127) / 128)
            j = candidate;
    }
    const size_t along = (d->op.nt + j - 1) / j, tiles = along * ((d->op.od + 127) / 128);
    const size_t blocks = d->op.id / block_values, tile = row / 128 * along + token / j;
    size_t *owner = malloc(tiles * blocks * sizeof *owner), count = 0;
    cr_assert(owner, "out of memory");
    independent_stream_k(tiles, blocks, 256 / block_values, s->multiprocessors, owner);
    for (size_t b = 1; b < blocks; b++)
        if (owner[tile * blocks + b] != owner[tile * blocks + b - 1]) {
            cr_assert(count < 64, "more cuts than this test has room for");
            cuts[count++] = b * block_values;
        }
    free(owner);
    return count;
}

static uint32_t cell(const struct data *d, int i, size_t token, size_t row, enum plant plant) {
    const enum mmq_kind kind = contract_row[i].kind;
    const struct mmq_rules rules = {.flush = plant != NO_FLUSH, .half_products = plant != F32_PRODUCTS};
    size_t cuts[65], count = plant == NO_SPLIT ? 0 : cuts_of(d, contract_row[i].block_values, token, row, cuts);
    uint32_t part[65];
    cuts[count] = d->op.id;
    for (size_t p = 0; p <= count; p++)
        part[p] = independent_mmq_part(kind, data_weight_row(d, row), d->activation, d->op.nt, token,
                                       p ? cuts[p - 1] : 0, cuts[p], rules);
    if (count == 0)
        return part[0];
    uint32_t s = 0;
    for (size_t p = 0; p < count; p++) {
        const size_t next = plant == PARTS_ASCENDING || plant == LAST_PART_FIRST ? p : count - 1 - p;
        if (plant != FORGOTTEN_PART || next != 0)
            s = independent_add(s, part[next], rules.flush);
        if (plant == LAST_PART_FIRST && p == 0)
            s = independent_add(part[count], s, rules.flush);
    }
    return plant == LAST_PART_FIRST ? s : independent_add(part[count], s, rules.flush);
}

static size_t cells_that_differ(const struct data *d, int i, const float *result, enum plant plant) {
    size_t wrong = 0;
#pragma omp parallel for reduction(+ : wrong) schedule(dynamic)
    for (size_t c = 0; c < d->op.nt * d->op.od; c++)
        wrong += float_bits(result[c]) != cell(d, i, c / d->op.od, c % d->op.od, plant);
    return wrong;
}

static const struct {
    size_t nt, od, id;
    const char *split;
} shape[] = {{1, 1, 256, "none"},        {3, 5, 512, "none"},          {9, 7, 1280, "at:256,768,1024"},
             {3, 5, 1024, "stream-k:3"}, {17, 130, 768, "stream-k:7"}, {131, 3, 512, "stream-k:132"},
             {2, 3, 2048, "stream-k:5"}, {33, 9, 256, "stream-k:132"}};
enum { SHAPES = sizeof shape / sizeof *shape };

static struct data make(int i, enum data_class class, int s) {
    struct data d = data_make(contract(i), class, shape[s].nt, shape[s].od, shape[s].id);
    struct error e = {""};
    cr_assert(split_parse(shape[s].split, &d.op.split, &e), "%s", e.text);
    cr_assert(split_check(&d.op.split, d.op.id, d.contract->depth_multiple, &e), "%s", e.text);
    return d;
}

Test(contract_mmq, bits_against_soft_arithmetic, .timeout = 300) {
    for (int i = 0; i < CONTRACTS; i++)
        for (int class = 0; class < DATA_CLASSES; class ++)
            for (int s = 0; s < SHAPES; s++) {
                struct data d = make(i, (enum data_class) class, s);
                float *result = data_evaluated(&d);
                size_t wrong = cells_that_differ(&d, i, result, NO_PLANT);
                cr_assert(wrong == 0, "%s %s nt%zu.od%zu.id%zu %s: %zu cells differ", d.contract->name,
                          data_class_name[class], d.op.nt, d.op.od, d.op.id, shape[s].split, wrong);
                free(result);
                data_free(&d);
            }
}

/* The truth holds, says something (a finite bound) about most cells of all but extreme data, and its float64 error is
 * far inside its bound. */
Test(contract_mmq, truth, .timeout = 300) {
    for (int i = 0; i < CONTRACTS; i++)
        for (int class = 0; class < DATA_CLASSES; class ++) {
            size_t claimed = 0, all = 0;
            for (int s = 0; s < SHAPES; s++) {
                struct data d = make(i, (enum data_class) class, s);
                float *result = data_evaluated(&d);
                struct truth_gap gap = truth_compare(d.contract, &d.op, result);
                cr_assert(gap.holds, "%s %s nt%zu.od%zu.id%zu %s cell %zu: value %a got %a bound %a", d.contract->name,
                          data_class_name[class], d.op.nt, d.op.od, d.op.id, shape[s].split, gap.cell, gap.value,
                          gap.got, gap.bound);
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
                    independent_mmq_exact(contract_row[i].kind, data_weight_row(&d, c % d.op.od), d.activation, d.op.nt,
                                          c / d.op.od, 0, d.op.id, &sum);
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

/* Of ordinary data the bound is tight enough to be broken by a wrong sub-block: a thousandth of sum|terms| for q4_K. */
Test(contract_mmq, truth_sees_a_lost_part) {
    for (int i = 0; i < CONTRACTS; i++) {
        struct data d = make(i, DATA_ORDINARY, 3);
        float *result = data_evaluated(&d);
        for (size_t c = 0; c < d.op.nt * d.op.od; c++)
            result[c] = bits_float(cell(&d, i, c / d.op.od, c % d.op.od, FORGOTTEN_PART));
        struct truth_gap gap = truth_compare(d.contract, &d.op, result);
        cr_assert(!gap.holds && gap.worst > 2, "%s: a lost part is %g of the bound", d.contract->name, gap.worst);
        free(result);
        data_free(&d);
    }
}

Test(contract_mmq, threads_do_not_change_bits) {
    static const int threads[] = {1, 2, 5};
    for (int i = 0; i < CONTRACTS; i++) {
        struct data d = data_make(contract(i), DATA_ANY_BITS, 150, 140, 512);
        cr_assert(split_parse("stream-k:6", &d.op.split, NULL), "split");
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

/* ---- bytes of an H200 ---- */

static void *golden(const char *name, size_t bytes) {
    char path[128];
    snprintf(path, sizeof path, "fixtures/golden/llama_q4_k/%s", name);
    FILE *f = fopen(path, "rb");
    void *data = malloc(bytes + 1);
    cr_assert(f && data, "%s", path);
    cr_assert(fread(data, 1, bytes + 1, f) == bytes, "%s: not %zu bytes", path, bytes);
    fclose(f);
    return data;
}

/* llama.cpp's kernel, m = 128, k = 512, n = 128: without a split, and as it ran on 132 multiprocessors. */
Test(contract_mmq, golden_bytes) {
    enum { CELLS = 128 * 128 };
    uint8_t *weight = golden("w_q.bin", 128 * 2 * 144), *activation = golden("q8_1_mmq.bin", 4 * 128 * 144);
    float *whole = golden("y_nosplit_f32.bin", CELLS * 4), *cut = golden("y_streamk_f32.bin", CELLS * 4);
    struct data d = {.contract = contract(0), .weight = weight, .activation = activation, .weight_row_bytes = 288};
    d.op = (struct contract_operands){.weight = weight, .activation = activation, .nt = 128, .od = 128, .id = 512};
    float *result = data_evaluated(&d);
    cr_assert(!memcmp(result, whole, CELLS * 4), "the unsplit product is not the GPU's");
    cr_assert(memcmp(result, cut, CELLS * 4), "the split must show in this data");
    struct truth_gap gap = truth_compare(d.contract, &d.op, result);
    cr_assert(gap.holds && gap.worst > 0.1, "truth: worst %g of the bound", gap.worst);
    free(result);
    static const char *const splits[] = {"stream-k:132", "at:256"};
    for (int i = 0; i < 2; i++) {
        cr_assert(split_parse(splits[i], &d.op.split, NULL), "split");
        result = data_evaluated(&d);
        cr_assert(!memcmp(result, cut, CELLS * 4), "the product split by %s is not the GPU's", splits[i]);
        free(result);
    }
    static const enum plant plants[] = {FORGOTTEN_PART, F32_PRODUCTS, NO_SPLIT};
    for (int i = 0; i < 3; i++)
        cr_assert(cells_that_differ(&d, 0, cut, plants[i]) > 1000, "plant %d must show in this data", plants[i]);
    cr_assert(cells_that_differ(&d, 0, cut, NO_PLANT) == 0, "soft arithmetic is not the GPU's");
    free(weight);
    free(activation);
    free(whole);
    free(cut);
}

/* ---- plants ---- */

static const struct {
    const char *what;
    enum plant plant;
    int contract;
    enum data_class class;
} plants[] = {
    {"the first part forgotten", FORGOTTEN_PART, 0, DATA_ORDINARY},
    {"the first part forgotten", FORGOTTEN_PART, 1, DATA_ORDINARY},
    {"the first part forgotten", FORGOTTEN_PART, 2, DATA_ORDINARY},
    {"parts added from the first on", PARTS_ASCENDING, 0, DATA_ORDINARY},
    {"parts added from the first on", PARTS_ASCENDING, 1, DATA_ORDINARY},
    {"parts added from the first on", PARTS_ASCENDING, 2, DATA_ORDINARY},
    {"the last part added early", LAST_PART_FIRST, 0, DATA_ORDINARY},
    {"no split", NO_SPLIT, 0, DATA_ORDINARY},
    {"no split", NO_SPLIT, 1, DATA_ORDINARY},
    {"no split", NO_SPLIT, 2, DATA_ORDINARY},
    {"subnormal numbers kept", NO_FLUSH, 1, DATA_TINY},
    {"subnormal numbers kept", NO_FLUSH, 2, DATA_TINY},
    {"products d * sc in f32", F32_PRODUCTS, 0, DATA_ORDINARY},
    {"products d * sc in f32", F32_PRODUCTS, 0, DATA_LARGE},
};

Test(contract_mmq, planted_faults_are_seen, .timeout = 120) {
    for (size_t i = 0; i < sizeof plants / sizeof *plants; i++) {
        const int c = plants[i].contract;
        struct data d = data_make(contract(c), plants[i].class, 9, 11, 1280);
        cr_assert(split_parse("at:256,768,1024", &d.op.split, NULL), "split");
        float *result = data_evaluated(&d);
        cr_assert(cells_that_differ(&d, c, result, NO_PLANT) == 0, "without a fault it must pass");
        size_t wrong = cells_that_differ(&d, c, result, plants[i].plant);
        cr_assert(wrong > 5, "%s, %s: only %zu of 99 cells differ", plants[i].what, d.contract->name, wrong);
        free(result);
        data_free(&d);
    }
}

/* One block of q8_0 and one chunk of activations that is not 0: y = rn((127 q + r) * d) * da, and what .ftz makes of
 * it; the truth must hold of it. */
static uint32_t one_term(const char *what, int8_t q, int8_t r, uint16_t d, uint32_t da) {
    uint8_t weight[8 * 34] = {0}, activation[2 * 144] = {0};
    memcpy(weight, &d, 2);
    weight[2] = 127;
    weight[3] = 1;
    memcpy(activation, &da, 4);
    activation[16] = (uint8_t)q;
    activation[17] = (uint8_t)r;
    struct contract_operands op = {.weight = weight, .activation = activation, .nt = 1, .od = 1, .id = 256};
    float result;
    contract(2)->evaluate(&op, &result);
    const struct truth_gap gap = truth_compare(contract(2), &op, &result);
    cr_assert(gap.holds, "%s: value %a got %a bound %a", what, gap.value, gap.got, gap.bound);
    return float_bits(result);
}

Test(contract_mmq, flushed_to_zero) {
    static const struct {
        const char *what;
        int8_t q, r;
        uint16_t d;
        uint32_t da, want;
    } row[] = {
        {"the least normal number", 0, 1, 0x3c00, 0x00800000, 0x00800000},
        {"its negative", 0, -1, 0x3c00, 0x00800000, 0x80800000},
        {"a subnormal operand, though the product is normal", 0, 64, 0x3c00, 0x007fffff, 0x00000000},
        {"a subnormal result", 0, 1, 0x3800, 0x00800000, 0x00000000},
        {"a negative subnormal result: s is -0, and a chunk of +0 follows", 0, -1, 0x3800, 0x00800000, 0x00000000},
        {"(1 - 2^-11) * 2^-126", 0, 1, 0x3bff, 0x00800000, 0x00000000},
        /* 10845 * 1547 = 2^24 - 1 */
        {"(1 - 2^-24) * 2^-126, which IEEE 754 rounds to 2^-126", 85, 50, 0x060b, 0x00800000, 0x00000000},
        {"overflow", 1, 0, 0x7bff, 0x7f000000, 0x7f800000},
        /* NaN, where float64 has an infinity: nothing may be claimed */
        {"an infinite scale and a flushed one", 0, 1, 0x7c00, 0x00000001, 0x7fffffff},
        {"an infinite scale and another one", 0, 1, 0x7c00, 0x00800000, 0x7f800000},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const uint32_t got = one_term(row[i].what, row[i].q, row[i].r, row[i].d, row[i].da);
        cr_assert(got == row[i].want, "%s: 0x%08x, want 0x%08x", row[i].what, got, row[i].want);
    }
}

/* q8_0 of four runs whose sums are p, one each. */
static uint32_t four_parts(const uint32_t p[4], const char *split) {
    uint8_t weight[32 * 34] = {0}, activation[8 * 144] = {0};
    const uint16_t one = 0x3c00;
    for (int i = 0; i < 4; i++) {
        memcpy(weight + i * 8 * 34, &one, 2);
        weight[i * 8 * 34 + 2] = 1;
        memcpy(activation + i * 2 * 144, &p[i], 4);
        activation[i * 2 * 144 + 16] = 1;
    }
    struct contract_operands op = {.weight = weight, .activation = activation, .nt = 1, .od = 1, .id = 1024};
    float result;
    cr_assert(split_parse(split, &op.split, NULL), "split");
    contract(2)->evaluate(&op, &result);
    struct truth_gap gap = truth_compare(contract(2), &op, &result);
    cr_assert(gap.holds, "value %a got %a bound %a", gap.value, gap.got, gap.bound);
    return float_bits(result);
}

/* Sums of parts are flushed too: 0x00c00000 is 1.5 * 2^-126. */
Test(contract_mmq, parts_are_flushed) {
    static const struct {
        const char *what, *split;
        uint32_t part[4], want;
    } row[] = {
        {"last + sum", "at:256,512,768", {0x80800000, 0, 0, 0x00c00000}, 0},
        {"a negative one", "at:256,512,768", {0x00800000, 0, 0, 0x80c00000}, 0x80000000},
        {"sum of two parts, and a third", "at:256,512,768", {0x00800000, 0x80800000, 0x00c00000, 0}, 0x00800000},
        {"the same in two parts", "at:768", {0x00800000, 0x80800000, 0x00c00000, 0}, 0x00c00000},
        {"the same without a cut", "none", {0x00800000, 0x80800000, 0x00c00000, 0}, 0x00c00000},
        {"nothing is subnormal", "at:256,512,768", {0x01400000, 0x80800000, 0x00800000, 0}, 0x01400000},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const uint32_t got = four_parts(row[i].part, row[i].split);
        cr_assert(got == row[i].want, "%s: 0x%08x, want 0x%08x", row[i].what, got, row[i].want);
    }
}

/* q6_K whose group has two terms, da0 and da1, times d: what is flushed in the group, and of its sum, is in the bound.
 */
static struct truth_gap two_terms(uint32_t da0, uint32_t da1, float d, uint32_t *bits) {
    struct block_integers b = {.d = d};
    uint8_t weight[210], activation[2 * 144] = {0};
    b.scale[0] = b.scale[2] = b.code[0] = b.code[32] = 1;
    format_named("q6_K")->pack(&b, weight);
    memcpy(activation, &da0, 4);
    memcpy(activation + 4, &da1, 4);
    activation[16] = activation[16 + 32] = 1;
    struct contract_operands op = {.weight = weight, .activation = activation, .nt = 1, .od = 1, .id = 256};
    float result;
    contract(1)->evaluate(&op, &result);
    *bits = float_bits(result);
    return truth_compare(contract(1), &op, &result);
}

Test(contract_mmq, groups_are_flushed) {
    static const struct {
        const char *what;
        uint32_t da[2];
        float d;
        uint32_t want;
    } row[] = {
        {"half of 2^-126 is flushed before it meets a large d", {0x00c00000, 0x80800000}, 60000, 0},
        {"so is a subnormal operand", {0x00400000, 0}, 60000, 0},
        {"a sum of half of 2^-126", {0x0c000000, 0}, 0x1p-24f, 0},
        {"nothing is", {0x00800000, 0}, 1, 0x00800000},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        uint32_t bits;
        struct truth_gap gap = two_terms(row[i].da[0], row[i].da[1], row[i].d, &bits);
        cr_assert(bits == row[i].want, "%s: 0x%08x, want 0x%08x", row[i].what, bits, row[i].want);
        cr_assert(gap.holds, "%s: value %a got %a bound %a", row[i].what, gap.value, gap.got, gap.bound);
        cr_assert(row[i].want || gap.worst > 0.05, "%s: the bound is loose, %g of it", row[i].what, gap.worst);
    }
}

/* B49, llama.cpp #17089: the fixup took its columns without the tile's number. Twelve tokens of ones, depth 512 cut at
 * 256 in the second tile of 8 tokens: 512 everywhere, where the bug gave 256 for tokens 8 .. 11 and 768 for 0 .. 3. */
Test(contract_mmq, B49_fixup_goes_to_its_own_tile) {
    enum { NT = 12, OD = 4, ID = 512, TILE = 8 };
    uint8_t *weight = calloc(OD * ID / 32, 34), *activation = calloc(NT * ID / 128, 144);
    cr_assert(weight && activation, "out of memory");
    const uint16_t one = 0x3c00;
    const float single = 1;
    for (size_t b = 0; b < OD * ID / 32; b++) {
        memcpy(weight + b * 34, &one, 2);
        memset(weight + b * 34 + 2, 1, 32);
    }
    for (size_t b = 0; b < NT * ID / 128; b++) {
        for (int c = 0; c < 4; c++)
            memcpy(activation + b * 144 + 4 * c, &single, 4);
        memset(activation + b * 144 + 16, 1, 128);
    }
    struct data d = {.contract = contract(2), .weight = weight, .activation = activation};
    d.weight_row_bytes = ID / 32 * 34;
    d.op = (struct contract_operands){.weight = weight, .activation = activation, .nt = NT, .od = OD, .id = ID};
    static const char *const splits[] = {"none", "at:256", "stream-k:2", "stream-k:132"};
    for (int s = 0; s < 4; s++) {
        cr_assert(split_parse(splits[s], &d.op.split, NULL), "split");
        float *result = data_evaluated(&d);
        for (size_t c = 0; c < NT * OD; c++)
            cr_assert(float_bits(result[c]) == float_bits(512.0f), "%s cell %zu: %g", splits[s], c, (double)result[c]);
        free(result);
    }
    float faulty[NT * OD];
    for (size_t t = 0; t < NT; t++) /* planted: the first part of tile 1 lands in tile 0 */
        for (size_t j = 0; j < OD; j++)
            faulty[t * OD + j] = t >= TILE ? 256 : t < NT - TILE ? 768 : 512;
    cr_assert(cells_that_differ(&d, 2, faulty, NO_PLANT) == 8 * OD, "planted: cells of 8 tokens are wrong");
    cr_assert(!truth_compare(d.contract, &d.op, faulty).holds, "planted: the truth must not hold");
    free(weight);
    free(activation);
}

/* d * sc beyond binary16: infinite for the kernel, and nothing is claimed about such a cell. */
Test(contract_mmq, half_overflow_is_claimed_by_no_bound) {
    struct data d = data_make(contract(0), DATA_LARGE, 9, 11, 512);
    float *result = data_evaluated(&d);
    double value[99], bound[99];
    d.contract->truth(&d.op, value, bound);
    size_t unclaimed = 0;
    for (int c = 0; c < 99; c++) {
        cr_assert(isfinite(value[c]), "cell %d: the value itself is finite", c);
        unclaimed += isinf(bound[c]) && !isfinite(result[c]);
        cr_assert(isfinite(result[c]) || isinf(bound[c]), "cell %d: infinite within a bound of %a", c, bound[c]);
    }
    cr_assert(unclaimed > 10, "the data must bring some: %zu", unclaimed);
    free(result);
    data_free(&d);
}
