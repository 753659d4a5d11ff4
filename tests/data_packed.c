/* The data that every format with integers gets by rule: exact sums, places that differ, all corners, sane sizes. */
#include "../gpu/data_packed.h"
#include "../gpu/operands.h"
#include "../ref/half.h"
#include "../ref/truth.h"
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint8_t *filled(enum data_class c, const struct block_format *f, size_t rows, size_t depth) {
    uint8_t *bytes = calloc(rows * (depth / f->block_values), f->block_bytes);
    struct random_stream s = random_open(random_key("data_packed"), (uint32_t)c);
    cr_assert(bytes, "out of memory");
    data_packed_weight(c, f, &s, rows, depth, bytes);
    return bytes;
}

static bool is_matrix(const struct contract *c) {
    return c->weight != NULL;
}

/* Whole depths of which every format has whole blocks. */
enum { ROWS = 9, TOKENS = 5, DEPTH = 2048 };

static struct operands made(const struct contract *c, enum data_class class) {
    struct operands o;
    struct error e = {""};
    const struct operands_request r = {
        .contract = c, .nt = TOKENS, .od = ROWS, .id = DEPTH, .data = class, .key = random_key(c->name)};
    cr_assert(operands_make(&r, &o, &e), "%s, %s: %s", c->name, data_class_names[class], e.text);
    return o;
}

/* Every matrix contract of the table, with its own formats. */
Test(data_packed, contracts_keep_their_bound_and_exact_data_need_none) {
    size_t tried = 0;
    for (const struct contract *const *c = contracts; *c; c++) {
        if (!is_matrix(*c))
            continue;
        for (int class = DATA_EXACT; class < DATA_REAL; class ++) {
            struct operands o = made(*c, (enum data_class) class);
            float result[ROWS * TOKENS];
            double value[ROWS * TOKENS], bound[ROWS * TOKENS];
            (*c)->evaluate(&o.view, result);
            const struct truth_gap gap = truth_compare(*c, &o.view, result);
            cr_assert(gap.holds, "%s, %s: cell %zu is %a, truth %a, bound %a", (*c)->name, data_class_names[class],
                      gap.cell, gap.got, gap.value, gap.bound);
            (*c)->truth(&o.view, value, bound);
            size_t zeros = 0;
            for (size_t i = 0; i < ROWS * TOKENS; i++) {
                zeros += value[i] == 0;
                cr_assert(class == DATA_ADV || isfinite(result[i]), "%s, %s: cell %zu is not finite", (*c)->name,
                          data_class_names[class], i);
                cr_assert(class != DATA_EXACT || (double)result[i] == value[i], "%s: exact cell %zu is %a, truth %a",
                          (*c)->name, i, result[i], value[i]);
            }
            cr_assert(zeros < ROWS * TOKENS / 2, "%s, %s: %zu cells of %d are 0", (*c)->name, data_class_names[class],
                      zeros, ROWS * TOKENS);
            operands_free(&o);
            tried++;
        }
    }
    cr_assert(tried >= 4, "%zu data sets", tried);
}

Test(data_packed, exact_blocks_keep_to_their_units) {
    size_t tried = 0;
    for (const struct block_format *const *f = block_formats; *f; f++) {
        if (!(*f)->pack)
            continue;
        uint8_t *bytes = filled(DATA_EXACT, *f, 7, DEPTH);
        double most = 0;
        for (size_t i = 0; i < 7 * DEPTH / (*f)->block_values; i++) {
            struct block_integers b;
            (*f)->unpack(bytes + i * (*f)->block_bytes, &b);
            for (size_t k = 0; k < (*f)->block_values; k++) {
                const size_t s = k / (*f)->sub_values;
                const double term = fabs(32.0 * b.d * b.scale[s] * b.code[k]), min = fabs(32.0 * b.dmin * b.min[s]);
                cr_assert(term == floor(term) && min == floor(min) && term + min <= DATA_EXACT_WEIGHT_UNITS,
                          "%s, block %zu, value %zu: %g and %g units", (*f)->name, i, k, term, min);
                most = term > most ? term : most;
            }
        }
        cr_assert(most > 8, "%s: no term is above %g units", (*f)->name, most);
        free(bytes);
        tried++;
    }
    cr_assert(tried >= 2, "%zu formats", tried);
}

