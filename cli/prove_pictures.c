/* The files of warpproof prove fragments --svg. */
#include "prove_pictures.h"
#include "../gpu/layout.h"
#include "../gpu/statement.h"
#include "../ref/checked.h"
#include "../reports/file.h"
#include "../reports/svg.h"
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool is_file(const struct pictures *p) {
    const size_t n = strlen(p->to);
    return n > 4 && strcmp(p->to + n - 4, ".svg") == 0;
}

/* FOLDER/NAME.svg; what is no letter, digit, '.', '_' or '-' of the name becomes '-'. */
static char *path_of(const struct pictures *p, const char *kind, const char *name) {
    if (is_file(p)) {
        return must_strdup(p->to);
    }
    char *path = must_format("%s/%s%s.svg", p->to, kind, name);
    for (char *s = path + strlen(p->to) + 1; *s != 0; ++s) {
        *s = isalnum((unsigned char)*s) || strchr("._-", *s) != NULL ? *s : '-';
    }
    return path;
}

/* Takes path and text. */
static bool put(char *path, char *text, size_t size, struct error *e) {
    const bool good = file_put(path, text, size, e);
    free(text);
    free(path);
    return good;
}

static bool put_operand(const struct pictures *p, const struct fragment *f, struct error *e) {
    size_t size = 0;
    char *text = svg_lane_map(f, &size);
    return text != NULL ? put(path_of(p, "", f->name), text, size, e) : fail(e, "%s: no memory for the picture", p->to);
}

static bool put_layout(const struct pictures *p, size_t i, struct error *e) {
    struct layout *l = layout_read(p->layouts[i], e);
    size_t size = 0;
    char *text = l != NULL ? svg_layout(l, &size, e) : NULL;
    const bool good = text != NULL && put(path_of(p, "layout-", l->name), text, size, e);
    layout_free(l);
    return good;
}

static bool is_drawn(const struct pictures *p, const struct fragment *f) {
    if (p->layout_count > 0 && p->pattern_count == 0) {
        return false;
    }
    char *statement = must_format("%s/bijection", f->name);
    const bool drawn = statement_selected(statement, p->patterns, p->pattern_count) ||
                       statement_selected(f->name, p->patterns, p->pattern_count);
    free(statement);
    return drawn;
}

bool prove_pictures(const struct pictures *p, struct error *e) {
    size_t count, selected = p->layout_count;
    struct fragment *all = fragment_list(&count);
    for (size_t i = 0; i < count; ++i) {
        selected += is_drawn(p, &all[i]);
    }
    bool good = selected == 0 ? fail(e, "--svg %s: no operand is selected", p->to)
                : is_file(p)
                    ? selected == 1 || fail(e, "--svg %s: %zu pictures are selected; name a folder", p->to, selected)
                : mkdir(p->to, 0777) == 0 ? true
                                          : errno == EEXIST || fail(e, "--svg %s: %s", p->to, strerror(errno));
    for (size_t i = 0; i < p->layout_count && good; ++i) {
        good = put_layout(p, i, e);
    }
    for (size_t i = 0; i < count && good; ++i) {
        good = !is_drawn(p, &all[i]) || put_operand(p, &all[i], e);
    }
    free(all);
    return good;
}
