/* Races of cp.async: what it copies is touched ahead of the wait, of the barrier after it, or while others still read.
 * Whether a copy lands when it is issued or when it is waited for changes no event. */
#include "machine_run.h"

struct hazard_case {
    const char *name, *body;
    uint32_t threads;
    size_t race, pending;      /* events */
    enum event_kind kind;      /* of the first one, */
    int line, other_line;      /* where they stand in the body, */
    uint32_t warp, other_warp; /* whose they are, */
    bool store, other_store;   /* and what */
    int64_t byte;
};

/* 11 lines. Thread t copies 16 bytes to %r8; %r9: where the thread 32 further on, of 64, copies to. */
#define START                                                                                                          \
    ".shared .align 16 .b8 words[8192];\nmov.u32 %r1, %tid.x;\nmov.u32 %r20, words;\nld.param.u64 %rd1, [p0];\n"       \
    "shl.b32 %r7, %r1, 4;\ncvt.u64.u32 %rd2, %r7;\nadd.u64 %rd3, %rd1, %rd2;\nadd.u32 %r8, %r20, %r7;\n"               \
    "xor.b32 %r7, %r7, 512;\nadd.u32 %r9, %r20, %r7;\nmov.u32 %r10, 0;\n"
#define COPY "cp.async.ca.shared.global [%r8], [%rd3], 16;\ncp.async.commit_group;\n"
#define NEXT "cp.async.ca.shared.global [%r8+2048], [%rd3], 16;\ncp.async.commit_group;\n"
#define WAIT "cp.async.wait_group 0;\n"
#define LOAD "ld.shared.u32 %r10, [%r9+4];\n"

static const struct hazard_case cases[] = {
    {.name = "wait, barrier, load", .body = START COPY WAIT "bar.sync 0;\n" LOAD "ret;\n", .threads = 64},
    {.name = "wait, and the thread's own bytes",
     .body = START COPY WAIT "ld.shared.u32 %r10, [%r8+4];\nret;\n",
     .threads = 64},
    {.name = "no wait",
     .body = START COPY "ld.shared.u32 %r10, [%r8+4];\n" WAIT "ret;\n",
     .threads = 32,
     .pending = 1,
     .kind = EVENT_ASYNC_PENDING,
     .line = 14,
     .other_line = 12,
     .other_store = true,
     .byte = 4},
    {.name = "a store over it",
     .body = START COPY "st.shared.u32 [%r8+4], %r1;\n" WAIT "ret;\n",
     .threads = 32,
     .pending = 1,
     .kind = EVENT_ASYNC_PENDING,
     .line = 14,
     .other_line = 12,
     .store = true,
     .other_store = true,
     .byte = 4},
    {.name = "wait, no barrier",
     .body = START COPY WAIT LOAD "ret;\n",
     .threads = 64,
     .race = 2,
     .kind = EVENT_RACE,
     .line = 12,
     .other_line = 15,
     .warp = 1,
     .store = true,
     .byte = 516},
    {.name = "the barrier ahead of the wait",
     .body = START COPY "bar.sync 0;\n" WAIT LOAD "ret;\n",
     .threads = 64,
     .race = 1,
     .pending = 1,
     .kind = EVENT_ASYNC_PENDING,
     .line = 16,
     .other_line = 12,
     .other_warp = 1,
     .other_store = true,
     .byte = 516},
    {.name = "two stages",
     .body = START COPY NEXT "cp.async.wait_group 1;\nbar.sync 0;\n" LOAD WAIT "bar.sync 0;\n"
                             "ld.shared.u32 %r10, [%r9+2052];\nret;\n",
     .threads = 64},
    {.name = "the count too high",
     .body = START COPY NEXT "cp.async.wait_group 1;\nbar.sync 0;\nld.shared.u32 %r10, [%r9+2052];\n" WAIT "ret;\n",
     .threads = 64,
     .pending = 1,
     .race = 1,
     .kind = EVENT_ASYNC_PENDING,
     .line = 18,
     .other_line = 14,
     .other_warp = 1,
     .other_store = true,
     .byte = 2564},
    {.name = "a stage refilled while it is read",
     .body = START COPY WAIT "bar.sync 0;\n" LOAD COPY WAIT "ret;\n",
     .threads = 64,
     .race = 2,
     .kind = EVENT_RACE,
     .line = 16,
     .other_line = 17,
     .warp = 1,
     .other_store = true,
     .byte = 4},
    {.name = "lanes that copy nothing have any address",
     .body = START "setp.lt.u32 %p1, %r1, 9;\nselp.b64 %rd3, %rd3, -4096, %p1;\n"
                   "L: @%p1 cp.async.ca.shared.global [%r8], [%rd3], 16;\ncp.async.wait_all;\n"
                   "add.u32 %r10, %r10, 1;\nsetp.lt.u32 %p2, %r10, 3;\n@%p2 bra L;\nret;\n",
     .threads = 32},
    {.name = "a stage refilled after a barrier",
     .body = START COPY WAIT "bar.sync 0;\n" LOAD "bar.sync 0;\n" COPY WAIT "ret;\n",
     .threads = 64},
};

