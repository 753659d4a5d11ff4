/* Operands and results in raw files: gpu/raw.c, gpu/fit.c, gpu/operands.c, and launch files that name them. */
#include "../gpu/bind.h"
#include "../gpu/fit.h"
#include "../gpu/raw.h"
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

#define SHA256_OF_ABC "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

static void put_text(const char *name, const char *text) {
    put_file(name, text, strlen(text));
}

TestSuite(raw_operands, .init = make_folder, .fini = remove_folder, .timeout = 60);

Test(raw_operands, a_size_that_is_not_expected_is_explained) {
    static const struct {
        const char *format;
        bool weight;
        size_t rows, depth, bytes;
        const char *says;
    } rows[] = {
        {"q4_K", true, 128, 512, 64 * 2 * 144, "; its size is that of od = 64, or id = 256"},
        {"q4_K", true, 128, 512, 128 * 2 * 210, "; its size is that of q6_K"},
        {"q4_K", true, 128, 512, 128 * 512 * 4, "; its size is that of f32"},
        {"q4_K", true, 128, 512, 1, ""},
        {"q4_K", true, 128, 512, 0, ""},
        {"q4_K", true, SIZE_MAX / 144, 512, 144, ""},
        {"q4_K", true, 128, 512, SIZE_MAX, ""},
        {"pad40", false, 3, 64, 3 * 64 * 4, "; its size is that of f32"},
        {"f32", false, 3, 64, 2 * 64 * 4, "; its size is that of nt = 2"},
        {"q8_1_mmq_ds4", false, 3, 128, 5 * 144, "; its size is that of nt = 5"},
        {"nosuch", true, 3, 64, 100, ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *hint = fit_hint(rows[i].format, rows[i].weight, rows[i].rows, rows[i].depth, rows[i].bytes);
        cr_expect(*rows[i].says ? !strncmp(hint, rows[i].says, strlen(rows[i].says)) : !*hint, "row %zu says \"%s\"", i,
                  hint);
        free(hint);
    }
}

Test(raw_operands, files_are_held_to_size_and_digest) {
    float x[64] = {1, -1};
    put_file("x", x, sizeof x);
    put_file("abc", "abc", 3);
    char *path = must_format("%s/x", run_folder), *abc = must_format("%s/abc", run_folder), hex[65];
    cr_expect(sha256_hex("abc", 3, hex) && !strcmp(hex, SHA256_OF_ABC), "sha256 of abc: %s", hex);
    struct operands_request r = {.contract = contract_named("pad40_quantize"),
                                 .nt = 2,
                                 .id = 32,
                                 .data = DATA_FILE,
                                 .activation_file = {.path = path}};
    struct operands o;
    struct error e = {""};
    cr_assert(operands_make(&r, &o, &e), "%s", e.text);
    cr_expect(!memcmp(o.activation, x, sizeof x) && o.view.activation == o.activation && !o.expected, "other bytes");
    operands_free(&o);
    cr_expect(operands_check_files(&r, &e), "%s", e.text);
    r.activation_file.sha256 = SHA256_OF_ABC;
    cr_expect(operands_check_files(&r, &e), "sizes alone: %s", e.text);
    cr_expect(!operands_make(&r, &o, &e) && strstr(e.text, "expected " SHA256_OF_ABC), "digest: %s", e.text);
    cr_expect(!o.activation, "a refusal left memory");
    r.activation_file.sha256 = NULL;
    r.expect_file.path = abc;
    cr_expect(!operands_make(&r, &o, &e) && strstr(e.text, "abc has 3 bytes, the result has 80"), "expect: %s", e.text);
    r.expect_file.path = NULL;
    r.nt = 3;
    cr_expect(!operands_make(&r, &o, &e) && strstr(e.text, "that of nt = 2"), "size: %s", e.text);
    r.nt = 2;
    r.split = (struct split){.kind = SPLIT_AT, .cut_count = 1, .cuts = {32}};
    cr_expect(!operands_make(&r, &o, &e) && strstr(e.text, "has no split"), "split: %s", e.text);
    free(path);
    free(abc);
}

/* ---- launch files ---- */

#define QUANTISER(arguments)                                                                                           \
    "kernel: quantize_pad40\nsource: quantize_pad40.cu\ncontract: pad40_quantize\nshape: {nt: 3, id: 64}\n"            \
    "launch: {grid: [\"ceil(nt * id / 32, 8)\"], block: [256]}\nargs:\n" arguments "  - {i32: nt}\n  - {i32: id}\n"

/* x: 3 x 64 values; y: the right blocks. */
static uint8_t right[3 * 2 * 40];
static void put_quantiser_files(void) {
    float x[3 * 64];
    for (int i = 0; i < 3 * 64; i++)
        x[i] = (float)(i * 37 % 101 - 50) / 7;
    const struct contract_operands o = {.activation = x, .nt = 3, .id = 64};
    contract_named("pad40_quantize")->evaluate(&o, right);
    put_file("x", x, sizeof x);
    put_file("y", right, sizeof right);
}

Test(raw_operands, a_launch_on_files_is_one_case) {
    put_quantiser_files();
    put_text("k.yaml",
             QUANTISER("  - {in: activation, format: f32, fill: {file: x}}\n  - {out: result, format: pad40}\n"));
    expect_result(run_command("run %s/k.yaml", run_folder), 0,
                  "PASS f32/pad40/quantize_pad40/nt3.id64/file/s1\n1 passed, 0 failed");
    expect_result(run_command("run %s/k.yaml --data rand", run_folder), 2, "--data: the operands are in files");
    struct result r = run_command("run %s/k.yaml --set nt=4", run_folder);
    cr_expect(strstr(r.text, "k.yaml:7:5: ") && strstr(r.text, "  - {in: activation, format: f32"), "no place in:\n%s",
              r.text);
    expect_result(r, 2,
                  "x has 768 bytes, the activation of nt = 4, id = 64 in f32 has 1024; its size is that of nt = 3");
    put_text("k.yaml", QUANTISER("  - {in: activation, format: f32, fill: {file: x, sha256: " SHA256_OF_ABC "}}\n"
                                 "  - {out: result, format: pad40}\n"));
    expect_result(run_command("run %s/k.yaml", run_folder), 2, ", expected " SHA256_OF_ABC);
}

Test(raw_operands, contract_and_expected_file_must_agree) {
    put_quantiser_files();
    put_text("k.yaml", QUANTISER("  - {in: activation, format: f32, fill: {file: x}}\n"
                                 "  - {out: result, format: pad40, expect: y}\n"));
    expect_result(run_command("run %s/k.yaml", run_folder), 0, "/file/s1\n1 passed");
    right[40 * 3 + 5] ^= 1; /* token 1, its second block */
    put_file("y", right, sizeof right);
    struct result r = run_command("run %s/k.yaml", run_folder);
    static const char *const says[] = {
        "INPUT f32/pad40/quantize_pad40/nt3.id64/file/s1\n",
        "contract pad40_quantize and the expected file disagree in 1 of 60 cells, so neither says what is right",
        "  first   token 1, block 1 (result byte 124)   contract 0x",
        "  kernel  has the contract's bits in every cell\n", "the file was made of other operands"};
    for (size_t i = 0; i < sizeof says / sizeof *says; i++)
        cr_expect(strstr(r.text, says[i]), "no \"%s\" in:\n%s", says[i], r.text);
    expect_result(r, 2, "0 passed, 1 failed");
    put_file("y", right, sizeof right - 1);
    expect_result(run_command("run %s/k.yaml", run_folder), 2, "y has 239 bytes, the buffer has 240");
}

/* A faulty kernel on files is red as on made operands; and one that gives the file's bits is told so. */
Test(raw_operands, a_wrong_kernel_on_files_is_red) {
    char here[PATH_MAX];
    cr_assert(realpath(".", here), "no current folder");
    const struct operands_request q = {
        .contract = contract_named("q4_k_pad40_two_term"), .nt = 3, .od = 40, .id = 512, .data = DATA_RAND, .key = 1};
    struct operands o;
    struct error e;
    cr_assert(operands_make(&q, &o, &e), "%s", e.text);
    put_file("w", o.weight, o.weight_bytes);
    put_file("x", o.activation, o.activation_bytes);
    operands_free(&o);
    static const char form[] = "kernel: mmq_wide_ldb_kd8\nptx: %s/fixtures/ptx/%s.ptx\ncontract: q4_k_pad40_two_term\n"
                               "split: none\nshape: {nt: 3, od: 40, id: 512}\n"
                               "launch: {grid: [1, 1], block: [256], shared: 98304}\nargs:\n"
                               "  - {in: weight, format: q4_K, fill: {file: w}}\n"
                               "  - {in: activation, format: pad40, fill: {file: x}}\n"
                               "  - {out: result, type: f32%s}\n  - {i32: nt}\n  - {i32: od}\n  - {i32: id}\n";
    char *text = must_format(form, here, "mmq_wide_ldb", "");
    put_text("k.yaml", text);
    free(text);
    expect_result(run_command("run %s/k.yaml", run_folder), 0,
                  "PASS q4_K/pad40/mmq_wide_ldb_kd8/nt3.od40.id512/file/s1\n");
    text = must_format(form, here, "plants/warp_offset_dropped", "");
    put_text("k.yaml", text);
    free(text);
    expect_result(run_command("run %s/k.yaml", run_folder), 1, "every row >= 16; rows 0..15 right");
}

/* The split of a launch file reaches the contract: the bytes that llama.cpp gave on 132 multiprocessors. */
Test(raw_operands, the_split_of_a_launch_file_decides_the_bits) {
    char here[PATH_MAX];
    cr_assert(realpath(".", here), "no current folder");
    static const struct {
        const char *split, *file;
    } rows[] = {{"", "y_nosplit_f32.bin"},
                {"split: none\n", "y_nosplit_f32.bin"},
                {"split: stream-k:132\n", "y_streamk_f32.bin"},
                {"split: at:256\n", "y_streamk_f32.bin"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *text = must_format("kernel: mmq\nptx: mmq.ptx\ncontract: q4_k_q8_1_mmq_ds4\n%s"
                                 "launch: {grid: [1], block: [32]}\nargs:\n"
                                 "  - {in: weight, format: q4_K, fill: {file: %s/fixtures/golden/llama_q4_k/w_q.bin}}\n"
                                 "  - in: activation\n    format: q8_1_mmq_ds4\n"
                                 "    fill: {file: %s/fixtures/golden/llama_q4_k/q8_1_mmq.bin}\n"
                                 "  - {out: result, type: f32, expect: y.bin}\n",
                                 rows[i].split, here, here),
             *path = must_format("%s/k.yaml", run_folder),
             *want = must_format("fixtures/golden/llama_q4_k/%s", rows[i].file);
        put_text("k.yaml", text);
        struct error e = {""};
        struct spec *s = spec_load(path, ".", &e);
        cr_assert(s, "%s", e.text);
        struct operands_request r = {.contract = contract_named(s->contract), .nt = 128, .od = 128, .id = 512};
        spec_operands(s, &r);
        r.expect_file.path = want;
        struct operands o;
        cr_assert(r.data == DATA_FILE && operands_make(&r, &o, &e), "%s", e.text);
        float *y = must_calloc(128 * 128, sizeof *y);
        r.contract->evaluate(&o.view, y);
        cr_expect(!memcmp(y, o.expected, o.result_bytes), "%snot %s", rows[i].split, want);
        operands_free(&o);
        r.id = 256;
        r.split = (struct split){.kind = SPLIT_AT, .cut_count = 1, .cuts = {256}};
        cr_expect(!operands_make(&r, &o, &e) && strstr(e.text, "256"), "a cut at the end: %s", e.text);
        spec_free(s);
        free(y);
        free(text);
        free(path);
        free(want);
    }
}
