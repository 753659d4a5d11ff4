/* binary16: every value, every rounding boundary, and random bits against the second implementation. */
#include "../ref/half.h"
#include "../ref/random.h"
#include "independent/independent.h"
#include <criterion/criterion.h>
#include <math.h>

typedef uint16_t narrow(uint32_t bits);
typedef uint32_t widen(uint16_t h);

static uint32_t bits_of(double x) {
    return float_bits((float)x);
}

/* What half_to_float_bits must give, from the value as a double; exact, since binary32 holds every binary16. */
static uint32_t expected_wide(uint16_t h) {
    double value = independent_half_value(h);
    return isnan(value) ? 0x7fffffff : bits_of(value);
}

static int wrong_values(widen *convert) {
    int wrong = 0;
    for (uint32_t h = 0; h <= 0xffff; h++)
        wrong += convert((uint16_t)h) != expected_wide((uint16_t)h);
    return wrong;
}

/* Around every boundary: the midpoint of two neighbours goes to the even one, its f32 neighbours to their own side. The
 * neighbour above 65504 is infinity, and takes the place of 65536. Expectations follow from the construction alone. */
static int wrong_boundaries(narrow *convert) {
    int wrong = 0;
    for (uint32_t h = 0; h < 0x7c00; h++) {
        double above = h + 1 == 0x7c00 ? 65536 : independent_half_value((uint16_t)(h + 1));
        uint32_t midpoint = bits_of((independent_half_value((uint16_t)h) + above) / 2);
        uint16_t even = (uint16_t)(h + h % 2);
        for (uint32_t sign = 0; sign <= 1; sign++) {
            uint32_t s32 = sign << 31;
            uint16_t s16 = (uint16_t)(sign << 15);
            wrong += convert(s32 | bits_of(independent_half_value((uint16_t)h))) != (s16 | h);
            wrong += convert(s32 | (midpoint - 1)) != (s16 | h);
            wrong += convert(s32 | midpoint) != (s16 | even);
            wrong += convert(s32 | (midpoint + 1)) != (s16 | (h + 1));
        }
    }
    return wrong;
}

Test(half, every_value_widens_exactly) {
    int wrong = wrong_values(half_to_float_bits);
    cr_assert(wrong == 0, "%d of 65536 binary16 values widened wrongly", wrong);
}

Test(half, every_value_survives_the_way_there_and_back) {
    for (uint32_t h = 0; h <= 0xffff; h++) {
        uint16_t back = half_from_float_bits(half_to_float_bits((uint16_t)h));
        bool nan = (h & 0x7fff) > 0x7c00;
        cr_assert(back == (nan ? 0x7fff : h), "0x%04x came back as 0x%04x", h, back);
    }
}

Test(half, every_rounding_boundary) {
    int wrong = wrong_boundaries(half_from_float_bits);
    cr_assert(wrong == 0, "%d roundings wrong at the %d boundaries", wrong, 0x7c00);
}

Test(half, ends_of_the_range) {
    static const struct {
        uint32_t in;
        uint16_t want;
    } row[] = {
        {0x00000000, 0x0000}, {0x80000000, 0x8000}, {0x00000001, 0x0000}, {0x80000001, 0x8000}, /* least f32 */
        {0x33000000, 0x0000}, {0x33000001, 0x0001}, {0xb3000000, 0x8000}, {0xb3000001, 0x8001}, /* 2^-25 is a tie */
        {0x38800000, 0x0400}, {0x387fffff, 0x0400}, {0x387fe000, 0x0400}, {0x387fdfff, 0x03ff}, /* least normal */
        {0x477fefff, 0x7bff}, {0x477ff000, 0x7c00}, {0xc77fefff, 0xfbff}, {0xc77ff000, 0xfc00}, /* 65520 */
        {0x7f7fffff, 0x7c00}, {0xff7fffff, 0xfc00}, {0x7f800000, 0x7c00}, {0xff800000, 0xfc00}, /* largest, infinity */
        {0x7f800001, 0x7fff}, {0xff800001, 0x7fff}, {0x7fc00000, 0x7fff}, {0xffffffff, 0x7fff}, /* NaN: payload, sign */
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        uint16_t got = half_from_float_bits(row[i].in);
        cr_assert(got == row[i].want, "0x%08x: want 0x%04x got 0x%04x", row[i].in, row[i].want, got);
    }
    cr_assert(half_to_float_bits(0x7c01) == 0x7fffffff && half_to_float_bits(0xfe00) == 0x7fffffff,
              "NaN must widen to 0x7fffffff whatever its sign and payload");
}

Test(half, a_million_random_floats) {
    uint64_t key = random_key("half/a_million_random_floats");
    for (uint64_t i = 0; i < 250000; i++) {
        uint32_t words[4];
        random_block(key, i, words);
        for (int j = 0; j < 4; j++) {
            /* every other word is brought to the exponents that binary16 has, where rounding happens */
            uint32_t in = j % 2 ? words[j] : (words[j] & 0x807fffff) | (100 + words[j] / 4096 % 44) << 23;
            uint16_t got = half_from_float_bits(in), want = independent_half_of(in);
            cr_assert(got == want, "0x%08x: want 0x%04x got 0x%04x", in, want, got);
        }
    }
}

/* ---- plants: conversions as they are often written wrongly; the checks above must see each ---- */

static uint16_t truncating(uint32_t f) {
    uint16_t h = half_from_float_bits(f);
    bool rounded_up = fabs(independent_half_value(h)) > fabs((double)bits_float(f));
    return rounded_up && (f & 0x7fffffff) <= 0x7f800000 ? h - 1 : h;
}
static uint16_t ties_away(uint32_t f) {
    return (f & 0x1fff) == 0x1000 ? half_from_float_bits(f | 1) : half_from_float_bits(f);
}
static uint16_t flushing(uint32_t f) {
    uint16_t h = half_from_float_bits(f);
    return (h & 0x7c00) ? h : h & 0x8000;
}
static uint16_t saturating(uint32_t f) {
    uint16_t h = half_from_float_bits(f);
    return (h & 0x7fff) == 0x7c00 ? h - 1 : h;
}
static uint32_t widening_flushed(uint16_t h) {
    return half_to_float_bits((h & 0x7c00) ? h : h & 0x8000);
}
static uint32_t widening_payload(uint16_t h) {
    return (h & 0x7fff) > 0x7c00 ? (uint32_t)(h & 0x8000) << 16 | 0x7f800000 | (uint32_t)(h & 0x3ff) << 13
                                 : half_to_float_bits(h);
}

Test(half, planted_conversions_are_seen) {
    cr_assert(wrong_boundaries(truncating) > 0, "truncation went unseen");
    cr_assert(wrong_boundaries(ties_away) > 0, "ties away from zero went unseen");
    cr_assert(wrong_boundaries(flushing) > 0, "flushed subnormals went unseen");
    cr_assert(wrong_boundaries(saturating) > 0, "65504 in place of infinity went unseen");
    cr_assert(wrong_values(widening_flushed) == 2 * 1023, "flushed subnormals went unseen when widening");
    cr_assert(wrong_values(widening_payload) > 0, "NaN payloads went unseen when widening");
}
