#include "bench_contest.h"
#include "../gpu/device/cublas.h"
#include "../gpu/digest.h"
#include "../oracles/paired.h"
#include "../ref/checked.h"
#include "../ref/rcp_approx.h"
#include "bench_right.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Clocks go up within milliseconds of work; until they have, and the GPU is as warm as it will be, nothing is kept. A
 * measurement is long enough for the clock behind events, half a microsecond, and for the way into the first launch. */
static const double warm_up_seconds = 0.25, measured_seconds = 2e-3;
enum { MOST_LAUNCHES = 10000, MOST_WARM_UPS = 1000 };

struct entrant {
    struct bench_entry *entry;
    struct timed *timed; /* NULL: out of the contest */
    struct bound bound;  /* of a kernel */
    struct launch_copies copies;
    const struct right *right;
    struct cublas_product product; /* of a ceiling */
    double *start;                 /* (rounds) what the host took to start a launch */
};

struct arena { /* what one contest holds */
    const struct contest *contest;
    struct gpu *gpu;
    struct gpu_figures figures;
    struct cublas *cublas;
    struct rights rights;
    struct entrant *entrants; /* (count) */
    size_t count;
    struct bench_shape *out;
};

static void say(const struct arena *a, const char *what, const char *of) {
    if (a->contest->progress != NULL) {
        fprintf(stderr, "\r\033[K%s: %s %.60s", a->contest->progress, what, of);
    }
}

/* Out of the contest; takes `why` over. */
static void put_out(struct entrant *x, bool wrong, char *why) {
    free(x->entry->why);
    free(x->entry->seconds);
    x->entry->seconds = NULL;
    x->entry->why = why;
    x->entry->wrong = wrong;
    x->timed = NULL;
}

/* --- who takes part ---------------------------------------------------------------------------------------------- */

static void take_part(const struct arena *a, struct entrant *x, struct timed *t) {
    x->timed = t;
    x->entry->copies = t->copies;
    x->entry->copy_bytes = t->bytes;
    x->entry->warm = (t->copies - 1) * t->bytes < TIMING_L2_TIMES * a->figures.l2_bytes;
}

static const char *const product_names[3] = {"nt", "od", "id"};

/* 0: there is no such name. */
static int64_t value_of(const struct shape_value *values, size_t count, const char *name) {
    int64_t value = 0;
    for (size_t k = 0; k < count; ++k) {
        value = strcmp(values[k].name, name) == 0 ? values[k].value : value;
    }
    return value;
}

/* nt * od * id of a product: its contract says so, or its launch file uses the three names, and they are positive. 0:
 * it is none, or what it does cannot be counted. */
static double macs_of(const struct spec *s, const struct shape *shape) {
    size_t macs = s->contract != NULL && contract_named(s->contract)->weight == NULL ? 0 : 1;
    for (int i = 0; i < 3; ++i) {
        const int64_t value =
            sets_used(s, product_names[i]) ? value_of(shape->values, shape->count, product_names[i]) : 0;
        if (value <= 0 || !size_mul(macs, (size_t)value, &macs)) {
            return 0;
        }
    }
    return (double)macs;
}

/* Names and values that the launch file, or its contract, uses. */
static void keep_values(struct bench_entry *x, const struct spec *s, const struct shape *shape) {
    x->values = must_calloc(shape->count + 1, sizeof *x->values);
    for (size_t i = 0; i < shape->count; ++i) {
        const struct shape_value *v = &shape->values[i];
        if (sets_used(s, v->name)) {
            x->values[x->value_count++] = (struct shape_value){must_strdup(v->name), v->value};
        }
    }
}

/* Two that do not do the same work: a product beside something else, or one name with two values. */
static bool comparable(const struct bench_entry *a, const struct bench_entry *b, struct error *e) {
    if ((a->macs > 0) != (b->macs > 0)) {
        const bool first = a->macs > 0;
        return fail(e, "%s is a product, nt x od x id, and %s is none: they cannot be compared",
                    first ? a->name : b->name, first ? b->name : a->name);
    }
    for (size_t i = 0; i < a->value_count; ++i) {
        const struct shape_value *v = &a->values[i];
        for (size_t k = 0; k < b->value_count; ++k) {
            if (strcmp(v->name, b->values[k].name) == 0 && v->value != b->values[k].value) {
                return fail(e, "%s has %s = %" PRId64 " and %s %s = %" PRId64 ": they cannot be compared", a->name,
                            v->name, v->value, b->name, v->name, b->values[k].value);
            }
        }
    }
    return true;
}

