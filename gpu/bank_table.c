#include "bank_table.h"
#include "../ref/checked.h"
#include "place.h"
#include "raw.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LANES = 32, MOST_COLUMNS = 5 };

struct reader {
    const char *path;
    const char *text; /* (length + 1) ends in a zero byte */
    size_t length;
    struct error *e;
};

struct span { /* bytes of the text */
    size_t from, to;
};

static bool complain(const struct reader *r, size_t byte, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static bool complain(const struct reader *r, size_t byte, const char *format, ...) {
    struct place p = place_at(r->path, r->text, r->length, byte);
    va_list args;
    va_start(args, format);
    place_fail(&p, 0, r->e, format, args);
    va_end(args);
    place_free(&p);
    return false;
}

/* The bytes of a span in quotes, for messages. */
static struct quoted quote_span(const struct reader *r, struct span s) {
    const size_t length = s.to - s.from;
    char *copy = must_format("%.*s", length < 200 ? (int)length : 200, r->text + s.from);
    const struct quoted q = quote(copy);
    free(copy);
    return q;
}

static bool span_is(const struct reader *r, struct span s, const char *text) {
    return s.to - s.from == strlen(text) && memcmp(r->text + s.from, text, s.to - s.from) == 0;
}

/* Decimal digits alone, without leading zeros, at most `most`. */
static bool number(const struct reader *r, struct span s, uint32_t most, uint32_t *value) {
    uint64_t v = 0;
    if (s.from == s.to || (s.to - s.from > 1 && r->text[s.from] == '0') || s.to - s.from > 10)
        return false;
    for (size_t i = s.from; i < s.to; ++i) {
        if (r->text[i] < '0' || r->text[i] > '9')
            return false;
        v = 10 * v + (uint64_t)(r->text[i] - '0');
    }
    *value = (uint32_t)v;
    return v <= most;
}

static bool read_op(const struct reader *r, struct span s, struct bank_op *op) {
    char name[64] = "";
    if (s.to - s.from < sizeof name)
        memcpy(name, r->text + s.from, s.to - s.from);
    return bank_op_named(name, op) ||
           complain(r, s.from, "%s is no access: want one of %s", quote_span(r, s).text, bank_op_names);
}

static bool read_counts(const struct reader *r, const struct span s[2], struct bank_row *row) {
    uint32_t wavefronts = 0, conflicts = 0;
    const bool none = span_is(r, s[0], "-");
    if (none)
        return span_is(r, s[1], "-") || complain(r, s[1].from, "want '-', as there are no wavefronts either");
    if (!number(r, s[0], 1 << 20, &wavefronts))
        return complain(r, s[0].from, "wavefronts is %s: want an integer from 0 to %d, or '-'",
                        quote_span(r, s[0]).text, 1 << 20);
    if (!number(r, s[1], 1 << 20, &conflicts))
        return complain(r, s[1].from, "conflicts is %s: want an integer from 0 to %d", quote_span(r, s[1]).text,
                        1 << 20);
    row->stated = true;
    row->count = (struct bank_count){wavefronts, conflicts};
    return true;
}

static bool read_address(const struct reader *r, struct span s, unsigned lane, struct bank_row *row) {
    if (span_is(r, s, "-1")) {
        if (row->op.matrices && bank_op_lanes(&row->op) >> lane & 1)
            return complain(r, s.from, "lane %u is inactive: %s wants the addresses of lanes 0 to %u", lane,
                            row->op.name, 8 * row->op.matrices - 1);
        return true;
    }
    if (!number(r, s, BANK_TABLE_OFFSET - 1, &row->at[lane]))
        return complain(r, s.from, "the address of lane %u is %s: want a byte offset from 0 to %d, or -1", lane,
                        quote_span(r, s).text, BANK_TABLE_OFFSET - 1);
    if (row->at[lane] % row->op.bytes != 0 && bank_op_lanes(&row->op) >> lane & 1)
        return complain(r, s.from, "the address of lane %u is %u: %s wants a multiple of %u", lane, row->at[lane],
                        row->op.name, row->op.bytes);
    row->active |= (uint32_t)1 << lane;
    return true;
}

static bool read_addresses(const struct reader *r, struct span all, struct bank_row *row) {
    unsigned lane = 0;
    for (size_t from = all.from; from <= all.to; ++lane) {
        const char *space = memchr(r->text + from, ' ', all.to - from);
        const struct span one = {from, space ? (size_t)(space - r->text) : all.to};
        if (one.from == one.to)
            return complain(r, one.from, "want the address of lane %u; one space parts two addresses", lane);
        if (lane == LANES)
            return complain(r, one.from, "more than %d addresses", LANES);
        if (!read_address(r, one, lane, row))
            return false;
        from = one.to + 1;
    }
    return lane == LANES || complain(r, all.to, "%u addresses: want %d, one a lane", lane, LANES);
}

static bool read_row(const struct reader *r, struct span line, struct bank_row *row) {
    struct span column[MOST_COLUMNS];
    size_t columns = 0;
    for (size_t from = line.from; from <= line.to;) {
        const char *tab = memchr(r->text + from, '\t', line.to - from);
        if (columns == MOST_COLUMNS)
            return complain(r, from, "more than %d columns", MOST_COLUMNS);
        column[columns] = (struct span){from, tab ? (size_t)(tab - r->text) : line.to};
        from = column[columns++].to + 1;
    }
    if (columns != 3 && columns != 5)
        return complain(r, line.from,
                        "%zu column%s: want op, label, wavefronts, conflicts, addresses, or op, label, addresses, "
                        "parted by one tab",
                        columns, columns == 1 ? "" : "s");
    if (!read_op(r, column[0], &row->op))
        return false;
    snprintf(row->written, sizeof row->written, "%.*s", (int)(column[0].to - column[0].from), r->text + column[0].from);
    if (column[1].from == column[1].to)
        return complain(r, column[1].from, "the label is empty");
    if ((columns == 5 && !read_counts(r, column + 2, row)) || !read_addresses(r, column[columns - 1], row))
        return false;
    row->label = must_format("%.*s", (int)(column[1].to - column[1].from), r->text + column[1].from);
    return true;
}

static bool read_lines(const struct reader *r, struct bank_table *t) {
    size_t room = 0, line = 0;
    for (size_t from = 0; from < r->length;) {
        const char *end = memchr(r->text + from, '\n', r->length - from);
        struct span s = {from, end ? (size_t)(end - r->text) : r->length};
        const size_t after = s.to + 1;
        ++line;
        if (s.to > s.from && r->text[s.to - 1] == '\r')
            --s.to;
        if (s.to > s.from && r->text[s.from] != '#') {
            struct bank_row row = {.line = line};
            if (!read_row(r, s, &row))
                return false;
            if (t->count == room) {
                room = room ? 2 * room : 64;
                t->rows = must_realloc(t->rows, room, sizeof *t->rows);
            }
            t->rows[t->count++] = row;
        }
        from = after;
    }
    return true;
}

bool bank_table_read(const char *path, struct bank_table *t, struct error *e) {
    struct raw_file f;
    *t = (struct bank_table){NULL, 0};
    if (path[0] == 0)
        return fail(e, "the name of a file is empty");
    if (!raw_open(path, &f, e))
        return false;
    char *text = NULL;
    bool good = f.bytes <= BANK_TABLE_BYTES ||
                fail(e, "%s: %zu bytes, a table has at most %d", path, f.bytes, BANK_TABLE_BYTES);
    if (good) {
        text = must_calloc(f.bytes + 1, 1);
        good = raw_read(&f, (uint8_t *)text, e);
    }
    if (good) {
        const struct reader r = {path, text, f.bytes, e};
        const char *zero = memchr(text, 0, f.bytes);
        good = zero ? complain(&r, (size_t)(zero - text), "a zero byte: want a table of text") : read_lines(&r, t);
    }
    if (!good)
        bank_table_free(t);
    free(text);
    raw_close(&f);
    return good;
}

void bank_table_free(struct bank_table *t) {
    for (size_t i = 0; i < t->count; ++i)
        free(t->rows[i].label);
    free(t->rows);
    *t = (struct bank_table){NULL, 0};
}

struct bank_count bank_row_count(const struct bank_row *r) {
    return bank_count(r->op.kind, r->op.bytes, r->op.matrices, r->at, r->active);
}

bool bank_row_uncounted(const struct bank_row *r) {
    return r->stated && !r->count.wavefronts && !r->count.conflicts && bank_row_count(r).wavefronts;
}

bool bank_row_differs(const struct bank_row *r) {
    const struct bank_count c = bank_row_count(r);
    return r->stated && !bank_row_uncounted(r) &&
           (c.wavefronts != r->count.wavefronts || c.conflicts != r->count.conflicts);
}
