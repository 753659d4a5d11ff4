#include "tomography_coded.h"
#include "../ref/checked.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    EXACT_INTEGERS = 2047, /* of a binary16 or more, whose products with 1 are exact everywhere */
    BF16_INTEGERS = 255,
    POWERS = 13,
    CHUNK = 32,      /* values under a scale of an activation */
    MOST_CODE = 127, /* of an activation */
};

static bool has_minima(const struct coded *c) {
    return c->format != NULL && !c->plain && c->format->min_most > 0;
}

static size_t blocks_of(const struct coded *c) {
    return c->depth / c->block;
}

static size_t subs_of(const struct coded *c) {
    return c->depth / c->sub;
}

bool coded_open(const char *format, size_t rows, size_t depth, struct coded *c, struct error *e) {
    *c = (struct coded){.format = format_named(format), .rows = rows, .depth = depth};
    c->activation = c->format == NULL ? activation_named(format) : NULL;
    const struct block_format *f = c->format;
    c->plain = f != NULL && f->sub_values == 0 && f->block_values == 1 && f->quantize != NULL;
    const bool can = c->activation != NULL ? c->activation->pack != NULL : f != NULL && (c->plain || f->pack != NULL);
    if (!can) {
        *c = (struct coded){0};
        return false;
    }
    c->block = c->plain ? depth : f != NULL ? f->block_values : CHUNK;
    c->sub = c->plain ? depth : f != NULL ? f->sub_values : CHUNK;
    size_t values;
    bool good = size_mul(rows, depth, &values);
    if (c->activation != NULL) {
        good = good && activation_bytes(c->activation, rows, depth, &c->size);
    } else {
        good = good && size_mul(rows * (depth / f->block_values), f->block_bytes, &c->size);
    }
    if (!good) {
        *c = (struct coded){0};
        return fail(e, "an operand of %zu rows of %zu values in %s is too large", rows, depth, format);
    }
    c->code = calloc(values, sizeof *c->code);
    c->d = calloc(rows * blocks_of(c), sizeof *c->d);
    c->dmin = calloc(rows * blocks_of(c), sizeof *c->dmin);
    c->scale = calloc(rows * subs_of(c), sizeof *c->scale);
    c->min = calloc(rows * subs_of(c), sizeof *c->min);
    c->bytes = calloc(c->size + 1, 1);
    if (c->code == NULL || c->d == NULL || c->dmin == NULL || c->scale == NULL || c->min == NULL || c->bytes == NULL) {
        coded_free(c);
        return fail(e, "no memory for an operand of %zu rows of %zu values", rows, depth);
    }
    coded_neutral(c);
    return true;
}

void coded_free(struct coded *c) {
    free(c->code);
    free(c->d);
    free(c->dmin);
    free(c->scale);
    free(c->min);
    free(c->bytes);
    *c = (struct coded){0};
}

void coded_neutral(struct coded *c) {
    for (size_t i = 0; i < c->rows * c->depth; ++i) {
        c->code[i] = c->activation == NULL;
    }
    for (size_t i = 0; i < c->rows * blocks_of(c); ++i) {
        c->d[i] = 1;
        c->dmin[i] = 0;
    }
    for (size_t i = 0; i < c->rows * subs_of(c); ++i) {
        c->scale[i] = 1;
        c->min[i] = has_minima(c) && c->format->min_most == 1;
    }
}

static void pack_row(struct coded *c, size_t row) {
    const struct block_format *f = c->format;
    const size_t blocks = c->depth / f->block_values, subs = c->plain ? 0 : f->block_values / f->sub_values;
    for (size_t b = 0; b < blocks; ++b) {
        uint8_t *out = c->bytes + (row * blocks + b) * f->block_bytes;
        const int16_t *code = c->code + row * c->depth + b * f->block_values;
        if (c->plain) {
            const float x = code[0];
            f->quantize(&x, out);
            continue;
        }
        struct block_integers v = {.d = c->d[row * blocks + b], .dmin = c->dmin[row * blocks + b]};
        memcpy(v.scale, c->scale + (row * blocks + b) * subs, subs * sizeof *v.scale);
        memcpy(v.min, c->min + (row * blocks + b) * subs, subs * sizeof *v.min);
        for (size_t k = 0; k < f->block_values; ++k) {
            v.code[k] = (int8_t)code[k];
        }
        f->pack(&v, out);
    }
}

