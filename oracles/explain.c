#include "explain.h"
#include "../ref/checked.h"
#include "stages.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const stage_names[STAGES] = {"staging", "fragments", "sums", "rescale", "store"};

bool stage_named(const char *name, enum stage_kind *kind) {
    for (int i = 0; i < STAGES; ++i) {
        if (strcmp(name, stage_names[i]) == 0) {
            *kind = (enum stage_kind)i;
            return true;
        }
    }
    return false;
}

const char *stage_file(const struct stages *s) {
    const char *path = s->content.spec->path;
    char *here = getcwd(NULL, 0);
    const size_t n = here != NULL ? strlen(here) : 0;
    const bool below = n > 0 && strncmp(path, here, n) == 0 && path[n] == '/' && path[n + 1] != 0;
    free(here);
    return below ? path + n + 1 : path;
}

void stage_skip(struct stages *s, enum stage_kind kind, char *why) {
    free(s->x->stages[kind].why);
    free(s->x->stages[kind].rest);
    s->x->stages[kind] = (struct stage){.ruling = RULING_NOT_JUDGED, .why = why, .unit = ""};
}

void stage_judged(struct stages *s, enum stage_kind kind, const char *unit, uint64_t compared, uint64_t wrong) {
    free(s->x->stages[kind].why);
    free(s->x->stages[kind].rest);
    s->x->stages[kind] = (struct stage){
        .ruling = wrong > 0 ? RULING_FOUND : RULING_CLEAN, .unit = unit, .compared = compared, .wrong = wrong};
}

void stage_in_part(struct stages *s, enum stage_kind kind, char *rest) {
    free(s->x->stages[kind].rest);
    s->x->stages[kind].rest = rest;
}

const char *block_text(const uint32_t block[3]) {
    static _Thread_local char text[64];
    snprintf(text, sizeof text, "block (%u,%u,%u)", block[0], block[1], block[2]);
    return text;
}

void block_index(const struct launch *l, uint64_t number, uint32_t block[3]) {
    block[0] = (uint32_t)(number % l->grid[0]);
    block[1] = (uint32_t)(number / l->grid[0] % l->grid[1]);
    block[2] = (uint32_t)(number / l->grid[0] / l->grid[1]);
}

/* ---- the probe ---- */

static void on_barrier(void *context, const struct probe_barrier *at) {
    struct stages *s = context;
    if (!s->e.text[0]) {
        staging_barrier(s, at);
    }
    s->stop |= s->e.text[0] != 0;
}

/* Both calls of an mma come one after the other: what it must multiply is made once. */
static void on_operands(void *context, const struct probe_mma *at) {
    struct stages *s = context;
    s->wanted = s->content.spec->mma.given && !s->e.text[0] && count_align(s, at);
    if (s->wanted) {
        fragments_operands(s, at, &s->want);
        sums_operands(s, at, &s->want);
    }
}

static void on_sums(void *context, const struct probe_mma *at) {
    struct stages *s = context;
    if (s->wanted) {
        sums_results(s, at, &s->want);
    } else if (s->counts != NULL) {
        count_extra(s, at);
    }
}

static void on_stored(void *context, const struct probe_store *at) {
    sums_stored(context, at);
}

/* ---- counting ---- */

#define MOST_LOOKED (UINT64_C(1) << 33) /* bytes of planes; about a minute */
enum { MOST_MMA = 1 << 22 };            /* about a minute */

struct counting {
    struct explain_counts *n;
    bool limited, stop;
};

static void count_barrier(void *context, const struct probe_barrier *at) {
    struct counting *c = context;
    c->n->barriers[at->place.block_number] = at->number + 1;
}

static void count_mma(void *context, const struct probe_mma *at) {
    struct counting *c = context;
    (void)at;
    c->stop |= ++c->n->mma > MOST_MMA && c->limited;
}

static void count_warp(void *context, const struct probe_mma *at) {
    struct explain_counts *n = ((struct counting *)context)->n;
    n->sums = at->d_count * 32;
    if (n->warps != NULL && at->warp < n->a_block) {
        struct mma_count *w = &n->warps[(size_t)at->place.block_number * n->a_block + at->warp];
        ++w->count;
        w->last = (uint32_t)at->instruction;
    }
}

enum { MOST_BLOCKS = 1 << 20 }; /* whose warps are counted one by one */

/* The result is a matrix of this launch, whose sums can be followed into it. */
static bool is_matrix(const struct trial *t) {
    return t->spec->then_count == 0 && t->contract != NULL && t->contract->weight != NULL &&
           strcmp(t->contract->result, "f32") == 0;
}

static void open_warps(const struct trial *t, const struct bound *b, struct explain_counts *n) {
    const uint32_t *block = b->launch.block;
    if (is_matrix(t) && t->spec->mma.given && n->blocks <= MOST_BLOCKS) {
        n->a_block = ((size_t)block[0] * block[1] * block[2] + 31) / 32;
        n->warps = must_calloc((size_t)n->blocks * n->a_block, sizeof *n->warps);
    }
}

