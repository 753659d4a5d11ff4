/* warpproof explain: right kernels are right in every stage, a plant of one stage turns that stage red and no other,
 * several faults at once are each named, and what cannot be judged says why. */
#include "../cli/plant.h"
#include "../ref/checked.h"
#include "command_run.h"
#include <criterion/criterion.h>
#include <string.h>

#define CASE8 "q4_K/pad40/mmq_wide_ldb_kd8/nt129.od70.id512/%s/s1"

static const char *const classes[] = {"exact", "coded", "adv", "rand"};

/* Between `from` and the end of the line, or NULL. */
static bool line_has(const char *text, const char *start, const char *part) {
    const char *at = strstr(text, start);
    const char *end = at != NULL ? strchr(at, '\n') : NULL, *found = at != NULL ? strstr(at, part) : NULL;
    return found != NULL && (end == NULL || found < end);
}

static bool stage_is(const char *text, const char *stage, const char *ruling) {
    char *start = must_format("\n  %-9s  ", stage);
    const char *at = strstr(text, start);
    const bool is = at != NULL && strncmp(at + strlen(start), ruling, strlen(ruling)) == 0;
    free(start);
    return is;
}

Test(explain, right_kernels_are_right_in_every_stage, .timeout = 600) {
    static const char *const shapes[] = {"nt1.od1.id256", "nt70.od129.id512", "nt129.od70.id1024", "nt127.od257.id256"};
    for (size_t i = 0; i < 4; ++i) {
        for (size_t d = 0; d < 4; ++d) {
            for (int kd = 4; kd <= 8; kd += 4) {
                struct result r =
                    run_command("explain --quick q4_K/pad40/mmq_wide_ldb_kd%d/%s/%s/s1", kd, shapes[i], classes[d]);
                cr_expect(r.code == 0, "exit %d:\n%s", r.code, r.text);
                for (int k = 0; k < STAGES; ++k) {
                    cr_expect(stage_is(r.text, stage_names[k], "ok "), "%s is not ok:\n%s", stage_names[k], r.text);
                }
                free(r.text);
            }
        }
    }
}

/* Every plant that names its stages, with the data of one class. */
static void plants_turn_their_stages_red(size_t class) {
    size_t n, said = 0;
    char **names = plant_names(".", PLANT_KERNEL, &n);
    for (size_t i = 0; i < n; ++i) {
        struct plant p;
        struct error e;
        cr_assert(plant_load(".", names[i], &p, &e), "%s", e.text);
        const bool says = memchr(p.stages, true, sizeof p.stages) != NULL;
        if (says && (said++ + class) % command_stride() == 0) {
            struct result r = run_command("explain --quick --plant %s '*/%s/nt129.od70.id512/%s/s1'", p.name, p.kernel,
                                          classes[class]);
            cr_expect(r.code == 1, "%s: exit %d:\n%s", p.name, r.code, r.text);
            for (size_t k = 0; k < STAGES; ++k) {
                cr_expect(stage_is(r.text, stage_names[k], p.stages[k] ? "WRONG " : "ok "), "%s, %s, stage %s:\n%s",
                          p.name, classes[class], stage_names[k], r.text);
            }
            free(r.text);
        }
        free(names[i]);
        plant_free(&p);
    }
    free(names);
    cr_expect(said >= 13, "%zu plants", said);
}

Test(explain, a_plant_turns_its_stages_red_and_no_others_exact, .timeout = 600) {
    plants_turn_their_stages_red(0);
}
Test(explain, a_plant_turns_its_stages_red_and_no_others_coded, .timeout = 600) {
    plants_turn_their_stages_red(1);
}
Test(explain, a_plant_turns_its_stages_red_and_no_others_adv, .timeout = 600) {
    plants_turn_their_stages_red(2);
}
Test(explain, a_plant_turns_its_stages_red_and_no_others_rand, .timeout = 600) {
    plants_turn_their_stages_red(3);
}

