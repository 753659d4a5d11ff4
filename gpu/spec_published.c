/* The key `published` of a launch file: counts that somebody else published of the same work (docs/launch-file.md). */
#include "../ref/checked.h"
#include "census.h"
#include "spec_read.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Digits of a decimal number's text that count: "0.656" has 3, "2.000" 4, "436.7e3" 4. 0: it is no such number. */
static int significant_digits(const char *text) {
    int digits = 0;
    bool any = false, point = false;
    for (; isdigit((unsigned char)*text) || (*text == '.' && !point); ++text) {
        point |= *text == '.';
        any |= *text != '.';
        digits += *text != '.' && (digits > 0 || *text != '0');
    }
    if (*text == 'e' || *text == 'E') {
        text += 1 + (text[1] == '-' || text[1] == '+');
        any &= isdigit((unsigned char)*text) != 0;
        text += strspn(text, "0123456789");
    }
    return !any || *text ? 0 : digits > 0 ? digits : 1;
}

/* The number under a key, as it is written; an absent key leaves *value as it is. */
static bool read_number(const struct reader *r, const struct yaml_node *map, const char *key, double *value,
                        const char **text) {
    const struct yaml_node *node = yaml_get(map, key);
    if (!node)
        return true;
    if (!yaml_string(r->doc, node, key, text, r->e))
        return false;
    const int digits = significant_digits(*text);
    *value = digits ? strtod(*text, NULL) : 0;
    return (digits && digits <= 17 && isfinite(*value)) ||
           yaml_fail(r->doc, node, 0, r->e,
                     "published.%s: want a decimal number of at least 0 with at most 17 digits, as 436.7e3", key);
}

static bool read_count_name(const struct reader *r, const struct yaml_node *node, const char *what, char **out) {
    uint64_t value;
    return read_word(r, node, what, "_.", false, out) &&
           (census_count(&(struct census){0}, *out, &value) ||
            yaml_fail(r->doc, node, 0, r->e,
                      "%s: want instructions, macs, wavefronts, conflicts, sectors, a class of `warpproof census`, or "
                      "CLASS.wavefronts, .conflicts, .sectors, .requests",
                      what));
}

/* `of` is a name or a list of names. */
static bool read_of(const struct reader *r, const struct yaml_node *node, struct spec_published *p) {
    if (node->kind == YAML_SCALAR) {
        p->of = must_calloc(1, sizeof *p->of);
        return read_count_name(r, node, "published.of", &p->of[p->of_count++]);
    }
    if (!read_list(r, node, YAML_SEQUENCE, "published.of", 8) ||
        (!node->count && !yaml_fail(r->doc, node, 0, r->e, "published.of is empty")))
        return false;
    p->of = must_calloc(node->count, sizeof *p->of);
    for (const struct yaml_node *n = node->first; n; n = n->next)
        if (!read_count_name(r, n, "published.of", &p->of[p->of_count++]))
            return false;
    return true;
}

/* A number, or the name of a count. */
static bool read_per(const struct reader *r, const struct yaml_node *map, struct spec_published *p) {
    const struct yaml_node *node = yaml_get(map, "per");
    const char *text = NULL;
    if (node && node->kind == YAML_SCALAR && !isdigit((unsigned char)node->text[0]) && node->text[0] != '.')
        return read_count_name(r, node, "published.per", &p->per_count);
    return read_number(r, map, "per", &p->per, &text) &&
           (p->per > 0 || yaml_fail(r->doc, node, 0, r->e, "published.per is 0"));
}

static bool read_tile(const struct reader *r, const struct yaml_node *node, struct spec_published *p) {
    static const char *const axes[] = {"nt", "od", "id", NULL};
    if (!yaml_expect(r->doc, node, YAML_MAPPING, "published.shape", r->e) ||
        !yaml_check_keys(r->doc, node, "published.shape", axes, r->e))
        return false;
    for (size_t i = 0; axes[i]; i++) {
        const struct yaml_node *value = yaml_get(node, axes[i]);
        struct shape_value *v = &p->shape[p->shape_count];
        if (value && !yaml_integer(r->doc, value, axes[i], 1, INT32_MAX, &v->value, r->e))
            return false;
        if (value) {
            v->name = axes[i];
            p->shape_count++;
        }
    }
    return true;
}

static bool read_one(const struct reader *r, const struct yaml_node *map, struct spec_published *p) {
    static const char *const keys[] = {"by", "of", "shape", "times", "per", "value", "differs", NULL};
    const struct yaml_node *by, *of, *value, *shape = yaml_get(map, "shape"), *differs = yaml_get(map, "differs");
    const char *text = NULL;
    *p = (struct spec_published){.times = 1, .per = 1, .node = map};
    if (!yaml_expect(r->doc, map, YAML_MAPPING, "published", r->e) ||
        !yaml_check_keys(r->doc, map, "published", keys, r->e) ||
        !yaml_require(r->doc, map, "by", "published", &by, r->e) ||
        !yaml_require(r->doc, map, "of", "published", &of, r->e) ||
        !yaml_require(r->doc, map, "value", "published", &value, r->e) ||
        !yaml_string(r->doc, by, "published.by", &text, r->e))
        return false;
    p->by = must_strdup(text);
    if (text[strcspn(text, "\n")] || strlen(text) > 200)
        return yaml_fail(r->doc, by, 0, r->e, "published.by: want one line of at most 200 bytes");
    if (differs && !yaml_string(r->doc, differs, "published.differs", &text, r->e))
        return false;
    p->differs = differs ? must_strdup(text) : NULL;
    if (!read_of(r, of, p) || !read_number(r, map, "times", &p->times, &text) || !read_per(r, map, p) ||
        (shape && !read_tile(r, shape, p)) || !read_number(r, map, "value", &p->value, &text))
        return false;
    p->text = must_strdup(text);
    p->digits = significant_digits(text);
    return true;
}

bool read_published(const struct reader *r, const struct yaml_node *list) {
    if (!read_list(r, list, YAML_SEQUENCE, "published", MAX_LIST))
        return false;
    r->s->published = must_calloc(list->count, sizeof *r->s->published);
    for (const struct yaml_node *n = list->first; n; n = n->next)
        if (!read_one(r, n, &r->s->published[r->s->published_count++]))
            return false;
    return true;
}

void free_published(struct spec *s) {
    for (size_t i = 0; i < s->published_count; i++) {
        struct spec_published *p = &s->published[i];
        for (size_t k = 0; k < p->of_count; k++)
            free(p->of[k]);
        free(p->of);
        free(p->by);
        free(p->per_count);
        free(p->text);
        free(p->differs);
    }
    free(s->published);
}
