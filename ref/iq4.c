/* The search is exact. For r = 1 / scale from 0 to infinity the nearest codes change only where some r * x passes the
 * middle between two codes; between two such places codes are constant, and the scale of least squares of those codes
 * is (sum x * code) / (sum code^2), with the error (sum x^2) - (sum x * code)^2 / (sum code^2). So the best scale is
 * among those of the at most 32 * 8 intervals. float64 with + - * / only: the bytes are the same everywhere. */
#include "iq4.h"
#include "half.h"
#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

const int8_t iq4_codes[IQ4_CODES] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

enum { NIBBLE_OF_ONE = 8, MOST_STEPS = IQ4_VALUES * NIBBLE_OF_ONE };

/* Twice the middle between codes n and n + 1. */
static double twice_middle(unsigned n) {
    return iq4_codes[n] + iq4_codes[n + 1];
}

double iq4_assign(const double x[IQ4_VALUES], double scale, uint8_t n[IQ4_VALUES]) {
    double error = 0;
    for (int k = 0; k < IQ4_VALUES; k++) {
        uint8_t nearest = NIBBLE_OF_ONE;
        if (scale < 0 || scale > 0) {
            double twice = 2 * x[k] / scale;
            nearest = 0;
            for (unsigned half = IQ4_CODES / 2; half; half /= 2)
                if (twice > twice_middle(nearest + half - 1))
                    nearest = (uint8_t)(nearest + half);
        }
        double gap = scale * iq4_codes[nearest] - x[k];
        error += gap * gap;
        n[k] = nearest;
    }
    return error;
}

struct step { /* at r, value k goes on to its next code */
    double r;
    int k;
};

static int by_place(const void *a, const void *b) {
    const struct step *s = a, *t = b;
    if (s->r < t->r || s->r > t->r)
        return s->r < t->r ? -1 : 1;
    return s->k - t->k;
}

double iq4_best_scale(const double x[IQ4_VALUES], int sign, double *error) {
    struct step steps[MOST_STEPS];
    size_t count = 0;
    double xx = 0, xc = 0, cc = 0;
    uint8_t n[IQ4_VALUES];
    for (int k = 0; k < IQ4_VALUES; k++) {
        double value = sign * x[k];
        n[k] = NIBBLE_OF_ONE; /* the nearest to 0 */
        xx += value * value;
        xc += value;
        cc += 1;
        for (unsigned up = NIBBLE_OF_ONE; value > 0 && up + 1 < IQ4_CODES; up++)
            steps[count++] = (struct step){twice_middle(up) / value, k};
        for (unsigned down = NIBBLE_OF_ONE; value < 0 && down > 0; down--)
            steps[count++] = (struct step){twice_middle(down - 1) / value, k};
    }
    qsort(steps, count, sizeof *steps, by_place);

    double best = xc > 0 ? xc * xc / cc : 0, scale = xc > 0 ? xc / cc : 0;
    for (size_t i = 0; i < count; i++) {
        int k = steps[i].k;
        double value = sign * x[k], old = iq4_codes[n[k]];
        n[k] = (uint8_t)(value > 0 ? n[k] + 1 : n[k] - 1);
        double new = iq4_codes[n[k]];
        xc += value * (new - old);
        cc += new *new - old *old;
        if (xc > 0 && xc * xc > best * cc) {
            best = xc * xc / cc;
            scale = xc / cc;
        }
    }
    *error = xx - best;
    return scale;
}

void iq4_read(const float *in, double x[IQ4_VALUES]) {
    for (int k = 0; k < IQ4_VALUES; k++)
        x[k] = isnan(in[k]) ? 0 : in[k] > FLT_MAX ? FLT_MAX : in[k] < -FLT_MAX ? -FLT_MAX : in[k];
}

uint16_t iq4_half(double scale) {
    return half_from_float((float)(scale > 65504 ? 65504 : scale < -65504 ? -65504 : scale));
}
