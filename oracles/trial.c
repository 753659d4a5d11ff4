#include "trial.h"
#include "../gpu/canary.h"
#include "../gpu/digest.h"
#include "../ref/checked.h"
#include "orders.h"
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

/* The closed forms of one launch for this shape; the caller frees them. NULL after an error. */
static struct expected_count *evaluate_counts(const struct spec *s, const struct shape *shape, struct error *e) {
    struct expected_count *counts = must_calloc(s->count_count + 1, sizeof *counts);
    for (size_t i = 0; i < s->count_count; ++i) {
        counts[i].name = s->counts[i].name;
        if (!spec_eval(s->counts[i].value, shape, &counts[i].value, e)) {
            free(counts);
            return NULL;
        }
    }
    return counts;
}

/* What one judge made of several launches: clean where it judged each. */
static enum ruling join(enum ruling a, enum ruling b) {
    return a == RULING_FOUND || b == RULING_FOUND             ? RULING_FOUND
           : a == RULING_NOT_JUDGED || b == RULING_NOT_JUDGED ? RULING_NOT_JUDGED
                                                              : RULING_CLEAN;
}

/* A launch has nothing for this judge: the result is there after the last one, and counts are given of others. */
static bool passes_over(const struct oracle *o, const struct evidence *e, const struct spec *s) {
    return strcmp(o->name, "parity") == 0 || strcmp(o->name, "truth") == 0
               ? e->follows
               : strcmp(o->name, "census") == 0 && s->count_count == 0;
}

/* Of a launch that was refused only that can be judged. */
static enum ruling rule(const struct oracle *o, const struct evidence *e, struct findings *out) {
    return trace_refused(e->trace) && strcmp(o->name, "launch") != 0 ? RULING_NOT_JUDGED : o->judge(e, out);
}

/* No launch alone did it; a cell's bits are laid to the one that stored them, if one did and it is known. */
static bool of_whole(const struct finding *f) {
    const bool bits = strcmp(f->oracle, "parity") == 0 || strcmp(f->oracle, "truth") == 0 ||
                      (strcmp(f->oracle, "schedule") == 0 && f->where.buffer != NULL);
    return f->where.launch == 0 && (f->verdict == VERDICT_UNWRITTEN || bits);
}

/* Of several launches, findings and notes since then say which one they are of. */
static void name_launch(const struct bound *b, const struct evidence *e, size_t findings, size_t notes,
                        struct findings *all) {
    for (size_t i = findings; e->all > 1 && i < all->count; ++i) {
        struct finding *f = &all->items[i];
        if (of_whole(f)) {
            continue;
        }
        f->where.launch = f->where.launch != 0 ? f->where.launch : e->number;
        if (f->line_count < FINDING_LINES) {
            finding_line(f, "launch", "%zu of %zu: entry %s", f->where.launch, e->all,
                         bound_spec(b, f->where.launch - 1)->entry);
        }
    }
    for (size_t i = notes; e->all > 1 && i < all->note_count; ++i) {
        char *text = must_format("launch %zu of %zu: %s", e->number, e->all, all->notes[i]);
        free(all->notes[i]);
        all->notes[i] = text;
    }
}

/* e: with everything but the counts and the other orders. */
static bool judge_launch(const struct bound *b, const struct orders *orders, size_t number, struct evidence *e,
                         struct outcome *o, struct error *error) {
    struct schedule_run others[ORDERS_MAX];
    const struct spec *s = bound_spec(b, number - 1);
    const size_t findings = o->findings.count, notes = o->findings.note_count;
    struct expected_count *counts = NULL;
    struct census census;
    if (census_of(e->trace, &census)) {
        census.entry = e->all > 1 ? s->entry : NULL;
        o->censuses = must_realloc(o->censuses, o->census_count + 1, sizeof *o->censuses);
        o->censuses[o->census_count++] = census;
        e->census = &o->censuses[o->census_count - 1];
        e->count_count = s->count_count;
        e->counts = counts = evaluate_counts(s, bound_shape(b, number - 1), error);
        if (counts == NULL) {
            return false;
        }
    }
    e->others = others;
    e->other_count = orders_of_launch(orders, number, others);
    for (size_t i = 0; oracles[i] != NULL; ++i) {
        const enum ruling ruling = rule(oracles[i], e, &o->findings);
        if (!passes_over(oracles[i], e, s)) {
            o->rulings[i] = o->ruled[i] ? join(o->rulings[i], ruling) : ruling;
            o->ruled[i] = true;
        }
        o->parity_judged |= strcmp(oracles[i]->name, "parity") == 0 && ruling != RULING_NOT_JUDGED;
        if (e->other_count > 0 && strcmp(oracles[i]->name, "schedule") == 0 && ruling == RULING_FOUND) {
            strcpy(o->rerun_schedule, "all");
        }
    }
    name_launch(b, e, findings, notes, &o->findings); /* before the orders: of those what has a launch is told apart */
    const size_t told = o->findings.count, noted = o->findings.note_count;
    for (size_t i = 0; i < e->other_count; ++i) {
        orders_judge(e, i, o);
    }
    name_launch(b, e, told, noted, &o->findings);
    ++o->launches;
    free(counts);
    return true;
}

