#include "value_range.h"
#include <math.h>

const struct value_range value_range_empty = {INFINITY, -INFINITY, 0};

void value_range_add(struct value_range *r, const float *values, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(values[i])) {
            r->not_finite++;
            continue;
        }
        r->least = values[i] < r->least ? values[i] : r->least;
        r->largest = values[i] > r->largest ? values[i] : r->largest;
    }
}
