#include "bank_statements.h"
#include "../ref/checked.h"
#include "bank_tile.h"
#include "spec.h"
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LANES = 32, BANKS = 32 };

/* facts/ptx.md 5.2, as it is written there. */
const struct bank_rows_fact bank_rows_facts[] = {
    {16, {0, 4, 8, 12, 16, 20, 24, 28}, 1, {1, 0}, {4, 0}},  {32, {0, 8, 16, 24, 0, 8, 16, 24}, 2, {2, 1}, {8, 4}},
    {48, {0, 12, 24, 4, 16, 28, 8, 20}, 1, {1, 0}, {4, 0}},  {64, {0, 16, 0, 16, 0, 16, 0, 16}, 4, {4, 3}, {16, 12}},
    {80, {0, 20, 8, 28, 16, 4, 24, 12}, 1, {1, 0}, {4, 0}},  {96, {0, 24, 16, 8, 0, 24, 16, 8}, 2, {2, 1}, {8, 4}},
    {112, {0, 28, 24, 20, 16, 12, 8, 4}, 1, {1, 0}, {4, 0}}, {128, {0, 0, 0, 0, 0, 0, 0, 0}, 8, {8, 7}, {32, 28}},
    {144, {0, 4, 8, 12, 16, 20, 24, 28}, 1, {1, 0}, {4, 0}}, {160, {0, 8, 16, 24, 0, 8, 16, 24}, 2, {2, 1}, {8, 4}},
    {176, {0, 12, 24, 4, 16, 28, 8, 20}, 1, {1, 0}, {4, 0}}, {256, {0, 0, 0, 0, 0, 0, 0, 0}, 8, {8, 7}, {32, 28}},
    {272, {0, 4, 8, 12, 16, 20, 24, 28}, 1, {1, 0}, {4, 0}}, {304, {0, 12, 24, 4, 16, 28, 8, 20}, 1, {1, 0}, {4, 0}},
};
const size_t bank_rows_fact_count = sizeof bank_rows_facts / sizeof *bank_rows_facts;

/* True where there is something to prove: the statement is then open, and true until it is refuted. */
static struct statement begin(char *name, char *text) {
    return (struct statement){.name = name, .text = text, .proved = true};
}

static struct bank_op op_of(const char *name) {
    struct bank_op op = {.bytes = 4};
    bank_op_named(name, &op);
    return op;
}

static struct bank_count tile_count(const char *op, uint32_t rows, uint32_t row_bytes, uint32_t stride) {
    return bank_tile_count(&(struct bank_tile){
        .rows = rows, .row_bytes = row_bytes, .stride = stride, .op = op_of(op), .lanes = UINT32_MAX});
}

/* ---- the rows of 5.2 ---- */

static bool same(struct bank_count a, struct bank_count b) {
    return a.wavefronts == b.wavefronts && a.conflicts == b.conflicts;
}

static void prove_starts(const struct bank_rows_fact *f, struct statement *s) {
    const struct bank_tile rows = {.rows = 8, .row_bytes = 16, .stride = f->stride};
    for (uint32_t row = 0; row < 8 && s->proved; ++row) {
        const uint32_t bank = bank_tile_place(&rows, row, 0) / 4 % BANKS;
        ++s->domain;
        if (bank != f->start[row])
            statement_refute(s, "row %u begins in bank %u, and the statement says %u: row %u x %u bytes is word %u",
                             row, bank, f->start[row], row, f->stride, row * f->stride / 4);
    }
}

static void prove_count(struct statement *s, const char *what, struct bank_count got, struct bank_count want,
                        uint64_t domain) {
    s->domain += domain;
    if (!same(got, want))
        statement_refute(s, "%s takes %u wavefronts, %u of them conflicts, and the statement says %u and %u", what,
                         got.wavefronts, got.conflicts, want.wavefronts, want.conflicts);
}

