/* rescale and store: what the right sums become, and where it goes. Where the mma are known, every value that is stored
 * is followed back to the accumulator it comes from (gpu/probe.h), through registers, shuffles and shared memory: so
 * each value is judged by the cell that it was computed for, and each cell by whose value it has.
 *
 *   rescale  a value whose bits are not those that the contract gives its own cell
 *   store    a cell that nobody stored, or that has wrong bits and the value of another cell, or of no accumulator
 *
 * A cell with the right bits is right, whoever stored it. Where a value cannot be followed, wrong bits are not judged.
 */
#include "../ref/checked.h"
#include "pattern.h"
#include "probe.h"
#include "stage_scales.h"
#include "stages.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* What a cell is, by its letter: 0 right, KIND_... else. */
enum kind {
    KIND_RIGHT,
    KIND_UNWRITTEN,
    KIND_OTHER,   /* the value of another accumulator */
    KIND_NOTHING, /* a value of no accumulator, and there is one */
    KIND_OWN,     /* its own value, and that is wrong */
    KIND_UNKNOWN, /* wrong bits; whose value it is cannot be told */
    KIND_UNSUMMED /* wrong bits, its own value, and its sum was wrong and not put right */
};

struct result { /* a matrix of f32, or a plain sequence of cells */
    const struct launch_buffer *buffer;
    const struct buffer_coverage *coverage;
    const uint8_t *want;
    size_t cells, n0, n1, cell_bytes;
    uint8_t *kind;   /* (cells) enum kind */
    uint8_t *value;  /* (cells, cell_bytes) the value that was computed for a cell, wherever it was stored */
    uint8_t *wrong;  /* (cells) it was seen, and is wrong */
    uint8_t *seen;   /* (cells) */
    size_t *carrier; /* (cells) the cell it was stored in */
};

static bool unwritten(const struct result *r, size_t cell) {
    for (size_t i = 0; i < r->cell_bytes; ++i) {
        if ((r->coverage->stores[cell * r->cell_bytes + i] & 127) == 0) {
            return true;
        }
    }
    return false;
}

static const uint8_t *bits_at(const uint8_t *bytes, const struct result *r, size_t cell) {
    return bytes + cell * r->cell_bytes;
}

static bool right(const struct result *r, size_t cell) {
    return memcmp(bits_at(r->buffer->data, r, cell), bits_at(r->want, r, cell), r->cell_bytes) == 0;
}

/* The cell whose accumulator the value of `cell` comes from; SIZE_MAX: none that exists, or not known. */
static size_t source_of(const struct stages *s, const struct result *r, size_t cell) {
    const uint32_t origin = s->owners != NULL ? s->owners[cell].origin : ORIGIN_MIXED;
    return origin >= ORIGIN_CELL && origin - ORIGIN_CELL < r->cells ? origin - ORIGIN_CELL : SIZE_MAX;
}

static enum kind kind_of(const struct stages *s, const struct result *r, size_t cell) {
    const struct cell_owner *o = s->owners != NULL ? &s->owners[cell] : NULL;
    return unwritten(r, cell)                        ? KIND_UNWRITTEN
           : right(r, cell)                          ? KIND_RIGHT
           : o == NULL                               ? KIND_OWN
           : !o->stored || o->origin == ORIGIN_MIXED ? KIND_UNKNOWN
           : o->origin == 0                          ? (o->count > 0 ? KIND_NOTHING : KIND_UNKNOWN)
           : source_of(s, r, cell) != cell           ? KIND_OTHER
           : sums_unsure(s, cell)                    ? KIND_UNSUMMED
                                                     : KIND_OWN;
}

/* Every value that is in some cell, under the cell it was computed for: its own one when that has it. */
static void find_values(const struct stages *s, struct result *r) {
    for (size_t c = 0; c < r->cells; ++c) {
        memcpy(r->value + c * r->cell_bytes, bits_at(r->want, r, c), r->cell_bytes);
        r->kind[c] = (uint8_t)kind_of(s, r, c);
        r->seen[c] = r->kind[c] == KIND_RIGHT || r->kind[c] == KIND_OWN;
        r->wrong[c] = r->kind[c] == KIND_OWN;
        r->carrier[c] = c;
        if (r->wrong[c]) {
            memcpy(r->value + c * r->cell_bytes, bits_at(r->buffer->data, r, c), r->cell_bytes);
        }
    }
    for (size_t c = 0; c < r->cells; ++c) {
        const size_t own = r->kind[c] == KIND_OTHER ? source_of(s, r, c) : SIZE_MAX;
        if (own == SIZE_MAX || r->seen[own] || sums_unsure(s, own)) {
            continue;
        }
        r->seen[own] = 1;
        r->carrier[own] = c;
        r->wrong[own] = memcmp(bits_at(r->buffer->data, r, c), bits_at(r->want, r, own), r->cell_bytes) != 0;
        memcpy(r->value + own * r->cell_bytes, bits_at(r->buffer->data, r, c), r->cell_bytes);
    }
}

