/* The command as a person meets it: exit codes, messages, files. Runs the binary that $WARPPROOF names. */
#include "../cli/command.h"
#include "../cli/plant.h"
#include "../ref/checked.h"
#include "command_run.h"
#include <criterion/criterion.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static size_t lines(const char *s) {
    size_t n = 0;
    for (; *s != 0; ++s) {
        n += *s == '\n';
    }
    return n;
}

Test(command, usage) {
    expect_result(run_command("%s", ""), 2, "usage: warpproof COMMAND");
    expect_result(run_command("--help"), 0, "usage: warpproof COMMAND");
    expect_result(run_command("frobnicate"), 2, "unknown command 'frobnicate'");
    const char *const commands[] = {"gate", "run", "inspect", "list"};
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; ++i) {
        expect_result(run_command("%s --help", commands[i]), 0, "usage: warpproof");
        expect_result(run_command("%s --nosuch", commands[i]), 2, "--nosuch");
        expect_result(run_command("%s -Z", commands[i]), 2, "-Z");
    }
    expect_result(run_command("gate -j 0"), 2, "-j 0");
    expect_result(run_command("gate -j 2x"), 2, "-j 2x");
    expect_result(run_command("gate --json"), 2, "needs a value");
    expect_result(run_command("gate --json -"), 2, "--json -: want the name of a file; standard output is /dev/stdout");
    expect_result(run_command("gate --json ''"), 2, "--json: want the name of a file");
    expect_result(run_command("gate --json x --json y"), 2, "--json is given twice");
    expect_result(run_command("gate --plant a --plant b"), 2, "gate: --plant is given twice");
    expect_result(run_command("explain --plant a --plant b x"), 2, "explain: --plant is given twice");
    expect_result(run_command("probe --plant a --plant b x"), 2, "probe: --plant is given twice");
    expect_result(run_command("gate --device 1 --device all"), 2, "--device is given twice");
    expect_result(run_command("gate ''"), 2, "warpproof gate: a PATTERN is empty");
    expect_result(run_command("gate kd4/nt1.od1.id256/adv/s1 ''"), 2, "warpproof gate: a PATTERN is empty");
    expect_result(run_command("list cases ''"), 2, "warpproof list: a PATTERN is empty");
    expect_result(run_command("list cases quantize_pad40 ''"), 2, "warpproof list: a PATTERN is empty");
    expect_result(run_command("gate --runner quantum"), 2, "--runner quantum: want machine or device");
    expect_result(run_command("gate --plant nosuch"), 2, "no plant named 'nosuch'");
    expect_result(run_command("gate --plant ../cases/x"), 2, "no plant named");
    expect_result(run_command("run"), 2, "want one launch file");
    expect_result(run_command("run a b"), 2, "want one launch file");
    expect_result(run_command("list nothing"), 2, "'nothing'");
    expect_result(run_command("list kernels x"), 2, "only `list cases`");
}

Test(command, list_shows_what_there_is) {
    expect_result(run_command("list kernels"), 0, "mmq_wide_ldb_kd8");
    expect_result(run_command("list formats"), 0, "q4_K");
    expect_result(run_command("list contracts"), 0, "q4_k_pad40_two_term");
    expect_result(run_command("list oracles"), 0, "coverage");
    expect_result(run_command("list plants"), 0, "warp_offset_dropped");
    expect_result(run_command("list archs"), 0, "sm_121");
    expect_result(run_command("list cases 'q4_K/*/nt1.od1.id256/*'"), 0,
                  "q4_K/pad40/mmq_wide_ldb_kd8/nt1.od1.id256/coded/s1\n");
    expect_result(run_command("list cases nosuchcase"), 3, "no case matches 'nosuchcase'");
}

Test(command, nothing_ran_is_exit_3) {
    expect_result(run_command("gate 'kd8/*'"), 3, "no case matches 'kd8/*'; a glob must match a whole id");
    expect_result(run_command("gate nosuchcase"), 3, "no case matches 'nosuchcase'");
    expect_result(run_command("gate kd8/nt1.od1.id256/coded/s1 nosuchcase"), 3, "no case matches 'nosuchcase'");
    expect_result(run_command("gate --plant warp_offset_dropped quantize_pad40"), 3,
                  "no case of kernel 'mmq_wide_ldb_kd8'");
}

