/* parity: the bytes of every output equal the contract's (or the launch file's `expect`). Bytes, never values: -0 is
 * not +0, and a NaN must have the right payload. Cells that were never written are coverage's to name. A contract that
 * needs the measured rcp.approx and does not have it proves nothing: APPROXIMATE. So does a launch that executed an
 * instruction without a bit-exact model (oracles/approximate.c).
 *
 * Where the launch file gives bytes for the contract's result as well, the two must agree. If they do not, nobody knows
 * what is right: that is an INPUT finding, which says whose bits the kernel has, and parity is not ruled on. */
#include "../ref/checked.h"
#include "../ref/half.h"
#include "../ref/rcp_approx.h"
#include "oracle.h"
#include "pattern.h"
#include "probe.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A matrix result: cell (i, j) of want and got, n0 x n1. */
struct matrix {
    const uint8_t *want, *got;
    size_t n0, n1, cell_bytes;
};

/* Distance in units of the last place: floats ordered as integers. */
static uint64_t ulps(uint32_t a, uint32_t b) {
    const int64_t x = a >> 31 ? -(int64_t)(a & 0x7fffffff) : (int64_t)a;
    const int64_t y = b >> 31 ? -(int64_t)(b & 0x7fffffff) : (int64_t)b;
    return (uint64_t)(x > y ? x - y : y - x);
}

static bool is_nan(uint32_t u) {
    return (u & 0x7fffffff) > 0x7f800000;
}

/* How far off the wrong f32 cells are. *last_place: only the last bits differ. */
static char *size_text(const struct matrix *m, const uint8_t *wrong, bool *last_place) {
    uint64_t most = 0;
    double relative = 0;
    size_t nans = 0, signs = 0, zeros = 0, numbers = 0;
    for (size_t i = 0; i < m->n0 * m->n1; ++i) {
        if (!wrong[i]) {
            continue;
        }
        uint32_t want, got;
        memcpy(&want, m->want + 4 * i, 4);
        memcpy(&got, m->got + 4 * i, 4);
        if (is_nan(want) || is_nan(got)) {
            ++nans;
            continue;
        }
        ++numbers;
        signs += (want | got) == 0x80000000;
        const uint64_t u = ulps(want, got);
        most = u > most ? u : most;
        const double w = bits_float(want), g = bits_float(got);
        zeros += w == 0;
        const double r = w != 0 ? fabs(g - w) / fabs(w) : 0;
        relative = r > relative ? r : relative;
    }
    *last_place = nans == 0 && most <= 16;
    char *text = most <= 1 << 16 ? must_format("off by at most %" PRIu64 " units in the last place", most)
                                 : must_format("off by up to %.2g times the right value", relative);
    const struct {
        size_t count;
        const char *what;
    } odd[] = {{nans, "with a NaN"}, {signs, "zeros of the other sign"}, {zeros - signs, "where 0 is right"}};
    for (size_t i = 0; i < 3; ++i) {
        if (odd[i].count > 0) {
            const bool alone = numbers == 0 && i == 0;
            char *more = must_format("%s%s%zu %s", alone ? "" : text, alone ? "" : "; ", odd[i].count, odd[i].what);
            free(text);
            text = more;
        }
    }
    return text;
}

/* A contract of the same formats whose bits the kernel has in every cell; NULL when there is none. */
static const struct contract *other_contract(const struct evidence *e, size_t buffer) {
    const struct launch_buffer *b = &e->launch->buffers[buffer];
    const struct contract *found = NULL;
    float *result = must_calloc(b->bytes, 1);
    for (size_t i = 0; contracts[i] != NULL && found == NULL && e->contract != NULL; ++i) {
        const struct contract *c = contracts[i];
        const bool same_formats = c != e->contract && c->weight != NULL && e->contract->weight != NULL &&
                                  strcmp(c->weight, e->contract->weight) == 0 &&
                                  strcmp(c->activation, e->contract->activation) == 0 &&
                                  strcmp(c->result, e->contract->result) == 0;
        if (!same_formats || c->result_bytes(e->operands) != b->bytes) {
            continue;
        }
        c->evaluate(e->operands, result);
        found = memcmp(result, b->data, b->bytes) == 0 ? c : NULL;
    }
    free(result);
    return found;
}

