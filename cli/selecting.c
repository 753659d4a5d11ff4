#include "selecting.h"
#include "../ref/checked.h"
#include "command.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int check_patterns(const char *command, const char *const *patterns, size_t n) {
    for (size_t i = 0; i < n; ++i) {
        if (patterns[i][0] == 0) {
            return usage_error(command, "a PATTERN is empty (without any, all cases are selected)");
        }
    }
    return -1;
}

bool note_models(const char *command, const struct case_list *list, bool absent) {
    bool unreadable = false;
    for (size_t i = 0; i < list->model_count; ++i) {
        const struct case_model *m = list->models[i];
        if (m->why != NULL) {
            unreadable = true;
            fprintf(stderr, "warpproof %s: the cases of %s are not there: %s\n", command, m->name, m->why);
        } else if (m->file == NULL && absent) {
            fprintf(stderr, "warpproof %s: the cases of %s are not there: `make models` brings it\n", command, m->name);
        }
    }
    return unreadable;
}

/* The pattern names a class of made data, and a model's cases are of class real. */
static bool is_of_made_data(const char *pattern) {
    bool made = false;
    for (int k = 0; k < DATA_CLASSES; ++k) {
        char *part = must_format("/%s", data_class_names[k]);
        made |= k != DATA_REAL && strstr(pattern, part) != NULL;
        free(part);
    }
    return made;
}

bool fail_missed(struct error *e, const struct case_list *list, const char *pattern, bool quick) {
    const bool glob = strpbrk(pattern, "*?[") != NULL;
    char *absent = must_strdup("");
    for (size_t i = 0; i < list->model_count && !is_of_made_data(pattern); ++i) {
        const struct case_model *m = list->models[i];
        if (m->file == NULL && m->why == NULL) {
            char *more = must_format("%s; those of %s are not there: `make models` brings it", absent, m->name);
            free(absent);
            absent = more;
        }
    }
    fail(e, "no case matches '%.500s'%s (see warpproof list cases%s%.500s)", pattern,
         glob ? "; a glob must match a whole id, '*' at its ends helps" : "",
         quick ? "; --all adds those of the whole lattice" : "", absent);
    free(absent);
    return false;
}

char *kernel_file(const char *kernel, const char *root, struct error *e) {
    const size_t n = strlen(kernel);
    if (strchr(kernel, '/') != NULL) {
        return must_strdup(kernel);
    }
    const bool path = n > 5 && strcmp(kernel + n - 5, ".yaml") == 0;
    char *file = path ? must_strdup(kernel) : must_format("%s/gpu/kernels/%s.yaml", root, kernel);
    if (access(file, F_OK) == 0) {
        return file;
    }
    free(file);
    fail(e, "%s: no kernel and no launch file of that name; `warpproof list kernels` has the kernels", kernel);
    return NULL;
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

char **kernel_files(const char *root, size_t *n) {
    char *folder = must_format("%s/gpu/kernels", root), **paths = must_calloc(1, sizeof *paths);
    DIR *d = opendir(folder);
    *n = 0;
    for (struct dirent *f; d != NULL && (f = readdir(d)) != NULL;) {
        const size_t length = strlen(f->d_name);
        if (f->d_name[0] != '.' && length > 5 && strcmp(f->d_name + length - 5, ".yaml") == 0) {
            paths = must_realloc(paths, *n + 1, sizeof *paths);
            paths[(*n)++] = must_format("%s/%s", folder, f->d_name);
        }
    }
    if (d != NULL) {
        closedir(d);
    }
    if (*n > 0) {
        qsort(paths, *n, sizeof *paths, by_name);
    }
    free(folder);
    return paths;
}
