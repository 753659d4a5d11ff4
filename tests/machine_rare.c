/* Rare operations: barriers with a result, elect, stored and moved matrices, 128-bit values, bytes in words, special
 * registers, discard, hints. */
#include "machine_run.h"

#define THREAD                                                                                                         \
    "ld.param.u64 %rd1, [p0];\nld.param.u64 %rd2, [p1];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd3, %r1, 16;\n"          \
    "add.u64 %rd4, %rd1, %rd3;\nadd.u64 %rd5, %rd2, %rd3;\n"

enum { MOST = 128 };
static uint32_t in[MOST][4], out[MOST][4];

/* `threads` threads, each with 16 bytes in at %rd4 and 16 bytes out at %rd5. */
static struct ptx_module *run(const char *body, uint32_t threads, const char *isa, struct trace *t) {
    char text[4000];
    snprintf(text, sizeof text, "%s%s\nret;\n", THREAD, body);
    memset(out, 0xcb, sizeof out);
    for (uint32_t i = 0; i < MOST; ++i)
        for (uint32_t k = 0; k < 4; ++k)
            in[i][k] = 0x01020304u * (i + 1) + 0x10001u * k * 77;
    struct launch_buffer b[2] = {
        {.name = "in", .role = BUFFER_IN, .bytes = 16 * threads, .cell_bytes = 4, .data = (void *)in},
        {.name = "out", .role = BUFFER_INOUT, .bytes = 16 * threads, .cell_bytes = 4, .data = (void *)out}};
    const struct machine_test test = {
        .body = body ? text : "", .buffers = b, .buffer_count = 2, .isa = isa, .block = {threads}};
    return machine_must(&test, t);
}

static void finish(struct ptx_module *m, struct trace *t, const char *body) {
    cr_assert(t->event_count == 0, "%s: an event of kind %d", body, (int)t->events[0].kind);
    trace_free(t);
    ptx_free(m);
}

/* Predicates of four warps, over all of them or over two; a guard keeps lanes out, a thread that has left counts not.
 */
Test(machine_rare, barriers_with_a_result) {
    static const struct {
        const char *body;
        uint32_t want[4]; /* of warps 0 .. 3 */
    } cases[] = {
        {"setp.lt.u32 %p1, %r1, 70;\nbar.red.popc.u32 %r2, 0, %p1;\n", {70, 70, 70, 70}},
        {"setp.lt.u32 %p1, %r1, 70;\nbar.red.popc.u32 %r2, 0, !%p1;\n", {58, 58, 58, 58}},
        {"setp.lt.u32 %p1, %r1, 70;\nbarrier.cta.red.popc.aligned.u32 %r2, 3, 128, %p1;\n", {70, 70, 70, 70}},
        {"setp.ne.u32 %p1, %r1, 99;\nbar.red.and.pred %p2, 1, %p1;\nselp.u32 %r2, 1, 0, %p2;\n", {0, 0, 0, 0}},
        {"setp.ne.u32 %p1, %r1, 999;\nbar.red.and.pred %p2, 1, %p1;\nselp.u32 %r2, 1, 0, %p2;\n", {1, 1, 1, 1}},
        {"setp.eq.u32 %p1, %r1, 99;\nbarrier.red.or.pred %p2, 1, %p1;\nselp.u32 %r2, 1, 0, %p2;\n", {1, 1, 1, 1}},
        {"setp.eq.u32 %p1, %r1, 999;\nbar.red.or.pred %p2, 1, %p1;\nselp.u32 %r2, 1, 0, %p2;\n", {0, 0, 0, 0}},
        /* two barriers of 64 threads each; the barrier's number and the count in registers */
        {"shr.u32 %r3, %r1, 6;\nmov.u32 %r4, 64;\nand.b32 %r5, %r1, 1;\nadd.u32 %r6, %r5, %r3;\n"
         "setp.eq.u32 %p1, %r6, 1;\nsetp.lt.u32 %p3, %r1, 67;\nand.pred %p1, %p1, %p3;\n"
         "bar.red.popc.u32 %r2, %r3, %r4, %p1;\n",
         {32, 32, 2, 2}},
        /* twice on one barrier: votes do not stay */
        {"setp.lt.u32 %p1, %r1, 70;\nbar.red.popc.u32 %r3, 0, %p1;\nbar.red.popc.u32 %r2, 0, %p1;\n", {70, 70, 70, 70}},
        /* warp 3 has left */
        {"setp.ge.u32 %p4, %r1, 96;\n@%p4 ret;\nsetp.lt.u32 %p1, %r1, 1000;\nbar.red.popc.u32 %r2, 0, %p1;\n",
         {96, 96, 96, 0xcbcbcbcb}},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
        char body[1000];
        struct trace t;
        snprintf(body, sizeof body, "%sst.global.u32 [%%rd5], %%r2;", cases[k].body);
        struct ptx_module *m = run(body, 128, NULL, &t);
        for (int i = 0; i < 128; ++i)
            cr_assert(out[i][0] == cases[k].want[i / 32], "%s: thread %d has %u", cases[k].body, i, out[i][0]);
        finish(m, &t, cases[k].body);
    }
}

