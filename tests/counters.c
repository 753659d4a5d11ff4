/* A GPU's counters beside the machine's census: what a table and the explanations may hold, and that a count, a line, a
 * program or a reason that is not right is red under its name. */
#include "../gpu/counters_explained.h"
#include "../ref/checked.h"
#include "command_run.h"
#include <criterion/criterion.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

TestSuite(counters, .init = make_folder, .fini = remove_folder);

#define DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static char *path_of(const char *name) {
    return must_format("%s/%s", run_folder, name);
}

static char *replaced(const char *text, const char *old, const char *new) {
    const char *at = strstr(text, old);
    cr_assert(at, "no '%s' in:\n%s", old, text);
    return must_format("%.*s%s%s", (int)(at - text), text, new, at + strlen(old));
}

/* Names of columns, and a launch whose quantities are 10, 11 ... */
static char *small_table(void) {
    char *text = must_strdup("# a comment\nkernel\tlaunch\tentry\tshape\tptx"), *row = must_strdup("");
    for (int q = 0; q < COUNTER_QUANTITIES; ++q) {
        char *more = must_format("%s\t%s", text, counter_quantities[q].name),
             *longer = must_format("%s\t%d", row, 10 + q);
        free(text);
        free(row);
        text = more;
        row = longer;
    }
    char *whole = must_format("%s\nk\t1\te\tnt1.od2.id3\t" DIGEST "%s\n", text, row);
    free(text);
    free(row);
    return whole;
}

Test(counters, a_table_is_read) {
    char *text = small_table(), *path = path_of("t.tsv");
    struct counter_table t;
    struct error e;
    put_file("t.tsv", text, strlen(text));
    cr_assert(counter_table_read(path, &t, &e), "%s", e.text);
    cr_assert_eq(t.count, 1, "%zu launches", t.count);
    const struct counted_launch *l = t.launches;
    cr_expect(!strcmp(l->kernel, "k") && !strcmp(l->entry, "e") && !strcmp(l->shape, "nt1.od2.id3") && l->number == 1 &&
                  !strcmp(l->digest, DIGEST) && l->line == 3,
              "%s %s %s %zu %s %zu", l->kernel, l->entry, l->shape, l->number, l->digest, l->line);
    for (size_t q = 0; q < COUNTER_QUANTITIES; ++q)
        cr_expect(l->counts[q] == 10 + q && t.counted[q], "%s", counter_quantities[q].name);
    counter_table_free(&t);
    free(text);
    free(path);
}

