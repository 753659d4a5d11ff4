/* warpproof explain: which suspects it names, in which order, and which observations speak for each; several mistakes
 * at once are several suspects, one mistake is one, and a right kernel has none. */
#include "../oracles/suspects.h"
#include "../ref/checked.h"
#include "command_run.h"
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* The section of the suspects: from its head to the next empty line, or the end. */
static char *section_of(const char *text) {
    const char *from = strstr(text, "\nsuspects: "), *to = from != NULL ? strstr(from + 1, "\n\n") : NULL;
    return from == NULL ? must_strdup("")
                        : must_format("%.*s", (int)(to != NULL ? to - from : (long)strlen(from)), from);
}

static size_t suspects_in(const char *section) {
    size_t n = 0;
    for (const char *at = section; (at = strchr(at, '\n')) != NULL; ++at) {
        n += at[1] == ' ' && at[2] == ' ' && at[3] >= '1' && at[3] <= '9' && at[4] == ' ';
    }
    return n;
}

/* Parts, separated by '|', each of which the section has, one after the other. */
static void expect_suspects(struct result r, int code, size_t count, const char *parts) {
    char *section = section_of(r.text), *copy = must_strdup(parts), *rest = copy;
    const char *at = section;
    cr_expect(r.code == code && suspects_in(section) == count, "exit %d, %zu suspects, and not %zu:\n%s", r.code,
              suspects_in(section), count, r.text);
    for (char *part; (part = strsep(&rest, "|")) != NULL;) {
        const char *found = at != NULL ? strstr(at, part) : NULL;
        cr_expect(found != NULL, "no \"%s\", or not there, in:\n%s", part, section);
        at = found != NULL ? found + strlen(part) : at;
    }
    free(copy);
    free(section);
    free(r.text);
}

/* ---- one mistake ---- */

