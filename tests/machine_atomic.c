/* atom and red: old values, results, both memories, many blocks at once, faults. What single operations give is held to
 * a GPU in machine_silicon.c. */
#include "machine_run.h"

static struct launch_buffer inout(const char *name, void *data, size_t bytes, size_t cell) {
    return (struct launch_buffer){.name = name, .role = BUFFER_INOUT, .bytes = bytes, .cell_bytes = cell, .data = data};
}

/* Lanes take their turns in ascending order: lane i sees what the lanes below it made. */
Test(machine_atomic, lanes_in_order) {
    static const struct {
        const char *operation;        /* of old value and lane number */
        uint32_t start, seen[3], end; /* seen by lanes 0, 1, 31 */
    } cases[] = {
        {"atom.global.add.u32 %r2, [%rd1], %r1;", 100, {100, 100, 565}, 596},
        {"atom.global.exch.b32 %r2, [%rd1], %r1;", 7, {7, 0, 30}, 31},
        {"atom.global.inc.u32 %r2, [%rd1], 4;", 3, {3, 4, 4}, 0},
        {"atom.global.dec.u32 %r2, [%rd1], 4;", 1, {1, 0, 0}, 4},
        {"atom.global.max.s32 %r2, [%rd1], %r1;", 0xfffffff0, {0xfffffff0, 0, 30}, 31},
        {"atom.global.min.u32 %r2, [%rd1], %r1;", 0xfffffff0, {0xfffffff0, 0, 0}, 0},
        {"atom.global.or.b32 %r2, [%rd1], %r1;", 0x100, {0x100, 0x100, 0x11f}, 0x11f},
        {"atom.global.xor.b32 %r2, [%rd1], %r1;", 0, {0, 0, 31}, 0},
        {"atom.global.and.b32 %r2, [%rd1], %r1;", 0xff, {0xff, 0, 0}, 0},
        {"add.u32 %r3, %r1, 1;\natom.global.cas.b32 %r2, [%rd1], %r1, %r3;", 0, {0, 1, 31}, 32},
        {"atom.acq_rel.sys.global.add.s32 %r2, [%rd1], -1;", 5, {5, 4, 0xffffffe6}, 0xffffffe5},
    };
    for (size_t k = 0; k < 2 * sizeof cases / sizeof *cases; ++k) {
        char body[600], operation[200];
        uint32_t cell = cases[k / 2].start, seen[32];
        snprintf(operation, sizeof operation, "%s", cases[k / 2].operation);
        if (k & 1) { /* the same in shared memory */
            char *at = strstr(operation, ".global");
            memmove(at + 7, at + 7, strlen(at + 7) + 1);
            memcpy(at, ".shared", 7);
            memcpy(strstr(operation, "[%rd1]"), "[tile]", 6);
        }
        snprintf(body, sizeof body,
                 ".shared .align 4 .b8 tile[4];\nld.param.u64 %%rd1, [p0];\nld.param.u64 %%rd2, [p1];\n"
                 "mov.u32 %%r1, %%tid.x;\nmul.wide.u32 %%rd3, %%r1, 4;\nadd.u64 %%rd2, %%rd2, %%rd3;\n"
                 "setp.eq.u32 %%p1, %%r1, 0;\nld.global.u32 %%r4, [%%rd1];\n@%%p1 st.shared.u32 [tile], %%r4;\n"
                 "bar.sync 0;\n%s\nst.global.u32 [%%rd2], %%r2;\nbar.sync 0;\nld.shared.u32 %%r4, [tile];\n%s\nret;\n",
                 operation, k & 1 ? "@%p1 st.global.u32 [%rd1], %r4;" : "");
        struct launch_buffer b[2] = {
            inout("cell", &cell, 4, 4),
            {.name = "seen", .role = BUFFER_OUT, .bytes = 128, .cell_bytes = 4, .data = (void *)seen}};
        const struct machine_test test = {.body = body, .buffers = b, .buffer_count = 2};
        struct trace t;
        struct ptx_module *m = machine_must(&test, &t);
        const uint32_t *want = cases[k / 2].seen;
        cr_assert(seen[0] == want[0] && seen[1] == want[1] && seen[31] == want[2], "%s: lanes 0, 1, 31 see %x %x %x",
                  operation, seen[0], seen[1], seen[31]);
        cr_assert(cell == cases[k / 2].end, "%s: %x at the end", operation, cell);
        cr_assert(t.event_count == 0, "%s: an event of kind %d", operation, t.event_count ? (int)t.events[0].kind : 0);
        trace_free(&t);
        ptx_free(m);
    }
}

