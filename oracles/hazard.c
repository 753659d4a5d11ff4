/* hazard: accesses of one byte by two threads that nothing orders, and copies that are touched in flight. The machine
 * finds them (gpu/machine/hazard.c has the argument why a clean run is clean in every order); two stores of different
 * bytes to one cell of an output are coverage's. Two stores of the same bytes are a note, not a fault. */
#include "../gpu/canary.h"
#include "../ref/checked.h"
#include "oracle.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *place(const struct launch *l, const struct event *v, const char **kind) {
    *kind = v->plane >= 0 ? "plane " : v->buffer >= 0 ? "buffer " : v->name != NULL ? "variable " : "";
    return v->plane >= 0              ? l->planes[v->plane].name
           : v->buffer >= 0           ? l->buffers[v->buffer].name
           : v->space == SPACE_SHARED ? "shared memory"
           : v->name != NULL          ? v->name
                                      : "global memory";
}

static bool is_copy(const struct evidence *e, size_t instruction) {
    const char *text = instruction < e->trace->site_count ? e->trace->sites[instruction].text : NULL;
    return text != NULL && strstr(text, "cp.async") != NULL;
}

static bool is_nc(const struct evidence *e, size_t instruction) {
    const char *text = instruction < e->trace->site_count ? e->trace->sites[instruction].text : NULL;
    return text != NULL && strstr(text, ".nc.") != NULL;
}

/* The two are of one place, from either side. */
static bool same_pair(const struct evidence *e, const struct event *a, const struct event *b) {
    const struct trace *t = e->trace;
    return a->kind == b->kind && a->plane == b->plane && a->buffer == b->buffer && a->space == b->space &&
           ((trace_same_line(t, a->instruction, b->instruction) &&
             trace_same_line(t, a->other.instruction, b->other.instruction)) ||
            (trace_same_line(t, a->instruction, b->other.instruction) &&
             trace_same_line(t, a->other.instruction, b->instruction)));
}

static bool crosses(const struct event *v) {
    return v->across_warps || (v->other.present && v->warp != v->other.warp);
}

/* Of all accesses that raced in these two places, some are of two warps. */
static bool across_warps(const struct evidence *e, const struct event *v) {
    bool across = crosses(v);
    for (size_t i = 0; i < e->trace->event_count && !across; ++i) {
        across = crosses(&e->trace->events[i]) && same_pair(e, v, &e->trace->events[i]);
    }
    return across;
}

/* Some accesses of shared memory race between warps, wherever. */
static bool any_across_warps(const struct evidence *e) {
    bool any = false;
    for (size_t i = 0; i < e->trace->event_count && !any; ++i) {
        const struct event *x = &e->trace->events[i];
        any = x->kind == EVENT_RACE && x->space == SPACE_SHARED && crosses(x);
    }
    return any;
}

static size_t address_of(const char *text, const char **start) {
    *start = text != NULL ? strchr(text, '[') : NULL;
    return *start != NULL ? strcspn(*start, "]") : 0;
}

/* A load and a store of one address by one source line, the load first: threads that load, change and store it. */
static bool is_update(const struct evidence *e, const struct event *v) {
    const size_t load = v->store ? v->other.instruction : v->instruction,
                 store = v->store ? v->instruction : v->other.instruction;
    if (v->store == v->other.store || load >= e->trace->site_count || store >= e->trace->site_count ||
        !trace_same_line(e->trace, load, store)) {
        return false;
    }
    const struct trace_site *x = &e->trace->sites[load], *y = &e->trace->sites[store];
    const char *from, *to;
    const size_t n = address_of(x->text, &from), m = address_of(y->text, &to);
    return n > 0 && n == m && memcmp(from, to, n) == 0 && x->ptx_line < y->ptx_line;
}

/* In the program, whatever the order of execution is. */
static bool stands_before(const struct evidence *e, size_t a, size_t b) {
    const struct trace *t = e->trace;
    return a < t->site_count && b < t->site_count && t->sites[a].ptx_line < t->sites[b].ptx_line;
}

