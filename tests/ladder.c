/* The q4_K ladder (gpu/kernels, docs/ladder.md): closed forms of every launch file, and the figures that a campaign's
 * counters gave for the same work. */
#include "../ref/checked.h"
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

/* A tile of stream-k has as many tokens as its name says, and the launch file needs them. */
static void census_of_stream_k(const char *path) {
    const int tokens = atoi(strstr(path, "_j") + 2);
    free(census(path, tokens, 256, 256));
    free(census(path, tokens - 1, 128, 768));
}

/* Of kernels of matrices; a quantiser has no rows. */
Test(ladder, closed_forms_hold_at_tails_and_depths) {
    static const int shapes[][3] = {{1, 1, 256}, {129, 70, 512}, {65, 257, 768}};
    glob_t files;
    cr_assert(!glob("gpu/kernels/mmq_*.yaml", 0, NULL, &files));
    for (size_t i = 0; i < files.gl_pathc; i += command_stride()) {
        if (strstr(files.gl_pathv[i], "_streamk")) {
            census_of_stream_k(files.gl_pathv[i]);
            continue;
        }
        const int deeper = strstr(files.gl_pathv[i], "expand16") ? 8 : 1; /* its rows are a multiple of 16 bytes */
        const bool even = strstr(files.gl_pathv[i], "_dsc") != NULL;      /* it takes rows in pairs */
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; ++s) {
            const int rows = shapes[s][1] + (even && shapes[s][1] % 2);
            free(census(files.gl_pathv[i], shapes[s][0], rows, shapes[s][2] * deeper));
        }
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

/* The launch files' `published`: a tile at depth 3584, of which the projection has 21 x 28 at 2630 tokens. */
Test(ladder, figures_of_the_campaign, .timeout = 600) {
    static const char *const rows[] = {
        "mmq_wide_lda_kd8             ld.shared x 588 / 33.7825               436.7e3       436668  r12",
        "mmq_wide_lda_kd8             (ld.shared + ldmatrix) x 32 / macs        0.018    0.0175781  r12",
        "mmq_wide_ldb_kd8             ld.shared / 7168                           0.36     0.357143  r14 over r12, -64 "
        "%",
        "mmq_wide_rank1_kd8           ldmatrix.conflicts x 588               16859136     16859136  r15",
        "mmq_wide_xor_kd8             ldmatrix.conflicts                            0            0  r22",
        "mmq_wide_xor_kd8             st.shared                                  5376         2240  r22 for a tile; "
        "differs: we store 16 bytes a lane",
        "mmq_wide_xor_kd8             mma x 112                               1605632      1605632  all rungs",
        "mmq_half_t                   ld.shared.wavefronts / mma                3.500          3.5  r36"};
    const bool all = command_stride() == 1; /* else the last row's kernel alone */
    const size_t count = sizeof rows / sizeof *rows;
    struct result r = run_command("census --table %s", all ? "mmq_wide mmq_half" : "mmq_half_t");
    for (size_t i = all ? 0 : count - 1; i < count; ++i)
        cr_expect(strstr(r.text, rows[i]) != NULL, "no '%s' in:\n%s", rows[i], r.text);
    expect_result(r, 0, "r34    mmq_half_t                    128    43008");
}

/* A figure that is not counted, and one that is in spite of a reason why it should not be. */
Test(ladder, a_published_figure_that_differs_is_red, .init = make_folder, .fini = remove_folder) {
    static const struct {
        const char *published;
        int code;
        const char *says;
    } rows[] = {
        {"{by: x, of: ldmatrix, per: mma, value: 0.5}", 0,
         "ldmatrix / mma                              0.5          0.5  x\n"},
        {"{by: x, of: ldmatrix, per: mma, value: 0.50000001}", 1, "0.50000001          0.5  x   DIFFERS\n"},
        {"{by: x, of: ldmatrix, per: mma, value: 0.6}", 1, "0.5  x   DIFFERS\n"},
        {"{by: x, of: ldmatrix, per: mma, value: 0.6, differs: y}", 0, "0.5  x; differs: y\n"},
        {"{by: x, of: ldmatrix, per: mma, value: 0.5, differs: y}", 1, "0.5  x; differs: y   BUT IT IS EQUAL\n"},
        {"{by: x, of: [mma, ldmatrix], shape: {nt: 64, id: 256}, times: 2, value: 1536}", 0, "1536         1536  x\n"},
        {"{by: x, of: mma, per: stmatrix, value: 1}", 2, "published.per: no stmatrix is executed\n"},
        {"{by: x, of: mma, times: 1e308, value: 1}", 2, "published.times: the product is too large\n"},
        {"{by: x, of: mma, shape: {id: 100}, value: 1}", 2, "not counted  "},
    };
    enter_project("sed '/^published/,$d' $d/gpu/kernels/mmq_half_raw.yaml > k");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        char *put = must_format("cd %s && { cat k && echo 'published: [%s]'; } > gpu/kernels/k.yaml", run_folder,
                                rows[i].published);
        cr_assert(system(put) == 0, "%s", put);
        free(put);
        expect_result(run_command("census --table"), rows[i].code, rows[i].says);
    }
    leave_project();
}

/* A kernel that is wrong, and one that no shape of the table serves, do not keep the others from being compared. */
Test(ladder, a_wrong_kernel_leaves_the_table_whole, .init = make_folder, .fini = remove_folder) {
    enter_project("sed 's/^  mma: .*/  mma: 7/' $d/gpu/kernels/mmq_half_raw.yaml > gpu/kernels/a.yaml && "
                  "sed 's/^needs: .*/needs: [nt == 3]/' $d/gpu/kernels/mmq_half_qmajor.yaml > gpu/kernels/b.yaml && "
                  "cp $d/gpu/kernels/mmq_half_t.yaml gpu/kernels/c.yaml");
    struct result r = run_command("census --table --json %s/o.json", run_folder);
    static const char *const says[] = {
        "mmq_half_raw                 is wrong: see below",
        "mmq_half_qmajor              no shape of the table will do: mmq_half_qmajor needs "
        "nt == 3",
        "mma: the launch file's closed form says 7, ", "mmq_half_t                   ldmatrix.wavefronts / mma"};
    for (size_t i = 0; i < sizeof says / sizeof *says; ++i)
        cr_expect(strstr(r.text, says[i]) != NULL, "no '%s' in:\n%s", says[i], r.text);
    expect_result(r, 1, "r34    mmq_half_t ");
    cr_expect_eq(files_in_folder(), 3, "the counts were not written"); /* gpu, fixtures, o.json */
    expect_result(run_command("census --table mmq_half_qmajor"), 2, "no shape of the table will do");
    leave_project();
}

Test(ladder, table_of_nothing) {
    expect_result(run_command("census --table nosuch"), 3, "no kernel of gpu/kernels matches 'nosuch'");
    expect_result(run_command("census --table mmq_half_t nosuch"), 3, "no kernel of gpu/kernels matches 'nosuch'");
    expect_result(run_command("census --table quantize_pad40"), 3, "no kernel that multiplies matches");
    expect_result(run_command("census --table --lines 3"), 2, "do not go with it");
    expect_result(run_command("census --table --set nt=3"), 2, "do not go with it");
    expect_result(run_command("census --table ''"), 2, "a PATTERN is empty");
}
