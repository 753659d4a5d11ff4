#include "orders.h"
#include "../ref/checked.h"
#include <stdlib.h>
#include <string.h>

enum { SPARE_STEPS = 1 << 22 }; /* what a block of another order may take past four times what all took in order */

static uint64_t lesser(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

bool orders_run(const struct trial *t, const struct trace *first, struct orders *o, struct error *e) {
    static const struct schedule schedules[ORDERS_MAX] = {{.order = SCHEDULE_REVERSED},
                                                          {.order = SCHEDULE_RANDOM, .seed = 1}};
    for (*o = (struct orders){.count = 0}; o->count < ORDERS_MAX;) {
        struct bound *b = &o->bounds[o->count];
        struct trace *trace = &o->traces[o->count];
        if (!bind_launch(t->spec, t->module, t->shape, t->operands, t->seed, b, e)) {
            return false;
        }
        b->launch.threads = t->threads;
        b->launch.options = t->options;
        b->launch.step_budget = b->launch.step_budget ? b->launch.step_budget : LAUNCH_STEP_BUDGET;
        if (trace_complete(first)) {
            b->launch.step_budget = lesser(b->launch.step_budget, 4 * first->warp_instructions + SPARE_STEPS);
        }
        b->launch.options.schedule = schedules[o->count];
        struct schedule_run *run = &o->runs[o->count++];
        *run = (struct schedule_run){.launch = &b->launch, .trace = trace};
        schedule_name(&b->launch.options.schedule, run->name);
        struct error why;
        if (!t->runner->run(&b->launch, trace, &why)) {
            return fail(e, "%.1500s (schedule %s)", why.text, run->name);
        }
        run->complete = trace_complete(trace);
    }
    return true;
}

void orders_free(struct orders *o) {
    for (size_t i = 0; i < o->count; ++i) {
        trace_free(&o->traces[i]);
        bound_free(&o->bounds[i]);
    }
    o->count = 0;
}

/* The same fault, seen in two runs; a race may be seen from either side. */
static bool same_event(const struct trace *t, const struct event *a, const struct event *b) {
    if (a->kind != b->kind || a->space != b->space || a->buffer != b->buffer || a->plane != b->plane) {
        return false;
    }
    return (trace_same_line(t, a->instruction, b->instruction) &&
            (!a->other.present || !b->other.present ||
             trace_same_line(t, a->other.instruction, b->other.instruction))) ||
           (a->other.present && b->other.present && trace_same_line(t, a->instruction, b->other.instruction) &&
            trace_same_line(t, a->other.instruction, b->instruction));
}

static bool has_event(const struct trace *t, const struct event *v) {
    for (size_t i = 0; i < t->event_count; ++i) {
        if (same_event(t, &t->events[i], v)) {
            return true;
        }
    }
    return false;
}

static bool same_text(const char *a, const char *b) {
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* One fault: the same judge at the same place; or two judges that say the same of one buffer at a place that is known.
 * Oracle schedule tells what a fault does, not where it is made, so it does not speak for another judge. */
static bool same_finding(const struct finding *a, const struct finding *b) {
    const struct where *x = &a->where, *y = &b->where;
    const bool same_place = same_text(x->buffer, y->buffer) && same_text(x->file, y->file) && x->line == y->line &&
                            (x->file != NULL || x->ptx_line == y->ptx_line);
    const bool twice = strcmp(a->oracle, "coverage") == 0 && a->verdict == VERDICT_HAZARD;
    if (twice && strcmp(b->oracle, "coverage") == 0 && b->verdict == VERDICT_HAZARD &&
        same_text(x->buffer, y->buffer) && x->offset == y->offset) {
        return true; /* one cell, and the other of its stores came last */
    }
    const bool known_place = x->buffer != NULL && (x->file != NULL || x->ptx_line > 0);
    return a->verdict == b->verdict && same_place &&
           (strcmp(a->oracle, b->oracle) == 0 || (known_place && strcmp(a->oracle, "schedule") != 0));
}

static bool is_known(const struct findings *known, size_t count, const struct finding *f) {
    for (size_t i = 0; i < count; ++i) {
        if (same_finding(&known->items[i], f)) {
            return true;
        }
    }
    return false;
}

/* Takes a finding over, naming the schedule. */
static void take(struct findings *into, const struct finding *f, const char *schedule) {
    struct finding *copy = findings_add(into, f->oracle, f->verdict);
    *copy = *f;
    char *summary = must_format("%s (in schedule %s)", f->summary != NULL ? f->summary : f->oracle, schedule);
    free(copy->summary);
    copy->summary = summary;
    if (copy->line_count < FINDING_LINES) {
        finding_line(copy, "order", "seen in schedule %s, not in order", schedule);
    }
}

/* Judges by the bytes of a run, which oracle schedule compares, or by counts, which are those of the first run. */
static bool judges_bytes(const struct oracle *o) {
    static const char *const names[] = {"parity", "truth", "schedule", "census"};
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        if (strcmp(o->name, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

void orders_judge(const struct evidence *first, size_t run, struct outcome *out) {
    const struct schedule_run *this = &first->others[run];
    struct trace trace = *this->trace; /* with the events that are new */
    trace.events = must_calloc(trace.event_count + 1, sizeof *trace.events);
    trace.event_count = 0;
    for (size_t i = 0; i < this->trace->event_count; ++i) {
        bool known = this->trace->events[i].kind == EVENT_STEP_BUDGET || /* oracle schedule says it */
                     has_event(first->trace, &this->trace->events[i]);
        for (size_t k = 0; k < run && !known; ++k) {
            known = has_event(first->others[k].trace, &this->trace->events[i]);
        }
        if (!known) {
            trace.events[trace.event_count++] = this->trace->events[i];
        }
    }
    struct evidence e = *first;
    e.launch = this->launch;
    e.trace = &trace;
    e.complete = this->complete;
    e.first = first->trace;
    const size_t before = out->findings.count;
    struct findings rest = {0};
    for (size_t i = 0; oracles[i] != NULL; ++i) {
        struct findings found = {0};
        if (!judges_bytes(oracles[i])) {
            oracles[i]->judge(&e, &found);
        }
        for (size_t k = 0; k < found.count; ++k) {
            const struct finding *f = &found.items[k];
            if (is_known(&out->findings, before, f)) {
                *findings_add(&rest, f->oracle, f->verdict) = *f;
            } else {
                take(&out->findings, f, this->name);
                out->rulings[i] = RULING_FOUND;
            }
        }
        free(found.items);
        found.items = NULL;
        found.count = 0;
        findings_free(&found); /* its notes: those of the first run are enough */
    }
    findings_free(&rest);
    free(trace.events);
    if (out->findings.count > before) {
        strcpy(out->rerun_schedule, out->rerun_schedule[0] == 0 ? this->name : "all");
    }
}