Test(machine_hazard_async, copies) {
    static uint8_t in[1024];
    memset(in, 0xa5, sizeof in); /* no store of the cases gives what a copy gives */
    const char *isas[3];
    const size_t isa_count = machine_isas(isas);
    for (size_t k = 0; k < 2 * isa_count * sizeof cases / sizeof *cases; ++k) {
        const struct hazard_case *c = &cases[k / isa_count / 2];
        struct launch_buffer b = {.name = "in", .role = BUFFER_IN, .bytes = sizeof in, .cell_bytes = 4, .data = in};
        const struct machine_test test = {.body = c->body,
                                          .buffers = &b,
                                          .buffer_count = 1,
                                          .block = {c->threads},
                                          .isa = isas[k / 2 % isa_count],
                                          .options = {.schedule = {.async_early = k % 2}},
                                          .unwatched = WATCH_UNINIT};
        struct trace t;
        struct ptx_module *m = machine_must(&test, &t);
        size_t count[EVENT_KINDS] = {0};
        for (size_t i = 0; i < t.event_count; ++i)
            ++count[t.events[i].kind];
        cr_expect(count[EVENT_RACE] == c->race && count[EVENT_ASYNC_PENDING] == c->pending &&
                      t.event_count == c->race + c->pending,
                  "%s: %zu races, %zu touched in flight, %zu events", c->name, count[EVENT_RACE],
                  count[EVENT_ASYNC_PENDING], t.event_count);
        cr_expect((t.order_open != NULL) == (c->race + c->pending > 0), "%s: order open: %s", c->name,
                  t.order_open ? t.order_open : "no");
        if (t.event_count && c->race + c->pending) {
            const struct event *v = &t.events[0];
            const int line = t.sites[v->instruction].line, other = t.sites[v->other.instruction].line;
            cr_expect(v->kind == c->kind && line == c->line && other == c->other_line && v->warp == c->warp &&
                          v->other.warp == c->other_warp && v->store == c->store && v->other.store == c->other_store &&
                          v->offset == c->byte,
                      "%s: kind %d, lines %d and %d, warps %u and %u, byte %lld, store %d and %d", c->name, v->kind,
                      line, other, v->warp, v->other.warp, (long long)v->offset, v->store, v->other.store);
        }
        trace_free(&t);
        ptx_free(m);
    }
}

/* Another thread stores what a copy has read of a buffer that the launch writes. */
Test(machine_hazard_async, a_source_that_is_stored) {
    static const char body[] = START COPY WAIT "add.u64 %rd3, %rd1, 512;\nsub.u64 %rd3, %rd3, %rd2;\n"
                                               "st.global.u32 [%rd3], %r1;\nret;\n";
    for (int early = 0; early < 2; ++early) {
        uint8_t data[1024] = {0};
        struct launch_buffer b = {
            .name = "data", .role = BUFFER_INOUT, .bytes = sizeof data, .cell_bytes = 4, .data = data};
        const struct machine_test test = {.body = body,
                                          .buffers = &b,
                                          .buffer_count = 1,
                                          .block = {64},
                                          .options = {.schedule = {.async_early = early}}};
        struct trace t;
        struct ptx_module *m = machine_must(&test, &t);
        size_t races = 0;
        for (size_t i = 0; i < t.event_count; ++i) {
            const struct event *v = &t.events[i];
            if (v->kind != EVENT_RACE)
                continue;
            ++races;
            cr_assert(v->other.instruction < t.site_count, "early %d: the other side is instruction %zu of %zu", early,
                      v->other.instruction, t.site_count);
            const int line = t.sites[v->instruction].line, other = t.sites[v->other.instruction].line;
            cr_expect(v->space == SPACE_GLOBAL && v->other.present && v->store != v->other.store &&
                          line == (v->store ? 17 : 12) && other == (v->store ? 12 : 17),
                      "early %d: space %d, line %d, the other one %d", early, v->space, line, other);
        }
        cr_expect(races > 0, "early %d: no race of a copy's source and a store", early);
        trace_free(&t);
        ptx_free(m);
    }
}
