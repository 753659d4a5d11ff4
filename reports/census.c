#include "census.h"
#include "../ref/checked.h"
#include "../ref/printable.h"
#include "json_node.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void row(FILE *out, const char *name, const struct site_count *n, uint64_t macs) {
    fprintf(out, "%-13s %14" PRIu64, name, n->executed);
    if (macs > 0) {
        fprintf(out, " %10.3f", 1024 * (double)n->executed / (double)macs);
    } else {
        fprintf(out, " %10s", "-");
    }
    if (n->wavefronts > 0) {
        fprintf(out, " %12" PRIu64 " %10" PRIu64, n->wavefronts, n->conflicts);
    } else {
        fprintf(out, " %12s %10s", "-", "-");
    }
    if (n->sectors > 0) {
        fprintf(out, " %12" PRIu64, n->sectors);
    } else {
        fprintf(out, " %12s", "-");
    }
    fprintf(out, "\n");
}

static int by_executed(const void *a, const void *b) {
    const struct census_line *const *x = a, *const *y = b;
    if ((*x)->count.executed != (*y)->count.executed) {
        return (*x)->count.executed > (*y)->count.executed ? -1 : 1;
    }
    return *x < *y ? -1 : *x > *y; /* both point into one array, ascending by place */
}

/* "mma 128, float 2048", the classes that matter most first. */
static char *classes_text(const struct census_line *l) {
    uint64_t left[CLASSES];
    memcpy(left, l->by_class, sizeof left);
    char *text = must_strdup("");
    for (int shown = 0; shown < 3; ++shown) {
        int most = 0;
        for (int k = 1; k < CLASSES; ++k) {
            most = left[k] > left[most] ? k : most;
        }
        if (left[most] == 0) {
            break;
        }
        char *longer = must_format("%s%s%s %" PRIu64, text, text[0] ? ", " : "", class_names[most], left[most]);
        free(text);
        text = longer;
        left[most] = 0;
    }
    return text;
}

/* "x.cu:135", "PTX line 88". */
static char *place_text(const char *file, int line) {
    return file != NULL ? must_format("%s:%d", file, line) : must_format("PTX line %d", line);
}

/* Instructions that reach memory. */
static void sites_table(FILE *out, const struct census *c, size_t most) {
    most = most == 0 || most > c->site_count ? c->site_count : most;
    if (c->site_count == 0) {
        return;
    }
    fprintf(out, "\n%12s %12s %10s %12s  %s\n", "executed", "wavefronts", "conflicts", "sectors", "access site");
    for (size_t i = 0; i < most; ++i) {
        const struct census_site *s = &c->sites[i];
        char safe[512], *place = place_text(s->file, s->file != NULL ? s->line : s->ptx_line);
        char *text = must_format("%s  %s", place, s->text);
        fprintf(out, "%12" PRIu64 " %12" PRIu64 " %10" PRIu64 " %12" PRIu64 "  %s\n", s->count.executed,
                s->count.wavefronts, s->count.conflicts, s->count.sectors,
                printable(safe, sizeof safe, text, strlen(text)));
        free(text);
        free(place);
    }
    if (most < c->site_count) {
        fprintf(out, "... and %zu more (--lines 0)\n", c->site_count - most);
    }
}

static void lines_table(FILE *out, const struct census *c, size_t most) {
    const struct census_line **sorted = must_calloc(c->line_count + 1, sizeof *sorted);
    size_t count = 0;
    for (size_t i = 0; i < c->line_count; ++i) {
        if (c->lines[i].count.executed > 0) {
            sorted[count++] = &c->lines[i];
        }
    }
    qsort(sorted, count, sizeof *sorted, by_executed);
    most = most == 0 || most > count ? count : most;
    fprintf(out, "\n%14s %12s %10s  %s\n", "executed", "wavefronts", "conflicts", "source line: most of it");
    for (size_t i = 0; i < most; ++i) {
        const struct census_line *l = sorted[i];
        char safe[512], *place = place_text(l->file, l->line);
        char *classes = classes_text(l);
        fprintf(out, "%14" PRIu64 " %12" PRIu64 " %10" PRIu64 "  %s: %s\n", l->count.executed, l->count.wavefronts,
                l->count.conflicts, printable(safe, sizeof safe, place, strlen(place)), classes);
        free(classes);
        free(place);
    }
    if (most < count) {
        fprintf(out, "... and %zu more lines (--lines 0)\n", count - most);
    }
    free(sorted);
}

