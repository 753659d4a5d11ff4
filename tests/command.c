/* The command as a person meets it: exit codes, messages, files. Runs the binary that $WARPPROOF names. */
#include "../ref/checked.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct result {
    int code;   /* exit code, or 1000 + signal */
    char *text; /* stdout and stderr together */
};

static struct result run(const char *format, ...) __attribute__((format(printf, 1, 2)));
static struct result run(const char *format, ...) {
    va_list args;
    char *arguments;
    va_start(args, format);
    cr_assert(vasprintf(&arguments, format, args) >= 0, "no memory");
    va_end(args);
    const char *binary = getenv("WARPPROOF");
    char *command = must_format("%s %s 2>&1 </dev/null", binary != NULL ? binary : "build/warpproof", arguments);
    FILE *pipe = popen(command, "r");
    cr_assert(pipe != NULL, "cannot run %s", command);
    struct result r = {.text = must_calloc(1, 1)};
    char buffer[4096];
    size_t length = 0;
    for (size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0; length += n) {
        r.text = must_realloc(r.text, length + n + 1, 1);
        memcpy(r.text + length, buffer, n);
        r.text[length + n] = 0;
    }
    const int status = pclose(pipe);
    r.code = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
    free(command);
    free(arguments);
    return r;
}

/* Expects an exit code and a text somewhere in the output. */
static void expect(struct result r, int code, const char *text) {
    cr_expect(r.code == code && strstr(r.text, text) != NULL, "exit %d, want %d and \"%s\" in:\n%s", r.code, code, text,
              r.text);
    free(r.text);
}

static size_t lines(const char *s) {
    size_t n = 0;
    for (; *s != 0; ++s) {
        n += *s == '\n';
    }
    return n;
}

Test(command, usage) {
    expect(run("%s", ""), 2, "usage: warpproof COMMAND");
    expect(run("--help"), 0, "usage: warpproof COMMAND");
    expect(run("frobnicate"), 2, "unknown command 'frobnicate'");
    const char *const commands[] = {"gate", "run", "inspect", "list"};
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; ++i) {
        expect(run("%s --help", commands[i]), 0, "usage: warpproof");
        expect(run("%s --nosuch", commands[i]), 2, "--nosuch");
        expect(run("%s -Z", commands[i]), 2, "-Z");
    }
    expect(run("gate -j 0"), 2, "-j 0");
    expect(run("gate -j 2x"), 2, "-j 2x");
    expect(run("gate --json"), 2, "needs a value");
    expect(run("gate --runner quantum"), 2, "unknown runner 'quantum'");
    expect(run("gate --plant nosuch"), 2, "no plant named 'nosuch'");
    expect(run("gate --plant ../cases/x"), 2, "no plant named");
    expect(run("run"), 2, "want one launch file");
    expect(run("run a b"), 2, "want one launch file");
    expect(run("list nothing"), 2, "'nothing'");
    expect(run("list kernels x"), 2, "only `list cases`");
}

Test(command, list_shows_what_there_is) {
    expect(run("list kernels"), 0, "mmq_wide_ldb_kd8");
    expect(run("list formats"), 0, "q4_K");
    expect(run("list contracts"), 0, "q4_k_pad40_two_term");
    expect(run("list oracles"), 0, "coverage");
    expect(run("list plants"), 0, "warp_offset_dropped");
    expect(run("list cases 'q4_K/*/nt1.od1.id256/*'"), 0, "q4_K/pad40/mmq_wide_ldb_kd8/nt1.od1.id256/coded/s1\n");
    expect(run("list cases nosuchcase"), 3, "no case matches 'nosuchcase'");
}

Test(command, nothing_ran_is_exit_3) {
    expect(run("gate nosuchcase"), 3, "no case matches 'nosuchcase'");
    expect(run("gate kd8/nt1.od1.id256/coded/s1 nosuchcase"), 3, "no case matches 'nosuchcase'");
    expect(run("gate --plant warp_offset_dropped quantize_pad40"), 3, "no case of kernel 'mmq_wide_ldb_kd8'");
}

