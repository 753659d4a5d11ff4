#include "finding.h"
#include "../ref/checked.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    bool wrong_kernel;
} verdicts[VERDICTS] = {
    [VERDICT_PASS] = {"PASS", false},          [VERDICT_SKIPPED] = {"SKIPPED", false},
    [VERDICT_UNTESTED] = {"UNTESTED", false},  [VERDICT_APPROXIMATE] = {"APPROXIMATE", true},
    [VERDICT_UNWRITTEN] = {"UNWRITTEN", true}, [VERDICT_DIFFERS] = {"DIFFERS", true},
    [VERDICT_HAZARD] = {"HAZARD", true},       [VERDICT_GUARD] = {"GUARD", true},
    [VERDICT_LAUNCH] = {"LAUNCH", true},       [VERDICT_INPUT] = {"INPUT", false},
};

const char *verdict_name(enum verdict v) {
    return verdicts[v].name;
}

bool verdict_named(const char *name, enum verdict *v) {
    for (int i = 0; i < VERDICTS; ++i) {
        if (strcmp(name, verdicts[i].name) == 0) {
            *v = (enum verdict)i;
            return true;
        }
    }
    return false;
}

bool verdict_is_wrong_kernel(enum verdict v) {
    return verdicts[v].wrong_kernel;
}

struct finding *findings_add(struct findings *f, const char *oracle, enum verdict v) {
    f->items = must_realloc(f->items, f->count + 1, sizeof *f->items);
    struct finding *x = &f->items[f->count++];
    *x = (struct finding){.oracle = oracle, .verdict = v, .where = {.cell = {-1, -1}}};
    return x;
}

void finding_line(struct finding *f, const char *label, const char *format, ...) {
    if (f->line_count == FINDING_LINES) {
        abort();
    }
    va_list args;
    va_start(args, format);
    char *text = NULL;
    if (vasprintf(&text, format, args) < 0) {
        text = must_strdup("(no memory for this line)");
    }
    va_end(args);
    f->lines[f->line_count].label = label;
    f->lines[f->line_count++].text = text;
}

void findings_note(struct findings *f, const char *format, ...) {
    va_list args;
    va_start(args, format);
    char *text = NULL;
    if (vasprintf(&text, format, args) < 0) {
        text = must_strdup("(no memory for this note)");
    }
    va_end(args);
    f->notes = must_realloc(f->notes, f->note_count + 1, sizeof *f->notes);
    f->notes[f->note_count++] = text;
}

enum verdict findings_worst(const struct findings *f) {
    enum verdict worst = VERDICT_PASS;
    for (size_t i = 0; i < f->count; ++i) {
        worst = f->items[i].verdict > worst ? f->items[i].verdict : worst;
    }
    return worst;
}

const struct finding *findings_first(const struct findings *f) {
    const enum verdict worst = findings_worst(f);
    for (size_t i = 0; i < f->count; ++i) {
        if (f->items[i].verdict == worst) {
            return &f->items[i];
        }
    }
    return NULL;
}

void where_free(struct where *p) {
    free(p->buffer);
    free(p->file);
    free(p->inlined_file);
    free(p->instruction);
}

void findings_free(struct findings *f) {
    for (size_t i = 0; i < f->count; ++i) {
        struct finding *x = &f->items[i];
        where_free(&x->where);
        if (x->other != NULL) {
            where_free(x->other);
            free(x->other);
        }
        free(x->summary);
        free(x->suspects);
        wrong_map_free(x->wrong);
        free(x->lanes);
        for (size_t k = 0; k < x->line_count; ++k) {
            free(x->lines[k].text);
        }
    }
    for (size_t i = 0; i < f->note_count; ++i) {
        free(f->notes[i]);
    }
    free(f->notes);
    free(f->items);
    *f = (struct findings){0};
}
