/* --junit and --html: well-formed, complete, harmless whatever files say, and small whatever ran. */
#include "../oracles/wrong_map.h"
#include "../ref/checked.h"
#include "../reports/html.h"
#include "../reports/html_pictures.h"
#include "../reports/junit.h"
#include "command_run.h"
#include "junit_check.h"
#include "markup_check.h"
#include "report_read.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

TestSuite(report_files, .init = make_folder, .fini = remove_folder, .timeout = 300);

/* Python's parser of XML says the same, where there is one. */
static void expect_python_reads(const char *name) {
    char *command =
        must_format("python3 -c 'import sys, xml.etree.ElementTree as t; r = t.parse(sys.argv[1]).getroot(); "
                    "s = list(r); c = [x for y in s for x in y.findall(\"testcase\")]; "
                    "f = [x for x in c if x.find(\"failure\") is not None]; "
                    "assert r.tag == \"testsuites\" and all(x.tag == \"testsuite\" for x in s); "
                    "assert int(r.get(\"tests\")) == len(c) == sum(int(x.get(\"tests\")) for x in s); "
                    "assert int(r.get(\"failures\")) == len(f); "
                    "assert all(x.get(\"classname\") and x.get(\"name\") and float(x.get(\"time\")) >= 0 "
                    "for x in c); assert all(x.find(\"failure\").get(\"type\") for x in f); "
                    "assert len({(x.get(\"classname\"), x.get(\"name\")) for x in c}) == len(c)' %s/%s 2>&1",
                    run_folder, name);
    struct result r = run_shell("command -v python3");
    const bool there = r.code == 0;
    free(r.text);
    r = there ? run_shell(command) : (struct result){.text = must_strdup("")};
    cr_expect(r.code == 0, "%s: %s", name, r.text);
    free(r.text);
    free(command);
}

/* Whether the checker sees what it is there for. */
Test(report_files, the_checker_can_fail) {
    static const char *const bad[] = {
        "<a><b></a></b>",
        "<a>",
        "<a x=1></a>",
        "<a x=\"1\" x=\"2\"></a>",
        "<a>&nbsp;</a>",
        "<a>\x01</a>",
        "<a><b id=\"1\"></b><c id=\"1\"></c></a>",
        "<a></a><b></b>",
        "<a>\xff</a>",
        "<a>1 > 0</a>",
        "text<a></a>",
    };
    static const char *const bad_html[] = {"<a><script></script></a>", "<a href=\"x\"></a>", "<a onclick=\"x\"></a>",
                                           "<a>https://example.org</a>", "<a><style>b{background:url(c)}</style></a>"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad + sizeof bad_html / sizeof *bad_html; ++i) {
        const bool html = i >= sizeof bad / sizeof *bad;
        const char *body = html ? bad_html[i - sizeof bad / sizeof *bad] : bad[i];
        char *text =
            must_format("%s\n%s", html ? "<!DOCTYPE html>" : "<?xml version=\"1.0\" encoding=\"UTF-8\"?>", body);
        char *fault = markup_fault(text, strlen(text), html);
        cr_expect(fault != NULL, "%s passes", body);
        free(fault);
        free(text);
    }
}

#define SUMS(n, f) " tests=\"" n "\" failures=\"" f "\" errors=\"0\" skipped=\"0\" time=\"0.5\">"
#define SUITES(n, f, body)                                                                                             \
    "<testsuites name=\"r\"" SUMS(n, f) "<testsuite name=\"s\"" SUMS(n, f) body "</testsuite></testsuites>"
#define CASE(more) "<testcase classname=\"a\" name=\"b\" time=\"1\"" more

