/* tests/foreign/calls.cu on the PTX machine, optimised and for debugging: real functions of nvcc's with recursion,
 * function pointers, virtual functions, structures by value, local arrays, printf and assert. */
#include "../gpu/launch.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 32 };

static int fib(int n) {
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

static void expect(int want[N], int a, const float b[3], double c, int n) {
    for (int t = 0; t < N; ++t) {
        const int k = t & 3;
        float changed[3] = {b[0], b[1], b[2]};
        changed[k % 3] = (float)k;
        int value =
            fib(t & 7) + (t & 1 ? t * 3 : t + 3) + ((t * 7) & 15) * n + (a + k) + (int)(c * 2) + (int)changed[t % 3];
        value += t & 2 ? t * 3 : t + 2;
        for (int i = 0; i < (t & 15); ++i)
            value += i * n;
        want[t] = value + (int)b[t % 3];
    }
    int before[N];
    memcpy(before, want, sizeof before);
    for (int t = 0; t < N; ++t)
        if (t % 5 == 1)
            want[t] += before[(t + 5) % 30];
}

static struct ptx_module *run(const char *path, int n, int out[N], const char *isa, int threads, struct trace *trace) {
    struct error e;
    struct ptx_module *m = ptx_load(path, &e);
    cr_assert(m, "%s", e.text);
    for (int i = 0; i < N; ++i)
        out[i] = 0x7fa5dead;
    struct launch_buffer y = {.name = "y", .role = BUFFER_OUT, .bytes = 4 * N, .cell_bytes = 4, .data = (uint8_t *)out};
    static const float b[3] = {10, 20, 30};
    const double c = 2.25;
    struct launch_member members[] = {{0, 4, -1, 5},  {4, 4, -1, 0},  {8, 4, -1, 0},
                                      {12, 4, -1, 0}, {16, 8, -1, 0}, {24, 1, -1, 'd'}};
    for (int i = 0; i < 3; ++i)
        memcpy(&members[1 + i].value, &b[i], 4);
    memcpy(&members[4].value, &c, 8);
    struct launch_arg args[] = {{.buffer = 0, .bytes = 8},
                                {.buffer = -1, .bytes = 32, .members = members, .member_count = 6, .alignment = 8},
                                {.buffer = -1, .bytes = 4, .value = (uint32_t)n}};
    const struct launch l = {.module = m,
                             .entry = "calls",
                             .grid = {1, 1, 1},
                             .block = {N, 1, 1},
                             .buffers = &y,
                             .buffer_count = 1,
                             .args = args,
                             .arg_count = 3,
                             .threads = threads};
    setenv("WARPPROOF_ISA", isa, 1);
    cr_assert(runner_machine.run(&l, trace, &e), "%s: %s", path, e.text);
    return m;
}

Test(machine_call_nvcc, both_builds) {
    static const char *const paths[] = {"tests/foreign/calls.ptx", "tests/foreign/calls_debug.ptx"};
    for (int k = 0; k < 2; ++k) {
        int out[N], want[N];
        struct trace t;
        struct ptx_module *m = run(paths[k], 4, out, "base", 1, &t);
        expect(want, 5, (const float[]){10, 20, 30}, 2.25, 4);
        cr_assert(t.event_count == 0, "%s: event %d of space %d at `%s`, line %d", paths[k], t.events[0].kind,
                  t.events[0].space, t.sites[t.events[0].instruction].text, t.sites[t.events[0].instruction].line);
        for (int i = 0; i < N; ++i)
            cr_assert(out[i] == want[i], "%s: thread %d has %d, want %d", paths[k], i, out[i], want[i]);
        char text[100];
        snprintf(text, sizeof text, "7 is %d of calls: 2.25\n", want[7]);
        cr_assert(t.print_count == 1 && !strcmp(t.prints[0].text, text) && t.prints[0].lane == 7, "%s: %zu prints",
                  paths[k], t.print_count);
        trace_free(&t);
        ptx_free(m);
    }
}

/* n is chosen so that one thread comes to the value that the kernel asserts against. */
Test(machine_call_nvcc, a_failed_assertion) {
    static const char *const paths[] = {"tests/foreign/calls.ptx", "tests/foreign/calls_debug.ptx"};
    int want[N], n = 0, lane = -1;
    for (n = 1; lane < 0; ++n) {
        cr_assert(n < 100000, "no n that fails");
        expect(want, 5, (const float[]){10, 20, 30}, 2.25, n);
        for (int t = 0; t < N && lane < 0; ++t)
            lane = want[t] == 12345 ? t : -1;
    }
    for (int k = 0; k < 2; ++k) {
        int out[N];
        struct trace t;
        struct ptx_module *m = run(paths[k], n - 1, out, "base", 1, &t);
        cr_assert(t.event_count == 1 && t.events[0].kind == EVENT_ASSERT && (int)t.events[0].lane == lane,
                  "%s: %zu events, lane %u, want one of lane %d", paths[k], t.event_count, t.events[0].lane, lane);
        cr_assert(strstr(t.assertion, "Assertion `value != 12345` failed.") && strstr(t.assertion, "calls.cu:"), "%s",
                  t.assertion);
        trace_free(&t);
        ptx_free(m);
    }
}
