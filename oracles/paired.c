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

struct paired paired_compare(const double *base, const double *other, size_t rounds) {
    double *ratio = must_calloc(rounds, sizeof *ratio);
    for (size_t r = 0; r < rounds; ++r) {
        ratio[r] = base[r] / other[r];
    }
    struct paired p = {.ratio = spread_of(ratio, rounds)};
    free(ratio);
    const bool other_first = p.ratio.median >= 1;
    const double *fast = other_first ? other : base, *slow = other_first ? base : other;
    const double worst = spread_of(fast, rounds).most, best = spread_of(slow, rounds).least;
    p.separated = worst < best;
    for (size_t r = 0; r < rounds; ++r) {
        p.overlap += fast[r] >= best || slow[r] <= worst;
    }
    return p;
}
