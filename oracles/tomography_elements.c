/* Words for which elements of plain inputs the cells of an output consumed. */
#include "../ref/checked.h"
#include "element_rule.h"
#include "index_rule.h"
#include "tomography_buffers.h"
#include <stdlib.h>
#include <string.h>

enum { RULES = 3, MOST_SHIFT = 32, LISTED = 8, LEAST_CELLS = 8 };

/* ---- which element would have been right ---- */

static bool is_expected(const struct bound *b, size_t o, size_t cell, const uint8_t *expected) {
    const struct launch_buffer *buffer = &b->launch.buffers[o];
    const size_t n = buffer->cell_bytes;
    return memcmp(buffer->data + cell * n, expected + cell * n, n) == 0;
}

enum probe_end plain_want(struct plain *x, const struct dependences *d, const bool *wrong, const uint8_t *expected,
                          size_t *want) {
    const size_t n = x->described[d->input].bytes / x->types[d->input];
    bool any = false;
    for (size_t i = 0; i < d->cells; ++i) {
        want[i] = SIZE_MAX;
        any |= wrong[i] && d->kind[i] == DEPENDS_ONE;
    }
    enum probe_end end = PROBE_RAN;
    for (long long k = 2; any && end == PROBE_RAN && k < 2 * MOST_SHIFT + 2 && k / 2 < (long long)n; ++k) {
        const long long shift = k % 2 == 0 ? k / 2 : -(k / 2); /* the nearest first */
        struct bound b;
        end = plain_shifted(x, d->input, shift, &b);
        for (size_t i = 0; end == PROBE_RAN && i < d->cells; ++i) {
            const long long to = (long long)d->element[i] + shift;
            if (wrong[i] && d->kind[i] == DEPENDS_ONE && want[i] == SIZE_MAX && to >= 0 && to < (long long)n &&
                is_expected(&b, d->output, i, expected)) {
                want[i] = (size_t)to;
            }
        }
        if (end == PROBE_RAN) {
            bound_free(&b);
        }
    }
    return end;
}

/* ---- words ---- */

struct teller {
    struct plain *x;
    const struct dependences *d;
    const char *in, *out; /* names */
    bool *told;           /* (cells) */
};

/* "cells 32..63", or NULL: all. The caller frees it. */
static char *where(const struct teller *t, const bool *chosen) {
    unsigned char *state = must_calloc(t->d->cells + 1, 1);
    for (size_t i = 0; i < t->d->cells; ++i) {
        state[i] = chosen[i] ? AXIS_WRONG : AXIS_RIGHT;
    }
    char *text = axis_words(state, t->d->cells, "cell");
    free(state);
    return text;
}

static size_t count_of(const struct teller *t, const bool *chosen) {
    size_t n = 0;
    for (size_t i = 0; i < t->d->cells; ++i) {
        n += chosen[i];
    }
    return n;
}

static void line(const struct teller *t, const bool *chosen, char *what, const char *suspect, bool wrong) {
    char *at = where(t, chosen);
    const size_t n = count_of(t, chosen);
    char *text = at != NULL ? must_format("%s of %s: %s", at, t->out, what) : must_strdup(what);
    probe_line(t->x->p->out, must_strdup(t->in), t->out, text, suspect, n,
               must_format("%zu of %zu cells of %s, in %zu launches", n, t->d->cells, t->out, t->d->launches), wrong);
    free(at);
    free(what);
}

/* The rule of what right cells consumed and wrong ones should have: NULL unless it fits nearly all. */
static char *wanted_text(const struct teller *t, const bool *wrong, const size_t *want, struct element_rule *r) {
    struct element_point *points = must_calloc(t->d->cells + 1, sizeof *points);
    size_t n = 0, mended = 0, wrongs = 0, covered = 0;
    for (size_t i = 0; i < t->d->cells; ++i) {
        if (t->d->kind[i] == DEPENDS_ONE) {
            wrongs += wrong[i];
            mended += wrong[i] && want[i] != SIZE_MAX;
            if (!wrong[i] || want[i] != SIZE_MAX) {
                points[n++] = (struct element_point){i, wrong[i] ? want[i] : t->d->element[i]};
            }
        }
    }
    const bool found =
        10 * mended >= 9 * wrongs && mended > 0 && element_rule_find(points, n, r, &covered) && 20 * covered >= 19 * n;
    free(points);
    return found ? element_rule_text(r) : NULL;
}

