/* The static audit: what each instruction leaves open, and the command. */
#include "../gpu/audit.h"
#include "../ref/checked.h"
#include "command_run.h"
#include "machine_run.h"
#include <unistd.h>

static const struct arch *on_arch; /* NULL: the default, sm_90 */

static struct ptx_module *parse(const char *level, const char *body) {
    struct error e = {""};
    char *text = ptx_text(level, ".param .u64 p0", body);
    struct ptx_module *m = ptx_parse("k.ptx", text, strlen(text), &e);
    cr_assert(m, "%s\n%s", e.text, body);
    free(text);
    return m;
}

/* Places of each kind in the body. */
static void expect(const char *level, const char *body, const size_t want[AUDIT_KINDS]) {
    struct ptx_module *m = parse(level, body);
    struct audit a;
    audit_entry(m, ptx_entry_named(m, "k"), on_arch, &a);
    for (int k = 0; k < AUDIT_KINDS; ++k)
        cr_expect_eq(a.count[k], want[k], "%s\n%s: %zu, want %zu", body, audit_names[k], a.count[k], want[k]);
    audit_free(&a);
    ptx_free(m);
}
#define EXPECT(body, ...) expect("", body, (const size_t[AUDIT_KINDS]){__VA_ARGS__})

Test(audit, kinds) {
    EXPECT("mul.f32 %f1, %f2, %f3;\nadd.f32 %f4, %f1, %f5;\nret;", [AUDIT_FUSIBLE] = 1);
    EXPECT("mul.f32 %f1, %f2, %f3;\nsub.f32 %f4, %f5, %f1;\nret;", [AUDIT_FUSIBLE] = 1);
    EXPECT("mul.ftz.f32 %f1, %f2, %f3;\nadd.ftz.f32 %f4, %f1, %f5;\nret;", [AUDIT_FUSIBLE] = 1, [AUDIT_FLUSH] = 2);
    EXPECT("mul.f64 %d1, %d2, %d3;\nadd.f64 %d4, %d1, %d1;\nret;", [AUDIT_FUSIBLE] = 1);
    EXPECT("mul.f16x2 %r1, %r2, %r3;\nadd.f16x2 %r4, %r5, %r1;\nret;", [AUDIT_FUSIBLE] = 1);
    /* none: a rounding on either side, another type, another .ftz, a saturated product, integers */
    EXPECT("mul.rn.f32 %f1, %f2, %f3;\nadd.f32 %f4, %f1, %f5;\nret;", 0);
    EXPECT("mul.f32 %f1, %f2, %f3;\nadd.rn.f32 %f4, %f1, %f5;\nret;", 0);
    EXPECT("mul.ftz.f32 %f1, %f2, %f3;\nadd.f32 %f4, %f1, %f5;\nret;", [AUDIT_FLUSH] = 1);
    EXPECT("mul.sat.f32 %f1, %f2, %f3;\nadd.f32 %f4, %f1, %f5;\nret;", 0);
    EXPECT("mul.lo.s32 %r1, %r2, %r3;\nadd.s32 %r4, %r1, %r5;\nret;", 0);
    EXPECT("add.f32 %f4, %f1, %f5;\nret;", 0);

    EXPECT("ex2.approx.ftz.f32 %f1, %f2;\nret;", [AUDIT_APPROXIMATE] = 1, [AUDIT_FLUSH] = 1);
    EXPECT("rsqrt.approx.f32 %f1, %f2;\nsqrt.approx.f32 %f3, %f1;\nrcp.approx.ftz.f64 %d1, %d2;\nret;",
           [AUDIT_APPROXIMATE] = 3, [AUDIT_FLUSH] = 1);
    EXPECT("rcp.approx.f32 %f1, %f2;\ndiv.approx.f32 %f1, %f2, %f3;\ndiv.full.f32 %f3, %f1, %f2;\n"
           "ex2.approx.f16x2 %r1, %r2;\ntanh.approx.bf16x2 %r1, %r2;\nret;",
           [AUDIT_MEASURED] = 5);
    EXPECT("tanh.approx.f32 %f1, %f2;\nret;", [AUDIT_APPROXIMATE] = 1);
    EXPECT("rcp.rn.f32 %f1, %f2;\nsqrt.rn.f32 %f1, %f2;\ndiv.rn.f32 %f1, %f2, %f3;\nret;", 0);
    EXPECT("red.global.add.f32 [%rd1], %f1;\natom.shared.add.noftz.f16x2 %r1, [%r2], %r3;\nret;", [AUDIT_FLOAT_ATOMIC] =
                                                                                                      2);
    EXPECT("red.global.add.u32 [%rd1], %r1;\natom.global.exch.b32 %r1, [%rd2], %r3;\nret;", 0);
    EXPECT("mov.u32 %r1, %clock;\nmov.u32 %r2, %smid;\nactivemask.b32 %r3;\nret;", [AUDIT_ENVIRONMENT] = 3);
    EXPECT("div.s32 %r1, %r2, %r3;\nrem.u64 %rd1, %rd2, %rd3;\ndiv.u32 %r1, %r2, 7;\nrem.s32 %r1, %r2, 0;\nret;",
           [AUDIT_MACHINE] = 3);
    EXPECT("shfl.bfly.b32 %r1, %r2, 1, 31;\nret;", [AUDIT_MACHINE] = 1);
    EXPECT("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, {%r5,%r6,%r7,%r8}, {%r9,%r10}, "
           "{%f5,%f6,%f7,%f8};\nret;",
           [AUDIT_MEASURED] = 1);
    EXPECT("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r1,%r2,%r3,%r4}, {%r5,%r6,%r7,%r8}, {%r9,%r10}, "
           "{%r1,%r2,%r3,%r4};\nret;",
           0);
}

