/* The activation quantisers: bytes against exact integers and against hardware, their contracts' truth. Faults of
 * the field are in tests/field_bugs.c, pad40's own tests in tests/pad40.c. */
#include "../ref/activation.h"
#include "../ref/contract.h"
#include "../ref/half.h"
#include "../ref/random.h"
#include "../ref/rcp_approx.h"
#include "../ref/truth.h"
#include "independent/independent.h"
#include "measured.h"
#include <math.h>
#include <omp.h>
#include <string.h>

static const uint8_t *table; /* for the second implementations; NULL where ref/ has none either */

static void load(void) {
    struct error e;
    cr_assert(rcp_approx_load(RCP_TABLE, &e), "%s", e.text);
    table = measured_table(); /* until the test's process ends */
}

/* ---- blocks of every kind that has been trouble ---- */

enum { KINDS = 12, MOST = 256 };

/* amax where something begins or ends: flushes, overflows of the inverse, binary16's ends. */
static float border(struct random_stream *s) {
    static const float at[] = {0x1p-126f,      127 * 0x1p-126f, 127 * 0x1p-128f,   0x1p126f,
                               127 * 0x1p-25f, 127 * 0x1p-26f,  127 * 65520.0f,    127 * 65504.0f,
                               127 * 0x1p-14f, 0x1.fffffep127f, 127 * 0x1.8p-127f, 0x1p-149f};
    float x = at[random_below(s, sizeof at / sizeof *at)];
    return bits_float(float_bits(x) + random_below(s, float_bits(x) == 0x7f7fffff || float_bits(x) < 9 ? 1 : 9) -
                      (float_bits(x) < 9 ? 0 : 4));
}

static void fill(unsigned kind, struct random_stream *s, float *x, size_t count) {
    float size = ldexpf(1, (int)random_below(s, 240) - 120), edge = border(s), odd = 0.3f + random_unit(s);
    for (size_t k = 0; k < count; k++) {
        uint32_t sign = random_u32(s) & 0x80000000;
        switch (kind) {
        case 0: /* normal data of any size */
            x[k] = size * random_normal(s);
            break;
        case 1: /* ties: amax = 127, so d = 1 and halves are exact */
            x[k] = k % 32 ? ((float)random_below(s, 509) - 254) / 2 : 127;
            break;
        case 2: /* near ties under an inverse that is not exact */
            x[k] = k % 32 ? (0.5f + (float)random_below(s, 127)) * odd : 127 * odd;
            break;
        case 3: /* any bits at all: infinities, NaN, every exponent */
            x[k] = bits_float(random_u32(s));
            break;
        case 4: /* subnormal and little more */
            x[k] = random_below(s, 3) ? bits_float(sign | random_below(s, 0x06000000)) : 0.0f;
            break;
        case 5: /* huge */
            x[k] = bits_float(sign | (0x7a000000 + random_below(s, 0x057fffff)));
            break;
        case 6: /* zeros of both signs, and now and then one value */
            x[k] = random_below(s, 40) ? bits_float(sign) : size;
            break;
        case 7: /* NaN among numbers, or nothing but NaN */
            x[k] = random_below(s, 8) ? bits_float(0x7f800001 + random_below(s, 0x7fffff)) : random_normal(s);
            break;
        case 8: /* all at the largest value: sums at their ends */
            x[k] = random_below(s, 32) ? size : -size;
            break;
        case 9: /* the largest value at a border */
            x[k] = k % 32 == 7 ? bits_float(float_bits(edge) | sign) : random_unit(s) * edge;
            break;
        case 10: /* one infinity */
            x[k] = k % 64 == 5 ? bits_float(0x7f800000 | sign) : random_normal(s);
            break;
        default: /* terms of every size: the order of the sum shows */
            x[k] = ldexpf(random_normal(s), (int)random_below(s, 20));
            break;
        }
    }
}

/* ---- bytes ---- */

static const struct q8_1_rules no_fault;

static void second(const char *name, const struct q8_1_rules *r, const uint32_t *x, uint8_t *block) {
    if (!strcmp(name, "q8_1"))
        independent_q8_1(r, x, block);
    else if (!strcmp(name, "q8_1_cuda"))
        independent_q8_1_cuda(r, table, x, block);
    else if (!strcmp(name, "q8_1_mmq_d4"))
        independent_q8_1_mmq(Q8_1_MMQ_D4, r, table, x, block);
    else if (!strcmp(name, "q8_1_mmq_ds4"))
        independent_q8_1_mmq(Q8_1_MMQ_DS4, r, table, x, block);
    else if (!strcmp(name, "q8_1_mmq_d2s6"))
        independent_q8_1_mmq(Q8_1_MMQ_D2S6, r, table, x, block);
    else
        independent_quantize_q8_k(x, block, Q8_K_RIGHT); /* its plants are in tests/q8_k.c */
}