Test(command, gate_runs_one_case_by_its_id) {
    struct result r = run_command("gate --stats q4_K/pad40/mmq_wide_ldb_kd4/nt1.od1.id256/adv/s1");
    cr_expect(strstr(r.text, "M warp instructions/s") != NULL, "no rate in:\n%s", r.text);
    expect_result(r, 0, "1 passed, 0 failed, 0 skipped\n");
}

/* Everything but the last line, which holds what depends on the clock. */
static char *records_of(const char *path) {
    FILE *f = fopen(path, "r");
    cr_assert(f != NULL, "%s was not written", path);
    char *text = must_calloc(1 << 24, 1);
    cr_assert(fread(text, 1, (1 << 24) - 1, f) > 0, "%s is empty", path);
    fclose(f);
    char *last = strstr(text, "{\"summary\"");
    cr_assert(last != NULL, "%s has no summary", path);
    *last = 0;
    return text;
}

/* A wrong kernel as well as right ones: findings, digests and counts must not depend on the threads either. */
Test(command, results_do_not_depend_on_threads) {
    static const char *const selections[] = {"'*/nt129.od257.id256/coded/*' quantize_pad40/nt33.id1024",
                                             "--plant sda_q_tiled_by_16 nt129.od257.id512/coded/s1",
                                             "--plant warp_offset_dropped nt129.od257.id512/coded/s1"};
    for (size_t i = 0; i < sizeof selections / sizeof selections[0]; i += command_stride()) {
        char *first = NULL;
        static const int threads[] = {1, 2, 7};
        for (size_t k = 0; k < 3; ++k) {
            char path[] = "/tmp/warpproof-threads-XXXXXX";
            const int fd = mkstemp(path);
            cr_assert(fd >= 0, "no temporary file");
            close(fd);
            struct result r = run_command("gate %s -j %d --json %s", selections[i], threads[k], path);
            cr_assert(r.code == (i == 0 ? 0 : 1), "exit %d:\n%s", r.code, r.text);
            char *records = records_of(path);
            cr_assert(first == NULL || strcmp(first, records) == 0, "%d threads change the results of %s", threads[k],
                      selections[i]);
            if (first == NULL) {
                first = records;
            } else {
                free(records);
            }
            free(r.text);
            unlink(path);
        }
        free(first);
    }
}

/* ---- a temporary folder ---- */

static void put(const char *name, const char *text) {
    put_file(name, text, strlen(text));
}

static void expect_text(const char *name, const char *want) {
    char *path = must_format("%s/%s", run_folder, name), got[64] = "";
    const int fd = open(path, O_RDONLY);
    cr_expect(fd >= 0 && read(fd, got, sizeof got - 1) >= 0 && strcmp(got, want) == 0, "%s holds '%s', want '%s'", path,
              got, want);
    close(fd);
    free(path);
}

TestSuite(command_files, .init = make_folder, .fini = remove_folder);

#define ONE_CASE "gate q4_K/pad40/mmq_wide_ldb_kd4/nt1.od1.id256/adv/s1"

Test(command_files, json_that_cannot_be_written_is_exit_2) {
    expect_result(run_command(ONE_CASE " --json /nonexistent-folder/x"), 2, "/nonexistent-folder/x: cannot write");
    expect_result(run_command("run tests/foreign/iota.yaml --json %s", run_folder), 2, "cannot write: Is a directory");
    put("x", "old");
    run_before = "ulimit -f 0;";
    expect_result(run_command(ONE_CASE " --json %s/x", run_folder), 2, "x: cannot write: File too large");
    expect_text("x", "old");
    cr_expect(files_in_folder() == 1, "a temporary was left behind");
}

