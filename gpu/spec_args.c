#include "../ref/checked.h"
#include "../ref/contract.h"
#include "raw.h"
#include "spec_read.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct element {
    const char *name;
    size_t bytes;
    int64_t min, max; /* of an integer type; both 0: floating point */
};

static const struct element elements[] = {
    {"i8", 1, INT8_MIN, INT8_MAX},
    {"u8", 1, 0, UINT8_MAX},
    {"i16", 2, INT16_MIN, INT16_MAX},
    {"u16", 2, 0, UINT16_MAX},
    {"i32", 4, INT32_MIN, INT32_MAX},
    {"u32", 4, 0, UINT32_MAX},
    {"i64", 8, INT64_MIN, INT64_MAX},
    {"u64", 8, 0, INT64_MAX},
    {"f16", 2, 0, 0},
    {"bf16", 2, 0, 0},
    {"f32", 4, 0, 0},
    {"f64", 8, 0, 0},
};
static const char *const element_names[] = {"i8",  "u8",  "i16",  "u16", "i32", "u32", "i64",
                                            "u64", "f16", "bf16", "f32", "f64", NULL};

static bool read_fill(const struct reader *r, const struct yaml_node *node, struct spec_arg *a) {
    static const char *const fills[] = {"random", "iota", "zero", NULL};
    static const char *const keys[] = {"file", "sha256", NULL};
    const struct yaml_node *file, *sha;
    if (node->kind != YAML_MAPPING) {
        size_t index;
        if (!yaml_choice(r->doc, node, "fill", fills, &index, r->e))
            return false;
        a->fill = FILL_RANDOM + (enum spec_fill)index;
        return true;
    }
    if (!yaml_check_keys(r->doc, node, "fill", keys, r->e) ||
        !yaml_require(r->doc, node, "file", "fill", &file, r->e) || !read_path(r, file, "fill.file", &a->fill_path))
        return false;
    a->fill = FILL_FILE;
    if ((sha = yaml_get(node, "sha256"))) {
        const char *text = NULL;
        if (!yaml_string(r->doc, sha, "fill.sha256", &text, r->e))
            return false;
        if (!sha256_is(text))
            return yaml_fail(r->doc, sha, 0, r->e, "fill.sha256: not 64 lower-case hex digits");
        a->fill_sha256 = must_strdup(text);
    }
    return true;
}

