/* cp.async on the PTX machine: what lands, when, and what is said of a wrong one (PTX ISA 9.7.9.25.3). Expected bytes
 * come from plain C. */
#include "machine_run.h"

enum { LANES = 32, BYTES = 16 * LANES };

static uint8_t source[BYTES], result[2 * BYTES];
static struct launch_buffer buffers[2] = {
    {.name = "source", .role = BUFFER_IN, .bytes = BYTES, .cell_bytes = 4, .data = source},
    {.name = "result", .role = BUFFER_OUT, .bytes = 2 * BYTES, .cell_bytes = 4, .data = result}};

/* Lane i has 16 bytes of the source at %rd4, of the result at %rd5, of shared memory at %r4, which hold 0x55 bytes;
 * %r1 = i, %p1: odd lanes. `ECHO` copies the 16 shared bytes to the result, `ECHO2` to its second half. */
#define START                                                                                                          \
    "ld.param.u64 %rd1, [p0]; ld.param.u64 %rd2, [p1]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 16;\n"             \
    "add.u64 %rd4, %rd1, %rd3; add.u64 %rd5, %rd2, %rd3; mov.u32 %r3, tile; shl.b32 %r2, %r1, 4;\n"                    \
    "add.u32 %r4, %r3, %r2; mov.u32 %r5, 0x55555555; st.shared.v4.u32 [%r4], {%r5, %r5, %r5, %r5};\n"                  \
    "and.b32 %r6, %r1, 1; setp.eq.u32 %p1, %r6, 1;\n"
#define ECHO "ld.shared.v4.u32 {%r10, %r11, %r12, %r13}, [%r4]; st.global.v4.u32 [%rd5], {%r10, %r11, %r12, %r13};\n"
#define ECHO2                                                                                                          \
    "ld.shared.v4.u32 {%r10, %r11, %r12, %r13}, [%r4]; st.global.v4.u32 [%rd5+512], {%r10, %r11, %r12, %r13};\n"
#define TILE ".shared .align 16 .b8 tile[512];\n"

static struct trace trace;
static struct ptx_module *module;

static void run(const char *body, struct launch_options options) {
    for (int i = 0; i < BYTES; ++i)
        source[i] = (uint8_t)(i * 7 + 3);
    memset(result, 0xee, sizeof result);
    const struct machine_test test = {
        .module_level = TILE, .body = body, .buffers = buffers, .buffer_count = 2, .options = options};
    module = machine_must(&test, &trace);
}

static void finish(void) {
    trace_free(&trace);
    ptx_free(module);
}

static const struct launch_options late = {.unwatched = 0}, early = {.schedule = {.async_early = true}},
                                   reversed = {.schedule = {.order = SCHEDULE_REVERSED}};

static struct launch_options random_order(uint64_t seed) {
    return (struct launch_options){.schedule = {.order = SCHEDULE_RANDOM, .seed = seed}};
}

/* Events of kinds that belong to this file or to the bounds: the other watchers have tests of their own. */
static size_t events_of(enum event_kind kind) {
    size_t n = 0;
    for (size_t i = 0; i < trace.event_count; ++i)
        n += trace.events[i].kind == kind;
    return n;
}
static const struct event *the_event(enum event_kind kind, const char *what) {
    const struct event *found = NULL;
    for (size_t i = 0; i < trace.event_count; ++i)
        if (trace.events[i].kind == kind)
            found = found ? found : &trace.events[i];
    cr_assert(found, "%s: no event of kind %d among %zu", what, (int)kind, trace.event_count);
    return found;
}

/* Byte b of lane i once `size` of its n bytes have been copied from its place, the rest of n zeroed. */
static uint8_t copied(int lane, int b, int n, int size) {
    return b < size ? source[16 * lane + b] : b < n ? 0 : 0x55;
}

