#include "plant.h"
#include "../gpu/yaml.h"
#include "../oracles/oracle.h"
#include "../ref/checked.h"
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const plant_group_names[PLANT_GROUPS] = {"kernel", "canary", "edit", "machine"};

static const char *const folders[PLANT_GROUPS] = {"fixtures/plants", "fixtures/plants", "fixtures/plants/edit",
                                                  "fixtures/plants/machine"};
static const char *const keys[PLANT_GROUPS][10] = {
    [PLANT_KERNEL] = {"plant", "about", "kernel", "ptx", "expect", "from", "stages", "cases", "canary", NULL},
    [PLANT_EDIT] = {"plant", "about", "kernel", "edits", "cases", "arch", "expect", "from", NULL},
    [PLANT_MACHINE] = {"plant", "about", "launch", "clean", "arch", "expect", "from", NULL}};
static const char *const edit_keys[] = {"in", "text", "becomes", "times", NULL};
static const char *const expect_keys[] = {"oracle", "verdict", "says", NULL};
static const char *const clean_keys[] = {"entry", "then", "shape", NULL};

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

static bool read_expect(const struct yaml_doc *doc, struct plant *p, struct error *e) {
    const struct yaml_node *expect, *node;
    const char *verdict;
    if (!yaml_require(doc, doc->root, "expect", "a plant", &expect, e) ||
        !yaml_expect(doc, expect, YAML_MAPPING, "expect", e) ||
        !yaml_check_keys(doc, expect, "expect", expect_keys, e) || !take(doc, expect, "oracle", &p->oracle, e) ||
        !yaml_require(doc, expect, "verdict", "expect", &node, e) || !yaml_string(doc, node, "verdict", &verdict, e)) {
        return false;
    }
    const struct yaml_node *says = yaml_get(expect, "says");
    if (says != NULL && !take(doc, expect, "says", &p->says, e)) {
        return false;
    }
    const bool refused = strcmp(p->oracle, "input") == 0; /* whatever cannot be run: so it must be said what of it */
    if (refused && says == NULL) {
        return yaml_fail(doc, expect, 0, e, "expect.says: oracle input needs a part of its words");
    }
    const bool known_verdict = verdict_named(verdict, &p->verdict);
    if (!known_verdict || (refused                       ? p->verdict != VERDICT_INPUT
                           : p->verdict == VERDICT_INPUT ? p->group != PLANT_MACHINE
                                                         : !verdict_is_wrong_kernel(p->verdict))) {
        return yaml_fail(doc, node, 0, e,
                         "expect.verdict: a verdict that a wrong kernel gets, such as DIFFERS or GUARD");
    }
    bool known = refused;
    for (size_t i = 0; oracles[i] != NULL; ++i) {
        known |= strcmp(oracles[i]->name, p->oracle) == 0;
    }
    return known ||
           yaml_fail(doc, yaml_get(expect, "oracle"), 0, e, "expect.oracle: no such oracle (warpproof list oracles)");
}

/* An entry of a catalogue: a letter, C for the defects of a campaign and B for public reports, and its number there of
 * two or three digits. */
static bool is_entry(const char *id) {
    const size_t digits = strspn(id + (*id != 0), "0123456789");
    return (*id == 'B' || *id == 'C') && digits >= 2 && digits <= 3 && id[1 + digits] == 0 &&
           (digits == 2 || id[1] != '0');
}

/* from: [C17, B102] */
static bool read_from(const struct yaml_doc *doc, struct plant *p, struct error *e) {
    const struct yaml_node *list = yaml_get(doc->root, "from");
    if (list == NULL) {
        return true;
    }
    if (!yaml_expect(doc, list, YAML_SEQUENCE, "from", e)) {
        return false;
    }
    if (list->count == 0) {
        return yaml_fail(doc, list, 0, e, "from: the list is empty; leave it out where the fault is of no catalogue");
    }
    p->from = must_calloc(list->count, sizeof *p->from);
    for (const struct yaml_node *n = list->first; n != NULL; n = n->next) {
        const char *text;
        if (!yaml_string(doc, n, "from", &text, e)) {
            return false;
        }
        if (!is_entry(text)) {
            return yaml_fail(doc, n, 0, e, "from: want entries such as C17 or B102 (docs/plants.md)");
        }
        for (size_t i = 0; i < p->from_count; ++i) {
            if (strcmp(p->from[i], text) == 0) {
                return yaml_fail(doc, n, 0, e, "from: %s stands there twice", text);
            }
        }
        p->from[p->from_count++] = must_strdup(text);
    }
    return true;
}

