/* Operations rounded toward zero, minus infinity or plus infinity. Rare, so they set the rounding mode of the CPU
 * around a plain loop; volatile keeps the compiler from moving the arithmetic out of it. */
#include "machine.h"
#include "nan.h"
#include <fenv.h>
#include <math.h>

static uint32_t flush(uint32_t x) {
    return x & 0x7f800000u ? x : x & 0x80000000u;
}

/* Whether the value, rounded in this direction to 24 bits with no end to the exponents, is below the normal numbers.
 * Computed 2^64 times as large: products and sums of f32 then stay far from the subnormal numbers, and two roundings in
 * one direction are one. */
static bool below_normal(unsigned op, double x, double y, double z) {
    volatile double a = x * 0x1p64, b = y, c = z * 0x1p64, exact;
    switch (op) {
    case DIRECTED_ADD:
    case DIRECTED_SUB:
    case DIRECTED_SQRT:
        return false; /* a sum below the normal numbers is exact, and a root is never there */
    case DIRECTED_MUL:
        exact = a * b;
        break;
    case DIRECTED_FMA:
        exact = a * b;
        exact = exact + c;
        break;
    case DIRECTED_DIV:
        exact = a / b;
        break;
    case DIRECTED_RCP:
        b = x;
        exact = 0x1p64 / b;
        break;
    default:
        exact = a;
    }
    volatile float rounded = (float)exact;
    return fabsf(rounded) < 0x1p-62f;
}

static uint32_t single(unsigned op, uint64_t a, uint32_t b, uint32_t c) {
    volatile float x = bits_float((uint32_t)a), y = bits_float(b), z = bits_float(c), d = 0;
    volatile double wide = from_bits64(a);
    volatile int64_t s = (int64_t)a;
    volatile uint64_t u = a;
    switch (op) {
    case DIRECTED_ADD:
        d = x + y;
        break;
    case DIRECTED_SUB:
        d = x - y;
        break;
    case DIRECTED_MUL:
        d = x * y;
        break;
    case DIRECTED_FMA:
        d = fmaf(x, y, z);
        break;
    case DIRECTED_DIV:
        d = x / y;
        break;
    case DIRECTED_RCP:
        d = 1.0f / x;
        break;
    case DIRECTED_SQRT:
        d = sqrtf(x);
        break;
    case DIRECTED_S32:
        d = (float)(int32_t)s;
        break;
    case DIRECTED_U32:
        d = (float)(uint32_t)u;
        break;
    case DIRECTED_S64:
        d = (float)s;
        break;
    case DIRECTED_U64:
        d = (float)u;
        break;
    default:
        d = (float)wide;
        if (d != d)
            return float_bits(nan64_to_32(from_bits64(a)));
    }
    return float_bits(nan32(d));
}

static uint64_t twice(unsigned op, uint64_t a, uint64_t b, uint64_t c) {
    volatile double x = from_bits64(a), y = from_bits64(b), z = from_bits64(c), d = 0;
    volatile int64_t s = (int64_t)a;
    volatile uint64_t u = a;
    switch (op) {
    case DIRECTED_ADD:
        d = x + y;
        break;
    case DIRECTED_SUB:
        d = x - y;
        break;
    case DIRECTED_MUL:
        d = x * y;
        break;
    case DIRECTED_FMA:
        d = fma(x, y, z);
        break;
    case DIRECTED_DIV:
        d = x / y;
        break;
    case DIRECTED_RCP:
        d = 1.0 / x;
        break;
    case DIRECTED_SQRT:
        d = sqrt(x);
        break;
    case DIRECTED_S64:
        d = (double)s;
        break;
    default:
        d = (double)u;
    }
    switch (op) {
    case DIRECTED_DIV:
        return to_bits64(nan64(d, x, y, y));
    case DIRECTED_FMA:
        return to_bits64(nan64(d, y, z, x));
    case DIRECTED_ADD:
    case DIRECTED_SUB:
    case DIRECTED_MUL:
        return to_bits64(nan64(d, y, x, x));
    default:
        return to_bits64(nan64(d, x, x, x));
    }
}

static uint32_t single_flushed(unsigned op, uint64_t a, uint32_t b, uint32_t c) {
    const bool narrow = op == DIRECTED_NARROW;
    const uint32_t x = flush((uint32_t)a), y = flush(b), z = flush(c);
    const uint32_t result = narrow ? single(op, a, 0, 0) : single(op, x, y, z);
    const bool below = below_normal(op, narrow ? from_bits64(a) : bits_float(x), bits_float(y), bits_float(z));
    return below ? result & 0x80000000u : flush(result);
}

void op_directed(struct warp *w, const struct record *r, uint32_t mask) {
    const unsigned op = r->imm & 255, mode = r->imm >> 8 & 255;
    const bool wide_source = r->imm & DIRECTED_WIDE_SOURCE;
    (void)mask;
    fesetround(mode == ROUND_RZ ? FE_TOWARDZERO : mode == ROUND_RM ? FE_DOWNWARD : FE_UPWARD);
    for (int i = 0; i < LANES; ++i) {
        const uint64_t a = wide_source ? reg64(w, r->a)[i] : reg32(w, r->a)[i];
        if (r->blend == BLEND_64)
            reg64(w, r->dst)[i] = twice(op, a, reg64(w, r->b)[i], reg64(w, r->c)[i]);
        else if (r->imm & DIRECTED_FTZ)
            reg32(w, r->dst)[i] = single_flushed(op, a, reg32(w, r->b)[i], reg32(w, r->c)[i]);
        else
            reg32(w, r->dst)[i] = single(op, a, reg32(w, r->b)[i], reg32(w, r->c)[i]);
    }
    fesetround(FE_TONEAREST);
}