/* A row for each rule of docs/explain.md. */
static const struct {
    const char *plant, *shape; /* the case, by kernel, sizes and class */
    bool quick;
    const char *says;
} plants[] = {
    /* a store that leaves its plane: what it spoils elsewhere, what lacks in its own plane, and the guard */
    {"sda_q_tiled_by_16", "mmq_wide_ldb_kd8/nt70.od70.id256/rand", false,
     "  1  a stride or tile larger than the plane was sized for|why  guard |why  canary |why  hazard |why  uninit "
     "|why  staging |why  parity "},
    {"tokens_counted_from_one", "mmq_wide_sync_kd4/nt70.od70.id256/rand", false,
     "why  guard |why  canary |why  staging "},
    /* a load past its buffer feeds the store of the staging */
    {"bytes_added_to_a_word_pointer", "mmq_half_t/nt65.od70.id256/rand", true,
     "at   gpu/kernels/mmq_half_t.cu:|why  guard |why  staging |why  parity "},
    /* accesses of a buffer of results, out of bounds and over each other */
    {"chunk_stride_doubled", "quantize_pad40_t/nt1.id64/rand", false,
     "why  guard |why  coverage |why  schedule |why  store |from gpu/kernels/quantize_pad40_t.cu:1"},
    /* one barrier, many places that race; the orders leave other bytes */
    {"buffer_refilled_while_read", "mmq_wide_raw_kd4/nt70.od70.id512/rand", true,
     "  1  the copy overwrites what others may still use|why  hazard |why  hazard |why  hazard     and |why  schedule "
     "|why  parity |look what orders it and gpu/kernels/"},
    /* a wait that is gone: the copy is still in flight where the plane must be full */
    {"copies_not_waited_for", "mmq_narrow_raw_kd8/nt63.od70.id512/rand", true, "why  hazard |why  staging "},
    {"half_q6_copies_not_waited_for", "mmq_half_q6_k_dsc/nt1.od2.id256/rand", true, "why  hazard |why  hazard "},
    /* bytes that nobody has stored are those that are read */
    {"half_of_a_plane_staged", "mmq_half_raw/nt1.od1.id256/rand", true, "why  uninit |why  staging "},
    /* a load that feeds what is wrong later */
    {"thread_for_lane", "mmq_wide_rank1_kd4/nt70.od70.id256/rand", true, "why  uninit |why  rescale "},
    {"second_half_by_rows", "mmq_wide_raw_kd4/nt70.od70.id256/rand", true, "why  uninit |why  fragments "},
    {"word_tail_of_stage_multiplied", "mmq_word_q5_0_kd8/nt129.od70.id288/rand", true,
     "  1  loop bound of the mma|why  uninit |why  sums "},
    /* two stores of what one load has brought */
    {"nibbles_exchanged", "mmq_wide_ldb_kd8/nt70.od70.id256/rand", true, "why  staging |why  staging |why  parity "},
    /* the stages, and the line that the address is made at */
    {"warp_offset_dropped", "mmq_wide_ldb_kd8/nt70.od70.id256/coded", false,
     "operand b: row j mod 16 in place of row j\n|     call gpu/kernels/mmq_wide_ldb.cu:65\n|why  fragments |why  "
     "parity "
     "|why  probe |why  classes |why  shapes |(called at gpu/kernels/mmq_wide_ldb.cu:46)\n"},
    {"accumulator_not_cleared", "mmq_wide_ldb_kd8/nt70.od70.id256/rand", true, "why  sums |why  parity "},
    {"scale_warp_offset_dropped", "mmq_wide_ldb_kd8/nt70.od70.id256/rand", true,
     "  1  offset in the address of the scales\n|why  rescale |why  probe "},
    /* what is not stored: the store that is done elsewhere, and what decides it */
    {"last_row_not_stored", "mmq_wide_ldb_kd8/nt70.od70.id256/rand", true,
     "why  store |why  coverage |look the mask and the bounds of this store|from gpu/kernels/fragment.cuh:48 (called "
     "at"},
    /* no stage tells: the counts, the classes */
    {"depth_capped", "mmq_wide_sync_kd4/nt70.od70.id512/rand", false,
     "  1  k left out: a loop bound, or a tail: products\n|why  probe      products: k 256..511 consumed nothing\n|why "
     " parity "
     "|why  census "},
    {"half_q6_halves_folded_together", "mmq_half_q6_k_staged_kd4/nt37.od77.id256/rand", false,
     "  1  rounding, fusion or order of the sums|why  rescale |exact PASS, coded DIFFERS, adv DIFFERS, rand DIFFERS   "
     "-> exact is right"},
    {"llama_small_scales_flushed", "mmq_llama_q4_k_j16/nt17.od129.id256/adv", false,
     "  1  zero blocks, subnormal or extreme scales|-> adv alone: "},
    {"compact_scale_words_of_tile_0", "mmq_wide_compact_kd8/nt129.od1.id256/rand", false,
     "why  shapes |-> one tile is right, several whole ones are not: the place of a block"},
};

static void expect_plants(size_t from, size_t step) {
    for (size_t i = from; i < sizeof plants / sizeof *plants; i += step * command_stride()) {
        expect_suspects(run_command("explain %s--plant %s '*/%s/s1'", plants[i].quick ? "--quick " : "",
                                    plants[i].plant, plants[i].shape),
                        1, 1, plants[i].says);
    }
}

Test(explain_suspects, one_mistake_is_one_suspect, .timeout = 600) {
    expect_plants(0, 2 * command_stride());
}

Test(explain_suspects, one_mistake_is_one_suspect_too, .timeout = 600) {
    expect_plants(1, 2 * command_stride());
}

/* ---- several ---- */

