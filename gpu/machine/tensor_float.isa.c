/* mma with floating-point operands, as tensor_model.h has it. Source: PTX ISA 9.7.14.5 (fragments); facts/ptx.md 2.4.
 *
 * A vector is as many rows of one column of the result as the instruction set has lanes. A significand is a float that
 * holds an integer, so that a product of two is exact; times a power of two and cut toward zero by the conversion, it
 * is an addend. With at most 22 bits of product, 25 of fraction and 16 products, sums of addends are below 2^31. All
 * inputs are read before anything is written: D may be any of them. Compiled once for each instruction set. */
#include "../../ref/half.h"
#include "isa.h"
#include "nan.h"
#include "tensor_model.h"
#include <math.h>
#include <string.h>
#if defined __x86_64__
#include <immintrin.h>
#endif

#define JOIN2(a, b) a##_##b
#define JOIN(a, b)  JOIN2(a, b)

enum { ROWS = 16, COLUMNS = 8, WORDS = 8, DEPTH = 32, PART = 16 };
enum { NOTHING = -10000 }; /* exponent of zero: never the greatest */
enum { LEAST = -64 };      /* so far below the greatest, nothing of an addend is left */

#if defined __AVX512F__
#define SIDE  16 /* lanes of a vector */
#define CHUNK 8  /* of those, one word's columns */
#elif defined __AVX2__
#define SIDE  8
#define CHUNK 8
#else
#define SIDE  4
#define CHUNK 4
#endif
enum { PIECES = ROWS / SIDE };
typedef int32_t ints __attribute__((vector_size(4 * SIDE)));
typedef uint32_t words __attribute__((vector_size(4 * SIDE)));
typedef float floats __attribute__((vector_size(4 * SIDE)));

static const ints zeros = {0};

/* The lanes of x where the mask m is -1, those of y where it is 0. */
#define SELECT_LANES(m, x, y) (((m) & (x)) | (~(m) & (y)))
#if defined __AVX512F__
#define GREATER(x, y) ((ints)_mm512_max_epi32((__m512i)(x), (__m512i)(y)))
#elif defined __AVX2__
#define GREATER(x, y) ((ints)_mm256_max_epi32((__m256i)(x), (__m256i)(y)))
#else
#define GREATER(x, y) SELECT_LANES((ints)((x) > (y)), (x), (y))
#endif
/* 2^e of each lane, e of -126 .. 127. */
#define POWER(e) ((floats)(((e) + 127) << 23))

struct tile {
    floats a[DEPTH][PIECES]; /* significands, as integers */
    ints a_exponent[DEPTH][PIECES];
    float b[DEPTH][COLUMNS] __attribute__((aligned(64)));
    int32_t b_exponent[DEPTH][COLUMNS] __attribute__((aligned(64)));
    /* Only where `special`: NaN, an infinity, or the significand. What IEEE 754 makes of their products and sums is
     * what an mma makes of them. */
    bool special;
    float a_class[DEPTH][ROWS], b_class[DEPTH][COLUMNS];
};

struct rules { /* of the groups of one mma */
    int fraction, floor, kept;
    int scale; /* fraction bits of a product's significand */
};

/* Where element i of word q of a row stands in the tile: in order of k; pairs apart where fp8 becomes f16. */
static inline int slot(int q, int i, int per_word, int count, bool pairs_apart) {
    return pairs_apart ? 2 * count * (i >> 1) + 2 * q + (i & 1) : per_word * q + i;
}

