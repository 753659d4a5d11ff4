/* warpproof probe: plants of real kernels, foreign kernels, and the command itself. */
#include "../ref/checked.h"
#include "command_run.h"
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *plant, *kernel, *shape, *says;
} plants[] = {
    {"warp_offset_dropped", "mmq_wide_ldb_kd8", "nt70.od70.id256/rand",
     "\n  weight codes: rows 16..69 consumed row j mod 16 (want j)\n    likely  warp offset"},
    {"dequantize_q6_k_one_scale", "dequantize_q6_k", "nt65.id256/coded",
     "\n  weight scales: k with k mod 32 in 16..31 consumed sub-block s - s mod 2 (want s)\n"},
    {"a_words_by_words", "mmq_wide_sync_kd8", "nt70.od70.id256/rand",
     "\n  activation codes: tokens with token mod 16 in 8..15 consumed token t - 7 (want t)\n"},
    {"expand_q6_k_halves_exchanged", "expand_q6_k", "nt33.id256/coded",
     "\n  weight codes: every row consumed k xor 16 (want k)\n    likely  k exchanged in pairs of 16"},
    {"word_q5_k_min_of_the_next", "mmq_word_q5_k_kd8", "nt37.od37.id256/coded",
     "\n  weight minima: every row consumed sub-block s + 1 within each 8 (want s)\n    likely  scale of the next"},
    {"scale_load_word_off", "mmq_wide_ldb_kd8", "nt70.od70.id256/rand",
     "\n  weight scales: odd rows consumed the minimum in place of the scale\n"},
    {"matvec_q4_0_no_offset", "matvec_q4_0", "nt8.od5.id640/coded",
     "\n  weight codes: every row consumed codes with 8 added\n"},
    {"block_origin_dropped", "mmq_wide_xor_kd8", "nt129.od1.id256/coded",
     "\n  activation codes, activation scales, activation sums: token 128 consumed token t mod 128 (want t)\n"},
    {"dequantize_tail_dropped", "dequantize_q8_0", "nt85.id640/coded",
     "\n  result: row 84, k 512..639 never written\n"},
};

Test(probe_command, plants_are_named) {
    for (size_t i = 0; i < sizeof plants / sizeof *plants; i += command_stride()) {
        struct result r =
            run_command("probe -j 1 --plant %s '*/%s/%s/s1'", plants[i].plant, plants[i].kernel, plants[i].shape);
        cr_expect(r.code == 1 && strstr(r.text, plants[i].says), "%s: exit %d:\n%s", plants[i].plant, r.code, r.text);
        free(r.text);
    }
}

Test(probe_command, right_kernels_have_nothing_reported) {
    static const char *const kernels[] = {
        "mmq_wide_ldb_kd8 --set nt=17 --set od=70 --set id=256",
        "mmq_narrow_rank1_kd4 --set nt=33 --set od=70 --set id=256",
        "mmq_half_q6_k_double --set nt=33 --set od=40 --set id=256",
        "mmq_llama_q8_0_j8 --set nt=17 --set od=71 --set id=256",
        "mmq_llama_q4_k_j16 --set nt=17 --set od=129 --set id=256",
        "gemm_f16 --set nt=37 --set od=33 --set id=96",
        "quantize_pad40 --set nt=33 --set id=512",
        "dequantize_q4_k --set nt=65 --set id=256",
        "matvec_pair_q5_k --set nt=8 --set od=33 --set id=256",
        "expand_q6_k --set nt=3 --set id=512",
    };
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i += command_stride()) {
        char *name = must_strdup(kernels[i]), *sets = strchr(name, ' ');
        *sets++ = 0;
        struct result r = run_command("probe -j 1 gpu/kernels/%s.yaml %s", name, sets);
        cr_expect(r.code == 0 && strstr(r.text, ": 2 launches\n  every operand was consumed from its place\n"),
                  "%s: exit %d:\n%s", name, r.code, r.text);
        free(r.text);
        free(name);
    }
}

/* A factor of every code is no offset of the format. */
Test(probe_command, another_scale_is_no_offset) {
    expect_result(
        run_command("probe --plant dequantize_mxfp4_scale_is_a_number mxfp4/f16/dequantize_mxfp4/nt1.id32/rand/s1"), 1,
        "weight codes: every row consumed codes times 64\n    likely  the scale is another: its bits, its "
        "bias or its conversion\n");
}

/* What begins with something else is no scale of another token. */
Test(probe_command, no_scales_by_luck) {
    struct result r = run_command("probe --plant accumulator_not_cleared '*/mmq_wide_ldb_kd8/nt70.od70.id256/rand/s1'");
    cr_expect(r.code == 1 && strstr(r.text, "\n  accumulators: ") && !strstr(r.text, "scales"), "exit %d:\n%s", r.code,
              r.text);
    free(r.text);
}

