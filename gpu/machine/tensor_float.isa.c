/* mma with floating-point operands, as tensor_model.h has it. Source: PTX ISA 9.7.14.5 (fragments); facts/ptx.md 2.4.
 *
 * One column of the result is 16 rows side by side. A significand is a float that holds an integer, so that a product
 * of two is exact; times a power of two and cut toward zero by the conversion, it is an addend. With at most 22 bits of
 * product, 25 of fraction, and 16 products, sums of addends are below 2^31.
 * All inputs are read before anything is written: D may be any of them. Compiled once for each instruction set. */
#include "../../ref/half.h"
#include "isa.h"
#include "nan.h"
#include "tensor_model.h"
#include <math.h>

#define JOIN2(a, b) a##_##b
#define JOIN(a, b)  JOIN2(a, b)

enum { ROWS = 16, COLUMNS = 8, WORDS = 8, DEPTH = 32, PART = 16 };
enum { NOTHING = -10000 }; /* exponent of zero: never the greatest */

typedef float row_floats[ROWS];
typedef int32_t row_ints[ROWS];
typedef uint32_t row_words[ROWS];

struct tile {
    float a[DEPTH][ROWS] __attribute__((aligned(64))); /* significands, as integers */
    int32_t a_exponent[DEPTH][ROWS] __attribute__((aligned(64)));
    float b[DEPTH][COLUMNS] __attribute__((aligned(64)));
    int32_t b_exponent[DEPTH][COLUMNS] __attribute__((aligned(64)));
    /* Only where `special`: NaN, an infinity, or the significand: what IEEE 754 makes of their products and sums is
     * what an mma makes of them. */
    bool special;
    float a_class[DEPTH][ROWS], b_class[DEPTH][COLUMNS];
};

struct rules { /* of the groups of one mma */
    int fraction, floor, kept;
    int scale; /* fraction bits of a product's significand */
};

/* Where element i of word q of a row stands in the tile: in order of k; pairs apart where fp8 becomes f16. */
static inline int slot(int q, int i, int per_word, int words, bool pairs_apart) {
    return pairs_apart ? 2 * words * (i >> 1) + 2 * q + (i & 1) : per_word * q + i;
}

/* The codes of one k of all rows (or columns) as significand and exponent. True: there is a NaN or an infinity. */
static inline __attribute__((always_inline)) bool split(const uint32_t *codes, int count, struct tensor_float t,
                                                        bool normalise, float *significand, int32_t *exponent) {
    const int bits = t.fraction_bits, bias = (1 << (t.exponent_bits - 1)) - 1;
    const uint32_t fractions = (1u << bits) - 1, exponents = (1u << t.exponent_bits) - 1;
    const uint32_t least_special = t.infinities ? exponents << bits : exponents << bits | fractions;
    uint32_t special = 0;
    for (int i = 0; i < count; ++i) {
        const uint32_t code = codes[i] & ((1u << (t.bits - 1)) - 1);
        const uint32_t negative = codes[i] >> (t.bits - 1) & 1, field = code >> bits;
        int32_t m = (int32_t)(code & fractions), e = (int32_t)field - bias;
        special |= code >= least_special;
        if (normalise) { /* e4m3 has three fraction bits */
            const int up = m >= 4 ? 1 : m >= 2 ? 2 : 3;
            m = field ? m | 8 : m << up;
            e = field ? e : e + 1 - up;
        } else {
            m = field ? m | 1 << bits : m;
            e = field ? e : e + 1;
        }
        exponent[i] = m ? e : NOTHING;
        significand[i] = (float)(negative ? -m : m);
    }
    return special;
}

/* NaN, infinity, or the significand. */
static void classify(const uint32_t *codes, int count, struct tensor_float t, const float *significand, float *class) {
    const uint32_t fractions = (1u << t.fraction_bits) - 1, exponents = (1u << t.exponent_bits) - 1;
    const uint32_t infinity = exponents << t.fraction_bits, least = t.infinities ? infinity : infinity | fractions;
    for (int i = 0; i < count; ++i) {
        const uint32_t code = codes[i] & ((1u << (t.bits - 1)) - 1);
        const bool negative = codes[i] >> (t.bits - 1) & 1;
        class[i] = code < least                         ? significand[i]
                   : t.infinities && code == infinity ? (negative ? -INFINITY : INFINITY)
                                                        : NAN;
    }
}

