/* warpproof evidence: what a (stand-in for a) GPU gave is recorded; every way in which it stops being true is red. */
#include "../ref/checked.h"
#include "command_run.h"
#include "junit_check.h"
#include "markup_check.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *plain; /* run_before without the project */

/* A project of one kernel that the stand-in knows, marked `evidence: required`, with four cases, one in the lattice;
 * and `good`, the evidence of the quick ones. */
static void enter_recorded(void) {
    make_folder();
    enter_project("cp $d/gpu/kernels/dequantize_q8_0.yaml gpu/kernels/ && rm fixtures/ptx && mkdir fixtures/ptx && "
                  "cp $d/fixtures/ptx/dequantize.ptx fixtures/ptx/ && mkdir -p fixtures/cases/all reports/evidence && "
                  "c() { echo \"{kernels: [dequantize_q8_0], shapes: {nt: [$1], id: [32]}, data: [exact, coded], "
                  "seeds: [1]}\"; } && c 1,2 > fixtures/cases/a.yaml && c 3 > fixtures/cases/all/b.yaml");
    plain = run_before;
    run_before = must_format("%s LD_LIBRARY_PATH=%s", plain, fake_cuda_folder());
    expect_result(run_command("evidence record --out %s/good", run_folder), 0, "4 passed, 0 failed, 0 skipped");
    free((char *)run_before);
    run_before = plain;
}

static void leave_recorded(void) {
    leave_project();
    remove_folder();
}

TestSuite(evidence, .init = enter_recorded, .fini = leave_recorded, .timeout = 120);

/* The check of good, with its lines changed by a filter of the shell. */
static struct result check(const char *filter, const char *options) {
    char *make = must_format("cd %s && %s < good > changed", run_folder, filter);
    struct result made = run_shell(make);
    cr_assert(made.code == 0, "%s: %s", make, made.text);
    free(made.text);
    free(make);
    return run_command("evidence check --evidence %s/changed %s", run_folder, options);
}

Test(evidence, a_record_holds) {
    expect_result(check("cat", ""), 0,
                  "kernel                        cases  current  stale  missing  wrong  recorded\n"
                  "dequantize_q8_0                   4        4      0        0      0  ");
    expect_result(check("cat", "nt1"), 0, "2 passed, 0 failed, 0 skipped");
    expect_result(check("(gzip -9 > changed.gz; cat changed.gz)", ""), 2, "changed:1:"); /* its name says no .gz */
    expect_result(run_command("evidence check --evidence %s/changed.gz", run_folder), 0, "4 passed, 0 failed");
    /* Two GPUs' lines, and lines of another program beside today's, are no contradiction. */
    expect_result(check("(cat good; sed 's/Fake GPU/Other GPU/' good; sed 's/\"ptx\": \"./\"ptx\": \"0/' good)", ""), 0,
                  "4 passed, 0 failed");
    /* A line of the lattice is noted, or checked when it is asked for. */
    expect_result(check("cat", "--all"), 1, "missing 2 of 6 cases have no line of evidence, q8_0/f16/");
}

/* The text of a file of the folder, which is well-formed. */
static char *read_report(const char *name) {
    char *command = must_format("cat %s/%s", run_folder, name);
    struct result r = run_shell(command);
    free(command);
    char *fault = markup_fault(r.text, strlen(r.text), strstr(name, ".html") != NULL);
    fault = fault == NULL && strstr(name, ".xml") != NULL ? junit_fault(r.text) : fault;
    cr_assert(r.code == 0 && fault == NULL, "%s: %s", name, fault ? fault : r.text);
    return r.text;
}

Test(evidence, reports_have_it) {
    char *options = must_format("--junit %s/r.xml", run_folder);
    expect_result(check("cat", options), 0, "4 passed, 0 failed, 0 skipped");
    char *xml = read_report("r.xml");
    cr_expect(markup_count(xml, "testcase", "classname=\"dequantize_q8_0\" name=\"nt") == 4, "%s", xml);
    free(xml);
    expect_result(check("head -n 3", options), 1, "3 passed, 1 failed, 0 skipped");
    xml = read_report("r.xml");
    cr_expect(markup_count(xml, "failure", "type=\"UNTESTED\" message=\"missing 1 of 1 cases have no line") == 1, "%s",
              xml);
    free(xml);
    free(options);
    char *place = must_format("cd %s/reports/evidence && mkdir h && cp ../../good h/evidence.jsonl", run_folder);
    free(run_shell(place).text);
    free(place);
    expect_result(run_command("gate --html %s/r.html", run_folder), 0, "4 passed");
    char *html = read_report("r.html");
    cr_expect(strstr(html, "Fake GPU") && strstr(html, ": PASS)</span>"), "%s", html);
    free(html);
    char *bend = must_format("echo x >> %s/reports/evidence/h/evidence.jsonl", run_folder);
    free(run_shell(bend).text);
    free(bend);
    expect_result(run_command("gate --html %s/r.html", run_folder), 2, "h/evidence.jsonl:5:");
}

