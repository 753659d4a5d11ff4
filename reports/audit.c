#include "audit.h"
#include "../ref/checked.h"
#include "../ref/printable.h"
#include "file.h"
#include "json_node.h"
#include <stdlib.h>
#include <string.h>

static const char *file_of(const struct ptx_module *m, const struct ptx_instruction *in) {
    const bool known = in->file >= 0 && (size_t)in->file < m->file_count && in->line > 0;
    return known ? m->files[in->file] : NULL;
}

static char *place_text(const struct ptx_module *m, const struct ptx_instruction *in) {
    const char *file = file_of(m, in);
    return file != NULL ? must_format("%s:%d", file, in->line) : must_format("%s:%d", m->path, in->ptx_line);
}

static void show(FILE *out, const struct ptx_module *m, const struct audit_item *item) {
    char safe[1024], *place = place_text(m, item->at);
    char *text = item->with != NULL ? must_format("%s  %s  takes in  %s", place, item->at->text, item->with->text)
                                    : must_format("%s  %s", place, item->at->text);
    fprintf(out, "      %s\n", printable(safe, sizeof safe, text, strlen(text)));
    free(text);
    free(place);
}

void audit_table(FILE *out, const struct ptx_module *m, const struct audit_report *r, size_t most) {
    const struct audit *a = &r->audit;
    char safe[256];
    fprintf(out, "%s: %zu instruction%s\n", printable(safe, sizeof safe, r->entry, strlen(r->entry)), a->instructions,
            plural(a->instructions));
    for (int k = 0; k < AUDIT_KINDS; ++k) {
        size_t shown = 0;
        if (a->count[k] == 0) {
            continue;
        }
        fprintf(out, "  %6zu  %s\n", a->count[k], audit_texts[k]);
        for (size_t i = 0; audit_is_open((enum audit_kind)k) && i < a->item_count && (most == 0 || shown < most); ++i) {
            if ((int)a->items[i].kind == k) {
                show(out, m, &a->items[i]);
                ++shown;
            }
        }
        if (audit_is_open((enum audit_kind)k) && shown < a->count[k]) {
            fprintf(out, "      ... and %zu more (--lines 0)\n", a->count[k] - shown);
        }
    }
    const size_t open = audit_open(a);
    if (r->refusal != NULL) {
        fprintf(out, "  %s\n  the machine does not run that, and nothing is said of what it does not run\n",
                r->refusal);
    } else if (open == 0) {
        fprintf(out, "  nothing leaves bits open\n");
    }
    if (open > 0) {
        fprintf(out, "  %zu place%s leave%s bits open\n", open, open == 1 ? "" : "s", open == 1 ? "s" : "");
    }
}

char *audit_summary(const size_t count[AUDIT_KINDS]) {
    char *text = NULL;
    for (int k = 0; k < AUDIT_KINDS; ++k) {
        if (count[k] > 0 && audit_is_open((enum audit_kind)k)) {
            char *longer =
                must_format("%s%s%zu %s", text != NULL ? text : "", text != NULL ? ", " : "", count[k], audit_names[k]);
            free(text);
            text = longer;
        }
    }
    return text;
}

static struct fy_node *entry_node(struct fy_document *d, const struct ptx_module *m, const struct audit_report *r) {
    struct fy_node *node = fy_node_create_mapping(d), *counts = fy_node_create_mapping(d),
                   *places = fy_node_create_sequence(d);
    const struct audit *a = &r->audit;
    json_add_string(d, node, "entry", r->entry);
    json_add(d, node, "instructions", json_number(d, "%zu", a->instructions));
    json_add(d, node, "open", json_number(d, "%zu", audit_open(a)));
    json_add_string(d, node, "not_run", r->refusal);
    for (int k = 0; k < AUDIT_KINDS; ++k) {
        json_add(d, counts, audit_names[k], json_number(d, "%zu", a->count[k]));
    }
    json_add(d, node, "counts", counts);
    for (size_t i = 0; i < a->item_count; ++i) {
        const struct audit_item *item = &a->items[i];
        if (!audit_is_open(item->kind)) {
            continue;
        }
        struct fy_node *place = fy_node_create_mapping(d);
        json_add_string(d, place, "kind", audit_names[item->kind]);
        json_add_string(d, place, "file", file_of(m, item->at));
        if (file_of(m, item->at) != NULL) {
            json_add(d, place, "line", json_number(d, "%d", item->at->line));
        }
        json_add(d, place, "ptx_line", json_number(d, "%d", item->at->ptx_line));
        json_add_string(d, place, "instruction", item->at->text);
        json_add_string(d, place, "with", item->with != NULL ? item->with->text : NULL);
        fy_node_sequence_append(places, place);
    }
    json_add(d, node, "places", places);
    return node;
}

bool audit_json(const char *path, const struct ptx_module *m, const struct audit_report *reports, size_t count,
                struct error *e) {
    struct json_lines lines;
    json_begin(&lines);
    struct fy_document *d;
    for (size_t i = 0; i < count && (d = json_next(&lines)) != NULL; ++i) {
        json_put(&lines, d, entry_node(d, m, &reports[i]));
    }
    return json_end(&lines, path, e);
}
