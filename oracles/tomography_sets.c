/* Cells that consume several elements of a plain input: of some of them the first, the step and the last. */
#include "../ref/checked.h"
#include "element_rule.h"
#include "tomography_buffers.h"
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 3, VALUES = 2, MOST_BLOCKS = 64 };

struct sample {
    size_t cell, first, last, step;
    bool regular; /* first, first + step .. last, and no others */
};

struct splitter {
    struct plain *x;
    const struct dependences *d;
    bool *flags;
    enum probe_end end;
    size_t launches;
};

/* The cell changes with these elements. */
static bool changes(struct splitter *s, size_t cell, struct elements_changed c) {
    bool yes = false;
    c.buffer = s->d->input;
    c.bit = -1;
    for (c.value = 0; c.value < VALUES && !yes && s->end == PROBE_RAN; ++c.value) {
        struct bound b;
        s->end = plain_launch(s->x, &c, &b);
        if (s->end == PROBE_RAN) {
            ++s->launches;
            plain_changed(s->x, &b, s->d->output, s->flags);
            bound_free(&b);
            yes = s->flags[cell];
        }
    }
    return yes;
}

/* The first element of low .. high that the cell changes with; high is one, or there is none: then high. */
static size_t first_of(struct splitter *s, size_t cell, size_t low, size_t high) {
    const size_t from = low;
    while (low < high && s->end == PROBE_RAN) {
        const size_t mid = low + (high - low) / 2;
        if (changes(s, cell, (struct elements_changed){.first = from, .last = mid + 1, .step = 1})) {
            high = mid;
        } else {
            low = mid + 1;
        }
    }
    return low;
}

static size_t last_of(struct splitter *s, size_t cell, size_t low, size_t high) {
    const size_t to = high;
    while (low < high && s->end == PROBE_RAN) {
        const size_t mid = low + (high - low + 1) / 2;
        if (changes(s, cell, (struct elements_changed){.first = mid, .last = to + 1, .step = 1})) {
            low = mid;
        } else {
            high = mid - 1;
        }
    }
    return low;
}

static void resolve(struct splitter *s, struct sample *p) {
    const size_t n = s->x->described[s->d->input].bytes / s->x->types[s->d->input];
    const size_t low = s->d->element[p->cell], most = s->d->element[p->cell] | s->d->mask[p->cell];
    const size_t high = most < n ? most : n - 1;
    p->first = first_of(s, p->cell, low, high);
    p->last = last_of(s, p->cell, p->first, high);
    p->step = p->last > p->first ? first_of(s, p->cell, p->first + 1, p->last) - p->first : 1;
    p->regular =
        (p->last - p->first) % p->step == 0 &&
        !changes(s, p->cell,
                 (struct elements_changed){.first = p->first, .last = p->last + 1, .step = p->step, .other = true});
}

/* "x[0..63]", "x[0], x[64] .. x[448]" with an index before each: "64 * i" */
static char *set_text(const char *name, const char *base, size_t length, size_t step) {
    return step == 1        ? must_format("%s[%s .. + %zu]", name, base, length)
           : step == length ? must_format("%s[%s] and %s[%s + %zu]", name, base, name, base, step)
                            : must_format("%s[%s .. + %zu, every %zu]", name, base, length, step);
}

static bool alike(const struct sample *a, const struct sample *b) {
    return a->regular && b->regular && a->step == b->step && a->last - a->first == b->last - b->first;
}

static void tell(struct splitter *s, const struct sample *samples, size_t count, size_t cells) {
    const char *in = s->x->described[s->d->input].name, *out = s->x->described[s->d->output].name;
    struct element_point points[SAMPLES];
    struct element_rule r;
    size_t covered = 0, same = 0;
    for (size_t i = 0; i < count; ++i) {
        points[i] = (struct element_point){samples[i].cell, samples[i].first};
        same += alike(&samples[i], &samples[0]);
    }
    char *basis = must_format("%zu of %zu cells of %s, %zu of them split, in %zu launches", cells, s->d->cells, out,
                              count, s->launches + s->d->launches);
    if (count >= 3 && same == count && element_rule_find(points, count, &r, &covered) && covered == count) {
        char *base = element_rule_text(&r);
        char *set = set_text(in, base, samples[0].last - samples[0].first, samples[0].step);
        probe_line(s->x->p->out, must_strdup(in), out, must_format("%s[i] consumed %s", out, set), NULL, cells, basis,
                   false);
        free(set);
        free(base);
        return;
    }
    for (size_t i = 0; i < count; ++i) {
        char *base = must_format("%zu", samples[i].first);
        char *set = samples[i].regular ? set_text(in, base, samples[i].last - samples[i].first, samples[i].step)
                                       : must_format("some of %s[%zu..%zu]", in, samples[i].first, samples[i].last);
        probe_line(s->x->p->out, must_strdup(in), out, must_format("%s[%zu] consumed %s", out, samples[i].cell, set),
                   NULL, cells, must_strdup(basis), false);
        free(set);
        free(base);
    }
    free(basis);
}

