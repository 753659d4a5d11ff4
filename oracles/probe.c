#include "probe.h"
#include "../ref/activation.h"
#include "../ref/checked.h"
#include "../ref/format.h"
#include "pattern.h"
#include <stdlib.h>
#include <string.h>

enum part { WHOLE, CODES, SCALES, PARTS };

/* An operand as lines: rows of the weight or tokens of the activation. */
struct operand {
    const char *name, *letter;
    const uint8_t *lines; /* (count, line_bytes), blocks in the order of depth */
    size_t count, line_bytes, block_bytes, codes_at, codes_bytes;
};

static struct operand weight_of(const struct contract_operands *o, const struct block_format *f) {
    return (struct operand){"row",          "j",         o->weight,     o->od, o->id / f->block_values * f->block_bytes,
                            f->block_bytes, f->codes_at, f->codes_bytes};
}

/* lines: the activation's tokens as rows of blocks. */
static struct operand activation_of(const struct contract_operands *o, const struct activation_format *f,
                                    const uint8_t *lines) {
    return (struct operand){"token",        "t",         lines,         o->nt, o->id / f->block_values * f->block_bytes,
                            f->block_bytes, f->codes_at, f->codes_bytes};
}

/* out (nt, blocks) = the blocks of a buffer, row by row. */
static uint8_t *rows_of(const struct activation_format *f, const struct contract_operands *o) {
    const size_t blocks = o->id / f->block_values;
    uint8_t *out = must_calloc(o->nt * blocks, f->block_bytes);
    for (size_t i = 0; i < o->nt * blocks; ++i) {
        activation_get(f, o->activation, o->nt, o->id, i / blocks, i % blocks, out + i * f->block_bytes);
    }
    return out;
}

/* The inverse: a buffer of nt tokens. NULL when there is no room for it. */
static uint8_t *buffer_of(const struct activation_format *f, const uint8_t *rows, size_t nt, size_t id) {
    const size_t blocks = id / f->block_values;
    size_t bytes;
    uint8_t *out = activation_bytes(f, nt, id, &bytes) ? must_calloc(bytes, 1) : NULL;
    for (size_t i = 0; out != NULL && i < nt * blocks; ++i) {
        activation_put(f, out, nt, id, i / blocks, i % blocks, rows + i * f->block_bytes);
    }
    return out;
}

static const uint8_t *line_at(const struct operand *x, size_t i) {
    return x->lines + i * x->line_bytes;
}

/* out = line `own` with the part taken from line `other`. */
static void splice(const struct operand *x, enum part part, size_t own, size_t other, uint8_t *out) {
    const uint8_t *codes = line_at(x, part == SCALES ? own : other);
    memcpy(out, line_at(x, part == CODES ? own : other), x->line_bytes);
    for (size_t b = 0; b < x->line_bytes; b += x->block_bytes) {
        memcpy(out + b + x->codes_at, codes + b + x->codes_at, x->codes_bytes);
    }
}

/* One axis of a wrong result: its own operand, and the one that every line of it meets. */
struct axis {
    const struct evidence *e;
    const uint8_t *got, *wrong; /* (nt, od) cells of 4 bytes; flags */
    bool rows;
    const struct activation_format *layout; /* whose buffers are not rows of blocks, else NULL */
    struct operand own, met;
    uint8_t *spliced; /* (own.count, line_bytes) */
    float *result;    /* (max of the counts) */
};

static size_t cell_at(const struct axis *a, size_t own, size_t met) {
    return a->rows ? met * a->own.count + own : own * a->met.count + met;
}

/* result = the contract of own lines (count) and met lines (met_count), one of which is 1. */
static void evaluate(const struct axis *a, const uint8_t *own, size_t count, const uint8_t *met, size_t met_count) {
    struct contract_operands o = *a->e->operands;
    o.weight = a->rows ? own : met;
    o.od = a->rows ? count : met_count;
    o.activation = a->rows ? met : own;
    o.nt = a->rows ? met_count : count;
    uint8_t *buffer = a->layout != NULL ? buffer_of(a->layout, o.activation, o.nt, o.id) : NULL;
    if (buffer != NULL) {
        o.activation = buffer;
    }
    a->e->contract->evaluate(&o, a->result);
    free(buffer);
}

/* The line `other` such that line `own` of the result has the part of it in every cell; SIZE_MAX: none. */
static size_t line_consumed(const struct axis *a, enum part part, size_t own) {
    size_t met = 0;
    while (!a->wrong[cell_at(a, own, met)]) {
        ++met;
    }
    for (size_t p = 0; p < a->own.count; ++p) {
        splice(&a->own, part, own, p, a->spliced + p * a->own.line_bytes);
    }
    evaluate(a, a->spliced, a->own.count, line_at(&a->met, met), 1);
    bool *fits = must_calloc(a->own.count, sizeof *fits); /* in that one cell */
    for (size_t p = 0; p < a->own.count; ++p) {
        fits[p] = p != own && memcmp(a->got + 4 * cell_at(a, own, met), &a->result[p], 4) == 0;
    }
    size_t found = SIZE_MAX;
    for (size_t p = 0; p < a->own.count && found == SIZE_MAX; ++p) {
        if (!fits[p]) {
            continue;
        }
        evaluate(a, a->spliced + p * a->own.line_bytes, 1, a->met.lines, a->met.count);
        bool all = true;
        for (size_t k = 0; k < a->met.count && all; ++k) {
            all = memcmp(a->got + 4 * cell_at(a, own, k), &a->result[k], 4) == 0;
        }
        found = all ? p : SIZE_MAX;
    }
    free(fits);
    return found;
}

