/* warpproof census --table: the kernels side by side, and what others published of the same work. */
#include "../ref/checked.h"
#include "../reports/census.h"
#include "../reports/terminal.h"
#include "command.h"
#include "ladder.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the table ---- */

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
    printf(r->shape[2].value == LADDER_DEPTH ? "\n" : "   at depth %lld\n", (long long)r->shape[2].value);
}

/* A row each; kernels that are wrong, or that cannot be counted, say so in their place. Returns how many are counted.
 */
static size_t print_table(struct ladder *l, const struct judging *j) {
    size_t shown = 0;
    printf("for 1024 multiply-adds, at 128 rows x depth %d; cp.async has no wavefronts here; launches that follow each "
           "other add up\n",
           LADDER_DEPTH);
    printf("%-6s %-28s %4s %8s %9s %9s %9s %9s %9s %9s %9s\n", "rung", "kernel", "nt", "shared B", "instr", "mma",
           "ldmatrix", "ld.shared", "st.shared", "wavefront", "conflicts");
    for (size_t i = 0; i < l->count; ++i) {
        struct rung *r = &l->rungs[i];
        rung_run(r, j);
        const struct census c = census_sum(r->outcome.censuses, r->outcome.census_count);
        if (rung_passed(r) && c.macs == 0) {
            continue; /* a quantiser */
        }
        if (rung_passed(r)) {
            print_row(r, &c);
            ++shown;
        } else {
            printf("%-6s %-28s %s\n", r->spec->rung != NULL ? r->spec->rung : "-", r->spec->kernel,
                   r->why != NULL ? r->why : "is wrong: see below");
        }
    }
    for (size_t i = 0; i < l->count; ++i) {
        if (l->rungs[i].why == NULL && !rung_passed(&l->rungs[i])) {
            printf("\n");
            terminal_failure(stdout, &l->rungs[i].outcome, NULL, 0);
        }
    }
    return shown;
}

/* ---- what was published ---- */

/* "ldmatrix x 2352 / 33.7825": what is set beside the published figure; the caller frees it. */
static char *formula(const struct spec_published *p) {
    char *text = must_strdup("");
    for (size_t n = 0; n < p->of_count; ++n) {
        char *more = must_format("%s%s%s", text, n > 0 ? " + " : "", p->of[n]);
        free(text);
        text = more;
    }
    char times[40] = "", per[160] = "";
    if (p->times != 1) {
        snprintf(times, sizeof times, " x %.6g", p->times);
    }
    if (p->per_count != NULL) {
        snprintf(per, sizeof per, " / %s", p->per_count);
    } else if (p->per != 1) {
        snprintf(per, sizeof per, " / %.6g", p->per);
    }
    char *whole = must_format(p->of_count > 1 && (times[0] || per[0]) ? "(%s)%s%s" : "%s%s%s", text, times, per);
    free(text);
    return whole;
}

static bool same_shape(const struct shape_value a[3], const struct shape_value b[3]) {
    return a[0].name != NULL && a[0].value == b[0].value && a[1].value == b[1].value && a[2].value == b[2].value;
}

/* The outcome at the shape of a published figure, which its neighbours mostly share; or NULL. */
static const struct outcome *outcome_at(struct rung *r, const struct spec_published *p, const struct judging *j,
                                        struct error *e) {
    struct shape_value shape[3];
    memcpy(shape, r->shape, sizeof shape);
    for (size_t i = 0; i < p->shape_count; ++i) {
        for (size_t k = 0; k < 3; ++k) {
            if (strcmp(shape[k].name, p->shape[i].name) == 0) {
                shape[k] = p->shape[i];
            }
        }
    }
    if (same_shape(r->shape, shape)) {
        return &r->outcome;
    }
    if (!same_shape(r->other_shape, shape)) {
        outcome_free(&r->other);
        r->other = (struct outcome){0};
        r->other_shape[0].name = NULL;
        if (!rung_run_at(r, shape, j, &r->other, e)) {
            return NULL;
        }
        memcpy(r->other_shape, shape, sizeof shape);
    }
    return &r->other;
}

/* What is counted here of what was published. */
static bool counted(struct rung *r, const struct spec_published *p, const struct judging *j, double *value,
                    struct error *e) {
    const struct outcome *o = outcome_at(r, p, j, e);
    if (o == NULL) {
        return false;
    }
    if (outcome_verdict(o) != VERDICT_PASS) {
        return fail(e, "the launch of this shape does not pass (warpproof census with --set)");
    }
    const struct census c = census_sum(o->censuses, o->census_count);
    uint64_t n, sum = 0, per = 1;
    for (size_t i = 0; i < p->of_count; ++i) {
        census_count(&c, p->of[i], &n);
        sum += n;
    }
    if (p->per_count != NULL) {
        census_count(&c, p->per_count, &per);
        if (per == 0) {
            return fail(e, "published.per: no %s is executed", p->per_count);
        }
    }
    *value = (double)sum * p->times / p->per / (double)per;
    return isfinite(*value) || fail(e, "published.times: the product is too large");
}

