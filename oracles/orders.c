#include "orders.h"
#include "../ref/checked.h"
#include <stdlib.h>
#include <string.h>

enum { SPARE_STEPS = 1 << 22 }; /* what a block of another order may take past four times what all took in order */

static uint64_t lesser(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

static void limit_steps(struct bound *b, const struct sequence *first) {
    for (size_t i = 0; i <= b->then_count; ++i) {
        struct launch *l = bound_launch(b, i);
        l->step_budget = l->step_budget ? l->step_budget : LAUNCH_STEP_BUDGET;
    }
    for (size_t i = 0; i < first->count; ++i) {
        const struct launch_run *run = &first->runs[i];
        struct launch *l = bound_launch(b, run->number - 1);
        if (run->complete) {
            l->step_budget = lesser(l->step_budget, 4 * run->trace->warp_instructions + SPARE_STEPS);
        }
    }
}

bool orders_run(const struct trial *t, const struct sequence *first, struct orders *o, struct error *e) {
    static const struct schedule schedules[ORDERS_MAX] = {{.order = SCHEDULE_REVERSED},
                                                          {.order = SCHEDULE_RANDOM, .seed = 1}};
    for (*o = (struct orders){.count = 0}; o->count < ORDERS_MAX;) {
        struct bound *b = &o->bounds[o->count];
        if (!trial_bind(t, &schedules[o->count], b, e)) {
            return false;
        }
        limit_steps(b, first);
        char *name = o->names[o->count];
        schedule_name(&schedules[o->count], name);
        struct error why;
        if (!sequence_run(t->runner, b, &o->sequences[o->count++], &why)) {
            return fail(e, "%.1500s (schedule %s)", why.text, name);
        }
    }
    return true;
}

size_t orders_of_launch(const struct orders *o, size_t number, struct schedule_run runs[ORDERS_MAX]) {
    size_t count = 0;
    for (size_t i = 0; i < o->count; ++i) {
        const struct sequence *s = &o->sequences[i];
        for (size_t k = 0; k < s->count; ++k) {
            const struct launch_run *x = &s->runs[k];
            if (x->number == number) {
                runs[count] = (struct schedule_run){
                    .launch = x->launch, .trace = x->trace, .complete = x->complete, .before = s->runs};
                strcpy(runs[count++].name, o->names[i]);
            }
        }
    }
    return count;
}

void orders_free(struct orders *o) {
    for (size_t i = 0; i < o->count; ++i) {
        sequence_free(&o->sequences[i]);
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
    const bool same_place = x->launch == y->launch && same_text(x->buffer, y->buffer) && same_text(x->file, y->file) &&
                            x->line == y->line && (x->file != NULL || x->ptx_line == y->ptx_line);
    const bool twice = strcmp(a->oracle, "coverage") == 0 && a->verdict == VERDICT_HAZARD;
    if (twice && strcmp(b->oracle, "coverage") == 0 && b->verdict == VERDICT_HAZARD && x->launch == y->launch &&
        same_text(x->buffer, y->buffer) && x->offset == y->offset) {
        return true; /* one cell, and the other of its stores came last */
    }
    if (strcmp(a->oracle, "canary") == 0 && strcmp(b->oracle, "canary") == 0 && (x->offset < 0) != (y->offset < 0)) {
        return false; /* the guards before and after a plane */
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
    e.first = first;
    e.before = this->before;
    const size_t before = out->findings.count;
    struct findings rest = {0};
    for (size_t i = 0; oracles[i] != NULL; ++i) {
        struct findings found = {0};
        if (!judges_bytes(oracles[i])) {
            oracles[i]->judge(&e, &found);
        }
        for (size_t k = 0; k < found.count; ++k) {
            struct finding *f = &found.items[k];
            f->where.launch = f->verdict == VERDICT_UNWRITTEN ? 0 : first->number;
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
        const bool alone = out->rerun_schedule[0] == 0 || strcmp(out->rerun_schedule, this->name) == 0;
        strcpy(out->rerun_schedule, alone ? this->name : "all");
    }
}
