/* Launch files that run several launches (`then`), by the command: what a launch leaves is there for the next, the
 * whole is judged after the last, and what one launch alone has wrong is said to be of that launch. */
#include "../gpu/bind.h"
#include "../ref/checked.h"
#include "command_run.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(sequence, .init = make_folder, .fini = remove_folder);

static void put_text(const char *name, const char *text) {
    put_file(name, text, strlen(text));
}

/* A launch file k.yaml of tests/foreign/steps.cu: all after the program. */
static void put_launch(const char *rest) {
    char ptx[4096];
    cr_assert(realpath("tests/foreign/steps.ptx", ptx), "tests run in the project's folder");
    char *text = must_format("kernel: steps\nptx: %s\n%s", ptx, rest);
    put_text("k.yaml", text);
    free(text);
}

struct swap {
    const char *from, *to; /* "ptx: PATH" becomes that of the project */
};

/* k.yaml = a launch file of the project with other words, each of which is there. */
static void put_swapped(const char *path, const struct swap *swaps, size_t count) {
    char *text = must_calloc(1 << 14, 1), at[4096];
    FILE *f = fopen(path, "r");
    cr_assert(f && fread(text, 1, (1 << 14) - 1, f) > 0, "%s cannot be read: tests run in the project's folder", path);
    fclose(f);
    for (size_t i = 0; i < count; ++i) {
        const char *to = swaps[i].to, *found = strstr(text, swaps[i].from);
        cr_assert(found, "%s has no \"%s\"", path, swaps[i].from);
        const bool ptx = strncmp(to, "ptx: ", 5) == 0;
        cr_assert(!ptx || realpath(to + 5, at), "no %s", to);
        char *swapped = must_format("%.*s%s%s%s", (int)(found - text), text, ptx ? "ptx: " : "", ptx ? at : to,
                                    found + strlen(swaps[i].from));
        free(text);
        text = swapped;
    }
    put_text("k.yaml", text);
    free(text);
}

/* Runs k.yaml and expects every text; one that begins with ! must not be there. */
static void expect(const char *command, const char *options, int code, const char *const *texts) {
    struct result r = run_command("%s %s/k.yaml %s", command, run_folder, options);
    cr_expect(r.code == code, "%s: exit %d, want %d\n%s", options, r.code, code, r.text);
    for (; *texts; ++texts) {
        const bool absent = **texts == '!';
        cr_expect(!strstr(r.text, *texts + absent) == absent, "%s: \"%s\":\n%s", options, *texts, r.text);
    }
    free(r.text);
}
#define EXPECT(options, code, ...) expect("run", options, code, (const char *const[]){__VA_ARGS__, NULL})

/* put(y, from, to, what) twice, on 8 cells. */
static void put_twice(const char *first, const char *second, const char *expected) {
    char *text = must_format("entry: put\nlaunch: {grid: [1], block: [8]}\nargs:\n"
                             "  - {out: y, type: i32, count: 8%s}\n  - {i32: 0}\n  - {i32: %s}\n  - {i32: 0}\nthen:\n"
                             "  - entry: put\n    launch: {grid: [1], block: [8]}\n"
                             "    args: [{buffer: y}, %s]\n",
                             expected, first, second);
    put_launch(text);
    free(text);
}

