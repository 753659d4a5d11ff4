/* warpproof prove banks, as a person calls it. */
#include "../ref/checked.h"
#include "command_run.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(command_banks, .init = make_folder, .fini = remove_folder);

static char *in_folder(const char *name) {
    char *path = must_format("%s/%s", run_folder, name);
    FILE *f = fopen(path, "rb");
    cr_assert(f, "%s is not there", path);
    char *text = must_calloc(1 << 20, 1);
    cr_assert(fread(text, 1, (1 << 20) - 1, f) > 0, "%s is empty", path);
    fclose(f);
    free(path);
    return text;
}

static void expect_in(const char *name, const char *want) {
    char *text = in_folder(name);
    cr_expect(strstr(text, want), "%s has no\n%s\nbut\n%.2000s", name, want, text);
    free(text);
}

Test(command_banks, statements) {
    expect_result(run_command("prove banks"), 0, " refuted\n");
    expect_result(run_command("prove banks rows/"), 0, "14 proved, 0 refuted\n14 passed, 0 failed, 0 skipped\n");
    expect_result(
        run_command("prove banks --list rows/stride48"), 0,
        "rows/stride48  8 rows of 16 bytes, 48 bytes apart, begin in banks 0 12 24 4 16 28 8 20: 1 wavefront a "
        "matrix; ldmatrix.x4 of 16 rows x 32 bytes: 4, 0 of them conflicts\n");
    expect_result(run_command("prove banks table/banks_h200"), 0, "proved");
    expect_result(run_command("prove banks plane/mmq_wide_ldb_kd8/qb8"), 0, "1 passed, 0 failed, 0 skipped\n");
    expect_result(run_command("prove banks nosuch"), 3, "no statement matches 'nosuch'");
    expect_result(run_command("prove banks ''"), 2, "a PATTERN is empty");
    expect_result(run_command("prove banks rule/phases --json %s/s.json", run_folder), 0, "1 passed");
    expect_in("s.json", "{\"subject\": \"banks\", \"statements\": [{\"name\": \"rule/phases\", ");
}

Test(command_banks, rows) {
    expect_result(run_command("prove banks --rows 8 --row-bytes 16 --stride 48"), 0,
                  "8 rows of 16 bytes, 48 bytes apart\n"
                  "start banks: 0 12 24 4 16 28 8 20\n"
                  "ldmatrix.x1: 1 access, 1 wavefront, 0 conflicts\n"
                  "  phase 0: 1 wavefront, 0 conflicts\n"
                  "    wavefront 0: lanes 0-7 (rows 0-7)\n");
    expect_result(run_command("prove banks --rows 8 --row-bytes 16 --stride 32"), 0,
                  "ldmatrix.x1: 1 access, 2 wavefronts, 1 conflict\n"
                  "  phase 0: 2 wavefronts, 1 conflict\n"
                  "    wavefront 0: lanes 0-3 (rows 0-3)\n"
                  "    wavefront 1: lanes 4-7 (rows 4-7)\n"
                  "    banks 0-3 are asked for 2 words each by lanes 0 4 (rows 0 4)\n"
                  "    banks 8-11 are asked for 2 words each by lanes 1 5 (rows 1 5)\n"
                  "    banks 16-19 are asked for 2 words each by lanes 2 6 (rows 2 6)\n"
                  "    banks 24-27 are asked for 2 words each by lanes 3 7 (rows 3 7)\n");
    expect_result(run_command("prove banks --rows 8 --row-bytes 32 --stride 32 --op ld64 --mask 3"), 0,
                  "ld64: 1 access, 1 wavefront, 0 conflicts\n");
    expect_result(
        run_command("prove banks --rows 32 --row-bytes 4 --stride 64 --op st32 --mask 0x5"), 0,
        "  phase 0: 2 wavefronts, 1 conflict\n    wavefront 0: lane 0 (row 0)\n    wavefront 1: lane 2 (row 2)\n"
        "    bank 0 is asked for 2 words by lanes 0 2 (rows 0 2)\n");
    expect_result(run_command("prove banks --rows 64 --row-bytes 128 --stride 128 --xor 7 --offset 1024"), 0,
                  "64 rows of 128 bytes, 128 bytes apart, from byte 1024, swizzle chunk ^= row >> 0 & 7\n"
                  "start banks: 0 4 8 12 16 20 24 28 0");
}

