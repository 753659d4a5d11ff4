#include "aligned.h"
#include "../ref/checked.h"
#include "aligned_text.h"
#include <stdlib.h>
#include <string.h>

/* Cells of the table of weights between two anchors, one byte each, and of all tables of two modules: some seconds. */
enum { MOST_CELLS = 1 << 25, MOST_CELLS_IN_ALL = 1 << 27 };

/* Of a pair: the same expression; the same text; the same opcode and shape. In the second round each operand that
 * corresponds counts as well. */
enum { WEIGHS_EXPRESSION = 40, WEIGHS_TEXT = 20, WEIGHS_SHAPE = 4, WEIGHS_LINE = 3, WEIGHS_OPERAND = 2 };

struct pairing { /* of one function */
    const struct ptx_function *f[2];
    struct aligned_text *texts[2]; /* (instruction_count) */
    uint32_t *partner[2];          /* (instruction_count) within the function */
    bool *too_far[2];              /* (instruction_count) */
    uint32_t *moved[2];            /* (instruction_count) of those without a partner, or ALIGNED_NONE */
    int *renamed;                  /* (registers of A) the one of B, or -1: not known */
    size_t *left;                  /* cells, of MOST_CELLS_IN_ALL */
};

/* ---- anchors ---- */

struct spot {
    uint64_t hash;
    uint32_t at;
};

static int by_hash(const void *p, const void *q) {
    const struct spot *a = p, *b = q;
    return a->hash != b->hash ? (a->hash < b->hash ? -1 : 1) : (a->at > b->at) - (a->at < b->at);
}

static struct spot *sorted_spots(const struct aligned_text *t, uint32_t from, uint32_t to) {
    struct spot *s = must_calloc((size_t)(to - from) + 1, sizeof *s);
    for (uint32_t i = from; i < to; ++i) {
        s[i - from] = (struct spot){t[i].expression, i};
    }
    qsort(s, to - from, sizeof *s, by_hash);
    return s;
}

static bool stands_once(const struct spot *s, size_t count, size_t i) {
    return (i == 0 || s[i - 1].hash != s[i].hash) && (i + 1 == count || s[i + 1].hash != s[i].hash);
}

/* b_of[i]: the instruction of B with the expression that A's i-th alone has, or ALIGNED_NONE. */
static uint32_t *unique_pairs(const struct pairing *p) {
    const uint32_t n = (uint32_t)p->f[0]->instruction_count, m = (uint32_t)p->f[1]->instruction_count;
    struct spot *a = sorted_spots(p->texts[0], 0, n), *b = sorted_spots(p->texts[1], 0, m);
    uint32_t *b_of = must_calloc((size_t)n + 1, sizeof *b_of);
    memset(b_of, 0xff, n * sizeof *b_of);
    for (uint32_t i = 0, k = 0; i < n; ++i) {
        while (k < m && b[k].hash < a[i].hash) {
            ++k;
        }
        if (k < m && b[k].hash == a[i].hash && stands_once(a, n, i) && stands_once(b, m, k)) {
            b_of[a[i].at] = b[k].at;
        }
    }
    free(a);
    free(b);
    return b_of;
}

/* The longest ascending part of b_of stays, the rest becomes ALIGNED_NONE. */
static void keep_ascending(uint32_t *b_of, uint32_t n) {
    uint32_t *tail = must_calloc((size_t)n + 1, sizeof *tail); /* of a chain of length k + 1, A's index */
    uint32_t *before = must_calloc((size_t)n + 1, sizeof *before), length = 0;
    for (uint32_t i = 0; i < n; ++i) {
        if (b_of[i] == ALIGNED_NONE) {
            continue;
        }
        uint32_t low = 0, high = length;
        while (low < high) {
            const uint32_t mid = (low + high) / 2;
            if (b_of[tail[mid]] < b_of[i]) {
                low = mid + 1;
            } else {
                high = mid;
            }
        }
        before[i] = low > 0 ? tail[low - 1] : ALIGNED_NONE;
        tail[low] = i;
        length = low == length ? length + 1 : length;
    }
    bool *kept = must_calloc((size_t)n + 1, sizeof *kept);
    for (uint32_t i = length > 0 ? tail[length - 1] : ALIGNED_NONE; i != ALIGNED_NONE; i = before[i]) {
        kept[i] = true;
    }
    for (uint32_t i = 0; i < n; ++i) {
        b_of[i] = kept[i] ? b_of[i] : ALIGNED_NONE;
    }
    free(kept);
    free(tail);
    free(before);
}

