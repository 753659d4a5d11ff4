/* Reads of what nothing has written: shared memory, output buffers, registers. Each kind has a fault that is named and
 * a clean twin that is silent. */
#include "../ref/checked.h"
#include "../ref/random.h"
#include "machine_run.h"

enum { WORDS = 64 };

static uint32_t in[WORDS], out[WORDS];

/* One block of `threads` on x (p0, in: 0, 1, 2 ...) and y (p1); %r1 = thread, %rd1 = &x[t], %rd2 = &y[t]. */
static struct ptx_module *run_body(const struct machine_test *like, enum buffer_role role, const char *body,
                                   struct trace *t) {
    static const char head[] = "mov.u32 %r1, %tid.x; ld.param.u64 %rd1, [p0]; ld.param.u64 %rd2, [p1]; "
                               "mul.wide.u32 %rd3, %r1, 4; add.s64 %rd1, %rd1, %rd3; add.s64 %rd2, %rd2, %rd3;\n";
    char *text = must_format("%s%s\nret;\n", head, body);
    for (uint32_t i = 0; i < WORDS; ++i) {
        in[i] = i;
        out[i] = 0x7fa5dead;
    }
    struct launch_buffer buffers[2] = {
        {.name = "x", .role = BUFFER_IN, .bytes = sizeof in, .cell_bytes = 4, .data = (uint8_t *)in},
        {.name = "y", .role = role, .bytes = sizeof out, .cell_bytes = 4, .data = (uint8_t *)out}};
    struct machine_test test = *like;
    test.unwatched |= WATCH_HAZARDS;
    test.body = text;
    test.buffers = buffers;
    test.buffer_count = 2;
    struct ptx_module *m = machine_must(&test, t);
    free(text);
    return m;
}

struct expected {
    const char *body;
    int space; /* -1: silent */
    int line;  /* of the first event */
    const char *name;
    int64_t offset;
    uint32_t lane;
    uint64_t count;
};

static void expect(const struct expected *c, const struct machine_test *like, enum buffer_role role) {
    struct trace t;
    struct ptx_module *m = run_body(like, role, c->body, &t);
    if (c->space < 0) {
        cr_expect(t.event_count == 0, "silent, but event %d of %s in line %d:\n%s", (int)t.events[0].kind,
                  t.events[0].name ? t.events[0].name : "memory", t.sites[t.events[0].instruction].line, c->body);
    } else {
        cr_assert(t.event_count > 0, "no event:\n%s", c->body);
        const struct event *v = &t.events[0];
        cr_expect(v->kind == EVENT_UNINITIALISED && (int)v->space == c->space, "kind %d space %d:\n%s", v->kind,
                  v->space, c->body);
        cr_expect(t.sites[v->instruction].line == c->line, "in line %d, want %d:\n%s", t.sites[v->instruction].line,
                  c->line, c->body);
        cr_expect(c->name ? v->name && !strcmp(v->name, c->name) : !v->name, "names %s:\n%s",
                  v->name ? v->name : "nothing", c->body);
        cr_expect(v->offset == c->offset && v->lane == c->lane && v->count == c->count && t.event_count == 1,
                  "byte %lld lane %u, %llu times, %zu events:\n%s", (long long)v->offset, v->lane,
                  (unsigned long long)v->count, t.event_count, c->body);
    }
    trace_free(&t);
    ptx_free(m);
}

#define SILENT -1, 0, NULL, 0, 0, 0
#define TILE   "mov.u32 %r2, tile; shl.b32 %r3, %r1, 2; add.u32 %r2, %r2, %r3;\n"

