/* Lanes that part and meet again, in code as nvcc lays it out (tests/foreign/converge.cu): early returns, traps never
 * taken, spin loops, barriers that only some lanes can reach; and which double stores are races. */
#include "../gpu/launch.h"
#include <criterion/criterion.h>
#include <string.h>

enum { N = 64 };

static int x[N], y[N], want[N];
static struct trace trace;
static struct ptx_module *module;

/* Runs an entry on one block of 64 threads; x[t] = t * 5 + 2, y poisoned. between: an input before x, so that the
 * number of x's region is not the number of any range of shared memory. */
static void run(const char *entry) {
    struct error e;
    module = ptx_load("tests/foreign/converge.ptx", &e);
    cr_assert(module != NULL, "%s", e.text);
    for (int t = 0; t < N; ++t) {
        x[t] = t * 5 + 2;
        y[t] = 0x7fa5dead;
    }
    static uint8_t between[4];
    struct launch_buffer b[3] = {
        {.name = "between", .role = BUFFER_IN, .bytes = 4, .cell_bytes = 4, .data = between},
        {.name = "y", .role = BUFFER_INOUT, .bytes = sizeof y, .cell_bytes = 4, .data = (uint8_t *)y},
        {.name = "x", .role = BUFFER_IN, .bytes = sizeof x, .cell_bytes = 4, .data = (uint8_t *)x}};
    struct launch_arg args[2] = {{.buffer = 2, .bytes = 8}, {.buffer = 1, .bytes = 8}};
    const struct launch l = {.module = module,
                             .entry = entry,
                             .grid = {1, 1, 1},
                             .block = {N, 1, 1},
                             .buffers = b,
                             .buffer_count = 3,
                             .args = args,
                             .arg_count = 2,
                             .step_budget = 1 << 22,
                             .threads = 1};
    cr_assert(runner_machine.run(&l, &trace, &e), "%s: %s", entry, e.text);
}

static size_t raced(void) {
    size_t n = 0;
    for (int t = 0; t < N; ++t)
        n += trace.coverage[1].cells[t].raced;
    return n;
}

static void finish(void) {
    trace_free(&trace);
    ptx_free(module);
}

/* Runs it; no event, no race, and y as in want. */
static void expect_right(const char *entry) {
    run(entry);
    cr_expect(trace.event_count == 0, "%s: event of kind %d", entry,
              trace.event_count ? (int)trace.events[0].kind : -1);
    cr_expect(raced() == 0, "%s: %zu cells raced", entry, raced());
    for (int t = 0; t < N; ++t)
        cr_expect(y[t] == want[t], "%s: y[%d] = %d, want %d", entry, t, y[t], want[t]);
    finish();
}

static int input(int t) {
    return t * 5 + 2;
}

Test(machine_converge, early_exits_do_not_keep_lanes_apart) {
    for (int t = 0; t < N; ++t)
        want[t] = t < 50 ? input(49 - t) : 0;
    expect_right("early_return");
    for (int t = 0; t < N; ++t) {
        const int own = t & 1 ? 3 * input(t) : 1, other = t & 1 ? 1 : 3 * input(t + 1);
        want[t] = own + other;
    }
    expect_right("return_never_taken");
    expect_right("trap_never_taken");
    for (int t = 0; t < N; ++t) {
        want[t] = 0;
        for (int i = 0; i < ((63 - t) & 7); ++i)
            want[t] += input((63 - t + i) & 63);
    }
    expect_right("return_in_loop");
}

Test(machine_converge, one_operation_at_several_places) {
    for (int t = 0; t < N; ++t)
        want[t] = t & 1 ? 5 * input(t ^ 1) : 3 * input(t ^ 1) + 100;
    expect_right("warp_barrier_in_both");
    for (int t = 0; t < N; ++t) {
        uint32_t ballot = 0;
        for (int lane = 0; lane < 32; ++lane)
            ballot |= (uint32_t)(input((t & 32) + lane) % (lane & 1 ? 3 : 4) == 0) << lane;
        want[t] = (int)(t & 1 ? ballot : ballot + 1);
    }
    expect_right("ballot_in_both");
    for (int warp = 0; warp < 2; ++warp) { /* all lanes of a round at once, as the source says */
        int v[32];
        uint32_t going = UINT32_MAX;
        for (int lane = 0; lane < 32; ++lane)
            v[lane] = input(32 * warp + lane) & 31;
        for (int i = 1; going; ++i) {
            const int first = v[__builtin_ctz(going)];
            uint32_t next = 0;
            for (int lane = 0; lane < 32; ++lane)
                if (going >> lane & 1) {
                    v[lane] += first;
                    next |= (uint32_t)(i < (32 * warp + lane) * 7 % 11) << lane;
                }
            going = next;
        }
        for (int lane = 0; lane < 32; ++lane)
            want[32 * warp + lane] = v[lane];
    }
    expect_right("shuffle_in_loop");
}

Test(machine_converge, spinning_lanes_give_way) {
    for (int t = 0; t < N; ++t)
        want[t] = t == 40 ? 7 : t == 3 ? 5 : t == 32 ? 6 : t == 41 ? 9 : input(t);
    expect_right("spin");
}

Test(machine_converge, one_load_may_go_to_two_spaces) {
    for (int t = 0; t < N; ++t)
        want[t] = t & 1 ? 2 * input(t) : input(t);
    expect_right("mixed_spaces");
}

Test(machine_converge, a_barrier_orders_stores) {
    for (int t = 0; t < N; ++t)
        want[t] = input(63 - t);
    expect_right("clear_then_set");
    run("clear_and_set");
    cr_expect(raced() == N, "%zu cells raced, want all", raced());
    finish();
    for (int t = 0; t < N; ++t)
        want[t] = input(t ^ 1);
    expect_right("warp_barrier_orders");
    run("other_barriers");
    cr_expect(raced() == N, "barriers of other warps order nothing: %zu cells raced, want all", raced());
    finish();
    run("arrive_then_store");
    cr_expect(raced() == N, "an arrival orders nothing after it: %zu cells raced, want all", raced());
    finish();
    run("store_then_arrive");
    cr_expect(raced() == 0, "an arrival orders what came before: %zu cells raced", raced());
    finish();
    run("there_and_back");
    cr_expect(raced() == 1 && trace.coverage[1].cells[0].raced, "%zu cells raced, want cell 0", raced());
    finish();
}

Test(machine_converge, member_masks_are_held_to) {
    run("not_a_member");
    cr_expect(trace.event_count == 2 && trace.events[0].kind == EVENT_DIVERGENT_ALIGNED && trace.events[0].lane == 1,
              "lane 1 of warp 0 is the first that is no member: %zu events", trace.event_count);
    cr_expect(trace.event_count == 2 && trace.events[1].kind == EVENT_ABSENT_LANE && trace.events[1].lane == 0,
              "lane 0, the only member, reads lane 1");
    finish();
    run("member_absent"); /* one half waits for the other at a shuffle, which waits at a barrier */
    cr_expect(trace.event_count == 2 && trace.events[0].kind == EVENT_DIVERGENT_BARRIER &&
                  trace.events[1].kind == EVENT_DIVERGENT_ALIGNED,
              "a barrier without the other half, which then shuffles without the first: %zu events", trace.event_count);
    finish();
}
