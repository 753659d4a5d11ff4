#include "tomography_launch.h"
#include "../ref/checked.h"
#include "sequence.h"
#include <stdlib.h>
#include <string.h>

enum { STEPS_OF_FIRST = 8, STEPS_LEAST = 1 << 16 }; /* a coded launch may take so many times what the first took */

/* Why it has no result, in a word or two. */
static const char *stopped(const struct sequence *s) {
    const struct trace *t = sequence_last(s)->trace;
    if (trace_refused(t)) {
        return "the launch asks for more than the architecture has, and was refused";
    }
    if (t->device_fault != NULL) {
        return "the GPU stopped the launch";
    }
    for (size_t i = 0; i < t->event_count; ++i) {
        switch (t->events[i].kind) {
        case EVENT_STEP_BUDGET:
            return "the kernel did not come to its end: a block ran past its budget of steps";
        case EVENT_DEADLOCK:
            return "the kernel did not come to its end: warps wait at a barrier that never fills";
        case EVENT_TRAP:
        case EVENT_ASSERT:
            return "the kernel stopped itself: a trap or a failed assertion";
        default:
            break;
        }
    }
    return "the kernel did not come to its end";
}

static void bound_steps(const struct prober *p, struct bound *b) {
    const uint64_t budgets[] = {p->steps, p->trial->steps};
    for (size_t i = 0; i <= b->then_count; ++i) {
        struct launch *l = bound_launch(b, i);
        for (size_t k = 0; k < 2; ++k) {
            const uint64_t own = l->step_budget > 0 ? l->step_budget : LAUNCH_STEP_BUDGET;
            l->step_budget = budgets[k] > 0 && budgets[k] < own ? budgets[k] : l->step_budget;
        }
    }
}

static uint64_t steps_of(const struct sequence *s) {
    uint64_t most = 0;
    for (size_t i = 0; i < s->count; ++i) {
        const uint64_t n = s->traces[i].warp_instructions;
        most = n > most ? n : most;
    }
    return STEPS_OF_FIRST * most + STEPS_LEAST;
}

static enum probe_end run(struct prober *p, struct bound *b, struct error *e) {
    struct sequence s = {0};
    struct launch_options options = p->trial->options;
    options.unwatched = WATCH_ALL & ~p->watch;
    options.census = false;
    options.probe = NULL;
    bound_options(b, p->trial->threads, &options);
    bound_steps(p, b);
    if (!bound_check(b, e) || !sequence_run(p->trial->runner, b, &s, e)) {
        return PROBE_FAILED;
    }
    ++p->out->launches;
    --p->budget;
    p->last_steps = 0;
    for (size_t i = 0; i < s.count; ++i) {
        p->last_steps += s.traces[i].warp_instructions;
        for (size_t k = 0; k < s.traces[i].event_count; ++k) {
            p->strayed |= s.traces[i].events[k].kind == EVENT_OUT_OF_BOUNDS;
        }
    }
    enum probe_end end = PROBE_RAN;
    if (!sequence_complete(&s)) {
        free(p->out->why);
        p->out->why = must_strdup(stopped(&s));
        end = PROBE_STOPPED;
    } else if (p->steps == 0 && !sequence_last(&s)->trace->on_gpu) {
        p->steps = steps_of(&s);
    }
    sequence_free(&s);
    return end;
}

enum probe_end probe_launch(struct prober *p, const struct contract_operands *op,
                            void (*before)(struct bound *b, void *context), void *context, struct bound *b,
                            struct error *e) {
    const struct trial *t = p->trial;
    struct operands o = {0};
    if (p->budget == 0) {
        return PROBE_SPENT;
    }
    if (op != NULL && !kernel_operands(t->contract, op, &o, e)) {
        return PROBE_FAILED;
    }
    /* of a canary build the plain one: the guards say nothing about what is consumed */
    if (!bind_launch(t->spec, t->plain != NULL ? t->plain : t->module, &p->shape, op != NULL ? &o : NULL, t->seed, b,
                     e)) {
        return PROBE_FAILED;
    }
    if (before != NULL) {
        before(b, context);
    }
    const enum probe_end end = run(p, b, e);
    if (end != PROBE_RAN) {
        bound_free(b);
    } else if (op != NULL) { /* the caller frees the rest */
        for (size_t i = 0; i < b->launch.buffer_count; ++i) {
            uint8_t **data = &b->launch.buffers[i].data;
            *data = *data == o.weight || *data == o.activation ? NULL : *data;
        }
        b->lent = NULL;
    }
    return end;
}

enum probe_end probe_operands(struct prober *p, const struct contract_operands *op, uint8_t *got, uint8_t *want,
                              size_t bytes, struct error *e) {
    struct bound b;
    const enum probe_end end = probe_launch(p, op, NULL, NULL, &b, e);
    if (end == PROBE_RAN) {
        memcpy(got, b.launch.buffers[b.result].data, bytes);
        bound_free(&b);
        p->trial->contract->evaluate(op, want);
    }
    return end;
}
