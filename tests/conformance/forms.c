/* From rows to forms. */
#include "conformance.h"
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GROUPS = 8, TEXT = 1024 };

struct choice { /* of each group of the code */
    char taken[GROUPS][64];
    unsigned count;
};

/* from with #1 .. put in, and its own groups decided by `which` (mixed radix, first group fastest); the first text
 * decides the choices, the others take part by # alone. */
static void fill(const char *from, struct choice *c, size_t *which, char *to, size_t room) {
    size_t n = 0;
    while (*from && n + 64 < room) {
        if (*from == '<' && which) {
            const char *end = strchr(from, '>');
            size_t options = 1, pick;
            for (const char *p = from; p < end; ++p)
                options += *p == ',';
            pick = *which % options;
            *which /= options;
            const char *at = from + 1;
            for (; pick; --pick)
                at = strchr(at, ',') + 1;
            const size_t length = strcspn(at, ",>");
            snprintf(c->taken[c->count++], sizeof c->taken[0], "%.*s", (int)length, at);
            memcpy(to + n, at, length);
            n += length;
            from = end + 1;
        } else if (*from == '#' && from[1] >= '1' && from[1] <= '9') {
            const char *text = c->taken[from[1] - '1'];
            memcpy(to + n, text, strlen(text));
            n += strlen(text);
            from += 2;
        } else {
            to[n++] = *from++;
        }
    }
    to[n] = 0;
}

static size_t variants(const char *code) {
    size_t count = 1, options = 0;
    for (; *code; ++code) {
        options = *code == '<' ? 1 : options + (options && *code == ',');
        if (*code == '>' && options) {
            count *= options;
            options = 0;
        }
    }
    return count;
}

static void complain(const struct family *y, const char *text, const char *why) {
    fprintf(stderr, "conformance: the table %s: `%s`: %s\n", y->name, text, why);
    exit(2);
}

static char *copy(const char *text) {
    char *c = strdup(text);
    if (!c)
        abort();
    return c;
}

static void add(struct form_list *list, const struct family *y, const struct row *r, size_t which) {
    char code[TEXT], model[TEXT], module[4 * TEXT], why[200];
    struct choice c = {.count = 0};
    struct form f = {.family = y, .row = r};
    fill(r->code, &c, &which, code, sizeof code);
    fill(r->model ? r->model : r->code, &c, NULL, model, sizeof model);
    fill(r->module ? r->module : "", &c, NULL, module, sizeof module);
    if (!unit_form_read(r->model ? model : code, &f.read, why, sizeof why))
        complain(y, code, why);
    for (unsigned k = 0; k < f.read.inputs; ++k)
        if (!kind_named(f.read.input[k]))
            complain(y, code, f.read.input[k]);
    for (unsigned k = 0; k < f.read.results; ++k)
        if (!kind_named(f.read.result[k]))
            complain(y, code, f.read.result[k]);
    f.text = copy(code);
    f.module = copy(module);
    const bool mma = !strcmp(f.read.step[0].name, "mma");
    f.block = f.read.warp ? 32 : 128;
    f.vectors = mma ? 3072 : 10240; /* of mma, some 12 000 results */
    list->forms = realloc(list->forms, (list->count + 1) * sizeof f);
    if (!list->forms)
        abort();
    list->forms[list->count++] = f;
}

struct form_list forms_open(const char *pattern) {
    struct form_list list = {NULL, 0};
    for (const struct family *y = families; y->name; ++y)
        for (const struct row *r = y->rows; r->code; ++r)
            for (size_t i = 0; i < variants(r->code); ++i) {
                add(&list, y, r, i);
                struct form *f = &list.forms[list.count - 1];
                if (pattern && strcmp(pattern, f->text) != 0 && strcmp(pattern, y->name) != 0 &&
                    fnmatch(pattern, f->text, 0) != 0) {
                    free(f->text);
                    free(f->module);
                    list.count--;
                }
            }
    return list;
}

static int64_t in_order(uint64_t x) { /* binary32 as integers that count units of the last place */
    const int64_t magnitude = (int64_t)(x & 0x7fffffff);
    return x >> 31 & 1 ? -magnitude : magnitude;
}

bool form_excuses(const struct form *f, const uint64_t in[UNIT_INPUTS], const uint64_t *want, const uint64_t *got) {
    if (!f->row->note)
        return false;
    if (f->row->open && f->row->open(&f->read, in))
        return true;
    for (unsigned k = 0; k < f->read.results; ++k) {
        const int64_t by = in_order(want[k]) - in_order(got[k]);
        if (by > f->row->units || -by > (int64_t)f->row->units)
            return false;
    }
    return true;
}

void forms_close(struct form_list *list) {
    for (size_t i = 0; i < list->count; ++i) {
        free(list->forms[i].text);
        free(list->forms[i].module);
    }
    free(list->forms);
}