Test(machine_valid, shared_memory) {
    static const struct expected cases[] = {
        {TILE "ld.shared.u32 %r4, [%r2];", SPACE_SHARED, 3, NULL, 0, 0, 32},
        {TILE "st.shared.u32 [%r2], %r1;\nld.shared.u32 %r4, [%r2];", SILENT},
        /* two bytes of four */
        {TILE "st.shared.u16 [%r2], 7;\nld.shared.u32 %r4, [%r2];", SPACE_SHARED, 4, NULL, 2, 0, 32},
        {TILE "st.shared.u16 [%r2], 7;\nld.shared.u16 %h1, [%r2];", SILENT},
        {TILE "st.shared.u16 [%r2], 7;\nld.shared.u8 %h1, [%r2+1];", SILENT},
        {TILE "st.shared.u8 [%r2+3], 7;\nld.shared.u8 %h1, [%r2+3];\nld.shared.u8 %h1, [%r2+1];", SPACE_SHARED, 5, NULL,
         1, 0, 32},
        /* a neighbour that stores nothing; masked-off lanes do not count */
        {TILE "setp.lt.u32 %p1, %r1, 20;\n@%p1 st.shared.u32 [%r2], %r1;\nbar.sync 0;\nld.shared.u32 %r4, [%r2];",
         SPACE_SHARED, 6, NULL, 80, 20, 12},
        {TILE "setp.lt.u32 %p1, %r1, 20;\n@%p1 st.shared.u32 [%r2], %r1;\nbar.sync 0;\n@%p1 ld.shared.u32 %r4, [%r2];",
         SILENT},
        /* vectors, 64 bits, generic addresses */
        {TILE "and.b32 %r5, %r1, 3;\nsetp.ne.u32 %p1, %r5, 3;\n@%p1 st.shared.u32 [%r2], %r1;\nbar.sync 0;\n"
              "shl.b32 %r5, %r1, 4;\nand.b32 %r5, %r5, 127;\nmov.u32 %r6, tile;\nadd.u32 %r5, %r5, %r6;\n"
              "ld.shared.v4.u32 {%r7,%r8,%r9,%r10}, [%r5];",
         SPACE_SHARED, 11, NULL, 12, 0, 32},
        {TILE
         "st.shared.u32 [%r2], %r1;\nbar.sync 0;\nshl.b32 %r5, %r1, 4;\nand.b32 %r5, %r5, 127;\nmov.u32 %r6, tile;\n"
         "add.u32 %r5, %r5, %r6;\nld.shared.v4.u32 {%r7,%r8,%r9,%r10}, [%r5];",
         SILENT},
        {TILE "cvt.u64.u32 %rd5, %r2;\ncvta.shared.u64 %rd5, %rd5;\nld.u32 %r4, [%rd5+128];", SPACE_SHARED, 5, NULL,
         128, 0, 32},
        {TILE "cvt.u64.u32 %rd5, %r2;\ncvta.shared.u64 %rd5, %rd5;\nst.u32 [%rd5+128], %r1;\nld.u32 %r4, [%rd5+128];",
         SILENT},
        /* ldmatrix: one row is missing */
        {"mov.u32 %r2, tile;\nshl.b32 %r3, %r1, 4;\nadd.u32 %r2, %r2, %r3;\nsetp.ne.u32 %p1, %r1, 5;\n"
         "@%p1 st.shared.v4.u32 [%r2], {%r1,%r1,%r1,%r1};\nbar.sync 0;\n"
         "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r4}, [%r2];",
         SPACE_SHARED, 8, NULL, 80, 5, 1},
        {"mov.u32 %r2, tile;\nshl.b32 %r3, %r1, 4;\nadd.u32 %r2, %r2, %r3;\nsetp.ne.u32 %p1, %r1, 8;\n"
         "@%p1 st.shared.v4.u32 [%r2], {%r1,%r1,%r1,%r1};\nbar.sync 0;\n"
         "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r4}, [%r2];",
         SILENT},
        /* all is written by the second barrier, and the range is not looked at any more */
        {"mov.u32 %r2, tile;\nshl.b32 %r3, %r1, 4;\nadd.u32 %r2, %r2, %r3;\n"
         "st.shared.v4.u32 [%r2], {%r1,%r1,%r1,%r1};\nbar.sync 0;\nld.shared.u32 %r4, [%r2];\nbar.sync 0;\n"
         "ld.shared.u32 %r4, [%r2+4];",
         SILENT},
    };
    const char *isas[3];
    const size_t isa_count = machine_isas(isas);
    for (size_t k = 0; k < isa_count * sizeof cases / sizeof *cases; ++k) {
        const struct machine_test like = {.module_level = ".shared .align 16 .b8 tile[512];",
                                          .isa = isas[k % isa_count]};
        expect(&cases[k / isa_count], &like, BUFFER_INOUT);
        const struct machine_test off = {
            .module_level = ".shared .align 16 .b8 tile[512];", .isa = isas[k % isa_count], .unwatched = WATCH_UNINIT};
        struct expected silent = cases[k / isa_count];
        silent.space = -1;
        expect(&silent, &off, BUFFER_INOUT);
    }
}

/* Planes: the byte counts from its own plane. A hole in one plane does not make another one suspect. */
Test(machine_valid, planes) {
    static const struct launch_plane planes[] = {{"a", 0, 128}, {"b", 128, 128}};
    const struct machine_test like = {
        .module_level = ".extern .shared .align 16 .b8 tile[];", .shared = 256, .planes = planes, .plane_count = 2};
    static const struct expected one = {
        TILE "st.shared.u32 [%r2], %r1;\nbar.sync 0;\nld.shared.u32 %r4, [%r2];\nld.shared.u32 %r5, [%r2+128];",
        SPACE_SHARED,
        6,
        NULL,
        0,
        0,
        32};
    struct trace t;
    expect(&one, &like, BUFFER_INOUT);
    struct ptx_module *m = run_body(&like, BUFFER_INOUT, one.body, &t);
    cr_assert(t.event_count == 1 && t.events[0].plane == 1, "plane %d", t.events[0].plane);
    trace_free(&t);
    ptx_free(m);
}