Test(sequence, outputs_are_judged_after_the_last_launch) {
    const int32_t right[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    put_file("y.bin", right, sizeof right);
    put_twice("4", "{i32: 4}, {i32: 8}, {i32: 0}", ", expect: y.bin");
    EXPECT("--schedule all", 0, "PASS run/steps/s1\n1 passed");
    /* each cell is stored by both, and with other bytes: that is no race */
    put_twice("8", "{i32: 0}, {i32: 8}, {i32: 0}", ", expect: y.bin");
    EXPECT("", 0, "PASS run/steps/s1\n1 passed");
    put_twice("8", "{i32: 0}, {i32: 8}, {i32: 1}", "");
    EXPECT("", 0, "PASS run/steps/s1");
    put_twice("4", "{i32: 5}, {i32: 8}, {i32: 0}", ", expect: y.bin");
    EXPECT("", 1, "UNWRITTEN run/steps/s1", "1 of 8 cells of y never written", "1 of 8 wrong: cell 4", "!DIFFERS",
           "!of 2: entry");
}

/* A wrong cell is laid to the launch that stored it last. */
Test(sequence, wrong_bits_name_the_launch_that_stored_them) {
    const int32_t right[8] = {0, 1, 2, 3, 4, 5, 6, 7}, first[8] = {0, 9, 2, 3, 4, 5, 6, 7};
    put_file("y.bin", right, sizeof right);
    put_twice("8", "{i32: 6}, {i32: 8}, {i32: 1}", ", expect: y.bin");
    EXPECT("", 1, "DIFFERS run/steps/s1", "element 6 (y byte 24)   want 0x00000006   got 0x00000007",
           "  launch  2 of 2: entry put", "!1 of 2");
    put_file("y.bin", first, sizeof first);
    put_twice("8", "{i32: 6}, {i32: 8}, {i32: 0}", ", expect: y.bin");
    EXPECT("", 1, "DIFFERS run/steps/s1", "element 1 (y byte 4)", "  site    tests/foreign/steps.cu:5",
           "stored by block (0,0,0) warp 0 lane 1", "  launch  1 of 2: entry put");
    EXPECT("--json /dev/stdout", 1, "\"where\": {\"launch\": 1, \"buffer\": \"y\"");
}

/* Scratch: handed on, written in part, no part of the digest. */
Test(sequence, scratch) {
    static const char form[] =
        "entry: put\nlaunch: {grid: [1], block: [32]}\nargs:\n"
        "  - {scratch: s, type: i32, count: 64}\n  - {i32: 0}\n  - {i32: %d}\n  - {i32: 0}\n"
        "buffers:\n  - {out: y, type: i32, count: 16}\nthen:\n"
        "  - {entry: twice, launch: {grid: [1], block: [32]}, args: [{buffer: s}, {buffer: y}, {i32: 16}]}\n";
    char digests[2][80], *text;
    for (int i = 0; i < 2; ++i) {
        text = must_format(form, 16 + i);
        put_launch(text);
        free(text);
        struct result r = run_command("run %s/k.yaml --schedule all --json /dev/stdout", run_folder);
        cr_expect(r.code == 0 && strstr(r.text, "\"schedules\": [\"in-order\", \"reversed\", \"random:1\"]") &&
                      strstr(r.text, "\"launches\": 6"),
                  "exit %d:\n%s", r.code, r.text);
        const char *at = strstr(r.text, "\"digest\"");
        cr_assert(at, "%s", r.text);
        snprintf(digests[i], sizeof digests[i], "%.75s", at);
        free(r.text);
    }
    cr_expect_str_eq(digests[0], digests[1], "the digest has the scratch in it");
    text = must_format(form, 15);
    put_launch(text);
    free(text);
    EXPECT("", 1, "HAZARD run/steps/s1", "byte 60 of buffer s was never written", "steps.cu:12",
           "  launch  2 of 2: entry twice", "a part of the scratch that nothing has stored yet");
    EXPECT("--watches stores", 0, "PASS");
    /* who stored what is not known then, and what is not known is not reported */
    EXPECT("--watches uninit", 0, "PASS");
    /* one launch may have scratch too, and reads of nothing are named there */
    put_launch("entry: twice\nlaunch: {grid: [1], block: [32]}\nargs:\n"
               "  - {scratch: s, type: i32, count: 8}\n  - {out: y, type: i32, count: 8}\n  - {i32: 8}\n");
    EXPECT("", 1, "HAZARD run/steps/s1", "byte 0 of buffer s was never written", "!launch  1");
}

/* A product that leaves its result in part, and a launch that adds what others have of it: an output may be read where
 * an earlier launch has stored. */
Test(sequence, outputs_are_read_where_they_are_written) {
    static const char form[] = "entry: put\nlaunch: {grid: [1], block: [32]}\nargs:\n"
                               "  - {out: y, type: i32, count: 16}\n  - {i32: 0}\n  - {i32: %d}\n  - {i32: 0}\n"
                               "buffers:\n  - {scratch: s, type: i32, count: 16}\nthen:\n"
                               "  - {entry: put, launch: {grid: [1], block: [32]}, "
                               "args: [{buffer: s}, {i32: 8}, {i32: 12}, {i32: 0}]}\n"
                               "  - {entry: add_into, launch: {grid: [1], block: [32]%s}, "
                               "args: [{buffer: s}, {buffer: y}, {i32: 8}, {i32: 12}]}\n";
    char *text = must_format(form, 16, "");
    put_launch(text);
    free(text);
    EXPECT("--schedule all", 0, "PASS run/steps/s1", "1 passed");
    text = must_format(form, 10, "");
    put_launch(text);
    free(text);
    EXPECT("", 1, "HAZARD run/steps/s1", "byte 40 of buffer y was never written", "  launch  3 of 3: entry add_into",
           "UNWRITTEN by oracle coverage", "4 of 16 cells of y never written");
    text = must_format(form, 16, ", steps: 3");
    put_launch(text);
    free(text);
    EXPECT("", 2, "INPUT run/steps/s1", "a block ran past its budget of 3 warp instructions",
           "  launch  3 of 3: entry add_into");
}

Test(sequence, inputs_stay_inputs) {
    put_launch("entry: twice\nlaunch: {grid: [1], block: [32]}\nargs:\n"
               "  - {in: x, type: i32, count: 8, fill: iota}\n  - {out: y, type: i32, count: 8}\n  - {i32: 8}\nthen:\n"
               "  - {entry: twice, launch: {grid: [1], block: [32]}, args: [{buffer: y}, {buffer: x}, {i32: 8}]}\n");
    EXPECT("", 1, "GUARD run/steps/s1", "byte 0 of buffer x (32 B): an input is written",
           "  launch  2 of 2: entry twice", "coverage ok");
}

/* After a launch that does not end, none is run. */
Test(sequence, what_stops_the_sequence) {
    static const char form[] = "entry: stop_at\nlaunch: {grid: [2], block: [32]}\nargs:\n"
                               "  - {scratch: s, type: i32, count: 64}\n  - {i32: %d}\n"
                               "buffers:\n  - {out: y, type: i32, count: 64}\nthen:\n"
                               "  - {entry: twice, launch: {grid: [2], block: [32], shared: %d}, "
                               "args: [{buffer: s}, {buffer: y}, {i32: 64}]}\n";
    char *text = must_format(form, 1, 0);
    put_launch(text);
    free(text);
    EXPECT("", 1, "LAUNCH run/steps/s1", "the kernel executed trap", "  launch  1 of 2: entry stop_at", "!2 of 2",
           "coverage not judged");
    text = must_format(form, 7, 0);
    put_launch(text);
    free(text);
    EXPECT("", 0, "PASS run/steps/s1");
    text = must_format(form, 1, 240000);
    put_launch(text);
    free(text); /* the trap is not come to */
    EXPECT("", 1, "LAUNCH run/steps/s1", "240000 B of shared memory, sm_90 gives a block 232448", "nothing was run",
           "  launch  2 of 2: entry twice", "!trap");
    EXPECT("--arch sm_80", 1, "sm_80 gives a block 166912");
}

/* Nothing was run: there is nothing to call right. */
Test(sequence, a_refused_launch_is_judged_by_nothing_else) {
    static const char *const names[] = {"guard",       "sync",   "uninit",   "hazard", "coverage",
                                        "approximate", "parity", "schedule", "truth",  "census"};
    struct result r = run_command("run gpu/kernels/mmq_wide_raw_kd8.yaml --set nt=128 --set od=64 --set id=256 "
                                  "--data rand --arch sm_121 --json %s/a.json; cat %s/a.json",
                                  run_folder, run_folder);
    cr_expect(strstr(r.text, "nothing was run") && strstr(r.text, "\"launch\": \"found\"") &&
                  strstr(r.text, "  also    guard not judged; sync not judged; ") && !strstr(r.text, " ok"),
              "%s", r.text);
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        char *says = must_format("\"%s\": \"not judged\"", names[i]);
        cr_expect(strstr(r.text, says), "no %s:\n%s", says, r.text);
        free(says);
    }
    free(r.text);
}