static const char *const names[] = {"q8_1", "q8_1_cuda", "q8_1_mmq_d4", "q8_1_mmq_ds4", "q8_1_mmq_d2s6", "q8_K"};
enum { NAMES = sizeof names / sizeof *names };

/* What the second implementation says nothing about: NaN, which ggml's CPU quantisers leave to chance; of q8_K
 * infinity. */
static bool is_left_open(const char *name, const float *x, size_t count) {
    bool nan = false, infinite = false;
    for (size_t k = 0; k < count; k++) {
        nan |= isnan(x[k]) != 0;
        infinite |= isinf(x[k]) != 0;
    }
    return (nan && (!strcmp(name, "q8_1") || !strcmp(name, "q8_K"))) || (infinite && !strcmp(name, "q8_K"));
}

/* Blocks of `count` in each kind that differ from the second implementation under these rules. */
static int wrong_blocks(const char *name, const struct q8_1_rules *r, int count, int wrong_of_kind[KINDS]) {
    const struct activation_format *f = activation_named(name);
    struct random_stream s = random_open(random_key(name), 0);
    int wrong = 0;
    memset(wrong_of_kind, 0, KINDS * sizeof *wrong_of_kind);
    for (int i = 0; i < count * KINDS; i++) {
        float x[MOST];
        uint32_t bits[MOST];
        uint8_t got[ACTIVATION_MOST_BYTES], want[ACTIVATION_MOST_BYTES];
        fill((unsigned)i % KINDS, &s, x, f->block_values);
        if (is_left_open(name, x, f->block_values))
            continue;
        memcpy(bits, x, sizeof bits);
        memset(got, 0xa5, sizeof got);
        f->quantize(x, got);
        second(name, r, bits, want);
        bool differs = memcmp(got, want, f->block_bytes) != 0;
        wrong_of_kind[i % KINDS] += differs;
        wrong += differs;
    }
    return wrong;
}

static void bytes_agree(void) {
    for (size_t n = 0; n < NAMES; n++) {
        int of_kind[KINDS], wrong = wrong_blocks(names[n], &no_fault, 500, of_kind), kind = 0;
        while (wrong && !of_kind[kind])
            kind++;
        cr_assert(wrong == 0, "%s: %d blocks differ, the first of kind %d", names[n], wrong, kind);
    }
}

Test(quantizers, bytes_against_exact_integers) {
    load();
    bytes_agree();
}

Test(quantizers, bytes_without_the_measured_table) {
    bytes_agree();
    int of_kind[KINDS];
    table = measured_table(); /* planted: one side measured, the other not */
    cr_assert(wrong_blocks("q8_1_mmq_ds4", &no_fault, 300, of_kind) > 0, "correctly rounded passes for measured");
    cr_assert(wrong_blocks("q8_1_cuda", &no_fault, 300, of_kind) > 0, "correctly rounded passes for measured");
}

/* ---- plants: the quantisers as they are often written ---- */

static const struct {
    const char *what, *name;
    struct q8_1_rules rules;
} plants[] = {
    {"ties to even", "q8_1", {.ties_to_even = true}},
    {"the sum of the values", "q8_1", {.sum_of_values = true}},
    {"ties to even", "q8_1_cuda", {.ties_to_even = true}},
    {"subnormals kept", "q8_1_cuda", {.keeps_subnormals = true}},
    {"IEEE division", "q8_1_cuda", {.divides_exactly = true}},
    {"sum in the order of the values", "q8_1_cuda", {.sums_in_order = true}},
    {"codes held to int8", "q8_1_cuda", {.holds_codes = true}},
    {"ties to even", "q8_1_mmq_d4", {.ties_to_even = true}},
    {"IEEE division", "q8_1_mmq_d4", {.divides_exactly = true}},
    {"d = amax / 127", "q8_1_mmq_d4", {.scale_of_amax = true}},
    {"subnormals kept", "q8_1_mmq_d4", {.keeps_subnormals = true}},
    {"codes held to int8", "q8_1_mmq_d4", {.holds_codes = true}},
    {"sum in the order of the lanes", "q8_1_mmq_ds4", {.sums_in_order = true}},
    {"IEEE division", "q8_1_mmq_ds4", {.divides_exactly = true}},
    {"d = amax / 127", "q8_1_mmq_ds4", {.scale_of_amax = true}},
    {"sum in the order of the lanes", "q8_1_mmq_d2s6", {.sums_in_order = true}},
    {"ties to even", "q8_1_mmq_d2s6", {.ties_to_even = true}},
};

