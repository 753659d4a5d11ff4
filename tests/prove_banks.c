/* Statements about banks: all hold, and each says in words what is wrong when it is planted: a wrong line of
 * facts/ptx.md 5.2, a wrong stride, a table with a wrong count. The adviser against a search of its own; layouts;
 * tables that are none. */
#include "../reports/prove_banks.h"
#include "../gpu/bank_advice.h"
#include "../gpu/bank_layout.h"
#include "../gpu/bank_statements.h"
#include "../ref/checked.h"
#include "../ref/random.h"
#include "command_run.h"
#include "independent/independent.h"
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

TestSuite(prove_banks, .init = make_folder, .fini = remove_folder);

static char *in_folder(const char *name) {
    return must_format("%s/%s", run_folder, name);
}

static void expect_refuted(struct statement_list *l, const char *text) {
    cr_assert_eq(l->count, 1);
    cr_expect(!l->items[0].proved && strcmp(l->items[0].counterexample, text) == 0, "%s:\n%s\nwant\n%s",
              l->items[0].name, l->items[0].proved ? "proved" : l->items[0].counterexample, text);
    statement_list_free(l);
}

Test(prove_banks, all_statements_hold) {
    struct statement_list l = {NULL, 0};
    struct error e;
    cr_assert(bank_prove_all(".", NULL, 0, false, &l, &e), "%s", e.text);
    cr_expect(l.count >= bank_rows_fact_count + 8 + 2 + 1, "%zu statements", l.count);
    for (size_t i = 0; i < l.count; ++i)
        cr_expect(l.items[i].proved && l.items[i].domain > 0, "%s: %s", l.items[i].name,
                  l.items[i].proved ? "nothing was enumerated" : l.items[i].counterexample);
    statement_list_free(&l);
}

/* The table of facts/ptx.md 5.2: every stride in it, three of its lines letter by letter. */
Test(prove_banks, table_of_eight_rows) {
    static const uint32_t strides[] = {16, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176, 256, 272, 304};
    cr_assert_eq(bank_rows_fact_count, sizeof strides / sizeof *strides);
    for (size_t i = 0; i < bank_rows_fact_count; ++i)
        cr_expect_eq(bank_rows_facts[i].stride, strides[i]);
    struct statement_list l = {NULL, 0};
    bank_prove_rows(&bank_rows_facts[1], false, &l);
    bank_prove_rows(&bank_rows_facts[2], false, &l);
    bank_prove_rows(&bank_rows_facts[13], false, &l);
    static const char *const texts[] = {
        "8 rows of 16 bytes, 32 bytes apart, begin in banks 0 8 16 24 0 8 16 24: 2 wavefronts a matrix; ldmatrix.x4 of "
        "16 "
        "rows x 32 bytes: 8, 4 of them conflicts",
        "8 rows of 16 bytes, 48 bytes apart, begin in banks 0 12 24 4 16 28 8 20: 1 wavefront a matrix; ldmatrix.x4 of "
        "16 rows x 32 bytes: 4, 0 of them conflicts",
        "8 rows of 16 bytes, 304 bytes apart, begin in banks 0 12 24 4 16 28 8 20: 1 wavefront a matrix; ldmatrix.x4 "
        "of "
        "16 rows x 32 bytes: 4, 0 of them conflicts"};
    for (size_t i = 0; i < 3; ++i)
        cr_expect(l.items[i].proved && strcmp(l.items[i].text, texts[i]) == 0, "%s", l.items[i].text);
    statement_list_free(&l);
}