static void keep_result(const struct bound *b, struct explain_counts *n) {
    if (n->warps != NULL) {
        const struct launch_buffer *r = &b->launch.buffers[b->result];
        n->plain = must_calloc(r->bytes + 1, 1);
        memcpy(n->plain, r->data, r->bytes);
    }
}

/* What the launch file says there is to compare, before it is run. */
static bool check_size(const struct content *c, uint64_t blocks, struct error *e) {
    uint64_t stages, bytes = 0;
    if (!content_given(c->spec)) {
        return true;
    }
    for (size_t i = 0; i < c->launch->plane_count; ++i) {
        bytes += c->launch->planes[i].bytes;
    }
    if (!content_stages(c, &stages, e)) {
        return false;
    }
    return (double)bytes * (double)stages * (double)blocks <= (double)MOST_LOOKED ||
           fail(e,
                "%s: more than %" PRIu64 " bytes of planes to compare (%" PRIu64 " in each of %" PRIu64
                " stages of %" PRIu64 " blocks): a smaller shape shows the same",
                c->spec->path, MOST_LOOKED, bytes, stages, blocks);
}

/* In order, with no watch but what the verdict of a stage needs. */
static void prepare(struct bound *b, const struct trial *t, const struct probe *probe, uint32_t watched) {
    b->launch.threads = 1;
    b->launch.options = t->options;
    b->launch.options.census = false;
    b->launch.options.schedule = (struct schedule){.order = SCHEDULE_IN_ORDER};
    b->launch.options.unwatched = WATCH_ALL & ~watched;
    b->launch.options.probe = probe;
}

static bool count(const struct trial *t, struct bound *b, struct content *content, struct explain_counts *n,
                  struct error *e) {
    struct counting c = {.n = n, .limited = t->spec->mma.given};
    const struct probe probe = {
        .context = &c, .stop = &c.stop, .barrier = count_barrier, .operands = count_mma, .sums = count_warp};
    struct trace trace = {0};
    struct error ignored = {0};
    if (!bind_launch(t->spec, t->module, t->shape, t->operands, t->seed, b, &ignored) || !bound_check(b, &ignored)) {
        return true;
    }
    n->blocks = (uint64_t)b->launch.grid[0] * b->launch.grid[1] * b->launch.grid[2];
    if (!content_open(b, t->operands, content, e) || !check_size(content, n->blocks, e)) {
        return false;
    }
    n->barriers = calloc(n->blocks + 1, sizeof *n->barriers);
    if (n->barriers == NULL) {
        return fail(e, "no memory to count the barriers of %" PRIu64 " blocks", n->blocks);
    }
    open_warps(t, b, n);
    prepare(b, t, &probe, 0);
    n->ran = runner_machine.run(&b->launch, &trace, &ignored);
    keep_result(b, n);
    trace_free(&trace);
    return !c.stop ||
           fail(e, "%s: more than %d mma to compare: a smaller shape shows the same", t->spec->path, MOST_MMA);
}

bool explain_count(const struct trial *t, struct explain_counts *n, struct error *e) {
    struct bound bound = {0};
    struct content content = {0};
    *n = (struct explain_counts){0};
    const bool good = count(t, &bound, &content, n, e);
    content_free(&content);
    bound_free(&bound);
    if (!good) {
        explain_counts_free(n);
    }
    return good;
}

void explain_counts_free(struct explain_counts *n) {
    free(n->barriers);
    free(n->warps);
    free(n->plain);
    *n = (struct explain_counts){0};
}

/* ---- blocks that do not come to their barriers ---- */

/* *needed: how many barriers the last stage needs; 0: none, or it cannot be said. */
static void barriers_needed(struct stages *s, const uint32_t block[3], uint64_t *needed, uint64_t *stages) {
    uint64_t full_at;
    *needed = 0;
    if (s->ahead->ran && content_given(s->content.spec) && !s->e.text[0] &&
        content_stages(&s->content, stages, &s->e) &&
        content_full_at(&s->content, block, *stages - 1, &full_at, &s->e)) {
        *needed = full_at + 1;
    }
}

bool block_fits(struct stages *s, const struct probe_place *at) {
    if (s->fit_block != at->block_number + 1) {
        uint64_t needed, stages;
        barriers_needed(s, at->block, &needed, &stages);
        s->fit_block = at->block_number + 1;
        s->fits = s->ahead->barriers[at->block_number] >= needed;
    }
    return s->fits;
}

