/* The source of a cp.async that is stored to while the copy is in flight, and copies that give one byte the same value
 * or another. Neither when copies land nor how many CPU threads there are changes an event. */
#include "machine_run.h"

struct copies_case {
    const char *name, *body;
    enum event_kind kind; /* of the events, */
    int line, other_line; /* and where the first one stands in the body; 0: there is none */
    bool store, other_store;
    uint32_t warp, other_warp;
    bool constant; /* the source is a buffer that the launch does not write */
};

/* 9 lines. Thread t of 64 copies its 16 bytes of the data, from %rd3 to %r8; %rd4: those of the thread 32 further on;
 * %r9: where that thread of the other warp copies to, that both have in common. */
#define START                                                                                                          \
    ".shared .align 16 .b8 words[2048];\nmov.u32 %r1, %tid.x;\nmov.u32 %r20, words;\nld.param.u64 %rd1, [p0];\n"       \
    "shl.b32 %r7, %r1, 4;\ncvt.u64.u32 %rd2, %r7;\nadd.u64 %rd3, %rd1, %rd2;\nadd.u32 %r8, %r20, %r7;\n"               \
    "xor.b64 %rd5, %rd2, 512; add.u64 %rd4, %rd1, %rd5; and.b32 %r7, %r7, 511; add.u32 %r9, %r20, %r7; "               \
    "cvt.u64.u32 %rd6, %r7; add.u64 %rd6, %rd1, %rd6; setp.lt.u32 %p1, %r1, 32;\n"
#define COPY  "cp.async.ca.shared.global [%r8], [%rd3], 16;\n"
#define WAIT  "cp.async.wait_all;\n"
#define STORE "st.global.u32 [%rd3+4], %r1;\n"
#define OTHER "st.global.u32 [%rd4+4], %r1;\n"
#define BAR   "bar.sync 0;\n"
#define CLEAN 0, 0, 0, false, false, 0, 0, false

static const struct copies_case sources[] = {
    {"a thread stores to the source of its copy", START COPY STORE WAIT "ret;\n", EVENT_ASYNC_PENDING, 11, 10, true,
     false, 0, 0, false},
    {"what is there already",
     START "ld.global.u32 %r5, [%rd3+4];\n" COPY "st.global.u32 [%rd3+4], %r5;\n" WAIT "ret;\n", EVENT_ASYNC_PENDING,
     12, 11, true, false, 0, 0, false},
    {"by an atomic", START COPY "red.global.add.u32 [%rd3+4], 1;\n" WAIT "ret;\n", EVENT_ASYNC_PENDING, 11, 10, true,
     false, 0, 0, false},
    {"one byte", START COPY "st.global.u8 [%rd3+15], %r1;\n" WAIT "ret;\n", EVENT_ASYNC_PENDING, 11, 10, true, false, 0,
     0, false},
    {"after the wait", START COPY WAIT STORE "ret;\n", CLEAN},
    {"before the copy", START STORE COPY WAIT "ret;\n", CLEAN},
    {"a load", START COPY "ld.global.u32 %r5, [%rd3+4];\n" WAIT "ret;\n", CLEAN},
    {"bytes that are not read", START "cp.async.ca.shared.global [%r8], [%rd3], 16, 4;\n" STORE WAIT "ret;\n", CLEAN},
    {"bytes that are read", START "cp.async.ca.shared.global [%r8], [%rd3], 16, 8;\n" STORE WAIT "ret;\n",
     EVENT_ASYNC_PENDING, 11, 10, true, false, 0, 0, false},
    {"an older group is waited for",
     START "cp.async.ca.shared.global [%r8+1024], [%rd3], 16;\ncp.async.commit_group;\n" COPY
           "cp.async.commit_group;\ncp.async.wait_group 1;\n" STORE WAIT "ret;\n",
     EVENT_ASYNC_PENDING, 15, 12, true, false, 0, 0, false},
    {"both are",
     START "cp.async.ca.shared.global [%r8+1024], [%rd3], 16;\ncp.async.commit_group;\n" COPY WAIT STORE "ret;\n",
     CLEAN},
    {"another warp's store, behind a barrier", START COPY BAR OTHER WAIT "ret;\n", EVENT_ASYNC_PENDING, 12, 10, true,
     false, 0, 1, false},
    {"between two barriers", START COPY BAR OTHER BAR WAIT "ret;\n", EVENT_ASYNC_PENDING, 12, 10, true, false, 0, 1,
     false},
    {"after the wait and a barrier", START COPY WAIT BAR OTHER "ret;\n", CLEAN},
    {"before a barrier and the copy", START OTHER BAR COPY WAIT "ret;\n", CLEAN},
    {"after the wait, no barrier", START "@%p1 " COPY WAIT "@!%p1 " OTHER "ret;\n", EVENT_RACE, 12, 10, true, false, 1,
     0, false},
};

#define SAME      "cp.async.ca.shared.global [%r9], [%rd6], 16;\n"
#define DIFFERENT "cp.async.ca.shared.global [%r9], [%rd3], 16;\n"
#define BENIGN(line, other, warp, other_warp, constant)                                                                \
    EVENT_BENIGN_RACE, line, other, true, true, warp, other_warp, constant
#define BOTH(line, other, warp, other_warp, constant)                                                                  \
    EVENT_ASYNC_PENDING, line, other, true, true, warp, other_warp, constant

