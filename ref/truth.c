#include "truth.h"
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

double truth_gamma(size_t n) {
    double nu = (double)n * 0x1p-24;
    return nu < 1 ? nu / (1 - nu) : INFINITY; /* from 2^24 roundings on the lemma says nothing */
}

/* Both NaN, or both the same infinity. */
static bool same_nonfinite(double a, double b) {
    return (isnan(a) && isnan(b)) || (isinf(a) && a == b);
}

/* |got - value| / bound; above 1, infinity and NaN count as broken. */
static double gap_ratio(double value, double bound, double got) {
    if (isinf(bound) && bound > 0) /* nothing is claimed about this cell */
        return 0;
    if (!isfinite(value) || !isfinite(got))
        return same_nonfinite(value, got) ? 0 : INFINITY;
    double gap = fabs(got - value);
    return gap == 0 ? 0 : gap / bound;
}

struct truth_gap truth_compare(const struct contract *c, const struct contract_operands *op, const void *result) {
    struct truth_gap gap = {.holds = true, .cell = SIZE_MAX};
    size_t cells = c->cells(op);
    if (!cells)
        return gap;
    double *value = calloc(cells, sizeof *value), *bound = calloc(cells, sizeof *bound);
    double *got = calloc(cells, sizeof *got);
    if (value && bound && got) {
        c->truth(op, value, bound);
        c->decode(op, result, got);
        for (size_t i = 0; i < cells; i++) {
            gap.judged += isfinite(value[i]) && isfinite(got[i]) && isfinite(bound[i]);
            double ratio = gap_ratio(value[i], bound[i], got[i]);
            bool within = ratio <= 1; /* written so that NaN does not pass */
            if (!within && gap.holds) {
                gap.holds = false;
                gap.cell = i;
                gap.value = value[i];
                gap.bound = bound[i];
                gap.got = got[i];
            }
            if (!(ratio <= gap.worst))
                gap.worst = ratio;
        }
    } else {
        gap.holds = false;
    }
    free(value);
    free(bound);
    free(got);
    return gap;
}
