/* How many mma each warp executes. They were counted ahead (explain_count); a warp must execute as many as the launch
 * file has depth for: the first number past it multiplies what does not exist. Where the launch file has no such end
 * near the count, as many as most warps do.
 *
 * A warp with another count has an mma left out, or one too many, and all numbers after it are another mma's. So where
 * the operands at hand are none of their number's but those of one that its lack, or its excess, leads to, the warp is
 * numbered on from there. One too many that
 * adds to its own accumulators is undone. Cells whose sums lack an mma are not put right. Either is a fault where the
 * bits of their cells are wrong. */
#include "../ref/checked.h"
#include "stages.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { NEAR = 64 /* numbers past the count where the end is looked for */ };

struct warp_count {
    uint64_t count, must;
    uint32_t last;   /* instruction of its last mma */
    int64_t shift;   /* the mma at hand is number + shift of the launch file */
    bool gap;        /* some are missing, or too many: ... */
    size_t fault;    /* 1 + the one that tells of it; 0: none */
    int64_t passed;  /* mma whose operands were no number's, and that were taken for the ones too many */
    uint64_t undone; /* accumulators that one too many changed, and that were put right */
    uint64_t at;     /* ... first at this number */
    uint32_t site;   /* ... by this instruction, which came there */
};

struct counts {
    struct warp_count *warps; /* (blocks, a block's warps) */
    size_t total, a_block;
    uint32_t before[4][32]; /* accumulators that the mma at hand begins with */
};

static struct warp_count *warp_of(const struct counts *c, const struct probe_mma *at) {
    const size_t i = (size_t)at->place.block_number * c->a_block + at->warp;
    return i < c->total ? &c->warps[i] : NULL;
}

/* ---- how many there must be ---- */

static bool past_depth(const struct element_table *t, const struct mma_operand *o) {
    return t != NULL && (o->k[0] < 0 || (uint64_t)o->k[0] >= t->depth);
}

/* The mma of this number multiplies what exists. */
static bool inside(const struct stages *s, size_t warp, uint64_t number) {
    const struct spec_mma *m = &s->content.spec->mma;
    struct mma_content want;
    struct error e;
    uint32_t block[3];
    block_index(s->content.launch, warp / s->counts->a_block, block);
    return mma_content_make(&s->content, block, (uint32_t)(warp % s->counts->a_block), number, MMA_ROWS, 8, 16, &want,
                            &e) &&
           !past_depth(element_codes(&s->content.elements, &m->a), &want.a) &&
           !past_depth(element_codes(&s->content.elements, &m->b), &want.b);
}

static uint64_t by_the_file(const struct stages *s, size_t warp) {
    uint64_t n = s->counts->warps[warp].count;
    const uint64_t count = n;
    while (n > 0 && count - n < NEAR && !inside(s, warp, n - 1)) {
        --n;
    }
    while (n >= count && n - count < NEAR && inside(s, warp, n)) {
        ++n;
    }
    return n > 0 && n - count < NEAR ? n : n < count && count - n < NEAR ? n : UINT64_MAX;
}

static uint64_t by_most(const struct counts *c) {
    uint64_t most = 0;
    size_t best = 0;
    for (size_t i = 0; i < c->a_block; ++i) { /* of the first block */
        size_t same = 0;
        for (size_t k = 0; k < c->total; ++k) {
            same += c->warps[k].count == c->warps[i].count;
        }
        if (c->warps[i].count > 0 && same > best) {
            best = same;
            most = c->warps[i].count;
        }
    }
    return most;
}

void count_open(struct stages *s) {
    const struct explain_counts *n = s->ahead;
    if (s->owners == NULL || n->warps == NULL) {
        return;
    }
    struct counts *c = s->counts = must_calloc(1, sizeof *c);
    c->a_block = n->a_block;
    c->total = (size_t)n->blocks * n->a_block;
    c->warps = must_calloc(c->total, sizeof *c->warps);
    for (size_t i = 0; i < c->total; ++i) {
        c->warps[i] = (struct warp_count){.count = n->warps[i].count, .last = n->warps[i].last};
    }
    const uint64_t most = by_most(c);
    for (size_t i = 0; i < c->total; ++i) {
        struct warp_count *w = &c->warps[i];
        const uint64_t must = w->count > 0 ? by_the_file(s, i) : 0;
        w->must = must != UINT64_MAX ? must : most;
    }
}

