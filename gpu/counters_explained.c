#include "counters_explained.h"
#include "../ref/checked.h"
#include <ctype.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ITEMS = 1000, MOST_WORDS = 100, MOST_WHY = 400 };

struct reader {
    const struct yaml_doc *doc;
    struct error *e;
};

/* Text of one line. */
static bool line_of_text(const struct reader *r, const struct yaml_node *node, const char *what, size_t most,
                         char **out) {
    const char *text;
    if (!yaml_string(r->doc, node, what, &text, r->e))
        return false;
    if (strlen(text) > most || text[strcspn(text, "\n\t")])
        return yaml_fail(r->doc, node, 0, r->e, "%s: want one line of at most %zu bytes", what, most);
    *out = must_strdup(text);
    return true;
}

/* A text, or a list of texts that is not empty. */
static bool texts(const struct reader *r, const struct yaml_node *node, const char *what, char ***out, size_t *count) {
    const bool list = node->kind == YAML_SEQUENCE;
    if (list && (!node->count || node->count > MOST_WORDS))
        return yaml_fail(r->doc, node, 0, r->e, "%s: want 1 to %d of them", what, MOST_WORDS);
    *out = must_calloc(list ? node->count : 1, sizeof **out);
    for (const struct yaml_node *n = list ? node->first : node; n; n = list ? n->next : NULL)
        if (!line_of_text(r, n, what, 200, &(*out)[*count]))
            return false;
        else
            ++*count;
    return true;
}

static bool quantities(const struct reader *r, const struct yaml_node *node, bool chosen[COUNTER_QUANTITIES]) {
    const char *names[COUNTER_QUANTITIES + 1] = {NULL};
    const bool list = node->kind == YAML_SEQUENCE;
    for (size_t q = 0; q < COUNTER_QUANTITIES; ++q)
        names[q] = counter_quantities[q].name;
    if (list && !node->count)
        return yaml_fail(r->doc, node, 0, r->e, "quantity is empty");
    for (const struct yaml_node *n = list ? node->first : node; n; n = list ? n->next : NULL) {
        size_t q;
        if (!yaml_choice(r->doc, n, "quantity", names, &q, r->e))
            return false;
        if (chosen[q])
            return yaml_fail(r->doc, n, 0, r->e, "quantity: the same twice");
        chosen[q] = true;
    }
    return true;
}

/* [least, most], integers. */
static bool percent(const struct reader *r, const struct yaml_node *node, struct counter_explanation *x) {
    int64_t least, most;
    if (!yaml_expect(r->doc, node, YAML_SEQUENCE, "percent", r->e))
        return false;
    if (node->count != 2)
        return yaml_fail(r->doc, node, 0, r->e, "percent: want [least, most]");
    if (!yaml_integer(r->doc, node->first, "percent", -100, 1000000, &least, r->e) ||
        !yaml_integer(r->doc, node->first->next, "percent", least, 1000000, &most, r->e))
        return false;
    if (!least && !most)
        return yaml_fail(r->doc, node, 0, r->e, "percent: [0, 0] is no difference");
    x->least = (double)least;
    x->most = (double)most;
    return true;
}

/* FILE:LINE. */
static bool is_line(const char *text) {
    const char *colon = strrchr(text, ':');
    return colon && colon > text && isdigit((unsigned char)colon[1]) && colon[1] != '0' &&
           colon[1 + strspn(colon + 1, "0123456789")] == 0;
}

static bool lines(const struct reader *r, const struct yaml_node *node, struct counter_explanation *x) {
    if (!texts(r, node, "lines", &x->lines, &x->line_count))
        return false;
    for (size_t i = 0; i < x->line_count; ++i)
        if (!is_line(x->lines[i]))
            return yaml_fail(r->doc, node, 0, r->e, "lines: want FILE:LINE, as gpu/kernels/x.cu:12");
    return true;
}