static void expect_only(const char *body, enum audit_kind kind, size_t places) {
    size_t want[AUDIT_KINDS] = {0};
    want[kind] = places;
    expect("", body, want);
}

/* What was measured was measured on sm_90. */
Test(audit, architectures) {
    static const char approximate[] =
        "rcp.approx.f32 %f1, %f2;\ndiv.approx.f32 %f1, %f2, %f3;\ndiv.full.f32 %f3, %f1, %f2;\n"
        "ex2.approx.f16 %h1, %h2;\nret;";
    static const char mma[] = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, "
                              "{%r5,%r6,%r7,%r8}, {%r9,%r10}, {%f5,%f6,%f7,%f8};\n"
                              "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%d1,%d2}, {%d3}, {%d4}, {%d5,%d6};\n"
                              "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r1,%r2,%r3,%r4}, {%r5,%r6,%r7,%r8}, "
                              "{%r9,%r10}, {%r1,%r2,%r3,%r4};\nret;";
    static const char fp8[] = "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32 {%f1,%f2,%f3,%f4}, "
                              "{%r5,%r6,%r7,%r8}, {%r9,%r10}, {%f5,%f6,%f7,%f8};\nret;";
    static const struct {
        const char *arch;
        enum audit_kind approximate, mma, fp8;
    } cases[] = {
        {"sm_80", AUDIT_APPROXIMATE, AUDIT_LITERATURE, AUDIT_LITERATURE},
        {"sm_89", AUDIT_APPROXIMATE, AUDIT_LITERATURE, AUDIT_LITERATURE},
        {"sm_90a", AUDIT_MEASURED, AUDIT_MEASURED, AUDIT_MEASURED},
        {"sm_100", AUDIT_APPROXIMATE, AUDIT_LITERATURE, AUDIT_MACHINE}, /* nothing is published of its fp8 */
        {"sm_120", AUDIT_APPROXIMATE, AUDIT_LITERATURE, AUDIT_LITERATURE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        on_arch = arch_named(cases[i].arch);
        expect_only(approximate, cases[i].approximate, 4);
        expect_only(mma, cases[i].mma, 2);
        expect_only(fp8, cases[i].fp8, 1);
    }
    cr_expect(audit_is_open(AUDIT_LITERATURE) && audit_is_open(AUDIT_MACHINE) && !audit_is_open(AUDIT_MEASURED),
              "what is not measured is open");
}

/* Functions count when the entry can reach them, directly, through others, or through a table of pointers. */
Test(audit, functions) {
    const char *level = ".func far() { .reg .f32 %f<3>; sin.approx.f32 %f1, %f2; ret; }\n"
                        ".func near() { .reg .f32 %f<3>; cos.approx.f32 %f1, %f2; call.uni far, (); ret; }\n"
                        ".func unused() { .reg .f32 %f<3>; tanh.approx.f32 %f1, %f2; ret; }\n";
    expect(level, "call.uni near, ();\nret;", (const size_t[AUDIT_KINDS]){[AUDIT_APPROXIMATE] = 2});
    expect(level, "ret;", (const size_t[AUDIT_KINDS]){0});
    const char *table = ".func f() { .reg .f32 %f<3>; sin.approx.f32 %f1, %f2; ret; }\n.global .u64 tab[1] = {f};\n";
    expect(table, "mov.u64 %rd1, tab;\nret;", (const size_t[AUDIT_KINDS]){[AUDIT_APPROXIMATE] = 1});
}

TestSuite(audit_command, .init = make_folder, .fini = remove_folder);

static void put_ptx(const char *body) {
    char *text = ptx_text("", ".param .u64 p0", body);
    put_file("k.ptx", text, strlen(text));
    free(text);
}

Test(audit_command, output_and_exit_codes) {
    expect_result(run_command("audit fixtures/ptx/mmq_wide_ldb.ptx"), 0,
                  "mmq_wide_ldb_kd8: 1788 instructions\n  nothing leaves bits open\n");
    expect_result(run_command("audit fixtures/ptx/mmq_wide_ldb.ptx --entry mmq_wide_ldb_kd4"), 0, "mmq_wide_ldb_kd4");
    expect_result(run_command("audit fixtures/ptx/mmq_wide_ldb.ptx --entry nosuch"), 3, "no entry nosuch");
    put_ptx("mul.f32 %f1, %f2, %f3;\nadd.f32 %f4, %f1, %f5;\nex2.approx.f32 %f1, %f2;\nret;\n");
    expect_result(run_command("audit %s/k.ptx", run_folder), 1,
                  "k.cu:2  add.f32 %f4, %f1, %f5  takes in  mul.f32 %f1, %f2, %f3");
    expect_result(run_command("audit %s/k.ptx", run_folder), 1, "2 places leave bits open");
    struct result early = run_command("audit %s/k.ptx --json %s/none/x", run_folder, run_folder);
    cr_expect(strstr(early.text, "instructions") == NULL, "a table before the error:\n%s", early.text);
    expect_result(early, 2, "cannot write: No such file or directory");
    expect_result(run_command("audit %s/k.ptx --json /dev/stdout", run_folder), 1,
                  "\"open\": 2, \"counts\": {\"fusible\": 1, \"approximate\": 1");
    put_ptx("mul.f32 %f1, %f2, %f3;\nadd.f32 %f4, %f1, %f5;\nadd.f32 %f4, %f1, %f6;\nret;\n");
    expect_result(run_command("audit %s/k.ptx --lines 1", run_folder), 1, "... and 1 more (--lines 0)");
    put_file("e.ptx", ".version 9.0\n.target sm_80\n.address_size 64\n",
             sizeof ".version 9.0\n.target sm_80\n.address_size 64\n" - 1);
    expect_result(run_command("audit %s/e.ptx", run_folder), 3, "no entry");
    put_ptx("tex.frobnicate.u32 %r1, %r2;\nret;\n"); /* of what is not known nothing can be promised */
    struct result unknown = run_command("audit %s/k.ptx", run_folder);
    cr_expect(strstr(unknown.text, "nothing leaves bits open") == NULL, "promised:\n%s", unknown.text);
    expect_result(unknown, 2, "unknown instruction `tex.frobnicate.u32 %r1, %r2` (k.cu:1)\n  the machine does not run");
    expect_result(run_command("audit %s/k.ptx --json /dev/stdout", run_folder), 2, "\"not_run\": \"");
    put_ptx("ex2.approx.f32 %f1, %f2;\ntex.frobnicate.u32 %r1, %r2;\nret;\n");
    expect_result(run_command("audit %s/k.ptx", run_folder), 1, "1 place leaves bits open");
    put_ptx("redux.sync.add.u32 %r1, %r2, -1;\nret;\n");
    expect_result(run_command("audit %s/k.ptx", run_folder), 0, "nothing leaves bits open");
    expect_result(run_command("audit %s/k.ptx --arch sm_75", run_folder), 2, "it needs sm_80");
    static const char declared[] = ".version 9.0\n.target sm_80\n.address_size 64\n.entry k(.param .u64 a);\n";
    put_file("e.ptx", declared, sizeof declared - 1);
    expect_result(run_command("audit %s/e.ptx", run_folder), 3, "no entry");
    static const char huge[] =
        ".version 9.0\n.target sm_80\n.address_size 64\n.entry k(.param .b8 a[4294967295]) { ret; }\n";
    put_file("e.ptx", huge, sizeof huge - 1);
    expect_result(run_command("audit %s/e.ptx", run_folder), 2, "4294967295 bytes of parameters");
    put_file("e.ptx", "no PTX", 6);
    expect_result(run_command("audit %s/e.ptx", run_folder), 2, "e.ptx:1:1:");
    expect_result(run_command("audit %s/nosuch.ptx", run_folder), 2, "nosuch.ptx: No such file");
    expect_result(run_command("audit"), 2, "want one PTX file");
    expect_result(run_command("audit a b"), 2, "want one PTX file");
    expect_result(run_command("audit a --lines x"), 2, "--lines x");
    expect_result(run_command("audit a --arch sm_91"), 2, "--arch sm_91: unknown architecture; known: sm_75 sm_80");
    expect_result(run_command("audit a --json -"), 2, "--json -: want the name of a file");
    put_file("e.ptx", ".version 9.0\n.target sm_80\n.address_size 64\n.visible .entry k(){ret;}\n",
             sizeof ".version 9.0\n.target sm_80\n.address_size 64\n.visible .entry k(){ret;}\n" - 1);
    expect_result(run_command("audit %s/e.ptx --json %s/e.ptx", run_folder, run_folder), 2, "e.ptx is the input");
    expect_result(run_command("audit %s/e.ptx", run_folder), 0, "k: 1 instruction\n");
    expect_result(run_command("audit --help"), 0, "usage: warpproof audit");
    expect_result(run_command("audit fixtures/ptx/mmq_wide_ldb.ptx --json /nonexistent/x"), 2, "/nonexistent/x");
}

#define MMA "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, {%r5,%r5,%r5,%r5}, {%r5,%r5}, "
static const char launch_k[] =
    "kernel: k\nptx: k.ptx\nlaunch: {grid: [1], block: [32]}\nargs:\n  - {out: y, type: f32, count: 32}\n";

/* Float mma by a model that nobody here has measured: a note of the launch that executes it, and open in the audit. */
Test(audit_command, models_of_the_literature) {
    static const char store[] = "mov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, 4;\nld.param.u64 %rd1, [p0];\n"
                                "add.u64 %rd1, %rd1, %rd2;\nst.global.f32 [%rd1], %f1;\nret;\n";
    static const char note[] = "float mma of sm_80: model of the literature, not measured (first at k.cu:4)";
    char *body = must_format("mov.u32 %%r5, 0x3C003C00;\nmov.f32 %%f1, 0f00000000;\n"
                             "setp.lt.u32 %%p1, %%r5, 1;\n%s{%%f1,%%f1,%%f1,%%f1};\n%s",
                             MMA, store);
    put_ptx(body);
    free(body);
    put_file("launch.yaml", launch_k, sizeof launch_k - 1);
    expect_result(run_command("audit %s/k.ptx", run_folder), 0, "1  open in the document, measured on sm_90");
    expect_result(run_command("audit %s/k.ptx --arch sm_80", run_folder), 1,
                  "1  float mma by the literature's model of this architecture: not measured\n      k.cu:4  mma.sync");
    expect_result(run_command("run %s/launch.yaml --arch sm_80", run_folder), 0, note);
    expect_result(run_command("run %s/launch.yaml --arch sm_80", run_folder), 0,
                  "(the program leaves bits open: 1 literature; warpproof audit)");
    expect_result(run_command("run %s/launch.yaml --arch sm_80 --json /dev/stdout", run_folder), 0,
                  "\"notes\": [\"float");
    struct result r = run_command("run %s/launch.yaml", run_folder);
    cr_expect(r.code == 0 && !strstr(r.text, "literature"), "sm_90 is measured:\n%s", r.text);
    free(r.text);

    body = must_format("mov.u32 %%r5, 0;\nmov.f32 %%f1, 0f00000000;\nsetp.ne.u32 %%p1, %%r5, 0;\n"
                       "@%%p1 bra never;\nbra.uni end;\nnever:\n%s{%%f1,%%f1,%%f1,%%f1};\nend:\n%s",
                       MMA, store);
    put_ptx(body);
    free(body);
    r = run_command("run %s/launch.yaml --arch sm_80", run_folder);
    cr_expect(r.code == 0 && !strstr(r.text, "model of the literature"), "it was not executed:\n%s", r.text);
    free(r.text);
}

/* A verdict says what it holds up to. */
Test(audit_command, verdicts_carry_it) {
    put_ptx("ld.param.u64 %rd1, [p0];\nmov.f32 %f2, 0f3F800000;\nmul.f32 %f1, %f2, %f2;\nadd.f32 %f4, %f1, "
            "%f2;\nst.global.f32 [%rd1], %f4;\nret;\n");
    static const char launch[] =
        "kernel: k\nptx: k.ptx\nlaunch: {grid: [1], block: [1]}\nargs:\n  - {out: y, type: f32, count: 1}\n";
    put_file("launch.yaml", launch, sizeof launch - 1);
    expect_result(run_command("run %s/launch.yaml", run_folder), 0,
                  "(the program leaves bits open: 1 fusible; warpproof audit)");
    expect_result(run_command("run %s/launch.yaml --json /dev/stdout", run_folder), 0, "\"audit\": {\"fusible\": 1}");
}
