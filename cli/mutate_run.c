/* Which cases a mutant is run on, and what comes of it. */
#include "../gpu/mutant_proof.h"
#include "../oracles/sequence.h"
#include "../ref/checked.h"
#include "mutate.h"
#include <stdlib.h>
#include <string.h>

enum {
    SMALL_SHAPES = 8,      /* of the small set; each with every class */
    MOST_TAIL = 160,       /* tokens and rows of a shape that is tried for its ends alone */
    SPARE_STEPS = 1 << 14, /* what a block may take past twice what all took without a mutant */
};

const char *const fate_names[FATES] = {"killed", "equivalent", "named", "unreached", "survived", "invalid"};

/* ---- cases ---- */

static uint64_t work(const struct test_case *c) {
    return (uint64_t)c->nt * (c->od > 0 ? c->od : 1) * c->depth;
}

static bool same_shape(const struct test_case *a, const struct test_case *b) {
    return a->nt == b->nt && a->od == b->od && a->depth == b->depth;
}

/* How many of its axis values no chosen shape has. */
static unsigned news(const struct test_case *c, const struct test_case **chosen, size_t count) {
    bool nt = true, od = true, depth = true;
    for (size_t i = 0; i < count; ++i) {
        nt &= chosen[i]->nt != c->nt;
        od &= chosen[i]->od != c->od;
        depth &= chosen[i]->depth != c->depth;
    }
    return nt + od + depth;
}

/* A smaller shape with the same news comes first, so that every value of an axis is met early. */
static const struct test_case *next_shape(const struct test_case **mine, size_t count, const struct test_case **chosen,
                                          size_t chosen_count) {
    const struct test_case *best = NULL;
    unsigned best_news = 0;
    for (size_t i = 0; i < count; ++i) {
        const unsigned n = news(mine[i], chosen, chosen_count);
        if (n > best_news || (n == best_news && n > 0 && work(mine[i]) < work(best))) {
            best = mine[i];
            best_news = n;
        }
    }
    return best;
}

static int by_work(const void *a, const void *b) {
    const struct test_case *x = *(const struct test_case *const *)a, *y = *(const struct test_case *const *)b;
    if (work(x) != work(y)) {
        return work(x) < work(y) ? -1 : 1;
    }
    return x->data != y->data ? (x->data < y->data ? -1 : 1) : strcmp(x->id, y->id);
}

static int by_class(const void *a, const void *b) {
    const struct test_case *x = *(const struct test_case *const *)a, *y = *(const struct test_case *const *)b;
    return x->data != y->data ? (x->data < y->data ? -1 : 1) : by_work(a, b);
}

/* Of the quick cases the small set, class by class, exact first; then all others, the cheapest first. */
static void order_cases(struct mutate_kernel *k) {
    const struct test_case *shapes[SMALL_SHAPES];
    size_t shape_count = 0, small = 0;
    for (const struct test_case *c;
         shape_count < SMALL_SHAPES && (c = next_shape(k->cases, k->case_count, shapes, shape_count)) != NULL;) {
        shapes[shape_count++] = c;
    }
    qsort(k->cases, k->case_count, sizeof(struct test_case *), by_work);
    for (size_t i = 0; i < k->case_count; ++i) {
        for (size_t s = 0; s < shape_count; ++s) {
            if (same_shape(k->cases[i], shapes[s])) {
                const struct test_case *c = k->cases[i];
                memmove(k->cases + small + 1, k->cases + small, (i - small) * sizeof *k->cases);
                k->cases[small++] = c;
                break;
            }
        }
    }
    qsort(k->cases, small, sizeof(struct test_case *), by_class);
    k->small_count = small;
}

/* The quick cases, then the cheapest of all others, at most `most_full` of those. */
static void choose_cases(struct mutate_kernel *k, const struct mutate_cases *all, const struct mutate_options *o) {
    const struct case_list *list = &all->set->list;
    k->cases = must_calloc(list->count + 1, sizeof *k->cases);
    for (int full = 0; full < 2; ++full) {
        const size_t first = k->case_count;
        for (size_t i = 0; i < list->count; ++i) {
            const struct test_case *c = &list->cases[i];
            if (all->set->chosen[i] && all->quick[i] == !full && c->spec == k->spec && c->data < DATA_REAL) {
                k->cases[k->case_count++] = c;
            }
        }
        if (!full) {
            k->quick_count = k->case_count;
            order_cases(k);
        } else {
            qsort(k->cases + first, k->case_count - first, sizeof(struct test_case *), by_work);
            k->case_count = k->case_count - first < o->most_full ? k->case_count : first + o->most_full;
        }
    }
    k->case_count = k->case_count < o->most_cases ? k->case_count : o->most_cases;
    k->small_count = k->small_count < k->case_count ? k->small_count : k->case_count;
}

