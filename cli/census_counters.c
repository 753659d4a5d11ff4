/* warpproof census --table --counters FILE: what a GPU's counters gave for the launches of the table, beside what the
 * machine counts: equal, or the difference explained. */
#include "../gpu/counters_explained.h"
#include "../gpu/digest.h"
#include "../ref/checked.h"
#include "../ref/printable.h"
#include "../reports/json_node.h"
#include "command.h"
#include "ladder.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum standing { EQUAL, EXPLAINED, RED };

struct comparing {
    const char *file; /* of the GPU's counts */
    char *why;        /* the file of explanations */
    struct counter_table table;
    bool *used; /* (table.count) */
    struct counter_explanations explained;
    bool *held;                        /* (explained.count) it fitted some launch */
    size_t launches, counts[3], zeros; /* of the equal ones those that are 0 on both sides */
    struct json_lines json;
};

/* One launch on both sides. */
struct pair {
    const struct rung *rung;
    const struct spec *launch;
    const struct census *machine;
    const struct counted_launch *gpu;
    char name[120]; /* of its kernel, and "/2" of a second launch */
};

static void red(struct comparing *c, const char *name, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void red(struct comparing *c, const char *name, const char *format, ...) {
    char safe[600], *text;
    va_list args;
    va_start(args, format);
    if (vasprintf(&text, format, args) < 0) {
        text = must_strdup("out of memory");
    }
    va_end(args);
    printf("%-34s %s\n", name, printable(safe, sizeof safe, text, strlen(text)));
    free(text);
    c->counts[RED]++;
}

/* ---- what an explanation claims ---- */

/* blocks, threads of a block: 1 where the launch file does not say. */
static bool product(struct spec_expr *const dimensions[3], const struct shape *shape, int64_t *value, struct error *e) {
    *value = 1;
    for (int d = 0; d < 3; ++d) {
        int64_t one = 1;
        if (dimensions[d] != NULL && !spec_eval(dimensions[d], shape, &one, e)) {
            return false;
        }
        if (__builtin_mul_overflow(*value, one, value)) {
            return fail(e, "the launch is too large");
        }
    }
    return true;
}

/* The value of `difference`: its names are those of the launch file, blocks, warps, and the machine's counts with '_'
 * for '.'. */
static bool claimed(const struct pair *p, const struct spec_expr *difference, int64_t *value, struct error *e) {
    const struct sets none = {.count = 0};
    size_t count;
    struct shape_value *own = sets_merge(p->rung->spec, &none, p->rung->shape, 3, &count);
    struct shape_value *all = must_calloc(count + 2 + COUNTER_QUANTITIES, sizeof *all);
    char names[COUNTER_QUANTITIES][40];
    int64_t threads = 1;
    memcpy(all, own, count * sizeof *all);
    const struct shape launch = {own, count};
    all[count] = (struct shape_value){"blocks", 1};
    bool good =
        product(p->launch->grid, &launch, &all[count].value, e) && product(p->launch->block, &launch, &threads, e);
    all[count + 1].name = "warps";
    good = good && (!__builtin_mul_overflow(all[count].value, (threads + 31) / 32, &all[count + 1].value) ||
                    fail(e, "the launch is too large"));
    for (size_t q = 0; q < COUNTER_QUANTITIES; ++q) {
        snprintf(names[q], sizeof names[q], "%s", counter_quantities[q].name);
        for (char *dot = names[q]; (dot = strchr(dot, '.')) != NULL;) {
            *dot = '_';
        }
        all[count + 2 + q] = (struct shape_value){names[q], (int64_t)counter_of(&counter_quantities[q], p->machine)};
    }
    good = good && spec_eval(difference, &(struct shape){all, count + 2 + COUNTER_QUANTITIES}, value, e);
    free(all);
    free(own);
    return good;
}

/* Where the machine has no such instruction, which a GPU has instead of another, the line must execute anything. */
static bool executes(const struct pair *p, const struct counter_quantity *q, const char *place) {
    const char *colon = strrchr(place, ':');
    const size_t length = (size_t)(colon - place);
    const bool any = counter_of(q, p->machine) == 0;
    for (size_t i = 0; i < p->machine->line_count; ++i) {
        const struct census_line *l = &p->machine->lines[i];
        if (l->file != NULL && l->line == strtol(colon + 1, NULL, 10) && strncmp(l->file, place, length) == 0 &&
            l->file[length] == 0 && (any ? l->count.executed > 0 : counter_has_line(q, l))) {
            return true;
        }
    }
    return false;
}

/* *wrong = NULL: the explanation holds for these counts; else what is wrong with it, which the caller frees. False with
 * the reason in e where its file is at fault: the difference has no value, or is 0. */
static bool contradiction(const struct pair *p, size_t quantity, const struct counter_explanation *x, uint64_t machine,
                          uint64_t gpu, char **wrong, struct error *e) {
    const struct counter_quantity *q = &counter_quantities[quantity];
    int64_t difference = 0;
    if (x->difference != NULL && !claimed(p, x->difference, &difference, e)) {
        return false;
    }
    if (x->difference != NULL && difference == 0) {
        return expr_fail(x->difference, e, "difference is 0 for %s of %.200s: a reason explains what differs", q->name,
                         p->name);
    }
    *wrong = machine == gpu ? must_strdup("they are equal") : NULL;
    for (size_t i = 0; *wrong == NULL && i < x->line_count; ++i) {
        if (!executes(p, q, x->lines[i])) {
            *wrong = must_format("%s executes no %s", x->lines[i],
                                 q->class < CLASSES && machine > 0 ? class_names[q->class] : "instruction");
        }
    }
    const double percent = machine > 0 ? 100 * ((double)gpu - (double)machine) / (double)machine : INFINITY;
    if (*wrong == NULL && x->difference != NULL && difference != (int64_t)gpu - (int64_t)machine) {
        *wrong = must_format("%s is %lld", spec_expr_text(x->difference), (long long)difference);
    } else if (*wrong == NULL && x->difference == NULL && !(percent >= x->least && percent <= x->most)) {
        *wrong = must_format("it says %g to %g %%", x->least, x->most);
    }
    return true;
}

/* ---- one launch ---- */

/* The explanation of a launch's quantity, or NULL; one that a launch has is not unused. */
static const struct counter_explanation *explanation(struct comparing *c, const struct rung *r,
                                                     const struct spec *launch, size_t q) {
    const struct counter_explanation *x = counter_explained(&c->explained, r->spec->kernel, launch->entry, q);
    if (x != NULL) {
        c->held[x - c->explained.items] = true;
    }
    return x;
}

static bool compare(struct comparing *c, const struct pair *p, size_t q, enum standing *standing, const char **why,
                    struct error *e) {
    const uint64_t machine = counter_of(&counter_quantities[q], p->machine), gpu = p->gpu->counts[q];
    const struct counter_explanation *x = explanation(c, p->rung, p->launch, q);
    char part[40] = "=", *wrong = NULL;
    if (x != NULL && !contradiction(p, q, x, machine, gpu, &wrong, e)) {
        return false;
    }
    const enum standing s = wrong != NULL || (x == NULL && machine != gpu) ? RED : machine != gpu ? EXPLAINED : EQUAL;
    c->counts[s]++;
    c->zeros += s == EQUAL && machine == 0;
    *standing = s;
    *why = x != NULL ? x->why : NULL;
    if (machine != gpu && machine > 0) {
        snprintf(part, sizeof part, "%+.2f %%", 100 * ((double)gpu - (double)machine) / (double)machine);
    } else if (machine != gpu) {
        snprintf(part, sizeof part, "+%" PRIu64, gpu);
    }
    if (machine != 0 || gpu != 0 || s == RED) {
        char safe[500];
        printf("%-34s %-20s %12" PRIu64 " %12" PRIu64 "  %s", p->name, counter_quantities[q].name, machine, gpu, part);
        if (wrong != NULL) {
            printf("   DIFFERS from %s:%zu: %s", c->why, x->line, printable(safe, sizeof safe, wrong, strlen(wrong)));
        } else if (s == RED) {
            printf("   DIFFERS");
        } else if (s == EXPLAINED) {
            printf("  %s", printable(safe, sizeof safe, x->why, strlen(x->why)));
        }
        printf("\n");
    }
    free(wrong);
    return true;
}

static bool compare_counts(struct comparing *c, const struct pair *p, bool json, struct error *e) {
    static const char *const words[] = {"equal", "explained", "differs"};
    struct fy_document *d = json ? json_next(&c->json) : NULL;
    struct fy_node *map = d != NULL ? fy_node_create_mapping(d) : NULL, *counts = d ? fy_node_create_mapping(d) : NULL;
    bool good = true;
    for (size_t q = 0; good && q < COUNTER_QUANTITIES; ++q) {
        const char *why;
        enum standing s;
        if (!c->table.counted[q]) {
            explanation(c, p->rung, p->launch, q);
            continue;
        }
        good = compare(c, p, q, &s, &why, e);
        if (good && d != NULL) {
            struct fy_node *one = fy_node_create_mapping(d);
            json_add(d, one, "machine", json_number(d, "%" PRIu64, counter_of(&counter_quantities[q], p->machine)));
            json_add(d, one, "gpu", json_number(d, "%" PRIu64, p->gpu->counts[q]));
            json_add_string(d, one, "is", words[s]);
            json_add_string(d, one, "why", why);
            json_add(d, counts, counter_quantities[q].name, one);
        }
    }
    if (d != NULL) {
        json_add_string(d, map, "kernel", p->rung->spec->kernel);
        json_add(d, map, "launch", json_number(d, "%zu", p->gpu->number));
        json_add_string(d, map, "entry", p->launch->entry);
        json_add_string(d, map, "shape", p->gpu->shape);
        json_add_string(d, map, "ptx", p->gpu->digest);
        json_add(d, map, "counts", counts);
        json_put(&c->json, d, map);
    }
    return good;
}

/* The kernel's lines of the table are of a launch, and explanations of its launches are not unused, though none is
 * compared. */
static void leave_out(struct comparing *c, const struct rung *r) {
    for (size_t i = 0; i < c->table.count; ++i) {
        c->used[i] |= strcmp(c->table.launches[i].kernel, r->spec->kernel) == 0 &&
                      c->table.launches[i].number <= r->spec->then_count + 1;
    }
    for (size_t i = 0; i <= r->spec->then_count; ++i) {
        for (size_t q = 0; q < COUNTER_QUANTITIES; ++q) {
            explanation(c, r, rung_launch(r, i), q);
        }
    }
}

/* The table's line of a launch, if there is one and it is of the same program, entry and shape. */
static bool find(struct comparing *c, struct pair *p, size_t number, struct error *e) {
    char digest[DIGEST_HEX];
    p->gpu = NULL;
    for (size_t i = 0; i < c->table.count; ++i) {
        const struct counted_launch *l = &c->table.launches[i];
        if (l->number == number && strcmp(l->kernel, p->rung->spec->kernel) == 0) {
            p->gpu = l;
            c->used[i] = true;
        }
    }
    if (!digest_program(p->rung->module, digest, e)) {
        return false;
    }
    if (p->gpu == NULL) {
        red(c, p->name, "MISSING: %s has no line of it", c->file);
        return true;
    }
    char *shape = rung_shape(p->rung);
    const size_t line = p->gpu->line;
    if (strcmp(p->gpu->digest, digest) != 0) {
        red(c, p->name, "STALE: %s:%zu counted the PTX %s, today's is %s", c->file, line, p->gpu->digest, digest);
        p->gpu = NULL;
    } else if (strcmp(p->gpu->entry, p->launch->entry) != 0 || strcmp(p->gpu->shape, shape) != 0) {
        red(c, p->name, "STALE: %s:%zu counted %s at %s, today's table has %s at %s", c->file, line, p->gpu->entry,
            p->gpu->shape, p->launch->entry, shape);
        p->gpu = NULL;
    }
    free(shape);
    return true;
}

static bool compare_kernel(struct comparing *c, const struct rung *r, bool json, struct error *e) {
    for (size_t i = 0; i < r->outcome.census_count; ++i) {
        struct pair p = {.rung = r, .launch = rung_launch(r, i), .machine = &r->outcome.censuses[i]};
        snprintf(p.name, sizeof p.name, r->spec->then_count > 0 ? "%s/%zu" : "%s", r->spec->kernel, i + 1);
        if (!find(c, &p, i + 1, e)) {
            return false;
        }
        c->launches++;
        if (p.gpu == NULL) {
            leave_out(c, r);
        } else if (!compare_counts(c, &p, json, e)) {
            return false;
        }
    }
    return true;
}

/* ---- the whole ---- */

static bool not_selected(const struct ladder *l, const char *kernel) {
    for (size_t i = 0; i < l->other_count; ++i) {
        if (strcmp(l->others[i], kernel) == 0) {
            return true;
        }
    }
    return false;
}

/* Lines of the table that no launch has, and explanations of none. */
static void compare_rest(struct comparing *c, const struct ladder *l) {
    for (size_t i = 0; i < c->table.count; ++i) {
        const struct counted_launch *one = &c->table.launches[i];
        if (!c->used[i] && !not_selected(l, one->kernel)) {
            char *where = must_format("%s:%zu", c->file, one->line);
            red(c, where, "UNKNOWN: gpu/kernels has no launch %zu of %.200s", one->number, one->kernel);
            free(where);
        }
    }
    for (size_t i = 0; i < c->explained.count && l->other_count == 0; ++i) {
        if (!c->held[i]) {
            char *where = must_format("%s:%zu", c->why, c->explained.items[i].line);
            red(c, where, "UNUSED: there is no launch that it explains");
            free(where);
        }
    }
}

static void print_sum(const struct comparing *c) {
    const char *between = "; not counted: ";
    printf("\n%zu launch%s: %zu counts equal, %zu both zero, %zu explained, %zu wrong", c->launches,
           c->launches == 1 ? "" : "es", c->counts[EQUAL] - c->zeros, c->zeros, c->counts[EXPLAINED], c->counts[RED]);
    for (size_t q = 0; q < COUNTER_QUANTITIES; ++q) {
        if (!c->table.counted[q]) {
            printf("%s%s", between, counter_quantities[q].name);
            between = ", ";
        }
    }
    printf("\n");
}

static bool read_inputs(struct comparing *c, const struct ladder *l, const struct ladder_request *q,
                        const struct judging *j, struct error *e) {
    c->why =
        q->explained != NULL ? must_strdup(q->explained) : must_format("%s/fixtures/counters/explained.yaml", l->root);
    const bool good =
        json_spares(j->json, c->file, e) && json_spares(j->json, c->why, e) &&
        counter_table_read(c->file, &c->table, e) &&
        ((q->explained == NULL && access(c->why, F_OK) != 0) || counter_explanations_read(c->why, &c->explained, e));
    c->used = must_calloc(c->table.count + 1, sizeof *c->used);
    c->held = must_calloc(c->explained.count + 1, sizeof *c->held);
    return good;
}

int census_counters(struct ladder *l, const struct ladder_request *q, const struct judging *j) {
    struct comparing c = {.file = q->counters};
    struct error e;
    bool wrong = false, open = false;
    bool good = read_inputs(&c, l, q, j, &e);
    if (good && j->json != NULL) {
        json_begin(&c.json);
    }
    const bool json = good && j->json != NULL;
    if (good) {
        printf("%-34s %-20s %12s %12s  %s\n", "kernel", "quantity", "machine", "GPU",
               "difference (what neither counts is left out)");
    }
    for (size_t i = 0; good && i < l->count; ++i) {
        struct rung *r = &l->rungs[i];
        rung_run(r, j);
        if (r->why != NULL) {
            printf("%-34s %s\n", r->spec->kernel, r->why);
            leave_out(&c, r);
            open = true;
        } else if (!rung_passed(r)) {
            rung_failure(r, &wrong, &open);
            leave_out(&c, r);
        } else {
            good = compare_kernel(&c, r, json, &e);
        }
    }
    if (good) {
        compare_rest(&c, l);
        print_sum(&c);
    }
    if (json && good) {
        good = json_end(&c.json, j->json, &e);
    } else if (json) {
        json_drop(&c.json);
    }
    const size_t compared = c.counts[EQUAL] + c.counts[EXPLAINED] + c.counts[RED];
    counter_table_free(&c.table);
    counter_explanations_free(&c.explained);
    free(c.why);
    free(c.used);
    free(c.held);
    if (!good) {
        flush_output();
        return usage_error("census", "%s", e.text);
    }
    return wrong || c.counts[RED] > 0 ? EXIT_KERNEL_WRONG
           : open                     ? EXIT_INPUT
           : compared > 0             ? EXIT_PASSED
                                      : EXIT_NOTHING_RAN;
}