Test(machine_async, sizes) {
    static const struct launch_options *const all[] = {&late, &early, &reversed};
    static const struct {
        int n;
        const char *head, *tail;
    } forms[] = {
        {4, "ca.shared.global", ""},           {8, "ca.shared::cta.global", ""},
        {16, "ca.shared.global.L2::64B", ""},  {16, "cg.shared.global", ""},
        {16, "cg.shared.global.L2::128B", ""}, {16, "cg.shared::cta.global.L2::cache_hint.L2::256B", ", %rd9"}};
    for (size_t f = 0; f < sizeof forms / sizeof *forms; ++f)
        for (int size = -3; size <= forms[f].n; ++size) { /* -3: none given, -2: ignored, -1: not ignored */
            for (size_t o = 0; o < 3; ++o) {
                char body[4096], third[40] = "";
                if (size >= 0 && !(size & 1))
                    snprintf(third, sizeof third, ", %d", size);
                else if (size > -3)
                    strcpy(third, size >= 0 ? ", %r20" : ", %p2");
                snprintf(body, sizeof body,
                         "%smov.u64 %%rd9, 0x1000000000000000; mov.u32 %%r20, %d; setp.eq.u32 %%p2, %%r20, %d;\n"
                         "cp.async.%s [%%r4], [%%rd4], %d%s%s;\n"
                         "cp.async.commit_group; cp.async.wait_group 0;\n%s",
                         START, size, size == -2 ? -2 : 12345, forms[f].head, forms[f].n, third, forms[f].tail, ECHO);
                run(body, *all[o]);
                const int want = size == -2 ? 0 : size < 0 ? forms[f].n : size;
                for (int i = 0; i < BYTES; ++i)
                    cr_assert(result[i] == copied(i / 16, i % 16, forms[f].n, want),
                              "%s, %d bytes, size %d, order %zu: byte %d is %02x", forms[f].head, forms[f].n, size, o,
                              i, result[i]);
                cr_assert(trace.event_count == 0, "%s, size %d: event of kind %d", forms[f].head, size,
                          (int)trace.events[0].kind);
                finish();
            }
        }
}

/* Every lane has its own size, and those that the guard switches off copy nothing. */
Test(machine_async, sizes_by_lane) {
    for (uint64_t seed = 0; seed < 4; ++seed) {
        run(START "rem.u32 %r20, %r1, 17; @%p1 cp.async.cg.shared.global [%r4], [%rd4], 16, %r20;\n"
                  "cp.async.wait_all;\n" ECHO,
            seed ? random_order(seed) : late);
        for (int i = 0; i < BYTES; ++i) {
            const int lane = i / 16, want = lane & 1 ? copied(lane, i % 16, 16, lane % 17) : 0x55;
            cr_assert(result[i] == want, "seed %d: byte %d is %02x, want %02x", (int)seed, i, result[i], want);
        }
        cr_assert(trace.event_count == 0, "event of kind %d", (int)trace.events[0].kind);
        finish();
    }
}

/* Which of two reads see the copy: the first before the wait, the second after it. */
static void expect_seen(const char *what, const char *body, struct launch_options options, int first, int second) {
    run(body, options);
    for (int half = 0; half < 2; ++half)
        for (int lane = 0; lane < LANES; ++lane) {
            const int rule = half ? second : first; /* 0 no lane, 1 all, 2 odd ones, 3 even ones */
            const bool seen = rule == 1 || (rule == 2 && lane & 1) || (rule == 3 && !(lane & 1));
            for (int b = 0; b < 16; ++b)
                cr_assert(result[half * BYTES + 16 * lane + b] == copied(lane, b, seen ? 16 : 0, seen ? 16 : 0),
                          "%s: read %d of lane %d sees %02x in byte %d", what, half + 1, lane,
                          result[half * BYTES + 16 * lane + b], b);
        }
    finish();
}

#define COPY    "cp.async.cg.shared.global [%r4], [%rd4], 16;\n"
#define COMMIT  "cp.async.commit_group;\n"
#define WAIT(n) "cp.async.wait_group " #n ";\n"