static bool judge(const struct trial *t, const struct bound *b, const struct sequence *runs, const uint8_t *result,
                  const struct orders *orders, const struct plain_run *plain, struct outcome *o, struct error *error) {
    const uint8_t **expected = must_calloc(b->launch.buffer_count + 1, sizeof *expected);
    bool good = true;
    for (size_t i = 0; i < b->launch.buffer_count; ++i) {
        expected[i] = i == b->result ? result : b->expected[i];
    }
    for (size_t i = 0; good && i < runs->count; ++i) {
        const struct launch_run *run = &runs->runs[i];
        const bool several = run->all > 1;
        struct evidence e = {
            .launch = run->launch,
            .trace = run->trace,
            .contract = t->contract,
            .operands = t->operands != NULL ? &t->operands->view : NULL,
            .expected = expected,
            .recorded = b->result == SIZE_MAX                                  ? NULL
                        : t->operands != NULL && t->operands->expected != NULL ? t->operands->expected
                                                                               : b->expected[b->result],
            .result = b->result,
            .poison = BIND_POISON,
            .complete = run->complete,
            .before = runs->runs,
            .before_count = i,
            .plain = plain,
            .number = several ? run->number : 0,
            .all = several ? run->all : 0,
            .follows = i + 1 < runs->count,
        };
        schedule_name(&run->launch->options.schedule, e.schedule);
        if (i == 0 && !run->trace->on_gpu) { /* whose order nobody knows */
            strcpy(o->schedules[o->schedule_count++], e.schedule);
            for (size_t k = 0; k < orders->count; ++k) {
                strcpy(o->schedules[o->schedule_count++], orders->names[k]);
            }
        }
        good = judge_launch(b, orders, run->number, &e, o, error);
    }
    o->judged = good;
    o->complete = sequence_complete(runs);
    o->refused = trace_refused(sequence_last(runs)->trace);
    free(expected);
    return good;
}

/* What the bits of the verdict hold up to: the places that are open in any of the entries, each looked at once. */
static void audit(const struct trial *t, const struct bound *b, struct outcome *o) {
    const struct ptx_module *module = t->plain != NULL ? t->plain : t->module;
    for (size_t i = 0; i <= b->then_count; ++i) {
        const char *entry = bound_spec(b, i)->entry;
        const struct ptx_function *f = ptx_entry_named(module, entry);
        bool seen = f == NULL;
        for (size_t k = 0; k < i; ++k) {
            seen |= strcmp(bound_spec(b, k)->entry, entry) == 0;
        }
        struct audit a;
        if (!seen) {
            audit_entry(module, f, t->options.arch, &a);
            for (int k = 0; k < AUDIT_KINDS; ++k) {
                o->audit[k] += a.count[k];
            }
            audit_free(&a);
        }
    }
}

