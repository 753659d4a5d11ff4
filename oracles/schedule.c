/* schedule: warps, lanes of one store, asynchronous copies and blocks may take their turns in any order, and the bytes
 * of every output are the same. Where the watches prove it, one order is enough; else some others were run as well, and
 * this judge compares what they left. */
#include "../ref/checked.h"
#include "oracle.h"
#include <stdlib.h>
#include <string.h>

/* What stopped a run that is not complete. */
static const char *end_text(const struct trace *t) {
    for (size_t i = 0; i < t->event_count; ++i) {
        switch (t->events[i].kind) {
        case EVENT_TRAP:
            return "a trap";
        case EVENT_DEADLOCK:
            return "a deadlock";
        case EVENT_STEP_BUDGET:
            return "a block past its step budget";
        default:
            break;
        }
    }
    return "an early end";
}

static void describe_end(const struct evidence *e, const struct schedule_run *o, struct findings *out) {
    struct finding *f = findings_add(out, "schedule", VERDICT_HAZARD);
    f->summary = must_format("%s in schedule %s, while %s runs to its end", end_text(e->complete ? o->trace : e->trace),
                             e->complete ? o->name : e->schedule, e->complete ? e->schedule : o->name);
    f->suspects = must_strdup("warps or blocks that wait for others in an order that nothing promises");
    finding_line(f, "order", "%s", f->summary);
    const struct trace *t = e->complete ? o->trace : e->trace;
    for (size_t i = 0; i < t->event_count; ++i) {
        const struct event *v = &t->events[i];
        if (v->kind == EVENT_STEP_BUDGET || v->kind == EVENT_DEADLOCK || v->kind == EVENT_TRAP) {
            f->where.has_thread = true;
            memcpy(f->where.block, v->block, sizeof f->where.block);
            f->where.warp = v->warp;
            f->where.lane = v->lane;
            where_site(&f->where, t, v->instruction);
            finding_line(f, "by", "block (%u,%u,%u) warp %u lane %u first", v->block[0], v->block[1], v->block[2],
                         v->warp, v->lane);
            finding_line(f, "site", "%s  %s", where_text(&f->where), f->where.instruction ? f->where.instruction : "");
            return;
        }
    }
}

/* Cells of a buffer that another run left otherwise; *first is the lowest. */
static size_t differing(const struct launch_buffer *a, const struct launch_buffer *b, size_t *first) {
    const size_t n = a->cell_bytes;
    size_t count = 0;
    if (memcmp(a->data, b->data, a->bytes) == 0) {
        return 0;
    }
    for (size_t c = 0; c < a->bytes / n; ++c) {
        if (memcmp(a->data + c * n, b->data + c * n, n) != 0) {
            *first = count == 0 ? c : *first;
            ++count;
        }
    }
    return count;
}

/* "in-order   0x3f800000 1   stored by block (0,0,0) warp 0 lane 0 at x.cu:7". */
/* from: the launch that stored it; NULL: none, or it is not known. */
static void line_of_run(struct finding *f, const char *schedule, const struct launch *l, const struct trace *t,
                        const struct launch_run *from, size_t buffer, size_t cell) {
    const struct launch_buffer *b = &l->buffers[buffer];
    const size_t n = b->cell_bytes < 8 ? b->cell_bytes : 8;
    char *value = cell_text(cell_value(b->data + cell * b->cell_bytes, n), (unsigned)n, b->is_f32);
    char *by =
        from != NULL ? writer_text(from->launch, from->trace, &from->trace->coverage[buffer].cells[cell].last) : NULL;
    finding_line(f, "run", "%-10s %s   %s%s", schedule, value,
                 by != NULL        ? "stored by "
                 : t->has_coverage ? "not stored"
                                   : "(stores are not watched)",
                 by != NULL ? by : "");
    free(value);
    free(by);
}

/* The first race of that buffer, else the first one. */
static const struct event *race_of(const struct trace *t, size_t buffer) {
    const struct event *any = NULL;
    for (size_t i = 0; i < t->event_count; ++i) {
        const struct event *v = &t->events[i];
        if (v->kind == EVENT_RACE && v->other.present && v->space == SPACE_GLOBAL && v->buffer == (int)buffer) {
            return v;
        }
        any = any == NULL && v->kind == EVENT_RACE && v->other.present ? v : any;
    }
    return any;
}

static char *side_text(const struct trace *t, const uint32_t block[3], uint32_t warp, uint32_t lane, bool store,
                       size_t instruction) {
    struct where p = {.cell = {-1, -1}};
    where_site(&p, t, instruction);
    char *text = must_format("%s by block (%u,%u,%u) warp %u lane %u at %s", access_word(t, instruction, store),
                             block[0], block[1], block[2], warp, lane, where_text(&p));
    free(p.file);
    free(p.inlined_file);
    free(p.instruction);
    return text;
}

