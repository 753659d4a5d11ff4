#include "contract_data.h"
#include "../ref/activation.h"
#include "../ref/format.h"
#include "../ref/half.h"
#include "../ref/q8_1_mmq.h"
#include "../ref/q8_k.h"
#include "../ref/random.h"
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

const char *const data_class_name[] = {"ordinary", "any bits", "corners", "tiny", "large", "nonfinite"};

/* An exponent field from least .. least + count - 1, the rest any bits. */
static uint32_t with_exponent(struct random_stream *s, uint32_t fraction_bits, uint32_t least, uint32_t count) {
    uint32_t bits = random_u32(s), sign_at = fraction_bits == 10 ? 15 : 31;
    return (bits & 1) << sign_at | (least + random_below(s, count)) << fraction_bits |
           (bits >> 1 & ((1u << fraction_bits) - 1));
}

static uint16_t half_scale(enum data_class class, struct random_stream *s) {
    static const uint16_t corner[] = {0x7bff, 0xfbff, 0x0001, 0x8001, 0x03ff, 0x0400, 0x0000, 0x8000, 0x3c00};
    static const uint16_t wild[] = {0x7c00, 0xfc00, 0x7e00, 0xfe01, 0x0000, 0x7c01};
    switch (class) {
    case DATA_ORDINARY:
        return half_from_float(0.001f + 0.02f * random_unit(s));
    case DATA_CORNERS:
        return corner[random_below(s, sizeof corner / sizeof *corner)];
    case DATA_TINY:
        return (uint16_t)with_exponent(s, 10, 0, 12);
    case DATA_LARGE:
        return (uint16_t)with_exponent(s, 10, 20, 11);
    case DATA_NONFINITE:
        if (random_below(s, 8) == 0)
            return wild[random_below(s, sizeof wild / sizeof *wild)];
        return (uint16_t)with_exponent(s, 10, 0, 31);
    default:
        return (uint16_t)with_exponent(s, 10, 0, 31);
    }
}

static float single_scale(enum data_class class, struct random_stream *s) {
    static const uint32_t corner[] = {0x7f7fffff, 0xff7fffff, 0x00000001, 0x80000001, 0x007fffff, 0x00800000,
                                      0x80800000, 0x00000000, 0x80000000, 0x3f800000, 0x3f800000, 0x3f800000};
    static const uint32_t wild[] = {0x7f800000, 0xff800000, 0x7fc00000, 0xff800001, 0x00000000, 0x00000001};
    switch (class) {
    case DATA_ORDINARY:
        return 0.001f + 0.02f * random_unit(s);
    case DATA_CORNERS:
        return bits_float(corner[random_below(s, sizeof corner / sizeof *corner)]);
    case DATA_TINY:
        return bits_float(with_exponent(s, 23, 0, random_below(s, 2) ? 3 : 24));
    case DATA_LARGE:
        return bits_float(with_exponent(s, 23, 210, random_below(s, 2) ? 10 : 45));
    case DATA_NONFINITE:
        if (random_below(s, 8) == 0)
            return bits_float(wild[random_below(s, sizeof wild / sizeof *wild)]);
        return bits_float(with_exponent(s, 23, 100, 50));
    default:
        return bits_float(with_exponent(s, 23, 0, 255));
    }
}

/* All ones, all zeros, or any bits; anything but the last in DATA_CORNERS alone. */
static void fill(enum data_class class, struct random_stream *s, uint8_t *bytes, size_t count) {
    uint32_t kind = class == DATA_CORNERS ? random_below(s, 4) : 3;
    for (size_t i = 0; i < count; i++)
        bytes[i] = kind == 0 ? 255 : kind == 1 ? 0 : kind == 2 ? 128 : (uint8_t)random_u32(s);
}

static void fill_weight(enum data_class class, struct random_stream *s, const struct block_format *f, uint8_t *block) {
    fill(class, s, block, f->block_bytes);
    uint16_t d = half_scale(class, s), dmin = half_scale(class, s);
    cr_assert(f->d.bytes == 2, "%s: d is no binary16", f->name);
    memcpy(block + f->d.at, &d, 2);
    if (f->dmin.bytes)
        memcpy(block + f->dmin.at, &dmin, 2);
}

static void fill_mmq(enum data_class class, struct random_stream *s, bool pairs, uint8_t *block) {
    struct block_q8_1_mmq b;
    for (int c = 0; c < 4; c++)
        if (pairs) {
            b.ds4[c].d = half_scale(class, s);
            b.ds4[c].s = half_scale(class == DATA_ORDINARY ? DATA_ANY_BITS : class, s);
        } else {
            b.d4[c] = single_scale(class, s);
        }
    fill(class, s, (uint8_t *)b.q, sizeof b.q);
    memcpy(block, &b, sizeof b);
}

/* Sums as a quantiser makes them, but any bits in DATA_ANY_BITS and at the end in DATA_CORNERS. */
static void fill_q8_k(enum data_class class, struct random_stream *s, uint8_t *block) {
    struct block_q8_k b = {.d = single_scale(class, s)};
    fill(class, s, (uint8_t *)b.q, sizeof b.q);
    for (int k = 0; k < Q8_K_VALUES; k++)
        b.sums[k / Q8_K_SUM_VALUES] = (int16_t)(b.sums[k / Q8_K_SUM_VALUES] + b.q[k]);
    if (class == DATA_ANY_BITS || (class == DATA_CORNERS && random_below(s, 2)))
        fill(class, s, (uint8_t *)b.sums, sizeof b.sums);
    memcpy(block, &b, sizeof b);
}

struct data data_make(const struct contract *c, enum data_class class, size_t nt, size_t od, size_t id) {
    const struct block_format *f = format_named(c->weight);
    const bool q8_k = !strcmp(c->activation, "q8_K"), pairs = !strcmp(c->activation, "q8_1_mmq_ds4");
    const size_t a_values = q8_k ? 256 : 128, a_bytes = q8_k ? Q8_K_BYTES : Q8_1_MMQ_BYTES;
    struct data d = {.contract = c, .weight_row_bytes = id / f->block_values * f->block_bytes};
    struct random_stream s =
        random_open(random_key(c->name), (uint32_t)(class + 10 * nt + 10000 * od + 1000000 * (id / 256)));
    d.weight = calloc(od, d.weight_row_bytes);
    d.activation = calloc(nt * (id / a_values), a_bytes);
    cr_assert(d.weight && d.activation, "out of memory");
    for (size_t i = 0; i < od * (id / f->block_values); i++)
        fill_weight(class, &s, f, d.weight + i * f->block_bytes);
    for (size_t i = 0; i < nt * (id / a_values); i++)
        if (q8_k)
            fill_q8_k(class, &s, d.activation + i * a_bytes);
        else
            fill_mmq(class, &s, pairs, d.activation + i * a_bytes);
    d.op = (struct contract_operands){.weight = d.weight, .activation = d.activation, .nt = nt, .od = od, .id = id};
    return d;
}

void data_free(struct data *d) {
    free(d->weight);
    free(d->activation);
}

float *data_evaluated(const struct data *d) {
    const size_t bytes = d->contract->result_bytes(&d->op);
    float *result = malloc(bytes);
    cr_assert(result, "out of memory");
    memset(result, 0xa5, bytes);
    d->contract->evaluate(&d->op, result);
    return result;
}

const uint8_t *data_weight_row(const struct data *d, size_t row) {
    return d->weight + row * d->weight_row_bytes;
}