/* Codes as significand and exponent; lanes with a NaN or an infinity become -1 in *special. */
static inline __attribute__((always_inline)) void split(const words *from, int shift, struct tensor_float t,
                                                        bool normalise, floats *significand, ints *exponent,
                                                        ints *special) {
    const int bits = t.fraction_bits, bias = (1 << (t.exponent_bits - 1)) - 1;
    const int fractions = (1 << bits) - 1, exponents = (1 << t.exponent_bits) - 1;
    const int least_special = t.infinities ? exponents << bits : exponents << bits | fractions;
    const words shifted = *from >> shift;
    const ints code = (ints)(shifted & ((1u << (t.bits - 1)) - 1)), field = code >> bits;
    const ints normal = (ints)(field != 0);
    ints m = (code & fractions) | (normal & 1 << bits), e = field + (1 - bias) + normal;
    *special |= (ints)(code >= least_special);
    for (int step = 0; step < 3 && normalise; ++step) { /* e4m3 has three fraction bits */
        const ints low = (ints)(m < 8);
        m <<= low & 1;
        e += low;
    }
    *exponent = SELECT_LANES((ints)(m != 0), e, zeros + NOTHING);
    *significand = (floats)((words) __builtin_convertvector(m, floats) | shifted >> (t.bits - 1) << 31);
}

/* NaN, infinity, or the significand. */
static void classify(const uint32_t *codes, int shift, int count, struct tensor_float t, const float *significand,
                     float *class) {
    const uint32_t fractions = (1u << t.fraction_bits) - 1, exponents = (1u << t.exponent_bits) - 1;
    const uint32_t infinity = exponents << t.fraction_bits, least = t.infinities ? infinity : infinity | fractions;
    for (int i = 0; i < count; ++i) {
        const uint32_t code = codes[i] >> shift & ((1u << (t.bits - 1)) - 1);
        const bool negative = codes[i] >> shift >> (t.bits - 1) & 1;
        class[i] = code < least                       ? significand[i]
                   : t.infinities && code == infinity ? (negative ? -INFINITY : INFINITY)
                                                      : NAN;
    }
}

static inline bool any(const ints *mask) {
#if defined __AVX512F__
    return _mm512_test_epi32_mask((__m512i)*mask, (__m512i)*mask);
#elif defined __AVX2__
    return !_mm256_testz_si256((__m256i)*mask, (__m256i)*mask);
#else
    uint64_t halves[sizeof *mask / 8];
    memcpy(halves, mask, sizeof halves);
    return halves[0] | halves[1];
#endif
}

/* to[t][g] = from[4 g + t], g = 0 .. 7: a register of 32 lanes by columns. */
static inline void by_columns(const uint32_t from[LANES], uint32_t *const to[4]) {
#if defined __AVX2__
    const __m256i pairs = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    __m256i x[4], y[4]; /* x[i]: g = 2 i, 2 i + 1 of each t in turn */
    for (int i = 0; i < 4; ++i)
        x[i] = _mm256_permutevar8x32_epi32(_mm256_load_si256((const __m256i *)(from + 8 * i)), pairs);
    for (int i = 0; i < 2; ++i) {
        y[2 * i] = _mm256_unpacklo_epi64(x[2 * i], x[2 * i + 1]);     /* t = 0, 2 */
        y[2 * i + 1] = _mm256_unpackhi_epi64(x[2 * i], x[2 * i + 1]); /* t = 1, 3 */
    }
    for (int t = 0; t < 2; ++t) {
        _mm256_store_si256((__m256i *)to[t], _mm256_permute2x128_si256(y[t], y[2 + t], 0x20));
        _mm256_store_si256((__m256i *)to[2 + t], _mm256_permute2x128_si256(y[t], y[2 + t], 0x31));
    }
#else
    for (int t = 0; t < 4; ++t)
        for (int g = 0; g < 8; ++g)
            to[t][g] = from[4 * g + t];
#endif
}

/* The way back: to[4 g + t] = from[t][g]. */
static inline void by_lanes(const uint32_t *const from[4], uint32_t to[LANES]) {
#if defined __AVX2__
    const __m256i apart = _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7);
    __m256i x[4], y[4];
    for (int t = 0; t < 2; ++t) {
        const __m256i even = _mm256_load_si256((const __m256i *)from[t]);
        const __m256i odd = _mm256_load_si256((const __m256i *)from[2 + t]);
        y[t] = _mm256_permute2x128_si256(even, odd, 0x20);
        y[2 + t] = _mm256_permute2x128_si256(even, odd, 0x31);
    }
    for (int i = 0; i < 2; ++i) {
        x[2 * i] = _mm256_unpacklo_epi64(y[2 * i], y[2 * i + 1]);
        x[2 * i + 1] = _mm256_unpackhi_epi64(y[2 * i], y[2 * i + 1]);
    }
    for (int i = 0; i < 4; ++i)
        _mm256_store_si256((__m256i *)(to + 8 * i), _mm256_permutevar8x32_epi32(x[i], apart));
