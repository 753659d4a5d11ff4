/* Local memory that nothing has written: a load of it is no fault, a use that matters of what it gave is, bit by bit
 * and lane by lane, with the load named where it is the only one. Also registers of 128 bits. */
#include "machine_run.h"

#define HEAD                                                                                                           \
    "ld.param.u64 %rd1, [p0]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd3, %rd1, %rd2;\n"             \
    ".local .align 16 .b8 x[32]; .local .align 16 .b8 y[32]; .reg .b128 %q<4>; setp.lt.u32 %p1, %r1, 20;\n"            \
    "mov.b64 %rd4, x; cvta.local.u64 %rd5, %rd4; mov.b64 %rd6, y; cvta.local.u64 %rd7, %rd6;\n" /* to 3 */
#define USE    "st.global.u32 [%rd3], %r2;\nret;\n"
#define SILENT 0, 0, NULL, 0, 0

struct unset {
    const char *what, *module_level, *body;
    int line, loaded; /* of the use, in the body, 0: no event; of the load that is named, 0: none is */
    const char *name; /* the register; NULL: memory */
    unsigned lane;
    uint64_t count;
};

/* a(k, n) sets x[k % 2] of its frame at depth n > 0 and hands on what the others gave; at 0 nothing is set. */
#define RECURSIVE                                                                                                      \
    ".func (.param .b32 r) a (.param .b32 k, .param .b32 n)\n{\n.reg .b32 %x<6>;\n.reg .b64 %l<3>;\n.reg .pred %q;\n"  \
    ".local .align 8 .b8 z[8];\nld.param.b32 %x1, [k];\nld.param.b32 %x2, [n];\nsetp.eq.u32 %q, %x2, 0;\n"             \
    "ld.local.b32 %x5, [z];\n@%q bra Z;\nst.local.b32 [z], %x1;\nsub.u32 %x3, %x2, 1;\n"                               \
    "{\n.param .b32 b;\n.param .b32 m;\n.param .b32 s;\nst.param.b32 [b], %x1;\nst.param.b32 [m], %x3;\n"              \
    "call (s), a, (b, m);\nld.param.b32 %x4, [s];\n}\nld.local.b32 %x3, [z];\nsetp.eq.u32 %q, %x1, 5;\n"               \
    "selp.b32 %x4, %x5, %x3, %q;\nst.param.b32 [r], %x4;\nret;\nZ:\nst.param.b32 [r], 1;\nret;\n}\n"
#define CALL_RECURSIVE                                                                                                 \
    "{ .param .b32 a1; .param .b32 n; .param .b32 r; st.param.b32 [a1], %r1; and.b32 %r3, %r1, 3;\n"                   \
    "add.u32 %r3, %r3, 1; st.param.b32 [n], %r3; call (r), a, (a1, n);\nld.param.b32 %r2, [r]; }\n"
/* Reads word 1 of its argument through the variable itself, whose address it takes. */
#define SPILLED                                                                                                        \
    ".func (.param .b32 r) f (.param .align 4 .b8 a[8])\n{\n.reg .b32 %x;\n.reg .b64 %y;\nmov.b64 %y, a;\n"            \
    "st.local.b32 [%y], 3;\nld.param.b32 %x, [a+4];\nst.param.b32 [r], %x;\nret;\n}\n"
#define CALL_SPILLED                                                                                                   \
    "{ .param .align 4 .b8 a[8]; .param .b32 r; ld.local.b64 %rd8, [x];\nst.param.b64 [a], %rd8;\ncall (r), f, (a);\n" \
    "ld.param.b32 %r2, [r]; }\n"
#define PASS128                                                                                                        \
    ".func (.param .align 16 .b8 r[16]) f (.param .align 16 .b8 a[16])\n{\n.reg .b128 %q;\nld.param.b128 %q, [a];\n"   \
    "st.param.b128 [r], %q;\nret;\n}\n"
