/* Which word of a plane of scales a wrong cell was rescaled with: the load that is a word off, or takes another word of
 * a wide load. */
#ifndef ORACLES_STAGE_SCALES_H
#define ORACLES_STAGE_SCALES_H

#include "stages.h"

/* got, want: (nt, od) cells of f32 with right sums; wrong: flags of those whose rescaling is wrong; at least one is.
 * For a contract whose cell is, over chunks of 32 ascending in k from +0, s = fma(rn(d * ds), (float)dot, s);  s =
 * fma(rn(d * dm), (float)sum, s) (ref/q4_k_pad40_two_term.c) and planes that hold its d, sum, ds, dm: looks
 * for the one distance in bytes at which some of these words were read instead of in their place, such that the bits of
 * every wrong cell looked at come out. Returns words, or NULL where none is found, or the contract's own bits do not
 * come out with all words right: it is another one then. Free with free(). */
char *scales_text(struct stages *s, const uint8_t *got, const uint8_t *want, const uint8_t *wrong);

#endif
