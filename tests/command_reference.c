/* dequantize, quantize and reference: right bytes for dumped files, one clear line for everything else. */
#include "../gpu/operands.h"
#include "../gpu/raw.h"
#include "../ref/activation.h"
#include "../ref/checked.h"
#include "../ref/format.h"
#include "../ref/random.h"
#include "command_run.h"
#include "independent/independent.h"
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

#define GOLDEN "fixtures/golden/llama_q4_k/"
#define LLAMA                                                                                                          \
    "reference q4_k_q8_1_mmq_ds4 --weight " GOLDEN "w_q.bin --activation " GOLDEN                                      \
    "q8_1_mmq.bin --nt 128 --od 128 --id 512"

static char *in(const char *name) {
    return must_format("%s/%s", run_folder, name);
}

/* The whole file; the caller frees it. */
static uint8_t *bytes_of(const char *path, size_t *size) {
    struct raw_file f;
    struct error e = {""};
    cr_assert(raw_open(path, &f, &e), "%s", e.text);
    uint8_t *bytes = raw_whole(&f, &e);
    cr_assert(bytes, "%s", e.text);
    *size = f.bytes;
    raw_close(&f);
    return bytes;
}

static bool same_bytes(const char *a, const char *b) {
    size_t n, m;
    uint8_t *x = bytes_of(a, &n), *y = bytes_of(b, &m);
    const bool same = n == m && !memcmp(x, y, n);
    free(x);
    free(y);
    return same;
}

/* The file of that name in the folder is the file at the path. */
static void expect_file(const char *name, const char *want, const char *what) {
    char *path = in(name);
    cr_expect(same_bytes(path, want), "%s: %s is not %s", what, path, want);
    free(path);
}

static size_t lines(const char *s) {
    size_t n = 0;
    for (; *s; s++)
        n += *s == '\n';
    return n;
}

TestSuite(command_reference, .init = make_folder, .fini = remove_folder, .timeout = 120);

/* ---- right bytes ---- */

Test(command_reference, gives_the_bytes_that_an_h200_gave) {
    expect_result(run_command(LLAMA " --truth --out %s/y", run_folder), 0, "truth: worst |result - truth| is 0.3");
    expect_file("y", GOLDEN "y_nosplit_f32.bin", "no split");
    expect_result(run_command(LLAMA " --split stream-k:132 --out %s/y", run_folder), 0, "id 512  split stream-k:132\n");
    expect_file("y", GOLDEN "y_streamk_f32.bin", "stream-k on 132 multiprocessors");
    expect_result(run_command(LLAMA " --split at:256 --out %s/y", run_folder), 0, "65536 bytes  sha256 ");
    expect_file("y", GOLDEN "y_streamk_f32.bin", "the cut that stream-k makes here");
    char *path = in("y");
    cr_expect_not(same_bytes(path, GOLDEN "y_nosplit_f32.bin"), "a split changes nothing: the comparison is blind");
    free(path);
    expect_result(run_command("quantize --format q8_1_mmq_ds4 --id 512 " GOLDEN "x_f32.bin --out %s/q", run_folder), 0,
                  "512 blocks");
    expect_file("q", GOLDEN "q8_1_mmq.bin", "llama.cpp's quantiser");
    expect_result(run_command("reference q8_1_mmq_ds4_quantize --activation " GOLDEN
                              "x_f32.bin --nt 128 --id 512 --out %s/q --truth",
                              run_folder),
                  0, "f32 -> q8_1_mmq_ds4  nt 128  id 512\n");
    expect_file("q", GOLDEN "q8_1_mmq.bin", "the contract of llama.cpp's quantiser");
}

