/* Functions on the PTX machine: arguments and results, recursion, calls through addresses, divergence inside functions,
 * indexed branches; and programs that get them wrong. */
#include "machine_run.h"

#define STORE "mul.wide.u32 %rd9, %r1, 4;\nld.param.u64 %rd8, [p0];\nadd.s64 %rd9, %rd9, %rd8;\n"
#define TID   "mov.u32 %r1, %tid.x;\n"

enum { LANES = 32 };

static struct launch_buffer out_buffer(uint32_t *out, size_t cells) {
    for (size_t i = 0; i < cells; ++i)
        out[i] = 0x7fa5dead;
    return (struct launch_buffer){
        .name = "out", .role = BUFFER_OUT, .bytes = 4 * cells, .cell_bytes = 4, .data = (uint8_t *)out};
}

/* One warp; what: for messages. The caller frees the module and the trace. */
static struct ptx_module *run(const char *what, const char *module_level, const char *body, uint32_t out[LANES],
                              struct trace *t) {
    struct launch_buffer b = out_buffer(out, LANES);
    const struct machine_test test = {
        .module_level = module_level, .body = body, .buffers = &b, .buffer_count = 1, .budget = 1 << 20};
    struct ptx_module *m;
    struct error e = {""};
    const bool ok = machine_try(&test, &m, t, &e);
    cr_assert(ok, "%s: %s", what, e.text);
    return m;
}

struct program {
    const char *what, *module_level, *body;
    uint32_t (*want)(uint32_t lane);
};

static void check(const struct program *p) {
    uint32_t out[LANES];
    struct trace t;
    struct ptx_module *m = run(p->what, p->module_level, p->body, out, &t);
    cr_assert(t.event_count == 0, "%s: event %d of space %d, offset %lld, at `%s`", p->what, t.events[0].kind,
              t.events[0].space, (long long)t.events[0].offset, t.sites[t.events[0].instruction].text);
    for (uint32_t i = 0; i < LANES; ++i)
        cr_assert(out[i] == p->want(i), "%s: lane %u has 0x%x, want 0x%x", p->what, i, out[i], p->want(i));
    trace_free(&t);
    ptx_free(m);
}

#define FIB                                                                                                            \
    ".func (.param .b32 r) fib (.param .b32 n)\n{\n.reg .b32 %a<8>;\n.reg .pred %q;\nld.param.b32 %a1, [n];\n"         \
    "setp.lt.u32 %q, %a1, 2;\n@%q bra DONE;\n{ .param .b32 x; .param .b32 y; sub.u32 %a2, %a1, 1;\n"                   \
    "st.param.b32 [x+0], %a2; call.uni (y), fib, (x); ld.param.b32 %a3, [y+0]; }\n"                                    \
    "{ .param .b32 x; .param .b32 y; sub.u32 %a2, %a1, 2;\nst.param.b32 [x], %a2; call.uni (y), fib, (x);\n"           \
    "ld.param.b32 %a4, [y]; }\nadd.u32 %a1, %a3, %a4;\nDONE:\nst.param.b32 [r], %a1;\nret;\n}\n"

static uint32_t fib(uint32_t n) {
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}
static uint32_t want_fib(uint32_t i) {
    return fib(i & 15);
}

/* Parameters of every width and in vectors, packed in structures; results likewise. */
#define PARTS                                                                                                          \
    ".func (.param .align 8 .b8 r[24]) parts (.param .b8 a, .param .b16 b, .param .align 8 .b8 c[24], .param .b64 "    \
    "d)\n"                                                                                                             \
    "{\n.reg .b16 %h<6>;\n.reg .b32 %a<6>;\n.reg .b64 %l<6>;\n.reg .f32 %f<6>;\nld.param.s8 %h1, [a];\n"               \
    "ld.param.u16 %h2, [b];\nld.param.v2.f32 {%f1, %f2}, [c+8];\nld.param.u8 %a1, [c+1];\nld.param.s16 %a2, [c+2];\n"  \
    "ld.param.s8 %l1, [c+4];\nld.param.u64 %l2, [c+16];\nld.param.s64 %l3, [d];\ncvt.s32.s16 %a3, %h1;\n"              \
    "cvt.u32.u16 %a4, %h2;\nadd.u32 %a3, %a3, %a4;\nst.param.b32 [r], %a3;\nadd.u32 %a1, %a1, %a2;\n"                  \
    "st.param.b16 [r+4], %a1;\ncvt.u16.u32 %h3, %a2;\nst.param.v2.b8 [r+6], {%h3, %h1};\nadd.s64 %l2, %l2, %l1;\n"     \
    "add.s64 %l2, %l2, %l3;\nst.param.b64 [r+8], %l2;\nst.param.v2.f32 [r+16], {%f2, %f1};\nret;\n}\n"

