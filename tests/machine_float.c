/* Floating point and conversions of the machine, against formulas in wider arithmetic. */
#include "../ref/half.h"
#include "machine_ops.h"
#include <math.h>

typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
typedef int64_t s64;
__extension__ typedef __float128 quad;

static float f(u64 x) {
    return bits_float((u32)x);
}
static double d(u64 x) {
    double v;
    memcpy(&v, &x, 8);
    return v;
}
static u64 F(double x) { /* rounds once more: harmless after +, -, *, / and sqrt of floats in double */
    const float r = (float)x;
    return isnan(x) ? 0x7fffffff : float_bits(r);
}
static u64 D(double x) {
    u64 u;
    memcpy(&u, &x, 8);
    return u;
}
/* A NaN result is the first of the operands that is one, made quiet, or the NaN of no operand. */
static u64 N(double x, u64 first, u64 second, u64 third) {
    const u64 order[] = {first, second, third};
    for (int i = 0; isnan(x) && i < 3; ++i)
        if (isnan(d(order[i])))
            return order[i] | (u64)1 << 51;
    return isnan(x) ? 0xfff8000000000000 : D(x);
}
static u64 narrowed(u64 a, u64 otherwise) { /* to f32 */
    return isnan(d(a)) ? (a >> 32 & 0x80000000) | 0x7fc00000 | (a >> 29 & 0x3fffff) : otherwise;
}
static u64 widened(u64 sign, u64 payload, int shift) { /* to f64, of a NaN */
    return sign << 63 | 0x7ff8000000000000 | payload << shift;
}
static u64 flushed(u64 x) {
    return (x & 0x7f800000) ? x : x & 0x80000000;
}
static u64 saturated(u64 x) {
    return isnan(f(x)) || f(x) <= 0 ? 0 : f(x) >= 1 ? 0x3f800000 : x;
}

/* The f32 nearest below, above or toward zero from hi + lo exactly; |lo| is far below hi. */
static u64 directed(double hi, double lo, char mode) {
    float r = (float)hi;
    if (isnan(hi))
        return 0x7fffffff;
    if (isinf(hi))
        return float_bits(r);
    const double over = isinf(r) ? r : (double)r - hi;
    const int side = over > 0 ? 1 : over < 0 ? -1 : lo < 0 ? 1 : lo > 0 ? -1 : 0; /* of r from the exact value */
    const bool down = mode == 'm' || (mode == 'z' && (hi > 0 || (hi == 0 && lo > 0)));
    if (side > 0 && down)
        r = nextafterf(r, -INFINITY);
    if (side < 0 && !down)
        r = nextafterf(r, INFINITY);
    if (r == 0)
        r = copysignf(r, (float)hi);
    return float_bits(r);
}
static u64 sum_directed(double a, double b, char mode) {
    const double hi = a + b, part = hi - a, lo = (a - (hi - part)) + (b - part);
    if (hi == 0 && lo == 0)
        return signbit(a) == signbit(b) ? (signbit(a) ? 0x80000000 : 0) : mode == 'm' ? 0x80000000 : 0;
    return directed(hi, isfinite(hi) ? lo : 0, mode);
}
static u64 quotient_directed(double a, double b, char mode) {
    const double hi = a / b;
    return directed(hi, isfinite(hi) && b != 0 && isfinite(b) ? fma(-hi, b, a) / b : 0, mode);
}
static u64 root_directed(double a, char mode) {
    const double hi = sqrt(a);
    return directed(hi, isfinite(hi) && hi > 0 ? fma(-hi, hi, a) : 0, mode);
}

/* .ftz: a zero when hi + lo, rounded to 24 bits with no end to the exponents, is below 2^-126. |lo| is far below hi. */
static u64 flushed_early(u64 rounded, quad hi, quad lo, char mode) {
    const quad least = 0x1p-126, size = hi < 0 ? -hi : hi, rest = hi < 0 ? -lo : lo;
    const bool away = (mode == 'p' && hi > 0) || (mode == 'm' && hi < 0);
    const quad bound = mode == 'n' ? least - (quad)0x1p-151 : away ? least - (quad)0x1p-150 : least;
    const bool below = size < bound || (size == bound && (away ? rest <= 0 : rest < 0));
    return below ? rounded & 0x80000000 : flushed(rounded);
}
static u64 product_flushed(u64 a, u64 b, char mode) {
    const double exact = (double)f(flushed(a)) * f(flushed(b));
    return flushed_early(mode == 'n' ? F(exact) : directed(exact, 0, mode), exact, 0, mode);
}
static u64 fused_flushed(u64 a, u64 b, u64 c, char mode) {
    const float x = f(flushed(a)), y = f(flushed(b)), z = f(flushed(c));
    const double p = (double)x * y, hi = p + z, part = hi - p;
    const double lo = isfinite(hi) ? (p - (hi - part)) + (z - part) : 0;
    return flushed_early(mode == 'n' ? F(fmaf(x, y, z)) : sum_directed(p, z, mode), hi, lo, mode);
}
static u64 quotient_flushed(u64 a, u64 b, char mode) {
    const float x = f(flushed(a)), y = f(flushed(b));
    return flushed_early(mode == 'n' ? F((double)x / y) : quotient_directed(x, y, mode), (quad)x / y, 0, mode);
}
static u64 narrowed_flushed(u64 a, char mode) {
    return narrowed(a, flushed_early(mode == 'n' ? F(d(a)) : directed(d(a), 0, mode), d(a), 0, mode));
}

