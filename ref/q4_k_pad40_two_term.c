/* Contract q4_k_pad40_two_term: result (nt, od) = activation (nt, id) pad40 times weight (od, id) q4_K, transposed.
 *
 *  Order:      chunks of 32 ascending in k; two additions per chunk, dot term first; s starts at +0
 *  Products:   s = fma(rn(da * ds), (float)dot, s); s = fma(rn(da * dm), (float)sum, s)
 *              with ds = rn(d * sc), dm = -rn(dmin * m)
 *  Rounding:   nearest even, f32 throughout     Denormals: kept (none arise from finite operands)
 *  NaN, Inf:   IEEE 754; every NaN result is 0x7fffffff     Split: none
 *  Matches:    gpu/kernels/mmq_wide_ldb.cu
 *  Bound:      |result - truth| <= gamma(2 * id/32 + 1) * sum|terms| and the float64 summation; derived at `truth`
 *
 * dot = sum over the chunk of nibble * q, exact; sum = the sum stored in the activation block, which MUST be in
 * -4096 .. 4064 (kernels stage it as int16); da, d, dmin widened from binary16. */
#include "contract.h"
#include "half.h"
#include "pad40.h"
#include "q4_k.h"
#include "truth.h"
#include <math.h>
#include <string.h>

enum { CHUNK = PAD40_VALUES, CHUNKS = Q4_K_SUB_BLOCKS }; /* a chunk is a sub-block of q4_K and a block of pad40 */

/* One super-block of a weight row, decoded once and then met by every token. */
struct super_block {
    int16_t n[CHUNKS][CHUNK]; /* nibbles, at the width that multiply-and-add-pairs instructions take */
    float d, dmin;
    uint8_t sc[CHUNKS], m[CHUNKS];
};

static struct super_block super_block_at(const struct contract_operands *op, size_t row, size_t index) {
    struct block_q4_k block;
    const uint8_t *blocks = op->weight;
    memcpy(&block, blocks + (row * (op->id / Q4_K_VALUES) + index) * Q4_K_BYTES, sizeof block);
    struct super_block b = {.d = half_to_float(block.d), .dmin = half_to_float(block.dmin)};
    for (unsigned s = 0; s < CHUNKS; s++) {
        uint8_t n[CHUNK];
        q4_k_scale_min(s, block.scales, &b.sc[s], &b.m[s]);
        q4_k_nibbles(&block, s, n);
        for (int k = 0; k < CHUNK; k++)
            b.n[s][k] = n[k];
    }
    return b;
}

/* What the eight chunks of one token and one super-block come to, all of it exact. */
struct meeting {
    float da[CHUNKS];
    int32_t dot[CHUNKS], sum[CHUNKS];
};

static int32_t dot_of(const int16_t n[CHUNK], const int8_t q[CHUNK]) {
    int16_t wide[CHUNK];
    for (int k = 0; k < CHUNK; k++)
        wide[k] = q[k];
    int32_t dot = 0;
    for (int k = 0; k < CHUNK; k++)
        dot += n[k] * wide[k];
    return dot;
}

/* Fields are read in place: copying a block first would put a failed store-to-load forward into the inner loop. */
static struct meeting meeting_of(const struct contract_operands *op, const struct super_block *w, size_t t,
                                 size_t index) {
    const uint8_t *block = (const uint8_t *)op->activation + (t * (op->id / CHUNK) + index * CHUNKS) * PAD40_BYTES;
    struct meeting all;
    for (int c = 0; c < CHUNKS; c++, block += PAD40_BYTES) {
        uint16_t d;
        memcpy(&d, block + offsetof(struct block_pad40, d), sizeof d);
        memcpy(&all.sum[c], block + offsetof(struct block_pad40, sum), sizeof all.sum[c]);
        all.da[c] = half_to_float(d);
        all.dot[c] = dot_of(w->n[c], (const int8_t *)block + offsetof(struct block_pad40, q));
    }
    return all;
}

/* Each thread owns rows of the weight, hence columns of the result: an accumulator lives in its own result cell from
 * one super-block to the next, and no sum is ever shared. */
