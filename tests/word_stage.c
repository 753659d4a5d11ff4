/* The word-stage kernels of eight formats and the compact rung (gpu/kernels/word_tile.cuh, mmq_wide_compact.cu). */
#include "command_run.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const formats[] = {"q4_k", "q5_k", "q6_k", "q4_0", "q4_1", "q5_0", "q5_1", "q8_0"};
enum { FORMATS = 8, K_QUANTS = 3 };

static void all_stages_are_right(const char *kernel, const char *shape) {
    struct result r = run_command("explain --quick 'gpu/kernels/%s.yaml' --data rand %s", kernel, shape);
    cr_expect(r.code == 0, "%s %s: exit %d:\n%s", kernel, shape, r.code, r.text);
    static const char *const stages[] = {"staging    ok ", "fragments  ok ", "sums       ok ", "rescale    ok ",
                                         "store      ok "};
    for (size_t i = 0; i < sizeof stages / sizeof *stages; ++i)
        cr_expect(strstr(r.text, stages[i]) != NULL, "%s %s: not '%s':\n%s", kernel, shape, stages[i], r.text);
    free(r.text);
}

Test(word_stage, every_plane_and_fragment_is_what_the_launch_file_says, .timeout = 600) {
    char name[32];
    for (int i = 0; i < FORMATS; i += (int)command_stride()) {
        for (int kd = 4; kd <= 8; kd += 4) {
            snprintf(name, sizeof name, "mmq_word_%s_kd%d", formats[i], kd);
            all_stages_are_right(name, i < K_QUANTS ? "--set nt=65 --set od=97 --set id=768"
                                                    : "--set nt=65 --set od=97 --set id=416");
        }
    }
    all_stages_are_right("mmq_wide_compact_kd8", "--set nt=129 --set od=97 --set id=768");
}

/* Stages of which a part is past the depth; tests/ladder.c has the others. */
Test(word_stage, closed_forms_hold_in_parts_of_a_stage) {
    static const int depths[] = {32, 160, 288};
    for (int i = K_QUANTS; i < FORMATS; i += (int)command_stride())
        for (int kd = 4; kd <= 8; kd += 4)
            for (size_t d = 0; d < sizeof depths / sizeof *depths; ++d)
                expect_result(run_command("census mmq_word_%s_kd%d --set nt=65 --set od=70 --set id=%d", formats[i], kd,
                                          depths[d]),
                              0, "multiply-adds by mma");
}

Test(word_stage, depths_of_no_whole_block_are_refused) {
    for (int i = 0; i < FORMATS; ++i)
        expect_result(run_command("run gpu/kernels/mmq_word_%s_kd8.yaml --set nt=1 --set od=1 --set id=%d --data rand",
                                  formats[i], i < K_QUANTS ? 32 : 48),
                      2, "needs");
}

/* Two stages of 8 chunks of a tile of 128x64: refused with blocks as they are, and not with the quants apart. */
Test(word_stage, the_compact_arena_fits_the_campaigns_gpu) {
    expect_result(
        run_command("run gpu/kernels/mmq_wide_compact_kd8.yaml --set nt=129 --set od=65 --set id=256 --arch sm_121"), 0,
        "4 passed, 0 failed");
}
