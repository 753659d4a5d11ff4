/* JSON lines and the terminal report. */
#include "../ref/checked.h"
#include "../reports/file.h"
#include "../reports/terminal.h"
#include <criterion/criterion.h>
#include <fcntl.h>
#include <libfyaml.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
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
    char place[] = "/tmp/warpproof-json-XXXXXX";
    cr_assert(mkdtemp(place) != NULL, "no temporary folder");
    cr_assert(!json_write(place, NULL, 0, &t, &e), "replaced a folder by a file");
    cr_assert(rmdir(place) == 0, "the temporary was left behind");
}

/* ---- the file of a report ---- */

static char folder[] = "/tmp/warpproof-file-XXXXXX";

static void make_folder(void) {
    cr_assert(mkdtemp(folder) != NULL && chdir(folder) == 0, "no temporary folder");
}

/* Every test below leaves only what it names. */
static void leave(const char *const *names) {
    for (; *names != NULL; ++names) {
        cr_expect(unlink(*names) == 0, "%s is not there", *names);
    }
    cr_expect(chdir("/") == 0 && rmdir(folder) == 0, "something was left behind");
}

static void expect_contents(const char *path, const char *want) {
    char got[64] = "";
    const int fd = open(path, O_RDONLY);
    cr_expect(fd >= 0 && read(fd, got, sizeof got - 1) >= 0 && strcmp(got, want) == 0, "%s holds '%s', want '%s'", path,
              got, want);
    close(fd);
}

static void put(const char *path, const char *text) {
    struct error e = {""};
    cr_expect(file_put(path, text, strlen(text), &e), "%s", e.text);
}

static void refuse(const char *path, const char *text, size_t size, const char *says) {
    struct error e = {""};
    char *want = must_format("%s: cannot write: %s", path, says);
    cr_expect(!file_put(path, text, size, &e), "%s was written", path);
    cr_expect_str_eq(e.text, want, "want '%s', says '%s'", want, e.text);
    free(want);
}

static bool is(const char *path, mode_t kind) {
    struct stat s;
    return lstat(path, &s) == 0 && (s.st_mode & S_IFMT) == kind;
}

TestSuite(report_file, .init = make_folder);

Test(report_file, a_regular_file_is_replaced_and_keeps_its_mode) {
    struct stat before, after;
    umask(027);
    put("new", "one");
    cr_assert(stat("new", &before) == 0 && (before.st_mode & 07777) == 0640, "mode %o", (unsigned)before.st_mode);
    cr_assert(chmod("new", 0604) == 0, "no chmod");
    const int reader = open("new", O_RDONLY);
    put("new", "two");
    expect_contents("new", "two");
    cr_expect(stat("new", &after) == 0 && (after.st_mode & 07777) == 0604, "mode %o", (unsigned)after.st_mode);
    char old[4] = "";
    cr_expect(read(reader, old, 3) == 3 && strcmp(old, "one") == 0, "who had it open sees '%s'", old);
    close(reader);
    leave((const char *const[]){"new", NULL});
}

static void expect_can_put(const char *path, const char *says) {
    struct error e = {""};
    char *want = says != NULL ? must_format("%s: cannot write: %s", path, says) : must_strdup("");
    cr_expect(file_can_put(path, &e) == (says == NULL), "%s: want '%s', says '%s'", path, want, e.text);
    cr_expect_str_eq(e.text, want, "want '%s', says '%s'", want, e.text);
    free(want);
}