Test(command, gate_runs_one_case_by_its_id) {
    struct result r = run("gate --stats q4_K/pad40/mmq_wide_ldb_kd4/nt1.od1.id256/adv/s1");
    cr_expect(strstr(r.text, "M warp instructions/s") != NULL, "no rate in:\n%s", r.text);
    expect(r, 0, "1 passed, 0 failed, 0 skipped\n");
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
    for (size_t i = 0; i < sizeof selections / sizeof selections[0]; ++i) {
        char *first = NULL;
        static const int threads[] = {1, 2, 7};
        for (size_t k = 0; k < 3; ++k) {
            char path[] = "/tmp/warpproof-threads-XXXXXX";
            const int fd = mkstemp(path);
            cr_assert(fd >= 0, "no temporary file");
            close(fd);
            struct result r = run("gate %s -j %d --json %s", selections[i], threads[k], path);
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

Test(command, json_that_cannot_be_written_is_exit_2) {
    expect(run("gate kd4/nt1.od1.id256/adv/s1 --json /nonexistent-folder/x"), 2, "/nonexistent-folder/x: cannot write");
}

Test(command, each_plant_is_red_and_named) {
    struct result list = run("list plants");
    cr_assert(list.code == 0 && lines(list.text) >= 3, "plants: %s", list.text);
    char *rest = list.text;
    for (char *line; (line = strsep(&rest, "\n")) != NULL && *line != 0;) {
        line[strcspn(line, " ")] = 0;
        struct result r = run("gate --plant %s nt70.od70.id512", line);
        static const char *const parts[] = {
            "want 0x", "got 0x", "gpu/kernels/mmq_wide_ldb.cu:", "token ", "4900", "; named by oracle "};
        for (size_t i = 0; i < sizeof parts / sizeof parts[0]; ++i) {
            cr_expect(strstr(r.text, parts[i]) != NULL, "plant %s: no \"%s\" in:\n%s", line, parts[i], r.text);
        }
        expect(r, 1, "4 failed, 0 skipped");
    }
    free(list.text);
}

Test(command, run_judges_a_foreign_kernel) {
    expect(run("run tests/foreign/iota.yaml"), 0, "PASS run/double_i32/s1\n1 passed, 0 failed, 0 skipped");
    expect(run("run tests/foreign/double.yaml"), 0, "parity not judged: no contract and no `expect`");
    expect(run("run tests/foreign/double.yaml --set n=1"), 0, "1 passed");
    expect(run("run tests/foreign/wrong.yaml"), 1, "element 5 (y byte 20)   want 0x0000000b   got 0x0000000a");
    expect(run("run tests/foreign/no_tail.yaml --set n=1024"), 0, "1 passed");
    struct result r = run("run tests/foreign/no_tail.yaml --set n=1000");
    cr_expect(strstr(r.text, "4-byte load at byte 4000 of buffer x (4000 B): out of bounds") != NULL,
              "the load is not named:\n%s", r.text);
    expect(r, 1, "4-byte store at byte 4000 of buffer y (4000 B): out of bounds");
}

Test(command, run_refuses_what_it_cannot_judge) {
    struct result r = run("run tests/foreign/unknown.yaml");
    cr_expect(strstr(r.text, "double.ptx:") != NULL, "no place in:\n%s", r.text);
    expect(r, 2, "tex.frobnicate.u32");
    expect(run("run tests/foreign/spin.yaml"), 2, "ran past its budget of 100000 warp instructions");
    expect(run("run nosuch.yaml"), 2, "nosuch.yaml");
    expect(run("run tests/foreign/double.yaml --set m=3"), 2, "no expression of the launch file uses that name");
    expect(run("run tests/foreign/double.yaml --set n"), 2, "--set n");
    expect(run("run tests/foreign/double.yaml --set n=0x7fffffffffffffff"), 2, "n");
    expect(run("run gpu/kernels/mmq_wide_ldb_kd8.yaml --set nt=3 --set od=3"), 2, "--set id=N");
    expect(run("run gpu/kernels/mmq_wide_ldb_kd8.yaml --set nt=3 --set od=3 --set id=100"), 2, "id");
    expect(run("run gpu/kernels/mmq_wide_ldb_kd8.yaml --set nt=3 --set od=3 --set id=256 --data real"), 2,
           "--data real");
}

Test(command, run_judges_a_kernel_with_a_contract) {
    expect(run("run gpu/kernels/mmq_wide_ldb_kd8.yaml --set nt=3 --set od=5 --set id=256"), 0,
           "4 passed, 0 failed, 0 skipped");
    expect(run("run gpu/kernels/quantize_pad40.yaml --set nt=3 --set id=64 --data adv --seed 9"), 0,
           "PASS f32/pad40/quantize_pad40/nt3.id64/adv/s9");
}

Test(command, a_typo_in_a_launch_file_is_shown_with_a_caret) {
    char path[] = "/tmp/warpproof-typo-XXXXXX";
    const int fd = mkstemp(path);
    cr_assert(fd >= 0, "no temporary file");
    static const char text[] = "kernel: k\nptx: k.ptx\nlaunch: {grid: [1], blokc: [32]}\nargs: []\n";
    cr_assert(write(fd, text, sizeof text - 1) == (ssize_t)sizeof text - 1, "cannot write");
    close(fd);
    struct result r = run("run %s", path);
    char *place = must_format("%s:3:21: ", path);
    cr_expect(strstr(r.text, place) != NULL, "no \"%s\" in:\n%s", place, r.text);
    expect(r, 2, "\n  launch: {grid: [1], blokc: [32]}\n                      ^\n"); /* two spaces of indent */
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
        struct result r = run("inspect %s", path);
        cr_expect(lines(r.text) == 1, "cut at %zu: %zu lines:\n%s", cut, lines(r.text), r.text);
        expect(r, 2, path);
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
    struct result r = run("gate --plant warp_offset_dropped nt70.od70.id512");
    cr_expect(strstr(readme, r.text) != NULL, "README.md does not hold this output:\n%s", r.text);
    free(r.text);
    r = run("gate --plant sda_q_tiled_by_16 nt70.od70.id512");
    const char *from = strstr(r.text, "GUARD "), *to = from != NULL ? strstr(from, "  suspect") : NULL;
    cr_assert(to != NULL, "no GUARD finding in:\n%s", r.text);
    char *part = must_format("```\n%.*s```", (int)(to - from), from);
    cr_expect(strstr(readme, part) != NULL, "README.md does not hold this output:\n%s", part);
    free(part);
    free(r.text);
    free(readme);
}
