/* Orders of warps, lanes, copies and blocks on the PTX machine, mostly in code as nvcc lays it out
 * (tests/foreign/orders.cu): what must not depend on them does not, what does shows it, everything ends, and a schedule
 * gives the same for every number of CPU threads. */
#include "../ref/checked.h"
#include "machine_run.h"

enum { MOST = 4096, STAGES = 6, SCHEDULES = 23 };

static int x[STAGES * 64 * 4 + MOST], y[MOST];

/* 0 in order, 1 in order with copies that land early, 2 reversed, then random:1 ... */
static struct schedule schedule_number(int k) {
    return k == 0   ? (struct schedule){.order = SCHEDULE_IN_ORDER}
           : k == 1 ? (struct schedule){.async_early = true}
           : k == 2 ? (struct schedule){.order = SCHEDULE_REVERSED}
                    : (struct schedule){.order = SCHEDULE_RANDOM, .seed = (uint64_t)k - 2};
}

struct call {
    const char *entry;
    uint32_t grid, block;
    size_t outputs; /* of y */
    bool has_x;
    int scalars[2];
    size_t scalar_count;
    int threads;
};

static struct trace trace;
static struct ptx_module *module;

static void run(const struct call *c, struct schedule s) {
    struct error e;
    if (!module)
        module = ptx_load("tests/foreign/orders.ptx", &e);
    cr_assert(module, "%s", e.text);
    for (int i = 0; i < MOST; ++i)
        y[i] = 1;
    for (size_t i = 0; i < sizeof x / sizeof *x; ++i)
        x[i] = (int)(i * 2654435761u >> 7);
    struct launch_buffer b[2] = {
        {.name = "y", .role = BUFFER_INOUT, .bytes = 4 * c->outputs, .cell_bytes = 4, .data = (uint8_t *)y},
        {.name = "x", .role = BUFFER_IN, .bytes = sizeof x, .cell_bytes = 4, .data = (uint8_t *)x}};
    struct launch_arg args[4];
    size_t n = 0;
    if (c->has_x)
        args[n++] = (struct launch_arg){.buffer = 1, .bytes = 8};
    args[n++] = (struct launch_arg){.buffer = 0, .bytes = 8};
    for (size_t i = 0; i < c->scalar_count; ++i)
        args[n++] = (struct launch_arg){.buffer = -1, .value = (uint32_t)c->scalars[i], .bytes = 4};
    const struct launch l = {.module = module,
                             .entry = c->entry,
                             .grid = {c->grid, 1, 1},
                             .block = {c->block, 1, 1},
                             .buffers = b,
                             .buffer_count = 2,
                             .args = args,
                             .arg_count = n,
                             .step_budget = 1 << 22,
                             .threads = c->threads ? c->threads : 1,
                             .options = {.schedule = s}};
    cr_assert(runner_machine.run(&l, &trace, &e), "%s: %s", c->entry, e.text);
}

static size_t events_of(enum event_kind kind) {
    size_t n = 0;
    for (size_t i = 0; i < trace.event_count; ++i)
        n += trace.events[i].kind == kind;
    return n;
}

static struct call pipeline(const char *entry, int rows) {
    return (struct call){entry, 1, 64, 64, true, {STAGES, rows}, 2, 1};
}

/* What a right pipeline leaves in y[t]; rows past `rows` are zeros. */
static int folded(int t, int rows) {
    uint32_t sum = 0;
    for (int i = 0; i < STAGES; ++i) {
        const int row = i * 64 + 63 - t;
        const uint32_t *v = (const uint32_t *)x + 4 * row;
        sum = sum * 3 + (row < rows ? v[0] - 2 * v[1] + 5 * v[2] - 7 * v[3] : 0);
    }
    return (int)sum;
}

Test(machine_schedule, right_pipelines) {
    static const char *const entries[] = {"two_stages", "four_stages"};
    static const int rows[] = {STAGES * 64, STAGES * 64 - 50, 70, 0};
    for (int e = 0; e < 2; ++e)
        for (int r = 0; r < 4; ++r)
            for (int k = 0; k < SCHEDULES; ++k) {
                const struct call c = pipeline(entries[e], rows[r]);
                run(&c, schedule_number(k));
                for (int t = 0; t < 64; ++t)
                    cr_assert(y[t] == folded(t, rows[r]), "%s, %d rows, schedule %d: y[%d] = %d, want %d", entries[e],
                              rows[r], k, t, y[t], folded(t, rows[r]));
                cr_assert(trace.event_count == 0, "%s, %d rows, schedule %d: event of kind %d", entries[e], rows[r], k,
                          (int)trace.events[0].kind);
                trace_free(&trace);
            }
    ptx_free(module);
}

/* Some of in order, reversed and random:1 leave different bytes: what --schedule all compares. */
static bool shows(const struct call *c) {
    static int first[MOST];
    bool differ = false;
    for (int k = 0; k < 3; ++k) {
        run(c, schedule_number(k ? k + 1 : 0));
        if (!k)
            memcpy(first, y, sizeof y);
        differ |= memcmp(first, y, 4 * c->outputs) != 0;
        cr_assert(!events_of(EVENT_STEP_BUDGET) && !events_of(EVENT_DEADLOCK), "%s does not end", c->entry);
        trace_free(&trace);
    }
    return differ;
}

