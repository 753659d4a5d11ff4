/* Memory of the machine: loads and stores of all widths, exact events, planes, coverage. */
#include "machine_run.h"

enum { CELLS = 64 };

static uint8_t in_bytes[1024], out_bytes[1024];

/* Runs body with p0 = a BUFFER_IN of in_size bytes and p1 = a BUFFER_OUT of out_size bytes, lane address in %rd3. */
static struct ptx_module *run_copy(const char *tail, size_t in_size, size_t out_size, const char *isa,
                                   struct trace *t) {
    char body[2048];
    snprintf(body, sizeof body,
             "ld.param.u64 %%rd1, [p0];\nld.param.u64 %%rd2, [p1];\nmov.u32 %%r1, %%tid.x;\n"
             "mul.wide.u32 %%rd3, %%r1, 16;\nadd.s64 %%rd4, %%rd1, %%rd3;\nadd.s64 %%rd5, %%rd2, %%rd3;\n%s",
             tail);
    for (size_t i = 0; i < sizeof in_bytes; ++i)
        in_bytes[i] = (uint8_t)(i * 37 + 11 + i / 256);
    memset(out_bytes, 0xcb, sizeof out_bytes);
    struct launch_buffer b[2] = {
        {.name = "in", .role = BUFFER_IN, .bytes = in_size, .cell_bytes = 1, .data = in_bytes},
        {.name = "out", .role = BUFFER_OUT, .bytes = out_size, .cell_bytes = out_size % 4 ? 1 : 4, .data = out_bytes}};
    const struct machine_test test = {.body = body, .buffers = b, .buffer_count = 2, .isa = isa};
    return machine_must(&test, t);
}

struct width {
    const char *load, *store; /* through shared memory; %%s is where the vector of registers goes */
    unsigned bytes, stored;
    bool is_signed;
};

/* A load of each type from global, to shared, back, and out; by 32-bit, 64-bit and generic shared addresses. */
Test(machine_memory, widths) {
    static const struct width widths[] = {
        {"u8 %r10", "u8 %r10", 1, 4, false},    {"s8 %r10", "s8 %r10", 1, 4, true},
        {"u16 %r10", "u16 %r10", 2, 4, false},  {"s16 %r10", "s16 %r10", 2, 4, true},
        {"b32 %r10", "b32 %r10", 4, 4, false},  {"u8 %rd10", "u8 %rd10", 1, 8, false},
        {"s32 %rd10", "s32 %rd10", 4, 8, true}, {"b64 %rd10", "b64 %rd10", 8, 8, false},
        {"f64 %d10", "f64 %d10", 8, 8, false},  {"u16 %h10", "u16 %h10", 2, 2, false},
        {"s8 %h10", "s8 %h10", 1, 2, true},
    };
    static const char *const spaces[] = {"shared.%s [%%r20]", "shared.%s [%%rd20]", "%s [%%rd21]"};
    const char *isas[3];
    const size_t isa_count = machine_isas(isas);
    for (size_t k = 0; k < sizeof widths / sizeof *widths; ++k)
        for (size_t s = 0; s < 3 * isa_count; ++s) {
            char tail[1024], type[8], reg[8], access[2][64];
            const struct width *w = &widths[k];
            sscanf(w->load, "%7s %7s", type, reg);
            const char *stored = w->stored == 2 ? "u16" : w->stored == 4 ? "u32" : reg[1] == 'd' ? "f64" : "u64";
            snprintf(access[0], sizeof access[0], spaces[s % 3], type);
            snprintf(tail, sizeof tail,
                     ".shared .align 16 .b8 pad[48];\n.shared .align 16 .b8 words[512];\nmov.u32 %%r21, words;\n"
                     "shl.b32 %%r22, %%r1, 4;\nadd.u32 %%r20, %%r21, %%r22;\ncvt.u64.u32 %%rd20, %%r20;\n"
                     "cvta.shared.u64 %%rd21, %%rd20;\nld.global.%s %s, [%%rd4];\nst.%s, %s;\nsub.u32 %%r10, %%r10, "
                     "%%r10;\nld.%.*s %s, %s;\nst.global.%s [%%rd5], %s;\nret;\n",
                     type, reg, access[0], reg, (int)strcspn(access[0], " "), access[0], reg, strchr(access[0], '['),
                     stored[0] == 'f' && w->stored == 8 && strcmp(reg, "%d10") ? "u64" : stored, reg);
            if (!strcmp(reg, "%d10"))
                *strstr(tail, "sub.u32") = 's';
            struct trace t;
            struct ptx_module *m = run_copy(tail, 512, 512, isas[s / 3], &t);
            cr_assert(t.event_count == 0, "%s: event", w->load);
            for (unsigned lane = 0; lane < 32; ++lane) {
                int64_t want = 0;
                memcpy(&want, in_bytes + 16 * lane, w->bytes);
                if (w->is_signed)
                    want = (int64_t)((uint64_t)want << (64 - 8 * w->bytes)) >> (64 - 8 * w->bytes);
                cr_assert(!memcmp(out_bytes + 16 * lane, &want, w->stored), "%s, %s: lane %u", w->load, access[0],
                          lane);
                for (unsigned i = w->stored; i < 16; ++i)
                    cr_assert(out_bytes[16 * lane + i] == 0xcb, "%s: lane %u stored too much", w->load, lane);
            }
            trace_free(&t);
            ptx_free(m);
        }
}