/* Names have values of a launch only; what has none is refused here where it is 0. */
static bool difference_of(const struct reader *r, const struct yaml_node *node, struct counter_explanation *x) {
    const struct shape none = {NULL, 0};
    struct error ignored;
    int64_t value;
    return (x->difference = expr_read(r->doc, node, "difference", r->e)) &&
           (!expr_eval(x->difference, &none, &value, &ignored) || value ||
            expr_fail(x->difference, r->e, "difference is 0: a reason explains what differs"));
}

static bool read_one(const struct reader *r, const struct yaml_node *map, struct counter_explanation *x) {
    static const char *const keys[] = {"kernel", "quantity", "entry", "difference", "percent", "why", "lines", NULL};
    const struct yaml_node *kernel, *quantity, *why,
        *entry = yaml_get(map, "entry"), *difference = yaml_get(map, "difference"), *range = yaml_get(map, "percent"),
        *places = yaml_get(map, "lines");
    if (!yaml_expect(r->doc, map, YAML_MAPPING, "an explanation", r->e) ||
        !yaml_check_keys(r->doc, map, "an explanation", keys, r->e) ||
        !yaml_require(r->doc, map, "kernel", "an explanation", &kernel, r->e) ||
        !yaml_require(r->doc, map, "quantity", "an explanation", &quantity, r->e) ||
        !yaml_require(r->doc, map, "why", "an explanation", &why, r->e))
        return false;
    if (!difference == !range)
        return yaml_fail(r->doc, map, 0, r->e, "want either `difference`, an expression, or `percent`, [least, most]");
    struct place at = yaml_place(r->doc, map, 0);
    x->line = (size_t)at.line;
    place_free(&at);
    return texts(r, kernel, "kernel", &x->kernels, &x->kernel_count) && quantities(r, quantity, x->quantities) &&
           line_of_text(r, why, "why", MOST_WHY, &x->why) &&
           (!entry || line_of_text(r, entry, "entry", 200, &x->entry)) && (!places || lines(r, places, x)) &&
           (!range || percent(r, range, x)) && (!difference || difference_of(r, difference, x));
}

bool counter_explanations_read(const char *path, struct counter_explanations *x, struct error *e) {
    *x = (struct counter_explanations){.count = 0};
    struct yaml_doc *doc = yaml_open(path, e);
    const struct reader r = {doc, e};
    bool good = doc && yaml_expect(doc, doc->root, YAML_SEQUENCE, "the explanations", e);
    if (good && doc->root->count > MOST_ITEMS)
        good = yaml_fail(doc, doc->root, 0, e, "%zu explanations: at most %d", doc->root->count, MOST_ITEMS);
    if (good)
        x->items = must_calloc(doc->root->count + 1, sizeof *x->items);
    for (const struct yaml_node *n = good ? doc->root->first : NULL; good && n; n = n->next)
        good = read_one(&r, n, &x->items[x->count++]);
    yaml_close(doc);
    if (!good)
        counter_explanations_free(x);
    return good;
}

static void free_texts(char **list, size_t count) {
    for (size_t i = 0; i < count; ++i)
        free(list[i]);
    free(list);
}

void counter_explanations_free(struct counter_explanations *x) {
    for (size_t i = 0; i < x->count; ++i) {
        free_texts(x->items[i].kernels, x->items[i].kernel_count);
        free_texts(x->items[i].lines, x->items[i].line_count);
        free(x->items[i].entry);
        free(x->items[i].why);
        expr_free(x->items[i].difference);
    }
    free(x->items);
    *x = (struct counter_explanations){0};
}

const struct counter_explanation *counter_explained(const struct counter_explanations *x, const char *kernel,
                                                    const char *entry, size_t quantity) {
    for (size_t i = 0; i < x->count; ++i) {
        const struct counter_explanation *one = &x->items[i];
        bool fits = false;
        for (size_t k = 0; k < one->kernel_count; ++k)
            fits |= fnmatch(one->kernels[k], kernel, 0) == 0;
        if (fits && one->quantities[quantity] && (!one->entry || fnmatch(one->entry, entry, 0) == 0))
            return one;
    }
    return NULL;
}