char *unfit_text(struct stages *s, bool *all) {
    uint64_t unfit = 0, needed, stages;
    char *first = NULL;
    for (uint64_t i = 0; i < s->ahead->blocks; ++i) {
        uint32_t block[3];
        block_index(s->content.launch, i, block);
        barriers_needed(s, block, &needed, &stages);
        if (s->ahead->barriers[i] >= needed) {
            continue;
        }
        if (unfit++ == 0) {
            first = must_format("%s opened %" PRIu64 " barrier%s, and `stages` of %s has it come to %" PRIu64
                                " for %" PRIu64 " stage%s",
                                block_text(block), s->ahead->barriers[i], s->ahead->barriers[i] == 1 ? "" : "s",
                                stage_file(s), needed, stages, stages == 1 ? "" : "s");
        }
    }
    *all = unfit == s->ahead->blocks;
    if (first == NULL || *all) {
        return first;
    }
    char *text = must_format("%" PRIu64 " of %" PRIu64 " blocks not judged: %s", unfit, s->ahead->blocks, first);
    free(first);
    return text;
}

/* ---- what a race leaves open ---- */

const struct finding *unordered_load(const struct findings *plain) {
    for (size_t i = 0; i < plain->count; ++i) {
        if (plain->items[i].unordered_load) {
            return &plain->items[i];
        }
    }
    return NULL;
}

/* What is wrong in this stage may come from a load that nothing orders: it is laid to no line. */
static void leave_open(struct stages *s, enum stage_kind kind) {
    struct findings *f = &s->x->faults;
    if (s->race == NULL || s->x->stages[kind].ruling != RULING_FOUND) {
        return;
    }
    struct findings kept = {.notes = f->notes, .note_count = f->note_count}, dropped = {0};
    for (size_t i = 0; i < f->count; ++i) {
        struct findings *to = strcmp(f->items[i].oracle, stage_names[kind]) == 0 ? &dropped : &kept;
        *findings_add(to, "", VERDICT_PASS) = f->items[i];
    }
    free(f->items);
    *f = kept;
    findings_free(&dropped);
    stage_skip(s, kind, must_format("the run has a race, to be mended first: %s", s->race->summary));
}

/* ---- the whole ---- */

static bool evaluate(const struct trial *t, uint8_t **result, struct error *e) {
    if (t->contract == NULL) {
        return true;
    }
    *result = malloc(t->operands->result_bytes + 1);
    if (*result == NULL) {
        return fail(e, "no memory for a result of %zu bytes", t->operands->result_bytes);
    }
    t->contract->evaluate(&t->operands->view, *result);
    return true;
}

static bool run(struct stages *s, struct bound *b, struct trace *trace, uint8_t **result, struct error *e) {
    const struct trial *t = s->trial;
    const struct probe probe = {.context = s,
                                .barrier = on_barrier,
                                .operands = on_operands,
                                .sums = on_sums,
                                .stored = on_stored,
                                .stop = &s->stop};
    if (!bind_launch(t->spec, t->module, t->shape, t->operands, t->seed, b, e) ||
        !content_open(b, t->operands, &s->content, e)) {
        return false;
    }
    prepare(b, t, &probe, WATCH_STORES | WATCH_PLANES);
    staging_open(s);
    fragments_open(s);
    sums_open(s);
    if (is_matrix(t) && t->spec->mma.given &&
        t->operands->view.nt * t->operands->view.od < ORIGIN_MIXED - ORIGIN_CELL) {
        s->owners = calloc(t->operands->view.nt * t->operands->view.od, sizeof *s->owners);
        if (s->owners == NULL) {
            return fail(e, "no memory to note the threads of a result");
        }
    }
    count_open(s);
    if (!runner_machine.run(&b->launch, trace, e)) {
        return false;
    }
    if (s->e.text[0]) {
        *e = s->e;
        return false;
    }
    if (!evaluate(t, result, e)) {
        return false;
    }
    s->result = *result;
    staging_report(s, trace);
    fragments_report(s, trace);
    leave_open(s, STAGE_FRAGMENTS);
    sums_report(s, trace);
    count_report(s, trace);
    result_report(s, trace, *result);
    leave_open(s, STAGE_RESCALE);
    leave_open(s, STAGE_STORE);
    for (int k = 0; trace_refused(trace) && k < STAGES; ++k) {
        stage_skip(s, (enum stage_kind)k, must_strdup("the launch was refused, and nothing was run"));
    }
    return true;
}

bool explain_stages(const struct trial *t, const struct explain_counts *n, const struct findings *plain,
                    struct explanation *x, struct error *e) {
    struct bound bound = {0};
    struct trace trace = {0};
    struct stages s = {.trial = t, .bound = &bound, .x = x, .ahead = n, .race = unordered_load(plain)};
    uint8_t *result = NULL;
    *x = (struct explanation){0};
    const bool good = run(&s, &bound, &trace, &result, e);
    staging_close(&s);
    fragments_close(&s);
    sums_close(&s);
    count_close(&s);
    content_free(&s.content);
    free(s.owners);
    free(result);
    trace_free(&trace);
    bound_free(&bound);
    if (!good) {
        explanation_free(x);
    }
    return good;
}

void explanation_free(struct explanation *x) {
    for (int i = 0; i < STAGES; ++i) {
        free(x->stages[i].why);
        free(x->stages[i].rest);
    }
    findings_free(&x->faults);
    *x = (struct explanation){0};
}