static void evaluate(const struct contract_operands *op, void *result) {
    float *out = result;
#pragma omp parallel for schedule(static)
    for (size_t j = 0; j < op->od; j++) {
        for (size_t t = 0; t < op->nt; t++)
            out[t * op->od + j] = 0.0f;
        for (size_t index = 0; index < op->id / Q4_K_VALUES; index++) {
            struct super_block w = super_block_at(op, j, index);
            float ds[CHUNKS], dm[CHUNKS];
            for (int c = 0; c < CHUNKS; c++) {
                ds[c] = w.d * (float)w.sc[c];
                dm[c] = -(w.dmin * (float)w.m[c]);
            }
            for (size_t t = 0; t < op->nt; t++) {
                struct meeting a = meeting_of(op, &w, t, index);
                float s = out[t * op->od + j];
                for (int c = 0; c < CHUNKS; c++) {
                    s = fmaf(a.da[c] * ds[c], (float)a.dot[c], s);
                    s = fmaf(a.da[c] * dm[c], (float)a.sum[c], s);
                }
                out[t * op->od + j] = s;
            }
        }
        for (size_t t = 0; t < op->nt; t++)
            if (isnan(out[t * op->od + j]))
                out[t * op->od + j] = bits_float(0x7fffffff);
    }
}

/* value = sum over chunks of da*d*sc * dot - da*dmin*m * sum, in float64; bound as follows, n = 2 * id/32 terms.
 *
 * Exact in f32: d*sc and dmin*m (11 + 6 = 17 bits), dot (|dot| <= 32*15*128 < 2^16), sum (|sum| <= 2^12).
 * One rounding: da*ds and da*dm (28 bits). Then one for each of the at most n fma that a term passes through. With
 * (1 + delta) a rounding, |delta| <= 2^-24, the result is the sum of term_i * (at most n + 1 factors 1 + delta), so
 *     |result - exact| <= gamma(n + 1) * sum|term_i|                                      (Higham, Lemma 3.1).
 *
 * No underflow disturbs this: da, d and dmin are multiples of 2^-24, so every product and every sum is a multiple of
 * 2^-48 (rounding to 24 bits keeps it one), hence 0 or far above the least normal, 2^-126.
 * No overflow either: |term| < 2^16 * 2^16 * 2^6 * 2^16 = 2^54, and 2^128 would take 2^74 of them.
 *
 * float64: every term is exact (28 + 16 and 28 + 13 of 53 bits); n additions err by n * 2^-53 / (1 - n * 2^-53).
 * The last factor, 1 + 2^-20, covers the float64 roundings of the bound and of whoever compares with it.
 *
 * Operands that are infinite or NaN: f32 and float64 then give the same infinity or both NaN, since neither overflows
 * from finite numbers, neither underflows, and all else is the same sequence of operations. Bound 0. */
static void truth(const struct contract_operands *op, double *value, double *bound) {
    size_t terms = 2 * (op->id / CHUNK);
    double nu = (double)terms * 0x1p-53;
    double relative = (truth_gamma(terms + 1) + nu / (1 - nu)) * (1 + 0x1p-20);
#pragma omp parallel for schedule(static)
    for (size_t j = 0; j < op->od; j++) {
        for (size_t t = 0; t < op->nt; t++)
            value[t * op->od + j] = bound[t * op->od + j] = 0;
        for (size_t index = 0; index < op->id / Q4_K_VALUES; index++) {
            struct super_block w = super_block_at(op, j, index);
            for (size_t t = 0; t < op->nt; t++) {
                struct meeting a = meeting_of(op, &w, t, index);
                double sum = value[t * op->od + j], size = bound[t * op->od + j];
                for (int c = 0; c < CHUNKS; c++) {
                    double da = a.da[c];
                    double dot_term = da * w.d * w.sc[c] * a.dot[c];
                    double min_term = -(da * w.dmin * w.m[c] * a.sum[c]);
                    sum += dot_term;
                    sum += min_term;
                    size += fabs(dot_term) + fabs(min_term);
                }
                value[t * op->od + j] = sum;
                bound[t * op->od + j] = size;
            }
        }
        for (size_t t = 0; t < op->nt; t++) {
            double *b = &bound[t * op->od + j];
            *b = isfinite(value[t * op->od + j]) ? *b * relative : 0;
        }
    }
}

static size_t cells(const struct contract_operands *op) {
    return op->nt * op->od;
}

static size_t result_bytes(const struct contract_operands *op) {
    return cells(op) * sizeof(float);
}

static void decode(const struct contract_operands *op, const void *result, double *value) {
    const float *in = result;
    for (size_t i = 0; i < cells(op); i++)
        value[i] = in[i];
}

const struct contract contract_q4_k_pad40_two_term = {
    .name = "q4_k_pad40_two_term",
    .weight = "q4_K",
    .activation = "pad40",
    .result = "f32",
    .depth_multiple = Q4_K_VALUES,
    .evaluate = evaluate,
    .truth = truth,
    .decode = decode,
    .cells = cells,
    .result_bytes = result_bytes,
};
