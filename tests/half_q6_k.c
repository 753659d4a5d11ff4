/* The q6_K tiles of 64 tokens x 128 rows (gpu/kernels/mmq_half_q6_k_*): what each needs, and why; and what changes from
 * one to the next. */
#include "../ref/checked.h"
#include "command_run.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Runs a launch file without the last of its needs, which must be this one. */
static struct result run_without(const char *kernel, const char *need, const char *shape) {
    static char text[1 << 14];
    char *path = must_format("gpu/kernels/%s.yaml", kernel), *quoted = must_format(", \"%s\"]", need);
    FILE *f = fopen(path, "r");
    cr_assert(f, "cannot read %s", path);
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    char *at = strstr(text, quoted);
    cr_assert(at, "%s does not need %s", path, need);
    memmove(at, at + strlen(quoted) - 1, strlen(at + strlen(quoted) - 1) + 1);
    put_file("k.yaml", text, strlen(text));
    free(path);
    free(quoted);
    return run_command("run %s/k.yaml %s --data rand", run_folder, shape);
}

Test(half_q6_k, rows_of_whole_16_bytes, .init = make_folder, .fini = remove_folder) {
    static const char need[] = "id / 256 * 210 % 16 == 0", shape[] = "--set nt=3 --set od=2 --set id=1792";
    expect_result(run_command("run gpu/kernels/mmq_half_q6_k_expand16.yaml %s", shape), 2, need);
    expect_result(run_without("mmq_half_q6_k_expand16", need, shape), 1, "GUARD ");
    expect_result(run_without("mmq_half_q6_k_expand16", need, "--set nt=3 --set od=2 --set id=2048"), 0, "1 passed");
    expect_result(run_command("run gpu/kernels/mmq_half_q6_k_double.yaml %s", shape), 0, "4 passed");
}

/* Scales are copied in pairs of rows. */
Test(half_q6_k, even_numbers_of_rows, .init = make_folder, .fini = remove_folder) {
    static const char need[] = "od % 2 == 0", shape[] = "--set nt=3 --set od=3 --set id=256";
    expect_result(run_command("run gpu/kernels/mmq_half_q6_k_dsc.yaml %s", shape), 2, need);
    expect_result(run_without("mmq_half_q6_k_dsc", need, shape), 1, "GUARD ");
    expect_result(run_command("run gpu/kernels/mmq_half_q6_k_exp.yaml %s", shape), 0, "4 passed");
}

struct counts {
    unsigned long long all, mma, ldmatrix, loads, stores, floats, wavefronts, conflicts;
};

/* Of the row of a class: warp instructions, for each 1024 MAC, wavefronts, conflicts. */
static unsigned long long row_of(const char *text, const char *class, unsigned long long *waves,
                                 unsigned long long *conflicts) {
    unsigned long long n = 0;
    char *head = must_format("\n%-10s ", class);
    const char *at = strstr(text, head);
    cr_assert(at, "no row of %s in\n%s", class, text);
    *waves = *conflicts = 0;
    cr_assert(sscanf(at + strlen(head), "%llu %*s %llu %llu", &n, waves, conflicts) >= 1, "%s: %.80s", class, at);
    free(head);
    return n;
}

static struct counts counted(const char *kernel) {
    struct result r = run_command("census mmq_half_q6_k_%s --set nt=129 --set od=129 --set id=2048", kernel);
    cr_assert(r.code == 0, "%s: exit %d:\n%s", kernel, r.code, r.text);
    struct counts c;
    unsigned long long w, x;
    c.all = row_of(r.text, "all", &c.wavefronts, &c.conflicts);
    c.mma = row_of(r.text, "mma", &w, &x);
    c.ldmatrix = row_of(r.text, "ldmatrix", &w, &x);
    c.loads = row_of(r.text, "ld.shared", &w, &x);
    c.stores = row_of(r.text, "st.shared", &w, &x);
    c.floats = row_of(r.text, "float", &w, &x);
    free(r.text);
    return c;
}

/* Stages, buffers and widths of loads change; what is computed does not, and no plane has a bank conflict. */
Test(half_q6_k, what_changes_from_one_to_the_next) {
    static const char *const kernels[] = {"staged_kd4", "staged_kd8", "double", "expand16"};
    const unsigned long long warp_chunks = 3 * 2 * 8 * (2048 / 32), supers = 3 * 2 * (2048 / 256);
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; ++i) {
        const struct counts c = counted(kernels[i]);
        cr_expect(c.mma == 16 * warp_chunks, "%s: %llu mma", kernels[i], c.mma);
        cr_expect(c.ldmatrix == 5 * warp_chunks, "%s: %llu ldmatrix", kernels[i], c.ldmatrix);
        cr_expect(c.loads == 4 * warp_chunks, "%s: %llu loads", kernels[i], c.loads);
        cr_expect(c.stores == (i < 3 ? 324 : 132) * supers, "%s: %llu stores", kernels[i], c.stores);
        cr_expect(c.floats - 2 * 64 * warp_chunks < warp_chunks, "%s: %llu operations on floats", kernels[i], c.floats);
        cr_expect(c.conflicts == 0, "%s: %llu conflicts", kernels[i], c.conflicts);
    }
}
