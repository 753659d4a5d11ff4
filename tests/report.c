/* JSON lines and the terminal report. */
#include "../ref/checked.h"
#include "../reports/terminal.h"
#include <criterion/criterion.h>
#include <libfyaml.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct outcome outcome_of(const char *id, enum verdict v) {
    struct outcome o = {.id = must_strdup(id),
                        .about = must_strdup("mmq_wide_ldb_kd8"),
                        .rerun = must_format("build/warpproof gate --plant p %s", id),
                        .judged = true,
                        .warp_instructions = 12,
                        .macs = 34};
    if (v != VERDICT_PASS) {
        struct finding *f = findings_add(&o.findings, "parity", v);
        f->where.buffer = must_strdup("result");
        f->where.cell[0] = 1;
        f->where.cell[1] = 16;
        f->where.axis[0] = "token";
        f->where.axis[1] = "row";
        f->where.instruction = must_strdup("st \"quoted\" \x01\xff end");
        f->has_values = true;
        f->value_bytes = 4;
        f->want = 0x3fa66066;
        f->got = 0x80000000;
        f->summary = must_strdup("12");
        finding_line(f, "first", "token 1, row 16 \x1b[31m");
    }
    return o;
}

static char *slurp(FILE *f) {
    fflush(f);
    const long n = ftell(f);
    rewind(f);
    char *text = must_calloc((size_t)n + 1, 1);
    cr_assert(fread(text, 1, (size_t)n, f) == (size_t)n, "cannot read the report back");
    return text;
}

static const char *field(struct fy_document *d, const char *path) {
    return fy_node_get_scalar0(fy_node_by_path(fy_document_root(d), path, FY_NT, FYNWF_DONT_FOLLOW));
}

Test(report, json_lines_are_json_and_hold_the_finding) {
    struct outcome o[2] = {outcome_of("a/b/k/s/exact/s1", VERDICT_PASS),
                           outcome_of("a/b/k/s/coded/s1", VERDICT_DIFFERS)};
    const struct totals t = {.passed = 1, .failed = 1, .threads = 2};
    char path[] = "/tmp/warpproof-json-XXXXXX";
    const int fd = mkstemp(path);
    cr_assert(fd >= 0, "no temporary file");
    close(fd);
    struct error e;
    cr_assert(json_write(path, o, 2, &t, &e), "%s", e.text);
    FILE *f = fopen(path, "r");
    char *lines[4] = {NULL}; /* the documents point into them */
    struct fy_document *d[3];
    for (int i = 0; i < 3; ++i) {
        cr_assert(getline(&lines[i], &(size_t){0}, f) > 0, "line %d is missing", i);
        d[i] = fy_document_build_from_string(&(struct fy_parse_cfg){.flags = FYPCF_JSON_FORCE}, lines[i], FY_NT);
        cr_assert(d[i] != NULL, "line %d is no JSON: %s", i, lines[i]);
    }
    cr_assert(getline(&lines[3], &(size_t){0}, f) < 0, "a fourth line: %s", lines[3]);
    cr_assert_str_eq(field(d[0], "/verdict"), "PASS", "verdict of the first");
    cr_assert_str_eq(field(d[1], "/verdict"), "DIFFERS", "verdict of the second");
    cr_assert_str_eq(field(d[1], "/findings/0/want"), "0x3fa66066", "want in hex");
    cr_assert_str_eq(field(d[1], "/findings/0/where/row"), "16", "row");
    cr_assert_str_eq(field(d[1], "/findings/0/where/instruction"), "st \"quoted\" \x01? end", "odd bytes");
    cr_assert_str_eq(field(d[1], "/rerun"), "build/warpproof gate --plant p a/b/k/s/coded/s1", "rerun");
    cr_assert_str_eq(field(d[2], "/summary/failed"), "1", "summary");
    fclose(f);
    unlink(path);
    for (int i = 0; i < 3; ++i) {
        fy_document_destroy(d[i]);
        free(lines[i]);
    }
    free(lines[3]);
    outcome_free(&o[0]);
    outcome_free(&o[1]);
}

Test(report, json_is_written_whole_or_not_at_all) {
    const struct totals t = {0};
    struct error e;
    cr_assert(!json_write("/nonexistent-folder/x.json", NULL, 0, &t, &e), "wrote into a folder that is not there");
    cr_assert(strstr(e.text, "/nonexistent-folder/x.json: cannot write") != NULL, "message: %s", e.text);
    char folder[] = "/tmp/warpproof-json-XXXXXX";
    cr_assert(mkdtemp(folder) != NULL, "no temporary folder");
    cr_assert(!json_write(folder, NULL, 0, &t, &e), "replaced a folder by a file");
    cr_assert(rmdir(folder) == 0, "the temporary was left behind");
}

Test(report, a_failure_names_all_and_keeps_the_terminal_safe) {
    struct outcome o[3] = {outcome_of("q/p/k/nt1/exact/s1", VERDICT_PASS),
                           outcome_of("q/p/k/nt1/coded/s1", VERDICT_DIFFERS),
                           outcome_of("q/p/k/nt2/adv/s1", VERDICT_GUARD)};
    FILE *f = tmpfile();
    terminal_failure(f, &o[1], o, 3);
    char *text = slurp(f);
    const char *const parts[] = {"DIFFERS q/p/k/nt1/coded/s1\n", "  first   token 1, row 16 \\x1b[31m\n", "exact PASS",
                                 "guard ok", "  rerun   build/warpproof gate --plant p q/p/k/nt1/coded/s1\n"};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; ++i) {
        cr_expect(strstr(text, parts[i]) != NULL, "\"%s\" is missing in:\n%s", parts[i], text);
    }
    cr_expect(strstr(text, "adv GUARD") == NULL, "a case of another shape is no sibling:\n%s", text);
    cr_expect(strchr(text, 0x1b) == NULL, "a control character reached the terminal");
    free(text);
    fclose(f);
    for (int i = 0; i < 3; ++i) {
        outcome_free(&o[i]);
    }
}

Test(report, table_counts_by_class_and_names_skips) {
    struct outcome o[3] = {outcome_of("q/p/k/nt1/exact/s1", VERDICT_PASS),
                           outcome_of("q/p/k/nt2/exact/s1", VERDICT_DIFFERS),
                           {.id = must_strdup("real"),
                            .about = must_strdup("mmq_wide_ldb_kd8"),
                            .skipped = true,
                            .why = must_strdup("no model")}};
    FILE *f = tmpfile();
    terminal_table(f, o, 3);
    const struct totals t = {.passed = 1, .failed = 1, .skipped = 1};
    terminal_last_line(f, &t);
    char *text = slurp(f);
    cr_expect(strstr(text, "       1/2         -") != NULL, "one of two exact cases passed:\n%s", text);
    cr_expect(strstr(text, "SKIPPED real: no model\n") != NULL, "the skip is not named:\n%s", text);
    const char *last = "1 passed, 1 failed, 1 skipped\n";
    cr_expect(strcmp(text + strlen(text) - strlen(last), last) == 0, "last line:\n%s", text);
    free(text);
    fclose(f);
    for (int i = 0; i < 3; ++i) {
        outcome_free(&o[i]);
    }
}