static bool read_buffer(const struct reader *r, const struct yaml_node *map, const struct yaml_node *name,
                        struct spec_arg *a) {
    static const char *const keys[][7] = {
        [ARG_IN] = {"in", "format", "type", "count", "fill", NULL},
        [ARG_OUT] = {"out", "format", "type", "count", "expect", NULL},
        [ARG_INOUT] = {"inout", "type", "count", "fill", "expect", NULL},
        [ARG_SCRATCH] = {"scratch", "type", "count", NULL},
    };
    const struct yaml_node *format = yaml_get(map, "format"), *type = yaml_get(map, "type"),
                           *fill = yaml_get(map, "fill"), *expect = yaml_get(map, "expect");
    size_t element;
    if (!read_word(r, name, keys[a->kind][0], "_", false, &a->name))
        return false;
    if (a->kind == ARG_OUT && fill)
        return yaml_fail(r->doc, fill, 0, r->e,
                         "an output has no fill: it starts as poison; a buffer with contents "
                         "is an inout");
    if (a->kind == ARG_SCRATCH && (fill || expect))
        return yaml_fail(r->doc, fill ? fill : expect, 0, r->e,
                         fill ? "scratch has no fill: it starts as poison; a buffer with contents is an inout"
                              : "scratch has no expect: it is no part of the result; what is compared is an out");
    if (!yaml_check_keys(r->doc, map, "an argument", keys[a->kind], r->e))
        return false;
    for (size_t i = 0; i < r->s->buffer_count; i++)
        if (strcmp(r->s->buffers[i]->name, a->name) == 0)
            return yaml_fail(r->doc, name, 0, r->e, "two buffers are called %s", quote(a->name).text);
    if (format) {
        if (!yaml_get(r->doc->root, "contract"))
            return yaml_fail(r->doc, format, 0, r->e, "a format needs a contract; a plain buffer has type and count");
        if (type || yaml_get(map, "count"))
            return yaml_fail(r->doc, map, 0, r->e,
                             "a buffer with a format has no type and no count: the contract says");
        if (fill && fill->kind != YAML_MAPPING)
            return yaml_fail(r->doc, fill, 0, r->e,
                             "the fill of an operand is {file: PATH}; without one the operand is made, class by class");
        return read_word(r, format, "format", "_", false, &a->format) && (!fill || read_fill(r, fill, a)) &&
               (!expect || read_path(r, expect, "expect", &a->expect_path));
    }
    if (!type)
        return yaml_fail(r->doc, map, 0, r->e, "%s needs a type, or a format of the contract", quote(a->name).text);
    if (!yaml_choice(r->doc, type, "type", element_names, &element, r->e))
        return false;
    a->type = must_strdup(elements[element].name);
    a->type_bytes = elements[element].bytes;
    if (!read_expr(r, map, "count", "count", &a->count) || (fill && !read_fill(r, fill, a)) ||
        (expect && !read_path(r, expect, "expect", &a->expect_path)))
        return false;
    if (!a->count && (a->kind != ARG_OUT || !yaml_get(r->doc->root, "contract")))
        return yaml_fail(r->doc, map, 0, r->e, "%s needs a count of elements", quote(a->name).text);
    if ((a->kind == ARG_IN || a->kind == ARG_INOUT) && a->fill == FILL_NONE)
        return yaml_fail(r->doc, map, 0, r->e, "%s needs a fill: random, iota, zero or {file: PATH}",
                         quote(a->name).text);
    return true;
}

/* *bits = the literal, rounded once to f32 or f64. Decimal or C hexadecimal; a zero that was not written as one, or an
 * infinity, is an error. */
static bool read_float(const struct reader *r, const struct yaml_node *node, struct spec_arg *a) {
    const char *text = NULL;
    if (!yaml_string(r->doc, node, a->name, &text, r->e))
        return false;
    char *end;
    errno = 0;
    double wide = a->type_bytes == 4 ? (double)strtof(text, &end) : strtod(text, &end);
    /* only digits: no spaces in front, no "inf", no "nan" */
    if (!node->plain || *end || !strchr("+-.0123456789", text[0]) || !strpbrk(text, "0123456789") || !isfinite(wide) ||
        (errno == ERANGE && wide == 0))
        return yaml_fail(r->doc, node, 0, r->e, "%s: %s is not a number of that type", a->name, quote(text).text);
    if (a->type_bytes == 4) {
        float narrow = (float)wide; /* exact: it is a float already */
        uint32_t bits;
        memcpy(&bits, &narrow, sizeof bits);
        a->bits = bits;
    } else
        memcpy(&a->bits, &wide, sizeof a->bits);
    return true;
}

static bool read_scalar(const struct reader *r, const struct yaml_node *map, struct spec_arg *a) {
    const struct yaml_node *key = map->first;
    size_t index = 0;
    while (element_names[index] && strcmp(element_names[index], key->text) != 0)
        index++;
    const struct element *element = &elements[index]; /* read_arg made sure that it is there */
    a->kind = ARG_SCALAR;
    if (map->count != 1)
        return yaml_fail(r->doc, key->next, 0, r->e, "a scalar is one key and its value");
    a->name = must_strdup(element->name);
    a->type_bytes = a->alignment = element->bytes;
    if (element->min == element->max)
        return read_float(r, key->value, a);
    a->value = expr_read(r->doc, key->value, a->name, r->e);
    return a->value != NULL;
}

