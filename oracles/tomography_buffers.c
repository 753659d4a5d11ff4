/* Kernels without a contract. An input's elements are changed by groups, those whose index has a bit, and those whose
 * index has not: a cell that consumes one element changes with one of the two for each bit, which spells the index. */
#include "tomography_buffers.h"
#include "../ref/checked.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_STEPS_LOG = 31 };

bool plain_is_input(const struct plain *x, size_t i) {
    const enum buffer_role r = x->described[i].role;
    return (r == BUFFER_IN || r == BUFFER_INOUT) && x->types[i] > 0;
}

bool plain_is_output(const struct plain *x, size_t i) {
    const enum buffer_role r = x->described[i].role;
    return r == BUFFER_OUT || r == BUFFER_INOUT;
}

size_t plain_cells(const struct plain *x, size_t i) {
    return x->described[i].bytes / x->described[i].cell_bytes;
}

/* ---- contents ---- */

static bool is_float(const char *type) {
    return type[0] == 'f' || type[0] == 'b';
}

static void put_float(const char *type, size_t bytes, double v, uint8_t *out) {
    const float f = (float)v;
    if (bytes == 2) {
        format_named(type)->quantize(&f, out);
    } else {
        memcpy(out, bytes == 8 ? (const void *)&v : (const void *)&f, bytes);
    }
}

static double get_float(const char *type, size_t bytes, const uint8_t *in) {
    double d;
    float f;
    if (bytes == 8) {
        memcpy(&d, in, sizeof d);
        return d;
    }
    if (bytes == 2) {
        format_named(type)->dequantize(in, &f);
    } else {
        memcpy(&f, in, sizeof f);
    }
    return f;
}

/* 1.0 .. 2.0 with all bits of the mantissa of a binary16 in use; integers 1 .. 125. */
static void general(const char *type, size_t bytes, size_t index, uint8_t *out) {
    const uint64_t mixed = (index + 1) * UINT64_C(0x9e3779b97f4a7c15);
    if (is_float(type)) {
        put_float(type, bytes, 1 + (double)(mixed >> 54) / 1024 + (bytes >= 4 ? 0x1p-12 : 0), out);
        return;
    }
    const uint64_t v = 1 + (mixed >> 40) % 125;
    memcpy(out, &v, bytes);
}

/* Another value of the element, finite where it was. Of floats: another size and sign, another, 0, any of 2^-8 .. 2^8,
 * others in each launch. Of integers: a few more, a few less (as it may be an index), every bit, 0, any bits. */
static void change(const char *type, size_t bytes, size_t index, enum element_value value, size_t turn, uint8_t *at) {
    const uint64_t mixed = (index + 1) * UINT64_C(0x9e3779b97f4a7c15); /* each by another, or differences stay */
    const uint64_t any = (mixed ^ mixed >> 29 ^ turn) * UINT64_C(0xbf58476d1ce4e5b9), some = mixed >> 40;
    if (value == VALUE_ZERO) {
        memset(at, 0, bytes);
        return;
    }
    if (is_float(type)) {
        const double v = get_float(type, bytes, at);
        const double random =
            ldexp((any >> 63 ? -1.0 : 1.0) * (1 + (double)(any >> 40 & 0xff) / 256), (int)(any >> 50 & 15) - 8);
        put_float(type, bytes,
                  value == VALUE_ANY  ? random
                  : !isfinite(v)      ? 1.5
                  : value == VALUE_UP ? -1.75 * v - 0.625
                                      : 0.375 * v + 3.25,
                  at);
        return;
    }
    uint64_t v = 0;
    memcpy(&v, at, bytes);
    v = value == VALUE_UP     ? v + 1 + some % 3
        : value == VALUE_DOWN ? v - 1 - some % 5
        : value == VALUE_FLIP ? ~v
                              : any ^ any >> 31;
    memcpy(at, &v, bytes);
}