#define CALL128                                                                                                        \
    "{ .param .align 16 .b8 a[16]; .param .align 16 .b8 r[16]; ld.local.b128 %q1, [x]; st.param.b128 [a], %q1;\n"      \
    "call (r), f, (a); ld.param.b128 %q2, [r]; }\nst.local.b128 [y], %q2;\nld.local.b128 %q3, [y];\n"                  \
    "mov.b128 {%rd8, %rd9}, %q3;\n"
#define VPRINTF                                                                                                        \
    ".extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);\n.global .b8 fmt[3] = {37, 100, 0};\n"
#define PRINT                                                                                                          \
    "{ .param .b64 f; .param .b64 a; .param .b32 r; mov.b64 %rd8, fmt; cvta.global.u64 %rd8, %rd8;\n"                  \
    "st.param.b64 [f], %rd8; st.param.b64 [a], %rd5;\ncall (r), vprintf, (f, a); }\nret;\n"

/* g(n, k) has a register that it sets where n > 0 and k != 5, and gives half of it back. */
#define RECURSIVE128                                                                                                   \
    ".func (.param .b64 r) g (.param .b32 n, .param .b32 k)\n{\n.reg .b128 %q;\n.reg .b64 %l<5>;\n.reg .b32 %x<4>;\n"  \
    ".reg .pred %p<4>;\nld.param.b32 %x1, [n];\nld.param.b32 %x2, [k];\nsetp.ne.u32 %p1, %x1, 0;\n"                    \
    "setp.ne.and.u32 %p2, %x2, 5, %p1;\ncvt.u64.u32 %l1, %x1;\n@%p2 mov.b128 %q, {%l1, %l1};\n@!%p1 bra Z;\n"          \
    "{\n.param .b32 m;\n.param .b32 j;\n.param .b64 s;\nsub.u32 %x3, %x1, 1;\nst.param.b32 [m], %x3;\n"                \
    "st.param.b32 [j], %x2;\ncall (s), g, (m, j);\nld.param.b64 %l4, [s];\n}\nZ:\nmov.b128 {%l2, %l3}, %q;\n"          \
    "st.param.b64 [r], %l3;\nret;\n}\n"
#define CALL_RECURSIVE128                                                                                              \
    "{ .param .b32 n; .param .b32 k; .param .b64 r; and.b32 %r3, %r1, 3; add.u32 %r3, %r3, 1;\n"                       \
    "st.param.b32 [n], %r3; st.param.b32 [k], %r1; call (r), g, (n, k);\n"                                             \
    "ld.param.b64 %rd8, [r]; }\ncvt.u32.u64 %r2, %rd8;\n"

