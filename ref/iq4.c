/* The search looks at every case. For r = 1 / scale from 0 to infinity the nearest codes change only where some r * x
 * passes the middle between two codes; between two such places codes are constant. With c a value's code, a scale d
 * leaves the error xx - d * (2 * xc - d * cc), xx = sum x^2, xc = sum x * c, cc = sum c^2, a parabola with its least at
 * xc / cc. So the best real scale is xc / cc of one of the at most 32 * 8 intervals, and the best binary16 is the
 * nearest to that of its own interval. It need not be the same interval: where all x are equal every code fits exactly,
 * and the rounding decides. float64 with + - * / only: the bytes are the same everywhere. */
#include "iq4.h"
#include "half.h"
#include <float.h>
#include <math.h>
#include <stddef.h>

const int8_t iq4_codes[IQ4_CODES] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

enum { NIBBLE_OF_ONE = 8 };

/* Twice the middle between codes n and n + 1. */
static const double twice_middle[IQ4_CODES - 1] = {-231, -187, -148, -114, -84, -57, -32, -9,
                                                   14,   38,   63,   91,   122, 158, 202};

double iq4_assign(const double x[IQ4_VALUES], double scale, uint8_t n[IQ4_VALUES]) {
    double error = 0;
    for (int k = 0; k < IQ4_VALUES; k++) {
        unsigned nearest = NIBBLE_OF_ONE;
        if (scale < 0 || scale > 0) {
            double twice = 2 * x[k] / scale;
            nearest = twice > twice_middle[7] ? 8 : 0;
            nearest += twice > twice_middle[nearest + 3] ? 4 : 0;
            nearest += twice > twice_middle[nearest + 1] ? 2 : 0;
            nearest += twice > twice_middle[nearest] ? 1 : 0;
        }
        double gap = scale * iq4_codes[nearest] - x[k];
        error += gap * gap;
        n[k] = (uint8_t)nearest;
    }
    return error;
}

/* The next change of code of one value: at r, value k. */
struct step {
    double r;
    int k;
};

static bool comes_before(struct step a, struct step b) {
    return a.r < b.r || (!(b.r < a.r) && a.k < b.k);
}

/* A heap of the next step of every value: the first to come is heap[0]. Lets heap[at] sink to its place. */
static void sink(struct step *heap, size_t count, size_t at) {
    struct step moved = heap[at];
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && comes_before(heap[child + 1], heap[child]))
            child++;
        if (!comes_before(heap[child], moved))
            break;
        heap[at] = heap[child];
    }
    heap[at] = moved;
}

/* Where a value that has code n now, and is not 0, goes on to the next one away from 0; infinity after the last. */
static double next_place(double value, unsigned n) {
    if (value > 0)
        return n + 1 < IQ4_CODES ? twice_middle[n] / value : INFINITY;
    return n > 0 ? twice_middle[n - 1] / value : INFINITY;
}

double iq4_best_scale(const double x[IQ4_VALUES], int sign, bool halves, double *error) {
    struct step heap[IQ4_VALUES];
    size_t count = 0;
    double xx = 0, xc = 0, cc = 0;
    unsigned n[IQ4_VALUES];
    for (int k = 0; k < IQ4_VALUES; k++) {
        double value = sign * x[k];
        n[k] = NIBBLE_OF_ONE; /* the nearest to 0 */
        xx += value * value;
        xc += value;
        cc += 1;
        if (value < 0 || value > 0)
            heap[count++] = (struct step){next_place(value, n[k]), k};
    }
    for (size_t at = count / 2; at-- > 0;)
        sink(heap, count, at);

    double best = 0, scale = 0; /* best: the part of xx that scale explains */
    for (;;) {
        if (xc > 0) {
            double d = halves ? half_to_float(iq4_half(xc / cc)) : xc / cc, explained = d * (2 * xc - d * cc);
            if (explained > best) {
                best = explained;
                scale = d;
            }
        }
        if (count == 0 || !(heap[0].r < INFINITY))
            break;
        int k = heap[0].k;
        double value = sign * x[k], old = iq4_codes[n[k]];
        n[k] = value > 0 ? n[k] + 1 : n[k] - 1;
        double new = iq4_codes[n[k]];
        xc += value * (new - old);
        cc += new *new - old *old;
        heap[0].r = next_place(value, n[k]);
        sink(heap, count, 0);
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