Test(quantizers, planted_quantisers_are_seen) {
    load();
    for (size_t i = 0; i < sizeof plants / sizeof *plants; i++) {
        int of_kind[KINDS];
        cr_assert(wrong_blocks(plants[i].name, &plants[i].rules, 400, of_kind) > 0, "%s: %s went unseen",
                  plants[i].name, plants[i].what);
    }
}

/* ---- hardware ---- */

Test(quantizers, bytes_of_an_h200) {
    static const struct {
        const char *x, *blocks;
        size_t nt;
    } row[] = {
        {"fixtures/golden/llama_q4_k/x_f32.bin", "fixtures/golden/llama_q4_k/q8_1_mmq.bin", 128},
        {"fixtures/golden/llama_q4_k/edge_x_f32.bin", "fixtures/golden/llama_q4_k/edge_q8_1_mmq.bin", 8},
    };
    const struct activation_format *f = activation_named("q8_1_mmq_ds4");
    for (int measured = 0; measured < 2; measured++) {
        for (size_t i = 0; i < 2; i++) {
            const size_t bytes = row[i].nt * 4 * 144;
            uint8_t *x = golden_file(row[i].x, row[i].nt * 512 * 4), *want = golden_file(row[i].blocks, bytes);
            uint8_t *got = malloc(bytes);
            float *values = malloc(row[i].nt * 512 * sizeof *values);
            cr_assert(got && values, "out of memory");
            memcpy(values, x, row[i].nt * 512 * sizeof *values);
            activation_quantize(f, values, row[i].nt, 512, got);
            bool equal = !memcmp(got, want, bytes);
            cr_assert(equal || !measured, "%s: other bytes than the hardware's", row[i].blocks);
            cr_assert(measured || i || !equal, "planted: bytes agree without the measured table");
            free(x), free(want), free(got), free(values);
        }
        struct error e;
        cr_assert(rcp_approx_load(RCP_TABLE, &e), "%s", e.text);
    }
}

/* 112 blocks of 128 values, 14 kinds of hard ones: ties and near ties, any bits, subnormals, huge values, borders of
 * the scale, infinities, NaN, cancelling sums. */
Test(quantizers, hard_values_of_an_h200) {
    enum { BLOCKS = 112, VALUES = BLOCKS * 128 };
    static const char *const format[] = {"q8_1_cuda", "q8_1_mmq_d4", "q8_1_mmq_ds4", "q8_1_mmq_d2s6"};
    load();
    uint8_t *bytes = golden_file("fixtures/golden/q8_1/x_f32.bin", VALUES * sizeof(float));
    float *x = malloc(VALUES * sizeof *x);
    cr_assert(x, "out of memory");
    memcpy(x, bytes, VALUES * sizeof *x);
    for (size_t i = 0; i < sizeof format / sizeof *format; i++) {
        const struct activation_format *f = activation_named(format[i]);
        char path[64];
        snprintf(path, sizeof path, "fixtures/golden/q8_1/%s.bin", format[i]);
        const size_t blocks = VALUES / f->block_values;
        uint8_t *want = golden_file(path, blocks * f->block_bytes);
        for (size_t b = 0; b < blocks; b++) {
            uint8_t block[ACTIVATION_MOST_BYTES];
            f->quantize(x + b * f->block_values, block);
            cr_assert(!memcmp(block, want + b * f->block_bytes, f->block_bytes), "%s: block %zu", format[i], b);
        }
        free(want);
    }
    free(x), free(bytes);
}

/* ---- contracts ---- */

static const struct {
    const char *name;
    size_t values, scale_values, sums; /* of a block; that share a scale; of a block */
    size_t sum_at;                     /* byte of the last sum; a binary16 in the q8_1 family, else an integer */
} contracts_of[] = {
    {"pad40_quantize", 32, 32, 1, 36},
    {"pad40_t_quantize", 32, 32, 1, 2},
    {"q8_1_quantize", 32, 32, 1, 2},
    {"q8_1_cuda_quantize", 32, 32, 1, 2},
    {"q8_1_mmq_d4_quantize", 128, 32, 0, 0},
    {"q8_1_mmq_ds4_quantize", 128, 32, 4, 14},
    {"q8_1_mmq_d2s6_quantize", 128, 64, 6, 14},
    {"q8_k_quantize", 256, 256, 16, 290},
};
enum { CONTRACTS = sizeof contracts_of / sizeof *contracts_of, NT = 5, ID = 6400 };