Test(command_reference, json_is_one_line) {
    expect_result(
        run_command(LLAMA " --split at:256 --json --out %s/y", run_folder), 0,
        "{\"contract\": \"q4_k_q8_1_mmq_ds4\", \"weight\": \"q4_K\", \"activation\": \"q8_1_mmq_ds4\", \"result\": "
        "\"f32\", \"nt\": 128, \"od\": 128, \"id\": 512, \"split\": \"at:256\", \"bytes\": 65536, \"sha256\": "
        "\"c9d001296c558585566c11ec7befdccc32f49f7cdfcd0f8be879115f4f03ce8f\", \"approximate\": false, \"not_finite\": "
        "0}\n");
    struct result r = run_command(LLAMA " --truth --json --out %s/y", run_folder);
    cr_expect(lines(r.text) == 1 && strstr(r.text, ", \"worst\": 0."), "no worst cell in:\n%s", r.text);
    free(r.text);
    const float x[32] = {-2, 1, [5] = 3};
    put_file("x", x, sizeof x);
    expect_result(run_command("quantize %s/x --format q8_0 --json --out %s/q", run_folder, run_folder), 0,
                  "{\"format\": \"q8_0\", \"blocks\": 1, \"values\": 32, \"bytes\": 34, \"sha256\": \"");
    expect_result(run_command("dequantize %s/x --format f32 --json --out %s/q", run_folder, run_folder), 0,
                  "\"least\": -2, \"largest\": 3, \"not_finite\": 0, \"approximate\": false}\n");
    const uint32_t odd[2] = {0x7fc00000, 0xff800000};
    put_file("x", odd, sizeof odd);
    expect_result(run_command("dequantize %s/x --format f32 --json --out %s/q", run_folder, run_folder), 0,
                  "\"least\": null, \"largest\": null, \"not_finite\": 2, ");
    /* where the bytes go to standard output, the summary does not */
    r = run_command("dequantize %s/x --format f32 --json --out /dev/stdout 2>/dev/null | wc -c", run_folder);
    expect_result(r, 0, "8\n");
}

Test(command_reference, threads_do_not_change_a_byte) {
    static const char *const threads[] = {"-j 1", "-j 2", "--threads 5"};
    for (size_t i = 0; i < 3; i++) {
        expect_result(run_command(LLAMA " %s --out %s/y", threads[i], run_folder), 0, "sha256");
        expect_file("y", GOLDEN "y_nosplit_f32.bin", threads[i]);
    }
}

Test(command_reference, dequantize_agrees_with_a_second_implementation) {
    size_t blocks, values;
    uint8_t *block = bytes_of(GOLDEN "w_q.bin", &blocks);
    expect_result(run_command("dequantize " GOLDEN "w_q.bin --format q4_K --out %s/w", run_folder), 0,
                  "256 blocks  65536 values");
    char *path = in("w");
    uint32_t *got = (uint32_t *)(void *)bytes_of(path, &values), want[256] = {0};
    cr_assert_eq(values, 65536 * sizeof *got, "%zu bytes of values", values);
    independent_decoder *decode = independent_decoder_of("q4_K");
    cr_assert(decode, "there is no second implementation of q4_K");
    for (size_t b = 0; b < 256; b++) {
        decode(block + 144 * b, want);
        cr_assert(!memcmp(want, got + 256 * b, sizeof want), "block %zu differs", b);
    }
    free(got);
    free(path);
    free(block);
}