Test(report_files, the_rules_of_junit_can_be_broken) {
    static const char *const good[] = {
        SUITES("1", "0", CASE("/>")), SUITES("1", "0", CASE(" file=\"x.cu\" line=\"3\"></testcase>")),
        SUITES("1", "1", CASE("><failure type=\"t\" message=\"m\">text</failure></testcase>"))};
    static const char *const bad[] = {SUITES("2", "0", CASE("/>")),
                                      SUITES("1", "1", CASE("/>")),
                                      SUITES("2", "0", CASE("/>") CASE("/>")),
                                      SUITES("1", "0", CASE(" file=\"x.cu\"/>")),
                                      SUITES("1", "0", CASE(" line=\"3\"/>")),
                                      SUITES("1", "0", "<testcase name=\"b\" time=\"1\"/>"),
                                      SUITES("1", "0", "<testcase classname=\"a\" name=\"\" time=\"1\"/>"),
                                      SUITES("1", "0", "<testcase classname=\"a\" name=\"b\" time=\"-1\"/>"),
                                      SUITES("1", "0", "<testcase classname=\"a\" name=\" time=\"/>"),
                                      SUITES("1", "1", CASE("><failure type=\"t\">text</failure></testcase>")),
                                      SUITES("1", "1", CASE("><failure message=\"t\">text</failure></testcase>")),
                                      SUITES("1", "0", CASE("><system-out>text</system-out></testcase>")),
                                      SUITES("1", "0", CASE("/>") "<properties></properties>"),
                                      "<testsuite name=\"s\"" SUMS("1", "0") CASE("/>") "</testsuite>"};
    for (size_t i = 0; i < sizeof good / sizeof *good; ++i) {
        char *fault = junit_fault(good[i]);
        cr_expect(fault == NULL, "%s: %s", good[i], fault);
        free(fault);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        char *fault = junit_fault(bad[i]);
        cr_expect(fault != NULL, "%s passes", bad[i]);
        free(fault);
    }
}

/* ---- outcomes of our own ---- */

#define HOSTILE "<script>alert(1)</script> & \"quoted\" 'so' ]]> \x1b[31m \xff \xe2\x80\xae --> \x7f </pre>"

static struct outcome right(const char *kernel, const char *rest) {
    return (struct outcome){
        .id = must_format("q4_K/pad40/%s/%s", kernel, rest), .about = must_strdup(kernel), .parity_judged = true};
}

static struct outcome red(const char *kernel, const char *rest, const char *text) {
    struct outcome o = right(kernel, rest);
    struct finding *f = findings_add(&o.findings, "parity", VERDICT_DIFFERS);
    f->summary = must_strdup(text);
    f->suspects = must_strdup(text);
    f->where.buffer = must_strdup(text);
    f->where.file = must_strdup(text);
    f->where.line = 7;
    f->where.instruction = must_strdup(text);
    finding_line(f, "first", "%s", text);
    static const uint8_t wrong[6] = {0, 1, 0, 1, 1, 0};
    f->wrong = wrong_map_of(wrong, 2, 3, "token", "row");
    findings_note(&o.findings, "%s", text);
    o.rerun = must_strdup(text);
    return o;
}

static struct outcome skipped(const char *text) {
    return (struct outcome){
        .id = must_strdup(text), .about = must_strdup(""), .skipped = true, .why = must_strdup(text)};
}

static void free_all(struct outcome *o, size_t n) {
    for (size_t i = 0; i < n; ++i)
        outcome_free(&o[i]);
}

/* Both files of these outcomes; totals as a run counts them. */
static void write_both(const struct outcome *o, size_t n) {
    struct totals t = {.wall_seconds = 1.5};
    struct error e;
    for (size_t i = 0; i < n; ++i) {
        t.passed += outcome_verdict(&o[i]) == VERDICT_PASS;
        t.skipped += o[i].skipped;
    }
    t.failed = n - t.passed - t.skipped;
    char *xml = must_format("%s/a.xml", run_folder), *html = must_format("%s/a.html", run_folder);
    struct junit j = {.command = "gate"};
    junit_outcomes(&j, o, n, &t);
    cr_assert(junit_write(xml, &j, &e), "%s", e.text);
    junit_free(&j);
    const struct html page = {.command = "gate", .outcomes = o, .count = n, .totals = &t};
    cr_assert(html_write(html, &page, &e), "%s", e.text);
    free(xml);
    free(html);
}

