/* Undefined bits that cross a .param variable or a call: each stays undefined, bit by bit and lane by lane, until a use
 * that matters, which is named; what nobody uses, and what is defined on the way, is silent. */
#include "machine_run.h"

#define START  "ld.param.u64 %rd1, [p0];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, 4;\nadd.u64 %rd3, %rd1, %rd2;\n"
#define SILENT 0, NULL, 0, 0
#define USE    "st.global.u32 [%rd3], %r2;\nret;\n"

struct crossing {
    const char *what, *module_level, *body;
    int line; /* of the use, in the body; 0: no event; -1: in the function */
    const char *name;
    unsigned lane;
    uint64_t count;
};

#define LOCAL ".local .align 8 .b8 words[8];\n"

/* Functions: one that adds to what it gets; one whose result is not set for the argument 5, with %q; ... */
#define ADDS "{\nadd.u32 r, a, 1;\nret;\n}\n"
#define REGS ".func (.reg .b32 r) f (.reg .b32 a)\n"
#define SKIPS(set)                                                                                                     \
    ".func (.param .b32 r) f (.param .b32 a)\n{\n.reg .b32 %x;\n.reg .pred %q;\nld.param.b32 %x, [a];\n"               \
    "setp.eq.u32 %q, %x, 5;\n@%q bra Z;\nst.param.b32 [r], %x;\nZ:\n" set "ret;\n}\n"
/* ... and bytes 4, 5 and 6 and 8 to 15 of a structure whose first word it sets always, byte 7 never. */
#define STRUCTURE                                                                                                      \
    ".func (.param .align 8 .b8 r[16]) f (.param .b32 a)\n{\n.reg .b32 %x;\n.reg .b16 %y;\n.reg .pred %q;\n"           \
    "ld.param.b32 %x, [a];\ncvt.u16.u32 %y, %x;\nst.param.b32 [r], %x;\nsetp.eq.u32 %q, %x, 5;\n@%q bra Z;\n"          \
    "st.param.b16 [r+4], %y;\nst.param.b8 [r+6], %y;\nst.param.v2.b32 [r+8], {%x, %x};\nZ:\nret;\n}\n"
#define CALL(load)                                                                                                     \
    START "{\n.param .b32 a;\n.param .b32 r;\nst.param.b32 [a], %r1;\ncall (r), f, (a);\n" load "\n}\n" /* to 11 */
#define CALL_STRUCTURE(load)                                                                                           \
    START "{\n.param .b32 a;\n.param .align 8 .b8 r[16];\nst.param.b32 [a], %r1;\ncall (r), f, (a);\n" load "\n}\n"
#define RECURSIVE                                                                                                      \
    ".func (.param .b32 r) f (.param .b32 a, .param .b32 n)\n{\n.reg .b32 %x<5>;\n.reg .pred %q;\n"                    \
    "ld.param.b32 %x1, [a];\nld.param.b32 %x2, [n];\nsetp.eq.u32 %q, %x2, 0;\n@%q bra Z;\nsub.u32 %x3, %x2, 1;\n"      \
    "{\n.param .b32 b;\n.param .b32 m;\n.param .b32 s;\nst.param.b32 [b], %x1;\nst.param.b32 [m], %x3;\n"              \
    "call (s), f, (b, m);\nld.param.b32 %x4, [s];\n}\nadd.u32 %x4, %x4, 1;\nst.param.b32 [r], %x4;\nret;\nZ:\n"        \
    "setp.eq.u32 %q, %x1, 5;\n@%q bra Y;\nst.param.b32 [r], %x1;\nY:\nret;\n}\n"
#define CALL_RECURSIVE                                                                                                 \
    START "{\n.param .b32 a;\n.param .b32 n;\n.param .b32 r;\nst.param.b32 [a], %r1;\nand.b32 %r3, %r1, 7;\n"          \
          "st.param.b32 [n], %r3;\ncall (r), f, (a, n);\nld.param.b32 %r2, [r];\n}\n" /* to 14 */
#define TWO                                                                                                            \
    ".func (.param .b32 r) f (.param .b32 a)\n{\n.reg .b32 %x;\nld.param.b32 %x, [a];\nst.param.b32 [r], "             \
    "%x;\nret;\n}\n"                                                                                                   \
    ".func (.param .b32 r) g (.param .b32 a)\n{\n.reg .b32 %x;\n.reg .pred %q;\nld.param.b32 %x, [a];\n"               \
    "setp.eq.u32 %q, %x, 21;\n@!%q st.param.b32 [r], %x;\nret;\n}\n"
