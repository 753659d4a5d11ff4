/* `warpproof bench` against stand-ins for the driver and cuBLAS (tests/fake_cuda), whose clock is made up: a launch
 * takes 10 us a block, a product 2 ms. What a GPU takes, only a GPU shows. */
#include "../ref/checked.h"
#include "command_run.h"
#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char ptx[4096];

/* y = 2 x on so many blocks, more than it needs: that is the time it takes. `uses` is the expression of its length. */
static void put_using(const char *name, int blocks, const char *shape, const char *uses, const char *x, const char *y) {
    char *text = must_format("kernel: %.*s\nptx: %s\nentry: double_i32\nshape: %s\nlaunch: {grid: [%d], block: [32]}\n"
                             "args:\n  - {%s, type: i32, count: 64, fill: iota}\n  - {%s, type: i32, count: 64}\n"
                             "  - {i32: \"%s\"}\n",
                             (int)strcspn(name, "."), name, ptx, shape, blocks, x, y, uses);
    put_file(name, text, strlen(text));
    free(text);
}

static void put_launch(const char *name, int blocks, const char *shape, const char *x, const char *y) {
    put_using(name, blocks, shape, "64 + 0 * nt * od * id", x, y);
}

static void make_launches(void) {
    static const char shape[] = "{nt: 10, od: 8, id: 16}";
    int32_t y[64];
    make_folder();
    cr_assert(realpath("tests/foreign/double.ptx", ptx), "tests run in the project's folder");
    for (int i = 0; i < 64; ++i)
        y[i] = 2 * i;
    put_file("y.bin", y, sizeof y);
    y[63] = 0;
    put_file("z.bin", y, sizeof y);
    put_launch("a.yaml", 100, shape, "in: x", "out: y, expect: y.bin");
    put_launch("b.yaml", 125, shape, "in: x", "out: y, expect: y.bin");
    put_launch("wrong.yaml", 80, shape, "in: x", "out: y, expect: z.bin");
    put_launch("other_work.yaml", 100, "{nt: 10, od: 8, id: 32}", "in: x", "out: y, expect: y.bin");
    put_using("deeper.yaml", 125, "{id: 16, tile: 4, od: 8, nt: 10}", "64 + 0 * nt * od * id * tile", "in: x",
              "out: y, expect: y.bin");
    put_using("tiled.yaml", 100, "{nt: 10, tile: 5}", "64 + 0 * nt * tile", "in: x", "out: y, expect: y.bin");
    put_using("named.yaml", 100, "{nt: 10, od: 8, id: 16}", "64 + 0 * nt * od", "in: x", "out: y, expect: y.bin");
    put_using("other_tile.yaml", 100, "{tile: 6}", "64 + 0 * tile", "in: x", "out: y, expect: y.bin");
    put_launch("unjudged.yaml", 100, shape, "in: x", "out: y");
    put_launch("inout.yaml", 100, shape, "inout: x, expect: y.bin", "out: y, expect: y.bin");
    char *text = must_format("kernel: four\nptx: %s\nentry: double_i32\nlaunch: {grid: [100], block: [32]}\nargs:\n"
                             "  - {in: x, type: i32, count: 8, fill: iota}\n  - {scratch: s, type: i32, count: 8}\n"
                             "  - {i32: 8}\nbuffers:\n  - {out: y, type: i32, count: 8, expect: w.bin}\nthen:\n"
                             "  - {entry: double_i32, launch: {grid: [50], block: [32]}, args: [{buffer: s}, "
                             "{buffer: y}, {i32: 8}]}\n",
                             ptx);
    put_file("then.yaml", text, strlen(text));
    free(text);
    for (int i = 0; i < 8; ++i)
        y[i] = 4 * i;
    put_file("w.bin", y, 32);
}

TestSuite(bench, .init = make_launches, .fini = remove_folder);

/* In the folder of the launch files. */
static struct result bench(const char *variables, const char *arguments) {
    char here[4096];
    cr_assert(realpath(".", here), "there is a current folder");
    const char *fake = fake_cuda_folder();
    char *before =
        must_format("cd %s; export WARPPROOF_ROOT='%s' LD_LIBRARY_PATH='%s/%s' FAKE_CUDA_LOG=1 "
                    "WARPPROOF_DEVICE_SECONDS=1 WARPPROOF_CUBLAS='%s/%s/libcublasLt.so' %s;",
                    run_folder, here, fake[0] == '/' ? "" : here, fake, fake[0] == '/' ? "" : here, fake, variables);
    const char *binary = command_binary();
    char *command = must_format("%s exec 2>&1 </dev/null; %s%s%s bench %s", before, binary[0] == '/' ? "" : here,
                                binary[0] == '/' ? "" : "/", binary, arguments);
    struct result r = run_shell(command);
    free(command);
    free(before);
    return r;
}