Test(report_files, what_files_say_is_text) {
    struct outcome o[] = {red(HOSTILE, "nt1.od1.id256/exact/s1", HOSTILE), red("b", HOSTILE, HOSTILE),
                          right(HOSTILE, HOSTILE), skipped(HOSTILE)};
    write_both(o, 4);
    size_t size;
    char *xml = report_read("a.xml", &size), *html = report_read("a.html", &size);
    expect_python_reads("a.xml");
    cr_expect_eq(markup_count(xml, "failure", "type=\"DIFFERS\""), 2, "%s", xml);
    cr_expect(strstr(xml, "&lt;script&gt;") && !strstr(xml, "\x1b"), "%s", xml);
    cr_expect(strstr(html, "&lt;script&gt;") && !strstr(html, "\xe2\x80\xae"), "marks of direction are obeyed");
    free(xml);
    free(html);
    free_all(o, 4);
}

/* The same of stages, places and evidence. */
Test(report_files, what_details_say_is_text) {
    struct outcome o[] = {red("a", "nt1/exact/s1", "t")};
    struct bank_site site = {.where = {.file = HOSTILE, .line = 3, .instruction = "st.shared.u32 " HOSTILE},
                             .worst = {.lanes = 3, .at = {0, 128}, .bytes = 4, .conflicts = 1}};
    struct evidence_line line = {.id = o[0].id,
                                 .kernel = HOSTILE,
                                 .device = HOSTILE,
                                 .driver = HOSTILE,
                                 .cuda = HOSTILE,
                                 .toolkit = HOSTILE,
                                 .date = HOSTILE,
                                 .command = HOSTILE};
    const struct recorded recorded = {.lines = &line, .count = 1};
    struct case_detail d = {.staged = true, .banks = {&site, 1}, .why = HOSTILE};
    for (int k = 0; k < STAGES; ++k)
        d.explanation.stages[k] = (struct stage){.ruling = RULING_NOT_JUDGED, .why = HOSTILE, .unit = ""};
    d.explanation.stages[0] =
        (struct stage){.ruling = RULING_FOUND, .unit = "bytes", .compared = 2, .wrong = 1, .rest = HOSTILE};
    d.explanation.faults = o[0].findings;
    const struct totals t = {.failed = 1};
    const struct html page = {.command = "explain",
                              .outcomes = o,
                              .count = 1,
                              .totals = &t,
                              .recorded = &recorded,
                              .details = &d,
                              .detail_count = 1,
                              .whole = true};
    char *path = must_format("%s/a.html", run_folder);
    struct error e;
    cr_assert(html_write(path, &page, &e), "%s", e.text);
    size_t size;
    char *html = report_read("a.html", &size);
    cr_expect(report_times(html, "&lt;script&gt;") >= STAGES + 4 && report_times(html, "of another program") == 1 &&
                  report_times(html, "<svg class=\"grid\"") == 1,
              "%s", html);
    free(html);
    free(path);
    free_all(o, 1);
}