static const struct copies_case values[] = {
    {"two warps copy the same bytes", START SAME WAIT "ret;\n", BENIGN(10, 10, 1, 0, true)},
    {"of memory that the launch may write", START SAME WAIT "ret;\n", BENIGN(10, 10, 1, 0, false)},
    {"two warps copy different bytes", START DIFFERENT BAR WAIT "ret;\n", BOTH(10, 10, 1, 0, true)},
    {"of memory that the launch may write", START DIFFERENT BAR WAIT "ret;\n", BOTH(10, 10, 1, 0, false)},
    {"the same, the first copy landed", START "@%p1 " SAME WAIT "@!%p1 " SAME WAIT "ret;\n",
     BENIGN(12, 10, 1, 0, true)},
    {"the same, in flight across a barrier", START "@%p1 " SAME BAR "@!%p1 " SAME BAR WAIT "ret;\n",
     BENIGN(12, 10, 1, 0, true)},
    {"different, in flight across a barrier", START "@%p1 " DIFFERENT BAR "@!%p1 " DIFFERENT BAR WAIT "ret;\n",
     BOTH(12, 10, 1, 0, true)},
    {"lanes of one warp, the same", START "cp.async.ca.shared.global [%r20], [%rd1], 16;\n" WAIT "ret;\n",
     BENIGN(10, 10, 0, 0, true)},
    {"lanes of one warp, different", START "@%p1 cp.async.ca.shared.global [%r20], [%rd3], 16;\n" WAIT "ret;\n",
     BOTH(10, 10, 0, 0, true)},
    {"zeros twice", START "cp.async.ca.shared.global [%r9], [%rd3], 16, 0;\n" WAIT "ret;\n",
     BENIGN(10, 10, 1, 0, true)},
    {"zeros and bytes",
     START "selp.b32 %r5, 0, 8, %p1;\ncp.async.ca.shared.global [%r9], [%rd6], 16, %r5;\n" BAR WAIT "ret;\n",
     BOTH(11, 11, 1, 0, true)},
    {"a part of what another copies",
     START "@%p1 " SAME "@!%p1 cp.async.ca.shared.global [%r9+8], [%rd6+8], 4;\n" BAR WAIT "ret;\n",
     BENIGN(11, 10, 1, 0, true)},
    {"another part of it",
     START "@%p1 " SAME "@!%p1 cp.async.ca.shared.global [%r9+8], [%rd6+4], 4;\n" BAR WAIT "ret;\n",
     BOTH(11, 10, 1, 0, true)},
    {"a store of what a copy gives",
     START "ld.global.u32 %r5, [%rd3+8];\n" COPY "st.shared.u32 [%r8+8], %r5;\n" WAIT "ret;\n",
     BENIGN(12, 11, 0, 0, true)},
    {"a store of something else",
     START "ld.global.u32 %r5, [%rd3+4];\n" COPY "st.shared.u32 [%r8+8], %r5;\n" WAIT "ret;\n",
     BOTH(12, 11, 0, 0, true)},
    {"after the wait and a barrier", START "@%p1 " DIFFERENT WAIT BAR "@!%p1 " DIFFERENT WAIT "ret;\n", CLEAN},
};

static void check(const struct copies_case *c, const char *isa, bool early, int threads) {
    static uint32_t data[1024];
    for (uint32_t i = 0; i < 1024; ++i)
        data[i] = 1000 + i;
    struct launch_buffer b = {.name = "data",
                              .role = c->constant ? BUFFER_IN : BUFFER_INOUT,
                              .bytes = sizeof data,
                              .cell_bytes = 4,
                              .data = (uint8_t *)data};
    const struct machine_test test = {.body = c->body,
                                      .buffers = &b,
                                      .buffer_count = 1,
                                      .block = {64},
                                      .isa = isa,
                                      .threads = threads,
                                      .options = {.schedule = {.async_early = early}}};
    struct trace t;
    struct ptx_module *m = machine_must(&test, &t);
    cr_expect((t.event_count > 0) == (c->line > 0), "%s: %zu events", c->name, t.event_count);
    bool found = !c->line;
    for (size_t i = 0; i < t.event_count; ++i) { /* of two copies the issue races as well, where both are in flight */
        found |= t.events[i].kind == c->kind;
        cr_expect(t.events[i].kind == c->kind || c->kind == EVENT_ASYNC_PENDING, "%s: an event of kind %d at `%s`",
                  c->name, t.events[i].kind, t.sites[t.events[i].instruction].text);
    }
    cr_expect(found, "%s: no event of kind %d", c->name, c->kind);
    cr_expect((t.order_open != NULL) == (c->line && c->kind != EVENT_BENIGN_RACE) || strstr(c->body, "red."),
              "%s: order open: %s", c->name, t.order_open ? t.order_open : "no");
    if (t.event_count && c->line) {
        const struct event *v = &t.events[0];
        const int line = t.sites[v->instruction].line, other = t.sites[v->other.instruction].line;
        cr_expect(line == c->line && other == c->other_line && v->store == c->store &&
                      v->other.store == c->other_store && v->warp == c->warp && v->other.warp == c->other_warp,
                  "%s: lines %d and %d, stores %d and %d, warps %u and %u", c->name, line, other, v->store,
                  v->other.store, v->warp, v->other.warp);
    }
    trace_free(&t);
    ptx_free(m);
}

static void check_all(const struct copies_case *cases, size_t count) {
    const char *isas[3];
    const size_t isa_count = machine_isas(isas);
    for (size_t k = 0; k < 4 * isa_count * count; ++k)
        check(&cases[k / 4 / isa_count], isas[k / 4 % isa_count], k % 2, k & 2 ? 2 : 1);
}

Test(machine_hazard_copies, sources_that_are_stored_to) {
    check_all(sources, sizeof sources / sizeof *sources);
}

Test(machine_hazard_copies, values_of_copies) {
    check_all(values, sizeof values / sizeof *values);
}
