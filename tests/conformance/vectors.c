/* Operands that an instruction is tried with: edges against edges, then random values near the places where rounding,
 * flushing, overflow, cancellation and shifts change their ways. */
#include "../../ref/random.h"
#include "conformance.h"
#include <string.h>

static uint64_t low(uint64_t x, unsigned bits) {
    return bits >= 64 ? x : x & (((uint64_t)1 << bits) - 1);
}

static uint64_t random_u64(struct random_stream *s) {
    const uint64_t x = random_u32(s);
    return x << 32 | random_u32(s);
}

/* --- integers --------------------------------------------------------------------------------------------------- */

static uint64_t integer_edge(unsigned bits, unsigned i) {
    const uint64_t top = (uint64_t)1 << (bits - 1);
    const uint64_t list[] = {0,
                             1,
                             ~(uint64_t)0,
                             top,
                             top - 1,
                             top + 1,
                             2,
                             3,
                             ~(uint64_t)1,
                             127,
                             128,
                             255,
                             256,
                             ~(uint64_t)127,
                             ~(uint64_t)128,
                             0x7f7f7f7f7f7f7f7f,
                             0x8080808080808080,
                             0x8000800080008000,
                             0x7fff7fff7fff7fff,
                             0x00ff00ff00ff00ff,
                             32,
                             31,
                             33,
                             0xffff,
                             0x10000,
                             0x7fffff,
                             0x800000,
                             0x1000001,
                             0x1ffffff,
                             0xff7fffff,
                             0x5555555555555555,
                             0xaaaaaaaaaaaaaaaa,
                             (uint64_t)1 << 24,
                             ((uint64_t)1 << 53) + 1,
                             ((uint64_t)1 << 54) + 2,
                             0x123456789abcdef0,
                             65504,
                             65519,
                             65520,
                             top >> 1};
    return low(list[i % (sizeof list / sizeof *list)], bits);
}
enum { INTEGER_EDGES = 40 };

static uint64_t random_integer(struct random_stream *s, unsigned bits) {
    const uint64_t x = random_u64(s);
    switch (random_below(s, 5)) {
    case 0: /* any size */
        return low(x >> random_below(s, bits), bits);
    case 1: /* any size, negative */
        return low(~(x >> (64 - bits + random_below(s, bits))), bits);
    case 2: { /* a tie, or next to one, of a rounding to few bits */
        const unsigned at = random_below(s, bits), step = random_below(s, bits);
        return low(((x | 1) << step << 1 | (uint64_t)1 << step) + random_below(s, 3) - 1, bits) >> at;
    }
    case 3: /* near a power of two, or its negative */
        return low((((uint64_t)1 << random_below(s, bits)) + random_below(s, 5) - 2) * (x & 1 ? 1 : ~(uint64_t)0),
                   bits);
    default:
        return low(x, bits);
    }
}

/* --- floats ------------------------------------------------------------------------------------------------------ */

static uint64_t float_bits_of(const struct unit_format *f, bool negative, int64_t field, uint64_t fraction) {
    const int64_t most = ((int64_t)1 << f->exponent_bits) - 1;
    field = field < 0 ? 0 : field > most ? most : field;
    return (uint64_t)negative << (f->precision - 1 + f->exponent_bits) | (uint64_t)field << (f->precision - 1) |
           low(fraction, (unsigned)f->precision - 1);
}

/* Half of them are the negatives of the other half. */
static uint64_t float_edge(const struct unit_format *f, unsigned i) {
    const int64_t bias = ((int64_t)1 << (f->exponent_bits - 1)) - 1, most = 2 * bias + 1;
    const uint64_t ones = low(~(uint64_t)0, (unsigned)f->precision - 1), half = (ones >> 1) + 1;
    const struct {
        int64_t field;
        uint64_t fraction;
    } list[] = {{0, 0},
                {0, 1},
                {0, ones},
                {1, 0},
                {1, 1},
                {bias, 0},
                {bias, 1},
                {bias - 1, ones},
                {bias - 1, 0},
                {bias, half},
                {bias + 1, 0},
                {bias + 1, half >> 1},
                {most - 1, ones},
                {most, 0},
                {most, half},
                {most, 1},
                {most, ones},
                {most, half | 1},
                {0, half},
                {bias + 5, half | 3},
                {bias + f->precision - 1, 1},
                {bias + f->precision, 0},
                {bias - 2, 0},
                {bias + 31, 0},
                {bias + 30, ones},
                {bias - f->precision, 0},
                {bias + 63, 0},
                {bias + 7, 0},
                {bias + 15, ones},
                {most - 1, 0}};
    const unsigned count = sizeof list / sizeof *list;
    return float_bits_of(f, i / count % 2, list[i % count].field, list[i % count].fraction);
}
enum { FLOAT_EDGES = 60 };

