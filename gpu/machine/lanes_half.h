/* binary16 and bfloat16 of one lane, for the loops of lanes.isa.c, which includes this after its own helpers. Results are
 * rounded once, to nearest even, subnormals kept; every NaN result is 0x7fff (facts/ptx.md F-7). No branches: the loops
 * are to become vector code. */
#ifndef GPU_MACHINE_LANES_HALF_H
#define GPU_MACHINE_LANES_HALF_H

#define LOW(x)  ((uint16_t)(x))
#define HIGH(x) ((uint16_t)((x) >> 16))

static inline uint32_t half_pair(uint32_t low, uint32_t high) {
    return low | high << 16;
}

/* --- binary16 --- */

/* A scale by 2^112 moves the exponent of a half, widened in place, to that of a float, exactly. */
static inline float half_value(uint16_t h) {
    const uint32_t magnitude = (uint32_t)(h & 0x7fff) << 13, sign = (uint32_t)(h & 0x8000) << 16;
    const uint32_t finite = float_bits(bits_float(magnitude) * 0x1p112f) | sign;
    const uint32_t special = (h & 0x3ff) ? 0x7fffffffu : 0x7f800000u | sign;
    return bits_float((h & 0x7c00) == 0x7c00 ? special : finite);
}
/* Widened with the payload of a NaN kept, as binary64 does. */
static inline double half_to_double(uint16_t h) {
    const uint64_t nan = (uint64_t)(h & 0x8000) << 48 | (uint64_t)0x7ff8 << 48 | (uint64_t)(h & 0x1ff) << 42;
    return (h & 0x7fff) > 0x7c00 ? from_bits64(nan) : (double)half_value(h);
}
/* The half next to a float. Below 2^-14 the sum with 1/2 has steps of 2^-24, those of the subnormal halves. */
static inline uint16_t half_nearest_bits(uint32_t f) {
    const uint32_t magnitude = f & 0x7fffffffu, sign = f >> 16 & 0x8000u;
    const uint32_t normal = (magnitude + 0xfffu + (magnitude >> 13 & 1) - (112u << 23)) >> 13;
    const uint32_t small = float_bits(bits_float(magnitude) + 0.5f) - 0x3f000000u;
    uint32_t h = magnitude < 0x38800000u ? small : normal;
    h = magnitude >= 0x477ff000u ? 0x7c00u : h;
    return (uint16_t)(magnitude > 0x7f800000u ? 0x7fffu : h | sign);
}
static inline uint16_t half_nearest(float x) {
    return half_nearest_bits(float_bits(x));
}
static inline uint16_t half_canonical(uint32_t h) {
    return (h & 0x7fff) > 0x7c00 ? 0x7fff : (uint16_t)h;
}
/* Sum, difference and product of halves in f32, then to half: 24 >= 2 * 11 + 2, so the second rounding does no harm. */
static inline uint16_t half_add(uint16_t a, uint16_t b) {
    return half_nearest(half_value(a) + half_value(b));
}
static inline uint16_t half_sub(uint16_t a, uint16_t b) {
    return half_nearest(half_value(a) - half_value(b));
}
static inline uint16_t half_mul(uint16_t a, uint16_t b) {
    return half_nearest(half_value(a) * half_value(b));
}
/* a * b + c as a float whose last bit is odd unless the value is exact: rounded from there to 22 bits or fewer it is
 * rounded once. The product MUST be exact in double, as those of halves and bfloat16 are. */