Test(evidence, what_changed_since_is_stale_and_red) {
    expect_result(check("sed 's/\"inputs\": \"..../\"inputs\": \"0000/'", ""), 1,
                  "stale   4 of 4 cases: what goes into the launch is not what went in when it ran");
    expect_result(check("sed 's/\"ptx\": \"..../\"ptx\": \"0000/'", ""), 1,
                  "stale   4 of 4 cases: the program is another than the one that ran");
    expect_result(check("head -n 3", ""), 1,
                  "missing 1 of 4 cases have no line of evidence, q8_0/f16/dequantize_q8_0/nt2");
    /* The kernel's PTX is touched, by a comment. */
    char *touch = must_format("echo '// touched' >> %s/fixtures/ptx/dequantize.ptx", run_folder);
    free(run_shell(touch).text);
    free(touch);
    struct result r = check("cat", "");
    cr_expect(r.code == 1 &&
                  strstr(r.text, "\nUNTESTED dequantize_q8_0\n  stale   4 of 4 cases: the program is another") &&
                  strstr(r.text, "\n0 passed, 4 failed, 0 skipped\n"),
              "%s", r.text);
    free(r.text);
}

Test(evidence, the_launch_is_part_of_the_inputs) {
    static const char *const edits[] = {"s/block: \\[256\\]/block: [128]/", "s/- {i32: nt}/- {i32: nt + 0}/"};
    static const int codes[] = {1, 0};
    for (int i = 0; i < 2; ++i) {
        char *edit =
            must_format("cd %s/gpu/kernels && cp dequantize_q8_0.yaml kept && sed -i '%s' dequantize_q8_0.yaml",
                        run_folder, edits[i]);
        struct result made = run_shell(edit);
        cr_assert(made.code == 0, "%s", made.text);
        free(made.text);
        free(edit);
        struct result r = check("cat", "");
        cr_expect(r.code == codes[i], "%s: exit %d\n%s", edits[i], r.code, r.text);
        free(r.text);
        char *back = must_format("cd %s/gpu/kernels && mv kept dequantize_q8_0.yaml", run_folder);
        free(run_shell(back).text);
        free(back);
    }
}

Test(evidence, other_bytes_than_the_contracts_are_wrong) {
    expect_result(check("sed '2s/\"output\": \"..../\"output\": \"0000/'", ""), 1,
                  "\nDIFFERS q8_0/f16/dequantize_q8_0/");
    expect_result(check("sed 's/PASS/GUARD/'", ""), 1, "verdict GUARD where it ran");
    /* One good line does not outweigh a wrong one. */
    expect_result(check("(cat good; sed 's/\"output\": \"..../\"output\": \"0000/' good)", ""), 1,
                  "like it 3 more cases of this kernel");
}

Test(evidence, only_what_is_required_is_missed) {
    char *optional = must_format("sed -i '/^evidence/d' %s/gpu/kernels/dequantize_q8_0.yaml", run_folder);
    free(run_shell(optional).text);
    expect_result(check("head -n 2", ""), 0, "2 passed, 0 failed, 0 skipped");
    expect_result(check("sed 's/\"ptx\": \"..../\"ptx\": \"0000/'", ""), 3, "0 passed, 0 failed, 0 skipped");
    expect_result(check("sed 's/\"output\": \"..../\"output\": \"0000/'", ""), 1, "0 passed, 4 failed");
    free(optional);
    char *caseless = must_format("cd %s && (echo 'evidence: required'; sed 's/^kernel:.*/kernel: other/; s/^entry.*//' "
                                 "gpu/kernels/dequantize_q8_0.yaml; echo 'entry: dequantize_q8_0') > "
                                 "gpu/kernels/other.yaml",
                                 run_folder);
    free(run_shell(caseless).text);
    free(caseless);
    expect_result(check("cat", ""), 1,
                  "\nUNTESTED other\n  missing its launch file says `evidence: required`, and no case");
}