/* Each line's ldmatrix.x4 is among what an H200 counted, with these counts. */
Test(prove_banks, table_of_eight_rows_was_counted) {
    static const char *const paths[] = {"fixtures/golden/banks_h200.tsv", "fixtures/golden/banks_patterns_counted.tsv"};
    size_t counted[64] = {0};
    for (size_t k = 0; k < 2; ++k) {
        struct bank_table t;
        struct error e;
        cr_assert(bank_table_read(paths[k], &t, &e), "%s", e.text);
        for (size_t i = 0; i < t.count; ++i)
            for (size_t f = 0; f < bank_rows_fact_count; ++f) {
                const struct bank_row *r = &t.rows[i];
                bool same = strcmp(r->op.name, "ldmatrix.x4") == 0;
                for (uint32_t lane = 0; lane < 32; ++lane)
                    same = same && r->at[lane] == lane % 16 * bank_rows_facts[f].stride + lane / 16 * 16;
                if (!same)
                    continue;
                ++counted[f];
                cr_expect(r->count.wavefronts == bank_rows_facts[f].x4.wavefronts &&
                              r->count.conflicts == bank_rows_facts[f].x4.conflicts,
                          "stride %u: %s counted %u and %u", bank_rows_facts[f].stride, r->label, r->count.wavefronts,
                          r->count.conflicts);
            }
        bank_table_free(&t);
    }
    for (size_t f = 0; f < bank_rows_fact_count; ++f)
        cr_expect(counted[f] > 0, "stride %u was not counted", bank_rows_facts[f].stride);
}

static const struct bank_rows_fact *fact_of(uint32_t stride) {
    size_t i = 0;
    while (bank_rows_facts[i].stride != stride)
        ++i;
    return &bank_rows_facts[i];
}

Test(prove_banks, planted_rows) {
    struct statement_list l = {NULL, 0};
    struct bank_rows_fact f = *fact_of(48);
    f.start[3] = 12;
    bank_prove_rows(&f, false, &l);
    expect_refuted(&l, "row 3 begins in bank 4, and the statement says 12: row 3 x 48 bytes is word 36");
    f = *fact_of(48);
    f.stride = 32; /* the wrong stride: its rows are those of 48 */
    bank_prove_rows(&f, false, &l);
    expect_refuted(&l, "row 1 begins in bank 8, and the statement says 12: row 1 x 32 bytes is word 8");
    f = *fact_of(64);
    f.matrix.wavefronts = f.degree = 2;
    bank_prove_rows(&f, false, &l);
    expect_refuted(&l, "a matrix takes 4 wavefronts, 3 of them conflicts, and the statement says 2 and 3");
    f = *fact_of(64);
    f.x4.conflicts = 11;
    bank_prove_rows(&f, false, &l);
    expect_refuted(&l, "ldmatrix.x4 takes 16 wavefronts, 12 of them conflicts, and the statement says 16 and 11");
    f = *fact_of(96);
    f.degree = 1;
    bank_prove_rows(&f, false, &l);
    expect_refuted(&l, "a matrix takes 2 wavefronts, and the statement says 1");
}

/* ---- models with one mistake each ---- */

/* The model with a broken rule of tests/independent/banks.c. */
static struct bank_count broken(enum bank_rule rule, enum bank_access kind, unsigned bytes, unsigned matrices,
                                const uint32_t at[32], uint32_t active) {
    char op[20];
    int64_t where[32];
    if (kind == BANK_MATRIX)
        snprintf(op, sizeof op, "ldmatrix_x%u", matrices);
    else
        snprintf(op, sizeof op, "%s%u", kind == BANK_LOAD ? "ld" : "st", 8 * bytes);
    for (int lane = 0; lane < 32; ++lane)
        where[lane] = kind == BANK_MATRIX || active >> lane & 1 ? (int64_t)at[lane] : -1;
    const struct independent_banks b = independent_banks(op, where, rule);
    return (struct bank_count){b.wavefronts, b.conflicts};
}

#define BROKEN(name, rule)                                                                                             \
    static struct bank_count name(enum bank_access kind, unsigned bytes, unsigned matrices, const uint32_t at[32],     \
                                  uint32_t active) {                                                                   \
        return broken(rule, kind, bytes, matrices, at, active);                                                        \
    }