void bank_prove_rows(const struct bank_rows_fact *f, bool names_only, struct statement_list *l) {
    char starts[64] = "";
    for (size_t i = 0, n = 0; i < 8; ++i)
        n += (size_t)snprintf(starts + n, sizeof starts - n, " %u", f->start[i]);
    struct statement s = begin(
        must_format("rows/stride%u", f->stride),
        must_format("8 rows of 16 bytes, %u bytes apart, begin in banks%s: %u wavefront%s a matrix; ldmatrix.x4 of "
                    "16 rows x 32 bytes: %u, %u of them conflicts",
                    f->stride, starts, f->degree, f->degree == 1 ? "" : "s", f->x4.wavefronts, f->x4.conflicts));
    if (!names_only) {
        prove_starts(f, &s);
        prove_count(&s, "a matrix", tile_count("ldmatrix.x1", 8, 16, f->stride), f->matrix, 8);
        uint32_t at[LANES]; /* the address map itself; the rows overlap where the stride is 16 */
        for (uint32_t lane = 0; lane < LANES; ++lane)
            at[lane] = lane % 16 * f->stride + lane / 16 * 16;
        prove_count(&s, "ldmatrix.x4", bank_count(BANK_MATRIX, 16, 4, at, UINT32_MAX), f->x4, LANES);
        if (f->degree != f->matrix.wavefronts)
            statement_refute(&s, "a matrix takes %u wavefronts, and the statement says %u", f->matrix.wavefronts,
                             f->degree);
    }
    statement_add(l, s);
}

/* ---- the rules of 5.1 ---- */

static uint32_t gcd(uint32_t a, uint32_t b) {
    return b ? gcd(b, a % b) : a;
}

static void rule_gcd(struct statement *s) {
    for (uint32_t stride = 16; stride <= 8192 && s->proved; stride += 16) {
        const uint32_t want = gcd(stride / 16, 8), got = tile_count("ldmatrix.x1", 8, 16, stride).wavefronts;
        ++s->domain;
        if (got != want)
            statement_refute(s, "stride %u: %u wavefronts, and gcd(%u, 8) is %u", stride, got, stride / 16, want);
    }
}

static void rule_words(struct statement *s) {
    for (uint32_t stride = 16; stride <= 8192 && s->proved; stride += 16) {
        const uint32_t word = tile_count("ld32", 8, 16, stride).wavefronts,
                       matrix = tile_count("ldmatrix.x1", 8, 16, stride).wavefronts;
        ++s->domain;
        if (word != matrix)
            statement_refute(s, "stride %u: the load takes %u wavefronts, ldmatrix %u", stride, word, matrix);
    }
}

static const char *const plain_ops[] = {"ld8", "ld16", "ld32", "ld64", "ld128", "st8", "st16", "st32", "st64", "st128"};
enum { PLAIN_OPS = sizeof plain_ops / sizeof *plain_ops };

static void rule_idle(struct statement *s) {
    for (unsigned k = 0; k < PLAIN_OPS; ++k) {
        const struct bank_op op = op_of(plain_ops[k]);
        for (unsigned lane = 0; lane <= LANES && s->proved; ++lane) { /* LANES: nobody */
            uint32_t at[LANES];
            for (unsigned i = 0; i < LANES; ++i)
                at[i] = i * 128; /* all in bank 0 */
            const uint32_t active = lane < LANES ? (uint32_t)1 << lane : 0;
            const struct bank_count got = bank_count(op.kind, op.bytes, 0, at, active);
            ++s->domain;
            if (got.wavefronts != (lane < LANES) || got.conflicts != 0)
                statement_refute(s, "%s with the lanes %08x: %u wavefronts, %u conflicts", op.name, active,
                                 got.wavefronts, got.conflicts);
        }
    }
}

/* Lane l loads value l & ~step, all in distinct words and free of conflicts within a phase of 32 lanes x 4 bytes. */
static void rule_merge(struct statement *s) {
    static const char *const ops[] = {"ld64", "ld128", "st64", "st128"};
    for (unsigned k = 0; k < 4; ++k)
        for (unsigned step = 1; step < LANES && s->proved; step *= 2) {
            const struct bank_op op = op_of(ops[k]);
            uint32_t at[LANES] = {0}, ordinal = 0;
            for (unsigned lane = 0; lane < LANES; ++lane)
                at[lane] = lane & step ? at[lane ^ step] : op.bytes * ordinal++;
            const unsigned phases = op.bytes / 4, want = !op.store && step <= 2 ? phases / 2 : phases;
            const struct bank_count got = bank_count(op.kind, op.bytes, 0, at, UINT32_MAX);
            ++s->domain;
            if (got.wavefronts != want || got.conflicts != 0)
                statement_refute(s, "%s with pairs (l, l xor %u): %u wavefronts and %u conflicts, want %u and 0",
                                 op.name, step, got.wavefronts, got.conflicts, want);
        }
}

