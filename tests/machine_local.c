/* Local memory on the PTX machine: variables, frames, generic addresses, alloca, bounds, uninitialised bytes; addresses
 * of the kernel's parameters; isspacep. */
#include "../ref/checked.h"
#include "machine_run.h"

#define TID "mov.u32 %r1, %tid.x;\n"
#define STORE                                                                                                          \
    "mul.wide.u32 %rd9, %r1, 4;\nld.param.u64 %rd8, [p0];\nadd.s64 %rd9, %rd9, %rd8;\nst.global.u32 [%rd9], "          \
    "%r2;\nret;\n"

enum { LANES = 32 };

static struct ptx_module *run(const char *what, const char *module_level, const char *body, const char *isa,
                              uint32_t out[LANES], struct trace *t) {
    for (int i = 0; i < LANES; ++i)
        out[i] = 0x7fa5dead;
    struct launch_buffer b = {
        .name = "out", .role = BUFFER_OUT, .bytes = 4 * LANES, .cell_bytes = 4, .data = (uint8_t *)out};
    const struct machine_test test = {.module_level = module_level,
                                      .body = body,
                                      .buffers = &b,
                                      .buffer_count = 1,
                                      .shared = 256,
                                      .isa = isa,
                                      .budget = 1 << 16};
    struct ptx_module *m;
    struct error e = {""};
    const bool ok = machine_try(&test, &m, t, &e);
    cr_assert(ok, "%s: %s", what, e.text);
    return m;
}

static uint32_t own(uint32_t i) {
    return i * 3 + 1;
}
static uint32_t rotated(uint32_t i) {
    return 100 * ((i + 3) % 8) + i;
}
static uint32_t bytes(uint32_t i) {
    return (uint32_t)(int32_t)(int8_t)(0xf0 + i) + (uint16_t)(0xfff0 + i) + i;
}
static uint32_t vectors(uint32_t i) {
    return 1 * i + 10 * (i + 1) + 100 * (i + 2) + 1000 * (i + 3);
}
static uint32_t spaces(uint32_t i) {
    return (void)i, 0x5421;
}
static uint32_t stack(uint32_t i) {
    return i * i + 5;
}
static uint32_t spilled(uint32_t i) {
    return i % 2 ? i + 7 : 2 * i;
}

/* Writes eight words through a generic pointer to its caller's frame, and has a frame of its own. */
#define FILL                                                                                                           \
    ".func fill (.param .b64 p, .param .b32 lane)\n{\n.reg .b64 %l<4>;\n.reg .b32 %a<6>;\n.reg .pred %q;\n"            \
    ".local .align 8 .b8 mine[16];\nld.param.b64 %l1, [p];\nld.param.b32 %a1, [lane];\nmov.u64 %l2, mine;\n"           \
    "st.local.u32 [%l2+8], %a1;\nmov.u32 %a2, 0;\nL: mul.lo.u32 %a3, %a2, 100;\nld.local.u32 %a4, [mine+8];\n"         \
    "add.u32 %a3, %a3, %a4;\nst.u32 [%l1], %a3;\nadd.s64 %l1, %l1, 4;\nadd.u32 %a2, %a2, 1;\n"                         \
    "setp.lt.u32 %q, %a2, 8;\n@%q bra L;\nret;\n}\n"

