/* coverage: every output cell is written, once. OUT buffers are filled with poison before the launch; the machine also
 * counts the stores of every byte and keeps who made them. A cell stored with different bytes by different blocks, or
 * by different threads of one block with no barrier in between, is a race (HAZARD), unless fences and strong accesses
 * may order the stores, as those of a lock do; stored twice with the same bytes it
 * is the benign class that clamped duplicate rows make: kept in the trace, not red. Of several launches the last one
 * shows what none has written; one may store again what another stored, so races are looked for in each alone. */
#include "../ref/checked.h"
#include "oracle.h"
#include "pattern.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* How the cells of a buffer lie: (n0, n1) with the axes of where_cell. */
static void grid_of(const struct evidence *e, size_t buffer, size_t *n0, size_t *n1, struct where *axes) {
    const struct launch_buffer *b = &e->launch->buffers[buffer];
    *axes = (struct where){.cell = {-1, -1}};
    where_cell(axes, e, buffer, 0);
    free(axes->buffer);
    axes->buffer = NULL;
    const size_t cells = b->bytes / b->cell_bytes;
    const bool matrix = axes->axis[1] != NULL && strcmp(axes->axis[1], "row") == 0;
    *n1 = matrix ? e->operands->od : 1;
    *n0 = cells / *n1;
    if (!matrix) {
        axes->axis[0] = "cell";
        axes->axis[1] = NULL;
    }
}

struct holes { /* cells that are not written, or not all of their bytes; and how many bytes those lack */
    size_t cells, none, part, least, most;
};

static char *holes_text(const struct holes *h, const struct launch_buffer *b) {
    if (h->part == 0) {
        return must_format("%zu of %zu cell%s of %s never written", h->none, h->cells, plural(h->cells), b->name);
    }
    char *lack = h->least == h->most ? must_format("%zu", h->most) : must_format("%zu to %zu", h->least, h->most);
    char *none = h->none > 0 ? must_format(", and %zu never written", h->none) : must_strdup("");
    char *text = must_format("%zu of %zu cell%s of %s written in part, without %s of %s %zu byte%s%s", h->part,
                             h->cells, plural(h->cells), b->name, lack, h->part == 1 ? "its" : "their", b->cell_bytes,
                             plural(b->cell_bytes), none);
    free(lack);
    free(none);
    return text;
}

/* The store of the written cell that is nearest, or NULL. */
static struct where *nearest_store(const struct evidence *e, size_t buffer, size_t cell) {
    const size_t cells = e->launch->buffers[buffer].bytes / e->launch->buffers[buffer].cell_bytes;
    struct launch_run by;
    for (size_t d = 1; d < cells; ++d) {
        for (int side = 0; side < 2; ++side) {
            const size_t at = side == 0 ? cell - d : cell + d; /* before the first one: wraps past the end */
            if (at < cells && evidence_store(e, buffer, at, &by)) {
                struct where *w = must_calloc(1, sizeof *w);
                *w = (struct where){.cell = {-1, -1}};
                where_writer(w, by.launch, by.trace, &by.trace->coverage[buffer].cells[at].last);
                w->launch = by.number;
                return w;
            }
        }
    }
    return NULL;
}

