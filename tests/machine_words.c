/* What an event says besides its kind: how many lanes, whose memory, and what an address outside of it is. */
#include "machine_run.h"

#define VARIABLES ".global .align 4 .b8 gv[16];\n.const .align 4 .b8 cv[16];\n.shared .align 4 .b8 sv[16];\n"

struct word {
    const char *name, *body;
    enum event_kind kind;
    const char *variable;
    enum event_space window;
    uint64_t count;
};

static const struct word cases[] = {
    {"past a variable", "mov.u64 %rd1, gv; ld.global.u32 %r1, [%rd1+16];\nret;\n", EVENT_OUT_OF_BOUNDS, "gv",
     SPACE_NONE, 64},
    {"before a constant", "mov.u64 %rd1, cv; ld.const.u32 %r1, [%rd1+-4];\nret;\n", EVENT_OUT_OF_BOUNDS, "cv",
     SPACE_NONE, 64},
    {"a store to a constant", "mov.u64 %rd1, cv; st.global.u32 [%rd1], 1;\nret;\n", EVENT_READ_ONLY, "cv", SPACE_NONE,
     64},
    {"a generic address of shared memory",
     "mov.u64 %rd1, sv; cvta.shared.u64 %rd1, %rd1; st.global.u32 [%rd1], 1;\nret;\n", EVENT_OUT_OF_BOUNDS, NULL,
     SPACE_SHARED, 64},
    {"a generic address of local memory",
     ".local .b8 lv[16]; mov.u64 %rd1, lv; cvta.local.u64 %rd1, %rd1; st.global.u32 [%rd1], 1;\nret;\n",
     EVENT_OUT_OF_BOUNDS, NULL, SPACE_LOCAL, 64},
    {"no address", "mov.u64 %rd1, 16; ld.global.u32 %r1, [%rd1];\nret;\n", EVENT_OUT_OF_BOUNDS, NULL, SPACE_NONE, 64},
    {"a barrier of some lanes", "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 37;\n@%p1 bar.sync 0;\nret;\n",
     EVENT_DIVERGENT_BARRIER, NULL, SPACE_NONE, 5},
    {"a deadlock", "bar.sync 1, 96;\nret;\n", EVENT_DEADLOCK, NULL, SPACE_NONE, 64},
    {"a .sync instruction without a member",
     "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 20;\n@%p1 bra A;\nret;\nA:\nsetp.lt.u32 %p2, %r1, 8;\n@%p2 "
     "bar.warp.sync 0xfff;\nret;\n",
     EVENT_DIVERGENT_ALIGNED, NULL, SPACE_NONE, 8},
    {"a number of a barrier", "mov.u32 %r1, 16;\nbar.sync %r1, 64;\nret;\n", EVENT_BARRIER_OPERAND, NULL, SPACE_NONE,
     64},
};

Test(machine_words, lanes_variables_and_windows) {
    for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
        const struct word *c = &cases[k];
        const struct machine_test test = {.module_level = VARIABLES, .body = c->body, .block = {64}};
        struct trace t;
        struct ptx_module *m = machine_must(&test, &t);
        cr_expect(t.event_count == 1, "%s: %zu events", c->name, t.event_count);
        const struct event *v = t.events;
        cr_expect(t.event_count == 1 && v->kind == c->kind && v->count == c->count && v->window == c->window,
                  "%s: kind %d, %llu lanes, window %d", c->name, (int)v->kind, (unsigned long long)v->count,
                  (int)v->window);
        const char *name = t.event_count && v->name ? v->name : "";
        cr_expect(!strcmp(name, c->variable ? c->variable : ""), "%s: names '%s'", c->name, name);
        trace_free(&t);
        ptx_free(m);
    }
}

/* One instruction that goes wrong in two variables says so of each; a race names the variable as well. */
Test(machine_words, each_variable_of_a_site) {
    static const char body[] =
        "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 8; mov.u64 %rd1, gv; mov.u64 %rd2, hv; selp.b64 %rd1, %rd1, %rd2, "
        "%p1;\nst.global.u32 [%rd1], %r1;\nld.global.u32 %r2, [%rd1+16];\nret;\n";
    const struct machine_test test = {.module_level = ".global .align 4 .b8 gv[16];\n.global .align 4 .b8 hv[16];\n",
                                      .body = body};
    struct trace t;
    struct ptx_module *m = machine_must(&test, &t);
    size_t outside = 0, races = 0;
    for (size_t i = 0; i < t.event_count; ++i) {
        const struct event *v = &t.events[i];
        cr_assert_not_null(v->name, "event %zu names no variable", i);
        const bool first = !strcmp(v->name, "gv");
        if (v->kind == EVENT_OUT_OF_BOUNDS) {
            ++outside;
            cr_expect(v->count == (first ? 8 : 24), "%s: %llu lanes", v->name, (unsigned long long)v->count);
        }
        races += v->kind == EVENT_RACE;
    }
    cr_expect(outside == 2 && races == 2, "%zu out of bounds, %zu races", outside, races);
    trace_free(&t);
    ptx_free(m);
}
