/* Lanes that go round a barrier or a .sync operation of their warp and then exit (gpu/machine/stray.c): missed when
 * they have an effect behind it, an early return when not; whichever lanes run first, wherever the code stands. */
#include "machine_run.h"

#define START                                                                                                          \
    "ld.param.u64 %rd1, [p0];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, 4;\nadd.u64 %rd3, %rd1, %rd2;\n"          \
    "setp.lt.u32 %p1, %r1, 16;\n" /* 5 */
#define STORE            "st.global.u32 [%rd3], %r1;\n"
#define SHUFFLE(members) "shfl.sync.idx.b32 %r2, %r1, 0, 31, " members ";\n"

struct stray {
    const char *name, *module_level, *body;
    int line, other_line; /* of the event; 0: none */
    enum event_kind kind;
};

static const struct stray cases[] = {
    {"a barrier that half of the warp skips", NULL, START "@!%p1 bra L;\nbar.sync 0;\nL:\n" STORE "ret;\n", 7, 9,
     EVENT_DIVERGENT_BARRIER},
    {"the same, the barrier behind the exit", NULL, START "@%p1 bra B;\nL:\n" STORE "ret;\nB:\nbar.sync 0;\nbra L;\n",
     11, 8, EVENT_DIVERGENT_BARRIER},
    {"an early return", NULL, START "@!%p1 bra E;\nbar.sync 0;\n" STORE "E:\nret;\n", 0, 0, 0},
    {"an early return that stores", NULL,
     START "@!%p1 bra E;\nbar.sync 0;\n" STORE "ret;\nE:\nst.global.u32 [%rd3], 7;\nret;\n", 0, 0, 0},
    {"a barrier without .aligned", NULL, START "@!%p1 bra L;\nbarrier.sync 0;\nL:\n" STORE "ret;\n", 0, 0, 0},
    {"a loop that lanes leave at different turns", NULL,
     START "and.b32 %r3, %r1, 3;\nL:\nbar.sync 0;\nadd.u32 %r3, %r3, -1;\nsetp.ge.s32 %p2, %r3, 0;\n@%p2 bra L;\n" STORE
           "ret;\n",
     8, 12, EVENT_DIVERGENT_BARRIER},
    {"a loop of the same turns for all", NULL,
     START "mov.u32 %r3, 3;\nL:\nbar.sync 0;\nadd.u32 %r3, %r3, -1;\nsetp.ge.s32 %p2, %r3, 0;\n@%p2 bra L;\n" STORE
           "ret;\n",
     0, 0, 0},
    {"stores apart, then together at a barrier", NULL,
     START "@%p1 bra A;\n" STORE "bra J;\nA:\n" STORE "J:\nbar.sync 0;\n" STORE "ret;\n", 0, 0, 0},
    {"stores apart and together again, then an early return in a loop", NULL,
     START
     "mov.u32 %r3, 3;\nL:\n@%p1 " STORE "@!%p1 bra J;\n" STORE "J:\nbar.sync 0;\nadd.u32 %r3, %r3, -1;\n"
     "setp.eq.u32 %p2, %r3, 1;\n@!%p2 bra K;\n@!%p1 bra E;\nK:\nsetp.ge.s32 %p3, %r3, 0;\n@%p3 bra L;\nE:\nret;\n",
     0, 0, 0},
    {"a shuffle of all that half of the warp skips", NULL, START "@!%p1 bra L;\n" SHUFFLE("-1") "L:\n" STORE "ret;\n",
     7, 9, EVENT_DIVERGENT_ALIGNED},
    {"a shuffle of those that are there", NULL, START "@!%p1 bra L;\n" SHUFFLE("0xffff") "L:\n" STORE "ret;\n", 0, 0,
     0},
    {"a vote that half of the warp skips", NULL,
     START "@!%p1 bra L;\nvote.sync.ballot.b32 %r2, %p1, -1;\nL:\n" STORE "ret;\n", 7, 9, EVENT_DIVERGENT_ALIGNED},
    {"a bar.warp.sync that half of the warp skips", NULL, START "@!%p1 bra L;\nbar.warp.sync -1;\nL:\n" STORE "ret;\n",
     7, 9, EVENT_DIVERGENT_ALIGNED},
    {"a function stores", ".func put(.reg .b64 a)\n{\nst.global.u32 [a], 1;\nret;\n}\n",
     START "@!%p1 bra L;\nbar.sync 0;\nL:\ncall put, (%rd3);\nret;\n", 7, 9, EVENT_DIVERGENT_BARRIER},
    {"a function has the barrier", ".func meet()\n{\nbar.sync 0;\nret;\n}\n",
     START "@!%p1 bra L;\ncall meet;\nL:\n" STORE "ret;\n", 7, 9, EVENT_DIVERGENT_BARRIER},
    {"a table of places", NULL,
     START "selp.u32 %r4, 0, 1, %p1;\nbrx.idx %r4, T;\nT: .branchtargets B, L;\nB:\nbar.sync 0;\nL:\n" STORE "ret;\n",
     10, 12, EVENT_DIVERGENT_BARRIER},
};

static void run_case(const struct stray *c, struct schedule s, uint32_t unwatched, struct trace *t,
                     struct ptx_module **m) {
    static uint32_t out[64];
    struct launch_buffer b = {
        .name = "out", .role = BUFFER_INOUT, .bytes = sizeof out, .cell_bytes = 4, .data = (uint8_t *)out};
    const struct machine_test test = {.module_level = c->module_level,
                                      .body = c->body,
                                      .buffers = &b,
                                      .buffer_count = 1,
                                      .grid = {3},
                                      .unwatched = unwatched | WATCH_UNINIT | WATCH_STORES,
                                      .options = {.schedule = s}};
    *m = machine_must(&test, t);
}

Test(machine_stray, who_misses_what) {
    static const struct schedule schedules[] = {{.order = SCHEDULE_IN_ORDER},
                                                {.order = SCHEDULE_REVERSED},
                                                {.order = SCHEDULE_RANDOM, .seed = 1},
                                                {.order = SCHEDULE_RANDOM, .seed = 2}};
    for (size_t k = 0; k < 4 * sizeof cases / sizeof *cases; ++k) {
        const struct stray *c = &cases[k / 4];
        struct trace t;
        struct ptx_module *m;
        run_case(c, schedules[k % 4], 0, &t, &m);
        const struct event *v = NULL;
        for (size_t i = 0; i < t.event_count; ++i)
            if (t.events[i].kind == EVENT_DIVERGENT_BARRIER || t.events[i].kind == EVENT_DIVERGENT_ALIGNED)
                v = v ? v : &t.events[i];
        cr_expect((v != NULL) == (c->line != 0), "%s, schedule %zu: %zu events", c->name, k % 4, t.event_count);
        if (v && c->line) {
            const int line = t.sites[v->instruction].line;
            const int other = v->other.present ? t.sites[v->other.instruction].line : 0;
            cr_expect(v->kind == c->kind && (c->module_level || line == c->line) && other == c->other_line,
                      "%s, schedule %zu: kind %d, lines %d and %d", c->name, k % 4, v->kind, line, other);
        }
        trace_free(&t);
        ptx_free(m);
        run_case(c, schedules[k % 4], WATCH_SYNC, &t, &m);
        for (size_t i = 0; i < t.event_count; ++i)
            cr_expect(t.events[i].kind != EVENT_DIVERGENT_BARRIER && t.events[i].kind != EVENT_DIVERGENT_ALIGNED,
                      "%s: an event without its watch", c->name);
        trace_free(&t);
        ptx_free(m);
    }
}