/* Found before anything runs, so that no work is lost: nothing of a run is printed. */
Test(command_files, json_is_checked_first) {
    put("kept", "old");
    char *kept = must_format("%s/kept", run_folder);
    cr_assert(chmod(kept, 0400) == 0, "no chmod");
    static const char *const commands[] = {"gate", "run tests/foreign/iota.yaml", "run nosuch.yaml"};
    static const char *const says[] = {"cannot write: Is a directory",
                                       "absent/x: cannot write: No such file or directory",
                                       "kept: cannot write: Permission denied"};
    for (size_t i = 0; i < 3; ++i) {
        static const char *const targets[] = {"", "absent/x", "kept"};
        for (size_t k = 0; k < 3; ++k) {
            struct result r = run_command("%s --json %s/%s", commands[i], run_folder, targets[k]);
            cr_expect(lines(r.text) == 1, "%s has run before it said:\n%s", commands[i], r.text);
            expect_result(r, 2, says[k]);
        }
    }
    expect_text("kept", "old");
    cr_expect(files_in_folder() == 1, "something was left behind");
    free(kept);
}

/* A launch file with `source:` and a command that lies elsewhere: where the PTX is to be found must be said. */
Test(command_files, a_source_without_the_project_names_the_variable) {
    char here[PATH_MAX];
    cr_assert(realpath(".", here) != NULL, "no current folder");
    char *text = must_format("unset WARPPROOF_ROOT; cp %s %s/copy && cd %s && ./copy run "
                             "%s/gpu/kernels/quantize_pad40.yaml --set nt=3 --set id=64; exit;",
                             command_binary(), run_folder, run_folder, here);
    run_before = text;
    struct result r = run_command("%s", "");
    cr_expect(strstr(r.text, "quantize_pad40.ptx: No such file") != NULL, "no file is named in:\n%s", r.text);
    expect_result(r, 2, "set WARPPROOF_ROOT");
    free(text);
}

#ifndef __SANITIZE_ADDRESS__ /* its shadow memory is larger than any limit */
Test(command, threads_that_cannot_be_had) {
    run_before = "ulimit -s 8192; ulimit -v 50000;";
    struct result r = run_command("gate '*/mmq_wide_ldb_kd*/nt1.od1.id256/*' -j 7");
    cr_expect(strstr(r.text, " of 7 threads can be made here; going on with ") != NULL, "not said in:\n%s", r.text);
    expect_result(r, 0, " passed, 0 failed, 0 skipped\n");
    expect_result(run_command("run tests/foreign/iota.yaml -j 7"), 0, " of 7 threads can be made here; going on with ");
    run_before = "";
    r = run_command("run tests/foreign/iota.yaml -j 7");
    cr_expect(strstr(r.text, "threads") == NULL, "said without need in:\n%s", r.text);
    expect_result(r, 0, "1 passed");
    run_before = "OMP_STACKSIZE=200000G"; /* libgomp alone takes it, and more than the address space has */
    expect_result(run_command("gate '*/nt1.od1.id256/*' -j 7"), 2, "Thread creation failed");
}
#endif

/* A link of the folder's own to /proc/self/fd/1: what /dev/stdout is. */
Test(command_files, json_to_where_stdout_goes_already) {
    char *link = must_format("%s/out", run_folder);
    cr_assert(symlink("/proc/self/fd/1", link) == 0, "no link");
    struct result r = run_command(ONE_CASE " --json %s", link);
    cr_expect(strstr(r.text, "{\"summary\"") != NULL, "no JSON in:\n%s", r.text);
    expect_result(r, 0, "1 passed, 0 failed, 0 skipped\n");
    static const char *const targets[] = {"out", "file"};
    for (size_t i = 0; i < 2; ++i) {
        r = run_command(ONE_CASE " --json %s/%s >%s/file; code=$?; cat %s/file; exit $code", run_folder, targets[i],
                        run_folder, run_folder);
        cr_expect(strncmp(r.text, "kernel ", 7) == 0 && strstr(r.text, "{\"summary\"") != NULL,
                  "not both the table and JSON in:\n%s", r.text);
        expect_result(r, 0, "1 passed, 0 failed, 0 skipped\n");
    }
    struct stat s;
    cr_expect(lstat(link, &s) == 0 && S_ISLNK(s.st_mode), "the link was replaced");
    cr_expect(files_in_folder() == 2, "a temporary was left behind");
    free(link);
}

