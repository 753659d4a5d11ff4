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
/* clang-format off */
const struct bank_rows_fact bank_rows_facts[] = {
    {16, {0, 4, 8, 12, 16, 20, 24, 28}, 1, {1, 0}, {4, 0}},
    {32, {0, 8, 16, 24, 0, 8, 16, 24}, 2, {2, 1}, {8, 4}},
    {48, {0, 12, 24, 4, 16, 28, 8, 20}, 1, {1, 0}, {4, 0}},
    {64, {0, 16, 0, 16, 0, 16, 0, 16}, 4, {4, 3}, {16, 12}},
    {80, {0, 20, 8, 28, 16, 4, 24, 12}, 1, {1, 0}, {4, 0}},
    {96, {0, 24, 16, 8, 0, 24, 16, 8}, 2, {2, 1}, {8, 4}},
    {112, {0, 28, 24, 20, 16, 12, 8, 4}, 1, {1, 0}, {4, 0}},
    {128, {0, 0, 0, 0, 0, 0, 0, 0}, 8, {8, 7}, {32, 28}},
    {144, {0, 4, 8, 12, 16, 20, 24, 28}, 1, {1, 0}, {4, 0}},
    {160, {0, 8, 16, 24, 0, 8, 16, 24}, 2, {2, 1}, {8, 4}},
    {176, {0, 12, 24, 4, 16, 28, 8, 20}, 1, {1, 0}, {4, 0}},
    {256, {0, 0, 0, 0, 0, 0, 0, 0}, 8, {8, 7}, {32, 28}},
    {272, {0, 4, 8, 12, 16, 20, 24, 28}, 1, {1, 0}, {4, 0}},
    {304, {0, 12, 24, 4, 16, 28, 8, 20}, 1, {1, 0}, {4, 0}},
};
/* clang-format on */
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

static char *table_text(const struct bank_table *t) {
    size_t silent = 0, zero = 0;
    for (size_t i = 0; i < t->count; ++i) {
        silent += !t->rows[i].stated;
        zero += bank_row_uncounted(&t->rows[i]);
    }
    char *left = silent + zero ? must_format(" (%zu row%s left out: %s%s%s)", silent + zero, plural(silent + zero),
                                             silent ? "no count" : "", silent && zero ? ", or " : "",
                                             zero ? "0 wavefronts, so no access was there" : "")
                               : must_strdup("");
    char *text = must_format("wavefronts and conflicts that the GPU counted are the model's%s", left);
    free(left);
    return text;
}

void bank_prove_table(const char *name, const struct bank_table *t, bool names_only, struct statement_list *l) {
    struct statement s = begin(must_strdup(name), table_text(t));
    for (size_t i = 0; i < t->count && !names_only; ++i) {
        const struct bank_row *r = &t->rows[i];
        const struct bank_count c = bank_row_count(r);
        s.domain += r->stated && !bank_row_uncounted(r);
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
    bank_prove_rules(bank_count, patterns, count, names_only, l);
    return each_file(root, "gpu/kernels", "*.yaml", prove_kernel, &q, e) &&
           each_file(root, "fixtures/golden", "banks_*.tsv", prove_table, &q, e);
}
