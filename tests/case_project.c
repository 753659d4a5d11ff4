#include "case_project.h"
#include "../ref/checked.h"
#include "gguf_sample.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[] = P_tmpdir "/warpproof-XXXXXX";
static const char *const folders[] = {"gpu", "gpu/kernels", "cases", "cases/all", "models"};

static const char matrix_kernel[] = "kernel: tile\nsource: tile.cu\nentry: tile\ncontract: q4_k_pad40_two_term\n"
                                    "needs: [\"id % 256 == 0\", \"nt < 1000\"]\nlaunch: {grid: [1], block: [32]}\n"
                                    "args: [{in: weight, format: q4_K}, {in: activation, format: pad40}, "
                                    "{out: result, type: f32}]\n";
static const char quantiser_kernel[] = "kernel: quant\nsource: quant.cu\nentry: quant\ncontract: pad40_quantize\n"
                                       "launch: {grid: [1], block: [32]}\n"
                                       "args: [{in: activation, format: f32}, {out: result, format: pad40}]\n";
static const char foreign_kernel[] = "kernel: foreign\nptx: x.ptx\nentry: x\nlaunch: {grid: [1], block: [32]}\n"
                                     "args: [{out: y, type: f32, count: 1}]\n";

char *project_path(const char *path) {
    return must_format("%s/%s", root, path);
}

void project_put(const char *path, const void *bytes, size_t length) {
    char *full = project_path(path);
    FILE *f = fopen(full, "wb");
    cr_assert(f && fwrite(bytes, 1, length, f) == length && !fclose(f), "cannot write %s", full);
    free(full);
}

void project_drop(const char *path) {
    char *full = project_path(path);
    remove(full);
    free(full);
}

void project_make(void) {
    cr_assert_not_null(mkdtemp(root), "no temporary folder");
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        char *path = project_path(folders[i]);
        cr_assert_eq(mkdir(path, 0700), 0, "cannot make %s", path);
        free(path);
    }
    project_put("gpu/kernels/tile.yaml", matrix_kernel, strlen(matrix_kernel));
    project_put("gpu/kernels/quant.yaml", quantiser_kernel, strlen(quantiser_kernel));
    project_put("gpu/kernels/foreign.yaml", foreign_kernel, strlen(foreign_kernel));
}

void project_remove(void) {
    static const char *const files[] = {"gpu/kernels/tile.yaml", "gpu/kernels/quant.yaml", "gpu/kernels/foreign.yaml",
                                        "cases/a.yaml",          "cases/b.yaml",           "cases/all/a.yaml",
                                        "models/tiny.gguf"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        project_drop(files[i]);
    for (size_t i = sizeof folders / sizeof *folders; i-- > 0;)
        project_drop(folders[i]);
    rmdir(root);
}

static bool load(bool whole, struct case_list *list, struct error *e) {
    char *cases = project_path("cases"), *models = project_path("models");
    bool good = case_list_load(cases, root, models, whole, list, e);
    free(cases);
    free(models);
    return good;
}

bool project_load(struct case_list *list, struct error *e) {
    return load(false, list, e);
}

bool project_load_whole(struct case_list *list, struct error *e) {
    return load(true, list, e);
}

struct case_list project_cases(void) {
    struct case_list list;
    struct error e = {""};
    cr_assert(project_load(&list, &e), "%s", e.text);
    return list;
}

void project_put_text(const char *path, const char *text) {
    project_put(path, text, strlen(text));
}
void project_put_cases(const char *text) {
    project_put_text("cases/a.yaml", text);
}

/* ---- a tiny model ---- */

enum { Q8_0 = 8, Q4_K = 12 };
static const struct {
    const char *name;
    uint32_t type;
    uint64_t width, rows;
    size_t bytes;
} tensors[] = {
    {"token_embd.weight", Q8_0, 64, 40, 40 * 2 * 34}, {"blk.0.up.weight", Q4_K, 512, 6, 6 * 2 * 144},
    {"blk.0.norm.weight", Q8_0, 32, 1, 34},           {"blk.1.up.weight", Q4_K, 256, 3, 3 * 144},
    {"blk.1.\x1b[31m.weight", Q4_K, 256, 1, 144},
};
enum { TENSORS = sizeof tensors / sizeof *tensors };

/* GGUF version 3: the tensors above with bytes of a sane pattern; scales are f16 numbers near 1/16. */
void project_put_model(const char *embedding) {
    struct bytes b = {0};
    put(&b, "GGUF", 4);
    put_number(&b, 3, 4);
    put_number(&b, TENSORS, 8);
    put_number(&b, 0, 8);
    size_t offset = 0;
    for (size_t i = 0; i < TENSORS; i++) {
        put_string(&b, i || !embedding ? tensors[i].name : embedding);
        put_number(&b, 2, 4);
        put_number(&b, tensors[i].width, 8);
        put_number(&b, tensors[i].rows, 8);
        put_number(&b, tensors[i].type, 4);
        put_number(&b, offset, 8);
        offset = (offset + tensors[i].bytes + 31) / 32 * 32;
    }
    for (size_t i = 0; i < TENSORS; i++) {
        pad(&b, 32);
        const size_t block = tensors[i].type == Q8_0 ? 34 : 144;
        for (size_t k = 0; k < tensors[i].bytes; k++) {
            uint8_t byte = (uint8_t)(k * 37 + k / block * 11 + i);
            size_t in = k % block;
            if (in < (block == 34 ? 2 : 4)) /* d, dmin: 0x2c00 .. 0x2cff */
                byte = in % 2 ? 0x2c : byte;
            put(&b, &byte, 1);
        }
    }
    project_put("models/tiny.gguf", b.p, b.n);
    free(b.p);
}

size_t project_selected(const struct case_list *list, const char *pattern, const char **missed) {
    bool *chosen = must_calloc(list->count, sizeof *chosen);
    size_t n = case_select(list, pattern ? &pattern : NULL, pattern ? 1 : 0, chosen, missed), marked = 0;
    for (size_t i = 0; i < list->count; i++)
        marked += chosen[i];
    cr_expect_eq(n, marked, "%s: %zu chosen, %zu counted", pattern, marked, n);
    free(chosen);
    return n;
}