/* The fragments of A and B as a tile; words: 4-byte words in a row of A. */
static inline __attribute__((always_inline)) void load(struct tile *tile, const uint32_t *const a[4],
                                                       const uint32_t *const b[2], int words, enum tensor_type type_a,
                                                       enum tensor_type type_b, bool as_f16) {
    const struct tensor_float ta = tensor_floats[type_a], tb = tensor_floats[type_b];
    const int step = type_a == TENSOR_TF32 ? 32 : ta.bits, per_word = 32 / step;
    const int drop = type_a == TENSOR_TF32 ? 13 : 0; /* hardware does not look at the rest of a 32-bit operand */
    row_words word_a[WORDS], code;
    uint32_t word_b[WORDS][COLUMNS];
    for (int r = 0; r < words / 2; ++r)
        for (int q = 0; q < 4; ++q)
            for (int i = 0; i < 8; ++i)
                word_a[q + 4 * (r >> 1)][i + 8 * (r & 1)] = a[r][4 * i + q];
    for (int r = 0; r < words / 4; ++r)
        for (int q = 0; q < 4; ++q)
            for (int i = 0; i < COLUMNS; ++i)
                word_b[q + 4 * r][i] = b[r][4 * i + q];
    tile->special = false;
    for (int pass = 0; pass < 1 + tile->special; ++pass)
        for (int q = 0; q < words; ++q)
            for (int i = 0; i < per_word; ++i) {
                const int k = slot(q, i, per_word, words, as_f16);
                for (int row = 0; row < ROWS; ++row)
                    code[row] = word_a[q][row] >> (step * i + drop);
                if (!pass)
                    tile->special |= split(code, ROWS, ta, as_f16 && type_a == TENSOR_E4M3, tile->a[k], tile->a_exponent[k]);
                else
                    classify(code, ROWS, ta, tile->a[k], tile->a_class[k]);
                for (int n = 0; n < COLUMNS; ++n)
                    code[n] = word_b[q][n] >> (step * i + drop);
                if (!pass)
                    tile->special |= split(code, COLUMNS, tb, as_f16 && type_b == TENSOR_E4M3, tile->b[k], tile->b_exponent[k]);
                else
                    classify(code, COLUMNS, tb, tile->b[k], tile->b_class[k]);
            }
}

/* 2^e as a float, for e of -126 .. 127. */
static inline float power(int32_t e) {
    return bits_float((uint32_t)(e + 127) << 23);
}

/* Results that NaNs and infinities decide: those of the class sums. */
static __attribute__((noinline)) void decide_special(row_words result, const struct tile *tile, int column, int from,
                                                     int to, const row_floats c_class, bool half) {
    const uint32_t nan = half ? 0x7fff : 0x7fffffff, infinity = half ? 0x7c00 : 0x7f800000;
    for (int row = 0; row < ROWS; ++row) {
        float sum = c_class[row];
        for (int k = from; k < to && tile->special; ++k)
            sum += tile->a_class[k][row] * tile->b_class[k][column];
        if (sum != sum)
            result[row] = nan;
        else if (sum == INFINITY || sum == -INFINITY)
            result[row] = infinity | (sum > 0 ? 0 : half ? 0x8000u : 0x80000000u);
    }
}

/* |sum| * 2^(top - fraction) with its sign, cut to f32. */
static inline uint32_t to_f32(uint32_t magnitude, uint32_t sign, int32_t top, int fraction, uint32_t dropped) {
    /* Without the bit below the 24 leading ones, rounding to nearest never goes up. */
    const uint32_t cut = float_bits((float)(magnitude & ~(magnitude >> 24)));
    const int32_t exponent = (int32_t)(cut >> 23) + top - fraction;
    const int32_t down = 1 - exponent > 31 ? 31 : 1 - exponent;
    const uint32_t below = ((cut & 0x7fffff) | 0x800000) >> (down < 0 ? 0 : down);
    const uint32_t normal = (uint32_t)exponent << 23 | (cut & 0x7fffff);
    const uint32_t finite = (exponent > 0 ? normal : below) & ~dropped;
    return magnitude ? sign << 31 | (exponent > 254 ? 0x7f800000u : finite) : 0;
}

/* The same to nearest f16. */
static inline uint32_t to_f16(uint32_t magnitude, uint32_t sign, int32_t top, int fraction) {
    const int32_t leading = (int32_t)(float_bits((float)(magnitude & ~(magnitude >> 24))) >> 23) - 127;
    const int32_t exponent = leading + top - fraction < -14 ? -14 : leading + top - fraction;
    const int32_t shift = exponent - 10 - (top - fraction); /* at most 22: top is not below the floor */
    const int32_t down = shift > 0 ? shift > 31 ? 31 : shift : 0, up = shift < 0 ? shift < -31 ? 31 : -shift : 0;
    const uint32_t lost = magnitude & ((1u << down) - 1), half = down ? 1u << (down - 1) : 0;
    uint32_t q = magnitude >> down << up;
    q += lost > half || (lost == half && down && (q & 1)) ? 1 : 0;
    const uint32_t code = ((uint32_t)(exponent + 14) << 10) + q;
    return magnitude ? sign << 15 | (code > 0x7c00 ? 0x7c00 : code) : 0;
}