#else
    for (int t = 0; t < 4; ++t)
        for (int g = 0; g < 8; ++g)
            to[4 * g + t] = from[t][g];
#endif
}

/* The fragments of A and B as a tile; count: 4-byte words in a row of A. */
static inline __attribute__((always_inline)) void load(struct tile *tile, const uint32_t *const a[4],
                                                       const uint32_t *const b[2], int count, enum tensor_type type_a,
                                                       enum tensor_type type_b, bool as_f16) {
    const struct tensor_float ta = tensor_floats[type_a], tb = tensor_floats[type_b];
    const int step = type_a == TENSOR_TF32 ? 32 : ta.bits, per_word = 32 / step;
    const int drop = type_a == TENSOR_TF32 ? 13 : 0; /* hardware does not look at the rest of a 32-bit operand */
    uint32_t word_a[WORDS][ROWS] __attribute__((aligned(64))), word_b[WORDS * COLUMNS] __attribute__((aligned(64)));
    for (int r = 0; r < count / 2; ++r) {
        uint32_t *const to[4] = {&word_a[4 * (r >> 1)][8 * (r & 1)], &word_a[4 * (r >> 1) + 1][8 * (r & 1)],
                                 &word_a[4 * (r >> 1) + 2][8 * (r & 1)], &word_a[4 * (r >> 1) + 3][8 * (r & 1)]};
        by_columns(a[r], to);
    }
    for (int r = 0; r < count / 4; ++r) {
        uint32_t *const first = word_b + 4 * COLUMNS * r;
        uint32_t *const to[4] = {first, first + COLUMNS, first + 2 * COLUMNS, first + 3 * COLUMNS};
        by_columns(b[r], to);
    }
    ints special = {0};
    for (int q = 0; q < count; ++q)
        for (int i = 0; i < per_word; ++i) {
            const int k = slot(q, i, per_word, count, as_f16);
            for (int piece = 0; piece < PIECES; ++piece)
                split((const words *)&word_a[q][piece * SIDE], step * i + drop, ta, as_f16 && type_a == TENSOR_E4M3,
                      &tile->a[k][piece], &tile->a_exponent[k][piece], &special);
        }
    for (int lane = 0; lane < count * COLUMNS; lane += SIDE) /* a vector may have the columns of two words */
        for (int i = 0; i < per_word; ++i) {
            floats significand;
            ints exponent;
            split((const words *)&word_b[lane], step * i + drop, tb, as_f16 && type_b == TENSOR_E4M3, &significand,
                  &exponent, &special);
            for (int at = 0; at < SIDE; at += CHUNK) {
                const int n = (lane + at) % COLUMNS;
                const int k = slot((lane + at) / COLUMNS, i, per_word, count, as_f16);
                memcpy(&tile->b[k][n], (const float *)&significand + at, sizeof(float) * CHUNK);
                memcpy(&tile->b_exponent[k][n], (const int32_t *)&exponent + at, sizeof(int32_t) * CHUNK);
            }
        }
    tile->special = any(&special);
    if (__builtin_expect(tile->special, 0))
        for (int q = 0; q < count; ++q)
            for (int i = 0; i < per_word; ++i) {
                const int k = slot(q, i, per_word, count, as_f16);
                classify(word_a[q], step * i + drop, ROWS, ta, (const float *)tile->a[k], tile->a_class[k]);
                classify(word_b + COLUMNS * q, step * i + drop, COLUMNS, tb, tile->b[k], tile->b_class[k]);
            }
}