/* The inputs in blocks as long as the sets of the samples: cells that change with one of them each. False: it was not
 * told. */
static bool tell_blocks(struct splitter *s, const struct sample *p, size_t cells) {
    const size_t n = s->x->described[s->d->input].bytes / s->x->types[s->d->input], length = p->last - p->first + 1;
    const size_t offset = p->first % length, blocks = (n - offset) / length;
    if (p->step != 1 || blocks < 2 || blocks > MOST_BLOCKS) {
        return false;
    }
    size_t *block = must_calloc(s->d->cells + 1, sizeof *block), *times = must_calloc(s->d->cells + 1, sizeof *times);
    for (size_t k = 0; k < blocks && s->end == PROBE_RAN; ++k) {
        struct bound b;
        const struct elements_changed c = {.buffer = s->d->input,
                                           .first = offset + k * length,
                                           .last = offset + (k + 1) * length,
                                           .step = 1,
                                           .bit = -1};
        s->end = plain_launch(s->x, &c, &b);
        if (s->end == PROBE_RAN) {
            ++s->launches;
            plain_changed(s->x, &b, s->d->output, s->flags);
            bound_free(&b);
            for (size_t i = 0; i < s->d->cells; ++i) {
                block[i] = s->flags[i] ? k : block[i];
                times[i] += s->flags[i];
            }
        }
    }
    struct element_point *points = must_calloc(s->d->cells + 1, sizeof *points);
    struct element_rule r;
    size_t count = 0, covered = 0;
    for (size_t i = 0; i < s->d->cells; ++i) {
        if (times[i] == 1) {
            points[count++] = (struct element_point){i, block[i]};
        }
    }
    const bool found = s->end == PROBE_RAN && count == cells && element_rule_find(points, count, &r, &covered) &&
                       10 * covered >= 9 * cells;
    if (found) {
        const char *in = s->x->described[s->d->input].name, *out = s->x->described[s->d->output].name;
        char *base = element_rule_text(&r), *plus = offset > 0 ? must_format("%zu + ", offset) : must_strdup("");
        char *rest = covered < cells ? must_format(" in %zu of %zu cells", covered, cells) : must_strdup("");
        probe_line(s->x->p->out, must_strdup(in), out,
                   r.kind == ELEMENT_CONSTANT
                       ? must_format("%s[i] consumed %s[%lld .. + %zu]%s", out, in,
                                     (long long)offset + r.b * (long long)length, length - 1, rest)
                       : must_format(strchr(base, ' ') ? "%s[i] consumed %s[%s%zu * (%s) .. + %zu]%s"
                                                       : "%s[i] consumed %s[%s%zu * %s .. + %zu]%s",
                                     out, in, plus, length, base, length - 1, rest),
                   NULL, covered,
                   must_format("%zu of %zu cells of %s, in %zu launches", covered, s->d->cells, out,
                               s->launches + s->d->launches),
                   false);
        free(base);
        free(plus);
        free(rest);
    }
    free(points);
    free(block);
    free(times);
    return found;
}

enum probe_end plain_sets(struct plain *x, const struct dependences *d) {
    struct splitter s = {.x = x, .d = d, .end = PROBE_RAN};
    struct sample samples[SAMPLES] = {{0}};
    size_t many = 0, count = 0, seen = 0;
    for (size_t i = 0; i < d->cells; ++i) {
        many += d->kind[i] == DEPENDS_MANY;
    }
    for (size_t i = 0; i < d->cells; ++i) { /* the first, one in the middle, the last */
        if (d->kind[i] == DEPENDS_MANY) {
            if (count < SAMPLES && (seen == 0 || seen == many / 2 || seen + 1 == many)) {
                samples[count++].cell = i;
            }
            ++seen;
        }
    }
    s.flags = must_calloc(d->cells + 1, sizeof *s.flags);
    size_t done = 0;
    for (; done < count && s.end == PROBE_RAN; ++done) {
        resolve(&s, &samples[done]);
    }
    done -= s.end != PROBE_RAN && done > 0;
    bool like = done == count && done > 0;
    for (size_t i = 0; i < done; ++i) {
        like = like && alike(&samples[i], &samples[0]);
    }
    if (done > 0 && !(like && tell_blocks(&s, &samples[0], many))) {
        tell(&s, samples, done, many);
    }
    free(s.flags);
    return s.end;
}