/* The operands, the launch and its copies on the GPU. False: nothing can be measured at all. */
static bool join(struct arena *a, struct entrant *x, const struct bench_kernel *k, const struct shape *shape,
                 struct error *e) {
    const struct spec *s = k->spec;
    const struct contract *c = s->contract != NULL ? contract_named(s->contract) : NULL;
    char *unmet = NULL, *refused = NULL;
    if (!sets_check(s, a->contest->sets, e) || !bind_needs(s, shape, &unmet, e)) {
        return false;
    }
    if (unmet != NULL) {
        put_out(x, false, unmet);
        return true;
    }
    if (c != NULL && c->rcp_table && !rcp_approx_measured()) {
        put_out(x, false, must_strdup("fixtures/golden/rcp_approx_sm90.bin.zz is absent, and with it what is right"));
        return true;
    }
    if (c != NULL) {
        say(a, "right results for", s->kernel);
        x->right = rights_of(&a->rights, s, shape, a->contest->data, e);
        if (x->right == NULL) {
            return false;
        }
    }
    if (!bind_launch(s, k->module, shape, c != NULL ? &x->right->operands : NULL, 1, &x->bound, e)) {
        return false;
    }
    bound_options(&x->bound, a->contest->judging->threads, &a->contest->judging->launch);
    if (right_disputed(&x->bound, x->right)) {
        put_out(x, false, must_strdup("its contract and its `expect` disagree on what is right"));
        return true;
    }
    say(a, "copies for", s->kernel);
    if (!bound_check(&x->bound, e) || !right_known(&x->bound, x->right, e) ||
        !launch_copies_open(a->gpu, &x->bound, a->figures.l2_bytes, &x->copies, &refused, e)) {
        return false;
    }
    if (refused != NULL) {
        put_out(x, true, refused);
        return true;
    }
    take_part(a, x, &x->copies.timed);
    return true;
}

static struct shape_value *shape_of(const struct contest *c, const struct spec *s, size_t *count) {
    return sets_merge(s, c->sets, c->more, s->contract != NULL ? c->more_count : 0, count);
}

/* What it is and at which shape, before anything is made of it. */
static bool enter(struct arena *a, const struct bench_kernel *k, enum bench_role role, struct error *e) {
    size_t count;
    struct shape_value *values = shape_of(a->contest, k->spec, &count);
    const struct shape shape = {values, count};
    struct entrant *x = &a->entrants[a->count];
    x->entry = &a->out->entries[a->count++];
    a->out->count = a->count;
    *x->entry = (struct bench_entry){
        .role = role,
        .name = must_strdup(role == BENCH_CONTROL ? "control" : k->spec->kernel),
        .about = k->spec->contract != NULL ? must_strdup(k->spec->contract) : NULL,
        .toolkit = program_tools(k->module),
        .launches = k->spec->then_count + 1,
        .macs = macs_of(k->spec, &shape),
    };
    memcpy(x->entry->ptx_sha256, k->ptx_sha256, sizeof x->entry->ptx_sha256);
    keep_values(x->entry, k->spec, &shape);
    free(values);
    bool good = true;
    for (size_t i = 0; good && i + 1 < a->count; ++i) {
        good = comparable(&a->out->entries[i], x->entry, e);
    }
    return good;
}

static bool join_kernel(struct arena *a, struct entrant *x, const struct bench_kernel *k, struct error *e) {
    size_t count;
    struct shape_value *values = shape_of(a->contest, k->spec, &count);
    const struct shape shape = {values, count};
    const bool good = join(a, x, k, &shape, e);
    free(values);
    return good;
}

/* A ceiling that cannot be had has no figure, and that is all. */
static void join_ceiling(struct arena *a, enum cublas_kind kind) {
    const struct bench_entry *first = &a->out->entries[0];
    struct shape_value *values = must_calloc(3, sizeof *values);
    for (int i = 0; i < 3; ++i) {
        values[i] = (struct shape_value){must_strdup(product_names[i]),
                                         value_of(first->values, first->value_count, product_names[i])};
    }
    struct error why;
    struct entrant *x = &a->entrants[a->count];
    x->entry = &a->out->entries[a->count++];
    a->out->count = a->count;
    *x->entry = (struct bench_entry){.role = BENCH_CEILING,
                                     .name = must_strdup(cublas_names[kind]),
                                     .about = must_strdup(cublas_abouts[kind]),
                                     .values = values,
                                     .value_count = 3,
                                     .launches = 1,
                                     .macs = first->macs};
    say(a, "copies for", cublas_names[kind]);
    if (!cublas_product_open(a->cublas, kind, (size_t)values[0].value, (size_t)values[1].value, (size_t)values[2].value,
                             a->figures.l2_bytes, &x->product, &why)) {
        put_out(x, false, must_strdup(why.text));
        return;
    }
    take_part(a, x, &x->product.timed);
}

