/* The bounds of the quantisers. First, how far d' * q, with d' the stored d, is from x.
 *
 * D = amax / 127 without rounding, u = 2^-24. Every quantiser computes d = D (1 + e), |e| <= 7u, and p = x / d up to
 * rounding, with |d p - x| <= r u |x|, r <= 4 the contract's own `roundings`. Where nothing overflows or underflows,
 *   |q - p| <= 1/2: |p| <= 127 (1 + 12u) rounds to 127 at most, so that no clamp and no wrap to a byte ever acts;
 *   |d' - d| <= h:  max(2^-11 d, 2^-25), half a step of a normal and of a subnormal binary16; 0 for a stored f32;
 *   |d' q - x| <= |d' - d| |q| + d |q - p| + |d p - x|, with |q| <= |x|/d (1 + 4u) + 1/2.
 * With the factor 1 + 2^-19 for d against D (up to 18u together) and the float64 roundings here:
 *   bound = (1 + 2^-19) (D/2 + r u |x| + (|x|/D + 1/2) max(2^-11 D, 2^-25))      the last term for binary16 only
 *
 * The ends of the range:
 *   binary16, D < 2^-26: d is below 2^-25, half of the least binary16, whatever became of it on the way (1/d may be
 *     infinite, q anything): d' = 0, the block says 0, the distance is |x|. Above, no operation is near an underflow
 *     but a p or x that counts as 0, and then q = 0 and |x| < d/2.
 *   binary16, D >= 65520: d' is infinite. No claim; D so near to 65520 that rounding decides is counted as overflow.
 *   f32, D < 2^-125: d or x may be flushed or 1/d infinite, and then d' or q is 0 and the distance |x|; otherwise d'
 *     is off by up to half a subnormal step, 2^-150, times |q| <= 128. The larger of |x| and bound + 2^-142 holds.
 *   f32 with .ftz, amax > 2^126: the reciprocal of amax is flushed, d' is infinite. No claim.
 *   x or amax NaN or infinite, which no block can say: no claim. (A NaN among numbers is its own affair only.) */
#include "quantize_contract.h"
#include "half.h"
#include "truth.h"
#include <math.h>
#include <stdint.h>
#include <string.h>

static double bound_of(const struct quantize_rule *r, double x, double amax) {
    double step = amax / 127, size = fabs(x);
    bool overflows = r->kind == SCALE_F16       ? step >= 65520 * (1 - 0x1p-19)
                     : r->kind == SCALE_F32_FTZ ? amax > 0x1p126
                                                : false;
    if (!isfinite(x) || !isfinite(amax) || overflows)
        return INFINITY;
    if (step == 0 || (r->kind == SCALE_F16 && step < 0x1p-26))
        return size;
    double scale_error = r->kind == SCALE_F16 ? fmax(0x1p-11 * step, 0x1p-25) : 0;
    double bound = (1 + 0x1p-19) * (step / 2 + r->roundings * 0x1p-24 * size + (size / step + 0.5) * scale_error);
    if (r->kind != SCALE_F16 && step < 0x1p-125)
        bound = fmax(size, bound + 0x1p-142);
    return bound;
}

/* How far what a sum says is from X, the sum of its n values; A is the sum of their magnitudes, E of their bounds.
 *
 * SUM_OF_CODES: d' * sum of q = sum of d' q, off by at most E.
 * SUM_OF_CODES_F16: d * sum of q, off by at most E too: the bounds of values cover d q, where d' is 0 as well, since
 *   |d q - x| <= |x| (1 + 2^-19) where q is x / d to the nearest integer, and where 1/d is infinite d * 4096 rounds
 *   to a binary16 of 0. Then one rounding to f32 (the sum of q is exact) and one to binary16.
 * SUM_OF_VALUES: every x goes through at most r additions, each of relative error u, so the f32 sum is off by at most
 *   gamma(r) A (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 4.2); n operands and n
 *   results may be flushed, each by less than 2^-126. Then one rounding to binary16.
 *
 * With T = |X| + what it is off by so far, a rounding to binary16 adds max(2^-11 T, 2^-25), one to f32 u T.
 * No claim where T reaches 65520, a sum of magnitudes 2^127, or a value has no bound that its sum needs. */