/* What one launch leaves open is not right because the others are: y is stored in half, and the second launch dies. */
Test(sequence, what_one_launch_leaves_open) {
    static const char form[] = "entry: put\nlaunch: {grid: [1], block: [32]}\nargs:\n"
                               "  - {out: y, type: i32, count: 64}\n  - {i32: 0}\n  - {i32: 32}\n  - {i32: 0}\n"
                               "then:\n  - {entry: %s, launch: {grid: [2], block: [32]%s}, args: [{buffer: y}, %s]}\n";
    static const char *const ends[][3] = {{"stop_at", "", "{i32: 1}"},
                                          {"put", ", steps: 3", "{i32: 0}, {i32: 64}, {i32: 0}"}};
    for (int i = 0; i < 2; ++i) {
        char *text = must_format(form, ends[i][0], ends[i][1], ends[i][2]);
        put_launch(text);
        free(text);
        EXPECT("", 1 + i, "  launch  2 of 2: entry ", "coverage not judged; ", "schedule not judged; ", "guard ok; ",
               "!coverage ok", "!schedule ok");
        EXPECT("--json /dev/stdout", 1 + i, "\"coverage\": \"not judged\"", "\"schedule\": \"not judged\"",
               "\"guard\": \"clean\"");
    }
    /* the result is there after the last launch, and the first one leaves parity nothing open */
    expect_result(run_command("run docs/examples/ksplit.yaml --json /dev/stdout"), 0, "\"parity\": \"clean\"");
}