/* Only an `out` buffer starts without contents; variables of the module do not. Threads of the CPU change nothing. */
Test(machine_valid, global_memory) {
    static const struct expected bad[] = {
        {"ld.global.u32 %r4, [%rd2];\nst.global.u32 [%rd2], %r4;", SPACE_GLOBAL, 2, NULL, 0, 0, 64},
        {"st.global.u32 [%rd2], %r1;\nld.global.u32 %r4, [%rd2];", SILENT},
        {"st.global.u8 [%rd2+1], %r1;\nld.global.u16 %r4, [%rd2];", SPACE_GLOBAL, 3, NULL, 0, 0, 64},
        {"mov.u64 %rd4, table;\nld.global.u32 %r4, [%rd4];\nst.global.u32 [%rd4], %r4;", SILENT},
        {"ld.global.u32 %r4, [%rd1];\nst.global.u32 [%rd2], %r4;", SILENT},
    };
    for (size_t k = 0; k < sizeof bad / sizeof *bad; ++k)
        for (int threads = 1; threads <= 3; threads += 2) {
            struct machine_test like = {
                .module_level = ".global .align 4 .u32 table[4];", .block = {32}, .grid = {1}, .threads = threads};
            struct expected one = bad[k];
            one.count = one.count ? 32 : 0;
            expect(&one, &like, BUFFER_OUT);
            one.space = -1;
            expect(&one, &like, BUFFER_INOUT);
            like.unwatched = WATCH_UNINIT;
            expect(&one, &like, BUFFER_OUT);
            like.unwatched = WATCH_STORES; /* reads are watched without the counts of stores, too */
            one.space = bad[k].space;
            expect(&one, &like, BUFFER_OUT);
        }
}