struct mistake {
    const char *cause, *text;
};

static struct mistake mistake_of(const struct evidence *e, const struct event *v) {
    const struct event_access *o = &v->other;
    if (v->kind == EVENT_ASYNC_EXIT) {
        return (struct mistake){
            "exit", "a copy that is issued and never waited for: commit it, and wait for all groups before the end"};
    }
    if (v->kind == EVENT_ASYNC_PENDING && !o->store) {
        return (struct mistake){
            "source",
            "the source of a copy is stored to before its wait: store after cp.async.wait_group, and a barrier"};
    }
    if (v->kind == EVENT_ASYNC_PENDING) {
        return (struct mistake){
            "wait", v->store ? "a stage is refilled while its copy is in flight: one stage too few, or a missing wait"
                             : "the count of cp.async.wait_group is too high, or the wait comes after the access"};
    }
    if (is_nc(e, v->instruction) || is_nc(e, o->instruction)) {
        return (struct mistake){"nc", "ld.global.nc (__restrict__, __ldg) of memory that the same kernel writes"};
    }
    if (memcmp(v->block, o->block, sizeof v->block) != 0) {
        return (struct mistake){
            "blocks", "blocks do not wait for each other: split the launch, or order them by atomics and fences"};
    }
    if (v->instruction == o->instruction && v->warp == o->warp && v->store && o->store) {
        return (struct mistake){"lanes", "two lanes own one element: lane map, stride or mask"};
    }
    if (is_copy(e, v->instruction)) {
        return (struct mistake){
            "barrier",
            "the copy overwrites what others may still use: a __syncthreads() after the last use, or one stage more"};
    }
    if (is_copy(e, o->instruction)) {
        return (struct mistake){
            "barrier",
            "the wait covers a thread's own copies only: a missing __syncthreads() after cp.async.wait_group"};
    }
    if (is_update(e, v)) {
        return (struct mistake){
            "update",
            "threads load, change and store one address: an atomic, or an address of its own for each thread"};
    }
    if (!across_warps(e, v) && any_across_warps(e)) {
        return (struct mistake){
            "barrier", "a missing __syncthreads() between the two: these are of one warp, others race between warps"};
    }
    if (!across_warps(e, v)) {
        return (struct mistake){"warp", "a missing __syncwarp() between the two (shuffles and votes order no memory)"};
    }
    return (struct mistake){
        "barrier", o->store || v->warp == o->warp
                       ? "a missing __syncthreads() between the two, or a barrier that not all of the warps share"
                   : !stands_before(e, v->instruction, o->instruction)
                       ? "a missing __syncthreads() after the last load and before the next store"
                       : "a missing __syncthreads() between this store and this load (in a loop: or after the load, "
                         "before the next store)"};
}

/* An earlier event is of the same two instructions, seen from the other side. */
static bool mirrored(const struct evidence *e, size_t i) {
    const struct event *v = &e->trace->events[i];
    for (size_t k = 0; k < i; ++k) {
        const struct event *x = &e->trace->events[k];
        if (x->kind == v->kind && x->plane == v->plane && x->buffer == v->buffer && x->space == v->space &&
            x->instruction == v->other.instruction && x->other.instruction == v->instruction) {
            return true;
        }
    }
    return false;
}

static char *summary_of(const struct evidence *e, const struct event *v) {
    const char *kind, *name = place(e->launch, v, &kind);
    char *mine = access_text(e, v->instruction, v->bytes, v->store), *text;
    char *others = access_text(e, v->other.instruction, v->other.bytes, v->other.store);
    switch (v->kind) {
    case EVENT_RACE:
        text = must_format("%s at byte %" PRId64 " of %s%s races with a%s %s", mine, v->offset, kind, name,
                           others[0] == '8' ? "n" : "", others);
        break;
    case EVENT_ASYNC_PENDING:
        text = must_format("%s at byte %" PRId64 " of %s%s, %s", mine, v->offset, kind, name,
                           v->other.store ? "where a cp.async is still in flight"
                                          : "which a cp.async in flight still has to read");
        break;
    default:
        text = must_format("a thread ends with a cp.async in flight");
        break;
    }
    free(mine);
    free(others);
    return text;
}

