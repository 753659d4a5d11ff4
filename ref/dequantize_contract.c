/* The bound of the dequantisers. x is what a value stands for: d * scale * code - dmin * min, exact in float64 (the
 * products are multiples of 2^-24 below 2^30). With u = 2^-24 the f32 before the last rounding is off by at most u|x|:
 * its products are exact, and it is one sum, or none. Rounding to binary16 then adds half a step, of a normal number at
 * most 2^-11 of it, of a subnormal one 2^-25. Together
 *     |result - x| <= u|x| + max(2^-11 (1 + u)|x|, 2^-25)
 * From 65519 on the result may be infinite: no claim. Infinite and NaN fields give the same in float64: bound 0. */
#include "dequantize_contract.h"
#include "half.h"
#include <math.h>

void dequantize_evaluate(const struct block_format *f, const struct contract_operands *op, void *result) {
    const uint8_t *blocks = op->activation;
    uint16_t *out = result;
    const size_t count = op->nt * (op->id / f->block_values);
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < count; i++) {
        float x[FORMAT_MOST_VALUES];
        f->dequantize(blocks + i * f->block_bytes, x);
        for (size_t k = 0; k < f->block_values; k++)
            out[i * f->block_values + k] = half_from_float(x[k]);
    }
}

void dequantize_truth(const struct block_format *f, const struct contract_operands *op, double *value, double *bound) {
    const uint8_t *blocks = op->activation;
    const size_t count = op->nt * (op->id / f->block_values);
    for (size_t i = 0; i < count; i++) {
        struct block_integers b;
        f->unpack(blocks + i * f->block_bytes, &b);
        for (size_t k = 0; k < f->block_values; k++) {
            const size_t s = k / f->sub_values, cell = i * f->block_values + k;
            double x = (double)b.d * b.scale[s] * b.code[k];
            if (f->min_most)
                x -= (double)b.dmin * b.min[s];
            const double size = fabs(x);
            value[cell] = x;
            bound[cell] = !isfinite(x)    ? 0
                          : size >= 65519 ? INFINITY
                                          : 0x1p-24 * size + fmax(0x1p-11 * (1 + 0x1p-24) * size, 0x1p-25);
        }
    }
}

void dequantize_decode(const struct contract_operands *op, const void *result, double *value) {
    const uint16_t *in = result;
    for (size_t i = 0; i < dequantize_cells(op); i++)
        value[i] = (double)half_to_float(in[i]);
}

size_t dequantize_cells(const struct contract_operands *op) {
    return op->nt * op->id;
}

size_t dequantize_result_bytes(const struct contract_operands *op) {
    return dequantize_cells(op) * sizeof(uint16_t);
}