Test(evidence, hostile_files_are_one_line_and_exit_2) {
    static const struct {
        const char *filter, *text;
    } files[] = {
        {"head -c 0", "no line of evidence in it"},
        {"head -c 400", ":1: "},
        {"(cat good; echo)", ":5: want one JSON object a line, every key once"},
        {"(cat good; echo '[]')", ":5: want one JSON object a line, every key once"},
        {"(cat good; echo '{}')", ":5: the key 'case' is missing"},
        {"(cat good; printf x)", ":5: the line has no end"},
        {"sed '3s/\"verdict\": \"PASS\", //'", ":3: the key 'verdict' is missing"},
        {"sed '3s/PASS/GOOD/'", ":3: verdict: 'GOOD' is none"},
        {"sed '2s/\"driver\"/\"drivel\"/'", ":2: 'drivel': no line of evidence has that key"},
        {"sed '2s/\"driver\": \"[^\"]*\"/\"driver\": 580/'", ":2: 'driver': want a string"},
        {"sed '2s/\"driver\": \"[^\"]*\"/\"driver\": [\"580\"]/'", ":2: want one JSON object a line"},
        {"sed '2s/\"driver\": \"[^\"]*\"/\"driver\": \"\"/'",
         ":2: driver: want short text without control characters, got ''"},
        {"sed '2s/\"kernel\"/\"case\"/'", "changed:2: want one JSON object a line, every key once"},
        {"sed '2s/\"date\": \"[^\"]*\"/\"date\": \"30.11.2026\"/'",
         ":2: date: want a date as 2026-11-30, got '30.11.2026'"},
        {"sed '2s/\"ptx\": \".*\", \"inputs/\"ptx\": \"abc\", \"inputs/'",
         ":2: ptx: want 64 lower-case hex digits, got 'abc'"},
        {"sed '2s/\"output\": \"[^\"]*\"/\"output\": \"\"/'", ":2: output: a case that passed has one"},
        {"sed '2s/Fake GPU/\\\\u001b[31m/'", ":2: device: want short text without control characters"},
        {"sed '2s/Fake GPU/x\\\\r\\\\n9 passed, 0 failed, 0 skipped/'", ":2: device: want short text without control"},
        {"sed '2s/\"date\": \"[^\"]*\"/\"date\": \"2026-13-45\"/'", ":2: date: want a date"},
        {"sed '2s/\"cuda\": \"[^\"]*\"/\"cuda\": \"banana\"/'", ":2: cuda: want a version as 13.0"},
        {"sed '2s/\"kernel\": \"[^\"]*\"/\"kernel\": \"another\"/'", ":2: kernel: the case is not one of 'another'"},
        /* what follows an object would be left out, and with it a line that is red */
        {"(head -n 1 good | tr -d '\\n'; cat good)", ":1: want one JSON object a line"},
        {"(head -n 1 good | tr '\\n' ' '; cat good)", ":1: want one JSON object a line"},
        {"sed '2s/$/ 5/'", ":2: want one JSON object a line"},
        {"sed '2s/$/[\"x\"]/'", ":2: want one JSON object a line"},
        {"sed '2s/$/\\r/'", ":2: want one JSON object a line"},
        {"(cat good; printf '{\"case\"\\n')", ":5: want one JSON object a line"},
        {"(cat good; printf '{\"case\"}\\n')", ":5: want one JSON object a line"},
        {"(head -c 20000 /dev/zero | tr '\\0' x; echo)", ":1: longer than 16384 bytes"},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; ++i) {
        struct result r = check(files[i].filter, "");
        const char *end = strchr(r.text, '\n');
        cr_expect(r.code == 2 && strstr(r.text, files[i].text) && !strchr(r.text, '\33') && end && end[1] == 0,
                  "%s: exit %d: %s", files[i].filter, r.code, r.text);
        free(r.text);
    }
    static const struct {
        const char *shell, *text;
    } packed[] = {
        {"gzip < good | head -c 200", "not a whole gzip file"},
        {"(gzip < good; echo x)", "something follows the end of the gzip data"},
        {"cat good", "not a whole gzip file"},
        {"head -c 140M /dev/zero | gzip -1", "more than 128 MiB of text"},
        {"head -c 0 good", "not a whole gzip file"},
    };
    for (size_t i = 0; i < sizeof packed / sizeof *packed; ++i) {
        if (i == 3 && command_stride() > 1)
            continue; /* that is too much beside the sanitisers */
        char *make = must_format("cd %s && %s > bad.gz", run_folder, packed[i].shell);
        free(run_shell(make).text);
        free(make);
        expect_result(run_command("evidence check --evidence %s/bad.gz", run_folder), 2, packed[i].text);
    }
    expect_result(run_command("evidence check --evidence %s/nosuch", run_folder), 2, "No such file");
    expect_result(run_command("evidence check --evidence %s", run_folder), 2, "it is not a regular file");
}