/* What was quantised once is a fixed point. */
Test(command_reference, conversions_are_inverse_on_their_own_values) {
    static const char *const cases[][2] = {
        {"q8_0", ""}, {"f16", ""}, {"pad40", "--nt 128 --id 512"}, {"pad40_t", "--nt 128 --id 512"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *f = cases[i][0];
        expect_result(run_command("quantize " GOLDEN "x_f32.bin --format %s --id 512 --out %s/a", f, run_folder), 0, f);
        expect_result(run_command("dequantize %s/a --format %s %s --out %s/x", run_folder, f, cases[i][1], run_folder),
                      0, f);
        expect_result(run_command("quantize %s/x --format %s --id 512 --out %s/b", run_folder, f, run_folder), 0, f);
        expect_result(run_command("dequantize %s/b --format %s %s --out %s/x2", run_folder, f, cases[i][1], run_folder),
                      0, f);
        char *x = in("x");
        expect_file("x2", x, f);
        free(x);
    }
}

/* Version 3, no metadata, one tensor "w" of 2 x 32 values q8_0. */
static size_t tiny_model(uint8_t *out, const uint8_t blocks[68]) {
    static const uint8_t header[] = {'G', 'G', 'U', 'F', 3, 0, 0, 0, 1, 0, 0,   0, 0, 0, 0, 0,  0, 0, 0, 0, 0, 0,
                                     0,   0,   1,   0,   0, 0, 0, 0, 0, 0, 'w', 2, 0, 0, 0, 32, 0, 0, 0, 0, 0, 0,
                                     0,   2,   0,   0,   0, 0, 0, 0, 0, 8, 0,   0, 0, 0, 0, 0,  0, 0, 0, 0, 0};
    memset(out, 0, 164);
    memcpy(out, header, sizeof header);
    memcpy(out + 96, blocks, 68);
    return 164;
}

Test(command_reference, a_tensor_of_a_gguf_file_is_its_blocks) {
    uint8_t model[256], blocks[68];
    for (size_t i = 0; i < sizeof blocks; i++)
        blocks[i] = (uint8_t)(37 * i + 1);
    blocks[1] = blocks[35] = 0x30; /* finite scales */
    const size_t size = tiny_model(model, blocks);
    put_file("m.gguf", model, size);
    put_file("b.bin", blocks, sizeof blocks);
    expect_result(run_command("dequantize %s/m.gguf --tensor w --out %s/t", run_folder, run_folder), 0,
                  "q8_0  2 blocks  64 values");
    expect_result(run_command("dequantize %s/b.bin --format q8_0 --out %s/f", run_folder, run_folder), 0, "finite");
    char *f = in("f");
    expect_file("t", f, "tensor and blocks");
    free(f);
    expect_result(run_command("dequantize %s/m.gguf --tensor v --out %s/t", run_folder, run_folder), 2,
                  "there is no tensor 'v'");
    expect_result(run_command("dequantize %s/m.gguf --tensor w --nt 1 --id 32 --out %s/t", run_folder, run_folder), 2,
                  "a tensor has its own shape");
    for (size_t cut = 0; cut < size; cut++) { /* hostile: every shortening */
        put_file("m.gguf", model, cut);
        struct result r = run_command("dequantize %s/m.gguf --tensor w --out %s/never", run_folder, run_folder);
        cr_expect(lines(r.text) == 1, "cut at %zu:\n%s", cut, r.text);
        expect_result(r, 2, "m.gguf: ");
    }
    char *never = in("never");
    cr_expect(access(never, F_OK) != 0, "a refused model made a file");
    free(never);
}

/* ---- what is refused ---- */

/* %1$s in the arguments is the folder: x.f32 has 64 values, x.odd 63 bytes, empty nothing. Nothing may be written. */
static const struct {
    const char *arguments, *says;
} refused[] = {
    {"dequantize", "want one input file"},
    {"dequantize a b --format f32 --out %1$s/o", "want one input file"},
    {"dequantize %1$s/x.f32 --out %1$s/o", "want either --tensor NAME, of a GGUF file, or --format F"},
    {"dequantize %1$s/x.f32 --format f32 --tensor w --out %1$s/o", "want either --tensor NAME"},
    {"dequantize %1$s/x.f32 --format f33 --out %1$s/o", "unknown format 'f33'"},
    {"dequantize %1$s/x.f32 --format q4_K --out %1$s/o", "256 bytes, no multiple of the 144 of a block of q4_K"},
    {"dequantize %1$s/x.f32 --format f32 --nt 1 --id 64 --out %1$s/o", "f32 is a format of weights"},
    {"dequantize %1$s/x.f32 --format pad40 --out %1$s/o", "no multiple of the 40 of a block of pad40"},
    {"dequantize %1$s/x.f32 --format pad40 --nt 2 --out %1$s/o", "--nt and --id go together"},
    {"dequantize %1$s/x.f32 --format pad40 --nt 2 --id 96 --out %1$s/o", "pad40 of --nt 2 --id 96 has 240"},
    {"dequantize %1$s/x.f32 --format pad40 --nt 2 --id 33 --out %1$s/o", "pad40 comes in blocks of 32 values"},
    {"dequantize %1$s/x.f32 --format pad40_t --out %1$s/o", "want --nt N and --id N"},
    {"dequantize %1$s/x.f32 --format pad40_t --nt 2147483647 --id 2147483616 --out %1$s/o", "x.f32 has 256 bytes"},
    {"dequantize %1$s/x.f32 --format pad40 --nt 2147483648 --id 32 --out %1$s/o", "want an integer in 1 .. 2147483647"},
    {"dequantize %1$s/x.f32 --format pad40 --nt 0 --id 32 --out %1$s/o", "--nt 0: want an integer"},
    {"dequantize %1$s/x.f32 --format pad40 --nt 1e3 --id 32 --out %1$s/o", "--nt 1e3: want an integer"},
    {"dequantize %1$s/empty --format f32 --out %1$s/o", "empty is empty"},
    {"dequantize %1$s/absent --format f32 --out %1$s/o", "absent: No such file"},
    {"dequantize %1$s --format f32 --out %1$s/o", "is not a regular file"},
    {"dequantize %1$s/fifo --format f32 --out %1$s/o", "is not a regular file"},
    {"dequantize /dev/zero --format f32 --out %1$s/o", "is not a regular file"},
    {"dequantize %1$s/fifo --tensor w --out %1$s/o", "not a regular file"},
    {"dequantize %1$s/x.f32 --format f32", "want --out FILE"},
    {"dequantize %1$s/x.f32 --format f32 --out ''", "--out: want the name of a file"},
    {"dequantize %1$s/x.f32 --format f32 --out -", "standard output is /dev/stdout"},
    {"dequantize %1$s/x.f32 --format f32 --out %1$s/x.f32", "is the input"},
    {"dequantize %1$s/x.f32 --format f32 --out %1$s/link", "is the input"},
    {"dequantize %1$s/x.f32 --format f32 --out %1$s", "cannot write: Is a directory"},
    {"dequantize %1$s/x.f32 --format f32 --out %1$s/absent/o", "cannot write: No such file or directory"},
    {"dequantize %1$s/x.f32 --format f32 --out %1$s/kept", "kept: cannot write: Permission denied"},
    {"dequantize %1$s/x.f32 --format f32 --out /dev/full", "/dev/full: cannot write: No space left on device"},
    {"quantize %1$s/x.f32 --out %1$s/o", "want --format F"},
    {"quantize %1$s/x.f32 --format q9 --out %1$s/o", "unknown format 'q9'; formats with a quantiser: f32 "},
    {"quantize %1$s/x.f32 --format pad40 --out %1$s/o", "want --id N"},
    {"quantize %1$s/x.f32 --format pad40 --id 48 --out %1$s/o", "--id 48: pad40 comes in blocks of 32 values"},
    {"quantize %1$s/x.f32 --format pad40 --id 96 --out %1$s/o", "64 values, no multiple of --id 96"},
    {"quantize %1$s/x.f32 --format q4_K --out %1$s/o", "64 values, no multiple of a block's 256"},
    {"quantize %1$s/x.odd --format q8_0 --out %1$s/o", "63 bytes, no multiple of the 4 of a float32"},
    {"quantize %1$s/empty --format q8_0 --out %1$s/o", "empty is empty"},
    {"quantize %1$s/fifo --format q8_0 --out %1$s/o", "is not a regular file"},
    {"quantize %1$s/x.f32 --format q8_0 --out %1$s/link", "is the input"},
    {"quantize %1$s/x.f32 --format q8_0 --out /dev/full", "No space left on device"},
    {"reference", "want one CONTRACT"},
    {"reference --list pad40_quantize", "or --list alone"},
    {"reference nosuch", "unknown contract 'nosuch'; there are:\nq4_0_pad40 "},
    {"reference pad40_quantize", "needs --activation FILE, in f32"},
    {"reference q4_k_pad40_two_term --activation x --out %1$s/o", "needs --weight FILE, in q4_K"},
    {"reference pad40_quantize --weight x --activation x", "--weight: contract pad40_quantize is a quantiser"},
    {"reference pad40_quantize --od 4 --activation x", "--od: contract pad40_quantize is a quantiser"},
    {"reference pad40_quantize --activation %1$s/x.f32 --nt 1 --out %1$s/o", "needs --id N"},
    {"reference pad40_quantize --activation %1$s/x.f32 --nt 1 --id 64", "want --out FILE"},
    {"reference pad40_quantize --activation %1$s/x.f32 --nt 1 --id 33 --out %1$s/o", "multiple of 32, got 33"},
    {"reference pad40_quantize --activation %1$s/x.f32 --nt 1 --id 96 --out %1$s/o",
     "the activation of nt = 1, id = 96 in f32 has 384; its size is that of id = 64"},
    {"reference pad40_quantize --activation %1$s/x.f32 --nt 3 --id 32 --out %1$s/o", "its size is that of nt = 2"},
    {"reference pad40_quantize --activation %1$s/x.f32 --nt 2147483647 --id 2147483616 --out %1$s/o", "are more than"},
    {"reference pad40_quantize --activation %1$s/x.f32 --nt 33554432 --id 32 --out %1$s/o", "x.f32 has 256 bytes"},
    {"reference pad40_quantize --activation %1$s/fifo --nt 2 --id 32 --out %1$s/o", "is not a regular file"},
    {"reference pad40_quantize --activation %1$s/x.f32 --nt 2 --id 32 --split at:32 --out %1$s/o", "has no split"},
    {"reference pad40_quantize --activation %1$s/x.f32 --nt 2 --id 32 --split many --out %1$s/o", "--split: 'many'"},
    {"reference pad40_quantize --activation %1$s/x.f32 --nt 2 --id 32 --out %1$s/link", "is the input"},
    {"reference pad40_quantize --activation %1$s/x.f32 --nt 2 --id 32 --out /dev/full", "No space left on device"},
    {"reference pad40_quantize --activation %1$s/x.f32 --nt 2 --id 32 --out %1$s/o -j 0", "-j 0"},
    {LLAMA " --split at:100 --out %1$s/o", "a split at depth 100: it must be a multiple of 256"},
    {LLAMA " --split at:512 --out %1$s/o", "512"},
    {"reference q4_k_pad40_two_term --weight " GOLDEN "w_q.bin --activation " GOLDEN
     "q8_1_mmq.bin --nt 128 --od 128 --id 512 --out %1$s/o",
     "in pad40 has 81920; its size is that of pad40_t, or q8_1"},
    {"reference q4_k_pad40_two_term --weight " GOLDEN "w_q.bin --activation " GOLDEN
     "q8_1_mmq.bin --nt 128 --od 64 --id 512 --out %1$s/o",
     "the weight of od = 64, id = 512 in q4_K has 18432; its size is that of od = 128, or id = 1024"},
};

Test(command_reference, what_is_wrong_is_one_clear_line_and_no_file) {
    const float x[64] = {1};
    put_file("x.f32", x, sizeof x);
    put_file("x.odd", x, 63);
    put_file("empty", x, 0);
    put_file("kept", "old", 3);
    char *kept = in("kept"), *link = in("link"), *fifo = in("fifo"), *target = in("x.f32");
    cr_assert(!chmod(kept, 0400) && !symlink(target, link) && !mkfifo(fifo, 0600), "the folder cannot be made");
    const size_t files = files_in_folder();
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        char *arguments = must_strdup(""); /* %1$s by hand: the format is no literal */
        for (const char *s = refused[i].arguments; *s;) {
            const bool folder = !strncmp(s, "%1$s", 4);
            char *longer =
                must_format("%s%.*s", arguments, folder ? (int)strlen(run_folder) : 1, folder ? run_folder : s);
            free(arguments);
            arguments = longer;
            s += folder ? 4 : 1;
        }
        struct result r = run_command("%s", arguments);
        cr_expect(lines(r.text) == 1 || strstr(refused[i].says, "there are"), "%s says:\n%s", arguments, r.text);
        cr_expect(r.code == 2 && strstr(r.text, refused[i].says), "%s: exit %d, want 2 and \"%s\" in:\n%s", arguments,
                  r.code, refused[i].says, r.text);
        cr_expect_eq(files_in_folder(), files, "%s left a file", arguments);
        free(r.text);
        free(arguments);
    }
    size_t n;
    uint8_t *still = bytes_of(target, &n);
    cr_expect(n == sizeof x && !memcmp(still, x, n), "an input was changed");
    free(still);
    free(kept);
    free(link);
    free(fifo);
    free(target);
}

