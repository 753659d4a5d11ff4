/* What a decoder computes outside its matrix products: scalar, one value after the other, the same in every arm.
 *
 * Contract. Values are f32, nearest even. `rn` is one f32 rounding, `rn64` the one rounding of a float64 to f32. Sums
 * run in ascending index from +0. exp, log, sin and cos are the functions of this file, written in float64: no libm
 * decides a bit, so that two machines with two libraries have the same ones.
 *
 *   norm      scale = rn64(1 / sqrt((sum of x[i] * x[i], exact products, float64 sum) / n + epsilon))
 *             y[i] = rn(rn(x[i] * scale) * w[i])
 *   rotary    angle = p / factor[i] * base^(-2 i / n) / scaling, float64;  c = rn64(cos), s = rn64(sin)
 *             y0 = fma(x0, c, -rn(x1 * s));  y1 = fma(x0, s, rn(x1 * c))
 *             of the pair (i, i + n/2), or (2 i, 2 i + 1) where the model's rows are interleaved
 *   attention s[j] = rn((sum of q[i] * k[j][i], a chain of fma) * scale) over the positions j that are seen, ascending
 *             e[j] = rn64(exp((double)s[j] - max s));  total = sum of e[j], rn
 *             y[i] = rn((sum of e[j] * v[j][i], a chain of fma) / total)
 *   SiLU      rn64(x / (1 + exp(-x)))
 *   GELU      rn64(x / (1 + exp(-2 u))), u = sqrt(2 / pi) * (x + 0.044715 x^3): x (1 + tanh u) / 2
 *
 * NaN and infinity: as IEEE arithmetic has them; whoever chooses a token refuses a NaN.
 * Source: the models' own definitions (RMSNorm: Zhang & Sennrich 2019; RoPE: Su et al. 2021; GELU: Hendrycks & Gimpel
 * 2016, section 2, the tanh form). */
#ifndef REF_DECODER_MATH_H
#define REF_DECODER_MATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* float64 functions with an error below 2^-50, relative (exp, log) or absolute (sin, cos, for |x| < 2^25).
 * exp: 0 below -745, infinity above 709.78, NaN stays. log: x normal and positive. */
double math_exp(double x);
double math_log(double x);
double math_sin(double x);
double math_cos(double x);

/* y (n) = norm of x (n) under the weights w (n); y may be x. */
void math_rms_norm(const float *x, const float *w, size_t n, float epsilon, float *y);

struct rotary {
    size_t values;        /* of a head that are turned, even; what follows them stays */
    bool interleaved;     /* pairs are neighbours */
    double base, scaling; /* scaling: positions are divided by it */
    const float *factors; /* (values / 2) the frequencies are divided by these; NULL: by 1 */
};
/* c, s (values / 2) of a position. */
void math_rotary_turns(const struct rotary *r, size_t position, float *c, float *s);
/* x (values) of one head, turned in place. */
void math_rotary_turn(const struct rotary *r, const float *c, const float *s, float *x);

/* y (value_size) of one head; q (key_size); position j's key is keys[j * key_stride ..], its value likewise; first <=
 * last are the positions seen; scores (last - first + 1) is scratch. */
struct attention {
    size_t key_size, value_size, key_stride, value_stride, first, last;
    float scale;
};
void math_attention(const struct attention *a, const float *q, const float *keys, const float *values, float *scores,
                    float *y);

float math_silu(float x);
float math_gelu(float x);

#endif
