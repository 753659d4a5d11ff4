/* The loops of lane_list.h over 32 lanes. Compiled once for each instruction set, with ISA=base, avx2 or avx512. */
#include "../../ref/half.h"
#include "isa.h"
#include "nan.h"
#include "video.h"

#define JOIN2(a, b) a##_##b
#define JOIN(a, b)  JOIN2(a, b)

__extension__ typedef __int128 int128;
__extension__ typedef unsigned __int128 uint128;

/* How a type lies in a register, how it is read, and how it is written. */
typedef uint32_t __attribute__((may_alias)) slot_u32;
typedef int32_t __attribute__((may_alias)) slot_s32;
typedef uint64_t __attribute__((may_alias)) slot_u64;
typedef int64_t __attribute__((may_alias)) slot_s64;
typedef float __attribute__((may_alias)) slot_f32;
typedef double __attribute__((may_alias)) slot_f64;
typedef slot_u32 slot_u16, slot_s16;
typedef uint16_t value_u16;
typedef int16_t value_s16;
typedef uint32_t value_u32;
typedef int32_t value_s32;
typedef uint64_t value_u64;
typedef int64_t value_s64;
typedef float value_f32;
typedef double value_f64;
#define PUT_u16(x) ((uint16_t)(x))
#define PUT_s16(x) ((uint16_t)(x))
#define PUT_u32(x) (x)
#define PUT_s32(x) (x)
#define PUT_u64(x) (x)
#define PUT_s64(x) (x)
#define PUT_f32(x) (x)
#define PUT_f64(x) (x)

#define BIT4(n)  1u << (n), 2u << (n), 4u << (n), 8u << (n)
#define BIT16(n) BIT4(n), BIT4((n) + 4), BIT4((n) + 8), BIT4((n) + 12)
static const uint32_t lane_bit[LANES] __attribute__((aligned(64))) = {BIT16(0), BIT16(16)};

static inline float flush(float x) {
    const uint32_t u = float_bits(x);
    return bits_float(u & 0x7f800000u ? u : u & 0x80000000u);
}
static inline int is_least_normal(float x) {
    return (float_bits(x) & 0x7fffffffu) == 0x00800000u;
}
/* With .ftz hardware looks whether a result is below the normal numbers after it is rounded to 24 bits, and before it
 * is rounded to the fewer bits that a subnormal number has. So some results are flushed that would have become the
 * least normal number: those below this bound. The functions below tell of exact values; their operands are not
 * subnormal. */
#define BELOW_NORMAL (0x1p-126 - 0x1p-151)
static inline int mul_below_normal(float a, float b) {
    return __builtin_fabs((double)a * b) < BELOW_NORMAL;
}
static inline int div_below_normal(float a, float b) {
    return __builtin_fabs((double)a) < __builtin_fabs((double)b) * BELOW_NORMAL;
}
/* The product is exact in double; rest is what rounding took from the sum. */
static inline int fma_below_normal(float a, float b, float c) {
    const double p = (double)a * b, sum = p + c, part = sum - p, rest = (p - (sum - part)) + (c - part);
    const double size = __builtin_fabs(sum);
    return size < BELOW_NORMAL || (size == BELOW_NORMAL && (sum > 0 ? rest < 0 : rest > 0));
}
static inline float zero_if(int below, float x) {
    return below ? __builtin_copysignf(0.0f, x) : x;
}
/* -0 is below +0; a NaN gives way to the other operand. */
static inline float smaller32(float a, float b) {
    const float equal = bits_float(float_bits(a) | float_bits(b)); /* equal values differ at most in the sign of zero */
    return a != a ? b : b != b ? a : a < b ? a : b < a ? b : equal;
}
static inline float larger32(float a, float b) {
    const float equal = bits_float(float_bits(a) & float_bits(b));
    return a != a ? b : b != b ? a : a > b ? a : b > a ? b : equal;
}
static inline double smaller64(double a, double b) {
    return a != a ? b : b != b ? a : a < b || (a == b && __builtin_signbit(a)) ? a : b;
}
static inline double larger64(double a, double b) {
    return a != a ? b : b != b ? a : a > b || (a == b && __builtin_signbit(b)) ? a : b;
}

