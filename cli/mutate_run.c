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

const char *const fate_names[FATES] = {"killed", "equivalent", "unreached", "survived", "invalid"};

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

/* The small set, class by class, exact first; then all others, the cheapest first. */
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

/* Each end of a tile has a branch of its own in an unrolled store, and the lattice's shapes end at few of them: every
 * number of tokens and of rows, beside one of the other, then beside the most, of class exact. Ends within fragments of
 * 8 come first, spread over all of them. */
static void add_tail(struct mutate_kernel *k, const struct test_case *like, size_t nt, size_t od) {
    struct test_case c = *like;
    struct shape_value values[3];
    struct error e;
    const char *unmet = NULL;
    c.nt = nt;
    c.od = od;
    const struct shape shape = case_shape(&c, values);
    if (!spec_needs(c.spec, &shape, &unmet, &e) || unmet != NULL) {
        return;
    }
    const char *place = strstr(like->id, "/nt"), *after = place != NULL ? strchr(place + 1, '/') : NULL;
    if (after == NULL) {
        return;
    }
    char *shape_text =
        od > 0 ? must_format("nt%zu.od%zu.id%zu", nt, od, c.depth) : must_format("nt%zu.id%zu", nt, c.depth);
    c.id = must_format("%.*s/%s%s", (int)(place - like->id), like->id, shape_text, after);
    free(shape_text);
    k->tails = must_realloc(k->tails, k->tail_count + 1, sizeof *k->tails);
    k->tails[k->tail_count++] = c;
}

static void make_tails(struct mutate_kernel *k) {
    static const size_t ends[] = {5, 2, 7, 0, 1, 3, 4, 6};
    const struct test_case *like = k->cases[0];
    size_t most_nt = 1, most_od = like->od > 0 ? 1 : 0;
    size_t least = SIZE_MAX, depth = SIZE_MAX; /* the two least: loops over the depth come round again */
    for (size_t i = 0; i < k->case_count; ++i) {
        const size_t d = k->cases[i]->data == DATA_EXACT ? k->cases[i]->depth : least;
        depth = d < least ? least : d > least && d < depth ? d : depth;
        least = d < least ? d : least;
    }
    depth = depth == SIZE_MAX ? least : depth;
    for (size_t i = 0; i < k->case_count; ++i) {
        const struct test_case *c = k->cases[i];
        like =
            c->data == DATA_EXACT && c->depth == depth && (like->data != DATA_EXACT || like->depth != depth) ? c : like;
        most_nt = c->nt > most_nt && c->nt <= MOST_TAIL ? c->nt : most_nt;
        most_od = c->od > most_od && c->od <= MOST_TAIL ? c->od : most_od;
    }
    for (int wide = 0; wide < 2; ++wide) {
        const size_t other_nt = wide ? most_nt : 1, other_od = wide || most_od == 0 ? most_od : 1;
        for (size_t r = 0; r < sizeof ends / sizeof *ends; ++r) {
            for (size_t nt = ends[r] > 0 ? ends[r] : 8; nt <= most_nt; nt += 8) {
                add_tail(k, like, nt, other_od);
            }
            for (size_t od = ends[r] > 0 ? ends[r] : 8; od <= most_od; od += 8) {
                add_tail(k, like, other_nt, od);
            }
        }
        if (most_od == 0) {
            break;
        }
    }
    /* the list's order: the small set, these, the rest */
    k->cases = must_realloc(k->cases, k->case_count + k->tail_count + 1, sizeof *k->cases);
    memmove(k->cases + k->small_count + k->tail_count, k->cases + k->small_count,
            (k->case_count - k->small_count) * sizeof *k->cases);
    for (size_t i = 0; i < k->tail_count; ++i) {
        k->cases[k->small_count + i] = &k->tails[i];
    }
    k->case_count += k->tail_count;
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

bool mutate_prepare(struct mutate_kernel *k, const struct case_set *set, const struct mutate_options *o,
                    struct error *e) {
    k->cases = must_calloc(set->list.count + 1, sizeof *k->cases);
    for (size_t i = 0; i < set->list.count; ++i) {
        const struct test_case *c = &set->list.cases[i];
        if (set->chosen[i] && c->spec == k->spec && c->data < DATA_REAL) {
            k->cases[k->case_count++] = c;
        }
    }
    if (k->case_count == 0) {
        return fail(e, "kernel %s has no cases with made operands", k->spec->kernel);
    }
    pthread_mutex_init(&k->lock, NULL);
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
    order_cases(k);
    make_tails(k);
    k->case_count = k->case_count < o->most_cases ? k->case_count : o->most_cases;
    k->small_count = k->small_count < k->case_count ? k->small_count : k->case_count;
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
    for (size_t i = 0; i < k->tail_count; ++i) {
        free(k->tails[i].id);
    }
    if (k->flows != NULL) {
        pthread_mutex_destroy(&k->lock);
    }
    free(k->flows);
    free(k->tails);
    free(k->operands);
    free(k->cases);
    free(k->steps);
    free(k->executed);
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
            x->reason = must_strdup(f->summary);
        }
        outcome_free(&out);
        if (f != NULL) {
            return true;
        }
    }
    return false;
}