Test(machine_memory, vectors) {
    static const char *const types[] = {"v2.u32 {%r10, %r11}",
                                        "v4.b32 {%r10, %r11, %r12, %r13}",
                                        "v4.f32 {%f10, %f11, %f12, %f13}",
                                        "v2.u64 {%rd10, %rd11}",
                                        "v4.u8 {%r10, %r11, %r12, %r13}",
                                        "v2.u16 {%h10, %h11}",
                                        "v4.u16 {%h10, %h11, %h12, %h13}"};
    static const unsigned bytes[] = {8, 16, 16, 16, 4, 4, 8};
    static const char *const spaces[] = {"shared.%.*s [%%r20], %s", "%.*s [%%rd21], %s"};
    const char *isas[3];
    const size_t isa_count = machine_isas(isas);
    for (size_t k = 0; k < sizeof types / sizeof *types; ++k)
        for (size_t s = 0; s < 4 * isa_count; ++s) {
            const int n = (int)strcspn(types[k], " ");
            const char *regs = types[k] + n + 1, *guard = s & 1 ? "@%p1 " : "";
            char tail[1024], store[128];
            snprintf(store, sizeof store, spaces[s / 2 % 2], n, types[k], regs);
            snprintf(
                tail, sizeof tail,
                ".shared .align 16 .b8 words[512];\nmov.u32 %%r21, words;\nshl.b32 %%r22, %%r1, 4;\n"
                "add.u32 %%r20, %%r21, %%r22;\ncvt.u64.u32 %%rd20, %%r20;\ncvta.shared.u64 %%rd21, %%rd20;\n"
                "and.b32 %%r23, %%r1, 3;\nsetp.ne.u32 %%p1, %%r23, 2;\n%sld.global.nc.%.*s %s, [%%rd4];\n%sst.%s;\n"
                "%sld.%s%.*s %s, [%s];\n%sst.global.%.*s [%%rd5], %s;\nret;\n",
                guard, n, types[k], regs, guard, store, guard, s / 2 % 2 ? "" : "shared.", n, types[k], regs,
                s / 2 % 2 ? "%rd21" : "%r20", guard, n, types[k], regs);
            struct trace t;
            struct ptx_module *m = run_copy(tail, 512, 512, isas[s / 4], &t);
            cr_assert(t.event_count == 0, "%s: event", types[k]);
            for (unsigned i = 0; i < 512; ++i) {
                const bool stored = i % 16 < bytes[k] && !(s & 1 && i / 16 % 4 == 2);
                cr_assert(out_bytes[i] == (stored ? in_bytes[i] : 0xcb), "%s%s: byte %u", guard, types[k], i);
            }
            trace_free(&t);
            ptx_free(m);
        }
}

struct expected {
    enum event_kind kind;
    enum event_space space;
    bool store;
    int buffer, plane, other_plane;
    int64_t offset;
    size_t bytes;
    uint32_t warp, lane;
    int line;
    uint64_t count;
};

static void expect(const struct trace *t, size_t k, const struct expected *x) {
    cr_assert(k < t->event_count, "only %zu events", t->event_count);
    const struct event *v = &t->events[k];
    const int line = t->sites[v->instruction].line;
    cr_assert(v->kind == x->kind && v->space == x->space && v->store == x->store,
              "event %zu: kind %d space %d store %d", k, v->kind, v->space, v->store);
    cr_assert(v->buffer == x->buffer && v->plane == x->plane && v->other_plane == x->other_plane,
              "event %zu: buffer %d plane %d other %d", k, v->buffer, v->plane, v->other_plane);
    cr_assert(v->offset == x->offset && v->bytes == x->bytes, "event %zu: offset %lld, %zu bytes", k,
              (long long)v->offset, v->bytes);
    cr_assert(v->warp == x->warp && v->lane == x->lane && line == x->line && v->count == x->count,
              "event %zu: warp %u lane %u line %d count %llu", k, v->warp, v->lane, line, (unsigned long long)v->count);
}