/* -0 below +0, NaN gives way */
static bool below(double a, double b) {
    return a < b || (a == b && signbit(a) && !signbit(b));
}
static double lesser(double a, double b) {
    return isnan(a) ? b : isnan(b) ? a : below(a, b) ? a : b;
}
static double greater(double a, double b) {
    return isnan(a) ? b : isnan(b) ? a : below(a, b) ? b : a;
}

/* The half nearest to x, even in a tie, by looking for it among all of them. */
static u64 H(quad x) {
    if (x != x)
        return 0x7fff;
    const bool negative = x < 0;
    const quad size = negative ? -x : x;
    unsigned low = 0, high = 0x7c00; /* value(low) <= size < value(high), with 2^16 for infinity */
    if (size >= 65520)
        return negative ? 0xfc00 : 0x7c00;
    while (high - low > 1) {
        const unsigned middle = (low + high) / 2;
        if ((quad)half_to_float((uint16_t)middle) <= size)
            low = middle;
        else
            high = middle;
    }
    const quad under = half_to_float((uint16_t)low), over = high == 0x7c00 ? 65536 : half_to_float((uint16_t)high);
    const quad twice = 2 * size;
    const unsigned h = twice < under + over ? low : twice > under + over ? high : low & 1 ? high : low;
    return h | (negative ? 0x8000u : 0);
}
static u64 signed_zero(u64 h, bool negative) { /* H() knows no sign of zero */
    return h == 0 && negative ? 0x8000 : h;
}
static double h(u64 x) {
    return half_to_float((uint16_t)x);
}
static u64 half_sum(u64 a, u64 b) {
    return signed_zero(H((quad)h(a) + h(b)), signbit(h(a) + h(b)));
}
static u64 half_product(u64 a, u64 b) {
    return signed_zero(H((quad)h(a) * h(b)), signbit(h(a) * h(b)));
}
static u64 half_fused(u64 a, u64 b, u64 c) {
    const quad exact = (quad)h(a) * h(b) + h(c);
    return signed_zero(H(exact), exact == 0 ? signbit(h(a) * h(b)) && signbit(h(c)) : exact < 0);
}
static u64 half_kept(double x, u64 from) {
    return isnan(x) ? 0x7fff : signed_zero(H(x), signbit(x) || (x == 0 && (from & 0x8000)));
}
static u64 both(u64 (*one)(u64, u64), u64 a, u64 b) {
    return one(a & 0xffff, b & 0xffff) | one(a >> 16 & 0xffff, b >> 16 & 0xffff) << 16;
}

