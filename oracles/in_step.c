#include "in_step.h"
#include "../ref/checked.h"
#include "in_step_log.h"
#include "sequence.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char *const difference_names[DIFFERENCES] = {"register", "ldmatrix result", "mma result",
                                                   "store to shared memory", "store"};

struct warp_log { /* of a warp of a block */
    struct step_digest *steps;
    size_t count, room;
    /* B's side */
    bool parted;
    size_t seen;              /* steps of B */
    uint32_t phase;           /* barriers of B */
    uint64_t phase_began;     /* step of B after the last one */
    size_t next[DIFFERENCES]; /* once parted: where A's next step of the kind is looked for */
    bool over[DIFFERENCES];   /* the kind has differed in this warp: no more of it is compared */
};

/* Within a block what happens before one barrier comes before what happens after it; between two, warps run at once,
 * and what takes fewer steps from there is taken for the earlier one. */
struct moment {
    size_t launch; /* from 1 */
    uint64_t block, phase, step;
    uint32_t warp;
};

struct target {         /* a step of A whose values are wanted, and B's */
    struct moment when; /* of B */
    size_t at;          /* of A's warp */
    struct snapshot a, b;
};

struct in_step_launch { /* one launch of the trial, for its probe */
    struct comparison *x;
    size_t number;
    uint64_t blocks;
    size_t a_block; /* warps */
    struct warp_log *warps;
};

enum pass { PASS_KEEP, PASS_COMPARE, PASS_FETCH };

struct comparison {
    struct in_step *out;
    enum pass pass;
    struct in_step_launch *launches; /* (count) */
    size_t count;
    uint64_t kept;
    struct target targets[DIFFERENCES], parting; /* of out->first, out->parting */
    bool stop, no_memory;
};

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
    step_digest_of(at, &w->steps[w->count++]);
    l->x->stop |= ++l->x->kept > IN_STEP_MOST;
}

/* ---- B is compared ---- */

static struct moment moment_of(const struct in_step_launch *l, const struct probe_step *at, const struct warp_log *w) {
    return (struct moment){l->number + 1, at->place.block_number, w->phase, at->number - w->phase_began, at->warp};
}