static void rule_phases(struct statement *s) {
    for (unsigned k = 0; k < PLAIN_OPS && s->proved; ++k) {
        const struct bank_op op = op_of(plain_ops[k]);
        const unsigned want = op.bytes > 4 ? op.bytes / 4 : 1;
        const struct bank_count got = tile_count(op.name, LANES, op.bytes, op.bytes);
        s->domain += LANES;
        if (got.wavefronts != want || got.conflicts != 0)
            statement_refute(s, "%s: %u wavefronts and %u conflicts, want %u and 0", op.name, got.wavefronts,
                             got.conflicts, want);
    }
}

/* Every op with all lanes at one address, and with all lanes in one bank. */
static void rule_broadcast(struct statement *s) {
    for (unsigned k = 0; k < PLAIN_OPS && s->proved; ++k) {
        const struct bank_op op = op_of(plain_ops[k]);
        uint32_t at[LANES] = {0};
        const struct bank_count one = bank_count(op.kind, op.bytes, 0, at, UINT32_MAX);
        for (unsigned lane = 0; lane < LANES; ++lane)
            at[lane] = 128 * lane;
        const struct bank_count worst = bank_count(op.kind, op.bytes, 0, at, UINT32_MAX);
        const unsigned phases = op.bytes > 4 ? op.bytes / 4 : 1, merged = op.store || phases == 1 ? phases : phases / 2;
        s->domain += 2;
        if (one.wavefronts != merged || one.conflicts != 0)
            statement_refute(s, "%s of one address: %u wavefronts, want %u", op.name, one.wavefronts, merged);
        if (worst.wavefronts != LANES || worst.conflicts != LANES - phases)
            statement_refute(s, "%s with all lanes in bank 0: %u wavefronts and %u conflicts, want 32 and %u", op.name,
                             worst.wavefronts, worst.conflicts, LANES - phases);
    }
}

static const char *const matrix_ops[] = {"ldmatrix.x1",       "ldmatrix.x2",       "ldmatrix.x4",
                                         "stmatrix.x1",       "stmatrix.x2",       "stmatrix.x4",
                                         "ldmatrix.x1.trans", "ldmatrix.x2.trans", "ldmatrix.x4.trans",
                                         "stmatrix.x1.trans", "stmatrix.x2.trans", "stmatrix.x4.trans"};

/* All matrices of an access are the same one; lanes that give no address hold two different values. */
static void rule_matrices(struct statement *s) {
    for (unsigned k = 0; k < sizeof matrix_ops / sizeof *matrix_ops; ++k) {
        const struct bank_op op = op_of(matrix_ops[k]);
        for (uint32_t stride = 16; stride <= 512; stride += 16)
            for (uint32_t unused = 0; unused <= 4096 && s->proved; unused += 4096) {
                uint32_t at[LANES];
                for (uint32_t lane = 0; lane < LANES; ++lane)
                    at[lane] = lane < 8 * op.matrices ? lane % 8 * stride : unused;
                const unsigned one = gcd(stride / 16, 8), want = op.matrices * one;
                const struct bank_count got = bank_count(op.kind, op.bytes, op.matrices, at, UINT32_MAX);
                ++s->domain;
                if (got.wavefronts != want || got.conflicts != want - op.matrices)
                    statement_refute(s, "%s, stride %u: %u wavefronts, %u conflicts, want %u and %u", op.name, stride,
                                     got.wavefronts, got.conflicts, want, want - op.matrices);
            }
    }
}

