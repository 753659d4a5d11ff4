/* The control path: blocks dequantised to binary16 and multiplied on tensor cores, beside the quantised product of the
 * same operands. They share no rounding, so they agree only up to what the activations and the weights lose on the way,
 * which is known cell by cell. */
#include "../ref/activation.h"
#include "../ref/contract.h"
#include "../ref/format.h"
#include "../ref/half.h"
#include "../ref/random.h"
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NT = 5, OD = 7, ID = 512, CELLS = NT * OD };

static const char *const names[] = {"q4_0", "q4_1", "q5_0", "q5_1", "q8_0", "q4_k", "q5_k", "q6_k"};
enum { NAMES = sizeof names / sizeof *names };

static const struct contract *named(const char *format, const char *rest) {
    char name[64];
    snprintf(name, sizeof name, "%s%s", format, rest);
    const struct contract *c = contract_named(name);
    cr_assert(c, "no contract %s", name);
    return c;
}

struct sides {
    const struct block_format *format;
    float x[NT * ID], x_of_pad40[NT * ID];
    uint8_t *blocks, *pad40;
    uint16_t x_half[NT * ID], w_half[OD * ID];
    float quantised[CELLS], control[CELLS];
    double tolerance[CELLS];
};

static void put_scale(uint8_t *block, struct block_field field, struct random_stream *s) {
    const uint16_t h = half_from_float(0.001f + 0.02f * random_unit(s));
    if (field.bytes)
        memcpy(block + field.at, &h, sizeof h);
}

static void make_operands(struct sides *p, const char *format) {
    const struct activation_format *pad40 = activation_named("pad40");
    struct random_stream s = random_open(random_key(format), 1);
    p->format = format_named(named(format, "_dequantize")->activation);
    const size_t count = OD * ID / p->format->block_values;
    size_t bytes = 0;
    cr_assert(activation_bytes(pad40, NT, ID, &bytes), "pad40");
    p->blocks = malloc(count * p->format->block_bytes);
    p->pad40 = malloc(bytes);
    cr_assert(p->blocks && p->pad40, "out of memory");
    for (size_t i = 0; i < count; i++) {
        uint8_t *block = p->blocks + i * p->format->block_bytes;
        for (size_t b = 0; b < p->format->block_bytes; b++)
            block[b] = (uint8_t)random_u32(&s);
        put_scale(block, p->format->d, &s);
        put_scale(block, p->format->dmin, &s);
    }
    for (size_t i = 0; i < NT * ID; i++) {
        p->x[i] = random_normal(&s);
        p->x_half[i] = half_from_float(p->x[i]);
    }
    activation_quantize(pad40, p->x, NT, ID, p->pad40);
    activation_dequantize(pad40, p->pad40, NT, ID, p->x_of_pad40);
}

/* What separates the two: x rounded to int8 on one side and to binary16 on the other, w to binary16 (2^-11 of each, and
 * of both), and the roundings of the two sums, which their contracts bound. */
static void add_tolerance(struct sides *p, const struct contract_operands *quantised, const struct contract *c) {
    double value[CELLS], bound[CELLS];
    c->truth(quantised, value, bound);
    for (size_t i = 0; i < CELLS; i++) {
        p->tolerance[i] += bound[i];
        if (strcmp(c->weight, "f16") == 0)
            continue;
        for (size_t k = 0; k < ID; k++) {
            float w[FORMAT_MOST_VALUES];
            const size_t at = i % OD * ID + k, block = at / p->format->block_values, x = i / OD * ID + k;
            if (at % p->format->block_values == 0 || k == 0)
                p->format->dequantize(p->blocks + block * p->format->block_bytes, w);
            const double size = fabs((double)w[at % p->format->block_values]);
            p->tolerance[i] += size * (fabs((double)p->x_of_pad40[x] - p->x[x]) + 0x1.01p-10 * fabs((double)p->x[x]));
        }
    }
}

/* Both products; with shift the control path's weights begin so many rows on. */
static void multiply(struct sides *p, const char *format, size_t shift) {
    const struct contract *dequantise = named(format, "_dequantize"), *matvec = named(format, "_pad40_matvec"),
                          *mma = named("f16", "_mma_k16");
    dequantise->evaluate(&(struct contract_operands){.activation = p->blocks, .nt = OD, .id = ID}, p->w_half);
    const struct contract_operands left = {.weight = p->blocks, .activation = p->pad40, .nt = NT, .od = OD, .id = ID};
    const struct contract_operands right = {.weight = p->w_half, .activation = p->x_half, .nt = NT, .od = OD, .id = ID};
    matvec->evaluate(&left, p->quantised);
    memmove(p->w_half, p->w_half + shift * ID, (OD - shift) * ID * sizeof *p->w_half);
    mma->evaluate(&right, p->control);
    memset(p->tolerance, 0, sizeof p->tolerance);
    add_tolerance(p, &left, matvec);
    add_tolerance(p, &right, mma);
}

static size_t cells_apart(const struct sides *p) {
    size_t apart = 0;
    for (size_t i = 0; i < CELLS; i++)
        apart += !(fabs((double)p->quantised[i] - p->control[i]) <= p->tolerance[i]);
    return apart;
}

Test(control_path, agrees_with_the_quantised_product) {
    struct sides *p = calloc(1, sizeof *p);
    cr_assert(p, "out of memory");
    for (size_t n = 0; n < NAMES; n++) {
        make_operands(p, names[n]);
        multiply(p, names[n], 0);
        cr_assert(cells_apart(p) == 0, "%s: %zu of %d cells are apart", names[n], cells_apart(p), CELLS);
        cr_assert(memcmp(p->quantised, p->control, sizeof p->control) != 0, "%s: one path twice", names[n]);
        double size = 0, tolerance = 0;
        for (size_t i = 0; i < CELLS; i++) {
            size += fabs((double)p->quantised[i]);
            tolerance += p->tolerance[i];
        }
        cr_assert(tolerance < size, "%s: a tolerance of %g for results of %g sees nothing", names[n], tolerance / CELLS,
                  size / CELLS);
        multiply(p, names[n], 1); /* planted: the control path is a row ahead */
        cr_assert(cells_apart(p) > CELLS / 2, "%s: a row off, and only %zu cells are apart", names[n], cells_apart(p));
        free(p->blocks);
        free(p->pad40);
    }
    free(p);
}