Test(report_file, what_can_be_written_is_known_before) {
    put("f", "old");
    put("kept", "old");
    cr_assert(chmod("kept", 0444) == 0 && mkdir("d", 0700) == 0 && symlink("kept", "to_kept") == 0 &&
                  symlink("absent/x", "to_absent") == 0 && symlink("new", "to_new") == 0 && symlink("d", "to_d") == 0 &&
                  symlink("loop", "loop") == 0 && mkfifo("pipe", 0600) == 0,
              "no fixtures");
    static const char *const good[] = {"f", "new", "d/new", "to_new", "pipe", "/dev/null", "/dev/stdout", "/dev/fd/2"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; ++i) {
        expect_can_put(good[i], NULL);
    }
    expect_can_put("kept", "Permission denied");
    expect_can_put("to_kept", "Permission denied");
    expect_can_put("d", "Is a directory");
    expect_can_put("to_d", "Is a directory");
    expect_can_put("to_absent", "No such file or directory");
    expect_can_put("absent/x", "No such file or directory");
    expect_can_put("g/", "No such file or directory");
    expect_can_put("", "No such file or directory");
    expect_can_put("f/g", "Not a directory");
    expect_can_put("loop", "Too many levels of symbolic links");
    refuse("kept", "new", 3, "Permission denied");
    refuse("to_kept", "new", 3, "Permission denied");
    expect_contents("kept", "old");
    cr_expect(rmdir("d") == 0, "something was left in d");
    leave((const char *const[]){"f", "kept", "to_kept", "to_absent", "to_new", "to_d", "loop", "pipe", NULL});
}

Test(report_file, links_are_followed_and_stay) {
    cr_assert(mkdir("d", 0700) == 0 && symlink("d/b", "a") == 0 && symlink("../c", "d/b") == 0 &&
                  symlink("loop", "loop") == 0,
              "no links");
    char *absolute = must_format("%s/c", folder);
    cr_assert(symlink(absolute, "d/e") == 0, "no link");
    free(absolute);
    put("a", "through a link to nothing");
    expect_contents("c", "through a link to nothing");
    put("a", "two links");
    expect_contents("c", "two links");
    put("d/e", "an absolute link");
    expect_contents("c", "an absolute link");
    cr_expect(is("a", S_IFLNK) && is("d/b", S_IFLNK) && is("d/e", S_IFLNK) && is("c", S_IFREG), "a link was replaced");
    refuse("loop", "x", 1, "Too many levels of symbolic links");
    cr_expect(unlink("d/b") == 0 && unlink("d/e") == 0 && rmdir("d") == 0, "something was left in d");
    leave((const char *const[]){"a", "c", "loop", NULL});
}

Test(report_file, what_is_no_regular_file_is_written_through) {
    cr_assert(mkfifo("pipe", 0600) == 0 && symlink("pipe", "link") == 0 && mkdir("d", 0700) == 0, "no fixtures");
    const int reader = open("pipe", O_RDONLY | O_NONBLOCK);
    char got[16] = "";
    put("link", "first, ");
    put("pipe", "second");
    cr_expect(read(reader, got, sizeof got - 1) == 13 && strcmp(got, "first, second") == 0, "the pipe got '%s'", got);
    close(reader);
    const struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = "socket"};
    const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    cr_assert(bind(listener, (const struct sockaddr *)&name, sizeof name) == 0, "no socket");
    refuse("socket", "x", 1, "No such device or address");
    refuse("d", "x", 1, "Is a directory");
    cr_expect(is("pipe", S_IFIFO) && is("link", S_IFLNK) && is("socket", S_IFSOCK) && is("d", S_IFDIR),
              "something was replaced");
    close(listener);
    rmdir("d");
    leave((const char *const[]){"pipe", "link", "socket", NULL});
}

Test(report_file, a_reader_that_goes_away_is_an_error) {
    static char large[1 << 20];
    cr_assert(mkfifo("pipe", 0600) == 0, "no pipe");
    const pid_t reader = fork();
    if (reader == 0) {
        char one;
        const int fd = open("pipe", O_RDONLY);
        _exit(read(fd, &one, 1) == 1 ? 0 : 1);
    }
    refuse("pipe", large, sizeof large, "Broken pipe");
    int status;
    cr_expect(waitpid(reader, &status, 0) == reader && status == 0, "the reader read nothing");
    struct sigaction now;
    cr_expect(sigaction(SIGPIPE, NULL, &now) == 0 && now.sa_handler == SIG_DFL, "SIGPIPE stays ignored");
    leave((const char *const[]){"pipe", NULL});
}