static void add_other(const struct evidence *e, struct finding *f, const struct event_access *o) {
    struct where *p = must_calloc(1, sizeof *p);
    *p = (struct where){.cell = {-1, -1}};
    where_site(p, e->trace, o->instruction);
    finding_line(f, "other", "block (%u,%u,%u) warp %u lane %u at %s  %s", o->block[0], o->block[1], o->block[2],
                 o->warp, o->lane, where_text(p), p->instruction != NULL ? p->instruction : "");
    f->other = p;
}

static void note_benign(const struct evidence *e, struct findings *out) {
    for (size_t i = 0; i < e->trace->event_count; ++i) {
        const struct event *v = &e->trace->events[i];
        if (v->kind != EVENT_BENIGN_RACE || event_repeats(e, i) || mirrored(e, i)) {
            continue;
        }
        const char *kind, *name = place(e->launch, v, &kind);
        struct where p = {.cell = {-1, -1}};
        where_site(&p, e->trace, v->instruction);
        findings_note(out, "benign: threads store the same bytes to %s%s with nothing to order them, at %s  %s", kind,
                      name, where_text(&p), p.instruction != NULL ? p.instruction : "");
        free(p.file);
        free(p.inlined_file);
        free(p.instruction);
    }
}

/* What leaves the order open are the atomics by which the guards of a canary build count their changed words. The
 * kernel's own are told of the plain build. */
static bool open_by_guards(const struct evidence *e) {
    struct canary_report r;
    return strstr(e->trace->order_open, "atomic or volatile accesses") != NULL && canary_read(e->launch, &r) &&
           r.changed > 0;
}

extern const struct oracle oracle_hazard;

static enum ruling judge(const struct evidence *e, struct findings *out) {
    const uint32_t mine = oracle_hazard.watches;
    if ((e->launch->options.unwatched & mine) == mine || e->trace->on_gpu) {
        return RULING_NOT_JUDGED;
    }
    bool found = false;
    for (size_t i = 0; i < e->trace->event_count; ++i) {
        const struct event *v = &e->trace->events[i];
        if (v->kind != EVENT_RACE && v->kind != EVENT_ASYNC_PENDING && v->kind != EVENT_ASYNC_EXIT) {
            continue;
        }
        if (event_repeats(e, i) || mirrored(e, i)) {
            continue;
        }
        found = true;
        const struct mistake m = mistake_of(e, v);
        struct finding *f = finding_of_event(out, "hazard", VERDICT_HAZARD, e, i, summary_of(e, v), m.text);
        f->cause = m.cause;
        if (v->kind != EVENT_ASYNC_EXIT) {
            const char *kind;
            f->where.buffer = must_strdup(place(e->launch, v, &kind));
            f->where.offset = v->offset;
        }
        f->unordered_load = v->space == SPACE_SHARED && v->other.present && v->store != v->other.store;
        if (v->other.present) {
            add_other(e, f, &v->other);
        }
    }
    note_benign(e, out);
    if (!found && e->complete && e->trace->order_open != NULL && !open_by_guards(e)) {
        findings_note(out, "not proved for every order: %s", e->trace->order_open);
    }
    return found ? RULING_FOUND : RULING_CLEAN;
}

const struct oracle oracle_hazard = {
    .name = "hazard",
    .about = "no two threads touch one byte in an order that nothing fixes, and no copy in flight is touched",
    .watches = WATCH_HAZARDS | WATCH_ASYNC,
    .judge = judge,
};