/* x rounded to a whole number: n nearest even, z toward zero, m down, p up; then into lo .. hi. */
static double whole(double x, char mode) {
    const double down = floor(x), rest = x - down;
    if (mode == 'n')
        return rest < 0.5 || (rest == 0.5 && fmod(down, 2) == 0) ? down : down + 1;
    return mode == 'm' || (mode == 'z' && x >= 0) ? down : down == x ? x : down + 1;
}
static u64 to_int(double x, char mode, double lo, double hi, u64 nan) {
    if (isnan(x))
        return nan;
    const double w = isinf(x) ? x : whole(x, mode);
    if (w < lo)
        x = lo;
    else if (w > hi)
        x = hi;
    else
        x = w;
    return x < 0 ? (u64)(s64)x : x >= 0x1p63 ? (u64)(x - 0x1p63) + ((u64)1 << 63) : (u64)x;
}
static u64 to_s64(double x, char mode) {
    return isnan(x) ? (u64)1 << 63 : x >= 0x1p63 ? INT64_MAX : x < -0x1p63 ? (u64)1 << 63 : (u64)(s64)whole(x, mode);
}
static u64 to_u64(double x, char mode) {
    return isnan(x) ? (u64)1 << 63 : x >= 0x1p64 ? UINT64_MAX : to_int(x, mode, 0, 0x1p64, 0);
}
static u64 keep_sign(u64 rounded, u64 from) {
    return rounded == 0 ? from & 0x80000000 : rounded;
}
static u64 limited(s64 x, s64 lo, s64 hi) {
    return (u64)(x < lo ? lo : x > hi ? hi : x);
}
static u64 sext(u64 x, int bits) {
    return (u64)((s64)(x << (64 - bits)) >> (64 - bits));
}
static u64 brain(u64 x) { /* bfloat16 nearest even, through the two neighbours */
    if (isnan(f(x)))
        return 0x7fff;
    const u32 low = (u32)x & 0xffff0000u, rest = (u32)x & 0xffffu;
    return (low >> 16) + (rest > 0x8000 || (rest == 0x8000 && (low >> 16 & 1)));
}
static u64 down_to_half(u64 x) {
    const u64 near = half_from_float_bits((u32)x);
    if (isnan(f(x)) || isinf(f(x)))
        return near;
    if ((near & 0x7fff) == 0x7c00)
        return (near & 0x8000) | 0x7bff;
    return fabs(h(near)) > fabs((double)f(x)) ? near - 1 : near;
}