/* Marks the lines that one case comes to without a mutant. */
static bool count_case(struct mutate_kernel *k, size_t i) {
    const struct test_case *c = k->cases[i];
    struct shape_value values[3];
    const struct shape shape = case_shape(c, values);
    struct operands own = {0};
    struct bound b = {0};
    struct sequence runs = {0};
    struct error e;
    const bool kept = i < k->small_count;
    const struct trial t = {.id = c->id,
                            .spec = c->spec,
                            .module = k->module,
                            .runner = &runner_machine,
                            .contract = c->contract,
                            .operands = kept ? &k->operands[i] : &own,
                            .shape = &shape,
                            .threads = 1,
                            .options = {.unwatched = WATCH_ALL, .census = true}};
    const struct schedule in_order = {0};
    bool good = (kept || case_operands(c, &own, &e)) && trial_bind(&t, &in_order, &b, &e);
    if (good) {
        good = bound_check(&b, &e) && sequence_run(&runner_machine, &b, &runs, &e);
        for (size_t r = 0; r < runs.count; ++r) {
            const struct trace *trace = &runs.traces[r];
            for (size_t n = 0; trace->counts != NULL && n < trace->site_count; ++n) {
                const size_t line = (size_t)trace->sites[n].ptx_line;
                k->executed[line <= k->line_count ? line : 0] |= trace->counts[n].executed > 0;
            }
        }
        sequence_free(&runs);
        bound_free(&b);
    }
    if (!kept) {
        operands_free(&own);
    }
    return good;
}

/* Whether some warp comes to the line of the mutant in some case; counted once for all mutants of a kernel. */
static bool comes_to(struct mutate_kernel *k, const struct mutant *x) {
    pthread_mutex_lock(&k->lock);
    if (!k->counted) {
        bool good = true;
        for (const char *s = k->module->text; *s != 0; ++s) {
            k->line_count += *s == '\n';
        }
        ++k->line_count;
        k->executed = must_calloc(k->line_count + 1, sizeof *k->executed);
        for (size_t i = 0; good && i < k->case_count; ++i) {
            good = count_case(k, i);
        }
        memset(k->executed, !good, good ? 0 : k->line_count + 1);
        k->counted = true;
    }
    const bool comes = k->executed[(size_t)x->line <= k->line_count ? x->line : 0];
    pthread_mutex_unlock(&k->lock);
    return comes;
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

static char *prove(const struct mutate_kernel *k, const struct ptx_module *changed, const struct mutant *x) {
    for (size_t i = 0; i < k->flow_count; ++i) {
        if (mutant_flow_function(k->flows[i]) == x->function) {
            return mutant_equivalent(k->flows[i], k->module, changed, x);
        }
    }
    return NULL;
}

static bool guarded(const struct mutate_kernel *k, const struct mutant *x) {
    return x->by != MUTANT_PREDICATE && k->module->functions[x->function].instructions[x->instruction].guard >= 0;
}

void mutate_one(struct mutation *x, const struct mutate_options *o) {
    struct mutate_kernel *k = x->kernel;
    struct error e;
    size_t size;
    char *text = mutant_text(k->module, x->mutant, &size);
    struct ptx_module *m = ptx_parse(k->module->path, text, size, &e);
    char *why = m != NULL ? prove(k, m, x->mutant) : NULL;
    x->proved = why != NULL;
    if (m == NULL) {
        x->fate = FATE_INVALID;
        x->reason = must_strdup(e.text);
    } else if (killed(x, m, 0, k->small_count, o)) {
        /* its fate is known */
    } else if (why != NULL) {
        x->fate = FATE_EQUIVALENT;
        x->reason = must_strdup(why);
    } else if (!comes_to(k, x->mutant)) {
        x->fate = FATE_UNREACHED;
        x->reason = must_format("no warp comes to it in any of %zu cases", k->case_count);
    } else if (killed(x, m, k->small_count, k->case_count, o)) {
        /* its fate is known */
    } else if (guarded(k, x->mutant) && unreached(x, o)) {
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