static bool is_changed(const struct elements_changed *c, size_t i) {
    if (c->mask != NULL) {
        return c->mask[i];
    }
    const bool in = i >= c->first && i < c->last && (i - c->first) % c->step == 0;
    return in && (c->bit < 0 || (int)(i >> c->shift & 1) == c->bit);
}

struct filling {
    const struct plain *x;
    const struct elements_changed *change; /* or NULL */
    size_t shifted;                        /* the buffer whose elements are those `shift` on; SIZE_MAX: none */
    long long shift;
};

/* Element i = what was element i + shift, where there is one. */
static void shift_elements(struct launch_buffer *buffer, size_t bytes, long long shift) {
    const long long n = (long long)(buffer->bytes / bytes);
    uint8_t *old = must_calloc(buffer->bytes + 1, 1);
    memcpy(old, buffer->data, buffer->bytes);
    for (long long i = 0; i < n; ++i) {
        if (i + shift >= 0 && i + shift < n) {
            memcpy(buffer->data + (size_t)i * bytes, old + (size_t)(i + shift) * bytes, bytes);
        }
    }
    free(old);
}

static double value_of(const char *type, size_t bytes, const uint8_t *at) {
    uint64_t v = 0;
    if (is_float(type)) {
        return get_float(type, bytes, at);
    }
    memcpy(&v, at, bytes);
    return (double)v;
}

/* At least half of the elements are as much above the one before them, so that one more in the value and one more in
 * the index give the same. The step is that of a majority vote. */
static bool is_even(const char *type, size_t bytes, const struct launch_buffer *buffer) {
    const size_t n = buffer->bytes / bytes;
    double step = 0;
    size_t votes = 0, same = 0;
    for (int turn = 0; turn < 2; ++turn) {
        for (size_t i = 1; i < n; ++i) {
            const double d =
                value_of(type, bytes, buffer->data + i * bytes) - value_of(type, bytes, buffer->data + (i - 1) * bytes);
            if (turn == 1) {
                same += d == step;
            } else if (votes == 0) {
                step = d;
                votes = 1;
            } else {
                votes = d == step ? votes + 1 : votes - 1;
            }
        }
    }
    return n > 2 && 2 * same >= n - 1;
}

static void fill(struct bound *b, void *context) {
    const struct filling *f = context;
    for (size_t k = 0; k < b->launch.buffer_count; ++k) {
        const struct spec_arg *a = b->spec->buffers[k];
        struct launch_buffer *buffer = &b->launch.buffers[k];
        if (!plain_is_input(f->x, k)) {
            continue;
        }
        const size_t n = buffer->bytes / a->type_bytes;
        const bool general_one = f->x->contents == CONTENTS_GENERAL;
        for (size_t i = 0; i < n; ++i) {
            uint8_t *at = buffer->data + i * a->type_bytes;
            if (general_one) {
                general(a->type, a->type_bytes, i + 1000 * k, at);
            }
            if (f->change != NULL && f->change->buffer == k && is_changed(f->change, i) != f->change->other) {
                change(a->type, a->type_bytes, i, f->change->value, f->x->p->out->launches, at);
            }
        }
        if (f->shifted == k) {
            f->x->even[k] = is_even(a->type, a->type_bytes, buffer);
            shift_elements(buffer, a->type_bytes, f->shift);
        }
    }
}

/* Cell i, with the words that it is in, is what OUT buffers begin with. */
static bool is_poison(const struct launch_buffer *b, size_t i) {
    const size_t n = b->cell_bytes, from = i * n / 4 * 4, to = (i * n + n + 3) / 4 * 4;
    if (to > b->bytes) {
        return false;
    }
    for (size_t k = from; k < to; ++k) {
        if (b->data[k] != (uint8_t)(BIND_POISON >> 8 * (k % 4))) {
            return false;
        }
    }
    return true;
}

enum probe_end plain_launch(struct plain *x, const struct elements_changed *c, struct bound *b) {
    struct filling f = {.x = x, .change = c, .shifted = SIZE_MAX};
    const enum probe_end end = probe_launch(x->p, NULL, fill, &f, b, x->e);
    for (size_t o = 0; end == PROBE_RAN && o < x->buffers; ++o) {
        for (size_t i = 0; x->described[o].role == BUFFER_OUT && i < plain_cells(x, o); ++i) {
            x->unwritten[o][i] = x->unwritten[o][i] && is_poison(&b->launch.buffers[o], i);
        }
    }
    return end;
}

