#include "index_rule.h"
#include "../ref/checked.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_MODULUS = 4096, MOST_BITS = 14, MOST_CANDIDATES = 64, MOST_FACTOR = 64 };

long long index_rule_apply(const struct index_rule *r, size_t index) {
    const long long i = (long long)index;
    switch (r->kind) {
    case RULE_CONSTANT:
        return r->a;
    case RULE_MOD:
        return i % r->a;
    case RULE_DIV:
        return i / r->a;
    case RULE_ADD:
        return i + r->a;
    case RULE_XOR:
        return i ^ r->a;
    case RULE_CLEAR:
        return i & ~r->a;
    case RULE_SET:
        return i | r->a;
    case RULE_ROTATE:
        return i / r->a * r->a + (i + r->b) % r->a;
    case RULE_SWAP: {
        const long long x = (i >> r->a ^ i >> r->b) & 1;
        return i ^ (x << r->a | x << r->b);
    }
    case RULE_TIMES:
        return i * r->a;
    default:
        return -1;
    }
}

struct search {
    const struct index_pair *pairs;
    size_t count;
    struct index_rule best;
    size_t wrong, right; /* that follow it */
};

/* Explains as much, and says as much of what is right. */
static void try(struct search *s, struct index_rule r) {
    size_t wrong = 0, right = 0, different = 0, first = 0;
    for (size_t i = 0; i < s->count; ++i) {
        const struct index_pair *p = &s->pairs[i];
        if (index_rule_apply(&r, p->from) != (long long)p->to) {
            continue;
        }
        if (p->from == p->to) {
            right += p->count;
            continue;
        }
        different += different == 0 || p->from != first;
        first = p->from;
        wrong += p->count;
    }
    const bool odd_modulus = r.kind == RULE_MOD && r.a % 8 != 0;
    const bool rare = r.kind == RULE_DIV || r.kind == RULE_TIMES || r.kind == RULE_ROTATE || r.kind == RULE_SWAP;
    if (different >= (rare || odd_modulus ? 4u : 2u) && (wrong > s->wrong || (wrong == s->wrong && right > s->right))) {
        s->best = r;
        s->wrong = wrong;
        s->right = right;
    }
}

static void try_bits(struct search *s) {
    for (long long low = 0; low < MOST_BITS; ++low) {
        for (long long high = low + 1; high <= MOST_BITS; ++high) {
            try(s, (struct index_rule){RULE_CLEAR, (1ll << high) - (1ll << low), 0});
        }
    }
    for (long long bit = 0; bit < MOST_BITS; ++bit) {
        try(s, (struct index_rule){RULE_SET, 1ll << bit, 0});
    }
    for (long long m = 2; m <= 1ll << MOST_BITS; m *= 2) {
        for (long long b = 1; b < m && b <= 16; ++b) {
            try(s, (struct index_rule){RULE_ROTATE, m, b});
            try(s, (struct index_rule){RULE_ROTATE, m, m - b});
        }
    }
    for (long long low = 0; low < MOST_BITS; ++low) {
        for (long long high = low + 1; high < MOST_BITS; ++high) {
            try(s, (struct index_rule){RULE_SWAP, low, high});
        }
    }
}