/* What the wrong rows or tokens consumed instead, by their bits. */
static char *consumed_text(const struct stages *s, const struct trace *t, const struct result *r) {
    const struct contract *c = s->trial->contract;
    struct launch launch = *s->content.launch;
    struct launch_buffer *buffers = must_calloc(launch.buffer_count, sizeof *buffers);
    memcpy(buffers, launch.buffers, launch.buffer_count * sizeof *buffers);
    buffers[s->bound->result].data = r->value;
    launch.buffers = buffers;
    const struct evidence e = {.launch = &launch,
                               .trace = t,
                               .contract = c,
                               .operands = &s->trial->operands->view,
                               .result = s->bound->result,
                               .complete = true};
    char *text =
        c->weight != NULL && strcmp(c->result, "f32") == 0 ? probe_matrix(&e, s->bound->result, r->wrong) : NULL;
    free(buffers);
    return text;
}

/* ---- words ---- */

static struct finding *begin(struct stages *s, const struct result *r, enum stage_kind stage, enum verdict v,
                             size_t cell, const uint8_t *got) {
    struct finding *out = findings_add(&s->x->faults, stage_names[stage], v);
    const unsigned bytes = r->cell_bytes < 8 ? (unsigned)r->cell_bytes : 8;
    out->where.buffer = must_strdup(r->buffer->name);
    out->where.offset = (int64_t)(cell * r->cell_bytes);
    if (r->n1 > 1 || s->owners != NULL) {
        out->where.cell[0] = (int64_t)(cell / r->n1);
        out->where.cell[1] = (int64_t)(cell % r->n1);
        out->where.axis[0] = "token";
        out->where.axis[1] = "row";
        out->summary = must_format("%s at token %zu, row %zu", r->buffer->name, cell / r->n1, cell % r->n1);
    } else {
        out->where.cell[0] = (int64_t)cell;
        out->where.axis[0] = "element";
        out->summary = must_format("%s at element %zu", r->buffer->name, cell);
    }
    finding_line(out, "first", "%s", out->summary);
    out->has_values = true;
    out->value_bytes = bytes;
    out->value_is_float = r->buffer->is_f32;
    out->want = cell_value(bits_at(r->want, r, cell), bytes);
    out->got = cell_value(got, bytes);
    char *want = cell_text(out->want, bytes, r->buffer->is_f32), *have = cell_text(out->got, bytes, r->buffer->is_f32);
    finding_line(out, "want", "%s   got %s", want, have);
    free(want), free(have);
    return out;
}

static void shape_line(const struct stages *s, const struct result *r, const uint8_t *wrong, struct finding *out) {
    const bool matrix = r->n1 > 1 || s->owners != NULL;
    struct pattern p = pattern_of(wrong, r->n0, r->n1, matrix ? "token" : "cell", matrix ? "row" : NULL, false);
    finding_line(out, "shape", "%s", p.text);
    out->extent = p.wrong;
    out->missing = out->verdict == VERDICT_UNWRITTEN;
    free(p.text);
}

static void suspect_line(struct finding *out, const char *suspects) {
    if (suspects != NULL) {
        finding_line(out, "suspect", "%s", suspects);
        out->suspects = must_strdup(suspects);
    }
}

static size_t first_of(const uint8_t *wrong) {
    size_t first = 0;
    while (!wrong[first]) {
        ++first;
    }
    return first;
}

/* The thread has an accumulator of the cell. */
static bool is_owner(const struct cell_owner *o, const struct cell_writer *w) {
    bool some = o->count > OWNERS; /* not noted */
    for (uint32_t i = 0; i < o->count && i < OWNERS; ++i) {
        some |= o->by[i].block == w->block && o->by[i].thread == w->thread + 1;
    }
    return some;
}

