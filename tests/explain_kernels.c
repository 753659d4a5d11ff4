/* `warpproof explain` of a small tile kernel whose results take several ways to memory, and that has one fault or two
 * by a parameter (tests/foreign/q4_tile.cu). */
#include "../oracles/explain.h"
#include "../ref/checked.h"
#include "command_run.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BY_SHARED = 1,
    BY_SHUFFLE = 2,
    WRONG_SCALE = 4,
    EXCHANGED = 8,
    OTHER_TOKEN = 16,
    TYPE_U8 = 32,
    SKIPS_LAST = 64,
    SKIPS_SECOND = 128,
    ONE_TOO_MANY = 256,
    SAME_REGISTER = 512,
    BEYOND = 1024,
    PLUS_ONE = 2048,
    OF_NOTHING = 4096,
};

/* wrong: letters of the stages that are wrong, the others ok: f s r t (store); capital: not judged. */
static void expect_stages(int mode, const char *size, const char *wrong) {
    static const char letters[] = "gfsrt", skipped[] = "GFSRT";
    struct result r =
        run_command("explain --quick tests/foreign/q4_tile.yaml --data rand --set mode=%d %s", mode, size);
    cr_expect(r.code == (*wrong != 0), "mode %d: exit %d:\n%s", mode, r.code, r.text);
    for (int k = 0; k < STAGES; ++k) {
        const char *want = strchr(wrong, letters[k]) != NULL   ? "WRONG "
                           : strchr(wrong, skipped[k]) != NULL ? "not judged: "
                                                               : "ok ";
        char line[64];
        snprintf(line, sizeof line, "\n  %-9s  %s", stage_names[k], want);
        cr_expect(strstr(r.text, line) != NULL, "mode %d, %s is not %s:\n%s", mode, stage_names[k], want, r.text);
    }
    free(r.text);
}

static void expect_text(int mode, const char *says) {
    expect_result(run_command("explain --quick tests/foreign/q4_tile.yaml --data rand --set mode=%d", mode), 1, says);
}

/* Whoever stores a cell: right bits are no fault. */
Test(explain_kernels, right_ways_to_memory_are_right) {
    for (int mode = 0; mode < 4; ++mode) {
        expect_stages(mode, "", "");
        expect_stages(mode, "--set nt=17 --set od=9", "");
        expect_stages(mode, "--set nt=1 --set od=1 --set id=32", "");
    }
}

Test(explain_kernels, store_and_rescaling_do_not_hide_each_other) {
    static const int ways[] = {0, BY_SHUFFLE};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; ++i) {
        expect_stages(ways[i] | WRONG_SCALE, "", "r");
        expect_stages(ways[i] | PLUS_ONE, "", "r");
        expect_stages(ways[i] | EXCHANGED, "", "t");
        expect_stages(ways[i] | EXCHANGED | WRONG_SCALE, "", "rt");
        expect_stages(ways[i] | EXCHANGED | PLUS_ONE, "", "rt");
    }
    expect_stages(BY_SHARED | WRONG_SCALE, "", "r");
    expect_stages(BY_SHARED | OTHER_TOKEN, "", "t");
    expect_stages(BY_SHARED | OTHER_TOKEN | PLUS_ONE, "", "rt");
    expect_text(EXCHANGED | WRONG_SCALE, "  by      its value was stored at token 8, row 0\n");
    expect_text(EXCHANGED | WRONG_SCALE, "consumed the scales of token t xor 1 and the codes of token t");
    expect_text(EXCHANGED | WRONG_SCALE, "  holds   the value of token 8, row 0\n");
    expect_text(EXCHANGED, "  suspect accumulators of one thread exchanged in the store\n");
    expect_text(BY_SHARED | OTHER_TOKEN, "  holds   the value of token 1, row 0\n");
    expect_text(BY_SHARED | OTHER_TOKEN,
                "  suspect the index of the store, or where values are handed on to it (shared memory, shuffles)\n");
}

/* Row od - 1 stands for those past it: several threads have its accumulator. */
Test(explain_kernels, a_clamped_tail_is_no_fault_of_rescaling) {
    for (int od = 25; od <= 32; ++od) {
        char size[32];
        snprintf(size, sizeof size, "--set od=%d", od);
        expect_stages(EXCHANGED, size, "t");
        expect_stages(BY_SHARED | OTHER_TOKEN, size, "t");
    }
}

/* u8 of a negative element is another number. */
Test(explain_kernels, sums_are_of_the_formats_numbers) {
    expect_stages(TYPE_U8, "", "s");
    expect_text(TYPE_U8, "  suspect type of the operands of the mma: signed or unsigned\n");
}

Test(explain_kernels, an_mma_missing_or_one_too_many) {
    expect_stages(SKIPS_LAST, "", "sR");
    expect_stages(SKIPS_SECOND, "", "sR");
    expect_stages(SKIPS_SECOND | EXCHANGED, "", "st");
    expect_stages(ONE_TOO_MANY, "", "s");
    expect_stages(BEYOND, "", "s");
    expect_stages(OF_NOTHING, "", "");
    expect_stages(OF_NOTHING | EXCHANGED, "", "t");
    expect_text(SKIPS_LAST, "  first   block (0,0,0): warp 1 executed 3 mma, and must execute 4\n"
                            "  holds   those from number 3 on are missing\n");
    expect_text(SKIPS_SECOND, "  holds   number 1 is missing\n  extent  4 of 8 warps; 448 wrong cells are theirs\n"
                              "  site    tests/foreign/q4_tile.cu:");
    expect_text(ONE_TOO_MANY, "warp 1 executed 5 mma, and must execute 4\n  holds   number 1 is one too many\n");
    expect_text(BEYOND, "warp 1 executed 5 mma, and must execute 4\n  holds   number 4 is one too many\n");
    expect_text(SKIPS_LAST, "  rescale    not judged: the sums of 448 wrong cells lack mma\n");
}

/* What is put right for one mma is put right for it alone. */
Test(explain_kernels, another_register_handed_over) {
    expect_stages(SAME_REGISTER, "", "f");
    expect_text(SAME_REGISTER, "  but     1024 of them hold what is right for another operand of an mma\n"
                               "  site    tests/foreign/q4_tile.cu:88  mma.sync.");
    expect_text(SAME_REGISTER, "  suspect another register handed to the mma than the one that was loaded for it\n");
}

/* An accumulator begins where an mma does, and not after it. */
Test(explain_kernels, from_is_checked, .init = make_folder, .fini = remove_folder) {
    static const char *const froms[] = {"9223372036854775807", "i * 32 + 32", "i - i + 5"};
    for (size_t i = 0; i < sizeof froms / sizeof *froms; ++i) {
        char *command =
            must_format("{ sed \"s,^ptx: .*,ptx: $PWD/tests/foreign/q4_tile.ptx,\" tests/foreign/q4_tile.yaml; "
                        "echo '  from: %s'; } > %s/in.yaml",
                        froms[i], run_folder);
        cr_assert(system(command) == 0);
        expect_result(run_command("explain %s/in.yaml", run_folder), 2, "in.yaml:24:9: mma: number 0 of warp 0 ");
        free(command);
    }
}
