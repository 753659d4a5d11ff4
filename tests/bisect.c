/* warpproof bisect --ptx: the first step after which two programs differ is named, whatever kind it is of; programs
 * that give the same do not differ. */
#include "../ref/checked.h"
#include "command_run.h"
#include <criterion/criterion.h>
#include <stdio.h>
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
         {"\nfirst   no step that was", "\nfrom    A alone  ", "nobody stored it"}},
        {"exit;", "trap;", {"B       does not run to its end\n", "B  ", "LAUNCH"}},
        {"mov.u32 %r9, 255;",
         "add.u32 %r9, %r10, 255;\nmov.u32 %r9, 254;",
         {"\nfirst   register, block (0,0,0) warp 0 lane 0, step 12 of the warp\n", "%r9 = 0x000000fe (254)\n",
          "\n        32 lanes differ: 0..31\n"}},
        {"add.u32 %r7, %r3, %r6;", /* what is between goes another way */
         "add.u32 %r15, %r6, 16;\nadd.u32 %r7, %r3, %r15;",
         {"\nfirst   register, block (0,0,0) warp 0 lane 0, step 10 of the warp\n", "%r7 = 0x00000010 (16)\n",
          "from    B alone  "}},
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
        {"{%r8}, [%r7]", "{%r18}, [%r7];\nmov.b32 %r8, %r18", "1 by other registers"}, /* an instruction more */
        {"mov.u32 %r9, 255", "mov.b32 %r9, 0xff", "21 of them in step"},               /* another modifier */
        {"mov.u32 %r9, 255", "mov.u32 %r17, 255;\nmov.u32 %r9, 255", "1 in B alone"},  /* that looks the same */
        {"st.shared.u32 [%r4], %r1;\nst.shared.u32 [%r4+128], 7;\n",                   /* moved, once parted */
         "mov.u32 %r19, 0;\nst.shared.u32 [%r4+128], 7;\nst.shared.u32 [%r4], %r1;\n",
         "1 moved, 0 in A alone, 1 in B alone"},
        {"[%r4+128], 7", "[%r4+128], 7;\nst.shared.u32 [%r4+128], 7", "1 in B alone"},
        {"and.b32 %r5, %r1, 7;\nshl.b32 %r6, %r5, 4;", /* a computation that is none */
         "shl.b32 %r15, %r1, 4;\nand.b32 %r6, %r15, 112;", "output  equal"},
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
                  1,
                  "\nfrom    A alone  fixtures/ptx/mmq_wide_ldb.ptx:2785 (gpu/kernels/mmq_wide_ldb.cu:46, inlined at "
                  "gpu/kernels/mmq_wide_ldb.cu:94)  add.s32 %r228, %r227, 40960\n");
}

/* `text` with other numbers of its registers: of %r<20>, 1 .. 19, the n-th becomes the (20 - n)-th. */
static char *renumbered(const char *text) {
    struct {
        char name[8];
        long count;
    } all[8];
    size_t known = 0, size = 2 * strlen(text) + 1, n = 0;
    char *out = must_calloc(size, 1);
    for (const char *s = text; *s != 0;) {
        char name[8] = "", *end;
        size_t k = 1;
        while (*s == '%' && k < sizeof name && s[k] >= 'a' && s[k] <= 'z') {
            ++k;
        }
        if (*s != '%' || k == sizeof name) {
            out[n++] = *s++;
            continue;
        }
        memcpy(name, s, k);
        memcpy(out + n, s, k);
        n += k;
        s += k;
        size_t i = 0;
        while (i < known && strcmp(all[i].name, name) != 0) {
            ++i;
        }
        if (*s == '<') { /* .reg .b32 %r<20>; */
            cr_assert(i < 8);
            memcpy(all[i].name, name, sizeof name);
            all[i].count = strtol(s + 1, NULL, 10);
            known = i == known ? known + 1 : known;
        } else if (*s >= '0' && *s <= '9' && i < known) {
            n += (size_t)sprintf(out + n, "%ld", all[i].count - strtol(s, &end, 10));
            s = end;
        }
    }
    return out;
}

static char *text_of(const char *path) {
    FILE *f = fopen(path, "r");
    cr_assert(f != NULL, "%s", path);
    char *text = must_calloc(1 << 22, 1);
    const size_t n = fread(text, 1, (1 << 22) - 1, f);
    fclose(f);
    text[n] = 0;
    return text;
}

