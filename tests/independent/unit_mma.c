/* mma.sync, PTX ISA 9.7.14.5: integers exactly; floating point as an H200 does it (facts MF-1 to MF-6): every product
 * exact, all addends cut to 25 bits below the greatest exponent, their sum exact, then rounded toward zero to f32, or
 * to the nearest f16. */
#include "unit.h"
#include <string.h>

enum { MOST_K = 256 };
struct tile {
    int m, n, k;
    uint64_t a[16][MOST_K], b[MOST_K][8], c[16][8], d[16][8];
};

static int number_after(const struct unit_step *s, char letter) {
    const char *shape = "";
    for (unsigned i = 0; i < s->parts; i++)
        if (s->part[i][0] == 'm' && s->part[i][1] >= '0' && s->part[i][1] <= '9')
            shape = s->part[i];
    const char *at = strchr(shape, letter);
    int x = 0;
    for (at = at ? at + 1 : ""; *at >= '0' && *at <= '9'; at++)
        x = 10 * x + *at - '0';
    return x;
}

/* A register of A or B has 4 neighbours along K, of 32 bits together (of one element, where that has more), of a row.
 */
static void read_fragments(const struct unit_step *s, const uint64_t (*op)[32], struct tile *t) {
    int e = (int)s->type[1].bits, each = e >= 32 ? 1 : 32 / e;
    int registers_a = t->m * t->k / (32 * each), registers_b = t->k / (4 * each);
    for (int lane = 0; lane < 32; lane++) {
        int g = lane / 4, q = lane % 4;
        for (int r = 0; r < registers_a; r++)
            for (int i = 0; i < each; i++) {
                int row = t->m == 8 ? g : g + 8 * (r & 1), k = each * q + i + 4 * each * (t->m == 8 ? r : r >> 1);
                t->a[row][k] = unit_low(op[r][lane] >> e * i, (unsigned)e);
            }
        for (int r = 0; r < registers_b; r++)
            for (int i = 0; i < each; i++)
                t->b[each * q + i + 4 * each * r][g] = unit_low(op[registers_a + r][lane] >> e * i, (unsigned)e);
    }
}

/* C, or D: where element i of register r of a lane stands. */
static void accumulator(int bits, int lane, int r, int i, int *row, int *column) {
    int g = lane / 4, q = lane % 4;
    *row = bits == 16 ? g + 8 * r : g + 8 * (r >> 1);
    *column = bits == 16 ? 2 * q + i : 2 * q + (r & 1);
}

static uint64_t integer_cell(const struct unit_step *s, const struct tile *t, int row, int column) {
    s128 sum = unit_integer(s->type[3], t->c[row][column]);
    for (int k = 0; k < t->k; k++) {
        uint64_t a = t->a[row][k], b = t->b[k][column];
        if (s->type[1].bits == 1)
            sum += (s128)(unit_has(s, "and") ? a & b : a ^ b);
        else
            sum += unit_integer(s->type[1], a) * unit_integer(s->type[2], b);
    }
    return unit_integer_bits(s->type[0], s->satfinite ? unit_clamp(s->type[0], sum) : sum);
}

/* The exponent that a finite number counts with: of its leading place, for a subnormal that of the least normal. */
static int counted_exponent(const struct unit_format *f, const struct exact *x) {
    return x->exponent + f->precision - 1;
}

/* |x| in units of 2^unit, what is below cut off. */
static s128 cut(const struct exact *x, int unit) {
    u128 m = x->mantissa.count ? x->mantissa.word[0] : 0;
    int by = x->exponent - unit;
    if (!m || by <= -128)
        return 0;
    m = by >= 0 ? m << by : m >> -by;
    return x->negative ? -(s128)m : (s128)m;
}