/* With few launches left, or on a GPU, which a wild index would stop, small changes alone. */
size_t plain_values(const struct plain *x, enum element_value values[VALUES]) {
    static const enum element_value all[VALUES] = {VALUE_UP, VALUE_FLIP, VALUE_ZERO, VALUE_ANY},
                                    small[] = {VALUE_UP, VALUE_DOWN};
    memcpy(values, x->small ? small : all, x->small ? sizeof small : sizeof all);
    return x->small ? sizeof small / sizeof *small : VALUES;
}

enum probe_end plain_try(struct plain *x, const struct elements_changed *c, struct bound *b, bool *ran) {
    const enum probe_end end = plain_launch(x, c, b);
    *ran = end == PROBE_RAN;
    if (end != PROBE_STOPPED || c->value == VALUE_UP || c->value == VALUE_DOWN) {
        return end;
    }
    x->partial = true; /* a count of loops or an address, such as it may be */
    free(x->p->out->why);
    x->p->out->why = NULL;
    return PROBE_RAN;
}

enum probe_end plain_shifted(struct plain *x, size_t buffer, long long shift, struct bound *b) {
    const enum contents contents = x->contents;
    struct filling f = {.x = x, .shifted = buffer, .shift = shift};
    x->contents = CONTENTS_OWN;
    const enum probe_end end = probe_launch(x->p, NULL, fill, &f, b, x->e);
    x->contents = contents;
    return end;
}

void plain_changed(const struct plain *x, const struct bound *b, size_t o, bool *flags) {
    const struct launch_buffer *buffer = &b->launch.buffers[o];
    const size_t bytes = buffer->cell_bytes;
    for (size_t i = 0; i < buffer->bytes / bytes; ++i) {
        flags[i] = !x->noisy[o][i] && memcmp(buffer->data + i * bytes, x->base[o] + i * bytes, bytes) != 0;
    }
}

/* ---- the first launches ---- */

static void describe(struct plain *x, const struct bound *b) {
    x->buffers = b->launch.buffer_count;
    x->described = must_calloc(x->buffers, sizeof *x->described);
    x->types = must_calloc(x->buffers, sizeof *x->types);
    x->base = must_calloc(x->buffers, sizeof *x->base);
    x->noisy = must_calloc(x->buffers, sizeof *x->noisy);
    x->unwritten = must_calloc(x->buffers, sizeof *x->unwritten);
    x->even = must_calloc(x->buffers, sizeof *x->even);
    for (size_t i = 0; i < x->buffers; ++i) {
        x->described[i] = b->launch.buffers[i];
        x->described[i].data = x->described[i].written = NULL;
        x->types[i] = b->spec->buffers[i]->count != NULL ? b->spec->buffers[i]->type_bytes : 0;
        x->base[i] = must_calloc(x->described[i].bytes + 1, 1);
        x->noisy[i] = must_calloc(plain_cells(x, i) + 1, sizeof *x->noisy[i]);
        x->unwritten[i] = must_calloc(plain_cells(x, i) + 1, sizeof *x->unwritten[i]);
        for (size_t k = 0; k < plain_cells(x, i); ++k) {
            x->unwritten[i][k] = x->described[i].role == BUFFER_OUT && is_poison(&b->launch.buffers[i], k);
        }
    }
}

static void keep_base(struct plain *x, const struct bound *b) {
    for (size_t i = 0; i < x->buffers; ++i) {
        memcpy(x->base[i], b->launch.buffers[i].data, x->described[i].bytes);
        memset(x->noisy[i], 0, plain_cells(x, i));
    }
}

