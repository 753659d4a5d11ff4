/* warpproof mutate: mutants are small, numbered and reproducible; what is called equivalent is, and its neighbour that
 * is not is not; a judge that is switched off leaves more alive. */
#include "../gpu/mutant_proof.h"
#include "../ref/checked.h"
#include "command_run.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Something for every operator. */
static const char specimen[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry k(.param .u64 k_param_0, .param .u32 k_param_1)\n{\n"
    "\t.reg .pred %p<9>;\n\t.reg .f32 %f<9>;\n\t.reg .b32 %r<40>;\n\t.reg .b64 %rd<9>;\n\t.shared .align 16 .b8 "
    "s[64];\n"
    "\tld.param.u64 %rd1, [k_param_0];\n\tld.param.u32 %r1, [k_param_1];\n\tmov.u32 %r2, %tid.x;\n"
    "\tsetp.lt.s32 %p1, %r2, 7;\n"
    "\t@%p1 bra $L;\n"
    "\tshl.b32 %r3, %r2, 2;\n"
    "\tsub.s32 %r4, %r3, %r1;\n"
    "\tand.b32 %r5, %r4, 12;\n"
    "\tadd.s32 %r6, %r5, %r1;\n"
    "\tcp.async.cg.shared.global [%r5], [%rd1], 16;\n"
    "\tcp.async.commit_group;\n\tcp.async.wait_group 1;\n"
    "\tbar.sync 0;\n"
    "\tld.shared.v4.f32 {%f1, %f2, %f3, %f4}, [%r5+16];\n"
    "\tfma.rn.f32 %f5, %f1, %f2, %f3;\n"
    "\tst.global.f32 [%rd1], %f5;\n"
    "$L:\n\tret;\n}\n";

static struct ptx_module *parse(const char *text) {
    struct error e;
    struct ptx_module *m = ptx_parse("specimen.ptx", text, strlen(text), &e);
    cr_assert(m != NULL, "%s\n%s", e.text, text);
    return m;
}

static size_t lines_of(const char *text) {
    size_t n = 0;
    for (; *text != 0; ++text) {
        n += *text == '\n';
    }
    return n;
}

Test(mutate, mutants_are_numbered_by_the_text_alone) {
    static const char *const entries[] = {"k"};
    struct ptx_module *m = parse(specimen);
    struct mutant_list all;
    size_t found = 0;
    mutants_make(m, entries, 1, UINT32_MAX, &all);
    for (int by = 0; by < MUTANT_OPERATORS; ++by) {
        struct mutant_list some;
        mutants_make(m, entries, 1, 1u << by, &some);
        cr_expect(some.count > 0, "no mutant of operator %s", mutant_operator_names[by]);
        for (size_t i = 0; i < some.count; ++i) {
            char *name = mutant_name(&some.items[i]);
            size_t same = 0;
            for (size_t k = 0; k < all.count; ++k) {
                char *other = mutant_name(&all.items[k]);
                same += strcmp(name, other) == 0 && strcmp(some.items[i].after, all.items[k].after) == 0;
                free(other);
            }
            cr_expect(same == 1, "%s alone, and among all", name);
            free(name);
        }
        found += some.count;
        mutants_free(&some);
    }
    cr_expect(found == all.count && all.count > 50, "%zu mutants, %zu by operator", all.count, found);
    for (size_t i = 0; i < all.count; ++i) { /* each is a program that differs in one line */
        size_t size;
        char *text = mutant_text(m, &all.items[i], &size), *name = mutant_name(&all.items[i]);
        struct error e;
        struct ptx_module *changed = ptx_parse("mutant.ptx", text, size, &e);
        cr_expect(changed != NULL, "%s: %s", name, e.text);
        cr_expect(strlen(text) == size && strcmp(text, specimen) != 0 && lines_of(text) == lines_of(specimen), "%s",
                  name);
        ptx_free(changed);
        free(text), free(name);
    }
    mutants_free(&all);
    ptx_free(m);
}

/* Every operator makes the mistakes that it says, and no others of this statement. */
Test(mutate, each_operator_makes_its_mistakes) {
    static const struct {
        const char *statement, *operator, * after[7];
    } rows[] = {
        {"st.global.u32 [%rd1+8], %r1;",
         "address",
         {"st.global.u32 [%rd1+12], %r1;", "st.global.u32 [%rd1+4], %r1;", "st.global.u32 [%rd1+24], %r1;",
          "st.global.u32 [%rd1+-8], %r1;", "st.global.u32 [%rd1+72], %r1;", "st.global.u32 [%rd1+-56], %r1;"}},
        {"sub.s32 %r1, %r2, %r3;", "order", {"sub.s32 %r1, %r3, %r2;"}},
        {"setp.lt.s32 %p1, %r2, %r3;", "order", {"setp.lt.s32 %p1, %r3, %r2;"}},
        {"mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r1, %r2, %r3, %r4}, {%r5, %r6, %r7, %r8}, {%r9, %r10}, "
         "{%r11, %r12, %r13, %r14};",
         "order",
         {"mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r1, %r2, %r3, %r4}, {%r6, %r5, %r7, %r8}, {%r9, %r10}, "
          "{%r11, %r12, %r13, %r14};",
          "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r1, %r2, %r3, %r4}, {%r5, %r7, %r6, %r8}, {%r9, %r10}, "
          "{%r11, %r12, %r13, %r14};",
          "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r1, %r2, %r3, %r4}, {%r5, %r6, %r7, %r8}, {%r10, %r9}, "
          "{%r11, %r12, %r13, %r14};",
          "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r1, %r3, %r2, %r4}, {%r5, %r6, %r7, %r8}, {%r9, %r10}, "
          "{%r11, %r12, %r13, %r14};"}},
        {"@%p1 mov.u32 %r1, %r2;", "predicate", {"@!%p1 mov.u32 %r1, %r2;", " mov.u32 %r1, %r2;"}},
        {"@!%p1 mov.u32 %r1, %r2;", "predicate", {"@%p1 mov.u32 %r1, %r2;", " mov.u32 %r1, %r2;"}},
        {"bar.sync 0;", "barrier", {""}},
        {"membar.gl;", "barrier", {""}},
        {"cp.async.wait_group 1;", "wait", {"cp.async.wait_group 2;", "cp.async.wait_group 0;", ""}},
        {"cp.async.wait_group 0;", "wait", {"cp.async.wait_group 1;", ""}},
        {"cp.async.wait_all;", "wait", {""}},
        {"cp.async.commit_group;", "wait", {""}},
        {"add.rn.f32 %f1, %f2, %f3;", "rounding", {"add.rz.f32 %f1, %f2, %f3;"}},
        {"cvt.rni.s32.f32 %r1, %f1;", "rounding", {"cvt.rzi.s32.f32 %r1, %f1;"}},
        {"fma.rn.f32 %f1, %f2, %f3, %f4;",
         "rounding",
         {"fma.rz.f32 %f1, %f2, %f3, %f4;",
          "{ .reg .f32 %mutant;  mul.rn.f32 %mutant, %f2, %f3;  add.rn.f32 %f1, %mutant, %f4; }"}},
        {"shl.b32 %r1, %r2, 4;", "stride", {"shl.b32 %r1, %r2, 5;", "shl.b32 %r1, %r2, 3;"}},
        {"mad.lo.s32 %r1, %r2, 80, %r3;", "stride", {"mad.lo.s32 %r1, %r2, 81, %r3;", "mad.lo.s32 %r1, %r2, 79, %r3;"}},
        {"and.b32 %r1, %r2, 12;", "stride", {"and.b32 %r1, %r2, 8;", "and.b32 %r1, %r2, 24;", "and.b32 %r1, %r2, 4;"}},
        {"add.s32 %r1, %r2, %r3;", "registers", {"add.s32 %r1, %r2, %r2;", "add.s32 %r1, %r3, %r3;"}},
        {"mad.lo.s32 %r1, %r2, %r3, %r4;",
         "registers",
         {"mad.lo.s32 %r1, %r4, %r3, %r2;", "mad.lo.s32 %r1, %r2, %r4, %r3;"}},
        {"ld.global.v2.u32 {%r1, %r2}, [%rd1];", "registers", {"ld.global.v2.u32 {%r2, %r1}, [%rd1];"}},
        {"setp.lt.s32 %p1, %r1, 8;", "bound", {"setp.lt.s32 %p1, %r1, 9;", "setp.lt.s32 %p1, %r1, 7;"}},
        {"setp.ge.u32 %p1, %r1, %r2;",
         "bound",
         {"{ .reg .b32 %mutant; add.s32 %mutant, %r2, 1; setp.ge.u32 %p1, %r1, %mutant; }",
          "{ .reg .b32 %mutant; add.s32 %mutant, %r2, -1; setp.ge.u32 %p1, %r1, %mutant; }"}},
        {"st.shared.u32 [%r1], %r2;", "store", {""}},
        {"cp.async.cg.shared.global [%r1], [%rd1], 16;", "store", {""}},
        {"cp.async.cg.shared.global [%r1], [%rd1], 16;", "vector", {"cp.async.ca.shared.global [%r1], [%rd1], 8;"}},
        {"ld.shared.v4.u32 {%r1, %r2, %r3, %r4}, [%r5];", "vector", {"ld.shared.v2.u32 {%r1, %r2}, [%r5];"}},
        {"st.shared.v2.u32 [%r5], {%r1, %r2};", "vector", {"st.shared.u32 [%r5], %r1;"}},
        {"setp.lt.s32 %p1, %r1, %r2;", "comparison", {"setp.le.s32 %p1, %r1, %r2;"}},
        {"setp.ne.s32 %p1, %r1, %r2;", "comparison", {"setp.eq.s32 %p1, %r1, %r2;"}},
        {"max.s32 %r1, %r2, %r3;", "comparison", {"min.s32 %r1, %r2, %r3;"}},
        {"ret;", "store", {NULL}},
    };
    static const char *const entries[] = {"k"};
    bool tried[MUTANT_OPERATORS] = {false};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        int by = 0;
        while (strcmp(mutant_operator_names[by], rows[i].operator) != 0) {
            ++by;
        }
        char *text = must_format(".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n"
                                 "\t.reg .pred %%p<9>;\n\t.reg .f32 %%f<9>;\n\t.reg .b32 %%r<40>;\n\t.reg .b64 "
                                 "%%rd<9>;\n\t%s\n\tret;\n}\n",
                                 rows[i].statement);
        struct ptx_module *m = parse(text);
        struct mutant_list list;
        mutants_make(m, entries, 1, 1u << by, &list);
        size_t want = 0;
        while (want < 7 && rows[i].after[want] != NULL) {
            ++want;
        }
        cr_expect(list.count == want, "%s, %s: %zu mutants, want %zu", rows[i].statement, rows[i].operator, list.count,
                  want);
        for (size_t k = 0; k < want && k < list.count; ++k) {
            const struct mutant *x = &list.items[k];
            cr_expect(x->by == (enum mutant_operator)by && x->number == k, "%s, %s", rows[i].statement,
                      rows[i].operator);
            cr_expect(strcmp(x->after, rows[i].after[k]) == 0, "%s, %s/%zu: '%s', want '%s'", rows[i].statement,
                      rows[i].operator, k, x->after, rows[i].after[k]);
        }
        tried[by] |= want > 0;
        mutants_free(&list);
        ptx_free(m);
        free(text);
    }
    for (int by = 0; by < MUTANT_OPERATORS; ++by) {
        cr_expect(tried[by], "no row of operator %s", mutant_operator_names[by]);
    }
}

/* ---- proofs ---- */

static const char launch[] =
    "kernel: k\nptx: k.ptx\nshape: {nt: 8}\nneeds: [\"nt <= 8\"]\nlaunch: {grid: [\"ceil(nt, 4)\"], "
    "block: [64]}\nargs:\n  - {out: y, type: f32, count: 64}\n  - {i32: nt}\n";

static const char head[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 k_param_0, .param "
    ".u32 k_param_1)\n{\n\t.reg .pred %p<9>;\n\t.reg .b16 %rs<9>;\n\t.reg .f32 %f<9>;\n\t.reg .b32 "
    "%r<40>;\n\t.reg .b64 %rd<9>;\n\tld.param.u64 %rd1, [k_param_0];\n\tld.param.u32 %r1, "
    "[k_param_1];\n\tmov.u32 %r2, %tid.x;\n\tand.b32 %r3, %r2, 31;\n\tshr.u32 %r4, %r2, 5;\n";

/* The reason of the mutant OPERATOR/LINE-of-the-body/K, NULL where there is none. */
static char *proved(const char *body, const char *operator, int line, unsigned number) {
    static const char *const entries[] = {"k"};
    char *text = must_format("%s%s\tret;\n}\n", head, body), *path = must_format("%s/k.yaml", run_folder);
    struct error e;
    put_file("k.yaml", launch, strlen(launch));
    put_file("k.ptx", text, strlen(text));
    struct spec *s = spec_load(path, ".", &e);
    cr_assert(s != NULL, "%s", e.text);
    struct ptx_module *m = parse(text);
    struct mutant_flow *flow = mutant_flow_make(m, 0, s);
    mutant_flow_walk(flow);
    struct mutant_list list;
    char *why = NULL, *name = must_format("%s/%d/%u", operator, line +(int) lines_of(head), number);
    bool found = false;
    mutants_make(m, entries, 1, UINT32_MAX, &list);
    for (size_t i = 0; i < list.count; ++i) {
        char *own = mutant_name(&list.items[i]);
        if (strcmp(own, name) == 0) {
            size_t size;
            char *changed = mutant_text(m, &list.items[i], &size);
            struct ptx_module *c = parse(changed);
            found = true;
            why = mutant_equivalent(flow, m, c, &list.items[i]);
            why = why != NULL ? why : mutant_equivalent_by_threads(flow, m, c, &list.items[i]);
            ptx_free(c);
            free(changed);
        }
        free(own);
    }
    cr_expect(found, "no mutant %s of\n%s", name, body);
    mutants_free(&list);
    mutant_flow_free(flow);
    ptx_free(m);
    spec_free(s);
    free(text), free(path), free(name);
    return why;
}

#define STORE         "\tst.global.u32 [%rd1], %r9;\n"
#define LEADER(VALUE) "\tsetp.ne.s32 %p1, %r3, 0;\n\t@%p1 bra $L;\n\tst.global.u32 [%rd1], " VALUE ";\n$L:\n"
#define BUTTERFLY(TO, FROM, MASK)                                                                                      \
    "\tshfl.sync.bfly.b32 %r20, " FROM ", " MASK ", 31, -1;\n\tadd.s32 " TO ", " FROM ", %r20;\n"

#define COUNTED(FROM, TO)                                                                                              \
    "\tmov.u32 %r8, " FROM ";\n$M:\n\tadd.s32 %r8, %r8, 64;\n\tsetp.lt.s32 %p1, %r8, " TO ";\n\t@%p1 bra $M;\n"
#define MULTIPLES "\tld.global.u32 %r10, [%rd1];\n\tand.b32 %r7, %r10, -8;\n\tand.b32 %r8, %r2, 56;\n"

#define ALL_LANES(FIRST)                                                                                               \
    "\tmov.u32 %r30, " FIRST ";\n\tshfl.sync.bfly.b32 %r20, %r3, %r30, 31, -1;\n\tmax.s32 %r10, %r3, %r20;\n"          \
    "\tshfl.sync.bfly.b32 %r21, %r10, 8, 31, -1;\n\tmax.s32 %r11, %r10, %r21;\n"                                       \
    "\tshfl.sync.bfly.b32 %r22, %r11, 4, 31, -1;\n\tmax.s32 %r12, %r11, %r22;\n"                                       \
    "\tshfl.sync.bfly.b32 %r23, %r12, 2, 31, -1;\n\tmax.s32 %r13, %r12, %r23;\n"                                       \
    "\tshfl.sync.bfly.b32 %r24, %r13, 1, 31, -1;\n\tmax.s32 %r14, %r13, %r24;\n\tst.global.u32 [%rd1], %r14;\n"

Test(mutate, what_is_proved_and_its_neighbour_that_is_not, .init = make_folder, .fini = remove_folder) {
    static const struct {
        const char *body, *operator;
        int line;
        unsigned number;
        const char *reason; /* part of it, NULL: none */
    } rows[] = {
        /* the sign of what has none, of what may have one */
        {"\tshr.s32 %r9, %r1, 31;\n" STORE, "stride", 1, 1, "it gives 0 as before"},
        {"\tsub.s32 %r8, %r1, %r2;\n\tshr.s32 %r9, %r8, 31;\n" STORE, "stride", 2, 1, NULL},
        /* nt is at most 8 */
        {"\tshr.u32 %r9, %r1, 4;\n" STORE, "stride", 1, 0, "it gives 0 as before"},
        {"\tshr.u32 %r9, %r1, 3;\n" STORE, "stride", 1, 0, NULL},
        {"\tsetp.lt.s32 %p1, %r1, 9;\n\tselp.b32 %r9, 1, 2, %p1;\n" STORE, "bound", 1, 0, "it gives 1 as before"},
        {"\tsetp.lt.s32 %p1, %r1, 9;\n\tselp.b32 %r9, 1, 2, %p1;\n" STORE, "bound", 1, 1, NULL},
        {"\tsetp.gt.s32 %p1, %r1, 0;\n\tselp.b32 %r9, 1, 2, %p1;\n" STORE, "comparison", 1, 0, "it gives 1 as before"},
        {"\tsetp.gt.s32 %p1, %r1, 1;\n\tselp.b32 %r9, 1, 2, %p1;\n" STORE, "comparison", 1, 0, NULL},
        /* masks of bits that are not there, that are */
        {"\tand.b32 %r9, %r3, 48;\n" STORE, "stride", 1, 2, "no bit of"},
        {"\tand.b32 %r9, %r3, 48;\n" STORE, "stride", 1, 0, NULL},
        /* exact conversions and products, others */
        {"\tcvt.rn.f32.s32 %f1, %r1;\n\tst.global.f32 [%rd1], %f1;\n", "rounding", 1, 0, "at most 24 bits"},
        {"\tld.global.u32 %r9, [%rd1];\n\tcvt.rn.f32.s32 %f1, %r9;\n\tst.global.f32 [%rd1], %f1;\n", "rounding", 2, 0,
         NULL},
        {"\tcvt.rn.f32.s32 %f1, %r1;\n\tcvt.rn.f32.s32 %f2, %r2;\n\tld.global.f32 %f3, [%rd1];\n\tfma.rn.f32 %f4, %f1, "
         "%f2, "
         "%f3;\n\tst.global.f32 [%rd1], %f4;\n",
         "rounding", 4, 1, "the product is exact"},
        {"\tcvt.rn.f32.s32 %f1, %r1;\n\tcvt.rn.f32.s32 %f2, %r2;\n\tld.global.f32 %f3, [%rd1];\n\tfma.rn.f32 %f4, %f1, "
         "%f2, "
         "%f3;\n\tst.global.f32 [%rd1], %f4;\n",
         "rounding", 4, 0, NULL},
        /* dead code */
        {"\tsetp.gt.s32 %p1, %r1, 8;\n\t@%p1 bra $M;\n\tbra.uni $L;\n$M:\n\tst.global.u32 [%rd1], %r2;\n$L:\n", "store",
         5, 0, "never executed"},
        {"\tsetp.gt.s32 %p1, %r1, 7;\n\t@%p1 bra $M;\n\tbra.uni $L;\n$M:\n\tst.global.u32 [%rd1], %r2;\n$L:\n", "store",
         5, 0, NULL},
        {"\tsetp.gt.s32 %p1, %r1, 0;\n\t@%p1 st.global.u32 [%rd1], %r2;\n", "predicate", 2, 1, "lets every thread"},
        {"\tsetp.gt.s32 %p1, %r1, 0;\n\t@%p1 st.global.u32 [%rd1], %r2;\n", "predicate", 2, 0, NULL},
        /* what only dead code reads, and what other code reads */
        {"\tadd.s32 %r8, %r2, 5;\n\tmul.lo.s32 %r9, %r8, 3;\n\tsetp.lt.s32 %p1, %r1, 9;\n\t@%p1 bra $L;\n" STORE
         "$L:\n",
         "stride", 1, 0, "nothing that is ever executed reads"},
        {"\tadd.s32 %r8, %r2, 5;\n\tmul.lo.s32 %r9, %r8, 3;\n\tsetp.lt.s32 %p1, %r1, 8;\n\t@%p1 bra $L;\n" STORE
         "$L:\n",
         "stride", 1, 0, NULL},
        /* a register that a loop writes again: what it holds before the loop, and after it */
        {"\tmov.u32 %r8, %tid.x;\n\tshr.u32 %r9, %r8, 6;\n$M:\n\tadd.s32 %r8, %r8, 64;\n\tsetp.lt.s32 %p1, %r8, 999;\n"
         "\t@%p1 bra $M;\n" STORE,
         "stride", 2, 0, "it gives 0 as before"},
        {"\tmov.u32 %r8, %tid.x;\n$M:\n\tshr.u32 %r9, %r8, 6;\n\tadd.s32 %r8, %r8, 64;\n\tsetp.lt.s32 %p1, %r8, 999;\n"
         "\t@%p1 bra $M;\n" STORE,
         "stride", 3, 0, NULL},
        /* what a branch says */
        {"\tand.b32 %r8, %r2, 3;\n\tsetp.ne.s32 %p1, %r8, 0;\n\t@%p1 bra $L;\n\tand.b32 %r9, %r2, 15;\n" STORE "$L:\n",
         "stride", 4, 0, "no bit of 0x1 set"},
        {"\tand.b32 %r8, %r2, 2;\n\tsetp.ne.s32 %p1, %r8, 0;\n\t@%p1 bra $L;\n\tand.b32 %r9, %r2, 15;\n" STORE "$L:\n",
         "stride", 4, 0, NULL},
        /* who stores: the same everywhere in the warp, after all five masks, after four, of the lane */
        {LEADER("%r4"), "comparison", 1, 0, "store the same bytes"},
        {LEADER("%r4"), "bound", 1, 0, "store the same bytes"},
        {LEADER("%r4"), "bound", 1, 1, NULL}, /* nobody does */
        {LEADER("%r4"), "predicate", 2, 0, "store the same bytes"},
        {LEADER("%r3"), "comparison", 1, 0, NULL},
        {BUTTERFLY("%r10", "%r3", "16") BUTTERFLY("%r11", "%r10", "8") BUTTERFLY("%r12", "%r11", "4")
             BUTTERFLY("%r13", "%r12", "2") BUTTERFLY("%r14", "%r13", "1") LEADER("%r14"),
         "comparison", 11, 0, NULL}, /* %r20 is written five times */
        {"\tshfl.sync.bfly.b32 %r20, %r3, 16, 31, -1;\n\tmax.s32 %r10, %r3, %r20;\n"
         "\tshfl.sync.bfly.b32 %r21, %r10, 8, 31, -1;\n\tmax.s32 %r11, %r10, %r21;\n"
         "\tshfl.sync.bfly.b32 %r22, %r11, 4, 31, -1;\n\tmax.s32 %r12, %r11, %r22;\n"
         "\tshfl.sync.bfly.b32 %r23, %r12, 2, 31, -1;\n\tmax.s32 %r13, %r12, %r23;\n"
         "\tshfl.sync.bfly.b32 %r24, %r13, 1, 31, -1;\n\tmax.s32 %r14, %r13, %r24;\n" LEADER("%r14"),
         "comparison", 11, 0, "store the same bytes"},
        {"\tshfl.sync.bfly.b32 %r20, %r3, 16, 31, -1;\n\tmax.s32 %r10, %r3, %r20;\n"
         "\tshfl.sync.bfly.b32 %r21, %r10, 8, 31, -1;\n\tmax.s32 %r11, %r10, %r21;\n"
         "\tshfl.sync.bfly.b32 %r22, %r11, 4, 31, -1;\n\tmax.s32 %r12, %r11, %r22;\n"
         "\tshfl.sync.bfly.b32 %r23, %r12, 4, 31, -1;\n\tmax.s32 %r13, %r12, %r23;\n"
         "\tshfl.sync.bfly.b32 %r24, %r13, 1, 31, -1;\n\tmax.s32 %r14, %r13, %r24;\n" LEADER("%r14"),
         "comparison", 11, 0, NULL},
        /* a reduction by masks 16 and 8: by 17 and 8 over other lanes; by 16, 8, 4, 2, 1 the first may be 17 */
        {ALL_LANES("16"), "stride", 1, 0, "still takes every value"},
        {ALL_LANES("24"), "stride", 1, 0, "still takes every value"},
        {ALL_LANES("16") "\tst.global.u32 [%rd1+8], %r10;\n", "stride", 1, 0,
         NULL}, /* what lies between is looked at */
        {"\tmov.u32 %r30, 16;\n\tshfl.sync.bfly.b32 %r20, %r3, %r30, 31, -1;\n\tmax.s32 %r10, %r3, %r20;\n"
         "\tst.global.u32 [%rd1], %r10;\n",
         "stride", 1, 0, NULL},
        {"\tmov.u32 %r30, 15;\n\tshfl.sync.bfly.b32 %r20, %r3, %r30, 31, -1;\n\tmax.s32 %r10, %r3, %r20;\n"
         "\tshfl.sync.bfly.b32 %r21, %r10, 14, 31, -1;\n\tmax.s32 %r11, %r10, %r21;\n\tst.global.u32 [%rd1], %r11;\n",
         "stride", 1, 1, NULL}, /* 14 twice */
        /* lanes that are apart already */
        {"\tsetp.gt.s32 %p2, %r3, 5;\n\t@%p2 bra $N;\n" LEADER("%r4") "$N:\n", "comparison", 3, 0, NULL},
        /* loops of as many rounds as the thread's number says: %r8 is 128 .. 191 after this one */
        {COUNTED("%r2", "128") "\tsetp.lt.s32 %p2, %r8, 192;\n\t@%p2 bra $L;\n" STORE "$L:\n", "store", 8, 0,
         "no thread of a block comes to it"},
        {COUNTED("%r2", "128") "\tsetp.lt.s32 %p2, %r8, 191;\n\t@%p2 bra $L;\n" STORE "$L:\n", "store", 8, 0, NULL},
        {"\tmov.u32 %r7, 0;\n$K:\n" COUNTED(
             "%r2", "128") "\tadd.s32 %r7, %r7, 1;\n\tsetp.lt.s32 %p3, %r7, %r1;\n"
                           "\t@%p3 bra $K;\n\tsetp.lt.s32 %p2, %r8, 192;\n\t@%p2 bra $L;\n" STORE "$L:\n",
         "store", 13, 0, "no thread of a block comes to it"}, /* within one of as many as the shape says */
        {"\tmov.u32 %r7, 0;\n$K:\n" COUNTED(
             "%r2", "128") "\tadd.s32 %r7, %r7, 1;\n\tsetp.lt.s32 %p3, %r7, %r1;\n"
                           "\t@%p3 bra $K;\n\tsetp.lt.s32 %p2, %r7, 8;\n\t@%p2 bra $L;\n" STORE "$L:\n",
         "store", 13, 0, NULL},
        {COUNTED("%r3", "128") STORE, "bound", 4, 1, "each thread takes the same way"}, /* 64 .. 95, 128 .. 159 */
        {COUNTED("%r3", "128") STORE, "bound", 4, 0, NULL},
        {COUNTED("%r3", "128") "\tst.global.u32 [%rd1], %r8;\n", "stride", 3, 0, NULL}, /* stored, not only compared */
        /* memory and other lanes are not known */
        {"\tld.global.u32 %r8, [%rd1];\n\tsetp.lt.s32 %p1, %r8, 9;\n\t@%p1 bra $L;\n" STORE "$L:\n", "store", 4, 0,
         NULL},
        {"\tshfl.sync.bfly.b32 %r8, %r2, 1, 31, -1;\n\tsetp.eq.s32 %p1, %r8, %r2;\n\t@%p1 bra $L;\n" STORE "$L:\n",
         "bound", 2, 0, NULL},
        /* a shift that only tells what it told before: (63 - tid) / 64 */
        {"\tmov.u32 %r7, 63;\n\tsub.s32 %r8, %r7, %r2;\n\tshr.u32 %r6, %r8, 6;\n\tsetp.eq.s32 %p1, %r6, 1;\n"
         "\t@%p1 bra $L;\n" STORE "$L:\n",
         "stride", 1, 1, "each thread takes the same way"}, /* 62: of thread 63 it is 2^26 - 1 */
        {"\tmov.u32 %r7, 63;\n\tsub.s32 %r8, %r7, %r2;\n\tshr.u32 %r6, %r8, 6;\n\tsetp.eq.s32 %p1, %r6, 1;\n"
         "\t@%p1 bra $L;\n" STORE "$L:\n",
         "stride", 1, 0, NULL}, /* 64: of thread 0 it is 1 */
        /* fields of bits that are zero, that are not */
        {"\tand.b32 %r8, %r2, 3;\n\tand.b32 %r7, %r2, 15;\n\tbfi.b32 %r9, %r8, %r7, 4, 2;\n" STORE, "stride", 3, 2,
         "the bits that it inserts"},
        {"\tand.b32 %r8, %r2, 3;\n\tand.b32 %r7, %r2, 15;\n\tbfi.b32 %r9, %r8, %r7, 4, 2;\n" STORE, "stride", 3, 3,
         NULL},
        {"\tand.b32 %r8, %r2, 7;\n\tand.b32 %r7, %r2, 15;\n\tbfi.b32 %r9, %r8, %r7, 4, 2;\n" STORE, "stride", 3, 2,
         NULL},
        /* to binary16 */
        {"\tcvt.rn.f32.s32 %f1, %r3;\n\tcvt.rn.f16.f32 %rs1, %f1;\n\tst.global.u16 [%rd1], %rs1;\n", "rounding", 2, 0,
         "at most 11 bits"},
        {"\tld.global.u16 %r8, [%rd1];\n\tcvt.rn.f32.s32 %f1, %r8;\n\tcvt.rn.f16.f32 %rs1, %f1;\n"
         "\tst.global.u16 [%rd1], %rs1;\n",
         "rounding", 3, 0, NULL},
        /* compared with multiples of 8: 8n + 8 and 8n + 9 are less than the same ones, 8n + 7 is not */
        {MULTIPLES "\tadd.s32 %r6, %r8, 8;\n\tsetp.lt.s32 %p1, %r6, %r7;\n\tselp.b32 %r9, 1, 2, %p1;\n" STORE, "stride",
         4, 0, "compares it with multiples"},
        {MULTIPLES "\tadd.s32 %r6, %r8, 8;\n\tsetp.lt.s32 %p1, %r6, %r7;\n\tselp.b32 %r9, 1, 2, %p1;\n" STORE, "stride",
         4, 1, NULL},
        {MULTIPLES "\tadd.s32 %r6, %r8, 8;\n\tsetp.le.s32 %p1, %r6, %r7;\n\tselp.b32 %r9, 1, 2, %p1;\n" STORE, "stride",
         4, 0, NULL},
        /* waits */
        {"\tcp.async.wait_group 1;\n", "wait", 1, 1, "waits for more"},
        {"\tcp.async.wait_group 1;\n", "wait", 1, 0, NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        char *why = proved(rows[i].body, rows[i].operator, rows[i].line, rows[i].number);
        cr_expect(rows[i].reason == NULL ? why == NULL : why != NULL && strstr(why, rows[i].reason) != NULL,
                  "row %zu, %s: %s, want %s\n%s", i, rows[i].operator, why != NULL ? why : "no proof",
                  rows[i].reason != NULL ? rows[i].reason : "none", rows[i].body);
        free(why);
    }
}

/* ---- the command ---- */

/* The number before " killed (", and of how many. */
static size_t killed(const char *text, size_t *of) {
    const char *at = strstr(text, " killed ("), *end = strstr(text, " killed or proved equivalent\n");
    size_t n = 0;
    while (at != NULL && at > text && at[-1] != '\n') {
        --at;
    }
    while (end != NULL && end > text && end[-1] != ' ') {
        --end;
    }
    cr_assert(at != NULL && end != NULL && sscanf(at, "%zu killed", &n) == 1 && sscanf(end, "%zu", of) == 1, "%s",
              text);
    return n;
}

/* Part of what `make mutants` does. A judge that is switched off is missed. */
Test(mutate, a_sample_is_killed_and_fewer_are_without_a_judge, .timeout = 300) {
    const size_t n = command_stride() == 1 ? 60 : 24;
    struct result all =
        run_command("mutate quantize_pad40_t matvec_q4_0 --sample %zu --seed 3 --cases 40 --least 90 --check", n);
    cr_expect(all.code == 0, "exit %d\n%s", all.code, all.text);
    size_t of, of_fewer;
    const size_t with = killed(all.text, &of);
    cr_expect(of >= n - 2, "%zu of %zu mutants are valid", of, n);
    struct result fewer = run_command(
        "mutate quantize_pad40_t matvec_q4_0 --sample %zu --seed 3 --cases 4 --least 100 --without parity,coverage", n);
    const size_t without = killed(fewer.text, &of_fewer);
    cr_expect(fewer.code == 1 && of_fewer == of && without + n / 10 <= with, "%zu killed, %zu without two judges\n%s",
              with, without, fewer.text);
    free(all.text), free(fewer.text);
}

/* A mutant is made again by its name, and what is written is the program with one statement changed. */
Test(mutate, a_mutant_is_made_again_by_its_name, .init = make_folder, .fini = remove_folder) {
    struct result r = run_command("mutate quantize_pad40_t --operators store --json /dev/stdout");
    cr_expect(r.code == 0, "exit %d\n%s", r.code, r.text);
    char name[80] = "", *at = strstr(r.text, "{\"mutant\": \"");
    cr_assert(at != NULL && sscanf(at, "{\"mutant\": \"%79[^\"]", name) == 1, "%s", r.text);
    free(r.text);
    expect_result(run_command("mutate quantize_pad40_t --only %s", name), 0, "1 of 1 killed");
    expect_result(run_command("mutate quantize_pad40_t --emit %s %s/m.ptx", name, run_folder), 0, "");
    char *diff = must_format("diff fixtures/ptx/quantize_pad40_t.ptx %s/m.ptx | grep -c '^[<>]'", run_folder);
    struct result d = run_shell(diff);
    cr_expect(atoi(d.text) == 1 || atoi(d.text) == 2, "%s", d.text);
    free(d.text), free(diff);
}

/* The kernels of `make mutants`, whose mutants fixtures/mutants.yaml may name. */
#define MUTATED                                                                                                        \
    "mmq_wide_ldb_kd8 mmq_half_t mmq_llama_q4_k_j16 mmq_narrow_raw_kd8 matvec_q4_k quantize_pad40_t gemm_f16 "         \
    "dequantize_q4_k"

/* A proof in words is held to the statements that it is about, and to what the judges say. */
Test(mutate, proofs_in_words_go_stale_loudly, .init = make_folder, .fini = remove_folder) {
    struct result r = run_command("mutate quantize_pad40_t --operators store --json /dev/stdout");
    char first[80] = "", before[200] = "";
    const char *at = strstr(r.text, "{\"mutant\": \""), *b = at != NULL ? strstr(at, "\"before\": \"") : NULL;
    cr_assert(b != NULL && sscanf(at, "{\"mutant\": \"%79[^\"]", first) == 1 &&
                  sscanf(b, "\"before\": \"%199[^\"]", before) == 1,
              "%s", r.text);
    free(r.text);
    struct {
        const char *mutant, *before, *after;
        int code;
        const char *says;
    } rows[] = {
        {first, before, "(dropped)", 2, "is named equivalent, and killed by"},
        {first, "st.global.u32 [%rd1], %r1;", "(dropped)", 2, "the proof is of another program: before is now"},
        {first, before, "ret;", 2, "the proof is of another program: after is now"},
        {"quantize_pad40_t/store/1/0", before, "(dropped)", 2, "there is no mutant quantize_pad40_t/store/1/0"},
        {"quantize_pad40_t/nosuch/1/0", before, "(dropped)", 2, "want KERNEL/OPERATOR/LINE/K"},
        {"quantize_pad40_t", before, "(dropped)", 2, "want KERNEL/OPERATOR/LINE/K"},
        {"quantize_pad40_t/stride/1/0", before, "(dropped)", 0, "killed or proved equivalent"}, /* not asked for */
        {"another/store/1/0", before, "(dropped)", 0, "killed or proved equivalent"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i += command_stride()) {
        char *text = must_format("- proof: because\n  mutants:\n    - {mutant: %s, before: \"%s\", after: \"%s\"}\n",
                                 rows[i].mutant, rows[i].before, rows[i].after);
        put_file("m.yaml", text, strlen(text));
        expect_result(run_command("mutate quantize_pad40_t --operators store --named %s/m.yaml", run_folder),
                      rows[i].code, rows[i].says);
        free(text);
    }
    static const char *const bad[] = {"{}\n",
                                      "- 1\n",
                                      "- {proof: x}\n",
                                      "- {proof: x, mutants: 1}\n",
                                      "- {proof: x, mutants: [1]}\n",
                                      "- {proof: x, mutants: [{mutant: a/store/1/0}]}\n",
                                      "- {proof: x, mutants: [], more: 1}\n",
                                      "",
                                      "["};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        put_file("m.yaml", bad[i], strlen(bad[i]));
        expect_result(run_command("mutate quantize_pad40_t --operators store --named %s/m.yaml", run_folder), 2,
                      "m.yaml");
    }
    char *twice = must_format("- proof: because\n  mutants:\n    - {mutant: %s, before: \"%s\", after: (dropped)}\n"
                              "    - {mutant: %s, before: \"%s\", after: (dropped)}\n",
                              first, before, first, before);
    put_file("m.yaml", twice, strlen(twice));
    expect_result(run_command("mutate quantize_pad40_t --operators store --named %s/m.yaml", run_folder), 2,
                  "stands here twice");
    free(twice);
    expect_result(run_command("mutate quantize_pad40_t --named %s/none.yaml", run_folder), 2, "none.yaml");
}

Test(mutate, the_projects_proofs_in_words_hold) {
    struct result r = run_command("mutate " MUTATED " --sample 1 --cases 1 --least 0");
    cr_expect(r.code == 0, "exit %d\n%s", r.code, r.text);
    free(r.text);
}

Test(mutate, a_program_of_nothing_has_no_mutants) {
    static const char *const entries[] = {"k"};
    struct ptx_module *m = parse(".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n\tret;\n}\n");
    struct mutant_list list;
    mutants_make(m, entries, 1, UINT32_MAX, &list);
    cr_expect(list.count == 0, "%zu mutants", list.count);
    mutants_free(&list);
    ptx_free(m);
}

Test(mutate, bad_arguments) {
    expect_result(run_command("mutate gemm_f16 --seed 1 --seed 2"), 2, "--seed is given twice");
    expect_result(run_command("mutate gemm_f16 --all --all"), 2, "--all is given twice");
    expect_result(run_command("plants --only edit --only kernel"), 2, "--only is given twice");
    expect_result(run_command("mutate"), 2, "want a KERNEL");
    expect_result(run_command("mutate nosuch"), 3, "no case matches");
    expect_result(run_command("mutate quantize_pad40_t --operators nosuch"), 2,
                  "--operators nosuch: want some of address");
    expect_result(run_command("mutate quantize_pad40_t --without nosuch"), 2, "want names of judges");
    expect_result(run_command("mutate quantize_pad40_t --sample 0"), 2, "--sample 0: want a number of mutants");
    expect_result(run_command("mutate quantize_pad40_t --each 0"), 2, "--each 0: want a number of mutants");
    expect_result(run_command("mutate quantize_pad40_t --only quantize_pad40_t/store/1/0"), 3, "no mutant is named");
    expect_result(run_command("mutate quantize_pad40_t quantize_pad40_t"), 2, "given twice");
    expect_result(run_command("mutate quantize_pad40_t --cases 0"), 2, "--cases 0: want a number of cases");
    expect_result(run_command("mutate quantize_pad40_t --full -1"), 2, "--full -1: want a number of cases");
    expect_result(run_command("mutate quantize_pad40_t --least 101"), 2, "--least 101: want a percentage");
    expect_result(run_command("mutate quantize_pad40_t --operators wait"), 3, "there are no such mutants");
    expect_result(run_command("mutate quantize_pad40_t --operators ''"), 2, "want some of address");
    expect_result(run_command("mutate fixtures/ptx/quantize_pad40_t.ptx"), 2, "want the name of a kernel");
    expect_result(run_command("mutate 'quantize*'"), 2, "want the name of a kernel");
    expect_result(run_command("mutate --emit x y"), 2, "want a KERNEL and a FILE");
    expect_result(run_command("mutate --help"), 0, "usage: warpproof mutate");
}
