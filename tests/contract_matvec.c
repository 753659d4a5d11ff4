/* Contracts of the matrix-vector kernels over pad40: bits against fixed point, the truth and its bound, what another
 * order of the same sums gives, and that a token's bits do not depend on the others. */
#include "../ref/contract.h"
#include "../ref/format.h"
#include "../ref/half.h"
#include "../ref/pad40.h"
#include "../ref/random.h"
#include "../ref/truth.h"
#include "independent/independent.h"
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct row {
    const char *name;
    struct matvec_rules rules;
} rows[] = {
    {"q4_0_pad40_matvec", {.offset = 8}},
    {"q4_1_pad40_matvec", {.minima = true}},
    {"q5_0_pad40_matvec", {.offset = 16}},
    {"q5_1_pad40_matvec", {.minima = true}},
    {"q8_0_pad40_matvec", {.offset = 0}},
    {"q4_k_pad40_matvec", {.minima = true}},
    {"q5_k_pad40_matvec", {.minima = true}},
    {"q6_k_pad40_matvec", {.offset = 0}},
    {"q4_k_pad40_matvec_pair", {.minima = true, .pairs = true}},
    {"q5_k_pad40_matvec_pair", {.minima = true, .pairs = true}},
};
enum { ROWS = sizeof rows / sizeof *rows };

/* OTHER_SUMS: stored sums are not those of the quants. */
enum data { ORDINARY, ANY_BITS, OTHER_SUMS, NONFINITE, DATA_CLASSES };

struct operands {
    const struct row *row;
    const struct contract *contract;
    const struct block_format *weight;
    uint8_t *weight_bytes;
    struct block_pad40 *activation;
    struct contract_operands op;
};

static uint16_t scale_of(enum data data, struct random_stream *s) {
    static const uint16_t wild[] = {0x7c00, 0xfc00, 0x7e00, 0xfe01, 0x0000, 0x7c01};
    if (data == ORDINARY)
        return half_from_float(0.001f + 0.02f * random_unit(s));
    if (data == NONFINITE && !random_below(s, 64))
        return wild[random_below(s, sizeof wild / sizeof *wild)];
    const uint16_t h = (uint16_t)random_u32(s);
    return (h & 0x7c00) == 0x7c00 ? h ^ 0x4000 : h;
}

static void put_half(uint8_t *block, struct block_field field, uint16_t h) {
    if (field.bytes)
        memcpy(block + field.at, &h, sizeof h);
}

static struct operands make(const struct row *row, enum data data, size_t nt, size_t od, size_t id) {
    struct operands o = {.row = row, .contract = contract_named(row->name)};
    cr_assert(o.contract && id % o.contract->depth_multiple == 0, "%s at depth %zu", row->name, id);
    o.weight = format_named(o.contract->weight);
    struct random_stream s = random_open(random_key(row->name), (uint32_t)(data + 10 * nt + 100 * od + 10000 * id));
    const size_t blocks = od * id / o.weight->block_values;
    o.weight_bytes = calloc(blocks, o.weight->block_bytes);
    o.activation = calloc(nt * id / 32, sizeof *o.activation);
    cr_assert(o.weight_bytes && o.activation, "out of memory");
    for (size_t i = 0; i < blocks; i++) {
        uint8_t *block = o.weight_bytes + i * o.weight->block_bytes;
        for (size_t b = 0; b < o.weight->block_bytes; b++)
            block[b] = (uint8_t)random_u32(&s);
        put_half(block, o.weight->d, scale_of(data, &s));
        put_half(block, o.weight->dmin, scale_of(data, &s));
    }
    for (struct block_pad40 *b = o.activation; b < o.activation + nt * id / 32; b++) {
        b->d = scale_of(data, &s);
        for (int k = 0; k < 32; k++)
            b->sum += b->q[k] = (int8_t)(random_u32(&s) & 255);
        if (data == OTHER_SUMS)
            b->sum = (int32_t)random_below(&s, 4096 + 4064 + 1) - 4096;
    }
    o.op =
        (struct contract_operands){.weight = o.weight_bytes, .activation = o.activation, .nt = nt, .od = od, .id = id};
    return o;
}

static void release(struct operands *o) {
    free(o->weight_bytes);
    free(o->activation);
}

static float *evaluated(const struct operands *o) {
    float *result = malloc(o->contract->result_bytes(&o->op));
    cr_assert(result, "out of memory");
    memset(result, 0xa5, o->contract->result_bytes(&o->op));
    o->contract->evaluate(&o->op, result);
    return result;
}