static const struct unset cases[] = {
    /* a load ahead of the branch that decides whether it counts */
    {"selected away", "", HEAD "@%p1 st.local.u32 [x], %r1;\nld.local.u32 %r3, [x];\nselp.b32 %r2, %r3, 0, %p1;\n" USE,
     SILENT},
    {"selected by one lane more", "",
     HEAD "@%p1 st.local.u32 [x], %r1;\nld.local.u32 %r3, [x];\nsetp.le.u32 %p2, %r1, 20;\nselp.b32 %r2, %r3, 0, "
          "%p2;\n" USE,
     8, 5, "%r2", 20, 1},
    {"used under a guard", "",
     HEAD "@%p1 st.local.u32 [x], %r1;\nld.local.u32 %r2, [x];\nadd.u32 %r2, %r2, 1;\n@%p1 " USE, SILENT},
    {"computed with, and not used", "",
     HEAD "ld.local.u32 %r3, [x];\nadd.u32 %r3, %r3, 1;\nmov.u32 %r2, %r1;\nsetp.eq.u32 %p2, %r3, 4;\n" USE, SILENT},
    {"a branch", "", HEAD "ld.local.u32 %r3, [x];\nsetp.eq.u32 %p2, %r3, 4;\n@%p2 bra END;\nEND:\nret;\n", 6, 4, "%p2",
     0, 32},
    {"a load by some lanes leaves the others as they are", "",
     HEAD "mov.u32 %r2, 5;\n@!%p1 ld.local.u32 %r2, [x];\n@%p1 " USE, SILENT},
    {"those lanes", "", HEAD "mov.u32 %r2, 5;\n@!%p1 ld.local.u32 %r2, [x];\n" USE, 6, 5, "%r2", 20, 12},
    {"a loop that sets it in its first turn", "",
     HEAD "mov.u32 %r4, 0;\nmov.u32 %r2, 0;\nL:\nld.local.u32 %r3, [x];\nsetp.eq.u32 %p2, %r4, 0;\n"
          "selp.b32 %r3, %r4, %r3, %p2;\nadd.u32 %r2, %r2, %r3;\nst.local.u32 [x], %r4;\nadd.u32 %r4, %r4, 1;\n"
          "setp.lt.u32 %p2, %r4, 5;\n@%p2 bra L;\n" USE,
     SILENT},
    /* parts */
    {"a byte beside those that are set", "", HEAD "st.local.u16 [x], %r1;\nld.local.u8 %r2, [x+2];\n" USE, 6, 5, "%r2",
     0, 32},
    {"the word of which half is set", "", HEAD "st.local.u16 [x], %r1;\nld.local.u32 %r2, [x];\n" USE, 6, 5, "%r2", 0,
     32},
    {"its set half", "", HEAD "st.local.u16 [x], %r1;\nld.local.u32 %r2, [x];\nand.b32 %r2, %r2, 0xffff;\n" USE,
     SILENT},
    {"zeros above an unset byte", "", HEAD "ld.local.u8 %r2, [x];\nshr.u32 %r2, %r2, 8;\n" USE, SILENT},
    {"the sign of an unset byte", "", HEAD "ld.local.s8 %r2, [x];\nshr.u32 %r2, %r2, 8;\n" USE, 6, 4, "%r2", 0, 32},
    {"the sign of a set byte", "", HEAD "st.local.u8 [x], 200;\nld.local.s8 %r2, [x];\nshr.u32 %r2, %r2, 8;\n" USE,
     SILENT},
    {"the sign in 16 bits", "", HEAD "ld.local.s8 %h1, [x];\nshr.u16 %h1, %h1, 8;\ncvt.u32.u16 %r2, %h1;\n" USE, 7, 4,
     "%r2", 0, 32},
    {"a word in 64 bits", "", HEAD "ld.local.u32 %rd8, [x];\nshr.u64 %rd8, %rd8, 32;\ncvt.u32.u64 %r2, %rd8;\n" USE,
     SILENT},
    {"its sign", "", HEAD "ld.local.s32 %rd8, [x];\nshr.u64 %rd8, %rd8, 32;\ncvt.u32.u64 %r2, %rd8;\n" USE, 7, 4, "%r2",
     0, 32},
    {"two of four", "",
     HEAD "st.local.v2.u32 [x+8], {%r1, %r1};\nld.local.v4.u32 {%r2, %r3, %r4, %r5}, [x];\n@%p1 bra "
          "A;\nmov.u32 %r2, %r4;\nA:\n" USE,
     9, 5, "%r2", 0, 20},
    {"the other two", "",
     HEAD
     "st.local.v2.u32 [x+8], {%r1, %r1};\nld.local.v4.u32 {%r3, %r4, %r2, %r5}, [x];\nadd.u32 %r2, %r2, %r5;\n" USE,
     SILENT},
    {"half of 64 bits", "",
     HEAD "st.local.u32 [x+4], %r1;\nld.local.v2.u64 {%rd8, %rd9}, [x];\ncvt.u32.u64 %r2, %rd8;\n" USE, 7, 5, "%r2", 0,
     32},
    {"the other half", "",
     HEAD "st.local.u32 [x+4], %r1;\nld.local.v2.u64 {%rd8, %rd9}, [x];\nshr.u64 %rd8, %rd8, 32;\ncvt.u32.u64 %r2, "
          "%rd8;\n" USE,
     SILENT},
    /* copies */
    {"a copy and its set half", "",
     HEAD "st.local.u32 [x], %r1;\nld.local.u64 %rd8, [x];\nst.local.u64 [y], %rd8;\nld.local.u32 %r2, [y];\n" USE,
     SILENT},
    {"its unset half", "",
     HEAD "st.local.u32 [x], %r1;\nld.local.u64 %rd8, [x];\nst.local.u64 [y], %rd8;\nld.local.u32 %r2, [y+4];\n" USE, 8,
     0, "%r2", 0, 32},
    {"a copy that is set afterwards", "",
     HEAD "ld.local.u64 %rd8, [x];\nst.local.u64 [y], %rd8;\nst.local.u32 [y+4], 7;\nld.local.u32 %r2, [y+4];\n" USE,
     SILENT},
    {"a copy over what was set", "",
     HEAD "st.local.u8 [y+1], 7;\nld.local.u8 %h1, [x];\nst.local.u8 [y+1], %h1;\nld.local.u8 %r2, [y+1];\n" USE, 8, 0,
     "%r2", 0, 32},
    {"a copy to memory that others see", "",
     HEAD "st.local.u32 [x], %r1;\nld.local.u64 %rd8, [x];\nst.global.u64 [%rd1], %rd8;\nret;\n", 6, 5, "%rd8", 0, 32},
    {"its set half there", "",
     HEAD "st.local.u32 [x], 1;\nld.local.u64 %rd8, [x];\nst.global.u32 [%rd1], %rd8;\nret;\n", SILENT},
    /* generic addresses */
    {"generic", "", HEAD "ld.u32 %r2, [%rd5+4];\n" USE, 5, 4, "%r2", 0, 32},
    {"generic, set", "", HEAD "st.u32 [%rd5+4], %r1;\nld.u32 %r2, [%rd5+4];\n" USE, SILENT},
    {"of local and of global memory by turns", "",
     HEAD "@%p1 mov.b64 %rd5, %rd1;\nmov.b64 %rd8, 0;\nst.u64 [%rd7], %rd8;\nld.u32 %r2, [%rd5];\nld.u32 %r2, "
          "[%rd5];\n" USE,
     9, 0, "%r2", 20, 12},
    {"a generic copy", "",
     HEAD
     "st.u32 [%rd5], %r1;\nld.v2.u32 {%r4, %r5}, [%rd5];\nst.v2.u32 [%rd7], {%r4, %r5};\nld.u32 %r2, [%rd7];\n" USE,
     SILENT},
    {"its unset half", "",
     HEAD "st.u32 [%rd5], %r1;\nld.v2.u32 {%r4, %r5}, [%rd5];\nst.v2.u32 [%rd7], {%r4, %r5};\nld.u32 %r2, "
          "[%rd7+4];\n" USE,
     8, 0, "%r2", 0, 32},
    /* functions */
    {"a frame of each activation", RECURSIVE, HEAD CALL_RECURSIVE USE, 7, 0, "%r2", 5, 1},
    {"the same, not used", RECURSIVE, HEAD CALL_RECURSIVE "mov.u32 %r2, 0;\n" USE, SILENT},
    {"a parameter whose address is taken", SPILLED, HEAD "st.local.u32 [x], 1;\n" CALL_SPILLED USE, 9, 0, "%r2", 0, 32},
    {"the same, set", SPILLED, HEAD "st.local.u32 [x+4], 1;\n" CALL_SPILLED USE, SILENT},
    {"printed", VPRINTF, HEAD "@%p1 st.local.u32 [x], 1;\n" PRINT, 7, 0, NULL, 20, 12},
    {"printed, set", VPRINTF, HEAD "st.local.u32 [x], 1;\n" PRINT, SILENT},
    /* which load */
    {"two loads, one of them used", "", HEAD "ld.local.u32 %r3, [x];\nld.local.u32 %r2, [x+4];\n" USE, 6, 0, "%r2", 0,
     32},
    {"a load, and a register", "", HEAD "ld.local.u32 %r2, [x];\nadd.u32 %r2, %r2, %r9;\n" USE, 6, 0, "%r2", 0, 32},
    /* 128 bits */
    {"a register of 128 bits", "", HEAD "mov.b128 {%rd8, %rd9}, %q1;\ncvt.u32.u64 %r2, %rd9;\n" USE, 6, 0, "%r2", 0,
     32},
    {"not used", "", HEAD "mov.b128 {%rd8, %rd9}, %q1;\nmov.u32 %r2, 7;\n" USE, SILENT},
    {"stored", "", HEAD "st.global.b128 [%rd1], %q1;\nret;\n", 4, 0, "%q1", 0, 32},
    {"set in some lanes", "",
     HEAD "@%p1 mov.b128 %q1, {%rd2, %rd3};\nmov.b128 %q2, %q1;\nmov.b128 {%rd8, %rd9}, %q2;\ncvt.u32.u64 %r2, "
          "%rd9;\n" USE,
     8, 0, "%r2", 20, 12},
    {"one half", "", HEAD "mov.b128 %q1, {%rd2, %rd19};\nmov.b128 {%rd8, %rd9}, %q1;\ncvt.u32.u64 %r2, %rd8;\n" USE,
     SILENT},
    {"the other", "", HEAD "mov.b128 %q1, {%rd2, %rd19};\nmov.b128 {%rd8, %rd9}, %q1;\ncvt.u32.u64 %r2, %rd9;\n" USE, 7,
     0, "%r2", 0, 32},
    {"16 bytes of which 8 are set", "",
     HEAD "st.local.u64 [x], %rd3;\nld.local.b128 %q1, [x];\nmov.b128 {%rd8, %rd9}, %q1;\ncvt.u32.u64 %r2, %rd9;\n" USE,
     8, 5, "%r2", 0, 32},
    {"those 8", "",
     HEAD "st.local.u64 [x], %rd3;\nld.local.b128 %q1, [x];\nmov.b128 {%rd8, %rd9}, %q1;\ncvt.u32.u64 %r2, %rd8;\n" USE,
     SILENT},
    {"16 bytes through a function", PASS128, HEAD "st.local.u64 [x+8], 1;\n" CALL128 "cvt.u32.u64 %r2, %rd8;\n" USE, 11,
     0, "%r2", 0, 32},
    {"the 8 that are set", PASS128, HEAD "st.local.u64 [x+8], 1;\n" CALL128 "cvt.u32.u64 %r2, %rd9;\n" USE, SILENT},
    {"a register of each activation", RECURSIVE128, HEAD CALL_RECURSIVE128 USE, 8, 0, "%r2", 5, 1},
    {"the same, not used", RECURSIVE128, HEAD CALL_RECURSIVE128 "mov.u32 %r2, 0;\n" USE, SILENT},
    {"16 bytes that are no more unset", "",
     HEAD "ld.local.b128 %q1, [x];\nmov.b128 %q1, {%rd2, %rd3};\nst.global.b128 [%rd1], %q1;\nret;\n", SILENT},
};

