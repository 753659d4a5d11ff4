/* Binary16 operands by class.
 *
 *   exact  integers -31 .. 31 times 2^-5: products are at most 961 units of 2^-10, sums of 16384 of them below 2^24,
 * and whatever an mma cuts off is below the unit coded  element k of row r has mantissa (77 k + 421 r + 61 (k / 16) +
 * salt) mod 1024, exponent field 10 + (k + 3 r + k / 8 + r / 8) mod 7, and sign (k / 2 + r / 4) mod 2: neighbours in k
 * and r, and those 8, 16 and 32 away, differ in mantissa and exponent adv    a row keeps to one kind, (row + salt) mod
 * 6: +-65504; subnormal numbers and the least normal; zeros of both signs among ordinary values; every exponent; pairs
 * that cancel each other beside a small rest; ones beside 2^-11, which an mma cuts off or not as their places say. All
 * finite rand   normal deviates */
#include "data_f16.h"
#include "../ref/half.h"
#include "data.h"

void data_f16_exact(struct random_stream *s, size_t rows, size_t depth, void *bytes) {
    uint16_t *x = bytes;
    for (size_t i = 0; i < rows * depth; i++)
        x[i] = half_from_float((float)((int)random_below(s, 63) - 31) * 0x1p-5f);
}

void data_f16_coded(struct random_stream *s, size_t rows, size_t depth, void *bytes) {
    uint16_t *x = bytes;
    const size_t salt = random_below(s, 1024);
    for (size_t r = 0; r < rows; r++)
        for (size_t k = 0; k < depth; k++) {
            const size_t mantissa = (77 * k + 421 * r + 61 * (k / 16) + salt) % 1024;
            const size_t exponent = 10 + (k + 3 * r + k / 8 + r / 8) % 7, sign = (k / 2 + r / 4) % 2;
            *x++ = (uint16_t)(sign << 15 | exponent << 10 | mantissa);
        }
}

enum adv_kind { LARGEST, SUBNORMAL, ZEROS, EVERY_EXPONENT, CANCELLING, BESIDE_ONE, ADV_KINDS };

static uint16_t adv_value(struct random_stream *s, enum adv_kind kind, size_t k) {
    const uint32_t bits = random_u32(s), sign = bits & 0x8000, fraction = bits & 0x3ff;
    const uint16_t ordinary = half_from_float(random_normal(s));
    switch (kind) {
    case LARGEST:
        return (uint16_t)(sign | 0x7bff);
    case SUBNORMAL:
        return (uint16_t)(sign | (k % 7 == 3 ? 0x0400 : fraction));
    case ZEROS:
        return k % 3 ? (uint16_t)sign : ordinary;
    case EVERY_EXPONENT:
        return (uint16_t)(sign | random_below(s, 31) << 10 | fraction);
    case CANCELLING: /* 1024 and -1024 by turns */
        return k % 16 < 14 ? (uint16_t)(0x6400 | (k % 2 ? 0x8000 : 0)) : ordinary;
    default:
        return (uint16_t)(k % 16 ? 0x1000 | fraction : 0x3c00);
    }
}

void data_f16_adv(struct random_stream *s, size_t rows, size_t depth, void *bytes) {
    uint16_t *x = bytes;
    const size_t salt = random_below(s, ADV_KINDS);
    for (size_t row = 0; row < rows; row++)
        for (size_t k = 0; k < depth; k++)
            *x++ = adv_value(s, (enum adv_kind)((row + salt) % ADV_KINDS), k);
}

void data_f16_rand(struct random_stream *s, size_t rows, size_t depth, void *bytes) {
    uint16_t *x = bytes;
    for (size_t i = 0; i < rows * depth; i++)
        x[i] = half_from_float(random_normal(s));
}