/* Values of 16, 64 and 128 bits, and vectors. */
Test(machine_atomic, widths) {
    uint32_t words[32][4], old[32][4];
    for (int i = 0; i < 32; ++i)
        for (int k = 0; k < 4; ++k) {
            words[i][k] = (uint32_t)(0x3f800000 + (i << 20) + k);
            old[i][k] = 0;
        }
    const char *bodies[] = {
        /* the lower half is replaced where it is 0 in its lowest bits, which it is in no lane but for k = 0 */
        "mov.u16 %h1, 0;\nmov.u16 %h2, 0xbeef;\natom.global.cas.b16 %h3, [%rd5], %h1, %h2;\ncvt.u32.u16 %r2, %h3;\n"
        "st.global.u32 [%rd6], %r2;\n",
        "mov.u64 %rd7, 1;\natom.global.add.u64 %rd8, [%rd5+8], %rd7;\nst.global.u64 [%rd6], %rd8;\n",
        ".reg .b128 %q<4>;\nld.global.b128 %q1, [%rd5];\nmov.u64 %rd7, 5;\nmov.u64 %rd8, 6;\nmov.b128 %q2, {%rd7, "
        "%rd8};\n"
        "atom.global.cas.b128 %q3, [%rd5], %q1, %q2;\nst.global.b128 [%rd6], %q3;\n",
        ".reg .b128 %q<4>;\nmov.u64 %rd7, 7;\nmov.u64 %rd8, 8;\nmov.b128 %q2, {%rd7, %rd8};\n"
        "atom.global.exch.b128 %q3, [%rd5], %q2;\nmov.b128 {%rd9, %rd10}, %q3;\nst.global.v2.u64 [%rd6], {%rd9, "
        "%rd10};\n",
        "mov.f32 %f1, 0f3F800000;\nmov.f32 %f2, 0f00000001;\n"
        "atom.global.add.v4.f32 {%f5, _, %f7, %f8}, [%rd5], {%f1, %f1, %f2, %f1};\nmov.f32 %f6, 0f00000000;\n"
        "st.global.v4.f32 [%rd6], {%f5, %f6, %f7, %f8};\n",
        "mov.u16 %h1, 0x3c00;\nred.global.v8.f16.add.noftz [%rd5], {%h1, %h1, %h1, %h1, %h1, %h1, %h1, %h1};\n",
    };
    for (size_t k = 0; k < sizeof bodies / sizeof *bodies; ++k) {
        uint32_t cells[32][4], seen[32][4], want[32][4], want_seen[32][4];
        char body[1000];
        memcpy(cells, words, sizeof cells);
        memcpy(want, words, sizeof want);
        memcpy(seen, old, sizeof seen);
        memcpy(want_seen, old, sizeof want_seen);
        for (int i = 0; i < 32; ++i) {
            switch (k) {
            case 0:
                want[i][0] = (words[i][0] & 0xffff) ? words[i][0] : words[i][0] | 0xbeef;
                want_seen[i][0] = words[i][0] & 0xffff;
                break;
            case 1: {
                uint64_t x;
                memcpy(&x, &words[i][2], 8);
                memcpy(want_seen[i], &x, 8);
                ++x;
                memcpy(&want[i][2], &x, 8);
                break;
            }
            case 2:
            case 3:
                memcpy(want_seen[i], words[i], 16);
                memcpy(want[i], (const uint64_t[2]){k == 2 ? 5 : 7, k == 2 ? 6 : 8}, 16);
                break;
            case 4:
                for (int e = 0; e < 4; ++e) {
                    float x;
                    memcpy(&x, &words[i][e], 4);
                    const float sum = e == 2 ? x : x + 1.0f; /* 2^-149 is flushed */
                    memcpy(&want[i][e], &sum, 4);
                    want_seen[i][e] = e == 1 ? 0 : words[i][e];
                }
                break;
            default: /* each half: 1 + x, where the low ones are subnormal numbers of few bits: 1 */
                for (int e = 0; e < 4; ++e) {
                    const uint16_t high = (uint16_t)(words[i][e] >> 16);
                    static const float scale = 0x1p112f;
                    uint32_t u = (uint32_t)(high & 0x7fff) << 13;
                    float x;
                    memcpy(&x, &u, 4);
                    x = x * scale + 1.0f; /* at most 11 bits and a carry: exact for these, of exponents 15 .. 30 */
                    uint32_t sum;
                    memcpy(&sum, &x, 4);
                    const uint32_t lost = sum & 0x1fff, half = sum >> 13;
                    uint32_t rounded = half - (112 << 10) + (lost > 0x1000 || (lost == 0x1000 && half & 1));
                    if (high >= 0x7c00)
                        rounded = high > 0x7c00 ? 0x7fff : 0x7c00;
                    want[i][e] = rounded << 16 | 0x3c00;
                }
            }
        }
        snprintf(body, sizeof body,
                 "ld.param.u64 %%rd1, [p0];\nld.param.u64 %%rd2, [p1];\nmov.u32 %%r1, %%tid.x;\n"
                 "mul.wide.u32 %%rd3, %%r1, 16;\nadd.u64 %%rd5, %%rd1, %%rd3;\nadd.u64 %%rd6, %%rd2, %%rd3;\n%sret;\n",
                 bodies[k]);
        struct launch_buffer b[2] = {inout("cells", cells, sizeof cells, 4), inout("seen", seen, sizeof seen, 4)};
        const struct machine_test test = {.body = body, .buffers = b, .buffer_count = 2};
        struct trace t;
        struct ptx_module *m = machine_must(&test, &t);
        for (int i = 0; i < 32; ++i)
            for (int e = 0; e < 4; ++e) {
                cr_assert(cells[i][e] == want[i][e], "case %zu lane %d word %d: want %08x got %08x", k, i, e,
                          want[i][e], cells[i][e]);
                cr_assert(seen[i][e] == want_seen[i][e], "case %zu lane %d word %d: want old %08x got %08x", k, i, e,
                          want_seen[i][e], seen[i][e]);
            }
        cr_assert(t.event_count == 0, "case %zu: events", k);
        trace_free(&t);
        ptx_free(m);
    }
}

