/* Contracts over pad40 and pad40_t: bits against fixed point, truth against exact sums, bounds that are neither broken
 * nor empty, threads, and planted folds. */
#include "../ref/activation.h"
#include "../ref/contract.h"
#include "../ref/format.h"
#include "../ref/half.h"
#include "../ref/pad40.h"
#include "../ref/pad40_t.h"
#include "../ref/random.h"
#include "../ref/truth.h"
#include "independent/independent.h"
#include <criterion/criterion.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* exact: no factor of a dot term rounds, so that only additions do. */
static const struct row {
    const char *name;
    enum fold fold;
    bool exact;
} rows[] = {
    {"q4_0_pad40", ONE_TERM, true},
    {"q4_1_pad40_two_term", TWO_TERM, true},
    {"q5_0_pad40", ONE_TERM, true},
    {"q5_1_pad40_two_term", TWO_TERM, true},
    {"q8_0_pad40", ONE_TERM, true},
    {"q4_k_pad40_two_term", TWO_TERM, false},
    {"q4_k_pad40_rank_1", RANK_1, false},
    {"q4_k_pad40_t_rank_1", RANK_1, false},
    {"q5_k_pad40_two_term", TWO_TERM, false},
    {"q6_k_pad40_two_halves", ONE_TERM, false},
    {"q6_k_pad40_t_two_halves", ONE_TERM, false},
};
enum { ROWS = sizeof rows / sizeof *rows };

/* NEAR_ZERO: the second half of the depth takes back what the first brought. ANY_BITS: stored sums are not those of the
 * quants. NONFINITE: infinities and NaN among the scales. */
enum data { ORDINARY, ANY_BITS, CORNERS, NEAR_ZERO, NONFINITE, DATA_CLASSES };
static const char *const data_name[] = {"ordinary", "any bits", "corners", "near zero", "nonfinite"};

struct operands {
    const struct row *row;
    const struct contract *contract;
    const struct block_format *weight;
    const struct integer_format *integers;
    struct block_pad40 *token; /* (nt, id / 32): what the activation buffer holds, in plain order */
    uint8_t *weight_bytes, *activation_bytes;
    struct contract_operands op;
    char what[96];
};

/* ---- data ---- */

static uint16_t scale_of(enum data data, struct random_stream *s) {
    static const uint16_t corner[] = {0x7bff, 0xfbff, 0x0001, 0x8001, 0x03ff, 0x0400, 0x0000, 0x8000, 0x3c00};
    static const uint16_t wild[] = {0x7c00, 0xfc00, 0x7e00, 0xfe01, 0x0000, 0x7c01};
    if (data == ORDINARY || data == NEAR_ZERO)
        return half_from_float(0.001f + 0.02f * random_unit(s));
    if (data == CORNERS)
        return corner[random_below(s, sizeof corner / sizeof *corner)];
    if (data == NONFINITE && !random_below(s, 8))
        return wild[random_below(s, sizeof wild / sizeof *wild)];
    uint16_t h = (uint16_t)random_u32(s);
    return (h & 0x7c00) == 0x7c00 ? h ^ 0x4000 : h;
}

static void put_half(uint8_t *block, struct block_field field, uint16_t h) {
    if (field.bytes) {
        cr_assert(field.bytes == 2, "a field that is not binary16");
        memcpy(block + field.at, &h, sizeof h);
    }
}

static void fill_weight(enum data data, struct random_stream *s, const struct block_format *f, uint8_t *block) {
    static const uint8_t extreme[] = {0xff, 0x00, 0x80, 0x7f}; /* codes and scales at their ends, of both signs */
    const uint32_t style = data == CORNERS ? random_below(s, 6) : 5;
    for (size_t i = 0; i < f->block_bytes; i++)
        block[i] = style < 4 ? extreme[style] : (uint8_t)random_u32(s);
    put_half(block, f->d, scale_of(data, s));
    put_half(block, f->dmin, scale_of(data, s));
}