/* Without the measured reciprocal some bits are a guess, and that is said; a table that is no table is refused. */
Test(command_reference, what_is_approximate_is_called_so) {
    static const char *const folders[] = {"gpu", "gpu/kernels", "fixtures", "fixtures/golden"};
    for (size_t i = 0; i < 4; i++) {
        char *path = in(folders[i]);
        cr_assert(!mkdir(path, 0700), "cannot make %s", path);
        free(path);
    }
    char *root = must_format("WARPPROOF_ROOT=%s", run_folder);
    run_before = root;
    static const char *const commands[] = {"quantize " GOLDEN "x_f32.bin --format q8_1_mmq_ds4 --id 512",
                                           "reference q8_1_mmq_ds4_quantize --activation " GOLDEN
                                           "x_f32.bin --nt 128 --id 512"};
    for (size_t i = 0; i < 2; i++) {
        char *arguments = must_format("%s --json --out %s/q", commands[i], run_folder);
        run_before = root;
        struct result r = run_command("%s", arguments);
        cr_expect(strstr(r.text, "\"approximate\": true"), "JSON: %s", r.text);
        expect_result(r, 0, " is approximate here: its bits need fixtures/golden/rcp_approx_sm90.bin.zz");
        run_before = "";
        r = run_command("%s", arguments);
        cr_expect(lines(r.text) == 1, "more than JSON: %s", r.text);
        expect_result(r, 0, "\"approximate\": false");
        free(arguments);
    }
    run_before = root;
    expect_result(run_command("quantize " GOLDEN "x_f32.bin --format pad40 --id 512 --json --out %s/q", run_folder), 0,
                  "\"approximate\": false");
    put_file("fixtures/golden/rcp_approx_sm90.bin.zz", "junk", 4);
    for (size_t i = 0; i < 2; i++) {
        char *arguments = must_format("%s --json --out %s/q", commands[i], run_folder);
        expect_result(run_command("%s", arguments), 2, "rcp_approx_sm90.bin.zz");
        free(arguments);
    }
    free(root);
}

