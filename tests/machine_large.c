/* Programs that are large or laid out as no compiler would: what the decoder does with them must not grow with the
 * square of the text. */
#include "../ref/checked.h"
#include "machine_run.h"

enum { BLOCKS = 20000 };

/* Basic blocks that follow each other upwards in the text: what is live goes one block further in each round of the
 * search for undefined registers, so that the search is given up. `last` ends the program. */
static char *upwards(const char *last) {
    char *body = must_calloc(100 * (size_t)BLOCKS, 1);
    size_t n = (size_t)sprintf(body,
                               ".reg .b32 %%x<%d>;\nld.param.u64 %%rd1, [p0];\nmov.u32 %%x0, 7;\nmov.u32 %%x%d, 7;\n"
                               "bra L%d;\nL0: %s",
                               BLOCKS + 2, BLOCKS + 1, BLOCKS, last);
    for (int i = 1; i <= BLOCKS; ++i)
        n += (size_t)sprintf(body + n, "L%d: add.u32 %%x%d, %%x%d, %%x0; bra L%d;\n", i, i, i + 1, i - 1);
    return body;
}

static void run(const char *what, const char *last, enum event_kind kind, size_t events) {
    uint32_t out = 0x7fa5dead;
    struct launch_buffer b = {.name = "out", .role = BUFFER_OUT, .bytes = 4, .cell_bytes = 4, .data = (uint8_t *)&out};
    char *body = upwards(last);
    const struct machine_test test = {.body = body, .buffers = &b, .buffer_count = 1, .block = {1}};
    struct trace t;
    struct ptx_module *m = machine_must(&test, &t);
    cr_expect(t.event_count == events && (!events || t.events[0].kind == kind), "%s: %zu events, the first %d", what,
              t.event_count, events ? t.events[0].kind : 0);
    cr_expect(events || out == 7 * (BLOCKS + 1), "%s: %u, want %u", what, out, 7 * (BLOCKS + 1));
    trace_free(&t);
    ptx_free(m);
    free(body);
}

Test(machine_large, blocks_that_go_upwards, .timeout = 60) {
    run("what is stored has its value", "st.global.u32 [%rd1], %x1; ret;\n", EVENT_KINDS, 0);
    run("what is stored has none", "st.global.u32 [%rd1], %r9; ret;\n", EVENT_UNINITIALISED, 1);
}
