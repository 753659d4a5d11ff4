/* What the reports of `run` say of files: none that a launch file names is lost, launch files of one kernel are told
 * apart, bad input is a failure, and a picture has no cell that the result has not. */
#include "../oracles/wrong_map.h"
#include "../ref/checked.h"
#include "../reports/heat_map.h"
#include "../reports/html.h"
#include "command_run.h"
#include "report_read.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(report_run, .init = make_folder, .fini = remove_folder, .timeout = 300);

static void shell(const char *format) {
    char *command = must_format("d=%s; exec 2>&1; set -e; %s", run_folder, format);
    struct result r = run_shell(command);
    cr_assert_eq(r.code, 0, "exit %d: %s\n%s", r.code, command, r.text);
    free(r.text);
    free(command);
}

/* Every command that writes a report, and every file that a launch file names. */
Test(report_run, no_report_replaces_a_file_of_the_launch) {
    static const struct {
        const char *command, *option, *file;
    } rows[] = {
        {"run", "--html", "y.bin"},
        {"run", "--junit", "scales.bin"},
        {"run", "--json", "wrong_scale.ptx"},
        {"run", "--junit", "wrong_scale.yaml"},
        {"explain", "--html", "y.bin"},
        {"explain", "--json", "scales.bin"},
        {"probe", "--json", "y.bin"},
        {"bisect --ptx docs/examples/wrong_scale.ptx docs/examples/dequant_q8.ptx --launch", "--json", "y.bin"}};
    shell("for n in y.bin scales.bin wrong_scale.ptx wrong_scale.yaml; do cp docs/examples/$n $d/; done");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        char *want = must_format("%s %s/%s is the input", rows[i].option, run_folder, rows[i].file);
        expect_result(run_command("%s %s/wrong_scale.yaml %s %s/%s", rows[i].command, run_folder, rows[i].option,
                                  run_folder, rows[i].file),
                      2, want);
        free(want);
    }
    /* a launch file that cannot be read names no files: what is no report stays */
    shell("echo 'kernel: [' > $d/wrong_scale.yaml");
    expect_result(run_command("run %s/wrong_scale.yaml --html %s/y.bin", run_folder, run_folder), 2, "closing bracket");
    shell("for n in y.bin scales.bin wrong_scale.ptx; do cmp docs/examples/$n $d/$n; done");
    cr_expect_eq(files_in_folder(), 4, "something was left");
}

static void expect_case(const char *name, const char *want) {
    size_t size;
    char *xml = report_read(name, &size);
    cr_expect(strstr(xml, want), "no %s in\n%s", want, xml);
    free(xml);
}

Test(report_run, launch_files_of_one_kernel_are_told_apart) {
    static const struct {
        const char *run, *want;
    } rows[] = {{"dequant_q8.yaml", "<testcase classname=\"dequant_q8\" name=\"s1\" "},
                {"dequant_q8.yaml --set n=64", "<testcase classname=\"dequant_q8\" name=\"s1 (n=64)\" "},
                {"dequant_q8_expect.yaml", "<testcase classname=\"dequant_q8\" name=\"s1 (dequant_q8_expect)\" "},
                {"$d/other.yml --set n=64", "<testcase classname=\"dequant_q8\" name=\"s1 (other n=64)\" "}};
    shell("cp docs/examples/dequant_q8.yaml $d/other.yml; cp docs/examples/dequant_q8.ptx $d/");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        char *run = rows[i].run[0] == '$' ? must_format("%s%s", run_folder, rows[i].run + 2)
                                          : must_format("docs/examples/%s", rows[i].run);
        expect_result(run_command("run %s --junit %s/r.xml", run, run_folder), 0, "1 passed");
        expect_case("r.xml", rows[i].want);
        free(run);
    }
}

/* In place of the reports of an earlier run. */
Test(report_run, bad_input_is_a_failure) {
    static const struct {
        const char *spoil, *want;
    } rows[] = {{"head -c 400 docs/examples/dequant_q8.ptx > $d/dequant_q8.ptx", "unexpected character"},
                {": > $d/dequant_q8.ptx", "dequant_q8.ptx"},
                {"rm $d/dequant_q8.ptx", "No such file"},
                {"cp docs/examples/dequant_q8.ptx $d/; sed -i s/args:/arg:/ $d/dequant_q8.yaml", "arg"},
                {"rm $d/dequant_q8.yaml", "No such file"}};
    shell("cp docs/examples/dequant_q8.yaml docs/examples/dequant_q8.ptx $d/");
    char *run =
        must_format("run %s/dequant_q8.yaml --junit %s/r.xml --html %s/r.html", run_folder, run_folder, run_folder);
    expect_result(run_command("%s", run), 0, "1 passed");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        shell(rows[i].spoil);
        expect_result(run_command("%s", run), 2, rows[i].want);
        expect_case("r.xml", "tests=\"1\" failures=\"1\" errors=\"0\"");
        expect_case("r.xml", "<testcase classname=\"dequant_q8\" name=\"run/dequant_q8\" ");
        expect_case("r.xml", "<failure type=\"INPUT\" message=\"");
        expect_case("r.xml", rows[i].want);
        size_t size;
        char *html = report_read("r.html", &size);
        cr_expect(strstr(html, "<span class=\"bad\">1 failed</span>") && strstr(html, "INPUT</strong>") &&
                      strstr(html, rows[i].want),
                  "%s", html);
        free(html);
    }
    free(run);
}