Test(machine_valid, registers) {
    static const struct expected cases[] = {
        /* uses that matter */
        {"st.global.u32 [%rd2], %r9;", SPACE_REGISTER, 2, "%r9", 0, 0, 32},
        {"add.s64 %rd9, %rd9, 4;\nst.global.u32 [%rd9], %r1;", SPACE_REGISTER, 3, "%rd9", 0, 0, 32},
        {"@%p9 bra END;\nst.global.u32 [%rd2], %r1;\nEND:", SPACE_REGISTER, 2, "%p9", 0, 0, 32},
        {"@!%p9 st.global.u32 [%rd2], %r1;", SPACE_REGISTER, 2, "%p9", 0, 0, 32},
        {"setp.eq.u32 %p1, %r9, 3;\n@%p1 bra END;\nEND:", SPACE_REGISTER, 3, "%p1", 0, 0, 32},
        {"mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%r30,%r31}, {%r1}, {%r1}, {%r12,%r1};", SPACE_REGISTER, 2,
         "%r12", 0, 0, 32},
        {"vote.sync.ballot.b32 %r8, %p9, -1;", SPACE_REGISTER, 2, "%p9", 0, 0, 32},
        {"shfl.sync.idx.b32 %r8, %r1, %r9, 31, -1;", SPACE_REGISTER, 2, "%r9", 0, 0, 32},
        {"fma.rn.f32 %f2, %f9, %f9, %f9;\nst.global.f32 [%rd2], %f2;", SPACE_REGISTER, 3, "%f2", 0, 0, 32},
        {"ld.param.u64 %rd4, [p1]; st.global.v2.u32 [%rd4], {%r1, %r9};", SPACE_REGISTER, 2, "%r9", 0, 0, 32},
        /* lanes that are not there */
        {"setp.lt.u32 %p1, %r1, 9;\n@%p1 mov.u32 %r9, 4;\nst.global.u32 [%rd2], %r9;", SPACE_REGISTER, 4, "%r9", 0, 9,
         23},
        {"setp.lt.u32 %p1, %r1, 9;\n@%p1 mov.u32 %r9, 4;\n@%p1 st.global.u32 [%rd2], %r9;", SILENT},
        {"setp.lt.u32 %p1, %r1, 9;\n@%p1 mov.u32 %r9, 4;\n@!%p1 mov.u32 %r9, 5;\nst.global.u32 [%rd2], %r9;", SILENT},
        {"setp.lt.u32 %p1, %r1, 9;\n@%p1 bra A;\nmov.u32 %r9, 4;\nA:\n@%p1 bra B;\nst.global.u32 [%rd2], %r9;\nB:",
         SILENT},
        {"setp.lt.u32 %p1, %r1, 9;\n@%p1 bra A;\nmov.u32 %r9, 4;\nA:\n@!%p1 bra B;\nst.global.u32 [%rd2], %r9;\nB:",
         SPACE_REGISTER, 7, "%r9", 0, 0, 9},
        /* a value that the first turn of a loop copies before any has set it */
        {"mov.u32 %r2, 0;\nmov.u32 %r8, 0;\nLOOP:\nmov.u32 %r10, %r9;\nadd.u32 %r11, %r10, 1;\n"
         "setp.eq.u32 %p1, %r2, 0;\nselp.u32 %r12, 0, %r11, %p1;\nadd.u32 %r8, %r8, %r12;\nmov.u32 %r9, %r2;\n"
         "add.u32 %r2, %r2, 1;\nsetp.lt.u32 %p2, %r2, 4;\n@%p2 bra LOOP;\nst.global.u32 [%rd2], %r8;",
         SILENT},
        {"mov.u32 %r2, 0;\nLOOP:\nadd.u32 %r8, %r8, %r2;\nadd.u32 %r2, %r2, 1;\nsetp.lt.u32 %p2, %r2, 4;\n"
         "@%p2 bra LOOP;\nst.global.u32 [%rd2], %r8;",
         SPACE_REGISTER, 8, "%r8", 0, 0, 32},
        /* halves */
        {"mov.u16 %h1, 7;\nmov.b32 %r8, {%h1, %h9};\nmov.b32 {%h2, %h3}, %r8;\nst.global.u16 [%rd2], %h2;", SILENT},
        {"mov.u16 %h1, 7;\nmov.b32 %r8, {%h1, %h9};\nst.global.u16 [%rd2], %r8;", SILENT},
        {"mov.u16 %h1, 7;\nmov.b32 %r8, {%h1, %h9};\nst.global.u32 [%rd2], %r8;", SPACE_REGISTER, 4, "%r8", 0, 0, 32},
        {"mov.b64 %rd8, {%r9, %r1};\nshr.u64 %rd8, %rd8, 32;\ncvt.u32.u64 %r2, %rd8;\nst.global.u32 [%rd2], %r2;",
         SILENT},
        {"mov.b64 %rd8, {%r9, %r1};\ncvt.u32.u64 %r2, %rd8;\nst.global.u32 [%rd2], %r2;", SPACE_REGISTER, 4, "%r2", 0,
         0, 32},
        {"mov.u16 %h1, 7;\nmov.b32 %r8, {%h1, %h9};\nand.b32 %r8, %r8, 65535;\nst.global.u32 [%rd2], %r8;", SILENT},
        {"bfi.b32 %r8, %r1, %r9, 0, 16;\nbfi.b32 %r8, %r1, %r8, 16, 16;\nst.global.u32 [%rd2], %r8;", SILENT},
        {"prmt.b32 %r8, %r1, %r9, 0x3210;\nst.global.u32 [%rd2], %r8;", SILENT},
        {"prmt.b32 %r8, %r1, %r9, 0x3214;\nst.global.u32 [%rd2], %r8;", SPACE_REGISTER, 3, "%r8", 0, 0, 32},
        /* what decides without the undefined operand */
        {"setp.lt.u32 %p1, %r1, 99;\nsetp.eq.u32 %p2, %r9, 4;\nor.pred %p3, %p1, %p2;\n@%p3 bra END;\nEND:", SILENT},
        {"setp.gt.u32 %p1, %r1, 99;\nsetp.eq.u32 %p2, %r9, 4;\nand.pred %p3, %p1, %p2;\n@%p3 bra END;\nEND:", SILENT},
        {"setp.lt.u32 %p1, %r1, 9;\nsetp.eq.u32 %p2, %r9, 4;\nand.pred %p3, %p1, %p2;\n@%p3 bra END;\nEND:",
         SPACE_REGISTER, 5, "%p3", 0, 0, 9},
        {"lop3.b32 %r8, %r1, %r9, 0, 0xf0;\nst.global.u32 [%rd2], %r8;", SILENT},
        {"or.b32 %r8, %r9, -1;\nst.global.u32 [%rd2], %r8;", SILENT},
        /* one lane sets, all others take it */
        {"setp.eq.u32 %p1, %r1, 3;\n@%p1 mov.u32 %r9, 44;\nshfl.sync.idx.b32 %r8, %r9, 3, 31, -1;\n"
         "st.global.u32 [%rd2], %r8;",
         SILENT},
        {"setp.eq.u32 %p1, %r1, 3;\n@%p1 mov.u32 %r9, 44;\nshfl.sync.bfly.b32 %r8, %r9, 1, 31, -1;\n"
         "st.global.u32 [%rd2], %r8;",
         SPACE_REGISTER, 5, "%r8", 0, 0, 31},
        /* a fault is told once: the value counts as defined from then on */
        {"add.s64 %rd9, %rd9, 4;\nmov.u32 %r9, 5;\n@%p9 bra END;\n@%p9 bra END;\n@%p9 bra END;\nEND:", SPACE_REGISTER,
         4, "%p9", 0, 0, 32},
    };
    const char *isas[3];
    const size_t isa_count = machine_isas(isas);
    for (size_t k = 0; k < isa_count * sizeof cases / sizeof *cases; ++k) {
        struct machine_test like = {.isa = isas[k % isa_count]};
        struct expected one = cases[k / isa_count];
        struct trace t;
        if (strstr(one.body, "[%rd9]")) { /* all ones are no address: that is an event of its own */
            struct ptx_module *m = run_body(&like, BUFFER_INOUT, one.body, &t);
            cr_expect(t.event_count == 2 && t.events[0].kind == EVENT_UNINITIALISED &&
                          !strcmp(t.events[0].name, one.name) && t.events[1].kind == EVENT_OUT_OF_BOUNDS,
                      "%zu events:\n%s", t.event_count, one.body);
            trace_free(&t);
            ptx_free(m);
            continue;
        }
        expect(&one, &like, BUFFER_INOUT);
        like.unwatched = WATCH_UNINIT;
        one.space = -1;
        expect(&one, &like, BUFFER_INOUT);
    }
}

#define SHUFFLE(mode, from, lanes, mask)                                                                               \
    "setp.ge.u32 %p1, %r1, " #lanes ";\n@%p1 ret;\nshfl.sync." #mode ".b32 %r8, %r1, " #from ", 31, " #mask ";\n"
