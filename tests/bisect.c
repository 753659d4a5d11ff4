/* warpproof bisect --ptx: the first step after which two programs differ is named, whatever kind it is of; programs
 * that give the same do not differ. */
#include "../ref/checked.h"
#include "command_run.h"
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static const char kernel[] = ".version 9.0\n"
                             ".target sm_80\n"
                             ".address_size 64\n"
                             ".visible .entry k(.param .u64 y)\n"
                             "{\n"
                             ".reg .pred %p<4>;\n"
                             ".reg .b32 %r<20>;\n"
                             ".reg .b64 %rd<8>;\n"
                             ".shared .align 16 .b8 tile[1024];\n"
                             "mov.u32 %r1, %tid.x;\n" /* line 10 */
                             "shl.b32 %r2, %r1, 2;\n"
                             "mov.u32 %r3, tile;\n"
                             "add.u32 %r4, %r3, %r2;\n"
                             "st.shared.u32 [%r4], %r1;\n"
                             "st.shared.u32 [%r4+128], 7;\n"
                             "bar.sync 0;\n"
                             "and.b32 %r5, %r1, 7;\n"
                             "shl.b32 %r6, %r5, 4;\n"
                             "add.u32 %r7, %r3, %r6;\n"
                             "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r8}, [%r7];\n" /* line 20 */
                             "mov.u32 %r9, 255;\n"
                             "mov.u32 %r10, 0;\n"
                             "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r11, %r12, %r13, %r14}, "
                             "{%r8, %r8, %r8, %r8}, {%r9, %r9}, {%r10, %r10, %r10, %r10};\n"
                             "setp.lt.u32 %p1, %r1, 16;\n"
                             "@%p1 add.u32 %r11, %r11, 1;\n"
                             "ld.param.u64 %rd1, [y];\n"
                             "mul.wide.u32 %rd2, %r1, 8;\n"
                             "add.u64 %rd3, %rd1, %rd2;\n"
                             "st.global.u32 [%rd3], %r11;\n"
                             "st.global.u32 [%rd3+4], %r1;\n" /* line 30 */
                             "exit;\n"
                             "}\n";

static const char launch[] = "kernel: k\n"
                             "about: a step of each kind\n"
                             "ptx: a.ptx\n"
                             "launch: {grid: [1], block: [32]}\n"
                             "args:\n"
                             "  - {out: y, type: i32, count: 66}\n";

/* In the kernel, `from` becomes `to`. */
static void put_changed(const char *from, const char *to) {
    const char *at = strstr(kernel, from);
    cr_assert(at != NULL, "the kernel has no `%s`", from);
    char *text = must_format("%.*s%s%s", (int)(at - kernel), kernel, to, at + strlen(from));
    put_file("b.ptx", text, strlen(text));
    free(text);
}

static struct result compare(const char *options) {
    return run_command("bisect --ptx %s/a.ptx %s/b.ptx --launch %s/k.yaml%s", run_folder, run_folder, run_folder,
                       options);
}

static void begin(void) {
    make_folder();
    put_file("a.ptx", kernel, strlen(kernel));
    put_file("k.yaml", launch, strlen(launch));
}
TestSuite(bisect, .init = begin, .fini = remove_folder);