#include "lanes_half.h"

static inline int32_t saturate_s32(int64_t x) {
    return x > INT32_MAX ? INT32_MAX : x < INT32_MIN ? INT32_MIN : (int32_t)x;
}
static inline int32_t sign24(uint32_t x) {
    return (int32_t)(x << 8) >> 8;
}
static inline uint64_t low_ones(unsigned n) {
    return n > 63 ? UINT64_MAX : ((uint64_t)1 << n) - 1;
}
/* Place and length of a field of 64 bits are not cut to 8 bits, as those of 32 bits are (measured on an H200). */
static inline uint32_t most255(uint32_t x) {
    return x > 255 ? 255 : x;
}
/* Bits pos .. pos+len-1 of x, those past the width read as 0 / as the field's highest bit that exists. */
static inline uint64_t field_u64(uint64_t x, unsigned pos, unsigned len, unsigned width) {
    return pos >= width ? 0 : x >> pos & low_ones(len);
}
static inline uint64_t field_s64(int64_t x, unsigned pos, unsigned len, unsigned width) {
    if (len == 0)
        return 0;
    const unsigned top = pos + len - 1 > width - 1 ? width - 1 : pos + len - 1; /* of the field's sign */
    const int64_t sign = 0 - (x >> top & 1);
    const uint64_t kept = pos >= width ? 0 : low_ones(top - pos + 1);
    return (pos >= width ? 0 : (uint64_t)(x >> pos) & kept) | ((uint64_t)sign & ~kept);
}
/* y with bits pos .. pos+len-1 taken from the low bits of x; place = pos | len << 8 (field_pair). */
static inline uint64_t insert_field(uint64_t x, uint64_t y, uint32_t place, unsigned width) {
    const unsigned pos = place & 255, len = place >> 8;
    const uint64_t field = pos >= width ? 0 : low_ones(len) << (pos & 63);
    return (y & ~field) | (x << (pos & 63) & field);
}
static inline uint32_t permute_bytes(uint32_t a, uint32_t b, uint32_t selector) {
    const uint64_t bytes = (uint64_t)b << 32 | a;
    uint32_t d = 0;
    for (unsigned i = 0; i < 4; ++i) {
        const unsigned s = selector >> (4 * i) & 15;
        const uint32_t byte = (uint32_t)(bytes >> (8 * (s & 7))) & 255;
        d |= (s & 8 ? (byte & 128 ? 255u : 0u) : byte) << (8 * i);
    }
    return d;
}
/* The selector that a named mode (f4e b4e rc8 ecl ecr rc16, counted from 0) and two bits of c stand for. */
static inline uint32_t permute_selector(unsigned mode, uint32_t c) {
    const unsigned s = c & 3, h = 2 * (c & 1);
    uint32_t d = 0;
    for (unsigned i = 0; i < 4; ++i) {
        const unsigned byte[6] = {s + i, (s - i) & 7, s, i > s ? i : s, i < s ? i : s, h + (i & 1)};
        d |= (uint32_t)byte[mode] << (4 * i);
    }
    return d;
}
static inline uint32_t logic3(uint32_t a, uint32_t b, uint32_t c, uint32_t table) {
    uint32_t d = 0;
    for (unsigned k = 0; k < 8; ++k) {
        const uint32_t term = (k & 4 ? a : ~a) & (k & 2 ? b : ~b) & (k & 1 ? c : ~c);
        d |= term & (0 - (table >> k & 1));
    }
    return d;
}
static inline uint32_t reverse32(uint32_t x) {
    x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
    x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
    x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
    return __builtin_bswap32(x);
}
static inline int32_t byte_of(uint32_t x, unsigned i, int is_unsigned) {
    const uint8_t byte = (uint8_t)(x >> (8 * i));
    return is_unsigned ? byte : (int8_t)byte;
}
static inline int32_t dot4(uint32_t a, uint32_t b, int a_unsigned, int b_unsigned) {
    int32_t sum = 0;
    for (unsigned i = 0; i < 4; ++i)
        sum += byte_of(a, i, a_unsigned) * byte_of(b, i, b_unsigned);
    return sum;
}
static inline int32_t dot2(uint32_t a, uint32_t b, int a_unsigned, int b_unsigned) {
    int32_t sum = 0;
    for (unsigned i = 0; i < 2; ++i) {
        const uint16_t half = (uint16_t)(a >> (16 * i));
        sum += (a_unsigned ? half : (int16_t)half) * byte_of(b, i, b_unsigned);
    }
    return sum;
}