static char *words(const struct operand *x, enum part part, const char *rule, size_t matched, size_t looked,
                   size_t from, size_t to) {
    static const char *const parts[PARTS] = {"all", "the codes", "the scales"};
    char *what = rule != NULL ? must_format("result[t][j] consumed %s of %s %s", parts[part], x->name, rule)
                              : must_format("%zu of %zu wrong %ss consumed %s of another: %s %zu those of %zu", matched,
                                            looked, x->name, parts[part], x->name, from, to);
    char *text = part == WHOLE ? must_format("%s (want %s %s)   -> offset in the address of the %ss", what, x->name,
                                             x->letter, x->name)
                               : must_format("%s and %s of %s %s   -> offset in the address of %s", what,
                                             parts[part == CODES ? SCALES : CODES], x->name, x->letter, parts[part]);
    free(what);
    return text;
}

/* Looks at up to PROBE_LINES wrong lines, spread over all of them; gives up when the first few show nothing. */
enum { PROBE_PATIENCE = 4 };
static char *probe_part(const struct axis *a, enum part part, const size_t *lines, size_t count) {
    size_t from[PROBE_LINES], to[PROBE_LINES], matched = 0, looked = 0;
    const size_t step = (count + PROBE_LINES - 1) / PROBE_LINES | 1; /* odd: a rule for pairs must show on both */
    for (size_t i = 0; i < count; i += step, ++looked) {
        const size_t found = line_consumed(a, part, lines[i]);
        if (found != SIZE_MAX) {
            from[matched] = lines[i];
            to[matched++] = found;
        } else if (matched == 0 && looked + 1 == PROBE_PATIENCE) {
            return NULL;
        }
    }
    if (matched == 0 || 2 * matched < looked) {
        return NULL;
    }
    char *rule = pattern_rule(from, to, matched, a->own.letter);
    char *text = words(&a->own, part, rule, matched, looked, from[0], to[0]);
    free(rule);
    return text;
}

static char *probe_axis(struct axis *a) {
    size_t *lines = must_calloc(a->own.count, sizeof *lines), count = 0;
    for (size_t i = 0; i < a->own.count; ++i) {
        bool bad = false;
        for (size_t k = 0; k < a->met.count && !bad; ++k) {
            bad = a->wrong[cell_at(a, i, k)];
        }
        if (bad) {
            lines[count++] = i;
        }
    }
    const size_t most = a->own.count > a->met.count ? a->own.count : a->met.count;
    a->spliced = must_calloc(a->own.count, a->own.line_bytes);
    a->result = must_calloc(most, sizeof *a->result);
    char *text = NULL;
    for (int part = WHOLE; part < PARTS && text == NULL; ++part) {
        text = part == WHOLE || a->own.codes_bytes > 0 ? probe_part(a, (enum part)part, lines, count) : NULL;
    }
    free(a->spliced);
    free(a->result);
    free(lines);
    return text;
}

char *probe_matrix(const struct evidence *e, size_t buffer, const uint8_t *wrong) {
    const struct block_format *w = e->contract->weight != NULL ? format_named(e->contract->weight) : NULL;
    const struct activation_format *x = activation_named(e->contract->activation);
    const struct contract_operands *o = e->operands;
    if (w == NULL || x == NULL || e->launch->buffers[buffer].cell_bytes != 4 ||
        o->split.kind == SPLIT_STREAM_K /* its cuts hang on the place of a cell */) {
        return NULL;
    }
    if (o->od > PROBE_VALUES / o->id || o->nt > PROBE_VALUES / o->id) {
        return must_format("an operand has more than %d values: which of them were consumed shows on a smaller shape",
                           PROBE_VALUES);
    }
    uint8_t *lines = rows_of(x, o);
    char *text = NULL;
    for (int rows = 1; rows >= 0 && text == NULL; --rows) {
        struct axis a = {.e = e,
                         .got = e->launch->buffers[buffer].data,
                         .wrong = wrong,
                         .rows = rows != 0,
                         .layout = x->get != NULL ? x : NULL};
        a.own = rows ? weight_of(o, w) : activation_of(o, x, lines);
        a.met = rows ? activation_of(o, x, lines) : weight_of(o, w);
        text = a.own.count >= 2 ? probe_axis(&a) : NULL;
    }
    free(lines);
    return text;
}
