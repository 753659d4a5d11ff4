/* sums: what each mma leaves in its accumulators is the exact integer sum of the products that its cell has met since
 * the accumulator began: at `mma.from`, or at this mma. Of plain buffers only what this mma adds is known, where there
 * is a `from`. A fault is one source line of mma.
 *
 * Element of register r in lane L (PTX ISA 9.7.14.5): row L / 4 + 8 (r / 2), column 2 (L % 4) + r % 2. */
#include "../ref/checked.h"
#include "stages.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct fault {
    uint32_t instruction;
    uint64_t sums;
    struct probe_place place;
    uint64_t number; /* of the first one */
    uint32_t warp, lane, index;
    int64_t row, column;
    uint32_t want, got, began, begin; /* began: what the accumulator held before; begin: what it must have held */
    unsigned why;                     /* of all of them: WRONG_... */
    bool reported;
};

enum { WRONG_BEGIN = 1, WRONG_TYPES = 2 }; /* these alone make the bits; 0: something else does */

struct sums {
    struct fault *faults;
    size_t count;
    uint64_t compared, wrong;
    uint32_t before[4][32]; /* accumulators that the mma at hand begins with */
};

void sums_open(struct stages *s) {
    s->sums = must_calloc(1, sizeof *s->sums);
}

void sums_close(struct stages *s) {
    if (s->sums != NULL) {
        free(s->sums->faults);
    }
    free(s->sums);
}

static bool plain_buffers(const struct stages *s) {
    return s->content.spec->mma.a.field == VALUE_BUFFER || s->content.spec->mma.b.field == VALUE_BUFFER;
}

/* The depth at which an accumulator begins is that of an mma before, or of this one. */
static void check_begin(struct stages *s, const struct probe_mma *at, const struct mma_content *want) {
    const int64_t k = want->a.k[0];
    if (want->from >= 0 && !plain_buffers(s) && (want->from > k || (k - want->from) % at->k != 0)) {
        expr_fail(s->content.spec->mma.from, &s->e,
                  "mma: number %" PRIu64 " of warp %u multiplies from k %" PRId64
                  " on: its accumulator cannot begin at %" PRId64 ", but at k 0 of it or a multiple of %u before",
                  at->number, at->warp, k, want->from, at->k);
    }
}

void sums_operands(struct stages *s, const struct probe_mma *at, const struct mma_content *want) {
    check_begin(s, at, want);
    for (unsigned r = 0; r < at->d_count; ++r) {
        memcpy(s->sums->before[r], at->c[r], sizeof s->sums->before[r]);
    }
}

/* As the mma's types say. */
static int64_t multiplied(const struct probe_mma *at, uint8_t a, uint8_t b) {
    return (int64_t)(at->a_unsigned ? a : (int8_t)a) * (at->b_unsigned ? b : (int8_t)b);
}

static bool is_unsigned(const struct spec_value *v, bool by_the_mma) {
    return v->field == VALUE_BUFFER && by_the_mma;
}

/* Of the elements as their format says. What a plain buffer holds, the mma's types say. */
static int64_t product(const struct stages *s, const struct probe_mma *at, uint8_t a, uint8_t b) {
    const struct spec_mma *m = &s->content.spec->mma;
    return (int64_t)(is_unsigned(&m->a, at->a_unsigned) ? a : (int8_t)a) *
           (is_unsigned(&m->b, at->b_unsigned) ? b : (int8_t)b);
}

/* The products of depths from .. to - 1, ahead of this mma. */
static int64_t sum_before(const struct stages *s, const struct probe_mma *at, int64_t row, int64_t column, int64_t from,
                          int64_t to) {
    const struct element_table *a = element_codes(&s->content.elements, &s->content.spec->mma.a),
                               *b = element_codes(&s->content.elements, &s->content.spec->mma.b);
    int64_t sum = 0;
    if (a == NULL || b == NULL || row < 0 || column < 0 || (size_t)row >= a->rows || (size_t)column >= b->rows) {
        return 0; /* of zeros that stand for what does not exist */
    }
    for (int64_t k = from; k < to && (size_t)k < a->depth; ++k) {
        sum += product(s, at, (uint8_t)a->q[(size_t)row * a->depth + (size_t)k],
                       (uint8_t)b->q[(size_t)column * b->depth + (size_t)k]);
    }
    return sum;
}