Test(evidence, usage) {
    expect_result(run_command("evidence"), 2, "want record or check");
    expect_result(run_command("evidence nosuch"), 2, "unknown command 'nosuch'");
    expect_result(run_command("evidence --help"), 0, "record");
    expect_result(run_command("evidence check --help"), 0, "--evidence FILE");
    expect_result(run_command("evidence check nosuchcase"), 3, "no case matches 'nosuchcase'");
    expect_result(run_command("evidence check"), 1, "missing 4 of 4 cases have no line of evidence");
    expect_result(run_command("evidence check --runner device"), 2, "unknown or ambiguous option");
    expect_result(run_command("evidence record"), 2, "want --out FILE");
    expect_result(run_command("evidence record --out /nosuch/x"), 2, "");
    expect_result(run_command("evidence record --out %s/x", run_folder), 2, "no NVIDIA driver here");
    expect_result(run_command("evidence record --out %s/x --out y", run_folder), 2, "--out is given twice");
    expect_result(run_command("evidence record --out %s/good", run_folder), 2, "good is there already");
    expect_result(run_command("evidence record --out %s/x $(seq 9999)", run_folder), 2, "too long to be recorded");
}

/* A kernel that is wrong on the GPU is recorded as wrong; one that cannot run there leaves no file. */
Test(evidence, a_red_run_is_recorded_as_red) {
    run_before = must_format("%s LD_LIBRARY_PATH=%s FAKE_CUDA=wrong", plain, fake_cuda_folder());
    expect_result(run_command("evidence record --out %s/red", run_folder), 1, "0 passed, 4 failed");
    free((char *)run_before);
    run_before = plain;
    expect_result(run_command("evidence check --evidence %s/red", run_folder), 1, "verdict DIFFERS where it ran");
    run_before = must_format("%s LD_LIBRARY_PATH=%s FAKE_CUDA=image", plain, fake_cuda_folder());
    const size_t before = files_in_folder();
    expect_result(run_command("evidence record --out %s/none", run_folder), 2,
                  "nothing is written: q8_0/f16/dequantize_q8_0/nt1.id32/exact/s1 could not be run");
    cr_expect(files_in_folder() == before, "a file was written");
    free((char *)run_before);
    run_before = plain;
}

/* What a GPU would run is not the program that the line names. */
Test(evidence, a_cubin_is_refused) {
    char *edit = must_format(
        "cd %s/gpu/kernels && sed -i 's|^source:.*|ptx: ../../fixtures/ptx/dequantize.ptx\\ncubin: k.cubin|' "
        "dequantize_q8_0.yaml && printf '\\177ELF1234' > k.cubin",
        run_folder);
    free(run_shell(edit).text);
    free(edit);
    run_before = must_format("%s LD_LIBRARY_PATH=%s", plain, fake_cuda_folder());
    expect_result(run_command("evidence record --out %s/x", run_folder), 2, "has a cubin, which a GPU would run");
    free((char *)run_before);
    run_before = plain;
}

/* Every kernel that a case runs is one whose evidence is missed. */
Test(evidence, our_kernels_require_it) {
    char *line = must_format("'%s' list cases | awk -F/ '{print $3}' | sort -u | while read k; do "
                             "grep -q '^evidence: required$' gpu/kernels/$k.yaml || echo $k; done",
                             command_binary());
    struct result r = run_shell(line);
    free(line);
    cr_expect_str_eq(r.text, "", "without `evidence: required`: %s", r.text);
    free(r.text);
}

/* The evidence that is kept, of an H200, and a kernel of it whose PTX is touched. */
TestSuite(evidence_kept, .init = make_folder, .fini = remove_folder, .timeout = 60);

Test(evidence_kept, is_of_todays_kernels_and_a_touched_one_is_red) {
    static const char lines[] =
        "cp $d/gpu/kernels/mmq_wide_ldb_kd8.yaml gpu/kernels/ && rm fixtures/ptx && mkdir fixtures/ptx reports && "
        "cp $d/fixtures/ptx/mmq_wide_ldb.ptx fixtures/ptx/ && ln -s $d/reports/evidence reports/ && "
        "echo '{kernels: [mmq_wide_ldb_kd8], shapes: {nt: [70], od: [70], id: [512]}, data: [exact, coded, adv, rand], "
        "seeds: [1]}' > fixtures/cases/a.yaml";
    enter_project(lines);
    expect_result(run_command("evidence check"), 0, "\n4 passed, 0 failed, 0 skipped\n");
    char *touch =
        must_format("sed -i 's/^ret;/ret; \\/\\/ touched/; $ s/$/ /' %s/fixtures/ptx/mmq_wide_ldb.ptx", run_folder);
    free(run_shell(touch).text);
    free(touch);
    expect_result(run_command("evidence check"), 1,
                  "\nUNTESTED mmq_wide_ldb_kd8\n  stale   4 of 4 cases: the program is");
    leave_project();
}