static struct block_pad40 activation_of(enum data data, struct random_stream *s) {
    struct block_pad40 b = {.d = scale_of(data, s), .gap = (uint16_t)random_u32(s)};
    const uint32_t style = data == CORNERS ? random_below(s, 4) : 3;
    for (int k = 0; k < 32; k++) {
        b.q[k] = style == 0 ? -128 : style == 1 ? 127 : (int8_t)(random_u32(s) & 255);
        b.sum += b.q[k];
    }
    if (data == ANY_BITS)
        b.sum = (int32_t)random_below(s, 4096 + 4064 + 1) - 4096;
    return b;
}

/* The planes of pad40_t by their text: 64 tokens a tile, quants (tile, chunk, 2048 swizzled bytes), then one word a
 * token (tile, chunk, 64). */
static void put_pad40_t(uint8_t *buffer, size_t nt, size_t id, size_t token, size_t chunk,
                        const struct block_pad40 *b) {
    const size_t chunks = id / 32, tiles = (nt + 63) / 64, r = token % 64, at = token / 64 * chunks + chunk;
    for (size_t k = 0; k < 32; k++) {
        const size_t u = k / 4, granule = (r % 4 * 2 + u / 4) ^ (r / 4 % 8);
        buffer[at * 2048 + r / 4 * 128 + 16 * granule + k % 16] = (uint8_t)b->q[k];
    }
    const size_t group = r / 16, word = group / 2 * 32 + r % 8 * 4 + group % 2 * 2 + r / 8 % 2;
    uint8_t *scale = buffer + tiles * chunks * 2048 + (at * 64 + word) * 4;
    const int16_t sum = (int16_t)b->sum;
    memcpy(scale, &b->d, 2);
    memcpy(scale + 2, &sum, 2);
}

static void *room(size_t bytes) {
    void *p = calloc(bytes, 1);
    cr_assert(p, "out of memory");
    return p;
}

/* Room for all operands; all of it zero. */
static struct operands shaped(const struct row *row, const char *data, size_t nt, size_t od, size_t id) {
    struct operands o = {.row = row, .contract = contract_named(row->name)};
    cr_assert(o.contract, "%s is not in the table", row->name);
    o.weight = format_named(o.contract->weight);
    o.integers = independent_integers_of(o.contract->weight);
    const struct activation_format *a = activation_named(o.contract->activation);
    size_t bytes = 0;
    cr_assert(o.weight && o.integers && a && activation_bytes(a, nt, id, &bytes), "%s: its formats", row->name);
    cr_assert(id % o.contract->depth_multiple == 0, "%s: depth %zu", row->name, id);
    o.activation_bytes = room(bytes);
    o.weight_bytes = room(od * id / o.weight->block_values * o.weight->block_bytes);
    o.token = room(nt * id / 32 * sizeof *o.token);
    o.op = (struct contract_operands){
        .weight = o.weight_bytes, .activation = o.activation_bytes, .nt = nt, .od = od, .id = id};
    snprintf(o.what, sizeof o.what, "%s %s nt%zu.od%zu.id%zu", row->name, data, nt, od, id);
    return o;
}

static uint8_t *weight_row(const struct operands *o, size_t j) {
    return o->weight_bytes + j * (o->op.id / o->weight->block_values) * o->weight->block_bytes;
}
static struct block_pad40 *activation_row(const struct operands *o, size_t t) {
    return o->token + t * (o->op.id / 32);
}

/* Fills the activation buffer from o->token. */
static void lay_out(struct operands *o) {
    const size_t nt = o->op.nt, id = o->op.id;
    if (!strcmp(o->contract->activation, "pad40"))
        memcpy(o->activation_bytes, o->token, nt * id / 32 * sizeof *o->token);
    else
        for (size_t i = 0; i < nt * id / 32; i++)
            put_pad40_t(o->activation_bytes, nt, id, i / (id / 32), i % (id / 32), &o->token[i]);
}

