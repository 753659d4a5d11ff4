/* Control flow, barriers, budgets and refusals of the machine, and that results do not depend on the threads. */
#include "machine_run.h"

#define THREAD                                                                                                         \
    "ld.param.u64 %rd1, [p0];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %ntid.x;\n"                  \
    "mad.lo.s32 %r4, %r2, %r3, %r1;\nmul.wide.u32 %rd2, %r4, 4;\nadd.s64 %rd1, %rd1, %rd2;\n"

static struct launch_buffer out_buffer(uint32_t *data, size_t count) {
    memset(data, 0xcb, count * 4);
    return (struct launch_buffer){
        .name = "out", .role = BUFFER_OUT, .bytes = count * 4, .cell_bytes = 4, .data = (uint8_t *)data};
}

/* Nested branches, a loop in one arm, and an early return. */
static uint32_t walk(uint32_t t, bool *stores) {
    uint32_t x = t, sum = 0;
    *stores = true;
    if (t % 3 == 0) {
        if (t % 2) {
            for (uint32_t i = 0; i <= t; ++i) {
                sum += i * 5;
                if (sum > 900)
                    break;
            }
            x += 1000;
        } else {
            if (t % 4 == 0) {
                *stores = t > 40;
                if (!*stores)
                    return 0;
            }
            x += 2000;
        }
        x *= 3;
    } else {
        for (uint32_t i = t; i; i >>= 1)
            sum += i;
    }
    return x + sum;
}

static const char walk_body[] = THREAD "mov.u32 %r10, %r4;\nmov.u32 %r11, 0;\n"
                                       "rem.u32 %r12, %r4, 3;\nsetp.ne.u32 %p1, %r12, 0;\n@%p1 bra ELSE;\n"
                                       "and.b32 %r12, %r4, 1;\nsetp.eq.u32 %p2, %r12, 0;\n@%p2 bra EVEN;\n"
                                       "mov.u32 %r13, 0;\nLOOP:\nmad.lo.u32 %r11, %r13, 5, %r11;\n"
                                       "setp.gt.u32 %p3, %r11, 900;\n@%p3 bra OUT;\nadd.u32 %r13, %r13, 1;\n"
                                       "setp.le.u32 %p3, %r13, %r4;\n@%p3 bra LOOP;\nOUT:\n"
                                       "add.u32 %r10, %r10, 1000;\nbra.uni JOIN;\nEVEN:\n"
                                       "and.b32 %r12, %r4, 3;\nsetp.ne.u32 %p4, %r12, 0;\n@%p4 bra KEEP;\n"
                                       "setp.le.u32 %p5, %r4, 40;\n@%p5 ret;\nKEEP:\nadd.u32 %r10, %r10, 2000;\n"
                                       "JOIN:\nmul.lo.u32 %r10, %r10, 3;\nbra.uni STORE;\nELSE:\nmov.u32 %r13, %r4;\n"
                                       "setp.eq.u32 %p6, %r13, 0;\n@%p6 bra STORE;\nHALVE:\nadd.u32 %r11, %r11, %r13;\n"
                                       "shr.u32 %r13, %r13, 1;\nsetp.ne.u32 %p6, %r13, 0;\n@%p6 bra HALVE;\n"
                                       "STORE:\nadd.u32 %r10, %r10, %r11;\nst.global.u32 [%rd1], %r10;\nret;\n";

Test(machine, divergence) {
    uint32_t out[5 * 100];
    const char *isas[3];
    const size_t isa_count = machine_isas(isas);
    for (size_t k = 0; k < isa_count; ++k) {
        struct launch_buffer b = out_buffer(out, 500);
        const struct machine_test test = {
            .body = walk_body, .buffers = &b, .buffer_count = 1, .grid = {5}, .block = {100}, .isa = isas[k]};
        struct trace t;
        struct ptx_module *m = machine_must(&test, &t);
        cr_assert(t.event_count == 0, "%zu events, first kind %d", t.event_count, t.events[0].kind);
        for (uint32_t i = 0; i < 500; ++i) {
            bool stores;
            const uint32_t value = walk(i, &stores), want = stores ? value : 0xcbcbcbcb;
            cr_assert(out[i] == want, "%s: thread %u: want %u got %u", isas[k], i, want, out[i]);
            cr_assert(t.coverage[0].stores[4 * i] == stores, "thread %u stored %d times", i,
                      t.coverage[0].stores[4 * i]);
        }
        trace_free(&t);
        ptx_free(m);
    }
}

