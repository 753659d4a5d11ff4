#include "plant.h"
#include "../gpu/yaml.h"
#include "../oracles/oracle.h"
#include "../ref/checked.h"
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const keys[] = {"plant", "about", "kernel", "ptx", "expect", NULL};
static const char *const expect_keys[] = {"oracle", "verdict", NULL};

static bool take(const struct yaml_doc *doc, const struct yaml_node *map, const char *key, char **out,
                 struct error *e) {
    const struct yaml_node *value;
    const char *text;
    if (!yaml_require(doc, map, key, "a plant", &value, e) || !yaml_string(doc, value, key, &text, e)) {
        return false;
    }
    *out = must_strdup(text);
    return true;
}

static bool read_plant(const struct yaml_doc *doc, const char *name, struct plant *p, struct error *e) {
    const struct yaml_node *expect, *node;
    const char *verdict;
    if (!yaml_expect(doc, doc->root, YAML_MAPPING, "a plant", e) ||
        !yaml_check_keys(doc, doc->root, "a plant", keys, e) || !take(doc, doc->root, "plant", &p->name, e) ||
        !take(doc, doc->root, "about", &p->about, e) || !take(doc, doc->root, "kernel", &p->kernel, e) ||
        !take(doc, doc->root, "ptx", &p->ptx, e) || !yaml_require(doc, doc->root, "expect", "a plant", &expect, e) ||
        !yaml_expect(doc, expect, YAML_MAPPING, "expect", e) ||
        !yaml_check_keys(doc, expect, "expect", expect_keys, e) || !take(doc, expect, "oracle", &p->oracle, e) ||
        !yaml_require(doc, expect, "verdict", "expect", &node, e) || !yaml_string(doc, node, "verdict", &verdict, e)) {
        return false;
    }
    if (!verdict_named(verdict, &p->verdict) || !verdict_is_wrong_kernel(p->verdict)) {
        return yaml_fail(doc, node, 0, e,
                         "expect.verdict: a verdict that a wrong kernel gets, such as DIFFERS or GUARD");
    }
    bool known = false;
    for (size_t i = 0; oracles[i] != NULL; ++i) {
        known |= strcmp(oracles[i]->name, p->oracle) == 0;
    }
    if (!known) {
        return yaml_fail(doc, yaml_get(expect, "oracle"), 0, e,
                         "expect.oracle: no such oracle (warpproof list oracles)");
    }
    if (strcmp(p->name, name) != 0) {
        return yaml_fail(doc, yaml_get(doc->root, "plant"), 0, e, "plant: must be the file's own name, %s", name);
    }
    return true;
}

bool plant_load(const char *root, const char *name, struct plant *p, struct error *e) {
    *p = (struct plant){0};
    char *path = must_format("%s/fixtures/plants/%s.yaml", root, name);
    if (strchr(name, '/') != NULL || access(path, F_OK) != 0) {
        free(path);
        return fail(e, "no plant named '%s' (see warpproof list plants)", name);
    }
    struct yaml_doc *doc = yaml_open(path, e);
    const bool good = doc != NULL && read_plant(doc, name, p, e);
    yaml_close(doc);
    if (good) {
        char *ptx = must_format("%s/fixtures/plants/%s", root, p->ptx);
        free(p->ptx);
        p->ptx = ptx;
    } else {
        plant_free(p);
    }
    free(path);
    return good;
}

void plant_free(struct plant *p) {
    free(p->name);
    free(p->about);
    free(p->kernel);
    free(p->ptx);
    free(p->oracle);
    *p = (struct plant){0};
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

char **plant_names(const char *root, size_t *n) {
    char *folder = must_format("%s/fixtures/plants", root), **names = NULL;
    DIR *d = opendir(folder);
    *n = 0;
    for (struct dirent *f; d != NULL && (f = readdir(d)) != NULL;) {
        const size_t length = strlen(f->d_name);
        if (length > 5 && strcmp(f->d_name + length - 5, ".yaml") == 0) {
            names = must_realloc(names, *n + 1, sizeof *names);
            names[(*n)++] = must_format("%.*s", (int)(length - 5), f->d_name);
        }
    }
    if (d != NULL) {
        closedir(d);
    }
    free(folder);
    if (*n > 0) {
        qsort(names, *n, sizeof *names, by_name);
    }
    return names;
}