static void check(const struct unset *c, const char *isa, int threads, uint32_t unwatched) {
    static uint32_t out[32];
    struct launch_buffer y = {
        .name = "y", .role = BUFFER_INOUT, .bytes = sizeof out, .cell_bytes = 4, .data = (uint8_t *)out};
    const struct machine_test test = {.module_level = c->module_level,
                                      .body = c->body,
                                      .buffers = &y,
                                      .buffer_count = 1,
                                      .isa = isa,
                                      .threads = threads,
                                      .unwatched = unwatched | WATCH_HAZARDS};
    struct trace t;
    struct ptx_module *m;
    struct error e = {""};
    cr_assert(machine_try(&test, &m, &t, &e), "%s: %s", c->what, e.text);
    const size_t want = c->line && !(unwatched & WATCH_UNINIT);
    cr_assert(t.event_count == want, "%s: %zu events, want %zu; the first at `%s`", c->what, t.event_count, want,
              t.event_count ? t.sites[t.events[0].instruction].text : "");
    if (want) {
        const struct event *v = &t.events[0];
        const int line = t.sites[v->instruction].line,
                  loaded = v->other.present ? t.sites[v->other.instruction].line : 0;
        cr_expect(v->kind == EVENT_UNINITIALISED && line == c->line && v->lane == c->lane && v->count == c->count &&
                      (c->name ? v->name && !strcmp(v->name, c->name) : !v->name) && loaded == c->loaded,
                  "%s: kind %d, line %d, lane %u, %llu times, %s, loaded in line %d", c->what, v->kind, line, v->lane,
                  (unsigned long long)v->count, v->name ? v->name : "no name", loaded);
    }
    trace_free(&t);
    ptx_free(m);
}

