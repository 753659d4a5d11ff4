#include "bench_right.h"
#include "../ref/checked.h"
#include "../ref/half.h"
#include "../ref/random.h"
#include "sets.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool same_split(const struct split *a, const struct split *b) {
    return a->kind == b->kind && a->multiprocessors == b->multiprocessors && a->cut_count == b->cut_count &&
           memcmp(a->cuts, b->cuts, a->cut_count * sizeof *a->cuts) == 0;
}

static void right_free(struct right *right) {
    operands_free(&right->operands);
    free(right->result);
    free(right);
}

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
        right_free(right);
        return NULL;
    }
    k->evaluate(&right->operands.view, right->result);
    return right;
}

const struct right *rights_of(struct rights *all, const struct spec *s, const struct shape *shape, enum data_class data,
                              struct error *e) {
    const struct contract *k = contract_named(s->contract);
    struct operands_request r = {.contract = k, .data = data};
    if (!sets_operands(s, shape, &r, e)) {
        return NULL;
    }
    for (size_t i = 0; i < all->count && !s->operands_in_files; ++i) {
        const struct right *there = all->items[i];
        const struct contract_operands *o = &there->operands.view;
        if (there->contract == k && !there->in_files && o->nt == r.nt && (k->weight == NULL || o->od == r.od) &&
            o->id == r.id && same_split(&there->split, &s->split)) {
            return there;
        }
    }
    struct right *right = make_right(k, &r, e);
    if (right != NULL) {
        right->in_files = s->operands_in_files;
        all->items = must_realloc(all->items, all->count + 1, sizeof *all->items);
        all->items[all->count++] = right;
    }
    return right;
}

void rights_free(struct rights *all) {
    for (size_t i = 0; i < all->count; ++i) {
        right_free(all->items[i]);
    }
    free(all->items);
    *all = (struct rights){0};
}

/* The bytes that a buffer must hold after the launches; NULL: any. */
static const uint8_t *expected(const struct bound *b, const struct right *right, size_t buffer) {
    const struct launch_buffer *x = &b->launch.buffers[buffer];
    return x->role == BUFFER_SCRATCH ? NULL
           : x->role == BUFFER_IN    ? x->data
           : buffer == b->result     ? right->result
                                     : b->expected[buffer];
}

bool right_disputed(const struct bound *b, const struct right *right) {
    const size_t i = b->result;
    return i != SIZE_MAX && b->expected[i] != NULL &&
           memcmp(b->expected[i], right->result, right->operands.result_bytes) != 0;
}

bool right_known(const struct bound *b, const struct right *right, struct error *e) {
    for (size_t i = 0; i < b->launch.buffer_count; ++i) {
        if (b->launch.buffers[i].role == BUFFER_OUT && expected(b, right, i) == NULL) {
            return fail(e,
                        "%s: nobody says what is right in buffer %s (no contract, no `expect`), and without that "
                        "there is no figure",
                        b->spec->path, b->launch.buffers[i].name);
        }
    }
    return true;
}

/* The first cell of a copy's buffer that is wrong, and how many are. */
static char *describe(const struct bound *bound, const struct right *right, size_t copy, size_t buffer,
                      const uint8_t *want, const uint8_t *got) {
    const struct launch_buffer *b = &bound->launch.buffers[buffer];
    const size_t n = b->cell_bytes, cells = b->bytes / n, od = right != NULL ? right->operands.view.od : 0;
    const bool matrix = buffer == bound->result && od > 0 && cells % od == 0;
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

bool right_check(const struct launch_copies *c, const struct right *right, char **wrong, struct error *e) {
    const struct timed *t = &c->timed;
    const struct bound *b = c->bound;
    bool good = true;
    *wrong = NULL;
    for (size_t k = 0; k < b->launch.buffer_count; ++k) {
        const uint8_t *want = expected(b, right, k);
        const size_t bytes = b->launch.buffers[k].bytes;
        uint8_t *slot = malloc(c->strides[k]); /* band, contents, band */
        if (slot == NULL) {
            return fail(e, "no memory for a copy of %zu bytes", bytes);
        }
        const uint8_t *got = slot + GPU_BAND;
        for (size_t i = 0; good && *wrong == NULL && i < t->launched; ++i) {
            const size_t copy = (t->next + t->copies - t->launched + i) % t->copies;
            int64_t at;
            good = launch_copies_fetch(c, copy, k, slot, e);
            if (good && want != NULL && memcmp(want, got, bytes) != 0) {
                *wrong = describe(b, right, copy, k, want, got);
            } else if (good && launch_copies_outside(c, k, slot, &at)) {
                *wrong = must_format("a store outside buffer %s, at byte %" PRId64 " of its %zu; copy %zu",
                                     b->launch.buffers[k].name, at, bytes, copy);
            }
        }
        free(slot);
    }
    return good;
}
