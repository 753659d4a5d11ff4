/* rescale and store: what the right sums become, and where it goes.
 *
 *   store    a cell that nobody stored, that another thread stored than the one that holds its accumulator, or that has
 *            the bits of another cell of that thread, as many others do at the same distance
 *   rescale  any other cell whose bits are not the contract's
 *
 * Whose accumulator a cell is comes from the mma; where that is not known, or a cell is summed in parts, the last two
 * rules of store do not apply. */
#include "../ref/checked.h"
#include "pattern.h"
#include "probe.h"
#include "stage_scales.h"
#include "stages.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct bits_cell { /* a cell by its thread and the bits that the contract gives it */
    uint64_t thread;
    uint32_t bits;
    size_t cell;
};

static int by_bits(const void *a, const void *b) {
    const struct bits_cell *x = a, *y = b;
    if (x->thread != y->thread) {
        return x->thread < y->thread ? -1 : 1;
    }
    if (x->bits != y->bits) {
        return x->bits < y->bits ? -1 : 1;
    }
    return x->cell < y->cell ? -1 : x->cell > y->cell;
}

struct result { /* a matrix of f32, or a plain sequence of cells */
    const struct launch_buffer *buffer;
    const struct buffer_coverage *coverage;
    const uint8_t *want;
    size_t cells, n0, n1, cell_bytes;
    struct bits_cell *sorted; /* of a matrix with owners */
    struct step *steps;       /* between cells that have each other's bits */
    size_t step_count;
    bool from_edges; /* all wrong ones are from_edge: what was stored may be of cells that do not exist */
    size_t strayed;  /* cells with other bits than their own, each stored by its own thread */
};

struct step { /* from a cell to the one whose bits it has; an exchange is the same in every thread */
    int64_t tokens, rows;
    size_t cells;
};
enum { MOST_STEPS = 1 << 12, SHARE = 16 }; /* SHARE: one cell in so many makes a step an exchange, and no chance */

static uint32_t word_at(const uint8_t *bytes, size_t cell) {
    uint32_t v;
    memcpy(&v, bytes + 4 * cell, 4);
    return v;
}

static bool unwritten(const struct result *r, size_t cell) {
    for (size_t i = 0; i < r->cell_bytes; ++i) {
        if ((r->coverage->stores[cell * r->cell_bytes + i] & 127) == 0) {
            return true;
        }
    }
    return false;
}

static struct step step_between(const struct result *r, size_t from, size_t to) {
    return (struct step){(int64_t)(to / r->n1) - (int64_t)(from / r->n1),
                         (int64_t)(to % r->n1) - (int64_t)(from % r->n1), 1};
}

static struct step *find_step(const struct result *r, struct step like) {
    for (size_t i = 0; i < r->step_count; ++i) {
        if (r->steps[i].tokens == like.tokens && r->steps[i].rows == like.rows) {
            return &r->steps[i];
        }
    }
    return NULL;
}

static uint64_t thread_of(const struct stages *s, size_t cell) {
    return (uint64_t)s->owners[cell].block << 32 | s->owners[cell].thread;
}

/* Another cell of the same thread that should have had these bits, by a step that many cells took; SIZE_MAX: none. */
static size_t cell_with(const struct stages *s, const struct result *r, size_t cell) {
    for (size_t i = 0; i < r->step_count; ++i) {
        const int64_t token = (int64_t)(cell / r->n1) + r->steps[i].tokens,
                      row = (int64_t)(cell % r->n1) + r->steps[i].rows;
        if (r->steps[i].cells * SHARE < r->strayed || token < 0 || row < 0 || (uint64_t)token >= r->n0 ||
            (uint64_t)row >= r->n1) {
            continue;
        }
        const size_t other = (size_t)token * r->n1 + (size_t)row;
        if (thread_of(s, cell) == thread_of(s, other) && word_at(r->want, other) == word_at(r->buffer->data, cell)) {
            return other;
        }
    }
    return SIZE_MAX;
}

