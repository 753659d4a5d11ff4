/* Three steps, each by least squares without weights:
 *   1  fit every sub-block by itself, x ~ scale * code - min with a real scale and min: from several starts, codes and
 *      line improve each other;
 *   2  bring all scales under one d and all minima under one dmin, and look around every rounded pair for the integers
 *      of least error under the stored d and dmin; of a few such d and dmin the best is kept;
 *   3  with all integers held, fit d and dmin anew, round them, and go back to 2 while the error falls.
 * The sub-block of the largest scale sets d, and step 1 does not always know its scale: where one value stands far from
 * the others, code 1 at a scale of 50, 2 at 25 and 3 at 16.7 are as good, but with d for 50 the other sub-blocks, of
 * scale 1, have no integer. With few codes this costs up to 1.7 times the error, so step 2 takes the largest scale as a
 * second and a third of what step 1 found, too. */
#include "search.h"
#include "half.h"
#include <float.h>
#include <math.h>

enum { MOST_SUB_VALUES = 32, START_STEPS = 5, STEP_ROUNDS = 3, FEW_CODES = 4 };

struct sub_block {
    double x[MOST_SUB_VALUES];
    double sum;        /* of x */
    double scale, min; /* of step 1 */
};

static double clamp(double x, double low, double high) {
    return x < low ? low : x > high ? high : x;
}

/* The nearest integer of low .. high; x MUST NOT be NaN. */
static int nearest(double x, int low, int high) {
    return (int)(clamp(x, low, high) - low + 0.5) + low;
}

/* code = the best codes for x under this line; returns their squared error. */
static double assign(const struct block_format *f, const double *x, double scale, double min, int *code) {
    double inverse = scale != 0 ? 1 / scale : 0, least = f->code_least, most = f->code_count - 1;
    double shift = min * inverse - least; /* codes counted from the least */
    for (size_t k = 0; k < f->sub_values; k++) {
        double above = x[k] * inverse + shift;
        above = above > 0 ? above : 0;
        above = above < most ? above : most;
        code[k] = (int)(above + 0.5) + f->code_least;
    }
    double error[4] = {0}; /* four sums: one would wait for itself */
    for (size_t k = 0; k < f->sub_values; k += 4)
        for (size_t i = 0; i < 4; i++) {
            double gap = scale * code[k + i] - min - x[k + i];
            error[i] += gap * gap;
        }
    return error[0] + error[1] + (error[2] + error[3]);
}

/* scale, min = the least squares line through (code, x), held to what the format can say: min = 0 without minima; scale
 * >= 0 and min >= 0 with. */
static void fit_line(const struct block_format *f, const struct sub_block *b, const int *code, double *scale,
                     double *min) {
    int n = 0, nn = 0;
    double all = (double)f->sub_values, sx = b->sum, products[4] = {0};
    for (size_t k = 0; k < f->sub_values; k++) {
        n += code[k];
        nn += code[k] * code[k];
    }
    for (size_t k = 0; k < f->sub_values; k += 4)
        for (size_t i = 0; i < 4; i++)
            products[i] += code[k + i] * b->x[k + i];
    double snx = products[0] + products[1] + (products[2] + products[3]);
    double determinant = all * nn - (double)n * n; /* 0 when all codes are equal */
    *scale = nn > 0 ? snx / nn : 0;
    *min = 0;
    if (!f->min_most)
        return;
    double best_min = determinant > 0 ? (n * snx - nn * sx) / determinant : -sx / all;
    if (best_min > 0) { /* else the best line that the format has goes through the origin */
        *min = best_min;
        *scale = determinant > 0 ? (all * snx - n * sx) / determinant : 0;
    }
    if (*scale < 0)
        *scale = 0;
}

/* Lets line and codes improve each other from this start on, and keeps the best line seen. */
static void improve(const struct block_format *f, struct sub_block *b, double scale, double min, double *best) {
    int code[MOST_SUB_VALUES];
    double last = INFINITY;
    int rounds = f->min_most ? 4 : 2; /* a slope alone is found sooner */
    for (int round = 0; round < rounds; round++) {
        double error = assign(f, b->x, scale, min, code);
        if (error >= last)
            return;
        last = error;
        if (error < *best) {
            *best = error;
            b->scale = scale;
            b->min = min;
        }
        fit_line(f, b, code, &scale, &min);
    }
}

/* Step 1. The starts are grids a little wider and narrower than the range of x. */
static void fit_sub_block(const struct block_format *f, struct sub_block *b) {
    double low = 0, high = b->x[0], best = INFINITY; /* low <= 0: no format has an offset above zero */
    for (size_t k = 0; k < f->sub_values; k++) {
        low = b->x[k] < low ? b->x[k] : low;
        high = b->x[k] > high ? b->x[k] : high;
    }
    b->scale = 0;
    b->min = f->min_most ? -low : 0;
    double extreme = -low > high ? low : high;
    if (extreme == 0)
        return;
    for (int step = -START_STEPS; step <= START_STEPS; step++) {
        if (f->min_most) {
            improve(f, b, (high - low) / (f->code_count - 1 + 0.4 * step), -low, &best);
        } else {
            improve(f, b, extreme / (f->code_least + 0.2 * step), 0, &best);
            improve(f, b, -extreme / (f->code_least + 0.2 * step), 0, &best);
        }
    }
}