static void describe(const struct evidence *e, size_t buffer, const uint8_t *wrong, size_t first,
                     struct findings *out) {
    const struct launch_buffer *b = &e->launch->buffers[buffer];
    const bool proves_nothing = evidence_approximate(e);
    struct finding *f = findings_add(out, "parity", proves_nothing ? VERDICT_APPROXIMATE : VERDICT_DIFFERS);
    where_cell(&f->where, e, buffer, first);
    const struct where *w = &f->where;
    const bool matrix = w->axis[1] != NULL && strcmp(w->axis[1], "row") == 0;
    const size_t n1 = matrix ? e->operands->od : 1;
    struct matrix m = {e->expected[buffer], b->data, b->bytes / b->cell_bytes / n1, n1, b->cell_bytes};

    f->wrong = wrong_map_of(wrong, m.n0, m.n1, matrix ? "token" : "element", matrix ? "row" : NULL);
    f->has_values = true;
    f->value_bytes = b->cell_bytes < 8 ? (unsigned)b->cell_bytes : 8;
    f->value_is_float = b->is_f32;
    f->want = cell_value(m.want + first * m.cell_bytes, f->value_bytes);
    f->got = cell_value(m.got + first * m.cell_bytes, f->value_bytes);
    char *want = cell_text(f->want, f->value_bytes, b->is_f32), *got = cell_text(f->got, f->value_bytes, b->is_f32);
    char *cell = w->axis[1] != NULL
                     ? must_format("%s %" PRId64 ", %s %" PRId64, w->axis[0], w->cell[0], w->axis[1], w->cell[1])
                     : must_format("%s %" PRId64, w->axis[0], w->cell[0]);
    finding_line(f, "first", "%s (%s byte %" PRId64 ")   want %s   got %s", cell, b->name, w->offset, want, got);

    if (proves_nothing) {
        finding_line(f, "", "the launch executed approximate instructions: this alone says nothing about the kernel");
    }
    struct pattern p =
        pattern_of(wrong, m.n0, m.n1, matrix ? "token" : "cell", matrix ? "row" : NULL, evidence_fragments(e));
    f->extent = p.wrong;
    finding_line(f, "shape", "%s%s%s", p.text, p.suspects ? "   -> " : "", p.suspects ? p.suspects : "");
    bool last_place = false;
    if (b->is_f32) {
        char *size = size_text(&m, wrong, &last_place);
        finding_line(f, "size", "%s%s", size, last_place ? "   -> rounding, fusion or order of summation" : "");
        free(size);
    }
    if (matrix) {
        char *probe = probe_matrix(e, buffer, wrong);
        if (probe != NULL) {
            finding_line(f, "probe", "%s", probe);
            free(probe);
        }
    }
    const struct contract *other = matrix && b->is_f32 ? other_contract(e, buffer) : NULL;
    if (other != NULL)
        finding_line(f, "other",
                     "these are the bits of contract %s in every cell   -> another order or grouping of roundings",
                     other->name);
    struct launch_run by;
    if (evidence_store(e, buffer, first, &by)) {
        where_writer(&f->where, by.launch, by.trace, &by.trace->coverage[buffer].cells[first].last);
        f->where.launch = by.number;
        finding_line(f, "site", "%s  %s   stored by block (%u,%u,%u) warp %u lane %u", where_text(w),
                     w->instruction ? w->instruction : "", w->block[0], w->block[1], w->block[2], w->warp, w->lane);
    }
    f->summary = must_format("%s: want %s, got %s; %s", cell, want, got, p.text);
    f->suspects = must_strdup(other != NULL ? "rounding: the kernel follows another contract"
                              : last_place  ? "rounding, fusion or order of summation"
                              : p.suspects  ? p.suspects
                                            : "layout, index or scale");
    free(p.text);
    free(cell);
    free(want);
    free(got);
}

/* A result that is NaN in every cell equals any other such result: it proves nothing (defects C96). */
static bool all_nan(const struct evidence *e, size_t buffer) {
    const struct launch_buffer *b = &e->launch->buffers[buffer];
    for (size_t i = 0; b->is_f32 && i < b->bytes; i += 4) {
        if (!is_nan((uint32_t)cell_value(e->expected[buffer] + i, 4))) {
            return false;
        }
    }
    return b->is_f32 && b->bytes > 0;
}

/* The contract and the launch file's bytes differ somewhere. */
static bool is_disputed(const struct evidence *e, size_t buffer) {
    return buffer == e->result && e->recorded != NULL &&
           memcmp(e->expected[buffer], e->recorded, e->launch->buffers[buffer].bytes) != 0;
}

