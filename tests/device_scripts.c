/* What the scripts of ci/ for a machine with a GPU make of their arguments, with stand-ins for its tools: the folder
 * that they write to is the caller's, and is made last. */
#include "../ref/checked.h"
#include "command_run.h"
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

TestSuite(device_scripts, .init = make_folder, .fini = remove_folder, .timeout = 60);

/* Runs it from the temporary folder; `tools` is the folder of the stand-ins under tests, or "none". */
static struct result run_script(const char *tools, const char *script, const char *arguments) {
    const char *binary = command_binary(), *slash = strrchr(binary, '/');
    const int folder = slash ? (int)(slash - binary) : 1;
    char *line =
        must_format("d=$PWD; f=$(cd '%s' && pwd); b=$(cd '%.*s' && pwd); cd '%s' && PATH=\"$d/tests/%s/fake:$PATH\" "
                    "FAKE_SANITIZER=good LD_LIBRARY_PATH=$f WARPPROOF=$b/warpproof BANK_PATTERNS=$b/bank-patterns "
                    "\"$d\"/ci/%s %s 2>&1 </dev/null",
                    fake_cuda_folder(), folder, slash ? binary : ".", run_folder, tools, script, arguments);
    struct result r = run_shell(line);
    free(line);
    return r;
}

static size_t lines_of(const char *text) {
    size_t n = 0;
    for (; *text; ++text)
        n += *text == '\n';
    return n;
}

static const struct {
    const char *script, *tools, *needs;
} scripts[] = {{"counters-device", "counters", "ncu"},
               {"banks-device", "banks", "ncu"},
               {"sanitize-device", "sanitizer", "compute-sanitizer"}};
enum { SCRIPTS = sizeof scripts / sizeof *scripts };

Test(device_scripts, help) {
    static const char *const names[] = {"counters-device", "banks-device", "sanitize-device", "device"};
    for (size_t i = 0; i < 4; ++i) {
        char *usage = must_format("Usage: ci/%s ", names[i]);
        expect_result(run_script("none", names[i], "--help"), 0, usage);
        expect_result(run_script("none", names[i], "-h"), 0, usage);
        free(usage);
    }
    expect_result(run_script("none", "counters-device", "out --again --help"), 0, "Usage: ci/counters-device FOLDER");
    cr_expect_eq(files_in_folder(), 0, "something was written");
}

Test(device_scripts, a_folder_that_cannot_be) {
    static const struct {
        const char *folder, *says;
    } rows[] = {{"", "want a folder"},
                {"''", "want a folder for what it writes, not ''"},
                {"--tool", "want a folder for what it writes first, not --tool"},
                {"/proc/x", "/proc/x: no folder that can be made and written to"},
                {"/dev/null", "/dev/null: no folder that can be made and written to"}};
    for (size_t s = 0; s < SCRIPTS; ++s)
        for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
            struct result r = run_script(scripts[s].tools, scripts[s].script, rows[i].folder);
            char *start = must_format("ci/%s: %s", scripts[s].script, rows[i].says);
            cr_expect(r.code == 2 && strncmp(r.text, start, strlen(start)) == 0 && lines_of(r.text) == 1,
                      "ci/%s %s: exit %d:\n%s", scripts[s].script, rows[i].folder, r.code, r.text);
            free(start);
            free(r.text);
        }
}

/* Without the tool nothing is made; where a machine has it after all, there is nothing to see. */
Test(device_scripts, tools_are_looked_for_first) {
    for (size_t s = 0; s < SCRIPTS; ++s) {
        char *says = must_format("ci/%s: %s is not there", scripts[s].script, scripts[s].needs);
        struct result r = run_script("none", scripts[s].script, "\"$PWD\"/made/too/early");
        cr_expect_eq(r.code, 2, "exit %d: %s", r.code, r.text);
        cr_expect(!strstr(r.text, says) || files_in_folder() == 0, "a folder is made without %s", scripts[s].needs);
        free(r.text);
        free(says);
    }
}

Test(device_scripts, a_relative_folder_is_the_callers) {
    char *none = must_format(
             "ci/counters-device: --again: %s/of/mine has no candidates.launches: nothing was counted there\n",
             run_folder),
         *made = must_format("%s/mine", run_folder), *table = must_format("%s/a.tsv: no such table\n", run_folder);
    struct result r = run_script("none", "counters-device", "of/mine --again");
    cr_expect(r.code == 2 && strcmp(r.text, none) == 0, "exit %d: %s", r.code, r.text);
    free(r.text);
    expect_result(run_script("banks", "banks-device", "mine a.tsv"), 2, table);
    cr_expect_eq(files_in_folder(), 0, "something was written");
    expect_result(run_script("sanitizer", "sanitize-device", "mine --tool memcheck 'nosuch*'"), 0, "memcheck: ");
    cr_expect(access(made, F_OK) == 0, "no %s", made);
    free(none);
    free(made);
    free(table);
}