/* The nearest binary16 that is neither infinite nor, for a number other than 0, zero. */
static double stored(double x) {
    if (x == 0)
        return 0;
    double size = clamp(fabs(x), 0x1p-24, 65504);
    return half_to_float(half_from_float((float)(x < 0 ? -size : size)));
}

/* Step 2: out's integers under out->d and out->dmin; returns the squared error. Gives up, with some integers unset,
 * once it is `most` or more. */
static double settle(const struct block_format *f, const struct sub_block *sub, double most,
                     struct block_integers *out) {
    static const int around[3] = {0, -1, 1}; /* the rounded number wins a tie: zeros stay zeros */
    double d = out->d, dmin = out->dmin, total = 0;
    for (size_t s = 0; s < f->block_values / f->sub_values && total < most; s++) {
        int scale_mid = d != 0 ? nearest(sub[s].scale / d, f->scale_least, f->scale_most) : 0;
        int min_mid = dmin != 0 ? nearest(sub[s].min / dmin, 0, f->min_most) : 0;
        double best = INFINITY;
        for (int i = 0; i < 3; i++) {
            for (int j = 0; j < 3; j++) {
                int scale = scale_mid + around[i], min = min_mid + around[j];
                if (scale < f->scale_least || scale > f->scale_most || min < 0 || min > f->min_most)
                    continue;
                int code[MOST_SUB_VALUES];
                double error = assign(f, sub[s].x, d * scale, dmin * min, code);
                if (error >= best)
                    continue;
                best = error;
                out->scale[s] = (int16_t)scale;
                out->min[s] = (int16_t)min;
                for (size_t k = 0; k < f->sub_values; k++)
                    out->code[s * f->sub_values + k] = (int8_t)code[k];
            }
        }
        total += best;
    }
    return total;
}

/* Step 3: d and dmin of least squares under these integers. */
static void fit_steps(const struct block_format *f, const struct sub_block *sub, struct block_integers *out) {
    double aa = 0, ab = 0, bb = 0, ax = 0, bx = 0; /* x ~ d * a - dmin * b */
    for (size_t k = 0; k < f->block_values; k++) {
        size_t s = k / f->sub_values;
        double x = sub[s].x[k % f->sub_values], a = out->scale[s] * out->code[k], b = out->min[s];
        aa += a * a;
        ab += a * b;
        bb += b * b;
        ax += a * x;
        bx += b * x;
    }
    double determinant = aa * bb - ab * ab, d = out->d, dmin = out->dmin;
    if (determinant > 0) {
        d = (bb * ax - ab * bx) / determinant;
        dmin = (ab * ax - aa * bx) / determinant;
    } else if (aa > 0) {
        d = ax / aa;
    } else if (bb > 0) {
        dmin = -bx / bb;
    }
    if (!f->min_most || d > 0)
        out->d = (float)stored(d);
    if (dmin > 0)
        out->dmin = (float)stored(dmin);
}

void search_block(const struct block_format *f, const float *in, struct block_integers *out) {
    struct sub_block sub[FORMAT_MOST_SUB_BLOCKS];
    double largest_scale = 0, largest_min = 0; /* the scale keeps its sign */
    for (size_t s = 0; s < f->block_values / f->sub_values; s++) {
        sub[s].sum = 0;
        for (size_t k = 0; k < f->sub_values; k++) {
            float x = in[f->sub_values * s + k];
            sub[s].x[k] = isnan(x) ? 0 : clamp(x, -FLT_MAX, FLT_MAX);
            sub[s].sum += sub[s].x[k];
        }
        fit_sub_block(f, &sub[s]);
        largest_scale = fabs(sub[s].scale) > fabs(largest_scale) ? sub[s].scale : largest_scale;
        largest_min = fmax(largest_min, sub[s].min);
    }

    /* The largest scale stands at its end, or up to two steps inside or one outside: which of them rounds best is
     * chance. A signed scale reaches furthest below zero. */
    struct block_integers tried = {0}, start = {0};
    double best = INFINITY;
    int parts = f->code_count <= FEW_CODES ? FEW_CODES - 1 : 1;
    for (int part = 1; part <= parts; part++)
        for (int beyond = -2; beyond <= 1; beyond++) {
            int scale_end = f->scale_least < 0 ? f->scale_least - beyond : f->scale_most + beyond;
            tried.d = (float)stored(largest_scale / (part * scale_end));
            tried.dmin = f->min_most ? (float)stored(largest_min / (f->min_most + beyond)) : 0;
            double error = settle(f, sub, best, &tried);
            if (error < best) {
                best = error;
                start = tried;
            }
        }
    tried = start;
    for (int round = 0; round < STEP_ROUNDS; round++) {
        *out = tried;
        fit_steps(f, sub, &tried);
        double error = settle(f, sub, best, &tried);
        if (error >= best)
            return;
        best = error;
    }
    *out = tried;
}
