#include "fit.h"
#include "../ref/activation.h"
#include "../ref/checked.h"
#include "../ref/format.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* *bytes = the size of (rows, depth) values; false when that is no size. */
static bool size_of(const char *format, size_t rows, size_t depth, size_t *bytes) {
    const struct block_format *w = format_named(format);
    const struct activation_format *a = w ? NULL : activation_named(format);
    const size_t values = w ? w->block_values : a ? a->block_values : 0;
    if (!values || !rows || !depth || depth % values)
        return false;
    if (a)
        return activation_bytes(a, rows, depth, bytes);
    return size_mul(rows, depth / values, bytes) && size_mul(*bytes, w->block_bytes, bytes);
}

static bool fits(const char *format, size_t rows, size_t depth, size_t bytes) {
    size_t size;
    return size_of(format, rows, depth, &size) && size == bytes;
}

static void add(char **text, const char *what, ...) __attribute__((format(printf, 2, 3)));
static void add(char **text, const char *what, ...) {
    char part[128];
    va_list args;
    va_start(args, what);
    vsnprintf(part, sizeof part, what, args);
    va_end(args);
    char *longer = must_format("%s%s%s", *text, **text ? ", or " : "; its size is that of ", part);
    free(*text);
    *text = longer;
}

/* The other factor of a size that is proportional to it, or 0. */
static size_t other(size_t bytes, size_t of_one) {
    return of_one && bytes && bytes % of_one == 0 ? bytes / of_one : 0;
}

char *fit_hint(const char *format, bool weight, size_t rows, size_t depth, size_t bytes) {
    char *text = must_strdup("");
    size_t block_values = 1, one;
    if (format_named(format))
        block_values = format_named(format)->block_values;
    else if (activation_named(format))
        block_values = activation_named(format)->block_values;
    const size_t more_rows = size_of(format, rows, depth, &one) ? other(bytes, one / rows) : 0;
    const size_t blocks = size_of(format, rows, block_values, &one) ? other(bytes, one) : 0;
    size_t deep;
    if (more_rows && fits(format, more_rows, depth, bytes))
        add(&text, "%s = %zu", weight ? "od" : "nt", more_rows);
    if (blocks && size_mul(blocks, block_values, &deep) && fits(format, rows, deep, bytes))
        add(&text, "id = %zu", deep);
    for (size_t i = 0; weight && block_formats[i]; i++)
        if (fits(block_formats[i]->name, rows, depth, bytes))
            add(&text, "%s", block_formats[i]->name);
    for (size_t i = 0; !weight && activation_formats[i]; i++)
        if (fits(activation_formats[i]->name, rows, depth, bytes))
            add(&text, "%s", activation_formats[i]->name);
    if (!weight && strcmp(format, "f32") && fits("f32", rows, depth, bytes))
        add(&text, "f32");
    return text;
}
