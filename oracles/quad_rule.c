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

/* ---- the rules, likely mistakes first ---- */

/* Only k is another one. */
static bool find_k(const struct element_table *t, const struct quad *quads, size_t count, struct rule *out) {
    const int64_t depth = (int64_t)t->depth;
    *out = (struct rule){XOR, 16};
    if (fits(t, quads, count, keep, *out)) {
        return true;
    }
    for (int64_t d = 1; d < depth; ++d) {
        for (int sign = 1; sign >= -1; sign -= 2) {
            *out = (struct rule){SHIFT, sign * d};
            if (fits(t, quads, count, keep, *out)) {
                return true;
            }
        }
    }
    return false;
}

/* Only the row is another one. */
static bool find_row(const struct element_table *t, const struct quad *quads, size_t count, struct rule *out) {
    for (int64_t m = 8; m <= 256; m *= 2) { /* tiles and warps */
        *out = (struct rule){MODULO, m};
        if (fits(t, quads, count, *out, keep)) {
            return true;
        }
    }
    for (int64_t d = 1; d < (int64_t)t->rows && d <= ROW_REACH; ++d) {
        for (int sign = 1; sign >= -1; sign -= 2) {
            *out = (struct rule){SHIFT, sign * d};
            if (fits(t, quads, count, *out, keep)) {
                return true;
            }
        }
        *out = (struct rule){XOR, d};
        if (fits(t, quads, count, *out, keep)) {
            return true;
        }
    }
    return false;
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

char *quad_rule(const struct element_table *t, const struct quad *quads, size_t count, const char *line,
                const char **suspects) {
    static const struct rule rows = {XOR, 8}, halves = {XOR, 16};
    struct rule r;
    if (count == 0) {
        return NULL;
    }
    if (find_k(t, quads, count, &r)) {
        char *k = rule_words(r, "k"), *text = must_format("%s in place of k, in the right %s", k, line);
        *suspects = r.kind == XOR ? "matrices of ldmatrix exchanged: those of k 0-15 and 16-31"
                                  : "byte offset, or chunk, in the address of the fragment's load";
        free(k);
        return text;
    }
    if (find_row(t, quads, count, &r)) {
        char *row = rule_words(r, "j"), *text = must_format("%s %s in place of %s j", line, row, line);
        *suspects = row_suspects(r);
        free(row);
        return text;
    }
    if (fits(t, quads, count, rows, halves)) {
        *suspects = "matrices 1 and 2 of ldmatrix exchanged: rows 8-15 of k 0-15 and rows 0-7 of k 16-31";
        return must_format("%s j xor 8, k xor 16 in place of %s j, k", line, line);
    }
    return first_place(t, &quads[0], line);
}