/* there, absent: ended by NULL. */
static void expect(const char *variables, const char *arguments, int code, const char *const *there,
                   const char *const *absent) {
    struct result r = bench(variables, arguments);
    cr_expect_eq(r.code, code, "%s bench %s: exit %d, expected %d:\n%s", variables, arguments, r.code, code, r.text);
    cr_expect(!strstr(r.text, "fake: a store outside"), "%s bench %s: there is no band:\n%s", variables, arguments,
              r.text);
    for (size_t i = 0; there && there[i]; ++i)
        cr_expect(strstr(r.text, there[i]), "%s bench %s: '%s' is missing in\n%s", variables, arguments, there[i],
                  r.text);
    for (size_t i = 0; absent && absent[i]; ++i)
        cr_expect(!strstr(r.text, absent[i]), "%s bench %s: '%s' has no place in\n%s", variables, arguments, absent[i],
                  r.text);
    free(r.text);
}

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

Test(bench, times_and_ratios) {
    expect("FAKE_CUDA_GPUS=1", "a.yaml b.yaml --no-ceilings --rounds 5", 0,
           LIST("nt = 10, od = 8, id = 16; 5 rounds of 3 launches each", "A  a                1000.00",
                "B  b                1250.00", "0.800 (0.800 .. 0.800)  separated", "   control          1000.00",
                "1.000 (1.000 .. 1.000)  overlap in 5 of 5", "0 allocations left"),
           LIST("cuBLAS", "wrong", "no figure"));
    /* the slow one in front: the same ratio upside down */
    expect("FAKE_CUDA_GPUS=1", "b.yaml a.yaml --no-ceilings --rounds 5", 0,
           LIST("1.250 (1.250 .. 1.250)  separated", "1.000 (1.000 .. 1.000)  overlap in 5 of 5"), NULL);
    /* apart in four rounds of four, which may be chance */
    expect("FAKE_CUDA_GPUS=1", "a.yaml b.yaml --no-ceilings --rounds 4 --json /dev/stdout", 0,
           LIST("0.800 (0.800 .. 0.800)  too few rounds", "\"most\": 0.8, \"separated\": null, \"overlap\": 0}"),
           LIST("separated  ", "overlap in"));
    /* several launches of one file are one */
    expect("FAKE_CUDA_GPUS=1", "then.yaml --no-ceilings --rounds 1", 0,
           LIST("A  four             1500.00         -", "its 2 launches together", "0 allocations left"), NULL);
    expect("FAKE_CUDA_GPUS=2", "a.yaml --no-ceilings --rounds 1 --device 1", 0,
           LIST("GPU 1 of 2", "GPU 0: 0 allocations left, 0 loads, 0 launches"), NULL);
}