static bool judge_unwritten(const struct evidence *e, size_t buffer, struct findings *out) {
    const struct launch_buffer *b = &e->launch->buffers[buffer];
    struct holes h = {.cells = b->bytes / b->cell_bytes, .least = b->cell_bytes};
    uint8_t *wrong = must_calloc(h.cells, 1);
    size_t first = h.cells;
    for (size_t c = 0; c < h.cells; ++c) {
        const size_t bytes = evidence_unwritten(e, buffer, c);
        if (bytes == 0) {
            continue;
        }
        wrong[c] = 1;
        first = first == h.cells ? c : first;
        if (bytes == b->cell_bytes) {
            ++h.none;
            continue;
        }
        ++h.part;
        h.least = bytes < h.least ? bytes : h.least;
        h.most = bytes > h.most ? bytes : h.most;
    }
    if (first < h.cells) {
        size_t n0, n1;
        struct where axes;
        grid_of(e, buffer, &n0, &n1, &axes);
        struct pattern p = pattern_of(wrong, n0, n1, axes.axis[0], axes.axis[1], evidence_fragments(e));
        struct finding *f = findings_add(out, "coverage", VERDICT_UNWRITTEN);
        where_cell(&f->where, e, buffer, first);
        f->wrong = wrong_map_of(wrong, n0, n1, axes.axis[0], axes.axis[1]);
        f->summary = holes_text(&h, b);
        f->extent = h.none + h.part;
        f->missing = true;
        f->other = nearest_store(e, buffer, first);
        const char *suspects =
            h.none == h.cells ? "nothing was written: empty grid, early return, or the wrong output argument"
            : h.none == 0     ? "a store narrower than an element, or a `type` in the launch file that is wider"
            : p.suspects      ? p.suspects
                              : "tail mask, tile count or a fragment column that is never stored";
        f->suspects = must_strdup(suspects);
        finding_line(f, h.part > 0 ? "part" : "never", "%s", f->summary);
        finding_line(f, "shape", "%s", p.text);
        free(p.text);
    }
    free(wrong);
    return first < h.cells;
}

static bool judge_twice(const struct evidence *e, size_t buffer, struct findings *out) {
    const struct launch_buffer *b = &e->launch->buffers[buffer];
    const struct buffer_coverage *c = &e->trace->coverage[buffer];
    size_t count = 0, first = 0;
    for (size_t i = 0; i < b->bytes; i += b->cell_bytes) {
        const struct cell_history *h = &c->cells[i / b->cell_bytes];
        bool differ = false;
        for (size_t k = 0; k < b->cell_bytes; ++k) {
            differ |= c->stores[i + k] >> 7;
        }
        if (!h->settled && (h->raced || (differ && h->first.block != h->last.block))) {
            first = count == 0 ? i / b->cell_bytes : first;
            ++count;
        }
    }
    if (count == 0) {
        return false;
    }
    const struct cell_history *h = &c->cells[first];
    struct finding *f = findings_add(out, "coverage", VERDICT_HAZARD);
    where_cell(&f->where, e, buffer, first);
    where_writer(&f->where, e->launch, e->trace, &h->last);
    f->summary =
        must_format("%zu cell%s of %s stored by different threads with different bytes and nothing to order them",
                    count, plural(count), b->name);
    f->extent = count;
    f->suspects = must_strdup("two threads or blocks own one cell: tile origin, lane map, or a missing tail mask");
    char *a = writer_text(e->launch, e->trace, &h->first), *z = writer_text(e->launch, e->trace, &h->last);
    finding_line(f, "twice", "%s", f->summary);
    finding_line(f, "first", "cell %zu by %s", first, a);
    finding_line(f, "last", "cell %zu by %s", first, z);
    free(a);
    free(z);
    return true;
}

static enum ruling judge(const struct evidence *e, struct findings *out) {
    if (!e->complete || e->launch->options.unwatched & WATCH_STORES) {
        return RULING_NOT_JUDGED; /* half a result says nothing that the reason for the stop does not say better */
    }
    bool found = false;
    for (size_t i = 0; i < e->launch->buffer_count; ++i) {
        if (e->launch->buffers[i].bytes == 0) {
            continue;
        }
        if (e->launch->buffers[i].role == BUFFER_OUT && !e->follows) {
            found |= judge_unwritten(e, i, out);
        }
        if (e->launch->buffers[i].role != BUFFER_IN && e->trace->has_coverage) {
            found |= judge_twice(e, i, out);
        }
    }
    return found ? RULING_FOUND : RULING_CLEAN;
}

const struct oracle oracle_coverage = {
    .name = "coverage",
    .about = "every output cell is written, and by one thread",
    .watches = WATCH_STORES,
    .judge = judge,
};
