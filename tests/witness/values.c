#include "../../ref/half.h"
#include "../../ref/random.h"
#include "witness.h"

/* 2^e as a float, -149 <= e <= 127. */
static float power_of_two(int e) {
    return e < -126 ? bits_float(1u << (e + 149)) : bits_float((uint32_t)(e + 127) << 23);
}

static int between(struct random_stream *s, int low, int high) {
    return low + (int)random_below(s, (uint32_t)(high - low + 1));
}

static float sign_of(struct random_stream *s) {
    return random_u32(s) & 1 ? -1.0f : 1.0f;
}

/* Largest code of some quantiser: with one value at +-most * 2^e the step is 2^e, and halves are ties. */
static const int most_codes[] = {127, 128, 15, 8, 7, 16, 31, 6, 12, 4};

static void ties(struct random_stream *s, float *x, size_t n) {
    int most = most_codes[random_below(s, sizeof most_codes / sizeof *most_codes)];
    float step = power_of_two(between(s, -30, 30)), at = random_u32(s) & 1 ? (float)-most : 0;
    for (size_t k = 0; k < n; k++) /* of both signs, or of one as the formats with a minimum like it */
        x[k] = (at != 0 ? (float)between(s, -2 * most, 2 * most) : (float)between(s, 0, 2 * most)) * 0.5f * step;
    x[random_below(s, (uint32_t)n)] = (float)most * step * (at != 0 ? sign_of(s) : 1);
    x[random_below(s, (uint32_t)n)] = at * step;
}

void values_of(const char *name, size_t index, float *x, size_t n) {
    struct random_stream s = random_open(random_key(name) ^ random_key("values"), (uint32_t)index);
    enum { KINDS = 12 };
    float scale = power_of_two(between(&s, -120, 120)), unit = power_of_two(between(&s, -14, 10));
    for (size_t k = 0; k < n; k++) {
        switch (index % KINDS) {
        case 0:
            x[k] = random_normal(&s) * unit;
            break;
        case 1:
            x[k] = (random_unit(&s) - 0.5f) * unit;
            break;
        case 2:
            x[k] = random_normal(&s) * scale;
            break;
        case 3: /* any finite bits */
            do
                x[k] = bits_float(random_u32(&s));
            while ((float_bits(x[k]) & 0x7f800000) == 0x7f800000);
            break;
        case 4: /* few values, zeros of both signs between them */
            x[k] = random_below(&s, 8) ? sign_of(&s) * 0.0f : random_normal(&s) * unit;
            break;
        case 5:
            x[k] = bits_float(random_u32(&s) & (index / KINDS % 2 ? 0x807fffff : 0x83ffffff));
            break; /* subnormal, tiny */
        case 6:
            x[k] = (index / KINDS % 2 ? sign_of(&s) : 1) * bits_float(0x7f000000 + random_below(&s, 0x800000));
            break; /* near the largest */
        case 7:
            x[k] = (float)between(&s, -3, 3) * unit;
            break; /* few levels, many equal extremes */
        case 8:
            x[k] = random_normal(&s) * (random_below(&s, 32) ? unit : unit * 256);
            break; /* outliers */
        case 9:
            x[k] = ((float)k - (float)(n / 2)) * unit;
            break; /* a ramp */
        case 10:
            x[k] = (index / KINDS % 2 ? -1.0f : 1.0f) * (1 + random_unit(&s)) * unit;
            break; /* one sign */
        default:
            x[k] = 0;
            break; /* ties, below */
        }
    }
    if (index % KINDS == KINDS - 1)
        ties(&s, x, n);
    if (index / KINDS % 64 == 63) /* now and then the whole block alike, zeros included */
        for (size_t k = 0; k < n; k++)
            x[k] = index / KINDS / 64 % 3 ? x[0] : 0;
}