Test(machine_rare, elect) {
    struct trace t;
    /* lanes 4 .. 31 of the warp, and all of them */
    static const char body[] =
        "setp.lt.u32 %p3, %r1, 4;\n@%p3 ret;\nelect.sync %r2|%p1, 0xfffffff0;\nelect.sync _|%p2, -1;\n"
        "selp.u32 %r3, 1, 0, %p1;\nselp.u32 %r4, 1, 0, %p2;\nst.global.v2.u32 [%rd5], {%r2, %r3};\n"
        "st.global.u32 [%rd5+8], %r4;";
    struct ptx_module *m = run(body, 32, NULL, &t);
    for (uint32_t i = 4; i < 32; ++i)
        cr_assert(out[i][0] == 4 && out[i][1] == (i == 4) && out[i][2] == (i == 4), "lane %u: %u %u %u", i, out[i][0],
                  out[i][1], out[i][2]);
    finish(m, &t, body);
}

/* A matrix in the lanes of ldmatrix, as 8 x 8 elements. */
static uint16_t element(const uint32_t word[32], int row, int column) {
    return (uint16_t)(word[4 * row + column / 2] >> (16 * (column & 1)));
}

/* stmatrix stores what ldmatrix would load; movmatrix transposes. */
Test(machine_rare, matrices) {
    static const char *const forms[] = {
        "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r20], {%r2};",
        "stmatrix.sync.aligned.m8n8.x2.trans.shared::cta.b16 [%r20], {%r2, %r3};",
        "stmatrix.sync.aligned.m8n8.x4.b16 [%rd21], {%r2, %r3, %r4, %r5};",
        "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%rd20], {%r2, %r3, %r4, %r5};",
    };
    struct trace t;
    for (int k = 0; k < 4; ++k) {
        char body[1200];
        const int matrices = k == 0 ? 1 : k == 1 ? 2 : 4;
        /* row q of matrix j at 16 * (31 - (8 j + q)); every byte is written before, and read back by 16 bytes */
        snprintf(body, sizeof body,
                 ".shared .align 16 .b8 tile[512];\nld.global.v4.u32 {%%r2, %%r3, %%r4, %%r5}, [%%rd4];\n"
                 "mov.u32 %%r20, tile;\nsub.u32 %%r21, 31, %%r1;\nmad.lo.u32 %%r20, %%r21, 16, %%r20;\n"
                 "cvt.u64.u32 %%rd20, %%r20;\ncvta.shared.u64 %%rd21, %%rd20;\nmov.u32 %%r30, 0;\n"
                 "st.shared.v4.u32 [%%r20], {%%r30, %%r30, %%r30, %%r30};\nbar.sync 0;\n%s\nbar.sync 0;\n"
                 "ld.shared.v4.u32 {%%r10, %%r11, %%r12, %%r13}, [%%r20];\n"
                 "st.global.v4.u32 [%%rd5], {%%r10, %%r11, %%r12, %%r13};",
                 forms[k]);
        struct ptx_module *m = run(body, 32, NULL, &t);
        for (int row = 0; row < 32; ++row)
            for (int column = 0; column < 8; ++column) {
                uint32_t word[32];
                for (int lane = 0; lane < 32; ++lane)
                    word[lane] = in[lane][row / 8];
                uint16_t want = row >= 8 * matrices ? 0
                                : k & 1             ? element(word, column, row % 8)
                                                    : element(word, row % 8, column);
                const uint16_t got = (uint16_t)(out[row][column / 2] >> (16 * (column & 1)));
                cr_assert(got == want, "%s: row %d column %d: want %04x got %04x", forms[k], row, column, want, got);
            }
        finish(m, &t, forms[k]);
    }
    static const char move[] = "ld.global.u32 %r2, [%rd4];\nmovmatrix.sync.aligned.m8n8.trans.b16 %r2, %r2;\n"
                               "st.global.u32 [%rd5], %r2;";
    struct ptx_module *m = run(move, 32, NULL, &t);
    uint32_t from[32], to[32];
    for (int lane = 0; lane < 32; ++lane) {
        from[lane] = in[lane][0];
        to[lane] = out[lane][0];
    }
    for (int row = 0; row < 8; ++row)
        for (int column = 0; column < 8; ++column)
            cr_assert(element(to, row, column) == element(from, column, row), "movmatrix: row %d column %d", row,
                      column);
    finish(m, &t, move);
}

