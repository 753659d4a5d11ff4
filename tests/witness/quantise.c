/* Quantisers against ggml's. A closed one (each code follows from the block's extremes) must give ggml's bytes. A
 * searching one may find other bytes, and its error must not be more than 2 % above ggml's on any set of data. */
#include "../../ref/activation.h"
#include "../../ref/gguf.h"
#include "../../ref/half.h"
#include "../../ref/random.h"
#include "witness.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- closed quantisers ---- */

/* steps: by what the block's largest value, or its range, is divided to give the step; 0: nothing is divided, or ggml
 * defines all of it. least: below it the exponent of the scale does not fit its field. */
static const struct closed {
    const char *name;
    float steps;
    bool range;
    float least;
} closed[] = {
    {"f16", 0, false, 0},   {"bf16", 0, false, 0},          {"q4_0", 8, false, 0},   {"q4_1", 15, true, 0},
    {"q5_0", 16, false, 0}, {"q5_1", 31, true, 0},          {"q8_0", 127, false, 0}, {"q8_1", 127, false, 0},
    {"q8_K", 0, false, 0},  {"mxfp4", 0, false, 0x1p-125f},
};

static const struct closed *closed_named(const char *name) {
    for (size_t i = 0; i < sizeof closed / sizeof *closed; i++)
        if (!strcmp(closed[i].name, name))
            return &closed[i];
    return NULL;
}

/* Blocks that ggml does not define, counted by name and not compared: where the step has no finite reciprocal or the
 * range is infinite it converts an infinity or a NaN to an integer; an exponent below 0 it lets wrap around. A step
 * of 0 has the reciprocal 0 there. */
enum exception { NONE, RECIPROCAL, RANGE, EXPONENT, EXCEPTIONS };
static const char *const exception_name[] = {"", "1/d infinite", "range infinite", "exponent below 0"};

static enum exception exception_of(const struct closed *c, const float *x, size_t n) {
    float low = x[0], high = x[0];
    for (size_t k = 1; k < n; k++) {
        low = x[k] < low ? x[k] : low;
        high = x[k] > high ? x[k] : high;
    }
    float spread = c->range ? high - low : fmaxf(fabsf(low), fabsf(high));
    if (c->steps == 0)
        return spread > 0 && spread < c->least ? EXPONENT : NONE;
    if (isinf(spread))
        return RANGE;
    float step = spread / c->steps;
    return step > 0 && isinf(1.0f / step) ? RECIPROCAL : NONE;
}

struct quantiser { /* a block format's or an activation format's */
    const char *name;
    size_t values, bytes;
    void (*quantize)(const float *in, void *block);
};

static void print_bytes(const char *who, const uint8_t *block, size_t bytes) {
    printf("      %-4s", who);
    for (size_t i = 0; i < bytes; i++)
        printf("%02x", block[i]);
    printf("\n");
}

static void compare_bytes(const struct quantiser *q, ggml_quantiser *theirs, size_t blocks) {
    enum { MOST_BYTES = 320 };
    const struct closed *c = closed_named(q->name);
    size_t differing = 0, found[EXCEPTIONS] = {0}, first = SIZE_MAX;
#pragma omp parallel for schedule(static, 1024) reduction(+ : differing, found[:EXCEPTIONS]) reduction(min : first)
    for (size_t i = 0; i < blocks; i++) {
        float x[FORMAT_MOST_VALUES];
        uint8_t ref[MOST_BYTES] = {0}, other[MOST_BYTES] = {0};
        values_of(q->name, i, x, q->values);
        enum exception e = exception_of(c, x, q->values);
        found[e]++;
        if (e != NONE)
            continue;
        q->quantize(x, ref);
        theirs(x, other, (int64_t)q->values);
        if (memcmp(ref, other, q->bytes)) {
            differing++;
            first = i < first ? i : first;
        }
    }
    char exceptions[128] = "";
    for (int e = NONE + 1; e < EXCEPTIONS; e++)
        if (found[e])
            snprintf(exceptions + strlen(exceptions), sizeof exceptions - strlen(exceptions), "%s%s %zu",
                     *exceptions ? ", " : "; undefined in ggml: ", exception_name[e], found[e]);
    report(differing ? FAILED : PASSED, "ggml", q->name, "quantize", "%zu blocks, %zu differ%s", found[NONE], differing,
           exceptions);
    if (differing) {
        float x[FORMAT_MOST_VALUES];
        uint8_t ref[MOST_BYTES] = {0}, other[MOST_BYTES] = {0};
        values_of(q->name, first, x, q->values);
        q->quantize(x, ref);
        theirs(x, other, (int64_t)q->values);
        printf("      input %zu:", first);
        for (size_t k = 0; k < q->values; k++)
            printf("%s%.9g", k % 8 ? " " : "\n        ", x[k]);
        printf("\n");
        print_bytes("ref", ref, q->bytes);
        print_bytes("ggml", other, q->bytes);
    }
}

bool dump_quantised(const struct block_format *f, size_t blocks) {
    const struct closed *c = closed_named(f->name);
    if (!c || !f->quantize)
        return false;
    for (int quantised = 0; quantised < 2; quantised++)
        for (size_t i = 0, done = 0; done < blocks; i++) {
            float x[FORMAT_MOST_VALUES];
            uint8_t block[FORMAT_MOST_VALUES * 4];
            values_of(f->name, i, x, f->block_values);
            if (exception_of(c, x, f->block_values) != NONE)
                continue;
            done++;
            f->quantize(x, block);
            if (quantised)
                fwrite(block, 1, f->block_bytes, stdout);
            else
                fwrite(x, sizeof *x, f->block_values, stdout);
        }
    return true;
}

/* ---- searching quantisers ---- */