Test(bisect, the_first_difference_of_each_kind_is_named) {
    static const struct {
        const char *from, *to;
        const char *texts[3]; /* all of them are said */
    } rows[] = {
        {"shl.b32 %r2, %r1, 2",
         "shl.b32 %r2, %r1, 3",
         {"\nfirst   register, block (0,0,0) warp 0 lane 1, step 1 of the warp\n", "%r2 = 0x00000004 (4)\n",
          "b.ptx:11  shl.b32 %r2, %r1, 3\n"}},
        {"[%r4+128], 7",
         "[%r4+128], 8",
         {"\nfirst   store to shared memory, ", "literal = 0x0000000000000007", "b.ptx:15"}},
        {"[%r4+128], 7", "[%r4+256], 7", {"\nfirst   store to shared memory, ", "lane 0", "address %r4 = 0x00000100"}},
        {"[%r7];", "[%r7+128];", {"\nfirst   ldmatrix result, ", "%r8 = 0x00000007 (7)", "also    mma result"}},
        {"s32.s8.s8.s32", "s32.s8.u8.s32", {"\nfirst   mma result, ", "%r11 = ", "also    store, "}},
        {"[%rd3+4], %r1", "[%rd3+8], %r1", {"\nfirst   store, ", "address %rd3 = ", "output  y: "}},
        {"setp.lt.u32", "setp.le.u32", {"\nfirst   register, block (0,0,0) warp 0 lane 16", "%p1 = 0\n", "%p1 = 1\n"}},
        {"@%p1 add", "@!%p1 add", {"\nfirst   register, ", "the lane does not execute it", "output  y: 32 of 66"}},
        {"st.global.u32 [%rd3], %r11;\n",
         "",
         {"\nfirst   no step that was", "parted  1 of 1 warps", "nobody stored it"}},
        {"exit;", "trap;", {"B       does not run to its end\n", "B  ", "LAUNCH"}},
        {"mov.u32 %r9, 255;",
         "add.u32 %r9, %r10, 255;\nmov.u32 %r9, 254;",
         {"parted  1 of 1 warps go on by other instructions; first block (0,0,0) warp 0, step 11\n",
          "\nfirst   mma result, ", "step 14 of the warp, after the programs parted\n"}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        put_changed(rows[i].from, rows[i].to);
        struct result r = compare("");
        cr_expect(r.code == 1, "%s -> %s: exit %d:\n%s", rows[i].from, rows[i].to, r.code, r.text);
        for (size_t k = 0; k < 3; ++k) {
            cr_expect(strstr(r.text, rows[i].texts[k]) != NULL, "%s -> %s: no \"%s\" in:\n%s", rows[i].from, rows[i].to,
                      rows[i].texts[k], r.text);
        }
        free(r.text);
    }
}

Test(bisect, what_gives_the_same_does_not_differ) {
    static const struct {
        const char *from, *to, *text;
    } rows[] = {
        {"exit;", "exit;", "steps   21 of 1 warps compared, 21 of them in step\n"},
        {"{%r8}, [%r7]", "{%r18}, [%r7];\nmov.b32 %r8, %r18", "parted  1 of 1 warps"}, /* an instruction more */
        {"mov.u32 %r9, 255", "mov.b32 %r9, 0xff", "21 of them in step"},               /* another modifier */
        {"mov.u32 %r9, 255", "mov.u32 %r17, 255;\nmov.u32 %r9, 255", "parted  1 of"},  /* that looks the same */
        {"st.shared.u32 [%r4], %r1;\nst.shared.u32 [%r4+128], 7;\n",                   /* moved, once parted */
         "mov.u32 %r19, 0;\nst.shared.u32 [%r4+128], 7;\nst.shared.u32 [%r4], %r1;\n", "parted  1 of 1 warps"},
        {"[%r4+128], 7", "[%r4+128], 7;\nst.shared.u32 [%r4+128], 7", "parted  1 of 1 warps"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        put_changed(rows[i].from, rows[i].to);
        struct result r = compare(i == 0 ? " -j 2" : "");
        cr_expect(r.code == 0 && strstr(r.text, "\nfirst   no step that was compared differs\n") != NULL &&
                      strstr(r.text, "\noutput  equal\n") != NULL && strstr(r.text, rows[i].text) != NULL,
                  "%s -> %s: exit %d:\n%s", rows[i].from, rows[i].to, r.code, r.text);
        free(r.text);
    }
}

/* Several blocks, launches, and a fault of a real kernel. */
Test(bisect, kernels) {
    expect_result(run_command("bisect --ptx docs/examples/dequant_q8.ptx docs/examples/wrong_scale.ptx --launch "
                              "docs/examples/dequant_q8.yaml"),
                  1,
                  "first   register, block (0,0,0) warp 1 lane 0, step 13 of the warp\n  A     %r9 = 0x00000001 (1)\n");
    expect_result(run_command("bisect --ptx docs/examples/ksplit.ptx docs/examples/ksplit.ptx --launch "
                              "docs/examples/ksplit.yaml"),
                  0, "output  equal");
    expect_result(run_command("bisect --ptx fixtures/ptx/mmq_wide_ldb.ptx fixtures/ptx/plants/warp_offset_dropped.ptx "
                              "mmq_wide_ldb_kd8/nt1.od70.id256/coded"),
                  1, "first   ldmatrix result, block (0,0,0) warp 1 lane 0");
}

Test(bisect, what_cannot_be_compared) {
    put_changed("exit;", "exit;");
    expect_result(
        run_command("bisect --ptx %s/a.ptx %s/none.ptx --launch %s/k.yaml", run_folder, run_folder, run_folder), 2,
        "none.ptx");
    expect_result(run_command("bisect --ptx %s/a.ptx", run_folder), 2, "--ptx: want two files");
    expect_result(run_command("bisect --ptx %s/a.ptx %s/b.ptx", run_folder, run_folder), 2, "want one case");
    expect_result(compare(" a_case"), 2, "a case and --launch: want one of them");
    expect_result(compare(" --good x"), 2, "do not go with it");
    expect_result(compare(" --set n=1"), 2, "no expression of the launch file uses that name");
    expect_result(compare(" --data rand"), 2, "there is no contract");
    expect_result(run_command("bisect --ptx %s/a.ptx %s/b.ptx no_such_case", run_folder, run_folder), 3,
                  "no case matches");
    put_changed(".entry k", ".entry other");
    expect_result(compare(""), 3, "k");
    put_changed("exit;", "exit");
    expect_result(compare(""), 2, "b.ptx:");
}
