#include "pad40_matvec.h"
#include "truth.h"
#include <math.h>

void matvec_weight(const struct block_format *f, size_t dots_a_chunk, size_t unit, int offset,
                   const struct contract_operands *op, size_t row, size_t k, size_t values, struct gemm_part *out) {
    pad40_weight(f, op, row, k, values, out);
    for (size_t v = 0; v < values; v++)
        out->code[v] = (int16_t)(out->code[v] + offset);
    for (size_t i = 0; i < values / 32 * dots_a_chunk; i++) {
        out->i[i] = (int32_t)((k / 32 + i / dots_a_chunk) / unit % MATVEC_LANES);
        if (offset)
            out->g[i] = (float)offset;
    }
}

/* ---- folds ---- */

/* dot - offset * sum as int32 has it; with a sum of quants it is the dot of the codes themselves, at most 2^19. */
static int32_t without_offset(const struct gemm_part *w, const struct gemm_part *a, const int32_t *dot, size_t i) {
    return (int32_t)((uint32_t)dot[i] - (uint32_t)w->g[i] * (uint32_t)a->i[i]);
}

void matvec_offset(float *state, const struct gemm_part *w, const struct gemm_part *a, const int32_t *dot,
                   size_t dots) {
    for (size_t i = 0; i < dots; i++) {
        float *s = &state[w->i[i]];
        *s = fmaf(a->f[i] * w->f[i], (float)without_offset(w, a, dot, i), *s);
    }
}

static float inner(const struct gemm_part *w, const struct gemm_part *a, const int32_t *dot, size_t i) {
    return fmaf(w->f[i], (float)dot[i], w->g[i] * (float)a->i[i]);
}

void matvec_affine(float *state, const struct gemm_part *w, const struct gemm_part *a, const int32_t *dot,
                   size_t dots) {
    for (size_t i = 0; i < dots; i++) {
        float *s = &state[w->i[i]];
        *s = fmaf(a->f[i], inner(w, a, dot, i), *s);
    }
}

void matvec_halves(float *state, const struct gemm_part *w, const struct gemm_part *a, const int32_t *dot,
                   size_t dots) {
    for (size_t i = 0; i < dots; i += 2) {
        float *s = &state[w->i[i]];
        const float first = a->f[i] * w->f[i] * (float)dot[i];
        *s = *s + fmaf(a->f[i + 1] * w->f[i + 1], (float)dot[i + 1], first);
    }
}

void matvec_pair(float *state, const struct gemm_part *w, const struct gemm_part *a, const int32_t *dot, size_t dots) {
    for (size_t i = 0; i < dots; i += 2) {
        float *s = &state[w->i[i]];
        const float first = a->f[i] * inner(w, a, dot, i);
        *s = *s + fmaf(a->f[i + 1], inner(w, a, dot, i + 1), first);
    }
}

float matvec_finish(const float *state) {
    float s[MATVEC_LANES];
    for (size_t lane = 0; lane < MATVEC_LANES; lane++)
        s[lane] = state[lane];
    for (size_t width = MATVEC_LANES / 2; width; width /= 2) /* of the butterfly, what lane 0 sees */
        for (size_t lane = 0; lane < width; lane++)
            s[lane] = s[lane] + s[lane + width];
    return s[0];
}

/* ---- truth ----
 *
 * A term goes through `roundings` of its own, at most ceil(id/32 / 32) additions in its lane (the first, from +0,
 * rounds the product) and 5 in the tree: with n of all of these (Higham, Accuracy and Stability of Numerical
 * Algorithms, 2nd ed., Lemma 3.1) |result - exact| <= gamma(n) * sum|terms| Roundings of its own: offset 1, (float) of
 * a difference past 2^24 (da * d is exact, 11 + 11 bits); affine 3, (float) of such a sum, its product with dm, and the
 * inner sum; halves 3, da * ds, its product, and the inner sum; pair 5, those
 * of affine, the product with da, and the sum of both.
 *
 * Nothing underflows: da, d and dmin are multiples of 2^-24, so every product and every sum is a multiple of 2^-48,
 * also after it is rounded to 24 bits. Nothing overflows (pad40_gemm.c).
 *
 * An infinite or NaN operand gives the same infinity or NaN on both sides, as every product has the same factors; but
 * for an infinite or NaN da in the affine fold, which there meets a difference and here both its parts: no claim.
 *
 * float64 adds (terms + 2) * 2^-53 for its sums and products; the factor 1 + 2^-20 covers the rest. */
void matvec_truth(const struct gemm *g, size_t roundings, size_t unit, const struct contract_operands *op,
                  double *value, double *bound) {
    const size_t chunks = op->id / 32, a_turn = MATVEC_LANES * unit, additions = (chunks + a_turn - 1) / a_turn + 5;
    const double nu = (2 * (double)chunks + 2) * 0x1p-53;
    gemm_bound(g, op, (truth_gamma(roundings + additions) + nu / (1 - nu)) * (1 + 0x1p-20), value, bound);
}

void matvec_offset_truth(double *value, double *size, const struct gemm_part *w, const struct gemm_part *a,
                         const int32_t *dot, size_t dots) {
    for (size_t i = 0; i < dots; i++)
        gemm_add_term(value, size, (double)a->f[i] * w->f[i] * without_offset(w, a, dot, i));
}

void matvec_affine_truth(double *value, double *size, const struct gemm_part *w, const struct gemm_part *a,
                         const int32_t *dot, size_t dots) {
    for (size_t i = 0; i < dots; i++) {
        gemm_add_term(value, size, (double)a->f[i] * w->f[i] * dot[i]);
        gemm_add_term(value, size, (double)a->f[i] * w->g[i] * a->i[i]);
    }
}

void matvec_affine_loss(double *loss, const struct gemm_part *w, const struct gemm_part *a, const int32_t *dot,
                        size_t dots) {
    (void)w, (void)dot;
    for (size_t i = 0; i < dots; i++)
        *loss = isfinite(a->f[i]) ? *loss : INFINITY;
}

void matvec_halves_truth(double *value, double *size, const struct gemm_part *w, const struct gemm_part *a,
                         const int32_t *dot, size_t dots) {
    for (size_t i = 0; i < dots; i++)
        gemm_add_term(value, size, (double)a->f[i] * w->f[i] * dot[i]);
}
