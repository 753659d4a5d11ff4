/* Reads planes, stages and mma of a launch file. */
#include "../ref/checked.h"
#include "spec_read.h"
#include <stdlib.h>
#include <string.h>

const char *const value_field_names[VALUE_FIELDS + 1] = {
    [VALUE_WEIGHT_Q] = "weight.q",
    [VALUE_WEIGHT_D] = "weight.d",
    [VALUE_WEIGHT_DMIN] = "weight.dmin",
    [VALUE_WEIGHT_SCALE] = "weight.scale",
    [VALUE_WEIGHT_MIN] = "weight.min",
    [VALUE_WEIGHT_DS] = "weight.ds",
    [VALUE_WEIGHT_DM] = "weight.dm",
    [VALUE_WEIGHT_BLOCK] = "weight.block",
    [VALUE_ACTIVATION_Q] = "activation.q",
    [VALUE_ACTIVATION_D] = "activation.d",
    [VALUE_ACTIVATION_SUM] = "activation.sum",
    [VALUE_ACTIVATION_BLOCK] = "activation.block",
    [VALUE_BUFFER] = "a plain buffer",
    NULL,
};
const size_t value_type_bytes[VALUE_TYPES] = {1, 1, 2, 2, 4, 4, 2, 4};
static const char *const type_names[] = {"i8", "u8", "i16", "u16", "i32", "u32", "f16", "f32", NULL};

static const enum value_type natural[VALUE_FIELDS] = {
    [VALUE_WEIGHT_Q] = VALUE_I8,      [VALUE_WEIGHT_D] = VALUE_F16,       [VALUE_WEIGHT_DMIN] = VALUE_F16,
    [VALUE_WEIGHT_SCALE] = VALUE_I8,  [VALUE_WEIGHT_MIN] = VALUE_I8,      [VALUE_WEIGHT_DS] = VALUE_F32,
    [VALUE_WEIGHT_DM] = VALUE_F32,    [VALUE_WEIGHT_BLOCK] = VALUE_U8,    [VALUE_ACTIVATION_Q] = VALUE_I8,
    [VALUE_ACTIVATION_D] = VALUE_F16, [VALUE_ACTIVATION_SUM] = VALUE_I16, [VALUE_ACTIVATION_BLOCK] = VALUE_U8,
};

static bool is_real(enum value_field f) {
    return f == VALUE_WEIGHT_D || f == VALUE_WEIGHT_DMIN || f == VALUE_WEIGHT_DS || f == VALUE_WEIGHT_DM ||
           f == VALUE_ACTIVATION_D;
}
static bool is_block(enum value_field f) {
    return f == VALUE_WEIGHT_BLOCK || f == VALUE_ACTIVATION_BLOCK;
}

/* ---- values ---- */

static const struct spec_arg *plain_buffer(const struct spec *s, const char *name) {
    for (size_t i = 0; i < s->buffer_count; i++)
        if ((s->buffers[i]->kind == ARG_IN || s->buffers[i]->kind == ARG_INOUT) && s->buffers[i]->count &&
            !strcmp(s->buffers[i]->name, name))
            return s->buffers[i];
    return NULL;
}

/* weight.q, or the name of a plain buffer that the kernel reads. */
static bool read_source(const struct reader *r, const struct yaml_node *node, struct spec_value *v) {
    const char *text;
    if (!yaml_string(r->doc, node, "value", &text, r->e))
        return false;
    for (int f = 0; f < VALUE_BUFFER; f++)
        if (!strcmp(text, value_field_names[f])) {
            v->field = (enum value_field)f;
            v->as = natural[f];
            return r->s->contract || yaml_fail(r->doc, node, 0, r->e, "value: %s needs a contract", text);
        }
    v->field = VALUE_BUFFER;
    if (!plain_buffer(r->s, text))
        return yaml_fail(r->doc, node, 0, r->e,
                         "value: %s is neither a field of an operand (weight.q d dmin scale min ds dm block, "
                         "activation.q d sum block) nor a plain buffer that goes in",
                         quote(text).text);
    v->buffer = must_strdup(text);
    return true;
}

static bool read_as(const struct reader *r, const struct yaml_node *node, struct spec_value *v) {
    size_t type;
    if (!node)
        return true;
    if (!yaml_choice(r->doc, node, "as", type_names, &type, r->e))
        return false;
    v->as = (enum value_type)type;
    const bool real = v->as >= VALUE_F16;
    if ((is_real(v->field) && !real) || (is_block(v->field) && real))
        return yaml_fail(r->doc, node, 0, r->e, "as: %s does not lie in memory as %s", value_field_names[v->field],
                         type_names[type]);
    return true;
}

static bool read_outside(const struct reader *r, const struct yaml_node *node, struct spec_value *v) {
    static const char *const choices[] = {"zero", "any", NULL};
    size_t which;
    if (!node)
        return true;
    if (!yaml_choice(r->doc, node, "outside", choices, &which, r->e))
        return false;
    v->outside = which ? OUTSIDE_ANY : OUTSIDE_ZERO;
    return true;
}