/* No two blocks of a coded tensor are equal, nor are the values of neighbours in row, block, sub-block and k. */
Test(data_packed, coded_blocks_differ_from_their_neighbours) {
    for (const struct block_format *const *f = block_formats; *f; f++) {
        if (!(*f)->pack)
            continue;
        enum { R = 40 };
        const size_t blocks = DEPTH / (*f)->block_values;
        uint8_t *bytes = filled(DATA_CODED, *f, R, DEPTH);
        for (size_t i = 0; i < R * blocks; i++) {
            const size_t near[] = {i + 1, i + 2, i + 8, i + blocks, i + 16 * blocks, i + 8 * blocks + 1};
            for (size_t n = 0; n < sizeof near / sizeof *near; n++)
                cr_assert(near[n] >= R * blocks || memcmp(bytes + i * (*f)->block_bytes,
                                                          bytes + near[n] * (*f)->block_bytes, (*f)->block_bytes) != 0,
                          "%s: blocks %zu and %zu are equal", (*f)->name, i, near[n]);
            struct block_integers b;
            (*f)->unpack(bytes + i * (*f)->block_bytes, &b);
            for (size_t k = 0; k + 1 < (*f)->sub_values; k++)
                cr_assert(b.code[k] != b.code[k + 1], "%s: block %zu has equal codes at %zu and the next", (*f)->name,
                          i, k);
            for (size_t s = 1; s < (*f)->block_values / (*f)->sub_values; s++)
                cr_assert(memcmp(b.code, b.code + s * (*f)->sub_values, (*f)->sub_values) != 0 ||
                              b.scale[0] != b.scale[s],
                          "%s: block %zu has equal sub-blocks 0 and %zu", (*f)->name, i, s);
        }
        free(bytes);
    }
}

static bool range_seen(const bool *seen, int least, int most) {
    for (int v = least; v <= most; v++)
        if (!seen[v + 256])
            return false;
    return true;
}

/* All sub-block scales, minima and codes that a format has come up, and scales of every kind. */
Test(data_packed, adversarial_blocks_have_every_corner) {
    for (const struct block_format *const *f = block_formats; *f; f++) {
        if (!(*f)->pack)
            continue;
        enum { R = 32 };
        uint8_t *bytes = filled(DATA_ADV, *f, R, DEPTH);
        bool scale[512] = {0}, min[512] = {0}, code[512] = {0};
        int huge = 0, tiny = 0, zero = 0, negative = 0;
        for (size_t i = 0; i < R * DEPTH / (*f)->block_values; i++) {
            struct block_integers b;
            (*f)->unpack(bytes + i * (*f)->block_bytes, &b);
            huge += b.d >= 8;
            tiny += b.d != 0 && fabsf(b.d) < 0x1p-13f;
            zero += b.d == 0;
            negative += b.d < 0;
            cr_assert(isfinite(b.d) && isfinite(b.dmin), "%s: block %zu has a scale that is not finite", (*f)->name, i);
            for (size_t s = 0; s < (*f)->block_values / (*f)->sub_values; s++) {
                scale[b.scale[s] + 256] = true;
                min[b.min[s] + 256] = true;
            }
            for (size_t k = 0; k < (*f)->block_values; k++)
                code[b.code[k] + 256] = true;
        }
        const bool power = (*f)->d.bytes == 1; /* has neither zero nor sign */
        cr_assert(huge && tiny && (power || (zero && negative)), "%s: %d huge, %d tiny, %d zero, %d negative scales",
                  (*f)->name, huge, tiny, zero, negative);
        cr_assert(range_seen(scale, (*f)->scale_least, (*f)->scale_most), "%s: a sub-block scale is missing",
                  (*f)->name);
        cr_assert(range_seen(min, (*f)->min_most == 1 ? 1 : 0, (*f)->min_most), "%s: a minimum is missing", (*f)->name);
        for (int c = 0; c < (*f)->code_count; c++)
            cr_assert(code[((*f)->code_list ? (*f)->code_list[c] : (*f)->code_least + c) + 256],
                      "%s: code %d is missing", (*f)->name, c);
        free(bytes);
    }
}

/* A buffer says the same of every token, whatever its layout and however many tokens there are. */
Test(data_packed, activations_of_every_layout) {
    for (const struct activation_format *const *f = activation_formats; *f; f++)
        for (int class = DATA_EXACT; class < DATA_REAL; class ++) {
            float *few = calloc(3 * DEPTH, sizeof *few), *many = calloc(70 * DEPTH, sizeof *many);
            for (int round = 0; round < 2; round++) {
                const size_t nt = round ? 70 : 3;
                size_t bytes;
                cr_assert(activation_bytes(*f, nt, DEPTH, &bytes), "%s: size", (*f)->name);
                uint8_t *buffer = malloc(bytes);
                memset(buffer, 0xa5, bytes);
                struct random_stream s = random_open(random_key((*f)->name), (uint32_t) class);
                data_packed_activation((enum data_class) class, *f, &s, nt, DEPTH, buffer);
                activation_dequantize(*f, buffer, nt, DEPTH, round ? many : few);
                free(buffer);
            }
            cr_assert(!memcmp(few, many, 3 * DEPTH * sizeof *few), "%s, %s: tokens depend on how many there are",
                      (*f)->name, data_class_names[class]);
            size_t zeros = 0;
            for (size_t i = 0; i < 70 * DEPTH; i++) {
                zeros += many[i] == 0;
                cr_assert(isfinite(many[i]), "%s, %s: value %zu is not finite", (*f)->name, data_class_names[class], i);
            }
            cr_assert(zeros < 70 * DEPTH / 2, "%s, %s: %zu zeros", (*f)->name, data_class_names[class], zeros);
            free(few);
            free(many);
        }
}