/* ---- without a contract ---- */

Test(probe_command, plain_buffers) {
    struct result r = run_command("probe docs/examples/wrong_scale.yaml");
    static const char *const says[] = {
        "\n  q: y[i] consumed q[i]\n",
        "\n  d: y[i] consumed d[i div 64] (want d[i div 32])\n    likely  another divisor",
        "  note    by its `expect` y has wrong bytes in cells 32..99\n"};
    for (size_t i = 0; i < sizeof says / sizeof *says; ++i) {
        cr_expect(r.code == 1 && strstr(r.text, says[i]), "no %s in:\n%s", says[i], r.text);
    }
    free(r.text);
    expect_result(run_command("probe docs/examples/dequant_q8_expect.yaml"), 0, "\n  d: y[i] consumed d[i div 32]\n");
    expect_result(run_command("probe tests/foreign/two_puts.yaml"), 0,
                  "\n  b: cells with cell mod 4 in 0..1 of y: y[i] consumed b[(i + 5) mod 64]\n");
    expect_result(run_command("probe tests/foreign/tree.yaml"), 0, "\n  x: y[i] consumed x[0 .. + 31]\n");
    expect_result(run_command("probe tests/foreign/read_early.yaml"), 0,
                  "\n  a: y[i] consumed a[32 * (i div 8) .. + 31]\n");
    expect_result(run_command("probe tests/foreign/late_wait.yaml"), 0,
                  "\n  x: cells 0..31 of y: y[i] changed with nothing put into x\n");
}

/* What changes with high bits alone, sets of strides, sets of few cells, a set that is broken. */
Test(probe_command, plain_sets) {
    static const struct {
        const char *file;
        int code;
        const char *says;
    } sets[] = {
        {"nibbles", 0, "\n  q: y[i] consumed q[(i div 32) * 16 + i mod 16]\n    cells   96\n"},
        {"bits", 0, "\n  q: y[i] consumed q[i div 32]\n    cells   128\n"},
        {"product", 0, "\n  b: y[i] consumed b[i mod 9 .. + 90, every 9]\n    cells   63\n"},
        {"blocks", 0, "\n  w: y[127] consumed w[102 .. + 1], w[135]\n    cells   1\n"},
        {"rows", 1,
         "\n  x: y[i] consumed x[8 * i .. + 7] in 10 of 11 cells\n    cells   10\n    basis   10 of 11 cells of y, in "
         "206 "
         "launches\n\n  x: y[3] consumed x[24 .. + 3], x[29 .. + 2] (most consumed x[8 * i .. + 7])\n"},
        {"three", 3, "nothing could be probed: no output changes with any of the inputs\n"},
    };
    for (size_t i = 0; i < sizeof sets / sizeof *sets; ++i) {
        expect_result(run_command("probe tests/foreign/probe_%s.yaml", sets[i].file), sets[i].code, sets[i].says);
    }
    expect_result(run_command("probe tests/foreign/probe_rows.yaml --set left=2"), 1,
                  "\n  y: cells 9..10 never written\n");
    expect_result(run_command("probe tests/foreign/probe_rows.yaml --set left=2 --json /dev/stdout"), 1,
                  "{\"operand\": \"y\", \"result\": \"y\", \"text\": \"cells 9..10 never written\"");
}

/* Neighbours that differ by a constant: one more in the value looks like one more in the index. Another element that
 * each cell consumed is still named as that. */
Test(probe_command, arithmetic_may_look_like_an_index) {
    struct result r = run_command("probe tests/foreign/three_results.yaml");
    static const char *const says[] = {"\n  x: a[i] consumed x[i]\n",
                                       "\n  x: b[i] consumed x[i] (want other arithmetic on it, or x[(i div 32) * 31 + "
                                       "i mod 32])\n    likely  the right "
                                       "element with other arithmetic, or another index\n",
                                       "\n  x: c[i] consumed x[i xor 1] (want x[i])\n    likely  another index\n"};
    for (size_t i = 0; i < sizeof says / sizeof *says; ++i) {
        cr_expect(r.code == 1 && strstr(r.text, says[i]), "no %s in:\n%s", says[i], r.text);
    }
    free(r.text);
    expect_result(run_command("probe tests/foreign/two_of_one.yaml"), 1,
                  "\n  x: a[i] consumed x[i] (want other arithmetic on it, or x[i - 1])\n");
    expect_result(run_command("probe --plant warp_offset_dropped coded"), 2,
                  "cases of the kernel of plant warp_offset_dropped, and probe takes one: such as ");
}

