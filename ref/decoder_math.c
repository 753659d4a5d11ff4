#include "decoder_math.h"
#include <math.h>
#include <string.h>

/* ---- exp and log ---- */

/* 2^n as a float64, n in -1022 .. 1023. */
static double power_of_two(int n) {
    const uint64_t bits = (uint64_t)(n + 1023) << 52;
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* ln 2 in two pieces: the first has 32 bits, so that n * first is exact for |n| < 2^20. */
static const double LN2_HIGH = 0x1.62e42fee00000p-1, LN2_LOW = 0x1.a39ef35793c76p-33;

/* x = n ln 2 + r, |r| <= ln 2 / 2; exp(r) by its series up to r^14 / 14!, below 2^-57 of what is left out. */
double math_exp(double x) {
    if (isnan(x))
        return x;
    if (x > 709.78)
        return INFINITY;
    if (x < -745)
        return 0;
    const double n = nearbyint(x * 0x1.71547652b82fep+0);
    const double r = fma(-n, LN2_LOW, fma(-n, LN2_HIGH, x));
    double sum = 1;
    for (int i = 14; i > 0; i--)
        sum = fma(sum, r / i, 1);
    const int half = (int)n / 2; /* two steps: 2^n itself may be subnormal, or 2^1024 */
    return sum * power_of_two(half) * power_of_two((int)n - half);
}

/* x = m 2^n, m in sqrt(1/2) .. sqrt 2; log m = 2 artanh(s), s = (m - 1) / (m + 1), |s| < 0.172, up to s^25. */
double math_log(double x) {
    int n;
    double m = frexp(x, &n);
    if (m < 0x1.6a09e667f3bcdp-1) {
        m *= 2;
        n--;
    }
    const double s = (m - 1) / (m + 1), square = s * s;
    double sum = 0;
    for (int i = 25; i > 0; i -= 2)
        sum = fma(sum, square, 1.0 / i);
    return fma((double)n, LN2_HIGH, fma((double)n, LN2_LOW, 2 * s * sum));
}

/* ---- sin and cos ---- */

/* |r| <= pi / 4; both series go up to below 2^-60. */
static double sine(double r) {
    const double square = r * r;
    double sum = 1;
    for (int i = 19; i > 1; i -= 2)
        sum = fma(sum, -square / (i * (i - 1)), 1);
    return r * sum;
}

static double cosine(double r) {
    const double square = r * r;
    double sum = 1;
    for (int i = 20; i > 0; i -= 2)
        sum = fma(sum, -square / (i * (i - 1)), 1);
    return sum;
}

/* sin(x + quarter * pi / 2). pi / 2 in three pieces of 33, 33 and 53 bits (Cody and Waite). */
static double turned(double x, int quarter) {
    const double n = nearbyint(x * 0x1.45f306dc9c883p-1);
    double r = fma(-n, 0x1.921fb54400000p+0, x);
    r = fma(-n, 0x1.0b4611a600000p-34, r);
    r = fma(-n, 0x1.3198a2e037073p-69, r);
    const unsigned q = (unsigned)((int64_t)n + quarter) & 3;
    const double y = q & 1 ? cosine(r) : sine(r);
    return q & 2 ? -y : y;
}

double math_sin(double x) {
    return turned(x, 0);
}

double math_cos(double x) {
    return turned(x, 1);
}

/* ---- the layers' own ---- */

void math_rms_norm(const float *x, const float *w, size_t n, float epsilon, float *y) {
    double squares = 0;
    for (size_t i = 0; i < n; i++)
        squares += (double)x[i] * x[i];
    const float scale = (float)(1 / sqrt(squares / (double)n + epsilon));
    for (size_t i = 0; i < n; i++) {
        const float scaled = x[i] * scale;
        y[i] = scaled * w[i];
    }
}

void math_rotary_turns(const struct rotary *r, size_t position, float *c, float *s) {
    const double step = -2 * math_log(r->base) / (double)r->values;
    for (size_t i = 0; i < r->values / 2; i++) {
        const double factor = r->factors ? r->factors[i] : 1;
        const double angle = (double)position / factor * math_exp(step * (double)i) / r->scaling;
        c[i] = (float)math_cos(angle);
        s[i] = (float)math_sin(angle);
    }
}

void math_rotary_turn(const struct rotary *r, const float *c, const float *s, float *x) {
    const size_t half = r->values / 2;
    for (size_t i = 0; i < half; i++) {
        float *a = r->interleaved ? x + 2 * i : x + i, *b = r->interleaved ? a + 1 : a + half;
        const float x0 = *a, x1 = *b;
        const float x1_s = x1 * s[i], x1_c = x1 * c[i];
        *a = fmaf(x0, c[i], -x1_s);
        *b = fmaf(x0, s[i], x1_c);
    }
}

void math_attention(const struct attention *a, const float *q, const float *keys, const float *values, float *scores,
                    float *y) {
    const size_t count = a->last - a->first + 1;
    float most = -INFINITY;
    for (size_t j = 0; j < count; j++) {
        const float *key = keys + (a->first + j) * a->key_stride;
        float sum = 0;
        for (size_t i = 0; i < a->key_size; i++)
            sum = fmaf(q[i], key[i], sum);
        scores[j] = sum * a->scale;
        most = isnan(scores[j]) || scores[j] > most ? scores[j] : most;
    }
    float total = 0;
    for (size_t j = 0; j < count; j++) {
        scores[j] = (float)math_exp((double)scores[j] - most);
        total += scores[j];
    }
    memset(y, 0, a->value_size * sizeof *y);
    for (size_t j = 0; j < count; j++) {
        const float *value = values + (a->first + j) * a->value_stride;
        for (size_t i = 0; i < a->value_size; i++)
            y[i] = fmaf(scores[j], value[i], y[i]);
    }
    for (size_t i = 0; i < a->value_size; i++)
        y[i] /= total;
}

float math_silu(float x) {
    return (float)(x / (1 + math_exp(-(double)x)));
}

float math_gelu(float x) {
    const double v = x, u = 0x1.9884533d43651p-1 * (v + 0.044715 * v * v * v); /* sqrt(2 / pi) */
    return (float)(v / (1 + math_exp(-2 * u)));
}