Test(counters, a_bad_table_is_named) {
    static const struct {
        const char *old, *new, *says;
    } rows[] = {
        {"kernel\t", "kernal\t", "t.tsv:2:1: 'kernal' is no column of this table"},
        {"\tmma\t", "\tldmatrix\t", "a second column 'ldmatrix'"},
        {"\tmma\t", "\t", "the column 'mma' is missing"},
        {"\tmma\t", "\tmma\tmma\t", "more than 26 columns"},
        {"\t11\t", "\t", "fewer columns: want 26"},
        {"\t11\t", "\t11\t12\t", "more columns: want 26"},
        {"\t11\t", "\t\t", "an empty column"},
        {"\t11\t", "\t1,1\t", "mma is '1,1': want an integer from 0 to 9223372036854775807, or '-'"},
        {"\t11\t", "\t-1\t", "mma is '-1': want"},
        {"\t11\t", "\t011\t", "mma is '011': want"},
        {"\t11\t", "\t9223372036854775808\t", "mma is '9223372036854775808': want"},
        {"\t11\t", "\t99999999999999999999999999\t", "want an integer"},
        {"\t11\t", "\t11.0\t", "mma is '11.0': want"},
        {"\tnt1.od2.id3\t0", "\tnt1.od2.id3\tA", "ptx is 'A123456789abcdef0123"},
        {"\tnt1.od2.id3\t0", "\tnt1.od2.id3\t", "want a sha256"},
        {"k\t1\t", "k\t0\t", "launch is '0': want a number from 1 to 1000"},
        {"k\t1\t", "k\tone\t", "launch is 'one'"},
    };
    char *text = small_table(), *path = path_of("t.tsv");
    struct counter_table t;
    struct error e;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        char *bad = replaced(text, rows[i].old, rows[i].new);
        put_file("t.tsv", bad, strlen(bad));
        cr_expect(!counter_table_read(path, &t, &e) && strstr(e.text, rows[i].says) && strstr(e.text, "t.tsv:"),
                  "row %zu: '%s' is not in '%s'", i, rows[i].says, e.text);
        free(bad);
    }
    const char *second = strstr(text, "\nk\t") + 1;
    char *twice = must_format("%s%s", text, second), *half = replaced(twice, "\t11\t", "\t-\t");
    put_file("t.tsv", twice, strlen(twice));
    cr_expect(!counter_table_read(path, &t, &e) &&
                  strstr(e.text, "a second line of launch 1 of this kernel; the first is line 3"),
              "%s", e.text);
    put_file("t.tsv", half, strlen(half));
    cr_expect(!counter_table_read(path, &t, &e) && strstr(e.text, "t.tsv:4:") &&
                  strstr(e.text, "mma is counted here and not counted in the lines above"),
              "%s", e.text);
    put_file("t.tsv", text, (size_t)(second - text));
    cr_expect(!counter_table_read(path, &t, &e) && strstr(e.text, "no launch below the names"), "%s", e.text);
    put_file("t.tsv", "", 0);
    cr_expect(!counter_table_read(path, &t, &e) && strstr(e.text, "no line with the names of columns"), "%s", e.text);
    put_file("t.tsv", "k\0", 2);
    cr_expect(!counter_table_read(path, &t, &e) && strstr(e.text, "a zero byte"), "%s", e.text);
    cr_expect(!counter_table_read(run_folder, &t, &e), "a folder is read");
    free(twice);
    free(half);
    free(text);
    free(path);
}

Test(counters, bad_explanations_are_named) {
    static const char good[] =
        "- {kernel: [a, 'b*'], quantity: [mma, ld.shared], difference: -2 * warps, why: x, lines: "
        "[f.cu:12], entry: e}\n- {kernel: c, quantity: instructions, percent: [-30, 10], why: y}\n";
    static const struct {
        const char *old, *new, *says;
    } rows[] = {
        {"- {kernel: c, ", "- {", "kernel"},
        {"kernel: c", "kernel: []", "kernel: want 1 to 100 of them"},
        {"kernel: c", "kernel: {a: b}", "x.yaml:2:"},
        {"quantity: instructions, ", "", "quantity"},
        {"quantity: instructions", "quantity: []", "quantity is empty"},
        {"quantity: instructions", "quantity: imma", "instructions"},
        {"[mma, ld.shared]", "[mma, mma]", "quantity: the same twice"},
        {"percent: [-30, 10], ", "", "want either `difference`, an expression, or `percent`"},
        {"percent: [-30, 10]", "percent: [-30, 10], difference: 1", "want either"},
        {"percent: [-30, 10]", "percent: [10, -30]", "percent"},
        {"percent: [-30, 10]", "percent: [-30]", "percent: want [least, most]"},
        {"percent: [-30, 10]", "percent: 7", "percent"},
        {"why: y", "why: ''", "why"},
        {", why: y", "", "why"},
        {"why: y", "why: \"a\\nb\"", "why: want one line of at most 400 bytes"},
        {"-2 * warps", "-2 *", "difference"},
        {"-2 * warps", "0", "x.yaml:1:63: difference is 0: a reason explains what differs\n"},
        {"-2 * warps", "1 - 1 % 7", "x.yaml:1:63: difference is 0"},
        {"percent: [-30, 10]", "percent: [0, 0]", "percent: [0, 0] is no difference"},
        {"f.cu:12", "f.cu", "lines: want FILE:LINE"},
        {"f.cu:12", "f.cu:0", "lines: want FILE:LINE"},
        {"why: x", "because: x", "because"},
    };
    char *path = path_of("x.yaml");
    struct counter_explanations x;
    struct error e;
    put_file("x.yaml", good, sizeof good - 1);
    cr_assert(counter_explanations_read(path, &x, &e), "%s", e.text);
    cr_expect(x.count == 2 && counter_explained(&x, "bcd", "e", 1) == &x.items[0] && x.items[1].line == 2 &&
                  !counter_explained(&x, "bcd", "f", 1) && !counter_explained(&x, "bcd", "e", 0) &&
                  counter_explained(&x, "c", "any", 0) == &x.items[1],
              "what fits");
    counter_explanations_free(&x);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        char *bad = replaced(good, rows[i].old, rows[i].new);
        put_file("x.yaml", bad, strlen(bad));
        cr_expect(!counter_explanations_read(path, &x, &e) && strstr(e.text, rows[i].says) && strstr(e.text, "x.yaml:"),
                  "row %zu: '%s' is not in '%s'", i, rows[i].says, e.text);
        free(bad);
    }
    put_file("x.yaml", "kernel: c\n", 10);
    cr_expect(!counter_explanations_read(path, &x, &e), "a mapping is read");
    free(path);
}

