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

/* The number before " of M killed", and M. */
static size_t killed(const char *text, size_t *of) {
    const char *at = strstr(text, " killed, ");
    size_t n = 0;
    *of = 0;
    while (at != NULL && at > text && at[-1] != '\n') {
        --at;
    }
    cr_assert(at != NULL && sscanf(at, "%zu of %zu killed", &n, of) == 2, "%s", text);
    return n;
}

/* Part of what `make mutants` does. A judge that is switched off is missed. */
Test(mutate, a_sample_is_killed_and_fewer_are_without_a_judge, .timeout = 300) {
    const size_t n = command_stride() == 1 ? 60 : 24;
    struct result all =
        run_command("mutate quantize_pad40_t matvec_q4_0 --sample %zu --seed 3 --cases 40 --least 90", n);
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

Test(mutate, bad_arguments) {
    expect_result(run_command("mutate"), 2, "want a KERNEL");
    expect_result(run_command("mutate nosuch"), 3, "no case matches");
    expect_result(run_command("mutate quantize_pad40_t --operators nosuch"), 2,
                  "--operators nosuch: want some of address");
    expect_result(run_command("mutate quantize_pad40_t --without nosuch"), 2, "want names of judges");
    expect_result(run_command("mutate quantize_pad40_t --sample 0"), 2, "--sample 0: want a number of mutants");
    expect_result(run_command("mutate quantize_pad40_t --only quantize_pad40_t/store/1/0"), 3, "no mutant is named");
    expect_result(run_command("mutate quantize_pad40_t quantize_pad40_t"), 2, "given twice");
    expect_result(run_command("mutate 'quantize*'"), 2, "want the name of a kernel");
    expect_result(run_command("mutate --emit x y"), 2, "want a KERNEL and a FILE");
    expect_result(run_command("mutate --help"), 0, "usage: warpproof mutate");
}