Test(machine_unset, local_memory) {
    const char *isas[3];
    const size_t isa_count = machine_isas(isas);
    for (size_t k = 0; k < isa_count * sizeof cases / sizeof *cases; ++k) {
        check(&cases[k / isa_count], isas[k % isa_count], 1, 0);
        check(&cases[k / isa_count], isas[k % isa_count], 3, WATCH_SYNC);
        check(&cases[k / isa_count], isas[k % isa_count], 1, WATCH_UNINIT);
    }
}

/* tests/foreign/speculative.cu, as nvcc makes it: optimised, a variable is loaded ahead of the branch that decides. */
static void run_nvcc(const char *path, const char *entry, const char *isa, int threads, int out[32], struct trace *t,
                     struct ptx_module **m) {
    struct error e = {""};
    int in[32];
    *m = ptx_load(path, &e);
    cr_assert(*m, "%s", e.text);
    for (int i = 0; i < 32; ++i) {
        in[i] = i;
        out[i] = 0x7fa5dead;
    }
    struct launch_buffer buffers[2] = {
        {.name = "x", .role = BUFFER_IN, .bytes = sizeof in, .cell_bytes = 4, .data = (uint8_t *)in},
        {.name = "y", .role = BUFFER_OUT, .bytes = sizeof in, .cell_bytes = 4, .data = (uint8_t *)out}};
    struct launch_arg args[] = {{.buffer = 0, .bytes = 8}, {.buffer = 1, .bytes = 8}};
    const struct launch l = {.module = *m,
                             .entry = entry,
                             .grid = {1, 1, 1},
                             .block = {32, 1, 1},
                             .buffers = buffers,
                             .buffer_count = 2,
                             .args = args,
                             .arg_count = 2,
                             .threads = threads};
    setenv("WARPPROOF_ISA", isa, 1);
    cr_assert(runner_machine.run(&l, t, &e), "%s", e.text);
    unsetenv("WARPPROOF_ISA");
}

