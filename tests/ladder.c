/* The q4_K ladder (gpu/kernels, docs/ladder.md): closed forms of every launch file, and the figures that a campaign's
 * counters gave for the same work. */
#include "command_run.h"
#include <criterion/criterion.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of a count of the census: "mma" and "executed", say. */
static double counted(const char *json, const char *class, const char *what) {
    char key[64];
    snprintf(key, sizeof key, "\"%s\": {", class);
    const char *at = strstr(json, key);
    snprintf(key, sizeof key, "\"%s\": ", what);
    at = at ? strstr(at, key) : NULL;
    cr_assert(at != NULL, "no %s of %s in %.800s", what, class, json);
    return strtod(at + strlen(key), NULL);
}

static char *census(const char *kernel, int nt, int od, int id) {
    struct result r =
        run_command("census %s --set nt=%d --set od=%d --set id=%d --lines 1 --json /dev/stdout", kernel, nt, od, id);
    cr_assert(r.code == 0, "%s: exit %d:\n%s", kernel, r.code, r.text);
    return r.text;
}

/* Of kernels of matrices; a quantiser has no rows. */
Test(ladder, closed_forms_hold_at_tails_and_depths) {
    static const int shapes[][3] = {{1, 1, 256}, {129, 70, 512}, {65, 257, 768}};
    glob_t files;
    cr_assert(!glob("gpu/kernels/mmq_*.yaml", 0, NULL, &files));
    for (size_t i = 0; i < files.gl_pathc; ++i) {
        const int deeper = strstr(files.gl_pathv[i], "expand16") ? 8 : 1; /* its rows are a multiple of 16 bytes */
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; ++s)
            free(census(files.gl_pathv[i], shapes[s][0], shapes[s][1], shapes[s][2] * deeper));
    }
    cr_expect(files.gl_pathc >= 19, "%zu launch files", files.gl_pathc);
    globfree(&files);
}

/* From r12 to r14 nothing is computed otherwise. */
Test(ladder, r14_is_r12_in_another_layout) {
    for (int kd = 4; kd <= 8; kd += 4) {
        char name[2][32];
        snprintf(name[0], sizeof name[0], "mmq_wide_lda_kd%d", kd);
        snprintf(name[1], sizeof name[1], "mmq_wide_ldb_kd%d", kd);
        char *r12 = census(name[0], 128, 128, 1024), *r14 = census(name[1], 128, 128, 1024);
        static const char *const same[] = {"mma", "float", "ld.global", "st.global", "barrier"};
        for (size_t i = 0; i < sizeof same / sizeof *same; ++i)
            cr_expect_eq(counted(r12, same[i], "executed"), counted(r14, same[i], "executed"), "kd%d: %s", kd, same[i]);
        const double warp_chunks = 8 * 1024 / 32;
        cr_expect_eq(counted(r12, "ld.shared", "executed"), 28 * warp_chunks, "kd%d", kd);
        cr_expect_eq(counted(r14, "ld.shared", "executed"), 10 * warp_chunks, "kd%d", kd);
        cr_expect_eq(counted(r12, "ld.shared", "conflicts"), 28 * warp_chunks, "kd%d", kd);
        cr_expect_eq(counted(r14, "ld.shared", "conflicts"), 0, "kd%d", kd);
        free(r12);
        free(r14);
    }
}

/* 8 chunks a stage of the 128x64 tile with two stages are more than a block has on the campaign's GPU. */
Test(ladder, the_arena_that_is_too_large_is_refused) {
    const char *run = "run gpu/kernels/mmq_wide_raw_kd8.yaml --set nt=129 --set od=65 --set id=256";
    struct result r = run_command("%s --arch sm_121", run);
    cr_expect(strstr(r.text, "135168 B of shared memory, sm_121 gives a block 101376\n          nothing was run") !=
                  NULL,
              "not said in:\n%s", r.text);
    expect_result(r, 1, "0 passed, 4 failed");
    expect_result(run_command("%s", run), 0, "4 passed, 0 failed");
    expect_result(run_command("list cases mmq_wide_raw_kd8"), 3, "");
}

/* A tile at depth 3584, of which the projection has 21 x 28 at 2630 tokens and 4 x 28 at 512. */
Test(ladder, figures_of_the_campaign) {
    static const struct {
        const char *kernel;
        int tokens; /* of a tile */
        const char *class, *what;
        double factor, figure, within;
    } rows[] = {
        {"mmq_wide_lda_kd8", 128, "ld.shared", "executed", 588 / 33.78249728, 436.7e3, 50},
        {"mmq_wide_lda_kd8", 128, "ldmatrix", "executed", 4 * 588 / 33.78249728, 499.0e3, 60},
        {"mmq_wide_ldb_kd8", 128, "ldmatrix", "executed", 1, 8064, 0},
        {"mmq_wide_rank1_kd8", 128, "ldmatrix", "conflicts", 588, 16859136, 0},
        {"mmq_wide_xor_kd8", 128, "ldmatrix", "conflicts", 588, 0, 0},
        {"mmq_wide_xor_kd8", 128, "ld.shared", "executed", 1, 8960, 0},
        {"mmq_wide_xor_kd8", 128, "mma", "executed", 112, 1605632, 0},
        {"mmq_half_raw", 64, "ldmatrix", "executed", 1.0 / 7168, 0.5, 0},
        {"mmq_half_t", 64, "ldmatrix", "wavefronts", 1.0 / 7168, 2.000, 5e-4},
        {"mmq_half_t", 64, "ld.shared", "wavefronts", 1.0 / 7168, 3.500, 5e-4},
        {"mmq_half_t", 64, "st.shared", "wavefronts", 1.0 / 7168, 0.656, 5e-4},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        char *json = census(rows[i].kernel, rows[i].tokens, 128, 3584);
        double got = counted(json, rows[i].class, rows[i].what) * rows[i].factor;
        cr_expect(got >= rows[i].figure - rows[i].within && got <= rows[i].figure + rows[i].within,
                  "%s: %s of %s: %.6g, the campaign had %.6g", rows[i].kernel, rows[i].what, rows[i].class, got,
                  rows[i].figure);
        free(json);
    }
}