Test(machine_schedule, what_hangs_on_the_order_shows_it) {
    static const char *const pipelines[] = {"keeps_too_many", "no_barrier_to_read", "no_barrier_to_fill"};
    for (int i = 0; i < 3; ++i) {
        const struct call c = pipeline(pipelines[i], STAGES * 64);
        cr_expect(shows(&c), "%s leaves the same bytes in every order", c.entry);
    }
    static const struct call calls[] = {{"warps_race", 1, 64, 64, true, {0}, 0, 1},
                                        {"lanes_race", 1, 64, 64, true, {0}, 0, 1},
                                        {"blocks_race", 5, 32, 64, false, {64}, 1, 1},
                                        {"blocks_race", 5, 32, 64, false, {64}, 1, 2}};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; ++i)
        cr_expect(shows(&calls[i]), "%s leaves the same bytes in every order", calls[i].entry);
    ptx_free(module);
}

Test(machine_schedule, orderly_code_leaves_the_same) {
    static int want[MOST];
    static const struct call orderly = {"orderly", 20, 128, 20 * 128, true, {0}, 0, 2};
    for (int k = 0; k < SCHEDULES; ++k) {
        run(&orderly, schedule_number(k));
        if (!k)
            memcpy(want, y, sizeof y);
        cr_assert(!memcmp(want, y, sizeof y), "schedule %d", k);
        cr_assert(trace.event_count == 0, "schedule %d: event of kind %d", k, (int)trace.events[0].kind);
        trace_free(&trace);
    }
    ptx_free(module);
}

Test(machine_schedule, spin_loops_end) {
    static const struct call spins = {"spins", 2, 128, 128, true, {0}, 0, 1};
    for (int k = 0; k < SCHEDULES; ++k) {
        run(&spins, schedule_number(k));
        for (int t = 0; t < 128; ++t)
            cr_assert(y[t] == x[t] + (t & 1 ? t : 0), "schedule %d: y[%d] = %d", k, t, y[t]);
        cr_assert(!events_of(EVENT_STEP_BUDGET) && !events_of(EVENT_DEADLOCK) && !events_of(EVENT_DIVERGENT_ALIGNED),
                  "schedule %d does not end", k);
        trace_free(&trace);
    }
    ptx_free(module);
}

/* Of blocks that go on from each other's results the order is exactly the schedule's. */
Test(machine_schedule, order_of_blocks) {
    enum { BLOCKS = 9 };
    static const int threads[] = {1, 2, 7};
    bool other = false;
    for (int k = 0; k < SCHEDULES; ++k) {
        int last = 0;
        for (int i = 0; i < 3; ++i) {
            const struct call c = {"blocks_race", BLOCKS, 32, 40, false, {40}, 1, threads[i]};
            run(&c, schedule_number(k));
            int want = 1;
            for (int b = 0; b < BLOCKS; ++b)
                want = want * 2 + (k == 2 ? BLOCKS - 1 - b : b);
            for (int t = 0; t < 40; ++t)
                cr_assert(k < 3 ? y[t] == want : !i || y[t] == last, "schedule %d, %d threads: y[%d] = %d", k,
                          threads[i], t, y[t]);
            last = y[0];
            other |= k >= 3 && y[0] != want;
            trace_free(&trace);
        }
    }
    cr_assert(other, "no random schedule takes the blocks in another order");
    ptx_free(module);
}

struct left_behind { /* by one run */
    int y[MOST];
    struct trace trace;
};

static void expect_same_trace(const char *what, const struct trace *a, const struct trace *b, size_t cells) {
    cr_assert(a->event_count == b->event_count && a->warp_instructions == b->warp_instructions && a->macs == b->macs,
              "%s: %zu and %zu events", what, a->event_count, b->event_count);
    for (size_t i = 0; i < a->event_count; ++i) {
        const struct event *v = &a->events[i], *w = &b->events[i];
        cr_assert(v->kind == w->kind && v->count == w->count && v->block[0] == w->block[0] && v->warp == w->warp &&
                      v->lane == w->lane && v->instruction == w->instruction && v->offset == w->offset &&
                      v->other.block[0] == w->other.block[0] && v->other.lane == w->other.lane,
                  "%s: event %zu", what, i);
    }
    cr_assert(!memcmp(a->coverage[0].stores, b->coverage[0].stores, 4 * cells), "%s: stores", what);
    for (size_t i = 0; i < cells; ++i) {
        const struct cell_history *v = &a->coverage[0].cells[i], *w = &b->coverage[0].cells[i];
        cr_assert(v->first.block == w->first.block && v->last.block == w->last.block &&
                      v->first.thread == w->first.thread && v->last.thread == w->last.thread && v->raced == w->raced,
                  "%s: writers of cell %zu", what, i);
    }
}

