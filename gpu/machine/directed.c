/* Operations rounded toward zero, minus infinity or plus infinity. Rare, so they set the rounding mode of the CPU
 * around a plain loop; volatile keeps the compiler from moving the arithmetic out of it. */
#include "machine.h"
#include <fenv.h>
#include <math.h>
#include <string.h>

static float from32(uint32_t u) {
    float f;
    memcpy(&f, &u, 4);
    return f;
}
static double from64(uint64_t u) {
    double f;
    memcpy(&f, &u, 8);
    return f;
}

static uint32_t single(unsigned op, uint64_t a, uint32_t b, uint32_t c) {
    volatile float x = from32((uint32_t)a), y = from32(b), z = from32(c), d = 0;
    volatile double wide = from64(a);
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
    }
    const float result = d;
    uint32_t bits;
    memcpy(&bits, &result, 4);
    return (bits & 0x7fffffffu) > 0x7f800000u ? 0x7fffffffu : bits;
}

static uint64_t twice(unsigned op, uint64_t a, uint64_t b, uint64_t c) {
    volatile double x = from64(a), y = from64(b), z = from64(c), d = 0;
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
    const double result = d;
    uint64_t bits;
    memcpy(&bits, &result, 8);
    return result != result ? 0x7ff8000000000000u : bits;
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
        else
            reg32(w, r->dst)[i] = single(op, a, reg32(w, r->b)[i], reg32(w, r->c)[i]);
    }
    fesetround(FE_TONEAREST);
}