static bool need_expr(const struct reader *r, const struct yaml_node *map, const char *key, const char *what,
                      struct spec_expr **out) {
    const struct yaml_node *node;
    return yaml_require(r->doc, map, key, what, &node, r->e) && (*out = expr_read(r->doc, node, key, r->e));
}

static bool read_value(const struct reader *r, const struct yaml_node *map, const char *what, struct spec_value *v) {
    static const char *const plain[] = {"value", "at", "outside", NULL};
    static const char *const field[] = {"value", "row", "k", "as", "outside", NULL};
    static const char *const block[] = {"value", "row", "k", "at", "as", "outside", NULL};
    const struct yaml_node *value;
    if (!yaml_expect(r->doc, map, YAML_MAPPING, what, r->e) ||
        !yaml_require(r->doc, map, "value", what, &value, r->e) || !read_source(r, value, v))
        return false;
    const char *const *keys = v->field == VALUE_BUFFER ? plain : is_block(v->field) ? block : field;
    if (!yaml_check_keys(r->doc, map, what, keys, r->e) || !read_outside(r, yaml_get(map, "outside"), v))
        return false;
    if (v->field == VALUE_BUFFER)
        return need_expr(r, map, "at", what, &v->at);
    return need_expr(r, map, "row", what, &v->row) && need_expr(r, map, "k", what, &v->k) &&
           (!is_block(v->field) || need_expr(r, map, "at", what, &v->at)) && read_as(r, yaml_get(map, "as"), v);
}

static void free_value(struct spec_value *v) {
    free(v->buffer);
    expr_free(v->row);
    expr_free(v->k);
    expr_free(v->at);
}

/* ---- planes ---- */

/* A name that an index may not have, because it stands for something else in these expressions. */
static bool is_taken(const struct spec *s, const char *name) {
    static const char *const taken[] = {"nt", "od", "id", "bx", "by", "bz", "s", "tiles"};
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        if (!strcmp(name, taken[i]))
            return true;
    for (size_t i = 0; i < s->default_count; i++)
        if (!strcmp(name, s->defaults[i].name))
            return true;
    return false;
}

static bool read_dims(const struct reader *r, const struct yaml_node *dims, const struct yaml_node *strides,
                      struct spec_content *c) {
    if (!yaml_expect(r->doc, dims, YAML_MAPPING, "dims", r->e) ||
        !yaml_expect(r->doc, strides, YAML_SEQUENCE, "strides", r->e))
        return false;
    if (dims->count < 1 || dims->count > PLANE_DIMS)
        return yaml_fail(r->doc, dims, 0, r->e, "dims: 1 to %d indices, not %zu", PLANE_DIMS, dims->count);
    if (strides->count != dims->count)
        return yaml_fail(r->doc, strides, 0, r->e, "strides: %zu of them for %zu dims", strides->count, dims->count);
    const struct yaml_node *stride = strides->first;
    for (const struct yaml_node *key = dims->first; key; key = key->next, stride = stride->next) {
        struct spec_dim *d = &c->dims[c->dim_count];
        if (!expr_is_name(key->text) || is_taken(r->s, key->text))
            return yaml_fail(r->doc, key, 0, r->e, "dims: %s cannot name an index: %s", quote(key->text).text,
                             expr_is_name(key->text) ? "it stands for something else in these expressions"
                                                     : "a-z, 0-9 and _, no word of the expressions");
        c->dim_count++;
        d->name = must_strdup(key->text);
        if (!(d->count = expr_read(r->doc, key->value, "dims", r->e)) ||
            !(d->stride = expr_read(r->doc, stride, "strides", r->e)))
            return false;
    }
    return true;
}

static bool read_values(const struct reader *r, const struct yaml_node *node, struct spec_content *c) {
    if (node->kind != YAML_SEQUENCE) {
        c->value_count = 1;
        return read_value(r, node, "content", &c->values[0]);
    }
    if (node->count < 1 || node->count > PLANE_VALUES)
        return yaml_fail(r->doc, node, 0, r->e, "content: 1 to %d values a cell, not %zu", PLANE_VALUES, node->count);
    for (const struct yaml_node *n = node->first; n; n = n->next)
        if (!read_value(r, n, "content", &c->values[c->value_count++]))
            return false;
    return true;
}

/* dims, strides and content go together; when needs them. */
static bool read_content(const struct reader *r, const struct yaml_node *map, struct spec_content *c) {
    const struct yaml_node *dims = yaml_get(map, "dims"), *strides = yaml_get(map, "strides"),
                           *content = yaml_get(map, "content"), *when = yaml_get(map, "when");
    if (!dims && !strides && !content && !when)
        return true;
    if (!dims || !strides || !content)
        return yaml_fail(r->doc, map, 0, r->e, "dims, strides and content go together");
    return read_dims(r, dims, strides, c) && read_values(r, content, c) && read_expr(r, map, "when", "when", &c->when);
}