/* in has 480 bytes, so lanes 30 and 31 are past it; line 7 is the first of the tail. */
Test(machine_memory, global_events) {
    static const struct {
        const char *tail;
        size_t in_size, out_size;
        struct expected want;
    } cases[] = {
        {"ld.global.u32 %r2, [%rd4];\nret;\n",
         480,
         512,
         {EVENT_OUT_OF_BOUNDS, SPACE_GLOBAL, false, 0, -1, -1, 480, 4, 0, 30, 7, 2}},
        {"ld.global.u32 %r2, [%rd4+-8];\nret;\n",
         512,
         512,
         {EVENT_OUT_OF_BOUNDS, SPACE_GLOBAL, false, 0, -1, -1, -8, 4, 0, 0, 7, 1}},
        {"ld.global.v4.u32 {%r2,%r3,%r4,%r5}, [%rd4];\nret;\n",
         508,
         512, /* the first bad byte, not the first byte */
         {EVENT_OUT_OF_BOUNDS, SPACE_GLOBAL, false, 0, -1, -1, 508, 16, 0, 31, 7, 1}},
        {"st.global.u32 [%rd5], %r1;\nret;\n",
         512,
         240,
         {EVENT_OUT_OF_BOUNDS, SPACE_GLOBAL, true, 1, -1, -1, 240, 4, 0, 15, 7, 17}},
        {"st.global.u32 [%rd4], %r1;\nret;\n",
         512,
         512,
         {EVENT_READ_ONLY, SPACE_GLOBAL, true, 0, -1, -1, 0, 4, 0, 0, 7, 32}},
        {"ld.global.u32 %r2, [%rd4+2];\nret;\n",
         512,
         512,
         {EVENT_MISALIGNED, SPACE_GLOBAL, false, 0, -1, -1, 2, 4, 0, 0, 7, 32}},
        {"ld.global.v2.u32 {%r2,%r3}, [%rd4+4];\nret;\n",
         512,
         512, /* aligned as words, not as a pair */
         {EVENT_MISALIGNED, SPACE_GLOBAL, false, 0, -1, -1, 4, 8, 0, 0, 7, 32}},
        {"ld.global.u32 %r2, [%rd3];\nret;\n",
         512,
         512, /* near NULL */
         {EVENT_OUT_OF_BOUNDS, SPACE_GLOBAL, false, -1, -1, -1, 0, 4, 0, 0, 7, 32}},
        {"ld.u32 %r2, [%rd4+1000000];\nret;\n",
         512,
         512, /* generic */
         {EVENT_OUT_OF_BOUNDS, SPACE_GLOBAL, false, 0, -1, -1, 1000000, 4, 0, 0, 7, 32}},
    };
    const char *isas[3];
    const size_t isa_count = machine_isas(isas);
    for (size_t k = 0; k < isa_count * sizeof cases / sizeof *cases; ++k) {
        const size_t c = k / isa_count;
        struct trace t;
        struct ptx_module *m = run_copy(cases[c].tail, cases[c].in_size, cases[c].out_size, isas[k % isa_count], &t);
        cr_assert(t.event_count == 1, "case %zu: %zu events", c, t.event_count);
        expect(&t, 0, &cases[c].want);
        trace_free(&t);
        ptx_free(m);
    }
}

/* A bad load gives 0xff bytes, extended as its type says; a bad store leaves everything as it was. */
Test(machine_memory, bad_accesses_are_poison) {
    struct trace t;
    struct ptx_module *m = run_copy("ld.global.u16 %r2, [%rd4];\nst.global.u32 [%rd5], %r2;\n"
                                    "st.global.u32 [%rd4], %r1;\nret;\n",
                                    256, 512, NULL, &t);
    for (unsigned lane = 0; lane < 32; ++lane) {
        uint32_t want = 0xffff, got;
        if (lane < 16) {
            want = 0;
            memcpy(&want, in_bytes + 16 * lane, 2);
        }
        memcpy(&got, out_bytes + 16 * lane, 4);
        cr_assert(got == want, "lane %u: %x", lane, got);
    }
    for (size_t i = 0; i < sizeof in_bytes; ++i)
        cr_assert(in_bytes[i] == (uint8_t)(i * 37 + 11 + i / 256), "byte %zu of the input changed", i);
    trace_free(&t);
    ptx_free(m);
}

static const struct launch_plane planes[] = {{"a", 0, 256}, {"b", 256, 128}, {"c", 384, 640}};

