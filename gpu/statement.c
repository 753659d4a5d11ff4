#include "statement.h"
#include "../ref/checked.h"
#include <fnmatch.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void statement_add(struct statement_list *l, struct statement s) {
    l->items = must_realloc(l->items, l->count + 1, sizeof *l->items);
    l->items[l->count++] = s;
}

bool statement_refute(struct statement *s, const char *format, ...) {
    va_list args;
    if (s->counterexample)
        return false;
    va_start(args, format);
    if (vasprintf(&s->counterexample, format, args) < 0)
        s->counterexample = must_strdup("(no memory for the text)");
    va_end(args);
    s->proved = false;
    return false;
}

void statement_free(struct statement *s) {
    if (s->wrong) {
        free(s->wrong->holds);
        free(s->wrong->wants);
        free(s->wrong->mistake);
    }
    free(s->wrong);
    free(s->name);
    free(s->text);
    free(s->counterexample);
    free(s->file);
    free(s->note);
    *s = (struct statement){.name = NULL};
}

void statement_list_free(struct statement_list *l) {
    for (size_t i = 0; i < l->count; ++i)
        statement_free(&l->items[i]);
    free(l->items);
    *l = (struct statement_list){NULL, 0};
}

size_t statements_refuted(const struct statement_list *l) {
    size_t n = 0;
    for (size_t i = 0; i < l->count; ++i)
        n += !l->items[i].proved;
    return n;
}

bool statement_selected(const char *name, const char *const *patterns, size_t count) {
    bool selected = count == 0;
    for (size_t i = 0; i < count && !selected; ++i)
        selected = strpbrk(patterns[i], "*?[") ? fnmatch(patterns[i], name, 0) == 0 : strstr(name, patterns[i]) != NULL;
    return selected;
}

const char *statement_unmatched(const struct statement_list *l, size_t first, const char *const *patterns,
                                size_t count) {
    for (size_t k = 0; k < count; ++k) {
        bool found = false;
        for (size_t i = first; i < l->count && !found; ++i)
            found = statement_selected(l->items[i].name, &patterns[k], 1);
        if (!found)
            return patterns[k];
    }
    return NULL;
}