#define FLOAT_OPS(OP)                                                                                                  \
    OP(add, "add.f32", 'f', "ff", "", F((double)f(a) + f(b)))                                                          \
    OP(add_rn, "add.rn.f32", 'f', "ff", "", F((double)f(a) + f(b)))                                                    \
    OP(sub, "sub.rn.f32", 'f', "ff", "", F((double)f(a) - f(b)))                                                       \
    OP(mul, "mul.rn.f32", 'f', "ff", "", F((double)f(a) * f(b)))                                                       \
    OP(fma_rn, "fma.rn.f32", 'f', "fff", "", F(fmaf(f(a), f(b), f(c))))                                                \
    OP(add_ftz, "add.ftz.f32", 'f', "ff", "", flushed(F((double)f(flushed(a)) + f(flushed(b)))))                       \
    OP(sub_ftz, "sub.ftz.f32", 'f', "ff", "", flushed(F((double)f(flushed(a)) - f(flushed(b)))))                       \
    OP(mul_ftz, "mul.rn.ftz.f32", 'f', "ff", "", product_flushed(a, b, 'n'))                                           \
    OP(fma_ftz, "fma.rn.ftz.f32", 'f', "fff", "", fused_flushed(a, b, c, 'n'))                                         \
    OP(add_sat, "add.sat.f32", 'f', "ff", "", saturated(F((double)f(a) + f(b))))                                       \
    OP(mul_ftz_sat, "mul.ftz.sat.f32", 'f', "ff", "", saturated(product_flushed(a, b, 'n')))                           \
    OP(mul_rp_ftz, "mul.rp.ftz.f32", 'f', "ff", "", product_flushed(a, b, 'p'))                                        \
    OP(mul_rm_ftz_sat, "mul.rm.ftz.sat.f32", 'f', "ff", "", saturated(product_flushed(a, b, 'm')))                     \
    OP(mul_rz_ftz, "mul.rz.ftz.f32", 'f', "ff", "", product_flushed(a, b, 'z'))                                        \
    OP(fma_rm_ftz, "fma.rm.ftz.f32", 'f', "fff", "", fused_flushed(a, b, c, 'm'))                                      \
    OP(fma_rp_ftz, "fma.rp.ftz.f32", 'f', "fff", "", fused_flushed(a, b, c, 'p'))                                      \
    OP(fma_sat, "fma.rn.ftz.sat.f32", 'f', "fff", "", saturated(fused_flushed(a, b, c, 'n')))                          \
    OP(add_rm_ftz, "add.rm.ftz.f32", 'f', "ff", "", flushed(sum_directed(f(flushed(a)), f(flushed(b)), 'm')))          \
    OP(div_rm_ftz, "div.rm.ftz.f32", 'f', "ff", "", quotient_flushed(a, b, 'm'))                                       \
    OP(rcp_rp_ftz, "rcp.rp.ftz.f32", 'f', "f", "", quotient_flushed(0x3f800000, a, 'p'))                               \
    OP(add_rz, "add.rz.f32", 'f', "ff", "", sum_directed(f(a), f(b), 'z'))                                             \
    OP(add_rm, "add.rm.f32", 'f', "ff", "", sum_directed(f(a), f(b), 'm'))                                             \
    OP(sub_rp, "sub.rp.f32", 'f', "ff", "", sum_directed(f(a), -f(b), 'p'))                                            \
    OP(mul_rz, "mul.rz.f32", 'f', "ff", "", directed((double)f(a) * f(b), 0, 'z'))                                     \
    OP(mul_rp, "mul.rp.f32", 'f', "ff", "", directed((double)f(a) * f(b), 0, 'p'))                                     \
    OP(fma_rm, "fma.rm.f32", 'f', "fff", "", sum_directed((double)f(a) * f(b), f(c), 'm'))                             \
    OP(fma_rz, "fma.rz.f32", 'f', "fff", "", sum_directed((double)f(a) * f(b), f(c), 'z'))                             \
    OP(div, "div.rn.f32", 'f', "ff", "", F((double)f(a) / f(b)))                                                       \
    OP(div_rz, "div.rz.f32", 'f', "ff", "", quotient_directed(f(a), f(b), 'z'))                                        \
    OP(div_ftz, "div.rn.ftz.f32", 'f', "ff", "", quotient_flushed(a, b, 'n'))                                          \
    OP(rcp, "rcp.rn.f32", 'f', "f", "", F(1.0 / f(a)))                                                                 \
    OP(rcp_rp, "rcp.rp.f32", 'f', "f", "", quotient_directed(1.0, f(a), 'p'))                                          \
    OP(rcp_ftz, "rcp.rn.ftz.f32", 'f', "f", "", flushed(F(1.0 / f(flushed(a)))))                                       \
    OP(root, "sqrt.rn.f32", 'f', "f", "", F(sqrt(f(a))))                                                               \
    OP(root_rm, "sqrt.rm.f32", 'f', "f", "", root_directed(f(a), 'm'))                                                 \
    OP(min, "min.f32", 'f', "ff", "", F(lesser(f(a), f(b))))                                                           \
    OP(max, "max.f32", 'f', "ff", "", F(greater(f(a), f(b))))                                                          \
    OP(max_ftz, "max.ftz.f32", 'f', "ff", "", F(greater(f(flushed(a)), f(flushed(b)))))                                \
    OP(min_nan, "min.NaN.f32", 'f', "ff", "",                                                                          \
       isnan(f(a) + f(b)) && (isnan(f(a)) || isnan(f(b))) ? 0x7fffffff : F(lesser(f(a), f(b))))                        \
    OP(max_nan, "max.NaN.f32", 'f', "ff", "", isnan(f(a)) || isnan(f(b)) ? 0x7fffffff : F(greater(f(a), f(b))))        \
    OP(abs, "abs.f32", 'f', "f", "", isnan(f(a)) ? 0x7fffffff : a & 0x7fffffff)                                        \
    OP(neg, "neg.f32", 'f', "f", "", isnan(f(a)) ? 0x7fffffff : a ^ 0x80000000)                                        \
    OP(neg_ftz, "neg.ftz.f32", 'f', "f", "", isnan(f(a)) ? 0x7fffffff : flushed(a) ^ 0x80000000)                       \
    OP(copysign, "copysign.f32", 'f', "ff", "", (a & 0x80000000) | (b & 0x7fffffff))                                   \
    OP(slct_f32, "slct.f32.f32", 'f', "fff", "", f(c) >= 0 ? a : b)                                                    \
    OP(eq, "setp.eq.f32", 'p', "ff", "", f(a) == f(b))                                                                 \
    OP(ne, "setp.ne.f32", 'p', "ff", "", f(a) != f(b) && !isnan(f(a)) && !isnan(f(b)))                                 \
    OP(lt, "setp.lt.f32", 'p', "ff", "", f(a) < f(b))                                                                  \
    OP(le, "setp.le.f32", 'p', "ff", "", f(a) <= f(b))                                                                 \
    OP(gt, "setp.gt.f32", 'p', "ff", "", f(a) > f(b))                                                                  \
    OP(ge, "setp.ge.f32", 'p', "ff", "", f(a) >= f(b))                                                                 \
    OP(equ, "setp.equ.f32", 'p', "ff", "", f(a) == f(b) || isnan(f(a)) || isnan(f(b)))                                 \
    OP(neu, "setp.neu.f32", 'p', "ff", "", f(a) != f(b))                                                               \
    OP(ltu, "setp.ltu.f32", 'p', "ff", "", f(a) < f(b) || isnan(f(a)) || isnan(f(b)))                                  \
    OP(leu, "setp.leu.f32", 'p', "ff", "", f(a) <= f(b) || isnan(f(a)) || isnan(f(b)))                                 \
    OP(gtu, "setp.gtu.f32", 'p', "ff", "", f(a) > f(b) || isnan(f(a)) || isnan(f(b)))                                  \
    OP(geu, "setp.geu.f32", 'p', "ff", "", f(a) >= f(b) || isnan(f(a)) || isnan(f(b)))                                 \
    OP(num, "setp.num.f32", 'p', "ff", "", !isnan(f(a)) && !isnan(f(b)))                                               \
    OP(nan, "setp.nan.f32", 'p', "ff", "", isnan(f(a)) || isnan(f(b)))                                                 \
    OP(eq_ftz, "setp.eq.ftz.f32", 'p', "ff", "", f(flushed(a)) == f(flushed(b)))                                       \
    OP(add64, "add.f64", 'd', "dd", "", N(d(a) + d(b), b, a, a))                                                       \
    OP(sub64, "sub.rn.f64", 'd', "dd", "", N(d(a) - d(b), b, a, a))                                                    \
    OP(mul64, "mul.f64", 'd', "dd", "", N(d(a) * d(b), b, a, a))                                                       \
    OP(fma64, "fma.rn.f64", 'd', "ddd", "", N(fma(d(a), d(b), d(c)), b, c, a))                                         \
    OP(div64, "div.rn.f64", 'd', "dd", "", N(d(a) / d(b), a, b, b))                                                    \
    OP(rcp64, "rcp.rn.f64", 'd', "d", "", N(1 / d(a), a, a, a))                                                        \
    OP(root64, "sqrt.rn.f64", 'd', "d", "", N(sqrt(d(a)), a, a, a))                                                    \
    OP(min64, "min.f64", 'd', "dd", "", N(lesser(d(a), d(b)), b, a, a))                                                \
    OP(max64, "max.f64", 'd', "dd", "", N(greater(d(a), d(b)), b, a, a))                                               \
    OP(neg64, "neg.f64", 'd', "d", "", N(-d(a), a, a, a))                                                              \
    OP(abs64, "abs.f64", 'd', "d", "", N(fabs(d(a)), a, a, a))                                                         \
    OP(ltu64, "setp.ltu.f64", 'p', "dd", "", !(d(a) >= d(b)))                                                          \
    OP(ge64, "setp.ge.f64", 'p', "dd", "", d(a) >= d(b))