Test(machine_async, landing) {
    const char *plain = START COPY COMMIT ECHO WAIT(0) ECHO2;
    expect_seen("late", plain, late, 0, 1);
    expect_seen("early", plain, early, 1, 1);
    expect_seen("reversed", plain, reversed, 1, 1);
    expect_seen("a newer group may stay", START COPY COMMIT COMMIT WAIT(2) ECHO WAIT(1) ECHO2, late, 0, 1);
    expect_seen("too many groups kept", START COPY COMMIT WAIT(1) ECHO "cp.async.wait_all;\n" ECHO2, late, 0, 1);
    expect_seen("a copy that is not committed", START COPY WAIT(0) ECHO "cp.async.wait_all;\n" ECHO2, late, 0, 1);
    expect_seen("a wait of some lanes", START COPY COMMIT "@%p1 cp.async.wait_all;\n" ECHO WAIT(0) ECHO2, late, 2, 1);
    expect_seen("a commit of some lanes", START COPY "@%p1 cp.async.commit_group;\n" WAIT(0) ECHO COMMIT WAIT(0) ECHO2,
                late, 2, 1);
    expect_seen("groups are a lane's own",
                START "@%p1 cp.async.commit_group;\n" COPY COMMIT "@%p1 cp.async.commit_group;\n" WAIT(1) ECHO WAIT(0)
                    ECHO2,
                late, 2, 1);
    expect_seen("the same under divergence",
                START "@%p1 bra ODD;\n" COPY COMMIT "bra BOTH;\nODD:\n" COPY COMMIT COMMIT "BOTH:\n" WAIT(1)
                    ECHO WAIT(0) ECHO2,
                late, 2, 1);
    for (uint64_t seed = 1; seed <= 20; ++seed) { /* of each lane's copy by itself, then all */
        run(plain, random_order(seed));
        int seen = 0;
        for (int lane = 0; lane < LANES; ++lane)
            seen += result[16 * lane] == source[16 * lane];
        cr_assert(seen > 0 && seen < LANES, "seed %d: %d lanes' copies landed at once", (int)seed, seen);
        for (int i = 0; i < BYTES; ++i)
            cr_assert(result[BYTES + i] == source[i], "seed %d: byte %d after the wait", (int)seed, i);
        finish();
    }
}

/* The source is read when the copy lands: what the thread stores there meanwhile may be seen, or not. */
Test(machine_async, source_is_read_at_landing) {
    const char *body = START "mov.u32 %r7, 1; st.global.v4.u32 [%rd5], {%r7, %r7, %r7, %r7};\n"
                             "cp.async.ca.shared.global [%r4], [%rd5], 4;\n"
                             "mov.u32 %r7, 2; st.global.u32 [%rd5], %r7; cp.async.wait_all;\n"
                             "ld.shared.u32 %r8, [%r4]; st.global.u32 [%rd5+512], %r8;\n";
    for (int o = 0; o < 2; ++o) {
        run(body, o ? early : late);
        uint32_t got;
        memcpy(&got, result + BYTES, 4);
        cr_assert(got == (o ? 1u : 2u), "landing %s reads %u", o ? "early" : "late", got);
        finish();
    }
}

/* Runs, and the one event of that kind is by this lane, at this body line, with this offset, for so many lanes. */
static void expect_event(const char *what, const char *body, enum event_kind kind, unsigned lane, int64_t offset,
                         size_t bytes, uint64_t count) {
    for (int o = 0; o < 3; ++o) {
        run(body, o == 0 ? late : o == 1 ? early : random_order(3));
        const struct event *v = the_event(kind, what);
        cr_assert(events_of(kind) == 1 && (o == 2 || v->lane == lane) && (o == 2 || v->offset == offset) &&
                      v->bytes == bytes && v->count == count,
                  "%s: %zu events, lane %u, offset %lld, %zu bytes, %llu lanes", what, events_of(kind), v->lane,
                  (long long)v->offset, v->bytes, (unsigned long long)v->count);
        finish();
    }
}