/* A claim, and what turns it red: a wrong stride, a wrong mask, a missing swizzle. */
Test(command_banks, claims) {
    expect_result(run_command("prove banks --rows 16 --row-bytes 32 --stride 48 --wavefronts 4"), 0,
                  "1 passed, 0 failed, 0 skipped\n");
    expect_result(run_command("prove banks --rows 16 --row-bytes 32 --stride 32 --wavefronts 4"), 1,
                  "REFUTED: 4 wavefronts are claimed, all accesses take 8\n0 passed, 1 failed, 0 skipped\n");
    expect_result(
        run_command("prove banks --rows 32 --row-bytes 4 --stride 64 --op ld32 --mask 00000005 --wavefronts 2"), 0,
        "1 passed");
    expect_result(
        run_command("prove banks --rows 32 --row-bytes 4 --stride 64 --op ld32 --mask 00000001 --wavefronts 2"), 1,
        "REFUTED: 2 wavefronts are claimed, all accesses take 1\n");
    expect_result(run_command("prove banks --rows 8 --row-bytes 64 --stride 64 --xor 3:1 --wavefronts 4"), 0,
                  "1 passed");
    expect_result(run_command("prove banks --rows 8 --row-bytes 64 --stride 64 --xor 3 --wavefronts 4"), 1,
                  "REFUTED: 4 wavefronts are claimed, all accesses take 8\n");
    expect_result(run_command("prove banks --layout fixtures/layouts/slots_48.yaml --wavefronts 16"), 0, "1 passed");
    expect_result(run_command("prove banks --layout fixtures/layouts/slots_48.yaml --wavefronts 1"), 1,
                  "REFUTED: 1 wavefront is claimed, all accesses take 16\n");
}

Test(command_banks, advice) {
    expect_result(run_command("prove banks --advise --rows 16 --row-bytes 32"), 0,
                  "      32          512          0  1:2\n      48          768         16  none 1:3\n");
    expect_result(
        run_command("prove banks --advise --rows 32 --row-bytes 4 --align 128 --max-stride 128 --op ld32 "
                    "--json %s/a.json",
                    run_folder),
        1,
        "0 of 26 layouts are free of conflicts\n"
        "none exists; the fewest wavefronts are 4, 3 of them conflicts: stride 128, swizzle chunk ^= row >> 0 & "
        "7\n");
    expect_in("a.json", "\"layouts\": []");
    expect_result(run_command("prove banks --advise --rows 64 --row-bytes 100 --op ld32 --align 4 --max-stride 104"), 0,
                  "are free of conflicts");
}

