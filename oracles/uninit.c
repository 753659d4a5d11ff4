/* uninit: nothing is read before it is written: shared memory, outputs, registers and local memory hold what was there
 * before the launch, so the result differs from run to run. */
#include "../ref/checked.h"
#include "oracle.h"
#include <inttypes.h>
#include <stdlib.h>

static char *what(const struct evidence *e, const struct event *v) {
    const struct launch *l = e->launch;
    if (v->space == SPACE_REGISTER) {
        return must_format("register %s is used, and its value was never defined%s", v->name ? v->name : "?",
                           v->other.present ? ": it comes from local memory that nothing has written" : "");
    }
    char *place = v->plane >= 0              ? must_format("plane %s", l->planes[v->plane].name)
                  : v->buffer >= 0           ? must_format("buffer %s", l->buffers[v->buffer].name)
                  : v->space == SPACE_LOCAL  ? must_strdup("local memory")
                  : v->space == SPACE_SHARED ? must_strdup("shared memory")
                                             : must_strdup("memory");
    char *access = access_text(e, v->instruction, v->bytes, v->store);
    char *text = must_format("%s: byte %" PRId64 " of %s was never written", access, v->offset, place);
    free(access);
    free(place);
    return text;
}

static const char *suspects_of(const struct launch *l, const struct event *v) {
    switch (v->space) {
    case SPACE_REGISTER:
        return v->other.present ? "a variable or an element of a local array that no path here has set"
                                : "a variable without a value on some path: an accumulator that is not cleared, or a "
                                  "branch that sets it";
    case SPACE_GLOBAL:
        if (v->buffer >= 0 && l->buffers[v->buffer].role == BUFFER_SCRATCH) {
            return "a part of the scratch that nothing has stored yet: a plane, a tail or a launch is missing before "
                   "it";
        }
        return "an output that is read as an input: call it `inout` and fill it, or clear it first";
    default:
        return "a tile or a tail that is not filled, a store that is missing, or a load past what was stored";
    }
}

static bool races_in(const struct trace *t, const struct event *v) {
    for (size_t i = 0; t != NULL && i < t->event_count; ++i) {
        const struct event *r = &t->events[i];
        if (r->kind == EVENT_RACE && r->space == v->space && r->plane == v->plane && r->buffer == v->buffer &&
            (trace_same_line(t, r->instruction, v->instruction) ||
             (r->other.present && trace_same_line(t, r->other.instruction, v->instruction)))) {
            return true;
        }
    }
    return false;
}

/* A race of this very line, in whichever order it was seen: in this order the read came before the first store of the
 * bytes. That is one fault, and oracle hazard names it. */
static bool is_race(const struct evidence *e, const struct event *v) {
    bool races = races_in(e->trace, v) || races_in(e->first != NULL ? e->first->trace : NULL, v);
    for (size_t i = 0; i < e->other_count && !races; ++i) {
        races = races_in(e->others[i].trace, v);
    }
    return races;
}

static enum ruling judge(const struct evidence *e, struct findings *out) {
    if (e->launch->options.unwatched & WATCH_UNINIT || e->trace->on_gpu) {
        return RULING_NOT_JUDGED;
    }
    bool found = false;
    for (size_t i = 0; i < e->trace->event_count; ++i) {
        const struct event *v = &e->trace->events[i];
        if (v->kind != EVENT_UNINITIALISED || event_repeats(e, i) || is_race(e, v)) {
            continue;
        }
        struct finding *f =
            finding_of_event(out, "uninit", VERDICT_HAZARD, e, i, what(e, v), suspects_of(e->launch, v));
        f->where.buffer = must_strdup(v->space == SPACE_REGISTER ? (v->name ? v->name : "register")
                                      : v->plane >= 0            ? e->launch->planes[v->plane].name
                                      : v->buffer >= 0           ? e->launch->buffers[v->buffer].name
                                      : v->space == SPACE_LOCAL  ? "local memory"
                                                                 : "shared memory");
        f->where.offset = v->offset;
        if (v->other.present) {
            struct where load = {.cell = {-1, -1}};
            where_site(&load, e->trace, v->other.instruction);
            finding_line(f, "loaded", "%s  %s", where_text(&load), load.instruction ? load.instruction : "");
            free(load.file);
            free(load.inlined_file);
            free(load.instruction);
        }
        found = true;
    }
    return found ? RULING_FOUND : RULING_CLEAN;
}

const struct oracle oracle_uninit = {
    .name = "uninit",
    .about = "no register and no byte of shared, local or output memory is read before it is written",
    .watches = WATCH_UNINIT,
    .judge = judge,
};