static float operands[NT * ID];

static struct contract_operands operands_of(unsigned kind, size_t n) {
    struct random_stream s = random_open(random_key("quantizers/contract"), (uint32_t)(kind + 100 * n));
    for (size_t k = 0; k < NT * ID; k += contracts_of[n].scale_values)
        fill(kind, &s, operands + k, contracts_of[n].scale_values);
    return (struct contract_operands){.activation = operands, .nt = NT, .id = ID};
}

/* max over the sums of |got - value| / bound. */
static double worst_sum(const struct contract *c, const struct contract_operands *op, const void *result) {
    static double value[2 * NT * ID], bound[2 * NT * ID], got[2 * NT * ID];
    double worst = 0;
    c->truth(op, value, bound);
    c->decode(op, result, got);
    for (size_t k = NT * ID; k < c->cells(op); k++)
        if (isfinite(bound[k]) && bound[k] > 0)
            worst = fmax(worst, fabs(got[k] - value[k]) / bound[k]);
    return worst;
}

static void truths_hold(void) {
    for (size_t n = 0; n < CONTRACTS; n++) {
        const struct contract *c = contract_named(contracts_of[n].name);
        cr_assert(c && c->depth_multiple == contracts_of[n].values, "%s: not there", contracts_of[n].name);
        double worst = 0, sums = 0;
        for (unsigned kind = 0; kind < KINDS; kind++) {
            struct contract_operands op = operands_of(kind, n);
            size_t bytes = c->result_bytes(&op), want;
            cr_assert(activation_bytes(activation_named(c->result), NT, ID, &want) && bytes == want &&
                          c->cells(&op) == NT * ID + NT * ID / contracts_of[n].values * contracts_of[n].sums,
                      "%s: %zu bytes", c->name, bytes);
            void *result = malloc(bytes);
            cr_assert(result, "out of memory");
            c->evaluate(&op, result);
            struct truth_gap gap = truth_compare(c, &op, result);
            cr_assert(gap.holds, "%s kind %u cell %zu: value %a got %a bound %a", c->name, kind, gap.cell, gap.value,
                      gap.got, gap.bound);
            if (kind == 1 || kind == 2 || kind == 11) { /* not the zeros that tiny blocks become */
                worst = fmax(worst, kind == 11 ? 0 : gap.worst);
                sums = fmax(sums, worst_sum(c, &op, result));
            }
            free(result);
        }
        cr_assert(worst > 0.9, "%s: on ordinary data only %g of the bound is ever used", c->name, worst);
        cr_assert(!contracts_of[n].sums || sums > 0.9, "%s: sums use only %g of their bound", c->name, sums);
    }
}

Test(quantizers, truths_hold_measured) {
    load();
    truths_hold();
}

Test(quantizers, truths_hold_without_the_table) {
    truths_hold();
}

/* Where nothing is claimed it is because nothing can be: the share of cells without a bound, by kind. */
Test(quantizers, bounds_are_finite_where_blocks_can_say_it) {
    static double value[2 * NT * ID], bound[2 * NT * ID];
    for (size_t n = 0; n < CONTRACTS; n++) {
        const struct contract *c = contract_named(contracts_of[n].name);
        for (unsigned kind = 0; kind < KINDS; kind++) {
            struct contract_operands op = operands_of(kind, n);
            c->truth(&op, value, bound);
            size_t open = 0;
            for (size_t k = 0; k < c->cells(&op); k++) {
                open += isinf(bound[k]) != 0;
                cr_assert(!isnan(bound[k]) && bound[k] >= 0, "%s kind %u cell %zu: bound %g", c->name, kind, k,
                          bound[k]);
            }
            bool must = kind == 1 || kind == 2 || kind == 4; /* 11: some sums are past binary16 */
            cr_assert(!must || open == 0, "%s kind %u: nothing is claimed of %zu cells", c->name, kind, open);
        }
    }
}

Test(quantizers, threads_do_not_change_bytes) {
    load();
    for (size_t n = 0; n < CONTRACTS; n++) {
        const struct contract *c = contract_named(contracts_of[n].name);
        struct contract_operands op = operands_of(0, n);
        size_t bytes = c->result_bytes(&op);
        uint8_t *one = malloc(bytes), *more = malloc(bytes);
        cr_assert(one && more, "out of memory");
        omp_set_num_threads(1);
        c->evaluate(&op, one);
        for (int threads = 2; threads < 6; threads += 3) {
            memset(more, 0xa5, bytes);
            omp_set_num_threads(threads);
            c->evaluate(&op, more);
            cr_assert(!memcmp(one, more, bytes), "%s: %d threads give other bytes", c->name, threads);
        }
        free(one), free(more);
    }
}

