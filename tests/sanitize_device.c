/* ci/sanitize-device, with stand-ins for compute-sanitizer and the driver: a tool that names nothing proves nothing. */
#include "../ref/checked.h"
#include "command_run.h"
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

TestSuite(sanitize_device, .init = make_folder, .fini = remove_folder, .timeout = 60);

static struct result sanitize(const char *what, const char *arguments) {
    char *line =
        must_format("PATH=\"$PWD/tests/sanitizer/fake:$PATH\" FAKE_SANITIZER=%s LD_LIBRARY_PATH='%s' WARPPROOF='%s' "
                    "ci/sanitize-device %s 2>&1",
                    what, fake_cuda_folder(), command_binary(), arguments);
    struct result r = run_shell(line);
    free(line);
    return r;
}

static void expect(const char *what, int code, const char *text) {
    char *arguments = must_format("'%s/a folder'", run_folder);
    expect_result(sanitize(what, arguments), code, text);
    free(arguments);
}

Test(sanitize_device, tools_must_name_their_plant) {
    expect("good", 0, "racecheck: missing_barrier named; 1 launches of the table, exit 0; gate */rand/*: 3 passed");
    expect("blind", 2, "memcheck: did not name the planted fault smem_past_arena");
    expect("red", 1, "synccheck: divergent_barrier named; 1 launches of the table, exit 9");
    expect("warns", 1, "initcheck: uninit_output named; 1 launches of the table, exit 0; gate */rand/*: 3 passed");
    expect("silent", 2,
           "initcheck: uninit_output named; 0 launches of the table, exit 0; gate */rand/*: nothing ran, exit 0");
    expect("broken", 2,
           "memcheck: smem_past_arena named; 0 launches of the table, exit 255; gate */rand/*: nothing ran");
}

Test(sanitize_device, initcheck_sees_unfilled_buffers) {
    char *arguments =
        must_format("'%s/logs' --tool initcheck '*/nt33*' && cat '%s/logs/initcheck.log'", run_folder, run_folder);
    expect_result(sanitize("good", arguments), 0,
                  "unfilled=1 --tool initcheck --error-exitcode 9 --check-api-memory-access no");
    free(arguments);
}

Test(sanitize_device, usage) {
    expect_result(sanitize("good", ""), 2, "want a folder");
    expect_result(sanitize("good", "x --tool nope"), 2, "--tool: want memcheck, racecheck, initcheck or synccheck");
    expect_result(sanitize("good", "x --nope"), 2, "--nope: unknown option");
    char *arguments = must_format("'%s/logs'", run_folder);
    struct result r = sanitize("good FAKE_CUDA=none", arguments);
    cr_expect(r.code == 2 && strstr(r.text, "no GPU"), "exit %d: %s", r.code, r.text);
    free(r.text);
    free(arguments);
}