Test(machine_unset, what_nvcc_loads_early) {
    static const char *const paths[] = {"tests/foreign/speculative.ptx", "tests/foreign/speculative_debug.ptx"};
    static const struct {
        const char *clean, *fault;
        int used, loaded; /* lines of the source; a copy is loaded more than once */
    } pairs[] = {{"found_clean", "found_fault", 34, 33}, {"copied_clean", "copied_fault", 44, 0}};
    const char *isas[3];
    const size_t isa_count = machine_isas(isas);
    for (size_t k = 0; k < 4 * isa_count; ++k) {
        const size_t pair = k % 2, how = k / 2 % 2;
        const int threads = k % 3 ? 1 : 3;
        struct trace t;
        struct ptx_module *m;
        int out[32];
        run_nvcc(paths[how], pairs[pair].clean, isas[k / 4], threads, out, &t, &m);
        cr_expect(t.event_count == 0, "%s of %s: event %d at `%s`", pairs[pair].clean, paths[how], t.events[0].kind,
                  t.sites[t.events[0].instruction].text);
        for (int i = 0; i < 32; ++i) {
            const int more = pair ? i - 1 : 3 * i, want = i + (i & 1 ? more : 0);
            cr_expect(out[i] == want, "%s of %s: y[%d] = %d, want %d", pairs[pair].clean, paths[how], i, out[i], want);
        }
        trace_free(&t), ptx_free(m);
        run_nvcc(paths[how], pairs[pair].fault, isas[k / 4], threads, out, &t, &m);
        cr_assert(t.event_count == 1, "%s of %s: %zu events", pairs[pair].fault, paths[how], t.event_count);
        const struct event *v = &t.events[0];
        const int loaded = v->other.present ? t.sites[v->other.instruction].line : 0;
        cr_expect(v->kind == EVENT_UNINITIALISED && v->space == SPACE_REGISTER && v->lane == 6 && v->count == 1 &&
                      t.sites[v->instruction].line == pairs[pair].used && loaded == pairs[pair].loaded,
                  "%s of %s: kind %d in line %d, lane %u, %llu times, loaded in line %d", pairs[pair].fault, paths[how],
                  v->kind, t.sites[v->instruction].line, v->lane, (unsigned long long)v->count, loaded);
        trace_free(&t), ptx_free(m);
    }
}

