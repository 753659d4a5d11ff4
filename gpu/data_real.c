/* Class real: a weight is a tensor of a GGUF file, byte for byte; activations are rows of its embedding. Data of a
 * model have what no generator has: outlier channels, correlated neighbours, blocks that a real quantiser chose. */
#include "data.h"
#include "place.h"
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const double EPSILON = 1e-6; /* of the RMS norm, as in the models of the Gemma and Llama families */

/* A row not used yet: the drawn one, or the next free one after it. */
static size_t draw_row(struct random_stream *s, bool *used, size_t rows) {
    size_t row = random_below(s, (uint32_t)rows);
    while (used[row])
        row = (row + 1) % rows;
    used[row] = true;
    return row;
}

/* x[0 .. depth-1] = x / sqrt(mean x^2 + epsilon). False when that is not finite. */
static bool rms_normalise(float *x, size_t depth) {
    double squares = 0;
    for (size_t k = 0; k < depth; k++)
        squares += (double)x[k] * x[k];
    double divisor = sqrt(squares / (double)depth + EPSILON);
    if (!isfinite(divisor))
        return false;
    for (size_t k = 0; k < depth; k++)
        x[k] = (float)(x[k] / divisor);
    return true;
}

bool data_real_activations(const char *path, const struct gguf_tensor *embedding, struct random_stream *s, size_t nt,
                           size_t depth, float *out, struct error *e) {
    const size_t width = embedding->extent[0];
    const size_t rows = embedding->rows < UINT32_MAX ? embedding->rows : UINT32_MAX;
    const char *name = embedding->name;
    if (!embedding->format)
        return fail(e, "%s: tensor %s is %s, which cannot be decoded", path, quote(name).text, embedding->type_name);
    if (rows < nt)
        return fail(e, "%s: tensor %s has %zu rows, too few for %zu different tokens", path, quote(name).text, rows,
                    nt);
    bool *used = calloc(rows, sizeof *used);
    float *line = calloc(width, sizeof *line);
    bool good = used && line;
    if (!good)
        fail(e, "%s: no memory for %zu rows of tensor %s", path, rows, quote(name).text);
    for (size_t t = 0; t < nt && good; t++) {
        size_t row = draw_row(s, used, rows), first = row;
        for (size_t at = 0; at < depth && good; row = (row + 1) % rows) {
            size_t values = depth - at < width ? depth - at : width;
            good = gguf_row(embedding, row, line, e);
            memcpy(out + t * depth + at, line, good ? values * sizeof *line : 0);
            at += values;
        }
        if (good && !rms_normalise(out + t * depth, depth))
            good = fail(e, "%s: tensor %s: a value near row %zu is not finite", path, quote(name).text, first);
    }
    free(used);
    free(line);
    return good;
}

bool data_real_check(const char *path, const struct gguf_tensor *weight, struct error *e) {
    const char *name = weight->name;
    if (!weight->format)
        return fail(e, "%s: tensor %s is %s, which cannot be decoded", path, quote(name).text, weight->type_name);
    float *line = calloc(weight->extent[0], sizeof *line);
    bool good = line || fail(e, "%s: no memory for a row of tensor %s", path, quote(name).text);
    for (uint64_t row = 0; row < weight->rows && good; row++) {
        good = gguf_row(weight, row, line, e);
        for (uint64_t k = 0; k < weight->extent[0] && good; k++)
            if (!isfinite(line[k]))
                good = fail(e, "%s: tensor %s, row %llu: a value is not finite", path, quote(name).text,
                            (unsigned long long)row);
    }
    free(line);
    return good;
}
