/* What mutate prints: tables, survivors, JSON lines. */
#include "../ref/checked.h"
#include "../reports/json_node.h"
#include "mutate.h"
#include <stdlib.h>
#include <string.h>

enum { ORACLES_SHOWN = 32 };

size_t mutate_fate_count(const struct mutation *all, size_t count, enum fate f) {
    size_t n = 0;
    for (size_t i = 0; i < count; ++i) {
        n += all[i].fate == f;
    }
    return n;
}

/* Rows: operators; columns: the oracle that was red first, then the fates. */
static void print_table(const struct mutation *all, size_t count) {
    size_t cells[MUTANT_OPERATORS + 1][ORACLES_SHOWN + FATES + 2] = {
        {0}}; /* then all, and killed by the full lattice */
    size_t oracle_count = 0;
    while (oracle_count < ORACLES_SHOWN && oracles[oracle_count] != NULL) {
        ++oracle_count;
    }
    for (size_t i = 0; i < count; ++i) {
        const struct mutation *x = &all[i];
        for (size_t r = 0; r < 2; ++r) {
            size_t *row = cells[r == 0 ? (size_t)x->mutant->by : MUTANT_OPERATORS];
            row[ORACLES_SHOWN + x->fate] += 1;
            row[ORACLES_SHOWN + FATES] += 1;
            row[ORACLES_SHOWN + FATES + 1] += x->fate == FATE_KILLED && x->full;
            if (x->fate == FATE_KILLED) {
                row[x->oracle] += 1;
            }
        }
    }
    const size_t *sums = cells[MUTANT_OPERATORS];
    printf("%-10s  %7s", "operator", "mutants");
    for (size_t k = 0; k < oracle_count; ++k) {
        if (sums[k] > 0) {
            printf("  %*s", (int)strlen(oracles[k]->name) > 5 ? (int)strlen(oracles[k]->name) : 5, oracles[k]->name);
        }
    }
    printf("  %6s  %7s  %10s  %5s  %9s  %8s  %7s\n", "killed", "by full", "equivalent", "named", "unreached",
           "survived", "invalid");
    for (size_t r = 0; r <= MUTANT_OPERATORS; ++r) {
        const size_t *row = cells[r];
        if (row[ORACLES_SHOWN + FATES] == 0) {
            continue;
        }
        printf("%-10s  %7zu", r < MUTANT_OPERATORS ? mutant_operator_names[r] : "all", row[ORACLES_SHOWN + FATES]);
        for (size_t k = 0; k < oracle_count; ++k) {
            if (sums[k] > 0) {
                printf("  %*zu", (int)strlen(oracles[k]->name) > 5 ? (int)strlen(oracles[k]->name) : 5, row[k]);
            }
        }
        printf("  %6zu  %7zu  %10zu  %5zu  %9zu  %8zu  %7zu\n", row[ORACLES_SHOWN + FATE_KILLED],
               row[ORACLES_SHOWN + FATES + 1], row[ORACLES_SHOWN + FATE_EQUIVALENT], row[ORACLES_SHOWN + FATE_NAMED],
               row[ORACLES_SHOWN + FATE_UNREACHED], row[ORACLES_SHOWN + FATE_SURVIVED],
               row[ORACLES_SHOWN + FATE_INVALID]);
    }
}

static const struct ptx_instruction *instruction_of(const struct mutation *x) {
    return &x->kernel->module->functions[x->mutant->function].instructions[x->mutant->instruction];
}

/* "gpu/kernels/x.cuh:12", or NULL where the PTX has no line info. */
static char *source_of(const struct mutation *x) {
    const struct ptx_instruction *in = instruction_of(x);
    const struct ptx_module *m = x->kernel->module;
    return in->file >= 0 && in->line > 0 ? must_format("%s:%d", m->files[in->file], in->line) : NULL;
}

static void print_one(const struct mutation *x) {
    char *source = source_of(x), *before = mutant_before(x->kernel->module, x->mutant),
         *after = mutant_after(x->mutant);
    printf("\n%s %s  %s\n", fate_names[x->fate], x->name, x->mutant->what);
    printf("  ptx     line %d, %s\n", x->mutant->line, source != NULL ? source : "no source line");
    printf("  before  %s\n  after   %s\n", before, after);
    printf("  reason  %s\n", x->reason);
    free(source), free(before), free(after);
}

void mutate_print(const struct mutation *all, size_t count, const struct mutate_options *o) {
    (void)o;
    print_table(all, count);
    for (size_t i = 0; i < count; ++i) {
        if (all[i].fate == FATE_EQUIVALENT || all[i].fate == FATE_NAMED || all[i].fate == FATE_UNREACHED ||
            all[i].fate == FATE_SURVIVED) {
            print_one(&all[i]);
        }
    }
}

static struct fy_node *node_of(struct fy_document *d, const struct mutation *x) {
    struct fy_node *n = fy_node_create_mapping(d);
    char *source = source_of(x), *before = mutant_before(x->kernel->module, x->mutant),
         *after = mutant_after(x->mutant);
    json_add_string(d, n, "mutant", x->name);
    json_add_string(d, n, "kernel", x->kernel->spec->kernel);
    json_add_string(d, n, "operator", mutant_operator_names[x->mutant->by]);
    json_add(d, n, "ptx_line", json_number(d, "%d", x->mutant->line));
    json_add_string(d, n, "source", source);
    json_add_string(d, n, "what", x->mutant->what);
    json_add_string(d, n, "before", before);
    json_add_string(d, n, "after", after);
    json_add_string(d, n, "fate", fate_names[x->fate]);
    if (x->fate == FATE_KILLED) {
        json_add_string(d, n, "oracle", oracles[x->oracle]->name);
        json_add_string(d, n, "verdict", verdict_name(x->verdict));
        json_add_string(d, n, "case", x->id);
        json_add_string(d, n, "lattice", x->full ? "full" : "quick");
    }
    json_add_string(d, n, "reason", x->reason);
    json_add(d, n, "runs", json_number(d, "%zu", x->runs));
    free(source), free(before), free(after);
    return n;
}

bool mutate_json(const char *path, const struct mutation *all, size_t count, struct error *e) {
    struct json_lines lines;
    json_begin(&lines);
    struct fy_document *d;
    for (size_t i = 0; i < count && (d = json_next(&lines)) != NULL; ++i) {
        json_put(&lines, d, node_of(d, &all[i]));
    }
    d = json_next(&lines);
    if (d != NULL) {
        struct fy_node *n = fy_node_create_mapping(d), *s = fy_node_create_mapping(d);
        for (int f = 0; f < FATES; ++f) {
            json_add(d, s, fate_names[f], json_number(d, "%zu", mutate_fate_count(all, count, (enum fate)f)));
        }
        json_add(d, n, "summary", s);
        json_put(&lines, d, n);
    }
    return json_end(&lines, path, e);
}
