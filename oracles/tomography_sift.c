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

/* Cells whose products show `products` and whose minimum terms show `minima`, the one that is not nothing being two:
 * one of the two factors stands in for the other. */
static void cross(const struct prober *p, struct observations *code, struct observations *sum, enum seen_kind products,
                  enum seen_kind minima, struct observations *to, enum seen_kind kind) {
    unsigned *c = kinds_of(p, code), *m = kinds_of(p, sum);
    bool any = false;
    for (size_t i = 0; i < p->view.nt * p->view.od; ++i) {
        c[i] = (c[i] & 1u << products) != 0 && (m[i] & 1u << minima) != 0;
        any |= c[i] != 0;
    }
    struct observations *both[2] = {code, sum};
    for (int k = 0; any && k < 2; ++k) {
        for (size_t i = 0; i < both[k]->count; ++i) {
            struct seen *s = &both[k]->seen[i];
            const enum seen_kind shows = k == 0 ? products : minima;
            if (c[cell_of(p, s)] && s->kind == shows && (shows != SEEN_TIMES || s->times == 2)) {
                s->kind = SEEN_RIGHT;
            } else {
                c[cell_of(p, s)] = s->kind > SEEN_ONE ? 0 : c[cell_of(p, s)];
            }
        }
    }
    for (size_t i = 0; any && i < to->count; ++i) {
        struct seen *s = &to->seen[i];
        s->kind = c[cell_of(p, s)] ? kind : s->kind;
    }
    free(c);
    free(m);
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
    for (int f = 0; f < FIELD_START; ++f) {
        drop_shown(p, &obs[FIELD_START], &obs[f]);
    }
    pair(code, &obs[FIELD_ACTIVATION_CODE]);
    pair(&obs[obs[FIELD_WEIGHT_MIN].count > 0 ? FIELD_WEIGHT_MIN : FIELD_WEIGHT_DMIN], sum);
    drop_added(p, code, &obs[FIELD_ACTIVATION_CODE]);
    drop_shown(p, code, &obs[FIELD_ACTIVATION_CODE]);
    struct observations *scale = &obs[obs[FIELD_WEIGHT_SCALE].count > 0 ? FIELD_WEIGHT_SCALE : FIELD_WEIGHT_D];
    struct observations *min = &obs[obs[FIELD_WEIGHT_MIN].count > 0 ? FIELD_WEIGHT_MIN : FIELD_WEIGHT_DMIN];
    cross(p, code, sum, SEEN_NOTHING, SEEN_TIMES, scale, SEEN_MINIMUM);
    cross(p, code, sum, SEEN_TIMES, SEEN_NOTHING, min, SEEN_SCALE);
    drop_shown(p, code, sum);
    for (size_t i = 0; i < sizeof scales / sizeof *scales; ++i) {
        drop_shown(p, code, &obs[scales[i]]);
        drop_shown(p, sum, &obs[scales[i]]);
    }
}