/* A loop left at 32 different counts, twice nested: as many groups of lanes as there can be. */
Test(machine, loops_left_one_by_one) {
    static const char body[] = THREAD "mov.u32 %r10, 0;\nmov.u32 %r11, 0;\nA:\nmov.u32 %r12, 0;\nB:\n"
                                      "add.u32 %r10, %r10, 1;\nadd.u32 %r12, %r12, 1;\nsetp.le.u32 %p1, %r12, %r1;\n"
                                      "@%p1 bra B;\nadd.u32 %r11, %r11, 1;\nsetp.le.u32 %p1, %r11, %r1;\n@%p1 bra A;\n"
                                      "st.global.u32 [%rd1], %r10;\nret;\n";
    uint32_t out[64];
    struct launch_buffer b = out_buffer(out, 64);
    const struct machine_test test = {.body = body, .buffers = &b, .buffer_count = 1, .block = {64}};
    struct trace t;
    struct ptx_module *m = machine_must(&test, &t);
    for (uint32_t i = 0; i < 64; ++i)
        cr_assert(out[i] == (i + 1) * (i + 1), "thread %u: %u rounds, want %u", i, out[i], (i + 1) * (i + 1));
    trace_free(&t);
    ptx_free(m);
}

Test(machine, special_registers) {
    static const char *const names[] = {"%tid.x",    "%tid.y",    "%tid.z",   "%ntid.x",  "%ntid.y",
                                        "%ntid.z",   "%ctaid.x",  "%ctaid.y", "%ctaid.z", "%nctaid.x",
                                        "%nctaid.y", "%nctaid.z", "%laneid",  "%warpid",  "%nwarpid"};
    enum { NAMES = sizeof names / sizeof *names, COUNT = 2 * 3 * 2 * 5 * 3 * 4 };
    uint32_t out[COUNT];
    for (size_t k = 0; k < NAMES; ++k) {
        char body[1024];
        snprintf(body, sizeof body,
                 "ld.param.u64 %%rd1, [p0];\nmov.u32 %%r1, %%tid.z;\nmov.u32 %%r2, %%tid.y;\nmov.u32 %%r3, %%tid.x;\n"
                 "mad.lo.u32 %%r2, %%r1, 3, %%r2;\nmad.lo.u32 %%r2, %%r2, 5, %%r3;\nmov.u32 %%r4, %%ctaid.z;\n"
                 "mov.u32 %%r5, %%ctaid.y;\nmov.u32 %%r6, %%ctaid.x;\nmad.lo.u32 %%r5, %%r4, 3, %%r5;\n"
                 "mad.lo.u32 %%r5, %%r5, 2, %%r6;\nmad.lo.u32 %%r2, %%r5, 60, %%r2;\nmul.wide.u32 %%rd2, %%r2, 4;\n"
                 "add.s64 %%rd1, %%rd1, %%rd2;\nmov.u32 %%r7, %s;\nst.global.u32 [%%rd1], %%r7;\nret;\n",
                 names[k]);
        struct launch_buffer b = out_buffer(out, COUNT);
        const struct machine_test test = {
            .body = body, .buffers = &b, .buffer_count = 1, .grid = {2, 3, 2}, .block = {5, 3, 4}};
        struct trace t;
        struct ptx_module *m = machine_must(&test, &t);
        for (uint32_t i = 0; i < COUNT; ++i) {
            const uint32_t thread = i % 60, block = i / 60;
            const uint32_t want[NAMES] = {
                thread % 5, thread / 5 % 3, thread / 15, 5, 3, 4, block % 2, block / 2 % 3, block / 6, 2, 3,
                2,          thread % 32,    thread / 32, 2};
            cr_assert(out[i] == want[k], "%s of block %u thread %u: want %u got %u", names[k], block, thread, want[k],
                      out[i]);
        }
        trace_free(&t);
        ptx_free(m);
    }
}

