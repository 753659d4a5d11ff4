#include "bench_contest.h"
#include "../gpu/device/cublas.h"
#include "../oracles/paired.h"
#include "../ref/checked.h"
#include "../ref/half.h"
#include "../ref/rcp_approx.h"
#include <stdlib.h>
#include <string.h>

/* Clocks go up within milliseconds of work; until they have, and the GPU is as warm as it will be, nothing is kept. A
 * measurement is long enough for the clock behind events, half a microsecond, and for the way into the first launch. */
static const double warm_up_seconds = 0.25, measured_seconds = 2e-3;
enum { MOST_LAUNCHES = 10000, MOST_WARM_UPS = 1000 };

/* What a contract says of its made operands; kernels of one contract and split share it. */
struct right {
    const struct contract *contract;
    struct split split;
    struct operands operands;
    uint8_t *result; /* (operands.result_bytes) */
    bool in_files;   /* the operands are those of one launch file, and nobody else's */
};

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
    struct right **rights; /* (right_count) */
    size_t right_count;
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

/* --- what is right ----------------------------------------------------------------------------------------------- */

static bool same_split(const struct split *a, const struct split *b) {
    return a->kind == b->kind && a->multiprocessors == b->multiprocessors && a->cut_count == b->cut_count &&
           memcmp(a->cuts, b->cuts, a->cut_count * sizeof *a->cuts) == 0;
}

/* Its operands do not depend on the kernel, so that all that share formats work on the same numbers. */
static struct right *make_right(const struct contract *k, struct operands_request *r, struct error *e) {
    struct right *right = must_calloc(1, sizeof *right);
    *right = (struct right){.contract = k, .split = r->split};
    char *id = must_format("bench/%s/%s/nt%zu.od%zu.id%zu/%s", k->weight != NULL ? k->weight : "", k->activation, r->nt,
                           r->od, r->id, data_class_names[r->data]);
    r->key = random_key(id);
    free(id);
    bool good = operands_make(r, &right->operands, e);
    if (good) {
        right->operands.lent = true;
        right->result = malloc(right->operands.result_bytes + 1);
        good = right->result != NULL || fail(e, "no memory for a result of %zu bytes", right->operands.result_bytes);
    }
    if (!good) {
        operands_free(&right->operands);
        free(right);
        return NULL;
    }
    k->evaluate(&right->operands.view, right->result);
    return right;
}

static const struct right *right_of(struct arena *a, const struct spec *s, const struct shape *shape, struct error *e) {
    const struct contract *k = contract_named(s->contract);
    struct operands_request r = {.contract = k, .data = a->contest->data};
    if (!sets_operands(s, shape, &r, e)) {
        return NULL;
    }
    for (size_t i = 0; i < a->right_count && !s->operands_in_files; ++i) {
        const struct right *there = a->rights[i];
        const struct contract_operands *o = &there->operands.view;
        if (there->contract == k && !there->in_files && o->nt == r.nt && (k->weight == NULL || o->od == r.od) &&
            o->id == r.id && same_split(&there->split, &s->split)) {
            return there;
        }
    }
    say(a, "right results by contract", s->contract);
    struct right *right = make_right(k, &r, e);
    if (right != NULL) {
        right->in_files = s->operands_in_files;
        a->rights = must_realloc(a->rights, a->right_count + 1, sizeof *a->rights);
        a->rights[a->right_count++] = right;
    }
    return right;
}

/* The bytes that a buffer must hold after the launches; NULL: any. */
static const uint8_t *expected(const struct entrant *x, size_t buffer) {
    const struct launch_buffer *b = &x->bound.launch.buffers[buffer];
    return b->role == BUFFER_SCRATCH   ? NULL
           : b->role == BUFFER_IN      ? b->data
           : buffer == x->bound.result ? x->right->result
                                       : x->bound.expected[buffer];
}

/* The launch file's own bytes are not those of the contract: nobody knows what is right. */
static bool is_disputed(const struct entrant *x) {
    const size_t i = x->bound.result;
    return i != SIZE_MAX && x->bound.expected[i] != NULL &&
           memcmp(x->bound.expected[i], x->right->result, x->right->operands.result_bytes) != 0;
}

/* Somebody says what each output is. */
static bool is_judged(const struct entrant *x, const struct spec *s, struct error *e) {
    for (size_t i = 0; i < x->bound.launch.buffer_count; ++i) {
        const struct launch_buffer *b = &x->bound.launch.buffers[i];
        if (b->role == BUFFER_OUT && expected(x, i) == NULL) {
            return fail(e,
                        "%s: nobody says what is right in buffer %s (no contract, no `expect`), and without that "
                        "there is no figure",
                        s->path, b->name);
        }
    }
    return true;
}