Test(explain, each_stage_has_a_plant_that_turns_it_alone_red) {
    size_t n, alone[STAGES] = {0};
    char **names = plant_names(".", PLANT_KERNEL, &n);
    for (size_t i = 0; i < n; ++i) {
        struct plant p;
        struct error e;
        cr_assert(plant_load(".", names[i], &p, &e), "%s", e.text);
        size_t stages = 0, last = 0;
        for (size_t k = 0; k < STAGES; ++k) {
            stages += p.stages[k];
            last = p.stages[k] ? k : last;
        }
        alone[last] += stages == 1;
        free(names[i]);
        plant_free(&p);
    }
    free(names);
    for (size_t k = 0; k < STAGES; ++k) {
        cr_expect(alone[k] > 0, "no plant turns %s alone red", stage_names[k]);
    }
}

/* A row offset, a word offset and a plane that overflows: one call names all three. */
Test(explain, three_faults_at_once_are_each_named) {
    struct result r = run_command("explain --plant three_faults_at_once " CASE8, "coded");
    cr_expect(r.code == 1);
    static const char *const says[] = {
        "  the first wrong stage is staging\n",
        "\nfault 1 of 3: staging\n"
        "  first   plane sda_q at (kd 0, group 0, r 2, half 0), which must hold activation.d of token 2, k 0; block "
        "(0,0,0), stage 0\n",
        "\n  holds   activation.d of token 1, k 0",
        "\n  by      block (0,0,0) warp 0 lane 8 stored it last\n  site    gpu/kernels/stage_pad40.cuh:61 (inlined at "
        "gpu/kernels/mmq_wide_ldb.cu:94)  st.shared",
        "bytes wrong: sda_q 6258, qb8 2223\n",
        "suspect a stride or tile larger than the plane was sized for: the stores reach into another plane\n",
        "\nfault 2 of 3: fragments\n"
        "  first   mma 0 of block (0,0,0) warp 0: operand a, register 1, byte 0 of lane 0 must hold activation.q of "
        "token 8, k 0\n",
        "\n  holds   token j - 8 in place of token j",
        "(inlined at gpu/kernels/mmq_wide_ldb.cu:94)  ldmatrix.sync.aligned.m8n8.x4",
        "suspect row offset in the address of the fragment's load\n",
        "\nfault 3 of 3: rescale\n  first   result at token 0, row 1\n",
        "\n  scales  weight.ds read 4 bytes before its place in plane sds: weight.dm of row 0, k 0 in place of "
        "weight.ds "
        "of row 1, k 0\n",
        "suspect word offset in the load of the scales, or another word of a wide load taken\n",
        "\nas it runs, with nothing put right:\nGUARD ",
    };
    for (size_t i = 0; i < sizeof says / sizeof *says; ++i) {
        cr_expect(strstr(r.text, says[i]) != NULL, "no \"%s\" in:\n%s", says[i], r.text);
    }
    free(r.text);
}