/* ---- between anchors ---- */

static uint32_t corresponding(const struct pairing *p, const struct aligned_text *a, const struct aligned_text *b) {
    uint32_t n = 0;
    for (uint32_t k = 0; k < a->register_count && k < b->register_count; ++k) {
        n += p->renamed[a->registers[k]] == b->registers[k];
    }
    return n;
}

static uint32_t weight(const struct pairing *p, uint32_t i, uint32_t j) {
    const struct aligned_text *a = &p->texts[0][i], *b = &p->texts[1][j];
    if (a->shape != b->shape) {
        return 0;
    }
    const uint32_t agrees = a->expression == b->expression ? WEIGHS_EXPRESSION
                            : a->text == b->text           ? WEIGHS_TEXT
                                                           : WEIGHS_SHAPE;
    const struct ptx_instruction *x = &p->f[0]->instructions[i], *y = &p->f[1]->instructions[j];
    return agrees + (x->line == y->line ? WEIGHS_LINE : 0) + WEIGHS_OPERAND * corresponding(p, a, b);
}

static void pair(struct pairing *p, uint32_t i, uint32_t j) {
    p->partner[0][i] = j;
    p->partner[1][j] = i;
}

static bool is_too_much(const struct pairing *p, size_t n, size_t m) {
    const size_t most = *p->left < MOST_CELLS ? *p->left : MOST_CELLS;
    return n > 0 && m > 0 && n > most / m;
}

/* The pairing of most weight of A's [i0, i1) and B's [j0, j1). Of what is too much for that, the same texts at both
 * ends are paired first. */
static void pair_between(struct pairing *p, uint32_t i0, uint32_t i1, uint32_t j0, uint32_t j1) {
    while (i0 < i1 && j0 < j1 && p->texts[0][i0].expression == p->texts[1][j0].expression) {
        pair(p, i0++, j0++);
    }
    while (is_too_much(p, i1 - i0, j1 - j0) && p->texts[0][i1 - 1].text == p->texts[1][j1 - 1].text) {
        pair(p, --i1, --j1);
    }
    while (is_too_much(p, i1 - i0, j1 - j0) && p->texts[0][i0].text == p->texts[1][j0].text) {
        pair(p, i0++, j0++);
    }
    const size_t n = i1 - i0, m = j1 - j0;
    if (n == 0 || m == 0) {
        return;
    }
    if (is_too_much(p, n, m)) {
        memset(p->too_far[0] + i0, true, n);
        memset(p->too_far[1] + j0, true, m);
        return;
    }
    enum { SKIP_A, SKIP_B, PAIR };
    *p->left -= n * m;
    uint8_t *way = must_calloc(n * m, 1); /* from (i, j) on */
    uint32_t *row = must_calloc(2 * (m + 1), sizeof *row), *below = row + m + 1;
    for (size_t i = n; i-- > 0;) {
        for (size_t j = m; j-- > 0;) {
            const uint32_t w = weight(p, i0 + (uint32_t)i, j0 + (uint32_t)j);
            const uint32_t skip = below[j] >= row[j + 1] ? below[j] : row[j + 1];
            const bool takes = w > 0 && w + below[j + 1] >= skip;
            way[i * m + j] = takes ? PAIR : below[j] >= row[j + 1] ? SKIP_A : SKIP_B;
            row[j] = takes ? w + below[j + 1] : skip;
        }
        uint32_t *other = row;
        row = below;
        below = other;
    }
    for (size_t i = 0, j = 0; i < n && j < m;) {
        const uint8_t w = way[i * m + j];
        if (w == PAIR) {
            pair(p, i0 + (uint32_t)i, j0 + (uint32_t)j);
        }
        i += w != SKIP_B;
        j += w != SKIP_A;
    }
    free(row < below ? row : below);
    free(way);
}