/* What a launch needs is looked at before any is run, and named where it stands. */
Test(sequence, bad_launches_that_follow) {
    static const char form[] = "entry: put\nlaunch: {grid: [1], block: [8]}\nargs:\n"
                               "  - {out: y, type: i32, count: 8}\n  - {i32: 0}\n  - {i32: 8}\n  - {i32: 0}\nthen:\n"
                               "  - {entry: %s, launch: {grid: [%s], block: [%s]}, args: [%s]}\n";
    static const struct {
        const char *entry, *grid, *block, *args, *text;
    } bad[] = {
        {"putt", "1", "8", "{buffer: y}", "k.yaml:11:13: "},
        {"put", "1", "2048", "{buffer: y}, {i32: 0}, {i32: 8}, {i32: 0}", "block.x is 2048, must be 1 .. 1024"},
        {"put", "0", "8", "{buffer: y}, {i32: 0}, {i32: 8}, {i32: 0}", "the value 0 is not in 1 .. 2147483647"},
        {"put", "m", "8", "{buffer: y}, {i32: 0}, {i32: 8}, {i32: 0}", "k.yaml:11:34: "},
        {"put", "1", "8", "{buffer: y}, {i32: 0}, {i32: 8}", "put has 4 parameters, the launch gives 3 arguments"},
        {"put", "1", "8", "{buffer: y}, {buffer: y}, {i32: 8}, {i32: 0}", "buffer 'y' is given to one launch twice"},
        {"put", "1", "8", "{buffer: y}, {f32: 0}, {i32: 8}, {i32: 0}", "k.yaml:11:71: "},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        char *text = must_format(form, bad[i].entry, bad[i].grid, bad[i].block, bad[i].args);
        put_launch(text);
        free(text);
        EXPECT("", 2, bad[i].text, "^", "k.yaml:1");
    }
}

/* Variables of the module begin as it says, and keep what an earlier launch left. */
Test(sequence, variables_are_handed_on) {
    int32_t right[32];
    for (int i = 0; i < 32; ++i)
        right[i] = 5 + 3 + 4 + i;
    put_file("y.bin", right, sizeof right);
    put_launch("entry: count\nlaunch: {grid: [1], block: [1]}\nargs:\n  - {i32: 3}\n"
               "buffers:\n  - {out: y, type: i32, count: 32, expect: y.bin}\nthen:\n"
               "  - {entry: count, launch: {grid: [1], block: [1]}, args: [{i32: 4}]}\n"
               "  - {entry: tell, launch: {grid: [1], block: [32]}, args: [{buffer: y}]}\n");
    EXPECT("--schedule all", 0, "PASS run/steps/s1\n1 passed");
}

/* The order of one launch may show in what another one makes of it. */
Test(sequence, orders_are_those_of_all_launches) {
    static const char form[] = "entry: take_tickets\nlaunch: {grid: [40], block: [1]}\nargs:\n"
                               "  - {scratch: tickets, type: i32, count: 40}\n"
                               "  - {inout: next, type: u32, count: 1, fill: zero}\n"
                               "  - {inout: sum, type: f32, count: 1, fill: zero}\n"
                               "buffers:\n  - {out: y, type: %s, count: 1}\nthen:\n"
                               "  - {entry: %s, launch: {grid: [1], block: [1]}, args: [%s]}\n";
    char *text = must_format(form, "f32", "copy_float", "{buffer: sum}, {buffer: y}");
    put_launch(text);
    free(text);
    EXPECT("", 1, "HAZARD run/steps/s1", "1 of 1 cell of sum depend on the order",
           "  launch  1 of 2: entry take_tickets", "1 of 1 cell of y depend on the order",
           "  launch  2 of 2: entry copy_float", "--schedule all");
    /* who stored a cell that differs is not known then */
    EXPECT("--watches none --schedule all", 1, "1 of 1 cell of sum depend on the order",
           "1 of 1 cell of y depend on the order", "(stores are not watched)", "!  launch  ");
    EXPECT("--watches none --schedule all --json /dev/stdout", 1, "depend on the order", "!\"where\": {\"launch\"");
    /* sum alone: the tickets are scratch, and their sum is the same */
    text = must_format(form, "i32", "add_tickets", "{buffer: tickets}, {buffer: y}, {i32: 40}");
    put_launch(text);
    free(text);
    EXPECT("", 1, "1 of 1 cell of sum depend on the order", "!of tickets", "!of y");
}

