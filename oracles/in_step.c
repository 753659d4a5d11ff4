#include "in_step.h"
#include "../ref/checked.h"
#include "in_step_run.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char *const difference_names[DIFFERENCES] = {"register", "ldmatrix result", "mma result",
                                                   "store to shared memory", "store"};

static struct warp_log *log_of(struct in_step_launch *l, const struct probe_step *at) {
    return &l->warps[(size_t)at->place.block_number * l->a_block + at->warp];
}

/* ---- A is kept ---- */

static void keep(struct in_step_launch *l, const struct probe_step *at) {
    struct warp_log *w = log_of(l, at);
    if (at->number == 0) { /* the launch was begun anew */
        l->x->kept -= w->count;
        w->count = 0;
    }
    if (w->count == w->room) {
        const size_t room = 2 * w->room + 256;
        struct step_digest *more = realloc(w->steps, room * sizeof *more);
        l->x->stop |= l->x->no_memory |= more == NULL;
        if (more == NULL) {
            return;
        }
        w->steps = more;
        w->room = room;
    }
    step_digest_of(at, aligned_number(l->x->programs, 0, at->text), &w->steps[w->count++]);
    l->x->stop |= ++l->x->kept > IN_STEP_MOST;
}

/* ---- B is compared ---- */

static struct moment moment_of(const struct in_step_launch *l, const struct probe_step *at, const struct warp_log *w) {
    return (struct moment){l->number + 1, at->place.block_number, w->phase, at->number - w->phase_began, at->warp};
}

bool in_step_is_earlier(const struct moment *a, const struct moment *b) {
    const uint64_t x[] = {a->launch, a->block, a->phase, a->step, a->warp},
                   y[] = {b->launch, b->block, b->phase, b->step, b->warp};
    size_t i = 0;
    while (i < 4 && x[i] == y[i]) {
        ++i;
    }
    return x[i] < y[i];
}

static void differs(struct in_step_launch *l, const struct probe_step *at, const struct warp_log *w,
                    enum difference_kind kind, size_t at_a) {
    struct difference *d = &l->x->out->first[kind];
    struct target *t = &l->x->targets[kind];
    const struct moment now = moment_of(l, at, w);
    if (d->found && !in_step_is_earlier(&now, &t->when)) {
        return;
    }
    *d = (struct difference){
        .found = true, .launch = l->number + 1, .warp = at->warp, .step = at->number, .apart = w->parted};
    memcpy(d->block, at->place.block, sizeof d->block);
    *t = (struct target){.when = now, .at = at_a};
    snapshot_take(&t->b, at);
}

static void part(struct in_step_launch *l, const struct probe_step *at, struct warp_log *w) {
    struct parting *p = &l->x->out->parting;
    struct target *t = &l->x->parting;
    w->parted = true;
    ++l->x->out->parted;
    for (int k = 0; k < DIFFERENCES; ++k) {
        w->next[k] = w->at;
    }
    const struct moment now = moment_of(l, at, w);
    if (p->found && !in_step_is_earlier(&now, &t->when)) {
        return;
    }
    *p = (struct parting){.found = true, .launch = l->number + 1, .warp = at->warp, .step = at->number};
    memcpy(p->block, at->place.block, sizeof p->block);
    *t = (struct target){.when = now, .at = w->at};
    snapshot_take(&t->b, at);
}

/* Places in shared memory are the builds' own affair; those in buffers are not. */
static bool alike(const struct step_digest *a, const struct step_digest *b) {
    return a->key == b->key && (step_kind(a) == DIFFERENCE_STORE ? a->all == b->all : a->values == b->values);
}

/* A has this step elsewhere in the warp's order. */
static bool moved(const struct warp_log *w, const struct step_digest *s) {
    for (size_t i = 0; i < w->count; ++i) {
        if (alike(&w->steps[i], s)) {
            return true;
        }
    }
    return false;
}

static void compare_apart(struct in_step_launch *l, const struct probe_step *at, struct warp_log *w,
                          const struct step_digest *s) {
    const enum difference_kind kind = step_kind(s);
    if (kind == DIFFERENCE_REGISTER || w->over[kind]) {
        return;
    }
    size_t i = w->next[kind];
    while (i < w->count && step_kind(&w->steps[i]) != kind) {
        ++i;
    }
    w->next[kind] = i + 1;
    ++l->x->out->steps;
    if ((i >= w->count || !alike(&w->steps[i], s)) && !moved(w, s)) {
        w->over[kind] = true;
        differs(l, at, w, kind, i);
    }
}

/* A's next step that is no instruction of A alone. */
static void pass_alone(const struct aligned *p, struct warp_log *w) {
    while (w->at < w->count && (w->steps[w->at].instruction == ALIGNED_NONE ||
                                p->partner[0][w->steps[w->at].instruction] == ALIGNED_NONE)) {
        ++w->at;
    }
}

