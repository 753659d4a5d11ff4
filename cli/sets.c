#include "sets.h"
#include "../gpu/yaml.h"
#include "../ref/checked.h"
#include "../ref/random.h"
#include "command.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

bool sets_take(struct sets *s, const char *text) {
    const char *equals = strchr(text, '=');
    const size_t n = equals != NULL ? (size_t)(equals - text) : 0;
    int64_t value;
    if (n == 0 || n > 64 || strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_") != n ||
        (text[0] >= '0' && text[0] <= '9') || yaml_parse_integer(equals + 1, &value) != NULL || s->count == SETS_MAX) {
        return false;
    }
    for (size_t i = 0; i < s->count; ++i) {
        if (strlen(s->values[i].name) == n && strncmp(s->values[i].name, text, n) == 0) {
            return false;
        }
    }
    s->values[s->count++] = (struct shape_value){must_format("%.*s", (int)n, text), value};
    return true;
}

int sets_option(const char *command, struct sets *s, const char *text) {
    return sets_take(s, text) ? -1 : usage_error(command, "--set %s: want NAME=INTEGER, each name once", text);
}

void sets_free(struct sets *s) {
    for (size_t i = 0; i < s->count; ++i) {
        free((char *)s->values[i].name);
    }
    s->count = 0;
}

static void add_missing(struct shape_value *all, size_t *count, const struct shape_value *from, size_t n) {
    const size_t before = *count;
    for (size_t i = 0; i < n; ++i) {
        bool there = false;
        for (size_t k = 0; k < before; ++k) {
            there |= strcmp(all[k].name, from[i].name) == 0;
        }
        if (!there) {
            all[(*count)++] = from[i];
        }
    }
}

struct shape_value *sets_merge(const struct spec *spec, const struct sets *s, const struct shape_value *more,
                               size_t more_count, size_t *count) {
    struct shape_value *v = must_calloc(s->count + spec->default_count + more_count + 1, sizeof *v);
    *count = 0;
    add_missing(v, count, s->values, s->count);
    add_missing(v, count, spec->defaults, spec->default_count);
    add_missing(v, count, more, more_count);
    return v;
}

bool sets_used(const struct spec *spec, const char *name) {
    const bool contract = spec->contract != NULL, rows = contract && contract_named(spec->contract)->weight != NULL;
    return spec_uses(spec, name) || (contract && (strcmp(name, "nt") == 0 || strcmp(name, "id") == 0)) ||
           (rows && strcmp(name, "od") == 0);
}

bool sets_check(const struct spec *spec, const struct sets *s, struct error *e) {
    for (size_t i = 0; i < s->count; ++i) {
        const char *name = s->values[i].name;
        if (!sets_used(spec, name)) {
            return fail(e, "%s: --set %s: no expression of the launch file uses that name", spec->path, name);
        }
    }
    return true;
}

static bool sets_value(const struct shape *shape, const char *name, const char *path, size_t *value, struct error *e) {
    for (size_t i = 0; i < shape->count; ++i) {
        if (strcmp(shape->values[i].name, name) == 0) {
            if (shape->values[i].value < 1 || shape->values[i].value > INT32_MAX) {
                return fail(e, "%s = %" PRId64 ": must be in 1 .. %d", name, shape->values[i].value, INT32_MAX);
            }
            *value = (size_t)shape->values[i].value;
            return true;
        }
    }
    return fail(e, "%s: needs a value for %s (--set %s=N)", path, name, name);
}

char *sets_text(const struct sets *s, const uint64_t *seed) {
    char *text = must_strdup("");
    for (size_t i = 0; i < s->count; ++i) {
        char *more = must_format("%s --set %s=%" PRId64, text, s->values[i].name, s->values[i].value);
        free(text);
        text = more;
    }
    if (seed != NULL) {
        char *more = must_format("%s --seed %" PRIu64, text, *seed);
        free(text);
        text = more;
    }
    return text;
}

bool sets_operands(const struct spec *spec, const struct shape *shape, struct operands_request *r, struct error *e) {
    spec_operands(spec, r);
    return sets_value(shape, "nt", spec->path, &r->nt, e) && sets_value(shape, "id", spec->path, &r->id, e) &&
           (r->contract->weight == NULL || sets_value(shape, "od", spec->path, &r->od, e));
}

char *sets_id(const struct spec *spec, struct operands_request *r, uint64_t seed) {
    const struct contract *c = r->contract;
    char *rows = c->weight != NULL ? must_format(".od%zu", r->od) : must_strdup("");
    char *id = must_format("%s/%s/%s/nt%zu%s.id%zu/%s/s%" PRIu64, c->weight != NULL ? c->weight : c->activation,
                           c->weight != NULL ? c->activation : c->result, spec->kernel, r->nt, rows, r->id,
                           data_class_names[r->data], seed);
    free(rows);
    r->key = random_key(id);
    return id;
}