static uint64_t random_fraction(const struct unit_format *f, struct random_stream *s) {
    const unsigned bits = (unsigned)f->precision - 1;
    const uint64_t x = random_u64(s), ones = low(~(uint64_t)0, bits);
    const unsigned at = random_below(s, bits + 1);
    static const unsigned kept[] = {2, 3, 7, 10, 12, 23};
    switch (random_below(s, 6)) {
    case 0: /* few bits at the top */
        return x & ones & ~(ones >> at);
    case 1: /* few bits at the bottom */
        return x & ones >> at;
    case 2: { /* a tie of a narrower format, or next to one */
        const unsigned keep = kept[random_below(s, 6)];
        if (keep + 1 < bits)
            return ((x & ~(ones >> keep)) | (uint64_t)1 << (bits - keep - 1)) + random_below(s, 3) - 1;
        return x & ones;
    }
    case 3: /* next to a power of two */
        return x & 4 ? low(0 - (x & 3), bits) : x & 3;
    default:
        return x & ones;
    }
}

struct float_plan { /* shared by the operands of a vector */
    unsigned mode;
    int64_t field; /* of the first operand */
    uint64_t first;
};

static uint64_t random_float(const struct unit_format *f, struct random_stream *s, struct float_plan *plan,
                             unsigned operand) {
    const int64_t bias = ((int64_t)1 << (f->exponent_bits - 1)) - 1, most = 2 * bias + 1;
    const unsigned all = (unsigned)(f->precision + f->exponent_bits);
    const bool negative = random_u32(s) & 1;
    static const int corners[] = {-126, -149, -14, -24, -133, 127, 15, 31, 63, 8, -9, -16, 0, 7, 16, 32, 64};
    int64_t field;
    if (operand == 0)
        *plan = (struct float_plan){.mode = random_below(s, 10), .field = 0};
    switch (plan->mode) {
    case 0:
        return low(random_u64(s), all);
    case 1:
        field = bias + (int64_t)random_below(s, 9) - 4;
        break;
    case 2: /* within reach of one another */
        field = bias + (int64_t)random_below(s, 4 * (uint32_t)f->precision) - 2 * f->precision;
        break;
    case 3: /* a product, or quotient, near the least normal number */
    case 4: /* and near the greatest one */
        if (operand == 0)
            field = plan->field = (int64_t)random_below(s, (uint32_t)most);
        else if (operand == 1)
            field = (plan->mode == 3 ? 1 : most - 1) + (random_u32(s) & 1 ? bias - plan->field : plan->field - bias) +
                    (int64_t)random_below(s, 5) - 2;
        else
            field = (int64_t)random_below(s, 4);
        break;
    case 5: /* all but cancelling */
        if (operand && f->precision > 8)
            return low(plan->first ^ (uint64_t)(random_u32(s) & 1) << (all - 1), all) ^ (uint64_t)random_below(s, 4);
        field = bias + (int64_t)random_below(s, 40) - 20;
        break;
    case 6:
        field = (int64_t)random_below(s, 3);
        break;
    case 7: /* where the ranges of other formats end */
        field = bias + corners[random_below(s, sizeof corners / sizeof *corners)] + (int64_t)random_below(s, 3) - 1;
        break;
    case 8: /* sizes of integers */
        field = bias - 3 + (int64_t)random_below(s, 70);
        break;
    default:
        if (random_below(s, 4) == 0)
            return float_edge(f, random_below(s, FLOAT_EDGES));
        field = (int64_t)random_below(s, (uint32_t)most + 1);
    }
    const uint64_t x = float_bits_of(f, negative, field, random_fraction(f, s));
    if (operand == 0)
        plan->first = x;
    return x;
}