/* Rows as wide as the pattern; wgmma and TMA xor bits 4 .. of an address with bits 7 .. of it. */
static void rule_swizzles(struct statement *s) {
    for (uint32_t width = 32; width <= 128; width *= 2) {
        const struct bank_tile t = {.rows = 64,
                                    .row_bytes = width,
                                    .stride = width,
                                    .xor_mask = width / 16 - 1,
                                    .xor_shift = width == 128  ? 0
                                                 : width == 64 ? 1
                                                               : 2};
        for (uint32_t first = 0; first < t.rows; first += 8)
            for (uint32_t chunk = 0; chunk < width / 16 && s->proved; ++chunk) {
                uint32_t at[LANES] = {0};
                for (uint32_t row = 0; row < 8; ++row) {
                    const uint32_t plain = (first + row) * width + 16 * chunk;
                    at[row] = bank_tile_place(&t, first + row, 16 * chunk);
                    if (at[row] != (plain ^ (plain >> 3 & (width / 16 - 1) << 4)))
                        statement_refute(s,
                                         "%u bytes: chunk %u of row %u lies at byte %u, the pattern has it elsewhere",
                                         width, chunk, first + row, at[row]);
                }
                const unsigned got = bank_count(BANK_MATRIX, 16, 1, at, UINT32_MAX).wavefronts;
                ++s->domain;
                if (got != 1)
                    statement_refute(s, "%u bytes: chunk %u of rows %u to %u takes %u wavefronts", width, chunk, first,
                                     first + 7, got);
            }
    }
}

static const struct {
    const char *name, *text;
    void (*prove)(struct statement *s);
} rules[] = {
    {"rule/matrix-stride", "a matrix of 8 rows, s bytes apart, takes gcd(s / 16, 8) wavefronts", rule_gcd},
    {"rule/matrix-or-words",
     "32 lanes that load one word each of 8 rows x 16 bytes take as many wavefronts as ldmatrix", rule_words},
    {"rule/matrices",
     "each matrix of ldmatrix and stmatrix is served by itself, also when all are the same; .trans costs the same, and "
     "the "
     "addresses of lanes beyond 8 a matrix cost nothing",
     rule_matrices},
    {"rule/swizzles",
     "eight rows, the first a multiple of 8, swizzled by the 32, 64 or 128-byte pattern of their width: one wavefront "
     "a "
     "matrix",
     rule_swizzles},
    {"rule/phases", "neighbours without a conflict: 8, 16, 32 bits a lane take 1 wavefront, 64 bits 2, 128 bits 4",
     rule_phases},
    {"rule/one-word", "lanes at one address never conflict; lanes in one bank at different words all do",
     rule_broadcast},
    {"rule/idle-lanes", "one active lane takes one wavefront, no active lane none", rule_idle},
    {"rule/merging",
     "a 64 or 128-bit load takes half as many wavefronts when all pairs (l, l xor 1), or (l, l xor 2), have equal "
     "addresses; not with pairs 4, 8, 16 apart, and never a store",
     rule_merge},
};

/* ---- planes of kernels ---- */

static void prove_plane(struct statement *s, const char *plane, uint32_t rows, uint32_t row, uint32_t stride) {
    for (uint32_t r = 0; r + 8 <= rows && s->proved; ++r)
        for (uint32_t byte = 0; byte + 16 <= row && s->proved; byte += 16) {
            uint32_t at[LANES] = {0};
            for (uint32_t i = 0; i < 8; ++i)
                at[i] = (r + i) * stride + byte;
            const struct bank_count c = bank_count(BANK_MATRIX, 16, 1, at, UINT32_MAX);
            ++s->domain;
            if (c.conflicts > 0)
                statement_refute(s, "%s: rows %u to %u at byte %u take %u wavefronts", plane, r, r + 7, byte,
                                 c.wavefronts);
        }
}

/* Planes whose rows are padded: the padding is there to keep ldmatrix free of conflicts. */
static void kernel_planes(const struct spec *spec, const char *const *patterns, size_t count, bool names_only,
                          struct statement_list *l) {
    const struct shape none = {NULL, 0};
    for (size_t i = 0; i < spec->plane_count; ++i) {
        const struct spec_plane *p = &spec->planes[i];
        int64_t bytes, row, stride;
        struct error e;
        if (!p->row || !expr_eval(p->bytes, &none, &bytes, &e) || !expr_eval(p->row, &none, &row, &e) ||
            !expr_eval(p->stride, &none, &stride, &e) || row <= 0 || row % 16 != 0 || stride % 16 != 0 ||
            stride <= row || stride > BANK_TILE_STRIDE || bytes < 8 * stride || bytes > BANK_TILE_SPAN)
            continue;
        struct statement s =
            begin(must_format("plane/%s/%s", spec->kernel, p->name),
                  must_format("ldmatrix of any 8 neighbouring rows (%lld bytes in slots of %lld) is free "
                              "of conflicts",
                              (long long)row, (long long)stride));
        if (!statement_selected(s.name, patterns, count)) {
            free(s.name);
            free(s.text);
            continue;
        }
        if (!names_only)
            prove_plane(&s, p->name, (uint32_t)(bytes / stride), (uint32_t)row, (uint32_t)stride);
        statement_add(l, s);
    }
}

