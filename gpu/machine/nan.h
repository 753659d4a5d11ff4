/* What an H200 makes of NaNs. binary32: one NaN, 0x7fffffff, whatever the operands. binary64: an operand that is a NaN
 * comes through, made quiet, with its sign and its payload; without one the NaN is 0xfff8000000000000. */
#ifndef GPU_MACHINE_NAN_H
#define GPU_MACHINE_NAN_H

#include "../../ref/half.h" /* the bits of a float, and back */

static inline double from_bits64(uint64_t u) {
    double d;
    __builtin_memcpy(&d, &u, 8);
    return d;
}
static inline uint64_t to_bits64(double d) {
    uint64_t u;
    __builtin_memcpy(&u, &d, 8);
    return u;
}

static inline float nan32(float result) {
    return result == result ? result : bits_float(0x7fffffffu);
}

static inline int is_nan64(uint64_t u) {
    return (int64_t)(u & INT64_MAX) > (int64_t)0x7ff0000000000000;
}
/* The result of an operation whose operands count in this order when several are NaNs (a lesser number of operands:
 * one of them again). The order of hardware is: of a / b, a first; of any other a op b, b first; of a * b + c, b, c, a.
 */
static inline double nan64(double result, double first, double second, double third) {
    const uint64_t a = to_bits64(first), b = to_bits64(second), c = to_bits64(third), none = (uint64_t)0xfff8 << 48;
    const uint64_t kept = is_nan64(a) ? a : is_nan64(b) ? b : is_nan64(c) ? c : none;
    const uint64_t quiet = kept | (uint64_t)1 << 51;
    return from_bits64(is_nan64(to_bits64(result)) ? quiet : to_bits64(result));
}

/* NaNs from one format to another: sign and highest payload bits kept, made quiet. */
static inline float nan64_to_32(double a) {
    const uint64_t u = to_bits64(a);
    return bits_float((uint32_t)(u >> 32 & 0x80000000u) | 0x7fc00000u | (uint32_t)(u >> 29 & 0x3fffffu));
}
static inline double nan32_to_64(float a) {
    const uint32_t u = float_bits(a);
    return from_bits64((uint64_t)(u & 0x80000000u) << 32 | (uint64_t)0x7ff8 << 48 | (uint64_t)(u & 0x3fffffu) << 29);
}

#endif
