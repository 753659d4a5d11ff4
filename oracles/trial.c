#include "trial.h"
#include "../ref/checked.h"
#include "orders.h"
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
        .complete = trace_complete(trace),
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
    if (!trace->on_gpu) { /* whose order nobody knows */
        strcpy(o->schedules[o->schedule_count++], e.schedule);
    }
    for (size_t i = 0; i < other_count; ++i) {
        strcpy(o->schedules[o->schedule_count++], others[i].name);
        orders_judge(&e, i, o);
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
        audit_entry(t->module, f, t->options.arch, &a);
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
    if (!bound_check(b, e) || !t->runner->run(&b->launch, trace, e)) {
        return false;
    }
    struct orders orders = {.count = 0};
    const bool more = !trace->on_gpu &&
                      (t->schedules == SCHEDULES_ALL || (t->schedules == SCHEDULES_OPEN && trace->order_open != NULL));
    if (more && !orders_run(t, trace, &orders, e)) {
        orders_free(&orders);
        return false;
    }
    uint8_t *result = NULL;
    const bool good =
        (t->contract == NULL || evaluate(t, &result, e)) && judge(t, b, trace, result, orders.runs, orders.count, o, e);
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
    orders_free(&orders);
    return good;
}

static struct outcome empty(const struct trial *t) {
    return (struct outcome){
        .id = must_strdup(t->id),
        .about = must_strdup(t->spec->kernel),
        .on_gpu = t->runner == &runner_device,
        .unwatched = t->options.unwatched,
    };
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