/* --- rounds ------------------------------------------------------------------------------------------------------ */

/* What became of a measurement of x; true: go on. */
static bool ran(struct arena *a, struct entrant *x, enum timing done, const struct error *why, enum contest_end *end) {
    if (done == TIMING_DONE) {
        return true;
    }
    if (done == TIMING_FAILED) {
        *end = CONTEST_FAILED;
        return false;
    }
    put_out(x, x->entry->role != BENCH_CEILING, must_strdup(why->text));
    if (a->gpu->alive) {
        return true;
    }
    *end = CONTEST_STOPPED;
    for (size_t i = 0; i < a->count; ++i) {
        if (a->entrants[i].timed != NULL) {
            put_out(&a->entrants[i], false, must_format("the GPU was reset after %s", x->entry->name));
        }
    }
    return false;
}

/* Every copy that was launched on must hold what is right. False: it could not be looked at. */
static bool check(struct arena *a, struct entrant *x, struct error *e) {
    char *wrong = NULL;
    say(a, "checking", x->entry->name);
    const bool good = x->entry->role == BENCH_CEILING ? cublas_product_check(&x->product, &wrong, e)
                                                      : right_check(&x->copies, x->right, &wrong, e);
    if (good && wrong != NULL) {
        put_out(x, true, wrong);
    }
    return good;
}

/* Launches on every copy once, and checks; then the results are poisoned for the rounds. */
static enum contest_end prove(struct arena *a, struct error *e) {
    enum contest_end end = CONTEST_DONE;
    for (size_t i = 0; i < a->count; ++i) {
        struct entrant *x = &a->entrants[i];
        if (x->timed == NULL) {
            continue;
        }
        say(a, "trying", x->entry->name);
        const bool ceiling = x->entry->role == BENCH_CEILING;
        if (ceiling && !ran(a, x, cublas_product_tune(&x->product, e), e, &end)) {
            return end;
        }
        if (x->timed != NULL && !ran(a, x, timed_run(x->timed, x->timed->copies, NULL, e), e, &end)) {
            return end;
        }
        if (x->timed != NULL && !check(a, x, e)) {
            return CONTEST_FAILED;
        }
        if (x->timed != NULL &&
            !(ceiling ? cublas_product_poison(&x->product, e) : launch_copies_poison(&x->copies, e))) {
            return CONTEST_FAILED;
        }
    }
    return end;
}

/* No ratio could be made of it. */
static void no_time(struct entrant *x) {
    if (x->timed != NULL) {
        put_out(x, false, must_strdup("the GPU's clock says that no time has passed"));
    }
}

/* Works until the GPU is warm. *launches = how many of the fastest fill a measurement. */
static enum contest_end warm_up(struct arena *a, size_t *launches, struct error *e) {
    enum contest_end end = CONTEST_DONE;
    double fastest = 0, spent = 0;
    bool any = true;
    size_t wanted = 1;
    say(a, "warming up", "");
    for (int k = 0; k < MOST_WARM_UPS && any && spent < warm_up_seconds; ++k) {
        any = false;
        fastest = 0;
        for (size_t i = 0; i < a->count; ++i) {
            struct entrant *x = &a->entrants[i];
            double seconds = 0;
            if (x->timed == NULL) {
                continue;
            }
            if (!ran(a, x, timed_run(x->timed, wanted, &seconds, e), e, &end)) {
                return end;
            }
            if (x->timed == NULL || (!(seconds > 0) && wanted == MOST_LAUNCHES)) {
                no_time(x);
                continue;
            }
            any = true;
            spent += seconds * (double)wanted;
            fastest = seconds > 0 && (fastest == 0 || seconds < fastest) ? seconds : fastest;
        }
        const double fill = fastest > 0 ? measured_seconds / fastest + 1 : MOST_LAUNCHES;
        wanted = fill < MOST_LAUNCHES ? (size_t)fill : MOST_LAUNCHES;
        *launches = any ? wanted : 0;
    }
    return end;
}