Test(command_files, a_signal_leaves_no_json) {
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP};
    char *path = must_format("%s/x", run_folder);
    for (size_t i = 0; i < 3; ++i) {
        put("x", "old");
        const pid_t pid = fork();
        cr_assert(pid >= 0, "no process");
        if (pid == 0) {
            const int null = open("/dev/null", O_RDWR);
            dup2(null, STDIN_FILENO);
            dup2(null, STDOUT_FILENO);
            dup2(null, STDERR_FILENO);
            signal(signals[i], SIG_DFL); /* a script's background job ignores SIGINT, one of nohup SIGHUP */
            execl(command_binary(), command_binary(), "gate", "--json", path, "-j", "1", (char *)NULL);
            _exit(99);
        }
        usleep(300000); /* the run takes many seconds */
        int status;
        cr_assert(kill(pid, signals[i]) == 0 && waitpid(pid, &status, 0) == pid, "the gate is lost");
        cr_expect(WIFSIGNALED(status) && WTERMSIG(status) == signals[i], "signal %d: status %d", signals[i], status);
        expect_text("x", "old");
        cr_expect(files_in_folder() == 1, "signal %d left a temporary behind", signals[i]);
    }
    free(path);
}

Test(command_files, output_that_is_lost_is_exit_2) {
    static const char *const commands[] = {"--help",      "gate --help",  "gate mmq_wide_ldb_kd4/nt1.od1.id256/adv/s1",
                                           "list cases",  "list formats", "run tests/foreign/iota.yaml",
                                           "run --help",  "list --help",  "inspect --help",
                                           "list plants", "list oracles", "inspect %s/model.gguf"};
    static const char empty_model[] = "GGUF\3\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
    char *path = must_format("%s/model.gguf", run_folder);
    FILE *f = fopen(path, "w");
    cr_assert(f != NULL && fwrite(empty_model, 1, 24, f) == 24 && fclose(f) == 0, "no model");
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; ++i) {
        const bool inspects = strchr(commands[i], '%') != NULL;
        char *command = inspects ? must_format("inspect %s", path) : must_strdup(commands[i]);
        expect_result(run_command("%s", command), 0, "");
        expect_result(run_command("%s >/dev/full", command), 2,
                      "warpproof: cannot write the output: No space left on device\n");
        expect_result(run_command("%s >&-", command), 2, "warpproof: cannot write the output: Bad file descriptor\n");
        struct result r = run_command("%s >/dev/full", command);
        cr_expect(lines(r.text) <= 2, "%s says more than it must:\n%s", command, r.text);
        free(r.text);
        free(command);
    }
    run_before = "ulimit -f 0;";
    expect_result(run_command("list formats >%s/out", run_folder), 2,
                  "warpproof: cannot write the output: File too large\n");
    free(path);
}

/* The JSON file gets the number of a stream that is closed; what is printed must not end up in there. */
Test(command_files, closed_streams_do_not_spoil_files) {
    expect_result(run_command(ONE_CASE " --stats --json %s/x >&- 2>&-", run_folder), 2, "");
    expect_result(run_command(ONE_CASE " --stats --json %s/y >&- 2>&- <&-", run_folder), 2, "");
    static const char *const names[] = {"x", "y"};
    for (size_t i = 0; i < 2; ++i) {
        char *path = must_format("%s/%s", run_folder, names[i]);
        FILE *f = fopen(path, "r");
        char line[64] = "";
        cr_expect(f != NULL && fgets(line, sizeof line, f) != NULL && strncmp(line, "{\"case\"", 7) == 0, "%s: %s",
                  path, line);
        if (f != NULL) {
            fclose(f);
        }
        free(path);
    }
}