static void describe_dispute(const struct evidence *e, size_t buffer, struct findings *out) {
    const struct launch_buffer *b = &e->launch->buffers[buffer];
    const uint8_t *contract = e->expected[buffer], *file = e->recorded;
    const size_t cells = b->bytes / b->cell_bytes, n = b->cell_bytes;
    size_t first = cells, differ = 0, as_contract = 0, as_file = 0;
    for (size_t c = 0; c < cells; ++c) {
        as_contract += memcmp(b->data + c * n, contract + c * n, n) == 0;
        as_file += memcmp(b->data + c * n, file + c * n, n) == 0;
        if (memcmp(contract + c * n, file + c * n, n) != 0) {
            first = first == cells ? c : first;
            ++differ;
        }
    }
    struct finding *f = findings_add(out, "parity", VERDICT_INPUT);
    struct where *w = &f->where;
    where_cell(w, e, buffer, first);
    char *says = cell_text(cell_value(contract + first * n, n), (unsigned)n, b->is_f32);
    char *recorded = cell_text(cell_value(file + first * n, n), (unsigned)n, b->is_f32);
    char *cell = w->axis[1] != NULL
                     ? must_format("%s %" PRId64 ", %s %" PRId64, w->axis[0], w->cell[0], w->axis[1], w->cell[1])
                     : must_format("%s %" PRId64, w->axis[0], w->cell[0]);
    f->summary = must_format("contract %s and the expected file disagree in %zu of %zu cell%s, so neither says what is "
                             "right",
                             e->contract->name, differ, cells, plural(cells));
    finding_line(f, "parity", "%s", f->summary);
    finding_line(f, "first", "%s (%s byte %" PRId64 ")   contract %s   file %s", cell, b->name, w->offset, says,
                 recorded);
    const char *whose = as_file == cells       ? "the file's bits in every cell"
                        : as_contract == cells ? "the contract's bits in every cell"
                                               : NULL;
    if (whose != NULL) {
        finding_line(f, "kernel", "has %s", whose);
    } else {
        finding_line(f, "kernel", "has the contract's bits in %zu cell%s, the file's in %zu", as_contract,
                     plural(as_contract), as_file);
    }
    f->suspects = must_strdup(as_file == cells ? "the kernel computes under another contract or split"
                                               : "the file was made of other operands, or under another contract or "
                                                 "split");
    free(says);
    free(recorded);
    free(cell);
}

/* The contract's bits hang on a table that was not read: equal or not, nothing is proved. */
static bool approximate(const struct evidence *e) {
    return e->contract != NULL && e->contract->rcp_table && !rcp_approx_measured();
}

static void describe_approximate(const struct evidence *e, size_t buffer, const uint8_t *wrong, size_t cells,
                                 struct findings *out) {
    size_t count = 0;
    for (size_t c = 0; c < cells; ++c) {
        count += wrong[c];
    }
    struct finding *f = findings_add(out, "parity", VERDICT_APPROXIMATE);
    f->summary = must_format("%s: %zu of %zu cell%s differ from contract %s without the measured rcp.approx",
                             e->launch->buffers[buffer].name, count, cells, plural(cells), e->contract->name);
    f->suspects = must_strdup("fixtures/golden/rcp_approx_sm90.bin.zz is absent: with it the bits are exact");
    finding_line(f, "parity", "%s", f->summary);
    finding_line(f, "", "%s", f->suspects);
}

static enum ruling judge(const struct evidence *e, struct findings *out) {
    if (!e->complete || e->follows) {
        return RULING_NOT_JUDGED; /* half a result says nothing that the reason for the stop does not say better */
    }
    bool found = false, judged = false;
    for (size_t i = 0; i < e->launch->buffer_count; ++i) {
        const struct launch_buffer *b = &e->launch->buffers[i];
        if (b->role == BUFFER_IN || e->expected[i] == NULL) {
            continue;
        }
        if (is_disputed(e, i) && !approximate(e)) {
            describe_dispute(e, i, out);
            found = true;
            continue;
        }
        judged = true;
        if (all_nan(e, i)) {
            struct finding *f = findings_add(out, "parity", VERDICT_INPUT);
            f->summary = must_format("every expected cell of %s is NaN: equality would prove nothing", b->name);
            finding_line(f, "parity", "%s", f->summary);
            found = true;
            continue;
        }
        const size_t cells = b->bytes / b->cell_bytes;
        uint8_t *wrong = must_calloc(cells + 1, 1);
        size_t first = cells;
        /* What nobody has stored is for coverage to name, where it judges. */
        const bool named = b->role == BUFFER_OUT && !(e->launch->options.unwatched & WATCH_STORES);
        for (size_t c = 0; c < cells; ++c) {
            wrong[c] = memcmp(b->data + c * b->cell_bytes, e->expected[i] + c * b->cell_bytes, b->cell_bytes) != 0 &&
                       !(named && evidence_unwritten(e, i, c));
            first = wrong[c] && first == cells ? c : first;
        }
        if (approximate(e)) {
            describe_approximate(e, i, wrong, cells, out);
            found = true;
        } else if (first < cells) {
            describe(e, i, wrong, first, out);
            found = true;
        }
        free(wrong);
    }
    return found ? RULING_FOUND : judged ? RULING_CLEAN : RULING_NOT_JUDGED;
}

const struct oracle oracle_parity = {
    .name = "parity",
    .about = "every output byte equals the contract's, or the launch file's expected file",
    .judge = judge,
};