static void line_of_race(struct finding *f, const struct evidence *e, size_t buffer) {
    const struct trace *t = e->trace;
    const struct event *v = race_of(t, buffer);
    for (size_t i = 0; v == NULL && i < e->other_count; ++i) {
        t = e->others[i].trace;
        v = race_of(t, buffer);
    }
    if (v == NULL) {
        return;
    }
    char *a = side_text(t, v->block, v->warp, v->lane, v->store, v->instruction);
    char *b = side_text(t, v->other.block, v->other.warp, v->other.lane, v->other.store, v->other.instruction);
    finding_line(f, "race", "%s, and %s", a, b);
    free(a);
    free(b);
}

static void describe(const struct evidence *e, size_t buffer, const struct schedule_run *o, size_t count, size_t cell,
                     struct findings *out) {
    const struct launch_buffer *b = &e->launch->buffers[buffer];
    struct finding *f = findings_add(out, "schedule", VERDICT_HAZARD);
    struct where *w = &f->where;
    where_cell(w, e, buffer, cell);
    f->has_values = true;
    f->value_bytes = b->cell_bytes < 8 ? (unsigned)b->cell_bytes : 8;
    f->value_is_float = b->is_f32;
    f->want = cell_value(b->data + cell * b->cell_bytes, f->value_bytes);
    f->got = cell_value(o->launch->buffers[buffer].data + cell * b->cell_bytes, f->value_bytes);
    f->extent = count;
    f->summary =
        must_format("%zu of %zu cell%s of %s depend on the order: schedules %s and %s leave different bytes", count,
                    b->bytes / b->cell_bytes, plural(b->bytes / b->cell_bytes), b->name, e->schedule, o->name);
    f->suspects = must_strdup("float atomics, a missing barrier or wait, or blocks that use each other's results");
    finding_line(f, "order", "%s", f->summary);
    char *second = w->axis[1] != NULL ? must_format(", %s %lld", w->axis[1], (long long)w->cell[1]) : must_strdup("");
    finding_line(f, "first", "%s %lld%s (%s byte %lld)", w->axis[0], (long long)w->cell[0], second, b->name,
                 (long long)w->offset);
    free(second);
    struct launch_run by, own;
    const bool stored = evidence_store(e, buffer, cell, &own);
    line_of_run(f, e->schedule, e->launch, e->trace, stored ? &own : NULL, buffer, cell);
    for (size_t i = 0; i < e->other_count; ++i) {
        const struct schedule_run *x = &e->others[i];
        if (x->complete) {
            line_of_run(f, x->name, x->launch, x->trace, schedule_store(e, x, buffer, cell, &by) ? &by : NULL, buffer,
                        cell);
        }
    }
    line_of_race(f, e, buffer);
    if (stored) {
        where_writer(w, own.launch, own.trace, &own.trace->coverage[buffer].cells[cell].last);
        w->launch = own.number;
    }
}

/* Of each output one finding: the first order that leaves it otherwise than the evidence's own. */
static bool compare(const struct evidence *e, size_t buffer, struct findings *out) {
    for (size_t i = 0; i < e->other_count; ++i) {
        const struct schedule_run *o = &e->others[i];
        size_t first = 0;
        const size_t count =
            o->complete ? differing(&e->launch->buffers[buffer], &o->launch->buffers[buffer], &first) : 0;
        if (count > 0) {
            describe(e, buffer, o, count, first, out);
            return true;
        }
    }
    return false;
}

static enum ruling judge(const struct evidence *e, struct findings *out) {
    bool found = false;
    if (e->other_count == 0) { /* a GPU tells nothing of its order */
        return e->complete && !e->trace->on_gpu && e->trace->order_open == NULL ? RULING_CLEAN : RULING_NOT_JUDGED;
    }
    for (size_t i = 0; i < e->other_count && !found; ++i) {
        if (e->complete != e->others[i].complete) {
            describe_end(e, &e->others[i], out);
            found = true;
        }
    }
    for (size_t i = 0; e->complete && !e->follows && i < e->launch->buffer_count; ++i) {
        const enum buffer_role role = e->launch->buffers[i].role;
        if (role == BUFFER_OUT || role == BUFFER_INOUT) { /* what lies in scratch is no result */
            found |= compare(e, i, out);
        }
    }
    return found ? RULING_FOUND : e->complete ? RULING_CLEAN : RULING_NOT_JUDGED;
}

const struct oracle oracle_schedule = {
    .name = "schedule",
    .about = "every order of warps, lanes, copies and blocks leaves the same bytes",
    .judge = judge,
};