/* ---- the command ---- */

/* The text after a key of JSON, up to one of `ends`. */
static char *field(const char *line, const char *key, const char *ends) {
    const char *at = strstr(line, key);
    cr_assert(at, "no %s in %.300s", key, line);
    at += strlen(key);
    return must_format("%.*s", (int)strcspn(at, ends), at);
}

/* The machine's own counts of the kernels that a pattern selects, as a table. */
static char *machine_table(const char *pattern) {
    struct result r = run_command("census --table --launches %s 2>/dev/null", pattern);
    cr_assert_eq(r.code, 0, "%s", r.text);
    char *names = small_table(), *text = must_format("%.*s", (int)(strstr(names, "\nk\t") + 1 - names), names);
    for (char *line = strstr(r.text, "launch\t"); line; line = strstr(line + 1, "\nlaunch\t")) {
        char *columns[7] = {NULL}, *copy = field(line, "launch\t", "\n"), *rest = copy;
        for (int i = 0; i < 6; ++i)
            columns[i] = strsep(&rest, "\t");
        char *more =
            must_format("%s%s\t%s\t%s\t%s\t%s", text, columns[1], columns[2], columns[3], columns[4], columns[5]);
        free(text);
        text = more;
        for (int q = 0; q < COUNTER_QUANTITIES; ++q) {
            more = must_format("%s\t0%s", text, q + 1 < COUNTER_QUANTITIES ? "" : "\n");
            free(text);
            text = more;
        }
        free(copy);
    }
    free(r.text);
    put_file("zeros.tsv", text, strlen(text));
    put_file("none.yaml", "[]\n", 3);
    r = run_command("census --table --counters %s/zeros.tsv --explained %s/none.yaml %s --json /dev/stdout", run_folder,
                    run_folder, pattern);
    cr_assert_eq(r.code, 1, "%s", r.text);
    free(text);
    text = must_format("%.*s", (int)(strstr(names, "\nk\t") + 1 - names), names);
    for (char *line = strstr(r.text, "{\"kernel\": "); line; line = strstr(line + 1, "{\"kernel\": ")) {
        static const char *const keys[] = {"\"kernel\": \"", "\"launch\": ", "\"entry\": \"", "\"shape\": \"",
                                           "\"ptx\": \""};
        for (int i = 0; i < 5; ++i) {
            char *one = field(line, keys[i], "\","), *more = must_format("%s%s\t", text, one);
            free(text);
            free(one);
            text = more;
        }
        for (int q = 0; q < COUNTER_QUANTITIES; ++q) {
            char *key = must_format("\"%s\": {\"machine\": ", counter_quantities[q].name), *one = field(line, key, ",");
            char *more = must_format("%s%s%s", text, one, q + 1 < COUNTER_QUANTITIES ? "\t" : "\n");
            free(text);
            free(one);
            free(key);
            text = more;
        }
    }
    free(r.text);
    free(names);
    return text;
}

/* Compares with a table and explanations (NULL: none). */
static struct result compare(const char *table, const char *explained, const char *pattern) {
    put_file("t.tsv", table, strlen(table));
    put_file("x.yaml", explained ? explained : "[]\n", explained ? strlen(explained) : 3);
    return run_command("census --table --counters %s/t.tsv --explained %s/x.yaml %s", run_folder, run_folder, pattern);
}