static uint32_t want_parts(uint32_t i) {
    const uint32_t first = (uint32_t)(int32_t)(int8_t)(200 + i) + (60000 + i);
    const uint32_t second = (uint16_t)((i & 0xff) + (uint32_t)(int32_t)(int16_t)(0xff00 + i));
    const uint64_t third = (uint64_t)i * 0x100000001u + (uint64_t)(int64_t)(int8_t)(0x80 + i) + 0xfffffffffffffff0u;
    return first ^ second << 7 ^ (uint32_t)third ^ (uint32_t)(third >> 32) ^ (0x40000000 + i) * 3 ^ (0x3f800000 + i) ^
           ((i << 8 | (uint8_t)(200 + i)) << 16 >> 16);
}

static uint32_t want_pointer(uint32_t i) {
    return i % 3 == 0 ? i + 100 : i % 3 == 1 ? i * 7 : i ^ 0xff;
}
#define THREE                                                                                                          \
    ".func (.param .b32 r) f0 (.param .b32 a);\n.func (.param .b32 r) f1 (.param .b32 a);\n"                           \
    ".func (.param .b32 r) f2 (.param .b32 a);\n.global .u64 tab[3] = {f0, f1, f2};\n"                                 \
    ".func (.param .b32 r) f0 (.param .b32 a) { .reg .b32 %x; ld.param.b32 %x, [a]; add.u32 %x, %x, 100;\n"            \
    "st.param.b32 [r], %x; ret; }\n"                                                                                   \
    ".func (.param .b32 r) f1 (.param .b32 a) { .reg .b32 %x; ld.param.b32 %x, [a]; mul.lo.u32 %x, %x, 7;\n"           \
    "st.param.b32 [r], %x; ret; }\n"                                                                                   \
    ".func (.param .b32 r) f2 (.param .b32 a) { .reg .b32 %x; ld.param.b32 %x, [a]; xor.b32 %x, %x, 255;\n"            \
    "st.param.b32 [r], %x; }\n"
#define INDIRECT(target, tail)                                                                                         \
    "{ .param .b32 x; .param .b32 y; P: .callprototype (.param .b32 _) _ (.param .b32 _);\nst.param.b32 [x], %r1;\n"   \
    "call (y), " target ", (x), " tail ";\nld.param.b32 %r2, [y]; }\n"

static uint32_t want_registers(uint32_t i) {
    return 3 * i + 5 + (i & 1 ? 0x10000 : 0);
}

static uint32_t want_sum(uint32_t i) {
    uint32_t s = 0;
    for (uint32_t k = 0; k < 32; ++k)
        s += k % 2 == i % 2 ? k : 0;
    return s;
}

/* Even and odd lanes call the same function at two places; in it they shuffle among themselves. */
#define SUM                                                                                                            \
    ".func (.param .b32 r) sum (.param .b32 a, .param .b32 members)\n{\n.reg .b32 %a<8>;\nld.param.b32 %a1, [a];\n"    \
    "ld.param.b32 %a2, [members];\n"                                                                                   \
    "shfl.sync.bfly.b32 %a3, %a1, 2, 31, %a2; add.u32 %a1, %a1, %a3;\n"                                                \
    "shfl.sync.bfly.b32 %a3, %a1, 4, 31, %a2; add.u32 %a1, %a1, %a3;\n"                                                \
    "shfl.sync.bfly.b32 %a3, %a1, 8, 31, %a2; add.u32 %a1, %a1, %a3;\n"                                                \
    "shfl.sync.bfly.b32 %a3, %a1, 16, 31, %a2; add.u32 %a1, %a1, %a3;\nst.param.b32 [r], %a1;\nret;\n}\n"