/* ---- tables ---- */

void bank_prove_table(const char *name, const struct bank_table *t, bool names_only, struct statement_list *l) {
    size_t uncounted = 0;
    for (size_t i = 0; i < t->count; ++i)
        uncounted += !t->rows[i].stated;
    struct statement s =
        begin(must_strdup(name), must_format("wavefronts and conflicts that the GPU counted are the model's%s",
                                             uncounted ? " (rows without a count are left out)" : ""));
    for (size_t i = 0; i < t->count && !names_only; ++i) {
        const struct bank_row *r = &t->rows[i];
        const struct bank_count c = bank_row_count(r);
        s.domain += r->stated;
        if (bank_row_differs(r)) {
            statement_refute(
                &s, "line %zu, %s %s: %u wavefronts and %u conflicts by the model, the table states %u and %u", r->line,
                r->op.name, r->label, c.wavefronts, c.conflicts, r->count.wavefronts, r->count.conflicts);
            break;
        }
    }
    if (!names_only && s.domain == 0)
        statement_refute(&s, "the table states nothing");
    statement_add(l, s);
}

/* Calls `one` for each file of a folder whose name matches, in order of names, until one fails. */
static bool each_file(const char *root, const char *folder, const char *pattern,
                      bool (*one)(const char *path, void *context, struct error *e), void *context, struct error *e) {
    char *path = must_format("%s/%s", root, folder);
    struct dirent **names;
    const int n = scandir(path, &names, NULL, alphasort);
    bool good = n >= 0 || fail(e, "cannot list %s: %s", path, strerror(errno));
    for (int i = 0; i < n; ++i) {
        if (good && fnmatch(pattern, names[i]->d_name, 0) == 0) {
            char *file = must_format("%s/%s", path, names[i]->d_name);
            good = one(file, context, e);
            free(file);
        }
        free(names[i]);
    }
    if (n >= 0)
        free(names);
    free(path);
    return good;
}

struct request {
    const char *root;
    const char *const *patterns;
    size_t count;
    bool names_only;
    struct statement_list *list;
};

static bool prove_kernel(const char *path, void *context, struct error *e) {
    const struct request *q = context;
    struct spec *spec = spec_load(path, q->root, e);
    if (!spec)
        return false;
    kernel_planes(spec, q->patterns, q->count, q->names_only, q->list);
    spec_free(spec);
    return true;
}

static bool prove_table(const char *path, void *context, struct error *e) {
    const struct request *q = context;
    const char *slash = strrchr(path, '/');
    char *name = must_format("table/%s", slash ? slash + 1 : path);
    struct bank_table t;
    bool good = true;
    if (statement_selected(name, q->patterns, q->count)) {
        good = bank_table_read(path, &t, e);
        if (good) {
            bank_prove_table(name, &t, q->names_only, q->list);
            bank_table_free(&t);
        }
    }
    free(name);
    return good;
}

bool bank_prove_all(const char *root, const char *const *patterns, size_t count, bool names_only,
                    struct statement_list *l, struct error *e) {
    struct request q = {root, patterns, count, names_only, l};
    for (size_t i = 0; i < bank_rows_fact_count; ++i) {
        char *name = must_format("rows/stride%u", bank_rows_facts[i].stride);
        if (statement_selected(name, patterns, count))
            bank_prove_rows(&bank_rows_facts[i], names_only, l);
        free(name);
    }
    for (size_t i = 0; i < sizeof rules / sizeof *rules; ++i)
        if (statement_selected(rules[i].name, patterns, count)) {
            struct statement s = begin(must_strdup(rules[i].name), must_strdup(rules[i].text));
            if (!names_only)
                rules[i].prove(&s);
            statement_add(l, s);
        }
    return each_file(root, "gpu/kernels", "*.yaml", prove_kernel, &q, e) &&
           each_file(root, "fixtures/golden", "banks_*.tsv", prove_table, &q, e);
}