Test(command_reference, usage) {
    static const char *const commands[] = {"dequantize", "quantize", "reference"};
    for (size_t i = 0; i < 3; i++) {
        expect_result(run_command("%s --help", commands[i]), 0, "usage: warpproof ");
        expect_result(run_command("%s --nosuch", commands[i]), 2, "unknown or ambiguous option '--nosuch'");
        expect_result(run_command("%s -Z", commands[i]), 2, "unknown option '-Z'");
        expect_result(run_command("%s --json=3", commands[i]), 2, "option '--json=3' takes no value");
        expect_result(run_command("%s --out", commands[i]), 2, "option '--out' needs a value");
        expect_result(run_command("%s --help >/dev/full", commands[i]), 2,
                      "cannot write the output: No space left on device\n");
    }
    expect_result(run_command("reference --list"), 0, "q4_k_q8_1_mmq_ds4 ");
    expect_result(run_command("list contracts"), 0, "; splits\n");
    expect_result(run_command("list formats"), 0, "both ways, own layout\n");
}

/* An old file stays, and no half of a new one, whatever ends the run and whenever. */
Test(command_reference, a_run_that_is_ended_leaves_no_half_of_a_file) {
    enum { VALUES = 1 << 22 };
    float *x = must_calloc(VALUES, sizeof *x);
    put_file("x", x, VALUES * sizeof *x);
    free(x);
    put_file("o", "old", 3);
    char *in_path = in("x"), *out_path = in("o");
    run_before = "ulimit -f 1024;";
    expect_result(run_command("dequantize %s/x --format f32 --out %s/o", run_folder, run_folder), 2,
                  "cannot write: File too large");
    run_before = "";
    size_t n;
    uint8_t *old = bytes_of(out_path, &n);
    cr_expect(n == 3 && !memcmp(old, "old", 3), "the old file is gone: %zu bytes", n);
    free(old);
    cr_expect_eq(files_in_folder(), 2, "a temporary was left behind");
    const int unnamed =
        open(run_folder, O_TMPFILE | O_WRONLY, 0600); /* where there is no such thing, KILL leaves one */
    size_t killed = 0;
    for (int i = 0; i < 24; i++) {
        put_file("o", "old", 3);
        const pid_t pid = fork();
        cr_assert(pid >= 0, "no process");
        if (!pid) {
            const int null = open("/dev/null", O_RDWR);
            dup2(null, STDIN_FILENO);
            dup2(null, STDOUT_FILENO);
            dup2(null, STDERR_FILENO);
            execl(command_binary(), command_binary(), "dequantize", in_path, "--format", "f32", "--out", out_path,
                  (char *)NULL);
            _exit(99);
        }
        usleep((unsigned)(i * 3000));
        int status;
        cr_assert(!kill(pid, unnamed >= 0 ? SIGKILL : SIGTERM) && waitpid(pid, &status, 0) == pid, "the run is lost");
        uint8_t *bytes = bytes_of(out_path, &n);
        const bool old = n == 3 && !memcmp(bytes, "old", 3);
        cr_expect(old || n == VALUES * sizeof *x, "ended after %d ms: %zu bytes", 3 * i, n);
        killed += old;
        free(bytes);
        if (unnamed >= 0)
            cr_expect_eq(files_in_folder(), 2, "ended after %d ms: a temporary was left behind", 3 * i);
    }
    cr_expect(killed > 0, "no run was ended before its file was whole");
    if (unnamed >= 0)
        close(unnamed);
    free(in_path);
    free(out_path);
}

