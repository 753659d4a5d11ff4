/* The least and the largest of some values, and how many are not finite. */
#ifndef REF_VALUE_RANGE_H
#define REF_VALUE_RANGE_H

#include <stddef.h>
#include <stdint.h>

struct value_range {
    float least, largest; /* of the finite values; least > largest when there are none */
    uint64_t not_finite;
};
extern const struct value_range value_range_empty;
void value_range_add(struct value_range *r, const float *values, size_t count);

#endif
