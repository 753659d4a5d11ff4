#include "mutate_named.h"
#include "../gpu/yaml.h"
#include "../ref/checked.h"
#include <stdlib.h>
#include <string.h>

struct named {
    const struct yaml_doc *doc;
    const struct mutate_kernel *kernels;
    size_t kernel_count;
    uint32_t operators;
    struct mutation *all;
    size_t count;
};

/* The text of a key that must be there. */
static bool text_of(const struct named *n, const struct yaml_node *mapping, const char *key, const char **text,
                    const struct yaml_node **at, struct error *e) {
    return yaml_require(n->doc, mapping, key, "a mutant", at, e) && yaml_string(n->doc, *at, key, text, e);
}

/* The kernel that NAME begins with, and what follows it; NULL: it is none of these. */
static const struct mutate_kernel *kernel_of(const struct named *n, const char *name, const char **rest) {
    const size_t bytes = strcspn(name, "/");
    *rest = name[bytes] == '/' ? name + bytes + 1 : NULL;
    for (size_t i = 0; i < n->kernel_count; ++i) {
        const char *kernel = n->kernels[i].spec->kernel;
        if (strlen(kernel) == bytes && strncmp(kernel, name, bytes) == 0) {
            return &n->kernels[i];
        }
    }
    return NULL;
}

/* OPERATOR/LINE/K of an operator that is asked for; *known: of any. */
static bool asked(const struct named *n, const char *rest, bool *known) {
    const size_t bytes = strcspn(rest, "/");
    *known = false;
    for (int i = 0; i < MUTANT_OPERATORS; ++i) {
        if (strlen(mutant_operator_names[i]) == bytes && strncmp(mutant_operator_names[i], rest, bytes) == 0) {
            *known = true;
            return (n->operators >> i & 1) != 0;
        }
    }
    return false;
}

static const struct mutant *mutant_of(const struct mutate_kernel *k, const char *rest) {
    const struct mutant *found = NULL;
    for (size_t i = 0; found == NULL && i < k->mutants.count; ++i) {
        char *own = mutant_name(&k->mutants.items[i]);
        found = strcmp(own, rest) == 0 ? &k->mutants.items[i] : NULL;
        free(own);
    }
    return found;
}

/* The statement is written as it stands in the PTX today. Takes today's. */
static bool same_text(const struct named *n, const struct yaml_node *at, const char *key, const char *written,
                      char *today, const char *name, struct error *e) {
    const bool same = strcmp(written, today) == 0;
    if (!same) {
        yaml_fail(n->doc, at, 0, e, "%s: the proof is of another program: %s is now '%s'", name, key, today);
    }
    free(today);
    return same;
}

static bool read_mutant(const struct named *n, const struct yaml_node *node, const char *proof, struct error *e) {
    static const char *const keys[] = {"mutant", "before", "after", NULL};
    const char *name, *before, *after, *rest;
    const struct yaml_node *name_at, *before_at, *after_at;
    bool known;
    if (!yaml_expect(n->doc, node, YAML_MAPPING, "a mutant", e) ||
        !yaml_check_keys(n->doc, node, "a mutant", keys, e) || !text_of(n, node, "mutant", &name, &name_at, e) ||
        !text_of(n, node, "before", &before, &before_at, e) || !text_of(n, node, "after", &after, &after_at, e)) {
        return false;
    }
    const struct mutate_kernel *k = kernel_of(n, name, &rest);
    const bool wanted = rest != NULL && asked(n, rest, &known);
    if (rest == NULL || !known) {
        return yaml_fail(n->doc, name_at, 0, e, "mutant: want KERNEL/OPERATOR/LINE/K");
    }
    if (k == NULL || !wanted) {
        return true;
    }
    const struct mutant *m = mutant_of(k, rest);
    if (m == NULL) {
        return yaml_fail(n->doc, name_at, 0, e, "there is no mutant %s: its PTX has changed", name);
    }
    if (!same_text(n, before_at, "before", before, mutant_before(k->module, m), name, e) ||
        !same_text(n, after_at, "after", after, mutant_after(m), name, e)) {
        return false;
    }
    for (size_t i = 0; i < n->count; ++i) {
        if (n->all[i].mutant == m && n->all[i].named != NULL) {
            return yaml_fail(n->doc, name_at, 0, e, "%s stands here twice", name);
        }
        n->all[i].named = n->all[i].mutant == m ? must_strdup(proof) : n->all[i].named;
    }
    return true;
}

static bool read_proof(const struct named *n, const struct yaml_node *node, struct error *e) {
    static const char *const keys[] = {"proof", "mutants", NULL};
    const struct yaml_node *at, *mutants;
    const char *proof;
    if (!yaml_expect(n->doc, node, YAML_MAPPING, "a proof", e) || !yaml_check_keys(n->doc, node, "a proof", keys, e) ||
        !yaml_require(n->doc, node, "proof", "a proof", &at, e) || !yaml_string(n->doc, at, "proof", &proof, e) ||
        !yaml_require(n->doc, node, "mutants", "a proof", &mutants, e) ||
        !yaml_expect(n->doc, mutants, YAML_SEQUENCE, "mutants", e)) {
        return false;
    }
    for (const struct yaml_node *m = mutants->first; m != NULL; m = m->next) {
        if (!read_mutant(n, m, proof, e)) {
            return false;
        }
    }
    return true;
}

bool mutate_named(const char *path, const struct mutate_kernel *kernels, size_t kernel_count, uint32_t operators,
                  struct mutation *all, size_t count, struct error *e) {
    struct yaml_doc *doc = yaml_open(path, e);
    const struct named n = {doc, kernels, kernel_count, operators, all, count};
    bool good = doc != NULL && yaml_expect(doc, doc->root, YAML_SEQUENCE, "the file", e);
    for (const struct yaml_node *p = good ? doc->root->first : NULL; good && p != NULL; p = p->next) {
        good = read_proof(&n, p, e);
    }
    yaml_close(doc);
    return good;
}