/* One group for the 16 rows of a column: acc = group(acc; products from .. to - 1). */
static inline __attribute__((always_inline)) void group(row_words acc, const struct tile *tile, int column, int from,
                                                        int to, const struct rules *rules, bool half) {
    const struct tensor_float type = half ? tensor_floats[TENSOR_F16] : (struct tensor_float){8, 23, 32, true};
    row_floats c __attribute__((aligned(64)));
    row_ints c_exponent __attribute__((aligned(64))), top __attribute__((aligned(64)));
    int64_t total[ROWS] __attribute__((aligned(64)));
    const bool special = split(acc, ROWS, type, false, c, c_exponent) || tile->special;
    row_floats c_class;
    if (__builtin_expect(special, 0))
        classify(acc, ROWS, type, c, c_class);
    for (int i = 0; i < ROWS; ++i)
        top[i] = c_exponent[i] > rules->floor ? c_exponent[i] : rules->floor;
    for (int k = from; k < to; ++k) {
        const int32_t b_exponent = tile->b_exponent[k][column];
        for (int i = 0; i < ROWS; ++i) {
            const int32_t e = tile->a_exponent[k][i] + b_exponent;
            top[i] = e > top[i] ? e : top[i];
        }
    }
    for (int i = 0; i < ROWS; ++i) {
        const int32_t below = c_exponent[i] - top[i];
        total[i] = (int32_t)(c[i] * power((below < -64 ? -64 : below) + rules->fraction - type.fraction_bits));
    }
    for (int part = from; part < to; part += PART) {
        row_ints sum __attribute__((aligned(64))) = {0};
        const int end = part + PART < to ? part + PART : to;
        for (int k = part; k < end; ++k) {
            const float b = tile->b[k][column];
            const int32_t b_exponent = tile->b_exponent[k][column];
            for (int i = 0; i < ROWS; ++i) {
                const int32_t below = tile->a_exponent[k][i] + b_exponent - top[i];
                const float scale = power((below < -64 ? -64 : below) + rules->fraction - rules->scale);
                sum[i] += (int32_t)(tile->a[k][i] * b * scale);
            }
        }
        for (int i = 0; i < ROWS; ++i)
            total[i] += sum[i];
    }
    const uint32_t dropped = rules->kept < 23 ? (1u << (23 - rules->kept)) - 1 : 0;
    row_words result __attribute__((aligned(64)));
    for (int i = 0; i < ROWS; ++i) {
        const uint32_t sign = total[i] < 0, magnitude = (uint32_t)(sign ? -total[i] : total[i]);
        result[i] = half ? to_f16(magnitude, sign, top[i], rules->fraction)
                         : to_f32(magnitude, sign, top[i], rules->fraction, dropped);
    }
    if (__builtin_expect(special, 0))
        decide_special(result, tile, column, from, to, c_class, half);
    for (int i = 0; i < ROWS; ++i)
        acc[i] = result[i];
}

/* acc[n] = column n of D, from C; fp8 as Hopper does it adds C last. */
static inline __attribute__((always_inline)) void multiply(row_words acc[COLUMNS], const struct tile *tile, int depth,
                                                           int step, const struct rules *rules, bool half,
                                                           bool add_last) {
    for (int n = 0; n < COLUMNS; ++n) {
        row_words sum = {0};
        uint32_t *into = add_last ? sum : acc[n];
        for (int from = 0; from < depth; from += step)
            group(into, tile, n, from, from + step, rules, half);
        for (int i = 0; add_last && i < ROWS; ++i)
            acc[n][i] = half ? half_from_float(half_to_float((uint16_t)acc[n][i]) + half_to_float((uint16_t)sum[i]))
                             : float_bits(nan32(bits_float(acc[n][i]) + bits_float(sum[i])));
    }
}

/* Register j, lane i: row i / 4 + 8 (j / 2), column 2 (i % 4) + j % 2; halves: row i / 4 + 8 j, two columns. */
static void read_accumulators(row_words acc[COLUMNS], const uint32_t *const c[4], bool half) {
    for (int j = 0; j < 4; ++j)
        for (int i = 0; i < LANES; ++i) {
            const uint32_t word = half ? c[j >> 1][i] >> 16 * (j & 1) & 0xffff : c[j][i];
            acc[2 * (i & 3) + (j & 1)][(i >> 2) + 8 * (j >> 1)] = word;
        }
}

