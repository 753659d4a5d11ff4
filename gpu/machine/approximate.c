/* Approximate functions. sm_90 computes them in a unit of its own, around which ptxas puts a few exact operations;
 * those are the ones below. Of the unit the reciprocal is known bit for bit (ref/rcp_approx.h), so `rcp`, `div.approx`
 * and `div.full` of f32 are exact, and so are the functions of 16-bit numbers, as whole tables (ref/half_functions.h).
 * Of the others the special values are right (measured on an H200), and the last bits, for which there is an event, are
 * not: the function is computed in double and rounded to nearest. Source: PTX ISA 9.7.3.8, .13 .. .22, 9.7.4.8 to .10;
 * facts/ptx.md F-6. */
#include "../../ref/half_functions.h"
#include "../../ref/rcp_approx.h"
#include "float.h"
#include "nan.h"
#include <math.h>

static const float least_normal = 0x1p-126f, most_divisor = 0x1p126f;

/* --- the unit: operands and results that are subnormal are zeros of their sign --- */

static float unit(enum approximate what, float a) {
    const float x = what == APPROXIMATE_TANH ? a : ftz(a); /* tanh keeps subnormal numbers */
    switch (what) {
    case APPROXIMATE_RSQRT:
        return ftz((float)(1.0 / sqrt((double)x)));
    case APPROXIMATE_SQRT:
        return ftz((float)sqrt((double)x));
    case APPROXIMATE_EX2:
        return ftz((float)exp2((double)x));
    case APPROXIMATE_LG2:
        return ftz((float)log2((double)x));
    case APPROXIMATE_TANH:
        return nan32((float)tanh((double)x));
    default:
        return rcp_approx_ftz(x);
    }
}

static float product(float a, float b, bool flush) {
    return flush ? ftz_mul(a, b) : nan32(a * b);
}

/* --- f32 --- */

static float reciprocal(float a, bool flush) {
    if (flush)
        return unit(APPROXIMATE_RCP, a);
    const float size = fabsf(a), scale = size > most_divisor ? 0.25f : size < least_normal ? 0x1p24f : 1.0f;
    return nan32(unit(APPROXIMATE_RCP, a * scale) * scale);
}

/* div.approx: 0 past 2^126, where the reciprocal is subnormal; div.full divides both operands by 4 there. */
static float quotient(float a, float b, bool full, bool flush) {
    const float size = fabsf(flush ? ftz(b) : b);
    if (full && size > most_divisor) {
        a = product(a, 0.25f, flush);
        b = product(b, 0.25f, flush);
    }
    if (!flush && size < least_normal) {
        a *= 0x1p24f;
        b *= 0x1p24f;
    }
    return product(a, unit(APPROXIMATE_RCP, b), flush);
}

/* The sine of so many quarter turns, 0 or more; zeros have the sign that the unit gives them. */
static double sine_of_quarters(double quarters) {
    const double half_pi = 1.57079632679489661923, whole = rint(quarters), rest = (quarters - whole) * half_pi;
    const int quadrant = (int)fmod(whole, 4);
    const double value = quadrant & 1 ? cos(rest) : sin(rest);
    return quadrant & 2 ? -value : value;
}

/* x in turns, cut to 24 bits; the unit knows the whole turns away. */
static float circular(float x, bool cosine, bool flush) {
    const double exact = (double)(flush ? ftz(x) : x) * 0.15915493667125701904296875;
    if (!isfinite(exact))
        return bits_float(0x7fffffffu);
    float turns = (float)exact;
    if (fabs((double)turns) > fabs(exact))
        turns = nextafterf(turns, 0);
    const double quarters = 4 * fmod(fabs((double)ftz(turns)), 1.0);
    const float y = ftz((float)sine_of_quarters(cosine ? quarters + 1 : quarters));
    return !cosine && signbit(turns) ? -y : y;
}