static const char *suspect_of(const struct element_rule *got, const struct element_rule *want) {
    if (got->kind == want->kind && (got->kind == ELEMENT_DIV || got->kind == ELEMENT_MOD) && got->a != want->a) {
        return got->kind == ELEMENT_DIV ? "another divisor: a block of another size"
                                        : "another modulus: a row of another length";
    }
    if (got->kind == want->kind && got->kind == ELEMENT_AFFINE) {
        return got->a == want->a ? "the index is some elements off" : "another stride";
    }
    return "another index";
}

/* The rule has cells enough, and they are all that depend on the input, or an interval or period of the cells. */
static bool is_plain(const struct teller *t, const bool *chosen, size_t covered, const struct element_rule *r) {
    size_t depend = 0;
    for (size_t i = 0; i < t->d->cells; ++i) {
        depend += t->d->kind[i] != DEPENDS_NOT;
    }
    const bool linear = r->kind == ELEMENT_CONSTANT || r->kind == ELEMENT_AFFINE;
    if (covered == depend && (linear || covered == t->d->cells)) {
        return covered >= 2;
    }
    char *at = where(t, chosen);
    const bool plain = axis_is_rule(at) && covered >= LEAST_CELLS;
    free(at);
    return plain;
}

/* Where the neighbours of an input differ by a constant, right elements with something added look like others: where
 * each cell consumed its own, and where the rule of some right cells is that of the wrong ones, it may be either. */
static bool may_be_arithmetic(const struct teller *t, const struct element_rule *got, const bool *chosen,
                              const bool *wrong) {
    bool some_right = false;
    for (size_t i = 0; i < t->d->cells; ++i) {
        some_right |= chosen[i] && !wrong[i];
    }
    return t->x->even[t->d->input] && (some_right || (got->kind == ELEMENT_AFFINE && got->a == 1 && got->b == 0));
}

/* One rule of those that are not told yet. False: there is none. */
static bool tell_rule(struct teller *t, const bool *wrong, const char *want_text, const struct element_rule *want) {
    struct element_point *points = must_calloc(t->d->cells + 1, sizeof *points);
    bool *chosen = must_calloc(t->d->cells + 1, sizeof *chosen);
    struct element_rule r;
    size_t n = 0, covered = 0;
    for (size_t i = 0; i < t->d->cells; ++i) {
        if (t->d->kind[i] == DEPENDS_ONE && !t->told[i]) {
            points[n++] = (struct element_point){i, t->d->element[i]};
        }
    }
    bool found = element_rule_find(points, n, &r, &covered) && 8 * covered >= n, bad = false;
    for (size_t i = 0; found && i < t->d->cells; ++i) {
        chosen[i] =
            t->d->kind[i] == DEPENDS_ONE && !t->told[i] && element_rule_apply(&r, i) == (long long)t->d->element[i];
        bad |= chosen[i] && wrong != NULL && wrong[i];
    }
    found = found && is_plain(t, chosen, covered, &r);
    for (size_t i = 0; found && i < t->d->cells; ++i) {
        t->told[i] |= chosen[i];
    }
    if (found) {
        char *text = element_rule_text(&r);
        const bool other = bad && want_text != NULL && strcmp(want_text, text) != 0;
        const bool either = other && may_be_arithmetic(t, &r, chosen, wrong);
        char *what = other ? must_format("%s[i] consumed %s[%s] (want %s%s[%s])", t->out, t->in, text,
                                         either ? "other arithmetic on it, or " : "", t->in, want_text)
                           : must_format("%s[i] consumed %s[%s]", t->out, t->in, text);
        line(t, chosen, what,
             either  ? "the right element with other arithmetic, or another index"
             : other ? suspect_of(&r, want)
                     : NULL,
             other);
        free(text);
    }
    free(points);
    free(chosen);
    return found;
}

/* Each alone where they are few; with what it should have been where that is known. */
static void tell_cell(const struct teller *t, size_t i, const bool *wrong, const size_t *want) {
    const bool other = wrong != NULL && wrong[i] && want[i] != SIZE_MAX && want[i] != t->d->element[i];
    const bool either = other && t->x->even[t->d->input];
    char *wanted = other ? must_format(" (want %s%s[%zu])", either ? "other arithmetic on it, or " : "", t->in, want[i])
                         : must_strdup("");
    bool *alone = must_calloc(t->d->cells + 1, sizeof *alone);
    alone[i] = true;
    line(t, alone, must_format("%s[%zu] consumed %s[%zu]%s", t->out, i, t->in, t->d->element[i], wanted),
         either  ? "the right element with other arithmetic, or another index"
         : other ? "another index"
                 : NULL,
         other);
    free(alone);
    free(wanted);
}