/* base: what it leaves with these contents; a second launch tells what changes by itself. */
static enum probe_end first_launches(struct plain *x) {
    struct bound b;
    for (int turn = 0; turn < 2; ++turn) {
        const enum probe_end end = plain_launch(x, NULL, &b);
        if (end != PROBE_RAN) {
            return end;
        }
        if (turn == 0) {
            keep_base(x, &b);
        } else {
            for (size_t o = 0; o < x->buffers; ++o) {
                plain_changed(x, &b, o, x->noisy[o]);
            }
        }
        bound_free(&b);
    }
    return PROBE_RAN;
}

/* ---- groups ---- */

struct groups { /* of one input: for each output and cell, by bit, whether it changed with the ones, and the zeros */
    bool **ones, **zeros; /* (outputs) (cells * bits) */
    unsigned bits;
    size_t launches;
};

static unsigned bits_of(size_t n) {
    unsigned bits = 1;
    while (bits < 63 && (size_t)1 << bits < n) {
        ++bits;
    }
    return bits;
}

/* Adds what one launch changed to flags of that bit. */
static enum probe_end test(struct plain *x, const struct elements_changed *c, bool **flags, unsigned bits,
                           unsigned bit) {
    struct bound b;
    bool ran = false;
    const enum probe_end end = plain_try(x, c, &b, &ran);
    for (size_t o = 0; ran && o < x->buffers; ++o) {
        if (flags[o] == NULL) {
            continue;
        }
        bool *now = must_calloc(plain_cells(x, o) + 1, sizeof *now);
        plain_changed(x, &b, o, now);
        for (size_t i = 0; i < plain_cells(x, o); ++i) {
            flags[o][i * bits + bit] |= now[i];
        }
        free(now);
    }
    if (ran) {
        bound_free(&b);
    }
    return end;
}

/* Some cell changed with groups of one bit of the index, and with none of another. */
static bool any_open(const struct plain *x, const struct groups *g) {
    for (size_t o = 0; o < x->buffers; ++o) {
        for (size_t i = 0; g->ones[o] != NULL && i < plain_cells(x, o); ++i) {
            unsigned shown = 0;
            for (unsigned bit = 0; bit < g->bits; ++bit) {
                shown += g->ones[o][i * g->bits + bit] || g->zeros[o][i * g->bits + bit];
            }
            if (shown > 0 && shown < g->bits) {
                return true;
            }
        }
    }
    return false;
}

static enum probe_end run_groups(struct plain *x, size_t input, struct groups *g) {
    const size_t n = x->described[input].bytes / x->types[input];
    enum element_value values[VALUES];
    enum probe_end end = PROBE_RAN;
    x->small = x->p->trial->runner == &runner_device || x->p->budget < (size_t)g->bits * 2 * VALUES;
    x->partial = x->small;
    const size_t count = plain_values(x, values);
    for (unsigned k = 0; end == PROBE_RAN && k < g->bits * 2 * count; ++k) {
        const unsigned bit = k / (2 * (unsigned)count);
        const struct elements_changed c = {
            .buffer = input, .last = n, .step = 1, .shift = bit, .bit = (int)(k % 2), .value = values[k / 2 % count]};
        end = test(x, &c, k % 2 ? g->ones : g->zeros, g->bits, bit);
        ++g->launches;
    }
    const bool more = end == PROBE_RAN && !x->small && x->p->budget > x->reserved + 2 * (size_t)g->bits;
    for (unsigned k = 0; more && any_open(x, g) && end == PROBE_RAN && k < 2 * g->bits; ++k) { /* others of any bits */
        const struct elements_changed c = {
            .buffer = input, .last = n, .step = 1, .shift = k / 2, .bit = (int)(k % 2), .value = VALUE_ANY};
        end = test(x, &c, k % 2 ? g->ones : g->zeros, g->bits, k / 2);
        ++g->launches;
    }
    return end;
}

