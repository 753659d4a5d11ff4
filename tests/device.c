/* The runner on a real GPU, as far as it can be tested without one: against a stand-in for the driver
 * (tests/fake_cuda), which does what FAKE_CUDA says. Only a real GPU shows what a kernel computes there. */
#include "../ref/checked.h"
#include "command_run.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

TestSuite(device, .init = make_folder, .fini = remove_folder);

static const char *more = ""; /* settings besides */

static struct result with_fault(const char *fault, const char *arguments) {
    static char before[8192];
    snprintf(before, sizeof before, "LD_LIBRARY_PATH='%s' FAKE_CUDA=%s FAKE_CUDA_LOG=1 WARPPROOF_DEVICE_SECONDS=1 %s",
             fake_cuda_folder(), fault, more);
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

/* What a GPU does not tell is not judged, and nothing is said of what was not counted. */
Test(device, what_a_gpu_does_not_tell) {
    EXPECT("wrong", 0, "PASS run/double_i32"); /* nobody knows the right bytes */
    struct result r = with_fault("", "run tests/foreign/double.yaml --runner device --stats --json /dev/stdout");
    static const char *const there[] = {
        "\"launch\": \"clean\"",           "\"guard\": \"clean\"",
        "\"sync\": \"not judged\"",        "\"uninit\": \"not judged\"",
        "\"hazard\": \"not judged\"",      "\"coverage\": \"clean\"",
        "\"approximate\": \"not judged\"", "\"schedule\": \"not judged\"",
        "\"parity\": \"not judged\"",      "\"runner\": \"device\", \"launches\": 1,",
        "device: 1 launch in 0.0",
    };
    static const char *const absent[] = {"machine:", "warp_instructions", "macs", "schedules", "in-order"};
    for (size_t i = 0; i < sizeof there / sizeof *there; ++i)
        cr_expect(strstr(r.text, there[i]), "'%s' is missing in\n%s", there[i], r.text);
    for (size_t i = 0; i < sizeof absent / sizeof *absent; ++i)
        cr_expect(!strstr(r.text, absent[i]), "'%s' is not known of a GPU:\n%s", absent[i], r.text);
    free(r.text);
    r = with_fault("unwritten", "run tests/foreign/double.yaml --runner device");
    cr_expect(strstr(r.text, "rerun") && !strstr(r.text, "--arch"), "the GPU's architecture is no option:\n%s", r.text);
    free(r.text);
}

/* Launches that follow each other: the second finds what the first left, and each is judged. */
Test(device, launches_that_follow) {
    char ptx[4096], arguments[8192];
    int32_t y[8];
    for (int i = 0; i < 8; ++i)
        y[i] = 4 * i;
    cr_assert(realpath("tests/foreign/double.ptx", ptx), "tests run in the project's folder");
    char *text =
        must_format("kernel: four\nptx: %s\nentry: double_i32\nlaunch: {grid: [1], block: [32]}\nargs:\n"
                    "  - {in: x, type: i32, count: 8, fill: iota}\n  - {scratch: s, type: i32, count: 8}\n"
                    "  - {i32: 8}\nbuffers:\n  - {out: y, type: i32, count: 8, expect: y.bin}\nthen:\n"
                    "  - {entry: double_i32, launch: {grid: [1], block: [32]}, args: [{buffer: s}, {buffer: y}, "
                    "{i32: 8}]}\n",
                    ptx);
    put_file("launch.yaml", text, strlen(text));
    free(text);
    put_file("y.bin", y, sizeof y);
    snprintf(arguments, sizeof arguments, "run %s/launch.yaml --runner device --stats", run_folder);
    expect_all(
        "", arguments, 0,
        (const char *const[]){"PASS run/four/s1", "device: 2 launches in ", "fake: 0 allocations left, 1 loads", NULL});
    expect_all("wrong", arguments, 1, (const char *const[]){"DIFFERS run/four/s1", "element 4", NULL});
    expect_all("input", arguments, 1,
               (const char *const[]){"byte 8 of buffer x (32 B): an input is written",
                                     "  launch  1 of 2: entry double_i32", NULL});
    expect_all("after", arguments, 1,
               (const char *const[]){"of buffer y (32 B): out of bounds", "  launch  2 of 2: entry double_i32", NULL});
    expect_all(
        "fault", arguments, 1,
        (const char *const[]){"LAUNCH", "the GPU stopped the kernel", "  launch  1 of 2: entry double_i32", NULL});
    snprintf(arguments, sizeof arguments, "run %s/launch.yaml", run_folder);
    expect_all("", arguments, 0, (const char *const[]){"PASS run/four/s1", NULL});
}

/* Options that decide how the machine runs a launch decide nothing on a GPU. */
Test(device, options_of_the_machine) {
    static const char *const options[] = {"--arch sm_90", "--watches all", "--schedule in-order", "--schedule all"};
    static const char *const commands[] = {"run tests/foreign/double.yaml", "gate mmq_wide_ldb_kd8"};
    for (size_t i = 0; i < 8; ++i) {
        char arguments[256], text[64];
        snprintf(arguments, sizeof arguments, "%s --runner device %s", commands[i / 4], options[i % 4]);
        snprintf(text, sizeof text, "%.*s: a GPU ", (int)strcspn(options[i % 4], " "), options[i % 4]);
        expect_all("", arguments, 2, (const char *const[]){text, "it goes with --runner machine\n", NULL});
    }
}

/* A struct by value is given as its bytes, with the padding of C: the same launch on the machine, and on the stand-in,
 * which reads them as a GPU's driver would. */
Test(device, struct_by_value) {
    static const char ptx[] =
        ".version 9.0\n.target sm_80\n.address_size 64\n.visible .entry line_i32(.param .u64 y, "
        ".param .align 4 .b8 s[12], .param .u32 n) {\n.reg .b32 %r<9>;\n.reg .b16 %h<2>;\n.reg .b64 %rd<4>;\n"
        ".reg .pred %p<2>;\nmov.u32 %r1, %tid.x;\nld.param.u32 %r2, [n];\nsetp.ge.u32 %p1, %r1, %r2;\n@%p1 ret;\n"
        "ld.param.s8 %r3, [s];\nld.param.u32 %r4, [s+4];\nld.param.s16 %r5, [s+8];\nmad.lo.s32 %r6, %r3, %r1, %r4;\n"
        "add.s32 %r6, %r6, %r5;\nld.param.u64 %rd1, [y];\nmul.wide.u32 %rd2, %r1, 4;\nadd.u64 %rd3, %rd1, %rd2;\n"
        "st.global.u32 [%rd3], %r6;\nret;\n}\n";
    static const char launch[] = "kernel: line_i32\nptx: line.ptx\nlaunch: {grid: [1], block: [32]}\nargs:\n"
                                 "  - {out: y, type: i32, count: 8, expect: y.bin}\n"
                                 "  - {struct: [{i8: -3}, {struct: [{i32: 1000}, {i16: -7}]}]}\n  - {i32: 8}\n";
    int32_t y[8];
    char arguments[8192];
    for (int i = 0; i < 8; ++i)
        y[i] = -3 * i + 993;
    put_file("line.ptx", ptx, sizeof ptx - 1);
    put_file("launch.yaml", launch, sizeof launch - 1);
    put_file("y.bin", y, sizeof y);
    snprintf(arguments, sizeof arguments, "run %s/launch.yaml", run_folder);
    expect_all("", arguments, 0, (const char *const[]){"PASS run/line_i32", NULL});
    snprintf(arguments, sizeof arguments, "run %s/launch.yaml --runner device", run_folder);
    expect_all("", arguments, 0, (const char *const[]){"PASS run/line_i32", NULL});
    y[5] ^= 1;
    put_file("y.bin", y, sizeof y);
    expect_all("", arguments, 1, (const char *const[]){"DIFFERS", "element 5", NULL});
}

/* Cases in parallel threads share the device, and the program is built once. */
Test(device, one_build_for_many_launches) {
    struct result r = with_fault("", "run tests/foreign/double.yaml --runner device -j 4 --set n=5");
    cr_expect(strstr(r.text, "1 loads"), "%s", r.text);
    free(r.text);
}

/* ---- several GPUs ---- */

/* A project of one kernel that the stand-in knows, with ten shapes of two classes, and one more in the whole lattice;
 * on a machine of two GPUs. */
static void enter_two_gpus(void) {
    enter_project("ln -s $d/gpu/kernels/dequantize_q8_0.yaml gpu/kernels/ && mkdir fixtures/cases/all && "
                  "c() { echo \"{kernels: [dequantize_q8_0], shapes: {nt: [$1], id: [32, 64]}, data: [exact, coded], "
                  "seeds: [1]}\"; } && c 1,2,3,4,5 > fixtures/cases/a.yaml && c 6 > fixtures/cases/all/b.yaml");
    more = must_format("%s FAKE_CUDA_GPUS=2", run_before);
    leave_project();
}

/* Without its last line, which tells of clock and machine. */
static char *json_of(const char *arguments, char **last) {
    char *all = must_format("gate --runner device --json /dev/stdout %s 2>/dev/null | grep '^{'", arguments);
    struct result r = with_fault("", all);
    char *end = strstr(r.text, "{\"summary\"");
    cr_assert(end, "no summary:\n%s", r.text);
    *last = must_strdup(end);
    *end = 0;
    free(all);
    return r.text;
}

Test(device, cases_take_turns_on_the_gpus) {
    enter_two_gpus();
    expect_all("", "gate --runner device --device all -j 1", 0,
               (const char *const[]){"on GPU 0 of 2, Fake GPU (sm_90), driver",
                                     "on GPU 1 of 2, Fake GPU (sm_90), driver", "20 passed, 0 failed",
                                     "fake: 0 allocations left, 2 loads",
                                     "GPU 0: 0 allocations left, 1 loads, 10 launches, 0 resets",
                                     "GPU 1: 0 allocations left, 1 loads, 10 launches, 0 resets", NULL});
    expect_all("", "gate --runner device --device 1 -j 2", 0,
               (const char *const[]){"on GPU 1 of 2", "20 passed, 0 failed", "GPU 0: 0 allocations left, 0 loads",
                                     "GPU 1: 0 allocations left, 1 loads, 20 launches, 0 resets", NULL});
    expect_all("", "gate --runner device -j 2", 0,
               (const char *const[]){"on GPU 0 of 2", "20 passed, 0 failed", "GPU 0: 0 allocations left, 1 loads, 20 ",
                                     "GPU 1: 0 allocations left, 0 loads", NULL});
    char *one_end, *two_end, *one = json_of("", &one_end), *two = json_of("--device all -j 4", &two_end);
    static const char second[] = "}, {\"device\": 1, \"name\": \"Fake GPU\", \"sm\": 90, \"driver\": \"";
    cr_expect_str_eq(one, two, "cases tell the same, whichever GPU they ran on");
    cr_expect(strstr(one, "dequantize_q8_0") &&
              strstr(one_end, "\"devices\": [{\"device\": 0, \"name\": \"Fake GPU\""));
    cr_expect(!strstr(one_end, second) && strstr(two_end, second), "%s%s", one_end, two_end);
    free(one);
    free(two);
    free(one_end);
    free(two_end);
    free((char *)more);
}

Test(device, a_fault_is_one_gpus) {
    enter_two_gpus();
    char *two = (char *)more;
    more = must_format("%s FAKE_CUDA_ON=1", two);
    expect_all("fault", "gate --runner device --device all -j 4", 1,
               (const char *const[]){"10 passed, 10 failed",
                                     "GPU 0: 0 allocations left, 1 loads, 10 launches, 0 resets",
                                     "GPU 1: 0 allocations left, 10 loads, 10 launches, 10 resets",
                                     "note    it ran on GPU 1; rerun takes GPU 0, with --device 1 that one",
                                     "gate --runner device q8_0/", NULL});
    expect_all("fault", "gate --runner device", 0, (const char *const[]){"20 passed, 0 failed", NULL});
    expect_all("wrong", "gate --runner device --device 1", 1,
               (const char *const[]){"0 passed, 20 failed", "gate --runner device --device 1 q8_0/", NULL});
    /* The first case there does not end; all others go to the other one. */
    expect_all("endless", "gate --runner device --device all -j 1", 2,
               (const char *const[]){"19 passed, 1 failed", "did not end within 1 second on the GPU",
                                     "GPU 0: 0 allocations left, 1 loads, 19 launches", "GPU 1: 2 allocations left",
                                     NULL});
    free((char *)more);
    free(two);
}

Test(device, which_gpus) {
    enter_two_gpus();
    expect_all(
        "", "list devices", 0,
        (const char *const[]){"0  Fake GPU (sm_90), driver ", "1  Fake GPU (sm_90), driver ", ", CUDA 13.0\n", NULL});
    expect_all("none", "list devices", 2, (const char *const[]){"warpproof list: no GPU here", NULL});
    expect_all("", "gate --runner device --device 2", 2,
               (const char *const[]){"--device 2: there are 2 here, counted from 0\n", NULL});
    expect_all("mixed", "gate --runner device --device all", 2,
               (const char *const[]){"--device all: Fake GPU is sm_90, Other GPU (GPU 1) sm_120, and a run judges by ",
                                     "want --device N\n", "GPU 0: 0 allocations left, 0 loads", NULL});
    expect_all("mixed", "gate --runner device --device 1", 0,
               (const char *const[]){"on GPU 1 of 2, Other GPU (sm_120)", "20 passed", NULL});
    free((char *)more);
    more = "";
    EXPECT("", 0, "PASS run/double_i32/s1");
    expect_all("", "run tests/foreign/double.yaml --runner device --device all", 0,
               (const char *const[]){"warpproof run: on Fake GPU (sm_90)", "PASS run/double_i32/s1", NULL});
    expect_all("", "run tests/foreign/double.yaml --runner device --device 1", 2,
               (const char *const[]){"--device 1: there is 1 here, counted from 0\n", NULL});
    more = "FAKE_CUDA_GPUS=2";
    expect_all("unwritten", "run tests/foreign/double.yaml --runner device --device 1", 1,
               (const char *const[]){"double.yaml --runner device --device 1\n", NULL});
    static const char *const wrong[] = {"''", "-1", "1x", "all,1", "99999", "' 1'"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
        char arguments[256];
        snprintf(arguments, sizeof arguments, "run tests/foreign/double.yaml --runner device --device %s", wrong[i]);
        expect_all("", arguments, 2,
                   (const char *const[]){": want the number of a GPU, counted from 0, or all\n", NULL});
    }
    expect_all("", "run tests/foreign/double.yaml --device 0", 2,
               (const char *const[]){"--device goes with --runner device\n", NULL});
    expect_all("", "gate --device all --runner machine", 2,
               (const char *const[]){"--device goes with --runner device\n", NULL});
    expect_all("", "greedy m.gguf --device 0", 2, (const char *const[]){"--device goes with --arm device\n", NULL});
    expect_all("", "greedy m.gguf --arm device --device 1", 2,
               (const char *const[]){"warpproof greedy: on GPU 1 of 2, Fake GPU", "m.gguf", NULL});
}

/* ---- ci/device ---- */

static void expect_script(const char *script, const char *fault, const char *arguments, int code, const char *text) {
    char *command = must_format("{ LD_LIBRARY_PATH='%s' FAKE_CUDA=%s WARPPROOF='%s' %s ci/%s %s; } 2>&1 </dev/null",
                                fake_cuda_folder(), fault, command_binary(), more, script, arguments);
    FILE *pipe = popen(command, "r");
    cr_assert(pipe, "%s", command);
    char *out = must_calloc(1 << 16, 1);
    out[fread(out, 1, (1 << 16) - 1, pipe)] = 0;
    const int status = pclose(pipe);
    cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == code && strstr(out, text),
              "ci/%s %s: want %d and \"%s\":\n%s", script, arguments, code, text, out);
    free(out);
    free(command);
}

