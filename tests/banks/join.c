#include "../../ref/checked.h"
#include "banks.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_FIELDS = 64, LOAD_WAVEFRONTS = 0, LOAD_CONFLICTS, STORE_WAVEFRONTS, STORE_CONFLICTS, METRICS };

static const char *const metrics[METRICS] = {
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum", "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum"};

struct columns { /* of the header; -1: not there */
    int id, kernel, name, value, metric[METRICS];
};

/* Cuts a line of comma-separated fields in place; quotes go, and so do commas between digits of a value later on. */
static int fields_of(char *s, char *field[MOST_FIELDS]) {
    int n = 0;
    while (n < MOST_FIELDS) {
        char *to = s;
        bool quoted = false;
        field[n++] = s;
        for (; *s && *s != '\n' && *s != '\r' && (quoted || *s != ','); ++s)
            if (*s == '"')
                quoted = !quoted;
            else
                *to++ = *s;
        const bool more = *s == ',';
        *to = 0;
        if (!more)
            return n;
        ++s;
    }
    return n;
}

static bool read_header(char *field[], int n, struct columns *c) {
    *c = (struct columns){-1, -1, -1, -1, {-1, -1, -1, -1}};
    for (int i = 0; i < n; ++i) {
        c->id = strcmp(field[i], "ID") == 0 ? i : c->id;
        c->kernel = strcmp(field[i], "Kernel Name") == 0 ? i : c->kernel;
        c->name = strcmp(field[i], "Metric Name") == 0 ? i : c->name;
        c->value = strcmp(field[i], "Metric Value") == 0 ? i : c->value;
        for (int m = 0; m < METRICS; ++m)
            c->metric[m] = strcmp(field[i], metrics[m]) == 0 ? i : c->metric[m];
    }
    const bool wide = c->metric[0] >= 0 && c->metric[1] >= 0 && c->metric[2] >= 0 && c->metric[3] >= 0;
    return c->id >= 0 && c->kernel >= 0 && (wide || (c->name >= 0 && c->value >= 0));
}

/* "1,024" and "1024.0" are 1024. */
static bool count_of(const char *text, unsigned *value) {
    char digits[32];
    size_t n = 0;
    for (; *text && n + 1 < sizeof digits; ++text)
        if (*text != ',')
            digits[n++] = *text;
    digits[n] = 0;
    char *end;
    const double v = strtod(digits, &end);
    *value = v >= 0 && v < 1e6 ? (unsigned)v : 0;
    return n > 0 && *end == 0 && v >= 0 && v < 1e6 && v == (double)*value;
}

static bool same_kernel(const char *kernel, const struct bank_op *op) {
    char name[sizeof op->name];
    bank_op_table_name(op, name);
    const size_t n = strlen(name);
    return strncmp(kernel, name, n) == 0 && (kernel[n] == 0 || kernel[n] == '(');
}

/* counts[row][metric], seen[row] has a bit for each metric. */
static bool read_csv(FILE *f, const char *path, const struct bank_table *t, unsigned (*counts)[METRICS],
                     unsigned char *seen, struct error *e) {
    char *line = NULL, *field[MOST_FIELDS];
    size_t room = 0, number = 0;
    bool header = false, good = true;
    struct columns c = {.name = -1};
    while (good && getline(&line, &room, f) > 0) {
        ++number;
        const int n = fields_of(line, field);
        if (!header) {
            header = read_header(field, n, &c);
            continue;
        }
        if (n <= c.id || n <= c.kernel || !field[c.id][0])
            continue; /* the row of units, or what the profiler says at its end */
        char *end;
        const unsigned long id = strtoul(field[c.id], &end, 10);
        if (*end || id >= t->count || !same_kernel(field[c.kernel], &t->rows[id].op))
            good = fail(e, "%s:%zu: launch %s of kernel %s: not that of the table's row", path, number, field[c.id],
                        field[c.kernel]);
        for (int m = 0; good && m < METRICS; ++m) {
            const int at = c.name < 0 ? c.metric[m] : n > c.name && !strcmp(field[c.name], metrics[m]) ? c.value : n;
            const char *value = at < n ? field[at] : NULL;
            if (value && !count_of(value, &counts[id][m]))
                good = fail(e, "%s:%zu: %s is %s: want a number", path, number, metrics[m], value);
            seen[id] |= (unsigned char)(value ? 1 << m : 0);
        }
    }
    free(line);
    return good && (header || fail(e, "%s: no header with ID, Kernel Name and metrics: is it of ncu --csv?", path));
}

bool join_counts(const struct bank_table *t, const char *csv, FILE *out, FILE *notes, struct error *e) {
    FILE *f = fopen(csv, "re");
    if (!f)
        return fail(e, "cannot read %s", csv);
    unsigned(*counts)[METRICS] = must_calloc(t->count + 1, sizeof *counts);
    unsigned char *seen = must_calloc(t->count + 1, 1);
    bool good = read_csv(f, csv, t, counts, seen, e);
    fclose(f);
    for (size_t i = 0; good && i < t->count; ++i) {
        const struct bank_row *r = &t->rows[i];
        const int first = r->op.store ? STORE_WAVEFRONTS : LOAD_WAVEFRONTS;
        if ((seen[i] >> first & 3) != 3) {
            good = fail(e, "%s: nothing was counted of launch %zu (%s %s)", csv, i, r->op.name, r->label);
            break;
        }
        const struct bank_count model = bank_row_count(r);
        if (notes && (counts[i][first] != model.wavefronts || counts[i][first + 1] != model.conflicts))
            fprintf(notes, "line %zu, %s %s: counted %u wavefronts and %u conflicts, by the model %u and %u\n", r->line,
                    r->op.name, r->label, counts[i][first], counts[i][first + 1], model.wavefronts, model.conflicts);
        char op[sizeof r->op.name];
        bank_op_table_name(&r->op, op);
        fprintf(out, "%s\t%s\t%u\t%u\t", op, r->label, counts[i][first], counts[i][first + 1]);
        for (int lane = 0; lane < 32; ++lane)
            fprintf(out, "%s%ld", lane ? " " : "", r->active >> lane & 1 ? (long)r->at[lane] : -1L);
        fprintf(out, "\n");
    }
    free(counts);
    free(seen);
    return good;
}