#define INDIRECT(argument)                                                                                             \
    START "mov.b64 %rd5, f;\nmov.b64 %rd6, g;\nsetp.lt.u32 %p1, %r1, 16;\nselp.b64 %rd7, %rd5, %rd6, %p1;\n" argument  \
          "P: .callprototype (.param .b32 _) _ (.param .b32 _);\n{\n.param .b32 a;\n.param .b32 r;\n"                  \
          "st.param.b32 [a], %r9;\ncall (r), %rd7, (a), P;\nld.param.b32 %r2, [r];\n}\n" /* to 17 */
#define FLOATS                                                                                                         \
    ".func (.param .b32 r) f (.param .b32 a, .param .b64 b)\n{\n.reg .f32 %x;\n.reg .f64 %y;\nld.param.f32 %x, [a];\n" \
    "ld.param.f64 %y, [b];\nst.param.f32 [r], %x;\nret;\n}\n"
#define SPILLED                                                                                                        \
    ".func (.param .b32 r) f (.param .align 4 .b8 a[8])\n{\n.reg .b32 %x;\n.reg .b64 %y;\nmov.b64 %y, a;\n"            \
    "ld.local.b32 %x, [%y+4];\nadd.u32 %x, %x, 1;\nst.param.b32 [r], %x;\nret;\n}\n"
#define CALL_SPILLED                                                                                                   \
    "{\n.param .align 4 .b8 a[8];\n.param .b32 r;\n@%p1 st.param.b32 [a+4], %r1;\ncall (r), f, (a);\n"                 \
    "ld.param.b32 %r2, [r];\n}\n"