bool index_rule_find(const struct index_pair *pairs, size_t count, struct index_rule *best, size_t *wrong,
                     size_t *right) {
    struct search s = {.pairs = pairs, .count = count};
    const size_t step = count / MOST_CANDIDATES + 1;
    long long most = 0; /* a larger modulus changes nothing */
    for (size_t i = 0; i < count; ++i) {
        most = (long long)pairs[i].from > most ? (long long)pairs[i].from : most;
    }
    for (long long m = 2; m <= MOST_MODULUS && m <= most; ++m) {
        try(&s, (struct index_rule){RULE_MOD, m, 0});
    }
    static const enum index_rule_kind of_pairs[] = {RULE_XOR, RULE_ADD, RULE_CONSTANT};
    for (size_t k = 0; k < sizeof of_pairs / sizeof *of_pairs; ++k) {
        for (size_t i = 0; i < count; i += step) {
            const long long from = (long long)pairs[i].from, to = (long long)pairs[i].to;
            if (from != to) {
                const long long a = of_pairs[k] == RULE_CONSTANT ? to
                                    : of_pairs[k] == RULE_ADD    ? to - from
                                                                 : (from ^ to);
                try(&s, (struct index_rule){of_pairs[k], a, 0});
            }
        }
    }
    try_bits(&s);
    for (long long m = 2; m <= MOST_FACTOR; ++m) {
        try(&s, (struct index_rule){RULE_DIV, m, 0});
        try(&s, (struct index_rule){RULE_TIMES, m, 0});
    }
    *best = s.best;
    *wrong = s.wrong;
    *right = s.right;
    return s.wrong > 0;
}

struct index_rule index_rule_of_pair(size_t from, size_t to) {
    const long long f = (long long)from, t = (long long)to;
    for (long long m = MOST_MODULUS; m >= 8; m /= 2) {
        if (t < f && f % m == t) {
            return (struct index_rule){RULE_MOD, m, 0};
        }
    }
    const long long x = f ^ t, by = t > f ? t - f : f - t;
    return by > 1 && (x & (x - 1)) == 0 ? (struct index_rule){RULE_XOR, x, 0} : (struct index_rule){RULE_ADD, t - f, 0};
}

char *index_rule_text(const struct index_rule *r, const char *name) {
    switch (r->kind) {
    case RULE_CONSTANT:
        return must_format("%lld", r->a);
    case RULE_MOD:
        return must_format("%s mod %lld", name, r->a);
    case RULE_DIV:
        return must_format("%s div %lld", name, r->a);
    case RULE_ADD:
        return must_format("%s %c %lld", name, r->a < 0 ? '-' : '+', r->a < 0 ? -r->a : r->a);
    case RULE_XOR:
        return must_format("%s xor %lld", name, r->a);
    case RULE_CLEAR: {
        const long long low = r->a & -r->a;
        return low == 1 ? must_format("%s - %s mod %lld", name, name, r->a + 1)
                        : must_format("%s without its bits of %lld (0x%llx)", name, r->a, (unsigned long long)r->a);
    }
    case RULE_SET:
        return must_format("%s or %lld", name, r->a);
    case RULE_ROTATE:
        return r->b <= r->a / 2 ? must_format("%s + %lld within each %lld", name, r->b, r->a)
                                : must_format("%s - %lld within each %lld", name, r->a - r->b, r->a);
    case RULE_SWAP:
        return must_format("%s with its bits of %lld and %lld exchanged", name, 1ll << r->a, 1ll << r->b);
    case RULE_TIMES:
        return must_format("%s * %lld", name, r->a);
    default:
        return must_strdup(name);
    }
}

/* wrong <=> lo <= i mod period <= hi, of those that were looked at */
static bool is_interval(const unsigned char *state, size_t n, size_t period, size_t lo, size_t hi) {
    for (size_t i = 0; i < n; ++i) {
        if (state[i] != AXIS_UNSEEN && (state[i] == AXIS_WRONG) != (i % period >= lo && i % period <= hi)) {
            return false;
        }
    }
    return true;
}

/* Widens lo .. hi over what was not looked at, to whole powers of two where that is possible. */
static void widen(const unsigned char *state, size_t n, size_t period, size_t *lo, size_t *hi) {
    for (size_t step = 2; step <= period; step *= 2) {
        const size_t l = *lo / step * step, h = l + step - 1;
        if (h >= *hi && h < period && is_interval(state, n, period, l, h)) {
            *lo = l;
            *hi = h;
            return;
        }
    }
}