/* Registers of other numbers are no difference, and what differs is found behind them all the same. */
Test(bisect, registers_may_be_renumbered) {
    static const struct {
        const char *path;
        int code;
        const char *text;
    } rows[] = {
        {"fixtures/ptx/mmq_wide_ldb.ptx", 0,
         "0 of them changed, 0 by other registers; 0 moved, 0 in A alone, 0 in B alone\n"},
        {"fixtures/ptx/plants/warp_offset_dropped.ptx", 1,
         "\nfrom    A alone  fixtures/ptx/mmq_wide_ldb.ptx:2785 (gpu/kernels/mmq_wide_ldb.cu:46, "},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        char *text = text_of(rows[i].path), *other = renumbered(text);
        put_file("b.ptx", other, strlen(other));
        expect_result(run_command("bisect --ptx fixtures/ptx/mmq_wide_ldb.ptx %s/b.ptx "
                                  "mmq_wide_ldb_kd8/nt1.od70.id256/coded",
                                  run_folder),
                      rows[i].code, rows[i].text);
        free(text);
        free(other);
    }
}

/* Faults of kernels, each named by a line of its patch: the step that differs, or what it comes from. */
Test(bisect, planted_faults_are_named) {
    static const struct {
        const char *kernel, *plant, *what, *text;
    } rows[] = {
        {"quantize_pad40_t", "chunk_stride_doubled", "quantize_pad40_t/nt1.id512/coded",
         "chunk_stride_doubled.ptx:202 (gpu/kernels/quantize_pad40_t.cu:18)  shl.b64 %rd13, %rd2, 12\n"},
        {"matvec", "matvec_q5_0_high_word", "matvec_q5_0/nt1.od1.id32/coded",
         " (gpu/kernels/chunk_q5_0.cuh:10, inlined at gpu/kernels/matvec.cu:54, gpu/kernels/matvec.cu:75)  "
         "ld.global.nc.u32 "},
        {"mmq_word_q5_1", "word_q5_1_high_of_the_first_half", "mmq_word_q5_1_kd8/nt1.od1.id32/coded",
         "fixtures/ptx/mmq_word_q5_1.ptx:1288 (gpu/kernels/chunk_q5_1.cuh:18, inlined at "},
        {"mmq_narrow_raw", "copies_not_waited_for", "mmq_narrow_raw_kd8/nt63.od1.id512/coded",
         "\nmemory  A alone  fixtures/ptx/mmq_narrow_raw.ptx:3053 (gpu/kernels/ptx_asm.cuh:69, inlined at "
         "gpu/kernels/raw_tile.cuh:68, "},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        expect_result(run_command("bisect --ptx fixtures/ptx/%s.ptx fixtures/ptx/plants/%s.ptx %s", rows[i].kernel,
                                  rows[i].plant, rows[i].what),
                      1, rows[i].text);
    }
}

/* A body twice per turn of the loop, and the stored value the same. */
Test(bisect, another_unrolling_is_no_difference) {
    static const char once[] = "mov.u32 %r15, 0;\nmov.u32 %r16, 0;\n"
                               "L1:\nadd.u32 %r15, %r15, %r16;\nadd.u32 %r16, %r16, 1;\n"
                               "setp.lt.u32 %p2, %r16, 8;\n@%p2 bra L1;\nst.global.u32 [%rd3], %r15;\nexit;";
    static const char twice[] = "mov.u32 %r15, 0;\nmov.u32 %r16, 0;\n"
                                "L1:\nadd.u32 %r15, %r15, %r16;\nadd.u32 %r17, %r16, 1;\n"
                                "add.u32 %r15, %r15, %r17;\nadd.u32 %r16, %r16, 2;\n"
                                "setp.lt.u32 %p2, %r16, 8;\n@%p2 bra L1;\nst.global.u32 [%rd3], %r15;\nexit;";
    put_changed("exit;", once);
    char *copy = must_format("cp %s/b.ptx %s/a.ptx", run_folder, run_folder);
    expect_result(run_shell(copy), 0, "");
    free(copy);
    put_changed("exit;", twice);
    struct result r = compare("");
    cr_expect((r.code == 0 || r.code == 3) && strstr(r.text, "\noutput  equal\n") != NULL, "exit %d:\n%s", r.code,
              r.text);
    free(r.text);
}

/* A chain that is too long to be paired: said, and no step of it is told as a difference. */
Test(bisect, too_much_to_pair) {
    static const char *const lines[] = {"add.u32 %r1, %r1, 1;\n", "add.u32 %r1, %r1, 2;\n"};
    for (int k = 0; k < 2; ++k) {
        char *chain = must_calloc(6000 * 32, 1), *at = chain;
        for (int i = 0; i < 6000; ++i) {
            at = stpcpy(at, lines[k]);
        }
        strcpy(at, "mov.u32 %r1, 4;\nst.global.u32 [%rd3], %r1;\nexit;");
        put_changed("exit;", chain);
        free(chain);
        if (k == 0) {
            char *copy = must_format("cp %s/b.ptx %s/a.ptx", run_folder, run_folder);
            expect_result(run_shell(copy), 0, "");
            free(copy);
        }
    }
    expect_result(compare(""), 0, "; the programs differ too much to pair all\n");
}

