/* warpproof prove fragments: which byte of a tile each register byte holds. */
#include "../gpu/fragment_proof.h"
#include "../gpu/layout.h"
#include "../ref/checked.h"
#include "../reports/file.h"
#include "../reports/statement.h"
#include "../reports/svg.h"
#include "command.h"
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char name[] = "prove fragments";
static const char usage[] =
    "usage: warpproof prove fragments [PATTERN...] [--layout FILE]... [--list] [--svg FILE|FOLDER] [--json FILE]\n"
    "\n"
    "Proves, by enumeration of every lane, register and byte, what holds of the operands of mma and wgmma, of ldmatrix,\n"
    "stmatrix and movmatrix, and of operands in shared memory. With --layout it proves yours, or gives the first byte\n"
    "that is wrong, and the mistake. PATTERN is part of a statement's name, or a glob that matches all of it.\n"
    "\n"
    "  --layout FILE      a layout of your own (docs/prove.md); may be repeated; then only patterns select others\n"
    "  --list             names and texts of the statements; nothing is proved\n"
    "  --svg FILE|FOLDER  a picture of each selected operand: a FILE.svg takes one\n"
    "  --json FILE        write statements and results, whole or not at all\n"
    "  --help             this text\n"
    "\n"
    "exit: 0 all proved, 1 one is refuted, 2 input or usage error, 3 nothing was proved\n";

struct options {
    const char **layouts;
    size_t layout_count;
    bool list;
    const char *svg, *json;
    const char *const *patterns;
    size_t pattern_count;
};

static bool prove_layouts(const struct options *o, struct statement_list *list, struct error *e) {
    for (size_t i = 0; i < o->layout_count; ++i) {
        struct layout *l = layout_read(o->layouts[i], e);
        struct statement s = {0};
        const bool good = l != NULL && layout_prove(l, &s, e);
        layout_free(l);
        if (l != NULL) {
            statement_add(list, s);
        }
        if (!good) {
            return false;
        }
    }
    return true;
}

/* ---- pictures ---- */

static bool put_picture(const char *path, const struct fragment *f, struct error *e) {
    size_t size = 0;
    char *text = svg_lane_map(f, &size);
    const bool good = text != NULL ? file_put(path, text, size, e) : fail(e, "%s: no memory for the picture", path);
    free(text);
    return good;
}

static char *picture_path(const char *folder, const struct fragment *f) {
    char *path = must_format("%s/%s.svg", folder, f->name);
    for (char *s = path + strlen(folder) + 1; *s != 0; ++s) {
        *s = *s == '/' ? '-' : *s;
    }
    return path;
}

/* Of the fragments that a pattern selects: by "NAME/bijection", so that the patterns of statements serve. */
static bool draw(const struct options *o, struct error *e) {
    const size_t n = strlen(o->svg);
    const bool one = n > 4 && strcmp(o->svg + n - 4, ".svg") == 0;
    size_t count, selected = 0;
    struct fragment *all = fragment_list(&count);
    bool good = one || mkdir(o->svg, 0777) == 0 || errno == EEXIST || fail(e, "--svg %s: %s", o->svg, strerror(errno));
    for (size_t i = 0; i < count && good; ++i) {
        char *statement = must_format("%s/bijection", all[i].name);
        if (statement_selected(all[i].name, o->patterns, o->pattern_count) ||
            statement_selected(statement, o->patterns, o->pattern_count)) {
            char *path = one ? must_strdup(o->svg) : picture_path(o->svg, &all[i]);
            good = ++selected > 1 && one ? fail(e, "--svg %s: more than one operand is selected; name a folder", o->svg)
                                         : put_picture(path, &all[i], e);
            free(path);
        }
        free(statement);
    }
    if (good && selected == 0) {
        good = fail(e, "--svg %s: no operand is selected", o->svg);
    }
    free(all);
    return good;
}

static int report(const struct options *o, struct statement_list *list) {
    struct error e;
    if (list->count == 0) {
        flush_output();
        usage_error(name, "no statement matches '%s' (see warpproof prove fragments --list)", o->patterns[0]);
        return EXIT_NOTHING_RAN;
    }
    if (o->list) {
        statement_names(stdout, list);
        return EXIT_PASSED;
    }
    statement_table(stdout, list);
    if ((o->svg != NULL && !draw(o, &e)) || (o->json != NULL && !statement_json(o->json, "fragments", list, &e))) {
        flush_output();
        return usage_error(name, "%s", e.text);
    }
    statement_totals(stdout, list);
    return statements_refuted(list) > 0 ? EXIT_KERNEL_WRONG : EXIT_PASSED;
}

static int prove(const struct options *o) {
    struct statement_list list = {NULL, 0};
    struct error e;
    int code;
    if (!prove_layouts(o, &list, &e)) {
        code = usage_error(name, "%s", e.text);
    } else {
        if (o->layout_count == 0 || o->pattern_count > 0) {
            fragment_prove(o->patterns, o->pattern_count, o->list, &list);
        }
        code = report(o, &list);
    }
    statement_list_free(&list);
    return code;
}

int prove_fragments_main(int argc, char **argv) {
    enum { LAYOUT = 256, LIST, SVG, JSON };
    static const struct option longs[] = {{"layout", required_argument, NULL, LAYOUT},
                                          {"list", no_argument, NULL, LIST},
                                          {"svg", required_argument, NULL, SVG},
                                          {"json", required_argument, NULL, JSON},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    struct options o = {.layouts = must_calloc((size_t)argc + 1, sizeof *o.layouts)};
    int code = -1;
    opterr = 0;
    for (int c; code < 0 && (c = getopt_long(argc, argv, ":h", longs, NULL)) != -1;) {
        switch (c) {
        case LAYOUT:
            o.layouts[o.layout_count++] = optarg;
            break;
        case LIST:
            o.list = true;
            break;
        case SVG:
            o.svg = optarg;
            break;
        case JSON:
            o.json = optarg;
            break;
        case 'h':
            fputs(usage, stdout);
            code = EXIT_PASSED;
            break;
        default:
            code = option_error(name, argc, argv, c);
        }
    }
    o.patterns = (const char *const *)argv + optind;
    o.pattern_count = (size_t)(argc - optind);
    for (size_t i = 0; i < o.pattern_count && code < 0; ++i) {
        if (o.patterns[i][0] == 0) {
            code = usage_error(name, "a PATTERN is empty (without any, all statements are proved)");
        }
    }
    code = code < 0 ? prove(&o) : code;
    free(o.layouts);
    return code;
}