static struct fault *fault_of(struct sums *f, size_t instruction, unsigned why) {
    for (size_t i = 0; i < f->count; ++i) {
        if (f->faults[i].instruction == instruction && f->faults[i].why == why) {
            return &f->faults[i];
        }
    }
    f->faults = must_realloc(f->faults, f->count + 1, sizeof *f->faults);
    f->faults[f->count] = (struct fault){.instruction = (uint32_t)instruction, .why = why};
    return &f->faults[f->count++];
}

static void note(struct stages *s, const struct probe_mma *at, unsigned r, unsigned lane, int64_t row, int64_t column,
                 uint32_t want, uint32_t begin, unsigned why) {
    struct fault *x = fault_of(s->sums, at->instruction, why);
    ++s->sums->wrong;
    if (x->sums++ == 0) {
        x->place = at->place;
        x->number = at->number;
        x->warp = at->warp;
        x->lane = lane;
        x->index = r;
        x->row = row;
        x->column = column;
        x->want = want;
        x->got = at->d[r][lane];
        x->began = s->sums->before[r][lane];
        x->begin = begin;
    }
}

/* The cell of the result that this row of A and column of B meet in; NULL: it does not exist. */
static struct cell_owner *cell_of(struct stages *s, int64_t row, int64_t column) {
    const bool tokens_in_a = s->content.spec->mma.a.field == VALUE_ACTIVATION_Q;
    const int64_t token = tokens_in_a ? row : column, line = tokens_in_a ? column : row;
    const struct contract_operands *o = &s->trial->operands->view;
    return token < 0 || line < 0 || (size_t)token >= o->nt || (size_t)line >= o->od
               ? NULL
               : &s->owners[(size_t)token * o->od + (size_t)line];
}

static void note_owner(struct cell_owner *o, uint32_t block, uint32_t thread, uint32_t depth) {
    uint32_t i = 0;
    while (i < o->count && i < OWNERS && (o->by[i].block != block || o->by[i].thread != thread)) {
        ++i;
    }
    if (i == o->count && i < OWNERS) {
        o->by[i].block = block;
        o->by[i].thread = thread;
    }
    o->count = i == o->count && i <= OWNERS ? o->count + 1 : o->count;
    o->depth += i == 0 ? depth : 0;
}

/* The cells of this lane's accumulators are this thread's. */
static void own(struct stages *s, const struct probe_mma *at, const struct mma_content *want, unsigned lane) {
    const uint32_t block = (uint32_t)at->place.block_number, thread = 1 + at->warp * 32 + lane;
    for (unsigned r = 0; r < at->d_count; ++r) {
        struct cell_owner *o = cell_of(s, want->a.row[lane / 4 + 8 * (r / 2)], want->b.row[2 * (lane % 4) + r % 2]);
        at->origin[r][lane] = o != NULL ? ORIGIN_CELL + (uint32_t)(o - s->owners) : ORIGIN_OUTSIDE;
        if (o != NULL) {
            note_owner(o, block, thread, at->k);
        }
    }
}

void sums_stored(struct stages *s, const struct probe_store *at) {
    const size_t cells = s->owners != NULL ? s->trial->operands->view.nt * s->trial->operands->view.od : 0;
    for (uint64_t i = at->offset / 4; at->buffer == s->bound->result && i <= (at->offset + at->bytes - 1) / 4; ++i) {
        if (i >= cells) {
            continue;
        }
        struct cell_owner *o = &s->owners[i];
        const uint32_t origin = at->bytes != 4 && at->origin != 0 ? ORIGIN_MIXED : at->origin;
        o->origin = !at->adds || o->origin == 0 || o->origin == origin ? origin
                    : origin == 0                                      ? o->origin
                                                                       : ORIGIN_MIXED;
        o->stored = true;
    }
}

static bool all_exist(const struct mma_content *want, unsigned m, unsigned n, unsigned k) {
    bool all = true;
    for (unsigned i = 0; i < k; ++i) {
        all &= want->a.exists[m][i] && want->b.exists[n][i];
    }
    return all;
}

static int64_t ended(const struct probe_mma *at, int64_t sum) {
    return !at->saturates ? sum : sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
}