Test(command_banks, tables) {
    static const char table[] = "# mine\n"
                                "ld32\tsame\t1\t0\t0 4 8 12 16 20 24 28 32 36 40 44 48 52 56 60 64 68 72 76 80 84 88 "
                                "92 96 100 104 108 112 116 120 "
                                "124\n"
                                "st64\tno counts\t0 8 16 24 32 40 48 56 64 72 80 88 96 104 112 120 -1 -1 -1 -1 -1 -1 "
                                "-1 -1 -1 -1 -1 -1 -1 -1 -1 "
                                "-1\n";
    static const char wrong[] = "ldmatrix_x1\twrong\t1\t0\t0 32 64 96 128 160 192 224 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 "
                                "-1 -1 -1 -1 -1 -1 -1 -1 -1 "
                                "-1 -1 -1 -1\n";
    char *both = must_format("%s%s", table, wrong);
    put_file("t.tsv", table, sizeof table - 1);
    put_file("w.tsv", both, strlen(both));
    put_file("n.tsv", strstr(table, "st64"), strlen(strstr(table, "st64")));
    put_file("e.tsv", "# nothing\n", 10);
    put_file("m.tsv", "ld32\tx\t0 1\n", 11);
    expect_result(run_command("prove banks --table %s/t.tsv", run_folder), 0,
                  "# op\tlabel\twavefronts\tconflicts\nld32\tsame\t1\t0\nst64\tno counts\t1\t0\n1 passed, 0 failed, 1 "
                  "skipped\n");
    expect_result(run_command("prove banks --table %s/w.tsv --json %s/w.json", run_folder, run_folder), 1,
                  "ldmatrix_x1\twrong\t2\t1\tDIFFERS: line 4 states 1 and 0\n1 passed, 1 failed, 1 skipped\n");
    expect_in("w.json", "\"label\": \"wrong\", \"wavefronts\": 2, \"conflicts\": 1, \"stated_wavefronts\": 1, "
                        "\"stated_conflicts\": 0, \"equal\": false}");
    expect_result(run_command("prove banks --table %s/n.tsv", run_folder), 0,
                  "1 row, none states what was counted: nothing was compared\n");
    expect_result(run_command("prove banks --table %s/e.tsv", run_folder), 3, "no row in the table");
    expect_result(run_command("prove banks --table %s/m.tsv", run_folder), 2,
                  "m.tsv:1:10: the address of lane 1 is 1: ld32 wants a multiple of 4");
    expect_result(run_command("prove banks --table %s/t.tsv --json %s/t.tsv", run_folder, run_folder), 2,
                  "is the input");
    expect_result(run_command("prove banks --table fixtures/golden/banks_h200.tsv"), 0,
                  "456 passed, 0 failed, 2 skipped\n"); /* the two are lines 19 and 21, see fixtures/golden */
    expect_result(run_command("prove banks --table fixtures/golden/banks_h200.tsv"), 0,
                  "ld8\tstride1\t1\t0\tNOT COUNTED: line 19 states 0 wavefronts, an access takes at least 1\n");
    expect_result(run_command("prove banks --list table/banks_h200.tsv"), 0,
                  "(2 rows left out: 0 wavefronts, so no access was there)\n");
    static const char none[] = "ld32\tx\t0\t0\t0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n";
    put_file("none.tsv", none, sizeof none - 1);
    expect_result(run_command("prove banks --table %s/none.tsv", run_folder), 0, "nothing was compared\n");
    static const char zero[] =
        "ldmatrix.x1\tx\t0\t5\t0 16 32 48 64 80 96 112 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 "
        "0 0 0\n";
    put_file("0.tsv", zero, sizeof zero - 1);
    expect_result(run_command("prove banks --table %s/0.tsv", run_folder), 1,
                  "ldmatrix.x1\tx\t1\t0\tDIFFERS: line 1 states 0 and 5\n0 passed, 1 failed, 0 skipped\n");
    expect_result(run_command("prove banks --table -"), 2, "cannot read -");
    expect_result(run_command("prove banks --table /dev/zero"), 2, "not a regular file");
    expect_result(run_command("prove banks --table %s", run_folder), 2, "not a regular file");
    free(both);
}

Test(command_banks, files) {
    expect_result(run_command("prove banks --rows 8 --row-bytes 16 --stride 32 --json %s/r.json --svg %s/r.svg",
                              run_folder, run_folder),
                  0, "2 wavefronts");
    expect_in("r.json",
              "\"stride\": 32, \"offset\": 0, \"xor_mask\": 0, \"xor_shift\": 0, \"start_banks\": [0, 8, 16, 24, "
              "0, 8, 16, 24], \"accesses\": 1, \"wavefronts\": 2, \"conflicts\": 1");
    expect_in("r.json", "\"wavefront_lanes\": [[0, 1, 2, 3], [4, 5, 6, 7]]");
    expect_in("r.svg", "ldmatrix.x1, 8 rows of 16 bytes, stride 32, access 0");
    expect_in("r.svg", ">T4<");
    expect_result(run_command("prove banks --layout fixtures/layouts/slots_48.yaml --json %s/l.json --svg %s/l.svg",
                              run_folder, run_folder),
                  0, "slots_48: 64 rows of 32 bytes\nstart banks: 0 12 24 4 16 28 8 20 0");
    expect_in("l.json", "{\"layout\": \"slots_48\", \"op\": \"ldmatrix.x4\", \"start_banks\": [0, 12, 24, 4,");
    expect_in("l.svg", "slots_48, ldmatrix.x4, access 0");
    expect_result(run_command("prove banks --rows 8 --row-bytes 16 --stride 32 --json %s/no/x.json", run_folder), 2,
                  "no/x.json");
    expect_result(run_command("prove banks --rows 8 --row-bytes 16 --stride 32 --svg %s/no/x.svg", run_folder), 2,
                  "no/x.svg");
    expect_result(run_command("prove banks --rows 8 --row-bytes 16 --stride 32 > /dev/full"), 2, "");
}

