/* Words for a set of wrong cells: which tokens, which rows, with what period. The pattern is most of the diagnosis. */
#ifndef ORACLES_PATTERN_H
#define ORACLES_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pattern {
    size_t wrong, total;
    char *text;           /* "2112 of 2310 wrong: every row >= 16; rows 0..15 right" */
    const char *suspects; /* the mistakes that make such a pattern, static, or NULL */
};

/* wrong: (n0, n1), nonzero = wrong; at least one is. axis names in the singular ("token", "row"); n1 = 1 and
 * axis1 = NULL for a plain sequence. fragments: the program has fragments of an mma, whose mistakes are
 * among the suspects. Free text with free(). */
struct pattern pattern_of(const uint8_t *wrong, size_t n0, size_t n1, const char *axis0, const char *axis1,
                          bool fragments);

/* Words for a map from[i] -> to[i] of `count` indices: "i mod 16", "i + 1", "i xor 1", or NULL when no such rule fits
 * all of them. name is the letter to use for the index. Free with free(). */
char *pattern_rule(const size_t *from, const size_t *to, size_t count, const char *name);

#endif
