/* The files of warpproof prove fragments --svg. */
#include "prove_pictures.h"
#include "../gpu/statement.h"
#include "../ref/checked.h"
#include "../reports/file.h"
#include "../reports/svg.h"
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

static bool is_file(const char *to) {
    const size_t n = strlen(to);
    return n > 4 && strcasecmp(to + n - 4, ".svg") == 0;
}

/* FOLDER/NAME.svg; what is no letter, digit, '.', '_' or '-' of the name becomes '-'. */
static char *path_of(const char *to, const char *kind, const char *name) {
    if (is_file(to)) {
        return must_strdup(to);
    }
    char *path = must_format("%s/%s%s.svg", to, kind, name);
    for (char *s = path + strlen(to) + 1; *s != 0; ++s) {
        *s = isalnum((unsigned char)*s) || strchr("._-", *s) != NULL ? *s : '-';
    }
    return path;
}

static bool is_drawn(const struct pictures_wanted *w, const struct fragment *f) {
    if (w->layout_count > 0 && w->pattern_count == 0) {
        return false;
    }
    char *statement = must_format("%s/bijection", f->name);
    const bool drawn = statement_selected(statement, w->patterns, w->pattern_count) ||
                       statement_selected(f->name, w->patterns, w->pattern_count);
    free(statement);
    return drawn;
}

static void add(struct pictures *p, struct picture one) {
    p->items = must_realloc(p->items, p->count + 1, sizeof *p->items);
    p->items[p->count++] = one;
}

/* In a folder that is not there yet, nothing can be asked about a file: the folder is made when it is written. */
static void add_to(struct call_files *f, const char *to, const char *what, const char *path) {
    struct stat there;
    call_files_add(f, is_file(to) || stat(to, &there) == 0 ? CALL_OUTPUT : CALL_FOLDER, what, path);
}

bool pictures_plan(const struct pictures_wanted *w, struct pictures *p, struct call_files *f, struct error *e) {
    *p = (struct pictures){.to = w->to};
    if (w->to == NULL) {
        return true;
    }
    size_t count;
    struct fragment *all = fragment_list(&count);
    for (size_t i = 0; i < w->layout_count; ++i) {
        add(p, (struct picture){.layout = w->layouts[i], .path = path_of(w->to, "layout-", w->layouts[i]->name)});
    }
    for (size_t i = 0; i < count; ++i) {
        if (is_drawn(w, &all[i])) {
            add(p, (struct picture){.operand = all[i], .path = path_of(w->to, "", all[i].name)});
        }
    }
    free(all);
    if (is_file(w->to)) {
        call_files_add(f, CALL_OUTPUT, "--svg", w->to);
        return p->count <= 1 || fail(e, "--svg %s: %zu pictures are selected; name a folder", p->to, p->count);
    }
    call_files_add(f, CALL_FOLDER, "--svg", w->to);
    for (size_t i = 0; i < p->count; ++i) {
        char *what = must_format("the picture of %s", i < w->layout_count ? w->files[i] : p->items[i].operand.name);
        add_to(f, w->to, what, p->items[i].path);
        free(what);
    }
    return true;
}

static bool write_one(const struct picture *one, struct error *e) {
    size_t size = 0;
    char *text = one->layout != NULL ? svg_layout(one->layout, &size, e) : svg_lane_map(&one->operand, &size);
    if (text == NULL) {
        return one->layout != NULL ? false : fail(e, "%s: no memory for the picture", one->path);
    }
    const bool good = file_put(one->path, text, size, e);
    free(text);
    return good;
}

bool pictures_write(const struct pictures *p, struct error *e) {
    if (p->to == NULL) {
        return true;
    }
    bool good = p->count == 0             ? fail(e, "--svg %s: no operand is selected", p->to)
                : is_file(p->to)          ? true
                : mkdir(p->to, 0777) == 0 ? true
                                          : errno == EEXIST || fail(e, "--svg %s: %s", p->to, strerror(errno));
    for (size_t i = 0; i < p->count && good; ++i) {
        good = write_one(&p->items[i], e);
    }
    return good;
}

void pictures_free(struct pictures *p) {
    for (size_t i = 0; i < p->count; ++i) {
        free(p->items[i].path);
    }
    free(p->items);
    *p = (struct pictures){.to = NULL};
}