#define CALL_SUM(members)                                                                                              \
    "{ .param .b32 x; .param .b32 y; .param .b32 z; st.param.b32 [x], %r1; st.param.b32 [y], " members ";\n"           \
    "call (z), sum, (x, y); ld.param.b32 %r2, [z]; }\n"

static uint32_t want_early(uint32_t i) {
    return i < 8 ? i : i < 16 ? 1000 + i : 2000 + 2 * i;
}
static uint32_t want_exit(uint32_t i) {
    return i < 12 ? 0x7fa5dead : 0xfffff000u + i;
}
static uint32_t want_switch(uint32_t i) {
    static const uint32_t rows[] = {10, 20, 10, 30};
    return i & 4 ? 40 : rows[i & 3];
}
static uint32_t want_mutual(uint32_t i) {
    return i % 2 == 0 ? 77 : 99;
}

Test(machine_call, programs) {
    static const struct program programs[] = {
        {"recursion by 16 depths at once", FIB,
         TID "and.b32 %r3, %r1, 15;\n{ .param .b32 x; .param .b32 y; st.param.b32 [x], %r3;\n"
             "call.uni (y), fib, (x); ld.param.b32 %r2, [y]; }\n" STORE "st.global.u32 [%rd9], %r2;\nret;\n",
         want_fib},
        {"parameters of every width", PARTS,
         TID "{ .param .b8 a; .param .b16 b; .param .align 8 .b8 c[24]; .param .b64 d; .param .align 8 .b8 r[24];\n"
             "add.u32 %r2, %r1, 200; st.param.b8 [a], %r2; add.u32 %r3, %r1, 60000; st.param.b16 [b], %r3;\n"
             "cvt.u16.u32 %h1, %r1; st.param.b8 [c], 99; st.param.b8 [c+1], %h1; add.u32 %r4, %r1, 0xff00;\n"
             "st.param.b16 [c+2], %r4; add.u32 %r4, %r1, 0x80; st.param.b8 [c+4], %r4; mov.b32 %f1, %r1;\n"
             "add.u32 %r5, %r1, 0x3f800000; add.u32 %r6, %r1, 0x40000000; mov.b32 %f1, %r5; mov.b32 %f2, %r6;\n"
             "st.param.v2.f32 [c+8], {%f1, %f2}; mov.b64 %rd1, {%r1, %r1}; st.param.b64 [c+16], %rd1;\n"
             "st.param.b64 [d], -16; call (r), parts, (a, b, c, d);\n"
             "ld.param.b32 %r10, [r]; ld.param.u16 %r11, [r+4]; ld.param.u16 %r12, [r+6]; ld.param.b64 %rd2, [r+8];\n"
             "ld.param.v2.f32 {%f3, %f4}, [r+16]; }\nshl.b32 %r11, %r11, 7; xor.b32 %r10, %r10, %r11;\n"
             "mov.b64 {%r13, %r14}, %rd2; xor.b32 %r10, %r10, %r13; xor.b32 %r10, %r10, %r14; mov.b32 %r15, %f3;\n"
             "mul.lo.u32 %r15, %r15, 3; xor.b32 %r10, %r10, %r15; mov.b32 %r15, %f4; xor.b32 %r10, %r10, %r15;\n"
             "and.b32 %r16, %r12, 255; shl.b32 %r16, %r16, 8; shr.u32 %r17, %r12, 8; or.b32 %r16, %r16, %r17;\n"
             "xor.b32 %r10, %r10, %r16;\n" STORE "st.global.u32 [%rd9], %r10;\nret;\n",
         want_parts},
        {"a table of functions", THREE,
         TID "rem.u32 %r3, %r1, 3; mul.wide.u32 %rd1, %r3, 8; mov.u64 %rd2, tab; add.s64 %rd1, %rd1, %rd2;\n"
             "ld.global.u64 %rd3, [%rd1];\n" INDIRECT("%rd3", "P") STORE "st.global.u32 [%rd9], %r2;\nret;\n",
         want_pointer},
        {"addresses by mov and a list of targets", THREE,
         TID "rem.u32 %r3, %r1, 3; setp.eq.u32 %p1, %r3, 0; setp.eq.u32 %p2, %r3, 1; mov.u64 %rd1, f0;\n"
             "mov.u64 %rd2, f1; mov.u64 %rd3, f2; selp.b64 %rd3, %rd2, %rd3, %p2; selp.b64 %rd3, %rd1, %rd3, %p1;\n"
             "T: .calltargets f0, f1, f2;\n" INDIRECT("%rd3", "T") STORE "st.global.u32 [%rd9], %r2;\nret;\n",
         want_pointer},
        {"parameters and results in registers, a guarded call",
         ".func (.reg .b32 r) triple (.reg .b32 a, .reg .b32 b) { mad.lo.u32 r, a, 3, b; ret; }\n"
         ".func (.reg .b64 r) wide (.reg .b64 a, .reg .b16 b) { .reg .b64 %x; cvt.u64.u16 %x, b; add.s64 r, a, %x; }\n",
         TID "call (%r2), triple, (%r1, 5);\nand.b32 %r3, %r1, 1; setp.eq.u32 %p1, %r3, 1; mov.u64 %rd1, 0xfff0;\n"
             "cvt.u64.u32 %rd3, %r2; mov.u16 %h1, 16; mov.u64 %rd2, 0;\n@%p1 call (%rd2), wide, (%rd1, %h1);\n"
             "add.s64 %rd3, %rd3, %rd2; cvt.u32.u64 %r4, %rd3;\n" STORE "st.global.u32 [%rd9], %r4;\nret;\n",
         want_registers},
        {"shuffles in a function called by halves of the warp", SUM,
         TID "and.b32 %r3, %r1, 1; setp.eq.u32 %p1, %r3, 1;\n@%p1 bra ODD;\n" CALL_SUM(
             "0x55555555") "bra JOIN;\nODD:\n" CALL_SUM("0xaaaaaaaa") "JOIN:\nbar.warp.sync -1;\nactivemask.b32 %r5;\n"
                                                                      "setp.ne.b32 %p2, %r5, -1; @%p2 trap;\n" STORE
                                                                      "st.global.u32 [%rd9], %r2;\nret;\n",
         want_sum},
        {"lanes that return early come together again",
         ".func (.param .b32 r) early (.param .b32 a)\n{ .reg .b32 %x; .reg .pred %q<3>; ld.param.b32 %x, [a];\n"
         "setp.lt.u32 %q1, %x, 8; st.param.b32 [r], %x; @%q1 ret;\nsetp.lt.u32 %q2, %x, 16; @!%q2 bra MORE;\n"
         "add.u32 %x, %x, 1000; st.param.b32 [r], %x; ret;\nMORE: shl.b32 %x, %x, 1; add.u32 %x, %x, 2000;\n"
         "st.param.b32 [r], %x; }\n",
         TID "{ .param .b32 x; .param .b32 y; st.param.b32 [x], %r1; call (y), early, (x); ld.param.b32 %r2, [y]; }\n"
             "activemask.b32 %r5; setp.ne.b32 %p2, %r5, -1; @%p2 trap;\n" STORE "st.global.u32 [%rd9], %r2;\nret;\n",
         want_early},
        {"exit inside a function ends the thread",
         ".func leave (.param .b32 a)\n{ .reg .b32 %x; .reg .pred %q; ld.param.b32 %x, [a];\n"
         "setp.lt.u32 %q, %x, 12; @%q exit; ret; }\n",
         TID "{ .param .b32 x; st.param.b32 [x], %r1; call leave, (x); }\nactivemask.b32 %r5; add.u32 %r5, %r5, "
             "%r1;\n" STORE "st.global.u32 [%rd9], %r5;\nret;\n",
         want_exit},
        {"indexed branch", "",
         TID "and.b32 %r3, %r1, 3; and.b32 %r4, %r1, 4; setp.ne.u32 %p1, %r4, 0; mov.u32 %r2, 40;\n"
             "T: .branchtargets A, B, A, C;\n@!%p1 brx.idx %r3, T;\nbra JOIN;\nA: mov.u32 %r2, 10; bra JOIN;\n"
             "B: mov.u32 %r2, 20; bra JOIN;\nC: mov.u32 %r2, 30;\nJOIN:\n" STORE "st.global.u32 [%rd9], %r2;\nret;\n",
         want_switch},
        {"two functions that call each other",
         ".func (.param .b32 r) odd (.param .b32 a);\n"
         ".func (.param .b32 r) even (.param .b32 a) { .reg .b32 %x; .reg .pred %q; ld.param.b32 %x, [a];\n"
         "setp.eq.u32 %q, %x, 0; @%q bra YES; { .param .b32 i; .param .b32 o; sub.u32 %x, %x, 1; st.param.b32 [i], "
         "%x;\n"
         "call (o), odd, (i); ld.param.b32 %x, [o]; st.param.b32 [r], %x; ret; }\nYES: st.param.b32 [r], 77; ret; }\n"
         ".func (.param .b32 r) odd (.param .b32 a) { .reg .b32 %x; .reg .pred %q; ld.param.b32 %x, [a];\n"
         "setp.eq.u32 %q, %x, 0; @%q bra NO; { .param .b32 i; .param .b32 o; sub.u32 %x, %x, 1; st.param.b32 [i], %x;\n"
         "call (o), even, (i); ld.param.b32 %x, [o]; st.param.b32 [r], %x; ret; }\nNO: st.param.b32 [r], 99; ret; }\n",
         TID
         "{ .param .b32 x; .param .b32 y; st.param.b32 [x], %r1; call (y), even, (x); ld.param.b32 %r2, [y]; }\n" STORE
         "st.global.u32 [%rd9], %r2;\nret;\n",
         want_mutual},
    };
    for (size_t i = 0; i < sizeof programs / sizeof *programs; ++i)
        check(&programs[i]);
}