/* All of it must be there. */
static void expect_texts(struct result r, int code, const char *const *texts) {
    cr_expect_eq(r.code, code, "exit %d, want %d:\n%s", r.code, code, r.text);
    for (size_t i = 0; texts[i]; ++i)
        cr_expect(strstr(r.text, texts[i]), "no '%s' in:\n%s", texts[i], r.text);
    free(r.text);
}
#define EXPECT(result, code, ...) expect_texts(result, code, (const char *const[]){__VA_ARGS__, NULL})

/* The table with several counts changed: (old, new) pairs, each of which must be there. */
static char *changed(const char *table, const char *const (*pairs)[2], size_t count) {
    char *text = must_strdup(table);
    for (size_t i = 0; i < count; ++i) {
        char *next = replaced(text, pairs[i][0], pairs[i][1]);
        free(text);
        text = next;
    }
    return text;
}

/* Of mmq_half_t, whose counts tests/ladder.c holds to what was published: 4096 mma, 2048 ldmatrix, 3072 loads. */
Test(counters, what_differs_is_red_under_its_name) {
    enter_project("cp $d/gpu/kernels/mmq_half_t.yaml $d/gpu/kernels/mmq_half_raw.yaml gpu/kernels");
    char *table = machine_table("mmq_half_t"), *bad;
    EXPECT(compare(table, NULL, "mmq_half_t"), 0, "\n1 launch: 15 counts equal, 6 both zero, 0 explained, 0 wrong\n");

    static const char *const counts[][2] = {{"\t4096\t54016\t", "\t4097\t54016\t"},
                                            {"\t2048\t3072\t", "\t1024\t3072\t"},
                                            {"\t512\t0\t0\t8192\t", "\t512\t5\t0\t8192\t"}};
    bad = changed(table, counts, 3);
    EXPECT(compare(bad, NULL, "mmq_half_t"), 1,
           "\nmmq_half_t                         mma                          4096         4097  +0.02 %   DIFFERS\n",
           "\nmmq_half_t                         ldmatrix                     2048         1024  -50.00 %   DIFFERS\n",
           "\nmmq_half_t                         ld.local                        0            5  +5   DIFFERS\n",
           ": 13 counts equal, 5 both zero, 0 explained, 3 wrong\n");
    free(bad);

    bad = replaced(table, "mmq_half_t\t1\t", "mmq_half_t\t2\t");
    EXPECT(compare(bad, NULL, "mmq_half_t"), 1,
           "\nmmq_half_t                         MISSING: ", "t.tsv has no line of it\n",
           "t.tsv:3 UNKNOWN: gpu/kernels has no launch 2 of mmq_half_t\n");
    free(bad);

    bad = must_strdup(table);
    char *at = strstr(bad, ".id1024\t") + 8;
    *at = *at == '0' ? '1' : '0';
    EXPECT(compare(bad, NULL, "mmq_half_t"), 1,
           "\nmmq_half_t                         STALE: ", "t.tsv:3 counted the PTX ");
    free(bad);

    bad = replaced(table, "nt128.od128", "nt64.od128");
    EXPECT(compare(bad, NULL, "mmq_half_t"), 1, "\nmmq_half_t                         STALE: ",
           "t.tsv:3 counted mmq_half_t at nt64.od128.id1024, today's table has mmq_half_t at nt128.od128.id1024\n");
    free(bad);

    /* a kernel that the pattern leaves out may have a line, one that does not exist may not */
    const char *line = strstr(table, "\nmmq_half_t\t") + 1;
    char *left_out = replaced(line, "mmq_half_t\t", "mmq_half_raw\t"),
         *none = replaced(line, "mmq_half_t\t", "mmq_\ahalf\t");
    bad = must_format("%s%s%s", table, left_out, none);
    EXPECT(compare(bad, NULL, "mmq_half_t"), 1, "t.tsv:5 UNKNOWN: gpu/kernels has no launch 1 of mmq_\\x07half\n",
           "15 counts equal, 6 both zero, 0 explained, 1 wrong");
    free(bad);
    free(left_out);
    free(none);

    /* a reason is held to: the exact difference, the range, the line, and that it is needed */
    static const char explained[] =
        "- {kernel: x, quantity: st.local, why: not this kernel, difference: 1}\n"
        "- {kernel: mmq_half_t, entry: x, quantity: st.local, why: not this entry, difference: 1}\n"
        "- {kernel: mmq_*, quantity: ld.shared, why: two loads are one, difference: -4 * warps * id / 128}\n"
        "- {kernel: mmq_*, quantity: ldmatrix, why: x, difference: blocks - ld_shared_conflicts}\n"
        "- {kernel: mmq_*, quantity: mma, why: in range, percent: [0, 1]}\n"
        "- {kernel: mmq_*, quantity: ld.local, why: no part of nothing, percent: [0, 1000000]}\n"
        "- {kernel: mmq_*, quantity: instructions, why: x, percent: [-20, 20]}\n"
        "- {kernel: mmq_*, quantity: ldmatrix.wavefronts, why: x, difference: 8}\n"
        "- {kernel: mmq_*, quantity: st.global, why: x, difference: 1, lines: ['gpu/kernels/mmq_half_t.cu:1']}\n";
    static const char *const more[][2] = {{"\t4096\t54016\t", "\t4097\t54016\t"},
                                          {"\t2048\t3072\t", "\t1024\t2560\t"},
                                          {"\t512\t0\t0\t8192\t", "\t513\t5\t1\t8192\t"}};
    bad = changed(table, more, 3);
    EXPECT(compare(bad, explained, "mmq_half_t"), 1, "          3072         2560  -16.67 %  two loads are one\n",
           "          2048         1024  -50.00 %   DIFFERS from ", "x.yaml:4: blocks - ld_shared_conflicts is -7166\n",
           "          4096         4097  +0.02 %  in range\n", "0            5  +5   DIFFERS from ",
           "x.yaml:6: it says 0 to 1e+06 %\n", "  =   DIFFERS from ", "x.yaml:7: they are equal\n",
           "x.yaml:8: they are equal\n", "x.yaml:9: gpu/kernels/mmq_half_t.cu:1 executes no st.global\n",
           "0            1  +1   DIFFERS\n", ": 9 counts equal, 4 both zero, 2 explained, 6 wrong\n");
    free(bad);
    free(table);
    leave_project();
}