/* The first cell of a copy's buffer that is wrong, and how many are. */
static char *describe(const struct entrant *x, size_t copy, size_t buffer, const uint8_t *want, const uint8_t *got) {
    const struct launch_buffer *b = &x->bound.launch.buffers[buffer];
    const size_t n = b->cell_bytes, cells = b->bytes / n, od = x->right != NULL ? x->right->operands.view.od : 0;
    const bool matrix = buffer == x->bound.result && od > 0 && cells % od == 0;
    size_t first = cells, count = 0;
    for (size_t i = 0; i < cells; ++i) {
        if (memcmp(want + i * n, got + i * n, n) != 0) {
            first = first < cells ? first : i;
            ++count;
        }
    }
    uint64_t w = 0, g = 0; /* low bytes first, as the GPU's and every host that CUDA runs on */
    memcpy(&w, want + first * n, n);
    memcpy(&g, got + first * n, n);
    char *cell = matrix ? must_format("token %zu, row %zu", first / od, first % od)
                        : must_format("byte %zu of buffer %s", first * n, b->name);
    char *values =
        b->is_f32 ? must_format(" (%g, %g)", bits_float((uint32_t)w), bits_float((uint32_t)g)) : must_strdup("");
    char *text = must_format("%s: want 0x%0*llx, got 0x%0*llx%s; %zu of %zu cells of copy %zu", cell, (int)(2 * n),
                             (unsigned long long)w, (int)(2 * n), (unsigned long long)g, values, count, cells, copy);
    free(cell);
    free(values);
    return text;
}

/* Holds every copy that a launch was on since the poison to what is right. *wrong: NULL, or what is not. */
static bool check_copies(const struct entrant *x, char **wrong, struct error *e) {
    const struct timed *t = &x->copies.timed;
    bool good = true;
    *wrong = NULL;
    for (size_t k = 0; k < x->bound.launch.buffer_count; ++k) {
        const uint8_t *want = expected(x, k);
        const size_t bytes = x->bound.launch.buffers[k].bytes;
        uint8_t *got = want != NULL ? malloc(bytes + 1) : NULL;
        if (want != NULL && got == NULL) {
            return fail(e, "no memory for a copy of %zu bytes", bytes);
        }
        for (size_t i = 0; good && got != NULL && *wrong == NULL && i < t->launched; ++i) {
            const size_t copy = (t->next + t->copies - t->launched + i) % t->copies;
            good = launch_copies_fetch(&x->copies, copy, k, got, e);
            if (good && memcmp(want, got, bytes) != 0) {
                *wrong = describe(x, copy, k, want, got);
            }
        }
        free(got);
    }
    return good;
}

/* --- who takes part ---------------------------------------------------------------------------------------------- */

/* nt * od * id of a product; 0: it is none, or has no such names. */
static double macs_of(const struct spec *s, const struct shape *shape) {
    static const char *const names[] = {"nt", "od", "id"};
    double macs = s->contract != NULL && contract_named(s->contract)->weight == NULL ? 0 : 1;
    for (int i = 0; i < 3; ++i) {
        double value = 0;
        for (size_t k = 0; k < shape->count; ++k) {
            value = strcmp(shape->values[k].name, names[i]) == 0 ? (double)shape->values[k].value : value;
        }
        macs *= value;
    }
    return macs;
}

/* "Cuda compilation tools, release 13.0, V13.0.88", from the comments ahead of the text; NULL: it does not say. */
static char *toolkit_of(const struct ptx_module *m) {
    static const char key[] = "// Cuda compilation tools, ";
    const char *at = strstr(m->text, key);
    return at != NULL ? must_format("%.*s", (int)(strcspn(at, "\r\n") < 200 ? strcspn(at, "\r\n") - 3 : 0), at + 3)
                      : NULL;
}

/* The values that the launch file, or its contract, uses. */
static void keep_shape(struct bench_shape *out, const struct spec *s, const struct shape *shape) {
    const bool rows = s->contract != NULL && contract_named(s->contract)->weight != NULL;
    out->values = must_calloc(shape->count + 1, sizeof *out->values);
    for (size_t i = 0; i < shape->count; ++i) {
        const struct shape_value *v = &shape->values[i];
        if (rows || strcmp(v->name, "od") != 0 || spec_uses(s, v->name)) {
            out->values[out->value_count++] = (struct shape_value){must_strdup(v->name), v->value};
        }
    }
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
    if (c != NULL && (x->right = right_of(a, s, shape, e)) == NULL) {
        return false;
    }
    if (!bind_launch(s, k->module, shape, c != NULL ? &x->right->operands : NULL, 1, &x->bound, e)) {
        return false;
    }
    bound_options(&x->bound, a->contest->judging->threads, &a->contest->judging->launch);
    if (is_disputed(x)) {
        put_out(x, false, must_strdup("its contract and its `expect` disagree on what is right"));
        return true;
    }
    say(a, "copies for", s->kernel);
    if (!bound_check(&x->bound, e) || !is_judged(x, s, e) ||
        !launch_copies_open(a->gpu, &x->bound, a->figures.l2_bytes, &x->copies, &refused, e)) {
        return false;
    }
    if (refused != NULL) {
        put_out(x, true, refused);
        return true;
    }
    x->timed = &x->copies.timed;
    x->entry->copies = x->timed->copies;
    x->entry->copy_bytes = x->timed->bytes;
    return true;
}