static void pair_all(struct pairing *p, const uint32_t *anchors) {
    const uint32_t n = (uint32_t)p->f[0]->instruction_count, m = (uint32_t)p->f[1]->instruction_count;
    uint32_t i0 = 0, j0 = 0;
    memset(p->too_far[0], false, n);
    memset(p->too_far[1], false, m);
    memset(p->partner[0], 0xff, n * sizeof *p->partner[0]);
    memset(p->partner[1], 0xff, m * sizeof *p->partner[1]);
    for (uint32_t i = 0; i < n; ++i) {
        if (anchors[i] != ALIGNED_NONE) {
            pair_between(p, i0, i, j0, anchors[i]);
            pair(p, i, anchors[i]);
            i0 = i + 1;
            j0 = anchors[i] + 1;
        }
    }
    pair_between(p, i0, n, j0, m);
}

/* ---- registers ---- */

static void learn_renaming(struct pairing *p) {
    for (size_t i = 0; i < p->f[0]->register_count; ++i) {
        p->renamed[i] = -1;
    }
    for (int moved = 0; moved < 2; ++moved) {
        for (size_t i = 0; i < p->f[0]->instruction_count; ++i) {
            const uint32_t j = (moved ? p->moved : p->partner)[0][i];
            const struct aligned_text *a = &p->texts[0][i];
            for (uint32_t k = 0; j != ALIGNED_NONE && k < a->given && k < p->texts[1][j].given; ++k) {
                if (p->renamed[a->registers[k]] < 0) {
                    p->renamed[a->registers[k]] = p->texts[1][j].registers[k];
                }
            }
        }
    }
}

/* Those without a partner that compute the same expression, in the order in which they stand. */
static void find_moved(struct pairing *p) {
    const uint32_t n = (uint32_t)p->f[0]->instruction_count, m = (uint32_t)p->f[1]->instruction_count;
    struct spot *a = sorted_spots(p->texts[0], 0, n), *b = sorted_spots(p->texts[1], 0, m);
    memset(p->moved[0], 0xff, n * sizeof *p->moved[0]);
    memset(p->moved[1], 0xff, m * sizeof *p->moved[1]);
    for (uint32_t i = 0, k = 0; i < n; ++i) {
        while (k < m && (b[k].hash < a[i].hash || (b[k].hash == a[i].hash && p->partner[1][b[k].at] != ALIGNED_NONE))) {
            ++k;
        }
        if (k < m && b[k].hash == a[i].hash && p->partner[0][a[i].at] == ALIGNED_NONE) {
            p->moved[0][a[i].at] = b[k].at;
            p->moved[1][b[k++].at] = a[i].at;
        }
    }
    free(a);
    free(b);
}

/* ---- pairs that are none ---- */

/* How many of the registers that A's reads have their counterpart among those that B's reads; *of: of how many. */
static uint32_t shared_reads(const struct pairing *p, const struct aligned_text *a, const struct aligned_text *b,
                             uint32_t *of) {
    const uint32_t n = a->register_count - a->given, m = b->register_count - b->given;
    uint32_t count = 0;
    for (uint32_t k = a->given; k < a->register_count; ++k) {
        bool found = false;
        for (uint32_t l = b->given; l < b->register_count; ++l) {
            found |= p->renamed[a->registers[k]] == b->registers[l];
        }
        count += found;
    }
    *of = n < m ? n : m;
    return count;
}