/* A reason whose difference has no value, or is 0, is an error of its file, with its place; nothing is written. */
Test(counters, a_reason_must_have_a_value) {
    static const struct {
        const char *difference, *says;
    } rows[] = {
        {"nosuch", ":1:55: 'nosuch' has no value; known: "},
        {"1 / ld_local", ":1:57: division by zero\n"},
        {"9223372036854775807 * mma", ":1:75: the result does not fit"},
        {"mma - 4096", ":1:55: difference is 0 for mma of mmq_half_t: a reason explains what differs\n"},
    };
    enter_project("cp $d/gpu/kernels/mmq_half_t.yaml gpu/kernels");
    char *table = machine_table("mmq_half_t"), *path = path_of("out.json"), *json = must_format("--json %s", path);
    for (size_t i = 0; i<sizeof rows / sizeof *rows; i += command_stride()> 1 ? 3 : 1) {
        char *explained =
            must_format("- {kernel: '*', quantity: mma, why: x, difference:    %s}\n", rows[i].difference);
        EXPECT(compare(table, explained, json), 2, rows[i].says, "x.yaml:1:", "^\n");
        cr_expect(access(path, F_OK) != 0, "%s is written", path);
        free(explained);
    }
    free(json);
    free(path);
    free(table);
    leave_project();
}