/* Global memory flushes the subnormal numbers of f32, shared memory keeps them (facts/ptx.md F-16); generic addresses
 * go by where they lead. */
Test(machine_atomic, f32_by_memory) {
    static const struct {
        const char *body;
        uint32_t start, end;
    } cases[] = {
        {"red.global.add.f32 [%rd1], %f1;\n", 0x00000003, 0x00000000},
        {"red.global.add.f32 [%rd1], %f1;\n", 0x3f800000, 0x3f800000},
        {"red.add.f32 [%rd1], %f1;\n", 0x80000003, 0x00000000},
        {"st.shared.f32 [tile], %f2;\nred.shared.add.f32 [tile], %f1;\nld.shared.u32 %r1, [tile];\n"
         "st.global.u32 [%rd1], %r1;\n",
         0x00000003, 0x00000008},
        {"st.shared.f32 [tile], %f2;\nmov.u64 %rd2, tile;\ncvta.shared.u64 %rd3, %rd2;\nred.add.f32 [%rd3], %f1;\n"
         "ld.shared.u32 %r1, [tile];\nst.global.u32 [%rd1], %r1;\n",
         0x80000003, 0x00000002},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
        char body[600];
        uint32_t cell = cases[k].start;
        snprintf(body, sizeof body,
                 ".shared .align 4 .b8 tile[4];\nld.param.u64 %%rd1, [p0];\nmov.f32 %%f1, 0f00000005;\n"
                 "ld.global.f32 %%f2, [%%rd1];\n%sret;\n",
                 cases[k].body);
        struct launch_buffer b = inout("cell", &cell, 4, 4);
        const struct machine_test test = {.body = body, .buffers = &b, .buffer_count = 1, .block = {1}};
        struct trace t;
        struct ptx_module *m = machine_must(&test, &t);
        cr_assert(cell == cases[k].end, "case %zu: want %08x got %08x", k, cases[k].end, cell);
        trace_free(&t);
        ptx_free(m);
    }
}