/* A row outside, a row that is not aligned, and a warp that is not whole. */
Test(machine_rare, matrix_faults) {
    static const struct {
        const char *body;
        enum event_kind kind;
        int64_t offset;
        unsigned lane;
    } cases[] = {
        {"mad.lo.u32 %r20, %r1, 16, %r20;\nstmatrix.sync.aligned.m8n8.x4.shared.b16 [%r20+16], {%r2, %r2, %r2, %r2};",
         EVENT_OUT_OF_BOUNDS, 512, 31},
        {"stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r20+8], {%r2};", EVENT_MISALIGNED, 8, 0},
        {"mad.lo.u32 %r20, %r1, 16, %r20;\nsetp.lt.u32 %p1, %r1, 20;\n@%p1 stmatrix.sync.aligned.m8n8.x1.shared.b16 "
         "[%r20], {%r2};",
         EVENT_DIVERGENT_ALIGNED, 0, 0},
        {"setp.lt.u32 %p1, %r1, 20;\n@%p1 movmatrix.sync.aligned.m8n8.trans.b16 %r3, %r2;", EVENT_DIVERGENT_ALIGNED, 0,
         0},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
        char body[600];
        struct trace t;
        snprintf(body, sizeof body, ".shared .align 16 .b8 tile[512];\nmov.u32 %%r2, 7;\nmov.u32 %%r20, tile;\n%s",
                 cases[k].body);
        struct ptx_module *m = run(body, 32, NULL, &t);
        cr_assert(t.event_count == 1, "%s: %zu events", cases[k].body, t.event_count);
        cr_assert(t.events[0].kind == cases[k].kind && t.events[0].offset == cases[k].offset &&
                      t.events[0].lane == cases[k].lane,
                  "%s: kind %d offset %lld lane %u", cases[k].body, (int)t.events[0].kind,
                  (long long)t.events[0].offset, t.events[0].lane);
        trace_free(&t);
        ptx_free(m);
    }
}