void count_close(struct stages *s) {
    if (s->counts != NULL) {
        free(s->counts->warps);
    }
    free(s->counts);
}

/* ---- numbering on ---- */

static unsigned wrong_bytes(uint32_t *const *registers, unsigned n, unsigned rows, uint32_t live,
                            const struct mma_operand *o) {
    unsigned wrong = 0;
    for (unsigned r = 0; r < n; ++r) {
        for (unsigned i = 0; i < 128; ++i) {
            const unsigned lane = i / 4, line = lane / 4 + 8 * (r % rows), k = 4 * (lane % 4) + i % 4 + 16 * (r / rows);
            wrong += live >> lane & 1 && o->exists[line][k] &&
                     (uint8_t)(registers[r][lane] >> 8 * (i % 4)) != o->want[line][k];
        }
    }
    return wrong;
}

/* The operands at hand are another number's: what differs from it is next to nothing, and of one of them nothing. */
static bool are_of(const struct probe_mma *at, const struct mma_content *x, unsigned now) {
    const unsigned rows = at->m == 16 ? 2 : 1, a = wrong_bytes(at->a, at->a_count, rows, at->live, &x->a),
                   b = wrong_bytes(at->b, at->b_count, 1, at->live, &x->b);
    return (a == 0 || b == 0) && (a + b) * 4 < now;
}

static void mark(struct stages *s, const struct mma_content *x) {
    const struct contract_operands *o = &s->trial->operands->view;
    const bool tokens_in_a = s->content.spec->mma.a.field == VALUE_ACTIVATION_Q;
    for (unsigned i = 0; i < MMA_ROWS * 8; ++i) {
        const int64_t row = x->a.row[i / 8], column = x->b.row[i % 8], token = tokens_in_a ? row : column,
                      line = tokens_in_a ? column : row;
        if (token >= 0 && line >= 0 && (uint64_t)token < o->nt && (uint64_t)line < o->od) {
            s->owners[(size_t)token * o->od + (size_t)line].lacks = true;
        }
    }
}

static void mark_number(struct stages *s, size_t warp, uint64_t number) {
    struct mma_content x;
    struct error e;
    uint32_t block[3];
    block_index(s->content.launch, warp / s->counts->a_block, block);
    if (mma_content_make(&s->content, block, (uint32_t)(warp % s->counts->a_block), number, MMA_ROWS, 8, 16, &x, &e)) {
        mark(s, &x);
    }
}

static void open_gap(struct warp_count *w, const struct probe_mma *at) {
    if (!w->gap) {
        w->gap = true;
        w->at = (uint64_t)((int64_t)at->number + w->shift);
        w->site = (uint32_t)at->instruction;
    }
}

static bool make(struct stages *s, const struct probe_mma *at, int64_t number, struct mma_content *out,
                 struct error *e) {
    return number >= 0 &&
           mma_content_make(&s->content, at->place.block, at->warp, (uint64_t)number, at->m, at->n, at->k, out, e);
}

static bool all_same(const struct mma_operand *o, unsigned lines, unsigned depths) {
    bool same = true;
    for (unsigned i = 0; i < lines * depths; ++i) {
        same &= o->want[i / depths][i % depths] == o->want[0][0];
    }
    return same;
}

/* Both operands are for the most part none of this number's, or would be anyone's: it may be the one too many. */
static bool neither(const struct probe_mma *at, const struct mma_content *x) {
    const unsigned rows = at->m == 16 ? 2 : 1;
    const bool a = wrong_bytes(at->a, at->a_count, rows, at->live, &x->a) > at->a_count * 64,
               b = wrong_bytes(at->b, at->b_count, 1, at->live, &x->b) > at->b_count * 64;
    return (a || b) && (a || all_same(&x->a, at->m, at->k)) && (b || all_same(&x->b, at->n, at->k));
}