static bool has_neighbour(const struct pairing *p, uint32_t i, uint32_t j) {
    return (i > 0 && j > 0 && p->partner[0][i - 1] == j - 1) ||
           (i + 1 < p->f[0]->instruction_count && p->partner[0][i + 1] == j + 1);
}

static bool reads(const struct aligned_text *t, int reg) {
    bool found = false;
    for (uint32_t k = t->given; k < t->register_count; ++k) {
        found |= t->registers[k] == reg;
    }
    return found;
}

/* Both are read, and by no pair: what they give is not the same thing. */
static bool is_used_apart(const struct pairing *p, uint32_t i, uint32_t j) {
    const struct aligned_text *a = &p->texts[0][i], *b = &p->texts[1][j];
    bool used[2] = {false, false};
    for (uint32_t k = 0; k < a->given && k < b->given; ++k) {
        for (uint32_t u = 0; u < p->f[0]->instruction_count; ++u) {
            const bool by_a = reads(&p->texts[0][u], a->registers[k]);
            used[0] |= by_a;
            if (by_a && p->partner[0][u] != ALIGNED_NONE && reads(&p->texts[1][p->partner[0][u]], b->registers[k])) {
                return false;
            }
        }
        for (uint32_t u = 0; u < p->f[1]->instruction_count; ++u) {
            used[1] |= reads(&p->texts[1][u], b->registers[k]);
        }
    }
    return used[0] && used[1];
}

/* Drops those; and changed ones of which either computes what the other program has elsewhere. */
static void drop_doubtful(struct pairing *p) {
    const uint32_t n = (uint32_t)p->f[0]->instruction_count, m = (uint32_t)p->f[1]->instruction_count;
    struct spot *free_of[2] = {sorted_spots(p->texts[0], 0, n), sorted_spots(p->texts[1], 0, m)};
    for (uint32_t i = 0; i < n; ++i) {
        const uint32_t j = p->partner[0][i];
        if (j == ALIGNED_NONE || p->texts[0][i].expression == p->texts[1][j].expression) {
            continue;
        }
        const struct aligned_text *a = &p->texts[0][i], *b = &p->texts[1][j];
        const bool same = a->text == b->text;
        uint32_t of;
        const uint32_t shared = shared_reads(p, a, b, &of);
        bool keeps = same ? 2 * shared >= of : shared >= of && (of > 0 || has_neighbour(p, i, j));
        keeps = keeps && (same || !is_used_apart(p, i, j));
        for (int k = 0; keeps && !same && k < 2; ++k) { /* what A's computes stands free in B, or the other way round */
            const struct spot *s = free_of[1 - k], key = {(k == 0 ? a : b)->expression, 0};
            const size_t count = k == 0 ? m : n;
            size_t low = 0, high = count;
            while (low < high) {
                const size_t mid = (low + high) / 2;
                if (s[mid].hash < key.hash) {
                    low = mid + 1;
                } else {
                    high = mid;
                }
            }
            for (; low < count && s[low].hash == key.hash; ++low) {
                keeps &= p->partner[1 - k][s[low].at] != ALIGNED_NONE;
            }
        }
        if (!keeps) {
            p->partner[0][i] = p->partner[1][j] = ALIGNED_NONE;
        }
    }
    free(free_of[0]);
    free(free_of[1]);
}

static int by_value(const void *p, const void *q) {
    const uint64_t a = *(const uint64_t *)p, b = *(const uint64_t *)q;
    return (a > b) - (a < b);
}

struct renaming { /* registers that pairs give: A's << 32 | B's, ascending, each once */
    uint64_t *pairs;
    size_t count;
};

