#include "statement.h"
#include "../ref/printable.h"
#include "json_node.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int widest(const struct statement_list *l) {
    size_t most = 0;
    for (size_t i = 0; i < l->count; ++i) {
        const size_t n = strlen(l->items[i].name);
        most = n > most ? n : most;
    }
    return most < 60 ? (int)most : 60;
}

static void safe(FILE *out, const char *text) {
    char shown[2048];
    fputs(printable(shown, sizeof shown, text, strlen(text)), out);
}

void statement_counterexample(FILE *out, const struct statement *s) {
    safe(out, s->counterexample);
    fprintf(out, "\n");
}

void statement_table(FILE *out, const struct statement_list *l) {
    const int width = widest(l);
    for (size_t i = 0; i < l->count; ++i) {
        const struct statement *s = &l->items[i];
        char name[256];
        fprintf(out, "%-7s  %-*s %9" PRIu64 "  ", s->proved ? "proved" : "REFUTED", width,
                printable(name, sizeof name, s->name, strlen(s->name)), s->domain);
        safe(out, s->text);
        fprintf(out, "\n");
        if (!s->proved) {
            fprintf(out, "         ");
            statement_counterexample(out, s);
        } else if (s->note) {
            fprintf(out, "         note: ");
            safe(out, s->note);
            fprintf(out, "\n");
        }
    }
}

void statement_names(FILE *out, const struct statement_list *l) {
    const int width = widest(l);
    for (size_t i = 0; i < l->count; ++i)
        fprintf(out, "%-*s  %s\n", width, l->items[i].name, l->items[i].text);
}

void statement_totals(FILE *out, const struct statement_list *l, size_t skipped) {
    const size_t refuted = statements_refuted(l), proved = l->count - refuted;
    fprintf(out, "%zu proved, %zu refuted\n%zu passed, %zu failed, %zu skipped\n", proved, refuted, proved, refuted,
            skipped);
}

static struct fy_node *wrong_byte_node(struct fy_document *d, const struct wrong_byte *w) {
    struct fy_node *m = fy_node_create_mapping(d);
    json_add(d, m, "warp", json_number(d, "%u", w->warp));
    json_add(d, m, "lane", json_number(d, "%u", w->lane));
    json_add(d, m, "register", json_number(d, "%u", w->reg));
    json_add(d, m, "byte", json_number(d, "%u", w->byte));
    json_add_string(d, m, "holds", w->holds);
    json_add_string(d, m, "wants", w->wants);
    json_add_string(d, m, "mistake", w->mistake);
    return m;
}

static struct fy_node *statements_node(struct fy_document *d, const char *subject, const struct statement_list *l) {
    struct fy_node *m = fy_node_create_mapping(d), *all = fy_node_create_sequence(d);
    const size_t refuted = statements_refuted(l);
    json_add_string(d, m, "subject", subject);
    for (size_t i = 0; i < l->count; ++i) {
        const struct statement *s = &l->items[i];
        struct fy_node *one = fy_node_create_mapping(d);
        json_add_string(d, one, "name", s->name);
        json_add_string(d, one, "statement", s->text);
        json_add(d, one, "domain", json_number(d, "%" PRIu64, s->domain));
        json_add_string(d, one, "result", s->proved ? "proved" : "refuted");
        json_add_string(d, one, "counterexample", s->counterexample);
        json_add_string(d, one, "file", s->file);
        if (s->wrong)
            json_add(d, one, "wrong_byte", wrong_byte_node(d, s->wrong));
        json_add_string(d, one, "note", s->note);
        fy_node_sequence_append(all, one);
    }
    json_add(d, m, "statements", all);
    json_add(d, m, "proved", json_number(d, "%zu", l->count - refuted));
    json_add(d, m, "refuted", json_number(d, "%zu", refuted));
    return m;
}

bool statement_json(const char *path, const char *subject, const struct statement_list *l, struct error *e) {
    struct json_lines lines;
    json_begin(&lines);
    struct fy_document *d = json_next(&lines);
    if (d != NULL)
        json_put(&lines, d, statements_node(d, subject, l));
    return json_end(&lines, path, e);
}
