#include "paired.h"
#include "../ref/checked.h"
#include <stdlib.h>
#include <string.h>

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

struct spread spread_of(const double *x, size_t n) {
    double *sorted = must_calloc(n, sizeof *sorted);
    memcpy(sorted, x, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, ascending);
    const double low = sorted[(n - 1) / 2], high = sorted[n / 2];
    const struct spread s = {sorted[0], low + (high - low) / 2, sorted[n - 1]};
    free(sorted);
    return s;
}

/* Rounds that do not have all of fast below and all of slow at or above a border, for the best of all borders. */
static size_t overlap_of(const double *fast, const double *slow, size_t rounds) {
    size_t least = rounds;
    for (size_t border = 0; border < rounds; ++border) {
        size_t out = 0;
        for (size_t r = 0; r < rounds; ++r) {
            out += fast[r] >= slow[border] || slow[r] < slow[border];
        }
        least = out < least ? out : least;
    }
    return least;
}

struct paired paired_compare(const double *base, const double *other, size_t rounds) {
    double *ratio = must_calloc(rounds, sizeof *ratio);
    for (size_t r = 0; r < rounds; ++r) {
        ratio[r] = base[r] / other[r];
    }
    struct paired p = {.ratio = spread_of(ratio, rounds)};
    free(ratio);
    const bool other_first = p.ratio.median >= 1;
    p.overlap = other_first ? overlap_of(other, base, rounds) : overlap_of(base, other, rounds);
    p.enough = rounds >= PAIRED_LEAST_ROUNDS;
    p.separated = p.enough && p.overlap == 0;
    return p;
}
