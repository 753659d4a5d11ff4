#include "plane_content.h"
#include "../ref/checked.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NAMES = 320 };

/* ---- names ---- */

struct scope { /* values of the names: indices first, then block and stage, then the shape */
    struct shape_value values[MOST_NAMES];
    struct shape shape;
};

static void add(struct scope *s, const char *name, int64_t value) {
    if (s->shape.count < MOST_NAMES)
        s->values[s->shape.count++] = (struct shape_value){name, value};
}

static void scope_open(struct scope *s) {
    s->shape = (struct shape){s->values, 0};
}

static void add_block(struct scope *s, const struct content *c, const uint32_t block[3]) {
    add(s, "bx", block[0]);
    add(s, "by", block[1]);
    add(s, "bz", block[2]);
    for (size_t i = 0; i < c->shape->count; i++)
        add(s, c->shape->values[i].name, c->shape->values[i].value);
}

/* ---- the whole ---- */

bool content_given(const struct spec *s) {
    bool given = false;
    for (size_t i = 0; i < s->plane_count; i++)
        given |= s->planes[i].content.dim_count > 0;
    return given;
}

static const struct spec_expr *place_of(const struct spec_value *v) {
    return v->at ? v->at : v->row;
}

static bool check_value(const struct content *c, const struct spec_value *v, struct error *e) {
    struct error why;
    return element_known(&c->elements, v, &why) || expr_fail(place_of(v), e, "%s", why.text);
}

static bool check_values(const struct content *c, struct error *e) {
    const struct spec *s = c->spec;
    for (size_t i = 0; i < s->plane_count; i++)
        for (size_t v = 0; v < s->planes[i].content.value_count; v++)
            if (!check_value(c, &s->planes[i].content.values[v], e))
                return false;
    for (int i = 0; i < 2 && s->mma.given; i++) {
        const struct spec_value *v = i ? &s->mma.b : &s->mma.a;
        if (!check_value(c, v, e))
            return false;
        if (element_size(&c->elements, v) != 1)
            return expr_fail(place_of(v), e, "mma: elements of 8 bits are compared, not of %zu",
                             8 * element_size(&c->elements, v));
    }
    return true;
}

static bool is_one_of(const char *name, const char *const *names) {
    while (*names && strcmp(*names, name))
        names++;
    return *names;
}

/* A name of the shape that is an index as well would be hidden by it. */
static bool check_names(const struct content *c, struct error *e) {
    static const char *const stage[] = {"s", "bx", "by", "bz", NULL}, *const mma[] = {"m",  "n",  "k",  "i", "warp",
                                                                                      "bx", "by", "bz", NULL};
    const struct spec *s = c->spec;
    for (size_t v = 0; v < c->shape->count; v++) {
        const char *name = c->shape->values[v].name;
        const struct spec_expr *hidden = s->mma.given && is_one_of(name, mma) ? place_of(&s->mma.a) : NULL;
        for (size_t i = 0; i < s->plane_count && !hidden; i++) {
            const struct spec_content *x = &s->planes[i].content;
            for (size_t d = 0; d < x->dim_count && !hidden; d++)
                hidden = !strcmp(name, x->dims[d].name) || is_one_of(name, stage) ? x->dims[d].count : NULL;
        }
        if (hidden)
            return expr_fail(hidden, e, "'%s' is a name of the shape and of an index here: the shape's needs another",
                             name);
    }
    return true;
}

bool content_open(const struct bound *b, const struct operands *operands, struct content *c, struct error *e) {
    *c = (struct content){.spec = b->spec, .launch = &b->launch, .shape = &b->shape};
    if (elements_open(b->spec, operands, &b->launch, &c->elements, e) && check_values(c, e) && check_names(c, e))
        return true;
    content_free(c);
    return false;
}

void content_free(struct content *c) {
    elements_free(&c->elements);
    *c = (struct content){0};
}

