/* The bank model against what an H200 counted (fixtures/golden/banks_*.tsv), against the same rules counted byte by
 * byte, and the harness that counts on a GPU (tests/banks). */
#include "banks/banks.h"
#include "../gpu/bank_statements.h"
#include "../ref/checked.h"
#include "../ref/random.h"
#include "command_run.h"
#include "independent/independent.h"
#include <criterion/criterion.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void signed_addresses(const struct bank_row *r, int64_t at[32]) {
    for (int lane = 0; lane < 32; ++lane)
        at[lane] = r->active >> lane & 1 ? (int64_t)r->at[lane] : -1;
}

/* Rows of the golden tables that a broken rule contradicts; with BANK_RULE_NONE there is none. */
static void judge_table(const char *path, size_t *rows, size_t *uncounted, size_t contradicted[BANK_RULES]) {
    struct bank_table t;
    struct error e;
    cr_assert(bank_table_read(path, &t, &e), "%s", e.text);
    for (size_t i = 0; i < t.count; ++i) {
        const struct bank_row *r = &t.rows[i];
        const struct bank_count model = bank_row_count(r);
        int64_t at[32];
        char op[20];
        if (bank_row_uncounted(r)) {
            ++*uncounted;
            continue;
        }
        ++*rows;
        cr_expect(!bank_row_differs(r), "%s:%zu: %s %s: %u wavefronts, %u conflicts; counted were %u and %u", path,
                  r->line, r->op.name, r->label, model.wavefronts, model.conflicts, r->count.wavefronts,
                  r->count.conflicts);
        signed_addresses(r, at);
        bank_op_table_name(&r->op, op);
        for (enum bank_rule rule = BANK_RULE_NONE; rule < BANK_RULES; ++rule) {
            const struct independent_banks b = independent_banks(op, at, rule);
            contradicted[rule] += b.wavefronts != r->count.wavefronts || b.conflicts != r->count.conflicts;
        }
    }
    bank_table_free(&t);
}

Test(banks, as_an_h200_counts) {
    glob_t tables;
    size_t rows = 0, uncounted = 0, contradicted[BANK_RULES] = {0};
    cr_assert(glob("fixtures/golden/banks_*.tsv", 0, NULL, &tables) == 0, "tests run in the project's folder");
    for (size_t i = 0; i < tables.gl_pathc; ++i)
        judge_table(tables.gl_pathv[i], &rows, &uncounted, contradicted);
    globfree(&tables);
    cr_expect(rows >= 456 + 458 + 440 && uncounted == 2, "%zu rows, %zu of them without a count", rows + uncounted,
              uncounted);
    cr_expect_eq(contradicted[BANK_RULE_NONE], 0, "%zu rows are not as counted byte by byte", contradicted[0]);
    for (enum bank_rule rule = BANK_RULE_NONE + 1; rule < BANK_RULES; ++rule)
        cr_expect(contradicted[rule] > 0, "no row of the GPU contradicts broken rule %d", (int)rule);
}

/* facts/ptx.md 5.2: eight rows of 16 bytes at a constant stride. */
Test(banks, eight_rows) {
    static const struct {
        uint32_t stride;
        unsigned degree;
    } rows[] = {{32, 2}, {48, 1}, {304, 1}, {144, 1}, {64, 4},  {128, 8}, {256, 8},
                {16, 1}, {80, 1}, {112, 1}, {176, 1}, {272, 1}, {96, 2},  {160, 2}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        uint32_t at[32];
        for (uint32_t lane = 0; lane < 32; ++lane) /* x4 of 16 rows x 32 bytes */
            at[lane] = (lane & 15) * rows[i].stride + (lane >> 4) * 16;
        const struct bank_count one = bank_count(BANK_MATRIX, 16, 1, at, UINT32_MAX);
        const struct bank_count four = bank_count(BANK_MATRIX, 16, 4, at, UINT32_MAX);
        cr_expect_eq(one.wavefronts, rows[i].degree, "stride %u: degree %u", rows[i].stride, one.wavefronts);
        cr_expect_eq(four.wavefronts, 4 * rows[i].degree, "stride %u: x4 %u", rows[i].stride, four.wavefronts);
        cr_expect_eq(four.conflicts, 4 * (rows[i].degree - 1), "stride %u: x4 conflicts %u", rows[i].stride,
                     four.conflicts);
    }
}

/* ---- random accesses ---- */

static struct random_stream stream;

static uint32_t below(uint32_t bound) {
    return random_below(&stream, bound);
}