#define HALF_OPS(OP)                                                                                                   \
    OP(add16, "add.f16", 'h', "hh", "", half_sum(a, b))                                                                \
    OP(sub16, "sub.f16", 'h', "hh", "", half_sum(a, isnan(h(b)) ? b : b ^ 0x8000))                                     \
    OP(mul16, "mul.rn.f16", 'h', "hh", "", half_product(a, b))                                                         \
    OP(fma16, "fma.rn.f16", 'h', "hhh", "", half_fused(a, b, c))                                                       \
    OP(min16, "min.f16", 'h', "hh", "", half_kept(lesser(h(a), h(b)), 0))                                              \
    OP(max16, "max.f16", 'h', "hh", "", half_kept(greater(h(a), h(b)), 0))                                             \
    OP(neg16, "neg.f16", 'h', "h", "", isnan(h(a)) ? 0x7fff : a ^ 0x8000)                                              \
    OP(abs16, "abs.f16", 'h', "h", "", isnan(h(a)) ? 0x7fff : a & 0x7fff)                                              \
    OP(add16x2, "add.f16x2", 'r', "rr", "", both(half_sum, a, b))                                                      \
    OP(mul16x2, "mul.f16x2", 'r', "rr", "", both(half_product, a, b))                                                  \
    OP(fma16x2, "fma.rn.f16x2", 'r', "rrr", "",                                                                        \
       half_fused(a & 0xffff, b & 0xffff, c & 0xffff) | half_fused(a >> 16, b >> 16, c >> 16) << 16)                   \
    OP(lt16, "setp.lt.f16", 'p', "hh", "", h(a) < h(b))