/* As if it had not been, where it adds to its own accumulators. */
void count_extra(struct stages *s, const struct probe_mma *at) {
    struct warp_count *w = warp_of(s->counts, at);
    for (unsigned r = 0; r < at->d_count; ++r) {
        for (unsigned lane = 0; lane < 32; ++lane) {
            if (!(at->live >> lane & 1)) {
                continue;
            }
            if (at->c[r] != at->d[r]) {
                at->origin[r][lane] = ORIGIN_MIXED;
            } else if (w != NULL) {
                w->undone += at->d[r][lane] != s->counts->before[r][lane];
                at->d[r][lane] = s->counts->before[r][lane];
            }
        }
    }
}

/* The ones too many came before this mma, which is one of the launch file's; else it is itself one too many. */
static bool passed_over(struct warp_count *w, int64_t count) {
    const bool before = w->passed >= count;
    w->passed -= before ? count : 0;
    return before;
}

bool count_align(struct stages *s, const struct probe_mma *at) {
    struct warp_count *w = s->counts != NULL ? warp_of(s->counts, at) : NULL;
    struct error e;
    int64_t left = w != NULL ? (int64_t)w->must - (int64_t)w->count - w->shift : 0;
    const int64_t number = (int64_t)at->number + (w != NULL ? w->shift : 0);
    const bool there = make(s, at, number, &s->want, &e) && (w == NULL || number < (int64_t)w->must);
    for (unsigned r = 0; r < at->d_count && w != NULL; ++r) {
        memcpy(s->counts->before[r], at->c[r], sizeof s->counts->before[r]);
    }
    if (w == NULL || (left == 0 && there)) {
        s->e = there ? s->e : e;
        return there;
    }
    const unsigned rows = at->m == 16 ? 2 : 1, now = there
                                                         ? wrong_bytes(at->a, at->a_count, rows, at->live, &s->want.a) +
                                                               wrong_bytes(at->b, at->b_count, 1, at->live, &s->want.b)
                                                         : 0;
    for (int64_t by = left < 0 ? -1 : 1; now > 0 && by * (left < 0 ? -1 : 1) <= (left < 0 ? -left : left);
         by += left < 0 ? -1 : 1) {
        struct mma_content x;
        if (!make(s, at, number + by, &x, &e) || !are_of(at, &x, now)) {
            continue;
        }
        open_gap(w, at);
        for (int64_t k = number; k < number + by; ++k) {
            mark_number(s, (size_t)(w - s->counts->warps), (uint64_t)k);
        }
        w->shift += by;
        s->want = x;
        return by > 0 || passed_over(w, -by);
    }
    if (left < 0 && (!there || neither(at, &s->want))) {
        open_gap(w, at);
        w->passed += there;
        return false;
    }
    s->e = there ? s->e : e;
    return there;
}

/* ---- reporting ---- */

bool sums_unsure(const struct stages *s, size_t cell) {
    return s->owners[cell].lacks;
}

static bool wrong_in(const struct stages *s, const uint8_t *bytes, size_t cell) {
    return memcmp(bytes + 4 * cell, s->result + 4 * cell, 4) != 0;
}

/* Some warp that this fault tells of has an accumulator of the cell. */
static bool is_theirs(const struct stages *s, const struct cell_owner *o, size_t fault, bool *undone) {
    bool some = false;
    for (uint32_t i = 0; i < o->count && i < OWNERS; ++i) {
        const struct warp_count *w =
            &s->counts->warps[o->by[i].block * s->counts->a_block + (o->by[i].thread - 1) / 32];
        some |= w->fault == fault;
        *undone |= w->fault == fault && w->undone > 0;
    }
    return some;
}

static uint64_t wrong_cells(const struct stages *s, size_t fault) {
    const size_t cells = s->trial->operands->view.nt * s->trial->operands->view.od;
    const uint8_t *now = s->content.launch->buffers[s->bound->result].data;
    uint64_t wrong = 0;
    for (size_t c = 0; c < cells; ++c) {
        const struct cell_owner *o = &s->owners[c];
        bool undone = false;
        if (is_theirs(s, o, fault, &undone)) {
            wrong += ((o->lacks || o->origin == ORIGIN_MIXED) && wrong_in(s, now, c)) ||
                     (undone && wrong_in(s, s->ahead->plain, c));
        }
    }
    return wrong;
}

