/* What the machine makes of mma with floating-point operands, for ci/witness-mma to compare with MMA-Sim.
 *
 *   witness-mma list                     lines `sm_90 m16n8k16.f32.f16.f16.f32`: one architecture a generation
 *   witness-mma results ARCH NAME TILES  to stdout, for each element of each tile's result 2 k + 2 words: a row of A, a
 *                                        column of B (codes in the low bits), c, d
 *   witness-mma golden ARCH NAME ROWS    the same for one element of each of ROWS tiles: what fixtures/golden/mmasim
 * keeps
 *
 * The operands depend on the name alone. Exit: 0, or 2 for anything else. */
#include "../mma_tiles.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 64 };

static void list_case(const struct mma_case *c, void *context) {
    (void)context;
    char name[64];
    mma_case_name(c, name);
    for (const struct tensor_unit *u = tensor_units; u->name; ++u)
        for (const struct arch *a = archs; a->name; ++a)
            if (a->sm == u->sm && c->form->type >= TENSOR_F16 && mma_case_runs(c, a))
                printf("%s %s\n", a->name, name);
}

static bool put(const struct mma_case *c, const struct mma_tile *t, int row, int n) {
    uint32_t words[2 * MMA_DEPTH + 2];
    const size_t k = c->form->k;
    for (size_t j = 0; j < k; ++j)
        words[j] = t->a[row][j], words[k + j] = t->b[j][n];
    words[2 * k] = t->c[row][n];
    words[2 * k + 1] = t->d[row][n];
    return fwrite(words, sizeof *words, 2 * k + 2, stdout) == 2 * k + 2;
}

static int results(const char *arch_name, const char *name, size_t count, bool one_each) {
    const struct arch *arch = arch_named(arch_name);
    struct mma_case c;
    if (!arch || !mma_case_named(name, &c) || !mma_case_runs(&c, arch) || !count) {
        fprintf(stderr, "witness-mma: %s %s: no such case\n", arch_name, name);
        return 2;
    }
    uint64_t seed = 0x9e3779b97f4a7c15u;
    for (const char *s = name; *s; ++s)
        seed = (seed ^ (uint8_t)*s) * 0x100000001b3u;
    struct mma_tile *tiles = calloc(BATCH, sizeof *tiles);
    bool ok = tiles != NULL;
    for (size_t done = 0; ok && done < count; done += BATCH) {
        const size_t n = count - done < BATCH ? count - done : BATCH;
        struct ptx_module *m;
        struct trace t;
        struct error e = {""};
        for (size_t i = 0; i < n; ++i)
            mma_tile_fill(&c, &tiles[i], &seed);
        ok = mma_run(NULL, &c, arch, NULL, "", 32, tiles, n, &m, &t, &e);
        if (!ok)
            fprintf(stderr, "witness-mma: %s\n", e.text);
        trace_free(&t);
        ptx_free(m);
        for (size_t i = 0; ok && i < n; ++i)
            for (int row = 0; ok && row < 16; ++row)
                for (int column = 0; ok && column < 8; ++column)
                    if (!one_each || (row == (int)((done + i) % 16) && column == (int)((done + i) * 3 % 8)))
                        ok = put(&c, &tiles[i], row, column);
    }
    free(tiles);
    return ok && fflush(stdout) == 0 ? 0 : 2;
}

int main(int argc, char **argv) {
    if (argc == 2 && !strcmp(argv[1], "list")) {
        mma_each_case(list_case, NULL);
        return 0;
    }
    if (argc == 5 && (!strcmp(argv[1], "results") || !strcmp(argv[1], "golden")))
        return results(argv[2], argv[3], strtoul(argv[4], NULL, 10), argv[1][0] == 'g');
    fprintf(stderr, "usage: witness-mma list | results ARCH NAME TILES | golden ARCH NAME ROWS\n");
    return 2;
}