/* Registers of 128 bits, and words of bytes. */
Test(machine_rare, moves) {
    static const char *const bodies[] = {
        ".reg .b128 %q<4>;\nld.global.b128 %q1, [%rd4];\nmov.b128 %q2, %q1;\nst.global.b128 [%rd5], %q2;",
        ".reg .b128 %q<4>;\n.shared .align 16 .b8 tile[512];\nld.global.v2.u64 {%rd6, %rd7}, [%rd4];\n"
        "mov.b128 %q1, {%rd6, %rd7};\nmov.u32 %r20, tile;\nmad.lo.u32 %r20, %r1, 16, %r20;\nst.shared.b128 [%r20], "
        "%q1;\n"
        "ld.shared.b128 %q2, [%r20];\nmov.b128 {%rd8, %rd9}, %q2;\nst.global.v2.u64 [%rd5], {%rd8, %rd9};",
        ".reg .b8 %b<4>;\nld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%rd4];\nmov.b32 {%b0, %b1, %b2, %b3}, %r2;\n"
        "mov.b32 %r2, {%b0, %b1, %b2, %b3};\nmov.b32 {%h1, %h2}, %r3;\nmov.b16 {%b0, %b1}, %h1;\nmov.b16 %h1, {%b0, "
        "%b1};\n"
        "mov.b32 %r3, {%h1, %h2};\nst.global.v4.u32 [%rd5], {%r2, %r3, %r4, %r5};",
    };
    for (size_t k = 0; k < sizeof bodies / sizeof *bodies; ++k) {
        const char *isas[3];
        const size_t count = machine_isas(isas);
        for (size_t s = 0; s < count; ++s) {
            struct trace t;
            struct ptx_module *m = run(bodies[k], 32, isas[s], &t);
            cr_assert(!memcmp(in, out, 512), "%s: %s", isas[s], bodies[k]);
            finish(m, &t, bodies[k]);
        }
    }
    static const char bytes[] = ".reg .b8 %b<4>;\nld.global.u32 %r2, [%rd4];\nmov.b32 {%b0, %b1, %b2, %b3}, %r2;\n"
                                "mov.b32 %r3, {%b3, %b1, %b0, %b2};\nst.global.u32 [%rd5], %r3;";
    struct trace t;
    struct ptx_module *m = run(bytes, 32, NULL, &t);
    for (int i = 0; i < 32; ++i) {
        const uint32_t x = in[i][0];
        const uint32_t want = x >> 24 | (x & 0xff00) | (x & 0xff) << 16 | (x >> 16 & 0xff) << 24;
        cr_assert(out[i][0] == want, "lane %d: want %08x got %08x", i, want, out[i][0]);
    }
    finish(m, &t, bytes);
}

Test(machine_rare, special_registers) {
    static const struct {
        const char *read;
        uint32_t want; /* 0xff...: the thread */
    } cases[] = {
        {"mov.u16 %h1, %ntid.x;\ncvt.u32.u16 %r2, %h1;", 64},
        {"cvt.u64.u32 %rd6, %tid.x;\ncvt.u32.u64 %r2, %rd6;", UINT32_MAX},
        {"mov.v4.u32 {%r3, %r4, %r5, %r6}, %ntid;\nmad.lo.u32 %r2, %r4, 100, %r3;\nadd.u32 %r2, %r2, %r6;", 164},
        {"mov.u32 %r2, %cluster_ctaid.x;", 0},
        {"mov.u32 %r2, %cluster_nctaid.z;", 1},
        {"mov.u32 %r2, %nclusterid.x;", 1},
        {"mov.u32 %r2, %clusterid.y;", 0},
        {"mov.u32 %r2, %cluster_nctarank;", 1},
        {"mov.pred %p1, %is_explicit_cluster;\nselp.u32 %r2, 1, 0, %p1;", 0},
        {".shared .align 4 .b8 tile[200];\nmov.u32 %r2, %total_smem_size;", 256},
        {".shared .align 4 .b8 tile[200];\nmov.u32 %r2, %aggr_smem_size;", 256 + 1024},
        /* time goes on, by instructions */
        {"mov.u32 %r3, %clock;\nadd.u32 %r5, %r3, 1;\nmov.u32 %r4, %clock;\nsub.u32 %r2, %r4, %r3;", 2},
        {"mov.u64 %rd6, %clock64;\nmov.u64 %rd7, %globaltimer;\nsub.u64 %rd6, %rd7, %rd6;\ncvt.u32.u64 %r2, %rd6;", 1},
        {"mov.u32 %r2, %globaltimer_hi;", 0},
        {"mov.u64 %rd6, %gridid;\ncvt.u32.u64 %r2, %rd6;", 1},
        {"mov.u32 %r2, %gridid;", 1},
        {"mov.u32 %r3, %nsmid;\nmov.u32 %r4, %smid;\nsetp.lt.u32 %p1, %r4, %r3;\nselp.u32 %r2, 1, 0, %p1;", 1},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
        char body[600];
        struct trace t;
        snprintf(body, sizeof body, "%s\nst.global.u32 [%%rd5], %%r2;", cases[k].read);
        struct ptx_module *m = run(body, 64, NULL, &t);
        const bool open = strstr(cases[k].read, "clock") || strstr(cases[k].read, "globaltimer") ||
                          strstr(cases[k].read, "smid") || strstr(cases[k].read, "gridid");
        cr_assert((t.order_open && strstr(t.order_open, "%clock")) == open, "%s: open: %s", cases[k].read,
                  t.order_open ? t.order_open : "no");
        for (uint32_t i = 0; i < 64; ++i)
            cr_assert(out[i][0] == (cases[k].want == UINT32_MAX ? i : cases[k].want), "%s: thread %u has %u",
                      cases[k].read, i, out[i][0]);
        finish(m, &t, cases[k].read);
    }
}

