/* rcp.approx.ftz.f32 of sm_90: the one operation of the quantisers that no rule of IEEE 754 gives.
 *
 * Its results were measured on an H200 for every mantissa: fixtures/golden/rcp_approx_sm90.bin.zz (the README there
 * says how). A result is rn(1/x) moved by -1, 0 or 1 unit in the last place, by the mantissa of x alone. */
#ifndef REF_RCP_APPROX_H
#define REF_RCP_APPROX_H

#include "error.h"
#include "ftz.h"
#include <stdbool.h>

/* Reads the measured table (a zlib stream of 2^21 bytes, known by their SHA-256). Fails, with one line, on any other
 * file, and leaves what was there before. Call it before threads that compute are started; afterwards all of this is
 * safe in any number of them. */
bool rcp_approx_load(const char *path, struct error *e);

/* The table has been read. Without it rcp_approx_ftz is the correctly rounded reciprocal, and whatever is computed with
 * it is an approximation of what the hardware gives. */
bool rcp_approx_measured(void);

/* rcp.approx.ftz.f32: subnormal x counts as a zero of its sign; 1/+-0 is +-infinity, 1/+-infinity is +-0; a result
 * below 2^-126 (|x| > 2^126) is a zero of its sign; NaN gives 0x7fffffff. Source: PTX ISA 9.7.3.14 `rcp`. */
float rcp_approx_ftz(float x);

/* div.approx.ftz.f32: a * (1/b), that is rn_ftz(a * rcp_approx_ftz(b)). For |b| > 2^126 it is a zero, or NaN where a is
 * infinite. Source: PTX ISA 9.7.3.8 `div`; equal for every mantissa of b with a = 127, and for 3 * 2^26 pairs of
 * all kinds, on an H200. */
static inline float div_approx_ftz(float a, float b) {
    return ftz_mul(a, rcp_approx_ftz(b));
}

#endif