/* Blocks on several CPU threads: sums that nobody looks at in any order, tickets and sums of floats in the order of the
 * blocks; the same bytes and coverage for every number of threads. */
Test(machine_atomic, threads_change_nothing) {
    static const char *const bodies[] = {
        "red.global.add.u32 [%rd1], %r4;\nred.global.max.u32 [%rd1+16], %r4;\nred.global.xor.b32 [%rd1+32], %r4;\n"
        "atom.global.add.u32 _, [%rd1+48], 1;\n",
        "atom.global.add.u32 %r5, [%rd1], 1;\nmul.wide.u32 %rd4, %r5, 4;\nadd.u64 %rd4, %rd2, %rd4;\n"
        "st.global.u32 [%rd4], %r4;\n",
        "cvt.rn.f32.u32 %f1, %r4;\ndiv.rn.f32 %f1, %f1, 0f40400000;\nred.global.add.f32 [%rd1], %f1;\n",
        "red.global.add.u32 [%rd1], %r4;\nred.global.min.u32 [%rd1], %r4;\n",
        "@%p1 st.global.u32 [%rd1], %r4;\nred.global.add.u32 [%rd1], 1;\n",
        /* the last one to come puts the counter back */
        "atom.global.add.u32 %r5, [%rd1], 1;\nsetp.eq.u32 %p2, %r5, 2047;\n@%p2 st.global.u32 [%rd1], 0;\n",
    };
    enum { BLOCKS = 64, THREADS = 32 * BLOCKS };
    for (size_t k = 0; k < sizeof bodies / sizeof *bodies; ++k) {
        uint32_t first[16] = {0}, *first_order = calloc(THREADS, 4);
        for (int threads = 1; threads <= 5; threads += 2) {
            uint32_t cells[16] = {0}, *order = calloc(THREADS, 4);
            char body[700];
            snprintf(
                body, sizeof body,
                "ld.param.u64 %%rd1, [p0];\nld.param.u64 %%rd2, [p1];\nmov.u32 %%r1, %%tid.x;\n"
                "mov.u32 %%r2, %%ctaid.x;\nmad.lo.u32 %%r4, %%r2, 32, %%r1;\nsetp.eq.u32 %%p1, %%r4, 700;\n%sret;\n",
                bodies[k]);
            struct launch_buffer b[2] = {inout("cells", cells, sizeof cells, 4), inout("order", order, THREADS * 4, 4)};
            const struct machine_test test = {
                .body = body, .buffers = b, .buffer_count = 2, .grid = {BLOCKS}, .threads = threads};
            struct trace t;
            struct ptx_module *m = machine_must(&test, &t);
            if (threads == 1) {
                memcpy(first, cells, sizeof first);
                memcpy(first_order, order, THREADS * 4);
            }
            cr_assert(!memcmp(first, cells, sizeof first) && !memcmp(first_order, order, THREADS * 4),
                      "case %zu: %d threads give other bytes", k, threads);
            const struct buffer_coverage *c = &t.coverage[0];
            cr_assert(c->stores[0] == 1 || k >= 4, "case %zu: stored %u times", k, c->stores[0]);
            cr_assert(!(c->stores[0] >> 7) && !c->cells[0].raced, "case %zu: atomics count as different stores", k);
            cr_assert(k > 1 || (c->cells[0].first.block == 0 && c->cells[0].last.block == BLOCKS - 1),
                      "case %zu, %d threads: first block %llu, last %llu", k, threads,
                      (unsigned long long)c->cells[0].first.block, (unsigned long long)c->cells[0].last.block);
            trace_free(&t);
            ptx_free(m);
            free(order);
        }
        if (k == 0)
            cr_assert(first[0] == THREADS * (THREADS - 1) / 2 && first[4] == THREADS - 1 && first[8] == 0 &&
                          first[12] == THREADS,
                      "sums %u %u %u %u", first[0], first[4], first[8], first[12]);
        for (uint32_t i = 0; k == 1 && i < THREADS; ++i)
            cr_assert(first_order[i] == i, "ticket %u went to thread %u", i, first_order[i]);
        free(first_order);
    }
}