bool content_stages(const struct content *c, uint64_t *count, struct error *e) {
    int64_t value = 1;
    if (c->spec->stages.count && !spec_eval_within(c->spec->stages.count, c->shape, 1, INT32_MAX, &value, e))
        return false;
    *count = (uint64_t)value;
    return true;
}

bool content_full_at(const struct content *c, const uint32_t block[3], uint64_t stage, uint64_t *barrier,
                     struct error *e) {
    struct scope names;
    int64_t value = (int64_t)stage;
    scope_open(&names);
    add(&names, "s", (int64_t)stage);
    add_block(&names, c, block);
    if (c->spec->stages.full_at && !spec_eval_within(c->spec->stages.full_at, &names.shape, 0, INT64_MAX, &value, e))
        return false;
    *barrier = (uint64_t)value;
    return true;
}

/* ---- planes ---- */

struct kept { /* an expression and its value, which stays as long as no index that it uses changes */
    const struct spec_expr *x;
    int last; /* the last of the dims that it uses, -1: none */
    int64_t value;
};

struct walk { /* over the cells of a plane */
    const struct content *c;
    const struct spec_plane *plane;
    const struct spec_content *content;
    struct scope names;
    size_t dims;
    int64_t count[PLANE_DIMS], stride[PLANE_DIMS];
    struct kept row[PLANE_VALUES], k[PLANE_VALUES], at[PLANE_VALUES], when;
    size_t cells;
};

static struct kept keep(const struct walk *w, const struct spec_expr *x) {
    struct kept k = {.x = x, .last = -1};
    for (size_t d = 0; x && d < w->dims; d++)
        if (expr_uses(x, w->content->dims[d].name))
            k.last = (int)d;
    return k;
}

/* changed: the first dim whose index is another one than before. */
static bool renew(const struct walk *w, struct kept *k, int changed, struct error *e) {
    return !k->x || (changed > k->last && changed > 0) || expr_eval(k->x, &w->names.shape, &k->value, e);
}

/* Everything but the values: the sizes, and the names with all indices 0. */
static bool walk_open(struct walk *w, const struct content *c, size_t plane, const uint32_t block[3], uint64_t stage,
                      struct error *e) {
    w->c = c;
    w->plane = &c->spec->planes[plane];
    w->content = &w->plane->content;
    w->dims = w->content->dim_count;
    w->cells = 1;
    scope_open(&w->names);
    for (size_t d = 0; d < w->dims; d++)
        add(&w->names, w->content->dims[d].name, 0);
    add(&w->names, "s", (int64_t)stage);
    add_block(&w->names, c, block);
    for (size_t d = 0; d < w->dims; d++) {
        const struct spec_dim *dim = &w->content->dims[d];
        if (!spec_eval_within(dim->count, c->shape, 1, INT32_MAX, &w->count[d], e) ||
            !spec_eval_within(dim->stride, c->shape, 0, INT32_MAX, &w->stride[d], e))
            return false;
        if (!size_mul(w->cells, (size_t)w->count[d], &w->cells) || w->cells > c->launch->planes[plane].bytes)
            return expr_fail(dim->count, e, "plane %s has more cells than its %zu bytes", w->plane->name,
                             c->launch->planes[plane].bytes);
    }
    for (size_t v = 0; v < w->content->value_count; v++) {
        w->row[v] = keep(w, w->content->values[v].row);
        w->k[v] = keep(w, w->content->values[v].k);
        w->at[v] = keep(w, w->content->values[v].at);
    }
    w->when = keep(w, w->content->when);
    return true;
}

static bool renew_all(struct walk *w, int changed, struct error *e) {
    bool good = renew(w, &w->when, changed, e);
    for (size_t v = 0; good && v < w->content->value_count; v++)
        good = renew(w, &w->row[v], changed, e) && renew(w, &w->k[v], changed, e) && renew(w, &w->at[v], changed, e);
    return good;
}

