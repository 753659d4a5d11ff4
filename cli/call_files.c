#include "call_files.h"
#include "../ref/checked.h"
#include "../reports/file.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void call_files_add(struct call_files *f, enum call_file_use use, const char *what, const char *path) {
    if (path == NULL) {
        return;
    }
    f->items = must_realloc(f->items, f->count + 1, sizeof *f->items);
    f->items[f->count++] = (struct call_file){must_strdup(what), must_strdup(path), use};
}

static bool is_device(const char *path) {
    struct stat there;
    return stat(path, &there) == 0 && S_ISCHR(there.st_mode);
}

static bool apart(const struct call_file *a, const struct call_file *b, struct error *e) {
    if ((a->use == CALL_INPUT && b->use == CALL_INPUT) || !file_same_place(a->path, b->path) || is_device(a->path)) {
        return true;
    }
    if (a->use != CALL_INPUT && b->use != CALL_INPUT) {
        return fail(e, "%s and %s name one file, %s", a->what, b->what, b->path);
    }
    const struct call_file *out = a->use == CALL_INPUT ? b : a, *in = out == a ? b : a;
    return fail(e, "%s %s is the input %s", out->what, out->path, in->path);
}

bool call_files_check(const struct call_files *f, struct error *e) {
    bool good = true;
    for (size_t i = 0; i < f->count; ++i) {
        for (size_t k = 0; k < i; ++k) {
            good = good && apart(&f->items[k], &f->items[i], e);
        }
    }
    for (size_t i = 0; i < f->count; ++i) {
        good = good && (f->items[i].use != CALL_OUTPUT || file_can_put(f->items[i].path, e));
    }
    return good;
}

void call_files_free(struct call_files *f) {
    for (size_t i = 0; i < f->count; ++i) {
        free(f->items[i].what);
        free(f->items[i].path);
    }
    free(f->items);
    *f = (struct call_files){NULL, 0};
}