/* Zeros are anywhere: they show no step. */
static void count_steps(const struct stages *s, struct result *r, size_t cell) {
    const struct bits_cell like = {thread_of(s, cell), word_at(r->buffer->data, cell), 0};
    size_t lo = 0, hi = like.bits << 1 != 0 ? r->cells : 0;
    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;
        if (by_bits(&r->sorted[mid], &like) < 0) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    for (;
         lo < r->cells && like.bits << 1 != 0 && r->sorted[lo].thread == like.thread && r->sorted[lo].bits == like.bits;
         ++lo) {
        const struct step step = step_between(r, cell, r->sorted[lo].cell);
        struct step *known = find_step(r, step);
        if (known != NULL) {
            ++known->cells;
        } else if (r->step_count < MOST_STEPS) {
            r->steps[r->step_count++] = step;
        }
    }
}

static bool foreign(const struct stages *s, const struct result *r, size_t cell) {
    const struct cell_owner *o = s->owners != NULL ? &s->owners[cell] : NULL;
    const struct cell_writer *w = &r->coverage->cells[cell].last;
    return o != NULL && o->thread > 0 && !o->several && (w->block != o->block || w->thread + 1 != o->thread);
}

/* Zero where an accumulator beside it is of a cell that does not exist: such a one may have been stored in its place.
 */
static bool from_edge(const struct stages *s, const struct result *r, size_t cell) {
    return s->owners != NULL && r->cell_bytes == 4 && s->owners[cell].edge && word_at(r->buffer->data, cell) == 0;
}

static bool right(const struct result *r, size_t cell) {
    return memcmp(r->buffer->data + cell * r->cell_bytes, r->want + cell * r->cell_bytes, r->cell_bytes) == 0;
}

static void find_steps(const struct stages *s, struct result *r) {
    if (r->sorted == NULL) {
        return;
    }
    r->steps = must_calloc(MOST_STEPS, sizeof *r->steps);
    for (size_t c = 0; c < r->cells; ++c) {
        if (!right(r, c) && !unwritten(r, c) && !foreign(s, r, c)) {
            ++r->strayed;
            count_steps(s, r, c);
        }
    }
}

/* 'u' nobody stored it, 'o' another thread did, 's' it has the bits of another cell, 'r' other bits, 'e' from_edge, 0
 * right. */
static char fault_of(const struct stages *s, const struct result *r, size_t cell) {
    return unwritten(r, cell)                  ? 'u'
           : foreign(s, r, cell)               ? 'o'
           : right(r, cell)                    ? 0
           : cell_with(s, r, cell) != SIZE_MAX ? 's'
           : from_edge(s, r, cell)             ? 'e'
                                               : 'r';
}

/* What the wrong rows or tokens consumed instead, by their bits. */
static char *consumed_text(const struct stages *s, const struct trace *t, const uint8_t *wrong) {
    const struct contract *c = s->trial->contract;
    const struct evidence e = {.launch = s->content.launch,
                               .trace = t,
                               .contract = c,
                               .operands = &s->trial->operands->view,
                               .result = s->bound->result,
                               .complete = true};
    return c->weight != NULL && strcmp(c->result, "f32") == 0 ? probe_matrix(&e, s->bound->result, wrong) : NULL;
}

