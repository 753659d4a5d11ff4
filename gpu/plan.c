#include "plan.h"
#include "../ref/activation.h"
#include "../ref/checked.h"
#include "../ref/format.h"
#include "../ref/rcp_approx.h"
#include "bind.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_ROWS = 256 };

struct planner {
    struct plan *plan;
    const char *root;
    struct error *e;
};

/* ---- reading ---- */

static bool read_kernel(const struct planner *r, const struct yaml_node *node, struct plan_row *row) {
    const struct yaml_doc *doc = r->plan->doc;
    const char *name;
    if (!yaml_string(doc, node, "kernel", &name, r->e))
        return false;
    if (strchr(name, '/') || name[0] == '.')
        return yaml_fail(doc, node, 0, r->e, "kernel: %s is not the name of a kernel", quote(name).text);
    char *path = strcmp(r->root, ".") ? must_format("%s/gpu/kernels/%s.yaml", r->root, name)
                                      : must_format("gpu/kernels/%s.yaml", name);
    struct stat st;
    if (stat(path, &st))
        yaml_fail(doc, node, 0, r->e, "there is no kernel %s: no file %s", quote(name).text, path);
    else
        row->spec = spec_load(path, r->root, r->e);
    free(path);
    if (!row->spec)
        return false;
    if (!row->spec->contract || row->spec->operands_in_files)
        return yaml_fail(doc, node, 0, r->e, "kernel %s has %s", name,
                         row->spec->contract ? "its operands in files" : "no contract");
    row->contract = contract_named(row->spec->contract);
    return true;
}

static bool read_contract(const struct planner *r, const struct yaml_node *node, bool product, struct plan_row *row) {
    const char *name;
    if (!yaml_string(r->plan->doc, node, "contract", &name, r->e))
        return false;
    if (product && !strcmp(name, "plain"))
        return true;
    row->contract = contract_named(name);
    return row->contract || yaml_fail(r->plan->doc, node, 0, r->e, "there is no contract %s (warpproof list contracts)",
                                      quote(name).text);
}

/* A quantiser makes the row's format out of f32; a product multiplies it and gives f32. */
static bool fits_format(const struct planner *r, bool product, const struct plan_row *row) {
    const struct contract *c = row->contract;
    const bool fits = product ? !c || (c->weight && !strcmp(c->weight, row->format) && !strcmp(c->result, "f32"))
                              : !c->weight && !strcmp(c->activation, "f32") && !strcmp(c->result, row->format);
    return fits || yaml_fail(r->plan->doc, row->node, 0, r->e, "contract %s does not %s %s", c->name,
                             product ? "multiply" : "make", row->format);
}

static bool read_row(const struct planner *r, const struct yaml_node *node, bool product, struct plan_row *row) {
    static const char *const product_keys[] = {"format", "when", "kernel", "contract", NULL};
    static const char *const quantiser_keys[] = {"format", "kernel", "contract", NULL};
    const struct yaml_doc *doc = r->plan->doc;
    const char *what = product ? "a product" : "a quantiser", *format;
    const struct yaml_node *value;
    row->node = node;
    if (!yaml_expect(doc, node, YAML_MAPPING, what, r->e) ||
        !yaml_check_keys(doc, node, what, product ? product_keys : quantiser_keys, r->e) ||
        !yaml_require(doc, node, "format", what, &value, r->e) || !yaml_string(doc, value, "format", &format, r->e))
        return false;
    if (product ? !format_named(format) : !activation_named(format))
        return yaml_fail(doc, value, 0, r->e, "there is no %s format %s (warpproof list formats)",
                         product ? "weight" : "activation", quote(format).text);
    row->format = must_strdup(format);
    const struct yaml_node *when = yaml_get(node, "when"), *kernel = yaml_get(node, "kernel"),
                           *contract = yaml_get(node, "contract");
    if (when && !(row->when = expr_read(doc, when, "when", r->e)))
        return false;
    static const char *const names[] = {"nt", "od", "id"};
    if (row->when) { /* a name that is none is an error now, not when it is met */
        struct shape_value values[3];
        for (size_t i = 0; i < 3; i++)
            values[i] = (struct shape_value){names[i], 1};
        const struct shape shape = {values, 3};
        int64_t ignored;
        if (!expr_eval(row->when, &shape, &ignored, r->e))
            return false;
    }
    if (!kernel == !contract)
        return yaml_fail(doc, node, 0, r->e, "%s names a kernel or a contract, %s", what,
                         kernel ? "not both" : "and this one neither");
    return (kernel ? read_kernel(r, kernel, row) : read_contract(r, contract, product, row)) &&
           fits_format(r, product, row);
}

static bool read_rows(const struct planner *r, const char *key, bool product, struct plan_row **rows, size_t *count) {
    const struct yaml_doc *doc = r->plan->doc;
    const struct yaml_node *list;
    if (!yaml_require(doc, doc->root, key, "a plan", &list, r->e) || !yaml_expect(doc, list, YAML_SEQUENCE, key, r->e))
        return false;
    if (list->count > MOST_ROWS)
        return yaml_fail(doc, list, 0, r->e, "%s: more than %d rows", key, MOST_ROWS);
    *rows = must_calloc(list->count + 1, sizeof **rows);
    for (const struct yaml_node *n = list->first; n; n = n->next)
        if (!read_row(r, n, product, &(*rows)[(*count)++]))
            return false;
    return true;
}

