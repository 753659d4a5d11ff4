#include "pattern.h"
#include "../ref/checked.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One axis: which indices have a wrong cell at all. */
struct axis {
    const char *name;
    size_t n, hit_count, first, last;
    bool *hit; /* (n) */
};

static struct axis axis_of(const uint8_t *wrong, size_t n0, size_t n1, int which, const char *name) {
    struct axis a = {.name = name, .n = which == 0 ? n0 : n1};
    a.hit = must_calloc(a.n, sizeof *a.hit);
    for (size_t i = 0; i < n0; ++i) {
        for (size_t j = 0; j < n1; ++j) {
            if (wrong[i * n1 + j]) {
                a.hit[which == 0 ? i : j] = true;
            }
        }
    }
    a.first = a.n;
    for (size_t i = 0; i < a.n; ++i) {
        if (a.hit[i]) {
            a.first = i < a.first ? i : a.first;
            a.last = i;
            ++a.hit_count;
        }
    }
    return a;
}

/* True when hit[i] <=> lo <= i mod period <= hi. Whole interval: period > n. */
static bool is_interval(const struct axis *a, size_t period, size_t lo, size_t hi) {
    for (size_t i = 0; i < a->n; ++i) {
        if (a->hit[i] != (i % period >= lo && i % period <= hi)) {
            return false;
        }
    }
    return true;
}

struct rule {
    bool all, known;
    bool gaps;             /* an interval that starts past 0, in which some are right, by luck or zeros in the data */
    size_t period, lo, hi; /* period 0: a plain interval */
};

static struct rule rule_of(const struct axis *a) {
    struct rule r = {.all = a->hit_count == a->n};
    if (r.all || a->hit_count == 0) {
        return r;
    }
    if (is_interval(a, a->n + 1, a->first, a->last)) {
        return (struct rule){.known = true, .lo = a->first, .hi = a->last};
    }
    for (size_t period = 2; period <= 256 && period < a->n; ++period) {
        size_t lo = period, hi = 0;
        for (size_t i = 0; i < a->n; ++i) {
            if (a->hit[i]) {
                lo = i % period < lo ? i % period : lo;
                hi = i % period > hi ? i % period : hi;
            }
        }
        if (hi - lo + 1 < period && is_interval(a, period, lo, hi)) {
            return (struct rule){.known = true, .period = period, .lo = lo, .hi = hi};
        }
    }
    if (a->first > 0 && 2 * a->hit_count > a->n - a->first) {
        return (struct rule){.known = true, .gaps = true, .lo = a->first, .hi = a->n - 1};
    }
    return r;
}

static char *axis_text(const struct axis *a, const struct rule *r) {
    if (r->all) {
        return must_format("every %s", a->name);
    }
    if (!r->known) {
        return must_format("%zu of %zu %ss, first %zu, last %zu", a->hit_count, a->n, a->name, a->first, a->last);
    }
    if (r->gaps) {
        return must_format("%zu of the %ss >= %zu; %ss 0..%zu right", a->hit_count, a->name, r->lo, a->name, r->lo - 1);
    }
    if (r->period != 0 && r->lo == r->hi) {
        return must_format("every %s with %s mod %zu = %zu", a->name, a->name, r->period, r->lo);
    }
    if (r->period != 0 && r->hi + 1 == r->period) {
        return must_format("every %s with %s mod %zu >= %zu; the others right", a->name, a->name, r->period, r->lo);
    }
    if (r->period != 0) {
        return must_format("every %s with %s mod %zu in %zu..%zu", a->name, a->name, r->period, r->lo, r->hi);
    }
    if (r->lo == r->hi) {
        return must_format("%s %zu alone", a->name, r->lo);
    }
    if (r->hi + 1 == a->n) {
        return must_format("every %s >= %zu; %ss 0..%zu right", a->name, r->lo, a->name, r->lo - 1);
    }
    if (r->lo == 0) {
        return must_format("every %s <= %zu; from %zu on right", a->name, r->hi, r->hi + 1);
    }
    return must_format("%ss %zu..%zu", a->name, r->lo, r->hi);
}

