/* Things measured in turn, round by round: by how much one is faster than another, and whether that is more than noise.
 * Clocks, heat and neighbours change over seconds, and alike for all that is measured within one round; so times are
 * compared within a round, and only then are rounds put together. */
#ifndef ORACLES_PAIRED_H
#define ORACLES_PAIRED_H

#include <stdbool.h>
#include <stddef.h>

struct spread {
    double least, median, most;
};

/* Of x (n), n >= 1; the median of an even number is the mean of the middle two. */
struct spread spread_of(const double *x, size_t n);

/* Where noise alone orders 2 n times, all n of one lie on one side of all n of the other in 2 of C(2n, n) orders: 1 of
 * 1, 3, 10, 35 for n = 1 .. 4, and 1 of 126 for 5. With fewer rounds nothing is called separated. */
enum { PAIRED_LEAST_ROUNDS = 5 };

struct paired {
    struct spread ratio; /* over the rounds r, of base[r] / other[r]: above 1 where `other` is faster */
    bool separated;      /* the slowest round of the faster one (by the median of the ratios) is still faster than the
                          * fastest round of the slower one, and there were rounds enough */
    bool enough;         /* PAIRED_LEAST_ROUNDS or more */
    size_t overlap;      /* rounds that would have to be left out, at the least, for the times to lie apart: 0 where
                          * they do, and only there; one outlier is 1; all, where they are the same */
};

/* base, other (rounds): times, all above 0, of the same rounds. rounds >= 1. */
struct paired paired_compare(const double *base, const double *other, size_t rounds);

#endif