static inline float fma_to_odd(float a, float b, float c) {
    const double p = (double)a * b, q = c, sum = p + q, part = sum - p, rest = (p - (sum - part)) + (q - part);
    const uint64_t bits = to_bits64(sum);
    const uint64_t step = (rest > 0) == (sum > 0) ? 1 : (uint64_t)-1;
    const int finite = __builtin_fabs(sum) < 0x1p1000;
    const double odd = from_bits64(bits + (finite && rest != 0 && !(bits & 1) ? step : 0));
    const float f = (float)odd; /* toward zero first, then odd */
    const uint32_t u = float_bits(f) - (__builtin_fabs((double)f) > __builtin_fabs(odd));
    return finite && (double)f != odd ? bits_float(u | 1) : f;
}
static inline uint16_t half_fma(uint16_t a, uint16_t b, uint16_t c) {
    return half_nearest(fma_to_odd(half_value(a), half_value(b), half_value(c)));
}
static inline uint16_t half_min(uint16_t a, uint16_t b) {
    return half_nearest(smaller32(half_value(a), half_value(b)));
}
static inline uint16_t half_max(uint16_t a, uint16_t b) {
    return half_nearest(larger32(half_value(a), half_value(b)));
}
static inline int either_nan(float a, float b) {
    return a != a || b != b;
}
static inline uint16_t half_min_nan(uint16_t a, uint16_t b) {
    return either_nan(half_value(a), half_value(b)) ? 0x7fff : half_min(a, b);
}
static inline uint16_t half_max_nan(uint16_t a, uint16_t b) {
    return either_nan(half_value(a), half_value(b)) ? 0x7fff : half_max(a, b);
}
static inline uint16_t half_flush(uint16_t h) { /* .ftz */
    return h & 0x7c00 ? h : h & 0x8000;
}
static inline uint16_t half_sat(uint16_t h) { /* 0 .. 1, a NaN gives +0 */
    return h > 0x7c00 ? 0 : h > 0x3c00 ? 0x3c00 : h;
}
static inline uint16_t half_relu(uint16_t h) { /* 0 or more, a NaN stays one */
    return (h & 0x7fff) > 0x7c00 ? 0x7fff : h & 0x8000 ? 0 : h;
}
/* .xorsign.abs: a magnitude gets the sign of a, xor that of b; a NaN stays. */
static inline uint16_t half_xorsign(uint16_t magnitude, uint16_t a, uint16_t b) {
    return (magnitude & 0x7fff) > 0x7c00 ? 0x7fff : (uint16_t)(magnitude | ((a ^ b) & 0x8000));
}

/* --- bfloat16: the upper half of a float --- */

static inline float brain_value(uint16_t h) {
    return bits_float((uint32_t)h << 16);
}
static inline uint16_t brain_nearest(uint32_t f) {
    return (f & 0x7fffffffu) > 0x7f800000u ? 0x7fff : (uint16_t)((f + 0x7fffu + (f >> 16 & 1)) >> 16);
}
static inline uint16_t brain_canonical(uint32_t h) {
    return (h & 0x7fff) > 0x7f80 ? 0x7fff : (uint16_t)h;
}
/* As of halves: 24 >= 2 * 8 + 2; products so small that f32 would cut them have at most 16 bits, which it keeps. */
static inline uint16_t brain_add(uint16_t a, uint16_t b) {
    return brain_nearest(float_bits(brain_value(a) + brain_value(b)));
}
static inline uint16_t brain_sub(uint16_t a, uint16_t b) {
    return brain_nearest(float_bits(brain_value(a) - brain_value(b)));
}
static inline uint16_t brain_mul(uint16_t a, uint16_t b) {
    return brain_nearest(float_bits(brain_value(a) * brain_value(b)));
}
static inline uint16_t brain_fma(uint16_t a, uint16_t b, uint16_t c) {
    return brain_nearest(float_bits(fma_to_odd(brain_value(a), brain_value(b), brain_value(c))));
}
static inline uint16_t brain_min(uint16_t a, uint16_t b) {
    return brain_nearest(float_bits(smaller32(brain_value(a), brain_value(b))));
}
static inline uint16_t brain_max(uint16_t a, uint16_t b) {
    return brain_nearest(float_bits(larger32(brain_value(a), brain_value(b))));
}
static inline uint16_t brain_min_nan(uint16_t a, uint16_t b) {
    return either_nan(brain_value(a), brain_value(b)) ? 0x7fff : brain_min(a, b);
}
static inline uint16_t brain_max_nan(uint16_t a, uint16_t b) {
    return either_nan(brain_value(a), brain_value(b)) ? 0x7fff : brain_max(a, b);
}
static inline uint16_t brain_relu(uint16_t h) {
    return (h & 0x7fff) > 0x7f80 ? 0x7fff : h & 0x8000 ? 0 : h;
}
static inline uint16_t brain_xorsign(uint16_t magnitude, uint16_t a, uint16_t b) {
    return (magnitude & 0x7fff) > 0x7f80 ? 0x7fff : (uint16_t)(magnitude | ((a ^ b) & 0x8000));
}

/* An operation of two halves of a register. */
#define PAIR1(f, a)       half_pair(f(LOW(a)), f(HIGH(a)))
#define PAIR2(f, a, b)    half_pair(f(LOW(a), LOW(b)), f(HIGH(a), HIGH(b)))
#define PAIR3(f, a, b, c) half_pair(f(LOW(a), LOW(b), LOW(c)), f(HIGH(a), HIGH(b), HIGH(c)))

#endif