/* The number of threads decides nothing. */
Test(sequence, threads) {
    static const char *const files[] = {"docs/examples/ksplit.yaml",
                                        "fixtures/plants/machine/scratch_unwritten.launch.yaml",
                                        "fixtures/plants/machine/reduction_race.launch.yaml"};
    for (size_t i = 0; i < sizeof files / sizeof *files; ++i) {
        struct result a = run_command("run %s --schedule all -j 1 --json %s/a.json", files[i], run_folder);
        struct result b = run_command("run %s --schedule all -j 4 --json %s/b.json", files[i], run_folder);
        cr_expect(a.code == b.code && a.code == (i > 0), "%s: exits %d and %d", files[i], a.code, b.code);
        cr_expect_str_eq(a.text, b.text, "%s:\n%s\n%s", files[i], a.text, b.text);
        free(a.text), free(b.text);
        char *same = must_format("cd '%s' && sed '$d' a.json >a && sed '$d' b.json >b && cmp a b", run_folder);
        cr_expect(system(same) == 0, "%s: the JSON records differ",
                  files[i]); /* but for the seconds of the last line */
        free(same);
    }
}

Test(sequence, census_counts_each_launch) {
    struct result r = run_command("census docs/examples/ksplit.yaml");
    const char *one = strstr(r.text, "\nlaunch 1 of 2: entry ksplit_parts\nclass "),
               *two = strstr(r.text, "\nlaunch 2 of 2: entry ksplit_sum\nclass ");
    cr_expect(r.code == 0 && one && two && one < two, "exit %d:\n%s", r.code, r.text);
    free(r.text);
    r = run_command("census docs/examples/ksplit.yaml --json /dev/stdout");
    cr_expect(strstr(r.text, "{\"kernel\": \"ksplit\", \"launches\": [{\"entry\": \"ksplit_parts\", \"macs\": 0") &&
                  strstr(r.text, "{\"entry\": \"ksplit_sum\", \"macs\": 0"),
              "%s", r.text);
    free(r.text);
    /* its closed forms at other shapes, with other data */
    static const struct swap other[] = {{"ptx: ksplit.ptx", "ptx: docs/examples/ksplit.ptx"},
                                        {"{file: ksplit_x.bin}", "random"},
                                        {", expect: ksplit_y.bin", ""}};
    put_swapped("docs/examples/ksplit.yaml", other, 3);
    expect("census", "--set n=97 --set k=5 --set parts=3", 0, (const char *const[]){"launch 2 of 2", "!DIFFERS", NULL});
    expect("census", "--set n=1 --set k=1 --set parts=1", 0, (const char *const[]){"launch 2 of 2", "!DIFFERS", NULL});
    put_launch("entry: put\nlaunch: {grid: [1], block: [8]}\nargs:\n  - {out: y, type: i32, count: 8}\n"
               "  - {i32: 0}\n  - {i32: 8}\n  - {i32: 0}\ncounts: {st.global: 1}\nthen:\n"
               "  - entry: put\n    launch: {grid: [3], block: [8]}\n"
               "    args: [{buffer: y}, {i32: 0}, {i32: 8}, {i32: 0}]\n    counts: {st.global: tiles}\n");
    expect("census", "", 1, /* one store in the first, three warps store in the second, of which one has lanes */
           (const char *const[]){"DIFFERS", "st.global", "  launch  2 of 2: entry put", "!1 of 2: entry put\n  suspect",
                                 NULL});
}

Test(sequence, explain_judges_the_first_launch) {
    expect_result(
        run_command("explain docs/examples/ksplit.yaml"), 3,
        "  launches   the stages are those of launch 1 (entry ksplit_parts); what follows is run and judged for "
        "the result only\n");
    expect_result(run_command("explain fixtures/plants/machine/reduction_order.launch.yaml"), 1,
                  "  launch  2 of 2: entry reduction_order\n");
}