static void note_line(const struct reader *r, const struct yaml_node *map, struct spec_arg *a) {
    struct place place = yaml_place(r->doc, map, 0);
    a->node = map;
    a->line = place.line;
    place_free(&place);
}

bool read_field(const struct reader *r, const struct yaml_node *map, struct spec_arg *a) {
    static const char *const first_keys[] = {"struct", "i8",  "u8",  "i16", "u16", "i32",
                                             "u32",    "i64", "u64", "f32", "f64", NULL};
    a->kind = ARG_SCALAR;
    if (!yaml_expect(r->doc, map, YAML_MAPPING, "a field", r->e))
        return false;
    note_line(r, map, a);
    if (yaml_get(map, "struct"))
        return read_struct(r, map, a);
    if (map->count == 0)
        return yaml_fail(r->doc, map, 0, r->e, "a field is empty");
    for (size_t k = 1; first_keys[k]; k++)
        if (strcmp(map->first->text, first_keys[k]) == 0)
            return read_scalar(r, map, a);
    return yaml_check_keys(r->doc, map, "a field", first_keys, r->e); /* fails: none of them comes first */
}

static const char *const roles[] = {"in", "out", "inout", "scratch", NULL};

/* *name = what the buffer is called that an entry declares, and a->kind its role; NULL: it declares none. */
static bool read_role(const struct reader *r, const struct yaml_node *map, struct spec_arg *a,
                      const struct yaml_node **name) {
    *name = NULL;
    for (size_t k = 0; roles[k]; k++)
        if (yaml_get(map, roles[k])) {
            if (*name)
                return yaml_fail(r->doc, map, 0, r->e, "an argument is one of in, out, inout, scratch");
            a->kind = ARG_IN + (enum spec_arg_kind)k;
            *name = yaml_get(map, roles[k]);
        }
    return true;
}

static bool declare(const struct reader *r, const struct yaml_node *map, const struct yaml_node *name,
                    struct spec_arg *a) {
    struct spec *s = r->s;
    if (!read_buffer(r, map, name, a))
        return false;
    a->buffer = s->buffer_count;
    s->buffers = must_realloc(s->buffers, s->buffer_count + 1, sizeof *s->buffers);
    s->buffers[s->buffer_count++] = a;
    return true;
}

/* {buffer: NAME}: which one it is, link_buffers says. */
static bool read_reference(const struct reader *r, const struct yaml_node *map, struct spec_arg *a) {
    static const char *const keys[] = {"buffer", NULL};
    a->kind = ARG_BUFFER;
    return yaml_check_keys(r->doc, map, "an argument", keys, r->e) &&
           read_word(r, yaml_get(map, "buffer"), "buffer", "_", false, &a->name);
}

static bool read_arg(const struct reader *r, const struct yaml_node *map, struct spec_arg *a) {
    static const char *const first_keys[] = {"in",  "out", "inout", "scratch", "buffer", "struct", "i8",  "u8", "i16",
                                             "u16", "i32", "u32",   "i64",     "u64",    "f32",    "f64", NULL};
    const struct yaml_node *name;
    if (!yaml_expect(r->doc, map, YAML_MAPPING, "an argument", r->e))
        return false;
    note_line(r, map, a);
    if (!read_role(r, map, a, &name))
        return false;
    if (name && r->s->node != r->doc->root)
        return yaml_fail(r->doc, map, 0, r->e,
                         "a launch that follows takes buffers as {buffer: NAME}; they are declared in args or buffers "
                         "of the file");
    if (name)
        return declare(r, map, name, a);
    if (yaml_get(map, "buffer"))
        return read_reference(r, map, a);
    a->kind = ARG_SCALAR;
    if (yaml_get(map, "struct"))
        return read_struct(r, map, a);
    if (map->count == 0)
        return yaml_fail(r->doc, map, 0, r->e, "an argument is empty");
    for (size_t k = 0; first_keys[k]; k++)
        if (strcmp(map->first->text, first_keys[k]) == 0)
            return read_scalar(r, map, a);
    return yaml_check_keys(r->doc, map, "an argument", first_keys, r->e); /* fails: none of them comes first */
}

