#include "explain.h"
#include "json.h"
#include "json_node.h"
#include "terminal.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum verdict explained_verdict(const struct outcome *o, const struct explanation *x) {
    const enum verdict as_run = outcome_verdict(o), staged = findings_worst(&x->faults);
    return as_run > staged ? as_run : staged;
}

static size_t faults_of(const struct explanation *x, int stage) {
    size_t n = 0;
    for (size_t i = 0; i < x->faults.count; ++i) {
        n += strcmp(x->faults.items[i].oracle, stage_names[stage]) == 0;
    }
    return n;
}

static void stage_line(FILE *out, const struct explanation *x, int k) {
    const struct stage *s = &x->stages[k];
    const size_t faults = faults_of(x, k);
    fprintf(out, "  %-9s  ", stage_names[k]);
    if (s->ruling == RULING_NOT_JUDGED) {
        fprintf(out, "not judged: %s\n", s->why);
        return;
    }
    if (s->ruling == RULING_CLEAN) {
        fprintf(out, "ok     %" PRIu64 " %s", s->compared, s->unit);
    } else {
        fprintf(out, "WRONG  %" PRIu64 " of %" PRIu64 " %s, %zu fault%s", s->wrong, s->compared, s->unit, faults,
                faults == 1 ? "" : "s");
    }
    fprintf(out, "%s%s\n", s->rest != NULL ? "; " : "", s->rest != NULL ? s->rest : "");
}

void explain_text(FILE *out, const struct outcome *o, const struct explanation *x) {
    fprintf(out, "%s %s\n", verdict_name(explained_verdict(o, x)), o->id);
    const char *first = NULL;
    for (int k = 0; k < STAGES; ++k) {
        stage_line(out, x, k);
        first = first == NULL && x->stages[k].ruling == RULING_FOUND ? stage_names[k] : first;
    }
    if (first != NULL) {
        fprintf(out, "  the first wrong stage is %s\n", first);
    }
    const struct finding *race = unordered_load(&o->findings);
    if (race != NULL) {
        fprintf(out, "\nto be mended first: a race, which leaves open what is read\n");
        terminal_finding(out, race);
    }
    for (size_t i = 0; i < x->faults.count; ++i) {
        fprintf(out, "\nfault %zu of %zu: %s\n", i + 1, x->faults.count, x->faults.items[i].oracle);
        terminal_finding(out, &x->faults.items[i]);
    }
}

static struct fy_node *stages_node(struct fy_document *d, const struct explanation *x) {
    struct fy_node *list = fy_node_create_sequence(d);
    for (int k = 0; k < STAGES; ++k) {
        const struct stage *s = &x->stages[k];
        struct fy_node *m = fy_node_create_mapping(d);
        json_add_string(d, m, "stage", stage_names[k]);
        json_add_string(d, m, "ruling", ruling_name(s->ruling));
        if (s->ruling == RULING_NOT_JUDGED) {
            json_add_string(d, m, "why", s->why);
        } else {
            json_add_string(d, m, "unit", s->unit);
            json_add(d, m, "compared", json_number(d, "%" PRIu64, s->compared));
            json_add(d, m, "wrong", json_number(d, "%" PRIu64, s->wrong));
            if (s->rest != NULL) {
                json_add_string(d, m, "rest", s->rest);
            }
        }
        fy_node_sequence_append(list, m);
    }
    return list;
}

static struct fy_node *findings_node(struct fy_document *d, const struct findings *f) {
    struct fy_node *list = fy_node_create_sequence(d);
    for (size_t i = 0; i < f->count; ++i) {
        fy_node_sequence_append(list, json_finding(d, &f->items[i]));
    }
    return list;
}

static struct fy_node *explanation_node(struct fy_document *d, const struct outcome *o, const struct explanation *x) {
    struct fy_node *m = fy_node_create_mapping(d);
    json_add_string(d, m, "case", o->id);
    json_add_string(d, m, "kernel", o->about);
    json_add_string(d, m, "verdict", verdict_name(explained_verdict(o, x)));
    json_add(d, m, "stages", stages_node(d, x));
    json_add(d, m, "faults", findings_node(d, &x->faults));
    json_add(d, m, "findings", findings_node(d, &o->findings));
    json_add_string(d, m, "rerun", o->rerun);
    return m;
}

bool explain_json(const char *path, const struct outcome *o, const struct explanation *x, struct error *e) {
    struct json_lines lines;
    json_begin(&lines);
    struct fy_document *d = json_next(&lines);
    if (d != NULL)
        json_put(&lines, d, explanation_node(d, o, x));
    return json_end(&lines, path, e);
}