static inline uint32_t pair(uint32_t low, uint32_t high) {
    return (low & 0xffff) | high << 16;
}
static inline int32_t lesser16(uint32_t a, uint32_t b) {
    return (int16_t)a < (int16_t)b ? (int16_t)a : (int16_t)b;
}
static inline int32_t greater16(uint32_t a, uint32_t b) {
    return (int16_t)a > (int16_t)b ? (int16_t)a : (int16_t)b;
}
/* Bits 0 .. (at & 31) - 1 of x, zeros or copies of the highest of them above. whole: all of x, with no sign. */
static inline uint32_t extend_from(uint32_t x, uint32_t at, int whole, int is_signed) {
    const uint32_t n = at & 31, above = whole ? 0 : UINT32_MAX << n;
    const int negative = is_signed && !whole && n && (x >> ((n - 1) & 31) & 1);
    return (x & ~above) | (negative ? above : 0);
}
/* Place of the n-th set bit of x from bit `base` on, upward for positive n, downward for negative; n = 0: base itself,
 * if it is set. All ones: there is none, as for every base outside 0 .. 31 (measured on an H200). */
static inline uint32_t nth_set(uint32_t x, int32_t base, int32_t n) {
    const int up = n > 0 ? 1 : -1;
    uint32_t left = n > 0 ? (uint32_t)n : 0 - (uint32_t)n;
    if (n == 0)
        return base >= 0 && base < LANES && x >> base & 1 ? (uint32_t)base : UINT32_MAX;
    for (int32_t i = base; i >= 0 && i < LANES; i += up)
        if (x >> i & 1 && --left == 0)
            return (uint32_t)i;
    return UINT32_MAX;
}
/* a clamped, above b clamped; how = bits of each | 0x100 when signed. */
static inline uint32_t clamped_pair(int32_t a, int32_t b, int64_t how) {
    const unsigned bits = (unsigned)how & 31;
    const uint32_t kept = (1u << bits) - 1;
    return ((uint32_t)video_clamp(a, bits, how & 0x100) & kept) << bits |
           ((uint32_t)video_clamp(b, bits, how & 0x100) & kept);
}
/* 0 zero, 1 subnormal, 2 normal, 3 infinite, 4 NaN */
static inline unsigned float_class(uint32_t exponent, uint32_t top, uint64_t fraction) {
    return exponent == top ? (fraction ? 4 : 3) : exponent ? 2 : fraction != 0;
}

#define SLOTS(T, offset) ((slot_##T *)(void *)__builtin_assume_aligned(w->regs + (offset), 64))
/* A destination is one of the sources or none of them, never half of one: no iteration reads what another wrote. */
#define EACH_LANE _Pragma("GCC ivdep") for (int i = 0; i < LANES; ++i)
#define HEAD(name)                                                                                                     \
    static void lane_##name(struct warp *w, const struct record *r, uint32_t mask) {                                   \
        const int64_t imm = r->imm;                                                                                    \
        (void)mask, (void)imm;

#define LANE1(name, D, A, expr)                                                                                        \
    HEAD(name)                                                                                                         \
    slot_##D *d = SLOTS(D, r->dst);                                                                                    \
    const slot_##A *pa = SLOTS(A, r->a);                                                                               \
    EACH_LANE {                                                                                                        \
        const value_##A a = (value_##A)pa[i];                                                                          \
        d[i] = PUT_##D(expr);                                                                                          \
    }                                                                                                                  \
    }
#define LANE2(name, D, A, B, expr)                                                                                     \
    HEAD(name)                                                                                                         \
    slot_##D *d = SLOTS(D, r->dst);                                                                                    \
    const slot_##A *pa = SLOTS(A, r->a);                                                                               \
    const slot_##B *pb = SLOTS(B, r->b);                                                                               \
    EACH_LANE {                                                                                                        \
        const value_##A a = (value_##A)pa[i];                                                                          \
        const value_##B b = (value_##B)pb[i];                                                                          \
        d[i] = PUT_##D(expr);                                                                                          \
    }                                                                                                                  \
    }