/* The picture of docs/prove-banks.md is the one that is drawn today. */
Test(command_banks, the_picture_of_the_document) {
    expect_result(run_command("prove banks --rows 8 --row-bytes 16 --stride 32 --svg %s/b.svg", run_folder), 0, "");
    char *drawn = in_folder("b.svg");
    FILE *f = fopen("docs/images/banks-stride32.svg", "rb");
    cr_assert(f, "docs/images/banks-stride32.svg is not there");
    char *kept = must_calloc(1 << 20, 1);
    cr_assert(fread(kept, 1, (1 << 20) - 1, f) > 0);
    fclose(f);
    cr_expect(strcmp(drawn, kept) == 0, "docs/images/banks-stride32.svg is out of date: warpproof prove banks --rows 8 "
                                        "--row-bytes 16 --stride 32 --svg docs/images/banks-stride32.svg");
    free(drawn);
    free(kept);
}

/* Counts are of the addresses given; that they are not the operand's is said beside them. */
Test(command_banks, refuted_layouts) {
    expect_result(run_command("prove banks --layout fixtures/layouts/plants/matrices_1_2.yaml --wavefronts 16 --json "
                              "%s/l.json",
                              run_folder),
                  0,
                  "\nnote: prove fragments refutes this layout: lane 0, register 1, byte 0 holds row 0 k 16; mma wants "
                  "row 8 k 0: matrices 1 and 2 exchanged\n1 passed");
    expect_in("l.json", "\"fragments\": \"refuted\", \"counterexample\": \"lane 0, register 1");
    static const char below[] = "layout: b\nmatrix: {rows: 16, row_bytes: 32}\nmemory: {stride: 48}\n"
                                "plane: {bytes: 768}\nload: ldmatrix.x4\naddress: lane - 16\n"
                                "wants: mma.m16n8k32.s8 A\n";
    put_file("b.yaml", below, sizeof below - 1);
    expect_result(run_command("prove banks --layout %s/b.yaml", run_folder), 2,
                  "b.yaml:6:10: lane 0 gets bytes -16..-1 of a plane of 768 bytes: out of the plane");
}

