/* Functions whose bits PTX leaves open, 9.7.3.15 to .22 and 9.7.4.9, .10. Of halves an H200 gave every result there is.
 * Of binary32 the value in double precision, rounded once: right up to the error that PTX allows. */
#include "unit.h"
#include <math.h>
#include <string.h>

const uint8_t *unit_half_tables;

static uint64_t of_half(const struct unit_step *s, uint64_t x) {
    size_t table = (!strcmp(s->name, "tanh") ? 1u : 0u) + (s->type[0].format == &unit_bf16 ? 2u : 0u);
    const uint8_t *at = unit_half_tables + 2 * (65536 * table + (size_t)(x & 0xffff));
    return unit_half_tables ? (uint64_t)at[0] | (uint64_t)at[1] << 8 : 0;
}

static double value(uint64_t bits, bool flush) {
    struct exact x = unit_decode(&unit_f32, bits, flush);
    double v = x.kind == NOT_A_NUMBER ? NAN
               : x.kind == INFINITE   ? INFINITY
                                      : ldexp(x.mantissa.count ? (double)x.mantissa.word[0] : 0.0, x.exponent);
    return x.negative ? -v : v;
}

/* y as a binary32; y has 53 bits, so the error of rounding it twice is far below the unit that is compared. */
static uint64_t rounded(double y, bool flush) {
    if (isnan(y))
        return unit_f32.nan;
    int exponent = 0;
    double m = frexp(fabs(y), &exponent);
    struct exact x =
        isinf(y) ? exact_of(signbit(y) != 0, 1, 0) : exact_of(signbit(y) != 0, (u128)ldexp(m, 53), exponent - 53);
    if (isinf(y))
        x.kind = INFINITE;
    return unit_round(&unit_f32, &x, UNIT_RN, flush);
}

static uint64_t of_single(const struct unit_step *s, uint64_t a) {
    double x = value(a, s->ftz);
    double y = !strcmp(s->name, "ex2")     ? exp2(x)
               : !strcmp(s->name, "lg2")   ? log2(x)
               : !strcmp(s->name, "rsqrt") ? 1.0 / sqrt(x)
               : !strcmp(s->name, "sqrt")  ? sqrt(x)
                                           : tanh(x);
    return rounded(y, s->ftz);
}

static void function(const struct unit_step *s, const uint64_t *a, uint64_t *d, struct unit_lane *l) {
    (void)l;
    struct unit_type t = s->type[0];
    if (t.format == &unit_f32)
        *d = of_single(s, a[0]);
    for (unsigned i = 0; i < t.packed && t.bits == 16; i++)
        *d |= of_half(s, a[0] >> 16 * i) << 16 * i;
}

const struct unit_rule unit_rules_approximate[] = {
    {"ex2", function, NULL},   {"tanh", function, NULL}, {"lg2", function, NULL},
    {"rsqrt", function, NULL}, {"sqrt", function, NULL}, {NULL, NULL, NULL},
};
