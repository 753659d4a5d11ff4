/* Scales of a trained model lie within a few powers of two of each other. A scale whose bytes were swapped takes its
 * exponent from the lowest bits of the right one, which are as good as random, so the exponents spread over the whole
 * range. Two signs count, each on at least 32 scales:
 *
 *   spread   the middle half of the exponents spans at least 6, and at most a third of that when swapped;
 *   median   above 2^6, and within 2^-16 .. 2^2 when swapped, where the exponents then span at most 4.
 *
 * Nothing is said of small medians: a healthy subnormal binary16 has a zero byte too, and looks fine when swapped. */
#include "gguf_scan.h"
#include "half.h"
#include "printable.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Magnitudes are counted by their upper 15 bits, which hold a whole binary16 or bfloat16, and of an f32 the exponent
 * and the first seven bits of the fraction. */
enum { KEYS = 1 << 15, LEAST_SCALES = 32 };

struct spread {
    uint64_t count[KEYS];
};

/* How a field is read: its bytes, and bits of the fraction within the key. */
struct reading {
    unsigned bytes, fraction;
};

static double key_value(struct reading how, size_t key) {
    return how.fraction == 10 ? half_to_float((uint16_t)key) : bits_float((uint32_t)key << 16);
}

/* Keys of a field as it stands and with its bytes swapped. */
static void keys_of(struct reading how, const uint8_t *field, size_t *key, size_t *swapped) {
    const unsigned last = how.bytes - 1;
    *key = ((unsigned)field[last] << 8 | field[last - 1]) & 0x7fff;
    *swapped = ((unsigned)field[0] << 8 | field[1]) & 0x7fff;
}

static bool key_is_nan_or_infinite(struct reading how, size_t key) {
    return key >> how.fraction == (KEYS - 1u) >> how.fraction;
}

/* The key that `share` of the counted ones (0 .. 1) do not exceed; 0 and what is not finite are left out. */
static size_t quantile(const struct spread *s, struct reading how, double share, uint64_t *total) {
    uint64_t sum = 0, seen = 0;
    for (size_t key = 1; key < KEYS; key++)
        sum += key_is_nan_or_infinite(how, key) ? 0 : s->count[key];
    *total = sum;
    for (size_t key = 1; key < KEYS; key++) {
        if (key_is_nan_or_infinite(how, key))
            continue;
        seen += s->count[key];
        if (seen > 0 && (double)seen >= share * (double)sum)
            return key;
    }
    return 0;
}

static size_t exponent_span(const struct spread *s, struct reading how) {
    uint64_t total;
    return (quantile(s, how, 0.75, &total) >> how.fraction) - (quantile(s, how, 0.25, &total) >> how.fraction);
}

static void judge(const struct spread *as_is, const struct spread *swapped, struct reading how, struct gguf_scan *out) {
    uint64_t total, swapped_total;
    out->median = key_value(how, quantile(as_is, how, 0.5, &total));
    out->swapped_median = key_value(how, quantile(swapped, how, 0.5, &swapped_total));
    if (total < LEAST_SCALES || swapped_total < LEAST_SCALES)
        return;
    const size_t span = exponent_span(as_is, how), swapped_span = exponent_span(swapped, how);
    const bool spread = span >= 6 && 3 * swapped_span <= span;
    const bool median =
        out->median > 0x1p6 && out->swapped_median >= 0x1p-16 && out->swapped_median <= 0x1p2 && swapped_span <= 4;
    out->looks_swapped = spread || median;
}

static void count_scale(struct reading how, const uint8_t *field, struct spread *as_is, struct spread *swapped,
                        struct gguf_scan *out) {
    size_t key, other;
    keys_of(how, field, &key, &other);
    as_is->count[key]++;
    swapped->count[other]++;
    out->scales++;
    if (!key_is_nan_or_infinite(how, key))
        return;
    uint32_t fraction = key & ((1u << how.fraction) - 1);
    if (how.bytes == 4)
        fraction |= (uint32_t)field[0] | (uint32_t)field[1] << 8;
    out->scales_nan += fraction != 0;
    out->scales_infinite += fraction == 0;
}

/* The fields that are scales: the format's, or the element itself in the plain types. */
static size_t scale_fields(const struct block_format *f, struct block_field fields[2], struct reading *how) {
    size_t count = 0;
    const bool plain = f->block_values == 1 && f->block_bytes <= 4;
    fields[count] = plain ? (struct block_field){0, (uint8_t)f->block_bytes} : f->d;
    count += fields[count].bytes >= 2;
    if (f->dmin.bytes >= 2 && count == 1)
        fields[count++] = f->dmin;
    *how = (struct reading){fields[0].bytes, 10};
    if (fields[0].bytes == 4 || (plain && !strcmp(f->name, "bf16")))
        how->fraction = 7;
    return count;
}

bool gguf_scan(const struct gguf_tensor *t, struct gguf_scan *out, struct error *e) {
    const struct block_format *f = t->format;
    *out = (struct gguf_scan){.range = value_range_empty};
    struct block_field fields[2];
    struct reading how;
    const size_t count = scale_fields(f, fields, &how);
    float *value = calloc(f->block_values, sizeof *value);
    struct spread *spread = calloc(2, sizeof *spread);
    const bool good = value && spread;
    char name[200];
    if (!good)
        fail(e, "no memory to scan tensor \"%s\"", printable(name, sizeof name, t->name, strlen(t->name)));
    /* Block by block: a row may be as long as the file, its values many times that. */
    for (size_t at = 0; good && at < t->bytes; at += f->block_bytes) {
        for (size_t i = 0; i < count; i++)
            count_scale(how, t->data + at + fields[i].at, &spread[0], &spread[1], out);
        f->dequantize(t->data + at, value);
        value_range_add(&out->range, value, f->block_values);
    }
    if (good && count > 0)
        judge(&spread[0], &spread[1], how, out);
    free(value);
    free(spread);
    return good;
}