#define STEP(from) "shfl.sync.down.b32 %r9, %r8, " #from ", 31, %r7;\nadd.u32 %r8, %r8, %r9;\n"

/* A lane that reads one which is not there gets an undefined value: a fault of the shuffle where the value is used, and
 * none where it is not. */
Test(machine_valid, shuffles_from_absent_lanes) {
    static const struct {
        const char *body;
        int line, used; /* of the shuffle, 0: silent; of the use */
        unsigned lane, count;
    } cases[] = {
        {SHUFFLE(down, 8, 24, 0xffffff) "st.global.u32 [%rd2], %r8;", 4, 5, 16, 8},
        {SHUFFLE(down, 8, 24, -1) "st.global.u32 [%rd2], %r8;", 4, 5, 16, 8},
        {SHUFFLE(down, 8, 24, 0xffffff) "setp.lt.u32 %p2, %r1, 16;\n@%p2 st.global.u32 [%rd2], %r8;", 0, 0, 0, 0},
        {SHUFFLE(bfly, 1, 31, 0x7fffffff) "setp.eq.u32 %p2, %r8, 7;\n@%p2 bra END;\nEND:", 4, 6, 30, 1},
        {SHUFFLE(idx, 31, 31, 0x7fffffff) "mul.lo.u32 %r8, %r8, 0;\nst.global.u32 [%rd2], %r8;", 4, 6, 0, 31},
        {SHUFFLE(idx, 3, 24, 0xffffff) "st.global.u32 [%rd2], %r8;", 0, 0, 0, 0},
        {SHUFFLE(up, 1, 31, 0x7fffffff) "st.global.u32 [%rd2], %r8;", 0, 0, 0, 0}, /* lane 0 reads itself */
        /* kept by local memory */
        {SHUFFLE(down, 8, 24, 0xffffff) ".local .b32 z;\nst.local.b32 [z], %r8;\nld.local.b32 %r9, [z];\n"
                                        "st.global.u32 [%rd2], %r9;",
         4, 8, 16, 8},
        {SHUFFLE(down, 8, 24, 0xffffff) ".local .b32 z;\nst.local.b32 [z], %r8;\nld.local.b32 %r9, [z];\n"
                                        "st.global.u32 [%rd2], %r1;",
         0, 0, 0, 0},
        /* handed on: lanes 16 .. 23 read an absent lane, 17 .. 23 and then 16 hand it to their neighbour */
        {SHUFFLE(down, 8, 24, 0xffffff) "shfl.sync.bfly.b32 %r9, %r8, 1, 31, 0xffffff;\nst.global.u32 [%rd2], %r9;", 4,
         6, 16, 8},
        /* reductions: of 16 lanes by halves nothing that counts comes from outside, of 24 it does */
        {"setp.ge.u32 %p1, %r1, 16;\n@%p1 ret;\nmov.u32 %r7, 0xffff;\nmov.u32 %r8, %r1;\n" STEP(8) STEP(4) STEP(2)
             STEP(1) "setp.eq.u32 %p2, %r1, 0;\n@%p2 st.global.u32 [%rd2], %r8;",
         0, 0, 0, 0},
        {"setp.ge.u32 %p1, %r1, 24;\n@%p1 ret;\nmov.u32 %r7, 0xffffff;\nmov.u32 %r8, %r1;\n" STEP(16) STEP(8) STEP(4)
             STEP(2) STEP(1) "setp.eq.u32 %p2, %r1, 0;\n@%p2 st.global.u32 [%rd2], %r8;",
         6, 17, 0, 1},
    };
    const char *isas[3];
    const size_t isa_count = machine_isas(isas);
    for (size_t k = 0; k < isa_count * sizeof cases / sizeof *cases; ++k) {
        const size_t c = k / isa_count;
        for (int off = 0; off < 3; ++off) {
            const struct machine_test like = {.isa = isas[k % isa_count],
                                              .unwatched = off == 0   ? 0
                                                           : off == 1 ? WATCH_UNINIT
                                                                      : WATCH_SYNC};
            struct trace t;
            struct ptx_module *m = run_body(&like, BUFFER_INOUT, cases[c].body, &t);
            size_t events = 0;
            for (size_t i = 0; i < t.event_count; ++i) {
                const struct event *v = &t.events[i];
                if (v->kind == EVENT_DIVERGENT_ALIGNED)
                    continue;
                ++events;
                cr_expect(v->kind == EVENT_ABSENT_LANE && t.sites[v->instruction].line == cases[c].line &&
                              v->lane == cases[c].lane && v->count == cases[c].count && v->other.present &&
                              t.sites[v->other.instruction].line == cases[c].used,
                          "kind %d line %d lane %u, %llu times, used in line %d:\n%s", v->kind,
                          t.sites[v->instruction].line, v->lane, (unsigned long long)v->count,
                          t.sites[v->other.instruction].line, cases[c].body);
            }
            cr_expect(events == (off < 2 && cases[c].line), "%zu events with %s off:\n%s", events,
                      off == 0   ? "nothing"
                      : off == 1 ? "uninit"
                                 : "sync",
                      cases[c].body);
            trace_free(&t);
            ptx_free(m);
        }
    }
    /* the launch is run again from the start: y is added to once */
    struct trace t;
    const struct machine_test like = {0};
    struct ptx_module *m = run_body(&like, BUFFER_INOUT,
                                    SHUFFLE(down, 8, 24, 0xffffff) "ld.global.u32 %r9, [%rd2];\n"
                                                                   "add.u32 %r9, %r9, 1;\nst.global.u32 [%rd2], %r9;\n"
                                                                   "st.global.u32 [%rd2+128], %r8;",
                                    &t);
    cr_expect(t.event_count == 1 && out[3] == 0x7fa5deae, "%zu events, y = %x", t.event_count, out[3]);
    trace_free(&t);
    ptx_free(m);
}