static char *indices_text(const struct walk *w) {
    char *text = must_strdup("");
    for (size_t d = 0; d < w->dims; d++) {
        char *longer =
            must_format("%s%s%s %" PRId64, text, d ? ", " : "", w->names.values[d].name, w->names.values[d].value);
        free(text);
        text = longer;
    }
    return text;
}

/* "FILE:...: plane P at (t 5, b 1): WHY" */
static bool cell_fail(const struct walk *w, const struct spec_expr *x, struct error *e, const char *why) {
    char *indices = indices_text(w);
    expr_fail(x, e, "plane %s at (%s): %s", w->plane->name, indices, why);
    free(indices);
    return false;
}

static bool place_value(const struct walk *w, struct plane_image *image, size_t cell, size_t v, size_t *at,
                        struct error *e) {
    const struct spec_value *value = &w->content->values[v];
    const struct spec_dim *last = &w->content->dims[w->dims - 1];
    const size_t size = element_size(&w->c->elements, value);
    uint8_t bytes[8];
    if (*at > image->bytes || size > image->bytes - *at)
        return cell_fail(w, last->stride, e, "the cell does not lie in the plane");
    const bool exists = element_bytes(&w->c->elements, value, w->row[v].value, w->k[v].value, w->at[v].value, bytes);
    if (!exists && value->outside == OUTSIDE_ERROR) {
        char *text = element_text(value, w->row[v].value, w->k[v].value, w->at[v].value);
        char *why = must_format("there is no %s; `outside` says what stands for it", text);
        cell_fail(w, value->at ? value->at : value->row, e, why);
        free(text), free(why);
        return false;
    }
    for (size_t i = 0; i < size; i++, ++*at) {
        if (image->byte[*at].cell)
            return cell_fail(w, last->stride, e, "the cell shares a byte with another one: the strides are too small");
        image->byte[*at] = (struct plane_byte){exists || value->outside == OUTSIDE_ZERO ? (uint32_t)cell + 1 : 0,
                                               (uint8_t)v, (uint8_t)i};
        image->want[*at] = bytes[i];
    }
    return true;
}

bool plane_image_make(const struct content *c, size_t plane, const uint32_t block[3], uint64_t stage,
                      struct plane_image *image, struct error *e) {
    struct walk w;
    image->bytes = c->launch->planes[plane].bytes;
    if (!c->spec->planes[plane].content.dim_count)
        return true;
    if (!image->want) {
        image->want = must_calloc(image->bytes, 1);
        image->byte = must_calloc(image->bytes, sizeof *image->byte);
    }
    memset(image->byte, 0, image->bytes * sizeof *image->byte);
    if (!walk_open(&w, c, plane, block, stage, e))
        return false;
    int changed = 0; /* all of them */
    for (size_t cell = 0; cell < w.cells; cell++) {
        size_t at = 0;
        if (!renew_all(&w, changed, e))
            return false;
        for (size_t d = 0; d < w.dims; d++)
            at += (size_t)w.names.values[d].value * (size_t)w.stride[d];
        for (size_t v = 0; v < w.content->value_count && (!w.when.x || w.when.value); v++)
            if (!place_value(&w, image, cell, v, &at, e))
                return false;
        changed = (int)w.dims - 1;
        while (changed >= 0 && ++w.names.values[changed].value == w.count[changed])
            w.names.values[changed--].value = 0;
    }
    return true;
}

void plane_image_free(struct plane_image *image) {
    free(image->want);
    free(image->byte);
    *image = (struct plane_image){0};
}

/* The walk stands at the cell of the byte. */
static bool walk_to(struct walk *w, const struct content *c, size_t plane, const uint32_t block[3], uint64_t stage,
                    struct plane_byte byte) {
    struct error e;
    if (!byte.cell || !walk_open(w, c, plane, block, stage, &e))
        return false;
    size_t cell = byte.cell - 1;
    for (size_t d = w->dims; d-- > 0; cell /= (size_t)w->count[d])
        w->names.values[d].value = (int64_t)(cell % (size_t)w->count[d]);
    return renew_all(w, 0, &e);
}

