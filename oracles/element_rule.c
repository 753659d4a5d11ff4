#include "element_rule.h"
#include "../ref/checked.h"
#include <stdlib.h>

enum { MOST_MODULUS = 4096, MOST_POINTS = 2048, MOST_PAIRS = 24 };

long long element_rule_apply(const struct element_rule *r, size_t cell) {
    const long long i = (long long)cell, a = r->a, b = r->b;
    switch (r->kind) {
    case ELEMENT_CONSTANT:
        return b;
    case ELEMENT_AFFINE:
        return a * i + b;
    case ELEMENT_DIV:
        return i / a + b;
    case ELEMENT_MOD:
        return i % a + b;
    case ELEMENT_TURN:
        return (i + b) % a;
    case ELEMENT_DIV_MOD:
        return i / a % b;
    case ELEMENT_TRANSPOSE:
        return i % a * b + i / a;
    case ELEMENT_PITCH:
        return i / a * b + i % a;
    case ELEMENT_FOLD:
        return i / a * b + i % b;
    case ELEMENT_REVERSE:
        return i / a * a + (a - 1 - i % a);
    default:
        return i ^ a;
    }
}

struct search {
    const struct element_point *points;
    size_t count, step; /* every step-th point is looked at */
    struct element_rule best;
    size_t covered;
};

static size_t cover(const struct search *s, const struct element_rule *r, size_t step) {
    size_t n = 0;
    for (size_t i = 0; i < s->count; i += step) {
        n += element_rule_apply(r, s->points[i].cell) == (long long)s->points[i].element;
    }
    return n;
}

static void try(struct search *s, enum element_rule_kind kind, long long a, long long b) {
    const struct element_rule r = {kind, a, b};
    const size_t n = cover(s, &r, s->step);
    if (n > s->covered) {
        s->covered = n;
        s->best = r;
    }
}

/* Rules that go through two of the points. */
static void try_pairs(struct search *s) {
    const size_t step = s->count / MOST_PAIRS + 1;
    for (size_t i = 0; i < s->count; i += step) {
        const long long c = (long long)s->points[i].cell, e = (long long)s->points[i].element;
        try(s, ELEMENT_CONSTANT, 0, e);
        try(s, ELEMENT_XOR, c ^ e, 0);
        if (i + 1 < s->count) {
            const long long dc = (long long)s->points[i + 1].cell - c, de = (long long)s->points[i + 1].element - e;
            if (dc != 0 && de % dc == 0) {
                try(s, ELEMENT_AFFINE, de / dc, e - de / dc * c);
            }
        }
        try(s, ELEMENT_AFFINE, 1, e - c);
    }
}

static void try_moduli(struct search *s) {
    const long long c = (long long)s->points[0].cell, e = (long long)s->points[0].element;
    long long most = 0;
    for (size_t i = 0; i < s->count; ++i) {
        most = (long long)s->points[i].element > most ? (long long)s->points[i].element : most;
    }
    for (long long m = 2; m <= MOST_MODULUS; ++m) {
        try(s, ELEMENT_DIV, m, 0);
        try(s, ELEMENT_DIV, m, e - c / m);
        try(s, ELEMENT_MOD, m, 0);
        try(s, ELEMENT_MOD, m, e - c % m);
        try(s, ELEMENT_TURN, m, ((e - c) % m + m) % m);
        try(s, ELEMENT_DIV_MOD, m, most + 1);
        try(s, ELEMENT_REVERSE, m, 0);
        if (m % 2 == 0) { /* two codes of a byte, half a block apart */
            try(s, ELEMENT_FOLD, m, m / 2);
        }
        /* the factor from the first point that has one */
        long long of_mod = 0, of_div = 0;
        for (size_t i = 0; i < s->count && (of_mod == 0 || of_div == 0); ++i) {
            const long long x = (long long)s->points[i].cell, y = (long long)s->points[i].element;
            of_mod = of_mod == 0 && x % m == 1 && y >= x / m ? y - x / m : of_mod;
            of_div = of_div == 0 && x / m == 1 && y >= x % m ? y - x % m : of_div;
        }
        if (of_mod > 0) {
            try(s, ELEMENT_TRANSPOSE, m, of_mod);
        }
        if (of_div > 0) {
            try(s, ELEMENT_PITCH, m, of_div);
        }
    }
}

bool element_rule_find(const struct element_point *points, size_t count, struct element_rule *best, size_t *covered) {
    struct search s = {.points = points, .count = count, .step = count / MOST_POINTS + 1};
    if (count < 2) {
        return false;
    }
    try(&s, ELEMENT_AFFINE, 1, 0);
    try_pairs(&s);
    try_moduli(&s);
    *best = s.best;
    *covered = cover(&s, best, 1);
    return *covered >= 2;
}

/* " + 3", "", " - 1" */
static char *plus(long long b) {
    return b == 0 ? must_strdup("") : must_format(" %c %lld", b < 0 ? '-' : '+', b < 0 ? -b : b);
}

char *element_rule_text(const struct element_rule *r) {
    char *more = plus(r->b), *text;
    switch (r->kind) {
    case ELEMENT_CONSTANT:
        text = must_format("%lld", r->b);
        break;
    case ELEMENT_AFFINE:
        text = r->a == 0    ? must_format("%lld", r->b)
               : r->a == 1  ? must_format("i%s", more)
               : r->a == -1 ? must_format("%lld - i", r->b)
                            : must_format("%lld * i%s", r->a, more);
        break;
    case ELEMENT_DIV:
        text = must_format("i div %lld%s", r->a, more);
        break;
    case ELEMENT_MOD:
        text = must_format("i mod %lld%s", r->a, more);
        break;
    case ELEMENT_TURN:
        text = must_format("(i%s) mod %lld", more, r->a);
        break;
    case ELEMENT_DIV_MOD:
        text = must_format("(i div %lld) mod %lld", r->a, r->b);
        break;
    case ELEMENT_TRANSPOSE:
        text = must_format("(i mod %lld) * %lld + i div %lld", r->a, r->b, r->a);
        break;
    case ELEMENT_PITCH:
        text = must_format("(i div %lld) * %lld + i mod %lld", r->a, r->b, r->a);
        break;
    case ELEMENT_FOLD:
        text = must_format("(i div %lld) * %lld + i mod %lld", r->a, r->b, r->b);
        break;
    case ELEMENT_REVERSE:
        text = must_format("i, backwards within each %lld", r->a);
        break;
    default:
        text = must_format("i xor %lld", r->a);
    }
    free(more);
    return text;
}