/* ---- nothing is missed ---- */

static uint64_t seed;

static unsigned dice(unsigned n) {
    return (unsigned)(next_random(&seed) >> 33) % n;
}

/* What the programs call: arguments in registers, a structure by value and back, and one that calls itself. */
static const char functions[] =
    ".func (.reg .b32 r) mix (.reg .b32 a, .reg .b32 b)\n{\n.reg .b32 %x<3>;\nand.b32 %x1, a, 0xff00ff;\n"
    "and.b32 %x2, b, 0xf00;\nor.b32 r, %x1, %x2;\nret;\n}\n"
    ".func (.param .align 8 .b8 r[12]) turn (.param .align 8 .b8 a[12])\n{\n.reg .b32 %x<3>;\n.reg .b16 %y<5>;\n"
    "ld.param.v2.b32 {%x1, %x2}, [a];\nld.param.b16 %y1, [a+8];\nld.param.b8 %y2, [a+10];\nld.param.s8 %y3, [a+11];\n"
    "st.param.b16 [r], %y3;\nst.param.b8 [r+2], %y2;\nst.param.b8 [r+3], %y1;\nst.param.v2.b16 [r+4], {%y1, %y3};\n"
    "st.param.b32 [r+8], %x2;\nst.param.b16 [r+8], %y1;\nret;\n}\n"
    ".func (.param .b64 r) again (.param .b64 a, .param .b32 n)\n{\n.reg .b32 %n<3>;\n.reg .b64 %x<3>;\n.reg .pred "
    "%q;\n"
    "ld.param.b64 %x1, [a];\nld.param.b32 %n1, [n];\nsetp.eq.u32 %q, %n1, 0;\nshr.u64 %x2, %x1, 8;\n@%q bra Z;\n"
    "{\n.param .b64 b;\n.param .b32 m;\n.param .b64 s;\nsub.u32 %n2, %n1, 1;\nst.param.b64 [b], %x2;\n"
    "st.param.b32 [m], %n2;\ncall (s), again, (b, m);\nld.param.b64 %x2, [s];\n}\nxor.b64 %x2, %x2, %x1;\nZ:\n"
    "st.param.b64 [r], %x2;\nret;\n}\n";

enum mix { PLAIN, CALLS, EXACT, LOCAL, MIXES };
enum { CALL_FORMS = 17, LOCAL_FORMS = 22, MORE_FORMS = 30, FORMS = 32 };

/* A load or a store of z, 16 bytes of local memory that are undefined, or stored by the head: by its own name, by
 * generic addresses %rd14 (the same in all lanes) and %rd15 (odd lanes 8 bytes on, which may be all there is left). */
static char *local_line(unsigned form, unsigned a, unsigned b, unsigned d, unsigned q) {
    static const char *const types[] = {"u8", "s8", "u16", "s16", "u32", "u64"};
    static const unsigned sizes[] = {1, 1, 2, 2, 4, 8};
    const unsigned where = dice(3), t = dice(6), room = where == 2 ? 8 : 16, at = sizes[t] * dice(room / sizes[t]),
                   r = t == 5    ? 2
                       : t < 4   ? dice(3)
                       : dice(2) ? 1
                                 : 2;
    const char *const space = where ? "" : ".local",
                      *const base = where == 2 ? "%rd15"
                                    : where    ? "%rd14"
                                               : "z",
                      *const guard = dice(4)   ? ""
                                     : dice(2) ? "@%p14 "
                                               : "@!%p15 ",
                      *const class = r == 0   ? "h"
                                     : r == 1 ? "r"
                                              : "rd";
    switch (form) {
    case 0:
    case 1:
    case 2:
        return must_format("%sst%s.%s [%s+%u], %%%s%u;", guard, space, types[t], base, at, class, r == 1 ? a : q);
    case 3:
        return must_format("%sst%s.v2.b32 [%s+%u], {%%r%u, %%r%u};", guard, space, base, 8 * dice(room / 8), a, b);
    case 4:
        return must_format("%sld%s.v2.b32 {%%r%u, %%r%u}, [%s+%u];", guard, space, d, d == 10 ? 11 : 10, base,
                           8 * dice(room / 8));
    default:
        return must_format("%sld%s.%s %%%s%u, [%s+%u];", guard, space, types[t], class, r == 1 ? d : q, base, at);
    }
}