#define CONVERSIONS(OP)                                                                                                \
    OP(u32_u8, "cvt.u32.u8", 'r', "r", "", a & 255)                                                                    \
    OP(u32_u8h, "cvt.u32.u8", 'r', "h", "", a & 255)                                                                   \
    OP(s32_s8, "cvt.s32.s8", 'r', "r", "", sext(a, 8))                                                                 \
    OP(s32_s16, "cvt.s32.s16", 'r', "h", "", sext(a, 16))                                                              \
    OP(u32_u16, "cvt.u32.u16", 'r', "h", "", a & 0xffff)                                                               \
    OP(u16_u32, "cvt.u16.u32", 'h', "r", "", a)                                                                        \
    OP(s16_s8, "cvt.s16.s8", 'h', "h", "", sext(a, 8))                                                                 \
    OP(u16_u8, "cvt.u16.u8", 'h', "r", "", a & 255)                                                                    \
    OP(s8_s32, "cvt.s8.s32", 'r', "r", "", sext(a, 8))                                                                 \
    OP(u8_s32, "cvt.u8.s32", 'r', "r", "", a & 255)                                                                    \
    OP(s8_h, "cvt.s8.s32", 'h', "r", "", sext(a, 8))                                                                   \
    OP(s16_r, "cvt.s16.s32", 'r', "r", "", sext(a, 16))                                                                \
    OP(s64_s32, "cvt.s64.s32", 'l', "r", "", sext(a, 32))                                                              \
    OP(u64_u32, "cvt.u64.u32", 'l', "r", "", a)                                                                        \
    OP(s64_s16, "cvt.s64.s16", 'l', "h", "", sext(a, 16))                                                              \
    OP(s64_s8, "cvt.s64.s8", 'l', "r", "", sext(a, 8))                                                                 \
    OP(u32_u64, "cvt.u32.u64", 'r', "l", "", a)                                                                        \
    OP(u16_u64, "cvt.u16.u64", 'h', "l", "", a)                                                                        \
    OP(s32_s64, "cvt.s32.s64", 'r', "l", "", a)                                                                        \
    OP(s64_s8l, "cvt.s64.s8", 'l', "l", "", sext(a, 8))                                                                \
    OP(s8_l, "cvt.s8.s64", 'l', "l", "", sext(a, 8))                                                                   \
    OP(sat_s8, "cvt.sat.s8.s32", 'r', "r", "", limited((s32)a, -128, 127))                                             \
    OP(sat_u8, "cvt.sat.u8.s32", 'r', "r", "", limited((s32)a, 0, 255))                                                \
    OP(sat_u16, "cvt.sat.u16.s32", 'h', "r", "", limited((s32)a, 0, 65535))                                            \
    OP(sat_s32, "cvt.sat.s32.u32", 'r', "r", "", limited((s64)a, 0, INT32_MAX))                                        \
    OP(sat_s32_l, "cvt.sat.s32.s64", 'r', "l", "", limited((s64)a, INT32_MIN, INT32_MAX))                              \
    OP(sat_u64, "cvt.sat.u64.s64", 'l', "l", "", (s64)a < 0 ? 0 : a)                                                   \
    OP(rni_s32, "cvt.rni.s32.f32", 'r', "f", "", to_int(f(a), 'n', INT32_MIN, INT32_MAX, 0))                           \
    OP(rzi_s32, "cvt.rzi.s32.f32", 'r', "f", "", to_int(f(a), 'z', INT32_MIN, INT32_MAX, 0))                           \
    OP(rmi_s32, "cvt.rmi.s32.f32", 'r', "f", "", to_int(f(a), 'm', INT32_MIN, INT32_MAX, 0))                           \
    OP(rpi_ftz, "cvt.rpi.ftz.s32.f32", 'r', "f", "", to_int(f(flushed(a)), 'p', INT32_MIN, INT32_MAX, 0))              \
    OP(rni_u32, "cvt.rni.u32.f32", 'r', "f", "", to_int(f(a), 'n', 0, UINT32_MAX, 0))                                  \
    OP(rzi_u8, "cvt.rzi.u8.f32", 'r', "f", "", to_int(f(a), 'z', 0, 255, 0))                                           \
    OP(rni_s8, "cvt.rni.s8.f32", 'r', "f", "", to_int(f(a), 'n', -128, 127, 0))                                        \
    OP(rzi_s16, "cvt.rzi.s16.f32", 'h', "f", "", to_int(f(a), 'z', -32768, 32767, 0))                                  \
    OP(rzi_s64, "cvt.rzi.s64.f32", 'l', "f", "", to_s64(f(a), 'z'))                                                    \
    OP(rni_u64, "cvt.rni.u64.f32", 'l', "f", "", to_u64(f(a), 'n'))                                                    \
    OP(rni_s32_h, "cvt.rni.s32.f16", 'r', "h", "", to_int(h(a), 'n', INT32_MIN, INT32_MAX, 0))                         \
    OP(rzi_s32_d, "cvt.rzi.s32.f64", 'r', "d", "", to_int(d(a), 'z', INT32_MIN, INT32_MAX, 0x80000000))                \
    OP(rni_u32_d, "cvt.rni.u32.f64", 'r', "d", "", isnan(d(a)) ? 0x80000000 : to_int(d(a), 'n', 0, UINT32_MAX, 0))     \
    OP(rzi_s64_d, "cvt.rzi.s64.f64", 'l', "d", "", to_s64(d(a), 'z'))                                                  \
    OP(rpi_u64_d, "cvt.rpi.u64.f64", 'l', "d", "", to_u64(d(a), 'p'))                                                  \
    OP(f32_s32, "cvt.rn.f32.s32", 'f', "r", "", F((s32)a))                                                             \
    OP(f32_u32, "cvt.rn.f32.u32", 'f', "r", "", F((u32)a))                                                             \
    OP(f32_s32_rz, "cvt.rz.f32.s32", 'f', "r", "", directed((s32)a, 0, 'z'))                                           \
    OP(f32_u32_rp, "cvt.rp.f32.u32", 'f', "r", "", directed((u32)a, 0, 'p'))                                           \
    OP(f32_s64, "cvt.rn.f32.s64", 'f', "l", "", float_bits((float)(s64)a))                                             \
    OP(f32_u64, "cvt.rn.f32.u64", 'f', "l", "", float_bits((float)a))                                                  \
    OP(f32_u8, "cvt.rn.f32.u8", 'f', "h", "", F(a & 255))                                                              \
    OP(f32_s16, "cvt.rn.f32.s16", 'f', "h", "", F((int16_t)a))                                                         \
    OP(f64_s32, "cvt.rn.f64.s32", 'd', "r", "", D((s32)a))                                                             \
    OP(f64_u64, "cvt.rn.f64.u64", 'd', "l", "", D((double)a))                                                          \
    OP(f16_s8, "cvt.rn.f16.s8", 'h', "r", "", H((int8_t)a))                                                            \
    OP(f16_u16, "cvt.rn.f16.u16", 'h', "h", "", H(a & 0xffff))                                                         \
    OP(rni_f, "cvt.rni.f32.f32", 'f', "f", "", isfinite(f(a)) ? keep_sign(F(whole(f(a), 'n')), a) : F(f(a)))           \
    OP(rzi_f, "cvt.rzi.f32.f32", 'f', "f", "", isfinite(f(a)) ? keep_sign(F(whole(f(a), 'z')), a) : F(f(a)))           \
    OP(rmi_f, "cvt.rmi.f32.f32", 'f', "f", "", isfinite(f(a)) ? keep_sign(F(whole(f(a), 'm')), a) : F(f(a)))           \
    OP(sat_f, "cvt.sat.f32.f32", 'f', "f", "", saturated(a))                                                           \
    OP(f64_f32, "cvt.f64.f32", 'd', "f", "", isnan(f(a)) ? widened(a >> 31, a & 0x3fffff, 29) : D(f(a)))               \
    OP(f32_f64, "cvt.rn.f32.f64", 'f', "d", "", narrowed(a, F(d(a))))                                                  \
    OP(f32_f64_rz, "cvt.rz.f32.f64", 'f', "d", "", narrowed(a, directed(d(a), 0, 'z')))                                \
    OP(f32_f64_rm, "cvt.rm.f32.f64", 'f', "d", "", narrowed(a, directed(d(a), 0, 'm')))                                \
    OP(f64_f32_ftz, "cvt.ftz.f64.f32", 'd', "f", "", isnan(f(a)) ? 0x7fffffffe0000000 : D(f(flushed(a))))              \
    OP(f32_ftz, "cvt.ftz.f32.f32", 'f', "f", "", isnan(f(a)) ? 0x7fffffff : flushed(a))                                \
    OP(f32_same, "cvt.f32.f32", 'f', "f", "", a)                                                                       \
    OP(f32_f64_ftz, "cvt.rn.ftz.f32.f64", 'f', "d", "", narrowed_flushed(a, 'n'))                                      \
    OP(f32_f64_rp_ftz, "cvt.rp.ftz.f32.f64", 'f', "d", "", narrowed_flushed(a, 'p'))                                   \
    OP(f32_f64_sat, "cvt.rm.ftz.sat.f32.f64", 'f', "d", "", saturated(narrowed_flushed(a, 'm')))                       \
    OP(rpi_d, "cvt.rpi.f64.f64", 'd', "d", "", N(ceil(d(a)), a, a, a))                                                 \
    OP(f64_f16, "cvt.f64.f16", 'd', "h", "", isnan(h(a)) ? widened(a >> 15, a & 0x1ff, 42) : D(h(a)))                  \
    OP(f64_bf16, "cvt.f64.bf16", 'd', "h", "", isnan(f(a << 16)) ? widened(a >> 15, a & 0x3f, 45) : D(f(a << 16)))     \
    OP(f32_f16, "cvt.f32.f16", 'f', "h", "", half_to_float_bits((uint16_t)a))                                          \
    OP(f16_f32, "cvt.rn.f16.f32", 'h', "f", "", isnan(f(a)) ? 0x7fff : signed_zero(H(f(a)), signbit(f(a))))            \
    OP(f16_f32_rz, "cvt.rz.f16.f32", 'h', "f", "", down_to_half(a))                                                    \
    OP(f16x2, "cvt.rn.f16x2.f32", 'r', "ff", "",                                                                       \
       (u64)half_from_float_bits((u32)a) << 16 | half_from_float_bits((u32)b))                                         \
    OP(bf16, "cvt.rn.bf16.f32", 'h', "f", "", brain(a))                                                                \
    OP(bf16x2, "cvt.rn.bf16x2.f32", 'r', "ff", "", brain(a) << 16 | brain(b))                                          \
    OP(f32_bf16, "cvt.f32.bf16", 'f', "h", "", a << 16)

