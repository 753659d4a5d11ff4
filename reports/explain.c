#include "explain.h"
#include "../ref/printable.h"
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

/* Text of files may hold anything: it is made printable first. */
static void suspect_line(FILE *out, const char *label, const char *by, const char *text) {
    char safe[2048];
    fprintf(out, "     %-4s %s%s%s\n", label, by, *by ? "  " : "", printable(safe, sizeof safe, text, strlen(text)));
}

static void suspects_text(FILE *out, const struct suspects *s) {
    char safe[2048], by[16];
    fprintf(out, "\nsuspects: ");
    if (s->count == 0) {
        fprintf(out, "none\n");
    } else {
        fprintf(out, "%zu%s\n", s->count, s->count > 1 ? ", what is to be mended first ahead" : "");
    }
    for (size_t i = 0; i < s->count; ++i) {
        const struct suspect *x = &s->items[i];
        fprintf(out, "  %zu  %s\n", i + 1, printable(safe, sizeof safe, x->title, strlen(x->title)));
        if (x->place != NULL) {
            suspect_line(out, "at", "", x->place);
        }
        if (x->call != NULL) {
            suspect_line(out, "call", "", x->call);
        }
        for (size_t k = 0; k < x->why_count; ++k) {
            snprintf(by, sizeof by, "%-9s", x->whys[k].by);
            suspect_line(out, "why", by, x->whys[k].text);
        }
        if (x->look != NULL) {
            suspect_line(out, "look", "", x->look);
        }
        for (size_t k = 0; k < x->from_count; ++k) {
            suspect_line(out, k == 0 ? "from" : "", "", x->from[k]);
        }
    }
    for (size_t i = 0; i < s->also_count; ++i) {
        fprintf(out, "  %-9s  %s\n", s->also[i].by,
                printable(safe, sizeof safe, s->also[i].text, strlen(s->also[i].text)));
    }
}

void explain_text(FILE *out, const struct outcome *o, const struct explanation *x, const struct suspects *s) {
    fprintf(out, "%s %s\n", verdict_name(explained_verdict(o, x)), o->id);
    const char *first = NULL;
    for (int k = 0; k < STAGES; ++k) {
        stage_line(out, x, k);
        first = first == NULL && x->stages[k].ruling == RULING_FOUND ? stage_names[k] : first;
    }
    if (first != NULL) {
        fprintf(out, "  the first wrong stage is %s\n", first);
    }
    suspects_text(out, s);
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

static struct fy_node *whys_node(struct fy_document *d, const struct suspect_why *whys, size_t count) {
    struct fy_node *list = fy_node_create_sequence(d);
    for (size_t i = 0; i < count; ++i) {
        struct fy_node *m = fy_node_create_mapping(d);
        json_add_string(d, m, "by", whys[i].by);
        json_add_string(d, m, "text", whys[i].text);
        fy_node_sequence_append(list, m);
    }
    return list;
}

static struct fy_node *suspects_node(struct fy_document *d, const struct suspects *s) {
    struct fy_node *list = fy_node_create_sequence(d);
    for (size_t i = 0; i < s->count; ++i) {
        const struct suspect *x = &s->items[i];
        struct fy_node *m = fy_node_create_mapping(d);
        json_add_string(d, m, "kind", suspect_kind_names[x->kind]);
        json_add_string(d, m, "title", x->title);
        json_add_string(d, m, "place", x->place);
        json_add_string(d, m, "call", x->call);
        json_add_string(d, m, "buffer", x->buffer);
        json_add_string(d, m, "look", x->look);
        struct fy_node *from = fy_node_create_sequence(d);
        for (size_t k = 0; k < x->from_count; ++k) {
            fy_node_sequence_append(from, json_string(d, x->from[k]));
        }
        json_add(d, m, "from", from);
        json_add(d, m, "why", whys_node(d, x->whys, x->why_count));
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

static struct fy_node *explanation_node(struct fy_document *d, const struct outcome *o, const struct explanation *x,
                                        const struct suspects *s) {
    struct fy_node *m = fy_node_create_mapping(d);
    json_add_string(d, m, "case", o->id);
    json_add_string(d, m, "kernel", o->about);
    json_add_string(d, m, "verdict", verdict_name(explained_verdict(o, x)));
    json_add(d, m, "stages", stages_node(d, x));
    json_add(d, m, "suspects", suspects_node(d, s));
    json_add(d, m, "also", whys_node(d, s->also, s->also_count));
    json_add(d, m, "faults", findings_node(d, &x->faults));
    json_add(d, m, "findings", findings_node(d, &o->findings));
    json_add_string(d, m, "rerun", o->rerun);
    return m;
}

bool explain_json(const char *path, const struct outcome *o, const struct explanation *x, const struct suspects *s,
                  struct error *e) {
    struct json_lines lines;
    json_begin(&lines);
    struct fy_document *d = json_next(&lines);
    if (d != NULL)
        json_put(&lines, d, explanation_node(d, o, x, s));
    return json_end(&lines, path, e);
}
