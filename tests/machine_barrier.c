/* Operands of barriers that are registers: what PTX ISA 9.7.13.1 asks of a number and a thread count holds for them as
 * for constants. */
#include "machine_run.h"

struct operands {
    const char *name, *body;
    bool wrong;
};

#define LANE "mov.u32 %r1, %tid.x;\nand.b32 %r2, %r1, 1;\nshr.u32 %r3, %r1, 5;\n"
#define SYNCED                                                                                                         \
    "ld.param.u64 %rd1, [p0];\nmul.wide.u32 %rd2, %r1, 4;\nadd.u64 %rd1, %rd1, %rd2;\nst.global.u32 [%rd1], "          \
    "%r1;\nret;\n"

static const struct operands cases[] = {
    {"number 15", LANE "mov.u32 %r4, 15;\nbar.sync %r4, 64;\n" SYNCED, false},
    {"number 16", LANE "mov.u32 %r4, 16;\nbar.sync %r4, 64;\n" SYNCED, true},
    {"number 2^32 - 1", LANE "mov.u32 %r4, -1;\nbar.sync %r4, 64;\n" SYNCED, true},
    {"a number of its own for each warp", LANE "bar.sync %r3, 32;\n" SYNCED, false},
    {"two numbers in a warp", LANE "bar.sync %r2, 64;\n" SYNCED, true},
    {"64 threads", LANE "mov.u32 %r4, 64;\nbar.sync 1, %r4;\n" SYNCED, false},
    {"no threads", LANE "mov.u32 %r4, 0;\nbar.sync 1, %r4;\n" SYNCED, true},
    {"48 threads", LANE "mov.u32 %r4, 48;\nbar.sync 1, %r4;\n" SYNCED, true},
    {"1056 threads", LANE "mov.u32 %r4, 1056;\nbar.arrive 1, %r4;\n" SYNCED, true},
    {"two counts in a warp", LANE "mad.lo.u32 %r4, %r2, 32, 32;\nbar.sync 1, %r4;\n" SYNCED, true},
    {"a reduction", LANE "mov.u32 %r4, 17;\nbar.red.popc.u32 %r5, %r4, 64, %p0;\n" SYNCED, true},
};

Test(machine_barrier, operands_in_registers) {
    for (size_t k = 0; k < 2 * sizeof cases / sizeof *cases; ++k) {
        const struct operands *c = &cases[k / 2];
        static uint32_t out[64];
        struct launch_buffer b = {
            .name = "out", .role = BUFFER_OUT, .bytes = sizeof out, .cell_bytes = 4, .data = (uint8_t *)out};
        const struct machine_test test = {.body = c->body,
                                          .buffers = &b,
                                          .buffer_count = 1,
                                          .block = {64},
                                          .unwatched = WATCH_UNINIT | (k % 2 ? WATCH_SYNC : 0)};
        struct trace t;
        struct ptx_module *m = machine_must(&test, &t);
        size_t found = 0;
        for (size_t i = 0; i < t.event_count; ++i)
            found += t.events[i].kind == EVENT_BARRIER_OPERAND;
        cr_expect((found > 0) == (c->wrong && k % 2 == 0), "%s: %zu events", c->name, found);
        trace_free(&t);
        ptx_free(m);
    }
}