/* Blocks discard what others store, each sixteen bytes under a lock of its own: any number of threads leaves what one
 * does, and the order is open. Where nobody else stores, a race with loads is one access of 128 bytes. */
Test(machine_rare, discard_and_stores_of_many_blocks) {
    static const char body[] =
        "ld.param.u64 %rd1, [p0];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\nand.b32 %r3, %r2, 1;\n"
        "setp.eq.u32 %p1, %r3, 0;\n@%p1 bra store;\nsetp.ne.u32 %p2, %r1, 0;\n@%p2 ret;\nsetp.gt.u32 %p2, %r2, 60;\n"
        "@%p2 ret;\ndiscard.global.L2 [%rd1+128], 128;\nret;\nstore:\nmul.wide.u32 %rd2, %r1, 4;\n"
        "add.u64 %rd2, %rd1, %rd2;\nadd.u32 %r4, %r1, %r2;\nst.global.u32 [%rd2+128], %r4;\nret;\n";
    static const char loads[] =
        "ld.param.u64 %rd1, [p0];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, 4;\nadd.u64 %rd2, %rd1, %rd2;\n"
        "ld.global.u32 %r2, [%rd2+128];\nsetp.ne.u32 %p2, %r1, 40;\n@%p2 ret;\ndiscard.global.L2 [%rd1+128], "
        "128;\nret;\n";
    for (int round = 0; round < 20; ++round) {
        static uint8_t bytes[1024];
        memset(bytes, 0x11, sizeof bytes);
        struct launch_buffer b = {
            .name = "out", .role = BUFFER_OUT, .bytes = sizeof bytes, .cell_bytes = 4, .data = bytes};
        const struct machine_test test = {
            .body = body, .buffers = &b, .buffer_count = 1, .grid = {64, 1, 1}, .threads = round % 5 + 1};
        struct trace t;
        struct ptx_module *m = machine_must(&test, &t);
        for (uint32_t i = 0; i < 32; ++i) {
            uint32_t word;
            memcpy(&word, bytes + 128 + 4 * i, 4);
            cr_assert_eq(word, i + 62, "%d threads: word %u is %08x: block 62 stored last", test.threads, i, word);
        }
        cr_assert(t.order_open, "the order is open");
        trace_free(&t);
        ptx_free(m);
    }
    uint8_t bytes[256] = {0};
    struct launch_buffer b = {
        .name = "io", .role = BUFFER_INOUT, .bytes = sizeof bytes, .cell_bytes = 4, .data = bytes};
    const struct machine_test test = {.body = loads, .buffers = &b, .buffer_count = 1, .block = {64, 1, 1}};
    struct trace t;
    struct ptx_module *m = machine_must(&test, &t);
    size_t races = 0;
    for (size_t i = 0; i < t.event_count; ++i)
        races += t.events[i].kind == EVENT_RACE && t.events[i].bytes == 128 && t.events[i].count == 1;
    cr_assert(races == 1, "%zu races of a discard in %zu events", races, t.event_count);
    trace_free(&t);
    ptx_free(m);
}

