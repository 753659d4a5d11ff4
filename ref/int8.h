/* Codes of int8: f32 to the nearest integer, held to -128 .. 127, NaN to 0. Held first, which changes no result since
 * both ends are integers, and keeps the conversion in range. */
#ifndef REF_INT8_H
#define REF_INT8_H

#include <math.h>
#include <stdint.h>

static inline float int8_held(float x) {
    return isnan(x) ? 0 : x < -128 ? -128 : x > 127 ? 127 : x;
}

/* Ties away from zero, as ggml's roundf has them. */
static inline int8_t int8_ties_away(float x) {
    return (int8_t)roundf(int8_held(x));
}

/* Ties to even, as cvt.rni has them: nothing here ever changes the rounding mode. */
static inline int8_t int8_ties_even(float x) {
    return (int8_t)lrintf(int8_held(x));
}

#endif