/* Results that NaNs and infinities decide: those of the class sums. c: the group's accumulators; row: of lane 0. */
static __attribute__((noinline)) void decide_special(words *result, const words *c, const struct tile *tile, int row,
                                                     int column, int from, int to, bool half) {
    const struct tensor_float type = half ? tensor_floats[TENSOR_F16] : (struct tensor_float){8, 23, 32, true};
    const uint32_t nan = half ? 0x7fff : 0x7fffffff, infinity = half ? 0x7c00 : 0x7f800000;
    const float zeros[SIDE] = {0};
    float class[SIDE];
    uint32_t out[SIDE];
    memcpy(out, result, sizeof out);
    classify((const uint32_t *)c, 0, SIDE, type, zeros, class);
    for (int i = 0; i < SIDE; ++i) {
        float sum = class[i];
        for (int k = from; k < to && tile->special; ++k)
            sum += tile->a_class[k][row + i] * tile->b_class[k][column];
        if (sum != sum)
            out[i] = nan;
        else if (sum == INFINITY || sum == -INFINITY)
            out[i] = infinity | (sum > 0 ? 0 : half ? 0x8000u : 0x80000000u);
    }
    memcpy(result, out, sizeof out);
}

/* The nearest float that is not above the magnitude: without the bit below the 24 leading ones, rounding to nearest
 * never goes up. */
static inline __attribute__((always_inline)) void cut_to_float(const words *magnitude, floats *out) {
    const words kept = *magnitude & ~(*magnitude >> 24);
#if defined __AVX512F__
    *out = (floats)_mm512_cvtepu32_ps((__m512i)kept);
#else
    const ints high = (ints)(kept >> 16), low = (ints)(kept & 0xffff);
    *out = __builtin_convertvector(high, floats) * 65536.0f + __builtin_convertvector(low, floats);
#endif
}

/* magnitude * 2^(top - fraction) cut to an f32 of `kept` fraction bits. */
static inline __attribute__((always_inline)) void to_f32(const words *magnitude, const ints *top,
                                                         const struct rules *rules, words *out) {
    floats cut;
    cut_to_float(magnitude, &cut);
    const ints scale = *top - rules->fraction, exponent = ((ints)cut >> 23) + scale, some = (ints)(*magnitude != 0);
    const ints beyond = (ints)(exponent > 254), below = (ints)(exponent < 1) & some;
    words result = (words)cut + ((words)scale << 23);
    if (__builtin_expect(any(&below), 0)) {
        uint32_t lanes[SIDE], subnormal[SIDE];
        int32_t exponents[SIDE];
        memcpy(lanes, &cut, sizeof lanes);
        memcpy(exponents, &exponent, sizeof exponents);
        memcpy(subnormal, &result, sizeof subnormal);
        for (int i = 0; i < SIDE; ++i) {
            const int down = 1 - exponents[i];
            if (down > 0)
                subnormal[i] = down > 24 ? 0 : ((lanes[i] & 0x7fffff) | 0x800000) >> down;
        }
        memcpy(&result, subnormal, sizeof result);
    }
    if (rules->kept < 23)
        result &= ~((1u << (23 - rules->kept)) - 1);
    *out = SELECT_LANES((words)beyond, (words)zeros + 0x7f800000u, result) & (words)some;
}

/* The same to nearest f16. Cut to 24 bits with the last one set where something was cut off, the sum rounds as if it
 * were whole. */
static inline __attribute__((always_inline)) void to_f16(const words *magnitude, const ints *top,
                                                         const struct rules *rules, words *out) {
    floats cut;
    cut_to_float(magnitude, &cut);
    const ints excess = GREATER(((ints)cut >> 23) - (127 + 23), zeros); /* bits that were cut off, at most 8 */
    const ints lost = (ints)*magnitude & (__builtin_convertvector(POWER(excess), ints) - 1);
    const ints odd = (ints)cut | ((ints)(lost != 0) & 1);
    const floats value = (floats)odd * POWER(*top - rules->fraction);
    const words bits = (words)value, round = bits + 0xfff + (bits >> 13 & 1);
    const words normal = (round - (112u << 23)) >> 13, tiny = (words)(value + 0.5f) - 0x3f000000u;
    const words beyond = (words)(bits >= 0x477ff000u), small = (words)(bits < 0x38800000u);
    *out = SELECT_LANES(beyond, (words)zeros + 0x7c00u, SELECT_LANES(small, tiny, normal)) & (words)(*magnitude != 0);
}