/* Discarded bytes are poison, and count as not stored. */
Test(machine_rare, discard) {
    uint8_t bytes[512];
    memset(bytes, 0x11, sizeof bytes);
    struct launch_buffer b = {.name = "out", .role = BUFFER_OUT, .bytes = sizeof bytes, .cell_bytes = 4, .data = bytes};
    static const char body[] =
        "ld.param.u64 %rd1, [p0];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, 16;\n"
        "add.u64 %rd2, %rd1, %rd2;\nst.global.v4.u32 [%rd2], {%r1, %r1, %r1, %r1};\nbar.sync 0;\n"
        "setp.eq.u32 %p1, %r1, 0;\n@%p1 discard.global.L2 [%rd1+128], 128;\n"
        "@%p1 ld.global.u32 %r2, [%rd1+132];\n@%p1 discard.L2 [%rd1+64], 128;\nret;\n";
    const struct machine_test test = {.body = body, .buffers = &b, .buffer_count = 1};
    struct trace t;
    struct ptx_module *m = machine_must(&test, &t);
    for (size_t i = 0; i < sizeof bytes / 4; ++i) {
        uint32_t word;
        memcpy(&word, bytes + 4 * i, 4);
        const bool gone = i >= 32 && i < 64;
        cr_assert(word == (gone ? 0x7fa5dead : (uint32_t)i / 4), "word %zu is %08x", i, word);
        cr_assert(t.coverage[0].stores[4 * i] == !gone, "word %zu: stored %u times", i, t.coverage[0].stores[4 * i]);
    }
    cr_assert(t.order_open && strstr(t.order_open, "discard"), "open: %s", t.order_open ? t.order_open : "no");
    cr_assert(t.event_count == 2, "%zu events", t.event_count);
    cr_assert(t.events[0].kind == EVENT_UNINITIALISED && t.events[0].offset == 132, "a read of what is gone: kind %d",
              (int)t.events[0].kind);
    cr_assert(t.events[1].kind == EVENT_MISALIGNED && t.events[1].offset == 64 && t.events[1].bytes == 128, "kind %d",
              (int)t.events[1].kind);
    trace_free(&t);
    ptx_free(m);
}

/* As an H200 gives them; a base outside 0 .. 31 finds nothing. */
Test(machine_rare, fns) {
    static const uint32_t rows[][4] = {
        /* bits, base, n, place */
        {0xffffffff, 3031242680u, 3, UINT32_MAX},
        {0xae4f77c0, 44, 13, UINT32_MAX},
        {0x9f14d286, 44, (uint32_t)-4, UINT32_MAX},
        {0xffffffff, 72, 1, UINT32_MAX},
        {0xe17726b7, 0xeea2ddb7, 1, UINT32_MAX},
        {0xffffffff, 3344891991u, (uint32_t)-10, UINT32_MAX},
        {0x00000f10, 0, 2, 8},
        {0x00000f10, 10, (uint32_t)-3, 8},
        {0x00000f10, 9, 0, 9},
        {0x00000f10, 7, 0, UINT32_MAX},
        {0x00000f10, 8, (uint32_t)-2, 4},
        {0x00000f10, 8, 5, UINT32_MAX},
        {0x80000001, 31, 1, 31},
        {0x80000001, 31, (uint32_t)-2, 0},
    };
    enum { ROWS = sizeof rows / sizeof *rows };
    uint32_t places[ROWS];
    struct launch_buffer b[2] = {
        {.name = "rows", .role = BUFFER_IN, .bytes = sizeof rows, .cell_bytes = 4, .data = (void *)rows},
        {.name = "out", .role = BUFFER_OUT, .bytes = sizeof places, .cell_bytes = 4, .data = (void *)places}};
    static const char body[] = "ld.param.u64 %rd1, [p0];\nld.param.u64 %rd2, [p1];\nmov.u32 %r1, %tid.x;\n"
                               "mul.wide.u32 %rd3, %r1, 16;\nadd.u64 %rd1, %rd1, %rd3;\nmul.wide.u32 %rd3, %r1, 4;\n"
                               "add.u64 %rd2, %rd2, %rd3;\nld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%rd1];\n"
                               "fns.b32 %r6, %r2, %r3, %r4;\nst.global.u32 [%rd2], %r6;\nret;\n";
    const char *isas[3];
    const size_t count = machine_isas(isas);
    for (size_t s = 0; s < count; ++s) {
        const struct machine_test test = {
            .body = body, .buffers = b, .buffer_count = 2, .block = {ROWS}, .isa = isas[s]};
        struct trace t;
        struct ptx_module *m = machine_must(&test, &t);
        for (size_t i = 0; i < ROWS; ++i)
            cr_assert(places[i] == rows[i][3], "%s row %zu: want %d got %d", isas[s], i, (int)rows[i][3],
                      (int)places[i]);
        finish(m, &t, body);
    }
}