enum agreement { AGREES, DISAGREES, NOT_COUNTED };

static enum agreement print_figure_of(struct rung *r, const struct spec_published *p, const struct judging *j) {
    char ours[64], theirs[64], *of = formula(p);
    enum agreement result = AGREES;
    double value = 0;
    struct error e;
    if (!counted(r, p, j, &value, &e)) {
        struct place at = yaml_place(r->spec->doc, p->node, 0);
        printf("%-28s %-36s %10s %12s  %s:%d: %s\n", r->spec->kernel, of, p->text, "not counted", at.path, at.line,
               e.text);
        place_free(&at);
        result = NOT_COUNTED;
    } else {
        snprintf(ours, sizeof ours, "%.*e", p->digits - 1, value);
        snprintf(theirs, sizeof theirs, "%.*e", p->digits - 1, p->value);
        const bool equal = strcmp(ours, theirs) == 0;
        result = equal == (p->differs == NULL) ? AGREES : DISAGREES;
        printf("%-28s %-36s %10s %12.*g  %s%s%s%s\n", r->spec->kernel, of, p->text, p->digits > 6 ? p->digits : 6,
               value, p->by, p->differs != NULL ? "; differs: " : "", p->differs != NULL ? p->differs : "",
               result == AGREES ? ""
               : equal          ? "   BUT IT IS EQUAL"
                                : "   DIFFERS");
    }
    free(of);
    return result;
}

/* Of the kernels that the table has; notes in *wrong and *open what does not agree, and what could not be counted. */
static void print_published(struct ladder *l, const struct judging *j, bool *wrong, bool *open) {
    bool head = false;
    for (size_t i = 0; i < l->count; ++i) {
        struct rung *r = &l->rungs[i];
        for (size_t k = 0; rung_passed(r) && k < r->spec->published_count; ++k) {
            if (!head) {
                printf("\n%-28s %-36s %10s %12s  %s\n", "kernel", "count", "published", "here", "by");
            }
            head = true;
            const enum agreement a = print_figure_of(r, &r->spec->published[k], j);
            *wrong |= a == DISAGREES;
            *open |= a == NOT_COUNTED;
        }
    }
}

static bool write_json(const struct ladder *l, const char *path, struct error *e) {
    struct census_of_kernel *counted = must_calloc(l->count + 1, sizeof *counted);
    size_t n = 0;
    for (size_t i = 0; i < l->count; ++i) {
        const struct outcome *o = &l->rungs[i].outcome;
        if (l->rungs[i].why == NULL && o->census_count > 0) {
            counted[n++] = (struct census_of_kernel){l->rungs[i].spec->kernel, o->censuses, o->census_count};
        }
    }
    const bool good = census_json(path, counted, n, e);
    free(counted);
    return good;
}

/* The table, and what was published. */
static int census_side_by_side(struct ladder *l, const struct judging *j) {
    bool wrong = false, open = false;
    struct error e;
    const size_t shown = print_table(l, j);
    for (size_t i = 0; i < l->count; ++i) {
        open |= l->rungs[i].why != NULL;
        wrong |= l->rungs[i].why == NULL && !rung_passed(&l->rungs[i]);
    }
    print_published(l, j, &wrong, &open);
    if (shown == 0 && !wrong && !open) {
        flush_output();
        usage_error("census", "no kernel that multiplies matches; `warpproof list kernels` has the kernels");
        return EXIT_NOTHING_RAN;
    }
    if (j->json != NULL && !write_json(l, j->json, &e)) {
        flush_output();
        return usage_error("census", "%s", e.text);
    }
    return wrong ? EXIT_KERNEL_WRONG : open ? EXIT_INPUT : EXIT_PASSED;
}

int census_ladder(const struct ladder_request *q, const struct judging *j) {
    struct ladder l;
    struct error e;
    struct judging settled = *j;
    const char *missed = NULL;
    int code = EXIT_INPUT;
    bool good = ladder_read(&l, q->patterns, q->pattern_count, j, &missed, &e);
    if (good && missed != NULL) {
        code = EXIT_NOTHING_RAN;
        good = fail(&e, "no kernel of gpu/kernels matches '%.500s'; `warpproof list kernels` has them", missed);
    }
    if (good) {
        judging_threads("census", &settled);
        code = q->launches           ? census_launches(&l, &settled)
               : q->counters != NULL ? census_counters(&l, q, &settled)
                                     : census_side_by_side(&l, &settled);
    } else {
        flush_output();
        usage_error("census", "%s", e.text);
    }
    ladder_free(&l);
    return code;
}
