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
        cr_assert(!strcmp((*c)->activation, "f32") || activation_named((*c)->activation), "%s: activation %s",
                  (*c)->name, (*c)->activation);
        cr_assert(!strcmp((*c)->result, "f32") || activation_named((*c)->result), "%s: result %s", (*c)->name,
                  (*c)->result);
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
