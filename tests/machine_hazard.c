/* Races in shared memory: each fault with the event that must name it, and its clean twin. */
#include "machine_run.h"

struct hazard_case {
    const char *name, *body;
    uint32_t threads;
    int race, benign;     /* events */
    int line, other_line; /* of the first race, where they stand in the body */
    uint32_t warp, lane, other_warp, other_lane;
    int64_t byte;
    bool store, other_store;
    bool open; /* trace.order_open is there without a race too */
};

#define ARENA ".shared .align 16 .b8 words[8192];\n"
#define THREAD                                                                                                         \
    "mov.u32 %r1, %tid.x;\nmov.u32 %r20, words;\nshl.b32 %r2, %r1, 2;\nadd.u32 %r3, %r20, %r2;\n" /* 4 lines */
/* %r4: the word of the thread 32 further on, of 64 */
#define ACROSS "xor.b32 %r5, %r1, 32;\nshl.b32 %r5, %r5, 2;\nadd.u32 %r4, %r20, %r5;\n" /* 3 lines */
/* %r4: the word of the neighbour lane */
#define NEXT "xor.b32 %r5, %r1, 1;\nshl.b32 %r5, %r5, 2;\nadd.u32 %r4, %r20, %r5;\n"

static const struct hazard_case cases[] = {
    {"a store, no barrier, a load by the other warp",
     ARENA THREAD ACROSS "st.shared.u32 [%r3], %r1;\nld.shared.u32 %r6, [%r4];\nret;\n", .threads = 64, .race = 2,
     .line = 9, .other_line = 10, .warp = 1, .lane = 0, .other_warp = 0, .other_lane = 0, .byte = 128, .store = true,
     .other_store = false},
    {"with the barrier",
     ARENA THREAD ACROSS "st.shared.u32 [%r3], %r1;\nbar.sync 0;\nld.shared.u32 %r6, [%r4];\nret;\n", .threads = 64},
    {"a load, no barrier, the next store",
     ARENA THREAD ACROSS
     "st.shared.u32 [%r3], %r1;\nbar.sync 0;\nld.shared.u32 %r6, [%r4];\nst.shared.u32 [%r3], %r6;\nret;\n",
     .threads = 64, .race = 2, .line = 11, .other_line = 12, .warp = 1, .lane = 0, .other_warp = 0, .other_lane = 0,
     .byte = 0, .store = false, .other_store = true},
    {"with both barriers",
     ARENA THREAD ACROSS "st.shared.u32 [%r3], %r1;\nbar.sync 0;\nld.shared.u32 %r6, [%r4];\nbar.sync "
                         "0;\nst.shared.u32 [%r3], %r6;\nret;\n",
     .threads = 64},
    {"a store that changes nothing races with a load",
     ARENA THREAD ACROSS "mov.u32 %r9, -1;\nst.shared.u32 [%r3], %r9;\nld.shared.u32 %r6, [%r4];\nret;\n",
     .threads = 64, .race = 2, .line = 10, .other_line = 11, .warp = 1, .byte = 128, .store = true,
     .other_store = false},
    {"two buffers in turn",
     ARENA THREAD ACROSS
     "st.shared.u32 [%r3], %r1;\nbar.sync 0;\n"
     "ld.shared.u32 %r6, [%r4];\nst.shared.u32 [%r3+256], %r6;\nbar.sync 0;\n"
     "ld.shared.u32 %r6, [%r4+256];\nst.shared.u32 [%r3], %r6;\nbar.sync 0;\nld.shared.u32 %r6, [%r4];\nret;\n",
     .threads = 64},
    {"two buffers, one barrier short",
     ARENA THREAD ACROSS
     "st.shared.u32 [%r3], %r1;\nbar.sync 0;\n"
     "ld.shared.u32 %r6, [%r4];\nst.shared.u32 [%r3+256], %r6;\n"
     "ld.shared.u32 %r6, [%r4+256];\nst.shared.u32 [%r3], %r6;\nbar.sync 0;\nld.shared.u32 %r6, [%r4];\nret;\n",
     .threads = 64, .race = 4, .line = 11, .other_line = 14, .warp = 1, .lane = 0, .byte = 0, .store = false,
     .other_store = true},
    {"a lane loads its neighbour's word",
     ARENA THREAD NEXT "st.shared.u32 [%r3], %r1;\nld.shared.u32 %r6, [%r4];\nret;\n", .threads = 32, .race = 1,
     .line = 10, .other_line = 9, .lane = 0, .other_lane = 1, .byte = 4, .other_store = true},
    {"a shuffle orders no memory",
     ARENA THREAD NEXT
     "st.shared.u32 [%r3], %r1;\nshfl.sync.bfly.b32 %r7, %r1, 1, 31, -1;\nld.shared.u32 %r6, [%r4];\nret;\n",
     .threads = 32, .race = 1, .line = 11, .other_line = 9, .lane = 0, .other_lane = 1, .byte = 4, .other_store = true},
    {"with bar.warp.sync",
     ARENA THREAD NEXT "st.shared.u32 [%r3], %r1;\nbar.warp.sync -1;\nld.shared.u32 %r6, [%r4];\nret;\n",
     .threads = 32},
    {"the same in each of two warps",
     ARENA THREAD NEXT "st.shared.u32 [%r3], %r1;\nbar.warp.sync -1;\nld.shared.u32 %r6, [%r4];\nret;\n",
     .threads = 64},
    {"bar.warp.sync is not enough for two warps",
     ARENA THREAD ACROSS "st.shared.u32 [%r3], %r1;\nbar.warp.sync -1;\nld.shared.u32 %r6, [%r4];\nret;\n",
     .threads = 64, .race = 2, .line = 9, .other_line = 11, .warp = 1, .byte = 128, .store = true},
    {"bar.warp.sync, then a store too early",
     ARENA THREAD NEXT
     "st.shared.u32 [%r3], %r1;\nbar.warp.sync -1;\nld.shared.u32 %r6, [%r4];\nst.shared.u32 [%r3], %r6;\nret;\n",
     .threads = 32, .race = 1, .line = 12, .other_line = 11, .lane = 0, .other_lane = 1, .byte = 0, .store = true},
    {"bar.warp.sync of the pair alone",
     ARENA THREAD NEXT "mov.u32 %r8, 3;\nand.b32 %r9, %r1, 30;\nshl.b32 %r8, %r8, %r9;\nst.shared.u32 [%r3], %r1;\n"
                       "bar.warp.sync %r8;\nld.shared.u32 %r6, [%r4];\nret;\n",
     .threads = 2},
    {"bar.warp.sync of others",
     ARENA THREAD NEXT "setp.lt.u32 %p1, %r1, 16;\nst.shared.u32 [%r3], %r1;\n@%p1 bar.warp.sync "
                       "0xffff;\nld.shared.u32 %r6, [%r4];\nret;\n",
     .threads = 32, .race = 1, .line = 12, .other_line = 10, .lane = 16, .other_lane = 17, .byte = 68, .store = false,
     .other_store = true},
    {"two lanes of one store, two values", ARENA THREAD "and.b32 %r7, %r3, -8;\nst.shared.u32 [%r7], %r1;\nret;\n",
     .threads = 32, .race = 1, .line = 7, .other_line = 7, .lane = 1, .other_lane = 0, .byte = 0, .store = true,
     .other_store = true},
    {"two lanes of one store, one value", ARENA THREAD "and.b32 %r7, %r3, -8;\nst.shared.u32 [%r7], %r20;\nret;\n",
     .threads = 32, .benign = 1},
    {"two warps store one value", ARENA THREAD "setp.eq.u32 %p1, %r2, -1;\nst.shared.u32 [%r20], %r20;\nret;\n",
     .threads = 64, .benign = 1},
    {"one value, then another by the same thread",
     ARENA THREAD "and.b32 %r8, %r1, 31;\nsetp.eq.u32 %p1, %r8, 0;\nadd.u32 %r9, %r1, 7;\n@%p1 st.shared.u32 [%r20], "
                  "%r9;\n@%p1 st.shared.u32 [%r20], %r20;\nret;\n",
     .threads = 64, .race = 2, .line = 9, .other_line = 10, .warp = 1, .store = true, .other_store = true},
    {"bytes next to each other",
     ARENA THREAD "add.u32 %r7, %r20, %r1;\nst.shared.u8 [%r7], %r1;\nbar.sync 0;\nld.shared.u8 %r8, [%r7];\nret;\n",
     .threads = 64},
    {"a byte of a word that another stores",
     ARENA THREAD "add.u32 %r7, %r20, %r1;\nst.shared.u8 [%r7+3], %r1;\nsetp.eq.u32 %p1, %r1, 40;\n@%p1 st.shared.u32 "
                  "[%r20+4], %r1;\nret;\n",
     .threads = 64, .race = 1, .line = 9, .other_line = 7, .warp = 1, .lane = 8, .other_lane = 1, .byte = 4,
     .store = true, .other_store = true},
    {"ldmatrix of rows that other lanes stored",
     ARENA THREAD "shl.b32 %r7, %r1, 4;\nadd.u32 %r7, %r20, %r7;\nxor.b32 %r8, %r7, 16;\n"
                  "st.shared.v4.u32 [%r7], {%r1, %r1, %r1, %r1};\n"
                  "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r10, %r11, %r12, %r13}, [%r8];\nret;\n",
     .threads = 32, .race = 1, .line = 10, .other_line = 9, .lane = 0, .other_lane = 1, .byte = 16,
     .other_store = true},
    {"ldmatrix after bar.warp.sync",
     ARENA THREAD "shl.b32 %r7, %r1, 4;\nadd.u32 %r7, %r20, %r7;\nxor.b32 %r8, %r7, 16;\n"
                  "st.shared.v4.u32 [%r7], {%r1, %r1, %r1, %r1};\nbar.warp.sync -1;\n"
                  "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r10, %r11, %r12, %r13}, [%r8];\nret;\n",
     .threads = 32},
    {"generic addresses",
     ARENA THREAD NEXT
     "cvt.u64.u32 %rd1, %r3;\ncvta.shared.u64 %rd1, %rd1;\nst.u32 [%rd1], %r1;\nld.shared.u32 %r6, [%r4];\nret;\n",
     .threads = 32, .race = 1, .line = 12, .other_line = 11, .lane = 0, .other_lane = 1, .byte = 4,
     .other_store = true},
    {"lanes that went apart",
     ARENA THREAD NEXT
     "and.b32 %r7, %r1, 1;\nsetp.eq.u32 %p1, %r7, 0;\n@%p1 bra EVEN;\nst.shared.u32 [%r3], %r1;\nbra DONE;\n"
     "EVEN:\nld.shared.u32 %r6, [%r4];\nDONE:\nret;\n",
     .threads = 32, .race = 1, .line = 15, .other_line = 12, .lane = 0, .other_lane = 1, .byte = 4,
     .other_store = true},
    {"lanes that went apart and met",
     ARENA THREAD NEXT "and.b32 %r7, %r1, 1;\nsetp.eq.u32 %p1, %r7, 0;\n@%p1 bra EVEN;\nst.shared.u32 [%r3], "
                       "%r1;\nbar.warp.sync -1;\nbra DONE;\n"
                       "EVEN:\nbar.warp.sync -1;\nld.shared.u32 %r6, [%r4];\nDONE:\nret;\n",
     .threads = 32},
    {"a last warp of 8 threads",
     ARENA THREAD NEXT "st.shared.u32 [%r3], %r1;\nbar.sync 0;\nld.shared.u32 %r6, [%r4];\nbar.warp.sync "
                       "255;\nst.shared.u32 [%r3], %r6;\nret;\n",
     .threads = 8},
    {"early exits",
     ARENA THREAD "setp.ge.u32 %p1, %r1, 40;\n@%p1 bra DONE;\nst.shared.u32 [%r3], %r1;\nbar.sync 0;\nld.shared.u32 "
                  "%r6, [%r20+156];\nDONE:\nret;\n",
     .threads = 64},
    {"a warp stores and exits ahead of the barrier",
     ARENA THREAD "st.shared.u32 [%r3], %r1;\nsetp.ge.u32 %p1, %r1, 32;\n@%p1 bra DONE;\nbar.sync 0;\nld.shared.u32 "
                  "%r6, [%r20+156];\nDONE:\nret;\n",
     .threads = 64},
    {"a warp exits, and the others' barrier does not count it",
     ARENA THREAD "st.shared.u32 [%r3], %r1;\nsetp.ge.u32 %p1, %r1, 64;\n@%p1 bra DONE;\nbar.sync 1, "
                  "64;\nld.shared.u32 %r6, [%r20+300];\nDONE:\nret;\n",
     .threads = 96, .race = 1, .line = 10, .other_line = 6, .other_warp = 2, .other_lane = 11, .byte = 300,
     .store = false, .other_store = true},
    {"a producer and a consumer",
     ARENA THREAD ACROSS
     "setp.ge.u32 %p1, %r1, 32;\n@%p1 bra TAKE;\nst.shared.u32 [%r3], %r1;\nbar.arrive 1, 64;\nbar.sync 2, 64;\n"
     "st.shared.u32 [%r3], %r20;\nbar.arrive 3, 64;\nbra DONE;\n"
     "TAKE:\nbar.sync 1, 64;\nld.shared.u32 %r6, [%r4];\nbar.arrive 2, 64;\nbar.sync 3, 64;\nld.shared.u32 %r6, "
     "[%r4];\nDONE:\nret;\n",
     .threads = 64},
    {"a consumer that only arrives",
     ARENA THREAD ACROSS
     "setp.ge.u32 %p1, %r1, 32;\n@%p1 bra TAKE;\nst.shared.u32 [%r3], %r1;\nbar.sync 1, 64;\nbra DONE;\n"
     "TAKE:\nbar.arrive 1, 64;\nld.shared.u32 %r6, [%r4];\nDONE:\nret;\n",
     .threads = 64, .race = 1, .line = 16, .other_line = 11, .warp = 1, .byte = 0, .store = false, .other_store = true},
    {"a producer that does not wait for the consumer",
     ARENA THREAD ACROSS "setp.ge.u32 %p1, %r1, 32;\n@%p1 bra TAKE;\nst.shared.u32 [%r3], %r1;\nbar.arrive 1, 64;\n"
                         "st.shared.u32 [%r3], %r20;\nbra DONE;\n"
                         "TAKE:\nbar.sync 1, 64;\nld.shared.u32 %r6, [%r4];\nDONE:\nret;\n",
     .threads = 64, .race = 1, .line = 17, .other_line = 13, .warp = 1, .byte = 0, .store = false, .other_store = true},
    {"a barrier of two of three warps",
     ARENA THREAD "setp.ge.u32 %p1, %r1, 64;\nst.shared.u32 [%r3], %r1;\n@!%p1 bar.sync 1, 64;\nld.shared.u32 %r6, "
                  "[%r20+128];\nret;\n",
     .threads = 96, .race = 1, .line = 9, .other_line = 7, .warp = 2, .lane = 0, .other_warp = 1, .other_lane = 0,
     .byte = 128, .store = false, .other_store = true},
    {"volatile accesses of one word",
     ARENA THREAD ACROSS "st.volatile.shared.u32 [%r3], %r1;\nld.volatile.shared.u32 %r6, [%r4];\nret;\n",
     .threads = 64, .open = true},
    {"a plain load of a volatile store",
     ARENA THREAD ACROSS "st.volatile.shared.u32 [%r3], %r1;\nld.shared.u32 %r6, [%r4];\nret;\n", .threads = 64,
     .race = 2, .line = 9, .other_line = 10, .warp = 1, .byte = 128, .store = true},
    {"a flag, fences and data",
     ARENA THREAD ACROSS
     "setp.ge.u32 %p1, %r1, 32;\n@%p1 bra TAKE;\nst.shared.u32 [%r3], %r1;\nmembar.cta;\nst.volatile.shared.u32 "
     "[%r20+1024], %r20;\nbra DONE;\n"
     "TAKE:\nld.volatile.shared.u32 %r7, [%r20+1024];\nmembar.cta;\nld.shared.u32 %r6, [%r4];\nDONE:\nret;\n",
     .threads = 64, .open = true},
    {"a flag without fences",
     ARENA THREAD ACROSS "setp.ge.u32 %p1, %r1, 32;\n@%p1 bra TAKE;\nst.shared.u32 [%r3], %r1;\nst.volatile.shared.u32 "
                         "[%r20+1024], %r20;\nbra DONE;\n"
                         "TAKE:\nld.volatile.shared.u32 %r7, [%r20+1024];\nld.shared.u32 %r6, [%r4];\nDONE:\nret;\n",
     .threads = 64, .race = 1, .line = 16, .other_line = 11, .warp = 1, .other_store = true},
    {"a long interval",
     ARENA THREAD ACROSS "mov.u32 %r9, 0;\nLOOP:\nld.shared.u32 %r6, [%r3+1024];\nadd.u32 %r9, %r9, 1;\nsetp.lt.u32 "
                         "%p1, %r9, 40000;\n@%p1 bra LOOP;\n"
                         "st.shared.u32 [%r4+1024], %r1;\nret;\n",
     .threads = 64, .race = 2, .line = 15, .other_line = 11, .warp = 0, .byte = 1152, .store = true,
     .other_store = false, .other_warp = 1},
    {"a long interval without a store for others",
     ARENA THREAD ACROSS "mov.u32 %r9, 0;\nLOOP:\nld.shared.u32 %r6, [%r3+1024];\nadd.u32 %r9, %r9, 1;\nsetp.lt.u32 "
                         "%p1, %r9, 40000;\n@%p1 bra LOOP;\n"
                         "st.shared.u32 [%r3+1024], %r1;\nbar.sync 0;\nst.shared.u32 [%r4+1024], %r1;\nret;\n",
     .threads = 64},
};