Test(explain_suspects, three_at_once_are_three) {
    expect_suspects(
        run_command("explain --quick --plant three_faults_at_once '*/mmq_wide_ldb_kd8/nt70.od70.id256/rand/s1'"), 1, 3,
        "suspects: 3, what is to be mended first ahead\n"
        "  1  a stride or tile larger than the plane was sized for: the stores reach into another plane "
        "(plane sda_q)\n     at   gpu/kernels/stage_pad40.cuh:61 |why  guard |why  hazard |why  uninit |why  "
        "staging |  2  row offset in the address of the fragment's load, operand a: token j - 8 in place of "
        "token j\n     at   gpu/kernels/ptx_asm.cuh:24 |why  fragments |  3  word offset in the load of the "
        "scales|why  rescale |weight.ds read 4 bytes before its place in plane sds");
    expect_suspects(
        run_command("explain --quick --plant fault_in_every_stage '*/mmq_wide_ldb_kd8/nt70.od70.id256/rand/s1'"), 1, 5,
        "  1  |why  staging |  2  |why  fragments |  3  |why  sums |  4  |why  rescale |  5  |why  store ");
}

/* A kernel without a contract: wrong results that two lines store are two suspects, each with what its own cells say.
 */
Test(explain_suspects, results_of_two_stores_stay_apart) {
    expect_suspects(run_command("explain tests/foreign/three_results.yaml"), 1, 3,
                    "  1  the right element with other arithmetic, or another index: x\n     at   "
                    "tests/foreign/results.cu:7 |why  probe      x: b[i] consumed |why  parity     32 of 64 wrong|  2  "
                    "another index: x\n     at   tests/foreign/results.cu:8 |why  probe      x: c[i] consumed |why  "
                    "parity     all 64 cells wrong|  3  layout, index or scale (a)\n     at   "
                    "tests/foreign/results.cu:6 |why  parity     9 of 64 wrong: every cell with cell mod 7 = 3\n");
    expect_suspects(run_command("explain --quick tests/foreign/three_results.yaml"), 1, 3,
                    "layout, index or scale (c)|layout, index or scale (b)|layout, index or scale (a)");
    expect_suspects(run_command("explain tests/foreign/two_of_one.yaml"), 1, 1,
                    "at   tests/foreign/results.cu:15 |a[i] consumed |b[i] consumed |why  parity |why  parity ");
}

/* A pattern is one of the cases of the plant's kernel. */
Test(explain_suspects, pattern_of_a_plant) {
    struct result r = run_command("explain --quick --plant warp_offset_dropped nt70.od70.id256/coded");
    cr_expect(r.code == 1 && strncmp(r.text, "DIFFERS q4_K/pad40/mmq_wide_ldb_kd8/nt70.od70.id256/coded/s1\n", 61) == 0,
              "exit %d:\n%s", r.code, r.text);
    free(r.text);
    expect_result(run_command("explain --plant warp_offset_dropped coded"), 2,
                  "cases of the kernel of plant warp_offset_dropped, and explain takes one: such as "
                  "q4_K/pad40/mmq_wide_ldb_kd8/");
    expect_result(run_command("explain --plant warp_offset_dropped mmq_narrow_raw"), 3,
                  "no case of kernel 'mmq_wide_ldb_kd8' is selected, which plant warp_offset_dropped is of");
    expect_result(run_command("explain --plant nosuch coded"), 2, "nosuch");
}

/* More mistakes by hand in the PTX of a plant. */
static void expect_edited(const char *plant, const char *edit, size_t count, const char *says) {
    char *command = must_format("%s fixtures/ptx/plants/%s.ptx > %s/in.ptx && sed 's,^source: .*,ptx: in.ptx,' "
                                "gpu/kernels/mmq_wide_ldb_kd8.yaml > %s/in.yaml",
                                edit, plant, run_folder, run_folder);
    cr_assert(system(command) == 0);
    expect_suspects(
        run_command("explain --quick %s/in.yaml --set nt=33 --set od=70 --set id=512 --data rand", run_folder), 1,
        count, says);
    free(command);
}

#define OTHER_REGISTERS "s/(mma[.]sync[^{]*[{][^}]*[}], [{][^,]*), ([^,]*), ([^,]*), /\\1, \\3, \\2, /"
#define OTHER_TYPE      "s/[.]s32[.]s8[.]s8[.]s32/.s32.u8.s8.s32/"

