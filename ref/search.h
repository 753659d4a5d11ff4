/* The quantiser that the K formats share: a search for the stored numbers with the least squared error.
 * No other program's bytes are its aim; those of ggml's quantisers differ, and err more over a
 * tensor of any usual kind (make witness prints by how much); single blocks may come out worse. */
#ifndef REF_SEARCH_H
#define REF_SEARCH_H

#include "format.h"

/* out = integers of a block of format f (scale 0 .. or signed, with minima or without, consecutive codes, d and dmin
 * binary16) whose values d * scale * code - dmin * min come close to in[0 .. f->block_values-1]; how: search.c.
 * All of it is in float64 with + - * / only, so the result is the same everywhere.
 *
 * Inputs outside the format: NaN counts as 0; infinities count as the largest f32; what lies beyond the range of
 * d = 65504 ends at the largest value that the block can say. d and dmin are always finite, and never 0 where a
 * sub-block needs them; neither is negative in a format with minima. */
void search_block(const struct block_format *f, const float *in, struct block_integers *out);

#endif