/* Factors and sums of mma: a tile of one sort, for a single NaN is felt in a whole row of results. */
static uint64_t tile_float(const struct unit_format *f, struct random_stream *s, unsigned sort) {
    const int64_t bias = ((int64_t)1 << (f->exponent_bits - 1)) - 1, most = 2 * bias + 1;
    int64_t field;
    const uint64_t fraction = random_u64(s);
    const bool negative = random_u32(s) & 1;
    if (f->all_finite && sort < 7)
        return low(random_u64(s), 8) & (random_below(s, 4) ? 0xf7 : 0xbf); /* no NaN */
    switch (sort) {
    case 0: /* ordinary, positive and negative */
        field = bias + (int64_t)random_below(s, 4) - 2;
        break;
    case 1: /* all exponents that are finite */
        field = (int64_t)random_below(s, (uint32_t)most);
        break;
    case 2: /* a spread of about the bits that are kept */
        field = bias + (int64_t)random_below(s, 28) - 14;
        break;
    case 3: /* whole numbers: much cancels */
        return float_bits_of(f, negative, bias + (int64_t)random_below(s, 3),
                             fraction & ~(uint64_t)0 << (f->precision - 2));
    case 4: /* small, subnormal */
        field = (int64_t)random_below(s, 3);
        break;
    case 5: /* great */
        field = most - 1 - (int64_t)random_below(s, (uint32_t)bias);
        break;
    case 6: /* many zeros */
        field = random_below(s, 4) ? 0 : bias;
        return float_bits_of(f, negative, field, field ? fraction : 0);
    default: /* now and then an infinity, NaN, or any bits */
        if (random_below(s, 24) == 0)
            return float_bits_of(f, negative, most, random_below(s, 2) ? fraction : 0);
        if (random_below(s, 8) == 0)
            return low(fraction, (unsigned)(f->precision + f->exponent_bits));
        field = bias + (int64_t)random_below(s, 4) - 2;
    }
    return float_bits_of(f, negative, field, fraction);
}

/* --- all ---------------------------------------------------------------------------------------------------------- */

static unsigned edge_count(const struct operand_kind *k) {
    switch (k->values) {
    case VALUES_INTEGER:
        return INTEGER_EDGES;
    case VALUES_FLOAT:
        return FLOAT_EDGES;
    case VALUES_COUNT:
    case VALUES_FIELD:
        return 24;
    case VALUES_PREDICATE:
        return 2;
    case VALUES_SIZE:
        return k->limit + 1;
    default:
        return 0;
    }
}

static uint64_t edge(const struct operand_kind *k, unsigned i) {
    static const uint32_t counts[] = {0,  1,  2,  7,  8,  15,  16,  17,  23,         24,         30,         31,
                                      32, 33, 63, 64, 65, 255, 256, 257, 0x7fffffff, 0x80000000, 0xffffffff, 48};
    uint64_t x = 0;
    switch (k->values) {
    case VALUES_INTEGER:
        return integer_edge(k->bits, i);
    case VALUES_FLOAT:
        for (unsigned p = 0; p < k->packed; ++p)
            x |= float_edge(k->format, i + 7 * p) << (k->bits / k->packed * p);
        return x;
    case VALUES_PREDICATE:
    case VALUES_SIZE:
        return i;
    default:
        return counts[i];
    }
}

static uint64_t random_value(const struct operand_kind *k, struct random_stream *s, struct float_plan *plan,
                             unsigned operand) {
    uint64_t x = 0;
    switch (k->values) {
    case VALUES_INTEGER:
        return random_integer(s, k->bits);
    case VALUES_FLOAT:
        for (unsigned p = 0; p < k->packed; ++p)
            x |= random_float(k->format, s, &plan[p], operand) << (k->bits / k->packed * p);
        return x;
    case VALUES_COUNT:
        return random_below(s, 8) ? random_below(s, 70) : random_u32(s);
    case VALUES_FIELD:
        return random_below(s, 8) ? random_below(s, 34) : random_u32(s);
    case VALUES_SIZE:
        return random_below(s, k->limit + 1);
    case VALUES_LANE:
        return random_below(s, 8) ? random_below(s, 32) : random_u32(s);
    case VALUES_CLAMP:
        return random_below(s, 2) ? random_u32(s) & 0x1f1f
                                  : (random_below(s, 2) ? 31 : 0) | (32 - (1u << random_below(s, 6))) % 32 << 8;
    default:
        return random_u32(s) & 1;
    }
}

