/* One element of a floating-point mma, a second time: every term is a signed 128-bit integer times a power of two, cut
 * by division, and special values are decided case by case. Numbers of the chips: PTX ISA 9.7.14.5 leaves them open;
 * those of sm_90 were measured on an H200, the others are of arXiv 2511.10909 and 2512.07004. */
#include "independent.h"
#include <string.h>

typedef __int128 wide;

struct layout {
    const char *name;
    int exponent_bits, fraction_bits;
};
static const struct layout layouts[] = {{"f16", 5, 10}, {"bf16", 8, 7}, {"tf32", 8, 10},
                                        {"e4m3", 4, 3}, {"e5m2", 5, 2}, {"f32", 8, 23}};

static const struct layout *layout_of(const char *name) {
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; ++i)
        if (!strcmp(layouts[i].name, name))
            return &layouts[i];
    return NULL;
}

struct term { /* m * 2^(e - fraction_bits) */
    bool nan, infinite, negative;
    wide m;
    int e, fraction_bits;
};

static struct term term_of(uint32_t code, const struct layout *k) {
    const int bias = (1 << (k->exponent_bits - 1)) - 1, all = (1 << k->exponent_bits) - 1;
    const int field = (int)(code / (1u << k->fraction_bits)) & all;
    const int fraction = (int)(code & ((1u << k->fraction_bits) - 1));
    struct term t = {.fraction_bits = k->fraction_bits, .negative = code >> (k->exponent_bits + k->fraction_bits) & 1};
    if (!strcmp(k->name, "e4m3")) {
        t.nan = field == 15 && fraction == 7;
    } else {
        t.nan = field == all && fraction != 0;
        t.infinite = field == all && fraction == 0;
    }
    t.m = field == 0 ? fraction : fraction + (1 << k->fraction_bits);
    t.e = (field == 0 ? 1 : field) - bias;
    return t;
}

static void normalise(struct term *t) {
    while (t->m != 0 && t->m < (wide)1 << t->fraction_bits)
        t->m *= 2, t->e -= 1;
}

/* m * 2^n toward zero; far enough down it is nothing. */
static wide scaled(wide m, int n) {
    if (m == 0 || n <= -120)
        return 0;
    return n < 0 ? m / ((wide)1 << -n) : m * ((wide)1 << n);
}

struct numbers {
    int fraction, floor, kept;
};

/* The sum of the terms as the bits of an f32, or (half) an f16. */
static uint32_t add(const struct term *t, int count, const struct numbers *p, bool half) {
    bool plus = false, minus = false, nan = false;
    int top = p->floor;
    for (int i = 0; i < count; ++i) {
        nan |= t[i].nan;
        plus |= t[i].infinite && !t[i].negative;
        minus |= t[i].infinite && t[i].negative;
        if (t[i].m != 0 && t[i].e > top)
            top = t[i].e;
    }
    if (nan || (plus && minus))
        return half ? 0x7fff : 0x7fffffff;
    if (plus || minus)
        return (half ? 0x7c00u : 0x7f800000u) + (minus ? half ? 0x8000u : 0x80000000u : 0);
    wide sum = 0;
    for (int i = 0; i < count; ++i) {
        const wide cut = scaled(t[i].m, t[i].e - top + p->fraction - t[i].fraction_bits);
        sum += t[i].negative ? -cut : cut;
    }
    if (sum == 0)
        return 0;
    const bool negative = sum < 0;
    wide m = negative ? -sum : sum;
    int e = top - p->fraction, leading = 0; /* m * 2^e */
    while (m >> (leading + 1) != 0)
        ++leading;
    leading += e;
    if (!half) {
        if (leading > 127)
            return negative ? 0xff800000u : 0x7f800000u;
        const int least = leading < -126 ? -126 : leading;
        wide fraction = scaled(m, e - least + 23);
        fraction -= fraction % ((wide)1 << (23 - p->kept));
        return (negative && fraction ? 0x80000000u : 0) +
               (uint32_t)(fraction < 0x800000 ? fraction : fraction - 0x800000 + ((wide)(least + 127) << 23));
    }
    const int least = leading < -14 ? -14 : leading;
    const wide twice = scaled(m, e - least + 11), rest = m - scaled(twice, least - 11 - e);
    wide fraction = twice / 2;
    if (twice % 2 && (rest != 0 || fraction % 2))
        ++fraction;
    wide code = fraction < 1024 ? fraction : fraction - 1024 + ((wide)(least + 15) << 10);
    if (code > 0x7c00)
        code = 0x7c00;
    return (negative && code ? 0x8000u : 0) + (uint32_t)code; /* what becomes zero is +0 */
}