/* Before anything runs: 2^31 - 1 blocks of nothing would take hours. */
Test(command_files, more_blocks_than_the_budget_has) {
    static const char yaml[] = "kernel: double_i32\nptx: double.ptx\nlaunch: {grid: [%s], block: [128]}\n"
                               "args:\n  - {in: x, type: i32, count: 8, fill: zero}\n"
                               "  - {out: y, type: i32, count: 8}\n  - {i32: n}\nshape: {n: 8}\n";
    static const char ptx[] = "tests/foreign/double.ptx";
    char *copy = must_format("cp %s %s/", ptx, run_folder);
    cr_assert(system(copy) == 0, "%s", copy);
    free(copy);
    char *text = must_format(yaml, "2147483647");
    put_file("k.yaml", text, strlen(text));
    free(text);
    expect_result(run_command("run %s/k.yaml", run_folder), 2,
                  "a grid of 2147483647 x 1 x 1 blocks is more than the machine runs (67108864); a larger one needs "
                  "`steps` in its launch file");
    text = must_format(yaml, "20000");
    put_file("k.yaml", text, strlen(text));
    free(text);
    expect_result(run_command("run %s/k.yaml", run_folder), 0, "1 passed");
}

/* ---- a project folder of its own: links to ours, but for plants and models ---- */

static void make_root(void) {
    make_folder();
    static const char *const own[] = {"fixtures", "fixtures/plants", "build", "build/models"}, *const linked[] = {
                                                                                                   "gpu",
                                                                                                   "fixtures/cases",
                                                                                                   "fixtures/ptx"};
    char here[PATH_MAX];
    cr_assert(realpath(".", here) != NULL, "no current folder");
    for (size_t i = 0; i < 4; ++i) {
        char *path = must_format("%s/%s", run_folder, own[i]);
        cr_assert(mkdir(path, 0700) == 0, "cannot make %s", path);
        free(path);
    }
    for (size_t i = 0; i < 3; ++i) {
        char *target = must_format("%s/%s", here, linked[i]), *path = must_format("%s/%s", run_folder, linked[i]);
        cr_assert(symlink(target, path) == 0, "cannot make %s", path);
        free(target);
        free(path);
    }
    run_before = must_format("WARPPROOF_ROOT=%s", run_folder);
}

static void remove_root(void) {
    free((char *)run_before);
    remove_folder();
}

TestSuite(command_root, .init = make_root, .fini = remove_root);

Test(command_root, a_plant_that_is_not_named_is_exit_2) {
    static const struct {
        const char *ptx, *oracle, *verdict;
        int code;
        const char *says;
    } plants[] = {
        {"plants/warp_offset_dropped.ptx", "parity", "DIFFERS", 1, "4 of 4 cases red; named by oracle parity"},
        {"plants/warp_offset_dropped.ptx", "guard", "GUARD", 2, "4 of 4 cases red; NOT NAMED by oracle guard"},
        {"plants/warp_offset_dropped.ptx", "parity", "GUARD", 2, "4 of 4 cases red; NOT NAMED by oracle parity"},
        {"mmq_wide_ldb.ptx", "parity", "DIFFERS", 2, "0 of 4 cases red; NOT NAMED by oracle parity"},
    };
    for (size_t i = 0; i < sizeof plants / sizeof plants[0]; ++i) {
        char *text = must_format("plant: p\nabout: a fault\nkernel: mmq_wide_ldb_kd8\nptx: ../ptx/%s\n"
                                 "expect: {oracle: %s, verdict: %s}\n",
                                 plants[i].ptx, plants[i].oracle, plants[i].verdict);
        put("fixtures/plants/p.yaml", text);
        struct result r = run_command("gate --plant p nt70.od70.id512");
        const bool complains = strstr(r.text, "warpproof gate: plant p: no case is red by oracle ") != NULL;
        cr_expect(complains == (plants[i].code == 2), "plant %zu:\n%s", i, r.text);
        expect_result(r, plants[i].code, plants[i].says);
        free(text);
    }
    expect_result(run_command("gate --help"), 0, "plant that was not named");
}