Test(report_file, a_size_limit_is_an_error_that_leaves_the_old_file) {
    put("f", "old");
    struct rlimit limit, none;
    getrlimit(RLIMIT_FSIZE, &limit);
    none = limit;
    none.rlim_cur = 2;
    setrlimit(RLIMIT_FSIZE, &none);
    refuse("f", "new", 3, "File too large");
    refuse("g", "new", 3, "File too large");
    setrlimit(RLIMIT_FSIZE, &limit);
    expect_contents("f", "old");
    leave((const char *const[]){"f", NULL});
}

/* /dev/fd shows the path that a removed file had, with " (deleted)" behind it. */
Test(report_file, a_file_without_a_name_is_written_through) {
    const int fd = open("f", O_RDWR | O_CREAT | O_EXCL, 0600);
    cr_assert(fd >= 0 && write(fd, "old text", 8) == 8 && unlink("f") == 0, "no file without a name");
    char *path = must_format("/proc/self/fd/%d", fd), got[16] = "";
    put(path, "new");
    cr_expect(pread(fd, got, sizeof got - 1, 0) == 3 && strcmp(got, "new") == 0, "it holds '%s'", got);
    free(path);
    close(fd);
    leave((const char *const[]){NULL});
}

Test(report_file, impossible_places_are_errors) {
    put("f", "x");
    refuse("f/g", "x", 1, "Not a directory");
    refuse("absent/g", "x", 1, "No such file or directory");
    refuse("g/", "x", 1, "No such file or directory");
    refuse("", "x", 1, "No such file or directory");
    char *longest = must_calloc(257, 1);
    memset(longest, 'n', 255);
    put(longest, "a name as long as names may be");
    longest[255] = 'n';
    refuse(longest, "x", 1, "File name too long");
    longest[255] = 0;
    leave((const char *const[]){"f", longest, NULL});
    free(longest);
}

Test(report, failures_are_parted_by_empty_lines_and_start_without) {
    struct outcome o[3] = {outcome_of("a/b/k/nt1/exact/s1", VERDICT_DIFFERS),
                           outcome_of("a/b/k/nt1/adv/s1", VERDICT_GUARD),
                           outcome_of("a/b/k/nt1/rand/s1", VERDICT_UNWRITTEN)};
    static const struct {
        size_t full;
        const char *first;
        size_t empty;
    } rows[] = {{3, "DIFFERS a/b", 2}, {2, "DIFFERS a/b", 2}, {0, "DIFFERS a/b", 0}};
    for (size_t i = 0; i < 3; ++i) {
        FILE *f = tmpfile();
        terminal_failures(f, o, 3, rows[i].full, 8);
        char *text = slurp(f);
        size_t empty = 0;
        for (const char *at = text; (at = strstr(at, "\n\n")) != NULL; ++at) {
            ++empty;
        }
        cr_expect(strncmp(text, rows[i].first, strlen(rows[i].first)) == 0, "starts with an empty line:\n%s", text);
        cr_expect(empty == rows[i].empty, "%zu full: %zu empty lines, want %zu:\n%s", rows[i].full, empty,
                  rows[i].empty, text);
        free(text);
        fclose(f);
    }
    for (int i = 0; i < 3; ++i) {
        outcome_free(&o[i]);
    }
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
    cr_expect(strstr(text, " file") == NULL, "a column for class file without such a case:\n%s", text);
    const char *last = "1 passed, 1 failed, 1 skipped\n";
    cr_expect(strcmp(text + strlen(text) - strlen(last), last) == 0, "last line:\n%s", text);
    free(text);
    fclose(f);
    for (int i = 0; i < 3; ++i) {
        outcome_free(&o[i]);
    }
}

Test(report, raw_files_have_a_column_where_there_are_some) {
    struct outcome o[2] = {outcome_of("q/p/k/nt1/exact/s1", VERDICT_PASS),
                           outcome_of("q/p/k/nt2/file/dump", VERDICT_PASS)};
    FILE *f = tmpfile();
    terminal_table(f, o, 2);
    char *text = slurp(f);
    cr_expect(strstr(text, "      real      file\n") != NULL, "no column:\n%s", text);
    cr_expect(strstr(text, "         -       1/1\n") != NULL, "no count:\n%s", text);
    free(text);
    fclose(f);
    for (int i = 0; i < 2; ++i) {
        outcome_free(&o[i]);
    }
}