void census_table(FILE *out, const struct census *c, size_t most) {
    fprintf(out, "%-13s %14s %10s %12s %10s %12s\n", "class", "warp inst", "/1024 MAC", "wavefronts", "conflicts",
            "sectors");
    for (int k = 0; k < CLASSES; ++k) {
        if (c->by_class[k].executed > 0) {
            row(out, class_names[k], &c->by_class[k], c->macs);
        }
    }
    row(out, "all", &c->total, c->macs);
    fprintf(out, "%" PRIu64 " multiply-adds by mma and dp4a\n", c->macs);
    lines_table(out, c, most);
    sites_table(out, c, most);
}

static void add_count(struct fy_document *d, struct fy_node *m, const struct site_count *n) {
    json_add(d, m, "executed", json_number(d, "%" PRIu64, n->executed));
    json_add(d, m, "requests", json_number(d, "%" PRIu64, n->requests));
    json_add(d, m, "wavefronts", json_number(d, "%" PRIu64, n->wavefronts));
    json_add(d, m, "conflicts", json_number(d, "%" PRIu64, n->conflicts));
    json_add(d, m, "sectors", json_number(d, "%" PRIu64, n->sectors));
}

/* name: "kernel" or "entry", as `key` says. */
static struct fy_node *census_node(struct fy_document *d, const char *key, const char *name, const struct census *c) {
    struct fy_node *m = fy_node_create_mapping(d), *classes = fy_node_create_mapping(d),
                   *lines = fy_node_create_sequence(d);
    json_add_string(d, m, key, name);
    json_add(d, m, "macs", json_number(d, "%" PRIu64, c->macs));
    add_count(d, m, &c->total);
    for (int k = 0; k < CLASSES; ++k) {
        if (c->by_class[k].executed > 0) {
            struct fy_node *one = fy_node_create_mapping(d);
            add_count(d, one, &c->by_class[k]);
            json_add(d, classes, class_names[k], one);
        }
    }
    json_add(d, m, "classes", classes);
    for (size_t i = 0; i < c->line_count; ++i) {
        struct fy_node *one = fy_node_create_mapping(d);
        json_add_string(d, one, "file", c->lines[i].file);
        json_add(d, one, c->lines[i].file != NULL ? "line" : "ptx_line", json_number(d, "%d", c->lines[i].line));
        add_count(d, one, &c->lines[i].count);
        fy_node_sequence_append(lines, one);
    }
    json_add(d, m, "lines", lines);
    struct fy_node *sites = fy_node_create_sequence(d);
    for (size_t i = 0; i < c->site_count; ++i) {
        struct fy_node *one = fy_node_create_mapping(d);
        json_add_string(d, one, "file", c->sites[i].file);
        json_add(d, one, "line", json_number(d, "%d", c->sites[i].line));
        json_add(d, one, "ptx_line", json_number(d, "%d", c->sites[i].ptx_line));
        json_add_string(d, one, "instruction", c->sites[i].text);
        add_count(d, one, &c->sites[i].count);
        fy_node_sequence_append(sites, one);
    }
    json_add(d, m, "sites", sites);
    return m;
}

static struct fy_node *kernel_node(struct fy_document *d, const struct census_of_kernel *k) {
    if (k->count == 1 && k->launches[0].entry == NULL) {
        return census_node(d, "kernel", k->kernel, &k->launches[0]);
    }
    struct fy_node *m = fy_node_create_mapping(d), *list = fy_node_create_sequence(d);
    json_add_string(d, m, "kernel", k->kernel);
    for (size_t i = 0; i < k->count; ++i) {
        fy_node_sequence_append(list, census_node(d, "entry", k->launches[i].entry, &k->launches[i]));
    }
    json_add(d, m, "launches", list);
    return m;
}

bool census_json(const char *path, const struct census_of_kernel *kernels, size_t n, struct error *e) {
    struct json_lines lines;
    json_begin(&lines);
    for (size_t i = 0; i < n; ++i) {
        struct fy_document *d = json_next(&lines);
        if (d != NULL)
            json_put(&lines, d, kernel_node(d, &kernels[i]));
    }
    return json_end(&lines, path, e);
}
