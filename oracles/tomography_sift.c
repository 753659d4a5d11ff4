/* One fault shows in several fields: what is the same event seen from two sides is left in one. */
#include "../ref/checked.h"
#include "tomography_parts.h"
#include <stdlib.h>

/* The d of a block comes with the scale of a sub-block of it: what the finer field says is said once. */
static void drop_coarse(struct observations *coarse, const struct observations *fine, size_t ratio) {
    for (size_t i = 0; i < coarse->count && i < fine->count; ++i) {
        struct seen *c = &coarse->seen[i];
        const struct seen *f = &fine->seen[i];
        if (c->t == f->t && c->j == f->j && c->k == f->k && c->kind == f->kind &&
            (c->kind != SEEN_ONE || (c->got_line == f->got_line && c->got_place == f->got_place / ratio))) {
            c->kind = SEEN_RIGHT;
        }
    }
}

static bool has_wrong_place(const struct observations *o) {
    for (size_t i = 0; i < o->count; ++i) {
        if (o->seen[i].kind == SEEN_ONE && o->seen[i].got_place != o->seen[i].want_place) {
            return true;
        }
    }
    return false;
}

/* Which k meets which is told by one operand: from the other side a k that is met twice, or never, or is another. */
static void drop_pairing(struct observations *o) {
    for (size_t i = 0; i < o->count; ++i) {
        struct seen *s = &o->seen[i];
        if (s->kind == SEEN_NOTHING || s->kind == SEEN_TIMES || s->kind == SEEN_OTHER ||
            (s->kind == SEEN_ONE && s->got_line == s->want_line)) {
            s->kind = SEEN_RIGHT;
        }
    }
}

static void pair(struct observations *weight, struct observations *activation) {
    if (has_wrong_place(weight)) {
        drop_pairing(activation);
    } else if (has_wrong_place(activation)) {
        drop_pairing(weight);
    }
}

static size_t cell_of(const struct prober *p, const struct seen *s) {
    return s->t * p->view.od + s->j;
}

/* (cells) bit 1 << kind where a field shows it. */
static unsigned *kinds_of(const struct prober *p, const struct observations *o) {
    unsigned *kinds = must_calloc(p->view.nt * p->view.od, sizeof *kinds);
    for (size_t i = 0; i < o->count; ++i) {
        kinds[cell_of(p, &o->seen[i])] |= 1u << o->seen[i].kind;
    }
    return kinds;
}

/* Of these kinds, what `of` shows at a cell is not said again. */
static void drop_shown(const struct prober *p, const struct observations *of, struct observations *in) {
    unsigned *kinds = kinds_of(p, of);
    for (size_t i = 0; i < in->count; ++i) {
        struct seen *s = &in->seen[i];
        if (s->kind > SEEN_ONE && s->kind != SEEN_ADDED && (kinds[cell_of(p, s)] & (1u << s->kind)) != 0) {
            s->kind = SEEN_RIGHT;
        }
    }
    free(kinds);
}

/* The same by k: a k that is left out, or counts twice, does so for either operand. */
static void drop_shown_of_k(const struct prober *p, const struct observations *of, struct observations *in) {
    enum { TOGETHER = 16 };
    unsigned *kinds = must_calloc(p->view.id / TOGETHER + 1, sizeof *kinds);
    for (size_t i = 0; i < of->count; ++i) {
        kinds[of->seen[i].k / TOGETHER] |= 1u << of->seen[i].kind;
    }
    for (size_t i = 0; i < in->count; ++i) {
        struct seen *s = &in->seen[i];
        if ((s->kind == SEEN_NOTHING || s->kind == SEEN_TIMES) && (kinds[s->k / TOGETHER] & 1u << s->kind) != 0) {
            s->kind = SEEN_RIGHT;
        }
    }
    free(kinds);
}

/* Of an operand whose codes have something added, the other's total says nothing. */
static void drop_added(const struct prober *p, const struct observations *of, struct observations *in) {
    unsigned *kinds = kinds_of(p, of);
    for (size_t i = 0; i < in->count; ++i) {
        struct seen *s = &in->seen[i];
        if (s->kind > SEEN_ONE && (kinds[cell_of(p, s)] & 1u << SEEN_ADDED) != 0) {
            s->kind = SEEN_RIGHT;
        }
    }
    free(kinds);
}