/* It is summed in several threads, each a part of the depth. */
static bool in_parts(const struct stages *s, size_t cell) {
    return s->owners[cell].count > 1 && !sums_unsure(s, cell) && s->owners[cell].depth < s->trial->operands->view.id;
}

/* What all cells with others' values have in common. */
static const char *store_suspects(const struct stages *s, const struct result *r) {
    bool within = true, moved = true;
    for (size_t c = 0; c < r->cells; ++c) {
        if (r->kind[c] != KIND_OTHER) {
            continue;
        }
        const size_t own = source_of(s, r, c);
        const struct cell_writer *w = &r->coverage->cells[c].last;
        const bool from = own == SIZE_MAX || is_owner(&s->owners[own], w);
        within &= is_owner(&s->owners[c], w) && from && !in_parts(s, c);
        moved &= from && !in_parts(s, c);
    }
    return within  ? "accumulators of one thread exchanged in the store"
           : moved ? "row or column of the store: the map of the accumulators is another one (m16n8: lane / 4, 2 (lane "
                     "% 4))"
                   : "the index of the store, or where values are handed on to it (shared memory, shuffles)";
}

static void describe_store(struct stages *s, const struct trace *t, const struct result *r, enum kind kind,
                           const uint8_t *wrong) {
    const size_t cell = first_of(wrong), own = source_of(s, r, cell);
    const struct cell_writer *w = &r->coverage->cells[cell].last;
    struct finding *out = begin(s, r, STAGE_STORE, kind == KIND_UNWRITTEN ? VERDICT_UNWRITTEN : VERDICT_DIFFERS, cell,
                                bits_at(r->buffer->data, r, cell));
    if (kind == KIND_UNWRITTEN) {
        finding_line(out, "by", "nobody: the cell was never stored");
    } else {
        where_writer(&out->where, s->content.launch, t, w);
        if (kind == KIND_NOTHING) {
            finding_line(out, "holds", "a value that no accumulator went into");
        } else if (own == SIZE_MAX) {
            finding_line(out, "holds", "a value whose accumulator is of no cell: past the last token or row");
        } else {
            finding_line(out, "holds", "the value of token %zu, row %zu", own / r->n1, own % r->n1);
        }
        const struct cell_owner *o = &s->owners[cell];
        if (o->count > 0 && !is_owner(o, w) && (own == SIZE_MAX || is_owner(&s->owners[own], w))) {
            const uint32_t *grid = s->content.launch->grid, *by = out->where.block, owner = o->by[0].block;
            finding_line(
                out, "by", "block (%u,%u,%u) warp %u lane %u, but block (%u,%u,%u) warp %u lane %u has its accumulator",
                by[0], by[1], by[2], out->where.warp, out->where.lane, owner % grid[0], owner / grid[0] % grid[1],
                owner / grid[0] / grid[1], (o->by[0].thread - 1) / 32, (o->by[0].thread - 1) % 32);
        }
        finding_line(out, "site", "%s  %s", where_text(&out->where), out->where.instruction);
    }
    shape_line(s, r, wrong, out);
    suspect_line(out, kind == KIND_UNWRITTEN ? "tail mask, tile count, or a fragment column that is never stored"
                      : kind == KIND_OTHER   ? store_suspects(s, r)
                                             : NULL);
}

static bool some_in_parts(const struct stages *s, const struct result *r) {
    bool some = false;
    for (size_t c = 0; s->owners != NULL && c < r->cells; ++c) {
        some |= r->wrong[c] && in_parts(s, c);
    }
    return some;
}

static void describe_rescale(struct stages *s, const struct trace *t, const struct result *r) {
    const size_t cell = first_of(r->wrong);
    struct finding *out = begin(s, r, STAGE_RESCALE, VERDICT_DIFFERS, cell, bits_at(r->value, r, cell));
    where_writer(&out->where, s->content.launch, t, &r->coverage->cells[r->carrier[cell]].last);
    if (r->carrier[cell] != cell) {
        finding_line(out, "by", "its value was stored at token %zu, row %zu", r->carrier[cell] / r->n1,
                     r->carrier[cell] % r->n1);
    }
    finding_line(out, "site", "%s  %s", where_text(&out->where), out->where.instruction);
    shape_line(s, r, r->wrong, out);
    char *words = s->owners != NULL ? scales_text(s, r->value, r->want, r->wrong) : NULL;
    char *consumed = s->owners != NULL ? consumed_text(s, t, r) : NULL;
    if (words != NULL) {
        finding_line(out, "scales", "%s", words);
    }
    if (consumed != NULL) {
        finding_line(out, "probe", "%s", consumed);
    }
    suspect_line(out, words != NULL ? "word offset in the load of the scales, or another word of a wide load taken"
                      : some_in_parts(s, r)
                          ? "how the parts of a sum are put together, or what they are scaled by"
                          : "the scales' words, rows or sub-blocks, order or rounding, or what is added to the sums");
    free(words), free(consumed);
}