/* A straight program on %r10 .. %r17 (%r16, %r17: undefined, or loaded by the head), %rd10 .. %rd13, %h10 .. %h13 and
 * %p10 .. %p13. Every lane-wise form that the watch treats in its own way is there; CALLS, LOCAL: half of
 * it are calls, or in local memory; EXACT: all of it moves bits. */
static char *make_program(int lines, enum mix mix) {
    static const unsigned exact[] = {5, 6, 7, 8, 9, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29};
    char *body = must_strdup("");
    for (int i = 0; i < lines; ++i) {
        const unsigned a = 10 + dice(8), b = 10 + dice(8), c = 10 + dice(8), d = 10 + dice(6), q = 10 + dice(4),
                       s = 10 + dice(4), n = dice(32), w = dice(4) ? 10 + dice(4) : 16;
        static const char *const binary[] = {"add.u32", "and.b32", "or.b32", "xor.b32", "min.s32", "mul.lo.u32"};
        static const char *const preds[] = {"and.pred", "or.pred", "xor.pred"};
        char *line = NULL;
        const unsigned form = mix == EXACT              ? exact[dice(sizeof exact / sizeof *exact)]
                              : mix == CALLS && dice(2) ? CALL_FORMS + dice(LOCAL_FORMS - CALL_FORMS)
                              : mix == LOCAL && dice(2) ? LOCAL_FORMS + dice(MORE_FORMS - LOCAL_FORMS)
                                                        : dice(FORMS);
        switch (form) {
        case 0:
        case 1:
        case 2:
            line = must_format("%s %%r%u, %%r%u, %%r%u;", binary[dice(6)], d, a, b);
            break;
        case 3:
            line = must_format("%s %%r%u, %%r%u, %u;", binary[dice(6)], d, a, (unsigned)next_random(&seed));
            break;
        case 4:
            line = must_format("lop3.b32 %%r%u, %%r%u, %%r%u, %%r%u, %u;", d, a, b, c, dice(256));
            break;
        case 5:
            line = must_format("mov.u32 %%r%u, %%r%u;", d, a);
            break;
        case 6:
            line = must_format("mov.b64 %%rd%u, {%%r%u, %%r%u};", q, a, b);
            break;
        case 7:
            line = must_format("mov.b64 {%%r%u, %%r%u}, %%rd%u;", d, d == 10 ? 11 : 10, q);
            break;
        case 8:
            line = must_format("mov.b32 {%%h%u, %%h%u}, %%r%u;", q, q == 10 ? 11 : 10, a);
            break;
        case 9:
            line = must_format("mov.b32 %%r%u, {%%h%u, %%h%u};", d, q, s);
            break;
        case 10:
            line = must_format("selp.b32 %%r%u, %%r%u, %%r%u, %%p%u;", d, a, b, q);
            break;
        case 11:
            line = must_format("setp.lt.s32 %%p%u, %%r%u, %%r%u;", q, a, b);
            break;
        case 12:
            line = must_format("%s %%p%u, %%p%u, %%p%u;", preds[dice(3)], q, s, 10 + dice(4));
            break;
        case 13:
            line = must_format("%s %%r%u, %%r%u, %u;", dice(2) ? "shl.b32" : "shr.s32", d, a, n);
            break;
        case 14:
            line = must_format("bfi.b32 %%r%u, %%r%u, %%r%u, %u, %u;", d, a, b, n, dice(32));
            break;
        case 15:
            line = must_format("prmt.b32 %%r%u, %%r%u, %%r%u, %u;", d, a, b, dice(65536));
            break;
        case 16:
            line = must_format("shf.l.wrap.b32 %%r%u, %%r%u, %%r%u, %u;", d, a, b, n);
            break;
        case 17:
            line = must_format("call (%%r%u), mix, (%%r%u, %%r%u);", d, a, b);
            break;
        case 18:
            line =
                must_format("{ .param .align 8 .b8 a[12]; .param .align 8 .b8 r[12]; st.param.b32 [a], %%r%u; "
                            "st.param.v2.b32 [a+4], {%%r%u, %%r%u}; call (r), turn, (a); ld.param.b32 %%r%u, [r+%u]; "
                            "ld.param.b16 %%h%u, [r+%u]; }",
                            a, b, c, d, 4 * dice(3), q, 2 * dice(6));
            break;
        case 19:
            line =
                must_format("{ .param .b64 a; .param .b32 n; .param .b64 r; st.param.b64 [a], %%rd%u; and.b32 %%r20, "
                            "%%r1, 3; st.param.b32 [n], %%r20; call (r), again, (a, n); ld.param.b64 %%rd%u, [r]; }",
                            q, s);
            break;
        case 20:
            line = must_format("{ .param .b32 a; @%%p14 st.param.b32 [a], %%r%u; @!%%p14 st.param.b32 [a], %%r%u; "
                               "ld.param.b32 %%r%u, [a]; }",
                               a, b, d);
            break;
        case 21:
            line = must_format("{ .param .b64 a; st.param.b64 [a], %%rd%u; @%%p15 st.param.b16 [a+%u], %%h%u; "
                               "ld.param.v2.b32 {%%r%u, %%r%u}, [a]; }",
                               q, 2 * dice(4), s, d, d == 10 ? 11 : 10);
            break;
        case 22:
        case 23:
        case 24:
        case 25:
        case 26:
        case 27:
        case 28:
        case 29:
            line = local_line(form - LOCAL_FORMS, a, b, d, q);
            break;
        default:
            line = must_format("@%s%%p%u mov.u32 %%r%u, %%r%u;", dice(2) ? "!" : "", w == 16 ? 14 : 15, d, a);
        }
        char *more = must_format("%s%s\n", body, line);
        free(body), free(line);
        body = more;
    }
    return body;
}

