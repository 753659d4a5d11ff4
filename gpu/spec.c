#include "spec.h"
#include "../ref/checked.h"
#include "spec_read.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- words, names and paths ---- */

static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
static const char digits[] = "0123456789";

bool read_word(const struct reader *r, const struct yaml_node *node, const char *what, const char *extra,
               bool digit_first, char **out) {
    const char *text = NULL;
    if (!yaml_string(r->doc, node, what, &text, r->e))
        return false;
    size_t n = 0, length = strlen(text);
    while (n < length && (strchr(letters, text[n]) || strchr(digits, text[n]) || strchr(extra, text[n])))
        n++;
    if (n < length || length > MAX_WORD || (!digit_first && strchr(digits, text[0])) || text[0] == '.' ||
        text[0] == '-')
        return yaml_fail(r->doc, node, 0, r->e, "%s: %s is not a name (letters, digits, %s; %sat most %d characters)",
                         what, quote(text).text, extra, digit_first ? "" : "no digit first; ", MAX_WORD);
    *out = must_strdup(text);
    return true;
}

bool read_path(const struct reader *r, const struct yaml_node *node, const char *what, char **out) {
    const char *text = NULL, *end = strrchr(r->s->path, '/');
    if (!yaml_string(r->doc, node, what, &text, r->e))
        return false;
    if (strchr(text, '\n'))
        return yaml_fail(r->doc, node, 0, r->e, "%s: a path stands on one line", what);
    *out = must_format("%.*s%s", text[0] == '/' || !end ? 0 : (int)(end - r->s->path + 1), r->s->path, text);
    return true;
}

bool read_expr(const struct reader *r, const struct yaml_node *map, const char *key, const char *what,
               struct spec_expr **out) {
    const struct yaml_node *node = yaml_get(map, key);
    return !node || (*out = expr_read(r->doc, node, what, r->e));
}

bool read_list(const struct reader *r, const struct yaml_node *node, enum yaml_kind kind, const char *what,
               size_t most) {
    if (!yaml_expect(r->doc, node, kind, what, r->e))
        return false;
    return node->count <= most || yaml_fail(r->doc, node, 0, r->e, "%s: more than %zu entries", what, most);
}

/* ---- the other sections ---- */

static bool read_dimensions(const struct reader *r, const struct yaml_node *launch, const char *key, const char *what,
                            struct spec_expr *out[3]) {
    const struct yaml_node *list;
    size_t d = 0;
    if (!yaml_require(r->doc, launch, key, "launch", &list, r->e) ||
        !yaml_expect(r->doc, list, YAML_SEQUENCE, what, r->e))
        return false;
    if (list->count < 1 || list->count > 3)
        return yaml_fail(r->doc, list, 0, r->e, "%s has 1 to 3 dimensions, not %zu", what, list->count);
    for (const struct yaml_node *n = list->first; n; n = n->next)
        if (!(out[d++] = expr_read(r->doc, n, what, r->e)))
            return false;
    return true;
}

bool read_launch(const struct reader *r, const struct yaml_node *launch) {
    static const char *const keys[] = {"grid", "block", "shared", "steps", NULL};
    return yaml_check_keys(r->doc, launch, "launch", keys, r->e) &&
           read_dimensions(r, launch, "grid", "launch.grid", r->s->grid) &&
           read_dimensions(r, launch, "block", "launch.block", r->s->block) &&
           read_expr(r, launch, "shared", "launch.shared", &r->s->shared) &&
           read_expr(r, launch, "steps", "launch.steps", &r->s->steps);
}

static bool read_needs(const struct reader *r, const struct yaml_node *list) {
    if (!read_list(r, list, YAML_SEQUENCE, "needs", MAX_LIST))
        return false;
    r->s->needs = must_calloc(list->count, sizeof *r->s->needs);
    for (const struct yaml_node *n = list->first; n; n = n->next)
        if (!(r->s->needs[r->s->need_count++] = expr_read(r->doc, n, "needs", r->e)))
            return false;
    return true;
}

bool read_counts(const struct reader *r, const struct yaml_node *map) {
    if (!read_list(r, map, YAML_MAPPING, "counts", MAX_LIST))
        return false;
    r->s->counts = must_calloc(map->count, sizeof *r->s->counts);
    for (const struct yaml_node *key = map->first; key; key = key->next) {
        struct spec_count *count = &r->s->counts[r->s->count_count++];
        if (!read_word(r, key, "counts", "_.", false, &count->name) ||
            !(count->value = expr_read(r->doc, key->value, key->text, r->e)))
            return false;
    }
    return true;
}

