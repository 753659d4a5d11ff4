#include "quad_rule.h"
#include "../ref/checked.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum kind { XOR, SHIFT, MODULO };

struct rule { /* of one coordinate */
    enum kind kind;
    int64_t by;
};

enum { ROW_REACH = 512, MOST_SCANNED = 1 << 26 };

static const struct rule keep = {SHIFT, 0};

static int64_t mapped(struct rule r, size_t x) {
    return r.kind == XOR ? (int64_t)x ^ r.by : r.kind == SHIFT ? (int64_t)x + r.by : (int64_t)x % r.by;
}

static bool holds(const struct element_table *t, const struct quad *q, int64_t row, int64_t k) {
    if (row < 0 || k < 0 || (uint64_t)row >= t->rows || (uint64_t)k + QUAD > t->depth) {
        return false;
    }
    bool all = true;
    for (unsigned lane = 0; lane < 4; ++lane) {
        all &= !(q->known >> lane & 1) ||
               memcmp(t->q + (size_t)row * t->depth + (size_t)k + 4 * lane, q->got + 4 * lane, 4) == 0;
    }
    return all;
}

static bool fits(const struct element_table *t, const struct quad *quads, size_t count, struct rule row,
                 struct rule k) {
    size_t i = 0;
    while (i < count && holds(t, &quads[i], mapped(row, quads[i].row), mapped(k, quads[i].k))) {
        ++i;
    }
    return i == count;
}

static char *rule_words(struct rule r, const char *name) {
    if (r.kind == SHIFT) {
        return must_format("%s %c %" PRId64, name, r.by < 0 ? '-' : '+', r.by < 0 ? -r.by : r.by);
    }
    return must_format("%s %s %" PRId64, name, r.kind == XOR ? "xor" : "mod", r.by);
}

/* ---- the rules: near and usual ones first ---- */

enum { UNUSUAL = 10, NONE = 100 }; /* ranks */

struct found {
    struct rule rule;
    int rank; /* low: a likely mistake; NONE: no rule fits */
};

/* Only k is another one. */
static struct found find_k(const struct element_table *t, const struct quad *quads, size_t count) {
    const int64_t depth = (int64_t)t->depth;
    struct found f = {{XOR, 16}, 0};
    if (fits(t, quads, count, keep, f.rule)) {
        return f;
    }
    for (int64_t d = 1; d < depth; ++d) {
        for (int sign = 1; sign >= -1; sign -= 2) {
            f = (struct found){{SHIFT, sign * d}, d <= 32 ? 3 : UNUSUAL};
            if (fits(t, quads, count, keep, f.rule)) {
                return f;
            }
        }
    }
    return (struct found){.rank = NONE};
}

/* Only the row is another one. */
static struct found find_row(const struct element_table *t, const struct quad *quads, size_t count) {
    struct found f;
    for (int64_t m = 8; m <= 256; m *= 2) { /* tiles and warps */
        f = (struct found){{MODULO, m}, 1};
        if (fits(t, quads, count, f.rule, keep)) {
            return f;
        }
    }
    for (int64_t d = 1; d < (int64_t)t->rows && d <= ROW_REACH; ++d) {
        for (int sign = 1; sign >= -1; sign -= 2) {
            f = (struct found){{SHIFT, sign * d}, d == 8 ? 2 : d <= 16 ? 4 : UNUSUAL + 1};
            if (fits(t, quads, count, f.rule, keep)) {
                return f;
            }
        }
        f = (struct found){{XOR, d}, d == 8 ? 2 : d <= 16 ? 4 : UNUSUAL + 1};
        if (fits(t, quads, count, f.rule, keep)) {
            return f;
        }
    }
    return (struct found){.rank = NONE};
}

static const char *k_suspects(struct rule r) {
    return r.kind == XOR ? "matrices of ldmatrix exchanged: those of k 0-15 and 16-31"
                         : "byte offset, or chunk, in the address of the fragment's load";
}

static const char *row_suspects(struct rule r) {
    return r.kind == MODULO             ? "the offset of the warp or the tile is missing from the address of the "
                                          "fragment's load"
           : r.kind == XOR && r.by == 8 ? "matrices of ldmatrix exchanged: those of rows 0-7 and 8-15"
                                        : "row offset in the address of the fragment's load";
}

/* ---- without a rule ---- */

/* Where the first run stands, at any row and depth. */
static char *first_place(const struct element_table *t, const struct quad *q, const char *line) {
    if (t->depth < QUAD || t->rows > MOST_SCANNED / t->depth) {
        return NULL;
    }
    for (size_t row = 0; row < t->rows; ++row) {
        for (size_t k = 0; k + QUAD <= t->depth; ++k) {
            if (holds(t, q, (int64_t)row, (int64_t)k)) {
                return must_format("%s %zu, k %zu .. in place of %s %zu, k %zu ..", line, row, k, line, q->row, q->k);
            }
        }
    }
    return NULL;
}

/* Both rules where both fit: the same codes stand in several places. */
static char *rule_text(struct found row, struct found k, const char *line) {
    char *r = rule_words(row.rule, "j"), *d = rule_words(k.rule, "k");
    char *by_row = must_format("%s %s in place of %s j", line, r, line);
    char *by_k = must_format("%s in place of k, in the right %s", d, line);
    const bool row_first = row.rank < k.rank;
    char *text = row.rank < NONE && k.rank < NONE
                     ? must_format("%s (or %s: the same codes)", row_first ? by_row : by_k, row_first ? by_k : by_row)
                     : must_strdup(row_first ? by_row : by_k);
    free(r), free(d), free(by_row), free(by_k);
    return text;
}

char *quad_rule(const struct element_table *t, const struct quad *quads, size_t count, const char *line,
                const char **suspects) {
    static const struct rule rows = {XOR, 8}, halves = {XOR, 16};
    if (count == 0) {
        return NULL;
    }
    const struct found row = find_row(t, quads, count), k = find_k(t, quads, count);
    if (row.rank < NONE || k.rank < NONE) {
        *suspects = row.rank < k.rank ? row_suspects(row.rule) : k_suspects(k.rule);
        return rule_text(row, k, line);
    }
    if (fits(t, quads, count, rows, halves)) {
        *suspects = "matrices 1 and 2 of ldmatrix exchanged: rows 8-15 of k 0-15 and rows 0-7 of k 16-31";
        return must_format("%s j xor 8, k xor 16 in place of %s j, k", line, line);
    }
    return first_place(t, &quads[0], line);
}
