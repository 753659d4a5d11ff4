/* What iq4_nl and iq4_xs share: sixteen codes at uneven distances, and the search for a scale.
 * Source of the codes: ggml, `kvalues_iq4nl` of ggml-common.h. */
#ifndef REF_IQ4_H
#define REF_IQ4_H

#include <stdbool.h>
#include <stdint.h>

enum { IQ4_CODES = 16, IQ4_VALUES = 32 };

extern const int8_t iq4_codes[IQ4_CODES]; /* ascending: nibble n stands for iq4_codes[n] */

/* n[k] = the nibble whose code is nearest to x[k] / scale (of two as near the lower); where scale is 0, the nibble of
 * code 1, so that a product with 0 is +0. Returns the sum of (scale * code - x)^2. */
double iq4_assign(const double x[IQ4_VALUES], double scale, uint8_t n[IQ4_VALUES]);

/* The scale > 0 for which iq4_assign(sign * x, scale) has the least error of all, and that error in *error; 0 and the
 * sum of squares where no scale is better than 0. halves: the best of the scales that iq4_half gives, else of all real
 * ones. All x MUST be finite. Up to the roundings of float64 no scale is better. */
double iq4_best_scale(const double x[IQ4_VALUES], int sign, bool halves, double *error);

/* x[k] = in[k], NaN as 0 and infinities as the largest f32. */
void iq4_read(const float *in, double x[IQ4_VALUES]);

/* The binary16 nearest to a scale that is held to +-65504. */
uint16_t iq4_half(double scale);

#endif
