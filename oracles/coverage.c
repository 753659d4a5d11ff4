/* coverage: every output cell is written, once. OUT buffers are filled with poison before the launch; the machine also
 * counts the stores of every byte and keeps who made them. A cell stored with different bytes by different blocks, or
 * by different threads of one block with no barrier in between, is a race (HAZARD), unless fences and strong accesses
 * may order the stores, as those of a lock do; stored twice with the same bytes it
 * is the benign class that clamped duplicate rows make: kept in the trace, not red. */
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

static bool judge_unwritten(const struct evidence *e, size_t buffer, struct findings *out) {
    const struct launch_buffer *b = &e->launch->buffers[buffer];
    const size_t cells = b->bytes / b->cell_bytes;
    uint8_t *wrong = must_calloc(cells, 1);
    size_t count = 0, first = cells;
    for (size_t c = 0; c < cells; ++c) {
        wrong[c] = evidence_unwritten(e, buffer, c);
        count += wrong[c];
        first = wrong[c] && first == cells ? c : first;
    }
    if (count > 0) {
        size_t n0, n1;
        struct where axes;
        grid_of(e, buffer, &n0, &n1, &axes);
        struct pattern p = pattern_of(wrong, n0, n1, axes.axis[0], axes.axis[1]);
        struct finding *f = findings_add(out, "coverage", VERDICT_UNWRITTEN);
        where_cell(&f->where, e, buffer, first);
        f->summary = must_format("%zu of %zu cells of %s never written", count, cells, b->name);
        const char *suspects = count == cells
                                   ? "nothing was written: empty grid, early return, or the wrong output argument"
                               : p.suspects ? p.suspects
                                            : "tail mask, tile count or a fragment column that is never stored";
        f->suspects = must_strdup(suspects);
        finding_line(f, "never", "%s", f->summary);
        finding_line(f, "shape", "%s", p.text);
        free(p.text);
    }
    free(wrong);
    return count > 0;
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
    f->summary = must_format(
        "%zu cells of %s stored by different threads with different bytes and nothing to order them", count, b->name);
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
        if (e->launch->buffers[i].role == BUFFER_OUT) {
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
    .judge = judge,
};
