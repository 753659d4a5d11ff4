/* guard: every access stays inside its buffer, its arena and its plane, and is aligned; inputs are left alone. */
#include "../ref/checked.h"
#include "oracle.h"
#include <inttypes.h>
#include <stdlib.h>

static const char *space_name(enum event_space s) {
    switch (s) {
    case SPACE_GLOBAL:
        return "global memory";
    case SPACE_SHARED:
        return "shared memory";
    case SPACE_LOCAL:
        return "local memory";
    case SPACE_PARAM:
        return "parameter memory";
    case SPACE_REGISTER:
        return "a register";
    case SPACE_NONE:
        break;
    }
    return "memory";
}

static const struct ptx_variable *variable_of(const struct launch *l, const struct event *v) {
    for (size_t i = 0; v->space == SPACE_GLOBAL && v->name != NULL && i < l->module->variable_count; ++i) {
        if (l->module->variables[i].name == v->name) {
            return &l->module->variables[i];
        }
    }
    return NULL;
}

/* "plane sda_q (8192 B)", "buffer result (9240 B)", "variable table (64 B)", "the shared arena (98304 B)", "static
 * shared memory (256 B)", "shared memory (256 B static, 512 B dynamic)". */
static char *target_text(const struct launch *l, const struct event *v) {
    if (v->plane >= 0) {
        return must_format("plane %s (%zu B)", l->planes[v->plane].name, l->planes[v->plane].bytes);
    }
    if (v->buffer >= 0) {
        return must_format("buffer %s (%zu B)", l->buffers[v->buffer].name, l->buffers[v->buffer].bytes);
    }
    if (v->space == SPACE_SHARED) {
        const size_t fixed = ptx_static_shared(l->module, ptx_entry_named(l->module, l->entry));
        if (fixed && l->shared_bytes) {
            return must_format("shared memory (%zu B static, %zu B dynamic)", fixed, l->shared_bytes);
        }
        return must_format("%s (%zu B)", fixed ? "static shared memory" : "the shared arena", fixed + l->shared_bytes);
    }
    const struct ptx_variable *variable = variable_of(l, v);
    if (variable != NULL) {
        return must_format("variable %s (%zu B)", variable->name, variable->bytes);
    }
    if (v->window != SPACE_NONE) {
        return must_format("%s, which is an address of %s", space_name(v->space), space_name(v->window));
    }
    return must_strdup(space_name(v->space));
}

static const char *target_name(const struct launch *l, const struct event *v) {
    return v->plane >= 0                                 ? l->planes[v->plane].name
           : v->buffer >= 0                              ? l->buffers[v->buffer].name
           : v->space == SPACE_GLOBAL && v->name != NULL ? v->name
                                                         : space_name(v->space);
}

extern const struct oracle oracle_guard;

static enum ruling judge(const struct evidence *e, struct findings *out) {
    const struct launch *l = e->launch;
    bool found = false;
    for (size_t i = 0; i < e->trace->event_count; ++i) {
        const struct event *v = &e->trace->events[i];
        if (event_repeats(e, i)) {
            continue;
        }
        char *target = target_text(l, v);
        char *access = access_text(e, v->instruction, v->bytes, v->store);
        char *what = v->window == SPACE_NONE
                         ? must_format("%s at byte %" PRId64 " of %s", access, v->offset, target)
                         : must_format("%s at 0x%" PRIx64 " of %s", access, (uint64_t)v->offset, target);
        free(access);
        const char *suspects = NULL, *cause = NULL, *tail = "";
        char *reach = NULL;
        switch (v->kind) {
        case EVENT_OUT_OF_BOUNDS:
            tail = ": out of bounds";
            cause = "bounds";
            suspects = v->window == SPACE_NONE
                           ? "index past the end, grid or tail mask too wide, or a size taken from the wrong number"
                           : "a generic access that is written as one of global memory, or a cvta too many";
            break;
        case EVENT_BAD_TARGET: {
            const bool call = v->bytes == 8;
            found = true;
            finding_of_event(out, "guard", VERDICT_GUARD, e, i,
                             call ? must_format("a call of address 0x%" PRIx64
                                                ", which is no function with these arguments",
                                                (uint64_t)v->offset)
                                  : must_format("brx.idx with index %" PRId64 ", past its table", v->offset),
                             call ? "a function pointer that was not set, was overwritten, or is of another type"
                                  : "a switch without its range check");
            break;
        }
        case EVENT_READ_ONLY:
            tail = ": an input is written";
            cause = "input";
            suspects = "argument order, or an output that the launch file calls `in`";
            break;
        case EVENT_MISALIGNED:
            tail = ": misaligned";
            cause = "alignment";
            suspects = "the vector's width does not divide the pitch or the offset of the data";
            break;
        case EVENT_ASYNC_SIZE:
            free(what);
            what = must_format("cp.async of %zu bytes with a source size of %" PRId64, v->bytes, v->offset);
            tail = ": undefined";
            cause = "size";
            suspects = "the source size counts the bytes that are read, and is at most the copy's";
            break;
        case EVENT_PLANE:
            reach = must_format(": reaches into %s",
                                v->other_plane >= 0 ? l->planes[v->other_plane].name : "memory outside the planes");
            cause = v->offset < 0 ? "before" : "past";
            suspects = v->offset < 0 ? "negative index, or wrong base of the plane"
                       : v->store    ? "stride or vector width larger than the plane was sized for"
                                     : "offset or index past the plane in the load";
            break;
        default:
            break;
        }
        if (suspects != NULL) {
            found = true;
            struct finding *f = finding_of_event(out, "guard", VERDICT_GUARD, e, i,
                                                 must_format("%s%s", what, reach ? reach : tail), suspects);
            f->cause = cause;
            if (v->kind != EVENT_ASYNC_SIZE) {
                f->where.buffer = must_strdup(target_name(l, v));
                f->where.offset = v->offset;
            }
        }
        free(target);
        free(what);
        free(reach);
    }
    const uint32_t mine = oracle_guard.watches;
    return found ? RULING_FOUND : (e->launch->options.unwatched & mine) == mine ? RULING_NOT_JUDGED : RULING_CLEAN;
}

const struct oracle oracle_guard = {
    .name = "guard",
    .about = "accesses stay in their buffer, arena and plane, are aligned, and leave inputs alone",
    .watches = WATCH_BOUNDS | WATCH_ALIGNMENT | WATCH_PLANES,
    .judge = judge,
};
