#include "explain.h"
#include "../ref/checked.h"
#include "stages.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const stage_names[STAGES] = {"staging", "fragments", "sums", "rescale", "store"};

bool stage_named(const char *name, enum stage_kind *kind) {
    for (int i = 0; i < STAGES; ++i) {
        if (strcmp(name, stage_names[i]) == 0) {
            *kind = (enum stage_kind)i;
            return true;
        }
    }
    return false;
}

void stage_skip(struct stages *s, enum stage_kind kind, char *why) {
    free(s->x->stages[kind].why);
    s->x->stages[kind] = (struct stage){.ruling = RULING_NOT_JUDGED, .why = why, .unit = ""};
}

void stage_judged(struct stages *s, enum stage_kind kind, const char *unit, uint64_t compared, uint64_t wrong) {
    free(s->x->stages[kind].why);
    s->x->stages[kind] = (struct stage){
        .ruling = wrong > 0 ? RULING_FOUND : RULING_CLEAN, .unit = unit, .compared = compared, .wrong = wrong};
}

const char *block_text(const uint32_t block[3]) {
    static _Thread_local char text[64];
    snprintf(text, sizeof text, "block (%u,%u,%u)", block[0], block[1], block[2]);
    return text;
}

/* ---- the probe ---- */

static void on_barrier(void *context, const struct probe_barrier *at) {
    struct stages *s = context;
    if (!s->e.text[0]) {
        staging_barrier(s, at);
    }
}

enum { MOST_MMA = 1 << 22 }; /* about a minute */

/* Both calls of an mma come one after the other: what it must multiply is made once. */
static void on_operands(void *context, const struct probe_mma *at) {
    struct stages *s = context;
    if (s->content.spec->mma.given && !s->e.text[0] && ++s->multiplied > MOST_MMA) {
        fail(&s->e, "%s: more than %d mma to compare: a smaller shape shows the same", s->content.spec->path, MOST_MMA);
    }
    s->wanted = s->content.spec->mma.given && !s->e.text[0] && count_align(s, at);
    if (s->wanted) {
        fragments_operands(s, at, &s->want);
        sums_operands(s, at, &s->want);
    }
}

static void on_sums(void *context, const struct probe_mma *at) {
    struct stages *s = context;
    if (s->wanted) {
        sums_results(s, at, &s->want);
    } else if (s->counts != NULL) {
        count_extra(s, at);
    }
}

static void on_stored(void *context, const struct probe_store *at) {
    sums_stored(context, at);
}

/* ---- the whole ---- */

static bool is_matrix(const struct trial *t) {
    return t->contract != NULL && t->contract->weight != NULL && strcmp(t->contract->result, "f32") == 0;
}

static bool evaluate(const struct trial *t, uint8_t **result, struct error *e) {
    if (t->contract == NULL) {
        return true;
    }
    *result = malloc(t->operands->result_bytes + 1);
    if (*result == NULL) {
        return fail(e, "no memory for a result of %zu bytes", t->operands->result_bytes);
    }
    t->contract->evaluate(&t->operands->view, *result);
    return true;
}

static bool run(struct stages *s, struct bound *b, struct trace *trace, uint8_t **result, struct error *e) {
    const struct trial *t = s->trial;
    const struct probe probe = {
        .context = s, .barrier = on_barrier, .operands = on_operands, .sums = on_sums, .stored = on_stored};
    if (!bind_launch(t->spec, t->module, t->shape, t->operands, t->seed, b, e) ||
        !content_open(b, t->operands, &s->content, e)) {
        return false;
    }
    b->launch.threads = 1;
    b->launch.options = t->options;
    b->launch.options.census = false;
    b->launch.options.schedule = (struct schedule){.order = SCHEDULE_IN_ORDER};
    b->launch.options.unwatched = WATCH_ALL & ~WATCH_STORES;
    b->launch.options.probe = &probe;
    staging_open(s);
    fragments_open(s);
    sums_open(s);
    if (is_matrix(t) && t->spec->mma.given &&
        t->operands->view.nt * t->operands->view.od < ORIGIN_MIXED - ORIGIN_CELL) {
        s->owners = calloc(t->operands->view.nt * t->operands->view.od, sizeof *s->owners);
        if (s->owners == NULL) {
            return fail(e, "no memory to note the threads of a result");
        }
    }
    if (!count_open(s, e) || !runner_machine.run(&b->launch, trace, e)) {
        return false;
    }
    if (s->e.text[0]) {
        *e = s->e;
        return false;
    }
    if (!evaluate(t, result, e)) {
        return false;
    }
    s->result = *result;
    staging_report(s, trace);
    fragments_report(s, trace);
    sums_report(s, trace);
    count_report(s, trace);
    result_report(s, trace, *result);
    return true;
}

bool explain_stages(const struct trial *t, struct explanation *x, struct error *e) {
    struct bound bound = {0};
    struct trace trace = {0};
    struct stages s = {.trial = t, .bound = &bound, .x = x};
    uint8_t *result = NULL;
    *x = (struct explanation){0};
    const bool good = run(&s, &bound, &trace, &result, e);
    staging_close(&s);
    fragments_close(&s);
    sums_close(&s);
    count_close(&s);
    content_free(&s.content);
    free(s.owners);
    free(result);
    trace_free(&trace);
    bound_free(&bound);
    if (!good) {
        explanation_free(x);
    }
    return good;
}

void explanation_free(struct explanation *x) {
    for (int i = 0; i < STAGES; ++i) {
        free(x->stages[i].why);
    }
    findings_free(&x->faults);
    *x = (struct explanation){0};
}
