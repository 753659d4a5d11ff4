/* The runner on a real GPU, as far as it can be tested without one: against a stand-in for the driver
 * (tests/fake_cuda), which does what FAKE_CUDA says. Only a real GPU shows what a kernel computes there. */
#include "command_run.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(device, .init = make_folder, .fini = remove_folder);

static const char *folder(void) { /* of the stand-in: beside the command */
    static char path[4096];
    snprintf(path, sizeof path, "%s", command_binary());
    char *slash = strrchr(path, '/');
    snprintf(slash ? slash : path, 16, "%sfake_cuda", slash ? "/" : "");
    return path;
}

static struct result with_fault(const char *fault, const char *arguments) {
    static char before[8192];
    snprintf(before, sizeof before, "LD_LIBRARY_PATH='%s' FAKE_CUDA=%s FAKE_CUDA_LOG=1 WARPPROOF_DEVICE_SECONDS=1",
             folder(), fault);
    run_before = before;
    struct result r = run_command("%s", arguments);
    run_before = "";
    return r;
}

static void expect_all(const char *fault, const char *arguments, int code, const char *const *texts) {
    struct result r = with_fault(fault, arguments);
    cr_expect_eq(r.code, code, "FAKE_CUDA=%s %s: exit %d, expected %d:\n%s", fault, arguments, r.code, code, r.text);
    for (size_t i = 0; texts[i]; ++i)
        cr_expect(strstr(r.text, texts[i]), "FAKE_CUDA=%s: '%s' is missing in\n%s", fault, texts[i], r.text);
    free(r.text);
}

#define EXPECT(fault, code, ...)                                                                                       \
    expect_all(fault, "run tests/foreign/double.yaml --runner device", code, (const char *const[]){__VA_ARGS__, NULL})

Test(device, right_and_wrong_launches) {
    EXPECT("", 0, "on Fake GPU (sm_90), driver", "PASS run/double_i32/s1", "fake: 0 allocations left, 1 loads");
    EXPECT("after", 1, "GUARD", "byte 4000 of buffer y (4000 B): out of bounds",
           "a real GPU does not say which thread");
    EXPECT("before", 1, "GUARD", "byte -3 of buffer y (4000 B): out of bounds");
    EXPECT("input", 1, "GUARD", "byte 8 of buffer x (4000 B): an input is written");
    EXPECT("unwritten", 1, "UNWRITTEN", "cell 999", "double.yaml --runner device\n");
    EXPECT("fault", 1, "LAUNCH",
           "the GPU stopped the kernel: CUDA_ERROR_ILLEGAL_ADDRESS (700): an illegal memory access",
           "--runner machine says which thread");
    EXPECT("resources", 1, "LAUNCH", "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES (701)", "fake: 0 allocations left");
    EXPECT("static", 1, "LAUNCH", "232449 of static shared memory, a block of Fake GPU has at most 232448");
}

Test(device, what_cannot_be_run_is_exit_2) {
    EXPECT("init", 2, "no GPU can be used: cuInit: CUDA_ERROR_NO_DEVICE (100)");
    EXPECT("none", 2, "no GPU here: the driver counts none");
    EXPECT("image", 2, "double.ptx: the driver cannot load it for Fake GPU (sm_90): CUDA_ERROR_NO_BINARY_FOR_GPU (209)",
           "ptxas error: line 7 is not for this GPU");
    EXPECT("function", 2, "double_i32: CUDA_ERROR_NOT_FOUND (500)");
    EXPECT("memory", 2, "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY (2)", "fake: 0 allocations left");
    EXPECT("endless", 2, "double_i32 did not end within 1 second");
}

Test(device, without_a_driver) {
    run_before = "LD_LIBRARY_PATH=/nonexistent";
    struct result r = run_command("run tests/foreign/double.yaml --runner device");
    run_before = "";
    if (!strstr(r.text, "on ")) { /* this machine has none */
        cr_expect_eq(r.code, 2, "exit %d\n%s", r.code, r.text);
        cr_expect(strstr(r.text, "no NVIDIA driver here: libcuda.so.1 cannot be opened"), "%s", r.text);
        cr_expect_eq(strchr(r.text, '\n') + 1 - r.text, (long)strlen(r.text), "one line, not\n%s", r.text);
    }
    free(r.text);
}

/* With the right bytes known, a wrong bit on the GPU is DIFFERS as on the machine. */
Test(device, parity_is_judged) {
    static const char rest[] = "\nshape: {n: 8}\nlaunch: {grid: [1], block: [32]}\nargs:\n"
                               "  - {in: x, type: i32, count: n, fill: iota}\n"
                               "  - {out: y, type: i32, count: n, expect: y.bin}\n  - {i32: n}\n";
    char text[8192], arguments[8192], ptx[4096];
    int32_t y[8];
    for (int i = 0; i < 8; ++i)
        y[i] = 2 * i;
    cr_assert(realpath("tests/foreign/double.ptx", ptx), "tests run in the project's folder");
    snprintf(text, sizeof text, "kernel: double_i32\nptx: %s%s", ptx, rest);
    put_file("launch.yaml", text, strlen(text));
    put_file("y.bin", y, sizeof y);
    snprintf(arguments, sizeof arguments, "run %s/launch.yaml --runner device", run_folder);
    expect_all("", arguments, 0, (const char *const[]){"PASS run/double_i32", NULL});
    expect_all("wrong", arguments, 1, (const char *const[]){"DIFFERS", "element 4", NULL});

    snprintf(text, sizeof text, "kernel: double_i32\nptx: %s\ncubin: k.cubin%s", ptx, rest);
    put_file("launch.yaml", text, strlen(text));
    expect_all("", arguments, 2, (const char *const[]){"k.cubin: No such file", NULL});
    put_file("k.cubin", "no ELF file", 11);
    expect_all("", arguments, 2, (const char *const[]){"k.cubin: not a cubin (want an ELF file)", NULL});
    put_file("k.cubin", "\177ELF and more", 13);
    expect_all("", arguments, 0, (const char *const[]){"fake: load 1, cubin", "PASS", NULL});
}

/* Cases in parallel threads share the device, and the program is built once. */
Test(device, one_build_for_many_launches) {
    struct result r = with_fault("", "run tests/foreign/double.yaml --runner device -j 4 --set n=5");
    cr_expect(strstr(r.text, "1 loads"), "%s", r.text);
    free(r.text);
}