static void compare_in_step(struct in_step_launch *l, const struct probe_step *at, struct warp_log *w,
                            const struct step_digest *s) {
    const struct step_digest *a = &w->steps[w->at++];
    ++w->seen;
    ++l->x->out->steps;
    ++l->x->out->together;
    if (a->key == s->key && a->all != s->all) {
        differs(l, at, w, step_kind(s), w->at - 1);
    }
}

static void compare(struct in_step_launch *l, const struct probe_step *at) {
    struct warp_log *w = log_of(l, at);
    const struct aligned *p = l->x->programs;
    const uint32_t number = aligned_number(p, 1, at->text);
    const uint32_t partner = number != ALIGNED_NONE ? p->partner[1][number] : ALIGNED_NONE;
    struct step_digest s;
    if (at->number == 0) { /* the launch was begun anew: what was found is found again */
        l->x->out->parted -= w->parted;
        l->x->out->steps -= w->seen;
        l->x->out->together -= w->seen;
        w->parted = false;
        w->seen = w->at = w->phase = 0;
        w->phase_began = 0;
        memset(w->over, 0, sizeof w->over);
    }
    step_digest_of(at, number, &s);
    if (!w->parted && partner != ALIGNED_NONE) {
        pass_alone(p, w);
        if (w->at < w->count && w->steps[w->at].instruction == partner) {
            compare_in_step(l, at, w, &s);
        } else {
            part(l, at, w);
        }
    }
    if (w->parted) {
        compare_apart(l, at, w, &s);
    }
    if (strncmp(at->text->opcode, "bar", 3) == 0) {
        ++w->phase;
        w->phase_began = at->number + 1;
    }
}

/* ---- A's values ---- */

static void fetch_one(const struct in_step_launch *l, const struct probe_step *at, struct target *t) {
    const struct moment *m = &t->when;
    if (m->launch == l->number + 1 && m->warp == at->warp && m->block == at->place.block_number &&
        t->at == at->number) {
        snapshot_take(&t->a, at);
    }
}

static void fetch(struct in_step_launch *l, const struct probe_step *at) {
    struct comparison *x = l->x;
    for (int k = 0; k < DIFFERENCES; ++k) {
        if (x->out->first[k].found) {
            fetch_one(l, at, &x->targets[k]);
        }
    }
    if (x->out->parting.found) {
        fetch_one(l, at, &x->parting);
    }
}

/* ---- the probe ---- */

static void on_barrier(void *context, const struct probe_barrier *at) {
    (void)context;
    (void)at;
}

static void on_mma(void *context, const struct probe_mma *at) {
    (void)context;
    (void)at;
}

static void on_step(void *context, const struct probe_step *at) {
    struct in_step_launch *l = context;
    (l->x->pass == PASS_KEEP ? keep : l->x->pass == PASS_COMPARE ? compare : fetch)(l, at);
}

/* ---- the runs ---- */

static void run_free(struct in_step_ran *r) {
    sequence_free(&r->runs);
    bound_free(&r->bound);
}

/* The largest number of warps of which something is kept. */
enum { MOST_WARPS = 1 << 22 };

static bool open_launches(struct comparison *x, struct bound *b, struct error *e) {
    x->count = b->then_count + 1;
    x->launches = must_calloc(x->count, sizeof *x->launches);
    for (size_t i = 0; i < x->count; ++i) {
        const struct launch *l = bound_launch(b, i);
        struct in_step_launch *s = &x->launches[i];
        *s = (struct in_step_launch){.x = x, .number = i, .blocks = (uint64_t)l->grid[0] * l->grid[1]};
        s->a_block = ((size_t)l->block[0] * l->block[1] * l->block[2] + 31) / 32;
        if (__builtin_mul_overflow(s->blocks, (uint64_t)l->grid[2], &s->blocks) || s->blocks > MOST_WARPS ||
            s->blocks * s->a_block > MOST_WARPS) {
            return fail(e, "%s: more than %d warps to compare: a smaller shape shows the same", b->spec->path,
                        MOST_WARPS);
        }
        s->warps = calloc((size_t)s->blocks * s->a_block + 1, sizeof *s->warps);
        if (s->warps == NULL) {
            return fail(e, "no memory to compare the %" PRIu64 " blocks of a launch", s->blocks);
        }
        x->out->warps += s->blocks * s->a_block;
    }
    return true;
}