static bool join_kernel(struct arena *a, const struct bench_kernel *k, enum bench_role role, struct error *e) {
    size_t count;
    struct shape_value *values = sets_merge(k->spec, a->contest->sets, a->contest->more,
                                            k->spec->contract != NULL ? a->contest->more_count : 0, &count);
    const struct shape shape = {values, count};
    const struct bench_entry *first = &a->out->entries[0];
    struct entrant *x = &a->entrants[a->count];
    x->entry = &a->out->entries[a->count++];
    a->out->count = a->count;
    *x->entry = (struct bench_entry){
        .role = role,
        .name = must_strdup(role == BENCH_CONTROL ? "control" : k->spec->kernel),
        .about = k->spec->contract != NULL ? must_strdup(k->spec->contract) : NULL,
        .toolkit = toolkit_of(k->module),
        .launches = k->spec->then_count + 1,
        .macs = macs_of(k->spec, &shape),
    };
    memcpy(x->entry->ptx_sha256, k->ptx_sha256, sizeof x->entry->ptx_sha256);
    if (a->count == 1) {
        keep_shape(a->out, k->spec, &shape);
    }
    bool good = first->macs == x->entry->macs || first->macs == 0 || x->entry->macs == 0 ||
                fail(e, "%s does %.6g multiply-adds and %s %.6g: they cannot be compared", first->name, first->macs,
                     x->entry->name, x->entry->macs);
    good = good && join(a, x, k, &shape, e);
    free(values);
    return good;
}

/* A ceiling that cannot be had has no figure, and that is all. */
static void join_ceiling(struct arena *a, enum cublas_kind kind) {
    size_t size[3] = {0};
    static const char *const names[] = {"nt", "od", "id"};
    for (size_t k = 0; k < a->out->value_count; ++k) {
        for (int i = 0; i < 3; ++i) {
            size[i] = strcmp(a->out->values[k].name, names[i]) == 0 ? (size_t)a->out->values[k].value : size[i];
        }
    }
    struct error why;
    struct entrant *x = &a->entrants[a->count];
    x->entry = &a->out->entries[a->count++];
    a->out->count = a->count;
    *x->entry = (struct bench_entry){.role = BENCH_CEILING,
                                     .name = must_strdup(cublas_names[kind]),
                                     .about = must_strdup(cublas_abouts[kind]),
                                     .launches = 1,
                                     .macs = a->out->entries[0].macs};
    say(a, "copies for", cublas_names[kind]);
    if (!cublas_product_open(a->cublas, kind, size[0], size[1], size[2], a->figures.l2_bytes, &x->product, &why)) {
        put_out(x, false, must_strdup(why.text));
        return;
    }
    x->timed = &x->product.timed;
    x->entry->copies = x->timed->copies;
    x->entry->copy_bytes = x->timed->bytes;
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
    const bool good =
        x->entry->role == BENCH_CEILING ? cublas_product_check(&x->product, &wrong, e) : check_copies(x, &wrong, e);
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
            any = true;
            spent += seconds * (double)wanted;
            fastest = fastest == 0 || seconds < fastest ? seconds : fastest;
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
            if (x->timed != NULL && !(seconds > 0)) { /* no ratio could be made of it */
                put_out(x, false, must_strdup("the GPU's clock says that no time has passed"));
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
    for (size_t i = 0; i <= c->kernel_count; ++i) {
        const bool control = i == c->kernel_count;
        if (!join_kernel(a, &c->kernels[control ? 0 : i], control ? BENCH_CONTROL : BENCH_KERNEL, e)) {
            return false;
        }
    }
    struct error why;
    const bool product = a->out->entries[0].macs > 0;
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
    for (size_t i = 0; i < a->right_count; ++i) {
        operands_free(&a->rights[i]->operands);
        free(a->rights[i]->result);
        free(a->rights[i]);
    }
    free(a->rights);
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
    say(&a, "", "");
    arena_free(&a);
    if (a.gpu != NULL) {
        gpu_leave(a.gpu);
    }
    return end;
}