static bool shows(const struct seen *s, enum seen_kind kind) {
    return s->kind == kind && (kind != SEEN_TIMES || s->times == 2) && (kind != SEEN_ADDED || s->times == 1);
}

/* Marks in both (cells) those where all that a field shows is of this kind. */
static void mark(const struct prober *p, const struct observations *o, enum seen_kind kind, bool *both) {
    const size_t cells = p->view.nt * p->view.od;
    bool *some = must_calloc(cells, sizeof *some);
    for (size_t i = 0; i < o->count; ++i) {
        some[cell_of(p, &o->seen[i])] |= shows(&o->seen[i], kind);
    }
    for (size_t i = 0; i < cells; ++i) {
        both[i] = both[i] && some[i];
    }
    free(some);
}

/* Cells whose products show `products` and whose minimum terms show `minima`, the one that is not nothing being two:
 * one of the two factors stands in for the other. *to, of the scales or the minima, then shows `kind` there. */
static void cross(const struct prober *p, struct observations obs[FIELDS], enum seen_kind products,
                  enum seen_kind minima, enum probe_field to, enum seen_kind kind) {
    static const enum probe_field all[] = {FIELD_WEIGHT_CODE,   FIELD_ACTIVATION_CODE, FIELD_WEIGHT_D,
                                           FIELD_WEIGHT_SCALE,  FIELD_WEIGHT_DMIN,     FIELD_WEIGHT_MIN,
                                           FIELD_ACTIVATION_SUM};
    const size_t cells = p->view.nt * p->view.od;
    bool *both = must_calloc(cells, sizeof *both);
    for (size_t i = 0; i < cells; ++i) {
        both[i] = obs[FIELD_ACTIVATION_SUM].count > 0;
    }
    mark(p, &obs[FIELD_WEIGHT_CODE], products, both);
    mark(p, &obs[FIELD_ACTIVATION_SUM], minima, both);
    for (size_t k = 0; k < sizeof all / sizeof *all; ++k) {
        struct observations *o = &obs[all[k]];
        for (size_t i = 0; i < o->count; ++i) {
            struct seen *s = &o->seen[i];
            if (both[cell_of(p, s)]) {
                s->kind = all[k] == to ? kind : SEEN_RIGHT;
            }
        }
    }
    free(both);
}

/* Bits of several items together are an item now and then. */
static void drop_luck(struct observations *o) {
    size_t ones = 0, others = 0;
    for (size_t i = 0; i < o->count; ++i) {
        ones += o->seen[i].kind == SEEN_ONE;
        others += o->seen[i].kind == SEEN_OTHER;
    }
    for (size_t i = 0; others > 3 * ones && i < o->count; ++i) {
        o->seen[i].kind = o->seen[i].kind == SEEN_ONE ? SEEN_OTHER : o->seen[i].kind;
    }
}

/* Cells that hold something of no rule to begin with tell nothing about scales, and little about codes. */
static void drop_uncleared(const struct prober *p, const struct observations *start, struct observations obs[FIELDS]) {
    float least = 0, most = 0;
    size_t n = 0;
    for (size_t i = 0; i < start->count; ++i) {
        const struct seen *s = &start->seen[i];
        if (s->kind == SEEN_ADDED) {
            least = n == 0 || s->times < least ? s->times : least;
            most = n == 0 || s->times > most ? s->times : most;
            ++n;
        }
    }
    if (n == 0 || (least == most && least > 0)) {
        return; /* taken off, the rest can be read */
    }
    unsigned *kinds = kinds_of(p, start);
    for (int f = 0; f < FIELD_START; ++f) {
        const bool code = f == FIELD_WEIGHT_CODE || f == FIELD_ACTIVATION_CODE;
        for (size_t i = 0; i < obs[f].count; ++i) {
            struct seen *s = &obs[f].seen[i];
            if ((kinds[cell_of(p, s)] & 1u << SEEN_ADDED) != 0 && (!code || s->kind > SEEN_ONE)) {
                s->kind = SEEN_RIGHT;
            }
        }
    }
    free(kinds);
}

/* Where a cell begins with something, or its codes are no items, what is taken for a scale is one by luck, unless most
 * of them are. */