/* Outside the project's own folder `build/warpproof` is no command. */
Test(command_root, rerun_names_the_command_as_it_was_called) {
    char *want = must_format("\n  rerun   %s run tests/foreign/wrong.yaml\n", command_binary());
    expect_result(run_command("run tests/foreign/wrong.yaml"), 1, want);
    free(want);
    run_before = (free((char *)run_before), must_strdup(""));
    expect_result(run_command("run tests/foreign/wrong.yaml"), 1,
                  "\n  rerun   build/warpproof run tests/foreign/wrong.yaml\n");
}

/* What needs a model that cannot be read, and only that, fails. */
Test(command_root, an_unreadable_model_spares_other_cases) {
    static const char name[] = "gemma-3-270m-q4_k_m.gguf";
    char *path = must_format("build/models/%s", name), *broken = must_format("the cases of %s are not there: ", name);
    put(path, "GGUF");
    struct result r = run_command(ONE_CASE);
    cr_expect(strstr(r.text, name) == NULL, "the model is mentioned:\n%s", r.text);
    expect_result(r, 0, "1 passed, 0 failed, 0 skipped\n");
    static const char *const asking[] = {"gate", "gate gemma", "gate nosuchcase mmq_wide_ldb_kd4/nt1.od1.id256/adv/s1",
                                         "gate '*/real/*'", "list cases gemma"};
    for (size_t i = 0; i < sizeof asking / sizeof asking[0]; ++i) {
        r = run_command("%s", asking[i]);
        cr_expect(strstr(r.text, "passed") == NULL && strstr(r.text, path) != NULL, "%s:\n%s", asking[i], r.text);
        expect_result(r, 2, broken);
    }
    r = run_command("list cases");
    cr_expect(strstr(r.text, "\nf32/pad40/quantize_pad40/") != NULL && strstr(r.text, "/real/") == NULL,
              "other cases than those there are:\n%s", r.text);
    expect_result(r, 0, broken);
    r = run_command("list cases quantize_pad40");
    cr_expect(strstr(r.text, name) == NULL, "the model is mentioned:\n%s", r.text);
    expect_result(r, 0, "f32/pad40/quantize_pad40/");
    char *full = must_format("%s/%s", run_folder, path);
    cr_assert(unlink(full) == 0, "no model to remove");
    expect_result(run_command("gate gemma"), 3, "`make models` brings it"); /* an absent one is no error */
    free(full);
    free(path);
    free(broken);
}

Test(command, each_plant_is_red_and_named) {
    struct result list = run_command("list plants");
    cr_assert(list.code == 0 && lines(list.text) >= 3, "plants: %s", list.text);
    const size_t step = command_stride() > 1 ? 12 : 1; /* four data classes each */
    size_t tried = 0, seen = 0;
    char *rest = list.text;
    for (char *line; (line = strsep(&rest, "\n")) != NULL && *line != 0;) {
        if (strncmp(line, "kernel ", 7) != 0) {
            continue; /* tests/command_plants.c has the small ones */
        }
        line += 7 + strspn(line + 7, " ");
        line[strcspn(line, " ")] = 0;
        struct plant plant;
        struct error e;
        cr_assert(plant_load(".", line, &plant, &e), "%s", e.text);
        const bool elsewhere = plant.cases != NULL; /* shows in other cases: likewise */
        plant_free(&plant);
        if (elsewhere || seen++ % step != 0) {
            continue;
        }
        struct result r = run_command("gate --plant %s nt129.od70.id512", line);
        if (r.code == 3) { /* a quantiser has no rows */
            free(r.text);
            r = run_command("gate --plant %s nt129.id512", line);
        }
        if (r.code == 3) { /* a kernel of other shapes: `plants` runs it */
            free(r.text);
            continue;
        }
        ++tried;
        /* an unwritten cell has no line that stored it, and only a wrong one has two values */
        static const char *const parts[] = {"; named by oracle ", "gpu/kernels/", "want 0x", "got 0x", "token "};
        const size_t said = strstr(r.text, "\nDIFFERS ") != NULL ? 5 : strstr(r.text, "\nUNWRITTEN ") != NULL ? 1 : 2;
        for (size_t i = 0; i < said; ++i) {
            cr_expect(strstr(r.text, parts[i]) != NULL, "plant %s: no \"%s\" in:\n%s", line, parts[i], r.text);
        }
        expect_result(r, 1, " failed, 0 skipped"); /* of four classes; a rounding does not show in `exact` */
    }
    cr_expect(tried >= 50 / step, "%zu plants were tried", tried);
    free(list.text);
}