Test(machine_local, programs) {
    static const struct {
        const char *what, *module_level, *body;
        uint32_t (*want)(uint32_t lane);
    } programs[] = {
        {"a word at one address", "",
         ".local .align 4 .b8 x[64];\n" TID "mad.lo.u32 %r3, %r1, 3, 1; st.local.u32 [x+60], %r3;\n"
         "ld.local.u32 %r2, [x+60];\n" STORE,
         own},
        {"an index of each lane, from a function, through a generic pointer", FILL,
         ".local .align 16 .b8 x[32];\n" TID "mov.u64 %rd1, x; cvta.local.u64 %rd2, %rd1;\n"
         "{ .param .b64 a; .param .b32 b; st.param.b64 [a], %rd2; st.param.b32 [b], %r1; call fill, (a, b); }\n"
         "add.u32 %r3, %r1, 3; and.b32 %r3, %r3, 7; mul.wide.u32 %rd3, %r3, 4; add.s64 %rd3, %rd3, %rd1;\n"
         "ld.local.u32 %r2, [%rd3];\n" STORE,
         rotated},
        {"bytes and half words, odd addresses", "",
         ".local .align 8 .b8 x[16];\n" TID "add.u32 %r3, %r1, 0xf0; add.u32 %r4, %r1, 0xfff0; cvt.u16.u32 %h1, %r4;\n"
         "st.local.u8 [x+3], %r3; st.local.u16 [x+6], %h1; cvt.u64.u32 %rd1, %r1; st.local.u64 [x+8], %rd1;\n"
         "ld.local.s8 %r5, [x+3]; ld.local.u16 %r6, [x+6]; ld.local.u32 %r7, [x+8]; add.u32 %r2, %r5, %r6;\n"
         "add.u32 %r2, %r2, %r7;\n" STORE,
         bytes},
        {"vectors, each lane its own address", "",
         ".local .align 16 .b8 x[528];\n" TID "mov.u64 %rd1, x; mul.wide.u32 %rd2, %r1, 16; add.s64 %rd1, %rd1, %rd2;\n"
         "add.u32 %r4, %r1, 1; add.u32 %r5, %r1, 2; add.u32 %r6, %r1, 3; st.local.v4.u32 [%rd1], {%r1, %r4, %r5, "
         "%r6};\n"
         "ld.local.v2.u32 {%r10, %r11}, [%rd1]; ld.local.v2.b64 {%rd4, %rd5}, [%rd1]; mov.b64 {%r12, %r13}, %rd5;\n"
         "mad.lo.u32 %r2, %r11, 10, %r10; mad.lo.u32 %r2, %r12, 100, %r2; mad.lo.u32 %r2, %r13, 1000, %r2;\n" STORE,
         vectors},
        {"isspacep", ".const .b32 fixed = 3;\n.extern .shared .b8 sm[];\n",
         ".local .b32 x;\n" TID
         "mov.u64 %rd1, x; cvta.local.u64 %rd1, %rd1; mov.u64 %rd2, sm; cvta.shared.u64 %rd2, %rd2;\n"
         "mov.u64 %rd3, fixed; cvta.const.u64 %rd3, %rd3; ld.param.u64 %rd4, [p0]; mov.b64 %rd5, p0;\n"
         "cvta.param.u64 %rd5, %rd5; mov.u32 %r2, 0;\n"
         "isspacep.local %p1, %rd1; @%p1 or.b32 %r2, %r2, 1; isspacep.global %p1, %rd1; @%p1 trap;\n"
         "isspacep.shared %p1, %rd2; @%p1 or.b32 %r2, %r2, 0x20; isspacep.local %p1, %rd2; @%p1 trap;\n"
         "isspacep.const %p1, %rd3; @%p1 or.b32 %r2, %r2, 0x400; isspacep.global %p1, %rd3; @%p1 trap;\n"
         "isspacep.global %p1, %rd4; @%p1 or.b32 %r2, %r2, 0x1000; isspacep.shared %p1, %rd4; @%p1 trap;\n"
         "isspacep.param %p1, %rd5; @%p1 or.b32 %r2, %r2, 0x4000; isspacep.const %p1, %rd5; @%p1 trap;\n" STORE,
         spaces},
        {"alloca of a size of each lane", "",
         TID "stacksave.u64 %rd5; add.u32 %r3, %r1, 1; mul.wide.u32 %rd1, %r3, 8; alloca.u64 %rd2, %rd1, 32;\n"
             "mul.wide.u32 %rd3, %r1, 8; add.s64 %rd4, %rd2, %rd3; mul.wide.u32 %rd6, %r1, %r1; st.local.u64 [%rd4], "
             "%rd6;\n"
             "alloca.u64 %rd7, 16; st.local.u32 [%rd7+12], 5; ld.local.u32 %r4, [%rd4]; ld.local.u32 %r5, [%rd7+12];\n"
             "stackrestore.u64 %rd5; alloca.u64 %rd7, 8; st.local.u64 [%rd7], 0; add.u32 %r2, %r4, %r5;\n" STORE,
         stack},
        {"a parameter whose address is taken",
         ".func (.param .b32 r) f (.param .align 4 .b8 s[8], .param .b32 k)\n{ .reg .b64 %l<4>; .reg .b32 %a<4>;\n"
         "mov.b64 %l1, s; ld.param.b32 %a1, [k]; mul.wide.u32 %l2, %a1, 4; add.s64 %l1, %l1, %l2; ld.local.u32 %a2, "
         "[%l1];\n"
         "st.local.u32 [s+4], 0; st.param.b32 [r], %a2; ret; }\n",
         TID "{ .param .align 4 .b8 s[8]; .param .b32 k; .param .b32 r; shl.b32 %r3, %r1, 1; add.u32 %r4, %r1, 7;\n"
             "and.b32 %r5, %r1, 1; st.param.v2.b32 [s], {%r3, %r4}; st.param.b32 [k], %r5; call (r), f, (s, k);\n"
             "ld.param.b32 %r2, [r]; }\n" STORE,
         spilled},
        {"a local variable of the module",
         ".local .align 8 .b8 m[24];\n"
         ".func (.param .b32 r) get () { .reg .b32 %a; .local .b32 y; ld.local.u32 %a, [m+16]; st.local.u32 [y], 0;\n"
         "st.param.b32 [r], %a; ret; }\n",
         ".local .b32 x;\n" TID "mad.lo.u32 %r3, %r1, 3, 1; st.local.u32 [m+16], %r3; st.local.u32 [x], 99;\n"
         "{ .param .b32 r; call (r), get, (); ld.param.b32 %r2, [r]; }\n" STORE,
         own},
        {"a variable that is aligned behind those of the module", ".local .b8 m[3];\n",
         ".local .align 16 .b8 x[16];\n" TID "mad.lo.u32 %r3, %r1, 3, 1; st.local.u32 [x+12], %r3;\n"
         "stacksave.u64 %rd5; alloca.u64 %rd7, 8; stackrestore.u64 %rd5; st.local.u8 [m+2], 0;\n"
         "ld.local.u32 %r2, [x+12];\n" STORE,
         own},
    };
    const char *isas[3];
    const size_t isa_count = machine_isas(isas);
    for (size_t i = 0; i < sizeof programs / sizeof *programs; ++i)
        for (size_t k = 0; k < isa_count; ++k) {
            uint32_t out[LANES];
            struct trace t;
            struct ptx_module *m = run(programs[i].what, programs[i].module_level, programs[i].body, isas[k], out, &t);
            cr_assert(t.event_count == 0, "%s: event %d of space %d, offset %lld, at `%s`", programs[i].what,
                      t.events[0].kind, t.events[0].space, (long long)t.events[0].offset,
                      t.sites[t.events[0].instruction].text);
            for (uint32_t l = 0; l < LANES; ++l)
                cr_assert(out[l] == programs[i].want(l), "%s on %s: lane %u has 0x%x, want 0x%x", programs[i].what,
                          isas[k], l, out[l], programs[i].want(l));
            trace_free(&t);
            ptx_free(m);
        }
}