static struct renaming renaming_of(const struct pairing *p) {
    size_t room = 1;
    for (size_t i = 0; i < p->f[0]->instruction_count; ++i) {
        room += p->texts[0][i].given;
    }
    struct renaming r = {.pairs = must_calloc(room, sizeof *r.pairs)};
    for (size_t i = 0; i < p->f[0]->instruction_count; ++i) {
        const uint32_t j = p->partner[0][i] != ALIGNED_NONE ? p->partner[0][i] : p->moved[0][i];
        for (uint32_t k = 0; j != ALIGNED_NONE && k < p->texts[0][i].given && k < p->texts[1][j].given; ++k) {
            r.pairs[r.count++] =
                (uint64_t)(uint32_t)p->texts[0][i].registers[k] << 32 | (uint32_t)p->texts[1][j].registers[k];
        }
    }
    qsort(r.pairs, r.count, sizeof *r.pairs, by_value);
    size_t kept = 0;
    for (size_t i = 0; i < r.count; ++i) {
        if (kept == 0 || r.pairs[kept - 1] != r.pairs[i]) {
            r.pairs[kept++] = r.pairs[i];
        }
    }
    r.count = kept;
    return r;
}

static bool corresponds(const struct renaming *r, int a, int b) {
    const uint64_t want = (uint64_t)(uint32_t)a << 32 | (uint32_t)b;
    return bsearch(&want, r->pairs, r->count, sizeof *r->pairs, by_value) != NULL;
}

static bool is_one_to_one(const struct renaming *r, size_t of_b) {
    bool *taken = must_calloc(of_b + 1, sizeof *taken), good = true;
    for (size_t i = 0; i < r->count; ++i) {
        const uint32_t b = (uint32_t)r->pairs[i];
        good &= !taken[b] && (i == 0 || r->pairs[i - 1] >> 32 != r->pairs[i] >> 32);
        taken[b] = true;
    }
    free(taken);
    return good;
}

static enum aligned_how how_of(const struct pairing *p, const struct renaming *r, uint32_t i, uint32_t j) {
    const struct aligned_text *a = &p->texts[0][i], *b = &p->texts[1][j];
    if (a->text != b->text) {
        return ALIGNED_CHANGED;
    }
    for (uint32_t k = a->given; k < a->register_count && k < b->register_count; ++k) {
        if (!corresponds(r, a->registers[k], b->registers[k])) {
            return ALIGNED_REGISTERS;
        }
    }
    return ALIGNED_SAME;
}

/* ---- functions ---- */

static void align_function(struct aligned *x, const struct aligned_function *f, size_t *left) {
    struct pairing p = {.f = {f->of[0], f->of[1]}, .left = left};
    p.renamed = must_calloc(f->of[0]->register_count + 1, sizeof *p.renamed);
    for (int k = 0; k < 2; ++k) {
        p.texts[k] = aligned_texts(x->modules[k], f->of[k]);
        p.partner[k] = x->partner[k] + f->base[k];
        p.too_far[k] = x->too_far[k] + f->base[k];
        p.moved[k] = must_calloc(f->of[k]->instruction_count + 1, sizeof *p.moved[k]);
        memset(p.moved[k], 0xff, f->of[k]->instruction_count * sizeof *p.moved[k]);
    }
    for (size_t i = 0; i < f->of[0]->register_count; ++i) {
        p.renamed[i] = -1;
    }
    uint32_t *anchors = unique_pairs(&p);
    keep_ascending(anchors, (uint32_t)f->of[0]->instruction_count);
    pair_all(&p, anchors);
    learn_renaming(&p);
    pair_all(&p, anchors);
    find_moved(&p);
    learn_renaming(&p);
    drop_doubtful(&p);
    find_moved(&p);
    struct renaming r = renaming_of(&p);
    x->renames &= is_one_to_one(&r, f->of[1]->register_count);
    for (uint32_t i = 0; i < f->of[0]->instruction_count; ++i) {
        const uint32_t j = p.partner[0][i];
        if (j != ALIGNED_NONE) {
            x->how[0][f->base[0] + i] = x->how[1][f->base[1] + j] = (uint8_t)how_of(&p, &r, i, j);
            p.partner[0][i] = (uint32_t)f->base[1] + j;
            p.partner[1][j] = (uint32_t)f->base[0] + i;
        } else if (p.moved[0][i] != ALIGNED_NONE) {
            x->how[0][f->base[0] + i] = x->how[1][f->base[1] + p.moved[0][i]] = ALIGNED_MOVED;
        }
    }
    free(p.moved[0]);
    free(p.moved[1]);
    free(r.pairs);
    free(anchors);
    free(p.renamed);
    aligned_texts_free(p.texts[0], f->of[0]);
    aligned_texts_free(p.texts[1], f->of[1]);
}