/* ---- ruling ---- */

static size_t count_kind(const struct result *r, enum kind kind, uint8_t *wrong) {
    size_t count = 0;
    for (size_t c = 0; c < r->cells; ++c) {
        wrong[c] = r->kind[c] == (uint8_t)kind;
        count += wrong[c];
    }
    return count;
}

static char *unknown_text(size_t cells) {
    return must_format("%zu wrong cells have values of several accumulators, or of such as cannot be followed (through "
                       "local memory, calls, or a buffer that the launch writes)",
                       cells);
}

static void judge_store(struct stages *s, const struct trace *t, const struct result *r) {
    static const enum kind kinds[] = {KIND_UNWRITTEN, KIND_NOTHING, KIND_OTHER};
    uint8_t *wrong = must_calloc(r->cells, 1);
    size_t total = 0;
    const size_t unknown = count_kind(r, KIND_UNKNOWN, wrong), own = count_kind(r, KIND_OWN, wrong);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i) {
        const size_t count = count_kind(r, kinds[i], wrong);
        total += count;
        if (count > 0) {
            describe_store(s, t, r, kinds[i], wrong);
        }
    }
    if (total == 0 && unknown > 0) {
        stage_skip(s, STAGE_STORE, unknown_text(unknown));
    } else if (total == 0 && own > 0 && s->owners == NULL) {
        stage_skip(s, STAGE_STORE,
                   must_strdup("the result is wrong, and which cell a value was computed for is not known"));
    } else {
        stage_judged(s, STAGE_STORE, "cells", r->cells - unknown, total);
    }
    free(wrong);
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

static void judge_rescale(struct stages *s, const struct trace *t, const struct result *r) {
    uint8_t *some = must_calloc(r->cells, 1);
    const size_t unknown = count_kind(r, KIND_UNKNOWN, some), unsummed = count_kind(r, KIND_UNSUMMED, some);
    size_t seen = 0, wrong = 0;
    for (size_t c = 0; c < r->cells; ++c) {
        seen += r->seen[c];
        wrong += r->wrong[c];
    }
    if (wrong > 0 && unclear(s) != NULL) {
        stage_skip(s, STAGE_RESCALE, must_strdup(unclear(s)));
    } else if (wrong == 0 && unknown > 0) {
        stage_skip(s, STAGE_RESCALE, unknown_text(unknown));
    } else if (wrong == 0 && unsummed > 0) {
        stage_skip(s, STAGE_RESCALE, must_format("the sums of %zu wrong cells lack mma", unsummed));
    } else if (seen == 0) {
        stage_skip(s, STAGE_RESCALE, must_strdup("no value that was stored comes from an accumulator"));
    } else {
        if (wrong > 0) {
            describe_rescale(s, t, r);
        }
        stage_judged(s, STAGE_RESCALE, "cells", seen, wrong);
    }
    free(some);
}

void result_report(struct stages *s, const struct trace *t, const uint8_t *result) {
    const struct bound *b = s->bound;
    const char *why = result == NULL || b->result == SIZE_MAX ? "there is no contract"
                      : s->trial->spec->then_count > 0
                          ? "other launches follow, and the result is judged as they leave it"
                      : !trace_complete(t) ? "the launch did not run to its end"
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
    r.kind = must_calloc(r.cells, 1);
    r.value = must_calloc(r.cells + 1, r.cell_bytes);
    r.wrong = must_calloc(r.cells, 1);
    r.seen = must_calloc(r.cells, 1);
    r.carrier = must_calloc(r.cells, sizeof *r.carrier);
    find_values(s, &r);
    judge_rescale(s, t, &r);
    judge_store(s, t, &r);
    free(r.kind), free(r.value), free(r.wrong), free(r.seen), free(r.carrier);
}