/* A kernel that cannot be run is bad input, and neither its line nor a reason for it is anything else. */
Test(counters, a_kernel_that_is_not_run) {
    enter_project("cp $d/gpu/kernels/mmq_half_t.yaml gpu/kernels && mkdir fixtures/counters && echo "
                  "'- {kernel: mmq_half_t, quantity: mma, why: x, difference: 1}' > fixtures/counters/explained.yaml");
    char *table = machine_table("mmq_half_t"), *hidden = replaced(table, "mmq_half_t\t1\t", "mmq_half_t\t2\t");
    put_file("t.tsv", table, strlen(table));
    put_file("hidden.tsv", hidden, strlen(hidden));
    char *link = path_of("fixtures/ptx");
    cr_assert_eq(unlink(link), 0, "%s is no link", link);
    struct result r = run_command("census --table --counters %s/t.tsv", run_folder);
    cr_expect(r.code == 2 && strstr(r.text, "mmq_half_t.ptx") && !strstr(r.text, "UNKNOWN") &&
                  !strstr(r.text, "UNUSED") && strstr(r.text, "\n0 launches: 0 counts equal"),
              "exit %d: %s", r.code, r.text);
    free(r.text);
    free(link);
    expect_result(run_command("census --table --counters %s/hidden.tsv", run_folder), 1,
                  "hidden.tsv:3 UNKNOWN: gpu/kernels has no launch 2 of mmq_half_t\n");
    free(hidden);
    free(table);
    leave_project();
}

/* Launches that follow each other are lines of their own; a reason that no launch needs is red where all are compared.
 */
Test(counters, launches_that_follow) {
    enter_project("cp $d/gpu/kernels/mmq_half_q6_k_exp.yaml gpu/kernels/k.yaml && mkdir fixtures/counters && echo "
                  "'- {kernel: x, quantity: mma, why: x, difference: 1}' > fixtures/counters/explained.yaml");
    char *table = machine_table("mmq_half_q6_k_exp"), *second = strstr(table, "\nmmq_half_q6_k_exp\t2\t") + 1;
    expect_result(run_command("census --table --counters %s/zeros.tsv", run_folder), 1,
                  "fixtures/counters/explained.yaml:1 UNUSED: there is no launch that it explains\n");
    expect_result(compare(table, NULL, ""), 0, "\n2 launches: 20 counts equal, 22 both zero, 0 explained, 0 wrong\n");
    *second = 0;
    expect_result(compare(table, NULL, ""), 1, "mmq_half_q6_k_exp/2                MISSING: ");
    free(table);
    leave_project();
}