Test(machine_memory, shared_events) {
    static const struct {
        const char *body;
        bool planes;
        size_t events;
        struct expected want;
    } cases[] = {
        /* one site in one plane: fine; another site in another plane: fine */
        {"shl.b32 %r2, %r1, 3;\nadd.u32 %r2, %r2, %r3;\nst.shared.u32 [%r2], %r1;\nld.shared.u32 %r4, "
         "[%r2+384];\nret;\n",
         true,
         0,
         {0}},
        /* lanes 16 .. 31 leave plane a for plane b */
        {"shl.b32 %r2, %r1, 4;\nadd.u32 %r2, %r2, %r3;\nst.shared.u32 [%r2], %r1;\nret;\n",
         true,
         1,
         {EVENT_PLANE, SPACE_SHARED, true, -1, 0, 1, 256, 4, 0, 16, 6, 16}},
        /* the same without planes given */
        {"shl.b32 %r2, %r1, 4;\nadd.u32 %r2, %r2, %r3;\nst.shared.u32 [%r2], %r1;\nret;\n", false, 0, {0}},
        /* a pair that begins in its plane and ends in the next */
        {"and.b32 %r2, %r1, 0;\nadd.u32 %r2, %r2, %r3;\nld.shared.v2.u32 {%r4,%r5}, [%r2+248];\n"
         "setp.eq.u32 %p1, %r1, 3;\nselp.u32 %r6, 384, 0, %p1;\nadd.u32 %r6, %r6, %r3;\nld.shared.u32 %r4, [%r6];\n"
         "ret;\n",
         true,
         1,
         {EVENT_PLANE, SPACE_SHARED, false, -1, 0, 2, 384, 4, 0, 3, 10, 1}},
        /* back from plane c into plane b: offset before the own plane's start */
        {"setp.lt.u32 %p1, %r1, 30;\nselp.u32 %r2, 400, 380, %p1;\nadd.u32 %r2, %r2, %r3;\nld.shared.u32 %r4, [%r2];\n"
         "ret;\n",
         true,
         1,
         {EVENT_PLANE, SPACE_SHARED, false, -1, 2, 1, -4, 4, 0, 30, 7, 2}},
        /* out of the arena, above and below */
        {"shl.b32 %r2, %r1, 5;\nadd.u32 %r2, %r2, %r3;\nst.shared.v2.u32 [%r2+64], {%r1,%r1};\nret;\n",
         false,
         1,
         {EVENT_OUT_OF_BOUNDS, SPACE_SHARED, true, -1, -1, -1, 1024, 8, 0, 30, 6, 2}},
        {"shl.b32 %r2, %r1, 2;\nadd.u32 %r2, %r2, %r3;\nld.shared.u32 %r4, [%r2+-4];\nret;\n",
         true,
         1,
         {EVENT_OUT_OF_BOUNDS, SPACE_SHARED, false, -1, -1, -1, -4, 4, 0, 0, 6, 1}},
        /* misaligned in plane b */
        {"mov.u32 %r2, 258;\nadd.u32 %r2, %r2, %r3;\nld.shared.u32 %r4, [%r2];\nret;\n",
         true,
         1,
         {EVENT_MISALIGNED, SPACE_SHARED, false, -1, 1, -1, 2, 4, 0, 0, 6, 32}},
        /* generic address */
        {"cvt.u64.u32 %rd1, %r3;\ncvta.shared.u64 %rd1, %rd1;\nmul.wide.u32 %rd2, %r1, 16;\nadd.u64 %rd1, %rd1, %rd2;\n"
         "ld.u32 %r4, [%rd1];\nret;\n",
         true,
         1,
         {EVENT_PLANE, SPACE_SHARED, false, -1, 0, 1, 256, 4, 0, 16, 8, 16}},
    };
    const char *isas[3];
    const size_t isa_count = machine_isas(isas);
    for (size_t k = 0; k < isa_count * sizeof cases / sizeof *cases; ++k) {
        const size_t c = k / isa_count;
        char body[1024];
        snprintf(body, sizeof body, "mov.u32 %%r1, %%tid.x;\nmov.u32 %%r3, arena;\n\n%s", cases[c].body);
        const struct machine_test test = {.module_level = ".extern .shared .align 16 .b8 arena[];",
                                          .unwatched = WATCH_UNINIT,
                                          .body = body,
                                          .shared = 1024,
                                          .planes = planes,
                                          .plane_count = cases[c].planes ? 3 : 0,
                                          .isa = isas[k % isa_count]};
        struct trace t;
        struct ptx_module *m = machine_must(&test, &t);
        cr_assert(t.event_count == cases[c].events, "case %zu: %zu events", c, t.event_count);
        if (cases[c].events)
            expect(&t, 0, &cases[c].want);
        trace_free(&t);
        ptx_free(m);
    }
}