/* ---- programs that go wrong while they run ---- */

struct fault {
    const char *what, *module_level, *body;
    enum event_kind kind;
    int64_t offset; /* -1: any */
    uint32_t lane;
    const char *at; /* text of the instruction */
};

Test(machine_call, faults) {
    static const struct fault faults[] = {
        {"a call through a pointer to a buffer", THREE, TID "ld.param.u64 %rd3, [p0];\n" INDIRECT("%rd3", "P") "ret;\n",
         EVENT_BAD_TARGET, (int64_t)1 << 40, 0, "call (y), %rd3"},
        {"a null pointer in some lanes", THREE,
         TID "mov.u64 %rd3, f0;\nsetp.gt.u32 %p1, %r1, 8; @%p1 mov.u64 %rd3, 0;\n" INDIRECT("%rd3", "P") "ret;\n",
         EVENT_BAD_TARGET, 0, 9, "call (y), %rd3"},
        {"into the middle of a function", THREE,
         TID "mov.u64 %rd3, f0; add.s64 %rd3, %rd3, 4;\n" INDIRECT("%rd3", "P") "ret;\n", EVENT_BAD_TARGET, -1, 0,
         "call (y), %rd3"},
        {"a function with other arguments", THREE ".func g (.param .b64 a) { ret; }\n",
         TID "mov.u64 %rd3, g;\n" INDIRECT("%rd3", "P") "ret;\n", EVENT_BAD_TARGET, -1, 0, "call (y), %rd3"},
        {"an entry by its address", ".entry other (.param .u32 a) { ret; }\n" THREE,
         TID "mov.u64 %rd3, other;\n" INDIRECT("%rd3", "P") "ret;\n", EVENT_BAD_TARGET, -1, 0, "call (y), %rd3"},
        {"past the table of an indexed branch", "",
         TID "T: .branchtargets A, A, A;\nsetp.gt.u32 %p1, %r1, 1; @!%p1 bra A; add.u32 %r2, %r1, 1; brx.idx %r2, "
             "T;\nA: ret;\n",
         EVENT_BAD_TARGET, 3, 2, "brx.idx"},
        {"recursion without an end", ".func f () { call f, (); }\n", "call f, ();\nret;\n", EVENT_STACK, 1024, 0,
         "call f"},
        {"recursion with large frames", ".func f () { .local .b8 a[100000]; call f, (); }\n", "call f, ();\nret;\n",
         EVENT_STACK, 6, 0, "call f"},
        {"an alloca without measure", "", "mov.u64 %rd1, 0x7fffffffffffffff; alloca.u64 %rd2, %rd1;\nret;\n",
         EVENT_STACK, 0, 0, "alloca"},
        {"trap in a function",
         ".func f (.param .b32 a) { .reg .b32 %x; .reg .pred %q; ld.param.b32 %x, [a];\n"
         "setp.eq.u32 %q, %x, 7; @%q trap; ret; }\n",
         TID "{ .param .b32 x; st.param.b32 [x], %r1; call f, (x); }\nret;\n", EVENT_TRAP, -1, 7, "trap"},
        {"a loop without an end in a function", ".func f () { L: bra L; }\n", "call f, ();\nret;\n", EVENT_STEP_BUDGET,
         -1, 0, "bra"},
        {"functions that call each other for ever",
         ".func g ();\n.func f () { call g, (); }\n.func g () { call f, (); }\n", "call f, ();\nret;\n", EVENT_STACK,
         1024, 0, "call"},
    };
    for (size_t i = 0; i < sizeof faults / sizeof *faults; ++i) {
        const struct fault *f = &faults[i];
        uint32_t out[LANES];
        struct trace t;
        struct ptx_module *m = run(f->what, f->module_level, f->body, out, &t);
        cr_assert(t.event_count == 1, "%s: %zu events", f->what, t.event_count);
        const struct event *v = &t.events[0];
        cr_assert(v->kind == f->kind && (f->offset == -1 || v->offset == f->offset) && v->lane == f->lane,
                  "%s: event %d offset %lld lane %u", f->what, v->kind, (long long)v->offset, v->lane);
        cr_assert(strstr(t.sites[v->instruction].text, f->at), "%s: at `%s`", f->what, t.sites[v->instruction].text);
        trace_free(&t);
        ptx_free(m);
    }
}