Test(machine_schedule, the_same_for_every_number_of_threads) {
    static struct left_behind one, other;
    static const int threads[] = {2, 7};
    static const struct call calls[] = {{"orderly", 20, 128, 20 * 128, true, {0}, 0, 1},
                                        {"blocks_race", 20, 32, 64, false, {64}, 1, 1},
                                        {"trap_when_first", 20, 64, 64, true, {0}, 0, 1},
                                        {"past_the_end_when_first", 20, 64, 64, true, {0}, 0, 1},
                                        {"warps_race", 20, 64, 64, true, {0}, 0, 1}};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; ++i)
        for (int k = 0; k < 8; ++k) {
            struct call c = calls[i];
            run(&c, schedule_number(k));
            one.trace = trace;
            memcpy(one.y, y, sizeof y);
            for (int n = 0; n < 2; ++n) {
                c.threads = threads[n];
                run(&c, schedule_number(k));
                other.trace = trace;
                char *what = must_format("%s, schedule %d, %d threads", c.entry, k, c.threads);
                cr_assert(!memcmp(one.y, y, sizeof y), "%s: other bytes", what);
                expect_same_trace(what, &one.trace, &other.trace, c.outputs);
                free(what);
                trace_free(&other.trace);
            }
            trace_free(&one.trace);
        }
    ptx_free(module);
}

Test(machine_schedule, faults_of_one_order) {
    static const struct call trap = {"trap_when_first", 1, 64, 64, true, {0}, 0, 1},
                             past = {"past_the_end_when_first", 1, 64, 64, true, {0}, 0, 1};
    for (int k = 0; k < 3; ++k) {
        run(&trap, schedule_number(k));
        cr_assert(events_of(EVENT_TRAP) == (k == 2), "schedule %d: %zu traps", k, events_of(EVENT_TRAP));
        trace_free(&trace);
        run(&past, schedule_number(k));
        cr_assert(events_of(EVENT_OUT_OF_BOUNDS) == (k == 2), "schedule %d: %zu stores past the end", k,
                  events_of(EVENT_OUT_OF_BOUNDS));
        trace_free(&trace);
    }
    ptx_free(module);
}

/* All lanes store their number to one place; which of them stays. */
static unsigned winner(const char *store, struct schedule s) {
    static uint32_t out[32];
    struct launch_buffer b = {
        .name = "y", .role = BUFFER_INOUT, .bytes = sizeof out, .cell_bytes = 4, .data = (uint8_t *)out};
    char body[1000];
    snprintf(body, sizeof body,
             "ld.param.u64 %%rd1, [p0]; mov.u32 %%r1, %%tid.x; cvt.u64.u32 %%rd2, %%r1; cvt.u16.u32 %%h1, %%r1;\n"
             "mov.u32 %%r2, at; mov.u32 %%r9, 0; st.shared.v4.u32 [%%r2], {%%r9, %%r9, %%r9, %%r9};\n"
             "cvta.global.u64 %%rd3, %%rd1; bar.warp.sync -1;\n%s\nbar.warp.sync -1;\n"
             "ld.shared.u32 %%r5, [at]; setp.eq.u32 %%p1, %%r1, 5; @%%p1 st.global.u32 [%%rd1+4], %%r5;\n",
             store);
    memset(out, 0, sizeof out);
    const struct machine_test test = {.module_level = ".shared .align 16 .b8 at[16];",
                                      .body = body,
                                      .buffers = &b,
                                      .buffer_count = 1,
                                      .options = {.schedule = s}};
    struct ptx_module *m = machine_must(&test, &trace);
    trace_free(&trace);
    ptx_free(m);
    return strstr(store, "shared") ? out[1] : out[0];
}

Test(machine_schedule, order_of_lanes) {
    static const char *const stores[] = {"st.shared.u8 [%r2], %h1;",
                                         "st.shared.u16 [%r2], %h1;",
                                         "st.shared.u32 [%r2], %r1;",
                                         "st.shared.u64 [%r2], %rd2;",
                                         "st.shared.v2.u32 [%r2], {%r1, %r1};",
                                         "st.shared.v4.u32 [%r2], {%r1, %r1, %r1, %r1};",
                                         "st.shared.v2.u16 [%r2], {%h1, %h1};",
                                         "st.global.u32 [%rd1], %r1;",
                                         "st.u32 [%rd3], %r1;",
                                         "st.global.u16 [%rd1], %h1;"};
    for (size_t i = 0; i < sizeof stores / sizeof *stores; ++i) {
        unsigned in_order = winner(stores[i], schedule_number(0)), back = winner(stores[i], schedule_number(2));
        if (strstr(stores[i], "v2.u16")) /* two of them in the word */
            in_order &= 0xffff, back &= 0xffff;
        cr_assert(in_order == 31 && back == 0, "%s: lane %u, reversed %u", stores[i], in_order, back);
    }
    uint32_t won = 0;
    for (int seed = 1; seed <= 400; ++seed)
        won |= 1u << winner("st.shared.u32 [%r2], %r1;", (struct schedule){SCHEDULE_RANDOM, (uint64_t)seed, false});
    cr_assert(won == UINT32_MAX, "lanes %08x of all 32 come last in some random order", won);
}