/* Whose launch files use other names, each has its own shape; one that does other work is none to compare with. */
Test(bench, every_kernel_has_its_shape) {
    expect("FAKE_CUDA=", "a.yaml deeper.yaml --rounds 5 --json /dev/stdout", 0,
           LIST("\neach at a shape of its own; 5 rounds of",
                "193 x 0.000512 MB\n                 at nt = 10, od = 8, id = 16\nB",
                "                 at id = 16, tile = 4, od = 8, nt = 10\n   control",
                "{\"shape\": null, \"rounds\": 5, ",
                "\"shape\": {\"nt\": 10, \"od\": 8, \"id\": 16}, \"launches_of_the_file\": 1",
                "\"shape\": {\"id\": 16, \"tile\": 4, \"od\": 8, \"nt\": 10}, \"launches_of_the_file\": 1",
                "\"name\": \"cuBLAS f16\", \"role\": \"ceiling\", \"computes\": \"f16 x f16 -> f16, sums in f32\", "
                "\"shape\": {\"nt\": 10, \"od\": 8, \"id\": 16}"),
           LIST("no figure"));
    /* without a name in common nobody knows; then the shapes stand side by side */
    expect("FAKE_CUDA=", "then.yaml tiled.yaml --rounds 5", 0, LIST("at no values of a shape", "at nt = 10, tile = 5"),
           NULL);
    static const char *const rows[][2] = {
        {"a.yaml other_work.yaml", "a has id = 16 and other_work id = 32: they cannot be compared\n"},
        {"then.yaml tiled.yaml other_tile.yaml", "tiled has tile = 5 and other_tile tile = 6: they cannot"},
        {"a.yaml dequantize_q8_0",
         "a is a product, nt x od x id, and dequantize_q8_0 is none: they cannot be compared"},
        {"tiled.yaml a.yaml", "a is a product, nt x od x id, and tiled is none: they cannot be compared\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i)
        expect("FAKE_CUDA=", rows[i][0], 2, LIST(rows[i][1], "fake: 0 allocations left, 0 loads"), LIST("TMAC/s"));
}

/* A rate, and a ceiling, are of what is a product by contract or by the names that its launch file uses. */
Test(bench, no_rate_of_what_is_no_product) {
    static const char *const rows[] = {
        "named.yaml", /* its shape has an id, which nothing uses */
        "a.yaml --set nt=-1", "a.yaml --set nt=-1 --set od=-8",
        "a.yaml --set nt=0",  "a.yaml --set nt=4294967296 --set od=4294967296",
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        char *arguments = must_format("%s --rounds 1", rows[i]);
        expect("FAKE_CUDA=", arguments, 0, LIST("1000.00         -", "   control"),
               LIST("cuBLAS", "over f16", "wrong"));
        free(arguments);
    }
    expect("FAKE_CUDA=", "named.yaml --rounds 1", 0, LIST("\nnt = 10, od = 8; 1 round of "), LIST("id ="));
}

/* Noise larger than the difference: it must be said that they overlap. */
Test(bench, noise_is_no_difference) {
    expect("FAKE_CUDA_NOISE=40", "a.yaml b.yaml --no-ceilings --rounds 21", 0, LIST("overlap in"),
           LIST("separated", "0.800 (0.800 .. 0.800)"));
}

/* Who is wrong has no figure, whatever it is, and others have theirs. */
Test(bench, no_figure_of_what_is_wrong) {
    expect(
        "FAKE_CUDA=", "a.yaml wrong.yaml --no-ceilings --rounds 3", 1,
        LIST("A  a                1000.00",
             "B  wrong         wrong: no figure: byte 252 of buffer y: want 0x00000000, got 0x0000007e; 1 of 64 cells",
             "   control          1000.00"),
        LIST("800.00"));
    expect("FAKE_CUDA=", "wrong.yaml a.yaml --no-ceilings --rounds 3", 1,
           LIST("A  wrong         wrong: no figure: byte 252", "B  a                1000.00", "   control       wrong"),
           LIST("800.00", "1.000 ("));
    static const char *const faults[][2] = {
        {"wrong", "byte 128 of buffer y: want 0x00000040, got 0x00000041"},
        {"late", "byte 128 of buffer y: want 0x00000040, got 0x00000041"},
        {"unwritten", "byte 252 of buffer y: want 0x0000007e, got 0x7fa5dead"},
        {"input", "byte 8 of buffer x: want 0x00000002, got 0x00000006"},
        {"before", "a store outside buffer y, at byte -3 of its 256; copy "},
        {"after", "a store outside buffer y, at byte 256 of its 256; copy "},
        {"resources", "double_i32: CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES (701)"},
        {"static", "232449 of static shared memory, a block of Fake GPU has at most 232448"},
        {"fault", "the GPU stopped a launch: CUDA_ERROR_ILLEGAL_ADDRESS (700)"},
    };
    for (size_t i = 0; i < sizeof faults / sizeof *faults; ++i) {
        char variables[64];
        snprintf(variables, sizeof variables, "FAKE_CUDA=%s", faults[i][0]);
        expect(variables, "a.yaml --no-ceilings --rounds 3", 1,
               LIST("A  a             wrong: no figure: ", faults[i][1], "0 allocations left"), LIST("1000.00"));
    }
    expect("FAKE_CUDA=after", "then.yaml --rounds 1", 1,
           LIST("wrong: no figure: a store outside buffer s, at byte 32 of"),
           LIST("1500.00")); /* scratch has bands too */
    expect("FAKE_CUDA=fault", "a.yaml b.yaml --rounds 3", 1,
           LIST("B  b             not measured: no figure: the GPU was reset after a"), LIST("1250.00"));
    expect("FAKE_CUDA=clock", "a.yaml --no-ceilings --rounds 3", 3, LIST("says that no time has passed"), NULL);
}

/* A contract says what is right of operands that are made. */
Test(bench, a_contract_judges) {
    expect("FAKE_CUDA=", "dequantize_q8_0 --set nt=1 --set id=32 --rounds 1", 0,
           LIST("nt = 1, id = 32; 1 round of ", "A  dequantize_q8_0       10.00         -"),
           LIST("od =", "cuBLAS", "no figure"));
    expect("FAKE_CUDA=wrong", "dequantize_q8_0 --set nt=1 --set id=32 --rounds 1", 1,
           LIST("A  dequantize_q8_0  wrong: no figure: byte 32 of buffer result: want 0x"), LIST("10.00"));
    expect("FAKE_CUDA=", "mmq_wide_ldb_kd8 --set nt=1 --set od=1 --set id=100 --rounds 1", 3,
           LIST("A  mmq_wide_ldb_kd8  not measured: no figure: mmq_wide_ldb_kd8 needs id % 256 == 0, got id = 100"),
           LIST("cuBLAS", "over f16")); /* a ceiling over nothing */
}

Test(bench, ceilings) {
    expect("FAKE_CUDA=", "a.yaml b.yaml --rounds 5", 0,
           LIST("cuBLAS 130000", "A  a                1000.00", "2.000", "1.600", "   cuBLAS f16       2000.00",
                "0.500 (0.500 .. 0.500)  separated", "   cuBLAS int8      2000.00", "0 allocations left"),
           LIST("no figure"));
    expect("FAKE_CUBLAS=create", "a.yaml --rounds 1", 0,
           LIST("no ceilings: cublasLtCreate: cuBLAS status 1: the library was not initialized", "1000.00"),
           LIST("over f16", "cuBLAS f16"));
    expect("WARPPROOF_CUBLAS=/nonexistent", "a.yaml --rounds 1", 0, LIST("no ceilings: WARPPROOF_CUBLAS: /nonexistent"),
           LIST("over f16"));
    expect("FAKE_CUBLAS=heuristic", "a.yaml --rounds 1", 0,
           LIST("cuBLAS f16    not measured: no figure: cuBLAS offers no algorithm for this shape", "1000.00"),
           LIST("over f16"));
    static const char *const late[] = {"wrong", "late"};
    for (size_t i = 0; i < 2; ++i) {
        char variables[64];
        snprintf(variables, sizeof variables, "FAKE_CUBLAS=%s", late[i]);
        expect(variables, "a.yaml --rounds 3", 1,
               LIST("cuBLAS f16    wrong: no figure: token 0, row 0: want ", "cuBLAS int8   wrong: no figure: token 0",
                    "1000.00"),
               LIST("2000.00", "over f16"));
    }
}

Test(bench, six_shapes) {
    expect("FAKE_CUDA=", "a.yaml --shapes six --no-ceilings --rounds 1", 0,
           LIST("nt = 64, od = 4096, id = 4096;", "nt = 512, od = 4096, id = 4096;", "nt = 2048, od = 4096, id = 4096;",
                "nt = 512, od = 14336, id = 4096;", "nt = 2048, od = 14336, id = 4096;",
                "nt = 2048, od = 4096, id = 14336;", "  120.26  ", "fake: load 1, PTX", ", 1 loads"),
           NULL);
}

Test(bench, json_has_every_round) {
    static const char command[] = "a.yaml b.yaml wrong.yaml --rounds 5 --json out.json";
    expect("FAKE_CUDA=", command, 1, LIST("1000.00"), NULL);
    char *cat = must_format("cat %s/out.json", run_folder);
    struct result r = run_shell(cat);
    free(cat);
    static const char *const there[] = {
        "{\"bench\": {\"device\": \"Fake GPU\", \"sm\": 90, ",
        "\"command\": \"warpproof bench a.yaml b.yaml wrong.yaml --rounds 5 --json out.json\", \"data\": \"rand\", "
        "\"l2_bytes\": 32768",
        "{\"shape\": {\"nt\": 10, \"od\": 8, \"id\": 16}, \"rounds\": 5, \"launches\": 3, \"entries\": [{\"name\": "
        "\"a\", \"role\": \"kernel\", \"ptx_sha256\": \"545a95fa",
        "\"copies\": 193, \"copy_bytes\": 512, \"warm\": false, \"macs\": 1280, \"seconds\": [0.00",
        "\"over_first\": {\"median\": 0.8, \"least\": 0.8, \"most\": 0.8, \"separated\": true, \"overlap\": 0}",
        "{\"name\": \"wrong\", \"role\": \"kernel\"",
        "\"wrong\": true, \"why\": \"byte 252 of buffer y",
        "{\"name\": \"cuBLAS int8\", \"role\": \"ceiling\", \"computes\": \"int8 x int8 -> int32\"",
    };
    for (size_t i = 0; i < sizeof there / sizeof *there; ++i)
        cr_expect(strstr(r.text, there[i]), "'%s' is missing in\n%s", there[i], r.text);
    free(r.text);
    /* nothing is written where nothing was measured to its end */
    const size_t before = files_in_folder();
    expect("FAKE_CUDA=memory", "a.yaml --rounds 1 --json new.json", 2, LIST("cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY"),
           NULL);
    cr_expect_eq(files_in_folder(), before, "no file is left behind");
}

Test(bench, what_cannot_be_measured_is_exit_2) {
    static const struct {
        const char *arguments, *text;
    } rows[] = {
        {"", "want 1 to 16 kernels"},
        {"a.yaml a.yaml a.yaml a.yaml a.yaml a.yaml a.yaml a.yaml a.yaml a.yaml a.yaml a.yaml a.yaml a.yaml a.yaml "
         "a.yaml a.yaml",
         "want 1 to 16 kernels"},
        {"no_such_kernel", "no_such_kernel: no kernel and no launch file of that name"},
        {"../no_such.yaml", "no_such.yaml"},
        {"a.yaml --rounds 0", "--rounds 0: want an integer in 1 .. 10000"},
        {"a.yaml --rounds 1e3", "--rounds 1e3: want"},
        {"a.yaml --rounds 99999999999999999999", "want an integer"},
        {"a.yaml --shapes seven", "--shapes seven: want six"},
        {"a.yaml --shapes six --set nt=5", "--set nt does not go with it"},
        {"a.yaml --set nt=x", "--set nt=x: want NAME=INTEGER"},
        {"a.yaml --set nt=1 --set nt=2", "each name once"},
        {"a.yaml --set colour=2", "--set colour: no expression of the launch file uses that name"},
        {"named.yaml --set id=2", "--set id: no expression of the launch file uses that name"},
        {"dequantize_q8_0 --set od=3", "--set od: no expression of the launch file uses that name"},
        {"dequantize_q8_0 --shapes six",
         "--shapes six: they are of products, nt x od x id, and dequantize_q8_0 is none"},
        {"a.yaml named.yaml --shapes six", "nt x od x id, and named is none"},
        {"a.yaml --data real", "--data real: want exact, coded, adv or rand"},
        {"a.yaml --device 1", "--device 1: there is 1 here"},
        {"a.yaml --device all", "times of one GPU say nothing of another"},
        {"a.yaml --device -1", "--device -1: want"},
        {"a.yaml --json -", "want the name of a file"},
        {"a.yaml --json /nonexistent/x", "No such file"},
        {"a.yaml --json a.yaml", "--json a.yaml is the input"},
        {"a.yaml --rounds 5 --rounds 7", "--rounds is given twice"},
        {"a.yaml --data rand --data rand", "--data is given twice"},
        {"a.yaml --device 0 --device 0", "--device is given twice"},
        {"a.yaml --json x.json --json y.json", "--json is given twice"},
        {"a.yaml --unchecked", "unknown or ambiguous option '--unchecked'"},
        {"a.yaml -j 0", "want a number of threads"},
        {"unjudged.yaml", "nobody says what is right in buffer y"},
        {"inout.yaml", "buffer x is inout"},
        {"dequantize_q8_0 --set nt=0", "nt = 0: must be in 1 .. "},
        {"dequantize_q8_0 --set nt=2147483647 --set id=2147483616", "are more than"},
        {"mmq_wide_ldb_kd8 --set nt=1 --set od=1 --set id=256", "mmq_wide_ldb_kd8: CUDA_ERROR_NOT_FOUND (500)"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i)
        expect("FAKE_CUDA_GPUS=1", rows[i].arguments, 2, LIST(rows[i].text), LIST("TMAC/s"));
    expect("FAKE_CUDA=none", "a.yaml", 2, LIST("no GPU here: the driver counts none"), NULL);
    expect("FAKE_CUDA=endless", "a.yaml", 2, LIST("a launch did not end within 1 second on the GPU"), NULL);
    expect("LD_LIBRARY_PATH=/nonexistent", "a.yaml --no-ceilings", 2,
           LIST("no NVIDIA driver here: libcuda.so.1 cannot be opened"), NULL);
}