/* ---- one trial ---- */

static bool run_case(const struct mutate_kernel *k, size_t i, const struct ptx_module *m, uint64_t steps, int threads,
                     struct outcome *o) {
    const struct test_case *c = k->cases[i];
    struct shape_value values[3];
    const struct shape shape = case_shape(c, values);
    struct operands own = {0};
    struct error e;
    const bool kept = i < k->small_count && k->operands[i].activation != NULL;
    const struct trial t = {.id = c->id,
                            .spec = c->spec,
                            .module = m,
                            .runner = &runner_machine,
                            .contract = c->contract,
                            .operands = kept ? &k->operands[i] : &own,
                            .shape = &shape,
                            .threads = threads,
                            .schedules = i < k->small_count ? SCHEDULES_ONE : SCHEDULES_OPEN,
                            .steps = steps};
    const bool good = kept || case_operands(c, &own, &e);
    if (good) {
        trial_run(&t, o);
    } else {
        trial_refuse(&t, &e, o);
    }
    if (!kept && good) {
        operands_free(&own);
    }
    return good;
}

/* The first finding of a judge that counts, or NULL. */
static const struct finding *first_red(const struct outcome *o, uint32_t off, int *oracle) {
    for (size_t i = 0; i < o->findings.count; ++i) {
        const struct finding *f = &o->findings.items[i];
        *oracle = -1;
        for (int k = 0; oracles[k] != NULL; ++k) {
            *oracle = strcmp(oracles[k]->name, f->oracle) == 0 ? k : *oracle;
        }
        if (*oracle < 0 && strstr(f->summary, "ran past") != NULL) {
            *oracle = 0; /* the budget of all blocks: what oracle launch says of one block's */
        }
        if (*oracle < 0 || (off >> *oracle & 1) == 0) {
            return f;
        }
    }
    return NULL;
}

bool mutate_prepare(struct mutate_kernel *k, const struct mutate_cases *all, const struct mutate_options *o,
                    struct error *e) {
    choose_cases(k, all, o);
    if (k->quick_count == 0) {
        return fail(e, "kernel %s has no quick cases with made operands", k->spec->kernel);
    }
    k->flows = must_calloc(k->spec->then_count + 1, sizeof(struct mutant_flow *));
    for (size_t i = 0; i <= k->spec->then_count; ++i) {
        const struct spec *s = i == 0 ? k->spec : &k->spec->then[i - 1];
        const struct ptx_function *f = ptx_entry_named(k->module, s->entry);
        bool first = f != NULL; /* an entry that is launched twice has two launch files: nothing is proved of it */
        for (size_t n = 0; n <= k->spec->then_count; ++n) {
            first &= n == i || strcmp(n == 0 ? k->spec->entry : k->spec->then[n - 1].entry, s->entry) != 0;
        }
        if (first) {
            k->flows[k->flow_count] = mutant_flow_make(k->module, (size_t)(f - k->module->functions), s);
            mutant_flow_walk(k->flows[k->flow_count++]);
        }
    }
    k->operands = must_calloc(k->small_count + 1, sizeof *k->operands);
    k->steps = must_calloc(k->small_count + 1, sizeof *k->steps);
    for (size_t i = 0; i < k->small_count; ++i) {
        struct outcome out;
        if (!case_operands(k->cases[i], &k->operands[i], e)) {
            return false;
        }
        run_case(k, i, k->module, 0, o->threads, &out);
        k->steps[i] = 2 * out.warp_instructions + SPARE_STEPS;
        const bool good = outcome_verdict(&out) == VERDICT_PASS;
        if (!good) {
            fail(e, "%s is red without a mutant: build/warpproof gate '%s'", k->spec->kernel, k->cases[i]->id);
        }
        outcome_free(&out);
        if (!good) {
            return false;
        }
    }
    return true;
}