/* Other places in shared memory: a step differs, the output does not, and who is to say. */
Test(bisect, what_cannot_be_judged) {
    put_changed("mov.u32 %r3, tile;", "mov.u32 %r16, tile;\nadd.u32 %r3, %r16, 256;");
    struct result r = compare("");
    cr_expect(r.code == 3 && strstr(r.text, "\noutput  equal\n") != NULL && strstr(r.text, "\nopen    ") != NULL,
              "exit %d:\n%s", r.code, r.text);
    free(r.text);
}

/* The output is equal, and the verdicts are not. */
Test(bisect, verdicts_that_differ) {
    static const char no_tail[] = "bisect --ptx docs/examples/dequant_q8.ptx docs/examples/no_tail.ptx --launch "
                                  "docs/examples/dequant_q8.yaml --json /dev/stdout";
    static const char *const texts[] = {
        "\noutput  equal\n", "\"in_step\": {\"verdict\": \"differs\"", "\"by\": \"control\"",
        "\ncontrol A alone  docs/examples/dequant_q8.ptx:42 (docs/examples/dequant_q8.cu:4)  @%p1 bra $L__BB0_2\n",
        "        A alone  docs/examples/dequant_q8.ptx:41 (docs/examples/dequant_q8.cu:4)  setp.ge.s32 %p1, "};
    struct result r = run_command(no_tail);
    cr_expect(r.code == 1 && strstr(r.text, "\nopen    ") == NULL, "exit %d:\n%s", r.code, r.text);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
        cr_expect(strstr(r.text, texts[i]) != NULL, "no \"%s\" in:\n%s", texts[i], r.text);
    }
    free(r.text);
}

/* A mutant that `mutate` makes: the guard of a branch, negated. */
Test(bisect, a_branch_the_other_way) {
    expect_result(run_command("mutate quantize_pad40_t --emit quantize_pad40_t/predicate/199/0 %s/b.ptx", run_folder),
                  0, "");
    expect_result(
        run_command("bisect --ptx fixtures/ptx/quantize_pad40_t.ptx %s/b.ptx quantize_pad40_t/nt1.id512/coded",
                    run_folder),
        1,
        "\ncontrol A changed  fixtures/ptx/quantize_pad40_t.ptx:199 (gpu/kernels/quantize_pad40_t.cu:17)  "
        "@%p3 bra $L__BB0_6\n        B changed  ");
}

/* docs/examples/difference.ptx by another order of its lines, as sed makes it. */
Test(bisect, barriers_and_moved_loads) {
    static const struct {
        const char *sed, *text;
    } rows[] = {
        {"88d", "\nbefore  A alone  docs/examples/difference.ptx:88 (docs/examples/difference.cu:9)  bar.sync 0\n"},
        {"81d;78a bar.sync 0;",
         "\nmemory  A moved  docs/examples/difference.ptx:81 (docs/examples/difference.cu:7)  bar.sync 0\n"},
        {"84d;78a ld.shared.u32 %r30, [%r3];",
         "\nfrom    A moved  docs/examples/difference.ptx:84 (docs/examples/difference.cu:8)  ld.shared.u32 %r30, "},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        char *command = must_format("sed '%s' docs/examples/difference.ptx >%s/b.ptx", rows[i].sed, run_folder);
        expect_result(run_shell(command), 0, "");
        free(command);
        expect_result(run_command("bisect --ptx docs/examples/difference.ptx %s/b.ptx --launch "
                                  "docs/examples/difference.yaml",
                                  run_folder),
                      1, rows[i].text);
    }
}

Test(bisect, json) {
    put_changed("shl.b32 %r2, %r1, 2", "shl.b32 %r2, %r1, 3");
    expect_result(compare(" --json /dev/stdout"), 1,
                  "\"register\": \"%r2\", \"value\": \"0x4\", \"values\": [\"0x0\", \"0x4\", \"0x8\"");
    expect_result(compare(" --json -"), 2, "--json -: want the name of a file");
    expect_result(compare(" --json /nowhere/x"), 2, "/nowhere/x");
    char *option = must_format(" --json %s/a.ptx", run_folder);
    expect_result(compare(option), 2, "is the input");
    free(option);
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
    expect_result(compare(" --build-timeout 5"), 2, "do not go with it");
    expect_result(compare(" --build-timeout 0"), 2, "want seconds");
    expect_result(compare(" --set n=1"), 2, "no expression of the launch file uses that name");
    expect_result(compare(" --data rand"), 2, "there is no contract");
    expect_result(run_command("bisect --ptx %s/a.ptx %s/b.ptx no_such_case", run_folder, run_folder), 3,
                  "no case matches");
    put_changed(".entry k", ".entry other");
    expect_result(compare(""), 3, "k");
    put_changed("exit;", "exit");
    expect_result(compare(""), 2, "b.ptx:");
}