/* edits: [{in: launch, text: A, becomes: B, times: 1}] */
static bool read_edits(const struct yaml_doc *doc, struct plant *p, struct error *e) {
    static const char *const files[] = {"launch", "ptx", NULL};
    const struct yaml_node *list;
    if (!yaml_require(doc, doc->root, "edits", "a plant", &list, e) ||
        !yaml_expect(doc, list, YAML_SEQUENCE, "edits", e)) {
        return false;
    }
    if (list->count == 0) {
        return yaml_fail(doc, list, 0, e, "edits: the list is empty");
    }
    p->edits = must_calloc(list->count, sizeof *p->edits);
    for (const struct yaml_node *n = list->first; n != NULL; n = n->next) {
        struct plant_edit *edit = &p->edits[p->edit_count++];
        const struct yaml_node *in, *becomes, *times = n->kind == YAML_MAPPING ? yaml_get(n, "times") : NULL;
        size_t which;
        int64_t count = 1;
        if (!yaml_expect(doc, n, YAML_MAPPING, "an edit", e) || !yaml_check_keys(doc, n, "an edit", edit_keys, e) ||
            !yaml_require(doc, n, "in", "an edit", &in, e) || !yaml_choice(doc, in, "in", files, &which, e) ||
            !take(doc, n, "text", &edit->text, e) || !yaml_require(doc, n, "becomes", "an edit", &becomes, e) ||
            !yaml_expect(doc, becomes, YAML_SCALAR, "becomes", e) ||
            (times != NULL && !yaml_integer(doc, times, "times", 1, 1 << 20, &count, e))) {
            return false;
        }
        if (strcmp(edit->text, becomes->text) == 0) {
            return yaml_fail(doc, becomes, 0, e, "becomes: the same as text");
        }
        edit->in_ptx = which == 1;
        edit->becomes = must_strdup(becomes->text);
        edit->times = (size_t)count;
    }
    return true;
}

/* clean.then: [NAME, ...] */
static bool read_clean_then(const struct yaml_doc *doc, const struct yaml_node *list, struct plant *p,
                            struct error *e) {
    if (list == NULL) {
        return true;
    }
    if (!yaml_expect(doc, list, YAML_SEQUENCE, "clean.then", e)) {
        return false;
    }
    p->clean_then = must_calloc(list->count, sizeof *p->clean_then);
    for (const struct yaml_node *n = list->first; n != NULL; n = n->next) {
        const char *text;
        if (!yaml_string(doc, n, "clean.then", &text, e)) {
            return false;
        }
        p->clean_then[p->clean_then_count++] = must_strdup(text);
    }
    return true;
}

/* clean: {entry: NAME, then: [NAME], shape: {n: 3}}, what follows and the shape only where they are other ones than the
 * launch file's. */
static bool read_clean(const struct yaml_doc *doc, struct plant *p, struct error *e) {
    const struct yaml_node *clean, *shape;
    if (!yaml_require(doc, doc->root, "clean", "a plant", &clean, e) ||
        !yaml_expect(doc, clean, YAML_MAPPING, "clean", e) || !yaml_check_keys(doc, clean, "clean", clean_keys, e) ||
        !take(doc, clean, "entry", &p->clean_entry, e) || !read_clean_then(doc, yaml_get(clean, "then"), p, e)) {
        return false;
    }
    shape = yaml_get(clean, "shape");
    if (shape == NULL) {
        return true;
    }
    if (!yaml_expect(doc, shape, YAML_MAPPING, "clean.shape", e)) {
        return false;
    }
    p->clean_shape = must_calloc(shape->count, sizeof *p->clean_shape);
    for (const struct yaml_node *key = shape->first; key != NULL; key = key->next) {
        int64_t value;
        if (!yaml_integer(doc, key->value, key->text, INT64_MIN, INT64_MAX, &value, e)) {
            return false;
        }
        p->clean_shape[p->clean_shape_count++] = (struct shape_value){.name = must_strdup(key->text), .value = value};
    }
    return true;
}

