#include "bank_table.h"
#include "../ref/checked.h"
#include "tsv.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LANES = 32, MOST_COLUMNS = 5 };

struct reader {
    struct tsv table;
    struct error *e;
};

static bool read_op(const struct reader *r, struct tsv_span s, struct bank_op *op) {
    char name[64] = "";
    if (s.to - s.from < sizeof name)
        memcpy(name, r->table.text + s.from, s.to - s.from);
    return bank_op_named(name, op) || tsv_fail(&r->table, s.from, r->e, "%s is no access: want one of %s",
                                               tsv_quote(&r->table, s).text, bank_op_names);
}

static bool read_counts(const struct reader *r, const struct tsv_span s[2], struct bank_row *row) {
    uint64_t wavefronts = 0, conflicts = 0;
    const bool none = tsv_is(&r->table, s[0], "-");
    if (none)
        return tsv_is(&r->table, s[1], "-") ||
               tsv_fail(&r->table, s[1].from, r->e, "want '-', as there are no wavefronts either");
    if (!tsv_number(&r->table, s[0], 1 << 20, &wavefronts))
        return tsv_fail(&r->table, s[0].from, r->e, "wavefronts is %s: want an integer from 0 to %d, or '-'",
                        tsv_quote(&r->table, s[0]).text, 1 << 20);
    if (!tsv_number(&r->table, s[1], 1 << 20, &conflicts))
        return tsv_fail(&r->table, s[1].from, r->e, "conflicts is %s: want an integer from 0 to %d",
                        tsv_quote(&r->table, s[1]).text, 1 << 20);
    row->stated = true;
    row->count = (struct bank_count){(unsigned)wavefronts, (unsigned)conflicts};
    return true;
}

static bool read_address(const struct reader *r, struct tsv_span s, unsigned lane, struct bank_row *row) {
    if (tsv_is(&r->table, s, "-1")) {
        if (row->op.matrices && bank_op_lanes(&row->op) >> lane & 1)
            return tsv_fail(&r->table, s.from, r->e, "lane %u is inactive: %s wants the addresses of lanes 0 to %u",
                            lane, row->op.name, 8 * row->op.matrices - 1);
        return true;
    }
    uint64_t at;
    if (!tsv_number(&r->table, s, BANK_TABLE_OFFSET - 1, &at))
        return tsv_fail(&r->table, s.from, r->e, "the address of lane %u is %s: want a byte offset from 0 to %d, or -1",
                        lane, tsv_quote(&r->table, s).text, BANK_TABLE_OFFSET - 1);
    row->at[lane] = (uint32_t)at;
    if (row->at[lane] % row->op.bytes != 0 && bank_op_lanes(&row->op) >> lane & 1)
        return tsv_fail(&r->table, s.from, r->e, "the address of lane %u is %u: %s wants a multiple of %u", lane,
                        row->at[lane], row->op.name, row->op.bytes);
    row->active |= (uint32_t)1 << lane;
    return true;
}

static bool read_addresses(const struct reader *r, struct tsv_span all, struct bank_row *row) {
    unsigned lane = 0;
    for (size_t from = all.from; from <= all.to; ++lane) {
        const char *space = memchr(r->table.text + from, ' ', all.to - from);
        const struct tsv_span one = {from, space ? (size_t)(space - r->table.text) : all.to};
        if (one.from == one.to)
            return tsv_fail(&r->table, one.from, r->e, "want the address of lane %u; one space parts two addresses",
                            lane);
        if (lane == LANES)
            return tsv_fail(&r->table, one.from, r->e, "more than %d addresses", LANES);
        if (!read_address(r, one, lane, row))
            return false;
        from = one.to + 1;
    }
    return lane == LANES || tsv_fail(&r->table, all.to, r->e, "%u addresses: want %d, one a lane", lane, LANES);
}

static bool read_row(const struct reader *r, struct tsv_span line, struct bank_row *row) {
    struct tsv_span column[MOST_COLUMNS];
    size_t past = 0;
    const size_t columns = tsv_columns(&r->table, line, column, MOST_COLUMNS, &past);
    if (columns == SIZE_MAX)
        return tsv_fail(&r->table, past, r->e, "more than %d columns", MOST_COLUMNS);
    if (columns != 3 && columns != 5)
        return tsv_fail(&r->table, line.from, r->e,
                        "%zu column%s: want op, label, wavefronts, conflicts, addresses, or op, label, addresses, "
                        "parted by one tab",
                        columns, columns == 1 ? "" : "s");
    if (!read_op(r, column[0], &row->op))
        return false;
    snprintf(row->written, sizeof row->written, "%.*s", (int)(column[0].to - column[0].from),
             r->table.text + column[0].from);
    if (column[1].from == column[1].to)
        return tsv_fail(&r->table, column[1].from, r->e, "the label is empty");
    if ((columns == 5 && !read_counts(r, column + 2, row)) || !read_addresses(r, column[columns - 1], row))
        return false;
    row->label = tsv_text(&r->table, column[1]);
    return true;
}

static bool read_lines(const struct reader *r, struct bank_table *t) {
    size_t room = 0, at = 0, line = 0;
    for (struct tsv_span s; tsv_next(&r->table, &at, &line, &s);) {
        struct bank_row row = {.line = line};
        if (!read_row(r, s, &row))
            return false;
        if (t->count == room) {
            room = room ? 2 * room : 64;
            t->rows = must_realloc(t->rows, room, sizeof *t->rows);
        }
        t->rows[t->count++] = row;
    }
    return true;
}

bool bank_table_read(const char *path, struct bank_table *t, struct error *e) {
    struct reader r = {.e = e};
    *t = (struct bank_table){NULL, 0};
    if (!tsv_open(path, BANK_TABLE_BYTES, &r.table, e))
        return false;
    const bool good = read_lines(&r, t);
    if (!good)
        bank_table_free(t);
    tsv_close(&r.table);
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