/* Addresses of one kind or another; of pairs and fours that are equal, nearly, or but for idle lanes. */
static void random_access(struct bank_op *op, uint32_t at[32], uint32_t *active) {
    uint32_t ops = 0;
    while (bank_kernel_ops[ops])
        ++ops;
    cr_assert(bank_op_named(bank_kernel_ops[below(ops)], op));
    static const uint32_t spans[] = {4, 16, 64, 256, 4096, 1 << 20};
    const uint32_t span = spans[below(6)], stride = 1 + below(40), base = below(64), kind = below(8),
                   distance = 1u << below(5);
    uint32_t value[32];
    for (uint32_t lane = 0; lane < 32; ++lane)
        value[lane] = kind < 2 ? base + lane * stride : below(span);
    for (uint32_t lane = 0; lane < 32; ++lane) {
        const uint32_t from = kind < 4   ? lane
                              : kind < 6 ? lane & ~distance
                              : kind < 7 ? lane & ~(lane < 16 ? 1u : 2u)
                                         : lane & ~3u;
        at[lane] = value[from] * op->bytes;
    }
    if (kind >= 4 && below(3) == 0)
        at[below(32)] = below(span) * op->bytes;
    *active = below(3) == 0 ? random_u32(&stream) : below(8) == 0 ? random_u32(&stream) & random_u32(&stream) : ~0u;
    if (op->matrices)
        *active = ~0u;
}

/* Each active lane is served once; no wavefront asks a bank for two words, or serves two phases. */
static void expect_plan(const struct bank_op *op, const uint32_t at[32], uint32_t active,
                        const struct independent_banks *want) {
    const struct bank_plan p = bank_plan(op, at, active);
    active &= bank_op_lanes(op);
    cr_assert(p.count.wavefronts == want->wavefronts && p.count.conflicts == want->conflicts,
              "%s: the plan has %u wavefronts and %u conflicts, want %u and %u", op->name, p.count.wavefronts,
              p.count.conflicts, want->wavefronts, want->conflicts);
    for (unsigned w = 0; w < p.count.wavefronts; ++w) {
        int64_t word[32];
        uint32_t lanes = 0;
        memset(word, -1, sizeof word);
        for (unsigned lane = 0; lane < 32; ++lane)
            for (unsigned k = 0; p.wavefront[lane] == w && k < (op->bytes + 3) / 4; ++k) {
                const uint32_t mine = at[lane] / 4 + k;
                cr_assert(word[mine % 32] < 0 || word[mine % 32] == mine, "%s: wavefront %u asks bank %u for two words",
                          op->name, w, mine % 32);
                word[mine % 32] = mine;
                lanes |= 1u << lane;
            }
        unsigned phases = 0;
        for (unsigned k = 0; k < p.phases; ++k)
            phases += (p.lanes[k] & lanes) != 0;
        cr_assert(lanes && phases == 1, "%s: wavefront %u serves %08x of %u phases", op->name, w, lanes, phases);
    }
    for (unsigned lane = 0; lane < 32; ++lane)
        cr_assert((active >> lane & 1) == (p.wavefront[lane] < p.count.wavefronts), "%s: lane %u", op->name, lane);
}

Test(banks, random_accesses_byte_by_byte) {
    stream = random_open(random_key("random accesses"), 0);
    size_t merged = 0;
    for (int i = 0; i < 300000; ++i) {
        struct bank_op op;
        struct bank_row r = {.label = NULL};
        int64_t at[32];
        char name[20];
        random_access(&op, r.at, &r.active);
        r.op = op;
        signed_addresses(&r, at);
        bank_op_table_name(&op, name);
        const struct independent_banks want = independent_banks(name, at, BANK_RULE_NONE);
        const struct bank_count got = bank_row_count(&r);
        cr_assert(got.wavefronts == want.wavefronts && got.conflicts == want.conflicts,
                  "access %d, %s: %u wavefronts and %u conflicts, byte by byte %u and %u", i, name, got.wavefronts,
                  got.conflicts, want.wavefronts, want.conflicts);
        expect_plan(&op, r.at, r.active, &want);
        merged += bank_plan(&op, r.at, r.active).merged;
    }
    cr_expect(merged > 5000, "only %zu loads merged", merged);
}

/* ---- the harness ---- */

static char *patterns_path(void) {
    char *path = must_strdup("/tmp/bank-patterns-XXXXXX");
    const int fd = mkstemp(path);
    cr_assert(fd >= 0);
    FILE *f = fdopen(fd, "w");
    patterns_write(f);
    fclose(f);
    return path;
}

static void read_patterns(struct bank_table *t) {
    struct error e;
    char *path = patterns_path();
    const bool good = bank_table_read(path, t, &e);
    unlink(path);
    free(path);
    cr_assert(good, "%s", e.text);
}

