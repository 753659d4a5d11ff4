#include "independent.h"

unsigned independent_bits(const uint8_t *bytes, unsigned first, unsigned count) {
    unsigned value = 0;
    for (unsigned i = 0; i < count; i++)
        value += (bytes[(first + i) / 8] >> (first + i) % 8 & 1u) << i;
    return value;
}

int independent_signed_bits(const uint8_t *bytes, unsigned first, unsigned count) {
    int64_t value = independent_bits(bytes, first, count);
    return (int)(value < (int64_t)1 << (count - 1) ? value : value - ((int64_t)1 << count));
}