Test(report_files, suites_and_counts) {
    struct outcome o[] = {right("a", "nt1/exact/s1"), red("a", "nt1/coded/s1", "t"), right("b", "nt1/exact/s1"),
                          right("a", "nt2/exact/s1"), skipped("real/model")};
    struct where *at = &o[1].findings.items[0].where; /* as nvcc writes it */
    char *here = getcwd(NULL, 0);
    free(at->file);
    at->file = must_format("%s/kernels/t.cu", here);
    free(here);
    write_both(o, 5);
    size_t size;
    char *xml = report_read("a.xml", &size);
    expect_python_reads("a.xml");
    static const char *const lines[] = {
        "<testsuites name=\"warpproof gate\" tests=\"5\" failures=\"1\" errors=\"0\" skipped=\"1\" time=\"1.500000\">",
        "<testsuite name=\"a\" tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"0\"",
        "<testcase classname=\"a\" name=\"nt1/exact/s1\" time=\"0.000000\"/>",
        "<testcase classname=\"a\" name=\"nt1/coded/s1\" time=\"0.000000\" file=\"kernels/t.cu\" line=\"7\">",
        "<failure type=\"DIFFERS\" message=\"t\">DIFFERS q4_K/pad40/a/nt1/coded/s1\n  first   t\n",
        "<testcase classname=\"skipped\" name=\"real/model\" time=\"0.000000\">\n      <skipped "
        "message=\"real/model\"/>",
        "<property name=\"runner\" value=\"machine\"/>"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; ++i)
        cr_expect(strstr(xml, lines[i]), "no %s in\n%s", lines[i], xml);
    free(xml);
    char *html = report_read("a.html", &size);
    cr_expect(strstr(html, "<td class=\"bad\">1/2</td>") && strstr(html, "aria-label=\"3 of 6 cells are wrong\"") &&
                  strstr(html, "real/model: real/model") && strstr(html, "prefers-color-scheme:dark") &&
                  markup_count(html, "details", "class=\"red\"") == 1,
              "%s", html);
    free(html);
    free_all(o, 5);
}

/* A whole lattice: right cases are counted, and red ones of one kind are one. */
Test(report_files, big_runs_stay_small) {
    const size_t n = 4000;
    struct outcome *o = must_calloc(n, sizeof *o);
    for (size_t i = 0; i < n; ++i) {
        char *rest = must_format("nt%zu.od1.id256/rand/s1", i);
        o[i] = i < 3000 ? right("a", rest) : red("b", rest, "t");
        free(rest);
    }
    write_both(o, n);
    size_t size;
    free(report_read("a.html", &size));
    cr_expect_lt(size, 40000, "%zu bytes", size);
    char *xml = report_read("a.xml", &size);
    cr_expect_eq(markup_count(xml, "testcase", NULL), n, "every case is there");
    free(xml);
    free_all(o, n);
    free(o);
}

/* Not more messages than a reader takes; every case all the same. */
Test(report_files, messages_have_an_end) {
    const size_t n = JUNIT_BODIES + 5;
    struct outcome *o = must_calloc(n, sizeof *o);
    for (size_t i = 0; i < n; ++i) {
        char *rest = must_format("n%zu", i), *kind = must_format("kind %zu", i);
        o[i] = red("a", rest, kind);
        free(rest);
        free(kind);
    }
    write_both(o, n);
    size_t size, bodies = 0;
    char *xml = report_read("a.xml", &size);
    for (const char *s = xml; (s = strstr(s, "</failure>")) != NULL; ++s)
        ++bodies;
    cr_expect(bodies == JUNIT_BODIES && markup_count(xml, "failure", NULL) == n, "%zu messages", bodies);
    free(xml);
    char *html = report_read("a.html", &size);
    cr_expect(markup_count(html, "details", "class=\"red\"") == HTML_GROUPS &&
                  strstr(html, "and 965 more red cases of other kinds"),
              "%zu groups", markup_count(html, "details", "class=\"red\""));
    free(html);
    free_all(o, n);
    free(o);
}

/* ---- pictures ---- */