/* One accumulation: f the format of the factors, to that of c and of the result. */
static uint64_t group(const struct unit_format *f, const struct unit_format *to, const uint64_t *a, const uint64_t *b,
                      int n, uint64_t c) {
    enum { BELOW = 25 };
    struct exact product[32], sum = unit_decode(to, c, false);
    int highest = to == &unit_f16 ? -21 : -133, infinite = 0;
    bool nan = sum.kind == NOT_A_NUMBER;
    if (sum.kind == INFINITE)
        infinite |= sum.negative ? 2 : 1;
    if (sum.kind == FINITE && !exact_is_zero(&sum) && counted_exponent(to, &sum) > highest)
        highest = counted_exponent(to, &sum);
    for (int i = 0; i < n; i++) {
        struct exact x = unit_decode(f, a[i], false), y = unit_decode(f, b[i], false);
        bool negative = x.negative != y.negative;
        product[i] = exact_of(false, 0, 0);
        if (x.kind == NOT_A_NUMBER || y.kind == NOT_A_NUMBER)
            nan = true;
        else if (x.kind == INFINITE || y.kind == INFINITE)
            exact_is_zero(&x) || exact_is_zero(&y) ? (nan = true) : (infinite |= negative ? 2 : 1);
        else if (!exact_is_zero(&x) && !exact_is_zero(&y)) {
            int exponent = counted_exponent(f, &x) + counted_exponent(f, &y);
            highest = exponent > highest ? exponent : highest;
            exact_multiply(&product[i], &x, &y);
        }
    }
    if (nan || infinite == 3)
        return to->nan;
    if (infinite)
        return unit_infinity(to, infinite == 2);
    s128 total = cut(&sum, highest - BELOW);
    for (int i = 0; i < n; i++)
        total += cut(&product[i], highest - BELOW);
    struct exact x = exact_of(total < 0, (u128)(total < 0 ? -total : total), highest - BELOW);
    if (to == &unit_f32 && big_length(&x.mantissa) + x.exponent > 128)
        return unit_infinity(to, x.negative);
    uint64_t d = unit_round(to, &x, to == &unit_f16 ? UNIT_RN : UNIT_RZ, false);
    return d == unit_zero(to, true) ? unit_zero(to, false) : d; /* no zero is negative (measured) */
}

static uint64_t as_f16(const struct unit_format *f, uint64_t bits) {
    struct exact x = unit_decode(f, bits, false);
    return x.kind == NOT_A_NUMBER ? unit_f16.nan : unit_round(&unit_f16, &x, UNIT_RN, false);
}

static uint64_t float_cell(const struct unit_step *s, const struct tile *t, int row, int column) {
    const struct unit_format *f = s->type[1].format, *to = s->type[0].format;
    uint64_t a[MOST_K], b[MOST_K], c = t->c[row][column];
    int n = 0;
    if (f == &unit_f64) { /* one fused multiply-add after the other (measured) */
        for (; n < t->k; n++)
            c = unit_fma_float(f, t->a[row][n], t->b[n][column], c);
        return c;
    }
    if (s->type[1].bits > 8) {
        for (; n < t->k; n++) {
            a[n] = t->a[row][n];
            b[n] = t->b[n][column];
        }
        return group(f, to, a, b, n, c);
    }
    /* fp8: as f16, k mod 4 of 0 and 1 first, then 2 and 3, then c */
    uint64_t sum = 0;
    for (int half = 0; half < 2; half++) {
        n = 0;
        for (int k = 0; k < t->k; k++)
            if (k % 4 / 2 == half) {
                a[n] = as_f16(f, t->a[row][k]);
                b[n++] = as_f16(s->type[2].format, t->b[k][column]);
            }
        sum = group(&unit_f16, to, a, b, n, sum);
    }
    return unit_add_float(to, c, sum, UNIT_RN, false);
}

static void mma(const struct unit_step *s, const uint64_t (*op)[32], uint64_t (*d)[32], struct unit_lane *l) {
    static _Thread_local struct tile t;
    (void)l;
    t.m = number_after(s, 'm');
    t.n = number_after(s, 'n');
    t.k = number_after(s, 'k');
    int bits = (int)s->type[0].bits, registers = t.m / (bits == 16 ? 8 : 4);
    unsigned first_c = s->sources - (unsigned)registers;
    int row, column, halves = bits == 16 ? 2 : 1;
    read_fragments(s, op, &t);
    for (int lane = 0; lane < 32; lane++)
        for (int r = 0; r < registers; r++)
            for (int i = 0; i < halves; i++) {
                accumulator(bits, lane, r, i, &row, &column);
                t.c[row][column] = unit_low(op[first_c + (unsigned)r][lane] >> bits * i, (unsigned)bits);
            }
    for (row = 0; row < t.m; row++)
        for (column = 0; column < t.n; column++)
            t.d[row][column] = s->type[1].format ? float_cell(s, &t, row, column) : integer_cell(s, &t, row, column);
    for (int lane = 0; lane < 32; lane++)
        for (int r = 0; r < registers; r++)
            for (int i = 0; i < halves; i++) {
                accumulator(bits, lane, r, i, &row, &column);
                d[r][lane] |= t.d[row][column] << bits * i;
            }
}

const struct unit_rule unit_rules_mma[] = {{"mma", NULL, mma}, {NULL, NULL, NULL}};