/* stages: [staging, sums], those that `explain` must find wrong. */
static bool read_stages(const struct yaml_doc *doc, struct plant *p, struct error *e) {
    const struct yaml_node *list = yaml_get(doc->root, "stages");
    if (list == NULL) {
        return true;
    }
    if (!yaml_expect(doc, list, YAML_SEQUENCE, "stages", e)) {
        return false;
    }
    for (const struct yaml_node *n = list->first; n != NULL; n = n->next) {
        enum stage_kind kind;
        const char *text;
        if (!yaml_string(doc, n, "stages", &text, e)) {
            return false;
        }
        if (!stage_named(text, &kind)) {
            return yaml_fail(doc, n, 0, e, "stages: want staging, fragments, sums, rescale or store");
        }
        p->stages[kind] = true;
    }
    return true;
}

/* canary: GUARD or DIFFERS, what oracle canary must say of the plant's canary build. */
static bool read_canary(const struct yaml_doc *doc, struct plant *p, struct error *e) {
    const struct yaml_node *node = yaml_get(doc->root, "canary");
    const char *text;
    if (node == NULL) {
        return true;
    }
    if (!yaml_string(doc, node, "canary", &text, e)) {
        return false;
    }
    p->has_canary = verdict_named(text, &p->canary) && (p->canary == VERDICT_GUARD || p->canary == VERDICT_DIFFERS);
    return p->has_canary || yaml_fail(doc, node, 0, e, "canary: want GUARD or DIFFERS");
}

static bool read_arch(const struct yaml_doc *doc, struct plant *p, struct error *e) {
    const struct yaml_node *node = yaml_get(doc->root, "arch");
    const char *text;
    if (node == NULL) {
        return true;
    }
    if (!yaml_string(doc, node, "arch", &text, e)) {
        return false;
    }
    p->arch = arch_named(text);
    return p->arch != NULL || yaml_fail(doc, node, 0, e, "arch: unknown architecture");
}

static bool read_plant(const struct yaml_doc *doc, const char *name, struct plant *p, struct error *e) {
    if (!yaml_expect(doc, doc->root, YAML_MAPPING, "a plant", e) ||
        !yaml_check_keys(doc, doc->root, "a plant", keys[p->group], e) || !take(doc, doc->root, "plant", &p->name, e) ||
        !take(doc, doc->root, "about", &p->about, e) || !read_expect(doc, p, e) || !read_from(doc, p, e)) {
        return false;
    }
    if (strcmp(p->name, name) != 0) {
        return yaml_fail(doc, yaml_get(doc->root, "plant"), 0, e, "plant: must be the file's own name, %s", name);
    }
    if (p->group != PLANT_MACHINE &&
        (!take(doc, doc->root, "kernel", &p->kernel, e) ||
         (yaml_get(doc->root, "cases") != NULL && !take(doc, doc->root, "cases", &p->cases, e)))) {
        return false;
    }
    if (p->group == PLANT_KERNEL) {
        return take(doc, doc->root, "ptx", &p->ptx, e) && read_stages(doc, p, e) && read_canary(doc, p, e);
    }
    if (p->group == PLANT_EDIT) {
        return read_edits(doc, p, e) && read_arch(doc, p, e);
    }
    return take(doc, doc->root, "launch", &p->launch, e) && read_clean(doc, p, e) && read_arch(doc, p, e);
}

/* The path of a file that stands beside the plant's. */
static void resolve(const char *root, const struct plant *p, char **path) {
    if (*path != NULL) {
        char *whole = must_format("%s/%s/%s", root, folders[p->group], *path);
        free(*path);
        *path = whole;
    }
}