static uint32_t group(uint32_t c, const struct term *products, int count, const struct numbers *p, bool half) {
    struct term t[65];
    memcpy(t, products, (size_t)count * sizeof *t);
    t[count] = term_of(c, layout_of(half ? "f16" : "f32"));
    return add(t, count + 1, p, half);
}

static struct term product(uint32_t a, uint32_t b, const struct layout *ka, const struct layout *kb, bool as_f16) {
    struct term x = term_of(a, ka), y = term_of(b, kb);
    if (as_f16 && ka->fraction_bits == 3) /* e4m3: its subnormals are normal numbers of f16; those of e5m2 are not */
        normalise(&x);
    if (as_f16 && kb->fraction_bits == 3)
        normalise(&y);
    const bool infinite = x.infinite || y.infinite;
    return (struct term){.nan = x.nan || y.nan || (infinite && (x.m == 0 || y.m == 0)),
                         .infinite = infinite,
                         .negative = x.negative != y.negative,
                         .m = x.m * y.m,
                         .e = x.e + y.e,
                         .fraction_bits = x.fraction_bits + y.fraction_bits};
}

uint32_t independent_mma(unsigned sm, const char *a_type, const char *b_type, int k, bool half, const uint32_t *a,
                         const uint32_t *b, uint32_t c) {
    const struct layout *ka = layout_of(a_type), *kb = layout_of(b_type);
    const bool fp8 = ka->exponent_bits + ka->fraction_bits == 7, hopper = sm >= 90;
    const int bytes = fp8 ? 1 : ka->exponent_bits + ka->fraction_bits == 15 ? 2 : 4;
    struct numbers p = {hopper ? 25 : 24, half ? (hopper ? -21 : -20) : (hopper ? -133 : -132), 23};
    if (fp8 && sm == 89)
        p.fraction = p.kept = 13;
    struct term products[64];
    if (fp8 && sm / 10 == 9) {
        uint32_t sum = 0;
        for (int pair = 0; pair < 4; pair += 2) {
            int count = 0;
            for (int i = 0; i < k; ++i)
                if (i % 4 == pair || i % 4 == pair + 1)
                    products[count++] = product(a[i], b[i], ka, kb, true);
            sum = group(sum, products, count, &p, half);
        }
        /* An ordinary sum, to nearest: in binary16 exactly rounded from the exact sum in binary64. */
        if (half) {
            if ((c & 0x7fff) == 0 && (sum & 0x7fff) == 0)
                return c & sum; /* two zeros: negative when both are */
            const struct term t[2] = {term_of(c, layout_of("f16")), term_of(sum, layout_of("f16"))};
            return add(t, 2, &(struct numbers){60, -60, 23}, true);
        }
        float x, y;
        memcpy(&x, &c, 4), memcpy(&y, &sum, 4);
        x += y;
        memcpy(&c, &x, 4);
        return x != x ? 0x7fffffff : c;
    }
    const int n = (hopper ? 32 : 16) / bytes;
    for (int from = 0; from < k; from += n) {
        const int count = from + n < k ? n : k - from;
        for (int i = 0; i < count; ++i)
            products[i] = product(a[from + i], b[from + i], ka, kb, false);
        c = group(c, products, count, &p, half);
    }
    return c;
}