/* ldmatrix rows are watched like loads; rows that x2 does not use are not. */
Test(machine_memory, ldmatrix_events) {
    static const struct {
        const char *body;
        size_t events;
        struct expected want;
    } cases[] = {
        {"shl.b32 %r2, %r1, 4;\nldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r4,%r5}, [%r2];\nret;\n", 0, {0}},
        {"shl.b32 %r2, %r1, 4;\nldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r4,%r5,%r6,%r7}, [%r2];\nret;\n",
         1,
         {EVENT_PLANE, SPACE_SHARED, false, -1, 0, 1, 256, 16, 0, 16, 3, 16}},
        {"shl.b32 %r2, %r1, 3;\nldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r4}, [%r2];\nret;\n",
         1,
         {EVENT_MISALIGNED, SPACE_SHARED, false, -1, 0, -1, 8, 16, 0, 1, 3, 4}},
        {"shl.b32 %r2, %r1, 8;\nldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r4}, [%r2];\nret;\n", 0, {0}},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
        char body[512];
        snprintf(body, sizeof body, "mov.u32 %%r1, %%tid.x;\n%s", cases[k].body);
        const struct machine_test test = {.module_level = ".extern .shared .align 16 .b8 arena[];",
                                          .unwatched = WATCH_UNINIT,
                                          .body = body,
                                          .shared = 1024,
                                          .planes = planes,
                                          .plane_count = 3};
        struct trace t;
        struct ptx_module *m = machine_must(&test, &t);
        if (k == 3) { /* rows 256 bytes apart: planes a, b, c, c, then past the arena */
            cr_assert(t.event_count >= 2, "%zu events", t.event_count);
            trace_free(&t);
            ptx_free(m);
            continue;
        }
        cr_assert(t.event_count == cases[k].events, "case %zu: %zu events", k, t.event_count);
        if (cases[k].events)
            expect(&t, 0, &cases[k].want);
        trace_free(&t);
        ptx_free(m);
    }
}

/* Which bytes were stored how often, whether alike, and by whom. */
Test(machine_memory, coverage) {
    static const char body[] =
        "ld.param.u64 %rd1, [p0];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\nmul.wide.u32 %rd2, %r1, 4;\n"
        "add.s64 %rd3, %rd1, %rd2;\nsetp.eq.u32 %p1, %r2, 0;\nsetp.lt.u32 %p2, %r1, 8;\n"
        "@%p1 st.global.u32 [%rd3], %r1;\n"                                   /* line 8: block 0, cells 0 .. 63 */
        "@!%p1 bra LATER;\nret;\nLATER:\n@!%p2 ret;\n"                        /* blocks 1, 2: cells 0 .. 7 */
        "st.global.u32 [%rd3], %r1;\n"                                        /* line 13: the same value again */
        "setp.ge.u32 %p3, %r1, 4;\n@%p3 st.global.u8 [%rd3+1], %r2;\nret;\n"; /* line 15: cells 4 .. 7, byte 1 */
    static uint8_t data[4 * (CELLS + 1)];
    static const int threads[] = {1, 3};
    for (size_t n = 0; n < 2; ++n) {
        memset(data, 0xcb, sizeof data);
        struct launch_buffer b = {
            .name = "out", .role = BUFFER_OUT, .bytes = sizeof data, .cell_bytes = 4, .data = data};
        const struct machine_test test = {
            .body = body, .buffers = &b, .buffer_count = 1, .grid = {3}, .block = {CELLS}, .threads = threads[n]};
        struct trace t;
        struct ptx_module *m = machine_must(&test, &t);
        cr_assert(t.has_coverage && t.event_count == 0, "events");
        for (unsigned c = 0; c <= CELLS; ++c) {
            const uint8_t *s = t.coverage[0].stores + 4 * c;
            const struct cell_history *h = &t.coverage[0].cells[c];
            const unsigned times = c == CELLS ? 0 : c < 8 ? 3 : 1;
            cr_assert(s[0] == times && s[2] == times, "cell %u: stored %x times", c, s[0]);
            cr_assert(s[1] == (c >= 4 && c < 8 ? 0x85 : times), "cell %u byte 1: %x", c, s[1]);
            cr_assert(data[4 * c] == (c == CELLS ? 0xcb : c) && data[4 * c + 1] == (c == CELLS        ? 0xcb
                                                                                    : c >= 4 && c < 8 ? 2
                                                                                                      : 0),
                      "cell %u holds %x %x", c, data[4 * c], data[4 * c + 1]);
            if (c == CELLS)
                continue;
            const uint64_t last = c < 8 ? 2 : 0;
            const int line = c < 4 ? 13 : c < 8 ? 15 : 8;
            cr_assert(h->first.block == 0 && h->first.thread == c && t.sites[h->first.instruction].line == 8,
                      "first writer of cell %u", c);
            cr_assert(h->last.block == last && h->last.thread == c && t.sites[h->last.instruction].line == line,
                      "last writer of cell %u: block %llu line %d", c, (unsigned long long)h->last.block,
                      t.sites[h->last.instruction].line);
        }
        trace_free(&t);
        ptx_free(m);
    }
}