static void compare(struct stages *s, const struct probe_mma *at, const struct mma_content *want, unsigned r,
                    unsigned lane) {
    const unsigned m = lane / 4 + 8 * (r / 2), n = 2 * (lane % 4) + r % 2;
    const int64_t row = want->a.row[m], column = want->b.row[n];
    int64_t sum = 0, plain = 0, begin = 0;
    if (!all_exist(want, m, n, at->k)) {
        return;
    }
    for (unsigned k = 0; k < at->k; ++k) {
        sum += product(s, at, want->a.want[m][k], want->b.want[n][k]);
        plain += multiplied(at, want->a.want[m][k], want->b.want[n][k]);
    }
    begin = want->from < 0     ? 0
            : plain_buffers(s) ? (int32_t)s->sums->before[r][lane] /* what it began with is not known */
                               : sum_before(s, at, row, column, want->from, want->a.k[0]);
    const int64_t began = (int32_t)s->sums->before[r][lane], exact = sum;
    sum = ended(at, begin + exact);
    ++s->sums->compared;
    if (at->d[r][lane] != (uint32_t)sum) {
        const unsigned why = began != begin ? WRONG_BEGIN : 0, types = plain != exact ? WRONG_TYPES : 0;
        const bool explained = at->d[r][lane] == (uint32_t)ended(at, began + plain);
        note(s, at, r, lane, row, column, (uint32_t)sum, (uint32_t)begin, explained ? why | types : 0);
        at->d[r][lane] = (uint32_t)sum;
    }
}

void sums_results(struct stages *s, const struct probe_mma *at, const struct mma_content *want) {
    for (unsigned lane = 0; lane < 32 && s->owners != NULL; ++lane) {
        if (at->live >> lane & 1) {
            own(s, at, want, lane);
        }
    }
    for (unsigned r = 0; r < at->d_count; ++r) {
        for (unsigned lane = 0; lane < 32; ++lane) {
            if (at->live >> lane & 1) {
                compare(s, at, want, r, lane);
            }
        }
    }
}

/* ---- reporting ---- */

static void add_fault(struct stages *s, const struct trace *t, size_t lead) {
    struct fault *x = &s->sums->faults[lead];
    for (size_t i = lead + 1; i < s->sums->count; ++i) {
        struct fault *y = &s->sums->faults[i];
        if (!y->reported && y->why == x->why && trace_same_line(t, x->instruction, y->instruction)) {
            x->sums += y->sums;
            y->reported = true;
        }
    }
    struct finding *out = findings_add(&s->x->faults, stage_names[STAGE_SUMS], VERDICT_DIFFERS);
    out->where.has_thread = true;
    memcpy(out->where.block, x->place.block, sizeof out->where.block);
    out->where.warp = x->warp;
    out->where.lane = x->lane;
    where_site(&out->where, t, x->instruction);
    out->has_values = true;
    out->value_bytes = 4;
    out->want = x->want;
    out->got = x->got;
    out->summary = plain_buffers(s) ? must_format("accumulator %u of lane %u, %u bits", x->index, x->lane, 32)
                                    : must_format("accumulator %u of lane %u: the sum of row %" PRId64
                                                  " of A and column %" PRId64 " of B",
                                                  x->index, x->lane, x->row, x->column);
    const char *suspects = x->why == WRONG_BEGIN
                               ? "the accumulator is not set, or not kept, where a sum begins or goes on"
                           : x->why == WRONG_TYPES ? "type of the operands of the mma: signed or unsigned"
                           : x->why != 0           ? "type of the operands of the mma, and where its accumulator begins"
                                                   : NULL;
    finding_line(out, "first", "mma %" PRIu64 " of %s warp %u: %s", x->number, block_text(x->place.block), x->warp,
                 out->summary);
    finding_line(out, "want", "%" PRId32 "   got %" PRId32, (int32_t)x->want, (int32_t)x->got);
    if (x->why & WRONG_BEGIN) {
        finding_line(out, "holds", "the accumulator began at %" PRId32 ", and must begin at %" PRId32,
                     (int32_t)x->began, (int32_t)x->begin);
    }
    out->extent = x->sums;
    finding_line(out, "extent", "%" PRIu64 " sums wrong", x->sums);
    finding_line(out, "site", "%s  %s", where_text(&out->where), out->where.instruction);
    if (suspects != NULL) {
        finding_line(out, "suspect", "%s", suspects);
        out->suspects = must_strdup(suspects);
    }
    x->reported = true;
}

void sums_report(struct stages *s, const struct trace *t) {
    struct sums *f = s->sums;
    if (!s->content.spec->mma.given) {
        stage_skip(s, STAGE_SUMS, must_format("%s has no `mma`", stage_file(s)));
        return;
    }
    if (f->compared == 0) {
        stage_skip(s, STAGE_SUMS, must_strdup("no mma of 8-bit integers was executed"));
        return;
    }
    for (size_t i = 0; i < f->count; ++i) {
        if (!f->faults[i].reported) {
            add_fault(s, t, i);
        }
    }
    stage_judged(s, STAGE_SUMS, "sums", f->compared, f->wrong);
}
