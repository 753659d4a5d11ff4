#include "kernel_run.h"
#include "sequence.h"
#include <stdlib.h>

bool kernel_operands(const struct contract *c, const struct contract_operands *op, struct operands *o,
                     struct error *e) {
    const struct operands_request request = {
        .contract = c, .nt = op->nt, .od = op->od, .id = op->id, .split = op->split, .data = DATA_FILE};
    if (!operands_measure(&request, o, e))
        return false;
    o->weight = (uint8_t *)op->weight;
    o->activation = (uint8_t *)op->activation;
    o->view.weight = op->weight;
    o->view.activation = op->activation;
    o->lent = true;
    return true;
}

/* Two stores of the same value are no fault, nor is an instruction without an exact model: its bits are compared. */
static bool is_fault(enum event_kind kind) {
    return kind != EVENT_BENIGN_RACE && kind != EVENT_APPROXIMATE && kind != EVENT_LITERATURE;
}

static bool run_bound(const struct kernel_call *k, struct bound *b, struct kernel_result *r, struct error *e) {
    struct sequence runs;
    bound_options(b, k->threads, k->options);
    if (!bound_check(b, e) || !sequence_run(k->runner, b, &runs, e))
        return false;
    struct launch_buffer *result = &b->launch.buffers[b->result];
    *r = (struct kernel_result){.bytes = result->data, .count = result->bytes, .faulty = !sequence_complete(&runs)};
    result->data = NULL;
    for (size_t i = 0; i < runs.count; i++) {
        const struct trace *t = &runs.traces[i];
        r->macs += t->macs;
        r->warp_instructions += t->warp_instructions;
        r->seconds += t->seconds;
        for (size_t k = 0; k < t->event_count; k++)
            r->faulty |= is_fault(t->events[k].kind);
    }
    sequence_free(&runs);
    return true;
}

bool kernel_run(const struct kernel_call *k, const struct contract_operands *op, struct kernel_result *r,
                struct error *e) {
    struct operands o;
    struct bound b;
    struct shape_value values[3];
    *r = (struct kernel_result){0};
    if (!kernel_operands(contract_named(k->spec->contract), op, &o, e))
        return false;
    const struct shape shape = operands_shape(&o, values);
    if (!bind_launch(k->spec, k->module, &shape, &o, 1, &b, e))
        return false;
    const bool good = run_bound(k, &b, r, e);
    bound_free(&b);
    return good;
}