static char *periodic(const unsigned char *state, size_t n, size_t wrong, const char *name) {
    for (size_t period = 2; period <= 512 && period < n; ++period) {
        size_t lo = period, hi = 0;
        if ((period & (period - 1)) != 0 && period % 16 != 0) {
            continue; /* a tile or a part of one */
        }
        for (size_t i = 0; i < n; ++i) {
            if (state[i] == AXIS_WRONG) {
                lo = i % period < lo ? i % period : lo;
                hi = i % period > hi ? i % period : hi;
            }
        }
        if (wrong < 3 || hi - lo + 1 >= period || !is_interval(state, n, period, lo, hi)) {
            continue;
        }
        widen(state, n, period, &lo, &hi);
        if (period == 2) {
            return must_format("%s %ss", lo == 0 ? "even" : "odd", name);
        }
        return lo == hi ? must_format("%ss with %s mod %zu = %zu", name, name, period, lo)
                        : must_format("%ss with %s mod %zu in %zu..%zu", name, name, period, lo, hi);
    }
    return NULL;
}

/* Two intervals of a period, as where two of four chunks are wrong in part; NULL: no. */
static char *two_intervals(const unsigned char *state, size_t n, const char *name) {
    for (size_t period = 16; period <= 512 && period < n; period *= 2) {
        unsigned char residue[512] = {0};
        size_t lo[2] = {0}, hi[2] = {0}, parts = 0;
        bool mixed = false, inside = false;
        for (size_t i = 0; i < n; ++i) {
            unsigned char *r = &residue[i % period];
            mixed |= state[i] != AXIS_UNSEEN && *r != AXIS_UNSEEN && *r != state[i];
            *r = state[i] != AXIS_UNSEEN ? state[i] : *r;
        }
        for (size_t i = 0; i < period && !mixed; ++i) {
            if (residue[i] == AXIS_WRONG && !inside && parts < 2) {
                lo[parts] = i;
                inside = true;
            } else if (residue[i] == AXIS_WRONG && !inside) {
                parts = 3;
            }
            if (residue[i] == AXIS_WRONG && parts < 2) {
                hi[parts] = i;
            }
            if (residue[i] == AXIS_RIGHT && inside) {
                inside = false;
                ++parts;
            }
        }
        parts += inside;
        if (!mixed && parts == 2 && lo[0] < hi[0] && lo[1] < hi[1]) {
            return must_format("%ss with %s mod %zu in %zu..%zu or %zu..%zu", name, name, period, lo[0], hi[0], lo[1],
                               hi[1]);
        }
    }
    return NULL;
}

char *axis_words(const unsigned char *state, size_t n, const char *name) {
    size_t wrong = 0, right = 0, lo = n, hi = 0;
    for (size_t i = 0; i < n; ++i) {
        wrong += state[i] == AXIS_WRONG;
        right += state[i] == AXIS_RIGHT;
        if (state[i] == AXIS_WRONG) {
            lo = i < lo ? i : lo;
            hi = i;
        }
    }
    if (right == 0 || wrong == 0) {
        return NULL;
    }
    if (wrong == 1) {
        return must_format("%s %zu", name, lo);
    }
    if (is_interval(state, n, n, lo, hi)) {
        while (lo > 0 && state[lo - 1] == AXIS_UNSEEN && lo % 16 != 0) { /* up to where one was right, or a tile ends */
            --lo;
        }
        while (hi + 1 < n && state[hi + 1] == AXIS_UNSEEN && hi % 16 != 15) {
            ++hi;
        }
        return must_format("%ss %zu..%zu", name, lo, hi);
    }
    char *text = periodic(state, n, wrong, name);
    text = text == NULL && wrong >= 6 ? two_intervals(state, n, name) : text;
    return text != NULL ? text : must_format("%zu of %zu %ss, first %zu, last %zu", wrong, wrong + right, name, lo, hi);
}

bool axis_is_rule(const char *words) {
    return words == NULL || strstr(words, ", first ") == NULL;
}
