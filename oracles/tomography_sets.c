/* Cells that consume several elements of a plain input: of some of them the first, the step and the last. */
#include "../ref/checked.h"
#include "element_rule.h"
#include "tomography_buffers.h"
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 3, BREAKERS = 3, MOST_MEMBERS = 64, MOST_SETS = 64 };

struct sample {
    size_t cell, first, last, step;
    bool regular;                        /* first, first + step .. last, each of them, and no others */
    size_t members[MOST_MEMBERS], count; /* all of them, where they are few; else 0 */
};

struct splitter {
    struct plain *x;
    const struct dependences *d;
    const bool *wrong; /* (cells) or NULL */
    bool *flags;       /* (cells) what the last launch changed */
    enum element_value values[VALUES];
    size_t value_count, elements, many;
    enum probe_end end;
    size_t launches;
};

/* Flags what changes with these elements. */
static void launch(struct splitter *s, struct elements_changed c) {
    struct bound b;
    bool ran = false;
    memset(s->flags, 0, s->d->cells);
    if (s->x->p->budget <= s->x->reserved) {
        s->end = PROBE_SPENT;
        return;
    }
    c.buffer = s->d->input;
    c.bit = -1;
    s->end = plain_try(s->x, &c, &b, &ran);
    if (ran) {
        plain_changed(s->x, &b, s->d->output, s->flags);
        bound_free(&b);
    }
    s->launches += s->end == PROBE_RAN;
}