/* Every flag, out of range or where it does not belong: one error that names it. */
Test(command_banks, hostile_options) {
    static const struct {
        const char *given, *want;
    } rows[] = {
        {"--rows 0 --row-bytes 16 --stride 16", "--rows 0: want an integer from 1 to 65536"},
        {"--rows 99999999999999999999 --row-bytes 16 --stride 16", "--rows 99999999999999999999: want an integer"},
        {"--rows -8 --row-bytes 16 --stride 16", "--rows -8: want an integer"},
        {"--rows 8x --row-bytes 16 --stride 16", "--rows 8x: want an integer"},
        {"--rows '' --row-bytes 16 --stride 16", "--rows : want an integer"},
        {"--rows 8 --row-bytes 65537 --stride 16", "--row-bytes 65537: want an integer from 1 to 65536"},
        {"--rows 8 --row-bytes 16 --stride 1048577", "--stride 1048577: want an integer from 1 to 1048576"},
        {"--rows 8 --row-bytes 16", "a tile of rows needs --stride"},
        {"--stride 16", "a tile of rows needs --rows"},
        {"--rows 8 --row-bytes 32 --stride 16", "--stride 16: rows of 32 bytes would overlap"},
        {"--rows 8 --row-bytes 16 --stride 24", "--stride 24: ldmatrix.x1 wants multiples of 16 bytes"},
        {"--rows 7 --row-bytes 16 --stride 16", "7 rows of 16 bytes are no matrices of 8 rows x 16 bytes"},
        {"--rows 8 --row-bytes 16 --stride 16 --op ldmatrix.x4", "8 rows x 16 bytes are no whole number of them"},
        {"--rows 8 --row-bytes 16 --stride 16 --op ld24", "--op ld24: want one of ld8 ld16"},
        {"--rows 8 --row-bytes 16 --stride 16 --offset 4", "--offset 4: ldmatrix.x1 wants multiples of 16"},
        {"--rows 8 --row-bytes 16 --stride 16 --mask ff", "--mask: all lanes take part in ldmatrix.x1"},
        {"--rows 8 --row-bytes 16 --stride 16 --op ld32 --mask 100000000", "--mask 100000000: want 1 to 8 hexadecimal"},
        {"--rows 8 --row-bytes 16 --stride 16 --op ld32 --mask xyz", "--mask xyz: want 1 to 8 hexadecimal"},
        {"--rows 8 --row-bytes 16 --stride 16 --xor 1", "--xor: chunk 0 of row 1 goes to byte 16 of the row, past the"},
        {"--rows 8 --row-bytes 16 --stride 16 --xor 0", "--xor 0: want MASK or MASK:SHIFT"},
        {"--rows 8 --row-bytes 16 --stride 16 --xor 1:32", "--xor 1:32: want MASK or MASK:SHIFT"},
        {"--rows 8 --row-bytes 16 --stride 16 --xor 1:2:3", "--xor 1:2:3: want MASK or MASK:SHIFT"},
        {"--rows 65536 --row-bytes 16 --stride 1048576", "are more than 268435456 bytes"},
        {"--rows 65536 --row-bytes 4096 --stride 4096 --op ld8", "want at most 1048576"},
        {"--rows 8 --row-bytes 16 --stride 16 --wavefronts -1", "--wavefronts -1: want an integer"},
        {"--rows 8 --row-bytes 16 --stride 16 --align 16", "--align does not go with a tile of rows"},
        {"--advise --rows 8", "--advise needs --row-bytes"},
        {"--advise --rows 8 --row-bytes 16 --stride 16", "--stride does not go with --advise"},
        {"--advise --rows 8 --row-bytes 16 --align 0", "--align 0: want an integer"},
        {"--advise --rows 8 --row-bytes 16 --max-stride 8", "--max-stride 8: want 16"},
        {"--advise --rows 65536 --row-bytes 65536", "are more than 268435456 bytes"},
        {"--table x --rows 8", "--rows does not go with --table"},
        {"--table /nosuch.tsv", "cannot read /nosuch.tsv"},
        {"--table ''", "the name of a file is empty"},
        {"--layout /nosuch.yaml", "/nosuch.yaml"},
        {"--layout fixtures/layouts/plants/misaligned.yaml", "wants a multiple of 16"},
        {"--layout fixtures/layouts/plants/past_the_plane.yaml",
         "lane 0 gets bytes 3072..3087 of a plane of 3072 bytes: out of the plane"},
        {"--layout fixtures/layouts/wgmma_b.yaml", "wgmma_b.yaml:8:10: wgmma reads this operand by its descriptor"},
        {"--svg x", "a tile of rows needs --rows"},
        {"--svg ''", "--svg: want the name of a file"},
        {"--json ''", "--json: want the name of a file"},
        {"--list --json x", "--json does not go with --list"},
        {"--rows 8 --row-bytes 16 --stride 16 --json /tmp/x --svg /tmp/x", "--json and --svg name one file, /tmp/x"},
        {"--layout fixtures/layouts/slots_48.yaml --svg fixtures/layouts/slots_48.yaml", "slots_48.yaml is the input"},
        {"--nosuch", "--nosuch"},
        {"--rows 8 --row-bytes 16 --stride 16 rows/", "a PATTERN does not go with a tile of rows"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        struct result r = run_command("prove banks %s", rows[i].given);
        size_t lines = 0;
        for (const char *s = r.text; *s; ++s)
            lines += *s == '\n';
        cr_expect(lines == 1 || strstr(rows[i].given, "--layout"), "%s: %zu lines\n%s", rows[i].given, lines, r.text);
        expect_result(r, 2, rows[i].want);
    }
}