static bool run(struct comparison *x, const struct trial *t, enum pass pass, struct in_step_ran *r, struct error *e) {
    struct probe *probes = NULL;
    *r = (struct in_step_ran){0};
    x->pass = pass;
    x->stop = false;
    bool good = bind_launch(t->spec, t->module, t->shape, t->operands, t->seed, &r->bound, e) &&
                bound_check(&r->bound, e) && (x->launches != NULL || open_launches(x, &r->bound, e));
    if (good) {
        struct launch_options options = t->options;
        options.unwatched = WATCH_ALL & ~(uint32_t)WATCH_STORES;
        options.schedule = (struct schedule){.order = SCHEDULE_IN_ORDER};
        options.census = false;
        bound_options(&r->bound, 1, &options);
        probes = must_calloc(x->count, sizeof *probes);
        for (size_t i = 0; i < x->count; ++i) {
            probes[i] = (struct probe){.context = &x->launches[i],
                                       .barrier = on_barrier,
                                       .operands = on_mma,
                                       .sums = on_mma,
                                       .step = on_step,
                                       .stop = &x->stop};
            bound_launch(&r->bound, i)->options.probe = &probes[i];
        }
        good = sequence_run(&runner_machine, &r->bound, &r->runs, e);
    }
    free(probes);
    if (good && x->stop) {
        good = x->no_memory ? fail(e, "no memory to keep the steps of %s", t->module->path)
                            : fail(e, "%s: more than %" PRIu64 " steps to compare: a smaller shape shows the same",
                                   t->spec->path, IN_STEP_MOST);
    }
    return good;
}

/* A step that B lacks, at the end of its warps. */
static void find_short(struct comparison *x) {
    for (size_t i = 0; i < x->count; ++i) {
        struct in_step_launch *l = &x->launches[i];
        for (uint64_t k = 0; k < l->blocks * l->a_block; ++k) {
            struct warp_log *w = &l->warps[k];
            pass_alone(x->programs, w);
            if (w->parted || w->at >= w->count) {
                continue;
            }
            ++x->out->parted;
            struct parting *p = &x->out->parting;
            if (!p->found) {
                *p =
                    (struct parting){.found = true, .launch = i + 1, .warp = (uint32_t)(k % l->a_block), .step = w->at};
                x->parting = (struct target){.when = {i + 1, k / l->a_block, 0, w->at, p->warp}, .at = w->at};
            }
        }
    }
}

static void count_pairs(struct comparison *x, const struct spec *s) {
    const char **entries = must_calloc(s->then_count + 1, sizeof *entries);
    struct in_step *out = x->out;
    entries[0] = s->entry;
    for (size_t n = 0; n < s->then_count; ++n) {
        entries[n + 1] = s->then[n].entry;
    }
    out->aligned = aligned_count(x->programs, entries, s->then_count + 1);
    out->exact = out->aligned.moved == 0 && out->aligned.alone[0] == 0 && out->aligned.alone[1] == 0 &&
                 out->aligned.pairs[ALIGNED_REGISTERS] == 0 && x->programs->renames;
    for (int side = 0; side < 2; ++side) {
        for (size_t i = 0; i < x->programs->count[side]; ++i) {
            out->too_far |= x->programs->too_far[side][i];
        }
    }
    free(entries);
}

bool in_step_run(const struct trial *a, const struct trial *b, struct in_step *out, struct error *e) {
    struct comparison *x = must_calloc(1, sizeof *x);
    struct in_step_ran first, of_b = {0}, again = {0};
    *out = (struct in_step){.modules = {a->module, b->module}, .earliest = -1};
    x->out = out;
    x->programs = aligned_make(a->module, b->module);
    count_pairs(x, a->spec);
    bool good = run(x, a, PASS_KEEP, &first, e) && run(x, b, PASS_COMPARE, &of_b, e);
    if (good) {
        find_short(x);
        good = run(x, a, PASS_FETCH, &again, e);
    }
    if (good) {
        in_step_tell(x, &again, &of_b);
    }
    for (size_t i = 0; x->launches != NULL && i < x->count; ++i) {
        for (uint64_t k = 0; x->launches[i].warps != NULL && k < x->launches[i].blocks * x->launches[i].a_block; ++k) {
            free(x->launches[i].warps[k].steps);
        }
        free(x->launches[i].warps);
    }
    free(x->launches);
    aligned_free(x->programs);
    free(x);
    run_free(&first);
    run_free(&of_b);
    run_free(&again);
    return good;
}

enum in_step_verdict in_step_verdict(const struct in_step *x) {
    return x->judged_apart || x->output.buffer != NULL || x->ran[0] != x->ran[1] ? IN_STEP_DIFFERS
           : x->earliest < 0                                                     ? IN_STEP_SAME
           : x->exact                                                            ? IN_STEP_DIFFERS
                                                                                 : IN_STEP_CANNOT_JUDGE;
}