/* The stages of a product whose result another launch makes: here the same product once more. */
Test(sequence, explain_judges_the_stages_of_a_product) {
    static const struct swap swaps[] = {
        {"source: mmq_wide_ldb.cu", "ptx: fixtures/ptx/mmq_wide_ldb.ptx"},
        {"  - {out: result, type: f32}\n", "  - {scratch: parts, type: f32, count: nt * od}\n"},
        {"\nplanes:", "\nbuffers:\n  - {out: result, type: f32}\nthen:\n  - entry: mmq_wide_ldb_kd8\n"
                      "    launch: {grid: [\"ceil(nt, 128)\", \"ceil(od, 128)\"], block: [256], shared: 98304}\n"
                      "    args: [{buffer: weight}, {buffer: activation}, {buffer: result}, {i32: nt}, {i32: od}, "
                      "{i32: id}]\nplanes:"}};
    put_swapped("gpu/kernels/mmq_wide_ldb_kd8.yaml", swaps, 3);
    expect("explain", "--set nt=5 --set od=9 --set id=256", 0,
           (const char *const[]){"PASS q4_K/pad40/mmq_wide_ldb_kd8/nt5.od9.id256/coded/s1\n  staging    ok ",
                                 "  fragments  ok ", "  sums       ok ",
                                 "  store      not judged: other launches follow", NULL});
    EXPECT("--set nt=5 --set od=9 --set id=256", 0, "4 passed, 0 failed, 0 skipped");
}

/* With a contract: the same quantiser twice over. */
Test(sequence, contract) {
    char ptx[4096];
    cr_assert(realpath("fixtures/ptx/quantize_pad40.ptx", ptx), "tests run in the project's folder");
    char *text =
        must_format("kernel: twice\nptx: %s\nentry: quantize_pad40\ncontract: pad40_quantize\n"
                    "needs: [\"id %% 32 == 0\"]\n"
                    "launch: {grid: [\"ceil(nt * id / 32, 8)\"], block: [256]}\n"
                    "args:\n  - {in: activation, format: f32}\n  - {scratch: first, type: u8, count: 40 * nt * id "
                    "/ 32}\n  - {i32: nt}\n  - {i32: id}\n"
                    "buffers:\n  - {out: result, format: pad40}\nthen:\n"
                    "  - entry: quantize_pad40\n"
                    "    launch: {grid: [\"ceil(nt * id / 32, 8)\"], block: [256]}\n"
                    "    args: [{buffer: activation}, {buffer: result}, {i32: nt}, {i32: id}]\n",
                    ptx);
    put_text("k.yaml", text);
    free(text);
    EXPECT("--set nt=3 --set id=64", 0, "PASS f32/pad40/twice/nt3.id64/exact/s1", "4 passed, 0 failed, 0 skipped");
    EXPECT("--set nt=4 --set id=96 --data exact --schedule all", 0, "1 passed, 0 failed, 0 skipped");
    expect("explain", "--set nt=3 --set id=64", 3,
           (const char *const[]){"other launches follow, and the result is judged as they leave it", NULL});
}

/* The launches as structures: buffers are those of args, then those of `buffers`, the same for every launch. */
Test(sequence, bound) {
    struct error e = {""};
    struct spec *s = spec_load("docs/examples/ksplit.yaml", ".", &e);
    cr_assert(s, "%s", e.text);
    cr_expect(s->buffer_count == 3 && s->then_count == 1 && s->then[0].arg_count == 4 &&
              strcmp(s->buffers[2]->name, "y") == 0);
    cr_expect(spec_uses(s, "parts") && spec_uses(s, "n") && !spec_uses(s, "m"));
    struct bound b;
    const struct shape shape = {s->defaults, s->default_count};
    cr_assert(bind_launch(s, NULL, &shape, NULL, 1, &b, &e), "%s", e.text);
    const struct launch *one = bound_launch(&b, 0), *two = bound_launch(&b, 1);
    cr_expect(b.then_count == 1 && one == &b.launch && two->buffers == one->buffers && two->buffer_count == 3);
    cr_expect(one->buffers[1].role == BUFFER_SCRATCH && one->buffers[1].data[0] == 0xad && one->buffers[1].written &&
              !one->buffers[0].written);
    cr_expect(one->args[1].buffer == 1 && two->args[0].buffer == 1 && two->args[1].buffer == 2);
    cr_expect(one->grid[0] == 3 && one->grid[1] == 4 && two->grid[0] == 2 && two->block[0] == 64);
    const struct shape *counts = bound_shape(&b, 1);
    cr_expect(strcmp(counts->values[counts->count - 1].name, "tiles") == 0 &&
              counts->values[counts->count - 1].value == 2);
    bound_free(&b);
    spec_free(s);
}
