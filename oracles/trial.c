#include "trial.h"
#include "../ref/checked.h"
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void refuse(struct outcome *o, const struct error *e) {
    struct finding *f = findings_add(&o->findings, "input", VERDICT_INPUT);
    f->summary = must_strdup(e->text);
    /* a message with a caret has several lines; each is a line of the report */
    char *copy = must_strdup(e->text), *rest = copy;
    for (char *line; (line = strsep(&rest, "\n")) != NULL && f->line_count < FINDING_LINES;) {
        finding_line(f, f->line_count == 0 ? "input" : "", "%s", line);
    }
    free(copy);
}

static void digest_outputs(const struct launch *l, char hex[65]) {
    unsigned char bytes[EVP_MAX_MD_SIZE];
    unsigned length = 0;
    EVP_MD_CTX *c = EVP_MD_CTX_new();
    hex[0] = 0;
    if (c == NULL || EVP_DigestInit_ex(c, EVP_sha256(), NULL) != 1) {
        EVP_MD_CTX_free(c);
        return;
    }
    for (size_t i = 0; i < l->buffer_count; ++i) {
        if (l->buffers[i].role != BUFFER_IN) {
            EVP_DigestUpdate(c, l->buffers[i].data, l->buffers[i].bytes);
        }
    }
    if (EVP_DigestFinal_ex(c, bytes, &length) == 1 && length == 32) {
        for (unsigned i = 0; i < length; ++i) {
            snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
        }
    }
    EVP_MD_CTX_free(c);
}

static bool is_complete(const struct trace *t) {
    if (t->device_fault != NULL) {
        return false;
    }
    for (size_t i = 0; i < t->event_count; ++i) {
        const enum event_kind k = t->events[i].kind;
        if (k == EVENT_TRAP || k == EVENT_DEADLOCK || k == EVENT_STEP_BUDGET || k == EVENT_LIMIT || k == EVENT_ASSERT ||
            k == EVENT_BAD_TARGET || k == EVENT_STACK) {
            return false;
        }
    }
    return true;
}

/* ---- other orders ---- */

/* One more run of the launch, with operands, buffers and trace of its own. */
struct extra {
    struct bound bound;
    struct trace trace;
};
enum { EXTRAS = OUTCOME_SCHEDULES - 1 };

static void extras_free(struct extra *extras, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        trace_free(&extras[i].trace);
        bound_free(&extras[i].bound);
    }
}

/* The launch in the orders that it has not been run in. *count: how many there are to free, also after a failure. */
static bool run_extras(const struct trial *t, struct extra *extras, struct schedule_run *runs, size_t *count,
                       struct error *e) {
    static const struct schedule orders[EXTRAS] = {{.order = SCHEDULE_REVERSED}, {.order = SCHEDULE_RANDOM, .seed = 1}};
    for (*count = 0; *count < EXTRAS;) {
        struct extra *x = &extras[*count];
        *x = (struct extra){0};
        if (!bind_launch(t->spec, t->module, t->shape, t->operands, t->seed, &x->bound, e)) {
            return false;
        }
        struct launch *l = &x->bound.launch;
        l->threads = t->threads;
        l->options = t->options;
        l->options.schedule = orders[*count];
        struct schedule_run *run = &runs[(*count)++];
        *run = (struct schedule_run){.launch = l, .trace = &x->trace};
        schedule_name(&l->options.schedule, run->name);
        struct error why;
        if (!t->runner->run(l, &x->trace, &why)) {
            return fail(e, "%.1500s (schedule %s)", why.text, run->name);
        }
        run->complete = is_complete(&x->trace);
    }
    return true;
}

static bool same_place(const struct trace *t, size_t a, size_t b) {
    if (a == b) {
        return true;
    }
    if (a >= t->site_count || b >= t->site_count) {
        return false;
    }
    const struct trace_site *x = &t->sites[a], *y = &t->sites[b];
    return x->file != NULL && y->file != NULL && x->line > 0 && x->line == y->line && strcmp(x->file, y->file) == 0;
}

/* The same fault, seen in two runs; a race may be seen from either side. */
static bool same_event(const struct trace *t, const struct event *a, const struct event *b) {
    if (a->kind != b->kind || a->space != b->space || a->buffer != b->buffer || a->plane != b->plane) {
        return false;
    }
    return (same_place(t, a->instruction, b->instruction) &&
            (!a->other.present || !b->other.present || same_place(t, a->other.instruction, b->other.instruction))) ||
           (a->other.present && b->other.present && same_place(t, a->instruction, b->other.instruction) &&
            same_place(t, a->other.instruction, b->instruction));
}