/* The last sum of a block, off by 100. */
static void plant_sum(uint8_t *field, bool is_half) {
    uint16_t s;
    memcpy(&s, field, sizeof s);
    s = is_half ? half_from_float(half_to_float(s) + 100) : (uint16_t)(s + 100);
    memcpy(field, &s, sizeof s);
}

/* Below half of the least binary16 a block says 0, and the bound says just that: what is in the block, no more. */
Test(quantizers, tiny_blocks_of_binary16_say_nothing) {
    static const float amax[] = {127 * 0x1p-27f, 127 * 0x1.fffp-27f, 0x1p-60f, 0x1p-149f};
    static double value[2 * 256], bound[2 * 256], got[2 * 256];
    int tried = 0;
    load();
    for (size_t n = 0; n < CONTRACTS; n++) {
        const struct contract *c = contract_named(contracts_of[n].name);
        if (!strcmp(c->name, "q8_1_mmq_d4_quantize") || !strcmp(c->name, "q8_k_quantize")) /* d is f32 */
            continue;
        for (size_t i = 0; i < sizeof amax / sizeof *amax; i++) {
            const struct contract_operands op = {.activation = operands, .nt = 1, .id = 128};
            for (size_t k = 0; k < 128; k++)
                operands[k] = k % 3 ? amax[i] : -amax[i] / 2;
            uint8_t *result = malloc(c->result_bytes(&op));
            cr_assert(result, "out of memory");
            c->evaluate(&op, result);
            c->truth(&op, value, bound);
            c->decode(&op, result, got);
            for (size_t k = 0; k < 128; k++)
                cr_assert(got[k] == 0 && bound[k] == fabs((double)operands[k]), "%s amax %a value %zu: %a, bound %a",
                          c->name, (double)amax[i], k, got[k], bound[k]);
            tried++;
            free(result);
        }
    }
    cr_assert(tried == 6 * 4, "%d blocks", tried);
}

/* One code off by two, or a scale by a few steps, breaks the truth in its own block. */
Test(quantizers, truths_turn_red) {
    load();
    for (size_t n = 0; n < CONTRACTS; n++) {
        const struct contract *c = contract_named(contracts_of[n].name);
        const struct activation_format *f = activation_named(c->result);
        struct contract_operands op = operands_of(1, n);
        uint8_t *result = malloc(c->result_bytes(&op)), block[ACTIVATION_MOST_BYTES];
        const size_t index = 11;
        cr_assert(result, "out of memory");
        c->evaluate(&op, result);
        activation_get(f, result, NT, ID, 3, index, block);
        block[f->codes_at + 9] = (uint8_t)(block[f->codes_at + 9] + 2);
        activation_put(f, result, NT, ID, 3, index, block);
        struct truth_gap gap = truth_compare(c, &op, result);
        cr_assert(!gap.holds && gap.cell == 3 * ID + index * f->block_values + 9, "%s: planted code went unseen (%zu)",
                  c->name, gap.cell);
        c->evaluate(&op, result);
        activation_get(f, result, NT, ID, 0, index, block);
        block[strcmp(c->result, "q8_K") && strcmp(c->result, "q8_1_mmq_d4") ? 0 : 2] ^= 0x40; /* of d, 2^-4 or more */
        activation_put(f, result, NT, ID, 0, index, block);
        gap = truth_compare(c, &op, result);
        cr_assert(!gap.holds && gap.cell / f->block_values == index, "%s: planted scale went unseen (%zu)", c->name,
                  gap.cell);
        c->evaluate(&op, result);
        activation_get(f, result, NT, ID, 2, index, block);
        plant_sum(block + contracts_of[n].sum_at, !strncmp(c->name, "q8_1", 4));
        activation_put(f, result, NT, ID, 2, index, block);
        gap = truth_compare(c, &op, result);
        const size_t before = 2 * (ID / f->block_values) + index + 1; /* blocks whose sums come up to this one */
        cr_assert(!contracts_of[n].sums || (!gap.holds && gap.cell == NT * ID + before * contracts_of[n].sums - 1),
                  "%s: planted sum went unseen (%zu)", c->name, gap.cell);
        free(result);
    }
}