static void expect_silence(const char *what, const char *body) {
    for (uint64_t seed = 0; seed < 23; ++seed) {
        run(body, seed == 0 ? late : seed == 1 ? early : seed == 2 ? reversed : random_order(seed));
        cr_assert(trace.event_count == 0, "%s: event of kind %d", what, (int)trace.events[0].kind);
        finish();
    }
}

Test(machine_async, faults) {
    expect_event("the last lane's destination is past the end",
                 START "cp.async.cg.shared.global [%r4+16], [%rd4], 16; cp.async.wait_all;", EVENT_OUT_OF_BOUNDS, 31,
                 512, 16, 1);
    expect_event("destinations below the start",
                 START "cp.async.ca.shared.global [%r4+-32], [%rd4], 4; cp.async.wait_all;", EVENT_OUT_OF_BOUNDS, 0,
                 -32, 4, 2);
    expect_event("sources past the end", START "cp.async.ca.shared.global [%r4], [%rd4+24], 8; cp.async.wait_all;",
                 EVENT_OUT_OF_BOUNDS, 31, 512 + 8, 8, 1);
    expect_event("a source size past the end",
                 START "cp.async.cg.shared.global [%r4], [%rd4+16], 16, 3; cp.async.wait_all;", EVENT_OUT_OF_BOUNDS, 31,
                 512, 3, 1);
    expect_event("destinations that are no multiple of the size",
                 START "cp.async.cg.shared.global [%r4+-8], [%rd4], 16; cp.async.wait_all;", EVENT_MISALIGNED, 1, 8, 16,
                 31);
    expect_event("sources that are none", START "cp.async.ca.shared.global [%r4], [%rd4+4], 8; cp.async.wait_all;",
                 EVENT_MISALIGNED, 0, 4, 8, 32);
    expect_event("few bytes read, alignment of all",
                 START "cp.async.ca.shared.global [%r4], [%rd4+4], 8, 1;"
                       "cp.async.wait_all;",
                 EVENT_MISALIGNED, 0, 4, 1, 32);
    expect_event("a source size above the copy's",
                 START "sub.u32 %r20, %r1, 10; @%p1 cp.async.ca.shared.global [%r4], [%rd4], 8, %r20;"
                       "cp.async.wait_all;",
                 EVENT_ASYNC_SIZE, 1, (int64_t)(uint32_t)-9, 8, 12);
    expect_event("a generic address of shared memory as the source",
                 START "mov.u64 %rd6, tile; cvta.shared.u64 %rd6, %rd6;"
                       "cp.async.ca.shared.global [%r4], [%rd6], 4; cp.async.wait_all;",
                 EVENT_OUT_OF_BOUNDS, 0, (int64_t)1 << 62, 4, 32);
    /* a bad source gives 0xFF bytes, and the zeros behind them; a bad destination nothing */
    run(START "mov.u64 %rd6, 64; cp.async.cg.shared.global [%r4], [%rd6], 16, 5; cp.async.wait_all;\n" ECHO, late);
    for (int i = 0; i < BYTES; ++i)
        cr_assert(result[i] == (i % 16 < 5 ? 0xff : 0), "byte %d of a bad source is %02x", i, result[i]);
    finish();
    run(START "cp.async.cg.shared.global [%r4+8], [%rd4], 16; cp.async.wait_all;\n" ECHO, late);
    for (int i = 0; i < BYTES; ++i)
        cr_assert(result[i] == 0x55, "byte %d of a bad destination is %02x", i, result[i]);
    finish();
    expect_silence("no byte of a source: it is not touched",
                   START "mov.u64 %rd6, 64; cp.async.cg.shared.global [%r4], [%rd6], 16, 0; cp.async.wait_all;\n" ECHO);
    expect_silence("the last bytes of a source",
                   START "and.b32 %r20, %r1, 15; add.u64 %rd6, %rd4, 0; cp.async.cg.shared.global [%r4], [%rd6], 16, "
                         "%r20; cp.async.wait_all;\n" ECHO);
    expect_silence("lanes that are switched off",
                   START "mov.u64 %rd6, 64; setp.eq.u32 %p3, %r1, 77;\n"
                         "@%p3 cp.async.cg.shared.global [%r4], [%rd6], 16; cp.async.wait_all;\n" ECHO);
}