Test(command, run_judges_a_foreign_kernel) {
    expect_result(run_command("run tests/foreign/iota.yaml"), 0,
                  "PASS run/double_i32/s1\n1 passed, 0 failed, 0 skipped");
    expect_result(run_command("run tests/foreign/double.yaml"), 0, "parity not judged: no contract and no `expect`");
    expect_result(run_command("run tests/foreign/double.yaml --set n=1"), 0, "1 passed");
    expect_result(run_command("run tests/foreign/wrong.yaml"), 1,
                  "element 5 (y byte 20)   want 0x0000000b   got 0x0000000a");
    expect_result(run_command("run tests/foreign/no_tail.yaml --set n=1024"), 0, "1 passed");
    struct result r = run_command("run tests/foreign/no_tail.yaml --set n=1000");
    cr_expect(strstr(r.text, "4-byte load at byte 4000 of buffer x (4000 B): out of bounds") != NULL,
              "the load is not named:\n%s", r.text);
    expect_result(r, 1, "4-byte store at byte 4000 of buffer y (4000 B): out of bounds");
}

/* A path that a shell would take apart is quoted in the command that runs it again. */
Test(command, what_runs_it_again_is_quoted, .init = make_folder, .fini = remove_folder) {
    static const struct {
        const char *name, *says;
    } rows[] = {
        {"a b.yaml", "/a b.yaml'\n"}, {"it's $1.yaml", "/it'\"'\"'s $1.yaml'\n"}, {"plain-1.yaml", "/plain-1.yaml\n"}};
    static const char *const commands[] = {"run", "explain", "probe"};
    char *copy = must_format("cp tests/foreign/double.ptx %s", run_folder);
    expect_result(run_shell(copy), 0, "");
    free(copy);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        char *text = must_format("kernel: double_i32\nabout: x\nptx: double.ptx\nshape: {n: 9}\n"
                                 "launch: {grid: [1], block: [4]}\nargs: [{in: x, type: i32, count: n, fill: iota},\n"
                                 "  {out: y, type: i32, count: n}, {i32: n}]\n");
        put_file(rows[i].name, text, strlen(text));
        for (size_t k = 0; k < 3; ++k) {
            char *word = shell_word(rows[i].name);
            struct result r = run_command("%s %s/%s 2>&1 | grep rerun", commands[k], run_folder, word);
            cr_expect(strstr(r.text, rows[i].says) != NULL, "%s:\n%s", rows[i].name, r.text);
            free(r.text);
            free(word);
        }
        free(text);
    }
}

Test(command, run_refuses_what_it_cannot_judge) {
    struct result r = run_command("run tests/foreign/unknown.yaml");
    cr_expect(strstr(r.text, "unknown.ptx:") != NULL, "no place in:\n%s", r.text);
    expect_result(r, 2, "tex.frobnicate.u32");
    expect_result(run_command("run tests/foreign/spin.yaml"), 2, "ran past its budget of 100000 warp instructions");
    expect_result(run_command("run nosuch.yaml"), 2, "nosuch.yaml");
    r = run_command("run tests/foreign/wrong.yaml");
    cr_expect(strncmp(r.text, "DIFFERS run/double_i32/s1\n", 26) == 0, "the first line is another:\n%s", r.text);
    free(r.text);
    expect_result(run_command("run tests/foreign/double.yaml --set m=3"), 2,
                  "no expression of the launch file uses that name");
    expect_result(run_command("run gpu/kernels/quantize_pad40.yaml --set nt=3 --set od=3 --set id=64"), 2,
                  "--set od: no expression of the launch file uses that name");
    expect_result(run_command("run tests/foreign/double.yaml --set n"), 2, "--set n");
    expect_result(run_command("run tests/foreign/double.yaml --set n=0x7fffffffffffffff"), 2, "n");
    expect_result(run_command("run gpu/kernels/mmq_wide_ldb_kd8.yaml --set nt=3 --set od=3"), 2, "--set id=N");
    expect_result(run_command("run gpu/kernels/mmq_wide_ldb_kd8.yaml --set nt=3 --set od=3 --set id=100"), 2, "id");
    expect_result(run_command("run gpu/kernels/mmq_wide_ldb_kd8.yaml --set nt=3 --set od=3 --set id=256 --data real"),
                  2, "--data real");
}