Test(counters, options_go_together) {
    static const struct {
        const char *arguments, *says;
    } rows[] = {
        {"--counters t.tsv mmq_half_t", "go with --table"},
        {"--launches mmq_half_t", "go with --table"},
        {"--table --launches --counters t.tsv", "do not go with them"},
        {"--table --launches --json x", "do not go with them"},
        {"--table --explained x.yaml", "--explained goes with --counters"},
        {"--table --counters ''", "--counters"},
        {"--table --counters /nonexistent/t.tsv mmq_half_t", "/nonexistent/t.tsv"},
        {"--table --counters tests/counters.c mmq_half_t", "tests/counters.c:1:1: "},
        {"--table --counters /dev/null mmq_half_t", "/dev/null"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i)
        expect_result(run_command("census %s", rows[i].arguments), 2, rows[i].says);
    expect_result(run_command("census --table nosuchkernel"), 3, "no kernel of gpu/kernels matches 'nosuchkernel'");
    expect_result(run_command("census --help"), 0, ", 3 no kernel matches a PATTERN, or nothing was compared\n");
}

/* All quantities were counted of all launches that were compared, and none is wrong. */
static bool is_complete(const struct result *r) {
    return r->code == 0 && strstr(r->text, " explained, 0 wrong\n") && !strstr(r->text, "; not counted: ");
}

/* What GPUs have counted of today's kernels: every launch, or in a build with the sanitisers two kernels. */
Test(counters, the_machine_counts_what_a_gpu_counted, .timeout = 600) {
    glob_t files;
    cr_assert_eq(glob("fixtures/golden/counters_*.tsv", 0, NULL, &files), 0, "no GPU's counters are kept");
    for (size_t i = 0; i < files.gl_pathc; ++i) {
        struct result r = run_command("census --table --counters %s %s", files.gl_pathv[i],
                                      command_stride() == 1 ? "" : "mmq_half_t mmq_wide_lda_kd8");
        const size_t length = strlen(r.text);
        cr_expect(is_complete(&r), "%s: exit %d: ...%s", files.gl_pathv[i], r.code,
                  r.text + (length > 3000 ? length - 3000 : 0));
        free(r.text);
    }
    globfree(&files);
}

/* A table without counts of a quantity agrees with everything: a kept one has them all. */
Test(counters, a_table_that_does_not_count_is_not_complete) {
    enter_project("cp $d/gpu/kernels/mmq_half_t.yaml gpu/kernels");
    char *table = machine_table("mmq_half_t"), *bad = replaced(table, "\t4096\t54016\t", "\t-\t54016\t");
    struct result whole = compare(table, NULL, ""), part = compare(bad, NULL, "");
    cr_expect(is_complete(&whole), "exit %d:\n%s", whole.code, whole.text);
    cr_expect(!is_complete(&part) && part.code == 0 && strstr(part.text, ", 0 wrong; not counted: mma\n"),
              "exit %d:\n%s", part.code, part.text);
    free(whole.text);
    free(part.text);
    free(bad);
    free(table);
    leave_project();
}

/* ---- ci/counters-device, with stand-ins for ncu and the driver ---- */

static int run_script(const char *before, const char *arguments, char **text) {
    char *command =
        must_format("PATH=\"$PWD/tests/counters/fake:$PATH\" WARPPROOF='%s' %s ci/counters-device '%s/out' %s "
                    "2>&1 </dev/null",
                    command_binary(), before, run_folder, arguments);
    FILE *pipe = popen(command, "r");
    cr_assert(pipe);
    *text = must_calloc(1 << 16, 1);
    const size_t n = fread(*text, 1, (1 << 16) - 1, pipe);
    (*text)[n] = 0;
    free(command);
    return WEXITSTATUS(pclose(pipe));
}

Test(counters, the_script_counts_and_compares) {
    if (command_stride() > 1)
        return; /* it is a script, and what it runs other tests run */
    char *text, *path = path_of("out/counters_fake_gpu.tsv");
    cr_expect_eq(run_script("", "mmq_half_t", &text), 1, "%s", text);
    static const char *const says[] = {"without smsp__sass_inst_executed_op_ldsm, which ncu refuses",
                                       "counters_fake_gpu.tsv: 2 lines",
                                       "mma                          4096            3  -99.93 %   DIFFERS",
                                       "15 wrong; not counted: ldmatrix.wavefronts, ldmatrix.conflicts, "};
    for (size_t i = 0; i < sizeof says / sizeof *says; ++i)
        cr_expect(strstr(text, says[i]), "no '%s' in:\n%s", says[i], text);
    free(text);
    struct counter_table t;
    struct error e;
    cr_assert(counter_table_read(path, &t, &e), "%s", e.text);
    cr_expect(t.count == 1 && !strcmp(t.launches[0].kernel, "mmq_half_t") && t.counted[5] &&
                  t.launches[0].counts[5] == 7 && !t.counted[13],
              "what was joined");
    counter_table_free(&t);
    free(path);
    static const struct {
        const char *before, *says;
    } rows[] = {{"FAKE_NCU=denied", "ERR_NVGPUCTRPERM"},
                {"FAKE_NCU=other", "is of mmq_wide_ldb_kd8.other, not of mmq_wide_ldb_kd8"},
                {"FAKE_NCU=late", "launch 0 (mmq_half_t): smsp__sass_inst_executed_op_shared_ld is \"\", want a count"},
                {"FAKE_NCU=opcodes", "launch 0 (mmq_half_t): 7 instructions, and 1008 by opcode"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        cr_expect_eq(run_script(rows[i].before, "mmq_half_t", &text), 2, "%s: %s", rows[i].before, text);
        cr_expect(strstr(text, rows[i].says), "%s: no '%s' in:\n%s", rows[i].before, rows[i].says, text);
        free(text);
    }
    cr_expect_eq(run_script("", "--line x", &text), 2);
    cr_expect(strstr(text, "--line: unknown option"), "%s", text);
    free(text);
}