/* The cell changes with these elements. */
static bool changes(struct splitter *s, size_t cell, struct elements_changed c) {
    bool yes = false;
    for (size_t k = 0; k < s->value_count && !yes && s->end == PROBE_RAN; ++k) {
        c.value = s->values[k];
        launch(s, c);
        yes = s->flags[cell];
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

/* Adds those of low .. high - 1 that the cell changes with. */
static void members(struct splitter *s, struct sample *p, size_t low, size_t high) {
    if (low >= high || s->end != PROBE_RAN ||
        !changes(s, p->cell, (struct elements_changed){.first = low, .last = high, .step = 1})) {
        return;
    }
    if (high - low == 1) {
        p->members[p->count++] = low;
        return;
    }
    members(s, p, low, low + (high - low) / 2);
    members(s, p, low + (high - low) / 2, high);
}

static bool outside(struct splitter *s, const struct sample *p) {
    bool *mask = must_calloc(s->elements + 1, sizeof *mask);
    for (size_t e = 0; e < s->elements; ++e) {
        mask[e] = true;
    }
    for (size_t i = 0; i < p->count; ++i) {
        mask[p->members[i]] = false;
    }
    const bool some = changes(s, p->cell, (struct elements_changed){.mask = mask});
    free(mask);
    return some;
}

static void resolve(struct splitter *s, struct sample *p) {
    const size_t low = s->d->element[p->cell], most = s->d->element[p->cell] | s->d->mask[p->cell];
    p->first = first_of(s, p->cell, low, most < s->elements ? most : s->elements - 1);
    p->last = last_of(s, p->cell, p->first, most < s->elements ? most : s->elements - 1);
    p->count = 0;
    p->step = 1;
    if (p->last - p->first < MOST_MEMBERS) {
        members(s, p, p->first, p->last + 1);
    } else {
        p->step = first_of(s, p->cell, p->first + 1, p->last) - p->first;
        const bool even = (p->last - p->first) % p->step == 0 && (p->last - p->first) / p->step < MOST_MEMBERS;
        for (size_t e = p->first; even && e <= p->last && s->end == PROBE_RAN; e += p->step) {
            members(s, p, e, e + 1);
        }
    }
    size_t all = SIZE_MAX, any = 0; /* bits of the indices, which groups have shown */
    for (size_t i = 0; i < p->count; ++i) {
        all &= p->members[i];
        any |= p->members[i];
    }
    if (p->count > 0 && (all != low || any != most || outside(s, p))) {
        p->count = 0; /* it depends on more than was found */
    }
    p->step = p->count > 1 ? p->members[1] - p->members[0] : p->step;
    p->regular = p->count > 1;
    for (size_t i = 0; i < p->count; ++i) {
        p->regular = p->regular && p->members[i] == p->first + i * p->step;
    }
    p->regular = p->regular && p->members[p->count - 1] == p->last;
}

/* "x[8 * i .. + 7]", "x[i mod 9 .. + 90, every 9]" of the text of the first */
static char *set_text(const char *name, const char *base, size_t length, size_t step) {
    return step == 1        ? must_format("%s[%s .. + %zu]", name, base, length)
           : step == length ? must_format("%s[%s] and %s[%s + %zu]", name, base, name, base, step)
                            : must_format("%s[%s .. + %zu, every %zu]", name, base, length, step);
}

/* "x[24 .. + 3], x[29 .. + 2]", "some of x[0..90]" */
static char *sample_text(const char *name, const struct sample *p) {
    char *base = must_format("%zu", p->first), *text = NULL;
    if (p->regular) {
        text = set_text(name, base, p->last - p->first, p->step);
    } else if (p->count == 0) {
        text = p->first == p->last ? must_format("%s[%zu] and others", name, p->first)
                                   : must_format("some of %s[%zu..%zu]", name, p->first, p->last);
    }
    for (size_t i = 0, n; text == NULL || (!p->regular && i < p->count); i += n) {
        for (n = 1; i + n < p->count && p->members[i + n] == p->members[i] + n; ++n) {
        }
        char *run = n > 1 ? must_format("%s[%zu .. + %zu]", name, p->members[i], n - 1)
                          : must_format("%s[%zu]", name, p->members[i]);
        char *more = text != NULL ? must_format("%s, %s", text, run) : must_strdup(run);
        free(text);
        free(run);
        text = more;
    }
    free(base);
    return text;
}

static bool alike(const struct sample *a, const struct sample *b) {
    return a->regular && b->regular && a->step == b->step && a->last - a->first == b->last - b->first;
}

/* others: what the cells beside it consumed, or NULL. */
static void tell_sample(struct splitter *s, const struct sample *p, const char *others) {
    const char *in = s->x->described[s->d->input].name, *out = s->x->described[s->d->output].name;
    const bool bad = others != NULL && p->count > 0 && s->wrong != NULL && s->wrong[p->cell];
    char *set = sample_text(in, p);
    probe_line(s->x->p->out, must_strdup(in), out,
               others != NULL ? must_format("%s[%zu] consumed %s (most consumed %s)", out, p->cell, set, others)
                              : must_format("%s[%zu] consumed %s", out, p->cell, set),
               NULL, 1,
               must_format("this one of %zu cells of %s that consumed several, in %zu launches", s->many, out,
                           s->launches + s->d->launches),
               bad);
    free(set);
}

/* ---- a set for each cell ---- */

/* Elements in classes, one for each set: runs of step * count elements from offset on, by the remainder by step. */
struct classes {
    size_t offset, step, count;
};

static size_t class_of(const struct classes *c, size_t e) {
    const size_t run = c->step * c->count, at = e - c->offset;
    return e < c->offset ? SIZE_MAX : at / run * c->step + at % run % c->step;
}

static size_t first_of_class(const struct classes *c, size_t k) {
    return c->offset + k / c->step * c->step * c->count + k % c->step;
}

static unsigned bits_of(size_t n) {
    unsigned bits = 1;
    while (bits < 63 && (size_t)1 << bits < n) {
        ++bits;
    }
    return bits;
}

/* found (cells): the class that a cell changes with, SIZE_MAX: not one. */
static void find_classes(struct splitter *s, const struct classes *c, size_t *found) {
    const unsigned bits = bits_of(class_of(c, s->elements - 1) + c->step);
    bool *mask = must_calloc(s->elements + 1, sizeof *mask), *seen = must_calloc(s->d->cells + 1, 2);
    for (unsigned bit = 0; bit < bits && s->end == PROBE_RAN; ++bit) {
        memset(seen, 0, 2 * s->d->cells);
        for (size_t k = 0; k < 2 * s->value_count && s->end == PROBE_RAN; ++k) {
            for (size_t e = 0; e < s->elements; ++e) {
                const size_t class = class_of(c, e);
                mask[e] = class != SIZE_MAX && (class >> bit & 1) == k % 2;
            }
            launch(s, (struct elements_changed){.mask = mask, .value = s->values[k / 2]});
            for (size_t i = 0; i < s->d->cells; ++i) {
                seen[2 * i + k % 2] |= s->flags[i];
            }
        }
        for (size_t i = 0; i < s->d->cells; ++i) {
            found[i] = found[i] == SIZE_MAX || seen[2 * i] == seen[2 * i + 1]
                           ? SIZE_MAX
                           : found[i] | (size_t)seen[2 * i + 1] << bit;
        }
    }
    free(mask);
    free(seen);
}

/* ---- whether it holds ---- */

/* ok (cells) stays where each element of first[i], + step .. changes the cell. (e div step) mod count is another for
 * each element of a set, so a launch for each remainder tries one of every cell. */
static void each_changes(struct splitter *s, const struct classes *c, bool *ok) {
    bool *mask = must_calloc(s->elements + 1, sizeof *mask), *seen = must_calloc(s->d->cells + 1, sizeof *seen);
    for (size_t r = 0; r < c->count && s->end == PROBE_RAN; ++r) {
        bool all = false;
        memset(seen, 0, s->d->cells);
        for (size_t e = 0; e < s->elements; ++e) {
            mask[e] = e / c->step % c->count == r;
        }
        for (size_t k = 0; k < s->value_count && !all && s->end == PROBE_RAN; ++k) {
            launch(s, (struct elements_changed){.mask = mask, .value = s->values[k]});
            all = true;
            for (size_t i = 0; i < s->d->cells; ++i) {
                seen[i] |= s->flags[i];
                all = all && (seen[i] || !ok[i]);
            }
        }
        for (size_t i = 0; i < s->d->cells; ++i) {
            ok[i] = ok[i] && seen[i];
        }
    }
    free(mask);
    free(seen);
}

/* ok (cells) stays where no other element changes the cell. Sets are numbered: where they have no element in common,
 * those with a bit of their number set are changed, and those with it clear; else all elements but each one's. */
static void no_other_changes(struct splitter *s, const struct classes *c, const size_t *first, bool *ok) {
    size_t *owner = must_calloc(s->elements + 1, sizeof *owner), sets = 0;
    size_t *number = must_calloc(s->elements + 1, sizeof *number);
    bool *mask = must_calloc(s->elements + 1, sizeof *mask), disjoint = true;
    for (size_t i = 0; i < s->d->cells; ++i) { /* numbers from 1 on, of the first element; 0: none */
        if (ok[i] && number[first[i]] == 0) {
            number[first[i]] = ++sets;
            for (size_t k = 0; k < c->count; ++k) {
                size_t *o = &owner[first[i] + k * c->step];
                disjoint = disjoint && *o == 0;
                *o = sets;
            }
        }
    }
    const unsigned bits = bits_of(sets + 1);
    const size_t turns = disjoint ? 2 * (size_t)bits : sets;
    if (!disjoint && sets > MOST_SETS) {
        memset(ok, 0, s->d->cells); /* not told */
    }
    for (size_t t = 0; t < turns * s->value_count && (disjoint || sets <= MOST_SETS) && s->end == PROBE_RAN; ++t) {
        const size_t turn = t / s->value_count, bit = turn / 2, with = turn % 2;
        if (disjoint) { /* elements of no set have number 0 */
            for (size_t e = 0; e < s->elements; ++e) {
                mask[e] = (owner[e] >> bit & 1) == with;
            }
        } else {
            memset(mask, 1, s->elements);
            for (size_t e = 0; e < s->elements; ++e) {
                for (size_t k = 0; number[e] == turn + 1 && k < c->count; ++k) {
                    mask[e + k * c->step] = false;
                }
            }
        }
        launch(s, (struct elements_changed){.mask = mask, .value = s->values[t % s->value_count]});
        for (size_t i = 0; i < s->d->cells; ++i) {
            const bool may = ok[i] && (disjoint ? (number[first[i]] >> bit & 1) == with : number[first[i]] != turn + 1);
            ok[i] = ok[i] && (may || !s->flags[i]);
        }
    }
    free(owner);
    free(number);
    free(mask);
}

/* Those that do not follow it, wrong ones first. */
static void tell_breakers(struct splitter *s, const struct classes *c, const size_t *first, const bool *ok,
                          const char *others) {
    size_t told = 0, left = 0;
    for (int turn = 0; turn < 2; ++turn) {
        for (size_t i = 0; i < s->d->cells; ++i) {
            const bool bad = s->wrong != NULL && s->wrong[i];
            if (s->d->kind[i] != DEPENDS_MANY || ok[i] || bad != (turn == 0)) {
                continue;
            }
            struct sample p = {.cell = i};
            if (told < BREAKERS && s->end == PROBE_RAN) {
                resolve(s, &p);
            }
            if (told < BREAKERS && s->end == PROBE_RAN) {
                const bool same = p.regular && p.first == first[i] && p.step == c->step && p.count == c->count;
                tell_sample(s, &p, same ? NULL : others);
                ++told;
            } else {
                ++left;
            }
        }
    }
    if (left > 0) {
        probe_note(s->x->p->out,
                   must_format("%s: %zu more of the cells of %s do not follow %s", s->x->described[s->d->input].name,
                               left, s->x->described[s->d->output].name, others));
    }
}

/* The rule for the classes (of runs) or the first elements, text of the set. NULL: none. */
static char *rule_text(const struct splitter *s, const struct classes *c, const struct element_rule *r) {
    const char *in = s->x->described[s->d->input].name;
    const size_t length = (c->count - 1) * c->step;
    char *base = element_rule_text(r), *text, *first;
    if (c->step > 1 || r->kind == ELEMENT_CONSTANT) {
        first = c->step > 1 ? must_strdup(base) : must_format("%zu", c->offset + (size_t)r->b * c->count);
    } else {
        char *plus = c->offset > 0 ? must_format("%zu + ", c->offset) : must_strdup("");
        first = must_format(strchr(base, ' ') ? "%s%zu * (%s)" : "%s%zu * %s", plus, c->count, base);
        free(plus);
    }
    text = set_text(in, first, length, c->step);
    free(first);
    free(base);
    return text;
}

/* Proposes a rule for all cells from the classes, and tells it when it holds in three quarters of them. */
static bool tell_all(struct splitter *s, const struct sample *p, size_t samples) {
    const size_t run = p->count * p->step;
    const struct classes c = {.offset = (p->first - p->first % p->step) % run, .step = p->step, .count = p->count};
    for (size_t i = 0; i < samples; ++i) {
        if (p[i].first < c.offset || first_of_class(&c, class_of(&c, p[i].first)) != p[i].first) {
            return false;
        }
    }
    size_t *first = must_calloc(s->d->cells + 1, sizeof *first), count = 0, covered = 0, good = 0;
    bool *ok = must_calloc(s->d->cells + 1, sizeof *ok);
    struct element_point *points = must_calloc(s->d->cells + 1, sizeof *points);
    struct element_rule r;
    find_classes(s, &c, first);
    for (size_t i = 0; i < s->d->cells; ++i) {
        if (s->d->kind[i] == DEPENDS_MANY && first[i] != SIZE_MAX) {
            points[count++] = (struct element_point){i, c.step > 1 ? first_of_class(&c, first[i]) : first[i]};
        }
    }
    bool found = s->end == PROBE_RAN && element_rule_find(points, count, &r, &covered) && 4 * covered >= 3 * s->many;
    for (size_t i = 0; found && i < s->d->cells; ++i) {
        const long long e = element_rule_apply(&r, i);
        const size_t at = e < 0 ? SIZE_MAX : c.step > 1 ? (size_t)e : first_of_class(&c, (size_t)e);
        ok[i] = s->d->kind[i] == DEPENDS_MANY && at < s->elements && at + (c.count - 1) * c.step < s->elements;
        first[i] = ok[i] ? at : 0;
    }
    if (found) {
        each_changes(s, &c, ok);
        no_other_changes(s, &c, first, ok);
    }
    for (size_t i = 0; i < s->d->cells; ++i) {
        good += ok[i];
    }
    found = found && s->end == PROBE_RAN && good >= 2 && 4 * good >= 3 * s->many;
    if (found) {
        const char *in = s->x->described[s->d->input].name, *out = s->x->described[s->d->output].name;
        char *set = rule_text(s, &c, &r);
        char *rest = good < s->many ? must_format(" in %zu of %zu cells", good, s->many) : must_strdup("");
        probe_line(s->x->p->out, must_strdup(in), out, must_format("%s[i] consumed %s%s", out, set, rest), NULL, good,
                   must_format("%zu of %zu cells of %s, in %zu launches", good, s->d->cells, out,
                               s->launches + s->d->launches),
                   false);
        tell_breakers(s, &c, first, ok, set);
        free(rest);
        free(set);
    }
    free(points);
    free(first);
    free(ok);
    return found;
}

/* The first, one in the middle, the last, of cells whose bytes are right, or of all where none is. */
static size_t choose(const struct splitter *s, struct sample *samples) {
    size_t right = 0, count = 0, seen = 0;
    for (size_t i = 0; i < s->d->cells; ++i) {
        right += s->d->kind[i] == DEPENDS_MANY && !(s->wrong != NULL && s->wrong[i]);
    }
    const size_t of = right > 0 ? right : s->many;
    for (size_t i = 0; i < s->d->cells; ++i) {
        if (s->d->kind[i] == DEPENDS_MANY && (right == 0 || !(s->wrong != NULL && s->wrong[i]))) {
            if (count < SAMPLES && (seen == 0 || seen == of / 2 || seen + 1 == of)) {
                samples[count++].cell = i;
            }
            ++seen;
        }
    }
    return count;
}

/* Where no rule is told: wrong cells, which go before the samples that were split already. */
static void tell_wrong(struct splitter *s, const struct sample *samples, size_t done) {
    size_t told = 0;
    for (size_t i = 0; s->wrong != NULL && i < s->d->cells && told < BREAKERS && s->end == PROBE_RAN; ++i) {
        bool had = !s->wrong[i] || s->d->kind[i] != DEPENDS_MANY;
        for (size_t k = 0; k < done; ++k) {
            had |= samples[k].cell == i;
        }
        struct sample p = {.cell = i};
        if (!had) {
            resolve(s, &p);
        }
        if (!had && s->end == PROBE_RAN) {
            tell_sample(s, &p, NULL);
            ++told;
        }
    }
}

enum probe_end plain_sets(struct plain *x, const struct dependences *d, const bool *wrong) {
    struct splitter s = {.x = x, .d = d, .wrong = wrong, .end = PROBE_RAN};
    struct sample samples[SAMPLES] = {{0}};
    for (size_t i = 0; i < d->cells; ++i) {
        s.many += d->kind[i] == DEPENDS_MANY;
    }
    s.value_count = plain_values(x, s.values);
    s.elements = x->described[d->input].bytes / x->types[d->input];
    s.flags = must_calloc(d->cells + 1, sizeof *s.flags);
    const size_t count = choose(&s, samples);
    size_t done = 0, like = 0;
    for (; done < count && s.end == PROBE_RAN; ++done) {
        resolve(&s, &samples[done]);
    }
    done -= s.end != PROBE_RAN && done > 0;
    struct sample same[SAMPLES] = {{0}};
    for (size_t k = 0; k < done && 2 * like <= done; ++k) { /* most of them */
        like = 0;
        for (size_t i = 0; i < done; ++i) {
            if (alike(&samples[i], &samples[k])) {
                same[like++] = samples[i];
            }
        }
    }
    if (done > 0 && !(done == count && 2 * like > done && tell_all(&s, same, like))) {
        tell_wrong(&s, samples, done);
        for (size_t i = 0; i < done; ++i) {
            tell_sample(&s, &samples[i], NULL);
        }
    }
    free(s.flags);
    if (s.end == PROBE_SPENT && x->p->budget > 0) { /* the other inputs may have theirs */
        probe_note(x->p->out, must_format("%s: sets of some cells of %s alone: the launches for them were used up",
                                          x->described[d->input].name, x->described[d->output].name));
        return PROBE_RAN;
    }
    return s.end;
}