/* Each warp writes its words, waits, and reads its neighbour's; the last warp has left before. */
Test(machine, barrier_orders_warps) {
    static const char body[] =
        THREAD ".shared .align 4 .b8 words[1024];\nmov.u32 %r20, words;\n"
               "setp.ge.u32 %p1, %r1, 192;\n@%p1 exit;\nshl.b32 %r21, %r1, 2;\n"
               "add.u32 %r22, %r20, %r21;\nmul.lo.u32 %r23, %r1, 7;\nst.shared.u32 [%r22], %r23;\n"
               "bar.sync 0;\nadd.u32 %r24, %r1, 32;\nrem.u32 %r24, %r24, 192;\n"
               "shl.b32 %r24, %r24, 2;\nadd.u32 %r24, %r20, %r24;\nld.shared.u32 %r25, [%r24];\n"
               "st.global.u32 [%rd1], %r25;\nret;\n";
    uint32_t out[256];
    struct launch_buffer b = out_buffer(out, 256);
    const struct machine_test test = {.body = body, .buffers = &b, .buffer_count = 1, .block = {256}};
    struct trace t;
    struct ptx_module *m = machine_must(&test, &t);
    cr_assert(t.event_count == 0, "event %d", t.events[0].kind);
    for (uint32_t i = 0; i < 192; ++i)
        cr_assert(out[i] == (i + 32) % 192 * 7, "thread %u read %u", i, out[i]);
    trace_free(&t);
    ptx_free(m);
}

/* Named barriers with counts: warp 3 waits for what warps 0 .. 2 say by bar.arrive, which does not hold them. */
Test(machine, barrier_counts) {
    static const char body[] = THREAD ".shared .align 4 .b8 words[512];\nmov.u32 %r20, words;\nshl.b32 %r21, %r1, 2;\n"
                                      "add.u32 %r22, %r20, %r21;\nsetp.ge.u32 %p1, %r1, 96;\n@%p1 bra WAIT;\n"
                                      "add.u32 %r23, %r1, 5;\nst.shared.u32 [%r22], %r23;\nbar.arrive 3, 128;\n"
                                      "st.global.u32 [%rd1], %r1;\nret;\nWAIT:\nbar.sync 3, 128;\n"
                                      "ld.shared.u32 %r24, [%r22+-256];\nst.global.u32 [%rd1], %r24;\nret;\n";
    uint32_t out[128];
    struct launch_buffer b = out_buffer(out, 128);
    const struct machine_test test = {.body = body, .buffers = &b, .buffer_count = 1, .block = {128}};
    struct trace t;
    struct ptx_module *m = machine_must(&test, &t);
    cr_assert(t.event_count == 0, "event %d", t.events[0].kind);
    for (uint32_t i = 0; i < 128; ++i)
        cr_assert(out[i] == (i < 96 ? i : i - 64 + 5), "thread %u: %u", i, out[i]);
    trace_free(&t);
    ptx_free(m);
}

static void expect_one(const struct trace *t, enum event_kind kind, int line, uint32_t block, uint32_t warp,
                       uint32_t lane, uint64_t count) {
    cr_assert(t->event_count == 1, "%zu events", t->event_count);
    const struct event *v = &t->events[0];
    const struct trace_site *s = &t->sites[v->instruction];
    cr_assert(
        v->kind == kind && s->line == line && v->block[0] == block && v->warp == warp && v->lane == lane &&
            v->count == count,
        "event %d line %d block %u warp %u lane %u count %llu; want %d line %d block %u warp %u lane %u count %llu",
        v->kind, s->line, v->block[0], v->warp, v->lane, (unsigned long long)v->count, kind, line, block, warp, lane,
        (unsigned long long)count);
    cr_assert(!strcmp(s->file, "k.cu"), "site of file %s", s->file);
}

struct stopping { /* a kernel that goes wrong, and the event it must give */
    const char *body;
    enum event_kind kind;
    int line;
    uint32_t block, warp, lane;
    uint64_t count;
};

Test(machine, barriers_gone_wrong) {
    static const struct stopping cases[] = {
        /* warp 1 waits where warp 0 never comes, and warp 0 elsewhere: each is stuck for good */
        {"mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 32;\n@%p1 bra A;\nbar.sync 1, 64;\nret;\nA:\nret;\n",
         EVENT_DEADLOCK, 4, 0, 1, 0, 32},
        /* lanes 0 .. 15 at one barrier, the others at another (had they exited, nobody would wait for them) */
        {"mov.u32 %r1, %tid.x;\nand.b32 %r1, %r1, 31;\nsetp.lt.u32 %p1, %r1, 16;\n@!%p1 bra A;\nbar.sync "
         "0;\nret;\nA:\nbar.sync 1;\nret;\n",
         EVENT_DIVERGENT_BARRIER, 5, 0, 0, 0, 32},
        {"mov.u32 %r1, %tid.x;\nsetp.eq.u32 %p1, %r1, 37;\n@%p1 bar.sync 0;\nret;\n", EVENT_DIVERGENT_BARRIER, 3, 0, 1,
         5, 1},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
        const struct stopping *c = &cases[k];
        const struct machine_test test = {.body = c->body, .block = {64}};
        struct trace t;
        struct ptx_module *m = machine_must(&test, &t);
        expect_one(&t, c->kind, c->line, c->block, c->warp, c->lane, c->count);
        trace_free(&t);
        ptx_free(m);
    }
}