static bool read_plane(const struct reader *r, const struct yaml_node *map, struct spec_plane *plane) {
    static const char *const keys[] = {"name", "bytes", "row", "stride", "dims", "strides", "content", "when", NULL};
    const struct yaml_node *name, *bytes;
    if (!yaml_check_keys(r->doc, map, "a plane", keys, r->e) ||
        !yaml_require(r->doc, map, "name", "a plane", &name, r->e) ||
        !yaml_require(r->doc, map, "bytes", "a plane", &bytes, r->e) ||
        !read_word(r, name, "name", "_", false, &plane->name))
        return false;
    for (const struct spec_plane *other = r->s->planes; other < plane; other++)
        if (strcmp(other->name, plane->name) == 0)
            return yaml_fail(r->doc, name, 0, r->e, "two planes are called %s", quote(plane->name).text);
    if (!yaml_get(map, "row") != !yaml_get(map, "stride"))
        return yaml_fail(r->doc, map, 0, r->e, "row and stride go together");
    return (plane->bytes = expr_read(r->doc, bytes, "bytes", r->e)) && read_expr(r, map, "row", "row", &plane->row) &&
           read_expr(r, map, "stride", "stride", &plane->stride) && read_content(r, map, &plane->content);
}

bool read_planes(const struct reader *r, const struct yaml_node *list) {
    if (!read_list(r, list, YAML_SEQUENCE, "planes", MAX_LIST))
        return false;
    r->s->planes = must_calloc(list->count, sizeof *r->s->planes);
    for (const struct yaml_node *n = list->first; n; n = n->next)
        if (!read_plane(r, n, &r->s->planes[r->s->plane_count++]))
            return false;
    return true;
}

/* ---- stages and mma ---- */

bool read_stages(const struct reader *r, const struct yaml_node *map) {
    static const char *const keys[] = {"count", "full_at", NULL};
    return yaml_check_keys(r->doc, map, "stages", keys, r->e) &&
           read_expr(r, map, "count", "count", &r->s->stages.count) &&
           read_expr(r, map, "full_at", "full_at", &r->s->stages.full_at);
}

/* An element of a fragment is one of a row and of a depth, so that `row` is the same for all depths and `k` for all
 * rows. */
static bool read_fragment(const struct reader *r, const struct yaml_node *map, const char *key, const char *line,
                          struct spec_value *v) {
    const struct yaml_node *node;
    if (!yaml_require(r->doc, map, key, "mma", &node, r->e) || !read_value(r, node, key, v))
        return false;
    if (v->field != VALUE_WEIGHT_Q && v->field != VALUE_ACTIVATION_Q && v->field != VALUE_BUFFER)
        return yaml_fail(r->doc, node, 0, r->e, "%s: an mma multiplies weight.q, activation.q or a plain buffer", key);
    if (v->field == VALUE_BUFFER)
        return true;
    if (expr_uses(v->row, "k"))
        return expr_fail(v->row, r->e, "the row of an element does not depend on k");
    return !expr_uses(v->k, line) || expr_fail(v->k, r->e, "the k of an element does not depend on %s", line);
}

bool read_mma(const struct reader *r, const struct yaml_node *map) {
    static const char *const keys[] = {"a", "b", "from", NULL};
    struct spec_mma *m = &r->s->mma;
    m->given = true;
    return yaml_check_keys(r->doc, map, "mma", keys, r->e) && read_fragment(r, map, "a", "m", &m->a) &&
           read_fragment(r, map, "b", "n", &m->b) && read_expr(r, map, "from", "from", &m->from);
}

/* ---- the rest of a spec's life ---- */

void free_planes(struct spec *s) {
    for (size_t i = 0; i < s->plane_count; i++) {
        struct spec_plane *p = &s->planes[i];
        free(p->name);
        expr_free(p->bytes);
        expr_free(p->row);
        expr_free(p->stride);
        for (size_t d = 0; d < p->content.dim_count; d++) {
            free(p->content.dims[d].name);
            expr_free(p->content.dims[d].count);
            expr_free(p->content.dims[d].stride);
        }
        for (size_t v = 0; v < p->content.value_count; v++)
            free_value(&p->content.values[v]);
        expr_free(p->content.when);
    }
    free(s->planes);
    expr_free(s->stages.count);
    expr_free(s->stages.full_at);
    free_value(&s->mma.a);
    free_value(&s->mma.b);
    expr_free(s->mma.from);
}

static bool uses(const struct spec_expr *x, const char *name) {
    return x && expr_uses(x, name);
}

static bool value_uses(const struct spec_value *v, const char *name) {
    return uses(v->row, name) || uses(v->k, name) || uses(v->at, name);
}

bool planes_use(const struct spec *s, const char *name) {
    bool used = uses(s->stages.count, name) || uses(s->stages.full_at, name) || value_uses(&s->mma.a, name) ||
                value_uses(&s->mma.b, name) || uses(s->mma.from, name);
    for (size_t i = 0; i < s->plane_count; i++) {
        const struct spec_plane *p = &s->planes[i];
        used |= uses(p->bytes, name) || uses(p->row, name) || uses(p->stride, name) || uses(p->content.when, name);
        for (size_t d = 0; d < p->content.dim_count; d++)
            used |= uses(p->content.dims[d].count, name) || uses(p->content.dims[d].stride, name);
        for (size_t v = 0; v < p->content.value_count; v++)
            used |= value_uses(&p->content.values[v], name);
    }
    return used;
}