static void tell_rest(struct teller *t, const bool *wrong, const size_t *want) {
    bool *chosen = must_calloc(t->d->cells + 1, sizeof *chosen);
    size_t first = SIZE_MAX, listed = 0;
    for (size_t i = 0; i < t->d->cells; ++i) {
        chosen[i] = t->d->kind[i] == DEPENDS_ONE && !t->told[i];
    }
    const bool few = count_of(t, chosen) <= LISTED;
    for (size_t i = 0; i < t->d->cells; ++i) {
        if (chosen[i] && listed < LISTED && (few || (wrong != NULL && wrong[i] && want[i] != SIZE_MAX))) {
            tell_cell(t, i, wrong, want);
            chosen[i] = false;
            ++listed;
        }
        first = chosen[i] && first == SIZE_MAX ? i : first;
    }
    if (first != SIZE_MAX) {
        line(t, chosen,
             must_format("%s[i] consumed one of %s each, without a rule, such as %s[%zu] %s[%zu]", t->out, t->in,
                         t->out, first, t->in, t->d->element[first]),
             NULL, false);
    }
    free(chosen);
}

static void tell_kind(struct teller *t, enum dependence kind, const char *format) {
    bool *chosen = must_calloc(t->d->cells + 1, sizeof *chosen);
    size_t n = 0;
    for (size_t i = 0; i < t->d->cells; ++i) {
        chosen[i] = t->d->kind[i] == kind && !(kind == DEPENDS_NOT && t->x->unwritten[t->d->output][i]);
        n += chosen[i];
    }
    if (n > 0) {
        char *what = must_format("%s[i] %s %s", t->out, format, t->in);
        line(t, chosen, what, NULL, false);
    }
    free(chosen);
}

/* By the launch file's `expect`, once for an output. */
static void note_wrong(const struct teller *t, const bool *wrong) {
    struct tomography *out = t->x->p->out;
    char *at = where(t, wrong);
    char *text = must_format("by its `expect` %s has wrong bytes in %s", t->out, at != NULL ? at : "every cell");
    bool said = false;
    for (size_t i = 0; i < out->note_count; ++i) {
        said |= strcmp(out->notes[i], text) == 0;
    }
    free(at);
    if (said) {
        free(text);
    } else {
        probe_note(out, text);
    }
}

void plain_tell(struct plain *x, const struct dependences *d, const bool *wrong, const size_t *want) {
    struct teller t = {.x = x, .d = d, .in = x->described[d->input].name, .out = x->described[d->output].name};
    struct element_rule r;
    t.told = must_calloc(d->cells + 1, sizeof *t.told);
    char *text = wrong != NULL ? wanted_text(&t, wrong, want, &r) : NULL;
    for (int n = 0; n < RULES && tell_rule(&t, wrong, text, &r); ++n) {
    }
    tell_rest(&t, wrong, want);
    tell_kind(&t, DEPENDS_NOT,
              x->partial ? "did not change, with not every value tried: open whether it consumed anything of"
                         : "changed with nothing put into");
    tell_kind(&t, DEPENDS_OPEN, "changes with some but not all groups, or by itself: open what it consumed of");
    if (wrong != NULL) {
        note_wrong(&t, wrong);
    }
    free(text);
    free(t.told);
}

void plain_tell_unwritten(struct plain *x, size_t o, const bool *wrong) {
    const size_t cells = plain_cells(x, o);
    const char *name = x->described[o].name;
    unsigned char *state = must_calloc(cells + 1, 1);
    size_t n = 0, bad = 0;
    for (size_t i = 0; i < cells; ++i) {
        state[i] = x->unwritten[o][i] ? AXIS_WRONG : AXIS_RIGHT;
        n += x->unwritten[o][i];
        bad += x->unwritten[o][i] && wrong != NULL && wrong[i];
    }
    if (n > 0) {
        char *at = axis_words(state, cells, "cell");
        probe_line(x->p->out, must_strdup(name), name, must_format("%s never written", at != NULL ? at : "every cell"),
                   NULL, n, must_format("%zu of %zu cells of %s, in %zu launches", n, cells, name, x->p->out->launches),
                   bad > 0);
        free(at);
    }
    free(state);
}
