/* q8_K: the quantiser against exact integers, corners, sums, both tables. */
#include "../ref/activation.h"
#include "../ref/format.h"
#include "../ref/half.h"
#include "../ref/random.h"
#include "independent/independent.h"
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <string.h>

enum { VALUES = 256, BYTES = 292, CLASSES = 8 };

static void fill(struct random_stream *s, int class, float x[VALUES]) {
    float size = ldexpf(1, (int)random_below(s, 230) - 130);
    for (int k = 0; k < VALUES; k++) {
        float normal = random_normal(s);
        uint32_t bits = random_u32(s);
        switch (class) {
        case 0: /* any finite f32 */
            x[k] = isfinite(bits_float(bits)) ? bits_float(bits) : 1;
            break;
        case 1: /* halves: the inverse is 1 */
            x[k] = ((float)random_below(s, 507) - 253) / 2;
            break;
        case 2: /* mostly zero */
            x[k] = bits % 8 ? 0 : size * normal;
            break;
        case 3: /* the largest value many times, with both signs */
            x[k] = bits & 1 ? size : -size;
            break;
        case 4: /* subnormal */
            x[k] = bits_float(bits & 0x807fffff);
            break;
        case 5: /* around the least value whose inverse is finite */
            x[k] = bits_float((bits & 0x807fffff) | 0x02800000);
            break;
        default:
            x[k] = size * normal;
        }
    }
    if (class == 1)
        x[random_below(s, VALUES)] = random_u32(s) & 1 ? 127 : -127;
}

Test(q8_k, quantiser_against_exact_integers) {
    struct random_stream s = random_open(random_key("q8_k/quantiser"), 0);
    int seen[Q8_K_LAST + 1] = {0};
    for (int i = 0; i < 2000; i++) {
        float x[VALUES];
        uint32_t bits[VALUES];
        uint8_t got[BYTES + 1], want[BYTES];
        fill(&s, i % CLASSES, x);
        memcpy(bits, x, sizeof bits);
        memset(got, 0xa5, sizeof got);
        format_named("q8_K")->quantize(x, got + 1);
        independent_quantize_q8_k(bits, want, Q8_K_RIGHT);
        cr_assert(!memcmp(got + 1, want, BYTES), "block %d of class %d differs", i, i % CLASSES);
        for (int slip = Q8_K_RIGHT + 1; slip <= Q8_K_LAST; slip++) {
            independent_quantize_q8_k(bits, want, (enum q8_k_slip)slip);
            seen[slip] += memcmp(got + 1, want, BYTES) != 0;
        }
    }
    cr_assert(seen[Q8_K_HALVES_AWAY] > 0, "planted: halves away from zero, unseen");
    cr_assert(seen[Q8_K_STORED_SCALE] > 0, "planted: x divided by the stored d, unseen");
    cr_assert(seen[Q8_K_SIGN] > 0, "planted: d of the sign of the largest value, unseen");
    cr_assert(seen[Q8_K_LAST] > 0, "planted: the last of several largest values, unseen");
}

Test(q8_k, values_against_exact_integers) {
    const struct block_format *f = format_named("q8_K");
    struct random_stream s = random_open(random_key("q8_k/values"), 0);
    for (int i = 0; i < 2000; i++) {
        uint8_t block[BYTES + 1];
        uint32_t want[VALUES], d = random_u32(&s);
        float got[VALUES];
        for (int k = 0; k < BYTES; k++)
            block[1 + k] = (uint8_t)random_u32(&s);
        d = i % 3 ? d : d & 0x807fffff; /* subnormal */
        if ((d & 0x7f800000) == 0x7f800000)
            d ^= 0x40000000;
        memcpy(block + 1, &d, sizeof d);
        f->dequantize(block + 1, got);
        independent_decoder_of("q8_K")(block + 1, want);
        for (int k = 0; k < VALUES; k++)
            cr_assert(float_bits(got[k]) == want[k], "block %d value %d: 0x%08x, want 0x%08x", i, k, float_bits(got[k]),
                      want[k]);
    }
}

Test(q8_k, sums_belong_to_the_quants) {
    const struct block_format *f = format_named("q8_K");
    const struct activation_format *a = activation_named("q8_K");
    struct random_stream s = random_open(random_key("q8_k/sums"), 0);
    cr_assert(a && a->block_values == VALUES && a->block_bytes == BYTES, "q8_K is an activation format too");
    cr_assert(f == format_of_type(15) && f->block_bytes == BYTES && f->sub_values == VALUES, "q8_K is number 15");
    for (int i = 0; i < 500; i++) {
        struct block_integers b = {.d = random_normal(&s), .scale = {1}}, again;
        float scales[VALUES / 32] = {b.d, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
        uint8_t block[BYTES], same[BYTES];
        for (int k = 0; k < VALUES; k++)
            b.code[k] = (int8_t)(i == 0 ? -128 : i == 1 ? 127 : (int)random_below(&s, 256) - 128);
        f->pack(&b, block);
        a->pack(b.code, scales, same);
        cr_assert(!memcmp(block, same, BYTES), "block %d: the two tables pack differently", i);
        for (int sub = 0; sub < 16; sub++) {
            int sum = 0, stored = (int)independent_bits(block, 8 * 260 + 16 * (unsigned)sub, 16);
            for (int k = 0; k < 16; k++)
                sum += b.code[16 * sub + k];
            cr_assert((stored < 0x8000 ? stored : stored - 0x10000) == sum, "block %d sum %d: %d, want %d", i, sub,
                      stored, sum);
        }
        block[260 + i % 32] ^= 1; /* the integers do not depend on the sums */
        f->unpack(block, &again);
        cr_assert(!memcmp(&again, &b, sizeof b), "block %d: integers came back changed", i);
    }
}

Test(q8_k, corners) {
    static const struct {
        const char *what;
        float even, odd; /* values at even and odd places */
        uint32_t d;
        int q_even, q_odd;
    } row[] = {
        {"zero", 0, -0.0f, 0, 0, 0},
        {"NaN alone", NAN, -NAN, 0, 0, 0},
        {"NaN counts as 0", NAN, -127, 0x3f800000, 0, -127},
        {"a positive largest value", 127, 1, 0xbf800000, -127, -1},
        {"of two largest the first", 127, -127, 0xbf800000, -127, 127},
        {"the inverse is infinite", 0x1p-149f, -0x1p-149f, 0x80000000, 0, 0},
        {"the same, below zero", -0x1p-149f, 0, 0, 0, 0},
        {"infinity", INFINITY, 1, 0xff800000, 0, 0},
        {"minus infinity", 1, -INFINITY, 0x7f800000, 0, 0},
        {"the ends of f32", -FLT_MAX, FLT_MAX, 0, -127, 127},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        float x[VALUES];
        uint8_t block[BYTES];
        uint32_t d;
        for (int k = 0; k < VALUES; k++)
            x[k] = k % 2 ? row[i].odd : row[i].even;
        activation_named("q8_K")->quantize(x, block);
        memcpy(&d, block, sizeof d);
        bool any = row[i].even <= -FLT_MAX; /* the d of this row is held by the exact integers */
        cr_assert(any || d == row[i].d, "%s: d 0x%08x, want 0x%08x", row[i].what, d, row[i].d);
        for (int k = 0; k < VALUES; k++)
            cr_assert((int8_t)block[4 + k] == (k % 2 ? row[i].q_odd : row[i].q_even), "%s: quant %d is %d", row[i].what,
                      k, (int8_t)block[4 + k]);
    }
}