/* Round after round everybody once; who begins changes from round to round, and from cycle to cycle the direction. */
static enum contest_end race(struct arena *a, size_t launches, struct error *e) {
    enum contest_end end = CONTEST_DONE;
    for (size_t i = 0; i < a->count; ++i) {
        if (a->entrants[i].timed != NULL) {
            a->entrants[i].entry->seconds = must_calloc(a->contest->rounds, sizeof(double));
            a->entrants[i].start = must_calloc(a->contest->rounds, sizeof(double));
        }
    }
    say(a, "measuring", "");
    for (size_t r = 0; r < a->contest->rounds; ++r) {
        for (size_t i = 0; i < a->count; ++i) {
            const size_t step = r / a->count % 2 == 0 ? i : a->count - 1 - i;
            struct entrant *x = &a->entrants[(r + step) % a->count];
            double seconds = 0;
            if (x->timed == NULL) {
                continue;
            }
            if (!ran(a, x, timed_run(x->timed, launches, &seconds, e), e, &end)) {
                return end;
            }
            if (x->timed != NULL && !(seconds > 0)) {
                no_time(x);
            } else if (x->timed != NULL) {
                x->entry->seconds[r] = seconds;
                x->start[r] = x->timed->start_seconds;
            }
        }
    }
    for (size_t i = 0; i < a->count; ++i) {
        struct entrant *x = &a->entrants[i];
        if (x->timed == NULL) {
            continue;
        }
        x->entry->start_seconds = spread_of(x->start, a->contest->rounds).median;
        if (!check(a, x, e)) {
            return CONTEST_FAILED;
        }
    }
    return end;
}

/* --- the whole --------------------------------------------------------------------------------------------------- */

static bool enter_all(struct arena *a, struct bench_head *h, struct error *e) {
    const struct contest *c = a->contest;
    const struct bench_kernel *first = &c->kernels[0];
    bool good = true;
    for (size_t i = 0; good && i < c->kernel_count; ++i) {
        good = enter(a, &c->kernels[i], BENCH_KERNEL, e);
    }
    good = good && enter(a, first, BENCH_CONTROL, e);
    for (size_t i = 0; good && i <= c->kernel_count; ++i) {
        good = join_kernel(a, &a->entrants[i], i < c->kernel_count ? &c->kernels[i] : first, e);
    }
    if (!good) {
        return false;
    }
    struct error why;
    bool product = false; /* of somebody who takes part */
    for (size_t i = 0; i < a->count; ++i) {
        product |= a->entrants[i].timed != NULL && a->entrants[i].entry->macs > 0;
    }
    if (c->ceilings && product && h->no_ceilings == NULL) {
        a->cublas = cublas_open(a->gpu, &why);
        if (a->cublas == NULL) {
            h->no_ceilings = must_strdup(why.text);
            return true;
        }
        h->cublas_version = cublas_version(a->cublas);
        for (int k = 0; k < CUBLAS_KINDS; ++k) {
            join_ceiling(a, (enum cublas_kind)k);
        }
    }
    return true;
}

static void arena_free(struct arena *a) {
    for (size_t i = 0; i < a->count; ++i) {
        struct entrant *x = &a->entrants[i];
        if (x->copies.bound != NULL) {
            launch_copies_free(&x->copies);
        }
        cublas_product_free(&x->product);
        bound_free(&x->bound);
        free(x->start);
    }
    cublas_close(a->cublas);
    rights_free(&a->rights);
    free(a->entrants);
}

enum contest_end contest_run(const struct contest *c, struct bench_head *h, struct bench_shape *out, struct error *e) {
    const size_t most = c->kernel_count + 1 + CUBLAS_KINDS;
    *out = (struct bench_shape){.rounds = c->rounds, .entries = must_calloc(most, sizeof *out->entries)};
    struct arena a = {.contest = c, .out = out, .entrants = must_calloc(most, sizeof *a.entrants)};
    enum contest_end end = CONTEST_FAILED;
    a.gpu = gpu_enter(c->judging->devices.first, e);
    if (a.gpu != NULL && gpu_figures(a.gpu, &a.figures, e)) {
        h->gpu = a.gpu->identity;
        h->figures = a.figures;
        if (enter_all(&a, h, e)) {
            end = prove(&a, e);
            end = end == CONTEST_DONE ? warm_up(&a, &out->launches, e) : end;
            end = end == CONTEST_DONE ? race(&a, out->launches, e) : end;
        }
    }
    arena_free(&a);
    if (a.gpu != NULL) {
        gpu_leave(a.gpu);
    }
    return end;
}