/* A trap or an endless loop ends the grid at its block, for every number of threads alike. */
Test(machine, grid_ends_alike) {
    static const char trap[] = THREAD "st.global.u32 [%rd1], %r4;\nsetp.lt.u32 %p1, %r2, 11;\n@%p1 bra DONE;\n"
                                      "setp.eq.u32 %p2, %r1, 9;\n@%p2 trap;\nDONE:\nret;\n";
    static const char loop[] = THREAD "st.global.u32 [%rd1], %r4;\nsetp.lt.u32 %p1, %r2, 11;\n@%p1 bra DONE;\n"
                                      "FOREVER:\nadd.u32 %r5, %r5, 1;\nsetp.ne.u32 %p2, %r5, %r1;\nbra FOREVER;\n"
                                      "DONE:\nret;\n";
    static const int threads[] = {1, 2, 7};
    for (int k = 0; k < 2; ++k)
        for (size_t i = 0; i < 3; ++i) {
            uint32_t out[40 * 32];
            struct launch_buffer b = out_buffer(out, 40 * 32);
            const struct machine_test test = {.body = k ? loop : trap,
                                              .buffers = &b,
                                              .buffer_count = 1,
                                              .grid = {40},
                                              .budget = 5000,
                                              .threads = threads[i]};
            struct trace t;
            struct ptx_module *m = machine_must(&test, &t);
            expect_one(&t, k ? EVENT_STEP_BUDGET : EVENT_TRAP, k ? 14 : 12, 11, 0, k ? 0 : 9, k ? 32 : 1);
            for (uint32_t n = 0; n < 40 * 32; ++n) {
                const bool ran = n / 32 <= 11;
                cr_assert(out[n] == (ran ? n : 0xcbcbcbcb), "thread %u of %d: %x", n, threads[i], out[n]);
                cr_assert(t.coverage[0].stores[4 * n] == ran, "coverage of thread %u", n);
            }
            trace_free(&t);
            ptx_free(m);
        }
}

/* Blocks that store to one another's cells, and that go out of bounds: same bytes, same history, same events. */
Test(machine, threads_change_nothing) {
    static const char body[] = THREAD "ld.param.u64 %rd3, [p0];\nrem.u32 %r5, %r4, 97;\nmul.wide.u32 %rd4, %r5, 4;\n"
                                      "add.s64 %rd4, %rd3, %rd4;\nst.global.u32 [%rd4], %r4;\nand.b32 %r6, %r2, 7;\n"
                                      "setp.eq.u32 %p1, %r6, 3;\n@%p1 st.global.u32 [%rd1+16384], %r4;\n"
                                      "ld.global.u8 %r7, [%rd1+1048576];\nst.global.u8 [%rd4+1], %r7;\nret;\n";
    enum { CELLS = 2048 };
    static uint32_t first[CELLS], out[CELLS];
    struct trace reference = {0}, t;
    struct ptx_module *kept = NULL, *m;
    static const int threads[] = {1, 2, 7, 2, 7};
    for (size_t i = 0; i < sizeof threads / sizeof *threads; ++i) {
        struct launch_buffer b = out_buffer(i ? out : first, CELLS);
        const struct machine_test test = {
            .body = body, .buffers = &b, .buffer_count = 1, .grid = {64}, .threads = threads[i]};
        m = machine_must(&test, i ? &t : &reference);
        if (!i) {
            kept = m;
            cr_assert(reference.event_count == 2, "%zu events", reference.event_count);
            cr_assert(reference.events[0].block[0] == 0 && reference.events[1].block[0] == 3, "order of events");
            continue;
        }
        cr_assert(!memcmp(first, out, sizeof out), "other bytes with %d threads", threads[i]);
        cr_assert(!memcmp(reference.coverage[0].stores, t.coverage[0].stores, sizeof out), "other counts");
        cr_assert(!memcmp(reference.coverage[0].cells, t.coverage[0].cells, CELLS * sizeof *t.coverage[0].cells),
                  "other writers with %d threads", threads[i]);
        cr_assert(t.event_count == reference.event_count, "other number of events");
        for (size_t k = 0; k < t.event_count; ++k) {
            const struct event *x = &t.events[k], *y = &reference.events[k];
            cr_assert(x->kind == y->kind && x->offset == y->offset && x->block[0] == y->block[0] &&
                          x->lane == y->lane && x->count == y->count && x->instruction == y->instruction,
                      "event %zu differs with %d threads", k, threads[i]);
        }
        cr_assert(t.warp_instructions == reference.warp_instructions, "other number of instructions");
        trace_free(&t);
        ptx_free(m);
    }
    trace_free(&reference);
    ptx_free(kept);
}