static double sum_bound(const struct quantize_rule *r, double x, double magnitudes, double bounds) {
    double off = bounds;
    if (r->sum_kind == SUM_OF_VALUES)
        off = truth_gamma(r->sum_roundings) * magnitudes + (double)(2 * r->sum_values) * 0x1.0001p-126;
    if (r->sum_kind != SUM_OF_CODES) {
        double most = fabs(x) + off;
        if (!(most < 65520 * (1 - 0x1p-18)))
            return INFINITY;
        off += fmax(0x1p-11 * most, 0x1p-25) + 0x1p-24 * most;
    }
    return isfinite(off) && magnitudes < 0x1p127 ? (1 + 0x1p-18) * off : INFINITY;
}

/* Truth of sum i of the block whose values begin at `in`; bound: of its values. */
static void sum_truth(const struct quantize_rule *r, const float *in, const double *bound, size_t i, double *value,
                      double *sum_bound_of) {
    double x = 0, magnitudes = 0, bounds = 0;
    for (size_t k = i * r->sum_values; k < (i + 1) * r->sum_values; k++) {
        x += in[k];
        magnitudes += fabs((double)in[k]);
        bounds += bound[k];
    }
    *value = x;
    *sum_bound_of = sum_bound(r, x, magnitudes, bounds);
}

void quantize_contract_truth(const struct quantize_rule *r, const struct contract_operands *op, double *value,
                             double *bound) {
    const float *in = op->activation;
    for (size_t at = 0; at < op->nt * op->id; at += r->scale_values) {
        double amax = 0;
        for (size_t k = at; k < at + r->scale_values; k++)
            amax = fmax(amax, fabs((double)in[k])); /* a NaN is not seen, and bounds itself by infinity */
        for (size_t k = at; k < at + r->scale_values; k++) {
            value[k] = in[k];
            bound[k] = bound_of(r, in[k], amax);
        }
    }
    size_t cell = op->nt * op->id;
    for (size_t at = 0; at < op->nt * op->id; at += r->format->block_values)
        for (size_t i = 0; i < r->sums; i++, cell++)
            sum_truth(r, in + at, bound + at, i, &value[cell], &bound[cell]);
}

void quantize_contract_evaluate(const struct quantize_rule *r, const struct contract_operands *op, void *result) {
    activation_quantize(r->format, op->activation, op->nt, op->id, result);
}

void quantize_contract_decode(const struct quantize_rule *r, const struct contract_operands *op, const void *result,
                              double *value) {
    const struct activation_format *f = r->format;
    double *sums = value + op->nt * op->id;
    for (size_t t = 0; t < op->nt; t++)
        for (size_t i = 0; i < op->id / f->block_values; i++) {
            uint8_t block[ACTIVATION_MOST_BYTES];
            int8_t q[ACTIVATION_MOST_VALUES];
            double *out = value + t * op->id + i * f->block_values;
            activation_get(f, result, op->nt, op->id, t, i, block);
            memcpy(q, block + f->codes_at, f->codes_bytes);
            for (size_t k = 0; k < f->block_values; k++)
                out[k] = r->scale(block, k) * q[k];
            for (size_t k = 0; k < r->sums; k++)
                *sums++ = r->sum(block, k);
        }
}

size_t quantize_contract_result_bytes(const struct quantize_rule *r, const struct contract_operands *op) {
    size_t bytes;
    return activation_bytes(r->format, op->nt, op->id, &bytes) ? bytes : SIZE_MAX;
}

size_t quantize_contract_cells(const struct quantize_rule *r, const struct contract_operands *op) {
    return op->nt * op->id + op->nt * (op->id / r->format->block_values) * r->sums;
}

double quantize_contract_leading_f16(const void *block, size_t k) {
    (void)k;
    uint16_t d;
    memcpy(&d, block, sizeof d);
    return half_to_float(d);
}

double quantize_contract_leading_f32(const void *block, size_t k) {
    (void)k;
    float d;
    memcpy(&d, block, sizeof d);
    return d;
}