Test(explain_suspects, faults_of_other_stages_stay_apart, .init = make_folder, .fini = remove_folder) {
    expect_edited(
        "scale_store_word_off", "sed -E '" OTHER_REGISTERS ";" OTHER_TYPE "'", 3,
        "  1  |(plane sds)\n|why  staging |  2  |operand a|why  fragments |  3  type of the operands of the mma"
        "|why  sums ");
    expect_edited("last_row_not_stored", "sed -E '" OTHER_REGISTERS "'", 2,
                  "  1  |why  fragments |  2  tail mask|why  store |why  coverage ");
}

/* What a race leaves open is laid to no line; what nobody stores is nobody's race. */
Test(explain_suspects, a_race_comes_first_and_hides_no_hole, .init = make_folder, .fini = remove_folder) {
    expect_edited("last_row_not_stored",
                  "awk '/[.]entry mmq_wide_ldb_kd8/ {i = 1} /bar.sync/ && i {i = 0; next} {print}'", 2,
                  "  1  a missing __syncthreads()|why  hazard |why  schedule |why  parity |  2  tail: |why  coverage ");
}

/* ---- none ---- */

Test(explain_suspects, right_kernels_have_none, .timeout = 600) {
    static const char *const cases[] = {"*/mmq_wide_ldb_kd8/nt1.od1.id256/adv/s1",
                                        "*/mmq_half_raw/nt1.od1.id256/rand/s1",
                                        "*/mmq_llama_q8_0_j8/nt1.od1.id256/rand/s1",
                                        "*/matvec_q4_0/nt1.od1.id32/exact/s1",
                                        "*/mmq_half_q6_k_dsc/nt1.od2.id256/coded/s1",
                                        "*/quantize_pad40_t/nt1.id64/rand/s1",
                                        "*/gemm_f16/nt1.od1.id32/rand/s1"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i += command_stride()) {
        struct result r = run_command("explain '%s'", cases[i]);
        char *section = section_of(r.text);
        cr_expect(r.code % 3 == 0 && strncmp(section, "\nsuspects: none\n", 16) == 0 &&
                      strstr(section, "\n  schedule   in-order, reversed and random:1 leave the same bytes\n") != NULL,
                  "%s: exit %d\n%s", cases[i], r.code, r.text);
        free(section);
        free(r.text);
    }
}

/* ---- data and shapes ---- */

/* This case is right, and the kernel is not. */
Test(explain_suspects, other_data_of_the_same_shape) {
    expect_suspects(
        run_command("explain --plant llama_small_scales_flushed "
                    "'*/mmq_llama_q4_k_j16/nt17.od129.id256/exact/s1'"),
        1, 1,
        "  1  not of this case, which is right: zero blocks, subnormal or extreme scales|why  classes    adv "
        "DIFFERS: |exact PASS, coded PASS, adv DIFFERS, rand PASS");
    expect_suspects(run_command("explain --quick --plant llama_small_scales_flushed "
                                "'*/mmq_llama_q4_k_j16/nt17.od129.id256/exact/s1'"),
                    0, 0, "suspects: none");
}

/* What has nothing to judge by says so. */
Test(explain_suspects, what_was_not_there_is_said) {
    struct result r = run_command("explain tests/foreign/tile.yaml");
    char *section = section_of(r.text);
    cr_expect_str_eq(section,
                     "\nsuspects: none\n"
                     "  schedule   in-order, reversed and random:1 leave the same bytes\n"
                     "  canary     no canary build of this program\n"
                     "  census     the launch file has no `counts`: nothing to compare what was executed with\n"
                     "  rerun      build/warpproof explain tests/foreign/tile.yaml\n");
    free(section);
    free(r.text);
}

/* ---- the report ---- */

Test(explain_suspects, json) {
    expect_result(
        run_command("explain --quick --plant warp_offset_dropped '*/mmq_wide_ldb_kd8/nt70.od70.id256/rand/s1' "
                    "--json /dev/stdout"),
        1,
        "\"suspects\": [{\"kind\": \"fragments\", \"title\": \"the offset of the warp or the tile is missing "
        "from the address of the fragment's load, operand b: row j mod 16 in place of row j\", \"place\": "
        "\"gpu/kernels/ptx_asm.cuh:24 ");
}
