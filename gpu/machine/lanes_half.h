/* binary16 and bfloat16 of one lane, for the loops of lanes.isa.c, which includes this after its own helpers. Results
 * are rounded once, to nearest even, subnormals kept; every NaN result is 0x7fff (facts/ptx.md F-7). No branches: the
 * loops are to become vector code. */
#ifndef GPU_MACHINE_LANES_HALF_H
#define GPU_MACHINE_LANES_HALF_H

#define LOW(x)  ((uint16_t)(x))
#define HIGH(x) ((uint16_t)((x) >> 16))

static inline uint32_t half_pair(uint32_t low, uint32_t high) {
    return low | high << 16;
}

/* a or b; both are computed, where ?: may become a branch that keeps a loop with float operations from being vector
 * code. */
static inline uint32_t choose(uint32_t condition, uint32_t a, uint32_t b) {
    const uint32_t mask = 0 - (uint32_t)(condition != 0);
    return (a & mask) | (b & ~mask);
}

/* --- binary16 --- */

/* A scale by 2^112 moves the exponent of a half, widened in place, to that of a float, exactly. */
static inline float half_value(uint16_t h) {
    const uint32_t magnitude = (uint32_t)(h & 0x7fff) << 13, sign = (uint32_t)(h & 0x8000) << 16;
    const uint32_t finite = float_bits(bits_float(magnitude) * 0x1p112f) | sign;
    const uint32_t special = (h & 0x3ff) ? 0x7fffffffu : 0x7f800000u | sign;
    return bits_float(choose((h & 0x7c00) == 0x7c00, special, finite));
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
    const uint32_t finite = choose(magnitude < 0x38800000u, small, normal);
    const uint32_t h = choose(magnitude >= 0x477ff000u, 0x7c00u, finite);
    return (uint16_t)choose(magnitude > 0x7f800000u, 0x7fffu, h | sign);
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
/* The product of halves is exact in f32. The sum is rounded to odd there (of an inexact one the neighbour with an odd
 * last bit), so that the rounding to 11 bits sees on which side of a tie the exact value lies. Finite sums stay below
 * 2^33. */
static inline uint32_t half_fma_odd(uint16_t a, uint16_t b, uint16_t c) {
    const float p = half_value(a) * half_value(b), q = half_value(c), sum = p + q, part = sum - p;
    const float rest = (p - (sum - part)) + (q - part);
    const uint32_t u = float_bits(sum), step = 1 - ((float_bits(rest) ^ u) >> 31) * 2;
    const uint32_t finite = (u & 0x7fffffffu) < 0x53800000u, inexact = float_bits(rest) << 1;
    return u + choose(finite & (inexact != 0) & ~u, step, 0);
}
static inline uint16_t half_fma(uint16_t a, uint16_t b, uint16_t c) {
    return half_nearest_bits(half_fma_odd(a, b, c));
}
/* .ftz: as with f32, what is below 2^-14 when rounded to 11 bits is flushed, and that is all below 2^-14 - 2^-26, also
 * what would become 2^-14 when rounded to the steps of subnormal halves (measured). f: exact, or rounded to odd. */
static inline uint16_t half_flushed(uint32_t f) {
    const uint32_t below = (f & 0x7fffffffu) < 0x387ff000u;
    return (uint16_t)choose(below, f >> 16 & 0x8000u, half_nearest_bits(f));
}
static inline uint16_t half_mul_ftz(uint16_t a, uint16_t b) {
    return half_flushed(float_bits(half_value(a) * half_value(b)));
}
static inline uint16_t half_fma_ftz(uint16_t a, uint16_t b, uint16_t c) {
    return half_flushed(half_fma_odd(a, b, c));
}
/* By the order of sign and magnitude, in which -0 is below +0; a NaN gives way. */
static inline int32_t half_order(uint16_t h) {
    return (int16_t)h ^ ((int16_t)h >> 15 & 0x7fff);
}
static inline uint16_t lesser_half(uint16_t a, uint16_t b, uint32_t infinity) {
    const uint16_t x = half_order(a) < half_order(b) ? a : b;
    const uint16_t y = (a & 0x7fffu) > infinity ? b : (b & 0x7fffu) > infinity ? a : x;
    return (y & 0x7fffu) > infinity ? 0x7fff : y;
}
static inline uint16_t greater_half(uint16_t a, uint16_t b, uint32_t infinity) {
    const uint16_t x = half_order(a) > half_order(b) ? a : b;
    const uint16_t y = (a & 0x7fffu) > infinity ? b : (b & 0x7fffu) > infinity ? a : x;
    return (y & 0x7fffu) > infinity ? 0x7fff : y;
}
static inline int either_nan(uint16_t a, uint16_t b, uint32_t infinity) {
    return ((a & 0x7fffu) > infinity) | ((b & 0x7fffu) > infinity);
}
static inline uint16_t half_min(uint16_t a, uint16_t b) {
    return lesser_half(a, b, 0x7c00);
}
static inline uint16_t half_max(uint16_t a, uint16_t b) {
    return greater_half(a, b, 0x7c00);
}
static inline uint16_t half_min_nan(uint16_t a, uint16_t b) {
    return either_nan(a, b, 0x7c00) ? 0x7fff : half_min(a, b);
}
static inline uint16_t half_max_nan(uint16_t a, uint16_t b) {
    return either_nan(a, b, 0x7c00) ? 0x7fff : half_max(a, b);
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
/* The product is exact in double, which has room for every exponent too; the sum is rounded to odd there, and once more
 * to f32. */
static inline uint16_t brain_fma(uint16_t a, uint16_t b, uint16_t c) {
    const double p = (double)brain_value(a) * brain_value(b), q = brain_value(c), sum = p + q, part = sum - p;
    const double rest = (p - (sum - part)) + (q - part);
    const uint64_t u = to_bits64(sum), step = ((to_bits64(rest) ^ u) >> 63) ? UINT64_MAX : 1;
    const uint64_t finite = (u & INT64_MAX) < (uint64_t)0x7e7 << 52, inexact = to_bits64(rest) << 1;
    const uint64_t odd = u & 1 ? u : finite && inexact ? u + step : u;
    const float near = (float)from_bits64(odd);
    const uint64_t again = to_bits64((double)near);
    const uint32_t v = float_bits(near), away = (again & INT64_MAX) > (odd & INT64_MAX);
    return brain_nearest(again == odd || !finite ? v : (v - away) | 1); /* toward zero first, then odd */
}
static inline uint16_t brain_min(uint16_t a, uint16_t b) {
    return lesser_half(a, b, 0x7f80);
}
static inline uint16_t brain_max(uint16_t a, uint16_t b) {
    return greater_half(a, b, 0x7f80);
}
static inline uint16_t brain_min_nan(uint16_t a, uint16_t b) {
    return either_nan(a, b, 0x7f80) ? 0x7fff : brain_min(a, b);
}
static inline uint16_t brain_max_nan(uint16_t a, uint16_t b) {
    return either_nan(a, b, 0x7f80) ? 0x7fff : brain_max(a, b);
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