static const struct crossing cases[] = {
    /* .param variables */
    {"a variable that one lane does not set", "",
     START "setp.eq.u32 %p1, %r1, 7;\n{\n.param .b32 a;\n@!%p1 st.param.b32 [a], %r1;\nld.param.b32 %r2, [a];\n}\n" USE,
     11, "%r2", 7, 1},
    {"a variable that all set", "",
     START "setp.eq.u32 %p1, %r1, 7;\n{\n.param .b32 a;\nst.param.b32 [a], %r1;\nld.param.b32 %r2, [a];\n}\n" USE,
     SILENT},
    {"an undefined register through a variable", "",
     START "{\n.param .b64 a;\nst.param.b64 [a], %rd9;\nld.param.b32 %r2, [a+4];\n}\n" USE, 10, "%r2", 0, 32},
    {"the half that is defined", "",
     START "{\n.param .b64 a;\nst.param.b64 [a], %rd9;\nst.param.b32 [a+4], %r1;\nld.param.b32 %r2, [a+4];\n}\n" USE,
     SILENT},
    {"the sign of an undefined byte", "",
     START "{\n.param .b32 a;\nst.param.b8 [a], %h9;\nld.param.s8 %h1, [a];\n}\nshr.u16 %h1, %h1, 8;\ncvt.u32.u16 %r2, "
           "%h1;\n" USE,
     12, "%r2", 0, 32},
    /* registers as parameters */
    {"an undefined argument", REGS ADDS, START "call (%r2), f, (%r9);\n" USE, 6, "%r2", 0, 32},
    {"an argument that is its own result", REGS ADDS, START "call (%r2), f, (%r2);\n" USE, 6, "%r2", 0, 32},
    {"the same, defined", REGS ADDS, START "mov.u32 %r2, 3;\ncall (%r2), f, (%r2);\n" USE, SILENT},
    {"a result that is never set", REGS "{\nret;\n}\n", START "call (%r2), f, (%r1);\n" USE, 6, "%r2", 0, 32},
    {"a result of something undefined", REGS "{\n.reg .b32 %z;\nadd.u32 r, a, %z;\nret;\n}\n",
     START "call (%r2), f, (%r1);\n" USE, 6, "%r2", 0, 32},
    {"a constant in place of an undefined argument", REGS "{\nmov.u32 r, 7;\nret;\n}\n",
     START "call (%r2), f, (%r9);\n" USE, SILENT},
    {"the function's own use",
     REGS "{\n.reg .pred %q;\nsetp.eq.u32 %q, a, 3;\nmov.u32 r, 7;\n@%q add.u32 r, r, 1;\nret;\n}\n",
     START "call (%r2), f, (%r9);\n" USE, -1, "%q", 0, 32},
    {"a call that one lane makes", REGS ADDS, START "setp.eq.u32 %p1, %r1, 4;\n@%p1 call (%r2), f, (%r1);\n" USE, 7,
     "%r2", 0, 31},
    {"a parameter that the function spoils, at the second call",
     REGS "{\n.reg .b32 %z;\nadd.u32 r, a, 1;\nadd.u32 a, a, %z;\nret;\n}\n",
     START "call (%r3), f, (%r1);\ncall (%r2), f, (%r1);\n" USE, SILENT},
    {"the same of 64 bits",
     ".func (.reg .b64 r) f (.reg .b64 a)\n{\n.reg .b64 %z;\nadd.u64 r, a, 1;\nadd.u64 a, a, %z;\nret;\n}\n",
     START "call (%rd5), f, (%rd2);\ncall (%rd5), f, (%rd2);\nst.global.u64 [%rd1], %rd5;\nret;\n", SILENT},
    {"the second call has what the first had not", REGS ADDS,
     START "call (%r3), f, (%r9);\nmov.u32 %r9, 3;\ncall (%r2), f, (%r9);\n" USE, SILENT},
    {"the first call has what the second has not", REGS ADDS,
     START "call (%r3), f, (%r1);\ncall (%r2), f, (%r9);\n" USE, 7, "%r2", 0, 32},
    /* results on some paths */
    {"a result that is not set on one path", SKIPS(""), CALL("ld.param.b32 %r2, [r];") USE, 12, "%r2", 5, 1},
    {"a result that both paths set", SKIPS("st.param.b32 [r], 1;\n"), CALL("ld.param.b32 %r2, [r];") USE, SILENT},
    {"a result that is not used", SKIPS(""), CALL("ld.param.b32 %r2, [r];") "mov.u32 %r2, %r1;\n" USE, SILENT},
    {"a result that is computed with, and not used", SKIPS(""),
     CALL("ld.param.b32 %r2, [r];") "setp.ne.u32 %p1, %r1, 5;\nadd.u32 %r2, %r2, 1;\n@%p1 " USE, SILENT},
    /* structures */
    {"the word that is always set", STRUCTURE, CALL_STRUCTURE("ld.param.b32 %r2, [r];") USE, SILENT},
    {"two bytes", STRUCTURE, CALL_STRUCTURE("ld.param.b16 %h1, [r+4];") "cvt.u32.u16 %r2, %h1;\n" USE, 13, "%r2", 5, 1},
    {"the byte that is never set", STRUCTURE, CALL_STRUCTURE("ld.param.b8 %h1, [r+7];") "cvt.u32.u16 %r2, %h1;\n" USE,
     13, "%r2", 0, 32},
    {"that byte and three more", STRUCTURE, CALL_STRUCTURE("ld.param.b32 %r2, [r+4];") USE, 12, "%r2", 0, 32},
    {"the three alone", STRUCTURE, CALL_STRUCTURE("ld.param.b32 %r2, [r+4];") "and.b32 %r2, %r2, 0xffffff;\n" USE, 13,
     "%r2", 5, 1},
    {"one of two words", STRUCTURE, CALL_STRUCTURE("ld.param.v2.b32 {%r3, %r2}, [r+8];") USE, 12, "%r2", 5, 1},
    {"the first of four words", STRUCTURE, CALL_STRUCTURE("ld.param.v4.b32 {%r2, %r3, %r4, %r5}, [r];") USE, SILENT},
    /* recursion, addresses of functions and of parameters, numbers */
    {"the innermost of several activations", RECURSIVE, CALL_RECURSIVE USE, 15, "%r2", 5, 1},
    {"the same, not used", RECURSIVE, CALL_RECURSIVE "mov.u32 %r2, %r1;\n" USE, SILENT},
    {"a result of one of two functions", TWO, INDIRECT("mov.u32 %r9, %r1;\n") USE, 18, "%r2", 21, 1},
    {"both set it", TWO, INDIRECT("mov.u32 %r9, 1;\n") USE, SILENT},
    {"an argument of either", TWO, INDIRECT("setp.ne.u32 %p2, %r1, 3; @%p2 mov.u32 %r9, 1;\n") USE, 18, "%r2", 3, 1},
    {"an argument whose address is taken", SPILLED, START "setp.ne.u32 %p1, %r1, 6;\n" CALL_SPILLED USE, -1, "%r2", 6,
     1},
    {"the same, defined", SPILLED, START "setp.ne.u32 %p1, %r1, 99;\n" CALL_SPILLED USE, SILENT},
    {"floating-point constants", FLOATS,
     START
     "setp.eq.u32 %p1, %r1, 3;\n{\n.param .b32 a;\n.param .b64 b;\n.param .b32 r;\n@%p1 st.param.f32 [a], 0f3F800000;\n"
     "@!%p1 st.param.f32 [a], 0f40000000;\n@%p1 st.param.f64 [b], 0d3FF0000000000000;\n@!%p1 st.param.f64 [b], %d9;\n"
     "call (r), f, (a, b);\nld.param.b32 %r2, [r];\n}\n" USE,
     SILENT},
    {"the same, one path less", FLOATS,
     START
     "setp.eq.u32 %p1, %r1, 3;\n{\n.param .b32 a;\n.param .b64 b;\n.param .b32 r;\n@%p1 st.param.f32 [a], 0f3F800000;\n"
     "st.param.f64 [b], 0d3FF0000000000000;\ncall (r), f, (a, b);\nld.param.b32 %r2, [r];\n}\n" USE,
     15, "%r2", 0, 31},
    /* local memory keeps what is undefined, bit by bit, and its load brings it back */
    {"an undefined register, to local memory and back", "",
     START LOCAL "st.local.b32 [words], %r9;\nld.local.b32 %r2, [words];\n" USE, 8, "%r2", 0, 32},
    {"the same, defined again", "",
     START LOCAL "st.local.b32 [words], %r9;\nst.local.b32 [words], %r1;\nld.local.b32 %r2, [words];\n" USE, SILENT},
    {"the word beside it", "", START LOCAL "st.local.v2.b32 [words], {%r9, %r1};\nld.local.b32 %r2, [words+4];\n" USE,
     SILENT},
    {"the word of the two", "", START LOCAL "st.local.v2.b32 [words], {%r1, %r9};\nld.local.b32 %r2, [words+4];\n" USE,
     8, "%r2", 0, 32},
    {"by a generic address", "",
     START LOCAL "mov.b64 %rd5, words;\ncvta.local.u64 %rd5, %rd5;\nst.b32 [%rd5+4], %r9;\nld.b32 %r2, [%rd5+4];\n" USE,
     10, "%r2", 0, 32},
    {"the word beside it, by a generic address", "",
     START LOCAL "mov.b64 %rd5, words;\ncvta.local.u64 %rd5, %rd5;\nst.v2.b32 [%rd5], {%r9, %r1};\nld.b32 %r2, "
                 "[%rd5+4];\n" USE,
     SILENT},
    {"by a generic address that is global", "", START "st.b32 [%rd3], %r9;\nret;\n", 5, "%r9", 0, 32},
    {"a lane's result, stored and not used", SKIPS(""),
     CALL("ld.param.b32 %r2, [r];") ".local .align 8 .b8 words[8];\nst.local.b32 [words], %r2;\n"
                                    "mov.u32 %r2, %r1;\n" USE,
     SILENT},
    {"a lane's result, stored and used", SKIPS(""),
     CALL("ld.param.b32 %r2, [r];") ".local .align 8 .b8 words[8];\nst.local.b32 [words], %r2;\n"
                                    "ld.local.b32 %r2, [words];\n" USE,
     15, "%r2", 5, 1},
    {"a register that is half undefined, stored to local memory", "",
     START LOCAL "mov.b64 %rd8, {%r1, %r9};\nst.local.b64 [words], %rd8;\nld.local.b32 %r2, [words+4];\n" USE, 9, "%r2",
     0, 32},
    {"its defined half", "",
     START LOCAL "mov.b64 %rd8, {%r1, %r9};\nst.local.b64 [words], %rd8;\nld.local.b32 %r2, [words];\n" USE, SILENT},
    {"the same by a generic address that is global", "",
     START "mov.u32 %r2, 3;\nmov.b64 %rd8, {%r2, %r9};\nst.b32 [%rd1], %rd8;\nst.b64 [%rd1], %rd8;\nret;\n", 8, "%rd8",
     0, 32},
};