/* Cells of 40 bytes that lanes of many blocks store to at once: a cell's history is one thing, whoever holds it. */
Test(machine, threads_share_wide_cells) {
    static const char body[] = THREAD "ld.param.u64 %rd3, [p0];\nmul.lo.u32 %r5, %r1, 3;\nadd.u32 %r5, %r5, %r2;\n"
                                      "rem.u32 %r5, %r5, 40;\nmul.wide.u32 %rd4, %r5, 4;\nadd.s64 %rd4, %rd3, %rd4;\n"
                                      "st.global.u32 [%rd4], %r2;\nret;\n";
    struct cell_history want[4];
    uint32_t first[40], out[40];
    for (int round = 0; round < 30; ++round) {
        struct launch_buffer b = out_buffer(out, 40);
        b.cell_bytes = 40;
        const struct machine_test test = {
            .body = body, .buffers = &b, .buffer_count = 1, .grid = {200}, .threads = round ? 7 : 1};
        struct trace t;
        struct ptx_module *m = machine_must(&test, &t);
        if (!round) {
            memcpy(want, t.coverage[0].cells, sizeof want);
            memcpy(first, out, sizeof out);
        }
        cr_assert(!memcmp(want, t.coverage[0].cells, sizeof want), "other writers in round %d", round);
        cr_assert(!memcmp(first, out, sizeof out), "other bytes in round %d", round);
        trace_free(&t);
        ptx_free(m);
    }
}

Test(machine, counts_instructions) {
    static const char body[] = "mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 0;\n@%p1 mov.u32 %r2, 1;\n"
                               "mov.b64 {%r3, %r4}, %rd1;\ndp4a.s32.s32 %r5, %r1, %r1, %r1;\nret;\n";
    const struct machine_test test = {.body = body, .grid = {3}, .block = {40}};
    struct trace t;
    struct ptx_module *m = machine_must(&test, &t);
    cr_assert(t.warp_instructions == 3 * 2 * 6, "%llu warp instructions", (unsigned long long)t.warp_instructions);
    cr_assert(t.macs == 3 * 40 * 4, "%llu multiply-adds", (unsigned long long)t.macs);
    cr_assert(t.site_count == 6 && t.sites[2].line == 3 && strstr(t.sites[2].text, "mov.u32"), "sites");
    trace_free(&t);
    ptx_free(m);
}