/* One event each, of local or parameter memory; and a twin that is in order. */
Test(machine_local, faults) {
    static const struct {
        const char *what, *module_level, *body;
        enum event_kind kind;
        enum event_space space;
        int64_t offset;
        uint32_t lane;
    } rows[] = {
        {"a load past the frame", "",
         ".local .align 4 .b8 x[8];\n" TID "st.local.v2.u32 [x], {%r1, %r1}; ld.local.u32 %r2, [x+8];\nret;\n",
         EVENT_OUT_OF_BOUNDS, SPACE_LOCAL, 8, 0},
        {"a store by the lanes from 5 on", "",
         ".local .align 4 .b8 x[20];\n" TID "mul.wide.u32 %rd1, %r1, 4; mov.u64 %rd2, x; add.s64 %rd1, %rd1, %rd2;\n"
         "st.local.u32 [%rd1], %r1;\nret;\n",
         EVENT_OUT_OF_BOUNDS, SPACE_LOCAL, 20, 5},
        {"past the frame, generic", "",
         ".local .align 4 .b8 x[8];\n" TID
         "mov.u64 %rd2, x; cvta.local.u64 %rd2, %rd2; st.u32 [%rd2], %r1; st.u32 [%rd2+12], %r1;\nret;\n",
         EVENT_OUT_OF_BOUNDS, SPACE_LOCAL, 12, 0},
        {"misaligned", "", ".local .align 8 .b8 x[8];\n" TID "st.local.u32 [x+2], %r1;\nret;\n", EVENT_MISALIGNED,
         SPACE_LOCAL, 2, 0},
        {"between two frames",
         ".func f () { .local .align 4 .b8 y[8]; .reg .b64 %l; mov.u64 %l, y; st.local.u32 [%l+-4], 1; ret; }\n",
         ".local .align 4 .b8 x[8];\ncall f, ();\nret;\n", EVENT_OUT_OF_BOUNDS, SPACE_LOCAL, -4, 0},
        {"a frame that has been left",
         ".func (.param .b64 r) f () { .local .align 4 .b8 y[8]; .reg .b64 %l; mov.u64 %l, y; st.param.b64 [r], %l; "
         "ret; }\n",
         ".local .align 4 .b8 x[8];\n{ .param .b64 r; call (r), f, (); ld.param.b64 %rd1, [r]; }\nst.local.u32 [%rd1], "
         "1;\nret;\n",
         EVENT_OUT_OF_BOUNDS, SPACE_LOCAL, 80, 0},
        {"an uninitialised word", "", ".local .b32 x;\n" TID "ld.local.u32 %r2, [x]; add.u32 %r2, %r2, 1;\n" STORE,
         EVENT_UNINITIALISED, SPACE_REGISTER, 0, 0},
        {"one element of a vector, in some lanes", "",
         ".local .align 16 .b8 x[16];\n" TID "st.local.u64 [x], 0; st.local.u32 [x+8], 0; setp.ne.u32 %p1, %r1, 9;\n"
         "@%p1 st.local.u32 [x+12], 1; ld.local.v4.u32 {%r2, %r3, %r4, %r5}, [x]; add.u32 %r2, %r2, %r5;\n" STORE,
         EVENT_UNINITIALISED, SPACE_REGISTER, 0, 9},
        {"a second activation's frame is new",
         ".func f (.param .b32 a) { .local .b32 y; .reg .b32 %x<3>; .reg .pred %q; ld.param.b32 %x1, [a];\n"
         "setp.eq.u32 %q, %x1, 0; @%q st.local.u32 [y], 5; ld.local.u32 %x2, [y]; setp.eq.u32 %q, %x1, %x2;\n"
         "@%q trap; ret; }\n",
         "{ .param .b32 x; st.param.b32 [x], 0; call f, (x); }\n{ .param .b32 x; st.param.b32 [x], 1; call f, (x); "
         "}\nret;\n",
         EVENT_UNINITIALISED, SPACE_REGISTER, 0, 0},
        {"a stack pointer from elsewhere", "", "stackrestore.u64 64;\nret;\n", EVENT_OUT_OF_BOUNDS, SPACE_LOCAL, 64, 0},
        {"past the parameters", "", "mov.b64 %rd1, p0; ld.param.u32 %r1, [%rd1+8];\nret;\n", EVENT_OUT_OF_BOUNDS,
         SPACE_PARAM, 8, 0},
        {"a store into the parameters", "", "mov.b64 %rd1, p0; cvta.param.u64 %rd1, %rd1; st.u32 [%rd1+4], 1;\nret;\n",
         EVENT_READ_ONLY, SPACE_PARAM, 4, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        uint32_t out[LANES];
        struct trace t;
        struct ptx_module *m = run(rows[i].what, rows[i].module_level, rows[i].body, NULL, out, &t);
        cr_assert(t.event_count == 1, "%s: %zu events, the first %d at `%s`", rows[i].what, t.event_count,
                  t.event_count ? (int)t.events[0].kind : -1,
                  t.event_count ? t.sites[t.events[0].instruction].text : "");
        const struct event *v = &t.events[0];
        cr_assert(v->kind == rows[i].kind && v->space == rows[i].space && v->offset == rows[i].offset &&
                      v->lane == rows[i].lane,
                  "%s: event %d of space %d, offset %lld, lane %u", rows[i].what, v->kind, v->space,
                  (long long)v->offset, v->lane);
        trace_free(&t);
        ptx_free(m);
    }
}

/* Copies of what was never set, padding and unused fields among it, are no fault; nor is a word that is partly set. */
Test(machine_local, copies_are_no_reads) {
    static const char body[] =
        ".local .align 8 .b8 x[16];\n.local .align 8 .b8 y[16];\n" TID "st.local.u8 [x], %r1; ld.local.u32 %r3, [x];\n"
        "st.local.u32 [y], %r3; ld.local.u64 %rd1, [x+8]; st.local.u64 [y+8], %rd1; ld.local.u8 %r2, [y]; add.u32 %r2, "
        "%r2, 0;\n" STORE;
    uint32_t out[LANES];
    struct trace t;
    struct ptx_module *m = run("copies", "", body, NULL, out, &t);
    cr_assert(t.event_count == 0, "event %d at `%s`", t.events[0].kind, t.sites[t.events[0].instruction].text);
    for (uint32_t i = 0; i < LANES; ++i)
        cr_assert(out[i] == i, "lane %u has %u", i, out[i]);
    trace_free(&t);
    ptx_free(m);
}