static void expect_lane(const char *fault, const char *arguments, int code, const char *text) {
    expect_script("device", fault, arguments, code, text);
}

Test(device, probe_script) {
    expect_script("probe-device", "", "0", 2, "ci/probe-device: '0': usage: ci/probe-device [EVERY]");
    expect_script("probe-device", "", "1 2", 2, "ci/probe-device: '1 2': usage: ci/probe-device [EVERY]");
    expect_script("probe-device", "none", "", 2, "ci/probe-device: no GPU to compare with");
    expect_script("probe-device", "", "--help", 0, "EVERY-th plant that parity names");
}

Test(device, lane) {
    expect_lane("", "fast", 2, "ci/device: 'fast': usage: ci/device [quick|whole] [--device N|all]");
    expect_lane("", "--device", 2, "ci/device: --device: want the number of a GPU");
    expect_lane("", "--device two", 2, "ci/device: --device two: want the number of a GPU");
    expect_lane("none", "", 2, "ci/device: no GPU here: the driver counts none; the PTX machine needs none\n");
    enter_two_gpus();
    expect_lane("", "quick", 0, "\n20 passed, 0 failed, 0 skipped\nexit 0 after ");
    expect_lane("", "whole --device 1", 0, "\n24 passed, 0 failed, 0 skipped\nexit 0 after ");
    expect_lane("wrong", "quick --device all", 1, "\n0 passed, 20 failed, 0 skipped\n");
    expect_lane("", "quick --device 2", 2, "--device 2: there are 2 here");
    expect_lane("", "quick -- nonesuch", 3, "\n0 passed, 0 failed, 0 skipped\n");
    free((char *)more);
}