static void add_function(struct aligned *x, int side, size_t index, size_t base) {
    const struct ptx_function *f = &x->modules[side]->functions[index];
    for (size_t i = 0; side == 1 && i < x->function_count; ++i) {
        struct aligned_function *g = &x->functions[i];
        if (g->of[0] != NULL && g->of[1] == NULL && strcmp(g->of[0]->name, f->name) == 0) {
            g->of[1] = f;
            g->base[1] = base;
            return;
        }
    }
    struct aligned_function *g = &x->functions[x->function_count++];
    g->of[side] = f;
    g->base[side] = base;
}

struct aligned *aligned_make(const struct ptx_module *a, const struct ptx_module *b) {
    struct aligned *x = must_calloc(1, sizeof *x);
    size_t left = MOST_CELLS_IN_ALL;
    *x = (struct aligned){.modules = {a, b}, .renames = true};
    x->functions = must_calloc(a->function_count + b->function_count + 1, sizeof *x->functions);
    for (int k = 0; k < 2; ++k) {
        for (size_t i = 0; i < x->modules[k]->function_count; ++i) {
            add_function(x, k, i, x->count[k]);
            x->count[k] += x->modules[k]->functions[i].instruction_count;
        }
        x->partner[k] = must_calloc(x->count[k] + 1, sizeof *x->partner[k]);
        x->how[k] = must_calloc(x->count[k] + 1, sizeof *x->how[k]);
        x->too_far[k] = must_calloc(x->count[k] + 1, sizeof *x->too_far[k]);
        memset(x->partner[k], 0xff, x->count[k] * sizeof *x->partner[k]);
    }
    for (size_t i = 0; i < x->function_count; ++i) {
        const struct aligned_function *f = &x->functions[i];
        if (f->of[0] != NULL && f->of[1] != NULL) {
            align_function(x, f, &left);
        }
    }
    return x;
}

void aligned_free(struct aligned *x) {
    for (int k = 0; x != NULL && k < 2; ++k) {
        free(x->partner[k]);
        free(x->how[k]);
        free(x->too_far[k]);
    }
    if (x != NULL) {
        free(x->functions);
    }
    free(x);
}

uint32_t aligned_number(const struct aligned *x, int side, const struct ptx_instruction *in) {
    for (size_t i = 0; i < x->function_count; ++i) {
        const struct ptx_function *f = x->functions[i].of[side];
        if (f != NULL && in >= f->instructions && in < f->instructions + f->instruction_count) {
            return (uint32_t)(x->functions[i].base[side] + (size_t)(in - f->instructions));
        }
    }
    return ALIGNED_NONE;
}

static const struct aligned_function *function_at(const struct aligned *x, int side, uint32_t number) {
    for (size_t i = 0; i < x->function_count; ++i) {
        const struct aligned_function *f = &x->functions[i];
        if (f->of[side] != NULL && number >= f->base[side] && number - f->base[side] < f->of[side]->instruction_count) {
            return f;
        }
    }
    return NULL;
}

const struct ptx_instruction *aligned_instruction(const struct aligned *x, int side, uint32_t number) {
    const struct aligned_function *f = function_at(x, side, number);
    return f != NULL ? &f->of[side]->instructions[number - f->base[side]] : NULL;
}