/* ---- hostile bytes ---- */

static void put_random(const char *name, size_t bytes, uint64_t key) {
    uint8_t *data = must_calloc(bytes, 1);
    struct random_stream s = random_open(key, 0);
    for (size_t i = 0; i < bytes; i++)
        data[i] = (uint8_t)(key ? random_u32(&s) : 0xff);
    put_file(name, data, bytes);
    free(data);
}

/* Every byte pattern is some value, in every format, and every float some block; key 0: all bits set. */
Test(command_reference, every_format_takes_any_bytes) {
    enum { NT = 5, ID = 512 };
    for (uint64_t key = 0; key < 3; key++) {
        for (size_t i = 0; block_formats[i]; i++) {
            put_random("b", 60 * block_formats[i]->block_bytes, key);
            expect_result(
                run_command("dequantize %s/b --format %s --out %s/x", run_folder, block_formats[i]->name, run_folder),
                0, "  60 blocks  ");
            put_random("x", (size_t)4 * 4 * block_formats[i]->block_values, key);
            if (block_formats[i]->quantize)
                expect_result(
                    run_command("quantize %s/x --format %s --out %s/b", run_folder, block_formats[i]->name, run_folder),
                    0, "  4 blocks  ");
        }
        for (size_t i = 0; activation_formats[i]; i++) {
            const char *f = activation_formats[i]->name;
            size_t bytes;
            cr_assert(activation_bytes(activation_formats[i], NT, ID, &bytes), "%s has no size", f);
            put_random("b", bytes, key);
            expect_result(run_command("dequantize %s/b --format %s --nt %d --id %d --out %s/x", run_folder, f, NT, ID,
                                      run_folder),
                          0, "  2560 values  ");
            put_random("x", NT * ID * 4, key);
            expect_result(run_command("quantize %s/x --format %s --id %d --out %s/b", run_folder, f, ID, run_folder), 0,
                          "  2560 values  ");
        }
    }
}