static void write_accumulators(const row_words acc[COLUMNS], uint32_t *const d[4], bool half, uint32_t mask) {
    for (int j = 0; j < (half ? 2 : 4); ++j)
        for (int i = 0; i < LANES; ++i) {
            const int row = (i >> 2) + 8 * (half ? j : j >> 1), column = 2 * (i & 3);
            const uint32_t word =
                half ? acc[column][row] | acc[column + 1][row] << 16 : acc[column + (j & 1)][row];
            d[j][i] = mask >> i & 1 ? word : d[j][i];
        }
}

void JOIN(mma_float, ISA)(struct warp *w, const struct record *r, uint32_t mask) {
    const uint32_t *at = w->wide + r->wide;
    const uint32_t *a[4], *b[2], *c[4];
    uint32_t *d[4];
    for (int i = 0; i < 4; ++i)
        d[i] = reg32(w, at[i]), a[i] = reg32(w, at[4 + i]), c[i] = reg32(w, at[10 + i]);
    for (int i = 0; i < 2; ++i)
        b[i] = reg32(w, at[8 + i]);
    if (mask != w->live)
        check_convergence(w, r, mask, w->live);

    const enum tensor_type type_a = (enum tensor_type)(r->imm >> MMA_TYPE_A & 15);
    const enum tensor_type type_b = (enum tensor_type)(r->imm >> MMA_TYPE_B & 15);
    const struct tensor_unit *unit = &tensor_units[r->imm >> MMA_UNIT & 15];
    const bool half = r->imm & MMA_HALF, fp8 = type_a == TENSOR_E4M3 || type_a == TENSOR_E5M2;
    const bool as_f16 = fp8 && unit->fp8 == FP8_AS_F16;
    const int words = r->imm & MMA_SHORT ? WORDS / 2 : WORDS;
    const int element = type_a == TENSOR_TF32 ? 4 : fp8 ? 1 : 2, depth = 4 * words / element;
    const int most = as_f16 ? depth / 2 : unit->group / element, step = most < depth ? most : depth;
    const struct rules rules = {
        .fraction = fp8 ? unit->fp8_fraction : unit->fraction,
        .floor = half ? unit->floor16 : unit->floor32,
        .kept = fp8 ? unit->fp8_kept : 23,
        .scale = tensor_floats[type_a].fraction_bits + tensor_floats[type_b].fraction_bits,
    };
    struct tile tile;
    row_words acc[COLUMNS] __attribute__((aligned(64)));
    if (type_a == TENSOR_F16) /* the same code, made once more for the types that matter most */
        load(&tile, a, b, words, TENSOR_F16, TENSOR_F16, false);
    else if (type_a == TENSOR_BF16)
        load(&tile, a, b, words, TENSOR_BF16, TENSOR_BF16, false);
    else
        load(&tile, a, b, words, type_a, type_b, as_f16);
    read_accumulators(acc, c, half);
    if (half)
        multiply(acc, &tile, depth, step, &rules, true, as_f16);
    else
        multiply(acc, &tile, depth, step, &rules, false, as_f16);
    write_accumulators((const row_words *)acc, d, half, mask);
    w->block->macs += (uint32_t)r->imm;
}

/* Registers of A: row g + 8 (i % 2), k = t + 4 (i / 2); of B: column g, k = t + 4 i; of C as above. */
void JOIN(mma_f64, ISA)(struct warp *w, const struct record *r, uint32_t mask) {
    const uint32_t *at = w->wide + r->wide;
    const uint64_t *a[8], *b[4], *c[4];
    uint64_t sum[4][LANES];
    for (int i = 0; i < 8; ++i)
        a[i] = reg64(w, at[4 + i]);
    for (int i = 0; i < 4; ++i)
        b[i] = reg64(w, at[12 + i]), c[i] = reg64(w, at[16 + i]);
    if (mask != w->live)
        check_convergence(w, r, mask, w->live);
    const uint32_t macs = (uint32_t)r->imm;
    const int depth = macs == 8 * 8 * 4 ? 4 : (int)macs / (ROWS * COLUMNS);
    for (int j = 0; j < 4; ++j)
        for (int i = 0; i < LANES; ++i) {
            const int row = i & ~3, column = 4 * (2 * (i & 3) + (j & 1));
            double acc = from_bits64(c[j][i]);
            for (int k = 0; k < depth; ++k) {
                const double x = from_bits64(a[(j >> 1) + 2 * (k / 4)][row + k % 4]);
                const double y = from_bits64(b[k / 4][column + k % 4]);
                acc = nan64(fma(x, y, acc), y, acc, x);
            }
            sum[j][i] = to_bits64(acc);
        }
    for (int j = 0; j < 4; ++j)
        for (int i = 0; i < LANES; ++i)
            reg64(w, at[j])[i] = mask >> i & 1 ? sum[j][i] : reg64(w, at[j])[i];
    w->block->macs += (uint32_t)r->imm;
}