static bool is_earlier(const struct moment *a, const struct moment *b) {
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
    if (d->found && !is_earlier(&now, &t->when)) {
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
        w->next[k] = (size_t)at->number;
    }
    const struct moment now = moment_of(l, at, w);
    if (p->found && !is_earlier(&now, &t->when)) {
        return;
    }
    *p = (struct parting){.found = true, .launch = l->number + 1, .warp = at->warp, .step = at->number};
    memcpy(p->block, at->place.block, sizeof p->block);
    *t = (struct target){.when = now, .at = (size_t)at->number};
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

/* In step: A's step of this number is the same instruction, as in_step.h says. */
static bool goes_on(const struct comparison *x, const struct warp_log *w, uint64_t number,
                    const struct step_digest *s) {
    if (number >= w->count) {
        return false;
    }
    const struct step_digest *a = &w->steps[number];
    return a->key == s->key && (x->out->same_opcodes || (a->text == s->text && a->all == s->all));
}

static void compare(struct in_step_launch *l, const struct probe_step *at) {
    struct warp_log *w = log_of(l, at);
    struct step_digest s;
    if (at->number == 0) { /* the launch was begun anew: what was found is found again */
        l->x->out->parted -= w->parted;
        l->x->out->steps -= w->seen;
        l->x->out->together -= w->seen;
        w->parted = false;
        w->seen = w->phase = 0;
        w->phase_began = 0;
        memset(w->over, 0, sizeof w->over);
    }
    step_digest_of(at, &s);
    if (!w->parted && !goes_on(l->x, w, at->number, &s)) {
        part(l, at, w);
    }
    if (w->parted) {
        compare_apart(l, at, w, &s);
    } else {
        ++w->seen;
        ++l->x->out->steps;
        ++l->x->out->together;
        if (w->steps[at->number].all != s.all) {
            differs(l, at, w, step_kind(&s), (size_t)at->number);
        }
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

struct run {
    struct bound bound;
    struct sequence runs;
};

static void run_free(struct run *r) {
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

static bool run(struct comparison *x, const struct trial *t, enum pass pass, struct run *r, struct error *e) {
    struct probe *probes = NULL;
    *r = (struct run){0};
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
            if (w->parted || w->seen >= w->count) {
                continue;
            }
            ++x->out->parted;
            struct parting *p = &x->out->parting;
            if (!p->found) {
                *p = (struct parting){
                    .found = true, .launch = i + 1, .warp = (uint32_t)(k % l->a_block), .step = w->seen};
                x->parting = (struct target){.when = {i + 1, k / l->a_block, 0, w->seen, p->warp}, .at = w->seen};
            }
        }
    }
}

/* ---- what is told ---- */

static const struct trace *trace_of(const struct run *r, size_t launch) {
    return launch <= r->runs.count ? &r->runs.traces[launch - 1] : NULL;
}

static void fill_site(struct in_step_side *side, const struct snapshot *s, const struct trace *t) {
    side->present = s->taken && t != NULL && s->site < t->site_count;
    if (side->present) {
        side->site = t->sites[s->site];
    }
}

static void fill(struct difference *d, enum difference_kind kind, const struct target *t, const struct run *a,
                 const struct run *b) {
    const struct snapshot *of[2] = {&t->a, &t->b};
    size_t value = 0;
    fill_site(&d->side[0], of[0], trace_of(a, d->launch));
    fill_site(&d->side[1], of[1], trace_of(b, d->launch));
    const bool moves = d->apart && kind == DIFFERENCE_SHARED;
    if (!snapshots_differ(of[0], of[1], moves, &d->lane, &value)) { /* one has none, or it is not among those kept */
        d->lane = (unsigned)__builtin_ctz(t->b.lanes);
        value = d->apart && t->b.has_address && t->b.count > 1 ? 1 : 0;
    }
    for (int k = 0; k < 2; ++k) {
        const bool has = value < of[k]->count;
        d->side[k].executed = d->side[k].present && has && of[k]->lanes >> d->lane & 1;
        d->side[k].name = has ? of[k]->names[value] : NULL;
        d->side[k].value = has ? of[k]->values[value][d->lane] : 0;
        d->bits = has && of[k]->bits[value] > d->bits ? of[k]->bits[value] : d->bits;
    }
    d->is_address = t->b.has_address && value == 0;
}

static void find_earliest(struct comparison *x) {
    x->out->earliest = -1;
    for (int k = 0; k < DIFFERENCES; ++k) {
        if (!x->out->first[k].found) {
            continue;
        }
        if (x->out->earliest < 0 || is_earlier(&x->targets[k].when, &x->targets[x->out->earliest].when)) {
            x->out->earliest = k;
        }
    }
}

static void find_writer(const struct run *r, size_t buffer, size_t cell, struct output_difference *o, int side) {
    for (size_t i = r->runs.count; i-- > 0;) {
        const struct trace *t = &r->runs.traces[i];
        const struct launch *l = r->runs.runs[i].launch;
        const struct buffer_coverage *c = &t->coverage[buffer];
        const size_t bytes = l->buffers[buffer].cell_bytes;
        bool stored = false;
        for (size_t k = 0; t->has_coverage && c->stores != NULL && k < bytes; ++k) {
            stored |= (c->stores[cell * bytes + k] & 127) != 0;
        }
        if (!stored || c->cells == NULL) {
            continue;
        }
        const struct cell_writer *w = &c->cells[cell].last;
        o->by[side].stored = true;
        o->by[side].block[0] = w->block % l->grid[0];
        o->by[side].block[1] = w->block / l->grid[0] % l->grid[1];
        o->by[side].block[2] = w->block / l->grid[0] / l->grid[1];
        o->by[side].warp = w->thread / 32;
        o->by[side].lane = w->thread % 32;
        o->by[side].site = w->instruction < t->site_count ? t->sites[w->instruction] : (struct trace_site){0};
        return;
    }
}

static void find_output(const struct run *a, const struct run *b, struct output_difference *o) {
    for (size_t i = 0; i < b->bound.launch.buffer_count && o->buffer == NULL; ++i) {
        const struct launch_buffer *x = &a->bound.launch.buffers[i], *y = &b->bound.launch.buffers[i];
        if ((x->role != BUFFER_OUT && x->role != BUFFER_INOUT) || memcmp(x->data, y->data, x->bytes) == 0) {
            continue;
        }
        o->buffer = x->name;
        o->cell_bytes = x->cell_bytes;
        o->is_f32 = x->is_f32;
        o->cells = x->bytes / x->cell_bytes;
        for (size_t k = 0; k < o->cells; ++k) {
            if (memcmp(x->data + k * x->cell_bytes, y->data + k * x->cell_bytes, x->cell_bytes) != 0 &&
                o->wrong++ == 0) {
                o->cell = k;
            }
        }
        o->offset = o->cell * x->cell_bytes;
        for (; x->cell_bytes > 8 && x->data[o->offset] == y->data[o->offset];) {
            ++o->offset;
        }
        const size_t left = (o->cell + 1) * x->cell_bytes - o->offset, bytes = left < 8 ? left : 8;
        memcpy(&o->value[0], x->data + o->offset, bytes);
        memcpy(&o->value[1], y->data + o->offset, bytes);
        find_writer(a, i, o->cell, o, 0);
        find_writer(b, i, o->cell, o, 1);
    }
}

static void tell(struct comparison *x, struct run *a, const struct run *b) {
    struct parting *p = &x->out->parting;
    for (int k = 0; k < DIFFERENCES; ++k) {
        if (x->out->first[k].found) {
            fill(&x->out->first[k], (enum difference_kind)k, &x->targets[k], a, b);
        }
    }
    if (p->found) {
        const uint32_t *grid = bound_launch(&a->bound, p->launch - 1)->grid;
        p->block[0] = (uint32_t)(x->parting.when.block % grid[0]);
        p->block[1] = (uint32_t)(x->parting.when.block / grid[0] % grid[1]);
        p->block[2] = (uint32_t)(x->parting.when.block / grid[0] / grid[1]);
        fill_site(&p->side[0], &x->parting.a, trace_of(a, p->launch));
        fill_site(&p->side[1], &x->parting.b, trace_of(b, p->launch));
    }
    find_earliest(x);
    x->out->ran[0] = sequence_complete(&a->runs);
    x->out->ran[1] = sequence_complete(&b->runs);
    find_output(a, b, &x->out->output);
}

/* Of what the launches may execute: their entries, and all functions. */
static bool same_opcodes(const struct spec *s, const struct ptx_module *a, const struct ptx_module *b) {
    for (size_t i = 0; i < a->function_count; ++i) {
        const struct ptx_function *f = &a->functions[i], *g = NULL;
        bool runs = !f->entry || strcmp(f->name, s->entry) == 0;
        for (size_t n = 0; n < s->then_count; ++n) {
            runs |= strcmp(f->name, s->then[n].entry) == 0;
        }
        if (!runs) {
            continue;
        }
        for (size_t k = 0; k < b->function_count && g == NULL; ++k) {
            g = strcmp(b->functions[k].name, f->name) == 0 ? &b->functions[k] : NULL;
        }
        if (g == NULL || g->instruction_count != f->instruction_count) {
            return false;
        }
        for (size_t n = 0; n < f->instruction_count; ++n) {
            if (strcmp(f->instructions[n].opcode, g->instructions[n].opcode) != 0) {
                return false;
            }
        }
    }
    return true;
}

bool in_step_run(const struct trial *a, const struct trial *b, struct in_step *out, struct error *e) {
    struct comparison *x = must_calloc(1, sizeof *x);
    struct run first, of_b = {0}, again = {0};
    *out = (struct in_step){.earliest = -1};
    x->out = out;
    out->same_opcodes = same_opcodes(a->spec, a->module, b->module);
    bool good = run(x, a, PASS_KEEP, &first, e) && run(x, b, PASS_COMPARE, &of_b, e);
    if (good) {
        find_short(x);
        good = run(x, a, PASS_FETCH, &again, e);
    }
    if (good) {
        tell(x, &again, &of_b);
    }
    for (size_t i = 0; x->launches != NULL && i < x->count; ++i) {
        for (uint64_t k = 0; x->launches[i].warps != NULL && k < x->launches[i].blocks * x->launches[i].a_block; ++k) {
            free(x->launches[i].warps[k].steps);
        }
        free(x->launches[i].warps);
    }
    free(x->launches);
    free(x);
    run_free(&first);
    run_free(&of_b);
    run_free(&again);
    return good;
}

bool in_step_differs(const struct in_step *x) {
    return x->earliest >= 0 || x->output.buffer != NULL || x->ran[0] != x->ran[1];
}