/* Operands of a warp that belong together. */
static void warp_values(const struct operand_kind *k, struct random_stream *s, uint64_t *x) {
    const uint32_t a = random_u32(s), b = random_u32(s), sort = random_below(s, 6);
    const uint64_t few[4] = {random_u64(s), a, random_integer(s, 64), 0};
    for (unsigned lane = 0; lane < 32; ++lane)
        switch (k->values) {
        case VALUES_ROW:
            x[lane] = (lane * (2 * a + 1) + b) % 32;
            break;
        case VALUES_FEW: /* all alike, all but one, or any of four */
            x[lane] = low(few[sort < 2 ? 0 : sort == 2 ? lane == b % 32 : random_below(s, 4)], k->bits);
            break;
        case VALUES_PREDICATE: /* none, all, one, all but one, any */
            x[lane] = sort == 0   ? 0
                      : sort == 1 ? 1
                      : sort == 2 ? lane == b % 32
                      : sort == 3 ? lane != b % 32
                                  : random_u32(s) & 1;
            break;
        default:
            break;
        }
}

static bool is_mma(const struct form *f) {
    return !strcmp(f->read.step[0].name, "mma");
}

void vectors_make(const struct form *f, uint64_t *in) {
    const size_t n = f->vectors;
    const struct operand_kind *kinds[UNIT_INPUTS];
    struct random_stream s = random_open(random_key(f->text), 0);
    uint64_t combinations = 1;
    for (unsigned k = 0; k < f->read.inputs; ++k) {
        kinds[k] = kind_named(f->read.input[k]);
        const unsigned edges = edge_count(kinds[k]);
        combinations = edges && combinations < 1 << 20 ? combinations * edges : combinations;
    }
    const bool all_edges = combinations <= n / 2;
    for (size_t i = 0; i < n; ++i) {
        struct float_plan plan[4] = {{0, 0, 0}};
        uint64_t j = (uint64_t)(i / 2) * 2731 % (n / 2); /* so that the first vectors are of all sorts */
        const unsigned sort = random_below(&s, 4);
        for (unsigned k = 0; k < f->read.inputs; ++k) {
            const unsigned edges = edge_count(kinds[k]);
            uint64_t *x = &in[k * n + i];
            if (i % 2 == 0 && edges && (all_edges || k < 2 || sort < 3)) {
                const bool in_turn = all_edges || k < 2;
                *x = edge(kinds[k], in_turn ? (unsigned)(j % edges) : random_below(&s, edges));
                j = in_turn ? j / edges : j;
            } else {
                *x = random_value(kinds[k], &s, plan, k);
            }
        }
    }
    if (f->read.warp)
        for (unsigned k = 0; k < f->read.inputs; ++k)
            for (size_t w = 0; w < n; w += 32)
                warp_values(kinds[k], &s, &in[k * n + w]);
    if (!is_mma(f))
        return;
    for (size_t w = 0; w < n; w += 32) {
        const unsigned sort = random_below(&s, 8), other = random_below(&s, 8);
        for (unsigned k = 0; k < f->read.inputs; ++k)
            for (unsigned lane = 0; lane < 32; ++lane) {
                const struct operand_kind *kind = kinds[k];
                uint64_t x = 0;
                for (unsigned p = 0; p < kind->packed && kind->values == VALUES_FLOAT; ++p)
                    x |= tile_float(kind->format, &s, random_below(&s, 8) ? sort : other)
                         << (kind->bits / kind->packed * p);
                if (kind->values == VALUES_INTEGER) /* all extreme, or any */
                    x = sort < 2
                            ? (sort ? 0x8080808080808080 : 0x7f7f7f7f7f7f7f7f) ^ (other & 1 ? 0 : random_u64(&s) & 1)
                            : random_u64(&s);
                in[k * n + w + lane] = low(x, kind->bits);
            }
    }
}
