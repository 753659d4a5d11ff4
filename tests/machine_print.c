/* printf and assert on the PTX machine: conversions, strings, order, limits, damaged arguments. */
#include "../ref/checked.h"
#include "machine_run.h"

#define VPRINTF ".extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);\n"
#define ASSERT                                                                                                         \
    ".extern .func __assertfail (.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, .param .b64 c);\n"
#define TID "mov.u32 %r1, %tid.x;\n"
/* args: a .local variable; the format is the module's variable fmt. The result is %r9. */
#define PRINT                                                                                                          \
    "mov.u64 %rd1, args; cvta.local.u64 %rd1, %rd1; mov.u64 %rd2, fmt; cvta.global.u64 %rd2, %rd2;\n"                  \
    "{ .param .b64 f; .param .b64 a; .param .b32 r; st.param.b64 [f], %rd2; st.param.b64 [a], %rd1;\n"                 \
    "call.uni (r), vprintf, (f, a); ld.param.b32 %r9, [r]; }\n"

/* .global .b8 NAME[] = {...} of the text. The caller frees it. */
static char *variable(const char *name, const char *text) {
    char *out = must_format(".global .align 1 .b8 %s[] = {", name);
    for (const char *s = text;; ++s) {
        char *more = must_format("%s%s%d", out, s == text ? "" : ", ", (unsigned char)*s);
        free(out);
        out = more;
        if (!*s)
            break;
    }
    char *whole = must_format("%s};\n", out);
    free(out);
    return whole;
}

static struct ptx_module *run(const struct machine_test *base, const char *format, const char *more, struct trace *t) {
    char *fmt = variable("fmt", format), *text = variable("text", "some text");
    char *level = must_format(VPRINTF ASSERT "%s%s%s", fmt, text, more);
    struct machine_test test = *base;
    test.module_level = level;
    struct ptx_module *m;
    struct error e = {""};
    const bool ok = machine_try(&test, &m, t, &e);
    cr_assert(ok, "%s: %s", format, e.text);
    free(fmt), free(text), free(level);
    return m;
}