/* A sum that is not that of the quants is said; one that no quants have is refused. */
Test(command_reference, stored_sums_are_looked_at) {
    float x[2 * 32];
    uint8_t blocks[2 * 40], weight[2 * 34] = {0};
    for (int i = 0; i < 64; i++)
        x[i] = (float)(i - 20);
    for (int b = 0; b < 2; b++)
        activation_named("pad40")->quantize(x + 32 * b, blocks + 40 * b);
    put_file("w", weight, sizeof weight);
    static const struct {
        int32_t add;
        int code;
        const char *says;
    } row[] = {{0, 0, "q8_0_pad40  q8_0 x pad40"},
               {1, 0, "of their quants: 1, first token 0, block 1: "},
               {100000, 2, "token 0, block 1: the stored sum is "},
               {-100000, 2, "and a sum of 32 is -4096 .. 4064"}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        int32_t sum;
        memcpy(&sum, blocks + 76, 4);
        sum += row[i].add;
        memcpy(blocks + 76, &sum, 4);
        put_file("x", blocks, sizeof blocks);
        struct result r =
            run_command("reference q8_0_pad40 --weight %s/w --activation %s/x --nt 1 --od 1 --id 64 --out "
                        "%s/y",
                        run_folder, run_folder, run_folder);
        cr_expect((strstr(r.text, "note") != NULL) == (row[i].add == 1), "%d added:\n%s", row[i].add, r.text);
        expect_result(r, row[i].code, row[i].says);
        sum -= row[i].add;
        memcpy(blocks + 76, &sum, 4);
    }
}