#define LANE3(name, D, A, B, C, expr)                                                                                  \
    HEAD(name)                                                                                                         \
    slot_##D *d = SLOTS(D, r->dst);                                                                                    \
    const slot_##A *pa = SLOTS(A, r->a);                                                                               \
    const slot_##B *pb = SLOTS(B, r->b);                                                                               \
    const slot_##C *pc = SLOTS(C, r->c);                                                                               \
    EACH_LANE {                                                                                                        \
        const value_##A a = (value_##A)pa[i];                                                                          \
        const value_##B b = (value_##B)pb[i];                                                                          \
        const value_##C c = (value_##C)pc[i];                                                                          \
        d[i] = PUT_##D(expr);                                                                                          \
    }                                                                                                                  \
    }
/* `expr` is right but for rare lanes, whose value is `mended`, of the operands and x = expr. The loop only notices
 * whether there are any; the result waits aside because it may go to where an operand is. */
#define RARE(name, T, loads, expr, rare, mended)                                                                       \
    HEAD(name)                                                                                                         \
    value_##T result[LANES] __attribute__((aligned(64)));                                                              \
    int any = 0;                                                                                                       \
    EACH_LANE {                                                                                                        \
        loads;                                                                                                         \
        const value_##T x = result[i] = expr;                                                                          \
        any |= (rare);                                                                                                 \
    }                                                                                                                  \
    for (int i = 0; any && i < LANES; ++i) {                                                                           \
        loads;                                                                                                         \
        const value_##T x = result[i];                                                                                 \
        if (rare)                                                                                                      \
            result[i] = mended;                                                                                        \
    }                                                                                                                  \
    __builtin_memcpy(SLOTS(T, r->dst), result, sizeof result);                                                         \
    }
#define OPERAND(T, x)                      const value_##T x = SLOTS(T, r->x)[i]
#define RARE2(name, T, expr, rare, mended) RARE(name, T, OPERAND(T, a); OPERAND(T, b), expr, rare, mended)
#define RARE3(name, T, expr, rare, mended)                                                                             \
    RARE(name, T, OPERAND(T, a); OPERAND(T, b); OPERAND(T, c), expr, rare, mended)
#define COMPARE(name, A, expr)                                                                                         \
    HEAD(name)                                                                                                         \
    const slot_##A *pa = SLOTS(A, r->a);                                                                               \
    const slot_##A *pb = SLOTS(A, r->b);                                                                               \
    uint32_t holds = 0;                                                                                                \
    for (int i = 0; i < LANES; ++i) {                                                                                  \
        const value_##A a = (value_##A)pa[i];                                                                          \
        const value_##A b = (value_##A)pb[i];                                                                          \
        holds |= (expr) ? lane_bit[i] : 0;                                                                             \
    }                                                                                                                  \
    set_pred(w, r->dst, holds, mask);                                                                                  \
    }
#define SELECT(name, D)                                                                                                \
    HEAD(name)                                                                                                         \
    slot_##D *d = SLOTS(D, r->dst);                                                                                    \
    const slot_##D *pa = SLOTS(D, r->a);                                                                               \
    const slot_##D *pb = SLOTS(D, r->b);                                                                               \
    const uint32_t chosen = w->preds[r->c];                                                                            \
    EACH_LANE d[i] = chosen & lane_bit[i] ? pa[i] : pb[i];                                                             \
    }
#include "lane_list.h"

handler *const JOIN(lane_ops, ISA)[LANE_OPS] = {
#define LANE1(name, D, A, expr)            lane_##name,
#define LANE2(name, D, A, B, expr)         lane_##name,
#define LANE3(name, D, A, B, C, expr)      lane_##name,
#define RARE2(name, T, expr, rare, mended) lane_##name,
#define RARE3(name, T, expr, rare, mended) lane_##name,
#define COMPARE(name, A, expr)             lane_##name,
#define SELECT(name, D)                    lane_##name,
#include "lane_list.h"
};