/* ---- programs that are refused, each with a reason ---- */

Test(machine_call, refused) {
    static const struct {
        const char *what, *module_level, *body, *says;
    } programs[] = {
        {"too few arguments", THREE, "call f0, ();\nret;\n", "takes 1 arguments, this call passes 0"},
        {"no result taken", THREE, "{ .param .b32 x; call f0, (x); }\nret;\n", "returns 1 values, this call takes 0"},
        {"an argument of another size", THREE, "{ .param .b64 x; .param .b32 y; call (y), f0, (x); }\nret;\n",
         "x has 8 bytes, the function's a has 4"},
        {"a result of another size", THREE, "{ .param .b32 x; .param .b16 y; call (y), f0, (x); }\nret;\n",
         "y has 2 bytes, the function's r has 4"},
        {"no prototype", "", "call %rd1, ();\nret;\n", "prototype or a list of targets"},
        {"a prototype on a direct call", THREE,
         "{ .param .b32 x; .param .b32 y; P: .callprototype (.param .b32 _) _ (.param .b32 _); call (y), f0, (x), P; "
         "}\nret;\n",
         "a prototype on a direct call"},
        {"a register in an indirect call", "", "P: .callprototype _ (.param .b32 _); call %rd1, (%r1), P;\nret;\n",
         "an argument of an indirect call"},
        {"an external function", ".extern .func outside ();\n", "call outside, ();\nret;\n",
         "an external function, outside"},
        {"the heap", ".extern .func (.param .b64 r) malloc (.param .b64 n);\n",
         "{ .param .b64 x; .param .b64 y; call (y), malloc, (x); }\nret;\n", "the heap of the device is not modelled"},
        {"another vprintf", ".extern .func vprintf (.param .b64 a);\n", "{ .param .b64 x; call vprintf, (x); }\nret;\n",
         "vprintf with other parameters than it has"},
        {"an unknown instruction in a function that is called", ".func f () { frobnicate.u32; ret; }\n",
         "call f, ();\nret;\n", "unknown instruction `frobnicate.u32`"},
        {"an unknown instruction in a function whose address is taken",
         ".func f () { frobnicate.u32; ret; }\n.global .u64 tab[1] = {f};\n",
         "P: .callprototype _ (); call %rd1, (), P;\nret;\n", "unknown instruction `frobnicate.u32`"},
        {"ld.param past the parameter", ".func f (.param .b32 a) { .reg .b64 %x; ld.param.b64 %x, [a]; ret; }\n",
         "{ .param .b32 x; call f, (x); }\nret;\n", "past the parameter"},
        {"a misaligned parameter access",
         ".func f (.param .align 4 .b8 a[8]) { .reg .b32 %x; ld.param.b32 %x, [a+2]; ret; }\n",
         "{ .param .align 4 .b8 x[8]; call f, (x); }\nret;\n", "a misaligned parameter access"},
        {"a store into its own parameter", ".func f (.param .b32 a) { st.param.b32 [a], 1; ret; }\n",
         "{ .param .b32 x; call f, (x); }\nret;\n", "a store into a parameter of the function itself"},
        {"a large .param frame", ".func f (.param .b8 a[70000]) { ret; }\n",
         "{ .param .b8 x[70000]; call f, (x); }\nret;\n", "at most 65536 are possible"},
        {"large local memory", "", ".local .b8 x[600000];\nret;\n",
         "takes 600000 bytes of local memory, at most 524288"},
        {"a table of functions for a branch", THREE, "T: .calltargets f0; brx.idx %r1, T;\nret;\n",
         "a target that is no label"},
        {"a function's address in 32 bits", THREE, "mov.u32 %r1, f0;\nret;\n",
         "a function's address in a narrow register"},
        {"a .param variable as local memory", "", "{ .param .b32 x; ld.local.u32 %r1, [x]; }\nret;\n",
         "whose address is never taken"},
        {"a parameter as local memory", ".func f (.param .b32 a) { .reg .b32 %x; ld.local.b32 %x, [a]; ret; }\n",
         "{ .param .b32 y; call f, (y); }\nret;\n", "whose address is never taken"},
        {"a result's address", ".func (.param .b32 r) f () { .reg .b64 %x; mov.u64 %x, r; ret; }\n",
         "{ .param .b32 y; call (y), f, (); }\nret;\n", "an address in this state space"},
    };
    for (size_t i = 0; i < sizeof programs / sizeof *programs; ++i) {
        const struct machine_test test = {.module_level = programs[i].module_level, .body = programs[i].body};
        struct ptx_module *m;
        struct trace t;
        struct error e = {""};
        cr_expect(!machine_try(&test, &m, &t, &e), "%s runs", programs[i].what);
        cr_expect(strstr(e.text, programs[i].says) && strstr(e.text, "k.ptx:"), "%s: %s", programs[i].what, e.text);
        ptx_free(m);
    }
    /* and what nobody calls may hold anything */
    uint32_t out[LANES];
    struct trace t;
    struct ptx_module *m =
        run("an unreachable function", ".func f () { frobnicate.u32; ret; }\n.global .u64 t[1] = {f};\n",
            "mov.u64 %rd1, t;\nret;\n", out, &t);
    trace_free(&t);
    ptx_free(m);
}

/* A chain of functions, each called twice by the one before: 2^20 paths, but 20 functions to decode. */
Test(machine_call, decoding_is_linear) {
    char text[8192] = "";
    for (int i = 20; i-- > 0;) {
        char call[64] = "";
        if (i < 19)
            snprintf(call, sizeof call, "call g%d, (); call g%d, ();", i + 1, i + 1);
        snprintf(text + strlen(text), sizeof text - strlen(text), ".func g%d () { %s ret; }\n", i, call);
    }
    uint32_t out[LANES];
    struct trace t;
    struct launch_buffer b = out_buffer(out, LANES);
    const struct machine_test test = {
        .module_level = text, .body = "call g0, ();\nret;\n", .buffers = &b, .buffer_count = 1, .budget = 10000000};
    struct ptx_module *m = machine_must(&test, &t);
    cr_assert(t.event_count == 0 && t.site_count == 2 + 19 * 3 + 1, "%zu events, %zu sites", t.event_count,
              t.site_count);
    cr_assert(t.warp_instructions == 2 + 3 * ((1 << 19) - 1) + (1 << 19), "%llu warp instructions",
              (unsigned long long)t.warp_instructions);
    trace_free(&t);
    ptx_free(m);
}