static struct operands make(const struct row *row, enum data data, size_t nt, size_t od, size_t id) {
    struct operands o = shaped(row, data_name[data], nt, od, id);
    struct random_stream s = random_open(random_key(o.what), 0);
    const size_t blocks = id / o.weight->block_values, chunks = id / 32;
    const bool twice = data == NEAR_ZERO && blocks % 2 == 0;
    for (size_t j = 0; j < od; j++)
        for (size_t b = 0; b < blocks; b++) {
            uint8_t *block = weight_row(&o, j) + b * o.weight->block_bytes;
            if (twice && b >= blocks / 2)
                memcpy(block, block - blocks / 2 * o.weight->block_bytes, o.weight->block_bytes);
            else
                fill_weight(data, &s, o.weight, block);
        }
    for (size_t t = 0; t < nt; t++)
        for (size_t c = 0; c < chunks; c++) {
            struct block_pad40 *b = activation_row(&o, t) + c;
            *b = activation_of(data, &s);
            if (twice && c >= chunks / 2) {
                *b = b[-(ptrdiff_t)(chunks / 2)];
                b->d ^= 0x8000;
            }
        }
    lay_out(&o);
    return o;
}

static void release(struct operands *o) {
    free(o->weight_bytes);
    free(o->activation_bytes);
    free(o->token);
}

static float *evaluated(const struct operands *o) {
    float *result = room(o->contract->result_bytes(&o->op));
    memset(result, 0xa5, o->contract->result_bytes(&o->op));
    o->contract->evaluate(&o->op, result);
    return result;
}

static uint32_t independent_cell(const struct operands *o, size_t t, size_t j) {
    return independent_pad40_cell(o->integers, o->row->fold, weight_row(o, j), (const uint8_t *)activation_row(o, t),
                                  o->op.id);
}

static size_t cells_that_differ(const struct operands *o, const float *result) {
    size_t wrong = 0;
    for (size_t t = 0; t < o->op.nt; t++)
        for (size_t j = 0; j < o->op.od; j++)
            wrong += float_bits(result[t * o->op.od + j]) != independent_cell(o, t, j);
    return wrong;
}

/* Depths in blocks of 256 for K-quants; the others also have depths that are no multiple of it: 1, 3 (odd), 9 chunks.
 */