static bool read_shape(const struct reader *r, const struct yaml_node *map) {
    if (!read_list(r, map, YAML_MAPPING, "shape", MAX_LIST))
        return false;
    r->s->defaults = must_calloc(map->count, sizeof *r->s->defaults);
    for (const struct yaml_node *key = map->first; key; key = key->next) {
        struct shape_value *v = &r->s->defaults[r->s->default_count];
        if (!expr_is_name(key->text))
            return yaml_fail(r->doc, key, 0, r->e,
                             "shape: %s cannot be a name: a-z, 0-9 and _, no word of the "
                             "expressions",
                             quote(key->text).text);
        if (!yaml_integer(r->doc, key->value, key->text, INT64_MIN, INT64_MAX, &v->value, r->e))
            return false;
        v->name = must_strdup(key->text);
        r->s->default_count++;
    }
    return true;
}

/* Exactly one of source and ptx; ptx is known either way. */
static bool read_program(const struct reader *r, const char *root) {
    const struct yaml_node *source = yaml_get(r->doc->root, "source"), *ptx = yaml_get(r->doc->root, "ptx"),
                           *cubin = yaml_get(r->doc->root, "cubin");
    if (!source == !ptx)
        return yaml_fail(r->doc, source ? ptx : r->doc->root, 0, r->e,
                         source ? "either source or ptx, not both"
                                : "the launch file needs the key 'source' (a .cu of ours) or 'ptx' (a PTX file)");
    if (cubin && !ptx)
        return yaml_fail(r->doc, cubin, 0, r->e, "cubin: goes with ptx, as the same program built for one GPU");
    if (cubin && !read_path(r, cubin, "cubin", &r->s->cubin))
        return false;
    if (ptx)
        return read_path(r, ptx, "ptx", &r->s->ptx);
    if (!read_word(r, source, "source", "_.-", true, &r->s->source))
        return false;
    size_t length = strlen(r->s->source);
    if (length < 4 || strcmp(r->s->source + length - 3, ".cu") != 0)
        return yaml_fail(r->doc, source, 0, r->e, "source: %s is not the name of a .cu file", quote(r->s->source).text);
    r->s->ptx = must_format("%s/fixtures/ptx/%.*s.ptx", root, (int)length - 3, r->s->source);
    return true;
}

static bool read_head(const struct reader *r, const char *root) {
    const struct yaml_node *map = r->doc->root, *kernel, *entry = yaml_get(map, "entry"),
                           *about = yaml_get(map, "about"), *contract = yaml_get(map, "contract"),
                           *rung = yaml_get(map, "rung"), *evidence = yaml_get(map, "evidence");
    static const char *const wanted[] = {"required", "optional", NULL};
    const char *text = NULL;
    size_t choice = 1;
    if (!yaml_require(r->doc, map, "kernel", "the launch file", &kernel, r->e) ||
        !read_word(r, kernel, "kernel", "_.-", true, &r->s->kernel) || !read_program(r, root))
        return false;
    if (about && !yaml_string(r->doc, about, "about", &text, r->e))
        return false;
    r->s->about = text ? must_strdup(text) : NULL;
    if (rung && !read_word(r, rung, "rung", "_.-", true, &r->s->rung))
        return false;
    if (evidence && !yaml_choice(r->doc, evidence, "evidence", wanted, &choice, r->e))
        return false;
    r->s->evidence_required = choice == 0;
    if (contract && !read_word(r, contract, "contract", "_", false, &r->s->contract))
        return false;
    if (entry) /* the identifiers of PTX */
        return read_word(r, entry, "entry", "_$%", false, &r->s->entry);
    r->s->entry = must_strdup(r->s->kernel);
    return true;
}

static bool read_all(const struct reader *r, const char *root) {
    static const char *const keys[] = {
        "kernel",  "about",  "source", "ptx", "cubin",  "entry", "contract", "split", "needs",     "launch",   "args",
        "buffers", "planes", "stages", "mma", "counts", "then",  "shape",    "rung",  "published", "evidence", NULL};
    static const struct {
        const char *key;
        bool (*read)(const struct reader *, const struct yaml_node *);
    } sections[] = {{"needs", read_needs},         {"launch", read_launch}, {"args", read_args},
                    {"buffers", read_buffers},     {"shape", read_shape},   {"planes", read_planes},
                    {"stages", read_stages},       {"mma", read_mma},       {"counts", read_counts},
                    {"published", read_published}, {"then", read_then}};
    const struct yaml_node *map = r->doc->root, *launch;
    if (!yaml_check_keys(r->doc, map, "a launch file", keys, r->e) || !read_head(r, root) ||
        !yaml_require(r->doc, map, "launch", "the launch file", &launch, r->e))
        return false;
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
        const struct yaml_node *node = yaml_get(map, sections[i].key);
        if (node && !sections[i].read(r, node))
            return false;
    }
    return link_buffers(r) && check_contract(r);
}