/* Warps that have the same at one line. */
static size_t group(struct stages *s, const struct trace *t, size_t lead, size_t fault) {
    struct warp_count *w = &s->counts->warps[lead];
    size_t warps = 0;
    for (size_t i = lead; i < s->counts->total; ++i) {
        struct warp_count *y = &s->counts->warps[i];
        if (y->fault == 0 && y->count != y->must && y->count > 0 && y->gap == w->gap &&
            y->count - y->must == w->count - w->must &&
            trace_same_line(t, y->gap ? y->site : y->last, w->gap ? w->site : w->last)) {
            y->fault = fault;
            ++warps;
        }
    }
    return warps;
}

static void add_fault(struct stages *s, const struct trace *t, size_t lead, size_t warps, uint64_t cells) {
    struct warp_count *w = &s->counts->warps[lead];
    const uint32_t site = w->gap ? w->site : w->last;
    struct finding *out = findings_add(&s->x->faults, stage_names[STAGE_SUMS], VERDICT_DIFFERS);
    uint32_t block[3];
    block_index(s->content.launch, lead / s->counts->a_block, block);
    out->where.has_thread = true;
    memcpy(out->where.block, block, sizeof block);
    out->where.warp = (uint32_t)(lead % s->counts->a_block);
    where_site(&out->where, t, site);
    out->summary =
        must_format("warp %u executed %" PRIu64 " mma, and must execute %" PRIu64, out->where.warp, w->count, w->must);
    out->suspects = must_strdup("loop bound of the mma, or a guard around one");
    finding_line(out, "first", "%s: %s", block_text(block), out->summary);
    if (w->gap) {
        finding_line(out, "holds",
                     w->count > w->must ? "number %" PRIu64 " is one too many" : "number %" PRIu64 " is missing",
                     w->at);
    } else if (w->count < w->must) {
        finding_line(out, "holds", "those from number %" PRIu64 " on are missing", w->count);
    }
    out->cause = w->count > w->must ? "more" : "fewer";
    out->extent = cells;
    finding_line(out, "extent", "%zu of %zu warps; %" PRIu64 " wrong cells are theirs", warps, s->counts->total, cells);
    finding_line(out, "site", "%s  %s", where_text(&out->where), out->where.instruction);
    finding_line(out, "suspect", "%s", out->suspects);
}

void count_report(struct stages *s, const struct trace *t) {
    struct counts *c = s->counts;
    if (c == NULL || s->result == NULL || s->bound->result == SIZE_MAX || !trace_complete(t)) {
        return;
    }
    for (size_t i = 0; i < c->total; ++i) {
        const int64_t end = (int64_t)c->warps[i].count + c->warps[i].shift;
        for (uint64_t k = end > 0 ? (uint64_t)end : 0; c->warps[i].count > 0 && k < c->warps[i].must; ++k) {
            mark_number(s, i, k);
        }
    }
    struct stage *sums = &s->x->stages[STAGE_SUMS];
    uint64_t wrong = 0;
    for (size_t i = 0, fault = 1; i < c->total; ++i) {
        if (c->warps[i].fault == 0 && c->warps[i].count != c->warps[i].must && c->warps[i].count > 0) {
            const size_t warps = group(s, t, i, fault);
            const uint64_t cells = wrong_cells(s, fault++);
            if (cells > 0) {
                wrong += s->ahead->sums * warps *
                         (c->warps[i].count < c->warps[i].must ? c->warps[i].must - c->warps[i].count
                                                               : c->warps[i].count - c->warps[i].must);
                add_fault(s, t, i, warps, cells);
            }
        }
    }
    if (wrong > 0 && sums->ruling != RULING_NOT_JUDGED) {
        stage_judged(s, STAGE_SUMS, "sums", sums->compared + wrong, sums->wrong + wrong);
    }
}