Test(machine_atomic, faults) {
    static const struct {
        const char *line;
        enum event_kind kind;
        enum event_space space;
        int buffer;
        int64_t offset;
    } cases[] = {
        {"atom.global.add.u32 %r9, [%rd2+64], 1;", EVENT_OUT_OF_BOUNDS, SPACE_GLOBAL, 1, 64},
        {"red.global.add.u32 [%rd2+-4], 1;", EVENT_OUT_OF_BOUNDS, SPACE_GLOBAL, 1, -4},
        {"red.global.add.u64 [%rd2+60], 1;", EVENT_OUT_OF_BOUNDS, SPACE_GLOBAL, 1, 64},
        {"atom.global.add.u32 %r9, [%rd2+2], 1;", EVENT_MISALIGNED, SPACE_GLOBAL, 1, 2},
        {"red.global.add.v4.f32 [%rd2+8], {%f1, %f1, %f1, %f1};", EVENT_MISALIGNED, SPACE_GLOBAL, 1, 8},
        {"red.global.max.u32 [%rd1+4], 1;", EVENT_READ_ONLY, SPACE_GLOBAL, 0, 4},
        {"atom.shared.inc.u32 %r9, [tile+32], 7;", EVENT_OUT_OF_BOUNDS, SPACE_SHARED, -1, 32},
        {"red.shared.or.b32 [tile+6], 7;", EVENT_MISALIGNED, SPACE_SHARED, -1, 6},
        {"atom.shared.add.u32 %r9, [tile+8], 7;", EVENT_UNINITIALISED, SPACE_SHARED, -1, 8},
        {"red.shared.add.u32 [tile], 7;", EVENT_KINDS, SPACE_NONE, 0, 0}, /* it is written */
        {"atom.shared.exch.b32 _, [tile+8], 7;", EVENT_KINDS, SPACE_NONE, 0, 0},
        {"red.global.add.u32 [%rd2+60], 1;", EVENT_KINDS, SPACE_NONE, 0, 0},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
        char body[600];
        uint32_t in[16] = {0}, cells[16] = {0};
        snprintf(body, sizeof body,
                 ".shared .align 16 .b8 tile[32];\nld.param.u64 %%rd1, [p0];\nld.param.u64 %%rd2, [p1];\n"
                 "mov.f32 %%f1, 0f3F800000;\nmov.u32 %%r9, 1;\nst.shared.u32 [tile], %%r9;\n%s\n"
                 "st.global.u32 [%%rd2+16], %%r9;\nret;\n",
                 cases[k].line);
        struct launch_buffer b[2] = {
            {.name = "in", .role = BUFFER_IN, .bytes = sizeof in, .cell_bytes = 4, .data = (void *)in},
            inout("cells", cells, sizeof cells, 4)};
        const struct machine_test test = {.body = body, .buffers = b, .buffer_count = 2, .block = {1}};
        struct trace t;
        struct ptx_module *m = machine_must(&test, &t);
        if (cases[k].kind == EVENT_KINDS) {
            cr_assert(t.event_count == 0, "%s: an event of kind %d", cases[k].line, (int)t.events[0].kind);
        } else {
            cr_assert(t.event_count == 1, "%s: %zu events", cases[k].line, t.event_count);
            const struct event *v = &t.events[0];
            cr_assert(v->kind == cases[k].kind && v->space == cases[k].space && v->buffer == cases[k].buffer &&
                          v->offset == cases[k].offset && v->warp == 0 && v->lane == 0,
                      "%s: kind %d space %d buffer %d offset %lld", cases[k].line, (int)v->kind, (int)v->space,
                      v->buffer, (long long)v->offset);
            cr_assert(t.sites[v->instruction].line == 7, "%s: line %d", cases[k].line, t.sites[v->instruction].line);
            const bool lost = cases[k].kind != EVENT_UNINITIALISED && strstr(cases[k].line, "%r9");
            cr_assert(!lost || cells[4] == UINT32_MAX, "%s: a bad atom gives %08x", cases[k].line, cells[4]);
            cr_assert(in[1] == 0, "%s: the input is changed", cases[k].line);
        }
        trace_free(&t);
        ptx_free(m);
    }
}