/* One group for some rows of a column: acc = group(acc; products from .. to - 1). */
static inline __attribute__((always_inline)) void group(words *acc, const struct tile *tile, int piece, int column,
                                                        int from, int to, const struct rules *rules, bool special,
                                                        bool half) {
    const struct tensor_float type = half ? tensor_floats[TENSOR_F16] : (struct tensor_float){8, 23, 32, true};
    const words before = *acc;
    floats c;
    ints c_exponent, unused = {0};
    split(acc, 0, type, false, &c, &c_exponent, &unused);
    ints top = GREATER(c_exponent, zeros + rules->floor);
    for (int k = from; k < to; ++k) {
        const ints e = tile->a_exponent[k][piece] + tile->b_exponent[k][column];
        top = GREATER(top, e);
    }
    const ints c_below = GREATER(c_exponent - top, zeros + LEAST);
    const floats c_part = c * POWER(c_below + (rules->fraction - type.fraction_bits));
    const ints c_cut = __builtin_convertvector(c_part, ints);
    words low = (words)c_cut; /* the sum in two's complement, of 64 bits */
    ints high = c_cut >> 31;
    for (int part = from; part < to; part += PART) {
        const int end = part + PART < to ? part + PART : to;
        ints sum = {0};
        for (int k = part; k < end; ++k) {
            const ints e = tile->a_exponent[k][piece] + tile->b_exponent[k][column] - top;
            const ints below = GREATER(e, zeros + LEAST);
            const floats addend =
                tile->a[k][piece] * tile->b[k][column] * POWER(below + (rules->fraction - rules->scale));
            sum += __builtin_convertvector(addend, ints);
        }
        low += (words)sum;
        high += (sum >> 31) - (ints)(low < (words)sum);
    }
    const words negative = (words)(high >> 31), magnitude = (low ^ negative) - negative;
    words result;
    if (half)
        to_f16(&magnitude, &top, rules, &result);
    else
        to_f32(&magnitude, &top, rules, &result);
    result |= negative & (words)(result != 0) & (half ? 0x8000u : 0x80000000u); /* no zero is negative */
    if (__builtin_expect(special, 0))
        decide_special(&result, &before, tile, piece * SIDE, column, from, to, half);
    *acc = result;
}

/* acc[n] = column n of D, from C; fp8 as Hopper does it adds C last. */
static inline __attribute__((always_inline)) void multiply(words acc[COLUMNS][PIECES], const struct tile *tile,
                                                           int depth, int step, const struct rules *rules, bool half,
                                                           bool add_last) {
    words sums[COLUMNS][PIECES], (*into)[PIECES] = add_last ? sums : acc;
    if (add_last)
        memset(sums, 0, sizeof sums);
    const int infinity = half ? 0x7c00 : 0x7f800000;
    for (int from = 0; from < depth; from += step) {
        ints special = {0};
        for (int n = 0; n < COLUMNS; ++n)
            for (int piece = 0; piece < PIECES; ++piece)
                special |= (ints)(((ints)into[n][piece] & infinity) == infinity);
        const bool slow = any(&special) || tile->special;
        for (int n = 0; n < COLUMNS; ++n)
            for (int piece = 0; piece < PIECES; ++piece)
                group(&into[n][piece], tile, piece, n, from, from + step, rules, slow, half);
    }
    if (!add_last)
        return;
    uint32_t c[COLUMNS][ROWS], s[COLUMNS][ROWS];
    memcpy(c, acc, sizeof c);
    memcpy(s, sums, sizeof s);
    for (int n = 0; n < COLUMNS; ++n)
        for (int i = 0; i < ROWS; ++i)
            c[n][i] = half ? half_from_float(half_to_float((uint16_t)c[n][i]) + half_to_float((uint16_t)s[n][i]))
                           : float_bits(nan32(bits_float(c[n][i]) + bits_float(s[n][i])));
    memcpy(acc, c, sizeof c);
}