static void drop_scales(const struct prober *p, const struct observations *start, const struct observations *code,
                        struct observations *scale) {
    enum { FEW = 4 };
    unsigned *kinds = kinds_of(p, start), *codes = kinds_of(p, code);
    const unsigned wrong = ~(1u << SEEN_RIGHT | 1u << SEEN_ONE), unread = 1u << SEEN_ADDED | 1u << SEEN_OTHER;
    size_t looked = 0, shown = 0;
    for (int turn = 0; turn < 2; ++turn) {
        for (size_t i = 0; i < scale->count && (turn == 0 || FEW * shown < looked); ++i) {
            struct seen *s = &scale->seen[i];
            const size_t cell = cell_of(p, s);
            if ((kinds[cell] & wrong) == 0 && (codes[cell] & unread) == 0) {
                continue;
            }
            looked += turn == 0;
            shown += turn == 0 && s->kind == SEEN_ONE;
            s->kind = turn == 1 && s->kind == SEEN_ONE ? SEEN_RIGHT : s->kind;
        }
    }
    free(kinds);
    free(codes);
}

/* Scales are told by what they are; whether a term is there at all the codes and sums say. */
static void drop_totals(struct observations *o) {
    for (size_t i = 0; i < o->count; ++i) {
        struct seen *s = &o->seen[i];
        if (s->kind == SEEN_NOTHING || s->kind == SEEN_TIMES || s->kind == SEEN_UNWRITTEN) {
            s->kind = SEEN_RIGHT;
        }
    }
}

void probe_sift(const struct prober *p, struct observations obs[FIELDS], const size_t place_values[FIELDS]) {
    const enum probe_field scale = obs[FIELD_WEIGHT_SCALE].count > 0 ? FIELD_WEIGHT_SCALE : FIELD_WEIGHT_D,
                           min = obs[FIELD_WEIGHT_MIN].count > 0 ? FIELD_WEIGHT_MIN : FIELD_WEIGHT_DMIN;
    struct observations *code = &obs[FIELD_WEIGHT_CODE], *sum = &obs[FIELD_ACTIVATION_SUM];
    static const enum probe_field scales[] = {FIELD_WEIGHT_D, FIELD_WEIGHT_SCALE, FIELD_WEIGHT_DMIN, FIELD_WEIGHT_MIN,
                                              FIELD_ACTIVATION_D};
    for (size_t i = 0; i < sizeof scales / sizeof *scales; ++i) {
        drop_totals(&obs[scales[i]]);
    }
    drop_coarse(&obs[FIELD_WEIGHT_D], &obs[FIELD_WEIGHT_SCALE],
                place_values[FIELD_WEIGHT_D] / place_values[FIELD_WEIGHT_SCALE]);
    drop_coarse(&obs[FIELD_WEIGHT_DMIN], &obs[FIELD_WEIGHT_MIN],
                place_values[FIELD_WEIGHT_DMIN] / place_values[FIELD_WEIGHT_MIN]);
    drop_uncleared(p, &obs[FIELD_START], obs);
    for (size_t i = 0; i < sizeof scales / sizeof *scales; ++i) {
        drop_scales(p, &obs[FIELD_START], code, &obs[scales[i]]);
    }
    for (int f = 0; f < FIELD_START; ++f) {
        drop_shown(p, &obs[FIELD_START], &obs[f]);
        drop_luck(&obs[f]);
    }
    cross(p, obs, SEEN_NOTHING, SEEN_TIMES, scale, SEEN_MINIMUM);
    cross(p, obs, SEEN_ADDED, SEEN_NOTHING, min, SEEN_SCALE);
    pair(code, &obs[FIELD_ACTIVATION_CODE]);
    pair(&obs[min], sum);
    drop_added(p, code, &obs[FIELD_ACTIVATION_CODE]);
    drop_shown(p, code, &obs[FIELD_ACTIVATION_CODE]);
    drop_shown_of_k(p, code, &obs[FIELD_ACTIVATION_CODE]);
    drop_shown_of_k(p, code, sum);
    drop_shown(p, code, sum);
    for (size_t i = 0; i < sizeof scales / sizeof *scales; ++i) {
        drop_shown(p, code, &obs[scales[i]]);
        drop_shown(p, sum, &obs[scales[i]]);
    }
}