/* What is refused says why. */
Test(machine_rare, refusals) {
    static const struct {
        const char *line, *wants;
    } cases[] = {
        {"ld.global.v8.f32 {%f1, %f2, %f3, %f4, %f5, %f6, %f7, %f8}, [%rd1];", "sm_100"},
        {"st.global.v4.b64 [%rd1], {%rd2, %rd3, %rd4, %rd5};", "sm_100"},
        {"ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r1, %r2}, [%r3];", "sm_100"},
        {"stmatrix.sync.aligned.m16n8.x1.trans.shared.b8 [%r3], {%r1};", "sm_100"},
        {"shfl.bfly.b32 %r1, %r2, 1, 31;", ".sync"},
        {"vote.all.pred %p1, %p2;", ".sync"},
        {"barrier.cluster.arrive;", "cluster"},
        {"mapa.u64 %rd1, %rd2, %r3;", "cluster"},
        {"mbarrier.init.shared.b64 [%r1], %r2;", "mbarrier"},
        {"vadd.u32.u32.u32.sat %r1, %r2, %r3;", "no bit-exact model"},
        {"vset.u32.u32.lt.min %r1, %r2, %r3, %r4;", "no bit-exact model"},
        {"vsub.s32.s32.s32 %r1.h1, %r2, %r3, %r4;", "no bit-exact model"},
        {"vmad.s32.u32.s32.shr7 %r1, %r2, %r3, %r4;", "no bit-exact model"},
        {"vmad.s32.s32.s32 %r1, -%r2, %r3, -%r4;", "negated"},
        {"vabsdiff4.u32.u32.u32.sat.add %r1, %r2, %r3, %r4;", ".sat and .add"},
        {"vadd2.u32.u32.u32 %r1.h01, %r2, %r3, %r4;", "from the highest on"},
        {"vadd4.u32.u32.u32 %r1, %r2.b8000, %r3, %r4;", ""},
        {"add.u32 %r1, %r2.h0, %r3;", "a part of a register"},
        {"atom.global.add.f16 %h1, [%rd1], %h2;", ".noftz"},
        {"atom.const.add.u32 %r1, [%rd1], %r2;", "state space"},
        {"red.global.add.v2.u32 [%rd1], {%r1, %r2};", ""},
        {"bar.red.popc.u32 %r1, 0, 33, %p1;", "multiple of 32"},
        {"fence.proxy.bogus;", ""},
        {"discard.global.L2 [%rd1], 64;", "128"},
        {"setmaxnreg.inc.sync.aligned.u32 25;", "multiple of 8"},
        {"mov.u32 %r1, %envreg0;", "%envreg0"},
        {"mov.u64 %rd1, %tid.x;", "another width"},
        {"mov.b128 %rd1, %rd2;", "width"},
        {"elect.sync %r1, -1;", "predicate"},
        {"min.relu.u16x2 %r1, %r2, %r3;", ""},
        {"add.cc.u16 %h1, %h2, %h3;", ""},
        {"testp.finite.f16 %p1, %h2;", ""},
        {"cvt.pack.sat.u8.s32 %r1, %r2, %r3;", ""},
        {"movmatrix.sync.aligned.m8n8.b16 %r1, %r2;", ""},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
        char body[300];
        snprintf(body, sizeof body, "%s\nret;\n", cases[k].line);
        const struct machine_test test = {.body = body};
        struct ptx_module *m;
        struct trace t;
        struct error e = {""};
        cr_assert(!machine_try(&test, &m, &t, &e), "%s runs", cases[k].line);
        cr_assert(strstr(e.text, cases[k].wants), "%s: no \"%s\" in: %s", cases[k].line, cases[k].wants, e.text);
        ptx_free(m);
    }
}
