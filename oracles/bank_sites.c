#include "bank_sites.h"
#include "../ref/checked.h"
#include "sequence.h"
#include <stdlib.h>
#include <string.h>

static void add_counts(struct site_count *into, const struct site_count *one) {
    into->executed += one->executed;
    into->requests += one->requests;
    into->wavefronts += one->wavefronts;
    into->conflicts += one->conflicts;
    into->sectors += one->sectors;
}

static bool is_worse(const struct site_access *a, const struct site_access *b) {
    return a->conflicts != b->conflicts ? a->conflicts > b->conflicts : a->wavefronts > b->wavefronts;
}

static void fill_where(struct bank_site *b, const struct launch_run *r, size_t site) {
    const uint32_t *grid = r->launch->grid;
    b->where =
        (struct where){.has_thread = true,
                       .block = {(uint32_t)(b->worst.block % grid[0]), (uint32_t)(b->worst.block / grid[0] % grid[1]),
                                 (uint32_t)(b->worst.block / grid[0] / grid[1])},
                       .warp = b->worst.warp,
                       .cell = {-1, -1},
                       .launch = r->all > 1 ? r->number : 0};
    where_site(&b->where, r->trace, site);
}

/* The sites of one launch: first the place's lead, then its like. */
static void add_launch(struct bank_sites *s, const struct launch_run *r) {
    const struct trace *t = r->trace;
    bool *told = must_calloc(t->site_count + 1, sizeof *told);
    for (size_t i = 0; t->counts != NULL && i < t->site_count; ++i) {
        if (told[i] || t->counts[i].wavefronts == 0) {
            continue;
        }
        struct bank_site b = {.instructions = 0};
        size_t lead = i;
        for (size_t k = i; k < t->site_count; ++k) {
            if (!told[k] && t->counts[k].wavefronts > 0 && trace_same_place(t, i, k)) {
                told[k] = true;
                ++b.instructions;
                add_counts(&b.count, &t->counts[k]);
                if (b.instructions == 1 || is_worse(&t->worst[k], &b.worst)) {
                    b.worst = t->worst[k];
                    lead = k;
                }
            }
        }
        fill_where(&b, r, lead);
        s->items = must_realloc(s->items, s->count + 1, sizeof *s->items);
        s->items[s->count++] = b;
    }
    free(told);
}

static int by_weight(const void *a, const void *b) {
    const struct bank_site *x = a, *y = b;
    const struct site_count *m = &x->count, *n = &y->count;
    return m->conflicts != n->conflicts     ? (m->conflicts > n->conflicts ? -1 : 1)
           : m->wavefronts != n->wavefronts ? (m->wavefronts > n->wavefronts ? -1 : 1)
           : x->where.launch != y->where.launch
               ? (x->where.launch < y->where.launch ? -1 : 1)
               : (x->where.ptx_line > y->where.ptx_line) - (x->where.ptx_line < y->where.ptx_line);
}

bool bank_sites_run(const struct trial *t, struct bank_sites *s, struct error *e) {
    struct trial counting = *t;
    struct bound bound = {0};
    struct sequence runs = {0};
    counting.options.census = true;
    counting.options.unwatched = WATCH_ALL;
    counting.options.probe = NULL;
    *s = (struct bank_sites){0};
    const bool good = trial_bind(&counting, &(struct schedule){.order = SCHEDULE_IN_ORDER}, &bound, e) &&
                      bound_check(&bound, e) && sequence_run(&runner_machine, &bound, &runs, e);
    for (size_t i = 0; good && i < runs.count; ++i) {
        add_launch(s, &runs.runs[i]);
    }
    if (s->count > 0) {
        qsort(s->items, s->count, sizeof *s->items, by_weight);
    }
    sequence_free(&runs);
    bound_free(&bound);
    return good;
}

void bank_sites_free(struct bank_sites *s) {
    for (size_t i = 0; i < s->count; ++i) {
        where_free(&s->items[i].where);
    }
    free(s->items);
    *s = (struct bank_sites){0};
}