static void open_groups(const struct plain *x, size_t input, struct groups *g) {
    g->launches = 0;
    g->bits = bits_of(x->described[input].bytes / x->types[input]);
    g->ones = must_calloc(x->buffers, sizeof *g->ones);
    g->zeros = must_calloc(x->buffers, sizeof *g->zeros);
    for (size_t o = 0; o < x->buffers; ++o) {
        if (plain_is_output(x, o)) {
            g->ones[o] = must_calloc(plain_cells(x, o) + 1, g->bits);
            g->zeros[o] = must_calloc(plain_cells(x, o) + 1, g->bits);
        }
    }
}

static void close_groups(const struct plain *x, struct groups *g) {
    for (size_t o = 0; o < x->buffers; ++o) {
        free(g->ones[o]);
        free(g->zeros[o]);
    }
    free(g->ones);
    free(g->zeros);
}

static void read_groups(const struct plain *x, const struct groups *g, size_t input, size_t output,
                        struct dependences *d) {
    const size_t cells = plain_cells(x, output), n = x->described[input].bytes / x->types[input];
    *d = (struct dependences){.output = output, .input = input, .cells = cells};
    d->kind = must_calloc(cells + 1, sizeof *d->kind);
    d->element = must_calloc(cells + 1, sizeof *d->element);
    d->mask = must_calloc(cells + 1, sizeof *d->mask);
    d->launches = g->launches;
    for (size_t i = 0; i < cells; ++i) {
        size_t neither = 0;
        for (unsigned bit = 0; bit < g->bits; ++bit) {
            const bool one = g->ones[output][i * g->bits + bit], zero = g->zeros[output][i * g->bits + bit];
            d->element[i] |= one && !zero ? (size_t)1 << bit : 0;
            d->mask[i] |= one && zero ? (size_t)1 << bit : 0;
            neither += !one && !zero;
        }
        d->kind[i] = neither == g->bits   ? DEPENDS_NOT
                     : neither > 0        ? DEPENDS_OPEN
                     : d->mask[i] != 0    ? DEPENDS_MANY
                     : d->element[i] >= n ? DEPENDS_OPEN
                                          : DEPENDS_ONE;
        d->kind[i] = x->noisy[output][i] ? DEPENDS_OPEN : d->kind[i];
    }
}

static void dependences_free(struct dependences *d) {
    free(d->kind);
    free(d->element);
    free(d->mask);
}

/* ---- the whole ---- */

struct truth {         /* of one output by its `expect` */
    uint8_t *expected; /* NULL: there is none */
    bool *wrong;       /* (cells) */
    size_t wrong_count;
};

static void read_truth(const struct plain *x, const struct bound *b, size_t o, struct truth *t) {
    const struct launch_buffer *buffer = &b->launch.buffers[o];
    if (b->expected[o] == NULL) {
        return;
    }
    t->expected = must_calloc(buffer->bytes + 1, 1);
    memcpy(t->expected, b->expected[o], buffer->bytes);
    t->wrong = must_calloc(plain_cells(x, o) + 1, sizeof *t->wrong);
    for (size_t i = 0; i < plain_cells(x, o); ++i) {
        const size_t n = buffer->cell_bytes;
        t->wrong[i] = memcmp(buffer->data + i * n, t->expected + i * n, n) != 0;
        t->wrong_count += t->wrong[i];
    }
}

static enum probe_end one_input(struct plain *x, size_t input, const struct truth *truths, size_t *changes) {
    struct groups g;
    open_groups(x, input, &g);
    enum probe_end end = run_groups(x, input, &g);
    for (size_t o = 0; end == PROBE_RAN && o < x->buffers; ++o) {
        if (g.ones[o] == NULL) {
            continue;
        }
        struct dependences d;
        read_groups(x, &g, input, o, &d);
        for (size_t i = 0; i < d.cells; ++i) {
            *changes += d.kind[i] != DEPENDS_NOT || (x->partial && !x->unwritten[o][i]);
        }
        const bool *wrong = truths[o].wrong_count > 0 ? truths[o].wrong : NULL;
        size_t *want = wrong != NULL ? must_calloc(d.cells + 1, sizeof *want) : NULL;
        if (wrong != NULL) {
            end = plain_want(x, &d, wrong, truths[o].expected, want);
        }
        plain_tell(x, &d, wrong, want);
        end = end == PROBE_RAN ? plain_sets(x, &d, wrong) : end;
        free(want);
        dependences_free(&d);
    }
    close_groups(x, &g);
    return end;
}