void mutate_kernel_free(struct mutate_kernel *k) {
    for (size_t i = 0; k->operands != NULL && i < k->small_count; ++i) {
        operands_free(&k->operands[i]);
    }
    for (size_t i = 0; i < k->flow_count; ++i) {
        mutant_flow_free(k->flows[i]);
    }
    free(k->flows);
    free(k->operands);
    free(k->cases);
    free(k->steps);
    mutants_free(&k->mutants);
}

/* ---- one mutant ---- */

/* A block of a larger case takes at most as many times the steps as the case has work: the least of what the small ones
 * say, doubled. */
static uint64_t budget(const struct mutate_kernel *k, size_t i) {
    uint64_t least = UINT64_MAX;
    for (size_t s = 0; i >= k->small_count && s < k->small_count; ++s) {
        const uint64_t times = 1 + work(k->cases[i]) / work(k->cases[s]), steps = 2 * k->steps[s] * times;
        least = steps < least ? steps : least;
    }
    return i < k->small_count ? k->steps[i] : least;
}

/* Runs cases [first, last) until one is red; the fate is open where none is. */
static bool killed(struct mutation *x, const struct ptx_module *m, size_t first, size_t last,
                   const struct mutate_options *o) {
    struct mutate_kernel *k = x->kernel;
    for (size_t i = first; i < last; ++i) {
        struct outcome out;
        int oracle;
        run_case(k, i, m, budget(k, i), 1, &out);
        ++x->runs;
        const struct finding *f = first_red(&out, o->off, &oracle);
        if (f != NULL) {
            x->fate = oracle < 0 ? FATE_INVALID : FATE_KILLED;
            x->oracle = oracle;
            x->verdict = f->verdict;
            x->id = k->cases[i]->id;
            x->full = i >= k->quick_count;
            x->reason = must_strdup(f->summary);
        }
        outcome_free(&out);
        if (f != NULL) {
            return true;
        }
    }
    return false;
}

/* With `trap` in the place of the instruction some case is red, unless no lane executes it in any. */
static bool unreached(const struct mutation *x, const struct mutate_options *o) {
    const struct mutate_kernel *k = x->kernel;
    size_t size;
    struct error e;
    char *text = mutant_probe_text(k->module, x->mutant, &size);
    struct ptx_module *m = ptx_parse(k->module->path, text, size, &e);
    struct mutation probe = {.kernel = x->kernel, .mutant = x->mutant};
    const struct mutate_options all = {.threads = o->threads};
    const bool reached = m == NULL || killed(&probe, m, 0, k->case_count, &all);
    free(probe.reason);
    free(text);
    ptx_free(m);
    return !reached;
}

static char *prove(const struct mutate_kernel *k, const struct ptx_module *changed, const struct mutant *x,
                   bool by_threads) {
    for (size_t i = 0; i < k->flow_count; ++i) {
        if (mutant_flow_function(k->flows[i]) == x->function) {
            return (by_threads ? mutant_equivalent_by_threads : mutant_equivalent)(k->flows[i], k->module, changed, x);
        }
    }
    return NULL;
}

void mutate_one(struct mutation *x, const struct mutate_options *o) {
    const struct mutate_kernel *k = x->kernel;
    struct error e;
    size_t size;
    char *text = mutant_text(k->module, x->mutant, &size);
    struct ptx_module *m = ptx_parse(k->module->path, text, size, &e);
    char *why = m != NULL ? prove(k, m, x->mutant, false) : NULL;
    const bool dead = m != NULL && killed(x, m, 0, k->small_count, o);
    if (m != NULL && why == NULL && (!dead || o->check)) {
        why = prove(k, m, x->mutant, true);
    }
    x->proved = why != NULL;
    if (m == NULL) {
        x->fate = FATE_INVALID;
        x->reason = must_strdup(e.text);
    } else if (dead) {
        /* its fate is known */
    } else if (why != NULL) {
        x->fate = FATE_EQUIVALENT;
        x->reason = must_strdup(why);
    } else if (killed(x, m, k->small_count, k->case_count, o)) {
        /* its fate is known */
    } else if (x->named != NULL) {
        x->fate = FATE_NAMED;
        x->reason = must_strdup(x->named);
    } else if (unreached(x, o)) {
        x->fate = FATE_UNREACHED;
        x->reason = must_format("no lane executes it in any of %zu cases", k->case_count);
    } else {
        x->fate = FATE_SURVIVED;
        x->reason = must_format("%zu case%s passed", x->runs, plural(x->runs));
    }
    free(why);
    free(text);
    ptx_free(m);
}
