/* Floating-point mma on the machine against results of MMA-Sim 2.1.1 (fixtures/golden/mmasim), every form on every
 * generation that it knows. `make witness-mma` compares many more. */
#include "measured.h"
#include "mma_tiles.h"
#include <string.h>

enum { MMA_BYTES = 493377, MMA_ROWS = 48, MMA_CASES = 74 };

static uint8_t *golden(void) {
    FILE *f = fopen("fixtures/golden/mmasim/mma.bin.zz", "rb");
    static uint8_t packed[1 << 18];
    uint8_t *all = malloc(MMA_BYTES);
    cr_assert(f && all, "mma.bin.zz: cannot be read");
    const size_t bytes = fread(packed, 1, sizeof packed, f);
    fclose(f);
    uLongf count = MMA_BYTES;
    cr_assert(uncompress(all, &count, packed, bytes) == Z_OK && count == MMA_BYTES, "mma.bin.zz: not its %d bytes",
              MMA_BYTES);
    return all;
}

/* How many of a case's results are other ones on this chip. rows: 2 k + 2 words each. */
static size_t wrong_results(const struct mma_case *c, const struct arch *arch, const uint8_t *rows) {
    const size_t k = c->form->k;
    struct mma_tile *tiles = calloc(MMA_ROWS, sizeof *tiles);
    uint32_t words[2 * MMA_DEPTH + 2], want[MMA_ROWS];
    for (size_t i = 0; i < MMA_ROWS; ++i) { /* one result a tile, in a place of its own */
        const size_t row = i % 16, n = i * 3 % 8;
        memcpy(words, rows + i * (2 * k + 2) * 4, (2 * k + 2) * 4);
        for (size_t j = 0; j < k; ++j)
            tiles[i].a[row][j] = words[j], tiles[i].b[j][n] = words[k + j];
        tiles[i].c[row][n] = words[2 * k];
        want[i] = words[2 * k + 1];
    }
    struct ptx_module *m;
    struct trace t;
    struct error e = {""};
    cr_assert(mma_run(NULL, c, arch, NULL, "", 32, tiles, MMA_ROWS, &m, &t, &e), "%s", e.text);
    size_t wrong = 0;
    for (size_t i = 0; i < MMA_ROWS; ++i)
        wrong += tiles[i].d[i % 16][i * 3 % 8] != want[i];
    trace_free(&t), ptx_free(m), free(tiles);
    return wrong;
}

Test(golden_mma, equals_mma_sim) {
    uint8_t *all = golden();
    size_t cases = 0, others = 0;
    for (const uint8_t *at = all; at < all + MMA_BYTES; ++cases) {
        char head[80], arch[16], name[48];
        unsigned count;
        const uint8_t *end = memchr(at, '\n', 79);
        cr_assert(end, "case %zu has no head", cases);
        memcpy(head, at, (size_t)(end - at));
        head[end - at] = 0;
        cr_assert(sscanf(head, "%15s %47s %u", arch, name, &count) == 3 && count == MMA_ROWS, "head \"%s\"", head);
        struct mma_case c;
        cr_assert(mma_case_named(name, &c), "%s: no such case", name);
        const size_t wrong = wrong_results(&c, arch_named(arch), end + 1);
        cr_assert(wrong == 0, "%s %s: %zu of %d results differ from MMA-Sim's", arch, name, wrong, MMA_ROWS);
        /* planted: the numbers of another generation */
        const struct arch *other =
            arch_named(strcmp(arch, "sm_120") && strcmp(arch, "sm_90") && strcmp(arch, "sm_100") ? "sm_120" : "sm_89");
        others += mma_case_runs(&c, other) && wrong_results(&c, other, end + 1) > 0;
        at = end + 1 + MMA_ROWS * (2 * c.form->k + 2) * 4;
    }
    cr_assert(cases == MMA_CASES, "%zu cases", cases);
    cr_assert(others > MMA_CASES / 2, "another generation's numbers pass for right in %zu cases", cases - others);
    free(all);
}