/* Shared memory is 0xff at the start of every block; module variables have their initial values; loads see stores. */
Test(machine_memory, initial_values) {
    static const char body[] =
        "ld.param.u64 %rd1, [p0];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\nmad.lo.u32 %r3, %r2, 32, %r1;\n"
        "mul.wide.u32 %rd2, %r3, 16;\nadd.s64 %rd1, %rd1, %rd2;\nmov.u32 %r4, words;\nmul.lo.u32 %r5, %r1, 4;\n"
        "add.u32 %r4, %r4, %r5;\nld.shared.u32 %r6, [%r4];\nst.shared.u32 [%r4], %r3;\n"
        "and.b32 %r7, %r1, 3;\nmul.wide.u32 %rd3, %r7, 4;\nmov.u64 %rd4, table;\nadd.s64 %rd4, %rd4, %rd3;\n"
        "ld.global.u32 %r8, [%rd4];\nld.const.u16 %r9, [fixed+2];\nst.global.u32 [%rd1], %r6;\n"
        "ld.global.u32 %r10, [%rd1];\nadd.u32 %r10, %r10, 5;\nst.global.v4.u32 [%rd1], {%r6, %r8, %r9, %r10};\nret;\n";
    static uint32_t out[3 * 32][4];
    struct launch_buffer b = {
        .name = "out", .role = BUFFER_OUT, .bytes = sizeof out, .cell_bytes = 4, .data = (uint8_t *)out};
    const struct machine_test test = {.module_level = ".shared .align 4 .b8 words[128];\n"
                                                      ".global .align 4 .u32 table[4] = {10, 20, 30, 40};\n"
                                                      ".const .align 2 .u16 fixed[2] = {7, 65535};",
                                      .unwatched = WATCH_UNINIT,
                                      .body = body,
                                      .buffers = &b,
                                      .buffer_count = 1,
                                      .grid = {3}};
    struct trace t;
    struct ptx_module *m = machine_must(&test, &t);
    cr_assert(t.event_count == 0, "event %d line %d", t.events[0].kind, t.sites[t.events[0].instruction].line);
    for (uint32_t i = 0; i < 96; ++i) {
        cr_assert(out[i][0] == 0xffffffff, "thread %u: shared %x", i, out[i][0]);
        cr_assert(out[i][1] == 10 * (i % 4 + 1) && out[i][2] == 0xffff, "thread %u: %u %u", i, out[i][1], out[i][2]);
        cr_assert(out[i][3] == 4, "thread %u: reads back %u", i, out[i][3]);
    }
    trace_free(&t);
    ptx_free(m);
}

/* Block b reads the cell that block b - 1 stores: open on hardware, here as if the blocks had run in order. */
Test(machine_memory, reads_of_other_blocks_do_not_depend_on_threads) {
    enum { BLOCKS = 200 };
    for (int threads = 1; threads <= 7; threads += 3) {
        uint32_t out[BLOCKS];
        for (int i = 0; i < BLOCKS; ++i)
            out[i] = 1000;
        struct launch_buffer b = {
            .name = "out", .role = BUFFER_INOUT, .bytes = sizeof out, .cell_bytes = 4, .data = (uint8_t *)out};
        const struct machine_test t = {
            .body = "ld.param.u64 %rd1, [p0];\nmov.u32 %r1, %ctaid.x;\nmul.wide.u32 %rd2, %r1, 4;\n"
                    "add.s64 %rd3, %rd1, %rd2;\nmov.u32 %r2, 0;\nsetp.eq.u32 %p1, %r1, 0;\n"
                    "@!%p1 ld.global.u32 %r2, [%rd3+-4];\nadd.u32 %r2, %r2, 1;\n"
                    "st.global.u32 [%rd3], %r2;\nret;",
            .buffers = &b,
            .buffer_count = 1,
            .grid = {BLOCKS},
            .block = {1},
            .threads = threads};
        struct ptx_module *module;
        struct trace trace;
        struct error e;
        cr_assert(machine_try(&t, &module, &trace, &e), "%s", e.text);
        cr_assert(trace.event_count == 1 && trace.events[0].kind == EVENT_RACE && trace.events[0].count == BLOCKS - 1,
                  "%zu events: a load of what another block stores is one", trace.event_count);
        for (uint32_t i = 0; i < BLOCKS; ++i)
            cr_assert(out[i] == i + 1, "%d threads: block %u stored %u", threads, i, out[i]);
        trace_free(&trace);
        ptx_free(module);
    }
}