/* An arena of two planes of 256 bytes. */
Test(machine_async, planes) {
    static const struct launch_plane planes[] = {{"low", 0, 256}, {"high", 256, 256}};
    const struct machine_test test = {.module_level = ".extern .shared .align 16 .b8 tile[];\n",
                                      .body = START "cp.async.ca.shared.global [%r4], [%rd4], 8; cp.async.wait_all;",
                                      .buffers = buffers,
                                      .buffer_count = 2,
                                      .shared = 512,
                                      .planes = planes,
                                      .plane_count = 2};
    module = machine_must(&test, &trace);
    size_t seen = 0;
    for (size_t i = 0; i < trace.event_count; ++i) {
        const struct event *v = &trace.events[i];
        if (v->kind != EVENT_PLANE || v->bytes != 8)
            continue;
        cr_assert(v->plane == 0 && v->other_plane == 1 && v->offset == 256 && v->lane == 16 && v->store &&
                      v->count == 16,
                  "plane %d into %d at %lld by lane %u", v->plane, v->other_plane, (long long)v->offset, v->lane);
        ++seen;
    }
    cr_assert(seen == 1, "%zu events of the copy's plane", seen);
    finish();
}

Test(machine_async, exits) {
    static const char *const wrong[] = {
        START COPY "exit;\n",
        START COPY COMMIT "ret;\n",
        START COPY COMMIT WAIT(1),
        START COPY COMMIT COPY COMMIT WAIT(1) "ret;\n",
        START COPY WAIT(0) "ret;\n",
        START COPY COMMIT "bra.uni OUT;\nOUT:\nret;\n",
        START "cp.async.cg.shared.global [%r4], [%rd4], 16, 0;\nret;\n",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i)
        expect_event(wrong[i], wrong[i], EVENT_ASYNC_EXIT, 0, 0, 16, 32);
    expect_event("half of the lanes leave", START COPY COMMIT "@%p1 bra OUT;\n" WAIT(0) "OUT:\nret;\n",
                 EVENT_ASYNC_EXIT, 1, 16, 16, 16);
    expect_event("half of the lanes leave by a guard", START COPY COMMIT "@%p1 exit;\n" WAIT(0) "ret;\n",
                 EVENT_ASYNC_EXIT, 1, 16, 16, 16);
    run(START "\n\n" COPY COMMIT "ret;\n", late);
    const struct event *v = the_event(EVENT_ASYNC_EXIT, "the copy and the exit");
    cr_assert(v->other.present && v->other.store && v->other.lane == v->lane && v->other.warp == 0 &&
                  strstr(trace.sites[v->other.instruction].text, "cp.async.cg") &&
                  strstr(trace.sites[v->instruction].text, "ret") && v->space == SPACE_SHARED,
              "the event names %s and %s", trace.sites[v->instruction].text, trace.sites[v->other.instruction].text);
    finish();
    run(START COPY "ret;\n", (struct launch_options){.unwatched = WATCH_ASYNC});
    cr_assert(!events_of(EVENT_ASYNC_EXIT), "the watch is off");
    finish();
    expect_silence("everything has been waited for",
                   START "cp.async.ca.shared.global [%r4], [%rd4], 8;\n" COMMIT
                         "cp.async.ca.shared.global [%r4+8], [%rd4+8], 8; cp.async.wait_all;\nret;\n");
    expect_silence("an empty group is in flight for ever", START COPY COMMIT COMMIT COMMIT WAIT(2) "ret;\n");
    expect_silence("groups without a copy", START COMMIT COMMIT "ret;\n");
    expect_silence("a wait without a copy", START "cp.async.wait_all;\n" WAIT(0) "ret;\n");
}

