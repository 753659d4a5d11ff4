/* What the command says: the place in the launch file, and words that say what is wrong. */
#include "../ref/checked.h"
#include "command_run.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(command_words, .init = make_folder, .fini = remove_folder);

#define ARGS "args:\n  - {in: x, type: i32, count: n, fill: zero}\n  - {out: y, type: i32, count: n}\n  - {i32: n}\n"

/* What the kernel does not take is an error of the launch file, at its line. */
Test(command_words, a_launch_that_does_not_fit_names_its_line) {
    static const struct {
        const char *entry, *launch, *args, *says;
    } rows[] = {
        {"double_i32", "{grid: [1], block: [1025]}", ARGS, "k.yaml:4:28: block.x is 1025, must be 1 .. 1024"},
        {"double_i32", "{grid: [1], block: [32, 64]}", ARGS, "k.yaml:4:28: a block of 32 x 64 x 1 is 2048 threads"},
        {"double_i32", "{grid: [1, 65536], block: [32]}", ARGS, "k.yaml:4:16: grid.y is 65536, must be 1 .. 65535"},
        {"double_i32", "{grid: [1], block: [32]}", ARGS "  - {i32: n}\n",
         "k.yaml:9:5: double_i32 has 3 parameters, the launch gives 4 arguments"},
        {"double_i32", "{grid: [1], block: [32]}", "args:\n  - {in: x, type: i32, count: n, fill: zero}\n",
         "k.yaml:6:3: double_i32 has 3 parameters, the launch gives 1 argument\n"},
        {"double_i32", "{grid: [1], block: [32]}",
         "args:\n  - {in: x, type: i32, count: n, fill: zero}\n  - {out: y, type: i32, count: n}\n  - {i64: n}\n",
         "k.yaml:8:5: argument 2 of double_i32 has 8 bytes, the parameter double_i32_param_2 has 4"},
        {"double", "{grid: [1], block: [32]}", ARGS, "k.yaml:3:8: "},
        {"double_i32", "{grid: [1], block: [32]}", ARGS, NULL},
    };
    char *copy = must_format("cp tests/foreign/double.ptx %s/", run_folder);
    cr_assert(system(copy) == 0, "%s", copy);
    free(copy);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        char *text = must_format("kernel: k\nptx: double.ptx\nentry: %s\nlaunch: %s\n%sshape: {n: 8}\n", rows[i].entry,
                                 rows[i].launch, rows[i].args);
        put_file("k.yaml", text, strlen(text));
        expect_result(run_command("run %s/k.yaml", run_folder), rows[i].says ? 2 : 0,
                      rows[i].says ? rows[i].says : "1 passed");
        free(text);
    }
}

Test(command_words, say_what_is_wanted) {
    expect_result(run_command("run tests/foreign/double.yaml --data rand"), 2,
                  "tests/foreign/double.yaml: --data: there is no contract");
    expect_result(run_command("run tests/foreign/double.yaml --seed 18446744073709551615"), 2,
                  "--seed 18446744073709551615: want an integer in 0 .. 9223372036854775807");
    expect_result(run_command("run tests/foreign/double.yaml --schedule random:18446744073709551615"), 2,
                  "SEED in 0 .. 9223372036854775807");
    static const char *const readers[] = {"run", "audit", "inspect"};
    for (size_t i = 0; i < sizeof readers / sizeof *readers; ++i)
        expect_result(run_command("%s ''", readers[i]), 2, ": the name of a file is empty\n");
    expect_result(run_command("plants ''"), 2, "warpproof plants: a NAME is empty");
    expect_result(run_command("plants uninit_shared ''"), 2, "warpproof plants: a NAME is empty");
}

/* The descriptions of all options of a command stand in one column. */
Test(command_words, usages_are_tables) {
    static const char *const commands[] = {"run", "gate", "census", "plants", "audit", "inspect", "reference"};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; ++i) {
        struct result r = run_command("%s --help", commands[i]);
        size_t column = 0, options = 0;
        for (const char *s = strstr(r.text, "\n  -"); s; s = strstr(s + 1, "\n  -")) {
            const char *line = s + 1, *gap = strstr(line + 2, "  ");
            const size_t end = strcspn(line, "\n");
            if (!gap || gap >= line + end) /* its description begins on the next line */
                continue;
            const size_t at = (size_t)(gap - line) + strspn(gap, " ");
            column = column ? column : at;
            cr_expect(at == column, "%s: column %zu, others %zu: %.*s", commands[i], at, column, (int)end, line);
            ++options;
        }
        cr_expect(options >= 3, "%s: %zu options", commands[i], options);
        free(r.text);
    }
}