enum { SET_BLOCKS = 1024 };
static const char *const set_names[] = {"normal", "uniform", "heavy", "one-sided", "outlier", "constant", "model"};
enum { SETS = sizeof set_names / sizeof *set_names, MODEL = SETS - 1 };

/* x (SET_BLOCKS * n) = generated data of a set. */
static void generate(size_t set, float *x, size_t n) {
    struct random_stream s = random_open(random_key(set_names[set]), 0);
    size_t outlier = 0;
    for (size_t k = 0; k < SET_BLOCKS * n; k++) {
        float normal = random_normal(&s);
        switch (set) {
        case 0:
            x[k] = normal;
            break;
        case 1:
            x[k] = random_unit(&s) * 2 - 1;
            break;
        case 2:
            x[k] = normal * normal * normal;
            break;
        case 3:
            x[k] = random_unit(&s) + 0.5f;
            break;
        case 4: /* one of 256 values far out */
            outlier = k % 256 ? outlier : k + random_below(&s, 256);
            x[k] = k == outlier ? (normal < 0 ? -50 : 50) : normal;
            break;
        default: /* one value a block, and of both signs: the rounding of the scale is all the error */
            x[k] = k % n ? x[k - 1] : normal + (normal < 0 ? -0.1f : 0.1f);
            break;
        }
    }
}

/* Rows of a real model, spread over its tensors of 8 bits (the finest it has); false where there is no model. */
static bool model_rows(float *x, size_t n) {
    struct gguf_file *file = gguf_open("build/models/gemma-3-270m-q4_k_m.gguf", NULL);
    if (!file)
        return false;
    size_t wanted = SET_BLOCKS * n, have = 0;
    for (size_t round = 0; have < wanted && round < 64; round++)
        for (size_t i = 0; i < file->tensor_count && have < wanted; i++) {
            const struct gguf_tensor *t = &file->tensors[i];
            float *row = NULL;
            if (strcmp(t->type_name, "q8_0") || t->rows < 64 || !(row = malloc(t->extent[0] * sizeof *row)))
                continue;
            size_t take = t->extent[0] < wanted - have ? t->extent[0] : wanted - have;
            if (gguf_row(t, t->rows / 64 * round, row, NULL)) {
                memcpy(x + have, row, take * sizeof *row);
                have += take;
            }
            free(row);
        }
    gguf_close(file);
    return have == wanted;
}

static double squared_error(const struct block_format *f, const uint8_t *block, const float *x) {
    float out[FORMAT_MOST_VALUES];
    double error = 0;
    f->dequantize(block, out);
    for (size_t k = 0; k < f->block_values; k++)
        error += ((double)out[k] - x[k]) * ((double)out[k] - x[k]);
    return error;
}

static void compare_errors(const struct block_format *f, ggml_quantiser *theirs) {
    const double most_ratio = 1.02;
    size_t n = f->block_values, compared = 0;
    float *x = malloc(SET_BLOCKS * n * sizeof *x);
    char text[512] = "";
    bool worse = false;
    for (size_t set = 0; x && set < SETS; set++) {
        char *end = text + strlen(text);
        size_t left = sizeof text - strlen(text);
        if (set == MODEL ? !model_rows(x, n) : (generate(set, x, n), false)) {
            snprintf(end, left, ", model absent");
            continue;
        }
        double ref_error[SET_BLOCKS], their_error[SET_BLOCKS], ours = 0, ggmls = 0;
#pragma omp parallel for schedule(dynamic, 16)
        for (size_t i = 0; i < SET_BLOCKS; i++) {
            uint8_t block[FORMAT_MOST_VALUES * 4];
            f->quantize(x + i * n, block);
            ref_error[i] = squared_error(f, block, x + i * n);
            theirs(x + i * n, block, (int64_t)n);
            their_error[i] = squared_error(f, block, x + i * n);
        }
        for (size_t i = 0; i < SET_BLOCKS; i++) { /* summed in order: the figure does not depend on threads */
            ours += ref_error[i];
            ggmls += their_error[i];
        }
        double ratio = ggmls > 0 ? sqrt(ours / ggmls) : ours > 0 ? INFINITY : 1;
        worse |= !(ratio <= most_ratio);
        compared++;
        snprintf(end, left, "%s%s %.4f", set ? ", " : "", set_names[set], ratio);
    }
    free(x);
    report(worse || !compared ? FAILED : PASSED, "ggml", f->name, "quantize",
           "searching; error (RMS) of ref / ggml: %s; at most %.2f", text, most_ratio);
}

/* ---- */

void compare_quantiser(const struct block_format *f, size_t blocks) {
    ggml_quantiser *theirs = ggml_quantiser_of(f->name);
    if (!f->quantize)
        report(SKIPPED, "ggml", f->name, "quantize", "ref only decodes it");
    else if (!theirs)
        report(SKIPPED, "ggml", f->name, "quantize", "ggml has no quantiser of it");
    else if (closed_named(f->name))
        compare_bytes(&(struct quantiser){f->name, f->block_values, f->block_bytes, f->quantize}, theirs, blocks);
    else
        compare_errors(f, theirs);
}

void compare_activation_quantisers(size_t blocks) {
    for (const struct activation_format *const *row = activation_formats; *row; row++) {
        const struct activation_format *f = *row;
        ggml_quantiser *theirs = ggml_quantiser_of(f->name);
        if (!wanted(f->name))
            continue;
        if (!theirs || !closed_named(f->name))
            report(SKIPPED, "ggml", f->name, "quantize", "no such format in ggml's CPU libraries");
        else
            compare_bytes(&(struct quantiser){f->name, f->block_values, f->block_bytes, f->quantize}, theirs, blocks);
    }
}
