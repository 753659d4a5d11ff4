#include "independent.h"
#include <math.h>

double independent_half_value(uint16_t h) {
    int exponent = h / 1024 % 32, fraction = h % 1024;
    double magnitude;
    if (exponent == 31)
        magnitude = fraction ? NAN : INFINITY;
    else if (exponent == 0)
        magnitude = ldexp(fraction, -24);
    else
        magnitude = ldexp(1024 + fraction, exponent - 25);
    return h < 32768 ? magnitude : -magnitude;
}

uint16_t independent_half_nearest(double x) {
    if (isnan(x))
        return 0x7fff;
    uint16_t sign = signbit(x) ? 0x8000 : 0;
    double magnitude = fabs(x);
    /* The last value that is not above x. Rounding takes infinity for 65536, the next step after 65504. */
    unsigned low = 0, high = 0x7c00;
    while (high - low > 1) {
        unsigned middle = (low + high) / 2;
        if (independent_half_value((uint16_t)middle) <= magnitude)
            low = middle;
        else
            high = middle;
    }
    double below = independent_half_value((uint16_t)low);
    double above = high == 0x7c00 ? 65536 : independent_half_value((uint16_t)high);
    double midpoint = (below + above) / 2; /* exact: one bit more than binary16 */
    bool up = magnitude > midpoint || (magnitude == midpoint && low % 2 == 1);
    return sign | (uint16_t)(up ? high : low);
}