static bool same_text(const char *a, const char *b) {
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool same_finding(const struct finding *a, const struct finding *b) {
    const struct where *x = &a->where, *y = &b->where;
    return a->verdict == b->verdict && strcmp(a->oracle, b->oracle) == 0 && same_text(x->buffer, y->buffer) &&
           same_text(x->file, y->file) && x->line == y->line && (x->file != NULL || x->ptx_line == y->ptx_line);
}

static bool is_known(const struct findings *known, size_t count, const struct finding *f) {
    for (size_t i = 0; i < count; ++i) {
        if (same_finding(&known->items[i], f)) {
            return true;
        }
    }
    return false;
}

/* Takes the findings of `from` that are not known yet over into *into; they name the schedule. */
static size_t take_new(struct findings *into, struct findings *from, const char *schedule) {
    const size_t before = into->count;
    struct findings rest = {0};
    for (size_t i = 0; i < from->count; ++i) {
        struct finding *f = &from->items[i];
        struct findings *to = is_known(into, before, f) ? &rest : into;
        struct finding *copy = findings_add(to, f->oracle, f->verdict);
        *copy = *f;
        if (to == &rest) {
            continue;
        }
        char *summary = must_format("%s (in schedule %s)", f->summary != NULL ? f->summary : f->oracle, schedule);
        free(copy->summary);
        copy->summary = summary;
        if (copy->line_count < FINDING_LINES) {
            finding_line(copy, "order", "seen in schedule %s, not in order", schedule);
        }
    }
    free(from->items);
    from->items = NULL;
    from->count = 0;
    findings_free(from); /* its notes: those of the first run are enough */
    findings_free(&rest);
    return into->count - before;
}

/* What the judges say of another run's events and stores that the first run did not have. Bytes are for oracle schedule
 * to compare. */
static void judge_extra(const struct evidence *first, const struct schedule_run *run, struct outcome *o) {
    struct trace trace = *run->trace; /* with the events that are new */
    trace.events = must_calloc(run->trace->event_count + 1, sizeof *trace.events);
    trace.event_count = 0;
    for (size_t i = 0; i < run->trace->event_count; ++i) {
        bool known = false;
        for (size_t k = 0; k < first->trace->event_count && !known; ++k) {
            known = same_event(run->trace, &first->trace->events[k], &run->trace->events[i]);
        }
        if (!known) {
            trace.events[trace.event_count++] = run->trace->events[i];
        }
    }
    struct evidence e = *first;
    e.launch = run->launch;
    e.trace = &trace;
    e.complete = run->complete;
    e.other_count = 0;
    struct findings findings = {0};
    for (size_t i = 0; oracles[i] != NULL; ++i) {
        const char *name = oracles[i]->name;
        if (strcmp(name, "parity") != 0 && strcmp(name, "truth") != 0 && strcmp(name, "schedule") != 0 &&
            strcmp(name, "census") != 0) {
            const size_t before = findings.count;
            oracles[i]->judge(&e, &findings);
            o->rulings[i] = findings.count > before && o->rulings[i] == RULING_CLEAN ? RULING_FOUND : o->rulings[i];
        }
    }
    free(trace.events);
    if (take_new(&o->findings, &findings, run->name) > 0) {
        strcpy(o->rerun_schedule, o->rerun_schedule[0] == 0 ? run->name : "all");
    }
}

/* ---- */

/* The closed forms of the launch file for this shape; the caller frees them. NULL after an error. */
static struct expected_count *evaluate_counts(const struct trial *t, const struct bound *b, struct error *e) {
    struct expected_count *counts = must_calloc(t->spec->count_count + 1, sizeof *counts);
    for (size_t i = 0; i < t->spec->count_count; ++i) {
        counts[i].name = t->spec->counts[i].name;
        if (!spec_eval(t->spec->counts[i].value, &b->shape, &counts[i].value, e)) {
            free(counts);
            return NULL;
        }
    }
    return counts;
}

static bool judge(const struct trial *t, const struct bound *b, const struct trace *trace, const uint8_t *result,
                  const struct schedule_run *others, size_t other_count, struct outcome *o, struct error *error) {
    const bool counted = census_of(trace, &o->census);
    struct expected_count *counts = counted ? evaluate_counts(t, b, error) : NULL;
    if (counted && counts == NULL) {
        return false;
    }
    const uint8_t **expected = must_calloc(b->launch.buffer_count + 1, sizeof *expected);
    for (size_t i = 0; i < b->launch.buffer_count; ++i) {
        expected[i] = i == b->result ? result : b->expected[i];
    }
    struct evidence e = {
        .launch = &b->launch,
        .trace = trace,
        .contract = t->contract,
        .operands = t->operands != NULL ? &t->operands->view : NULL,
        .expected = expected,
        .recorded = b->result == SIZE_MAX                                  ? NULL
                    : t->operands != NULL && t->operands->expected != NULL ? t->operands->expected
                                                                           : b->expected[b->result],
        .result = b->result,
        .poison = BIND_POISON,
        .complete = is_complete(trace),
        .others = others,
        .other_count = other_count,
        .census = counted ? &o->census : NULL,
        .counts = counts,
        .count_count = counts != NULL ? t->spec->count_count : 0,
    };
    schedule_name(&b->launch.options.schedule, e.schedule);
    for (size_t i = 0; oracles[i] != NULL; ++i) {
        o->rulings[i] = oracles[i]->judge(&e, &o->findings);
        o->parity_judged |= strcmp(oracles[i]->name, "parity") == 0 && o->rulings[i] != RULING_NOT_JUDGED;
        if (other_count > 0 && strcmp(oracles[i]->name, "schedule") == 0 && o->rulings[i] == RULING_FOUND) {
            strcpy(o->rerun_schedule, "all");
        }
    }
    strcpy(o->schedules[o->schedule_count++], e.schedule);
    for (size_t i = 0; i < other_count; ++i) {
        strcpy(o->schedules[o->schedule_count++], others[i].name);
        judge_extra(&e, &others[i], o);
    }
    o->judged = true;
    free(expected);
    free(counts);
    return true;
}

/* What the bits of the verdict hold up to. */
static void audit(const struct trial *t, struct outcome *o) {
    const struct ptx_function *f = ptx_entry_named(t->module, t->spec->entry);
    struct audit a;
    if (f != NULL) {
        audit_entry(t->module, f, &a);
        memcpy(o->audit, a.count, sizeof o->audit);
        audit_free(&a);
    }
}

/* *result = what the contract says, owned by the caller. */
static bool evaluate(const struct trial *t, uint8_t **result, struct error *e) {
    *result = malloc(t->operands->result_bytes + 1);
    if (*result == NULL) {
        return fail(e, "no memory for a result of %zu bytes", t->operands->result_bytes);
    }
    t->contract->evaluate(&t->operands->view, *result);
    return true;
}

static bool run(const struct trial *t, struct bound *b, struct trace *trace, struct outcome *o, struct error *e) {
    if (!bind_launch(t->spec, t->module, t->shape, t->operands, t->seed, b, e)) {
        return false;
    }
    b->launch.threads = t->threads;
    b->launch.options = t->options;
    if (!t->runner->run(&b->launch, trace, e)) {
        return false;
    }
    struct extra extras[EXTRAS];
    struct schedule_run runs[EXTRAS];
    size_t extra_count = 0;
    const bool more = trace->has_coverage &&
                      (t->schedules == SCHEDULES_ALL || (t->schedules == SCHEDULES_OPEN && trace->order_open != NULL));
    if (more && !run_extras(t, extras, runs, &extra_count, e)) {
        extras_free(extras, extra_count);
        return false;
    }
    uint8_t *result = NULL;
    const bool good =
        (t->contract == NULL || evaluate(t, &result, e)) && judge(t, b, trace, result, runs, extra_count, o, e);
    if (good) {
        audit(t, o);
        o->prints = trace->prints;
        o->print_count = trace->print_count;
        o->print_total = trace->print_total;
        trace->prints = NULL;
        trace->print_count = 0;
        digest_outputs(&b->launch, o->digest);
        o->warp_instructions = trace->warp_instructions;
        o->macs = trace->macs;
        o->seconds = trace->seconds;
    }
    free(result);
    extras_free(extras, extra_count);
    return good;
}

static struct outcome empty(const struct trial *t) {
    return (struct outcome){.id = must_strdup(t->id), .about = must_strdup(t->spec->kernel)};
}

void trial_run(const struct trial *t, struct outcome *o) {
    *o = empty(t);
    struct bound bound = {0};
    struct trace trace = {0};
    struct error e;
    if (!run(t, &bound, &trace, o, &e)) {
        refuse(o, &e);
    }
    trace_free(&trace);
    bound_free(&bound);
}

void trial_refuse(const struct trial *t, const struct error *e, struct outcome *o) {
    *o = empty(t);
    refuse(o, e);
}