static void check_first(const struct hazard_case *c, const struct trace *t, const char *isa) {
    for (size_t i = 0; i < t->event_count; ++i) {
        const struct event *v = &t->events[i];
        if (v->kind != EVENT_RACE)
            continue;
        const struct event_access *o = &v->other;
        const int line = t->sites[v->instruction].line, other = t->sites[o->instruction].line;
        cr_expect(o->present && v->space == SPACE_SHARED && v->buffer == -1 && v->plane == -1 && o->bytes,
                  "%s %s: present %d space %d", c->name, isa, o->present, v->space);
        cr_expect(line == c->line && other == c->other_line && v->warp == c->warp && v->lane == c->lane &&
                      o->warp == c->other_warp && o->lane == c->other_lane && v->offset == c->byte &&
                      v->store == c->store && o->store == c->other_store,
                  "%s %s: line %d warp %u lane %u byte %lld store %d; other line %d warp %u lane %u store %d", c->name,
                  isa, line, v->warp, v->lane, (long long)v->offset, v->store, other, o->warp, o->lane, o->store);
        return;
    }
}

Test(machine_hazard, shared) {
    const char *isas[3];
    const size_t isa_count = machine_isas(isas);
    for (size_t k = 0; k < isa_count * sizeof cases / sizeof *cases; ++k) {
        const struct hazard_case *c = &cases[k / isa_count];
        const char *isa = isas[k % isa_count];
        const struct machine_test test = {
            .body = c->body, .block = {c->threads}, .isa = isa, .unwatched = WATCH_UNINIT};
        struct trace t;

        struct ptx_module *m = machine_must(&test, &t);
        int count[EVENT_KINDS] = {0};
        for (size_t i = 0; i < t.event_count; ++i)
            ++count[t.events[i].kind];
        cr_expect(count[EVENT_RACE] == c->race && count[EVENT_BENIGN_RACE] == c->benign &&
                      (int)t.event_count == c->race + c->benign,
                  "%s %s: %d races, %d benign ones, %zu events", c->name, isa, count[EVENT_RACE],
                  count[EVENT_BENIGN_RACE], t.event_count);
        cr_expect((t.order_open != NULL) == (c->race || c->open), "%s %s: order open: %s", c->name, isa,
                  t.order_open ? t.order_open : "no");
        check_first(c, &t, isa);
        trace_free(&t);
        ptx_free(m);
    }
}