/* A step budget of the launch file ends it; the rest says nothing that is not so. */
Test(probe_command, nothing_to_be_probed) {
    expect_result(
        run_command("probe tests/foreign/spin.yaml"), 3,
        "nothing could be probed: the kernel did not come to its end: a block ran past its budget of steps\n");
    expect_result(run_command("probe tests/foreign/stored_twice.yaml"), 3, "it has no input that could be changed\n");
    expect_result(run_command("probe tests/foreign/probe_tile.yaml --set mode=256 --arch sm_80"), 1,
                  "\n  products: every row consumed nothing\n");
    expect_result(run_command("probe gpu/kernels/mmq_wide_raw_kd8.yaml --set nt=128 --set od=64 --set id=256 "
                              "--arch sm_121"),
                  3, "the launch asks for more than the architecture has, and was refused\n");
}

Test(probe_command, bad_arguments) {
    expect_result(run_command("probe"), 2, "want one case or launch file");
    expect_result(run_command("probe a b"), 2, "want one case or launch file");
    expect_result(run_command("probe nosuch"), 3, "no case matches 'nosuch'");
    expect_result(run_command("probe tests"), 2, "tests: no case, and no launch file, whose name ends in .yaml");
    expect_result(run_command("probe mmq_wide_ldb_kd4"), 2, "cases, and probe takes one: such as q4_K/pad40/");
    expect_result(run_command("probe tests/foreign/unknown.yaml"), 2, "unknown instruction `tex.frobnicate.u32");
    expect_result(run_command("probe tests/foreign/probe_tile.yaml --set nt=65"), 2, "needs nt <= 64");
    expect_result(run_command("probe tests/foreign/probe_tile.yaml --set nt=0"), 2, "must be in 1 .. 2147483647");
    expect_result(run_command("probe tests/foreign/probe_tile.yaml --set id=100"), 2, "a multiple of 32, got 100");
    expect_result(run_command("probe --plant nosuch 'f16/f16/gemm_f16/nt37.od37.id96/coded/s1'"), 2, "nosuch");
    expect_result(run_command("probe --plant gemm_f16_no_wait tests/foreign/tree.yaml"), 2, "goes with a case");
    expect_result(run_command("probe --runner gpu tests/foreign/tree.yaml"), 2, "want machine or device");
    expect_result(run_command("probe --device 0 tests/foreign/tree.yaml"), 2, "goes with --runner device");
    expect_result(run_command("probe --nosuch"), 2, "--nosuch");
    expect_result(run_command("probe --help"), 0, "usage: warpproof probe CASE");
}

Test(probe_command, json, .init = make_folder, .fini = remove_folder) {
    struct result r =
        run_command("probe -j 1 tests/foreign/probe_tile.yaml --set mode=7 --json %s/out.json >/dev/null; cat "
                    "%s/out.json",
                    run_folder, run_folder);
    static const char *const says[] = {
        "{\"case\": \"q4_0/pad40/probe_tile/nt24.od40.id128/coded/s1\", \"kernel\": \"probe_tile\", \"verdict\": "
        "\"wrong\", \"shape\": \"nt = 24, od = 40, id = 128\", \"launches\": ",
        "{\"operand\": \"weight codes\", \"text\": \"rows 16..39 consumed row j mod 16 (want j)\", \"suspect\": \"warp "
        "offset",
        "\"operand\": \"weight scales\"",
        "\"operand\": \"activation codes\"",
        "\"wrong\": true}], \"notes\": [], \"rerun\": \"",
    };
    for (size_t i = 0; i < sizeof says / sizeof *says; ++i) {
        cr_expect(strstr(r.text, says[i]) != NULL, "no %s in:\n%s", says[i], r.text);
    }
    free(r.text);
    expect_result(run_command("probe tests/foreign/spin.yaml --json /dev/stdout"), 3, "\"verdict\": \"not probed\"");
    expect_result(run_command("probe tests/foreign/tree.yaml --json tests/foreign/tree.yaml"), 2, "tree.yaml");
    expect_result(run_command("probe tests/foreign/tree.yaml --json %s/no/such/folder", run_folder), 2, "no/such");
}

Test(probe_command, threads_change_nothing) {
    struct result one = run_command("probe tests/foreign/probe_tile.yaml --set mode=15 -j 1"),
                  two = run_command("probe tests/foreign/probe_tile.yaml --set mode=15 -j 2");
    cr_expect_str_eq(one.text, two.text);
    free(one.text);
    free(two.text);
}