/* If other values of the undefined registers change what a lane stores, then that lane's store is reported. */
Test(machine_valid, what_an_undefined_value_changes_is_reported, .timeout = 120) {
    static const char define[] = "xor.b32 %r10, %r1, 5; mul.lo.u32 %r11, %r1, 77777; not.b32 %r12, %r1; mov.u32 %r13, "
                                 "0; mov.u32 %r14, -1; mov.u32 %r15, %r1; mov.b64 %rd10, {%r10, %r11}; mov.b64 %rd11, "
                                 "0; mov.u64 %rd12, %rd10; mov.u64 %rd13, %rd10; mov.b32 {%h10, %h11}, %r11; mov.u16 "
                                 "%h12, 0; mov.u16 %h13, %h10; setp.lt.u32 %p10, %r1, 9; setp.lt.s32 %p11, %r11, 0; "
                                 "and.pred %p12, %p10, %p11; not.pred %p13, %p10; and.b32 %r20, %r1, 1; setp.eq.u32 "
                                 "%p14, %r20, 1; and.b32 %r20, %r1, 4; setp.eq.u32 %p15, %r20, 4;\n"
                                 ".local .align 16 .b8 z[16]; mov.b64 %rd14, z; cvta.local.u64 %rd14, %rd14; and.b32 "
                                 "%r20, %r1, 1; mul.wide.u32 %rd15, %r20, 8; add.u64 %rd15, %rd15, %rd14;\n";
    size_t reported = 0, silent = 0, exact = 0, exactly = 0;
    seed = 20261130;
    for (int round = 0; round < 1600; ++round) {
        const enum mix mix = (enum mix)(round % MIXES);
        char *program = make_program(4 + (int)dice(20), mix);
        const unsigned stored = 10 + dice(6);
        uint32_t results[3][32];
        for (unsigned k = 0; k < 3; ++k) {
            struct trace t;
            const struct machine_test like = {.module_level = functions};
            char *body = must_format(
                "%sxor.b32 %%r16, %%r1, %u;\nmul.lo.u32 %%r17, %%r1, %u;\nxor.b32 %%r20, %%r1, %u;\nmul.lo"
                ".u32 %%r21, %%r1, %u;\nnot.b32 %%r22, %%r20;\nst.local.v4.b32 [z], {%%r20, %%r21, %%r22, "
                "%u};\n%sst.global.u32 [%%rd2], %%r%u;",
                define, (unsigned)next_random(&seed), (unsigned)next_random(&seed) | 1, (unsigned)next_random(&seed),
                (unsigned)next_random(&seed) | 1, (unsigned)next_random(&seed), program, stored);
            struct ptx_module *m = run_body(&like, BUFFER_INOUT, body, &t);
            cr_assert(t.event_count == 0, "all is defined, but event %d:\n%s", t.events[0].kind, body);
            memcpy(results[k], out, sizeof results[k]);
            trace_free(&t);
            ptx_free(m);
            free(body);
        }
        char *body = must_format("%s%sst.global.u32 [%%rd2], %%r%u;", define, program, stored);
        struct trace t;
        const struct machine_test like = {.module_level = functions};
        struct ptx_module *m = run_body(&like, BUFFER_INOUT, body, &t);
        uint64_t differ = 0, first = 32;
        for (unsigned lane = 0; lane < 32; ++lane) {
            const bool d = results[0][lane] != results[1][lane] || results[0][lane] != results[2][lane];
            first = d && first == 32 ? lane : first;
            differ += d;
        }
        const struct event *v = t.event_count ? &t.events[t.event_count - 1] : NULL;
        const bool at_store = v && t.sites[v->instruction].text && strstr(t.sites[v->instruction].text, "st.global");
        cr_assert(!differ || (at_store && v->count >= differ && v->lane <= first),
                  "%llu lanes depend on undefined values, %llu are reported:\n%s", (unsigned long long)differ,
                  (unsigned long long)(at_store ? v->count : 0), body);
        exact += mix == EXACT ? differ : 0;
        exactly += mix == EXACT && at_store ? v->count : 0;
        reported += at_store;
        silent += !at_store;
        trace_free(&t);
        ptx_free(m);
        free(body), free(program);
    }
    cr_expect(reported > 50 && silent > 50, "%zu reported, %zu silent: this proves little", reported, silent);
    cr_expect(exactly <= exact + exact / 50, "%zu lanes are reported, and only %zu hang on it", exactly, exact);
}
