#include "independent.h"
#include <string.h>

static const struct integer_format formats[] = {
    {"q4_0", 32, 18, 32, independent_read_q4_0},   {"q4_1", 32, 20, 32, independent_read_q4_1},
    {"q5_0", 32, 22, 32, independent_read_q5_0},   {"q5_1", 32, 24, 32, independent_read_q5_1},
    {"q8_0", 32, 34, 32, independent_read_q8_0},   {"q2_K", 256, 84, 16, independent_read_q2_k},
    {"q3_K", 256, 110, 16, independent_read_q3_k}, {"q4_K", 256, 144, 32, independent_read_q4_k},
    {"q5_K", 256, 176, 32, independent_read_q5_k}, {"q6_K", 256, 210, 16, independent_read_q6_k},
};

const struct integer_format *independent_integers_of(const char *format) {
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (!strcmp(formats[i].name, format))
            return &formats[i];
    return NULL;
}

/* A finite binary16 in units of 2^-24. */
static s128 half_units(struct parts p) {
    s128 units = (s128)p.mantissa << (p.exponent + 24);
    return p.negative ? -units : units;
}

static uint32_t value(struct integers v) {
    struct parts d = independent_parts(&binary16, v.d), dmin = independent_parts(&binary16, v.dmin);
    s128 product = half_units(d) * v.scale * v.code, offset = half_units(dmin) * v.min, exact = product - offset;
    bool minus = d.negative != ((v.scale < 0) != (v.code < 0));
    if (!product && !offset) /* signs of zero: -0 - (+0) is -0, every other difference of zeros is +0 */
        return minus && !dmin.negative ? 0x80000000 : 0;
    return independent_round(&binary32, exact < 0, (u128)(exact < 0 ? -exact : exact), -24, false);
}

void independent_values(independent_reader *read, unsigned count, const uint8_t *block, uint32_t *bits) {
    for (unsigned e = 0; e < count; e++)
        bits[e] = value(read(block, e));
}