static void describe(struct stages *s, const struct trace *t, const struct result *r, enum stage_kind kind,
                     const uint8_t *wrong, const char *kinds, size_t first) {
    const bool matrix = r->n1 > 1 || s->owners != NULL;
    struct finding *out =
        findings_add(&s->x->faults, stage_names[kind], kinds[first] == 'u' ? VERDICT_UNWRITTEN : VERDICT_DIFFERS);
    struct pattern p = pattern_of(wrong, r->n0, r->n1, matrix ? "token" : "cell", matrix ? "row" : NULL);
    const unsigned bytes = r->cell_bytes < 8 ? (unsigned)r->cell_bytes : 8;
    const struct cell_writer *w = &r->coverage->cells[first].last;
    out->where.buffer = must_strdup(r->buffer->name);
    out->where.offset = (int64_t)(first * r->cell_bytes);
    if (matrix) {
        out->where.cell[0] = (int64_t)(first / r->n1);
        out->where.cell[1] = (int64_t)(first % r->n1);
        out->where.axis[0] = "token";
        out->where.axis[1] = "row";
        out->summary = must_format("%s at token %zu, row %zu", r->buffer->name, first / r->n1, first % r->n1);
    } else {
        out->where.cell[0] = (int64_t)first;
        out->where.axis[0] = "element";
        out->summary = must_format("%s at element %zu", r->buffer->name, first);
    }
    finding_line(out, "first", "%s", out->summary);
    out->has_values = true;
    out->value_bytes = bytes;
    out->value_is_float = r->buffer->is_f32;
    out->want = cell_value(r->want + first * r->cell_bytes, bytes);
    out->got = cell_value(r->buffer->data + first * r->cell_bytes, bytes);
    char *want = cell_text(out->want, bytes, r->buffer->is_f32), *got = cell_text(out->got, bytes, r->buffer->is_f32);
    finding_line(out, "want", "%s   got %s", want, got);
    const char *suspects = "order, rounding, or operand of the scales' products: their words, rows or sub-blocks";
    if (kinds[first] == 'u') {
        finding_line(out, "by", "nobody: the cell was never stored");
        suspects = "tail mask, tile count, or a fragment column that is never stored";
    } else {
        where_writer(&out->where, s->content.launch, t, w);
        const size_t other = kinds[first] == 's' ? cell_with(s, r, first) : SIZE_MAX;
        if (kinds[first] == 'o') {
            const struct cell_owner *owner = &s->owners[first];
            const uint32_t *grid = s->content.launch->grid, *by = out->where.block;
            finding_line(out, "by",
                         "block (%u,%u,%u) warp %u lane %u, but block (%u,%u,%u) warp %u lane %u has its accumulator",
                         by[0], by[1], by[2], out->where.warp, out->where.lane, owner->block % grid[0],
                         owner->block / grid[0] % grid[1], owner->block / grid[0] / grid[1], (owner->thread - 1) / 32,
                         (owner->thread - 1) % 32);
            suspects =
                "row or column of the store: the map of the accumulators is another one (m16n8: lane / 4, 2 (lane "
                "% 4))";
        } else if (other != SIZE_MAX) {
            finding_line(out, "holds", "the value of token %zu, row %zu", other / r->n1, other % r->n1);
            suspects = "accumulators of one thread exchanged in the store";
        }
        finding_line(out, "site", "%s  %s", where_text(&out->where), out->where.instruction);
    }
    finding_line(out, "shape", "%s", p.text);
    const bool rescaled = kind == STAGE_RESCALE && s->owners != NULL;
    char *words = rescaled ? scales_text(s, r->buffer->data, r->want, wrong) : NULL;
    char *consumed = rescaled ? consumed_text(s, t, wrong) : NULL;
    if (words != NULL) {
        finding_line(out, "scales", "%s", words);
        suspects = "word offset in the load of the scales, or another word of a wide load taken";
    }
    if (rescaled && r->from_edges) {
        finding_line(out, "but",
                     "all wrong ones are zero, and their threads have accumulators of cells that do not "
                     "exist: those may have been stored here");
    } else if (rescaled && memchr(kinds, 's', r->cells) != NULL) {
        finding_line(out, "but",
                     "values were stored in the cells of others too (store): these are the cells that they "
                     "came to");
    }
    if (consumed != NULL) {
        finding_line(out, "probe", "%s", consumed);
    }
    finding_line(out, "suspect", "%s", suspects);
    out->suspects = must_strdup(suspects);
    free(p.text), free(want), free(got), free(words), free(consumed);
}