bool plane_element_at(const struct content *c, size_t plane, const uint32_t block[3], uint64_t stage,
                      struct plane_byte byte, int64_t *row, int64_t *k) {
    struct walk w;
    if (!walk_to(&w, c, plane, block, stage, byte) || !w.content->values[byte.value].row)
        return false;
    *row = w.row[byte.value].value;
    *k = w.k[byte.value].value;
    return true;
}

char *plane_element_text(const struct content *c, size_t plane, const uint32_t block[3], uint64_t stage,
                         struct plane_byte byte) {
    struct walk w;
    if (!walk_to(&w, c, plane, block, stage, byte))
        return must_strdup("padding");
    const size_t v = byte.value;
    return element_text(&w.content->values[v], w.row[v].value, w.k[v].value, w.at[v].value);
}

char *plane_index_text(const struct content *c, size_t plane, const uint32_t block[3], uint64_t stage,
                       struct plane_byte byte) {
    struct walk w;
    return walk_to(&w, c, plane, block, stage, byte) ? indices_text(&w) : must_strdup("padding");
}

/* ---- mma ---- */

static bool put_element(const struct content *c, const struct spec_value *v, int64_t at, unsigned line, unsigned depth,
                        struct mma_operand *out, struct error *e) {
    uint8_t bytes[8];
    const bool exists = element_bytes(&c->elements, v, out->row[line], out->k[depth], at, bytes);
    out->exists[line][depth] = exists || v->outside == OUTSIDE_ZERO;
    out->want[line][depth] = bytes[0];
    if (exists || v->outside != OUTSIDE_ERROR)
        return true;
    char *text = element_text(v, out->row[line], out->k[depth], at);
    expr_fail(v->at ? v->at : v->row, e, "mma: there is no %s; `outside` says what stands for it", text);
    free(text);
    return false;
}

/* names.values[0]: the line, m of A or n of B; [1]: k. */
static bool make_operand(const struct content *c, const struct spec_value *v, struct scope *names, unsigned lines,
                         unsigned depths, struct mma_operand *out, struct error *e) {
    for (unsigned l = 0; v->row && l < lines; l++) {
        names->values[0].value = l;
        names->values[1].value = 0;
        if (!expr_eval(v->row, &names->shape, &out->row[l], e))
            return false;
    }
    for (unsigned d = 0; v->k && d < depths; d++) {
        names->values[0].value = 0;
        names->values[1].value = d;
        if (!expr_eval(v->k, &names->shape, &out->k[d], e))
            return false;
    }
    for (unsigned l = 0; l < lines; l++)
        for (unsigned d = 0; d < depths; d++) {
            names->values[0].value = l;
            names->values[1].value = d;
            if ((v->at && !expr_eval(v->at, &names->shape, &out->at[l][d], e)) ||
                !put_element(c, v, out->at[l][d], l, d, out, e))
                return false;
        }
    return true;
}

bool mma_content_make(const struct content *c, const uint32_t block[3], uint32_t warp, uint64_t i, unsigned m,
                      unsigned n, unsigned k, struct mma_content *out, struct error *e) {
    const struct spec_mma *s = &c->spec->mma;
    struct scope names;
    scope_open(&names);
    add(&names, "m", 0);
    add(&names, "k", 0);
    add(&names, "i", (int64_t)i);
    add(&names, "warp", warp);
    add_block(&names, c, block);
    memset(out, 0, sizeof *out);
    out->from = -1;
    if (!make_operand(c, &s->a, &names, m, k, &out->a, e))
        return false;
    names.values[0].name = "n";
    return make_operand(c, &s->b, &names, n, k, &out->b, e) &&
           (!s->from || spec_eval_within(s->from, &names.shape, 0, INT64_MAX, &out->from, e));
}