/* Counted cell by cell, in another way than the map does. */
Test(report_files, wrong_maps) {
    static const size_t shapes[][2] = {{1, 1}, {33, 70}, {128, 129}, {300, 257}, {1, 1000}, {70, 1}, {4097, 1}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i) {
        const bool sequence = shapes[i][1] == 1 && shapes[i][0] > 1;
        const size_t n0 = shapes[i][0], n1 = shapes[i][1], cells = n0 * n1;
        uint8_t *wrong = must_calloc(cells, 1);
        size_t all = 0;
        for (size_t c = 0; c < cells; ++c)
            all += wrong[c] = c * 2654435761u % 7 < 2 || c % n1 > 90;
        struct wrong_map *m = wrong_map_of(wrong, n0, n1, "token", sequence ? NULL : "row");
        cr_assert(m->wrong == all && m->parts[0] <= WRONG_MAP_PARTS && m->parts[1] <= WRONG_MAP_PARTS, "shape %zu", i);
        size_t of[2][WRONG_MAP_PARTS * WRONG_MAP_PARTS] = {{0}}; /* right and wrong cells of each part */
        for (size_t c = 0; c < cells; ++c) {
            const size_t across = sequence ? WRONG_MAP_FOLD : n1,
                         step = (across + WRONG_MAP_PARTS - 1) / WRONG_MAP_PARTS;
            const size_t down = (cells / across + WRONG_MAP_PARTS - (cells % across == 0)) / WRONG_MAP_PARTS;
            ++of[wrong[c]][c / across / down * ((across + step - 1) / step) + c % across / step];
        }
        for (size_t p = 0; p < m->parts[0] * m->parts[1]; ++p) {
            const uint8_t share = m->share[p];
            cr_assert((share == 0) == (of[1][p] == 0) && (share == 255) == (of[1][p] > 0 && of[0][p] == 0),
                      "shape %zu part %zu", i, p);
        }
        wrong_map_free(m);
        free(wrong);
    }
}

Test(report_files, operands_of_instructions) {
    static const struct {
        const char *instruction, *names;
    } rows[] = {
        {"mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r1, %r2}, {%r3}, {%r4}, {%r5};",
         "mma.m16n8k32.s8/A mma.m16n8k32.s8/B mma.m16n8k32.s8/C mma.m16n8k32.s8/D"},
        {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1}, {%r3}, {%r4}, {%f5};",
         "mma.m16n8k16.f16/A mma.m16n8k16.f16/B mma.m16n8k16.f16/C mma.m16n8k16.f16/D"},
        {"@%p1 ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r1}, [%r2];", "ldmatrix.x4.trans"},
        {"ldmatrix.sync.aligned.m8n8.x1.shared::cta.b16 {%r1}, [%r2];", "ldmatrix.x1"},
        {"ld.shared.u32 %r1, [%r2];", ""},
        {"mma", ""},
        {"", ""},
        {"@%p", ""},
        {"mma.sync.aligned.m16n8k32.row.col.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa8.s8.s8.s32 x", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        char names[4][48], *text = must_strdup("");
        const size_t n = html_fragments_of(rows[i].instruction, names);
        for (size_t k = 0; k < n; ++k) {
            char *longer = must_format("%s%s%s", text, k ? " " : "", names[k]);
            free(text);
            text = longer;
        }
        cr_expect(!strncmp(text, rows[i].names, strlen(rows[i].names)) && (rows[i].names[0] || !n), "%s: %s",
                  rows[i].instruction, text);
        free(text);
    }
}

/* ---- the commands ---- */

static void expect_files(const char *last_line, int code, const char *arguments) {
    struct result r = run_command("%s --junit %s/r.xml", arguments, run_folder);
    cr_expect(r.code == code && strstr(r.text, last_line), "%s: exit %d\n%s", arguments, r.code, r.text);
    free(r.text);
    free(report_read("r.xml", &(size_t){0}));
    expect_python_reads("r.xml");
}