static void report_kind(struct stages *s, const struct trace *t, const struct result *r, enum stage_kind kind,
                        const char *kinds) {
    uint8_t *wrong = must_calloc(r->cells, 1);
    size_t count = 0, first = 0;
    for (size_t c = 0; c < r->cells; ++c) {
        wrong[c] = kind == STAGE_RESCALE ? kinds[c] == 'r' : kinds[c] != 0 && kinds[c] != 'r';
        first = wrong[c] && count == 0 ? c : first;
        count += wrong[c];
    }
    if (count > 0) {
        describe(s, t, r, kind, wrong, kinds, first);
    }
    stage_judged(s, kind, "cells", r->cells, count);
    free(wrong);
}

static void sort_cells(const struct stages *s, struct result *r) {
    if (s->owners == NULL || r->cell_bytes != 4) {
        return;
    }
    r->sorted = must_calloc(r->cells, sizeof *r->sorted);
    for (size_t c = 0; c < r->cells; ++c) {
        r->sorted[c] = (struct bits_cell){thread_of(s, c), word_at(r->want, c), c};
    }
    qsort(r->sorted, r->cells, sizeof *r->sorted, by_bits);
}

/* Why wrong bits cannot be laid to the rescaling: something before it was not judged, and so not put right. */
static const char *unclear(const struct stages *s) {
    return s->x->stages[STAGE_FRAGMENTS].ruling == RULING_NOT_JUDGED ||
                   s->x->stages[STAGE_SUMS].ruling == RULING_NOT_JUDGED
               ? "the result is wrong, and so may be fragments or sums, which were not judged"
           : s->x->stages[STAGE_STAGING].ruling == RULING_NOT_JUDGED
               ? "the result is wrong, and so may be the staged scales, which were not judged"
               : NULL;
}

void result_report(struct stages *s, const struct trace *t, const uint8_t *result) {
    const struct bound *b = s->bound;
    const char *why = result == NULL || b->result == SIZE_MAX ? "there is no contract"
                      : !trace_complete(t)                    ? "the launch did not run to its end"
                                                              : NULL;
    if (why != NULL) {
        stage_skip(s, STAGE_RESCALE, must_strdup(why));
        stage_skip(s, STAGE_STORE, must_strdup(why));
        return;
    }
    const struct launch_buffer *buffer = &b->launch.buffers[b->result];
    struct result r = {.buffer = buffer,
                       .coverage = &t->coverage[b->result],
                       .want = result,
                       .cell_bytes = buffer->cell_bytes,
                       .cells = buffer->bytes / buffer->cell_bytes,
                       .n1 = 1};
    const bool matrix = s->trial->contract->weight != NULL && strcmp(s->trial->contract->result, "f32") == 0;
    r.n1 = matrix ? s->trial->operands->view.od : 1;
    r.n0 = r.cells / r.n1;
    sort_cells(s, &r);
    find_steps(s, &r);
    char *kinds = must_calloc(r.cells, 1);
    size_t rescaled = 0, exchanged = 0, edges = 0;
    for (size_t c = 0; c < r.cells; ++c) {
        kinds[c] = fault_of(s, &r, c);
        exchanged += kinds[c] == 's';
        edges += kinds[c] == 'e';
    }
    for (size_t c = 0; c < r.cells; ++c) {
        kinds[c] = kinds[c] == 'e' ? (exchanged > 0 ? 's' : 'r') : kinds[c];
        rescaled += kinds[c] == 'r';
    }
    r.from_edges = edges > 0 && edges == rescaled;
    if (rescaled > 0 && unclear(s) != NULL) {
        stage_skip(s, STAGE_RESCALE, must_strdup(unclear(s)));
    } else {
        report_kind(s, t, &r, STAGE_RESCALE, kinds);
    }
    report_kind(s, t, &r, STAGE_STORE, kinds);
    free(kinds);
    free(r.sorted);
    free(r.steps);
}