BROKEN(right, BANK_RULE_NONE)
BROKEN(never_merges, BANK_RULE_NEVER_MERGES)
BROKEN(no_distance_2, BANK_RULE_NO_DISTANCE_2)
BROKEN(distance_4, BANK_RULE_DISTANCE_4)
BROKEN(mixed_distances, BANK_RULE_MIXED)
BROKEN(halves_merge, BANK_RULE_HALVES)
BROKEN(idle_differs, BANK_RULE_IDLE_DIFFERS)
BROKEN(stores_merge, BANK_RULE_STORES_MERGE)
BROKEN(matrices_merge, BANK_RULE_MATRICES_MERGE)
BROKEN(interleaved, BANK_RULE_INTERLEAVED)

static struct bank_count mask_ignored(enum bank_access kind, unsigned bytes, unsigned matrices, const uint32_t at[32],
                                      uint32_t active) {
    (void)active;
    return bank_count(kind, bytes, matrices, at, UINT32_MAX);
}

static struct bank_count half_the_banks(enum bank_access kind, unsigned bytes, unsigned matrices, const uint32_t at[32],
                                        uint32_t active) {
    uint32_t where[32];
    for (int lane = 0; lane < 32; ++lane)
        where[lane] = 2 * at[lane];
    return bank_count(kind, bytes, matrices, where, active);
}
/* No word is shared: each lane counts. */
static struct bank_count no_broadcast(enum bank_access kind, unsigned bytes, unsigned matrices, const uint32_t at[32],
                                      uint32_t active) {
    uint32_t where[32];
    for (uint32_t lane = 0; lane < 32; ++lane)
        where[lane] = at[lane] + (lane << 16);
    return bank_count(kind, bytes, matrices, where, active);
}
/* Twice as many wavefronts for matrices. */
static struct bank_count dear_matrices(enum bank_access kind, unsigned bytes, unsigned matrices, const uint32_t at[32],
                                       uint32_t active) {
    struct bank_count c = bank_count(kind, bytes, matrices, at, active);
    c.wavefronts *= kind == BANK_MATRIX ? 2 : 1;
    return c;
}

/* Each rule has a mistake that it names. */
Test(prove_banks, planted_models) {
    static const struct {
        const char *rule;
        bank_model *model;
        const char *text;
    } rows[] = {
        {"rule/matrix-stride", half_the_banks, "stride 16, gcd(1, 8) = 1: 2 wavefronts and 1 conflicts, want 1 and 0"},
        {"rule/matrix-or-words", dear_matrices, "ld32 at stride 16: 1 wavefronts and 0 conflicts, want 2 and 0"},
        {"rule/matrices", matrices_merge,
         "ldmatrix.x2 of one matrix, stride 16: 1 wavefronts and 0 conflicts, want 2 and 0"},
        {"rule/swizzles", half_the_banks,
         "32 bytes, chunk 0 of rows 0 to 7: 2 wavefronts and 1 conflicts, want 1 and 0"},
        {"rule/phases", interleaved, "ld64 of neighbours: 4 wavefronts and 2 conflicts, want 2 and 0"},
        {"rule/one-word", no_broadcast, "ld8 of one address: 32 wavefronts and 31 conflicts, want 1 and 0"},
        {"rule/idle-lanes", mask_ignored, "ld8 with the lanes 00000001: 32 wavefronts and 31 conflicts, want 1 and 0"},
        {"rule/merging", never_merges,
         "ld64, pairs (l, l xor 1), all pairs equal: 2 wavefronts and 0 conflicts, want 1 and 0"},
        {"rule/merging", no_distance_2,
         "ld64, pairs (l, l xor 2), all pairs equal: 2 wavefronts and 0 conflicts, want 1 and 0"},
        {"rule/merging", distance_4,
         "ld64, pairs (l, l xor 4), all pairs equal: 1 wavefronts and 0 conflicts, want 2 and 0"},
        {"rule/merging", mixed_distances,
         "ld64, pairs (l, l xor 1), pairs at two distances, each in one half: 1 wavefronts and 0 conflicts, want 2 and "
         "0"},
        {"rule/merging", halves_merge,
         "ld128, pairs (l, l xor 1), all pairs but one equal: 3 wavefronts and 0 conflicts, want 4 and 0"},
        {"rule/merging", idle_differs,
         "ld64, pairs (l, l xor 1), one lane of each pair idle: 2 wavefronts and 0 conflicts, want 1 and 0"},
        {"rule/merging", stores_merge,
         "st64, pairs (l, l xor 1), all pairs equal: 1 wavefronts and 0 conflicts, want 2 and 0"},
    };
    struct statement_list l = {NULL, 0};
    bank_prove_rules(right, NULL, 0, false, &l);
    cr_assert_eq(l.count, 8);
    for (size_t i = 0; i < l.count; ++i)
        cr_expect(l.items[i].proved, "%s: %s", l.items[i].name, l.items[i].counterexample);
    statement_list_free(&l);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        bank_prove_rules(rows[i].model, &rows[i].rule, 1, false, &l);
        expect_refuted(&l, rows[i].text);
    }
}

