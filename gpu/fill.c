#include "fill.h"
#include "../ref/half.h"
#include "../ref/random.h"
#include "raw.h"
#include <stdlib.h>
#include <string.h>

/* The floating-point types by the width of their significand; an integer type has none here. */
static const struct {
    const char *name;
    size_t bytes;
    int digits;
} floats[] = {{"bf16", 2, 8}, {"f16", 2, 11}, {"f32", 4, 24}, {"f64", 8, 53}};
enum { FLOATS = sizeof floats / sizeof *floats };

static size_t float_named(const char *type) {
    size_t f = 0;
    while (f < FLOATS && strcmp(floats[f].name, type))
        f++;
    return f;
}

static size_t integer_bytes(const char *type) {
    return strtoul(type + 1, NULL, 10) / 8; /* "i16": 2 */
}

/* Bits of a value that the type holds exactly, |value| < 2^digits. */
static uint64_t float_bits_of(size_t f, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (floats[f].bytes == 8)
        return bits;
    uint32_t narrow = float_bits((float)value);
    return floats[f].bytes == 4 ? narrow : floats[f].digits == 11 ? half_from_float_bits(narrow) : narrow >> 16;
}

void fill_random(const char *type, size_t count, uint64_t key, uint8_t *data) {
    struct random_stream s = random_open(key, 0);
    const size_t f = float_named(type), bytes = f < FLOATS ? floats[f].bytes : integer_bytes(type);
    for (size_t i = 0; i < count; i++) {
        uint64_t bits = random_u32(&s);
        if (bytes == 8)
            bits |= (uint64_t)random_u32(&s) << 32;
        if (f < FLOATS) { /* k * 2^(1-digits) - 1 with k of as many bits as the significand: exact */
            uint64_t k = bits >> ((bytes == 8 ? 64 : 32) - floats[f].digits);
            bits = float_bits_of(f, (double)k / (double)(1ull << (floats[f].digits - 1)) - 1);
        }
        memcpy(data + i * bytes, &bits, bytes); /* low bytes first */
    }
}

void fill_iota(const char *type, size_t count, uint8_t *data) {
    const size_t f = float_named(type), bytes = f < FLOATS ? floats[f].bytes : integer_bytes(type);
    for (size_t i = 0; i < count; i++) {
        uint64_t bits = f < FLOATS ? float_bits_of(f, (double)(i % (1ull << floats[f].digits))) : i;
        memcpy(data + i * bytes, &bits, bytes);
    }
}

bool fill_file(const char *path, const char *sha256, size_t bytes, uint8_t *data, struct error *e) {
    struct raw_file f;
    if (!raw_open(path, &f, e))
        return false;
    bool good = f.bytes == bytes || fail(e, "%s has %zu bytes, the buffer has %zu", path, f.bytes, bytes);
    good = good && raw_read(&f, data, e) && raw_has_digest(path, data, bytes, sha256, e);
    raw_close(&f);
    return good;
}