static const struct shape {
    size_t nt, od, id;
} shapes[] = {{1, 1, 32},   {3, 5, 96},   {2, 17, 288}, {3, 2, 2880}, {1, 1, 256},
              {70, 2, 256}, {17, 7, 512}, {1, 33, 256}, {3, 2, 3584}, {1, 1, 16384}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static bool serves(const struct row *row, const struct shape *shape) {
    return shape->id % contract_named(row->name)->depth_multiple == 0;
}

/* ---- the tests ---- */

/* What the contracts read of a weight is what the text of its format says, whatever the bytes. */
Test(contract_pad40, integers_against_the_text) {
    for (size_t r = 0; r < ROWS; r++) {
        const struct block_format *f = format_named(contract_named(rows[r].name)->weight);
        const struct integer_format *text = independent_integers_of(f->name);
        cr_assert(text && text->values == f->block_values && text->bytes == f->block_bytes &&
                      text->sub_values == f->sub_values,
                  "%s: sizes", f->name);
        struct random_stream s = random_open(random_key(f->name), 0);
        for (int i = 0; i < 300; i++) {
            uint8_t block[256];
            for (size_t n = 0; n < f->block_bytes; n++) /* a bit alone in every byte, then random ones */
                block[n] = i < 200 ? 0 : (uint8_t)random_u32(&s);
            if (i < 200)
                block[(size_t)i % f->block_bytes] = (uint8_t)(1 << random_below(&s, 8));
            struct block_integers b;
            f->unpack(block, &b);
            for (unsigned e = 0; e < text->values; e++) {
                const struct integers want = text->read(block, e);
                const unsigned sub = e / text->sub_values;
                cr_assert(b.code[e] == want.code && b.scale[sub] == want.scale && b.min[sub] == want.min,
                          "%s block %d value %u: code %d %d, scale %d %d, min %d %d", f->name, i, e, b.code[e],
                          want.code, b.scale[sub], want.scale, b.min[sub], want.min);
                const float d = half_to_float((uint16_t)want.d), dmin = half_to_float((uint16_t)want.dmin);
                cr_assert((isnan(d) ? isnan(b.d) : float_bits(b.d) == float_bits(d)) &&
                              (isnan(dmin)                 ? isnan(b.dmin)
                               : !want.min && !f->min_most ? b.dmin == 0
                                                           : float_bits(b.dmin) == float_bits(dmin)),
                          "%s block %d: d %a %a, dmin %a %a", f->name, i, b.d, d, b.dmin, dmin);
            }
        }
    }
}

Test(contract_pad40, bits_against_fixed_point) {
    for (size_t r = 0; r < ROWS; r++) {
        size_t cells = 0;
        for (int data = 0; data < DATA_CLASSES; data++)
            for (int i = 0; i < SHAPES; i++) {
                if (!serves(&rows[r], &shapes[i]))
                    continue;
                struct operands o = make(&rows[r], (enum data)data, shapes[i].nt, shapes[i].od, shapes[i].id);
                float *result = evaluated(&o);
                size_t wrong = cells_that_differ(&o, result);
                cr_assert(wrong == 0, "%s: %zu cells differ", o.what, wrong);
                cells += o.op.nt * o.op.od;
                free(result);
                release(&o);
            }
        cr_assert(cells >= 1000, "%s: only %zu cells were looked at", rows[r].name, cells);
    }
}

/* The bound holds, and it is no empty one: in every class with numbers some cell comes near it. */
Test(contract_pad40, truth_holds_and_is_tight) {
    for (size_t r = 0; r < ROWS; r++)
        for (int data = 0; data < DATA_CLASSES; data++) {
            double worst = 0;
            for (int i = 0; i < SHAPES; i++) {
                if (!serves(&rows[r], &shapes[i]))
                    continue;
                struct operands o = make(&rows[r], (enum data)data, shapes[i].nt, shapes[i].od, shapes[i].id);
                float *result = evaluated(&o);
                struct truth_gap gap = truth_compare(o.contract, &o.op, result);
                cr_assert(gap.holds, "%s cell %zu: value %a got %a bound %a", o.what, gap.cell, gap.value, gap.got,
                          gap.bound);
                worst = fmax(worst, gap.worst);
                free(result);
                release(&o);
            }
            cr_log_info("%s, %s: worst %.3f of the bound", rows[r].name, data_name[data], worst);
            cr_assert(worst > 0.25 && worst <= 1, "%s, %s: worst %g of the bound", rows[r].name, data_name[data],
                      worst);
        }
}

/* The truth itself, against sums without any rounding: its float64 error is far inside the bound it gives. */
Test(contract_pad40, truth_against_exact_sums) {
    for (size_t r = 0; r < ROWS; r++)
        for (int data = 0; data < NONFINITE; data++)
            for (int i = 0; i < SHAPES; i++) {
                if (!serves(&rows[r], &shapes[i]))
                    continue;
                struct operands o = make(&rows[r], (enum data)data, shapes[i].nt, shapes[i].od, shapes[i].id);
                size_t cells = o.contract->cells(&o.op);
                double *value = room(2 * cells * sizeof *value), *bound = value + cells;
                o.contract->truth(&o.op, value, bound);
                for (size_t c = 0; c < cells; c++) {
                    s128 exact = independent_pad40_exact(o.integers, o.row->fold, weight_row(&o, c % o.op.od),
                                                         (const uint8_t *)activation_row(&o, c / o.op.od), o.op.id);
                    double want = ldexp((double)exact, -48);
                    cr_assert(fabs(value[c] - want) <= 0x1p-20 * bound[c], "%s cell %zu: value %a exact %a bound %a",
                              o.what, c, value[c], want, bound[c]);
                }
                free(value);
                release(&o);
            }
}

Test(contract_pad40, nonfinite_data_bring_every_kind) {
    for (size_t r = 0; r < ROWS; r++) {
        struct operands o = make(&rows[r], NONFINITE, 33, 40, 256);
        float *result = evaluated(&o);
        size_t nan = 0, infinite = 0, finite = 0;
        for (size_t c = 0; c < o.contract->cells(&o.op); c++) {
            nan += float_bits(result[c]) == 0x7fffffff;
            cr_assert(!isnan(result[c]) || float_bits(result[c]) == 0x7fffffff, "%s cell %zu: NaN 0x%08x", o.what, c,
                      float_bits(result[c]));
            infinite += isinf(result[c]) != 0;
            finite += isfinite(result[c]) != 0;
        }
        cr_assert(nan && infinite && finite, "%s: %zu NaN, %zu infinite, %zu finite", o.what, nan, infinite, finite);
        free(result);
        release(&o);
    }
}

Test(contract_pad40, threads_do_not_change_bits) {
    static const int threads[] = {1, 2, 5};
    for (size_t r = 0; r < ROWS; r++) {
        struct operands o = make(&rows[r], ANY_BITS, 130, 35, 512);
        float *result[3];
        for (int i = 0; i < 3; i++) {
            omp_set_num_threads(threads[i]);
            result[i] = evaluated(&o);
            cr_assert(!memcmp(result[i], result[0], o.contract->result_bytes(&o.op)), "%s: %d threads give other bits",
                      o.what, threads[i]);
        }
        for (int i = 0; i < 3; i++)
            free(result[i]);
        release(&o);
    }
}

/* A stored sum past 2^24, of no quants: (float)sum errs too. da = 1, dmin * min = 5, sum = 2^24 + 5: the sum becomes
 * 2^24 + 4, five times that lies between two floats 8 apart, and both err the same way, 5 + 4. Without a term for the
 * sum the bound is 5. (pad40_t has sums of 16 bits.) */
Test(contract_pad40, sums_past_24_bits) {
    size_t tried = 0;
    for (size_t r = 0; r < ROWS; r++) {
        if (rows[r].fold == ONE_TERM || strcmp(contract_named(rows[r].name)->activation, "pad40") != 0)
            continue;
        struct operands o = shaped(&rows[r], "sum past 2^24", 1, 1, contract_named(rows[r].name)->depth_multiple);
        const struct block_integers b = {.dmin = 5, .scale = {1, 1, 1, 1, 1, 1, 1, 1}, .min = {1, 1, 1, 1, 1, 1, 1, 1}};
        o.weight->pack(&b, o.weight_bytes);
        struct block_pad40 *last = &o.token[o.op.id / 32 - 1]; /* whatever follows would have a share of the bound */
        last->d = 0x3c00;
        last->sum = (1 << 24) + 5;
        lay_out(&o);
        float *result = evaluated(&o);
        const struct truth_gap gap = truth_compare(o.contract, &o.op, result);
        cr_assert(float_bits(*result) == float_bits(-83886096.0f), "%s: %a", o.what, (double)*result);
        cr_assert(gap.holds && gap.worst > 0.89, "%s: value %a got %a bound %a", o.what, gap.value, gap.got, gap.bound);
        tried++;
        free(result);
        release(&o);
    }
    cr_assert(tried >= 5, "only %zu contracts tried", tried);
}

/* ---- plants: contracts that go wrong in one place ---- */

enum plant {
    NO_PLANT,
    DESCENDING,
    NOT_FUSED,
    PAIR_FUSED,
    FACTOR_NOT_ROUNDED,
    OTHER_GROUPING,
    INT16_DOT,
    NEIGHBOUR_SCALE,
    LAST_DROPPED,
    MIN_ADDED
};
static const struct {
    const char *what;
    enum plant plant;
    bool min;          /* only where there are minima */
    bool breaks_truth; /* a legal but different order of roundings changes bits only: what bits are for */
} plants[] = {
    {"descending in k", DESCENDING, false, false},
    {"product and sum rounded apart", NOT_FUSED, false, false},
    {"the terms of two additions added first", PAIR_FUSED, false, false},
    {"da * ds not rounded", FACTOR_NOT_ROUNDED, false, false},
    {"min term grouped the other way", OTHER_GROUPING, true, false},
    {"dot in 16 bits", INT16_DOT, false, true},
    {"d of the block before", NEIGHBOUR_SCALE, false, true},
    {"last dot dropped", LAST_DROPPED, false, true},
    {"min term with the other sign", MIN_ADDED, true, true},
};

struct planted_dot {
    float da, ds, dm, dot, sum;
};

static struct planted_dot planted_dot(const struct operands *o, size_t t, size_t j, size_t i, enum plant plant) {
    const struct block_format *f = o->weight;
    const size_t k = i * f->sub_values, sub = k % f->block_values / f->sub_values;
    const uint8_t *block = weight_row(o, j) + k / f->block_values * f->block_bytes;
    const struct block_pad40 *a = activation_row(o, t) + k / 32;
    struct block_integers w, before;
    f->unpack(block, &w);
    f->unpack(plant == NEIGHBOUR_SCALE && k >= f->block_values ? block - f->block_bytes : block, &before);
    int32_t dot = format_dot(f, &w, sub, a->q + k % 32);
    if (plant == INT16_DOT)
        dot = (int16_t)(uint16_t)dot;
    const float dm = w.dmin * (float)w.min[sub];
    return (struct planted_dot){.da = half_to_float(a->d),
                                .ds = before.d * (float)w.scale[sub],
                                .dm = plant == MIN_ADDED ? dm : -dm,
                                .dot = (float)dot,
                                .sum = (float)a->sum};
}

/* The loop again, plainly, with one fault. */
static float planted_cell(const struct operands *o, size_t t, size_t j, enum plant plant) {
    const size_t dots = o->op.id / o->weight->sub_values;
    const bool min = o->row->fold != ONE_TERM, rank_1 = (o->row->fold == RANK_1) != (plant == OTHER_GROUPING);
    float s = 0;
    for (size_t n = 0; n < dots - (plant == LAST_DROPPED); n++) {
        const size_t i = plant == DESCENDING ? dots - 1 - n : n;
        const struct planted_dot d = planted_dot(o, t, j, i, plant);
        if (plant == PAIR_FUSED && min) {
            s = fmaf(d.da, fmaf(d.ds, d.dot, d.dm * d.sum), s);
        } else if (plant == PAIR_FUSED) {
            const struct planted_dot next = planted_dot(o, t, j, ++n, plant);
            s += fmaf(d.da * d.ds, d.dot, next.da * next.ds * next.dot);
        } else if (plant == NOT_FUSED) {
            const float dot_term = d.da * d.ds * d.dot, min_term = rank_1 ? d.da * d.sum * d.dm : d.da * d.dm * d.sum;
            s += dot_term;
            s = min ? s + min_term : s;
        } else {
            s = plant == FACTOR_NOT_ROUNDED ? (float)((double)d.da * d.ds * d.dot + s) : fmaf(d.da * d.ds, d.dot, s);
            if (min)
                s = rank_1 ? fmaf(d.da * d.sum, d.dm, s) : fmaf(d.da * d.dm, d.sum, s);
        }
    }
    return s;
}

static void planted(const struct operands *o, float *result, enum plant plant) {
    for (size_t t = 0; t < o->op.nt; t++)
        for (size_t j = 0; j < o->op.od; j++)
            result[t * o->op.od + j] = planted_cell(o, t, j, plant);
}

/* In formats without sub-block scales da * d and da * m do not round: there, leaving that rounding away and grouping
 * the min term the other way are the same arithmetic, and the plants show just that. */
static bool harmless(const struct row *row, enum plant plant) {
    return row->exact && (plant == FACTOR_NOT_ROUNDED || plant == OTHER_GROUPING);
}

Test(contract_pad40, planted_folds_are_seen) {
    for (size_t r = 0; r < ROWS; r++) {
        struct operands o = make(&rows[r], ORDINARY, 9, 11, 1024);
        float *result = evaluated(&o);
        planted(&o, result, NO_PLANT);
        cr_assert(cells_that_differ(&o, result) == 0, "%s: the plant without a fault must pass", o.what);
        for (size_t i = 0; i < sizeof plants / sizeof *plants; i++) {
            if (plants[i].min && rows[r].fold == ONE_TERM)
                continue;
            /* dots of 4-bit codes stay below 2^15 with ordinary data */
            if (plants[i].plant == INT16_DOT && o.weight->code_count < 256)
                continue;
            planted(&o, result, plants[i].plant);
            const size_t wrong = cells_that_differ(&o, result);
            if (harmless(&rows[r], plants[i].plant))
                cr_assert(wrong == 0, "%s, %s: %zu cells differ", o.what, plants[i].what, wrong);
            else
                cr_assert(wrong > 1, "%s, %s: only %zu of 99 cells differ", o.what, plants[i].what, wrong);
            if (plants[i].breaks_truth)
                cr_assert(!truth_compare(o.contract, &o.op, result).holds, "%s, %s: within the bound", o.what,
                          plants[i].what);
        }
        free(result);
        release(&o);
    }
}