static struct plan_row *quantiser_of(const struct plan *p, const struct contract *c) {
    for (size_t i = 0; i < p->quantiser_count; i++)
        if (!strcmp(p->quantisers[i].format, c->activation))
            return &p->quantisers[i];
    return NULL;
}

static bool read_plan(const struct planner *r) {
    static const char *const keys[] = {"plan", "about", "quantisers", "products", NULL};
    struct plan *p = r->plan;
    const struct yaml_node *node, *about = yaml_get(p->doc->root, "about");
    const char *name;
    if (!yaml_expect(p->doc, p->doc->root, YAML_MAPPING, "a plan", r->e) ||
        !yaml_check_keys(p->doc, p->doc->root, "a plan", keys, r->e) ||
        !yaml_require(p->doc, p->doc->root, "plan", "a plan", &node, r->e) ||
        !yaml_string(p->doc, node, "plan", &name, r->e))
        return false;
    p->name = must_strdup(name);
    if (about && !yaml_string(p->doc, about, "about", &name, r->e))
        return false;
    if (!read_rows(r, "quantisers", false, &p->quantisers, &p->quantiser_count) ||
        !read_rows(r, "products", true, &p->products, &p->product_count))
        return false;
    for (size_t i = 0; i < p->product_count; i++) {
        const struct plan_row *row = &p->products[i];
        if (row->contract && !quantiser_of(p, row->contract))
            return yaml_fail(p->doc, row->node, 0, r->e,
                             "contract %s takes activations in %s, which no quantiser makes", row->contract->name,
                             row->contract->activation);
    }
    return true;
}

struct plan *plan_load(const char *path, const char *root, struct error *e) {
    struct plan *p = must_calloc(1, sizeof *p);
    p->path = must_strdup(path);
    p->doc = yaml_open(path, e);
    const struct planner r = {p, root, e};
    if (p->doc && read_plan(&r))
        return p;
    plan_free(p);
    return NULL;
}

static void free_rows(struct plan_row *rows, size_t count) {
    for (size_t i = 0; i < count; i++) {
        free(rows[i].format);
        expr_free(rows[i].when);
        ptx_free(rows[i].module);
        spec_free(rows[i].spec);
    }
    free(rows);
}

void plan_free(struct plan *p) {
    if (!p)
        return;
    free_rows(p->quantisers, p->quantiser_count);
    free_rows(p->products, p->product_count);
    yaml_close(p->doc);
    free(p->path);
    free(p->name);
    free(p);
}

/* ---- serving ---- */

struct request {
    const struct plan *plan;
    const struct gguf_tensor *tensor;
    struct shape_value values[3];
    struct error *e;
};

static bool refuse(const struct request *r, const char *why) {
    return fail(r->e, "tensor %s (%s, nt = %lld, od = %lld, id = %lld): %s", quote(r->tensor->name).text,
                r->tensor->type_name, (long long)r->values[0].value, (long long)r->values[1].value,
                (long long)r->values[2].value, why);
}

__attribute__((format(printf, 2, 3))) static bool refuse_because(const struct request *r, const char *format, ...) {
    char *why;
    va_list args;
    va_start(args, format);
    if (vasprintf(&why, format, args) < 0)
        why = NULL;
    va_end(args);
    refuse(r, why ? why : format);
    free(why);
    return false;
}

/* The row's contract takes the shape; with `kernels` so does its kernel, whose program is loaded. */
static bool row_serves(const struct request *r, struct plan_row *row, bool kernels) {
    const struct contract *c = row->contract;
    if (c && (size_t)r->values[2].value % c->depth_multiple)
        return refuse_because(r, "contract %s needs a depth that is a multiple of %zu", c->name, c->depth_multiple);
    if (c && c->rcp_table && !rcp_approx_measured())
        return refuse_because(r, "the bits of contract %s need the measured reciprocal, which is not there", c->name);
    if (!kernels)
        return true;
    if (!row->spec)
        return refuse_because(r, "%s has no kernel for it, only the reference", r->plan->path);
    const struct shape shape = {r->values, 3};
    char *unmet;
    if (!bind_needs(row->spec, &shape, &unmet, r->e))
        return false;
    if (unmet) {
        refuse(r, unmet);
        free(unmet);
        return false;
    }
    return row->module || (row->module = spec_module(row->spec, r->e));
}

bool plan_serve(struct plan *p, const struct gguf_tensor *tensor, size_t nt, bool kernels, struct plan_choice *c,
                struct error *e) {
    const struct request r = {
        p, tensor, {{"nt", (int64_t)nt}, {"od", (int64_t)tensor->rows}, {"id", (int64_t)tensor->extent[0]}}, e};
    const struct shape shape = {r.values, 3};
    *c = (struct plan_choice){0};
    for (size_t i = 0; i < p->product_count && !c->product; i++) {
        struct plan_row *row = &p->products[i];
        int64_t holds = 1;
        if (strcmp(row->format, tensor->type_name))
            continue;
        if (row->when && !expr_eval(row->when, &shape, &holds, e))
            return false;
        c->product = holds ? row : NULL;
    }
    if (!c->product)
        return refuse_because(&r, "no row of %s serves it", p->path);
    if (!row_serves(&r, c->product, kernels))
        return false;
    if (!c->product->contract)
        return true;
    c->quantise = quantiser_of(p, c->product->contract);
    return row_serves(&r, c->quantise, kernels);
}