static char *read_text(const char *path) {
    FILE *f = fopen(path, "r");
    cr_assert(f, "%s", path);
    char *text = must_calloc(1 << 20, 1);
    const size_t n = fread(text, 1, (1 << 20) - 1, f);
    cr_assert(n > 0);
    fclose(f);
    return text;
}

/* The text with the first `from` in it replaced. */
static char *replaced(const char *text, const char *from, const char *to) {
    const char *at = strstr(text, from);
    cr_assert(at, "no '%s'", from);
    return must_format("%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
}

static void make_in_folder(const char *name) {
    char *path = in_folder(name);
    cr_assert_eq(mkdir(path, 0700), 0);
    free(path);
}

/* A project of one kernel, whose plane has another stride, and one table, with a count that is one too many. */
static void planted_project(const char *stride) {
    make_in_folder("gpu");
    make_in_folder("gpu/kernels");
    make_in_folder("fixtures");
    make_in_folder("fixtures/golden");
    char *spec = read_text("gpu/kernels/mmq_wide_ldb_kd4.yaml"), *planted = replaced(spec, "stride: 48", stride);
    put_file("gpu/kernels/mmq_wide_ldb_kd4.yaml", planted, strlen(planted));
    free(spec);
    free(planted);
    char *table = read_text("fixtures/golden/banks_h200.tsv"),
         *wrong = replaced(table, "ld32\tstride8\t2\t1", "ld32\tstride8\t3\t1");
    put_file("fixtures/golden/banks_h200.tsv", wrong, strlen(wrong));
    free(table);
    free(wrong);
}

Test(prove_banks, planted_plane_and_table) {
    planted_project("stride: 64");
    static const char *const plane[] = {"plane/"}, *const table[] = {"table/"};
    struct statement_list l = {NULL, 0};
    struct error e;
    cr_assert(bank_prove_all(run_folder, plane, 1, false, &l, &e), "%s", e.text);
    expect_refuted(&l, "qb8: rows 0 to 7 at byte 0 take 4 wavefronts");
    cr_assert(bank_prove_all(run_folder, table, 1, false, &l, &e), "%s", e.text);
    expect_refuted(&l, "line 6, ld32 stride8: 2 wavefronts and 1 conflicts by the model, the table states 3 and 1");
    run_before = must_format("WARPPROOF_ROOT=%s", run_folder);
    expect_result(run_command("prove banks plane/ table/ rule/phases"), 1,
                  "1 proved, 2 refuted\n1 passed, 2 failed, 0 skipped\n");
    free((char *)run_before);
    run_before = "";
}

Test(prove_banks, a_table_that_states_nothing_proves_nothing) {
    struct bank_row r = {.label = "x", .at = {0}};
    cr_assert(bank_op_named("ld32", &r.op));
    const struct bank_table t = {.rows = &r, .count = 1};
    struct statement_list l = {NULL, 0};
    bank_prove_table("t", &t, false, &l);
    expect_refuted(&l, "the table states nothing");
}

/* ---- tiles ---- */

static struct random_stream stream;

static uint32_t below(uint32_t bound) {
    return random_below(&stream, bound);
}

/* Each unit of the tile is asked for once, where the swizzle puts it, and the sum is that of the accesses byte by byte.
 */
static void expect_tile(const struct bank_tile *t) {
    const uint32_t units = t->row_bytes / t->op.bytes;
    uint8_t *seen = must_calloc((size_t)t->rows * units, 1);
    struct independent_banks sum = {0, 0};
    char op[20];
    bank_op_table_name(&t->op, op);
    for (size_t i = 0; i < bank_tile_accesses(t); ++i) {
        struct bank_access_lanes a;
        int64_t at[32];
        bank_tile_access(t, i, &a);
        for (uint32_t lane = 0; lane < 32; ++lane) {
            at[lane] = a.active >> lane & 1 ? (int64_t)a.at[lane] : -1;
            if (at[lane] < 0)
                continue;
            cr_assert(a.row[lane] < t->rows && a.byte[lane] < t->row_bytes && a.byte[lane] % t->op.bytes == 0);
            ++seen[a.row[lane] * units + a.byte[lane] / t->op.bytes];
            const uint32_t row = a.row[lane], chunk = a.byte[lane] / 16;
            uint32_t turned = 0;
            for (uint32_t bit = 0; bit < 8; ++bit) /* bit by bit */
                turned |= ((chunk >> bit & 1) != (t->xor_mask >> bit & row >> (t->xor_shift + bit) & 1)) << bit;
            cr_assert_eq(at[lane], (int64_t)t->offset + (int64_t)row * t->stride + turned * 16 + a.byte[lane] % 16);
        }
        const struct independent_banks one = independent_banks(op, at, BANK_RULE_NONE);
        sum.wavefronts += one.wavefronts;
        sum.conflicts += one.conflicts;
    }
    for (size_t i = 0; i < (size_t)t->rows * units; ++i)
        cr_assert(seen[i] == 1 || t->lanes != UINT32_MAX, "unit %zu is asked for %u times", i, seen[i]);
    const struct bank_count got = bank_tile_count(t);
    cr_assert(got.wavefronts == sum.wavefronts && got.conflicts == sum.conflicts,
              "%s, %u rows of %u, stride %u: %u wavefronts, byte by byte %u", t->op.name, t->rows, t->row_bytes,
              t->stride, got.wavefronts, sum.wavefronts);
    free(seen);
}

Test(prove_banks, random_tiles) {
    static const char *const ops[] = {"ld8",  "ld16",  "ld32",        "ld64",        "ld128",       "st8",
                                      "st32", "st128", "ldmatrix.x1", "ldmatrix.x2", "ldmatrix.x4", "stmatrix.x2"};
    stream = random_open(random_key("random tiles"), 0);
    size_t tiles = 0, swizzled = 0;
    for (int i = 0; i < 20000; ++i) {
        struct bank_tile t = {.lanes = UINT32_MAX};
        struct error e;
        cr_assert(bank_op_named(ops[below(12)], &t.op));
        t.rows = t.op.matrices ? 8 * (1 + below(8)) : 1 + below(40);
        t.row_bytes = t.op.bytes * (1 + below(12));
        t.stride = t.row_bytes + t.op.bytes * below(12);
        t.offset = t.op.bytes * below(64);
        if (below(2)) {
            t.xor_mask = below(8);
            t.xor_shift = below(4);
            t.stride = below(2) ? 128 : 256;
        }
        t.lanes = !t.op.matrices && below(4) == 0 ? random_u32(&stream) : UINT32_MAX;
        if (!bank_tile_check(&t, &e))
            continue;
        expect_tile(&t);
        ++tiles;
        swizzled += t.xor_mask != 0;
    }
    cr_expect(tiles > 10000 && swizzled > 3000, "%zu tiles, %zu swizzled", tiles, swizzled);
}

/* ---- advice ---- */

/* Wavefronts of matrices of the rows, byte by byte. */
static bool free_of_conflicts(uint32_t rows, uint32_t row_bytes, uint32_t stride, uint32_t mask, uint32_t shift) {
    for (uint32_t first = 0; first < rows; first += 8)
        for (uint32_t chunk = 0; chunk < row_bytes / 16; ++chunk) {
            int64_t at[32];
            memset(at, 0, sizeof at);
            for (uint32_t row = 0; row < 8; ++row)
                at[row] = (first + row) * (int64_t)stride + (chunk ^ ((first + row) >> shift & mask)) * 16;
            if (independent_banks("ldmatrix_x1", at, BANK_RULE_NONE).conflicts > 0)
                return false;
        }
    return true;
}

Test(prove_banks, advice_is_all_that_serves) {
    static const struct {
        uint32_t rows, row_bytes, max_stride;
    } asked[] = {{8, 16, 0}, {16, 32, 0}, {16, 64, 256}, {64, 128, 144}, {8, 48, 0}, {8, 128, 128}};
    for (size_t k = 0; k < sizeof asked / sizeof *asked; ++k) {
        struct bank_tile t = {.rows = asked[k].rows, .row_bytes = asked[k].row_bytes, .lanes = UINT32_MAX};
        struct bank_advice_list l;
        struct error e;
        cr_assert(bank_tile_matrices(t.rows, t.row_bytes, &t.op));
        cr_assert(bank_advise(&t, 16, asked[k].max_stride, &l, &e), "%s", e.text);
        const uint32_t last = asked[k].max_stride ? asked[k].max_stride : (t.row_bytes + 15) / 16 * 16 + 112;
        size_t found = 0;
        for (uint32_t stride = (t.row_bytes + 15) / 16 * 16; stride <= last; stride += 16)
            for (uint32_t mask = 0; mask < 8; ++mask)
                for (uint32_t shift = 0; shift < (mask ? 14 : 1); ++shift) {
                    bool fits = true, uses = mask == 0;
                    uint32_t seen = 0;
                    for (uint32_t row = 0; row < t.rows; ++row) {
                        seen |= row >> shift & mask;
                        for (uint32_t c = 0; c < t.row_bytes / 16; ++c)
                            fits = fits && ((c ^ (row >> shift & mask)) + 1) * 16 <= stride;
                    }
                    uses = uses || seen == mask;
                    if (!fits || !uses || !free_of_conflicts(t.rows, t.row_bytes, stride, mask, shift))
                        continue;
                    cr_assert(found < l.count, "stride %u, mask %u, shift %u is missing", stride, mask, shift);
                    const struct bank_advice *a = &l.items[found++];
                    cr_expect(a->stride == stride && a->xor_mask == mask && a->xor_shift == shift &&
                                  a->bytes == (uint64_t)stride * t.rows && a->count.conflicts == 0,
                              "%u rows of %u: advice %zu is stride %u, mask %u, shift %u; want %u, %u, %u", t.rows,
                              t.row_bytes, found - 1, a->stride, a->xor_mask, a->xor_shift, stride, mask, shift);
                }
        cr_expect_eq(found, l.count, "%zu of %zu", found, l.count);
        bank_advice_free(&l);
    }
}

Test(prove_banks, advice_when_there_is_none_and_when_it_is_too_much) {
    struct bank_tile t = {.rows = 8, .row_bytes = 16, .lanes = UINT32_MAX};
    struct bank_advice_list l;
    struct error e;
    cr_assert(bank_op_named("ldmatrix.x1", &t.op));
    cr_assert(bank_advise(&t, 128, 128, &l, &e), "%s", e.text);
    cr_expect(l.count == 1 && l.items[0].xor_mask == 7, "%zu", l.count); /* the swizzle of 128 bytes */
    bank_advice_free(&l);
    cr_assert(bank_advise(&t, 32, 32, &l, &e), "%s", e.text);
    cr_expect(l.count == 0 || l.items[0].xor_mask == 1, "%zu", l.count);
    bank_advice_free(&l);
    cr_expect(!bank_advise(&t, 8, 0, &l, &e) && strstr(e.text, "--align 8: ldmatrix.x1 wants multiples of 16"), "%s",
              e.text);
    cr_expect(!bank_advise(&t, 16, 8, &l, &e) && strstr(e.text, "--max-stride 8"), "%s", e.text);
    cr_expect(!bank_advise(&t, 16, UINT32_MAX, &l, &e) && strstr(e.text, "--max-stride 4294967295"), "%s", e.text);
    t.rows = 65536;
    cr_expect(!bank_advise(&t, 16, 0, &l, &e) && strstr(e.text, "accesses to count"), "%s", e.text);
    t.rows = t.row_bytes = UINT32_MAX;
    cr_expect(!bank_advise(&t, 16, 0, &l, &e), "too large");
    t.rows = 0;
    t.row_bytes = 0;
    cr_expect(!bank_advise(&t, 16, 0, &l, &e), "too small");
}

/* ---- layouts ---- */

static struct bank_layout count_layout(const char *path) {
    struct error e;
    struct bank_layout b;
    struct layout *l = layout_read(path, &e);
    cr_assert(l, "%s", e.text);
    cr_assert(bank_layout_count(l, &b, &e), "%s", e.text);
    layout_free(l);
    return b;
}

Test(prove_banks, layouts) {
    static const char plain[] = "layout: plain\nmatrix: {rows: 64, row_bytes: 32}\nmemory: {stride: 32}\n"
                                "plane: {bytes: 2048}\nload: ldmatrix.x4\n"
                                "address: (tile_row + lane % 16) * stride + lane / 16 * 16\nwants: mma.m16n8k32.s8 A\n";
    put_file("plain.yaml", plain, sizeof plain - 1);
    char *path = in_folder("plain.yaml");
    struct bank_layout b = count_layout(path);
    cr_expect(b.accesses == 4 && b.count.wavefronts == 32 && b.count.conflicts == 16 && b.start_count == 64 &&
                  b.starts[5] == 8,
              "%zu accesses, %u wavefronts", b.accesses, b.count.wavefronts);
    char *moved = replaced(plain, "plane: {bytes: 2048}", "plane: {bytes: 2048, offset: 64}");
    put_file("plain.yaml", moved, strlen(moved));
    b = count_layout(path);
    cr_expect(b.starts[0] == 16 && b.starts[5] == 24 && b.at[0] == 64 && b.at[17] == 64 + 32 + 16,
              "from byte 64: %u, %u", b.starts[0], b.at[0]);
    free(moved);
    free(path);
    b = count_layout("fixtures/layouts/slots_48.yaml");
    cr_expect(b.count.wavefronts == 16 && b.count.conflicts == 0, "%u", b.count.wavefronts);
    b = count_layout("fixtures/layouts/swizzle_128.yaml");
    cr_expect(b.count.conflicts == 0, "%u", b.count.conflicts);
}

/* ---- tables ---- */

#define LANES "0 4 8 12 16 20 24 28 32 36 40 44 48 52 56 60 64 68 72 76 80 84 88 92 96 100 104 108 112 116 120"
#define MORE  LANES " 124"

Test(prove_banks, tables_that_are_none) {
    static const struct {
        const char *text, *want;
    } rows[] = {
        {"ld32\ta\t1\t0\t" MORE "\nld33\ta\t" MORE "\n", "t.tsv:2:1: 'ld33' is no access: want one of ld8 ld16"},
        {"# x\n\nld32\ta\t" LANES "\n", "t.tsv:3:103: 31 addresses: want 32, one a lane"},
        {"ld32\ta\t" MORE " 0\n", "t.tsv:1:108: more than 32 addresses"},
        {"ld32\ta\t" LANES " \n", "t.tsv:1:104: want the address of lane 31"},
        {"ld32\ta\t" LANES "  124\n", "t.tsv:1:104: want the address of lane 31; one space parts two addresses"},
        {"ld32\ta\t" LANES " 126\n", "t.tsv:1:104: the address of lane 31 is 126: ld32 wants a multiple of 4"},
        {"ld32\ta\t" LANES " -2\n", "t.tsv:1:104: the address of lane 31 is '-2': want a byte offset from 0 to"},
        {"ld32\ta\t" LANES " 268435456\n", "t.tsv:1:104: the address of lane 31 is '268435456': want"},
        {"ld32\ta\t" LANES " 99999999999999999999\n", "t.tsv:1:104: the address of lane 31 is '9999"},
        {"ld32\ta\t" LANES " 0x10\n", "t.tsv:1:104: the address of lane 31 is '0x10': want"},
        {"ld32\ta\t1.5\t0\t" MORE "\n", "t.tsv:1:8: wavefronts is '1.5': want an integer from 0 to 1048576, or '-'"},
        {"ld32\ta\t1\t\t" MORE "\n", "t.tsv:1:10: conflicts is '': want an integer from 0 to 1048576"},
        {"ld32\ta\t-\t0\t" MORE "\n", "t.tsv:1:10: want '-', as there are no wavefronts either"},
        {"ld32\t\t" MORE "\n", "t.tsv:1:6: the label is empty"},
        {"ld32\n", "t.tsv:1:1: 1 column: want op, label, wavefronts, conflicts, addresses"},
        {"ld32\ta\t1\t" MORE "\n", "t.tsv:1:1: 4 columns: want"},
        {"ld32\ta\t1\t0\t" MORE "\tx\n", "t.tsv:1:112: more than 5 columns"},
        {"ldmatrix_x3\ta\t" MORE "\n", "t.tsv:1:1: 'ldmatrix_x3' is no access"},
        {"ldmatrix_x4\ta\t0 16 -1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
         "t.tsv:1:20: lane 2 is inactive: ldmatrix.x4 wants the addresses of lanes 0 to 31"},
    };
    char *path = in_folder("t.tsv");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        struct bank_table t;
        struct error e = {""};
        put_file("t.tsv", rows[i].text, strlen(rows[i].text));
        cr_expect(!bank_table_read(path, &t, &e) && strstr(e.text, rows[i].want) && !t.rows && !t.count,
                  "row %zu: %s\nwant %s", i, e.text, rows[i].want);
    }
    struct bank_table t;
    struct error e;
    put_file("t.tsv", "ld32\ta\0", 7);
    cr_expect(!bank_table_read(path, &t, &e) && strstr(e.text, "t.tsv:1:7: a zero byte"), "%s", e.text);
    static const char fine[] = "ldmatrix.x1\tb\t0 16 32 48 64 80 96 112 3 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 "
                               "-1 -1 -1 -1 -1 -1 -1 -1\r\n\r\n# last";
    put_file("t.tsv", fine, sizeof fine - 1);
    cr_assert(bank_table_read(path, &t, &e), "%s", e.text);
    cr_expect(t.count == 1 && t.rows[0].line == 1 && bank_row_count(t.rows).wavefronts == 1);
    bank_table_free(&t);
    free(path);
}