/* What the PTX machine counts of each access in the kernels that a GPU runs. */
Test(banks, kernels_on_the_machine) {
    struct bank_table t;
    struct error e;
    read_patterns(&t);
    cr_expect(t.count >= 400, "%zu patterns", t.count);
    char *text = kernels_text();
    struct ptx_module *m = ptx_parse("kernels.ptx", text, strlen(text), &e);
    cr_assert(m, "%s", e.text);
    for (size_t i = 0; i < t.count; ++i) {
        struct bank_count got;
        const struct bank_count want = bank_row_count(&t.rows[i]);
        cr_assert(kernels_launch(m, &t.rows[i], &runner_machine, true, &got, &e), "%s", e.text);
        cr_expect(got.wavefronts == want.wavefronts && got.conflicts == want.conflicts,
                  "%s %s: the machine counts %u and %u, want %u and %u", t.rows[i].op.name, t.rows[i].label,
                  got.wavefronts, got.conflicts, want.wavefronts, want.conflicts);
    }
    ptx_free(m);
    free(text);
    bank_table_free(&t);
}

/* The table of counted patterns has exactly the patterns that the harness makes now. */
Test(banks, golden_patterns_are_those_of_the_harness) {
    const char *path = "fixtures/golden/banks_patterns_counted.tsv";
    struct bank_table made, counted;
    struct error e;
    read_patterns(&made);
    cr_assert(bank_table_read(path, &counted, &e), "%s", e.text);
    cr_assert_eq(made.count, counted.count);
    for (size_t i = 0; i < made.count; ++i) {
        const struct bank_row *a = &made.rows[i], *b = &counted.rows[i];
        cr_expect(!strcmp(a->op.name, b->op.name) && !strcmp(a->label, b->label) && a->active == b->active &&
                      !memcmp(a->at, b->at, sizeof a->at),
                  "row %zu: %s, counted was %s", i, a->label, b->label);
    }
    bank_table_free(&made);
    bank_table_free(&counted);
}

static char *join_text(const struct bank_table *t, const char *csv, struct error *e) {
    char path[] = "/tmp/bank-csv-XXXXXX", *text = NULL;
    size_t size = 0;
    const int fd = mkstemp(path);
    cr_assert(fd >= 0 && write(fd, csv, strlen(csv)) == (ssize_t)strlen(csv));
    close(fd);
    FILE *out = open_memstream(&text, &size);
    const bool good = join_counts(t, path, out, NULL, e);
    fclose(out);
    unlink(path);
    if (good)
        return text;
    free(text);
    return NULL;
}

/* Both forms of ncu's pages: a line a metric, and a line a launch with a row of units. */
Test(banks, counters_are_joined_to_their_rows) {
#define OFFSETS "0 4 8 12 16 20 24 28 32 36 40 44 48 52 56 60 64 68 72 76 80 84 88 92 96 100 104 108 112 116 120 -1"
#define W(op)   "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_" op ".sum"
#define C(op)   "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_" op ".sum"
    static const char
        table[] = "ld32\ta\t-\t-\t" OFFSETS "\nst32\tb\t" OFFSETS "\n",
        tall_head[] = "==PROF== Connected\n\"ID\",\"Kernel Name\",\"Metric Name\",\"Metric Value\"\n",
        load[] = "\"0\",\"ld32\",\"" W("ld") "\",\"1,024\"\n\"0\",\"ld32\",\"" C(
            "ld") "\",\"0\"\n"
                  "\"0\",\"ld32\",\"" W("st") "\",\"0\"\n\"0\",\"ld32\",\"" C("st") "\",\"0\"\n",
        store[] = "\"1\",\"st32(x, y)\",\"" W("st") "\",\"7\"\n\"1\",\"st32\",\"" C("st") "\",\"6\"\n",
        wide[] = "\"ID\",\"Kernel Name\",\"" W("ld") "\",\"" C("ld") "\",\"" W("st") "\",\"" C(
            "st") "\"\n"
                  "\"\",\"\",\"\",\"\",\"\",\"\"\n"
                  "\"0\",\"ld32\",\"1,024\",\"0\",\"0\",\"0\"\n\"1\",\"st32\",\"0\",\"0\",\"7\",\"6.0\"\n",
        want[] = "ld32\ta\t1024\t0\t" OFFSETS "\nst32\tb\t7\t6\t" OFFSETS "\n";
    char path[] = "/tmp/bank-table-XXXXXX";
    struct bank_table t;
    struct error e;
    const int fd = mkstemp(path);
    cr_assert(fd >= 0 && write(fd, table, sizeof table - 1) == (ssize_t)sizeof table - 1);
    close(fd);
    cr_assert(bank_table_read(path, &t, &e), "%s", e.text);
    unlink(path);
    char *tall = must_format("%s%s%s", tall_head, load, store), *one = must_format("%s%s", tall_head, load),
         *other = must_format("%s\"0\",\"st32\",\"" W("ld") "\",\"1\"\n", tall_head),
         *word = must_format("%s\"0\",\"ld32\",\"" W("ld") "\",\"n/a\"\n", tall_head);
    char *a = join_text(&t, tall, &e), *b = join_text(&t, wide, &e);
    cr_expect(a && !strcmp(a, want), "tall: %s", a ? a : e.text);
    cr_expect(b && !strcmp(b, want), "wide: %s", b ? b : e.text);
    cr_expect(!join_text(&t, one, &e) && strstr(e.text, "nothing was counted of launch 1 (st32 b)"), "%s", e.text);
    cr_expect(!join_text(&t, other, &e) && strstr(e.text, "launch 0 of kernel st32: not that of the table's row"), "%s",
              e.text);
    cr_expect(!join_text(&t, word, &e) && strstr(e.text, "is n/a: want a number"), "%s", e.text);
    cr_expect(!join_text(&t, "", &e) && strstr(e.text, "no header"), "%s", e.text);
    free(a);
    free(b);
    free(tall);
    free(one);
    free(other);
    free(word);
    bank_table_free(&t);
}