/* Register j, lane i: row i / 4 + 8 (j / 2), column 2 (i % 4) + j % 2; halves: row i / 4 + 8 j, two columns. */
static void read_accumulators(uint32_t acc[COLUMNS][ROWS], const uint32_t *const c[4], bool half) {
    for (int j = 0; j < 4; ++j) {
        uint32_t one[LANES] __attribute__((aligned(64)));
        const int row = 8 * (j >> 1), odd = j & 1;
        uint32_t *const to[4] = {&acc[odd][row], &acc[2 + odd][row], &acc[4 + odd][row], &acc[6 + odd][row]};
        if (half)
            for (int i = 0; i < LANES; ++i)
                one[i] = c[j >> 1][i] >> 16 * odd & 0xffff;
        by_columns(half ? one : c[j], to);
    }
}

static void write_accumulators(const uint32_t acc[COLUMNS][ROWS], uint32_t *const d[4], bool half, uint32_t mask) {
    uint32_t out[4][LANES] __attribute__((aligned(64)));
    for (int j = 0; j < 4; ++j) {
        const int row = 8 * (j >> 1), odd = j & 1;
        const uint32_t *const from[4] = {&acc[odd][row], &acc[2 + odd][row], &acc[4 + odd][row], &acc[6 + odd][row]};
        by_lanes(from, out[j]);
    }
    for (int j = 0; half && j < 2; ++j)
        for (int i = 0; i < LANES; ++i)
            out[j][i] = out[2 * j][i] | out[2 * j + 1][i] << 16;
    for (int j = 0; j < (half ? 2 : 4); ++j)
        if (mask == ALL_LANES)
            memcpy(d[j], out[j], sizeof out[j]);
        else
            for (int i = 0; i < LANES; ++i)
                d[j][i] = mask >> i & 1 ? out[j][i] : d[j][i];
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
    const int count = r->imm & MMA_SHORT ? WORDS / 2 : WORDS;
    const int element = type_a == TENSOR_TF32 ? 4 : fp8 ? 1 : 2, depth = 4 * count / element;
    const int most = as_f16 ? depth / 2 : unit->group / element, step = most < depth ? most : depth;
    const struct rules rules = {
        .fraction = fp8 ? unit->fp8_fraction : unit->fraction,
        .floor = half ? unit->floor16 : unit->floor32,
        .kept = fp8 ? unit->fp8_kept : 23,
        .scale = tensor_floats[type_a].fraction_bits + tensor_floats[type_b].fraction_bits,
    };
    struct tile tile;
    words acc[COLUMNS][PIECES];
    if (type_a == TENSOR_F16) /* the same code, made once more for the types that matter most */
        load(&tile, a, b, count, TENSOR_F16, TENSOR_F16, false);
    else if (type_a == TENSOR_BF16)
        load(&tile, a, b, count, TENSOR_BF16, TENSOR_BF16, false);
    else
        load(&tile, a, b, count, type_a, type_b, as_f16);
    read_accumulators((uint32_t(*)[ROWS])acc, c, half);
    if (half)
        multiply(acc, &tile, depth, step, &rules, true, as_f16);
    else
        multiply(acc, &tile, depth, step, &rules, false, as_f16);
    write_accumulators((const uint32_t(*)[ROWS])acc, d, half, mask);
    w->block->macs += (uint32_t)r->imm;
}

/* acc = fma(a[k], b[k], acc), k ascending: as an H200 does it, bit for bit, NaNs too, for all four shapes.
 * Registers of A: row g + 8 (i % 2), k = t + 4 (i / 2); of B: column g, k = t + 4 i; of C as above. */
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
                const double next = fma(x, y, acc);
                acc = next == next ? next : nan64(next, y, acc, x);
            }
            sum[j][i] = to_bits64(acc);
        }
    for (int j = 0; j < 4; ++j)
        for (int i = 0; i < LANES; ++i)
            reg64(w, at[j])[i] = mask >> i & 1 ? sum[j][i] : reg64(w, at[j])[i];
    w->block->macs += (uint32_t)r->imm;
}