static void check(const struct crossing *c, const char *isa, uint32_t unwatched) {
    static uint32_t out[32];
    struct launch_buffer y = {
        .name = "y", .role = BUFFER_INOUT, .bytes = sizeof out, .cell_bytes = 4, .data = (uint8_t *)out};
    const struct machine_test test = {.module_level = c->module_level,
                                      .body = c->body,
                                      .buffers = &y,
                                      .buffer_count = 1,
                                      .isa = isa,
                                      .unwatched = unwatched};
    struct trace t;
    struct ptx_module *m;
    struct error e = {""};
    cr_assert(machine_try(&test, &m, &t, &e), "%s: %s", c->what, e.text);
    const size_t want = c->line && !unwatched;
    cr_assert(t.event_count == want, "%s: %zu events, want %zu; the first at `%s`", c->what, t.event_count, want,
              t.event_count ? t.sites[t.events[0].instruction].text : "");
    if (want) {
        const struct event *v = &t.events[0];
        const int line = t.sites[v->instruction].line;
        cr_expect(v->kind == EVENT_UNINITIALISED && (c->line < 0 || line == c->line) && v->lane == c->lane &&
                      v->count == c->count && (c->name ? v->name && !strcmp(v->name, c->name) : !v->name),
                  "%s: kind %d, line %d, lane %u, %llu times, %s", c->what, v->kind, line, v->lane,
                  (unsigned long long)v->count, v->name ? v->name : "no name");
    }
    trace_free(&t);
    ptx_free(m);
}

Test(machine_undefined_call, every_crossing) {
    const char *isas[3];
    const size_t isa_count = machine_isas(isas);
    for (size_t k = 0; k < isa_count * sizeof cases / sizeof *cases; ++k) {
        check(&cases[k / isa_count], isas[k % isa_count], 0);
        check(&cases[k / isa_count], isas[k % isa_count], WATCH_UNINIT);
    }
}