/* What makes an axis wrong in this way. The numbers are those of warps (16), fragments (8), pairs (2) and tiles. */
static const char *axis_suspects(const struct axis *a, const struct rule *r, bool fragments) {
    if (r->all || !r->known) {
        return NULL;
    }
    if (r->period == 2) {
        return "one element of a pair: components of a vector exchanged or a word off";
    }
    if (r->period == 0 && r->lo == r->hi && r->lo + 1 == a->n) {
        return "tail: the last one is masked off or stored wrongly";
    }
    if (r->period == 0 && r->lo > 0 && r->lo % 64 == 0 && r->hi + 1 == a->n) {
        return "origin of the second tile: block index missing from an address";
    }
    if (r->lo == 16 || (r->period != 0 && r->lo % 16 == 0 && r->lo > 0)) {
        return "per-warp offset missing from an address";
    }
    if (!fragments) {
        return NULL;
    }
    if (r->period == 16 || (r->period == 0 && r->lo == 8)) {
        return "second half of a 16-row fragment: matrices of an ldmatrix exchanged, or +8 missing";
    }
    if (r->period != 0 && r->period % 4 == 0) {
        return "lane to element map of a fragment";
    }
    return NULL;
}

struct pattern pattern_of(const uint8_t *wrong, size_t n0, size_t n1, const char *axis0, const char *axis1,
                          bool fragments) {
    struct pattern p = {.total = n0 * n1};
    for (size_t i = 0; i < p.total; ++i) {
        p.wrong += wrong[i] != 0;
    }
    struct axis a0 = axis_of(wrong, n0, n1, 0, axis0), a1 = axis_of(wrong, n0, n1, 1, axis1);
    const struct rule r0 = rule_of(&a0), r1 = rule_of(&a1);
    char *t0 = axis_text(&a0, &r0), *t1 = axis1 != NULL ? axis_text(&a1, &r1) : NULL;
    const size_t covered = a0.hit_count * a1.hit_count; /* the smallest box of rows x columns around the wrong cells */
    char *partial = covered == p.wrong
                        ? must_strdup("")
                        : must_format("; %zu of the %zu cell%s there", p.wrong, covered, plural(covered));
    if (p.wrong == p.total) {
        p.text = p.total == 1 ? must_strdup("the only cell wrong") : must_format("all %zu cells wrong", p.total);
    } else if (p.wrong == 1) {
        p.text =
            must_format("1 of %zu wrong: %s %zu%s%s", p.total, axis0, a0.first, axis1 ? ", " : "", axis1 ? t1 : "");
    } else if (axis1 == NULL || r1.all) {
        p.text = must_format("%zu of %zu wrong: %s%s", p.wrong, p.total, t0, partial);
    } else if (r0.all) {
        p.text = must_format("%zu of %zu wrong: %s%s", p.wrong, p.total, t1, partial);
    } else {
        p.text = must_format("%zu of %zu wrong: %s; %s%s", p.wrong, p.total, t1, t0, partial);
    }
    p.suspects = axis1 != NULL ? axis_suspects(&a1, &r1, fragments) : NULL;
    p.suspects = p.suspects != NULL ? p.suspects : axis_suspects(&a0, &r0, fragments);
    free(t0);
    free(t1);
    free(partial);
    free(a0.hit);
    free(a1.hit);
    return p;
}

char *pattern_rule(const size_t *from, const size_t *to, size_t count, const char *name) {
    if (count == 0) {
        return NULL;
    }
    bool fits = true;
    for (size_t i = 0; i < count && fits; ++i) {
        fits = to[i] == to[0];
    }
    if (fits && count > 1) {
        return must_format("%zu", to[0]);
    }
    for (size_t m = 1; m <= 4096; ++m) {
        fits = true;
        for (size_t i = 0; i < count && fits; ++i) {
            fits = to[i] == from[i] % m;
        }
        if (fits) {
            return must_format("%s mod %zu", name, m);
        }
    }
    const size_t mask = from[0] ^ to[0];
    const int64_t shift = (int64_t)to[0] - (int64_t)from[0];
    fits = true;
    for (size_t i = 0; i < count && fits; ++i) {
        fits = (int64_t)to[i] - (int64_t)from[i] == shift;
    }
    if (fits) {
        return must_format("%s %c %lld", name, shift < 0 ? '-' : '+', shift < 0 ? -(long long)shift : (long long)shift);
    }
    fits = true;
    for (size_t i = 0; i < count && fits; ++i) {
        fits = (from[i] ^ to[i]) == mask;
    }
    return fits ? must_format("%s xor %zu", name, mask) : NULL;
}
