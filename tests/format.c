/* The table of block formats, and the formats that are one line of arithmetic. */
#include "../ref/format.h"
#include "../ref/activation.h"
#include "../ref/contract.h"
#include "../ref/half.h"
#include "../ref/random.h"
#include "independent/independent.h"
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

Test(format, table) {
    static const struct {
        const char *name;
        uint32_t type;
        size_t values, bytes;
    } row[] = {{"f32", 0, 1, 4}, {"f16", 1, 1, 2}, {"q8_0", 8, 32, 34}, {"q4_K", 12, 256, 144}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const struct block_format *f = format_named(row[i].name);
        cr_assert(f && f == format_of_type(row[i].type), "%s: name and number disagree", row[i].name);
        cr_assert(f->block_values == row[i].values && f->block_bytes == row[i].bytes, "%s: block size", row[i].name);
        cr_assert(f->quantize && f->dequantize, "%s: both ways", row[i].name);
    }
    cr_assert(!format_named("Q4_K") && !format_named("") && !format_of_type(4), "names are exact, type 4 is no more");
}

/* What contracts name must exist, or a launch file could not be served. */
Test(format, contracts_name_formats_that_exist) {
    size_t count = 0;
    for (const struct contract *const *c = contracts; *c; c++, count++) {
        cr_assert(contract_named((*c)->name) == *c, "%s: not found by its name", (*c)->name);
        cr_assert(!(*c)->weight || format_named((*c)->weight), "%s: weight %s", (*c)->name, (*c)->weight);
        /* what a dequantiser reads, and the binary16 rows of the control path, are formats of weights */
        cr_assert(activation_named((*c)->activation) || format_named((*c)->activation), "%s: activation %s", (*c)->name,
                  (*c)->activation);
        cr_assert(activation_named((*c)->result) || format_named((*c)->result) || !strcmp((*c)->result, "i8"),
                  "%s: result %s", (*c)->name, (*c)->result);
    }
    cr_assert(count > 0 && !contract_named("q4_k_pad40") && !activation_named("pad"), "names are exact");
}

Test(format, f32_and_f16) {
    struct random_stream s = random_open(random_key("format/f32_and_f16"), 0);
    for (int i = 0; i < 10000; i++) {
        float x = bits_float(random_u32(&s)), y;
        uint8_t block[5];
        format_named("f32")->quantize(&x, block + 1);
        format_named("f32")->dequantize(block + 1, &y);
        cr_assert(!memcmp(&x, &y, sizeof x), "f32 0x%08x came back changed", float_bits(x));
        format_named("f16")->quantize(&x, block + 1);
        uint16_t h;
        memcpy(&h, block + 1, sizeof h);
        cr_assert(h == independent_half_of(float_bits(x)), "f16 of 0x%08x is 0x%04x", float_bits(x), h);
        format_named("f16")->dequantize(block + 1, &y);
        cr_assert(float_bits(y) == half_to_float_bits(h), "value of f16 0x%04x", h);
    }
}

Test(format, q8_0_corners) {
    static const float row[][2] = {{INFINITY, 1},           {NAN, 1},       {NAN, NAN}, {0x1p-149f, 0},
                                   {0x1p-130f, -0x1p-130f}, {3e38f, -3e38f}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        float x[32];
        uint8_t block[34];
        for (int k = 0; k < 32; k++)
            x[k] = row[i][k % 2];
        format_named("q8_0")->quantize(x, block); /* defined: the sanitizers of the test build watch */
        if (isnan(row[i][0]))
            cr_assert(block[2] == 0, "row %zu: NaN must give 0", i);
    }
}

/* d * scale * code - dmin * min is exact in float64, or off by less than would move a float32: so far apart are d and
 * dmin only when one of them does not show. Cells whose float32 differs from the dequantised one. */
static int integers_that_differ(const struct block_format *f, const uint8_t *block,
                                void (*unpack)(const void *, struct block_integers *)) {
    struct block_integers b;
    float x[FORMAT_MOST_VALUES];
    int wrong = 0;
    unpack(block, &b);
    f->dequantize(block, x);
    for (size_t k = 0; k < f->block_values; k++) {
        const size_t s = k / f->sub_values;
        const double value = (double)b.d * b.scale[s] * b.code[k] - (double)b.dmin * b.min[s];
        if (!isfinite(x[k]) && !isfinite((float)value))
            continue;
        wrong += float_bits((float)value + 0.0f) != float_bits(x[k] + 0.0f); /* zeros of both signs are one */
    }
    return wrong;
}

static const struct block_format *planted;
static void halves_swapped(const void *block, struct block_integers *out) {
    struct block_integers b;
    planted->unpack(block, &b);
    *out = b;
    for (size_t k = 0; k < planted->block_values; k++)
        out->code[k] = b.code[k ^ 16];
}
static void scales_shifted(const void *block, struct block_integers *out) {
    planted->unpack(block, out);
    const size_t subs = planted->block_values / planted->sub_values;
    for (size_t s = 0; s + 1 < subs; s++)
        out->scale[s] = out->scale[s + 1];
    out->d *= subs == 1 ? 2 : 1;
}

/* Every format that has integers, whatever joins the table. */
Test(format, integers_say_what_dequantize_says) {
    size_t formats = 0;
    for (const struct block_format *const *f = block_formats; *f; f++) {
        if (!(*f)->unpack)
            continue;
        struct random_stream s = random_open(random_key((*f)->name), 7);
        int swapped = 0, shifted = 0;
        planted = *f;
        for (int i = 0; i < 2000; i++) {
            uint8_t block[FORMAT_MOST_VALUES * 4];
            for (size_t k = 0; k < (*f)->block_bytes; k++)
                block[k] = (uint8_t)random_u32(&s);
            const struct block_field field[] = {(*f)->d, (*f)->dmin};
            for (int n = 0; n < 2; n++)
                if (field[n].bytes >= 2) /* the scale's exponent: finite, of sane size */
                    block[field[n].at + field[n].bytes - 1] =
                        (uint8_t)((block[field[n].at + field[n].bytes - 1] & 0x83) | 0x20);
            cr_assert(integers_that_differ(*f, block, (*f)->unpack) == 0, "%s, block %d: integers and values differ",
                      (*f)->name, i);
            swapped += integers_that_differ(*f, block, halves_swapped) > 0;
            shifted += integers_that_differ(*f, block, scales_shifted) > 0;
        }
        cr_assert(swapped > 1000 && shifted > 1000, "%s: planted faults show in %d and %d of 2000 blocks", (*f)->name,
                  swapped, shifted);
        formats++;
    }
    cr_assert(formats >= 14, "%zu formats", formats);
}