Test(command, run_judges_a_kernel_with_a_contract) {
    expect_result(run_command("run gpu/kernels/mmq_wide_ldb_kd8.yaml --set nt=3 --set od=5 --set id=256"), 0,
                  "4 passed, 0 failed, 0 skipped");
    expect_result(run_command("run gpu/kernels/quantize_pad40.yaml --set nt=3 --set id=64 --data adv --seed 9"), 0,
                  "PASS f32/pad40/quantize_pad40/nt3.id64/adv/s9");
}

Test(command, a_typo_in_a_launch_file_is_shown_with_a_caret) {
    char path[] = "/tmp/warpproof-typo-XXXXXX";
    const int fd = mkstemp(path);
    cr_assert(fd >= 0, "no temporary file");
    static const char text[] = "kernel: k\nptx: k.ptx\nlaunch: {grid: [1], blokc: [32]}\nargs: []\n";
    cr_assert(write(fd, text, sizeof text - 1) == (ssize_t)sizeof text - 1, "cannot write");
    close(fd);
    struct result r = run_command("run %s", path);
    char *place = must_format("%s:3:21: ", path);
    cr_expect(strstr(r.text, place) != NULL, "no \"%s\" in:\n%s", place, r.text);
    expect_result(r, 2, "\n  launch: {grid: [1], blokc: [32]}\n                      ^\n"); /* two spaces of indent */
    free(place);
    unlink(path);
}

Test(command, a_hostile_gguf_is_one_clear_line) {
    char path[] = "/tmp/warpproof-gguf-XXXXXX";
    const int fd = mkstemp(path);
    cr_assert(fd >= 0, "no temporary file");
    static const unsigned char text[] = {'G', 'G', 'U', 'F', 3, 0, 0, 0, 255, 255, 255, 255,
                                         255, 255, 255, 127, 1, 0, 0, 0, 0,   0,   0,   0};
    for (size_t cut = 0; cut <= sizeof text; ++cut) {
        cr_assert(ftruncate(fd, 0) == 0 && pwrite(fd, text, cut, 0) == (ssize_t)cut, "cannot write");
        struct result r = run_command("inspect %s", path);
        cr_expect(lines(r.text) == 1, "cut at %zu: %zu lines:\n%s", cut, lines(r.text), r.text);
        expect_result(r, 2, path);
    }
    close(fd);
    unlink(path);
}

/* The red runs of README.md are what the command prints today, line numbers and values included. */
Test(command, the_readme_shows_real_output) {
    FILE *f = fopen("README.md", "r");
    cr_assert(f != NULL, "README.md is not in the current folder");
    char *readme = must_calloc(1 << 20, 1);
    cr_assert(fread(readme, 1, (1 << 20) - 1, f) > 0, "README.md is empty");
    fclose(f);
    struct result r = run_command("gate --plant warp_offset_dropped nt70.od70.id512");
    cr_expect(strstr(readme, r.text) != NULL, "README.md does not hold this output:\n%s", r.text);
    free(r.text);
    r = run_command("gate --plant sda_q_tiled_by_16 nt70.od70.id512");
    const char *from = strstr(r.text, "GUARD "), *to = from != NULL ? strstr(from, "  suspect") : NULL;
    cr_assert(to != NULL, "no GUARD finding in:\n%s", r.text);
    char *part = must_format("```\n%.*s```", (int)(to - from), from);
    cr_expect(strstr(readme, part) != NULL, "README.md does not hold this output:\n%s", part);
    free(part);
    free(r.text);
    free(readme);
}