/* Blocks that load unset bytes, use them and trap, on several threads of the CPU: the same events, steps and bytes. */
Test(machine_unset, threads_change_nothing) {
    static const char *const bodies[] = {
        HEAD "mov.u32 %r4, %ctaid.x;\nsetp.gt.u32 %p2, %r4, 2;\n@!%p2 st.local.u32 [x], 1;\nld.local.u32 %r2, [x];\n"
             "setp.eq.u32 %p3, %r4, 5;\n@%p3 trap;\nmul.wide.u32 %rd8, %r4, 128;\nadd.u64 %rd3, %rd3, %rd8;\n" USE,
        /* only what comes after the trap is unset */
        HEAD "mov.u32 %r4, %ctaid.x;\nsetp.gt.u32 %p2, %r4, 5;\n@!%p2 st.local.u32 [x], 1;\nld.local.u32 %r2, [x];\n"
             "setp.eq.u32 %p3, %r4, 5;\n@%p3 trap;\nmul.wide.u32 %rd8, %r4, 128;\nadd.u64 %rd3, %rd3, %rd8;\n" USE,
        HEAD "mov.u32 %r4, %ctaid.x;\nsetp.gt.u32 %p2, %r4, 5;\n@!%p2 st.local.u32 [x], 1;\nld.local.u32 %r2, [x];\n"
             "mul.wide.u32 %rd8, %r4, 128;\nadd.u64 %rd3, %rd3, %rd8;\n" USE};
    static const struct {
        size_t events;
        uint64_t count; /* of the use */
    } want[] = {{2, 64}, {1, 0}, {1, 64}};
    for (size_t k = 0; k < 3; ++k) {
        static uint32_t out[8][32], first[8][32];
        uint64_t steps = 0;
        for (int threads = 1; threads <= 8; threads *= 2) {
            memset(out, 0, sizeof out);
            struct launch_buffer y = {
                .name = "y", .role = BUFFER_INOUT, .bytes = sizeof out, .cell_bytes = 4, .data = (uint8_t *)out};
            const struct machine_test test = {
                .body = bodies[k], .buffers = &y, .buffer_count = 1, .grid = {8, 1, 1}, .threads = threads};
            struct trace t;
            struct ptx_module *m = machine_must(&test, &t);
            cr_assert(t.event_count == want[k].events, "%zu events of program %zu, %d threads", t.event_count, k,
                      threads);
            const struct event *v = &t.events[0];
            cr_expect(v->kind == (want[k].count ? EVENT_UNINITIALISED : EVENT_TRAP) &&
                          (!want[k].count || v->count == want[k].count),
                      "kind %d, %llu times, of program %zu, %d threads", v->kind, (unsigned long long)v->count, k,
                      threads);
            if (threads == 1) {
                memcpy(first, out, sizeof out);
                steps = t.warp_instructions;
            }
            cr_expect(!memcmp(first, out, sizeof out) && steps == t.warp_instructions,
                      "%llu steps of program %zu, %d threads, want %llu", (unsigned long long)t.warp_instructions, k,
                      threads, (unsigned long long)steps);
            trace_free(&t);
            ptx_free(m);
        }
    }
}
