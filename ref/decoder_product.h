/* The matrix products of a decoder as ref/ computes them: by contracts, in plain f32, and in float64. */
#ifndef REF_DECODER_PRODUCT_H
#define REF_DECODER_PRODUCT_H

#include "contract.h"
#include "decoder.h"

/* activation = x of the product quantised by a contract whose result is an activation format: malloc'ed, of
 * (*bytes) bytes, the caller's. NULL, with the reason in e, when the depth does not fit it or memory is short. */
void *product_quantise(const struct contract *quantise, const struct decoder_product *p, size_t *bytes,
                       struct error *e);
/* y (nt, od) = the bits of a matrix contract for the tensor's bytes and a quantised activation. split: where the depth
 * is cut, NULL: nowhere. Fails when the contract is not of the tensor's format, or does not take the depth or the
 * split.
 */
bool product_contract(const struct contract *c, const struct split *split, const struct decoder_product *p,
                      const void *activation, float *y, struct error *e);

/* y (nt, od) without a quantised activation, for formats that no contract multiplies:
 *   Order     32 chains l: s_l = fma(w[k], x[k], s_l) over k = l, l + 32 .., from +0; then for mask = 16, 8, 4, 2, 1
 *             s_l = rn(s_l + s_(l xor mask)), as the lanes of a warp would; y = s_0
 *   Products  w[k] = the format's f32 value (ref/format.h)      Rounding  nearest even, f32
 *   Bound     |y - truth| <= gamma(ceil(id / 32) + 5) * sum of |w x|: so many roundings a term goes through at most
 * Needs no depth of its own. Fails when memory is short. */
bool product_plain(const struct decoder_product *p, float *y, struct error *e);

/* y = rn64(sum of w[k] * x[k] in float64, ascending): what all the contracts are held to, activations not quantised. */
bool product_truth(const struct decoder_product *p, float *y, struct error *e);

/* Arms of these two; self is not used. */
bool product_plain_arm(void *self, const struct decoder_product *p, float *y, struct error *e);
bool product_truth_arm(void *self, const struct decoder_product *p, float *y, struct error *e);

#endif