static struct spec *load(const char *path, struct yaml_doc *doc, const char *root, struct error *e) {
    if (!doc)
        return NULL;
    struct spec *s = must_calloc(1, sizeof *s);
    s->path = must_strdup(path);
    s->doc = doc;
    s->node = doc->root;
    if (read_all(&(struct reader){s, doc, e}, root))
        return s;
    spec_free(s);
    return NULL;
}

struct spec *spec_load(const char *path, const char *root, struct error *e) {
    return load(path, yaml_open(path, e), root, e);
}

struct spec *spec_load_text(const char *path, const char *text, const char *root, struct error *e) {
    return load(path, yaml_open_text(path, text, e), root, e);
}

void free_launch(struct spec *s) {
    for (size_t d = 0; d < 3; d++) {
        expr_free(s->grid[d]);
        expr_free(s->block[d]);
    }
    expr_free(s->shared);
    expr_free(s->steps);
    for (size_t i = 0; i < s->arg_count; i++)
        free_arg(&s->args[i]);
    free_planes(s);
    for (size_t i = 0; i < s->count_count; i++) {
        free(s->counts[i].name);
        expr_free(s->counts[i].value);
    }
    free(s->args);
    free(s->counts);
    free(s->entry);
}

void spec_free(struct spec *s) {
    if (!s)
        return;
    for (size_t i = 0; i < s->need_count; i++)
        expr_free(s->needs[i]);
    free_then(s);
    free_launch(s);
    free_published(s);
    for (size_t i = 0; i < s->declared_count; i++)
        free_arg(&s->declared[i]);
    for (size_t i = 0; i < s->default_count; i++)
        free((char *)s->defaults[i].name);
    char *const owned[] = {s->path, s->kernel, s->about, s->source, s->ptx, s->cubin, s->contract, s->rung};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        free(owned[i]);
    free(s->needs);
    free(s->declared);
    free(s->buffers);
    free(s->defaults);
    yaml_close(s->doc);
    free(s);
}

/* ---- evaluation ---- */

bool spec_eval(const struct spec_expr *x, const struct shape *shape, int64_t *value, struct error *e) {
    return expr_eval(x, shape, value, e);
}

bool spec_eval_within(const struct spec_expr *x, const struct shape *shape, int64_t min, int64_t max, int64_t *value,
                      struct error *e) {
    if (!expr_eval(x, shape, value, e))
        return false;
    if (*value < min || *value > max)
        return expr_fail(x, e, "the value %lld is not in %lld .. %lld", (long long)*value, (long long)min,
                         (long long)max);
    return true;
}

const char *spec_expr_text(const struct spec_expr *x) {
    return expr_text(x);
}

bool spec_needs(const struct spec *s, const struct shape *shape, const char **unmet, struct error *e) {
    *unmet = NULL;
    for (size_t i = 0; i < s->need_count && !*unmet; i++) {
        int64_t value;
        if (!expr_eval(s->needs[i], shape, &value, e))
            return false;
        if (!value)
            *unmet = expr_text(s->needs[i]);
    }
    return true;
}

static bool any_uses(struct spec_expr *const *list, size_t count, const char *name) {
    for (size_t i = 0; i < count; i++)
        if (list[i] && expr_uses(list[i], name))
            return true;
    return false;
}

static bool arg_uses(const struct spec_arg *a, const char *name) {
    bool used = any_uses(&a->count, 1, name) || any_uses(&a->value, 1, name);
    for (size_t i = 0; i < a->field_count; i++)
        used |= arg_uses(&a->fields[i], name);
    return used;
}

bool spec_uses(const struct spec *s, const char *name) {
    bool used = any_uses(s->needs, s->need_count, name) || any_uses(s->grid, 3, name) || any_uses(s->block, 3, name) ||
                any_uses(&s->shared, 1, name) || any_uses(&s->steps, 1, name) || planes_use(s, name);
    for (size_t i = 0; i < s->arg_count; i++)
        used |= arg_uses(&s->args[i], name);
    for (size_t i = 0; i < s->declared_count; i++)
        used |= arg_uses(&s->declared[i], name);
    for (size_t i = 0; i < s->count_count; i++)
        used |= any_uses(&s->counts[i].value, 1, name);
    for (size_t i = 0; i < s->then_count; i++)
        used |= spec_uses(&s->then[i], name);
    return used;
}

struct ptx_module *spec_module(const struct spec *s, struct error *e) {
    const struct yaml_node *ptx = yaml_get(s->doc->root, "ptx");
    if (access(s->ptx, R_OK) == 0)
        return ptx_load(s->ptx, e);
    yaml_fail(s->doc, ptx ? ptx : yaml_get(s->doc->root, "source"), 0, e, "%s: %s", s->ptx, strerror(errno));
    return NULL;
}
