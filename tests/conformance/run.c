#include "conformance.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t result_mask(const char *kind) {
    return unit_low(UINT64_MAX, kind_named(kind)->bits);
}

static const char *const event_names[EVENT_KINDS] = {
    [EVENT_OUT_OF_BOUNDS] = "out of bounds",
    [EVENT_READ_ONLY] = "store into an input",
    [EVENT_MISALIGNED] = "misaligned",
    [EVENT_PLANE] = "plane",
    [EVENT_DIVERGENT_BARRIER] = "divergent barrier",
    [EVENT_DIVERGENT_ALIGNED] = "divergent .aligned",
    [EVENT_BARRIER_OPERAND] = "barrier operand",
    [EVENT_DEADLOCK] = "deadlock",
    [EVENT_STEP_BUDGET] = "step budget",
    [EVENT_TRAP] = "trap",
    [EVENT_LIMIT] = "limit",
    [EVENT_UNINITIALISED] = "uninitialised read",
    [EVENT_RACE] = "race",
    [EVENT_BENIGN_RACE] = "benign race",
    [EVENT_ASYNC_PENDING] = "asynchronous copy not waited for",
    [EVENT_ASYNC_EXIT] = "exit with copies in flight",
    [EVENT_ASYNC_SIZE] = "source size of an asynchronous copy",
    [EVENT_ABSENT_LANE] = "absent lane",
    [EVENT_APPROXIMATE] = "approximate",
    [EVENT_LITERATURE] = "model of the literature",
    [EVENT_BAD_TARGET] = "bad target",
    [EVENT_STACK] = "stack",
    [EVENT_ASSERT] = "assertion",
};
_Static_assert(EVENT_ASSERT + 1 == EVENT_KINDS, "a kind of event without a name");

bool run_form(const struct form *f, const struct runner *runner, const char *path, const uint64_t *in, uint64_t *out,
              char event[128], struct error *e) {
    const size_t n = f->vectors, inputs = f->read.inputs; /* elect.sync has none */
    const size_t scratch_bytes = f->read.memories ? f->read.memories * n * 16 : 16;
    char *text = emit_form(f);
    event[0] = 0;
    struct ptx_module *module;
    if (path) {
        FILE *file = fopen(path, "w");
        if (!file || fputs(text, file) < 0 || fclose(file)) {
            free(text);
            return fail(e, "%s: cannot be written", path);
        }
        module = ptx_load(path, e);
    } else {
        module = ptx_parse("form.ptx", text, strlen(text), e);
    }
    free(text);
    if (!module)
        return false;
    memset(out, 0, 8 * n * f->read.results);
    uint8_t *scratch = calloc(scratch_bytes, 1);
    struct launch_buffer buffers[] = {
        {.name = "in", .role = BUFFER_IN, .bytes = 8 * n * inputs, .cell_bytes = 8, .data = (uint8_t *)(uintptr_t)in},
        {.name = "out",
         .role = BUFFER_INOUT,
         .bytes = 8 * n * f->read.results,
         .cell_bytes = 8,
         .data = (uint8_t *)out},
        {.name = "scratch", .role = BUFFER_INOUT, .bytes = scratch_bytes, .cell_bytes = 8, .data = scratch}};
    struct launch_arg args[] = {{.buffer = 0, .bytes = 8}, {.buffer = 1, .bytes = 8}, {.buffer = 2, .bytes = 8}};
    struct launch l = {.module = module,
                       .entry = "form",
                       .grid = {(uint32_t)(n / f->block), 1, 1},
                       .block = {f->block, 1, 1},
                       .buffers = buffers,
                       .buffer_count = 3,
                       .args = args,
                       .arg_count = 3,
                       .threads = 1};
    struct trace t = {0};
    const bool ran = scratch && runner->run(&l, &t, e);
    for (size_t i = 0; ran && i < t.event_count; ++i)
        if (t.events[i].kind != EVENT_APPROXIMATE && !event[0])
            snprintf(event, 128, "%s, block %u warp %u lane %u, PTX line %d", event_names[t.events[i].kind],
                     t.events[i].block[0], t.events[i].warp, t.events[i].lane,
                     t.events[i].instruction < t.site_count ? t.sites[t.events[i].instruction].ptx_line : 0);
    trace_free(&t);
    free(scratch);
    ptx_free(module);
    return ran;
}

void evaluate_form(const struct form *f, const uint64_t *in, uint64_t *out) {
    const size_t n = f->vectors;
    static _Thread_local uint64_t a[UNIT_INPUTS][32], d[UNIT_RESULTS][32];
    for (size_t w = 0; w < n; w += 32) {
        for (unsigned k = 0; k < f->read.inputs; ++k)
            memcpy(a[k], &in[k * n + w], sizeof a[k]);
        memset(d, 0, sizeof d);
        unit_form_run(&f->read, (const uint64_t(*)[32])a, d);
        for (unsigned k = 0; k < f->read.results; ++k)
            for (unsigned lane = 0; lane < 32; ++lane)
                out[k * n + w + lane] = d[k][lane] & result_mask(f->read.result[k]);
    }
}