/* ---- the page ---- */

/* The ground of the map and its legend: what each picture says is right, cell by cell, and how wide it is. */
static void expect_map(size_t cells, const char *what, size_t rect_count, const char *const rects[]) {
    uint8_t *wrong = must_calloc(cells, 1);
    wrong[0] = 1;
    struct wrong_map *m = wrong_map_of(wrong, cells, 1, "element", NULL);
    char *svg = NULL;
    size_t size, width = 0, x = 0;
    FILE *out = open_memstream(&svg, &size);
    cr_assert_not_null(out);
    heat_map_put(out, m, what);
    fclose(out);
    cr_expect(strstr(svg, cells == 1 ? "\"1 of 1 cell is wrong\"" : " cells is "), "%s", svg);
    for (size_t i = 0; i < rect_count; ++i)
        cr_expect(strstr(svg, rects[i]), "%zu cells: no %s in\n%s", cells, rects[i], svg);
    /* with the one of the legend */
    cr_expect_eq(report_times(svg, "<rect class=\"right\""), rect_count + 1, "%s", svg);
    const char *legend = strstr(svg, ">right</text>"), *last = NULL;
    for (const char *t = legend; t != NULL && (t = strstr(t + 1, "<text class=\"axis\" x=\"")) != NULL;)
        last = t;
    cr_assert(last != NULL && sscanf(svg, "<svg class=\"heat\" role=\"img\" width=\"%zu\"", &width) == 1 &&
                  sscanf(last, "<text class=\"axis\" x=\"%zu\"", &x) == 1,
              "%s", svg);
    const size_t letters = strcspn(strchr(last, '>') + 1, "<");
    cr_expect_geq(width, x + 7 * letters, "%zu wide, and %zu letters at %zu", width, letters, x);
    free(svg);
    wrong_map_free(m);
    free(wrong);
}

#define RECT(y, w, h) "<rect class=\"right\" x=\"46\" y=\"" y "\" width=\"" w "\" height=\"" h "\"/>"

Test(report_run, maps_have_no_cells_that_are_not_there) {
    expect_map(100, "wrong", 2, (const char *[]){RECT("34", "512", "8"), RECT("42", "288", "8")});
    expect_map(1, "wrong", 1, (const char *[]){RECT("34", "16", "16")});
    expect_map(128, "wrong", 1, (const char *[]){RECT("34", "512", "16")});
    expect_map(65, "wrong", 2, (const char *[]){RECT("34", "512", "8"), RECT("42", "8", "8")});
    expect_map(10, "not written", 1, (const char *[]){RECT("34", "160", "16")});
    /* 1563 lines, 13 a part: the last part has lines that are full */
    expect_map(100000, "not written", 1, (const char *[]){RECT("34", "256", "484")});
    /* 129 lines, 2 a part: the last part is the line that ends early */
    expect_map(128 * 64 + 3, "wrong", 2, (const char *[]){RECT("34", "448", "448"), RECT("482", "21", "7")});
}

/* A right case of a planted program has no evidence, whatever its id has. */
Test(report_run, evidence_is_of_a_program) {
    struct outcome o = {.id = "f16/f16/k/nt1/exact/s1", .about = "k", .parity_judged = true};
    struct evidence_line line = {
        .id = o.id, .kernel = "k", .ptx = "today", .device = "GPU-A", .date = "2026-11-30", .command = ""};
    const struct recorded recorded = {.lines = &line, .count = 1};
    static const char *const programs[] = {"today", "planted"};
    char *path = must_format("%s/p.html", run_folder);
    for (size_t i = 0; i < 2; ++i) {
        const struct html_program program = {"k", programs[i]};
        const struct totals t = {.passed = 1};
        const struct html page = {.command = "gate",
                                  .outcomes = &o,
                                  .count = 1,
                                  .totals = &t,
                                  .recorded = &recorded,
                                  .programs = &program,
                                  .program_count = 1};
        struct error e;
        size_t size;
        cr_assert(html_write(path, &page, &e), "%s", e.text);
        char *html = report_read("p.html", &size);
        cr_expect_eq(report_times(html, "GPU-A 2026-11-30: PASS"), 1 - i, "%s", html);
        cr_expect_eq(report_times(html, "(evidence stale: of another program)"), i, "%s", html);
        free(html);
    }
    free(path);
}
