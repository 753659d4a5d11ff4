#include "probe.h"
#include "../ref/checked.h"
#include "json_node.h"

static const char *verdict(const struct probe_report *r) {
    const struct tomography *x = r->found;
    return !x->probed ? "not probed" : tomography_wrong(x) ? "wrong" : r->contract ? "right" : "told";
}

static void line_text(FILE *out, const struct tomography_line *l) {
    fprintf(out, "\n  %s: %s\n", l->operand, l->text);
    if (l->suspect != NULL) {
        fprintf(out, "    likely  %s\n", l->suspect);
    }
    if (l->cells > 0) {
        fprintf(out, "    cells   %zu\n", l->cells);
    }
    fprintf(out, "    basis   %s\n", l->basis);
}

void probe_text(FILE *out, const struct probe_report *r) {
    const struct tomography *x = r->found;
    fprintf(out, "%s\n", r->id);
    if (x->shape != NULL) {
        fprintf(out, "  probed at %s: %zu launch%s\n", x->shape, x->launches, x->launches == 1 ? "" : "es");
    } else {
        fprintf(out, "  probed by %zu launch%s\n", x->launches, x->launches == 1 ? "" : "es");
    }
    if (!x->probed) {
        fprintf(out, "  nothing could be probed: %s\n", x->why != NULL ? x->why : "no input changes an output");
    } else if (x->line_count == 0) {
        fprintf(out, "  every operand was consumed from its place\n");
    }
    for (size_t i = 0; i < x->line_count; ++i) {
        line_text(out, &x->lines[i]);
    }
    for (size_t i = 0; i < x->note_count; ++i) {
        fprintf(out, "%s  note    %s\n", i == 0 ? "\n" : "", x->notes[i]);
    }
    fprintf(out, "  rerun   %s\n", r->again);
}

static struct fy_node *lines_node(struct fy_document *d, const struct tomography *x) {
    struct fy_node *list = fy_node_create_sequence(d);
    for (size_t i = 0; i < x->line_count; ++i) {
        const struct tomography_line *l = &x->lines[i];
        struct fy_node *m = fy_node_create_mapping(d);
        json_add_string(d, m, "operand", l->operand);
        json_add_string(d, m, "result", l->result);
        json_add_string(d, m, "text", l->text);
        json_add_string(d, m, "suspect", l->suspect);
        json_add(d, m, "cells", json_number(d, "%zu", l->cells));
        json_add_string(d, m, "basis", l->basis);
        json_add(d, m, "wrong", json_bool(d, l->wrong));
        fy_node_sequence_append(list, m);
    }
    return list;
}

static struct fy_node *notes_node(struct fy_document *d, const struct tomography *x) {
    struct fy_node *list = fy_node_create_sequence(d);
    for (size_t i = 0; i < x->note_count; ++i) {
        fy_node_sequence_append(list, json_string(d, x->notes[i]));
    }
    return list;
}

bool probe_json(const char *path, const struct probe_report *r, struct error *e) {
    struct json_lines lines;
    json_begin(&lines);
    struct fy_document *d = json_next(&lines);
    if (d != NULL) {
        struct fy_node *m = fy_node_create_mapping(d);
        json_add_string(d, m, "case", r->id);
        json_add_string(d, m, "kernel", r->kernel);
        json_add_string(d, m, "verdict", verdict(r));
        json_add_string(d, m, "why", r->found->why);
        json_add_string(d, m, "shape", r->found->shape);
        json_add(d, m, "launches", json_number(d, "%zu", r->found->launches));
        json_add(d, m, "lines", lines_node(d, r->found));
        json_add(d, m, "notes", notes_node(d, r->found));
        json_add_string(d, m, "rerun", r->again);
        json_put(&lines, d, m);
    }
    return json_end(&lines, path, e);
}