static void pack_token(struct coded *c, size_t row) {
    const struct activation_format *f = c->activation;
    for (size_t b = 0; b < c->depth / f->block_values; ++b) {
        uint8_t block[ACTIVATION_MOST_BYTES];
        int8_t q[ACTIVATION_MOST_VALUES];
        const size_t first = row * c->depth + b * f->block_values;
        for (size_t k = 0; k < f->block_values; ++k) {
            q[k] = (int8_t)c->code[first + k];
        }
        f->pack(q, c->d + first / CHUNK, block);
        activation_put(f, c->bytes, c->rows, c->depth, row, b, block);
    }
}

void coded_pack(struct coded *c) {
    memset(c->bytes, 0, c->size);
    for (size_t row = 0; row < c->rows; ++row) {
        if (c->activation != NULL) {
            pack_token(c, row);
        } else {
            pack_row(c, row);
        }
    }
}

/* first .. last */
static struct alphabet integers(int first, int last) {
    struct alphabet a = {.count = last >= first ? (size_t)(last - first) + 1 : 0};
    a.values = must_calloc(a.count + 1, sizeof *a.values);
    for (size_t i = 0; i < a.count; ++i) {
        a.values[i] = (float)(first + (int)i);
    }
    return a;
}

static struct alphabet of_code(const struct coded *c) {
    const struct block_format *f = c->format;
    if (c->activation != NULL) {
        return integers(-MOST_CODE, MOST_CODE);
    }
    if (c->plain) {
        return integers(0, strcmp(f->name, "bf16") == 0 ? BF16_INTEGERS : EXACT_INTEGERS);
    }
    struct alphabet a = integers(f->code_least, f->code_least + f->code_count - 1);
    for (size_t i = 0; f->code_list != NULL && i < a.count; ++i) {
        a.values[i] = f->code_list[i];
    }
    return a;
}

static struct alphabet of_field(struct block_field field) {
    struct alphabet a = integers(1, field.bytes == 0 ? 0 : field.bytes == 1 ? POWERS : EXACT_INTEGERS);
    for (size_t i = 0; field.bytes == 1 && i < a.count; ++i) {
        a.values[i] = ldexpf(1, (int)i);
    }
    return a;
}

struct alphabet coded_alphabet(const struct coded *c, enum coded_field field) {
    const struct block_format *f = c->plain ? NULL : c->format;
    switch (field) {
    case CODED_CODE:
        return of_code(c);
    case CODED_D:
        return f != NULL ? of_field(f->d) : integers(1, c->activation != NULL ? EXACT_INTEGERS : 0);
    case CODED_SCALE:
        return f != NULL && f->scale_most > f->scale_least ? integers(f->scale_least, f->scale_most) : integers(1, 0);
    case CODED_DMIN:
        return f != NULL && f->min_most > 0 ? integers(1, EXACT_INTEGERS) : integers(1, 0);
    case CODED_MIN:
        return f != NULL && f->min_most > 1 ? integers(0, f->min_most) : integers(1, 0);
    default:
        return integers(1, c->activation != NULL ? EXACT_INTEGERS : 0);
    }
}

size_t alphabet_index(const struct alphabet *a, double value) {
    size_t low = 0, high = a->count;
    while (low < high) {
        const size_t mid = (low + high) / 2;
        if ((double)a->values[mid] < value) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low < a->count && (double)a->values[low] == value ? low : SIZE_MAX;
}

size_t coded_place_values(const struct coded *c, enum coded_field field) {
    switch (field) {
    case CODED_CODE:
        return 1;
    case CODED_D:
    case CODED_DMIN:
        return c->block;
    case CODED_SUM:
        return CHUNK;
    default:
        return c->sub;
    }
}

size_t coded_places(const struct coded *c, enum coded_field field) {
    return c->depth / coded_place_values(c, field);
}

void coded_set(struct coded *c, enum coded_field field, size_t row, size_t place, float value) {
    const size_t at = row * coded_places(c, field) + place;
    switch (field) {
    case CODED_CODE:
        c->code[at] = (int16_t)value;
        return;
    case CODED_D:
        c->d[at] = value;
        return;
    case CODED_DMIN:
        c->dmin[at] = value;
        return;
    case CODED_SCALE:
        c->scale[at] = (int16_t)value;
        return;
    case CODED_MIN:
        c->min[at] = (int16_t)value;
        return;
    default:
        for (size_t k = 0; k < CHUNK; ++k) {
            c->code[at * CHUNK + k] = (int16_t)((int)value / CHUNK + ((int)k < (int)value % CHUNK));
        }
    }
}
