#include "ladder.h"
#include "../ref/checked.h"
#include "../reports/terminal.h"
#include "command.h"
#include "selecting.h"
#include <fnmatch.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static void rung_free(struct rung *r) {
    outcome_free(&r->outcome);
    outcome_free(&r->other);
    free(r->why);
    ptx_free(r->module);
    spec_free(r->spec);
}

void ladder_free(struct ladder *l) {
    for (size_t i = 0; i < l->count; ++i) {
        rung_free(&l->rungs[i]);
    }
    for (size_t i = 0; i < l->path_count; ++i) {
        free(l->paths[i]);
    }
    for (size_t i = 0; i < l->other_count; ++i) {
        free(l->others[i]);
    }
    free(l->others);
    free(l->rungs);
    free(l->paths);
    free(l->root);
}

/* The number in "r12", and kernels without one last. */
static long rung_number(const struct spec *s) {
    const char *digits = s->rung != NULL ? strpbrk(s->rung, "0123456789") : NULL;
    return digits != NULL ? strtol(digits, NULL, 10) : s->rung != NULL ? LONG_MAX - 1 : LONG_MAX;
}

static int by_rung(const void *a, const void *b) {
    const struct rung *x = a, *y = b;
    const long m = rung_number(x->spec), n = rung_number(y->spec);
    return m != n ? (m > n ? 1 : -1) : strcmp(x->spec->kernel, y->spec->kernel);
}

static bool selects(const char *pattern, const char *kernel) {
    return strpbrk(pattern, "*?[") != NULL ? fnmatch(pattern, kernel, 0) == 0 : strstr(kernel, pattern) != NULL;
}

bool ladder_read(struct ladder *l, const char *const *patterns, size_t pattern_count, const struct judging *j,
                 const char **missed, struct error *e) {
    *l = (struct ladder){.root = project_root(e)};
    *missed = NULL;
    if (l->root == NULL || !load_measured_tables(l->root, e)) {
        return false;
    }
    l->paths = kernel_files(l->root, &l->path_count);
    l->rungs = must_calloc(l->path_count + 1, sizeof *l->rungs);
    l->others = must_calloc(l->path_count + 1, sizeof *l->others);
    bool *met = must_calloc(pattern_count + 1, sizeof *met), good = true;
    for (size_t i = 0; good && i < l->path_count; ++i) {
        struct rung *r = &l->rungs[l->count];
        good = json_spares(j->json, l->paths[i], e) && (r->spec = spec_load(l->paths[i], l->root, e)) != NULL;
        bool chosen = pattern_count == 0;
        for (size_t k = 0; good && k < pattern_count; ++k) {
            const bool match = selects(patterns[k], r->spec->kernel);
            chosen |= match;
            met[k] |= match;
        }
        if (good && chosen && r->spec->contract != NULL) {
            l->count++;
        } else {
            if (good && r->spec->contract != NULL) {
                l->others[l->other_count++] = must_strdup(r->spec->kernel);
            }
            spec_free(r->spec);
            r->spec = NULL;
        }
    }
    for (size_t k = pattern_count; k-- > 0;) {
        *missed = met[k] ? *missed : patterns[k];
    }
    free(met);
    qsort(l->rungs, l->count, sizeof *l->rungs, by_rung);
    return good;
}

static bool choose_shape(struct rung *r, struct error *e) {
    static const int64_t shapes[][2] = {
        {128, LADDER_DEPTH}, {8, LADDER_DEPTH}, {128, 2 * LADDER_DEPTH}, {64, LADDER_DEPTH}, {40, LADDER_DEPTH}};
    enum { SHAPES = sizeof shapes / sizeof *shapes };
    char *unmet = NULL;
    for (size_t i = 0; i < SHAPES; ++i) {
        const struct shape_value values[3] = {{"nt", shapes[i][0]}, {"od", 128}, {"id", shapes[i][1]}};
        memcpy(r->shape, values, sizeof values);
        free(unmet);
        unmet = NULL;
        if (!bind_needs(r->spec, &(struct shape){values, 3}, &unmet, e)) {
            return false;
        }
        if (unmet == NULL) {
            return true;
        }
    }
    fail(e, "no shape of the table will do: %s", unmet);
    free(unmet);
    return false;
}

bool rung_run_at(struct rung *r, const struct shape_value *shape, const struct judging *j, struct outcome *outcome,
                 struct error *e) {
    const struct sets none = {.count = 0};
    const struct counting c = {.sets = &none, .more = shape, .more_count = 3, .judging = j};
    return counting_run(r->spec, r->module, &c, outcome, e);
}

static bool run(struct rung *r, const struct judging *j, struct error *e) {
    if ((r->module = spec_module(r->spec, e)) == NULL || !choose_shape(r, e) ||
        !rung_run_at(r, r->shape, j, &r->outcome, e)) {
        return false;
    }
    for (size_t i = 0; i <= r->spec->then_count; ++i) {
        const struct spec *s = rung_launch(r, i);
        const struct ptx_function *f = ptx_entry_named(r->module, s->entry);
        int64_t dynamic = 0;
        if (s->shared != NULL && !spec_eval(s->shared, &(struct shape){r->shape, 3}, &dynamic, e)) {
            return false;
        }
        dynamic += f != NULL ? (int64_t)ptx_static_shared(r->module, f) : 0;
        r->shared = dynamic > r->shared ? dynamic : r->shared;
    }
    return true;
}

void rung_run(struct rung *r, const struct judging *j) {
    struct error e;
    if (!run(r, j, &e)) {
        r->why = must_strdup(e.text);
    }
}

bool rung_passed(const struct rung *r) {
    return r->why == NULL && outcome_verdict(&r->outcome) == VERDICT_PASS;
}

void rung_failure(const struct rung *r, bool *wrong, bool *open) {
    terminal_failure(stdout, &r->outcome, NULL, 0);
    *(verdict_is_wrong_kernel(outcome_verdict(&r->outcome)) ? wrong : open) = true;
}

char *rung_shape(const struct rung *r) {
    return must_format("nt%lld.od%lld.id%lld", (long long)r->shape[0].value, (long long)r->shape[1].value,
                       (long long)r->shape[2].value);
}

const struct spec *rung_launch(const struct rung *r, size_t number) {
    return number > 0 ? &r->spec->then[number - 1] : r->spec;
}