bool plant_load(const char *root, const char *name, struct plant *p, struct error *e) {
    *p = (struct plant){0};
    char *path = NULL;
    for (int g = 0; g < PLANT_GROUPS && strchr(name, '/') == NULL; ++g) {
        if (g == PLANT_CANARY) {
            continue; /* has no files of its own */
        }
        path = must_format("%s/%s/%s.yaml", root, folders[g], name);
        if (access(path, F_OK) == 0) {
            p->group = (enum plant_group)g;
            break;
        }
        free(path);
        path = NULL;
    }
    if (path == NULL) {
        return fail(e, "no plant named '%s' (see warpproof list plants)", name);
    }
    struct yaml_doc *doc = yaml_open(path, e);
    const bool good = doc != NULL && read_plant(doc, name, p, e);
    yaml_close(doc);
    if (good) {
        resolve(root, p, &p->ptx);
        resolve(root, p, &p->launch);
    } else {
        plant_free(p);
    }
    free(path);
    return good;
}

void plant_as_canary(struct plant *p) {
    p->group = PLANT_CANARY;
    free(p->oracle);
    p->oracle = must_strdup("canary");
    p->verdict = p->canary;
}

void plant_free(struct plant *p) {
    for (size_t i = 0; i < p->from_count; ++i) {
        free(p->from[i]);
    }
    free(p->from);
    for (size_t i = 0; i < p->edit_count; ++i) {
        free(p->edits[i].text);
        free(p->edits[i].becomes);
    }
    free(p->edits);
    for (size_t i = 0; i < p->clean_shape_count; ++i) {
        free((char *)p->clean_shape[i].name);
    }
    free(p->clean_shape);
    for (size_t i = 0; i < p->clean_then_count; ++i) {
        free(p->clean_then[i]);
    }
    free(p->clean_then);
    free(p->name);
    free(p->about);
    free(p->kernel);
    free(p->ptx);
    free(p->cases);
    free(p->launch);
    free(p->clean_entry);
    free(p->oracle);
    free(p->says);
    *p = (struct plant){0};
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool ends_in(const char *s, const char *end) {
    const size_t n = strlen(s), m = strlen(end);
    return n > m && strcmp(s + n - m, end) == 0;
}

/* Of the names of group kernel those with a canary build. */
static void keep_canaries(const char *root, char **names, size_t *n) {
    size_t kept = 0;
    for (size_t i = 0; i < *n; ++i) {
        struct plant p;
        struct error e;
        const bool has = plant_load(root, names[i], &p, &e) && p.has_canary;
        plant_free(&p);
        if (has) {
            names[kept++] = names[i];
        } else {
            free(names[i]);
        }
    }
    *n = kept;
}

char **plant_names(const char *root, enum plant_group group, size_t *n) {
    char *folder = must_format("%s/%s", root, folders[group]), **names = NULL;
    DIR *d = opendir(folder);
    *n = 0;
    for (struct dirent *f; d != NULL && (f = readdir(d)) != NULL;) {
        if (ends_in(f->d_name, ".yaml") && !ends_in(f->d_name, ".launch.yaml")) {
            names = must_realloc(names, *n + 1, sizeof *names);
            names[(*n)++] = must_format("%.*s", (int)(strlen(f->d_name) - 5), f->d_name);
        }
    }
    if (d != NULL) {
        closedir(d);
    }
    free(folder);
    if (*n > 0) {
        qsort(names, *n, sizeof *names, by_name);
    }
    if (group == PLANT_CANARY) {
        keep_canaries(root, names, n);
    }
    return names;
}

bool plant_program(const char *root, const char *name, const struct spec *spec, struct plant *plant,
                   struct ptx_module **m, struct error *e) {
    *plant = (struct plant){0};
    if (name != NULL && !plant_load(root, name, plant, e)) {
        return false;
    }
    const bool fits = name == NULL || (plant->group == PLANT_KERNEL && strcmp(plant->kernel, spec->kernel) == 0);
    *m = fits ? ptx_load(name != NULL ? plant->ptx : spec->ptx, e) : NULL;
    if (!fits) {
        plant->group == PLANT_EDIT ? fail(e, "plant %s is one of a kernel's words: warpproof plants %s", name, name)
                                   : fail(e, "plant %s is none of kernel %s", name, spec->kernel);
    }
    return *m != NULL;
}