#define FUNCTION(name, text, dst, sources, tail, expr)                                                                 \
    static u64 value_##name(u64 a, u64 b, u64 c) {                                                                     \
        (void)a, (void)b, (void)c;                                                                                     \
        return (u64)(expr);                                                                                            \
    }
#define ROW(name, text, dst, sources, tail, expr) {text, dst, sources, tail, value_##name},

FLOAT_OPS(FUNCTION)
HALF_OPS(FUNCTION)
CONVERSIONS(FUNCTION)

Test(machine_float, arithmetic) {
    static const struct machine_op ops[] = {FLOAT_OPS(ROW)};
    machine_check_ops(ops, sizeof ops / sizeof *ops);
}

Test(machine_float, halves) {
    static const struct machine_op ops[] = {HALF_OPS(ROW)};
    machine_check_ops(ops, sizeof ops / sizeof *ops);
}

Test(machine_float, conversions) {
    static const struct machine_op ops[] = {CONVERSIONS(ROW)};
    machine_check_ops(ops, sizeof ops / sizeof *ops);
}

/* Wrong in a NaN, a signed zero, a subnormal, a tie. */
static u64 nan_passes(u64 a, u64 b, u64 c) {
    (void)c;
    return float_bits(f(a) + f(b));
}
static u64 zeros_alike(u64 a, u64 b, u64 c) {
    (void)c;
    return f(a) < f(b) ? a : b;
}
static u64 ties_away(u64 a, u64 b, u64 c) {
    (void)b, (void)c;
    const double x = f(a) < 0 ? ceil(f(a) - 0.5) : floor(f(a) + 0.5);
    return to_int(x, 'z', INT32_MIN, INT32_MAX, 0);
}
static u64 flushed_late(u64 a, u64 b, u64 c) {
    (void)c;
    return flushed(F((double)f(flushed(a)) * f(flushed(b))));
}
static u64 flushed_exact(u64 a, u64 b, u64 c) {
    (void)c;
    return fabs((double)f(flushed(a)) * f(flushed(b))) < 0x1p-126 ? (a ^ b) & 0x80000000 : value_mul_ftz(a, b, c);
}
static u64 first_nan(u64 a, u64 b, u64 c) {
    (void)c;
    return N(d(a) + d(b), a, b, b);
}
Test(machine_float, sees_a_wrong_value) {
    static const struct machine_op wrong[] = {
        {"add.f32", 'f', "ff", "", nan_passes},           {"min.f32", 'f', "ff", "", zeros_alike},
        {"mul.f32", 'f', "ff", "", value_mul_ftz},        {"mul.rn.ftz.f32", 'f', "ff", "", flushed_late},
        {"mul.rn.ftz.f32", 'f', "ff", "", flushed_exact}, {"add.f64", 'd', "dd", "", first_nan},
        {"cvt.rni.s32.f32", 'r', "f", "", ties_away},     {"setp.ne.f32", 'p', "ff", "", value_neu},
        {"add.rz.f32", 'f', "ff", "", value_add},         {"cvt.rn.f16.f32", 'h', "f", "", value_f16_f32_rz}};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; ++k) {
        char why[400];
        cr_assert(!machine_agrees(&wrong[k], 1234 + k, why, sizeof why), "a wrong %s passes", wrong[k].instruction);
    }
}
