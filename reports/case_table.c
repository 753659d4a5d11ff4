#include "case_table.h"
#include <stdio.h>
#include <string.h>

const char *const case_classes[CASE_CLASSES] = {"exact", "coded", "adv", "rand", "real", "file"};

size_t case_class(const char *id, size_t *start) {
    const char *p = id;
    for (int slash = 0; slash < 4 && p != NULL; ++slash) {
        p = strchr(p, '/');
        p = p != NULL ? p + 1 : NULL;
    }
    for (size_t c = 0; p != NULL && c < CASE_CLASSES; ++c) {
        const size_t n = strlen(case_classes[c]);
        if (strncmp(p, case_classes[c], n) == 0 && p[n] == '/') {
            *start = (size_t)(p - id);
            return c;
        }
    }
    return CASE_CLASSES;
}

size_t case_columns(const struct outcome *all, size_t count) {
    size_t start, shown = CASE_FILE;
    for (size_t i = 0; i < count; ++i) {
        shown = case_class(all[i].id, &start) == CASE_FILE ? CASE_CLASSES : shown;
    }
    return shown;
}

struct case_row case_row(const struct outcome *all, size_t count, size_t i) {
    struct case_row row = {.end = i};
    for (; row.end < count && strcmp(all[row.end].about, all[i].about) == 0; ++row.end) {
        const struct outcome *o = &all[row.end];
        size_t start;
        const size_t c = case_class(o->id, &start);
        row.ran |= !o->skipped;
        if (c < CASE_CLASSES && !o->skipped) {
            ++row.run[c];
            row.passed[c] += outcome_verdict(o) == VERDICT_PASS;
        }
    }
    return row;
}

static bool fails_alike(const struct outcome *a, const struct outcome *b) {
    const struct finding *f = findings_first(&a->findings), *g = findings_first(&b->findings);
    const char *x = f->suspects != NULL ? f->suspects : "", *y = g->suspects != NULL ? g->suspects : "";
    const char *p = f->where.file != NULL ? f->where.file : "", *q = g->where.file != NULL ? g->where.file : "";
    return f->verdict == g->verdict && strcmp(f->oracle, g->oracle) == 0 && strcmp(a->about, b->about) == 0 &&
           f->where.line == g->where.line && f->where.ptx_line == g->where.ptx_line && strcmp(p, q) == 0 &&
           strcmp(x, y) == 0;
}

/* How much a red case tells: structured data first (every scale and element of `coded` says where it belongs), then a
 * result of more than one warp's rows and one fragment's tokens, then few cells. Greater is better. */
static double telling(const struct outcome *o) {
    static const double class_worth[CASE_CLASSES + 1] = {3, 4, 1, 2, 0, 0, 0};
    size_t start = 0, nt = 0, od = 0;
    const size_t c = case_class(o->id, &start);
    const char *shape = strstr(o->id, "/nt");
    if (shape == NULL || sscanf(shape, "/nt%zu.od%zu", &nt, &od) != 2) {
        return class_worth[c];
    }
    const bool small = nt < 17 || od < 17;
    return class_worth[c] + (small ? 0 : 10) - 1e-9 * (double)nt * (double)od;
}

size_t case_group(const struct outcome *all, size_t count, size_t i, size_t number, size_t *group, size_t *alike) {
    size_t best = i;
    *alike = 0;
    for (size_t k = i; k < count; ++k) {
        if (all[k].findings.count > 0 && group[k] == 0 && fails_alike(&all[i], &all[k])) {
            group[k] = number;
            ++*alike;
            best = telling(&all[k]) > telling(&all[best]) ? k : best;
        }
    }
    return best;
}