bool read_args(const struct reader *r, const struct yaml_node *list) {
    if (!read_list(r, list, YAML_SEQUENCE, "args", MAX_ARGS))
        return false;
    r->s->args = must_calloc(list->count, sizeof *r->s->args);
    for (const struct yaml_node *n = list->first; n; n = n->next) {
        bool ok = read_arg(r, n, &r->s->args[r->s->arg_count]);
        r->s->arg_count++; /* also what is half read is freed */
        if (!ok)
            return false;
    }
    return true;
}

bool read_buffers(const struct reader *r, const struct yaml_node *list) {
    if (!read_list(r, list, YAML_SEQUENCE, "buffers", MAX_ARGS))
        return false;
    r->s->declared = must_calloc(list->count, sizeof *r->s->declared);
    for (const struct yaml_node *n = list->first; n; n = n->next) {
        struct spec_arg *a = &r->s->declared[r->s->declared_count++];
        const struct yaml_node *name;
        if (!yaml_expect(r->doc, n, YAML_MAPPING, "a buffer", r->e))
            return false;
        note_line(r, n, a);
        if (!read_role(r, n, a, &name))
            return false;
        if (!name)
            return yaml_fail(r->doc, n, 0, r->e, "a buffer is one of in, out, inout, scratch, with its name");
        if (!declare(r, n, name, a))
            return false;
    }
    return true;
}

/* ---- the contract ---- */

static bool same(const char *a, const char *b) {
    return a && b && strcmp(a, b) == 0;
}

/* The contract of that node, or NULL with a complaint. */
static const struct contract *find_contract(const struct reader *r, const struct yaml_node *node) {
    const struct contract *c = contract_named(r->s->contract);
    const char *names[MAX_LIST] = {NULL};
    if (c)
        return c;
    for (size_t i = 0; contracts[i] && i + 1 < MAX_LIST; i++)
        names[i] = contracts[i]->name;
    const char *meant = nearest(r->s->contract, names);
    if (meant)
        yaml_fail(r->doc, node, 0, r->e,
                  "unknown contract %s; did you mean '%s'? `warpproof list contracts` shows them all",
                  quote(r->s->contract).text, meant);
    else
        yaml_fail(r->doc, node, 0, r->e, "unknown contract %s; `warpproof list contracts` shows them all",
                  quote(r->s->contract).text);
    return NULL;
}

/* An operand of the contract; found[0] is the weight, found[1] the activation. */
static bool check_operand(const struct reader *r, const struct contract *c, const struct spec_arg *a,
                          const struct spec_arg *found[2]) {
    const char *operands[] = {"weight", "activation"}, *formats[] = {c->weight, c->activation};
    size_t k = same(a->name, operands[0]) ? 0 : 1;
    if (!same(a->name, operands[k]) || !formats[k])
        return yaml_fail(r->doc, a->node, 0, r->e, "contract %s has no operand %s", c->name, quote(a->name).text);
    if (!same(a->format, formats[k]))
        return yaml_fail(r->doc, yaml_get(a->node, "format"), 0, r->e, "contract %s takes %s in format %s", c->name,
                         operands[k], formats[k]);
    found[k] = a;
    return true;
}

static bool check_result(const struct reader *r, const struct contract *c, const struct spec_arg *a,
                         const struct spec_arg **result) {
    if (*result)
        return yaml_fail(r->doc, a->node, 0, r->e, "contract %s has one result; other outputs need a count", c->name);
    if (!same(a->format ? a->format : a->type, c->result))
        return yaml_fail(r->doc, a->node, 0, r->e, "the result of contract %s is %s", c->name, c->result);
    *result = a;
    return true;
}