Test(explain, what_went_wrong_is_said, .timeout = 600) {
    static const struct {
        const char *plant, *data, *says;
    } rows[] = {
        {"scale_store_word_off", "rand", "  holds   weight.ds of row 1, k 0\n"},
        {"nibbles_exchanged", "coded", "must hold weight.q of row 0, k 0; block (0,0,0), stage 0\n"},
        {"nibbles_exchanged", "coded", "  holds   weight.q of row 0, k 32\n"},
        {"nibbles_exchanged", "exact", "\nfault 2 of 2: staging\n"},
        {"store_tokens_exchanged", "adv",
         "by      block (0,0,0) warp 0 lane 4, but block (0,0,0) warp 0 lane 0 has its accumulator\n"},
        {"last_row_not_stored", "coded", "  by      nobody: the cell was never stored\n"},
        {"last_row_not_stored", "coded", "UNWRITTEN q4_K/pad40/"},
        {"sda_q_tiled_by_16", "rand", " of them were never stored\n"},
        {"k_halves_exchanged", "rand", "  holds   k xor 16 in place of k, in the right token\n"},
        {"k_halves_exchanged", "coded",
         "k xor 16 in place of k, in the right token (or token j + 16 in place of token"},
        {"k_halves_exchanged", "rand", "  suspect matrices of ldmatrix exchanged: those of k 0-15 and 16-31\n"},
        {"warp_offset_dropped", "coded", "  holds   row j mod 16 in place of row j\n"},
        {"warp_offset_dropped", "coded", "registers of operand b wrong, in warps 1 2 3 4 5 6 7\n"},
        {"accumulator_not_cleared", "adv", "  holds   the accumulator began at 1, and must begin at 0\n"},
        {"scale_warp_offset_dropped", "coded", "consumed the scales of row j mod 16 and the codes of row j"},
        {"scale_load_word_off", "exact", "  scales  weight.ds read 4 bytes before its place in plane sds"},
        {"store_fragment_transposed", "coded", "  holds   the value of token 8, row 0\n"},
        {"store_fragment_transposed", "coded", "  suspect accumulators of one thread exchanged in the store\n"},
        {"fault_in_every_stage", "rand", "\nfault 5 of 5: store\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        expect_result(run_command("explain --quick --plant %s " CASE8, rows[i].plant, rows[i].data), 1, rows[i].says);
    }
    /* a store that takes accumulators of cells that do not exist, where all that do are of one token */
    expect_result(run_command("explain --quick --plant store_fragment_transposed "
                              "q4_K/pad40/mmq_wide_ldb_kd8/nt1.od70.id512/rand/s1"),
                  1, "  holds   a value whose accumulator is of no cell: past the last token or row\n");
}

/* ---- other kernels ---- */

Test(explain, kernels_with_plain_buffers) {
    struct result r = run_command("explain tests/foreign/tile.yaml");
    cr_expect(r.code == 0 && stage_is(r.text, "staging", "ok     12600 bytes\n") &&
                  stage_is(r.text, "fragments", "not judged: tests/foreign/tile.yaml has no `mma`\n") &&
                  stage_is(r.text, "rescale", "not judged: there is no contract\n"),
              "exit %d:\n%s", r.code, r.text);
    free(r.text);
    expect_result(run_command("explain \"$PWD\"/tests/foreign/tile.yaml"), 0,
                  "not judged: tests/foreign/tile.yaml has no `mma`\n");
    r = run_command("explain tests/foreign/tile_wrong.yaml");
    cr_expect(r.code == 1 && stage_is(r.text, "staging", "WRONG ") && strstr(r.text, "tests/foreign/tile.cu:13  st.") &&
                  strstr(r.text, "plane tile at (r 0, c 0), which must hold x[0]; block (0,0,0), stage 0\n") &&
                  strstr(r.text, "\n  holds   x[1395]\n"),
              "exit %d:\n%s", r.code, r.text);
    free(r.text);
    r = run_command("explain tests/foreign/dot.yaml");
    cr_expect(
        r.code == 0 && stage_is(r.text, "staging", "not judged: no plane of tests/foreign/dot.yaml has `content`") &&
            stage_is(r.text, "fragments", "ok     576 registers\n") && stage_is(r.text, "sums", "ok     384 sums\n"),
        "exit %d:\n%s", r.code, r.text);
    free(r.text);
    r = run_command("explain tests/foreign/dot_wrong.yaml --set depth=64");
    cr_expect(r.code == 1 && stage_is(r.text, "fragments", "WRONG  128 of 384 registers, 1 fault\n") &&
                  stage_is(r.text, "sums", "ok ") && strstr(r.text, "byte 0 of lane 0 must hold b[0]\n") &&
                  line_has(r.text, "  rerun ", "explain tests/foreign/dot_wrong.yaml --set depth=64"),
              "exit %d:\n%s", r.code, r.text);
    free(r.text);
    r = run_command("explain tests/foreign/dot_wrong.yaml --arch sm_121 --set depth=64 --quick");
    cr_expect(r.code == 1 && line_has(r.text, "  rerun ",
                                      "explain --quick --arch sm_121 tests/foreign/dot_wrong.yaml --set depth=64"),
              "exit %d:\n%s", r.code, r.text);
    free(r.text);
}

/* Each row: a launch file and what its answer says, and what it must not say. */
Test(explain, faults_are_told_apart) {
    static const struct {
        const char *file;
        int code;
        const char *says, *never;
    } rows[] = {
        {"two_puts", 1, "staging    WRONG  510 of 512 bytes, 2 faults\n", "another plane"},
        {"two_puts", 1, "site    tests/foreign/staged.cu:5 (inlined at tests/foreign/staged.cu:10)  st.shared", NULL},
        {"two_puts", 1, "site    tests/foreign/staged.cu:5 (inlined at tests/foreign/staged.cu:11)  st.shared", NULL},
        {"two_puts", 1, "holds   b[3]\n  by      block (0,0,0) warp 0 lane 0 stored it last\n", NULL},
        {"late_wait", 1, "by      block (0,0,0) warp 0 lane 0 copies to it, and the copy is still in flight at this",
         "stored it last"},
        {"late_wait", 1, "suspect the count of cp.async.wait_group is too high, the wait comes after the barrier",
         NULL},
        {"one_barrier", 1,
         "staging    not judged: block (0,0,0) opened 3 barriers, and `stages` of tests/foreign/one_barrier.yaml has "
         "it come to 5 for 3 stages\n",
         "fault 1"},
        {"one_barrier", 1,
         "\nto be mended first: a race, which leaves open what is read\n  hazard  4-byte load at byte 124 of plane p "
         "races",
         "what the launch file must tell"},
        {"barriers_after", 1,
         "staging    not judged: block (0,0,0) holds stage 2 at the barrier where `stages` of "
         "tests/foreign/barriers_after.yaml has stage 1 full, and the run has a race",
         "fault 1"},
        {"leaves", 1,
         "staging    ok     768 bytes; 1 of 2 blocks not judged: block (1,0,0) opened 0 barriers, and `stages` of",
         NULL},
        {"read_early", 1, "fragments  not judged: the run has a race, to be mended first: ", "fault 1"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        struct result r = run_command("explain tests/foreign/%s.yaml", rows[i].file);
        cr_expect(r.code == rows[i].code && strstr(r.text, rows[i].says), "%s: exit %d, no \"%s\" in:\n%s",
                  rows[i].file, r.code, rows[i].says, r.text);
        cr_expect(rows[i].never == NULL || strstr(r.text, rows[i].never) == NULL, "\"%s\" in:\n%s", rows[i].never,
                  r.text);
        free(r.text);
    }
    expect_result(run_command("explain tests/foreign/leaves.yaml --json /dev/stdout"), 1,
                  "\"wrong\": 0, \"rest\": \"1 of 2 blocks not judged: block (1,0,0) opened 0 barriers");
}

/* The project's kernel without the first of its two barriers a stage: its planes are read while they are filled. */
Test(explain, a_missing_barrier_is_no_fault_of_the_stores, .init = make_folder, .fini = remove_folder) {
    char *command = must_format("awk '/[.]entry mmq_wide_ldb_kd8/ {inside = 1} /bar.sync/ && inside {inside = 0; next} "
                                "{print}' fixtures/ptx/mmq_wide_ldb.ptx > "
                                "%s/in.ptx && sed 's,^source: .*,ptx: in.ptx,' gpu/kernels/mmq_wide_ldb_kd8.yaml > "
                                "%s/in.yaml",
                                run_folder, run_folder);
    cr_assert(system(command) == 0);
    struct result r = run_command("explain %s/in.yaml --set nt=70 --set od=90 --set id=512", run_folder);
    cr_expect(r.code == 1 && strstr(r.text, "  staging    not judged: block (0,0,0) opened 2 barriers, and ") &&
                  strstr(r.text, "\nto be mended first: a race") && !strstr(r.text, "\nfault "),
              "exit %d:\n%s", r.code, r.text);
    free(r.text);
    free(command);
}

Test(explain, cells_that_may_hold_anything, .init = make_folder, .fini = remove_folder) {
    char *command = must_format("sed -e 's,when: .*,when: 0,' -e \"s,^ptx: ,ptx: $PWD/tests/foreign/,\" "
                                "tests/foreign/tile.yaml > %s/in.yaml",
                                run_folder);
    cr_assert(system(command) == 0);
    expect_result(run_command("explain %s/in.yaml", run_folder), 3,
                  "staging    not judged: every cell of the planes may hold anything, as `when` and `outside` say\n");
    free(command);
}

Test(explain, fields_that_a_format_does_not_have, .init = make_folder, .fini = remove_folder) {
    static const char *const fields[] = {"scale", "min", "dmin", "dm"};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; ++i) {
        char *command = must_format(
            "printf 'kernel: f\\nptx: %s/in.ptx\\ncontract: q4_0_pad40\\nshape: {nt: 1, od: 1, id: 64}\\n"
            "launch: {grid: [1], block: [32], shared: 64}\\nargs:\\n  - {in: weight, format: q4_0}\\n"
            "  - {in: activation, format: pad40}\\n  - {out: result, type: f32}\\nplanes:\\n"
            "  - {name: p, bytes: 64, dims: {t: 1}, strides: [4], content: {value: weight.%s, row: 0, k: 0}}\\n' > "
            "%s/in.yaml; printf '.version 7.0\\n.target sm_80\\n.address_size 64\\n.visible .entry f(.param .u64 "
            "a, .param .u64 b, .param .u64 c)\\n{ ret; }\\n' > %s/in.ptx",
            run_folder, fields[i], run_folder, run_folder);
        cr_assert(system(command) == 0);
        char *says =
            must_format("in.yaml:11:%zu: weight.%s: the operand's format does not have it\n",
                        strlen("  - {name: p, bytes: 64, dims: {t: 1}, strides: [4], content: {value: weight., "
                               "row: ") +
                            strlen(fields[i]) + 1,
                        fields[i]);
        expect_result(run_command("explain %s/in.yaml", run_folder), 2, says);
        free(says);
        free(command);
    }
}

Test(explain, buffers_that_take_turns) {
    struct result r = run_command("explain tests/foreign/ring.yaml");
    cr_expect(r.code == 0 && stage_is(r.text, "staging", "ok     640 bytes\n"), "exit %d:\n%s", r.code, r.text);
    free(r.text);
    r = run_command("explain tests/foreign/ring_wrong.yaml --set steps=2");
    cr_expect(r.code == 1 && stage_is(r.text, "staging", "WRONG ") &&
                  strstr(r.text, "plane ring at (buffer 0, t 0), which must hold x[0]; block (0,0,0), stage 0\n") &&
                  strstr(r.text, "\n  holds   x[1]\n") && line_has(r.text, "  site ", "  cp.async."),
              "exit %d:\n%s", r.code, r.text);
    free(r.text);
}

Test(explain, what_cannot_be_judged_says_why) {
    expect_result(run_command("explain tests/foreign/iota.yaml"), 3,
                  "  no stage could be judged: docs/explain.md says what the launch file must tell\n");
    expect_result(run_command("explain gpu/kernels/quantize_pad40.yaml --set nt=3 --set id=64"), 0,
                  "  rescale    ok     60 cells\n  store      ok     60 cells\n");
    expect_result(run_command("explain tests/foreign/spin.yaml"), 2, "a block ran past its budget");
    expect_result(run_command("explain tests/foreign/spin.yaml"), 2,
                  "  no stage could be judged: the launch did not run to its end\n");
    struct result r =
        run_command("explain --quick gpu/kernels/mmq_wide_raw_kd8.yaml --set nt=128 --set od=64 --set id=256 "
                    "--data rand --arch sm_121");
    for (size_t k = 0; k < STAGES; ++k) {
        cr_expect(stage_is(r.text, stage_names[k], "not judged: the launch was refused, and nothing was run\n"), "%s",
                  r.text);
    }
    cr_expect(!strstr(r.text, "what the launch file must tell"), "%s", r.text);
    expect_result(r, 1, "  no stage could be judged: the launch was refused, and nothing was run\n");
    expect_result(run_command("explain tests/foreign/unknown.yaml"), 2, "unknown instruction `tex.frobnicate.u32");
    expect_result(run_command("explain tests/foreign/wrong.yaml"), 1, "DIFFERS run/double_i32/s1\n");
}

/* Planes of binary16, which two copies fill in turns. */
Test(explain, planes_of_binary16) {
    expect_result(run_command("explain --quick f16/f16/gemm_f16/nt65.od33.id96/coded/s1"), 0,
                  "  staging    ok     49152 bytes\n");
    /* copies read ahead of their wait are a race: it is said first, and what was read is judged in no stage */
    struct result r = run_command("explain --quick --plant gemm_f16_no_wait f16/f16/gemm_f16/nt65.od33.id96/coded/s1");
    cr_expect(stage_is(r.text, "staging", "not judged: block (0,0,0) holds stage 0 ") &&
                  stage_is(r.text, "rescale", "ok"),
              "%s", r.text);
    expect_result(r, 1, "HAZARD f16/f16/gemm_f16/nt65.od33.id96/coded/s1\n");
    r = run_command("explain --quick --plant gemm_f16_half_the_depth f16/f16/gemm_f16/nt65.od33.id96/coded/s1");
    cr_expect(stage_is(r.text, "staging", "ok"), "%s", r.text);
    expect_result(r, 1, "the result is wrong, and so may be fragments or sums, which were not judged");
}

/* A launch file that says too late a barrier: staging is not judged, and wrong bits are laid to no stage. */
Test(explain, stages_that_never_come, .init = make_folder, .fini = remove_folder) {
    char *command = must_format("sed -e \"s,full_at: 2 \\* s + 1,full_at: 2 * s + 100,\" -e \"s,^source: .*,ptx: $PWD/"
                                "fixtures/ptx/plants/scale_load_word_off.ptx,\" gpu/kernels/mmq_wide_ldb_kd8.yaml > "
                                "%s/in.yaml",
                                run_folder);
    cr_assert(system(command) == 0);
    struct result r = run_command("explain --quick %s/in.yaml --set nt=3 --set od=5 --set id=256", run_folder);
    cr_expect(r.code == 1 &&
                  stage_is(r.text, "staging", "not judged: block (0,0,0) opened 2 barriers, and `stages` of ") &&
                  stage_is(r.text, "rescale",
                           "not judged: the result is wrong, and so may be fragments or sums, which were not judged"),
              "exit %d:\n%s", r.code, r.text);
    free(r.text);
    free(command);
}

/* A row of a plane is said to be 32 bytes, and is 48: the stages differ from the launch file, and the result is right.
 * So it is where a fault reaches no cell, and not where there is no right result, or it is wrong. */
Test(explain, stages_that_the_launch_file_has_wrong, .init = make_folder, .fini = remove_folder) {
    static const char says[] =
        "\nthe result is right as it runs: the launch file's `planes`, `stages` or `mma` describe "
        "another layout, or these operands hide the fault\n";
    char *command = must_format(
        "sed -e 's/stride: 48/stride: 32/' -e 's/.6144, 48, 1./[4096, 32, 1]/' -e \"s,^source: .*,ptx: $PWD/"
        "fixtures/ptx/mmq_wide_ldb.ptx,\" gpu/kernels/mmq_wide_ldb_kd8.yaml > %s/in.yaml",
        run_folder);
    cr_assert(system(command) == 0);
    free(command);
    struct result r = run_command("explain --quick %s/in.yaml --set nt=70 --set od=70 --set id=256", run_folder);
    cr_expect(stage_is(r.text, "staging", "WRONG ") && stage_is(r.text, "store", "ok "), "%s", r.text);
    expect_result(r, 1, says);
    expect_result(run_command("explain --quick --plant warp_offset_dropped '*/mmq_wide_ldb_kd8/nt1.od1.id256/rand/s1'"),
                  1, says);
    static const char *const others[] = {"--plant warp_offset_dropped '*/mmq_wide_ldb_kd8/nt70.od70.id256/rand/s1'",
                                         "'*/mmq_wide_ldb_kd8/nt70.od70.id256/rand/s1'",
                                         "tests/foreign/tile_wrong.yaml"};
    for (size_t i = 0; i < sizeof others / sizeof *others; ++i) {
        r = run_command("explain --quick %s", others[i]);
        cr_expect(strstr(r.text, "  staging ") && !strstr(r.text, "the result is right"), "%s:\n%s", others[i], r.text);
        free(r.text);
    }
}

/* ---- the command ---- */

Test(explain, json, .init = make_folder, .fini = remove_folder) {
    struct result r =
        run_command("explain --quick --plant scale_load_word_off " CASE8 " --json %s/out.json; tail -n 1 %s/out.json",
                    "coded", run_folder, run_folder);
    static const char *const says[] = {
        "\n{\"case\": \"q4_K/pad40/mmq_wide_ldb_kd8/nt129.od70.id512/coded/s1\", ",
        "\"verdict\": \"DIFFERS\", \"stages\": [{\"stage\": \"staging\", \"ruling\": \"clean\", \"unit\": \"bytes\", "
        "\"compared\": 311296, \"wrong\": 0}, ",
        "{\"stage\": \"rescale\", \"ruling\": \"found\", \"unit\": \"cells\", \"compared\": 9030, \"wrong\": 4515}, ",
        "\"faults\": [{\"oracle\": \"rescale\", \"verdict\": \"DIFFERS\", ",
        "weight.ds read 4 bytes before its place in plane sds",
        "\"findings\": [{\"oracle\": \"parity\", ",
    };
    for (size_t i = 0; i < sizeof says / sizeof *says; ++i) {
        cr_expect(strstr(r.text, says[i]) != NULL, "no %s in:\n%s", says[i], r.text);
    }
    free(r.text);
    expect_result(run_command("explain tests/foreign/dot.yaml --json /dev/stdout"), 0,
                  "{\"stage\": \"staging\", \"ruling\": \"not judged\", \"why\": \"no plane of tests/foreign/dot.yaml "
                  "has `content`\"}");
    expect_result(run_command("explain tests/foreign/dot.yaml --json tests/foreign/dot.yaml"), 2, "dot.yaml");
    expect_result(run_command("explain tests/foreign/dot.yaml --json %s/no/such/folder", run_folder), 2, "no/such");
}

/* A case of which no stage can be judged is exit 3, and no error. */
Test(explain, a_case_without_stages) {
    struct result r = run_command("explain --quick '*/mmq_llama_q8_0_j40_streamk/nt39.od128.id384/exact/s1'");
    cr_expect(strstr(r.text, "warpproof explain:") == NULL, "%s", r.text);
    expect_result(r, 3, "PASS q8_0/q8_1_mmq_d4/mmq_llama_q8_0_j40_streamk/nt39.od128.id384/exact/s1\n");
}

Test(explain, bad_arguments) {
    expect_result(run_command("explain"), 2, "want one case or launch file");
    expect_result(run_command("explain a b"), 2, "want one case or launch file");
    expect_result(run_command("explain nosuch"), 3, "no case matches 'nosuch'");
    expect_result(run_command("explain mmq_wide_ldb_kd4"), 2, "cases, and explain takes one: such as q4_K/pad40/");
    expect_result(run_command("explain tests"), 2, "tests: no case, and no launch file, whose name ends in .yaml");
    expect_result(run_command("explain /dev/null"), 2, "/dev/null: no case, and no launch file");
    expect_result(run_command("explain gpu/kernels/mmq_wide_ldb_kd8.yaml --set nt=8192 --set od=8192 --set id=5888"), 2,
                  "more than 8589934592 bytes of planes to compare (98304 in each of 23 stages of 4096 blocks)");
    expect_result(run_command("explain tests/foreign/nosuch.yaml"), 2, "tests/foreign/nosuch.yaml");
    expect_result(run_command("explain --plant nosuch " CASE8, "coded"), 2, "nosuch");
    expect_result(run_command("explain --plant uninit_shared " CASE8, "coded"), 2, "uninit_shared");
    expect_result(run_command("explain --plant three_faults_at_once q4_K/pad40/mmq_wide_ldb_kd4/nt1.od1.id256/adv/s1"),
                  2, "plant three_faults_at_once is none of kernel mmq_wide_ldb_kd4");
    expect_result(run_command("explain --plant three_faults_at_once tests/foreign/dot.yaml"), 2, "goes with a case");
    expect_result(run_command("explain --seed 2 " CASE8, "coded"), 2, "go with a launch file");
    expect_result(run_command("explain --seed x tests/foreign/dot.yaml"), 2, "want an integer");
    expect_result(run_command("explain --data odd tests/foreign/dot.yaml"), 2, "want exact, coded, adv or rand");
    expect_result(run_command("explain --data adv tests/foreign/dot.yaml"), 2,
                  "tests/foreign/dot.yaml: --data: there is no contract");
    expect_result(run_command("explain --set depth=x tests/foreign/dot.yaml"), 2, "want NAME=INTEGER");
    expect_result(run_command("explain --set nosuch=1 tests/foreign/dot.yaml"), 2, "nosuch");
    expect_result(run_command("explain --nosuch"), 2, "--nosuch");
    expect_result(run_command("explain --help"), 0, "usage: warpproof explain CASE");
}
