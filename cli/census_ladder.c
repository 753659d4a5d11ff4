/* warpproof census --table: the kernels side by side, and what others published of the same work. */
#include "../ref/checked.h"
#include "../reports/census.h"
#include "../reports/terminal.h"
#include "command.h"
#include "counting.h"
#include "selecting.h"
#include <ctype.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TABLE_DEPTH = 1024 };

/* A kernel, counted at the shape of the table. */
struct rung {
    struct spec *spec;
    struct ptx_module *module; /* holds what the outcome's places point to */
    struct shape_value shape[3];
    int64_t shared; /* bytes of a block: dynamic arena and static variables; of several launches the largest */
    struct outcome outcome;
};

struct ladder {
    char *root, **paths; /* of the launch files */
    size_t path_count;
    struct rung *rungs; /* (count) */
    size_t count;
};

static void rung_free(struct rung *r) {
    outcome_free(&r->outcome);
    ptx_free(r->module);
    spec_free(r->spec);
}

static void ladder_free(struct ladder *l) {
    for (size_t i = 0; i < l->count; ++i) {
        rung_free(&l->rungs[i]);
    }
    for (size_t i = 0; i < l->path_count; ++i) {
        free(l->paths[i]);
    }
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

/* Where the kernel's needs are met: 128 tokens, or the 8 of a matrix-vector product, x 128 rows x depth 1024; or 2048,
 * for rows of whole 16 bytes of q6_K; or as many tokens as stream-k has in a tile. */
static bool choose_shape(struct rung *r, struct error *e) {
    static const int64_t shapes[][2] = {
        {128, TABLE_DEPTH}, {8, TABLE_DEPTH}, {128, 2 * TABLE_DEPTH}, {64, TABLE_DEPTH}, {40, TABLE_DEPTH}};
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
    fail(e, "%s: no shape of the table will do: %s", r->spec->path, unmet);
    free(unmet);
    return false;
}

static bool count(struct rung *r, const struct shape_value *shape, size_t shape_count, const struct judging *j,
                  struct outcome *outcome, struct error *e) {
    const struct sets none = {.count = 0};
    const struct counting c = {.sets = &none, .more = shape, .more_count = shape_count, .judging = j};
    return counting_run(r->spec, r->module, &c, outcome, e);
}

static bool measure(struct rung *r, const struct judging *j, struct error *e) {
    if ((r->module = spec_module(r->spec, e)) == NULL || !choose_shape(r, e) ||
        !count(r, r->shape, 3, j, &r->outcome, e)) {
        return false;
    }
    for (size_t i = 0; i <= r->spec->then_count; ++i) {
        const struct spec *s = i > 0 ? &r->spec->then[i - 1] : r->spec;
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

static bool read_all(struct ladder *l, const char *const *patterns, size_t pattern_count, const struct judging *j,
                     struct error *e) {
    if ((l->root = project_root(e)) == NULL || !load_measured_tables(l->root, e)) {
        return false;
    }
    l->paths = kernel_files(l->root, &l->path_count);
    l->rungs = must_calloc(l->path_count + 1, sizeof *l->rungs);
    for (size_t i = 0; i < l->path_count; ++i) {
        struct rung *r = &l->rungs[l->count];
        if (!json_spares(j->json, l->paths[i], e) || (r->spec = spec_load(l->paths[i], l->root, e)) == NULL) {
            return false;
        }
        bool chosen = pattern_count == 0;
        for (size_t k = 0; k < pattern_count; ++k) {
            chosen |= selects(patterns[k], r->spec->kernel);
        }
        if (!chosen || r->spec->contract == NULL) {
            spec_free(r->spec);
            r->spec = NULL;
            continue;
        }
        l->count++;
    }
    qsort(l->rungs, l->count, sizeof *l->rungs, by_rung);
    return true;
}

static void print_figure(const struct census *c, const char *name, uint64_t factor) {
    uint64_t n = 0;
    census_count(c, name, &n);
    printf(" %9.3f", (double)factor * (double)n / (double)c->macs);
}

static void print_row(const struct rung *r, const struct census *c) {
    static const char *const counts[] = {"instructions", "mma",        "ldmatrix", "ld.shared",
                                         "st.shared",    "wavefronts", "conflicts"};
    printf("%-6s %-28s %4lld %8lld", r->spec->rung != NULL ? r->spec->rung : "-", r->spec->kernel,
           (long long)r->shape[0].value, (long long)r->shared);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i) {
        print_figure(c, counts[i], 1024);
    }
    printf(r->shape[2].value == TABLE_DEPTH ? "\n" : "   at depth %lld\n", (long long)r->shape[2].value);
}

/* What is counted here of what was published; false when the launch did not pass. */
static bool counted(struct rung *r, const struct spec_published *p, const struct judging *j, double *value,
                    struct error *e) {
    struct outcome again = {0};
    struct shape_value shape[3];
    memcpy(shape, r->shape, sizeof shape);
    for (size_t i = 0; i < p->shape_count; ++i) {
        for (size_t k = 0; k < 3; ++k) {
            if (strcmp(shape[k].name, p->shape[i].name) == 0) {
                shape[k] = p->shape[i];
            }
        }
    }
    bool good = true;
    if (p->shape_count > 0) {
        good = count(r, shape, 3, j, &again, e) &&
               (outcome_verdict(&again) == VERDICT_PASS ||
                yaml_fail(r->spec->doc, p->node, 0, e, "the launch of this shape does not pass: `warpproof run`"));
    }
    const struct outcome *o = p->shape_count > 0 ? &again : &r->outcome;
    const struct census c = census_sum(o->censuses, o->census_count);
    uint64_t n, sum = 0, per = 1;
    for (size_t i = 0; good && i < p->of_count; ++i) {
        census_count(&c, p->of[i], &n);
        sum += n;
    }
    if (good && p->per_count != NULL) {
        census_count(&c, p->per_count, &per);
        good = per > 0 || yaml_fail(r->spec->doc, p->node, 0, e, "published.per: no %s is executed", p->per_count);
    }
    *value = (double)sum * p->times / p->per / (double)per;
    outcome_free(&again);
    return good;
}

/* 2 with the message in e, 1 when a figure is not the published one without a reason, or is in spite of one; else 0. */
static int print_published(struct ladder *l, const struct judging *j, struct error *e) {
    bool wrong = false, head = false;
    for (size_t i = 0; i < l->count; ++i) {
        for (size_t k = 0; k < l->rungs[i].spec->published_count; ++k) {
            const struct spec_published *p = &l->rungs[i].spec->published[k];
            char ours[64], theirs[64], *of = must_strdup("");
            double value = 0;
            if (!counted(&l->rungs[i], p, j, &value, e)) {
                free(of);
                return EXIT_INPUT;
            }
            for (size_t n = 0; n < p->of_count; ++n) {
                char *more = must_format("%s%s%s", of, n > 0 ? " + " : "", p->of[n]);
                free(of);
                of = more;
            }
            snprintf(ours, sizeof ours, "%.*e", p->digits - 1, value);
            snprintf(theirs, sizeof theirs, "%.*e", p->digits - 1, p->value);
            const bool equal = strcmp(ours, theirs) == 0;
            if (!head) {
                printf("\n%-28s %-36s %10s %12s  %s\n", "kernel", "count", "published", "here", "by");
            }
            head = true;
            printf("%-28s %-36s %10s %12.*g  %s%s%s%s\n", l->rungs[i].spec->kernel, of, p->text,
                   p->digits > 6 ? p->digits : 6, value, p->by, p->differs != NULL ? "; differs: " : "",
                   p->differs != NULL ? p->differs : "",
                   equal == (p->differs == NULL) ? ""
                   : equal                       ? "   BUT IT IS EQUAL"
                                                 : "   DIFFERS");
            wrong |= equal != (p->differs == NULL);
            free(of);
        }
    }
    return wrong ? EXIT_KERNEL_WRONG : EXIT_PASSED;
}

int census_ladder(const char *const *patterns, size_t pattern_count, const struct judging *j) {
    struct ladder l = {0};
    struct error e;
    struct judging settled = *j;
    bool good = read_all(&l, patterns, pattern_count, j, &e), head = false, wrong = false;
    if (good) {
        judging_threads("census", &settled);
    }
    size_t shown = 0;
    for (size_t i = 0; good && i < l.count; ++i) {
        struct rung *r = &l.rungs[i];
        good = measure(r, &settled, &e);
        const struct census c = census_sum(r->outcome.censuses, r->outcome.census_count);
        if (good && outcome_verdict(&r->outcome) != VERDICT_PASS) {
            terminal_failure(stdout, &r->outcome, NULL, 0);
            wrong = true;
        } else if (good && c.macs > 0) {
            if (!head) {
                printf("for 1024 multiply-adds, at 128 rows x depth 1024:\n%-6s %-28s %4s %8s %9s %9s %9s %9s %9s %9s "
                       "%9s\n",
                       "rung", "kernel", "nt", "shared B", "instr", "mma", "ldmatrix", "ld.shared", "st.shared",
                       "wavefront", "conflicts");
            }
            head = true;
            print_row(r, &c);
            ++shown;
        }
    }
    int code = good ? print_published(&l, &settled, &e) : EXIT_INPUT;
    good = code != EXIT_INPUT;
    if (good && shown == 0 && !wrong) {
        code = EXIT_NOTHING_RAN;
        good = fail(&e, "no kernel that multiplies matches; `warpproof list kernels` has the kernels");
    }
    if (good && j->json != NULL) {
        struct census_of_kernel *counted = must_calloc(l.count + 1, sizeof *counted);
        for (size_t i = 0; i < l.count; ++i) {
            const struct outcome *o = &l.rungs[i].outcome;
            counted[i] = (struct census_of_kernel){l.rungs[i].spec->kernel, o->censuses, o->census_count};
        }
        good = census_json(j->json, counted, l.count, &e);
        free(counted);
    }
    if (!good) {
        flush_output();
        usage_error("census", "%s", e.text);
        code = code == EXIT_NOTHING_RAN ? code : EXIT_INPUT;
    }
    ladder_free(&l);
    return good && wrong ? EXIT_KERNEL_WRONG : code;
}