static size_t cells_that_differ(const struct operands *o, const struct matvec_rules *rules, const float *result) {
    const struct integer_format *f = independent_integers_of(o->weight->name);
    const size_t row_bytes = o->op.id / o->weight->block_values * o->weight->block_bytes;
    size_t wrong = 0;
    for (size_t t = 0; t < o->op.nt; t++)
        for (size_t j = 0; j < o->op.od; j++)
            wrong += float_bits(result[t * o->op.od + j]) !=
                     independent_matvec_cell(f, rules, o->weight_bytes + j * row_bytes,
                                             (const uint8_t *)(o->activation + t * (o->op.id / 32)), o->op.id);
    return wrong;
}

static const struct shape {
    size_t nt, od, id;
} shapes[] = {{1, 1, 32},   {3, 5, 96},   {2, 17, 992}, {8, 2, 1056},
              {5, 9, 2560}, {8, 33, 256}, {3, 2, 3584}, {1, 3, 18944}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

Test(contract_matvec, bits_against_fixed_point) {
    for (size_t r = 0; r < ROWS; r++) {
        size_t cells = 0, finite = 0;
        for (int data = 0; data < DATA_CLASSES; data++)
            for (int i = 0; i < SHAPES; i++) {
                if (shapes[i].id % contract_named(rows[r].name)->depth_multiple)
                    continue;
                struct operands o = make(&rows[r], (enum data)data, shapes[i].nt, shapes[i].od, shapes[i].id);
                float *result = evaluated(&o);
                const size_t wrong = cells_that_differ(&o, &rows[r].rules, result);
                cr_assert(wrong == 0, "%s, class %d, id %zu: %zu cells differ", rows[r].name, data, shapes[i].id,
                          wrong);
                const struct truth_gap gap = truth_compare(o.contract, &o.op, result);
                cr_assert(gap.holds, "%s, class %d, id %zu, cell %zu: value %a got %a bound %a", rows[r].name, data,
                          shapes[i].id, gap.cell, gap.value, gap.got, gap.bound);
                cells += o.op.nt * o.op.od;
                finite += gap.judged;
                free(result);
                release(&o);
            }
        cr_assert(cells >= 1000 && finite >= 750 && finite < cells, "%s: %zu cells, %zu finite", rows[r].name, cells,
                  finite);
    }
}

/* The bound is of the size of what it bounds: a lane and the tree, not the whole depth. */
Test(contract_matvec, bound_is_near) {
    for (size_t r = 0; r < ROWS; r++) {
        struct operands o = make(&rows[r], ORDINARY, 8, 64, 1024);
        float *result = evaluated(&o);
        const struct truth_gap gap = truth_compare(o.contract, &o.op, result);
        cr_assert(gap.holds && gap.worst > 0.02, "%s: worst %g of the bound", rows[r].name, gap.worst);
        free(result);
        release(&o);
    }
}

/* The same sums in another order are other bits in some cells, and the comparison says so. */
Test(contract_matvec, another_order_is_seen) {
    for (size_t r = 0; r < ROWS; r++) {
        struct operands o = make(&rows[r], ORDINARY, 8, 33, 2560);
        float *result = evaluated(&o);
        for (int plant = 0; plant < 3; plant++) {
            struct matvec_rules rules = rows[r].rules;
            rules.lanes_in_runs = plant == 1;
            rules.tree_upwards = plant == 2;
            const size_t wrong = cells_that_differ(&o, &rules, result);
            cr_assert(plant ? wrong > 10 : wrong == 0, "%s, plant %d: %zu cells differ", rows[r].name, plant, wrong);
        }
        free(result);
        release(&o);
    }
}

/* One chunk at a time and two at a time are different orders of one sum. */
Test(contract_matvec, a_pair_is_not_two_chunks) {
    for (size_t r = 0; r < ROWS; r++)
        if (rows[r].rules.pairs) {
            struct operands o = make(&rows[r], ORDINARY, 8, 33, 2560);
            float *result = evaluated(&o);
            struct matvec_rules rules = rows[r].rules;
            rules.pairs = false;
            const size_t wrong = cells_that_differ(&o, &rules, result);
            cr_assert(wrong > 100, "%s: only %zu of 264 cells differ", rows[r].name, wrong);
            free(result);
            release(&o);
        }
}

/* Eight tokens together are the same as each alone. */
Test(contract_matvec, tokens_do_not_change_each_other) {
    for (size_t r = 0; r < ROWS; r++) {
        struct operands o = make(&rows[r], ANY_BITS, 8, 5, 1280);
        float *together = evaluated(&o);
        for (size_t t = 0; t < 8; t++) {
            struct operands one = o;
            one.op.nt = 1;
            one.op.activation = o.activation + t * (o.op.id / 32);
            float *alone = evaluated(&one);
            cr_assert(!memcmp(alone, together + t * o.op.od, o.op.od * sizeof *alone), "%s: token %zu", rows[r].name,
                      t);
            free(alone);
        }
        free(together);
        release(&o);
    }
}