/* Without .ftz a subnormal operand is scaled, and the result brought back. */
static float function(enum approximate what, float a, bool flush) {
    const bool small = !flush && fabsf(a) < least_normal;
    const float x = small ? a * 0x1p24f : a;
    switch (what) {
    case APPROXIMATE_RCP:
        return reciprocal(a, flush);
    case APPROXIMATE_RSQRT:
        return small ? unit(what, x) * 0x1p12f : unit(what, x);
    case APPROXIMATE_SQRT:
        return small ? unit(what, x) * 0x1p-12f : unit(what, x);
    case APPROXIMATE_LG2:
        return small ? unit(what, x) - 24.0f : unit(what, x);
    case APPROXIMATE_EX2: {
        const bool low = !flush && a < -126.0f;
        const float y = unit(what, low ? a * 0.5f : a);
        return low ? nan32(y * y) : y;
    }
    case APPROXIMATE_SIN:
    case APPROXIMATE_COS:
        return circular(a, what == APPROXIMATE_COS, flush);
    default:
        return unit(what, a);
    }
}

/* --- halves and f64 --- */

static uint32_t brain_of(float x) {
    const uint32_t u = float_bits(x);
    return x == x ? (u + 0x7fff + (u >> 16 & 1)) >> 16 : 0x7fff;
}

/* Computed in double, rounded to f32 and then to the half: within its last place all the same. */
static uint32_t about(enum approximate what, uint32_t h, bool brain) {
    const float a = brain ? bits_float(h << 16) : half_to_float((uint16_t)h);
    const bool flush = brain && what == APPROXIMATE_EX2;
    const double x = flush ? ftz(a) : a;
    const float y = (float)(what == APPROXIMATE_TANH ? tanh(x) : exp2(x));
    return brain ? brain_of(flush ? ftz(y) : y) : half_from_float(y);
}

static uint32_t of_half(int64_t imm, uint32_t h) {
    const bool brain = imm & APPROXIMATE_BF16;
    const enum approximate what = (enum approximate)(imm & 255);
    if (!(imm & APPROXIMATE_EXACT))
        return about(what, h, brain);
    return half_function(what == APPROXIMATE_EX2 ? (brain ? HALF_EX2_BF16 : HALF_EX2_F16)
                                                 : (brain ? HALF_TANH_BF16 : HALF_TANH_F16),
                         (uint16_t)h);
}

static double flush64(double x) {
    return fabs(x) < 0x1p-1022 ? copysign(0, x) : x;
}
static double upper_word(double x) {
    return from_bits64(to_bits64(x) & (uint64_t)UINT32_MAX << 32);
}

/* With .ftz the unit reads and gives the upper words of f64 alone; ptxas makes rsqrt.approx.f64 whole by a step of
 * Newton's. */
static double wide_function(enum approximate what, double a, bool flush) {
    const double x = flush ? flush64(upper_word(a)) : a;
    const double y = what == APPROXIMATE_RCP ? 1.0 / x : 1.0 / sqrt(x);
    if (y != y)
        return flush ? from_bits64((uint64_t)0x7fffffff << 32) : nan64(y, a, a, a);
    return flush ? flush64(upper_word(y)) : y;
}

void op_literature(struct warp *w, const struct record *r, uint32_t mask) {
    event_of_lanes(w, r, mask, EVENT_LITERATURE);
}

void op_approximate(struct warp *w, const struct record *r, uint32_t mask) {
    const enum approximate what = (enum approximate)(r->imm & 255);
    const bool flush = r->imm & APPROXIMATE_FTZ;
    if (!(r->imm & APPROXIMATE_EXACT))
        event_of_lanes(w, r, mask, EVENT_APPROXIMATE);
    for (int i = 0; i < LANES; ++i) {
        if (r->imm & APPROXIMATE_F64) {
            reg64(w, r->dst)[i] = to_bits64(wide_function(what, from_bits64(reg64(w, r->a)[i]), flush));
            continue;
        }
        const uint32_t a = reg32(w, r->a)[i];
        uint32_t *d = &reg32(w, r->dst)[i];
        if (r->imm & (APPROXIMATE_F16 | APPROXIMATE_BF16)) {
            const uint32_t high = r->imm & APPROXIMATE_PAIR ? of_half(r->imm, a >> 16) : 0;
            *d = of_half(r->imm, a & 0xffff) | high << 16;
        } else if (what == APPROXIMATE_DIV || what == APPROXIMATE_DIV_FULL) {
            const float b = bits_float(reg32(w, r->b)[i]);
            *d = float_bits(quotient(bits_float(a), b, what == APPROXIMATE_DIV_FULL, flush));
        } else {
            *d = float_bits(nan32(function(what, bits_float(a), flush)));
        }
    }
}