/* Nor is there an operand under which a contract leaves its bound. */
Test(command_reference, every_contract_takes_any_bytes) {
    enum { NT = 3, OD = 5, ID = 512 };
    for (uint64_t key = 0; key < 4; key++)
        for (size_t i = 0; contracts[i]; i++) {
            const struct contract *c = contracts[i];
            const struct operands_request r = {.contract = c, .nt = NT, .od = OD, .id = ID, .data = DATA_RAND};
            struct operands o;
            struct error e = {""};
            cr_assert(operands_measure(&r, &o, &e), "%s: %s", c->name, e.text);
            put_random("x", o.activation_bytes, key);
            char *weight = must_strdup("");
            if (c->weight) {
                put_random("w", o.weight_bytes, key ? key + 100 : 0);
                free(weight);
                weight = must_format("--weight %s/w --od %d", run_folder, OD);
            }
            const struct activation_format *a = activation_named(c->activation);
            const bool sum_refused = a && a->stored_sum && key;
            for (int split = 0; split <= c->splits; split++)
                expect_result(run_command("reference %s %s --activation %s/x --nt %d --id %d --truth --out %s/y%s",
                                          c->name, weight, run_folder, NT, ID, run_folder,
                                          split ? " --split at:256" : ""),
                              sum_refused ? 2 : 0, sum_refused ? "a sum of 32 is -4096 .. 4064" : "truth: ");
            free(weight);
        }
}