/* Operands come from files together, and only then can a file say what comes of them. */
static bool check_files(const struct reader *r, const struct spec_arg *const found[2], const struct spec_arg *result) {
    const struct spec_arg *made = NULL, *in_file = NULL;
    for (size_t k = 0; k < 2; k++)
        if (found[k])
            *(found[k]->fill == FILL_FILE ? &in_file : &made) = found[k];
    if (in_file && made)
        return yaml_fail(r->doc, made->node, 0, r->e,
                         "%s needs a fill too: {file: PATH}; the operands of a contract come from files together",
                         made->name);
    r->s->operands_in_files = in_file;
    if (result->expect_path && !in_file)
        return yaml_fail(r->doc, yaml_get(result->node, "expect"), 0, r->e,
                         "the expect of a contract's result needs operands from files: {in: %s, format: %s, "
                         "fill: {file: PATH}}",
                         found[1]->name, found[1]->format);
    return true;
}

/* The key `split`. */
static bool check_split(const struct reader *r, const struct contract *c) {
    const struct yaml_node *node = yaml_get(r->doc->root, "split");
    const char *text = NULL;
    struct error why;
    if (!node)
        return true;
    if (!c)
        return yaml_fail(r->doc, node, 0, r->e, "a split belongs to a contract, and there is none");
    if (!yaml_string(r->doc, node, "split", &text, r->e))
        return false;
    if (!split_parse(text, &r->s->split, &why))
        return yaml_fail(r->doc, node, 0, r->e, "split: %s", why.text);
    return c->splits || r->s->split.kind == SPLIT_NONE ||
           yaml_fail(r->doc, node, 0, r->e, "contract %s has no split: its sums go through the whole depth", c->name);
}

bool check_contract(const struct reader *r) {
    const struct yaml_node *node = yaml_get(r->doc->root, "contract");
    if (!node)
        return check_split(r, NULL);
    const struct contract *c = find_contract(r, node);
    if (!c)
        return false;
    const struct spec_arg *found[2] = {NULL, NULL}, *result = NULL;
    for (size_t i = 0; i < r->s->buffer_count; i++) {
        const struct spec_arg *a = r->s->buffers[i];
        if ((a->kind == ARG_IN && a->format && !check_operand(r, c, a, found)) ||
            (a->kind == ARG_OUT && !a->count && !check_result(r, c, a, &result)))
            return false;
    }
    if (c->weight && !found[0])
        return yaml_fail(r->doc, node, 0, r->e, "contract %s needs {in: weight, format: %s} among the args", c->name,
                         c->weight);
    if (!found[1])
        return yaml_fail(r->doc, node, 0, r->e, "contract %s needs {in: activation, format: %s} among the args",
                         c->name, c->activation);
    if (!result)
        return yaml_fail(r->doc, node, 0, r->e, "contract %s needs an output without a count: its result", c->name);
    return check_files(r, found, result) && check_split(r, c);
}

bool spec_scalar(const struct spec_arg *a, const struct shape *shape, uint64_t *bits, struct error *e) {
    int64_t value;
    *bits = a->bits;
    if (!a->value)
        return true;
    const struct element *element = elements;
    while (strcmp(element->name, a->name) != 0)
        element++;
    if (!spec_eval_within(a->value, shape, element->min, element->max, &value, e))
        return false;
    *bits = (uint64_t)value & (UINT64_MAX >> (64 - 8 * element->bytes));
    return true;
}

void free_arg(struct spec_arg *a) {
    free(a->name);
    free(a->format);
    free(a->type);
    free(a->fill_path);
    free(a->fill_sha256);
    free(a->expect_path);
    expr_free(a->count);
    expr_free(a->value);
    for (size_t i = 0; i < a->field_count; i++) /* no deeper than a YAML file may be */
        free_arg(&a->fields[i]);
    free(a->fields);
}