static void tell_unwritten(struct plain *x, const struct truth *truths) {
    for (size_t o = 0; o < x->buffers; ++o) {
        if (plain_is_output(x, o)) {
            plain_tell_unwritten(x, o, truths[o].wrong);
        }
    }
}

static bool all_inputs(struct plain *x, const struct truth *truths) {
    struct tomography *out = x->p->out;
    size_t inputs = 0, changes = 0;
    enum probe_end end = PROBE_RAN;
    for (size_t i = 0; i < x->buffers && end != PROBE_FAILED && end != PROBE_SPENT; ++i) {
        if (!plain_is_input(x, i)) {
            continue;
        }
        ++inputs;
        x->reserved = 0;
        for (size_t k = i + 1; k < x->buffers; ++k) {
            x->reserved += plain_is_input(x, k) ? 2 * VALUES * (size_t)bits_of(x->described[k].bytes / x->types[k]) : 0;
        }
        end = one_input(x, i, truths, &changes);
        if (end == PROBE_STOPPED) { /* another input may not */
            probe_note(out, must_format("%s: not told: with some of it changed, %s", x->described[i].name, out->why));
        } else if (end == PROBE_SPENT) {
            probe_note(out, must_format("%s: not told: the launches were used up", x->described[i].name));
        }
    }
    tell_unwritten(x, truths);
    out->probed = changes > 0 || tomography_wrong(out);
    if (!out->probed) {
        free(out->why);
        out->why = must_strdup(inputs == 0 ? "it has no input that could be changed"
                                           : "no output changes with any of the inputs");
    }
    return end != PROBE_FAILED;
}

/* Values that are all different show more than what the launch file fills in, unless the kernel takes them for
 * indices and goes astray. */
static enum probe_end choose_contents(struct plain *x) {
    const bool machine = x->p->trial->runner != &runner_device;
    x->contents = CONTENTS_GENERAL;
    x->p->watch = WATCH_BOUNDS;
    x->p->strayed = false;
    enum probe_end end = machine ? first_launches(x) : PROBE_STOPPED;
    x->p->watch = 0;
    if (end == PROBE_STOPPED || x->p->strayed) {
        free(x->p->out->why);
        x->p->out->why = NULL;
        x->contents = CONTENTS_OWN;
        end = first_launches(x);
    }
    return end;
}

static size_t launches_allowed(const struct prober *p) {
    const uint64_t steps = p->last_steps > 0 ? p->last_steps : 1, most = (UINT64_C(1) << MOST_STEPS_LOG) / steps / 32;
    return most < p->budget ? (size_t)most : p->budget;
}

bool probe_buffers(struct prober *p, struct error *e) {
    struct plain x = {.p = p, .e = e};
    struct bound b;
    enum probe_end end = probe_launch(p, NULL, NULL, NULL, &b, e);
    if (end != PROBE_RAN) {
        return end != PROBE_FAILED;
    }
    describe(&x, &b);
    struct truth *truths = must_calloc(x.buffers, sizeof *truths);
    for (size_t o = 0; o < x.buffers; ++o) {
        read_truth(&x, &b, o, &truths[o]);
        p->out->cells += plain_is_output(&x, o) ? plain_cells(&x, o) : 0;
    }
    bound_free(&b);
    p->budget = launches_allowed(p);
    end = choose_contents(&x);
    bool good = end == PROBE_RAN ? all_inputs(&x, truths) : end != PROBE_FAILED;
    for (size_t i = 0; i < x.buffers; ++i) {
        free(x.base[i]);
        free(x.noisy[i]);
        free(x.unwritten[i]);
        free(truths[i].expected);
        free(truths[i].wrong);
    }
    free(truths);
    free(x.base);
    free(x.noisy);
    free(x.unwritten);
    free(x.even);
    free(x.described);
    free(x.types);
    return good;
}