Test(machine_print, conversions) {
    static const struct {
        const char *format, *arguments, *want; /* arguments: stores into args */
        int result;
    } rows[] = {
        {"no arguments\n", "", "no arguments\n", 0},
        {"%d %i %u|", "st.local.u32 [args], -5; st.local.u32 [args+4], 7; st.local.u32 [args+8], -1;",
         "-5 7 4294967295|", 3},
        {"%lld %llu %lx", "st.local.u64 [args], -5; st.local.u64 [args+8], -1; st.local.u64 [args+16], 0xabcdef0123;",
         "-5 18446744073709551615 abcdef0123", 3},
        {"%d %f", "st.local.u32 [args], 3; st.local.f64 [args+8], 0d3FF8000000000000;", "3 1.500000", 2},
        {"%5.1f|%-8.2e|%g|%G|%a",
         "st.local.f64 [args], 0d4002000000000000; st.local.f64 [args+8], 0d4002000000000000;\n"
         "st.local.f64 [args+16], 0d4002000000000000; st.local.f64 [args+24], 0d7FF0000000000000;\n"
         "st.local.f64 [args+32], 0d4002000000000000;",
         "  2.2|2.25e+00|2.25|INF|0x1.2p+1", 5},
        {"%c%c%%", "st.local.u32 [args], 65; st.local.u32 [args+4], 10;", "A\n%", 2},
        {"[%s] [%12s] [%-6.4s]",
         "mov.u64 %rd5, text; st.local.u64 [args], %rd5; st.local.u64 [args+8], %rd5;\n"
         "st.local.u64 [args+16], %rd5;",
         "[some text] [   some text] [some  ]", 3},
        {"%s", "st.local.u64 [args], 0;", "(null)", 1},
        {"%+d % d %05d %-5d| %#x %o %X",
         "st.local.v4.u32 [args], {%r5, %r5, %r5, %r5};\n"
         "st.local.u32 [args+16], 255; st.local.u32 [args+20], 8; st.local.u32 [args+24], 0xbeef;",
         "+42  42 00042 42   | 0xff 10 BEEF", 7},
        {"%*d|%-*d|%.*f",
         "st.local.u32 [args], 6; st.local.u32 [args+4], 1; st.local.u32 [args+8], -4;\n"
         "st.local.u32 [args+12], 2; st.local.u32 [args+16], 3; st.local.f64 [args+24], 0d4002000000000000;",
         "     1|2   |2.250", 3},
        {"%hd %hhd %hu", "st.local.u32 [args], 0x18000; st.local.u32 [args+4], 0x1ff; st.local.u32 [args+8], 0x1ffff;",
         "-32768 -1 65535", 3},
        {"%p", "st.local.u64 [args], 0x1234;", "0x1234", 1},
        {"%q %k %", "", "%q %k %", 0},
        {"%d%n%d", "st.local.u32 [args], 1; st.local.u64 [args+8], 0; st.local.u32 [args+16], 2;", "12", 3},
        {"%99999999d|", "st.local.u32 [args], 1;", NULL, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        uint32_t out[1] = {0};
        struct launch_buffer b = {
            .name = "out", .role = BUFFER_OUT, .bytes = 4, .cell_bytes = 4, .data = (uint8_t *)out};
        char *body =
            must_format("%s%s%s", ".local .align 16 .b8 args[64];\n" TID "mov.u32 %r5, 42;\n", rows[i].arguments,
                        "\n" PRINT "ld.param.u64 %rd3, [p0]; st.global.u32 [%rd3], %r9;\nret;\n");
        const struct machine_test test = {.body = body, .buffers = &b, .buffer_count = 1, .block = {1}};
        struct trace t;
        struct ptx_module *m = run(&test, rows[i].format, "", &t);
        cr_assert(t.event_count == 0, "%s: event %d", rows[i].format, t.events[0].kind);
        cr_assert(t.print_count == 1 && t.print_total == 1, "%s: %zu prints", rows[i].format, t.print_count);
        if (rows[i].want)
            cr_assert(!strcmp(t.prints[0].text, rows[i].want), "%s: \"%s\", want \"%s\"", rows[i].format,
                      t.prints[0].text, rows[i].want);
        else
            cr_assert(strlen(t.prints[0].text) == 1025, "%s: %zu characters", rows[i].format, strlen(t.prints[0].text));
        cr_assert((int)out[0] == rows[i].result, "%s: gives %d, want %d", rows[i].format, (int)out[0], rows[i].result);
        free(body);
        trace_free(&t);
        ptx_free(m);
    }
}

/* By block and, within it, as executed; the first TRACE_PRINTS; the same for every number of threads. */
Test(machine_print, order_and_limit) {
    static const char body[] =
        ".local .align 8 .b8 args[8];\n" TID "mov.u32 %r2, %ctaid.x; st.local.v2.u32 [args], {%r2, %r1};\n"
        "and.b32 %r3, %r1, 1; setp.eq.u32 %p1, %r3, 1; @!%p1 bra NO;\n" PRINT "NO: ret;\n";
    for (int threads = 1; threads <= 4; ++threads) {
        const struct machine_test test = {.body = body, .grid = {40}, .block = {64}, .threads = threads};
        struct trace t;
        struct ptx_module *m = run(&test, "%d:%d", "", &t);
        cr_assert(t.event_count == 0 && t.print_count == TRACE_PRINTS && t.print_total == 40 * 32,
                  "%d threads: %zu events, %zu prints of %llu", threads, t.event_count, t.print_count,
                  (unsigned long long)t.print_total);
        for (size_t i = 0; i < t.print_count; ++i) {
            const uint32_t block = (uint32_t)i / 32, thread = 2 * ((uint32_t)i % 32) + 1;
            char want[32];
            snprintf(want, sizeof want, "%u:%u", block, thread);
            cr_assert(!strcmp(t.prints[i].text, want) && t.prints[i].block[0] == block &&
                          t.prints[i].warp == thread / 32 && t.prints[i].lane == thread % 32,
                      "%d threads: print %zu is %s of block %u warp %u lane %u", threads, i, t.prints[i].text,
                      t.prints[i].block[0], t.prints[i].warp, t.prints[i].lane);
            cr_assert(strstr(t.sites[t.prints[i].instruction].text, "vprintf"), "the site of print %zu", i);
        }
        trace_free(&t);
        ptx_free(m);
    }
}

/* Pointers that lead nowhere: one event, and the rest of the text. */
Test(machine_print, bad_pointers) {
    static const struct {
        const char *format, *arguments, *want;
    } rows[] = {
        {"a%sb", "st.local.u64 [args], 0x123456789;", "ab"},
        {"a%db%sc", "mov.u64 %rd5, text; add.s64 %rd5, %rd5, 100; st.local.u64 [args+8], %rd5; st.local.u32 [args], 3;",
         "a3bc"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        char *body = must_format("%s%s%s", ".local .align 16 .b8 args[64];\n", rows[i].arguments, "\n" PRINT "ret;\n");
        const struct machine_test test = {.body = body, .block = {1}};
        struct trace t;
        struct ptx_module *m = run(&test, rows[i].format, "", &t);
        cr_assert(t.event_count == 1 && t.events[0].kind == EVENT_OUT_OF_BOUNDS, "%s: %zu events", rows[i].format,
                  t.event_count);
        cr_assert(!strcmp(t.prints[0].text, rows[i].want), "%s: \"%s\"", rows[i].format, t.prints[0].text);
        free(body);
        trace_free(&t);
        ptx_free(m);
    }
}

/* The lowest block's assertion counts, whichever block failed first; the first lane of it is named. */
Test(machine_print, assertions) {
    static const char body[] =
        "mov.u32 %r1, %tid.y; mov.u32 %r2, %ctaid.y; setp.lt.u32 %p1, %r2, 3; @%p1 bra FINE;\n"
        "setp.lt.u32 %p1, %r1, 5; @%p1 bra FINE;\n"
        "{ .param .b64 m; .param .b64 f; .param .b32 l; .param .b64 n; .param .b64 c; mov.u64 %rd1, text;\n"
        "mov.u64 %rd2, fmt; st.param.b64 [m], %rd1; st.param.b64 [f], %rd2; st.param.b32 [l], 17;\n"
        "st.param.b64 [n], %rd1; st.param.b64 [c], 1; call.uni __assertfail, (m, f, l, n, c); }\nFINE: ret;\n";
    for (int threads = 1; threads <= 4; ++threads) {
        const struct machine_test test = {.body = body, .grid = {3, 9}, .block = {8, 8}, .threads = threads};
        struct trace t;
        struct ptx_module *m = run(&test, "k.cu", "", &t);
        cr_assert(t.event_count == 1 && t.events[0].kind == EVENT_ASSERT, "%zu events", t.event_count);
        const struct event *v = &t.events[0];
        cr_assert(v->block[0] == 0 && v->block[1] == 3 && v->warp == 1 && v->lane == 8, "block %u,%u warp %u lane %u",
                  v->block[0], v->block[1], v->warp, v->lane);
        cr_assert(t.assertion && !strcmp(t.assertion, "k.cu:17: some text: block: [0,3,0], thread: [0,5,0] Assertion "
                                                      "`some text` failed."),
                  "%s", t.assertion ? t.assertion : "no text");
        trace_free(&t);
        ptx_free(m);
    }
}
