/* prove_banks.h as JSON. */
#include "../ref/error.h"
#include "json_node.h"
#include "prove_banks.h"
#include <inttypes.h>
#include <stdlib.h>

enum { LANES = 32 };

static struct fy_node *unsigned_node(struct fy_document *d, uint64_t value) {
    return json_number(d, "%" PRIu64, value);
}

static void add_count(struct fy_document *d, struct fy_node *m, struct bank_count c) {
    json_add(d, m, "wavefronts", unsigned_node(d, c.wavefronts));
    json_add(d, m, "conflicts", unsigned_node(d, c.conflicts));
}

/* Banks in which rows begin. */
static void add_starts(struct fy_document *d, struct fy_node *m, const uint32_t *starts, uint32_t count) {
    struct fy_node *list = fy_node_create_sequence(d);
    for (uint32_t i = 0; i < count; ++i)
        fy_node_sequence_append(list, unsigned_node(d, starts[i]));
    json_add(d, m, "start_banks", list);
}

/* The lanes of each wavefront of one access. */
static void add_plan(struct fy_document *d, struct fy_node *m, const struct bank_op *op, const uint32_t at[LANES],
                     uint32_t active) {
    const struct bank_plan p = bank_plan(op, at, active);
    struct fy_node *all = fy_node_create_sequence(d);
    for (unsigned w = 0; w < p.count.wavefronts; ++w) {
        struct fy_node *lanes = fy_node_create_sequence(d);
        for (unsigned lane = 0; lane < LANES; ++lane)
            if (p.wavefront[lane] == w)
                fy_node_sequence_append(lanes, unsigned_node(d, lane));
        fy_node_sequence_append(all, lanes);
    }
    json_add(d, m, "wavefront_lanes", all);
}

static void add_swizzle(struct fy_document *d, struct fy_node *m, uint32_t mask, uint32_t shift) {
    json_add(d, m, "xor_mask", unsigned_node(d, mask));
    json_add(d, m, "xor_shift", unsigned_node(d, shift));
}

static void add_rows(struct fy_document *d, struct fy_node *m, const struct bank_tile *t) {
    json_add_string(d, m, "op", t->op.name);
    json_add(d, m, "rows", unsigned_node(d, t->rows));
    json_add(d, m, "row_bytes", unsigned_node(d, t->row_bytes));
}

bool banks_tile_json(const char *path, const struct bank_tile *t, struct error *e) {
    struct json_lines lines;
    json_begin(&lines);
    struct fy_document *d = json_next(&lines);
    if (d == NULL)
        return json_end(&lines, path, e);
    struct fy_node *m = fy_node_create_mapping(d);
    uint32_t starts[64], count = 0;
    for (; count < t->rows && count < 64; ++count)
        starts[count] = bank_tile_place(t, count, 0) / 4 % 32;
    add_rows(d, m, t);
    json_add(d, m, "stride", unsigned_node(d, t->stride));
    json_add(d, m, "offset", unsigned_node(d, t->offset));
    add_swizzle(d, m, t->xor_mask, t->xor_shift);
    add_starts(d, m, starts, count);
    json_add(d, m, "accesses", unsigned_node(d, bank_tile_accesses(t)));
    add_count(d, m, bank_tile_count(t));
    struct fy_node *all = fy_node_create_sequence(d);
    for (size_t i = 0; i < bank_tile_accesses(t) && i < 64; ++i) { /* the first ones */
        struct bank_access_lanes a;
        bank_tile_access(t, i, &a);
        struct fy_node *one = fy_node_create_mapping(d);
        add_count(d, one, bank_count(t->op.kind, t->op.bytes, t->op.matrices, a.at, a.active));
        add_plan(d, one, &t->op, a.at, a.active);
        fy_node_sequence_append(all, one);
    }
    json_add(d, m, "first_accesses", all);
    json_put(&lines, d, m);
    return json_end(&lines, path, e);
}

bool banks_layout_json(const char *path, const struct layout *l, const struct bank_layout *b,
                       const struct statement *proof, struct error *e) {
    struct json_lines lines;
    json_begin(&lines);
    struct fy_document *d = json_next(&lines);
    if (d == NULL)
        return json_end(&lines, path, e);
    struct fy_node *m = fy_node_create_mapping(d);
    json_add_string(d, m, "layout", l->name);
    json_add_string(d, m, "op", b->op.name);
    add_starts(d, m, b->starts, b->start_count);
    json_add(d, m, "accesses", unsigned_node(d, b->accesses));
    add_count(d, m, b->count);
    json_add(d, m, "worst_access", unsigned_node(d, b->worst));
    add_plan(d, m, &b->op, b->at, bank_op_lanes(&b->op));
    json_add_string(d, m, "fragments", proof->proved ? "proved" : "refuted");
    json_add_string(d, m, "counterexample", proof->counterexample);
    json_put(&lines, d, m);
    return json_end(&lines, path, e);
}

bool banks_advice_json(const char *path, const struct bank_tile *t, uint32_t align, const struct bank_advice_list *l,
                       struct error *e) {
    struct json_lines lines;
    json_begin(&lines);
    struct fy_document *d = json_next(&lines);
    if (d == NULL)
        return json_end(&lines, path, e);
    struct fy_node *m = fy_node_create_mapping(d), *all = fy_node_create_sequence(d);
    add_rows(d, m, t);
    json_add(d, m, "align", unsigned_node(d, align));
    json_add(d, m, "tried", unsigned_node(d, l->tried));
    for (size_t i = 0; i < l->count; ++i) {
        const struct bank_advice *a = &l->items[i];
        struct fy_node *one = fy_node_create_mapping(d);
        json_add(d, one, "stride", unsigned_node(d, a->stride));
        add_swizzle(d, one, a->xor_mask, a->xor_shift);
        json_add(d, one, "bytes", unsigned_node(d, a->bytes));
        json_add(d, one, "over_a_row", unsigned_node(d, a->stride - t->row_bytes));
        add_count(d, one, a->count);
        fy_node_sequence_append(all, one);
    }
    json_add(d, m, "layouts", all);
    json_put(&lines, d, m);
    return json_end(&lines, path, e);
}

bool banks_table_json(const char *path, const char *table, const struct bank_table *t, struct error *e) {
    struct json_lines lines;
    json_begin(&lines);
    struct fy_document *d = json_next(&lines);
    if (d == NULL)
        return json_end(&lines, path, e);
    struct fy_node *m = fy_node_create_mapping(d), *all = fy_node_create_sequence(d);
    json_add_string(d, m, "table", table);
    for (size_t i = 0; i < t->count; ++i) {
        const struct bank_row *r = &t->rows[i];
        struct fy_node *one = fy_node_create_mapping(d);
        json_add(d, one, "line", unsigned_node(d, r->line));
        json_add_string(d, one, "op", r->written);
        json_add_string(d, one, "label", r->label);
        add_count(d, one, bank_row_count(r));
        if (r->stated) {
            json_add(d, one, "stated_wavefronts", unsigned_node(d, r->count.wavefronts));
            json_add(d, one, "stated_conflicts", unsigned_node(d, r->count.conflicts));
        }
        if (r->stated && !bank_row_uncounted(r)) {
            json_add(d, one, "equal", json_bool(d, !bank_row_differs(r)));
        }
        fy_node_sequence_append(all, one);
    }
    json_add(d, m, "rows", all);
    json_put(&lines, d, m);
    return json_end(&lines, path, e);
}