/* A pointer whose initial value is the address of another variable. */
Test(machine_memory, initial_addresses) {
    uint32_t out[32];
    struct launch_buffer b = {
        .name = "out", .role = BUFFER_OUT, .bytes = sizeof out, .cell_bytes = 4, .data = (uint8_t *)out};
    const struct machine_test t = {
        .module_level =
            ".global .align 4 .u32 table[4] = {10, 20, 30, 40};\n.global .align 8 .u64 p = generic(table)+4;",
        .body =
            "ld.param.u64 %rd1, [p0];\nld.global.u64 %rd2, [p];\nmov.u32 %r1, %tid.x;\nand.b32 %r2, %r1, 1;\n"
            "mul.wide.u32 %rd3, %r2, 4;\nadd.s64 %rd3, %rd2, %rd3;\nld.u32 %r3, [%rd3];\nmul.wide.u32 %rd4, %r1, 4;\n"
            "add.s64 %rd4, %rd1, %rd4;\nst.global.u32 [%rd4], %r3;\nret;",
        .buffers = &b,
        .buffer_count = 1};
    struct ptx_module *module;
    struct trace trace;
    struct error e;
    cr_assert(machine_try(&t, &module, &trace, &e), "%s", e.text);
    for (int i = 0; i < 32; ++i)
        cr_assert(out[i] == (i & 1 ? 30 : 20), "lane %d read %u", i, out[i]);
    trace_free(&trace);
    ptx_free(module);
}

/* Shared memory of the launched entry alone: a larger entry beside it lends it no bytes, takes none of the 227 KiB, and
 * shifts no byte number. */
