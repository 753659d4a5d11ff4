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