/* What the launches counted and printed, together; takes the texts over. */
static void add_up(struct sequence *runs, struct outcome *o) {
    for (size_t i = 0; i < runs->count; ++i) {
        struct trace *t = &runs->traces[i];
        o->prints = must_realloc(o->prints, o->print_count + t->print_count + 1, sizeof *o->prints);
        for (size_t k = 0; k < t->print_count; ++k) {
            if (o->print_count < TRACE_PRINTS) {
                o->prints[o->print_count++] = t->prints[k];
                t->prints[k].text = NULL;
            }
        }
        o->print_total += t->print_total;
        o->warp_instructions += t->warp_instructions;
        o->macs += t->macs;
        o->seconds += t->seconds;
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

bool trial_bind(const struct trial *t, const struct schedule *order, struct bound *b, struct error *e) {
    struct launch_options options = t->options;
    if (!bind_launch(t->spec, t->module, t->shape, t->operands, t->seed, b, e) ||
        (t->plain != NULL && !canary_bind(b, e))) {
        return false;
    }
    options.schedule = *order;
    options.unwatched |= t->plain != NULL ? WATCH_PLANES : 0;
    bound_options(b, t->threads, &options);
    for (size_t i = 0; t->steps != 0 && i <= b->then_count; ++i) {
        struct launch *l = bound_launch(b, i);
        const uint64_t own = l->step_budget != 0 ? l->step_budget : LAUNCH_STEP_BUDGET;
        l->step_budget = t->steps < own ? t->steps : own;
    }
    return true;
}

/* ---- the plain build beside the canary build ---- */

struct plain {
    struct bound bound;
    struct sequence runs;
    const uint8_t **bytes;
    struct plain_run run;
};

/* Of its run only bytes are of interest. */
static bool plain_bind(const struct trial *t, struct plain *p, struct error *e) {
    struct launch_options options = t->options;
    options.unwatched = WATCH_ALL;
    options.census = false;
    options.probe = NULL;
    if (!bind_launch(t->spec, t->plain, t->shape, t->operands, t->seed, &p->bound, e)) {
        return false;
    }
    bound_options(&p->bound, t->threads, &options);
    return true;
}

/* "101888 B of shared memory, sm_121 gives a block 101376": the guards do not fit, the planes would; else NULL. */
static char *no_room(struct bound *canary, struct bound *plain) {
    for (size_t i = 0; i <= canary->then_count; ++i) {
        char *less = launch_excess(bound_launch(plain, i), NULL);
        char *excess = less == NULL ? launch_excess(bound_launch(canary, i), NULL) : NULL;
        free(less);
        if (excess != NULL) {
            return excess;
        }
    }
    return NULL;
}

static bool plain_run(const struct trial *t, struct plain *p, struct error *e) {
    const struct launch *l = &p->bound.launch;
    if (!sequence_run(t->runner, &p->bound, &p->runs, e)) {
        return false;
    }
    p->bytes = must_calloc(l->buffer_count + 1, sizeof *p->bytes);
    for (size_t i = 0; i < l->buffer_count; ++i) {
        p->bytes[i] = l->buffers[i].data;
    }
    p->run = (struct plain_run){.bytes = p->bytes, .complete = sequence_complete(&p->runs)};
    return true;
}

static void plain_free(struct plain *p) {
    free(p->bytes);
    sequence_free(&p->runs);
    bound_free(&p->bound);
}

/* ---- the whole ---- */

static bool run(const struct trial *t, struct bound *b, struct sequence *runs, struct plain *plain, struct outcome *o,
                struct error *e) {
    if (t->plain != NULL && (!plain_bind(t, plain, e) || !bound_check(&plain->bound, e))) {
        return false; /* before there are guards: it is about what the launch file says */
    }
    if (!trial_bind(t, &t->options.schedule, b, e) || !bound_check(b, e)) {
        return false;
    }
    if (t->digest_inputs && !digest_inputs(b, o->inputs)) {
        return fail(e, "cannot compute the SHA-256 of the inputs");
    }
    char *excess = t->plain != NULL ? no_room(b, &plain->bound) : NULL;
    if (excess != NULL) {
        o->skipped = true;
        o->why = must_format("the canary build takes %s", excess);
        free(excess);
        return true;
    }
    if (!sequence_run(t->runner, b, runs, e)) {
        return false;
    }
    const bool compared = t->plain != NULL && sequence_complete(runs);
    if (compared && !plain_run(t, plain, e)) {
        return false;
    }
    struct orders orders = {.count = 0};
    const bool more = !sequence_last(runs)->trace->on_gpu &&
                      (t->schedules == SCHEDULES_ALL || (t->schedules == SCHEDULES_OPEN && sequence_open(runs)));
    if (more && !orders_run(t, runs, &orders, e)) {
        orders_free(&orders);
        return false;
    }
    uint8_t *result = NULL;
    const bool good = (t->contract == NULL || evaluate(t, &result, e)) &&
                      judge(t, b, runs, result, &orders, compared ? &plain->run : NULL, o, e);
    if (good) {
        audit(t, b, o);
        add_up(runs, o);
        digest_outputs(&b->launch, NULL, o->digest);
    }
    free(result);
    orders_free(&orders);
    return good;
}

static struct outcome empty(const struct trial *t) {
    struct outcome o = {
        .id = must_strdup(t->id),
        .about = must_strdup(t->spec->kernel),
        .canary = t->plain != NULL,
        .on_gpu = t->runner == &runner_device,
        .unwatched = t->options.unwatched,
    };
    for (size_t i = 0; i < ORACLES_MAX; ++i) {
        o.rulings[i] = RULING_NOT_JUDGED;
    }
    return o;
}

void trial_run(const struct trial *t, struct outcome *o) {
    *o = empty(t);
    struct bound bound = {0};
    struct sequence runs = {0};
    struct plain plain = {0};
    struct error e;
    if (!run(t, &bound, &runs, &plain, o, &e)) {
        refuse(o, &e);
    }
    plain_free(&plain);
    sequence_free(&runs);
    bound_free(&bound);
}

void trial_refuse(const struct trial *t, const struct error *e, struct outcome *o) {
    *o = empty(t);
    refuse(o, e);
}
