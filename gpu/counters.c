#include "counters.h"
#include "../ref/checked.h"
#include "tsv.h"
#include <stdlib.h>
#include <string.h>

/* What counters tell of memory is told of instructions with at least one lane: requests. Commits and waits of cp.async
 * are other instructions of a GPU. */
const struct counter_quantity counter_quantities[COUNTER_QUANTITIES] = {
    {"instructions", "instructions", CLASSES},
    {"mma", "mma", CLASS_MMA},
    {"float", "float", CLASS_FLOAT},
    {"barrier", "barrier", CLASS_BARRIER},
    {"warp", "warp", CLASS_WARP},
    {"ldmatrix", "ldmatrix.requests", CLASS_LDMATRIX},
    {"ld.shared", "ld.shared.requests", CLASS_LD_SHARED},
    {"st.shared", "st.shared.requests", CLASS_ST_SHARED},
    {"cp.async", "cp.async.requests", CLASS_CP_ASYNC},
    {"ld.global", "ld.global.requests", CLASS_LD_GLOBAL},
    {"st.global", "st.global.requests", CLASS_ST_GLOBAL},
    {"ld.local", "ld.local.requests", CLASS_LD_LOCAL},
    {"st.local", "st.local.requests", CLASS_ST_LOCAL},
    {"ldmatrix.wavefronts", "ldmatrix.wavefronts", CLASS_LDMATRIX},
    {"ldmatrix.conflicts", "ldmatrix.conflicts", CLASS_LDMATRIX},
    {"ld.shared.wavefronts", "ld.shared.wavefronts", CLASS_LD_SHARED},
    {"ld.shared.conflicts", "ld.shared.conflicts", CLASS_LD_SHARED},
    {"st.shared.wavefronts", "st.shared.wavefronts", CLASS_ST_SHARED},
    {"st.shared.conflicts", "st.shared.conflicts", CLASS_ST_SHARED},
    {"ld.global.sectors", "ld.global.sectors", CLASS_LD_GLOBAL},
    {"st.global.sectors", "st.global.sectors", CLASS_ST_GLOBAL},
};

uint64_t counter_of(const struct counter_quantity *q, const struct census *c) {
    uint64_t value;
    return census_count(c, q->of, &value) ? value : 0;
}

bool counter_has_line(const struct counter_quantity *q, const struct census_line *l) {
    return q->class == CLASSES ? l->count.executed > 0 : l->by_class[q->class] > 0;
}

enum { MOST_LAUNCHES = 4096, NAMED = 5, COLUMNS = NAMED + COUNTER_QUANTITIES };
static const char *const named[NAMED] = {"kernel", "launch", "entry", "shape", "ptx"};

/* column[c] = the place of named column c, or of quantity c - NAMED. */
static bool read_names(const struct tsv *f, struct tsv_span line, size_t column[COLUMNS], struct error *e) {
    struct tsv_span at[COLUMNS];
    size_t past = 0;
    const size_t n = tsv_columns(f, line, at, COLUMNS, &past);
    if (n == SIZE_MAX)
        return tsv_fail(f, past, e, "more than %d columns", COLUMNS);
    for (size_t c = 0; c < COLUMNS; ++c)
        column[c] = SIZE_MAX;
    for (size_t i = 0; i < n; ++i) {
        size_t c = 0;
        while (c < COLUMNS && !tsv_is(f, at[i], c < NAMED ? named[c] : counter_quantities[c - NAMED].name))
            ++c;
        if (c == COLUMNS)
            return tsv_fail(f, at[i].from, e, "%s is no column of this table", tsv_quote(f, at[i]).text);
        if (column[c] != SIZE_MAX)
            return tsv_fail(f, at[i].from, e, "a second column %s", tsv_quote(f, at[i]).text);
        column[c] = i;
    }
    for (size_t c = 0; c < COLUMNS; ++c)
        if (column[c] == SIZE_MAX)
            return tsv_fail(f, line.from, e, "the column '%s' is missing",
                            c < NAMED ? named[c] : counter_quantities[c - NAMED].name);
    return true;
}

static bool is_digest(const struct tsv *f, struct tsv_span s) {
    return s.to - s.from == 64 && strspn(f->text + s.from, "0123456789abcdef") >= 64;
}