Test(machine_memory, shared_memory_is_the_entrys_own) {
#define OTHER(bytes) ".entry other() {\n.shared .align 4 .b8 z[" #bytes "];\nret;\n}\n"
#define ARENA        ".extern .shared .align 16 .b8 arena[];\n"
#define OWN          ".shared .align 4 .u32 s[64];\nmov.u32 %r1, %tid.x;\nshl.b32 %r2, %r1, 2;\nmov.u32 %r3, s;\n"
#define DYNAMIC      "mov.u32 %r1, %tid.x;\nshl.b32 %r2, %r1, 2;\nmov.u32 %r3, arena;\n\n"
#define BOTH         "mov.u32 %r4, arena;\nsetp.lt.u32 %p1, %r1, 16;\nselp.u32 %r5, %r3, %r4, %p1;\nadd.u32 %r2, %r2, %r5;\n"
    static const struct launch_plane halves[] = {{"a", 0, 256}, {"b", 256, 256}};
    static const struct {
        const char *name, *module_level, *body;
        size_t shared, planes, events;
        struct expected want;
    } cases[] = {
        {"in the other entry's variable",
         OTHER(4096),
         OWN "add.u32 %r2, %r2, %r3;\nld.shared.u32 %r4, [%r2+3600];\nret;\n",
         0,
         0,
         1,
         {EVENT_OUT_OF_BOUNDS, SPACE_SHARED, false, -1, -1, -1, 3600, 4, 0, 0, 6, 32}},
        {"across the end of the own variable",
         OTHER(4096),
         OWN "add.u32 %r2, %r2, %r3;\nst.shared.u32 [%r2+200], %r1;\nret;\n",
         0,
         0,
         1,
         {EVENT_OUT_OF_BOUNDS, SPACE_SHARED, true, -1, -1, -1, 256, 4, 0, 14, 6, 18}},
        {"a pair that begins before the own end",
         OTHER(4096) ".shared .align 8 .b8 u[12];\n",
         "mov.u32 %r3, u;\nld.shared.v2.u32 {%r1,%r2}, [%r3+8];\nret;\n",
         0,
         0,
         1,
         {EVENT_OUT_OF_BOUNDS, SPACE_SHARED, false, -1, -1, -1, 12, 8, 0, 0, 2, 32}},
        {"static and dynamic in turn", ARENA OTHER(4096), OWN BOTH "st.shared.u32 [%r2], %r1;\nret;\n", 512, 0, 0, {0}},
        {"static and dynamic in turn, ends of both",
         ARENA OTHER(4096),
         OWN BOTH "ld.shared.u32 %r6, [%r2+388];\nret;\n",
         512,
         0,
         1,
         {EVENT_OUT_OF_BOUNDS, SPACE_SHARED, false, -1, -1, -1, 388, 4, 0, 0, 9, 17}},
        {"static and dynamic in turn with planes",
         ARENA OTHER(4096),
         OWN BOTH "st.shared.u32 [%r2], %r1;\nret;\n",
         512,
         2,
         1,
         {EVENT_PLANE, SPACE_SHARED, true, -1, -1, 0, 4160, 4, 0, 16, 9, 16}},
        {"between static and dynamic with planes",
         ARENA OTHER(4096),
         OWN "mov.u32 %r4, arena;\nadd.u32 %r2, %r2, %r4;\nld.shared.u32 %r6, [%r2+-64];\nret;\n",
         512,
         2,
         1,
         {EVENT_OUT_OF_BOUNDS, SPACE_SHARED, false, -1, -1, -1, 4032, 4, 0, 0, 7, 16}},
        {"past a static variable and the dynamic arena",
         ARENA OTHER(4096),
         OWN "mov.u32 %r4, arena;\nadd.u32 %r2, %r2, %r4;\nld.shared.u32 %r6, [%r2+388];\nret;\n",
         512,
         0,
         1,
         {EVENT_OUT_OF_BOUNDS, SPACE_SHARED, false, -1, -1, -1, 4608, 4, 0, 31, 7, 1}},
        {"much dynamic memory beside an entry with much static",
         ARENA OTHER(40960),
         DYNAMIC "add.u32 %r2, %r2, %r3;\nst.shared.u32 [%r2+199872], %r1;\nret;\n",
         200000,
         0,
         0,
         {0}},
        {"its end",
         ARENA OTHER(40960),
         DYNAMIC "add.u32 %r2, %r2, %r3;\nst.shared.u32 [%r2+199876], %r1;\nret;\n",
         200000,
         0,
         1,
         {EVENT_OUT_OF_BOUNDS, SPACE_SHARED, true, -1, -1, -1, 200000, 4, 0, 31, 6, 1}},
        {"past the dynamic arena",
         ARENA OTHER(128),
         DYNAMIC "add.u32 %r2, %r2, %r3;\nld.shared.u32 %r6, [%r2+388];\nret;\n",
         512,
         0,
         1,
         {EVENT_OUT_OF_BOUNDS, SPACE_SHARED, false, -1, -1, -1, 512, 4, 0, 31, 6, 1}},
        {"before the dynamic arena",
         ARENA OTHER(128),
         DYNAMIC "add.u32 %r2, %r2, %r3;\nld.shared.u32 %r6, [%r2+-4];\nret;\n",
         512,
         0,
         1,
         {EVENT_OUT_OF_BOUNDS, SPACE_SHARED, false, -1, -1, -1, -4, 4, 0, 0, 6, 1}},
        {"misaligned in the dynamic arena",
         ARENA OTHER(128),
         DYNAMIC "add.u32 %r2, %r2, %r3;\nld.shared.u32 %r6, [%r2+2];\nret;\n",
         512,
         0,
         1,
         {EVENT_MISALIGNED, SPACE_SHARED, false, -1, -1, -1, 2, 4, 0, 0, 6, 32}},
        {"two names of the dynamic arena",
         ARENA OTHER(132) ".extern .shared .align 128 .b8 wide[];\n",
         DYNAMIC "mov.u32 %r4, wide;\nsetp.eq.u32 %p1, %r1, 31;\nst.shared.u32 [%r3], %r1;\n"
                 "@%p1 st.shared.u32 [%r4+508], %r1;\nret;\n",
         512,
         0,
         0,
         {0}},
    };
    const char *isas[3];
    const size_t isa_count = machine_isas(isas);
    for (size_t k = 0; k < isa_count * sizeof cases / sizeof *cases; ++k) {
        const size_t c = k / isa_count;
        const struct machine_test test = {.module_level = cases[c].module_level,
                                          .unwatched = WATCH_UNINIT | WATCH_HAZARDS,
                                          .body = cases[c].body,
                                          .shared = cases[c].shared,
                                          .planes = halves,
                                          .plane_count = cases[c].planes,
                                          .isa = isas[k % isa_count]};
        struct ptx_module *m;
        struct trace t;
        struct error e = {""};
        cr_assert(machine_try(&test, &m, &t, &e), "%s: does not run: %s", cases[c].name, e.text);
        cr_assert(t.event_count == cases[c].events, "%s: %zu events", cases[c].name, t.event_count);
        if (cases[c].events) {
            const struct event *v = &t.events[0];
            cr_expect(v->kind == cases[c].want.kind && v->offset == cases[c].want.offset,
                      "%s: event of kind %d at byte %lld, lane %u, %llu times", cases[c].name, v->kind,
                      (long long)v->offset, v->lane, (unsigned long long)v->count);
            expect(&t, 0, &cases[c].want);
        }
        trace_free(&t);
        ptx_free(m);
    }
#undef OTHER
#undef ARENA
#undef OWN
#undef DYNAMIC
#undef BOTH
}