Test(machine, refuses_what_it_does_not_know) {
    static const struct {
        const char *line, *wants[3];
    } cases[] = {
        {"frobnicate.u32 %r1, %r2;", {"unknown instruction `frobnicate.u32 %r1, %r2`", "(k.cu:2)"}},
        {"add.wild.u32 %r1, %r2, %r3;", {"unknown instruction `add.wild.u32"}},
        {"ld.global.weird.u32 %r1, [%rd1];", {"`ld.global.weird.u32", "modifier .weird"}},
        {"add.rn.f32x2 %rd1, %rd2, %rd3;", {"`add.rn.f32x2", "of sm_100"}},
        {"min.f32 %f1, %f2, %f3, %f4;", {"`min.f32", "three sources are of sm_100"}},
        {"fma.rn.f32.f16 %f1, %h2, %h3, %f4;", {"`fma.rn.f32.f16", "of sm_100"}},
        {"cvt.rs.f16x2.f32 %r1, %f2, %f3, %r4;", {"`cvt.rs.f16x2.f32", "of sm_100"}},
        {"cvt.rn.satfinite.e2m3x2.f32 %h1, %f2, %f3;", {"`cvt.rn.satfinite.e2m3x2", "of sm_100"}},
        {"cvt.rn.satfinite.tf32.f32 %r1, %f2;", {"`cvt.rn.satfinite.tf32", "of sm_100"}},
        {"cvt.rn.e4m3x2.f32 %h1, %f2, %f3;", {"`cvt.rn.e4m3x2", ".satfinite"}},
        {"cvt.rn.f32.f16 %f1, %h2;", {"`cvt.rn.f32.f16", "exact"}},
        {"cvt.f32.s32 %f1, %r2;", {"`cvt.f32.s32", "needs .rn"}},
        {"fma.rn.oob.f16 %h1, %h2, %h3, %h4;", {"`fma.rn.oob", ".oob"}},
        {"fma.rz.bf16 %h1, %h2, %h3, %h4;", {"`fma.rz.bf16", "other than .rn"}},
        {"add.sat.bf16 %h1, %h2, %h3;", {"`add.sat.bf16", "modifier .sat"}},
        {"fma.rn.sat.relu.f16 %h1, %h2, %h3, %h4;", {"`fma.rn.sat.relu", ".sat and .relu"}},
        {"min.xorsign.f32 %f1, %f2, %f3;", {"`min.xorsign.f32"}},
        {"ex2.approx.ftz.f16 %h1, %h2;", {"`ex2.approx.ftz.f16"}},
        {"div.approx.f64 %d1, %d2, %d3;", {"`div.approx.f64"}},
        {"set.lt.f32.f16 %f1, %h2, %h3;", {"`set.lt.f32.f16"}},
        {"atom.global.add.s64 %rd1, [%rd2], %rd3;", {"`atom.global.add.s64"}},
        {"mov.u32 %r1, %pm0;", {"`mov.u32 %r1, %pm0`", "%pm0"}},
        {"add.u32 %r1, %rd2, %r3;", {"`add.u32", "width"}},
        {"mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, "
         "{%r5,%r6,%r7,%r8}, {%f1,%f2,%f3,%f4}, %r9, 0x0;",
         {"`mma.sp.sync.aligned.m16n8k32", "sparse"}},
        {"bar.sync 16;", {"wrong operand of `bar.sync 16`", "0 to 15"}},
        {"bar.sync 1, 48;", {"wrong operand of `bar.sync 1, 48`", "a multiple of 32"}},
        {"add.u32 %r1;", {"wrong operand of `add.u32 %r1`", "1 operand, it takes 3"}},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
        char body[400];
        snprintf(body, sizeof body, "mov.u32 %%r1, 0;\n%s\nret;\n", cases[k].line);
        const struct machine_test test = {.body = body};
        struct ptx_module *m;
        struct trace t;
        struct error e = {""};
        cr_assert(!machine_try(&test, &m, &t, &e), "%s runs", cases[k].line);
        cr_assert(m, "%s does not parse: %s", cases[k].line, e.text);
        cr_assert(strstr(e.text, "k.ptx:17:1: "), "no place in: %s", e.text);
        for (int i = 0; i < 3 && cases[k].wants[i]; ++i)
            cr_assert(strstr(e.text, cases[k].wants[i]), "no \"%s\" in: %s", cases[k].wants[i], e.text);
        ptx_free(m);
    }
}

Test(machine, instruction_set_by_name) {
    const struct machine_test test = {.body = "ret;\n", .isa = "sse17"};
    struct ptx_module *m;
    struct trace t;
    struct error e = {""};
    cr_assert(!machine_try(&test, &m, &t, &e), "sse17 runs");
    cr_assert(strstr(e.text, "sse17"), "no name in: %s", e.text);
    ptx_free(m);
}

/* Many blocks, each within its budget, must not add up to for ever. */
Test(machine, a_launch_has_a_budget_too) {
    const struct machine_test test = {
        .body = "mov.u32 %r1, 0;\nLOOP:\nadd.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, 300;\n@%p1 bra LOOP;\nret;\n",
        .grid = {1000},
        .budget = 1000,
        .threads = 2};
    struct trace t;
    struct ptx_module *m;
    struct error e;
    cr_assert(!machine_try(&test, &m, &t, &e), "a launch of 900,000 instructions ran on a budget of 64,000");
    cr_assert(strstr(e.text, "ran past 64000 warp instructions in all") != NULL, "message: %s", e.text);
    ptx_free(m);
}