/* Copies that nobody waits for take bounded memory, and the last ones land right. */
Test(machine_async, many_in_flight) {
    for (int o = 0; o < 3; ++o) {
        struct launch_options options = o == 0 ? late : o == 1 ? early : random_order(5);
        options.unwatched = WATCH_HAZARDS | WATCH_ASYNC; /* they overwrite each other in flight */
        run(START "mov.u32 %r20, 0;\nLOOP:\n"
                  "cp.async.cg.shared.global [%r4], [%rd4], 16; cp.async.commit_group; add.u32 %r20, %r20, 1;\n"
                  "setp.lt.u32 %p2, %r20, 9000; @%p2 bra LOOP;\n" WAIT(0) ECHO,
            options);
        cr_assert(!memcmp(result, source, BYTES), "the bytes after 9000 copies, landing %d", o);
        finish();
    }
}

Test(machine_async, refused) {
    static const char *const bad[] = {
        "cp.async.ca.shared.global [%r4], [%rd4], 3;",
        "cp.async.ca.shared.global [%r4], [%rd4], 0;",
        "cp.async.ca.shared.global [%r4], [%rd4], 32;",
        "cp.async.ca.shared.global [%r4], [%rd4], %r1;",
        "cp.async.cg.shared.global [%r4], [%rd4], 8;",
        "cp.async.cg.shared.global [%r4], [%rd4], 16, 17;",
        "cp.async.ca.shared.global [%r4], [%rd4], 8, -1;",
        "cp.async.ca.shared.global [%r4], [%rd4], 8, %rd5;",
        "cp.async.ca.shared.global [%r4], [%rd4], 8, %h1;",
        "cp.async.ca.shared.global [%r4], [%rd4];",
        "cp.async.ca.shared.global [%r4], [%rd4], 8, 8, %rd9;",
        "cp.async.ca.shared.global.L2::cache_hint [%r4], [%rd4], 8;",
        "cp.async.ca.shared.global.L2::cache_hint [%r4], [%rd4], 8, 8, %r9;",
        "cp.async.ca.shared.global.L2::32B [%r4], [%rd4], 8;",
        "cp.async.ca.cg.shared.global [%r4], [%rd4], 16;",
        "cp.async.shared.global [%r4], [%rd4], 16;",
        "cp.async.ca.global.shared [%rd4], [%r4], 16;",
        "cp.async.ca.shared::cluster.global [%r4], [%rd4], 16;",
        "cp.async.ca.shared.global [%r4], [%r5], 16;",
        "cp.async.ca.shared.global [fixed], [%rd4], 16;",
        "cp.async.ca.shared.global [%r4], [tile], 16;",
        "cp.async.ca.shared.global %r4, [%rd4], 16;",
        "cp.async.wait_group;",
        "cp.async.wait_group %r1;",
        "cp.async.wait_group -1;",
        "cp.async.wait_all 0;",
        "cp.async.commit_group 1;",
        "cp.async.mbarrier.arrive.shared.b64 [%r4];",
        "cp.async.bulk.commit_group;",
        "cp.async;",
        "cp.ca.shared.global [%r4], [%rd4], 16;",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        struct error e = {""};
        const struct machine_test test = {.module_level = TILE ".global .align 16 .b8 fixed[16];\n",
                                          .body = bad[i],
                                          .buffers = buffers,
                                          .buffer_count = 2};
        const bool ran = machine_try(&test, &module, &trace, &e);
        cr_assert(!ran && module && strstr(e.text, "k.ptx:") && strstr(e.text, "cp."), "%s: %s", bad[i], e.text);
        finish();
    }
}
