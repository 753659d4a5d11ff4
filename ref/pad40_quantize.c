/* Contract pad40_quantize: result (nt, id/32) pad40 blocks of activation (nt, id) f32.
 *
 *  Order:      none: max is exact, the sum of q is an integer
 *  Products:   d = rn(amax / 127); inv = rn(1 / d), 0 if d = 0; q = rn_even(rn(x * inv)) held to int8; stored f16(d)
 *  Rounding:   nearest even, f32 throughout; d to binary16 nearest even     Denormals: kept
 *  NaN, Inf:   as cvt.rni.s32.f32 and max.f32 have them; the corners are listed in pad40.c      Split: none
 *  Matches:    gpu/kernels/quantize_pad40.cu
 *  Bound:      |d16 * q - x| <= D/2 + 3u|x| + (|x|/D + 1/2) * max(2^-11 D, 2^-25), D = amax/127; derived at `bound_of`
 */
#include "contract.h"
#include "half.h"
#include "pad40.h"
#include <math.h>
#include <stdint.h>
#include <string.h>

enum { BLOCK = PAD40_VALUES };

static size_t blocks_of(const struct contract_operands *op) {
    return op->nt * (op->id / BLOCK);
}

static void evaluate(const struct contract_operands *op, void *result) {
    const float *in = op->activation;
    uint8_t *out = result;
    for (size_t i = 0; i < blocks_of(op); i++) {
        struct block_pad40 b;
        pad40_quantize(in + i * BLOCK, &b);
        memcpy(out + i * PAD40_BYTES, &b, sizeof b);
    }
}

/* The distance between x and what its block says, D = amax/127 without rounding, u = 2^-24:
 *
 * D < 2^-26: d <= D (1 + u) + 2^-150 is below 2^-25, half of the least binary16, so the stored scale is 0 and the block
 * says 0: the distance is |x|.
 *
 * Otherwise no f32 operation on d and inv underflows or overflows:
 *   d = D (1 + e1), inv = (1/d)(1 + e2), p = x * inv * (1 + e3), |e| <= u, so |d p - x| <= 3u |x|;
 *   |q - p| <= 1/2, since |p| <= 127 (1 + u)^4 rounds to 127 at most and the clamp never acts
 *     (where p itself is subnormal, q = 0 and |x| < d/2);
 *   |d16 - d| <= max(2^-11 d, 2^-25), half a step of a normal and of a subnormal binary16;
 *   |d16 q - x| <= |d16 - d| |q| + d |q - p| + |d p - x|, with |q| <= |x|/d (1 + 3u) + 1/2.
 * The factor 1 + 2^-20 takes up d against D, the 3u of |q| and the float64 roundings here.
 *
 * No claim (infinity): x or amax is NaN or infinite, which the format cannot say; or d >= 65520, where d16 is infinite
 * (D so near to 65520 that rounding decides is counted as overflow). */
static double bound_of(double x, double step) {
    if (!isfinite(x) || !(step < 65520 * (1 - 0x1p-20)))
        return INFINITY;
    double size = fabs(x);
    if (step < 0x1p-26)
        return size;
    double scale_error = fmax(0x1p-11 * step, 0x1p-25);
    return (1 + 0x1p-20) * (step / 2 + 3 * 0x1p-24 * size + (size / step + 0.5) * scale_error);
}

static void truth(const struct contract_operands *op, double *value, double *bound) {
    const float *in = op->activation;
    for (size_t i = 0; i < blocks_of(op); i++) {
        double amax = 0;
        for (size_t k = i * BLOCK; k < (i + 1) * BLOCK; k++)
            amax = fmax(amax, fabs((double)in[k])); /* a NaN among numbers is not seen, and bounds itself by infinity */
        for (size_t k = i * BLOCK; k < (i + 1) * BLOCK; k++) {
            value[k] = in[k];
            bound[k] = bound_of(in[k], amax / 127);
        }
    }
}

static size_t cells(const struct contract_operands *op) {
    return op->nt * op->id;
}

static size_t result_bytes(const struct contract_operands *op) {
    return blocks_of(op) * PAD40_BYTES;
}

static void decode(const struct contract_operands *op, const void *result, double *value) {
    const uint8_t *in = result;
    for (size_t i = 0; i < blocks_of(op); i++) {
        struct block_pad40 b;
        memcpy(&b, in + i * PAD40_BYTES, sizeof b);
        for (int k = 0; k < BLOCK; k++)
            value[i * BLOCK + (size_t)k] = (double)half_to_float(b.d) * b.q[k];
    }
}

const struct contract contract_pad40_quantize = {
    .name = "pad40_quantize",
    .weight = NULL,
    .activation = "f32",
    .result = "pad40",
    .depth_multiple = BLOCK,
    .evaluate = evaluate,
    .truth = truth,
    .decode = decode,
    .cells = cells,
    .result_bytes = result_bytes,
};