struct aligned_counts aligned_count(const struct aligned *x, const char *const *entries, size_t entry_count) {
    struct aligned_counts c = {.moved = 0};
    for (size_t i = 0; i < x->function_count; ++i) {
        const struct aligned_function *f = &x->functions[i];
        const struct ptx_function *any = f->of[0] != NULL ? f->of[0] : f->of[1];
        bool runs = !any->entry;
        for (size_t k = 0; k < entry_count; ++k) {
            runs |= strcmp(any->name, entries[k]) == 0;
        }
        for (int side = 0; runs && side < 2; ++side) {
            for (size_t k = 0; f->of[side] != NULL && k < f->of[side]->instruction_count; ++k) {
                const uint8_t how = x->how[side][f->base[side] + k];
                c.alone[side] += how == ALIGNED_ALONE;
                c.moved += side == 0 && how == ALIGNED_MOVED;
                c.pairs[how] += side == 0 && how != ALIGNED_ALONE && how != ALIGNED_MOVED;
            }
        }
    }
    return c;
}

/* ---- causes ---- */

static bool is_same(const struct aligned *x, int side, size_t number, bool moved) {
    if (x->how[side][number] != ALIGNED_MOVED) {
        return x->how[side][number] == ALIGNED_SAME;
    }
    const struct ptx_instruction *in = moved ? aligned_instruction(x, side, (uint32_t)number) : NULL;
    return in == NULL || !aligned_accesses_memory(in);
}

uint32_t aligned_effect(const struct aligned *x, int side, uint32_t number, bool moved) {
    static const char *const ways[] = {"bra", "brx", "ret", "exit", "call"};
    const struct aligned_function *f = function_at(x, side, number);
    const struct ptx_function *g = f != NULL ? f->of[side] : NULL;
    uint32_t best = ALIGNED_NONE;
    struct aligned_text *texts = g != NULL ? aligned_texts(x->modules[side], g) : NULL;
    for (uint32_t i = 0; g != NULL && i < g->instruction_count; ++i) {
        const uint32_t at = (uint32_t)f->base[side] + i;
        bool takes = texts[i].given == 0 && !is_same(x, side, at, moved) && (best == ALIGNED_NONE || at <= number);
        for (size_t k = 0; k < sizeof ways / sizeof *ways; ++k) {
            takes &= strcmp(g->instructions[i].opcode, ways[k]) != 0;
        }
        best = takes ? at : best;
    }
    if (g != NULL) {
        aligned_texts_free(texts, g);
    }
    return best;
}

size_t aligned_causes(const struct aligned *x, int side, uint32_t number, uint32_t *out, size_t room, bool moved) {
    const struct aligned_function *f = function_at(x, side, number);
    if (f == NULL || room == 0) {
        return 0;
    }
    const struct ptx_function *g = f->of[side];
    struct aligned_text *texts = aligned_texts(x->modules[side], g);
    bool *seen = must_calloc(g->instruction_count + 1, sizeof *seen);
    uint32_t *queue = must_calloc(g->instruction_count + 1, sizeof *queue);
    size_t count = 0, end = 0;
    queue[end++] = number - (uint32_t)f->base[side];
    seen[queue[0]] = true;
    for (size_t at = 0; at < end && count < room; ++at) {
        const uint32_t i = queue[at];
        if (!is_same(x, side, f->base[side] + i, moved)) {
            out[count++] = (uint32_t)f->base[side] + i;
        }
        const struct aligned_text *t = &texts[i];
        for (uint32_t k = t->given; k < t->register_count; ++k) {
            for (uint32_t d = (uint32_t)g->instruction_count; d-- > 0;) { /* what gives it, the last one first */
                bool gives = false;
                for (uint32_t n = 0; n < texts[d].given; ++n) {
                    gives |= texts[d].registers[n] == t->registers[k];
                }
                if (gives && !seen[d] && !is_same(x, side, f->base[side] + d, moved)) {
                    seen[d] = true;
                    queue[end++] = d;
                }
            }
        }
    }
    free(queue);
    free(seen);
    aligned_texts_free(texts, g);
    return count;
}