static bool read_launch(const struct tsv *f, struct tsv_span line, const size_t column[COLUMNS],
                        struct counter_table *t, struct error *e) {
    struct tsv_span at[COLUMNS];
    size_t past = 0;
    const size_t n = tsv_columns(f, line, at, COLUMNS, &past);
    if (n != COLUMNS)
        return tsv_fail(f, n == SIZE_MAX ? past : line.to, e, "%s columns: want %d, as the names have",
                        n == SIZE_MAX ? "more" : "fewer", COLUMNS);
    for (size_t i = 0; i < n; ++i)
        if (at[i].from == at[i].to)
            return tsv_fail(f, at[i].from, e, "an empty column");
    struct counted_launch *l = &t->launches[t->count];
    const struct tsv_span number = at[column[1]], digest = at[column[4]];
    uint64_t value;
    if (!tsv_number(f, number, 1000, &value) || !value)
        return tsv_fail(f, number.from, e, "launch is %s: want a number from 1 to 1000", tsv_quote(f, number).text);
    l->number = (size_t)value;
    if (!is_digest(f, digest))
        return tsv_fail(f, digest.from, e, "ptx is %s: want a sha256, 64 lower-case hex digits",
                        tsv_quote(f, digest).text);
    memcpy(l->digest, f->text + digest.from, 64);
    for (size_t q = 0; q < COUNTER_QUANTITIES; ++q) {
        const struct tsv_span s = at[column[NAMED + q]];
        const bool counted = !tsv_is(f, s, "-");
        if (t->count && counted != t->counted[q])
            return tsv_fail(
                f, s.from, e, "%s is %s here and %s in the lines above: want counts or '-', in the whole column",
                counter_quantities[q].name, counted ? "counted" : "not counted", counted ? "not counted" : "counted");
        if (counted && !tsv_number(f, s, INT64_MAX, &l->counts[q]))
            return tsv_fail(f, s.from, e, "%s is %s: want an integer from 0 to %lld, or '-'",
                            counter_quantities[q].name, tsv_quote(f, s).text, (long long)INT64_MAX);
        t->counted[q] = counted;
    }
    l->kernel = tsv_text(f, at[column[0]]);
    l->entry = tsv_text(f, at[column[2]]);
    l->shape = tsv_text(f, at[column[3]]);
    ++t->count;
    for (size_t i = 0; i + 1 < t->count; ++i)
        if (t->launches[i].number == l->number && !strcmp(t->launches[i].kernel, l->kernel))
            return tsv_fail(f, line.from, e, "a second line of launch %zu of this kernel; the first is line %zu",
                            l->number, t->launches[i].line);
    return true;
}

static bool read_table(const struct tsv *f, struct counter_table *t, struct error *e) {
    size_t at = 0, number = 0, room = 0, column[COLUMNS];
    struct tsv_span line;
    if (!tsv_next(f, &at, &number, &line))
        return fail(e, "%s: no line with the names of columns", f->path);
    if (!read_names(f, line, column, e))
        return false;
    while (tsv_next(f, &at, &number, &line)) {
        if (t->count == MOST_LAUNCHES)
            return tsv_fail(f, line.from, e, "more than %d launches", MOST_LAUNCHES);
        if (t->count == room) {
            const size_t before = room;
            room = room ? 2 * room : 64;
            t->launches = must_realloc(t->launches, room, sizeof *t->launches);
            memset(t->launches + before, 0, (room - before) * sizeof *t->launches);
        }
        t->launches[t->count].line = number;
        if (!read_launch(f, line, column, t, e))
            return false;
    }
    return t->count || fail(e, "%s: no launch below the names of columns", f->path);
}

bool counter_table_read(const char *path, struct counter_table *t, struct error *e) {
    struct tsv f;
    *t = (struct counter_table){.count = 0};
    if (!tsv_open(path, COUNTER_TABLE_BYTES, &f, e))
        return false;
    const bool good = read_table(&f, t, e);
    if (!good)
        counter_table_free(t);
    tsv_close(&f);
    return good;
}

void counter_table_free(struct counter_table *t) {
    for (size_t i = 0; i < t->count; ++i) {
        free(t->launches[i].kernel);
        free(t->launches[i].entry);
        free(t->launches[i].shape);
    }
    free(t->launches);
    *t = (struct counter_table){.count = 0};
}
