/* .global variables that a launch sets and asks for (struct launch_global): on the machine, and on a GPU as far as the
 * stand-in for its driver (tests/fake_cuda) can show it. */
#include "../gpu/launch.h"
#include "command_run.h"
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Each block adds 1 to the first word, and stores the second to y; `hidden` belongs to the entry alone. */
static const char program[] = ".version 7.0\n.target sm_80\n.address_size 64\n"
                              ".visible .global .align 4 .b8 told[16];\n.global .align 4 .u32 other = 9;\n"
                              ".const .align 4 .u32 fixed = 1;\n"
                              ".visible .entry double_i32(.param .u64 x, .param .u64 y, .param .u32 n)\n{\n"
                              ".reg .b32 %r<4>;\n.reg .b64 %rd<4>;\n.global .align 4 .b8 hidden[16];\n"
                              "ld.param.u64 %rd1, [y];\nld.global.u32 %r1, [told+4];\nld.global.u32 %r2, [other];\n"
                              "add.u32 %r1, %r1, %r2;\nst.global.u32 [%rd1], %r1;\nred.global.add.u32 [told], 1;\n"
                              "ret;\n}\n";

static struct ptx_module *module;

static void begin(void) {
    struct error e;
    module = ptx_parse("told.ptx", program, strlen(program), &e);
    cr_assert(module, "%s", e.text);
}

static void end(void) {
    ptx_free(module);
}

TestSuite(globals, .init = begin, .fini = end);

/* On a GPU where the stand-in is the driver: y = 2 x. */
static bool run(const struct runner *r, const char *name, size_t bytes, uint32_t *words, int32_t *y, struct error *e) {
    static int32_t x[1];
    struct launch_buffer buffers[] = {
        {.name = "x", .role = BUFFER_IN, .bytes = 4, .data = (uint8_t *)x},
        {.name = "y", .role = BUFFER_OUT, .bytes = 4, .cell_bytes = 4, .data = (uint8_t *)y}};
    struct launch_arg args[] = {
        {.buffer = 0, .bytes = 8}, {.buffer = 1, .bytes = 8}, {.buffer = -1, .value = 1, .bytes = 4}};
    struct launch_global global = {name, bytes, (uint8_t *)words};
    const struct launch l = {.module = module,
                             .entry = "double_i32",
                             .grid = {3, 1, 1},
                             .block = {1, 1, 1},
                             .buffers = buffers,
                             .buffer_count = 2,
                             .args = args,
                             .arg_count = 3,
                             .globals = &global,
                             .global_count = 1};
    struct trace t;
    if (!r->run(&l, &t, e))
        return false;
    cr_expect(trace_complete(&t), "the launch did not end: %s", t.device_fault ? t.device_fault : "an event");
    trace_free(&t);
    return true;
}

Test(globals, the_machine_sets_and_returns_them) {
    for (int again = 0; again < 2; ++again) { /* nothing stays from one launch to the next */
        uint32_t words[4] = {5, 7, 0, 11};
        int32_t y = 0;
        struct error e;
        cr_assert(run(&runner_machine, "told", sizeof words, words, &y, &e), "%s", e.text);
        cr_expect_eq(y, 16, "the kernel read %d, not what the launch set and the module says: 7 + 9", y);
        cr_expect(words[0] == 8 && words[1] == 7 && words[2] == 0 && words[3] == 11, "left: %u %u %u %u", words[0],
                  words[1], words[2], words[3]);
    }
}

Test(globals, what_is_not_there_is_refused) {
    static const struct {
        const char *name;
        size_t bytes;
        const char *says;
    } rows[] = {
        {"nosuch", 16, "told.ptx has no .global variable nosuch"},
        {"told", 12, "variable told has 16 bytes, not 12"},
        {"hidden", 16, "has no .global variable hidden"},
        {"fixed", 4, "has no .global variable fixed"},
        {"x", 8, "has no .global variable x"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        uint32_t words[4] = {0};
        int32_t y = 0;
        struct error e = {{0}};
        cr_expect(!run(&runner_machine, rows[i].name, rows[i].bytes, words, &y, &e) && strstr(e.text, rows[i].says),
                  "%s, %zu bytes: %s", rows[i].name, rows[i].bytes, e.text);
    }
}

static void open_stand_in(void) {
    char path[4096];
    snprintf(path, sizeof path, "%s", command_binary());
    char *slash = strrchr(path, '/');
    snprintf(slash ? slash : path, 64, "%sfake_cuda/libcuda.so.1", slash ? "/" : "");
    cr_assert(dlopen(path, RTLD_NOW), "%s", dlerror()); /* by its name it is found from now on */
}

Test(globals, a_gpu_sets_and_returns_them) {
    open_stand_in();
    for (int again = 0; again < 2; ++again) {
        uint32_t words[4] = {5, 7, 0, 11};
        int32_t y = 1;
        struct error e;
        cr_assert(run(&runner_device, "told", sizeof words, words, &y, &e), "%s", e.text);
        cr_expect(words[0] == 8 && words[1] == 7 && words[2] == 0 && words[3] == 11, "left: %u %u %u %u", words[0],
                  words[1], words[2], words[3]);
    }
}

Test(globals, a_gpu_without_the_variable) {
    uint32_t words[4] = {0};
    int32_t y = 0;
    struct error e;
    setenv("FAKE_CUDA", "variable", 1);
    open_stand_in();
    cr_expect(!run(&runner_device, "told", sizeof words, words, &y, &e) && strstr(e.text, "told: CUDA_ERROR_NOT_FOUND"),
              "%s", e.text);
}