Test(report_files, every_command_writes_them) {
    size_t size;
    char *run = must_format("run docs/examples/wrong_scale.yaml --html %s/r.html", run_folder);
    expect_files("0 passed, 1 failed, 0 skipped", 1, run);
    free(run);
    char *html = report_read("r.html", &size);
    cr_expect(strstr(html, "aria-label=\"68 of 100 cells are wrong\"") && strstr(html, "<path class=\"w4\" d=\"M"),
              "%s", html);
    free(html);
    run = must_format("run docs/examples/no_barrier.yaml --html %s/r.html", run_folder);
    expect_files("0 passed, 1 failed, 0 skipped", 1, run);
    free(run);
    html = report_read("r.html", &size);
    cr_expect(strstr(html, "warp 1: wavefronts 1, conflicts 0") && strstr(html, "aria-label=\"st32\"") &&
                  strstr(html, "no_barrier.cu:6</th><td class=\"word\"><code>st.shared.u32</code></td><td>16</td>"),
              "%s", html);
    free(html);
    run = must_format("run fixtures/plants/machine/never_written.launch.yaml --html %s/r.html", run_folder);
    expect_files("0 passed, 1 failed, 0 skipped", 1, run);
    free(run);
    html = report_read("r.html", &size);
    cr_expect(strstr(html, "cells are not written\">"), "%s", html);
    free(html);
    expect_files("1 passed, 0 failed, 0 skipped", 0, "plants uninit_shared");
}

/* No page is larger than a browser takes: pictures and long messages have an end, and that is said. */
Test(report_files, pages_have_an_end) {
    enum { KINDS = 30, CELLS = 128 };
    uint8_t *wrong = must_calloc(CELLS * CELLS, 1);
    for (size_t i = 0; i < CELLS * CELLS; ++i)
        wrong[i] = (i + i / CELLS) % 2;
    char *text = must_calloc(HTML_MESSAGE + 100, 1);
    memset(text, 'x', HTML_MESSAGE + 99);
    struct outcome o[KINDS];
    for (size_t i = 0; i < KINDS; ++i) {
        char *kind = must_format("kind %zu", i);
        o[i] = red(kind, kind, i == 0 ? text : kind);
        struct finding *f = &o[i].findings.items[0];
        for (size_t k = f->line_count; i == 0 && k < FINDING_LINES; ++k)
            finding_line(f, "more", "%s", text);
        wrong_map_free(f->wrong);
        f->wrong = wrong_map_of(wrong, CELLS, CELLS, "token", "row");
        free(kind);
    }
    write_both(o, KINDS);
    size_t size;
    char *html = report_read("a.html", &size);
    cr_expect_lt(size, 10 << 20, "%zu bytes", size);
    cr_expect(strstr(html, " more bytes</pre>") && report_times(html, "<svg class=\"heat\"") <= HTML_PICTURES &&
                  (strstr(html, "Of the first 20 there are pictures") || strstr(html, "the page would be too large")),
              "nothing is left out");
    free(html);
    char *xml = report_read("a.xml", &size);
    cr_expect(strstr(xml, " more bytes</failure>"), "the message is whole");
    free(xml);
    free_all(o, KINDS);
    free(text);
    free(wrong);
}

Test(report_files, a_file_is_written_whole_or_not_at_all) {
    expect_result(run_command("run docs/examples/dequant_q8.yaml --junit %s/x --html %s/x", run_folder, run_folder), 2,
                  "--junit and --html are the same file");
    expect_result(run_command("run docs/examples/dequant_q8.yaml --junit docs/examples/dequant_q8.yaml"), 2,
                  "--junit docs/examples/dequant_q8.yaml is the input docs/examples/dequant_q8.yaml");
    expect_result(run_command("run docs/examples/dequant_q8.yaml --html %s/none/x", run_folder), 2, "No such file");
    expect_result(run_command("run docs/examples/dequant_q8.yaml --junit -"), 2, "--junit -: want the name of a file");
    expect_result(run_command("run docs/examples/dequant_q8.yaml --html ''"), 2, "--html: want the name of a file");
    expect_result(run_command("run docs/examples/dequant_q8.yaml --html /dev/full"), 2, "cannot write");
    expect_result(run_command("run docs/examples/dequant_q8.yaml --html x --html y"), 2, "--html is given twice");
    expect_result(run_command("plants uninit_shared --html x"), 2, "unknown or ambiguous option");
    cr_expect_eq(files_in_folder(), 0, "something was left");
}