/* ---- ci/banks-device ---- */

TestSuite(banks_device, .init = make_folder, .fini = remove_folder);

/* Runs it with the programs beside the command under test, and what stands in for ncu and the driver. */
static int run_script(const char *before, const char *table, char **text) {
    const char *binary = command_binary(), *slash = strrchr(binary, '/');
    char *folder = must_format("%.*s", slash ? (int)(slash - binary) : 1, slash ? binary : ".");
    char *command = must_format("PATH=\"$PWD/tests/banks/fake:$PATH\" LD_LIBRARY_PATH='%s/fake_cuda' "
                                "BANK_PATTERNS='%s/bank-patterns' %s ci/banks-device '%s/out' '%s/%s' 2>&1 </dev/null",
                                folder, folder, before, run_folder, run_folder, table);
    FILE *pipe = popen(command, "r");
    cr_assert(pipe);
    *text = must_calloc(1 << 16, 1);
    const size_t n = fread(*text, 1, (1 << 16) - 1, pipe);
    (*text)[n] = 0;
    free(command);
    free(folder);
    return WEXITSTATUS(pclose(pipe));
}

Test(banks_device, counts_stand_beside_addresses) {
    static const char table[] =
        "# two\nld32\ta\t" OFFSETS "\nstmatrix_x1\tb\t0 32 64 96 128 160 192 224 -1 -1 -1 -1 -1 -1 -1 "
        "-1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1\n",
                      want[] = "\nld32\ta\t1\t0\t" OFFSETS "\nstmatrix_x1\tb\t1\t0\t0 32 64 96 128 160 192 224 -1 ";
    char *text, *path = must_format("%s/out/two_counted.tsv", run_folder), *made = must_calloc(1 << 16, 1);
    put_file("two.tsv", table, sizeof table - 1);
    cr_assert_eq(run_script("", "two.tsv", &text), 0, "%s", text);
    cr_expect(strstr(text, "Fake GPU (sm_90)") && strstr(text, "ncu 0.0.0.0 (fake)") &&
                  strstr(text, "two_counted.tsv: 2 counted rows") &&
                  strstr(text, "line 3, stmatrix.x1 b: counted 1 wavefronts and 0 conflicts, by the model 2 and 1"),
              "%s", text);
    FILE *f = fopen(path, "r");
    cr_assert(f, "%s is not there:\n%s", path, text);
    cr_assert(fread(made, 1, (1 << 16) - 1, f) > 0);
    fclose(f);
    cr_expect(strstr(made, "# Fake GPU (sm_90)") == made && strstr(made, want), "%s", made);
    free(text);
    free(path);
    free(made);
}

Test(banks_device, what_is_missing_is_named) {
    char *text;
    put_file("one.tsv", "ld32\ta\t" OFFSETS "\n", sizeof "ld32\ta\t" OFFSETS);
    cr_expect_eq(run_script("FAKE_NCU=denied", "one.tsv", &text), 2);
    cr_expect(strstr(text, "ERR_NVGPUCTRPERM") && strstr(text, "the profiled run failed"), "%s", text);
    free(text);
    cr_expect_eq(run_script("FAKE_CUDA=none", "one.tsv", &text), 2);
    cr_expect(strstr(text, "no GPU here"), "%s", text);
    free(text);
}