/* Bytes put in, taken out and changed: a table or one error, never a crash. */
Test(prove_banks, damaged_tables) {
    struct random_stream s = random_open(random_key("damaged tables"), 0);
    char *whole = read_text("fixtures/golden/banks_h200.tsv"), *path = in_folder("t.tsv");
    whole[4000] = 0;
    const size_t length = strlen(whole);
    static const char bytes[] = "\t\n -1#0,9x\r\xff";
    size_t read = 0;
    for (int i = 0; i < 3000; ++i) {
        char *text = must_format("%s", whole);
        size_t n = random_below(&s, 8) ? length : random_below(&s, (uint32_t)length);
        for (uint32_t k = 1 + random_below(&s, 3); k > 0 && n > 0; --k)
            text[random_below(&s, (uint32_t)n)] = bytes[random_below(&s, sizeof bytes)];
        put_file("t.tsv", text, n);
        struct bank_table t;
        struct error e = {""};
        const bool good = bank_table_read(path, &t, &e);
        cr_assert(good || strstr(e.text, "t.tsv:"), "%s", e.text);
        read += good;
        if (good)
            bank_table_free(&t);
        free(text);
    }
    cr_expect(read > 0 && read < 3000, "%zu of 3000 are tables", read);
    free(whole);
    free(path);
}
